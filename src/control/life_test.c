/*
 * life: every way of a Workload through the queues, with the real controllers of Jobs and queues around it: why it waits,
 * reservation, checks, admission, each cause of an eviction, coming again, deactivation, the end.
 */
#include "base/test.h"
#include "wire/time.h"

#include "control/fake_world.h"
#include "control/gc.h"
#include "control/job.h"
#include "control/job_queue.h"
#include "control/priority_class.h"
#include "control/queue_controller.h"
#include "control/queue_settings.h"
#include "control/workload_life.h"

struct scene {
    struct fake_world w;
    struct queue_settings settings;
    struct queue_controller *queues;
    struct job_controller *jobs;
    struct job_queue_controller *job_queue;
    struct workload_life_controller *life;
    struct priority_class_controller *classes;
    struct gc_controller *gc;
    int outcome; /* of pods: -1 runs on */
};

static int outcome(void *ctx, const struct object *pod) {
    return ((struct scene *)ctx)->outcome;
}

static void controllers(struct scene *s) {
    struct err err = {0};
    s->w.env.settings = &s->settings;
    s->queues = queue_controller_new(&s->w.env, &err);
    s->jobs = job_controller_new(&s->w.env, &err);
    s->job_queue = job_queue_controller_new(&s->w.env, &err);
    s->life = workload_life_controller_new(&s->w.env, &err);
    s->classes = priority_class_controller_new(&s->w.env, &err);
    s->gc = gc_controller_new(&s->w.env, &err);
    assert_true(s->queues && s->jobs && s->job_queue && s->life && s->classes && s->gc);
}

static void stop(struct scene *s) {
    queue_controller_free(s->queues);
    job_controller_free(s->jobs);
    job_queue_controller_free(s->job_queue);
    workload_life_controller_free(s->life);
    priority_class_controller_free(s->classes);
    gc_controller_free(s->gc);
}

static void start(struct scene *s) {
    memset(s, 0, sizeof(*s));
    s->outcome = -1;
    s->settings = *queue_settings_defaults();
    fake_world_init(&s->w);
    s->w.outcome = outcome;
    s->w.outcome_ctx = s;
    if (fake_world_get(&s->w, "Namespace", "", "default") == NULL) {
        fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                              "{\"name\":\"default\"}}");
    }
}

static void end(struct scene *s) {
    stop(s);
    fake_world_release(&s->w);
}

static void settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

/* ---- objects ---- */

#define KUEUE "\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","

static void flavor(struct scene *s, const char *name) {
    char json[512];
    snprintf(json, sizeof(json),
             "{" KUEUE "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"%s\"},\"spec\":{}}",
             name);
    fake_world_put(&s->w, json);
}

/* A ClusterQueue over flavor f and its LocalQueue of the same name; `more` is added to the spec. */
static void queue(struct scene *s, const char *name, int cpu, const char *more) {
    char json[2048];
    snprintf(json, sizeof(json),
             "{" KUEUE "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
             "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
             "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":%d}]}]"
             "}]%s}}",
             name, cpu, more);
    fake_world_put(&s->w, json);
    snprintf(json, sizeof(json),
             "{" KUEUE
             "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
             "\"spec\":{\"clusterQueue\":\"%s\"}}",
             name, name);
    fake_world_put(&s->w, json);
}

static void job(struct scene *s, const char *name, const char *q, int pods, const char *meta) {
    char json[2048];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
        "\"default\",\"labels\":{\"kueue.x-k8s.io/"
        "queue-name\":\"%s\"}%s},\"spec\":{\"suspend\":true,"
        "\"parallelism\":%d,\"completions\":%d,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":"
        "\"1\"}}}]}}}}",
        name, q, meta, pods, pods);
    fake_world_put(&s->w, json);
}

/* A Workload without a Job. */
static void workload(struct scene *s, const char *name, const char *q, int cpu, const char *meta,
                     const char *spec) {
    char json[2048];
    snprintf(
        json, sizeof(json),
        "{" KUEUE
        "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"%s},"
        "\"spec\":{\"queueName\":\"%s\",%s\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":"
        "{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
        "\"resources\":{\"requests\":{\"cpu\":\"%d\"}}}]}}}]}}",
        name, meta, q, spec, cpu);
    fake_world_put(&s->w, json);
}

static void check(struct scene *s, const char *name, bool active) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{" KUEUE "\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"%s\"},\"spec\":"
             "{\"controllerName\":\"example.com/c\"}}",
             name);
    if (fake_world_get(&s->w, "AdmissionCheck", "", name) == NULL) {
        fake_world_put(&s->w, json);
    }
    snprintf(json, sizeof(json),
             "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"%s\",\"reason\":\"R\","
             "\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
             active ? "True" : "False");
    fake_world_patch(&s->w, "AdmissionCheck", "", name, "status", json);
}

