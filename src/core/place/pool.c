/* pool (core): nodes and seats; pool_plan.c chooses. */
#include "core/place/pool_private.h"
#include "core/quota/amount.h"

#include <assert.h>

struct pool *pool_new(struct names *resources) {
    struct pool *p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return NULL;
    }
    p->names = resources;
    if (names_intern(resources, STR(POOL_GPU_RESOURCE), &p->gpu_resource) != 0) {
        mem_free(p);
        return NULL;
    }
    return p;
}

static void node_free(struct pool_node *n) {
    if (n != NULL) {
        mem_free(n->memory.p);
        mem_free(n);
    }
}

void pool_free(struct pool *p) {
    if (p == NULL) {
        return;
    }
    while (p->seats != NULL) {
        p->seats->pod = p->seats->workload = (struct str){0};
        struct seat *s = p->seats;
        p->seats = s->next;
        mem_free(s);
    }
    for (struct seat *s; (s = p->claims) != NULL;) {
        p->claims = s->next;
        mem_free(s);
    }
    pins_free(p);
    homes_free(p);
    spot_vec_release(&p->trial.spots);
    pick_vec_release(&p->trial.picks);
    size_t i = 0, k = 0;
    for (const struct map_entry *e; (e = map_next(&p->groups, &i)) != NULL;) {
        mem_free(e->value);
    }
    for (const struct map_entry *e; (e = map_next(&p->loose, &k)) != NULL;) {
        mem_free(e->value);
    }
    for (i = 0; i < p->nodes.n; i++) {
        node_free(p->nodes.v[i]);
    }
    i = 0;
    for (const struct map_entry *e; (e = map_next(&p->pods, &i)) != NULL;) {
        mem_free((char *)e->key.p);
    }
    map_release(&p->groups);
    map_release(&p->loose);
    map_release(&p->pods);
    pool_nodes_release(&p->nodes);
    mem_free(p);
}

/* ---- nodes ---- */

size_t pool_node_place(const struct pool *p, struct str name, bool *ret_there) {
    size_t lo = 0, hi = p->nodes.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (str_cmp(p->nodes.v[mid]->name, name) < 0) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    *ret_there = lo < p->nodes.n && str_eq(p->nodes.v[lo]->name, name);
    return lo;
}

struct pool_node *pool_node(const struct pool *p, struct str name) {
    bool there;
    size_t at = pool_node_place(p, name, &there);
    return there ? p->nodes.v[at] : NULL;
}

struct node_room *pool_room(const struct pool_node *n, uint32_t resource) {
    for (size_t i = 0; i < n->n_rooms; i++) {
        if (n->rooms[i].resource == resource) {
            return &n->rooms[i];
        }
    }
    return NULL;
}

struct pool_gpu *pool_gpu(const struct pool_node *n, struct str uuid) {
    for (size_t i = 0; i < n->n_gpus; i++) {
        if (str_eq(n->gpus[i].uuid, uuid)) {
            return &n->gpus[i];
        }
    }
    return NULL;
}

int32_t gpu_profile_of(const struct pool_gpu *g, uint32_t resource) {
    for (size_t i = 0; i < g->board.n; i++) {
        if (g->board.profiles[i].resource == resource) {
            return (int32_t)i;
        }
    }
    return -1;
}

bool node_counts_devices(const struct pool *p, const struct pool_node *n, uint32_t resource) {
    if (n->n_gpus == 0) {
        return false;
    }
    if (resource == p->gpu_resource) {
        return true;
    }
    for (size_t i = 0; i < n->n_gpus; i++) {
        if (gpu_profile_of(&n->gpus[i], resource) >= 0) {
            return true;
        }
    }
    return false;
}

struct mig_state gpu_state(const struct pool_gpu *g) {
    struct mig_state s = g->held;
    uint32_t mask = mig_mask(&g->board, &s);
    for (int32_t i = 0; i < g->board.slices; i++) {
        int8_t live = g->live.at[i];
        if (live > 0) {
            uint32_t span = mig_span(i, g->board.profiles[live - 1].size);
            if ((mask & span) == 0) {
                s.at[i] = live;
                mask |= span;
            }
        }
    }
    s.shut = g->shut;
    return s;
}

