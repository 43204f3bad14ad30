/*
 * engine_cycle (core): one cycle, in steps.
 *
 *     none -> nominate: one head per active queue is popped and given flavors, against the usage at the start
 *     nominate -> process: heads in order, each admitted if it still fits and has a place
 *     process -> none: reservations of the cycle are given back; what was not admitted is requeued
 *
 * A head that waits although its queue's own quota would do reserves that quota until the end of the cycle, so
 * that no
 * borrower takes it meanwhile.
 */
#include <assert.h>

#include "core/engine_private.h"

int action_add(struct engine *e, const struct engine_action *a) {
    return action_vec_push(&e->actions, *a);
}

/* ---- heads ---- */

static int heads_pop(struct engine *e) {
    size_t kept = 0;
    int r = entry_vec_room(&e->entries, e->ready.n);
    for (size_t i = 0; i < e->ready.n; i++) {
        struct engine_queue *q = e->ready.v[i];
        if (q->heap.n == 0) {
            q->listed = false;
            continue;
        }
        e->ready.v[kept++] = q;
        if (r != 0 || !queue_is_active(e, q)) {
            continue;
        }
        struct engine_workload *w = heap_peek(&q->heap);
        queue_forget(e, w);
        w->state = WORKLOAD_FLIGHT;
        q->flight = w;
        e->entries.v[e->entries.n++] = (struct entry){.w = w};
    }
    e->ready.n = kept;
    return r;
}

static bool something_to_do(const struct engine *e) {
    for (size_t i = 0; i < e->ready.n; i++) {
        const struct engine_queue *q = e->ready.v[i];
        if (q->heap.n > 0 && !q->blocked && queue_is_active(e, q)) {
            return true;
        }
    }
    return false;
}

static int entry_cmp(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    if (x->w == NULL || y->w == NULL) {
        return (x->w == NULL) - (y->w == NULL);
    }
    if (x->a.borrow != y->a.borrow) {
        return x->a.borrow < y->a.borrow ? -1 : 1;
    }
    return workload_order(x->w, y->w, NULL);
}

/* ---- one entry ---- */

static bool quota_fits(const struct assignment *a) {
    for (size_t i = 0; i < a->n_held; i++) {
        int64_t v = 0;
        for (size_t k = 0; k < a->n_held; k++) {
            v = a->cells[k] == a->cells[i] ? amount_add(v, a->held[k].v) : v;
        }
        if (v > amount_max(0, quota_available(a->cells[i]))) {
            return false;
        }
    }
    return true;
}

static int reserve(struct engine *e, const struct entry *n) {
    for (size_t i = 0; i < n->a.n_held; i++) {
        struct quota_cell *c = n->a.cells[i];
        int64_t v = n->a.held[i].v;
        if (n->a.borrow == 0) {
            v = amount_min(v, amount_sub(c->q.nominal, c->usage));
        } else if (c->q.borrowing != AMOUNT_NONE) {
            v = amount_min(v, amount_sub(amount_add(c->q.nominal, c->q.borrowing), c->usage));
        }
        if (v <= 0) {
            continue;
        }
        int r = reservation_vec_push(&e->reserved, (struct reservation){c, v});
        if (r != 0) {
            return r;
        }
        quota_use(&e->forest, c, v);
    }
    return 0;
}

static void unreserve(struct engine *e) {
    while (e->reserved.n > 0) {
        struct reservation *x = &e->reserved.v[--e->reserved.n];
        quota_use(&e->forest, x->cell, -x->v);
    }
}

static size_t count_pods(const struct engine_workload *w) {
    size_t n = 0;
    for (size_t i = 0; i < w->n_sets; i++) {
        n += (size_t)w->sets[i].count;
    }
    return n;
}

static size_t set_flavors(struct engine *e, const struct assignment *a, uint32_t set,
                          const struct flavor_input **out) {
    size_t n = 0;
    for (size_t i = 0; i < a->n_held; i++) {
        const struct flavor_input *f = &e->flavors.v[a->held[i].flavor].spec;
        bool there = a->held[i].set != set;
        for (size_t k = 0; k < n && !there; k++) {
            there = out[k] == f;
        }
        if (!there) {
            out[n++] = f;
        }
    }
    return n;
}

