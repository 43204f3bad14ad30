/*
 * agenda (core): which cohort trees have work to do, and which changes make them retry.
 *
 * Cohort trees do not interact: each has its own cycles. A queue without a cohort is a tree of its own. An edit of a
 * tree's nodes rebuilds that tree and leaves the others alone. A tree is due when it is awake (a cycle may decide
 * something) or when its parked workloads are to be retried. Due trees take turns. Events that free quota or a place
 * only mark the tree, so many such events cost one retry.
 */
#ifndef BERTH_CORE_AGENDA_H
#define BERTH_CORE_AGENDA_H

#include "base/heap.h"
#include "core/queue/flavors.h"
#include "core/queue/turns.h"
#include "core/quota/quota.h"

struct queue;
struct queues;
VEC(queue_vec, struct queue *);

struct cohort_tree {
    const struct quota_node *root;
    size_t n_queues;     /* that have it as theirs */
    uint64_t seen;       /* of agenda.trees_seen, while they are listed */
    unsigned idle_limit; /* so many cycles without a change can still lead to one */
    size_t n_ready;
    size_t heads_at, heads_kept; /* of a pass over ready: the next, and how many stay */
    struct queue *parks;         /* those with parked ones, linked */
    uint64_t cycle;
    unsigned idle;    /* cycles that changed nothing, in a row */
    bool awake;       /* a cycle may decide something */
    bool retry;       /* what is parked is to be tried again, before the next cycle */
    bool due;         /* in agenda.due */
    bool poked;       /* something came while its cycle was under way */
    bool heads;       /* a pass over ready is under way */
    uint64_t retries; /* when everything parked was tried again last (agenda.retry_clock) */
    struct cohort_tree *due_next, *due_prev;
    int64_t wake_ns; /* a protection that kept victims away ends */
    size_t wake_place;
    uint64_t era;  /* turns.h: grows when quota is freed or edited from outside */
    size_t turns;  /* its entries in agenda.turns */
    uint64_t born; /* how many were made before it: an order that is the same in every process */
    /* Those with active members, and perhaps some without; room for all */
    struct queue *ready[];
};
VEC(tree_vec, struct cohort_tree *);

struct agenda {
    struct queues *queues;
    struct quota_forest *forest;
    struct pool *pool;
    const struct flavor_table *flavors;
    uint64_t trees_seen, trees_made;
    uint64_t retry_clock;
    uint64_t cycles;   /* the highest number of a cycle, of all trees */
    unsigned unparked; /* classes, for the budget */
    struct cohort_tree *due, *due_last;
    struct heap wakes;          /* trees by wake_ns */
    struct queue_vec placeless; /* queues where somebody waits for a place */
    uint64_t pool_seen;         /* generation when those were last retried */
    struct turns turns;         /* who evicted whom */
};

void agenda_init(struct agenda *a, struct queues *queues, struct quota_forest *forest,
                 struct pool *pool, const struct flavor_table *flavors);
/* The trees of all queues, and what is known of them. */
void agenda_release(struct agenda *a);
/* Makes the trees anew that were edited: before any question to a tree. ERR_NOMEM: ask nothing. */
int agenda_settle(struct agenda *a);
/* A flavor is another one: the trees of the queues that name it are to be made anew. */
void agenda_flavor_edited(struct agenda *a, uint32_t flavor);
/* Trees whose time has come, and those waiting for a place when the pool changed. */
void agenda_wake(struct agenda *a, int64_t now_ns);
struct cohort_tree *agenda_due(struct agenda *a); /* the next with something to do, or NULL */
void agenda_due_last(struct agenda *a);           /* the first becomes the last */
int tree_wake_order(const void *a, const void *b, void *ctx); /* by time, then age */
int64_t agenda_next_ns(const struct agenda *a); /* when a tree is to be woken; INT64_MAX: never */
/* All trees, in the order of their roots. ERR_NOMEM. */
int agenda_trees(struct agenda *a, struct tree_vec *out);

void tree_wake(struct queue *q);  /* a cycle may decide something */
void tree_retry(struct queue *q); /* and what is parked is tried again */
void tree_wake_at(struct agenda *a, struct cohort_tree *t, int64_t ns); /* ERR_NOMEM: at once */
void tree_list(struct queue *q);                                        /* it has active members */
void tree_parks(struct queue *q);                                       /* it has parked ones */
void tree_placeless(struct queue *q); /* somebody of it waits for a place */
void tree_leave(struct queue *q);     /* it goes; its tree goes with the last one */
void tree_forget(struct queue *q);    /* from all but its tree: it is about to be freed */
/* Activates what is parked as far as *left goes; t->retry false: done. ERR_NOMEM. */
int tree_unpark(struct agenda *a, struct cohort_tree *t, size_t *left);
/* A pass over the queues that have heads, from begin to end, which also ends it midway. next is a step: it gives a
 * queue in *ret, or NULL for one whose members have gone; false: all were met. A queue that gets its first active
 * member meanwhile is met as well. */
void tree_heads_begin(struct cohort_tree *t);
bool tree_heads_next(struct cohort_tree *t, struct queue **ret);
void tree_heads_end(struct cohort_tree *t);

#endif
