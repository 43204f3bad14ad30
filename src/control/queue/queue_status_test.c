/* Tests of what queues say of themselves: counters, usage, conditions, and how often that is written. */
#include "base/test.h"

#include "base/limits.h"
#include "control/load/queue_settings.h"
#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"

#define V2 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","

struct scene {
    struct fake_world w;
    struct queue_controller *q;
};

static void controllers(struct scene *s) {
    struct err err = {0};
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    assert_non_null(s->q);
}

static void start_with(struct scene *s, const struct queue_settings *settings) {
    fake_world_init(&s->w);
    s->w.env.settings = settings;
    fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                          "{\"name\":\"default\"}}");
    controllers(s);
}

static void start(struct scene *s) {
    start_with(s, NULL);
}

static void end(struct scene *s) {
    controller_free(s->q);
    fake_world_release(&s->w);
}

static void settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

static void flavor(struct scene *s, const char *name) {
    char json[256];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"%s\"},\"spec\":{}}", name);
    fake_world_put(&s->w, json);
}

/* more: members of the spec, each with a comma after it. */
static void cluster_queue(struct scene *s, const char *name, const char *more) {
    char json[1024];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
                "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"memory\","
                "\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"memory\","
                "\"nominalQuota\":\"4Gi\"},{\"name\":\"cpu\",\"nominalQuota\":\"400\"}]}]}]}}",
             name, more);
    fake_world_put(&s->w, json);
}

static void local_queue(struct scene *s, const char *name, const char *cq) {
    char json[512];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                "\"spec\":{\"clusterQueue\":\"%s\"}}",
             name, cq);
    fake_world_put(&s->w, json);
}

static void workload(struct scene *s, const char *name, const char *lq, const char *cpu) {
    char json[1024];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},"
                "\"spec\":{\"queueName\":\"%s\",\"active\":true,\"podSets\":[{\"name\":\"main\","
                "\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\","
                "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%s\"}}}]}}}]}}",
             name, lq, cpu);
    fake_world_put(&s->w, json);
}

static const struct object *cluster(struct scene *s, const char *name) {
    return fake_world_get(&s->w, "ClusterQueue", "", name);
}

static const struct object *local(struct scene *s, const char *name) {
    return fake_world_get(&s->w, "LocalQueue", "default", name);
}

static void usage(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "\"cohortName\":\"team\",");
    cluster_queue(&s, "other", "\"cohortName\":\"team\",");
    local_queue(&s, "lq", "cq");
    local_queue(&s, "empty", "cq");
    workload(&s, "a", "lq", "401500m");
    workload(&s, "b", "lq", "900");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.flavorsUsage"),
                        "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"401500m\","
                        "\"borrowed\":\"1500m\"},{\"name\":\"memory\",\"total\":\"0\","
                        "\"borrowed\":\"0\"}]}]");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.flavorsUsage"),
                        "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"401500m\"},"
                        "{\"name\":\"memory\",\"total\":\"0\"}]}]");
    assert_string_equal(fake_world_text(local(&s, "empty"), "status.flavorsReservation"),
                        "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"0\"},"
                        "{\"name\":\"memory\",\"total\":\"0\"}]}]");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.pendingWorkloads"), "1");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.pendingWorkloads"), "1");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.admittedWorkloads"), "1");
    assert_string_equal(fake_world_text(cluster(&s, "other"), "status.admittedWorkloads"), "0");
    fake_world_patch(&s.w, "LocalQueue", "default", "lq", "",
                     "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.pendingWorkloads"), "0");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.pendingWorkloads"), "0");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.admittedWorkloads"), "1");
    fake_world_delete(&s.w, "Workload", "default", "a", "");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.reservingWorkloads"), "0");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.reservingWorkloads"), "0");
    assert_string_equal(
        fake_world_text(cluster(&s, "cq"), "status.flavorsReservation"),
        "[{\"name\":\"f\",\"resources\":[{\"name\":\"cpu\",\"total\":\"0\",\"borrowed\":\"0\"},"
        "{\"name\":\"memory\",\"total\":\"0\",\"borrowed\":\"0\"}]}]");
    end(&s);
}

