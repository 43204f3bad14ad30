/* Tests of when: what people write, in zones whose clocks change, and how times are said. */
#include "cli/book/when.h"

#include "base/test.h"
#include "base/zoneinfo.h"
#include "wire/text/time.h"

static struct zones *zones;
static struct arena arena;

static int setup(void **state) {
    (void)state;
    arena_init(&arena, 1 << 24);
    zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    return zones ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    zones_free(zones);
    arena_release(&arena);
    return 0;
}

static int64_t utc(const char *text) {
    int64_t ns = 0;
    struct err err = {0};
    assert_ok(time_parse(str_of(text), &ns, &err), &err);
    return ns / 1000000000;
}

static struct when_now at(const char *zone, const char *text) {
    struct when_now now = {.utc = utc(text)};
    struct err err = {0};
    assert_ok(zones_get(zones, str_of(zone), &now.zone, &err), &err);
    return now;
}

/* "2026-11-23T14:00:00+01:00", "... gap", "... twice", "... now"; the error where it fails. */
static const char *parsed(const struct when_now *now, const struct when_ask *ask,
                          const char *text) {
    static const char *const fits[] = {
        [ZONE_ONCE] = "", [ZONE_GAP] = " gap", [ZONE_TWICE] = " twice"};
    static char out[600];
    char said[ZONE_TEXT_MAX];
    struct when w;
    struct err err = {0};
    if (when_parse(now, ask, text, &w, &err) != 0) {
        assert_int_equal(err.code, ERR_BAD_REQUEST);
        snprintf(out, sizeof out, "%s", err.text);
    } else {
        snprintf(out, sizeof out, "%.*s%s%s", STR_ARG(zone_text(now->zone, w.utc, said)),
                 fits[w.fit], w.now ? " now" : "");
    }
    return out;
}

#define SAT "2026-11-21T15:00:00Z" /* a Saturday, 16:00 in Warsaw */

