/* Tests of the queue and defaults controllers in a fake world: from objects to objects. */
#include "base/test.h"

#include "api/inventory.h"
#include "control/fake_world.h"
#include "control/job.h"
#include "control/job_queue.h"
#include "control/queue_controller.h"

struct scene {
    struct fake_world w;
    struct queue_controller *q;
};

static void controllers(struct scene *s) {
    struct err err = {0};
    s->q = queue_controller_new(&s->w.env, &err);
    if (s->q == NULL) {
        print_error("%s\n", err.text);
    }
    assert_non_null(s->q);
}

static void settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

static void quota(struct scene *s, const char *cpu, const char *strategy) {
    char json[2048];
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                          "\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    snprintf(
        json, sizeof(json),
        "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ClusterQueue\",\"metadata\":"
        "{\"name\":\"cq\"},\"spec\":{\"namespaceSelector\":{},\"queueingStrategy\":\"%s\","
        "\"resourceGroups\":[{\"coveredResources\":[\"cpu\",\"nvidia.com/mig-2g.35gb\"],"
        "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"nominalQuota\":\"%s\"},"
        "{\"name\":\"nvidia.com/mig-2g.35gb\",\"nominalQuota\":\"100\"}]}]}]}}",
        strategy, cpu);
    fake_world_put(&s->w, json);
    fake_world_put(&s->w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"LocalQueue\","
                          "\"metadata\":{\"name\":\"lq\",\"namespace\":\"default\"},\"spec\":"
                          "{\"clusterQueue\":\"cq\"}}");
}

static void start(struct scene *s) {
    fake_world_init(&s->w);
    if (fake_world_get(&s->w, "Namespace", "", "default") == NULL) {
        fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                              "{\"name\":\"default\"}}");
    }
    controllers(s);
}

static void end(struct scene *s) {
    queue_controller_free(s->q);
    fake_world_release(&s->w);
}

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
    queue_controller_free(s.q);
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
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
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
    settle(&s); /* nobody owns it: nobody but us gives its quota back */
    assert_string_equal(fake_world_condition_reason(get(&s, "a"), "Evicted"),
                        "ClusterQueueStopped");
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

static struct gpu_profile PROFILES[] = {
    {STR("1g.18gb"), STR("nvidia.com/mig-1g.18gb"), 19, 1, 1, 16384, 7, 0x7f, false},
    {STR("2g.35gb"), STR("nvidia.com/mig-2g.35gb"), 14, 2, 2, 33024, 3, 0x15, false},
    {STR("3g.71gb"), STR("nvidia.com/mig-3g.71gb"), 9, 4, 3, 71168, 2, 0x11, false},
    {STR("7g.141gb"), STR("nvidia.com/mig-7g.141gb"), 0, 8, 7, 143360, 1, 0x01, false},
};