struct search {
    const char *prefix;
    const struct object *found;
};

static bool match(void *ctx, const struct object *o) {
    struct search *f = ctx;
    if (str_starts(o->name, str_of(f->prefix))) {
        f->found = o;
    }
    return true;
}

/* By the beginning of its name: "a", "job-a-". */
static const struct object *get(struct scene *s, const char *prefix) {
    struct search f = {.prefix = prefix};
    mirror_scan(s->w.mirror, fake_world_kind("Workload"), STR("default"), match, &f);
    assert_non_null(f.found);
    return f.found;
}

static void decide(struct scene *s, const char *wl, const char *name, const char *state,
                   int after) {
    char json[1024], time[TIME_TEXT_MAX], more[64] = "", full[300];
    assert_true(str_copy(get(s, wl)->name, full, sizeof(full)));
    if (after > 0) {
        snprintf(more, sizeof(more), ",\"requeueAfterSeconds\":%d", after);
    }
    snprintf(
        json, sizeof(json),
        "{\"status\":{\"admissionChecks\":[{\"name\":\"%s\",\"state\":\"%s\",\"message\":\"why\","
        "\"lastTransitionTime\":\"%s\"%s}]}}",
        name, state, time_text(clock_wall(s->w.env.clock), time).p, more);
    fake_world_patch(&s->w, "Workload", "default", full, "status", json);
}

static void edit(struct scene *s, const char *wl, const char *json) {
    char full[300];
    assert_true(str_copy(get(s, wl)->name, full, sizeof(full)));
    fake_world_patch(&s->w, "Workload", "default", full, "", json);
}

static void spec(struct scene *s, const char *kind, const char *name, const char *json) {
    const char *ns = strcmp(kind, "ClusterQueue") == 0 || strstr(kind, "Class") ? "" : "default";
    fake_world_patch(&s->w, kind, ns, name, "", json);
}

#define IS(wl, type, status, reason, message)                                                      \
    do {                                                                                           \
        const struct object *o_ = get(&s, wl);                                                     \
        assert_string_equal(fake_world_condition(o_, type), status);                               \
        assert_string_equal(fake_world_condition_reason(o_, type), reason);                        \
        if (*(message)) {                                                                          \
            assert_string_equal(fake_world_condition_message(o_, type), message);                  \
        }                                                                                          \
    } while (0)
#define TEXT(wl, path, want) assert_string_equal(fake_world_text(get(&s, wl), path), want)
#define NONE(wl, type) assert_string_equal(fake_world_condition(get(&s, wl), type), "")
#define EVENTS(reason, n) assert_int_equal(fake_world_events(&s.w, reason), n)

/* ---- admission ---- */

static void admitted_at_once(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 4, "");
    job(&s, "a", "q", 2, "");
    settle(&s);
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
    end(&s);
}

static void waits_and_says_why(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 4, "");
    workload(&s, "big", "q", 5, "", "");
    workload(&s, "lost", "nowhere", 1, "", "");
    workload(&s, "gated", "q", 1,
             ",\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":\"a.com/x\"}", "");
    settle(&s);
    IS("big", "QuotaReserved", "False", "ExceedsMaxQuota",
       "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, "
       "previously "
       "considered podsets requests (0) + current podset request (5) > maximum capacity (4)");
    IS("lost", "QuotaReserved", "False", "Misconfigured", "LocalQueue nowhere doesn't exist");
    IS("gated", "QuotaReserved", "False", "AdmissionGated", "Admission is gated by: a.com/x");
    EVENTS("AdmissionGated", 1);
    edit(&s, "gated",
         "{\"metadata\":{\"annotations\":{\"kueue.x-k8s.io/admission-gated-by\":null}}}");
    settle(&s);
    IS("gated", "Admitted", "True", "Admitted", "");
    spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    IS("big", "QuotaReserved", "False", "Suspended", "LocalQueue q is inactive");
    IS("gated", "Admitted", "True", "Admitted", ""); /* goes on under Hold */
    spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    spec(&s, "ClusterQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    IS("big", "QuotaReserved", "False", "Suspended", "ClusterQueue q is inactive");
    end(&s);
}

