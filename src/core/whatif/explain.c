/* explain (core): see explain.h. */
#include "core/whatif/explain.h"

#include "core/admit/engine_parts.h"
#include "core/admit/victim_rules.h"

struct hold {
    const struct queue_workload *w;
    int64_t v;
};
VEC(hold_vec, struct hold);

/* Who holds some of one pair of flavor and resource, biggest first. */
struct pair_holds {
    uint32_t pair;
    struct hold_vec v;
};

struct explain_index {
    struct engine_parts e;
    struct map pairs; /* the pair's bytes -> pair_holds */
};

/* ---- the index ---- */

static struct str pair_key(const uint32_t *pair) {
    return str_from((const char *)pair, sizeof(*pair));
}

static int bigger_first(const void *a, const void *b) {
    const struct hold *x = a, *y = b;
    if (x->v != y->v) {
        return x->v > y->v ? -1 : 1;
    }
    return str_cmp(x->w->uid, y->w->uid);
}

static int index_hold(struct explain_index *x, const struct queue_workload *w, uint32_t pair,
                      int64_t v) {
    struct pair_holds *p = map_get(&x->pairs, pair_key(&pair));
    if (p == NULL) {
        p = mem_zalloc(sizeof(*p));
        if (p == NULL) {
            return ERR_NOMEM;
        }
        p->pair = pair;
        if (map_put(&x->pairs, pair_key(&p->pair), p, NULL) != 0) {
            mem_free(p);
            return ERR_NOMEM;
        }
    }
    if (p->v.n > 0 && p->v.v[p->v.n - 1].w == w) { /* another pod set of the same */
        p->v.v[p->v.n - 1].v = amount_add(p->v.v[p->v.n - 1].v, v);
        return 0;
    }
    return hold_vec_push(&p->v, (struct hold){w, v});
}

static int index_fill(struct explain_index *x) {
    size_t i = 0;
    int r = 0;
    for (const struct map_entry *m; r == 0 && (m = map_next(x->e.workloads, &i)) != NULL;) {
        const struct queue_workload *w = m->value;
        for (size_t k = 0; k < w->n_held && r == 0; k++) {
            const struct held_amount *h = &w->held[k];
            r = h->v > 0 ? index_hold(x, w, quota_pair(h->flavor, h->resource), h->v) : 0;
        }
    }
    i = 0;
    for (const struct map_entry *m; (m = map_next(&x->pairs, &i)) != NULL;) {
        struct pair_holds *p = m->value;
        if (p->v.n > 1) {
            qsort(p->v.v, p->v.n, sizeof(*p->v.v), bigger_first);
        }
    }
    return r;
}

int explain_index_new(struct engine *e, struct explain_index **ret) {
    struct explain_index *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return ERR_NOMEM;
    }
    int r = engine_parts(e, &x->e);
    if (r == 0) {
        r = index_fill(x);
    }
    if (r != 0) {
        explain_index_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

void explain_index_free(struct explain_index *x) {
    if (x == NULL) {
        return;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&x->pairs, &i)) != NULL;) {
        struct pair_holds *p = m->value;
        hold_vec_release(&p->v);
        mem_free(p);
    }
    map_release(&x->pairs);
    mem_free(x);
}

/* ---- who asks ---- */

/* What the asker would take with the flavor that is looked at, one for each cell. */
struct taken {
    const struct quota_cell *cell;
    struct explain_bar bar;
};

struct asker {
    struct explain_index *x;
    const struct queue_workload *w;
    const struct explain_options *o;
    struct arena *a;
    struct explanation *out;
    struct map counted; /* uids of holders that are in out->rules */
    size_t *flavor_at;  /* of each group, which it would be given; NULL: not yet known */
    /* of the lack that is looked at */
    struct taken *taken;
    size_t n_taken;
    bool borrows;                          /* in some resource */
    const struct quota_node *barred_below; /* by borrowing, from reclaiming of queues below this */
    bool barred;                           /* somebody is kept by that */
};

