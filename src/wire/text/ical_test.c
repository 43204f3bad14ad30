/* Tests of ical: whole calendars, folding, escapes, zones, limits. Python's icalendar reads them in tests/calendar. */
#include "base/limits.h"
#include "base/mem.h"
#include "base/test.h"
#include "base/zoneinfo.h"
#include "wire/text/ical.h"
#include "wire/text/time.h"

static struct buf out;
static struct zones *zones;

static int setup(void **state) {
    zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    return zones ? 0 : -1;
}

static int teardown(void **state) {
    zones_free(zones);
    return 0;
}

static const struct zone *zone(const char *name) {
    const struct zone *z = NULL;
    assert_int_equal(zones_get(zones, str_of(name), &z, NULL), 0);
    return z;
}

static const struct ical_event plain = {
    .uid = {"u1", 2},
    .stamp = 1795000000,
    .start = 1795424400, /* 2026-11-23T09:00:00Z */
    .end = 1795431600,
    .summary = {"Training", 8},
};

static bool has(const char *line) {
    return str_contains(buf_view(&out), str_of(line));
}

static void test_whole(void **state) {
    struct ical c;
    buf_init(&out, 0);
    ical_begin(&c, &out,
               &(struct ical_calendar){
                   .name = STR("Physics, GPUs"), .color = STR("teal"), .refresh_minutes = 15});
    struct ical_event e = plain;
    struct str categories[] = {STR("GPU"), STR("a,b")};
    e.created = 1794999000;
    e.modified = 1795000000;
    e.sequence = 3;
    e.status = ICAL_TENTATIVE;
    e.description = STR("line one\r\nline two; \\ done");
    e.location = STR("pool");
    e.url = STR("https://example.org/b?x=1,2");
    e.contact = STR("anna");
    e.categories = categories;
    e.n_categories = 2;
    e.alarm_minutes = 15;
    ical_event(&c, &e);
    assert_int_equal(ical_end(&c), 0);
    assert_str_eq(buf_view(&out),
                  STR("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Berth//Berth " BERTH_VERSION
                      "//EN\r\nCALSCALE:GREGORIAN\r\nNAME:Physics\\, GPUs\r\n"
                      "X-WR-CALNAME:Physics\\, GPUs\r\n"
                      "REFRESH-INTERVAL;VALUE=DURATION:PT15M\r\nX-PUBLISHED-TTL:PT15M\r\n"
                      "COLOR:teal\r\n"
                      "BEGIN:VEVENT\r\nUID:u1\r\nDTSTAMP:20261118T110640Z\r\n"
                      "CREATED:20261118T105000Z\r\nLAST-MODIFIED:20261118T110640Z\r\n"
                      "SEQUENCE:3\r\nDTSTART:20261123T090000Z\r\nDTEND:20261123T110000Z\r\n"
                      "STATUS:TENTATIVE\r\nTRANSP:OPAQUE\r\nSUMMARY:Training\r\n"
                      "DESCRIPTION:line one\\nline two\\; \\\\ done\r\nLOCATION:pool\r\n"
                      "CONTACT:anna\r\nCATEGORIES:GPU,a\\,b\r\nURL:https://example.org/b?x=1,2\r\n"
                      "BEGIN:VALARM\r\nACTION:DISPLAY\r\nDESCRIPTION:Training\r\n"
                      "TRIGGER:-PT15M\r\nEND:VALARM\r\n"
                      "END:VEVENT\r\nEND:VCALENDAR\r\n"));
    buf_release(&out);
}

