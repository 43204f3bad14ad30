/* kinds_apps, kinds_replication: what long-running kinds refuse, in whose words, and their defaults. */
#include "api/schema/codec.h"
#include "base/test.h"

static struct arena arena;

static yyjson_mut_doc *object(const char *json, const struct kind *k) {
    yyjson_mut_doc *d = NULL;
    struct err err = {0};
    assert_ok(json_parse_mut(&arena, str_of(json), &d, &err), &err);
    assert_ok(codec_default(k, d, &err), &err);
    return d;
}

/* The causes of an object as "field: text", each on a line. */
static const char *causes_of(const char *kind, const char *json, const char *old) {
    static char out[8192];
    const struct kind *apps = kind_by_name(STR("apps"), str_of(kind));
    const struct kind *k = apps ? apps : kind_by_name(STR(""), str_of(kind));
    struct causes causes = {.arena = &arena};
    yyjson_doc *was = NULL;
    struct buf b;
    buf_init(&b, sizeof out);
    if (old) {
        json_write_mut(&b, yyjson_mut_doc_get_root(object(old, k)));
        assert_int_equal(json_parse(&arena, arena_str(&arena, buf_view(&b)), &was, NULL), 0);
        buf_reset(&b);
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(object(json, k));
    assert_int_equal(codec_validate(k, root, was ? yyjson_doc_get_root(was) : NULL, &causes), 0);
    for (size_t i = 0; i < causes.n; i++) {
        buf_f(&b, "%.*s: %.*s\n", STR_ARG(causes.v[i].field), STR_ARG(causes.v[i].text));
    }
    assert_true(str_copy(buf_view(&b), out, sizeof out));
    buf_release(&b);
    return out;
}

#define SPEC(selector_, labels_, more_)                                                            \
    "{\"metadata\":{\"name\":\"d\",\"namespace\":\"n\"},\"spec\":{\"selector\":" selector_ more_   \
    ",\"template\":{\"metadata\":{\"labels\":" labels_ "},\"spec\":{\"containers\":[{\"name\":"    \
    "\"c\",\"image\":\"i\"}]}}}}"
#define OF_X "{\"matchLabels\":{\"app\":\"x\"}}"
#define X "{\"app\":\"x\"}"
#define WITH(more_) SPEC(OF_X, X, "," more_)
#define REFUSED(kind_, json_, text_) assert_string_equal(causes_of(kind_, json_, NULL), text_)

static void good_ones(void **state) {
    REFUSED("Deployment", SPEC(OF_X, X, ""), "");
    REFUSED("ReplicaSet", SPEC(OF_X, X, ""), "");
    REFUSED("Deployment", WITH("\"strategy\":{\"type\":\"Recreate\"}"), "");
    REFUSED("Deployment",
            SPEC("{\"matchExpressions\":[{\"key\":\"app\",\"operator\":\"Exists\"}]}", X, ""), "");
}

static void selectors(void **state) {
    REFUSED("Deployment", SPEC("{}", X, ""),
            "spec.selector: Invalid value: {}: empty selector is invalid for deployment\n");
    REFUSED("ReplicaSet", SPEC(OF_X, "{\"app\":\"y\"}", ""),
            "spec.template.metadata.labels: Invalid value: {\"app\":\"y\"}: `selector` does not "
            "match template `labels`\n");
    assert_non_null(strstr(causes_of("Deployment", "{\"metadata\":{\"name\":\"d\"}}", NULL),
                           "spec.selector: Required value\n"));
    assert_string_equal(causes_of("Deployment",
                                  SPEC("{\"matchLabels\":{\"b\":\"1\"}}", "{\"b\":\"1\"}", ""),
                                  SPEC(OF_X, X, "")),
                        "spec.selector: Invalid value: {\"matchLabels\":{\"b\":\"1\"}}: field is "
                        "immutable\n");
}

static void pods_that_would_not_stay(void **state) {
    REFUSED("ReplicaSet",
            "{\"metadata\":{\"name\":\"d\",\"namespace\":\"n\"},\"spec\":{\"selector\":" OF_X
            ",\"template\":{\"metadata\":{\"labels\":" X "},\"spec\":{\"restartPolicy\":\"Never\","
            "\"activeDeadlineSeconds\":5,\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: "
            "\"Always\"\nspec.template.spec.activeDeadlineSeconds: Forbidden: "
            "activeDeadlineSeconds in ReplicaSet is not Supported\n");
}

static void strategies(void **state) {
    REFUSED("Deployment",
            WITH("\"strategy\":{\"type\":\"Recreate\",\"rollingUpdate\":{\"maxSurge\":1}}"),
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is "
            "'Recreate'\n");
    REFUSED("Deployment",
            WITH("\"strategy\":{\"rollingUpdate\":{\"maxSurge\":0,\"maxUnavailable\":0}}"),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when "
            "`maxSurge` is 0\n");
    REFUSED("Deployment", WITH("\"strategy\":{\"rollingUpdate\":{\"maxUnavailable\":\"101%\"}}"),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be "
            "greater than 100%\n");
    REFUSED("Deployment", WITH("\"strategy\":{\"rollingUpdate\":{\"maxSurge\":-1}}"),
            "spec.strategy.rollingUpdate.maxSurge: Invalid value: -1: must be greater than or "
            "equal to 0\n");
    assert_non_null(
        strstr(causes_of("Deployment",
                         WITH("\"strategy\":{\"rollingUpdate\":{\"maxSurge\":\"x\"}}"), NULL),
               "a valid percent string must be a numeric string followed by an ending '%'"));
    assert_non_null(strstr(causes_of("Deployment", WITH("\"strategy\":{\"type\":\"Slow\"}"), NULL),
                           "supported values: \"Recreate\", \"RollingUpdate\""));
}

static void numbers(void **state) {
    REFUSED("Deployment", WITH("\"minReadySeconds\":5,\"progressDeadlineSeconds\":5"),
            "spec.progressDeadlineSeconds: Invalid value: 5: must be greater than "
            "minReadySeconds\n");
    REFUSED("Deployment", WITH("\"replicas\":-1"),
            "spec.replicas: Invalid value: -1: must be between 0 and 10000, inclusive\n");
    REFUSED("ReplicaSet", WITH("\"replicas\":10001"),
            "spec.replicas: Invalid value: 10001: must be between 0 and 10000, inclusive\n");
}

#define STATEFUL(more_) WITH("\"serviceName\":\"s\"," more_)
#define PLAIN STATEFUL("\"replicas\":1")

/* A container mounts "data"; `spec_` has the rest of the set's spec. */
#define MOUNTS_DATA(spec_)                                                                         \
    "{\"metadata\":{\"name\":\"d\",\"namespace\":\"n\"},\"spec\":{\"selector\":" OF_X spec_        \
    ",\"serviceName\":\"s\",\"template\":{\"metadata\":{\"labels\":" X                             \
    "},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"volumeMounts\":[{\"name\":"     \
    "\"data\",\"mountPath\":\"/d\"}]}]}}}}"
#define TEMPLATE_OF(name_)                                                                         \
    ",\"volumeClaimTemplates\":[{\"metadata\":{\"name\":\"" name_                                  \
    "\"},\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":"  \
    "\"1Mi\"}}}}]"

/* What a claim's template is called is a volume of every pod. */
static void claims_are_volumes(void **state) {
    static const char none[] =
        "spec.template.spec.containers[0].volumeMounts[0].name: Not found: \"data\"\n";

    REFUSED("StatefulSet", MOUNTS_DATA(TEMPLATE_OF("data")), "");
    REFUSED("StatefulSet", MOUNTS_DATA(TEMPLATE_OF("other")), none);
    REFUSED("StatefulSet", MOUNTS_DATA(""), none);
}

static void stateful_sets(void **state) {
    REFUSED("StatefulSet", PLAIN, "");
    REFUSED("StatefulSet", SPEC("{}", X, ""),
            "spec.selector: Invalid value: {}: empty selector is invalid for statefulset\n");
    REFUSED("StatefulSet",
            STATEFUL("\"persistentVolumeClaimRetentionPolicy\":{\"whenDeleted\":\"Delete\"}"), "");
    REFUSED("StatefulSet",
            STATEFUL("\"updateStrategy\":{\"type\":\"OnDelete\",\"rollingUpdate\":{"
                     "\"partition\":1}}"),
            "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for "
            "updateStrategy 'RollingUpdate'\n");
    assert_string_equal(causes_of("StatefulSet", STATEFUL("\"replicas\":5"), PLAIN), "");
    assert_non_null(
        strstr(causes_of("StatefulSet", WITH("\"serviceName\":\"other\",\"replicas\":1"), PLAIN),
               "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "));
}

static void defaults(void **state) {
    yyjson_mut_val *root = yyjson_mut_doc_get_root(
        object(SPEC(OF_X, X, ""), kind_by_name(STR("apps"), STR("Deployment"))));
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, json_mpath(root, "spec.strategy"));
    assert_str_eq(buf_view(&b), STR("{\"type\":\"RollingUpdate\",\"rollingUpdate\":{"
                                    "\"maxUnavailable\":\"25%\",\"maxSurge\":\"25%\"}}"));
    buf_release(&b);
    assert_int_equal(yyjson_mut_get_int(json_mpath(root, "spec.replicas")), 1);
    assert_int_equal(yyjson_mut_get_int(json_mpath(root, "spec.revisionHistoryLimit")), 10);
    assert_int_equal(yyjson_mut_get_int(json_mpath(root, "spec.progressDeadlineSeconds")), 600);
    assert_str_eq(json_mstr_at(root, "spec.template.spec.restartPolicy"), STR("Always"));
}

