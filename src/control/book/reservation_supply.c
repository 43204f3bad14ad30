/*
 * reservation_supply: what can be booked, into the calendar: the policy, cards of nodes on which Berth places, numbers
 * of nodes on which others do, standing quotas of the pool's cohort, CapacityWindows.
 *
 * All of it is read anew when any of it changes; the calendar takes what is unchanged for nothing.
 */
#include "control/book/reservation_private.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "control/book/reservation_grid.h"
#include "control/load/translate.h"

#define SLICE_PREFIX "nvidia.com/mig-"
enum { READ_MAX = 512 << 20, POOLS_MAX = 4096 };

/* A flavor that has GPUs, and the nodes it is for. */
struct supply_flavor {
    struct str name;
    struct str_map labels;
};
struct supply_pool {
    struct str flavor, resource;
    int64_t total;
};

struct supply {
    struct reservation_controller *c;
    struct arena *a;
    struct supply_flavor *flavors; /* in order of preference for a node */
    size_t n_flavors;
    struct supply_pool *pools;
    size_t n_pools;
    struct map cards; /* uuid: of nodes that are here */
    int64_t again;    /* the earliest time at which a silent node is given up */
    int code;
};

static int64_t seconds(int64_t ns) {
    return ns / NS_PER_SEC;
}

int32_t plan_rank(struct str class_name) {
    return str_is(class_name, "maintenance")  ? 3
           : str_is(class_name, "production") ? 2
           : str_is(class_name, "teaching")   ? 1
                                              : 0;
}

int64_t plan_grid_base(const struct reservation_controller *c, int64_t at) {
    return reservation_grid_base(c->base.env.zones, c->policy.spec->time_zone,
                                 seconds(c->policy.spec->granularity_ns), at);
}

bool plan_is_device(struct str resource) {
    return str_is(resource, CALENDAR_GPU) || str_starts(resource, STR(SLICE_PREFIX)) ||
           str_starts(resource, STR("nvidia.com/gpu."));
}

/* ---- the policy ---- */

static void policy_times(struct reservation_policy_spec *s) {
    s->granularity_ns = s->granularity_ns > 0 ? s->granularity_ns : 15 * PLAN_MINUTE * NS_PER_SEC;
    s->approval_ttl_ns = s->approval_ttl_ns > 0 ? s->approval_ttl_ns : 48 * PLAN_HOUR * NS_PER_SEC;
    s->offer_window_ns =
        s->offer_window_ns > 0 ? s->offer_window_ns : 30 * PLAN_MINUTE * NS_PER_SEC;
}

/* The policy as it was written; none is one that says nothing. */
static int policy_tree(const struct object *o, struct arena *a, yyjson_mut_doc **ret) {
    if (o != NULL) {
        return json_parse_mut(a, o->json, ret, NULL);
    }
    *ret = json_mut_new(a);
    yyjson_mut_val *root = *ret != NULL ? yyjson_mut_obj(*ret) : NULL;
    if (root == NULL) {
        return ERR_NOMEM;
    }
    yyjson_mut_doc_set_root(*ret, root);
    return 0;
}

static int policy_read(struct reservation_controller *c) {
    const struct object *o =
        mirror_get(c->base.env.mirror, c->policies, STR(""), STR(RESERVATION_POLICY_NAME));
    struct plan_policy *p = &c->policy;
    struct reservation_policy *view;
    yyjson_mut_doc *d;
    yyjson_doc *fixed;
    struct buf b;
    if (p->spec && p->rv == (o ? o->rv : 0)) {
        return 0;
    }
    arena_reset(&p->arena);
    p->spec = NULL;
    buf_init(&b, 0);
    int r = policy_tree(o, &p->arena, &d);
    r = r ? r : codec_default(c->policies, d, NULL);
    if (r == 0) {
        json_write_mut(&b, yyjson_mut_doc_get_root(d));
        r = json_parse(&p->arena, arena_str(&p->arena, buf_view(&b)), &fixed, NULL);
    }
    buf_release(&b);
    view = ARENA_NEW(&p->arena, struct reservation_policy);
    r = r ? r
          : codec_decode(&schema_reservation_policy, yyjson_doc_get_root(fixed), &p->arena, view,
                         NULL);
    if (r != 0 || view == NULL || view->spec == NULL) {
        return r ? r : ERR_NOMEM;
    }
    p->spec = view->spec;
    p->rv = o ? o->rv : 0;
    policy_times(p->spec);
    calendar_set_options(c->calendar,
                         &(struct calendar_options){.grid_s = seconds(p->spec->granularity_ns),
                                                    .grid_base = plan_grid_base(c, plan_now(c))});
    return 0;
}

