/* Tests of the cycle where heads take victims: issuing, waiting, overlap, gates, what is kept for whom. */
#include "core/test/engine_fixture.h"

/* One queue of 4 cpu in which higher priorities evict lower ones. */
static void alone(struct world *w, struct engine_options o) {
    setup_with(w, o);
    flavor(w, "f", (struct flavor_input){0});
    queue_as(w, (struct queue_input){.name = STR("q"), .within_queue = PREEMPT_LOWER},
             (struct fq[]){{"f", {4000, NO, NO}}}, 1);
}

static void victims_leave_first(void **state) {
    struct world w;
    alone(&w, (struct engine_options){0});
    submit(&w, "a1", "q", 0, 1, 2000);
    submit(&w, "a2", "q", 0, 2, 2000);
    run(&w);
    submit(&w, "b", "q", 5, 3, 3000);
    run(&w);
    assert_int_equal(w.evicted, 2);
    assert_string_equal(w.reason, "WaitingForPreemptedWorkloads");
    assert_string_equal(w.text,
                        "couldn't assign flavors to pod set main: insufficient unused quota "
                        "for cpu in flavor f, 3 more needed. Pending the preemption of 2 "
                        "workload(s)");
    assert_int_equal(counts(&w, "q").evicting, 2);
    assert_int_equal(counts(&w, "q").holding, 2); /* until they come back */
    submit(&w, "a1", "q", 0, 1, 2000);            /* one has stopped, and queues again */
    run(&w);
    assert_string_equal(w.story, ""); /* the other is counted, not named again */
    assert_string_equal(strstr(w.text, ". "), ". Pending the preemption of 1 workload(s)");
    submit(&w, "a2", "q", 0, 2, 2000);
    run(&w);
    assert_string_equal(w.story, "+b ");
    assert_int_equal(counts(&w, "q").evicting, 0);
    assert_int_equal(counts(&w, "q").pending, 2);
    engine_free(w.e);
}

/* An eviction that could not be written is decided anew. */
static void kept(void **state) {
    struct world w;
    alone(&w, (struct engine_options){0});
    submit(&w, "a", "q", 0, 1, 4000);
    run(&w);
    submit(&w, "b", "q", 5, 2, 1000);
    run(&w);
    assert_string_equal(w.story, "-a<b ");
    engine_workload_keep(w.e, STR("a"));
    assert_int_equal(counts(&w, "q").evicting, 0);
    run(&w);
    assert_string_equal(w.story, "-a<b ");
    engine_free(w.e);
}

/* Who waits is tried again when a holder's priority falls. */
static void a_holder_falls(void **state) {
    struct world w;
    alone(&w, (struct engine_options){0});
    submit(&w, "a", "q", 5, 1, 4000);
    run(&w);
    submit(&w, "b", "q", 3, 2, 1000);
    run(&w);
    assert_string_equal(w.story, "");
    hold_as(&w, (struct workload_input){.uid = STR("a"), .queue = STR("q"), .queued_ns = 1}, 4000);
    run(&w);
    assert_string_equal(w.story, "-a<b ");
    engine_free(w.e);
}

static void gates(void **state) {
    struct world w;
    struct workload_input in = {
        .uid = STR("b"), .queue = STR("q"), .priority = 5, .queued_ns = 2, .gated = true};
    alone(&w, (struct engine_options){0});
    submit(&w, "a", "q", 0, 1, 4000);
    run(&w);
    put_as(&w, in, 1, 0, 1000);
    run(&w);
    assert_int_equal(w.evicted, 0);
    assert_string_equal(w.reason, "AdmissionGated");
    assert_string_equal(w.text, "Workload requires preemption, but it's gated");
    in.gated = false;
    put_as(&w, in, 1, 0, 1000);
    run(&w);
    assert_string_equal(w.story, "-a<b ");
    engine_free(w.e);
}

