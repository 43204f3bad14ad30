/*
 * assign (core): which flavors a workload would get, against the usage of the moment.
 *
 * For each pod set, resources of one group get one flavor. Flavors are tried in the order of the queue; each is
 * first
 * asked whether the pods may run there (taints, affinity), then whether quota fits. How well one fits is a mode
 * and a
 * borrow height; the queue's fungibility says when to stop looking. Modes between no fit and fit are for preemption;
 * without victims the best of them is "no candidates".
 */
#include <assert.h>

#include "core/engine_private.h"

struct fit {
    enum assign_mode mode;
    uint32_t borrow;
};

struct scan {
    struct engine *e;
    struct engine_workload *w;
    struct assignment *out;
    struct verdict_detail *details; /* of the set under way */
    size_t n_details, cap_details;
    struct verdict_set *sets;
    size_t n_sets;
};

static int detail_add(struct scan *s, struct verdict_detail d) {
    if (s->n_details == s->cap_details) {
        size_t cap = s->cap_details ? s->cap_details * 2 : 8;
        struct verdict_detail *v = ARENA_ARRAY(&s->e->tick, struct verdict_detail, cap);
        if (v == NULL) {
            return ERR_NOMEM;
        }
        if (s->n_details > 0) {
            memcpy(v, s->details, s->n_details * sizeof(*v));
        }
        s->details = v;
        s->cap_details = cap;
    }
    s->details[s->n_details++] = d;
    return 0;
}

static int64_t assumed(const struct assignment *a, const struct quota_cell *c) {
    int64_t v = 0;
    for (size_t i = 0; i < a->n_held; i++) {
        v = a->cells[i] == c ? amount_add(v, a->held[i].v) : v;
    }
    return v;
}

static bool better(const struct engine_queue *q, struct fit a, struct fit b) {
    if (a.mode == MODE_NO_FIT || b.mode == MODE_NO_FIT) {
        return a.mode != MODE_NO_FIT && b.mode == MODE_NO_FIT;
    }
    bool x = a.mode != MODE_NO_CANDIDATES, y = b.mode != MODE_NO_CANDIDATES;
    if (x != y) {
        return x;
    }
    if (q->borrow_costs_more && a.borrow != b.borrow) {
        return a.borrow < b.borrow;
    }
    if (a.mode != b.mode) {
        return a.mode > b.mode;
    }
    return a.borrow < b.borrow;
}

static int fit_resource(struct scan *s, struct quota_cell *c, uint32_t flavor, uint32_t resource,
                        int64_t request, struct fit *ret, enum pend_reason *reason) {
    const struct engine_queue *q = s->w->queue;
    int64_t before = assumed(s->out, c);
    int64_t v = amount_add(before, request);
    int64_t potential = quota_potential(c);
    *ret = (struct fit){MODE_NO_FIT, 0};
    if (v > potential) {
        *reason = PEND_EXCEEDS_MAX_QUOTA;
        return detail_add(s, (struct verdict_detail){.kind = DETAIL_EXCEEDS, .flavor = flavor,
                                                     .resource = resource, .a = before,
                                                     .b = request, .c = potential});
    }
    bool smaller;
    ret->borrow = quota_lowest_fit(c, v, &smaller);
    int64_t available = amount_max(0, quota_available(c));
    if (v <= available) {
        ret->mode = MODE_FIT;
        return 0;
    }
    if (c->q.nominal >= v || smaller || q->borrow_within != PREEMPT_NEVER) {
        ret->mode = MODE_NO_CANDIDATES;
    }
    *reason = PEND_WAITING_FOR_QUOTA;
    return detail_add(s, (struct verdict_detail){.kind = DETAIL_UNUSED, .flavor = flavor,
                                                 .resource = resource,
                                                 .a = amount_sub(v, available)});
}

/* May pods of this shape run on the flavor's nodes? A detail says why not. */
static int flavor_admits(struct scan *s, const struct engine_set *set, uint32_t flavor, bool *ret) {
    const struct engine_flavor *f = &s->e->flavors.v[flavor];
    *ret = false;
    if (f->memory == NULL) {
        return detail_add(s, (struct verdict_detail){.kind = DETAIL_FLAVOR_MISSING,
                                                     .flavor = flavor});
    }
    const struct taint *t = taints_untolerated(f->spec.taints, &set->shape, &f->spec);
    if (t != NULL) {
        return detail_add(s, (struct verdict_detail){.kind = DETAIL_TAINT, .flavor = flavor,
                                                     .taint = t});
    }
    if (!shape_matches_flavor(&set->shape, &f->spec)) {
        return detail_add(s, (struct verdict_detail){.kind = DETAIL_AFFINITY, .flavor = flavor});
    }
    *ret = true;
    return 0;
}

