/*
 * pack: the estimator. New nodes are filled in the order in which they came; a pod is tried on all of them beginning
 * behind the one that took the last, then on the newest alone, then on one more.
 */
#include "core/scale/pack.h"

#include <math.h>

#include "base/err.h"

struct pack_node {
    int64_t free[PACK_RESOURCES];
    int64_t slots;
    uint64_t *groups; /* bits: pods of these groups are here */
    bool used;
};

struct packer {
    const struct pack_limits *limits;
    const struct pack_group *group;
    const struct pack_pods *pods;
    size_t n;
    struct arena *a;
    struct str names[PACK_RESOURCES];
    size_t n_names;
    int64_t (*requests)[PACK_RESOURCES]; /* of each group of pods */
    struct pack_node *nodes;
    size_t n_nodes, cap;
    size_t last;            /* the node that took the last pod that any might take */
    int64_t allowed, added; /* allowed 0: any number; below: none */
    struct pack_option *option;
};

/* ---- amounts ---- */

static const struct quantity *find(const struct quantity_map *m, struct str key) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].key, key)) {
            return &m->v[i].value;
        }
    }
    return NULL;
}

static int64_t units(struct str resource, const struct quantity *q) {
    return q == NULL ? 0 : str_is(resource, "cpu") ? quantity_milli(*q) : quantity_value(*q);
}

static int64_t amount(const struct quantity_map *m, struct str resource) {
    return units(resource, find(m, resource));
}

static double number(const struct quantity_map *m, struct str resource) {
    const struct quantity *q = find(m, resource);
    return q == NULL ? 0 : (double)q->whole + (double)q->nano / 1e9;
}

static bool add_names(struct packer *p, const struct quantity_map *m) {
    for (size_t i = 0; m != NULL && i < m->n; i++) {
        size_t at = 0;
        while (at < p->n_names && !str_eq(p->names[at], m->v[i].key)) {
            at++;
        }
        if (at == p->n_names && at == PACK_RESOURCES) {
            return false;
        }
        p->names[at] = m->v[i].key;
        p->n_names += at == p->n_names;
    }
    return true;
}

/* ---- one pod on one node ---- */

static bool tolerates(const struct pack_toleration *t, const struct pack_taint *taint) {
    bool exists = str_is(t->operator, "Exists");
    return (t->effect.n == 0 || str_eq(t->effect, taint->effect)) &&
           (t->key.n == 0 || str_eq(t->key, taint->key)) &&
           (exists || (t->key.n > 0 && str_eq(t->value, taint->value)));
}

static bool selects(const struct packer *p, const struct pack_pods *g) {
    const struct pack_group *n = p->group;
    for (size_t i = 0; i < g->selector.n; i++) {
        size_t j = 0;
        while (j < n->labels.n && !(str_eq(n->labels.v[j].key, g->selector.v[i].key) &&
                                    str_eq(n->labels.v[j].value, g->selector.v[i].value))) {
            j++;
        }
        if (j == n->labels.n) {
            return false;
        }
    }
    for (size_t i = 0; i < n->n_taints; i++) {
        bool hard = !str_is(n->taints[i].effect, "PreferNoSchedule"), ok = !hard;
        for (size_t j = 0; !ok && j < g->n_tolerations; j++) {
            ok = tolerates(&g->tolerations[j], &n->taints[i]);
        }
        if (!ok) {
            return false;
        }
    }
    return true;
}

static bool is_here(const struct pack_node *x, size_t group) {
    return (x->groups[group / 64] >> group % 64 & 1) != 0;
}

static bool fits(const struct packer *p, const struct pack_node *x, size_t group) {
    const struct pack_pods *g = &p->pods[group];
    if (!p->option->fits[group] || x->slots < 1 || (g->apart && is_here(x, group))) {
        return false;
    }
    for (size_t i = 0; g->port != 0 && i < p->n; i++) {
        if (p->pods[i].port == g->port && is_here(x, i)) {
            return false;
        }
    }
    for (size_t i = 0; i < p->n_names; i++) {
        if (p->requests[group][i] > 0 && p->requests[group][i] > x->free[i]) {
            return false;
        }
    }
    return true;
}

static void track(struct packer *p, size_t group) {
    p->option->packed[group]++;
    p->option->pods++;
}

static bool place(struct packer *p, size_t node, size_t group) {
    struct pack_node *x = &p->nodes[node];
    if (!fits(p, x, group)) {
        return false;
    }
    for (size_t i = 0; i < p->n_names; i++) {
        x->free[i] -= p->requests[group][i];
    }
    x->slots--;
    x->groups[group / 64] |= UINT64_C(1) << group % 64;
    p->option->nodes += !x->used;
    x->used = true;
    track(p, group);
    return true;
}

