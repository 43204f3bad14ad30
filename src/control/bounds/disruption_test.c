/*
 * Tests of the PodDisruptionBudget controller: numbers and percentages of what there is and of what is wanted, pods
 * that were evicted, budgets whose pods have no scale.
 */
#include "control/bounds/disruption.h"

#include "base/test.h"
#include "control/test/fake_world.h"

static struct fake_world w;
static struct controller *c;

static int setup(void **state) {
    struct err err = {0};
    fake_world_init(&w);
    c = controller_new(&disruption_controller, &w.env, &err);
    assert_non_null(c);
    return 0;
}

static int teardown(void **state) {
    controller_free(c);
    fake_world_release(&w);
    return 0;
}

static void put_budget(const char *spec) {
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"policy/v1\",\"kind\":\"PodDisruptionBudget\",\"metadata\":{\"name\":"
        "\"b\",\"namespace\":\"default\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":"
        "\"a\"}},%s}}",
        spec);
    fake_world_put(&w, json);
}

static void put_pod(const char *name, const char *app, const char *owner, bool ready) {
    char json[1024];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\",\"labels\":{\"app\":\"%s\"}%s},\"spec\":{\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\"}]}}",
             name, app, owner);
    fake_world_put(&w, json);
    snprintf(
        json, sizeof json,
        "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}"
        "]}}",
        ready ? "True" : "False");
    fake_world_patch(&w, "Pod", "default", name, "status", json);
}

static const struct object *budget(void) {
    return fake_world_get(&w, "PodDisruptionBudget", "default", "b");
}

/* expected, desired, current, allowed */
static void assert_numbers(const char *want) {
    static const char *const names[] = {"status.expectedPods", "status.desiredHealthy",
                                        "status.currentHealthy", "status.disruptionsAllowed"};
    struct buf b;
    buf_init(&b, 0);
    fake_world_run(&w, NS_PER_SEC);
    for (size_t i = 0; i < 4; i++) {
        buf_f(&b, "%s%s", i ? " " : "", fake_world_text(budget(), names[i]));
    }
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
}

static void a_number_that_stays_available(void **state) {
    put_budget("\"minAvailable\":2");
    assert_numbers("0 2 0 0");
    assert_string_equal(fake_world_condition_reason(budget(), "DisruptionAllowed"),
                        "InsufficientPods");
    assert_int_equal(fake_world_events(&w, "NoPods"), 1);
    put_pod("p1", "a", "", true);
    put_pod("p2", "a", "", true);
    put_pod("p3", "a", "", false);
    put_pod("q", "b", "", true);
    assert_numbers("3 2 2 0");
    fake_world_patch(&w, "Pod", "default", "p3", "status",
                     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    assert_numbers("3 2 3 1");
    assert_string_equal(fake_world_condition(budget(), "DisruptionAllowed"), "True");
    assert_string_equal(fake_world_condition_reason(budget(), "DisruptionAllowed"),
                        "SufficientPods");
    assert_string_equal(fake_world_text(budget(), "status.observedGeneration"), "1");
    fake_world_patch(&w, "PodDisruptionBudget", "default", "b", "",
                     "{\"spec\":{\"minAvailable\":1}}");
    assert_numbers("3 1 3 2");
    uint64_t writes = w.writes;
    fake_world_run(&w, 600 * NS_PER_SEC);
    assert_int_equal(w.writes, writes);
}

/* Between the permission and the deletion the pod counts as gone; after two minutes it does not. */
static void evicted_pods_count_as_gone(void **state) {
    put_budget("\"minAvailable\":1");
    put_pod("p1", "a", "", true);
    put_pod("p2", "a", "", true);
    assert_numbers("2 1 2 1");
    fake_world_patch(&w, "PodDisruptionBudget", "default", "b", "status",
                     "{\"status\":{\"disruptionsAllowed\":0,\"disruptedPods\":{\"p1\":"
                     "\"2026-01-01T00:00:01Z\",\"gone\":\"2026-01-01T00:00:01Z\"}}}");
    assert_numbers("2 1 1 0");
    assert_string_equal(fake_world_text(budget(), "status.disruptedPods"),
                        "{\"p1\":\"2026-01-01T00:00:01Z\"}");
    fake_world_run(&w, 121 * NS_PER_SEC);
    assert_numbers("2 1 2 1");
    assert_int_equal(fake_world_events(&w, "NotDeleted"), 1);
    assert_string_equal(fake_world_text(budget(), "status.disruptedPods"), "");
}

/* A percentage is of what the controllers want, and rounded up. */
static void what_controllers_want(void **state) {
    char owner[512];
    put_budget("\"maxUnavailable\":\"50%\"");
    fake_world_put(&w,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
                   "\"namespace\":\"default\"},\"spec\":{\"template\":{\"spec\":{"
                   "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
                   "}}");
    put_pod("bare", "a", "", true);
    assert_numbers("0 0 1 0"); /* nobody wants it */
    snprintf(owner, sizeof owner,
             ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
             "\"uid\":\"%.*s\",\"controller\":true}]",
             STR_ARG(fake_world_get(&w, "Job", "default", "j")->uid));
    put_pod("p1", "a", owner, true);
    assert_numbers("0 0 1 0");
    assert_string_equal(fake_world_condition_reason(budget(), "DisruptionAllowed"), "SyncFailed");
    assert_string_equal(fake_world_condition_message(budget(), "DisruptionAllowed"),
                        "jobs.batch does not implement the scale subresource");
    assert_int_equal(fake_world_events(&w, "CalculateExpectedPodCountFailed"), 1);
    /* A number of pods is known whoever owns them. */
    fake_world_patch(&w, "PodDisruptionBudget", "default", "b", "",
                     "{\"spec\":{\"maxUnavailable\":null,\"minAvailable\":1}}");
    assert_numbers("2 1 2 1");
}

static void a_percentage_of_replicas(void **state) {
    char owner[512], name[8];
    put_budget("\"maxUnavailable\":\"30%\"");
    fake_world_put(
        &w, "{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"metadata\":{\"name\":"
            "\"r\",\"namespace\":\"default\"},\"spec\":{\"replicas\":4,\"selector\":{"
            "\"matchLabels\":{\"app\":\"a\"}},\"template\":{\"metadata\":{\"labels\":{"
            "\"app\":\"a\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    snprintf(owner, sizeof owner,
             ",\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
             "\"r\",\"uid\":\"%.*s\",\"controller\":true}]",
             STR_ARG(fake_world_get(&w, "ReplicaSet", "default", "r")->uid));
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "p%d", i);
        put_pod(name, "a", owner, true);
    }
    assert_numbers("4 2 3 1"); /* 30% of 4 is 2 */
}

static void nothing_is_asked_for(void **state) {
    put_pod("p1", "a", "", true);
    put_budget("\"unhealthyPodEvictionPolicy\":\"AlwaysAllow\"");
    assert_numbers("0 0 1 0");
}

int main(void) {
    round_be_strict();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_number_that_stays_available, setup, teardown),
        cmocka_unit_test_setup_teardown(evicted_pods_count_as_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(what_controllers_want, setup, teardown),
        cmocka_unit_test_setup_teardown(a_percentage_of_replicas, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_asked_for, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
