/* Tests of quantity: Kubernetes' canonical forms, limits and rounding, exact arithmetic. */
#include "base/prng.h"
#include "base/test.h"
#include "wire/text/quantity.h"

static struct quantity q_of(const char *text) {
    struct quantity q = {0};
    struct err err = {0};
    assert_ok(quantity_parse(str_of(text), &q, &err), &err);
    return q;
}

static void assert_q(struct quantity q, const char *want) {
    char out[QUANTITY_TEXT_MAX];
    assert_str_eq(quantity_text(q, out), str_of(want));
}

static void test_canonical(void **state) {
    static const char *const cases[][2] = {
        {"0", "0"},
        {"0Gi", "0"},
        {"-0", "0"},
        {"1000m", "1"},
        {"1024Mi", "1Gi"},
        {"1536Mi", "1536Mi"},
        {"1.5Gi", "1536Mi"},
        {"0.5Ki", "512"},
        {"1", "1"},
        {"1000", "1k"},
        {"1500m", "1500m"},
        {"1.5", "1500m"},
        {"100m", "100m"},
        {"0.1", "100m"},
        {"10000k", "10M"},
        {"1e3", "1e3"},
        {"1E3", "1e3"},
        {"12e2", "1200"},
        {"1500e-3", "1500e-3"},
        {"1E", "1E"},
        {"1Ei", "1Ei"},
        {"7Ei", "7Ei"},
        {"1000Ki", "1000Ki"},
        {"1023", "1023"},
        {"2048", "2048"},
        {"2Ki", "2Ki"},
        {"1Ki", "1Ki"},
        {"+1", "1"},
        {"-1", "-1"},
        {"-1Ki", "-1Ki"},
        {"-1.5Gi", "-1536Mi"},
        {"-100m", "-100m"},
        {"1.", "1"},
        {".5", "500m"},
        {"00012", "12"},
        {"1n", "1n"},
        {"1u", "1u"},
        {"1000n", "1u"},
        {"0.0001Ki", "102400u"},
        {"3.3", "3300m"},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775806.5", "9223372036854775806500m"},
        {"1G", "1G"},
        {"1000G", "1T"},
        {"1P", "1P"},
        {"1025", "1025"},
        {"0.3Ei", "345876451382054092800m"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_q(q_of(cases[i][0]), cases[i][1]);
        /* canonical text is a fixed point, and the same amount */
        assert_q(q_of(cases[i][1]), cases[i][1]);
        assert_int_equal(quantity_cmp(q_of(cases[i][0]), q_of(cases[i][1])), 0);
    }
}

static void test_limits(void **state) {
    /* finer than a billionth rounds away from zero */
    assert_q(q_of("0.1n"), "1n");
    assert_q(q_of("-0.1n"), "-1n");
    assert_q(q_of("1.0000000001"), "1000000001n");
    assert_q(q_of("1.00000000000000"), "1");
    assert_q(q_of("1e-100"), "1e-9");
    assert_q(q_of("0.00000000000000000000000000001Ki"), "1n");
    /* beyond 2^63-1 is capped */
    assert_q(q_of("9223372036854775808"), "9223372036854775807");
    assert_q(q_of("8Ei"), "9223372036854775807");
    assert_q(q_of("-8Ei"), "-9223372036854775807");
    assert_q(q_of("1e999999999"), "9223372036854775807");
    assert_q(q_of("0e999999999"), "0");
    assert_q(q_of("99999999999999999999999999999999999999999999999999"), "9223372036854775807");
    assert_q(q_of("0.00000000000000000000000000000000000000000000000001e50"), "1");
    assert_q(q_of("0000000000000000000000000000000000000000000000000000001"), "1");
}

static void test_refused(void **state) {
    static const char *const format[] = {"",    " 1",   "1 ",    "a",   "1.2.3", "1x",
                                         "1ki", "0x10", "1e3.5", "--1", "1,5"};
    static const char *const suffix[] = {
        "1K", "1e", "1mm", "1Ki5", "1k-", "1e+", "1ee3", "1i", "1e99999999999999999999"};
    struct quantity q = quantity_of(7, QUANTITY_DECIMAL);
    for (size_t i = 0; i < sizeof(format) / sizeof(format[0]); i++) {
        assert_int_equal(quantity_parse(str_of(format[i]), &q, NULL), ERR_SYNTAX);
    }
    for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
        struct err err = {0};
        assert_int_equal(quantity_parse(str_of(suffix[i]), &q, &err), ERR_SYNTAX);
        assert_string_equal(err.text, "unable to parse quantity's suffix");
    }
    assert_q(q, "7");
}

static void test_values(void **state) {
    assert_true(quantity_value(q_of("1.5")) == 2 && quantity_value(q_of("-1.5")) == -2);
    assert_true(quantity_value(q_of("100m")) == 1 && quantity_value(q_of("-100m")) == -1);
    assert_true(quantity_milli(q_of("1.5")) == 1500 && quantity_milli(q_of("1u")) == 1);
    assert_true(quantity_milli(q_of("7Ei")) == INT64_MAX);
    assert_true(quantity_value(q_of("80Gi")) == INT64_C(85899345920));
    assert_q(quantity_of_milli(-1500, QUANTITY_DECIMAL), "-1500m");
    assert_q(quantity_of(INT64_C(1) << 30, QUANTITY_BINARY), "1Gi");
    assert_true(quantity_is_zero((struct quantity){0}));
    assert_int_equal(quantity_sign(q_of("-1n")), -1);
    assert_int_equal(quantity_sign(q_of("1n")), 1);
    assert_int_equal(quantity_sign(q_of("0")), 0);
}

static void test_arithmetic(void **state) {
    struct quantity q = {0};
    assert_int_equal(quantity_add(&q, q_of("1Gi")), 0);
    assert_q(q, "1Gi"); /* zero takes the other's format */
    assert_int_equal(quantity_add(&q, q_of("512M")), 0);
    assert_q(q, "1548576Ki");
    assert_int_equal(quantity_sub(&q, q_of("1585741824.5")), 0);
    assert_q(q, "-500m");
    struct quantity top = q_of("9223372036854775807");
    assert_int_equal(quantity_add(&top, q_of("1n")), ERR_RANGE);
    assert_q(top, "9223372036854775807");
    assert_true(quantity_cmp(q_of("1023Mi"), q_of("1Gi")) < 0);
    assert_true(quantity_cmp(q_of("-1"), q_of("-0.5")) < 0);
    assert_true(quantity_cmp(q_of("1"), q_of("1000m")) == 0);
}

static void test_round_trip_random(void **state) {
    struct prng r;
    prng_seed(&r, 3);
    for (int i = 0; i < 50000; i++) {
        struct quantity q = {
            .whole = (int64_t)(prng_u64(&r) >> prng_below(&r, 64)) >> 1,
            .nano = prng_below(&r, 2) ? (int32_t)prng_below(&r, 1000000000) : 0,
            .format = (uint8_t)prng_below(&r, 3),
        };
        if (prng_below(&r, 2)) {
            struct quantity negative = {0};
            assert_int_equal(quantity_sub(&negative, q), 0);
            q = negative;
        }
        char out[QUANTITY_TEXT_MAX], again[QUANTITY_TEXT_MAX];
        struct quantity back;
        assert_int_equal(quantity_parse(quantity_text(q, out), &back, NULL), 0);
        assert_int_equal(quantity_cmp(q, back), 0);
        if (back.format == q.format) { /* "1025" does not show that it was binary */
            assert_str_eq(quantity_text(back, again), str_of(out));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical),  cmocka_unit_test(test_limits),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_values),
        cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_round_trip_random),
    };
    return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
