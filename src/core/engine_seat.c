/* engine_seat (core): a place for every pod of an assignment. */
#include <assert.h>

#include "core/preempt.h"

static int32_t count_of(const struct engine_workload *w, const struct assignment *a, size_t set) {
    return a->counts != NULL ? a->counts[set] : w->sets[set].count;
}

static size_t set_flavors(struct engine *e, const struct assignment *a, uint32_t set,
                          const struct flavor_input **out) {
    size_t n = 0;
    for (size_t i = 0; i < a->n_held; i++) {
        const struct flavor_input *f = &e->flavors.v[a->held[i].flavor].spec;
        bool there = a->held[i].set != set;
        for (size_t k = 0; k < n && !there; k++) {
            there = out[k] == f;
        }
        if (!there) {
            out[n++] = f;
        }
    }
    return n;
}

/* The pods that are Berth's to place; *ret_n 0: none. */
static int places_of(struct engine *e, const struct engine_workload *w, const struct assignment *a,
                     struct place_input **ret, size_t *ret_n) {
    size_t pods = 0, used = 0;
    *ret_n = 0;
    for (size_t i = 0; i < w->n_sets; i++) {
        pods += (size_t)count_of(w, a, i);
    }
    if (!pool_has_managed(e->pool) || pods == 0) {
        return 0;
    }
    struct place_input *in = ARENA_ARRAY(&e->tick, struct place_input, pods);
    for (uint32_t i = 0; in != NULL && i < w->n_sets; i++) {
        const struct flavor_input **flavors =
            ARENA_ARRAY(&e->tick, const struct flavor_input *, a->n_held + 1);
        if (flavors == NULL) {
            return ERR_NOMEM;
        }
        struct place_input one = {.set = w->sets[i].name,
                                  .shape = &w->sets[i].shape,
                                  .flavors = flavors,
                                  .amounts = w->sets[i].requests,
                                  .n_flavors = set_flavors(e, a, i, flavors),
                                  .n_amounts = w->sets[i].n_requests};
        for (; pool_is_ours(e->pool, &one) && one.ordinal < count_of(w, a, i); one.ordinal++) {
            in[used++] = one;
        }
    }
    if (in == NULL) {
        return ERR_NOMEM;
    }
    *ret = in;
    *ret_n = used;
    return 0;
}

static void no_place(struct entry *n, const struct place_why *why, size_t victims) {
    n->a.verdict->reason = PEND_WAITING_FOR_PLACEMENT;
    n->a.verdict->n_sets = 0;
    n->a.verdict->n_preempting = (uint32_t)victims;
    n->a.verdict->place = *why;
}

int entry_seat(struct engine *e, struct entry *n, bool *ret_ok, bool *ret_seated) {
    struct place_input *in = NULL;
    size_t used = 0;
    *ret_ok = true;
    *ret_seated = false;
    int r = places_of(e, n->w, &n->a, &in, &used);
    if (r != 0 || in == NULL) {
        return r;
    }
    uint64_t before = e->o.check_undo ? pool_digest(e->pool) : 0;
    struct place_why why = {0};
    r = pool_plan(e->pool, n->w->uid, (struct str){0}, in, used, ret_ok, &why);
    if (r == 0 && !*ret_ok) {
        no_place(n, &why, 0);
    }
    assert(!e->o.check_undo || (r == 0 && *ret_ok) || before == pool_digest(e->pool));
    *ret_seated = r == 0 && *ret_ok && used > 0;
    return r;
}

/* ---- with victims gone ---- */

static int could(struct seat_trial *t, const struct victim *v, size_t n, bool *ret_ok) {
    struct engine *e = t->e;
    uint64_t before = e->o.check_undo ? pool_digest(e->pool) : 0;
    for (size_t i = 0; i < n; i++) {
        pool_lift(e->pool, v[i].w->uid, true);
    }
    int r = pool_could(e->pool, t->in, t->n, ret_ok, &t->why);
    for (size_t i = 0; i < n; i++) {
        pool_lift(e->pool, v[i].w->uid, false);
    }
    assert(!e->o.check_undo || before == pool_digest(e->pool));
    e->left -= e->left > 0;
    return r;
}

int seat_trial_begin(struct engine *e, const struct engine_workload *w, const struct assignment *a,
                     struct seat_trial *t) {
    *t = (struct seat_trial){.e = e};
    return places_of(e, w, a, &t->in, &t->n);
}

bool seat_trial_fits(void *ctx, const struct victim *v, size_t n) {
    struct seat_trial *t = ctx;
    bool ok = false;
    if (t->error == 0 && t->n_asked < SEAT_TRIALS_MAX) {
        t->n_asked++;
        t->error = could(t, v, n, &ok);
    }
    return t->error == 0 && ok;
}

int entry_could_seat(struct engine *e, struct entry *n, bool *ret_ok) {
    struct seat_trial t;
    *ret_ok = true;
    int r = seat_trial_begin(e, n->w, &n->a, &t);
    if (r == 0 && t.n > 0) {
        r = could(&t, n->a.victims, n->a.n_victims, ret_ok);
    }
    if (r == 0 && !*ret_ok) {
        no_place(n, &t.why, n->a.n_victims);
    }
    return r;
}
