/* translate_json: what the engine decided, as it is written down; and placements read back. */
#include "control/load/translate.h"

#include "api/schema/codec_encode.h"
#include "base/limits.h"

/* What one pod set holds: its flavors, and how much of each resource. */
static int assigned_held(struct engine *e, uint32_t set, const struct held_amount *held, size_t n,
                         struct arena *a, struct pod_set_assignment *ret) {
    ret->flavors.v = ARENA_ARRAY(a, struct str_pair, n + 1);
    ret->resource_usage.v = ARENA_ARRAY(a, struct quantity_pair, n + 1);
    if (ret->flavors.v == NULL || ret->resource_usage.v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        struct str resource = names_text(engine_resources(e), held[i].resource);
        if (held[i].set == set) {
            ret->flavors.v[ret->flavors.n++] =
                (struct str_pair){resource, names_text(engine_flavors(e), held[i].flavor)};
            ret->resource_usage.v[ret->resource_usage.n++] =
                (struct quantity_pair){resource, amount_quantity(resource, held[i].v)};
        }
    }
    return 0;
}

int translate_assigned(struct engine *e, struct str cq, const struct workload_input *w,
                       const struct held_amount *held, size_t n, struct arena *a,
                       struct workload_admission **ret) {
    struct workload_admission *ad = ARENA_NEW(a, struct workload_admission);
    struct pod_set_assignment *v = ARENA_ARRAY(a, struct pod_set_assignment, w->n_sets + 1);
    int r = ad != NULL && v != NULL ? 0 : ERR_NOMEM;
    for (uint32_t i = 0; i < w->n_sets && r == 0; i++) {
        v[i].name = w->sets[i].name;
        v[i].count = (struct opt_i32){true, w->sets[i].count};
        r = assigned_held(e, i, held, n, a, &v[i]);
    }
    if (r == 0) {
        ad->cluster_queue = cq;
        ad->pod_set_assignments.v = v;
        ad->pod_set_assignments.n = w->n_sets;
        *ret = ad;
    }
    return r;
}

/* Whether b is the next pod of a's set, on its node, and neither has devices: they are written together. */
static bool seats_adjoin(const struct seat *a, const struct seat *b) {
    return b != NULL && a->n_devices == 0 && b->n_devices == 0 && b->ordinal == a->ordinal + 1 &&
           str_eq(a->node, b->node) && str_eq(a->set, b->set);
}

static void seats_json(const struct seat *first, bool more, struct buf *out) {
    struct pod_device devices[POOL_POD_DEVICES_MAX];
    for (const struct seat *s = first; s != NULL; s = s->group_next) {
        struct pod_place p = {.pod_set = s->set, .index = s->ordinal, .node = s->node};
        p.devices.v = devices;
        while (seats_adjoin(s, s->group_next)) {
            s = s->group_next;
        }
        p.count = s->ordinal > p.index ? s->ordinal - p.index + 1 : 0;
        for (size_t i = 0; i < s->n_devices && i < POOL_POD_DEVICES_MAX; i++) {
            const struct seat_device *x = &s->devices[i];
            devices[p.devices.n++] = (struct pod_device){.gpu = x->gpu,
                                                         .profile_id = x->profile_id,
                                                         .profile = x->profile,
                                                         .start = x->start,
                                                         .size = x->size};
        }
        if (more) {
            buf_ch(out, ',');
        }
        more = true;
        codec_encode(&schema_pod_place, &p, out);
    }
}

void translate_placement_joined(const struct seat *before, const struct seat *first,
                                struct buf *out) {
    buf_ch(out, '[');
    seats_json(before, false, out);
    seats_json(first, before != NULL, out);
    buf_ch(out, ']');
}

void translate_placement_json(const struct seat *first, struct buf *out) {
    translate_placement_joined(NULL, first, out);
}

int translate_devices(const struct pod_devices *d, struct names *resources, struct arena *a,
                      struct seat_device **ret) {
    struct seat_device *v = ARENA_ARRAY(a, struct seat_device, d->n + 1);
    int r = v != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < d->n && r == 0; i++) {
        const struct pod_device *x = &d->v[i];
        v[i] = (struct seat_device){.gpu = x->gpu,
                                    .profile_id = x->profile_id,
                                    .profile = x->profile,
                                    .start = x->start,
                                    .size = x->size};
        /* The pool knows a profile by its GPU; a name is enough to deal devices out to containers. */
        struct str name = STR(POOL_GPU_RESOURCE);
        if (x->profile_id >= 0) {
            name = arena_f(a, "nvidia.com/mig-%.*s", STR_ARG(x->profile));
            for (size_t k = 0; name.p != NULL && k < name.n; k++) {
                char *c = (char *)name.p + k;
                *c = *c == '+' ? '.' : *c;
            }
        }
        r = name.p != NULL ? names_intern(resources, name, &v[i].resource) : ERR_NOMEM;
    }
    if (r == 0) {
        *ret = v;
    }
    return r;
}

/* How many pods an item stands for; 0: it says no number that could be. `so_far`: of those before it. */
static int64_t item_count(yyjson_val *item, int64_t so_far) {
    int64_t n = json_i64_at(item, "count", 1), index = json_i64_at(item, "index", 0);
    bool devices = json_get(item, STR("devices")) != NULL;
    return n >= 1 && n <= LIMIT_WORKLOAD_PODS - so_far && index >= 0 &&
                   index <= INT32_MAX - LIMIT_WORKLOAD_PODS && (n == 1 || !devices)
               ? n
               : 0;
}