#undef SPEC
#define SPEC(spec_) "{\"metadata\":{\"name\":\"d\",\"namespace\":\"n\"},\"spec\":{" spec_ "}}"
#define PODS(more_)                                                                                \
    "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\",\"c\":\"d\"}},\"spec\":{" more_           \
    "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"

/* The older set: its selector is a plain map, and the template's labels where none is written. */
static void replication_controllers(void **state) {
    static const char rc[] = "ReplicationController";
    yyjson_mut_val *root =
        yyjson_mut_doc_get_root(object(SPEC(PODS("")), kind_by_name(STR(""), str_of(rc))));
    assert_str_eq(json_mstr_at(root, "spec.selector.c"), STR("d"));
    assert_str_eq(json_mstr_at(root, "metadata.labels.a"), STR("b"));
    assert_int_equal(yyjson_mut_get_int(json_mpath(root, "spec.replicas")), 1);
    REFUSED(rc, SPEC(PODS("")), "");
    REFUSED(rc, SPEC("\"selector\":{\"a\":\"b\"}," PODS("")), "");
    REFUSED(rc, SPEC("\"selector\":{\"a\":\"b\",\"x\":\"y\"}," PODS("")),
            "spec.template.metadata.labels: Invalid value: {\"a\":\"b\",\"c\":\"d\"}: `selector` "
            "does not match template `labels`\n");
    REFUSED(rc, SPEC(PODS("\"restartPolicy\":\"Never\",")),
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: "
            "\"Always\"\n");
    REFUSED(rc, SPEC(""), "spec.template: Required value\n");
}

static void pod_templates(void **state) {
    static const char of[] = "PodTemplate";
    yyjson_mut_val *root = yyjson_mut_doc_get_root(
        object("{\"metadata\":{\"name\":\"t\"}," PODS("") "}", kind_by_name(STR(""), str_of(of))));
    assert_str_eq(json_mstr_at(root, "template.spec.restartPolicy"), STR("Always"));
    REFUSED(of, "{\"metadata\":{\"name\":\"t\",\"namespace\":\"n\"}," PODS("") "}", "");
    REFUSED(of, "{\"metadata\":{\"name\":\"t\",\"namespace\":\"n\"}}",
            "template.spec.containers: Required value\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones),
        cmocka_unit_test(selectors),
        cmocka_unit_test(pods_that_would_not_stay),
        cmocka_unit_test(strategies),
        cmocka_unit_test(numbers),
        cmocka_unit_test(stateful_sets),
        cmocka_unit_test(claims_are_volumes),
        cmocka_unit_test(defaults),
        cmocka_unit_test(replication_controllers),
        cmocka_unit_test(pod_templates),
    };
    arena_init(&arena, 64 << 20);
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return r;
}
