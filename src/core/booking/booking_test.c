/* Tests of the life of a booking: every cell of the state machine, the clock, limits, and the waitlist. */
#include "core/booking/booking.h"

#include "base/test.h"
#include "core/test/calendar_fixture.h"

enum { H = 3600, DAY = 86400 };
static const int64_t T0 = 1700000100 - 1700000100 % 3600;

/* ---- the state machine ---- */

/* One row for each phase: what each event leads to, in order of enum booking_event; '.': not in this phase. Letters are
 * p(ending approval) w o c r(preparing) a d e(nding) E(nded) R(ejected) C(ancelled) L(released) X(expired). */
/* clang-format off */
static const char *const CELLS[BOOKING_PHASES] = {
    /*                          n aHwr ARo roco tcwC Psl+ eWnN L+e dm */
    [BOOKING_NEW] =              ".cpwR........" "..CC............X",
    [BOOKING_PENDING_APPROVAL] = ".....cRX....." "pwCC........w...X",
    [BOOKING_WAITLISTED] =       "..p...R.co..X" ".wCC............X",
    [BOOKING_OFFERED] =          "..........cw." ".wCC........w...X",
    [BOOKING_CONFIRMED] =        "..p.........." "c.CCr.......d...E",
    [BOOKING_PREPARING] =        "............." "c.CC.ad.r...d...E",
    [BOOKING_ACTIVE] =           "............." "a.CC....aaaLd.e..",
    [BOOKING_DEGRADED] =         "............." "d.CC...add...ce.E",
    [BOOKING_ENDING] =           "............." "..CC...........E.",
    [BOOKING_ENDED] =            "............." ".................",
    [BOOKING_REJECTED] =         "............." ".................",
    [BOOKING_CANCELLED] =        "............." ".................",
    [BOOKING_RELEASED] =         "............." ".................",
    [BOOKING_EXPIRED] =          "............." ".................",
};
/* clang-format on */
static const char LETTERS[] = "?pwocradeERCLX";

static void every_cell_is_as_written(void **state) {
    (void)state;
    assert_int_equal(strlen(LETTERS), BOOKING_PHASES);
    for (enum booking_phase p = 0; p < BOOKING_PHASES; p++) {
        assert_int_equal(strlen(CELLS[p]), BOOKING_EVENTS);
        for (enum booking_event e = 0; e < BOOKING_EVENTS; e++) {
            enum booking_phase to = BOOKING_PHASES;
            uint32_t effects = 0;
            int r = booking_step(p, e, &to, &effects);
            char got = r == 0 ? LETTERS[to] : '.';
            if (got != CELLS[p][e]) {
                print_error("%s + %s: got %c, want %c\n", booking_phase_name(p),
                            booking_event_name(e), got, CELLS[p][e]);
                fail();
            }
            if (r != 0) {
                continue;
            }
            /* what holds a place has taken it, what stops holding gives it back */
            assert_true(!booking_final(p));
            if (booking_holds(p) && !booking_holds(to)) {
                assert_true((effects & BOOKING_GIVE) != 0);
            } else if (!booking_holds(p) && booking_holds(to)) {
                assert_true((effects & BOOKING_TAKE) != 0);
            }
            if (booking_begun(p) && !booking_begun(to) && p != BOOKING_ENDING &&
                to != BOOKING_CONFIRMED) {
                assert_true((effects & BOOKING_SHUT) != 0);
            }
        }
    }
}

static void names_go_both_ways(void **state) {
    (void)state;
    for (enum booking_phase p = 0; p < BOOKING_PHASES; p++) {
        assert_int_equal(booking_phase_of(str_of(booking_phase_name(p))), p);
    }
    assert_int_equal(booking_phase_of(STR("Nonsense")), BOOKING_PHASES);
}

/* ---- the clock ---- */

