/*
 * assign (core): which flavors a workload would get, against the usage of the moment.
 *
 * For each pod set, resources of one group get one flavor. Flavors are tried in the order of the queue; each is first
 * asked whether the pods may run there (taints, affinity), then whether quota fits. How well one fits is a mode and a
 * borrow height; the queue's fungibility says when to stop looking. Where quota does not fit, but may be taken from
 * others, the oracle of preempt.h says what a search for victims would come to for that cell alone.
 *
 * Nothing is changed: what the scan came to is in the assignment, for the caller to keep (scan.h).
 */
#ifndef BERTH_CORE_ASSIGN_H
#define BERTH_CORE_ASSIGN_H

#include "core/admit/verdict.h"
#include "core/queue/queue.h"

struct engine;
struct victim;

enum assign_mode { MODE_NO_FIT, MODE_NO_CANDIDATES, MODE_PREEMPT, MODE_RECLAIM, MODE_FIT };

struct assignment {
    enum assign_mode mode;
    uint32_t borrow;
    struct held_amount *held;
    struct quota_cell **cells; /* of held */
    enum assign_mode *modes;   /* of held */
    size_t n_held;
    const int32_t *counts; /* pods per set; NULL: as asked */
    bool grows;            /* counts are the difference to the holder that it replaces */
    int32_t *tried;        /* per request, all sets' in a row */
    struct victim *victims;
    size_t n_victims;
    struct verdict *verdict; /* details of what did not fit */
    struct considered *considered;
};

/* Into the memory of the cycle; ERR_NOMEM (its limit). counts: NULL for all pods; pin: only flavors that it holds, from
 * the first on. */
int assign_flavors(struct engine *e, struct queue_workload *w, const int32_t *counts,
                   const struct assignment *pin, struct assignment *ret);

#endif
