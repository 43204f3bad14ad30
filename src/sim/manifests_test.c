/* Tests of manifests: streams, lists, versions, defaults, and what is refused, word for word. */
#include "sim/manifests.h"

#include "wire/json/json_fixture.h"

static void refused(const char *text, int code, const char *want) {
    struct manifests m = {0};
    struct err err = {0};
    assert_int_equal(manifests_read(&arena, "f.yaml", str_of(text), &m, &err), code);
    assert_string_equal(err.text, want);
}

#define QUEUES_API "apiVersion: kueue.x-k8s.io/v1beta2\nkind: "
#define FLAVOR "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: f}\n"
#define QUEUE(more)                                                                                \
    "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec: {" more    \
    "}\n"

static void test_stream(void **state) {
    struct manifests m = {0};
    struct err err = {0};
    assert_ok(manifests_read(&arena, "f.yaml",
                             STR(FLAVOR "---\n"
                                        "apiVersion: v1\nkind: List\nitems:\n"
                                        "- {apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue,"
                                        "   metadata: {name: q}, spec: {cohort: all}}\n"
                                        "- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue,"
                                        "   metadata: {name: l}, spec: {clusterQueue: q}}\n"),
                             &m, &err),
              &err);
    assert_int_equal(m.n, 3);
    assert_string_equal(m.v[0].kind->kind, "ResourceFlavor");
    assert_str_eq(m.v[0].ns, STR(""));
    assert_str_eq(m.v[1].name, STR("q")); /* converted, defaults filled in */
    assert_true(str_contains(m.v[1].json, STR("\"cohortName\":\"all\"")));
    assert_true(str_contains(m.v[1].json, STR("\"queueingStrategy\":\"BestEffortFIFO\"")));
    assert_false(str_contains(m.v[1].json, STR("uid")));
    assert_str_eq(m.v[2].ns, STR("default"));
    assert_true(str_contains(m.v[2].json, STR("\"namespace\":\"default\"")));
}

static void test_parts(void **state) {
    struct manifests m = {0};
    struct err err = {0};
    struct str text = STR(QUEUES_API "LocalQueue\nmetadata: {name: l}\n");
    assert_int_equal(manifests_read(&arena, "f.yaml", text, &m, &err), ERR_INVALID);
    assert_ok(manifests_read_parts(&arena, "f.yaml", text, &m, &err), &err);
    assert_int_equal(m.n, 1);
    assert_str_eq(m.v[0].ns, STR("default"));
    assert_false(str_contains(m.v[0].json, STR("spec")));
    text = STR(QUEUES_API "LocalQueue\nmetadata: {}\n");
    assert_int_equal(manifests_read_parts(&arena, "f.yaml", text, &m, &err), ERR_INVALID);
    assert_string_equal(err.text, "f.yaml: LocalQueue : metadata.name: Required value");
    text = STR(QUEUES_API "LocalQueue\nmetadata: {name: l}\nsize: 1\n");
    assert_int_equal(manifests_read_parts(&arena, "f.yaml", text, &m, &err), ERR_INVALID);
    assert_string_equal(err.text, "f.yaml: LocalQueue l: size: unknown field");
}

static void test_refused(void **state) {
    refused("a: [", ERR_SYNTAX, "f.yaml: line 2, column 1: did not find expected node content");
    refused("a: 1\n", ERR_INVALID, "f.yaml: apiVersion and kind are needed");
    refused(FLAVOR "---\n- 1\n", ERR_INVALID, "f.yaml: document 2: expected an object");
    refused(FLAVOR "---\napiVersion: v1\nkind: Nothing\n", ERR_INVALID,
            "f.yaml: document 2: there is no kind Nothing in v1");
    refused("apiVersion: v1\nkind: List\nitems: [1]\n", ERR_INVALID,
            "f.yaml: items[0]: apiVersion and kind are needed");
    refused(QUEUE("cohortNam: a"), ERR_INVALID,
            "f.yaml: ClusterQueue q: spec.cohortNam: unknown field");
    refused(QUEUE("queueingStrategy: Fast"), ERR_INVALID,
            "f.yaml: ClusterQueue q: spec.queueingStrategy: Unsupported value: \"Fast\": supported "
            "values: \"BestEffortFIFO\", \"StrictFIFO\"");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
