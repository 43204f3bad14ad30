/* Tests of the planner: the life of bookings, in order, on a clock that stands still until it is told to move. */
#include "control/kit/controller.h"
#include "control/test/reservation_scene.h"

static struct scene *scene(int gpus) {
    static struct scene s;
    scene_init(&s, gpus);
    return &s;
}

static void a_booking_lives_and_ends(void **state) {
    struct scene *s = scene(1);
    scene_book(s, "a", "r", 2, 6, SCENE_2G, 2, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "Confirmed");
    assert_reason(s, "a", "r", "Accepted");
    assert_string_equal(scene_text(s, "a", "r", "status.start"), scene_time(2));
    assert_string_equal(scene_text(s, "a", "r", "status.cost.committed"), "2");
    assert_string_equal(scene_text(s, "a", "r", "status.nextEvent.type"), "Prepare");
    assert_string_equal(scene_text(s, "a", "r", "status.nextEvent.at"), scene_time(2 - 5.0 / 60));
    assert_string_equal(scene_text(s, "a", "r", "status.observedGeneration"), "1");
    scene_hour(s, 1.97);
    assert_phase(s, "a", "r", "Preparing");
    scene_hour(s, 2.02);
    assert_phase(s, "a", "r", "Active");
    scene_hour(s, 5.6);
    assert_int_equal(fake_world_events(&s->w, "EndsSoon"), 1);
    scene_hour(s, 5.98);
    assert_int_equal(fake_world_events(&s->w, "EndsSoon"), 3);
    scene_hour(s, 6.01);
    assert_phase(s, "a", "r", "Ending");
    scene_hour(s, 6.1);
    assert_phase(s, "a", "r", "Ended");
    assert_string_equal(scene_text(s, "a", "r", "status.cost.charged"), "2");
    assert_int_equal(calendar_entries(reservation_controller_calendar(s->c)), 0);
    scene_release(s);
}

/* The clock is set hours ahead: what should have begun begins, what should have ended ends, without another word. */
static void bookings_follow_a_set_clock(void **state) {
    struct scene *s = scene(2);
    scene_book(s, "a", "soon", 2, 4, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "late", 5, 9, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "soon", "Confirmed");
    virtual_clock_set_wall(&s->w.clock,
                           SCENE_MIDNIGHT * NS_PER_SEC + 5 * 3600 * NS_PER_SEC + NS_PER_SEC);
    scene_minutes(s, 10);
    assert_string_not_equal(scene_text(s, "a", "soon", "status.phase"), "Confirmed");
    assert_string_equal(scene_text(s, "a", "late", "status.activeAt"), scene_time(5));
    scene_release(s);
}

static void of_two_who_want_the_last_one_wins(void **state) {
    struct scene *s = scene(1);
    scene_book(s, "a", "first", 2, 6, SCENE_GPU, 1, NULL);
    scene_book(s, "b", "second", 4, 8, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "first", "Confirmed");
    assert_phase(s, "b", "second", "Rejected");
    assert_reason(s, "b", "second", "NoCapacity");
    const struct object *o = fake_world_get(&s->w, "Reservation", "b", "second");
    assert_true(str_contains(o->json, STR("\"kind\":\"Later\"")));
    assert_true(str_contains(o->json, STR("\"limit\":\"capacity\"")));
    assert_false(str_contains(o->json, STR("first")));
    scene_release(s);
}

