/* Scenario tests of elastic Jobs: Jobs, queues and the queue's Workloads together, in a fake world. */
#include "control/test/life_scene.h"

#define ELASTIC "\"kueue.x-k8s.io/elastic-job\":\"true\""

static void job(struct scene *s, const char *name, const char *q, int pods, const char *notes) {
    char json[2048];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"%s\"},"
             "\"annotations\":{%s}},\"spec\":{\"suspend\":true,\"parallelism\":%d,\"template\":{"
             "\"spec\":{\"restartPolicy\":\"Never\",\"schedulingGates\":[{\"name\":"
             "\"kueue.x-k8s.io/elastic-job\"}],\"containers\":[{\"name\":\"c\",\"image\":\"i\","
             "\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}",
             name, q, notes, pods);
    fake_world_put(&s->w, json);
}

static void start(struct scene *s, int quota, int pods) {
    scene_start(s);
    scene_controllers(s);
    scene_flavor(s, "f");
    scene_queue(s, "q", quota, "");
    job(s, "a", "q", pods, ELASTIC);
    fake_world_live(&s->w, 5);
}

static void scale(struct scene *s, int pods) {
    char json[64];
    snprintf(json, sizeof(json), "{\"spec\":{\"parallelism\":%d}}", pods);
    scene_spec(s, "Job", "a", json);
    fake_world_live(&s->w, 5);
}

static int number(const struct object *o, const char *path) {
    int64_t n = -1;
    assert_true(str_to_i64(str_of(fake_world_text(o, path)), &n));
    return (int)n;
}

struct seen {
    int n, unfinished, admitted, pods, gated, counted;
    const struct object *active, *waits, *replaced;
};

static bool see_workload(void *ctx, const struct object *o) {
    struct seen *x = ctx;
    x->n++;
    if (str_is(str_of(fake_world_condition(o, "Finished")), "True")) {
        x->replaced = o;
        return true;
    }
    x->unfinished++;
    if (str_is(str_of(fake_world_condition(o, "Admitted")), "True")) {
        x->admitted++;
        x->active = o;
        x->counted += number(o, "spec.podSets.0.count");
    } else {
        x->waits = o;
    }
    return true;
}

static bool see_pod(void *ctx, const struct object *o) {
    struct seen *x = ctx;
    x->pods++;
    x->gated += str_contains(o->json, STR("{\"name\":\"kueue.x-k8s.io/elastic-job\"}"));
    return true;
}

static struct seen look(struct scene *s) {
    struct seen x = {0};
    mirror_scan(s->w.mirror, fake_world_kind("Workload"), STR("default"), see_workload, &x);
    mirror_scan(s->w.mirror, fake_world_kind("Pod"), STR("default"), see_pod, &x);
    return x;
}

static const char *job_text(struct scene *s, const char *path) {
    return fake_world_text(fake_world_get(&s->w, "Job", "default", "a"), path);
}

static int reserved(struct scene *s) {
    return number(fake_world_get(&s->w, "ClusterQueue", "", "q"),
                  "status.flavorsReservation.0.resources.0.total");
}

#define SAYS(o_, path_, want_) assert_string_equal(fake_world_text(o_, path_), want_)
#define NOTE(o_, key_, want_)                                                                      \
    assert_non_null(strstr(fake_world_text(o_, "metadata.annotations"), "\"" key_ "\":\"" want_))