static void test_zone(void **state) {
    struct ical c;
    buf_init(&out, 0);
    ical_begin(&c, &out, &(struct ical_calendar){.name = STR("")});
    const struct zone *z = zone("Europe/Warsaw");
    size_t at = out.n;
    ical_zone(&c, z, time_join(2026, 1, 1, 0, 0, 0), time_join(2026, 12, 31, 0, 0, 0));
    assert_str_eq(str_skip(buf_view(&out), at),
                  STR("BEGIN:VTIMEZONE\r\nTZID:Europe/Warsaw\r\n"
                      "BEGIN:STANDARD\r\nDTSTART:20251026T030000\r\nTZOFFSETFROM:+0200\r\n"
                      "TZOFFSETTO:+0100\r\nTZNAME:CET\r\nEND:STANDARD\r\n"
                      "BEGIN:DAYLIGHT\r\nDTSTART:20260329T020000\r\nTZOFFSETFROM:+0100\r\n"
                      "TZOFFSETTO:+0200\r\nTZNAME:CEST\r\nEND:DAYLIGHT\r\n"
                      "BEGIN:STANDARD\r\nDTSTART:20261025T030000\r\nTZOFFSETFROM:+0200\r\n"
                      "TZOFFSETTO:+0100\r\nTZNAME:CET\r\nEND:STANDARD\r\n"
                      "END:VTIMEZONE\r\n"));
    struct ical_event e = plain;
    int64_t gone[] = {time_join(2026, 11, 24, 10, 0, 0)};
    e.zone = z;
    e.rrule = STR("FREQ=DAILY;UNTIL=20261130T090000Z");
    e.exdates = gone;
    e.n_exdates = 1;
    ical_event(&c, &e);
    assert_true(has("DTSTART;TZID=Europe/Warsaw:20261123T100000\r\n"));
    assert_true(has("DTEND;TZID=Europe/Warsaw:20261123T120000\r\n"));
    assert_true(has("RRULE:FREQ=DAILY;UNTIL=20261130T090000Z\r\n"));
    assert_true(has("EXDATE;TZID=Europe/Warsaw:20261124T100000\r\n"));
    e = plain;
    e.zone = z;
    e.has_recurrence_id = true;
    e.recurrence_id = time_join(2026, 10, 25, 2, 30, 0);
    e.start = time_join(2026, 10, 25, 1, 30, 0); /* 02:30, the second time */
    e.end = time_join(2026, 10, 25, 2, 30, 0);
    ical_event(&c, &e);
    assert_true(has("DTSTART:20261025T013000Z\r\nDTEND;TZID=Europe/Warsaw:20261025T033000\r\n"
                    "RECURRENCE-ID;TZID=Europe/Warsaw:20261025T023000\r\n"));
    ical_zone(&c, zone("Asia/Kathmandu"), 1795424400, 1895424400);
    assert_true(has("TZOFFSETFROM:+0530\r\nTZOFFSETTO:+0545\r\nTZNAME:+0545\r\n"));
    ical_zone(&c, zone_of_utc(), 1795424400, 1895424400);
    assert_true(has("TZID:UTC\r\nBEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n"));
    assert_int_equal(ical_end(&c), 0);
    buf_release(&out);
}

static void test_folding(void **state) {
    char text[400];
    for (size_t shift = 0; shift < 8; shift++) {
        struct ical c;
        size_t n = 0;
        buf_init(&out, 0);
        ical_begin(&c, &out, &(struct ical_calendar){.name = STR("")});
        memset(text, 'a', sizeof(text));
        for (n = shift; n + 4 <= 300; n += 4) {
            memcpy(text + n, "\xf0\x9f\xa6\x84", 4);
        }
        struct ical_event e = plain;
        e.summary = str_from(text, n);
        ical_event(&c, &e);
        assert_int_equal(ical_end(&c), 0);
        struct buf unfolded;
        buf_init(&unfolded, 0);
        struct str rest = buf_view(&out), line;
        while (str_next(&rest, '\n', &line) && line.n > 0) {
            assert_true(line.n <= 76 && line.p[line.n - 1] == '\r');
            bool more = line.p[0] == ' ';
            assert_true(!more || ((unsigned char)line.p[1] & 0xc0) != 0x80);
            buf_str(&unfolded, str_skip(str_head(line, line.n - 1), more));
        }
        assert_true(str_contains(buf_view(&unfolded), e.summary));
        buf_release(&unfolded);
        buf_release(&out);
    }
}

