/*
 * preempt (core): preemption: finds the admitted workloads to evict so that a pending one fits.
 *
 * A search is a trial on the quota tree: victims are taken out one by one in a fixed order until the asker fits,
 * then put back one by one where it fits without; the tree is left as it was found (quota_mark, quota_undo).
 * Classical rules (within the queue, reclaim in the cohort, borrowing) are in preempt.c; under fair sharing the
 * victims are chosen by dominant resource share, in fair_search.c. Both draw candidates lazily from each queue's
 * holders, which are kept in victim order, so that a search costs what it looks at and not all that runs.
 *
 * Never a victim: what is protected (protected_until_ns, minimum_runtime_ns), and what a caller names as spared.
 * Memory is the cycle's (tick); ERR_NOMEM leaves the tree as it was.
 */
#ifndef BERTH_CORE_PREEMPT_H
#define BERTH_CORE_PREEMPT_H

#include "core/admit/assign.h"
#include "core/admit/engine.h"

struct preempt_scratch;

/* What searches go by, and the memory that they keep between them. */
struct preempt {
    const struct engine_options *o;
    const struct names *resources;
    struct quota_forest *forest;
    struct arena *tick;              /* of the cycle */
    int64_t now_ns;                  /* as engine_run was told */
    size_t looked;                   /* holders that searches looked at, not charged yet */
    struct preempt_scratch *scratch; /* NULL until there was a search */
};

void preempt_release(struct preempt *p);

/* What the asker would take of a cell; short_: this one does not fit without preemption. */
struct preempt_need {
    struct quota_cell *cell;
    int64_t v;
    bool short_;
    bool besides; /* nothing is taken of it: short_ only makes candidates of its holders */
    /* It is taken, and the search does not count it: Kueue's search knows the pods themselves ("pods") only as what is
     * short. Whether the victims leave enough of it is seen when they are to be named. */
    bool uncounted;
};

struct victim {
    struct queue_workload *w;
    enum preempt_reason reason;
};

struct preempt_ask {
    struct queue_workload *w;         /* the asker; not holding */
    const struct preempt_need *needs; /* one for each cell */
    size_t n_needs;
    /* May be NULL: a further test that the asker fits with these victims gone (a place for its pods). */
    bool (*fits)(void *ctx, const struct victim *v, size_t n);
    void *ctx;
    /* Quota is not short: in the cohort, only who holds what its queue borrows is a candidate */
    bool place;
};

/* The victims, in the order they would be evicted; none when it cannot be done. *ret_protected: a protected
 * workload would have been a candidate; *ret_wake_ns is lowered to when the first such protection ends. */
int preempt_find(struct preempt *p, const struct preempt_ask *ask, struct victim **ret,
                 size_t *ret_n, bool *ret_protected, int64_t *ret_wake_ns);

/* For one cell alone: what would taking v of it come to? MODE_NO_CANDIDATES with the borrow height of now,
 * MODE_PREEMPT (some victim is of the same queue) or MODE_RECLAIM with the borrow height when the victims are
 * gone. */
int preempt_oracle(struct preempt *p, struct queue_workload *w, struct quota_cell *cell, int64_t v,
                   enum assign_mode *ret_mode, uint32_t *ret_borrow);

/* May workloads of this queue be victims at all? Those of one that is not active may not. */
bool preempt_queue_may(const struct quota_node *n);

/* Takes what v's workloads hold out of the tree: inside a trial. */
int preempt_remove(struct preempt *p, const struct victim *v, size_t n);

#endif
