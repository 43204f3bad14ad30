/*
 * life: Workloads on their way to an admission: why they wait, checks, priorities, what their requests come to.
 */
#include "control/test/life_scene.h"

/* ---- admission ---- */

static void admitted_at_once(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 4, "");
    scene_job(&s, "a", "q", 2, "");
    scene_settle(&s);
    IS("job-a-", "QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue q");
    IS("job-a-", "Admitted", "True", "Admitted", "The workload is admitted");
    IS("job-a-", "PodsReady", "False", "WaitForStart", "Not all pods are ready or succeeded");
    EVENTS("QuotaReserved", 1);
    EVENTS("Admitted", 1);
    fake_world_live(&s.w, 5);
    IS("job-a-", "PodsReady", "True", "Started",
       "All pods reached readiness and the workload is running");
    const char *labels = fake_world_text(fake_world_get(&s.w, "Job", "default", "a"),
                                         "spec.template.metadata.labels");
    assert_non_null(strstr(labels, "\"kueue.x-k8s.io/podset\":\"main\""));
    assert_non_null(strstr(labels, "\"kueue.x-k8s.io/local-queue-name\":\"q\""));
    assert_non_null(strstr(labels, "\"kueue.x-k8s.io/cluster-queue-name\":\"q\""));
    s.outcome = 0;
    fake_world_live(&s.w, 10);
    IS("job-a-", "Finished", "True", "Succeeded", "");
    scene_end(&s);
}

static void waits_and_says_why(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 4, "");
    scene_workload(&s, "big", "q", 5, "", "");
    scene_workload(&s, "lost", "nowhere", 1, "", "");
    scene_workload(&s, "gated", "q", 1,
                   ",\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":\"a.com/x\"}", "");
    scene_settle(&s);
    IS("big", "QuotaReserved", "False", "ExceedsMaxQuota",
       "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, "
       "previously "
       "considered podsets requests (0) + current podset request (5) > maximum capacity (4)");
    IS("lost", "QuotaReserved", "False", "Misconfigured", "LocalQueue nowhere doesn't exist");
    IS("gated", "QuotaReserved", "False", "AdmissionGated", "Admission is gated by: a.com/x");
    EVENTS("AdmissionGated", 1);
    scene_edit(&s, "gated",
               "{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":null}}}");
    scene_settle(&s);
    IS("gated", "Admitted", "True", "Admitted", "");
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    scene_settle(&s);
    IS("big", "QuotaReserved", "False", "Suspended", "LocalQueue q is inactive");
    IS("gated", "Admitted", "True", "Admitted", ""); /* goes on under Hold */
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    scene_spec(&s, "ClusterQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    scene_settle(&s);
    IS("big", "QuotaReserved", "False", "Suspended", "ClusterQueue q is inactive");
    scene_end(&s);
}

static void refused_resources(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 40, "");
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{\"name\":\"l\","
                   "\"namespace\":\"default\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
                   "\"max\":{\"cpu\":\"8\"},\"min\":{\"cpu\":\"2\"}},{\"type\":\"Pod\",\"max\":"
                   "{\"cpu\":\"6\"}}]}}");
    scene_workload(&s, "above", "q", 9, "", "");
    scene_workload(&s, "below", "q", 1, "", "");
    scene_workload(&s, "pod", "q", 7, "", "");
    scene_workload(&s, "good", "q", 3, "", "");
    fake_world_put(
        &s.w,
        "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"odd\",\"namespace\":\"default\"},"
        "\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":"
        "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
        "{\"cpu\":\"4\"},\"limits\":{\"cpu\":\"3\"}}}]}}}]}}");
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"wide\","
                   "\"namespace\":\"default\"},\"spec\":{\"queueName\":\"q\",\"podSets\":"
                   "[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":"
                   "[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"9\"},"
                   "\"limits\":{\"cpu\":\"9\"}}}]}}}]}}");
    scene_settle(&s);
    IS("wide", "QuotaReserved", "False", "Misconfigured",
       "resources didn't satisfy LimitRange constraints: "
       "[spec.podSets[0].template.spec.containers[0]: Invalid value: [\"cpu\"]: requests must not "
       "be "
       "above the limitRange max, spec.podSets[0].template.spec: Invalid value: [\"cpu\"]: "
       "requests "
       "must not be above the limitRange max]");
    IS("above", "QuotaReserved", "False", "Misconfigured", /* a max is the default limit, too */
       "resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid value: "
       "[\"cpu\"]: requests must not exceed its limits");
    IS("below", "QuotaReserved", "False", "Misconfigured",
       "resources didn't satisfy LimitRange constraints: "
       "spec.podSets[0].template.spec.containers[0]: "
       "Invalid value: [\"cpu\"]: requests must not be below the limitRange min");
    IS("pod", "QuotaReserved", "False", "Misconfigured",
       "resources didn't satisfy LimitRange constraints: spec.podSets[0].template.spec: Invalid "
       "value: "
       "[\"cpu\"]: requests must not be above the limitRange max");
    IS("odd", "QuotaReserved", "False", "Misconfigured",
       "resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid value: "
       "[\"cpu\"]: requests must not exceed its limits");
    IS("good", "Admitted", "True", "Admitted", "");
    scene_end(&s);
}

