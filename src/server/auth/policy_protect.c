/* policy_protect: the controllers' own members of other people's objects. See policy_protect.h. */
#include "server/auth/policy_protect.h"

#include "api/frameworks.h"
#include "api/inventory.h"
#include "api/pod_fields.h"
#include "server/auth/policy_priority.h"

#define QUEUE_LABEL STR("kueue.x-k8s.io/queue-name")
#define GATE "kueue.x-k8s.io/admission"
#define ELASTIC_GATE "kueue.x-k8s.io/elastic-job"
#define SLICE "kueue.x-k8s.io/workload-slice-replacement-for"
#define MANAGED "kueue.x-k8s.io/managed" /* label and finalizer */
#define PODSET "kueue.x-k8s.io/podset"
#define ROLE "kueue.x-k8s.io/role-hash"
#define PARENT "kueue.x-k8s.io/pod-suspending-parent"       /* its pods have the gate */
#define PROFILE STR("opendatahub.io/hardware-profile-name") /* may name a queue */
#define NOT_QUEUED "GPUs are given through a queue: Jobs of this namespace are not queued"
#define NO_QUEUE "GPUs are given through a queue: label kueue.x-k8s.io/queue-name is missing"

/* One write, while it is judged. */
struct judged {
    struct rbac *rbac;
    const struct mirror *mirror;
    const struct user *user;
    struct str ns;
    yyjson_mut_val *obj, *old; /* old: NULL on create */
    struct arena *arena;
};

/* ---- rights over the cluster ---- */

static bool one_of(struct str s, const char *const *list) {
    for (size_t i = 0; list[i] != NULL; i++) {
        if (str_is(s, list[i])) {
            return true;
        }
    }
    return false;
}

/* Groups of jobs and sets: by their status they have ended. */
static bool is_queued_group(struct str group) {
    for (size_t i = 0; i < FRAMEWORKS; i++) {
        if (frameworks[i].group[0] != '\0' && str_is(group, frameworks[i].group)) {
            return true;
        }
    }
    return false;
}

bool policy_is_clusterwide(const struct api_request *q) {
    static const char *const verbs[] = {"create", "update", "patch", "*", NULL};
    static const char *const parts[] = {"status", "binding", "*", NULL};
    static const char *const plurals[] = {"pods", "workloads", NULL}; /* of whatever group */
    static const char *const groups[] = {"kueue.x-k8s.io", "berth.dev", NULL};
    return one_of(q->verb_name, verbs) && one_of(q->subresource, parts) &&
           (one_of(q->plural, plurals) || one_of(q->group, groups) || is_queued_group(q->group));
}

static bool may(const struct judged *j, const char *verb, const char *group, const char *resource,
                const char *subresource) {
    struct str reason;
    return rbac_allows(j->rbac,
                       &(struct rbac_attributes){.user = j->user,
                                                 .verb = str_of(verb),
                                                 .resource_request = true,
                                                 .group = str_of(group),
                                                 .resource = str_of(resource),
                                                 .subresource = str_of(subresource)},
                       j->arena, &reason);
}

static bool may_bind(const struct judged *j) {
    return may(j, "create", "", "pods", "binding");
}

static bool may_admit(const struct judged *j) {
    return may(j, "update", "kueue.x-k8s.io", "workloads", "status");
}

static struct str annotation(yyjson_mut_val *obj, struct str key) {
    return json_mstr(json_mget(json_mpath(obj, "metadata.annotations"), key));
}

/* ---- whose it is ---- */

/* The reference of the controller; NULL: none. */
static yyjson_mut_val *controller_of(yyjson_mut_val *obj) {
    size_t i, n;
    yyjson_mut_val *o;
    yyjson_mut_arr_foreach(json_mpath(obj, "metadata.ownerReferences"), i, n, o) {
        if (yyjson_mut_is_true(json_mget(o, STR("controller")))) {
            return o;
        }
    }
    return NULL;
}

