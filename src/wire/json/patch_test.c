/* Tests of merge patch and JSON patch: the RFCs' own examples, limits, hostile pointers, allocation faults. */
#include "base/limits.h"
#include "base/mem.h"
#include "wire/json/json_fixture.h"
#include "wire/json/patch.h"

static void test_merge(void **state) {
    static const char *const cases[][3] = {
        /* RFC 7386, appendix A */
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
        /* nulls inside lists stay */
        {"{}", "{\"a\":[{\"b\":null}]}", "{\"a\":[{\"b\":null}]}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        yyjson_mut_doc *d = parse_mut(cases[i][0]);
        struct err err = {0};
        assert_ok(patch_merge(d, parse(cases[i][1]), &err), &err);
        assert_text(d, cases[i][2]);
    }
}

static void test_json(void **state) {
    static const char *const cases[][3] = {
        {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
         "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
        {"{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
         "{\"foo\":[\"bar\",\"qux\",\"baz\"]}"},
        {"{\"foo\":[]}",
         "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":1},"
         "{\"op\":\"add\",\"path\":\"/foo/0\",\"value\":0},"
         "{\"op\":\"add\",\"path\":\"/foo/2\",\"value\":2}]",
         "{\"foo\":[0,1,2]}"},
        {"{\"a\":1,\"b\":2}", "[{\"op\":\"remove\",\"path\":\"/a\"}]", "{\"b\":2}"},
        {"{\"a\":[1,2,3]}", "[{\"op\":\"remove\",\"path\":\"/a/1\"}]", "{\"a\":[1,3]}"},
        {"{\"a\":[1,2,3]}", "[{\"op\":\"replace\",\"path\":\"/a/1\",\"value\":null}]",
         "{\"a\":[1,null,3]}"},
        {"{\"a\":1,\"b\":2}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":{}}]",
         "{\"a\":{},\"b\":2}"},
        {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[]}]", "[]"},
        {"{\"a\":{\"b\":1},\"c\":{}}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/c/d\"}]",
         "{\"a\":{},\"c\":{\"d\":1}}"},
        {"[1,2,3,4]", "[{\"op\":\"move\",\"from\":\"/1\",\"path\":\"/3\"}]", "[1,3,4,2]"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]",
         "{\"a\":{\"b\":1}}"},
        {"{\"a\":{\"b\":1}}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/c\"}]",
         "{\"a\":{\"b\":1,\"c\":{\"b\":1}}}"},
        {"{\"a/b\":1,\"m~n\":2,\"\":3}",
         "[{\"op\":\"test\",\"path\":\"/a~1b\",\"value\":1},{\"op\":\"test\",\"path\":\"/"
         "m~0n\",\"value\":2},"
         "{\"op\":\"test\",\"path\":\"/\",\"value\":3.0},{\"op\":\"remove\",\"path\":\"/a~1b\"}]",
         "{\"m~n\":2,\"\":3}"},
        {"{\"~1\":1}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":1}]", "{\"~1\":1}"},
        {"{\"a\":{\"x\":1,\"y\":[2]}}",
         "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":[2],\"x\":1}}]",
         "{\"a\":{\"x\":1,\"y\":[2]}}"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        yyjson_mut_doc *d = parse_mut(cases[i][0]);
        struct err err = {0};
        assert_ok(patch_json(d, parse(cases[i][1]), &err), &err);
        assert_text(d, cases[i][2]);
    }
}

static void test_json_refused(void **state) {
    static const struct {
        const char *ops;
        int code;
    } cases[] = {
        {"{}", ERR_SYNTAX},
        {"[1]", ERR_SYNTAX},
        {"[{\"op\":\"spam\",\"path\":\"/a\"}]", ERR_SYNTAX},
        {"[{\"op\":\"add\",\"path\":\"/a\"}]", ERR_SYNTAX},
        {"[{\"op\":\"remove\"}]", ERR_SYNTAX},
        {"[{\"op\":\"move\",\"path\":\"/a\"}]", ERR_SYNTAX},
        {"[{\"op\":\"remove\",\"path\":\"/none\"}]", ERR_INVALID},
        {"[{\"op\":\"remove\",\"path\":\"\"}]", ERR_INVALID},
        {"[{\"op\":\"replace\",\"path\":\"/none\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/none/a\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"a\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/n/a\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/l/4\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/l/01\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/l/-1\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/l/1e0\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/l/99999999999999999999\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"test\",\"path\":\"/l/-\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"remove\",\"path\":\"/l/-\"}]", ERR_INVALID},
        {"[{\"op\":\"remove\",\"path\":\"/l/3\"}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/a~2b\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"add\",\"path\":\"/a~\",\"value\":1}]", ERR_INVALID},
        {"[{\"op\":\"test\",\"path\":\"/n\",\"value\":\"1\"}]", ERR_INVALID},
        {"[{\"op\":\"move\",\"from\":\"/o\",\"path\":\"/o/p\"}]", ERR_INVALID},
        {"[{\"op\":\"move\",\"from\":\"\",\"path\":\"/o\"}]", ERR_INVALID},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        yyjson_mut_doc *d = parse_mut("{\"n\":1,\"l\":[1,2,3],\"o\":{}}");
        int r = patch_json(d, parse(cases[i].ops), NULL);
        if (r != cases[i].code) {
            print_error("%s: %d\n", cases[i].ops, r);
        }
        assert_int_equal(r, cases[i].code);
    }
    struct err err = {0};
    yyjson_mut_doc *d = parse_mut("{}");
    patch_json(d,
               parse("[{\"op\":\"add\",\"path\":\"/a\",\"value\":1},{\"op\":\"test\",\"path\":\"/"
                     "a\",\"value\":2}]"),
               &err);
    assert_string_equal(err.text, "operation 1 (test /a): the value is another");
}

