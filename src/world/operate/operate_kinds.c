/* operate_kinds: see operate_kinds.h. */
#include "world/operate/operate_kinds.h"

#include "api/kinds/kinds_foreign.h"
#include "api/webhooks.h"
#include "control/control.h"
#include "control/load/integration.h"
#include "control/queue/queue_controller.h"
#include "kube/writer.h"

#define KUEUE "kueue.x-k8s.io"
#define BERTH "berth.dev"
#define KSERVE "serving.kserve.io"
#define DEVICES "resource.k8s.io"

static const struct {
    const char *group, *kind;
    unsigned sets; /* who reads it */
    bool required;
} rows[] = {
    {KUEUE, "Workload",
     CONTROL_QUEUES | CONTROL_JOB_QUEUE | CONTROL_WORKLOADS | CONTROL_RESERVATIONS |
         CONTROL_SERVING,
     true},
    {KUEUE, "ClusterQueue", CONTROL_QUEUES | CONTROL_JOB_QUEUE | CONTROL_RESERVATIONS, true},
    {KUEUE, "LocalQueue", CONTROL_QUEUES | CONTROL_JOB_QUEUE | CONTROL_RESERVATIONS, true},
    {KUEUE, "ResourceFlavor", CONTROL_QUEUES | CONTROL_JOB_QUEUE | CONTROL_RESERVATIONS, true},
    {KUEUE, "WorkloadPriorityClass", CONTROL_JOB_QUEUE | CONTROL_WORKLOADS, false},
    {KUEUE, "Cohort", CONTROL_QUEUES | CONTROL_RESERVATIONS, false},
    {KUEUE, "AdmissionCheck", CONTROL_QUEUES, false},
    {KUEUE, "Topology", CONTROL_QUEUES | CONTROL_JOB_QUEUE, false},
    {"", "Namespace", CONTROL_QUEUES | CONTROL_JOB_QUEUE | CONTROL_RESERVATIONS, true},
    {"", "Node", CONTROL_QUEUES | CONTROL_RESERVATIONS, true},
    {"", "Pod", CONTROL_QUEUES | CONTROL_JOB_QUEUE | CONTROL_JOBS | CONTROL_SERVING, true},
    {"", "LimitRange", CONTROL_QUEUES, true},
    {"node.k8s.io", "RuntimeClass", CONTROL_QUEUES, false},
    {"scheduling.k8s.io", "PriorityClass", CONTROL_JOB_QUEUE, true},
    {"batch", "Job", CONTROL_JOB_QUEUE | CONTROL_JOBS | CONTROL_QUEUES, true},
    {BERTH, "Reservation", CONTROL_RESERVATIONS | CONTROL_QUEUES, false},
    {BERTH, "ReservationPolicy", CONTROL_RESERVATIONS, false},
    {BERTH, "CapacityWindow", CONTROL_RESERVATIONS, false},
    {BERTH, "ReservationSeries", CONTROL_RESERVATIONS, false},
    {BERTH, "CalendarFeed", CONTROL_RESERVATIONS, false},
    {"infrastructure.opendatahub.io", "HardwareProfile", CONTROL_RESERVATIONS | CONTROL_SERVING,
     false},
    {KSERVE, "InferenceService", CONTROL_SERVING, false},
    {KSERVE, "LLMInferenceService", CONTROL_SERVING, false},
    {KSERVE, "ServingRuntime", CONTROL_SERVING, false},
    {KSERVE, "ClusterServingRuntime", CONTROL_SERVING, false},
    {"", "Service", CONTROL_SERVING, true},
};

/* Kinds that Kubernetes serves, as Berth does alone, and that are queued, or passed on the way from a pod. */
static const char *const serving[] = {"Deployment", "ReplicaSet", "StatefulSet"};

/* Kinds that others serve: those that are queued, and what is looked at on the way from a pod to one of them. */
static const struct {
    const char *group, *kind, *for_group, *for_kind;
} helpers[] = {
    {"trainer.kubeflow.org", "TrainingRuntime", "trainer.kubeflow.org", "TrainJob"},
    {"trainer.kubeflow.org", "ClusterTrainingRuntime", "trainer.kubeflow.org", "TrainJob"},
};

