/* Tests of cron: what is read and refused, times by hand, clocks that are put forward and back, and the two searches
 * against each other. */
#include "base/test.h"
#include "base/zoneinfo.h"
#include "wire/text/cron.h"
#include "wire/text/time.h"

static struct zones *zones;
static const struct zone *warsaw;

static int setup(void **state) {
    zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    return zones_get(zones, STR("Europe/Warsaw"), &warsaw, NULL);
}

static int teardown(void **state) {
    zones_free(zones);
    return 0;
}

static int64_t instant(const char *text) {
    int64_t ns = 0;
    assert_int_equal(time_parse(str_of(text), &ns, NULL), 0);
    return ns / 1000000000;
}

static struct cron read(const char *text) {
    struct cron c = {0};
    struct err err = {0};
    assert_ok(cron_parse(str_of(text), &c, &err), &err);
    return c;
}

/* The next times after `after`, one for each of `want`. */
static void expect(const char *schedule, const struct zone *z, const char *after,
                   const char *want) {
    struct cron c = read(schedule);
    int64_t t = instant(after);
    struct str rest = str_of(want), part;
    while (str_next(&rest, ' ', &part)) {
        char text[TIME_TEXT_MAX];
        int64_t was = t, last;
        assert_true(cron_next(&c, z, t, &t));
        assert_str_eq(time_text(t * 1000000000, text), part);
        assert_true(cron_latest(&c, z, was, t, &last));
        assert_int_equal(last, t);
        assert_false(cron_latest(&c, z, was, t - 1, &last));
    }
}

static void test_times(void **state) {
    const struct zone *utc = zone_of_utc();
    const char *now = "2026-11-27T16:30:30Z"; /* a Friday */
    expect("* * * * *", utc, now, "2026-11-27T16:31:00Z 2026-11-27T16:32:00Z");
    expect("*/20 * * * *", utc, now, "2026-11-27T16:40:00Z 2026-11-27T17:00:00Z");
    expect("5/20 * * * *", utc, now, "2026-11-27T16:45:00Z 2026-11-27T17:05:00Z");
    expect("30 6-16/4 * * 1-5", utc, now, "2026-11-30T06:30:00Z 2026-11-30T10:30:00Z");
    expect("30 16 * * *", utc, "2026-11-27T16:30:00Z", "2026-11-28T16:30:00Z");
    expect("0 0 31 * *", utc, now,
           "2026-12-31T00:00:00Z 2027-01-31T00:00:00Z 2027-03-31T00:00:00Z");
    expect("0 0 29 2 *", utc, now, "2028-02-29T00:00:00Z");
    expect("0 12 13 * FRI", utc, now,
           "2026-12-04T12:00:00Z 2026-12-11T12:00:00Z "
           "2026-12-13T12:00:00Z"); /* either is enough */
    expect("0 12 13 * ?", utc, now, "2026-12-13T12:00:00Z 2027-01-13T12:00:00Z");
    expect("0 12 */2 * mon", utc, now, "2026-11-29T12:00:00Z 2026-11-30T12:00:00Z");
    expect("59 23 31 Dec *", utc, now, "2026-12-31T23:59:00Z 2027-12-31T23:59:00Z");
    expect("0 0,12 1 JAN,jul *", utc, now,
           "2027-01-01T00:00:00Z 2027-01-01T12:00:00Z "
           "2027-07-01T00:00:00Z");
    expect("@hourly", utc, now, "2026-11-27T17:00:00Z");
    expect("@daily", utc, now, "2026-11-28T00:00:00Z");
    expect("@midnight", utc, now, "2026-11-28T00:00:00Z");
    expect("@weekly", utc, now, "2026-11-29T00:00:00Z");
    expect("@monthly", utc, now, "2026-12-01T00:00:00Z");
    expect("@yearly", utc, now, "2027-01-01T00:00:00Z");
    expect("@annually", utc, now, "2027-01-01T00:00:00Z");
    expect("@every 90m", utc, now, "2026-11-27T18:00:30Z 2026-11-27T19:30:30Z");
    expect("@every 1ms", utc, now, "2026-11-27T16:30:31Z");
}

