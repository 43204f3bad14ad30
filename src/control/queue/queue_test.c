/* Tests of the queue controller in a fake world: from objects to objects. */
#include "control/kit/controller.h"
#include "control/test/queue_scene.h"

#include "control/hold/job_queue.h"
#include "control/kube/job.h"

static void workload(struct scene *s, const char *name, int count, const char *requests) {
    char json[1024];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":"
        "\"%s\",\"namespace\":\"default\"},\"spec\":{\"queueName\":\"lq\",\"active\":true,"
        "\"podSets\":[{\"name\":\"main\",\"count\":%d,\"template\":{\"spec\":{\"restartPolicy\":"
        "\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
        "{%s},\"limits\":{%s}}}]}}}]}}",
        name, count, requests, requests);
    fake_world_put(&s->w, json);
}

static const struct object *get(struct scene *s, const char *name) {
    const struct object *o = fake_world_get(&s->w, "Workload", "default", name);
    assert_non_null(o);
    return o;
}

struct said {
    const char *reason, *message;
    bool found;
};

static bool event_is(void *ctx, const struct object *o) {
    struct said *e = ctx;
    e->found = e->found || (strcmp(fake_world_text(o, "reason"), e->reason) == 0 &&
                            strcmp(fake_world_text(o, "message"), e->message) == 0);
    return !e->found;
}

static bool told(struct scene *s, const char *reason, const char *message) {
    struct said e = {reason, message, false};
    mirror_scan(s->w.mirror, fake_world_kind("Event"), STR(""), event_is, &e);
    return e.found;
}

static void admitted_and_waiting(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    workload(&s, "a", 1, "\"cpu\":\"3\"");
    settle(&s);
    workload(&s, "b", 1, "\"cpu\":\"2500m\"");
    settle(&s);
    const struct object *a = get(&s, "a"), *b = get(&s, "b");
    assert_string_equal(fake_world_condition(a, "QuotaReserved"), "True");
    assert_string_equal(fake_world_condition_message(a, "QuotaReserved"),
                        "Quota reserved in ClusterQueue cq");
    assert_string_equal(fake_world_condition(a, "Admitted"), "True");
    assert_string_equal(fake_world_text(a, "status.admission.clusterQueue"), "cq");
    assert_string_equal(fake_world_condition(b, "QuotaReserved"), "False");
    assert_string_equal(fake_world_condition_reason(b, "QuotaReserved"), "WaitingForQuota");
    assert_string_equal(
        fake_world_condition_message(b, "QuotaReserved"),
        "couldn't assign flavors to pod set main: insufficient unused quota for cpu "
        "in flavor f, 1500m more needed");
    assert_int_equal(fake_world_events(&s.w, "Admitted"), 1);
    assert_int_equal(fake_world_events(&s.w, "WaitingForQuota"), 1);
    assert_true(
        told(&s, "Admitted", "Admitted by ClusterQueue cq, wait time since reservation was 0s"));
    assert_true(
        told(&s, "WaitingForQuota", fake_world_condition_message(get(&s, "b"), "QuotaReserved")));
    const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "cq");
    assert_string_equal(fake_world_condition(cq, "Active"), "True");
    assert_string_equal(fake_world_text(cq, "status.pendingWorkloads"), "1");
    assert_string_equal(fake_world_text(cq, "status.reservingWorkloads"), "1");
    const struct object *lq = fake_world_get(&s.w, "LocalQueue", "default", "lq");
    assert_string_equal(fake_world_condition(lq, "Active"), "True");
    assert_string_equal(fake_world_text(lq, "status.admittedWorkloads"), "1");
    uint64_t writes = s.w.writes; /* and then nobody writes any more */
    settle(&s);
    assert_int_equal(s.w.writes, writes);
    fake_world_delete(&s.w, "Workload", "default", "a", "");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
    end(&s);
}

