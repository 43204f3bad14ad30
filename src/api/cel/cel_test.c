/* cel: what expressions are, what they refuse, and that they end. */
#include "api/cel/cel.h"
#include "base/limits.h"
#include "base/test.h"
#include "wire/json/json.h"

#define SAME(got, want) assert_str_eq(got, str_of(want))

struct fixture {
    struct arena a;
    yyjson_val *self, *old;
    struct str text;
};

static void setup(struct fixture *f, const char *self, const char *old) {
    yyjson_doc *d;
    *f = (struct fixture){0};
    arena_init(&f->a, 64 << 20);
    assert_int_equal(json_parse(&f->a, str_of(self), &d, NULL), 0);
    f->self = yyjson_doc_get_root(d);
    if (old != NULL) {
        assert_int_equal(json_parse(&f->a, str_of(old), &d, NULL), 0);
        f->old = yyjson_doc_get_root(d);
    }
}

static enum cel_outcome check(struct fixture *f, const char *text) {
    const struct cel_expr *e;
    struct err err = {0};
    if (cel_parse(&f->a, str_of(text), &e, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
    struct cel_input in = {
        .self = f->self, .old = f->old, .arena = &f->a, .limit = LIMIT_CEL_STEPS_OBJECT};
    return cel_check(e, &in, &f->text);
}

static const char *const truths[] = {
    "true",
    "1 + 2 * 3 == 7",
    "(1 + 2) * 3 == 9",
    "7 / 2 == 3 && -7 % 3 == -1",
    "1.5 < 2",
    "1 == 1.0 && 1u == 1",
    "\"a\" + 'b' == \"ab\"",
    "'\\u00e9\\n\\x41' == 'é\\nA'",
    "r'\\d' == '\\\\d'",
    "\"\"\"a\"b\"\"\" == 'a\"b'",
    "[1, 2] + [3] == [1, 2, 3]",
    "2 in [1, 2]",
    "'k' in {'k': 1}",
    "{'k': 1}.k == 1 && {'k': 1}['k'] == 1",
    "!false ? 1 == 1 : 1 / 0 == 1",
    "true || 1 / 0 == 1",
    "1 / 0 == 1 || true",
    "!(false && 1 / 0 == 1)",
    "[1, 2, 3].all(x, x > 0) && ![1].exists(x, x > 1)",
    "[1, 2, 3].exists_one(x, x == 2)",
    "[1, 2, 3].filter(x, x > 1) == [2, 3]",
    "[1, 2].map(x, x * 2) == [2, 4]",
    "[1, 2, 3].map(x, x > 1, x * 2) == [4, 6]",
    "[1, 0].exists(x, 1 / x == 1)",
    "self.a == 5 && self.list[1] == 'y'",
    "has(self.a) && !has(self.zzz)",
    "self.m.all(k, k.startsWith('k'))",
    "self.m.exists(k, v, v == 'w')",
    "size(self.list) == 2",
    "'héllo'.size() == 5 && 'héllo'.substring(1, 3) == 'él'",
    "'a,b,c'.split(',').size() == 3",
    "'a,b,c'.split(',', 2)[1] == 'b,c'",
    "['a', 'b'].join('-') == 'a-b'",
    "'aXbX'.replace('X', '.') == 'a.b.'",
    "'aXbX'.replace('X', '.', 1) == 'a.bX'",
    "'abcabc'.indexOf('c') == 2 && 'abcabc'.lastIndexOf('c') == 5",
    "' a '.trim() == 'a'",
    "'AbC'.lowerAscii() == 'abc'",
    "'a1b22'.find('[0-9]+') == '1'",
    "'a1b22'.findAll('[0-9]+') == ['1', '22']",
    "'abc'.matches('^a.c$')",
    "matches('x', 'x')",
    "'abc'.contains('b') && 'abc'.endsWith('c') && 'abc'.charAt(1) == 'b'",
    "int('5') == 5 && string(5) == '5' && double('1.5') == 1.5 && uint(5) == 5u",
    "duration('1h') > duration('59m') && duration('90s').getMinutes() == 1",
    "timestamp('2020-01-01T00:00:00Z') + duration('24h') == timestamp('2020-01-02T00:00:00Z')",
    "quantity('1Gi').isGreaterThan(quantity('1G')) && "
    "quantity('1').compareTo(quantity('1000m')) == 0",
    "isQuantity('1Gi') && !isQuantity('x')",
    "[1, 2, 3].sum() == 6 && [3, 1].min() == 1",
    "[1, 2].isSorted()",
    "type(1) == int && type('a') == string",
    "dyn(1) == 1",
    "self.free[\"x\"].y == 1",
    "1 < 2 // a comment",
    "-9223372036854775808 < 0",
    "self.list == ['x', 'y'] && self.m == {'k': 'w'}",
    "'b' > 'a'",
    "null == null",
};

static void test_true(void **state) {
    struct fixture f;
    for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++) {
        setup(&f, "{\"a\":5,\"list\":[\"x\",\"y\"],\"m\":{\"k\":\"w\"},\"free\":{\"x\":{\"y\":1}}}",
              NULL);
        if (check(&f, truths[i]) != CEL_TRUE) {
            fail_msg("not true: %s (%.*s)", truths[i], STR_ARG(f.text));
        }
        arena_release(&f.a);
    }
}

static void test_errors(void **state) {
    static const struct {
        const char *rule, *text;
    } rows[] = {
        {"1 / 0 == 1", "division by zero"},
        {"1 % 0 == 1", "modulus by zero"},
        {"9223372036854775807 + 1 > 0", "integer overflow"},
        {"self.zzz == 1", "no such key: zzz"},
        {"self.list[5] == 1", "index out of bounds: 5"},
        {"self.a + 'x' == 1", "no such overload"},
        {"self.a.b == 1", "no such overload"},
        {"[1, 'a'].all(x, x > 0)", "no such overload"},
        {"'x'.substring(5) == ''", "index out of range: 5"},
        {"int('x') == 1", "cannot convert to int"},
        {"self.a < 'x'", "no such overload"},
        {"self.a", "the rule is no truth value:"},
    };
    struct fixture f;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setup(&f, "{\"a\":5,\"list\":[1]}", NULL);
        assert_int_equal(check(&f, rows[i].rule), CEL_ERROR);
        SAME(f.text, rows[i].text);
        arena_release(&f.a);
    }
}

