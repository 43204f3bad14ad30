/*
 * Tests of what the policy's limits allow, and of what is offered instead: each kind of limit, and that whatever is
 * offered can be had.
 */
#include "control/test/reservation_scene.h"

#include "base/prng.h"

static struct scene *scene(int gpus, const char *policy) {
    static struct scene s;
    scene_init(&s, gpus);
    scene_policy(&s, policy);
    scene_minutes(&s, 1);
    return &s;
}

/* "Fewer Later Queue": the kinds that are offered for a booking. */
static const char *kinds(struct scene *s, const char *ns, const char *name) {
    static char text[200];
    char path[60];
    text[0] = '\0';
    for (int i = 0;; i++) {
        (void)snprintf(path, sizeof path, "status.alternatives.%d.kind", i);
        const char *kind = scene_text(s, ns, name, path);
        if (!*kind) {
            return text;
        }
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", kind);
    }
}

static const char *offered(struct scene *s, const char *ns, const char *name, const char *kind,
                           const char *member) {
    char path[60];
    for (int i = 0; i < 6; i++) {
        (void)snprintf(path, sizeof path, "status.alternatives.%d.kind", i);
        if (strcmp(scene_text(s, ns, name, path), kind) == 0) {
            (void)snprintf(path, sizeof path, "status.alternatives.%d.%s", i, member);
            return scene_text(s, ns, name, path);
        }
    }
    return "(not offered)";
}

/* Books times and lines for the same user; deletes it again. */
static bool can_be_had(struct scene *s, const char *ns, yyjson_val *x, bool both) {
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i <= both; i++) {
        buf_reset(&b);
        buf_f(&b,
              "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
              "\"namespace\":\"%s\",\"name\":\"try%d\",\"annotations\":{"
              "\"berth.dev/requested-by\":\"%s-user\"}},\"spec\":{\"start\":",
              ns, i, ns);
        buf_json(&b, json_str_at(x, i ? "start2" : "start"));
        buf_c(&b, ",\"end\":");
        buf_json(&b, json_str_at(x, i ? "end2" : "end"));
        buf_c(&b, ",\"lines\":");
        json_write(&b, json_get(x, STR("lines")));
        buf_c(&b, "}}");
        fake_world_put(&s->w, buf_cstr(&b));
        fake_world_run(&s->w, 2 * NS_PER_SEC);
    }
    buf_release(&b);
    const char *phase = scene_text(s, ns, "try0", "status.phase");
    bool yes = *phase &&
               strcmp(phase, "Rejected") != 0; /* what begins at once is not Confirmed any more */
    if (!yes) {
        printf("%s is refused: ", json_str_at(x, "text").p);
        printf("%s\n", scene_text(s, ns, "try0", "status.message"));
    }
    fake_world_delete(&s->w, "Reservation", ns, "try0", "");
    fake_world_run(&s->w, 2 * NS_PER_SEC);
    return yes;
}

/* All that is offered with a time; the number of them. */
static int all_can_be_had(struct scene *s, const char *ns, const char *name) {
    const struct object *o = fake_world_get(&s->w, "Reservation", ns, name);
    struct arena a;
    yyjson_doc *d;
    yyjson_val *x;
    size_t i, n;
    int had = 0;
    arena_init(&a, 16 << 20);
    assert_int_equal(object_tree(o, &a, &d, NULL), 0);
    yyjson_val *list = json_path(yyjson_doc_get_root(d), "status.alternatives");
    yyjson_arr_foreach(list, i, n, x) {
        if (json_get(x, STR("start")) && !str_is(json_str_at(x, "kind"), "Split")) {
            assert_true(can_be_had(s, ns, x, false));
            had++;
        }
    }
    arena_release(&a);
    return had;
}

#define assert_refused(s_, ns_, name_, limit_, kinds_)                                             \
    do {                                                                                           \
        assert_phase(s_, ns_, name_, "Rejected");                                                  \
        assert_string_equal(scene_text(s_, ns_, name_, "status.refusals.0.limit"), limit_);        \
        assert_string_equal(kinds(s_, ns_, name_), kinds_);                                        \
        (void)all_can_be_had(s_, ns_, name_);                                                      \
    } while (0)

