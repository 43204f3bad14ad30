/* Tests of YAML: scalars as Kubernetes' tools read them, streams, anchors, limits, and writing what reads back. */
#include "base/limits.h"
#include "base/mem.h"
#include "wire/json/json_fixture.h"
#include "wire/yaml.h"

static void expect(const char *text, const char *want) {
    yyjson_mut_doc *d = NULL;
    struct err err = {0};
    assert_ok(yaml_parse_one(&arena, str_of(text), &d, &err), &err);
    assert_text(d, want);
}

static int refused(const char *text, struct err *err) {
    struct yaml_docs docs = {.n = 77};
    int r = yaml_parse(&arena, str_of(text), &docs, err);
    assert_int_equal(docs.n, 77);
    return r;
}

static void test_scalars(void **state) {
    static const char *const cases[][2] = {
        {"yes", "true"},
        {"On", "true"},
        {"y", "true"},
        {"NO", "false"},
        {"off", "false"},
        {"yES", "\"yES\""},
        {"'yes'", "\"yes\""},
        {"\"on\"", "\"on\""},
        {"12", "12"},
        {"-12", "-12"},
        {"+12", "12"},
        {"0644", "420"},
        {"0o17", "15"},
        {"0x1F", "31"},
        {"0b101", "5"},
        {"1_000", "1000"},
        {"089", "89.0"},
        {"1.5", "1.5"},
        {".5", "0.5"},
        {"1.", "1.0"},
        {"1e3", "1000.0"},
        {"1e999", "\"1e999\""},
        {"-", "[null]"},
        {"1.2.3", "\"1.2.3\""},
        {"2026-01-01", "\"2026-01-01\""},
        {"2026-01-01T00:00:00Z", "\"2026-01-01T00:00:00Z\""},
        {"1:30", "\"1:30\""},
        {"100m", "\"100m\""},
        {"18446744073709551615", "18446744073709551615"},
        {"18446744073709551616", "18446744073709551616.0"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"!!str 12", "\"12\""},
        {"!!int 12", "12"},
        {"!!float 12", "12.0"},
        {"! 12", "\"12\""},
        {"!!int \"12\"", "12"},
        {"!foo 12", "\"12\""},
        {"0x", "\"0x\""},
        {"_1", "\"_1\""},
        {"|\n  a\n  b\n", "\"a\\nb\\n\""},
        {">\n  a\n  b\n", "\"a b\\n\""},
        {"\"\\u00e9\\x41\"", "\"\xc3\xa9"
                             "A\""},
        {"+.5", "0.5"},
        {"0", "0"},
        {"-0", "0"},
        {"00", "0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        yyjson_mut_doc *d = NULL;
        struct err err = {0};
        struct buf b;
        snprintf(text, sizeof(text), "%s", cases[i][0]);
        assert_ok(yaml_parse_one(&arena, str_of(text), &d, &err), &err);
        buf_init(&b, 0);
        json_write_mut(&b, d->root);
        yyjson_doc *want = NULL;
        assert_ok(json_parse(&arena, str_of(cases[i][1]), &want, &err), &err);
        if (!json_mequal(d->root, json_mut_copy(&arena, yyjson_doc_get_root(want))->root)) {
            print_error("%s: %.*s\n", text, STR_ARG(buf_view(&b)));
            fail();
        }
        buf_release(&b);
    }
}

static void test_collections(void **state) {
    expect("a: 1\nb:\n- x\n- {c: [1, ~, null]}\n", "{\"a\":1,\"b\":[\"x\",{\"c\":[1,null,null]}]}");
    expect("{\"json\": [true, \"x\\n\", 1.5]}", "{\"json\":[true,\"x\\n\",1.5]}");
    expect("yes: 1\n12: 2\n1.5: 3\n0x10: 4\n'~': 5\n",
           "{\"true\":1,\"12\":2,\"1.5\":3,\"16\":4,\"~\":5}");
    expect("? a\n: b\n", "{\"a\":\"b\"}");
    expect("a:\nb: ''\n", "{\"a\":null,\"b\":\"\"}");
}

static void test_anchors(void **state) {
    expect("a: &x {p: 1}\nb: *x\nc: [*x, &y z, *y]\n",
           "{\"a\":{\"p\":1},\"b\":{\"p\":1},\"c\":[{\"p\":1},\"z\",\"z\"]}");
    expect("base: &b {p: 1, q: 2}\nm:\n  <<: *b\n  q: 3\n",
           "{\"base\":{\"p\":1,\"q\":2},\"m\":{\"q\":3,\"p\":1}}");
    expect("m:\n  <<: [{p: 1}, {p: 2, r: 4}]\n", "{\"m\":{\"p\":1,\"r\":4}}");
    expect("'<<': 1\n", "{\"<<\":1}");
    expect("&k a: 1\nb: *k\n", "{\"a\":1,\"b\":\"a\"}");
    assert_int_equal(refused("a: *none\n", NULL), ERR_SYNTAX);
    assert_int_equal(refused("a: &a [*a]\n", NULL), ERR_SYNTAX);
    assert_int_equal(refused("<<: 1\n", NULL), ERR_SYNTAX);
}

static void test_refused(void **state) {
    struct err err = {0};
    assert_int_equal(refused("a: 1\nb: 2\na: 3\n", &err), ERR_SYNTAX);
    assert_string_equal(err.text, "line 3, column 4: key \"a\" already set in map");
    static const char *const bad[] = {
        "a: [1\n",           "\tb: 1\n",      "a: 'x\n",      "{a: 1, a: 2}", "[a]: 1\n",
        "{[1]: 2}",          "~: 1\n",        "a: .nan\n",    "a: -.inf\n",   "!!int x",
        "!!binary aGk=",     "a: b: c\n",     "a: \"\\q\"\n", "\xff\xfe\xfd", "a: \x01\n",
        "%YAML 9.9\n---\na", "1: a\n0x1: b\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (refused(bad[i], NULL) != ERR_SYNTAX) {
            print_error("%s\n", bad[i]);
            fail();
        }
    }
}

