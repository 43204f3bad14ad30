/* Tests of reservation_series, with somebody who stands for the planner: occurrences over changes of the clock, the
 * horizon, conflicts by each policy, edits, deletions, restarts, new rules of a zone. */
#include "base/mem.h"
#include "base/test.h"
#include "base/zoneinfo.h"
#include "control/kit/controller.h"
#include "control/series/reservation_series.h"
#include "control/test/fake_world.h"
#include "wire/text/zone.h"

#define DAY (86400 * NS_PER_SEC)

struct scene {
    struct fake_world w;
    struct reservation_series_controller *c;
    const char *conflict; /* part of the name of what does not fit */
};

static void start(struct scene *s) {
    struct err err = {0};
    *s = (struct scene){0};
    fake_world_init(&s->w); /* on 2026-01-01T00:00:00Z */
    s->w.env.zones = zones_new(&(struct zone_source){zoneinfo_read, zoneinfo_version, NULL});
    assert_non_null(s->w.env.zones);
    s->c = controller_new(&reservation_series_controller, &s->w.env, &err);
    assert_non_null(s->c);
    fake_world_put(&s->w, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationPolicy\","
                          "\"metadata\":{\"name\":\"default\"},\"spec\":{\"daysAhead\":14}}");
}

static void restart(struct scene *s) {
    struct err err = {0};
    controller_free(s->c);
    s->c = controller_new(&reservation_series_controller, &s->w.env, &err);
    assert_non_null(s->c);
}

static void end(struct scene *s) {
    controller_free(s->c);
    zones_free(s->w.env.zones);
    fake_world_release(&s->w);
}

/* ---- the planner's stand-in ---- */

struct names {
    struct scene *s;
    char v[200][80];
    size_t n;
};

static bool undecided(void *ctx, const struct object *o) {
    struct names *l = ctx;
    bool new = fake_world_text(o, "status.phase")[0] == 0;
    bool cancel = strstr(fake_world_text(o, "status.phase"), "Confirmed") &&
                  fake_world_text(o, "spec.cancel.reason")[0];
    if (new || cancel) {
        snprintf(l->v[l->n++], sizeof(l->v[0]), "%.*s", STR_ARG(o->name));
    }
    return l->n < 200;
}

static void plan(struct scene *s) {
    struct names *l = mem_zalloc(sizeof(*l));
    mirror_scan(s->w.mirror, fake_world_kind("Reservation"), STR("p"), undecided, l);
    for (size_t i = 0; i < l->n; i++) {
        const struct object *o = fake_world_get(&s->w, "Reservation", "p", l->v[i]);
        const char *to = fake_world_text(o, "spec.cancel.reason")[0]   ? "Cancelled"
                         : s->conflict && strstr(l->v[i], s->conflict) ? "Rejected"
                                                                       : "Confirmed";
        char json[200];
        snprintf(json, sizeof(json), "{\"status\":{\"phase\":\"%s\"%s}}", to,
                 to[0] == 'R' ? ",\"message\":\"taken from 10:00\"" : "");
        fake_world_patch(&s->w, "Reservation", "p", l->v[i], "status", json);
    }
    mem_free(l);
}

static void settle(struct scene *s) {
    for (int i = 0; i < 6; i++) {
        fake_world_run(&s->w, NS_PER_SEC);
        plan(s);
    }
    fake_world_run(&s->w, NS_PER_SEC);
}

static void days(struct scene *s, int n) {
    for (int i = 0; i < n; i++) {
        fake_world_run(&s->w, DAY - 7 * NS_PER_SEC);
        settle(s);
    }
}

/* ---- words ---- */

static void series(struct scene *s, const char *start_local, const char *rule, const char *more) {
    char json[2000];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationSeries\",\"metadata\":{"
             "\"name\":\"s\",\"namespace\":\"p\",\"annotations\":{\"berth.dev/requested-by\":"
             "\"anna\"}},\"spec\":{\"timeZone\":\"Europe/Warsaw\",\"start\":\"%s\",\"duration\":"
             "\"4h\",\"rrule\":\"%s\",\"template\":{\"lines\":[{\"resource\":\"nvidia.com/gpu\","
             "\"count\":1}],\"purpose\":\"class\"}%s}}",
             start_local, rule, more);
    fake_world_put(&s->w, json);
    settle(s);
}

static void edit(struct scene *s, const char *json) {
    fake_world_patch(&s->w, "ReservationSeries", "p", "s", "", json);
    settle(s);
}

