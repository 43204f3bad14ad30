/* Tests of load_file: what a load says, the names and arrivals made of it, and what is refused, word for word. */
#include "sim/load_file.h"

#include "wire/json/json_fixture.h"

#define CLASS "{className: small, runtimeMs: 200, priority: 50, request: 1}"
#define SET(class) "{count: 3, creationIntervalMs: 100, workloads: [" class "]}"
#define QUEUES(more, set)                                                                          \
    "{className: cq, count: 2, nominalQuota: 20" more ", workloadsSets: [" set "]}"
#define LOAD(queues) "cohorts: [{className: cohort, count: 2, queuesSets: [" queues "]}]\n"

static struct load_file read_ok(const char *text) {
    struct load_file l;
    struct err err = {0};
    assert_ok(load_file_read(&arena, str_of(text), &l, &err), &err);
    return l;
}

static void refused(const char *text, int code, const char *want) {
    struct load_file l = {.total_queues = 77};
    struct err err = {0};
    assert_int_equal(load_file_read(&arena, str_of(text), &l, &err), code);
    assert_string_equal(err.text, want);
    assert_int_equal(l.total_queues, 77);
}

static void test_values(void **state) {
    struct load_file l = read_ok(LOAD(QUEUES(
        ", borrowingLimit: \"1500m\", reclaimWithinCohort: Any, withinClusterQueue: LowerPriority",
        SET(CLASS ", {className: big, runtimeMs: 0, request: 0.5, podCount: 4}"))));
    const struct load_queues *q = &l.cohorts[0].queues[0];
    const struct load_class *c = q->sets[0].classes;
    assert_int_equal(l.total_queues, 4);
    assert_int_equal(l.total_workloads, 4 * 3 * 2);
    assert_str_eq(l.flavor, STR("rf"));
    assert_str_eq(l.resource, STR("cpu"));
    assert_false(l.topology);
    assert_int_equal(quantity_value(q->nominal), 20);
    assert_true(q->limited);
    assert_int_equal(quantity_milli(q->borrowing), 1500);
    assert_str_eq(q->reclaim, STR("Any"));
    assert_str_eq(q->within, STR("LowerPriority"));
    assert_str_eq(c[0].name, STR("small"));
    assert_int_equal(c[0].runtime_ms, 200);
    assert_int_equal(c[0].priority, 50);
    assert_int_equal(c[0].pods, 1);
    assert_int_equal(quantity_milli(c[1].request), 500);
    assert_int_equal(c[1].pods, 4);
}

static void test_defaults_and_topology(void **state) {
    struct load_file l =
        read_ok("resource: nvidia.com/gpu\n"
                "resourceFlavor: {name: h200, topologyName: t}\n" LOAD(QUEUES("", SET(CLASS))));
    const struct load_queues *q = &l.cohorts[0].queues[0];
    assert_str_eq(l.flavor, STR("h200"));
    assert_str_eq(l.resource, STR("nvidia.com/gpu"));
    assert_true(l.topology);
    assert_false(q->limited);
    assert_str_eq(q->reclaim, STR("Never"));
    assert_str_eq(q->within, STR("Never"));
}

static int add_name(void *ctx, const struct load_place *p) {
    struct buf *b = ctx;
    load_queue_name(p, b);
    buf_c(b, " of ");
    load_cohort_name(p, b);
    buf_c(b, "; ");
    return b->n > 100 ? 7 : 0;
}

static void test_names(void **state) {
    struct load_file l = read_ok(LOAD(QUEUES("", SET(CLASS)) "," QUEUES("", SET(CLASS))));
    struct buf b;
    buf_init(&b, 0);
    assert_int_equal(load_each_queue(&l, add_name, &b), 7);
    assert_str_eq(buf_view(&b), STR("cq-0-0-cohort-0 of cohort-0; cq-0-1-cohort-0 of cohort-0; "
                                    "cq-1-0-cohort-0 of cohort-0; cq-1-1-cohort-0 of cohort-0; "));
    buf_release(&b);
}