static bool group_covers(const struct engine_group *g, uint32_t resource) {
    for (size_t i = 0; i < g->n_resources; i++) {
        if (g->resources[i] == resource) {
            return true;
        }
    }
    return false;
}

/* One flavor for all of the set's resources in the group: the worst of their fits. */
static int fit_flavor(struct scan *s, const struct engine_set *set, const struct engine_group *g,
                      uint32_t flavor, struct fit *ret, enum pend_reason *reason) {
    bool admits;
    int r = flavor_admits(s, set, flavor, &admits);
    *ret = (struct fit){MODE_FIT, 0};
    if (r != 0 || !admits) {
        *ret = (struct fit){MODE_NO_FIT, 0};
        *reason = PEND_NO_MATCHING_FLAVOR;
        return r;
    }
    bool first = true;
    for (size_t i = 0; i < set->n_requests && ret->mode != MODE_NO_FIT; i++) {
        uint32_t resource = set->requests[i].resource;
        if (!group_covers(g, resource)) {
            continue;
        }
        struct quota_cell *c = quota_cell_of(s->w->queue->node, quota_pair(flavor, resource));
        assert(c != NULL); /* the queue's own spec made it */
        struct fit one;
        enum pend_reason why = PEND_NONE;
        r = fit_resource(s, c, flavor, resource, amount_mul(set->requests[i].v, set->count), &one,
                         &why);
        if (r != 0) {
            return r;
        }
        *reason = why > *reason ? why : *reason;
        if (first || better(s->w->queue, *ret, one)) {
            *ret = one;
        }
        first = false;
    }
    return 0;
}

static bool looks_on(const struct engine_queue *q, struct fit f) {
    if (f.mode == MODE_NO_FIT || f.mode == MODE_NO_CANDIDATES) {
        return true;
    }
    if (f.mode != MODE_FIT && q->when_can_preempt == FUNGIBILITY_NEXT) {
        return true;
    }
    return f.borrow > 0 && q->when_can_borrow == FUNGIBILITY_NEXT;
}

static bool progress_holds(const struct engine_workload *w) {
    return w->has_tried && w->tried_generation >= w->queue->generation;
}

static void take(struct scan *s, const struct engine_set *set, const struct engine_group *g,
                 uint32_t flavor) {
    struct assignment *a = s->out;
    for (size_t i = 0; i < set->n_requests; i++) {
        uint32_t resource = set->requests[i].resource;
        if (group_covers(g, resource)) {
            a->held[a->n_held] = (struct held_amount){
                .set = (uint32_t)(set - s->w->sets), .flavor = flavor, .resource = resource,
                .v = amount_mul(set->requests[i].v, set->count)};
            a->cells[a->n_held++] =
                quota_cell_of(s->w->queue->node, quota_pair(flavor, resource));
        }
    }
}

/* The group's flavor for a set. *ret: how it fits; the reason is the mildest of the flavors'. */
static int assign_group(struct scan *s, struct engine_set *set, const struct engine_group *g,
                        size_t first_request, bool resume, struct fit *ret,
                        enum pend_reason *ret_reason) {
    size_t start = resume ? (size_t)(set->tried[first_request] + 1) : 0;
    int32_t tried = -1, chosen = -1;
    struct fit best = {MODE_NO_FIT, 0};
    enum pend_reason mildest = PEND_NONE;
    for (size_t i = start; i < g->n_flavors; i++) {
        struct fit f;
        enum pend_reason why = PEND_NONE;
        int r = fit_flavor(s, set, g, g->flavors[i], &f, &why);
        if (r != 0) {
            return r;
        }
        if (why != PEND_NONE && (mildest == PEND_NONE || why < mildest)) {
            mildest = why;
        }
        tried = i + 1 < g->n_flavors ? (int32_t)i : -1;
        if (better(s->w->queue, f, best)) {
            best = f;
            chosen = (int32_t)i;
        }
        if (!looks_on(s->w->queue, f)) {
            best = f;
            chosen = (int32_t)i;
            break;
        }
    }
    for (size_t i = 0; i < set->n_requests; i++) {
        if (group_covers(g, set->requests[i].resource)) {
            set->tried[i] = tried;
        }
    }
    if (chosen >= 0) {
        take(s, set, g, g->flavors[chosen]);
    }
    *ret = best;
    *ret_reason = mildest;
    return 0;
}