static const struct object *get(struct scene *s, const char *suffix) {
    char name[80];
    snprintf(name, sizeof(name), "s-%s", suffix);
    return fake_world_get(&s->w, "Reservation", "p", name);
}

static void is(const struct object *o, const char *path, const char *want) {
    assert_non_null(o);
    assert_string_equal(fake_world_text(o, path), want);
}

static const struct object *own(struct scene *s) {
    return fake_world_get(&s->w, "ReservationSeries", "p", "s");
}

static void booked(struct scene *s, const char *status, const char *reason) {
    assert_string_equal(fake_world_condition(own(s), "Booked"), status);
    assert_string_equal(fake_world_condition_reason(own(s), "Booked"), reason);
}

static size_t count(struct scene *s) {
    return fake_world_count(&s->w, "Reservation");
}

/* ---- tests ---- */

static void test_occurrences_and_the_clock(void **state) {
    struct scene s;
    start(&s);
    fake_world_run(&s.w, 75 * DAY); /* 17 March; clocks change on the 29th */
    series(&s, "2026-03-23T09:00:00", "FREQ=WEEKLY;BYDAY=MO", "");
    assert_int_equal(count(&s), 2);
    const struct object *o = get(&s, "20260323-0900");
    is(o, "spec.start", "2026-03-23T08:00:00Z");
    is(o, "spec.end", "2026-03-23T12:00:00Z");
    is(o, "spec.seriesName", "s");
    is(o, "spec.recurrenceId", "2026-03-23T09:00:00");
    is(o, "spec.timeZone", "Europe/Warsaw");
    is(o, "spec.purpose", "class");
    assert_true(str_contains(o->json, STR("\"berth.dev/requested-by\":\"anna\"")));
    assert_str_eq(object_label(o, STR(SERIES_LABEL)), STR("s"));
    is(get(&s, "20260330-0900"), "spec.start", "2026-03-30T07:00:00Z");
    is(get(&s, "20260330-0900"), "spec.end", "2026-03-30T11:00:00Z");
    booked(&s, "True", "Booked");
    is(own(&s), "status.message", "2 booked, 0 left out");
    assert_true(fake_world_text(own(&s), "status.tzdata")[0] == '2');
    days(&s, 7); /* one more comes into sight */
    assert_int_equal(count(&s), 3);
    is(get(&s, "20260406-0900"), "spec.start", "2026-04-06T07:00:00Z");
    is(get(&s, "20260323-0900"), "spec.start", "2026-03-23T08:00:00Z");
    end(&s);
}

static void test_gap_and_past(void **state) {
    struct scene s;
    start(&s);
    fake_world_run(&s.w, 86 * DAY); /* 28 March */
    series(&s, "2026-03-01T02:30:00", "FREQ=DAILY;UNTIL=20260330", "");
    assert_int_equal(count(&s), 3); /* none of the past */
    is(get(&s, "20260328-0230"), "spec.start", "2026-03-28T01:30:00Z");
    is(get(&s, "20260329-0230"), "spec.start", "2026-03-29T01:30:00Z"); /* 03:30: two is skipped */
    is(get(&s, "20260329-0230"), "spec.end", "2026-03-29T05:30:00Z");
    is(get(&s, "20260330-0230"), "spec.start", "2026-03-30T00:30:00Z");
    days(&s, 5);
    assert_int_equal(count(&s), 3);
    booked(&s, "True", "Booked");
    end(&s);
}

static void test_reject(void **state) {
    struct scene s;
    start(&s);
    s.conflict = "20260108";
    series(&s, "2026-01-05T09:00:00", "FREQ=DAILY", "");
    assert_int_equal(count(&s), 0);
    booked(&s, "False", "Conflict");
    is(own(&s), "status.message",
       "none was booked: 1 of 10 do not fit, the first at 2026-01-08T09:00:00: taken from 10:00");
    days(&s, 3); /* it stays so, whatever comes into sight */
    assert_int_equal(count(&s), 0);
    restart(&s);
    settle(&s);
    assert_int_equal(count(&s), 0);
    edit(&s, "{\"spec\":{\"exdates\":[\"2026-01-08\"]}}");
    booked(&s, "True", "Booked");
    assert_null(get(&s, "20260108-0900"));
    is(get(&s, "20260107-0900"), "status.phase", "Confirmed");
    s.conflict = "20260120"; /* later ones are left out, the others stand */
    days(&s, 4);
    booked(&s, "True", "Booked");
    is(get(&s, "20260107-0900"), "status.phase", "Confirmed");
    assert_null(get(&s, "20260120-0900"));
    assert_true(
        str_contains(own(&s)->json, STR("\"recurrenceId\":\"2026-01-20T09:00:00\",\"start\":"
                                        "\"2026-01-20T08:00:00Z\",\"end\":\"2026-01-20T12:00:"
                                        "00Z\",\"reason\":\"Conflict\"")));
    assert_true(fake_world_events(&s.w, "OccurrenceSkipped") >= 1);
    end(&s);
}