static void refused_resources(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 40, "");
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{\"name\":\"l\","
                   "\"namespace\":\"default\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
                   "\"max\":{\"cpu\":\"8\"},\"min\":{\"cpu\":\"2\"}},{\"type\":\"Pod\",\"max\":"
                   "{\"cpu\":\"6\"}}]}}");
    workload(&s, "above", "q", 9, "", "");
    workload(&s, "below", "q", 1, "", "");
    workload(&s, "pod", "q", 7, "", "");
    workload(&s, "good", "q", 3, "", "");
    fake_world_put(
        &s.w,
        "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"odd\",\"namespace\":\"default\"},"
        "\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":"
        "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
        "{\"cpu\":\"4\"},\"limits\":{\"cpu\":\"3\"}}}]}}}]}}");
    settle(&s);
    IS("above", "QuotaReserved", "False", "Misconfigured",
       "resources didn't satisfy LimitRange constraints: "
       "[spec.podSets[0].template.spec.containers[0]: Invalid value: [\"cpu\"]: requests must not "
       "be "
       "above the limitRange max, spec.podSets[0].template.spec: Invalid value: [\"cpu\"]: "
       "requests "
       "must not be above the limitRange max]");
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
    end(&s);
}

static void overhead_counts(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 4, "");
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
    settle(&s);
    assert_non_null(strstr(fake_world_text(get(&s, "a"), "status.admission"), "\"cpu\":\"3\""));
    end(&s);
}

/* ---- checks ---- */

#define WITH_CHECK ",\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"c\"}]}"

static void checks_gate_the_admission(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 4, WITH_CHECK);
    workload(&s, "a", "q", 1, "", "");
    settle(&s);
    const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "q");
    assert_string_equal(fake_world_condition_reason(cq, "Active"), "AdmissionCheckNotFound");
    assert_string_equal(fake_world_condition_message(cq, "Active"),
                        "Can't admit new workloads: references missing AdmissionCheck(s): c.");
    IS("a", "QuotaReserved", "False", "Suspended", "ClusterQueue q is inactive");
    check(&s, "c", false);
    settle(&s);
    cq = fake_world_get(&s.w, "ClusterQueue", "", "q");
    assert_string_equal(fake_world_condition_reason(cq, "Active"), "AdmissionCheckInactive");
    assert_string_equal(fake_world_condition_message(cq, "Active"),
                        "Can't admit new workloads: references inactive AdmissionCheck(s): c.");
    check(&s, "c", true);
    settle(&s);
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "AdmissionCheck", "", "c"), "metadata.finalizers"),
        "[\"kueue.x-k8s.io/resource-in-use\"]");
    IS("a", "QuotaReserved", "True", "QuotaReserved", "");
    IS("a", "Admitted", "False", "UnsatisfiedAdmissionChecks",
       "The workload has not all checks ready");
    assert_non_null(
        strstr(fake_world_text(get(&s, "a"), "status.admissionChecks"), "\"state\":\"Pending\""));
    EVENTS("Admitted", 0);
    fake_world_run(&s.w, 7 * NS_PER_SEC);
    decide(&s, "a", "c", "Ready", 0);
    settle(&s);
    IS("a", "Admitted", "True", "Admitted", "The workload is admitted");
    EVENTS("Admitted", 1);
    end(&s);
}

/* 13.12 of the specification, with a Job. */
static void a_check_that_asks_again(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    check(&s, "c", true);
    queue(&s, "q", 4, WITH_CHECK);
    job(&s, "a", "q", 1, "");
    settle(&s);
    decide(&s, "job-a-", "c", "Ready", 0);
    fake_world_live(&s.w, 5);
    IS("job-a-", "PodsReady", "True", "Started", "");
    int64_t asked = clock_wall(s.w.env.clock);
    decide(&s, "job-a-", "c", "Retry", 60);
    fake_world_live(&s.w, 10);
    IS("job-a-", "Evicted", "True", "AdmissionCheck",
       "Evicted due to AdmissionCheck in Retry state: \"c\" (why)");
    IS("job-a-", "Requeued", "False", "AdmissionCheck", "");
    IS("job-a-", "QuotaReserved", "False", "PendingEvaluation", "");
    IS("job-a-", "Admitted", "False", "NoReservation", "The workload has no reservation");
    IS("job-a-", "PodsReady", "False", "WaitForStart", "");
    const char *text = fake_world_text(get(&s, "job-a-"), "status.admissionChecks");
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
    end(&s);
}

static void a_check_that_rejects(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    check(&s, "c", true);
    queue(&s, "q", 4, WITH_CHECK);
    job(&s, "a", "q", 1, "");
    settle(&s);
    decide(&s, "job-a-", "c", "Rejected", 0);
    settle(&s);
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
    edit(&s, "job-a-", "{\"spec\":{\"active\":true}}");
    settle(&s);
    IS("job-a-", "Requeued", "True", "Reactivated", "The workload was reactivated");
    IS("job-a-", "QuotaReserved", "True", "QuotaReserved", "");
    end(&s);
}

