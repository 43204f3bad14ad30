/* Tests of holders that grow and shrink: what is counted once, who takes over, and what an undo leaves. */
#include "core/test/engine_fixture.h"

static void one(struct world *w, int64_t quota) {
    setup(w);
    flavor(w, "f", (struct flavor_input){0});
    queue_as(w, (struct queue_input){.name = STR("q"), .within_queue = PREEMPT_LOWER},
             (struct fq[]){{"f", {quota, NO, NO}}}, 1);
}

static struct workload_input wl(const char *uid, const char *replaces) {
    return (struct workload_input){.uid = str_of(uid),
                                   .queue = STR("q"),
                                   .queued_ns = str_empty(str_of(replaces)) ? 1 : 2,
                                   .replaces = str_of(replaces)};
}

/* `count` pods of one cpu each. */
static void ask(struct world *w, const char *uid, const char *replaces, int32_t count) {
    put_as(w, wl(uid, replaces), count, 0, 1000);
}

/* What was decided, or what it has now, is written with so many pods. */
static void seen(struct world *w, const char *uid, const char *replaces, int32_t count) {
    struct node_amount a = {STR("cpu"), 1000};
    struct set_input s = {STR("main"), count, 0, &ANY, &a, 1};
    struct held_amount held = {.v = (int64_t)count * 1000};
    struct workload_input in = wl(uid, replaces);
    in.sets = &s;
    in.n_sets = 1;
    held.flavor = names_find(engine_flavors(w->e), STR("f"));
    held.resource = names_find(engine_resources(w->e), STR("cpu"));
    assert_int_equal(engine_workload_resize(w->e, &in, &held, 1), 0);
}

static int64_t held(struct world *w, const char *uid) {
    size_t n = 0;
    int64_t sum = 0;
    struct str q;
    const struct held_amount *h = engine_workload_held(w->e, str_of(uid), &n, &q);
    for (size_t i = 0; h != NULL && i < n; i++) {
        sum += h[i].v;
    }
    return sum;
}

/* It needs the difference, and that is counted: one cpu is left of five, not two and not none. */
static void grows(void **state) {
    struct world w;
    one(&w, 5000);
    ask(&w, "a", "", 3);
    run(&w);
    seen(&w, "a", "", 3);
    ask(&w, "b", "a", 4);
    run(&w);
    assert_string_equal(w.story, "+b ");
    assert_int_equal(w.count, 1);
    assert_int_equal(held(&w, "b"), 1000);
    assert_true(str_is(engine_workload_prior(w.e, STR("b")), "a"));
    submit(&w, "c", "q", 0, 3, 2000);
    run(&w);
    assert_false(holds(&w, "c"));
    seen(&w, "b", "a", 4);
    assert_int_equal(held(&w, "b"), 4000);
    assert_false(holds(&w, "a"));
    assert_true(str_empty(engine_workload_prior(w.e, STR("b"))));
    submit(&w, "d", "q", 0, 4, 1000);
    run(&w);
    assert_true(holds(&w, "d"));
    assert_false(holds(&w, "c"));
    engine_free(w.e);
}

/* More than there is: it waits, and what it would replace goes on. */
static void waits(void **state) {
    struct world w;
    one(&w, 5000);
    ask(&w, "a", "", 3);
    run(&w);
    ask(&w, "b", "a", 6);
    run(&w);
    assert_string_equal(w.story, "");
    assert_int_equal(held(&w, "a"), 3000);
    ask(&w, "b", "a", 5); /* scaled again while it waits */
    run(&w);
    assert_int_equal(w.count, 2);
    engine_free(w.e);
}

/* The write failed: the difference goes back, and the holder has what it had. */
static void undone(void **state) {
    struct world w;
    one(&w, 4000);
    ask(&w, "a", "", 3);
    run(&w);
    ask(&w, "b", "a", 4);
    run(&w);
    assert_int_equal(engine_workload_undo(w.e, STR("b")), 0);
    assert_int_equal(held(&w, "a"), 3000);
    gone(&w, "b");
    submit(&w, "c", "q", 0, 3, 1000);
    run(&w);
    assert_string_equal(w.story, "+c ");
    engine_free(w.e);
}

