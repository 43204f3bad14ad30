/*
 * Tests of what there is to book: what the policy keeps back, windows of each kind, a layout that is not ours to
 * choose, bookings that lend nothing, and nodes on which others place.
 */
#include "control/test/reservation_scene.h"

static struct scene *scene(int gpus) {
    static struct scene s;
    scene_init(&s, gpus);
    return &s;
}

static void window(struct scene *s, const char *name, const char *type, double from, double to,
                   const char *more) {
    char json[1000];
    (void)snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"CapacityWindow\","
        "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"type\":\"%s\",\"start\":\"%s\",%s%s%s"
        "%s}}",
        name, type, scene_time(from), to > 0 ? "\"end\":\"" : "", to > 0 ? scene_time(to) : "",
        to > 0 ? "\"," : "", more);
    fake_world_put(&s->w, json);
    scene_minutes(s, 1);
}

static const char *applied(struct scene *s, const char *name) {
    return fake_world_text(fake_world_get(&s->w, "CapacityWindow", "", name), "status.applied");
}

/* Asks; what became of it; and takes it away again. */
static bool fits(struct scene *s, double from, double to, const char *resource, int count) {
    scene_book(s, "a", "probe", from, to, resource, count, NULL);
    scene_minutes(s, 1);
    bool yes = strcmp(scene_text(s, "a", "probe", "status.phase"), "Confirmed") == 0;
    fake_world_delete(&s->w, "Reservation", "a", "probe", "");
    scene_minutes(s, 1);
    return yes;
}