bool gpu_takes_slices(const struct pool_gpu *g) {
    return g->in_service && g->board.slices > 0 && (g->mig_on || g->may_switch) && !g->held_whole &&
           !g->live_whole && !g->shut_whole;
}

bool gpu_takes_whole(const struct pool_gpu *g) {
    struct mig_state s = gpu_state(g);
    return g->in_service && (!g->mig_on || g->may_switch) && !g->held_whole && !g->live_whole &&
           !g->shut_whole && mig_mask(&g->board, &s) == 0;
}

static size_t gpus_size(const struct inventory *inv) {
    size_t n = 0;
    for (size_t i = 0; inv != NULL && i < inv->n; i++) {
        n += bump_size(inv->gpus[i].uuid.n);
        n += bump_size(inv->gpus[i].n_profiles * sizeof(struct mig_profile));
        for (size_t k = 0; k < inv->gpus[i].n_profiles; k++) {
            n += bump_size(inv->gpus[i].profiles[k].name.n);
        }
    }
    return n + bump_size((inv != NULL ? inv->n : 0) * sizeof(struct pool_gpu));
}

static int gpu_fill(struct pool *p, struct bump *b, const struct gpu_card *in, struct pool_gpu *g) {
    struct mig_profile *profiles = bump_alloc(b, in->n_profiles * sizeof(*profiles));
    *g = (struct pool_gpu){
        .uuid = bump_str(b, in->uuid),
        .index = in->index,
        .in_service = in->healthy,
        .mig_on = in->mig_enabled,
        .may_switch = in->mig_managed,
        .board = {profiles, in->n_profiles,
                  in->slices < INVENTORY_SLICES_MAX ? in->slices : INVENTORY_SLICES_MAX},
        .live_whole = !str_empty(in->pod_uid),
        .live_whole_pod = hash_str(0, in->pod_uid),
    };
    for (size_t k = 0; k < in->n_profiles; k++) {
        const struct gpu_profile *q = &in->profiles[k];
        profiles[k] = (struct mig_profile){.id = q->id,
                                           .size = q->size,
                                           .max = q->max_instances,
                                           .starts = q->starts,
                                           .media = q->media,
                                           .name = bump_str(b, q->name)};
        if (q->size < 1 || q->size > INVENTORY_SLICES_MAX) {
            profiles[k].size = 1;
            profiles[k].starts = 0; /* never legal */
        }
        if (names_intern(p->names, q->resource, &profiles[k].resource) != 0) {
            return ERR_NOMEM;
        }
    }
    for (size_t i = 0; i < in->n_instances; i++) {
        const struct gpu_instance *v = &in->instances[i];
        for (size_t k = 0; k < in->n_profiles && !str_empty(v->pod_uid); k++) {
            if (profiles[k].id == v->profile_id && v->start >= 0 && v->start < g->board.slices &&
                v->start + profiles[k].size <= g->board.slices) {
                g->live.at[v->start] = (int8_t)(k + 1);
                g->live_pod[v->start] = hash_str(0, v->pod_uid);
                break;
            }
        }
    }
    return 0;
}

static int gpu_by_index(const void *a, const void *b) {
    const struct pool_gpu *x = a, *y = b;
    return x->index != y->index ? (x->index > y->index) - (x->index < y->index)
                                : str_cmp(x->uuid, y->uuid);
}

