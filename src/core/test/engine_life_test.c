/* Tests of what happens to workloads beside decisions: moves, readiness, checks, being told; and of trees apart. */
#include "core/admit/engine_private.h"
#include "core/test/engine_fixture.h"

static void one(struct world *w, struct engine_options o) {
    setup_with(w, o);
    flavor(w, "f", (struct flavor_input){0});
    queue(w, "q", "", false, (struct fq[]){{"f", {4000, NO, NO}}}, 1, FUNGIBILITY_STOP);
}

/* A holder that is put again has stopped: its quota is free, and it queues by its time. */
static void put_back(void **state) {
    struct world w;
    one(&w, (struct engine_options){0});
    submit(&w, "a", "q", 0, 5, 4000);
    run(&w);
    submit(&w, "b", "q", 0, 1, 4000);
    run(&w);
    assert_false(holds(&w, "b"));
    submit(&w, "a", "q", 0, 5, 4000);
    assert_int_equal(counts(&w, "q").holding, 0);
    run(&w);
    assert_string_equal(w.story, "+b ");
    engine_free(w.e);
}

static void another_priority(void **state) {
    struct world w;
    one(&w, (struct engine_options){0});
    submit(&w, "a", "q", 0, 1, 4000);
    run(&w);
    submit(&w, "b", "q", 0, 2, 4000);
    submit(&w, "c", "q", 0, 3, 3000);
    run(&w);
    submit(&w, "c", "q", 1, 3, 3000);
    gone(&w, "a");
    run(&w);
    assert_string_equal(w.story, "+c ");
    engine_free(w.e);
}

/* One admission at a time, until it is ready; deleting it will do as well. */
static void until_ready(void **state) {
    struct world w;
    struct workload_input a = {.uid = STR("a"), .queue = STR("q"), .queued_ns = 1};
    one(&w, (struct engine_options){.block_until_ready = true});
    submit(&w, "a", "q", 0, 1, 1000);
    submit(&w, "b", "q", 0, 2, 1000);
    submit(&w, "c", "q", 0, 3, 1000);
    run(&w);
    assert_string_equal(w.story, "+a ");
    assert_string_equal(w.reason, "WaitingForPodsReady");
    assert_string_equal(w.text, "waiting for all admitted workloads to be in PodsReady condition");
    hold_as(&w, a, 1000);
    run(&w);
    assert_string_equal(w.story, "+b ");
    a.not_ready = true;
    hold_as(&w, a, 1000);
    gone(&w, "b");
    run(&w);
    assert_string_equal(w.story, "");
    a.not_ready = false;
    hold_as(&w, a, 1000);
    run(&w);
    assert_string_equal(w.story, "+c ");
    engine_free(w.e);
}

/* Who has failed checks waits alone; those like it go on. */
static void checks(void **state) {
    struct world w;
    struct workload_input in = {
        .uid = STR("a"), .queue = STR("q"), .queued_ns = 1, .failed_checks = true};
    one(&w, (struct engine_options){0});
    put_as(&w, in, 1, 0, 1000);
    submit(&w, "b", "q", 0, 2, 1000);
    run(&w);
    assert_string_equal(w.story, "+b ");
    assert_string_equal(w.reason, "PendingEvaluation");
    assert_string_equal(w.text, "The workload has failed admission checks");
    assert_int_equal(counts(&w, "q").parked, 1);
    in.failed_checks = false;
    put_as(&w, in, 1, 0, 1000);
    run(&w);
    assert_string_equal(w.story, "+a ");
    engine_free(w.e);
}

/* A thousand alike: parked at the price of one, each told once, in steps, and not again for the same reason. */
static void told_once(void **state) {
    struct world w;
    one(&w, (struct engine_options){0});
    submit(&w, "first", "q", 0, 0, 4000);
    run(&w);
    for (int i = 0; i < 1000; i++) {
        char uid[8];
        snprintf(uid, sizeof(uid), "w%u", (unsigned)i % 1000);
        submit(&w, uid, "q", 0, i + 1, 3000);
    }
    const struct engine_action *a;
    size_t n, told = 0;
    bool more = true;
    while (more) {
        assert_int_equal(engine_run(w.e, 0, 64, &a, &n, &more, NULL), 0);
        assert_true(n <= 64);
        told += n;
    }
    assert_int_equal(told, 1000);
    assert_int_equal(counts(&w, "q").parked, 1000);
    gone(&w, "first");
    run(&w);
    assert_string_equal(w.story, "+w0 ");
    assert_int_equal(w.pended, 1); /* only the one that was looked at */
    submit(&w, "late", "q", 0, 5000, 3000);
    run(&w);
    assert_int_equal(w.pended, 1);
    assert_string_equal(w.reason, "WaitingForQuota");
    engine_free(w.e);
}

