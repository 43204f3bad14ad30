/* A month of recurring bookings over a change of clocks, with the planner, in virtual time: each is active when the
 * clock of its people says so, and the calendar shows what is booked. */
#include "control/kit/controller.h"
#include "control/series/calendar_feed.h"
#include "control/series/reservation_series.h"
#include "control/test/reservation_scene.h"
#include "port/calendar_source.h"
#include "wire/text/time.h"

struct month {
    struct scene s;
    struct reservation_series_controller *series;
    struct calendar_feed_controller *feeds;
    struct calendar_seat seat;
};

static void controllers(struct month *m) {
    struct err err = {0};
    controller_free(m->series);
    controller_free(m->feeds);
    m->series = controller_new(&reservation_series_controller, &m->s.w.env, &err);
    m->feeds = controller_new(&calendar_feed_controller, &m->s.w.env, &err);
    assert_true(m->series && m->feeds);
}

static void begin(struct month *m) {
    *m = (struct month){0};
    scene_init(&m->s, 2);
    m->s.step = 30;
    scene_policy(&m->s, "{\"prepLead\":\"1h\",\"daysAhead\":21}"); /* two moves of the hand */
    m->s.w.env.zones = m->s.zones;
    m->s.w.env.calendar = &m->seat;
    controllers(m);
}

static void end(struct month *m) {
    controller_free(m->series);
    controller_free(m->feeds);
    scene_release(&m->s);
}

static void series(struct month *m, const char *name, const char *zone, const char *start_local,
                   const char *duration, const char *rule) {
    char json[1200];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationSeries\",\"metadata\":{"
             "\"name\":\"%s\",\"namespace\":\"alpha\",\"annotations\":{\"berth.dev/requested-by\":"
             "\"anna\"}},\"spec\":{\"timeZone\":\"%s\",\"start\":\"%s\",\"duration\":\"%s\","
             "\"rrule\":\"%s\",\"template\":{\"lines\":[{\"resource\":\"" SCENE_2G
             "\",\"count\":1}]"
             "}}}",
             name, zone, start_local, duration, rule);
    fake_world_put(&m->s.w, json);
}

/* The phase of an occurrence by its local start, "20260329-0230"; "" when there is none. */
static const char *phase(struct month *m, const char *name, int64_t local) {
    static char text[40];
    char full[64];
    struct time_parts t = time_split(local * NS_PER_SEC);
    snprintf(full, sizeof(full), "%s-%04d%02d%02d-%02d%02d", name, t.year, t.month, t.day, t.hour,
             t.minute);
    const struct object *o = fake_world_get(&m->s.w, "Reservation", "alpha", full);
    snprintf(text, sizeof(text), "%s", o ? fake_world_text(o, "status.phase") : "");
    return text;
}

static size_t in_feed(struct month *m, const char *line) {
    const struct object *feed = fake_world_get(&m->s.w, "CalendarFeed", "alpha", "all");
    struct str token = str_skip(str_of(fake_world_text(feed, "status.path")), 10);
    struct calendar_body body;
    struct err err = {0};
    size_t n = 0;
    assert_ok(m->seat.source->get(m->seat.source, str_head(token, token.n - 4), &body, &err), &err);
    for (size_t i = 0; i < body.text.n; i++) {
        n += str_starts(str_skip(body.text, i), str_of(line));
    }
    return n;
}

/* Half an hour after each start, and one hour after each end, for a month. */
static void test_month(void **state) {
    struct month m;
    const struct zone *warsaw;
    begin(&m);
    assert_int_equal(zones_get(m.s.zones, STR("Europe/Warsaw"), &warsaw, NULL), 0);
    series(&m, "lab", "Europe/Warsaw", "2026-03-02T09:00:00", "4h", "FREQ=DAILY");
    series(&m, "night", "Europe/Warsaw", "2026-03-02T02:30:00", "2h", "FREQ=DAILY");
    series(&m, "far", "Asia/Kathmandu", "2026-03-02T18:00:00", "1h", "FREQ=WEEKLY;BYDAY=MO,TH");
    fake_world_put(&m.s.w, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"CalendarFeed\","
                           "\"metadata\":{\"name\":\"all\",\"namespace\":\"alpha\"},\"spec\":{"
                           "\"scope\":\"project\"}}");
    scene_minutes(&m.s, 30);
    for (int day = 1; day <= 32; day++) {
        int64_t midnight = SCENE_MIDNIGHT + day * 86400; /* on the wall */
        int64_t nine = midnight + 9 * 3600, night = midnight + 9000;
        double at = (double)(zone_utc(warsaw, nine, NULL) - SCENE_MIDNIGHT) / 3600;
        double dark = (double)(zone_utc(warsaw, night, NULL) - SCENE_MIDNIGHT) / 3600;
        scene_hour(&m.s, dark + 0.5);
        assert_string_equal(phase(&m, "night", night), "Active");
        assert_string_equal(phase(&m, "lab", nine), "Confirmed");
        scene_hour(&m.s, at + 0.5);
        assert_string_equal(phase(&m, "lab", nine), "Active");
        assert_string_equal(phase(&m, "lab", nine + 86400), "Confirmed");
        if (day % 10 == 0) {
            scene_restart(&m.s);
            controllers(&m);
        }
        scene_hour(&m.s, at + 5.5);
        assert_string_equal(phase(&m, "lab", nine), "Ended");
        assert_string_equal(phase(&m, "night", night), "Ended");
    }
    /* 29 March: 09:00 is an hour earlier for everybody else, and half past two is half past three. */
    assert_string_equal(
        fake_world_text(fake_world_get(&m.s.w, "Reservation", "alpha", "lab-20260330-0900"),
                        "spec.start"),
        "2026-03-30T07:00:00Z");
    assert_string_equal(
        fake_world_text(fake_world_get(&m.s.w, "Reservation", "alpha", "night-20260329-0230"),
                        "spec.start"),
        "2026-03-29T01:30:00Z");
    assert_string_equal(
        fake_world_text(fake_world_get(&m.s.w, "Reservation", "alpha", "far-20260402-1800"),
                        "spec.start"),
        "2026-04-02T12:15:00Z");
    assert_int_equal(in_feed(&m, "RRULE:"), 3);
    assert_int_equal(in_feed(&m, "RECURRENCE-ID;TZID=Europe/Warsaw:20260329T023000"), 1);
    assert_int_equal(in_feed(&m, "EXDATE"), 0);
    end(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_month)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
