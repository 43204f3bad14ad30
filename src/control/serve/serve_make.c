/*
 * serve_make: the Deployments and Services of a served model, as they should be.
 *
 * A Deployment's template is written whole, and only when the digest of what it is made of (APPLY_INTENT) is another
 * one: what the API server, webhooks and people add to it stays until then. Replicas are written when they are out of
 * the service's bounds.
 */
#include "api/meta.h"
#include "base/limits.h"
#include "control/kit/apply.h"
#include "control/kit/edit.h"
#include "control/kit/template_pod.h"
#include "control/serve/serve_private.h"

enum { PERCENT = 100 };

bool serve_is_canary(const struct serve_look *l) {
    return l->canary_percent >= 0 && l->canary_percent < PERCENT && l->stable.obj != NULL &&
           l->fault == NULL && !str_eq(l->stable.intent, l->intent);
}

/* ---- replicas ---- */

static int32_t between(int32_t n, int32_t min, int32_t max) {
    return n < min ? min : n > max ? max : n;
}

static int32_t replicas_now(const struct serve_revision *v) {
    return v->obj != NULL && v->view.spec != NULL && v->view.spec->replicas.set
               ? v->view.spec->replicas.v
               : 0;
}

static int32_t replicas_of(const struct serve_look *l, const struct serve_revision *v) {
    return between(v->obj ? replicas_now(v) : l->min, l->min, l->max);
}

/* Its share of those before, rounded up; none without requests. */
static int32_t canary_replicas(const struct serve_look *l) {
    int64_t share = (int64_t)replicas_of(l, &l->stable) * l->canary_percent;
    return (int32_t)((share + PERCENT - 1) / PERCENT);
}

/* ---- trees ---- */

static yyjson_mut_doc *object_new_tree(struct serve_look *l, const struct kind *k,
                                       struct str name) {
    yyjson_mut_doc *d = json_mut_new(l->a);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    if (root == NULL) {
        return NULL;
    }
    yyjson_mut_doc_set_root(d, root);
    json_mset_str(d, root, "apiVersion", str_of(kind_api_version(k)));
    json_mset_str(d, root, "kind", str_of(k->kind));
    yyjson_mut_val *meta = json_mensure(d, root, "metadata"), *owners = yyjson_mut_arr(d);
    json_mset_str(d, meta, "name", name);
    json_mset_str(d, meta, "namespace", l->obj->ns);
    if (template_pod_own(d, owners, l->obj) != 0) {
        return NULL;
    }
    json_mset(d, meta, STR("ownerReferences"), owners);
    return d;
}

yyjson_mut_doc *serve_tree(struct serve_look *l, const struct kind *k, const struct object *o,
                           struct str name, yyjson_val **ret_was) {
    yyjson_doc *was;
    if (o == NULL) {
        return object_new_tree(l, k, name);
    }
    if (object_tree(o, l->a, &was, NULL) != 0) {
        return NULL;
    }
    *ret_was = yyjson_doc_get_root(was);
    return json_mut_copy(l->a, *ret_was);
}

void serve_write(struct serve_look *l, const struct kind *k, const struct object *o,
                 yyjson_val *was, yyjson_mut_doc *want) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int r = want != NULL ? arena_ok(l->a) : ERR_NOMEM;
    if (r == 0 && o != NULL) {
        r = edit_write_tree(o, EDIT_VERSION | EDIT_UID, was, want->root, &b);
    } else if (r == 0) {
        json_write_mut(&b, want->root);
        r = buf_ok(&b);
    }
    if (r == 0 && o != NULL) {
        round_patch(l->round, k, o->ns, o->name, "", PATCH_MERGE, buf_view(&b));
    } else if (r == 0) {
        round_create(l->round, k, l->obj->ns, buf_view(&b));
    } else if (r != ERR_NOT_FOUND) {
        round_fail(l->round, r);
    }
    buf_release(&b);
}

/* ---- Deployments ---- */

