/* assign (core): see assign.h. */
#include "core/admit/assign.h"

#include <assert.h>

#include "core/admit/engine_private.h"
#include "core/admit/resize.h"
#include "core/admit/scan.h"

struct fit {
    enum assign_mode mode;
    uint32_t borrow;
};

struct details {
    struct verdict_detail *v;
    size_t n, cap;
};

struct scan {
    struct engine *e;
    struct queue_workload *w;
    struct assignment *out;
    const struct assignment *pin;
    const struct queue_workload *prior; /* whose flavors it has to have; NULL: any */
    bool resume;
    struct details details; /* of the set under way */
    struct considered_set *considered;
    size_t cap_considered;
    struct verdict_set *sets;
    size_t n_sets;
    enum assign_mode *modes; /* per request of the set under way: with the flavor tried now */
    uint32_t *borrows;
};

static int detail_add(struct scan *s, struct verdict_detail d) {
    struct details *t = &s->details;
    if (t->n == t->cap && ARENA_GROW(&s->e->cycle.tick, t->v, t->cap) != 0) {
        return ERR_NOMEM;
    }
    t->v[t->n++] = d;
    return 0;
}

static int64_t assumed(const struct assignment *a, const struct quota_cell *c) {
    int64_t v = 0;
    for (size_t i = 0; i < a->n_held; i++) {
        v = a->cells[i] == c ? amount_add(v, a->held[i].v) : v;
    }
    return v;
}

