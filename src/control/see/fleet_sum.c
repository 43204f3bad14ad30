/*
 * fleet_sum: what there is of each type: cards one by one where their nodes tell of them, else by the numbers of
 * gpu_inventory; then what waits, by the tallies of the ClusterQueues.
 */
#include "control/see/fleet_private.h"

#include <stdlib.h>

#include "core/place/pool.h"

/* ---- types and their counts ---- */

static struct fleet_type *type_of(struct fleet_sums *s, struct str flavor, struct str product) {
    size_t i = 0;
    int by = 1;
    while (i < s->n && (by = str_cmp(s->v[i].flavor, flavor)) < 0) {
        i++;
    }
    if (i < s->n && by == 0) {
        s->v[i].product = s->v[i].product.n ? s->v[i].product : product;
        return &s->v[i];
    }
    if (s->n == FLEET_TYPES_MAX) {
        return NULL;
    }
    struct fleet_count *counts = ARENA_ARRAY(s->arena, struct fleet_count, FLEET_COUNTS_MAX);
    if (counts == NULL) {
        return NULL;
    }
    memmove(&s->v[i + 1], &s->v[i], (s->n - i) * sizeof *s->v);
    s->v[i] = (struct fleet_type){.flavor = flavor, .product = product, .v = counts};
    s->n++;
    return &s->v[i];
}

/* NULL: more resources than anything has. The first is that of whole GPUs. */
static struct fleet_count *count_of(struct fleet_type *t, struct str resource) {
    for (size_t i = 0; i < t->n; i++) {
        if (str_eq(t->v[i].resource, resource)) {
            return &t->v[i];
        }
    }
    if (t->n == FLEET_COUNTS_MAX) {
        return NULL;
    }
    t->v[t->n] = (struct fleet_count){.resource = resource};
    return &t->v[t->n++];
}

/* ---- a card ---- */

struct fleet_sum_look {
    const struct gpu_card *g;
    bool serves, whole_held, whole_kept;
    struct mig_board board;
    struct mig_state state; /* what is used, and what is kept for bookings */
    struct mig_profile profiles[INVENTORY_PROFILES_MAX];
};

static ptrdiff_t profile_of(const struct gpu_card *g, int32_t id) {
    for (size_t i = 0; i < g->n_profiles; i++) {
        if (g->profiles[i].id == id) {
            return (ptrdiff_t)i;
        }
    }
    return -1;
}

static ptrdiff_t profile_named(const struct gpu_card *g, struct str name) {
    for (size_t i = 0; i < g->n_profiles; i++) {
        if (str_eq(g->profiles[i].name, name)) {
            return (ptrdiff_t)i;
        }
    }
    return -1;
}

static void look_at(struct fleet_sum_look *k, const struct fleet_node *n,
                    const struct gpu_card *g) {
    k->g = g;
    k->serves = fleet_node_serves(n) && g->healthy;
    k->whole_held = g->pod_uid.n > 0;
    k->whole_kept = false;
    k->state = (struct mig_state){0};
    for (size_t i = 0; i < g->n_profiles; i++) {
        const struct gpu_profile *p = &g->profiles[i];
        k->profiles[i] = (struct mig_profile){.id = p->id,
                                              .size = p->size,
                                              .max = p->max_instances,
                                              .starts = p->starts,
                                              .media = p->media,
                                              .name = p->name};
    }
    k->board = (struct mig_board){k->profiles, g->n_profiles, g->slices};
    for (size_t i = 0; i < g->n_instances; i++) {
        const struct gpu_instance *in = &g->instances[i];
        ptrdiff_t p = in->pod_uid.n ? profile_of(g, in->profile_id) : -1;
        if (p >= 0 && in->start < g->slices) {
            k->state.at[in->start] = (int8_t)(p + 1);
        }
    }
}

/* Slices in use, as a share of the card. */
static double share_used(const struct gpu_card *g) {
    int32_t slices = 0;
    for (size_t i = 0; i < g->n_instances; i++) {
        slices += g->instances[i].pod_uid.n ? g->instances[i].size : 0;
    }
    return g->pod_uid.n ? 1 : g->slices > 0 ? (double)slices / g->slices : 0;
}

static bool is_used(const struct gpu_card *g) {
    for (size_t i = 0; i < g->n_instances; i++) {
        if (g->instances[i].pod_uid.n) {
            return true;
        }
    }
    return g->pod_uid.n > 0;
}