/* Each copy doubles the document. */
static void test_json_copy_bomb(void **state) {
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "[");
    for (int i = 0; i < 60; i++) {
        buf_f(&b, "%s{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}", i ? "," : "");
    }
    buf_c(&b, "]");
    yyjson_mut_doc *d = parse_mut("{\"a\":[\"xxxxxxxxxxxxxxxx\"]}");
    assert_int_equal(patch_json(d, parse(buf_cstr(&b)), NULL), ERR_TOO_LARGE);
    buf_release(&b);
}

/* Moving a value below itself is refused, but siblings can be stacked. */
static void test_json_depth_bomb(void **state) {
    struct buf b, doc;
    buf_init(&b, 0);
    buf_init(&doc, 0);
    buf_c(&b, "[");
    buf_c(&doc, "{\"k0\":{}");
    for (int i = 1; i < 200; i++) {
        buf_f(&doc, ",\"k%d\":{}", i);
        buf_f(&b, "%s{\"op\":\"move\",\"from\":\"/k%d\",\"path\":\"/k%d/k\"}", i > 1 ? "," : "",
              i - 1, i);
    }
    buf_c(&b, "]");
    buf_c(&doc, "}");
    yyjson_mut_doc *d = parse_mut(buf_cstr(&doc));
    assert_int_equal(patch_json(d, parse(buf_cstr(&b)), NULL), ERR_TOO_LARGE);
    buf_release(&b);
    buf_release(&doc);
}

/* Ten thousand additions to a large object would walk it ten thousand times. */
static void test_json_steps(void **state) {
    struct buf b, doc;
    buf_init(&b, 0);
    buf_init(&doc, 0);
    buf_c(&b, "[");
    buf_c(&doc, "{\"k\":1");
    for (int i = 0; i < 20000; i++) {
        buf_f(&doc, ",\"k%d\":1", i);
    }
    for (int i = 0; i < LIMIT_JSON_PATCH_OPS; i++) {
        buf_f(&b, "%s{\"op\":\"add\",\"path\":\"/n%d\",\"value\":1}", i ? "," : "", i);
    }
    buf_c(&b, "]");
    buf_c(&doc, "}");
    yyjson_mut_doc *d = parse_mut(buf_cstr(&doc));
    assert_int_equal(patch_json(d, parse(buf_cstr(&b)), NULL), ERR_TOO_LARGE);
    buf_release(&b);
    buf_release(&doc);
}

static void test_json_many(void **state) {
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "[");
    for (int i = 0; i <= LIMIT_JSON_PATCH_OPS; i++) {
        buf_f(&b, "%s{\"op\":\"add\",\"path\":\"/a\",\"value\":1}", i ? "," : "");
    }
    buf_c(&b, "]");
    struct err err = {0};
    assert_int_equal(patch_json(parse_mut("{}"), parse(buf_cstr(&b)), &err), ERR_TOO_LARGE);
    assert_string_equal(err.text,
                        "The allowed maximum operations in a JSON patch is 10000, got 10001");
    buf_release(&b);
}

static int run_patches(void) {
    struct arena a;
    yyjson_mut_doc *d;
    yyjson_doc *merge, *ops;
    arena_init(&a, 1 << 20);
    int r = json_parse_mut(&a, STR("{\"a\":{\"b\":[1,2]}}"), &d, NULL);
    r = r ? r : json_parse(&a, STR("{\"a\":{\"c\":{\"d\":null}},\"e\":[{}]}"), &merge, NULL);
    r = r ? r
          : json_parse(&a,
                       STR("[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/x~1\"},"
                           "{\"op\":\"add\",\"path\":\"/a/b/-\",\"value\":{\"z\":1}}]"),
                       &ops, NULL);
    r = r ? r : patch_merge(d, yyjson_doc_get_root(merge), NULL);
    r = r ? r : patch_json(d, yyjson_doc_get_root(ops), NULL);
    arena_release(&a);
    return r;
}

static void test_alloc_faults(void **state) {
    for (uint64_t nth = 1;; nth++) {
        mem_fault(nth, 1);
        int r = run_patches();
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_int_equal(r, hit ? ERR_NOMEM : 0);
        if (!hit) {
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_merge, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json_copy_bomb, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json_depth_bomb, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_json_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alloc_faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("patch", tests, NULL, NULL);
}
