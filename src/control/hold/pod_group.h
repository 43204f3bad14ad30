/*
 * pod_group: Kueue's integration of plain pods: a Workload for each pod, or each group of pods, that waits behind the
 * gate of admission.
 *
 *     pods                          Workload                what is done
 *     none                          any                     finish it; its finalizer goes
 *     any                           of that name, not ours  nothing (event WorkloadNameConflict)
 *     enough, nothing runs          none                    create it
 *     not gated                     none, or not admitted   stop: condition TerminationTarget, then delete
 *     gated                         Admitted                open the gate, with what the flavors give
 *     one failed, none in its place any                     WaitingForReplacementPods
 *     more than places              any                     the last ones go
 *     not gated                     Evicted                 stop
 *     nothing runs                  Evicted, QuotaReserved  release the quota
 *     ended                         not Finished            finish it
 *     any                           Finished                finalizers go: the pods', then its own
 *     any                           being deleted           stop, then finalizers go
 *
 * A pod cannot be held back again once its gate is open: stopping it deletes it, and a group goes on only when somebody
 * makes other pods. Whether a Workload is admitted or evicted is decided elsewhere; here its conditions are followed.
 * Workloads that serving controllers made beforehand (control/hold/serving.h) are followed the same way.
 */
#ifndef BERTH_CONTROL_POD_GROUP_H
#define BERTH_CONTROL_POD_GROUP_H

#include "base/err.h"
#include "control/kit/env.h"

extern const struct controller_row pod_group_controller;

#endif
