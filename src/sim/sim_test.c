/*
 * Tests of the simulated world: loads, Jobs, traces and edits go through the real controllers in virtual time; the same
 * run twice gives the same report; the baseline load ends near its arithmetic floor.
 */
#include "sim/sim.h"

#include "base/mem.h"
#include "base/test.h"
#include "sim/report.h"

#define KUEUE "apiVersion: kueue.x-k8s.io/v1beta2\nkind: "
#define CLUSTER_QUEUE(name, more, nominal)                                                         \
    KUEUE                                                                                          \
    "ClusterQueue\nmetadata: {name: " name "}\nspec:\n"                                            \
    "  cohortName: all\n  namespaceSelector: {}\n" more                                            \
    "  preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}\n"                \
    "  resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: f, resources: "      \
    "[{name: nvidia.com/gpu, nominalQuota: " nominal "}]}]}]\n---\n"
#define LOCAL_QUEUE(name)                                                                          \
    KUEUE "LocalQueue\nmetadata: {name: " name "}\nspec: {clusterQueue: " name "}\n---\n"
#define QUEUES                                                                                     \
    KUEUE "ResourceFlavor\nmetadata: {name: f}\n---\n" CLUSTER_QUEUE("a", "", "8")                 \
        CLUSTER_QUEUE("b", "", "8") LOCAL_QUEUE("a") LOCAL_QUEUE("b")
#define JOB(name, queue, time, parallelism, completions, gpus)                                     \
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " name                                      \
    ", labels: {kueue.x-k8s.io/queue-name"                                                         \
    ": " queue "}, annotations: {berth.dev/runtime: " time                                         \
    "}}\nspec:\n  parallelism: " parallelism "\n  completions: " completions                       \
    "\n  template: {spec: {restartPolicy: Never, containers: [{name"                               \
    ": c, image: i, resources: {limits: {nvidia.com/gpu: " gpus "}}}]}}\n---\n"

struct world {
    struct arena arena;
    struct log log;
    struct sim_options o;
    struct sim *s;
    struct manifests m[4];
    size_t n;
    struct load_file load;
    struct trace trace;
    enum sim_end end;
};
static struct world w;

static void log_line(struct log *l, enum log_level level, struct str line) {
    print_message("log: %.*s\n", STR_ARG(line));
}

static int setup(void **state) {
    w = (struct world){.log = {.level = LOG_WARN, .write = log_line}};
    w.o = (struct sim_options){.runtime_ns = 60 * NS_PER_SEC, .jobs = true, .log = &w.log};
    arena_init(&w.arena, 256 << 20);
    return 0;
}

static int teardown(void **state) {
    sim_free(w.s);
    arena_release(&w.arena);
    return 0;
}

static void begin(void) {
    struct err err = {0};
    sim_free(w.s);
    w.n = 0;
    w.s = sim_new(&w.o, &err);
    assert_non_null(w.s);
}

static void at(double seconds, enum sim_act act, const char *yaml) {
    struct err err = {0};
    struct manifests *m = &w.m[w.n++];
    *m = (struct manifests){0};
    if (act == SIM_APPLY) {
        assert_ok(manifests_read(&w.arena, "test", str_of(yaml), m, &err), &err);
    } else {
        assert_ok(manifests_read_parts(&w.arena, "test", str_of(yaml), m, &err), &err);
    }
    for (size_t i = 0; i < m->n; i++) {
        assert_ok(sim_at(w.s, (int64_t)(seconds * NS_PER_SEC), act, &m->v[i], &err), &err);
    }
}

static void trace(const char *rows) {
    struct err err = {0};
    struct str text = arena_f(&w.arena, "submit_s,duration_s,gpus,queue,priority,class\n%s", rows);
    assert_ok(trace_read(&w.arena, TRACE_PLAIN, text, &w.trace, &err), &err);
    assert_ok(sim_trace(w.s, &w.trace, 0, &err), &err);
}

static void load(const char *text) {
    struct err err = {0};
    assert_ok(load_file_read(&w.arena, str_of(text), &w.load, &err), &err);
    assert_ok(sim_load(w.s, &w.load, &err), &err);
}

static void run(enum sim_end want) {
    struct err err = {0};
    assert_ok(sim_run(w.s, &w.end, &err), &err);
    assert_int_equal(w.end, want);
}

static struct report_group all(void) {
    struct report_group g;
    report_group(&sim_ledger(w.s)->all, &g);
    return g;
}

