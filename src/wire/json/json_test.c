/* Tests of json: reading with limits, changing, duplicates, equality, allocation faults. */
#include "base/limits.h"
#include "base/mem.h"
#include "wire/json/json_fixture.h"

static void test_refuses_malformed(void **state) {
    const char *bad[] = {"",         "{",   "[1,]",        "{\"a\":}", "NaN",      "1 2",
                         "\"\xff\"", "tru", "\"\\ud800\"", "'a'",      "{a:1}",    "// c\n1",
                         "+1",       "01",  "[1 2]",       "\"\x01\"", "\xef\xbb", "1e999"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        yyjson_doc *doc = NULL;
        struct err err = {0};
        assert_int_equal(json_parse(&arena, str_of(bad[i]), &doc, &err), ERR_SYNTAX);
        assert_null(doc);
    }
}

static int parse_nested(size_t depth, bool close) {
    char *text = malloc(2 * depth);
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    yyjson_doc *doc;
    int r = json_parse(&arena, str_from(text, close ? 2 * depth : depth), &doc, NULL);
    free(text);
    return r;
}

static void test_depth(void **state) {
    assert_int_equal(parse_nested(LIMIT_JSON_DEPTH, true), 0);
    assert_int_equal(parse_nested(LIMIT_JSON_DEPTH + 1, true), ERR_TOO_LARGE);
    assert_int_equal(parse_nested(3 << 19, true), ERR_TOO_LARGE);
    arena_reset(&arena);
    assert_int_equal(parse_nested(1000, false), ERR_SYNTAX);
    /* depth is that of nesting, not the number of containers */
    assert_non_null(parse("[[],[],[[]],{\"a\":{}},[],[],[],[]]"));
}

static void test_numbers(void **state) {
    yyjson_val *v = parse("[9223372036854775807,18446744073709551615,18446744073709551616,-1,1.5]");
    assert_true(yyjson_is_int(yyjson_arr_get(v, 0)));
    assert_true(yyjson_is_uint(yyjson_arr_get(v, 1)));
    assert_true(yyjson_is_real(yyjson_arr_get(v, 2)));
    assert_true(yyjson_is_sint(yyjson_arr_get(v, 3)));
    v = parse("{\"a\":{\"b\":-7,\"big\":18446744073709551615,\"s\":\"x\"},\"t\":true}");
    assert_int_equal(json_i64_at(v, "a.b", 0), -7);
    assert_int_equal(json_i64_at(v, "a.big", 5), 5);
    assert_int_equal(json_i64_at(v, "a.s", 6), 6);
    assert_int_equal(json_i64_at(v, "a.b.c", 8), 8);
    assert_true(json_bool_at(v, "t", false));
    assert_str_eq(json_str_at(v, "a.s"), STR("x"));
    assert_str_eq(json_str_at(NULL, "a.s"), STR(""));
    assert_null(json_get(NULL, STR("a")));
    assert_null(json_get(v, (struct str){NULL, 0}));
}

static void test_change(void **state) {
    yyjson_mut_doc *d = parse_mut("{\"a\":1,\"b\":2,\"c\":3}");
    assert_int_equal(json_mset_str(d, d->root, "b", STR("x")), 0);
    yyjson_mut_val *spec = yyjson_mut_obj(d);
    assert_int_equal(json_mset(d, d->root, STR("c"), spec), 0);
    assert_int_equal(json_mset_i64(d, spec, "n", -5), 0); /* the node set is the node in the tree */
    json_mdel(d->root, STR("a"));
    assert_int_equal(json_mset_bool(d, json_mensure(d, d->root, "m.n"), "o.p", true), 0);
    assert_text(d, "{\"b\":\"x\",\"c\":{\"n\":-5},\"m\":{\"n\":{\"o.p\":true}}}");
    assert_ptr_equal(json_mensure(d, d->root, "m.n"), json_mpath(d->root, "m.n"));
    assert_non_null(json_mensure(d, d->root, "b.deep")); /* a string gives way */
    assert_int_equal(json_mset(d, d->root, STR("m"), NULL), 0);
    assert_text(d, "{\"b\":{\"deep\":{}},\"c\":{\"n\":-5}}");
    json_mdel(d->root, STR("b"));
    json_mdel(d->root, STR("c"));
    assert_text(d, "{}");
    assert_int_equal(json_mset_str(d, d->root, "k", STR("a\xff\xe2\x82z")), 0);
    assert_text(d, "{\"k\":\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"}");
}

