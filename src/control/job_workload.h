/*
 * job_workload: a batch/v1 Job as Kueue's Workload, and what an admission changes in the Job. Plain functions from
 * objects to bodies; the controller that sends them is job_queue.
 */
#ifndef BERTH_CONTROL_JOB_WORKLOAD_H
#define BERTH_CONTROL_JOB_WORKLOAD_H

#include "control/queue_settings.h"
#include "control/views.h"

#define KUEUE_QUEUE_LABEL "kueue.x-k8s.io/queue-name"
#define KUEUE_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define KUEUE_MAX_TIME_LABEL "kueue.x-k8s.io/max-exec-time-seconds"
#define KUEUE_JOB_UID_LABEL "kueue.x-k8s.io/job-uid"
#define KUEUE_PODSET_LABEL "kueue.x-k8s.io/podset"
#define KUEUE_MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism"
#define KUEUE_COMPLETIONS_FOLLOW "kueue.x-k8s.io/job-completions-equal-parallelism"
#define KUEUE_FINALIZER "kueue.x-k8s.io/resource-in-use"
#define KUEUE_PODSET_MAIN "main"

/* "job-<name>-<5 hex>" for ("Job", "batch", name, uid): lower(kind)-name cut to 247 bytes, then the hash. In the
 * arena. */
struct str workload_name(const char *kind, const char *group, struct str owner, struct str uid,
                         struct arena *a);

/* min(parallelism, completions). */
int32_t job_workload_count(const struct job *j);
/* Pods that will not be needed any more; 0 when none. */
int32_t job_workload_reclaimable(const struct job *j, struct arena *a);

struct workload_priority {
    int32_t value;
    const char *group, *kind; /* of the class; NULL: no class */
    struct str name;
};
/* ERR_NOT_FOUND: the class that is named does not exist (*ret_missing gets its name and kind). */
int workload_priority_resolve(const struct mirror *m, struct str label, struct str pod_class,
                              struct workload_priority *ret, struct str *ret_missing);

/* The manifest of a Job's Workload, with the labels that `s` wants copied. 0 or ERR_NOMEM. */
int job_workload_write(const struct object *obj, yyjson_val *tree, const struct job *j,
                       const struct workload_priority *p, const struct queue_settings *s,
                       struct arena *a, struct buf *out);
/* What the label says of a time limit; 0: none. */
int32_t job_workload_limit(const struct job *j);
/* How few pods it may run with; 0: not fewer. */
int32_t job_workload_least(const struct job *j);
/* Are the Workload's pod sets those of this Job? Tolerations count only while nothing was injected. */
bool job_workload_matches(yyjson_val *job_tree, const struct job *j, yyjson_val *wl_tree,
                          const struct workload *wl, bool admitted);

/* A merge patch that unsuspends the Job with what its admission gives: node selector, tolerations, labels, and the
 * count of a partial admission. ERR_CONFLICT with a text: the Job's own template disagrees (it can never start). */
int job_workload_start(const struct object *obj, yyjson_val *tree, const struct job *j,
                       const struct workload *wl, const struct mirror *m,
                       const struct queue_settings *s, struct arena *a, struct buf *out,
                       struct err *err);
/* Does the Job's template hold what an admission put there? */
bool job_workload_injected(const struct job *j, const struct workload *wl);
/* A merge patch that takes it out again, by the template kept in the Workload. */
int job_workload_restore(const struct object *obj, yyjson_val *tree, yyjson_val *wl_tree,
                         struct arena *a, struct buf *out);

#endif
