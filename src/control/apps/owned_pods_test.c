/* Tests of owned_pods: what is read of a pod, when it is available, and which one goes first. */
#include "control/apps/owned_pods.h"

#include "base/clock.h"
#include "base/test.h"
#include "wire/text/time.h"

enum { N = 16 };

static struct object objects[N];
static struct owned_pod pods[N];
static size_t n;

#define AGO(s_) (1000 * NS_PER_SEC - (s_)*NS_PER_SEC)

static struct owned_pod *add(const char *name) {
    objects[n] = (struct object){.name = str_of(name), .uid = str_of(name), .created_ns = AGO(500)};
    pods[n] = (struct owned_pod){.obj = &objects[n],
                                 .phase = OWNED_RUNNING,
                                 .ready = true,
                                 .ready_ns = AGO(400),
                                 .node = STR("n1")};
    return &pods[n++];
}

static void first_goes(const char *name) {
    struct owned_pods list = {pods, n};
    assert_int_equal(owned_pods_rank(&list, AGO(0)), 0);
    assert_str_eq(pods[0].obj->name, str_of(name));
    n = 0;
}

static void ranks(void **state) {
    add("a");
    add("b")->node = STR("");
    add("c")->phase = OWNED_PENDING;
    first_goes("b");
    add("a")->ready = false;
    add("c")->phase = OWNED_PENDING;
    add("d")->phase = OWNED_UNKNOWN;
    first_goes("c");
    add("a")->cost = -5;
    add("b")->ready = false;
    first_goes("b");
    add("a")->ready_ns = AGO(1);
    add("b")->cost = -5;
    first_goes("b");
    add("a")->ready_ns = AGO(1);
    add("b")->node = STR("n2");
    add("c")->node = STR("n2");
    add("d")->node = STR("n2");
    first_goes("b"); /* three on n2, one on n1 */
    add("a")->restarts = 9;
    add("b")->ready_ns = AGO(3);
    first_goes("b");
    add("b")->ready_ns = AGO(390); /* as long ago as the other, by powers of two: by uid */
    add("a")->ready_ns = AGO(400);
    first_goes("a");
    add("a");
    add("b")->restarts = 1;
    first_goes("b");
    add("a");
    objects[n].created_ns = 0;
    add("b")->obj = &objects[N - 1];
    objects[N - 1] = (struct object){.name = STR("b"), .uid = STR("b"), .created_ns = AGO(2)};
    first_goes("b");
}

static void availability(void **state) {
    int64_t left = 0;
    struct owned_pod *p = add("a");
    n = 0;
    assert_true(owned_pod_available(p, 0, AGO(0), &left));
    assert_true(owned_pod_available(p, 400, AGO(0), &left));
    assert_int_equal(left, 0);
    assert_false(owned_pod_available(p, 410, AGO(0), &left));
    assert_int_equal(left, 10 * NS_PER_SEC);
    assert_false(owned_pod_available(p, 405, AGO(0), &left));
    assert_int_equal(left, 5 * NS_PER_SEC);
    p->ready = false;
    assert_false(owned_pod_available(p, 0, AGO(0), &left));
}

static void reading(void **state) {
    static const char json[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"uid\":\"u\","
        "\"namespace\":\"x\",\"annotations\":{\"controller.kubernetes.io/pod-deletion-cost\":"
        "\"-7\"}},\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\",\"conditions\":"
        "[{\"type\":\"Ready\",\"status\":\"True\",\"lastTransitionTime\":"
        "\"2026-01-01T00:00:05Z\"}],\"containerStatuses\":[{\"restartCount\":2},{"
        "\"restartCount\":1}]}}";
    struct arena a, scratch;
    struct object *o;
    struct err err = {0};
    struct owned_pod p;
    int64_t t;
    arena_init(&a, 1 << 20);
    arena_init(&scratch, 1 << 20);
    const struct kind *k = kind_by_name(STR(""), STR("Pod"));
    assert_ok(object_new(k, str_of(json), &o, &err), &err);
    assert_int_equal(owned_pod_read(o, &scratch, &a, &p), 0);
    assert_int_equal(time_parse(STR("2026-01-01T00:00:05Z"), &t, NULL), 0);
    assert_true(p.ready && p.phase == OWNED_RUNNING && p.ready_ns == t && owned_pod_active(&p));
    assert_int_equal(p.restarts, 2);
    assert_int_equal(p.cost, -7);
    assert_str_eq(p.node, STR("n1"));
    object_unref(o);
    arena_release(&scratch);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks), cmocka_unit_test(availability),
                                       cmocka_unit_test(reading)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
