/* clone (core): see clone.h. */
#include "core/whatif/clone.h"

#include "core/admit/engine_parts.h"
#include "core/queue/alike.h"
#include "core/queue/queue_list.h"

enum {
    HOLDING_MAX = 4000,
    PENDING_MAX = 4000,
    NODES_MAX = 4000,
    SEATS_MAX = 40000,
    ARENA_MAX = 512 << 20,
    ALIKE = 64,         /* pod sets remembered */
    CLASSES_MAX = 20000 /* kinds of workloads of one queue that are looked at for its first ones */
};

/* Of one queue: how many of the works found are its. */
struct found {
    size_t holding, pending;
    bool cut; /* not all that hold quota */
    struct queue *q;
};

struct take {
    struct engine *e;
    struct engine_parts from; /* of e */
    struct clone *c;
    struct clone_limits limits;
    struct workload_vec holding, pending;
    struct quota_nodes nodes; /* of the trees */
    struct found *found;      /* by number of the clone's queue */
    size_t pending_per_queue;
    struct {
        const struct queue_workload *of;
        const struct set_input *sets;
    } alike[ALIKE]; /* pod sets copied last: those of alike workloads are the same */
    struct str local;
    const char *wanted; /* by flavor number: some queue names it */
};

/* ---- small copies ---- */

static struct str keep(struct take *t, struct str s) {
    return str_empty(s) ? (struct str){0} : arena_str(&t->c->arena, s);
}

static struct bump room(struct take *t, size_t size) {
    return (struct bump){.p = arena_alloc(&t->c->arena, size ? size : 1), .cap = size};
}

static struct str *names_copy(struct take *t, const struct names *n) {
    struct str *v = ARENA_ARRAY(&t->c->arena, struct str, n->v.n + 1);
    for (size_t i = 0; v != NULL && i < n->v.n; i++) {
        v[i] = keep(t, n->v.v[i]->text);
    }
    return v;
}

static struct str flavor_name(const struct take *t, uint32_t id) {
    return id < t->c->n_flavor_names ? t->c->flavor_names[id] : (struct str){0};
}

static struct str resource_name(const struct take *t, uint32_t id) {
    return id < t->c->n_resource_names ? t->c->resource_names[id] : (struct str){0};
}

/* ---- flavors, cohorts, queues ---- */

static int flavors_take(struct take *t) {
    struct clone *c = t->c;
    c->flavors = ARENA_ARRAY(&c->arena, struct flavor_input, t->from.flavors->all.n + 1);
    for (uint32_t i = 0; c->flavors != NULL && i < t->from.flavors->all.n; i++) {
        const struct flavor_entry *f = &t->from.flavors->all.v[i];
        if (f->memory != NULL && t->wanted[i]) {
            struct bump b = room(t, flavor_input_size(&f->spec));
            if (b.p == NULL) {
                return ERR_NOMEM;
            }
            flavor_input_copy(&b, &f->spec, &c->flavors[c->n_flavors++]);
        }
    }
    return c->flavors != NULL ? 0 : ERR_NOMEM;
}

static struct quota_input quota_of(const struct quota_node *n, uint32_t pair) {
    size_t lo = 0, hi = n->n_own;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (n->own[mid].pair < pair) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo < n->n_own && n->own[lo].pair == pair) {
        return (struct quota_input){n->own[lo].nominal, n->own[lo].borrowing, n->own[lo].lending};
    }
    return (struct quota_input){0, AMOUNT_NONE, AMOUNT_NONE};
}

/* A cohort keeps pairs, not groups: each pair becomes a group of its own. */
static int cohort_take(struct take *t, const struct quota_node *n) {
    struct arena *a = &t->c->arena;
    struct group_input *g = ARENA_ARRAY(a, struct group_input, n->n_own + 1);
    for (size_t i = 0; g != NULL && i < n->n_own; i++) {
        struct str *resource = ARENA_NEW(a, struct str);
        struct group_flavor_input *flavor = ARENA_NEW(a, struct group_flavor_input);
        struct quota_input *q = ARENA_NEW(a, struct quota_input);
        if (resource == NULL || flavor == NULL || q == NULL) {
            return ERR_NOMEM;
        }
        *q = quota_of(n, n->own[i].pair);
        *resource = resource_name(t, n->own[i].pair & 0xffff);
        *flavor = (struct group_flavor_input){flavor_name(t, n->own[i].pair >> 16), q};
        g[i] = (struct group_input){resource, 1, flavor, 1};
    }
    t->c->cohorts[t->c->n_cohorts++] = (struct cohort_input){.name = keep(t, n->name),
                                                             .parent = keep(t, n->parent_name),
                                                             .groups = g,
                                                             .n_groups = n->n_own,
                                                             .weight = n->weight};
    return g != NULL ? 0 : ERR_NOMEM;
}

