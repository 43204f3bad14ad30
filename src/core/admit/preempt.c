/*
 * preempt (core): the search for victims by the classical rules. See preempt.h.
 *
 * Candidates come in six runs: of those that are evicting already, and then of the others, first from below
 * ancestors where the asker has the right to its part of the subtree (hierarchy), then from other queues
 * (priority), then from the asker's own queue. They are taken out one by one until the asker fits, and put back
 * one by one where it fits without.
 */
#include <assert.h>

#include "core/admit/preempt_private.h"

/* ---- steps inside a trial ---- */

int preempt_remove(struct preempt *p, const struct victim *v, size_t n) {
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = holder_move(p->forest, v[i].w, -1);
    }
    return r;
}

int victim_take(struct search *s, struct queue_workload *w, enum preempt_reason reason) {
    int r = victim_vec_push(&s->m->out, (struct victim){w, reason});
    return r == 0 ? holder_move(s->p->forest, w, -1) : r;
}

bool search_fits(const struct search *s, bool borrow) {
    for (size_t i = 0; i < s->ask->n_needs; i++) {
        const struct preempt_need *n = &s->ask->needs[i];
        if (n->besides || n->uncounted) {
            continue;
        }
        if (n->v > amount_max(0, quota_available(n->cell)) ||
            (!borrow && quota_borrows_with(n->cell, n->v))) {
            return false;
        }
    }
    return s->ask->fits == NULL || s->ask->fits(s->ask->ctx, s->m->out.v, s->m->out.n);
}