static struct booking_clock clock_of(enum booking_phase phase) {
    return (struct booking_clock){.phase = phase,
                                  .start = T0 + 4 * H,
                                  .end = T0 + 6 * H,
                                  .prepare_at = T0 + 4 * H - 600,
                                  .latest_start = T0 + 4 * H,
                                  .drained_until = T0 + 8 * H,
                                  .warnings_s = {1800, 900, 300},
                                  .n_warnings = 3,
                                  .ready = true};
}

static void lives_by_the_clock(void **state) {
    struct booking_clock k = clock_of(BOOKING_CONFIRMED);
    int64_t at, now = T0;
    static const enum booking_event want[] = {BOOKING_PREPARE, BOOKING_START, BOOKING_WARN,
                                              BOOKING_WARN,    BOOKING_WARN,  BOOKING_END,
                                              BOOKING_DRAINED};
    static const int64_t times[] = {4 * H - 600, 4 * H, 6 * H - 1800, 6 * H - 900,
                                    6 * H - 300, 6 * H, 8 * H};
    (void)state;
    for (size_t i = 0; i < 7; i++) {
        uint32_t effects;
        assert_int_equal(booking_due(&k, now, &at), BOOKING_NOTHING);
        assert_int_equal(at, T0 + times[i]);
        now = at;
        assert_int_equal(booking_due(&k, now, &at), want[i]);
        assert_int_equal(booking_step(k.phase, want[i], &k.phase, &effects), 0);
        k.warned_at = want[i] == BOOKING_WARN ? at : k.warned_at;
    }
    assert_int_equal(k.phase, BOOKING_ENDED);
    assert_int_equal(booking_due(&k, now, &at), BOOKING_NOTHING);
    assert_int_equal(at, CALENDAR_FOREVER);
}

static void what_was_missed_comes_in_order(void **state) {
    int64_t at;
    struct booking_clock k = clock_of(BOOKING_CONFIRMED);
    (void)state;
    assert_int_equal(booking_due(&k, T0 + 5 * H, &at), BOOKING_PREPARE);
    k.phase = BOOKING_PREPARING;
    k.ready = false;
    assert_int_equal(booking_due(&k, T0 + 5 * H, &at), BOOKING_LATE);
    k.phase = BOOKING_DEGRADED;
    assert_int_equal(booking_due(&k, T0 + 5 * H, &at), BOOKING_NOTHING);
    k.ready = true;
    assert_int_equal(booking_due(&k, T0 + 5 * H, &at), BOOKING_READY);
    assert_int_equal(booking_due(&k, T0 + 3 * H, &at), BOOKING_RESTORED);
    k = clock_of(BOOKING_CONFIRMED); /* all of its time was missed */
    assert_int_equal(booking_due(&k, T0 + 7 * H, &at), BOOKING_MISSED);
    k = clock_of(BOOKING_ACTIVE);
    k.no_show_at = T0 + 5 * H;
    k.no_show = BOOKING_NO_SHOW;
    assert_int_equal(booking_due(&k, T0 + 7 * H, &at), BOOKING_NO_SHOW);
    assert_int_equal(at, T0 + 5 * H);
    k = clock_of(BOOKING_WAITLISTED);
    assert_int_equal(booking_due(&k, T0 + 4 * H, &at), BOOKING_NOTHING);
    assert_int_equal(booking_due(&k, T0 + 4 * H + 1, &at), BOOKING_TOO_LATE);
    k = clock_of(BOOKING_PENDING_APPROVAL);
    k.approval_until = booking_approval_until(T0, k.start, 48 * H, 600);
    assert_int_equal(k.approval_until, T0 + 4 * H - 600);
    assert_int_equal(booking_due(&k, T0 + 4 * H, &at), BOOKING_APPROVAL_OVER);
    k = clock_of(BOOKING_OFFERED);
    k.offer_until = booking_offer_until(T0 + 4 * H - 60, k.start, 1800);
    assert_int_equal(k.offer_until, k.start);
    assert_int_equal(booking_due(&k, k.start, &at), BOOKING_OFFER_OVER);
    k = clock_of(BOOKING_ACTIVE); /* half an hour long: no warning before it has begun */
    k.start = k.end - 1800;
    assert_int_equal(booking_due(&k, k.start, &at), BOOKING_NOTHING);
    assert_int_equal(at, k.end - 900);
}

