/*
 * queue_list (core): lists a queue in order, without sorting it. Read-only.
 *
 * The order is that in which heads would be taken if all of them fitted: by the usage of LocalQueues if that orders the
 * queue, then the workload whose victims are leaving, priority, time, uid. Parked workloads stand where they would
 * stand in the heap.
 *
 * The members of a class form a heap, so the next workload of all is the root of some class, or a child of one that
 * was taken: a frontier holds the candidates. Workloads parked alone and the one in flight are in it from the
 * start. For one LocalQueue its own workloads are sorted, and of the others only the number ahead of each listed
 * one is counted.
 */
#ifndef BERTH_CORE_QUEUE_LIST_H
#define BERTH_CORE_QUEUE_LIST_H

#include "base/arena.h"
#include "core/queue/workload.h"

struct queue_listed {
    struct str uid, local; /* in the engine's memory */
    /* Positions from 0: among all of the queue, among those of the LocalQueue */
    size_t at, at_local;
};

int queue_list_cmp(const struct queue_workload *x, const struct queue_workload *y,
                   const struct queue *q);
/* Of a queue's pending ones those at offset .. offset+limit. Costs the number of its classes and of those parked alone,
 * and (offset + limit) log n. ERR_NOMEM. */
int queue_list(struct queue *q, size_t offset, size_t limit, struct arena *a,
               struct queue_listed **ret, size_t *ret_n);
/* The same, counting only those of a LocalQueue ("ns/name"); `at` is still the place among all. Looks at every pending
 * one of the queue once or twice: n log limit. */
int queue_list_local(struct queue *q, struct str local, size_t offset, size_t limit,
                     struct arena *a, struct queue_listed **ret, size_t *ret_n);
/* Appends the first `limit`: exactly, unless they are of more than `most` classes or more are parked alone. */
int queue_list_first(struct queue *q, size_t limit, size_t most, struct workload_vec *out);

#endif
