/*
 * Scenario tests of Kueue's Job integration, with the Job controller beside it and admission by the test's hand; and
 * the plain functions of job_workload and sha1.
 */
#include "control/hold/job_queue.h"
#include "control/kit/controller.h"

#include "base/hash/sha1.h"
#include "base/test.h"
#include "control/kube/gc.h"
#include "control/kube/job.h"
#include "control/load/job_workload.h"
#include "control/test/fake_world.h"

struct fixture {
    struct fake_world world;
    struct controller *jobs;
    struct controller *queue;
    struct controller *gc;
    int code;
    char wl[300];
};

static int outcome(void *ctx, const struct object *pod) {
    return ((struct fixture *)ctx)->code;
}

static void start_controllers(struct fixture *f) {
    struct err err = {0};
    f->jobs = controller_new(&job_controller, &f->world.env, &err);
    f->queue = controller_new(&job_queue_controller, &f->world.env, &err);
    f->gc = controller_new(&gc_controller, &f->world.env, &err);
    assert_true(f->jobs && f->queue && f->gc);
}

static void stop_controllers(struct fixture *f) {
    controller_free(f->jobs);
    controller_free(f->queue);
    controller_free(f->gc);
}

static void setup(struct fixture *f) {
    memset(f, 0, sizeof *f);
    f->code = -1;
    fake_world_init(&f->world);
    f->world.outcome = outcome;
    f->world.outcome_ctx = f;
    fake_world_put(
        &f->world,
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\",\"metadata\":"
        "{\"name\":\"h200\"},\"spec\":{\"nodeLabels\":{\"gpu\":\"h200\"},\"tolerations\":[{\"key\":"
        "\"gpu\",\"operator\":\"Exists\"}]}}");
    start_controllers(f);
}

static void teardown(struct fixture *f) {
    stop_controllers(f);
    fake_world_release(&f->world);
}

static void put_job(struct fixture *f, const char *labels, const char *spec) {
    char json[2048];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\",\"namespace\":"
        "\"default\",\"labels\":{\"kueue.x-k8s.io/"
        "queue-name\":\"q\"%s}},\"spec\":{\"suspend\":true,%s"
        "\"template\":{\"metadata\":{\"labels\":{\"app\":\"x\"}},\"spec\":{\"restartPolicy\":"
        "\"Never\","
        "\"nodeSelector\":{\"zone\":\"a\"},"
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"command\":[\"true\"]}]}}}}",
        labels, spec);
    fake_world_put(&f->world, json);
}

static bool keep_name(void *ctx, const struct object *o) {
    struct fixture *f = ctx;
    assert_true(str_copy(o->name, f->wl, sizeof f->wl));
    return true;
}

static const struct object *workload(struct fixture *f) {
    f->wl[0] = 0;
    mirror_scan(f->world.mirror, fake_world_kind("Workload"), STR(""), keep_name, f);
    return *f->wl ? fake_world_get(&f->world, "Workload", "default", f->wl) : NULL;
}

static const struct object *job(struct fixture *f) {
    return fake_world_get(&f->world, "Job", "default", "j");
}

#define JOB_TEXT(f, path, want) assert_string_equal(fake_world_text(job(f), path), want)
#define WL_TEXT(f, path, want) assert_string_equal(fake_world_text(workload(f), path), want)
#define WL_IS(f, type, want) assert_string_equal(fake_world_condition(workload(f), type), want)
#define WL_WHY(f, type, want)                                                                      \
    assert_string_equal(fake_world_condition_reason(workload(f), type), want)

/* The queue's part, by hand. */
static void admit(struct fixture *f, int count) {
    char json[1024];
    assert_non_null(workload(f));
    snprintf(
        json, sizeof json,
        "{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":"
        "\"main\","
        "\"flavors\":{\"cpu\":\"h200\"},\"resourceUsage\":{\"cpu\":\"%d\"},\"count\":%d}]},"
        "\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":"
        "\"QuotaReserved\","
        "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{\"type\":\"Admitted\","
        "\"status\":\"True\",\"reason\":\"Admitted\",\"message\":\"\",\"lastTransitionTime\":"
        "\"2026-01-01T00:00:00Z\"}]}}",
        count, count);
    fake_world_patch(&f->world, "Workload", "default", f->wl, "status", json);
}

static void evict(struct fixture *f, const char *reason) {
    char json[1024];
    assert_non_null(workload(f));
    snprintf(
        json, sizeof json,
        "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":"
        "\"QuotaReserved\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"},{"
        "\"type\":"
        "\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\",\"message\":\"\","
        "\"lastTransitionTime\":"
        "\"2026-01-01T00:00:00Z\"},{\"type\":\"Evicted\",\"status\":\"True\",\"reason\":\"%s\","
        "\"message\":"
        "\"make room\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
        reason);
    fake_world_patch(&f->world, "Workload", "default", f->wl, "status", json);
}

