/* Tests of rrule: rules by hand, what is refused and by what name. dateutil is asked about random rules by
 * tests/calendar. */
#include "base/test.h"
#include "base/zoneinfo.h"
#include "wire/text/rrule.h"

static int64_t local(const char *text) {
    int64_t ret = 0;
    struct err err = {0};
    assert_ok(zone_parse_local(str_of(text), &ret, &err), &err);
    return ret;
}

/* The first occurrences as "11-23 11-24 ...", from `start` at nine. */
static void expect(const char *rule, const char *start, const char *want) {
    struct rrule r;
    struct rrule_iter it;
    struct err err = {0};
    struct buf got;
    int64_t at;
    buf_init(&got, 0);
    assert_ok(rrule_parse(str_of(rule), &r, &err), &err);
    rrule_begin(&it, &r, zone_of_utc(), local(start));
    for (int i = 0; i < 8 && rrule_next(&it, &at); i++) {
        char text[ZONE_TEXT_MAX];
        buf_c(&got, i == 0 ? "" : " ");
        buf_str(&got, str_head(str_skip(zone_local_text(at, text), 5), 5));
    }
    assert_str_eq(buf_view(&got), str_of(want));
    buf_release(&got);
}

static void test_occurrences(void **state) {
    const char *monday = "2026-11-23T09:00";
    expect("FREQ=DAILY;COUNT=3", monday, "11-23 11-24 11-25");
    expect("FREQ=DAILY;INTERVAL=10;COUNT=3", monday, "11-23 12-03 12-13");
    expect("FREQ=DAILY;BYDAY=SA,SU;COUNT=3", monday, "11-28 11-29 12-05");
    expect("FREQ=WEEKLY;COUNT=3", monday, "11-23 11-30 12-07");
    expect("FREQ=WEEKLY;BYDAY=WE,MO;COUNT=4", monday, "11-23 11-25 11-30 12-02");
    expect("FREQ=WEEKLY;BYDAY=TU,TH;COUNT=3", monday, "11-24 11-26 12-01");
    expect("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;COUNT=4", monday, "11-23 11-29 12-07 12-13");
    expect("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,SU;COUNT=4;WKST=SU", monday, "11-23 12-06 12-07 12-20");
    expect("FREQ=MONTHLY;COUNT=3", "2026-01-31T09:00", "01-31 03-31 05-31");
    expect("FREQ=MONTHLY;BYMONTHDAY=-1;COUNT=4", "2028-01-01T09:00", "01-31 02-29 03-31 04-30");
    expect("FREQ=MONTHLY;BYDAY=1MO,-1FR;COUNT=4", monday, "11-27 12-07 12-25 01-04");
    expect("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=2", monday, "08-13 10-13");
    expect("FREQ=MONTHLY;BYDAY=5TH;COUNT=3", monday, "12-31 04-29 07-29");
    expect("FREQ=DAILY;UNTIL=20261124T085959Z", monday, "11-23");
    expect("FREQ=DAILY;UNTIL=20261124T090000Z", monday, "11-23 11-24");
    expect("FREQ=DAILY;UNTIL=20261125", monday, "11-23 11-24 11-25");
    expect("FREQ=DAILY;UNTIL=20261101", monday, "");
    expect("FREQ=MONTHLY;BYDAY=-5MO;BYMONTHDAY=31", monday, ""); /* never, until 2199 */
    expect(" rrule:freq=weekly;byday=mo;count=2 ", monday, "11-23 11-30");
}

static void test_until_in_the_zone(void **state) {
    struct zones *zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    const struct zone *z;
    struct rrule r;
    struct rrule_iter it;
    int64_t at;
    assert_int_equal(zones_get(zones, STR("Europe/Warsaw"), &z, NULL), 0);
    assert_int_equal(rrule_parse(STR("FREQ=DAILY;UNTIL=20261026T080000Z"), &r, NULL), 0);
    rrule_begin(&it, &r, z, local("2026-10-24T09:00"));
    int n = 0;
    while (rrule_next(&it, &at)) {
        n++;
    }
    assert_int_equal(n, 3); /* 09:00 on the 26th is 08:00 UTC, an hour later than the day before */
    zones_free(zones);
}

static void test_jump(void **state) {
    static const char *const rules[] = {"FREQ=DAILY;INTERVAL=3", "FREQ=WEEKLY;INTERVAL=3;BYDAY=TU",
                                        "FREQ=MONTHLY;INTERVAL=5;BYMONTHDAY=31",
                                        "FREQ=DAILY;COUNT=4000", "FREQ=DAILY;COUNT=5"};
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct rrule r;
        struct rrule_iter slow, fast;
        int64_t a = 0, b = 0, start = local("2026-01-30T23:30"), from = local("2031-06-15T00:00");
        assert_int_equal(rrule_parse(str_of(rules[i]), &r, NULL), 0);
        rrule_begin(&slow, &r, zone_of_utc(), start);
        rrule_begin(&fast, &r, zone_of_utc(), start);
        bool any = rrule_next_from(&fast, from, &b);
        while (rrule_next(&slow, &a) && a < from) {
        }
        assert_true(any == (a >= from));
        assert_true(!any || a == b);
        any = rrule_next(&fast, &b);
        assert_true(any == rrule_next(&slow, &a) && (!any || a == b));
    }
}

