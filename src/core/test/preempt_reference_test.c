/*
 * The classical search on random trees, against one that is written the long way: every candidate is read and
 * sorted first, and every rule is asked anew at each step. And properties that do not need it: the asker fits,
 * nobody is evicted in vain, nobody falls below what is its own.
 */
#include "core/test/search_random.h"

enum { SEEDS = 6000, MANY = 64 };

struct candidate {
    struct queue_workload *w;
    const struct quota_node *lca;
    int list; /* 0 hierarchy, 1 priority, 2 own */
};

struct reference {
    struct random_case *c;
    struct queue *q;
    struct candidate all[MANY];
    size_t n;
    struct victim out[MANY];
    size_t n_out;
};

static bool above_own(const struct reference *x, const struct quota_node *n) {
    for (size_t i = 0; i < x->c->n_needs; i++) {
        const struct quota_cell *c = quota_cell_of(n, x->c->needs[i].cell->q.pair);
        if (x->c->needs[i].short_ && c != NULL && c->usage > c->subtree) {
            return true;
        }
    }
    return false;
}

static bool allowed(const struct reference *x, enum preempt_policy p,
                    const struct queue_workload *w) {
    const struct queue_workload *a = x->c->asker;
    bool uses = false;
    for (size_t i = 0; i < w->n_held; i++) {
        for (size_t k = 0; k < x->c->n_needs; k++) {
            uses = uses || (x->c->needs[k].short_ &&
                            x->c->needs[k].cell->q.pair ==
                                quota_pair(w->held[i].flavor, w->held[i].resource));
        }
    }
    bool spared = !w->evicting && w->protected_until_ns > x->c->e->preempt.now_ns;
    return uses && !spared &&
           (p == PREEMPT_ANY || (p != PREEMPT_NEVER && a->priority > w->priority) ||
            (p == PREEMPT_LOWER_OR_NEWER && a->priority == w->priority &&
             a->queued_ns < w->queued_ns));
}

static bool below(const struct quota_node *n, const struct quota_node *top) {
    while (n != NULL && n != top) {
        n = n->parent;
    }
    return n != NULL;
}

/* Is every node from the queue up to below top above its own? */
static bool chain_above(const struct reference *x, const struct quota_node *n,
                        const struct quota_node *top) {
    for (; n != top; n = n->parent) {
        if (!above_own(x, n)) {
            return false;
        }
    }
    return true;
}

static void gather_one(struct reference *x, struct queue_workload *w) {
    const struct engine *e = x->c->e;
    if (w->queue == x->q) {
        if (allowed(x, x->q->within_queue, w)) {
            x->all[x->n++] = (struct candidate){w, NULL, 2};
        }
        return;
    }
    int64_t rest[2];
    struct quota_cell *cells[2];
    for (size_t i = 0; i < x->c->n_needs; i++) {
        rest[i] = x->c->needs[i].v;
        cells[i] = x->c->needs[i].cell;
    }
    bool right = false;
    const struct quota_node *from = x->q->node;
    for (const struct quota_node *a = from->parent; a != NULL; from = a, a = a->parent) {
        bool fits = true;
        for (size_t i = 0; i < x->c->n_needs; i++) {
            fits = fits && cells[i]->subtree >= cells[i]->usage + rest[i];
            int64_t local = quota_local(cells[i]) - cells[i]->usage;
            rest[i] -= local > 0 ? local : 0;
            rest[i] = rest[i] > 0 ? rest[i] : 0;
            cells[i] = cells[i]->up;
        }
        right = right || fits;
        const struct quota_node *n = w->queue->node;
        if (below(n, a) && !below(n, from) && chain_above(x, n, a) &&
            allowed(x, x->q->reclaim, w)) {
            x->all[x->n++] = (struct candidate){w, a, right ? 0 : 1};
        }
    }
    (void)e;
}

static int candidates_cmp(const void *a, const void *b) {
    const struct candidate *x = a, *y = b;
    if (x->w->evicting != y->w->evicting) {
        return x->w->evicting ? -1 : 1;
    }
    return x->list != y->list ? x->list - y->list : holder_order(x->w, y->w);
}

static void use(struct reference *x, const struct queue_workload *w, int64_t sign) {
    for (size_t i = 0; i < w->n_held; i++) {
        struct quota_cell *c =
            quota_cell_of(w->queue->node, quota_pair(w->held[i].flavor, w->held[i].resource));
        assert_int_equal(quota_use(&x->c->e->forest, c, sign * w->held[i].v), 0);
    }
}

static bool fits(const struct reference *x, bool borrow) {
    for (size_t i = 0; i < x->c->n_needs; i++) {
        const struct preempt_need *n = &x->c->needs[i];
        int64_t free = quota_available(n->cell);
        if (n->v > (free > 0 ? free : 0) ||
            (!borrow && n->cell->q.nominal < n->cell->usage + n->v)) {
            return false;
        }
    }
    return true;
}