struct seen {
    char text[256];
};

static void note(void *ctx, struct str path) {
    struct seen *s = ctx;
    size_t n = strlen(s->text);
    snprintf(s->text + n, sizeof(s->text) - n, "%.*s;", STR_ARG(path));
}

static void test_find(void **state) {
    yyjson_mut_val *root = parse_mut("{\"l\":[7,\"a\",\"\",{\"name\":\"b\",\"x\":{\"y\":\"c\"}},"
                                     "{\"name\":\"b\"}]}")
                               ->root;
    yyjson_mut_val *l = json_mget(root, STR("l"));
    assert_ptr_equal(json_mfind(l, NULL, STR("a")), yyjson_mut_arr_get(l, 1));
    assert_ptr_equal(json_mfind(l, NULL, STR("")),
                     yyjson_mut_arr_get(l, 2)); /* and not the number */
    assert_ptr_equal(json_mfind(l, "name", STR("b")), yyjson_mut_arr_get(l, 3));
    assert_ptr_equal(json_mfind(l, "x.y", STR("c")), yyjson_mut_arr_get(l, 3));
    assert_null(json_mfind(l, "name", STR("a")));
    assert_null(json_mfind(l, NULL, STR("b")));
    assert_null(json_mfind(root, "name", STR("b")));
    assert_null(json_mfind(NULL, NULL, STR("a")));
}

static void test_duplicates(void **state) {
    const char *text =
        "{\"a\":1,\"spec\":{\"containers\":[{\"name\":\"x\",\"name\":\"y\",\"name\":\"z\"}],"
        "\"q\":{}},\"a\":2,\"b\":3}";
    struct seen seen = {{0}};
    assert_int_equal(json_duplicates(parse(text), &arena, note, &seen), 0);
    assert_string_equal(seen.text, "a;spec.containers[0].name;");
    yyjson_mut_doc *d = parse_mut(text);
    json_dedup(d->root);
    assert_text(d, "{\"spec\":{\"containers\":[{\"name\":\"z\"}],\"q\":{}},\"a\":2,\"b\":3}");
    d = parse_mut("{\"a\":1,\"a\":2}");
    json_dedup(d->root);
    assert_text(d, "{\"a\":2}");
}

/* An object with `n` members in ascending or descending order; `twice`: each member stands twice. */
static yyjson_mut_doc *large(size_t n, bool down, bool twice) {
    yyjson_mut_doc *d = json_mut_new(&arena);
    yyjson_mut_doc_set_root(d, yyjson_mut_obj(d));
    for (size_t i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof(name), "k%zu", down ? n - i - 1 : i);
        for (int k = 0; k <= twice; k++) {
            yyjson_mut_val *key = yyjson_mut_strcpy(d, name);
            yyjson_mut_obj_add(d->root, key, yyjson_mut_uint(d, down ? n - i - 1 : i));
        }
    }
    return d;
}

static void test_large_objects(void **state) {
    enum { N = 50000 };
    yyjson_mut_doc *up = large(N, false, false), *down = large(N, true, false);
    assert_true(json_mequal(up->root, down->root)); /* a quadratic walk would take minutes here */
    yyjson_mut_doc *twice = large(N, false, true);
    json_dedup(twice->root);
    assert_true(json_mequal(up->root, twice->root));
    assert_int_equal(json_mset_i64(up, up->root, "k7", 8), 0);
    assert_false(json_mequal(up->root, down->root));
}

static void test_equal(void **state) {
    struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"{\"a\":1,\"b\":[1,{}]}", "{\"b\":[1.0,{}],\"a\":1}", true},
        {"[1,2]", "[2,1]", false},
        {"1", "true", false},
        {"true", "false", false},
        {"-1", "18446744073709551615", false},
        {"18446744073709551615", "18446744073709551615", true},
        {"18446744073709551615", "18446744073709551616", false},
        {"9007199254740993", "9007199254740992.0", false},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"b\":2,\"a\":1}", true},
        {"{}", "[]", false},
        {"{}", "{}", true},
        {"\"a\\u0000b\"", "\"a\\u0000c\"", false},
        {"null", "null", true},
        {"1e3", "1000", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(json_equal(parse(cases[i].a), parse(cases[i].b)) == cases[i].equal);
        assert_true(json_equal(parse(cases[i].b), parse(cases[i].a)) == cases[i].equal);
        assert_true(json_mequal(parse_mut(cases[i].a)->root, parse_mut(cases[i].b)->root) ==
                    cases[i].equal);
    }
    assert_true(json_equal(NULL, NULL));
    assert_false(json_equal(NULL, parse("null")));
}

