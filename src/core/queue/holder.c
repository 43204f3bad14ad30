/* holder (core): see holder.h. */
#include "core/queue/holder.h"

int holder_order(const void *a, const void *b) {
    const struct queue_workload *x = a, *y = b;
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

void holder_unlist(struct queue_workload *w) {
    if (w->listed) {
        tree_del(&w->queue->holders, w);
        w->listed = false;
    }
}

int holder_list(struct queue_workload *w) {
    int r = w->listed ? 0 : tree_put(&w->queue->holders, w, w, NULL);
    w->listed = r == 0;
    return r;
}

void holder_evicting(struct queue_workload *w, bool evicting) {
    if (w->evicting != evicting) {
        holder_unlist(w);
        w->evicting = evicting;
        w->queue->n_evicting += evicting ? 1 : (size_t)-1;
    }
    holder_list(w); /* without memory it is no victim for now */
}

int holder_move(struct quota_forest *f, const struct queue_workload *w, int sign) {
    int r = 0;
    for (size_t i = 0; i < w->n_held && r == 0; i++) {
        struct quota_cell *c =
            quota_cell_of(w->queue->node, quota_pair(w->held[i].flavor, w->held[i].resource));
        r = c != NULL ? quota_use(f, c, sign * w->held[i].v) : 0;
    }
    return r;
}
