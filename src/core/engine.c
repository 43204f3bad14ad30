/* engine (core): events in. The cycle is in engine_cycle.c, the buckets in engine_queue.c. */
#include "core/engine.h"

#include <assert.h>

#include "core/engine_private.h"
#include "core/preempt.h"
#include "core/usage.h"

enum { PODS_MAX = 100000 }; /* of one workload */

struct engine *engine_new(const struct engine_options *o) {
    struct engine *e = mem_zalloc(sizeof(*e));
    if (e == NULL) {
        return NULL;
    }
    e->o = *o;
    e->o.workloads_max = o->workloads_max ? o->workloads_max : 2000000;
    names_init(&e->flavor_names);
    names_init(&e->resource_names);
    quota_init(&e->forest);
    arena_init(&e->tick, o->tick_bytes ? o->tick_bytes : (size_t)256 << 20);
    e->pool = pool_new(&e->resource_names);
    if (e->pool == NULL) {
        engine_free(e);
        return NULL;
    }
    return e;
}

static void workload_free(struct engine_workload *w) {
    if (w != NULL) {
        mem_free(w->held);
        mem_free(w);
    }
}

static void queue_free(struct engine_queue *q) {
    if (q == NULL) {
        return;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&q->classes, &i)) != NULL;) {
        mem_free(m->value);
    }
    map_release(&q->classes);
    heap_release(&q->heap);
    mem_free(q->memory);
    mem_free(q);
}

void engine_free(struct engine *e) {
    if (e == NULL) {
        return;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->workloads, &i)) != NULL;) {
        workload_free(m->value);
    }
    i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        queue_free(m->value);
    }
    for (i = 0; i < e->flavors.n; i++) {
        mem_free(e->flavors.v[i].memory);
    }
    usage_free(e);
    preempt_free(e);
    pool_free(e->pool);
    flavor_vec_release(&e->flavors);
    map_release(&e->workloads);
    map_release(&e->queues);
    queue_vec_release(&e->ready);
    entry_vec_release(&e->entries);
    action_vec_release(&e->actions);
    reservation_vec_release(&e->reserved);
    workload_vec_release(&e->fresh);
    quota_nodes_release(&e->retry);
    arena_release(&e->tick);
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

static void retry_users(struct engine *e, uint32_t flavor) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        struct engine_queue *q = m->value;
        for (size_t k = 0; k < q->n_groups; k++) {
            for (size_t f = 0; f < q->groups[k].n_flavors; f++) {
                if (q->groups[k].flavors[f] == flavor) {
                    q->node->active = queue_is_able(e, q);
                    engine_retry_tree(e, q);
                }
            }
        }
    }
    e->forest.dirty = true;
}

int engine_flavor_put(struct engine *e, const struct flavor_input *in) {
    uint32_t id;
    cycle_abort(e);
    int r = flavor_slot(e, in->name, &id);
    size_t size = flavor_input_size(in);
    struct bump b = {.p = r == 0 ? mem_alloc(size) : NULL, .cap = size};
    if (b.p == NULL) {
        return r != 0 ? r : ERR_NOMEM;
    }
    struct engine_flavor *f = &e->flavors.v[id];
    mem_free(f->memory);
    flavor_input_copy(&b, in, &f->spec);
    f->memory = b.p;
    retry_users(e, id);
    return 0;
}

