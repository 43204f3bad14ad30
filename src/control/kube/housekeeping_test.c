/*
 * Scenario tests of the controllers that keep house: bootstrap, service accounts, namespaces, garbage collection,
 * silent nodes, aggregated roles, old events, Workloads that are switched off.
 */
#include "base/test.h"
#include "control/hold/workload_life.h"
#include "control/kit/api_service.h"
#include "control/kit/backoff.h"
#include "control/kit/controller.h"
#include "control/kit/recorder.h"
#include "control/kube/bootstrap.h"
#include "control/kube/csr_ttl.h"
#include "control/kube/event_ttl.h"
#include "control/kube/gc.h"
#include "control/kube/namespace.h"
#include "control/kube/node_life.h"
#include "control/kube/pod_gc.h"
#include "control/kube/role_aggregation.h"
#include "control/kube/serviceaccount.h"
#include "control/test/fake_world.h"

static struct fake_world w;

static int setup(void **state) {
    fake_world_init(&w);
    return 0;
}

static int teardown(void **state) {
    fake_world_release(&w);
    return 0;
}

static void put(const char *version, const char *kind, const char *ns, const char *name,
                const char *meta, const char *rest) {
    char json[4096];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"%s%s%s%s%s}%s%s}",
             version, kind, name, *ns ? ",\"namespace\":\"" : "", ns, *ns ? "\"" : "",
             *meta ? "," : "", meta, *rest ? "," : "", rest);
    fake_world_put(&w, json);
}

static void owned_by(const struct object *o, const char *name, bool block) {
    char meta[512];
    snprintf(meta, sizeof meta,
             "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%.*s\","
             "\"uid\":"
             "\"%.*s\",\"blockOwnerDeletion\":%s}]",
             STR_ARG(o->name), STR_ARG(o->uid), block ? "true" : "false");
    put("v1", "ConfigMap", "default", name, meta, "");
}

static const struct object *map(const char *name) {
    return fake_world_get(&w, "ConfigMap", "default", name);
}

static void bootstrap_makes_and_keeps(void **state) {
    struct controller *c = controller_new(&bootstrap_controller, &w.env, NULL);
    assert_false(bootstrap_done(w.mirror));
    w.fail_at = 3;
    fake_world_run(&w, NS_PER_SEC);
    assert_true(bootstrap_done(w.mirror));
    assert_int_equal(fake_world_count(&w, "Namespace"), 5);
    fake_world_delete(&w, "PriorityClass", "", "system-node-critical", "Background");
    assert_false(bootstrap_done(w.mirror));
    fake_world_run(&w, NS_PER_SEC);
    assert_true(bootstrap_done(w.mirror));
    controller_free(c);
}