/* What bookings keep here and do not use. */
static double add_kept(struct fleet_type *t, struct fleet_sum_look *k,
                       const struct fleet_place *places) {
    double share = 0;
    for (const struct fleet_place *p = places; p; p = p->next) {
        ptrdiff_t profile = profile_named(k->g, p->profile);
        if (p->profile.n == 0) {
            k->whole_kept = true;
            share = is_used(k->g) ? share : 1;
            continue;
        }
        if (profile < 0 || !mig_legal(&k->board, &k->state, (size_t)profile, p->start)) {
            continue; /* in use by its own, or by somebody who has yet to go */
        }
        k->state.at[p->start] = (int8_t)(profile + 1);
        share += (double)k->profiles[profile].size / (k->g->slices > 0 ? k->g->slices : 1);
        struct fleet_count *c = count_of(t, k->g->profiles[profile].resource);
        if (c) {
            c->reserved++;
        }
    }
    return share;
}

static void add_profiles(struct fleet_type *t, const struct fleet_sum_look *k) {
    const struct gpu_card *g = k->g;
    bool cut = g->mig_enabled || g->mig_managed;
    for (size_t i = 0; cut && i < g->n_profiles; i++) {
        struct fleet_count *c = count_of(t, g->profiles[i].resource);
        int64_t most = mig_most(&k->board, i);
        if (c == NULL) {
            return;
        }
        c->total += most;
        c->broken += k->serves ? 0 : most;
        c->free += k->serves && !k->whole_held && !k->whole_kept
                       ? mig_room_for(&k->board, &k->state, i)
                       : 0;
    }
    for (size_t i = 0; i < g->n_instances; i++) {
        ptrdiff_t p = profile_of(g, g->instances[i].profile_id);
        struct fleet_count *c = p >= 0 ? count_of(t, g->profiles[p].resource) : NULL;
        if (c && g->instances[i].pod_uid.n) {
            c->used++;
        }
    }
}

static void add_busy(struct fleet_type *t, const struct gpu_card *g) {
    if (g->utilization_pct >= 0) {
        t->busy += g->utilization_pct;
        t->busy_of += 1;
        return;
    }
    bool known = false;
    double busy = 0;
    for (size_t i = 0; i < g->n_instances && g->slices > 0; i++) {
        int32_t pct = g->instances[i].utilization_pct;
        known = known || pct >= 0;
        busy += pct > 0 ? (double)pct * g->instances[i].size / g->slices : 0;
    }
    t->busy += busy;
    t->busy_of += known ? 1 : 0;
}

static void add_card(struct fleet_sums *s, struct fleet_type *t, const struct fleet_node *n,
                     const struct gpu_card *g) {
    struct fleet_sum_look k;
    look_at(&k, n, g);
    const struct fleet_place *places = fleet_places_of(s, g->uuid);
    struct fleet_count *whole = count_of(t, STR(POOL_GPU_RESOURCE));
    double kept = k.serves ? add_kept(t, &k, places) : 0, used = share_used(g);
    bool as_whole = !g->mig_enabled || g->mig_managed;
    add_profiles(t, &k);
    add_busy(t, g);
    t->total += 1;
    t->used += used;
    t->reserved += kept < 1 - used ? kept : 1 - used;
    if (whole == NULL || !as_whole) {
        return;
    }
    whole->total++;
    *(!k.serves        ? &whole->broken
      : is_used(g)     ? &whole->used
      : places != NULL ? &whole->reserved
                       : &whole->free) += 1;
}

/* ---- nodes of which only numbers are known ---- */

/* The share of a GPU that a slice is, by its memory: "nvidia.com/mig-3g.71gb". */
static double share_of(struct str resource, int64_t memory_mib) {
    struct str rest = str_skip(resource, strlen("nvidia.com/mig-")), compute, memory;
    int64_t g = 0, gb = 0;
    if (!str_starts(resource, STR("nvidia.com/mig-")) || !str_cut(rest, '.', &compute, &memory)) {
        return 1;
    }
    (void)str_to_i64(str_head(compute, compute.n ? compute.n - 1 : 0), &g);
    ptrdiff_t end = str_find(memory, 'g');
    (void)str_to_i64(str_head(memory, end > 0 ? (size_t)end : 0), &gb);
    double share =
        memory_mib > 0 && gb > 0 ? (double)gb * 1024 / (double)memory_mib : (double)g / 7;
    return share > 1 ? 1 : share;
}

struct bare {
    struct fleet *f;
    struct fleet_sums *s;
};

/* A node without inventory that has the product, for its flavor. */
static const struct fleet_node *node_with(const struct fleet *f, struct str product) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&f->nodes, &at));) {
        const struct fleet_node *n = e->value;
        if (!n->told && n->n_amounts && str_eq(n->product, product)) {
            return n;
        }
    }
    return NULL;
}