static void test_skip(void **state) {
    struct scene s;
    start(&s);
    s.conflict = "2026010";
    series(&s, "2026-01-08T09:00:00", "FREQ=DAILY",
           ",\"conflictPolicy\":\"Skip\",\"maxConflicts\":2");
    booked(&s, "True", "Booked"); /* the 8th and 9th do not fit */
    is(own(&s), "status.message", "5 booked, 2 left out");
    assert_null(get(&s, "20260109-0900"));
    uint64_t writes = s.w.writes;
    restart(&s);
    settle(&s);
    assert_int_equal(s.w.writes, writes); /* and everything stays as it is */
    end(&s);

    start(&s);
    s.conflict = "2026010";
    series(&s, "2026-01-07T09:00:00", "FREQ=DAILY",
           ",\"conflictPolicy\":\"Skip\",\"maxConflicts\":2");
    booked(&s, "False", "Conflict");
    assert_int_equal(count(&s), 0);
    end(&s);
}

/* A start that is not on the grid is put there, and the occurrence is still the series' own. */
static void test_grid(void **state) {
    struct scene s;
    start(&s);
    series(&s, "2026-01-08T09:07:00", "FREQ=DAILY;COUNT=2", "");
    is(get(&s, "20260108-0907"), "spec.start", "2026-01-08T08:00:00Z");
    is(get(&s, "20260108-0907"), "spec.end", "2026-01-08T12:15:00Z");
    edit(&s, "{\"spec\":{\"duration\":\"1h\"}}");
    is(get(&s, "20260108-0907"), "spec.end", "2026-01-08T09:15:00Z");
    end(&s);
}

static void test_waitlist(void **state) {
    struct scene s;
    start(&s);
    series(&s, "2026-01-08T09:00:00", "FREQ=DAILY;COUNT=2", ",\"conflictPolicy\":\"Waitlist\"");
    is(get(&s, "20260108-0900"), "spec.waitlist", "true");
    booked(&s, "True", "Booked");
    end(&s);
}

static void test_edits(void **state) {
    struct scene s;
    start(&s);
    series(&s, "2026-01-05T09:00:00", "FREQ=DAILY", "");
    assert_int_equal(count(&s), 10);
    fake_world_patch(&s.w, "Reservation", "p", "s-20260105-0900", "status",
                     "{\"status\":{\"phase\":\"Active\"}}");
    fake_world_patch(&s.w, "Reservation", "p", "s-20260106-0900", "status",
                     "{\"status\":{\"phase\":\"Preparing\"}}");
    fake_world_patch(&s.w, "Reservation", "p", "s-20260107-0900", "",
                     "{\"spec\":{\"purpose\":\"mine alone\"}}");
    edit(&s, "{\"spec\":{\"duration\":\"2h\",\"exdates\":[\"2026-01-05T09:00:00\",\"2026-01-09\"],"
             "\"template\":{\"purpose\":null,\"exclusive\":true}}}");
    is(get(&s, "20260105-0900"), "spec.end", "2026-01-05T12:00:00Z");
    is(get(&s, "20260105-0900"), "spec.cancel.reason", "");
    is(get(&s, "20260106-0900"), "spec.end", "2026-01-06T12:00:00Z");
    is(get(&s, "20260107-0900"), "spec.end", "2026-01-07T12:00:00Z"); /* somebody's own by now */
    is(get(&s, "20260108-0900"), "spec.end", "2026-01-08T10:00:00Z");
    is(get(&s, "20260108-0900"), "spec.purpose", "");
    is(get(&s, "20260108-0900"), "spec.exclusive", "true");
    is(get(&s, "20260109-0900"), "status.phase", "Cancelled");
    is(get(&s, "20260109-0900"), "spec.cancel.reason", "its series does not have it any more");
    edit(&s, "{\"spec\":{\"exdates\":null}}"); /* back in */
    is(get(&s, "20260109-0900"), "status.phase", "Confirmed");
    is(get(&s, "20260109-0900"), "spec.end", "2026-01-09T10:00:00Z");
    edit(&s, "{\"spec\":{\"start\":\"2026-01-05T09:15:00\"}}");
    is(get(&s, "20260108-0900"), "status.phase", "Cancelled");
    is(get(&s, "20260108-0915"), "status.phase", "Confirmed");
    is(get(&s, "20260105-0900"), "status.phase", "Active");
    end(&s);
}