static void overhead_counts(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 4, "");
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"node.k8s.io/v1\",\"kind\":\"RuntimeClass\",\"metadata\":"
                   "{\"name\":\"heavy\"},\"handler\":\"h\",\"overhead\":{\"podFixed\":{\"cpu\":"
                   "\"500m\"}}}");
    fake_world_put(
        &s.w,
        "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},"
        "\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\",\"count\":2,\"template\":"
        "{\"spec\":{\"runtimeClassName\":\"heavy\",\"containers\":[{\"name\":\"c\",\"image\":"
        "\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}");
    scene_settle(&s);
    assert_non_null(
        strstr(fake_world_text(scene_get(&s, "a"), "status.admission"), "\"cpu\":\"3\""));
    scene_end(&s);
}

static void put_class(struct scene *s, const char *name, const char *cpu) {
    char json[256];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"node.k8s.io/v1\",\"kind\":\"RuntimeClass\",\"metadata\":"
             "{\"name\":\"%s\"},\"handler\":\"h\",\"overhead\":{\"podFixed\":{\"cpu\":\"%s\"}}}",
             name, cpu);
    fake_world_put(&s->w, json);
}

static void put_classed(struct scene *s, const char *name, const char *class) {
    char json[512];
    snprintf(
        json, sizeof(json),
        "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"default\"},\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\",\"count\":1,"
        "\"template\":{\"spec\":{\"runtimeClassName\":\"%s\",\"containers\":[{\"name\":\"c\","
        "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
        name, class);
    fake_world_put(&s->w, json);
}

/* Who waits hears of the RuntimeClass of its pods, and of LimitRanges in its namespace. */
static void heard_while_waiting(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 4, "");
    put_class(&s, "heavy", "5");
    put_class(&s, "other", "5");
    put_classed(&s, "a", "heavy");
    put_classed(&s, "b", "other");
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{\"name\":\"l\","
                   "\"namespace\":\"default\"},\"spec\":{\"limits\":[{\"type\":\"Pod\","
                   "\"min\":{\"cpu\":\"1\"}}]}}");
    scene_workload(&s, "small", "q", 0, "", "");
    scene_settle(&s);
    assert_string_equal(fake_world_text(scene_get(&s, "small"), "status.admission"), "");
    fake_world_patch(&s.w, "RuntimeClass", "", "heavy", "",
                     "{\"overhead\":{\"podFixed\":{\"cpu\":\"500m\"}}}");
    scene_settle(&s);
    IS("a", "Admitted", "True", "Admitted", "");
    assert_string_equal(fake_world_text(scene_get(&s, "b"), "status.admission"), "");
    fake_world_delete(&s.w, "LimitRange", "default", "l", "Background");
    scene_settle(&s);
    IS("small", "Admitted", "True", "Admitted", "");
    scene_end(&s);
}

/* ---- checks ---- */

