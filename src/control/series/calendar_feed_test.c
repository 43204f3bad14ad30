/* Tests of calendar_feed: addresses and their end, what each scope shows and to whom, cancelled bookings, series. */
#include "base/mem.h"
#include "base/test.h"
#include "base/zoneinfo.h"
#include "control/kit/controller.h"
#include "control/series/calendar_feed.h"
#include "control/series/reservation_series.h"
#include "control/test/fake_world.h"
#include "port/calendar_source.h"
#include "wire/text/zone.h"

#define DAY (86400 * NS_PER_SEC)

struct scene {
    struct fake_world w;
    struct calendar_seat seat;
    struct calendar_feed_controller *c;
    struct calendar_body body;
    int code;
};

static unsigned char counter;

static int fake_random(void *p, size_t n, struct err *err) {
    memset(p, ++counter, n);
    return 0;
}

static void restart(struct scene *s) {
    struct err err = {0};
    controller_free(s->c);
    assert_null(s->seat.source);
    s->c = controller_new(&calendar_feed_controller, &s->w.env, &err);
    assert_non_null(s->c);
    assert_non_null(s->seat.source);
}

static void start(struct scene *s) {
    *s = (struct scene){0};
    fake_world_init(&s->w); /* on 2026-01-01T00:00:00Z */
    s->w.env.zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    s->w.env.random = fake_random;
    s->w.env.calendar = &s->seat;
    fake_world_put(
        &s->w, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationPolicy\","
               "\"metadata\":{\"name\":\"default\"},\"spec\":{\"pool\":{\"cohort\":\"pool\"}}}");
    restart(s);
}

static void end(struct scene *s) {
    controller_free(s->c);
    zones_free(s->w.env.zones);
    fake_world_release(&s->w);
}

static void settle(struct scene *s) {
    fake_world_run(&s->w, 3 * NS_PER_SEC);
}

static void booking(struct scene *s, const char *ns, const char *name, const char *user,
                    const char *phase, const char *more) {
    char json[1500];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{\"name\":"
        "\"%s\",\"namespace\":\"%s\",\"annotations\":{\"berth.dev/requested-by\":\"%s\"}},"
        "\"spec\":{\"start\":\"2026-01-05T09:00:00Z\",\"end\":\"2026-01-05T13:00:00Z\","
        "\"lines\":[{\"resource\":\"nvidia.com/mig-2g.35gb\",\"count\":2}]%s}}",
        name, ns, user, more);
    fake_world_put(&s->w, json);
    if (phase[0]) {
        snprintf(json, sizeof(json), "{\"status\":{\"phase\":\"%s\"}}", phase);
        fake_world_patch(&s->w, "Reservation", ns, name, "status", json);
    }
}

static void feed(struct scene *s, const char *name, const char *spec) {
    char json[600];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"CalendarFeed\",\"metadata\":{\"name\":"
        "\"%s\",\"namespace\":\"p\",\"annotations\":{\"berth.dev/requested-by\":\"anna\"}},"
        "\"spec\":{%s}}",
        name, spec);
    fake_world_put(&s->w, json);
    settle(s);
}

static const char *path(struct scene *s, const char *name) {
    return fake_world_text(fake_world_get(&s->w, "CalendarFeed", "p", name), "status.path");
}

/* Asks for "/calendar/TOKEN.ics". */
static int get(struct scene *s, const char *at) {
    struct str token = str_skip(str_of(at), 10);
    struct err err = {0};
    token = str_head(token, token.n > 4 ? token.n - 4 : 0);
    s->code = s->seat.source->get(s->seat.source, token, &s->body, &err);
    return s->code;
}

static bool has(struct scene *s, const char *text) {
    return str_contains(s->body.text, str_of(text));
}

static size_t count(struct scene *s, const char *text) {
    size_t n = 0;
    for (size_t i = 0; i < s->body.text.n; i++) {
        n += str_starts(str_skip(s->body.text, i), str_of(text));
    }
    return n;
}

static void shows(struct scene *s, const char *name) {
    char at[120];
    snprintf(at, sizeof(at), "%s", path(s, name));
    assert_int_equal(get(s, at), 0);
}

/* ---- tests ---- */

