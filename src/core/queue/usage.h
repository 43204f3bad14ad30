/*
 * usage (core): admission fair sharing: usage of LocalQueues, which decays with time.
 *
 * A ledger holds, for each LocalQueue, what was consumed (a mean that forgets by half in each half-life), what its
 * admitted workloads hold now, and the entry penalties of those that hold quota without being admitted. The order among
 * the workloads of one queue is by
 *
 *     sum over resources of weight * (consumed + penalty), over the LocalQueue's own weight
 *
 * in whole units, cpu in cores; a LocalQueue of weight zero or less comes last. Whatever changes a LocalQueue's place
 * in the order moves its lanes (lane.h) at once. A ledger that is not on is empty: nothing is taken into it.
 */
#ifndef BERTH_CORE_USAGE_H
#define BERTH_CORE_USAGE_H

#include "core/queue/workload.h"

struct queue_lane;

struct usage_ledger {
    bool on;
    int64_t half_life_ns, interval_ns;
    const struct resource_weight *weights; /* absent ones weigh 1 */
    size_t n_weights;
    struct names *resources;
    struct map locals;
};

void usage_release(struct usage_ledger *u);

/* LocalQueues that are objects; the functions engine_local_* of engine.h say what they do. */
int usage_local_put(struct usage_ledger *u, struct str local, double weight);
void usage_local_del(struct usage_ledger *u, struct str local);
int usage_local_set(struct usage_ledger *u, struct str local, const struct resource_weight *used,
                    size_t n, int64_t at_ns);
void usage_sample(struct usage_ledger *u, int64_t now_ns, int64_t *ret_next_ns);
double usage_local(const struct usage_ledger *u, struct str local);
bool usage_consumed(const struct usage_ledger *u, struct str local, int64_t *ret_at_ns,
                    void (*each)(void *ctx, struct str resource, double v), void *ctx);

/* Negative when a's LocalQueue used less; 0 when alike, or when either is unknown. */
int usage_cmp(const struct usage_ledger *u, const struct queue_workload *a,
              const struct queue_workload *b);
/* A lane and the record of its LocalQueue know each other from add to del. ERR_NOMEM. */
int usage_lane_add(struct usage_ledger *u, struct queue_lane *l);
void usage_lane_del(struct usage_ledger *u, struct queue_lane *l);
int usage_lane_cmp(const struct queue_lane *a, const struct queue_lane *b); /* as usage_cmp */

/* w holds quota from now on (w->held is set). anew: given now, so that an entry penalty is due; false: adopted. */
int usage_take(struct usage_ledger *u, struct queue_workload *w, bool anew);
/* w holds no more (w->held still set); a penalty that the admission did not make part of the past goes as well. */
void usage_give(struct usage_ledger *u, struct queue_workload *w);
/* w, which holds quota, is admitted: what its LocalQueue used counts from here. */
void usage_admitted(struct usage_ledger *u, struct queue_workload *w);

#endif