static void checks_by_flavor(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    flavor(&s, "g");
    check(&s, "c", true);
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
    workload(&s, "a", "q", 1, "", "");
    settle(&s);
    workload(&s, "b", "q", 1, "", "");
    settle(&s);
    IS("a", "Admitted", "True", "Admitted", ""); /* on f: nothing is required */
    IS("b", "Admitted", "False", "UnsatisfiedAdmissionChecks", "");
    decide(&s, "b", "c", "Ready", 0);
    settle(&s);
    IS("b", "Admitted", "True", "Admitted", "");
    end(&s);
}

/* ---- preemption ---- */

#define PREEMPTS ",\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"}"

/* 13.11 of the specification. */
static void preempted_and_back(void **state) {
    struct scene s;
    char want[512];
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 4, PREEMPTS);
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},"
                   "\"value\":100}");
    job(&s, "low", "q", 4, "");
    fake_world_live(&s.w, 5);
    IS("job-low-", "Admitted", "True", "Admitted", "");
    fake_world_put(
        &s.w,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"high\","
        "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\","
        "\"kueue.x-k8s.io/priority-class\":\"high\"}},\"spec\":{\"suspend\":true,"
        "\"parallelism\":2,\"completions\":2,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":"
        "\"1\"}}}]}}}}");
    fake_world_run(&s.w, NS_PER_SEC); /* no kubelet: the pods go on for now */
    const struct object *high = get(&s, "job-high-"),
                        *hj = fake_world_get(&s.w, "Job", "default", "high");
    snprintf(
        want, sizeof(want),
        "Preempted to accommodate a workload (UID: %.*s, JobUID: %.*s) due to prioritization in "
        "the ClusterQueue; preemptor path: /q; preemptee path: /q",
        STR_ARG(high->uid), STR_ARG(hj->uid));
    IS("job-low-", "Evicted", "True", "Preempted", want);
    IS("job-low-", "Preempted", "True", "InClusterQueue", want);
    IS("job-low-", "QuotaReserved", "True", "QuotaReserved", "");
    IS("job-low-", "Admitted", "True", "Admitted", "");
    IS("job-high-", "QuotaReserved", "False", "WaitingForPreemptedWorkloads",
       "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor f, 2 "
       "more "
       "needed. Pending the preemption of 1 workload(s)");
    TEXT("job-low-", "status.schedulingStats.evictions",
         "[{\"reason\":\"Preempted\",\"underlyingCause\":\"\",\"count\":1}]");
    EVENTS("Preempted", 1);
    EVENTS("EvictedDueToPreempted", 1);
    EVENTS("PreemptedWorkload", 1);
    fake_world_live(&s.w, 10);
    IS("job-low-", "Requeued", "True", "Preempted", want);
    IS("job-low-", "QuotaReserved", "False", "WaitingForQuota", "");
    IS("job-low-", "Admitted", "False", "NoReservation", "");
    TEXT("job-low-", "status.admission", "");
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "Job", "default", "low"), "spec.suspend"), "true");
    IS("job-high-", "Admitted", "True", "Admitted", "");
    s.outcome = 0; /* high ends, low comes back */
    fake_world_live(&s.w, 2);
    s.outcome = -1;
    fake_world_live(&s.w, 10);
    IS("job-low-", "Admitted", "True", "Admitted", "");
    IS("job-low-", "Evicted", "False", "QuotaReserved", "");
    assert_true(str_starts(str_of(fake_world_condition_message(get(&s, "job-low-"), "Preempted")),
                           STR("Previously: Preempted to accommodate")));
    end(&s);
}

/* The eviction could not be written: it is tried again, and nothing is lost. */
static void preemption_under_faults(void **state) {
    static const enum fake_fault faults[] = {FAULT_REFUSED, FAULT_LOST, FAULT_CONFLICT};
    for (size_t i = 0; i < 3; i++) {
        for (uint64_t at = 1; at < 8; at++) {
            struct scene s;
            start(&s);
            controllers(&s);
            flavor(&s, "f");
            queue(&s, "q", 4, PREEMPTS);
            workload(&s, "low", "q", 4, "", "");
            settle(&s);
            workload(&s, "high", "q", 2, "", "\"priority\":5,");
            s.w.fault = faults[i];
            s.w.fail_at = at;
            fake_world_run(&s.w, 60 * NS_PER_SEC);
            IS("high", "Admitted", "True", "Admitted", "");
            IS("low", "QuotaReserved", "False", "WaitingForQuota", "");
            end(&s);
        }
    }
}

