/*
 * Scenario tests of the Job controller in a fake world: a Job's life, and the same life with the controller dropped and
 * made anew after each write, and with each write refused, lost or met by a conflict.
 */
#include "control/kit/controller.h"
#include "control/kube/job.h"

#include "base/test.h"
#include "control/test/fake_world.h"

struct fixture {
    struct fake_world world;
    struct controller *jobs;
    int code;        /* exit of every pod ... */
    int bad_index;   /* ... but of this index: 1 */
    int64_t running; /* pods asked for their outcome so far */
};

static int outcome(void *ctx, const struct object *pod) {
    struct fixture *f = ctx;
    char index[16];
    snprintf(index, sizeof index, "%d", f->bad_index);
    struct str own = object_label(pod, STR("batch.kubernetes.io/job-completion-index"));
    f->running++;
    return !str_empty(own) && str_is(own, index) ? 1 : f->code;
}

static void setup(struct fixture *f) {
    struct err err = {0};
    memset(f, 0, sizeof *f);
    fake_world_init(&f->world);
    f->bad_index = -1;
    f->world.outcome = outcome;
    f->world.outcome_ctx = f;
    f->jobs = controller_new(&job_controller, &f->world.env, &err);
    assert_non_null(f->jobs);
}

static void teardown(struct fixture *f) {
    controller_free(f->jobs);
    fake_world_release(&f->world);
}

static void restart(struct fixture *f) {
    struct err err = {0};
    controller_free(f->jobs);
    f->jobs = controller_new(&job_controller, &f->world.env, &err);
    assert_non_null(f->jobs);
}

static void put_job(struct fixture *f, const char *name, const char *spec) {
    char json[2048];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"default\"},\"spec\":{%s%s\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"command\":[\"true\"]}]}}}}",
        name, spec, *spec ? "," : "");
    fake_world_put(&f->world, json);
}

static const struct object *job(struct fixture *f, const char *name) {
    return fake_world_get(&f->world, "Job", "default", name);
}

#define JOB_TEXT(f, path, want) assert_string_equal(fake_world_text(job(f, "j"), path), want)
#define JOB_IS(f, type, want) assert_string_equal(fake_world_condition(job(f, "j"), type), want)
#define JOB_WHY(f, type, want)                                                                     \
    assert_string_equal(fake_world_condition_reason(job(f, "j"), type), want)

static bool tracked(void *ctx, const struct object *o) {
    *(size_t *)ctx += o->n_finalizers != 0;
    return true;
}

static bool take_first(void *ctx, const struct object *o) {
    *(const struct object **)ctx = o;
    return false;
}

static const struct object *first_of(struct fixture *f, const char *kind) {
    const struct object *o = NULL;
    mirror_scan(f->world.mirror, fake_world_kind(kind), STR(""), take_first, &o);
    return o;
}

static size_t tracked_pods(struct fixture *f) {
    size_t n = 0;
    mirror_scan(f->world.mirror, fake_world_kind("Pod"), STR(""), tracked, &n);
    return n;
}

static void one_pod_completes(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "j", "");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 1);
    JOB_TEXT(&f, "status.active", "1");
    JOB_TEXT(&f, "status.startTime", "2026-01-01T00:00:00Z");
    fake_world_live(&f.world, 5);
    JOB_IS(&f, "SuccessCriteriaMet", "True");
    JOB_WHY(&f, "SuccessCriteriaMet", "CompletionsReached");
    JOB_IS(&f, "Complete", "True");
    JOB_TEXT(&f, "status.succeeded", "1");
    JOB_TEXT(&f, "status.active", "0");
    JOB_TEXT(&f, "status.terminating", "0");
    JOB_TEXT(&f, "status.uncountedTerminatedPods", "{}");
    assert_int_equal(tracked_pods(&f), 0);
    assert_int_equal(fake_world_events(&f.world, "SuccessfulCreate"), 1);
    assert_int_equal(fake_world_events(&f.world, "Completed"), 1);
    teardown(&f);
}

