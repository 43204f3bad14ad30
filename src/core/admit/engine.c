/* engine (core): its life, and what flavors, cohorts and queues say. Workloads are in engine_workload.c. */
#include "core/admit/engine.h"

#include <assert.h>

#include "base/limits.h"
#include "core/admit/engine_private.h"

struct engine *engine_new(const struct engine_options *o) {
    struct engine *e = mem_zalloc(sizeof(*e));
    if (e == NULL) {
        return NULL;
    }
    e->o = *o;
    e->o.workloads_max = o->workloads_max ? o->workloads_max : LIMIT_WORKLOADS;
    names_init(&e->resources);
    flavors_init(&e->flavors);
    quota_init(&e->forest);
    cycle_init(&e->cycle, o->tick_bytes ? o->tick_bytes : (size_t)256 << 20);
    e->pool = pool_new(&e->resources);
    e->preempt = (struct preempt){
        .o = &e->o, .resources = &e->resources, .forest = &e->forest, .tick = &e->cycle.tick};
    e->queues.usage = (struct usage_ledger){.on = o->local_usage,
                                            .half_life_ns = o->usage_half_life_ns,
                                            .interval_ns = o->usage_interval_ns,
                                            .weights = o->resource_weights,
                                            .n_weights = o->n_resource_weights,
                                            .resources = &e->resources};
    agenda_init(&e->queues.agenda, &e->queues, &e->forest, e->pool, &e->flavors);
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
    agenda_release(&e->queues.agenda);
    for (const struct map_entry *m; (m = map_next(&e->workloads, &i)) != NULL;) {
        workload_free(m->value);
    }
    i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues.by_name, &i)) != NULL;) {
        queue_free(m->value);
    }
    usage_release(&e->queues.usage);
    map_release(&e->queues.by_name);
    map_release(&e->workloads);
    preempt_release(&e->preempt);
    cycle_release(&e->cycle);
    pool_free(e->pool);
    quota_release(&e->forest);
    flavors_release(&e->flavors);
    names_release(&e->resources);
    mem_free(e);
}

struct pool *engine_pool(struct engine *e) {
    return e->pool;
}

struct names *engine_flavors(struct engine *e) {
    return &e->flavors.names;
}

struct names *engine_resources(struct engine *e) {
    return &e->resources;
}

/* ---- flavors ---- */

int engine_flavor_put(struct engine *e, const struct flavor_input *in) {
    uint32_t id;
    int r = flavors_slot(&e->flavors, in->name, &id);
    if (r != 0) {
        return r;
    }
    cycle_edits_flavor(e, id);
    r = flavors_set(&e->flavors, id, in);
    if (r == 0) {
        agenda_flavor_edited(&e->queues.agenda, id);
    }
    return r;
}

void engine_flavor_del(struct engine *e, struct str name) {
    uint32_t id = names_find(&e->flavors.names, name);
    if (flavors_has(&e->flavors, id)) {
        cycle_edits_flavor(e, id);
        flavors_unset(&e->flavors, id);
        agenda_flavor_edited(&e->queues.agenda, id);
    }
}

bool engine_flavor_exists(const struct engine *e, struct str name) {
    return flavors_has(&e->flavors, names_find(&e->flavors.names, name));
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
            if (r == 0) {
                r = flavors_slot(&e->flavors, groups[i].flavors[f].name, &flavor);
            }
            for (size_t k = 0; k < groups[i].n_resources && r == 0; k++) {
                const struct quota_input *q = &groups[i].flavors[f].quotas[k];
                r = names_intern(&e->resources, groups[i].resources[k], &resource);
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
    cycle_edits(e, quota_find(&e->forest, false, in->name));
    cycle_edits(e, quota_find(&e->forest, false, in->parent));
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
        cycle_edits(e, node);
        quota_del(&e->forest, node);
    }
}

