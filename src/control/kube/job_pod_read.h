/*
 * job_pod_read: a pod of a Job as its decisions see it, read from its bytes.
 *
 * Only the members of struct job_pod are looked at, without the kind's table: a Job may have thousands of pods, and
 * all of them are looked at.
 */
#ifndef BERTH_CONTROL_JOB_POD_READ_H
#define BERTH_CONTROL_JOB_POD_READ_H

#include "control/kit/views.h"
#include "core/job/job_pod.h"

/* Views lie in o and in the arena; `scratch` is only used during the call. ERR_NOMEM. */
int job_pod_read(const struct object *o, struct arena *scratch, struct arena *a,
                 struct job_pod *ret, struct err *err);

#endif
