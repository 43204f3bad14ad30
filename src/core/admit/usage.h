/*
 * usage (core): admission fair sharing: usage of LocalQueues, which decays with time.
 *
 * A ledger holds, for each LocalQueue, what was consumed (a mean that forgets by half in each half-life), what its
 * admitted workloads hold now, and the entry penalties of those that hold quota without being admitted. The order among
 * the workloads of one queue is by
 *
 *     sum over resources of weight * (consumed + penalty), over the LocalQueue's own weight
 *
 * in whole units, cpu in cores; a LocalQueue of weight zero or less comes last. The functions engine_local_* of
 * engine.h are here too. Whatever changes a LocalQueue's place in the order moves its lanes (engine_lane.c) at once.
 */
#ifndef BERTH_CORE_USAGE_H
#define BERTH_CORE_USAGE_H

#include "core/admit/engine_private.h"

void usage_free(struct engine *e);

/* Does this queue order by usage? */
static inline bool usage_orders(const struct engine *e, const struct engine_queue *q) {
    return e->o.local_usage && q->local_usage;
}

/* Of w's LocalQueue; negative: unknown, INFINITY: weight zero. */
double usage_of(const struct engine *e, const struct engine_workload *w);
/* Negative when a's LocalQueue used less; 0 when alike, or when either is unknown. */
int usage_cmp(const struct engine *e, const struct engine_workload *a,
              const struct engine_workload *b);
/* A lane and the record of its LocalQueue know each other from add to del. ERR_NOMEM. */
int usage_lane_add(struct engine *e, struct engine_lane *l);
void usage_lane_del(struct engine *e, struct engine_lane *l);
int usage_lane_cmp(const struct engine_lane *a, const struct engine_lane *b); /* as usage_cmp */

/* w holds quota from now on (w->held is set). anew: given now, so that an entry penalty is due; false: adopted. */
int usage_take(struct engine *e, struct engine_workload *w, bool anew);
/* w holds no more (w->held still set); a penalty that the admission did not make part of the past goes as well. */
void usage_give(struct engine *e, struct engine_workload *w);

#endif