static void add_bare(void *ctx, const struct gpu_sum *g) {
    struct bare *b = ctx;
    const struct fleet_node *n = g->bare.total ? node_with(b->f, g->product) : NULL;
    struct fleet_type *t =
        n ? type_of(b->s, arena_str(b->s->arena, n->flavor), arena_str(b->s->arena, g->product))
          : NULL;
    struct fleet_count *c = t ? count_of(t, arena_str(b->s->arena, g->resource)) : NULL;
    if (c == NULL) {
        return;
    }
    double share = share_of(g->resource, n->memory_mib);
    c->total += g->bare.total;
    c->broken += g->bare.unhealthy + g->bare.cordoned;
    c->used += g->bare.allocated;
    c->free += g->bare.idle;
    t->total += share * (double)g->bare.total;
    t->used += share * (double)g->bare.allocated;
}

/* Without gpu_inventory: what nodes say, and what queues gave out there. */
static int64_t given_out(struct fleet *f, struct str flavor, struct str resource) {
    uint32_t fl = names_find(engine_flavors(f->c->engine), flavor);
    uint32_t re = names_find(engine_resources(f->c->engine), resource);
    int64_t sum = 0;
    size_t at = 0;
    for (const struct map_entry *e;
         fl != NAME_ABSENT && re != NAME_ABSENT && (e = map_next(&f->c->clusters, &at));) {
        sum += tally_reserved(&((const struct cluster_state *)e->value)->tally, fl, re);
    }
    return sum;
}

static void add_amounts(struct fleet_sums *s, const struct fleet_node *n) {
    struct fleet_type *t = type_of(s, n->flavor, n->product);
    for (size_t i = 0; t && i < n->n_amounts; i++) {
        const struct fleet_amount *a = &n->amounts[i];
        struct fleet_count *c = count_of(t, a->resource);
        if (c == NULL) {
            return;
        }
        int64_t good = a->allocatable < a->capacity ? a->allocatable : a->capacity;
        good = fleet_node_serves(n) ? good : 0;
        c->total += a->capacity;
        c->broken += a->capacity - good;
        c->free += good;
        t->total += share_of(a->resource, n->memory_mib) * (double)a->capacity;
    }
}

static void take_given(struct fleet *f, struct fleet_sums *s) {
    for (size_t i = 0; i < s->n; i++) {
        struct fleet_type *t = &s->v[i];
        for (size_t k = 0; k < t->n; k++) {
            int64_t given = given_out(f, t->flavor, t->v[k].resource);
            given = given < t->v[k].free ? given : t->v[k].free;
            t->v[k].used += given;
            t->v[k].free -= given;
            t->used += share_of(t->v[k].resource, 0) * (double)given;
        }
    }
}

static void add_unknown(struct fleet *f, struct fleet_sums *s) {
    struct bare b = {f, s};
    size_t at = 0;
    if (f->c->env->gpus) {
        gpu_inventory_each(f->c->env->gpus, add_bare, &b);
        return;
    }
    for (const struct map_entry *e; (e = map_next(&f->nodes, &at));) {
        const struct fleet_node *n = e->value;
        if (!n->told && n->n_amounts) {
            add_amounts(s, n);
        }
    }
    take_given(f, s);
}

/* ---- bookings ---- */

/* Those that have exact places are found by their GPU; the others are numbers. */
static int place_bookings(struct fleet *f, struct fleet_sums *s) {
    size_t at = 0;
    int r = 0;
    for (const struct map_entry *e; (e = map_next(&f->bookings, &at));) {
        struct fleet_booking *b = e->value;
        bool holds = b->phase == FLEET_HOLDS || b->phase == FLEET_DEGRADED;
        for (size_t i = 0; holds && i < b->n_places && r == 0; i++) {
            struct fleet_place *p = &b->places[i];
            p->next = p->gpu.n ? map_get(&s->by_gpu, p->gpu) : NULL;
            r = p->gpu.n ? map_put(&s->by_gpu, p->gpu, p, NULL) : 0;
        }
    }
    return r;
}

const struct fleet_place *fleet_places_of(const struct fleet_sums *s, struct str gpu) {
    return map_get(&s->by_gpu, gpu);
}

/* What of a booked number its own queue has not given out, out of what is free. */
static void keep_numbers(struct fleet *f, struct fleet_sums *s, const struct fleet_booking *b) {
    const struct cluster_state *q = map_get(&f->c->clusters, b->queue);
    for (size_t i = 0; i < b->n_places; i++) {
        const struct fleet_place *p = &b->places[i];
        uint32_t fl = names_find(engine_flavors(f->c->engine), p->flavor);
        uint32_t re = names_find(engine_resources(f->c->engine), p->resource);
        int64_t used =
            q && fl != NAME_ABSENT && re != NAME_ABSENT ? tally_reserved(&q->tally, fl, re) : 0;
        struct fleet_type *t = p->gpu.n ? NULL : type_of(s, p->flavor, (struct str){0});
        struct fleet_count *c = t ? count_of(t, p->resource) : NULL;
        if (c == NULL) {
            continue;
        }
        for (size_t k = 0; k < i; k++) { /* entries of the same resource share what is used */
            bool same = str_eq(b->places[k].flavor, p->flavor) &&
                        str_eq(b->places[k].resource, p->resource);
            used -= same ? b->places[k].count : 0;
        }
        int64_t kept = p->count - (used > 0 ? used : 0);
        kept = kept < c->free ? kept : c->free;
        if (kept > 0) {
            c->reserved += kept;
            c->free -= kept;
            t->reserved += share_of(p->resource, 0) * (double)kept;
        }
    }
}

