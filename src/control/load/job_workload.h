/*
 * job_workload: an object of an integrated kind as Kueue's Workload. Plain functions from one look (integration.h) to
 * bodies; the controller that sends them is job_queue.
 */
#ifndef BERTH_CONTROL_JOB_WORKLOAD_H
#define BERTH_CONTROL_JOB_WORKLOAD_H

#include "control/kit/views.h"
#include "control/load/integration.h"
#include "control/load/workload_draft.h"

#define KUEUE_PREBUILT "kueue.x-k8s.io/prebuilt-workload-name" /* annotation, or label */
#define KUEUE_ELASTIC_ANNOTATION "kueue.x-k8s.io/elastic-job"
#define KUEUE_MIN_PARALLELISM "kueue.x-k8s.io/job-min-parallelism"
#define KUEUE_COMPLETIONS_FOLLOW "kueue.x-k8s.io/job-completions-equal-parallelism"

/* "job-<name>-<5 hex>" for ("Job", "batch", name, uid): lower(kind)-name cut to 247 bytes, then the hash. In the
 * arena. `extra` goes into the hash too, when it is not empty. */
struct str workload_name(const char *kind, const char *group, struct str owner, struct str uid,
                         struct arena *a);
struct str workload_name_extra(const char *kind, const char *group, struct str owner,
                               struct str uid, struct str extra, struct arena *a);

/* What differs for a Workload of an elastic Job (job_slices.h). */
struct job_workload_slice {
    struct str name;                           /* its own */
    struct str chain;                          /* that of the first of them */
    struct str replaces;                       /* "namespace/name"; empty: none */
    const struct pod_set_draft_list *pod_sets; /* NULL: as the object says */
};
/* The manifest of the Workload, with the labels that the settings want copied; `as` may be NULL. 0 or ERR_NOMEM. */
int job_workload_write(const struct job_look *l, const struct workload_priority *p,
                       const struct job_workload_slice *as, struct buf *out);
/* Its pod sets alone, in the look's arena. ERR_NOMEM. */
int job_workload_pod_sets(const struct job_look *l, struct pod_set_draft_list *ret);
/* The reference of the Workload to its object, added. ERR_NOMEM. */
int job_workload_own(struct meta *m, struct arena *a, const struct object *o);
/* The Workload that somebody made for it; empty: none. */
struct str job_workload_prebuilt(const struct job_look *l);
/* Are the Workload's pod sets those of this object? Tolerations count only while nothing was injected. */
bool job_workload_matches(const struct job_look *l, yyjson_val *wl_tree, const struct workload *wl,
                          bool reserved);
/* Are they, but for how many pods they have? */
bool job_workload_resized(const struct job_look *l, yyjson_val *wl_tree, const struct workload *wl,
                          bool reserved);

#endif