static void units_at_one_time(void **state) {
    static const char *const scopes[] = {"user", "project", "tenant"};
    for (int i = 0; i < 3; i++) {
        char policy[100];
        (void)snprintf(policy, sizeof policy, "{\"limits\":{\"%s\":{\"concurrentUnits\":1}}}",
                       scopes[i]);
        struct scene *s = scene(2, policy);
        const char *ns = i == 2 ? "b" : "a";
        scene_book(s, "a", "r", 10, 14, SCENE_GPU, 1, NULL);
        scene_book(s, ns, "x", 12, 16, SCENE_GPU, 1, NULL);
        scene_minutes(s, 1);
        assert_refused(s, ns, "x", "concurrentUnits", "Shorter Later Earlier Queue");
        assert_string_equal(scene_text(s, ns, "x", "status.refusals.0.scope"), scopes[i]);
        assert_string_equal(offered(s, ns, "x", "Later", "start"), scene_time(14));
        assert_string_equal(offered(s, ns, "x", "Earlier", "end"), scene_time(10));
        assert_string_equal(offered(s, ns, "x", "Shorter", "start"), scene_time(14));
        scene_book(s, "b", "two", 20, 22, SCENE_GPU, 2, NULL);
        scene_minutes(s, 1);
        assert_refused(s, "b", "two", "concurrentUnits", "Fewer Queue");
        scene_release(s);
    }
}