/* Where the API is, kept when somebody deletes or changes it, and told anew when the port is another. */
static void the_service_of_the_api_is_kept(void **state) {
    struct api_address api = {.host = STR("0.0.0.0"), .cluster_ip = STR("10.43.0.1")};
    w.env.api = &api;
    put("v1", "Namespace", "", "default", "", "");
    struct controller *c = controller_new(&api_service_controller, &w.env, NULL);
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Service"), 0); /* nobody listens yet */
    api.port = 6443;
    w.fail_at = 2;
    fake_world_run(&w, 5 * NS_PER_SEC);
    const struct object *s = fake_world_get(&w, "Service", "default", "kubernetes");
    assert_string_equal(fake_world_text(s, "spec.ports.0.port"), "443");
    assert_string_equal(fake_world_text(s, "spec.ports.0.targetPort"), "6443");
    assert_string_equal(fake_world_text(s, "spec.clusterIP"), "10.43.0.1");
    const struct object *e = fake_world_get(&w, "Endpoints", "default", "kubernetes");
    assert_string_equal(fake_world_text(e, "subsets.0.addresses.0.ip"), "127.0.0.1");
    const struct object *x = fake_world_get(&w, "EndpointSlice", "default", "kubernetes");
    assert_string_equal(fake_world_text(x, "endpoints.0.addresses"), "[\"127.0.0.1\"]");
    fake_world_delete(&w, "Service", "default", "kubernetes", "Background");
    fake_world_delete(&w, "EndpointSlice", "default", "kubernetes", "Background");
    fake_world_patch(&w, "Endpoints", "default", "kubernetes", "", "{\"subsets\":[]}");
    fake_world_run(&w, NS_PER_SEC);
    assert_non_null(fake_world_get(&w, "Service", "default", "kubernetes"));
    assert_non_null(fake_world_get(&w, "EndpointSlice", "default", "kubernetes"));
    e = fake_world_get(&w, "Endpoints", "default", "kubernetes");
    assert_string_equal(fake_world_text(e, "subsets.0.ports.0.port"), "6443");
    uint64_t writes = w.writes;
    fake_world_run(&w, 60 * NS_PER_SEC);
    assert_int_equal(w.writes, writes); /* it settles */
    controller_free(c);
    api.port = 7443;
    api.host = STR("10.0.0.1");
    c = controller_new(&api_service_controller, &w.env, NULL);
    fake_world_run(&w, NS_PER_SEC);
    x = fake_world_get(&w, "EndpointSlice", "default", "kubernetes");
    assert_string_equal(fake_world_text(x, "endpoints.0.addresses"), "[\"10.0.0.1\"]");
    assert_string_equal(fake_world_text(x, "ports.0.port"), "7443");
    s = fake_world_get(&w, "Service", "default", "kubernetes");
    assert_string_equal(fake_world_text(s, "spec.ports.0.targetPort"), "7443");
    controller_free(c);
    api.cluster_ip = STR("10.44.0.1"); /* another range of Services: made anew */
    c = controller_new(&api_service_controller, &w.env, NULL);
    fake_world_run(&w, NS_PER_SEC);
    s = fake_world_get(&w, "Service", "default", "kubernetes");
    assert_string_equal(fake_world_text(s, "spec.clusterIP"), "10.44.0.1");
    controller_free(c);
}

static void namespaces_get_their_account(void **state) {
    w.env.root_ca = STR("PEM");
    struct controller *c = controller_new(&serviceaccount_controller, &w.env, NULL);
    put("v1", "Namespace", "", "a", "", "");
    fake_world_run(&w, NS_PER_SEC);
    assert_non_null(fake_world_get(&w, "ServiceAccount", "a", "default"));
    const struct object *ca = fake_world_get(&w, "ConfigMap", "a", "kube-root-ca.crt");
    assert_string_equal(fake_world_text(ca, "data"), "{\"ca.crt\":\"PEM\"}");
    fake_world_delete(&w, "ServiceAccount", "a", "default", "Background");
    fake_world_patch(&w, "ConfigMap", "a", "kube-root-ca.crt", "", "{\"data\":{\"ca.crt\":\"X\"}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_non_null(fake_world_get(&w, "ServiceAccount", "a", "default"));
    ca = fake_world_get(&w, "ConfigMap", "a", "kube-root-ca.crt");
    assert_string_equal(fake_world_text(ca, "data"), "{\"ca.crt\":\"PEM\"}");
    controller_free(c);
}

static void a_namespace_is_emptied_then_gone(void **state) {
    struct controller *c = controller_new(&namespace_controller, &w.env, NULL);
    put("v1", "Namespace", "", "a", "", "\"spec\":{\"finalizers\":[\"kubernetes\"]}");
    put("v1", "ConfigMap", "a", "plain", "", "");
    put("v1", "ConfigMap", "a", "held", "\"finalizers\":[\"example.com/hold\"]", "");
    put("v1", "ConfigMap", "b", "other", "", "");
    fake_world_delete(&w, "Namespace", "", "a", "Background");
    fake_world_run(&w, 5 * NS_PER_SEC);
    const struct object *ns = fake_world_get(&w, "Namespace", "", "a");
    assert_non_null(ns);
    assert_null(fake_world_get(&w, "ConfigMap", "a", "plain"));
    assert_string_equal(fake_world_condition(ns, "NamespaceContentRemaining"), "True");
    assert_string_equal(fake_world_condition_message(ns, "NamespaceContentRemaining"),
                        "Some resources are remaining: configmaps. has 1 resource instances");
    assert_string_equal(fake_world_condition(ns, "NamespaceFinalizersRemaining"), "True");
    fake_world_patch(&w, "ConfigMap", "a", "held", "", "{\"metadata\":{\"finalizers\":[]}}");
    fake_world_run(&w, 5 * NS_PER_SEC);
    assert_null(fake_world_get(&w, "Namespace", "", "a"));
    assert_non_null(fake_world_get(&w, "ConfigMap", "b", "other"));
    controller_free(c);
}

static void dependents_follow_in_the_background(void **state) {
    put("v1", "ConfigMap", "default", "top", "", "");
    owned_by(map("top"), "middle", false);
    owned_by(map("middle"), "leaf", false);
    struct controller *c = controller_new(&gc_controller, &w.env, NULL);
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "ConfigMap"), 3);
    w.fail_at = 1;
    fake_world_delete(&w, "ConfigMap", "default", "top", "Background");
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "ConfigMap"), 0);
    controller_free(c);
}

