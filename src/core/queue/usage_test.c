/* Tests of the ledger of LocalQueues: worked numbers, and what comes and goes. */
#include <math.h>

#include "base/prng.h"
#include "core/test/search_fixture.h"

static const int64_t MINUTE = 60LL * 1000000000;

static void near(double got, double want) {
    if (fabs(got - want) > 0.0001) {
        print_error("got %f, want %f\n", got, want);
        fail();
    }
}

static struct engine *setup(const struct resource_weight *weights, size_t n) {
    struct engine *e = fixture_new((struct engine_options){.local_usage = true,
                                                           .usage_half_life_ns = 10 * MINUTE,
                                                           .usage_interval_ns = 5 * MINUTE,
                                                           .resource_weights = weights,
                                                           .n_resource_weights = n});
    fixture_queue(e, &(struct fixture_queue){"q", "", 100000, NO, NO, .local_usage = true});
    assert_int_equal(engine_local_put(e, STR("ns/a"), 1), 0);
    assert_int_equal(engine_local_put(e, STR("ns/b"), 1), 0);
    return e;
}

/* One that the ledger is told of by hand: v of a resource. */
static struct queue_workload one(struct engine *e, const char *local, const char *resource,
                                 struct held_amount *held, int64_t v) {
    uint32_t id;
    assert_int_equal(names_intern(&e->resources, str_of(resource), &id), 0);
    *held = (struct held_amount){0, 0, id, v};
    return (struct queue_workload){
        .local = str_of(local), .held = held, .n_held = 1, .usage = USAGE_ADMITTED};
}

static void halves_with_time(void **state) {
    struct engine *e = setup(NULL, 0);
    struct held_amount held;
    struct queue_workload w = one(e, "ns/a", "cpu", &held, 4000);
    int64_t next;
    engine_local_sample(e, MINUTE, &next);
    assert_int_equal(next, 6 * MINUTE);
    assert_int_equal(usage_take(&e->queues.usage, &w, false), 0);
    near(usage_local(&e->queues.usage, w.local), 0);
    static const double want[] = {1.17157, 2, 2.58579};
    for (int i = 0; i < 3; i++) {
        engine_local_sample(e, (6 + 5 * i) * MINUTE - 1, &next); /* too early */
        engine_local_sample(e, (6 + 5 * i) * MINUTE, &next);
        near(usage_local(&e->queues.usage, w.local), want[i]);
    }
    usage_give(&e->queues.usage, &w);
    engine_local_sample(e, 26 * MINUTE, &next); /* a half-life later, with nothing held */
    near(usage_local(&e->queues.usage, w.local), 2.58579 / 2);
    engine_free(e);
}

static void penalty_on_entry(void **state) {
    struct engine *e = setup(NULL, 0);
    struct held_amount held, other;
    struct queue_workload w = one(e, "ns/a", "cpu", &held, 4000),
                          x = one(e, "ns/b", "cpu", &other, 1000);
    int64_t next;
    engine_local_sample(e, MINUTE, &next);
    w.usage = x.usage = USAGE_HELD;
    assert_int_equal(usage_cmp(&e->queues.usage, &w, &x), 0);
    assert_int_equal(usage_take(&e->queues.usage, &w, true), 0);
    near(usage_local(&e->queues.usage, w.local), 1.17157);
    assert_int_equal(usage_cmp(&e->queues.usage, &w, &x), 1);
    assert_int_equal(usage_cmp(&e->queues.usage, &x, &w), -1);
    engine_local_sample(e, 6 * MINUTE, &next);
    near(usage_local(&e->queues.usage, w.local), 1.17157); /* it is not admitted yet */
    usage_give(&e->queues.usage, &w);
    near(usage_local(&e->queues.usage, w.local), 0);
    /* an admission that did not happen leaves nothing */
    assert_int_equal(usage_take(&e->queues.usage, &x, true), 0);
    near(usage_local(&e->queues.usage, x.local), 0.29289);
    usage_give(&e->queues.usage, &x);
    near(usage_local(&e->queues.usage, x.local), 0);
    engine_free(e);
}