/* An edit while the admission is under way: what is written is for the edited Workload. */
static void edited_meanwhile(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    settle(&s);
    workload(&s, "a", 1, "\"cpu\":\"1\"");
    fake_world_run(&s.w, NS_PER_MS / 2);
    fake_world_patch(&s.w, "Workload", "default", "a", "", "{\"spec\":{\"priority\":1}}");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
    workload(&s, "b", 1, "\"cpu\":\"1\"");
    fake_world_run(&s.w, NS_PER_MS / 2);
    fake_world_patch(&s.w, "Workload", "default", "b", "", "{\"spec\":{\"queueName\":\"none\"}}");
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "b"), "QuotaReserved"),
                        "Misconfigured");
    workload(&s, "c", 1, "\"cpu\":\"1\"");
    fake_world_run(&s.w, NS_PER_MS / 2);
    fake_world_patch(
        &s.w, "Workload", "default", "c", "",
        "{\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":4,\"template\":{\"spec\":"
        "{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
        "{\"cpu\":\"1\"}}}]}}}]}}");
    settle(&s); /* one pod would fit, four do not */
    assert_string_equal(fake_world_condition(get(&s, "c"), "QuotaReserved"), "False");
    end(&s);
}

static void restart(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    workload(&s, "a", 1, "\"cpu\":\"3\"");
    settle(&s);
    controller_free(s.q);
    workload(&s, "b", 1, "\"cpu\":\"2\"");
    controllers(&s); /* what was admitted before is held still */
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
    assert_string_equal(fake_world_condition(get(&s, "b"), "QuotaReserved"), "False");
    end(&s);
}

static void not_queued(void **state) {
    struct scene s;
    start(&s);
    workload(&s, "a", 1, "\"cpu\":\"1\"");
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "a"), "QuotaReserved"),
                        "Misconfigured");
    assert_string_equal(fake_world_condition_message(get(&s, "a"), "QuotaReserved"),
                        "LocalQueue lq doesn't exist");
    quota(&s, "4", "StrictFIFO");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    workload(&s, "b", 1, "\"cpu\":\"1\"");
    settle(&s);
    assert_string_equal(fake_world_condition_message(get(&s, "b"), "QuotaReserved"),
                        "ClusterQueue cq is inactive");
    const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "cq");
    assert_string_equal(fake_world_condition_reason(cq, "Active"), "Stopped");
    assert_string_equal(fake_world_condition_message(cq, "Active"),
                        "Can't admit new workloads: is stopped.");
    assert_string_equal(fake_world_text(cq, "status.conditions.0.observedGeneration"), "2");
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
    end(&s);
}

/* What nobody owns may be run by anybody: its quota is not given to others before that one says so. */
static void evicted_and_still_running(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "",
                     "{\"spec\":{\"preemption\":{\"withinClusterQueue\":\"LowerPriority\"}}}");
    workload(&s, "a", 1, "\"cpu\":\"3\"");
    settle(&s);
    workload(&s, "b", 1, "\"cpu\":\"3\"");
    fake_world_patch(&s.w, "Workload", "default", "b", "", "{\"spec\":{\"priority\":9}}");
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "a"), "Evicted"), "Preempted");
    assert_string_equal(fake_world_condition(get(&s, "a"), "QuotaReserved"), "True");
    assert_string_equal(fake_world_condition(get(&s, "b"), "QuotaReserved"), "False");
    controller_free(s.q);
    controllers(&s); /* a restart forgets nothing of that */
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "b"), "QuotaReserved"), "False");
    fake_world_let_go(&s.w, "default", "a");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
    assert_string_equal(fake_world_condition(get(&s, "a"), "QuotaReserved"), "False");
    end(&s);
}

static void drained(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    workload(&s, "a", 1, "\"cpu\":\"1\"");
    settle(&s);
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "",
                     "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "a"), "Evicted"),
                        "ClusterQueueStopped");
    fake_world_let_go(&s.w, "default", "a");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "a"), "QuotaReserved"), "False");
    assert_string_equal(fake_world_condition(get(&s, "a"), "Requeued"), "False");
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "a"), "Requeued"),
                        "ClusterQueueRestarted");
    assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
    assert_string_equal(fake_world_condition(get(&s, "a"), "Evicted"), "False");
    end(&s);
}

