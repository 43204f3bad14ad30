/* Tests of booking_objects: what becomes of a booking, from phase to phase. */
#include "control/test/booking_objects_scene.h"

/* From Preparing to gone: objects, quota, status. */
static void life(void **state) {
    struct scene s;
    start(&s);
    assert_int_equal(pool(&s), 6);
    book(&s, "a", 60, 120, 1, "");
    phase(&s, "a", "Confirmed", PLAN1);
    settle(&s);
    assert_null(queue_of(&s, "a"));
    phase(&s, "a", "Preparing", PLAN1);
    settle(&s);
    const struct object *q = queue_of(&s, "a");
    is_text(q, "spec.stopPolicy", "Hold");
    is_text(q, "spec.cohortName", "pool");
    assert_true(str_contains(q->json, STR("\"matchLabels\":{\"kubernetes.io/metadata.name\":"
                                          "\"team\"}")));
    assert_true(str_contains(q->json, STR("\\\"gpu\\\":\\\"GPU-n1-0\\\"")));
    assert_int_equal(nominal_of(q, SLICE), 0);
    assert_int_equal(pool(&s), 6);
    is_text(get(&s, "LocalQueue", "team", "rsv-a"), "spec.stopPolicy", "None");
    is_text(get(&s, "HardwareProfile", "team", "rsv-a-mig-2g.35gb"),
            "spec.scheduling.kueue.localQueueName", "rsv-a");
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "true");
    until(&s, 60);
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    q = queue_of(&s, "a");
    is_text(q, "spec.stopPolicy", "None");
    assert_int_equal(nominal_of(q, SLICE), 1);
    assert_int_equal(pool(&s), 5);
    assert_true(str_contains(q->json, STR("{\"name\":\"cpu\",\"nominalQuota\":\"2\"}")));
    assert_true(
        str_contains(q->json, STR("\"borrowingLimit\":\"0\""))); /* no more than was booked */
    assert_false(str_contains(q->json, STR("lendingLimit")));
    assert_true(str_contains(q->json, STR("{\"name\":\"memory\",\"nominalQuota\":\"8Gi\"}")));
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "true");
    uint64_t writes = s.w.writes;
    settle(&s);
    assert_int_equal(s.w.writes, writes); /* and then nobody writes */
    until(&s, 120);
    phase(&s, "a", "Ending", PLAN1);
    settle(&s);
    assert_int_equal(pool(&s), 6);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "true");
    assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 0);
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
    assert_null(get(&s, "LocalQueue", "team", "rsv-a"));
    phase(&s, "a", "Ended", PLAN1);
    settle(&s);
    writes = s.w.writes;
    settle(&s);
    assert_int_equal(s.w.writes, writes);
    assert_true(s.sums > 4);
    end(&s);
}

/* What could not be written is written again, although nothing else has changed. */
static void refused(void **state) {
    static const char *const kinds[] = {"HardwareProfile", "LocalQueue"};
    struct scene s;
    start(&s);
    book(&s, "a", 0, 600, 1, "");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    for (int fault = FAULT_REFUSED; fault <= FAULT_CONFLICT; fault++) {
        for (size_t i = 0; i < 2; i++) {
            const char *name = i == 0 ? "rsv-a-mig-2g.35gb" : "rsv-a";
            s.w.fail_at = 1;
            s.w.fault = (enum fake_fault)fault;
            fake_world_delete(&s.w, kinds[i], "team", name, "");
            fake_world_run(&s.w, 30 * NS_PER_SEC);
            assert_int_equal(s.w.fail_at, 0);
            assert_non_null(get(&s, kinds[i], "team", name));
            is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "true");
        }
    }
    job(&s, "team", "runs", "rsv-a",
        1); /* so that it stays a while after its end, and its status as it is */
    fake_world_live(&s.w, 5);
    phase(&s, "a", "Ending", PLAN1);
    settle(&s);
    const char *profile = "rsv-a-mig-2g.35gb", *queue = "spec.scheduling.kueue.localQueueName";
    s.w.fail_at = 2; /* after the Event */
    s.w.fault = FAULT_REFUSED;
    fake_world_patch(&s.w, "HardwareProfile", "team", profile, "",
                     "{\"spec\":{\"scheduling\":{\"kueue\":{\"localQueueName\":\"other\"}}}}");
    fake_world_run(&s.w, 30 * NS_PER_SEC);
    assert_int_equal(s.w.fail_at, 0);
    is_text(get(&s, "HardwareProfile", "team", profile), queue, "rsv-a");
    end(&s);
}