/* Who was deactivated does not wait, and is told so; put in again, it does. */
static void deactivated(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "");
    local_queue(&s, "lq", "cq");
    workload(&s, "large", "lq", "900");
    workload(&s, "off", "lq", "900");
    fake_world_patch(&s.w, "Workload", "default", "off", "", "{\"spec\":{\"active\":false}}");
    settle(&s);
    const struct object *o = fake_world_get(&s.w, "Workload", "default", "off");
    assert_string_equal(fake_world_condition(o, "QuotaReserved"), "False");
    assert_string_equal(fake_world_condition_message(o, "QuotaReserved"),
                        "The workload is deactivated");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.pendingWorkloads"), "1");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.pendingWorkloads"), "1");
    fake_world_patch(&s.w, "Workload", "default", "off", "", "{\"spec\":{\"active\":true}}");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.pendingWorkloads"), "2");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.pendingWorkloads"), "2");
    end(&s);
}

/* One that holds quota and waits for a check is in the reservation, not in the usage. */
static void reserved_is_not_used(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq",
                  "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"x\"}]},");
    local_queue(&s, "lq", "cq");
    workload(&s, "a", "lq", "3");
    fake_world_patch(
        &s.w, "Workload", "default", "a", "status",
        "{\"status\":{\"conditions\":[{\"type\":\"QuotaReserved\",\"status\":\"True\",\"reason\":"
        "\"QuotaReserved\",\"message\":\"\",\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],"
        "\"admissionChecks\":[{\"name\":\"x\",\"state\":\"Pending\",\"message\":\"\","
        "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}],"
        "\"admission\":{\"clusterQueue\":\"cq\",\"podSetAssignments\":[{\"name\":\"main\","
        "\"flavors\":{\"cpu\":\"f\"},\"resourceUsage\":{\"cpu\":\"3\"},\"count\":1}]}}}");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.reservingWorkloads"), "1");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.admittedWorkloads"), "0");
    assert_non_null(strstr(fake_world_text(local(&s, "lq"), "status.flavorsReservation"),
                           "\"cpu\",\"total\":\"3\""));
    assert_non_null(
        strstr(fake_world_text(local(&s, "lq"), "status.flavorsUsage"), "\"cpu\",\"total\":\"0\""));
    assert_non_null(strstr(fake_world_text(cluster(&s, "cq"), "status.flavorsUsage"),
                           "\"cpu\",\"total\":\"0\""));
    end(&s);
}

static void counted(void *ctx, const struct change *ch) {
    *(size_t *)ctx += ch->type == CHANGE_MODIFIED;
}

/* A busy queue's status is written now and then, a quiet one's at once, and the last state always. */
static void paced(void **state) {
    struct scene s;
    size_t writes = 0;
    char name[32];
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "");
    local_queue(&s, "lq", "cq");
    settle(&s);
    struct feed *f = mirror_feed(s.w.mirror, fake_world_kind("ClusterQueue"), counted, &writes);
    workload(&s, "first", "lq", "1");
    fake_world_run(&s.w, 20 * NS_PER_MS);
    assert_int_equal(writes, 1);
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        workload(&s, name, "lq", "1");
        fake_world_run(&s.w, 10 * NS_PER_MS);
    }
    assert_in_range(writes, 10, 32);
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.admittedWorkloads"), "301");
    assert_string_equal(fake_world_text(local(&s, "lq"), "status.admittedWorkloads"), "301");
    feed_free(f);
    end(&s);
}

static void active(const struct object *o, const char *status, const char *reason,
                   const char *message) {
    assert_non_null(o);
    assert_string_equal(fake_world_condition(o, "Active"), status);
    assert_string_equal(fake_world_condition_reason(o, "Active"), reason);
    assert_string_equal(fake_world_condition_message(o, "Active"), message);
}

#define CANT "Can't submit new workloads to clusterQueue"

