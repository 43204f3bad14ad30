/*
 * Scenario tests of the controller of HorizontalPodAutoscalers in a fake world: what it writes and when, what becomes
 * of a write that fails, and with which others an autoscaler is compared. The arithmetic has tests of its own
 * (tests/replay).
 */
#include "control/scale/autoscaler.h"

#include "base/test.h"
#include "control/test/fake_world.h"

enum { LOOK_S = 16, COMPARED = 500 /* autoscalers of a namespace, the first by name */ };

struct fixture {
    struct fake_world world;
    void *autoscaler;
};

static void setup(struct fixture *f) {
    struct err err = {0};
    memset(f, 0, sizeof(*f));
    fake_world_init(&f->world);
    f->autoscaler = controller_new(&autoscaler_controller, &f->world.env, &err);
    assert_non_null(f->autoscaler);
}

static void teardown(struct fixture *f) {
    controller_free(f->autoscaler);
    fake_world_release(&f->world);
}

static void looks(struct fixture *f) {
    fake_world_run(&f->world, LOOK_S * NS_PER_SEC);
}

static void target(struct fixture *f, const char *name, const char *app, int replicas) {
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"team\"},\"spec\":{\"replicas\":%d,\"selector\":{\"matchLabels\":{"
             "\"app\":\"%s\"}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"%s\"}},\"spec\":{"
             "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
             name, replicas, app, app);
    fake_world_put(&f->world, json);
}

static void autoscaler(struct fixture *f, const char *name, const char *of) {
    char json[512];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":"
        "{\"name\":\"%s\",\"namespace\":\"team\"},\"spec\":{\"minReplicas\":1,"
        "\"maxReplicas\":3,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":"
        "\"Deployment\",\"name\":\"%s\"},\"metrics\":[{\"type\":\"Resource\",\"resource\":{"
        "\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\",\"averageUtilization\":80}}}]}}",
        name, of);
    fake_world_put(&f->world, json);
}

static void pod(struct fixture *f, const char *name, const char *app) {
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"team\",\"labels\":{\"app\":\"%s\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\"}]}}",
             name, app);
    fake_world_put(&f->world, json);
}

static const char *replicas(struct fixture *f, const char *name) {
    return fake_world_text(fake_world_get(&f->world, "Deployment", "team", name), "spec.replicas");
}

static const char *reason(struct fixture *f, const char *name, const char *type) {
    return fake_world_condition_reason(
        fake_world_get(&f->world, "HorizontalPodAutoscaler", "team", name), type);
}

static void bounds_are_kept_and_told(void **state) {
    struct fixture f;
    setup(&f);
    target(&f, "web", "x", 5);
    autoscaler(&f, "web", "web");
    fake_world_run(&f.world, NS_PER_SEC); /* at once */
    assert_string_equal(replicas(&f, "web"), "3");
    assert_string_equal(reason(&f, "web", "AbleToScale"), "SucceededRescale");
    assert_int_equal(fake_world_events(&f.world, "SuccessfulRescale"), 1);
    fake_world_patch(&f.world, "Deployment", "team", "web", "", "{\"spec\":{\"replicas\":9}}");
    looks(&f); /* nobody told it: at the next look */
    assert_string_equal(replicas(&f, "web"), "3");
    fake_world_patch(&f.world, "Deployment", "team", "web", "", "{\"spec\":{\"replicas\":0}}");
    looks(&f);
    assert_string_equal(replicas(&f, "web"), "0");
    assert_string_equal(reason(&f, "web", "ScalingActive"), "ScalingDisabled");
    teardown(&f);
}

static void a_refused_write_is_told(void **state) {
    struct fixture f;
    setup(&f);
    target(&f, "web", "x", 5);
    autoscaler(&f, "web", "web");
    f.world.fail_at = 1;
    f.world.fault = FAULT_REFUSED;
    fake_world_run(&f.world, NS_PER_SEC);
    assert_string_equal(replicas(&f, "web"), "5");
    assert_string_equal(reason(&f, "web", "AbleToScale"), "FailedUpdateScale");
    looks(&f);
    assert_string_equal(replicas(&f, "web"), "3");
    assert_string_equal(reason(&f, "web", "AbleToScale"), "SucceededRescale");
    teardown(&f);
}

static void a_conflict_is_decided_again(void **state) {
    struct fixture f;
    setup(&f);
    target(&f, "web", "x", 5);
    autoscaler(&f, "web", "web");
    f.world.fail_at = 1;
    f.world.fault = FAULT_CONFLICT;
    fake_world_run(&f.world, 5 * NS_PER_SEC);
    assert_string_equal(replicas(&f, "web"), "3");
    assert_string_equal(reason(&f, "web", "AbleToScale"), "SucceededRescale");
    assert_int_equal(fake_world_events(&f.world, "FailedRescale"), 0);
    teardown(&f);
}