static bool better(const struct queue *q, struct fit a, struct fit b) {
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

static bool may_preempt_borrowing(const struct scan *s) {
    const struct queue *q = s->w->queue;
    return q->borrow_within != PREEMPT_NEVER ||
           (s->e->o.fair_sharing && q->reclaim != PREEMPT_NEVER);
}

static int fit_resource(struct scan *s, struct quota_cell *c, int64_t request, struct fit *ret,
                        enum pend_reason *reason) {
    uint32_t flavor = c->q.pair >> 16, resource = c->q.pair & 0xffff;
    int64_t before = assumed(s->out, c);
    int64_t v = amount_add(before, request);
    int64_t potential = quota_potential(c);
    *ret = (struct fit){MODE_NO_FIT, 0};
    if (v > potential) {
        *reason = PEND_EXCEEDS_MAX_QUOTA;
        return detail_add(s, (struct verdict_detail){.kind = DETAIL_EXCEEDS,
                                                     .flavor = flavor,
                                                     .resource = resource,
                                                     .a = before,
                                                     .b = request,
                                                     .c = potential});
    }
    bool smaller;
    ret->borrow = quota_lowest_fit(c, v, &smaller);
    int64_t available = amount_max(0, quota_available(c));
    if (v <= available) {
        ret->mode = MODE_FIT;
        return 0;
    }
    *reason = PEND_WAITING_FOR_QUOTA;
    int r = detail_add(s, (struct verdict_detail){.kind = DETAIL_UNUSED,
                                                  .flavor = flavor,
                                                  .resource = resource,
                                                  .a = amount_sub(v, available)});
    if (r == 0 && (c->q.nominal >= v || smaller || may_preempt_borrowing(s))) {
        r = preempt_oracle(&s->e->preempt, s->w, c, v, &ret->mode, &ret->borrow);
    }
    return r;
}

/* May pods of this shape run on the flavor's nodes? A detail says why not. */
static int flavor_admits(struct scan *s, const struct workload_set *set, uint32_t flavor,
                         bool *ret) {
    const struct flavor_entry *f = &s->e->flavors.all.v[flavor];
    *ret = false;
    if (f->memory == NULL) {
        return detail_add(s,
                          (struct verdict_detail){.kind = DETAIL_FLAVOR_MISSING, .flavor = flavor});
    }
    const struct taint *t = taints_untolerated(f->spec.taints, &set->shape, &f->spec);
    if (t != NULL) {
        return detail_add(
            s, (struct verdict_detail){.kind = DETAIL_TAINT, .flavor = flavor, .taint = t});
    }
    if (!shape_matches_flavor(&set->shape, &f->spec)) {
        return detail_add(s, (struct verdict_detail){.kind = DETAIL_AFFINITY, .flavor = flavor});
    }
    *ret = true;
    return 0;
}

static bool group_covers(const struct queue_group *g, uint32_t resource) {
    for (size_t i = 0; i < g->n_resources; i++) {
        if (g->resources[i] == resource) {
            return true;
        }
    }
    return false;
}

static int64_t total_of(const struct scan *s, const struct workload_set *set, size_t request) {
    size_t i = (size_t)(set - s->w->sets);
    int32_t count = s->out->counts != NULL ? s->out->counts[i] : set->count;
    return amount_mul(set->requests[request].v, count);
}

/* One flavor for all of the set's resources in the group: the worst of their fits. */
static int fit_flavor(struct scan *s, const struct workload_set *set, const struct queue_group *g,
                      uint32_t flavor, struct fit *ret, enum pend_reason *reason) {
    bool admits;
    int r = flavor_admits(s, set, flavor, &admits);
    *ret = (struct fit){MODE_FIT, 0};
    if (r != 0 || !admits) {
        *ret = (struct fit){MODE_NO_FIT, 0};
        *reason = PEND_NO_MATCHING_FLAVOR;
        return r;
    }
    for (size_t i = 0; i < set->n_requests && ret->mode != MODE_NO_FIT; i++) {
        uint32_t resource = set->requests[i].resource;
        if (!group_covers(g, resource)) {
            continue;
        }
        struct quota_cell *c = quota_cell_of(s->w->queue->node, quota_pair(flavor, resource));
        assert(c != NULL); /* the queue's own spec made it */
        struct fit one;
        enum pend_reason why = PEND_NONE;
        r = fit_resource(s, c, total_of(s, set, i), &one, &why);
        if (r != 0) {
            return r;
        }
        s->modes[i] = one.mode;
        s->borrows[i] = one.borrow;
        *reason = why > *reason ? why : *reason;
        if (better(s->w->queue, *ret, one)) {
            *ret = one;
        }
    }
    return 0;
}

static const char *mode_name(enum assign_mode mode) {
    static const char *const names[] = {[MODE_NO_FIT] = "NoFit",
                                        [MODE_FIT] = "Fit",
                                        [MODE_NO_CANDIDATES] = "NoCandidates",
                                        [MODE_PREEMPT] = "Preempt",
                                        [MODE_RECLAIM] = "Reclaim"};
    return names[mode];
}

/* Notes a flavor that was tried, unless it is a plain fit; its details are those from `from` on. */
static int consider(struct scan *s, const struct workload_set *set, uint32_t flavor, struct fit f,
                    size_t from) {
    if (f.mode == MODE_FIT && f.borrow == 0) {
        return 0;
    }
    struct assignment *a = s->out;
    if (a->considered == NULL) {
        a->considered = ARENA_NEW(&s->e->cycle.tick, struct considered);
        s->considered = ARENA_ARRAY(&s->e->cycle.tick, struct considered_set, s->w->n_sets);
        if (a->considered == NULL || s->considered == NULL) {
            return ERR_NOMEM;
        }
        a->considered->sets = s->considered;
    }
    struct considered_set *c =
        a->considered->n_sets > 0 ? &s->considered[a->considered->n_sets - 1] : NULL;
    if (c == NULL || c->name.p != set->name.p) {
        c = &s->considered[a->considered->n_sets++];
        *c = (struct considered_set){.name = set->name};
        s->cap_considered = 0;
    }
    if (c->n == s->cap_considered && ARENA_GROW(&s->e->cycle.tick, c->v, s->cap_considered) != 0) {
        return ERR_NOMEM;
    }
    size_t n = s->details.n - from;
    struct verdict_detail *why =
        n > 0 ? ARENA_ARRAY(&s->e->cycle.tick, struct verdict_detail, n) : NULL;
    if (n > 0 && why == NULL) {
        return ERR_NOMEM;
    }
    if (n > 0) {
        memcpy(why, s->details.v + from, n * sizeof(*why));
    }
    c->v[c->n++] = (struct considered_flavor){
        .flavor = flavor, .borrow = f.borrow, .mode = mode_name(f.mode), .why = why, .n_why = n};
    return 0;
}

static bool looks_on(const struct queue *q, struct fit f) {
    if (f.mode == MODE_NO_FIT || f.mode == MODE_NO_CANDIDATES) {
        return true;
    }
    if (f.mode != MODE_FIT && q->when_can_preempt == FUNGIBILITY_NEXT) {
        return true;
    }
    return f.borrow > 0 && q->when_can_borrow == FUNGIBILITY_NEXT;
}

/* The modes of the group's requests, beside the flavor they belong to: the best so far. */
struct choice {
    int32_t flavor; /* index, or -1 */
    struct fit fit;
};

/* Writes what the set takes of the flavor; `from`: where the entries of this group began. */
static void take(struct scan *s, const struct workload_set *set, const struct queue_group *g,
                 uint32_t flavor, size_t from) {
    struct assignment *a = s->out;
    a->n_held = from;
    for (size_t i = 0; i < set->n_requests; i++) {
        uint32_t resource = set->requests[i].resource;
        if (group_covers(g, resource)) {
            a->held[a->n_held] = (struct held_amount){.set = (uint32_t)(set - s->w->sets),
                                                      .flavor = flavor,
                                                      .resource = resource,
                                                      .v = total_of(s, set, i)};
            a->modes[a->n_held] = s->modes[i];
            a->cells[a->n_held++] = quota_cell_of(s->w->queue->node, quota_pair(flavor, resource));
        }
    }
}

static uint32_t most_borrowed(const struct scan *s, const struct workload_set *set,
                              const struct queue_group *g) {
    uint32_t most = 0;
    for (size_t i = 0; i < set->n_requests; i++) {
        if (group_covers(g, set->requests[i].resource) && s->borrows[i] > most) {
            most = s->borrows[i];
        }
    }
    return most;
}

/* In a second nomination only the flavor of the first is looked at. */
static bool pinned_out(const struct scan *s, const struct workload_set *set, uint32_t resource,
                       uint32_t flavor) {
    const struct assignment *p = s->pin;
    for (size_t i = 0; p != NULL && i < p->n_held; i++) {
        if (p->held[i].set == (uint32_t)(set - s->w->sets) && p->held[i].resource == resource &&
            p->held[i].flavor == flavor) {
            return false;
        }
    }
    return p != NULL;
}

static void tried_set(const struct scan *s, const struct workload_set *set,
                      const struct queue_group *g, int32_t tried) {
    int32_t *to = s->out->tried + (set->tried - s->w->sets[0].tried);
    for (size_t i = 0; i < set->n_requests; i++) {
        if (g == NULL || group_covers(g, set->requests[i].resource)) {
            to[i] = tried;
        }
    }
}

/* Who grows keeps the flavors that it has. */
static bool fits_prior(const struct scan *s, const struct workload_set *set, size_t request,
                       uint32_t flavor, enum pend_reason *reason) {
    uint32_t n = (uint32_t)(set - s->w->sets);
    int64_t has =
        s->prior != NULL ? resize_flavor(s->prior, n, set->requests[request].resource) : -1;
    bool ok = has < 0 || has == (int64_t)flavor;
    *reason = ok ? *reason : PEND_NO_MATCHING_FLAVOR;
    return ok;
}

static int other_flavor(struct scan *s, const struct workload_set *set, size_t request,
                        uint32_t flavor, struct fit *ret) {
    uint32_t n = (uint32_t)(set - s->w->sets);
    *ret = (struct fit){MODE_NO_FIT, 0};
    return detail_add(s, (struct verdict_detail){
                             .kind = DETAIL_OTHER_FLAVOR,
                             .flavor = flavor,
                             .a = resize_flavor(s->prior, n, set->requests[request].resource)});
}

struct group_result {
    struct fit fit;
    uint32_t borrow; /* the most of its resources */
    enum pend_reason reason;
};

/* The group's flavor for a set. The reason is the mildest of the flavors'. While a flavor is looked at, entries of a
 * better one before it are out of the assignment: they are of other cells. */
static int assign_group(struct scan *s, const struct workload_set *set, const struct queue_group *g,
                        size_t first, struct group_result *ret) {
    const struct queue *q = s->w->queue;
    size_t start = s->resume ? (size_t)(set->tried[first] + 1) : 0;
    size_t from = s->out->n_held, to = from, details = s->details.n;
    int32_t tried = -1;
    *ret = (struct group_result){.fit = {MODE_NO_FIT, 0}};
    for (size_t i = start; i < g->n_flavors; i++) {
        struct fit f;
        enum pend_reason why = PEND_NONE;
        size_t begun = s->details.n;
        tried = i + 1 < g->n_flavors ? (int32_t)i : -1;
        if (pinned_out(s, set, set->requests[first].resource, g->flavors[i])) {
            continue;
        }
        s->out->n_held = from;
        int r = fits_prior(s, set, first, g->flavors[i], &why)
                    ? fit_flavor(s, set, g, g->flavors[i], &f, &why)
                    : other_flavor(s, set, first, g->flavors[i], &f);
        if (r != 0) {
            return r;
        }
        r = consider(s, set, g->flavors[i], f, begun);
        if (r != 0) {
            return r;
        }
        if (why != PEND_NONE && (ret->reason == PEND_NONE || why < ret->reason)) {
            ret->reason = why;
        }
        bool stop = !looks_on(q, f);
        if (stop || better(q, f, ret->fit)) {
            ret->fit = f;
            ret->borrow = most_borrowed(s, set, g);
            take(s, set, g, g->flavors[i], from);
            to = s->out->n_held;
        }
        if (stop) {
            break;
        }
    }
    s->out->n_held = to;
    tried_set(s, set, g, tried);
    if (ret->fit.mode == MODE_FIT) {
        s->details.n = details;
    }
    return 0;
}

static const struct queue_group *group_of(const struct queue *q, uint32_t resource) {
    for (size_t i = 0; i < q->n_groups; i++) {
        if (group_covers(&q->groups[i], resource)) {
            return &q->groups[i];
        }
    }
    return NULL;
}

/* A resource that the queue does not cover: none is asked for, or none needs to be covered. */
static bool undeclared_is_fine(const struct scan *s, const struct workload_set *set,
                               size_t request) {
    struct str name = names_text(&s->e->resources, set->requests[request].resource);
    return total_of(s, set, request) == 0 || s->e->o.ignore_undeclared || str_is(name, "pods");
}

static int assign_set(struct scan *s, const struct workload_set *set, enum pend_reason *severest) {
    const struct queue *q = s->w->queue;
    struct assignment *a = s->out;
    bool fits = true;
    s->details = (struct details){0};
    for (size_t i = 0; i < set->n_requests && a->mode != MODE_NO_FIT; i++) {
        const struct queue_group *g = group_of(q, set->requests[i].resource);
        bool done = false;
        for (size_t k = 0; k < i && !done; k++) {
            done = g != NULL && group_of(q, set->requests[k].resource) == g;
        }
        if (done || (g == NULL && undeclared_is_fine(s, set, i))) {
            continue;
        }
        struct group_result f = {.fit = {MODE_NO_FIT, 0}, .reason = PEND_NO_MATCHING_FLAVOR};
        int r = g == NULL
                    ? detail_add(s, (struct verdict_detail){.kind = DETAIL_RESOURCE_UNAVAILABLE,
                                                            .resource = set->requests[i].resource})
                    : assign_group(s, set, g, i, &f);
        if (r != 0) {
            return r;
        }
        a->mode = f.fit.mode < a->mode ? f.fit.mode : a->mode;
        a->borrow = f.borrow > a->borrow ? f.borrow : a->borrow;
        if (f.fit.mode != MODE_FIT && f.reason > *severest) {
            *severest = f.reason;
        }
        fits = fits && f.fit.mode == MODE_FIT;
    }
    if (a->mode == MODE_NO_FIT) { /* a set without flavors has tried none: it is not tried on */
        tried_set(s, set, NULL, -1);
    }
    if (!fits && s->details.n > 0) {
        s->sets[s->n_sets++] = (struct verdict_set){set->name, s->details.v, s->details.n};
    }
    return 0;
}

static int scan_begin(struct scan *s, size_t *ret_requests) {
    struct engine *e = s->e;
    struct queue_workload *w = s->w;
    size_t requests = 0, most = 0;
    for (size_t i = 0; i < w->n_sets; i++) {
        requests += w->sets[i].n_requests;
        most = w->sets[i].n_requests > most ? w->sets[i].n_requests : most;
    }
    *s->out = (struct assignment){
        .mode = w->n_sets > 0 ? MODE_FIT : MODE_NO_FIT,
        .held = ARENA_ARRAY(&e->cycle.tick, struct held_amount, requests + 1),
        .cells = ARENA_ARRAY(&e->cycle.tick, struct quota_cell *, requests + 1),
        .modes = ARENA_ARRAY(&e->cycle.tick, enum assign_mode, requests + 1),
        .tried = ARENA_ARRAY(&e->cycle.tick, int32_t, requests + 1),
        .counts = s->out->counts,
        .verdict = ARENA_NEW(&e->cycle.tick, struct verdict),
    };
    s->sets = ARENA_ARRAY(&e->cycle.tick, struct verdict_set, w->n_sets + 1);
    s->modes = ARENA_ARRAY(&e->cycle.tick, enum assign_mode, most + 1);
    s->borrows = ARENA_ARRAY(&e->cycle.tick, uint32_t, most + 1);
    *ret_requests = requests;
    return arena_ok(&e->cycle.tick);
}

int assign_flavors(struct engine *e, struct queue_workload *w, const int32_t *counts,
                   const struct assignment *pin, struct assignment *ret) {
    struct assignment a = {.counts = counts};
    struct scan s = {.e = e, .w = w, .out = &a, .pin = pin, .prior = resize_prior(e, w)};
    s.resume = pin == NULL && s.prior == NULL && scan_holds(&e->cycle, w);
    enum pend_reason severest = PEND_NONE;
    size_t requests;
    if (scan_begin(&s, &requests) != 0) {
        return ERR_NOMEM;
    }
    memset(a.tried, 0xff, requests * sizeof(*a.tried)); /* all -1 */
    for (size_t i = 0; i < w->n_sets && (i == 0 || a.mode != MODE_NO_FIT); i++) {
        int r = assign_set(&s, &w->sets[i], &severest);
        if (r != 0) {
            return r;
        }
    }
    *a.verdict = (struct verdict){.reason = severest, .sets = s.sets, .n_sets = s.n_sets};
    *ret = a;
    return 0;
}
