/* Tests of Kueue's metrics: exact values after a scenario, what goes with an object, restarts, and the text itself. */
#include "base/test.h"

#include "base/mem.h"
#include "control/load/queue_settings.h"
#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"
#include "wire/prometheus.h"
#include "wire/text/time.h"

#define V2 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","
#define ROLE "replica_role=\"standalone\"}"

struct scene {
    struct fake_world w;
    struct queue_settings settings;
    struct queue_controller *q;
    struct prom *prom;
    struct buf text;
};

static void controllers(struct scene *s) {
    struct err err = {0};
    s->w.env.prom = s->prom;
    s->w.env.settings = &s->settings;
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    assert_non_null(s->q);
}

static void start(struct scene *s) {
    *s = (struct scene){.settings = *queue_settings_defaults(), .prom = prom_new()};
    fake_world_init(&s->w);
    buf_init(&s->text, 0);
    fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                          "{\"name\":\"default\"}}");
}

static void end(struct scene *s) {
    controller_free(s->q);
    fake_world_release(&s->w);
    buf_release(&s->text);
    prom_free(s->prom);
}

static void settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

static void scrape(struct scene *s) {
    buf_reset(&s->text);
    prom_write(s->prom, &s->text);
    assert_int_equal(buf_ok(&s->text), 0);
}

/* The whole line of a series, in the last scrape. */
static bool has(struct scene *s, const char *line) {
    struct str rest = buf_view(&s->text), one;
    while (str_cut(rest, '\n', &one, &rest)) {
        if (str_is(one, line)) {
            return true;
        }
    }
    return false;
}

static void expect(struct scene *s, const char *line) {
    if (!has(s, line)) {
        const char *brace = strchr(line, '{');
        struct str rest = buf_view(&s->text), one;
        print_error("not there: %s\n", line);
        while (str_cut(rest, '\n', &one, &rest)) {
            if (str_starts(one, str_from(line, (size_t)(brace - line)))) {
                print_error("      but: %.*s\n", STR_ARG(one));
            }
        }
        fail();
    }
}

static size_t with(struct scene *s, const char *part) {
    struct str rest = buf_view(&s->text), one;
    size_t n = 0;
    while (str_cut(rest, '\n', &one, &rest)) {
        n += str_contains(one, str_of(part));
    }
    return n;
}

static void queues(struct scene *s) {
    fake_world_put(&s->w,
                   V2 "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    fake_world_put(&s->w, V2 "\"kind\":\"Cohort\",\"metadata\":{\"name\":\"team\"},"
                             "\"spec\":{\"parentName\":\"org\"}}");
    fake_world_put(
        &s->w,
        V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{\"cohortName\":"
           "\"team\",\"namespaceSelector\":{},\"preemption\":{\"withinClusterQueue\":"
           "\"LowerPriority\"},\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],\"flavors\":"
           "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"2500m\","
           "\"lendingLimit\":\"500m\"}]}]}]}}");
    fake_world_put(&s->w, V2 "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":"
                             "\"default\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"clusterQueue\":"
                             "\"cq\"}}");
}

static void workload(struct scene *s, const char *name, int priority, const char *cpu) {
    char json[1024];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                "\"spec\":{\"queueName\":\"lq\",\"active\":true,\"priority\":%d,\"podSets\":"
                "[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":"
                "\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}}]}}",
             name, priority, cpu);
    fake_world_put(&s->w, json);
}

static void finish_as(struct scene *s, const char *name, const char *reason) {
    const struct object *o = fake_world_get(&s->w, "Workload", "default", name);
    char json[2048];
    const char *conditions = fake_world_text(o, "status.conditions");
    snprintf(json, sizeof(json),
             "{\"status\":{\"conditions\":%.*s,{\"type\":\"Finished\",\"status\":\"True\","
             "\"reason\":\"%s\",\"message\":\"\",\"lastTransitionTime\":"
             "\"2026-01-01T00:00:00Z\"}]}}",
             (int)strlen(conditions) - 1, conditions, reason);
    fake_world_patch(&s->w, "Workload", "default", name, "status", json);
}

