/*
 * Every controller at once in the fake world: Jobs go through their queue by themselves, quota makes one wait, and
 * everything is gone when its namespace goes.
 */
#include "base/test.h"
#include "control/control.h"
#include "control/test/fake_world.h"

static struct fake_world w;
static struct control *c;

static int setup(void **state) {
    struct err err = {0};
    fake_world_init(&w);
    w.env.root_ca = STR("PEM");
    c = control_new(&w.env, CONTROL_ALL & ~(unsigned)CONTROL_DEFAULTS, &err);
    assert_non_null(c);
    fake_world_run(&w, NS_PER_SEC);
    return 0;
}

static int teardown(void **state) {
    control_free(c);
    fake_world_release(&w);
    return 0;
}

static void queues(const char *cpu) {
    char json[1024];
    fake_world_put(&w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                       "\"metadata\":{\"name\":\"cpu\"},\"spec\":{}}");
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"kueue.x-k8s.io/"
             "v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":"
             "\"cq\"},\"spec\":{\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":"
             "[\"cpu\"],\"flavors\":[{\"name\":\"cpu\",\"resources\":[{\"name\":\"cpu\","
             "\"nominalQuota\":\"%s\"}]}]}]}}",
             cpu);
    fake_world_put(&w, json);
    fake_world_put(&w,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"team\"},"
                   "\"spec\":{\"finalizers\":[\"kubernetes\"]}}");
    fake_world_put(
        &w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":"
            "{\"name\":\"q\",\"namespace\":\"team\"},\"spec\":{\"clusterQueue\":\"cq\"}}");
}

static void submit(const char *name) {
    char json[2048];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"team\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}},\"spec\":{\"suspend\":true,"
        "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
        "\"image\":\"i\",\"command\":[\"true\"],\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}",
        name);
    fake_world_put(&w, json);
}

static int code = -1;

static int outcome(void *ctx, const struct object *pod) {
    return code;
}

static const char *condition(const char *job, const char *type) {
    return fake_world_condition(fake_world_get(&w, "Job", "team", job), type);
}

static void jobs_go_through_their_queue(void **state) {
    w.outcome = outcome;
    code = -1;
    queues("1");
    fake_world_run(&w, NS_PER_SEC);
    submit("first");
    fake_world_live(&w, 2);
    submit("second");
    fake_world_live(&w, 5);
    assert_string_equal(fake_world_text(fake_world_get(&w, "Job", "team", "first"), "spec.suspend"),
                        "false");
    assert_string_equal(
        fake_world_text(fake_world_get(&w, "Job", "team", "second"), "spec.suspend"), "true");
    assert_int_equal(fake_world_count(&w, "Pod"), 1);
    code = 0;
    fake_world_live(&w, 10);
    assert_string_equal(condition("first", "Complete"), "True");
    assert_string_equal(condition("second", "Complete"), "True");
}

static char workload_name[300];

static bool keep_name(void *ctx, const struct object *o) {
    return !str_copy(o->name, workload_name, sizeof workload_name);
}

static const char *workload(const char *condition_type) {
    const struct object *o = fake_world_get(&w, "Workload", "team", workload_name);
    return fake_world_condition(o, condition_type);
}

static void a_switched_off_workload_stops_and_comes_back(void **state) {
    w.outcome = outcome;
    code = -1;
    queues("1");
    fake_world_run(&w, NS_PER_SEC);
    submit("first");
    fake_world_live(&w, 4);
    assert_int_equal(fake_world_count(&w, "Pod"), 1);
    mirror_scan(w.mirror, fake_world_kind("Workload"), STR(""), keep_name, NULL);
    fake_world_patch(&w, "Workload", "team", workload_name, "", "{\"spec\":{\"active\":false}}");
    fake_world_live(&w, 8);
    assert_int_equal(fake_world_count(&w, "Pod"), 0);
    assert_string_equal(workload("QuotaReserved"), "False");
    assert_string_equal(workload("Evicted"), "True");
    assert_string_equal(workload("Requeued"), "False");
    fake_world_patch(&w, "Workload", "team", workload_name, "", "{\"spec\":{\"active\":true}}");
    fake_world_live(&w, 8);
    assert_string_equal(workload("Admitted"), "True");
    assert_string_equal(workload("Evicted"), "False");
    assert_int_equal(fake_world_count(&w, "Pod"), 1);
}

static void a_namespace_goes_with_all_it_holds(void **state) {
    w.outcome = outcome;
    code = -1;
    queues("4");
    fake_world_run(&w, NS_PER_SEC);
    submit("first");
    submit("second");
    fake_world_live(&w, 4);
    assert_int_equal(fake_world_count(&w, "Pod"), 2);
    fake_world_delete(&w, "Namespace", "", "team", "Background");
    fake_world_live(&w, 60);
    assert_int_equal(fake_world_count(&w, "Pod"), 0);
    assert_int_equal(fake_world_count(&w, "Workload"), 0);
    assert_null(fake_world_get(&w, "Namespace", "", "team"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(jobs_go_through_their_queue, setup, teardown),
        cmocka_unit_test_setup_teardown(a_switched_off_workload_stops_and_comes_back, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_namespace_goes_with_all_it_holds, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