/* Its ClusterQueue is deleted while work runs there, so it stays until that has gone; and that goes at the end. */
static void deleted(void **state) {
    struct scene s;
    start(&s);
    book(&s, "a", 0, 60, 1, ",\"endPolicy\":\"drain\"");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    job(&s, "team", "runs", "rsv-a", 1);
    fake_world_live(&s.w, 5);
    assert_true(admitted(&s, "team", "runs"));
    char name[64];
    str_copy(queue_of(&s, "a")->name, name, sizeof(name));
    fake_world_delete(&s.w, "ClusterQueue", "", name, "");
    fake_world_live(&s.w, 5);
    assert_true(admitted(&s, "team", "runs"));
    assert_non_null(get(&s, "ClusterQueue", "", name));
    until(&s, 60);
    phase(&s, "a", "Ending", PLAN1);
    fake_world_live(&s.w, 60);
    assert_false(admitted(&s, "team", "runs"));
    assert_null(get(&s, "ClusterQueue", "", name));
    assert_int_equal(pool(&s), 6);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "true");
    end(&s);
}

/* GPUs of an exclusive booking are lent to nobody. */
static void alone(void **state) {
    struct scene s;
    start(&s);
    book(&s, "a", 0, 120, 1, ",\"exclusive\":true");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    assert_true(str_contains(queue_of(&s, "a")->json,
                             STR("\"borrowingLimit\":\"0\",\"lendingLimit\":\"0\"")));
    end(&s);
}

/* Deleted objects come back, edits are undone and told; what others add stays. */
static void edits(void **state) {
    struct scene s;
    start(&s);
    book(&s, "a", 0, 120, 2, "");
    phase(&s, "a", "Active", "");
    settle(&s);
    const struct object *q = queue_of(&s, "a");
    char name[64];
    snprintf(name, sizeof(name), "%.*s", STR_ARG(q->name));
    assert_int_equal(nominal_of(q, SLICE), 2);
    s.most = 100; /* what people write is not for us to answer for */
    fake_world_patch(
        &s.w, "ClusterQueue", "", name, "",
        "{\"spec\":{\"namespaceSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"fairSharing\":{"
        "\"weight\":\"2\"}}}");
    settle(&s);
    q = queue_of(&s, "a");
    assert_true(
        str_contains(q->json, STR("\"matchLabels\":{\"kubernetes.io/metadata.name\":\"team\"}}")));
    is_text(q, "spec.fairSharing.weight", "2");
    assert_int_equal(fake_world_events(&s.w, "Reverted"), 1);
    fake_world_patch(&s.w, "LocalQueue", "team", "rsv-a", "",
                     "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    fake_world_delete(&s.w, "HardwareProfile", "team", "rsv-a-mig-2g.35gb", "");
    settle(&s);
    is_text(get(&s, "LocalQueue", "team", "rsv-a"), "spec.stopPolicy", "None");
    assert_non_null(get(&s, "HardwareProfile", "team", "rsv-a-mig-2g.35gb"));
    fake_world_delete(&s.w, "LocalQueue", "team", "rsv-a", "");
    fake_world_delete(&s.w, "ClusterQueue", "", name, "");
    settle(&s);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 2);
    assert_non_null(get(&s, "LocalQueue", "team", "rsv-a"));
    /* the pool's quota is nobody's to raise */
    int64_t was = pool(&s);
    struct str json = get(&s, "Cohort", "", "pool")->json;
    (void)json;
    fake_world_patch(&s.w, "Cohort", "", "pool", "", "{\"spec\":{\"resourceGroups\":null}}");
    settle(&s);
    assert_int_equal(pool(&s), was);
    end(&s);
}

