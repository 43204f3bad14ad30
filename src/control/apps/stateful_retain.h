/*
 * stateful_retain: persistentVolumeClaimRetentionPolicy of a StatefulSet. A claim that shall go with the set has it
 * among its owners; one that shall go with a pod that is scaled away has that pod, before the pod is deleted. The
 * garbage collector does the rest, and a claim that a pod still uses waits for it.
 *
 *     whenDeleted   whenScaled   owner of the claim of a pod that stays   of one that is scaled away
 *     Retain        Retain       nobody                                   nobody
 *     Delete        Retain       the set                                  the set
 *     Retain        Delete       nobody                                   the pod
 *     Delete        Delete       the set                                  the pod
 */
#ifndef BERTH_CONTROL_STATEFUL_RETAIN_H
#define BERTH_CONTROL_STATEFUL_RETAIN_H

#include "control/kit/round.h"
#include "wire/json/json.h"

struct stateful_retain {
    const struct mirror *mirror;
    const struct kind *claims;
    const struct object *set;
    yyjson_val *tree; /* the set's JSON */
    struct arena *arena;
};

/* Puts the owners of the claims of one ordinal right. pod: NULL when it is not there; gone: it is scaled away. True
 * when something was written. */
bool stateful_retain_claims(const struct stateful_retain *t, int64_t ordinal,
                            const struct object *pod, bool gone, struct round *r);

#endif
