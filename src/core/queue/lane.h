/*
 * lane (core): the active classes of a queue, in lanes.
 *
 * If usage may order the queue (admission fair sharing is configured), the classes of each LocalQueue are a lane, and
 * a change of its usage moves the lane within the queue, not its classes. Otherwise a queue has one lane. The heap of
 * the queue holds the lanes with active classes; the heap of a lane holds those classes, each by its first member.
 */
#ifndef BERTH_CORE_LANE_H
#define BERTH_CORE_LANE_H

#include "core/queue/class.h"

struct usage_local;

struct queue_lane {
    struct str local; /* in its memory */
    struct queue *queue;
    struct heap heap; /* of active classes with members */
    size_t place;     /* in the queue's heap, when it has any */
    size_t n;         /* classes, active or not */
    struct usage_local *usage;
    struct queue_lane *usage_next, *usage_prev; /* of the same LocalQueue, in other queues */
};

void lanes_init(struct queue *q);
void lanes_release(struct queue *q);
/* A new class of that LocalQueue; ERR_NOMEM. */
int lane_join(struct queue_class *c, struct str local);
void lane_leave(struct queue_class *c);
int lane_push(struct queue_class *c);    /* it is active; ERR_NOMEM: no change */
void lane_remove(struct queue_class *c); /* and no more */
void lane_moved(struct queue_class *c);  /* it has another head */
void lane_used(struct queue_lane *l);    /* what its LocalQueue used is another amount */
void lanes_order(struct queue *q);       /* usage orders now, or no longer */
struct queue_class *lanes_first(const struct queue *q);
size_t lanes_active(const struct queue *q); /* how many classes are */

#endif
