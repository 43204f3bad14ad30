/*
 * job_write: the pods that the Job controller creates.
 */
#ifndef BERTH_CONTROL_JOB_WRITE_H
#define BERTH_CONTROL_JOB_WRITE_H

#include "core/job/job_decide.h"

/* A pod of the Job's template; `tree` is the Job's JSON. 0 or ERR_NOMEM. */
int job_write_pod(const struct object *job, yyjson_val *tree, const struct job_create *c,
                  bool per_index, struct arena *a, struct buf *out);

#endif