/* Every reason, alone and joined: the first one is the reason, all are in the message. */
static void conditions_of_cluster_queues(void **state) {
    struct scene s;
    start(&s);
    cluster_queue(&s, "cq",
                  "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"x\"}]},"
                  "\"stopPolicy\":\"Hold\",");
    local_queue(&s, "lq", "cq");
    local_queue(&s, "lost", "none");
    settle(&s);
    active(cluster(&s, "cq"), "False", "Stopped",
           "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): f, "
           "references missing AdmissionCheck(s): x.");
    active(local(&s, "lq"), "False", "ClusterQueueIsInactive", CANT);
    active(local(&s, "lost"), "False", "ClusterQueueDoesNotExist", CANT);
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"stopPolicy\":\"None\"}}");
    settle(&s);
    active(cluster(&s, "cq"), "False", "FlavorNotFound",
           "Can't admit new workloads: references missing ResourceFlavor(s): f, references "
           "missing AdmissionCheck(s): x.");
    fake_world_put(&s.w, V2 "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":"
                            "{\"topologyName\":\"t\",\"nodeLabels\":{\"a\":\"b\"}}}");
    fake_world_put(&s.w, V2 "\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"x\"},"
                            "\"spec\":{\"controllerName\":\"example.com/c\"}}");
    settle(&s);
    active(cluster(&s, "cq"), "False", "AdmissionCheckInactive",
           "Can't admit new workloads: references inactive AdmissionCheck(s): x, there is no "
           "Topology \"t\" for TAS flavor \"f\".");
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "",
                     "{\"spec\":{\"admissionChecksStrategy\":null}}");
    settle(&s);
    active(cluster(&s, "cq"), "False", "TopologyNotFound",
           "Can't admit new workloads: there is no Topology \"t\" for TAS flavor \"f\".");
    fake_world_put(&s.w, V2 "\"kind\":\"Topology\",\"metadata\":{\"name\":\"t\"},"
                            "\"spec\":{\"levels\":[{\"nodeLabel\":\"a\"}]}}");
    settle(&s);
    active(cluster(&s, "cq"), "True", "Ready", "Can admit new workloads");
    active(local(&s, "lq"), "True", "Ready", "Can submit new workloads to localQueue");
    fake_world_patch(&s.w, "LocalQueue", "default", "lq", "",
                     "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    active(local(&s, "lq"), "False", "Stopped", "LocalQueue is stopped");
    end(&s);
}

static void reserves(struct scene *s, const char *name, bool yes) {
    const struct object *o = fake_world_get(&s->w, "Workload", "default", name);
    assert_string_equal(fake_world_condition(o, "QuotaReserved"), yes ? "True" : "False");
    if (!yes) {
        assert_string_equal(fake_world_condition_reason(o, "QuotaReserved"), "Misconfigured");
        assert_string_equal(fake_world_condition_message(o, "QuotaReserved"),
                            "workload namespace doesn't match ClusterQueue selector");
    }
}

/* Only namespaces that the ClusterQueue selects get quota of it; without a selector none does. */
static void whose_namespace(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "");
    local_queue(&s, "lq", "cq");
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "",
                     "{\"spec\":{\"namespaceSelector\":{\"matchLabels\":{\"team\":\"red\"}}}}");
    workload(&s, "a", "lq", "1");
    settle(&s);
    reserves(&s, "a", false);
    fake_world_patch(&s.w, "Namespace", "", "default", "",
                     "{\"metadata\":{\"labels\":{\"team\":\"red\"}}}");
    settle(&s);
    reserves(&s, "a", true);
    fake_world_patch(&s.w, "Namespace", "", "default", "",
                     "{\"metadata\":{\"labels\":{\"team\":\"blue\"}}}");
    workload(&s, "b", "lq", "1");
    settle(&s);
    reserves(&s, "a", true); /* what it has stays */
    reserves(&s, "b", false);
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"namespaceSelector\":null}}");
    settle(&s);
    reserves(&s, "b", false);
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"namespaceSelector\":{}}}");
    settle(&s);
    reserves(&s, "b", true);
    end(&s);
}

static void check_on(struct scene *s, const char *name) {
    fake_world_patch(&s->w, "AdmissionCheck", "", name, "status",
                     "{\"status\":{\"conditions\":[{\"type\":\"Active\",\"status\":\"True\","
                     "\"reason\":\"Active\",\"message\":\"\",\"lastTransitionTime\":"
                     "\"2026-01-01T00:00:00Z\"}]}}");
}

static void check(struct scene *s, const char *name, const char *controller) {
    char json[512];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"%s\"},\"spec\":"
                "{\"controllerName\":\"kueue.x-k8s.io/%s\"}}",
             name, controller);
    fake_world_put(&s->w, json);
    check_on(s, name);
}

