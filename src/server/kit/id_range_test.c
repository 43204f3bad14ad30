/* id_range_test: the ids of namespaces, and what pods may ask for. */
#include "server/kit/id_range.h"

#include "server/auth/policy_fixture.h"

static void write_space(char json[400], const char *name, const char *range) {
    snprintf(json, 400,
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"%s%s%s}}",
             name, range ? ",\"annotations\":{\"" ID_RANGE_ANNOTATION "\":\"" : "",
             range ? range : "", range ? "\"}" : "");
}

static struct object *space(const char *name, const char *range) {
    char json[400];
    struct object *o = NULL;
    struct err err;

    write_space(json, name, range);
    assert_ok(object_new(kind_by_name(STR(""), STR("Namespace")), str_of(json), &o, &err), &err);
    return o;
}

static int read_range(const char *text, struct id_range *ret) {
    struct object *o = space("a", text);
    struct arena a;

    arena_init(&a, 1 << 20);
    int code = id_range_read(o, &a, ret, NULL);
    arena_release(&a);
    object_unref(o);
    return code;
}

static void ranges_are_read(void **state) {
    static const char *const bad[] = {"x",          "1/2",           "1000000000",
                                      "5-4",        "1000000000/0",  "1899999999/2",
                                      "-1/5",       "2147483647/2",  "1900000000-1900000001",
                                      "0/99999999", "1000000000/5/6"};
    struct id_range r;

    assert_int_equal(read_range("1000680000/10000", &r), 0);
    assert_true(r.first == 1000680000 && r.last == 1000689999);
    assert_int_equal(read_range("1000680000-1000680001", &r), 0);
    assert_true(r.last == 1000680001);
    assert_int_equal(read_range(NULL, &r), ERR_NOT_FOUND);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(read_range(bad[i], &r), ERR_INVALID);
    }
}

static void put(struct mirror *m, const char *name, const char *range) {
    char json[400];

    write_space(json, name, range);
    fixture_put(m, json);
}

static struct str give(struct id_ranges *g, const struct mirror *m, struct arena *a,
                       const char *json) {
    yyjson_mut_doc *d;
    struct err err;

    assert_ok(json_parse_mut(a, str_of(json), &d, &err), &err);
    assert_int_equal(id_range_give(g, m, d), 0);
    return json_mstr(json_mget(json_mpath(yyjson_mut_doc_get_root(d), "metadata.annotations"),
                               STR(ID_RANGE_ANNOTATION)));
}

static void nobody_gets_anothers(void **state) {
    struct mirror *m = fixture_mirror();
    struct id_ranges g = {0};
    struct arena a;

    arena_init(&a, 1 << 20);
    put(m, "a", "1902000000/10000");
    put(m, "b", "1902015000-1902025000");
    put(m, "c", NULL);
    assert_str_eq(give(&g, m, &a, "{\"metadata\":{}}"), STR("1902030000/10000"));
    assert_str_eq(give(&g, m, &a, "{\"metadata\":{}}"), STR("1902040000/10000"));
    assert_str_eq(
        give(&g, m, &a, "{\"metadata\":{\"annotations\":{\"" ID_RANGE_ANNOTATION "\":\"7/8\"}}}"),
        STR("7/8"));
    arena_release(&a);
    mirror_free(m);
}

static void judged(const char *spec, const char *want) {
    struct object *o = space("a", "1000000100/100");
    struct arena a;
    yyjson_mut_doc *d;
    struct err err = {0};

    arena_init(&a, 1 << 20);
    assert_ok(json_parse_mut(&a, str_of(spec), &d, &err), &err);
    int code = id_range_check(yyjson_mut_doc_get_root(d), o, &a, &err);
    assert_int_equal(code, *want ? ERR_FORBIDDEN : 0);
    assert_true(*want == 0 || str_starts(str_of(err.text), str_of(want)));
    arena_release(&a);
    object_unref(o);
}

static void pods_are_judged(void **state) {
    judged("{\"containers\":[{\"name\":\"c\"}]}", "");
    judged("{\"securityContext\":{\"runAsUser\":1000000100,\"fsGroup\":5}}", "");
    judged("{\"securityContext\":{\"runAsUser\":0}}", "spec.securityContext.runAsUser: Invalid");
    judged("{\"securityContext\":{\"runAsUser\":1000000200}}", "spec.securityContext.runAsUser: ");
    judged("{\"securityContext\":{\"fsGroup\":1900000000}}", "spec.securityContext.fsGroup: ");
    judged("{\"securityContext\":{\"supplementalGroups\":[1000000101,1]}}",
           "spec.securityContext.supplementalGroups[1]: ");
    judged(
        "{\"containers\":[{\"securityContext\":{\"runAsUser\":1000000101}},{\"securityContext\":{"
        "\"runAsUser\":1000000102}}]}",
        "spec.containers[1].securityContext.runAsUser: ");
    judged("{\"initContainers\":[{\"securityContext\":{\"runAsGroup\":3}}]}",
           "spec.initContainers[0].securityContext.runAsGroup: ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_read),
        cmocka_unit_test(nobody_gets_anothers),
        cmocka_unit_test(pods_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
