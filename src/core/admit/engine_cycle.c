/*
 * engine_cycle (core): one cycle of one cohort tree, in steps.
 *
 *     none -> heads: one head per active queue is popped
 *     heads -> nominate: each is given flavors, and victims where it needs them, against the usage of the moment
 *     nominate -> order: the heads are sorted, or a tournament of shares is prepared
 *     order -> process: head by head (engine_process.c)
 *     process -> requeue: what heads kept for themselves is given back; those not admitted go where they wait
 *     requeue -> none
 *
 * What is released while a cycle is under way does not end it: heads are processed against what is there by then, and
 * those with victims try again in the next. Edits of nodes of its tree end it; its heads return to their queues
 * undecided.
 */
#include "core/admit/preempt.h"

int action_add(struct engine *e, const struct engine_action *a) {
    return action_vec_push(&e->cycle.actions, *a);
}

/* ---- heads ---- */

static int heads_step(struct engine *e) {
    struct engine_tree *t = e->cycle.tree;
    if (e->cycle.at == t->n_ready) {
        t->n_ready = e->cycle.kept;
        e->cycle.phase = CYCLE_NOMINATE;
        e->cycle.at = 0;
        return 0;
    }
    struct engine_queue *q = t->ready[e->cycle.at];
    if (q->n_active == 0) {
        q->listed = false;
        e->cycle.at++;
        return 0;
    }
    int r = entry_vec_room(&e->cycle.entries, 1);
    if (r != 0) {
        return r;
    }
    struct engine_workload *w = queue_head(e, q);
    queue_forget(e, w);
    w->state = WORKLOAD_FLIGHT;
    q->flight = w;
    e->cycle.entries.v[e->cycle.entries.n++] =
        (struct cycle_entry){.w = w, .preemptor = e->o.prioritize_preemptors && q->preemptor == w};
    t->ready[e->cycle.kept++] = q;
    e->cycle.at++;
    return 0;
}

/* Queues not reached yet stay listed. */
static void heads_close(struct engine *e) {
    struct engine_tree *t = e->cycle.tree;
    while (e->cycle.at < t->n_ready) {
        t->ready[e->cycle.kept++] = t->ready[e->cycle.at++];
    }
    t->n_ready = e->cycle.kept;
}

/* ---- nominate ---- */

static int nominate_step(struct engine *e) {
    if (e->cycle.at == e->cycle.entries.n) {
        e->cycle.phase = CYCLE_ORDER;
        return 0;
    }
    struct cycle_entry *n = &e->cycle.entries.v[e->cycle.at++];
    if (n->w == NULL) {
        return 0;
    }
    if (n->w->failed_checks) {
        n->a.verdict = ARENA_NEW(&e->cycle.tick, struct verdict);
        if (n->a.verdict == NULL) {
            return ERR_NOMEM;
        }
        *n->a.verdict = (struct verdict){.reason = PEND_EVALUATION, .turn = TURN_FAILED_CHECKS};
        n->outcome = OUTCOME_FAILED_CHECKS;
        return 0;
    }
    int r = engine_nominate(e, n->w, NULL, &n->a);
    if (r == 0) {
        scan_keep(e, n->w, &n->a);
    }
    return r;
}

/* ---- order ---- */

static int by_time(const struct engine_workload *x, const struct engine_workload *y) {
    if (x->queued_ns != y->queued_ns) {
        return x->queued_ns < y->queued_ns ? -1 : 1;
    }
    return str_cmp(x->uid, y->uid);
}

static int entry_cmp(const void *a, const void *b, void *ctx) {
    const struct engine *e = ctx;
    const struct cycle_entry *x = a, *y = b;
    if (x->w == NULL || y->w == NULL) {
        return (x->w == NULL) - (y->w == NULL);
    }
    if (x->preemptor != y->preemptor) {
        return x->preemptor ? -1 : 1;
    }
    if (x->a.borrow != y->a.borrow) {
        return x->a.borrow < y->a.borrow ? -1 : 1;
    }
    if (!e->o.no_priority_in_cohort && x->w->priority != y->w->priority) {
        return x->w->priority > y->w->priority ? -1 : 1;
    }
    return by_time(x->w, y->w);
}

/* The tournament of those not processed yet; they stand after `base`. */
static int round_begin(struct engine *e, size_t base) {
    e->cycle.round_base = base;
    e->cycle.round_stale = false;
    return fair_begin(e, e->cycle.entries.v + base, e->cycle.entries.n - base, &e->cycle.round);
}

