/*
 * Tests of the planner over restarts: it is killed after every write, and every write is lost, refused or conflicts
 * once, and the bookings must come out as they do when nothing happens; and a month of random bookings over a change of
 * clocks, with restarts, in which no instant is oversold.
 */
#include "base/prng.h"
#include "control/kit/controller.h"
#include "control/test/reservation_scene.h"

/* One day of everything: a booking that is used up, one that waits, one that is cancelled, one that is too large. */
static void story(struct scene *s, int part) {
    switch (part) {
    case 0:
        scene_book(s, "a", "one", 2, 5, SCENE_GPU, 1, NULL);
        scene_book(s, "b", "slices", 2, 6, SCENE_2G, 3, NULL);
        scene_book(s, "b", "waits", 3, 5, SCENE_GPU, 1, ",\"waitlist\":true");
        scene_book(s, "b", "toolarge", 2, 5, SCENE_GPU, 3, NULL);
        break;
    case 1:
        scene_book(s, "a", "moves", 10, 12, SCENE_3G, 1, NULL);
        scene_book(s, "a", "small", 10, 14, "nvidia.com/mig-1g.18gb", 2, NULL);
        scene_book(s, "b", "whole", 10, 12, SCENE_GPU, 1, NULL);
        break;
    case 2:
        scene_spec(s, "a", "one", "{\"cancel\":{\"reason\":\"done\"}}");
        break;
    case 3:
        scene_spec(s, "b", "slices", "{\"end\":\"2026-03-01T07:00:00Z\"}");
        break;
    default:
        break;
    }
}

static const struct {
    const char *ns, *name, *phase;
} ends[] = {{"a", "one", "Cancelled"},     {"b", "slices", "Ended"}, {"b", "waits", "Ended"},
            {"b", "toolarge", "Rejected"}, {"a", "moves", "Ended"},  {"a", "small", "Ended"},
            {"b", "whole", "Ended"}};

static void tell_it(struct scene *s, uint64_t fail_at, enum fake_fault fault, bool restart) {
    s->w.fail_at = fail_at;
    s->w.fault = fault;
    bool killed = false;
    s->step = 10;
    for (int m = 0; m < 15 * 60; m += s->step) {
        if (m == 0 || m == 20 || m == 60 || m == 4 * 60) {
            story(s, m == 0 ? 0 : m == 20 ? 1 : m == 60 ? 2 : 3);
        }
        scene_minutes(s, s->step);
        if (restart && fail_at && s->w.fail_at == 0 && !killed) {
            killed = true;
            scene_restart(s);
        }
    }
}

static void check_ends(struct scene *s, uint64_t n) {
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *phase = scene_text(s, ends[i].ns, ends[i].name, "status.phase");
        if (strcmp(phase, ends[i].phase) != 0) {
            fail_msg("write %llu: %s/%s is %s and not %s", (unsigned long long)n, ends[i].ns,
                     ends[i].name, phase, ends[i].phase);
        }
    }
    assert_string_equal(scene_text(s, "b", "slices", "status.end"), scene_time(7));
}

static uint64_t writes_of_the_story(void) {
    static struct scene s;
    scene_init(&s, 2);
    uint64_t before = s.w.writes;
    tell_it(&s, 0, FAULT_LOST, false);
    check_ends(&s, 0);
    uint64_t n = s.w.writes - before;
    scene_release(&s);
    return n;
}

static void every_write_may_fail(void **state) {
    static const enum fake_fault faults[] = {FAULT_REFUSED, FAULT_LOST, FAULT_CONFLICT};
    uint64_t writes = writes_of_the_story();
    assert_true(writes > 40);
    for (uint64_t n = 1; n <= writes; n++) {
        static struct scene s;
        scene_init(&s, 2);
        tell_it(&s, n, faults[n % 3], false);
        check_ends(&s, n);
        scene_release(&s);
    }
}

static void killed_at_every_write(void **state) {
    uint64_t writes = writes_of_the_story();
    for (uint64_t n = 1; n <= writes; n++) {
        static struct scene s;
        scene_init(&s, 2);
        tell_it(&s, n, FAULT_LOST, true);
        check_ends(&s, n);
        scene_release(&s);
    }
}