/* ---- flavors ---- */

static bool in_list(const struct str_list *l, struct str s) {
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->v[i], s)) {
            return true;
        }
    }
    return false;
}

static struct supply_flavor *flavor_known(struct supply *s, struct str name) {
    for (size_t i = 0; i < s->n_flavors; i++) {
        if (str_eq(s->flavors[i].name, name)) {
            return &s->flavors[i];
        }
    }
    return NULL;
}

/* Notes a flavor once; its labels come later. */
static void flavor_add(struct supply *s, struct str name) {
    const struct reservation_pool *pool = s->c->policy.spec->pool;
    if (flavor_known(s, name) || (pool && pool->flavors.n > 0 && !in_list(&pool->flavors, name))) {
        return;
    }
    struct supply_flavor *v = ARENA_ARRAY(s->a, struct supply_flavor, s->n_flavors + 1);
    if (v == NULL) {
        s->code = ERR_NOMEM;
        return;
    }
    if (s->n_flavors) {
        memcpy(v, s->flavors, s->n_flavors * sizeof *v);
    }
    v[s->n_flavors++].name = arena_str(s->a, name);
    s->flavors = v;
}

/* Flavors of groups that cover a GPU or slices. */
static void groups_flavors(struct supply *s, yyjson_val *groups) {
    size_t i, n, k, m;
    yyjson_val *group, *e;
    yyjson_arr_foreach(groups, i, n, group) {
        bool gpus = false;
        yyjson_val *covered = json_get(group, STR("coveredResources"));
        yyjson_val *flavors = json_get(group, STR("flavors"));
        yyjson_arr_foreach(covered, k, m, e) {
            gpus = gpus || plan_is_device(json_str(e));
        }
        yyjson_arr_foreach(flavors, k, m, e) {
            if (gpus) {
                flavor_add(s, json_str_at(e, "name"));
            }
        }
    }
}

static bool holder_flavors(void *ctx, const struct object *o) {
    struct supply *s = ctx;
    yyjson_doc *d;
    int r = object_tree(o, s->a, &d, NULL);
    if (r == 0) {
        groups_flavors(s, json_path(yyjson_doc_get_root(d), "spec.resourceGroups"));
    }
    s->code = s->code ? s->code : r;
    return s->code == 0;
}

static int by_preference(const void *x, const void *y) {
    const struct supply_flavor *a = x, *b = y;
    if (a->labels.n != b->labels.n) {
        return a->labels.n > b->labels.n ? -1 : 1;
    }
    return str_cmp(a->name, b->name);
}

static void flavors_read(struct supply *s) {
    struct mirror *m = s->c->base.env.mirror;
    const struct reservation_pool *pool = s->c->policy.spec->pool;
    for (size_t i = 0; pool && i < pool->flavors.n; i++) {
        flavor_add(s, pool->flavors.v[i]);
    }
    mirror_scan(m, s->c->queues, STR(""), holder_flavors, s);
    mirror_scan(m, s->c->cohorts, STR(""), holder_flavors, s);
    for (size_t i = 0; s->code == 0 && i < s->n_flavors; i++) {
        const struct object *o = mirror_get(m, s->c->flavors, STR(""), s->flavors[i].name);
        struct resource_flavor view = {0};
        yyjson_doc *d;
        int r = o ? object_tree(o, s->a, &d, NULL) : 0;
        r = o && r == 0
                ? codec_decode(&schema_resource_flavor, yyjson_doc_get_root(d), s->a, &view, NULL)
                : r;
        if (r == 0 && view.spec) {
            s->flavors[i].labels = view.spec->node_labels;
        }
        s->code = r;
    }
    if (s->n_flavors > 1) {
        qsort(s->flavors, s->n_flavors, sizeof *s->flavors, by_preference);
    }
}

/* The flavor of a node's GPUs; NULL: they cannot be booked. */
static const struct supply_flavor *node_flavor(const struct supply *s,
                                               const struct str_map *labels) {
    for (size_t i = 0; i < s->n_flavors; i++) {
        const struct supply_flavor *f = &s->flavors[i];
        bool all = true;
        for (size_t k = 0; k < f->labels.n; k++) {
            all = all && str_eq(meta_value(labels, f->labels.v[k].key), f->labels.v[k].value);
        }
        if (all) {
            return f;
        }
    }
    return NULL;
}

/* ---- nodes ---- */