static int node_build(struct pool *p, const struct node_input *in, struct pool_node **ret) {
    struct pool_node *n = mem_zalloc(sizeof(*n));
    size_t size = bump_size(in->name.n) + str_map_size(in->labels) + taints_size(in->taints) +
                  bump_size(in->n_amounts * sizeof(*n->rooms)) + gpus_size(in->inventory);
    struct bump b = {.p = mem_alloc(size), .cap = size};
    if (n == NULL || b.p == NULL) {
        mem_free(n);
        mem_free(b.p);
        return ERR_NOMEM;
    }
    n->managed = in->managed;
    n->ready = in->ready;
    n->name = bump_str(&b, in->name);
    n->labels = str_map_copy(&b, in->labels);
    n->taints = taints_copy(&b, in->taints);
    n->rooms = bump_alloc(&b, in->n_amounts * sizeof(*n->rooms));
    n->n_gpus = in->inventory != NULL ? in->inventory->n : 0;
    n->gpus = bump_alloc(&b, n->n_gpus * sizeof(*n->gpus));
    int r = 0;
    for (size_t i = 0; i < in->n_amounts && r == 0; i++) {
        n->rooms[i].total = in->amounts[i].v;
        r = names_intern(p->names, in->amounts[i].resource, &n->rooms[i].resource);
        n->n_rooms++;
    }
    for (size_t i = 0; i < n->n_gpus && r == 0; i++) {
        r = gpu_fill(p, &b, &in->inventory->gpus[i], &n->gpus[i]);
    }
    if (n->n_gpus > 1) {
        qsort(n->gpus, n->n_gpus, sizeof(*n->gpus), gpu_by_index);
    }
    n->memory = b;
    if (r != 0) {
        node_free(n);
        return r;
    }
    *ret = n;
    return 0;
}

/* Everything of a node that a plan looks at, seats apart. */
static uint64_t node_digest(const struct pool_node *n) {
    uint64_t h = hash_mix(n->managed, n->ready);
    for (size_t i = 0; i < n->labels.n; i++) {
        h = hash_str(hash_str(h, n->labels.v[i].key), n->labels.v[i].value);
    }
    for (size_t i = 0; i < n->taints.n; i++) {
        h = hash_str(hash_str(h, n->taints.v[i].key), n->taints.v[i].value);
        h = hash_str(h, n->taints.v[i].effect);
    }
    for (size_t i = 0; i < n->n_rooms; i++) {
        h = hash_mix(hash_mix(h, n->rooms[i].resource), (uint64_t)n->rooms[i].total);
    }
    for (size_t i = 0; i < n->n_gpus; i++) {
        const struct pool_gpu *g = &n->gpus[i];
        h = hash_mix(hash_str(h, g->uuid), (uint64_t)g->in_service | (uint64_t)g->mig_on << 1 |
                                               (uint64_t)g->may_switch << 2 |
                                               (uint64_t)g->live_whole << 3);
        h = hash_str(h, str_from((const char *)g->live.at, sizeof(g->live.at)));
        h = hash_str(h, str_from((const char *)g->live_pod, sizeof(g->live_pod)));
        h = hash_mix(h, g->live_whole_pod);
        for (size_t k = 0; k < g->board.n; k++) {
            h = hash_mix(hash_mix(h, (uint64_t)g->board.profiles[k].id),
                         g->board.profiles[k].starts);
        }
    }
    return h;
}

int32_t gpu_profile_at(const struct pool_gpu *g, int32_t id) {
    for (size_t k = 0; k < g->board.n; k++) {
        if (g->board.profiles[k].id == id) {
            return (int32_t)k;
        }
    }
    return -1;
}

/* ---- pods that have ended, and are still seen ---- */

/* What the inventory shows of this pod goes, as soon as the node has taken it back. */
static void live_leaves(struct pool_node *n, struct str pod) {
    uint64_t uid = hash_str(0, pod);
    for (size_t k = 0; n != NULL && k < n->n_gpus; k++) {
        struct pool_gpu *g = &n->gpus[k];
        for (int32_t i = 0; i < g->board.slices; i++) {
            bool it = g->live.at[i] > 0 && g->live_pod[i] == uid;
            g->leaving |= it ? 1u << i : 0;
        }
        g->leaving_whole = g->leaving_whole || (g->live_whole && g->live_whole_pod == uid);
        n->leaving = n->leaving || g->leaving != 0 || g->leaving_whole;
    }
}

/* The same node was made anew: what left, still leaves. */
static void leaving_carry(const struct pool_node *old, struct pool_node *n) {
    for (size_t k = 0; old->leaving && k < n->n_gpus; k++) {
        struct pool_gpu *g = &n->gpus[k];
        const struct pool_gpu *o = pool_gpu(old, g->uuid);
        for (int32_t i = 0; o != NULL && i < g->board.slices; i++) {
            bool it = (o->leaving & 1u << i) != 0 && g->live.at[i] > 0 &&
                      g->live_pod[i] == o->live_pod[i];
            g->leaving |= it ? 1u << i : 0;
        }
        g->leaving_whole = o != NULL && o->leaving_whole && g->live_whole &&
                           g->live_whole_pod == o->live_whole_pod;
        n->leaving = n->leaving || g->leaving != 0 || g->leaving_whole;
    }
}