static void protected_from_preemption(void **state) {
    struct scene s;
    char meta[256], at[TIME_TEXT_MAX];
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 2, PREEMPTS);
    spec(&s, "ClusterQueue", "q",
         "{\"metadata\":{\"annotations\":{\"berth.dev/max-protection\":\"60s\"}}}");
    snprintf(meta, sizeof(meta), ",\"annotations\":{\"berth.dev/protected-until\":\"%s\"}",
             time_text(clock_wall(s.w.env.clock) + 3600 * NS_PER_SEC, at).p);
    workload(&s, "low", "q", 2, meta, "");
    settle(&s);
    workload(&s, "high", "q", 2, "", "\"priority\":5,");
    fake_world_run(&s.w, 40 * NS_PER_SEC);
    NONE("low", "Evicted");
    fake_world_run(&s.w, 30 * NS_PER_SEC); /* capped: a minute, not an hour */
    IS("high", "Admitted", "True", "Admitted", "");
    EVENTS("ProtectionNotGranted", 0);
    spec(&s, "ClusterQueue", "q",
         "{\"metadata\":{\"annotations\":{\"berth.dev/max-protection\":null}}}");
    workload(&s, "next", "q", 2, meta, "\"priority\":7,");
    settle(&s);
    IS("next", "Admitted", "True", "Admitted", "");
    EVENTS("ProtectionNotGranted", 1);
    workload(&s, "last", "q", 2, "", "\"priority\":9,");
    settle(&s);
    IS("last", "Admitted", "True", "Admitted", "");
    end(&s);
}

static void gates_against_preempting(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 2, PREEMPTS);
    workload(&s, "low", "q", 2, "", "");
    settle(&s);
    workload(&s, "high", "q", 2, "",
             "\"priority\":5,\"preemptionGates\":[{\"name\":\"a.com/g\"}],");
    settle(&s);
    assert_non_null(strstr(fake_world_text(get(&s, "high"), "status.preemptionGates"),
                           "\"position\":\"Closed\""));
    IS("high", "QuotaReserved", "False", "AdmissionGated", "");
    IS("high", "BlockedOnPreemptionGates", "True", "PreemptionGated",
       "Workload requires preemption, but it's gated");
    NONE("low", "Evicted");
    fake_world_patch(
        &s.w, "Workload", "default", "high", "status",
        "{\"status\":{\"preemptionGates\":[{\"name\":\"a.com/g\",\"position\":\"Open\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    settle(&s);
    IS("high", "Admitted", "True", "Admitted", "");
    IS("high", "BlockedOnPreemptionGates", "False", "QuotaReserved",
       "Previously: Workload requires preemption, but it's gated");
    end(&s);
}

/* ---- queues that stop ---- */