static bool try(struct reference *x, bool borrow) {
    size_t mark = quota_mark(&x->c->e->forest);
    bool done = false;
    x->n_out = 0;
    for (size_t i = 0; i < x->n && !done; i++) {
        const struct candidate *c = &x->all[i];
        const struct queue_workload *a = x->c->asker;
        bool only_own = c->list == 1 &&
                        (x->q->borrow_within == PREEMPT_NEVER || c->w->priority >= a->priority ||
                         (x->q->has_threshold && c->w->priority > x->q->threshold));
        if ((only_own && borrow) || (c->list != 2 && !chain_above(x, c->w->queue->node, c->lca))) {
            continue;
        }
        use(x, c->w, -1);
        x->out[x->n_out++] =
            (struct victim){c->w, c->list == 2               ? PREEMPT_IN_QUEUE
                                  : c->list == 0 || only_own ? PREEMPT_RECLAIM
                                                             : PREEMPT_RECLAIM_BORROWING};
        done = fits(x, borrow);
    }
    for (size_t i = x->n_out; done && i-- > 0;) {
        if (i + 1 == x->n_out) {
            continue;
        }
        use(x, x->out[i].w, 1);
        if (fits(x, borrow)) {
            x->out[i] = x->out[--x->n_out];
        } else {
            use(x, x->out[i].w, -1);
        }
    }
    quota_undo(&x->c->e->forest, mark);
    x->n_out = done ? x->n_out : 0;
    return done;
}

static void reference(struct reference *x) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&x->c->e->workloads, &i)) != NULL;) {
        if (((struct queue_workload *)m->value)->state == WORKLOAD_HOLDING) {
            gather_one(x, m->value);
        }
    }
    if (x->n > 1) {
        qsort(x->all, x->n, sizeof(x->all[0]), candidates_cmp);
    }
    bool hierarchy = false, others = false, under = true;
    for (i = 0; i < x->n; i++) {
        hierarchy = hierarchy || x->all[i].list == 0;
        others = others || x->all[i].list < 2;
    }
    for (i = 0; i < x->c->n_needs; i++) {
        const struct preempt_need *n = &x->c->needs[i];
        under = under && (!n->short_ || n->cell->usage < n->cell->q.nominal);
    }
    bool never = x->q->borrow_within == PREEMPT_NEVER;
    if (!others || (never && !under)) {
        try(x, true);
    } else if (never && !hierarchy) {
        (void)(try(x, false) || try(x, true));
    } else {
        (void)(try(x, true) || try(x, false));
    }
}

/* With all victims but `back` gone. */
static bool fits_without(struct random_case *c, struct reference *x, const struct victim *v,
                         size_t n, size_t back, bool *ret_above) {
    size_t mark = quota_mark(&c->e->forest);
    for (size_t i = 0; i < n; i++) {
        if (i != back) {
            use(x, v[i].w, -1);
        }
    }
    bool f = fits(x, true);
    *ret_above = back < n && above_own(x, v[back].w->queue->node);
    quota_undo(&c->e->forest, mark);
    return f;
}

static void properties(struct random_case *c, struct reference *x, const struct victim *v,
                       size_t n) {
    bool above;
    assert_true(n == 0 || fits_without(c, x, v, n, n, &above));
    for (size_t i = 0; i < n; i++) {
        bool last_of_queue = true, reached = false;
        assert_false(v[i].w->state != WORKLOAD_HOLDING);
        assert_false(!v[i].w->evicting && v[i].w->protected_until_ns > c->e->preempt.now_ns);
        for (size_t k = 0; k < n; k++) {
            fits_without(c, x, v, n, k, &above);
            reached = reached || (v[k].w->queue == v[i].w->queue && above);
            last_of_queue = last_of_queue && (k <= i || v[k].w->queue != v[i].w->queue);
        }
        /* some victim of its queue was taken while the queue had more than its own */
        assert_true(v[i].w->queue == c->asker->queue || reached);
    }
}

static void same_as_reference(void **state) {
    size_t found = 0, many = 0, reasons[4] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random_case c;
        if (!random_case(&c, seed, (struct engine_options){0})) {
            engine_free(c.e);
            continue;
        }
        struct reference x = {.c = &c, .q = c.asker->queue};
        struct preempt_ask ask = {.w = c.asker, .needs = c.needs, .n_needs = c.n_needs};
        struct victim *v;
        size_t n;
        bool protected;
        int64_t wake = INT64_MAX;
        reference(&x);
        assert_int_equal(preempt_find(&c.e->preempt, &ask, &v, &n, &protected, &wake), 0);
        bool same = n == x.n_out;
        for (size_t i = 0; same && i < n; i++) {
            same = v[i].w == x.out[i].w && v[i].reason == x.out[i].reason;
            reasons[v[i].reason]++;
        }
        if (!same) {
            print_error("seed %llu: %zu victims, not %zu\n", (unsigned long long)seed, n, x.n_out);
            fail();
        }
        properties(&c, &x, v, n);
        found += n > 0;
        many += n > 1;
        engine_free(c.e);
    }
    /* the cases are worth something */
    assert_true(found > SEEDS / 12 && many > SEEDS / 40);
    for (int i = 0; i < 3; i++) {
        assert_true(reasons[i] > 20);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
