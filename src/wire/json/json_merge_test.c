/* json_merge_test: patches between documents, applied. */
#include "wire/json/json_fixture.h"
#include "wire/json/json_merge.h"
#include "wire/json/patch.h"

static void leads_there(const char *from, const char *to, const char *want) {
    yyjson_val *a = parse(from);
    yyjson_mut_doc *b = parse_mut(to), *patched = json_mut_copy(&arena, a);
    struct buf out;
    struct err err = {0};
    bool some = false;
    buf_init(&out, 0);
    buf_ch(&out, '{');
    assert_int_equal(json_merge_members(a, b->root, NULL, &some, &out), want[1] != '}');
    buf_ch(&out, '}');
    assert_str_eq(buf_view(&out), str_of(want));
    assert_ok(patch_merge(patched, parse(buf_cstr(&out)), &err), &err);
    assert_true(json_mequal(patched->root, b->root));
    buf_release(&out);
}

static void test_patches(void **state) {
    leads_there("{}", "{}", "{}");
    leads_there("{\"a\":1,\"b\":[1,2]}", "{\"b\":[1,2],\"a\":1.0}", "{}");
    leads_there("{\"a\":1}", "{\"a\":2,\"c\":\"x\"}", "{\"a\":2,\"c\":\"x\"}");
    leads_there("{\"a\":{\"b\":1,\"c\":2}}", "{\"a\":{\"b\":1}}", "{\"a\":{\"c\":null}}");
    leads_there("{\"a\":[1,{\"b\":2}]}", "{\"a\":[1,{\"b\":3}]}", "{\"a\":[1,{\"b\":3}]}");
    leads_there("{\"a\":1,\"b\":2}", "{\"a\":{\"x\":1}}", "{\"a\":{\"x\":1},\"b\":null}");
}

/* In any order, and with what is missing in either. */
static void test_same(void **state) {
    yyjson_val *a = parse("{\"a\":1,\"b\":{\"x\":1,\"y\":2},\"c\":3}");
    assert_true(json_same(a, parse_mut("{\"a\":1,\"b\":{\"x\":1,\"y\":2},\"c\":3}")->root));
    assert_true(json_same(a, parse_mut("{\"c\":3,\"b\":{\"y\":2,\"x\":1},\"a\":1}")->root));
    assert_false(json_same(a, parse_mut("{\"a\":1,\"b\":{\"x\":1,\"z\":2},\"c\":3}")->root));
    assert_false(json_same(a, parse_mut("{\"b\":1,\"c\":3,\"a\":1}")->root));
    assert_false(json_same(a, parse_mut("{\"a\":1,\"c\":3}")->root));
    assert_false(json_same(parse("{\"\":1,\"a\":1}"), parse_mut("{\"a\":1,\"b\":1}")->root));
}

static void test_leaves_out(void **state) {
    struct buf out;
    bool some = true;
    buf_init(&out, 0);
    assert_true(json_merge_members(parse("{\"a\":1,\"b\":1}"), parse_mut("{\"a\":2}")->root, "a",
                                   &some, &out));
    assert_str_eq(buf_view(&out), STR(",\"b\":null"));
    buf_reset(&out);
    assert_true(json_merge_members(NULL, parse_mut("{\"a\":2}")->root, NULL, &some, &out));
    assert_str_eq(buf_view(&out), STR(",\"a\":2"));
    buf_reset(&out);
    assert_false(json_merge_members(NULL, NULL, NULL, &some, &out));
    buf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_patches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leaves_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
