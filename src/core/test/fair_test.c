/* Tests of fair sharing: worked shares, each rule of the search, and the tournament against one that measures
 * everything anew before each pop. */
#include <math.h>

#include "core/test/search_random.h"

static void near(double got, double want) {
    if (fabs(got - want) > 0.01) {
        print_error("got %f, want %f\n", got, want);
        fail();
    }
}

static struct share share_of(struct engine *e, bool queue, const char *name) {
    assert_int_equal(quota_settle(&e->forest), 0);
    return fair_share(&e->resources, quota_find(&e->forest, queue, str_of(name)));
}

static void flat_shares(void **state) {
    struct engine *e = fixture_new((struct engine_options){0});
    fixture_queue(e, &(struct fixture_queue){"A", "all", 6, NO, NO});
    fixture_queue(e, &(struct fixture_queue){"B", "all", 6, NO, NO, .weight = 2});
    fixture_queue(e, &(struct fixture_queue){"C", "all", 0, NO, NO});
    fixture_queue(e, &(struct fixture_queue){"Z", "all", 0, NO, NO, .weight = -1});
    fixture_hold(e, &(struct fixture_held){"a", "A", 0, 3, 1});
    fixture_hold(e, &(struct fixture_held){"b", "B", 0, 8, 1});
    fixture_hold(e, &(struct fixture_held){"c", "C", 0, 1, 1});
    struct share a = share_of(e, true, "A"), b = share_of(e, true, "B"), c = share_of(e, true, "C");
    near(a.weighted, 0);
    assert_false(a.borrows);
    near(b.weighted, 83.33);
    near(b.ratio, 166.67);
    near(c.weighted, 83.33);
    assert_int_equal(fair_share_cmp(a, b), -1);
    assert_int_equal(fair_share_cmp(b, a), 1);
    struct share z = share_of(e, true, "Z");
    near(z.weighted, 0); /* weight zero, but nothing borrowed */
    fixture_hold(e, &(struct fixture_held){"z", "Z", 0, 1, 1});
    z = share_of(e, true, "Z");
    assert_true(isinf(z.weighted));
    assert_int_equal(fair_share_cmp(z, b), 1);
    assert_int_equal(fair_share_cmp(b, z), -1);
    struct share more = z;
    more.ratio *= 2;
    assert_int_equal(fair_share_cmp(z, more), -1);
    near(share_of(e, false, "all").weighted, 0);
    engine_free(e);
}

static void deep_shares(void **state) {
    struct engine *e = fixture_new((struct engine_options){0});
    fixture_cohort(e, "R", "", (struct quota_input){10, NO, NO}, 1);
    fixture_cohort(e, "C1", "R", (struct quota_input){0, NO, NO}, 1);
    fixture_cohort(e, "C2", "R", (struct quota_input){5, 2, NO}, 1);
    fixture_queue(e, &(struct fixture_queue){"a", "C1", 3, NO, 1});
    fixture_queue(e, &(struct fixture_queue){"b", "C2", 0, NO, NO});
    fixture_hold(e, &(struct fixture_held){"wb", "b", 0, 6, 1});
    fixture_hold(e, &(struct fixture_held){"wa", "a", 0, 5, 1});
    near(share_of(e, true, "b").weighted, 857.14);
    near(share_of(e, false, "C2").weighted, 62.5);
    near(share_of(e, true, "a").weighted, 125);
    near(share_of(e, false, "C1").weighted, 125);
    engine_free(e);
}

/* Three queues of nominal 3 in one cohort. */
static struct engine *three(unsigned strategies, enum preempt_policy within) {
    struct engine *e =
        fixture_new((struct engine_options){.fair_sharing = true, .fair_strategies = strategies});
    fixture_queue(e, &(struct fixture_queue){"a", "all", 3, NO, NO, within, PREEMPT_ANY});
    fixture_queue(e, &(struct fixture_queue){"b", "all", 3, NO, NO, within, PREEMPT_ANY});
    fixture_queue(e, &(struct fixture_queue){"c", "all", 3, NO, NO, within, PREEMPT_ANY});
    return e;
}

static void hold_ones(struct engine *e, const char *queue, int n) {
    for (int i = 1; i <= n; i++) {
        char uid[8];
        snprintf(uid, sizeof(uid), "%s%d", queue, i);
        fixture_hold(e, &(struct fixture_held){uid, queue, 0, 1, i});
    }
}