static void a_job_becomes_a_workload(void **state) {
    struct fixture f;
    setup(&f);
    fake_world_put(&f.world,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\","
                   "\"metadata\":{\"name\":\"high\"},\"value\":1000}");
    put_job(&f, ",\"kueue.x-k8s.io/priority-class\":\"high\"",
            "\"parallelism\":4,\"completions\":3,");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_int_equal(fake_world_count(&f.world, "Workload"), 1);
    assert_true(str_starts(workload(&f)->name, STR("job-j-")));
    assert_int_equal(workload(&f)->name.n, 6 + 5);
    assert_str_eq(object_label(workload(&f), STR("kueue.x-k8s.io/job-uid")), job(&f)->uid);
    assert_str_eq(object_controller(workload(&f))->uid, job(&f)->uid);
    WL_TEXT(&f, "metadata.finalizers", "[\"kueue.x-k8s.io/resource-in-use\"]");
    WL_TEXT(&f, "spec.queueName", "q");
    WL_TEXT(&f, "spec.priority", "1000");
    WL_TEXT(&f, "spec.priorityClassRef.kind", "WorkloadPriorityClass");
    WL_TEXT(&f, "spec.active", "true");
    assert_non_null(strstr(fake_world_text(workload(&f), "spec.podSets"), "\"count\":3"));
    assert_int_equal(fake_world_events(&f.world, "CreatedWorkload"), 1);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    teardown(&f);
}

static void a_missing_priority_class_is_told_and_waited_for(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, ",\"kueue.x-k8s.io/priority-class\":\"high\"", "");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_int_equal(fake_world_count(&f.world, "Workload"), 0);
    assert_true(fake_world_events(&f.world, "WorkloadPriorityClassNotFound") > 0);
    fake_world_put(&f.world,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\","
                   "\"metadata\":{\"name\":\"high\"},\"value\":1000}");
    fake_world_run(&f.world, 60 * NS_PER_SEC);
    assert_int_equal(fake_world_count(&f.world, "Workload"), 1);
    teardown(&f);
}

static void admission_starts_it_and_its_end_finishes(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 1);
    fake_world_live(&f.world, 3);
    JOB_TEXT(&f, "spec.suspend", "false");
    JOB_TEXT(&f, "spec.template.spec.nodeSelector", "{\"zone\":\"a\",\"gpu\":\"h200\"}");
    assert_non_null(strstr(fake_world_text(job(&f), "spec.template.spec.tolerations"), "\"gpu\""));
    assert_non_null(strstr(fake_world_text(job(&f), "spec.template.metadata.labels"),
                           "\"kueue.x-k8s.io/podset\":\"main\""));
    assert_int_equal(fake_world_count(&f.world, "Pod"), 1);
    assert_int_equal(fake_world_events(&f.world, "Started"), 1);
    f.code = 0;
    fake_world_live(&f.world, 4);
    WL_IS(&f, "Finished", "True");
    WL_WHY(&f, "Finished", "Succeeded");
    WL_TEXT(&f, "metadata.finalizers", "");
    assert_int_equal(fake_world_events(&f.world, "FinishedWorkload"), 1);
    teardown(&f);
}

static void eviction_stops_restores_and_releases(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "");
    fake_world_run(&f.world, NS_PER_SEC);
    char before[4096];
    snprintf(before, sizeof before, "%s", fake_world_text(job(&f), "spec.template"));
    admit(&f, 1);
    fake_world_live(&f.world, 3);
    evict(&f, "Preempted");
    fake_world_live(&f.world, 5);
    JOB_TEXT(&f, "spec.suspend", "true");
    JOB_TEXT(&f, "spec.template.spec.nodeSelector", "{\"zone\":\"a\"}");
    JOB_TEXT(&f, "spec.template.spec.tolerations", "");
    assert_null(strstr(fake_world_text(job(&f), "spec.template.metadata.labels"), "podset"));
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    WL_IS(&f, "QuotaReserved", "False");
    WL_WHY(&f, "QuotaReserved", "PendingEvaluation");
    WL_IS(&f, "Admitted", "False");
    WL_IS(&f, "Requeued", "True");
    WL_WHY(&f, "Requeued", "Preempted");
    WL_TEXT(&f, "status.admission", "");
    /* Again, and to the end. */
    admit(&f, 1);
    f.code = 0;
    fake_world_live(&f.world, 6);
    WL_IS(&f, "Finished", "True");
    assert_int_equal(fake_world_events(&f.world, "Stopped"), 1);
    assert_int_equal(fake_world_events(&f.world, "Started"), 2);
    teardown(&f);
}