/* A target of the namespace only, whatever others are called. */
static void no_target(void **state) {
    struct fixture f;
    setup(&f);
    fake_world_put(&f.world,
                   "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                   "\"web\",\"namespace\":\"others\"},\"spec\":{\"replicas\":5,\"selector\":{"
                   "\"matchLabels\":{\"app\":\"x\"}},\"template\":{\"metadata\":{\"labels\":{"
                   "\"app\":\"x\"}},\"spec\":{\"containers\":[]}}}}");
    autoscaler(&f, "web", "web");
    looks(&f);
    assert_string_equal(reason(&f, "web", "AbleToScale"), "FailedGetScale");
    assert_string_equal(
        fake_world_text(fake_world_get(&f.world, "Deployment", "others", "web"), "spec.replicas"),
        "5");
    teardown(&f);
}

/* Two of the same pods scale neither. */
static void rivals_stop_each_other(void **state) {
    struct fixture f;
    setup(&f);
    target(&f, "one", "x", 2);
    target(&f, "two", "x", 2);
    pod(&f, "p", "x");
    autoscaler(&f, "one", "one");
    autoscaler(&f, "two", "two");
    looks(&f);
    looks(&f);
    assert_string_equal(reason(&f, "one", "ScalingActive"), "AmbiguousSelector");
    assert_string_equal(reason(&f, "two", "ScalingActive"), "AmbiguousSelector");
    fake_world_delete(&f.world, "HorizontalPodAutoscaler", "team", "two", "Background");
    looks(&f);
    assert_string_equal(reason(&f, "one", "ScalingActive"), "FailedGetResourceMetric");
    teardown(&f);
}

/* Of many, the first by name are compared: one beyond them is no rival, and one among them is. */
static void so_many_are_compared(void **state) {
    struct fixture f;
    char name[32];
    setup(&f);
    target(&f, "first", "x", 2);
    target(&f, "beyond", "y", 2);
    target(&f, "last", "y", 2);
    pod(&f, "p", "y");
    for (int i = 0; i < COMPARED; i++) {
        snprintf(name, sizeof(name), "a%03d", i);
        autoscaler(&f, name, "first");
    }
    autoscaler(&f, "beyond", "beyond");
    autoscaler(&f, "last", "last");
    looks(&f);
    looks(&f);
    assert_string_equal(reason(&f, "last", "ScalingActive"), "FailedGetResourceMetric");
    fake_world_delete(&f.world, "HorizontalPodAutoscaler", "team", "a000", "Background");
    looks(&f);
    assert_string_equal(reason(&f, "last", "ScalingActive"), "AmbiguousSelector");
    teardown(&f);
}

/* Of many pods and many others, so many pairs are compared: here 300 times more than 333 are too many. */
static void so_many_pairs_are_compared(void **state) {
    enum { PODS = 300, OTHERS = 400 };
    struct fixture f;
    char name[32];
    setup(&f);
    target(&f, "first", "x", 2);
    target(&f, "beyond", "y", 2);
    target(&f, "last", "y", 2);
    for (int i = 0; i < PODS; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        pod(&f, name, "y");
    }
    for (int i = 0; i < OTHERS; i++) {
        snprintf(name, sizeof(name), "a%03d", i);
        autoscaler(&f, name, "first");
    }
    autoscaler(&f, "beyond", "beyond");
    autoscaler(&f, "last", "last");
    looks(&f);
    looks(&f);
    assert_string_equal(reason(&f, "last", "ScalingActive"), "FailedGetResourceMetric");
    for (int i = 0; i < OTHERS / 4; i++) {
        snprintf(name, sizeof(name), "a%03d", i);
        fake_world_delete(&f.world, "HorizontalPodAutoscaler", "team", name, "Background");
    }
    looks(&f);
    assert_string_equal(reason(&f, "last", "ScalingActive"), "AmbiguousSelector");
    teardown(&f);
}

/* Too much to read is told, and is tried again at the next look alone. */
static void too_much_is_told(void **state) {
    enum { PODS = 80, NOTE = 1000000 };
    struct fixture f;
    struct buf b;
    setup(&f);
    target(&f, "web", "x", 5);
    for (int i = 0; i < PODS; i++) {
        buf_init(&b, 0);
        buf_f(&b,
              "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p%d\","
              "\"namespace\":\"team\",\"labels\":{\"app\":\"x\"},\"annotations\":{\"n\":\"",
              i);
        for (int j = 0; j < NOTE; j++) {
            buf_ch(&b, 'x');
        }
        buf_c(&b, "\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
        fake_world_put(&f.world, buf_cstr(&b));
        buf_release(&b);
    }
    autoscaler(&f, "web", "web");
    looks(&f);
    int64_t told = fake_world_events(&f.world, "FailedGetPods");
    assert_true(told >= 1 && told <= 2);
    looks(&f);
    assert_true(fake_world_events(&f.world, "FailedGetPods") <= told + 2);
    assert_string_equal(replicas(&f, "web"), "5");
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_kept_and_told),    cmocka_unit_test(a_refused_write_is_told),
        cmocka_unit_test(a_conflict_is_decided_again), cmocka_unit_test(no_target),
        cmocka_unit_test(rivals_stop_each_other),      cmocka_unit_test(so_many_are_compared),
        cmocka_unit_test(so_many_pairs_are_compared),  cmocka_unit_test(too_much_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