int search_fill_back(struct search *s, bool borrow) {
    struct victim_vec *out = &s->m->out;
    for (size_t i = out->n - 1; i > 0; i--) {
        struct victim one = out->v[i - 1];
        int r = holder_move(s->p->forest, one.w, 1);
        if (r != 0) {
            return r;
        }
        out->v[i - 1] = out->v[--out->n]; /* the last takes its place */
        if (!search_fits(s, borrow)) {
            out->n++;
            out->v[i - 1] = one;
            r = holder_move(s->p->forest, one.w, -1);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* ---- where candidates come from ---- */

bool preempt_queue_may(const struct quota_node *n) {
    return n->user != NULL && n->active;
}

/* Queues below n, other than those below `skip`, that use more than their own of what is short. */
static int collect(struct search *s, const struct quota_node *n, const struct quota_node *skip,
                   const struct quota_node *lca, enum source_list list) {
    uint64_t stamp = s->p->forest->stamp;
    for (size_t i = 0; i < s->ask->n_needs; i++) {
        if (!s->ask->needs[i].short_) {
            continue;
        }
        const struct quota_cell *c = quota_cell_of(n, s->ask->needs[i].cell->q.pair);
        for (c = c != NULL ? c->over_first : NULL; c != NULL; c = c->over_next) {
            struct quota_node *child = c->node;
            if (child == skip || child->stamp == stamp) {
                continue;
            }
            child->stamp = stamp;
            int r = !child->queue ? collect(s, child, NULL, lca, list)
                    : preempt_queue_may(child)
                        ? source_add(s, child->user, lca, list, s->q->reclaim)
                        : 0;
            if (r != 0) {
                return r;
            }
        }
    }
    return 0;
}

/* By lists that a search asks: without SOURCE_PRIORITY, only from below ancestors where the asker has the right. */
static int collect_cohort(struct search *s, bool priority) {
    size_t n = 0;
    const struct quota_cell **cells =
        ARENA_ARRAY(&s->m->memory, const struct quota_cell *, s->ask->n_needs);
    int64_t *rest = ARENA_ARRAY(&s->m->memory, int64_t, s->ask->n_needs);
    if (cells == NULL || rest == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < s->ask->n_needs; i++) {
        const struct preempt_need *need = &s->ask->needs[i];
        if (!need->besides && !need->uncounted) {
            cells[n] = need->cell;
            rest[n++] = need->v;
        }
    }
    s->p->forest->stamp++;
    bool advantage = quota_own_room(cells, rest, n);
    const struct quota_node *below = s->q->node;
    int r = 0;
    for (const struct quota_node *a = below->parent; a != NULL && r == 0; a = a->parent) {
        if (advantage || priority) {
            r = collect(s, a, below, a, advantage ? SOURCE_HIERARCHY : SOURCE_PRIORITY);
        }
        advantage = quota_own_room(cells, rest, n) || advantage;
        below = a;
    }
    return r;
}

/* ---- one attempt ---- */

/* Is the queue, and each cohort up to where both meet, still above what is its own? */
static bool source_borrows(const struct search *s, const struct source *x) {
    for (const struct quota_node *n = x->q->node; n != x->lca; n = n->parent) {
        bool over = false;
        for (size_t i = 0; i < s->ask->n_needs && !over; i++) {
            const struct preempt_need *need = &s->ask->needs[i];
            const struct quota_cell *c = need->short_ ? quota_cell_of(n, need->cell->q.pair) : NULL;
            over = c != NULL && c->over;
        }
        if (!over) {
            return false;
        }
    }
    return true;
}

/* May not be evicted for one that would borrow. */
static bool spared_by_borrowing(const struct search *s, const struct source *x) {
    return x->list == SOURCE_PRIORITY &&
           victim_borrowing_rule(s->ask->w, x->head) != KEEP_NOT_ENOUGH;
}

static int source_heads(const void *a, const void *b, void *ctx) {
    const struct source *x = a, *y = b;
    return candidate_cmp(ctx, x->head, y->head);
}

static int run_begin(struct search *s, enum source_list list, bool evicting) {
    s->m->merge.n = 0;
    for (size_t i = 0; i < s->m->sources.n; i++) {
        struct source *x = &s->m->sources.v[i];
        if (x->list == list && x->head != NULL && x->head->evicting == evicting) {
            int r = heap_push(&s->m->merge, x);
            if (r != 0) {
                return r;
            }
        }
    }
    return 0;
}

/* One of the six runs: until the asker fits, or no candidate is left in it. */
static int run_through(struct search *s, enum source_list list, bool evicting, bool borrow,
                       bool *ret_fits) {
    int r = run_begin(s, list, evicting);
    for (struct source *x; r == 0 && (x = heap_pop(&s->m->merge)) != NULL;) {
        struct queue_workload *w = x->head;
        bool spared = spared_by_borrowing(s, x);
        if (x->lca != NULL && !source_borrows(s, x)) {
            x->head = NULL; /* usage only falls from here on: nor is any other of this queue */
        } else if (spared && borrow) {
            source_skip_priority(s, x);
        } else if (source_spares(s, x, w)) {
            source_next(s, x);
        } else {
            enum preempt_reason reason = list == SOURCE_OWN ? PREEMPT_IN_QUEUE
                                         : list == SOURCE_HIERARCHY || spared
                                             ? PREEMPT_RECLAIM
                                             : PREEMPT_RECLAIM_BORROWING;
            r = victim_take(s, w, reason);
            if (r == 0 && search_fits(s, borrow)) {
                *ret_fits = true;
                return 0;
            }
            source_next(s, x);
        }
        if (r == 0 && x->head != NULL && x->head->evicting == evicting) {
            r = heap_push(&s->m->merge, x);
        }
    }
    return r;
}

/* None of SOURCE_PRIORITY is evicted for one that would borrow (spared_by_borrowing). */
static bool list_is_spared(const struct search *s, enum source_list list, bool borrow) {
    return borrow && list == SOURCE_PRIORITY && s->q->borrow_within == PREEMPT_NEVER;
}

/* Those that the next attempt asks, from the first on. */
static int sources_start(struct search *s, bool borrow) {
    int r = 0;
    for (size_t i = 0; i < s->m->sources.n && r == 0; i++) {
        struct source *x = &s->m->sources.v[i];
        r = list_is_spared(s, x->list, borrow) ? 0 : source_start(s, x);
    }
    return r;
}

/* It would borrow whoever else goes, and none of its own queue does. */
static bool must_borrow(const struct search *s) {
    for (size_t i = 0; i < s->m->sources.n; i++) {
        if (s->m->sources.v[i].list == SOURCE_OWN && s->m->sources.v[i].head != NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < s->ask->n_needs; i++) {
        const struct preempt_need *n = &s->ask->needs[i];
        if (!n->besides && quota_borrows_with(n->cell, n->v)) {
            return true;
        }
    }
    return false;
}

static int attempt(struct search *s, bool borrow, bool *ret_found) {
    bool fits = false;
    int r = 0;
    if (!borrow && must_borrow(s)) {
        *ret_found = false;
        return 0;
    }
    size_t mark = quota_mark(s->p->forest);
    s->m->out.n = 0;
    for (int run = 0; run < 2 * SOURCE_LISTS && r == 0 && !fits; run++) {
        enum source_list list = run % SOURCE_LISTS;
        if (!list_is_spared(s, list, borrow)) {
            r = run_through(s, list, run < SOURCE_LISTS, borrow, &fits);
        }
    }
    if (r == 0 && fits) {
        r = search_fill_back(s, borrow);
    }
    quota_undo(s->p->forest, mark);
    if (r == 0) {
        *ret_found = fits;
    }
    return r;
}

static bool list_has_any(const struct search *s, enum source_list list) {
    for (size_t i = 0; i < s->m->sources.n; i++) {
        if (s->m->sources.v[i].list == list && s->m->sources.v[i].head != NULL) {
            return true;
        }
    }
    return false;
}

static bool below_nominal(const struct search *s) {
    for (size_t i = 0; i < s->ask->n_needs; i++) {
        const struct preempt_need *n = &s->ask->needs[i];
        if (n->short_ && !n->besides && n->cell->usage >= n->cell->q.nominal) {
            return false;
        }
    }
    return true;
}

static int classical_search(struct search *s, bool *ret_found) {
    bool never = s->q->borrow_within == PREEMPT_NEVER;
    int r = source_add(s, s->q, NULL, SOURCE_OWN, s->q->within_queue);
    if (r != 0) {
        return r;
    }
    r = sources_start(s, true);
    bool once = r == 0 && never && (!below_nominal(s) || must_borrow(s));
    if (r == 0 && s->q->reclaim != PREEMPT_NEVER) {
        r = collect_cohort(s, !once);
        if (r != 0) {
            return r;
        }
        r = sources_start(s, once);
    }
    if (r != 0 || s->m->sources.n == 0) {
        return r;
    }
    bool hierarchy = list_has_any(s, SOURCE_HIERARCHY);
    bool others = hierarchy || list_has_any(s, SOURCE_PRIORITY);
    if (!others || once) {
        return attempt(s, true, ret_found);
    }
    bool first = !(never && !hierarchy);
    r = attempt(s, first, ret_found);
    if (r == 0 && !*ret_found) {
        r = sources_start(s, !first);
        if (r != 0) {
            return r;
        }
        r = attempt(s, !first, ret_found);
    }
    return r;
}

/* ---- what others call ---- */

static struct preempt_scratch *scratch_of(struct preempt *p) {
    if (p->scratch == NULL) {
        p->scratch = mem_zalloc(sizeof(*p->scratch));
        if (p->scratch != NULL) {
            arena_init(&p->scratch->memory, (size_t)256 << 20);
        }
    }
    return p->scratch;
}

void preempt_release(struct preempt *p) {
    if (p->scratch != NULL) {
        source_vec_release(&p->scratch->sources);
        victim_vec_release(&p->scratch->out);
        heap_release(&p->scratch->merge);
        arena_release(&p->scratch->memory);
        mem_free(p->scratch);
        p->scratch = NULL;
    }
}

/* The victims into p->scratch->out; none when it cannot be done. */
static int search_run(struct search *s, struct preempt *p, const struct preempt_ask *ask) {
    *s = (struct search){
        .p = p, .ask = ask, .q = ask->w->queue, .wake_ns = INT64_MAX, .m = scratch_of(p)};
    if (s->m == NULL) {
        return ERR_NOMEM;
    }
    s->m->sources.n = s->m->out.n = 0;
    arena_reset(&s->m->memory);
    s->m->merge.cmp = source_heads;
    s->m->merge.ctx = s;
    s->m->merge.place = HEAP_NO_PLACE;
    uint64_t before = p->o->check_undo ? quota_digest(p->forest) : 0;
    bool found = false;
    int r = p->o->fair_sharing ? fair_search(s, &found) : classical_search(s, &found);
    assert(!p->o->check_undo || before == quota_digest(p->forest));
    if (r != 0 || !found) {
        s->m->out.n = 0;
    }
    return r;
}

int preempt_find(struct preempt *p, const struct preempt_ask *ask, struct victim **ret,
                 size_t *ret_n, bool *ret_protected, int64_t *ret_wake_ns) {
    struct search s;
    int r = search_run(&s, p, ask);
    struct victim *v = NULL;
    if (r == 0 && s.m->out.n > 0) {
        v = ARENA_ARRAY(p->tick, struct victim, s.m->out.n);
        if (v == NULL) {
            return ERR_NOMEM;
        }
        memcpy(v, s.m->out.v, s.m->out.n * sizeof(*v));
    }
    if (r != 0) {
        return r;
    }
    *ret = v;
    *ret_n = s.m->out.n;
    *ret_protected = s.protected;
    if (v == NULL) {
        *ret_wake_ns = amount_min(*ret_wake_ns, s.wake_ns);
    }
    return 0;
}

int preempt_oracle(struct preempt *p, struct queue_workload *w, struct quota_cell *cell, int64_t v,
                   enum assign_mode *ret_mode, uint32_t *ret_borrow) {
    struct preempt_need need = {cell, v, true};
    struct preempt_ask ask = {.w = w, .needs = &need, .n_needs = 1};
    struct search s;
    bool smaller, own = false;
    int r = search_run(&s, p, &ask);
    if (r != 0) {
        return r;
    }
    size_t mark = quota_mark(p->forest);
    r = preempt_remove(p, s.m->out.v, s.m->out.n);
    uint32_t borrow = quota_lowest_fit(cell, v, &smaller);
    quota_undo(p->forest, mark);
    if (r != 0) {
        return r;
    }
    for (size_t i = 0; i < s.m->out.n; i++) {
        own = own || s.m->out.v[i].w->queue == w->queue;
    }
    *ret_mode = s.m->out.n == 0 ? MODE_NO_CANDIDATES : own ? MODE_PREEMPT : MODE_RECLAIM;
    *ret_borrow = borrow;
    return 0;
}
