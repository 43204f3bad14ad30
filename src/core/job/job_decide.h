/*
 * job_decide (core): what a Job needs next, as one pure function of the Job, its pods and the time.
 *
 * Nothing is remembered between calls: everything that counts is in the objects, so that a controller that was stopped
 * at any point goes on from what it finds. Pods are counted exactly once, in three steps, each of which is a write of
 * its own that the next step looks for: (1) the uid of an ended pod enters status.uncountedTerminatedPods (a succeeded
 * index enters completedIndexes); (2) the pod loses its finalizer; (3) the uid moves into the counters. A Job ends in
 * two steps as well: FailureTarget, then Failed; SuccessCriteriaMet, then Complete; the second when no pod runs or ends
 * any more. The write that ends the Job counts the last pods at once: nothing is counted after it, so that they can
 * lose their finalizers later without being counted twice.
 *
 *     condition met                        adds               reason
 *     FailJob rule matches                 FailureTarget      PodFailurePolicy
 *     more failures than backoffLimit      FailureTarget      BackoffLimitExceeded
 *     active for too long                  FailureTarget      DeadlineExceeded
 *     too many failed indexes              FailureTarget      MaxFailedIndexesExceeded
 *     every index ended, some failed       FailureTarget      FailedIndexes
 *     a rule of successPolicy holds        SuccessCriteriaMet SuccessPolicy
 *     completions reached, none active     SuccessCriteriaMet CompletionsReached
 */
#ifndef BERTH_CORE_JOB_DECIDE_H
#define BERTH_CORE_JOB_DECIDE_H

#include "core/job/job_policy.h"

enum {
    JOB_UNCOUNTED_MAX = 500, /* uids in status at a time */
    JOB_BURST_MAX = 500,     /* pods created or deleted in one go */
};

struct job_facts {
    const struct job *job;
    bool deleting;
    struct job_pod *pods; /* owned by the Job, in any order */
    size_t n_pods;
    int64_t now_ns;    /* wall */
    size_t create_max; /* at most this many creations; JOB_BURST_MAX, or 1 after a failure */
};

struct job_create {
    int32_t index;             /* -1: not indexed */
    int32_t failures, ignored; /* earlier attempts of the index, with backoffLimitPerIndex */
};

struct job_plan {
    struct job_status status;   /* wanted; its arrays are in the arena */
    bool write_status;          /* it differs from what the Job has */
    size_t *deletes, n_deletes; /* into facts.pods */
    bool strip_first; /* they lose their finalizer before they are deleted: they are not counted */
    size_t *strips, n_strips; /* pods that lose their finalizer */
    struct job_create *creates;
    size_t n_creates;
    int64_t again_ns; /* look again after this long; 0: only when something changes */
};

bool job_finished(const struct job *j); /* Complete or Failed */
/* NULL when there is none. */
const struct condition *job_condition(const struct job *j, const char *type);
bool job_condition_true(const struct job *j, const char *type);

/* ERR_NOMEM. */
int job_decide(const struct job_facts *f, struct arena *a, struct job_plan *ret, struct err *err);

/* 10 s, 20 s, ... 10 min for the nth failure in a row. */
int64_t job_backoff_ns(int64_t failures);

#endif
