/*
 * Tests that nothing that decides is lost: each allocation that controllers make while they hear of a change fails
 * once, and what comes of the change is the same a little later.
 */
#include "base/test.h"
#include "control/book/reservation.h"
#include "control/book/reservation_private.h"
#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"
#include "control/test/reservation_scene.h"

/* ---- queues ---- */

#define KUEUE "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"
#define QUEUE(cpu)                                                                                 \
    "\"spec\":{\"namespaceSelector\":{},\"cohortName\":\"co\",\"resourceGroups\":[{"               \
    "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"        \
    "\"cpu\",\"nominalQuota\":\"" cpu "\"}]}]}]}"
#define WORKLOAD                                                                                   \
    KUEUE "\"Workload\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},\"spec\":{"        \
          "\"queueName\":\"lq\",\"active\":true,\"podSets\":[{\"name\":\"main\",\"count\":1,"      \
          "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","   \
          "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"3\"}}}]}}}]}}"

enum queue_change {
    A_FLAVOR,
    A_QUEUE,
    A_QUOTA,
    A_COHORT,
    A_LOCAL_QUEUE,
    A_LOCAL_QUEUE_LESS,
    CHANGES
};

static void put(struct fake_world *w, bool now, const char *json) {
    if (now) {
        fake_world_put(w, json);
    }
}

/* All that the workload needs, but for what the change brings; or only that. */
static void queue_objects(struct fake_world *w, enum queue_change x, bool change) {
    put(w, (x == A_FLAVOR) == change, KUEUE "\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"}}");
    put(w, (x == A_COHORT) == change,
        KUEUE "\"Cohort\",\"metadata\":{\"name\":\"co\"},\"spec\":{\"resourceGroups\":[{"
              "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{"
              "\"name\":\"cpu\",\"nominalQuota\":\"2\"}]}]}]}}");
    put(w, (x == A_LOCAL_QUEUE) == change,
        KUEUE "\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"default\"},\"spec\":{"
              "\"clusterQueue\":\"cq\"}}");
    if (x == A_QUOTA && change) {
        fake_world_patch(w, "ClusterQueue", "", "cq", "", "{" QUEUE("1") "}");
    } else if (x == A_QUOTA) {
        fake_world_put(w, KUEUE "\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"}," QUEUE("0") "}");
    } else {
        put(w, (x == A_QUEUE) == change,
            KUEUE "\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"}," QUEUE("1") "}");
    }
    if (x == A_LOCAL_QUEUE_LESS && change) {
        fake_world_delete(w, "LocalQueue", "default", "lq", NULL);
    }
}

static bool one_change(enum queue_change x, uint64_t nth) {
    struct fake_world w;
    struct err err = {0};
    fake_world_init(&w);
    fake_world_put(&w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                       "\"default\"}}");
    queue_objects(&w, x, false);
    struct queue_controller *q = controller_new(&queue_controller, &w.env, &err);
    assert_non_null(q);
    fake_world_run(&w, 5 * NS_PER_SEC);
    fake_world_sabotage(&w, nth);
    queue_objects(&w, x, true);
    fake_world_run(&w, NS_PER_MS / 2);
    bool hit = fake_world_spare(&w);
    fake_world_put(&w, WORKLOAD);
    fake_world_run(&w, 20 * NS_PER_SEC);
    const struct object *o = fake_world_get(&w, "Workload", "default", "a");
    const char *want = x == A_LOCAL_QUEUE_LESS ? "False" : "True";
    if (strcmp(fake_world_condition(o, "QuotaReserved"), want) != 0) {
        fail_msg("change %d, allocation %llu: %s", (int)x, (unsigned long long)nth,
                 fake_world_condition_message(o, "QuotaReserved"));
    }
    controller_free(q);
    fake_world_release(&w);
    return hit;
}

static void queues_hear_of_everything(void **state) {
    for (int x = 0; x < CHANGES; x++) {
        uint64_t nth = 1;
        while (one_change((enum queue_change)x, nth)) {
            nth++;
        }
        assert_true(nth > 1);
    }
}

/* ---- bookings ---- */