static void amounts_are_exact(void **state) {
    struct arena a;
    (void)state;
    arena_init(&a, 1 << 16);
    assert_int_equal(booking_share(1, 8), 125000);
    assert_int_equal(booking_share(0, 0), BOOKING_GPU);
    assert_int_equal(booking_gpu_ms(125000, 3, 2 * H), 3 * 2 * H * 1000 / 8);
    assert_int_equal(booking_gpu_ms(INT64_MAX / 2, 8, 100), INT64_MAX);
    assert_str_eq(booking_hours_text(&a, INT64_C(3600000) * 12 + 1800000), STR("12.5"));
    assert_str_eq(booking_hours_text(&a, 0), STR("0"));
    assert_str_eq(booking_hours_text(&a, INT64_C(3600000) * 100), STR("100"));
    assert_str_eq(booking_hours_text(&a, 1800), STR("0.001"));
    arena_release(&a);
}

/* ---- limits ---- */

static struct booking_request asks(const struct booking_use *uses, size_t n, double from, double to,
                                   int64_t units) {
    struct booking_request r = {
        .now = T0,
        .use = {T0 + (int64_t)(from * H), T0 + (int64_t)(to * H), units, units * BOOKING_GPU, true},
    };
    for (int s = 0; s < BOOKING_SCOPES; s++) {
        r.uses[s] = uses;
        r.n_uses[s] = n;
        r.open[s] = (int64_t)n;
    }
    return r;
}

static void counts_units_at_one_time(void **state) {
    struct booking_use uses[] = {{T0 + H, T0 + 2 * H, 2, 2 * BOOKING_GPU, true},
                                 {T0 + 2 * H, T0 + 3 * H, 2, 2 * BOOKING_GPU, true},
                                 {T0 + 9 * H, T0 + 10 * H, 9, 9 * BOOKING_GPU, true}};
    struct booking_refusal v[BOOKING_REFUSALS_MAX];
    struct booking_request r = asks(uses, 3, 1, 3, 1);
    (void)state;
    r.caps[BOOKING_PROJECT].concurrent_units = 3;
    assert_int_equal(booking_limits_check(&r, v), 0);
    r.use.units = 2;
    r.caps[BOOKING_TENANT].concurrent_units = 3;
    assert_int_equal(booking_limits_check(&r, v), 2);
    assert_int_equal(v[0].limit, BOOKING_CONCURRENT_UNITS);
    assert_int_equal(v[0].scope, BOOKING_PROJECT);
    assert_int_equal(v[0].allowed, 3);
    assert_int_equal(v[0].asked, 4);
    assert_int_equal(v[0].from, T0 + H);
    assert_int_equal(v[1].scope, BOOKING_TENANT);
    r.caps[BOOKING_USER].future = 3;
    assert_int_equal(booking_limits_check(&r, v), 3);
    assert_int_equal(v[0].limit, BOOKING_FUTURE);
    assert_int_equal(v[0].asked, 4);
}

static void adds_what_is_stacked(void **state) {
    struct booking_use uses[] = {{T0 + 4 * H, T0 + 6 * H, 1, BOOKING_GPU, true},
                                 {T0 + 6 * H, T0 + 8 * H, 1, BOOKING_GPU, true},
                                 {T0 + 9 * H, T0 + 11 * H, 1, BOOKING_GPU, true},
                                 {T0 + 1 * H, T0 + 2 * H, 1, BOOKING_GPU, false}};
    struct booking_refusal v[BOOKING_REFUSALS_MAX];
    struct booking_request r = asks(uses, 4, 2, 4, 1);
    (void)state;
    r.caps[BOOKING_USER].max_duration_s = 6 * H;
    assert_int_equal(booking_limits_check(&r, v), 0);
    r.max_duration_s = 5 * H;
    assert_int_equal(booking_limits_check(&r, v), 1);
    assert_int_equal(v[0].limit, BOOKING_DURATION);
    assert_int_equal(v[0].scope, BOOKING_SCOPES);
    assert_int_equal(v[0].asked, 6 * H);
    assert_int_equal(v[0].from, T0 + 2 * H);
    assert_int_equal(v[0].to, T0 + 8 * H);
}

