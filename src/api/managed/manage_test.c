/* Tests of field managers: what applies and updates make of objects, and of who manages what. */
#include "api/managed/manage.h"

#include "api/schema/crd_schema.h"
#include "api/schema/kind.h"
#include "base/limits.h"
#include "base/test.h"

#define SECOND INT64_C(1000000000)

/* An object under way: its text, who manages it, and a clock that goes on with every write. */
struct world {
    struct arena a;
    const struct schema *schema;
    struct str version;
    struct str live; /* empty: there is none */
    struct managers all;
    int64_t now;
    struct applied applied;
    struct err err;
    const char *only, *without, *subresource;
};

static struct world w;

static void begin(const char *group, const char *version, const char *plural) {
    const struct kind *k = kind_by_resource(str_of(group), str_of(version), str_of(plural));
    w = (struct world){.schema = kind_version(k, str_of(version))->schema, .now = SECOND};
    arena_init(&w.a, 64 << 20);
    w.version = group[0] ? arena_f(&w.a, "%s/%s", group, version) : str_of(version);
}

static void end(void) {
    arena_release(&w.a);
}

static yyjson_mut_doc *doc_of(struct str text) {
    yyjson_mut_doc *d;
    struct err err = {0};
    assert_ok(json_parse_mut(&w.a, text, &d, &err), &err);
    return d;
}

static struct str text_of(yyjson_mut_val *v) {
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, v);
    struct str r = arena_str(&w.a, buf_view(&b));
    buf_release(&b);
    return r;
}

static int form_of(void *ctx, struct str version, struct form *ret) {
    *ret = form_root(w.schema);
    return str_is(version, "gone/v1") ? ERR_NOT_FOUND : 0;
}

static int convert(void *ctx, yyjson_mut_val *tree, struct str from, struct str to,
                   yyjson_mut_val **ret, struct err *err) {
    *ret = yyjson_mut_doc_get_root(doc_of(text_of(tree)));
    return str_is(to, "gone/v1") ? ERR_NOT_FOUND : 0;
}

static yyjson_mut_val *tree_of(struct str text) {
    return text.n > 0 ? yyjson_mut_doc_get_root(doc_of(text)) : NULL;
}

static int stored(void *ctx, yyjson_mut_val **ret, struct err *err) {
    *ret = tree_of(w.live);
    return 0;
}

static struct manage manage_of(const char *who, bool apply) {
    w.now += SECOND;
    return (struct manage){
        .arena = &w.a,
        .who = {.name = str_of(who),
                .api_version = w.version,
                .apply = apply,
                .time = w.now,
                .subresource = str_of(w.subresource)},
        .only = w.only,
        .without = w.without,
        .form = form_root(w.schema),
        .form_of = form_of,
        .convert = convert,
        .stored = stored,
    };
}

/* Managers as they would be read from the object: nothing of them is changed in place. */
static struct managers managers_again(void) {
    yyjson_mut_doc *d = json_mut_new(&w.a);
    struct managers m;
    assert_ok(managers_read(&w.a, managers_tree(d, &w.all), &m, &w.err), &w.err);
    return m;
}

static int apply(const char *who, const char *config, bool force) {
    struct manage m = manage_of(who, true);
    struct managers all = managers_again();
    struct fields set;
    yyjson_mut_val *tree = tree_of(str_of(config));
    int r = typed_config(&w.a, &m.form, tree, &set, &w.err);
    r = r ? r : manage_apply(&m, json_mut_new(&w.a), tree, &set, force, &all, &w.applied, &w.err);
    if (r == 0) {
        w.live = text_of(w.applied.object);
        w.all = all;
    }
    return r;
}

static void must_apply(const char *who, const char *config) {
    assert_ok(apply(who, config, false), &w.err);
}

static void update(const char *who, const char *object) {
    struct manage m = manage_of(who, false);
    struct managers all = managers_again();
    bool same;
    assert_ok(manage_update(&m, tree_of(w.live), tree_of(str_of(object)), &all, &same, &w.err),
              &w.err);
    w.live = str_of(object);
    w.all = all;
}

static void check_live(const char *want) {
    assert_str_eq(w.live, str_of(want));
}

