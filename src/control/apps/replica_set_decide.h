/*
 * replica_set_decide: what a ReplicaSet does next, from its spec and its pods. Pure.
 *
 * Pods that are missing are made in growing batches, one at first and then as many as there are already, so that what
 * cannot be made is tried once and not five hundred times; surplus ones go by rank (owned_pods.h).
 */
#ifndef BERTH_CONTROL_REPLICA_SET_DECIDE_H
#define BERTH_CONTROL_REPLICA_SET_DECIDE_H

#include "api/tables/view_apps.h"
#include "control/apps/owned_pods.h"

enum { REPLICA_SET_BURST = 500 }; /* pods that are made or deleted at once */

struct replica_set_facts {
    const struct replica_set *set;
    bool deleting;
    int64_t generation;
    struct owned_pods active; /* is sorted when some have to go */
    int32_t terminating;
    bool untold;      /* the kind's status does not say how many terminate */
    struct str fault; /* text of the latest write of pods that failed; empty: none did */
    bool tried;       /* the look before this one failed */
    int64_t now_ns;
};
struct replica_set_plan {
    size_t creates, deletes; /* deletes: so many of `active`, from the first */
    struct replica_set_status status;
    bool write_status;
    int64_t again_ns; /* look again after this time; 0: not by time */
};

/* 0 or ERR_NOMEM. */
int replica_set_decide(struct replica_set_facts *f, struct arena *a, struct replica_set_plan *ret);

/* How many of `missing` are made now that `n` are there. */
static inline size_t replica_set_batch(size_t missing, size_t n, bool tried) {
    size_t most = tried || n == 0 ? 1 : n < REPLICA_SET_BURST ? n : REPLICA_SET_BURST;
    return missing < most ? missing : most;
}

#endif