/* Whatever becomes of the holder, its successor has what it had: nothing is free meanwhile. */
static void inherits(void **state) {
    struct world w;
    one(&w, 4000);
    ask(&w, "a", "", 3);
    run(&w);
    ask(&w, "b", "a", 4);
    run(&w);
    seen(&w, "a", "", 1); /* somebody edits it: too late */
    assert_int_equal(held(&w, "a"), 3000);
    gone(&w, "a");
    assert_int_equal(held(&w, "b"), 4000);
    submit(&w, "c", "q", 0, 3, 1000);
    run(&w);
    assert_false(holds(&w, "c"));
    seen(&w, "b", "a", 4);
    run(&w);
    assert_false(holds(&w, "c"));
    engine_free(w.e);
}

/* One successor at a time: the next asks for all its pods. */
static void one_heir(void **state) {
    struct world w;
    one(&w, 8000);
    ask(&w, "a", "", 3);
    run(&w);
    ask(&w, "b", "a", 4);
    ask(&w, "c", "a", 5);
    run(&w);
    assert_int_equal(held(&w, "a") + held(&w, "b"), 4000);
    assert_false(holds(&w, "c")); /* five do not fit in four */
    engine_free(w.e);
}

/* Pods that ask for something else are no other number of the same; nor is a holder that goes. */
static void no_prior(void **state) {
    struct world w;
    one(&w, 5000);
    ask(&w, "a", "", 3);
    run(&w);
    put_as(&w, wl("b", "a"), 3, 0, 1500);
    run(&w);
    assert_false(holds(&w, "b"));
    gone(&w, "b");
    put_as(&w, (struct workload_input){.uid = STR("high"), .queue = STR("q"), .priority = 5}, 4, 0,
           1000);
    run(&w);
    assert_string_equal(w.story, "-a<high ");
    ask(&w, "c", "a", 4);
    run(&w);
    assert_false(holds(&w, "c"));
    engine_free(w.e);
}

/* It does not evict what it replaces, and others do not once that has a successor. */
static void no_victim(void **state) {
    struct world w;
    struct workload_input b = wl("b", "a");
    one(&w, 4000);
    ask(&w, "a", "", 3);
    run(&w);
    b.priority = 1;
    put_as(&w, b, 5, 0, 1000);
    run(&w);
    assert_string_equal(w.story, "");
    put_as(&w, b, 4, 0, 1000);
    run(&w);
    assert_string_equal(w.story, "+b ");
    put_as(&w, (struct workload_input){.uid = STR("high"), .queue = STR("q"), .priority = 5}, 2, 0,
           1000);
    run(&w);
    assert_string_equal(w.story, ""); /* the one pod of b alone is not enough */
    engine_free(w.e);
}

/* It keeps its flavor: there is room in the first, and it is not taken. */
static void same_flavor(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "e", (struct flavor_input){0});
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "q", "", false, (struct fq[]){{"e", {2000, NO, NO}}, {"f", {4000, NO, NO}}}, 2,
          FUNGIBILITY_STOP);
    ask(&w, "a", "", 3);
    run(&w);
    ask(&w, "b", "a", 5);
    run(&w);
    assert_string_equal(w.story, "");
    assert_non_null(strstr(w.text, "could not assign e flavor since the original workload is "
                                   "assigned: f"));
    assert_non_null(strstr(w.text, "insufficient unused quota for cpu in flavor f, 1 more needed"));
    ask(&w, "b", "a", 4);
    run(&w);
    assert_string_equal(w.story, "+b ");
    engine_free(w.e);
}

/* In place: what it holds less of is free. */
static void shrinks(void **state) {
    struct world w;
    one(&w, 4000);
    ask(&w, "a", "", 4);
    run(&w);
    submit(&w, "c", "q", 0, 3, 2000);
    run(&w);
    assert_false(holds(&w, "c"));
    seen(&w, "a", "", 2);
    run(&w);
    assert_string_equal(w.story, "+c ");
    engine_free(w.e);
}

/* A restart finds both written: the holder is forgotten, and its quota with it. */
static void adopted(void **state) {
    struct world w;
    one(&w, 5000);
    ask(&w, "x", "", 1); /* so that the names are known */
    run(&w);
    gone(&w, "x");
    seen(&w, "a", "", 3);
    seen(&w, "b", "a", 4);
    assert_false(holds(&w, "a"));
    assert_int_equal(held(&w, "b"), 4000);
    run(&w);
    engine_free(w.e);
}