/* `who`'s fields; empty: it has no entry. */
static void check_fields(const char *who, bool apply, const char *want) {
    struct str got = {0};
    for (size_t i = 0; i < w.all.n; i++) {
        if (str_is(w.all.v[i].name, who) && w.all.v[i].apply == apply) {
            got = text_of(fields_tree(json_mut_new(&w.a), &w.all.v[i].set));
        }
    }
    assert_str_eq(got, str_of(want));
}

#define META "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}"
#define MAP(data_) "{" META ",\"data\":{" data_ "}}"

static void test_apply_and_remove(void **state) {
    begin("", "v1", "configmaps");
    must_apply("a", MAP("\"k\":\"1\",\"l\":\"2\""));
    check_live(MAP("\"k\":\"1\",\"l\":\"2\""));
    check_fields("a", true, "{\"f:data\":{\"f:k\":{},\"f:l\":{}}}");
    must_apply("a", MAP("\"k\":\"3\""));
    check_live(MAP("\"k\":\"3\""));
    check_fields("a", true, "{\"f:data\":{\"f:k\":{}}}");
    assert_false(w.applied.same_fields);
    must_apply("a", MAP("\"k\":\"3\""));
    assert_true(w.applied.same_fields && w.applied.same_entries);
    must_apply("a", "{" META "}");
    check_live("{" META "}");
    assert_int_equal(w.all.n, 0);
    end();
}

static void test_two_appliers(void **state) {
    begin("", "v1", "configmaps");
    must_apply("a", MAP("\"k\":\"1\",\"l\":\"2\""));
    must_apply("b", MAP("\"k\":\"1\",\"m\":\"3\"")); /* the same value is shared */
    check_fields("b", true, "{\"f:data\":{\"f:k\":{},\"f:m\":{}}}");
    must_apply("a", MAP("\"l\":\"2\"")); /* and stays when one of them leaves it */
    check_live(MAP("\"k\":\"1\",\"l\":\"2\",\"m\":\"3\""));
    must_apply("b", MAP("\"m\":\"3\""));
    check_live(MAP("\"l\":\"2\",\"m\":\"3\""));
    end();
}

static void test_conflict(void **state) {
    begin("", "v1", "configmaps");
    must_apply("a", MAP("\"k\":\"1\",\"l\":\"2\""));
    update("u", MAP("\"k\":\"5\",\"l\":\"2\""));
    check_fields("a", true, "{\"f:data\":{\"f:l\":{}}}");
    check_fields("u", false, "{\"f:data\":{\"f:k\":{}}}");
    assert_int_equal(apply("a", MAP("\"k\":\"1\",\"l\":\"2\""), false), ERR_CONFLICT);
    assert_int_equal(w.applied.n_conflicts, 1);
    assert_str_eq(w.applied.conflicts[0].who.name, STR("u"));
    assert_int_equal(apply("c", MAP("\"k\":\"1\",\"l\":\"9\""), false), ERR_CONFLICT);
    assert_int_equal(w.applied.n_conflicts, 2);
    check_live(MAP("\"k\":\"5\",\"l\":\"2\""));
    assert_ok(apply("c", MAP("\"k\":\"1\",\"l\":\"9\""), true), &w.err);
    check_live(MAP("\"k\":\"1\",\"l\":\"9\""));
    check_fields("c", true, "{\"f:data\":{\"f:k\":{},\"f:l\":{}}}");
    assert_int_equal(w.all.n, 1);
    end();
}

static void test_updates(void **state) {
    begin("", "v1", "configmaps");
    update("u", MAP("\"k\":\"1\""));
    check_fields("u", false, "{\"f:data\":{\".\":{},\"f:k\":{}}}");
    update("v", MAP("\"k\":\"1\",\"l\":\"2\""));
    check_fields("v", false, "{\"f:data\":{\"f:l\":{}}}");
    int64_t before = w.all.v[0].time;
    update("u", MAP("\"k\":\"1\",\"l\":\"2\"")); /* nothing: no new time */
    assert_int_equal(w.all.v[0].time, before);
    update("w", MAP("\"l\":\"2\"")); /* what is removed is nobody's */
    check_fields("u", false, "{\"f:data\":{}}");
    check_fields("w", false, "");
    end();
}