static struct report_run whole(void) {
    struct report_run r;
    report_run(w.s, w.end, &w.o, &r);
    return r;
}

/* The i-th Workload that came. */
static const struct ledger_work *work(size_t i) {
    return sim_ledger(w.s)->in_order.v[i];
}

static double first_start(size_t i) {
    return (double)work(i)->first_started / NS_PER_SEC;
}

/* ---- Jobs ---- */

static void test_jobs(void **state) {
    w.o.startup_ns = 5 * NS_PER_SEC;
    begin();
    at(0, SIM_APPLY, QUEUES JOB("x", "a", "100s", "2", "6", "4"));
    at(10, SIM_APPLY, JOB("z", "b", "50s", "1", "1", "16"));
    run(SIM_DONE);
    struct report_group g = all();
    assert_int_equal(g.finished, 2);
    assert_int_equal(g.evicted, 0);
    assert_true(first_start(0) == 0);   /* three waves of 100 s, and the start-up */
    assert_true(first_start(1) == 305); /* all quota of the cohort */
    assert_true(whole().makespan_s == 360);
    assert_true(whole().floor_s == 305); /* x alone */
}

/* Half of the pods run twice as often. */
static void test_fewer_pods(void **state) {
    begin();
    at(0, SIM_APPLY,
       QUEUES "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x, labels: "
              "{kueue.x-k8s.io/queue-name: a}, "
              "annotations: {berth.dev/runtime: 100s, kueue.x-k8s.io/job-min-parallelism: '1'}}\n"
              "spec: {parallelism: 8, completions: 8, template: {spec: {restartPolicy: Never, "
              "containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 4}}}]}}}\n");
    run(SIM_DONE);
    assert_true(whole().makespan_s == 200);
}

static void test_reclaim(void **state) {
    begin();
    at(0, SIM_APPLY, QUEUES JOB("x", "a", "100s", "1", "1", "16"));
    at(60, SIM_APPLY, JOB("z", "b", "50s", "1", "1", "8"));
    run(SIM_DONE);
    struct report_group g = all();
    assert_int_equal(g.finished, 2);
    assert_int_equal(g.evicted, 1);
    assert_str_eq(sim_ledger(w.s)->reasons[0], STR("Preempted: InCohortReclamation"));
    assert_true(g.lost_s == 60);
    assert_true(first_start(1) == 60);
    assert_true(whole().makespan_s == 210); /* x anew, after y */
}

static void test_checkpoint(void **state) {
    w.o.checkpoint = true;
    begin();
    at(0, SIM_APPLY, QUEUES JOB("x", "a", "100s", "1", "1", "16"));
    at(60, SIM_APPLY, JOB("z", "b", "50s", "1", "1", "8"));
    run(SIM_DONE);
    assert_true(all().lost_s == 0);
    assert_true(whole().makespan_s == 150);
}

static void test_story(void **state) {
    static const char *const borrower[] = {
        "  0.000 s  default Job/x: Created\n",
        "  0.000 s  default Job/x: QuotaReserved (QuotaReserved)\n",
        " 60.000 s  default Job/x: Evicted (Preempted)\n",
        " 60.000 s  default Job/x: not QuotaReserved (PendingEvaluation)\n",
        "s  default Job/x: QuotaReserved (QuotaReserved)\n",
        "s  default Job/x: Finished (Succeeded)\n",
    };
    struct buf b;
    w.o.story = true;
    begin();
    at(0, SIM_APPLY, QUEUES JOB("x", "a", "100s", "1", "1", "16"));
    at(60, SIM_APPLY, JOB("z", "b", "50s", "1", "1", "8"));
    at(100, SIM_DELETE, JOB("z", "b", "50s", "1", "1", "8"));
    run(SIM_DONE);
    buf_init(&b, 0);
    story_lines(sim_story(w.s), &b);
    const char *rest = buf_cstr(&b);
    for (size_t i = 0; i < sizeof borrower / sizeof *borrower; i++) {
        rest = strstr(rest, borrower[i]);
        assert_non_null(rest);
        rest += strlen(borrower[i]);
    }
    assert_non_null(strstr(buf_cstr(&b), "s  default Job/z: Deleted\n"));
    buf_reset(&b);
    story_json(sim_story(w.s), sim_mirror(w.s), &b);
    const char *json = buf_cstr(&b);
    assert_non_null(strstr(json, "\"owner\":\"Job/x\",\"queue\":\"a\",\"events\":[{\"at\":0.000,"));
    assert_non_null(strstr(json, "\"admission\":{\"clusterQueue\":\"a\""));
    assert_non_null(strstr(json, "\"clusterQueues\":[{\"name\":\"a\",\"status\":{"));
    buf_release(&b);
}