void engine_flavor_del(struct engine *e, struct str name) {
    uint32_t id = names_find(&e->flavor_names, name);
    if (id < e->flavors.n && e->flavors.v[id].memory != NULL) {
        cycle_abort(e);
        mem_free(e->flavors.v[id].memory);
        e->flavors.v[id] = (struct engine_flavor){0};
        retry_users(e, id);
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
                                                .nominal = q->nominal, .borrowing = q->borrowing,
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

static void retry_everything(struct engine *e) {
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        struct engine_queue *q = m->value;
        q->generation++;
        engine_retry_tree(e, q);
    }
}

int engine_cohort_put(struct engine *e, const struct cohort_input *in) {
    struct quota_limits *limits;
    struct quota_node *node;
    size_t n_limits;
    cycle_abort(e);
    int r = limits_of(e, in->groups, in->n_groups, &limits, &n_limits);
    if (r != 0) {
        return r;
    }
    r = quota_put(&e->forest, false, in->name, in->parent, true, limits, n_limits, &node);
    mem_free(limits);
    if (r == 0) {
        retry_everything(e);
    }
    return r;
}

void engine_cohort_del(struct engine *e, struct str name) {
    struct quota_node *node = quota_find(&e->forest, false, name);
    if (node != NULL) {
        cycle_abort(e);
        quota_del(&e->forest, node);
        retry_everything(e);
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
        groups[i] = (struct engine_group){
            .resources = bump_alloc(&b, g->n_resources * sizeof(uint32_t)),
            .flavors = bump_alloc(&b, g->n_flavors * sizeof(uint32_t)),
            .n_resources = g->n_resources, .n_flavors = g->n_flavors};
        for (size_t k = 0; k < g->n_resources && r == 0; k++) {
            r = names_intern(&e->resource_names, g->resources[k], &groups[i].resources[k]);
        }
        for (size_t k = 0; k < g->n_flavors && r == 0; k++) {
            r = flavor_slot(e, g->flavors[k].name, &groups[i].flavors[k]);
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

static struct engine_queue *queue_new(struct engine *e, struct str name) {
    struct engine_queue *q = mem_zalloc(sizeof(*q) + name.n);
    if (q == NULL) {
        return NULL;
    }
    if (name.n > 0) {
        memcpy(q + 1, name.p, name.n);
    }
    q->name = str_from((const char *)(q + 1), name.n);
    heap_init(&q->heap, workload_order, NULL, offsetof(struct engine_workload, place));
    if (map_put(&e->queues, q->name, q, NULL) != 0) {
        mem_free(q);
        return NULL;
    }
    return q;
}

int engine_queue_put(struct engine *e, const struct queue_input *in) {
    struct quota_limits *limits = NULL;
    struct engine_group *groups;
    char *memory = NULL;
    size_t n_limits = 0;
    cycle_abort(e);
    struct engine_queue *q = map_get(&e->queues, in->name);
    bool made = q == NULL;
    int r = groups_copy(e, in, &memory, &groups);
    r = r == 0 ? limits_of(e, in->groups, in->n_groups, &limits, &n_limits) : r;
    if (r == 0 && made) {
        q = queue_new(e, in->name);
        r = q != NULL ? 0 : ERR_NOMEM;
    }
    r = r == 0 ? quota_put(&e->forest, true, in->name, in->cohort, true, limits, n_limits,
                           &q->node)
               : r;
    mem_free(limits);
    if (r != 0) {
        mem_free(memory);
        if (made && q != NULL) {
            map_del(&e->queues, q->name);
            queue_free(q);
        }
        return r;
    }
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
    q->local_usage = in->local_usage;
    q->node->user = q;
    q->node->active = queue_is_able(e, q);
    e->forest.dirty = true;
    retry_everything(e);
    return 0;
}

bool engine_queue_active(struct engine *e, struct str name) {
    struct engine_queue *q = map_get(&e->queues, name);
    return q != NULL && quota_settle(&e->forest) == 0 && queue_is_active(e, q);
}

/* ---- workloads ---- */

static struct engine_workload *workload_find(const struct engine *e, struct str uid) {
    return map_get(&e->workloads, uid);
}

static uint64_t workload_hash(const struct workload_input *in) {
    uint64_t h = hash_mix(0, (uint64_t)in->priority);
    for (size_t i = 0; i < in->n_sets; i++) {
        const struct set_input *s = &in->sets[i];
        h = shape_hash(s->shape, hash_mix(hash_str(h, s->name), (uint64_t)s->count));
        for (size_t k = 0; k < s->n_requests; k++) {
            h = hash_mix(hash_str(h, s->requests[k].resource), (uint64_t)s->requests[k].v);
        }
    }
    return h;
}

static size_t workload_size(const struct workload_input *in) {
    size_t n = bump_size(sizeof(struct engine_workload)) + bump_size(in->uid.n) +
               bump_size(in->n_sets * sizeof(struct engine_set));
    for (size_t i = 0; i < in->n_sets; i++) {
        n += bump_size(in->sets[i].name.n) + shape_size(in->sets[i].shape) +
             bump_size(in->sets[i].n_requests * sizeof(struct pool_amount)) +
             bump_size(in->sets[i].n_requests * sizeof(int32_t));
    }
    return n;
}

static int workload_new(struct engine *e, const struct workload_input *in,
                        struct engine_workload **ret) {
    size_t size = workload_size(in);
    struct bump b = {.p = mem_alloc(size), .cap = size};
    if (b.p == NULL) {
        return ERR_NOMEM;
    }
    struct engine_workload *w = bump_alloc(&b, sizeof(*w));
    *w = (struct engine_workload){.uid = bump_str(&b, in->uid), .priority = in->priority,
                                  .queued_ns = in->queued_ns, .n_sets = in->n_sets,
                                  .hash = workload_hash(in)};
    w->sets = bump_alloc(&b, in->n_sets * sizeof(*w->sets));
    int r = 0;
    for (size_t i = 0; i < in->n_sets && r == 0; i++) {
        const struct set_input *s = &in->sets[i];
        w->sets[i] = (struct engine_set){
            .name = bump_str(&b, s->name),
            .count = s->count,
            .min_count = s->min_count,
            .n_requests = s->n_requests,
            .requests = bump_alloc(&b, s->n_requests * sizeof(struct pool_amount)),
            .tried = bump_alloc(&b, s->n_requests * sizeof(int32_t))};
        shape_copy(&b, s->shape, &w->sets[i].shape);
        for (size_t k = 0; k < s->n_requests && r == 0; k++) {
            w->sets[i].tried[k] = -1;
            w->sets[i].requests[k].v = s->requests[k].v;
            r = names_intern(&e->resource_names, s->requests[k].resource,
                             &w->sets[i].requests[k].resource);
        }
    }
    if (r != 0) {
        mem_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

/* Gives quota and seats back. */
static void release(struct engine *e, struct engine_workload *w) {
    for (size_t i = 0; i < w->n_held; i++) {
        struct quota_cell *c =
            quota_cell_of(w->queue->node, quota_pair(w->held[i].flavor, w->held[i].resource));
        if (c != NULL) {
            quota_use(&e->forest, c, -w->held[i].v);
        }
    }
    mem_free(w->held);
    w->held = NULL;
    w->n_held = 0;
    pool_workload_gone(e->pool, w->uid);
    w->queue->n_holding--;
    w->queue->generation++;
    w->state = WORKLOAD_IDLE;
    engine_retry_tree(e, w->queue);
}

static void workload_drop(struct engine *e, struct engine_workload *w) {
    if (w->state == WORKLOAD_HOLDING) {
        release(e, w);
    } else {
        queue_forget(e, w);
        w->queue->blocked = false; /* there may be another head */
    }
    if (w->fresh > 0) {
        e->fresh.v[w->fresh - 1] = NULL;
    }
    class_leave(w->queue, w);
    map_del(&e->workloads, w->uid);
    workload_free(w);
}

void engine_workload_del(struct engine *e, struct str uid) {
    struct engine_workload *w = workload_find(e, uid);
    if (w != NULL) {
        if (w->state == WORKLOAD_HOLDING) {
            cycle_abort(e);
        }
        workload_drop(e, w);
    }
}

bool engine_workload_known(const struct engine *e, struct str uid, bool *ret_holds) {
    const struct engine_workload *w = workload_find(e, uid);
    if (w != NULL) {
        *ret_holds = w->state == WORKLOAD_HOLDING;
    }
    return w != NULL;
}

static bool input_fits(const struct workload_input *in) {
    int64_t pods = 0;
    for (size_t i = 0; i < in->n_sets; i++) {
        pods += in->sets[i].count > 0 ? in->sets[i].count : 0;
    }
    return pods <= PODS_MAX;
}

const struct held_amount *engine_workload_held(const struct engine *e, struct str uid,
                                               size_t *ret_n, struct str *ret_queue) {
    const struct engine_workload *w = workload_find(e, uid);
    if (w == NULL || w->state != WORKLOAD_HOLDING) {
        return NULL;
    }
    *ret_n = w->n_held;
    *ret_queue = w->queue->name;
    return w->held;
}

/* To the heap, or beside its likes that are parked already. */
static int enqueue(struct engine *e, struct engine_workload *w) {
    if (!w->queue->strict && w->class->parked) {
        int r = workload_vec_push(&e->fresh, w);
        if (r == 0) {
            w->fresh = e->fresh.n;
            queue_park(e, w);
        }
        return r;
    }
    w->queue->blocked = false;
    return queue_push(e, w);
}

int engine_workload_put(struct engine *e, const struct workload_input *in) {
    struct engine_queue *q = map_get(&e->queues, in->queue);
    struct engine_workload *old = workload_find(e, in->uid), *w;
    if (q == NULL) {
        return ERR_NOT_FOUND;
    }
    if (!input_fits(in) || (old == NULL && map_count(&e->workloads) >= e->o.workloads_max)) {
        return ERR_TOO_MANY;
    }
    if (old != NULL && old->state != WORKLOAD_HOLDING && old->queue == q &&
        old->hash == workload_hash(in) && old->queued_ns == in->queued_ns) {
        return 0; /* nothing that a decision looks at */
    }
    int r = workload_new(e, in, &w);
    if (r != 0) {
        return r;
    }
    w->queue = q;
    r = class_join(q, w);
    if (r == 0 && old == NULL) {
        r = map_put(&e->workloads, w->uid, w, NULL);
    }
    if (r != 0) {
        class_leave(q, w);
        workload_free(w);
        return r;
    }
    if (old != NULL) {
        cycle_abort(e);
        workload_drop(e, old);
        r = map_put(&e->workloads, w->uid, w, NULL); /* in the place just freed */
    }
    r = r == 0 ? enqueue(e, w) : r;
    if (r != 0) {
        map_del(&e->workloads, w->uid);
        class_leave(q, w);
        workload_free(w);
    }
    return r;
}

/* What is held becomes `held`; quota follows. Failure changes nothing. */
static int held_set(struct engine *e, struct engine_workload *w, const struct held_amount *held,
                    size_t n) {
    struct held_amount *copy = mem_array(n + 1, sizeof(*copy));
    int r = copy != NULL ? 0 : ERR_NOMEM;
    struct quota_node *node = w->queue->node;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = quota_hold(&e->forest, node, quota_pair(held[i].flavor, held[i].resource), held[i].v);
        copy[i] = held[i];
        for (size_t k = i; r != 0 && k > 0; k--) {
            quota_hold(&e->forest, node,
                       quota_pair(held[k - 1].flavor, held[k - 1].resource), -held[k - 1].v);
        }
    }
    if (r != 0) {
        mem_free(copy);
        return r;
    }
    for (size_t i = 0; i < w->n_held; i++) {
        quota_use(&e->forest,
                  quota_cell_of(node, quota_pair(w->held[i].flavor, w->held[i].resource)),
                  -w->held[i].v);
    }
    mem_free(w->held);
    w->held = copy;
    w->n_held = n;
    return 0;
}

static bool held_same(const struct engine_workload *w, const struct held_amount *held, size_t n) {
    bool same = w->n_held == n;
    for (size_t i = 0; same && i < n; i++) {
        same = w->held[i].set == held[i].set && w->held[i].flavor == held[i].flavor &&
               w->held[i].resource == held[i].resource && w->held[i].v == held[i].v;
    }
    return same;
}

int engine_workload_hold(struct engine *e, const struct workload_input *in,
                         const struct held_amount *held, size_t n) {
    struct engine_queue *q = map_get(&e->queues, in->queue);
    struct engine_workload *w = workload_find(e, in->uid);
    if (q == NULL) {
        return ERR_NOT_FOUND;
    }
    if (w != NULL && w->state == WORKLOAD_HOLDING && w->queue == q) {
        if (held_same(w, held, n)) {
            return 0;
        }
        cycle_abort(e);
        int r = held_set(e, w, held, n);
        if (r == 0) {
            q->generation++;
            engine_retry_tree(e, q); /* it may hold less now */
        }
        return r;
    }
    cycle_abort(e);
    if (!input_fits(in) || (w == NULL && map_count(&e->workloads) >= e->o.workloads_max)) {
        return ERR_TOO_MANY;
    }
    if (w != NULL) {
        workload_drop(e, w);
    }
    int r = workload_new(e, in, &w);
    if (r != 0) {
        return r;
    }
    w->queue = q;
    r = map_put(&e->workloads, w->uid, w, NULL);
    if (r == 0) {
        r = held_set(e, w, held, n);
        if (r != 0) {
            map_del(&e->workloads, w->uid);
        }
    }
    if (r != 0) {
        workload_free(w);
        return r;
    }
    w->state = WORKLOAD_HOLDING;
    q->n_holding++;
    return 0;
}

int engine_workload_undo(struct engine *e, struct str uid) {
    struct engine_workload *w = workload_find(e, uid);
    if (w == NULL || w->state != WORKLOAD_HOLDING) {
        return 0;
    }
    cycle_abort(e);
    int r = class_join(w->queue, w);
    if (r != 0) {
        return r;
    }
    release(e, w);
    return queue_push(e, w);
}

void engine_queue_del(struct engine *e, struct str name) {
    struct engine_queue *q = map_get(&e->queues, name);
    if (q == NULL) {
        return;
    }
    cycle_abort(e);
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->workloads, &i)) != NULL;) {
        if (((struct engine_workload *)m->value)->queue == q) {
            workload_drop(e, m->value);
        }
    }
    for (i = 0; i < e->ready.n; i++) {
        if (e->ready.v[i] == q) {
            queue_vec_remove(&e->ready, i--);
        }
    }
    quota_del(&e->forest, q->node);
    map_del(&e->queues, q->name);
    queue_free(q);
    retry_everything(e);
}

/* ---- questions ---- */

bool engine_queue_counts(const struct engine *e, struct str queue, struct engine_counts *ret) {
    const struct engine_queue *q = map_get(&e->queues, queue);
    if (q == NULL) {
        return false;
    }
    *ret = (struct engine_counts){.pending = q->heap.n + q->n_parked + (q->flight != NULL),
                                  .parked = q->n_parked, .holding = q->n_holding};
    return true;
}

int64_t engine_queue_usage(struct engine *e, struct str queue, uint32_t flavor, uint32_t resource,
                           int64_t *ret_borrowed) {
    const struct engine_queue *q = map_get(&e->queues, queue);
    if (q == NULL || quota_settle(&e->forest) != 0) {
        return 0;
    }
    const struct quota_cell *c = quota_cell_of(q->node, quota_pair(flavor, resource));
    if (c == NULL) {
        return 0;
    }
    *ret_borrowed = amount_max(0, amount_sub(c->usage, c->q.nominal));
    return c->usage;
}

bool engine_consistent(struct engine *e) {
    cycle_abort(e);
    if (quota_settle(&e->forest) != 0 || !pool_consistent(e->pool)) {
        return false;
    }
    uint64_t before = quota_digest(&e->forest);
    e->forest.dirty = true; /* sums made anew from the queues must come to the same */
    if (quota_settle(&e->forest) != 0 || quota_digest(&e->forest) != before) {
        return false;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->queues, &i)) != NULL;) {
        const struct engine_queue *q = m->value;
        for (size_t k = 0; k < q->node->n_cells; k++) {
            const struct quota_cell *c = &q->node->cells[k];
            int64_t held = 0;
            size_t j = 0;
            for (const struct map_entry *x; (x = map_next(&e->workloads, &j)) != NULL;) {
                const struct engine_workload *w = x->value;
                for (size_t h = 0; w->queue == q && h < w->n_held; h++) {
                    bool same = quota_pair(w->held[h].flavor, w->held[h].resource) == c->q.pair;
                    held += same ? w->held[h].v : 0;
                }
            }
            if (held != c->usage) {
                return false;
            }
        }
    }
    return true;
}