static void test_broken_edit(void **state) {
    struct scene s;
    start(&s);
    series(&s, "2026-01-05T09:00:00", "FREQ=DAILY;COUNT=3", "");
    edit(&s, "{\"spec\":{\"timeZone\":\"Europe/Nowhere\"}}");
    booked(&s, "False", "Invalid");
    assert_true(
        strstr(fake_world_condition_message(own(&s), "Booked"), "spec.timeZone: \"Europe/"));
    assert_int_equal(count(&s), 3); /* nothing is touched */
    is(get(&s, "20260105-0900"), "spec.cancel.reason", "");
    s.conflict = "20260106"; /* what stood before is not given up for what is new */
    edit(&s, "{\"spec\":{\"timeZone\":\"UTC\",\"rrule\":\"FREQ=DAILY;COUNT=4\"}}");
    booked(&s, "True", "Booked");
    is(get(&s, "20260105-0900"), "spec.start", "2026-01-05T09:00:00Z");
    end(&s);
}

static void test_deletions(void **state) {
    struct scene s;
    start(&s);
    series(&s, "2026-01-05T09:00:00", "FREQ=DAILY;COUNT=5", "");
    fake_world_delete(&s.w, "Reservation", "p", "s-20260106-0900", "Background");
    settle(&s);
    assert_null(get(&s, "20260106-0900"));
    edit(&s, "{\"spec\":{\"template\":{\"purpose\":\"another\"}}}");
    restart(&s);
    settle(&s);
    assert_null(get(&s, "20260106-0900")); /* nobody makes it again */
    assert_true(str_contains(own(&s)->json, STR("\"reason\":\"Deleted\"")));
    is(get(&s, "20260107-0900"), "spec.purpose", "another");
    fake_world_patch(&s.w, "Reservation", "p", "s-20260105-0900", "status",
                     "{\"status\":{\"phase\":\"Active\"}}");
    fake_world_delete(&s.w, "ReservationSeries", "p", "s", "Background");
    settle(&s);
    is(get(&s, "20260105-0900"), "spec.cancel.reason", "");
    is(get(&s, "20260107-0900"), "spec.cancel.reason", "its series was deleted");
    is(get(&s, "20260107-0900"), "status.phase", "Cancelled");
    end(&s);
}

static void test_faults(void **state) {
    for (uint64_t nth = 1; nth <= 12; nth++) {
        for (int f = FAULT_REFUSED; f <= FAULT_CONFLICT; f++) {
            struct scene s;
            start(&s);
            s.w.fail_at = nth + 1; /* the first is the policy's */
            s.w.fault = (enum fake_fault)f;
            s.conflict = "20260107";
            series(&s, "2026-01-05T09:00:00", "FREQ=DAILY;COUNT=5", ",\"conflictPolicy\":\"Skip\"");
            restart(&s);
            for (int i = 0; i < 5; i++) {
                settle(&s);
            }
            booked(&s, "True", "Booked");
            assert_int_equal(count(&s), 4); /* an accident is not taken for a refusal */
            end(&s);
        }
    }
}

/* ---- new rules of a zone ---- */

static int offset_hours = 1;

static void put32(struct buf *b, uint32_t v) {
    char bytes[] = {(char)(v >> 24), (char)(v >> 16), (char)(v >> 8), (char)v};
    buf_add(b, bytes, 4);
}