static void admit_one(struct engine *e, int64_t v) {
    const struct shape none = {0};
    struct node_amount cpu = {STR("cpu"), v};
    struct set_input set = {
        .name = STR("main"), .count = 1, .shape = &none, .requests = &cpu, .n_requests = 1};
    struct workload_input in = {
        .uid = STR("w"), .queue = STR("q"), .local = STR("ns/a"), .sets = &set, .n_sets = 1};
    const struct engine_action *a;
    size_t n;
    assert_int_equal(engine_workload_put(e, &in), 0);
    assert_int_equal(engine_cycle(e, MINUTE, &a, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(a->type, ACTION_ADMIT);
}

/* The penalty stands until the checks are ready, then it is part of the past: it fades, and nothing takes it back. */
static void penalty_until_admitted(void **state) {
    struct engine *e = setup(NULL, 0);
    struct resource_weight used = {STR("cpu"), 0};
    struct fixture_held h = {.uid = "w", .queue = "q", .v = 4000, .local = "ns/a"};
    int64_t next;
    engine_local_sample(e, MINUTE, &next);
    admit_one(e, 4000);
    near(engine_local_usage(e, STR("ns/a")), 1.17157);
    fixture_hold(e, &h); /* as written; nothing new */
    near(engine_local_usage(e, STR("ns/a")), 1.17157);
    engine_local_sample(e, 6 * MINUTE, &next);
    near(engine_local_usage(e, STR("ns/a")), 1.17157);
    h.v = 2000; /* a pod is done */
    fixture_hold(e, &h);
    near(engine_local_usage(e, STR("ns/a")), 1.17157 / 2);
    h.v = 4000;
    fixture_hold(e, &h);
    engine_workload_admitted(e, STR("w"));
    engine_workload_admitted(e, STR("w"));
    near(engine_local_usage(e, STR("ns/a")), 1.17157);
    engine_local_sample(e, 11 * MINUTE, &next);
    near(engine_local_usage(e, STR("ns/a")), 1.17157 * 0.70711 + 1.17157);
    engine_workload_del(e, STR("w"));
    near(engine_local_usage(e, STR("ns/a")), 1.17157 * 0.70711 + 1.17157);
    assert_int_equal(engine_local_usage_set(e, STR("ns/a"), &used, 1, 11 * MINUTE), 0);
    admit_one(e, 4000); /* and one that is never admitted leaves nothing */
    near(engine_local_usage(e, STR("ns/a")), 1.17157);
    engine_workload_del(e, STR("w"));
    near(engine_local_usage(e, STR("ns/a")), 0);
    engine_workload_admitted(e, STR("w"));
    h.v = 4000; /* adopted after a restart: admitted before, it pays no entry */
    fixture_hold(e, &h);
    engine_workload_admitted(e, STR("w"));
    near(engine_local_usage(e, STR("ns/a")), 0);
    engine_local_sample(e, 16 * MINUTE, &next);
    near(engine_local_usage(e, STR("ns/a")), 1.17157);
    engine_free(e);
}

static void weights(void **state) {
    const struct resource_weight w[] = {{STR("cpu"), 0}, {STR("gpu"), 3}};
    struct engine *e = setup(w, 2);
    const struct resource_weight used[] = {{STR("cpu"), 50}, {STR("gpu"), 2}, {STR("x"), 1}};
    assert_int_equal(engine_local_usage_set(e, STR("ns/a"), used, 3, MINUTE), 0);
    near(engine_local_usage(e, STR("ns/a")), 7);
    assert_int_equal(engine_local_put(e, STR("ns/a"), 2), 0);
    near(engine_local_usage(e, STR("ns/a")), 3.5);
    assert_int_equal(engine_local_put(e, STR("ns/a"), 0), 0);
    assert_true(isinf(engine_local_usage(e, STR("ns/a"))));
    engine_free(e);
}

static void comes_and_goes(void **state) {
    struct engine *e = setup(NULL, 0);
    struct held_amount held, other;
    struct queue_workload w = one(e, "ns/new", "cpu", &held, 4000),
                          x = one(e, "ns/a", "cpu", &other, 1000);
    assert_true(engine_local_usage(e, STR("ns/new")) < 0);
    assert_int_equal(engine_local_usage_set(e, STR("ns/new"), NULL, 0, 1), ERR_NOT_FOUND);
    assert_int_equal(usage_take(&e->queues.usage, &w, true),
                     0); /* before its LocalQueue is known */
    assert_true(usage_local(&e->queues.usage, w.local) < 0);
    assert_int_equal(usage_cmp(&e->queues.usage, &w, &x), 0);
    assert_int_equal(engine_local_put(e, STR("ns/new"), 1), 0);
    near(usage_local(&e->queues.usage, w.local), 1.17157);
    engine_local_del(e, STR("ns/new"));
    assert_true(usage_local(&e->queues.usage, w.local) < 0);
    assert_int_equal(engine_local_put(e, STR("ns/new"), 1), 0); /* what it used was forgotten */
    near(usage_local(&e->queues.usage, w.local), 0);
    engine_local_del(e, STR("ns/new"));
    usage_give(&e->queues.usage, &w);
    engine_local_del(e, STR("ns/unknown"));
    engine_free(e);
}

static void no_half_life(void **state) {
    struct engine *e =
        fixture_new((struct engine_options){.local_usage = true, .usage_interval_ns = 5 * MINUTE});
    struct resource_weight used = {STR("cpu"), 5};
    struct held_amount held;
    struct queue_workload w = one(e, "ns/a", "cpu", &held, 4000);
    int64_t next;
    assert_int_equal(engine_local_put(e, STR("ns/a"), 1), 0);
    assert_int_equal(engine_local_usage_set(e, STR("ns/a"), &used, 1, MINUTE), 0);
    assert_int_equal(usage_take(&e->queues.usage, &w, true), 0);
    near(usage_local(&e->queues.usage, w.local), 5);
    engine_local_sample(e, 6 * MINUTE, &next);
    near(usage_local(&e->queues.usage, w.local), 0);
    engine_free(e);
}

/* A clock that was put back: from then on once in an interval again, not only when the old time has come. */
static void clock_put_back(void **state) {
    struct engine *e = setup(NULL, 0);
    struct held_amount held;
    struct queue_workload w = one(e, "ns/a", "cpu", &held, 4000);
    int64_t next;
    engine_local_sample(e, 1000000 * MINUTE, &next);
    assert_int_equal(usage_take(&e->queues.usage, &w, false), 0);
    engine_local_sample(e, MINUTE, &next);
    assert_int_equal(next, 6 * MINUTE);
    near(usage_local(&e->queues.usage, w.local), 0);
    engine_local_sample(e, 6 * MINUTE, &next);
    near(usage_local(&e->queues.usage, w.local), 1.17157);
    usage_give(&e->queues.usage, &w);
    engine_free(e);
}

/* A queue that orders by usage no longer, and does again: what waits there already is ordered anew. */
static void order_of_a_queue(void **state) {
    struct engine *e = setup(NULL, 0);
    struct resource_weight used = {STR("cpu"), 5};
    struct fixture_queue q = {"q", "", 100000, NO, NO, .local_usage = true};
    struct workload_input high = {.uid = STR("high"), .queue = STR("q"), .priority = 9},
                          low = {.uid = STR("low"), .queue = STR("q")};
    high.local = STR("ns/a");
    low.local = STR("ns/b");
    assert_int_equal(engine_local_usage_set(e, STR("ns/a"), &used, 1, MINUTE), 0);
    assert_int_equal(engine_workload_put(e, &high), 0);
    assert_int_equal(engine_workload_put(e, &low), 0);
    for (int i = 0; i < 4; i++) {
        struct queue *at = map_get(&e->queues.by_name, STR("q"));
        assert_true(str_is(queue_head(at)->uid, q.local_usage ? "low" : "high"));
        q.local_usage = !q.local_usage;
        fixture_queue(e, &q);
    }
    engine_free(e);
}

enum { LOCALS = 4, WAITING = 90 };

static struct str numbered(const char *kind, uint64_t i, char *out) {
    return str_from(out, (size_t)snprintf(out, 24, "%s%02u", kind, (unsigned)i));
}

/* The first of all that wait, by asking each. */
static const struct queue_workload *first_of(struct engine *e, const struct queue *q) {
    struct workload_vec all = {0};
    const struct queue_workload *first = NULL;
    assert_int_equal(queue_waiting(q, SIZE_MAX, &all), 0);
    for (size_t i = 0; i < all.n; i++) {
        const struct queue_workload *w = all.v[i];
        int c = first != NULL && usage_orders(q) ? usage_cmp(&e->queues.usage, w, first) : 0;
        c = c != 0 || first == NULL ? c : workload_order(w, first, NULL);
        first = first == NULL || c < 0 ? w : first;
    }
    workload_vec_release(&all);
    return first;
}

/* Workloads come and go, LocalQueues use more and less, their weights change, they are forgotten and come back, and the
 * queue orders by usage, or not: the first is always the first. */
static void first_is_first(void **state) {
    struct engine *e = setup(NULL, 0);
    struct fixture_queue at = {"q", "", 100000, NO, NO, .local_usage = true};
    struct queue *q = map_get(&e->queues.by_name, STR("q"));
    const struct shape any = {0};
    struct prng r;
    prng_seed(&r, 1);
    for (int step = 0; step < 20000; step++) {
        char uid[24], local[24];
        struct resource_weight used = {STR("cpu"), (double)prng_below(&r, 6)};
        struct set_input set = {
            .name = STR("s"), .count = 1 + (int32_t)prng_below(&r, 3), .shape = &any};
        struct workload_input in = {.uid = numbered("w", prng_below(&r, WAITING), uid),
                                    .queue = STR("q"),
                                    .local = numbered("l", prng_below(&r, LOCALS), local),
                                    .sets = &set,
                                    .n_sets = 1,
                                    .priority = (int64_t)prng_below(&r, 2),
                                    .queued_ns = (int64_t)prng_below(&r, 50)};
        uint64_t what = prng_below(&r, 16);
        if (what == 0) {
            engine_local_del(e, in.local);
        }
        assert_int_equal(engine_local_put(e, in.local, (double)prng_below(&r, 3)), 0);
        if (what < 6) {
            assert_int_equal(engine_local_usage_set(e, in.local, &used, 1, MINUTE), 0);
        } else if (what < 12) {
            assert_int_equal(engine_workload_put(e, &in), 0);
        } else if (what < 15) {
            engine_workload_del(e, in.uid);
        } else {
            at.local_usage = !at.local_usage;
            fixture_queue(e, &at);
        }
        assert_true(step % 3 != 0 || queue_head(q) == first_of(e, q));
    }
    engine_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halves_with_time),       cmocka_unit_test(penalty_on_entry),
        cmocka_unit_test(penalty_until_admitted), cmocka_unit_test(weights),
        cmocka_unit_test(comes_and_goes),         cmocka_unit_test(no_half_life),
        cmocka_unit_test(clock_put_back),         cmocka_unit_test(order_of_a_queue),
        cmocka_unit_test(first_is_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
