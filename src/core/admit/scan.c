/* scan (core): see scan.h. */
#include "core/admit/scan.h"

void scan_clear(struct queue_workload *w) {
    w->progress = SCAN_NEW;
}

bool scan_left(const struct queue_workload *w) {
    for (size_t i = 0; w->progress != SCAN_NEW && i < w->n_sets; i++) {
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
        w->scan.retries = c->tree->retries; /* a new round */
        w->progress = SCAN_TRIED;
    }
    for (size_t i = 0; i < w->n_sets; i++) {
        for (size_t k = 0; k < w->sets[i].n_requests; k++) {
            w->sets[i].tried[k] = a->tried[at++];
            c->moved = c->moved || w->sets[i].tried[k] >= 0;
        }
    }
    w->scan.generation = w->queue->generation;
    w->scan.cycle = c->tree->cycle;
}

bool scan_holds(const struct cycle *c, const struct queue_workload *w) {
    if (w->progress == SCAN_NEW) {
        return false;
    }
    bool recent = c->tree != NULL && w->scan.cycle + 1 >= c->tree->cycle;
    return recent || w->scan.generation >= w->queue->generation;
}