/* ---- what seats hold ---- */

static bool gpu_hold(struct pool_gpu *g, const struct seat_device *d) {
    if (d->profile_id < 0) {
        if (g->held_whole || mig_mask(&g->board, &g->held) != 0) {
            return false;
        }
        g->held_whole = true;
        return true;
    }
    int32_t k = gpu_profile_at(g, d->profile_id);
    int32_t size = k >= 0 ? g->board.profiles[k].size : 0;
    if (k < 0 || d->start < 0 || d->start + size > g->board.slices) {
        return false;
    }
    uint32_t span = mig_span(d->start, size);
    if (g->held_whole || (mig_mask(&g->board, &g->held) & span) != 0) {
        return false;
    }
    g->held.at[d->start] = (int8_t)(k + 1);
    return true;
}

/* Counts a seat on its node. What the pool does not know, or what is held already, stays uncounted. */
static void seat_count(struct pool *p, struct seat *s) {
    struct pool_node *n = pool_node(p, s->node);
    if (n == NULL) {
        return;
    }
    s->counted = true;
    for (size_t i = 0; i < s->n_amounts; i++) {
        struct node_room *room = pool_room(n, s->amounts[i].resource);
        if (room != NULL) {
            room->used += s->amounts[i].v;
        }
    }
    for (size_t i = 0; i < s->n_devices; i++) {
        struct pool_gpu *g = pool_gpu(n, s->devices[i].gpu);
        s->devices[i].counted = g != NULL && gpu_hold(g, &s->devices[i]);
    }
}

static void seat_uncount(struct pool *p, struct seat *s) {
    struct pool_node *n = pool_node(p, s->node);
    for (size_t i = 0; s->counted && n != NULL && i < s->n_amounts; i++) {
        struct node_room *room = pool_room(n, s->amounts[i].resource);
        if (room != NULL) {
            room->used -= s->amounts[i].v;
        }
    }
    for (size_t i = 0; i < s->n_devices; i++) {
        struct seat_device *d = &s->devices[i];
        struct pool_gpu *g = n != NULL && d->counted ? pool_gpu(n, d->gpu) : NULL;
        if (g != NULL && d->profile_id < 0) {
            g->held_whole = false;
        } else if (g != NULL) {
            g->held.at[d->start] = 0;
        }
        d->counted = false;
    }
    s->counted = false;
}

static void recount(struct pool *p, struct str node) {
    for (struct seat *s = home_first(p, node); s != NULL; s = s->home_next) {
        p->recounted++;
        s->counted = false;
        seat_count(p, s);
    }
}

int pool_node_put(struct pool *p, const struct node_input *in, bool *ret_changed) {
    struct pool_node *n;
    bool there;
    size_t at = pool_node_place(p, in->name, &there);
    if (!there && p->nodes.n >= POOL_NODES_MAX) {
        return ERR_TOO_MANY;
    }
    if (pool_nodes_room(&p->nodes, 1) != 0) {
        return ERR_NOMEM;
    }
    int r = node_build(p, in, &n);
    if (r != 0) {
        return r;
    }
    n->digest = node_digest(n);
    bool changed = !there || n->digest != p->nodes.v[at]->digest;
    if (!changed) {
        node_free(n);
    } else {
        p->generation += !there || pool_node_gained(p->nodes.v[at], n);
        if (there) {
            leaving_carry(p->nodes.v[at], n);
            p->n_managed -= p->nodes.v[at]->managed;
            node_free(p->nodes.v[at]);
        } else {
            memmove(&p->nodes.v[at + 1], &p->nodes.v[at], (p->nodes.n - at) * sizeof(*p->nodes.v));
            p->nodes.n++;
        }
        p->nodes.v[at] = n;
        p->n_managed += n->managed;
        recount(p, n->name);
        pool_claims_mark(p, n->name);
        pins_mark(p, n->name);
    }
    if (ret_changed != NULL) {
        *ret_changed = changed;
    }
    return 0;
}