/* A check that comes to life does so for all that name it. */
static void a_check_of_two(void **state) {
    static const char *const names[] = {"x", "y"};
    struct scene s;
    start(&s);
    flavor(&s, "f");
    for (int i = 0; i < 2; i++) {
        cluster_queue(&s, names[i],
                      "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"both\"}]},");
    }
    settle(&s);
    for (int i = 0; i < 2; i++) {
        active(cluster(&s, names[i]), "False", "AdmissionCheckNotFound",
               "Can't admit new workloads: references missing AdmissionCheck(s): both.");
    }
    fake_world_put(&s.w, V2 "\"kind\":\"AdmissionCheck\",\"metadata\":{\"name\":\"both\"},"
                            "\"spec\":{\"controllerName\":\"example.com/c\"}}");
    settle(&s);
    for (int i = 0; i < 2; i++) {
        active(cluster(&s, names[i]), "False", "AdmissionCheckInactive",
               "Can't admit new workloads: references inactive AdmissionCheck(s): both.");
    }
    check_on(&s, "both");
    settle(&s);
    for (int i = 0; i < 2; i++) {
        active(cluster(&s, names[i]), "True", "Ready", "Can admit new workloads");
    }
    end(&s);
}

/* Checks that do not go together, all of them named. */
static void checks_at_odds(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    check(&s, "far", "multikueue");
    check(&s, "grow", "provisioning-request");
    cluster_queue(&s, "cq",
                  "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"far\"},"
                  "{\"name\":\"grow\"}]},");
    settle(&s);
    active(cluster(&s, "cq"), "False", "MultiKueueWithProvisioningRequest",
           "Can't admit new workloads: Cannot use both MultiKueue and ProvisioningRequest "
           "AdmissionChecks together, found: far, grow.");
    static const char *const flavors[] = {"f", "other"};
    for (int i = 0; i < 2; i++) { /* on every flavor that there is, and not */
        char more[256];
        snprintf(more, sizeof(more),
                 "\"admissionChecksStrategy\":{\"admissionChecks\":[{\"name\":\"far\","
                 "\"onFlavors\":[\"%s\"]}]},",
                 flavors[i]);
        cluster_queue(&s, flavors[i], more);
    }
    settle(&s);
    active(cluster(&s, "f"), "True", "Ready", "Can admit new workloads");
    active(cluster(&s, "other"), "False", "MultiKueueAdmissionCheckAppliedPerFlavor",
           "Can't admit new workloads: Cannot specify MultiKueue AdmissionCheck per flavor, "
           "found: far.");
    end(&s);
}

/* One that nobody owns goes when it is deleted, whether it waits, holds quota or has ended. */
static void orphans_go(void **state) {
    static const char *const names[] = {"waits", "holds", "ended"};
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "");
    local_queue(&s, "lq", "cq");
    workload(&s, "holds", "lq", "1");
    workload(&s, "ended", "lq", "1");
    workload(&s, "waits", "lq", "900");
    settle(&s);
    for (int i = 0; i < 3; i++) {
        fake_world_patch(&s.w, "Workload", "default", names[i], "",
                         "{\"metadata\":{\"finalizers\":[\"kueue.x-k8s.io/resource-in-use\"]}}");
    }
    fake_world_patch(&s.w, "Workload", "default", "ended", "status",
                     "{\"status\":{\"conditions\":[{\"type\":\"Finished\",\"status\":\"True\","
                     "\"reason\":\"Succeeded\",\"message\":\"\",\"lastTransitionTime\":"
                     "\"2026-01-01T00:00:00Z\"}]}}");
    settle(&s);
    const struct object *o = fake_world_get(&s.w, "Workload", "default", "ended");
    assert_string_not_equal(fake_world_text(o, "metadata.finalizers"), ""); /* kept until then */
    for (int i = 0; i < 3; i++) {
        fake_world_delete(&s.w, "Workload", "default", names[i], "");
    }
    settle(&s);
    assert_int_equal(fake_world_count(&s.w, "Workload"), 0);
    end(&s);
}