static void within_nominal_takes(void **state) {
    struct engine *e = three(0, PREEMPT_LOWER);
    hold_ones(e, "b", 5);
    hold_ones(e, "c", 4);
    struct queue_workload *w = fixture_wait(e, "w", "a", -5, 1);
    /* the larger share first; equal shares: the later one, then by uid */
    assert_string_equal(fixture_find(e, w, 1), "b5:reclaim");
    assert_string_equal(fixture_find(e, w, 2), "b5:reclaim b4:reclaim");
    assert_string_equal(fixture_find(e, w, 3), "b5:reclaim b4:reclaim c4:reclaim");
    engine_free(e);
}

static void shares_decide(void **state) {
    struct engine *e = three(0, PREEMPT_NEVER);
    hold_ones(e, "a", 3);
    hold_ones(e, "b", 6);
    struct queue_workload *w = fixture_wait(e, "w", "a", -5, 1);
    /* a would come to 1 over, b down to 2 over: fine; two for two is not */
    assert_string_equal(fixture_find(e, w, 1), "b6:fair");
    assert_string_equal(fixture_find(e, w, 2), "");
    engine_free(e);
    /* one that is larger than what is borrowed: only the share before it goes speaks for it */
    static const char *const want[] = {"b:fair", "", "b:fair", "b:fair"};
    for (unsigned strategies = 0; strategies < 4; strategies++) {
        e = three(strategies, PREEMPT_NEVER);
        hold_ones(e, "a", 3);
        fixture_hold(e, &(struct fixture_held){"b", "b", 0, 6, 1});
        w = fixture_wait(e, "w", "a", 0, 1);
        assert_string_equal(fixture_find(e, w, 1), want[strategies]);
        assert_string_equal(fixture_find(e, w, 3), "");
        engine_free(e);
    }
}

static void zero_weight_takes_last(void **state) {
    struct engine *e = fixture_new((struct engine_options){.fair_sharing = true});
    fixture_queue(e, &(struct fixture_queue){"z", "all", 0, NO, NO, PREEMPT_NEVER, PREEMPT_ANY,
                                             .weight = -1});
    fixture_queue(e, &(struct fixture_queue){"b", "all", 4, NO, NO, PREEMPT_NEVER, PREEMPT_ANY});
    fixture_queue(e, &(struct fixture_queue){"l", "all", 2, NO, NO});
    hold_ones(e, "b", 6);
    struct queue_workload *w = fixture_wait(e, "w", "z", 9, 1);
    assert_string_equal(fixture_find(e, w, 1), ""); /* its share would be without bound */
    engine_workload_del(e, STR("b6"));
    fixture_hold(e, &(struct fixture_held){"z1", "z", 9, 1, 1});
    w = fixture_wait(e, "x", "b", -1, 1);
    assert_string_equal(fixture_find(e, w, 1), "z1:fair");
    engine_free(e);
}

static void own_queue_first_when_it_is_largest(void **state) {
    struct engine *e = three(0, PREEMPT_LOWER);
    hold_ones(e, "a", 5);
    hold_ones(e, "b", 4);
    struct queue_workload *w = fixture_wait(e, "w", "a", 5, 1);
    assert_string_equal(fixture_find(e, w, 1), "a5:own");
    engine_free(e);
    e = fixture_new((struct engine_options){.fair_sharing = true});
    fixture_queue(e, &(struct fixture_queue){"alone", "", 2, NO, NO, PREEMPT_LOWER});
    hold_ones(e, "alone", 2);
    w = fixture_wait(e, "w", "alone", 5, 1);
    assert_string_equal(fixture_find(e, w, 1), "alone2:own");
    assert_string_equal(fixture_find(e, w, 3), "");
    engine_free(e);
}

/* ---- the tournament ---- */

enum { HEADS = 6 };

struct heads {
    struct cycle_entry v[HEADS];
    struct held_amount held[HEADS][2];
    struct quota_cell *cells[HEADS][2];
    bool done[HEADS];
};

/* A head for every queue that asks for something of its own. */
static void heads_make(struct heads *h, struct random_case *c, struct prng *r) {
    uint32_t cpu = names_find(&c->e->resources, STR("cpu"));
    *h = (struct heads){0};
    for (size_t i = 0; i < HEADS; i++) {
        h->v[i].w = fixture_wait(c->e, random_name(c, 'h', i), c->names[4 + i],
                                 (int64_t)prng_below(r, 2), 1 + (int64_t)prng_below(r, 3));
    }
    assert_int_equal(quota_settle(&c->e->forest), 0);
    for (size_t i = 0; i < HEADS; i++) {
        struct assignment *a = &h->v[i].a;
        a->held = h->held[i];
        a->cells = h->cells[i];
        for (uint32_t f = 0; f < 2; f++) {
            if (prng_below(r, 2) == 0) {
                a->held[a->n_held] = (struct held_amount){0, f, cpu, (int64_t)prng_below(r, 5)};
                a->cells[a->n_held++] = quota_cell_of(h->v[i].w->queue->node, quota_pair(f, cpu));
            }
        }
    }
}