/* Of each pod set, the ordinal after the last that has a seat: those were inherited. NULL: out of memory. */
static int32_t *next_ordinals(struct engine *e, const struct workload_input *w, struct arena *a) {
    int32_t *v = ARENA_ARRAY(a, int32_t, w->n_sets + 1);
    const struct seat *s = pool_workload_first(engine_pool(e), w->uid);
    for (size_t i = 0; v != NULL && i < w->n_sets; i++) {
        v[i] = 0;
    }
    for (; v != NULL && s != NULL; s = s->group_next) {
        for (size_t i = 0; i < w->n_sets; i++) {
            bool later = str_eq(w->sets[i].name, s->set) && s->ordinal >= v[i];
            v[i] = later && s->ordinal < INT32_MAX ? s->ordinal + 1 : v[i];
        }
    }
    return v;
}

static int restore_item(yyjson_val *item, int64_t n, const int32_t *next, struct engine *e,
                        const struct workload_input *w, struct arena *a, struct err *err) {
    struct seat as = {.workload = w->uid,
                      .set = json_str_at(item, "podSet"),
                      .node = json_str_at(item, "node"),
                      .ordinal = (int32_t)json_i64_at(item, "index", 0)};
    struct pod_devices d = {0};
    yyjson_val *devices = json_get(item, STR("devices"));
    int32_t from = 0;
    int r = 0;
    if (devices != NULL) {
        struct buf b;
        buf_init(&b, 0);
        json_write(&b, devices);
        struct str text = arena_str(a, buf_view(&b));
        buf_release(&b);
        r = pod_devices_decode(text, a, &d, err);
    }
    if (r == 0) {
        r = translate_devices(&d, engine_resources(e), a, &as.devices);
    }
    as.n_devices = d.n;
    for (size_t i = 0; i < w->n_sets && r == 0; i++) {
        const struct set_input *s = &w->sets[i];
        if (!str_eq(s->name, as.set)) {
            continue;
        }
        from = next[i];
        as.amounts = ARENA_ARRAY(a, struct pool_amount, s->n_requests + 1);
        r = as.amounts != NULL ? 0 : ERR_NOMEM;
        for (size_t k = 0; k < s->n_requests && r == 0; k++) {
            as.amounts[k].v = s->requests[k].v;
            r = names_intern(engine_resources(e), s->requests[k].resource, &as.amounts[k].resource);
            as.n_amounts++;
        }
    }
    struct seat *made;
    for (int64_t i = 0; i < n && r == 0; i++, as.ordinal++) {
        r = as.ordinal < from ? 0 : pool_seat_restore(engine_pool(e), &as, &made);
    }
    return r;
}

int translate_places_restore(yyjson_val *const *lists, size_t n_lists, struct engine *e,
                             const struct workload_input *w, struct arena *a, struct err *err) {
    const int32_t *next = next_ordinals(e, w, a);
    int64_t n, pods = 0;
    for (size_t l = 0; next != NULL && l < n_lists; l++) {
        yyjson_val *item;
        size_t i, max;
        yyjson_arr_foreach(lists[l], i, max, item) {
            n = item_count(item, pods);
            int r =
                n > 0 ? restore_item(item, n, next, e, w, a, err)
                      : err_set(err, ERR_INVALID, "item %zu: expected count and index of pods", i);
            if (r != 0) {
                return r;
            }
            pods += n;
        }
    }
    return next != NULL ? 0 : ERR_NOMEM;
}

/* Deals the first `n` devices of a resource that are not yet dealt to one container. */
static void deal(const struct seat *s, bool *dealt, struct str container, uint32_t resource,
                 int64_t n, struct pod_devices *d) {
    for (size_t i = 0; i < s->n_devices && n > 0; i++) {
        const struct seat_device *x = &s->devices[i];
        if (!dealt[i] && x->resource == resource) {
            dealt[i] = true;
            n--;
            d->v[d->n++] = (struct pod_device){.container = container,
                                               .gpu = x->gpu,
                                               .profile_id = x->profile_id,
                                               .profile = x->profile,
                                               .start = x->start,
                                               .size = x->size};
        }
    }
}

static void deal_containers(const struct container_list *l, const struct seat *s, bool fresh_each,
                            struct names *resources, bool *dealt, struct pod_devices *d,
                            size_t cap) {
    for (size_t i = 0; i < l->n; i++) {
        const struct resources *r = l->v[i].resources;
        if (fresh_each && !str_is(l->v[i].restart_policy, "Always")) {
            memset(dealt, 0, s->n_devices); /* it is done before the others begin */
        }
        const struct quantity_map none = {0};
        const struct quantity_map *m = r == NULL         ? &none
                                       : r->limits.n > 0 ? &r->limits
                                                         : &r->requests;
        for (size_t k = 0; k < m->n; k++) {
            uint32_t id = names_find(resources, m->v[k].key);
            int64_t n = translate_amount(m->v[k].key, m->v[k].value);
            if (d->n + s->n_devices <= cap) {
                deal(s, dealt, l->v[i].name, id, n, d);
            }
        }
    }
}

int translate_devices_json(const struct seat *s, const struct pod_spec *p, struct names *resources,
                           struct arena *a, struct buf *out) {
    size_t cap = (s->n_devices + 1) * (p->containers.n + p->init_containers.n + 1);
    struct pod_devices d = {ARENA_ARRAY(a, struct pod_device, cap), 0};
    bool *dealt = ARENA_ARRAY(a, bool, s->n_devices + 1);
    if (d.v == NULL || dealt == NULL) {
        return ERR_NOMEM;
    }
    deal_containers(&p->containers, s, false, resources, dealt, &d, cap);
    memset(dealt, 0, s->n_devices);
    deal_containers(&p->init_containers, s, true, resources, dealt, &d, cap);
    pod_devices_encode(&d, out);
    return buf_ok(out);
}