static bool is_queued_kind(const char *group, const char *kind, const struct queue_settings *s) {
    size_t n;
    const struct integration *v = integration_rows(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(v[i].is->group, group) == 0 && strcmp(v[i].is->kind, kind) == 0) {
            return (v[i].flags & INTEGRATION_HOP) || integration_enabled(&v[i], s);
        }
    }
    for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
        if (strcmp(helpers[i].group, group) == 0 && strcmp(helpers[i].kind, kind) == 0) {
            return is_queued_kind(helpers[i].for_group, helpers[i].for_kind, s);
        }
    }
    return false;
}

/* Are devices counted that pods ask for by claim? */
static bool counts_claims(const struct queue_settings *s) {
    return s != NULL && s->resources.n_devices > 0;
}

/* Read for models, too, where the ones above did not add them. */
static size_t add_served(const struct operate_reads *r, struct operate_kind *ret, size_t n) {
    static const char *const told[][2] = {
        {"apps", "Deployment"},
        {"apps", "ReplicaSet"},
        {"apiextensions.k8s.io", "CustomResourceDefinition"},
    };
    for (size_t i = 0; (r->set & CONTROL_SERVING) && i < sizeof told / sizeof *told; i++) {
        const struct kind *k = kind_by_name(str_of(told[i][0]), str_of(told[i][1]));
        size_t at = 0;
        while (at < n && ret[at].kind != k) {
            at++;
        }
        ret[at] = (struct operate_kind){.kind = k, .required = true};
        n += at == n;
    }
    return n;
}

static size_t add_webhooks(const struct operate_reads *r, struct operate_kind *ret, size_t n) {
    static const char *const told[][2] = {
        {"admissionregistration.k8s.io", "MutatingWebhookConfiguration"},
        {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration"},
        {"apiextensions.k8s.io", "CustomResourceDefinition"},
    };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) {
        ret[n++].kind = kind_by_name(str_of(told[i][0]), str_of(told[i][1]));
    }
    if (r->secret_ns.n) {
        ret[n++] = (struct operate_kind){
            .kind = kind_by_name(STR(""), STR("Secret")),
            .ns = r->secret_ns,
            .field_selector = STR("metadata.name=" WEBHOOK_SECRET),
        };
    }
    return n;
}

size_t operate_kinds(const struct operate_reads *r,
                     struct operate_kind ret[static OPERATE_KINDS_MAX]) {
    size_t n = 0, n_foreign;
    unsigned set = r->set | (r->webhooks ? CONTROL_JOB_QUEUE : 0); /* webhooks look at the same */
    const struct kind *foreign = kinds_foreign(&n_foreign);
    memset(ret, 0, OPERATE_KINDS_MAX * sizeof *ret);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].sets & set) {
            ret[n++] = (struct operate_kind){
                .kind = kind_by_name(str_of(rows[i].group), str_of(rows[i].kind)),
                .required = rows[i].required,
            };
        }
    }
    if (set & CONTROL_QUEUES) {
        ret[n++] = (struct operate_kind){
            .kind = kind_by_name(STR("apps"), STR("ControllerRevision")),
            .label_selector = STR(PLAN_LABEL), /* not those of DaemonSets and StatefulSets */
        };
    }
    for (size_t i = 0; i < n_foreign && (set & CONTROL_JOB_QUEUE); i++) {
        if (n < OPERATE_KINDS_MAX - 8 &&
            is_queued_kind(foreign[i].group, foreign[i].kind, r->settings)) {
            ret[n++] = (struct operate_kind){.kind = &foreign[i], .foreign = true};
        }
    }
    for (size_t i = 0; i < sizeof serving / sizeof *serving && (set & CONTROL_JOB_QUEUE); i++) {
        if (is_queued_kind("apps", serving[i], r->settings)) {
            ret[n++].kind = kind_by_name(STR("apps"), str_of(serving[i]));
        }
    }
    for (size_t i = 0; i < n_foreign && counts_claims(r->settings) && (set & CONTROL_QUEUES); i++) {
        if (strcmp(foreign[i].group, DEVICES) == 0) {
            ret[n++] = (struct operate_kind){.kind = &foreign[i], .foreign = true};
        }
    }
    n = r->webhooks ? add_webhooks(r, ret, n) : n;
    return add_served(r, ret, n);
}

