/*
 * Tests of the DaemonSet controller: which nodes get a pod, what it looks like, nodes that change, updates of both
 * strategies, pods that end.
 */
#include "control/apps/daemon_set.h"

#include <stdlib.h>

#include "base/test.h"
#include "control/test/fake_world.h"

static struct fake_world w;
static struct controller *c;

static int never_ends(void *ctx, const struct object *pod) {
    (void)ctx;
    (void)pod;
    return -1;
}

static int setup(void **state) {
    struct err err = {0};
    fake_world_init(&w);
    w.outcome = never_ends;
    c = controller_new(&daemon_set_controller, &w.env, &err);
    assert_non_null(c);
    return 0;
}

static int teardown(void **state) {
    controller_free(c);
    fake_world_release(&w);
    return 0;
}

static void put_node(const char *name, const char *labels, const char *spec) {
    char json[512];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{%s}},"
        "\"spec\":{%s}}",
        name, labels, spec);
    fake_world_put(&w, json);
}

static void put_set(const char *spec, const char *pod) {
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"DaemonSet\",\"metadata\":{\"name\":\"d\","
        "\"namespace\":\"default\"},\"spec\":{%s\"selector\":{\"matchLabels\":{\"app\":\"d\"}},"
        "\"template\":{\"metadata\":{\"labels\":{\"app\":\"d\"}},\"spec\":{%s\"containers\":[{"
        "\"name\":\"c\",\"image\":\"one\"}]}}}}",
        spec, pod);
    fake_world_put(&w, json);
}

static const struct object *set(void) {
    return fake_world_get(&w, "DaemonSet", "default", "d");
}

struct list {
    struct buf b;
    bool images;
};

static bool add_pod(void *ctx, const struct object *o) {
    struct list *l = ctx;
    const char *text = fake_world_text(o, "spec.affinity");
    const char *values = strstr(text, "\"values\":[\"");
    buf_f(&l->b, "%s%.2s", l->b.n ? " " : "", values ? values + 11 : "??");
    if (l->images) {
        buf_f(&l->b, "%s", str_contains(o->json, STR("\"image\":\"two\"")) ? "=two" : "=one");
    }
    return true;
}

/* The nodes that pods are meant for, in the order of the pods' names, which is that of their making. */
static void assert_pods(const char *want, bool images) {
    struct list l = {.images = images};
    buf_init(&l.b, 0);
    mirror_scan(w.mirror, fake_world_kind("Pod"), STR(""), add_pod, &l);
    assert_str_eq(buf_view(&l.b), str_of(want));
    buf_release(&l.b);
}

static bool keep_name(void *ctx, const struct object *o) {
    char(*names)[64] = ctx;
    for (size_t i = 0; i < 8; i++) {
        if (!names[i][0]) {
            snprintf(names[i], sizeof names[i], "%.*s", STR_ARG(o->name));
            break;
        }
    }
    return true;
}

struct binding {
    char pod[64], node[8];
};

static bool keep_unbound(void *ctx, const struct object *o) {
    struct binding *v = ctx;
    const char *values = strstr(fake_world_text(o, "spec.affinity"), "\"values\":[\"");
    for (size_t i = 0; i < 8 && values && !*fake_world_text(o, "spec.nodeName"); i++) {
        if (!v[i].pod[0]) {
            values = strstr(fake_world_text(o, "spec.affinity"), "\"values\":[\"");
            snprintf(v[i].pod, sizeof v[i].pod, "%.*s", STR_ARG(o->name));
            snprintf(v[i].node, sizeof v[i].node, "%.2s", values + 11);
            break;
        }
    }
    return true;
}

/* Some seconds in which pods are bound to the node that they are meant for, run, and go when they are deleted. */
static void live(int seconds) {
    for (int i = 0; i < seconds; i++) {
        struct binding v[8] = {{{0}, {0}}};
        char json[64];
        fake_world_run(&w, NS_PER_SEC);
        mirror_scan(w.mirror, fake_world_kind("Pod"), STR(""), keep_unbound, v);
        for (size_t k = 0; k < 8 && v[k].pod[0]; k++) {
            snprintf(json, sizeof json, "{\"spec\":{\"nodeName\":\"%s\"}}", v[k].node);
            fake_world_patch(&w, "Pod", "default", v[k].pod, "", json);
        }
        fake_world_kubelet(&w);
    }
    fake_world_run(&w, NS_PER_SEC);
}