static bool is_job(yyjson_mut_val *ref) {
    return str_is(json_mstr_at(ref, "kind"), "Job") &&
           str_starts(json_mstr_at(ref, "apiVersion"), STR("batch/"));
}

/* A controller whose Workload its Jobs may be part of: a CronJob has none, its Jobs are queued one by one. */
static yyjson_mut_val *queued_controller_of(yyjson_mut_val *obj) {
    yyjson_mut_val *ref = controller_of(obj);
    bool cron = str_is(json_mstr_at(ref, "kind"), "CronJob") &&
                str_starts(json_mstr_at(ref, "apiVersion"), STR("batch/"));
    return cron ? NULL : ref;
}

/* Pods are a Job's because it made them. One that claims to be would take a place of its Workload; one that is no
 * longer would keep its GPU when the Workload's quota is given to others. */
static const char *changed_owner(const struct judged *j) {
    yyjson_mut_val *now = controller_of(j->obj), *was = controller_of(j->old);
    bool same = str_eq(json_mstr_at(now, "uid"), json_mstr_at(was, "uid"));
    if (same || !(is_job(now) || is_job(was))) {
        return NULL;
    }
    return "metadata.ownerReferences: a Job's pods are those that it made";
}

/* ---- the gates of admission ---- */

static bool has_gate(yyjson_mut_val *pod, struct str gate) {
    return json_mfind(json_mpath(pod, "spec.schedulingGates"), "name", gate) != NULL;
}

static bool is_gated(yyjson_mut_val *pod) {
    return has_gate(pod, STR(GATE));
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
    if (has_gate(old, STR(ELASTIC_GATE)) && !has_gate(obj, STR(ELASTIC_GATE))) {
        return "spec.schedulingGates: the gate " ELASTIC_GATE " is opened by the queue";
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
    if (!str_eq(annotation(obj, STR(ROLE)), annotation(old, STR(ROLE)))) {
        return "metadata.annotations: " ROLE " is computed";
    }
    return NULL;
}

/* ---- the rules ---- */

static int refuse(struct err *err, const char *why) {
    return err_set(err, ERR_FORBIDDEN, "%s", why);
}

static int check_pod(const struct judged *j, struct err *err) {
    const struct str devices = STR(DEVICES_ANNOTATION);
    bool asks = pod_asks_device(json_mget(j->obj, STR("spec"))) &&
                !pod_asks_device(json_mget(j->old, STR("spec")));
    const char *why = changed_owner(j);
    if (!str_eq(json_mstr_at(j->obj, "spec.nodeName"), json_mstr_at(j->old, "spec.nodeName"))) {
        why = "spec.nodeName: pods are bound by the scheduler";
    } else if (!str_eq(annotation(j->obj, devices), annotation(j->old, devices))) {
        why = "annotation " DEVICES_ANNOTATION " is written by the scheduler";
    } else if (asks && !waits(j->obj)) {
        why = NO_QUEUE;
    } else if (j->old && why == NULL) {
        why = changed_ties(j->obj, j->old);
    }
    return why == NULL || may_bind(j) ? 0 : refuse(err, why);
}

/* A Job under a controller waits for that one's Workload, not for one of its own. A new one that was not suspended is
 * in a namespace where Jobs are not queued. */
static int check_job(const struct judged *j, struct err *err) {
    struct str queue = json_mstr(json_mget(json_mpath(j->obj, "metadata.labels"), QUEUE_LABEL));
    const char *why = NULL;
    if (!pod_asks_device(json_mpath(j->obj, "spec.template.spec"))) {
        return 0;
    }
    if (queue.n == 0) {
        why = NO_QUEUE;
    } else if (queued_controller_of(j->obj) && queued_controller_of(j->old) == NULL) {
        why = "metadata.ownerReferences: a Job with GPUs is its own controller's";
    } else if (j->old == NULL && !yyjson_mut_is_true(json_mpath(j->obj, "spec.suspend"))) {
        why = NOT_QUEUED;
    } else if (yyjson_mut_is_true(json_mpath(j->old, "spec.suspend")) &&
               !yyjson_mut_is_true(json_mpath(j->obj, "spec.suspend"))) {
        why = "spec.suspend: a Job with GPUs is started by its queue";
    }
    return why == NULL || may_bind(j) ? 0 : refuse(err, why);
}

static bool has_default_queue(const struct judged *j) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("LocalQueue"));
    return k && mirror_get(j->mirror, k, j->ns, STR("default"));
}

