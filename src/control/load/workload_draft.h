/*
 * workload_draft: a Workload as it is made, or made anew, whoever it is for: a job, pods, a set that serves. The view
 * is struct workload_draft (api/tables/view_kueue.h); what all of them have from the object that they are made for is
 * filled in here, and whoever makes one adds pod sets, owners and what else it bears.
 *
 * All return 0 or ERR_NOMEM where nothing else is said.
 */
#ifndef BERTH_CONTROL_WORKLOAD_DRAFT_H
#define BERTH_CONTROL_WORKLOAD_DRAFT_H

#include "control/kit/views.h"
#include "mirror/mirror.h"

#define KUEUE_PRIORITY_LABEL "kueue.x-k8s.io/priority-class"
#define KUEUE_MAX_TIME_LABEL "kueue.x-k8s.io/max-exec-time-seconds"
#define KUEUE_JOB_UID_LABEL "kueue.x-k8s.io/job-uid"
#define KUEUE_GATED_ANNOTATION "kueue.x-k8s.io/admission-gated-by"
#define KUEUE_FINALIZER "kueue.x-k8s.io/resource-in-use"

struct workload_priority {
    int32_t value;
    const char *group, *kind; /* of the class; NULL: no class */
    struct str name;
};
/* ERR_NOT_FOUND: the class that is named does not exist (*ret_missing gets its name). ERR_NOMEM. */
int workload_priority_resolve(const struct mirror *m, struct str label, struct str pod_class,
                              struct workload_priority *ret, struct str *ret_missing);

/* The queue, the time limit, the priority, the annotations that follow, the finalizer. `about`: the metadata of what it
 * is made for. */
int workload_draft_init(struct workload_draft *d, struct arena *a, const struct meta *about,
                        const struct workload_priority *p);
/* The annotations of a Workload, which has some of its object's (`now`) too: those become as the object's are, and go
 * with them. `first`: it is being made. */
int workload_annotations_follow(const struct str_map *now, bool first, struct arena *a,
                                struct str_map *m);
/* What the label KUEUE_MAX_TIME_LABEL says; 0: no limit. */
int32_t workload_time_limit(struct str label);
/* The class and the priority; a spec of either view has both members. NULL: no memory. */
struct priority_class_ref *workload_class_ref(const struct workload_priority *p, struct arena *a);

/* Of an existing one. Other errors: as codec_decode. */
int workload_draft_read(yyjson_val *tree, struct arena *a, struct workload_draft *ret);
/* The manifest. ERR_TOO_LARGE. */
int workload_draft_encode(const struct workload_draft *d, struct buf *out);
/* The patch of an existing one; on: of edit.h. As edit_write. */
int workload_draft_patch(const struct object *wl, unsigned on, const struct workload_draft *was,
                         const struct workload_draft *want, struct buf *out);

#endif
