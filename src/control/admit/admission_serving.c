/*
 * admission_serving: what Kueue's webhooks of Deployment, StatefulSet and LeaderWorkerSet do. They hold nothing back
 * themselves: their pod templates say that the pods wait, on behalf of whom, and in which queue. The queue may change
 * only while no pod is ready; what a Workload was made of may not change.
 */
#include "api/conditions.h"
#include "control/admit/admission_pod.h"
#include "control/load/integration.h"
#include "control/load/job_workload.h"
#include "control/load/pod_gate.h"
#include "control/load/pod_role.h"

#define DEPLOYMENT "deployment"
#define STATEFULSET "statefulset"
#define LWS "leaderworkerset.x-k8s.io/leaderworkerset"
#define IMMUTABLE "field is immutable"

static bool on(const struct admission_context *c, const char *name) {
    const struct integration *i = integration_by_name(str_of(name));
    return i && integration_enabled(i, c->settings);
}

static bool applies(const struct admission_context *c, const struct admission_ask *q,
                    const char *name) {
    return q->op != ADMISSION_DELETE && str_empty(q->subresource) && on(c, name);
}

/* One that runs without a queue goes on without: which queue it has may change only while no pod is ready, so that a
 * default queue that came later would refuse every change of it. */
static bool runs_without(const struct admission_ask *q) {
    return q->op == ADMISSION_UPDATE && json_i64_at(q->old, "status.readyReplicas", 0) > 0 &&
           str_empty(admission_label(q, ADMISSION_QUEUE_LABEL)) &&
           str_empty(admission_old_label(q, ADMISSION_QUEUE_LABEL));
}

/* ---- templates ---- */

static int set(struct admission_ask *q, yyjson_mut_val *template, const char *map, const char *key,
               struct str v, struct err *err) {
    yyjson_mut_val *m = json_mensure(q->doc, template, map);
    return m && json_mset_str(q->doc, m, key, v) == 0 ? 0
                                                      : err_set(err, ERR_NOMEM, "out of memory");
}

/* The object's own label goes to the pods, where it has one. */
static int pass_label(struct admission_ask *q, yyjson_mut_val *template, const char *key,
                      struct err *err) {
    struct str v = admission_label(q, key);
    return str_empty(v) ? 0 : set(q, template, "metadata.labels", key, v, err);
}

static int mark(struct admission_ask *q, const char *path, const char *parent, bool labels,
                struct err *err) {
    yyjson_mut_val *t = json_mpath(q->obj, path);
    if (!yyjson_mut_is_obj(t)) {
        return 0;
    }
    int r = set(q, t, "metadata.annotations", POD_PARENT, str_of(parent), err);
    if (r == 0 && labels) {
        r = pass_label(q, t, ADMISSION_QUEUE_LABEL, err);
        r = r ? r : pass_label(q, t, ADMISSION_CLASS_LABEL, err);
    }
    return r;
}

/* The parent that the template names already. */
static struct str parent_of(const struct admission_ask *q, const char *path) {
    return json_mstr(
        json_mget(json_mpath(json_mpath(q->obj, path), "metadata.annotations"), STR(POD_PARENT)));
}

int admission_deployment_mutate(const struct admission_context *c, struct admission_ask *q,
                                struct err *err) {
    bool queued = false;
    bool asks = applies(c, q, DEPLOYMENT) && !runs_without(q);
    int r = asks ? admission_queued(c, q, &queued, err) : 0;
    if (r != 0 || !queued) {
        return r;
    }
    r = mark(q, "spec.template", DEPLOYMENT, true, err);
    return r ? r
             : set(q, json_mpath(q->obj, "spec.template"), "metadata.labels", POD_MANAGED,
                   STR("true"), err);
}

static bool others(const struct admission_ask *q) {
    struct str parent = parent_of(q, "spec.template");
    return !str_empty(parent) && !str_is(parent, STATEFULSET);
}

int admission_statefulset_mutate(const struct admission_context *c, struct admission_ask *q,
                                 struct err *err) {
    bool queued = false;
    if (!applies(c, q, STATEFULSET) || others(q) || runs_without(q)) {
        return 0;
    }
    int r = admission_queued(c, q, &queued, err);
    return r == 0 && queued ? mark(q, "spec.template", STATEFULSET, false, err) : r;
}

int admission_lws_mutate(const struct admission_context *c, struct admission_ask *q,
                         struct err *err) {
    static const char *const templates[] = {"spec.leaderWorkerTemplate.leaderTemplate",
                                            "spec.leaderWorkerTemplate.workerTemplate"};
    bool queued = false;
    int r = applies(c, q, LWS) ? admission_queued(c, q, &queued, err) : 0;
    for (size_t i = 0; r == 0 && queued && i < 2; i++) {
        yyjson_mut_val *t = json_mpath(q->obj, templates[i]);
        r = mark(q, templates[i], LWS, true, err);
        if (r == 0 && yyjson_mut_is_obj(t)) {
            r = set(q, t, "metadata.annotations", POD_GROUP_SERVING, STR("true"), err);
        }
    }
    return r;
}

/* ---- rules ---- */

static void check_labels(const struct admission_context *c, struct admission_ask *q) {
    bool held = json_i64_at(q->old, "status.readyReplicas", 0) == 0;
    bool none = str_empty(admission_label(q, ADMISSION_QUEUE_LABEL));
    admission_check_queue(q, c, held && !none);
    admission_check_class(q, held);
}

