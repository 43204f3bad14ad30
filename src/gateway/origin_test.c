/* origin_test: what an origin is. */
#include "gateway/origin.h"

#include "base/test.h"

static void origins(void **state) {
    static const char *const good[] = {"http://127.0.0.1:8090", "https://berth.example"};
    static const char *const bad[] = {"",        "*",          "null",      "https://",
                                      "ftp://a", "https://a/", "http://a b"};
    struct gateway_origins o = {0};
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        assert_ok(origin_add(&o, str_of(good[i]), &err), &err);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        assert_int_equal(origin_add(&o, str_of(bad[i]), &err), ERR_INVALID);
    }
    assert_int_equal(o.n, 2);
    while (o.n < ORIGINS_MAX) {
        assert_ok(origin_add(&o, STR("http://a"), &err), &err);
    }
    assert_int_equal(origin_add(&o, STR("http://a"), &err), ERR_TOO_LARGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(origins)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
