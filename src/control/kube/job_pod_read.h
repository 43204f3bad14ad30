/*
 * job_pod_read: reads what the Job's decisions need of a pod from the pod's stored bytes.
 *
 * Only the members of struct job_pod are read, without the kind's table, because all pods of a Job are read and a Job
 * may have thousands.
 */
#ifndef BERTH_CONTROL_JOB_POD_READ_H
#define BERTH_CONTROL_JOB_POD_READ_H

#include "control/kit/views.h"
#include "core/job/job_pod.h"

/* Views lie in o and in the arena; `scratch` is only used during the call. ERR_NOMEM. */
int job_pod_read(const struct object *o, struct arena *scratch, struct arena *a,
                 struct job_pod *ret, struct err *err);

#endif
