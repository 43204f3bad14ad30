/*
 * pack: how many new nodes of a group pending pods need: first fit, decreasing, as the Cluster Autoscaler's estimator
 * has it (1.36), and which group its expanders choose.
 *
 * Pods come in groups of equal ones. A node of the group is its template: what it has, labels, taints, one pod of a
 * DaemonSet on it already. Pods are packed by resources, pod slots, selectors, taints, host ports, and anti-affinity to
 * their own group on a node.
 */
#ifndef BERTH_CORE_PACK_H
#define BERTH_CORE_PACK_H

#include "api/tables/view_meta.h"
#include "base/arena.h"

struct pack_taint {
    struct str key, value, effect;
};
struct pack_toleration {
    struct str key, operator, value, effect;
};
struct pack_pods {
    struct str name;
    size_t count;
    struct quantity_map requests; /* of each */
    struct str_map selector;      /* of nodes */
    const struct pack_toleration *tolerations;
    size_t n_tolerations;
    int32_t port; /* of the host; 0: none */
    bool apart;   /* no two of the group on one node */
};
struct pack_group {
    struct str name;
    int64_t max_size, target_size;
    struct quantity_map capacity, allocatable;
    struct str_map labels;
    const struct pack_taint *taints;
    size_t n_taints;
    const struct quantity_map *daemon; /* NULL: no pod of a DaemonSet */
};
struct pack_limits {
    int64_t per_scale_up;   /* nodes; 0: any number */
    int64_t total, current; /* nodes of the cluster; total 0: any number */
    bool fast;              /* the last group's nodes beyond the first are counted, not filled */
};

struct pack_option {
    const struct pack_group *group;
    bool *fits;         /* of each group of pods: one fits on an empty node */
    size_t *packed;     /* pods of each group of pods */
    size_t nodes, pods; /* new nodes that hold a pod; all pods that were packed */
};

enum { PACK_RESOURCES = 32, PACK_NODES = 20000 };

/* ERR_INVALID: more resources than PACK_RESOURCES. ERR_NOMEM. */
int pack_estimate(const struct pack_limits *l, const struct pack_group *g,
                  const struct pack_pods *pods, size_t n, struct arena *a, struct pack_option *ret,
                  struct err *err);

/* Which options an expander keeps: keep[i] for options[i], of which those without nodes are out. */
enum pack_expander { PACK_LEAST_NODES, PACK_LEAST_WASTE, PACK_MOST_PODS };
void pack_expand(enum pack_expander e, const struct pack_option *options, size_t n,
                 const struct pack_pods *pods, size_t n_pods, bool *keep);

#endif
