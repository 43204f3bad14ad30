/*
 * cycle_process (core): one head of the ordered cycle: admitted, given victims, or left to wait.
 *
 * Whatever heads before it came to counts: those admitted hold quota, those that wait for victims have taken theirs
 * already (until the end of the cycle), and what their victims hold is free for the question whether this one fits.
 * The victims so far are taken out of the quota tree when that is asked, and put back when usage itself is: by shares,
 * by reservations, and between calls.
 */
#include <assert.h>

#include "core/admit/engine_private.h"
#include "core/admit/nominate.h"
#include "core/admit/resize.h"
#include "core/admit/scan.h"
#include "core/admit/seat.h"

/* ---- victims so far ---- */

void chosen_out(struct engine *e) {
    for (; e->cycle.n_out < e->cycle.chosen.n; e->cycle.n_out++) {
        (void)holder_move(&e->forest, e->cycle.chosen.v[e->cycle.n_out], -1);
    }
}

void chosen_in(struct engine *e) {
    for (; e->cycle.n_out > 0; e->cycle.n_out--) {
        (void)holder_move(&e->forest, e->cycle.chosen.v[e->cycle.n_out - 1], 1);
    }
}

void chosen_clear(struct engine *e) {
    chosen_in(e);
    e->cycle.chosen.n = 0;
    e->cycle.chosen_mark++;
}

static bool has_victim(const struct assignment *a, const struct queue_workload *w) {
    for (size_t i = 0; i < a->n_victims; i++) {
        if (a->victims[i].w == w) {
            return true;
        }
    }
    return false;
}

void chosen_gone(struct engine *e, struct queue_workload *w) {
    if (e->cycle.phase == CYCLE_NONE || w->queue->tree != e->cycle.tree) {
        return;
    }
    chosen_in(e);
    e->cycle.round_stale = true;
    for (size_t i = 0; i < e->cycle.entries.n; i++) {
        struct cycle_entry *n = &e->cycle.entries.v[i];
        n->stale = n->stale || (n->w != NULL && has_victim(&n->a, w));
    }
    for (size_t i = 0; w->chosen == e->cycle.chosen_mark && i < e->cycle.chosen.n; i++) {
        if (e->cycle.chosen.v[i] == w) {
            workload_vec_remove(&e->cycle.chosen, i--);
        }
    }
}

static bool is_chosen(const struct engine *e, const struct queue_workload *w) {
    return w->chosen == e->cycle.chosen_mark;
}

static bool overlaps(const struct engine *e, const struct assignment *a) {
    for (size_t i = 0; i < a->n_victims; i++) {
        if (is_chosen(e, a->victims[i].w)) {
            return true;
        }
    }
    return false;
}

static int choose(struct engine *e, const struct assignment *a) {
    int r = workload_vec_room(&e->cycle.chosen, a->n_victims);
    for (size_t i = 0; r == 0 && i < a->n_victims; i++) {
        a->victims[i].w->chosen = e->cycle.chosen_mark;
        e->cycle.chosen.v[e->cycle.chosen.n++] = a->victims[i].w;
    }
    return r;
}

/* ---- does it fit? ---- */

/* The whole of what a takes of the cell of held[i]; 0 unless i is its first entry. */
static int64_t cell_total(const struct assignment *a, size_t i) {
    int64_t v = 0;
    for (size_t k = 0; k < a->n_held; k++) {
        if (a->cells[k] == a->cells[i]) {
            if (k < i) {
                return 0;
            }
            v = amount_add(v, a->held[k].v);
        }
    }
    return v;
}

static bool quota_fits(const struct assignment *a) {
    for (size_t i = 0; i < a->n_held; i++) {
        int64_t v = cell_total(a, i);
        if (v > 0 && v > amount_max(0, quota_available(a->cells[i]))) {
            return false;
        }
    }
    return true;
}

/* With all victims still there, and nothing kept for those that wait for them: what is admitted runs beside the victims
 * until they have gone. */
