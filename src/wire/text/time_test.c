/* Tests of time: both forms of instants, the calendar against the C library, Go's durations. */
#include <time.h>

#include "base/prng.h"
#include "base/test.h"
#include "wire/text/time.h"

static void test_instants(void **state) {
    struct {
        const char *text;
        int64_t ns;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0},
        {"1970-01-01T00:00:01.5Z", 1500000000},
        {"1969-12-31T23:59:59.999999999Z", -1},
        {"2000-02-29T12:30:00+02:00", INT64_C(951820200) * 1000000000},
        {"2026-01-01T00:00:00.1234567891Z", INT64_C(1767225600123456789)},
        {"1999-12-31T20:00:00-04:00", INT64_C(946684800) * 1000000000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns = 42;
        struct err err = {0};
        assert_ok(time_parse(str_of(cases[i].text), &ns, &err), &err);
        assert_true(ns == cases[i].ns);
    }
}

static void test_refused(void **state) {
    const char *bad[] = {"",
                         "2026-01-01",
                         "2026-1-01T00:00:00Z",
                         "2026-13-01T00:00:00Z",
                         "2026-00-01T00:00:00Z",
                         "2026-02-29T00:00:00Z",
                         "2026-01-32T00:00:00Z",
                         "2026-01-01T24:00:00Z",
                         "2026-01-01T00:60:00Z",
                         "2026-01-01T00:00:60Z",
                         "2026-01-01T00:00:00",
                         "2026-01-01T00:00:00z",
                         "2026-01-01 00:00:00Z",
                         "2026-01-01T00:00:00.Z",
                         "2026-01-01T00:00:00+24:00",
                         "2026-01-01T00:00:00+0100",
                         "2026-01-01T00:00:00ZZ",
                         "+026-01-01T00:00:00Z"};
    int64_t ns = 42;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(time_parse(str_of(bad[i]), &ns, NULL), ERR_SYNTAX);
    }
    assert_int_equal(time_parse(STR("9999-12-31T23:59:59Z"), &ns, NULL), ERR_RANGE);
    assert_int_equal(time_parse(STR("0001-01-01T00:00:00Z"), &ns, NULL), ERR_RANGE);
    assert_int_equal(ns, 42);
}

static void test_micro_is_strict(void **state) {
    int64_t ns = 0;
    assert_int_equal(time_parse_micro(STR("1970-01-01T00:00:01.000002Z"), &ns, NULL), 0);
    assert_true(ns == 1000002000);
    assert_int_equal(time_parse_micro(STR("1970-01-01T00:00:01Z"), &ns, NULL), ERR_SYNTAX);
    assert_int_equal(time_parse_micro(STR("1970-01-01T00:00:01.5Z"), &ns, NULL), ERR_SYNTAX);
    assert_int_equal(time_parse_micro(STR("1970-01-01T00:00:01.0000002Z"), &ns, NULL), ERR_SYNTAX);
}

static void test_text(void **state) {
    char out[TIME_TEXT_MAX];
    assert_str_eq(time_text(-1, out), STR("1969-12-31T23:59:59Z"));
    assert_str_eq(time_text_micro(-1, out), STR("1969-12-31T23:59:59.999999Z"));
    assert_str_eq(time_text_micro(0, out), STR("1970-01-01T00:00:00.000000Z"));
    assert_str_eq(time_text_nano(1500000000, out), STR("1970-01-01T00:00:01.5Z"));
    assert_str_eq(time_text_nano(1000000000, out), STR("1970-01-01T00:00:01Z"));
    assert_str_eq(time_text_nano(INT64_MIN, out), STR("1677-09-21T00:12:43.145224192Z"));
    assert_str_eq(time_text_nano(INT64_MAX, out), STR("2262-04-11T23:47:16.854775807Z"));
}

static void test_calendar_agrees_with_libc(void **state) {
    struct prng r;
    prng_seed(&r, 7);
    for (int i = 0; i < 20000; i++) {
        int64_t ns = (int64_t)prng_u64(&r), again;
        struct time_parts p = time_split(ns);
        time_t secs = (time_t)((ns - p.nano) / 1000000000);
        struct tm tm;
        gmtime_r(&secs, &tm);
        assert_true(p.year == tm.tm_year + 1900 && p.month == tm.tm_mon + 1 && p.day == tm.tm_mday);
        assert_true(p.hour == tm.tm_hour && p.minute == tm.tm_min && p.second == tm.tm_sec);
        assert_int_equal(p.weekday, tm.tm_wday);
        char out[TIME_TEXT_MAX];
        assert_int_equal(time_parse(time_text_nano(ns, out), &again, NULL), 0);
        assert_true(ns == again);
    }
    assert_true(time_join(2026, 13, 1, 0, 0, 0) == time_join(2027, 1, 1, 0, 0, 0));
    assert_true(time_join(2026, 0, 1, 0, 0, 0) == time_join(2025, 12, 1, 0, 0, 0));
    assert_true(time_join(2026, -11, 1, 0, 0, 0) == time_join(2025, 1, 1, 0, 0, 0));
    assert_true(time_join(2026, 3, 0, 0, 0, 0) == time_join(2026, 2, 28, 0, 0, 0));
}

static void test_durations(void **state) {
    struct {
        const char *text;
        int64_t ns;
        const char *canonical;
    } cases[] = {
        {"0", 0, "0s"},
        {"1h2m3.5s", INT64_C(3723500000000), "1h2m3.5s"},
        {"300ms", 300000000, "300ms"},
        {"-1.5h", -INT64_C(5400000000000), "-1h30m0s"},
        {"1.5us", 1500, "1.5\xc2\xb5s"},
        {"1\xc2\xb5s", 1000, "1\xc2\xb5s"},
        {"15ns", 15, "15ns"},
        {"+5s", 5000000000, "5s"},
        {".5s", 500000000, "500ms"},
        {"1.s", 1000000000, "1s"},
        {"90s", INT64_C(90000000000), "1m30s"},
        {"2562047h47m16.854775807s", INT64_MAX, "2562047h47m16.854775807s"},
        {"-2562047h47m16.854775808s", INT64_MIN, "-2562047h47m16.854775808s"},
        {"0.100000000000000000000h", INT64_C(360000000000), "6m0s"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns = 42;
        char out[DURATION_TEXT_MAX];
        struct err err = {0};
        assert_ok(duration_parse(str_of(cases[i].text), &ns, &err), &err);
        assert_true(ns == cases[i].ns);
        assert_str_eq(duration_text(ns, out), str_of(cases[i].canonical));
    }
    const char *bad[] = {"",
                         "-",
                         "3",
                         "s",
                         ".s",
                         "1x",
                         "1 s",
                         "--1s",
                         "1h-2m",
                         "1.",
                         ".",
                         "1sm",
                         "+",
                         "2562047h47m16.854775808s",
                         "99999999999999999999s",
                         "9223372036854775808ns",
                         "-2562047h47m16.854775809s",
                         "9223372036s9223372036s9223372036s"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int64_t ns = 42;
        assert_int_equal(duration_parse(str_of(bad[i]), &ns, NULL), ERR_SYNTAX);
        assert_int_equal(ns, 42);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_instants),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_micro_is_strict),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_calendar_agrees_with_libc),
        cmocka_unit_test(test_durations),
    };
    return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