/* What a LimitRange gives to pods counts for their Workload too. */
static void limit_range(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    fake_world_put(&s.w, "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{\"name\":"
                         "\"l\",\"namespace\":\"default\"},\"spec\":{\"limits\":[{\"type\":"
                         "\"Container\",\"defaultRequest\":{\"cpu\":\"3\"}}]}}");
    workload(&s, "a", 1, "");
    settle(&s);
    workload(&s, "b", 1, "\"cpu\":\"2\"");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
    assert_string_equal(fake_world_condition(get(&s, "b"), "QuotaReserved"), "False");
    end(&s);
}

/* ---- places ---- */

static void pod(struct scene *s, const char *name, const char *owner, const char *requests) {
    char json[2048], ref[512] = "";
    if (owner != NULL) {
        const struct object *w = get(s, owner);
        snprintf(ref, sizeof(ref),
                 ",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
                 "\"j\",\"uid\":\"%.*s\",\"controller\":true}]",
                 STR_ARG(w->owners[0].uid));
    }
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\"%s},\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\",\"resources\":{\"requests\":{%s},\"limits\":{%s}}}]}}",
             name, ref, requests, requests);
    fake_world_put(&s->w, json);
}

static const char SLICE[] = "\"nvidia.com/mig-2g.35gb\":\"1\"";

static void own(struct scene *s, const char *name, const char *uid) {
    char json[512];
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
             "\"name\":\"j\",\"uid\":\"%s\",\"controller\":true}]}}",
             uid);
    fake_world_patch(&s->w, "Workload", "default", name, "", json);
}

static void slices(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    node(&s, "n1", true);
    workload(&s, "a", 1, SLICE);
    own(&s, "a", "job-a");
    workload(&s, "b", 2, SLICE);
    workload(&s, "c", 1, SLICE);
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
    assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
    assert_string_equal(fake_world_condition_reason(get(&s, "c"), "QuotaReserved"),
                        "WaitingForPlacement");
    assert_string_equal(
        fake_world_condition_message(get(&s, "c"), "QuotaReserved"),
        "quota is available, but no GPU has room for 2g.35gb: 1 GPU in service on 1 "
        "node, at most 2 memory slices free on one GPU (pod set main)");
    pod(&s, "pa", "a", SLICE); /* takes its Workload's seat */
    pod(&s, "alone", NULL, SLICE);
    settle(&s);
    const struct object *pa = fake_world_get(&s.w, "Pod", "default", "pa");
    assert_string_equal(fake_world_text(pa, "spec.nodeName"), "n1");
    assert_string_equal(fake_world_condition(pa, "PodScheduled"), "True");
    assert_true(str_contains(pa->json, STR(DEVICES_ANNOTATION)));
    assert_true(str_contains(pa->json, STR("2g.35gb")));
    const struct object *alone = fake_world_get(&s.w, "Pod", "default", "alone");
    assert_string_equal(fake_world_condition_reason(alone, "PodScheduled"), "Unschedulable");
    assert_int_equal(fake_world_events(&s.w, "FailedScheduling"), 1);
    /* a restart knows what is taken */
    controller_free(s.q);
    controllers(&s);
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "c"), "QuotaReserved"), "False");
    fake_world_delete(&s.w, "Workload", "default", "b", "");
    settle(&s); /* two slices are free: one for each that waited */
    assert_string_equal(fake_world_condition(get(&s, "c"), "Admitted"), "True");
    alone = fake_world_get(&s.w, "Pod", "default", "alone");
    assert_string_equal(fake_world_text(alone, "spec.nodeName"), "n1");
    end(&s);
}

static const char RACK[] = "kueue.x-k8s.io/podset-required-topology";

static void rack(struct scene *s, const char *name, const char *value) {
    char json[128];
    node(s, name, true);
    snprintf(json, sizeof(json), "{\"metadata\":{\"labels\":{\"rack\":\"%s\"}}}", value);
    fake_world_patch(&s->w, "Node", "", name, "", json);
}

