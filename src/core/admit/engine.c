/* engine (core): its life, and what flavors, cohorts and queues say. Workloads are in engine_workload.c. */
#include <assert.h>

#include "base/limits.h"
#include "core/admit/engine_private.h"
#include "core/admit/preempt.h"
#include "core/admit/usage.h"

struct engine *engine_new(const struct engine_options *o) {
    struct engine *e = mem_zalloc(sizeof(*e));
    if (e == NULL) {
        return NULL;
    }
    e->o = *o;
    e->o.workloads_max = o->workloads_max ? o->workloads_max : LIMIT_WORKLOADS;
    names_init(&e->flavor_names);
    names_init(&e->resource_names);
    quota_init(&e->forest);
    e->cycle.chosen_mark = 1;
    heap_init(&e->agenda.wakes, tree_wake_order, NULL, offsetof(struct engine_tree, wake_place));
    arena_init(&e->cycle.tick, o->tick_bytes ? o->tick_bytes : (size_t)256 << 20);
    arena_init(&e->cycle.spare, o->tick_bytes ? o->tick_bytes : (size_t)256 << 20);
    e->pool = pool_new(&e->resource_names);
    if (e->pool == NULL) {
        engine_free(e);
        return NULL;
    }
    return e;
}

void engine_free(struct engine *e) {
    if (e == NULL) {
        return;
    }
    size_t i = 0;
    trees_free(e);
    for (const struct map_entry *m; (m = map_next(&e->workloads, &i)) != NULL;) {
        workload_free(m->value);
    }
    i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        queue_free(e, m->value);
    }
    for (i = 0; i < e->flavors.n; i++) {
        mem_free(e->flavors.v[i].memory);
    }
    pool_free(e->pool);
    turns_clear(e, NULL);
    usage_free(e);
    preempt_free(e);
    flavor_vec_release(&e->flavors);
    map_release(&e->turns);
    map_release(&e->workloads);
    map_release(&e->queues);
    heap_release(&e->agenda.wakes);
    queue_vec_release(&e->agenda.placeless);
    entry_vec_release(&e->cycle.entries);
    action_vec_release(&e->cycle.actions);
    reservation_vec_release(&e->cycle.reserved);
    workload_vec_release(&e->cycle.chosen);
    arena_release(&e->cycle.tick);
    arena_release(&e->cycle.spare);
    quota_release(&e->forest);
    names_release(&e->flavor_names);
    names_release(&e->resource_names);
    mem_free(e);
}

struct pool *engine_pool(struct engine *e) {
    return e->pool;
}

struct names *engine_flavors(struct engine *e) {
    return &e->flavor_names;
}

struct names *engine_resources(struct engine *e) {
    return &e->resource_names;
}

/* ---- flavors ---- */

static int flavor_slot(struct engine *e, struct str name, uint32_t *ret) {
    uint32_t id;
    int r = names_intern(&e->flavor_names, name, &id);
    while (r == 0 && e->flavors.n <= id) {
        r = flavor_vec_push(&e->flavors, (struct engine_flavor){0});
    }
    if (r == 0) {
        *ret = id;
    }
    return r;
}

int engine_flavor_put(struct engine *e, const struct flavor_input *in) {
    uint32_t id;
    int r = flavor_slot(e, in->name, &id);
    size_t size = flavor_input_size(in);
    struct bump b = {.p = r == 0 ? mem_alloc(size) : NULL, .cap = size};
    if (b.p == NULL) {
        return r != 0 ? r : ERR_NOMEM;
    }
    struct engine_flavor *f = &e->flavors.v[id];
    flavor_edits(e, id);
    mem_free(f->memory);
    flavor_input_copy(&b, in, &f->spec);
    f->memory = b.p;
    flavor_edited(e, id);
    return 0;
}

void engine_flavor_del(struct engine *e, struct str name) {
    uint32_t id = names_find(&e->flavor_names, name);
    if (id < e->flavors.n && e->flavors.v[id].memory != NULL) {
        flavor_edits(e, id);
        mem_free(e->flavors.v[id].memory);
        e->flavors.v[id] = (struct engine_flavor){.named = e->flavors.v[id].named};
        flavor_edited(e, id);
    }
}

bool engine_flavor_exists(const struct engine *e, struct str name) {
    uint32_t id = names_find(&e->flavor_names, name);
    return id < e->flavors.n && e->flavors.v[id].memory != NULL;
}

/* ---- cohorts and queues ---- */