static int fits_now(struct engine *e, const struct assignment *a, bool *ret) {
    chosen_in(e);
    size_t mark = quota_mark(&e->forest);
    int r = 0;
    for (size_t i = 0; i < e->cycle.reserved.n && r == 0; i++) {
        r = quota_use(&e->forest, e->cycle.reserved.v[i].cell, -e->cycle.reserved.v[i].v);
    }
    *ret = r == 0 && quota_fits(a);
    quota_undo(&e->forest, mark);
    return r;
}

/* With the victims so far and its own gone. */
static int fits_then(struct engine *e, const struct assignment *a, bool *ret) {
    chosen_out(e);
    if (a->n_victims == 0) {
        *ret = quota_fits(a);
        return *ret && e->cycle.chosen.n > 0 ? fits_now(e, a, ret) : 0;
    }
    uint64_t before = e->o.check_undo ? quota_digest(&e->forest) : 0;
    size_t mark = quota_mark(&e->forest);
    int r = preempt_remove(&e->preempt, a->victims, a->n_victims); /* they are not chosen yet */
    *ret = r == 0 && quota_fits(a);
    quota_undo(&e->forest, mark);
    assert(!e->o.check_undo || before == quota_digest(&e->forest));
    return r;
}

/* Takes quota until the end of the cycle. */
static int reserve(struct engine *e, struct quota_cell *c, int64_t v) {
    if (v <= 0) {
        return 0;
    }
    int r = reservation_vec_push(&e->cycle.reserved, (struct cycle_reservation){c, v});
    return r == 0 ? quota_use(&e->forest, c, v) : r;
}

static int reserve_all(struct engine *e, const struct assignment *a) {
    int r = 0;
    for (size_t i = 0; i < a->n_held && r == 0; i++) {
        r = reserve(e, a->cells[i], a->held[i].v);
    }
    return r;
}

/* What a head without victims keeps from the others: its own quota, or what it may borrow. */
static int reserve_some(struct engine *e, const struct assignment *a) {
    int r = 0;
    chosen_in(e);
    for (size_t i = 0; i < a->n_held && r == 0; i++) {
        struct quota_cell *c = a->cells[i];
        int64_t v = cell_total(a, i);
        if (a->borrow == 0) {
            v = amount_min(v, amount_sub(c->q.nominal, c->usage));
        } else if (c->q.borrowing != AMOUNT_NONE) {
            v = amount_min(v, amount_sub(amount_add(c->q.nominal, c->q.borrowing), c->usage));
        }
        r = reserve(e, c, v);
    }
    return r;
}

void cycle_unreserve(struct engine *e) {
    while (e->cycle.reserved.n > 0) {
        struct cycle_reservation *x = &e->cycle.reserved.v[--e->cycle.reserved.n];
        quota_use(&e->forest, x->cell, -x->v);
    }
}

/* ---- outcomes ---- */

static int waits(struct cycle_entry *n, enum outcome outcome, enum pend_reason reason,
                 enum pend_turn turn) {
    n->outcome = outcome;
    n->a.verdict->reason = reason;
    n->a.verdict->turn = turn;
    return 0;
}

/* The victims so far can be no victims again. */
static void chosen_hide(struct engine *e, bool hide) {
    for (size_t i = 0; i < e->cycle.chosen.n; i++) {
        if (hide) {
            holder_unlist(e->cycle.chosen.v[i]);
        } else {
            holder_list(e->cycle.chosen.v[i]);
        }
    }
}

/* Its victims are also those of a head before it: what would it come to when those are gone? */
static int overlap(struct engine *e, struct cycle_entry *n, bool *ret_deferred) {
    struct assignment a;
    scan_clear(n->w);
    chosen_out(e);
    chosen_hide(e, true);
    int r = nominate_head(e, n->w, &n->a, &a);
    chosen_hide(e, false);
    if (r != 0) {
        return r;
    }
    *ret_deferred = a.mode == MODE_FIT;
    n->a = a;
    scan_keep(&e->cycle, n->w, &n->a);
    return 0;
}

