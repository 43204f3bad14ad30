/*
 * job_policy (core): podFailurePolicy and successPolicy of a Job, as plain questions.
 */
#ifndef BERTH_CORE_JOB_POLICY_H
#define BERTH_CORE_JOB_POLICY_H

#include "core/job/index_set.h"
#include "core/job/job_pod.h"

enum failure_action { FAILURE_COUNT, FAILURE_IGNORE, FAILURE_FAIL_INDEX, FAILURE_FAIL_JOB };

/* What a failed pod means; the first matching rule decides, none means FAILURE_COUNT. For FAILURE_FAIL_JOB *ret_why
 * gets the condition's message, in the arena (ret_why may be NULL). */
enum failure_action job_failure_action(const struct pod_failure_policy *policy,
                                       const struct job_pod *p, struct arena *a,
                                       struct str *ret_why);

/* The first rule of a success policy that the completed indexes satisfy, or -1. */
int job_success_rule(const struct success_policy *policy, const struct index_set *completed,
                     int32_t completions, struct arena *a);

#endif
