/* Workloads that share a digest, as a guest can make them once the digest is known, and are not the same. */
#include "core/test/engine_fixture.h"

#include "core/admit/engine_private.h"
#include "core/queue/alike.h"

enum { LARGE = 1 << 20 };
enum { CPU = 1, X }; /* as the engine numbers them, after pods */

/* Two requests; `free` is chosen so that the digest is the one of `like`. */
struct ask {
    struct node_amount amounts[2];
    struct set_input set;
    struct workload_input in;
};

static void ask_make(struct ask *a, const char *uid, int64_t at, int64_t cpu, int64_t x) {
    *a = (struct ask){.amounts = {{STR("cpu"), cpu}, {STR("x"), x}}};
    a->set = (struct set_input){STR("main"), 1, 0, &ANY, a->amounts, 2};
    a->in = (struct workload_input){str_of(uid), STR("q"), 0, at, &a->set, 1};
}

/* The amount that takes the digest from h to the one that `like` takes it to from `from`. */
static int64_t amount_for(uint64_t h, uint64_t from, int64_t like) {
    const uint64_t add = 0x9e3779b97f4a7c15u;
    uint64_t to = from ^ ((uint64_t)like + add + (from << 6) + (from >> 2));
    return (int64_t)((to ^ h) - add - (h << 6) - (h >> 2));
}

/* Of the first n requests; the queues below name cpu before x. */
static uint64_t digest(const struct ask *a, size_t n) {
    struct pool_amount requests[] = {{CPU, a->amounts[0].v}, {X, a->amounts[1].v}};
    struct workload_set set = {.name = a->set.name,
                               .count = a->set.count,
                               .min_count = a->set.min_count,
                               .shape = *a->set.shape,
                               .requests = requests,
                               .n_requests = n};
    struct queue_workload w = {.priority = a->in.priority, .sets = &set, .n_sets = 1};
    return workload_hash(&w);
}

static uint64_t before_last(const struct ask *a) {
    return hash_mix(digest(a, 1), X);
}

/* `first` asks for much cpu; `second` for 1, or somewhat more, and both have one digest. */
static void collide(struct ask *first, struct ask *second) {
    ask_make(first, "a", 1, LARGE, 7);
    for (int64_t cpu = 1;; cpu++) {
        ask_make(second, "b", 2, cpu, 0);
        int64_t x = amount_for(before_last(second), before_last(first), 7);
        if (x > 0 && x < INT64_MAX / 4) {
            second->amounts[1].v = x;
            break;
        }
    }
    assert_true(second->amounts[0].v < LARGE);
    assert_true(digest(first, 2) == digest(second, 2));
}

static void queue_of(struct world *w, bool local_usage, int64_t cpu) {
    struct str resources[] = {STR("cpu"), STR("x")};
    struct quota_input quotas[] = {{cpu, NO, NO}, {INT64_MAX / 2, NO, NO}};
    struct group_flavor_input f = {STR("f"), quotas};
    struct group_input g = {resources, 2, &f, 1};
    setup_with(w, (struct engine_options){.local_usage = local_usage});
    flavor(w, "f", (struct flavor_input){0});
    struct queue_input in = {
        .name = STR("q"), .groups = &g, .n_groups = 1, .weight = 1, .local_usage = local_usage};
    assert_int_equal(engine_queue_put(w->e, &in), 0);
}

static int64_t cpu_of(struct world *w, const char *uid) {
    size_t n;
    struct str q;
    const struct held_amount *h = engine_workload_held(w->e, str_of(uid), &n, &q);
    uint32_t cpu = names_find(engine_resources(w->e), STR("cpu"));
    for (size_t i = 0; h != NULL && i < n; i++) {
        if (h[i].resource == cpu) {
            return h[i].v;
        }
    }
    return -1;
}

/* An edit to another of the same digest is an edit. */
static void edits(void **state) {
    struct world w;
    struct ask first, second;
    (void)state;
    collide(&first, &second);
    queue_of(&w, false, 2 * LARGE);
    second.in.uid = first.in.uid;
    second.in.queued_ns = first.in.queued_ns;
    assert_int_equal(engine_workload_put(w.e, &second.in), 0);
    assert_int_equal(engine_workload_put(w.e, &first.in), 0);
    run(&w);
    assert_int_equal(cpu_of(&w, "a"), LARGE);
    engine_free(w.e);
}