static void test_addresses(void **state) {
    struct scene s;
    char old[120], new[120], etag[80];
    start(&s);
    feed(&s, "mine", "\"scope\":\"own\"");
    snprintf(old, sizeof(old), "%s", path(&s, "mine"));
    assert_int_equal(strlen(old), 10 + 32 + 4);
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "CalendarFeed", "p", "mine"), "status.user"), "anna");
    assert_int_equal(get(&s, old), 0);
    assert_true(has(&s, "X-WR-CALNAME:GPU bookings of anna\r\n"));
    snprintf(etag, sizeof(etag), "%.*s", STR_ARG(s.body.etag));
    assert_true(etag[0] == '"' && strlen(etag) == 34);
    assert_true(s.body.modified_ns > 0);
    uint64_t writes = s.w.writes;
    /* A status may be anybody's to write: it speaks for who made it, whatever is said there. */
    booking(&s, "p", "of-eve", "eve", "Confirmed", "");
    fake_world_patch(&s.w, "CalendarFeed", "p", "mine", "status",
                     "{\"status\":{\"user\":\"eve\"}}");
    assert_int_equal(get(&s, old), 0);
    assert_true(has(&s, "X-WR-CALNAME:GPU bookings of anna\r\n"));
    assert_int_equal(count(&s, "BEGIN:VEVENT"), 0);
    fake_world_patch(&s.w, "CalendarFeed", "p", "mine", "status",
                     "{\"status\":{\"user\":\"anna\"}}");
    fake_world_delete(&s.w, "Reservation", "p", "of-eve", "");
    settle(&s);
    assert_int_equal(get(&s, old), 0);
    snprintf(etag, sizeof(etag), "%.*s", STR_ARG(s.body.etag));
    writes = s.w.writes;
    restart(&s);
    settle(&s);
    assert_int_equal(s.w.writes, writes); /* it keeps its address */
    assert_int_equal(get(&s, old), 0);
    assert_str_eq(s.body.etag, str_of(etag));
    booking(&s, "p", "b", "anna", "Confirmed", "");
    assert_int_equal(get(&s, old), 0);
    assert_false(str_eq(s.body.etag, str_of(etag)));

    static const char *const none[] = {"", "/calendar/.ics", "/calendar/AAAA.ics",
                                       "/calendar/../../etc/passwd.ics"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        assert_int_equal(get(&s, none[i]), ERR_NOT_FOUND);
    }
    new[0] = 0;
    snprintf(new, sizeof(new), "%s", old);
    new[20] = new[20] == 'A' ? 'B' : 'A';
    assert_int_equal(get(&s, new), ERR_NOT_FOUND);

    fake_world_patch(&s.w, "CalendarFeed", "p", "mine", "", "{\"spec\":{\"revision\":1}}");
    assert_int_equal(get(&s, old), ERR_NOT_FOUND); /* at once */
    settle(&s);
    snprintf(new, sizeof(new), "%s", path(&s, "mine"));
    assert_string_not_equal(old, new);
    assert_int_equal(get(&s, old), ERR_NOT_FOUND);
    assert_int_equal(get(&s, new), 0);
    fake_world_delete(&s.w, "CalendarFeed", "p", "mine", "Background");
    assert_int_equal(get(&s, new), ERR_NOT_FOUND);
    restart(&s);
    assert_int_equal(get(&s, new), ERR_NOT_FOUND);
    end(&s);
}