static void foreground_waits_for_blocking_dependents(void **state) {
    struct controller *c = controller_new(&gc_controller, &w.env, NULL);
    put("v1", "ConfigMap", "default", "top", "", "");
    owned_by(map("top"), "middle", true);
    owned_by(map("middle"), "leaf", true);
    fake_world_patch(&w, "ConfigMap", "default", "leaf", "",
                     "{\"metadata\":{\"finalizers\":[\"example.com/hold\"]}}");
    fake_world_delete(&w, "ConfigMap", "default", "top", "Foreground");
    fake_world_run(&w, NS_PER_SEC);
    assert_true(map("top") && map("top")->deleting_ns);
    assert_true(map("middle") && map("middle")->deleting_ns);
    assert_true(map("leaf") && map("leaf")->deleting_ns);
    fake_world_patch(&w, "ConfigMap", "default", "leaf", "", "{\"metadata\":{\"finalizers\":[]}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "ConfigMap"), 0);
    controller_free(c);
}

static void orphans_stay(void **state) {
    struct controller *c = controller_new(&gc_controller, &w.env, NULL);
    put("v1", "ConfigMap", "default", "top", "", "");
    owned_by(map("top"), "child", false);
    fake_world_delete(&w, "ConfigMap", "default", "top", "Orphan");
    fake_world_run(&w, NS_PER_SEC);
    assert_null(map("top"));
    assert_non_null(map("child"));
    assert_int_equal(map("child")->n_owners, 0);
    controller_free(c);
}

static void own(const char *name, const char *owner) {
    char patch[512];
    snprintf(patch, sizeof patch,
             "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
             "\"name\":\"%s\",\"uid\":\"%.*s\",\"controller\":true,"
             "\"blockOwnerDeletion\":true}]}}",
             owner, STR_ARG(map(owner)->uid));
    fake_world_patch(&w, "ConfigMap", "default", name, "", patch);
}

/* Each owns the next, and the last the first; something hangs below. */
static void circle(size_t n) {
    char name[24], next[24];
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "c%zu", i);
        put("v1", "ConfigMap", "default", name, "", "");
    }
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "c%zu", i);
        snprintf(next, sizeof next, "c%zu", (i + 1) % n);
        own(next, name);
    }
    put("v1", "ConfigMap", "default", "below", "", "");
    own("below", "c0");
}

static void circles_of_owners_go(void **state) {
    struct controller *c = controller_new(&gc_controller, &w.env, NULL);
    static const char *const how[] = {"Foreground", "Background"};
    for (size_t n = 1; n <= 4; n++) {
        for (size_t i = 0; i < 2; i++) {
            circle(n);
            fake_world_delete(&w, "ConfigMap", "default", "c0", how[i]);
            fake_world_run(&w, 5 * NS_PER_SEC);
            assert_int_equal(fake_world_count(&w, "ConfigMap"), 0);
        }
    }
    uint64_t writes = w.writes;
    assert_true(writes < 200);
    fake_world_run(&w, 60 * NS_PER_SEC);
    assert_int_equal(w.writes, writes);
    controller_free(c);
}

