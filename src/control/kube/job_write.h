/*
 * job_write: the bodies that the Job controller sends: a Job's status, a new pod.
 */
#ifndef BERTH_CONTROL_JOB_WRITE_H
#define BERTH_CONTROL_JOB_WRITE_H

#include "control/kube/job_decide.h"

/* A merge patch of the status subresource, conditional on the Job's version. Check buf_ok(). */
void job_write_status(const struct object *job, const struct job_status *s, struct buf *out);

/* A pod of the Job's template; `tree` is the Job's JSON. 0 or ERR_NOMEM. */
int job_write_pod(const struct object *job, yyjson_val *tree, const struct job_create *c,
                  bool per_index, struct arena *a, struct buf *out);

#endif
