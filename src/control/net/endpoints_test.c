/* endpoints_test: the core Endpoints of Services, as their slices change. */
#include "control/net/endpoints.h"

#include "base/test.h"
#include "control/net/endpoint_slice.h"
#include "control/test/fake_world.h"

static struct fake_world w;
static struct controller *slices, *c;

static int setup(void **state) {
    fake_world_init(&w);
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                       "\"default\"}}");
    slices = controller_new(&endpoint_slice_controller, &w.env, NULL);
    c = controller_new(&endpoints_controller, &w.env, NULL);
    return slices && c ? 0 : -1;
}

static int teardown(void **state) {
    controller_free(c);
    controller_free(slices);
    fake_world_release(&w);
    return 0;
}

static void service(const char *name, const char *rest) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"default\",\"labels\":{\"team\":\"a\"}},\"spec\":{%s\"ports\":[{"
             "\"name\":\"web\",\"port\":80,\"protocol\":\"TCP\",\"targetPort\":\"http\"}]}}",
             name, rest);
    fake_world_put(&w, json);
}

static void pod(const char *name, const char *ip, int port, const char *ready) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\",\"labels\":{\"app\":\"web\"}},\"spec\":{\"nodeName\":\"n\","
             "\"containers\":[{\"name\":\"c\",\"ports\":[{\"name\":\"http\",\"containerPort\":%d}]"
             "}]}}",
             name, port);
    if (fake_world_get(&w, "Pod", "default", name) == NULL) {
        fake_world_put(&w, json);
    }
    snprintf(json, sizeof(json),
             "{\"status\":{\"phase\":\"Running\",\"podIP\":\"%s\",\"conditions\":[{\"type\":"
             "\"Ready\",\"status\":\"%s\"}]}}",
             ip, ready);
    fake_world_patch(&w, "Pod", "default", name, "status", json);
}

static void add_list(struct buf *b, yyjson_val *list, const char *mark) {
    yyjson_arr_iter it = yyjson_arr_iter_with(list);

    for (yyjson_val *a; (a = yyjson_arr_iter_next(&it));) {
        struct str ip = json_str_at(a, "ip"), pod_name = json_str_at(a, "targetRef.name");
        buf_f(b, " %.*s%s%.*s", STR_ARG(ip), mark, STR_ARG(pod_name));
    }
}

/* "8000 10.42.0.2+a 10.42.0.3-b;": of each subset the port, and addresses with their pods, ready or not. */
static void expect(const char *name, const char *want) {
    struct arena a;
    yyjson_doc *d;
    struct buf b;

    fake_world_run(&w, NS_PER_SEC);
    const struct object *o = fake_world_get(&w, "Endpoints", "default", name);
    arena_init(&a, 1 << 20);
    buf_init(&b, 4096);
    if (o) {
        assert_int_equal(object_tree(o, &a, &d, NULL), 0);
        yyjson_arr_iter it = yyjson_arr_iter_with(json_get(yyjson_doc_get_root(d), STR("subsets")));
        for (yyjson_val *s; (s = yyjson_arr_iter_next(&it));) {
            buf_f(
                &b, "%lld",
                (long long)json_i64_at(yyjson_arr_get_first(json_get(s, STR("ports"))), "port", 0));
            add_list(&b, json_get(s, STR("addresses")), "+");
            add_list(&b, json_get(s, STR("notReadyAddresses")), "-");
            buf_ch(&b, ';');
        }
    } else {
        buf_c(&b, "none");
    }
    assert_str_eq(buf_view(&b), str_of(want));
    buf_release(&b);
    arena_release(&a);
}

#define SELECTS "\"clusterIP\":\"10.43.0.9\",\"selector\":{\"app\":\"web\"},"