/* Deleted one by one before the collector has seen any of it, and when it comes only later. */
static void circles_that_wait_already_go(void **state) {
    circle(3);
    fake_world_delete(&w, "ConfigMap", "default", "c0", "Foreground");
    fake_world_delete(&w, "ConfigMap", "default", "c1", "Foreground");
    fake_world_delete(&w, "ConfigMap", "default", "c2", "Foreground");
    fake_world_delete(&w, "ConfigMap", "default", "below", "Foreground");
    struct controller *c = controller_new(&gc_controller, &w.env, NULL);
    fake_world_run(&w, 5 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "ConfigMap"), 0);
    controller_free(c);
}

static void an_orphaned_circle_is_cut(void **state) {
    struct controller *c = controller_new(&gc_controller, &w.env, NULL);
    circle(3);
    fake_world_delete(&w, "ConfigMap", "default", "c0", "Orphan");
    fake_world_run(&w, 5 * NS_PER_SEC);
    assert_null(map("c0"));
    assert_non_null(map("c1"));
    assert_int_equal(map("c1")->n_owners, 0);
    assert_int_equal(map("c2")->n_owners, 1);
    assert_int_equal(map("below")->n_owners, 0);
    controller_free(c);
}

/* What another namespace's uid, or another name or kind, is worth. */
static void an_owner_is_more_than_its_uid(void **state) {
    char meta[512];
    static const char ref[] =
        "\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":"
        "\"%s\",\"uid\":\"%.*s\",\"blockOwnerDeletion\":true}],"
        "\"finalizers\":[\"example.com/hold\"]";
    struct controller *c = controller_new(&gc_controller, &w.env, NULL);
    put("v1", "ConfigMap", "default", "top", "", "");
    snprintf(meta, sizeof meta, ref, "v1", "ConfigMap", "top", STR_ARG(map("top")->uid));
    put("v1", "ConfigMap", "b", "far", meta, "");
    put("v1", "Node", "", "wide", meta, "");
    put("v1", "ConfigMap", "default", "near", meta, "");
    snprintf(meta, sizeof meta, ref, "v1", "ConfigMap", "other", STR_ARG(map("top")->uid));
    put("v1", "ConfigMap", "default", "misnamed", meta, "");
    snprintf(meta, sizeof meta, ref, "v1", "Secret", "top", STR_ARG(map("top")->uid));
    put("v1", "ConfigMap", "default", "of-another-kind", meta, "");
    fake_world_run(&w, NS_PER_SEC);
    assert_true(fake_world_get(&w, "ConfigMap", "b", "far")->deleting_ns);
    assert_true(map("misnamed")->deleting_ns);
    assert_true(map("of-another-kind")->deleting_ns);
    assert_false(map("near")->deleting_ns);
    assert_false(fake_world_get(&w, "Node", "", "wide")->deleting_ns);
    assert_int_equal(fake_world_events(&w, "OwnerRefInvalidNamespace"), 2);
    fake_world_delete(&w, "ConfigMap", "default", "top", "Foreground");
    fake_world_run(&w, NS_PER_SEC);
    assert_true(map("top") && map("near")->deleting_ns);
    fake_world_patch(&w, "ConfigMap", "default", "near", "", "{\"metadata\":{\"finalizers\":[]}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_null(map("top")); /* the others, which are held as well, do not keep it */
    assert_false(fake_world_get(&w, "Node", "", "wide")->deleting_ns);
    controller_free(c);
}

static void one_solid_owner_is_enough(void **state) {
    char meta[1024];
    put("v1", "ConfigMap", "default", "alive", "", "");
    snprintf(meta, sizeof meta,
             "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"gone\","
             "\"uid\":\"x\"},"
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"alive\",\"uid\":\"%.*s\"}]",
             STR_ARG(map("alive")->uid));
    put("v1", "ConfigMap", "default", "child", meta, "");
    struct controller *c = controller_new(&gc_controller, &w.env, NULL);
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(map("child")->n_owners, 1);
    assert_str_eq(map("child")->owners[0].name, STR("alive"));
    controller_free(c);
}

static void a_silent_node_becomes_unknown(void **state) {
    put("v1", "Node", "", "n1", "", "");
    fake_world_patch(
        &w, "Node", "", "n1", "status",
        "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"x\","
        "\"message\":\"\",\"lastHeartbeatTime\":\"2026-01-01T00:00:00Z\"}]}}");
    put("coordination.k8s.io/v1", "Lease", "kube-node-lease", "n1", "",
        "\"spec\":{\"renewTime\":\"2026-01-01T00:00:30.000000Z\"}");
    struct controller *c = controller_new(&node_life_controller, &w.env, NULL);
    fake_world_run(&w, 60 * NS_PER_SEC); /* the lease counts */
    assert_string_equal(fake_world_condition(fake_world_get(&w, "Node", "", "n1"), "Ready"),
                        "True");
    fake_world_run(&w, 15 * NS_PER_SEC);
    assert_string_equal(fake_world_condition(fake_world_get(&w, "Node", "", "n1"), "Ready"),
                        "Unknown");
    controller_free(c);
}

/* A clock that is set makes no node silent, and one that was set back hides no silence. */
static void a_set_clock_and_silence(void **state) {
    put("v1", "Node", "", "n1", "", "");
    fake_world_patch(
        &w, "Node", "", "n1", "status",
        "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"x\","
        "\"message\":\"\",\"lastHeartbeatTime\":\"2026-01-01T00:00:00Z\"}]}}");
    struct controller *c = controller_new(&node_life_controller, &w.env, NULL);
    virtual_clock_set_wall(&w.clock, clock_wall(w.env.clock) + 5 * 3600 * NS_PER_SEC);
    fake_world_run(&w, 30 * NS_PER_SEC);
    assert_string_equal(fake_world_condition(fake_world_get(&w, "Node", "", "n1"), "Ready"),
                        "True");
    fake_world_patch(&w, "Node", "", "n1", "status",
                     "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                     "\"reason\":\"x\",\"message\":\"\","
                     "\"lastHeartbeatTime\":\"2262-04-11T23:47:16Z\"}]}}");
    virtual_clock_set_wall(&w.clock, clock_wall(w.env.clock) - 5 * 3600 * NS_PER_SEC);
    fake_world_run(&w, 30 * NS_PER_SEC);
    assert_string_equal(fake_world_condition(fake_world_get(&w, "Node", "", "n1"), "Ready"),
                        "True");
    fake_world_run(&w, 15 * NS_PER_SEC);
    assert_string_equal(fake_world_condition(fake_world_get(&w, "Node", "", "n1"), "Ready"),
                        "Unknown");
    controller_free(c);
}

static void pods_of_a_lost_node_go(void **state) {
    put("v1", "Node", "", "n1", "", "");
    struct controller *c = controller_new(&node_life_controller, &w.env, NULL);
    put("v1", "Pod", "default", "p", "",
        "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}");
    fake_world_delete(&w, "Node", "", "n1", "Background");
    fake_world_run(&w, 30 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Pod"), 1);
    fake_world_run(&w, 30 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Pod"), 0);
    controller_free(c);
}

/* Nobody else would end it: its namespace would stay for ever. */
static void pods_of_a_node_that_never_was_go(void **state) {
    struct controller *c = controller_new(&node_life_controller, &w.env, NULL);
    put("v1", "Node", "", "n1", "", "");
    put("v1", "Pod", "default", "lost", "",
        "\"spec\":{\"nodeName\":\"nowhere\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}");
    put("v1", "Pod", "default", "well", "",
        "\"spec\":{\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}");
    fake_world_delete(&w, "Pod", "default", "lost", "Background");
    fake_world_run(&w, 30 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Pod"), 2);
    fake_world_run(&w, 30 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Pod"), 1);
    assert_non_null(fake_world_get(&w, "Pod", "default", "well"));
    controller_free(c);
}

static void roles_add_up(void **state) {
    const char *rbac = "rbac.authorization.k8s.io/v1";
    struct controller *c = controller_new(&role_aggregation_controller, &w.env, NULL);
    put(rbac, "ClusterRole", "", "sum", "",
        "\"aggregationRule\":{\"clusterRoleSelectors\":[{\"matchLabels\":{\"to\":\"sum\"}}]},"
        "\"rules\":[]");
    put(rbac, "ClusterRole", "", "b", "\"labels\":{\"to\":\"sum\"}",
        "\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"b\"]}]");
    put(rbac, "ClusterRole", "", "a", "\"labels\":{\"to\":\"sum\"}",
        "\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"a\"]}]");
    put(rbac, "ClusterRole", "", "c", "",
        "\"rules\":[{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"c\"]}]");
    fake_world_run(&w, NS_PER_SEC);
    const char *rules = fake_world_text(fake_world_get(&w, "ClusterRole", "", "sum"), "rules");
    const char *first = strstr(rules, "\"a\""), *second = strstr(rules, "\"b\"");
    assert_true(first && second && first < second);
    assert_null(strstr(rules, "\"c\""));
    uint64_t writes = w.writes;
    fake_world_run(&w, 60 * NS_PER_SEC);
    assert_int_equal(w.writes, writes); /* it settles */
    controller_free(c);
}

static void events_repeat_combine_and_expire(void **state) {
    struct recorder *r = recorder_new(&w.env, "test");
    struct controller *c = controller_new(&event_ttl_controller, &w.env, NULL);
    put("v1", "ConfigMap", "default", "a", "", "");
    for (int i = 0; i < 3; i++) {
        recorder_event(r, map("a"), EVENT_NORMAL, "Same", "again");
        fake_world_run(&w, NS_PER_SEC);
    }
    assert_int_equal(fake_world_count(&w, "Event"), 1);
    assert_int_equal(fake_world_events(&w, "Same"), 3);
    for (int i = 0; i < 14; i++) {
        recorder_event(r, map("a"), EVENT_WARNING, "Many", "number %d", i);
    }
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Event"), 1 + 10 + 1);
    assert_int_equal(fake_world_events(&w, "Many"), 14);
    for (int i = 0; i < 100; i++) {
        recorder_event(r, map("a"), EVENT_WARNING, "Flood", "again");
    }
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_events(&w, "Flood"), 25 - 3 - 14);
    fake_world_run(&w, 3000 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Event"), 13);
    virtual_clock_set_wall(&w.clock, clock_wall(w.env.clock) + 1000 * NS_PER_SEC);
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Event"), 0);
    recorder_free(r);
    controller_free(c);
}

static void certificate_requests_go(void **state) {
    struct controller *c = controller_new(&csr_ttl_controller, &w.env, NULL);
    const char *spec = "\"spec\":{\"request\":\"eA==\",\"signerName\":\"a/b\",\"usages\":[]}";
    put("certificates.k8s.io/v1", "CertificateSigningRequest", "", "waits", "", spec);
    put("certificates.k8s.io/v1", "CertificateSigningRequest", "", "denied", "", spec);
    fake_world_patch(&w, "CertificateSigningRequest", "", "denied", "status",
                     "{\"status\":{\"conditions\":[{\"type\":\"Denied\",\"status\":\"True\"}]}}");
    fake_world_run(&w, 3500 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "CertificateSigningRequest"), 2);
    fake_world_run(&w, 300 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "CertificateSigningRequest"), 1);
    fake_world_run(&w, 22 * 3600 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "CertificateSigningRequest"), 1);
    fake_world_run(&w, 3600 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "CertificateSigningRequest"), 0);
    controller_free(c);
}

static void events_beyond_a_number_go(void **state) {
    struct recorder *r = recorder_new(&w.env, "test");
    w.env.kept.events = 30;
    struct controller *c = controller_new(&event_ttl_controller, &w.env, NULL);
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "m%d", i);
        put("v1", "ConfigMap", "default", name, "", "");
        recorder_event(r, map(name), EVENT_NORMAL, i < 10 ? "Early" : "Late", "said");
        fake_world_run(&w, NS_PER_SEC);
    }
    fake_world_run(&w, 10 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Event"), 30);
    assert_int_equal(fake_world_events(&w, "Early"), 0);
    assert_int_equal(fake_world_events(&w, "Late"), 30);
    recorder_free(r);
    controller_free(c);
    w.env.kept.events = 0;
}