bool pool_node_del(struct pool *p, struct str name) {
    bool there;
    size_t at = pool_node_place(p, name, &there);
    if (!there) {
        return false;
    }
    for (struct seat *s = home_first(p, name); s != NULL; s = s->home_next) {
        p->recounted++;
        seat_uncount(p, s);
    }
    p->n_managed -= p->nodes.v[at]->managed;
    node_free(p->nodes.v[at]);
    pool_nodes_remove(&p->nodes, at);
    pool_claims_mark(p, name);
    p->generation++;
    return true;
}

bool pool_has_managed(const struct pool *p) {
    return p->n_managed > 0;
}

size_t pool_seats(const struct pool *p) {
    return p->n_seats;
}

uint64_t pool_generation(const struct pool *p) {
    return p->generation;
}

int64_t pool_most(const struct pool *p, uint32_t resource) {
    int64_t most = 0;
    for (size_t i = 0; i < p->nodes.n; i++) {
        const struct pool_node *n = p->nodes.v[i];
        const struct node_room *room = pool_room(n, resource);
        if (!n->managed) {
            continue;
        }
        if (!node_counts_devices(p, n, resource)) {
            most += room != NULL ? room->total : 0;
            continue;
        }
        for (size_t k = 0; k < n->n_gpus; k++) {
            const struct pool_gpu *g = &n->gpus[k];
            int32_t q = gpu_profile_of(g, resource);
            if (resource == p->gpu_resource) {
                most += !g->mig_on || g->may_switch;
            } else if (q >= 0 && (g->mig_on || g->may_switch)) {
                most += mig_most(&g->board, (size_t)q);
            }
        }
    }
    return most;
}

/* ---- seats ---- */

static size_t seat_size(const struct seat *as) {
    size_t n = bump_size(sizeof(*as)) + bump_size(as->workload.n) + bump_size(as->set.n) +
               bump_size(as->node.n) + bump_size(as->n_amounts * sizeof(*as->amounts)) +
               bump_size(as->n_devices * sizeof(*as->devices));
    for (size_t i = 0; i < as->n_devices; i++) {
        n += bump_size(as->devices[i].gpu.n) + bump_size(as->devices[i].profile.n);
    }
    return n;
}

static struct map *groups_of(struct pool *p, const struct seat *s) {
    return s->loose ? &p->loose : &p->groups;
}

int seat_group_join(struct pool *p, struct seat *s) {
    if (str_empty(s->workload)) {
        return 0;
    }
    struct seat_group *g = map_get(groups_of(p, s), s->workload);
    if (g == NULL) {
        g = mem_zalloc(sizeof(*g) + s->workload.n);
        if (g == NULL) {
            return ERR_NOMEM;
        }
        memcpy(g + 1, s->workload.p, s->workload.n);
        g->workload = (struct str){(const char *)(g + 1), s->workload.n};
        if (map_put(groups_of(p, s), g->workload, g, NULL) != 0) {
            mem_free(g);
            return ERR_NOMEM;
        }
    }
    s->group_prev = g->last;
    *(g->last != NULL ? &g->last->group_next : &g->first) = s;
    g->last = s;
    return 0;
}

/* Those that are leaving are linked as a group is. */
static void leaving_join(struct pool *p, struct seat *s) {
    s->leaving = true;
    s->group_next = p->leaving;
    if (p->leaving != NULL) {
        p->leaving->group_prev = s;
    }
    p->leaving = s;
}

static void leaving_leave(struct pool *p, struct seat *s) {
    *(s->group_prev != NULL ? &s->group_prev->group_next : &p->leaving) = s->group_next;
    if (s->group_next != NULL) {
        s->group_next->group_prev = s->group_prev;
    }
    s->group_prev = s->group_next = NULL;
    s->leaving = false;
}