static bool refused(const struct engine *e, const struct cycle_entry *n) {
    for (size_t i = 0; e->o.break_alternation && i < n->a.n_victims; i++) {
        if (turns_refuse(&e->queues.agenda.turns, n->w, n->a.victims[i].w)) {
            return true;
        }
    }
    return false;
}

static int issue(struct engine *e, struct cycle_entry *n) {
    struct queue_workload *w = n->w;
    int r = 0;
    for (size_t i = 0; i < n->a.n_victims && r == 0; i++) {
        struct queue_workload *v = n->a.victims[i].w;
        if (v->evicting) {
            continue;
        }
        struct engine_action a = {.type = ACTION_PREEMPT,
                                  .uid = v->uid,
                                  .queue = v->queue->name,
                                  .by = w->uid,
                                  .by_queue = w->queue->name,
                                  .reason = n->a.victims[i].reason};
        r = e->o.break_alternation ? turns_take(&e->queues.agenda.turns, w, v) : 0;
        if (r == 0) {
            r = cycle_action_add(&e->cycle, &a);
        }
        if (r == 0) {
            holder_evicting(v, true);
            e->cycle.progress++;
        }
    }
    scan_clear(w);
    n->a.verdict->n_preempting = (uint32_t)n->a.n_victims;
    waits(n, OUTCOME_PREEMPTING, PEND_WAITING_FOR_PREEMPTED, TURN_PREEMPTING);
    return r;
}

/* ---- admission ---- */

static int take_all(struct engine *e, const struct assignment *a) {
    int r = 0;
    for (size_t i = 0; i < a->n_held && r == 0; i++) {
        r = quota_use(&e->forest, a->cells[i], a->held[i].v);
    }
    return r;
}

/* From a head to a holder, as far as memory can fail it. */
static int holder_make(struct engine *e, struct cycle_entry *n, struct held_amount *held) {
    struct queue_workload *w = n->w;
    w->held = held;
    w->n_held = (uint32_t)n->a.n_held;
    if (w->n_held > 0) {
        memcpy(held, n->a.held, w->n_held * sizeof(*held));
    }
    w->reserved_ns = e->preempt.now_ns;
    w->evicting = false;
    int r = holder_list(w);
    if (r == 0) {
        r = usage_take(&e->queues.usage, w, true);
    }
    if (r != 0) {
        holder_unlist(w);
        w->held = NULL;
        w->n_held = 0;
    }
    return r;
}

static void admitted(struct engine *e, struct cycle_entry *n) {
    struct queue_workload *w = n->w;
    struct queue *q = w->queue;
    q->flight = NULL;
    q->n_holding++;
    q->generation++; /* as Kueue counts: what is assumed leaves, and comes back as written */
    class_leave(w);
    w->state = WORKLOAD_HOLDING;
    if (n->a.grows) {
        resize_promise(e, w);
    }
    w->round = ROUND_PLAIN;
    scan_clear(w);
    queue_unclaim(q);
    engine_not_ready(e, w, e->o.block_until_ready);
    n->outcome = OUTCOME_ADMITTED;
    n->w = NULL; /* a holder may go at any time, and no longer takes itself out of the cycle */
    e->cycle.progress++;
}

