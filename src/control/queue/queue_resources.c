/*
 * queue_resources: what the pods of a Workload will really ask for, and whether they may.
 *
 * Requests are filled in as the API server does for pods: overhead of the RuntimeClass, defaults of LimitRanges, limits
 * for missing requests. What no pod could be created with is refused here, before it waits for quota.
 */
#include "control/queue/queue_private.h"

#define ABOVE_MAX "requests must not be above the limitRange max"
#define BELOW_MIN "requests must not be below the limitRange min"
#define ABOVE_LIMIT "requests must not exceed its limits"

struct filling {
    struct queue_controller *c;
    struct workload *w;
    int code;
};

static bool fill_each(void *ctx, const struct object *o) {
    struct filling *f = ctx;
    const struct limit_range *l = queue_decode(f->c, o);
    f->code = l != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; f->code == 0 && f->w->spec != NULL && i < f->w->spec->pod_sets.n; i++) {
        struct pod_template *t = f->w->spec->pod_sets.v[i].template;
        if (t != NULL && t->spec != NULL) {
            f->code = translate_limits(l, t->spec, &f->c->base.arena);
        }
    }
    return f->code == 0;
}

static int fill_overhead(struct queue_controller *c, struct pod_spec *p) {
    if (p->overhead.n > 0 || str_empty(p->runtime_class_name)) {
        return 0;
    }
    const struct object *o = mirror_get(c->env->mirror, c->base.kinds[QK_RUNTIME_CLASS],
                                        (struct str){0}, p->runtime_class_name);
    const struct runtime_class *k = o != NULL ? queue_decode(c, o) : NULL;
    if (o != NULL && k == NULL) {
        return ERR_NOMEM;
    }
    if (k != NULL && k->overhead != NULL) {
        p->overhead = k->overhead->pod_fixed;
    }
    return 0;
}

struct workload *queue_filled(struct queue_controller *c, struct workload *w) {
    struct filling f = {.c = c, .w = w};
    if (w == NULL) {
        return NULL;
    }
    mirror_scan(c->env->mirror, c->base.kinds[QK_LIMIT_RANGE], w->metadata->namespace, fill_each,
                &f);
    for (size_t i = 0; f.code == 0 && w->spec != NULL && i < w->spec->pod_sets.n; i++) {
        struct pod_template *t = w->spec->pod_sets.v[i].template;
        f.code = t != NULL && t->spec != NULL ? fill_overhead(c, t->spec) : 0;
        if (f.code == 0 && t != NULL && t->spec != NULL) {
            f.code = queue_claims_fill(c, w->metadata->namespace, t->spec);
        }
    }
    return f.code == 0 ? w : NULL;
}

/* ---- may pods be made of it? ---- */

struct faults {
    struct queue_controller *c;
    const struct workload *w;
    struct buf text;
    size_t n;
};

static const struct quantity *amount_of(const struct quantity_map *m, struct str key) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].key, key)) {
            return &m->v[i].value;
        }
    }
    return NULL;
}

struct resource_place {
    size_t set;
    const char *list; /* NULL: the pod itself */
    size_t at;
};

/* One fault for all resources of `more` that are above those of `less`. */
static void compare(struct faults *f, const struct quantity_map *more,
                    const struct quantity_map *less, struct resource_place p, const char *what) {
    size_t n = 0;
    for (size_t i = 0; i < more->n; i++) {
        const struct quantity *q = amount_of(less, more->v[i].key);
        if (q == NULL || quantity_cmp(more->v[i].value, *q) <= 0) {
            continue;
        }
        if (n++ == 0) {
            buf_c(&f->text, f->n++ > 0 ? ", " : "");
            buf_f(&f->text, "spec.podSets[%zu].template.spec", p.set);
            if (p.list != NULL) {
                buf_f(&f->text, ".%s[%zu]", p.list, p.at);
            }
            buf_c(&f->text, ": Invalid value: [");
        }
        buf_c(&f->text, n > 1 ? "," : "");
        buf_json(&f->text, more->v[i].key);
    }
    if (n > 0) {
        buf_f(&f->text, "]: %s", what);
    }
}

/* Requests and limits as one map: the greater or the smaller of each. */
static int merged(struct arena *a, const struct resources *r, bool greater,
                  struct quantity_map *ret) {
    struct quantity_pair *v = ARENA_ARRAY(a, struct quantity_pair, r->requests.n + r->limits.n + 1);
    size_t n = 0;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < r->requests.n; i++) {
        const struct quantity *other = amount_of(&r->limits, r->requests.v[i].key);
        v[n] = r->requests.v[i];
        if (other != NULL && (quantity_cmp(*other, v[n].value) > 0) == greater) {
            v[n].value = *other;
        }
        n++;
    }
    for (size_t i = 0; i < r->limits.n; i++) {
        if (amount_of(&r->requests, r->limits.v[i].key) == NULL) {
            v[n++] = r->limits.v[i];
        }
    }
    *ret = (struct quantity_map){v, n};
    return 0;
}

