/* crd: custom kinds from their definitions: pruning, defaults, violations, rows, columns. */
#include "api/schema/codec.h"
#include "api/schema/crd_check.h"
#include "api/schema/crd_kind.h"
#include "api/schema/crd_path.h"
#include "api/schema/crd_schema.h"
#include "base/test.h"

#define SAME(got, want) assert_str_eq(got, str_of(want))

static const char *const definition =
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
    "\"metadata\":{\"name\":\"toys.t.example.com\"},\"spec\":{\"group\":\"t.example.com\","
    "\"names\":{\"plural\":\"toys\",\"singular\":\"toy\",\"kind\":\"Toy\",\"listKind\":\"ToyList\","
    "\"shortNames\":[\"ty\"]},\"scope\":\"Namespaced\",\"conversion\":{\"strategy\":\"None\"},"
    "\"versions\":[{\"name\":\"v1beta1\",\"served\":true,\"storage\":false,\"schema\":{"
    "\"openAPIV3Schema\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}},"
    "{\"name\":\"v1\",\"served\":true,\"storage\":true,"
    "\"subresources\":{\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.n\","
    "\"statusReplicasPath\":\".status.n\"}},"
    "\"additionalPrinterColumns\":[{\"name\":\"N\",\"type\":\"integer\",\"jsonPath\":\".spec.n\"},"
    "{\"name\":\"Names\",\"type\":\"string\",\"jsonPath\":\".spec.items[*].name\"}],"
    "\"selectableFields\":[{\"jsonPath\":\".spec.color\"}],"
    "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"
    "\"type\":\"object\",\"required\":[\"n\"],\"properties\":{"
    "\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":5,\"default\":2},"
    "\"color\":{\"type\":\"string\",\"enum\":[\"red\",\"green\"]},"
    "\"maybe\":{\"type\":\"string\",\"nullable\":true},"
    "\"inner\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\",\"default\":7}}},"
    "\"free\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
    "\"properties\":{\"known\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}}}"
    ","
    "\"ios\":{\"x-kubernetes-int-or-string\":true},"
    "\"map\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}},"
    "\"tags\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
    "\"string\"}},"
    "\"items\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"name\"],\"items\":{\"type\":\"object\",\"required\":["
    "\"name\"],"
    "\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":4},\"v\":{\"type\":\"integer\"}}}}"
    ","
    "\"one\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},"
    "\"b\":{\"type\":\"string\"}},\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}},"
    "\"x-kubernetes-validations\":[{\"rule\":\"!has(self.color) || self.color != 'green' || self.n "
    "> 2\","
    "\"message\":\"green needs more\"}]},"
    "\"status\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}}}}}]},"
    "\"status\":{\"storedVersions\":[\"v1\"]}}";

struct fixture {
    struct arena a;
    const struct kind *k;
    const struct kind_version *kv;
    struct buf text;
    struct err err;
};

static int setup(void **state) {
    struct fixture *f = calloc(1, sizeof(*f));
    yyjson_doc *d;
    arena_init(&f->a, 64 << 20);
    buf_init(&f->text, 0);
    assert_ok(json_parse(&f->a, str_of(definition), &d, &f->err), &f->err);
    assert_ok(crd_kind_make(yyjson_doc_get_root(d), &f->k, &f->err), &f->err);
    f->kv = kind_version(f->k, STR("v1"));
    assert_non_null(f->kv);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    struct fixture *f = *state;
    arena_release(&f->a);
    buf_release(&f->text);
    free(f);
    return 0;
}

static yyjson_mut_doc *toy(struct fixture *f, const char *spec) {
    yyjson_mut_doc *d;
    struct str text = arena_f(&f->a,
                              "{\"apiVersion\":\"t.example.com/v1\",\"kind\":\"Toy\",\"metadata\":{"
                              "\"name\":\"x\",\"namespace\":\"d\"},\"spec\":%s}",
                              spec);
    assert_ok(json_parse_mut(&f->a, text, &d, &f->err), &f->err);
    return d;
}

static void note(void *ctx, struct str path) {
    struct buf *b = ctx;
    buf_c(b, b->n ? " " : "");
    buf_str(b, path);
}

