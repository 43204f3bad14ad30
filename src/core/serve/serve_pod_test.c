/* serve_pod: pods of runtimes and services, as texts. */
#include "core/serve/serve_pod.h"

#include "base/test.h"

static struct arena arena;

static int setup(void **state) {
    (void)state;
    arena_init(&arena, 256 << 20);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    arena_release(&arena);
    return 0;
}

static yyjson_val *tree(const char *json) {
    yyjson_doc *d;
    struct err err;
    assert_ok(json_parse(&arena, str_of(json), &d, &err), &err);
    return yyjson_doc_get_root(d);
}

static const struct str_pair label = {{"app", 3}, {"isvc.m", 6}};
static struct err err;
static int32_t port;

static int make(struct serve_pod_of of, yyjson_mut_val **ret) {
    yyjson_mut_doc *d = json_mut_new(&arena);
    of.labels = (struct str_map){(struct str_pair *)&label, 1};
    of.meta = (struct serve_meta){.name = STR("m"), .namespace = STR("team")};
    return serve_pod(&of, d, ret, &port, &err);
}

static void is(struct serve_pod_of of, const char *want) {
    yyjson_mut_val *got;
    struct buf b;
    assert_ok(make(of, &got), &err);
    buf_init(&b, 0);
    json_write_mut(&b, got);
    buf_ch(&b, '\0');
    assert_string_equal(b.p, want);
    buf_release(&b);
}

#define RUNTIME                                                                                    \
    "{\"supportedModelFormats\":[{\"name\":\"vLLM\"}],\"annotations\":{\"a\":\"1\"},"              \
    "\"volumes\":[{\"name\":\"shm\",\"emptyDir\":{\"medium\":\"Memory\"}}],\"containers\":[{"      \
    "\"name\":\"kserve-container\",\"image\":\"vllm:1\",\"args\":[\"--served={{.Name}}\"],"        \
    "\"env\":[{\"name\":\"A\",\"value\":\"1\"}],\"ports\":[{\"containerPort\":8000}],"             \
    "\"readinessProbe\":{\"httpGet\":{\"path\":\"/health\",\"port\":8000}}}]}"

static void a_model_over_its_runtime(void **state) {
    struct str more = STR("--tensor-parallel-size=2");
    (void)state;
    is(
        (struct serve_pod_of){
            .runtime = tree(RUNTIME),
            .pod =
                tree("{\"minReplicas\":2,\"nodeSelector\":{\"x\":\"y\"},\"labels\":{\"l\":\"2\"},"
                     "\"volumes\":[{\"name\":\"shm\",\"emptyDir\":{\"sizeLimit\":\"1Gi\"}}]}"),
            .server =
                tree("{\"modelFormat\":{\"name\":\"vLLM\"},\"args\":[\"--x\"],\"env\":[{\"name\":"
                     "\"A\",\"value\":\"2\"}],\"resources\":{\"limits\":{\"cpu\":\"1\"}}}"),
            .version = STR("2"),
            .args = &more,
            .n_args = 1},
        "{\"spec\":{\"volumes\":[{\"name\":\"shm\",\"emptyDir\":{\"medium\":\"Memory\","
        "\"sizeLimit\":"
        "\"1Gi\"}}],\"containers\":[{\"name\":\"kserve-container\",\"image\":\"vllm:2\",\"args\":["
        "\"--served=m\",\"--x\",\"--tensor-parallel-size=2\"],\"env\":[{\"name\":\"A\",\"value\":"
        "\"2\"}"
        ",{\"name\":\"PORT\",\"value\":\"8000\"}],\"ports\":[{\"containerPort\":8000}],"
        "\"readinessProbe\":{\"httpGet\":{\"path\":\"/health\",\"port\":8000}},\"resources\":{"
        "\"limits\":{\"cpu\":\"1\"}}}],\"nodeSelector\":{\"x\":\"y\"}},\"metadata\":{\"labels\":{"
        "\"l\":\"2\",\"app\":\"isvc.m\"},\"annotations\":{\"a\":\"1\"}}}");
    assert_int_equal(port, 8000);
}

static const char *at(yyjson_mut_val *v, const char *path) {
    struct str s = json_mstr(json_mpath(v, path));
    return s.p ? arena_f(&arena, "%.*s", STR_ARG(s)).p : "";
}

static yyjson_mut_val *first(yyjson_mut_val *v, const char *path) {
    return yyjson_mut_arr_get_first(json_mpath(v, path));
}