static void length_of_one_and_of_those_without_a_gap(void **state) {
    struct scene *s = scene(1, "{\"limits\":{\"user\":{\"maxDuration\":\"4h\"}}}");
    scene_book(s, "a", "r", 10, 13, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "on", 13, 16, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "long", 20, 26, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_refused(s, "a", "on", "maxDuration", "Shorter Later Earlier Queue");
    assert_string_equal(offered(s, "a", "on", "Later", "start"), scene_time(13.25));
    assert_string_equal(offered(s, "a", "on", "Earlier", "end"), scene_time(9.75));
    assert_string_equal(offered(s, "a", "on", "Shorter", "start"), scene_time(13.25));
    assert_refused(s, "a", "long", "maxDuration", "Shorter Queue");
    assert_string_equal(offered(s, "a", "long", "Shorter", "end"), scene_time(24));
    scene_release(s);
}

static void hours_of_a_week(void **state) {
    struct scene *s = scene(2, "{\"limits\":{\"user\":{\"gpuHoursPerWeek\":10}},\"daysAhead\":30}");
    scene_book(s, "a", "r", 10, 18, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "x", 34, 38, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_refused(s, "a", "x", "gpuHoursPerWeek", "Shorter Smaller Later Queue");
    assert_string_equal(offered(s, "a", "x", "Shorter", "end"), scene_time(36));
    assert_string_equal(offered(s, "a", "x", "Smaller", "lines.0.resource"), SCENE_3G);
    /* When of the eight hours six are left in the seven days up to its end. */
    assert_string_equal(offered(s, "a", "x", "Later", "start"), scene_time(7 * 24 + 8));
    scene_release(s);
}

static void hours_of_a_month(void **state) {
    struct scene *s =
        scene(2, "{\"limits\":{\"project\":{\"gpuHoursPerMonth\":10}},\"daysAhead\":60}");
    scene_book(s, "a", "r", 10, 20, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "x", 34, 38, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_refused(s, "a", "x", "gpuHoursPerMonth", "Later Queue");
    assert_string_equal(offered(s, "a", "x", "Later", "start"), scene_time(30 * 24 + 10));
    scene_release(s);
}

/* What counts may be days away, also where bookings are short. */
static void hours_far_apart(void **state) {
    struct scene *s = scene(2, "{\"maxDuration\":\"12h\",\"daysAhead\":60,\"limits\":{\"project\":{"
                               "\"gpuHoursPerWeek\":10},\"tenant\":{\"gpuHoursPerMonth\":14}}}");
    scene_book(s, "a", "r", 10, 18, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "x", 4 * 24, 4 * 24 + 4, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_refused(s, "a", "x", "gpuHoursPerWeek", "Shorter Smaller Later Queue");
    scene_book(s, "a", "y", 10 * 24, 10 * 24 + 4, SCENE_GPU, 1, NULL);
    scene_book(s, "b", "z", 20 * 24, 20 * 24 + 4, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "y", "Confirmed");
    assert_refused(s, "b", "z", "gpuHoursPerMonth", "Shorter Smaller Later Queue");
    scene_release(s);
}

static void so_many_bookings(void **state) {
    struct scene *s = scene(2, "{\"limits\":{\"user\":{\"futureBookings\":2}}}");
    scene_book(s, "a", "r", 10, 18, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "q", 10, 20, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    scene_book(s, "a", "x", 34, 38, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_refused(s, "a", "x", "futureBookings", "AskLater Queue");
    assert_string_equal(offered(s, "a", "x", "AskLater", "text"),
                        "ask again from 2026-03-01 18:00 UTC on: enough of those bookings are over "
                        "then");
    scene_spec(s, "a", "r", "{\"cancel\":{}}");
    scene_minutes(s, 1);
    scene_book(s, "a", "y", 34, 38, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "y", "Confirmed");
    scene_hour(s, 20.2); /* q is over */
    scene_book(s, "a", "z", 40, 41, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "z", "Confirmed");
    scene_release(s);
}

static void how_far_ahead_how_short_and_what_is_past(void **state) {
    struct scene *s = scene(1, "{\"daysAhead\":2,\"minDuration\":\"1h\"}");
    scene_book(s, "a", "far", 100, 104, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "short", 10, 10.5, SCENE_GPU, 1, NULL);
    scene_hour(s, 6);
    assert_refused(s, "a", "far", "daysAhead", "Earlier Queue");
    assert_string_equal(offered(s, "a", "far", "Earlier", "start"), scene_time(48));
    assert_refused(s, "a", "short", "minDuration", "Longer Queue");
    assert_string_equal(offered(s, "a", "short", "Longer", "end"), scene_time(11));
    scene_book(s, "a", "past", 3, 9, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_refused(s, "a", "past", "start", "Shorter Later Queue");
    assert_string_equal(offered(s, "a", "past", "Later", "start"), scene_time(6));
    scene_release(s);
}

/* What the calendar would offer, a limit forbids. */
static void what_is_full_is_offered_within_limits(void **state) {
    struct scene *s = scene(1, "{\"limits\":{\"user\":{\"concurrentUnits\":1}}}");
    scene_book(s, "b", "theirs", 10, 14, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "mine", 14, 16, SCENE_2G, 1, NULL);
    scene_book(s, "a", "x", 10, 14, SCENE_2G, 1, NULL);
    scene_minutes(s, 1);
    assert_refused(s, "a", "x", "capacity", "Earlier Later Queue");
    assert_string_equal(offered(s, "a", "x", "Later", "start"), scene_time(16));
    assert_string_equal(offered(s, "a", "x", "Earlier", "end"), scene_time(10));
    scene_release(s);
}

/* Of what has begun only the end can change: how far it can is told. */
static void a_longer_end_within_limits(void **state) {
    struct scene *s = scene(1, "{\"limits\":{\"user\":{\"maxDuration\":\"4h\"}}}");
    scene_book(s, "a", "r", 1, 3, SCENE_GPU, 1, NULL);
    scene_hour(s, 2);
    scene_spec(s, "a", "r", "{\"end\":\"2026-03-01T08:00:00Z\"}");
    scene_minutes(s, 1);
    assert_reason(s, "a", "r", "ChangeRefused");
    assert_string_equal(kinds(s, "a", "r"), "Shorter");
    assert_string_equal(offered(s, "a", "r", "Shorter", "end"), scene_time(5));
    scene_book(s, "b", "next", 4, 6, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    scene_spec(s, "a", "r", "{\"end\":\"2026-03-01T05:00:00Z\"}");
    scene_minutes(s, 1);
    assert_reason(s, "a", "r", "ChangeRefused");
    assert_string_equal(offered(s, "a", "r", "Shorter", "end"), scene_time(4));
    scene_release(s);
}

/* A change while it waits is held to the limits too. */
static void who_waits_keeps_to_limits(void **state) {
    struct scene *s = scene(2, "{\"limits\":{\"user\":{\"concurrentUnits\":1}}}");
    scene_book(s, "b", "theirs", 10, 14, SCENE_GPU, 1, NULL);
    scene_book(s, "c", "others", 10, 14, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    scene_book(s, "a", "x", 10, 14, SCENE_GPU, 1, ",\"waitlist\":true");
    scene_minutes(s, 1);
    assert_phase(s, "a", "x", "Waitlisted");
    scene_spec(s, "a", "x", "{\"lines\":[{\"resource\":\"nvidia.com/gpu\",\"count\":2}]}");
    scene_minutes(s, 1);
    assert_reason(s, "a", "x", "ChangeRefused");
    assert_string_equal(scene_text(s, "a", "x", "status.refusals.0.limit"), "concurrentUnits");
    scene_restart(s);
    scene_spec(s, "b", "theirs", "{\"cancel\":{}}");
    scene_spec(s, "c", "others", "{\"cancel\":{}}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "x", "Waitlisted");
    scene_spec(s, "a", "x", "{\"lines\":[{\"resource\":\"nvidia.com/gpu\",\"count\":1}]}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "x", "Confirmed");
    scene_release(s);
}

/* Random bookings under all limits at once: whatever is offered is accepted. */
static void whatever_is_offered_can_be_had(void **state) {
    static const char *const what[] = {SCENE_GPU, SCENE_2G, SCENE_3G};
    struct scene *s =
        scene(2, "{\"limits\":{\"user\":{\"concurrentUnits\":3,\"gpuHoursPerWeek\":30,"
                 "\"maxDuration\":\"12h\"},\"project\":{\"concurrentUnits\":4},\"tenant\":{"
                 "\"gpuHoursPerMonth\":90}},\"daysAhead\":40,\"minDuration\":\"30m\"}");
    struct prng r;
    int refused = 0, had = 0;
    prng_seed(&r, 11);
    for (int i = 0; i < 150; i++) {
        char name[20];
        const char *ns = prng_below(&r, 2) ? "a" : "b";
        double from = 2 + (double)prng_below(&r, 4 * 24 * 4) / 4;
        (void)snprintf(name, sizeof name, "r%d", i);
        scene_book(s, ns, name, from, from + (1 + (double)prng_below(&r, 56)) / 4,
                   what[prng_below(&r, 3)], 1 + (int)prng_below(&r, 3), NULL);
        fake_world_run(&s->w, 2 * NS_PER_SEC);
        if (strcmp(scene_text(s, ns, name, "status.phase"), "Rejected") == 0) {
            refused++;
            had += all_can_be_had(s, ns, name);
        }
    }
    printf("%d of 150 refused, %d offers taken\n", refused, had);
    assert_true(refused > 50 && had > refused);
    scene_release(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_at_one_time),
        cmocka_unit_test(length_of_one_and_of_those_without_a_gap),
        cmocka_unit_test(hours_of_a_week),
        cmocka_unit_test(hours_of_a_month),
        cmocka_unit_test(hours_far_apart),
        cmocka_unit_test(so_many_bookings),
        cmocka_unit_test(how_far_ahead_how_short_and_what_is_past),
        cmocka_unit_test(what_is_full_is_offered_within_limits),
        cmocka_unit_test(a_longer_end_within_limits),
        cmocka_unit_test(who_waits_keeps_to_limits),
        cmocka_unit_test(whatever_is_offered_can_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
