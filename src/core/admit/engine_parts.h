/*
 * engine_parts (core): the parts of an engine, for what-ifs, which read them and change nothing.
 */
#ifndef BERTH_CORE_ENGINE_PARTS_H
#define BERTH_CORE_ENGINE_PARTS_H

#include "core/admit/engine.h"
#include "core/queue/queue.h"

struct engine_parts {
    const struct engine_options *o;
    const struct names *resources;
    const struct flavor_table *flavors;
    struct quota_forest *forest;
    struct pool *pool;
    const struct queues *queues;
    const struct map *workloads; /* by uid */
};

/* Settles the engine first: ERR_NOMEM. */
int engine_parts(struct engine *e, struct engine_parts *ret);
/* What a cycle under way keeps for its heads of a cell: in its usage, and nobody's. */
int64_t engine_reserved(const struct engine *e, const struct quota_cell *c);

#endif
