/* Tests of the choice of flavors: fungibility, scans that go on, what was considered, fewer pods, the undeclared. */
#include "core/test/engine_fixture.h"

/* Two flavors of 10 each, in a queue and perhaps a cohort with as much to lend. */
struct row {
    const char *name;
    bool lends;        /* a cohort has 10 more of f1 */
    bool lends_second; /* of f2 */
    bool full_first, full_second;
    bool victims; /* what fills them may be evicted */
    enum fungibility borrow, preempt;
    bool borrow_costs_more;
    const char *expect; /* admitted with the flavor, or evicted */
};

static const struct row rows[] = {
    {"borrowing stops the search", true, false, true, false, false, FUNGIBILITY_STOP,
     FUNGIBILITY_NEXT, false, "f1"},
    {"or does not", true, false, true, false, false, FUNGIBILITY_NEXT, FUNGIBILITY_NEXT, false,
     "f2"},
    {"victims do not stop it", false, false, true, false, true, FUNGIBILITY_STOP, FUNGIBILITY_NEXT,
     false, "f2"},
    {"or do", false, false, true, false, true, FUNGIBILITY_STOP, FUNGIBILITY_STOP, false, "-f1"},
    {"borrowing over victims", false, true, true, true, true, FUNGIBILITY_NEXT, FUNGIBILITY_NEXT,
     false, "f2"},
    {"victims over borrowing", false, true, true, true, true, FUNGIBILITY_NEXT, FUNGIBILITY_NEXT,
     true, "-f1"},
    {"the first of equals", false, false, true, true, true, FUNGIBILITY_STOP, FUNGIBILITY_NEXT,
     false, "-f1"},
};

static void fill(struct world *w, const char *uid, const char *f) {
    struct str_pair label = {STR("kind"), str_of(f)};
    struct shape s = {.selector = {&label, 1}};
    submit_as(w, uid, "q", 0, 1, 1, "cpu", 10000, &s);
    run(w);
}

static void fungibility(void **state) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *r = &rows[i];
        struct world w;
        struct str_pair one = {STR("kind"), STR("f1")}, two = {STR("kind"), STR("f2")};
        setup(&w);
        flavor(&w, "f1", (struct flavor_input){.labels = {&one, 1}});
        flavor(&w, "f2", (struct flavor_input){.labels = {&two, 1}});
        queue(&w, "rich", "co", false,
              (struct fq[]){{"f1", {r->lends ? 10000 : 0, NO, NO}},
                            {"f2", {r->lends_second ? 10000 : 0, NO, NO}}},
              2, FUNGIBILITY_STOP);
        queue_as(&w,
                 (struct queue_input){.name = STR("q"),
                                      .cohort = STR("co"),
                                      .within_queue = r->victims ? PREEMPT_LOWER : PREEMPT_NEVER,
                                      .when_can_borrow = r->borrow,
                                      .when_can_preempt = r->preempt,
                                      .borrow_costs_more = r->borrow_costs_more},
                 (struct fq[]){{"f1", {10000, NO, NO}}, {"f2", {10000, NO, NO}}}, 2);
        if (r->full_first) {
            fill(&w, "one", "f1");
        }
        if (r->full_second) {
            fill(&w, "two", "f2");
        }
        submit(&w, "x", "q", 5, 9, 5000);
        cycle(&w);
        size_t n = 0;
        struct str queue_name;
        const struct held_amount *h = engine_workload_held(w.e, STR("x"), &n, &queue_name);
        char got[16] = "";
        if (h != NULL) {
            str_copy(names_text(engine_flavors(w.e), h->flavor), got, sizeof(got));
        } else if (w.evicted > 0) {
            snprintf(got, sizeof(got), "-f%c", strstr(w.story, "-one") != NULL ? '1' : '2');
        }
        if (strcmp(got, r->expect) != 0) {
            print_message("%s: %s\n", r->name, w.story);
        }
        assert_string_equal(got, r->expect);
        engine_free(w.e);
    }
}

