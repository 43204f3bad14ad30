/* Tests of `continue`: what is written is read, and how long a list may be gone on with. */
#include "base/test.h"

#include "base/limits.h"
#include "server/read/token_page.h"

static void test_round(void **state) {
    struct arena a;
    struct page_token t = {7, 1000, STR("team"), STR("b")}, got;
    struct err err = {0};
    (void)state;
    arena_init(&a, 1 << 16);
    assert_int_equal(page_token_read(&a, page_token_write(&a, &t), &got, &err), 0);
    assert_int_equal(got.rv, 7);
    assert_int_equal(got.at_s, 1000);
    assert_str_eq(got.ns, STR("team"));
    assert_str_eq(got.name, STR("b"));
    assert_int_equal(page_token_read(&a, STR("zz"), &got, &err), ERR_BAD_REQUEST);
    assert_int_equal(page_token_read(&a, STR("372f2f"), &got, &err), ERR_BAD_REQUEST); /* "7//" */
    arena_release(&a);
}

static void test_age(void **state) {
    struct page_token t = {.rv = 7, .at_s = 1000};
    (void)state;
    assert_false(page_token_too_old(&t, 1000 + LIMIT_LIST_TOKEN_SECONDS));
    assert_true(page_token_too_old(&t, 1001 + LIMIT_LIST_TOKEN_SECONDS));
    assert_false(page_token_too_old(&t, 900)); /* the clock was set back */
    t.rv = 0;                                  /* from the newest state: nothing to be too old */
    assert_false(page_token_too_old(&t, 1000000));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round), cmocka_unit_test(test_age)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