/* Prunes and fills; the spec as text. */
static struct str settled(struct fixture *f, const char *spec, struct buf *unknown) {
    yyjson_mut_doc *d = toy(f, spec);
    assert_ok(
        codec_prune(f->kv->schema, d, yyjson_mut_doc_get_root(d), unknown ? note : NULL, unknown),
        &f->err);
    assert_ok(codec_default_in(f->k, f->kv, d, &f->err), &f->err);
    buf_reset(&f->text);
    json_write_mut(&f->text, json_mget(yyjson_mut_doc_get_root(d), STR("spec")));
    return buf_view(&f->text);
}

static void test_prune_and_default(void **state) {
    struct fixture *f = *state;
    struct buf unknown;
    buf_init(&unknown, 0);
    SAME(settled(f, "{\"junk\":1,\"inner\":{\"y\":2},\"free\":{\"z\":1,\"known\":{\"b\":1}}}",
                 &unknown),
         "{\"inner\":{\"x\":7},\"free\":{\"z\":1,\"known\":{}},\"n\":2}");
    SAME(buf_view(&unknown), "spec.junk spec.inner.y spec.free.known.b");
    SAME(settled(f, "{\"n\":null,\"maybe\":null,\"color\":null}", NULL),
         "{\"n\":2,\"maybe\":null}");
    SAME(settled(f, "{\"items\":[{\"name\":\"a\",\"w\":1}],\"map\":{\"a\":1}}", NULL),
         "{\"items\":[{\"name\":\"a\"}],\"map\":{\"a\":1},\"n\":2}");
    buf_release(&unknown);
}

/* "field: text" of each cause, one a line. */
static struct str faults(struct fixture *f, const char *spec, const char *old) {
    yyjson_mut_doc *d = toy(f, spec);
    yyjson_doc *was = NULL;
    struct causes c = {.arena = &f->a};
    if (old != NULL) {
        buf_reset(&f->text);
        json_write_mut(&f->text, yyjson_mut_doc_get_root(toy(f, old)));
        assert_ok(json_parse(&f->a, buf_view(&f->text), &was, &f->err), &f->err);
    }
    assert_ok(codec_validate_in(f->k, f->kv, yyjson_mut_doc_get_root(d),
                                was ? yyjson_doc_get_root(was) : NULL, &c),
              &f->err);
    buf_reset(&f->text);
    for (size_t i = 0; i < c.n; i++) {
        buf_f(&f->text, "%s%.*s: %.*s", i ? "\n" : "", STR_ARG(c.v[i].field), STR_ARG(c.v[i].text));
    }
    return buf_view(&f->text);
}

/* A default that its own schema allows is no fault, and one that it does not is. */
static void test_defaults_against_patterns(void **state) {
    struct fixture *f = *state;
    static const char *const defaults[] = {"main", "Main"};
    for (size_t i = 0; i < 2; i++) {
        char text[256];
        yyjson_doc *d;
        struct causes c = {.arena = &f->a};
        snprintf(
            text, sizeof(text),
            "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"default\":\"%s\","
            "\"pattern\":\"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\"}}}",
            defaults[i]);
        assert_ok(json_parse(&f->a, str_of(text), &d, &f->err), &f->err);
        crd_check_defaults(yyjson_doc_get_root(d), NULL, &c);
        assert_int_equal(c.n, i);
    }
}

/* An object whose patterns take more than one object may is refused as such: not one match is begun after that, and no
 * text is said not to match that was never compared. */
static void test_patterns_have_a_budget(void **state) {
    struct fixture *f = *state;
    struct arena a;
    struct buf list;
    struct crd_schema *s;
    yyjson_doc *schema;
    yyjson_mut_doc *d;
    struct causes c = {.arena = &f->a};
    arena_init(&a, 256 << 20);
    buf_init(&list, 0);
    assert_ok(json_parse(&a,
                         STR("{\"type\":\"array\",\"items\":{\"type\":\"string\","
                             "\"pattern\":\"((a?){50}){20}\"}}"),
                         &schema, &f->err),
              &f->err);
    assert_ok(crd_schema_new(yyjson_doc_get_root(schema), &s, &f->err), &f->err);
    for (int i = 0; i < 20000; i++) {
        buf_c(&list, i ? ",\"aab\"" : "[\"aab\"");
    }
    buf_c(&list, "]");
    assert_ok(json_parse_mut(&a, buf_view(&list), &d, &f->err), &f->err);
    crd_validate(s, yyjson_mut_doc_get_root(d), NULL, &c);
    assert_int_equal(c.n, 1);
    SAME(c.v[0].text, "Invalid value: \"\": the object takes too long to check");
    crd_schema_free(s);
    buf_release(&list);
    arena_release(&a);
}