/* In any seven days, against a sum by the hour. */
static void adds_hours_of_any_week(void **state) {
    struct booking_use uses[40];
    struct booking_refusal v[BOOKING_REFUSALS_MAX];
    uint32_t seed = 7;
    (void)state;
    for (int round = 0; round < 50; round++) {
        size_t n = 0;
        int64_t most = 0;
        for (; n < 20; n++) {
            seed = seed * 1664525 + 1013904223;
            int64_t from = T0 + (int64_t)(seed >> 8) % (30 * 24) * H;
            uses[n] = (struct booking_use){from, from + (1 + (seed >> 4) % 48) * H, 1,
                                           BOOKING_GPU * (1 + seed % 3), false};
        }
        struct booking_request r = asks(uses, n, 300, 340, 1);
        for (int64_t t = T0 - 7 * DAY; t < T0 + 60 * DAY; t += H) {
            int64_t sum = 0;
            bool edge = false; /* between edges the sum only grows towards one of them */
            for (size_t i = 0; i <= n; i++) {
                const struct booking_use *x = i < n ? &uses[i] : &r.use;
                edge = edge || x->start == t || x->end == t || x->start == t + 7 * DAY ||
                       x->end == t + 7 * DAY;
                int64_t a = x->start > t ? x->start : t;
                int64_t b = x->end < t + 7 * DAY ? x->end : t + 7 * DAY;
                sum += b > a ? (b - a) * x->share / 1000 : 0;
            }
            bool meets = t < r.use.end && t + 7 * DAY > r.use.start;
            most = edge && meets && sum > most ? sum : most;
        }
        r.caps[BOOKING_TENANT].gpu_ms_week = most;
        assert_int_equal(booking_limits_check(&r, v), 0);
        r.caps[BOOKING_TENANT].gpu_ms_week = most - 1;
        assert_int_equal(booking_limits_check(&r, v), 1);
        assert_int_equal(v[0].limit, BOOKING_WEEK);
        assert_int_equal(v[0].asked, most);
    }
}

static void keeps_to_the_policy(void **state) {
    struct booking_refusal v[BOOKING_REFUSALS_MAX];
    struct booking_request r = asks(NULL, 0, 2, 2.25, 1);
    (void)state;
    r.min_duration_s = 1800;
    r.ahead_s = H;
    r.grid_s = 900;
    assert_int_equal(booking_limits_check(&r, v), 2);
    assert_int_equal(v[0].limit, BOOKING_SHORTEST);
    assert_int_equal(v[1].limit, BOOKING_AHEAD);
    r = asks(NULL, 0, -1, 3, 1);
    r.grid_s = 900;
    r.grid_base = T0 + 60; /* no grid point of ours */
    assert_int_equal(booking_limits_check(&r, v), 2);
    assert_int_equal(v[0].limit, BOOKING_GRID);
    assert_int_equal(v[1].limit, BOOKING_PAST);
    r.old_start = r.use.start; /* only its end is new */
    r.use.end += 60;
    assert_int_equal(booking_limits_check(&r, v), 0);
}

/* ---- the waitlist ---- */

static struct booking_waiter waiter(const char *name, const struct calendar_line *line, double from,
                                    double to) {
    return (struct booking_waiter){.ask = {.id = str_of(name),
                                           .start = T0 + (int64_t)(from * H),
                                           .end = T0 + (int64_t)(to * H),
                                           .lines = line,
                                           .n_lines = 1},
                                   .since = T0,
                                   .name = str_of(name)};
}

