/* queue_status: what ClusterQueues, LocalQueues and ResourceFlavors say of themselves; written
 * together, now and then. */
#include "base/limits.h"
#include "control/queue_private.h"

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
    struct round *r = buf_ok(&b->body) == 0 ? round_new(c->states, c->env->writer, c->expect,
                                                        QUEUE_WHO, ns, b->o->name)
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
                               const struct meta *m, bool want) {
    struct out b;
    bool there = false;
    size_t n = 0;
    begin(&b, o);
    b.body.n--;
    buf_c(&b.body, ",\"finalizers\":[");
    for (size_t i = 0; i < m->finalizers.n; i++) {
        bool ours = str_is(m->finalizers.v[i], QUEUE_FINALIZER);
        there = there || ours;
        if (!ours || want) {
            buf_c(&b.body, n++ > 0 ? "," : "");
            buf_json(&b.body, m->finalizers.v[i]);
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

/* ---- ClusterQueue ---- */

static void flavor_names(const struct cluster_queue *q, struct queue_controller *c, bool missing,
                         struct buf *out) {
    size_t n = 0;
    for (size_t i = 0; q->spec != NULL && i < q->spec->resource_groups.n; i++) {
        const struct resource_group *g = &q->spec->resource_groups.v[i];
        for (size_t k = 0; k < g->flavors.n; k++) {
            if (missing != engine_flavor_exists(c->engine, g->flavors.v[k].name)) {
                buf_f(out, "%s%.*s", n++ > 0 ? "," : "", STR_ARG(g->flavors.v[k].name));
            }
        }
    }
}

static struct condition_change cluster_active(struct queue_controller *c, const struct object *o,
                                              const struct cluster_queue *q) {
    const struct cluster_state *s = map_get(&c->clusters, o->name);
    struct condition_change ch = {"Active", "True", "Ready", STR("Can admit new workloads")};
    struct buf parts, missing;
    if (o->deleting_ns != 0) {
        return (struct condition_change){"Active", "False", "Terminating",
                                         STR("Can't admit new workloads; clusterQueue is "
                                             "terminating")};
    }
    if (queue_cluster_active(c, o->name)) {
        return ch;
    }
    buf_init(&parts, 0);
    buf_init(&missing, 0);
    ch = (struct condition_change){"Active", "False", "Unknown", {0}};
    flavor_names(q, c, true, &missing);
    if (s != NULL && s->stopped) {
        ch.reason = "Stopped";
        buf_c(&parts, "is stopped");
    }
    if (missing.n > 0) {
        ch.reason = parts.n > 0 ? ch.reason : "FlavorNotFound";
        buf_f(&parts, "%sreferences missing ResourceFlavor(s): %.*s", parts.n > 0 ? ", " : "",
              STR_ARG(buf_view(&missing)));
    }
    if (s != NULL && s->checks) {
        ch.reason = parts.n > 0 ? ch.reason : "AdmissionCheckNotFound";
        buf_f(&parts, "%sreferences missing AdmissionCheck(s): ", parts.n > 0 ? ", " : "");
        const struct admission_checks_strategy *k = q->spec->admission_checks_strategy;
        for (size_t i = 0; k != NULL && i < k->admission_checks.n; i++) {
            buf_f(&parts, "%s%.*s", i > 0 ? "," : "", STR_ARG(k->admission_checks.v[i].name));
        }
    }
    ch.message = arena_f(&c->arena, "Can't admit new workloads%s%.*s.", parts.n > 0 ? ": " : "",
                         STR_ARG(buf_view(&parts)));
    buf_release(&parts);
    buf_release(&missing);
    return ch;
}

static void usage_json(struct queue_controller *c, const struct cluster_queue *q, struct buf *out) {
    size_t n = 0;
    buf_ch(out, '[');
    for (size_t i = 0; q->spec != NULL && i < q->spec->resource_groups.n; i++) {
        const struct resource_group *g = &q->spec->resource_groups.v[i];
        for (size_t k = 0; k < g->flavors.n; k++) {
            uint32_t flavor = names_find(engine_flavors(c->engine), g->flavors.v[k].name);
            buf_c(out, n++ > 0 ? ",{\"name\":" : "{\"name\":");
            buf_json(out, g->flavors.v[k].name);
            buf_c(out, ",\"resources\":[");
            for (size_t r = 0; r < g->covered_resources.n; r++) {
                struct str resource = g->covered_resources.v[r];
                int64_t borrowed = 0;
                int64_t total = engine_queue_usage(
                    c->engine, q->metadata->name, flavor,
                    names_find(engine_resources(c->engine), resource), &borrowed);
                buf_c(out, r > 0 ? ",{\"name\":" : "{\"name\":");
                buf_json(out, resource);
                buf_c(out, ",\"total\":\"");
                amount_text(resource, total, out);
                buf_c(out, "\",\"borrowed\":\"");
                amount_text(resource, borrowed, out);
                buf_c(out, "\"}");
            }
            buf_c(out, "]}");
        }
    }
    buf_ch(out, ']');
}

static void cluster_counts(struct queue_controller *c, struct str name, int64_t *pending,
                           int64_t *reserving, int64_t *admitted) {
    size_t i = 0;
    *pending = *reserving = *admitted = 0;
    for (const struct map_entry *e; (e = map_next(&c->locals, &i)) != NULL;) {
        const struct local_state *l = e->value;
        if (l->cluster != NULL && str_is(name, l->cluster)) {
            *pending += l->stopped ? 0 : l->pending;
            *reserving += l->reserving;
            *admitted += l->admitted;
        }
    }
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
    bool turned = conditions_json(o, &c->arena, active, 1, clock_wall(c->env->clock), ",",
                                  &conditions);
    if (changed || turned) {
        buf_c(body, ",\"status\":");
        buf_add(body, text.p, text.n - 1); /* its last brace comes after the conditions */
        buf_str(body, buf_view(&conditions));
        buf_ch(body, '}');
    }
    buf_release(&conditions);
    return changed || turned;
}

static enum work cluster_work(struct queue_controller *c, struct str key, struct str name) {
    const struct object *o;
    struct cluster_queue *q = queue_view(c, QK_CLUSTER_QUEUE, (struct str){0}, name, &o);
    int64_t pending, reserving, admitted;
    if (q == NULL) {
        return o != NULL ? WORK_RETRY : WORK_OK;
    }
    cluster_counts(c, name, &pending, &reserving, &admitted);
    if (o->deleting_ns != 0 && reserving == 0) {
        return finalizer_set(c, o, key, q->metadata, false);
    }
    enum work w = o->deleting_ns == 0 ? finalizer_set(c, o, key, q->metadata, true) : WORK_OK;
    if (w != WORK_OK) {
        queue_cluster_soon(c, name); /* the status comes after */
        return w;
    }
    struct condition_change active = cluster_active(c, o, q);
    struct buf status;
    struct out b;
    buf_init(&status, 0);
    buf_c(&status, "{\"flavorsReservation\":");
    usage_json(c, q, &status);
    buf_c(&status, ",\"flavorsUsage\":");
    usage_json(c, q, &status);
    buf_f(&status, ",\"pendingWorkloads\":%lld,\"reservingWorkloads\":%lld,"
                   "\"admittedWorkloads\":%lld}",
          (long long)pending, (long long)reserving, (long long)admitted);
    begin(&b, o);
    bool news = status_changes(c, o, &status, &active, &b.body);
    buf_release(&status);
    if (!news) {
        buf_release(&b.body);
        return arena_ok(&c->arena) == 0 ? WORK_OK : WORK_RETRY;
    }
    return send(c, &b, key, "status");
}

/* ---- LocalQueue ---- */

struct tally {
    uint32_t flavor, resource;
    int64_t v;
};
VEC(tally_vec, struct tally);

static int tally_cmp(const void *a, const void *b) {
    const struct tally *x = a, *y = b;
    if (x->flavor != y->flavor) {
        return x->flavor < y->flavor ? -1 : 1;
    }
    return (x->resource > y->resource) - (x->resource < y->resource);
}

static int tally_up(struct queue_controller *c, const struct local_state *l, struct tally_vec *t) {
    for (const struct queue_work *q = l->works; q != NULL; q = q->next) {
        size_t n = 0;
        struct str cq;
        const struct held_amount *h = q->state == QW_RESERVING || q->state == QW_ADMITTED
                                          ? engine_workload_held(c->engine, q->uid, &n, &cq)
                                          : NULL;
        for (size_t i = 0; h != NULL && i < n; i++) {
            size_t k = 0;
            while (k < t->n &&
                   (t->v[k].flavor != h[i].flavor || t->v[k].resource != h[i].resource)) {
                k++;
            }
            if (k == t->n &&
                tally_vec_push(t, (struct tally){h[i].flavor, h[i].resource, 0}) != 0) {
                return ERR_NOMEM;
            }
            t->v[k].v = amount_add(t->v[k].v, h[i].v);
        }
    }
    if (t->n > 1) {
        qsort(t->v, t->n, sizeof(*t->v), tally_cmp);
    }
    return 0;
}

static void tally_json(struct queue_controller *c, const struct tally_vec *t, struct buf *out) {
    buf_ch(out, '[');
    for (size_t i = 0; i < t->n; i++) {
        struct str resource = names_text(engine_resources(c->engine), t->v[i].resource);
        bool first = i == 0 || t->v[i - 1].flavor != t->v[i].flavor;
        if (first) {
            buf_c(out, i > 0 ? "]},{\"name\":" : "{\"name\":");
            buf_json(out, names_text(engine_flavors(c->engine), t->v[i].flavor));
            buf_c(out, ",\"resources\":[");
        }
        buf_c(out, first ? "{\"name\":" : ",{\"name\":");
        buf_json(out, resource);
        buf_c(out, ",\"total\":\"");
        amount_text(resource, t->v[i].v, out);
        buf_c(out, "\"}");
    }
    buf_c(out, t->n > 0 ? "]}]" : "]");
}

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
    if (!queue_cluster_active(c, s->name)) {
        return (struct condition_change){"Active", "False", "ClusterQueueIsInactive", cant};
    }
    return (struct condition_change){"Active", "True", "Ready",
                                     STR("Can submit new workloads to localQueue")};
}

static enum work local_work(struct queue_controller *c, struct str ns, struct str name) {
    const struct object *o = mirror_get(c->env->mirror, c->kinds[QK_LOCAL_QUEUE], ns, name);
    struct local_state *l = queue_local(c, ns, name);
    struct tally_vec t = {0};
    struct buf status;
    struct out b;
    arena_reset(&c->arena);
    if (o == NULL || o->deleting_ns != 0) {
        return WORK_OK;
    }
    if (l == NULL || tally_up(c, l, &t) != 0) {
        tally_vec_release(&t);
        return WORK_RETRY;
    }
    struct condition_change active = local_active(c, l);
    buf_init(&status, 0);
    buf_f(&status, "{\"pendingWorkloads\":%d,\"reservingWorkloads\":%d,\"admittedWorkloads\":%d",
          l->stopped ? 0 : l->pending, l->reserving, l->admitted);
    buf_c(&status, ",\"flavorsReservation\":");
    tally_json(c, &t, &status);
    buf_c(&status, ",\"flavorsUsage\":");
    tally_json(c, &t, &status);
    buf_ch(&status, '}');
    tally_vec_release(&t);
    begin(&b, o);
    bool news = status_changes(c, o, &status, &active, &b.body);
    buf_release(&status);
    if (!news) {
        buf_release(&b.body);
        return arena_ok(&c->arena) == 0 ? WORK_OK : WORK_RETRY;
    }
    return send(c, &b, ns, "status");
}

/* ---- ResourceFlavor ---- */

struct search {
    struct queue_controller *c;
    struct str flavor;
    bool found;
};

static bool uses(void *ctx, const struct object *o) {
    struct search *s = ctx;
    struct cluster_queue *q = queue_decode(s->c, o);
    for (size_t i = 0; q != NULL && q->spec != NULL && i < q->spec->resource_groups.n; i++) {
        const struct resource_group *g = &q->spec->resource_groups.v[i];
        for (size_t k = 0; k < g->flavors.n; k++) {
            s->found = s->found || str_eq(g->flavors.v[k].name, s->flavor);
        }
    }
    s->found = s->found || q == NULL; /* not sure: keep it */
    return !s->found;
}

static enum work flavor_work(struct queue_controller *c, struct str key, struct str name) {
    const struct object *o;
    struct resource_flavor *f = queue_view(c, QK_FLAVOR, (struct str){0}, name, &o);
    if (f == NULL) {
        return o != NULL ? WORK_RETRY : WORK_OK;
    }
    if (o->deleting_ns == 0) {
        return finalizer_set(c, o, key, f->metadata, true);
    }
    struct search s = {.c = c, .flavor = o->name};
    mirror_scan(c->env->mirror, c->kinds[QK_CLUSTER_QUEUE], (struct str){0}, uses, &s);
    if (s.found) {
        workqueue_add_after(c->states, key, name, NS_PER_SEC);
        return WORK_OK;
    }
    return finalizer_set(c, o, key, f->metadata, false);
}

enum work queue_state_work(void *ctx, struct str ns, struct str name) {
    struct queue_controller *c = ctx;
    int64_t wait = 0;
    if (!expect_met(c->expect, ns, name, &wait)) {
        workqueue_add_after(c->states, ns, name, wait);
        return WORK_OK;
    }
    if (str_is(ns, "/queue")) {
        return cluster_work(c, ns, name);
    }
    if (str_is(ns, "/flavor")) {
        return flavor_work(c, ns, name);
    }
    return local_work(c, ns, name);
}