/* A message that is longer than any may be is cut, and says so; and it is not written again and again. */
static void long_message(void **state) {
    enum { FLAVORS = 64, GROUPS = 4, EACH = 240 };
    struct scene s;
    struct buf b;
    start(&s);
    buf_init(&b, 0);
    buf_c(&b, V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{"
                 "\"namespaceSelector\":{},\"resourceGroups\":[");
    for (int g = 0; g < GROUPS; g++) {
        buf_f(&b, "%s{\"coveredResources\":[\"r%d\"],\"flavors\":[", g > 0 ? "," : "", g);
        for (int f = 0; f < FLAVORS; f++) {
            buf_f(&b,
                  "%s{\"name\":\"%0*d-%d\",\"resources\":[{\"name\":\"r%d\","
                  "\"nominalQuota\":\"1\"}]}",
                  f > 0 ? "," : "", EACH, f, g, g);
        }
        buf_c(&b, "]}");
    }
    buf_c(&b, "]}}");
    fake_world_put(&s.w, buf_cstr(&b));
    settle(&s);
    const char *text = fake_world_condition_message(cluster(&s, "cq"), "Active");
    assert_int_equal(strlen(text), LIMIT_CONDITION_MESSAGE);
    assert_string_equal(text + LIMIT_CONDITION_MESSAGE - 4, " ...");
    uint64_t rv = cluster(&s, "cq")->rv;
    fake_world_put(&s.w, V2 "\"kind\":\"Cohort\",\"metadata\":{\"name\":\"c\"},\"spec\":{}}");
    settle(&s);
    assert_int_equal(cluster(&s, "cq")->rv, rv);
    buf_release(&b);
    end(&s);
}

/* A cycle of cohorts stops the scheduling below it, and is no reason for the condition. */
static void cycle(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "\"cohortName\":\"a\",");
    local_queue(&s, "lq", "cq");
    for (const char *pair = "abba"; *pair != '\0'; pair += 2) {
        char json[256];
        snprintf(json, sizeof(json),
                 V2 "\"kind\":\"Cohort\",\"metadata\":{\"name\":\"%c\"},\"spec\":{\"parentName\":"
                    "\"%c\"}}",
                 pair[0], pair[1]);
        fake_world_put(&s.w, json);
    }
    settle(&s);
    workload(&s, "w", "lq", "1");
    settle(&s);
    active(cluster(&s, "cq"), "True", "Ready", "Can admit new workloads");
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.reservingWorkloads"), "0");
    fake_world_patch(&s.w, "Cohort", "", "b", "", "{\"spec\":{\"parentName\":null}}");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.admittedWorkloads"), "1");
    end(&s);
}

/* What is in use stays until it is not: a ClusterQueue with its workloads, a flavor with its ClusterQueues. */
static void terminating(void **state) {
    struct scene s;
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "");
    local_queue(&s, "lq", "cq");
    workload(&s, "a", "lq", "1");
    workload(&s, "b", "lq", "2");
    flavor(&s, "spare");
    settle(&s);
    fake_world_delete(&s.w, "ResourceFlavor", "", "spare", "");
    fake_world_delete(&s.w, "ResourceFlavor", "", "f", "");
    fake_world_delete(&s.w, "ClusterQueue", "", "cq", "");
    settle(&s);
    assert_null(fake_world_get(&s.w, "ResourceFlavor", "", "spare")); /* nobody names it */
    active(cluster(&s, "cq"), "False", "Terminating",
           "Can't admit new workloads; clusterQueue is terminating");
    active(local(&s, "lq"), "False", "ClusterQueueIsInactive", CANT);
    assert_non_null(fake_world_get(&s.w, "ResourceFlavor", "", "f"));
    fake_world_delete(&s.w, "Workload", "default", "a", "");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.reservingWorkloads"), "1");
    fake_world_delete(&s.w, "Workload", "default", "b", "");
    settle(&s);
    assert_null(cluster(&s, "cq"));
    settle(&s);
    assert_null(fake_world_get(&s.w, "ResourceFlavor", "", "f"));
    active(local(&s, "lq"), "False", "ClusterQueueDoesNotExist", CANT);
    end(&s);
}