static void pods_carry_what_they_need(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "j", "\"completionMode\":\"Indexed\",\"completions\":1");
    fake_world_run(&f.world, NS_PER_SEC);
    const struct object *pod = NULL;
    assert_int_equal(fake_world_count(&f.world, "Pod"), 1);
    char name[64];
    snprintf(name, sizeof name, "j-0-%05llu", 2ull);
    pod = fake_world_get(&f.world, "Pod", "default", name);
    assert_non_null(pod);
    assert_string_equal(fake_world_text(pod, "spec.hostname"), "j-0");
    assert_string_equal(fake_world_text(pod, "metadata.finalizers"),
                        "[\"batch.kubernetes.io/job-tracking\"]");
    assert_str_eq(object_label(pod, STR("batch.kubernetes.io/job-name")), STR("j"));
    assert_str_eq(object_label(pod, STR("batch.kubernetes.io/controller-uid")), job(&f, "j")->uid);
    assert_str_eq(object_label(pod, STR("batch.kubernetes.io/job-completion-index")), STR("0"));
    assert_non_null(strstr(fake_world_text(pod, "spec.containers"), "\"JOB_COMPLETION_INDEX\""));
    assert_true(object_controller(pod)->block);
    teardown(&f);
}

/* A Job that was stored before its template was looked at: what the scheduler says is not taken from there. */
static void pods_take_no_place_from_a_template(void **state) {
    static const char *const labels[] = {"", "\"kueue.x-k8s.io/queue-name\":\"q\""};
    for (size_t i = 0; i < 2; i++) {
        struct fixture f;
        char json[1024];
        setup(&f);
        snprintf(json, sizeof json,
                 "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
                 "\"namespace\":\"default\",\"labels\":{%s}},\"spec\":{\"template\":{\"metadata\":{"
                 "\"annotations\":{\"berth.dev/devices\":\"[]\",\"berth.dev/placement\":\"[]\","
                 "\"a\":\"b\"}},\"spec\":{\"nodeName\":\"n\",\"restartPolicy\":\"Never\","
                 "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
                 labels[i]);
        fake_world_put(&f.world, json);
        fake_world_run(&f.world, NS_PER_SEC);
        const struct object *pod = first_of(&f, "Pod");
        assert_non_null(pod);
        assert_string_equal(fake_world_text(pod, "metadata.annotations"), "{\"a\":\"b\"}");
        /* Without a queue its author had the right to name a node: the server looked. */
        assert_string_equal(fake_world_text(pod, "spec.nodeName"), i == 0 ? "n" : "");
        teardown(&f);
    }
}

static void parallel_pods_up_to_completions(void **state) {
    struct fixture f;
    setup(&f);
    f.code = -1;
    put_job(&f, "j", "\"parallelism\":3,\"completions\":5");
    fake_world_live(&f.world, 3);
    JOB_TEXT(&f, "status.active", "3");
    JOB_TEXT(&f, "status.ready", "3");
    f.code = 0;
    fake_world_live(&f.world, 10);
    JOB_IS(&f, "Complete", "True");
    JOB_TEXT(&f, "status.succeeded", "5");
    assert_int_equal(fake_world_count(&f.world, "Pod"), 5);
    teardown(&f);
}

static void parallelism_shrinks(void **state) {
    struct fixture f;
    setup(&f);
    f.code = -1;
    put_job(&f, "j", "\"parallelism\":4,\"completions\":8");
    fake_world_live(&f.world, 3);
    fake_world_patch(&f.world, "Job", "default", "j", "", "{\"spec\":{\"parallelism\":1}}");
    fake_world_live(&f.world, 4);
    JOB_TEXT(&f, "status.active", "1");
    JOB_TEXT(&f, "status.failed", "0"); /* what the Job deletes does not count */
    assert_int_equal(fake_world_count(&f.world, "Pod"), 1);
    teardown(&f);
}

static void failures_back_off_up_to_the_limit(void **state) {
    struct fixture f;
    setup(&f);
    f.code = 1;
    put_job(&f, "j", "\"backoffLimit\":2");
    fake_world_live(&f.world, 5);
    JOB_TEXT(&f, "status.failed", "1");
    assert_int_equal(fake_world_count(&f.world, "Pod"), 1); /* the second waits 10 s */
    fake_world_live(&f.world, 10);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 2);
    fake_world_live(&f.world, 10);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 2); /* the third 20 s */
    fake_world_live(&f.world, 20);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 3);
    JOB_IS(&f, "FailureTarget", "True");
    JOB_IS(&f, "Failed", "True");
    JOB_WHY(&f, "Failed", "BackoffLimitExceeded");
    JOB_TEXT(&f, "status.failed", "3");
    assert_int_equal(fake_world_events(&f.world, "BackoffLimitExceeded"), 1);
    assert_int_equal(tracked_pods(&f), 0);
    teardown(&f);
}