static void serves_in_order(void **state) {
    struct calendar_line one = {.resource = STR(CALENDAR_GPU), .count = 1};
    struct calendar *c = calendar_new(NULL);
    struct err err;
    (void)state;
    assert_ok(calendar_pool_put(c, STR("f"), STR(CALENDAR_GPU), 1, &err), &err);
    struct booking_waiter v[] = {waiter("d", &one, 1, 2), waiter("c", &one, 1, 2),
                                 waiter("b", &one, 1, 2), waiter("a", &one, 1, 2)};
    v[0].class_rank = 1;
    v[1].since = T0 - 1;
    v[2].used = 5;
    assert_int_equal(booking_waitlist_run(c, v, 4, T0), 0);
    assert_str_eq(v[0].name, STR("d"));
    assert_str_eq(v[1].name, STR("c"));
    assert_str_eq(v[2].name, STR("a"));
    assert_str_eq(v[3].name, STR("b"));
    assert_true(v[0].granted && !v[1].granted);
    assert_int_equal(v[1].position, 1);
    assert_int_equal(v[3].position, 3);
    assert_int_equal(calendar_entries(c), 1);
    calendar_free(c);
}

static void nobody_is_passed_for_ever(void **state) {
    struct calendar_line one = {.resource = STR(CALENDAR_GPU), .count = 1};
    struct calendar_line all = {.resource = STR(CALENDAR_GPU), .count = 4};
    struct err err;
    (void)state;
    for (int passes = 0; passes <= BOOKING_PASSES_MAX; passes++) {
        struct calendar *c = calendar_new(NULL);
        assert_ok(calendar_pool_put(c, STR("f"), STR(CALENDAR_GPU), 4, &err), &err);
        struct calendar_ask other = waiter("x", &one, 1, 2).ask;
        assert_int_equal(calendar_insert(c, &other, NULL), 0);
        struct booking_waiter v[] = {waiter("a", &all, 1, 2), waiter("b", &one, 1, 2),
                                     waiter("c", &one, 2, 3)};
        v[0].passes = passes;
        assert_int_equal(booking_waitlist_run(c, v, 3, T0), 0);
        assert_false(v[0].granted);
        assert_int_equal(v[1].granted, passes < BOOKING_PASSES_MAX);
        assert_int_equal(v[0].passed, passes < BOOKING_PASSES_MAX);
        assert_true(v[2].granted); /* another time: no matter */
        calendar_free(c);
    }
}

static void flexible_ones_take_what_there_is(void **state) {
    struct calendar_line one = {.resource = STR(CALENDAR_GPU), .count = 1};
    struct calendar *c = calendar_new(NULL);
    struct err err;
    (void)state;
    assert_ok(calendar_pool_put(c, STR("f"), STR(CALENDAR_GPU), 1, &err), &err);
    struct calendar_ask other = waiter("x", &one, 2, 9).ask;
    assert_int_equal(calendar_insert(c, &other, NULL), 0);
    struct booking_waiter v[] = {waiter("a", &one, 3, 6)};
    v[0].earliest = T0;
    v[0].latest = T0 + 9 * H;
    assert_int_equal(booking_waitlist_run(c, v, 1, T0), 0);
    assert_false(v[0].granted);
    v[0].min_s = H;
    assert_int_equal(booking_waitlist_run(c, v, 1, T0 + 60), 0);
    assert_true(v[0].granted);
    assert_int_equal(v[0].start, T0 + 900);
    assert_int_equal(v[0].end, T0 + 2 * H);
    calendar_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cell_is_as_written),
        cmocka_unit_test(names_go_both_ways),
        cmocka_unit_test(lives_by_the_clock),
        cmocka_unit_test(what_was_missed_comes_in_order),
        cmocka_unit_test(amounts_are_exact),
        cmocka_unit_test(counts_units_at_one_time),
        cmocka_unit_test(adds_what_is_stacked),
        cmocka_unit_test(adds_hours_of_any_week),
        cmocka_unit_test(keeps_to_the_policy),
        cmocka_unit_test(serves_in_order),
        cmocka_unit_test(nobody_is_passed_for_ever),
        cmocka_unit_test(flexible_ones_take_what_there_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
