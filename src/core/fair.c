/*
 * fair (core): dominant resource shares, and the order of heads by tournament. See preempt.h.
 */
#include <math.h>

#include "core/preempt.h"

/* Was the resource met in an earlier flavor? */
static bool counted(const struct quota_node *n, size_t at, uint32_t resource) {
    for (size_t i = 0; i < at; i++) {
        if (n->cells[i].over && (n->cells[i].q.pair & 0xffff) == resource) {
            return true;
        }
    }
    return false;
}

/* Of one resource, over all flavors from the cell `at` on. */
static int64_t borrowed(const struct quota_node *n, size_t at, uint32_t resource) {
    int64_t sum = 0;
    for (size_t i = at; i < n->n_cells; i++) {
        const struct quota_cell *c = &n->cells[i];
        if (c->over && (c->q.pair & 0xffff) == resource) {
            sum = amount_add(sum, amount_sub(c->usage, c->subtree));
        }
    }
    return sum;
}

struct share fair_share(const struct engine *e, const struct quota_node *n) {
    struct share best = {0};
    if (n->parent == NULL) {
        return best;
    }
    for (size_t i = 0; i < n->n_cells; i++) {
        uint32_t resource = n->cells[i].q.pair & 0xffff;
        if (!n->cells[i].over || counted(n, i, resource)) {
            continue;
        }
        best.borrows = true;
        int64_t lendable = quota_lendable(n->parent, resource);
        double ratio = lendable > 0 ? (double)borrowed(n, i, resource) * 1000 / (double)lendable : 0;
        if (ratio > best.ratio || (ratio == best.ratio && ratio > 0 &&
                                   str_cmp(names_text(&e->resource_names, resource),
                                           names_text(&e->resource_names, best.resource)) < 0)) {
            best.ratio = ratio;
            best.resource = resource;
        }
    }
    best.weighted = best.ratio == 0 ? 0 : n->weight > 0 ? best.ratio / n->weight : INFINITY;
    return best;
}

int fair_share_cmp(struct share a, struct share b) {
    if (isinf(a.weighted) || isinf(b.weighted)) {
        if (isinf(a.weighted) && isinf(b.weighted)) {
            return (a.ratio > b.ratio) - (a.ratio < b.ratio);
        }
        return isinf(a.weighted) ? 1 : -1;
    }
    return (a.weighted > b.weighted) - (a.weighted < b.weighted);
}

struct fair_round {
    const struct entry *entries;
    size_t n, at;
};

int fair_begin(struct engine *e, const struct entry *entries, size_t n, struct fair_round **ret) {
    struct fair_round *r = ARENA_NEW(&e->tick, struct fair_round);
    if (r == NULL) {
        return ERR_NOMEM;
    }
    *r = (struct fair_round){entries, n, 0};
    *ret = r;
    return 0;
}

int fair_pop(struct engine *e, struct fair_round *r, ptrdiff_t *ret) {
    while (r->at < r->n && r->entries[r->at].w == NULL) {
        r->at++;
    }
    *ret = r->at < r->n ? (ptrdiff_t)r->at++ : -1;
    return 0;
}