/* ---- what waits ---- */

static void wait_for(struct fleet_sums *s, const struct cluster_shape *shape, struct str resource,
                     int64_t n) {
    for (size_t i = 0; i < shape->n; i++) {
        const struct cluster_flavor *fl = &shape->flavors[i];
        bool gives = false;
        for (size_t k = 0; k < fl->n; k++) {
            gives = gives || str_eq(fl->v[k].name, resource);
        }
        for (size_t k = 0; gives && k < s->n; k++) {
            struct fleet_count *c =
                str_eq(s->v[k].flavor, fl->name) ? count_of(&s->v[k], resource) : NULL;
            if (c) {
                c->waiting += n;
            }
        }
    }
}

static void add_waiting(struct fleet *f, struct fleet_sums *s) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&f->c->clusters, &at));) {
        const struct cluster_state *q = e->value;
        for (size_t i = 0; q->exists && q->shape && i < q->tally.n; i++) {
            const struct tally_cell *v = &q->tally.v[i];
            if (v->flavor != NAME_ABSENT || v->reserved <= 0) {
                continue;
            }
            struct str resource = names_text(engine_resources(f->c->engine), v->resource);
            if (str_starts(resource, STR("nvidia.com/"))) {
                wait_for(s, q->shape, resource,
                         tally_reserved(&q->tally, NAME_ABSENT, v->resource));
            }
        }
    }
}

/* ---- all ---- */

/* "nvidia.com/mig-3g.71gb.me": 3 and 71; 0 of whole GPUs. */
static int64_t size_of(struct str resource) {
    struct str rest = str_skip(resource, strlen("nvidia.com/mig-"));
    int64_t n[2] = {0};
    size_t at = 0;
    if (!str_starts(resource, STR("nvidia.com/mig-"))) {
        return 0;
    }
    for (size_t i = 0; i < rest.n && at < 2; i++) {
        char c = rest.p[i];
        if (c >= '0' && c <= '9') {
            n[at] = n[at] < 1000000 ? n[at] * 10 + (c - '0') : n[at];
        } else {
            at += n[at] > 0 && (c == 'g');
        }
    }
    return n[0] * 10000000 + n[1];
}

/* Whole GPUs, then slices by size. */
static int by_size(const void *a, const void *b) {
    const struct fleet_count *x = a, *y = b;
    int64_t p = size_of(x->resource), q = size_of(y->resource);
    return p != q ? (p < q ? -1 : 1) : str_cmp(x->resource, y->resource);
}

static void add_told(struct fleet *f, struct fleet_sums *s) {
    size_t at = 0;
    for (const struct map_entry *e; (e = map_next(&f->nodes, &at));) {
        const struct fleet_node *n = e->value;
        for (size_t i = 0; n->told && i < n->inv.n; i++) {
            struct str product = n->product.n ? n->product : n->inv.gpus[i].model;
            struct fleet_type *t = type_of(s, n->flavor, product);
            if (t) {
                add_card(s, t, n, &n->inv.gpus[i]);
            }
        }
    }
}

int fleet_sum(struct fleet *f, struct arena *a, struct fleet_sums *ret) {
    size_t at = 0;
    *ret = (struct fleet_sums){.arena = a};
    ret->v = ARENA_ARRAY(a, struct fleet_type, FLEET_TYPES_MAX + 1);
    int r = fleet_nodes_refresh(f, a);
    if (r == 0) {
        r = place_bookings(f, ret);
    }
    if (r != 0 || ret->v == NULL) {
        return ERR_NOMEM;
    }
    add_unknown(f, ret);
    add_told(f, ret);
    for (const struct map_entry *e; (e = map_next(&f->bookings, &at));) {
        const struct fleet_booking *b = e->value;
        if (b->phase == FLEET_HOLDS || b->phase == FLEET_DEGRADED) {
            keep_numbers(f, ret, b);
        }
    }
    add_waiting(f, ret);
    for (size_t i = 0; i < ret->n; i++) {
        qsort(ret->v[i].v, ret->v[i].n, sizeof *ret->v[i].v, by_size);
    }
    return arena_ok(a);
}

void fleet_sums_release(struct fleet_sums *s) {
    map_release(&s->by_gpu);
}
