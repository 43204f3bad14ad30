/*
 * class (core): the workloads of a queue that every decision treats the same (alike.h).
 *
 * A class as a whole is active (in its lane's heap, by its first member) or parked, so the cost of parking and retrying
 * depends on the number of classes. A member that waits for a reason of its own (a closed gate, a failed check) is
 * parked alone, outside the class. The members of a parked class have the reason written to their status one after
 * another; those whose reason is written stand last.
 */
#ifndef BERTH_CORE_CLASS_H
#define BERTH_CORE_CLASS_H

#include "base/heap.h"
#include "core/queue/workload.h"

struct queue_lane;

struct queue_class {
    /* Of what decisions look at; others than this that share it have the next free number */
    uint64_t hash;
    uint64_t key; /* and of the LocalQueue where usage may order: the map's key, by its bytes */
    /* All that joined, linked: each shows what the class asks for */
    struct queue_workload *joined;
    struct queue *queue;
    struct queue_lane *lane;
    struct queue_class *alike, *alike_prev; /* a ring: those of the same hash in the queue */
    struct queue_workload *head;            /* the first of members, and what orders it */
    int64_t priority, queued_ns;
    struct heap members;                 /* by queue time, then uid */
    struct queue_workload *first, *last; /* the same: those not told their reason come first */
    size_t n;                            /* joined, in whatever state but holding */
    size_t place;                        /* in its lane's heap */
    bool parked;
    bool wants_place;                          /* parked for want of a place */
    bool telling;                              /* in queues.tell */
    uint32_t told;                             /* members with this number know the reason */
    int told_reason;                           /* which reason that is, a number of the caller's */
    struct queue_class *prev, *next;           /* parked classes of the queue */
    struct queue_class *tell_prev, *tell_next; /* of queues.tell */
};

/* w becomes one of a class of its queue, a new one if need be: in whatever state but holding. ERR_NOMEM. */
int class_join(struct queue *q, struct queue_workload *w);
/* It is in no bucket any more. The class goes with the last. */
void class_leave(struct queue_workload *w);
void queue_class_free(struct queue_class *c);
/* In its heap, and in the order of those to be told; ERR_NOMEM: no change. The class joins its lane if it is active. */
int class_member_add(struct queue_class *c, struct queue_workload *w);
void class_member_remove(struct queue_class *c, struct queue_workload *w);
/* Takes all of it out of its lane, or back; the counts of its queue follow. */
void class_park(struct queue_class *c, bool wants_place);
int class_unpark(struct queue_class *c); /* ERR_NOMEM: no change */

/* The members were, or are to be, told this reason. */
void class_tell(struct queue_class *c, int reason);
void class_told(struct queue_class *c, struct queue_workload *w);
void class_tell_begin(struct queue_class *c); /* somebody may have joined who was not told */
void class_tell_end(struct queue_class *c);

#endif
