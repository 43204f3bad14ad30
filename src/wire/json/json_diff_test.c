/* Tests of json_diff: what it writes is applied by patch_json, and must give the other document. */
#include "base/prng.h"
#include "base/test.h"
#include "wire/json/json_diff.h"
#include "wire/json/patch.h"

static size_t check(const char *from, const char *to, struct buf *out) {
    struct arena a;
    struct err err = {0};
    yyjson_doc *f, *t, *ops, *result;
    yyjson_mut_doc *m;
    struct buf text;
    arena_init(&a, 16 << 20);
    buf_init(&text, 0);
    buf_reset(out);
    assert_ok(json_parse(&a, str_of(from), &f, &err), &err);
    assert_ok(json_parse(&a, str_of(to), &t, &err), &err);
    size_t n = json_diff(yyjson_doc_get_root(f), yyjson_doc_get_root(t), out);
    assert_int_equal(buf_ok(out), 0);
    assert_ok(json_parse(&a, buf_view(out), &ops, &err), &err);
    assert_int_equal(yyjson_arr_size(yyjson_doc_get_root(ops)), n);
    m = json_mut_copy(&a, yyjson_doc_get_root(f));
    assert_ok(patch_json(m, yyjson_doc_get_root(ops), &err), &err);
    json_write_mut(&text, yyjson_mut_doc_get_root(m));
    assert_ok(json_parse(&a, buf_view(&text), &result, &err), &err);
    assert_true(json_equal(yyjson_doc_get_root(result), yyjson_doc_get_root(t)));
    buf_release(&text);
    arena_release(&a);
    return n;
}

static void cases(void **state) {
    static const struct {
        const char *from, *to, *ops;
    } rows[] = {
        {"{}", "{}", "[]"},
        {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "[]"},
        {"{}", "{\"a/b~c\":1}", "[{\"op\":\"add\",\"path\":\"/a~1b~0c\",\"value\":1}]"},
        {"{\"a\":{\"b\":1}}", "{\"a\":{}}", "[{\"op\":\"remove\",\"path\":\"/a/b\"}]"},
        {"{\"a\":true}", "{\"a\":null}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":null}]"},
        {"{\"a\":[1,2]}", "{\"a\":[0,1,2]}", "[{\"op\":\"add\",\"path\":\"/a/0\",\"value\":0}]"},
        {"{\"a\":[1,2]}", "{\"a\":[1,2,3]}", "[{\"op\":\"add\",\"path\":\"/a/2\",\"value\":3}]"},
        {"{\"a\":[0,1,2]}", "{\"a\":[1,2]}", "[{\"op\":\"remove\",\"path\":\"/a/0\"}]"},
        {"{\"a\":[1,{\"b\":2}]}", "{\"a\":[1,{\"b\":3}]}",
         "[{\"op\":\"replace\",\"path\":\"/a/1/b\",\"value\":3}]"},
        {"{\"a\":[]}", "{\"a\":{}}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":{}}]"},
    };
    struct buf out;
    buf_init(&out, 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        (void)check(rows[i].from, rows[i].to, &out);
        assert_str_eq(buf_view(&out), str_of(rows[i].ops));
    }
    buf_release(&out);
}

static void random_value(struct prng *r, int depth, struct buf *b) {
    uint64_t kind = prng_below(r, depth > 0 ? 6 : 4);
    size_t n = (size_t)prng_below(r, 5);
    const char *comma = "";
    if (kind < 4) {
        static const char *const scalars[] = {"1", "true", "\"x\"", "null"};
        buf_c(b, scalars[kind]);
        return;
    }
    buf_ch(b, kind == 4 ? '[' : '{');
    for (size_t i = 0; i < n; i++, comma = ",") {
        buf_c(b, comma);
        if (kind == 5) {
            buf_f(b, "\"%c%zu/~\":", (int)('a' + prng_below(r, 3)), i);
        }
        random_value(r, depth - 1, b);
    }
    buf_ch(b, kind == 4 ? ']' : '}');
}

static void at_random(void **state) {
    struct prng r;
    struct buf a, b, out;
    prng_seed(&r, 4711);
    buf_init(&a, 0);
    buf_init(&b, 0);
    buf_init(&out, 0);
    for (int i = 0; i < 3000; i++) {
        buf_reset(&a);
        buf_reset(&b);
        buf_c(&a, "{\"v\":");
        buf_c(&b, "{\"v\":");
        random_value(&r, 4, &a);
        random_value(&r, 4, &b);
        buf_ch(&a, '}');
        buf_ch(&b, '}');
        (void)check(buf_cstr(&a), buf_cstr(&b), &out);
        assert_int_equal(check(buf_cstr(&a), buf_cstr(&a), &out), 0);
    }
    buf_release(&a);
    buf_release(&b);
    buf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cases), cmocka_unit_test(at_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