/* Quota that others have as their own is not the pool's. */
static void standing(void **state) {
    struct scene s;
    start(&s);
    s.most = 100;
    fake_world_put(&s.w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\","
                         "\"metadata\":{\"name\":\"own\"},\"spec\":{\"namespaceSelector\":{},"
                         "\"resourceGroups\":[{\"coveredResources\":[\"" SLICE "\"],\"flavors\":[{"
                         "\"name\":\"nvidia-h200\",\"resources\":[{\"name\":\"" SLICE "\","
                         "\"nominalQuota\":\"4\"}]}]}]}}");
    settle(&s);
    assert_int_equal(pool(&s), 2);
    s.most = 6;
    book(&s, "a", 0, 120, 3, "");
    phase(&s, "a", "Active", "");
    settle(&s);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 2);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "false");
    assert_true(
        strstr(fake_world_text(get(&s, "Reservation", "team", "a"), "status.objects.message"),
               "2 of 3") != NULL);
    fake_world_delete(&s.w, "ClusterQueue", "", "own", "");
    settle(&s);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 3);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.ready", "true");
    assert_int_equal(pool(&s), 3);
    node(&s, "n2", 1); /* hardware is added */
    s.most = 9;
    settle(&s);
    assert_int_equal(pool(&s), 6);
    end(&s);
}

/* A data folder from before: it is said, nothing is touched; and when the queue is moved, the pool is made. */
static void from_before(void **state) {
    struct scene s;
    start(&s);
    fake_world_delete(&s.w, "Cohort", "", "pool", "");
    s.most = 100;
    fake_world_patch(
        &s.w, "ClusterQueue", "", "default", "",
        "{\"spec\":{\"cohortName\":null,\"resourceGroups\":[{\"coveredResources\":[\"" SLICE
        "\"],\"flavors\":[{\"name\":\"nvidia-h200\",\"resources\":[{\"name\":\"" SLICE
        "\",\"nominalQuota\":\"6\"}]}]}]}}");
    settle(&s);
    assert_null(get(&s, "Cohort", "", "pool"));
    assert_int_equal(fake_world_events(&s.w, "OwnsTheMachine"), 1);
    fake_world_patch(
        &s.w, "ClusterQueue", "", "default", "",
        "{\"spec\":{\"cohortName\":\"pool\",\"resourceGroups\":[{\"coveredResources\":[\"" SLICE
        "\"],\"flavors\":[{\"name\":\"nvidia-h200\",\"resources\":[{\"name\":\"" SLICE
        "\",\"nominalQuota\":\"0\"}]}]}]}}");
    settle(&s);
    assert_int_equal(pool(&s), 6);
    end(&s);
}

/* The owner's job takes back what a borrower has; another project may not send work there. */
static void reclaim(void **state) {
    struct scene s;
    start(&s);
    job(&s, "default", "big", "default", 6);
    settle(&s);
    assert_true(admitted(&s, "default", "big"));
    book(&s, "a", 0, 120, 1, "");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    assert_true(admitted(&s, "default", "big")); /* nobody needs it yet */
    job(&s, "team", "mine", "rsv-a", 1);
    fake_world_live(&s.w, 5);
    assert_true(admitted(&s, "team", "mine"));
    assert_false(admitted(&s, "default", "big"));
    char q[64];
    snprintf(q, sizeof(q), "%.*s", STR_ARG(queue_of(&s, "a")->name));
    char json[512];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\",\"metadata\":{"
             "\"name\":\"sly\",\"namespace\":\"default\"},\"spec\":{\"clusterQueue\":\"%s\"}}",
             q);
    fake_world_put(&s.w, json);
    job(&s, "default", "sly", "sly", 1);
    settle(&s);
    assert_false(admitted(&s, "default", "sly"));
    end(&s);
}

/* The plan's place is the pod's, whoever sits there; others stay away from it while they can. */
static void place(void **state) {
    struct scene s;
    start(&s);
    book(&s, "a", 30, 120, 1, "");
    phase(&s, "a", "Preparing", PLAN1);
    settle(&s);
    job(&s, "default", "five", "default", 5);
    fake_world_live(&s.w, 3);
    assert_true(admitted(&s, "default", "five"));
    assert_false(str_contains(workload(&s, "default", "five")->json,
                              STR("\\\"gpu\\\":\\\"GPU-n1-0\\\",\\\"profile\\\":\\\"2g.35gb\\\","
                                  "\\\"start\\\":4")));
    job(&s, "default", "last", "default", 1);
    fake_world_live(&s.w, 3);
    assert_true(admitted(&s, "default", "last")); /* there is no other */
    until(&s, 30);
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    job(&s, "team", "mine", "rsv-a", 1);
    fake_world_live(&s.w, 8);
    assert_true(admitted(&s, "team", "mine"));
    assert_true(str_contains(workload(&s, "team", "mine")->json,
                             STR("\\\"gpu\\\":\\\"GPU-n1-0\\\",\\\"profile\\\":\\\"2g.35gb\\\","
                                 "\\\"start\\\":4")));
    assert_false(admitted(&s, "default", "last")); /* he sat there */
    assert_true(admitted(&s, "default", "five"));
    end(&s);
}

