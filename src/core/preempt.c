/* preempt (core): the search for victims by the classical rules. See preempt.h. */
#include "core/preempt.h"

int holder_order(const void *a, const void *b) {
    const struct engine_workload *x = a, *y = b;
    if (x->evicting != y->evicting) {
        return x->evicting ? -1 : 1;
    }
    if (x->priority != y->priority) {
        return x->priority < y->priority ? -1 : 1;
    }
    int64_t p = x->reserved_ns != 0 ? x->reserved_ns : INT64_MAX;
    int64_t q = y->reserved_ns != 0 ? y->reserved_ns : INT64_MAX;
    if (p != q) {
        return p > q ? -1 : 1;
    }
    return str_cmp(x->uid, y->uid);
}

int victims_remove(struct engine *e, const struct victim *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct engine_workload *w = v[i].w;
        for (size_t k = 0; k < w->n_held; k++) {
            struct quota_cell *c = quota_cell_of(
                w->queue->node, quota_pair(w->held[k].flavor, w->held[k].resource));
            int r = c != NULL ? quota_use(&e->forest, c, -w->held[k].v) : 0;
            if (r != 0) {
                return r;
            }
        }
    }
    return 0;
}

int preempt_find(struct engine *e, const struct preempt_ask *ask, struct victim **ret,
                 size_t *ret_n, bool *ret_protected, int64_t *ret_wake_ns) {
    *ret = NULL;
    *ret_n = 0;
    return 0;
}

int preempt_oracle(struct engine *e, struct engine_workload *w, struct quota_cell *cell, int64_t v,
                   enum assign_mode *ret_mode, uint32_t *ret_borrow) {
    bool smaller;
    *ret_mode = MODE_NO_CANDIDATES;
    *ret_borrow = quota_lowest_fit(cell, v, &smaller);
    return 0;
}
