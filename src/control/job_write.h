/*
 * job_write: the bodies that the Job controller sends: a Job's status, a new pod, a pod without its finalizer.
 */
#ifndef BERTH_CONTROL_JOB_WRITE_H
#define BERTH_CONTROL_JOB_WRITE_H

#include "control/job_decide.h"

/* A merge patch of the status subresource, conditional on the Job's version. Check buf_ok(). */
void job_write_status(const struct object *job, const struct job_status *s, struct buf *out);

/* A pod of the Job's template; `tree` is the Job's JSON. 0 or ERR_NOMEM. */
int job_write_pod(const struct object *job, yyjson_val *tree, const struct job_create *c,
                  bool per_index, struct arena *a, struct buf *out);

/* A merge patch, conditional on the object's version, that takes one finalizer off. 0, ERR_NOMEM, or ERR_NOT_FOUND when
 * the object has no such finalizer. */
int write_without_finalizer(const struct object *o, const char *finalizer, struct arena *scratch,
                            struct buf *out);

/* Members shared by bodies: `,"name":"2026-..."` (null for 0), and a list of conditions. */
void write_time(struct buf *out, const char *name, int64_t ns);
void write_conditions(struct buf *out, const struct condition_list *l, bool with_probe);

#endif