static void stopped_queues(void **state) {
    static const struct {
        const char *kind, *event, *reason, *text, *back, *back_text;
    } cases[] = {
        {"ClusterQueue", "EvictedDueToClusterQueueStopped", "ClusterQueueStopped",
         "The ClusterQueue is stopped", "ClusterQueueRestarted",
         "The ClusterQueue was restarted after being stopped"},
        {"LocalQueue", "EvictedDueToLocalQueueStopped", "LocalQueueStopped",
         "The LocalQueue is stopped", "LocalQueueRestarted",
         "The LocalQueue was restarted after being stopped"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct scene s;
        start(&s);
        controllers(&s);
        flavor(&s, "f");
        queue(&s, "q", 2, "");
        job(&s, "a", "q", 2, "");
        fake_world_live(&s.w, 5);
        spec(&s, cases[i].kind, "q", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
        fake_world_live(&s.w, 8);
        IS("job-a-", "Evicted", "True", cases[i].reason, cases[i].text);
        IS("job-a-", "Requeued", "False", cases[i].reason, cases[i].text);
        IS("job-a-", "QuotaReserved", "False", "Suspended", "");
        EVENTS(cases[i].event, 1);
        spec(&s, cases[i].kind, "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
        fake_world_live(&s.w, 8);
        IS("job-a-", "Requeued", "True", cases[i].back, cases[i].back_text);
        IS("job-a-", "Admitted", "True", "Admitted", "");
        end(&s);
    }
}

/* What merely reserves quota loses it at once, without an eviction. */
static void stopped_while_reserving(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    check(&s, "c", true);
    queue(&s, "q", 2, WITH_CHECK);
    workload(&s, "a", "q", 1, "", "");
    settle(&s);
    IS("a", "QuotaReserved", "True", "QuotaReserved", "");
    spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    fake_world_run(&s.w, 20 * NS_PER_MS);
    settle(&s);
    IS("a", "QuotaReserved", "False", "Suspended", "");
    NONE("a", "Evicted");
    TEXT("a", "status.admission", "");
    spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    settle(&s);
    IS("a", "QuotaReserved", "True", "QuotaReserved", "");
    spec(&s, "ClusterQueue", "q", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    settle(&s);
    IS("a", "QuotaReserved", "False", "Suspended", "");
    NONE("a", "Evicted");
    end(&s);
}

/* ---- readiness ---- */

static void never_ready(void **state) {
    struct scene s;
    start(&s);
    s.settings.ready.timeout_ns = 20 * NS_PER_SEC;
    s.settings.ready.backoff_base_s = 10;
    s.settings.ready.backoff_limit = 2;
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 2, "");
    job(&s, "a", "q", 2, "");
    fake_world_run(&s.w, 15 * NS_PER_SEC); /* no kubelet: pods stay Pending */
    IS("job-a-", "PodsReady", "False", "WaitForStart", "");
    NONE("job-a-", "Evicted");
    fake_world_run(&s.w, 7 * NS_PER_SEC);
    IS("job-a-", "Evicted", "True", "PodsReadyTimeout", "");
    assert_true(str_starts(str_of(fake_world_condition_message(get(&s, "job-a-"), "Evicted")),
                           STR("Exceeded the PodsReady timeout default/job-a-")));
    TEXT("job-a-", "status.requeueState.count", "1");
    TEXT("job-a-", "status.schedulingStats.evictions",
         "[{\"reason\":\"PodsReadyTimeout\",\"underlyingCause\":\"WaitForStart\",\"count\":1}]");
    EVENTS("EvictedDueToPodsReadyTimeout", 1);
    for (int i = 0; i < 3; i++) { /* pods that are deleted go at once here */
        fake_world_kubelet(&s.w);
        fake_world_run(&s.w, NS_PER_SEC);
    }
    IS("job-a-", "Requeued", "False", "PodsReadyTimeout", "");
    fake_world_run(&s.w, 12 * NS_PER_SEC);
    IS("job-a-", "Requeued", "True", "BackoffFinished", "");
    IS("job-a-", "Admitted", "True", "Admitted", "");
    TEXT("job-a-", "status.requeueState.count", "1");
    fake_world_run(&s.w, 25 * NS_PER_SEC);
    TEXT("job-a-", "status.requeueState.count", "2");
    for (int i = 0; i < 3; i++) {
        fake_world_kubelet(&s.w);
        fake_world_run(&s.w, NS_PER_SEC);
    }
    fake_world_run(&s.w, 60 * NS_PER_SEC); /* 20 s of back-off, 20 s not ready: once too often */
    IS("job-a-", "Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded",
       "The workload is deactivated due to exceeding the maximum number of re-queuing retries");
    TEXT("job-a-", "spec.active", "false");
    TEXT("job-a-", "status.requeueState", "");
    EVENTS("EvictedDueToDeactivatedDueToRequeuingLimitExceeded", 1);
    end(&s);
}

static void not_ready_any_more(void **state) {
    struct scene s;
    start(&s);
    s.settings.ready.recovery_timeout_ns = 60 * NS_PER_SEC;
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 2, "");
    job(&s, "a", "q", 2, "");
    fake_world_live(&s.w, 5);
    IS("job-a-", "PodsReady", "True", "Started", "");
    s.outcome = 1;
    fake_world_live(&s.w, 1); /* both fail; their successors do not start yet */
    s.outcome = -1;
    fake_world_run(&s.w, 15 * NS_PER_SEC);
    IS("job-a-", "PodsReady", "False", "WaitForRecovery",
       "At least one pod has failed, waiting for recovery");
    fake_world_live(&s.w, 15);
    IS("job-a-", "PodsReady", "True", "Recovered",
       "All pods reached readiness and the workload is running");
    s.outcome = 1;
    fake_world_live(&s.w, 1);
    s.outcome = -1;
    fake_world_run(&s.w, 70 * NS_PER_SEC);
    IS("job-a-", "Evicted", "True", "PodsReadyTimeout", "");
    TEXT("job-a-", "status.schedulingStats.evictions",
         "[{\"reason\":\"PodsReadyTimeout\",\"underlyingCause\":\"WaitForRecovery\",\"count\":1}]");
    end(&s);
}

static void one_admission_at_a_time(void **state) {
    struct scene s;
    start(&s);
    s.settings.ready.block_admission = true;
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 4, "");
    job(&s, "a", "q", 1, "");
    settle(&s);
    job(&s, "b", "q", 1, "");
    settle(&s);
    IS("job-a-", "Admitted", "True", "Admitted", "");
    IS("job-b-", "QuotaReserved", "False", "WaitingForPodsReady",
       "waiting for all admitted workloads to be in PodsReady condition");
    fake_world_live(&s.w, 5);
    IS("job-a-", "PodsReady", "True", "Started", "");
    IS("job-b-", "Admitted", "True", "Admitted", "");
    end(&s);
}

/* ---- time limits, deactivation, the end ---- */

static void too_long(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 2, PREEMPTS);
    fake_world_put(
        &s.w,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"a\","
        "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\","
        "\"kueue.x-k8s.io/max-exec-time-seconds\":\"60\"}},\"spec\":{\"suspend\":true,"
        "\"parallelism\":1,\"completions\":1,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
        "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":"
        "\"2\"}}}]}}}}");
    fake_world_live(&s.w, 40);
    TEXT("job-a-", "spec.maximumExecutionTimeSeconds", "60");
    workload(&s, "high", "q", 2, "", "\"priority\":5,");
    fake_world_live(&s.w, 10); /* what ran before counts */
    int64_t past = strtol(
        fake_world_text(get(&s, "job-a-"), "status.accumulatedPastExecutionTimeSeconds"), NULL, 10);
    assert_in_range(past, 39, 45);
    fake_world_delete(&s.w, "Workload", "default", "high", "");
    fake_world_live(&s.w, 15);
    IS("job-a-", "Admitted", "True", "Admitted", "");
    fake_world_live(&s.w, 15);
    IS("job-a-", "Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded",
       "The workload is deactivated due to exceeding the maximum execution time");
    EVENTS("MaximumExecutionTimeExceeded", 1);
    end(&s);
}

