/*
 * cycle (core): one cycle of one cohort tree, in steps.
 *
 *     none -> heads: one head per active queue is popped
 *     heads -> nominate: each is given flavors, and victims where it needs them, against the usage of the moment
 *     nominate -> order: the heads are sorted, or a tournament of shares is prepared
 *     order -> process: head by head (cycle_process.c)
 *     process -> requeue: what heads kept for themselves is given back; those not admitted go where they wait
 *     requeue -> none
 *
 * What is released while a cycle is under way does not end it: heads are processed against what is there by then, and
 * those with victims try again in the next. Edits of nodes of its tree end it; its heads return to their queues
 * undecided.
 */
#ifndef BERTH_CORE_CYCLE_H
#define BERTH_CORE_CYCLE_H

#include "base/arena.h"
#include "core/admit/assign.h"
#include "core/admit/engine.h"
#include "core/admit/requeue.h"

struct fair_round;

struct cycle_entry {
    struct queue_workload *w; /* NULL: it went while the cycle was under way */
    struct assignment a;
    enum outcome outcome;
    bool preemptor; /* prioritize_preemptors: it goes first */
    bool stale;     /* one of its victims gave its quota back meanwhile */
};
VEC(entry_vec, struct cycle_entry);
VEC(action_vec, struct engine_action);

struct cycle_reservation {
    struct quota_cell *cell;
    int64_t v;
};
VEC(reservation_vec, struct cycle_reservation);

enum cycle_phase {
    CYCLE_NONE,
    CYCLE_HEADS,
    CYCLE_NOMINATE,
    CYCLE_ORDER,
    CYCLE_PROCESS,
    CYCLE_REQUEUE
};

struct cycle {
    struct cohort_tree *tree;
    enum cycle_phase phase;
    size_t at;          /* next entry of the phase */
    struct arena tick;  /* of the cycle */
    struct arena spare; /* of the cycle before it, whose actions are still read */
    bool swapped;       /* in this call */
    struct entry_vec entries;
    struct reservation_vec reserved;
    struct workload_vec chosen; /* victims so far */
    uint64_t chosen_mark;
    size_t n_out; /* of chosen: taken out of the quota tree for now */
    struct fair_round *round;
    size_t round_base; /* its first entry */
    size_t progress;   /* decisions of this cycle that changed something */
    bool moved;        /* a scan over flavors is under way */
    bool round_stale;  /* something was released: shares are to be asked anew */
    struct action_vec actions;
    struct requeue_index requeue;
};

void cycle_init(struct cycle *c, size_t tick_bytes);
void cycle_release(struct cycle *c);

/* Heads go back where they were: nothing was decided about them. */
void cycle_abort(struct engine *e);
/* This node (NULL: none) is about to change: ends the cycle under way if it is of its tree; others go on. */
void cycle_edits(struct engine *e, const struct quota_node *n);
/* The same for a flavor, if some queue of its tree names it. */
void cycle_edits_flavor(struct engine *e, uint32_t flavor);
/* w goes, and may be a head: the cycle forgets it. */
void cycle_forget(struct cycle *c, const struct queue_workload *w);
/* The next cycle is that of this tree. */
void cycle_start(struct engine *e, struct cohort_tree *t);
int cycle_step(struct engine *e); /* once; the last one leaves CYCLE_NONE */
int cycle_action_add(struct cycle *c, const struct engine_action *a);

/* ---- the process phase (cycle_process.c) ---- */

int entry_process(struct engine *e, struct cycle_entry *n);
void cycle_unreserve(struct engine *e);
/* The victims so far are taken out of the quota tree, put back, or no longer chosen. */
void chosen_out(struct engine *e);
void chosen_in(struct engine *e);
void chosen_clear(struct engine *e);
void chosen_gone(struct engine *e,
                 struct queue_workload *w); /* w is about to give its quota back */

/* ---- the requeue phase (cycle_requeue.c) ---- */

int entry_requeue(struct engine *e, struct cycle_entry *n);
/* Tells members of parked classes why they wait, as far as the budget goes. */
int tell_some(struct engine *e);

#endif