static void test_streams(void **state) {
    struct yaml_docs docs;
    struct err err = {0};
    assert_ok(yaml_parse(&arena, STR("# c\n---\na: 1\n---\n---\n~\n--- [2]\n...\n---\nb: 3\n"),
                         &docs, &err),
              &err);
    assert_int_equal(docs.n, 3);
    assert_ok(yaml_parse(&arena, STR(""), &docs, &err), &err);
    assert_int_equal(docs.n, 0);
    /* anchors end with their document */
    assert_int_equal(refused("--- &a 1\n--- *a\n", NULL), ERR_SYNTAX);
    yyjson_mut_doc *d;
    assert_int_equal(yaml_parse_one(&arena, STR("a: 1\n---\nb: 1\n"), &d, NULL), ERR_SYNTAX);
}

static void test_limits(void **state) {
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
    for (int i = 1; i < 10; i++) {
        buf_f(&b, "a%d: &a%d [*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d,*a%d]\n", i, i, i - 1, i - 1,
              i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    }
    assert_int_equal(refused(buf_cstr(&b), NULL), ERR_TOO_LARGE);
    buf_reset(&b);
    for (int i = 0; i < 100000; i++) {
        buf_c(&b, "[");
    }
    assert_int_equal(refused(buf_cstr(&b), NULL), ERR_TOO_LARGE);
    buf_reset(&b);
    for (int i = 0; i < 100000; i++) {
        buf_c(&b, "- ");
    }
    assert_int_equal(refused(buf_cstr(&b), NULL), ERR_TOO_LARGE);
    buf_reset(&b);
    for (int i = 0; i < 1000; i++) { /* libyaml would take their square */
        buf_f(&b, "%%TAG !a%d! x%c", i, i % 2 ? '\r' : '\n');
    }
    assert_int_equal(refused(buf_cstr(&b), NULL), ERR_TOO_LARGE);
    buf_reset(&b);
    for (int i = 0; i <= LIMIT_YAML_DOCS; i++) {
        buf_c(&b, "---\n");
    }
    assert_int_equal(refused(buf_cstr(&b), NULL), ERR_TOO_LARGE);
    buf_reset(&b);
    buf_c(
        &b,
        "a: &a [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n"
        "b: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n"); /* 40 below 33 */
    assert_int_equal(refused(buf_cstr(&b), NULL), ERR_TOO_LARGE);
    buf_release(&b);
}

/* A long text that is named again and again, as a value and as a key. */
static void test_aliases_of_long_texts(void **state) {
    static const char *const uses[] = {"- *a\n", "- {*a : 1}\n", "- [*l]\n"};
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < 3; i++) {
        buf_reset(&b);
        buf_c(&b, "- &l [&a ");
        for (int k = 0; k < 100000; k++) {
            buf_ch(&b, 'x');
        }
        buf_c(&b, "]\n");
        for (int k = 0; k <= LIMIT_YAML_COPIED / 100000; k++) {
            buf_c(&b, uses[i]);
        }
        assert_int_equal(refused(buf_cstr(&b), NULL), ERR_TOO_LARGE);
    }
    buf_release(&b);
}

static void round_trip(struct str json) {
    yyjson_doc *doc = NULL;
    yyjson_mut_doc *back = NULL;
    struct err err = {0};
    struct buf b;
    assert_ok(json_parse(&arena, json, &doc, &err), &err);
    buf_init(&b, 0);
    yaml_write(&b, yyjson_doc_get_root(doc));
    int r = yaml_parse_one(&arena, buf_view(&b), &back, &err);
    if (r != 0 || !json_mequal(back->root, json_mut_copy(&arena, yyjson_doc_get_root(doc))->root)) {
        print_error("%s\n%.*s\n->\n%.*s\n", err.text, STR_ARG(json), STR_ARG(buf_view(&b)));
        fail();
    }
    buf_release(&b);
}