/* Quota and seats together, or neither: a trial. */
static int admit(struct engine *e, struct cycle_entry *n, bool *ret_ok) {
    struct queue_workload *w = n->w;
    const struct queue_workload *prior = n->a.grows ? resize_prior(e, w) : NULL;
    size_t room = n->a.n_held + (prior != NULL ? prior->n_held : 0) + 1; /* it may inherit */
    struct held_amount *held = mem_array(room, sizeof(*held));
    if (held == NULL) {
        return ERR_NOMEM;
    }
    uint64_t before = e->o.check_undo ? quota_digest(&e->forest) : 0;
    size_t mark = quota_mark(&e->forest);
    struct engine_action a = {.type = ACTION_ADMIT,
                              .uid = w->uid,
                              .queue = w->queue->name,
                              .held = held,
                              .n_held = n->a.n_held,
                              .counts = n->a.counts,
                              .considered = n->a.considered};
    *ret_ok = false;
    int r = action_vec_room(&e->cycle.actions, 1);
    if (r == 0) {
        r = take_all(e, &n->a);
    }
    if (r == 0) {
        r = seat_entry(e, n, ret_ok, &a.seated);
    }
    if (r == 0 && *ret_ok) {
        r = holder_make(e, n, held);
    }
    if (r != 0 || !*ret_ok) {
        pool_undo(e->pool, w->uid);
        quota_undo(&e->forest, mark);
        quota_keep(&e->forest);
        assert(!e->o.check_undo || before == quota_digest(&e->forest));
        mem_free(held);
        return r;
    }
    quota_keep(&e->forest);
    admitted(e, n);
    return cycle_action_add(&e->cycle, &a); /* there is room */
}

/* ---- victims ---- */

static int with_victims(struct engine *e, struct cycle_entry *n) {
    if (n->w->gated) {
        scan_clear(n->w);
        return waits(n, OUTCOME_GATED, PEND_GATED, TURN_NONE);
    }
    if (refused(e, n)) {
        scan_clear(n->w);
        return waits(n, OUTCOME_REFUSED, PEND_WAITING_FOR_QUOTA, TURN_REFUSED);
    }
    return -1;
}

/* They are named, if it will have a place when they are gone. */
static int evict(struct engine *e, struct cycle_entry *n) {
    bool fits;
    int r = seat_claim(e, n, &fits);
    if (r == 0 && !fits) {
        n->outcome = OUTCOME_NO_PLACE;
        return 0;
    }
    if (r != 0) {
        return r;
    }
    r = choose(e, &n->a);
    if (r != 0) {
        return r;
    }
    r = reserve_all(e, &n->a);
    return r == 0 ? issue(e, n) : r;
}

/* With quota, and without a place: when no flavor is left that might have one, unless the queue would rather evict than
 * look on. */
static bool evicts_for_place(const struct queue_workload *w) {
    const struct queue *q = w->queue;
    return (q->within_queue != PREEMPT_NEVER || q->reclaim != PREEMPT_NEVER) &&
           (q->when_can_preempt == FUNGIBILITY_STOP || scan_seeks(w) ||
            (!scan_left(w) && !scan_missed(w)));
}

/* Fewer pods than it asks for, where it may start with fewer, and nothing else is left to try: in the flavors of `in`,
 * or (NULL) in the first that have quota for fewer. It is admitted when n->w is NULL then. */
static int with_fewer(struct engine *e, struct cycle_entry *n, const struct assignment *in) {
    struct assignment full = n->a, fewer;
    bool ok = false;
    chosen_out(e);
    int r = scan_left(n->w) ? 0 : nominate_fewer(e, n->w, in != NULL ? &full : NULL, &fewer, &ok);
    chosen_in(e); /* it runs beside them until they have gone */
    if (r == 0 && ok && in == NULL) {
        r = fits_now(e, &fewer, &ok);
    }
    if (r != 0 || !ok) {
        return r;
    }
    n->a = fewer;
    r = admit(e, n, &ok);
    if (!ok) {
        n->a = full;
    }
    return r;
}

/* The last of its flavors has no quota for it, and one before had no places for all of it. */
static int with_fewer_before(struct engine *e, struct cycle_entry *n) {
    const struct queue *q = n->w->queue;
    bool evicts = q->within_queue != PREEMPT_NEVER || q->reclaim != PREEMPT_NEVER;
    bool waits_for_ready = e->o.block_until_ready && e->n_not_ready > 0;
    return scan_missed(n->w) && !waits_for_ready && (!evicts || scan_seeks(n->w))
               ? with_fewer(e, n, NULL)
               : 0;
}

