/*
 * ranking: where each waiting workload stands in its ClusterQueue: by priority, then by time of creation. No I/O.
 */
#ifndef BERTH_CLI_RANKING_H
#define BERTH_CLI_RANKING_H

#include "base/arena.h"
#include "wire/json/json.h"

/* STOPPING: evicted, and not all of it has ended. */
enum rank_state {
    RANK_RUNNING,
    RANK_STOPPING,
    RANK_RESERVED,
    RANK_WAITING,
    RANK_HELD,
    RANK_FINISHED
};

struct ranked {
    yyjson_val *workload;
    struct str ns, job, queue,
        cluster_queue; /* cluster_queue empty when the local queue is unknown */
    enum rank_state state;
    size_t position; /* from 1, of those that wait; 0 for others */
    int64_t priority;
    struct str created, why;
};

/* Workloads and LocalQueues as lists. In order of cluster queue, state, position. 0 or ERR_NOMEM. */
int ranking_make(struct arena *a, yyjson_val *workloads, yyjson_val *local_queues,
                 struct ranked **ret, size_t *ret_n);
const char *rank_state_name(enum rank_state s);

#endif
