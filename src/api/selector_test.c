/* Tests of selectors: the grammar, matching of absent labels, the object form, escapes in field selectors. */
#include "api/selector.h"
#include "base/limits.h"
#include "base/mem.h"
#include "wire/json/json_fixture.h"

static struct selector sel_of(const char *text) {
    struct selector s;
    struct err err = {0};
    assert_ok(selector_parse(&arena, str_of(text), &s, &err), &err);
    return s;
}

static struct str_pair labels_v[] = {
    {{"app", 3}, {"web", 3}},
    {{"tier", 4}, {"", 0}},
    {{"n", 1}, {"10", 2}},
    {{"example.com/x", 13}, {"Y.z", 3}},
};
static const struct str_map labels = {labels_v, 4};

static void test_matches(void **state) {
    static const struct {
        const char *text;
        bool match;
    } cases[] = {
        {"", true},
        {"  ", true},
        {"app=web", true},
        {"app==web", true},
        {"app = web , n", true},
        {"app=db", false},
        {"none=x", false},
        {"app!=web", false},
        {"app!=db", true},
        {"none!=x", true},
        {"app in (db, web)", true},
        {"app in (db)", false},
        {"none in (a)", false},
        {"app notin (db)", true},
        {"app notin (web,db)", false},
        {"none notin (a)", true},
        {"tier", true},
        {"tier=", true},
        {"tier in ()", false}, /* refused, see below */
        {"tier in (,x)", true},
        {"!none", true},
        {"!app", false},
        {"! none", true},
        {"n>9", true},
        {"n>10", false},
        {"n<11", true},
        {"app>1", false},
        {"none<1", false},
        {"example.com/x=Y.z", true},
        {"app=web,tier=x", false},
        {"app=in", false},
        {"app in (in,notin,web)", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct selector s;
        if (selector_parse(&arena, str_of(cases[i].text), &s, NULL) != 0) {
            assert_string_equal(cases[i].text, "tier in ()");
            continue;
        }
        if (selector_matches(&s, &labels) != cases[i].match) {
            print_error("%s\n", cases[i].text);
            fail();
        }
    }
    struct selector any = sel_of(""), absent = sel_of("!a");
    assert_true(selector_matches(&any, NULL) && selector_matches(&absent, NULL));
}

static void test_refused(void **state) {
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"a in", "unable to parse requirement: found '', expected: '('"},
        {"=b", "unable to parse requirement: found '=', expected: identifier"},
        {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
        {"a=b c", "found 'c', expected: ',' or 'end of string'"},
        {"a=b,", "found '', expected: identifier after ','"},
        {"a,,b", "found ',', expected: identifier after ','"},
        {"!a=b", "found '=', expected: ',' or 'end of string'"},
        {"a in (b", "unable to parse requirement: found '', expected: ',' or ')'"},
        {"in=b", "unable to parse requirement: found 'in', expected: identifier"},
        {"a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
                "operators, the value must be an integer"},
        {"a in ()", "unable to parse requirement: values: Invalid value: []: for 'in', 'notin' "
                    "operators, values set can't be empty"},
    };
    struct selector s = {.n = 7};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        assert_int_equal(selector_parse(&arena, str_of(cases[i].text), &s, &err), ERR_BAD_REQUEST);
        assert_string_equal(err.text, cases[i].error);
    }
    static const char *const bad[] = {
        "-a",      "a/",     "/a",
        "A.com/x", "a..b/c", "a./b",
        "a=-b",    "a/b/c",  "a=b;c",
        "!",       "(",      "a=1234567890123456789012345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(selector_parse(&arena, str_of(bad[i]), &s, NULL), ERR_BAD_REQUEST);
    }
    assert_int_equal(s.n, 7);
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i <= LIMIT_SELECTOR_TERMS; i++) {
        buf_c(&b, "a,");
    }
    buf_c(&b, "a");
    assert_int_equal(selector_parse(&arena, buf_view(&b), &s, NULL), ERR_TOO_LARGE);
    while (b.n <= LIMIT_SELECTOR_BYTES) {
        buf_c(&b, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    }
    assert_int_equal(selector_parse(&arena, buf_view(&b), &s, NULL), ERR_TOO_LARGE);
    buf_release(&b);
}

static int from_json(const char *text, struct selector *s) {
    yyjson_doc *doc;
    assert_int_equal(json_parse(&arena, str_of(text), &doc, NULL), 0);
    return selector_from_json(&arena, yyjson_doc_get_root(doc), s, NULL);
}