static void on_a_rack(struct scene *s, const char *name, int count) {
    char json[1024];
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{\"name\":"
        "\"%s\",\"namespace\":\"default\"},\"spec\":{\"queueName\":\"lq\",\"active\":true,"
        "\"podSets\":[{\"name\":\"main\",\"count\":%d,\"topologyRequest\":{\"required\":\"rack\"},"
        "\"template\":{\"metadata\":{\"annotations\":{\"%s\":\"rack\"}},\"spec\":{"
        "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
        "\"resources\":{\"requests\":{%s},\"limits\":{%s}}}]}}}]}}",
        name, count, RACK, SLICE, SLICE);
    fake_world_put(&s->w, json);
}

/* A pod set that requires a topology level has all of its pods where that label has one value, or none. */
static void on_one_rack(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "12", "BestEffortFIFO");
    rack(&s, "n1", "a");
    rack(&s, "n2", "b");
    rack(&s, "n3", "b");
    on_a_rack(&s, "five", 5);
    on_a_rack(&s, "three", 3);
    on_a_rack(&s, "four", 4);
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "five"), "Admitted"), "True");
    struct str five = get(&s, "five")->json;
    assert_true(str_contains(five, STR("n2")) && str_contains(five, STR("n3")));
    assert_false(str_contains(five, STR("n1")));
    assert_string_equal(fake_world_condition(get(&s, "three"), "Admitted"), "True");
    struct str three = get(&s, "three")->json;
    assert_false(str_contains(three, STR("n2")) || str_contains(three, STR("n3")));
    assert_string_equal(fake_world_condition_message(get(&s, "four"), "QuotaReserved"),
                        "quota is available, but no nodes with one value of label rack have room "
                        "for all 4 pods (pod set main; 0 of 4 pods would have a place)");
    end(&s);
}

static void more_than_its_seat(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    node(&s, "n1", true);
    workload(&s, "a", 1, SLICE);
    own(&s, "a", "job-a");
    settle(&s);
    pod(&s, "pa", "a", "\"nvidia.com/mig-2g.35gb\":\"2\"");
    settle(&s);
    const struct object *pa = fake_world_get(&s.w, "Pod", "default", "pa");
    assert_string_equal(fake_world_text(pa, "spec.nodeName"), "");
    assert_string_equal(fake_world_condition_reason(pa, "PodScheduled"), "Unschedulable");
    assert_string_equal(fake_world_condition_message(pa, "PodScheduled"),
                        "it asks for 2 nvidia.com/mig-2g.35gb, and its workload was admitted with "
                        "1 for each pod: let it ask for no more (pod set main)");
    assert_int_equal(fake_world_events(&s.w, "FailedScheduling"), 1);
    pod(&s, "pb", "a", SLICE); /* the seat is still there */
    settle(&s);
    const struct object *pb = fake_world_get(&s.w, "Pod", "default", "pb");
    assert_string_equal(fake_world_text(pb, "spec.nodeName"), "n1");
    end(&s);
}

/* A Job, its Workload, its pods: with the controllers that make them. */
static void job(void **state) {
    struct scene s;
    struct err err = {0};
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    node(&s, "n1", true);
    struct controller *jobs = controller_new(&job_controller, &s.w.env, &err);
    struct controller *links = controller_new(&job_queue_controller, &s.w.env, &err);
    assert_non_null(jobs);
    assert_non_null(links);
    fake_world_put(&s.w,
                   "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
                   "\"namespace\":\"default\",\"labels\":{\"kueue.x-k8s.io/queue-name\":"
                   "\"lq\"}},\"spec\":{\"suspend\":true,\"parallelism\":2,\"completions\":2,"
                   "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{"
                   "\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{"
                   "\"nvidia.com/mig-2g.35gb\":\"1\"}}}]}}}}");
    settle(&s);
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "Job", "default", "j"), "spec.suspend"), "false");
    assert_int_equal(fake_world_count(&s.w, "Pod"), 2);
    assert_int_equal(fake_world_events(&s.w, "Scheduled"), 2);
    workload(&s, "other", 2, SLICE); /* one of three slices is left */
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "other"), "QuotaReserved"),
                        "WaitingForPlacement");
    fake_world_live(&s.w, 10);
    assert_string_equal(
        fake_world_condition(fake_world_get(&s.w, "Job", "default", "j"), "Complete"), "True");
    assert_string_equal(fake_world_condition(get(&s, "other"), "Admitted"), "True");
    controller_free(links);
    controller_free(jobs);
    end(&s);
}