static int order_step(struct engine *e) {
    e->cycle.phase = CYCLE_PROCESS;
    e->cycle.at = 0;
    if (e->o.fair_sharing) {
        return round_begin(e, 0);
    }
    if (e->cycle.entries.n > 1) {
        qsort_r(e->cycle.entries.v, e->cycle.entries.n, sizeof(*e->cycle.entries.v), entry_cmp, e);
    }
    return 0;
}

/* ---- process ---- */

/* Usage changed elsewhere: shares are asked anew, for those that are left. */
static int round_again(struct engine *e) {
    size_t done = 0;
    for (size_t i = 0; i < e->cycle.entries.n; i++) {
        struct cycle_entry *n = &e->cycle.entries.v[i];
        if (n->w == NULL || n->outcome != OUTCOME_NONE) {
            struct cycle_entry x = *n;
            *n = e->cycle.entries.v[done];
            e->cycle.entries.v[done++] = x;
        }
    }
    return round_begin(e, done);
}

static int next_entry(struct engine *e, struct cycle_entry **ret) {
    *ret = NULL;
    if (!e->o.fair_sharing) {
        *ret = e->cycle.at < e->cycle.entries.n ? &e->cycle.entries.v[e->cycle.at++] : NULL;
        return 0;
    }
    ptrdiff_t i;
    chosen_in(e);
    int r = e->cycle.round_stale ? round_again(e) : 0;
    r = r == 0 ? fair_pop(e, e->cycle.round, &i) : r;
    if (r == 0 && i >= 0) {
        *ret = &e->cycle.entries.v[e->cycle.round_base + (size_t)i];
    }
    return r;
}

static int process_step(struct engine *e) {
    struct cycle_entry *n;
    int r = next_entry(e, &n);
    if (r != 0) {
        return r;
    }
    if (n == NULL) {
        chosen_clear(e);
        cycle_unreserve(e);
        e->cycle.phase = CYCLE_REQUEUE;
        e->cycle.at = 0;
        return 0;
    }
    return n->w != NULL ? entry_process(e, n) : 0;
}

/* ---- the end ---- */

static void cycle_close(struct engine *e) {
    e->cycle.entries.n = 0;
    e->cycle.phase = CYCLE_NONE;
    e->cycle.tree = NULL;
}

/* Another cycle is of use when this one changed something, or when a scan over flavors goes on; not when all heads are
 * in the state in which it found them. */
static void cycle_end(struct engine *e) {
    struct engine_tree *t = e->cycle.tree;
    t->idle = e->cycle.progress > 0 ? 0 : e->cycle.moved ? t->idle + 1 : t->idle_limit;
    t->awake = t->n_ready > 0 && (t->poked || t->idle < t->idle_limit);
    cycle_close(e);
}

static int requeue_step(struct engine *e) {
    if (e->cycle.at == e->cycle.entries.n) {
        cycle_end(e);
        return 0;
    }
    struct cycle_entry *n = &e->cycle.entries.v[e->cycle.at++];
    int r = n->w != NULL && n->w->state == WORKLOAD_FLIGHT ? entry_requeue(e, n) : 0;
    n->w = NULL; /* it is not in flight any more: it may go without a word to the cycle */
    return r;
}

/* Heads go back where they were: nothing was decided about them. */
void cycle_abort(struct engine *e) {
    if (e->cycle.phase == CYCLE_NONE) {
        return;
    }
    if (e->cycle.phase == CYCLE_HEADS) {
        heads_close(e);
    }
    chosen_clear(e);
    cycle_unreserve(e);
    for (size_t i = 0; i < e->cycle.entries.n; i++) {
        struct engine_workload *w = e->cycle.entries.v[i].w;
        if (w == NULL || w->state != WORKLOAD_FLIGHT) {
            continue;
        }
        w->queue->flight = NULL;
        w->state = WORKLOAD_IDLE;
        scan_clear(w); /* also what the nomination came to */
        if (queue_push(e, w) != 0) {
            queue_park(e, w); /* no memory to queue it: parked, and tried again with its tree */
            tree_retry(e, w->queue);
        }
    }
    e->cycle.tree->awake = true; /* it is due still */
    cycle_close(e);
}

static void cycle_start(struct engine *e, struct engine_tree *t) {
    e->cycle.tree = t;
    e->cycle.phase = CYCLE_HEADS;
    e->cycle.at = e->cycle.kept = 0;
    e->cycle.progress = 0;
    e->cycle.moved = false;
    e->cycle.round_stale = false;
    t->poked = false;
    t->cycle++;
    e->cycles = t->cycle > e->cycles ? t->cycle : e->cycles;
    if (!e->cycle.swapped) { /* actions of a cycle that ended in this call are still read */
        struct arena a = e->cycle.tick;
        e->cycle.tick = e->cycle.spare;
        e->cycle.spare = a;
        e->cycle.swapped = true;
    }
}