static void test_object_form(void **state) {
    struct selector s;
    assert_int_equal(from_json("{}", &s), 0);
    assert_true(selector_matches(&s, &labels));
    assert_int_equal(selector_from_json(&arena, NULL, &s, NULL), 0);
    assert_false(selector_matches(&s, &labels));
    assert_int_equal(from_json("{\"matchLabels\":{\"app\":\"web\"},\"matchExpressions\":["
                               "{\"key\":\"n\",\"operator\":\"In\",\"values\":[\"9\",\"10\"]},"
                               "{\"key\":\"q\",\"operator\":\"DoesNotExist\"}]}",
                               &s),
                     0);
    assert_true(selector_matches(&s, &labels));
    assert_int_equal(
        from_json(
            "{\"matchExpressions\":[{\"key\":\"n\",\"operator\":\"NotIn\",\"values\":[\"10\"]}]}",
            &s),
        0);
    assert_false(selector_matches(&s, &labels));
    assert_int_equal(
        from_json("{\"matchExpressions\":[{\"key\":\"n\",\"operator\":\"Gt\",\"values\":[\"1\"]}]}",
                  &s),
        ERR_INVALID);
    assert_int_equal(from_json("{\"matchExpressions\":[{\"key\":\"n\",\"operator\":\"In\"}]}", &s),
                     ERR_INVALID);
    assert_int_equal(
        from_json(
            "{\"matchExpressions\":[{\"key\":\"n\",\"operator\":\"Exists\",\"values\":[\"1\"]}]}",
            &s),
        ERR_INVALID);
    assert_int_equal(from_json("{\"matchLabels\":{\"-\":\"web\"}}", &s), ERR_INVALID);
    assert_int_equal(selector_from_map(&arena, &labels, &s, NULL), 0);
    assert_true(selector_matches(&s, &labels));
}

static struct str get(void *ctx, struct str path) {
    return str_is(path, "spec.nodeName")   ? STR("n,1")
           : str_is(path, "metadata.name") ? STR("p")
                                           : STR("");
}

static void test_fields(void **state) {
    static const struct {
        const char *text;
        bool match;
    } cases[] = {
        {"", true},
        {"metadata.name=p", true},
        {"metadata.name==p,spec.nodeName!=x", true},
        {"metadata.name!=p", false},
        {"spec.nodeName=n\\,1", true},
        {"spec.other=", true},
        {"spec.other!=", false},
        {",metadata.name=p,", true},
    };
    struct selector s;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};
        assert_ok(field_selector_parse(&arena, str_of(cases[i].text), &s, &err), &err);
        assert_true(field_selector_matches(&s, get, NULL) == cases[i].match);
    }
    static const char *const bad[] = {"a", "a>b", "a=b=c", "a=b\\", "a=\\x", "a\\=b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(field_selector_parse(&arena, str_of(bad[i]), &s, NULL), ERR_BAD_REQUEST);
    }
    assert_int_equal(
        field_selector_parse(&arena, STR("metadata.name=x,status.phase!=Failed"), &s, NULL), 0);
    static const char *const allowed[] = {"status.phase", NULL};
    struct err err = {0};
    assert_int_equal(field_selector_check(&s, allowed, NULL), 0);
    assert_int_equal(field_selector_check(&s, NULL, &err), ERR_BAD_REQUEST);
    assert_string_equal(err.text, "field label not supported: status.phase");
    struct str name;
    assert_true(field_selector_requires(&s, STR("metadata.name"), &name) && str_is(name, "x"));
    assert_false(field_selector_requires(&s, STR("status.phase"), &name));
}

static void test_alloc_faults(void **state) {
    for (uint64_t nth = 1;; nth++) {
        struct arena a;
        struct selector s;
        arena_init(&a, 1 << 20);
        mem_fault(nth, 1);
        int r = selector_parse(&a, STR("a in (b,c,d,e,f,g),h=i,j,k,l,m"), &s, NULL);
        r = r ? r : field_selector_parse(&a, STR("metadata.name=x"), &s, NULL);
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        arena_release(&a);
        assert_int_equal(r, hit ? ERR_NOMEM : 0);
        if (!hit) {
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_matches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_object_form, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
        cmocka_unit_test_setup_teardown(test_alloc_faults, setup, teardown),
    };
    return cmocka_run_group_tests_name("selector", tests, NULL, NULL);
}