/* Its Jobs are judged when they are made; one whose Jobs would have no queue is refused already. */
static int check_cron_job(const struct judged *j, struct err *err) {
    yyjson_mut_val *template = json_mpath(j->obj, "spec.jobTemplate");
    struct str queue = json_mstr(json_mget(json_mpath(template, "metadata.labels"), QUEUE_LABEL));
    bool fine = queue.n > 0 || !pod_asks_device(json_mpath(template, "spec.template.spec")) ||
                has_default_queue(j) || may_bind(j);
    return fine ? 0 : refuse(err, "spec.jobTemplate.metadata.labels: " NO_QUEUE);
}

/* Pods of what keeps running wait themselves, in the queue that its template names, or for the Workload of what its
 * template names: admission wrote there what the object says. */
static int check_lasting(const struct judged *j, struct err *err) {
    yyjson_mut_val *template = json_mpath(j->obj, "spec.template");
    bool queued =
        json_mstr(json_mget(json_mpath(template, "metadata.labels"), QUEUE_LABEL)).n > 0 ||
        json_mstr(json_mget(json_mpath(template, "metadata.annotations"), STR(PARENT))).n > 0;
    bool asks = pod_asks_device(json_mget(template, STR("spec")));
    return !asks || queued || may_bind(j) ? 0 : refuse(err, NO_QUEUE);
}

/* Its Deployment gets its label: the pods wait in that queue. */
static int check_model(const struct judged *j, struct err *err) {
    yyjson_mut_val *spec = json_mget(j->obj, STR("spec"));
    bool asks = pod_asks_device(json_mpath(spec, "predictor.model")) || pod_asks_device_below(spec);
    bool fine = !asks || label(j->obj, "kueue.x-k8s.io/queue-name").n > 0 ||
                annotation(j->obj, PROFILE).n > 0 || has_default_queue(j) || may_bind(j);
    return fine ? 0 : refuse(err, "metadata.labels: " NO_QUEUE);
}

static bool same_at(const struct judged *j, const char *path) {
    yyjson_mut_val *now = json_mpath(j->obj, path), *was = json_mpath(j->old, path);
    return now && was ? json_mequal(now, was) : (now == NULL) == (was == NULL);
}

/* Its pods are found by its owners; what it replaces gives it quota; and while it holds that, how many pods it has is
 * counted. */
static int check_workload(const struct judged *j, struct err *err) {
    const struct str place = STR(POD_PLACEMENT_ANNOTATION);
    const char *why = NULL;
    if (!str_eq(annotation(j->obj, place), annotation(j->old, place))) {
        why = "annotation " POD_PLACEMENT_ANNOTATION " is written by the scheduler";
    } else if (!str_eq(annotation(j->obj, STR(SLICE)), annotation(j->old, STR(SLICE)))) {
        why = "annotation " SLICE " is written by the queue";
    } else if (json_mpath(j->old, "status.admission") && !same_at(j, "spec.podSets")) {
        why = "spec.podSets: the pods of an admitted Workload stay as they are";
    } else if (json_mpath(j->old, "status.admission") && !same_at(j, "metadata.ownerReferences")) {
        why = "metadata.ownerReferences: whose an admitted Workload is stays as it is";
    }
    return why == NULL || may_admit(j) ? 0 : refuse(err, why);
}