static int group_take(struct take *t, const struct queue *q, const struct queue_group *from,
                      struct group_input *to) {
    struct arena *a = &t->c->arena;
    struct str *resources = ARENA_ARRAY(a, struct str, from->n_resources + 1);
    struct group_flavor_input *flavors =
        ARENA_ARRAY(a, struct group_flavor_input, from->n_flavors + 1);
    if (resources == NULL || flavors == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < from->n_resources; i++) {
        resources[i] = resource_name(t, from->resources[i]);
    }
    for (size_t f = 0; f < from->n_flavors; f++) {
        struct quota_input *v = ARENA_ARRAY(a, struct quota_input, from->n_resources + 1);
        if (v == NULL) {
            return ERR_NOMEM;
        }
        for (size_t i = 0; i < from->n_resources; i++) {
            v[i] = quota_of(q->node, quota_pair(from->flavors[f], from->resources[i]));
        }
        flavors[f] = (struct group_flavor_input){flavor_name(t, from->flavors[f]), v};
    }
    *to = (struct group_input){resources, from->n_resources, flavors, from->n_flavors};
    return 0;
}

static int queue_take(struct take *t, const struct queue *q) {
    struct group_input *g = ARENA_ARRAY(&t->c->arena, struct group_input, q->n_groups + 1);
    int r = g != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < q->n_groups && r == 0; i++) {
        r = group_take(t, q, &q->groups[i], &g[i]);
    }
    t->c->queues[t->c->n_queues++] = (struct queue_input){.name = keep(t, q->name),
                                                          .cohort = keep(t, q->node->parent_name),
                                                          .strict = q->strict,
                                                          .held = q->held,
                                                          .groups = g,
                                                          .n_groups = q->n_groups,
                                                          .when_can_borrow = q->when_can_borrow,
                                                          .when_can_preempt = q->when_can_preempt,
                                                          .borrow_costs_more = q->borrow_costs_more,
                                                          .within_queue = q->within_queue,
                                                          .reclaim = q->reclaim,
                                                          .borrow_within = q->borrow_within,
                                                          .has_threshold = q->has_threshold,
                                                          .threshold = q->threshold,
                                                          .weight = q->node->weight,
                                                          .local_usage = q->local_usage};
    return r;
}

/* ---- workloads ---- */

static int set_take(struct take *t, const struct workload_set *from, struct set_input *to) {
    struct arena *a = &t->c->arena;
    struct shape *shape = ARENA_NEW(a, struct shape);
    struct node_amount *requests = ARENA_ARRAY(a, struct node_amount, from->n_requests + 1);
    struct bump b = room(t, shape_size(&from->shape));
    if (shape == NULL || requests == NULL || b.p == NULL) {
        return ERR_NOMEM;
    }
    shape_copy(&b, &from->shape, shape);
    for (size_t i = 0; i < from->n_requests; i++) {
        requests[i] =
            (struct node_amount){resource_name(t, from->requests[i].resource), from->requests[i].v};
    }
    *to = (struct set_input){.name = keep(t, from->name),
                             .count = from->count,
                             .min_count = from->min_count,
                             .shape = shape,
                             .requests = requests,
                             .n_requests = from->n_requests};
    return 0;
}

/* The pod sets; those of workloads that any decision treats alike are copied once. */
static const struct set_input *sets_take(struct take *t, const struct queue_workload *w) {
    size_t at = w->hash % ALIKE;
    if (t->alike[at].sets != NULL && workload_alike(t->alike[at].of, w)) {
        return t->alike[at].sets;
    }
    struct set_input *sets = ARENA_ARRAY(&t->c->arena, struct set_input, w->n_sets + 1);
    for (size_t i = 0; sets != NULL && i < w->n_sets; i++) {
        if (set_take(t, &w->sets[i], &sets[i]) != 0) {
            return NULL;
        }
    }
    t->alike[at].of = w;
    t->alike[at].sets = sets;
    return sets;
}

static struct str local_take(struct take *t, struct str local) {
    if (!str_eq(t->local, local)) {
        t->local = keep(t, local);
    }
    return t->local;
}