static bool one_booking(uint64_t nth, bool edit) {
    static struct scene s;
    scene_init(&s, 1);
    if (edit) {
        scene_book(&s, "a", "r", 2, 4, SCENE_GPU, 1, NULL);
        scene_minutes(&s, 1);
    }
    fake_world_sabotage(&s.w, nth);
    if (edit) {
        scene_spec(&s, "a", "r", "{\"end\":\"2026-03-01T06:00:00Z\"}");
    } else {
        scene_book(&s, "a", "r", 2, 6, SCENE_GPU, 1, NULL);
    }
    fake_world_run(&s.w, NS_PER_MS / 2);
    bool hit = fake_world_spare(&s.w);
    scene_minutes(&s, 1);
    if (strcmp(scene_text(&s, "a", "r", "status.phase"), "Confirmed") != 0 ||
        strcmp(scene_text(&s, "a", "r", "status.end"), scene_time(6)) != 0) {
        fail_msg("edit %d, allocation %llu: %s", edit, (unsigned long long)nth,
                 scene_text(&s, "a", "r", "status"));
    }
    scene_release(&s);
    return hit;
}

static void every_booking_is_decided(void **state) {
    for (int edit = 0; edit < 2; edit++) {
        uint64_t nth = 1;
        while (one_booking(nth, edit)) {
            nth++;
        }
        assert_true(nth > 5);
    }
}

/* So long that no arena has room for it from before: also reading it at its turn is tried without memory. */
static bool one_long_booking(uint64_t nth, char *json) {
    static struct scene s;
    scene_init(&s, 1);
    scene_minutes(&s, 1);
    fake_world_sabotage(&s.w, nth);
    fake_world_put(&s.w, json);
    fake_world_run(&s.w, NS_PER_MS / 2);
    bool hit = fake_world_spare(&s.w);
    scene_minutes(&s, 1);
    if (strcmp(scene_text(&s, "a", "r", "status.phase"), "Confirmed") != 0) {
        fail_msg("allocation %llu: %s", (unsigned long long)nth,
                 scene_text(&s, "a", "r", "status"));
    }
    scene_release(&s);
    return hit;
}

static void a_booking_that_cannot_be_read_is_decided_later(void **state) {
    enum { LONG = 200000 };
    static char json[LONG + 1000];
    char from[40], to[40];
    (void)str_copy(str_of(scene_time(2)), from, sizeof from);
    (void)str_copy(str_of(scene_time(6)), to, sizeof to);
    int n = snprintf(json, sizeof json,
                     "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"spec\":{"
                     "\"start\":\"%s\",\"end\":\"%s\",\"lines\":[{\"resource\":\"" SCENE_GPU
                     "\",\"count\":1}]},\"metadata\":{\"namespace\":\"a\",\"name\":\"r\","
                     "\"annotations\":{\"x\":\"",
                     from, to);
    memset(json + n, 'x', LONG);
    (void)snprintf(json + n + LONG, sizeof json - (size_t)n - LONG, "\"}}}");
    uint64_t nth = 1;
    while (one_long_booking(nth, json)) {
        nth++;
    }
    assert_true(nth > 5);
}

/* An edit is heard of by a digest of what is asked for. Nobody makes two edits of one digest. */
static void edits_are_told_apart(void **state) {
    struct reservation_line line = {.resource = STR(SCENE_GPU), .count = 1};
    struct reservation_spec x = {.lines = {&line, 1}, .class_name = STR("8yn0iYCKYHlIj4-BwPqk")};
    struct reservation_spec y = x;
    y.class_name = STR("GReLUrM4wMqfg9yzV3KQ");
    assert_int_equal(str_hash(x.class_name), str_hash(y.class_name));
    assert_true(plan_want_hash(&x) != plan_want_hash(&y));
    assert_true(plan_want_hash(&x) == plan_want_hash(&x));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_hear_of_everything),
        cmocka_unit_test(every_booking_is_decided),
        cmocka_unit_test(edits_are_told_apart),
        cmocka_unit_test(a_booking_that_cannot_be_read_is_decided_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