/* Who has evicted others stays first, also before a higher priority that comes meanwhile. */
static void first_until_it_is_in(void **state) {
    struct world w;
    alone(&w, (struct engine_options){0});
    submit(&w, "a", "q", 0, 1, 4000);
    run(&w);
    submit(&w, "b", "q", 5, 2, 3000);
    run(&w);
    submit(&w, "c", "q", 9, 3, 4000);
    run(&w);
    assert_string_equal(w.story, "");
    submit(&w, "a", "q", 0, 1, 4000);
    cycle(&w);
    assert_string_equal(w.story, "+b ");
    engine_free(w.e);
}

/* Nothing that a cycle comes to, but what is written and seen, ends that. */
static void first_until_that_is_seen(void **state) {
    for (int seen = 0; seen < 2; seen++) {
        struct world w;
        struct workload_input b = {
            .uid = STR("b"), .queue = STR("q"), .priority = 5, .queued_ns = 2};
        alone(&w, (struct engine_options){0});
        submit(&w, "a", "q", 0, 1, 4000);
        run(&w);
        put_as(&w, b, 1, 0, 3000);
        run(&w);
        assert_string_equal(w.story, "-a<b ");
        gone(&w, "a");
        run(&w);
        assert_string_equal(w.story, "+b ");
        if (seen != 0) {
            hold_as(&w, b, 3000);
        }
        put_as(&w, b, 1, 0, 3000); /* evicted, for another reason */
        submit(&w, "c", "q", 9, 3, 3000);
        cycle(&w);
        assert_string_equal(w.story, seen != 0 ? "+c " : "+b ");
        engine_free(w.e);
    }
}

static void protected_for_a_while(void **state) {
    struct world w;
    struct workload_input in = {
        .uid = STR("a"), .queue = STR("q"), .queued_ns = 1, .protected_until_ns = 100};
    alone(&w, (struct engine_options){0});
    put_as(&w, in, 1, 0, 4000);
    w.now = 10;
    run(&w);
    submit(&w, "b", "q", 5, 2, 1000);
    run(&w);
    assert_string_equal(w.story, "");
    assert_int_equal(w.wake, 100);
    assert_int_equal(counts(&w, "q").parked, 1);
    w.now = 100;
    run(&w);
    assert_string_equal(w.story, "-a<b ");
    assert_true(w.wake == INT64_MAX);
    gone(&w, "a");
    run(&w); /* b holds since 100, and for 50 at least */
    in = (struct workload_input){.uid = STR("b"),
                                 .queue = STR("q"),
                                 .priority = 5,
                                 .queued_ns = 2,
                                 .minimum_runtime_ns = 50,
                                 .reserved_ns = 100};
    hold_as(&w, in, 1000);
    submit(&w, "c", "q", 9, 3, 4000);
    run(&w);
    assert_int_equal(w.evicted, 0);
    assert_int_equal(w.wake, 150);
    w.now = 150;
    run(&w);
    assert_string_equal(w.story, "-b<c ");
    engine_free(w.e);
}

/* ---- several queues ---- */

static void share(struct world *w, const char *name, int64_t nominal, enum preempt_policy reclaim) {
    queue_as(w,
             (struct queue_input){.name = str_of(name),
                                  .cohort = STR("co"),
                                  .reclaim = reclaim,
                                  .when_can_preempt = FUNGIBILITY_NEXT},
             (struct fq[]){{"f", {nominal, NO, NO}}}, 1);
}

struct member {
    const char *name;
    int64_t nominal;
    enum preempt_policy reclaim;
};

static void cohort(struct world *w, const struct member *m, size_t n) {
    setup(w);
    flavor(w, "f", (struct flavor_input){0});
    for (size_t i = 0; i < n; i++) {
        share(w, m[i].name, m[i].nominal, m[i].reclaim);
    }
}

/* A world of queues that share what they have. */
#define COHORT(w_, ...)                                                                            \
    cohort(w_, (struct member[]){__VA_ARGS__},                                                     \
           sizeof((struct member[]){__VA_ARGS__}) / sizeof(struct member))