/* Shares of queues and cohorts follow usage and quotas; without fair sharing nobody has one. */
static void shares(void **state) {
    struct scene s;
    struct queue_settings settings = *queue_settings_defaults();
    settings.fair_sharing = true;
    start_with(&s, &settings);
    flavor(&s, "f");
    fake_world_put(&s.w, V2 "\"kind\":\"Cohort\",\"metadata\":{\"name\":\"team\"},"
                            "\"spec\":{\"parentName\":\"org\"}}");
    cluster_queue(&s, "cq", "\"cohortName\":\"team\",");
    cluster_queue(&s, "other", "\"cohortName\":\"org\",");
    local_queue(&s, "lq", "cq");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.fairSharing.weightedShare"),
                        "0");
    workload(&s, "a", "lq", "600"); /* 200 more than its own 400, of 800 that are lent */
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.fairSharing.weightedShare"),
                        "250");
    const struct object *team = fake_world_get(&s.w, "Cohort", "", "team");
    assert_string_equal(fake_world_text(team, "status.fairSharing.weightedShare"), "250");
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "",
                     "{\"spec\":{\"fairSharing\":{\"weight\":\"2\"}}}");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.fairSharing.weightedShare"),
                        "125");
    uint64_t writes = s.w.writes;
    settle(&s);
    assert_int_equal(s.w.writes, writes);
    end(&s);
    start(&s);
    flavor(&s, "f");
    cluster_queue(&s, "cq", "\"cohortName\":\"team\",");
    settle(&s);
    assert_string_equal(fake_world_text(cluster(&s, "cq"), "status.fairSharing"), "");
    end(&s);
}

/* What a LocalQueue used is sampled, written, and known after a restart. */
static void usage_of_local_queues(void **state) {
    struct scene s;
    struct queue_settings settings = *queue_settings_defaults();
    settings.usage.on = true;
    settings.usage.half_life_ns = 600 * NS_PER_SEC;
    settings.usage.sampling_interval_ns = 300 * NS_PER_SEC;
    start_with(&s, &settings);
    flavor(&s, "f");
    cluster_queue(&s, "cq",
                  "\"admissionScope\":{\"admissionMode\":\"UsageBasedAdmissionFairSharing\"},");
    local_queue(&s, "lq", "cq");
    workload(&s, "a", "lq", "100");
    fake_world_run(&s.w, 320 * NS_PER_SEC);
#define USED "status.fairSharing.admissionFairSharingStatus.consumedResources"
    char used[64], at[64];
    assert_true(str_copy(str_of(fake_world_text(local(&s, "lq"), USED)), used, sizeof(used)));
    /* The penalty of its admission and one interval of running: 100 cores, half forgotten in two intervals. */
    assert_non_null(strstr(used, "{\"cpu\":\""));
    fake_world_run(&s.w, 300 * NS_PER_SEC);
    const char *later = fake_world_text(local(&s, "lq"), USED);
    assert_string_not_equal(later, used);
    assert_true(str_copy(str_of(later), used, sizeof(used)));
    const char *update = "status.fairSharing.admissionFairSharingStatus.lastUpdate";
    assert_true(str_copy(str_of(fake_world_text(local(&s, "lq"), update)), at, sizeof(at)));
    fake_world_delete(&s.w, "Workload", "default", "a", "");
    settle(&s);
    controller_free(s.q);
    controllers(&s);
    settle(&s); /* nothing was sampled since: it is as it was */
    assert_string_equal(fake_world_text(local(&s, "lq"), USED), used);
    assert_string_equal(fake_world_text(local(&s, "lq"), update), at);
    fake_world_run(&s.w, 300 * NS_PER_SEC);
    assert_string_not_equal(fake_world_text(local(&s, "lq"), USED), used);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage),
        cmocka_unit_test(deactivated),
        cmocka_unit_test(reserved_is_not_used),
        cmocka_unit_test(paced),
        cmocka_unit_test(conditions_of_cluster_queues),
        cmocka_unit_test(long_message),
        cmocka_unit_test(checks_at_odds),
        cmocka_unit_test(a_check_of_two),
        cmocka_unit_test(orphans_go),
        cmocka_unit_test(whose_namespace),
        cmocka_unit_test(cycle),
        cmocka_unit_test(terminating),
        cmocka_unit_test(shares),
        cmocka_unit_test(usage_of_local_queues),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