static void test_clocks_that_are_put_forward_and_back(void **state) {
    expect("30 9 * * *", warsaw, "2026-10-24T12:00:00Z",
           "2026-10-25T08:30:00Z 2026-10-26T08:30:00Z");
    expect("30 9 * * *", warsaw, "2026-03-28T12:00:00Z", "2026-03-29T07:30:00Z");
    /* 2:30 is passed over on the one day, and comes twice on the other. */
    expect("30 2 * * *", warsaw, "2026-03-28T00:00:00Z",
           "2026-03-28T01:30:00Z 2026-03-30T00:30:00Z");
    expect("30 2 * * *", warsaw, "2026-10-24T12:00:00Z",
           "2026-10-25T00:30:00Z 2026-10-25T01:30:00Z 2026-10-26T01:30:00Z");
    expect("0 * * * *", warsaw, "2026-03-29T00:30:00Z",
           "2026-03-29T01:00:00Z 2026-03-29T02:00:00Z");
    expect("@every 24h", warsaw, "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z");
}

static void test_the_latest(void **state) {
    struct cron c = read("0 9 * * 1"), every = read("@every 10m"), never = read("0 0 31 2 *");
    int64_t t, from = instant("2020-01-01T00:00:00Z"), now = instant("2026-11-27T16:30:30Z");
    assert_true(cron_latest(&c, zone_of_utc(), from, now, &t));
    assert_int_equal(t, instant("2026-11-23T09:00:00Z"));
    assert_true(cron_latest(&c, zone_of_utc(), t - 1, t, &t));
    assert_false(cron_latest(&c, zone_of_utc(), t, now, &t));
    assert_true(cron_latest(&every, zone_of_utc(), from + 7, now, &t));
    assert_int_equal(t, instant("2026-11-27T16:30:07Z"));
    assert_false(cron_latest(&every, zone_of_utc(), now - 599, now, &t));
    assert_false(cron_next(&never, zone_of_utc(), now, &t));
    assert_false(cron_latest(&never, zone_of_utc(), 0, now, &t));
}

static void test_ends_of_time(void **state) {
    struct cron c = read("* * * * *"), every = read("@every 2562047h");
    int64_t t = 0;
    assert_true(cron_next(&c, warsaw, INT64_MIN, &t));
    assert_int_equal(t, 0);
    assert_false(cron_next(&c, warsaw, INT64_MAX - 1, &t));
    assert_false(cron_next(&every, warsaw, INT64_C(7258118400), &t));
    assert_false(cron_latest(&c, warsaw, INT64_MAX, INT64_MAX, &t));
    assert_true(cron_latest(&c, warsaw, INT64_MIN, 60, &t));
    assert_int_equal(t, 60);
}

static void refuse(const char *text, const char *want) {
    struct cron c = {.every_s = 77};
    struct err err = {0};
    assert_int_equal(cron_parse(str_of(text), &c, &err), ERR_INVALID);
    assert_str_eq(str_of(err.text), str_of(want));
    assert_int_equal(c.every_s, 77);
}

static void test_refused(void **state) {
    refuse("", "empty spec string");
    refuse("* * * *", "expected exactly 5 fields, found 4: [* * * *]");
    refuse("* * * * * *", "expected exactly 5 fields, found 6: [* * * * * *]");
    refuse("60 * * * *", "end of range (60) above maximum (59): 60");
    refuse("* * 0 * *", "beginning of range (0) below minimum (1): 0");
    refuse("* * * * 7", "end of range (7) above maximum (6): 7");
    refuse("5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3");
    refuse("*/0 * * * *", "step of range should be a positive number: */0");
    refuse("1-2-3 * * * *", "too many hyphens: 1-2-3");
    refuse("1/2/3 * * * *", "too many slashes: 1/2/3");
    refuse("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax");
    refuse(", * * * *", "a field has no values: ,");
    refuse("@never", "unrecognized descriptor: @never");
    struct cron c;
    struct err err = {0};
    assert_int_equal(cron_parse(STR("@every soon"), &c, &err), ERR_INVALID);
    assert_true(str_starts(str_of(err.text), STR("failed to parse duration @every soon: ")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_clocks_that_are_put_forward_and_back),
        cmocka_unit_test(test_the_latest),
        cmocka_unit_test(test_ends_of_time),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