/* ---- places ---- */

static void places(struct world *w, int64_t cpu) {
    struct str_pair label = {STR("pool"), STR("f")};
    struct flavor_input f = {.labels = {&label, 1}};
    struct node_amount a = {STR("cpu"), cpu};
    struct node_input n = {.name = STR("n"),
                           .managed = true,
                           .ready = true,
                           .labels = {&label, 1},
                           .amounts = &a,
                           .n_amounts = 1};
    setup(w);
    flavor(w, "f", f);
    assert_int_equal(pool_node_put(engine_pool(w->e), &n, NULL), 0);
    queue(w, "q", "", false, (struct fq[]){{"f", {9000, NO, NO}}}, 1, FUNGIBILITY_STOP);
}

static int seats(struct world *w, const char *uid, uint32_t *ret_ordinals) {
    int n = 0;
    *ret_ordinals = 0;
    for (const struct seat *s = pool_workload_first(engine_pool(w->e), str_of(uid)); s != NULL;
         s = s->group_next) {
        *ret_ordinals |= 1u << s->ordinal;
        assert_true(str_eq(s->workload, str_of(uid)));
        n++;
    }
    return n;
}

/* Places for the new pods alone; those that it had stay where they are, with their pods. */
static void places_grow(void **state) {
    struct world w;
    uint32_t ordinals;
    places(&w, 4000);
    struct pool *p = engine_pool(w.e);
    ask(&w, "a", "", 3);
    run(&w);
    assert_non_null(pool_take(p, STR("a"), STR("main"), STR("pod-1"), (struct str){0}));
    ask(&w, "b", "a", 5);
    run(&w);
    assert_string_equal(w.story, "");
    assert_string_equal(w.reason, "WaitingForPlacement");
    ask(&w, "b", "a", 4);
    run(&w);
    assert_string_equal(w.story, "+b ");
    assert_int_equal(seats(&w, "b", &ordinals), 1);
    assert_int_equal(ordinals, 1 << 3);
    seen(&w, "b", "a", 4);
    assert_int_equal(seats(&w, "b", &ordinals), 4);
    assert_int_equal(ordinals, 0xf);
    assert_int_equal(seats(&w, "a", &ordinals), 0);
    assert_true(str_is(pool_pod_seat(p, STR("pod-1"))->workload, "b"));
    assert_true(pool_consistent(p));
    engine_free(w.e);
}

/* Free places go at once, those with pods when the pods end. */
static void places_shrink(void **state) {
    struct world w;
    uint32_t ordinals;
    places(&w, 4000);
    struct pool *p = engine_pool(w.e);
    ask(&w, "a", "", 4);
    run(&w);
    for (int i = 0; i < 3; i++) {
        char uid[8];
        snprintf(uid, sizeof(uid), "p%d", i);
        assert_non_null(pool_take(p, STR("a"), STR("main"), str_of(uid), (struct str){0}));
    }
    seen(&w, "a", "", 1);
    assert_int_equal(seats(&w, "a", &ordinals), 3);
    pool_pod_gone(p, STR("p0"));
    engine_workload_trim(w.e, STR("a"));
    assert_int_equal(seats(&w, "a", &ordinals), 2);
    pool_pod_gone(p, STR("p1"));
    engine_workload_trim(w.e, STR("a"));
    assert_int_equal(seats(&w, "a", &ordinals), 1);
    assert_true(str_is(pool_pod_seat(p, STR("p2"))->workload, "a"));
    submit(&w, "c", "q", 0, 3, 3000);
    run(&w);
    assert_string_equal(w.story, "+c ");
    engine_free(w.e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),     cmocka_unit_test(waits),       cmocka_unit_test(undone),
        cmocka_unit_test(inherits),  cmocka_unit_test(one_heir),    cmocka_unit_test(no_prior),
        cmocka_unit_test(no_victim), cmocka_unit_test(same_flavor), cmocka_unit_test(shrinks),
        cmocka_unit_test(adopted),   cmocka_unit_test(places_grow), cmocka_unit_test(places_shrink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
