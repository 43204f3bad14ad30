/* Tests of the classical search: each rule alone, worked numbers, and random trees against an eager search that
 * reads all candidates, sorts them and forgets nothing. */
#include "core/test/search_fixture.h"

static struct engine *one_queue(int64_t nominal, enum preempt_policy within) {
    struct engine *e = fixture_new((struct engine_options){0});
    fixture_queue(e, &(struct fixture_queue){"q", "", nominal, NO, NO, .within = within});
    return e;
}

static void hold3(struct engine *e, const char *queue, const char *uids[3], const int64_t v[3]) {
    for (int i = 0; i < 3; i++) {
        fixture_hold(e, &(struct fixture_held){uids[i], queue, i, v[i], 1});
    }
}

static void order_of_holders(void **state) {
    struct queue_workload v[] = {
        {.uid = STR("evicting"), .priority = 9, .reserved_ns = 1, .evicting = true},
        {.uid = STR("low"), .priority = 1, .reserved_ns = 5},
        {.uid = STR("unknown"), .priority = 2},
        {.uid = STR("late"), .priority = 2, .reserved_ns = 7},
        {.uid = STR("a"), .priority = 2, .reserved_ns = 3},
        {.uid = STR("b"), .priority = 2, .reserved_ns = 3},
    };
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 6; k++) {
            int c = holder_order(&v[i], &v[k]);
            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
        }
    }
}

static void fills_back(void **state) {
    struct engine *e = one_queue(7, PREEMPT_LOWER);
    hold3(e, "q", (const char *[]){"p1", "p2", "p3"}, (int64_t[]){1, 2, 4});
    struct queue_workload *w = fixture_wait(e, "w", "q", 10, 1);
    assert_string_equal(fixture_find(e, w, 4), "p3:own");
    engine_free(e);
    e = one_queue(10, PREEMPT_LOWER);
    hold3(e, "q", (const char *[]){"p1", "p2", "p3"}, (int64_t[]){3, 3, 4});
    w = fixture_wait(e, "w", "q", 10, 1);
    assert_string_equal(fixture_find(e, w, 4), "p1:own p2:own");
    engine_free(e);
    /* the last victim takes the place of one that is put back */
    e = one_queue(9, PREEMPT_LOWER);
    hold3(e, "q", (const char *[]){"p1", "p2", "p3"}, (int64_t[]){3, 1, 1});
    fixture_hold(e, &(struct fixture_held){"p4", "q", 3, 4, 1});
    w = fixture_wait(e, "w", "q", 10, 1);
    assert_string_equal(fixture_find(e, w, 7), "p1:own p4:own");
    engine_free(e);
}

