/*
 * job_manage (core): private to job_decide: which pods of a Job come and which go.
 */
#ifndef BERTH_CORE_JOB_MANAGE_H
#define BERTH_CORE_JOB_MANAGE_H

#include "core/job/job_sight.h"

/* A Job that goes on: at most one of deletions and creations. Sets again_ns while a back-off holds creations up. */
int job_manage(struct job_sight *s, struct job_plan *plan);
/* A Job that ends: every active pod is deleted, and counted as failed. */
int job_manage_end(struct job_sight *s, struct job_plan *plan);

#endif
