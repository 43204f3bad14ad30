/* serve_see: what there is of a service: its Deployments, the newest pod of each, and why that waits. */
#include "api/meta.h"
#include "api/schema/codec.h"
#include "control/kit/apply.h"
#include "control/serve/serve_private.h"

#define GATE "kueue.x-k8s.io/admission"

/* ---- the newest of what somebody owns ---- */

struct newest_owned {
    const struct kind *kind;
    const struct object *best;
};

static bool keep_newest(void *ctx, const struct object *o) {
    struct newest_owned *n = ctx;
    bool newer = n->best == NULL || o->created_ns > n->best->created_ns ||
                 (o->created_ns == n->best->created_ns && o->rv > n->best->rv);
    if (o->kind == n->kind && o->deleting_ns == 0 && newer) {
        n->best = o;
    }
    return true;
}

static const struct object *newest(const struct serve_look *l, const struct object *owner,
                                   enum serve_kind k) {
    struct newest_owned n = {.kind = l->c->base.kinds[k]};
    mirror_owned(l->c->base.env.mirror, owner, keep_newest, &n);
    return n.best;
}

/* The newest pod of all ReplicaSets, since a rollback uses an old set again; and one that waits for quota. */
struct newest_pod {
    const struct serve_look *l;
    const struct object *best, *gated;
};

static bool note_gated(void *ctx, const struct object *o) {
    struct newest_pod *p = ctx;
    if (o->kind == p->l->c->base.kinds[SERVE_PODS] && o->deleting_ns == 0 &&
        str_contains(o->json, STR("\"name\":\"" GATE "\""))) {
        p->gated = o;
    }
    return p->gated == NULL;
}

static bool each_set(void *ctx, const struct object *o) {
    struct newest_pod *p = ctx;
    if (o->kind == p->l->c->base.kinds[SERVE_SETS]) {
        const struct object *pod = newest(p->l, o, SERVE_PODS);
        mirror_owned(p->l->c->base.env.mirror, o, note_gated, p);
        if (pod != NULL && (p->best == NULL || pod->created_ns > p->best->created_ns ||
                            (pod->created_ns == p->best->created_ns && pod->rv > p->best->rv))) {
            p->best = pod;
        }
    }
    return true;
}

/* ---- a pod ---- */

/* Why its Workload has no quota yet. */
static struct str why_queued(struct serve_look *l, struct serve_revision *v,
                             const struct object *pod) {
    const struct object *w = newest(l, pod, SERVE_WORKLOADS);
    yyjson_doc *d;
    if (w == NULL || object_tree(w, l->a, &d, NULL) != 0) {
        return STR("the pod waits for its Workload");
    }
    yyjson_val *root = yyjson_doc_get_root(d), *x;
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(root, "status.conditions"));
    struct str why = {0};
    while ((x = yyjson_arr_iter_next(&it)) != NULL) {
        if (str_is(json_str_at(x, "type"), "QuotaReserved") &&
            !str_is(json_str_at(x, "status"), "True")) {
            why = json_str_at(x, "message");
        }
    }
    v->workload = w;
    v->queue = arena_f(l->a, "LocalQueue %.*s", STR_ARG(json_str_at(root, "spec.queueName")));
    return arena_f(l->a, "%.*s: %.*s", STR_ARG(v->queue),
                   STR_ARG(why.n ? why : STR("waits for quota")));
}

/* What ended among containers, by its last end; NULL: none did. */
static yyjson_val *ended_of(yyjson_val *statuses) {
    yyjson_arr_iter it = yyjson_arr_iter_with(statuses);
    yyjson_val *s, *end = NULL;
    while (end == NULL && (s = yyjson_arr_iter_next(&it)) != NULL) {
        bool again = json_path(s, "state.running") != NULL;
        end = json_path(s, "state.terminated");
        end = end || again ? end : json_path(s, "lastState.terminated");
        if (end != NULL && json_i64_at(end, "exitCode", 0) == 0 && again) {
            end = NULL;
        }
    }
    return end;
}

