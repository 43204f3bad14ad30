/* podlog: lines come back as they went in, parts of lines and strange ones are told apart. */
#include "base/test.h"

#include "wire/podlog.h"

static void test_round_trip(void **state) {
    struct podlog_line l;
    struct buf b;

    buf_init(&b, 0);
    podlog_write(&b, INT64_C(1767323045123456789), PODLOG_STDERR, true, STR("hello  world"));
    podlog_write(&b, INT64_C(1767323045000000000), PODLOG_STDOUT, false, STR(""));
    assert_true(
        str_starts(buf_view(&b), STR("2026-01-02T03:04:05.123456789Z stderr F hello  world\n")));
    struct str rest = buf_view(&b);
    assert_int_equal(podlog_next(&rest, &l), 0);
    assert_true(l.time_ns == INT64_C(1767323045123456789));
    assert_int_equal(l.stream, PODLOG_STDERR);
    assert_true(l.full);
    assert_str_eq(l.text, STR("hello  world"));
    assert_int_equal(podlog_next(&rest, &l), 0);
    assert_false(l.full);
    assert_true(str_empty(l.text));
    assert_int_equal(podlog_next(&rest, &l), ERR_AGAIN);
    buf_release(&b);
}

static void test_strange(void **state) {
    struct str rest =
        STR("no time here\n2026-01-02T03:04:05Z stdlog F x\n2026-01-02T03:04:05Z stdout X x\n"
            "2026-01-02T03:04:05Z stdout F ok\nhalf a li");
    struct podlog_line l;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(podlog_next(&rest, &l), ERR_SYNTAX);
    }
    assert_int_equal(podlog_next(&rest, &l), 0);
    assert_str_eq(l.text, STR("ok"));
    assert_int_equal(podlog_next(&rest, &l), ERR_AGAIN);
    assert_str_eq(rest, STR("half a li"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_strange),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
