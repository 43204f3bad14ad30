/*
 * rollout: how many pods each ReplicaSet of a Deployment should have, as plain numbers. Pure.
 *
 * A rolling update never has more pods than wanted plus maxSurge, and does not go below wanted minus maxUnavailable
 * available ones by its own doing. A percentage of surge is rounded up, one of unavailability down; where both are 0,
 * one may be unavailable.
 */
#ifndef BERTH_CONTROL_ROLLOUT_H
#define BERTH_CONTROL_ROLLOUT_H

#include "base/str.h"

struct rollout_bounds {
    int32_t wanted;
    int32_t surge, unavailable; /* both 0 unless it is a rolling update */
    bool rolling;
};
/* The amounts as the spec has them: digits, or a percentage; what is neither is 0. */
struct rollout_bounds rollout_bounds(int32_t wanted, bool rolling, struct str max_surge,
                                     struct str max_unavailable);

/* One ReplicaSet, `to` of which is what is decided. */
struct rollout_set {
    int32_t replicas, available; /* as its spec says, and as its status does */
    int32_t max_before; /* most pods of the Deployment when it was last scaled; -1: not known */
    int64_t created_ns;
    struct str name;
    int32_t to;
};

/* The new one: `total` pods are wanted of all sets together. */
int32_t rollout_new_replicas(const struct rollout_bounds *b, int64_t total, int32_t now);
/* Scales down old ones, the unhealthy before others. Sets `to` of each; new: the new one, or NULL. Whether any
 * changed. */
bool rollout_old_replicas(const struct rollout_bounds *b, struct rollout_set *old, size_t n,
                          const struct rollout_set *new);
/* The Deployment's size changed in the middle of a rollout: sets, all active ones, share the difference by size. */
void rollout_share(const struct rollout_bounds *b, int32_t max_before, struct rollout_set *sets,
                   size_t n);

#endif
