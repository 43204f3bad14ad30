/*
 * disruption_decide: the status of a PodDisruptionBudget, as a pure function of the budget, its pods and the time.
 *
 *     expectedPods        with maxUnavailable or a percentage: how many pods their controllers want; else: how many
 *                         there are
 *     desiredHealthy      how many of them must be ready; percentages are rounded up
 *     currentHealthy      that are ready, neither deleted nor evicted just now
 *     disruptionsAllowed  currentHealthy - desiredHealthy; 0 where nothing is expected, so that a budget without pods
 *                         is safe for the first ones
 */
#ifndef BERTH_CONTROL_DISRUPTION_DECIDE_H
#define BERTH_CONTROL_DISRUPTION_DECIDE_H

#include "api/tables/view_policy.h"
#include "base/arena.h"

struct guarded_pod {
    struct str name;
    bool ready, deleting;
};

struct disruption_facts {
    const struct disruption_budget *budget;
    int64_t generation;
    const struct guarded_pod *pods; /* that it selects */
    size_t n_pods;
    int64_t wanted;     /* pods that their controllers want; where disruption_counts_wanted */
    struct str failure; /* why that is not known; empty: it is */
    int64_t now_ns;
};

struct disruption_plan {
    struct disruption_status status; /* wanted; its lists are in the arena */
    bool write;                      /* it differs from what the budget has */
    size_t *overdue, n_overdue;      /* into facts.pods: evicted, and there still */
    int64_t again_ns; /* look again after this long; 0: only when something changes */
};

/* Does it count what controllers want, and not the pods that there are? */
bool disruption_counts_wanted(const struct disruption_budget *b);
/* 0 or ERR_NOMEM. */
int disruption_decide(const struct disruption_facts *f, struct arena *a,
                      struct disruption_plan *ret);

#endif
