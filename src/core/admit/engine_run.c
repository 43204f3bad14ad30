/* engine_run (core): runs: cohort trees take turns, a cycle each, within a budget. */
#include "core/admit/engine_private.h"

/* Of the two arenas, the one that no cycle under way uses is emptied: a cycle that begins in this call takes it. */
static int run_begin(struct engine *e, int64_t now_ns) {
    e->preempt.now_ns = now_ns;
    e->cycle.actions.n = 0;
    e->cycle.swapped = false;
    arena_reset(&e->cycle.spare);
    if (e->cycle.phase == CYCLE_NONE) {
        arena_reset(&e->cycle.tick);
    }
    e->halted = e->halted && e->n_not_ready > 0;
    int r = engine_settle(e);
    if (r == 0) {
        agenda_wake(&e->queues.agenda, e->preempt.now_ns);
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
        struct cohort_tree *t = agenda_due(&e->queues.agenda);
        if (t == NULL) {
            break;
        }
        if (t->retry) {
            r = tree_unpark(&e->queues.agenda, t, &e->left);
        } else {
            agenda_due_last(&e->queues.agenda);
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
    size_t told = e->queues.tell != NULL ? budget / 4 : 0;  /* the rest is for those not told yet */
    e->left = budget - told;
    if (r == 0) {
        r = run_trees(e);
    }
    e->left += told;
    if (r == 0) {
        r = tell_some(e);
    }
    r = run_end(e, r, ret, ret_n);
    if (r != 0) {
        return r;
    }
    bool due =
        e->cycle.phase != CYCLE_NONE || e->forest.dirty || agenda_due(&e->queues.agenda) != NULL;
    *ret_more = (due && !e->halted) || e->queues.tell != NULL;
    if (ret_wake_ns != NULL) {
        *ret_wake_ns = agenda_next_ns(&e->queues.agenda);
    }
    return 0;
}

static int run_one(struct engine *e, struct cohort_tree *t) {
    int r = 0;
    if (t->n_ready == 0 || e->halted) {
        return 0;
    }
    t->cycle = e->queues.agenda.cycles - 1; /* one count for all */
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
    e->queues.agenda.cycles++;
    if (r == 0) {
        r = agenda_trees(&e->queues.agenda, &trees);
    }
    for (size_t i = 0; i < trees.n && r == 0; i++) {
        r = trees.v[i]->retry ? tree_unpark(&e->queues.agenda, trees.v[i], &e->left) : 0;
        if (r == 0) {
            r = run_one(e, trees.v[i]);
        }
    }
    tree_vec_release(&trees);
    e->as_kueue =
        false; /* those parked beside others are not looked at: one that fits would be tried again */
    return run_end(e, r, ret, ret_n);
}