/* The pods run on while a second Workload replaces the first; the new ones run once that has quota. */
static void grows(void **state) {
    struct scene s;
    start(&s, 5, 2);
    struct seen x = look(&s);
    assert_int_equal(x.admitted, 1);
    assert_int_equal(x.pods, 2);
    assert_int_equal(x.gated, 0);
    char first[300], key[400];
    assert_true(str_copy(x.active->name, first, sizeof(first)));
    NOTE(x.active, "kueue.x-k8s.io/elastic-job", "true");
    scale(&s, 4);
    x = look(&s);
    assert_int_equal(x.n, 2);
    assert_int_equal(x.admitted, 1);
    assert_int_equal(x.counted, 4);
    assert_int_equal(x.pods, 4);
    assert_int_equal(x.gated, 0);
    SAYS(x.active, "status.admission.podSetAssignments.0.count", "4");
    SAYS(x.active, "status.admission.podSetAssignments.0.resourceUsage.cpu", "4");
    snprintf(key, sizeof(key), "default/%s", first);
    assert_non_null(strstr(fake_world_text(x.active, "metadata.annotations"), key));
    assert_true(str_is(x.replaced->name, first));
    assert_string_equal(fake_world_condition_reason(x.replaced, "Finished"),
                        "WorkloadSliceReplaced");
    snprintf(key, sizeof(key),
             "Replaced to accommodate a workload (UID: %.*s, JobUID: %s) due to workload slice "
             "aggregation",
             STR_ARG(x.active->uid), job_text(&s, "metadata.uid"));
    assert_string_equal(fake_world_condition_message(x.replaced, "Finished"), key);
    EVENTS("WorkloadSliceReplaced", 1);
    assert_string_equal(job_text(&s, "spec.suspend"), "false");
    EVENTS("Stopped", 0);
    assert_int_equal(reserved(&s), 4);
    scene_job(&s, "b", "q", 1, "");
    scene_job(&s, "c", "q", 1, "");
    fake_world_live(&s.w, 5);
    assert_int_equal(reserved(&s), 5); /* one was left, and no more */
    scene_end(&s);
}

/* Without quota the new pods stay behind their gate; scaled again, the one that waits changes; scaled back, it ends. */
static void waits(void **state) {
    struct scene s;
    start(&s, 3, 2);
    scale(&s, 5);
    struct seen x = look(&s);
    assert_int_equal(x.admitted, 1);
    assert_int_equal(x.unfinished, 2);
    assert_int_equal(x.pods, 5);
    assert_int_equal(x.gated, 3);
    SAYS(x.waits, "spec.podSets.0.count", "5");
    char name[300];
    assert_true(str_copy(x.waits->name, name, sizeof(name)));
    scale(&s, 4);
    x = look(&s);
    assert_true(str_is(x.waits->name, name));
    SAYS(x.waits, "spec.podSets.0.count", "4");
    assert_int_equal(x.gated, 2);
    scale(&s, 3);
    x = look(&s);
    assert_true(str_is(x.active->name, name));
    assert_int_equal(x.counted, 3);
    assert_int_equal(x.gated, 0);
    scale(&s, 9);
    scale(&s, 3);
    x = look(&s);
    assert_int_equal(x.unfinished, 1);
    assert_string_equal(fake_world_condition_reason(scene_get(&s, "job-a-"), "Evicted"), "");
    EVENTS("Stopped", 0);
    scene_end(&s);
}

static void waits_then_out_of_sync(void **state) {
    struct scene s;
    start(&s, 3, 2);
    scale(&s, 5);
    struct seen x = look(&s);
    char name[300];
    assert_true(str_copy(x.waits->name, name, sizeof(name)));
    scale(&s, 2);
    const struct object *o = fake_world_get(&s.w, "Workload", "default", name);
    assert_string_equal(fake_world_condition_reason(o, "Finished"), "OutOfSync");
    assert_string_equal(fake_world_condition_message(o, "Finished"),
                        "The workload slice is out of sync with its parent job");
    assert_int_equal(look(&s).gated, 0);
    scene_end(&s);
}

/* In place: the same Workload holds less, and others have the rest. */
static void shrinks(void **state) {
    struct scene s;
    start(&s, 4, 4);
    scene_job(&s, "b", "q", 3, "");
    fake_world_live(&s.w, 3);
    IS("job-b-", "QuotaReserved", "False", "WaitingForQuota", "");
    scale(&s, 1);
    struct seen x = look(&s);
    assert_int_equal(x.n, 2);
    SAYS(scene_get(&s, "job-a-"), "spec.podSets.0.count", "1");
    IS("job-b-", "Admitted", "True", "Admitted", "");
    assert_int_equal(reserved(&s), 4);
    scale(&s, 2); /* more than it holds, although less than it was admitted with */
    x = look(&s);
    assert_non_null(x.waits);
    assert_int_equal(x.gated, 1);
    scene_end(&s);
}