static void set_phase(const char *phase, bool ready) {
    char names[8][64] = {{0}}, json[256];
    mirror_scan(w.mirror, fake_world_kind("Pod"), STR(""), keep_name, names);
    snprintf(
        json, sizeof json,
        "{\"status\":{\"phase\":\"%s\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
        phase, ready ? "True" : "False");
    for (size_t i = 0; i < 8 && names[i][0]; i++) {
        fake_world_patch(&w, "Pod", "default", names[i], "status", json);
    }
    fake_world_run(&w, NS_PER_SEC);
}

/* desired, current, misscheduled, ready, available, updated */
static void assert_numbers(const char *want) {
    static const char *const names[] = {"desiredNumberScheduled", "currentNumberScheduled",
                                        "numberMisscheduled",     "numberReady",
                                        "numberAvailable",        "updatedNumberScheduled"};
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < 6; i++) {
        char path[64];
        snprintf(path, sizeof path, "status.%s", names[i]);
        const char *v = fake_world_text(set(), path);
        buf_f(&b, "%s%s", i ? " " : "", *v ? v : "0");
    }
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
}

static void a_pod_on_every_node_that_fits(void **state) {
    put_node("n1", "\"disk\":\"ssd\"", "");
    put_node("n2", "", "");
    put_node("n3", "\"disk\":\"ssd\"",
             "\"taints\":[{\"key\":\"a\",\"value\":\"b\",\"effect\":\"NoSchedule\"}]");
    put_node("n4", "\"disk\":\"ssd\"",
             "\"unschedulable\":true,\"taints\":[{\"key\":\"node.kubernetes.io/unschedulable\","
             "\"effect\":\"NoSchedule\"}]");
    put_set("", "\"nodeSelector\":{\"disk\":\"ssd\"},");
    fake_world_run(&w, NS_PER_SEC);
    assert_pods("n1 n4", false);
    assert_numbers("2 2 0 0 0 2");
    set_phase("Running", true);
    assert_numbers("2 2 0 2 2 2");
    /* A node that comes, one that changes, one that goes. */
    put_node("n5", "\"disk\":\"ssd\"", "");
    fake_world_patch(&w, "Node", "", "n1", "", "{\"metadata\":{\"labels\":{\"disk\":null}}}");
    fake_world_delete(&w, "Node", "", "n4", "Background");
    live(5);
    assert_pods("n5", false);
    uint64_t writes = w.writes;
    fake_world_run(&w, 600 * NS_PER_SEC);
    assert_int_equal(w.writes, writes);
    assert_int_equal(fake_world_events(&w, "SuccessfulCreate"), 3);
}

static bool take(void *ctx, const struct object *o) {
    *(const struct object **)ctx = o;
    return false;
}

static void its_pods(void **state) {
    const struct object *pod = NULL;
    put_node("n1", "", "");
    put_set("", "\"tolerations\":[{\"key\":\"x\",\"operator\":\"Exists\"}],");
    fake_world_run(&w, NS_PER_SEC);
    mirror_scan(w.mirror, fake_world_kind("Pod"), STR(""), take, &pod);
    assert_non_null(pod);
    assert_non_null(strstr(fake_world_text(pod, "spec.tolerations"), "{\"key\":\"x\""));
    assert_non_null(
        strstr(fake_world_text(pod, "spec.tolerations"), "node.kubernetes.io/unschedulable"));
    assert_true(object_label(pod, STR("controller-revision-hash")).n > 0);
    assert_str_eq(object_label(pod, STR("app")), STR("d"));
    assert_str_eq(object_controller(pod)->uid, set()->uid);
}

#define TWO                                                                                        \
    "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"two\"}]}}}}"

static void a_rolling_update_goes_node_by_node(void **state) {
    put_node("n1", "", "");
    put_node("n2", "", "");
    put_set("", "");
    live(4);
    assert_numbers("2 2 0 2 2 2");
    fake_world_patch(&w, "DaemonSet", "default", "d", "", TWO);
    fake_world_run(&w, 5 * NS_PER_SEC);
    assert_pods("n1=one n2=one", true); /* the one is being deleted, the other waits */
    assert_numbers("2 1 0 1 1 0");
    live(10);
    assert_pods("n1=two n2=two", true);
    assert_numbers("2 2 0 2 2 2");
    assert_string_equal(fake_world_text(set(), "status.observedGeneration"), "2");
}