static void checks_gate_the_admission(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 4, WITH_CHECK);
    scene_workload(&s, "a", "q", 1, "", "");
    scene_settle(&s);
    const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "q");
    assert_string_equal(fake_world_condition_reason(cq, "Active"), "AdmissionCheckNotFound");
    assert_string_equal(fake_world_condition_message(cq, "Active"),
                        "Can't admit new workloads: references missing AdmissionCheck(s): c.");
    IS("a", "QuotaReserved", "False", "Suspended", "ClusterQueue q is inactive");
    scene_check(&s, "c", false);
    scene_settle(&s);
    cq = fake_world_get(&s.w, "ClusterQueue", "", "q");
    assert_string_equal(fake_world_condition_reason(cq, "Active"), "AdmissionCheckInactive");
    assert_string_equal(fake_world_condition_message(cq, "Active"),
                        "Can't admit new workloads: references inactive AdmissionCheck(s): c.");
    scene_check(&s, "c", true);
    scene_settle(&s);
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "AdmissionCheck", "", "c"), "metadata.finalizers"),
        "[\"kueue.x-k8s.io/resource-in-use\"]");
    IS("a", "QuotaReserved", "True", "QuotaReserved", "");
    IS("a", "Admitted", "False", "UnsatisfiedAdmissionChecks",
       "The workload has not all checks ready");
    assert_non_null(strstr(fake_world_text(scene_get(&s, "a"), "status.admissionChecks"),
                           "\"state\":\"Pending\""));
    EVENTS("Admitted", 0);
    fake_world_run(&s.w, 7 * NS_PER_SEC);
    scene_decide(&s, "a", "c", "Ready", 0);
    scene_settle(&s);
    IS("a", "Admitted", "True", "Admitted", "The workload is admitted");
    EVENTS("Admitted", 1);
    scene_end(&s);
}

/* 13.12 of the specification, with a Job. */
static void a_check_that_asks_again(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_check(&s, "c", true);
    scene_queue(&s, "q", 4, WITH_CHECK);
    scene_job(&s, "a", "q", 1, "");
    scene_settle(&s);
    scene_decide(&s, "job-a-", "c", "Ready", 0);
    fake_world_live(&s.w, 5);
    IS("job-a-", "PodsReady", "True", "Started", "");
    int64_t asked = clock_wall(s.w.env.clock);
    scene_decide(&s, "job-a-", "c", "Retry", 60);
    fake_world_live(&s.w, 10);
    IS("job-a-", "Evicted", "True", "AdmissionCheck",
       "Evicted due to AdmissionCheck in Retry state: \"c\" (why)");
    IS("job-a-", "Requeued", "False", "AdmissionCheck", "");
    IS("job-a-", "QuotaReserved", "False", "PendingEvaluation", "");
    IS("job-a-", "Admitted", "False", "NoReservation", "The workload has no reservation");
    IS("job-a-", "PodsReady", "False", "WaitForStart", "");
    const char *text = fake_world_text(scene_get(&s, "job-a-"), "status.admissionChecks");
    assert_non_null(strstr(text, "Reset to Pending after eviction. Previously: Retry"));
    assert_non_null(strstr(text, "\"retryCount\":1"));
    char at[TIME_TEXT_MAX];
    TEXT("job-a-", "status.requeueState.requeueAt",
         time_text(asked - asked % NS_PER_SEC + 60 * NS_PER_SEC, at).p);
    TEXT("job-a-", "status.schedulingStats.evictions",
         "[{\"reason\":\"AdmissionCheck\",\"underlyingCause\":\"\",\"count\":1}]");
    EVENTS("EvictedDueToAdmissionCheck", 1);
    fake_world_live(&s.w, 60);
    IS("job-a-", "Requeued", "True", "BackoffFinished", "The workload backoff was finished");
    TEXT("job-a-", "status.requeueState.requeueAt", "");
    IS("job-a-", "QuotaReserved", "True", "QuotaReserved", "");
    IS("job-a-", "Evicted", "False", "QuotaReserved",
       "Previously: Evicted due to AdmissionCheck in Retry state: \"c\" (why)");
    scene_end(&s);
}

static void a_check_that_rejects(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_check(&s, "c", true);
    scene_queue(&s, "q", 4, WITH_CHECK);
    scene_job(&s, "a", "q", 1, "");
    scene_settle(&s);
    scene_decide(&s, "job-a-", "c", "Rejected", 0);
    scene_settle(&s);
    TEXT("job-a-", "spec.active", "false");
    NONE("job-a-", "DeactivationTarget");
    IS("job-a-", "Evicted", "True", "DeactivatedDueToAdmissionCheck",
       "The workload is deactivated due to AdmissionCheck in Rejected state: \"c\" (why)");
    IS("job-a-", "Requeued", "False", "DeactivatedDueToAdmissionCheck", "");
    IS("job-a-", "QuotaReserved", "False", "Deactivated", "The workload is deactivated");
    TEXT("job-a-", "status.schedulingStats.evictions",
         "[{\"reason\":\"Deactivated\",\"underlyingCause\":\"AdmissionCheck\",\"count\":1}]");
    EVENTS("AdmissionCheckRejected", 1);
    EVENTS("EvictedDueToDeactivatedDueToAdmissionCheck", 1);
    scene_edit(&s, "job-a-", "{\"spec\":{\"active\":true}}");
    scene_settle(&s);
    IS("job-a-", "Requeued", "True", "Reactivated", "The workload was reactivated");
    IS("job-a-", "QuotaReserved", "True", "QuotaReserved", "");
    scene_end(&s);
}