static int fixed_zone(void *ctx, struct str name, struct buf *out, struct err *err) {
    for (int i = 0; i < 2; i++) {
        buf_add(out, "TZif2\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 36);
        put32(out, i);
        put32(out, i ? 4 : 0);
    }
    put32(out, (uint32_t)(offset_hours * 3600));
    buf_add(out, "\0\0AAA\0\n\n", 8);
    return 0;
}

static int fixed_version(void *ctx, struct buf *out, struct err *err) {
    buf_f(out, "%d", offset_hours);
    return 0;
}

static void test_new_rules(void **state) {
    struct scene s;
    struct zones *old;
    struct zone_source source = {fixed_zone, fixed_version, NULL};
    start(&s);
    offset_hours = 1;
    old = s.w.env.zones;
    s.w.env.zones = zones_new(&source);
    restart(&s);
    zones_free(old);
    series(&s, "2026-01-05T09:00:00", "FREQ=DAILY;COUNT=2", "");
    is(get(&s, "20260105-0900"), "spec.start", "2026-01-05T08:00:00Z");
    is(own(&s), "status.tzdata", "1");
    offset_hours = 2;
    old = s.w.env.zones;
    s.w.env.zones = zones_new(&source);
    restart(&s);
    zones_free(old);
    settle(&s);
    is(get(&s, "20260105-0900"), "spec.start", "2026-01-05T07:00:00Z");
    is(own(&s), "status.tzdata", "2");
    assert_int_equal(fake_world_events(&s.w, "TimeZoneDataChanged"), 1);
    end(&s);
}

/* ---- nothing is lost ---- */

enum series_change { A_SERIES, AN_EDIT, A_POLICY, A_DECISION, A_REMOVAL, SERIES_CHANGES };

static void change(struct scene *s, enum series_change x) {
    switch (x) {
    case A_SERIES:
        fake_world_put(&s->w,
                       "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationSeries\","
                       "\"metadata\":{\"name\":\"s\",\"namespace\":\"p\"},\"spec\":{"
                       "\"timeZone\":\"Europe/Warsaw\",\"start\":\"2026-01-05T09:00:00\","
                       "\"duration\":\"4h\",\"rrule\":\"FREQ=DAILY\",\"template\":{\"lines\":[{"
                       "\"resource\":\"nvidia.com/gpu\",\"count\":1}]}}}");
        break;
    case AN_EDIT:
        fake_world_patch(&s->w, "ReservationSeries", "p", "s", "",
                         "{\"spec\":{\"duration\":\"5h\"}}");
        break;
    case A_POLICY:
        fake_world_patch(&s->w, "ReservationPolicy", "", "default", "",
                         "{\"spec\":{\"daysAhead\":15}}");
        break;
    case A_DECISION:
        fake_world_patch(&s->w, "Reservation", "p", "s-20260108-0900", "status",
                         "{\"status\":{\"phase\":\"Confirmed\"}}");
        break;
    default:
        fake_world_delete(&s->w, "ReservationSeries", "p", "s", "Background");
        break;
    }
}

static bool is_cancelled(void *ctx, const struct object *o) {
    *(size_t *)ctx += strcmp(fake_world_text(o, "status.phase"), "Cancelled") == 0;
    return true;
}

static bool came_of_it(struct scene *s, enum series_change x) {
    size_t cancelled = 0;
    if (x == A_REMOVAL) {
        mirror_scan(s->w.mirror, fake_world_kind("Reservation"), STR("p"), is_cancelled,
                    &cancelled);
        return cancelled == 10;
    }
    const struct object *o = get(s, "20260108-0900");
    const char *end_time = x == AN_EDIT ? "2026-01-08T13:00:00Z" : "2026-01-08T12:00:00Z";
    char want[40];
    snprintf(want, sizeof(want), "%d booked, 0 left out", x == A_POLICY ? 11 : 10);
    return o && strcmp(fake_world_text(o, "spec.end"), end_time) == 0 &&
           strcmp(fake_world_text(own(s), "status.message"), want) == 0;
}

/* One allocation fails while a change is heard and acted on; the same comes of it. */
static bool one_change(enum series_change x, uint64_t nth) {
    struct scene s;
    start(&s);
    if (x != A_SERIES) {
        change(&s, A_SERIES);
        fake_world_run(&s.w, NS_PER_SEC);
    }
    if (x != A_DECISION) {
        settle(&s);
    }
    restart(&s); /* with no memory at hand */
    fake_world_sabotage(&s.w, nth);
    change(&s, x);
    fake_world_run(&s.w, 5 * NS_PER_MS / 2);
    bool hit = fake_world_spare(&s.w);
    settle(&s);
    settle(&s);
    if (!came_of_it(&s, x)) {
        fail_msg("change %d, allocation %llu: %s", (int)x, (unsigned long long)nth,
                 own(&s) ? fake_world_text(own(&s), "status") : "gone");
    }
    end(&s);
    return hit;
}

static void test_every_allocation(void **state) {
    for (int x = 0; x < SERIES_CHANGES; x++) {
        uint64_t nth = 1;
        while (one_change((enum series_change)x, nth)) {
            nth++;
        }
        assert_true(nth > 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_occurrences_and_the_clock),
        cmocka_unit_test(test_gap_and_past),
        cmocka_unit_test(test_reject),
        cmocka_unit_test(test_skip),
        cmocka_unit_test(test_waitlist),
        cmocka_unit_test(test_grid),
        cmocka_unit_test(test_edits),
        cmocka_unit_test(test_broken_edit),
        cmocka_unit_test(test_deletions),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_new_rules),
        cmocka_unit_test(test_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