static void heads_use(struct engine *e, const struct cycle_entry *x) {
    for (size_t i = 0; i < x->a.n_held; i++) {
        assert_int_equal(quota_use(&e->forest, x->a.cells[i], x->a.held[i].v), 0);
    }
}

/* n as it would stand with x admitted. */
static struct share standing(struct engine *e, const struct cycle_entry *x,
                             const struct quota_node *n, bool *ret_borrows) {
    size_t mark = quota_mark(&e->forest);
    heads_use(e, x);
    struct share s = fair_share(&e->resources, n);
    *ret_borrows = false;
    for (size_t i = 0; i < x->a.n_held; i++) {
        const struct quota_cell *c = quota_cell_of(n, x->a.cells[i]->q.pair);
        *ret_borrows = *ret_borrows || (n->parent != NULL && c->usage > c->subtree);
    }
    quota_undo(&e->forest, mark);
    return s;
}

static const struct quota_node *child_towards(const struct quota_node *n,
                                              const struct quota_node *p) {
    while (n->parent != p) {
        n = n->parent;
    }
    return n;
}

static bool stands_before(struct engine *e, const struct cycle_entry *a,
                          const struct cycle_entry *b, const struct quota_node *p) {
    bool x, y;
    struct share s = standing(e, a, child_towards(a->w->queue->node, p), &x);
    struct share t = standing(e, b, child_towards(b->w->queue->node, p), &y);
    if (x != y) {
        return y;
    }
    int c = fair_share_cmp(s, t);
    if (c != 0) {
        return c < 0;
    }
    if (a->w->priority != b->w->priority) {
        return a->w->priority > b->w->priority;
    }
    return a->w->queued_ns != b->w->queued_ns ? a->w->queued_ns < b->w->queued_ns
                                              : str_cmp(a->w->uid, b->w->uid) < 0;
}

/* The winner of a cohort: the best of its children's winners. */
static struct cycle_entry *winner(struct random_case *c, struct heads *h,
                                  const struct quota_node *p) {
    struct cycle_entry *best = NULL;
    struct quota_nodes nodes = {0};
    assert_int_equal(quota_nodes_of(&c->e->forest, NULL, &nodes), 0);
    for (size_t i = 0; i < nodes.n; i++) {
        struct quota_node *n = nodes.v[i];
        struct cycle_entry *one = NULL;
        if (n->parent != p) {
            continue;
        }
        if (!n->queue) {
            one = winner(c, h, n);
        }
        for (size_t k = 0; k < HEADS && n->queue; k++) {
            one = h->v[k].w->queue->node == n && !h->done[k] ? &h->v[k] : one;
        }
        if (one != NULL && (best == NULL || stands_before(c->e, one, best, p))) {
            best = one;
        }
    }
    quota_nodes_release(&nodes);
    return best;
}

static void tournament_as_measured_anew(void **state) {
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        struct random_case c;
        struct heads h;
        struct prng r;
        struct fair_round *round;
        ptrdiff_t got;
        random_case(&c, seed, (struct engine_options){.fair_sharing = true});
        prng_seed(&r, seed);
        heads_make(&h, &c, &r);
        assert_int_equal(fair_begin(&c.e->preempt, h.v, HEADS, &round), 0);
        for (size_t k = 0; k < HEADS; k++) {
            assert_int_equal(fair_pop(&c.e->preempt, round, &got), 0);
            assert_in_range(got, 0, HEADS - 1);
            const struct quota_node *n = h.v[got].w->queue->node;
            assert_false(h.done[got]);
            if (n->parent != NULL) {
                assert_ptr_equal(winner(&c, &h, n->root), &h.v[got]);
            }
            h.done[got] = true;
            if (prng_below(&r, 2) == 0) { /* it is admitted */
                heads_use(c.e, &h.v[got]);
            }
        }
        assert_int_equal(fair_pop(&c.e->preempt, round, &got), 0);
        assert_int_equal(got, -1);
        quota_touch_all(&c.e->forest); /* what the heads used is nobody's */
        engine_free(c.e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_shares),
        cmocka_unit_test(deep_shares),
        cmocka_unit_test(within_nominal_takes),
        cmocka_unit_test(shares_decide),
        cmocka_unit_test(zero_weight_takes_last),
        cmocka_unit_test(own_queue_first_when_it_is_largest),
        cmocka_unit_test(tournament_as_measured_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