static void test_old(void **state) {
    struct fixture f;
    setup(&f, "5", "4");
    assert_int_equal(check(&f, "self > oldSelf && self - oldSelf == 1"), CEL_TRUE);
    const struct cel_expr *e;
    assert_int_equal(cel_parse(&f.a, STR("!oldSelf.hasValue() || oldSelf.value() == 4"), &e, NULL),
                     0);
    assert_true(cel_uses(e, "oldSelf"));
    struct cel_input in = {
        .self = f.self, .optional_old = true, .arena = &f.a, .limit = LIMIT_CEL_STEPS_OBJECT};
    assert_int_equal(cel_check(e, &in, &f.text), CEL_TRUE);
    in.old = f.old;
    assert_int_equal(cel_check(e, &in, &f.text), CEL_TRUE);
    assert_int_equal(cel_parse(&f.a, STR("oldSelf.orValue(9) == 9"), &e, NULL), 0);
    in.old = NULL;
    assert_int_equal(cel_check(e, &in, &f.text), CEL_TRUE);
    arena_release(&f.a);
}

static void test_refused(void **state) {
    static const struct {
        const char *text;
        int want;
    } rows[] = {
        {"", ERR_SYNTAX},
        {"1 +", ERR_SYNTAX},
        {"(1", ERR_SYNTAX},
        {"'a", ERR_SYNTAX},
        {"a b", ERR_SYNTAX},
        {"[1, 2", ERR_SYNTAX},
        {"self.", ERR_SYNTAX},
        {"has(self)", ERR_SYNTAX},
        {"'\\q'", ERR_SYNTAX},
        {"size()", ERR_SYNTAX},
        {"x.all(1, true)", ERR_SYNTAX},
        {"99999999999999999999", ERR_SYNTAX},
        {"'a'.matches('(')", ERR_SYNTAX},
        {"self.nothing()", ERR_UNSUPPORTED},
        {"while == 1", ERR_SYNTAX},
    };
    const struct cel_expr *e;
    struct arena a;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        arena_init(&a, 1 << 20);
        if (cel_parse(&a, str_of(rows[i].text), &e, NULL) != rows[i].want) {
            fail_msg("not %d: %s", rows[i].want, rows[i].text);
        }
        arena_release(&a);
    }
}

static void test_ends(void **state) {
    struct fixture f;
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "[0");
    for (int i = 1; i < 300; i++) {
        buf_f(&b, ",%d", i);
    }
    buf_ch(&b, ']');
    setup(&f, buf_cstr(&b), NULL);
    assert_int_equal(check(&f, "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"),
                     CEL_TOO_LONG);
    buf_reset(&b);
    for (int i = 0; i < 5000; i++) {
        buf_c(&b, "1+");
    }
    buf_c(&b, "1 > 0");
    const struct cel_expr *e;
    assert_int_equal(cel_parse(&f.a, buf_view(&b), &e, NULL), ERR_TOO_LARGE);
    buf_reset(&b);
    for (int i = 0; i < 5000; i++) {
        buf_ch(&b, '(');
    }
    assert_int_equal(cel_parse(&f.a, buf_view(&b), &e, NULL), ERR_TOO_LARGE);
    buf_release(&b);
    arena_release(&f.a);
}

/* What walks long values pays for them: each of these is cheap by its number of operations. */
static void test_long_values_cost(void **state) {
    static const char *const rules[] = {
        "self.l.all(k, k in self.m)",
        "self.m.all(k, self.m[k] == 1)",
        "self.l.all(k, self.t <= self.t)",
        "self.l.all(k, self.t.matches('a.*b.*c') || true)",
        "self.l.all(k, self.t.indexOf(self.t) == 0)",
        "self.l.all(k, self.t.trim() == self.t)",
        "self.l.all(k, k.matches(self.p) || true)",
    };
    struct fixture f;
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "{\"m\":{\"k0\":1");
    for (int i = 1; i < 5000; i++) {
        buf_f(&b, ",\"k%d\":1", i);
    }
    buf_c(&b, "},\"l\":[\"k0\"");
    for (int i = 1; i < 5000; i++) {
        buf_f(&b, ",\"k%d\"", i);
    }
    buf_c(&b, "],\"p\":\"((((a{30}){30}){10})){10}\",\"t\":\"");
    for (int i = 0; i < 20000; i++) {
        buf_c(&b, "aaaa ");
    }
    buf_c(&b, "a\"}");
    setup(&f, buf_cstr(&b), NULL);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (check(&f, rules[i]) != CEL_TOO_LONG) {
            fail_msg("not too long: %s", rules[i]);
        }
    }
    assert_int_equal(check(&f, "self.m.exists(k, k == 'k9')"), CEL_TRUE);
    assert_int_equal(check(&f, "self.t.matches('^a') && self.t.size() > 9"), CEL_TRUE);
    buf_release(&b);
    arena_release(&f.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_true), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_old),  cmocka_unit_test(test_refused),
        cmocka_unit_test(test_ends), cmocka_unit_test(test_long_values_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
