/* pod_env: values, references, expansion; what is missing is told apart from what can never be. */
#include "base/test.h"

#include "node/spec/pod_env.h"

static const char pod_json[] =
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"uid\":\"u\",\"labels\":{\"app\":\"x\","
    "\"a.b/c\":\"y\"},"
    "\"annotations\":{\"batch.kubernetes.io/"
    "job-completion-index\":\"3\"}},\"spec\":{\"nodeName\":\"n1\","
    "\"containers\":[{\"name\":\"main\",\"resources\":{\"limits\":{\"memory\":\"1Gi\",\"cpu\":"
    "\"1500m\"}},"
    "\"envFrom\":[{\"prefix\":\"CM_\",\"configMapRef\":{\"name\":\"c\"}},"
    "{\"secretRef\":{\"name\":\"nowhere\",\"optional\":true}}],\"env\":["
    "{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"$(A)-$(NO)-$$(A)\"},"
    "{\"name\":\"A\",\"value\":\"2\"},"
    "{\"name\":\"NAME\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.name\"}}},"
    "{\"name\":\"LABEL\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"metadata.labels['a.b/"
    "c']\"}}},"
    "{\"name\":\"JOB_COMPLETION_INDEX\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"
    "\"metadata.annotations['batch.kubernetes.io/job-completion-index']\"}}},"
    "{\"name\":\"IP\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":\"status.podIP\"}}},"
    "{\"name\":\"MIB\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.memory\","
    "\"divisor\":\"1Mi\"}}},"
    "{\"name\":\"CPU\",\"valueFrom\":{\"resourceFieldRef\":{\"resource\":\"limits.cpu\"}}},"
    "{\"name\":\"KEY\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"k\"}}},"
    "{\"name\":\"MAYBE\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"s\",\"key\":\"none\","
    "\"optional\":true}}}]},"
    "{\"name\":\"lost\",\"env\":[{\"name\":\"X\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":"
    "\"nowhere\","
    "\"key\":\"k\"}}}]},"
    "{\"name\":\"wrong\",\"env\":[{\"name\":\"X\",\"valueFrom\":{\"fieldRef\":{\"fieldPath\":"
    "\"spec.x\"}}}]}]}}";

static struct arena arena;

static yyjson_val *parse(const char *text) {
    yyjson_doc *doc;
    struct err err;

    assert_ok(json_parse(&arena, str_of(text), &doc, &err), &err);
    return yyjson_doc_get_root(doc);
}

static yyjson_val *lookup(void *ctx, enum pod_source kind, struct str name) {
    if (kind == POD_CONFIG_MAP && str_is(name, "c")) {
        return parse("{\"data\":{\"x\":\"from map\",\"y\":\"2\"}}");
    }
    if (kind == POD_SECRET && str_is(name, "s")) {
        return parse("{\"data\":{\"k\":\"aHVzaA==\"}}");
    }
    return NULL;
}

static struct str get(const struct pod_env *e, const char *name) {
    for (size_t i = 0; i < e->n; i++) {
        if (str_is(e->v[i].key, name)) {
            return e->v[i].value;
        }
    }
    return STR("(unset)");
}

static const struct pod_facts facts = {.pod_ip = {"127.0.0.1", 9}, .node_cpu_milli = 2000};

static int build(struct pod_env *e, size_t container, struct err *err) {
    yyjson_val *pod = parse(pod_json);
    const struct pod_env_in in = {.pod = pod,
                                  .container =
                                      yyjson_arr_get(json_path(pod, "spec.containers"), container),
                                  .facts = &facts,
                                  .lookup = lookup};

    *e = (struct pod_env){.arena = &arena};
    return pod_env_build(e, &in, err);
}

static void test_values(void **state) {
    struct pod_env e;
    struct err err;

    arena_init(&arena, 1 << 20);
    assert_ok(build(&e, 0, &err), &err);
    assert_str_eq(get(&e, "A"), STR("2"));
    assert_str_eq(get(&e, "B"), STR("1-$(NO)-$(A)"));
    assert_str_eq(get(&e, "CM_x"), STR("from map"));
    assert_str_eq(get(&e, "NAME"), STR("p"));
    assert_str_eq(get(&e, "LABEL"), STR("y"));
    assert_str_eq(get(&e, "JOB_COMPLETION_INDEX"), STR("3"));
    assert_str_eq(get(&e, "IP"), STR("127.0.0.1"));
    assert_str_eq(get(&e, "MIB"), STR("1024"));
    assert_str_eq(get(&e, "CPU"), STR("2")); /* 1500m, rounded up */
    assert_str_eq(get(&e, "KEY"), STR("hush"));
    assert_str_eq(get(&e, "MAYBE"), STR("(unset)"));
    arena_release(&arena);
}

static void test_missing_and_wrong(void **state) {
    struct pod_env e;
    struct err err;

    arena_init(&arena, 1 << 20);
    assert_int_equal(build(&e, 1, &err), ERR_NOT_FOUND);
    assert_string_equal(err.text, "configmap \"nowhere\" not found");
    assert_int_equal(build(&e, 2, &err), ERR_INVALID);
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_missing_and_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
