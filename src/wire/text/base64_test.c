/* Tests of base64: RFC 4648's vectors, refusals, random round trips. */
#include "base/prng.h"
#include "base/test.h"
#include "wire/text/base64.h"

static struct arena arena;

static void test_vectors(void **state) {
    static const char *const cases[][2] = {{"", ""},
                                           {"f", "Zg=="},
                                           {"fo", "Zm8="},
                                           {"foo", "Zm9v"},
                                           {"foob", "Zm9vYg=="},
                                           {"fooba", "Zm9vYmE="},
                                           {"foobar", "Zm9vYmFy"}};
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buf b;
        buf_init(&b, 0);
        base64_encode(&b, str_of(cases[i][0]));
        assert_str_eq(buf_view(&b), str_of(cases[i][1]));
        struct str back = base64_decode(&arena, buf_view(&b));
        assert_non_null(back.p);
        assert_str_eq(back, str_of(cases[i][0]));
        buf_release(&b);
    }
    static const char *const bad[] = {
        "Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "Z-==", "=", "====", "Zm9v\x01", "Zm 9v"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(base64_decode(&arena, str_of(bad[i])).p);
    }
    assert_str_eq(base64_decode(&arena, STR("Zm9v\nYmFy\r\n")), STR("foobar"));
    assert_null(base64url_decode(&arena, STR("Zg==")).p);
    assert_str_eq(base64url_decode(&arena, STR("_-8")), STR("\xff\xef"));
    arena_release(&arena);
}

static void test_round_trip(void **state) {
    struct prng r;
    prng_seed(&r, 5);
    arena_init(&arena, 16 << 20);
    for (int i = 0; i < 2000; i++) {
        char raw[100];
        size_t n = prng_below(&r, sizeof(raw));
        struct buf b;
        for (size_t k = 0; k < n; k++) {
            raw[k] = (char)prng_u64(&r);
        }
        buf_init(&b, 0);
        base64url_encode(&b, str_from(raw, n));
        assert_str_eq(base64url_decode(&arena, buf_view(&b)), str_from(raw, n));
        buf_release(&b);
    }
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors),
                                       cmocka_unit_test(test_round_trip)};
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