/* ---- nodes ---- */

static int64_t least(int64_t base, int64_t limit) {
    return base < 0 || limit < 0 ? -1 : limit > 0 && (base == 0 || base > limit) ? limit : base;
}

static void set_allowed(struct packer *p) {
    const struct pack_limits *l = p->limits;
    int64_t room = p->group->max_size - p->group->target_size;
    p->allowed = least(0, l->per_scale_up);
    p->allowed = least(p->allowed, room > 0 ? room : -1);
    p->allowed = least(p->allowed, l->total == 0            ? 0
                                   : l->total <= l->current ? -1
                                                            : l->total - l->current);
}

static bool may_add(struct packer *p) {
    if (p->allowed < 0 || (p->allowed > 0 && p->added >= p->allowed) || p->added >= PACK_NODES) {
        return false;
    }
    p->added++;
    return true;
}

static int new_node(struct packer *p) {
    const struct pack_group *g = p->group;
    if (p->n_nodes == p->cap && ARENA_GROW(p->a, p->nodes, p->cap) != 0) {
        return ERR_NOMEM;
    }
    struct pack_node *x = &p->nodes[p->n_nodes];
    *x = (struct pack_node){.slots = amount(&g->allocatable, STR("pods")) - (g->daemon != NULL),
                            .groups = ARENA_ARRAY(p->a, uint64_t, p->n / 64 + 1)};
    for (size_t i = 0; i < p->n_names; i++) {
        x->free[i] = amount(&g->allocatable, p->names[i]) -
                     (g->daemon != NULL ? amount(g->daemon, p->names[i]) : 0);
    }
    p->n_nodes++;
    return x->groups == NULL ? ERR_NOMEM : 0;
}

/* ---- a group of pods ---- */

/* On any of the new nodes; how many found a place before one did not. */
static size_t on_existing(struct packer *p, size_t group) {
    size_t done = 0;
    for (; done < p->pods[group].count; done++) {
        bool found = false;
        for (size_t i = 0; !found && i < p->n_nodes; i++) {
            size_t at = (i + 1 + p->last) % p->n_nodes;
            found = place(p, at, group);
            p->last = found ? at : p->last;
        }
        if (!found) {
            break;
        }
    }
    return done;
}

/* *more: further nodes may be added for others. */
static int on_new(struct packer *p, size_t group, size_t done, bool *more) {
    for (; done < p->pods[group].count; done++) {
        if (p->n_nodes > 0 && place(p, p->n_nodes - 1, group)) {
            continue;
        }
        if (p->n_nodes > 0 && !p->nodes[p->n_nodes - 1].used) {
            return 0; /* one that is empty would not take it either */
        }
        *more = may_add(p);
        if (!*more) {
            return 0;
        }
        int rc = new_node(p);
        if (rc != 0 || !place(p, p->n_nodes - 1, group)) {
            return rc;
        }
    }
    return 0;
}

/* The first node is filled; of the others each is taken to hold as many. */
static int on_fast(struct packer *p, size_t group, size_t done, bool *more) {
    size_t left = p->pods[group].count - done, each = 0;
    if (left == 0) {
        return 0;
    }
    *more = may_add(p);
    int rc = *more ? new_node(p) : 0;
    while (rc == 0 && *more && each < left && place(p, p->n_nodes - 1, group)) {
        each++;
    }
    for (size_t at = each; rc == 0 && each > 0 && at < left; at += each) {
        *more = may_add(p);
        if (!*more) {
            return 0;
        }
        p->option->nodes++;
        for (size_t i = 0; i < each && at + i < left; i++) {
            track(p, group);
        }
    }
    return rc;
}

/* ---- the order of groups ---- */

static double score(const struct packer *p, size_t group) {
    static const char *const names[] = {"cpu", "memory"};
    double sum = 0;
    for (size_t i = 0; i < 2; i++) {
        int64_t has = amount(&p->group->allocatable, str_of(names[i]));
        if (has > 0) {
            sum += (double)amount(&p->pods[group].requests, str_of(names[i])) / (double)has;
        }
    }
    return sum;
}

static size_t sort_groups(const struct packer *p, size_t *order) {
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!p->option->fits[i]) {
            continue;
        }
        size_t at = n++;
        for (; at > 0 && score(p, order[at - 1]) < score(p, i); at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return n;
}

static size_t nodes_for(const struct packer *p, size_t group, const char *resource) {
    double has = number(&p->group->capacity, str_of(resource));
    double all = (double)p->pods[group].count * number(&p->pods[group].requests, str_of(resource));
    return has > 0 ? (size_t)ceil(all / has) : 0;
}