/* Who asks for no device is given none, and told of none. */
static void no_devices(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    node(&s, "n1", true);
    pod(&s, "plain", NULL, "\"cpu\":\"1\"");
    pod(&s, "sliced", NULL, SLICE);
    settle(&s);
    const struct object *plain = fake_world_get(&s.w, "Pod", "default", "plain");
    const struct object *sliced = fake_world_get(&s.w, "Pod", "default", "sliced");
    assert_string_equal(fake_world_text(plain, "spec.nodeName"), "n1");
    assert_false(str_contains(plain->json, STR(DEVICES_ANNOTATION)));
    assert_true(str_contains(sliced->json, STR(DEVICES_ANNOTATION)));
    end(&s);
}

/* Whichever write is refused, lost or meets a conflict: the end is the same, and nothing is given twice. */
static void faults(void **state) {
    for (int fault = FAULT_REFUSED; fault <= FAULT_CONFLICT; fault++) {
        for (uint64_t at = 1; at <= 20; at++) {
            struct scene s;
            start(&s);
            s.w.fail_at = at;
            s.w.fault = (enum fake_fault)fault;
            quota(&s, "4", "BestEffortFIFO");
            node(&s, "n1", true);
            workload(&s, "a", 2, SLICE);
            workload(&s, "b", 2, SLICE);
            settle(&s);
            pod(&s, "alone", NULL, SLICE);
            fake_world_run(&s.w, 20 * NS_PER_SEC);
            assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
            assert_string_equal(fake_world_condition_reason(get(&s, "b"), "QuotaReserved"),
                                "WaitingForPlacement");
            const struct object *alone = fake_world_get(&s.w, "Pod", "default", "alone");
            assert_string_equal(fake_world_text(alone, "spec.nodeName"), "n1");
            assert_string_equal(fake_world_condition(alone, "PodScheduled"), "True");
            const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "cq");
            assert_string_equal(fake_world_text(cq, "status.reservingWorkloads"), "1");
            end(&s);
        }
    }
}

/* A pod got another place than planned: a restart knows that one, and not the one before. */
static void another_place(void **state) {
    static const char card[] = "\"nvidia.com/mig-2g.35gb\":\"3\"";
    static const enum fake_fault faults[] = {FAULT_REFUSED, FAULT_LOST, FAULT_CONFLICT};
    for (uint64_t at = 0; at < 12; at++) {
        struct scene s;
        struct gpu_card second = h200("GPU-1", true);
        start(&s);
        quota(&s, "4", "BestEffortFIFO");
        node(&s, "n1", true);
        workload(&s, "a", 1, card);
        own(&s, "a", "job-a");
        settle(&s);
        node_of(&s, "n2", &second, 1, "NVIDIA-H200");
        node(&s, "n1", false);
        settle(&s);
        s.w.fail_at = at / 3;
        s.w.fault = faults[at % 3];
        pod(&s, "pa", "a", card);
        settle(&s);
        assert_string_equal(
            fake_world_text(fake_world_get(&s.w, "Pod", "default", "pa"), "spec.nodeName"), "n2");
        fake_world_patch(&s.w, "Pod", "default", "pa", "status",
                         "{\"status\":{\"phase\":\"Failed\"}}"); /* another one will follow */
        node(&s, "n1", true);
        workload(&s, "b", 1, card);
        settle(&s);
        assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
        controller_free(s.q);
        controllers(&s);
        workload(&s, "c", 1, card);
        own(&s, "c", "job-c");
        settle(&s);
        assert_string_equal(fake_world_condition_reason(get(&s, "c"), "QuotaReserved"),
                            "WaitingForPlacement");
        pod(&s, "pa2", "a", card);
        settle(&s);
        assert_string_equal(
            fake_world_text(fake_world_get(&s.w, "Pod", "default", "pa2"), "spec.nodeName"), "n2");
        end(&s);
    }
}

