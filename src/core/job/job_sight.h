/*
 * job_sight (core): private to job_decide: the Job and its pods as one sync sees them, with everything counted.
 */
#ifndef BERTH_CORE_JOB_SIGHT_H
#define BERTH_CORE_JOB_SIGHT_H

#include "base/map.h"
#include "core/job/job_decide.h"

struct uncounted_uid {
    struct str uid;
    bool failed;  /* of the failed list, else of the succeeded one */
    bool tracked; /* its pod still has the finalizer */
};

struct pod_mark {
    struct uncounted_uid *uncounted; /* already in the status, or NULL */
    bool failed;                     /* counts as a failure, in this Job's policy */
    bool held;                       /* kept with its finalizer until its index has a replacement */
    enum failure_action action;      /* of a failed pod */
};

struct job_sight {
    const struct job_facts *f;
    struct arena *a;
    const struct job_spec *spec;
    const struct job_status *was;
    bool indexed, per_index, replace_failed_only, suspended;
    int64_t parallelism, completions; /* completions -1: unset */
    struct pod_mark *marks;           /* one per pod */
    struct uncounted_uid *uncounted;
    size_t n_uncounted;
    struct map by_uid; /* of uncounted */
    struct index_set completed_before, completed, failed_indexes;
    size_t *
        by_index; /* pods with a valid index, by (index, attempts); the last of an index is its latest */
    size_t n_by_index;
    int64_t active, terminating, ready;
    int64_t succeeded, failed; /* counted or about to be */
};

int job_sight_init(struct job_sight *s, const struct job_facts *f, struct arena *a,
                   struct err *err);
void job_sight_release(struct job_sight *s);

static inline bool job_sight_index_valid(const struct job_sight *s, int32_t index) {
    return index >= 0 && (s->completions < 0 || index < s->completions);
}

#endif