/* demote: what runs borrows; what waits goes home; nothing is left in the end. */
static void demote(void **state) {
    struct scene s;
    start(&s);
    fake_world_put(&s.w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\","
                         "\"metadata\":{\"name\":\"default\",\"namespace\":\"team\"},\"spec\":"
                         "{\"clusterQueue\":\"default\"}}");
    fake_world_put(&s.w, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationPolicy\","
                         "\"metadata\":{\"name\":\"default\"},\"spec\":{\"overstay\":\"10m\","
                         "\"warnings\":[\"30m\",\"15m\",\"5m\"]}}");
    book(&s, "a", 0, 60, 1, "");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    job(&s, "team", "runs", "rsv-a", 1);
    fake_world_live(&s.w, 5);
    job(&s, "team", "waits", "rsv-a", 1);
    settle(&s);
    assert_true(admitted(&s, "team", "runs"));
    assert_false(admitted(&s, "team", "waits"));
    until(&s, 29);
    is_text(workload(&s, "team", "runs"), "metadata.annotations.berth", "");
    assert_int_equal(fake_world_events(&s.w, "ReservationEnding"), 0);
    until(&s, 59);
    assert_int_equal(fake_world_events(&s.w, "ReservationEnding"), 3); /* 30, 15, 5 minutes */
    assert_true(str_contains(workload(&s, "team", "runs")->json,
                             STR("\"berth.dev/reservation-warning\":\"5m\"")));
    until(&s, 60);
    phase(&s, "a", "Ending", PLAN1);
    settle(&s);
    assert_int_equal(pool(&s), 6);
    assert_int_equal(nominal_of(queue_of(&s, "a"), SLICE), 0);
    is_text(get(&s, "LocalQueue", "team", "rsv-a"), "spec.stopPolicy", "Hold");
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "false");
    assert_true(admitted(&s, "team", "runs"));
    assert_true(admitted(&s, "team", "waits")); /* in the project's own queue, by borrowing */
    is_text(workload(&s, "team", "waits"), "spec.queueName", "default");
    assert_true(str_contains(get(&s, "Job", "team", "waits")->json,
                             STR("from LocalQueue rsv-a: reservation a ended at")));
    until(&s, 71); /* it stayed too long */
    fake_world_live(&s.w, 5);
    assert_null(queue_of(&s, "a"));
    assert_null(get(&s, "LocalQueue", "team", "rsv-a"));
    is_text(workload(&s, "team", "runs"), "spec.queueName", "default");
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "true");
    end(&s);
}

/* hard: free at the end; drain: no new work before it. */
static void ends(void **state) {
    struct scene s;
    start(&s);
    book(&s, "h", 0, 60, 1, ",\"endPolicy\":\"hard\"");
    book(&s, "d", 0, 60, 1, ",\"endPolicy\":\"drain\"");
    phase(&s, "h", "Active", "");
    phase(&s, "d", "Active", "");
    settle(&s);
    job(&s, "team", "h", "rsv-h", 1);
    job(&s, "team", "d", "rsv-d", 1);
    fake_world_live(&s.w, 5);
    until(&s, 54);
    is_text(queue_of(&s, "d"), "spec.stopPolicy", "None");
    until(&s, 56);
    is_text(queue_of(&s, "d"), "spec.stopPolicy", "Hold");
    is_text(queue_of(&s, "h"), "spec.stopPolicy", "None");
    assert_true(admitted(&s, "team", "d"));
    until(&s, 59);
    assert_true(admitted(&s, "team", "h"));
    fake_world_live(&s.w, 40); /* a pod has 30 s */
    is_text(queue_of(&s, "h"), "spec.stopPolicy", "HoldAndDrain");
    assert_false(admitted(&s, "team", "h"));
    assert_true(admitted(&s, "team", "d"));
    until(&s, 60);
    phase(&s, "h", "Ending", "");
    phase(&s, "d", "Ending", "");
    fake_world_live(&s.w, 5);
    assert_false(admitted(&s, "team", "d"));
    assert_int_equal(pool(&s), 6);
    assert_int_equal(fake_world_count(&s.w, "LocalQueue"), 1); /* default/default */
    end(&s);
}