static void checks_by_flavor(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_flavor(&s, "g");
    scene_check(&s, "c", true);
    fake_world_put(
        &s.w, "{" KUEUE "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"q\"},\"spec\":{"
              "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
              "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]},"
              "{\"name\":\"g\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]}],"
              "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\",\"onFlavors\":"
              "[\"g\"]}]}}}");
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"q\",\"namespace\":"
                   "\"default\"},\"spec\":{\"clusterQueue\":\"q\"}}");
    scene_workload(&s, "a", "q", 1, "", "");
    scene_settle(&s);
    scene_workload(&s, "b", "q", 1, "", "");
    scene_settle(&s);
    IS("a", "Admitted", "True", "Admitted", ""); /* on f: nothing is required */
    IS("b", "Admitted", "False", "UnsatisfiedAdmissionChecks", "");
    scene_decide(&s, "b", "c", "Ready", 0);
    scene_settle(&s);
    IS("b", "Admitted", "True", "Admitted", "");
    scene_end(&s);
}

/* ---- priorities ---- */

static void classes_that_change(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, PREEMPTS);
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"low\"},"
                   "\"value\":1}");
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"mid\"},"
                   "\"value\":5}");
    fake_world_put(
        &s.w,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"a\","
        "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\","
        "\"kueue.x-k8s.io/priority-class\":\"low\"}},\"spec\":{\"suspend\":true,\"parallelism\":2,"
        "\"completions\":2,\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":"
        "[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}}");
    fake_world_live(&s.w, 5);
    TEXT("job-a-", "spec.priority", "1");
    fake_world_patch(&s.w, "Job", "default", "a", "",
                     "{\"metadata\":{\"labels\":{\"kueue.x-k8s.io/priority-class\":\"mid\"}}}");
    fake_world_live(&s.w, 3); /* also while it runs */
    TEXT("job-a-", "spec.priority", "5");
    TEXT("job-a-", "spec.priorityClassRef.name", "mid");
    scene_workload(&s, "b", "q", 2, "",
                   "\"priority\":7,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
                   "\"kind\":\"WorkloadPriorityClass\",\"name\":\"top\"},");
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"top\"},"
                   "\"value\":3}");
    scene_settle(&s);
    TEXT("b", "spec.priority", "3");
    fake_world_patch(&s.w, "WorkloadPriorityClass", "", "mid", "", "{\"value\":9}");
    scene_settle(&s);
    TEXT("job-a-", "spec.priority", "9");
    scene_end(&s);
}

/* ---- settings ---- */

static void resources_that_become_others(void **state) {
    static const struct str excluded[] = {{"example.com/ignored", 19}};
    static const struct queue_transformation_output outputs[] = {
        {{"cpu", 3}, {.whole = 0, .nano = 500000000}}};
    static const struct queue_transformation mig[] = {{.input = {"nvidia.com/mig-2g.35gb", 22},
                                                       .replace = true,
                                                       .outputs = outputs,
                                                       .n_outputs = 1}};
    struct scene s;
    scene_start(&s);
    s.settings.resources.exclude_prefixes = excluded;
    s.settings.resources.n_exclude_prefixes = 1;
    s.settings.resources.transformations = mig;
    s.settings.resources.n_transformations = 1;
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 9, "");
    fake_world_put(
        &s.w,
        "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},"
        "\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\",\"count\":3,\"template\":"
        "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
        "{\"cpu\":\"1\",\"nvidia.com/mig-2g.35gb\":\"2\",\"example.com/"
        "ignored-x\":\"7\"}}}]}}}]}}");
    scene_settle(&s);
    assert_non_null(strstr(fake_world_text(scene_get(&s, "a"), "status.admission"),
                           "\"resourceUsage\":{\"cpu\":\"6\"}"));
    scene_end(&s);
}