static void a_pod(const char *name, const char *note, const char *phase) {
    char meta[128], status[128];
    snprintf(meta, sizeof meta, "\"annotations\":{\"phase\":\"%s\"}", note);
    snprintf(status, sizeof status, "{\"status\":{\"phase\":\"%s\"}}", phase);
    put("v1", "Pod", "default", name, meta, "\"spec\":{\"containers\":[{\"name\":\"c\"}]}");
    fake_world_patch(&w, "Pod", "default", name, "status", status);
    fake_world_run(&w, NS_PER_SEC);
}

static bool has_pod(const char *name) {
    return fake_world_get(&w, "Pod", "default", name) != NULL;
}

/* The oldest finished ones; what an annotation says of a pod that runs ends nobody. */
static void finished_pods_beyond_a_number_go(void **state) {
    w.env.kept.pods = 2;
    a_pod("says-so", "Succeeded", "Running");
    a_pod("old", "-", "Succeeded");
    a_pod("older-that-runs", "-", "Running");
    a_pod("failed", "-", "Failed");
    a_pod("new", "-", "Succeeded");
    struct controller *c = controller_new(&pod_gc_controller, &w.env, NULL);
    fake_world_run(&w, 10 * NS_PER_SEC);
    assert_true(has_pod("says-so") && has_pod("older-that-runs"));
    assert_false(has_pod("old"));
    assert_true(has_pod("failed") && has_pod("new"));
    a_pod("newest", "-", "Failed");
    fake_world_run(&w, 10 * NS_PER_SEC);
    assert_false(has_pod("failed"));
    assert_true(has_pod("new") && has_pod("newest"));
    controller_free(c);
    w.env.kept.pods = 0;
}