static void each_container(struct faults *f, const struct limit_range_item *item,
                           const struct resources *r, struct resource_place p) {
    struct quantity_map low, high;
    if (r == NULL) {
        return;
    }
    if (item == NULL) {
        compare(f, &r->requests, &r->limits, p, ABOVE_LIMIT);
    } else if (merged(&f->c->base.arena, r, true, &high) == 0 &&
               merged(&f->c->base.arena, r, false, &low) == 0) {
        compare(f, &high, &item->max, p, ABOVE_MAX);
        compare(f, &item->min, &low, p, BELOW_MIN);
    }
}

static void each_pod(struct faults *f, const struct limit_range_item *item,
                     const struct pod_spec *pod, size_t set) {
    for (size_t i = 0; i < pod->init_containers.n; i++) {
        each_container(f, item, pod->init_containers.v[i].resources,
                       (struct resource_place){set, "initContainers", i});
    }
    for (size_t i = 0; i < pod->containers.n; i++) {
        each_container(f, item, pod->containers.v[i].resources,
                       (struct resource_place){set, "containers", i});
    }
}

/* The whole pod against a LimitRange of type Pod. */
static void whole_pod(struct faults *f, const struct limit_range_item *item,
                      const struct pod_spec *pod, size_t set) {
    struct arena *a = &f->c->base.arena;
    struct amounts m;
    if (translate_requests(pod, a, &m) != 0) {
        return;
    }
    struct quantity_map total = {ARENA_ARRAY(a, struct quantity_pair, m.n + 1), m.n};
    for (size_t i = 0; total.v != NULL && i < m.n; i++) {
        bool cpu = str_is(m.v[i].resource, "cpu");
        total.v[i].key = m.v[i].resource;
        total.v[i].value = cpu ? quantity_of_milli(m.v[i].v, QUANTITY_DECIMAL)
                               : quantity_of(m.v[i].v, QUANTITY_DECIMAL);
    }
    if (total.v != NULL) {
        struct resource_place p = {set, NULL, 0};
        compare(f, &total, &item->max, p, ABOVE_MAX);
        compare(f, &item->min, &total, p, BELOW_MIN);
    }
}

static bool limits_each(void *ctx, const struct object *o) {
    struct faults *f = ctx;
    const struct limit_range *l = queue_decode(f->c, o);
    for (size_t i = 0; l != NULL && l->spec != NULL && i < l->spec->limits.n; i++) {
        const struct limit_range_item *item = &l->spec->limits.v[i];
        for (size_t k = 0; k < f->w->spec->pod_sets.n; k++) {
            const struct pod_template *t = f->w->spec->pod_sets.v[k].template;
            if (t == NULL || t->spec == NULL) {
                continue;
            }
            if (str_is(item->type, "Container")) {
                each_pod(f, item, t->spec, k);
            } else if (str_is(item->type, "Pod")) {
                whole_pod(f, item, t->spec, k);
            }
        }
    }
    return true;
}

bool queue_resources_refused(struct queue_controller *c, const struct workload *w,
                             struct str *ret_text) {
    struct faults f = {.c = c, .w = w};
    const char *what = "resources validation failed";
    if (w->spec == NULL) {
        return false;
    }
    buf_init(&f.text, LIMIT_CONDITION_MESSAGE);
    for (size_t i = 0; i < w->spec->pod_sets.n; i++) {
        const struct pod_template *t = w->spec->pod_sets.v[i].template;
        if (t != NULL && t->spec != NULL) {
            each_pod(&f, NULL, t->spec, i);
            each_container(&f, NULL, t->spec->resources, (struct resource_place){i, NULL, 0});
        }
    }
    if (f.n == 0) {
        what = "resources didn't satisfy LimitRange constraints";
        mirror_scan(c->env->mirror, c->base.kinds[QK_LIMIT_RANGE], w->metadata->namespace,
                    limits_each, &f);
    }
    if (f.n > 0) {
        *ret_text = arena_f(&c->base.arena, f.n > 1 ? "%s: [%.*s]" : "%s: %.*s", what,
                            STR_ARG(buf_view(&f.text)));
    }
    buf_release(&f.text);
    return f.n > 0;
}