static void test_write_limit(void **state) {
    struct buf b;
    buf_init(&b, 5);
    json_write(&b, parse("{\"a\":[1,2,3]}"));
    assert_int_equal(buf_ok(&b), ERR_TOO_LARGE);
    buf_release(&b);
}

static int read_change_write(void) {
    struct arena a;
    struct buf b;
    yyjson_mut_doc *d;
    arena_init(&a, 1 << 20);
    buf_init(&b, 0);
    int r = json_parse_mut(&a, STR("{\"a\":[1,2,{\"b\":null}],\"a\":1}"), &d, NULL);
    if (r == 0) {
        json_dedup(d->root);
        r = json_mset_str(d, d->root, "x", STR("y\xff"));
    }
    if (r == 0) {
        json_write_mut(&b, d->root);
        r = buf_ok(&b);
    }
    buf_release(&b);
    arena_release(&a);
    return r;
}

static void test_alloc_faults(void **state) {
    for (uint64_t nth = 1;; nth++) {
        mem_fault(nth, 0);
        int r = read_change_write();
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_int_equal(r, hit ? ERR_NOMEM : 0);
        if (!hit) {
            assert_true(nth > 3);
            break;
        }
    }
}

/* What is written reads as it was, from either kind of tree. */
static void test_written(void **state) {
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "null",
                                        "[true,false,null]",
                                        "[0,-1,9223372036854775807,18446744073709551615]",
                                        "[1.5,-0.25,1e300]",
                                        "{\"a\":{\"b\":[{},[],\"\"]},\"c\":\"d\"}",
                                        "\"\\\"\\\\\\n\\t\\r\"",
                                        "{\"\\\"k\\n\":\"\xc3\xa9\"}"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct buf b;
        buf_init(&b, 0);
        json_write(&b, parse(texts[i]));
        json_write_mut(&b, parse_mut(texts[i])->root);
        size_t n = strlen(texts[i]);
        assert_int_equal(buf_ok(&b), 0);
        assert_true(json_equal(parse(texts[i]), parse(strndupa(b.p, b.n / 2))));
        assert_true(json_equal(parse(texts[i]), parse(strndupa(b.p + b.n / 2, b.n / 2))));
        assert_true(i == 5 || (b.n == 2 * n && memcmp(b.p, texts[i], n) == 0));
        buf_release(&b);
    }
    struct buf b;
    buf_init(&b, 0);
    json_write(&b, parse("\"\\u0001\\b\\u001f\""));
    assert_true(json_equal(parse(buf_cstr(&b)), parse("\"\\u0001\\u0008\\u001f\"")));
    buf_release(&b);
    buf_init(&b, 4);
    json_write(&b, parse("[10,20]"));
    assert_int_equal(buf_ok(&b), ERR_TOO_LARGE);
    buf_release(&b);
}

static void test_in_place(void **state) {
    static const char text[] = "{\"a\\n\":[\"b\",1]}";
    char *room = arena_alloc(&arena, sizeof(text) + JSON_PADDING);
    memset(room, 'x', sizeof(text) + JSON_PADDING);
    memcpy(room, text, sizeof(text) - 1);
    yyjson_doc *doc;
    assert_int_equal(json_parse_here(&arena, room, sizeof(text) - 1, &doc, NULL), 0);
    assert_true(json_equal(yyjson_doc_get_root(doc), parse(text)));
    char bad[8 + JSON_PADDING] = "[1,2";
    assert_int_equal(json_parse_here(&arena, bad, 4, &doc, NULL), ERR_SYNTAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_written, setup, teardown),
        cmocka_unit_test_setup_teardown(test_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refuses_malformed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_change, setup, teardown),
        cmocka_unit_test_setup_teardown(test_find, setup, teardown),
        cmocka_unit_test_setup_teardown(test_duplicates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_objects, setup, teardown),
        cmocka_unit_test_setup_teardown(test_equal, setup, teardown),
        cmocka_unit_test_setup_teardown(test_write_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alloc_faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