/* Two that want the same victim: the second waits for what the first frees. */
static void overlapping(void **state) {
    struct world w;
    COHORT(&w, {"x", 2000, PREEMPT_ANY}, {"y", 2000, PREEMPT_ANY}, {"z", 0, PREEMPT_NEVER});
    submit(&w, "z1", "z", 0, 1, 4000);
    run(&w);
    submit(&w, "x1", "x", 0, 2, 2000);
    submit(&w, "y1", "y", 0, 3, 2000);
    cycle(&w);
    assert_string_equal(w.story, "-z1<x1 ");
    assert_string_equal(w.reason, "WaitingForPreemptedWorkloads");
    assert_string_equal(w.text,
                        "Workload has overlapping preemption targets with another workload, "
                        "but will fit after these preemptions complete");
    gone(&w, "z1");
    cycle(&w);
    assert_string_equal(w.story, "+x1 +y1 ");
    engine_free(w.e);
}

/* Overlapping again, but there is another victim for the second. */
static void another_victim(void **state) {
    struct world w;
    COHORT(&w, {"x", 2000, PREEMPT_ANY}, {"y", 2000, PREEMPT_ANY}, {"z", 0, PREEMPT_NEVER});
    submit(&w, "z1", "z", 1, 1, 2000);
    submit(&w, "z2", "z", 0, 2, 2000);
    run(&w);
    submit(&w, "x1", "x", 0, 2, 2000);
    submit(&w, "y1", "y", 0, 3, 2000);
    cycle(&w);
    assert_string_equal(w.story, "-z2<x1 -z1<y1 ");
    engine_free(w.e);
}

/* A head without victims keeps its own quota from borrowers of the same cycle, unless it could take it back. */
static void kept_for_the_owner(void **state) {
    for (int can_reclaim = 0; can_reclaim < 2; can_reclaim++) {
        struct world w;
        COHORT(&w, {"x", 3000, PREEMPT_NEVER}, {"y", 1000, PREEMPT_NEVER});
        submit(&w, "x0", "x", 0, 0, 2000);
        run(&w);
        share(&w, "x", 3000, can_reclaim ? PREEMPT_ANY : PREEMPT_NEVER);
        submit(&w, "x1", "x", 0, 1, 3000); /* 1 of 3 is free */
        submit(&w, "y1", "y", 0, 2, 2000);
        cycle(&w);
        assert_string_equal(w.story, can_reclaim ? "+y1 " : "");
        cycle(&w); /* it is parked now, and keeps nothing */
        assert_string_equal(w.story, can_reclaim ? "" : "+y1 ");
        engine_free(w.e);
    }
}

/* What one head will use when its victims are gone is not given to the next; nor what victims still hold. */
static void freed_for_one(void **state) {
    struct world w;
    COHORT(&w, {"x", 3000, PREEMPT_ANY}, {"y", 1000, PREEMPT_NEVER}, {"z", 0, PREEMPT_NEVER});
    submit(&w, "z1", "z", 0, 1, 3000);
    run(&w);
    submit(&w, "x1", "x", 0, 2, 3000);
    submit(&w, "y1", "y", 0, 3, 1000); /* 1 is free, and stays free beside x1 */
    cycle(&w);
    assert_string_equal(w.story, "-z1<x1 +y1 ");
    gone(&w, "z1");
    cycle(&w);
    assert_string_equal(w.story, "+x1 ");
    engine_free(w.e);
}

/* A victim that frees more than its preemptor takes: the rest is not there yet. */
static void not_freed_yet(void **state) {
    struct world w;
    COHORT(&w, {"v", 1000, PREEMPT_NEVER}, {"x", 2000, PREEMPT_ANY}, {"y", 1000, PREEMPT_NEVER},
           {"z", 0, PREEMPT_NEVER});
    submit(&w, "z1", "z", 0, 1, 3000);
    run(&w);
    submit(&w, "x1", "x", 0, 2, 2000);
    submit(&w, "y1", "y", 0, 3, 1000);
    submit(&w, "v1", "v", 0, 4, 1000); /* fits beside x1, and beside y1, but not beside z1 */
    cycle(&w);
    assert_string_equal(w.story, "-z1<x1 +y1 ");
    assert_string_equal(w.text, "Workload no longer fits after processing another workload");
    gone(&w, "z1");
    cycle(&w);
    assert_string_equal(w.story, "+x1 +v1 ");
    engine_free(w.e);
}