/* A restart changes nothing: the plans are the same to the slice. */
static void a_restart_finds_all_as_it_was(void **state) {
    static struct scene s;
    static const char *const what[] = {SCENE_GPU, SCENE_2G, SCENE_3G, "nvidia.com/mig-1g.18gb"};
    struct prng r;
    char name[32];
    scene_init(&s, 4);
    prng_seed(&r, 7);
    for (int i = 0; i < 60; i++) {
        int from = (int)prng_below(&r, 60), hours = 1 + (int)prng_below(&r, 8);
        (void)snprintf(name, sizeof name, "r%d", i);
        scene_book(&s, i % 2 ? "a" : "b", name, 1 + from, 1 + from + hours, what[prng_below(&r, 4)],
                   1 + (int)prng_below(&r, 2), NULL);
    }
    scene_hour(&s, 20.2);
    uint64_t before = calendar_digest(reservation_controller_calendar(s.c)), writes = s.w.writes;
    assert_true(calendar_entries(reservation_controller_calendar(s.c)) > 10);
    scene_restart(&s);
    fake_world_run(&s.w, 10 * NS_PER_SEC);
    assert_int_equal(calendar_digest(reservation_controller_calendar(s.c)), before);
    assert_int_equal(s.w.writes, writes);
    scene_release(&s);
}

/* What lacks a card, before or after a restart, keeps its others, waits for the whole, and gets it. */
static void a_restart_forgets_no_loss(void **state) {
    static const bool third[] = {false, false, true};
    for (int before = 0; before < 2; before++) {
        static struct scene s;
        scene_init(&s, 3);
        scene_book(&s, "a", "three", 2, 9, SCENE_GPU, 3, NULL);
        scene_minutes(&s, 1);
        assert_string_equal(scene_text(&s, "a", "three", "status.phase"), "Confirmed");
        for (int i = 0; i < 2; i++) {
            if (i == before) {
                controller_free(s.c);
                s.c = NULL;
            }
            if (i == 0) {
                scene_node(&s, 3, third);
            }
            if (i == before) {
                scene_restart(&s);
            }
            fake_world_run(&s.w, 60 * NS_PER_SEC);
        }
        assert_string_equal(scene_text(&s, "a", "three", "status.phase"), "Degraded");
        scene_book(&s, "b", "one", 2, 9, SCENE_GPU, 1, NULL);
        scene_minutes(&s, 1);
        assert_string_equal(scene_text(&s, "b", "one", "status.phase"), "Rejected");
        scene_node(&s, 3, NULL);
        scene_minutes(&s, 1);
        assert_string_equal(scene_text(&s, "a", "three", "status.phase"), "Confirmed");
        assert_non_null(strstr(scene_text(&s, "a", "three", "status.plan"), "\"GPU-2\""));
        scene_release(&s);
    }
}

/* Cards that come back one by one are the booking's that lacks them, and nobody else's. */
static void nobody_else_gets_what_comes_back(void **state) {
    static const bool two[] = {true, false, true}, one[] = {true, false, false};
    static struct scene s;
    scene_init(&s, 3);
    scene_book(&s, "a", "three", 2, 9, SCENE_GPU, 3, NULL);
    scene_minutes(&s, 1);
    scene_node(&s, 3, two);
    scene_minutes(&s, 1);
    assert_string_equal(scene_text(&s, "a", "three", "status.phase"), "Degraded");
    assert_non_null(strstr(scene_text(&s, "a", "three", "status.plan"), "\"GPU-1\""));
    scene_node(&s, 3, one);
    scene_minutes(&s, 1);
    assert_string_equal(scene_text(&s, "a", "three", "status.phase"), "Degraded");
    assert_non_null(strstr(scene_text(&s, "a", "three", "status.plan"), "\"GPU-1\""));
    assert_non_null(strstr(scene_text(&s, "a", "three", "status.plan"), "\"GPU-2\""));
    scene_book(&s, "b", "one", 2, 9, SCENE_GPU, 1, NULL);
    scene_minutes(&s, 1);
    assert_string_equal(scene_text(&s, "b", "one", "status.phase"), "Rejected");
    scene_node(&s, 3, NULL);
    scene_minutes(&s, 1);
    assert_string_equal(scene_text(&s, "a", "three", "status.phase"), "Confirmed");
    scene_release(&s);
}