/* What all pod sets together ask of a resource: of one that may start with fewer pods, the least that lets it start. */
static int64_t need_of(const struct queue_workload *w, uint32_t resource, bool *ret_least) {
    int64_t v = 0;
    *ret_least = false;
    for (size_t i = 0; i < w->n_sets; i++) {
        const struct workload_set *s = &w->sets[i];
        bool fewer = s->min_count > 0 && s->min_count < s->count;
        for (size_t k = 0; k < s->n_requests; k++) {
            if (s->requests[k].resource == resource) {
                v = amount_add(v, amount_mul(s->requests[k].v, fewer ? s->min_count : s->count));
                *ret_least = *ret_least || fewer;
            }
        }
    }
    return v;
}

/* ---- would it borrow? ---- */

static const struct workload_set *first_asking(const struct queue_workload *w,
                                               const struct queue_group *g) {
    for (size_t i = 0; i < w->n_sets; i++) {
        for (size_t k = 0; k < w->sets[i].n_requests; k++) {
            for (size_t r = 0; r < g->n_resources; r++) {
                if (g->resources[r] == w->sets[i].requests[k].resource) {
                    return &w->sets[i];
                }
            }
        }
    }
    return NULL;
}

/* How well a group's flavor would do for the asker. */
enum suits { SUITS_NOT, SUITS_SHORT, SUITS_BORROWING, SUITS };

static enum suits suits(const struct asker *k, const struct queue_group *g, uint32_t flavor,
                        const struct workload_set *s) {
    const struct flavor_entry *f = &k->x->e.flavors->all.v[flavor];
    enum suits best = SUITS;
    bool least;
    if (f->memory == NULL || taints_untolerated(f->spec.taints, &s->shape, &f->spec) != NULL ||
        !shape_matches_flavor(&s->shape, &f->spec)) {
        return SUITS_NOT;
    }
    for (size_t i = 0; i < g->n_resources; i++) {
        const struct quota_cell *c =
            quota_cell_of(k->w->queue->node, quota_pair(flavor, g->resources[i]));
        int64_t need = need_of(k->w, g->resources[i], &least);
        enum suits one = c == NULL || need == 0                     ? SUITS
                         : need > amount_max(0, quota_available(c)) ? SUITS_SHORT
                         : quota_borrows_with(c, need)              ? SUITS_BORROWING
                                                                    : SUITS;
        best = one < best ? one : best;
    }
    return best;
}

/* As its queue chooses among them. */
static size_t flavor_of_group(const struct asker *k, const struct queue_group *g,
                              const struct workload_set *s) {
    bool looks_on = k->w->queue->when_can_borrow == FUNGIBILITY_NEXT;
    enum suits best = SUITS_NOT;
    size_t at = 0;
    for (size_t f = 0; f < g->n_flavors && best < (looks_on ? SUITS : SUITS_BORROWING); f++) {
        enum suits one = suits(k, g, g->flavors[f], s);
        at = one > best ? f : at;
        best = one > best ? one : best;
    }
    return at;
}

static int flavors_choose(struct asker *k) {
    const struct queue *q = k->w->queue;
    if (k->flavor_at != NULL) {
        return 0;
    }
    k->flavor_at = ARENA_ARRAY(k->a, size_t, q->n_groups + 1);
    for (size_t i = 0; i < q->n_groups && k->flavor_at != NULL; i++) {
        const struct workload_set *s = first_asking(k->w, &q->groups[i]);
        k->flavor_at[i] = s != NULL ? flavor_of_group(k, &q->groups[i], s) : 0;
    }
    return k->flavor_at != NULL ? 0 : ERR_NOMEM;
}