static void deadline_ends_it(void **state) {
    struct fixture f;
    setup(&f);
    f.code = -1;
    put_job(&f, "j", "\"activeDeadlineSeconds\":30,\"parallelism\":2,\"completions\":2");
    fake_world_live(&f.world, 20);
    JOB_IS(&f, "Failed", "");
    fake_world_live(&f.world, 20);
    JOB_IS(&f, "Failed", "True");
    JOB_WHY(&f, "Failed", "DeadlineExceeded");
    JOB_TEXT(&f, "status.active", "0");
    JOB_TEXT(&f, "status.failed", "2");
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    teardown(&f);
}

/* Held back for a queue. */
static void put_queued_job(struct fixture *f) {
    fake_world_put(&f->world,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
                   "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}},"
                   "\"spec\":{\"suspend\":true,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                   "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
}

/* What a queue lets go at once was never held back, as far as its status and Events say. */
static void admitted_at_once_is_not_suspended(void **state) {
    struct fixture f;
    setup(&f);
    f.code = -1;
    put_queued_job(&f);
    fake_world_run(&f.world, 10 * NS_PER_MS);
    JOB_IS(&f, "Suspended", "");
    fake_world_patch(&f.world, "Job", "default", "j", "", "{\"spec\":{\"suspend\":false}}");
    fake_world_live(&f.world, 3);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 1);
    JOB_IS(&f, "Suspended", "");
    assert_int_equal(fake_world_events(&f.world, "Suspended"), 0);
    assert_int_equal(fake_world_events(&f.world, "Resumed"), 0);
    teardown(&f);
}

/* What waits longer says so. */
static void queued_is_suspended(void **state) {
    struct fixture f;
    setup(&f);
    f.code = -1;
    put_queued_job(&f);
    fake_world_run(&f.world, NS_PER_SEC);
    JOB_IS(&f, "Suspended", "True");
    assert_int_equal(fake_world_events(&f.world, "Suspended"), 1);
    teardown(&f);
}

static void suspend_and_resume(void **state) {
    struct fixture f;
    setup(&f);
    f.code = -1;
    put_job(&f, "j", "\"suspend\":true");
    fake_world_live(&f.world, 3);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    JOB_IS(&f, "Suspended", "True");
    JOB_TEXT(&f, "status.startTime", "");
    fake_world_patch(&f.world, "Job", "default", "j", "", "{\"spec\":{\"suspend\":false}}");
    fake_world_live(&f.world, 3);
    JOB_IS(&f, "Suspended", "False");
    JOB_WHY(&f, "Suspended", "JobResumed");
    JOB_TEXT(&f, "status.active", "1");
    JOB_TEXT(&f, "status.startTime", "2026-01-01T00:00:03Z");
    fake_world_patch(&f.world, "Job", "default", "j", "", "{\"spec\":{\"suspend\":true}}");
    fake_world_live(&f.world, 3);
    JOB_IS(&f, "Suspended", "True");
    JOB_TEXT(&f, "status.active", "0");
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    fake_world_patch(&f.world, "Job", "default", "j", "", "{\"spec\":{\"suspend\":false}}");
    f.code = 0;
    fake_world_live(&f.world, 5);
    JOB_IS(&f, "Complete", "True");
    JOB_TEXT(&f, "status.failed", "0");
    assert_int_equal(fake_world_events(&f.world, "Suspended"), 2);
    assert_int_equal(fake_world_events(&f.world, "Resumed"), 2);
    teardown(&f);
}

static void indexed_with_a_failed_index(void **state) {
    struct fixture f;
    setup(&f);
    f.bad_index = 1;
    put_job(&f, "j",
            "\"completionMode\":\"Indexed\",\"completions\":3,\"parallelism\":3,"
            "\"backoffLimitPerIndex\":1");
    fake_world_live(&f.world, 40);
    JOB_IS(&f, "Failed", "True");
    JOB_WHY(&f, "Failed", "FailedIndexes");
    JOB_TEXT(&f, "status.completedIndexes", "0,2");
    JOB_TEXT(&f, "status.failedIndexes", "1");
    JOB_TEXT(&f, "status.succeeded", "2");
    JOB_TEXT(&f, "status.failed", "2");
    assert_int_equal(fake_world_count(&f.world, "Pod"), 4);
    assert_int_equal(tracked_pods(&f), 0);
    teardown(&f);
}