/* Seats for all pods of the sets that are ours to place. *ret_ok false: why is in the verdict. */
static int seat_all(struct engine *e, struct entry *n, bool *ret_ok, bool *ret_seated) {
    struct engine_workload *w = n->w;
    size_t pods = count_pods(w), used = 0;
    *ret_ok = true;
    *ret_seated = false;
    if (!pool_has_managed(e->pool) || pods == 0) {
        return 0;
    }
    struct place_input *in = ARENA_ARRAY(&e->tick, struct place_input, pods);
    for (uint32_t i = 0; in != NULL && i < w->n_sets; i++) {
        const struct flavor_input **flavors =
            ARENA_ARRAY(&e->tick, const struct flavor_input *, n->a.n_held + 1);
        if (flavors == NULL) {
            return ERR_NOMEM;
        }
        struct place_input one = {.set = w->sets[i].name, .shape = &w->sets[i].shape,
                                  .flavors = flavors, .amounts = w->sets[i].requests,
                                  .n_flavors = set_flavors(e, &n->a, i, flavors),
                                  .n_amounts = w->sets[i].n_requests};
        for (; pool_is_ours(e->pool, &one) && one.ordinal < w->sets[i].count; one.ordinal++) {
            in[used++] = one;
        }
    }
    if (in == NULL) {
        return ERR_NOMEM;
    }
    uint64_t before = e->o.check_undo ? pool_digest(e->pool) : 0;
    struct place_why why = {0};
    int r = pool_plan(e->pool, w->uid, (struct str){0}, in, used, ret_ok, &why);
    if (r == 0 && !*ret_ok) {
        n->a.verdict->reason = PEND_WAITING_FOR_PLACEMENT;
        n->a.verdict->n_sets = 0;
        n->a.verdict->place = why;
    }
    assert(!e->o.check_undo || (r == 0 && *ret_ok) || before == pool_digest(e->pool));
    *ret_seated = r == 0 && *ret_ok && used > 0;
    return r;
}

