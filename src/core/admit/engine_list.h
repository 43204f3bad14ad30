/*
 * engine_list (core): the pending workloads of a queue, in order, and sums for metrics and status. Reads, and
 * changes nothing.
 */
#ifndef BERTH_CORE_ENGINE_LIST_H
#define BERTH_CORE_ENGINE_LIST_H

#include "core/admit/engine.h"
#include "core/queue/queue_list.h"

/* As queue_list and queue_list_local; ERR_NOT_FOUND: no such queue. */
int engine_list_queue(struct engine *e, struct str queue, size_t offset, size_t limit,
                      struct arena *a, struct queue_listed **ret, size_t *ret_n);
int engine_list_local(struct engine *e, struct str queue, struct str local, size_t offset,
                      size_t limit, struct arena *a, struct queue_listed **ret, size_t *ret_n);

/* Is it pending, and parked? False when it is not pending here. */
bool engine_is_parked(const struct engine *e, struct str uid);
/* What a pending one asks for, summed by resource (flavor: NAME_ABSENT), at most `max` of them. 0: not pending here. */
size_t engine_requests(const struct engine *e, struct str uid, struct held_amount *out, size_t max);
/* How many classes of equal workloads are active and parked. */
bool engine_hashes(const struct engine *e, struct str queue, size_t *ret_active,
                   size_t *ret_parked);

/* What a LocalQueue consumed, as of its last sample (usage.c): whole units, cpu in cores. False: it is not known, or
 * was never sampled. */
bool engine_local_consumed(const struct engine *e, struct str local, int64_t *ret_at_ns,
                           void (*each)(void *ctx, struct str resource, double v), void *ctx);

/* ---- cohorts ---- */

struct engine_cohort {
    struct str name, parent, root; /* parent empty: it is the root */
};
/* Each cohort that is declared or named, in no promised order; false from `each` ends it. ERR_NOMEM. */
int engine_cohorts(struct engine *e, bool (*each)(void *ctx, const struct engine_cohort *h),
                   void *ctx);
/* Quota of a cohort's subtree, each pair that it has. ERR_NOT_FOUND, ERR_NOMEM. */
int engine_cohort_quota(struct engine *e, struct str name,
                        void (*each)(void *ctx, uint32_t flavor, uint32_t resource, int64_t quota),
                        void *ctx);
/* The cohorts above a queue, nearest first; false: no such queue. */
bool engine_above(struct engine *e, struct str queue, void (*each)(void *ctx, struct str cohort),
                  void *ctx);

#endif