/* Sixteen are written at a time, the rest waits; what waits when the recorder goes is forgotten. */
static void events_yield(void **state) {
    struct recorder *r = recorder_new(&w.env, "test");
    char name[16];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "m%d", i);
        put("v1", "ConfigMap", "default", name, "", "");
    }
    fake_world_run(&w, NS_PER_SEC);
    uint64_t before = w.writes;
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "m%d", i);
        recorder_event(r, map(name), EVENT_NORMAL, "Said", "once");
        recorder_event(r, map(name), EVENT_NORMAL, "Said", "once");
    }
    assert_true(w.writes - before <= 16);
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "Event"), 100);
    assert_int_equal(fake_world_events(&w, "Said"), 200);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "m%d", i);
        recorder_event(r, map(name), EVENT_NORMAL, "Last", "once");
    }
    recorder_free(r);
    fake_world_run(&w, NS_PER_SEC);
    assert_true(fake_world_count(&w, "Event") <= 100 + 16);
}

static const char WORKLOAD[] = "\"spec\":{\"active\":true,\"maximumExecutionTimeSeconds\":100,"
                               "\"queueName\":\"q\",\"podSets\":[{\"name\":"
                               "\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{"
                               "\"name\":\"c\",\"image\":\"i\"}]}}}]}";