static void test_states(void **state) {
    static const struct {
        const char *phase, *status, *transp;
    } cases[] = {
        {"", "TENTATIVE", "OPAQUE"},
        {"PendingApproval", "TENTATIVE", "OPAQUE"},
        {"Offered", "TENTATIVE", "OPAQUE"},
        {"Waitlisted", "TENTATIVE", "TRANSPARENT"},
        {"Confirmed", "CONFIRMED", "OPAQUE"},
        {"Active", "CONFIRMED", "OPAQUE"},
        {"Ended", "CONFIRMED", "OPAQUE"},
        {"Cancelled", "CANCELLED", "TRANSPARENT"},
        {"Rejected", "CANCELLED", "TRANSPARENT"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene s;
        char line[80];
        start(&s);
        feed(&s, "all", "\"scope\":\"project\"");
        booking(&s, "p", "b", "bob", cases[i].phase, ",\"purpose\":\"a;b\\nEND:VEVENT\"");
        shows(&s, "all");
        snprintf(line, sizeof(line), "STATUS:%s\r\nTRANSP:%s\r\n", cases[i].status,
                 cases[i].transp);
        assert_true(has(&s, line));
        assert_true(has(&s, "DTSTART:20260105T090000Z\r\nDTEND:20260105T130000Z\r\n"));
        assert_true(has(&s, "SUMMARY:a\\;b END:VEVENT (2 \xc3\x97 2g.35gb)\r\n"));
        assert_true(has(&s, "LOCATION:pool\r\nCONTACT:bob\r\nCATEGORIES:standard\r\n"));
        assert_int_equal(count(&s, "END:VEVENT\r\n"), 1);
        end(&s);
    }
}

static void test_cancelled_stay(void **state) {
    struct scene s;
    start(&s);
    feed(&s, "all", "\"scope\":\"project\"");
    booking(&s, "p", "b", "bob", "Cancelled", "");
    booking(&s, "p", "gone", "bob", "Confirmed", "");
    fake_world_delete(&s.w, "Reservation", "p", "gone", "Background");
    settle(&s);
    shows(&s, "all");
    assert_int_equal(count(&s, "STATUS:CANCELLED"), 2);
    fake_world_run(&s.w, 29 * DAY);
    shows(&s, "all");
    assert_int_equal(count(&s, "STATUS:CANCELLED"), 2);
    fake_world_run(&s.w, 2 * DAY);
    shows(&s, "all");
    assert_int_equal(count(&s, "STATUS:CANCELLED"), 0);
    end(&s);
}

static void test_scopes(void **state) {
    struct scene s;
    start(&s);
    booking(&s, "p", "a", "anna", "Confirmed", ",\"purpose\":\"one\"");
    booking(&s, "p", "b", "bob", "Confirmed", ",\"purpose\":\"two\"");
    booking(&s, "p", "for", "bob", "Confirmed",
            ",\"purpose\":\"three\",\"beneficiary\":{\"kind\":\"User\",\"name\":\"anna\"}");
    booking(&s, "secret", "x", "anna", "Confirmed", ",\"purpose\":\"four\"");
    booking(&s, "secret", "y", "carl", "PendingApproval", ",\"purpose\":\"five\"");
    booking(&s, "secret", "z", "carl", "Waitlisted", ""); /* takes nothing */
    booking(&s, "secret", "zz", "carl", "Cancelled", "");
    feed(&s, "own", "\"scope\":\"own\"");
    shows(&s, "own");
    assert_true(has(&s, "SUMMARY:one ") && has(&s, "SUMMARY:three "));
    assert_true(has(&s, "SUMMARY:GPU booking in another project\r\n"));
    assert_false(has(&s, "two") || has(&s, "four") || has(&s, "secret") || has(&s, "five"));
    feed(&s, "project", "\"scope\":\"project\"");
    shows(&s, "project");
    assert_true(has(&s, "SUMMARY:one ") && has(&s, "SUMMARY:two ") && has(&s, "SUMMARY:three "));
    assert_int_equal(count(&s, "BEGIN:VEVENT"), 3);
    feed(&s, "resource", "\"scope\":\"resource\",\"resource\":\"nvidia.com/mig-2g.35gb\"");
    shows(&s, "resource");
    assert_int_equal(count(&s, "SUMMARY:2 \xc3\x97 nvidia.com/mig-2g.35gb booked\r\n"), 5);
    static const char *const hidden[] = {"one", "two", "four", "secret", "anna", "carl", "bob"};
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        assert_false(has(&s, hidden[i]));
    }
    feed(&s, "other", "\"scope\":\"resource\",\"resource\":\"nvidia.com/gpu\"");
    shows(&s, "other");
    assert_int_equal(count(&s, "BEGIN:VEVENT"), 0);
    feed(&s, "free", "\"scope\":\"freebusy\"");
    shows(&s, "free");
    assert_int_equal(count(&s, "FREEBUSY;FBTYPE=BUSY:20260105T090000Z/20260105T130000Z"), 4);
    assert_int_equal(count(&s, "FREEBUSY;FBTYPE=BUSY-TENTATIVE:"), 1);
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        assert_false(has(&s, hidden[i]));
    }
    end(&s);
}

/* Two names that a hash without a key (FNV) takes for one. */
static void test_alike_names(void **state) {
    struct scene s;
    start(&s);
    booking(&s, "p", "a", "8yn0iYCKYHlIj4-BwPqk", "Confirmed", ",\"purpose\":\"one\"");
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"CalendarFeed\","
                   "\"metadata\":{\"name\":\"f\",\"namespace\":\"p\",\"annotations\":{"
                   "\"berth.dev/requested-by\":\"GReLUrM4wMqfg9yzV3KQ\"}},\"spec\":{\"scope\":"
                   "\"own\"}}");
    settle(&s);
    shows(&s, "f");
    assert_int_equal(count(&s, "BEGIN:VEVENT"), 0);
    end(&s);
}

