/* cycle (core): see cycle.h. */
#include "core/admit/cycle.h"

#include "core/admit/engine_private.h"
#include "core/admit/fair.h"
#include "core/admit/nominate.h"
#include "core/admit/scan.h"

void cycle_init(struct cycle *c, size_t tick_bytes) {
    *c = (struct cycle){.chosen_mark = 1};
    requeue_index_init(&c->requeue);
    arena_init(&c->tick, tick_bytes);
    arena_init(&c->spare, tick_bytes);
}

void cycle_release(struct cycle *c) {
    entry_vec_release(&c->entries);
    action_vec_release(&c->actions);
    reservation_vec_release(&c->reserved);
    workload_vec_release(&c->chosen);
    arena_release(&c->tick);
    arena_release(&c->spare);
}

int cycle_action_add(struct cycle *c, const struct engine_action *a) {
    return action_vec_push(&c->actions, *a);
}

void cycle_forget(struct cycle *c, const struct queue_workload *w) {
    for (size_t i = 0; i < c->entries.n; i++) {
        if (c->entries.v[i].w == w) {
            c->entries.v[i].w = NULL;
        }
    }
}

/* ---- heads ---- */

static int heads_step(struct engine *e) {
    struct queue *q;
    int r = entry_vec_room(&e->cycle.entries, 1);
    if (r != 0) {
        return r;
    }
    if (!tree_heads_next(e->cycle.tree, &q)) {
        tree_heads_end(e->cycle.tree);
        e->cycle.phase = CYCLE_NOMINATE;
        e->cycle.at = 0;
        return 0;
    }
    if (q != NULL) {
        struct queue_workload *w = queue_take_off(q);
        e->cycle.entries.v[e->cycle.entries.n++] = (struct cycle_entry){
            .w = w, .preemptor = e->o.prioritize_preemptors && q->preemptor == w};
    }
    return 0;
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
    int r = nominate_head(e, n->w, NULL, &n->a);
    if (r == 0) {
        scan_keep(&e->cycle, n->w, &n->a);
    }
    return r;
}

/* ---- order ---- */

static int by_time(const struct queue_workload *x, const struct queue_workload *y) {
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
    return fair_begin(&e->preempt, e->cycle.entries.v + base, e->cycle.entries.n - base,
                      &e->cycle.round);
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
    if (r != 0) {
        return r;
    }
    r = fair_pop(&e->preempt, e->cycle.round, &i);
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
    struct cohort_tree *t = e->cycle.tree;
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

void cycle_abort(struct engine *e) {
    if (e->cycle.phase == CYCLE_NONE) {
        return;
    }
    tree_heads_end(e->cycle.tree);
    chosen_clear(e);
    cycle_unreserve(e);
    for (size_t i = 0; i < e->cycle.entries.n; i++) {
        struct queue_workload *w = e->cycle.entries.v[i].w;
        if (w == NULL || w->state != WORKLOAD_FLIGHT) {
            continue;
        }
        w->queue->flight = NULL;
        w->state = WORKLOAD_IDLE;
        scan_clear(w); /* also what the nomination came to */
        queue_return(w);
    }
    e->cycle.tree->awake = true; /* it is due still */
    cycle_close(e);
}

void cycle_edits(struct engine *e, const struct quota_node *n) {
    if (e->cycle.phase != CYCLE_NONE && n != NULL && n->root == e->cycle.tree->root) {
        cycle_abort(e);
    }
}

void cycle_edits_flavor(struct engine *e, uint32_t flavor) {
    const struct quota_node *n =
        e->cycle.phase != CYCLE_NONE ? e->cycle.tree->root->tree_first : NULL;
    for (; n != NULL; n = n->tree_next) {
        if (queue_names_flavor(n->user, flavor)) {
            cycle_abort(e);
            return;
        }
    }
}

void cycle_start(struct engine *e, struct cohort_tree *t) {
    e->cycle.tree = t;
    e->cycle.phase = CYCLE_HEADS;
    tree_heads_begin(t);
    e->cycle.at = 0;
    e->cycle.progress = 0;
    e->cycle.moved = false;
    e->cycle.round_stale = false;
    t->poked = false;
    t->cycle++;
    e->queues.agenda.cycles =
        t->cycle > e->queues.agenda.cycles ? t->cycle : e->queues.agenda.cycles;
    if (!e->cycle.swapped) { /* actions of a cycle that ended in this call are still read */
        struct arena a = e->cycle.tick;
        e->cycle.tick = e->cycle.spare;
        e->cycle.spare = a;
        e->cycle.swapped = true;
    }
}

int cycle_step(struct engine *e) {
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