static void take_group(struct asker *k, size_t group, size_t flavor_at) {
    const struct queue_group *g = &k->w->queue->groups[group];
    for (size_t i = 0; i < g->n_resources; i++) {
        uint32_t flavor = g->flavors[flavor_at], resource = g->resources[i];
        const struct quota_cell *c = quota_cell_of(k->w->queue->node, quota_pair(flavor, resource));
        bool least;
        int64_t need = need_of(k->w, resource, &least);
        /* the search for victims does not count the pods themselves (preempt_need.uncounted) */
        if (c == NULL || need == 0 || str_is(names_text(k->x->e.resources, resource), "pods")) {
            continue;
        }
        k->taken[k->n_taken++] = (struct taken){
            c,
            {.flavor = flavor,
             .resource = resource,
             .group = group,
             .flavor_at = flavor_at,
             .resource_at = i,
             .need = need,
             .nominal = c->subtree,
             .used = c->usage,
             .missing = amount_max(0, amount_sub(amount_add(c->usage, need), c->subtree))}};
    }
}

/* What it would take with this flavor, and where borrowing for it bars it: up to the first cohort in whose own quota
 * all of it has room, as the search for victims finds it (preempt.c, collect_cohort). */
static int take_with(struct asker *k, size_t group, size_t flavor_at) {
    const struct queue *q = k->w->queue;
    size_t n = 0;
    for (size_t i = 0; i < q->n_groups; i++) {
        n += q->groups[i].n_resources;
    }
    const struct quota_cell **cells = ARENA_ARRAY(k->a, const struct quota_cell *, n + 1);
    int64_t *rest = ARENA_ARRAY(k->a, int64_t, n + 1);
    k->taken = ARENA_ARRAY(k->a, struct taken, n + 1);
    k->n_taken = 0;
    if (cells == NULL || rest == NULL || k->taken == NULL || flavors_choose(k) != 0) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        if (q->groups[i].n_flavors > 0) {
            take_group(k, i, i == group ? flavor_at : k->flavor_at[i]);
        }
    }
    for (size_t i = 0; i < k->n_taken; i++) {
        cells[i] = k->taken[i].cell;
        rest[i] = k->taken[i].bar.need;
    }
    k->borrows = !quota_own_room(cells, rest, k->n_taken);
    k->barred_below = q->node;
    bool borrows = k->borrows;
    for (const struct quota_node *a = q->node->parent; a != NULL && borrows; a = a->parent) {
        k->barred_below = a;
        borrows = !quota_own_room(cells, rest, k->n_taken);
    }
    return 0;
}

