/* kinds_pod: the row of Pod, and what creating one sets. */
#include "api/tables/view_core.h"

#include "api/kinds/kinds.h"
#include "wire/text/time.h"

static void pod_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    if (!yyjson_mut_is_obj(spec)) {
        return;
    }
    if (json_mget(spec, STR("enableServiceLinks")) == NULL &&
        json_mset_bool(d, spec, "enableServiceLinks", true) < 0) {
        err_set(err, ERR_NOMEM, "out of memory");
    }
    pod_spec_defaults(d, spec);
}

static bool has_cpu_or_memory(yyjson_mut_val *map) {
    return json_mget(map, STR("cpu")) != NULL || json_mget(map, STR("memory")) != NULL;
}

/* Both resources limited, and requested in the same amount (requests were defaulted from limits). */
static bool is_guaranteed(yyjson_mut_val *c) {
    static const char *const names[] = {"cpu", "memory"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct str limit = json_mstr_at(json_mpath(c, "resources.limits"), names[i]);
        struct str request = json_mstr_at(json_mpath(c, "resources.requests"), names[i]);
        if (limit.n == 0 || !str_eq(limit, request)) {
            return false;
        }
    }
    return true;
}

static const char *qos_class(yyjson_mut_val *spec) {
    static const char *const lists[] = {"initContainers", "containers"};
    bool any = false, all = true;
    for (size_t l = 0; l < COUNT(lists); l++) {
        EACH(json_mget(spec, str_of(lists[l])), i, c) {
            (void)i;
            any |= has_cpu_or_memory(json_mpath(c, "resources.limits")) ||
                   has_cpu_or_memory(json_mpath(c, "resources.requests"));
            all &= is_guaranteed(c);
        }
    }
    return !any ? "BestEffort" : all ? "Guaranteed" : "Burstable";
}

/* A pod behind gates says so from the beginning. */
static void say_gated(yyjson_mut_doc *d, yyjson_mut_val *status, int64_t now) {
    char at[TIME_TEXT_MAX];
    yyjson_mut_val *list = yyjson_mut_arr(d);
    yyjson_mut_val *c = list != NULL ? yyjson_mut_arr_add_obj(d, list) : NULL;
    if (c != NULL && json_mset(d, status, STR("conditions"), list) == 0) {
        json_mset_str(d, c, "type", STR("PodScheduled"));
        json_mset_str(d, c, "status", STR("False"));
        json_mset_str(d, c, "lastTransitionTime", time_text(now, at));
        json_mset_str(d, c, "reason", STR("SchedulingGated"));
        json_mset_str(d, c, "message",
                      STR("Scheduling is blocked due to non-empty scheduling gates"));
    }
}

static void pod_prepare(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now) {
    if (old != NULL) {
        return;
    }
    yyjson_mut_val *status = yyjson_mut_obj(d);
    if (status != NULL && json_mset(d, obj, STR("status"), status) == 0) {
        json_mset_str(d, status, "phase", STR("Pending"));
        json_mset_str(d, status, "qosClass", str_of(qos_class(json_mget(obj, STR("spec")))));
        if (yyjson_mut_arr_size(json_mpath(obj, "spec.schedulingGates")) > 0) {
            say_gated(d, status, now);
        }
    }
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Ready", "string", 0, "Ready containers, out of all."),
    COLUMN("Status", "string", 0, "State of the pod."),
    COLUMN("Restarts", "string", 0, "Number of container restarts, and time of the last one."),
    COLUMN_AGE,
    COLUMN("IP", "string", 1, "Address of the pod."),
    COLUMN("Node", "string", 1, "Node that the pod is bound to."),
    COLUMN("Nominated Node", "string", 1,
           "Node on which lower-priority pods are being preempted "
           "for the pod."),
    COLUMN("Readiness Gates", "string", 1, "Readiness gates that are met, out of all."),
};

static const struct kind_version versions[] = {{.version = "v1", .schema = &schema_pod}};

const struct kind kind_pod = {
    .group = "",
    .kind = "Pod",
    .plural = "pods",
    .singular = "pod",
    .short_names = (const char *const[]){"po", NULL},
    .categories = (const char *const[]){"all", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION | KIND_RETURNS_DELETED | KIND_GRACEFUL,
    .versions = versions,
    .n_versions = COUNT(versions),
    .columns = columns,
    .n_columns = COUNT(columns),
    .selectable =
        (const char *const[]){"spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
                              "spec.serviceAccountName", "spec.hostNetwork", "status.phase",
                              "status.podIP", "status.podIPs", "status.nominatedNodeName", NULL},
    .subresources = (const char *const[]){"attach", "binding", "ephemeralcontainers", "eviction",
                                          "exec", "log", "portforward", NULL},
    .set_defaults = pod_defaults,
    .prepare = pod_prepare,
    .check = pod_check,
    .cell = pod_cell,
};