/* A node with these cards, of which the label names the first. */
static void node_of(struct scene *s, const char *name, struct gpu_card *cards, size_t n,
                    const char *product) {
    struct inventory inv = {cards, n, true};
    struct buf gpus, json;
    buf_init(&gpus, 0);
    buf_init(&json, 0);
    inventory_encode(&inv, &gpus);
    buf_f(
        &json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\","
        "\"labels\":{\"berth.dev/managed\":\"true\"%s%s%s},\"annotations\":{\"" INVENTORY_ANNOTATION
        "\":",
        name, product ? ",\"nvidia.com/gpu.product\":\"" : "", product ? product : "",
        product ? "\"" : "");
    buf_json(&json, buf_view(&gpus));
    buf_c(&json, "}},\"spec\":{}}");
    if (fake_world_get(&s->w, "Node", "", name) == NULL) {
        fake_world_put(&s->w, buf_cstr(&json));
    } else {
        fake_world_patch(&s->w, "Node", "", name, "", buf_cstr(&json));
    }
    fake_world_patch(&s->w, "Node", "", name, "status",
                     "{\"status\":{\"allocatable\":{\"cpu\":\"16\",\"memory\":\"64Gi\"},"
                     "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    buf_release(&gpus);
    buf_release(&json);
}

static struct gpu_card h200(const char *uuid, bool healthy) {
    return (struct gpu_card){.uuid = str_of(uuid),
                             .model = STR("NVIDIA H200"),
                             .slices = 8,
                             .board = STR("0x233510DE"),
                             .memory_mib = 143771,
                             .healthy = healthy,
                             .mig_enabled = true,
                             .mig_managed = true,
                             .profiles = PROFILES,
                             .n_profiles = 4,
                             .trouble = healthy ? (struct str){0} : STR("Xid 79")};
}

static void node(struct scene *s, const char *name, bool healthy) {
    struct gpu_card card = h200("GPU-0", healthy);
    node_of(s, name, &card, 1, "NVIDIA-H200");
}

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
    queue_controller_free(s.q);
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

/* A Job, its Workload, its pods: with the controllers that make them. */
static void job(void **state) {
    struct scene s;
    struct err err = {0};
    start(&s);
    quota(&s, "4", "BestEffortFIFO");
    node(&s, "n1", true);
    struct job_controller *jobs = job_controller_new(&s.w.env, &err);
    struct job_queue_controller *links = job_queue_controller_new(&s.w.env, &err);
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
    job_queue_controller_free(links);
    job_controller_free(jobs);
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
        queue_controller_free(s.q);
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
    for (int i = 0; i < (256 << 10) - 250; i++) {
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
                        "the places of its Workload would take 481 bytes in the annotation "
                        "berth.dev/placement, and there is room for 227: shorten its other "
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
    queue_controller_free(s.q);
    controllers(&s);
    settle(&s);
    pod(&s, "pa2", "a", SLICE); /* beside the first */
    settle(&s);
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "Pod", "default", "pa2"), "spec.nodeName"), "n1");
    for (int i = 0; i < 2; i++) { /* and nothing is kept for it when they have ended */
        fake_world_patch(&s.w, "Pod", "default", i ? "pa2" : "pa", "status",
                         "{\"status\":{\"phase\":\"Succeeded\"}}");
    }
    workload(&s, "b", 3, SLICE);
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
    end(&s);
}

/* Its places are too much for its annotations: it holds nothing, says so, and does not try again until that changed. */
static void too_long_to_write(void **state) {
    struct scene s;
    struct buf note;
    char name[240];
    start(&s);
    quota(&s, "20000", "BestEffortFIFO");
    for (int i = 0; i < 1100; i++) { /* each has room for one of its pods */
        snprintf(name, sizeof(name), "n.%0*d", (int)sizeof(name) - 3, i);
        node_of(&s, name, NULL, 0, NULL);
    }
    workload(&s, "long", 1100, "\"cpu\":\"16\"");
    settle(&s);
    workload(&s, "b", 1, "\"cpu\":\"16\"");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "b"), "Admitted"), "True");
    fake_world_delete(&s.w, "Workload", "default", "b", "");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "long"), "QuotaReserved"), "False");
    assert_string_equal(fake_world_condition_reason(get(&s, "long"), "QuotaReserved"),
                        "WaitingForPlacement");
    assert_string_equal(fake_world_condition_message(get(&s, "long"), "QuotaReserved"),
                        "quota is available, but the places of its pods would take 306891 bytes in "
                        "the annotation berth.dev/placement, and there is room for 262125: let it "
                        "ask for fewer pods, or shorten its other annotations");
    buf_init(&note, 0); /* the same of a small one whose annotations are full */
    buf_c(&note, "{\"metadata\":{\"annotations\":{\"note\":\"");
    for (int i = 0; i < (256 << 10) - 100; i++) {
        buf_ch(&note, 'x');
    }
    buf_c(&note, "\"}}}");
    workload(&s, "full", 1, "\"cpu\":\"1\"");
    fake_world_patch(&s.w, "Workload", "default", "full", "", buf_cstr(&note));
    buf_release(&note);
    settle(&s);
    assert_string_equal(fake_world_condition_reason(get(&s, "full"), "QuotaReserved"),
                        "WaitingForPlacement");
    uint64_t writes = s.w.writes; /* and then nobody writes any more */
    settle(&s);
    assert_int_equal(s.w.writes, writes);
    fake_world_patch(&s.w, "Workload", "default", "full", "",
                     "{\"metadata\":{\"annotations\":{\"note\":null}}}");
    fake_world_patch(
        &s.w, "Workload", "default", "long", "",
        "{\"spec\":{\"podSets\":[{\"name\":\"main\",\"count\":4,\"template\":{\"spec\":"
        "{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
        "{\"cpu\":\"1m\"}}}]}}}]}}");
    settle(&s);
    assert_string_equal(fake_world_condition(get(&s, "full"), "Admitted"), "True");
    assert_string_equal(fake_world_condition(get(&s, "long"), "Admitted"), "True");
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