static void what_is_kept_back_is_never_booked(void **state) {
    struct scene *s = scene(2);
    assert_true(fits(s, 10, 12, SCENE_GPU, 2));
    scene_policy(s, "{\"onDemandFloor\":[{\"resource\":\"nvidia.com/gpu\",\"count\":1}]}");
    scene_minutes(s, 1);
    assert_false(fits(s, 10, 12, SCENE_GPU, 2));
    assert_true(fits(s, 10, 12, SCENE_GPU, 1));
    scene_book(s, "a", "r", 10, 12, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_false(fits(s, 11, 13, SCENE_GPU, 1));
    assert_false(fits(s, 11, 13, SCENE_2G, 1));
    assert_true(fits(s, 12, 13, SCENE_2G, 3));
    scene_policy(s, "{\"onDemandFloor\":[]}");
    scene_minutes(s, 1);
    assert_true(fits(s, 11, 13, SCENE_GPU, 1));
    /* What was promised before stays. */
    scene_book(s, "a", "q", 20, 22, SCENE_GPU, 2, NULL);
    scene_minutes(s, 1);
    scene_policy(s, "{\"onDemandFloor\":[{\"resource\":\"nvidia.com/gpu\",\"count\":1}]}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "q", "Confirmed");
    assert_false(fits(s, 23, 24, SCENE_GPU, 2));
    scene_release(s);
}

static void closed_units(void **state) {
    static const char *const of[] = {
        "\"flavor\":\"nvidia-h200\",\"resource\":\"nvidia.com/gpu\",\"count\":1",
        "\"flavor\":\"nvidia-h200\",\"count\":1", "\"resource\":\"nvidia.com/gpu\",\"count\":1"};
    for (int i = 0; i < 3; i++) {
        struct scene *s = scene(2);
        window(s, "w", "Blackout", 10, 12, of[i]);
        assert_string_equal(applied(s, "w"), "true");
        assert_false(fits(s, 10, 12, SCENE_GPU, 2));
        assert_false(fits(s, 9, 10.25, SCENE_GPU, 2));
        assert_true(fits(s, 10, 12, SCENE_GPU, 1));
        assert_true(fits(s, 12, 14, SCENE_GPU, 2));
        assert_true(fits(s, 8, 10, SCENE_GPU, 2));
        fake_world_delete(&s->w, "CapacityWindow", "", "w", "");
        scene_minutes(s, 1);
        assert_true(fits(s, 10, 12, SCENE_GPU, 2));
        scene_release(s);
    }
}

static void closed_for_all(void **state) {
    static const char *const of[] = {"\"reason\":\"a holiday\"", "\"nodes\":[\"n1\"]",
                                     "\"flavor\":\"nvidia-h200\""};
    for (int i = 0; i < 3; i++) {
        struct scene *s = scene(2);
        window(s, "w", "Blackout", 10, 12, of[i]);
        assert_string_equal(applied(s, "w"), "true");
        assert_false(fits(s, 11, 13, SCENE_2G, 1));
        assert_true(fits(s, 12, 13, SCENE_GPU, 2));
        scene_release(s);
    }
}

static void closed_over_a_booking(void **state) {
    struct scene *s = scene(2);
    scene_book(s, "a", "r", 10, 12, SCENE_GPU, 2, NULL);
    scene_minutes(s, 1);
    window(s, "w", "Blackout", 11, 13, "\"resource\":\"nvidia.com/gpu\",\"count\":1");
    assert_string_equal(applied(s, "w"), "false");
    assert_string_equal(fake_world_text(fake_world_get(&s->w, "CapacityWindow", "", "w"),
                                        "status.conflicts.0.name"),
                        "r");
    assert_phase(s, "a", "r", "Confirmed");
    fake_world_delete(&s->w, "Reservation", "a", "r", "");
    scene_minutes(s, 1);
    fake_world_patch(&s->w, "CapacityWindow", "", "w", "", "{\"spec\":{\"reason\":\"now\"}}");
    scene_minutes(s, 1);
    assert_string_equal(applied(s, "w"), "true");
    assert_false(fits(s, 11, 12, SCENE_GPU, 2));
    scene_restart(s);
    assert_false(fits(s, 11, 12, SCENE_GPU, 2));
    scene_release(s);
}

/* A node that comes is there from its start to its end, and not before. */
static void a_node_that_comes(void **state) {
    struct scene *s = scene(2);
    window(s, "w", "Added", 10, 20, "\"nodes\":[\"n1\"]");
    assert_string_equal(applied(s, "w"), "true");
    assert_false(fits(s, 8, 9, SCENE_2G, 1));
    assert_false(fits(s, 9, 11, SCENE_2G, 1));
    assert_true(fits(s, 10, 20, SCENE_GPU, 2));
    assert_false(fits(s, 19, 21, SCENE_2G, 1));
    scene_hour(s, 11);
    assert_true(fits(s, 12, 13, SCENE_GPU, 2));
    scene_restart(s);
    assert_true(fits(s, 12, 20, SCENE_GPU, 2));
    assert_false(fits(s, 20, 21, SCENE_GPU, 1));
    scene_release(s);
    s = scene(1);
    window(s, "w", "Added", 10, 0, "\"nodes\":[\"n1\"]");
    assert_string_equal(applied(s, "w"), "true");
    assert_false(fits(s, 9, 11, SCENE_GPU, 1));
    assert_true(fits(s, 100, 101, SCENE_GPU, 1));
    /* Slices and cards come with their node, never as a number. */
    window(s, "n", "Added", 10, 20,
           "\"flavor\":\"nvidia-h200\",\"resource\":\"nvidia.com/gpu\",\"count\":1");
    assert_string_equal(applied(s, "n"), "false");
    assert_string_equal(
        fake_world_text(fake_world_get(&s->w, "CapacityWindow", "", "n"), "status.message"),
        "these come with the GPUs of a node: name the node");
    scene_release(s);
}

/* A booking on a node that is to come later is in the way. */
static void a_node_that_comes_later_than_it_was_booked(void **state) {
    struct scene *s = scene(1);
    scene_book(s, "a", "r", 8, 9, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    window(s, "w", "Added", 10, 20, "\"nodes\":[\"n1\"]");
    assert_string_equal(applied(s, "w"), "false");
    assert_phase(s, "a", "r", "Confirmed");
    fake_world_patch(&s->w, "CapacityWindow", "", "w", "", "{\"spec\":{\"force\":true}}");
    scene_minutes(s, 1);
    assert_string_equal(applied(s, "w"), "true");
    assert_phase(s, "a", "r", "Degraded");
    scene_release(s);
}

/* A node on which others place: a plain number, of which windows take or to which they add. */
static void nodes_of_others(void **state) {
    struct scene *s = scene(0);
    for (int i = 1; i <= 2; i++) {
        char json[600];
        (void)snprintf(json, sizeof json,
                       "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"x%d\","
                       "\"labels\":{\"nvidia.com/gpu.product\":\"NVIDIA-H200\"}},\"status\":{"
                       "\"allocatable\":{\"nvidia.com/gpu\":\"4\"},\"conditions\":[{\"type\":"
                       "\"Ready\",\"status\":\"True\"}]}}",
                       i);
        fake_world_put(&s->w, json);
    }
    fake_world_delete(&s->w, "Node", "", "n1", "");
    scene_minutes(s, 1);
    assert_true(fits(s, 10, 12, SCENE_GPU, 8));
    assert_false(fits(s, 10, 12, SCENE_GPU, 9));
    window(s, "more", "Added", 10, 12,
           "\"flavor\":\"nvidia-h200\",\"resource\":\"nvidia.com/gpu\",\"count\":2");
    assert_string_equal(applied(s, "more"), "true");
    assert_true(fits(s, 10, 12, SCENE_GPU, 10));
    assert_false(fits(s, 10, 12.25, SCENE_GPU, 10));
    window(s, "less", "Maintenance", 11, 14, "\"nodes\":[\"x1\"]");
    assert_string_equal(applied(s, "less"), "true");
    assert_false(fits(s, 11, 12, SCENE_GPU, 7));
    assert_true(fits(s, 11, 12, SCENE_GPU, 6));
    assert_true(fits(s, 12, 14, SCENE_GPU, 4));
    assert_false(fits(s, 12, 14, SCENE_GPU, 5));
    assert_true(fits(s, 14, 15, SCENE_GPU, 8));
    window(s, "later", "Added", 30, 0, "\"nodes\":[\"x2\"]");
    assert_string_equal(applied(s, "later"), "true");
    assert_false(fits(s, 20, 22, SCENE_GPU, 5));
    assert_true(fits(s, 30, 32, SCENE_GPU, 8));
    fake_world_delete(&s->w, "CapacityWindow", "", "less", "");
    scene_minutes(s, 1);
    assert_true(fits(s, 11, 12, SCENE_GPU, 6));
    scene_release(s);
}

static const char *conflict(struct scene *s, const char *name, const char *member) {
    return fake_world_text(fake_world_get(&s->w, "CapacityWindow", "", name), member);
}

/* A booking that could go on in either of two flavors is in the way of a window that takes both; it is named once. */
static void closed_in_every_flavor(void **state) {
    struct scene *s = scene(1);
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                          "\"metadata\":{\"name\":\"other\"},\"spec\":{\"nodeLabels\":{\"kind\":"
                          "\"other\"}}}");
    fake_world_patch(&s->w, "Cohort", "", "pool", "",
                     "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],"
                     "\"flavors\":[{\"name\":\"nvidia-h200\",\"resources\":[{\"name\":"
                     "\"nvidia.com/gpu\",\"nominalQuota\":\"1\"}]},{\"name\":\"other\","
                     "\"resources\":[{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":\"1\"}]}]}]}}");
    fake_world_put(&s->w,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"x1\","
                   "\"labels\":{\"kind\":\"other\"}},\"status\":{\"allocatable\":{"
                   "\"nvidia.com/gpu\":\"1\"},\"conditions\":[{\"type\":\"Ready\",\"status\":"
                   "\"True\"}]}}");
    scene_minutes(s, 1);
    assert_true(fits(s, 20, 22, SCENE_GPU, 1));
    scene_book(s, "a", "r", 10, 12, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    window(s, "one", "Blackout", 10, 12, "\"flavor\":\"other\",\"resource\":\"nvidia.com/gpu\"");
    assert_string_equal(applied(s, "one"), "true"); /* it is not in the way of this */
    fake_world_delete(&s->w, "CapacityWindow", "", "one", "");
    scene_minutes(s, 1);
    window(s, "w", "Blackout", 10, 12, "\"resource\":\"nvidia.com/gpu\"");
    assert_string_equal(applied(s, "w"), "false");
    assert_string_equal(conflict(s, "w", "status.conflicts.0.name"), "r");
    assert_string_equal(conflict(s, "w", "status.conflicts.1.name"), "");
    assert_phase(s, "a", "r", "Confirmed");
    assert_true(fits(s, 10, 12, SCENE_GPU, 1)); /* nothing of it stays */
    fake_world_delete(&s->w, "Reservation", "a", "r", "");
    scene_minutes(s, 1);
    fake_world_patch(&s->w, "CapacityWindow", "", "w", "", "{\"spec\":{\"reason\":\"now\"}}");
    scene_minutes(s, 1);
    assert_string_equal(applied(s, "w"), "true");
    assert_false(fits(s, 10, 12, SCENE_GPU, 1));
    scene_release(s);
}

/* A node that comes between two parts of a booking's time is away in both: it is named once. */
static void named_once(void **state) {
    struct scene *s = scene(1);
    scene_book(s, "a", "r", 10, 20, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    window(s, "w", "Added", 12, 14, "\"nodes\":[\"n1\"]");
    assert_string_equal(applied(s, "w"), "false");
    assert_string_equal(conflict(s, "w", "status.conflicts.0.name"), "r");
    assert_string_equal(conflict(s, "w", "status.conflicts.1.name"), "");
    scene_release(s);
}

/* Where the layout is not ours to choose, only what is carved can be booked. */
static void a_layout_that_stays(void **state) {
    struct scene *s = scene(2);
    assert_true(fits(s, 10, 12, SCENE_2G, 3));
    scene_carve(s, 2, 1);
    scene_policy(s, "{\"geometry\":\"static\"}");
    scene_minutes(s, 1);
    /* The second card has two slices; the first is whole. */
    assert_true(fits(s, 10, 12, SCENE_GPU, 1));
    assert_false(fits(s, 10, 12, SCENE_GPU, 2));
    assert_true(fits(s, 10, 12, SCENE_2G, 1));
    assert_false(fits(s, 10, 12, SCENE_2G, 2));
    assert_true(fits(s, 10, 12, SCENE_3G, 1));
    assert_false(fits(s, 10, 12, "nvidia.com/mig-1g.18gb", 1));
    scene_book(s, "a", "r", 10, 12, SCENE_2G, 1, NULL);
    scene_minutes(s, 1);
    assert_string_equal(scene_text(s, "a", "r", "status.plan.0.gpu"), "GPU-1");
    assert_string_equal(scene_text(s, "a", "r", "status.plan.0.start"), "0");
    scene_policy(s, "{\"geometry\":\"dynamic\"}");
    scene_minutes(s, 1);
    assert_true(fits(s, 12, 14, SCENE_GPU, 2));
    scene_release(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_back_is_never_booked),
        cmocka_unit_test(closed_units),
        cmocka_unit_test(closed_for_all),
        cmocka_unit_test(closed_over_a_booking),
        cmocka_unit_test(a_node_that_comes),
        cmocka_unit_test(a_node_that_comes_later_than_it_was_booked),
        cmocka_unit_test(nodes_of_others),
        cmocka_unit_test(closed_in_every_flavor),
        cmocka_unit_test(named_once),
        cmocka_unit_test(a_layout_that_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