static void success_policy_ends_early(void **state) {
    struct fixture f;
    setup(&f);
    f.code = -1;
    put_job(&f, "j",
            "\"completionMode\":\"Indexed\",\"completions\":3,\"parallelism\":3,"
            "\"successPolicy\":{\"rules\":[{\"succeededIndexes\":\"0\"}]}");
    fake_world_live(&f.world, 3);
    f.code = 0;
    f.bad_index = -1;
    /* Only index 0 ends. */
    char name[32];
    for (int i = 2; i <= 4; i++) {
        snprintf(name, sizeof name, "j-0-%05d", i);
        if (fake_world_get(&f.world, "Pod", "default", name)) {
            fake_world_patch(&f.world, "Pod", "default", name, "status",
                             "{\"status\":{\"phase\":\"Succeeded\"}}");
        }
    }
    f.code = -1;
    fake_world_live(&f.world, 5);
    JOB_IS(&f, "Complete", "True");
    JOB_WHY(&f, "Complete", "SuccessPolicy");
    JOB_TEXT(&f, "status.completedIndexes", "0");
    teardown(&f);
}

static void failure_policy_fails_the_job(void **state) {
    struct fixture f;
    setup(&f);
    f.code = 42;
    put_job(
        &f, "j",
        "\"podFailurePolicy\":{\"rules\":[{\"action\":\"FailJob\",\"onExitCodes\":{\"operator\":"
        "\"In\",\"values\":[42]}}]}");
    fake_world_live(&f.world, 5);
    JOB_IS(&f, "Failed", "True");
    JOB_WHY(&f, "Failed", "PodFailurePolicy");
    assert_string_equal(fake_world_condition_message(job(&f, "j"), "Failed"),
                        "Container c for pod default/j-00002 failed with exit code 42 matching "
                        "FailJob rule at index 0");
    teardown(&f);
}

static void ended_jobs_expire(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "j", "\"ttlSecondsAfterFinished\":60");
    fake_world_live(&f.world, 30);
    JOB_IS(&f, "Complete", "True");
    fake_world_live(&f.world, 40);
    /* Foreground: it stays until the garbage collector has taken its pods. */
    assert_true(job(&f, "j")->deleting_ns != 0);
    JOB_TEXT(&f, "metadata.finalizers", "[\"foregroundDeletion\"]");
    teardown(&f);
}

static void ended_jobs_are_kept_for_a_time(void **state) {
    struct fixture f;
    setup(&f);
    f.world.env.kept.jobs_ns = 60 * NS_PER_SEC;
    restart(&f);
    put_job(&f, "j", "");
    put_job(&f, "longer", "\"ttlSecondsAfterFinished\":600");
    fake_world_live(&f.world, 30);
    JOB_IS(&f, "Complete", "True");
    assert_true(job(&f, "j")->deleting_ns == 0);
    fake_world_live(&f.world, 40);
    assert_true(job(&f, "j")->deleting_ns != 0);
    assert_true(job(&f, "longer")->deleting_ns == 0);
    teardown(&f);
}

static void pods_of_a_deleted_job_are_let_go(void **state) {
    struct fixture f;
    setup(&f);
    f.code = -1;
    put_job(&f, "j", "");
    fake_world_live(&f.world, 3);
    assert_int_equal(tracked_pods(&f), 1);
    fake_world_delete(&f.world, "Job", "default", "j", "Background");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_int_equal(tracked_pods(&f), 0);
    teardown(&f);
}

/* A pod elsewhere that names the Job as its owner, uid and all, is none of it: held by a finalizer, it never ends. */
static void pods_of_other_namespaces_do_not_count(void **state) {
    struct fixture f;
    char pod[1024];
    setup(&f);
    put_job(&f, "j", "\"completions\":1");
    snprintf(
        pod, sizeof pod,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"far\",\"namespace\":"
        "\"b\",\"finalizers\":[\"batch.kubernetes.io/job-tracking\",\"example.com/hold\"],"
        "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
        "\"uid\":\"%.*s\",\"controller\":true}]},\"spec\":{\"schedulingGates\":[{\"name\":\"g\"}],"
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
        STR_ARG(job(&f, "j")->uid));
    fake_world_put(&f.world, pod);
    fake_world_live(&f.world, 30);
    JOB_IS(&f, "Complete", "True");
    JOB_TEXT(&f, "status.succeeded", "1");
    teardown(&f);
}

static void a_pod_that_is_taken_away_is_replaced(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "j", "");
    fake_world_run(&f.world, NS_PER_SEC);
    char name[80];
    snprintf(name, sizeof name, "%.*s", STR_ARG(first_of(&f, "Pod")->name));
    fake_world_patch(&f.world, "Pod", "default", name, "",
                     "{\"metadata\":{\"ownerReferences\":null}}");
    fake_world_run(&f.world, NS_PER_SEC);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 2);
    JOB_TEXT(&f, "status.active", "1");
    teardown(&f);
}