static void test_moments(void **state) {
    static const struct {
        const char *zone, *now, *day, *text, *want;
    } cases[] = {
        {"Europe/Warsaw", SAT, NULL, "now", "2026-11-21T16:00:00+01:00 now"},
        {"Europe/Warsaw", SAT, NULL, "+2h", "2026-11-21T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "+1h30m", "2026-11-21T17:30:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "18:00", "2026-11-21T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "18", "2026-11-21T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "1815", "2026-11-21T18:15:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "18h15", "2026-11-21T18:15:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "18h", "2026-11-21T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "6pm", "2026-11-21T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "6:45PM", "2026-11-21T18:45:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "12am", "2026-11-22T00:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "12pm", "2026-11-22T12:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "noon", "2026-11-22T12:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "24:00", "2026-11-22T00:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "9:00", "2026-11-22T09:00:00+01:00"}, /* over for today */
        {"Europe/Warsaw", SAT, NULL, "15:45", "2026-11-21T16:00:00+01:00 now"},
        {"Europe/Warsaw", SAT, NULL, "15:29", "2026-11-22T15:29:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "today 15:45", "2026-11-21T16:00:00+01:00 now"},
        {"Europe/Warsaw", SAT, NULL, "today 18:00", "2026-11-21T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "tomorrow 9:00", "2026-11-22T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, " 9:00   Tomorrow ", "2026-11-22T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "mon 9", "2026-11-23T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "Monday 9", "2026-11-23T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "thurs 9", "2026-11-26T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "sun 9", "2026-11-22T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "sat 18:00", "2026-11-21T18:00:00+01:00"}, /* still to come */
        {"Europe/Warsaw", SAT, NULL, "sat 9:00", "2026-11-28T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "+3d 9:00", "2026-11-24T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "2026-12-01 8:30", "2026-12-01T08:30:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "2026-12-01T08:30", "2026-12-01T08:30:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "12-24 18:00", "2026-12-24T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "02-01 18:00", "2027-02-01T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "02-29 18:00", "2028-02-29T18:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "2026-11-23T08:00:00Z", "2026-11-23T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, NULL, "2026-11-23T08:00:00-05:00", "2026-11-23T14:00:00+01:00"},
        {"Europe/Warsaw", SAT, "tomorrow", "9:00", "2026-11-22T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, "fri", "9:00", "2026-11-27T09:00:00+01:00"},
        {"Europe/Warsaw", SAT, "fri", "thu 9:00", "2026-11-26T09:00:00+01:00"}, /* its own day */
        {"Europe/Warsaw", SAT, "2026-11-30", "24:00", "2026-12-01T00:00:00+01:00"},
        /* the first day of the year ahead is another day where clocks are ahead */
        {"Asia/Kathmandu", "2026-11-21T18:30:00Z", NULL, "9:00", "2026-11-22T09:00:00+05:45"},
        {"Asia/Kathmandu", "2026-11-21T18:30:00Z", "today", "9:00", "2026-11-22T09:00:00+05:45"},
        {"Pacific/Kiritimati", "2026-12-31T12:00:00Z", NULL, "3:00", "2027-01-01T03:00:00+14:00"},
        {"America/New_York", "2026-11-22T03:00:00Z", "today", "23:00", "2026-11-21T23:00:00-05:00"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct when_now now = at(cases[i].zone, cases[i].now);
        struct when_ask ask = {.option = "from", .day = cases[i].day};
        const char *got = parsed(&now, &ask, cases[i].text);
        if (strcmp(got, cases[i].want) != 0) {
            print_error("%zu \"%s\": %s, not %s\n", i, cases[i].text, got, cases[i].want);
            fail();
        }
    }
}

/* Days on which clocks change: 29 March and 25 October 2026 in Warsaw, 4 October on Lord Howe by half an hour. */
static void test_changing_clocks(void **state) {
    static const struct {
        const char *zone, *now, *text, *want;
    } cases[] = {
        {"Europe/Warsaw", "2026-03-28T12:00:00Z", "2:30", "2026-03-29T03:30:00+02:00 gap"},
        {"Europe/Warsaw", "2026-03-28T12:00:00Z", "tomorrow 1:59", "2026-03-29T01:59:00+01:00"},
        {"Europe/Warsaw", "2026-03-28T12:00:00Z", "tomorrow 3:00", "2026-03-29T03:00:00+02:00"},
        {"Europe/Warsaw", "2026-03-28T12:00:00Z", "tomorrow 24:00", "2026-03-30T00:00:00+02:00"},
        {"Europe/Warsaw", "2026-10-24T12:00:00Z", "2:30", "2026-10-25T02:30:00+02:00 twice"},
        {"Europe/Warsaw", "2026-10-24T12:00:00Z", "tomorrow 3:00", "2026-10-25T03:00:00+01:00"},
        {"Europe/Warsaw", "2026-10-25T00:10:00Z", "+1h", "2026-10-25T02:10:00+01:00"},
        {"Australia/Lord_Howe", "2026-10-03T03:00:00Z", "2:10", "2026-10-04T02:40:00+11:00 gap"},
        {"Australia/Lord_Howe", "2026-04-04T03:00:00Z", "1:45", "2026-04-05T01:45:00+11:00 twice"},
        {"America/New_York", "2026-03-07T18:00:00Z", "2:30am", "2026-03-08T03:30:00-04:00 gap"},
        {"America/Sao_Paulo", "2018-11-03T12:00:00Z", "0:30", "2018-11-04T01:30:00-02:00 gap"},
        /* a day that Apia never had */
        {"Pacific/Apia", "2011-12-29T20:00:00Z", "2011-12-31 9:00", "2011-12-31T09:00:00+14:00"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct when_now now = at(cases[i].zone, cases[i].now);
        struct when_ask ask = {.option = "from"};
        const char *got = parsed(&now, &ask, cases[i].text);
        if (strcmp(got, cases[i].want) != 0) {
            print_error("%zu \"%s\": %s, not %s\n", i, cases[i].text, got, cases[i].want);
            fail();
        }
    }
    struct when_now now = at("Europe/Warsaw", "2026-03-28T12:00:00Z");
    struct when w = {.utc = utc("2026-03-29T01:30:00Z"), .fit = ZONE_GAP};
    assert_str_eq(when_note(&now, &w, &arena), STR("clocks skip that time on that day; Sun 29 Mar "
                                                   "03:30 CEST is meant"));
    w.fit = ZONE_ONCE;
    assert_int_equal(when_note(&now, &w, &arena).n, 0);
}

static void test_ends(void **state) {
    static const struct {
        const char *start, *day, *text, *want;
    } cases[] = {
        {"2026-11-23T13:00:00Z", NULL, "18:00", "2026-11-23T18:00:00+01:00"},
        {"2026-11-23T13:00:00Z", NULL, "9:00", "2026-11-24T09:00:00+01:00"},  /* over night */
        {"2026-11-23T13:00:00Z", NULL, "14:00", "2026-11-24T14:00:00+01:00"}, /* not empty */
        {"2026-11-23T13:00:00Z", NULL, "24:00", "2026-11-24T00:00:00+01:00"},
        {"2026-11-23T13:00:00Z", NULL, "fri 18:00", "2026-11-27T18:00:00+01:00"},
        {"2026-11-23T13:00:00Z", NULL, "mon 18:00", "2026-11-23T18:00:00+01:00"},
        {"2026-11-23T13:00:00Z", NULL, "mon 9:00", "2026-11-30T09:00:00+01:00"},
        {"2026-11-23T13:00:00Z", NULL, "tomorrow 18:00", "2026-11-22T18:00:00+01:00"},
        {"2026-11-23T13:00:00Z", NULL, "+4h", "2026-11-23T18:00:00+01:00"},
        {"2026-11-23T13:00:00Z", NULL, "11-25 8:00", "2026-11-25T08:00:00+01:00"},
    };
    struct when_now now = at("Europe/Warsaw", SAT);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct when start = {.utc = utc(cases[i].start)};
        struct when_ask ask = {.option = "to", .day = cases[i].day, .after = &start};
        const char *got = parsed(&now, &ask, cases[i].text);
        if (strcmp(got, cases[i].want) != 0) {
            print_error("%zu \"%s\": %s, not %s\n", i, cases[i].text, got, cases[i].want);
            fail();
        }
    }
}

static void test_refused(void **state) {
    static const char *const bad[] = {"",
                                      "soon",
                                      "25:00",
                                      "14:60",
                                      "9:5",
                                      "13pm",
                                      "0am",
                                      "tomorrow",
                                      "9:00 9:00",
                                      "mon tue 9",
                                      "2026-02-30 9",
                                      "2026-13-01 9",
                                      "26-11-23 9",
                                      "14:00:00:00",
                                      "+",
                                      "+2x",
                                      "-2h",
                                      "mo 9",
                                      "99999",
                                      "9:00T2026-11-23",
                                      "2026-11-23T",
                                      "2026-11-23 9:00 x",
                                      "mondayy 9",
                                      "24:01"};
    struct when_now now = at("Europe/Warsaw", SAT);
    struct when_ask ask = {.option = "from"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (!str_starts(str_of(parsed(&now, &ask, bad[i])), STR("--from: expected a time as"))) {
            print_error("\"%s\": %s\n", bad[i], parsed(&now, &ask, bad[i]));
            fail();
        }
    }
    assert_string_equal(parsed(&now, &ask, "2026-11-20 9:00"),
                        "--from: 2026-11-20T09:00:00+01:00 is over");
    assert_string_equal(parsed(&now, &ask, "today 9:00"),
                        "--from: 2026-11-21T09:00:00+01:00 is over");
    ask.past = true;
    assert_string_equal(parsed(&now, &ask, "today 9:00"), "2026-11-21T09:00:00+01:00");
    ask.day = "someday";
    assert_true(str_starts(str_of(parsed(&now, &ask, "9:00")), STR("--date: expected today")));
}

static void test_lengths(void **state) {
    static const struct {
        const char *text;
        int64_t want;
        const char *said;
    } cases[] = {{"30m", 1800, "30m"},       {"4h", 14400, "4h"},   {"1h30m", 5400, "1h30m"},
                 {"90m", 5400, "1h30m"},     {"2d", 172800, "2d"},  {"1w", 604800, "7d"},
                 {"1d12h", 129600, "1d12h"}, {"26h", 93600, "1d2h"}};
    static const char *const bad[] = {"",     "4",     "h",    "4x",  "-4h", "0h",
                                      "1.5h", "30m1h", "1h1h", "99w", "4 h", "999999999999h"};
    int64_t got;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        assert_ok(when_length("for", cases[i].text, &got, &err), &err);
        assert_int_equal(got, cases[i].want);
        assert_str_eq(when_length_text(got, &arena), str_of(cases[i].said));
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        assert_int_equal(when_length("for", bad[i], &got, &err), ERR_BAD_REQUEST);
        assert_true(str_starts(str_of(err.text), STR("--for: expected a length as 30m")));
    }
}

static void test_days(void **state) {
    static const struct {
        const char *text, *want;
    } cases[] = {{NULL, "2026-11-20T23:00:00Z"},       {"today", "2026-11-20T23:00:00Z"},
                 {"tomorrow", "2026-11-21T23:00:00Z"}, {"sat", "2026-11-20T23:00:00Z"},
                 {"fri", "2026-11-26T23:00:00Z"},      {"2026-07-01", "2026-06-30T22:00:00Z"}};
    struct when_now now = at("Europe/Warsaw", SAT);
    int64_t got;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(when_day(&now, "date", cases[i].text, &got, &err), &err);
        assert_str_eq(when_rfc(got, &arena), str_of(cases[i].want));
    }
    assert_int_equal(when_day(&now, "date", "yesterweek", &got, &err), ERR_BAD_REQUEST);
}

static void test_texts(void **state) {
    static const struct {
        const char *zone, *from, *to, *want;
    } cases[] = {
        {"Europe/Warsaw", "2026-11-23T13:00:00Z", "2026-11-23T17:00:00Z",
         "Mon 23 Nov 14:00-18:00 CET (4h)"},
        {"Europe/Warsaw", "2026-11-23T21:00:00Z", "2026-11-24T01:00:00Z",
         "Mon 23 Nov 22:00 - Tue 24 Nov 02:00 CET (4h)"},
        {"Europe/Warsaw", "2026-11-23T21:00:00Z", "2026-11-23T23:00:00Z",
         "Mon 23 Nov 22:00-24:00 CET (2h)"},
        {"Europe/Warsaw", "2026-03-29T00:00:00Z", "2026-03-29T04:00:00Z",
         "Sun 29 Mar 01:00 CET - 06:00 CEST (4h)"},
        {"Europe/Warsaw", "2026-10-24T22:00:00Z", "2026-10-25T02:00:00Z",
         "Sun 25 Oct 00:00 CEST - 03:00 CET (4h)"},
        {"Europe/Warsaw", "2027-01-04T08:00:00Z", "2027-01-04T08:30:00Z",
         "Mon 4 Jan 2027 09:00-09:30 CET (30m)"},
        {"Asia/Kathmandu", "2026-11-23T03:15:00Z", "2026-11-23T04:15:00Z",
         "Mon 23 Nov 09:00-10:00 UTC+05:45 (1h)"},
        {"UTC", "2026-11-23T03:15:00Z", "2026-11-25T04:15:00Z",
         "Mon 23 Nov 03:15 - Wed 25 Nov 04:15 UTC (2d1h)"},
    };
    static const struct {
        const char *at, *want;
    } distances[] = {{"2026-11-21T15:00:20Z", "now"},      {"2026-11-21T15:05:00Z", "in 5m"},
                     {"2026-11-21T17:30:00Z", "in 2h30m"}, {"2026-11-22T03:20:00Z", "in 12h"},
                     {"2026-11-24T16:00:00Z", "in 3d"},    {"2026-11-21T14:00:00Z", "1h ago"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct when_now now = at(cases[i].zone, SAT);
        assert_str_eq(when_span(&now, utc(cases[i].from), utc(cases[i].to), &arena),
                      str_of(cases[i].want));
    }
    struct when_now now = at("UTC", SAT);
    for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
        assert_str_eq(when_distance(&now, utc(distances[i].at), &arena), str_of(distances[i].want));
    }
    assert_str_eq(when_text(&now, now.utc, &arena), STR("Sat 21 Nov 15:00 UTC"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments), cmocka_unit_test(test_changing_clocks),
        cmocka_unit_test(test_ends),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_lengths), cmocka_unit_test(test_days),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