/* Is the new state one that is queued? Mutation gave it what it needs. */
static bool queued_now(const struct admission_context *c, const struct admission_ask *q) {
    return admission_managed_namespace(c, q) &&
           (c->settings->manage_jobs_without_queue_name ||
            !str_empty(admission_label(q, ADMISSION_QUEUE_LABEL)));
}

int admission_deployment_validate(const struct admission_context *c, struct admission_ask *q,
                                  struct err *err) {
    if (!applies(c, q, DEPLOYMENT)) {
        return 0;
    }
    check_labels(c, q);
    return admission_check_templates(q, queued_now(c, q), err);
}

struct difference {
    struct admission_ask *q;
    const char *base;
};

static void differs(void *ctx, struct str field) {
    struct difference *d = ctx;
    causes_add(&d->q->causes, CAUSE_INVALID,
               arena_f(d->q->arena, "%s.spec.%.*s", d->base, STR_ARG(field)),
               "Invalid value: " IMMUTABLE);
}

/* What a Workload was made of stays. */
static int check_shape(struct admission_ask *q, const char *template, struct err *err) {
    struct difference d = {q, template};
    yyjson_mut_val *now = json_mpath(q->obj, template);
    yyjson_val *was = json_path(q->old, template);
    yyjson_doc *copy;
    struct buf b;
    if (now == NULL || was == NULL) {
        if (now || was) {
            causes_add(&q->causes, CAUSE_INVALID, str_of(template), "Invalid value: " IMMUTABLE);
        }
        return 0;
    }
    buf_init(&b, 0);
    json_write_mut(&b, now);
    int r = buf_ok(&b) == 0 ? json_parse(q->arena, buf_view(&b), &copy, err) : ERR_NOMEM;
    buf_release(&b);
    if (r == 0) {
        pod_role_compare(json_path(yyjson_doc_get_root(copy), "spec"), json_path(was, "spec"),
                         q->arena, differs, &d);
    }
    return r;
}

static int64_t number_at(yyjson_mut_val *v, const char *path, int64_t otherwise) {
    yyjson_mut_val *n = json_mpath(v, path);
    return yyjson_mut_is_int(n) ? yyjson_mut_get_sint(n) : otherwise;
}

static void immutable_number(struct admission_ask *q, const char *path, int64_t otherwise) {
    int64_t now = number_at(q->obj, path, otherwise);
    if (now != json_i64_at(q->old, path, otherwise)) {
        causes_add(&q->causes, CAUSE_INVALID, str_of(path), "Invalid value: %lld: " IMMUTABLE,
                   (long long)now);
    }
}

/* Is the Workload of a StatefulSet that was scaled to zero still about to give up its quota? */
static bool still_holds(const struct admission_context *c, const struct admission_ask *q) {
    const struct kind *k = kind_by_name(STR("kueue.x-k8s.io"), STR("Workload"));
    struct str name = workload_name("StatefulSet", "apps", json_str_at(q->old, "metadata.name"),
                                    json_str_at(q->old, "metadata.uid"), q->arena);
    const struct object *wl = k ? mirror_pending(c->mirror, k, q->ns, name) : NULL;
    return wl && !str_contains(wl->json, STR("\"reason\":\"OnHold\""));
}

static void check_replicas(const struct admission_context *c, struct admission_ask *q) {
    int64_t now = number_at(q->obj, "spec.replicas", 1);
    int64_t was = json_i64_at(q->old, "spec.replicas", 1);
    if (now != 0 && was != 0) {
        immutable_number(q, "spec.replicas", 1);
    } else if (was == 0 && now > 0 && number_at(q->obj, "status.replicas", 0) > 0) {
        causes_add(&q->causes, CAUSE_FORBIDDEN, STR("spec.replicas"),
                   "Forbidden: scaling down is still in progress");
    } else if (was == 0 && now > 0 && still_holds(c, q)) {
        causes_add(&q->causes, CAUSE_FORBIDDEN, STR("spec.replicas"),
                   "Forbidden: workload from previous scale-down is still being deleted");
    }
}

int admission_statefulset_validate(const struct admission_context *c, struct admission_ask *q,
                                   struct err *err) {
    if (!applies(c, q, STATEFULSET) || others(q)) {
        return 0;
    }
    check_labels(c, q);
    int r = admission_check_templates(q, queued_now(c, q), err);
    if (r != 0 || q->op != ADMISSION_UPDATE || !queued_now(c, q)) {
        return r;
    }
    check_replicas(c, q);
    return check_shape(q, "spec.template", err);
}

int admission_lws_validate(const struct admission_context *c, struct admission_ask *q,
                           struct err *err) {
    if (!applies(c, q, LWS)) {
        return 0;
    }
    check_labels(c, q);
    if (number_at(q->obj, "spec.replicas", 1) < 0) {
        causes_add(&q->causes, CAUSE_INVALID, STR("spec.replicas"),
                   "Invalid value: must be greater than or equal to 0");
    }
    int r = admission_check_templates(q, queued_now(c, q), err);
    if (r != 0 || q->op != ADMISSION_UPDATE || !queued_now(c, q)) {
        return r;
    }
    immutable_number(q, "spec.leaderWorkerTemplate.size", 1);
    r = check_shape(q, "spec.leaderWorkerTemplate.leaderTemplate", err);
    return r ? r : check_shape(q, "spec.leaderWorkerTemplate.workerTemplate", err);
}
