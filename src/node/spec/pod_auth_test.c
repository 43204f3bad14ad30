/* pod_auth: Secrets for registries become one file; what is none is named. */
#include "base/test.h"

#include "node/spec/pod_auth.h"
#include "wire/text/base64.h"

static yyjson_val *secret(struct arena *a, const char *type, const char *key, const char *text) {
    yyjson_doc *doc;
    struct buf b;

    buf_init(&b, 1 << 16);
    base64_encode(&b, str_of(text));
    struct str json = arena_f(
        a,
        "{\"metadata\":{\"name\":\"s\"},\"type\":\"kubernetes.io/%s\",\"data\":{\"%s\":\"%.*s\"}}",
        type, key, STR_ARG(buf_view(&b)));
    buf_release(&b);
    assert_int_equal(json_parse(a, json, &doc, NULL), 0);
    return yyjson_doc_get_root(doc);
}

static void test_joined(void **state) {
    struct arena a;
    struct buf out;
    struct err err;

    arena_init(&a, 1 << 20);
    buf_init(&out, 1 << 16);
    struct pod_auth p = {.arena = &a};
    pod_auth_write(&p, &out);
    assert_int_equal(out.n, 0);
    assert_ok(pod_auth_add(&p,
                           secret(&a, "dockerconfigjson", ".dockerconfigjson",
                                  "{\"auths\":{\"x\":{\"auth\":\"1\"}}}"),
                           &err),
              &err);
    assert_ok(pod_auth_add(&p,
                           secret(&a, "dockercfg", ".dockercfg",
                                  "{\"x\":{\"auth\":\"2\"},\"y\":{\"auth\":\"3\"}}"),
                           &err),
              &err);
    pod_auth_write(&p, &out);
    assert_str_eq(buf_view(&out),
                  STR("{\"auths\":{\"x\":{\"auth\":\"1\"},\"y\":{\"auth\":\"3\"}}}\n"));
    buf_release(&out);
    arena_release(&a);
}

static void test_refused(void **state) {
    static const char *const rows[][3] = {
        {"Opaque", ".dockerconfigjson", "{\"auths\":{}}"},
        {"dockerconfigjson", "other", "{\"auths\":{}}"},
        {"dockerconfigjson", ".dockerconfigjson", "no JSON"},
        {"dockerconfigjson", ".dockerconfigjson", "{\"auths\":[]}"},
        {"dockercfg", ".dockercfg", "7"},
    };
    struct arena a;
    struct err err;

    arena_init(&a, 1 << 20);
    struct pod_auth p = {.arena = &a};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(pod_auth_add(&p, secret(&a, rows[i][0], rows[i][1], rows[i][2]), &err),
                         ERR_INVALID);
        assert_true(str_contains(str_of(err.text), STR("Secret \"s\" in imagePullSecrets")));
    }
    assert_int_equal(p.n, 0);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joined),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