static int work_take(struct take *t, const struct queue_workload *w, struct str queue) {
    struct clone_work *k = &t->c->works[t->c->n_works++];
    const struct set_input *sets = sets_take(t, w);
    struct held_amount *held =
        w->n_held > 0 ? ARENA_ARRAY(&t->c->arena, struct held_amount, w->n_held) : NULL;
    if (sets == NULL || (w->n_held > 0 && held == NULL)) {
        return ERR_NOMEM;
    }
    if (w->n_held > 0) {
        memcpy(held, w->held, w->n_held * sizeof(*held));
    }
    *k = (struct clone_work){.in = {.uid = keep(t, w->uid),
                                    .queue = queue,
                                    .priority = w->priority,
                                    .queued_ns = w->queued_ns,
                                    .sets = sets,
                                    .n_sets = w->n_sets,
                                    .local = local_take(t, w->local),
                                    .gated = w->gated,
                                    .failed_checks = w->failed_checks,
                                    .reserved_ns = w->reserved_ns,
                                    .evicting = w->evicting,
                                    .not_ready = w->not_ready,
                                    .protected_until_ns = w->protected_until_ns,
                                    .minimum_runtime_ns = w->minimum_runtime_ns,
                                    .run_max_s = w->run_max_s,
                                    .replaces = keep(t, w->replaces)},
                             .held = held,
                             .n_held = w->n_held,
                             .holds = w->state == WORKLOAD_HOLDING};
    return arena_ok(&t->c->arena);
}

static int in_order(const void *a, const void *b, void *ctx) {
    return queue_list_cmp(*(struct queue_workload *const *)a, *(struct queue_workload *const *)b,
                          ctx);
}

/* The pending workloads of a queue in its order, at most its part of the limit. */
static int pending_find(struct take *t, struct found *f) {
    size_t all = queue_pending(f->q), from = t->pending.n;
    size_t limit = t->pending_per_queue;
    t->c->pending_left_out += all > limit ? all - limit : 0;
    int r = all > limit ? queue_list_first(f->q, limit, CLASSES_MAX, &t->pending)
                        : queue_waiting(f->q, limit, &t->pending);
    f->pending = t->pending.n - from;
    if (all <= limit && f->pending > 1) {
        qsort_r(t->pending.v + from, f->pending, sizeof(*t->pending.v), in_order, f->q);
    }
    return r;
}

static int holding_add(struct take *t, struct found *f, struct queue_workload *w) {
    if (t->holding.n == t->limits.holding) {
        t->c->holding_left_out++;
        f->cut = true;
        return 0;
    }
    f->holding++;
    return workload_vec_push(&t->holding, w);
}

static int holding_find(struct take *t, struct found *f) {
    struct tree_pos p = tree_seek(&f->q->holders, NULL);
    int r = 0;
    if (t->holding.n == t->limits.holding && f->q->n_holding > 0) {
        t->c->holding_left_out += f->q->n_holding;
        f->cut = true;
        return 0;
    }
    for (struct queue_workload *w; r == 0 && (w = tree_next(&f->q->holders, &p)) != NULL;) {
        r = holding_add(t, f, w);
    }
    f->cut = f->cut || f->holding < f->q->n_holding;
    return r;
}

/* What those hold that were left out, as one workload that stays for ever and nobody may evict. */
static int rest_take(struct take *t, const struct found *f, struct str queue, size_t first) {
    struct clone *c = t->c;
    const struct quota_node *n = f->q->node;
    struct held_amount *held = ARENA_ARRAY(&c->arena, struct held_amount, n->n_cells + 1);
    struct set_input *set = ARENA_NEW(&c->arena, struct set_input);
    struct shape *any = ARENA_NEW(&c->arena, struct shape);
    size_t n_held = 0;
    if (held == NULL || set == NULL || any == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n->n_cells; i++) {
        int64_t v = n->cells[i].usage - engine_reserved(t->e, &n->cells[i]);
        for (size_t k = first; k < c->n_works; k++) {
            for (size_t h = 0; h < c->works[k].n_held; h++) {
                const struct held_amount *x = &c->works[k].held[h];
                v -= quota_pair(x->flavor, x->resource) == n->cells[i].q.pair ? x->v : 0;
            }
        }
        if (v > 0) {
            held[n_held++] = (struct held_amount){.flavor = n->cells[i].q.pair >> 16,
                                                  .resource = n->cells[i].q.pair & 0xffff,
                                                  .v = v};
        }
    }
    *set = (struct set_input){.name = STR("rest"), .shape = any};
    c->works[c->n_works++] =
        (struct clone_work){.in = {.uid = arena_f(&c->arena, "rest of %.*s", STR_ARG(queue)),
                                   .queue = queue,
                                   .priority = INT64_MAX,
                                   .sets = set,
                                   .n_sets = 1,
                                   .protected_until_ns = INT64_MAX},
                            .held = held,
                            .n_held = n_held,
                            .holds = true};
    return arena_ok(&c->arena);
}