/* ---- traces and edits ---- */

static void test_trace(void **state) {
    begin();
    at(0, SIM_APPLY, QUEUES);
    trace("0,100,16,a,0,x\n"
          "10,10,1,a,0,y\n" /* waits for all of it */
          "20,10,1,a,5,\n");
    run(SIM_DONE);
    struct report_group g;
    struct ledger_group *c = report_class(sim_ledger(w.s), 0);
    assert_int_equal(all().finished, 3);
    assert_str_eq(c->name, STR("-"));
    report_group(report_class(sim_ledger(w.s), 2), &g);
    assert_str_eq(g.name, STR("y"));
    assert_true(g.wait.max > 0);
}

static void test_queues_of_a_trace(void **state) {
    struct err err = {0};
    struct str text = STR("submit_s,duration_s,gpus,queue\n0,10,1,x\n0,10,2,x\n0,10,2,team/y\n");
    begin();
    assert_ok(trace_read(&w.arena, TRACE_PLAIN, text, &w.trace, &err), &err);
    assert_ok(sim_trace(w.s, &w.trace, 5, &err), &err);
    run(SIM_DONE);
    assert_int_equal(all().finished, 3);
    assert_true(whole().makespan_s == 10);
    assert_str_eq(report_queue(sim_ledger(w.s), 1)->group.name, STR("x"));
    assert_str_eq(report_queue(sim_ledger(w.s), 0)->group.name, STR("team-y"));
}

#define PATCH(more) KUEUE "ClusterQueue\nmetadata: {name: a}\n" more

/* Members that are not named stay; status goes to its subresource. */
static void test_patch(void **state) {
    begin();
    at(0, SIM_APPLY, QUEUES JOB("x", "a", "100s", "1", "1", "8"));
    at(50, SIM_PATCH, PATCH("spec: {stopPolicy: HoldAndDrain}\n"));
    at(60, SIM_PATCH, PATCH("spec: {stopPolicy: null}\nstatus: {pendingWorkloads: 7}\n"));
    run(SIM_DONE);
    assert_int_equal(all().evicted, 1);
    assert_int_equal(all().finished, 1);
    assert_true(whole().makespan_s == 160);
}

static void test_edits(void **state) {
    begin();
    at(0, SIM_APPLY, QUEUES);
    trace("0,100,8,a,0,\n"
          "1,100,8,a,0,\n"    /* borrows */
          "200,100,16,b,0,\n" /* when there are but 12 any more */
          "201,10,1,b,0,\n");
    at(50, SIM_APPLY, CLUSTER_QUEUE("a", "  stopPolicy: HoldAndDrain\n", "8"));
    at(150, SIM_APPLY, CLUSTER_QUEUE("a", "", "4"));
    run(SIM_STUCK);
    struct ledger *l = sim_ledger(w.s);
    assert_int_equal(l->edits, 2);
    assert_int_equal(all().finished, 3);
    assert_int_equal(all().evicted, 2);
    assert_str_eq(l->reasons[0], STR("ClusterQueueStopped"));
    assert_int_equal(all().left, 1);
    assert_true(whole().floor_s == 0);
    size_t i = 0;
    struct report_left left;
    assert_true(report_left(w.s, &i, &w.arena, &left));
    assert_str_eq(left.name, STR("job-4"));
    assert_str_eq(left.state, STR("Waits"));
    assert_str_eq(left.reason, STR("ExceedsMaxQuota"));
    assert_false(report_left(w.s, &i, &w.arena, &left));
}

static void test_deletion(void **state) {
    begin();
    at(0, SIM_APPLY, QUEUES JOB("x", "a", "100s", "1", "1", "16"));
    at(5, SIM_APPLY, JOB("z", "a", "10s", "1", "1", "16"));
    at(50, SIM_DELETE, JOB("x", "a", "100s", "1", "1", "16"));
    run(SIM_DONE);
    assert_int_equal(all().finished + all().deleted, 2);
    assert_true(first_start(1) < 60);
}

static void test_until(void **state) {
    w.o.until_ns = 30 * NS_PER_SEC;
    begin();
    at(0, SIM_APPLY, QUEUES);
    trace("0,20,8,a,0,\n0,40,8,a,0,\n");
    run(SIM_UNTIL);
    assert_int_equal(all().finished, 1);
    assert_int_equal(all().left, 1);
    assert_true(whole().time_s == 30);
    struct report_use u;
    report_use(sim_ledger(w.s), sim_ledger(w.s)->use, 0, &u);
    assert_true(u.mean > 13.33 && u.mean < 13.34 && u.nominal == 16);
}