/* One limit per (flavor, resource) of the groups; *ret is freed by the caller. */
static int limits_of(struct engine *e, const struct group_input *groups, size_t n,
                     struct quota_limits **ret, size_t *ret_n) {
    size_t cells = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        cells += groups[i].n_resources * groups[i].n_flavors;
    }
    struct quota_limits *v = mem_array(cells, sizeof(*v));
    int r = v != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        for (size_t f = 0; f < groups[i].n_flavors; f++) {
            uint32_t flavor = 0, resource = 0;
            r = r == 0 ? flavor_slot(e, groups[i].flavors[f].name, &flavor) : r;
            for (size_t k = 0; k < groups[i].n_resources && r == 0; k++) {
                const struct quota_input *q = &groups[i].flavors[f].quotas[k];
                r = names_intern(&e->resource_names, groups[i].resources[k], &resource);
                v[at++] = (struct quota_limits){.pair = quota_pair(flavor, resource),
                                                .nominal = q->nominal,
                                                .borrowing = q->borrowing,
                                                .lending = q->lending};
            }
        }
    }
    if (r != 0) {
        mem_free(v);
        return r;
    }
    *ret = v;
    *ret_n = at;
    return 0;
}

int engine_cohort_put(struct engine *e, const struct cohort_input *in) {
    struct quota_limits *limits;
    struct quota_node *node;
    size_t n_limits;
    engine_edits(e, quota_find(&e->forest, false, in->name));
    engine_edits(e, quota_find(&e->forest, false, in->parent));
    int r = limits_of(e, in->groups, in->n_groups, &limits, &n_limits);
    if (r != 0) {
        return r;
    }
    r = quota_put(&e->forest, false, in->name, in->parent, true, limits, n_limits, &node);
    mem_free(limits);
    if (r == 0) {
        node->weight = in->weight;
    }
    return r;
}

void engine_cohort_del(struct engine *e, struct str name) {
    struct quota_node *node = quota_find(&e->forest, false, name);
    if (node != NULL) {
        engine_edits(e, node);
        quota_del(&e->forest, node);
    }
}

/* Copies the groups as numbers into one block. */
static int groups_copy(struct engine *e, const struct queue_input *in, char **ret_memory,
                       struct engine_group **ret) {
    size_t size = bump_size(in->n_groups * sizeof(struct engine_group));
    for (size_t i = 0; i < in->n_groups; i++) {
        size += bump_size(in->groups[i].n_resources * sizeof(uint32_t)) +
                bump_size(in->groups[i].n_flavors * sizeof(uint32_t));
    }
    size += bump_size(in->name.n);
    struct bump b = {.p = mem_alloc(size), .cap = size};
    if (b.p == NULL) {
        return ERR_NOMEM;
    }
    struct engine_group *groups = bump_alloc(&b, in->n_groups * sizeof(*groups));
    int r = 0;
    for (size_t i = 0; i < in->n_groups && r == 0; i++) {
        const struct group_input *g = &in->groups[i];
        groups[i] =
            (struct engine_group){.resources = bump_alloc(&b, g->n_resources * sizeof(uint32_t)),
                                  .flavors = bump_alloc(&b, g->n_flavors * sizeof(uint32_t)),
                                  .n_resources = g->n_resources,
                                  .n_flavors = g->n_flavors};
        for (size_t k = 0; k < g->n_resources && r == 0; k++) {
            r = names_intern(&e->resource_names, g->resources[k], &groups[i].resources[k]);
        }
        for (size_t k = 0; k < g->n_flavors && r == 0; k++) {
            r = flavor_slot(e, g->flavors[k].name, &groups[i].flavors[k]);
            if (r == 0) {
                e->flavors.v[groups[i].flavors[k]].named = true;
            }
        }
    }
    if (r != 0) {
        mem_free(b.p);
        return r;
    }
    *ret_memory = b.p;
    *ret = groups;
    return 0;
}

static bool numbers_same(const uint32_t *a, size_t n, const uint32_t *b, size_t m) {
    return n == m && (n == 0 || memcmp(a, b, n * sizeof(*a)) == 0);
}

/* The same resources and flavors in the same order? */
static bool groups_same(const struct engine_queue *q, const struct engine_group *v, size_t n) {
    bool same = q->n_groups == n;
    for (size_t i = 0; same && i < n; i++) {
        const struct engine_group *a = &q->groups[i], *b = &v[i];
        same = numbers_same(a->resources, a->n_resources, b->resources, b->n_resources) &&
               numbers_same(a->flavors, a->n_flavors, b->flavors, b->n_flavors);
    }
    return same;
}

