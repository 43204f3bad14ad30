/*
 * stateful_decide: what a StatefulSet does next, from its spec and its pods. Pure.
 *
 * Pods have ordinals. OrderedReady: one is made when all before it are available, one is deleted from the highest
 * ordinal down when all others are; Parallel: none waits for another. An update goes from the highest ordinal down to
 * the partition, as many at a time as may be missing (1).
 */
#ifndef BERTH_CONTROL_STATEFUL_DECIDE_H
#define BERTH_CONTROL_STATEFUL_DECIDE_H

#include "api/tables/view_apps.h"
#include "control/apps/owned_pods.h"

enum { STATEFUL_BURST = 500 }; /* pods that are made at once */

struct stateful_pod {
    struct owned_pod pod;
    int64_t ordinal;
    struct str revision; /* from its label */
    bool remove;         /* decided */
};
struct stateful_facts {
    const struct stateful_set *set;
    bool deleting;
    int64_t generation;
    struct stateful_pod *pods;
    size_t n;
    struct str current, update; /* names of the revisions */
    int64_t now_ns;
};
struct stateful_create {
    int64_t ordinal;
    bool current; /* of the current revision, not of the update's */
};
struct stateful_plan {
    struct stateful_create *creates;
    size_t n_creates;
    struct stateful_set_status status;
    bool write_status;
    int64_t again_ns; /* look again after this time; 0: not by time */
};

/* Sorts f->pods. 0 or ERR_NOMEM. */
int stateful_decide(struct stateful_facts *f, struct arena *a, struct stateful_plan *ret);
/* The ordinal in a pod's name; -1: it is no name of this set's. */
int64_t stateful_ordinal(struct str set, struct str pod);

#endif