static void who_waits_gets_what_comes_free(void **state) {
    struct scene *s = scene(1);
    scene_book(s, "a", "first", 5, 9, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    scene_book(s, "b", "second", 5, 9, SCENE_GPU, 1, ",\"waitlist\":true");
    scene_book(s, "b", "third", 5, 9, SCENE_GPU, 1, ",\"waitlist\":true");
    scene_minutes(s, 1);
    assert_phase(s, "b", "second", "Waitlisted");
    assert_string_equal(scene_text(s, "b", "second", "status.waitlist.position"), "1");
    assert_string_equal(scene_text(s, "b", "third", "status.waitlist.position"), "2");
    scene_spec(s, "a", "first", "{\"cancel\":{\"reason\":\"no time\"}}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "first", "Cancelled");
    assert_phase(s, "b", "second", "Confirmed");
    assert_phase(s, "b", "third", "Waitlisted");
    assert_string_equal(scene_text(s, "b", "third", "status.waitlist.position"), "1");
    scene_hour(s, 5.1);
    assert_phase(s, "b", "third", "Expired");
    assert_reason(s, "b", "third", "TooLate");
    scene_release(s);
}

static void an_offer_is_claimed_or_goes_on(void **state) {
    struct scene *s = scene(1);
    const char *more = ",\"waitlist\":true,\"confirmOffer\":true";
    scene_book(s, "a", "first", 5, 9, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    scene_book(s, "b", "second", 5, 9, SCENE_GPU, 1, more);
    scene_book(s, "b", "third", 5, 9, SCENE_GPU, 1, more);
    scene_minutes(s, 1);
    fake_world_delete(&s->w, "Reservation", "a", "first", "");
    scene_minutes(s, 1);
    assert_phase(s, "b", "second", "Offered");
    scene_minutes(s, 31);
    assert_phase(s, "b", "second", "Waitlisted");
    assert_phase(s, "b", "third", "Offered");
    scene_spec(s, "b", "third", "{\"claim\":true}");
    scene_minutes(s, 1);
    assert_phase(s, "b", "third", "Confirmed");
    scene_release(s);
}

static void what_must_be_approved_is_held(void **state) {
    struct scene *s = scene(1);
    scene_policy(s, "{\"approval\":[{\"match\":{\"minUnits\":2},\"by\":\"manager\"},"
                    "{\"match\":{\"class\":\"production\"},\"by\":\"admin\"}]}");
    scene_minutes(s, 1);
    scene_book(s, "a", "small", 100, 104, SCENE_2G, 1, NULL);
    scene_book(s, "a", "large", 100, 104, SCENE_2G, 2, NULL);
    scene_book(s, "a", "late", 200, 204, SCENE_2G, 2, NULL);
    scene_book(s, "a", "prod", 100, 104, SCENE_GPU, 1, ",\"class\":\"production\"");
    scene_minutes(s, 1);
    assert_phase(s, "a", "small", "Confirmed");
    assert_phase(s, "a", "large", "PendingApproval");
    assert_reason(s, "a", "large", "NeedsManager");
    assert_phase(s, "a", "prod", "Rejected"); /* what is held is taken */
    scene_spec(s, "a", "large", "{\"approval\":{\"decision\":\"approve\"}}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "large", "Confirmed");
    scene_hour(s, 48.2);
    assert_phase(s, "a", "late", "Expired");
    scene_book(s, "a", "no", 100, 101, SCENE_2G, 1, ",\"class\":\"production\"");
    scene_minutes(s, 1);
    assert_phase(s, "a", "no", "Rejected");
    scene_book(s, "a", "no2", 110, 111, SCENE_2G, 1, ",\"class\":\"production\"");
    scene_minutes(s, 1);
    assert_reason(s, "a", "no2", "NeedsAdmin");
    scene_spec(s, "a", "no2", "{\"approval\":{\"decision\":\"reject\",\"reason\":\"not now\"}}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "no2", "Rejected");
    assert_string_equal(scene_text(s, "a", "no2", "status.message"), "not now");
    scene_release(s);
}

/* More than was approved is approved anew, less is not, and what needs nobody any more is not held. */
static void an_approval_is_for_what_it_was(void **state) {
    struct scene *s = scene(1);
    scene_policy(s, "{\"approval\":[{\"match\":{\"minUnits\":2},\"by\":\"manager\"}]}");
    scene_minutes(s, 1);
    scene_book(s, "a", "r", 100, 104, SCENE_2G, 2, ",\"approval\":{\"decision\":\"approve\"}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "Confirmed");
    scene_spec(s, "a", "r", "{\"approval\":null,\"end\":\"2026-03-05T07:00:00Z\"}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "Confirmed");
    scene_spec(s, "a", "r", "{\"end\":\"2026-03-05T08:00:00Z\"}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "PendingApproval");
    assert_reason(s, "a", "r", "NeedsManager");
    scene_spec(s, "a", "r", "{\"end\":\"2026-03-05T09:00:00Z\"}"); /* while it waits */
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "PendingApproval");
    assert_reason(s, "a", "r", "NeedsManager");
    scene_spec(s, "a", "r", "{\"lines\":[{\"resource\":\"nvidia.com/mig-2g.35gb\",\"count\":1}]}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "Confirmed");
    scene_release(s);
}

static void limits_are_named(void **state) {
    struct scene *s = scene(2);
    scene_policy(s, "{\"limits\":{\"user\":{\"concurrentUnits\":1},\"tenant\":{\"gpuHoursPerWeek\":"
                    "10}},\"maxDuration\":\"24h\"}");
    scene_minutes(s, 1);
    scene_book(s, "a", "r1", 10, 14, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "r2", 12, 16, SCENE_2G, 1, NULL);
    scene_book(s, "b", "r3", 10, 18, SCENE_GPU, 1, NULL);
    scene_book(s, "b", "r4", 10, 40, "nvidia.com/mig-1g.18gb", 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "r1", "Confirmed");
    assert_reason(s, "a", "r2", "LimitReached");
    assert_string_equal(scene_text(s, "a", "r2", "status.message"),
                        "a-user may have 1 units at one time; with this it would be 2");
    assert_reason(s, "b", "r3", "LimitReached");
    assert_string_equal(scene_text(s, "b", "r3", "status.message"),
                        "the tenant may book 10 GPU hours in any 7 days; with this it would be 12 "
                        "GPU hours");
    assert_string_equal(scene_text(s, "b", "r4", "status.message"),
                        "a booking may last 24h, and this is 30h (bookings without a gap count as "
                        "one)");
    scene_release(s);
}

/* The policy's own longest time too, where no scope has a limit. */
static void bookings_without_a_gap_are_one(void **state) {
    struct scene *s = scene(1);
    scene_policy(s, "{\"maxDuration\":\"6h\"}");
    scene_minutes(s, 1);
    scene_book(s, "a", "r1", 10, 14, SCENE_2G, 1, NULL);
    scene_book(s, "a", "on", 14, 17, SCENE_2G, 1, NULL);
    scene_book(s, "b", "other", 14, 17, SCENE_2G, 1, NULL);
    scene_book(s, "a", "gap", 14.25, 17.25, SCENE_2G, 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "r1", "Confirmed");
    assert_reason(s, "a", "on", "LimitReached");
    assert_string_equal(scene_text(s, "a", "on", "status.message"),
                        "a booking may last 6h, and this is 7h (bookings without a gap count as "
                        "one)");
    assert_phase(s, "b", "other", "Confirmed");
    assert_phase(s, "a", "gap", "Confirmed");
    scene_release(s);
}

static void lost_hardware_degrades(void **state) {
    struct scene *s = scene(2);
    static const bool second[] = {false, true}, both[] = {true, true};
    scene_book(s, "a", "r", 1, 9, SCENE_GPU, 1, NULL);
    scene_book(s, "b", "q", 1, 9, SCENE_GPU, 1, NULL);
    scene_book(s, "b", "later", 20, 24, SCENE_GPU, 2, NULL);
    scene_hour(s, 2);
    assert_phase(s, "a", "r", "Active");
    scene_node(s, 2, second);
    scene_minutes(s, 1);
    assert_phase(s, "b", "later", "Degraded");
    assert_reason(s, "b", "later", "HardwareLost");
    scene_node(s, 2, both);
    scene_minutes(s, 60);
    assert_phase(s, "a", "r", "Degraded");
    assert_phase(s, "b", "q", "Degraded");
    scene_node(s, 2, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "Active");
    assert_phase(s, "b", "later", "Confirmed");
    scene_hour(s, 9.2);
    assert_phase(s, "a", "r", "Ended");
    assert_true(strcmp(scene_text(s, "a", "r", "status.lost"), "") != 0);
    scene_release(s);
}

static void what_is_not_ready_is_not_charged(void **state) {
    struct scene *s = scene(1);
    s->no_hand = true;
    scene_book(s, "a", "r", 1, 3, SCENE_GPU, 1, NULL);
    scene_hour(s, 2);
    assert_phase(s, "a", "r", "Degraded");
    assert_reason(s, "a", "r", "NotReadyAtStart");
    fake_world_patch(&s->w, "Reservation", "a", "r", "status",
                     "{\"status\":{\"objects\":{\"ready\":true,\"drained\":false}}}");
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "Active");
    s->no_hand = false;
    scene_hour(s, 3.1);
    assert_phase(s, "a", "r", "Ended");
    assert_string_equal(scene_text(s, "a", "r", "status.cost.charged"), "1");
    scene_release(s);
}

static void use(struct scene *s, const char *ns, const char *name, int admitted) {
    char json[1000], uid[64];
    (void)snprintf(uid, sizeof uid, "%s", scene_text(s, ns, name, "metadata.uid"));
    if (fake_world_get(&s->w, "ClusterQueue", "", "rsv-x") == NULL) {
        (void)snprintf(json, sizeof json,
                       "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
                       "\"metadata\":{\"name\":\"rsv-x\",\"labels\":{\"berth.dev/reservation\":"
                       "\"%s\"},\"annotations\":{\"berth.dev/reservation-uid\":\"%s\"}},"
                       "\"spec\":{\"cohortName\":\"pool\"}}",
                       name, uid);
        fake_world_put(&s->w, json);
    }
    (void)snprintf(json, sizeof json, "{\"status\":{\"admittedWorkloads\":%d}}", admitted);
    fake_world_patch(&s->w, "ClusterQueue", "", "rsv-x", "status", json);
}

static void who_does_not_come_loses_it(void **state) {
    struct scene *s = scene(1);
    const char *more = ",\"noShow\":{\"after\":\"30m\",\"action\":\"release\"}";
    scene_book(s, "a", "empty", 1, 5, SCENE_GPU, 1, more);
    scene_book(s, "a", "warned", 6, 10, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "used", 11, 14, SCENE_GPU, 1, more);
    scene_hour(s, 1.48);
    assert_phase(s, "a", "empty", "Active");
    scene_hour(s, 1.6);
    assert_phase(s, "a", "empty", "Released");
    assert_reason(s, "a", "empty", "NoShow");
    scene_hour(s, 6.6);
    assert_phase(s, "a", "warned", "Active");
    assert_int_equal(fake_world_events(&s->w, "NotUsed"), 1);
    scene_hour(s, 11.2);
    use(s, "a", "used", 1);
    scene_hour(s, 13);
    assert_phase(s, "a", "used", "Active");
    use(s, "a", "used", 0);
    scene_hour(s, 13.4);
    assert_phase(s, "a", "used", "Active");
    scene_hour(s, 13.6);
    assert_phase(s, "a", "used", "Released");
    scene_release(s);
}

static void it_is_extended_on_its_own_place(void **state) {
    struct scene *s = scene(1);
    scene_book(s, "a", "r", 1, 3, SCENE_GPU, 1, NULL);
    scene_book(s, "b", "next", 5, 6, SCENE_GPU, 1, NULL);
    scene_hour(s, 2);
    scene_spec(s, "a", "r", "{\"end\":\"2026-03-01T04:00:00Z\"}");
    scene_minutes(s, 1);
    assert_string_equal(scene_text(s, "a", "r", "status.end"), scene_time(4));
    assert_string_equal(scene_text(s, "a", "r", "status.cost.committed"), "3");
    assert_string_equal(scene_text(s, "a", "r", "status.sequence"), "1");
    scene_spec(s, "a", "r", "{\"end\":\"2026-03-01T06:00:00Z\"}");
    scene_minutes(s, 1);
    assert_reason(s, "a", "r", "ChangeRefused");
    assert_phase(s, "a", "r", "Active");
    assert_string_equal(scene_text(s, "a", "r", "status.end"), scene_time(4));
    scene_hour(s, 4.1);
    assert_phase(s, "a", "r", "Ended");
    scene_release(s);
}

static void it_grows_while_work_runs(void **state) {
    struct scene *s = scene(1);
    scene_book(s, "a", "r", 1, 3, SCENE_GPU, 1, ",\"autoExtend\":{\"max\":\"2h\"}");
    scene_book(s, "b", "next", 4, 6, SCENE_GPU, 1, NULL);
    scene_hour(s, 1.1);
    use(s, "a", "r", 1);
    scene_hour(s, 2.9);
    assert_string_equal(scene_text(s, "a", "r", "status.end"), scene_time(3.5));
    scene_hour(s, 3.9);
    assert_string_equal(scene_text(s, "a", "r", "status.end"), scene_time(4));
    assert_string_equal(scene_text(s, "a", "r", "status.extended"), "1h0m0s");
    scene_hour(s, 4.1);
    assert_phase(s, "a", "r", "Ended");
    scene_release(s);
}

static void a_flexible_one_finds_its_time(void **state) {
    struct scene *s = scene(1);
    char more[300];
    scene_book(s, "a", "r", 8, 12, SCENE_GPU, 1, NULL);
    (void)snprintf(more, sizeof more,
                   ",\"flexible\":{\"earliest\":\"%s\",\"latest\":\"%s\",\"minDuration\":\"1h\"}",
                   scene_time(8), scene_time(16));
    scene_book(s, "b", "f", 9, 13, SCENE_GPU, 1, more);
    scene_minutes(s, 1);
    assert_phase(s, "b", "f", "Confirmed");
    assert_string_equal(scene_text(s, "b", "f", "status.start"), scene_time(12));
    assert_string_equal(scene_text(s, "b", "f", "status.end"), scene_time(16));
    scene_release(s);
}

static void windows_and_quotas_are_not_booked(void **state) {
    struct scene *s = scene(2);
    char json[1000];
    scene_book(s, "a", "r", 10, 12, SCENE_GPU, 2, NULL);
    scene_minutes(s, 1);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(
            json, sizeof json,
            "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"CapacityWindow\","
            "\"metadata\":{\"name\":\"w%d\"},\"spec\":{\"type\":\"Maintenance\",\"start\":"
            "\"%s\",\"end\":\"%s\",\"nodes\":[\"n1\"]}}",
            i, scene_time(i ? 20 : 11), scene_time(i ? 22 : 13));
        fake_world_put(&s->w, json);
    }
    scene_minutes(s, 1);
    const struct object *w = fake_world_get(&s->w, "CapacityWindow", "", "w0");
    assert_string_equal(fake_world_text(w, "status.applied"), "false");
    assert_true(str_contains(w->json, STR("\"name\":\"r\"")));
    w = fake_world_get(&s->w, "CapacityWindow", "", "w1");
    assert_string_equal(fake_world_text(w, "status.applied"), "true");
    scene_book(s, "a", "in", 21, 23, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "in", "Rejected");
    fake_world_patch(&s->w, "CapacityWindow", "", "w0", "", "{\"spec\":{\"force\":true}}");
    scene_minutes(s, 1);
    w = fake_world_get(&s->w, "CapacityWindow", "", "w0");
    assert_string_equal(fake_world_text(w, "status.applied"), "true");
    assert_phase(s, "a", "r", "Degraded");
    fake_world_put(&s->w,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
                   "\"metadata\":{\"name\":\"standing\"},\"spec\":{\"cohortName\":\"pool\","
                   "\"resourceGroups\":[{\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{"
                   "\"name\":\"nvidia-h200\",\"resources\":[{\"name\":\"nvidia.com/gpu\","
                   "\"nominalQuota\":\"1\"}]}]}]}}");
    scene_minutes(s, 1);
    scene_book(s, "a", "two", 40, 42, SCENE_GPU, 2, NULL);
    scene_book(s, "a", "one", 40, 42, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    assert_phase(s, "a", "two", "Rejected");
    assert_phase(s, "a", "one", "Confirmed");
    scene_release(s);
}

static void a_deleted_project_and_a_long_sleep(void **state) {
    struct scene *s = scene(1);
    scene_book(s, "a", "r", 10, 12, SCENE_GPU, 1, NULL);
    scene_book(s, "b", "missed", 20, 21, SCENE_GPU, 1, NULL);
    scene_minutes(s, 1);
    fake_world_patch(&s->w, "Namespace", "", "a", "",
                     "{\"metadata\":{\"deletionTimestamp\":\"2026-03-01T00:05:00Z\"}}");
    fake_world_patch(&s->w, "Namespace", "", "a", "", "{\"metadata\":{\"finalizers\":[\"x/y\"]}}");
    fake_world_delete(&s->w, "Namespace", "", "a", "");
    scene_minutes(s, 1);
    assert_phase(s, "a", "r", "Cancelled");
    assert_reason(s, "a", "r", "ProjectDeleted");
    controller_free(s->c);
    s->c = NULL;
    fake_world_run(&s->w, INT64_C(30) * 3600 * NS_PER_SEC);
    scene_restart(s);
    scene_minutes(s, 1);
    assert_phase(s, "b", "missed", "Ended");
    assert_reason(s, "b", "missed", "ControllerDown");
    assert_string_equal(scene_text(s, "b", "missed", "status.cost.charged"), "0");
    scene_release(s);
}

/* Edited while nobody was there: each is a change, judged as it would have been. */
static void what_was_edited_meanwhile_is_a_change(void **state) {
    struct scene *s = scene(1);
    scene_policy(s, "{\"approval\":[{\"match\":{\"minUnits\":2},\"by\":\"manager\"},{\"match\":{"
                    "\"class\":\"production\"},\"by\":\"admin\"}],\"limits\":{\"user\":{"
                    "\"maxDuration\":\"8h\"}}}");
    scene_minutes(s, 1);
    scene_book(s, "a", "more", 10, 14, SCENE_2G, 1, NULL);
    scene_book(s, "a", "higher", 20, 24, SCENE_2G, 1, NULL);
    scene_book(s, "a", "longer", 30, 34, SCENE_2G, 1, NULL);
    scene_book(s, "a", "moved", 40, 44, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "in-the-way", 50, 54, SCENE_GPU, 1, NULL);
    scene_book(s, "a", "same", 70, 74, SCENE_2G, 1, NULL);
    scene_minutes(s, 1);
    controller_free(s->c);
    s->c = NULL;
    scene_spec(s, "a", "more",
               "{\"lines\":[{\"resource\":\"nvidia.com/mig-2g.35gb\",\"count\":2}]}");
    scene_spec(s, "a", "higher", "{\"class\":\"production\"}");
    scene_spec(s, "a", "longer", "{\"end\":\"2026-03-02T16:00:00Z\"}");
    scene_spec(s, "a", "moved",
               "{\"start\":\"2026-03-03T12:00:00Z\",\"end\":"
               "\"2026-03-03T15:00:00Z\"}");
    scene_spec(s, "a", "in-the-way",
               "{\"start\":\"2026-03-03T13:00:00Z\",\"end\":"
               "\"2026-03-03T17:00:00Z\"}");
    scene_spec(s, "a", "same", "{\"purpose\":\"a word\"}");
    scene_restart(s);
    scene_minutes(s, 1);
    assert_phase(s, "a", "more", "PendingApproval");
    assert_reason(s, "a", "more", "NeedsManager");
    assert_phase(s, "a", "higher", "PendingApproval");
    assert_reason(s, "a", "higher", "NeedsAdmin");
    assert_phase(s, "a", "longer", "Confirmed");
    assert_reason(s, "a", "longer", "ChangeRefused");
    assert_string_equal(scene_text(s, "a", "longer", "status.refusals.0.limit"), "maxDuration");
    assert_string_equal(scene_text(s, "a", "longer", "status.end"), scene_time(34));
    /* Of two that want one place each time the one that comes first has it; the other stays where it was. */
    bool first = strcmp(scene_text(s, "a", "moved", "status.reason"), "ChangeRefused") != 0;
    assert_string_equal(scene_text(s, "a", first ? "in-the-way" : "moved", "status.reason"),
                        "ChangeRefused");
    assert_string_equal(scene_text(s, "a", "moved", "status.start"), scene_time(first ? 60 : 40));
    assert_string_equal(scene_text(s, "a", "in-the-way", "status.start"),
                        scene_time(first ? 50 : 61));
    assert_phase(s, "a", "same", "Confirmed");
    assert_string_equal(scene_text(s, "a", "same", "status.observedGeneration"), "2");
    scene_release(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_booking_lives_and_ends),
        cmocka_unit_test(bookings_follow_a_set_clock),
        cmocka_unit_test(of_two_who_want_the_last_one_wins),
        cmocka_unit_test(who_waits_gets_what_comes_free),
        cmocka_unit_test(an_offer_is_claimed_or_goes_on),
        cmocka_unit_test(what_must_be_approved_is_held),
        cmocka_unit_test(an_approval_is_for_what_it_was),
        cmocka_unit_test(limits_are_named),
        cmocka_unit_test(bookings_without_a_gap_are_one),
        cmocka_unit_test(lost_hardware_degrades),
        cmocka_unit_test(what_is_not_ready_is_not_charged),
        cmocka_unit_test(who_does_not_come_loses_it),
        cmocka_unit_test(it_is_extended_on_its_own_place),
        cmocka_unit_test(it_grows_while_work_runs),
        cmocka_unit_test(a_flexible_one_finds_its_time),
        cmocka_unit_test(windows_and_quotas_are_not_booked),
        cmocka_unit_test(a_deleted_project_and_a_long_sleep),
        cmocka_unit_test(what_was_edited_meanwhile_is_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
