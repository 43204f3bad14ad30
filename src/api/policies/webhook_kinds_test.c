/* Tests of the webhook configurations: defaults, and what is refused. */
#include "api/schema/codec.h"
#include "base/test.h"

static struct str faults(struct arena *a, const char *hook) {
    struct buf b;
    yyjson_mut_doc *d;
    struct err err = {0};
    struct causes c = {.arena = a};
    const struct kind *k =
        kind_by_name(STR("admissionregistration.k8s.io"), STR("MutatingWebhookConfiguration"));
    buf_init(&b, 0);
    buf_f(&b,
          "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"
          "\"MutatingWebhookConfiguration\",\"metadata\":{\"name\":\"n\",\"uid\":\"1\","
          "\"creationTimestamp\":\"2026-01-01T00:00:00Z\"},\"webhooks\":[%s]}",
          hook);
    assert_ok(json_parse_mut(a, buf_view(&b), &d, &err), &err);
    assert_ok(codec_default(k, d, &err), &err);
    assert_int_equal(codec_validate(k, yyjson_mut_doc_get_root(d), NULL, &c), 0);
    buf_reset(&b);
    for (size_t i = 0; i < c.n; i++) {
        buf_f(&b, "%.*s: %.*s\n", STR_ARG(c.v[i].field), STR_ARG(c.v[i].text));
    }
    if (c.n == 0) {
        json_write_mut(&b, json_mpath(yyjson_mut_doc_get_root(d), "webhooks"));
    }
    struct str s = arena_str(a, buf_view(&b));
    buf_release(&b);
    return s;
}

#define HOOK(client_, rest_)                                                                       \
    "{\"name\":\"a.b.c\",\"clientConfig\":" client_ ",\"sideEffects\":\"None\","                   \
    "\"admissionReviewVersions\":[\"v1\"]" rest_ "}"
#define URL "{\"url\":\"https://h/x\"}"
#define RULE(ops_, groups_)                                                                        \
    ",\"rules\":[{\"operations\":" ops_ ",\"apiGroups\":" groups_ ",\"apiVersions\":[\"v1\"],"     \
    "\"resources\":[\"pods\"]}]"

#define COND(text_) ",\"matchConditions\":[{\"name\":\"c\",\"expression\":\"" text_ "\"}]"

static void rows(void **state) {
    static const struct {
        const char *hook, *want;
    } cases[] = {
        {HOOK(URL, RULE("[\"CREATE\"]", "[\"\"]")), "[{\"name\":\"a.b.c\""},
        {HOOK("{}", ""), "webhooks[0].clientConfig: Required value: exactly one of url or service"},
        {HOOK("{\"url\":\"http://h\"}", ""),
         "webhooks[0].clientConfig.url: Invalid value: \"http://h\": 'https' is the only"},
        {HOOK("{\"url\":\"https://h\",\"service\":{\"name\":\"s\",\"namespace\":\"n\"}}", ""),
         "webhooks[0].clientConfig: Required value"},
        {"{\"name\":\"a.b.c\",\"clientConfig\":" URL "}", "webhooks[0].sideEffects: Required"},
        {HOOK(URL, ",\"timeoutSeconds\":31"), "webhooks[0].timeoutSeconds: Invalid value: 31"},
        {HOOK(URL, ",\"failurePolicy\":\"Retry\""), "webhooks[0].failurePolicy: Unsupported value"},
        {HOOK(URL, RULE("[\"*\",\"CREATE\"]", "[\"\"]")),
         "webhooks[0].rules[0].operations: Invalid value"},
        {HOOK(URL, RULE("[\"PATCH\"]", "[\"\"]")), "webhooks[0].rules[0].operations[0]: Unsupp"},
        {HOOK(URL, COND("object.x > ")),
         "webhooks[0].matchConditions[0].expression: Invalid value: \"object.x >\": compilation "
         "failed: ERROR: <input>:1:11: Syntax error: "},
        {HOOK(URL, COND("params.x")), "webhooks[0].matchConditions[0].expression: Invalid value: "
                                      "\"params.x\": compilation failed: ERROR: <input>:1:1: "
                                      "undeclared reference to 'params'"},
        {HOOK(URL, COND("1")), "webhooks[0].matchConditions[0].expression: Invalid value: \"1\": "
                               "must evaluate to bool but got int"},
        {HOOK(URL, COND("authorizer.requestResource.check('x').allowed()")),
         "[{\"name\":\"a.b.c\""},
        {HOOK(URL, "") "," HOOK(URL, ""), "webhooks[1].name: Duplicate value: \"a.b.c\""},
        {"{\"name\":\"a.b\",\"clientConfig\":" URL
         ",\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1beta1\"]}",
         "webhooks[0].name: Invalid value: \"a.b\": should be a domain"},
    };
    struct arena a;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct str got = faults(&a, cases[i].hook);
        if (!str_starts(got, str_of(cases[i].want))) {
            print_error("case %zu: %.*s\n", i, STR_ARG(got));
        }
        assert_true(str_starts(got, str_of(cases[i].want)));
        arena_reset(&a);
    }
    struct str all = faults(&a, HOOK("{\"service\":{\"name\":\"s\",\"namespace\":\"n\"}}",
                                     RULE("[\"CREATE\"]", "[\"\"]")));
    static const char *const defaults[] = {"\"failurePolicy\":\"Fail\"",
                                           "\"matchPolicy\":\"Equivalent\"",
                                           "\"timeoutSeconds\":10",
                                           "\"reinvocationPolicy\":\"Never\"",
                                           "\"namespaceSelector\":{}",
                                           "\"objectSelector\":{}",
                                           "\"scope\":\"*\"",
                                           "\"port\":443"};
    for (size_t i = 0; i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        assert_true(str_contains(all, str_of(defaults[i])));
    }
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