static void test_refused(void **state) {
    static const struct {
        const char *rule, *says;
    } cases[] = {
        {"", "FREQ is missing: DAILY, WEEKLY or MONTHLY"},
        {"FREQ=YEARLY", "FREQ=YEARLY: must be DAILY, WEEKLY or MONTHLY"},
        {"INTERVAL=2", "FREQ is missing: DAILY, WEEKLY or MONTHLY"},
        {"FREQ=DAILY;INTERVAL=0", "INTERVAL=0: must be a number from 1 to 1000"},
        {"FREQ=DAILY;INTERVAL=x", "INTERVAL=X: must be a number from 1 to 1000"},
        {"FREQ=DAILY;COUNT=10001", "COUNT=10001: must be a number from 1 to 10000"},
        {"FREQ=DAILY;COUNT=-1", "COUNT=-1: must be a number from 1 to 10000"},
        {"FREQ=DAILY;COUNT=1;UNTIL=20261224", "COUNT and UNTIL exclude one another"},
        {"FREQ=DAILY;COUNT=1;COUNT=2", "COUNT is given twice"},
        {"FREQ=DAILY;UNTIL=20261324", "UNTIL=20261324: must be like 20261224T225959Z or 20261224"},
        {"FREQ=DAILY;UNTIL=13130000", "UNTIL=13130000: must be like 20261224T225959Z or 20261224"},
        {"FREQ=DAILY;UNTIL=99990000", "UNTIL=99990000: must be like 20261224T225959Z or 20261224"},
        {"FREQ=DAILY;UNTIL=22000101", "UNTIL=22000101: must be like 20261224T225959Z or 20261224"},
        {"FREQ=DAILY;BYDAY=1MO", "BYDAY=1MO: only FREQ=MONTHLY counts weekdays"},
        {"FREQ=WEEKLY;BYDAY=-1FR", "BYDAY=-1FR: only FREQ=MONTHLY counts weekdays"},
        {"FREQ=WEEKLY;BYDAY=", "BYDAY=: must name a day"},
        {"FREQ=WEEKLY;BYDAY=MON",
         "BYDAY=MON: must be days like MO,WE, or 1MO,-1FR with FREQ=MONTHLY"},
        {"FREQ=MONTHLY;BYDAY=6MO",
         "BYDAY=6MO: must be days like MO,WE, or 1MO,-1FR with FREQ=MONTHLY"},
        {"FREQ=WEEKLY;BYMONTHDAY=1", "BYMONTHDAY does not go with FREQ=WEEKLY"},
        {"FREQ=MONTHLY;BYMONTHDAY=32",
         "BYMONTHDAY=32: must be days from 1 to 31, or -1 for the last"},
        {"FREQ=MONTHLY;BYSETPOS=1",
         "BYSETPOS is not supported; use FREQ, INTERVAL, BYDAY, BYMONTHDAY, COUNT, UNTIL"},
        {"FREQ=DAILY;;COUNT=1", "\"\" is no part like FREQ=WEEKLY"},
        {"FREQ=DAILY;WKST=XX", "WKST=XX: must be a day like MO"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rrule r = {.count = 42};
        struct err err = {0};
        assert_int_equal(rrule_parse(str_of(cases[i].rule), &r, &err), ERR_INVALID);
        assert_str_eq(str_of(err.text), str_of(cases[i].says));
        assert_int_equal(r.count, 42);
    }
    char large[600];
    struct rrule r;
    memset(large, 'A', sizeof(large));
    assert_int_equal(rrule_parse(str_from(large, sizeof(large)), &r, NULL), ERR_INVALID);
}

static void test_written(void **state) {
    struct rrule r;
    struct buf out;
    buf_init(&out, 0);
    assert_int_equal(
        rrule_parse(STR("wkst=su;until=20261224T225959Z;byday=1mo,-1fr;freq=monthly;interval=2;"
                        "bymonthday=1,-3"),
                    &r, NULL),
        0);
    rrule_write(&r, &out);
    assert_str_eq(buf_view(&out), STR("FREQ=MONTHLY;INTERVAL=2;BYDAY=1MO,-1FR;BYMONTHDAY=1,-3;"
                                      "UNTIL=20261224T225959Z;WKST=SU"));
    buf_release(&out);
}

static void test_dates(void **state) {
    static const char *const same[] = {"20261123T090000",  "2026-11-23T09:00:00",
                                       "20261123",         "2026-11-23",
                                       "20261123T090000Z", "2026-11-23T09:00:00Z"};
    static const char *const bad[] = {"",
                                      "2026112",
                                      "20260230",
                                      "20261123T2500",
                                      "20261123T250000",
                                      "20261123T090000X",
                                      "2026-11-23T9:00:00",
                                      "x",
                                      "99991123",
                                      "2026-11-23T09:00:00+01:00"};
    struct rrule_date d;
    int64_t at = local("2026-11-23T09:00");
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        assert_int_equal(rrule_date_parse(str_of(same[i]), &d, NULL), 0);
        assert_true(rrule_date_is(&d, zone_of_utc(), at));
        assert_false(rrule_date_is(&d, zone_of_utc(), at + 86400));
        assert_true(rrule_date_is(&d, zone_of_utc(), at + 60) == (d.form == RRULE_DATE_DAY));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(rrule_date_parse(str_of(bad[i]), &d, NULL), ERR_INVALID);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_occurrences), cmocka_unit_test(test_until_in_the_zone),
        cmocka_unit_test(test_jump),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_written),     cmocka_unit_test(test_dates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