static void set_labels(struct serve_look *l, yyjson_mut_doc *d, struct str app) {
    yyjson_mut_val *meta = json_mget(d->root, STR("metadata"));
    yyjson_mut_val *own = json_mpath(l->template, "metadata.labels"), *labels = yyjson_mut_obj(d);
    const struct str_map *m = &l->view.metadata->labels;
    for (size_t i = 0; i < m->n; i++) { /* each once, and as many as its author likes */
        yyjson_mut_obj_add(labels, yyjson_mut_strncpy(d, m->v[i].key.p, m->v[i].key.n),
                           yyjson_mut_strncpy(d, m->v[i].value.p, m->v[i].value.n));
    }
    if (!l->llm) {
        json_mset_str(d, labels, SERVE_LABEL_APP, app);
        json_mset_str(d, labels, SERVE_LABEL_SERVICE, l->obj->name);
        json_mset_str(d, labels, SERVE_LABEL_COMPONENT, STR("predictor"));
        json_mset_str(l->doc, own, SERVE_LABEL_APP, app);
    } else {
        json_mset_str(d, labels, SERVE_LLM_NAME, l->obj->name);
        json_mset_str(d, labels, SERVE_LLM_PART, STR(SERVE_LLM));
    }
    if (l->queue.n > 0) {
        json_mset_str(d, labels, SERVE_QUEUE_LABEL, l->queue);
    }
    if (l->class.n > 0) {
        json_mset_str(d, labels, SERVE_CLASS_LABEL, l->class);
    }
    json_mset(d, meta, STR("labels"), labels);
}

/* Replicas that serve stay until others do, unless the author wants it otherwise. */
static void set_strategy(struct serve_look *l, yyjson_mut_doc *d, yyjson_mut_val *spec) {
    yyjson_val *own = json_path(l->spec, "predictor.deploymentStrategy");
    yyjson_mut_val *s = own ? yyjson_val_mut_copy(d, own) : yyjson_mut_obj(d);
    if (own == NULL) {
        json_mset_str(d, s, "type", STR("RollingUpdate"));
        json_mset_i64(d, json_mensure(d, s, "rollingUpdate"), "maxUnavailable", 0);
        json_mset_i64(d, json_mensure(d, s, "rollingUpdate"), "maxSurge", 1);
    }
    json_mset(d, spec, STR("strategy"), s);
}

static void set_selector(struct serve_look *l, yyjson_mut_doc *d, yyjson_mut_val *of,
                         struct str app) {
    if (l->llm) {
        json_mset_str(d, of, SERVE_LLM_NAME, l->obj->name);
        json_mset_str(d, of, SERVE_LLM_PART, STR(SERVE_LLM));
    } else {
        json_mset_str(d, of, SERVE_LABEL_APP, app);
    }
}

/* The template as well, unless the revision is to stay as it is. */
static void put_deployment(struct serve_look *l, const struct serve_revision *v, int32_t replicas,
                           bool latest) {
    const struct kind *k = l->c->base.kinds[SERVE_DEPLOYMENTS];
    yyjson_val *was = NULL;
    yyjson_mut_doc *d = serve_tree(l, k, v->obj, v->name, &was);
    if (d == NULL) {
        round_fail(l->round, ERR_NOMEM);
        return;
    }
    yyjson_mut_val *spec = json_mensure(d, d->root, "spec");
    if (v->obj == NULL || replicas_now(v) != replicas) {
        json_mset_i64(d, spec, "replicas", replicas);
    }
    if (latest && !str_eq(v->intent, l->intent)) {
        set_labels(l, d, v->app);
        json_mset_str(d, json_mensure(d, d->root, "metadata.annotations"), APPLY_INTENT, l->intent);
        set_strategy(l, d, spec);
        json_mset(d, spec, STR("template"), yyjson_mut_val_mut_copy(d, l->template));
    }
    if (v->obj == NULL) {
        set_selector(l, d, json_mensure(d, spec, "selector.matchLabels"), v->app);
    }
    serve_write(l, k, v->obj, was, d);
}

/* ---- Services ---- */