static void defaults(void **state) {
    struct scene s;
    struct err err = {0};
    start(&s);
    fake_world_put(&s.w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
                         "\"kube-system\"}}");
    struct defaults_controller *d = defaults_controller_new(&s.w.env, &err);
    assert_non_null(d);
    settle(&s);
    assert_int_equal(fake_world_count(&s.w, "ClusterQueue"), 0);
    assert_int_equal(fake_world_count(&s.w, "Cohort"), 0);
    node(&s, "n1", true);
    settle(&s);
    const struct object *pool = fake_world_get(&s.w, "Cohort", "", "pool");
    assert_non_null(pool);
    assert_true(str_contains(pool->json,
                             STR("{\"name\":\"nvidia.com/mig-2g.35gb\",\"nominalQuota\":\"3\"}")));
    assert_true(str_contains(pool->json, STR("{\"name\":\"memory\",\"nominalQuota\":\"64Gi\"}")));
    const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "default");
    assert_non_null(cq);
    assert_string_equal(fake_world_text(cq, "spec.cohortName"), "pool");
    assert_true(str_contains(cq->json,
                             STR("{\"name\":\"nvidia.com/mig-2g.35gb\",\"nominalQuota\":\"0\"}")));
    assert_string_equal(fake_world_condition(cq, "Active"), "True");
    assert_non_null(fake_world_get(&s.w, "LocalQueue", "default", "default"));
    assert_non_null(fake_world_get(&s.w, "ResourceFlavor", "", "nvidia-h200"));
    assert_non_null(fake_world_get(&s.w, "ConfigMap", "kube-system", "berth-defaults"));
    fake_world_delete(&s.w, "LocalQueue", "default", "default", "");
    node(&s, "n1", false); /* what was deleted stays deleted */
    settle(&s);
    assert_null(fake_world_get(&s.w, "LocalQueue", "default", "default"));
    defaults_controller_free(d);
    end(&s);
}

/* Whether the pool has so much of a resource in a flavor. */
static void has_quota(struct scene *s, const char *flavor, const char *resource, const char *want) {
    char open[256], line[256];
    const struct object *cq = fake_world_get(&s->w, "Cohort", "", "pool");
    assert_non_null(cq);
    snprintf(open, sizeof(open), "{\"name\":\"%s\",\"resources\":[", flavor);
    snprintf(line, sizeof(line), "{\"name\":\"%s\",\"nominalQuota\":\"%s\"}", resource, want);
    struct str mine = cq->json, rest;
    while (mine.n && !str_starts(mine, str_of(open))) {
        mine = str_skip(mine, 1);
    }
    str_cut(str_skip(mine, strlen(open)), ']', &mine, &rest);
    if (!str_contains(mine, str_of(line))) {
        print_error("%s of %s: %.*s\n", line, flavor, STR_ARG(mine));
    }
    assert_true(str_contains(mine, str_of(line)));
}

static struct defaults_controller *defaults_of(struct scene *s) {
    struct err err = {0};
    if (fake_world_get(&s->w, "Namespace", "", "kube-system") == NULL) {
        fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                              "{\"name\":\"kube-system\"}}");
    }
    struct defaults_controller *d = defaults_controller_new(&s->w.env, &err);
    assert_non_null(d);
    settle(s);
    return d;
}

