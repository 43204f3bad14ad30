/*
 * queue_status: what ClusterQueues, LocalQueues and ResourceFlavors say of themselves, from the tallies; written when
 * queue_count says so. What exists costs nothing here, only what the object itself lists.
 */
#include "base/limits.h"
#include "control/queue/queue_private.h"

struct out {
    struct buf body;
    const struct object *o;
};

static void begin(struct out *b, const struct object *o) {
    b->o = o;
    buf_init(&b->body, LIMIT_OBJECT_BYTES);
    buf_f(&b->body, "{\"metadata\":{\"resourceVersion\":\"%llu\"}", (unsigned long long)o->rv);
}

static enum work send(struct queue_controller *c, struct out *b, struct str ns, const char *sub) {
    buf_ch(&b->body, '}');
    struct round *r = buf_ok(&b->body) == 0
                          ? round_new(c->states, c->env->writer, QUEUE_WHO, ns, b->o->name)
                          : NULL;
    enum work w = WORK_RETRY;
    if (r != NULL) {
        round_patch(r, b->o->kind, b->o->ns, b->o->name, sub, PATCH_MERGE, buf_view(&b->body));
        w = round_end(r);
    }
    buf_release(&b->body);
    return w;
}

/* Adds or drops our finalizer; WORK_OK when it is already so. */
static enum work finalizer_set(struct queue_controller *c, const struct object *o, struct str key,
                               bool want) {
    struct out b;
    yyjson_doc *doc;
    bool there = false;
    size_t n = 0, i, max;
    yyjson_val *f;
    if (!want && o->n_finalizers == 0) {
        return WORK_OK;
    }
    if (object_tree(o, &c->arena, &doc, NULL) != 0) {
        return WORK_RETRY;
    }
    begin(&b, o);
    b.body.n--;
    buf_c(&b.body, ",\"finalizers\":[");
    yyjson_arr_foreach(json_path(yyjson_doc_get_root(doc), "metadata.finalizers"), i, max, f) {
        bool ours = str_is(json_str(f), QUEUE_FINALIZER);
        there = there || ours;
        if (!ours || want) {
            buf_c(&b.body, n++ > 0 ? "," : "");
            buf_json(&b.body, json_str(f));
        }
    }
    if (want && !there) {
        buf_c(&b.body, n > 0 ? "," : "");
        buf_json(&b.body, STR(QUEUE_FINALIZER));
    }
    buf_c(&b.body, "]}");
    if (want == there) {
        buf_release(&b.body);
        return WORK_OK;
    }
    return send(c, &b, key, "");
}

/* ---- what a ClusterQueue lists ---- */

