/*
 * job: the controller of batch/v1 Jobs: runs their pods, counts how they end, and says so in the status.
 *
 * Looks at a Job when it or one of its pods changes, decides by job_decide, and writes one round. A Job whose
 * spec.managedBy names somebody else is left alone. Also deletes Jobs whose ttlSecondsAfterFinished has passed, and
 * frees pods that still carry the tracking finalizer of a Job that is gone.
 */
#ifndef BERTH_CONTROL_JOB_H
#define BERTH_CONTROL_JOB_H

#include "base/err.h"
#include "control/kit/env.h"

extern const struct controller_row job_controller;

#endif
