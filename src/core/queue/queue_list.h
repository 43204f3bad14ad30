/*
 * queue_list (core): the order of a queue without sorting it. Reads, and changes nothing.
 *
 * The order is the one in which heads would be taken if all fitted: usage of LocalQueues where that orders, the one
 * whose victims are on their way out, priority, time, uid; parked ones stand where they would stand in the heap.
 *
 * Members of a class stand in a heap, so the next of all is the root of some class, or below one that was taken: a
 * frontier holds those that may be next. Those parked alone, and the one in flight, are in it from the start. For one
 * LocalQueue its own are sorted, and the others only counted: how many stand before each that is shown.
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