/* Preemptors go before those that borrow less, or have the smaller share: also once their victims are gone. */
static void preemptors_first(void **state) {
    for (int i = 0; i < 4; i++) {
        struct world w;
        bool first = i % 2 == 1;
        setup_with(&w,
                   (struct engine_options){.prioritize_preemptors = first, .fair_sharing = i > 1});
        flavor(&w, "f", (struct flavor_input){0});
        queue_as(&w,
                 (struct queue_input){.name = STR("x"),
                                      .cohort = STR("co"),
                                      .within_queue = PREEMPT_LOWER,
                                      .borrow_within = PREEMPT_LOWER},
                 (struct fq[]){{"f", {2000, NO, NO}}}, 1);
        share(&w, "y", 2000, PREEMPT_NEVER);
        submit(&w, "v1", "x", 0, 0, 2000);
        submit(&w, "v2", "x", 0, 1, 2000);
        run(&w);
        submit(&w, "x1", "x", 5, 2, 4000);
        cycle(&w);
        assert_int_equal(w.evicted, 2);
        gone(&w, "v1");
        submit(&w, "y1", "y", 0, 3, 2000);
        cycle(&w);
        assert_string_equal(w.story, first ? "" : "+y1 "); /* what v1 had is kept */
        gone(&w, "v2");
        gone(&w, "y1");
        submit(&w, "y2", "y", 0, 4, 2000);
        cycle(&w);
        assert_string_equal(w.story, first ? "+x1 " : "+y2 ");
        engine_free(w.e);
    }
}

/* One eviction between two, until something comes from outside: an edit, or somebody else who leaves. */
static void no_second_turn(void **state) {
    for (int edit = 0; edit < 2; edit++) {
        struct world w;
        alone(&w, (struct engine_options){.break_alternation = true});
        queue_as(&w, (struct queue_input){.name = STR("q"), .within_queue = PREEMPT_LOWER},
                 (struct fq[]){{"f", {5000, NO, NO}}}, 1);
        submit(&w, "other", "q", 9, 0, 1000);
        submit(&w, "a", "q", 0, 1, 4000);
        run(&w);
        submit(&w, "b", "q", 5, 2, 4000);
        run(&w);
        assert_string_equal(w.story, "-a<b ");
        submit(&w, "a", "q", 9, 1, 4000); /* back, with a priority that would evict b */
        run(&w);
        assert_string_equal(w.story, "+b ");
        submit(&w, "a", "q", 9, 1, 4000);
        run(&w);
        assert_string_equal(w.story, "");
        assert_string_equal(w.text, "its victims may not go: they and this workload would evict "
                                    "each other without end");
        if (edit == 1) {
            queue_as(&w, (struct queue_input){.name = STR("q"), .within_queue = PREEMPT_LOWER},
                     (struct fq[]){{"f", {5001, NO, NO}}}, 1);
        } else {
            gone(&w, "other");
        }
        run(&w);
        assert_string_equal(w.story, "-b<a ");
        engine_free(w.e);
    }
}

/* Cohort of 8: `a` (2) holds 5, then is stopped; `b` (6) reclaims as it may. */
static void stopped_borrower(struct world *w, enum preempt_policy reclaim) {
    struct queue_input a = {.name = STR("a"), .cohort = STR("co")},
                       b = {.name = STR("b"), .cohort = STR("co"), .reclaim = reclaim};
    const struct fq two = {"f", {2000, NO, NO}}, six = {"f", {6000, NO, NO}};
    setup(w);
    flavor(w, "f", (struct flavor_input){0});
    queue_as(w, a, &two, 1);
    queue_as(w, b, &six, 1);
    submit(w, "a1", "a", 0, 1, 1000);
    w->now = 1;
    run(w);
    submit(w, "a4", "a", 0, 2, 4000);
    w->now = 2;
    run(w);
    a.held = true;
    queue_as(w, a, &two, 1);
    run(w);
    assert_true(holds(w, "a1") && holds(w, "a4"));
}

