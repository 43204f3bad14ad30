/*
 * job_follow: what a Workload takes over from its Job after it was made: whether pods are ready, the priority class,
 * and annotations about its admission. Plain functions; job_queue sends what they write.
 *
 *     PodsReady            when
 *     False WaitForStart   not admitted, or admitted and never ready since
 *     False WaitForRecovery  admitted, was ready, is not any more
 *     True Started         ready for the first time since the admission
 *     True Recovered       ready again
 */
#ifndef BERTH_CONTROL_JOB_FOLLOW_H
#define BERTH_CONTROL_JOB_FOLLOW_H

#include "control/load/job_workload.h"
#include "control/load/workload_status.h"

#define KUEUE_GATED_ANNOTATION "kueue.x-k8s.io/admission-gated-by"

void job_ready_set(struct workload_change *ch, bool admitted, bool ready);

/* Which of the object's annotations (`now`) its Workload has too, as members of a JSON object; those in `had` that the
 * object has no more become null. True when they differ from `had`, the Workload's. `first`: there is none yet. */
bool job_annotations_write(yyjson_val *now, yyjson_val *had, bool first, struct buf *out);

/* Names of Pending checks that have something to say: `name: message; ...`, in the arena; empty when none. */
struct str job_pending_checks(const struct workload *wl, struct arena *a);

#endif