/* The group that gains most by not being simulated comes last. */
static void put_fast_last(const struct packer *p, size_t *order, size_t n) {
    size_t best = 0, saved = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pack_pods *g = &p->pods[order[i]];
        size_t nodes = g->apart ? g->count : 0, cpu = nodes_for(p, order[i], "cpu");
        size_t memory = nodes_for(p, order[i], "memory");
        nodes = cpu > nodes ? cpu : nodes;
        nodes = memory > nodes ? memory : nodes;
        size_t here = nodes > 0 ? g->count - g->count / nodes : 0;
        if (here >= saved) {
            best = i;
            saved = here;
        }
    }
    size_t group = order[best];
    memmove(&order[best], &order[best + 1], (n - best - 1) * sizeof(*order));
    order[n - 1] = group;
}

/* ---- the estimate ---- */

static int prepare(struct packer *p, struct err *err) {
    bool ok = add_names(p, p->group->daemon);
    p->requests = arena_array(p->a, p->n + 1, sizeof(*p->requests));
    p->option->fits = ARENA_ARRAY(p->a, bool, p->n + 1);
    p->option->packed = ARENA_ARRAY(p->a, size_t, p->n + 1);
    for (size_t i = 0; ok && i < p->n; i++) {
        ok = add_names(p, &p->pods[i].requests);
    }
    if (!ok) {
        return err_set(err, ERR_INVALID, "more than %d resources", PACK_RESOURCES);
    }
    if (p->requests == NULL || p->option->fits == NULL || p->option->packed == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < p->n; i++) {
        for (size_t j = 0; j < p->n_names; j++) {
            p->requests[i][j] = amount(&p->pods[i].requests, p->names[j]);
        }
    }
    int rc = new_node(p); /* an empty one, to try */
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        p->option->fits[i] = true;
        p->option->fits[i] = selects(p, &p->pods[i]) && fits(p, &p->nodes[0], i);
    }
    p->n_nodes = 0;
    return rc;
}

int pack_estimate(const struct pack_limits *l, const struct pack_group *g,
                  const struct pack_pods *pods, size_t n, struct arena *a, struct pack_option *ret,
                  struct err *err) {
    struct packer p = {.limits = l, .group = g, .pods = pods, .n = n, .a = a, .option = ret};
    size_t *order = ARENA_ARRAY(a, size_t, n + 1);
    bool more = true;
    *ret = (struct pack_option){.group = g};
    int rc = order == NULL ? ERR_NOMEM : prepare(&p, err);
    size_t sorted = rc == 0 ? sort_groups(&p, order) : 0;
    set_allowed(&p);
    if (l->fast && sorted > 0) {
        put_fast_last(&p, order, sorted);
    }
    for (size_t i = 0; rc == 0 && i < sorted; i++) {
        size_t done = on_existing(&p, order[i]);
        if (more) {
            rc = l->fast && i + 1 == sorted ? on_fast(&p, order[i], done, &more)
                                            : on_new(&p, order[i], done, &more);
        }
    }
    return rc;
}

/* ---- expanders ---- */

/* The part of CPU and memory that nobody asked for. */
static double waste(const struct pack_option *o, const struct pack_pods *pods, size_t n) {
    static const char *const names[] = {"cpu", "memory"};
    double sum = 0;
    for (size_t i = 0; i < 2; i++) {
        int64_t asked = 0, has = amount(&o->group->capacity, str_of(names[i])) * (int64_t)o->nodes;
        for (size_t j = 0; j < n; j++) {
            asked += amount(&pods[j].requests, str_of(names[i])) * (int64_t)o->packed[j];
        }
        sum += (double)(has - asked) / (double)has;
    }
    return sum;
}

/* Of two options the one with the lower number is better. */
static double rank(enum pack_expander e, const struct pack_option *o, const struct pack_pods *pods,
                   size_t n) {
    return e == PACK_LEAST_NODES   ? (double)o->nodes
           : e == PACK_LEAST_WASTE ? waste(o, pods, n)
                                   : -(double)o->pods;
}

void pack_expand(enum pack_expander e, const struct pack_option *options, size_t n,
                 const struct pack_pods *pods, size_t n_pods, bool *keep) {
    double best = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double here = options[i].nodes > 0 ? rank(e, &options[i], pods, n_pods) : INFINITY;
        best = here < best ? here : best;
    }
    for (size_t i = 0; i < n; i++) {
        keep[i] = options[i].nodes > 0 && rank(e, &options[i], pods, n_pods) == best;
    }
}
