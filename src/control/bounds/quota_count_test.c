/*
 * Tests of the ResourceQuota controller: what pods, services and other objects count, scopes, what is given back.
 */
#include "control/bounds/quota_count.h"

#include "base/test.h"
#include "control/test/fake_world.h"

static struct fake_world w;
static struct controller *c;

static int setup(void **state) {
    struct err err = {0};
    fake_world_init(&w);
    c = controller_new(&quota_controller, &w.env, &err);
    assert_non_null(c);
    return 0;
}

static int teardown(void **state) {
    controller_free(c);
    fake_world_release(&w);
    return 0;
}

static void put_quota(const char *spec) {
    char json[1024];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":\"q\","
             "\"namespace\":\"default\"},\"spec\":{%s}}",
             spec);
    fake_world_put(&w, json);
}

static void put_pod(const char *name, const char *spec, const char *resources) {
    char json[2048];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\"},\"spec\":{%s\"containers\":[{\"name\":\"c\",\"image\":\"i\","
             "\"resources\":{%s}}]}}",
             name, spec, resources);
    fake_world_put(&w, json);
}

static const struct object *quota(void) {
    return fake_world_get(&w, "ResourceQuota", "default", "q");
}

#define USED(want)                                                                                 \
    do {                                                                                           \
        fake_world_run(&w, 6 * NS_PER_SEC);                                                        \
        assert_string_equal(fake_world_text(quota(), "status.used"), want);                        \
    } while (0)

static void pods_count_what_they_ask_for(void **state) {
    put_quota("\"hard\":{\"pods\":\"5\",\"requests.cpu\":\"4\",\"limits.memory\":\"1Gi\","
              "\"requests.nvidia.com/gpu\":\"2\",\"count/pods\":\"9\"}");
    USED("{\"pods\":\"0\",\"requests.cpu\":\"0\",\"limits.memory\":\"0\","
         "\"requests.nvidia.com/gpu\":\"0\",\"count/pods\":\"0\"}");
    assert_string_equal(fake_world_text(quota(), "status.hard"),
                        "{\"pods\":\"5\",\"requests.cpu\":\"4\",\"limits.memory\":\"1Gi\","
                        "\"requests.nvidia.com/gpu\":\"2\",\"count/pods\":\"9\"}");
    put_pod("a", "",
            "\"requests\":{\"cpu\":\"500m\",\"nvidia.com/gpu\":\"1\"},\"limits\":{"
            "\"memory\":\"128Mi\",\"nvidia.com/gpu\":\"1\"}");
    /* One that starts it asks for more, beside a sidecar. */
    put_pod("b",
            "\"overhead\":{\"cpu\":\"100m\"},\"initContainers\":[{\"name\":\"s\",\"image\":\"i\","
            "\"restartPolicy\":\"Always\",\"resources\":{\"requests\":{\"cpu\":\"200m\"}}},{"
            "\"name\":\"i\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}],",
            "\"requests\":{\"cpu\":\"500m\"}");
    USED("{\"pods\":\"2\",\"requests.cpu\":\"1800m\",\"limits.memory\":\"128Mi\","
         "\"requests.nvidia.com/gpu\":\"1\",\"count/pods\":\"2\"}");
    fake_world_patch(&w, "Pod", "default", "a", "status", "{\"status\":{\"phase\":\"Succeeded\"}}");
    USED("{\"pods\":\"1\",\"requests.cpu\":\"1300m\",\"limits.memory\":\"0\","
         "\"requests.nvidia.com/gpu\":\"0\",\"count/pods\":\"2\"}");
    fake_world_delete(&w, "Pod", "default", "a", "Background");
    fake_world_delete(&w, "Pod", "default", "b", "Background");
    USED("{\"pods\":\"0\",\"requests.cpu\":\"0\",\"limits.memory\":\"0\","
         "\"requests.nvidia.com/gpu\":\"0\",\"count/pods\":\"0\"}");
    uint64_t writes = w.writes;
    fake_world_run(&w, 3600 * NS_PER_SEC);
    assert_int_equal(w.writes, writes);
}

static void other_objects_count(void **state) {
    put_quota(
        "\"hard\":{\"configmaps\":\"9\",\"count/jobs.batch\":\"9\",\"services.nodeports\":\"9\","
        "\"services\":\"9\",\"count/widgets.example.com\":\"1\"}");
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\","
                       "\"namespace\":\"default\"}}");
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\","
                       "\"namespace\":\"elsewhere\"}}");
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"s\","
                       "\"namespace\":\"default\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[{"
                       "\"name\":\"a\",\"port\":1},{\"name\":\"b\",\"port\":2}]}}");
    fake_world_put(&w,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
                   "\"namespace\":\"default\"},\"spec\":{\"template\":{\"spec\":{"
                   "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"
                   "}}");
    USED("{\"configmaps\":\"1\",\"count/jobs.batch\":\"1\",\"services.nodeports\":\"2\","
         "\"services\":\"1\",\"count/widgets.example.com\":\"0\"}");
}

static void scopes_choose_pods(void **state) {
    put_quota(
        "\"hard\":{\"pods\":\"5\",\"configmaps\":\"5\"},\"scopeSelector\":{"
        "\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":\"In\","
        "\"values\":[\"high\"]},{\"scopeName\":\"NotTerminating\",\"operator\":\"Exists\"}]}");
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\","
                       "\"namespace\":\"default\"}}");
    put_pod("low", "", "");
    put_pod("ends", "\"priorityClassName\":\"high\",\"activeDeadlineSeconds\":5,", "");
    put_pod("high", "\"priorityClassName\":\"high\",", "");
    USED("{\"pods\":\"1\",\"configmaps\":\"0\"}");
}

/* A new limit is in force when the status has it; what went wrong is found by counting again. */
static void the_status_follows(void **state) {
    put_quota("\"hard\":{\"pods\":\"5\"}");
    put_pod("p", "", "");
    USED("{\"pods\":\"1\"}");
    fake_world_patch(&w, "ResourceQuota", "default", "q", "status",
                     "{\"status\":{\"used\":{\"pods\":\"4\"}}}");
    USED("{\"pods\":\"1\"}");
    fake_world_patch(&w, "ResourceQuota", "default", "q", "",
                     "{\"spec\":{\"hard\":{\"pods\":null,\"secrets\":\"3\"}}}");
    USED("{\"secrets\":\"0\"}");
    assert_string_equal(fake_world_text(quota(), "status.hard"), "{\"secrets\":\"3\"}");
}

int main(void) {
    round_be_strict();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pods_count_what_they_ask_for, setup, teardown),
        cmocka_unit_test_setup_teardown(other_objects_count, setup, teardown),
        cmocka_unit_test_setup_teardown(scopes_choose_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(the_status_follows, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
