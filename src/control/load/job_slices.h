/*
 * job_slices: the Workloads of an elastic Job (annotation kueue.x-k8s.io/elastic-job: "true"), which changes its size
 * while it runs. Plain functions from what is there to who is who; job_queue_slices decides and writes.
 *
 *     holder   what the Job runs by, or, while none holds quota, the newest; or, when all have ended, the last
 *     next     waits to replace the holder: it names it, and no other is
 *     odd      anything else that has not ended
 *
 * A Workload counts only when this Job controls it, by uid, and it bears the Job's uid as its label. Of a Job no more
 * than JOB_SLICES_MAX are looked at; those that were replaced are removed before they are so many.
 */
#ifndef BERTH_CONTROL_JOB_SLICES_H
#define BERTH_CONTROL_JOB_SLICES_H

#include "control/load/job_workload.h"

#define KUEUE_SLICE_REPLACES "kueue.x-k8s.io/workload-slice-replacement-for" /* "namespace/name" */
#define KUEUE_SLICE_NAME "kueue.x-k8s.io/workload-slice-name" /* of the first in the chain */
#define KUEUE_ELASTIC_GATE "kueue.x-k8s.io/elastic-job"       /* scheduling gate of its pods */

enum { JOB_SLICES_MAX = 256, JOB_SLICES_KEPT = 16 };

struct job_slice {
    const struct object *obj; /* NULL: there is none */
    yyjson_val *tree;
    struct workload wl;
    bool reserved, evicted;
};

struct job_slices {
    struct job_slice holder, next;
    const struct object *odd; /* one of them */
    struct workload odd_wl;
    const struct object *ended;  /* one that has ended and still has its finalizer */
    const struct object *oldest; /* that has ended, when more have than are kept */
    size_t n;                    /* looked at */
};

/* May Jobs of this kind be elastic? */
bool job_kind_resizes(const struct kind *k);
/* Is this one? One with a Workload made beforehand, or that may start with fewer pods, is not. */
bool job_is_elastic(const struct job_look *l);
/* ERR_NOMEM, or ERR_INVALID: one of them cannot be read. */
int job_slices_look(const struct job_look *l, struct job_slices *ret, struct err *err);

/* Whose pod sets are those of the Job but for their counts. */
bool job_slice_alike(const struct job_look *l, const struct job_slice *s);
enum job_slice_size { SLICE_SAME, SLICE_LESS, SLICE_MORE };
/* What the Job wants compared with it; more of any pod set is SLICE_MORE. */
enum job_slice_size job_slice_size(const struct job_look *l, const struct job_slice *s);
/* It as a draft, and its pod sets with the counts that the Job wants. ERR_NOMEM. */
int job_slice_draft(const struct job_look *l, const struct job_slice *s, struct workload_draft *was,
                    struct pod_set_draft_list *ret);
/* The manifest of one that is to replace `prior` (NULL: the first). 0 or ERR_NOMEM. */
int job_slice_write(const struct job_look *l, const struct job_slice *prior,
                    const struct workload_priority *p, struct buf *out);
struct str job_slice_name(const struct job_look *l); /* that it gets, in the arena */

#endif