static int works_take(struct take *t) {
    struct clone *c = t->c;
    size_t at = 0, i = 0;
    c->works =
        ARENA_ARRAY(&c->arena, struct clone_work, t->holding.n + t->pending.n + c->n_queues + 1);
    int r = c->works != NULL ? 0 : ERR_NOMEM;
    for (size_t q = 0; q < c->n_queues && r == 0; q++) {
        size_t first = c->n_works;
        for (size_t k = 0; k < t->found[q].holding && r == 0; k++) {
            r = work_take(t, t->holding.v[at++], c->queues[q].name);
        }
        if (r == 0 && t->found[q].cut) {
            r = rest_take(t, &t->found[q], c->queues[q].name, first);
        }
    }
    c->n_holding = c->n_works;
    for (size_t q = 0; q < c->n_queues && r == 0; q++) {
        for (size_t k = 0; k < t->found[q].pending && r == 0; k++) {
            r = work_take(t, t->pending.v[i++], c->queues[q].name);
        }
    }
    return r;
}

/* What the LocalQueues of the copied workloads used. */
static int locals_take(struct take *t) {
    struct clone *c = t->c;
    struct map seen = {0};
    int r = 0;
    if (!t->from.o->local_usage) {
        return 0;
    }
    c->locals = ARENA_ARRAY(&c->arena, struct clone_local, c->n_works + 1);
    r = c->locals != NULL ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < c->n_works && r == 0; i++) {
        struct str name = c->works[i].in.local;
        double usage = engine_local_usage(t->e, name);
        if (str_empty(name) || usage < 0 || map_get(&seen, name) != NULL) {
            continue;
        }
        c->locals[c->n_locals++] = (struct clone_local){name, usage};
        r = map_put(&seen, name, c, NULL);
    }
    map_release(&seen);
    return r;
}

static int places_take(struct take *t) {
    struct clone *c = t->c;
    struct pool_copy_limits most = {t->limits.nodes, t->limits.seats};
    return pool_copy_take(t->from.pool, c->flavors, c->n_flavors, &most, &c->arena, &c->places);
}

/* ---- the whole ---- */

static bool has(const struct quota_nodes *v, const struct quota_node *n) {
    for (size_t i = 0; i < v->n; i++) {
        if (v->v[i] == n) {
            return true;
        }
    }
    return false;
}

static int roots_find(const struct quota_forest *f, const struct str *names, size_t n, bool queue,
                      struct quota_nodes *roots) {
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        const struct quota_node *x = quota_find(f, queue, names[i]);
        if (x != NULL && x->root != NULL && !has(roots, x->root)) {
            r = quota_nodes_push(roots, x->root);
        }
    }
    return r;
}

static int options_take(struct take *t) {
    struct clone *c = t->c;
    const struct engine_options *o = t->from.o;
    struct resource_weight *w =
        ARENA_ARRAY(&c->arena, struct resource_weight, o->n_resource_weights + 1);
    if (w == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < o->n_resource_weights; i++) {
        w[i] = (struct resource_weight){keep(t, o->resource_weights[i].resource),
                                        o->resource_weights[i].weight};
    }
    c->options = *o;
    c->options.resource_weights = w;
    c->options.check_undo = false;
    c->flavor_names = names_copy(t, &t->from.flavors->names);
    c->n_flavor_names = t->from.flavors->names.v.n;
    c->resource_names = names_copy(t, t->from.resources);
    c->n_resource_names = t->from.resources->v.n;
    return c->flavor_names != NULL && c->resource_names != NULL ? 0 : ERR_NOMEM;
}

