/*
 * Tests of the ledger, told of Workloads by hand: what it counts, and that it catches each rule that is broken, since
 * the controllers, which keep them, would never show it.
 */
#include "sim/ledger.h"
#include "sim/ledger_private.h"

#include "base/test.h"
#include "base/virtual_clock.h"
#include "mirror/memory/memory_store.h"
#include "sim/report.h"

static struct virtual_clock clock_;
static struct memory_store store;
static struct ledger ledger;
static int starts, stops;

static void started(void *ctx, struct ledger_work *w, const struct object *o) {
    starts++;
}

static int64_t stopped(void *ctx, struct ledger_work *w, const struct object *o, int64_t ran_ns) {
    stops++;
    return ran_ns;
}

static int64_t runtime(void *ctx, const struct object *o) {
    return 10 * NS_PER_SEC;
}

static const struct kind *kind(const char *name) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), str_of(name));
    return k ? k : kind_by_name(STR(""), str_of(name));
}

static void put(const char *k, const char *ns, const char *json) {
    const struct object *o;
    struct err err = {0};
    assert_ok(memory_store_create(&store, kind(k), str_of(ns), str_of(json), &o, &err), &err);
    object_unref(o);
}

static void patch(const char *k, const char *ns, const char *name, const char *sub,
                  const char *json) {
    const struct object *o;
    struct err err = {0};
    assert_ok(memory_store_patch(&store, kind(k), str_of(ns), str_of(name), sub, PATCH_MERGE,
                                 str_of(json), &o, &err),
              &err);
    object_unref(o);
}

static void queue(const char *name, const char *nominal, const char *limit) {
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"cohortName\":\"all\",\"resourceGroups\":[{"
        "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
        "\"cpu\",\"nominalQuota\":\"%s\"%s}]}]}]}}",
        name, nominal, limit);
    put("ClusterQueue", "", json);
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"clusterQueue\":\"%s\"}}", name, name);
    put("LocalQueue", "ns", json);
}

static void workload(const char *name, const char *queue_name) {
    char json[512];
    snprintf(
        json, sizeof json,
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"kueue.x-k8s.io/performance-scheduler-class"
        "\":\"c\"}},\"spec\":{\"queueName\":\"%s\",\"priority\":0,\"podSets\":[]}}",
        name, queue_name);
    put("Workload", "ns", json);
}

static void admit(const char *name, const char *queue_name, const char *cpu) {
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"status\":{\"admission\":{\"clusterQueue\":\"%s\",\"podSetAssignments\":[{\"name\":"
        "\"main\",\"flavors\":{\"cpu\":\"f\"},\"resourceUsage\":{\"cpu\":\"%s\"},\"count\":1}]},"
        "\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{\"type\":\"Admitted\","
        "\"status\":\"True\"}]}}",
        queue_name, cpu);
    patch("Workload", "ns", name, "status", json);
}

static void preempt(const char *name) {
    patch("Workload", "ns", name, "status",
          "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{\"type\":"
          "\"Admitted\",\"status\":\"True\"},{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":"
          "\"Preempted\"},{\"type\":\"Preempted\",\"status\":\"True\",\"reason\":"
          "\"InCohortReclamation\""
          "}]}}");
    patch("Workload", "ns", name, "status",
          "{\"status\":{\"admission\":null,\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":"
          "\"False\"},{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":\"Preempted\"}]}}");
}

static void finish(const char *name) {
    patch("Workload", "ns", name, "status",
          "{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\"}]}}");
}

static int setup(void **state) {
    struct err err = {0};
    starts = stops = 0;
    virtual_clock_init(&clock_, 0);
    store = (struct memory_store){.clock = &clock_.clock};
    store.mirror = mirror_new(&(struct mirror_options){.clock = &clock_.clock});
    struct ledger_options o = {.mirror = store.mirror,
                               .clock = &clock_.clock,
                               .started = started,
                               .stopped = stopped,
                               .runtime = runtime};
    assert_ok(ledger_init(&ledger, &o, &err), &err);
    put("ResourceFlavor", "", "{\"metadata\":{\"name\":\"f\"}}");
    queue("a", "10", "");
    queue("b", "10", ",\"borrowingLimit\":\"5\"");
    return 0;
}

static int teardown(void **state) {
    ledger_release(&ledger);
    mirror_free(store.mirror);
    virtual_clock_release(&clock_);
    return 0;
}

