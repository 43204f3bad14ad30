/* Tests of kinds_key: what a ModelKey may say. */
#include "base/test.h"

#include "api/schema/codec.h"
#include "api/serving/view_key.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"
#define SHA256 "\"sha256\":\"" DIGEST "f\""

/* The first cause about a spec, as "field: text"; `old`: the spec that is stored. */
static struct str fault(struct arena *a, const char *spec, const char *old) {
    const struct kind *k = kind_by_name(STR("berth.dev"), STR("ModelKey"));
    struct causes causes = {.arena = a};
    struct err err = {0};
    yyjson_mut_doc *d;
    yyjson_doc *was = NULL;
    assert_non_null(k);
    assert_ok(json_parse_mut(a, arena_f(a, "{\"metadata\":{\"name\":\"k\"},\"spec\":{%s}}", spec),
                             &d, &err),
              &err);
    if (old) {
        assert_ok(json_parse(a, arena_f(a, "{\"spec\":{%s}}", old), &was, &err), &err);
    }
    assert_int_equal(codec_validate(k, yyjson_mut_doc_get_root(d),
                                    was ? yyjson_doc_get_root(was) : NULL, &causes),
                     0);
    return causes.n == 0
               ? STR("")
               : arena_f(a, "%.*s: %.*s", STR_ARG(causes.v[0].field), STR_ARG(causes.v[0].text));
}

static void what_a_key_may_say(void **state) {
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_str_eq(fault(&a, SHA256, NULL), STR(""));
    assert_str_eq(fault(&a, SHA256 ",\"models\":[\"llama-*\",\"a\",\"*\"]", NULL), STR(""));
    assert_str_eq(fault(&a, "\"sha256\":\"ABC\"", NULL),
                  STR("spec.sha256: Invalid value: \"ABC\": must be 64 lower-case hexadecimal "
                      "digits"));
    assert_true(str_contains(fault(&a, "\"sha256\":\"" DIGEST "F\"", NULL),
                             STR("must be 64 lower-case hexadecimal digits")));
    assert_str_eq(fault(&a, "\"purpose\":\"x\"", NULL), STR("spec.sha256: Required value"));
    assert_str_eq(fault(&a, SHA256 ",\"models\":[\"a\",\"*-chat\"]", NULL),
                  STR("spec.models[1]: Invalid value: \"*-chat\": '*' may only be the last "
                      "character"));
    assert_true(str_starts(fault(&a, SHA256 ",\"prefix\":\"a b\"", NULL), STR("spec.prefix: ")));
    assert_true(str_starts(fault(&a, SHA256 ",\"priority\":1001", NULL), STR("spec.priority: ")));
    assert_true(str_starts(fault(&a, SHA256 ",\"limits\":{\"streams\":-1}", NULL),
                           STR("spec.limits.streams: ")));
    arena_release(&a);
}

static void a_revoked_key_stays_revoked(void **state) {
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_str_eq(fault(&a, SHA256 ",\"revoked\":true", SHA256), STR(""));
    assert_str_eq(fault(&a, SHA256, SHA256 ",\"revoked\":true"),
                  STR("spec.revoked: Forbidden: a revoked key stays revoked; make a new one"));
    arena_release(&a);
}

static void a_key_keeps_its_secret_and_its_owner(void **state) {
    struct arena a;
    arena_init(&a, 1 << 20);
    assert_true(str_starts(fault(&a, "\"sha256\":\"" DIGEST "0\"", SHA256), STR("spec.sha256: ")));
    assert_true(str_starts(fault(&a, SHA256 ",\"user\":\"b\"", SHA256 ",\"user\":\"a\""),
                           STR("spec.user: ")));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_key_may_say),
        cmocka_unit_test(a_revoked_key_stays_revoked),
        cmocka_unit_test(a_key_keeps_its_secret_and_its_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