static bool is_same_service(struct serve_look *l, yyjson_mut_val *root, struct str app) {
    yyjson_mut_val *port = yyjson_mut_arr_get_first(json_mpath(root, "spec.ports"));
    struct str key = l->llm ? STR(SERVE_LLM_NAME) : STR(SERVE_LABEL_APP);
    return yyjson_mut_get_sint(json_mget(port, STR("port"))) == l->port &&
           yyjson_mut_get_sint(json_mget(port, STR("targetPort"))) == l->target_port &&
           str_eq(json_mstr(json_mget(json_mpath(root, "spec.selector"), key)),
                  l->llm ? l->obj->name : app);
}

static void put_service(struct serve_look *l, struct str name, const struct serve_revision *v) {
    const struct kind *k = l->c->base.kinds[SERVE_ADDRESSES];
    const struct object *o = serve_get(l, SERVE_ADDRESSES, l->obj->ns, name);
    yyjson_val *was = NULL;
    yyjson_mut_doc *d = serve_tree(l, k, o, name, &was);
    if (d == NULL || is_same_service(l, d->root, v->app)) {
        return;
    }
    yyjson_mut_val *spec = json_mensure(d, d->root, "spec"), *ports = yyjson_mut_arr(d);
    yyjson_mut_val *port = yyjson_mut_arr_add_obj(d, ports);
    yyjson_mut_val *labels = json_mensure(d, d->root, "metadata.labels");
    json_mset_str(d, port, "name", STR("http"));
    json_mset_str(d, port, "protocol", STR("TCP"));
    json_mset_i64(d, port, "port", l->port);
    json_mset_i64(d, port, "targetPort", l->target_port);
    json_mset(d, spec, STR("ports"), ports);
    set_selector(l, d, json_mensure(d, spec, "selector"), v->app);
    set_selector(l, d, labels, v->app);
    if (!l->llm) {
        json_mset_str(d, labels, SERVE_LABEL_SERVICE, l->obj->name);
        json_mset_str(d, labels, SERVE_LABEL_COMPONENT, STR("predictor"));
    }
    serve_write(l, k, o, was, d);
}

/* ---- all of it ---- */

void serve_remove_one(struct serve_look *l, enum serve_kind k, struct str name) {
    const struct object *o = serve_get(l, k, l->obj->ns, name);
    struct delete_options opts = {.grace_seconds = -1, .propagation = STR("Background")};
    if (o != NULL && o->deleting_ns == 0 && serve_owns(l, o)) {
        opts.uid = o->uid;
        round_remove(l->round, o->kind, o->ns, o->name, &opts);
    }
}

static void remove_canary(struct serve_look *l) {
    if (!l->llm) {
        serve_remove_one(l, SERVE_DEPLOYMENTS, l->canary.name);
        serve_remove_one(l, SERVE_ADDRESSES, l->canary_address);
    }
}

void serve_remove(struct serve_look *l) {
    remove_canary(l);
    serve_remove_one(l, SERVE_DEPLOYMENTS, l->stable.name);
    serve_remove_one(l, SERVE_ADDRESSES, l->address_name);
    serve_remove_one(l, SERVE_SCALERS, l->stable.name);
}

/* All its replicas are of the latest revision and serve; or they wait for quota, which the canary holds. */
static bool is_rolled_out(const struct serve_look *l) {
    const struct serve_revision *v = &l->stable;
    const struct deployment_status *s = v->view.status;
    bool current = v->obj != NULL && str_eq(v->intent, l->intent) && s != NULL &&
                   s->observed_generation >= v->obj->generation;
    return current && (v->queued.n > 0 || (s->updated_replicas >= replicas_now(v) &&
                                           s->available_replicas >= replicas_now(v)));
}

void serve_make(struct serve_look *l) {
    bool canary = serve_is_canary(l);
    put_service(l, l->address_name, &l->stable);
    put_deployment(l, &l->stable, replicas_of(l, &l->stable), !canary);
    serve_put_scaler(l);
    if (canary) {
        put_service(l, l->canary_address, &l->canary);
        put_deployment(l, &l->canary, canary_replicas(l), true);
    } else if (l->canary.obj != NULL && is_rolled_out(l)) {
        remove_canary(l);
    }
}
