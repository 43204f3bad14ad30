/* Tests of virtual: who is found, and who is not any more. */
#include "port/virtual.h"

#include "base/test.h"

static void test_registry(void **state) {
    struct virtual_source a = {.group = "g", .resource = "r", .subresource = ""};
    struct virtual_source b = {.group = "g", .resource = "r", .subresource = "s"};
    struct virtual_registry *r = virtual_new();
    assert_non_null(r);
    assert_null(virtual_find(r, STR("g"), STR("r"), STR("")));
    virtual_add(r, &a);
    virtual_add(r, &b);
    assert_ptr_equal(virtual_find(r, STR("g"), STR("r"), STR("")), &a);
    assert_ptr_equal(virtual_find(r, STR("g"), STR("r"), STR("s")), &b);
    assert_null(virtual_find(r, STR("g"), STR("x"), STR("")));
    assert_null(virtual_find(NULL, STR("g"), STR("r"), STR("")));
    virtual_remove(r, &b);
    virtual_remove(r, &b);
    assert_null(virtual_find(r, STR("g"), STR("r"), STR("s")));
    assert_ptr_equal(virtual_find(r, STR("g"), STR("r"), STR("")), &a);
    virtual_free(r);
}

static void test_params(void **state) {
    struct virtual_param v[] = {{STR("limit"), STR("5")}, {STR("limit"), STR("6")}};
    struct virtual_ask q = {.query = v, .n_query = 2};
    assert_str_eq(virtual_param(&q, "limit"), STR("5"));
    assert_true(str_empty(virtual_param(&q, "offset")));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_registry),
                                       cmocka_unit_test(test_params)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
