/*
 * pod_claims: pods wait for their claims, as they do with Kubernetes' scheduler: a claim must be there, must not be on
 * its way out, must be bound unless its class waits for the first pod, and with ReadWriteOncePod no other pod may have
 * it. For who places pods where claims are bound by Berth; elsewhere the cluster's own scheduler looks at them.
 */
#ifndef BERTH_CONTROL_POD_CLAIMS_H
#define BERTH_CONTROL_POD_CLAIMS_H

#include "api/tables/view_core.h"
#include "base/arena.h"
#include "mirror/mirror.h"

/* Does the pod, o with its view, wait for one of its claims? *ret_why, in the arena, says which and why, in the words
 * of the event FailedScheduling. */
bool pod_claims_wait(const struct mirror *m, const struct object *o, const struct pod *p,
                     struct arena *a, struct str *ret_why);

#endif