/* Those that barred it become part of the answer. */
static int bars_add(struct asker *k, uint32_t pair) {
    struct explanation *x = k->out;
    bool own = true;
    for (size_t i = 0; i < k->n_taken; i++) {
        own = own && (k->taken[i].cell->q.pair != pair || k->taken[i].bar.missing == 0);
    }
    struct explain_bar *v = ARENA_ARRAY(k->a, struct explain_bar, x->n_bars + k->n_taken + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    if (x->n_bars > 0) {
        memcpy(v, x->bars, x->n_bars * sizeof(*v));
    }
    x->bars = v;
    for (size_t i = 0; i < k->n_taken; i++) {
        struct explain_bar b = k->taken[i].bar;
        size_t at = 0;
        while (at < x->n_bars && (v[at].flavor != b.flavor || v[at].resource != b.resource)) {
            at++;
        }
        if (b.missing > 0) {
            b.remedy = own || (at < x->n_bars && v[at].remedy);
            v[at] = b;
            x->n_bars += at == x->n_bars;
        }
    }
    return 0;
}

/* ---- which rule keeps a holder ---- */

static bool is_below(const struct quota_node *n, const struct quota_node *top) {
    while (n != NULL && n != top) {
        n = n->parent;
    }
    return n != NULL;
}

/* What the rules of the cohort say that the search takes from its lists: who lends, and what borrowing changes. */
static enum keep_rule by_cohort(struct asker *k, const struct quota_cell *c, int64_t need,
                                const struct queue_workload *h) {
    enum keep_rule r = victim_queue_rule(k->w->queue, h->queue->node, c->q.pair);
    r = r == KEEP_NOT_ENOUGH ? victim_policy_rule(k->w->queue->reclaim, k->w, h) : r;
    if (r != KEEP_NOT_ENOUGH) {
        return r;
    }
    if (k->x->e.o->fair_sharing) {
        return quota_borrows_with(c, need) ? KEEP_SHARE : r;
    }
    if (!k->borrows || !is_below(h->queue->node, k->barred_below)) {
        return r;
    }
    r = victim_borrowing_rule(k->w, h);
    k->barred = k->barred || r != KEEP_NOT_ENOUGH;
    return r;
}

static enum keep_rule keeps(struct asker *k, const struct quota_cell *c, int64_t need,
                            const struct queue_workload *h, int64_t *ret_until) {
    enum keep_rule rule;

    *ret_until = 0;
    if (h->evicting) {
        return KEEP_EVICTING;
    }
    rule = h->queue == k->w->queue ? victim_policy_rule(h->queue->within_queue, k->w, h)
                                   : by_cohort(k, c, need, h);
    if (rule == KEEP_NOT_ENOUGH) {
        rule = victim_protection_rule(h, k->o->now, ret_until);
    }
    return rule == KEEP_NOT_ENOUGH && k->w->gated ? KEEP_GATED : rule;
}

static int count_rule(struct asker *k, const struct queue_workload *h, enum keep_rule rule,
                      int64_t until) {
    if (map_get(&k->counted, h->uid) != NULL) {
        return 0;
    }
    int r = map_put(&k->counted, h->uid, (void *)(uintptr_t)h, NULL);
    struct explain_rule *x = NULL;
    for (size_t i = 0; i < k->out->n_rules && x == NULL; i++) {
        x = k->out->rules[i].rule == rule ? &k->out->rules[i] : NULL;
    }
    if (x == NULL) {
        x = &k->out->rules[k->out->n_rules++];
        *x = (struct explain_rule){.rule = rule};
    }
    x->workloads++;
    if (until > 0 && (x->until_ns == 0 || until < x->until_ns)) {
        x->until_ns = until;
    }
    return r;
}

/* ---- one flavor ---- */

/* The node whose limit is met: what others hold below it is in the way. */
static const struct quota_node *limiting(const struct quota_cell *c) {
    while (c->up != NULL) {
        if (c->q.borrowing != AMOUNT_NONE) {
            int64_t local = quota_local(c);
            int64_t used = amount_max(0, amount_sub(c->usage, local));
            int64_t own = amount_sub(amount_sub(c->subtree, local), used);
            if (amount_add(own, c->q.borrowing) < quota_available(c->up)) {
                return c->node;
            }
        }
        c = c->up;
    }
    return c->node;
}

/* Does what this queue holds of the pair take anything from the asker's? */
static bool is_in_the_way(const struct asker *k, const struct queue *q,
                          const struct quota_node *top, uint32_t pair) {
    const struct quota_cell *c = quota_cell_of(q->node, pair);
    return q == k->w->queue || (c != NULL && is_below(q->node, top) && c->usage > quota_local(c));
}

static int holders_of(struct asker *k, const struct quota_cell *c, const struct quota_node *top,
                      struct explain_lack *l) {
    const struct pair_holds *p = map_get(&k->x->pairs, pair_key(&c->q.pair));
    size_t n = p != NULL ? p->v.n : 0;
    size_t cap = n < k->o->holders_max ? n : k->o->holders_max;
    l->holders = ARENA_ARRAY(k->a, struct explain_holder, cap + 1);
    if (l->holders == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        const struct queue_workload *h = p->v.v[i].w;
        int64_t until;
        if (!is_in_the_way(k, h->queue, top, c->q.pair)) {
            continue;
        }
        enum keep_rule rule = keeps(k, c, l->need, h, &until);
        if (count_rule(k, h, rule, until) != 0) {
            return ERR_NOMEM;
        }
        l->n_holders_all++;
        l->held_all = amount_add(l->held_all, p->v.v[i].v);
        if (l->n_holders < cap) {
            l->holders[l->n_holders++] = (struct explain_holder){
                h->uid, h->queue->name, h->priority, p->v.v[i].v, rule, until};
        }
    }
    return 0;
}

static int more_first(const void *a, const void *b) {
    const struct explain_borrower *x = a, *y = b;
    if (x->amount != y->amount) {
        return x->amount > y->amount ? -1 : 1;
    }
    return str_cmp(x->queue, y->queue);
}

static int borrowers_of(struct asker *k, const struct quota_cell *c, const struct quota_node *top,
                        struct explain_lack *l) {
    size_t n = 0;
    const struct quota_node *first = k->w->queue->node->root->tree_first;
    for (const struct quota_node *q = first; q != NULL; q = q->tree_next) {
        n++;
    }
    struct explain_borrower *v = ARENA_ARRAY(k->a, struct explain_borrower, n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (const struct quota_node *q = first; q != NULL; q = q->tree_next) {
        const struct quota_cell *x = quota_cell_of(q, c->q.pair);
        if (x != NULL && x->usage > x->subtree && is_below(q, top)) {
            v[l->n_borrowers_all++] =
                (struct explain_borrower){q->name, amount_sub(x->usage, x->subtree)};
        }
    }
    if (l->n_borrowers_all > 1) {
        qsort(v, l->n_borrowers_all, sizeof(*v), more_first);
    }
    l->borrowers = v;
    l->n_borrowers =
        l->n_borrowers_all < k->o->borrowers_max ? l->n_borrowers_all : k->o->borrowers_max;
    return 0;
}

static int lack_add(struct asker *k, const struct explain_lack *l) {
    struct explanation *x = k->out;
    if ((x->n_lacks & (x->n_lacks - 1)) == 0) { /* full at each power of two */
        struct explain_lack *v =
            ARENA_ARRAY(k->a, struct explain_lack, x->n_lacks ? x->n_lacks * 2 : 1);
        if (v == NULL) {
            return ERR_NOMEM;
        }
        if (x->n_lacks > 0) {
            memcpy(v, x->lacks, x->n_lacks * sizeof(*v));
        }
        x->lacks = v;
    }
    x->lacks[x->n_lacks++] = *l;
    return 0;
}

static int look_at_quota(struct asker *k, size_t group, size_t flavor_at, uint32_t resource,
                         bool *ret_ok) {
    uint32_t flavor = k->w->queue->groups[group].flavors[flavor_at];
    const struct quota_cell *c = quota_cell_of(k->w->queue->node, quota_pair(flavor, resource));
    struct explain_lack l = {.kind = LACK_QUOTA, .flavor = flavor, .resource = resource};
    l.need = need_of(k->w, resource, &l.least);
    *ret_ok = true;
    if (c == NULL) {
        return 0;
    }
    l.capacity = quota_potential(c);
    l.available = amount_max(0, quota_available(c));
    if (l.need <= l.available) {
        return 0;
    }
    *ret_ok = false;
    l.missing = amount_sub(l.need, l.available);
    if (l.need > l.capacity) {
        l.kind = LACK_CAPACITY;
        l.missing = amount_sub(l.need, l.capacity);
        return lack_add(k, &l);
    }
    const struct quota_node *top = limiting(c);
    l.limit_at = top->name;
    l.limit_is_queue = top->queue;
    k->barred = false;
    bool reclaims = k->w->queue->reclaim != PREEMPT_NEVER && !k->x->e.o->fair_sharing;
    int r = reclaims ? take_with(k, group, flavor_at) : 0;
    if (r != 0) {
        return r;
    }
    r = holders_of(k, c, top, &l);
    if (r != 0) {
        return r;
    }
    if (k->barred) {
        r = bars_add(k, c->q.pair);
    }
    if (r != 0) {
        return r;
    }
    if (k->o->borrowers_max > 0) {
        r = borrowers_of(k, c, top, &l);
    }
    return r == 0 ? lack_add(k, &l) : r;
}

/* Whether the flavor may be used at all; a lack says why not. */
static int look_at_flavor(struct asker *k, uint32_t flavor, const struct workload_set *s,
                          bool *ret_ok) {
    const struct flavor_entry *f = &k->x->e.flavors->all.v[flavor];
    struct explain_lack l = {.flavor = flavor, .resource = NAME_ABSENT};
    const struct taint *t =
        f->memory != NULL ? taints_untolerated(f->spec.taints, &s->shape, &f->spec) : NULL;
    *ret_ok = false;
    if (f->memory == NULL) {
        l.kind = LACK_NO_FLAVOR;
    } else if (t != NULL) {
        l.kind = LACK_TAINT;
        l.taint_key = t->key;
        l.taint_value = t->value;
        l.taint_effect = t->effect;
    } else if (!shape_matches_flavor(&s->shape, &f->spec)) {
        l.kind = LACK_AFFINITY;
    } else {
        *ret_ok = true;
        return 0;
    }
    return lack_add(k, &l);
}

static int look_at_group(struct asker *k, size_t group) {
    const struct queue_group *g = &k->w->queue->groups[group];
    const struct workload_set *s = first_asking(k->w, g);
    bool some = s == NULL, least;
    for (size_t f = 0; f < g->n_flavors && s != NULL; f++) {
        bool ok, all = true;
        int r = look_at_flavor(k, g->flavors[f], s, &ok);
        for (size_t i = 0; i < g->n_resources && r == 0 && ok; i++) {
            bool enough = true;
            r = need_of(k->w, g->resources[i], &least) > 0
                    ? look_at_quota(k, group, f, g->resources[i], &enough)
                    : 0;
            all = all && enough;
        }
        if (r != 0) {
            return r;
        }
        some = some || (ok && all);
    }
    k->out->fits = k->out->fits && some;
    return 0;
}

static bool covered(const struct queue *q, uint32_t resource) {
    for (size_t g = 0; g < q->n_groups; g++) {
        for (size_t i = 0; i < q->groups[g].n_resources; i++) {
            if (q->groups[g].resources[i] == resource) {
                return true;
            }
        }
    }
    return false;
}

static int look_at_uncovered(struct asker *k) {
    int r = 0;
    for (size_t i = 0; i < k->w->n_sets && r == 0; i++) {
        for (size_t n = 0; n < k->w->sets[i].n_requests && r == 0; n++) {
            uint32_t resource = k->w->sets[i].requests[n].resource;
            struct explain_lack l = {
                .kind = LACK_RESOURCE, .flavor = NAME_ABSENT, .resource = resource};
            l.need = need_of(k->w, resource, &l.least);
            if (l.need > 0 && !k->x->e.o->ignore_undeclared && !covered(k->w->queue, resource)) {
                k->out->fits = false;
                l.missing = l.need;
                r = lack_add(k, &l);
            }
        }
    }
    return r;
}

int explain_workload(struct explain_index *x, struct str uid, const struct explain_options *o,
                     struct arena *a, struct explanation *ret) {
    const struct queue_workload *w = map_get(x->e.workloads, uid);
    if (w == NULL || w->state == WORKLOAD_HOLDING) {
        return ERR_NOT_FOUND;
    }
    struct explanation out = {.fits = true, .strict = w->queue->strict, .active = w->queue->active};
    struct asker k = {.x = x, .w = w, .o = o, .a = a, .out = &out};
    int r = look_at_uncovered(&k);
    for (size_t i = 0; i < w->queue->n_groups && r == 0; i++) {
        r = look_at_group(&k, i);
    }
    map_release(&k.counted);
    if (r == 0) {
        *ret = out;
    }
    return r;
}
