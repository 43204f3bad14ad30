/* scan (core): see scan.h. */
#include "core/admit/scan.h"

void scan_clear(struct queue_workload *w) {
    w->has_tried = false;
}

bool scan_left(const struct queue_workload *w) {
    for (size_t i = 0; w->has_tried && i < w->n_sets; i++) {
        for (size_t k = 0; k < w->sets[i].n_requests; k++) {
            if (w->sets[i].tried[k] != -1) {
                return true;
            }
        }
    }
    return false;
}

void scan_keep(struct cycle *c, struct queue_workload *w, const struct assignment *a) {
    size_t at = 0;
    if (!scan_holds(c, w) || !scan_left(w)) {
        w->scan_retries = c->tree->retries; /* a new round */
        w->outrun = false;
    }
    for (size_t i = 0; i < w->n_sets; i++) {
        for (size_t k = 0; k < w->sets[i].n_requests; k++) {
            w->sets[i].tried[k] = a->tried[at++];
            c->moved = c->moved || w->sets[i].tried[k] >= 0;
        }
    }
    w->has_tried = true;
    w->tried_generation = w->queue->generation;
    w->tried_cycle = c->tree->cycle;
}

bool scan_holds(const struct cycle *c, const struct queue_workload *w) {
    if (!w->has_tried) {
        return false;
    }
    bool recent = c->tree != NULL && w->tried_cycle + 1 >= c->tree->cycle;
    return recent || w->tried_generation >= w->queue->generation;
}