/* What a pod asks of a flavor's labels: of "size", here; a flavor with another label is not asked. */
static void affinity(void **state) {
    static const struct {
        const char *key, *have;
        enum select_op op;
        const char *want; /* NULL: no value */
        bool fits;
    } cases[] = {
        {"size", "7", SELECT_IN, "7", true},      {"size", "7", SELECT_IN, "8", false},
        {"size", "7", SELECT_NOT_IN, "8", true},  {"size", "7", SELECT_NOT_IN, "7", false},
        {"size", "7", SELECT_EXISTS, NULL, true}, {"size", "7", SELECT_ABSENT, NULL, false},
        {"size", "7", SELECT_GT, "6", true},      {"size", "7", SELECT_GT, "7", false},
        {"size", "7", SELECT_LT, "8", true},      {"size", "7", SELECT_LT, "7", false},
        {"size", "7", SELECT_GT, "six", false},   {"size", "big", SELECT_LT, "8", false},
        {"size", "big", SELECT_GT, "-8", false},  {"other", "7", SELECT_IN, "8", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        struct str_pair label = {str_of(cases[i].key), str_of(cases[i].have)};
        struct str value = str_of(cases[i].want != NULL ? cases[i].want : "");
        struct select_rule rule = {
            STR("size"), cases[i].op, {&value, cases[i].want != NULL ? 1 : 0}};
        struct select_term term = {.labels = &rule, .n_labels = 1};
        struct shape shape = {.has_affinity = true, .terms = &term, .n_terms = 1};
        setup(&w);
        flavor(&w, "f", (struct flavor_input){.labels = {&label, 1}});
        queue(&w, "q", "", false, (struct fq[]){{"f", {9000, NO, NO}}}, 1, FUNGIBILITY_STOP);
        submit_as(&w, "a", "q", 0, 1, 1, "cpu", 1000, &shape);
        run(&w);
        assert_int_equal(w.admitted, cases[i].fits);
        engine_free(w.e);
    }
}

/* No victims in the first, never room in the second: it waits for the first. */
static void waits_for_quota(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f1", (struct flavor_input){0});
    flavor(&w, "f2", (struct flavor_input){0});
    queue(&w, "q", "", false, (struct fq[]){{"f1", {10000, NO, NO}}, {"f2", {1000, NO, NO}}}, 2,
          FUNGIBILITY_STOP);
    submit(&w, "a", "q", 0, 1, 9000);
    run(&w);
    assert_string_equal(w.flavors, ""); /* a plain fit is not worth a word */
    submit(&w, "b", "q", 0, 2, 5000);
    run(&w);
    assert_string_equal(w.reason, "WaitingForQuota");
    assert_string_equal(w.flavors,
                        "main: f1(preemptionMode=NoCandidates;insufficient unused quota for cpu in "
                        "flavor f1, 4 more needed), f2(NoFit;insufficient quota for cpu in flavor "
                        "f2, previously considered podsets requests (0) + current podset request "
                        "(5) > maximum capacity (1))");
    engine_free(w.e);
}

/* A scan goes on with the next flavor in the next cycle; it begins anew when its queue admitted another since. */
static void scans(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f1", (struct flavor_input){0});
    flavor(&w, "f2", (struct flavor_input){0});
    struct fq two[] = {{"f1", {2000, NO, NO}}, {"f2", {2000, NO, NO}}};
    queue(&w, "x", "co", false, two, 2, FUNGIBILITY_STOP);
    queue(&w, "y", "co", false, two, 2, FUNGIBILITY_STOP);
    submit(&w, "y1", "y", 5, 1, 4000); /* all of f1: before x1 by its priority */
    submit(&w, "x1", "x", 0, 2, 3000);
    cycle(&w);
    assert_string_equal(w.story, "+y1 "); /* both borrow; x1 fitted f1, until y1 had it */
    assert_string_equal(w.text, "Workload no longer fits after processing another workload");
    gone(&w, "y1");
    cycle(&w);
    assert_string_equal(w.story, "+x1 ");
    size_t n;
    struct str q;
    const struct held_amount *h = engine_workload_held(w.e, STR("x1"), &n, &q);
    assert_true(str_eq(names_text(engine_flavors(w.e), h->flavor), STR("f2"))); /* it went on */
    engine_free(w.e);
}

/* ---- fewer pods ---- */

static void fewer_pods(void **state) {
    static const struct {
        int64_t quota;
        int32_t count; /* 0: not admitted */
    } cases[] = {{10000, -1}, {9999, 9}, {6500, 6}, {4000, 4}, {3900, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct world w;
        setup(&w);
        flavor(&w, "f", (struct flavor_input){0});
        queue(&w, "q", "", false, (struct fq[]){{"f", {cases[i].quota, NO, NO}}}, 1,
              FUNGIBILITY_STOP);
        put_as(&w, (struct workload_input){.uid = STR("a"), .queue = STR("q"), .queued_ns = 1}, 10,
               4, 1000);
        run(&w);
        assert_int_equal(w.admitted, cases[i].count != 0);
        if (w.admitted > 0) {
            size_t n;
            struct str q;
            const struct held_amount *h = engine_workload_held(w.e, STR("a"), &n, &q);
            assert_int_equal(w.count, cases[i].count);
            assert_int_equal(h->v, (w.count > 0 ? w.count : 10) * 1000);
        }
        engine_free(w.e);
    }
}

/* Fewer pods with victims, when all of them find none. */
static void fewer_with_victims(void **state) {
    struct world w;
    setup(&w);
    flavor(&w, "f", (struct flavor_input){0});
    queue_as(&w, (struct queue_input){.name = STR("q"), .within_queue = PREEMPT_LOWER},
             (struct fq[]){{"f", {10000, NO, NO}}}, 1);
    submit(&w, "low", "q", 0, 1, 4000);
    submit(&w, "high", "q", 9, 1, 4000);
    run(&w);
    put_as(
        &w,
        (struct workload_input){.uid = STR("a"), .queue = STR("q"), .priority = 5, .queued_ns = 2},
        10, 4, 1000);
    run(&w);
    assert_string_equal(w.story, "-low<a ");
    gone(&w, "low");
    run(&w);
    assert_string_equal(w.story, "+a ");
    assert_int_equal(w.count, 6);
    engine_free(w.e);
}

/* ---- undeclared resources ---- */

static void undeclared(void **state) {
    for (int ignore = 0; ignore < 2; ignore++) {
        struct world w;
        setup_with(&w, (struct engine_options){.ignore_undeclared = ignore});
        flavor(&w, "f", (struct flavor_input){0});
        queue(&w, "q", "", false, (struct fq[]){{"f", {4000, NO, NO}}}, 1, FUNGIBILITY_STOP);
        submit_as(&w, "gpu", "q", 0, 1, 1, "nvidia.com/gpu", 1, &ANY);
        submit_as(&w, "none", "q", 0, 2, 1, "nvidia.com/gpu", 0, &ANY);
        submit_as(&w, "pods", "q", 0, 3, 1, "pods", 1, &ANY);
        run(&w);
        assert_string_equal(w.story, ignore ? "+gpu +none +pods " : "+none +pods ");
        engine_free(w.e);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fungibility), cmocka_unit_test(waits_for_quota),
        cmocka_unit_test(scans),       cmocka_unit_test(fewer_pods),
        cmocka_unit_test(undeclared),  cmocka_unit_test(fewer_with_victims),
        cmocka_unit_test(affinity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