void seat_group_leave(struct pool *p, struct seat *s) {
    if (s->leaving) {
        leaving_leave(p, s);
        return;
    }
    struct seat_group *g = str_empty(s->workload) ? NULL : map_get(groups_of(p, s), s->workload);
    if (g == NULL) {
        return;
    }
    *(s->group_prev != NULL ? &s->group_prev->group_next : &g->first) = s->group_next;
    *(s->group_next != NULL ? &s->group_next->group_prev : &g->last) = s->group_prev;
    s->group_prev = s->group_next = NULL;
    if (g->first == NULL) {
        map_del(groups_of(p, s), g->workload);
        mem_free(g);
    }
}

static int pod_bind(struct pool *p, struct seat *s, struct str pod) {
    if (str_empty(pod)) {
        return 0;
    }
    char *key = mem_cstr(pod);
    if (key == NULL || map_put(&p->pods, str_from(key, pod.n), s, NULL) != 0) {
        mem_free(key);
        return ERR_NOMEM;
    }
    s->pod = str_from(key, pod.n);
    return 0;
}

static void pod_unbind(struct pool *p, struct seat *s) {
    if (!str_empty(s->pod)) {
        map_del(&p->pods, s->pod);
        mem_free((char *)s->pod.p);
        s->pod = (struct str){0};
    }
}

int pool_seat_make(const struct seat *as, struct seat **ret) {
    size_t size = seat_size(as);
    struct bump b = {.p = mem_alloc(size), .cap = size};
    if (b.p == NULL) {
        return ERR_NOMEM;
    }
    struct seat *s = bump_alloc(&b, sizeof(*s));
    s->ordinal = as->ordinal;
    s->loose = as->loose;
    s->n_amounts = as->n_amounts;
    s->n_devices = as->n_devices;
    s->workload = bump_str(&b, as->workload);
    s->set = bump_str(&b, as->set);
    s->node = bump_str(&b, as->node);
    s->amounts = bump_alloc(&b, as->n_amounts * sizeof(*s->amounts));
    s->devices = bump_alloc(&b, as->n_devices * sizeof(*s->devices));
    for (size_t i = 0; i < as->n_amounts; i++) {
        s->amounts[i] = as->amounts[i];
    }
    for (size_t i = 0; i < as->n_devices; i++) {
        s->devices[i] = as->devices[i];
        s->devices[i].counted = s->devices[i].live_lifted = false;
        s->devices[i].gpu = bump_str(&b, as->devices[i].gpu);
        s->devices[i].profile = bump_str(&b, as->devices[i].profile);
    }
    *ret = s;
    return 0;
}

int pool_seat_new(struct pool *p, const struct seat *as, struct seat **ret) {
    struct seat *s;
    int r = p->n_seats >= POOL_SEATS_MAX ? ERR_TOO_MANY : pool_seat_make(as, &s);
    if (r != 0) {
        return r;
    }
    if (pod_bind(p, s, as->pod) != 0) {
        mem_free(s);
        return ERR_NOMEM;
    }
    if (seat_group_join(p, s) != 0) {
        pod_unbind(p, s);
        mem_free(s);
        return ERR_NOMEM;
    }
    if (home_join(p, s) != 0) {
        seat_group_leave(p, s);
        pod_unbind(p, s);
        mem_free(s);
        return ERR_NOMEM;
    }
    s->prev = p->last;
    *(p->last != NULL ? &p->last->next : &p->seats) = s;
    p->last = s;
    p->n_seats++;
    seat_count(p, s);
    *ret = s;
    return 0;
}

void pool_seat_drop(struct pool *p, struct seat *s) {
    seat_uncount(p, s);
    seat_group_leave(p, s);
    home_leave(p, s);
    pod_unbind(p, s);
    *(s->prev != NULL ? &s->prev->next : &p->seats) = s->next;
    *(s->next != NULL ? &s->next->prev : &p->last) = s->prev;
    p->n_seats--;
    mem_free(s);
}

static bool same_place(const struct seat *a, const struct seat *b) {
    if (!str_eq(a->node, b->node) || a->n_devices != b->n_devices || !str_eq(a->set, b->set)) {
        return false;
    }
    for (size_t i = 0; i < a->n_devices; i++) {
        const struct seat_device *x = &a->devices[i], *y = &b->devices[i];
        if (!str_eq(x->gpu, y->gpu) || x->profile_id != y->profile_id || x->start != y->start) {
            return false;
        }
    }
    return true;
}