static void policies_within(void **state) {
    const struct {
        enum preempt_policy policy;
        int64_t priority, queued;
        const char *want;
    } cases[] = {
        {PREEMPT_NEVER, 9, 0, ""},
        {PREEMPT_LOWER, 5, 0, ""},
        {PREEMPT_LOWER, 6, 0, "p:own"},
        {PREEMPT_LOWER_OR_NEWER, 5, 50, "p:own"},
        {PREEMPT_LOWER_OR_NEWER, 5, 100, ""}, /* not strictly earlier */
        {PREEMPT_LOWER_OR_NEWER, 4, 50, ""},
        {PREEMPT_ANY, 4, 200, "p:own"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct engine *e = one_queue(4, cases[i].policy);
        fixture_hold(e, &(struct fixture_held){"p", "q", 5, 4, 1, .queued_ns = 100});
        struct queue_workload *w = fixture_wait(e, "w", "q", cases[i].priority, cases[i].queued);
        assert_string_equal(fixture_find(e, w, 4), cases[i].want);
        engine_free(e);
    }
}

static void other_flavors_stay(void **state) {
    struct engine *e = one_queue(4, PREEMPT_LOWER);
    struct held_amount other = {0, names_find(&e->flavors.names, STR("g")),
                                names_find(&e->resources, STR("cpu")), 9};
    fixture_hold_pairs(e, &(struct fixture_held){"g", "q", 0, 0, 1}, &other, 1);
    fixture_hold(e, &(struct fixture_held){"f", "q", 1, 4, 1});
    struct queue_workload *w = fixture_wait(e, "w", "q", 5, 1);
    assert_string_equal(fixture_find(e, w, 1), "f:own");
    engine_free(e);
}

/* a: nominal 4, the asker's; b: nominal 4, borrows; c: nominal 4, within its own. */
static struct engine *cohort(enum preempt_policy reclaim, enum preempt_policy borrow) {
    struct engine *e = fixture_new((struct engine_options){0});
    fixture_queue(e,
                  &(struct fixture_queue){"a", "all", 4, NO, NO, PREEMPT_LOWER, reclaim, borrow});
    fixture_queue(e, &(struct fixture_queue){"b", "all", 4, NO, NO});
    fixture_queue(e, &(struct fixture_queue){"c", "all", 4, NO, NO});
    return e;
}

static void reclaims_what_is_lent(void **state) {
    struct engine *e = cohort(PREEMPT_ANY, PREEMPT_NEVER);
    for (int i = 0; i < 4; i++) {
        const char *uids[] = {"b1", "b2", "b3", "b4"};
        fixture_hold(e, &(struct fixture_held){uids[i], "b", 5, 2, i + 1});
    }
    fixture_hold(e, &(struct fixture_held){"c1", "c", 0, 4, 9});
    struct queue_workload *w = fixture_wait(e, "w", "a", 1, 1);
    /* c uses no more than its own; of b the latest go, and only until it is back at its own */
    assert_string_equal(fixture_find(e, w, 4), "b4:reclaim b3:reclaim");
    assert_string_equal(fixture_find(e, w, 2), "b4:reclaim");
    assert_string_equal(fixture_find(e, w, 5), "");
    engine_free(e);
    e = cohort(PREEMPT_LOWER, PREEMPT_NEVER);
    fixture_hold(e, &(struct fixture_held){"b1", "b", 1, 8, 1});
    fixture_hold(e, &(struct fixture_held){"c1", "c", 1, 4, 1});
    assert_string_equal(fixture_find(e, fixture_wait(e, "w", "a", 1, 1), 4), "");
    assert_string_equal(fixture_find(e, fixture_wait(e, "x", "a", 2, 1), 4), "b1:reclaim");
    engine_free(e);
}

static void evicts_while_borrowing(void **state) {
    for (int threshold = 0; threshold < 3; threshold++) {
        struct engine *e = fixture_new((struct engine_options){0});
        fixture_queue(e, &(struct fixture_queue){"a", "all", 4, NO, NO, PREEMPT_NEVER, PREEMPT_ANY,
                                                 threshold == 2 ? PREEMPT_NEVER : PREEMPT_LOWER,
                                                 threshold == 1, 1});
        fixture_queue(e, &(struct fixture_queue){"b", "all", 4, NO, NO});
        fixture_hold(e, &(struct fixture_held){"b1", "b", 2, 8, 1});
        /* 6 is more than a's own: it would borrow. With the threshold, b1 is too important; with no such policy,
         * no */
        struct queue_workload *w = fixture_wait(e, "w", "a", 5, 1);
        assert_string_equal(fixture_find(e, w, 6), threshold == 0 ? "b1:borrowing" : "");
        assert_string_equal(fixture_find(e, w, 4), "b1:reclaim");
        engine_free(e);
    }
}

/* The asker's own subtree first: its request fits in the quota of the inner cohort, so that what is borrowed
 * beyond it is its by right, whatever the priority. */
static void hierarchy_gives_the_right(void **state) {
    struct engine *e = fixture_new((struct engine_options){0});
    fixture_cohort(e, "root", "", (struct quota_input){0, NO, NO}, 1);
    fixture_cohort(e, "left", "root", (struct quota_input){4, NO, NO}, 1);
    fixture_cohort(e, "right", "root", (struct quota_input){4, NO, NO}, 1);
    fixture_queue(e, &(struct fixture_queue){"a", "left", 0, NO, NO, PREEMPT_LOWER, PREEMPT_ANY});
    fixture_queue(e, &(struct fixture_queue){"b", "right", 0, NO, NO});
    fixture_queue(e, &(struct fixture_queue){"c", "left", 0, NO, NO});
    fixture_hold(e, &(struct fixture_held){"b1", "b", 9, 4, 1});
    fixture_hold(e, &(struct fixture_held){"b2", "b", 9, 3, 2});
    fixture_hold(e, &(struct fixture_held){"c1", "c", 9, 1, 1});
    struct queue_workload *w = fixture_wait(e, "w", "a", 0, 1);
    /* c1 is beside, not above what is left's: it is no hierarchy candidate, and a borrows, so it stays */
    assert_string_equal(fixture_find(e, w, 3), "b2:reclaim");
    assert_string_equal(fixture_find(e, w, 5), "");
    engine_free(e);
}

static void spares_the_protected(void **state) {
    struct engine *e = one_queue(6, PREEMPT_LOWER);
    fixture_hold(e, &(struct fixture_held){"until", "q", 0, 2, 1, .protected_until_ns = 500});
    fixture_hold(e, &(struct fixture_held){"young", "q", 1, 2, 90, .minimum_runtime_ns = 100});
    fixture_hold(e, &(struct fixture_held){"out", "q", 2, 2, 1, true, .protected_until_ns = 900});
    struct queue_workload *w = fixture_wait(e, "w", "q", 5, 1);
    struct preempt_need need = {fixture_cell(e, true, "q"), 4, true};
    struct preempt_ask ask = {.w = w, .needs = &need, .n_needs = 1};
    struct victim *v;
    size_t n;
    bool protected;
    int64_t wake = INT64_MAX;
    e->preempt.now_ns = 100;
    assert_int_equal(preempt_find(&e->preempt, &ask, &v, &n, &protected, &wake), 0);
    assert_int_equal(n, 0);
    assert_true(protected);
    assert_int_equal(wake, 190);
    assert_string_equal(fixture_find(e, w, 2), "out:own"); /* evicting already, protected or not */
    e->preempt.now_ns = 190;
    assert_string_equal(fixture_find(e, w, 4), "out:own young:own");
    e->preempt.now_ns = 500;
    assert_int_equal(preempt_find(&e->preempt, &ask, &v, &n, &protected, &wake), 0);
    assert_int_equal(n, 2);
    assert_false(protected);
    engine_free(e);
}

static void oracle_answers(void **state) {
    struct engine *e = cohort(PREEMPT_ANY, PREEMPT_NEVER);
    fixture_hold(e, &(struct fixture_held){"b1", "b", 5, 8, 1});
    fixture_hold(e, &(struct fixture_held){"a1", "a", 0, 4, 1});
    struct queue_workload *w = fixture_wait(e, "w", "a", 1, 1);
    struct quota_cell *c = fixture_cell(e, true, "a");
    enum assign_mode mode;
    uint32_t borrow;
    assert_int_equal(preempt_oracle(&e->preempt, w, c, 4, &mode, &borrow), 0);
    assert_int_equal(mode, MODE_PREEMPT);
    assert_int_equal(borrow, 0);
    engine_workload_del(e, STR("a1"));
    fixture_hold(e, &(struct fixture_held){"c1", "c", 9, 4, 1});
    assert_int_equal(preempt_oracle(&e->preempt, w, fixture_cell(e, true, "a"), 4, &mode, &borrow),
                     0);
    assert_int_equal(mode, MODE_RECLAIM);
    assert_int_equal(preempt_oracle(&e->preempt, w, fixture_cell(e, true, "a"), 5, &mode, &borrow),
                     0);
    assert_int_equal(mode, MODE_NO_CANDIDATES);
    assert_int_equal(borrow, 1);
    engine_free(e);
}

static bool no_place(void *ctx, const struct victim *v, size_t n) {
    return n >= *(size_t *)ctx;
}

static void a_further_test(void **state) {
    struct engine *e = one_queue(4, PREEMPT_LOWER);
    hold3(e, "q", (const char *[]){"p1", "p2", "p3"}, (int64_t[]){1, 1, 1});
    size_t wanted = 2, n;
    struct preempt_need need = {fixture_cell(e, true, "q"), 1, true};
    struct preempt_ask ask = {.w = fixture_wait(e, "w", "q", 9, 1),
                              .needs = &need,
                              .n_needs = 1,
                              .fits = no_place,
                              .ctx = &wanted};
    struct victim *v;
    bool protected;
    int64_t wake = INT64_MAX;
    assert_int_equal(preempt_find(&e->preempt, &ask, &v, &n, &protected, &wake), 0);
    assert_int_equal(n, 2);
    wanted = 4;
    assert_int_equal(preempt_find(&e->preempt, &ask, &v, &n, &protected, &wake), 0);
    assert_int_equal(n, 0);
    engine_free(e);
}

static bool is_among(void *ctx, const struct victim *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (str_is(v[i].w->uid, ctx)) {
            return true;
        }
    }
    return false;
}