static int resource_cmp(const void *a, const void *b) {
    const struct cluster_resource *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static int64_t amount_of(struct str resource, const struct opt_quantity *q) {
    return q->set ? translate_amount(resource, q->v) : AMOUNT_NONE;
}

static int flavor_shape(struct arena *a, const struct flavor_quotas *f,
                        struct cluster_flavor *ret) {
    ret->name = arena_str(a, f->name);
    ret->v = arena_zalloc(a, f->resources.n * sizeof(*ret->v));
    if (ret->v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < f->resources.n; i++) {
        const struct resource_quota *r = &f->resources.v[i];
        ret->v[ret->n++] =
            (struct cluster_resource){.name = arena_str(a, r->name),
                                      .nominal = translate_amount(r->name, r->nominal_quota),
                                      .borrowing = amount_of(r->name, &r->borrowing_limit),
                                      .lending = amount_of(r->name, &r->lending_limit)};
    }
    if (ret->n > 1) {
        qsort(ret->v, ret->n, sizeof(*ret->v), resource_cmp);
    }
    return arena_ok(a);
}

int queue_shape_read(struct cluster_state *s, const struct cluster_queue *q) {
    struct arena *a = &s->arena;
    struct cluster_shape *shape = arena_zalloc(a, sizeof(*shape));
    size_t n = 0;
    s->shape = NULL;
    for (size_t i = 0; q->spec != NULL && i < q->spec->resource_groups.n; i++) {
        n += q->spec->resource_groups.v[i].flavors.n;
    }
    if (shape == NULL || (shape->flavors = arena_zalloc(a, n * sizeof(*shape->flavors))) == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; q->spec != NULL && i < q->spec->resource_groups.n; i++) {
        const struct resource_group *g = &q->spec->resource_groups.v[i];
        for (size_t k = 0; k < g->flavors.n; k++) {
            if (flavor_shape(a, &g->flavors.v[k], &shape->flavors[shape->n++]) != 0) {
                return ERR_NOMEM;
            }
        }
    }
    const struct admission_checks_strategy *k =
        q->spec != NULL ? q->spec->admission_checks_strategy : NULL;
    shape->cohort = q->spec != NULL ? arena_str(a, q->spec->cohort_name) : (struct str){0};
    shape->n_checks = k != NULL ? k->admission_checks.n : 0;
    shape->checks = arena_zalloc(a, shape->n_checks * sizeof(*shape->checks));
    for (size_t i = 0; shape->checks != NULL && i < shape->n_checks; i++) {
        shape->checks[i] = arena_str(a, k->admission_checks.v[i].name);
    }
    s->shape = shape;
    return arena_ok(a);
}

/* Usage as a list of flavors. `borrows`: what is above nominal is said too, and is zero outside a cohort. */
static void usage_json(struct queue_controller *c, const struct cluster_shape *shape,
                       const struct tally *t, bool admitted, bool borrows, struct buf *out) {
    buf_ch(out, '[');
    for (size_t i = 0; shape != NULL && i < shape->n; i++) {
        const struct cluster_flavor *f = &shape->flavors[i];
        uint32_t flavor = names_find(engine_flavors(c->engine), f->name);
        buf_c(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        buf_json(out, f->name);
        buf_c(out, ",\"resources\":[");
        for (size_t k = 0; k < f->n; k++) {
            const struct cluster_resource *r = &f->v[k];
            uint32_t resource = names_find(engine_resources(c->engine), r->name);
            int64_t total = admitted ? tally_admitted(t, flavor, resource)
                                     : tally_reserved(t, flavor, resource);
            buf_c(out, k > 0 ? ",{\"name\":" : "{\"name\":");
            buf_json(out, r->name);
            buf_c(out, ",\"total\":\"");
            amount_text(r->name, total, out);
            if (borrows) {
                int64_t over = str_empty(shape->cohort) ? 0 : amount_sub(total, r->nominal);
                buf_c(out, "\",\"borrowed\":\"");
                amount_text(r->name, over > 0 ? over : 0, out);
            }
            buf_c(out, "\"}");
        }
        buf_c(out, "]}");
    }
    buf_ch(out, ']');
}

static void tally_json(struct queue_controller *c, const struct cluster_shape *shape,
                       const struct tally *t, bool borrows, struct buf *out) {
    buf_c(out, "\"flavorsReservation\":");
    usage_json(c, shape, t, false, borrows, out);
    buf_c(out, ",\"flavorsUsage\":");
    usage_json(c, shape, t, true, borrows, out);
    buf_f(out, ",\"pendingWorkloads\":%lld,\"reservingWorkloads\":%lld,\"admittedWorkloads\":%lld",
          (long long)t->pending, (long long)t->reserving, (long long)t->admitted);
}

/* ---- ClusterQueue ---- */

static void flavors_missing(struct queue_controller *c, const struct cluster_shape *shape,
                            struct buf *out) {
    for (size_t i = 0; shape != NULL && i < shape->n; i++) {
        if (!engine_flavor_exists(c->engine, shape->flavors[i].name)) {
            buf_f(out, "%s%.*s", out->n > 0 ? "," : "", STR_ARG(shape->flavors[i].name));
        }
    }
}

bool queue_cluster_sound(struct queue_controller *c, const struct cluster_state *s) {
    bool sound = s->exists && !s->terminating && !s->stopped && !s->checks_bad &&
                 !queue_topologies_missing(c, s, NULL, NULL);
    for (size_t i = 0; sound && s->shape != NULL && i < s->shape->n; i++) {
        sound = engine_flavor_exists(c->engine, s->shape->flavors[i].name);
    }
    return sound;
}

static struct condition_change cluster_active(struct queue_controller *c, const struct object *o,
                                              const struct cluster_state *s) {
    struct condition_change ch = {"Active", "True", "Ready", STR("Can admit new workloads")};
    struct buf parts, missing;
    if (o->deleting_ns != 0) {
        return (struct condition_change){"Active", "False", "Terminating",
                                         STR("Can't admit new workloads; clusterQueue is "
                                             "terminating")};
    }
    if (queue_cluster_sound(c, s)) {
        return ch;
    }
    buf_init(&parts, 0);
    buf_init(&missing, 0);
    ch = (struct condition_change){"Active", "False", "Unknown", {0}};
    flavors_missing(c, s->shape, &missing);
    if (s->stopped) {
        ch.reason = "Stopped";
        buf_c(&parts, "is stopped");
    }
    if (missing.n > 0) {
        ch.reason = parts.n > 0 ? ch.reason : "FlavorNotFound";
        buf_f(&parts, "%sreferences missing ResourceFlavor(s): %.*s", parts.n > 0 ? ", " : "",
              STR_ARG(buf_view(&missing)));
    }
    queue_checks_reasons(c, s, &ch.reason, &parts);
    (void)queue_topologies_missing(c, s, &ch.reason, &parts);
    ch.message = arena_f(&c->arena, "Can't admit new workloads%s%.*s.", parts.n > 0 ? ": " : "",
                         STR_ARG(buf_view(&parts)));
    buf_release(&parts);
    buf_release(&missing);
    return ch;
}

/* The status as it should be, as a patch of what is there; false when nothing would change. */
static bool status_changes(struct queue_controller *c, const struct object *o, struct buf *status,
                           const struct condition_change *active, struct buf *body) {
    struct str text = buf_view(status);
    yyjson_doc *want, *have;
    if (buf_ok(status) != 0 || json_parse(&c->arena, text, &want, NULL) != 0 ||
        object_tree(o, &c->arena, &have, NULL) != 0) {
        return false;
    }
    bool changed = false;
    yyjson_obj_iter it = yyjson_obj_iter_with(yyjson_doc_get_root(want));
    yyjson_val *old = json_path(yyjson_doc_get_root(have), "status");
    for (yyjson_val *k; (k = yyjson_obj_iter_next(&it)) != NULL;) {
        yyjson_val *was = json_get(old, json_str(k));
        changed = changed || was == NULL || !json_equal(was, yyjson_obj_iter_get_val(k));
    }
    struct buf conditions;
    buf_init(&conditions, 0);
    bool turned = conditions_json(o, &c->arena, active, active != NULL, clock_wall(c->env->clock),
                                  ",", &conditions);
    if (changed || turned) {
        buf_c(body, ",\"status\":");
        buf_add(body, text.p, text.n - 1); /* its last brace comes after the conditions */
        buf_str(body, buf_view(&conditions));
        buf_ch(body, '}');
    }
    buf_release(&conditions);
    return changed || turned;
}

/* Writes the status where it says something new. */
static enum work status_write(struct queue_controller *c, const struct object *o, struct str ns,
                              struct status_pace *p, struct buf *status,
                              const struct condition_change *active) {
    struct out b;
    begin(&b, o);
    bool news = status_changes(c, o, status, active, &b.body);
    buf_release(status);
    if (!news) {
        buf_release(&b.body);
        return arena_ok(&c->arena) == 0 ? WORK_OK : WORK_RETRY;
    }
    p->written_ns = clock_mono(c->env->clock);
    return send(c, &b, ns, "status");
}

static enum work cluster_work(struct queue_controller *c, struct str key, struct str name) {
    struct cluster_state *s = map_get(&c->clusters, name);
    const struct object *o =
        mirror_get(c->env->mirror, c->kinds[QK_CLUSTER_QUEUE], (struct str){0}, name);
    arena_reset(&c->arena);
    if (s != NULL) {
        s->pace.due_ns = 0; /* also when it is gone: one of its name may come at once */
    }
    if (s == NULL || o == NULL) {
        return WORK_OK;
    }
    if (o->deleting_ns != 0 && s->tally.reserving == 0) {
        return finalizer_set(c, o, key, false);
    }
    enum work w = o->deleting_ns == 0 ? finalizer_set(c, o, key, true) : WORK_OK;
    if (w != WORK_OK) {
        queue_cluster_soon(c, name); /* the status comes after */
        return w;
    }
    struct condition_change active = cluster_active(c, o, s);
    struct buf status;
    buf_init(&status, 0);
    buf_ch(&status, '{');
    tally_json(c, s->shape, &s->tally, true, &status);
    queue_share_json(c, true, s->name, ",", &status);
    buf_ch(&status, '}');
    return status_write(c, o, key, &s->pace, &status, &active);
}

/* ---- Cohort ---- */

static enum work cohort_work(struct queue_controller *c, struct str key, struct str name) {
    const struct object *o = mirror_get(c->env->mirror, c->kinds[QK_COHORT], (struct str){0}, name);
    struct status_pace pace = {0};
    struct buf status;
    arena_reset(&c->arena);
    if (o == NULL || !c->settings->fair_sharing) {
        return WORK_OK;
    }
    buf_init(&status, 0);
    buf_ch(&status, '{');
    queue_share_json(c, false, name, "", &status);
    buf_ch(&status, '}');
    return status_write(c, o, key, &pace, &status, NULL);
}

/* ---- LocalQueue ---- */

static struct condition_change local_active(struct queue_controller *c,
                                            const struct local_state *l) {
    struct str cant = STR("Can't submit new workloads to clusterQueue");
    if (l->stopped) {
        return (struct condition_change){"Active", "False", "Stopped",
                                         STR("LocalQueue is stopped")};
    }
    const struct cluster_state *s =
        l->cluster != NULL ? map_get(&c->clusters, str_of(l->cluster)) : NULL;
    if (s == NULL || !s->exists) {
        return (struct condition_change){"Active", "False", "ClusterQueueDoesNotExist", cant};
    }
    if (!queue_cluster_sound(c, s)) {
        return (struct condition_change){"Active", "False", "ClusterQueueIsInactive", cant};
    }
    return (struct condition_change){"Active", "True", "Ready",
                                     STR("Can submit new workloads to localQueue")};
}

static enum work local_work(struct queue_controller *c, struct str ns, struct str name) {
    const struct object *o = mirror_get(c->env->mirror, c->kinds[QK_LOCAL_QUEUE], ns, name);
    arena_reset(&c->arena);
    if (o == NULL || o->deleting_ns != 0) {
        struct str key = arena_f(&c->arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
        struct local_state *was = key.p != NULL ? map_get(&c->locals, key) : NULL;
        if (was != NULL) {
            was->pace.due_ns = 0;
        }
        return WORK_OK;
    }
    struct local_state *l = queue_local(c, ns, name);
    if (l == NULL) {
        return WORK_RETRY;
    }
    l->pace.due_ns = 0;
    const struct cluster_state *s =
        l->cluster != NULL ? map_get(&c->clusters, str_of(l->cluster)) : NULL;
    struct condition_change active = local_active(c, l);
    struct buf status;
    buf_init(&status, 0);
    buf_ch(&status, '{');
    tally_json(c, s != NULL && s->exists ? s->shape : NULL, &l->tally, false, &status);
    queue_usage_json(c, l, &status);
    buf_ch(&status, '}');
    return status_write(c, o, ns, &l->pace, &status, &active);
}

/* ---- ResourceFlavor ---- */

static enum work flavor_work(struct queue_controller *c, struct str key, struct str name) {
    const struct object *o = mirror_get(c->env->mirror, c->kinds[QK_FLAVOR], (struct str){0}, name);
    arena_reset(&c->arena);
    if (o == NULL) {
        return WORK_OK;
    }
    if (o->deleting_ns == 0) {
        return finalizer_set(c, o, key, true);
    }
    if (queue_flavor_named(c, o->name)) {
        workqueue_add_after(c->states, key, name, NS_PER_SEC);
        return WORK_OK;
    }
    return finalizer_set(c, o, key, false);
}

static enum work check_work(struct queue_controller *c, struct str key, struct str name) {
    const struct object *o = mirror_get(c->env->mirror, c->kinds[QK_CHECK], (struct str){0}, name);
    arena_reset(&c->arena);
    if (o == NULL) {
        return WORK_OK;
    }
    bool named = queue_checks_named(c, name, NULL, NULL);
    if (o->deleting_ns != 0 && named) {
        workqueue_add_after(c->states, key, name, NS_PER_SEC);
    }
    return finalizer_set(c, o, key, o->deleting_ns == 0 || named);
}

enum work queue_state_work(void *ctx, struct str ns, struct str name) {
    struct queue_controller *c = ctx;
    if (str_is(ns, "/read")) {
        queue_read_all(c);
        return WORK_OK;
    }
    if (str_is(ns, "/queue")) {
        return cluster_work(c, ns, name);
    }
    if (str_is(ns, "/flavor")) {
        return flavor_work(c, ns, name);
    }
    if (str_is(ns, "/cohort")) {
        return cohort_work(c, ns, name);
    }
    if (str_is(ns, "/check")) {
        return check_work(c, ns, name);
    }
    return local_work(c, ns, name);
}