static void test_faults(void **state) {
    struct fixture *f = *state;
    SAME(faults(f, "{\"n\":2}", NULL), "");
    SAME(faults(f, "{\"n\":9,\"color\":\"blue\"}", NULL),
         "spec.n: Invalid value: 9: spec.n in body should be less than or equal to 5\n"
         "spec.color: Unsupported value: \"blue\": supported values: \"red\", \"green\"\n"
         "<nil>: Invalid value: null: some validation rules were not checked because the "
         "object was invalid; correct the existing errors to complete validation");
    SAME(faults(f, "{\"n\":\"2\"}", NULL),
         "spec.n: Invalid value: \"string\": spec.n in body must be of type integer: "
         "\"string\"\n"
         "<nil>: Invalid value: null: some validation rules were not checked because the "
         "object was invalid; correct the existing errors to complete validation");
    SAME(faults(f, "{\"n\":2,\"tags\":[\"a\",\"b\",\"a\"]}", NULL),
         "spec.tags[2]: Duplicate value: \"a\"");
    SAME(faults(f, "{\"n\":2,\"items\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", NULL),
         "spec.items[1]: Duplicate value: {\"name\":\"a\"}");
    SAME(faults(f, "{\"n\":2,\"color\":\"green\"}", NULL), "spec: Invalid value: green needs more");
    SAME(faults(f, "{\"n\":2,\"ios\":1.5}", NULL),
         "spec.ios: Invalid value: \"number\": spec.ios in body must be of type "
         "integer,string: \"number\"\n"
         "<nil>: Invalid value: null: some validation rules were not checked because the "
         "object was invalid; correct the existing errors to complete validation");
    SAME(faults(f, "{\"n\":2,\"one\":{\"a\":\"\",\"b\":\"\"}}", NULL),
         "<nil>: Invalid value: \"\": \"spec.one\" must validate one and only one schema "
         "(oneOf). Found 2 valid alternatives");
}

static void test_ratchet(void **state) {
    struct fixture *f = *state;
    /* What was bad and did not change is let be; what changes must be good. */
    SAME(faults(f, "{\"n\":2,\"items\":[{\"name\":\"toolong\",\"v\":2}]}",
                "{\"n\":2,\"items\":[{\"name\":\"toolong\",\"v\":1}]}"),
         "");
    SAME(faults(f, "{\"n\":8,\"tags\":[\"a\",\"a\"]}", "{\"n\":8,\"tags\":[\"a\",\"a\"]}"), "");
    SAME(faults(f, "{\"n\":9}", "{\"n\":8}"),
         "spec.n: Invalid value: 9: spec.n in body should be less than or equal to 5");
}

