/* operate_kinds: see operate_kinds.h. */
#include "world/operate_kinds.h"

#include "control/control.h"
#include "kube/writer.h"

#define KUEUE "kueue.x-k8s.io"

static const struct {
    const char *group, *kind;
    unsigned sets; /* who reads it */
    bool required;
} rows[] = {
    {KUEUE, "Workload", CONTROL_QUEUES | CONTROL_JOB_QUEUE | CONTROL_WORKLOADS, true},
    {KUEUE, "ClusterQueue", CONTROL_QUEUES | CONTROL_JOB_QUEUE, true},
    {KUEUE, "LocalQueue", CONTROL_QUEUES | CONTROL_JOB_QUEUE, true},
    {KUEUE, "ResourceFlavor", CONTROL_QUEUES | CONTROL_JOB_QUEUE, true},
    {KUEUE, "WorkloadPriorityClass", CONTROL_JOB_QUEUE | CONTROL_WORKLOADS, false},
    {KUEUE, "Cohort", CONTROL_QUEUES, false},
    {KUEUE, "AdmissionCheck", CONTROL_QUEUES, false},
    {KUEUE, "Topology", CONTROL_QUEUES | CONTROL_JOB_QUEUE, false},
    {"", "Namespace", CONTROL_QUEUES | CONTROL_JOB_QUEUE, true},
    {"", "Node", CONTROL_QUEUES, true},
    {"", "Pod", CONTROL_QUEUES | CONTROL_JOB_QUEUE | CONTROL_JOBS, true},
    {"", "LimitRange", CONTROL_QUEUES, true},
    {"node.k8s.io", "RuntimeClass", CONTROL_QUEUES, false},
    {"scheduling.k8s.io", "PriorityClass", CONTROL_JOB_QUEUE, true},
    {"batch", "Job", CONTROL_JOB_QUEUE | CONTROL_JOBS | CONTROL_QUEUES, true},
};

size_t operate_kinds(unsigned set, const struct queue_settings *s,
                     struct operate_kind ret[static OPERATE_KINDS_MAX]) {
    size_t n = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct kind *k = kind_by_name(str_of(rows[i].group), str_of(rows[i].kind));
        if (k && (rows[i].sets & set)) {
            ret[n++] = (struct operate_kind){k, rows[i].required};
        }
    }
    return n;
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

static void trim_pod(yyjson_mut_val *pod) {
    yyjson_mut_val *spec = json_mget(pod, STR("spec")), *status = json_mget(pod, STR("status"));
    if (is_queued(pod)) {
        json_mdel(status, STR("containerStatuses"));
        json_mdel(status, STR("initContainerStatuses"));
        return;
    }
    keep(spec, "nodeName nodeSelector schedulerName schedulingGates tolerations priority "
               "priorityClassName overhead resources containers initContainers resourceClaims "
               "runtimeClassName");
    keep_each(json_mget(spec, STR("containers")), "name resources restartPolicy");
    keep_each(json_mget(spec, STR("initContainers")), "name resources restartPolicy");
    keep(status, "phase reason conditions");
}

void operate_trim(const struct kind *k, yyjson_mut_val *obj) {
    kube_trim_managed(k, obj);
    if (str_is(str_of(k->group), "") && str_is(str_of(k->kind), "Pod")) {
        trim_pod(obj);
    } else if (str_is(str_of(k->group), "") && str_is(str_of(k->kind), "Node")) {
        yyjson_mut_val *status = json_mget(obj, STR("status"));
        json_mdel(status, STR("images"));
        json_mdel(status, STR("volumesInUse"));
        json_mdel(status, STR("volumesAttached"));
    }
}