/* An evicted one stops the Job, and what was to replace it goes. */
static void evicted(void **state) {
    struct scene s;
    start(&s, 3, 2);
    scale(&s, 5);
    struct seen x = look(&s);
    char name[300];
    assert_true(str_copy(x.waits->name, name, sizeof(name)));
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    fake_world_live(&s.w, 5);
    assert_string_equal(job_text(&s, "spec.suspend"), "true");
    const struct object *o = fake_world_get(&s.w, "Workload", "default", name);
    assert_string_equal(fake_world_condition_reason(o, "Finished"), "OutOfSync");
    x = look(&s);
    assert_int_equal(x.unfinished, 1);
    SAYS(x.waits, "spec.podSets.0.count", "5");
    assert_int_equal(reserved(&s), 0);
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    scale(&s, 3);
    x = look(&s);
    assert_int_equal(x.counted, 3);
    assert_int_equal(x.gated, 0);
    scene_end(&s);
}

/* A Workload that names somebody else's gets nothing of it. */
static void not_anothers(void **state) {
    struct scene s;
    start(&s, 4, 3);
    struct seen x = look(&s);
    char meta[1024];
    snprintf(meta, sizeof(meta),
             ",\"annotations\":{" ELASTIC ",\"kueue.x-k8s.io/workload-slice-replacement-for\":"
             "\"default/%.*s\"}",
             STR_ARG(x.active->name));
    scene_workload(&s, "thief", "q", 1, meta, "");
    scene_workload(&s, "thief2", "q", 1, meta, "");
    fake_world_live(&s.w, 5);
    assert_int_equal(look(&s).counted, 4); /* three of the Job, and one: there is no room for two */
    assert_string_equal(fake_world_condition(scene_get(&s, "job-a-"), "Finished"), "");
    assert_int_equal(reserved(&s), 4);
    scene_end(&s);
}

/* One that is made by hand for the Job does not count as its Workload's successor, and ends. */
static void not_by_hand(void **state) {
    struct scene s;
    start(&s, 4, 2);
    char meta[2048], uid[64];
    const struct object *o = scene_get(&s, "job-a-");
    assert_true(str_copy(str_of(job_text(&s, "metadata.uid")), uid, sizeof(uid)));
    snprintf(meta, sizeof(meta),
             ",\"labels\":{\"kueue.x-k8s.io/job-uid\":\"%s\"},\"ownerReferences\":%s", uid,
             fake_world_text(o, "metadata.ownerReferences"));
    scene_workload(&s, "fake", "q", 1, meta, "");
    fake_world_live(&s.w, 5);
    assert_string_equal(fake_world_condition_reason(scene_get(&s, "fake"), "Finished"),
                        "OutOfSync");
    assert_int_equal(reserved(&s), 2);
    scene_end(&s);
}

/* Of many that were replaced the newest are kept. */
static void many(void **state) {
    struct scene s;
    start(&s, 60, 1);
    for (int i = 2; i < 40; i++) {
        scale(&s, i);
    }
    struct seen x = look(&s);
    assert_int_equal(x.counted, 39);
    assert_int_equal(x.unfinished, 1);
    assert_true(x.n < 20);
    s.outcome = 0;
    fake_world_live(&s.w, 10);
    fake_world_delete(&s.w, "Job", "default", "a", "Background");
    fake_world_live(&s.w, 10);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    scene_end(&s);
}

/* With the gate off it is a Job like any other: another size stops it. */
static void switched_off(void **state) {
    struct scene s;
    scene_start(&s);
    s.settings.gates.elastic_jobs = false;
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 5, "");
    job(&s, "a", "q", 2, ELASTIC);
    fake_world_live(&s.w, 5);
    scale(&s, 3);
    EVENTS("Stopped", 1);
    scene_end(&s);
}