static void put_cohort(struct world *w, const char *name, const char *parent) {
    struct cohort_input in = {.name = str_of(name), .parent = str_of(parent), .weight = 1};
    assert_int_equal(engine_cohort_put(w->e, &in), 0);
}

static void put_queue(struct world *w, const char *name, const char *cohort, const char *f) {
    queue(w, name, cohort, false, (struct fq[]){{f, {4000, NO, NO}}}, 1, FUNGIBILITY_STOP);
}

/* x1 is the head of a cycle of cx. */
static void cycle_of_x(struct world *w) {
    const struct engine_action *a;
    size_t n;
    bool more;
    gone(w, "x1");
    run(w);
    submit(w, "x1", "x", 0, 1, 4000);
    assert_int_equal(engine_run(w->e, 0, 1, &a, &n, &more, NULL), 0);
    assert_int_equal(w->e->cycle.phase, CYCLE_HEADS);
}

/* What happens in one tree, edits as well, leaves the cycle of another alone; an edit of its own ends it. */
static void trees_apart(void **state) {
    struct world w;
    const struct engine_action *a;
    size_t n;
    bool more;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    flavor(&w, "g", (struct flavor_input){0});
    put_queue(&w, "x", "cx", "f");
    put_queue(&w, "y", "cy", "g");
    submit(&w, "y0", "y", 0, 1, 4000);
    run(&w);
    cycle_of_x(&w);
    gone(&w, "y0");
    flavor(&w, "g", (struct flavor_input){0});
    flavor(&w, "h", (struct flavor_input){0});
    put_queue(&w, "y", "cz", "g");
    put_queue(&w, "z", "cz", "f");
    put_cohort(&w, "cz", "top");
    engine_queue_del(w.e, STR("y"));
    engine_cohort_del(w.e, STR("cz"));
    engine_flavor_del(w.e, STR("g"));
    assert_true(engine_queue_active(w.e, STR("z"))); /* settled, and it goes on */
    assert_int_equal(w.e->cycle.phase, CYCLE_HEADS);
    assert_int_equal(engine_run(w.e, 0, 1, &a, &n, &more, NULL), 0);
    assert_int_not_equal(w.e->cycle.phase, CYCLE_NONE);
    run(&w);
    assert_string_equal(w.story, "+x1 ");
    engine_free(w.e);
}

static void own_edits(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    put_queue(&w, "x", "cx", "f");
    put_queue(&w, "y", "", "f");
    cycle_of_x(&w);
    flavor(&w, "f", (struct flavor_input){0});
    assert_int_equal(w.e->cycle.phase, CYCLE_NONE);
    cycle_of_x(&w);
    put_queue(&w, "x", "cx", "f");
    assert_int_equal(w.e->cycle.phase, CYCLE_NONE);
    cycle_of_x(&w);
    put_queue(&w, "y", "cx", "f"); /* it comes to the tree, */
    assert_int_equal(w.e->cycle.phase, CYCLE_NONE);
    cycle_of_x(&w);
    put_queue(&w, "y", "", "f"); /* and leaves it */
    assert_int_equal(w.e->cycle.phase, CYCLE_NONE);
    cycle_of_x(&w);
    put_cohort(&w, "cx", "top");
    assert_int_equal(w.e->cycle.phase, CYCLE_NONE);
    cycle_of_x(&w);
    put_cohort(&w, "other", "top");
    assert_int_equal(w.e->cycle.phase, CYCLE_NONE);
    cycle_of_x(&w);
    engine_cohort_del(w.e, STR("top"));
    assert_int_equal(w.e->cycle.phase, CYCLE_NONE);
    cycle_of_x(&w);
    engine_flavor_del(w.e, STR("f"));
    assert_int_equal(w.e->cycle.phase, CYCLE_NONE);
    flavor(&w, "f", (struct flavor_input){0});
    run(&w);
    assert_string_equal(w.story, "+x1 ");
    engine_free(w.e);
}