static void pods_are_counted(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    fake_world_put(
        &s.w,
        "{" KUEUE "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"q\"},\"spec\":{"
        "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"pods\"],"
        "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"pods\",\"nominalQuota\":3}]}]},"
        "{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"g\",\"resources\":[{\"name\":"
        "\"cpu\",\"nominalQuota\":100}]}]}]}}");
    scene_flavor(&s, "g");
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"q\",\"namespace\":"
                   "\"default\"},\"spec\":{\"clusterQueue\":\"q\"}}");
    scene_job(&s, "a", "q", 2, "");
    scene_settle(&s);
    scene_job(&s, "b", "q", 2, "");
    scene_settle(&s);
    assert_non_null(
        strstr(fake_world_text(scene_get(&s, "job-a-"), "status.admission"), "\"pods\":\"2\""));
    IS("job-b-", "QuotaReserved", "False", "WaitingForQuota",
       "couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor f, 1 "
       "more "
       "needed");
    scene_end(&s);
}

static void fewer_pods(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 6, PREEMPTS);
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"a\","
                   "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/"
                   "queue-name\":\"q\"},\"annotations\":"
                   "{\"kueue.x-k8s.io/job-min-parallelism\":\"4\",\"kueue.x-k8s.io/"
                   "job-completions-equal-parallelism\":\"true\"}},\"spec\":{\"suspend\":true,"
                   "\"parallelism\":10,\"completions\":10,\"completionMode\":\"Indexed\","
                   "\"template\":{\"spec\":"
                   "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
                   "\"resources\":"
                   "{\"requests\":{\"cpu\":\"1\"}}}]}}}}");
    fake_world_live(&s.w, 5);
    IS("job-a-", "Admitted", "True", "Admitted", "");
    assert_non_null(
        strstr(fake_world_text(scene_get(&s, "job-a-"), "status.admission"), "\"count\":6"));
    const struct object *j = fake_world_get(&s.w, "Job", "default", "a");
    assert_string_equal(fake_world_text(j, "spec.parallelism"), "6");
    assert_string_equal(fake_world_text(j, "spec.completions"), "6");
    assert_int_equal(fake_world_count(&s.w, "Pod"), 6);
    IS("job-a-", "PodsReady", "True", "Started", "");
    scene_workload(&s, "high", "q", 6, "", "\"priority\":5,");
    fake_world_live(&s.w, 8);
    j = fake_world_get(&s.w, "Job", "default", "a");
    assert_string_equal(fake_world_text(j, "spec.suspend"), "true");
    assert_string_equal(fake_world_text(j, "spec.parallelism"), "10");
    assert_string_equal(fake_world_text(j, "spec.completions"), "10");
    scene_end(&s);
}

/* Without the gate UnadmittedWorkloadsObservability. */
static void words_of_old(void **state) {
    struct scene s;
    scene_start(&s);
    s.settings.gates.unadmitted_observability = false;
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_check(&s, "c", true);
    scene_queue(&s, "q", 2, WITH_CHECK);
    scene_workload(&s, "big", "q", 3, "", "");
    scene_workload(&s, "lost", "nowhere", 1, "", "");
    scene_workload(&s, "a", "q", 1, "", "");
    scene_settle(&s);
    IS("big", "QuotaReserved", "False", "Pending", "");
    IS("lost", "QuotaReserved", "False", "Inadmissible", "LocalQueue nowhere doesn't exist");
    IS("a", "Admitted", "False", "UnsatisfiedChecks", "The workload has not all checks ready");
    EVENTS("Pending", 1);
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    scene_settle(&s);
    IS("a", "QuotaReserved", "False", "Inadmissible", "");
    IS("a", "Admitted", "False", "NoReservationUnsatisfiedChecks",
       "The workload has no reservation and not all checks ready");
    scene_end(&s);
}

