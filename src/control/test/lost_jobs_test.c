/*
 * Tests that nothing that decides about Jobs is lost: each allocation that is made while a change is heard and acted on
 * fails once, and what comes of the change is the same a little later.
 */
#include "control/test/life_scene.h"

static struct scene s;

enum job_change { A_JOB, A_QUOTA, A_POD, AN_EVICTION, JOB_CHANGES };

static void put_job(void) {
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
                   "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\","
                   "\"kueue.x-k8s.io/priority-class\":\"high\"}},\"spec\":{\"suspend\":true,"
                   "\"completionMode\":\"Indexed\",\"completions\":3,\"parallelism\":3,"
                   "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
                   "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]"
                   "}}}}");
}

static bool running_pod(void *ctx, const struct object *o) {
    *(const struct object **)ctx = o;
    return strcmp(fake_world_text(o, "status.phase"), "Running") != 0;
}

static void end_pod(void) {
    const struct object *o = NULL;
    char name[80];
    mirror_scan(s.w.mirror, fake_world_kind("Pod"), STR(""), running_pod, &o);
    assert_non_null(o);
    snprintf(name, sizeof(name), "%.*s", STR_ARG(o->name));
    fake_world_patch(&s.w, "Pod", "default", name, "status",
                     "{\"status\":{\"phase\":\"Succeeded\"}}");
}

static void before(enum job_change x) {
    scene_queue(&s, "q", x == A_QUOTA ? 0 : 3, "");
    fake_world_put(&s.w, "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":"
                         "\"high\"},\"value\":1000}");
    if (x != A_JOB) {
        put_job();
        fake_world_live(&s.w, 2);
        fake_world_run(&s.w, NS_PER_SEC);
    }
}

static void change(enum job_change x) {
    switch (x) {
    case A_JOB:
        put_job();
        break;
    case A_QUOTA:
        scene_spec(
            &s, "ClusterQueue", "q",
            "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{"
            "\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"3\"}]}]}]}}");
        break;
    case A_POD:
        end_pod();
        break;
    default:
        scene_edit(&s, "job-j-", "{\"spec\":{\"active\":false}}");
        break;
    }
}

static const char *job_is(const char *type) {
    return fake_world_condition(fake_world_get(&s.w, "Job", "default", "j"), type);
}

static bool one_change(enum job_change x, uint64_t nth) {
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    before(x);
    scene_stop(&s);
    scene_controllers(&s); /* with no memory at hand */
    fake_world_sabotage(&s.w, nth);
    change(x);
    fake_world_run(&s.w, 5 * NS_PER_MS / 2);
    bool hit = fake_world_spare(&s.w);
    if (x == AN_EVICTION) {
        fake_world_live(&s.w, 10);
        assert_string_equal(job_is("Suspended"), "True");
        scene_edit(&s, "job-j-", "{\"spec\":{\"active\":true}}");
    }
    fake_world_live(&s.w, 10);
    s.outcome = 0;
    fake_world_live(&s.w, 10);
    const struct object *job = fake_world_get(&s.w, "Job", "default", "j");
    if (strcmp(job_is("Complete"), "True") != 0 ||
        strcmp(fake_world_text(job, "status.completedIndexes"), "0-2") != 0 ||
        strcmp(fake_world_text(scene_get(&s, "job-j-"), "spec.priority"), "1000") != 0 ||
        strcmp(fake_world_condition(scene_get(&s, "job-j-"), "Finished"), "True") != 0) {
        fail_msg("change %d, allocation %llu: %s", (int)x, (unsigned long long)nth,
                 fake_world_text(job, "status"));
    }
    scene_end(&s);
    return hit;
}

static void a_job_is_followed(void **state) {
    for (int x = 0; x < JOB_CHANGES; x++) {
        uint64_t nth = 1;
        while (one_change((enum job_change)x, nth)) {
            nth++;
        }
        assert_true(nth > 5);
    }
}

static void start(void) {
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
}

static void a_class_may_come_later(void **state) {
    start();
    scene_queue(&s, "q", 0, "");
    scene_job(&s, "j", "q", 1, "");
    scene_settle(&s);
    TEXT("job-j-", "spec.priority", "0");
    fake_world_patch(&s.w, "Job", "default", "j", "",
                     "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"high\"}}}");
    scene_settle(&s);
    fake_world_put(&s.w, "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":"
                         "\"high\"},\"value\":1000}");
    fake_world_run(&s.w, 10 * NS_PER_SEC);
    TEXT("job-j-", "spec.priority", "1000");
    scene_end(&s);
}

static void a_workload_that_is_taken_away_is_missed(void **state) {
    start();
    scene_queue(&s, "q", 1, "");
    scene_job(&s, "j", "q", 1, "");
    scene_settle(&s);
    IS("job-j-", "Admitted", "True", "Admitted", "");
    scene_edit(&s, "job-j-", "{\"metadata\":{\"ownerReferences\":null}}");
    scene_settle(&s);
    assert_string_equal(job_is("Suspended"), "True"); /* it runs without quota */
    scene_end(&s);
}

static void a_namespace_becomes_a_managed_one(void **state) {
    struct selector only;
    struct arena a;
    struct err err = {0};
    arena_init(&a, 1 << 16);
    assert_ok(selector_parse(&a, STR("queued=yes"), &only, &err), &err);
    scene_start(&s);
    s.settings.managed_namespaces = &only;
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 1, "");
    scene_job(&s, "j", "q", 1, "");
    scene_settle(&s);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    fake_world_patch(&s.w, "Namespace", "", "default", "",
                     "{\"metadata\":{\"labels\":{\"queued\":\"yes\"}}}");
    scene_settle(&s);
    IS("job-j-", "Admitted", "True", "Admitted", "");
    scene_end(&s);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_followed),
        cmocka_unit_test(a_class_may_come_later),
        cmocka_unit_test(a_workload_that_is_taken_away_is_missed),
        cmocka_unit_test(a_namespace_becomes_a_managed_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