/* Back to back: the same objects go on, and what runs is not told of an end. */
static void back_to_back(void **state) {
    struct scene s;
    char name[64];
    start(&s);
    book(&s, "a", 0, 60, 1, ",\"endPolicy\":\"hard\"");
    book(&s, "b", 60, 120, 1, ",\"endPolicy\":\"hard\"");
    phase(&s, "a", "Active", PLAN1);
    settle(&s);
    snprintf(name, sizeof(name), "%.*s", STR_ARG(queue_of(&s, "a")->name));
    job(&s, "team", "j", "rsv-a", 1);
    phase(&s, "b", "Confirmed", ",\"start\":\"2026-01-01T01:00:00Z\"" PLAN1);
    fake_world_live(&s.w, 5);
    until(&s, 55);
    assert_int_equal(fake_world_events(&s.w, "ReservationEnding"), 0);
    phase(&s, "b", "Preparing", PLAN1);
    settle(&s);
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 2);
    is_text(get(&s, "Reservation", "team", "b"), "status.objects.ready", "true");
    until(&s, 60);
    phase(&s, "a", "Ending", PLAN1);
    settle(&s);
    phase(&s, "b", "Active", PLAN1);
    settle(&s);
    assert_non_null(get(&s, "ClusterQueue", "", name));
    is_text(get(&s, "Reservation", "team", "b"), "status.objects.clusterQueue", name);
    is_text(get(&s, "Reservation", "team", "b"), "status.objects.localQueue", "rsv-a");
    is_text(get(&s, "Reservation", "team", "a"), "status.objects.drained", "true");
    is_text(get(&s, "LocalQueue", "team", "rsv-a"), "spec.stopPolicy", "None");
    assert_int_equal(nominal_of(get(&s, "ClusterQueue", "", name), SLICE), 1);
    assert_true(admitted(&s, "team", "j"));
    assert_int_equal(fake_world_events(&s.w, "Evicted"), 0);
    phase(&s, "a", "Ended", PLAN1);
    until(&s, 120);
    phase(&s, "b", "Ending", PLAN1);
    fake_world_live(&s.w, 5);
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 1);
    assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 0);
    end(&s);
}

/* The Reservation, or its whole project, is deleted: nothing stays behind. */
static void gone(void **state) {
    struct scene s;
    start(&s);
    book(&s, "a", 0, 60, 1, "");
    book(&s, "b", 0, 60, 1, "");
    phase(&s, "a", "Active", "");
    phase(&s, "b", "Active", "");
    settle(&s);
    assert_int_equal(pool(&s), 4);
    fake_world_delete(&s.w, "Reservation", "team", "a", "");
    settle(&s);
    assert_int_equal(pool(&s), 5);
    assert_null(get(&s, "LocalQueue", "team", "rsv-a"));
    assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 1);
    stop(&s); /* while nobody looks, ClusterQueue and Reservation go */
    char name[64];
    snprintf(name, sizeof(name), "%.*s", STR_ARG(queue_of(&s, "b")->name));
    fake_world_patch(&s.w, "ClusterQueue", "", name, "", "{\"metadata\":{\"finalizers\":null}}");
    fake_world_delete(&s.w, "ClusterQueue", "", name, "");
    fake_world_delete(&s.w, "Reservation", "team", "b", "");
    controllers(&s);
    settle(&s);
    assert_int_equal(pool(&s), 6);
    assert_int_equal(fake_world_count(&s.w, "HardwareProfile"), 0);
    assert_null(get(&s, "LocalQueue", "team", "rsv-b"));
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(life),        cmocka_unit_test(refused),  cmocka_unit_test(deleted),
        cmocka_unit_test(edits),       cmocka_unit_test(standing), cmocka_unit_test(reclaim),
        cmocka_unit_test(from_before), cmocka_unit_test(place),    cmocka_unit_test(demote),
        cmocka_unit_test(ends),        cmocka_unit_test(gone),     cmocka_unit_test(back_to_back),
        cmocka_unit_test(alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