static void deactivated_by_a_user(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 2, "");
    job(&s, "a", "q", 1, "");
    fake_world_live(&s.w, 5);
    edit(&s, "job-a-", "{\"spec\":{\"active\":false}}");
    fake_world_live(&s.w, 8);
    IS("job-a-", "Evicted", "True", "Deactivated", "The workload is deactivated");
    IS("job-a-", "QuotaReserved", "False", "Deactivated", "The workload is deactivated");
    IS("job-a-", "Requeued", "False", "Deactivated", "The workload is deactivated");
    EVENTS("EvictedDueToDeactivated", 1);
    edit(&s, "job-a-", "{\"spec\":{\"active\":true}}");
    fake_world_live(&s.w, 8);
    IS("job-a-", "Requeued", "True", "Reactivated", "The workload was reactivated");
    IS("job-a-", "Admitted", "True", "Admitted", "");
    end(&s);
}

static void kept_for_a_while(void **state) {
    struct scene s;
    start(&s);
    s.settings.keep_finished_ns = 30 * NS_PER_SEC;
    s.settings.keep_deactivated_ns = 30 * NS_PER_SEC;
    s.settings.ready.timeout_ns = 5 * NS_PER_SEC;
    s.settings.ready.backoff_limit = 0;
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 2, "");
    job(&s, "a", "q", 1, "");
    s.outcome = 0;
    fake_world_live(&s.w, 10);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 1);
    fake_world_live(&s.w, 40);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    job(&s, "b", "q", 1, "");
    fake_world_run(&s.w, 10 * NS_PER_SEC);
    IS("job-b-", "Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded", "");
    fake_world_live(&s.w, 40);
    assert_null(fake_world_get(&s.w, "Job", "default", "b"));
    EVENTS("Deleted", 2);
    end(&s);
}

/* ---- priorities ---- */

static void classes_that_change(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 2, PREEMPTS);
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
    workload(&s, "b", "q", 2, "",
             "\"priority\":7,\"priorityClassRef\":{\"group\":\"kueue.x-k8s.io\","
             "\"kind\":\"WorkloadPriorityClass\",\"name\":\"top\"},");
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"top\"},"
                   "\"value\":3}");
    settle(&s);
    TEXT("b", "spec.priority", "3");
    fake_world_patch(&s.w, "WorkloadPriorityClass", "", "mid", "", "{\"value\":9}");
    settle(&s);
    TEXT("job-a-", "spec.priority", "9");
    end(&s);
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
    start(&s);
    s.settings.resources.exclude_prefixes = excluded;
    s.settings.resources.n_exclude_prefixes = 1;
    s.settings.resources.transformations = mig;
    s.settings.resources.n_transformations = 1;
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 9, "");
    fake_world_put(
        &s.w,
        "{" KUEUE "\"kind\":\"Workload\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"},"
        "\"spec\":{\"queueName\":\"q\",\"podSets\":[{\"name\":\"main\",\"count\":3,\"template\":"
        "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
        "{\"cpu\":\"1\",\"nvidia.com/mig-2g.35gb\":\"2\",\"example.com/"
        "ignored-x\":\"7\"}}}]}}}]}}");
    settle(&s);
    assert_non_null(strstr(fake_world_text(get(&s, "a"), "status.admission"),
                           "\"resourceUsage\":{\"cpu\":\"6\"}"));
    end(&s);
}

