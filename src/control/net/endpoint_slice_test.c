/* endpoint_slice_test: what stands behind Services as their pods come, are ready, and go. */
#include "control/net/endpoint_slice.h"

#include "base/test.h"
#include "control/test/fake_world.h"

static struct fake_world w;
static struct controller *c;

static int setup(void **state) {
    fake_world_init(&w);
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                       "\"default\"}}");
    c = controller_new(&endpoint_slice_controller, &w.env, NULL);
    return c ? 0 : -1;
}

static int teardown(void **state) {
    controller_free(c);
    fake_world_release(&w);
    return 0;
}

static void service(const char *name, const char *rest) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"default\"},\"spec\":{%s\"ports\":[{\"port\":80,\"protocol\":\"TCP\","
             "\"targetPort\":\"http\"}]}}",
             name, rest);
    fake_world_put(&w, json);
}

static void pod(const char *name, const char *ip, int port, const char *ready) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeName\":\"n\",\"hostname\":"
             "\"%s\",\"subdomain\":\"web\",\"containers\":[{\"name\":\"c\",\"ports\":[{\"name\":"
             "\"http\",\"containerPort\":%d}]}]}}",
             name, name, port);
    if (fake_world_get(&w, "Pod", "default", name) == NULL) {
        fake_world_put(&w, json);
    }
    snprintf(json, sizeof(json),
             "{\"status\":{\"phase\":\"Running\",\"podIP\":\"%s\",\"conditions\":[{\"type\":"
             "\"Ready\",\"status\":\"%s\"}]}}",
             ip, ready);
    fake_world_patch(&w, "Pod", "default", name, "status", json);
}

struct looking {
    struct buf out;
};

static bool look_at(void *ctx, const struct object *o) {
    struct looking *l = ctx;
    struct arena a;
    yyjson_doc *d;

    arena_init(&a, 1 << 20);
    assert_int_equal(object_tree(o, &a, &d, NULL), 0);
    yyjson_val *root = yyjson_doc_get_root(d), *e;
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(root, STR("endpoints")));
    buf_f(&l->out, "%.*s:%lld",
          STR_ARG(json_str(
              json_get(json_path(root, "metadata.labels"), STR("kubernetes.io/service-name")))),
          (long long)json_i64_at(yyjson_arr_get_first(json_get(root, STR("ports"))), "port", 0));
    while ((e = yyjson_arr_iter_next(&it))) {
        buf_f(&l->out, " %.*s%s%s",
              STR_ARG(json_str(yyjson_arr_get_first(json_get(e, STR("addresses"))))),
              json_bool_at(e, "conditions.ready", false) ? "+" : "-",
              json_str_at(e, "hostname").n ? "h" : "");
    }
    buf_ch(&l->out, ';');
    arena_release(&a);
    return true;
}

/* "web:8000 10.42.0.2+h;": Service, port, endpoints, each ready or not and named or not. */
static void expect(const char *want) {
    struct looking l;

    fake_world_run(&w, NS_PER_SEC);
    buf_init(&l.out, 0);
    mirror_scan(w.mirror, kind_by_name(STR("discovery.k8s.io"), STR("EndpointSlice")), STR(""),
                look_at, &l);
    assert_string_equal(buf_cstr(&l.out), want);
    buf_release(&l.out);
}

#define SELECTS "\"selector\":{\"app\":\"web\"},\"clusterIP\":\"10.43.0.5\","

static void readiness_is_followed(void **state) {
    service("web", SELECTS);
    expect("web:0;");
    pod("a", "10.42.0.2", 8000, "False");
    expect("web:8000 10.42.0.2-h;");
    pod("a", "10.42.0.2", 8000, "True");
    expect("web:8000 10.42.0.2+h;");
    uint64_t writes = w.writes;
    fake_world_run(&w, 60 * NS_PER_SEC);
    assert_int_equal(w.writes, writes); /* it settles */
    fake_world_delete(&w, "Pod", "default", "a", "Background");
    expect("web:8000 10.42.0.2-h;"); /* it is ending */
    fake_world_kubelet(&w);
    expect("web:0;");
}

static void named_ports_are_each_pods_own(void **state) {
    service("web", SELECTS);
    pod("a", "10.42.0.2", 8000, "True");
    pod("b", "10.42.0.3", 9000, "True");
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(fake_world_count(&w, "EndpointSlice"), 2);
    fake_world_delete(&w, "Pod", "default", "b", "Background");
    fake_world_run(&w, NS_PER_SEC);
    fake_world_kubelet(&w);
    fake_world_run(&w, NS_PER_SEC);
    pod("b", "10.42.0.3", 8000, "True");
    expect("web:8000 10.42.0.3+h;"); /* the other has ended meanwhile */
    pod("c", "10.42.0.4", 8000, "True");
    expect("web:8000 10.42.0.3+h 10.42.0.4+h;");
}

static void failed_writes_are_tried_again(void **state) {
    w.fail_at = 1;
    service("web", SELECTS);
    pod("a", "10.42.0.2", 8000, "True");
    fake_world_run(&w, 5 * NS_PER_SEC);
    expect("web:8000 10.42.0.2+h;");
}

static void without_a_selector_nothing_is_written(void **state) {
    service("own", "");
    pod("a", "10.42.0.2", 8000, "True");
    expect("");
}

static void not_ready_ones_are_published_where_asked_for(void **state) {
    service("web", SELECTS "\"publishNotReadyAddresses\":true,");
    pod("a", "10.42.0.2", 8000, "False");
    expect("web:8000 10.42.0.2+h;");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(readiness_is_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(named_ports_are_each_pods_own, setup, teardown),
        cmocka_unit_test_setup_teardown(failed_writes_are_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_selector_nothing_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(not_ready_ones_are_published_where_asked_for, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
