/* cel_checker: what types expressions have, and how their faults are told. */
#include "api/cel/cel_sort.h"
#include "base/limits.h"
#include "base/test.h"
#include "wire/json/json.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"i\":{\"type\":\"integer\"},\"d\":{\"type\":\"number\"},\"s\":{\"type\":\"string\"},"
    "\"b\":{\"type\":\"boolean\"},\"my-name\":{\"type\":\"string\"},"
    "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
    "\"x\":{\"type\":\"integer\"}}}},"
    "\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"ios\":{\"x-kubernetes-int-or-string\":true},\"t\":{\"type\":\"string\",\"format\":"
    "\"date-time\"},\"dur\":{\"type\":\"string\",\"format\":\"duration\"},"
    "\"free\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},"
    "\"anything\":{\"x-kubernetes-preserve-unknown-fields\":true}}}";

static struct str compile(struct arena *a, const char *text, const char *want_sort) {
    yyjson_doc *d;
    const struct cel_expr *e;
    const struct cel_sort *s;
    struct str faults = {0};
    assert_int_equal(json_parse(a, str_of(schema), &d, NULL), 0);
    const struct cel_sort *self = cel_sort_of_json(a, yyjson_doc_get_root(d), STR("object"), true);
    struct cel_decl names[] = {{STR("self"), self},
                               {STR("any"), &cel_dyn},
                               {STR("authorizer"), cel_sort_of('Z')},
                               {STR("request"), cel_sort_of_request(a)}};
    struct cel_decl vars[] = {{STR("n"), &cel_int_sort}};
    struct cel_scope scope = {
        .v = names, .n = 4, .variables = vars, .n_variables = 1, .makes = true};
    if (cel_compile(a, str_of(text), &scope, &e, &s, &faults) == 0 && want_sort != NULL) {
        struct buf b;
        buf_init(&b, 0);
        cel_sort_write(s, &b);
        if (!str_is(buf_view(&b), want_sort)) {
            fail_msg("%s: %s, not %s", text, buf_cstr(&b), want_sort);
        }
        buf_release(&b);
    }
    return faults;
}

static void test_types(void **state) {
    static const struct {
        const char *text, *sort;
    } rows[] = {
        {"self.i > 1", "bool"},
        {"self.i > 1.5", "bool"},
        {"self.i + 1", "int"},
        {"self.l", "list(object.l.@idx)"},
        {"self.l[0].x", "int"},
        {"self.l.map(e, e.x)", "list(int)"},
        {"self.l.all(i, e, i >= 0 && e.x > i)", "bool"},
        {"self.m", "map(string, string)"},
        {"self.m.all(k, k != '' && self.m[k] != '')", "bool"},
        {"self.m.transformMap(k, v, v + 'x')", "map(string, string)"},
        {"self.m.transformList(k, v, size(v))", "list(int)"},
        {"self.m.transformMapEntry(k, v, {v: k})", "map(string, string)"},
        {"self.?s", "optional_type(string)"},
        {"self.?s.orValue('x')", "string"},
        {"self.l[?0].?x", "optional_type(int)"},
        {"self.m[?'a'].optMap(v, size(v)).orValue(0)", "int"},
        {"self.my__dash__name", "string"},
        {"self.metadata.name + self.kind", "string"},
        {"self.ios == 5 || self.ios == 'a'", "bool"},
        {"self.t + self.dur > self.t", "bool"},
        {"self.t - self.t", "duration"},
        {"any", "dyn"},
        {"any.foo > 1", "bool"},
        {"any + 1", "int"},
        {"[]", "list(dyn)"},
        {"[] + ['a']", "list(dyn)"},
        {"{'a': 1}", "map(string, int)"},
        {"self.b ? 1 : 2", "int"},
        {"type(1) == int", "bool"},
        {"quantity('1').add(2).asInteger()", "int"},
        {"'%s'.format([1, 'a'].map(x, dyn(x)))", "!"},
        {"'%s'.format([self.i])", "string"},
        {"ip('1.2.3.4').family() == 4 && cidr('1.2.3.0/24').containsIP('1.2.3.4')", "bool"},
        {"url('https://a').getHost()", "string"},
        {"semver('1.2.3').isLessThan(semver('1.2.4'))", "bool"},
        {"format.dns1123Label().validate('x').hasValue()", "bool"},
        {"sets.contains([1, 2], [1])", "bool"},
        {"optional.none()", "optional_type(dyn)"},
        {"variables.n + 1", "int"},
        {"authorizer.group('').resource('pods').namespace('x').check('get').allowed()", "bool"},
        {"authorizer.requestResource.check('x').allowed()", "bool"},
        {"request.userInfo.groups", "list(string)"},
        {"Object{spec: Object.spec{replicas: 3}}", "Object"},
        {"[JSONPatch{op: 'add', path: '/x', value: 1}]", "list(JSONPatch)"},
        {"self.l.exists_one(e, e.x == 1)", "bool"},
        {"null == self.t", "bool"},
        {"b'a' + b'b'", "bytes"},
        {"'a' in self.m && 1 in [1]", "bool"},
    };
    struct arena a;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        arena_init(&a, 8 << 20);
        struct str faults = compile(&a, rows[i].text, rows[i].sort);
        if ((faults.n > 0) != (rows[i].sort[0] == '!')) {
            fail_msg("%s: %.*s", rows[i].text, STR_ARG(faults));
        }
        arena_release(&a);
    }
}

