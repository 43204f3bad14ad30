/* calendar_scene: fleets of H200 that are booked by the hour, for tests of the calendar. */
#ifndef BERTH_CORE_CALENDAR_SCENE_H
#define BERTH_CORE_CALENDAR_SCENE_H

#include "base/test.h"
#include "core/test/calendar_fixture.h"

enum { H = 3600 };
static const int64_t T0 = 1700000100 - 1700000100 % 3600; /* a full hour */

__attribute__((unused)) static struct calendar *fleet(int nodes, int cards, int32_t reconfig_s) {
    struct calendar *c = calendar_new(NULL);
    struct err err;
    assert_non_null(c);
    for (int n = 0; n < nodes; n++) {
        for (int i = 0; i < cards; i++) {
            char buf[48];
            struct calendar_card card = h200(buf, n, i, reconfig_s);
            assert_ok(calendar_card_put(c, &card, &err), &err);
        }
    }
    calendar_now(c, T0);
    return c;
}

__attribute__((unused)) static void sound(const struct calendar *c) {
    struct err err;
    assert_ok(calendar_verify(c, &err), &err);
}

/* One line, from hour a to hour b after T0. */
__attribute__((unused)) static int book(struct calendar *c, const char *id, const char *resource,
                                        int64_t count, double a, double b,
                                        struct calendar_why *why) {
    struct calendar_line line = {.resource = str_of(resource), .count = count};
    struct calendar_ask ask = {.id = str_of(id),
                               .start = T0 + (int64_t)(a * H),
                               .end = T0 + (int64_t)(b * H),
                               .lines = &line,
                               .n_lines = 1};
    uint64_t before = calendar_digest(c);
    int r = calendar_check(c, &ask, (struct str){0}, NULL, NULL, NULL);
    assert_int_equal(calendar_digest(c), before);
    assert_int_equal(calendar_insert(c, &ask, why), r);
    if (r != 0) {
        assert_int_equal(calendar_digest(c), before);
    }
    sound(c);
    return r;
}

__attribute__((unused)) static struct calendar_place place_of(struct calendar *c, const char *id) {
    struct arena a;
    struct calendar_plan plan;
    arena_init(&a, 1 << 20);
    assert_int_equal(calendar_plan_of(c, str_of(id), &a, &plan), 0);
    assert_true(plan.n > 0);
    struct calendar_place p = plan.v[0];
    arena_release(&a);
    return p;
}

__attribute__((unused)) static int whole_node(struct calendar *c, const char *id, int64_t count,
                                              double a, double b, struct calendar_why *why) {
    struct calendar_line line = {.resource = STR(CALENDAR_GPU), .count = count, .same_node = true};
    struct calendar_ask ask = {.id = str_of(id),
                               .start = T0 + (int64_t)(a * H),
                               .end = T0 + (int64_t)(b * H),
                               .lines = &line,
                               .n_lines = 1};
    int r = calendar_insert(c, &ask, why);
    sound(c);
    return r;
}

#endif