static void another_flavor_replaces_the_first(void **state) {
    struct fixture f;
    setup(&f);
    fake_world_put(&f.world,
                   "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                   "\"metadata\":{\"name\":\"a100\"},\"spec\":{\"nodeLabels\":{\"gpu\":"
                   "\"a100\"}}}");
    put_job(&f, "", "");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 1);
    fake_world_live(&f.world, 3);
    /* Taken away and given elsewhere in one go, while the pods still run. */
    fake_world_patch(&f.world, "Workload", "default", f.wl, "status",
                     "{\"status\":{\"conditions\":[],\"admission\":null}}");
    fake_world_run(&f.world, NS_PER_MS * 3 / 2);
    fake_world_patch(
        &f.world, "Workload", "default", f.wl, "status",
        "{\"status\":{\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{"
        "\"name\":\"main\",\"flavors\":{\"cpu\":\"a100\"},\"count\":1}]},\"conditions\":["
        "{\"type\":\"Admitted\",\"status\":\"True\",\"reason\":\"Admitted\",\"message\":"
        "\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    fake_world_live(&f.world, 5);
    JOB_TEXT(&f, "spec.suspend", "false");
    JOB_TEXT(&f, "spec.template.spec.nodeSelector", "{\"zone\":\"a\",\"gpu\":\"a100\"}");
    JOB_TEXT(&f, "spec.template.spec.tolerations", "");
    WL_IS(&f, "Finished", "");
    teardown(&f);
}

static void a_deactivation_is_not_requeued(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 1);
    fake_world_live(&f.world, 3);
    evict(&f, "Deactivated");
    fake_world_live(&f.world, 5);
    WL_IS(&f, "Requeued", "False");
    WL_WHY(&f, "Requeued", "Deactivated");
    WL_IS(&f, "QuotaReserved", "False");
    teardown(&f);
}

static void a_running_job_without_admission_is_stopped(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "");
    fake_world_run(&f.world, NS_PER_SEC);
    fake_world_patch(&f.world, "Job", "default", "j", "", "{\"spec\":{\"suspend\":false}}");
    fake_world_live(&f.world, 5);
    JOB_TEXT(&f, "spec.suspend", "true");
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    teardown(&f);
}

static void a_changed_job_updates_its_workload(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "\"parallelism\":2,\"completions\":4,");
    fake_world_run(&f.world, NS_PER_SEC);
    fake_world_patch(&f.world, "Job", "default", "j", "", "{\"spec\":{\"parallelism\":3}}");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_non_null(strstr(fake_world_text(workload(&f), "spec.podSets"), "\"count\":3"));
    assert_int_equal(fake_world_events(&f.world, "UpdatedWorkload"), 1);
    teardown(&f);
}

static void conflicting_labels_never_start(void **state) {
    struct fixture f;
    setup(&f);
    fake_world_patch(&f.world, "ResourceFlavor", "", "h200", "",
                     "{\"spec\":{\"nodeLabels\":{\"zone\":\"b\"}}}");
    put_job(&f, "", "");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 1);
    fake_world_live(&f.world, 3);
    WL_IS(&f, "Finished", "True");
    WL_WHY(&f, "Finished", "FailedToStart");
    JOB_TEXT(&f, "spec.suspend", "true");
    teardown(&f);
}

static void deleting_the_job_leaves_nothing(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 1);
    fake_world_live(&f.world, 3);
    fake_world_delete(&f.world, "Job", "default", "j", "Background");
    fake_world_live(&f.world, 5);
    assert_int_equal(fake_world_count(&f.world, "Job"), 0);
    assert_int_equal(fake_world_count(&f.world, "Workload"), 0);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    teardown(&f);
}

static void foreground_deletion_takes_the_dependents_first(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 1);
    fake_world_live(&f.world, 3);
    fake_world_delete(&f.world, "Job", "default", "j", "Foreground");
    fake_world_run(&f.world, 100 * NS_PER_MS);
    assert_non_null(job(&f));
    fake_world_live(&f.world, 8);
    assert_null(job(&f));
    assert_int_equal(fake_world_count(&f.world, "Workload"), 0);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    teardown(&f);
}

static void reclaimable_pods_are_said(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "\"parallelism\":2,\"completions\":2,");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 2);
    fake_world_live(&f.world, 3);
    fake_world_patch(&f.world, "Job", "default", "j", "status", "{\"status\":{\"succeeded\":1}}");
    fake_world_run(&f.world, NS_PER_SEC);
    WL_TEXT(&f, "status.reclaimablePods", "[{\"name\":\"main\",\"count\":1}]");
    teardown(&f);
}

/* More parallelism than completions: nothing is free while the only pod runs. */
static void few_completions_reclaim_nothing(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "\"parallelism\":3,\"completions\":1,");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 1);
    fake_world_run(&f.world, NS_PER_SEC);
    WL_TEXT(&f, "status.reclaimablePods", "");
    teardown(&f);
}