static void test_before_first_apply(void **state) {
    begin("", "v1", "configmaps");
    w.live = STR(MAP("\"k\":\"1\""));
    must_apply("a", MAP("\"l\":\"2\""));
    check_fields("before-first-apply", false, "{\"f:data\":{\".\":{},\"f:k\":{}}}");
    check_fields("a", true, "{\"f:data\":{\"f:l\":{}}}");
    assert_int_equal(apply("a", MAP("\"k\":\"2\""), false), ERR_CONFLICT);
    end();
}

#define DEPLOY(spec_)                                                                              \
    "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"x\"},\"spec\":{" \
    "\"template\":{\"spec\":{" spec_ "}}}}"
#define SPEC(fields_) "{\"f:spec\":{\"f:template\":{\"f:spec\":{" fields_ "}}}}"

static void test_lists_by_key(void **state) {
    begin("apps", "v1", "deployments");
    must_apply("a",
               DEPLOY("\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":["
                      "{\"containerPort\":80},{\"containerPort\":80,\"protocol\":\"UDP\"}]}]"));
    check_fields("a", true,
                 SPEC("\"f:containers\":{\"k:{\\\"name\\\":\\\"c\\\"}\":{\".\":{},\"f:image\":{},"
                      "\"f:name\":{},\"f:ports\":{\"k:{\\\"containerPort\\\":80,\\\"protocol\\\":"
                      "\\\"TCP\\\"}\":{\".\":{},\"f:containerPort\":{}},\"k:{\\\"containerPort\\\":"
                      "80,\\\"protocol\\\":\\\"UDP\\\"}\":{\".\":{},\"f:containerPort\":{},"
                      "\"f:protocol\":{}}}}}"));
    must_apply("b", DEPLOY("\"containers\":[{\"name\":\"d\",\"image\":\"j\"},{\"name\":\"c\","
                           "\"env\":[{\"name\":\"E\",\"value\":\"1\"}]}]"));
    check_live(DEPLOY("\"containers\":[{\"name\":\"d\",\"image\":\"j\"},{\"name\":\"c\",\"image\":"
                      "\"i\",\"ports\":[{\"containerPort\":80},{\"containerPort\":80,\"protocol\":"
                      "\"UDP\"}],\"env\":[{\"name\":\"E\",\"value\":\"1\"}]}]"));
    must_apply("a", DEPLOY("\"containers\":[{\"name\":\"c\",\"ports\":[{\"containerPort\":80,"
                           "\"protocol\":\"TCP\"}]}]"));
    check_live(DEPLOY("\"containers\":[{\"name\":\"d\",\"image\":\"j\"},{\"name\":\"c\",\"ports\":"
                      "[{\"containerPort\":80,\"protocol\":\"TCP\"}],\"env\":[{\"name\":\"E\","
                      "\"value\":\"1\"}]}]"));
    must_apply("b", DEPLOY("\"containers\":[{\"name\":\"c\"}]"));
    check_live(DEPLOY("\"containers\":[{\"name\":\"c\",\"ports\":[{\"containerPort\":80,"
                      "\"protocol\":\"TCP\"}]}]"));
    end();
}

static void test_atomic_and_set(void **state) {
    begin("apps", "v1", "deployments");
    must_apply("a",
               "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
               "\"x\",\"finalizers\":[\"a/a\",\"b/b\"]},\"spec\":{\"selector\":{\"matchLabels\":"
               "{\"a\":\"1\"}},\"template\":{\"spec\":{\"nodeSelector\":{\"n\":\"1\"},"
               "\"tolerations\":[{\"key\":\"k\"}]}}}}");
    check_fields("a", true,
                 "{\"f:metadata\":{\"f:finalizers\":{\"v:\\\"a/a\\\"\":{},\"v:\\\"b/b\\\"\":{}}},"
                 "\"f:spec\":{\"f:selector\":{},\"f:template\":{\"f:spec\":{\"f:nodeSelector\":{},"
                 "\"f:tolerations\":{}}}}}");
    must_apply("b", "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                    "\"x\",\"finalizers\":[\"c/c\",\"b/b\"]}}");
    must_apply("a", "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
                    "\"x\"}}");
    check_live("{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"x\","
               "\"finalizers\":[\"c/c\",\"b/b\"]}}");
    end();
}

/* ---- custom kinds ---- */

static struct crd_schema *custom;
static struct schema custom_root;

static void begin_custom(const char *schema) {
    w = (struct world){.now = SECOND, .version = STR("example.com/v1")};
    arena_init(&w.a, 64 << 20);
    yyjson_doc *d;
    assert_ok(json_parse(&w.a, str_of(schema), &d, &w.err), &w.err);
    assert_ok(crd_schema_new(yyjson_doc_get_root(d), &custom, &w.err), &w.err);
    custom_root =
        (struct schema){.name = "custom", .fields = NULL, .n = 0, .size = 0, .custom = custom};
    w.schema = &custom_root;
}

static void end_custom(void) {
    crd_schema_free(custom);
    end();
}

#define CUSTOM                                                                                     \
    "{\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{"          \
    "\"list\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","                             \
    "\"x-kubernetes-list-map-keys\":[\"port\",\"kind\"],\"items\":{\"type\":\"object\","           \
    "\"properties\":{\"port\":{\"type\":\"integer\"},\"kind\":{\"type\":\"string\",\"default\":"   \
    "\"k\"},\"v\":{\"type\":\"string\"}}}},\"set\":{\"type\":\"array\","                           \
    "\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"integer\"}},"                        \
    "\"plain\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"                              \
    "\"whole\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\",\"properties\":{"         \
    "\"a\":{\"type\":\"string\"}}},\"free\":{\"type\":\"object\","                                 \
    "\"x-kubernetes-preserve-unknown-fields\":true},\"map\":{\"type\":\"object\","                 \
    "\"additionalProperties\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}}" \
    "}}}}"

static void test_custom(void **state) {
    begin_custom(CUSTOM);
    must_apply("a",
               "{\"spec\":{\"list\":[{\"port\":1,\"v\":\"x\"}],\"set\":[1,2],\"plain\":[\"p\"],"
               "\"whole\":{\"a\":\"1\"},\"free\":{\"m\":{\"n\":[{\"q\":1}]}},\"map\":{\"k\":"
               "{\"x\":\"1\"}}}}");
    check_fields(
        "a", true,
        "{\"f:spec\":{\"f:free\":{\"f:m\":{\".\":{},\"f:n\":{}}},\"f:list\":{\"k:{\\\"kind\\\":"
        "\\\"k\\\",\\\"port\\\":1}\":{\".\":{},\"f:port\":{},\"f:v\":{}}},\"f:map\":{\"f:k\":"
        "{\".\":{},\"f:x\":{}}},\"f:plain\":{},\"f:set\":{\"v:1\":{},\"v:2\":{}},\"f:whole\":{}}}");
    must_apply("b", "{\"spec\":{\"list\":[{\"port\":1,\"kind\":\"k\"},{\"port\":2}],\"set\":[3],"
                    "\"free\":{\"o\":1}}}");
    check_live(
        "{\"spec\":{\"list\":[{\"port\":1,\"v\":\"x\",\"kind\":\"k\"},{\"port\":2}],\"set\":[1,2,"
        "3],\"plain\":[\"p\"],\"whole\":{\"a\":\"1\"},\"free\":{\"m\":{\"n\":[{\"q\":1}]},\"o\":"
        "1},\"map\":{\"k\":{\"x\":\"1\"}}}}");
    must_apply("a", "{\"spec\":{\"map\":{\"k\":{}}}}");
    check_live(
        "{\"spec\":{\"list\":[{\"port\":1,\"kind\":\"k\"},{\"port\":2}],\"set\":[3],\"free\":"
        "{\"o\":1},\"map\":{\"k\":{}}}}");
    end_custom();
}

static void check_refused(const char *config, const char *text) {
    assert_int_equal(apply("a", config, false), ERR_INVALID);
    assert_str_eq(str_of(w.err.text), str_of(text));
}

static void test_refused(void **state) {
    begin_custom(CUSTOM);
    check_refused("{\"spec\":{\"nope\":1}}", ".spec.nope: field not declared in schema");
    check_refused("{\"spec\":{\"list\":[{\"port\":1},{\"port\":1,\"kind\":\"k\"}]}}",
                  ".spec.list: duplicate entries for key [kind=\"k\",port=1]");
    check_refused("{\"spec\":{\"set\":[1,1]}}", ".spec.set: duplicate entries for key [=1]");
    check_refused("{\"spec\":{\"set\":{}}}", ".spec.set: expected list, got a map");
    check_refused(
        "{\"spec\":{\"list\":[1]}}",
        ".spec.list: element 0: associative list with keys may not have non-map elements");
    end_custom();
}

static void test_order(void **state) {
    begin_custom(CUSTOM);
    static const struct {
        const char *live, *config, *want;
    } rows[] = {
        {"1,2", "2,3", "1,2,3"},     {"1,2,3", "3,1", "2,3,1"},     {"1,2,3", "4,2", "1,4,2,3"},
        {"1,2,3", "3,2,1", "3,2,1"}, {"1,2,3,4", "5", "1,2,3,4,5"}, {"1,2,9", "2,1,7", "2,9,1,7"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        w.all = (struct managers){0};
        w.live = arena_f(&w.a, "{\"spec\":{\"set\":[%s]}}", rows[i].live);
        struct str config = arena_f(&w.a, "{\"spec\":{\"set\":[%s]}}", rows[i].config);
        must_apply("a", config.p);
        check_live(arena_f(&w.a, "{\"spec\":{\"set\":[%s]}}", rows[i].want).p);
    }
    end_custom();
}

static void test_doubled_elements(void **state) {
    begin_custom(CUSTOM);
    update("u", "{\"spec\":{\"list\":[{\"port\":1,\"v\":\"a\"},{\"port\":1,\"v\":\"b\"}]}}");
    check_fields(
        "u", false,
        "{\"f:spec\":{\".\":{},\"f:list\":{\".\":{},\"k:{\\\"kind\\\":\\\"k\\\",\\\"port\\\":"
        "1}\":{}}}}");
    update("v", "{\"spec\":{\"list\":[{\"port\":1,\"v\":\"a\"}]}}");
    check_fields("u", false, "{\"f:spec\":{\".\":{},\"f:list\":{}}}");
    end_custom();
}

static void test_big_lists(void **state) {
    begin_custom(CUSTOM);
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "{\"spec\":{\"set\":[");
    for (int i = 0; i < 3000; i++) {
        buf_f(&b, "%s%d", i > 0 ? "," : "", i);
    }
    buf_c(&b, "]}}");
    must_apply("a", buf_cstr(&b));
    must_apply("b", buf_cstr(&b));
    arena_allow(&w.a, w.a.steps + 1000);
    assert_int_equal(apply("c", buf_cstr(&b), false), ERR_TOO_LARGE);
    buf_release(&b);
    end_custom();
}

/* ---- entries ---- */

static void test_cap(void **state) {
    begin("", "v1", "configmaps");
    struct buf b;
    buf_init(&b, 0);
    update("first", MAP("\"k\":\"1\""));
    for (int i = 0; i < 12; i++) {
        char who[16];
        (void)snprintf(who, sizeof(who), "u%d", i);
        buf_f(&b, "%s\"d%d\":\"1\"", i > 0 ? "," : "", i);
        struct str text = arena_f(&w.a, "{" META ",\"data\":{\"k\":\"1\",%s}}", buf_cstr(&b));
        update(arena_str(&w.a, str_of(who)).p, text.p);
    }
    assert_int_equal(w.all.n, 10);
    check_fields("ancient-changes", false,
                 "{\"f:data\":{\".\":{},\"f:d0\":{},\"f:d1\":{},\"f:d2\":{},\"f:k\":{}}}");
    check_fields("u11", false, "{\"f:data\":{\"f:d11\":{}}}");
    buf_release(&b);
    end();
}

static void test_gone_version(void **state) {
    begin("", "v1", "configmaps");
    update("u", MAP("\"k\":\"1\""));
    w.all.v[0].api_version = STR("gone/v1");
    must_apply("a", MAP("\"k\":\"2\""));
    assert_int_equal(w.all.n, 1);
    check_fields("a", true, "{\"f:data\":{\"f:k\":{}}}");
    end();
}

static void test_other_version(void **state) {
    begin("", "v1", "configmaps");
    must_apply("a", MAP("\"k\":\"1\",\"l\":\"1\""));
    must_apply("b", MAP("\"m\":\"1\""));
    for (size_t i = 0; i < w.all.n; i++) {
        w.all.v[i].api_version = STR("v1beta1");
    }
    assert_int_equal(apply("c", MAP("\"k\":\"2\""), false), ERR_CONFLICT);
    must_apply("a", MAP("\"k\":\"1\""));
    check_live(MAP("\"k\":\"1\",\"m\":\"1\""));
    end();
}

static void test_status_alone(void **state) {
    begin("apps", "v1", "deployments");
    must_apply("a", "{\"spec\":{\"replicas\":1}}");
    w.only = "status";
    w.subresource = "status";
    must_apply("s", "{\"spec\":{\"replicas\":1},\"status\":{\"replicas\":1}}");
    check_fields("s", true, "{\"f:status\":{\"f:replicas\":{}}}");
    check_fields("a", true, "{\"f:spec\":{\"f:replicas\":{}}}");
    update("u", "{\"spec\":{\"replicas\":2},\"status\":{\"replicas\":1,\"readyReplicas\":1}}");
    check_fields("u", false, "{\"f:status\":{\"f:readyReplicas\":{}}}");
    check_fields("a", true, "{\"f:spec\":{\"f:replicas\":{}}}");
    update("u", "{\"spec\":{\"replicas\":2}}");
    assert_int_equal(w.all.n, 1);
    end();
}

#define LAST "kubectl.kubernetes.io/last-applied-configuration"
#define BY_CLIENT(k_, last_)                                                                       \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\",\"annotations\":{" \
    "\"" LAST "\":\"{\\\"apiVersion\\\":\\\"v1\\\",\\\"data\\\":{\\\"k\\\":\\\"" last_             \
    "\\\"},\\\"kind\\\":\\\"ConfigMap\\\",\\\"metadata\\\":{\\\"name\\\":\\\"x\\\"}}\\n\"}},"      \
    "\"data\":{\"k\":\"" k_ "\"}}"

static void test_from_client_side(void **state) {
    begin("", "v1", "configmaps");
    update("kubectl-client-side-apply", BY_CLIENT("1", "1"));
    assert_int_equal(apply("other", MAP("\"k\":\"2\""), false), ERR_CONFLICT);
    must_apply("kubectl", MAP("\"k\":\"2\""));
    check_live(BY_CLIENT("2", "2"));
    update("someone", BY_CLIENT("3", "2"));
    assert_int_equal(apply("kubectl", MAP("\"k\":\"4\""), false), ERR_CONFLICT);
    end();
}

static void test_bad_entries(void **state) {
    static const struct {
        const char *in, *text;
    } rows[] = {
        {"[{\"manager\":\"a\"}]", "[0].operation: must be `Apply` or `Update`"},
        {"[{\"operation\":\"Apply\"}]", "[0].apiVersion: must not be empty"},
        {"[{\"operation\":\"Apply\",\"apiVersion\":\"v1\"}]", "[0].fieldsType: must be `FieldsV1`"},
        {"[{\"operation\":\"Apply\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"time\":"
         "\"now\"}]",
         "[0].time: must be a time"},
        {"[{\"operation\":\"Apply\",\"apiVersion\":\"v1\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":"
         "{\"a\":{}}}]",
         "[0].fieldsV1: must be a set of fields"},
    };
    begin("", "v1", "configmaps");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct managers m;
        assert_int_equal(managers_read(&w.a, tree_of(str_of(rows[i].in)), &m, &w.err), ERR_INVALID);
        assert_str_eq(str_of(w.err.text), str_of(rows[i].text));
    }
    assert_true(managers_are_reset(tree_of(STR("[]"))));
    assert_true(managers_are_reset(tree_of(STR("[{}]"))));
    assert_false(managers_are_reset(tree_of(STR("[{},{}]"))));
    assert_false(managers_are_reset(NULL));
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply_and_remove),
        cmocka_unit_test(test_two_appliers),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_updates),
        cmocka_unit_test(test_before_first_apply),
        cmocka_unit_test(test_lists_by_key),
        cmocka_unit_test(test_atomic_and_set),
        cmocka_unit_test(test_custom),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_doubled_elements),
        cmocka_unit_test(test_big_lists),
        cmocka_unit_test(test_cap),
        cmocka_unit_test(test_gone_version),
        cmocka_unit_test(test_other_version),
        cmocka_unit_test(test_status_alone),
        cmocka_unit_test(test_from_client_side),
        cmocka_unit_test(test_bad_entries),
    };
    return cmocka_run_group_tests_name("manage", tests, NULL, NULL);
}
