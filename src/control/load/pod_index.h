/*
 * pod_index: the pods that are queued by themselves, by uid and by group.
 *
 * Each version of such a pod is read once, when it comes; what is asked of a group costs its own members only, however
 * many other groups and pods there are. Iteration is in the order in which pods came.
 */
#ifndef BERTH_CONTROL_POD_INDEX_H
#define BERTH_CONTROL_POD_INDEX_H

#include "base/map.h"
#include "control/load/pod_gate.h"

struct pod_index {
    struct map pods;   /* uid to struct gated_pod */
    struct map groups; /* "namespace/name" to a group */
};

void pod_index_init(struct pod_index *x);
void pod_index_release(struct pod_index *x);

/* A new version, or the first. *ret_left, when the pod was in another group: that one's name, in `a`. ERR_NOMEM: all
 * is as it was before. */
int pod_index_put(struct pod_index *x, const struct object *o, struct arena *a,
                  struct str *ret_left);
void pod_index_drop(struct pod_index *x, const struct object *o); /* no-op when it is not there */

const struct gated_pod *pod_index_get(const struct pod_index *x, struct str uid); /* or NULL */
/* The members of a group, in `a`; 0 of them when there is none. ERR_NOMEM. */
int pod_index_group(const struct pod_index *x, struct str ns, struct str name, struct arena *a,
                    const struct gated_pod ***ret, size_t *ret_n);
size_t pod_index_groups(const struct pod_index *x);

#endif