static void jobs_of_others_are_left_alone(void **state) {
    struct fixture f;
    setup(&f);
    put_job(&f, "j", "\"managedBy\":\"example.com/other\"");
    fake_world_live(&f.world, 3);
    assert_int_equal(fake_world_count(&f.world, "Pod"), 0);
    JOB_TEXT(&f, "status.startTime", "");
    teardown(&f);
}

/* ---- the same outcome, whatever happens to the controller ---- */

static const char STORY[] = "\"completionMode\":\"Indexed\",\"completions\":3,\"parallelism\":2,"
                            "\"backoffLimitPerIndex\":1";

static void check_story(struct fixture *f) {
    JOB_IS(f, "Failed", "True");
    JOB_WHY(f, "Failed", "FailedIndexes");
    JOB_TEXT(f, "status.completedIndexes", "0,2");
    JOB_TEXT(f, "status.failedIndexes", "1");
    JOB_TEXT(f, "status.succeeded", "2");
    JOB_TEXT(f, "status.failed", "2");
    JOB_TEXT(f, "status.active", "0");
    JOB_TEXT(f, "status.uncountedTerminatedPods", "{}");
    assert_int_equal(tracked_pods(f), 0);
}

static void start_story(struct fixture *f) {
    setup(f);
    f->bad_index = 1;
    put_job(f, "j", STORY);
}

static uint64_t story_writes(void) {
    struct fixture f;
    start_story(&f);
    fake_world_live(&f.world, 60);
    check_story(&f);
    uint64_t n = f.world.writes;
    teardown(&f);
    assert_true(n > 10 && n < 200);
    return n;
}

static void a_restart_after_any_write_changes_nothing(void **state) {
    uint64_t all = story_writes();
    for (uint64_t n = 0; n < all; n++) {
        struct fixture f;
        start_story(&f);
        int64_t next_look = NS_PER_SEC;
        while (f.world.writes < n && f.world.clock.now < 60 * NS_PER_SEC) {
            if (virtual_clock_next(&f.world.clock) <= next_look) {
                virtual_clock_step(&f.world.clock);
            } else {
                fake_world_run(&f.world, next_look - f.world.clock.now);
                fake_world_kubelet(&f.world);
                next_look += NS_PER_SEC;
            }
        }
        restart(&f);
        fake_world_live(&f.world, 90);
        check_story(&f);
        teardown(&f);
    }
}

static void faults_at_any_write(enum fake_fault fault) {
    uint64_t all = story_writes();
    for (uint64_t n = 1; n <= all; n++) {
        struct fixture f;
        start_story(&f);
        f.world.fault = fault;
        f.world.fail_at = n;
        fake_world_live(&f.world, 90);
        check_story(&f);
        teardown(&f);
    }
}

static void refused_writes_change_nothing(void **state) {
    faults_at_any_write(FAULT_REFUSED);
}

static void conflicts_change_nothing(void **state) {
    faults_at_any_write(FAULT_CONFLICT);
}

static void lost_answers_change_nothing(void **state) {
    faults_at_any_write(FAULT_LOST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pod_completes),
        cmocka_unit_test(pods_carry_what_they_need),
        cmocka_unit_test(pods_take_no_place_from_a_template),
        cmocka_unit_test(parallel_pods_up_to_completions),
        cmocka_unit_test(parallelism_shrinks),
        cmocka_unit_test(failures_back_off_up_to_the_limit),
        cmocka_unit_test(deadline_ends_it),
        cmocka_unit_test(admitted_at_once_is_not_suspended),
        cmocka_unit_test(queued_is_suspended),
        cmocka_unit_test(suspend_and_resume),
        cmocka_unit_test(indexed_with_a_failed_index),
        cmocka_unit_test(success_policy_ends_early),
        cmocka_unit_test(failure_policy_fails_the_job),
        cmocka_unit_test(ended_jobs_expire),
        cmocka_unit_test(ended_jobs_are_kept_for_a_time),
        cmocka_unit_test(pods_of_a_deleted_job_are_let_go),
        cmocka_unit_test(pods_of_other_namespaces_do_not_count),
        cmocka_unit_test(a_pod_that_is_taken_away_is_replaced),
        cmocka_unit_test(jobs_of_others_are_left_alone),
        cmocka_unit_test(a_restart_after_any_write_changes_nothing),
        cmocka_unit_test(refused_writes_change_nothing),
        cmocka_unit_test(conflicts_change_nothing),
        cmocka_unit_test(lost_answers_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
