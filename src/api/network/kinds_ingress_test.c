/* kinds_ingress: what an Ingress and an IngressClass may say. */
#include "api/schema/codec.h"
#include "base/test.h"

static struct arena arena;

static yyjson_mut_val *object(const char *json, const struct kind *k) {
    yyjson_mut_doc *d = NULL;
    struct err err = {0};
    assert_ok(json_parse_mut(&arena, str_of(json), &d, &err), &err);
    assert_ok(codec_default(k, d, &err), &err);
    return yyjson_mut_doc_get_root(d);
}

/* The causes of an object as "field: text", each on a line. */
static const char *causes_of(const char *kind, const char *json, const char *old) {
    static char out[8192];
    const struct kind *k = kind_by_name(STR("networking.k8s.io"), str_of(kind));
    struct causes causes = {.arena = &arena};
    yyjson_doc *was = NULL;
    struct buf b;
    buf_init(&b, sizeof out);
    if (old) {
        assert_int_equal(json_parse(&arena, str_of(old), &was, NULL), 0);
    }
    assert_int_equal(
        codec_validate(k, object(json, k), was ? yyjson_doc_get_root(was) : NULL, &causes), 0);
    for (size_t i = 0; i < causes.n; i++) {
        buf_f(&b, "%.*s: %.*s\n", STR_ARG(causes.v[i].field), STR_ARG(causes.v[i].text));
    }
    assert_true(str_copy(buf_view(&b), out, sizeof out));
    buf_release(&b);
    return out;
}

#define SPEC(spec_) "{\"metadata\":{\"name\":\"i\",\"namespace\":\"n\"},\"spec\":{" spec_ "}}"
#define SERVICE(port_) "{\"service\":{\"name\":\"s\",\"port\":{" port_ "}}}"
#define RULE(host_, path_, type_, backend_)                                                        \
    SPEC("\"rules\":[{\"host\":\"" host_ "\",\"http\":{\"paths\":[{\"path\":\"" path_              \
         "\",\"pathType\":\"" type_ "\",\"backend\":" backend_ "}]}}]")
#define GOOD SERVICE("\"number\":80")
#define CAUSES(json_, text_) assert_string_equal(causes_of("Ingress", json_, NULL), text_)
#define AT "spec.rules[0].http.paths[0]."

static void good_ones(void **state) {
    CAUSES(SPEC("\"defaultBackend\":" GOOD), "");
    CAUSES(RULE("a.example", "/x", "Prefix", GOOD), "");
    CAUSES(RULE("*.a.example", "/x", "Exact", SERVICE("\"name\":\"web\"")), "");
    CAUSES(RULE("a.example", "", "ImplementationSpecific", GOOD), "");
    CAUSES(SPEC("\"rules\":[{\"host\":\"a\"}],\"tls\":[{\"hosts\":[\"a\"],\"secretName\":\"s\"}]"),
           "");
}

static void rules(void **state) {
    CAUSES(SPEC(""),
           "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified\n");
    CAUSES(SPEC("\"rules\":[{\"http\":{\"paths\":[]}}]"),
           "spec.rules[0].http.paths: Required value\n");
    CAUSES(SPEC("\"rules\":[{\"http\":{\"paths\":[{\"backend\":" GOOD "}]}}]"),
           AT "pathType: Required value: pathType must be specified\n");
    CAUSES(RULE("a", "x", "Prefix", GOOD),
           AT "path: Invalid value: \"x\": must be an absolute path\n");
    CAUSES(RULE("a", "/a//..", "Exact", GOOD),
           AT "path: Invalid value: \"/a//..\": must not contain '//'\n" AT
              "path: Invalid value: \"/a//..\": cannot end with '/..'\n");
    CAUSES(RULE("a", "/", "Glob", GOOD),
           AT "pathType: Unsupported value: \"Glob\": supported values: \"Exact\", "
              "\"ImplementationSpecific\", \"Prefix\"\n");
    CAUSES(RULE("10.0.0.1", "/", "Exact", GOOD),
           "spec.rules[0].host: Invalid value: \"10.0.0.1\": must be a DNS name, not an IP "
           "address\n");
    assert_non_null(strstr(causes_of("Ingress", RULE("a.*", "/", "Exact", GOOD), NULL),
                           "spec.rules[0].host: Invalid value: \"a.*\": a wildcard DNS-1123"));
}

static void backends(void **state) {
#define BACKEND "spec.defaultBackend"
    CAUSES(SPEC("\"defaultBackend\":{}"),
           BACKEND ": Invalid value: \"\": resource or service backend is required\n");
    CAUSES(SPEC("\"defaultBackend\":" SERVICE("")),
           BACKEND ": Required value: port name or number is required\n");
    CAUSES(SPEC("\"defaultBackend\":" SERVICE("\"name\":\"a\",\"number\":1")),
           BACKEND ": Invalid value: \"\": cannot set both port name & port number\n");
    CAUSES(SPEC("\"defaultBackend\":" SERVICE("\"number\":65536")),
           BACKEND ".service.port.number: Invalid value: 65536: must be between 1 and 65535, "
                   "inclusive\n");
    CAUSES(SPEC("\"defaultBackend\":{\"resource\":{\"kind\":\"K\"}}"),
           BACKEND ".resource.name: Required value\n");
}

static void classes(void **state) {
    static const char was[] = SPEC("\"controller\":\"a.example/x\"");
#define CLASS(spec_, old_, text_)                                                                  \
    assert_string_equal(causes_of("IngressClass", SPEC(spec_), old_), text_)
    yyjson_mut_val *root = object(SPEC("\"parameters\":{\"kind\":\"K\",\"name\":\"n\"}"),
                                  kind_by_name(STR("networking.k8s.io"), STR("IngressClass")));
    assert_str_eq(json_mstr_at(root, "spec.parameters.scope"), STR("Cluster"));
    CLASS("\"controller\":\"a.example/x\"", was, "");
    CLASS("\"controller\":\"b.example/x\"", was,
          "spec.controller: Invalid value: \"b.example/x\": field is immutable\n");
    CLASS("\"controller\":\"x\"", NULL,
          "spec.controller: Invalid value: \"x\": must be a domain-prefixed path (such as "
          "\"acme.io/foo\")\n");
    CLASS("", NULL, "spec.controller: Required value\n");
    CLASS("\"controller\":\"a.example/x\",\"parameters\":{\"kind\":\"K\",\"name\":\"n\","
          "\"scope\":\"Namespace\"}",
          NULL,
          "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'\n");
    CLASS("\"controller\":\"a.example/x\",\"parameters\":{\"kind\":\"K\",\"name\":\"n\","
          "\"namespace\":\"n\"}",
          NULL, "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones),
        cmocka_unit_test(rules),
        cmocka_unit_test(backends),
        cmocka_unit_test(classes),
    };
    arena_init(&arena, 64 << 20);
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return r;
}