/* For a place, with quota to spare: who holds what its queue borrows may go; who holds what is its own may not,
 * although the queue borrows something else. */
static void a_place_of_borrowers(void **state) {
    struct engine *e = fixture_new((struct engine_options){0});
    struct str cpu = STR("cpu");
    struct quota_input q[2] = {{4, NO, NO}, {0, NO, NO}};
    struct group_flavor_input f[2] = {{STR("f"), &q[0]}, {STR("g"), &q[1]}};
    struct group_input g = {&cpu, 1, f, 2};
    struct queue_input z = {
        .name = STR("z"), .cohort = STR("co"), .groups = &g, .n_groups = 1, .weight = 1};
    assert_int_equal(engine_queue_put(e, &z), 0);
    q[0].nominal = q[1].nominal = 8;
    z.name = STR("q");
    z.reclaim = PREEMPT_ANY;
    assert_int_equal(engine_queue_put(e, &z), 0);
    uint32_t r = names_find(&e->resources, cpu);
    struct held_amount held[2] = {{0, names_find(&e->flavors.names, STR("f")), r, 1},
                                  {0, names_find(&e->flavors.names, STR("g")), r, 1}};
    fixture_hold_pairs(e, &(struct fixture_held){"own", "z", 0, 1, 1}, &held[0], 1);
    fixture_hold_pairs(e, &(struct fixture_held){"lent", "z", 0, 1, 1}, &held[1], 1);
    struct queue_workload *w = fixture_wait(e, "w", "q", 0, 1);
    assert_int_equal(quota_settle(&e->forest), 0);
    struct preempt_need needs[2];
    char to[2][8] = {"own", "lent"}; /* whose place would do */
    for (int i = 0; i < 2; i++) {
        needs[i] = (struct preempt_need){
            quota_cell_of(w->queue->node, quota_pair(held[i].flavor, r)), 1, true};
    }
    for (int lent = 0; lent < 2; lent++) {
        struct preempt_ask ask = {.w = w,
                                  .needs = needs,
                                  .n_needs = 2,
                                  .fits = is_among,
                                  .ctx = lent ? to[1] : to[0],
                                  .place = true};
        struct victim *v;
        size_t n;
        bool protected;
        int64_t wake = INT64_MAX;
        assert_int_equal(preempt_find(&e->preempt, &ask, &v, &n, &protected, &wake), 0);
        assert_int_equal(n, lent);
        assert_true(n == 0 || str_is(v[0].w->uid, "lent"));
    }
    engine_free(e);
}

