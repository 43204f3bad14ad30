/*
 * disruption: what the budget's controller and the eviction of pods both say about a PodDisruptionBudget.
 *
 * An eviction that is allowed is written into the budget's status at once, with the pod's name, so that no second one
 * is allowed for the same room; the controller counts the pod as gone from then on, and forgets the name when the pod
 * is deleted, or was not within two minutes.
 */
#ifndef BERTH_API_DISRUPTION_H
#define BERTH_API_DISRUPTION_H

#include "api/tables/view_policy.h"
#include "base/arena.h"
#include "base/clock.h"

#define DISRUPTION_ALLOWED "DisruptionAllowed"
#define DISRUPTION_SYNC_FAILED "SyncFailed"
#define DISRUPTION_DISRUPTED_FOR (120 * NS_PER_SEC)
enum { DISRUPTION_DISRUPTED_MAX = 2000 };

/* Is its condition Ready True? */
bool disruption_pod_ready(yyjson_val *pod);
/* Sets condition DisruptionAllowed by s->disruptions_allowed and of s->observed_generation, in a copy of the list. 0 or
 * ERR_NOMEM. */
int disruption_set_condition(struct disruption_status *s, struct arena *a, int64_t now_ns);
/* A pod of this name counts as gone from now on. 0 or ERR_NOMEM. */
int disruption_add_pod(struct disruption_status *s, struct arena *a, struct str pod,
                       int64_t now_ns);
/* When that was said of a pod; 0: it was not. */
int64_t disruption_of_pod(const struct disruption_status *s, struct str pod);

#endif
