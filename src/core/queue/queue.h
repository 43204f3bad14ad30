/*
 * queue (core): a ClusterQueue: its settings, and the buckets of its workloads.
 *
 * A workload without quota is a member of its class, parked alone, or in flight (the head of the current cycle). A
 * class with members is active, in a lane of the queue's heap, or parked. Workloads that hold quota are in
 * `holders`. The agenda (agenda.h) is notified of every queue that has active or parked members.
 */
#ifndef BERTH_CORE_QUEUE_H
#define BERTH_CORE_QUEUE_H

#include "base/tree.h"
#include "core/queue/agenda.h"
#include "core/queue/lane.h"
#include "core/queue/usage.h"
#include "core/quota/quota.h"

struct queue_group {
    uint32_t *resources, *flavors;
    size_t n_resources, n_flavors;
};

struct queue {
    struct str name;
    struct queues *of;
    struct quota_node *node;
    struct cohort_tree *tree; /* NULL until it was settled; see tree_valid */
    bool strict, held, borrow_costs_more, has_threshold, local_usage;
    bool active; /* able, and under no cycle of cohorts; as of the last settling */
    enum preempt_policy within_queue, reclaim, borrow_within;
    int64_t threshold;
    enum fungibility when_can_borrow, when_can_preempt;
    struct queue_group *groups;
    size_t n_groups;
    char *memory;                       /* of groups */
    struct heap heap;                   /* of lanes with active classes */
    struct queue_lane lane;             /* where usage never orders; otherwise: */
    struct map lanes;                   /* by LocalQueue */
    struct map classes;                 /* by queue_class.key */
    struct map kinds;                   /* hash -> a class of that hash */
    struct queue_class *parked_classes; /* with or without members */
    struct queue_workload *parked;      /* alone */
    struct queue_workload *flight;      /* its head in the cycle under way */
    struct queue_workload *preemptor;   /* the one that waits of this uid, or NULL */
    uint64_t preemptor_uid; /* hash of who evicted others to come in (preemptor_set); 0: none */
    struct tree holders;    /* in victim order (holder.h) */
    size_t n_active, n_parked, n_holding, n_evicting;
    /* Of what can be allocated: quota of the tree changed, or something left */
    uint64_t generation;
    bool claims;      /* has places kept for its head */
    bool listed;      /* agenda: in its tree's ready */
    bool parks;       /* agenda: in its tree's list of queues that have parked ones */
    bool waits_place; /* agenda: in its placeless */
    struct queue *parks_next;
};

/* All queues, the ledger of their LocalQueues, and who is still to be told why it waits. */
struct queues {
    struct map by_name;
    struct usage_ledger usage;
    struct agenda agenda;
    struct queue_class *tell, *tell_last; /* parked classes with members that do not know why */
};

/* Does this queue order by usage? */
static inline bool usage_orders(const struct queue *q) {
    return q->of->usage.on && q->local_usage;
}

/* False: it is made anew before the next question, and all that waits in it is tried again then. */
static inline bool tree_valid(const struct queue *q) {
    return q->tree != NULL && !quota_stale(q->node);
}

static inline size_t queue_pending(const struct queue *q) {
    return q->n_active + q->n_parked + (q->flight != NULL);
}

struct queue *queue_new(struct queues *all, struct str name); /* NULL: no memory */
void queue_free(struct queue *q); /* its workloads and its place in the map are not its own */
bool queue_names_flavor(const struct queue *q, uint32_t flavor);

/* Who evicted others to come in is first in its queue (unless that is strict, which keeps its order), by uid, until:
 *
 *     another of the queue evicts others       the record is that one's
 *     its admission is written and held        as Kueue does when it sees the write, not when it decides; the
 *                                              scheduler alone, without what is written, never forgets
 *     it is deleted, deactivated, or moves to another queue
 *
 * Nothing that a cycle comes to ends it: one that fits no longer, or has no victims any more, is parked, passed by, and
 * first again when it is tried again. */
void preemptor_set(struct queue *q, struct queue_workload *w); /* NULL: none */
void preemptor_gone(const struct queue_workload *w);
bool preemptor_is(const struct queue *q, const struct queue_workload *w); /* by uid */

/* Into its class: active, or parked where that is. ERR_NOMEM: no change. */
int queue_push(struct queue_workload *w);
void queue_park(struct queue_workload *w); /* alone; never fails */
/* Into its class; without memory it is parked alone, and tried again with its tree. */
void queue_return(struct queue_workload *w);
void queue_forget(struct queue_workload *w); /* out of every bucket */
/* Parks the class of w, and those like it of other LocalQueues; the members are to be told the reason. */
void queue_park_alike(struct queue_workload *w, bool place, int reason);
struct queue_workload *queue_head(const struct queue *q);
/* The head leaves its bucket, and is in flight. */
struct queue_workload *queue_take_off(struct queue *q);
void queue_unclaim(struct queue *q); /* places are kept for its head no more */
/* One parked class, or one parked alone, becomes active. */
int queue_unpark_one(struct queue *q);
/* Appends at most `limit` of those that wait: the active ones first, about in their order. */
int queue_waiting(const struct queue *q, size_t limit, struct workload_vec *out);

#endif
