/*
 * pod_group_match: which pods of a group its Workload is about, and which of them have to go. Plain functions.
 *
 *     runnable    it runs, may run or has succeeded: it fills a place of its role
 *     failed      it keeps its place until another pod fills it; then it is let go
 *     never ran   deleted before it had a node: it is let go at once
 *     in excess   more are runnable than the Workload has places: the last of them go; those without finalizer, still
 *                 gated, and young are last
 */
#ifndef BERTH_CONTROL_POD_GROUP_MATCH_H
#define BERTH_CONTROL_POD_GROUP_MATCH_H

#include "control/load/pod_gate.h"

enum { POD_GROUP_ROLES = 18 }; /* as many pod sets a Workload may have */

struct pod_list {
    const struct gated_pod **v;
    size_t n;
};

/* In order of age, then name. Sorts in place. */
void pod_list_by_age(struct pod_list *l);

struct group_match {
    struct pod_list kept, excess, loose; /* loose: to be let go, without their finalizer */
    int32_t absent;                      /* places that no pod fills */
};
/* pods: all members. ERR_NOMEM. */
int pod_group_match(const struct pod_list *pods, const struct workload *wl, bool fast,
                    struct arena *a, struct group_match *ret);

/* The pod sets of a group: one per role, by name. total: for `fast`, how many there will be of the one role. */
struct pod_role {
    struct str name;
    int32_t count;
    const struct gated_pod *sample;
};
/* At most POD_GROUP_ROLES + 1 of them are listed, so that too many are seen. ERR_NOMEM. */
int pod_group_roles(const struct pod_list *pods, bool fast, int32_t total, struct arena *a,
                    struct pod_role **ret, size_t *ret_n);

/* The first reason why no Workload can be made of the members, in the arena; empty: one can. */
struct str pod_group_fault(const struct pod_list *pods, const struct gated_pod *first,
                           struct arena *a);
/* More runnable ones than places, to be deleted before a Workload is made. ERR_NOMEM. */
int pod_group_surplus(const struct pod_list *pods, int32_t total, struct arena *a,
                      struct group_match *ret);

#endif