/* ---- trimming ---- */

/* Keeps the members that are named, in a space-separated list. */
static void keep(yyjson_mut_val *obj, const char *names) {
    size_t i, n;
    yyjson_mut_val *key, *value;
    struct str gone[64];
    size_t n_gone = 0;
    if (!yyjson_mut_is_obj(obj)) {
        return;
    }
    yyjson_mut_obj_foreach(obj, i, n, key, value) {
        struct str list = str_of(names), name, member = json_mstr(key);
        bool found = false;
        while (!found && str_next(&list, ' ', &name)) {
            found = str_eq(name, member);
        }
        if (!found && n_gone < sizeof gone / sizeof *gone) {
            gone[n_gone++] = member;
        }
    }
    for (i = 0; i < n_gone; i++) {
        json_mdel(obj, gone[i]);
    }
}

static void keep_each(yyjson_mut_val *list, const char *names) {
    size_t i, n;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(list, i, n, v) {
        keep(v, names);
    }
}

/* Pods that are queued are kept whole: their Workloads are made of them. */
static bool is_queued(yyjson_mut_val *pod) {
    yyjson_mut_val *labels = json_mpath(pod, "metadata.labels");
    return json_mget(labels, STR(KUEUE "/managed")) ||
           json_mget(labels, STR(KUEUE "/queue-name")) ||
           json_mget(labels, STR(KUEUE "/pod-group-name"));
}

/* The state of its model server is told. */
static bool is_served(yyjson_mut_val *pod) {
    yyjson_mut_val *labels = json_mpath(pod, "metadata.labels");
    return json_mget(labels, STR(KSERVE "/inferenceservice")) ||
           str_is(json_mstr(json_mget(labels, STR("app.kubernetes.io/part-of"))),
                  "llminferenceservice");
}

static void trim_pod(yyjson_mut_val *pod) {
    yyjson_mut_val *spec = json_mget(pod, STR("spec")), *status = json_mget(pod, STR("status"));
    if (is_queued(pod) && !is_served(pod)) {
        json_mdel(status, STR("containerStatuses"));
        json_mdel(status, STR("initContainerStatuses"));
        return;
    }
    if (is_served(pod)) {
        return;
    }
    keep(spec, "nodeName nodeSelector schedulerName schedulingGates tolerations priority "
               "priorityClassName overhead resources containers initContainers resourceClaims "
               "runtimeClassName");
    keep_each(json_mget(spec, STR("containers")), "name resources restartPolicy");
    keep_each(json_mget(spec, STR("initContainers")), "name resources restartPolicy");
    keep(status, "phase reason conditions");
}

static void trim_node(yyjson_mut_val *node) {
    yyjson_mut_val *status = json_mget(node, STR("status"));
    json_mdel(status, STR("images"));
    json_mdel(status, STR("volumesInUse"));
    json_mdel(status, STR("volumesAttached"));
}

static void trim_definition(yyjson_mut_val *crd) {
    keep(json_mget(crd, STR("spec")), "group names scope conversion");
    json_mdel(crd, STR("status"));
}

/* Only who owns it counts. */
static void trim_replica_set(yyjson_mut_val *set) {
    json_mdel(set, STR("spec"));
    json_mdel(set, STR("status"));
}

void operate_trim(const struct kind *k, yyjson_mut_val *obj) {
    static const struct {
        const char *group, *kind;
        void (*trim)(yyjson_mut_val *obj);
    } of[] = {
        {"", "Pod", trim_pod},
        {"", "Node", trim_node},
        {"apiextensions.k8s.io", "CustomResourceDefinition", trim_definition},
        {"apps", "ReplicaSet", trim_replica_set},
    };
    kube_trim_managed(k, obj);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (strcmp(k->kind, of[i].kind) == 0 && strcmp(k->group, of[i].group) == 0) {
            of[i].trim(obj);
        }
    }
}