/* Trees that wake at one time come in the order in which they were made, wherever they lie in memory. */
static void woken_in_order(void **state) {
    struct cohort_tree *a = mem_zalloc(2 * sizeof(*a)), *b;
    assert_non_null(a);
    b = (struct cohort_tree *)(void *)((char *)a + sizeof(*a));
    for (int i = 0; i < 2; i++) {
        a->born = (uint64_t)i;
        b->born = (uint64_t)!i;
        assert_int_equal(tree_wake_order(a, b, NULL), i == 0 ? -1 : 1);
        assert_int_equal(tree_wake_order(b, a, NULL), i == 0 ? 1 : -1);
    }
    mem_free(a);
}

static int uid_at(const char *story, const char *what) {
    const char *p = strstr(story, what);
    return p != NULL ? (int)(p - story) : -1;
}

/* Victims go while the cycle that names them is under way, in every step of it: nothing breaks, nobody is forgotten. */
static void gone_meanwhile(void **state) {
    for (int steps = 1; steps < 12; steps++) {
        struct world w;
        const struct engine_action *a;
        size_t n;
        bool more;
        setup(&w);
        flavor(&w, "f", (struct flavor_input){0});
        struct queue_input in = {.name = STR("x"), .cohort = STR("co"), .reclaim = PREEMPT_ANY};
        queue_as(&w, in, (struct fq[]){{"f", {2000, NO, NO}}}, 1);
        in.name = STR("y");
        queue_as(&w, in, (struct fq[]){{"f", {2000, NO, NO}}}, 1);
        queue(&w, "z", "co", false, (struct fq[]){{"f", {0, NO, NO}}}, 1, FUNGIBILITY_STOP);
        submit(&w, "z1", "z", 0, 1, 2000);
        submit(&w, "z2", "z", 0, 2, 2000);
        run(&w);
        submit(&w, "x1", "x", 0, 3, 2000);
        submit(&w, "y1", "y", 0, 4, 2000);
        for (int i = 0; i < steps; i++) {
            assert_int_equal(engine_run(w.e, 0, 1, &a, &n, &more, NULL), 0);
        }
        gone(&w, "z1");
        gone(&w, "z2");
        run(&w);
        assert_true(holds(&w, "x1") && holds(&w, "y1"));
        assert_true(uid_at(w.story, "-") < 0);
        engine_free(w.e);
    }
}