int engine_queue_put(struct engine *e, const struct queue_input *in) {
    struct quota_limits *limits = NULL;
    struct engine_group *groups;
    char *memory = NULL;
    size_t n_limits = 0;
    engine_edits(e, quota_find(&e->forest, true, in->name));
    engine_edits(e, quota_find(&e->forest, false, in->cohort));
    struct engine_queue *q = map_get(&e->queues, in->name);
    bool made = q == NULL;
    int r = groups_copy(e, in, &memory, &groups);
    r = r == 0 ? limits_of(e, in->groups, in->n_groups, &limits, &n_limits) : r;
    if (r == 0 && made) {
        q = queue_new(e, in->name);
        r = q != NULL ? 0 : ERR_NOMEM;
    }
    r = r == 0 ? quota_put(&e->forest, true, in->name, in->cohort, true, limits, n_limits, &q->node)
               : r;
    mem_free(limits);
    if (r != 0) {
        mem_free(memory);
        if (made && q != NULL) {
            map_del(&e->queues, q->name);
            queue_free(e, q);
        }
        return r;
    }
    q->node->redrawn = q->node->redrawn || !groups_same(q, groups, in->n_groups);
    mem_free(q->memory);
    q->memory = memory;
    q->groups = groups;
    q->n_groups = in->n_groups;
    q->strict = in->strict;
    q->held = in->held;
    q->when_can_borrow = in->when_can_borrow;
    q->when_can_preempt = in->when_can_preempt;
    q->borrow_costs_more = in->borrow_costs_more;
    q->within_queue = in->within_queue;
    q->reclaim = in->reclaim;
    q->borrow_within = in->borrow_within;
    q->has_threshold = in->has_threshold;
    q->threshold = in->threshold;
    if (q->local_usage != in->local_usage) {
        q->local_usage = in->local_usage;
        lanes_order(q);
    }
    q->node->user = q;
    q->node->weight = in->weight;
    return 0;
}

bool engine_queue_active(struct engine *e, struct str name) {
    struct engine_queue *q = map_get(&e->queues, name);
    return q != NULL && engine_settle(e) == 0 && q->active;
}

bool engine_fresh(struct engine *e, bool *ret_queue, struct str *ret_name) {
    const struct quota_node *n = engine_settle(e) == 0 ? quota_fresh(&e->forest) : NULL;
    if (n != NULL) {
        *ret_queue = n->queue;
        *ret_name = n->name;
    }
    return n != NULL;
}

uint64_t engine_settled(const struct engine *e) {
    return e->forest.built;
}

/* Holders that are in no order for want of memory are looked for among all. */
static void unlisted_drop(struct engine *e, struct engine_queue *q) {
    size_t i = 0;
    while (q->n_holding > 0) {
        struct engine_workload *w = map_next(&e->workloads, &i)->value;
        if (w->queue == q && w->state == WORKLOAD_HOLDING) {
            workload_drop(e, w);
        }
    }
}

static void workloads_drop(struct engine *e, struct engine_queue *q) {
    while (q->holders.n > 0) {
        struct tree_pos p = tree_seek(&q->holders, NULL);
        workload_drop(e, tree_next(&q->holders, &p));
    }
    unlisted_drop(e, q);
    if (q->flight != NULL) {
        workload_drop(e, q->flight);
    }
    while (q->parked != NULL) {
        workload_drop(e, q->parked);
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->classes, &i)) != NULL;) {
        struct engine_class *c = m->value;
        for (size_t n = c->n; n > 0; n--) { /* the class goes with the last */
            workload_drop(e, c->first);
        }
    }
}

void engine_queue_del(struct engine *e, struct str name) {
    struct engine_queue *q = map_get(&e->queues, name);
    if (q == NULL) {
        return;
    }
    engine_edits(e, q->node);
    workloads_drop(e, q);
    queue_unclaim(e, q);
    for (size_t i = 0; q->waits_place && i < e->agenda.placeless.n; i++) {
        if (e->agenda.placeless.v[i] == q) {
            queue_vec_swap_remove(&e->agenda.placeless, i--);
        }
    }
    tree_leave(e, q);
    quota_del(&e->forest, q->node);
    map_del(&e->queues, q->name);
    queue_free(e, q);
}
