/* Tests of trace: both forms, their order, and what is refused, word for word. */
#include "sim/trace.h"

#include "base/clock.h"
#include "wire/json/json_fixture.h"

static struct trace read_ok(enum trace_form form, const char *text) {
    struct trace t;
    struct err err = {0};
    assert_ok(trace_read(&arena, form, str_of(text), &t, &err), &err);
    return t;
}

static void refused(enum trace_form form, const char *text, const char *want) {
    struct trace t = {.n = 77};
    struct err err = {0};
    assert_int_equal(trace_read(&arena, form, str_of(text), &t, &err), ERR_INVALID);
    assert_string_equal(err.text, want);
    assert_int_equal(t.n, 77);
}

#define HEAD "submit_s,duration_s,gpus,queue\n"

static void test_plain(void **state) {
    struct trace t = read_ok(TRACE_PLAIN, "queue, priority,gpus,class,duration_s,submit_s\r\n"
                                          "team/q,-5,8,big,3600,10.5\r\n\n"
                                          "q,0,0,,0,2\n"
                                          "r,7,1,x,0.25,10.5");
    assert_int_equal(t.n, 3);
    assert_int_equal(t.left_out, 0);
    assert_str_eq(t.v[0].queue, STR("q"));
    assert_str_eq(t.v[0].ns, STR("default"));
    assert_int_equal(t.v[0].submit_ns, 2 * NS_PER_SEC);
    assert_int_equal(t.v[0].line, 4);
    assert_str_eq(t.v[1].queue, STR("q")); /* of one moment: as in the file */
    assert_str_eq(t.v[1].ns, STR("team"));
    assert_str_eq(t.v[1].class, STR("big"));
    assert_int_equal(t.v[1].priority, -5);
    assert_int_equal(t.v[1].gpus, 8);
    assert_int_equal(t.v[1].submit_ns, 10500 * NS_PER_MS);
    assert_int_equal(t.v[1].duration_ns, 3600 * NS_PER_SEC);
    assert_int_equal(t.v[2].duration_ns, 250 * NS_PER_MS);
}

static void test_philly(void **state) {
    struct trace t = read_ok(TRACE_PHILLY, "timestamp,duration,num_gpus,gpu_time,cluster\n"
                                           "2017-10-09 07:01:55,66.0,1,66.0,11cb48\n"
                                           "2017-10-09 07:00:55,0.0,1,0.0,11cb48\n"
                                           "2017-10-08 07:01:50,10,4,40,6214e9\n\n");
    assert_int_equal(t.n, 2);
    assert_int_equal(t.left_out, 1);
    assert_str_eq(t.v[0].queue, STR("6214e9"));
    assert_int_equal(t.v[0].submit_ns, 0);
    assert_int_equal(t.v[0].gpus, 4);
    assert_int_equal(t.v[1].submit_ns, (86400 + 5) * NS_PER_SEC);
    assert_int_equal(t.v[1].duration_ns, 66 * NS_PER_SEC);
}

static void test_refused(void **state) {
    refused(TRACE_PLAIN, "", "the trace is empty");
    refused(TRACE_PLAIN, "submit_s,duration_s,gpus\n", "line 1: column \"queue\" is missing");
    refused(TRACE_PLAIN, "submit_s,user\n", "line 1: column \"user\" is not known");
    refused(TRACE_PLAIN, "gpus,gpus\n", "line 1: column \"gpus\" is there twice");
    refused(TRACE_PLAIN, HEAD "0,1,1,q\n0,1,1\n", "line 3: expected 4 columns");
    refused(TRACE_PLAIN, HEAD "0,1,1,q,9\n", "line 2: expected 4 columns");
    refused(TRACE_PLAIN, HEAD "-1,1,1,q\n", "line 2: submit_s: expected seconds, not negative");
    refused(TRACE_PLAIN, HEAD "1,1k,1,q\n", "line 2: duration_s: expected seconds, not negative");
    refused(TRACE_PLAIN, HEAD "1,1e99,1,q\n", "line 2: duration_s: expected seconds, not negative");
    refused(TRACE_PLAIN, HEAD "0,1,1.5,q\n", "line 2: gpus: expected a number of GPUs");
    refused(TRACE_PLAIN, HEAD "0,1,1,\n", "line 2: queue: expected a name, or namespace/name");
    refused(TRACE_PLAIN, HEAD "0,1,1,a\"b\n",
            "line 2: queue: expected lower-case letters, digits and '-'");
    refused(TRACE_PLAIN, "submit_s,duration_s,gpus,queue,priority\n0,1,1,q,3000000000\n",
            "line 2: priority: expected a 32-bit integer");
    refused(TRACE_PHILLY, "timestamp,duration,num_gpus,gpu_time,cluster\n2017-10-09,1,1,1,a\n",
            "line 2: timestamp: expected a time like 2017-10-09 07:01:55");
    refused(TRACE_PHILLY,
            "timestamp,duration,num_gpus,gpu_time,cluster\n1700-01-01 00:00:00,1,1,1,a\n"
            "2200-01-01 00:00:00,1,1,1,a\n",
            "line 3: timestamp: expected at most 31 years after the first");
    refused(TRACE_PHILLY, HEAD, "line 1: column \"submit_s\" is not known");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_philly),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
