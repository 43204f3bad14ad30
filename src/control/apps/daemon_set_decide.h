/*
 * daemon_set_decide: which nodes a DaemonSet makes a pod on, and which of its pods go, as a pure function.
 *
 * Every node that its template fits has one pod. One that ended is replaced a while after it was made; beyond one a
 * node the oldest stays, and on nodes that do not fit none. Under OnDelete pods of an old template stay; a rolling
 * update replaces them: those that are not available at once, others as far as maxUnavailable allows; with maxSurge a
 * new pod is made beside an old one, which goes when the new one is available.
 */
#ifndef BERTH_CONTROL_DAEMON_SET_DECIDE_H
#define BERTH_CONTROL_DAEMON_SET_DECIDE_H

#include "api/tables/view_apps.h"
#include "control/apps/owned_pods.h"

enum { DAEMON_BURST_MAX = 250 }; /* pods made, or deleted, in one go */

struct daemon_node {
    struct str name;
    bool should_run; /* the template fits it */
    bool may_stay;   /* pods that run there already may go on */
};

struct daemon_pod {
    struct owned_pod pod;
    struct str node; /* that it is meant for */
    bool current;    /* of the template as it is */
};

struct daemon_facts {
    const struct daemon_set *set;
    int64_t generation;
    bool deleting;
    const struct daemon_node *nodes;
    size_t n_nodes;
    const struct daemon_pod *pods;
    size_t n_pods;
    int64_t now_ns;
};

struct daemon_plan {
    struct daemon_set_status status;
    bool write_status;
    size_t *creates, n_creates; /* into facts.nodes */
    size_t *deletes, n_deletes; /* into facts.pods */
    size_t *ended, n_ended;     /* into facts.pods: of those deleted, what people are told of */
    int64_t again_ns;
};

/* 0 or ERR_NOMEM. */
int daemon_set_decide(const struct daemon_facts *f, struct arena *a, struct daemon_plan *ret);

#endif