/* Copies the groups as numbers into one block. */
static int groups_copy(struct engine *e, const struct queue_input *in, char **ret_memory,
                       struct queue_group **ret) {
    size_t size = bump_size(in->n_groups * sizeof(struct queue_group));
    for (size_t i = 0; i < in->n_groups; i++) {
        size += bump_size(in->groups[i].n_resources * sizeof(uint32_t)) +
                bump_size(in->groups[i].n_flavors * sizeof(uint32_t));
    }
    size += bump_size(in->name.n);
    struct bump b = {.p = mem_alloc(size), .cap = size};
    if (b.p == NULL) {
        return ERR_NOMEM;
    }
    struct queue_group *groups = bump_alloc(&b, in->n_groups * sizeof(*groups));
    int r = 0;
    for (size_t i = 0; i < in->n_groups && r == 0; i++) {
        const struct group_input *g = &in->groups[i];
        groups[i] =
            (struct queue_group){.resources = bump_alloc(&b, g->n_resources * sizeof(uint32_t)),
                                 .flavors = bump_alloc(&b, g->n_flavors * sizeof(uint32_t)),
                                 .n_resources = g->n_resources,
                                 .n_flavors = g->n_flavors};
        for (size_t k = 0; k < g->n_resources && r == 0; k++) {
            r = names_intern(&e->resources, g->resources[k], &groups[i].resources[k]);
        }
        for (size_t k = 0; k < g->n_flavors && r == 0; k++) {
            r = flavors_slot(&e->flavors, g->flavors[k].name, &groups[i].flavors[k]);
            if (r == 0) {
                e->flavors.all.v[groups[i].flavors[k]].named = true;
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
static bool groups_same(const struct queue *q, const struct queue_group *v, size_t n) {
    bool same = q->n_groups == n;
    for (size_t i = 0; same && i < n; i++) {
        const struct queue_group *a = &q->groups[i], *b = &v[i];
        same = numbers_same(a->resources, a->n_resources, b->resources, b->n_resources) &&
               numbers_same(a->flavors, a->n_flavors, b->flavors, b->n_flavors);
    }
    return same;
}

int engine_queue_put(struct engine *e, const struct queue_input *in) {
    struct quota_limits *limits = NULL;
    struct queue_group *groups;
    char *memory = NULL;
    size_t n_limits = 0;
    cycle_edits(e, quota_find(&e->forest, true, in->name));
    cycle_edits(e, quota_find(&e->forest, false, in->cohort));
    struct queue *q = map_get(&e->queues.by_name, in->name);
    bool made = q == NULL;
    int r = groups_copy(e, in, &memory, &groups);
    if (r == 0) {
        r = limits_of(e, in->groups, in->n_groups, &limits, &n_limits);
    }
    if (r == 0 && made) {
        q = queue_new(&e->queues, in->name);
        r = q != NULL ? 0 : ERR_NOMEM;
    }
    if (r == 0) {
        r = quota_put(&e->forest, true, in->name, in->cohort, true, limits, n_limits, &q->node);
    }
    mem_free(limits);
    if (r != 0) {
        mem_free(memory);
        if (made && q != NULL) {
            map_del(&e->queues.by_name, q->name);
            queue_free(q);
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

int engine_settle(struct engine *e) {
    assert(e->cycle.phase == CYCLE_NONE || !e->cycle.tree->root->stale);
    return agenda_settle(&e->queues.agenda);
}

bool engine_queue_active(struct engine *e, struct str name) {
    struct queue *q = map_get(&e->queues.by_name, name);
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
static void unlisted_drop(struct engine *e, struct queue *q) {
    size_t i = 0;
    while (q->n_holding > 0) {
        struct queue_workload *w = map_next(&e->workloads, &i)->value;
        if (w->queue == q && w->state == WORKLOAD_HOLDING) {
            engine_workload_drop(e, w);
        }
    }
}

static void workloads_drop(struct engine *e, struct queue *q) {
    while (q->holders.n > 0) {
        struct tree_pos p = tree_seek(&q->holders, NULL);
        engine_workload_drop(e, tree_next(&q->holders, &p));
    }
    unlisted_drop(e, q);
    if (q->flight != NULL) {
        engine_workload_drop(e, q->flight);
    }
    while (q->parked != NULL) {
        engine_workload_drop(e, q->parked);
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->classes, &i)) != NULL;) {
        struct queue_class *c = m->value;
        for (size_t n = c->n; n > 0; n--) { /* the class goes with the last */
            engine_workload_drop(e, c->first);
        }
    }
}

void engine_queue_del(struct engine *e, struct str name) {
    struct queue *q = map_get(&e->queues.by_name, name);
    if (q == NULL) {
        return;
    }
    cycle_edits(e, q->node);
    workloads_drop(e, q);
    queue_unclaim(q);
    tree_forget(q);
    quota_del(&e->forest, q->node);
    map_del(&e->queues.by_name, q->name);
    queue_free(q);
}
