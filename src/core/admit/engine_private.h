/* engine_private (core): an engine as its parts, for the files that make decisions out of them. */
#ifndef BERTH_CORE_ENGINE_PRIVATE_H
#define BERTH_CORE_ENGINE_PRIVATE_H

#include "core/admit/cycle.h"
#include "core/admit/preempt.h"
#include "core/queue/holder.h"

struct engine {
    struct engine_options o;
    struct names resources;
    struct flavor_table flavors;
    struct quota_forest forest;
    struct pool *pool;
    struct queues queues;
    struct map workloads; /* by uid */
    struct preempt preempt;
    struct cycle cycle;
    uint64_t lift_mark; /* seat.c */
    /* engine_cycle: what is parked waits for the next event, whatever was freed meanwhile */
    bool as_kueue;
    size_t left; /* of the budget */
    size_t n_not_ready;
    bool halted; /* block_until_ready: until nobody is not ready */
};

static inline struct queue_workload *engine_workload(const struct engine *e, struct str uid) {
    return map_get(&e->workloads, uid);
}

/* Before any question to a tree. ERR_NOMEM: ask nothing. */
int engine_settle(struct engine *e);
/* Takes so many heads' worth off the budget of the run. */
void engine_charge(struct engine *e, size_t heads);
void engine_not_ready(struct engine *e, struct queue_workload *w, bool not_ready);
/* Forgets the record, which gives back what it holds. */
void engine_workload_drop(struct engine *e, struct queue_workload *w);

#endif