static void test_hostile(void **state) {
    struct ical c;
    buf_init(&out, 0);
    ical_begin(&c, &out,
               &(struct ical_calendar){.name = STR("x"),
                                       .color = STR("red\r\nX:1"),
                                       .method = STR("PUB:LISH"),
                                       .url = STR("https://a\r\nX-EVIL:1")});
    struct ical_event e = plain;
    e.summary = STR("a\r\nEND:VEVENT\rb\nc\x01\x7f\xc2\x85\xff\xed\xa0\x80|");
    e.url = STR("https://a b");
    e.status = ICAL_CANCELLED;
    ical_event(&c, &e);
    assert_int_equal(ical_end(&c), 0);
    assert_true(has(
        "SUMMARY:a\\nEND:VEVENT\\nb\\nc   \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\r\n"));
    assert_true(has("STATUS:CANCELLED\r\nTRANSP:TRANSPARENT\r\n"));
    assert_false(has("COLOR") || has("METHOD") || has("URL") || has("EVIL"));
    buf_release(&out);
}

static void test_freebusy(void **state) {
    struct ical c;
    buf_init(&out, 0);
    ical_begin(&c, &out, &(struct ical_calendar){.name = STR("")});
    struct ical_busy busy[] = {{1795424400, 1795431600, false}, {1795435200, 1795438800, true}};
    ical_freebusy(&c, STR("pool@berth"), 1795000000, 1795392000, 1795478400, busy, 2);
    assert_int_equal(ical_end(&c), 0);
    assert_true(has("BEGIN:VFREEBUSY\r\nUID:pool@berth\r\nDTSTAMP:20261118T110640Z\r\n"
                    "DTSTART:20261123T000000Z\r\nDTEND:20261124T000000Z\r\n"
                    "FREEBUSY;FBTYPE=BUSY:20261123T090000Z/20261123T110000Z\r\n"
                    "FREEBUSY;FBTYPE=BUSY-TENTATIVE:20261123T120000Z/20261123T130000Z\r\n"
                    "END:VFREEBUSY\r\n"));
    buf_release(&out);
}

static void test_limits(void **state) {
    struct ical c;
    buf_init(&out, 0);
    char *text = mem_zalloc(LIMIT_ICAL_TEXT + 10);
    memset(text, 'a', LIMIT_ICAL_TEXT + 10);
    memcpy(text + LIMIT_ICAL_TEXT - 1, "\xc3\xa9", 2); /* the cut is not inside it */
    ical_begin(&c, &out, &(struct ical_calendar){.name = STR("")});
    struct ical_event e = plain;
    e.summary = str_from(text, LIMIT_ICAL_TEXT + 10);
    ical_event(&c, &e);
    assert_true(has("\xe2\x80\xa6") && !has("\xc3"));
    for (int i = 1; i < LIMIT_ICAL_EVENTS; i++) {
        ical_event(&c, &plain);
    }
    assert_false(c.cut);
    ical_event(&c, &plain);
    assert_int_equal(ical_end(&c), ERR_TOO_LARGE);
    assert_true(str_ends(buf_view(&out), STR("END:VEVENT\r\nEND:VCALENDAR\r\n")));
    mem_free(text);
    buf_release(&out);

    buf_init(&out, 100); /* no memory is said at the end */
    ical_begin(&c, &out, &(struct ical_calendar){.name = STR("a name that does not fit")});
    ical_event(&c, &plain);
    assert_int_equal(ical_end(&c), ERR_TOO_LARGE);
    buf_release(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),    cmocka_unit_test(test_zone),
        cmocka_unit_test(test_folding),  cmocka_unit_test(test_hostile),
        cmocka_unit_test(test_freebusy), cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