/* An admission that was not written in time is decided anew, by the quota that there is by then. */
static bool edited_in_between(uint64_t at, enum fake_fault fault, bool check) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_check(&s, "c", true);
    scene_queue(&s, "q", 2, check ? WITH_CHECK : "");
    scene_settle(&s);
    uint64_t before = s.w.writes;
    scene_workload(&s, "a", "q", 2, "", "");
    s.w.fault = fault;
    s.w.fail_at = at;
    for (int n = 0; n < 1000 && s.w.writes + 1 < before + at; n++) {
        fake_world_run(&s.w, NS_PER_MS / 10);
    }
    fake_world_run(&s.w, NS_PER_MS / 2); /* the next one is on its way */
    scene_spec(&s, "ClusterQueue", "q",
               "{\"spec\":{\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":[{"
               "\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":1}]}]}]}}");
    fake_world_run(&s.w, 3 * NS_PER_MS); /* what is under way and succeeds stays */
    bool had = strcmp(fake_world_condition(scene_get(&s, "a"), "QuotaReserved"), "True") == 0;
    fake_world_run(&s.w, 60 * NS_PER_SEC);
    IS("a", "QuotaReserved", had ? "True" : "False", had ? "QuotaReserved" : "ExceedsMaxQuota", "");
    scene_end(&s);
    return had;
}

static void not_written_in_time(void **state) {
    int had = 0;
    for (uint64_t at = 1; at < 8; at++) {
        for (int check = 0; check < 2; check++) {
            had += edited_in_between(at, FAULT_REFUSED, check);
            had += edited_in_between(at, FAULT_CONFLICT, check);
        }
    }
    assert_in_range(had, 1, 7 * 4 - 1); /* both were seen */
}

/* A gate that was opened on the Workload alone is not closed again for its Job's sake. */
static void gates_stay_open(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, "");
    scene_job(&s, "a", "q", 1,
              ",\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":\"a.com/x,a.com/y\"}");
    scene_settle(&s);
    IS("job-a-", "QuotaReserved", "False", "AdmissionGated",
       "Admission is gated by: a.com/x,a.com/y");
    scene_edit(&s, "job-a-",
               "{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":"
               "\"a.com/x\"}}}");
    uint64_t writes = s.w.writes;
    scene_settle(&s);
    IS("job-a-", "QuotaReserved", "False", "AdmissionGated", "Admission is gated by: a.com/x");
    assert_in_range(s.w.writes - writes, 1, 4); /* that, and no quarrel */
    scene_spec(&s, "Job", "a",
               "{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":null}}}");
    scene_settle(&s);
    IS("job-a-", "Admitted", "True", "Admitted", "");
    scene_end(&s);
}

/* Reclaimable pods are counted from what was asked for, as in Kueue: of 6 pods of 10, 5 reclaimable ones leave 5. */
static void fewer_pods_and_some_done(void **state) {
    static const char done[] =
        "{\"status\":{\"reclaimablePods\":[{\"name\":\"main\",\"count\":%d}]}}";
    static const struct {
        int done;
        const char *held;
    } cases[] = {{3, "6"}, {4, "6"}, {5, "5"}, {9, "1"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct scene s;
        char json[128];
        scene_start(&s);
        scene_controllers(&s);
        scene_flavor(&s, "f");
        scene_queue(&s, "q", 6, "");
        fake_world_put(
            &s.w, "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"a\",\"namespace\":"
                  "\"default\"},\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\","
                  "\"count\":10,\"minCount\":2,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                  "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{"
                  "\"cpu\":\"1\"}}}]}}}]}}");
        scene_settle(&s);
        IS("a", "Admitted", "True", "Admitted", "");
        snprintf(json, sizeof(json), done, cases[i].done);
        fake_world_patch(&s.w, "Workload", "default", "a", "status", json);
        scene_settle(&s);
        const struct object *q = fake_world_get(&s.w, "ClusterQueue", "", "q");
        char want[64];
        snprintf(want, sizeof(want), "\"total\":\"%s\"", cases[i].held);
        assert_non_null(strstr(fake_world_text(q, "status.flavorsUsage"), want));
        scene_end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admitted_at_once),
        cmocka_unit_test(waits_and_says_why),
        cmocka_unit_test(refused_resources),
        cmocka_unit_test(overhead_counts),
        cmocka_unit_test(heard_while_waiting),
        cmocka_unit_test(checks_gate_the_admission),
        cmocka_unit_test(a_check_that_asks_again),
        cmocka_unit_test(a_check_that_rejects),
        cmocka_unit_test(checks_by_flavor),
        cmocka_unit_test(classes_that_change),
        cmocka_unit_test(resources_that_become_others),
        cmocka_unit_test(pods_are_counted),
        cmocka_unit_test(fewer_pods),
        cmocka_unit_test(fewer_pods_and_some_done),
        cmocka_unit_test(words_of_old),
        cmocka_unit_test(not_written_in_time),
        cmocka_unit_test(gates_stay_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