static void occurrence(struct scene *s, int day, const char *from, const char *to,
                       const char *phase) {
    char json[1500], name[40];
    snprintf(name, sizeof(name), "s-202603%02d-0900", day);
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{\"name\":"
        "\"%s\",\"namespace\":\"p\",\"labels\":{\"berth.dev/series\":\"s\"}},\"spec\":{"
        "\"start\":\"2026-03-%02dT%s:00Z\",\"end\":\"2026-03-%02dT%s:00Z\",\"purpose\":"
        "\"class\",\"seriesName\":\"s\",\"recurrenceId\":\"2026-03-%02dT09:00:00\","
        "\"lines\":[{\"resource\":\"nvidia.com/gpu\",\"count\":1}]}}",
        name, day, from, day, to, day);
    fake_world_put(&s->w, json);
    snprintf(json, sizeof(json), "{\"status\":{\"phase\":\"%s\"}}", phase);
    fake_world_patch(&s->w, "Reservation", "p", name, "status", json);
}

static void test_series(void **state) {
    struct scene s;
    start(&s);
    fake_world_run(&s.w, 80 * DAY);
    fake_world_put(
        &s.w, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationSeries\",\"metadata\":"
              "{\"name\":\"s\",\"namespace\":\"p\"},\"spec\":{\"timeZone\":\"Europe/Warsaw\","
              "\"start\":\"2026-03-26T09:00:00\",\"duration\":\"2h\",\"rrule\":\"FREQ=DAILY\","
              "\"template\":{\"purpose\":\"class\",\"lines\":[{\"resource\":\"nvidia.com/gpu\","
              "\"count\":1}]}}}");
    occurrence(&s, 26, "08:00", "10:00", "Confirmed");
    occurrence(&s, 27, "08:00", "10:00", "Cancelled");
    occurrence(&s, 28, "08:00", "11:00", "Confirmed"); /* longer */
    occurrence(&s, 30, "07:00", "09:00", "Confirmed"); /* after the change of clocks */
    feed(&s, "all", "\"scope\":\"project\"");
    shows(&s, "all");
    assert_int_equal(count(&s, "BEGIN:VEVENT"), 3);
    assert_int_equal(count(&s, "BEGIN:VTIMEZONE\r\nTZID:Europe/Warsaw\r\n"), 1);
    assert_true(has(&s, "DTSTART;TZID=Europe/Warsaw:20260326T090000\r\n"
                        "DTEND;TZID=Europe/Warsaw:20260326T110000\r\n"
                        "RRULE:FREQ=DAILY;UNTIL=20260330T070000Z\r\n"
                        "EXDATE;TZID=Europe/Warsaw:20260329T090000\r\nSTATUS:CONFIRMED\r\n"));
    assert_true(has(&s, "RECURRENCE-ID;TZID=Europe/Warsaw:20260327T090000\r\nSTATUS:CANCELLED"));
    assert_true(has(&s, "DTEND;TZID=Europe/Warsaw:20260328T120000\r\n"
                        "RECURRENCE-ID;TZID=Europe/Warsaw:20260328T090000\r\n"));
    fake_world_delete(&s.w, "ReservationSeries", "p", "s", "Background");
    shows(&s, "all"); /* then each stands for itself */
    assert_int_equal(count(&s, "BEGIN:VEVENT"), 4);
    assert_false(has(&s, "RRULE") || has(&s, "RECURRENCE-ID"));
    end(&s);
}

/* It is the whole calendar or an error, and the next one is whole again. */
static void test_no_memory(void **state) {
    struct scene s;
    char at[120];
    start(&s);
    feed(&s, "all", "\"scope\":\"project\"");
    for (int i = 0; i < 3; i++) {
        char name[8];
        snprintf(name, sizeof(name), "b%d", i);
        booking(&s, "p", name, "anna", "Confirmed", "");
    }
    snprintf(at, sizeof(at), "%s", path(&s, "all"));
    bool hit = true;
    for (uint64_t nth = 1; hit && nth < 500; nth++) {
        booking(&s, "q", "other", "bob", "Confirmed", ""); /* so that it is written anew */
        fake_world_delete(&s.w, "Reservation", "q", "other", "Background");
        mem_fault(nth, 0);
        int code = get(&s, at);
        hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(code == 0 ? count(&s, "END:VEVENT") == 3 : hit && code == ERR_NOMEM);
    }
    assert_false(hit);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),      cmocka_unit_test(test_states),
        cmocka_unit_test(test_cancelled_stay), cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_alike_names),    cmocka_unit_test(test_series),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