/* Another place than planned, for which the annotations of the Workload have no room: the pod says so, nobody writes
 * any more, and it is bound when there is room. */
static void another_place_too_long(void **state) {
    static const char card[] = "\"nvidia.com/mig-2g.35gb\":\"3\"";
    struct gpu_card second = h200("GPU-1", true);
    struct scene s;
    struct buf note;
    char name[221];
    snprintf(name, sizeof(name), "n.%0*d", (int)sizeof(name) - 3, 2);
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    node(&s, "n1", true);
    workload(&s, "a", 1, card);
    own(&s, "a", "job-a");
    settle(&s);
    node_of(&s, name, &second, 1, "NVIDIA-H200");
    node(&s, "n1", false);
    buf_init(&note, 0);
    buf_c(&note, "{\"metadata\":{\"annotations\":{\"note\":\"");
    for (int i = 0; i < (256 << 10) - 50; i++) {
        buf_ch(&note, 'x');
    }
    buf_c(&note, "\"}}}");
    fake_world_patch(&s.w, "Workload", "default", "a", "", buf_cstr(&note));
    buf_release(&note);
    settle(&s);
    pod(&s, "pa", "a", card);
    settle(&s);
    const struct object *pa = fake_world_get(&s.w, "Pod", "default", "pa");
    assert_string_equal(fake_world_condition_reason(pa, "PodScheduled"), "Unschedulable");
    assert_string_equal(fake_world_condition_message(pa, "PodScheduled"),
                        "the places of its Workload would take 36 bytes in the annotation "
                        "berth.dev/placement, and there is room for 27: shorten its other "
                        "annotations");
    uint64_t writes = s.w.writes;
    settle(&s);
    assert_int_equal(s.w.writes, writes);
    fake_world_patch(&s.w, "Workload", "default", "a", "",
                     "{\"metadata\":{\"annotations\":{\"note\":null}}}");
    fake_world_run(&s.w, 61 * NS_PER_SEC);
    settle(&s);
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "Pod", "default", "pa"), "spec.nodeName"), name);
    end(&s);
}

/* Admitted before any node was ours, it has no plan: its pods are placed one by one, after a restart as before. */
static void no_plan(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    workload(&s, "a", 2, SLICE);
    own(&s, "a", "job-a");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
    assert_false(str_contains(get(&s, "a")->json, STR("berth.dev/placement")));
    node(&s, "n1", true);
    pod(&s, "pa", "a", SLICE);
    settle(&s);
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "Pod", "default", "pa"), "spec.nodeName"), "n1");
    controller_free(s.q);
    controllers(&s);
    settle(&s);
    pod(&s, "pa2", "a", SLICE); /* beside the first */
    settle(&s);
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "Pod", "default", "pa2"), "spec.nodeName"), "n1");
    pod(&s, "pa3", "a", SLICE); /* its quota is for two */
    settle(&s);
    const struct object *more = fake_world_get(&s.w, "Pod", "default", "pa3");
    assert_string_equal(fake_world_text(more, "spec.nodeName"), "");
    assert_string_equal(fake_world_condition_message(more, "PodScheduled"),
                        "all places of its workload are held by pods that have not ended "
                        "(pod set main)");
    fake_world_delete(&s.w, "Pod", "default", "pa3", "");
    for (int i = 0; i < 2; i++) { /* and nothing is kept for it when they have ended */
        fake_world_patch(&s.w, "Pod", "default", i ? "pa2" : "pa", "status",
                         "{\"status\":{\"phase\":\"Succeeded\"}}");
    }
    workload(&s, "b", 3, SLICE);
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
    end(&s);
}

/* A Job that names a queue has a Workload. Before somebody made it, or after its owner deleted it, its pods wait; those
 * of a Job without a queue, and of one that is somewhere else, have nothing to wait for. */