#define ONE                                                                                        \
    "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"one\"}]}}}}"
#define THREE                                                                                      \
    "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"three\"}]}}}}"

static bool add_revision(void *ctx, const struct object *o) {
    int64_t *sum = ctx;
    *sum += atoll(fake_world_text(o, "revision"));
    assert_non_null(strstr(fake_world_text(o, "data"), "\"$patch\":\"replace\""));
    return true;
}

static int64_t revisions(void) {
    int64_t sum = 0;
    mirror_scan(w.mirror, fake_world_kind("ControllerRevision"), STR(""), add_revision, &sum);
    return sum;
}

/* A template that was there before is the newest again; the oldest ones go. */
static void revisions_are_kept(void **state) {
    put_node("n1", "", "");
    put_set("\"revisionHistoryLimit\":1,", "");
    live(4);
    assert_int_equal(fake_world_count(&w, "ControllerRevision"), 1);
    fake_world_patch(&w, "DaemonSet", "default", "d", "", TWO);
    live(8);
    assert_int_equal(fake_world_count(&w, "ControllerRevision"), 2);
    assert_int_equal(revisions(), 1 + 2);
    fake_world_patch(&w, "DaemonSet", "default", "d", "", ONE);
    live(8);
    assert_int_equal(fake_world_count(&w, "ControllerRevision"), 2);
    assert_int_equal(revisions(), 2 + 3);
    fake_world_patch(&w, "DaemonSet", "default", "d", "", THREE);
    live(8);
    assert_int_equal(fake_world_count(&w, "ControllerRevision"), 2);
    assert_int_equal(revisions(), 3 + 4);
    uint64_t writes = w.writes;
    fake_world_run(&w, 600 * NS_PER_SEC);
    assert_int_equal(w.writes, writes);
}

static void on_delete_waits_for_people(void **state) {
    char names[8][64] = {{0}};
    put_node("n1", "", "");
    put_set("\"updateStrategy\":{\"type\":\"OnDelete\"},", "");
    live(4);
    fake_world_patch(&w, "DaemonSet", "default", "d", "", TWO);
    live(5);
    assert_pods("n1=one", true);
    assert_numbers("1 1 0 1 1 0");
    mirror_scan(w.mirror, fake_world_kind("Pod"), STR(""), keep_name, names);
    fake_world_delete(&w, "Pod", "default", names[0], "Background");
    live(5);
    assert_pods("n1=two", true);
}

static void a_surge_comes_first(void **state) {
    put_node("n1", "", "");
    put_set(
        "\"updateStrategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":0,"
        "\"maxSurge\":1}},",
        "");
    fake_world_run(&w, NS_PER_SEC);
    set_phase("Running", true);
    fake_world_patch(&w, "DaemonSet", "default", "d", "", TWO);
    fake_world_run(&w, NS_PER_SEC);
    assert_pods("n1=one n1=two", true);
    live(6);
    assert_pods("n1=two", true);
}

static void pods_that_ended_are_replaced(void **state) {
    put_node("n1", "", "");
    put_set("", "");
    fake_world_run(&w, NS_PER_SEC);
    set_phase("Failed", false);
    assert_int_equal(fake_world_events(&w, "FailedDaemonPod"), 0); /* not at once */
    fake_world_run(&w, 15 * NS_PER_SEC);
    assert_int_equal(fake_world_events(&w, "FailedDaemonPod"), 1);
    assert_int_equal(fake_world_events(&w, "SuccessfulCreate"), 2);
    assert_pods("n1", false);
}

int main(void) {
    round_be_strict();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_pod_on_every_node_that_fits, setup, teardown),
        cmocka_unit_test_setup_teardown(its_pods, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rolling_update_goes_node_by_node, setup, teardown),
        cmocka_unit_test_setup_teardown(revisions_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(on_delete_waits_for_people, setup, teardown),
        cmocka_unit_test_setup_teardown(a_surge_comes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_that_ended_are_replaced, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