/* One that fits is not parked with one that does not. */
static void apart(bool local_usage) {
    struct world w;
    struct ask first, second;
    collide(&first, &second);
    queue_of(&w, local_usage, LARGE / 2);
    if (local_usage) {
        first.in.local = STR("n/l");
        second.in.local = STR("n/m");
        assert_int_equal(engine_local_put(w.e, first.in.local, 1), 0);
        assert_int_equal(engine_local_put(w.e, second.in.local, 1), 0);
    }
    assert_int_equal(engine_workload_put(w.e, &first.in), 0);
    assert_int_equal(engine_workload_put(w.e, &second.in), 0);
    assert_true(engine_workload(w.e, STR("a"))->hash == engine_workload(w.e, STR("b"))->hash);
    run(&w);
    assert_false(holds(&w, "a"));
    assert_true(holds(&w, "b"));
    gone(&w, "a");
    gone(&w, "b");
    run(&w);
    engine_free(w.e);
}

static void apart_in_a_queue(void **state) {
    (void)state;
    apart(false);
}

static void apart_across_locals(void **state) {
    (void)state;
    apart(true);
}

/* All that share a digest come and go in any order. */
static void come_and_go(void **state) {
    struct world w;
    struct ask first, second, third;
    (void)state;
    collide(&first, &second);
    queue_of(&w, false, 0);
    third = first;
    third.set.requests = third.amounts;
    third.in.sets = &third.set;
    third.in.uid = STR("c");
    struct ask *all[] = {&first, &second, &third};
    for (unsigned i = 0; i < 36; i++) {
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(engine_workload_put(w.e, &all[(i + k * (1 + i / 18)) % 3]->in), 0);
        }
        run(&w);
        assert_int_equal(counts(&w, "q").pending, 3);
        for (unsigned k = 0; k < 3; k++) {
            engine_workload_del(w.e, all[(i / 3 + k * (1 + i / 9 % 2)) % 3]->in.uid);
            run(&w);
        }
        assert_int_equal(counts(&w, "q").pending, 0);
    }
    engine_free(w.e);
}

/* Every part of a shape tells two apart. */
static void shapes_differ(void **state) {
    struct str_pair pairs[] = {{STR("k"), STR("v")}, {STR("k"), STR("w")}};
    struct str values[] = {STR("v"), STR("w")};
    struct select_rule rules[] = {{STR("k"), SELECT_IN, {values, 1}},
                                  {STR("k"), SELECT_NOT_IN, {values, 1}},
                                  {STR("l"), SELECT_IN, {values, 1}},
                                  {STR("k"), SELECT_IN, {values, 2}},
                                  {STR("k"), SELECT_IN, {values + 1, 1}}};
    struct select_term terms[12];
    struct shape v[32] = {0};
    size_t n = 1;
    (void)state;
    v[n++].selector = (struct str_map){pairs, 1};
    v[n++].selector = (struct str_map){pairs + 1, 1};
    v[n++].has_affinity = true;
    for (size_t i = 0; i < 5; i++) {
        terms[2 * i] = (struct select_term){.labels = &rules[i], .n_labels = 1};
        terms[2 * i + 1] = (struct select_term){.fields = &rules[i], .n_fields = 1};
        v[n++] = (struct shape){.has_affinity = true, .terms = &terms[2 * i], .n_terms = 1};
        v[n++] = (struct shape){.has_affinity = true, .terms = &terms[2 * i + 1], .n_terms = 1};
    }
    v[n++] = (struct shape){.has_affinity = true, .terms = terms, .n_terms = 2};
    terms[10] = (struct select_term){.labels = rules, .n_labels = 2};
    v[n++] = (struct shape){.has_affinity = true, .terms = &terms[10], .n_terms = 1};
    struct toleration t[] = {{.key = STR("k")},
                             {.operator= STR("Exists")},
                             {.value = STR("k")},
                             {.effect = STR("NoSchedule")}};
    for (size_t i = 0; i < 4; i++) {
        v[n++].tolerations = (struct toleration_list){&t[i], 1};
    }
    v[n++].together = STR("k");
    v[n++].together = STR("l");
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(shape_same(&v[i], &v[k]), i == k);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits),
        cmocka_unit_test(apart_in_a_queue),
        cmocka_unit_test(apart_across_locals),
        cmocka_unit_test(come_and_go),
        cmocka_unit_test(shapes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