/* The slices that there are, where the layout is not ours to choose. */
static size_t card_layout(const struct gpu_card *g, struct arena *a, struct calendar_slot **ret) {
    size_t n = 0;
    *ret = ARENA_ARRAY(a, struct calendar_slot, g->n_instances + 1);
    for (size_t i = 0; *ret && i < g->n_instances; i++) {
        for (size_t k = 0; k < g->n_profiles; k++) {
            if (g->profiles[k].id == g->instances[i].profile_id) {
                (*ret)[n++] = (struct calendar_slot){g->profiles[k].name, g->instances[i].start};
                break;
            }
        }
    }
    return n;
}

static void card_put(struct supply *s, struct str node, const struct supply_flavor *f,
                     const struct gpu_card *g) {
    const struct reservation_policy_spec *p = s->c->policy.spec;
    bool sliced = g->slices > 0 && (g->mig_enabled || g->mig_managed);
    struct calendar_slot *layout = NULL;
    struct calendar_card card = {
        .node = node,
        .uuid = g->uuid,
        .flavor = f->name,
        .index = g->index,
        .profiles = sliced ? g->profiles : NULL,
        .n_profiles = sliced ? g->n_profiles : 0,
        .slices = sliced ? g->slices : 0,
        .dynamic = !str_is(p->geometry, "static"),
        .reconfig_s = (int32_t)seconds(p->reconfig_time_ns),
    };
    struct err err = {0};
    if (!card.dynamic) {
        card.n_layout = sliced ? card_layout(g, s->a, &layout) : 0;
        card.layout = layout;
    }
    int r = map_put(&s->cards, arena_str(s->a, g->uuid), (void *)1, NULL);
    r = r ? r : calendar_card_put(s->c->calendar, &card, &err);
    if (r == ERR_NOMEM) {
        s->code = r;
    } else if (r != 0) {
        log_warn(s->c->base.env.log, "a GPU cannot be booked: %s", err.text);
    }
}

/* Which node a plain number is from: for windows that name it. */
static void amount_keep(struct supply *s, struct str node, struct str flavor, struct str resource,
                        int64_t n) {
    struct reservation_controller *c = s->c;
    struct plan_amount x = {arena_str(&c->amounts_arena, node),
                            arena_str(&c->amounts_arena, flavor),
                            arena_str(&c->amounts_arena, resource), n};
    if (n > 0 && (plan_amounts_push(&c->amounts, x) != 0 || arena_ok(&c->amounts_arena) != 0)) {
        s->code = ERR_NOMEM;
    }
}

static void pool_add(struct supply *s, struct str flavor, struct str resource, int64_t v) {
    for (size_t i = 0; i < s->n_pools; i++) {
        if (str_eq(s->pools[i].flavor, flavor) && str_eq(s->pools[i].resource, resource)) {
            s->pools[i].total += v;
            return;
        }
    }
    if (s->n_pools < POOLS_MAX && s->pools) {
        s->pools[s->n_pools++] = (struct supply_pool){flavor, arena_str(s->a, resource), v};
    }
}

/* Silent for a moment is not lost. */
static bool node_counts(struct supply *s, const struct node *n) {
    const struct condition *ready =
        n->status ? conditions_find(&n->status->conditions, "Ready") : NULL;
    if (n->metadata->deletion_ns) {
        return false;
    }
    if (ready == NULL || str_is(ready->status, "True")) {
        return ready != NULL;
    }
    int64_t until = seconds(ready->last_transition_ns) + PLAN_NODE_GRACE_S;
    if (until <= plan_now(s->c)) {
        return false;
    }
    s->again = s->again == 0 || until < s->again ? until : s->again;
    return true;
}

static bool node_read(void *ctx, const struct object *o) {
    struct supply *s = ctx;
    struct node *n = ARENA_NEW(s->a, struct node);
    struct inventory inv = {0};
    yyjson_doc *d;
    int r = n ? object_tree(o, s->a, &d, NULL) : ERR_NOMEM;
    r = r ? r : codec_decode(&schema_node, yyjson_doc_get_root(d), s->a, n, NULL);
    if (r != 0 || n->metadata == NULL || !node_counts(s, n)) {
        s->code = r;
        return r == 0;
    }
    const struct supply_flavor *f = node_flavor(s, &n->metadata->labels);
    struct str gpus = meta_annotation(n->metadata, INVENTORY_ANNOTATION);
    bool managed = str_is(meta_label(n->metadata, MANAGED_LABEL), "true");
    if (f == NULL) {
        return true;
    }
    if (managed && gpus.n > 0) {
        r = inventory_decode(gpus, s->a, &inv, NULL);
        for (size_t i = 0; r == 0 && i < inv.n && s->code == 0; i++) {
            if (inv.gpus[i].healthy) {
                card_put(s, n->metadata->name, f, &inv.gpus[i]);
            }
        }
        s->code = r == ERR_NOMEM ? r : s->code;
        return s->code == 0;
    }
    for (size_t i = 0; n->status && i < n->status->allocatable.n; i++) {
        const struct quantity_pair *p = &n->status->allocatable.v[i];
        if (plan_is_device(p->key)) {
            int64_t amount = translate_amount(p->key, p->value);
            pool_add(s, f->name, p->key, amount);
            amount_keep(s, n->metadata->name, f->name, p->key, amount);
        }
    }
    return true;
}