static int cycle_step(struct engine *e) {
    static int (*const steps[])(struct engine *) = {
        [CYCLE_HEADS] = heads_step,     [CYCLE_NOMINATE] = nominate_step,
        [CYCLE_ORDER] = order_step,     [CYCLE_PROCESS] = process_step,
        [CYCLE_REQUEUE] = requeue_step,
    };
    int r = steps[e->cycle.phase](e);
    if (r == 0 && e->halted) {
        cycle_abort(e);
    }
    return r;
}

/* ---- runs ---- */

/* Of the two arenas, the one that no cycle under way uses is emptied: a cycle that begins in this call takes it. */
static int run_begin(struct engine *e, int64_t now_ns) {
    e->now_ns = now_ns;
    e->cycle.actions.n = 0;
    e->cycle.swapped = false;
    arena_reset(&e->cycle.spare);
    if (e->cycle.phase == CYCLE_NONE) {
        arena_reset(&e->cycle.tick);
    }
    e->halted = e->halted && e->n_not_ready > 0;
    int r = engine_settle(e);
    if (r == 0) {
        trees_wake(e);
    }
    return r;
}

static int run_end(struct engine *e, int r, const struct engine_action **ret, size_t *ret_n) {
    chosen_in(e);
    if (r != 0) {
        cycle_abort(e);
        if (e->cycle.actions.n == 0) {
            return r;
        }
    }
    *ret = e->cycle.actions.v;
    *ret_n = e->cycle.actions.n;
    return 0;
}

/* Trees take turns, a cycle each. */
static int run_trees(struct engine *e) {
    int r = 0;
    while (r == 0 && e->left > 0 && !e->halted) {
        if (e->cycle.phase != CYCLE_NONE) {
            e->left--;
            r = cycle_step(e);
            continue;
        }
        struct engine_tree *t = tree_due(e);
        if (t == NULL) {
            break;
        }
        if (t->retry) {
            r = tree_unpark(e, t);
        } else {
            tree_due_last(e);
            cycle_start(e, t);
        }
    }
    return r;
}

int engine_run(struct engine *e, int64_t now_ns, size_t budget, const struct engine_action **ret,
               size_t *ret_n, bool *ret_more, int64_t *ret_wake_ns) {
    uint64_t built = e->forest.built;
    int r = run_begin(e, now_ns);
    uint64_t settled = (e->forest.built - built) / ENGINE_SETTLED_A_HEAD;
    budget -=
        settled < budget ? settled : budget - (budget > 0); /* one head is looked at in any case */
    size_t told = e->agenda.tell != NULL ? budget / 4 : 0;  /* the rest is for those not told yet */
    e->left = budget - told;
    r = r == 0 ? run_trees(e) : r;
    e->left += told;
    r = r == 0 ? tell_some(e) : r;
    r = run_end(e, r, ret, ret_n);
    if (r != 0) {
        return r;
    }
    bool due = e->cycle.phase != CYCLE_NONE || e->forest.dirty || tree_due(e) != NULL;
    *ret_more = (due && !e->halted) || e->agenda.tell != NULL;
    if (ret_wake_ns != NULL) {
        const struct engine_tree *t = heap_peek(&e->agenda.wakes);
        *ret_wake_ns = t != NULL ? t->wake_ns : INT64_MAX;
    }
    return 0;
}

static int run_one(struct engine *e, struct engine_tree *t) {
    int r = 0;
    if (t->n_ready == 0 || e->halted) {
        return 0;
    }
    t->cycle = e->cycles - 1; /* one count for all */
    cycle_start(e, t);
    while (r == 0 && e->cycle.phase != CYCLE_NONE) {
        r = cycle_step(e);
    }
    return r;
}

int engine_cycle(struct engine *e, int64_t now_ns, const struct engine_action **ret,
                 size_t *ret_n) {
    struct tree_vec trees = {0};
    cycle_abort(e);
    int r = run_begin(e, now_ns);
    e->left = SIZE_MAX;
    e->as_kueue = true;
    e->cycles++;
    r = r == 0 ? trees_list(e, &trees) : r;
    for (size_t i = 0; i < trees.n && r == 0; i++) {
        r = trees.v[i]->retry ? tree_unpark(e, trees.v[i]) : 0;
        r = r == 0 ? run_one(e, trees.v[i]) : r;
    }
    tree_vec_release(&trees);
    e->as_kueue =
        false; /* those parked beside others are not looked at: one that fits would be tried again */
    return run_end(e, r, ret, ret_n);
}
