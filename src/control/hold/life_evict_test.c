/*
 * life_evict: Workloads that lose their quota: each cause of an eviction, coming again, deactivation, the end.
 */
#include "control/test/life_scene.h"

/* ---- preemption ---- */

/* 13.11 of the specification. */
static void preempted_and_back(void **state) {
    struct scene s;
    char want[512];
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 4, PREEMPTS);
    fake_world_put(&s.w,
                   "{" KUEUE "\"kind\":\"WorkloadPriorityClass\",\"metadata\":{\"name\":\"high\"},"
                   "\"value\":100}");
    scene_job(&s, "low", "q", 4, "");
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
    const struct object *high = scene_get(&s, "job-high-"),
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
    assert_true(
        str_starts(str_of(fake_world_condition_message(scene_get(&s, "job-low-"), "Preempted")),
                   STR("Previously: Preempted to accommodate")));
    scene_end(&s);
}

/* The eviction could not be written: it is tried again, and nothing is lost. */
static void preemption_under_faults(void **state) {
    static const enum fake_fault faults[] = {FAULT_REFUSED, FAULT_LOST, FAULT_CONFLICT};
    for (size_t i = 0; i < 3; i++) {
        for (uint64_t at = 1; at < 8; at++) {
            struct scene s;
            scene_start(&s);
            fake_world_runner(&s.w);
            scene_controllers(&s);
            scene_flavor(&s, "f");
            scene_queue(&s, "q", 4, PREEMPTS);
            scene_workload(&s, "low", "q", 4, "", "");
            scene_settle(&s);
            scene_workload(&s, "high", "q", 2, "", "\"priority\":5,");
            s.w.fault = faults[i];
            s.w.fail_at = at;
            fake_world_run(&s.w, 60 * NS_PER_SEC);
            IS("high", "Admitted", "True", "Admitted", "");
            IS("low", "QuotaReserved", "False", "WaitingForQuota", "");
            scene_end(&s);
        }
    }
}

static void protected_from_preemption(void **state) {
    struct scene s;
    char meta[256], at[TIME_TEXT_MAX];
    scene_start(&s);
    fake_world_runner(&s.w);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, PREEMPTS);
    scene_spec(&s, "ClusterQueue", "q",
               "{\"metadata\":{\"annotations\":{\"berth.dev/max-protection\":\"60s\"}}}");
    snprintf(meta, sizeof(meta), ",\"annotations\":{\"berth.dev/protected-until\":\"%s\"}",
             time_text(clock_wall(s.w.env.clock) + 3600 * NS_PER_SEC, at).p);
    scene_workload(&s, "low", "q", 2, meta, "");
    scene_settle(&s);
    scene_workload(&s, "high", "q", 2, "", "\"priority\":5,");
    fake_world_run(&s.w, 40 * NS_PER_SEC);
    NONE("low", "Evicted");
    fake_world_run(&s.w, 30 * NS_PER_SEC); /* capped: a minute, not an hour */
    IS("high", "Admitted", "True", "Admitted", "");
    EVENTS("ProtectionNotGranted", 0);
    scene_spec(&s, "ClusterQueue", "q",
               "{\"metadata\":{\"annotations\":{\"berth.dev/max-protection\":null}}}");
    scene_workload(&s, "next", "q", 2, meta, "\"priority\":7,");
    scene_settle(&s);
    IS("next", "Admitted", "True", "Admitted", "");
    EVENTS("ProtectionNotGranted", 1);
    scene_workload(&s, "last", "q", 2, "", "\"priority\":9,");
    scene_settle(&s);
    IS("last", "Admitted", "True", "Admitted", "");
    scene_end(&s);
}

