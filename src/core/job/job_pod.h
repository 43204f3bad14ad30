/*
 * job_pod (core): what the Job controller needs to know of one pod.
 */
#ifndef BERTH_CORE_JOB_POD_H
#define BERTH_CORE_JOB_POD_H

#include "api/tables/view_batch.h"
#include "api/tables/view_core.h"
#include "base/arena.h"

struct object;

#define JOB_FINALIZER "batch.kubernetes.io/job-tracking"
#define JOB_INDEX_KEY "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX_FAILURES_KEY "batch.kubernetes.io/job-index-failure-count"
#define JOB_INDEX_IGNORED_KEY "batch.kubernetes.io/job-index-ignored-failure-count"

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

struct pod_exit { /* a container that ended with an error */
    struct str container;
    int32_t code;
};
struct pod_state_condition {
    struct str type, status;
};

struct job_pod {
    const struct object *obj; /* the caller's; no decision looks at it */
    struct str ns, name, uid;
    enum pod_phase phase;
    bool deleting, tracked /* has our finalizer */, ready, scheduled;
    int32_t index; /* -1: none */
    int32_t restarts;
    int64_t created_ns,
        finished_ns; /* finished: of an ended or deleted pod, as back-off counts it */
    int32_t index_failures, index_ignored; /* earlier failures of its index */
    struct pod_exit *exits;
    size_t n_exits;
    struct pod_state_condition *conditions;
    size_t n_conditions;
};

static inline bool job_pod_finished(const struct job_pod *p) {
    return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}
static inline bool job_pod_active(const struct job_pod *p) {
    return !job_pod_finished(p) && !p->deleting;
}
static inline bool job_pod_terminating(const struct job_pod *p) {
    return !job_pod_finished(p) && p->deleting;
}

#endif