int pool_seat_restore(struct pool *p, const struct seat *as, struct seat **ret) {
    struct seat *s = str_empty(as->pod) ? NULL : pool_pod_seat(p, as->pod);
    if (s != NULL) {
        *ret = s;
        return 0;
    }
    /* A bound pod sits down in the seat that its workload planned for it. */
    for (s = pool_workload_first(p, as->workload); s != NULL && !str_empty(as->pod);
         s = s->group_next) {
        if (str_empty(s->pod) && same_place(s, as)) {
            int r = pod_bind(p, s, as->pod);
            if (r == 0) {
                *ret = s;
            }
            return r;
        }
    }
    return pool_seat_new(p, as, ret);
}

struct seat *pool_workload_first(const struct pool *p, struct str workload) {
    const struct seat_group *g = str_empty(workload) ? NULL : map_get(&p->groups, workload);
    return g != NULL ? g->first : NULL;
}

struct seat *pool_loose_first(const struct pool *p, struct str workload) {
    const struct seat_group *g = str_empty(workload) ? NULL : map_get(&p->loose, workload);
    return g != NULL ? g->first : NULL;
}

int64_t pool_loose_taken(const struct pool *p, struct str workload, uint32_t resource) {
    int64_t taken = 0;
    for (const struct seat *s = pool_loose_first(p, workload); s != NULL; s = s->group_next) {
        for (size_t i = 0; i < s->n_amounts; i++) {
            if (s->amounts[i].resource == resource) {
                taken = amount_add(taken, s->amounts[i].v);
            }
        }
    }
    return taken;
}

struct seat *pool_pod_seat(const struct pool *p, struct str pod) {
    return map_get(&p->pods, pod);
}

bool pool_seat_usable(const struct pool *p, const struct seat *s) {
    const struct pool_node *n = pool_node(p, s->node);
    if (n == NULL || !n->managed || !n->ready || !s->counted) {
        return false;
    }
    for (size_t i = 0; i < s->n_devices; i++) {
        const struct pool_gpu *g = pool_gpu(n, s->devices[i].gpu);
        if (g == NULL || !g->in_service || !s->devices[i].counted) {
            return false;
        }
    }
    return true;
}

struct seat *pool_take(struct pool *p, struct str workload, struct str set, struct str pod,
                       struct str want_node) {
    for (struct seat *s = pool_workload_first(p, workload); s != NULL; s = s->group_next) {
        if (str_empty(s->pod) && str_eq(s->set, set) &&
            (str_empty(want_node) || str_eq(s->node, want_node)) && pool_seat_usable(p, s)) {
            return pod_bind(p, s, pod) == 0 ? s : NULL;
        }
    }
    return NULL;
}

void pool_pod_gone(struct pool *p, struct str pod) {
    struct seat *s = pool_pod_seat(p, pod);
    if (s == NULL) {
        return;
    }
    live_leaves(pool_node(p, s->node), pod);
    pod_unbind(p, s);
    if (str_empty(s->workload) || s->loose) {
        pool_seat_drop(p, s);
    }
    p->generation++;
}

/* Its workload gave it back, and its pod still sits there. */
static void seat_leaves(struct pool *p, struct seat *s) {
    seat_group_leave(p, s);
    s->workload = (struct str){0};
    leaving_join(p, s);
}

void pool_workload_gone(struct pool *p, struct str workload) {
    for (struct seat *s = pool_workload_first(p, workload), *next; s != NULL; s = next) {
        next = s->group_next;
        p->generation++;
        if (str_empty(s->pod)) {
            pool_seat_drop(p, s);
        } else {
            seat_leaves(p, s);
        }
    }
    for (struct seat *s; (s = pool_loose_first(p, workload)) != NULL;) {
        p->generation++;
        seat_leaves(p, s);
    }
}

void pool_undo(struct pool *p, struct str workload) {
    for (struct seat *s; (s = pool_workload_first(p, workload)) != NULL;) {
        pool_seat_drop(p, s);
    }
}