/* A stopped queue goes on holding: nobody is admitted on that before it is given back, and then those of the cohort are
 * tried again. What it does not use is lent. */
static void stopped_still_holds(void **state) {
    struct world w;
    stopped_borrower(&w, PREEMPT_NEVER);
    assert_false(engine_queue_active(w.e, STR("a")));
    submit(&w, "b3", "b", 0, 3, 3000);
    submit(&w, "b4", "b", 0, 4, 3500);
    run(&w);
    assert_string_equal(w.story, "+b3 ");
    assert_string_equal(w.text, "couldn't assign flavors to pod set main: insufficient unused "
                                "quota for cpu in flavor f, 3500m more needed");
    submit(&w, "a4", "a", 0, 2, 4000); /* drained: it waits in a queue that admits nothing */
    run(&w);
    assert_string_equal(w.story,
                        "+b4 "); /* a1 and b3 hold 4000: half of b4 is a's own, which is lent */
    submit(&w, "b5", "b", 0, 5, 1000);
    submit(&w, "b6", "b", 0, 6, 500);
    run(&w);
    assert_string_equal(w.story, "+b6 ");
    engine_free(w.e);
}

/* Nothing is reclaimed from a stopped queue, whether it drains or not; from one that goes on it is. */
static void stopped_is_not_reclaimed_from(void **state) {
    for (int drains = 0; drains < 2; drains++) {
        struct world w;
        struct workload_input in = {
            .uid = STR("a4"), .queue = STR("a"), .queued_ns = 2, .evicting = true};
        stopped_borrower(&w, PREEMPT_ANY);
        if (drains != 0) {
            hold_as(&w, in, 4000);
        }
        submit(&w, "b4", "b", 0, 3, 4000);
        run(&w);
        assert_string_equal(w.story, "");
        assert_string_equal(w.reason, "WaitingForQuota");
        queue_as(&w, (struct queue_input){.name = STR("a"), .cohort = STR("co")},
                 &(struct fq){"f", {2000, NO, NO}}, 1);
        run(&w);
        assert_string_equal(w.story, drains != 0 ? "" : "-a4<b4 ");
        assert_string_equal(w.reason, "WaitingForPreemptedWorkloads");
        submit(&w, "a4", "a", 0, 2, 4000);
        run(&w);
        assert_string_equal(w.story, "+b4 ");
        engine_free(w.e);
    }
}

/* The same where its flavor goes: it is as good as stopped. */
static void flavorless_still_holds(void **state) {
    struct world w;
    const struct fq both[] = {{"f", {2000, NO, NO}}, {"g", {0, NO, NO}}},
                    six = {"f", {6000, NO, NO}};
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    flavor(&w, "g", (struct flavor_input){0});
    queue(&w, "a", "co", false, both, 2, FUNGIBILITY_STOP);
    queue(&w, "b", "co", false, &six, 1, FUNGIBILITY_STOP);
    submit(&w, "a5", "a", 0, 1, 5000);
    run(&w);
    engine_flavor_del(w.e, STR("g"));
    submit(&w, "b4", "b", 0, 2, 4000);
    run(&w);
    assert_string_equal(w.story, "");
    gone(&w, "a5");
    run(&w);
    assert_string_equal(w.story, "+b4 ");
    engine_free(w.e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(victims_leave_first),    cmocka_unit_test(kept),
        cmocka_unit_test(a_holder_falls),         cmocka_unit_test(gates),
        cmocka_unit_test(first_until_it_is_in),   cmocka_unit_test(first_until_that_is_seen),
        cmocka_unit_test(protected_for_a_while),  cmocka_unit_test(overlapping),
        cmocka_unit_test(another_victim),         cmocka_unit_test(kept_for_the_owner),
        cmocka_unit_test(freed_for_one),          cmocka_unit_test(preemptors_first),
        cmocka_unit_test(no_second_turn),         cmocka_unit_test(not_freed_yet),
        cmocka_unit_test(stopped_still_holds),    cmocka_unit_test(stopped_is_not_reclaimed_from),
        cmocka_unit_test(flavorless_still_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