static void paths_and_shares(void **state) {
    struct world w;
    struct buf b;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue(&w, "x", "team", false, (struct fq[]){{"f", {2000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    queue(&w, "y", "team", false, (struct fq[]){{"f", {6000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    struct cohort_input team = {.name = STR("team"), .parent = STR("org"), .weight = 1};
    assert_int_equal(engine_cohort_put(w.e, &team), 0);
    submit(&w, "x1", "x", 0, 1, 3000);
    run(&w);
    buf_init(&b, 0);
    engine_path(w.e, STR("x"), &b);
    assert_true(str_eq(buf_view(&b), STR("/org/team/x")));
    assert_int_equal(engine_share(w.e, true, STR("x")), 125); /* 1 of 8 */
    assert_int_equal(engine_share(w.e, true, STR("y")), 0);
    buf_release(&b);
    engine_free(w.e);
}

/* An edit costs its own tree, and tries again only what waits there, or what the flavor that changed is for. */
static void edits_cost_their_tree(void **state) {
    struct world w;
    char name[16], more[16];
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    flavor(&w, "g", (struct flavor_input){0});
    for (int i = 0; i < 300; i++) {
        uint64_t before = w.e->forest.built;
        const struct engine_action *a;
        size_t n;
        bool again;
        snprintf(name, sizeof(name), "q%d", i);
        snprintf(more, sizeof(more), "w%d", i);
        queue(&w, name, "", false, (struct fq[]){{i % 2 == 0 ? "f" : "g", {1000, NO, NO}}}, 1,
              FUNGIBILITY_STOP);
        submit(&w, more, name, 0, i, 5000);
        assert_int_equal(engine_run(w.e, 0, 1000, &a, &n, &again, NULL), 0);
        assert_int_equal(w.e->forest.built, before + 1);
        assert_int_equal(n, 1); /* only the new one is told anything */
    }
    bool is_queue;
    struct str fresh;
    for (int i = 0; i < 300; i++) {
        assert_true(engine_fresh(w.e, &is_queue, &fresh) && is_queue);
    }
    assert_false(engine_fresh(w.e, &is_queue, &fresh));
    queue(&w, "q5", "", false, (struct fq[]){{"f", {2000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    assert_true(engine_fresh(w.e, &is_queue, &fresh));
    assert_str_eq(fresh, STR("q5"));
    assert_false(engine_fresh(w.e, &is_queue, &fresh));
    uint64_t built = w.e->forest.built;
    flavor(&w, "f", (struct flavor_input){0});
    assert_true(engine_queue_active(w.e, STR("q0")));
    assert_int_equal(w.e->forest.built, built + 151); /* who names it: each second, and q5 by now */
    run(&w);
    engine_flavor_del(w.e, STR("g"));
    assert_true(engine_queue_active(w.e, STR("q0")));
    assert_false(engine_queue_active(w.e, STR("q1")));
    queue(&w, "q1", "team", false, (struct fq[]){{"f", {1000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    queue(&w, "q3", "team", false, (struct fq[]){{"f", {4000, NO, NO}}}, 1, FUNGIBILITY_STOP);
    run(&w);
    assert_string_equal(w.story, "+w1 ");
    engine_queue_del(w.e, STR("q1"));
    run(&w);
    engine_queue_del(w.e, STR("q2"));
    assert_true(engine_consistent(w.e));
    engine_free(w.e);
}

/* y fits in f, but x, which wants its own quota back and may evict nobody, keeps it from y for that cycle. When x has
 * come to nothing and y has no other flavor, f is y's. */
static void kept_for_nobody(void **state) {
    const struct fq a = {"f", {4000, NO, NO}}, b[] = {{"f", {4000, NO, NO}}, {"g", {1000, NO, NO}}};
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    flavor(&w, "g", (struct flavor_input){0});
    queue(&w, "a", "co", false, &a, 1, FUNGIBILITY_STOP);
    queue(&w, "b", "co", false, b, 2, FUNGIBILITY_STOP);
    submit(&w, "h", "b", 0, 1, 5000);
    run(&w);
    assert_true(holds(&w, "h"));
    submit(&w, "x", "a", 0, 2, 4000);
    submit(&w, "y", "b", 0, 3, 2000);
    run(&w);
    assert_false(holds(&w, "x"));
    assert_true(holds(&w, "y"));
    engine_free(w.e);
}

/* The head of a strict queue is not parked; when a protection ends it is looked at again all the same. */
static void strict_while_protected(void **state) {
    struct world w;
    struct workload_input in = {
        .uid = STR("a"), .queue = STR("q"), .queued_ns = 1, .protected_until_ns = 100};
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue_as(&w,
             (struct queue_input){.name = STR("q"), .strict = true, .within_queue = PREEMPT_LOWER},
             (struct fq[]){{"f", {4000, NO, NO}}}, 1);
    put_as(&w, in, 1, 0, 4000);
    run(&w);
    submit(&w, "b", "q", 5, 2, 1000);
    run(&w);
    assert_string_equal(w.story, "");
    assert_int_equal(counts(&w, "q").parked, 0);
    assert_int_equal(w.wake, 100);
    w.now = 100;
    run(&w);
    assert_string_equal(w.story, "-a<b ");
    engine_free(w.e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_while_protected),
        cmocka_unit_test(put_back),
        cmocka_unit_test(another_priority),
        cmocka_unit_test(until_ready),
        cmocka_unit_test(checks),
        cmocka_unit_test(told_once),
        cmocka_unit_test(trees_apart),
        cmocka_unit_test(own_edits),
        cmocka_unit_test(woken_in_order),
        cmocka_unit_test(gone_meanwhile),
        cmocka_unit_test(paths_and_shares),
        cmocka_unit_test(edits_cost_their_tree),
        cmocka_unit_test(kept_for_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