/* The nodes of the trees: cohorts, and queues with their workloads. */
static int trees_take(struct take *t) {
    struct clone *c = t->c;
    const struct quota_nodes *all = &t->nodes;
    size_t queues = 0, cohorts = 0;
    char *wanted = arena_zalloc(&c->arena, t->from.flavors->all.n + 1);
    for (size_t i = 0; i < all->n; i++) {
        queues += all->v[i]->queue;
        cohorts += !all->v[i]->queue;
    }
    c->queues = ARENA_ARRAY(&c->arena, struct queue_input, queues + 1);
    c->cohorts = ARENA_ARRAY(&c->arena, struct cohort_input, cohorts + 1);
    t->found = ARENA_ARRAY(&c->arena, struct found, queues + 1);
    int r = c->queues != NULL && c->cohorts != NULL && wanted != NULL && t->found != NULL
                ? 0
                : ERR_NOMEM;
    t->pending_per_queue = t->limits.pending / (queues > 0 ? queues : 1);
    size_t total = 0;
    for (size_t i = 0; i < all->n && r == 0; i++) {
        const struct queue *q = all->v[i]->user;
        total += q != NULL ? queue_pending(q) : 0;
    }
    t->pending_per_queue = total <= t->limits.pending ? total : t->pending_per_queue;
    for (size_t i = 0; i < all->n && r == 0; i++) {
        const struct quota_node *n = all->v[i];
        struct queue *q = n->user;
        if (!n->queue) {
            r = n->declared ? cohort_take(t, n) : 0;
            continue;
        }
        for (size_t k = 0; k < q->n_groups; k++) {
            for (size_t f = 0; f < q->groups[k].n_flavors; f++) {
                wanted[q->groups[k].flavors[f]] = 1;
            }
        }
        struct found *f = &t->found[c->n_queues];
        f->q = q;
        r = queue_take(t, q);
        if (r != 0) {
            return r;
        }
        r = holding_find(t, f);
        if (r != 0) {
            return r;
        }
        r = pending_find(t, f);
    }
    t->wanted = wanted;
    return r;
}

/* The nodes of the trees that the named ones are in. */
static int roots_take(struct take *t, const struct str *queues, size_t n_queues,
                      const struct str *cohorts, size_t n_cohorts, struct quota_nodes *roots) {
    if (engine_parts(t->e, &t->from) != 0 ||
        roots_find(t->from.forest, queues, n_queues, true, roots) != 0 ||
        roots_find(t->from.forest, cohorts, n_cohorts, false, roots) != 0) {
        return ERR_NOMEM;
    }
    return quota_nodes_of(t->from.forest, roots, &t->nodes);
}

int clone_take(struct engine *e, const struct str *queues, size_t n_queues,
               const struct str *cohorts, size_t n_cohorts, const struct clone_limits *limits,
               struct clone *c) {
    static int (*const steps[])(struct take *) = {options_take, trees_take,  flavors_take,
                                                  works_take,   locals_take, places_take};
    struct take t = {.e = e, .c = c};
    struct quota_nodes roots = {0};
    if (limits != NULL) {
        t.limits = *limits;
    }
    t.limits.holding = t.limits.holding ? t.limits.holding : HOLDING_MAX;
    t.limits.pending = t.limits.pending ? t.limits.pending : PENDING_MAX;
    t.limits.nodes = t.limits.nodes ? t.limits.nodes : NODES_MAX;
    t.limits.seats = t.limits.seats ? t.limits.seats : SEATS_MAX;
    *c = (struct clone){0};
    arena_init(&c->arena, ARENA_MAX);
    int r = roots_take(&t, queues, n_queues, cohorts, n_cohorts, &roots);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r == 0; i++) {
        r = steps[i](&t);
    }
    quota_nodes_release(&roots);
    quota_nodes_release(&t.nodes);
    workload_vec_release(&t.holding);
    workload_vec_release(&t.pending);
    return r == 0 ? arena_ok(&c->arena) : r;
}

void clone_release(struct clone *c) {
    arena_release(&c->arena);
}

struct str clone_root(struct engine *e, struct str queue, struct arena *a) {
    struct engine_parts x;
    const struct quota_node *n =
        engine_parts(e, &x) == 0 ? quota_find(x.forest, true, queue) : NULL;
    if (n == NULL) {
        return (struct str){0};
    }
    n = n->root;
    return arena_f(a, "%s:%.*s", n->queue ? "queue" : "cohort", STR_ARG(n->name));
}

int clone_flavor_users(struct engine *e, struct str flavor, struct arena *a, struct str **ret,
                       size_t *ret_n) {
    struct engine_parts x;
    size_t i = 0, n = 0;
    if (engine_parts(e, &x) != 0) {
        return ERR_NOMEM;
    }
    uint32_t id = names_find(&x.flavors->names, flavor);
    struct str *v = ARENA_ARRAY(a, struct str, map_count(&x.queues->by_name) + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (const struct map_entry *m; (m = map_next(&x.queues->by_name, &i)) != NULL;) {
        const struct queue *q = m->value;
        if (id != NAME_ABSENT && queue_names_flavor(q, id)) {
            v[n++] = arena_str(a, q->name);
        }
    }
    *ret = v;
    *ret_n = n;
    return arena_ok(a);
}