static void test_not_there(void **state) {
    struct err err = {0};
    begin();
    at(3, SIM_DELETE, LOCAL_QUEUE("nope"));
    assert_int_equal(sim_run(w.s, &w.end, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "at 3.000 s: LocalQueue nope: localqueues \"nope\" not found");
}

/* ---- loads ---- */

#define LOAD(cohorts, queues)                                                                      \
    "cohorts: [{className: cohort, count: " cohorts                                                \
    ", queuesSets: [{className: cq, count: " queues                                                \
    ", nominalQuota: 20, borrowingLimit: 100, reclaimWithinCohort: Any, withinClusterQueue: "      \
    "LowerPriority, workloadsSets: ["                                                              \
    "{count: 350, creationIntervalMs: 100, workloads: [{className: small, runtimeMs: 200, "        \
    "priority: 50, request: 1}]},"                                                                 \
    "{count: 100, creationIntervalMs: 500, workloads: [{className: medium, runtimeMs: 500, "       \
    "priority: 100, request: 5}]},"                                                                \
    "{count: 50, creationIntervalMs: 1200, workloads: [{className: large, runtimeMs: 1000, "       \
    "priority: 200, request: 20}]}]}]}]"

/* 150 queues give their quota back at one moment, and one of higher priority comes to each at the same moment: it is
 * admitted, and none of those that waited is admitted first and evicted at once. */
static void test_one_moment(void **state) {
    w.o.jobs = false;
    begin();
    load("cohorts: [{className: cohort, count: 1, queuesSets: [{className: cq, count: 150, "
         "nominalQuota: 1, withinClusterQueue: LowerPriority, workloadsSets: ["
         "{count: 2, creationIntervalMs: 100, workloads: [{className: small, runtimeMs: 1000, "
         "priority: 50, request: 1}]},"
         "{count: 1, creationIntervalMs: 1100, workloads: [{className: large, runtimeMs: 100, "
         "priority: 200, request: 1}]}]}]}]");
    run(SIM_DONE);
    assert_int_equal(all().finished, 450);
    assert_int_equal(all().evicted, 0);
    assert_true(whole().makespan_s > 2.19 && whole().makespan_s < 2.21);
}

/* One cohort of the baseline load; its cohorts do not see one another. What is evicted starts anew, and that work is
 * counted; when it goes on where it was, nothing is lost. */
static void test_baseline(void **state) {
    w.o.jobs = false;
    begin();
    load(LOAD("1", "6"));
    run(SIM_DONE);
    struct report_run r = whole();
    assert_int_equal(all().finished, 3000);
    assert_true(r.floor_s > 66 && r.floor_s < 67);
    assert_true(r.makespan_s >= r.floor_lost_s);
    assert_true(r.makespan_s <= 1.05 * r.floor_lost_s);
    w.o.checkpoint = true;
    begin();
    load(LOAD("1", "6"));
    run(SIM_DONE);
    r = whole();
    assert_true(r.makespan_s >= r.floor_s);
    assert_true(r.makespan_s <= 1.05 * r.floor_s);
}

static char *report_of(uint64_t seed) {
    struct buf b;
    w.o.seed = seed;
    begin();
    load(LOAD("2", "2"));
    run(SIM_DONE);
    buf_init(&b, 0);
    report_json(w.s, w.end, &(struct sim_options){0}, &b);
    buf_ch(&b, 0);
    return buf_take(&b, NULL);
}

static void test_same_again(void **state) {
    w.o.jobs = false;
    char *first = report_of(1), *again = report_of(1), *other = report_of(2);
    assert_true(strlen(first) > 1000);
    assert_string_equal(first, again);
    assert_string_not_equal(first, other);
    mem_free(first);
    mem_free(again);
    mem_free(other);
}

int main(void) {
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_jobs),
        TEST(test_fewer_pods),
        TEST(test_reclaim),
        TEST(test_checkpoint),
        TEST(test_story),
        TEST(test_trace),
        TEST(test_queues_of_a_trace),
        TEST(test_patch),
        TEST(test_edits),
        TEST(test_deletion),
        TEST(test_until),
        TEST(test_not_there),
        TEST(test_one_moment),
        TEST(test_baseline),
        TEST(test_same_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