static void a_job_without_its_workload(void **state) {
    static const char *const labels[] = {"\"kueue.x-k8s.io/queue-name\":\"lq\"", ""};
    for (int i = 0; i < 2; i++) {
        struct scene s;
        char json[1024];
        start(&s);
        quota(&s, "4", "BestEffortFIFO");
        node(&s, "n1", true);
        snprintf(
            json, sizeof(json),
            "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j\","
            "\"namespace\":\"default\",\"labels\":{%s}},\"spec\":{\"template\":{\"spec\":{"
            "\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
            labels[i]);
        struct str uid = fake_world_put(&s.w, json)->uid;
        snprintf(
            json, sizeof(json),
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":"
            "\"default\",\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
            "\"name\":\"j\",\"uid\":\"%.*s\",\"controller\":true}]},\"spec\":{\"containers\":["
            "{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"limits\":{%s},\"requests\":{%s}}}]}}",
            STR_ARG(uid), SLICE, SLICE);
        fake_world_put(&s.w, json);
        settle(&s);
        const struct object *p = fake_world_get(&s.w, "Pod", "default", "p");
        assert_string_equal(fake_world_text(p, "spec.nodeName"), i == 0 ? "" : "n1");
        end(&s);
    }
}

/* Its annotations are full: it holds nothing, says so, and does not try again until there is room. */
static void too_long_to_write(void **state) {
    struct scene s;
    struct buf note;
    start(&s);
    quota(&s, "20000", "BestEffortFIFO");
    node_of(&s, "n1", NULL, 0, NULL);
    buf_init(&note, 0);
    buf_c(&note, "{\"metadata\":{\"annotations\":{\"note\":\"");
    for (int i = 0; i < (256 << 10) - 50; i++) {
        buf_ch(&note, 'x');
    }
    buf_c(&note, "\"}}}");
    workload(&s, "full", 1, "\"cpu\":\"1\"");
    fake_world_patch(&s.w, "Workload", "default", "full", "", buf_cstr(&note));
    buf_release(&note);
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "full"), "QuotaReserved"), "False");
    assert_string_equal(fake_world_condition_reason(get(&s, "full"), "QuotaReserved"),
                        "WaitingForPlacement");
    assert_string_equal(fake_world_condition_message(get(&s, "full"), "QuotaReserved"),
                        "quota is available, but the places of its pods would take 39 bytes in "
                        "the annotation berth.dev/placement, and there is room for 27: let it "
                        "ask for fewer pods, or shorten its other annotations");
    uint64_t writes = s.w.writes; /* and then nobody writes any more */
    settle(&s);
    assert_int_equal(s.w.writes, writes);
    fake_world_patch(&s.w, "Workload", "default", "full", "",
                     "{\"metadata\":{\"annotations\":{\"note\":null}}}");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "full"), "Admitted"), "True");
    end(&s);
}

static void sick_gpu(void **state) {
    struct scene s;
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    node(&s, "n1", false);
    workload(&s, "a", 1, SLICE);
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "a"), "QuotaReserved"),
                        "WaitingForPlacement");
    node(&s, "n1", true);
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "a"), "Admitted"), "True");
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admitted_and_waiting),
        cmocka_unit_test(edited_meanwhile),
        cmocka_unit_test(restart),
        cmocka_unit_test(not_queued),
        cmocka_unit_test(evicted_and_still_running),
        cmocka_unit_test(drained),
        cmocka_unit_test(limit_range),
        cmocka_unit_test(slices),
        cmocka_unit_test(on_one_rack),
        cmocka_unit_test(more_than_its_seat),
        cmocka_unit_test(job),
        cmocka_unit_test(no_devices),
        cmocka_unit_test(faults),
        cmocka_unit_test(another_place),
        cmocka_unit_test(another_place_too_long),
        cmocka_unit_test(no_plan),
        cmocka_unit_test(a_job_without_its_workload),
        cmocka_unit_test(too_long_to_write),
        cmocka_unit_test(sick_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