static void usage_orders_the_own(void **state) {
    struct engine *e = fixture_new((struct engine_options){
        .local_usage = true, .usage_half_life_ns = 1000, .usage_interval_ns = 1000});
    fixture_queue(e,
                  &(struct fixture_queue){"q", "", 6, NO, NO, PREEMPT_LOWER, .local_usage = true});
    struct resource_weight little = {STR("cpu"), 1}, much = {STR("cpu"), 5};
    assert_int_equal(engine_local_put(e, STR("ns/little"), 1), 0);
    assert_int_equal(engine_local_put(e, STR("ns/much"), 1), 0);
    assert_int_equal(engine_local_usage_set(e, STR("ns/little"), &little, 1, 1), 0);
    assert_int_equal(engine_local_usage_set(e, STR("ns/much"), &much, 1, 1), 0);
    fixture_hold(e, &(struct fixture_held){"l0", "q", 0, 2, 1, .local = "ns/little"});
    fixture_hold(e, &(struct fixture_held){"m2", "q", 2, 2, 1, .local = "ns/much"});
    fixture_hold(e, &(struct fixture_held){"m3", "q", 3, 2, 1, .local = "ns/much"});
    struct queue_workload *w = fixture_wait(e, "w", "q", 3, 1);
    assert_string_equal(fixture_find(e, w, 2), "m2:own");
    assert_string_equal(fixture_find(e, w, 4), "m2:own l0:own");
    engine_free(e);
}