static void test_arrivals(void **state) {
    struct load_file l = read_ok(LOAD(QUEUES(
        "", SET(CLASS) ",{count: 2, creationIntervalMs: 7, workloads: [" CLASS "," CLASS "]}")));
    struct load_stream s = {.set = &l.cohorts[0].queues[0].sets[1], .set_index = 1};
    struct buf b;
    buf_init(&b, 0);
    while (load_stream_next(&s, &b)) {
        buf_f(&b, " %lld, ", (long long)s.due_ms);
    }
    assert_str_eq(buf_view(&b),
                  STR("small-1-0-0 7, small-1-0-1 14, small-1-1-0 21, small-1-1-1 28, "));
    buf_release(&b);
}

static void test_refused(void **state) {
    refused("cohorts: [", ERR_SYNTAX, "line 2, column 1: did not find expected node content");
    refused("[]", ERR_INVALID, "the file: expected an object");
    refused("{}", ERR_INVALID, "cohorts: is missing");
    refused("cohorts: []", ERR_INVALID, "cohorts: expected a list of 1 to 1000 items");
    refused("cohorts: [1]", ERR_INVALID, "cohorts[0]: expected an object");
    refused(LOAD(QUEUES(", nominalQouta: 1", SET(CLASS))), ERR_INVALID,
            "cohorts[0].queuesSets[0].nominalQouta: is not known here; expected one of className, "
            "count, nominalQuota, borrowingLimit, reclaimWithinCohort, withinClusterQueue, "
            "workloadsSets");
    refused(LOAD(QUEUES(", borrowingLimit: -1", SET(CLASS))), ERR_INVALID,
            "cohorts[0].queuesSets[0].borrowingLimit: expected a quantity that is not negative, "
            "such as 20 or \"500m\"");
    refused(
        LOAD(QUEUES(", reclaimWithinCohort: Some", SET(CLASS))), ERR_INVALID,
        "cohorts[0].queuesSets[0].reclaimWithinCohort: expected one of Never, LowerPriority, Any");
    refused(LOAD(QUEUES("", SET("{className: x, runtimeMs: -1, request: 1}"))), ERR_INVALID,
            "cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].runtimeMs: expected an integer "
            "from 0 to 2000000000");
    refused(LOAD(QUEUES("", SET("{className: Big, runtimeMs: 1, request: 1}"))), ERR_INVALID,
            "cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].className: expected a "
            "lower-case name of letters, digits and '-', at most 40 characters");
    refused(LOAD(QUEUES("", SET("{className: x, request: 1}"))), ERR_INVALID,
            "cohorts[0].queuesSets[0].workloadsSets[0].workloads[0].runtimeMs: is missing");
}

static void test_limits(void **state) {
    refused("cohorts: [{className: a, count: 20000, queuesSets: [" QUEUES("", SET(CLASS)) "]}]",
            ERR_TOO_LARGE, "40000 queues are more than 20000");
    refused(LOAD(QUEUES("", "{count: 1500000, creationIntervalMs: 0, workloads: [" CLASS "]}")),
            ERR_TOO_LARGE, "6000000 workloads are more than 1500000");
    refused(
        LOAD(QUEUES("", "{count: 1000, creationIntervalMs: 2000000000, workloads: [" CLASS "]}")),
        ERR_INVALID, "workloadsSets[0] of cq: its arrivals take more than 1000000000000 ms");
    refused(
        "cohorts: [{className: a, count: 1, queuesSets: [" QUEUES(
            "", SET(CLASS)) "]}, "
                            "{className: a, count: 1, queuesSets: [" QUEUES("", SET(CLASS)) "]}]",
        ERR_INVALID, "cohorts[1].className: a is used already");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_defaults_and_topology),
        cmocka_unit_test(test_names),   cmocka_unit_test(test_arrivals),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