/* The same of a node on which others place: its GPUs are a number. */
static void numbers_keep_what_is_left(void **state) {
    static struct scene s;
    static const char *const numbers[] = {"8", "7", "8"};
    char json[1000];
    scene_init(&s, 0);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(
            json, sizeof json,
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"m\",\"labels\":{"
            "\"nvidia.com/gpu.product\":\"NVIDIA-H200\"}},\"status\":{\"allocatable\":{"
            "\"nvidia.com/gpu\":\"%s\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
            "\"lastTransitionTime\":\"2026-03-01T00:00:00Z\"}]}}",
            numbers[i]);
        if (i == 0) {
            fake_world_put(&s.w, json);
        } else {
            (void)snprintf(json, sizeof json,
                           "{\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"%s\"}}}",
                           numbers[i]);
            fake_world_patch(&s.w, "Node", "", "m", "status", json);
        }
        scene_minutes(&s, 1);
        if (i == 0) {
            scene_book(&s, "b", "five", 2, 9, SCENE_GPU, 5, NULL);
            scene_minutes(&s, 1);
            scene_book(&s, "a", "three", 2, 9, SCENE_GPU, 3, NULL);
            scene_minutes(&s, 1);
        }
        assert_string_equal(scene_text(&s, "b", "five", "status.phase"), "Confirmed");
        assert_string_equal(scene_text(&s, "a", "three", "status.phase"),
                            i == 1 ? "Degraded" : "Confirmed");
        assert_non_null(strstr(scene_text(&s, "a", "three", "status.plan"), i == 0 ? "\"count\":3"
                                                                            : i == 1
                                                                                ? "\"count\":2"
                                                                                : "\"flavor\""));
    }
    scene_release(&s);
}

static void random_booking(struct scene *s, struct prng *r, int i, double now) {
    static const char *const what[] = {SCENE_GPU, SCENE_2G, SCENE_3G, "nvidia.com/mig-1g.18gb"};
    char name[32];
    double from = now + 0.25 + (double)prng_below(r, 8 * 24 * 4) / 4;
    double hours = 0.5 + (double)prng_below(r, 64) / 4;
    (void)snprintf(name, sizeof name, "r%d", i);
    scene_book(s, prng_below(r, 2) ? "a" : "b", name, from, from + hours, what[prng_below(r, 4)],
               1 + (int)prng_below(r, 2), prng_below(r, 3) ? NULL : ",\"waitlist\":true");
}

static void cancel_one(struct scene *s, struct prng *r, int i) {
    char name[32];
    (void)snprintf(name, sizeof name, "r%d", (int)prng_below(r, (uint64_t)i));
    const char *ns = fake_world_get(&s->w, "Reservation", "a", name) ? "a" : "b";
    if (fake_world_get(&s->w, "Reservation", ns, name)) {
        scene_spec(s, ns, name, "{\"cancel\":{\"reason\":\"x\"}}");
    }
}

struct tally {
    int active, ended, refused, other;
};

static bool count(void *ctx, const struct object *o) {
    struct tally *t = ctx;
    const char *phase = fake_world_text(o, "status.phase");
    t->active += strcmp(phase, "Active") == 0;
    t->ended += strcmp(phase, "Ended") == 0;
    t->refused += strcmp(phase, "Rejected") == 0;
    t->other += strcmp(phase, "Degraded") == 0 || phase[0] == '\0';
    return true;
}

/* The certificate is proved each minute (scene_minutes). The policy's zone changes its clocks on 29 March. */
static void a_month_with_a_change_of_clocks(void **state) {
    static struct scene s;
    struct prng r;
    struct tally t = {0};
    int made = 0;
    scene_init(&s, 4);
    scene_policy(&s, "{\"timeZone\":\"Europe/Warsaw\"}");
    scene_minutes(&s, 1);
    prng_seed(&r, 42);
    s.step = 12;
    for (int h = 0; h < 31 * 24; h++) {
        for (int k = 0; k < 2 && h < 22 * 24; k++) {
            random_booking(&s, &r, made++, h + 0.25);
        }
        if (made > 20 && prng_below(&r, 4) == 0) {
            cancel_one(&s, &r, made);
        }
        if (prng_below(&r, 40) == 0) {
            scene_restart(&s);
        }
        scene_minutes(&s, 60);
    }
    mirror_scan(s.w.mirror, fake_world_kind("Reservation"), STR(""), count, &t);
    assert_true(t.ended > 300);
    assert_true(t.refused > 50);
    assert_int_equal(t.other, 0);
    scene_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restart_finds_all_as_it_was),
        cmocka_unit_test(a_restart_forgets_no_loss),
        cmocka_unit_test(nobody_else_gets_what_comes_back),
        cmocka_unit_test(numbers_keep_what_is_left),
        cmocka_unit_test(every_write_may_fail),
        cmocka_unit_test(killed_at_every_write),
        cmocka_unit_test(a_month_with_a_change_of_clocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