static void pods_are_counted(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    fake_world_put(
        &s.w,
        "{" KUEUE "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"q\"},\"spec\":{"
        "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"pods\"],"
        "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"pods\",\"nominalQuota\":3}]}]},"
        "{\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"g\",\"resources\":[{\"name\":"
        "\"cpu\",\"nominalQuota\":100}]}]}]}}");
    flavor(&s, "g");
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"q\",\"namespace\":"
                   "\"default\"},\"spec\":{\"clusterQueue\":\"q\"}}");
    job(&s, "a", "q", 2, "");
    settle(&s);
    job(&s, "b", "q", 2, "");
    settle(&s);
    assert_non_null(
        strstr(fake_world_text(get(&s, "job-a-"), "status.admission"), "\"pods\":\"2\""));
    IS("job-b-", "QuotaReserved", "False", "WaitingForQuota",
       "couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor f, 1 "
       "more "
       "needed");
    end(&s);
}

static void fewer_pods(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    flavor(&s, "f");
    queue(&s, "q", 6, PREEMPTS);
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
    assert_non_null(strstr(fake_world_text(get(&s, "job-a-"), "status.admission"), "\"count\":6"));
    const struct object *j = fake_world_get(&s.w, "Job", "default", "a");
    assert_string_equal(fake_world_text(j, "spec.parallelism"), "6");
    assert_string_equal(fake_world_text(j, "spec.completions"), "6");
    assert_int_equal(fake_world_count(&s.w, "Pod"), 6);
    IS("job-a-", "PodsReady", "True", "Started", "");
    workload(&s, "high", "q", 6, "", "\"priority\":5,");
    fake_world_live(&s.w, 8);
    j = fake_world_get(&s.w, "Job", "default", "a");
    assert_string_equal(fake_world_text(j, "spec.suspend"), "true");
    assert_string_equal(fake_world_text(j, "spec.parallelism"), "10");
    assert_string_equal(fake_world_text(j, "spec.completions"), "10");
    end(&s);
}

/* Controllers that are made anew in the middle go on where the objects are. */
static void made_anew(void **state) {
    for (int ms = 0; ms < 40; ms++) {
        struct scene s;
        start(&s);
        controllers(&s);
        flavor(&s, "f");
        queue(&s, "q", 4, PREEMPTS);
        job(&s, "low", "q", 4, "");
        fake_world_live(&s.w, 4);
        workload(&s, "high", "q", 2, "", "\"priority\":5,");
        fake_world_run(&s.w, ms * NS_PER_MS);
        stop(&s);
        controllers(&s);
        fake_world_live(&s.w, 10);
        IS("high", "Admitted", "True", "Admitted", "");
        IS("job-low-", "QuotaReserved", "False", "WaitingForQuota", "");
        TEXT("job-low-", "status.schedulingStats.evictions",
             "[{\"reason\":\"Preempted\",\"underlyingCause\":\"\",\"count\":1}]");
        end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admitted_at_once),
        cmocka_unit_test(waits_and_says_why),
        cmocka_unit_test(refused_resources),
        cmocka_unit_test(overhead_counts),
        cmocka_unit_test(checks_gate_the_admission),
        cmocka_unit_test(a_check_that_asks_again),
        cmocka_unit_test(a_check_that_rejects),
        cmocka_unit_test(checks_by_flavor),
        cmocka_unit_test(preempted_and_back),
        cmocka_unit_test(preemption_under_faults),
        cmocka_unit_test(protected_from_preemption),
        cmocka_unit_test(gates_against_preempting),
        cmocka_unit_test(stopped_queues),
        cmocka_unit_test(stopped_while_reserving),
        cmocka_unit_test(never_ready),
        cmocka_unit_test(not_ready_any_more),
        cmocka_unit_test(one_admission_at_a_time),
        cmocka_unit_test(too_long),
        cmocka_unit_test(deactivated_by_a_user),
        cmocka_unit_test(kept_for_a_while),
        cmocka_unit_test(classes_that_change),
        cmocka_unit_test(resources_that_become_others),
        cmocka_unit_test(pods_are_counted),
        cmocka_unit_test(fewer_pods),
        cmocka_unit_test(made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