static void where_the_model_is(void **state) {
    yyjson_mut_val *t;
    (void)state;
    assert_ok(make((struct serve_pod_of){.runtime = tree(RUNTIME), .uri = STR("hf://a/b")}, &t),
              &err);
    assert_true(
        str_is(json_mstr(json_mget(json_mpath(t, "metadata.annotations"), STR(SERVE_SOURCE))),
               "hf://a/b"));
    assert_string_equal(at(first(first(t, "spec.containers"), "volumeMounts"), "mountPath"),
                        "/mnt/models");
    assert_ok(make((struct serve_pod_of){.runtime = tree(RUNTIME), .uri = STR("pvc://c/d/e")}, &t),
              &err);
    yyjson_mut_val *mount = first(first(t, "spec.containers"), "volumeMounts");
    assert_string_equal(at(mount, "subPath"), "d/e");
    assert_string_equal(at(mount, "name"), SERVE_CLAIM_VOLUME);
    assert_null(json_mget(json_mpath(t, "metadata.annotations"), STR(SERVE_SOURCE)));
    yyjson_mut_val *v = yyjson_mut_arr_get_last(json_mpath(t, "spec.volumes"));
    assert_string_equal(at(v, "persistentVolumeClaim.claimName"), "c");
}

static void a_server_of_ones_own(void **state) {
    struct str_pair amount = {STR("nvidia.com/mig-1g.18gb"), STR("1")};
    yyjson_mut_val *t;
    (void)state;
    assert_ok(make((struct serve_pod_of){.pod = tree(
                                             "{\"containers\":[{\"name\":\"x\",\"image\":\"i\"}]}"),
                                         .hardware = {.amounts = &amount, .n_amounts = 1}},
                   &t),
              &err);
    yyjson_mut_val *server = first(t, "spec.containers");
    assert_string_equal(at(first(server, "env"), "value"), "8080");
    assert_int_equal(port, SERVE_PORT);
    assert_true(
        str_is(json_mstr(json_mget(json_mpath(server, "resources.limits"), amount.key)), "1"));
    assert_int_equal(yyjson_mut_get_sint(json_mpath(server, "readinessProbe.tcpSocket.port")),
                     8080);
}

static void what_is_refused(void **state) {
    yyjson_mut_val *t = NULL;
    (void)state;
    assert_int_equal(
        make((struct serve_pod_of){.pod = tree(
                                       "{\"containers\":[{\"name\":\"x\"},{\"name\":\"y\"}]}")},
             &t),
        ERR_INVALID);
    assert_string_equal(err.text, "no container is named kserve-container");
    assert_int_equal(make((struct serve_pod_of){.runtime = tree(RUNTIME),
                                                .server = tree("{\"args\":[\"{{.Spec.x}}\"]}")},
                          &t),
                     ERR_INVALID);
    assert_non_null(strstr(err.text, ".Spec.x"));
    assert_null(t);
}

/* {"containers": [...]} of one server with n variables: PREFIX0, PREFIX1, ... */
static yyjson_val *with_variables(const char *prefix, int n) {
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "{\"containers\":[{\"name\":\"kserve-container\",\"env\":[");
    for (int i = 0; i < n; i++) {
        buf_f(&b, "%s{\"name\":\"%s%d\"}", i > 0 ? "," : "", prefix, i);
    }
    buf_c(&b, "]}]}");
    yyjson_val *v = tree(buf_cstr(&b));
    buf_release(&b);
    return v;
}

/* As many variables as an object holds, in the runtime and in the service; some of them are in both. */
static void many_variables(void **state) {
    enum { N = 60000 };
    yyjson_mut_val *got;
    (void)state;
    yyjson_val *service = with_variables("B", N);
    assert_ok(make((struct serve_pod_of){.runtime = with_variables("A", N), .pod = service}, &got),
              &err);
    yyjson_mut_val *server = yyjson_mut_arr_get_first(json_mpath(got, "spec.containers"));
    assert_int_equal(yyjson_mut_arr_size(json_mget(server, STR("env"))), 2 * N + 1); /* and PORT */
    assert_ok(
        make((struct serve_pod_of){.runtime = with_variables("B", N / 2), .pod = service}, &got),
        &err);
    server = yyjson_mut_arr_get_first(json_mpath(got, "spec.containers"));
    assert_int_equal(yyjson_mut_arr_size(json_mget(server, STR("env"))), N + 1);
}

static void many_labels(void **state) {
    struct buf b;
    yyjson_mut_val *got = NULL;
    (void)state;
    buf_init(&b, 0);
    buf_c(&b, "{\"labels\":{\"a\":\"\"");
    for (int i = 1; i <= SERVE_MEMBERS_MAX; i++) {
        buf_f(&b, ",\"l%d\":\"\"", i);
    }
    buf_c(&b, "}}");
    assert_int_equal(
        make((struct serve_pod_of){.runtime = tree(RUNTIME), .pod = tree(buf_cstr(&b))}, &got),
        ERR_INVALID);
    assert_string_equal(err.text, "labels: expected at most 256 entries, not 257");
    assert_null(got);
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_over_its_runtime, setup, teardown),
        cmocka_unit_test_setup_teardown(where_the_model_is, setup, teardown),
        cmocka_unit_test_setup_teardown(a_server_of_ones_own, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(many_variables, setup, teardown),
        cmocka_unit_test_setup_teardown(many_labels, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