/* Cards of nodes that are gone, or that fell ill. */
static void cards_drop(struct supply *s) {
    struct calendar_card card;
    bool again = true;
    while (again) {
        size_t pos = 0;
        again = false;
        while (calendar_card_next(s->c->calendar, &pos, &card)) {
            if (map_get(&s->cards, card.uuid) == NULL) {
                struct str uuid = arena_str(s->a, card.uuid);
                again = uuid.p && calendar_card_del(s->c->calendar, uuid) == 0;
                break;
            }
        }
    }
}

int plan_name_keep(struct map *m, struct str name) {
    if (map_get(m, name)) {
        return 0;
    }
    char *copy = mem_cstr(name);
    int r = copy ? map_put(m, str_of(copy), copy, NULL) : ERR_NOMEM;
    if (r != 0) {
        mem_free(copy);
    }
    return r;
}

void plan_name_forget(struct map *m, struct str name) {
    mem_free(map_del(m, name));
}

static void pools_put(struct supply *s) {
    struct reservation_controller *c = s->c;
    const struct map_entry *e;
    struct map now = {0};
    for (size_t i = 0; i < s->n_pools && s->code == 0; i++) {
        struct supply_pool *p = &s->pools[i];
        struct str key = arena_f(s->a, "%.*s %.*s", STR_ARG(p->flavor), STR_ARG(p->resource));
        s->code = map_put(&now, key, p, NULL);
        s->code = s->code ? s->code : plan_name_keep(&c->pools_in, key);
        int r = s->code ? s->code
                        : calendar_pool_put(c->calendar, p->flavor, p->resource, p->total, NULL);
        s->code = r == ERR_NOMEM ? r : s->code;
    }
    for (size_t i = 0; s->code == 0 && (e = map_next(&c->pools_in, &i));) {
        struct str flavor, resource, key = e->key;
        if (map_get(&now, key) == NULL && str_cut(key, ' ', &flavor, &resource)) {
            (void)calendar_pool_put(c->calendar, flavor, resource, 0, NULL);
            plan_name_forget(&c->pools_in, key);
        }
    }
    map_release(&now);
}

/* ---- the whole ---- */

int plan_supply(struct reservation_controller *c) {
    struct arena a;
    struct supply s = {.c = c, .a = &a};
    int64_t now = plan_now(c);
    if (!c->supply_dirty && (c->supply_at == 0 || c->supply_at > now)) {
        return 0;
    }
    arena_init(&a, READ_MAX);
    s.code = policy_read(c);
    calendar_now(c->calendar, now);
    s.pools = ARENA_ARRAY(&a, struct supply_pool, POOLS_MAX);
    if (s.code == 0) {
        flavors_read(&s);
    }
    if (s.code == 0) {
        arena_reset(&c->amounts_arena);
        c->amounts.n = 0;
        mirror_scan(c->base.env.mirror, c->nodes, STR(""), node_read, &s);
    }
    if (s.code == 0) {
        pools_put(&s);
        cards_drop(&s);
    }
    s.code = s.code ? s.code : plan_windows(c, &a);
    /* Standing quotas give way to what was promised before: they come when that is in. */
    s.code = s.code == 0 && c->loaded ? plan_floors(c, &a) : s.code;
    if (s.code == 0) {
        c->supply_dirty = false;
        c->supply_at =
            s.again && (!c->windows_at || s.again < c->windows_at) ? s.again : c->windows_at;
        c->given = true;
    }
    map_release(&s.cards);
    arena_release(&a);
    return s.code;
}

void plan_supply_release(struct reservation_controller *c) {
    struct map *maps[] = {&c->windows_in, &c->pools_in, &c->floors_in};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        const struct map_entry *e;
        for (size_t k = 0; (e = map_next(maps[i], &k));) {
            mem_free(e->value);
        }
        map_release(maps[i]);
    }
    arena_release(&c->policy.arena);
    arena_release(&c->amounts_arena);
    plan_amounts_release(&c->amounts);
}