/* The first container that waits for more than the pod's turn, such as for its image: its state.waiting; or NULL. */
static yyjson_val *stuck_of(yyjson_val *statuses) {
    yyjson_arr_iter it = yyjson_arr_iter_with(statuses);
    yyjson_val *s;
    while ((s = yyjson_arr_iter_next(&it)) != NULL) {
        yyjson_val *w = json_path(s, "state.waiting");
        struct str reason = json_str_at(w, "reason");
        if (json_str_at(w, "message").n > 0 && reason.n > 0 && !str_is(reason, "PodInitializing") &&
            !str_is(reason, "ContainerCreating")) {
            return w;
        }
    }
    return NULL;
}

static bool any_running(yyjson_val *statuses) {
    yyjson_arr_iter it = yyjson_arr_iter_with(statuses);
    yyjson_val *s;
    while ((s = yyjson_arr_iter_next(&it)) != NULL) {
        if (json_path(s, "state.running") != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_ready(yyjson_val *pod) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(pod, "status.conditions"));
    yyjson_val *c;
    while ((c = yyjson_arr_iter_next(&it)) != NULL) {
        if (str_is(json_str_at(c, "type"), "Ready")) {
            return str_is(json_str_at(c, "status"), "True");
        }
    }
    return false;
}

static void note_end(struct serve_look *l, struct serve_revision *v, yyjson_val *end,
                     enum serve_pod state) {
    struct str reason = json_str_at(end, "reason"), text = json_str_at(end, "message");
    v->state = state;
    v->exit_code = (int32_t)json_i64_at(end, "exitCode", 0);
    v->failed = 1;
    v->pod_text = arena_f(l->a, "exit code %d%s%.*s%s%.*s", v->exit_code, reason.n ? ", " : "",
                          STR_ARG(reason), text.n ? ": " : "", STR_ARG(text));
}

static int read_pod(struct serve_look *l, struct serve_revision *v) {
    yyjson_doc *d;
    int r = object_tree(v->pod, l->a, &d, NULL);
    if (r != 0) {
        return r;
    }
    yyjson_val *pod = yyjson_doc_get_root(d);
    yyjson_val *status = json_get(pod, STR("status"));
    yyjson_val *before = json_get(status, STR("initContainerStatuses"));
    yyjson_val *own = json_get(status, STR("containerStatuses"));
    yyjson_val *lost = ended_of(before), *end = ended_of(own);
    v->state = SERVE_POD_WAITING;
    if (is_ready(pod)) {
        v->state = SERVE_POD_READY;
    } else if (end != NULL) {
        note_end(l, v, end, SERVE_POD_ENDED);
    } else if (lost != NULL && json_i64_at(lost, "exitCode", 0) != 0) {
        note_end(l, v, lost, SERVE_POD_FETCH_FAILED);
    } else if (any_running(own)) {
        v->state = SERVE_POD_LOADING;
    } else if (any_running(before)) {
        v->state = SERVE_POD_FETCHING;
    }
    yyjson_val *stuck = stuck_of(before);
    stuck = stuck ? stuck : stuck_of(own);
    v->waiting = json_str_at(stuck, "reason");
    v->waiting_text = json_str_at(stuck, "message");
    return 0;
}

/* ---- a Deployment ---- */

static int see(struct serve_look *l, struct serve_revision *v) {
    yyjson_doc *d;
    v->obj = serve_get(l, SERVE_DEPLOYMENTS, l->obj->ns, v->name);
    if (v->obj == NULL) {
        return 0;
    }
    int r = object_tree(v->obj, l->a, &d, NULL);
    r = r ? r : codec_decode(&schema_deployment, yyjson_doc_get_root(d), l->a, &v->view, NULL);
    if (r != 0) {
        return r;
    }
    struct newest_pod p = {.l = l};
    mirror_owned(l->c->base.env.mirror, v->obj, each_set, &p);
    v->intent = meta_annotation(v->view.metadata, APPLY_INTENT);
    v->pod = p.gated ? p.gated : p.best;
    v->queued = p.gated ? why_queued(l, v, p.gated) : (struct str){0};
    return v->pod != NULL ? read_pod(l, v) : 0;
}

int serve_see(struct serve_look *l) {
    int r = see(l, &l->stable);
    r = r || l->llm ? r : see(l, &l->canary);
    return r ? r : arena_ok(l->a);
}