static void test_faults(void **state) {
    static const struct {
        const char *text, *fault;
    } rows[] = {
        {"self.i > 'a'", "ERROR: <input>:1:8: found no matching overload for '_>_' applied to "
                         "'(int, string)'\n | self.i > 'a'\n | .......^"},
        {"'a' + self.i", "1:5: found no matching overload for '_+_' applied to '(string, int)'"},
        {"self.i == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"},
        {"self.s == null", "found no matching overload for '_==_' applied to '(string, null)'"},
        {"self.zzz", "ERROR: <input>:1:5: undefined field 'zzz'\n | self.zzz\n | ....^"},
        {"has(self.zzz)", "undefined field 'zzz'"},
        {"self.l[0].y", "1:10: undefined field 'y'"},
        {"self.free.x", "undefined field 'x'"},
        {"self.anything", "undefined field 'anything'"},
        {"foo", "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')"},
        {"self.s.foo()", "1:11: undeclared reference to 'foo' (in container '')"},
        {"foo(1)", "1:4: undeclared reference to 'foo' (in container '')"},
        {"size(1)", "1:5: found no matching overload for 'size' applied to '(int)'"},
        {"self.s.startsWith(1)",
         "1:18: found no matching overload for 'startsWith' applied to 'string.(int)'"},
        {"self.i.x", "type 'int' does not support field selection"},
        {"self.i[0]", "found no matching overload for '_[_]' applied to '(int, int)'"},
        {"[1, 'a']", "1:5: expected type 'int' but found 'string'"},
        {"{'a': 1, 'b': 'c'}", "expected type 'int' but found 'string'"},
        {"self.i && true", "found no matching overload for '_&&_' applied to '(int, bool)'"},
        {"self.b ? 1 : 'a'",
         "found no matching overload for '_?_:_' applied to '(bool, int, string)'"},
        {"self.i.all(x, true)", "expression of type 'int' cannot be range of a comprehension "
                                "(must be list, map, or dynamic)"},
        {"self.l.all(x, x.x)", "found no matching overload for '_&&_' applied to '(bool, int)'"},
        {"!self.i", "found no matching overload for '!_' applied to '(int)'"},
        {"1 in self.m", "found no matching overload for '@in' applied to '(int, map(string, "
                        "string))'"},
        {"1 +", "ERROR: <input>:1:4: Syntax error: "},
        {"a b", "ERROR: <input>:1:3: Syntax error: "},
        {"'a'.matches('(')", "ERROR: <input>:1:13: "},
        {"true &&\n self.zzz",
         "ERROR: <input>:2:6: undefined field 'zzz'\n |  self.zzz\n | .....^"},
        {"self.zzz == 1 && self.yyy == 1",
         "undefined field 'zzz'\n | self.zzz == 1 && self.yyy == 1\n | ....^\nERROR: <input>:1:22: "
         "undefined field 'yyy'"},
        {"variables.m", "undefined field 'm'"},
        {"Foo{a: 1}", "undeclared reference to 'Foo' (in container '')"},
        {"JSONPatch{opp: 'a'}", "undefined field 'opp'"},
        {"JSONPatch{op: 1}", "expected type of field 'op' is 'string' but provided type is 'int'"},
        {"request.user", "undefined field 'user'"},
        {"self.i.isGreaterThan(self.i)", "applied to 'int.(int)'"},
    };
    struct arena a;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        arena_init(&a, 8 << 20);
        struct str faults = compile(&a, rows[i].text, NULL);
        if (!str_contains(faults, str_of(rows[i].fault))) {
            fail_msg("%s: %.*s", rows[i].text, STR_ARG(faults));
        }
        arena_release(&a);
    }
}

/* A type that contains itself is gone into only as far as it is written. */
static void test_tables(void **state) {
    static const struct field fields[] = {
        {.json = "n", .type = FIELD_INT32},
        {.json = "when", .type = FIELD_TIME},
        {.json = "tags", .type = FIELD_STRING, .shape = FIELD_MAP},
        {.json = "names", .type = FIELD_STRING, .shape = FIELD_LIST}};
    static const struct schema table = {.name = "x", .fields = fields, .n = 4};
    struct arena a;
    arena_init(&a, 1 << 20);
    struct cel_decl names[] = {{STR("object"), cel_sort_of_schema(&a, &table, STR("Thing"))}};
    struct cel_scope scope = {.v = names, .n = 1};
    const struct cel_expr *e;
    const struct cel_sort *s;
    struct str faults = {0};
    assert_int_equal(cel_compile(&a,
                                 STR("object.n > 1 && object.tags['a'] == 'b' && 'x' in "
                                     "object.names && object.when > timestamp(0)"),
                                 &scope, &e, &s, &faults),
                     0);
    assert_int_equal(cel_compile(&a, STR("object.n > '1'"), &scope, &e, &s, &faults), ERR_SYNTAX);
    assert_true(str_contains(faults, STR("applied to '(int, string)'")));
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