static void test_counts(void **state) {
    struct report_group g;
    struct report_use u;
    workload("w1", "a");
    workload("w2", "b");
    virtual_clock_run(&clock_, 2 * NS_PER_SEC);
    admit("w1", "a", "15");
    virtual_clock_run(&clock_, 4 * NS_PER_SEC);
    preempt("w1"); /* after 4 s, of which nothing is left */
    admit("w2", "b", "10");
    virtual_clock_run(&clock_, 10 * NS_PER_SEC);
    finish("w2");
    admit("w1", "a", "15");
    virtual_clock_run(&clock_, 10 * NS_PER_SEC);
    finish("w1");
    ledger_close(&ledger);
    assert_int_equal(ledger.err.code, 0);
    assert_int_equal(ledger.open, 0);
    assert_int_equal(starts, 3);
    assert_int_equal(stops, 3);
    report_group(&ledger.all, &g);
    assert_int_equal(g.submitted, 2);
    assert_int_equal(g.finished, 2);
    assert_int_equal(g.evicted, 1);
    assert_str_eq(ledger.reasons[0], STR("Preempted: InCohortReclamation"));
    assert_true(g.lost_s == 4);
    assert_true(g.wait.p50 == 2 && g.wait.max == 6 && g.wait.mean == 4);
    assert_true(g.run.mean == 10);
    report_use(&ledger, &ledger.use[0], 0, &u);
    assert_true(u.nominal == 20 && u.peak == 15);
    assert_true(u.mean == (4 * 15 + 10 * 10 + 10 * 15) / 26.0);
    assert_int_equal(ledger_floor(&ledger, 0, false) / NS_PER_MS, 12500); /* 250 cpu s / 20 */
    assert_int_equal(ledger_floor(&ledger, 0, true) / NS_PER_MS, 15500);  /* and 60 more */
    assert_str_eq(report_class(&ledger, 0)->name, STR("c"));
    assert_str_eq(report_queue(&ledger, 1)->group.name, STR("b"));
    assert_null(report_queue(&ledger, 2));
}

static void broke(const char *want) {
    assert_int_equal(ledger.err.code, ERR_INTERNAL);
    assert_string_equal(ledger.err.text, want);
}

static void test_beyond_borrowing(void **state) {
    workload("w1", "b");
    admit("w1", "b", "15");
    assert_int_equal(ledger.err.code, 0);
    workload("w2", "b");
    admit("w2", "b", "1m");
    broke("at 0.000 s: workload ns/w2: ClusterQueue b holds 15001 of cpu in f, more than 15000");
}

static void test_beyond_cohort(void **state) {
    workload("w1", "a");
    workload("w2", "b");
    admit("w1", "a", "11");
    admit("w2", "b", "10");
    broke("at 0.000 s: workload ns/w2: the queues of all hold 21000 of cpu in f, more than 20000");
}

/* Who comes before the queue does, or is led to another one, counts where it ends. */
static void test_moved(void **state) {
    struct report_group g;
    workload("w1", "later");
    workload("w2", "a");
    virtual_clock_run(&clock_, NS_PER_SEC);
    admit("w1", "a", "5");
    admit("w2", "b", "5");
    virtual_clock_run(&clock_, NS_PER_SEC);
    finish("w1");
    finish("w2");
    ledger_close(&ledger);
    report_group(&ledger_queue_of(&ledger, STR("a"))->group, &g);
    assert_true(g.submitted == 1 && g.finished == 1 && g.left == 0);
    report_group(&ledger_queue_of(&ledger, STR("b"))->group, &g);
    assert_true(g.submitted == 1 && g.finished == 1 && g.left == 0);
}

static void test_edit(void **state) {
    virtual_clock_run(&clock_, 5 * NS_PER_SEC);
    workload("w1", "a");
    admit("w1", "a", "20");
    assert_int_equal(ledger.err.code, 0);
    patch("ClusterQueue", "", "b", "", "{\"spec\":{\"cohortName\":\"other\"}}");
    workload("w2", "a");
    admit("w2", "a", "1m"); /* was under way: not called back */
    assert_int_equal(ledger.err.code, 0);
    virtual_clock_run(&clock_, 5 * NS_PER_SEC);
    workload("w3", "a");
    admit("w3", "a", "1m");
    broke("at 10.000 s: workload ns/w3: the queues of all hold 20002 of cpu in f, more than 10000");
}