static void test_write(void **state) {
    yyjson_doc *doc;
    struct buf b;
    assert_int_equal(json_parse(&arena,
                                STR("{\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\",\"at\":"
                                    "\"2026-01-01T00:00:00Z\","
                                    "\"labels\":{},\"n\":null},\"items\":[{\"a\":\"yes\",\"b\":[1,["
                                    "2,3],[]]},\"a\\nb\\n\",\"\"],"
                                    "\"mode\":\"0644\"}"),
                                &doc, NULL),
                     0);
    buf_init(&b, 0);
    yaml_write(&b, yyjson_doc_get_root(doc));
    assert_str_eq(buf_view(&b), STR("apiVersion: v1\nmetadata:\n  name: x\n  at: "
                                    "\"2026-01-01T00:00:00Z\"\n  labels: {}\n  \"n\": null\n"
                                    "items:\n- a: \"yes\"\n  b:\n  - 1\n  - - 2\n    - 3\n  - "
                                    "[]\n- |\n  a\n  b\n- \"\"\nmode: \"0644\"\n"));
    buf_release(&b);
}

/* Strings that a careless writer would spoil. */
static const char *const strings[] = {
    "",
    " ",
    "a ",
    " a",
    "a: b",
    "a #b",
    "#a",
    "a:",
    ":a",
    "- a",
    "-",
    "---",
    "...",
    "? a",
    "a\nb",
    "a\n",
    "a\n\n",
    "a\n\n\n",
    "\na",
    "a\n\nb",
    " a\nb",
    "a\n b",
    "\ta\nb",
    "a\n\tb",
    "a\t",
    "a\r\nb",
    "a\x7f",
    ("\xc2\x85"
     "a\nb"),
    "\xe2\x80\xa8\n",
    "\xef\xbb\xbf\n",
    "{a",
    "[a",
    "]",
    "a,b",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "'a",
    "\"a\"",
    "%a",
    "@a",
    "`a",
    "true",
    "Null",
    "~",
    "0x10",
    "1e3",
    "1_0",
    ".5",
    "<<",
    "=",
    "y",
    "a\\b",
    "caf\xc3\xa9",
    "\xf0\x9f\x98\x80",
    "a'b",
    "a\n#b\n",
    "a\n---\nb",
    "\n",
    "\n\n",
    "x\n  \ny",
    "x \n",
    "1:30",
    "--- a\nb",
    "a\n...",
    "\xf0\x90\x80\x80\nx",
};

static void test_write_reads_back(void **state) {
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
        static const char *const frames[][2] = {{"", ""},
                                                {"[", "]"},
                                                {"{\"k\":", "}"},
                                                {"[[", "],1]"},
                                                {"{\"a\":[{\"b\":", ",\"c\":1}],\"d\":2}"}};
        for (size_t f = 0; f < sizeof(frames) / sizeof(frames[0]); f++) {
            buf_reset(&b);
            buf_c(&b, frames[f][0]);
            buf_json(&b, str_of(strings[i]));
            buf_c(&b, frames[f][1]);
            round_trip(buf_view(&b));
        }
        buf_reset(&b);
        buf_c(&b, "{");
        buf_json(&b, str_of(strings[i]));
        buf_c(&b, ":[1]}");
        round_trip(buf_view(&b));
    }
    buf_reset(&b);
    buf_c(&b, "{\"");
    for (int i = 0; i < 3000; i++) {
        buf_ch(&b, 'k');
    }
    buf_c(&b, "\":{\"a\":[1]},\"l\":1}");
    round_trip(buf_view(&b));
    round_trip(STR("[1,-1,1.5,1e300,18446744073709551615,true,null,{},[],[[]],[{}]]"));
    buf_release(&b);
}

static void test_alloc_faults(void **state) {
    for (uint64_t nth = 1;; nth++) {
        struct arena a;
        struct yaml_docs docs;
        struct buf b;
        arena_init(&a, 1 << 20);
        buf_init(&b, 0);
        mem_fault(nth, 1);
        int r = yaml_parse(&a, STR("a: &x {b: [1, yes]}\nc: {<<: *x}\n---\nd: 1\n"), &docs, NULL);
        if (r == 0) {
            json_write_mut(&b, docs.v[0]->root);
            r = buf_ok(&b);
        }
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        buf_release(&b);
        arena_release(&a);
        assert_int_equal(r, hit ? ERR_NOMEM : 0);
        if (!hit) {
            assert_true(nth > 3);
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scalars, setup, teardown),
        cmocka_unit_test_setup_teardown(test_collections, setup, teardown),
        cmocka_unit_test_setup_teardown(test_anchors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_streams, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_aliases_of_long_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_write, setup, teardown),
        cmocka_unit_test_setup_teardown(test_write_reads_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alloc_faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
