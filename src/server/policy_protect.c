/* policy_protect: the controllers' own members of other people's objects. See policy_protect.h. */
#include "server/policy_protect.h"

#include "api/inventory.h"

#define PLACEMENT STR("berth.dev/placement")
#define QUEUE_LABEL STR("kueue.x-k8s.io/queue-name")
#define GPU_PREFIX STR("nvidia.com/")
#define GATE "kueue.x-k8s.io/admission"
#define MANAGED "kueue.x-k8s.io/managed" /* label and finalizer */
#define PODSET "kueue.x-k8s.io/podset"

bool policy_is_clusterwide(const struct api_request *q) {
    bool status = str_is(q->subresource, "status") || str_is(q->subresource, "binding");
    return status && (q->verb == VERB_CREATE || q->verb == VERB_UPDATE || q->verb == VERB_PATCH) &&
           (str_is(q->plural, "pods") || str_is(q->plural, "workloads"));
}

static bool may(struct rbac *b, const struct user *u, const char *verb, const char *group,
                const char *resource, const char *subresource, struct arena *a) {
    struct str reason;
    return rbac_allows(b,
                       &(struct rbac_attributes){.user = u,
                                                 .verb = str_of(verb),
                                                 .resource_request = true,
                                                 .group = str_of(group),
                                                 .resource = str_of(resource),
                                                 .subresource = str_of(subresource)},
                       a, &reason);
}

static bool may_bind(struct rbac *b, const struct user *u, struct arena *a) {
    return may(b, u, "create", "", "pods", "binding", a);
}

static struct str annotation(yyjson_mut_val *obj, struct str key) {
    return json_mstr(json_mget(json_mpath(obj, "metadata.annotations"), key));
}

/* ---- does a pod ask for GPUs? ---- */

static bool has_gpu(yyjson_mut_val *amounts) {
    size_t i, n;
    yyjson_mut_val *key, *v;
    yyjson_mut_obj_foreach(amounts, i, n, key, v) {
        if (str_starts(json_mstr(key), GPU_PREFIX)) {
            return true;
        }
    }
    return false;
}

static bool asks_for_gpu(yyjson_mut_val *spec) {
    static const char *const lists[] = {"containers", "initContainers"};
    size_t i, n;
    yyjson_mut_val *c;
    for (size_t k = 0; k < 2; k++) {
        yyjson_mut_arr_foreach(json_mget(spec, str_of(lists[k])), i, n, c) {
            if (has_gpu(json_mpath(c, "resources.limits")) ||
                has_gpu(json_mpath(c, "resources.requests"))) {
                return true;
            }
        }
    }
    return false;
}

static bool has_controller(yyjson_mut_val *obj) {
    size_t i, n;
    yyjson_mut_val *o;
    yyjson_mut_arr_foreach(json_mpath(obj, "metadata.ownerReferences"), i, n, o) {
        if (yyjson_mut_is_true(json_mget(o, STR("controller")))) {
            return true;
        }
    }
    return false;
}

/* ---- the gate of admission ---- */

static bool is_gated(yyjson_mut_val *pod) {
    return json_mfind(json_mpath(pod, "spec.schedulingGates"), "name", STR(GATE)) != NULL;
}

static struct str label(yyjson_mut_val *obj, const char *key) {
    return json_mstr(json_mget(json_mpath(obj, "metadata.labels"), str_of(key)));
}

/* It waits for a Workload of its own. */
static bool waits(yyjson_mut_val *pod) {
    return is_gated(pod) && str_is(label(pod, MANAGED), "true") &&
           json_mget(json_mpath(pod, "metadata.labels"), QUEUE_LABEL) != NULL;
}

/* What its Workload is found, counted and kept by. */
static const char *changed_ties(yyjson_mut_val *obj, yyjson_mut_val *old) {
    bool held = json_mfind(json_mpath(old, "metadata.finalizers"), NULL, STR(MANAGED)) != NULL;
    if (is_gated(old) && !is_gated(obj)) {
        return "spec.schedulingGates: the gate " GATE " is opened by the queue";
    }
    if (!str_eq(label(obj, MANAGED), label(old, MANAGED))) {
        return "metadata.labels: " MANAGED " stays as it is";
    }
    if (held && json_mfind(json_mpath(obj, "metadata.finalizers"), NULL, STR(MANAGED)) == NULL) {
        return "metadata.finalizers: " MANAGED " is taken off by the queue";
    }
    if (!is_gated(old) && !str_eq(label(obj, PODSET), label(old, PODSET))) {
        return "metadata.labels: " PODSET " is written by the queue";
    }
    return NULL;
}