/* A flavor for each GPU type; one node has two boards, of which some profiles have the same name. */
static void defaults_of_types(void **state) {
    struct gpu_profile small[] = {
        {STR("1g.10gb"), STR("nvidia.com/mig-1g.10gb"), 19, 1, 1, 9728, 7, 0x7f, false},
        {STR("1g.18gb"), STR("nvidia.com/mig-1g.18gb"), 20, 2, 1, 16384, 4, 0x55, false}};
    struct scene s;
    start(&s);
    struct gpu_card two[] = {h200("GPU-1", true), h200("GPU-2", true)}, mixed[2];
    mixed[0] = h200("GPU-3", true);
    mixed[1] = h200("GPU-4", true);
    mixed[1].model = STR("NVIDIA A100-SXM4-80GB");
    mixed[1].board = STR("0x20B210DE");
    mixed[1].profiles = small;
    mixed[1].n_profiles = 2;
    node_of(&s, "n1", two, 2, "NVIDIA-H200");
    node_of(&s, "n2", mixed, 2, "NVIDIA-H200");
    struct defaults_controller *d = defaults_of(&s);
    has_quota(&s, "default", "cpu", "32");
    has_quota(&s, "default", "memory", "128Gi");
    has_quota(&s, "nvidia-h200", "nvidia.com/gpu", "2");
    has_quota(&s, "nvidia-h200", "nvidia.com/mig-1g.18gb", "14");
    has_quota(&s, "nvidia-h200", "nvidia.com/mig-1g.10gb", "0");
    has_quota(&s, "nvidia-h200-nvidia-a100-sxm4-80gb", "nvidia.com/mig-1g.18gb", "11");
    has_quota(&s, "nvidia-h200-nvidia-a100-sxm4-80gb", "nvidia.com/mig-1g.10gb", "7");
    assert_int_equal(fake_world_count(&s.w, "ResourceFlavor"), 3);
    const struct object *cq = fake_world_get(&s.w, "ClusterQueue", "", "default");
    assert_string_equal(fake_world_condition(cq, "Active"), "True");
    defaults_controller_free(d);
    end(&s);
}

/* No GPUs: cpu and memory alone. An edit stays, also over a second start; so does what was there before. */
static void defaults_without_gpus(void **state) {
    struct scene s;
    start(&s);
    fake_world_put(&s.w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"ResourceFlavor\","
                         "\"metadata\":{\"name\":\"default\",\"labels\":{\"mine\":\"yes\"}},"
                         "\"spec\":{}}");
    quota(&s, "1", "BestEffortFIFO"); /* another queue, made first, is no reason to go without */
    node_of(&s, "n1", NULL, 0, NULL);
    struct defaults_controller *d = defaults_of(&s);
    has_quota(&s, "default", "cpu", "16");
    assert_int_equal(fake_world_count(&s.w, "ResourceFlavor"), 2);
    assert_string_equal(fake_world_text(fake_world_get(&s.w, "ResourceFlavor", "", "default"),
                                        "metadata.labels.mine"),
                        "yes");
    fake_world_patch(&s.w, "ClusterQueue", "", "default", "",
                     "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    defaults_controller_free(d);
    d = defaults_of(&s);
    node_of(&s, "n2", NULL, 0, NULL);
    settle(&s);
    has_quota(&s, "default", "cpu", "16");
    assert_string_equal(
        fake_world_text(fake_world_get(&s.w, "ClusterQueue", "", "default"), "spec.stopPolicy"),
        "Hold");
    defaults_controller_free(d);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(admitted_and_waiting),
        cmocka_unit_test(edited_meanwhile),
        cmocka_unit_test(restart),
        cmocka_unit_test(not_queued),
        cmocka_unit_test(drained),
        cmocka_unit_test(limit_range),
        cmocka_unit_test(slices),
        cmocka_unit_test(job),
        cmocka_unit_test(faults),
        cmocka_unit_test(another_place),
        cmocka_unit_test(another_place_too_long),
        cmocka_unit_test(no_plan),
        cmocka_unit_test(too_long_to_write),
        cmocka_unit_test(sick_gpu),
        cmocka_unit_test(defaults),
        cmocka_unit_test(defaults_of_types),
        cmocka_unit_test(defaults_without_gpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
