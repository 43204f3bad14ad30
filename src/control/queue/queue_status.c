/*
 * queue_status: what ClusterQueues, LocalQueues and ResourceFlavors say of themselves, from the tallies; written when
 * queue_count says so. What exists costs nothing here, only what the object itself lists.
 */
#include "api/meta.h"
#include "base/limits.h"
#include "control/queue/queue_private.h"

/* Adds or drops our finalizer; WORK_OK when it is already so. */
static enum work finalizer_set(struct queue_controller *c, const struct object *o, bool want) {
    struct meta *was, now;
    struct buf body;
    if (!want && o->n_finalizers == 0) {
        return WORK_OK;
    }
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int r = edit_read_meta(o, &c->base.arena, &was);
    if (r == 0) {
        now = *was;
        r = want ? meta_add_finalizer(&now, &c->base.arena, QUEUE_FINALIZER)
                 : meta_remove_finalizer(&now, &c->base.arena, QUEUE_FINALIZER);
    }
    if (r == 0) {
        r = edit_write_meta(o, EDIT_VERSION, was, &now, &body);
    }
    return queue_send(c, o, "", r, &body, NULL);
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
static struct flavor_usage_list usage_of(struct queue_controller *c,
                                         const struct cluster_shape *shape, const struct tally *t,
                                         bool admitted, bool borrows) {
    struct flavor_usage_list l = {0};
    size_t n = shape != NULL ? shape->n : 0;
    l.v = ARENA_ARRAY(&c->base.arena, struct flavor_usage, n + 1);
    for (; l.v != NULL && l.n < n; l.n++) {
        const struct cluster_flavor *f = &shape->flavors[l.n];
        struct resource_usage *v = ARENA_ARRAY(&c->base.arena, struct resource_usage, f->n + 1);
        uint32_t flavor = names_find(engine_flavors(c->engine), f->name);
        for (size_t k = 0; v != NULL && k < f->n; k++) {
            const struct cluster_resource *r = &f->v[k];
            uint32_t resource = names_find(engine_resources(c->engine), r->name);
            int64_t total = admitted ? tally_admitted(t, flavor, resource)
                                     : tally_reserved(t, flavor, resource);
            int64_t over = borrows && !str_empty(shape->cohort) ? amount_sub(total, r->nominal) : 0;
            v[k] = (struct resource_usage){r->name, amount_quantity(r->name, total),
                                           amount_quantity(r->name, over > 0 ? over : 0)};
        }
        l.v[l.n].name = f->name;
        l.v[l.n].resources.v = v;
        l.v[l.n].resources.n = v != NULL ? f->n : 0;
    }
    return l;
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

static struct condition_want cluster_active(struct queue_controller *c, const struct object *o,
                                            const struct cluster_state *s) {
    struct condition_want ch = {"Active", "True", "Ready", STR("Can admit new workloads")};
    struct buf parts, missing;
    if (o->deleting_ns != 0) {
        return (struct condition_want){"Active", "False", "Terminating",
                                       STR("Can't admit new workloads; clusterQueue is "
                                           "terminating")};
    }
    if (queue_cluster_sound(c, s)) {
        return ch;
    }
    buf_init(&parts, 0);
    buf_init(&missing, 0);
    ch = (struct condition_want){"Active", "False", "Unknown", {0}};
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
    ch.message = arena_f(&c->base.arena, "Can't admit new workloads%s%.*s.",
                         parts.n > 0 ? ": " : "", STR_ARG(buf_view(&parts)));
    buf_release(&parts);
    buf_release(&missing);
    return ch;
}

/* Writes the status where it says something new. */
static enum work status_write(struct queue_controller *c, const struct object *o,
                              struct status_pace *p, const void *was, const void *want) {
    struct buf body;
    buf_init(&body, LIMIT_OBJECT_BYTES);
    int r = arena_ok(&c->base.arena);
    if (r == 0) {
        r = edit_write(o, EDIT_VERSION, was, want, &body);
    }
    if (r == 0) {
        p->written_ns = clock_mono(c->env->clock);
    }
    return queue_send(c, o, "status", r, &body, NULL);
}

/* A copy of the list with this one set; a failure is the arena's. */
static void set_active(struct queue_controller *c, const struct object *o, struct condition_list *l,
                       const struct condition_want *active) {
    struct condition_list was = *l;
    if (conditions_copy(&was, &c->base.arena, l) == 0) {
        (void)conditions_put(l, &c->base.arena, active, clock_wall(c->env->clock), o->generation,
                             NULL);
    }
}

static enum work cluster_work(struct queue_controller *c, struct str name) {
    struct cluster_state *s = map_get(&c->clusters, name);
    const struct object *o =
        mirror_get(c->env->mirror, c->base.kinds[QK_CLUSTER_QUEUE], (struct str){0}, name);
    arena_reset(&c->base.arena);
    if (s != NULL) {
        s->pace.due_ns = 0; /* also when it is gone: one of its name may come at once */
    }
    if (s == NULL || o == NULL) {
        return WORK_OK;
    }
    if (o->deleting_ns != 0 && s->tally.reserving == 0) {
        return finalizer_set(c, o, false);
    }
    enum work w = o->deleting_ns == 0 ? finalizer_set(c, o, true) : WORK_OK;
    if (w != WORK_OK) {
        queue_cluster_soon(c, name); /* the status comes after */
        return w;
    }
    struct cluster_queue *was = queue_decode(c, o), want;
    struct cluster_queue_status st = {0};
    if (was == NULL) {
        return WORK_RETRY;
    }
    struct condition_want active = cluster_active(c, o, s);
    want = *was;
    want.status = &st;
    st.conditions = was->status != NULL ? was->status->conditions : st.conditions;
    set_active(c, o, &st.conditions, &active);
    st.flavors_reservation = usage_of(c, s->shape, &s->tally, false, true);
    st.flavors_usage = usage_of(c, s->shape, &s->tally, true, true);
    st.pending_workloads = (int32_t)s->tally.pending;
    st.reserving_workloads = (int32_t)s->tally.reserving;
    st.admitted_workloads = (int32_t)s->tally.admitted;
    st.fair_sharing = queue_share_status(c, true, s->name);
    return status_write(c, o, &s->pace, was, &want);
}

/* ---- Cohort ---- */

static enum work cohort_work(struct queue_controller *c, struct str name) {
    const struct object *o =
        mirror_get(c->env->mirror, c->base.kinds[QK_COHORT], (struct str){0}, name);
    struct status_pace pace = {0};
    arena_reset(&c->base.arena);
    struct cohort *was = o != NULL && c->settings->fair_sharing ? queue_decode(c, o) : NULL, want;
    struct cohort_status st = {0};
    if (o == NULL || !c->settings->fair_sharing) {
        return WORK_OK;
    }
    if (was == NULL) {
        return WORK_RETRY;
    }
    st.fair_sharing = queue_share_status(c, false, name);
    want = *was;
    want.status = &st;
    return status_write(c, o, &pace, was, &want);
}

/* ---- LocalQueue ---- */

static struct condition_want local_active(struct queue_controller *c, const struct local_state *l) {
    struct str cant = STR("Can't submit new workloads to clusterQueue");
    if (l->stopped) {
        return (struct condition_want){"Active", "False", "Stopped", STR("LocalQueue is stopped")};
    }
    const struct cluster_state *s =
        l->cluster != NULL ? map_get(&c->clusters, str_of(l->cluster)) : NULL;
    if (s == NULL || !s->exists) {
        return (struct condition_want){"Active", "False", "ClusterQueueDoesNotExist", cant};
    }
    if (!queue_cluster_sound(c, s)) {
        return (struct condition_want){"Active", "False", "ClusterQueueIsInactive", cant};
    }
    return (struct condition_want){"Active", "True", "Ready",
                                   STR("Can submit new workloads to localQueue")};
}

static enum work local_work(struct queue_controller *c, struct str ns, struct str name) {
    const struct object *o = mirror_get(c->env->mirror, c->base.kinds[QK_LOCAL_QUEUE], ns, name);
    arena_reset(&c->base.arena);
    if (o == NULL || o->deleting_ns != 0) {
        struct str key = arena_f(&c->base.arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
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
    const struct cluster_shape *shape = s != NULL && s->exists ? s->shape : NULL;
    struct condition_want active = local_active(c, l);
    struct local_queue *was = queue_decode(c, o), want;
    struct local_queue_status st = {0};
    if (was == NULL) {
        return WORK_RETRY;
    }
    want = *was;
    want.status = &st;
    st.conditions = was->status != NULL ? was->status->conditions : st.conditions;
    set_active(c, o, &st.conditions, &active);
    st.flavors_reservation = usage_of(c, shape, &l->tally, false, false);
    st.flavors_usage = usage_of(c, shape, &l->tally, true, false);
    st.pending_workloads = (int32_t)l->tally.pending;
    st.reserving_workloads = (int32_t)l->tally.reserving;
    st.admitted_workloads = (int32_t)l->tally.admitted;
    st.fair_sharing = queue_usage_status(c, l);
    return status_write(c, o, &l->pace, was, &want);
}

/* ---- ResourceFlavor ---- */

static enum work flavor_work(struct queue_controller *c, struct str name) {
    const struct object *o =
        mirror_get(c->env->mirror, c->base.kinds[QK_FLAVOR], (struct str){0}, name);
    arena_reset(&c->base.arena);
    if (o == NULL) {
        return WORK_OK;
    }
    if (o->deleting_ns == 0) {
        return finalizer_set(c, o, true);
    }
    if (queue_flavor_named(c, o->name)) {
        queue_look(c, QS_FLAVOR, STR(""), name, NS_PER_SEC);
        return WORK_OK;
    }
    return finalizer_set(c, o, false);
}

static enum work check_work(struct queue_controller *c, struct str name) {
    const struct object *o =
        mirror_get(c->env->mirror, c->base.kinds[QK_CHECK], (struct str){0}, name);
    arena_reset(&c->base.arena);
    if (o == NULL) {
        return WORK_OK;
    }
    bool named = queue_checks_named(c, name, NULL, NULL);
    if (o->deleting_ns != 0 && named) {
        queue_look(c, QS_CHECK, STR(""), name, NS_PER_SEC);
    }
    return finalizer_set(c, o, o->deleting_ns == 0 || named);
}

enum work queue_state_work(struct queue_controller *c, struct work_key key) {
    switch ((enum queue_sort)key.what) {
    case QS_CLUSTER_QUEUE:
        return cluster_work(c, key.name);
    case QS_FLAVOR:
        return flavor_work(c, key.name);
    case QS_COHORT:
        return cohort_work(c, key.name);
    case QS_CHECK:
        return check_work(c, key.name);
    case QS_LOCAL_QUEUE:
        return local_work(c, key.ns, key.name);
    default:
        queue_read_all(c);
        return WORK_OK;
    }
}