/* ---- the rules ---- */

static int check_pod(struct rbac *b, const struct user *u, yyjson_mut_val *obj, yyjson_mut_val *old,
                     struct arena *a, struct err *err) {
    const struct str devices = STR(DEVICES_ANNOTATION);
    const char *why = NULL;
    if (!str_eq(json_mstr_at(obj, "spec.nodeName"), json_mstr_at(old, "spec.nodeName"))) {
        why = "spec.nodeName: pods are bound by the scheduler";
    } else if (!str_eq(annotation(obj, devices), annotation(old, devices))) {
        why = "annotation " DEVICES_ANNOTATION " is written by the scheduler";
    } else if (!old && asks_for_gpu(json_mget(obj, STR("spec")))) {
        why = waits(obj) ? NULL
                         : "GPUs are given through a queue: label kueue.x-k8s.io/queue-name is "
                           "missing";
    } else if (old) {
        why = changed_ties(obj, old);
    }
    return !why || may_bind(b, u, a) ? 0 : err_set(err, ERR_FORBIDDEN, "%s", why);
}

/* A Job under a controller waits for that one's Workload, not for one of its own. */
static int check_job(struct rbac *b, const struct user *u, yyjson_mut_val *obj, yyjson_mut_val *old,
                     struct arena *a, struct err *err) {
    struct str queue = json_mstr(json_mget(json_mpath(obj, "metadata.labels"), QUEUE_LABEL));
    const char *why = NULL;
    if (!asks_for_gpu(json_mpath(obj, "spec.template.spec"))) {
        return 0;
    }
    if (queue.n == 0) {
        why = "GPUs are given through a queue: label kueue.x-k8s.io/queue-name is missing";
    } else if (has_controller(obj) && !has_controller(old)) {
        why = "metadata.ownerReferences: a Job with GPUs is its own controller's";
    }
    return !why || may_bind(b, u, a) ? 0 : err_set(err, ERR_FORBIDDEN, "%s", why);
}

static int check_workload(struct rbac *b, const struct user *u, yyjson_mut_val *obj,
                          yyjson_mut_val *old, struct arena *a, struct err *err) {
    if (str_eq(annotation(obj, PLACEMENT), annotation(old, PLACEMENT)) ||
        may(b, u, "update", "kueue.x-k8s.io", "workloads", "status", a)) {
        return 0;
    }
    return err_set(err, ERR_FORBIDDEN, "annotation %.*s is written by the scheduler",
                   STR_ARG(PLACEMENT));
}

/* Most workloads have no plan: then there is nothing to compare, and the old one need not be read. */
static bool has_no_plan(yyjson_mut_val *obj, const struct object *old) {
    return annotation(obj, PLACEMENT).n == 0 &&
           (!old || !memmem(old->json.p, old->json.n, PLACEMENT.p, PLACEMENT.n));
}

int policy_protect(struct rbac *b, const struct api_request *q, yyjson_mut_val *obj,
                   const struct object *old, struct arena *a, struct err *err) {
    static const struct {
        const char *group, *plural;
        int (*check)(struct rbac *b, const struct user *u, yyjson_mut_val *obj, yyjson_mut_val *old,
                     struct arena *a, struct err *err);
    } rows[] = {{"", "pods", check_pod},
                {"batch", "jobs", check_job},
                {"kueue.x-k8s.io", "workloads", check_workload}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_is(str_of(q->kind->group), rows[i].group) &&
            str_is(str_of(q->kind->plural), rows[i].plural)) {
            yyjson_mut_doc *was = NULL;
            if (rows[i].check == check_workload && has_no_plan(obj, old)) {
                return 0;
            }
            int r = old ? json_parse_mut(a, old->json, &was, err) : 0;
            return r ? r : rows[i].check(b, &q->user, obj, was ? was->root : NULL, a, err);
        }
    }
    return 0;
}
