/* cel_cost: the numbers of upstream's own estimates, for schemas with and without limits. */
#include "api/cel/cel_sort.h"
#include "base/limits.h"
#include "base/test.h"
#include "wire/json/json.h"

#define ARRAY(of_) "{\"type\":\"array\",\"items\":{" of_ "}%s}"
#define MAP(of_) "{\"type\":\"object\",\"additionalProperties\":{" of_ "}%s}"
#define NUMBER "\"type\":\"number\""
#define STRING "\"type\":\"string\""
#define TIME(format_) "\"type\":\"string\",\"format\":\"" format_ "\""

static const struct {
    const char *schema, *rule, *limit;
    uint64_t most, free, bounded; /* most: the limit */
} rows[] = {
    {ARRAY(NUMBER), "self.all(x, true)", "maxItems", 10, 4718591, 32},
    {ARRAY(STRING), "self.all(x, true)", "maxItems", 20, 3145727, 62},
    {ARRAY("\"type\":\"boolean\""), "self.all(x, true)", "maxItems", 5, 1887437, 17},
    {ARRAY(TIME("duration")), "self.all(x, true)", "maxItems", 5, 2359295, 17},
    {ARRAY(TIME("date")), "self.all(x, true)", "maxItems", 15, 725936, 47},
    {ARRAY(TIME("date-time")), "self.all(x, true)", "maxItems", 25, 428963, 77},
    {ARRAY("\"x-kubernetes-int-or-string\":true"), "self.all(x, true)", "maxItems", 10, 4718591,
     32},
    {MAP(NUMBER), "self.all(x, true)", "maxProperties", 10, 1348169, 32},
    {MAP(STRING), "self.all(x, true)", "maxProperties", 3, 1179647, 11},
    {MAP(NUMBER), "has(self.x)", "maxProperties", 100, 0, 0},
    {MAP(TIME("duration")), "self.all(x, true)", "maxProperties", 5, 1048577, 17},
    {MAP(NUMBER), "self['x'] == 0.0", "maxProperties", 9, 2, 2},
    {MAP(STRING), "self.all(x, x.contains(self[x]))", "maxProperties", 10, 2752507, 72},
    {"{" STRING "%s}", "self.contains('test')", "maxLength", 10, 314574, 5},
    {"{" STRING "%s}", "self.startsWith('test')", "maxLength", 15, 2, 2},
    {"{" STRING "%s}", "size(self + 'hello') > size('hello')", "maxLength", 4, 314578, 7},
    {"{" STRING "%s}", "self.matches('x')", "maxLength", 50, 314574, 22},
    {"{" STRING "%s}", "''.matches('(((((((((())))))))))[0-9]')", "maxLength", 9, 7, 7},
    {"{" STRING "%s}", "self.matches('')", "maxLength", 100, 1, 1},
    {"{" STRING "%s}", "self == 'x'", "maxLength", 0, 2, 1},
    {"{" STRING "%s}", "self.find('[0-9]+') == ''", "maxLength", 10, 629147, 11},
    {ARRAY(NUMBER), "self[1] == 0.0", "maxItems", 5000, 2, 2},
    {ARRAY(STRING), "self[1] == self[1]", "maxItems", 8, 314577, 314577},
    {ARRAY(NUMBER), "self.all(x, x == 0.0)", "maxItems", 6291456, 6291454, 25165826},
    {ARRAY("\"x-kubernetes-int-or-string\":true"), "self[0] == 5", "maxItems", 10, 3, 3},
    {ARRAY(TIME("duration")), "self[0].getHours() == 2", "maxItems", 525, 4, 4},
    {ARRAY("\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\"}"),
     "self.all(x, x.y == 25.2)", "maxItems", 12, 6291452, 74},
    {ARRAY("\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\"}"), "self[0].x > 2.0",
     "maxItems", 3000, 4, 4},
    {ARRAY(NUMBER), "self.all(x, self.all(y, true))", "maxItems", 10, 7421701914624, 352},
    {ARRAY(NUMBER), "self.all(x, self.all(y, self.all(z, true)))", "maxItems", 10,
     11673320338545967103U, 3552},
};

static uint64_t cost(struct arena *a, const char *schema, const char *limit, uint64_t most,
                     const char *rule) {
    struct buf b;
    yyjson_doc *d;
    const struct cel_expr *e;
    const struct cel_sort *s;
    struct str faults = {0};
    const char *at = strstr(schema, "%s");
    buf_init(&b, 0);
    buf_str(&b, str_from(schema, (size_t)(at - schema)));
    if (limit != NULL) {
        buf_f(&b, ",\"%s\":%llu", limit, (unsigned long long)most);
    }
    buf_c(&b, at + 2);
    assert_int_equal(json_parse(a, buf_view(&b), &d, NULL), 0);
    struct cel_decl names[] = {
        {STR("self"), cel_sort_of_json(a, yyjson_doc_get_root(d), STR("object"), false)}};
    struct cel_scope scope = {.v = names, .n = 1};
    if (cel_compile(a, str_of(rule), &scope, &e, &s, &faults) != 0) {
        fail_msg("%s: %.*s", rule, STR_ARG(faults));
    }
    buf_release(&b);
    return cel_cost(e);
}

static void test_upstreams_numbers(void **state) {
    struct arena a;
    int bad = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        arena_init(&a, 1 << 20);
        uint64_t open = cost(&a, rows[i].schema, NULL, 0, rows[i].rule);
        uint64_t bounded = cost(&a, rows[i].schema, rows[i].limit, rows[i].most, rows[i].rule);
        if (open != rows[i].free || bounded != rows[i].bounded) {
            print_error("%s of %s: %llu and %llu\n", rows[i].rule, rows[i].schema,
                        (unsigned long long)open, (unsigned long long)bounded);
            bad++;
        }
        arena_release(&a);
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_upstreams_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