static void gates_against_preempting(void **state) {
    struct scene s;
    scene_start(&s);
    fake_world_runner(&s.w);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, PREEMPTS);
    scene_workload(&s, "low", "q", 2, "", "");
    scene_settle(&s);
    scene_workload(&s, "high", "q", 2, "",
                   "\"priority\":5,\"preemptionGates\":[{\"name\":\"a.com/g\"}],");
    scene_settle(&s);
    assert_non_null(strstr(fake_world_text(scene_get(&s, "high"), "status.preemptionGates"),
                           "\"position\":\"Closed\""));
    IS("high", "QuotaReserved", "False", "AdmissionGated", "");
    IS("high", "BlockedOnPreemptionGates", "True", "PreemptionGated",
       "Workload requires preemption, but it's gated");
    NONE("low", "Evicted");
    fake_world_patch(
        &s.w, "Workload", "default", "high", "status",
        "{\"status\":{\"preemptionGates\":[{\"name\":\"a.com/g\",\"position\":\"Open\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    scene_settle(&s);
    IS("high", "Admitted", "True", "Admitted", "");
    IS("high", "BlockedOnPreemptionGates", "False", "QuotaReserved",
       "Previously: Workload requires preemption, but it's gated");
    scene_end(&s);
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
        scene_start(&s);
        scene_controllers(&s);
        scene_flavor(&s, "f");
        scene_queue(&s, "q", 2, "");
        scene_job(&s, "a", "q", 2, "");
        fake_world_live(&s.w, 5);
        scene_spec(&s, cases[i].kind, "q", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
        fake_world_live(&s.w, 8);
        IS("job-a-", "Evicted", "True", cases[i].reason, cases[i].text);
        IS("job-a-", "Requeued", "False", cases[i].reason, cases[i].text);
        IS("job-a-", "QuotaReserved", "False", "Suspended", "");
        EVENTS(cases[i].event, 1);
        scene_spec(&s, cases[i].kind, "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
        fake_world_live(&s.w, 8);
        IS("job-a-", "Requeued", "True", cases[i].back, cases[i].back_text);
        IS("job-a-", "Admitted", "True", "Admitted", "");
        scene_end(&s);
    }
}

/* A LocalQueue that goes on says so, although the ClusterQueue is still stopped; and the other way round. */
static void returns_one_by_one(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, "");
    scene_job(&s, "a", "q", 2, "");
    fake_world_live(&s.w, 5);
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    fake_world_live(&s.w, 8);
    scene_spec(&s, "ClusterQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    fake_world_live(&s.w, 8);
    IS("job-a-", "Requeued", "False", "LocalQueueStopped", "The LocalQueue is stopped");
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    fake_world_live(&s.w, 8);
    IS("job-a-", "Requeued", "True", "LocalQueueRestarted",
       "The LocalQueue was restarted after being stopped");
    IS("job-a-", "QuotaReserved", "False", "Suspended", "");
    scene_spec(&s, "ClusterQueue", "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    fake_world_live(&s.w, 8);
    IS("job-a-", "Admitted", "True", "Admitted", "");
    scene_end(&s);
}

/* Workload a holds quota and waits for its check. */
static void reserving(struct scene *s) {
    scene_start(s);
    scene_controllers(s);
    scene_flavor(s, "f");
    scene_check(s, "c", true);
    scene_queue(s, "q", 2, WITH_CHECK);
    scene_workload(s, "a", "q", 1, "", "");
    scene_settle(s);
}

/* The last check and the stop come together: it is admitted, and goes on on Hold. */
static void cleared_while_stopped(void **state) {
    struct scene s;
    reserving(&s);
    IS("a", "QuotaReserved", "True", "QuotaReserved", "");
    fake_world_patch(
        &s.w, "Workload", "default", "a", "status",
        "{\"status\":{\"admissionChecks\":[{\"name\":\"c\",\"state\":\"Ready\",\"message\":\"\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
    scene_spec(&s, "ClusterQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    scene_settle(&s);
    IS("a", "Admitted", "True", "Admitted", "");
    NONE("a", "Evicted");
    scene_end(&s);
}

/* What merely reserves quota loses it at once, without an eviction. */
static void stopped_while_reserving(void **state) {
    struct scene s;
    reserving(&s);
    IS("a", "QuotaReserved", "True", "QuotaReserved", "");
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    fake_world_run(&s.w, 20 * NS_PER_MS);
    scene_settle(&s);
    IS("a", "QuotaReserved", "False", "Suspended", "");
    NONE("a", "Evicted");
    TEXT("a", "status.admission", "");
    scene_spec(&s, "LocalQueue", "q", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    scene_settle(&s);
    IS("a", "QuotaReserved", "True", "QuotaReserved", "");
    scene_spec(&s, "ClusterQueue", "q", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    scene_settle(&s);
    IS("a", "QuotaReserved", "False", "Suspended", "");
    NONE("a", "Evicted");
    scene_end(&s);
}

/* ---- readiness ---- */

static void never_ready(void **state) {
    struct scene s;
    scene_start(&s);
    s.settings.ready.timeout_ns = 20 * NS_PER_SEC;
    s.settings.ready.backoff_base_s = 10;
    s.settings.ready.backoff_limit = 2;
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, "");
    scene_job(&s, "a", "q", 2, "");
    fake_world_run(&s.w, 15 * NS_PER_SEC); /* no kubelet: pods stay Pending */
    IS("job-a-", "PodsReady", "False", "WaitForStart", "");
    NONE("job-a-", "Evicted");
    fake_world_run(&s.w, 7 * NS_PER_SEC);
    IS("job-a-", "Evicted", "True", "PodsReadyTimeout", "");
    assert_true(str_starts(str_of(fake_world_condition_message(scene_get(&s, "job-a-"), "Evicted")),
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
    scene_end(&s);
}

static void not_ready_any_more(void **state) {
    struct scene s;
    scene_start(&s);
    s.settings.ready.recovery_timeout_ns = 60 * NS_PER_SEC;
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, "");
    scene_job(&s, "a", "q", 2, "");
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
    scene_end(&s);
}

static void one_admission_at_a_time(void **state) {
    struct scene s;
    scene_start(&s);
    s.settings.ready.block_admission = true;
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 4, "");
    scene_job(&s, "a", "q", 1, "");
    scene_settle(&s);
    scene_job(&s, "b", "q", 1, "");
    scene_settle(&s);
    IS("job-a-", "Admitted", "True", "Admitted", "");
    IS("job-b-", "QuotaReserved", "False", "WaitingForPodsReady",
       "waiting for all admitted workloads to be in PodsReady condition");
    fake_world_live(&s.w, 5);
    IS("job-a-", "PodsReady", "True", "Started", "");
    IS("job-b-", "Admitted", "True", "Admitted", "");
    scene_end(&s);
}

/* ---- time limits, deactivation, the end ---- */

static void too_long(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, PREEMPTS);
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
    scene_workload(&s, "high", "q", 2, "", "\"priority\":5,");
    fake_world_live(&s.w, 10); /* what ran before counts */
    int64_t past = strtol(
        fake_world_text(scene_get(&s, "job-a-"), "status.accumulatedPastExecutionTimeSeconds"),
        NULL, 10);
    assert_in_range(past, 39, 45);
    fake_world_delete(&s.w, "Workload", "default", "high", "");
    fake_world_live(&s.w, 15);
    IS("job-a-", "Admitted", "True", "Admitted", "");
    fake_world_live(&s.w, 15);
    IS("job-a-", "Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded",
       "The workload is deactivated due to exceeding the maximum execution time");
    EVENTS("MaximumExecutionTimeExceeded", 1);
    scene_end(&s);
}

static void deactivated_by_a_user(void **state) {
    struct scene s;
    scene_start(&s);
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, "");
    scene_job(&s, "a", "q", 1, "");
    fake_world_live(&s.w, 5);
    scene_edit(&s, "job-a-", "{\"spec\":{\"active\":false}}");
    fake_world_live(&s.w, 8);
    IS("job-a-", "Evicted", "True", "Deactivated", "The workload is deactivated");
    IS("job-a-", "QuotaReserved", "False", "Deactivated", "The workload is deactivated");
    IS("job-a-", "Requeued", "False", "Deactivated", "The workload is deactivated");
    EVENTS("EvictedDueToDeactivated", 1);
    scene_edit(&s, "job-a-", "{\"spec\":{\"active\":true}}");
    fake_world_live(&s.w, 8);
    IS("job-a-", "Requeued", "True", "Reactivated", "The workload was reactivated");
    IS("job-a-", "Admitted", "True", "Admitted", "");
    scene_end(&s);
}

static void kept_for_a_while(void **state) {
    struct scene s;
    scene_start(&s);
    s.settings.keep_finished_ns = 30 * NS_PER_SEC;
    s.settings.keep_deactivated_ns = 30 * NS_PER_SEC;
    s.settings.ready.timeout_ns = 5 * NS_PER_SEC;
    s.settings.ready.backoff_limit = 0;
    scene_controllers(&s);
    scene_flavor(&s, "f");
    scene_queue(&s, "q", 2, "");
    scene_job(&s, "a", "q", 1, "");
    s.outcome = 0;
    fake_world_live(&s.w, 10);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 1);
    fake_world_live(&s.w, 40);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    scene_job(&s, "b", "q", 1, "");
    fake_world_run(&s.w, 10 * NS_PER_SEC);
    IS("job-b-", "Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded", "");
    fake_world_live(&s.w, 40);
    assert_null(fake_world_get(&s.w, "Job", "default", "b"));
    EVENTS("Deleted", 2);
    scene_end(&s);
}

/* Controllers that are made anew in the middle go on where the objects are. */
static void made_anew(void **state) {
    for (int ms = 0; ms < 40; ms++) {
        struct scene s;
        scene_start(&s);
        scene_controllers(&s);
        scene_flavor(&s, "f");
        scene_queue(&s, "q", 4, PREEMPTS);
        scene_job(&s, "low", "q", 4, "");
        fake_world_live(&s.w, 4);
        scene_workload(&s, "high", "q", 2, "", "\"priority\":5,");
        fake_world_run(&s.w, ms * NS_PER_MS);
        scene_stop(&s);
        scene_controllers(&s);
        fake_world_live(&s.w, 10);
        IS("high", "Admitted", "True", "Admitted", "");
        IS("job-low-", "QuotaReserved", "False", "WaitingForQuota", "");
        TEXT("job-low-", "status.schedulingStats.evictions",
             "[{\"reason\":\"Preempted\",\"underlyingCause\":\"\",\"count\":1}]");
        scene_end(&s);
    }
}

/* The same for every other cause: the eviction happens once, is counted once, and the quota comes back. */
static void any_cause_made_anew(void **state) {
    enum { RETRY, NOT_READY, DEACTIVATED, DRAINED, CAUSES };
    static const char *const stats[CAUSES] = {
        "[{\"reason\":\"AdmissionCheck\",\"underlyingCause\":\"\",\"count\":1}]",
        "[{\"reason\":\"PodsReadyTimeout\",\"underlyingCause\":\"WaitForStart\",\"count\":1}]",
        "[{\"reason\":\"Deactivated\",\"underlyingCause\":\"\",\"count\":1}]",
        "[{\"reason\":\"ClusterQueueStopped\",\"underlyingCause\":\"\",\"count\":1}]",
    };
    for (int i = 0; i < CAUSES * 40; i++) {
        struct scene s;
        int cause = i / 40;
        scene_start(&s);
        s.settings.ready.timeout_ns = 5 * NS_PER_SEC;
        scene_controllers(&s);
        scene_flavor(&s, "f");
        scene_check(&s, "c", true);
        scene_queue(&s, "q", 2, cause == RETRY ? WITH_CHECK : "");
        scene_job(&s, "a", "q", 2, "");
        fake_world_run(&s.w, NS_PER_SEC);
        if (cause == RETRY) {
            scene_decide(&s, "job-a-", "c", "Ready", 0);
        }
        if (cause == NOT_READY) {
            fake_world_run(&s.w, 3990 * NS_PER_MS);
        } else {
            fake_world_live(&s.w, 4);
        }
        IS("job-a-", "Admitted", "True", "Admitted", "");
        if (cause == RETRY) {
            scene_decide(&s, "job-a-", "c", "Retry", 0);
        } else if (cause == DEACTIVATED) {
            scene_edit(&s, "job-a-", "{\"spec\":{\"active\":false}}");
        } else if (cause == DRAINED) {
            scene_spec(&s, "ClusterQueue", "q", "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
        }
        fake_world_run(&s.w, i % 40 * NS_PER_MS);
        scene_stop(&s);
        scene_controllers(&s);
        fake_world_run(&s.w, 100 * NS_PER_MS);
        fake_world_live(&s.w, 10);
        TEXT("job-a-", "status.schedulingStats.evictions", stats[cause]);
        NONE("job-a-", "Finished");
        if (cause == RETRY) { /* and it holds quota again, with its check asked anew */
            IS("job-a-", "QuotaReserved", "True", "QuotaReserved", "");
            IS("job-a-", "Evicted", "False", "QuotaReserved", "");
        } else {
            assert_string_equal(fake_world_condition(scene_get(&s, "job-a-"), "QuotaReserved"),
                                "False");
            IS("job-a-", "Evicted", "True",
               fake_world_condition_reason(scene_get(&s, "job-a-"), "Requeued"), "");
        }
        assert_string_equal(
            fake_world_text(fake_world_get(&s.w, "Job", "default", "a"), "spec.suspend"), "true");
        scene_end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(preempted_and_back),
        cmocka_unit_test(preemption_under_faults),
        cmocka_unit_test(protected_from_preemption),
        cmocka_unit_test(gates_against_preempting),
        cmocka_unit_test(stopped_queues),
        cmocka_unit_test(returns_one_by_one),
        cmocka_unit_test(cleared_while_stopped),
        cmocka_unit_test(stopped_while_reserving),
        cmocka_unit_test(never_ready),
        cmocka_unit_test(not_ready_any_more),
        cmocka_unit_test(one_admission_at_a_time),
        cmocka_unit_test(too_long),
        cmocka_unit_test(deactivated_by_a_user),
        cmocka_unit_test(kept_for_a_while),
        cmocka_unit_test(made_anew),
        cmocka_unit_test(any_cause_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