static int use_all(struct engine *e, const struct assignment *a) {
    for (size_t i = 0; i < a->n_held; i++) {
        int r = quota_use(&e->forest, a->cells[i], a->held[i].v);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* Quota and seats together, or neither: a trial. */
static int admit(struct engine *e, struct entry *n, bool *ret_ok) {
    struct engine_workload *w = n->w;
    struct held_amount *held = mem_array(n->a.n_held + 1, sizeof(*held));
    if (held == NULL) {
        return ERR_NOMEM;
    }
    uint64_t before = e->o.check_undo ? quota_digest(&e->forest) : 0;
    size_t mark = quota_mark(&e->forest);
    bool seated = false;
    *ret_ok = false;
    int r = use_all(e, &n->a);
    if (r == 0) {
        r = seat_all(e, n, ret_ok, &seated);
    }
    if (r == 0 && *ret_ok) {
        struct engine_action a = {.type = ACTION_ADMIT, .uid = w->uid, .queue = w->queue->name,
                                  .held = held, .n_held = n->a.n_held, .seated = seated};
        r = action_add(e, &a);
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
    memcpy(held, n->a.held, n->a.n_held * sizeof(*held));
    w->held = held;
    w->n_held = n->a.n_held;
    w->queue->flight = NULL;
    w->queue->n_holding++;
    class_leave(w->queue, w);
    w->state = WORKLOAD_HOLDING;
    w->has_tried = false;
    n->outcome = OUTCOME_ADMITTED;
    e->progress++;
    return 0;
}

static int entry_process(struct engine *e, struct entry *n) {
    n->outcome = OUTCOME_NO_FIT;
    if (n->a.mode == MODE_NO_FIT) {
        return 0;
    }
    if (n->a.mode != MODE_FIT) {
        return n->w->queue->reclaim == PREEMPT_ANY ? 0 : reserve(e, n);
    }
    if (!quota_fits(&n->a)) {
        n->outcome = OUTCOME_AGAIN;
        n->w->has_tried = false; /* it may be free in the next cycle: all flavors are tried anew */
        n->a.verdict->reason = PEND_WAITING_FOR_QUOTA;
        n->a.verdict->turn = TURN_CONTENDED;
        return 0;
    }
    bool ok;
    return admit(e, n, &ok);
}

/* ---- after ---- */

static bool flavors_left(const struct engine_workload *w) {
    for (size_t i = 0; i < w->n_sets; i++) {
        for (size_t k = 0; k < w->sets[i].n_requests; k++) {
            if (w->sets[i].tried[k] != -1) {
                return true;
            }
        }
    }
    return false;
}

/* A flavor that had quota but no place is followed by the next one, at once; when there is none left, the
 * workload waits for a place, whatever the last flavor lacked, and starts again with the first. */
static int entry_requeue(struct engine *e, struct entry *n) {
    struct engine_workload *w = n->w;
    struct engine_queue *q = w->queue;
    bool no_place = n->a.verdict->reason == PEND_WAITING_FOR_PLACEMENT;
    bool left = flavors_left(w);
    q->flight = NULL;
    w->state = WORKLOAD_IDLE;
    struct engine_action a = {.type = ACTION_PEND, .uid = w->uid, .queue = q->name,
                              .verdict = n->a.verdict};
    bool told = w->missed_place && !no_place; /* that a place is missing says more */
    int r = told ? 0 : action_add(e, &a);
    w->missed_place = w->missed_place || no_place;
    w->skipped = w->skipped || (w->missed_place && n->outcome == OUTCOME_AGAIN);
    e->progress += no_place && left && !w->skipped;
    if (r != 0 || n->outcome == OUTCOME_AGAIN || left || q->strict) {
        q->blocked = q->blocked || (r == 0 && n->outcome == OUTCOME_NO_FIT && q->strict && !left);
        w->missed_place = w->missed_place && !q->blocked;
        int pushed = queue_push(e, w);
        return r != 0 ? r : pushed;
    }
    bool place = w->missed_place;
    w->wants_place = place;
    w->missed_place = w->skipped = false;
    queue_park(e, w);
    e->progress++;
    return queue_park_alike(e, w, n->a.verdict, place);
}

/* Heads go back where they were: nothing was decided about them. */
void cycle_abort(struct engine *e) {
    if (e->phase == CYCLE_NONE) {
        return;
    }
    unreserve(e);
    for (size_t i = 0; i < e->entries.n; i++) {
        struct engine_workload *w = e->entries.v[i].w;
        if (w == NULL || w->state != WORKLOAD_FLIGHT) {
            continue;
        }
        w->queue->flight = NULL;
        w->state = WORKLOAD_IDLE;
        w->has_tried = false; /* also what the nomination came to */
        if (queue_push(e, w) != 0) {
            queue_park(e, w); /* no memory to queue it: parked, and retried with its tree */
            engine_retry_tree(e, w->queue);
        }
    }
    e->entries.n = 0;
    e->phase = CYCLE_NONE;
}

static int cycle_end(struct engine *e) {
    int r = 0;
    unreserve(e);
    for (size_t i = 0; i < e->entries.n && r == 0; i++) {
        struct entry *n = &e->entries.v[i];
        if (n->w != NULL && n->outcome != OUTCOME_ADMITTED) {
            r = entry_requeue(e, n);
        }
    }
    if (r != 0) {
        cycle_abort(e);
        return r;
    }
    e->entries.n = 0;
    e->phase = CYCLE_NONE;
    e->idle = e->progress > 0 ? 0 : e->idle + 1;
    if (e->idle >= 3) { /* the same heads in the same state: wait for a change */
        for (size_t i = 0; i < e->ready.n; i++) {
            e->ready.v[i]->blocked = true;
        }
        e->idle = 0;
    }
    return 0;
}

static int cycle_start(struct engine *e) {
    arena_reset(&e->tick);
    e->cycle++;
    e->progress = 0;
    e->at = 0;
    int r = heads_pop(e);
    if (r == 0) {
        e->phase = CYCLE_NOMINATE;
    }
    return r;
}

static int cycle_step(struct engine *e) {
    if (e->phase == CYCLE_NOMINATE) {
        if (e->at < e->entries.n) {
            struct entry *n = &e->entries.v[e->at++];
            return n->w != NULL ? assign_flavors(e, n->w, &n->a) : 0;
        }
        if (e->entries.n > 1) {
            qsort(e->entries.v, e->entries.n, sizeof(*e->entries.v), entry_cmp);
        }
        e->phase = CYCLE_PROCESS;
        e->at = 0;
        return 0;
    }
    if (e->at < e->entries.n) {
        struct entry *n = &e->entries.v[e->at++];
        return n->w != NULL ? entry_process(e, n) : 0;
    }
    return cycle_end(e);
}

/* Those parked on arrival are looked at once, so that they too can be told why they wait. */
static int explain_fresh(struct engine *e) {
    arena_reset(&e->tick);
    while (e->fresh.n > 0) {
        struct engine_workload *w = e->fresh.v[e->fresh.n - 1];
        struct assignment a;
        int r = 0;
        if (w != NULL && w->state == WORKLOAD_PARKED) {
            r = assign_flavors(e, w, &a);
            w->has_tried = false;
            struct engine_action act = {.type = ACTION_PEND, .uid = w->uid,
                                        .queue = w->queue->name, .verdict = a.verdict};
            if (r == 0 && a.mode == MODE_FIT) {
                queue_forget(e, w);
                r = queue_push(e, w);
            } else if (r == 0) {
                r = action_add(e, &act);
            }
        }
        if (r != 0) {
            return r;
        }
        e->fresh.n--;
        if (w != NULL) {
            w->fresh = 0;
        }
    }
    return 0;
}

int engine_run(struct engine *e, int64_t now_ns, size_t budget, const struct engine_action **ret,
               size_t *ret_n, bool *ret_more, int64_t *ret_wake_ns) {
    e->now_ns = now_ns;
    e->actions.n = 0;
    int r = 0;
    if (e->phase == CYCLE_NONE) {
        r = quota_settle(&e->forest);
        if (r == 0) {
            r = engine_retry_all(e);
        }
        if (r == 0 && e->fresh.n > 0) {
            r = explain_fresh(e);
            *ret_more = true;
            if (r == 0 && e->actions.n > 0) {
                *ret = e->actions.v;
                *ret_n = e->actions.n;
                return 0;
            }
        }
        if (r == 0 && something_to_do(e)) {
            r = cycle_start(e);
        }
    }
    for (size_t steps = 0; r == 0 && e->phase != CYCLE_NONE && steps < budget; steps++) {
        r = cycle_step(e);
    }
    if (r != 0) {
        cycle_abort(e);
        if (e->actions.n == 0) {
            return r;
        }
    }
    *ret = e->actions.v;
    *ret_n = e->actions.n;
    *ret_more = e->phase != CYCLE_NONE || engine_retry_due(e) || something_to_do(e);
    if (ret_wake_ns != NULL) {
        *ret_wake_ns = INT64_MAX;
    }
    return 0;
}