static void test_row(void **state) {
    struct fixture *f = *state;
    assert_string_equal(f->k->short_names[0], "ty");
    assert_string_equal(kind_api_version(f->k), "t.example.com/v1");
    assert_string_equal(f->k->versions[0].version, "v1"); /* preferred */
    assert_true(f->k->flags & KIND_STATUS);
    assert_string_equal(f->kv->selectable[0], "spec.color");
    SAME(crd_kind_scale(f->kv)->spec_path, "spec.n");
    assert_null(crd_kind_scale(kind_version(f->k, STR("v1beta1"))));
    assert_ptr_equal(crd_kind_find(STR("t.example.com"), STR("toys")), f->k);
    const struct crd_schema *was = f->kv->schema->custom;
    const struct kind *again;
    yyjson_doc *d;
    assert_ok(json_parse(&f->a, str_of(definition), &d, &f->err), &f->err);
    assert_ok(crd_kind_make(yyjson_doc_get_root(d), &again, &f->err), &f->err);
    assert_ptr_equal(again, f->k);
    assert_ptr_equal(f->kv->schema->custom, was); /* not compiled again */
    yyjson_mut_doc *o = toy(f, "{\"n\":3,\"items\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, yyjson_mut_doc_get_root(o));
    assert_ok(json_parse(&f->a, buf_view(&b), &d, &f->err), &f->err);
    buf_reset(&b);
    codec_cells(f->k, f->kv, yyjson_doc_get_root(d), 0, &b);
    SAME(buf_view(&b), "[\"x\",3,\"a b\"]");
    buf_release(&b);
}

static bool take(void *ctx, yyjson_val *v) {
    json_write(ctx, v);
    return true;
}

static void test_paths(void **state) {
    struct fixture *f = *state;
    static const struct {
        const char *path, *want;
    } rows[] = {
        {".a.b", "1"},
        {".l[0]", "{\"t\":\"x\",\"s\":1}"},
        {".l[-1].t", "\"y\""},
        {".l[*].s", "12"},
        {".l[?(@.t==\"y\")].s", "2"},
        {".l[?(@.s>1)].t", "\"y\""},
        {"['a']['b']", "1"},
        {".d\\.e", "3"},
        {".l[1:].t", "\"y\""},
        {"..s", "12"},
        {".none", ""},
        {".l[?(@.none)].t", ""},
        {"{.a.b}", "1"},
    };
    yyjson_doc *d;
    assert_ok(json_parse(&f->a,
                         STR("{\"a\":{\"b\":1},\"l\":[{\"t\":\"x\",\"s\":1},{\"t\":\"y\",\"s\":2}],"
                             "\"d.e\":3}"),
                         &d, &f->err),
              &f->err);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        buf_reset(&f->text);
        assert_ok(crd_path_check(str_of(rows[i].path), &f->err), &f->err);
        crd_path_each(str_of(rows[i].path), yyjson_doc_get_root(d), take, &f->text);
        if (!str_is(buf_view(&f->text), rows[i].want)) {
            fail_msg("%s is %.*s", rows[i].path, STR_ARG(buf_view(&f->text)));
        }
    }
    static const char *const bad[] = {"a", ".a[", ".a[?(x)]", ".a[b]", "", ".a..", ".[?(@"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(crd_path_check(str_of(bad[i]), NULL), ERR_SYNTAX);
    }
}

static void test_order(void **state) {
    static const char *const order[] = {"v10",     "v2",        "v1",        "v11beta2", "v10beta3",
                                        "v3beta1", "v12alpha1", "v11alpha2", "foo1",     "foo10"};
    for (size_t i = 0; i + 1 < sizeof(order) / sizeof(order[0]); i++) {
        assert_true(crd_version_order(str_of(order[i]), str_of(order[i + 1])) < 0);
        assert_true(crd_version_order(str_of(order[i + 1]), str_of(order[i])) > 0);
    }
}

static void test_formats(void **state) {
    static const struct {
        const char *format, *value;
        bool good;
    } rows[] = {
        {"date-time", "2020-01-01T00:00:00Z", true},
        {"date-time", "2020-01-01", false},
        {"date", "2020-02-30", false},
        {"duration", "1h30m", true},
        {"duration", "5 days", true},
        {"uuid", "123e4567-e89b-12d3-a456-426614174000", true},
        {"uuid", "x", false},
        {"ipv4", "1.2.3.4", true},
        {"ipv4", "::1", false},
        {"cidr", "10.0.0.0/33", false},
        {"hostname", "a.b-c", false},
        {"hostname", "a.bc", true},
        {"byte", "YQ==", true},
        {"byte", "a", false},
        {"email", "a@b", true},
        {"uri", "x", false},
        {"zork", "anything", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (crd_format(str_of(rows[i].format), str_of(rows[i].value)) != rows[i].good) {
            fail_msg("%s %s", rows[i].format, rows[i].value);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_prune_and_default, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(test_patterns_have_a_budget, setup, teardown),
        cmocka_unit_test_setup_teardown(test_defaults_against_patterns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ratchet, setup, teardown),
        cmocka_unit_test_setup_teardown(test_row, setup, teardown),
        cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