static void finish(struct scene *s, const char *name) {
    finish_as(s, name, "Succeeded");
}

static void scenario(void **state) {
    struct scene s;
    start(&s);
    s.settings.metrics.cluster_queue_resources = true;
    controllers(&s);
    queues(&s);
    workload(&s, "a", 0, "1500m");
    workload(&s, "b", 0, "1500m");
    workload(&s, "huge", 0, "9");
    settle(&s);
    scrape(&s);
#define Q "cluster_queue=\"cq\","
#define L "name=\"lq\",namespace=\"default\","
#define NO_CLASS "priority_class=\"\","
    expect(&s, "kueue_pending_workloads{" Q "status=\"active\"," ROLE " 0");
    expect(&s, "kueue_pending_workloads{" Q "status=\"inadmissible\"," ROLE " 2");
    expect(&s, "kueue_local_queue_pending_workloads{" L "status=\"inadmissible\"," ROLE " 2");
    expect(&s, "kueue_local_queue_pending_workloads{" L "status=\"active\"," ROLE " 0");
    expect(&s, "kueue_quota_reserved_workloads_total{" Q NO_CLASS ROLE " 1");
    expect(&s, "kueue_admitted_workloads_total{" Q NO_CLASS ROLE " 1");
    expect(&s, "kueue_local_queue_admitted_workloads_total{" L NO_CLASS ROLE " 1");
    expect(&s, "kueue_cohort_subtree_admitted_workloads_total{cohort=\"team\"," NO_CLASS ROLE " 1");
    expect(&s, "kueue_cohort_subtree_admitted_workloads_total{cohort=\"org\"," NO_CLASS ROLE " 1");
    expect(&s, "kueue_cohort_subtree_admitted_active_workloads{cohort=\"org\"," ROLE " 1");
    expect(&s, "kueue_admission_wait_time_seconds_bucket{" Q NO_CLASS
               "replica_role=\"standalone\",le=\"1\"} 1");
    expect(&s, "kueue_admission_wait_time_seconds_count{" Q NO_CLASS ROLE " 1");
    expect(&s, "kueue_reserving_active_workloads{" Q ROLE " 1");
    expect(&s, "kueue_admitted_active_workloads{" Q ROLE " 1");
    expect(&s, "kueue_local_queue_reserving_active_workloads{" L ROLE " 1");
    expect(&s, "kueue_unadmitted_workloads{" Q
               "reason=\"NoReservation\",underlying_cause=\"WaitingForQuota\"," ROLE " 1");
    expect(&s, "kueue_unadmitted_workloads{" Q
               "reason=\"NoReservation\",underlying_cause=\"ExceedsMaxQuota\"," ROLE " 1");
    expect(&s, "kueue_local_queue_unadmitted_workloads{" L Q
               "reason=\"NoReservation\",underlying_cause=\"ExceedsMaxQuota\"," ROLE " 1");
    expect(&s, "kueue_cluster_queue_status{" Q "status=\"active\"," ROLE " 1");
    expect(&s, "kueue_cluster_queue_status{" Q "status=\"pending\"," ROLE " 0");
    expect(&s,
           "kueue_cluster_queue_info{" Q "parent_cohort=\"team\",root_cohort=\"org\"," ROLE " 1");
    expect(&s, "kueue_cohort_info{cohort=\"team\",parent_cohort=\"org\",root_cohort=\"org\"," ROLE
               " 1");
    expect(&s, "kueue_cluster_queue_resource_pending{" Q "resource=\"cpu\"," ROLE " 10.5");
#define CELL "{cohort=\"team\"," Q "flavor=\"f\",resource=\"cpu\"," ROLE
    expect(&s, "kueue_cluster_queue_resource_reservation" CELL " 1.5");
    expect(&s, "kueue_cluster_queue_resource_usage" CELL " 1.5");
    expect(&s, "kueue_cluster_queue_nominal_quota" CELL " 2.5");
    expect(&s, "kueue_cluster_queue_borrowing_limit" CELL " +Inf");
    expect(&s, "kueue_cluster_queue_lending_limit" CELL " 0.5");
    expect(&s,
           "kueue_cohort_subtree_quota{cohort=\"org\",flavor=\"f\",resource=\"cpu\"," ROLE " 0.5");
    expect(&s, "kueue_cohort_subtree_resource_reservations{cohort=\"org\",flavor=\"f\",resource="
               "\"cpu\"," ROLE " 1.5");
    expect(&s, "kueue_local_queue_resource_usage{" L "flavor=\"f\",resource=\"cpu\"," ROLE " 1.5");
    expect(&s, "kueue_local_queue_status{" L "active=\"True\"," ROLE " 1");
    expect(&s, "kueue_pending_scheduling_hashes{" Q "status=\"inadmissible\"," ROLE " 2");
    assert_int_equal(with(&s, "kueue_admission_attempts_total{result=\"success\""), 1);
    end(&s);
}