/* Whichever allocation fails, the tree is as it was, and the next search finds what there is. */
static void without_memory(void **state) {
    for (int fair = 0; fair < 2; fair++) {
        bool hit = true;
        for (uint64_t nth = 1; hit; nth++) {
            struct engine *e = fixture_new((struct engine_options){.fair_sharing = fair == 1});
            fixture_queue(
                e, &(struct fixture_queue){"a", "all", 4, NO, NO, PREEMPT_LOWER, PREEMPT_ANY});
            fixture_queue(e, &(struct fixture_queue){"b", "all", 4, NO, NO});
            hold3(e, "b", (const char *[]){"b1", "b2", "b3"}, (int64_t[]){4, 2, 2});
            struct queue_workload *w = fixture_wait(e, "w", "a", 1, 1);
            struct preempt_need need = {fixture_cell(e, true, "a"), 2, true};
            struct preempt_ask ask = {.w = w, .needs = &need, .n_needs = 1};
            struct victim *v;
            size_t n;
            bool protected;
            int64_t wake = INT64_MAX;
            uint64_t before = quota_digest(&e->forest);
            mem_fault(nth, 0);
            int r = preempt_find(&e->preempt, &ask, &v, &n, &protected, &wake);
            hit = mem_fault_hit();
            mem_fault(0, 0);
            assert_true(r == (hit ? ERR_NOMEM : 0));
            assert_true(before == quota_digest(&e->forest));
            assert_int_equal(e->forest.trial, 0);
            arena_reset(&e->cycle.tick); /* as the next cycle does */
            assert_string_equal(fixture_find(e, w, 2), "b1:reclaim");
            engine_free(e);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_of_holders),
        cmocka_unit_test(fills_back),
        cmocka_unit_test(policies_within),
        cmocka_unit_test(other_flavors_stay),
        cmocka_unit_test(reclaims_what_is_lent),
        cmocka_unit_test(evicts_while_borrowing),
        cmocka_unit_test(hierarchy_gives_the_right),
        cmocka_unit_test(spares_the_protected),
        cmocka_unit_test(oracle_answers),
        cmocka_unit_test(a_further_test),
        cmocka_unit_test(a_place_of_borrowers),
        cmocka_unit_test(usage_orders_the_own),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
