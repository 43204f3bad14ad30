/* Tests of json_peek. */
#include "wire/json/json_peek.h"

#include "base/test.h"

static struct str name_in(const char *json) {
    return json_peek(str_of(json), STR("metadata"), STR("name"));
}

static void finds_the_member(void **state) {
    assert_str_eq(name_in("{\"kind\":\"Pod\",\"metadata\":{\"name\":\"j-x\",\"uid\":\"u\"}}"),
                  STR("j-x"));
    assert_str_eq(
        name_in(" { \"metadata\" : {\n\t\"labels\":{\"name\":\"no\"}, \"name\" :\r\"y\" } }"),
        STR("y"));
    assert_str_eq(name_in("{\"a\":\"\\\"metadata\\\":{\",\"b\":[{\"metadata\":{\"name\":\"no\"}}],"
                          "\"spec\":{\"name\":\"no\"},\"metadata\":{\"name\":\"z\"}}"),
                  STR("z"));
}

static void or_nothing(void **state) {
    static const char *const none[] = {
        "",
        "{",
        "\"metadata\"",
        "{\"metadata\":{\"name\":1}}",
        "{\"metadata\":{\"generateName\":\"a-\"}}",
        "{\"metadata\":{\"name\":\"a\\u0062\"}}",
        "{\"metadata\":{\"name\":\"never ends",
        "{\"metadata\":{\"name\"",
        "{\"metadata\":{\"name\":",
        "{\"metadata\":\"x\",\"other\":{\"name\":\"no\"}}",
        "{\"metadata\":{\"a\":\"\\",
        "]]}}{\"name\":\"no\"}",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        assert_int_equal(name_in(none[i]).n, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_member),
        cmocka_unit_test(or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