static const char ADMITTED[] = "{\"status\":{\"conditions\":[{\"type\":\"Admitted\",\"status\":"
                               "\"True\",\"reason\":\"Admitted\",\"message\":"
                               "\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}";

static const struct object *workload(void) {
    return fake_world_get(&w, "Workload", "default", "x");
}

/* What is counted in a status counts no further than it can. */
static void the_last_count_stays(void **state) {
    struct controller *c = controller_new(&workload_life_controller, &w.env, NULL);
    static const char stats[] = "[{\"reason\":\"Deactivated\",\"underlyingCause\":\"\",\"count\":"
                                "2147483647}]";
    char patch[256];
    put("kueue.x-k8s.io/v1beta2", "Workload", "default", "x", "", WORKLOAD);
    snprintf(patch, sizeof(patch), "{\"status\":{\"schedulingStats\":{\"evictions\":%s}}}", stats);
    fake_world_patch(&w, "Workload", "default", "x", "status", patch);
    fake_world_patch(&w, "Workload", "default", "x", "", "{\"spec\":{\"active\":false}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_string_equal(fake_world_condition_reason(workload(), "Evicted"), "Deactivated");
    assert_string_equal(fake_world_text(workload(), "status.schedulingStats.evictions"), stats);
    assert_int_equal(backoff_ns(0, 3600, INT32_MAX, STR("x")), 0); /* at once, also to compute */
    assert_int_equal(backoff_ns(1, 3600, INT32_MAX, STR("x")), 3600 * NS_PER_SEC);
    controller_free(c);
}

static void a_switched_off_workload_is_evicted(void **state) {
    struct controller *c = controller_new(&workload_life_controller, &w.env, NULL);
    put("kueue.x-k8s.io/v1beta2", "Workload", "default", "x", "", WORKLOAD);
    fake_world_patch(&w, "Workload", "default", "x", "", "{\"spec\":{\"active\":false}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_string_equal(fake_world_condition_reason(workload(), "Evicted"), "Deactivated");
    assert_string_equal(fake_world_text(workload(), "status.schedulingStats.evictions"),
                        "[{\"reason\":\"Deactivated\",\"underlyingCause\":\"\",\"count\":1}]");
    fake_world_patch(
        &w, "Workload", "default", "x", "status",
        "{\"status\":{\"conditions\":[{\"type\":\"Requeued\",\"status\":\"False\",\"reason\":"
        "\"Deactivated\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    fake_world_patch(&w, "Workload", "default", "x", "", "{\"spec\":{\"active\":true}}");
    fake_world_run(&w, NS_PER_SEC);
    assert_string_equal(fake_world_condition(workload(), "Requeued"), "True");
    assert_string_equal(fake_world_condition_reason(workload(), "Requeued"), "Reactivated");
    controller_free(c);
}

static void a_workload_has_its_time(void **state) {
    struct controller *c = controller_new(&workload_life_controller, &w.env, NULL);
    put("kueue.x-k8s.io/v1beta2", "Workload", "default", "x", "", WORKLOAD);
    fake_world_patch(&w, "Workload", "default", "x", "status", ADMITTED);
    fake_world_run(&w, 99 * NS_PER_SEC);
    assert_string_equal(fake_world_condition(workload(), "Evicted"), "");
    fake_world_run(&w, 5 * NS_PER_SEC);
    assert_string_equal(fake_world_condition_reason(workload(), "Evicted"),
                        "DeactivatedDueToMaximumExecutionTimeExceeded");
    assert_string_equal(fake_world_condition_message(workload(), "Evicted"),
                        "The workload is deactivated due to exceeding the maximum execution time");
    assert_string_equal(fake_world_condition(workload(), "DeactivationTarget"), "");
    assert_string_equal(fake_world_text(workload(), "spec.active"), "false");
    controller_free(c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(bootstrap_makes_and_keeps),
        TEST(the_service_of_the_api_is_kept),
        TEST(namespaces_get_their_account),
        TEST(a_namespace_is_emptied_then_gone),
        TEST(dependents_follow_in_the_background),
        TEST(foreground_waits_for_blocking_dependents),
        TEST(orphans_stay),
        TEST(circles_of_owners_go),
        TEST(circles_that_wait_already_go),
        TEST(an_orphaned_circle_is_cut),
        TEST(an_owner_is_more_than_its_uid),
        TEST(one_solid_owner_is_enough),
        TEST(a_silent_node_becomes_unknown),
        TEST(a_set_clock_and_silence),
        TEST(pods_of_a_lost_node_go),
        TEST(pods_of_a_node_that_never_was_go),
        TEST(roles_add_up),
        TEST(events_repeat_combine_and_expire),
        TEST(certificate_requests_go),
        TEST(events_beyond_a_number_go),
        TEST(finished_pods_beyond_a_number_go),
        TEST(events_yield),
        TEST(the_last_count_stays),
        TEST(a_switched_off_workload_is_evicted),
        TEST(a_workload_has_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