static void they_follow_readiness(void **state) {
    service("web", SELECTS);
    expect("web", "");
    pod("b", "10.42.0.3", 8000, "False");
    pod("a", "10.42.0.2", 8000, "True");
    expect("web", "8000 10.42.0.2+a 10.42.0.3-b;");
    pod("b", "10.42.0.3", 8000, "True");
    expect("web", "8000 10.42.0.2+a 10.42.0.3+b;");
    uint64_t writes = w.writes;
    fake_world_run(&w, 60 * NS_PER_SEC);
    assert_int_equal(w.writes, writes);                         /* it settles */
    fake_world_delete(&w, "Pod", "default", "a", "Background"); /* it is ending */
    expect("web", "8000 10.42.0.3+b;");
    const struct object *o = fake_world_get(&w, "Endpoints", "default", "web");
    assert_str_eq(object_label(o, STR("team")), STR("a"));
    assert_str_eq(object_label(o, STR("endpoints.kubernetes.io/managed-by")),
                  STR("endpoint-controller"));
}

static void ports_that_differ_have_subsets_of_their_own(void **state) {
    service("web", SELECTS);
    pod("a", "10.42.0.2", 9000, "True");
    pod("b", "10.42.0.3", 8000, "True");
    expect("web", "8000 10.42.0.3+b;9000 10.42.0.2+a;");
}

static void an_edit_is_undone(void **state) {
    service("web", SELECTS);
    pod("a", "10.42.0.2", 8000, "True");
    expect("web", "8000 10.42.0.2+a;");
    fake_world_patch(&w, "Endpoints", "default", "web", "", "{\"subsets\":[]}");
    expect("web", "8000 10.42.0.2+a;");
    fake_world_delete(&w, "Endpoints", "default", "web", "Background");
    expect("web", "8000 10.42.0.2+a;");
}

static void they_go_with_their_service(void **state) {
    service("web", SELECTS);
    expect("web", "");
    fake_world_delete(&w, "Service", "default", "web", "Background");
    expect("web", "none");
}

/* Somebody's own, which nothing selects. */
static void without_a_selector_nothing_is_written(void **state) {
    const char *own =
        "{\"apiVersion\":\"v1\",\"kind\":\"Endpoints\",\"metadata\":{\"name\":\"own\","
        "\"namespace\":\"default\"},\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.7\"}],"
        "\"ports\":[{\"port\":5432}]}]}";
    fake_world_put(&w, own);
    expect("own", "5432 192.0.2.7+;"); /* its Service is still to come */
    service("own", "\"clusterIP\":\"10.43.0.8\",");
    expect("own", "5432 192.0.2.7+;");
}

static void too_many_are_said_to_be_left_out(void **state) {
    char name[16], ip[16];

    service("web", "\"clusterIP\":\"None\",\"selector\":{\"app\":\"web\"},");
    for (int i = 0; i <= ENDPOINTS_MAX; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        snprintf(ip, sizeof(ip), "10.42.%d.%d", i / 250, i % 250 + 1);
        pod(name, ip, 8000, "True");
    }
    fake_world_run(&w, 5 * NS_PER_SEC);
    const struct object *o = fake_world_get(&w, "Endpoints", "default", "web");
    assert_non_null(o);
    assert_true(
        str_contains(o->json, STR("\"endpoints.kubernetes.io/over-capacity\":\"truncated\"")));
    assert_true(str_contains(o->json, STR("\"service.kubernetes.io/headless\":\"\"")));
    fake_world_delete(&w, "Pod", "default", "p7", "Background");
    fake_world_run(&w, 5 * NS_PER_SEC);
    o = fake_world_get(&w, "Endpoints", "default", "web");
    assert_false(str_contains(o->json, STR("over-capacity")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(they_follow_readiness, setup, teardown),
        cmocka_unit_test_setup_teardown(ports_that_differ_have_subsets_of_their_own, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_edit_is_undone, setup, teardown),
        cmocka_unit_test_setup_teardown(they_go_with_their_service, setup, teardown),
        cmocka_unit_test_setup_teardown(without_a_selector_nothing_is_written, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_are_said_to_be_left_out, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