/* Places in what describes pods. The fields are compared as a whole: one that was there may stay. */
static int check_templates(const struct judged *j, struct err *err) {
    struct buf now, was;
    if (!pod_has_scheduler_fields(j->obj, j->arena) || may_bind(j)) {
        return 0;
    }
    buf_init(&now, 0);
    buf_init(&was, 0);
    int r = pod_scheduler_fields(j->obj, j->arena, &now, err);
    r = r ? r : pod_scheduler_fields(j->old, j->arena, &was, err);
    if (r == 0 && !str_eq(buf_view(&now), buf_view(&was))) {
        struct str field = buf_view(&now), rest;
        (void)str_cut(field, ':', &field, &rest);
        r = err_set(err, ERR_FORBIDDEN, "%.*s is written by the scheduler", STR_ARG(field));
    }
    buf_release(&now);
    buf_release(&was);
    return r;
}

static const struct row {
    const char *group, *plural;
    int (*check)(const struct judged *j, struct err *err);
} rows[] = {{"", "pods", check_pod},
            {"batch", "jobs", check_job},
            {"batch", "cronjobs", check_cron_job},
            {"", "replicationcontrollers", check_lasting},
            {"apps", "daemonsets", check_lasting},
            {"apps", "deployments", check_lasting},
            {"apps", "replicasets", check_lasting},
            {"apps", "statefulsets", check_lasting},
            {"kueue.x-k8s.io", "workloads", check_workload},
            {"serving.kserve.io", "inferenceservices", check_model},
            {"serving.kserve.io", "llminferenceservices", check_model}};

static const struct row *row_of(const struct kind *k) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(k->group, rows[i].group) == 0 && strcmp(k->plural, rows[i].plural) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

/* Most objects say nothing that only some may say: then the old one need not be read. */
static bool is_plain(struct rbac *b, const struct mirror *m, const struct api_request *q,
                     yyjson_mut_val *obj, struct arena *a) {
    return !pod_has_scheduler_fields(obj, a) && policy_priority(b, m, q, obj, NULL, a, NULL) == 0;
}

int policy_protect(struct rbac *b, const struct mirror *m, const struct api_request *q,
                   yyjson_mut_val *obj, const struct object *old, struct arena *a,
                   struct err *err) {
    struct judged j = {
        .rbac = b, .mirror = m, .user = &q->user, .ns = q->ns, .obj = obj, .arena = a};
    const struct row *row = row_of(q->kind);
    yyjson_mut_doc *was = NULL;
    if (!pod_kind_describes(q->kind) || str_is(q->subresource, "status") ||
        (row == NULL && is_plain(b, m, q, obj, a))) {
        return 0; /* a status is all that a write of one changes */
    }
    int r = old ? json_parse_mut(a, old->json, &was, err) : 0;
    j.old = was ? was->root : NULL;
    r = r || row == NULL ? r : row->check(&j, err);
    if (r == 0 && strcmp(q->kind->plural, "pods") != 0) {
        r = check_templates(&j, err);
    }
    return r ? r : policy_priority(b, m, q, obj, j.old, a, err);
}

/* ---- what a controller makes of a template ---- */

/* Whose template it is: there, in the same namespace. NULL: not. */
static const struct object *maker_of(const struct mirror *m, const struct api_request *q,
                                     yyjson_mut_val *obj) {
    yyjson_mut_val *ref = controller_of(obj);
    const struct object *o = mirror_by_uid(m, json_mstr_at(ref, "uid"));
    bool same = o && str_eq(o->ns, q->ns) && str_eq(o->name, json_mstr_at(ref, "name")) &&
                str_is(json_mstr_at(ref, "kind"), o->kind->kind);
    return same ? o : NULL;
}

/* GPUs that the template asks for were judged when it was written, those of a queued one are counted by its Workload.
 * What is left is what a LimitRange gives. What keeps pods running is never suspended: a pod of it waits itself. */