static void evicted_and_finished(void **state) {
    struct scene s;
    start(&s);
    fake_world_runner(&s.w);
    controllers(&s);
    queues(&s);
    workload(&s, "a", 0, "1500m");
    workload(&s, "huge", 0, "9");
    settle(&s);
    fake_world_run(&s.w, 10 * NS_PER_SEC);
    workload(&s, "urgent", 9, "2");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_preempted_workloads_total{preempting_cluster_queue=\"cq\",reason="
               "\"InClusterQueue\"," ROLE " 1");
    expect(&s, "kueue_evicted_workloads_total{" Q
               "reason=\"Preempted\",underlying_cause=\"\"," NO_CLASS ROLE " 1");
    expect(&s, "kueue_evicted_workloads_once_total{" Q
               "reason=\"Preempted\",underlying_cause=\"\"," NO_CLASS ROLE " 1");
    expect(&s, "kueue_local_queue_evicted_workloads_total{" L
               "reason=\"Preempted\",underlying_cause=\"\"," NO_CLASS ROLE " 1");
    expect(&s,
           "kueue_workload_eviction_latency_seconds_count{" Q "reason=\"Preempted\"," ROLE " 1");
    expect(&s, "kueue_admitted_workloads_total{" Q NO_CLASS ROLE " 2");
    fake_world_run(&s.w, 100 * NS_PER_SEC);
    finish(&s, "urgent");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_finished_workloads{" Q ROLE " 1");
    expect(&s, "kueue_finished_workloads_total{" Q NO_CLASS ROLE " 1");
    expect(&s, "kueue_local_queue_finished_workloads_total{" L NO_CLASS ROLE " 1");
    expect(&s, "kueue_execution_time_seconds_bucket{" Q NO_CLASS
               "replica_role=\"standalone\",le=\"80\"} 0");
    expect(&s, "kueue_execution_time_seconds_bucket{" Q NO_CLASS
               "replica_role=\"standalone\",le=\"160\"} 1");
    fake_world_delete(&s.w, "Workload", "default", "urgent", "");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_finished_workloads{" Q ROLE " 0");
    expect(&s, "kueue_finished_workloads_total{" Q NO_CLASS ROLE " 1");
    expect(&s, "kueue_unadmitted_workloads{" Q
               "reason=\"NoReservation\",underlying_cause=\"ExceedsMaxQuota\"," ROLE " 1");
    end(&s);
}

/* Of what ended, only what a larger Workload replaced counts as a replaced slice. */
static void replaced(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    queues(&s);
    workload(&s, "a", 0, "1");
    workload(&s, "b", 0, "1");
    settle(&s);
    finish(&s, "a");
    settle(&s);
    scrape(&s);
    assert_int_equal(with(&s, "kueue_replaced_workload_slices_total{"), 0);
    finish_as(&s, "b", "WorkloadSliceReplaced");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_replaced_workload_slices_total{" Q ROLE " 1");
    expect(&s, "kueue_finished_workloads_total{" Q NO_CLASS ROLE " 2");
    end(&s);
}

/* Its pods are ready from now on. */
static void ready(struct scene *s, const char *name) {
    static const char *const types[] = {"QuotaReserved", "Admitted", "PodsReady"};
    static const char *const reasons[] = {"QuotaReserved", "Admitted", "Started"};
    char when[TIME_TEXT_MAX];
    struct str now = time_text(clock_wall(s->w.env.clock), when);
    struct buf b;
    buf_init(&b, 0);
    for (int i = 0; i < 3; i++) {
        buf_c(&b, i == 0 ? "{\"status\":{\"conditions\":[" : ",");
        buf_f(&b,
              "{\"type\":\"%s\",\"status\":\"True\",\"reason\":\"%s\",\"message\":\"\","
              "\"lastTransitionTime\":\"%.*s\"}",
              types[i], reasons[i], STR_ARG(now));
    }
    buf_c(&b, "]}}");
    buf_ch(&b, '\0');
    fake_world_patch(&s->w, "Workload", "default", name, "status", b.p);
    buf_release(&b);
}

/* One that waits counts where it waits now. */
static void moves_to_another_queue(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    queues(&s);
    fake_world_put(&s.w, V2 "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"next\",\"namespace\":"
                            "\"default\"},\"spec\":{\"clusterQueue\":\"cq\"}}");
    workload(&s, "huge", 0, "9");
    settle(&s);
    fake_world_patch(&s.w, "Workload", "default", "huge", "",
                     "{\"spec\":{\"queueName\":\"next\"}}");
    settle(&s);
    scrape(&s);
#define WAITS "reason=\"NoReservation\",underlying_cause=\"ExceedsMaxQuota\"," ROLE
    expect(&s, "kueue_local_queue_unadmitted_workloads{name=\"next\",namespace=\"default\"," Q WAITS
               " 1");
    assert_false(has(&s, "kueue_local_queue_unadmitted_workloads{" L Q WAITS " 1"));
    expect(&s, "kueue_unadmitted_workloads{" Q WAITS " 1");
    end(&s);
}

/* From a job to ready pods to an eviction; who never was ready is in no such time. */
static void made_ready_and_evicted(void **state) {
    struct scene s;
    char json[1024], uid[64];
    start(&s);
    controllers(&s);
    queues(&s);
    const struct object *job = fake_world_put(
        &s.w, "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
              "\"namespace\":\"default\"},\"spec\":{\"suspend\":true,\"template\":{\"spec\":"
              "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    fake_world_run(&s.w, 3 * NS_PER_SEC);
    (void)str_copy(job->uid, uid, sizeof(uid));
    for (int i = 0; i < 2; i++) { /* the second is of a job that has gone, of the same name */
        snprintf(
            json, sizeof(json),
            V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
               "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":\"j\","
               "\"uid\":\"%s%s\",\"controller\":true}]},\"spec\":{\"queueName\":\"lq\","
               "\"active\":true,\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":"
               "{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
               "{\"cpu\":\"1\"}}}]}}}]}}",
            i == 0 ? "a" : "b", uid, i == 0 ? "" : "0");
        fake_world_put(&s.w, json);
    }
    settle(&s);
    ready(&s, "a");
    fake_world_run(&s.w, 100 * NS_PER_SEC);
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "",
                     "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_workload_creation_latency_seconds_sum{job_kind=\"Job\"," ROLE " 3");
    expect(&s, "kueue_workload_creation_latency_seconds_count{job_kind=\"Job\"," ROLE " 1");
    expect(&s, "kueue_ready_wait_time_seconds_count{" Q NO_CLASS ROLE " 1");
    expect(&s, "kueue_local_queue_ready_wait_time_seconds_count{" L NO_CLASS ROLE " 1");
    expect(&s, "kueue_admitted_until_ready_wait_time_seconds_count{" Q NO_CLASS ROLE " 1");
    expect(&s, "kueue_evicted_workloads_total{" Q
               "reason=\"ClusterQueueStopped\",underlying_cause=\"\"," NO_CLASS ROLE " 2");
    expect(&s, "kueue_pods_ready_to_evicted_time_seconds_count{" Q
               "reason=\"ClusterQueueStopped\",underlying_cause=\"\"," ROLE " 1");
    expect(&s, "kueue_pods_ready_to_evicted_time_seconds_bucket{" Q
               "reason=\"ClusterQueueStopped\",underlying_cause=\"\",replica_role=\"standalone\","
               "le=\"80\"} 0");
    expect(&s, "kueue_pods_ready_to_evicted_time_seconds_bucket{" Q
               "reason=\"ClusterQueueStopped\",underlying_cause=\"\",replica_role=\"standalone\","
               "le=\"160\"} 1");
    end(&s);
}

/* What belongs to an object goes with it, and an edit leaves nothing of the old behind. */
static void deleted(void **state) {
    struct scene s;
    start(&s);
    s.settings.metrics.cluster_queue_resources = true;
    controllers(&s);
    queues(&s);
    workload(&s, "a", 0, "1");
    settle(&s);
    scrape(&s);
    assert_int_equal(with(&s, "cohort=\"team\",cluster_queue=\"cq\""), 5);
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "",
                     "{\"spec\":{\"cohortName\":\"other\",\"resourceGroups\":[{"
                     "\"coveredResources\":[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":"
                     "[{\"name\":\"cpu\",\"nominalQuota\":\"3\"}]}]}]}}");
    settle(&s);
    scrape(&s);
    assert_int_equal(with(&s, "cohort=\"team\",cluster_queue=\"cq\""), 0);
    assert_int_equal(with(&s, "cohort=\"other\",cluster_queue=\"cq\""), 5);
    expect(&s, "kueue_admitted_workloads_total{" Q NO_CLASS ROLE " 1"); /* counters go on */
    fake_world_delete(&s.w, "LocalQueue", "default", "lq", "");
    fake_world_delete(&s.w, "Workload", "default", "a", "");
    settle(&s);
    scrape(&s);
    assert_int_equal(with(&s, "kueue_local_queue_"),
                     with(&s, "# HELP kueue_local_queue_") + with(&s, "# TYPE kueue_local_queue_"));
    fake_world_delete(&s.w, "ClusterQueue", "", "cq", "");
    fake_world_delete(&s.w, "Cohort", "", "team", "");
    settle(&s);
    scrape(&s);
    assert_int_equal(with(&s, "cluster_queue=\"cq\""), 0);
    assert_int_equal(with(&s, "cohort=\"team\""), 0);
    assert_int_equal(with(&s, "cohort=\"other\""), 0);
    controller_free(s.q);
    s.q = NULL;
    scrape(&s);
    assert_int_equal(with(&s, "kueue_"), 0);
    end(&s);
}

/* A Cohort above the queue's own moves: its new place is told, and the old one no more. */
static void moved_from_above(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    queues(&s);
    settle(&s);
    scrape(&s);
    expect(&s,
           "kueue_cluster_queue_info{" Q "parent_cohort=\"team\",root_cohort=\"org\"," ROLE " 1");
    fake_world_patch(&s.w, "Cohort", "", "team", "", "{\"spec\":{\"parentName\":\"firm\"}}");
    settle(&s);
    scrape(&s);
    expect(&s,
           "kueue_cluster_queue_info{" Q "parent_cohort=\"team\",root_cohort=\"firm\"," ROLE " 1");
    assert_int_equal(with(&s, "kueue_cluster_queue_info{"), 1);
    expect(&s, "kueue_cluster_queue_status{" Q "status=\"active\"," ROLE " 1");
    end(&s);
}

static void assert_no_local(struct scene *s) {
    scrape(s);
    assert_int_equal(with(s, "kueue_local_queue_"), 0);
}

/* A LocalQueue goes while its work goes on: whatever happens to that work later, nothing is told of the queue again. */
static void deleted_under_work(void **state) {
    struct scene s;
    start(&s);
    s.settings.metrics.cluster_queue_resources = true;
    controllers(&s);
    queues(&s);
    workload(&s, "a", 0, "1");
    workload(&s, "b", 0, "1");
    workload(&s, "waits", 0, "2");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_local_queue_admitted_active_workloads{" L ROLE " 2");
    fake_world_delete(&s.w, "LocalQueue", "default", "lq", "");
    assert_no_local(&s);
    settle(&s);
    assert_no_local(&s);
    finish(&s, "a");
    settle(&s);
    assert_no_local(&s);
    fake_world_patch(&s.w, "Workload", "default", "b", "", "{\"spec\":{\"active\":false}}");
    settle(&s);
    assert_no_local(&s);
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    assert_no_local(&s);
    fake_world_delete(&s.w, "Workload", "default", "a", "");
    fake_world_delete(&s.w, "Workload", "default", "b", "");
    settle(&s);
    assert_no_local(&s);
    fake_world_delete(&s.w, "Workload", "default", "waits", "");
    settle(&s);
    assert_no_local(&s);
    end(&s);
}

/* A restart counts nothing again; what stands is there at once. */
static void restart(void **state) {
    struct scene s;
    start(&s);
    controllers(&s);
    queues(&s);
    workload(&s, "a", 0, "1");
    settle(&s);
    controller_free(s.q);
    controllers(&s);
    settle(&s);
    scrape(&s);
    assert_int_equal(with(&s, "kueue_admitted_workloads_total{"), 0);
    expect(&s, "kueue_admitted_active_workloads{" Q ROLE " 1");
    finish(&s, "a");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_finished_workloads_total{" Q NO_CLASS ROLE " 1");
    expect(&s, "kueue_execution_time_seconds_count{" Q NO_CLASS ROLE " 1");
    end(&s);
}

/* Only LocalQueues that the selector takes, and that by their labels of now. */
static void chosen_local_queues(void **state) {
    struct scene s;
    struct selector sel;
    struct arena a;
    arena_init(&a, 1 << 16);
    assert_int_equal(selector_parse(&a, STR("a=b"), &sel, NULL), 0);
    start(&s);
    s.settings.metrics.local_queue_selector = &sel;
    controllers(&s);
    queues(&s);
    workload(&s, "a", 0, "1");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_local_queue_admitted_active_workloads{" L ROLE " 1");
    fake_world_patch(&s.w, "LocalQueue", "default", "lq", "",
                     "{\"metadata\":{\"labels\":{\"a\":\"c\"}}}");
    settle(&s);
    scrape(&s);
    assert_int_equal(with(&s, L), 0);
    fake_world_patch(&s.w, "LocalQueue", "default", "lq", "",
                     "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    settle(&s);
    scrape(&s);
    expect(&s, "kueue_local_queue_admitted_active_workloads{" L ROLE " 1");
    end(&s);
    arena_release(&a);
}

/* Without memory there is no controller, or one that works. */
static void no_memory(void **state) {
    bool done = false;
    for (uint64_t nth = 1; nth < 3000 && !done; nth += nth < 40 ? 1 : 13) {
        struct scene s;
        struct err err = {0};
        start(&s);
        s.w.env.prom = s.prom;
        queues(&s);
        workload(&s, "a", 0, "1");
        mem_fault(nth, 0);
        s.q = controller_new(&queue_controller, &s.w.env, &err);
        done = !mem_fault_hit();
        mem_fault(0, 0);
        if (s.q != NULL) {
            settle(&s);
            scrape(&s);
        }
        end(&s);
    }
    assert_true(done);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenario),
        cmocka_unit_test(evicted_and_finished),
        cmocka_unit_test(replaced),
        cmocka_unit_test(made_ready_and_evicted),
        cmocka_unit_test(moves_to_another_queue),
        cmocka_unit_test(deleted),
        cmocka_unit_test(moved_from_above),
        cmocka_unit_test(deleted_under_work),
        cmocka_unit_test(restart),
        cmocka_unit_test(chosen_local_queues),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