/* A stopped queue lends, and what it holds counts until it is given back. */
static void test_stopped_borrower(void **state) {
    virtual_clock_run(&clock_, 5 * NS_PER_SEC);
    workload("w1", "a");
    admit("w1", "a", "12");
    patch("ClusterQueue", "", "a", "", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    virtual_clock_run(&clock_, 5 * NS_PER_SEC);
    workload("w2", "b");
    admit("w2", "b", "8");
    assert_int_equal(ledger.err.code, 0);
    workload("w3", "b");
    admit("w3", "b", "1m");
    broke("at 10.000 s: workload ns/w3: the queues of all hold 20001 of cpu in f, more than 20000");
    ledger.err.code = 0;
    finish("w1");
    workload("w4", "b");
    admit("w4", "b", "6"); /* some of it is a's own */
    assert_int_equal(ledger.err.code, 0);
}

/* Pods that are reclaimable hold nothing: others may have it. */
static void test_reclaimed(void **state) {
    put("Workload", "ns",
        "{\"metadata\":{\"name\":\"w1\"},\"spec\":{\"queueName\":\"a\",\"priority\":0,"
        "\"podSets\":[{\"name\":\"main\",\"count\":4}]}}");
    workload("w2", "b");
    patch("Workload", "ns", "w1", "status",
          "{\"status\":{\"admission\":{\"clusterQueue\":\"a\",\"podSetAssignments\":[{\"name\":"
          "\"main\",\"flavors\":{\"cpu\":\"f\"},\"resourceUsage\":{\"cpu\":\"12\"},\"count\":4}]},"
          "\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\"},{\"type\":\"Admitted\","
          "\"status\":\"True\"}]}}");
    patch("Workload", "ns", "w1", "status",
          "{\"status\":{\"reclaimablePods\":[{\"name\":\"main\",\"count\":2}]}}");
    admit("w2", "b", "14");
    assert_int_equal(ledger.err.code, 0);
    preempt("w2");
    patch("ClusterQueue", "", "a", "",
          "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":["
          "\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\","
          "\"nominalQuota\":\"0\"}]}]}]}}");
    patch("Workload", "ns", "w1", "status",
          "{\"status\":{\"reclaimablePods\":[{\"name\":\"main\",\"count\":3}]}}");
    assert_int_equal(ledger.err.code, 0); /* 3 of no quota, but not anew */
    admit("w2", "b", "8");
    broke("at 0.000 s: workload ns/w2: the queues of all hold 11000 of cpu in f, more than 10000");
}

static void test_twice(void **state) {
    workload("w1", "a");
    admit("w1", "a", "1");
    admit("w1", "a", "1");
    assert_int_equal(ledger.err.code, 0);
    admit("w1", "b", "1");
    broke("at 0.000 s: workload ns/w1 was admitted anew while it held quota");
}

static void test_finished_for_good(void **state) {
    workload("w1", "a");
    admit("w1", "a", "1");
    finish("w1");
    admit("w1", "a", "1");
    broke("at 0.000 s: workload ns/w1 was finished and is not any more");
}

/* As many pairs as it counts, and one more: it says so, and which. */
static void test_too_many_pairs(void **state) {
    char name[8];
    assert_int_equal(ledger_pair(&ledger, STR("f"), STR("cpu")), 0);
    for (int i = 1; i < LEDGER_PAIRS; i++) {
        snprintf(name, sizeof name, "r%d", i);
        assert_int_equal(ledger_pair(&ledger, STR("g"), str_of(name)), i);
    }
    workload("w", "a");
    admit("w", "a", "1");
    assert_int_equal(ledger.err.code, 0);
    queue("c", "10", "");
    put("ClusterQueue", "",
        "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"x\"]"
        ","
        "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"x\",\"nominalQuota\":1}]}]}]}}");
    workload("v", "a");
    assert_int_equal(ledger.err.code, ERR_TOO_MANY);
    assert_string_equal(ledger.err.text, "resource x of flavor f: the simulator counts at most 64 "
                                         "pairs of flavor and resource");
}

static void test_no_end(void **state) {
    workload("w1", "a");
    for (int i = 0; i < 1000; i++) {
        admit("w1", "a", "1");
        preempt("w1");
    }
    assert_int_equal(ledger.err.code, 0);
    admit("w1", "a", "1");
    preempt("w1");
    broke("at 0.000 s: workload ns/w1 was evicted 1000 times: preemption does not end (a "
          "Configuration "
          "with berth.dev/break-alternation breaks such rounds)");
}

/* Two queues, one of which has everything for half of the time: the index is 1/2, then 1. */
static void test_fairness(void **state) {
    workload("w1", "a");
    workload("w2", "b");
    workload("w3", "a");
    admit("w1", "a", "10");
    virtual_clock_run(&clock_, 5 * NS_PER_SEC);
    admit("w2", "b", "10");
    virtual_clock_run(&clock_, 5 * NS_PER_SEC);
    ledger_close(&ledger);
    const struct ledger_tree *t = map_get(&ledger.trees, STR("all"));
    assert_true(t->time_s == 10 && t->area == 7.5);
    assert_true(report_share(&ledger, report_queue(&ledger, 0)) == 50);
    assert_true(report_share(&ledger, report_queue(&ledger, 1)) == 25);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beyond_borrowing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beyond_cohort, setup, teardown),
        cmocka_unit_test_setup_teardown(test_moved, setup, teardown),
        cmocka_unit_test_setup_teardown(test_edit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stopped_borrower, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reclaimed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_finished_for_good, setup, teardown),
        cmocka_unit_test_setup_teardown(test_too_many_pairs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fairness, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