static const struct engine_group *group_of(const struct engine_queue *q, uint32_t resource) {
    for (size_t i = 0; i < q->n_groups; i++) {
        if (group_covers(&q->groups[i], resource)) {
            return &q->groups[i];
        }
    }
    return NULL;
}

static int assign_set(struct scan *s, struct engine_set *set, bool resume, struct fit *worst,
                      enum pend_reason *severest) {
    const struct engine_queue *q = s->w->queue;
    bool fits = true;
    s->details = NULL;
    s->n_details = s->cap_details = 0;
    for (size_t i = 0; i < set->n_requests && worst->mode != MODE_NO_FIT; i++) {
        const struct engine_group *g = group_of(q, set->requests[i].resource);
        bool done = false;
        for (size_t k = 0; k < i && !done; k++) {
            done = group_of(q, set->requests[k].resource) == g;
        }
        if (done || (g == NULL && set->requests[i].v == 0)) {
            continue;
        }
        struct fit f = {MODE_NO_FIT, 0};
        enum pend_reason why = PEND_NO_MATCHING_FLAVOR;
        int r = g == NULL ? detail_add(s, (struct verdict_detail){
                                              .kind = DETAIL_RESOURCE_UNAVAILABLE,
                                              .resource = set->requests[i].resource})
                          : assign_group(s, set, g, i, resume, &f, &why);
        if (r != 0) {
            return r;
        }
        if (f.mode < worst->mode) {
            worst->mode = f.mode;
        }
        worst->borrow = f.borrow > worst->borrow ? f.borrow : worst->borrow;
        if (f.mode != MODE_FIT && why > *severest) {
            *severest = why;
        }
        fits = fits && f.mode == MODE_FIT;
    }
    if (worst->mode == MODE_NO_FIT) { /* a set without flavors has tried none: it is not tried on */
        memset(set->tried, 0xff, set->n_requests * sizeof(*set->tried));
    }
    if (!fits && s->n_details > 0) {
        s->sets[s->n_sets++] = (struct verdict_set){set->name, s->details, s->n_details};
    }
    return 0;
}

int assign_flavors(struct engine *e, struct engine_workload *w, struct assignment *ret) {
    size_t requests = 0;
    for (size_t i = 0; i < w->n_sets; i++) {
        requests += w->sets[i].n_requests;
    }
    struct assignment a = {
        .held = ARENA_ARRAY(&e->tick, struct held_amount, requests + 1),
        .cells = ARENA_ARRAY(&e->tick, struct quota_cell *, requests + 1),
        .verdict = ARENA_NEW(&e->tick, struct verdict),
    };
    struct scan s = {.e = e, .w = w, .out = &a,
                     .sets = ARENA_ARRAY(&e->tick, struct verdict_set, w->n_sets + 1)};
    if (arena_ok(&e->tick) != 0) {
        return ERR_NOMEM;
    }
    bool resume = progress_holds(w);
    struct fit worst = {w->n_sets > 0 ? MODE_FIT : MODE_NO_FIT, 0};
    enum pend_reason severest = PEND_NONE;
    for (size_t i = 0; i < w->n_sets; i++) {
        if (worst.mode == MODE_NO_FIT && i > 0) {
            memset(w->sets[i].tried, 0xff, w->sets[i].n_requests * sizeof(int32_t)); /* all -1 */
            continue;
        }
        int r = assign_set(&s, &w->sets[i], resume, &worst, &severest);
        if (r != 0) {
            return r;
        }
    }
    w->has_tried = true;
    w->tried_generation = w->queue->generation;
    a.mode = worst.mode;
    a.borrow = worst.borrow;
    *a.verdict = (struct verdict){.reason = severest, .sets = s.sets, .n_sets = s.n_sets};
    *ret = a;
    return 0;
}
