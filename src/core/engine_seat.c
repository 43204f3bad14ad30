/* engine_seat (core): a place for every pod of an assignment. */
#include <assert.h>

#include "core/engine_private.h"

static int32_t count_of(const struct entry *n, size_t set) {
    return n->a.counts != NULL ? n->a.counts[set] : n->w->sets[set].count;
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

int entry_seat(struct engine *e, struct entry *n, bool *ret_ok, bool *ret_seated) {
    struct engine_workload *w = n->w;
    size_t pods = 0, used = 0;
    *ret_ok = true;
    *ret_seated = false;
    for (size_t i = 0; i < w->n_sets; i++) {
        pods += (size_t)count_of(n, i);
    }
    if (!pool_has_managed(e->pool) || pods == 0) {
        return 0;
    }
    struct place_input *in = ARENA_ARRAY(&e->tick, struct place_input, pods);
    for (uint32_t i = 0; in != NULL && i < w->n_sets; i++) {
        const struct flavor_input **flavors =
            ARENA_ARRAY(&e->tick, const struct flavor_input *, n->a.n_held + 1);
        if (flavors == NULL) {
            return ERR_NOMEM;
        }
        struct place_input one = {.set = w->sets[i].name,
                                  .shape = &w->sets[i].shape,
                                  .flavors = flavors,
                                  .amounts = w->sets[i].requests,
                                  .n_flavors = set_flavors(e, &n->a, i, flavors),
                                  .n_amounts = w->sets[i].n_requests};
        for (; pool_is_ours(e->pool, &one) && one.ordinal < count_of(n, i); one.ordinal++) {
            in[used++] = one;
        }
    }
    if (in == NULL) {
        return ERR_NOMEM;
    }
    uint64_t before = e->o.check_undo ? pool_digest(e->pool) : 0;
    struct place_why why = {0};
    int r = pool_plan(e->pool, w->uid, (struct str){0}, in, used, ret_ok, &why);
    if (r == 0 && !*ret_ok) {
        n->a.verdict->reason = PEND_WAITING_FOR_PLACEMENT;
        n->a.verdict->n_sets = 0;
        n->a.verdict->place = why;
    }
    assert(!e->o.check_undo || (r == 0 && *ret_ok) || before == pool_digest(e->pool));
    *ret_seated = r == 0 && *ret_ok && used > 0;
    return r;
}