static int check_made_device(const struct object *maker, yyjson_mut_val *pod, struct arena *a,
                             struct err *err) {
    yyjson_mut_doc *d;
    bool lasting = strcmp(maker->kind->group, "apps") == 0 ||
                   strcmp(maker->kind->plural, "replicationcontrollers") == 0;
    if (lasting && !is_gated(pod) &&
        (object_label(maker, QUEUE_LABEL).n > 0 ||
         json_mget(json_mpath(pod, "metadata.labels"), QUEUE_LABEL))) {
        return refuse(err, "GPUs are given through a queue: pods of this namespace are not queued");
    }
    if (object_label(maker, QUEUE_LABEL).n > 0) {
        return 0;
    }
    int r = json_parse_mut(a, maker->json, &d, err);
    return r || pod_asks_device_below(d->root)
               ? r
               : refuse(err,
                        "GPUs are given through a queue: a LimitRange gives one to a pod whose "
                        "template asks for none, and label kueue.x-k8s.io/queue-name is "
                        "missing there");
}

/* A Job that a CronJob makes waits for its queue, whoever wrote the template. */
static int check_made_job(const struct mirror *m, const struct api_request *q, yyjson_mut_val *obj,
                          struct err *err) {
    struct str queue = json_mstr(json_mget(json_mpath(obj, "metadata.labels"), QUEUE_LABEL));
    if (!pod_asks_device(json_mpath(obj, "spec.template.spec"))) {
        return 0;
    }
    if (maker_of(m, q, obj) == NULL) {
        return refuse(err, "metadata.ownerReferences: what it is made for is not there");
    }
    if (queue.n == 0) {
        return refuse(err, NO_QUEUE);
    }
    return yyjson_mut_is_true(json_mpath(obj, "spec.suspend")) ? 0 : refuse(err, NOT_QUEUED);
}

/* A Deployment that serves a model: part of its template is of a runtime, which somebody else may have written. Its
 * pods are judged as those of any Deployment, which takes a queue on the template for granted. */
static int check_made_deployment(const struct mirror *m, const struct api_request *q,
                                 yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *template = json_mpath(obj, "spec.template"), *of = controller_of(obj);
    if (!str_starts(json_mstr_at(of, "apiVersion"), STR("serving.kserve.io/")) ||
        !pod_asks_device(json_mget(template, STR("spec")))) {
        return 0;
    }
    if (maker_of(m, q, obj) == NULL) {
        return refuse(err, "metadata.ownerReferences: what it is made for is not there");
    }
    return json_mstr(json_mget(json_mpath(template, "metadata.labels"), QUEUE_LABEL)).n > 0
               ? 0
               : refuse(err, NO_QUEUE);
}

int policy_protect_template(const struct mirror *m, const struct api_request *q,
                            yyjson_mut_val *obj, struct arena *a, struct err *err) {
    bool node = json_mstr_at(obj, "spec.nodeName").n > 0;
    if (strcmp(q->kind->plural, "jobs") == 0 && strcmp(q->kind->group, "batch") == 0) {
        return check_made_job(m, q, obj, err);
    }
    if (strcmp(q->kind->plural, "deployments") == 0 && strcmp(q->kind->group, "apps") == 0) {
        return check_made_deployment(m, q, obj, err);
    }
    if (strcmp(q->kind->plural, "pods") != 0 || q->kind->group[0]) {
        return 0;
    }
    if (annotation(obj, STR(DEVICES_ANNOTATION)).p) {
        return refuse(err, "annotation " DEVICES_ANNOTATION " is written by the scheduler");
    }
    bool asks = pod_asks_device(json_mget(obj, STR("spec")));
    if (!node && !asks) {
        return 0;
    }
    const struct object *maker = maker_of(m, q, obj);
    if (maker == NULL) {
        return refuse(err, "metadata.ownerReferences: what it is made for is not there");
    }
    if (node && (asks || object_label(maker, QUEUE_LABEL).n > 0)) {
        return refuse(err, "spec.nodeName: pods are bound by the scheduler");
    }
    return asks ? check_made_device(maker, obj, a, err) : 0;
}