static int without_place(struct engine *e, struct cycle_entry *n) {
    struct queue_workload *w = n->w;
    int64_t wake = INT64_MAX;
    bool leaving;
    n->outcome = OUTCOME_NO_PLACE;
    if (!evicts_for_place(w)) {
        return w->queue->within_queue == PREEMPT_NEVER && w->queue->reclaim == PREEMPT_NEVER
                   ? with_fewer(e, n, &n->a)
                   : 0;
    }
    chosen_out(e);
    chosen_hide(e, true);
    int r = seat_victims(e, n, &leaving, &wake);
    chosen_hide(e, false);
    if (r == 0 && wake != INT64_MAX) {
        tree_wake_at(&e->queues.agenda, w->queue->tree, wake);
    }
    if (r == 0 && n->a.n_victims == 0 && !leaving) {
        return with_fewer(e, n, &n->a);
    }
    if (r != 0 || (n->a.n_victims == 0 && w->queue->preemptor != w)) {
        return r;
    }
    return n->a.n_victims > 0 && with_victims(e, n) == 0 ? 0 : evict(e, n);
}

static int entry_admit(struct engine *e, struct cycle_entry *n) {
    bool ok;
    if (e->o.block_until_ready && e->n_not_ready > 0) {
        struct engine_action a = {.type = ACTION_PEND,
                                  .uid = n->w->uid,
                                  .queue = n->w->queue->name,
                                  .verdict = n->a.verdict,
                                  .considered = n->a.considered};
        e->halted = true; /* the cycle goes no further: it is told here */
        (void)waits(n, OUTCOME_AGAIN, PEND_WAITING_FOR_READY, TURN_NONE);
        return cycle_action_add(&e->cycle, &a);
    }
    int r = admit(e, n, &ok);
    return r == 0 && !ok ? without_place(e, n) : r;
}

/* ---- one head ---- */

static int without_victims(struct engine *e, struct cycle_entry *n) {
    bool keeps = n->w->queue->reclaim != PREEMPT_ANY || n->preemptor;
    waits(n, OUTCOME_NO_CANDIDATES, PEND_WAITING_FOR_QUOTA, TURN_NONE);
    return keeps ? reserve_some(e, &n->a) : 0;
}

int entry_process(struct engine *e, struct cycle_entry *n) {
    bool deferred = false, fits;
    int r = 0;
    if (n->outcome != OUTCOME_NONE) {
        return 0; /* settled when it was nominated */
    }
    if (n->stale || (n->a.grows && !resize_same(e, n->w, n->a.counts))) {
        return waits(n, OUTCOME_AGAIN, PEND_WAITING_FOR_QUOTA, TURN_CONTENDED);
    }
    if (overlaps(e, &n->a)) {
        r = overlap(e, n, &deferred);
        if (r != 0) {
            return r;
        }
    }
    if (n->a.mode != MODE_FIT && n->a.n_victims == 0) {
        r = with_fewer_before(e, n);
        if (r != 0 || n->w == NULL) {
            return r;
        }
        if (n->a.mode != MODE_NO_FIT) {
            return without_victims(e, n);
        }
        n->outcome = OUTCOME_NO_FIT;
        return 0;
    }
    if (n->a.n_victims > 0 && with_victims(e, n) == 0) {
        return 0;
    }
    if (deferred) {
        scan_clear(n->w);
        waits(n, OUTCOME_DEFERRED, PEND_WAITING_FOR_PREEMPTED, TURN_DEFERRED_FIT);
        return reserve_all(e, &n->a);
    }
    if (overlaps(e, &n->a)) {
        return waits(n, OUTCOME_AGAIN, PEND_WAITING_FOR_QUOTA, TURN_OVERLAP);
    }
    r = fits_then(e, &n->a, &fits);
    if (r != 0 || !fits) {
        waits(n, OUTCOME_AGAIN, PEND_WAITING_FOR_QUOTA, TURN_CONTENDED);
        return r;
    }
    if (n->a.n_victims == 0) {
        return entry_admit(e, n);
    }
    return evict(e, n);
}