/* Fewer pods are admitted when some have ended: the Job keeps its parallelism. */
static void an_admission_of_the_rest_keeps_parallelism(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "\"parallelism\":3,\"completions\":3,");
    fake_world_run(&f.world, NS_PER_SEC);
    admit(&f, 2);
    fake_world_run(&f.world, NS_PER_SEC);
    assert_string_equal(fake_world_text(job(&f), "spec.suspend"), "false");
    assert_string_equal(fake_world_text(job(&f), "spec.parallelism"), "3");
    teardown(&f);
}

/* ---- the same outcome, whatever happens ---- */

static void story(struct fixture *f) {
    for (int i = 0; i < 40; i++) {
        const struct object *wl = workload(f);
        if (wl && strcmp(fake_world_condition(wl, "Finished"), "True") != 0 &&
            strcmp(fake_world_condition(workload(f), "Admitted"), "True") != 0) {
            admit(f, 1);
        } else if (wl && i == 6 && strcmp(fake_world_condition(wl, "Finished"), "True") != 0) {
            evict(f, "Preempted");
        }
        f->code = i > 12 ? 0 : -1;
        fake_world_live(&f->world, 1);
    }
}

static void check_story(struct fixture *f) {
    JOB_TEXT(f, "status.succeeded", "1");
    WL_IS(f, "Finished", "True");
    WL_WHY(f, "Finished", "Succeeded");
    assert_int_equal(fake_world_count(&f->world, "Workload"), 1);
    WL_TEXT(f, "metadata.finalizers", "");
}

static void every_write_may_fail(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "", "");
    story(&f);
    check_story(&f);
    uint64_t all = f.world.writes;
    teardown(&f);
    assert_true(all > 15);
    for (uint64_t n = 1; n <= all; n++) {
        for (int fault = FAULT_REFUSED; fault <= FAULT_CONFLICT; fault++) {
            setup(&f);
            f.world.fault = (enum fake_fault)fault;
            f.world.fail_at = n;
            put_job(&f, "", "");
            story(&f);
            check_story(&f);
            teardown(&f);
        }
    }
}

static void every_second_may_be_the_last(void **state) {
    for (int stop = 1; stop < 20; stop++) {
        struct fixture f;
        setup(&f);
        put_job(&f, "", "");
        for (int64_t ms = 0; ms < stop * 3; ms++) {
            fake_world_run(&f.world, NS_PER_MS);
        }
        stop_controllers(&f);
        start_controllers(&f);
        story(&f);
        check_story(&f);
        teardown(&f);
    }
}

/* ---- plain functions ---- */

static void sha1_vectors(void **state) {
    static const struct {
        const char *text, *hex;
    } vectors[] = {
        {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint8_t out[SHA1_BYTES];
        char hex[2 * SHA1_BYTES + 1];
        sha1(str_of(vectors[i].text), out);
        for (int k = 0; k < SHA1_BYTES; k++) {
            snprintf(hex + 2 * k, 3, "%02x", out[k]);
        }
        assert_string_equal(hex, vectors[i].hex);
    }
}

static void names_are_kueues(void **state) {
    struct arena a;
    char longest[254] = {0};
    arena_init(&a, 65536);
    assert_str_eq(workload_name("Job", "batch", STR("sample"), STR("uid-1"), &a),
                  STR("job-sample-4502e"));
    memset(longest, 'x', 253);
    assert_int_equal(workload_name("Job", "batch", str_of(longest), STR("u"), &a).n, 253);
    arena_release(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_becomes_a_workload),
        cmocka_unit_test(a_missing_priority_class_is_told_and_waited_for),
        cmocka_unit_test(admission_starts_it_and_its_end_finishes),
        cmocka_unit_test(eviction_stops_restores_and_releases),
        cmocka_unit_test(another_flavor_replaces_the_first),
        cmocka_unit_test(a_deactivation_is_not_requeued),
        cmocka_unit_test(a_running_job_without_admission_is_stopped),
        cmocka_unit_test(a_changed_job_updates_its_workload),
        cmocka_unit_test(conflicting_labels_never_start),
        cmocka_unit_test(deleting_the_job_leaves_nothing),
        cmocka_unit_test(foreground_deletion_takes_the_dependents_first),
        cmocka_unit_test(reclaimable_pods_are_said),
        cmocka_unit_test(few_completions_reclaim_nothing),
        cmocka_unit_test(an_admission_of_the_rest_keeps_parallelism),
        cmocka_unit_test(every_write_may_fail),
        cmocka_unit_test(every_second_may_be_the_last),
        cmocka_unit_test(sha1_vectors),
        cmocka_unit_test(names_are_kueues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
