/* Tests of template_text: what is the same template, and what is not. */
#include "control/apps/template_text.h"

#include "base/test.h"

static struct arena arena;

static struct str text(const char *json) {
    yyjson_doc *d;
    struct err err = {0};
    struct buf b;
    assert_ok(json_parse(&arena, str_of(json), &d, &err), &err);
    buf_init(&b, 0);
    template_text(yyjson_doc_get_root(d), &arena, &b);
    assert_int_equal(buf_ok(&b), 0);
    struct str r = arena_str(&arena, buf_view(&b));
    buf_release(&b);
    return r;
}

#define POD(more_) "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"" more_ "}]}}"
#define SAME(a_, b_) assert_str_eq(text(a_), text(b_))
#define DIFFER(a_, b_) assert_false(str_eq(text(a_), text(b_)))

static void nothing_is_nothing(void **state) {
    SAME(POD(""), POD(",\"args\":[]"));
    SAME(POD(""), POD(",\"resources\":{}"));
    SAME(POD(""), POD(",\"resources\":{\"limits\":{}},\"env\":null,\"workingDir\":\"\""));
    SAME(POD(""), POD(",\"stdin\":false"));
    SAME(POD(""), "{\"metadata\":{\"creationTimestamp\":null,\"labels\":{}},\"spec\":{"
                  "\"containers\":[{\"image\":\"i\",\"name\":\"c\"}]}}");
}

static void what_upstream_tells_apart_differs(void **state) {
    DIFFER(POD(""), POD(",\"securityContext\":{\"runAsUser\":0}"));
    DIFFER(POD(""), POD(",\"securityContext\":{\"privileged\":false}"));
    DIFFER(POD(""), POD(",\"stdin\":true"));
    DIFFER(POD(",\"args\":[\"\"]"), POD(""));
}

static void amounts_and_maps_have_one_form(void **state) {
    SAME(POD(",\"resources\":{\"limits\":{\"cpu\":\"1000m\",\"memory\":\"1Gi\"}}"),
         POD(",\"resources\":{\"limits\":{\"memory\":\"1024Mi\",\"cpu\":\"1\"}}"));
    SAME("{\"metadata\":{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}}",
         "{\"metadata\":{\"labels\":{\"b\":\"2\",\"a\":\"1\"}}}");
}

static void the_hash_is_not_the_templates(void **state) {
    SAME("{\"metadata\":{\"labels\":{\"a\":\"1\",\"pod-template-hash\":\"x\"}}}",
         "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}");
    SAME("{\"metadata\":{\"labels\":{\"pod-template-hash\":\"x\"}}}", "{}");
    DIFFER("{\"metadata\":{\"labels\":{\"a\":\"1\"}}}",
           "{\"metadata\":{\"labels\":{\"a\":\"2\"}}}");
}

static void names_depend_on_text_and_collisions(void **state) {
    char a[TEMPLATE_HASH_MAX], b[TEMPLATE_HASH_MAX];
    struct str x = template_hash(STR("one"), 0, a), y = template_hash(STR("two"), 0, b);
    assert_false(str_eq(x, y));
    assert_str_eq(template_hash(STR("one"), 0, b), x);
    assert_false(str_eq(template_hash(STR("one"), 1, b), x));
    for (size_t i = 0; i < x.n; i++) {
        assert_non_null(strchr("bcdfghjklmnpqrstvwxz2456789", x.p[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(what_upstream_tells_apart_differs),
        cmocka_unit_test(amounts_and_maps_have_one_form),
        cmocka_unit_test(the_hash_is_not_the_templates),
        cmocka_unit_test(names_depend_on_text_and_collisions),
    };
    arena_init(&arena, 64 << 20);
    int r = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return r;
}
