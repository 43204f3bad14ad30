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
 * Memory is the tick arena's; ERR_NOMEM leaves the tree as it was.
 */
#ifndef BERTH_CORE_PREEMPT_H
#define BERTH_CORE_PREEMPT_H

#include "core/admit/engine_private.h"

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
    struct engine_workload *w;
    enum preempt_reason reason;
};

struct preempt_ask {
    struct engine_workload *w;        /* the asker; not holding */
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
int preempt_find(struct engine *e, const struct preempt_ask *ask, struct victim **ret,
                 size_t *ret_n, bool *ret_protected, int64_t *ret_wake_ns);

/* For one cell alone: what would taking v of it come to? MODE_NO_CANDIDATES with the borrow height of now,
 * MODE_PREEMPT (some victim is of the same queue) or MODE_RECLAIM with the borrow height when the victims are
 * gone. */
int preempt_oracle(struct engine *e, struct engine_workload *w, struct quota_cell *cell, int64_t v,
                   enum assign_mode *ret_mode, uint32_t *ret_borrow);

/* One that may start with fewer pods, and has no place for all of them: the most pods that have quota and places, in
 * the flavors of `full`, or (NULL) in the first with quota. *ret_found false: none, and *ret is left alone. */
int nominate_fewer(struct engine *e, struct engine_workload *w, const struct assignment *full,
                   struct assignment *ret, bool *ret_found);

/* May workloads of this queue be victims at all? Those of one that is not active may not. */
bool preempt_gives(const struct quota_node *n);

/* The memory of searches: engine_free. */
void preempt_free(struct engine *e);

/* A queue's holders in victim order (evicting, lower priority, later reservation, uid): engine_queue.holders. */
int holder_order(const void *a, const void *b);
/* Takes what v's workloads hold out of the tree, or puts it back: inside a trial. */
int victims_remove(struct engine *e, const struct victim *v, size_t n);

/* ---- fair sharing (fair.c) ---- */

/* Dominant resource share of a node: borrowed over lendable, the greatest of its resources, over the weight. */
struct share {
    double ratio;    /* of the dominant resource, in thousandths; 0: borrows nothing */
    double weighted; /* ratio over weight; INFINITY: borrows with weight zero */
    uint32_t resource;
    bool borrows; /* uses more than its subtree has, of anything */
};
struct share fair_share(const struct engine *e, const struct quota_node *n);
int fair_share_cmp(struct share a, struct share b);

/* The order of the heads of a cycle, by tournament. fair_begin takes all nominated heads (a NULL w is skipped);
 * fair_pop gives the index of the next one, -1 when none is left. Between two calls usage may change only at the
 * queue of the head given last and above it, or inside a trial that is undone: only that path is looked at again.
 * The round and what it needs lie in the tick arena; `entries` must stay where they are. */
struct fair_round;
int fair_begin(struct engine *e, const struct cycle_entry *entries, size_t n,
               struct fair_round **ret);
int fair_pop(struct engine *e, struct fair_round *r, ptrdiff_t *ret);

#endif