/* Everything is stopped and made anew at every step; each write of the change may fail once. */
static void under_faults(void **state) {
    static const enum fake_fault faults[] = {FAULT_REFUSED, FAULT_LOST, FAULT_CONFLICT};
    for (uint64_t at = 1; at <= 14; at++) {
        for (int f = 0; f < 3; f++) {
            struct scene s;
            start(&s, 5, 2);
            s.w.fail_at = at;
            s.w.fault = faults[f];
            scale(&s, 4);
            fake_world_live(&s.w, 40);
            scene_stop(&s);
            scene_controllers(&s);
            fake_world_live(&s.w, 20);
            struct seen x = look(&s);
            assert_int_equal(x.counted, 4);
            assert_int_equal(x.gated, 0);
            assert_int_equal(x.unfinished, 1);
            assert_int_equal(reserved(&s), 4);
            scene_end(&s);
        }
    }
}

/* Everything is stopped at some moment of the change, and made anew. */
static void restarted(void **state) {
    for (int ms = 0; ms < 60; ms++) {
        struct scene s;
        start(&s, 5, 2);
        scene_spec(&s, "Job", "a", "{\"spec\":{\"parallelism\":4}}");
        fake_world_run(&s.w, ms * NS_PER_MS);
        scene_stop(&s);
        scene_controllers(&s);
        fake_world_live(&s.w, 20);
        struct seen x = look(&s);
        assert_int_equal(x.counted, 4);
        assert_int_equal(x.gated, 0);
        assert_int_equal(x.unfinished, 1);
        assert_int_equal(reserved(&s), 4);
        scene_end(&s);
    }
}

static bool say_it_is_over(void *ctx, const struct object *o) {
    struct scene *s = ctx;
    char name[300];
    assert_true(str_copy(o->name, name, sizeof(name)));
    if (!str_contains(o->json, STR("schedulingGates\":[{"))) {
        fake_world_patch(&s->w, "Pod", "default", name, "",
                         "{\"metadata\":{\"annotations\":{\"phase\":\"Succeeded\"}}}");
    }
    return true;
}

/* What runs is read from the status: pods whose annotations say that they are over still count. */
static void notes_are_no_status(void **state) {
    struct scene s;
    start(&s, 2, 2);
    scale(&s, 4);
    assert_int_equal(look(&s).gated, 2);
    mirror_scan(s.w.mirror, fake_world_kind("Pod"), STR("default"), say_it_is_over, &s);
    fake_world_live(&s.w, 5);
    scale(&s, 5);
    assert_int_equal(look(&s).pods, 5);
    assert_int_equal(look(&s).gated, 3);
    scene_end(&s);
}

/* A Job whose pods are not made behind the gate has one size, whatever its annotation says. */
static void without_the_gate(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, "");
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"a\","
                   "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"},"
                   "\"annotations\":{" ELASTIC "}},\"spec\":{\"suspend\":true,\"parallelism\":2,"
                   "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":"
                   "\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}");
    fake_world_live(&s.w, 5);
    assert_string_equal(job_text(&s, "spec.suspend"), "false");
    scale(&s, 4);
    fake_world_live(&s.w, 5);
    assert_string_equal(job_text(&s, "spec.suspend"), "true");
    scene_end(&s);
}

/* A Workload that says it is elastic is never admitted with a part of its pods: the counts would be those of all. */
static void never_in_part(void **state) {
    struct scene s;
    start(&s, 4, 2);
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
                   "\"name\":\"hand\",\"namespace\":\"default\",\"annotations\":{" ELASTIC "}},"
                   "\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\",\"count\":10,"
                   "\"minCount\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                   "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
                   "\"cpu\":\"1\"}}}]}}}]}}");
    fake_world_live(&s.w, 5);
    assert_string_not_equal(fake_world_condition(scene_get(&s, "hand"), "Admitted"), "True");
    assert_int_equal(reserved(&s), 2);
    scene_end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows),
        cmocka_unit_test(waits),
        cmocka_unit_test(evicted),
        cmocka_unit_test(waits_then_out_of_sync),
        cmocka_unit_test(shrinks),
        cmocka_unit_test(not_anothers),
        cmocka_unit_test(not_by_hand),
        cmocka_unit_test(many),
        cmocka_unit_test(switched_off),
        cmocka_unit_test(under_faults),
        cmocka_unit_test(restarted),
        cmocka_unit_test(notes_are_no_status),
        cmocka_unit_test(without_the_gate),
        cmocka_unit_test(never_in_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
