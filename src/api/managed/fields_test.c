/* Tests of sets of fields: FieldsV1 read and written, and what is in two of them. */
#include "api/managed/fields.h"
#include "base/test.h"

static struct arena arena;

static int set_up(void **state) {
    arena_init(&arena, 4 << 20);
    return 0;
}

static int tear_down(void **state) {
    arena_release(&arena);
    return 0;
}

static struct fields set_of(const char *text) {
    yyjson_mut_doc *d;
    struct fields f = {0};
    struct err err = {0};
    assert_ok(json_parse_mut(&arena, str_of(text), &d, &err), &err);
    assert_ok(fields_read(&arena, yyjson_mut_doc_get_root(d), &f), &err);
    return f;
}

static struct str text_of(const struct fields *f) {
    yyjson_mut_doc *d = json_mut_new(&arena);
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, fields_tree(d, f));
    struct str r = arena_str(&arena, buf_view(&b));
    buf_release(&b);
    return r;
}

static void check_text(struct fields f, const char *want) {
    assert_str_eq(text_of(&f), str_of(want));
}

static void test_canonical(void **state) {
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"{}", "{}"},
        {"{\"f:b\":{},\"f:a\":{}}", "{\"f:a\":{},\"f:b\":{}}"},
        {"{\"f:a\":{\"f:x\":{},\".\":{}}}", "{\"f:a\":{\".\":{},\"f:x\":{}}}"},
        {"{\"f:a\":{\".\":{}}}", "{\"f:a\":{}}"},
        {"{\"f:a\":{},\"f:a\":{\"f:b\":{}}}", "{\"f:a\":{\".\":{},\"f:b\":{}}}"},
        {"{\"k:{\\\"b\\\": 1.0, \\\"a\\\":\\\"x\\\"}\":{\"f:b\":{}}}",
         "{\"k:{\\\"a\\\":\\\"x\\\",\\\"b\\\":1}\":{\"f:b\":{}}}"},
        {"{\"k:{\\\"p\\\":443}\":{},\"k:{\\\"p\\\":80}\":{},\"k:{\\\"p\\\":8080}\":{}}",
         "{\"k:{\\\"p\\\":80}\":{},\"k:{\\\"p\\\":443}\":{},\"k:{\\\"p\\\":8080}\":{}}"},
        {"{\"v:\\\"b\\\"\":{},\"v:\\\"a\\\"\":{},\"f:z\":{},\"i:1\":{}}",
         "{\"f:z\":{},\"v:\\\"a\\\"\":{},\"v:\\\"b\\\"\":{},\"i:1\":{}}"},
        {"{\"x:new\":{\"f:a\":{}},\"f:a\":{}}", "{\"f:a\":{}}"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_text(set_of(rows[i].in), rows[i].out);
        check_text(set_of(rows[i].out), rows[i].out);
    }
}

static void test_bad(void **state) {
    static const char *const rows[] = {
        "[]",
        "1",
        "{\"f:a\":1}",
        "{\"a\":{}}",
        "{\"fa\":{}}",
        "{\"k:[]\":{}}",
        "{\"k:{}\":{}}",
        "{\"k:{\":{}}",
        "{\"v:\":{}}",
        "{\"i:-1\":{}}",
        "{\"i:x\":{}}",
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        yyjson_mut_doc *d;
        struct fields f = {0};
        assert_int_equal(json_parse_mut(&arena, str_of(rows[i]), &d, NULL), 0);
        assert_int_equal(fields_read(&arena, yyjson_mut_doc_get_root(d), &f), ERR_INVALID);
    }
}

#define X "{\"f:a\":{},\"f:b\":{\".\":{},\"f:c\":{},\"f:d\":{}},\"f:only\":{\"f:x\":{}}}"
#define Y "{\"f:b\":{\"f:c\":{}},\"f:e\":{},\"f:only\":{}}"

static void test_two_sets(void **state) {
    struct fields x = set_of(X), y = set_of(Y);
    check_text(fields_union(&arena, &x, &y),
               "{\"f:a\":{},\"f:b\":{\".\":{},\"f:c\":{},\"f:d\":{}},\"f:e\":{},"
               "\"f:only\":{\".\":{},\"f:x\":{}}}");
    check_text(fields_both(&arena, &x, &y), "{\"f:b\":{\"f:c\":{}}}");
    check_text(fields_minus(&arena, &x, &y),
               "{\"f:a\":{},\"f:b\":{\".\":{},\"f:d\":{}},\"f:only\":{\"f:x\":{}}}");
    check_text(fields_minus(&arena, &y, &x), "{\"f:e\":{},\"f:only\":{}}");
    check_text(fields_minus(&arena, &x, &x), "{}");
    check_text(fields_without(&arena, &x, "b"), "{\"f:a\":{},\"f:only\":{\"f:x\":{}}}");
    check_text(fields_only(&arena, &x, "b"), "{\"f:b\":{\".\":{},\"f:c\":{},\"f:d\":{}}}");
    assert_true(fields_equal(&x, &x));
    assert_false(fields_equal(&x, &y));
    check_text(x, X);
    check_text(y, Y);
}

static bool tell(void *ctx, struct str path) {
    buf_str(ctx, path);
    buf_ch(ctx, '\n');
    return true;
}

static bool tell_two(void *ctx, struct str path) {
    size_t *n = ctx;
    return ++*n < 2;
}

static void test_paths(void **state) {
    struct buf b;
    struct fields f =
        set_of("{\"f:spec\":{\"f:z\":{},\"f:l\":{\"k:{\\\"name\\\":\\\"c\\\",\\\"port\\\":"
               "80}\":{\".\":{},\"f:image\":{}}},\"f:s\":{\"v:\\\"x\\\"\":{},\"v:7\":"
               "{}},\"f:i\":{\"i:3\":{}}}}");
    buf_init(&b, 0);
    fields_each(&f, &arena, tell, &b);
    assert_str_eq(buf_view(&b), STR(".spec.z\n.spec.i[3]\n.spec.l[name=\"c\",port=80]\n"
                                    ".spec.l[name=\"c\",port=80].image\n.spec.s[=\"x\"]\n"
                                    ".spec.s[=7]\n"));
    assert_int_equal(fields_count(&f), 6);
    size_t n = 0;
    assert_false(fields_each(&f, &arena, tell_two, &n));
    assert_int_equal(n, 2);
    buf_release(&b);
}

/* The text of a step, of which the first 255 bytes are told: the next character has two. */
static void check_cut(enum step_type type, const char *before, const char *after) {
    static char text[100000], told[300];
    struct buf b;
    memset(text, 'x', sizeof(text));
    text[255] = '\xc3';
    text[256] = '\xa9';
    snprintf(told, sizeof(told), "%s%.255s...%s", before, text, after);
    buf_init(&b, 0);
    step_write(&(struct field_step){type, str_from(text, sizeof(text))}, &arena, &b);
    assert_str_eq(buf_view(&b), str_of(told));
    buf_release(&b);
}

static void test_long_texts(void **state) {
    check_cut(STEP_FIELD, ".", "");
    check_cut(STEP_KEY, "[", "]");
    check_cut(STEP_VALUE, "[=", "]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_canonical, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_two_sets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_texts, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
