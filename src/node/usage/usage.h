/*
 * usage: what a pod takes of the machine right now: processor time so far, and memory. From its cgroup where there is
 * one, else from its processes. What each container has of it is told by processes alone: those of the session that its
 * first one leads, and their children; the pod's numbers are shared out in their proportion.
 *
 * Memory is what cannot be had back without more ado: of a cgroup all but inactive files, as a kubelet counts; of
 * processes what is theirs alone, and the largest share of what is not.
 */
#ifndef BERTH_NODE_USAGE_H
#define BERTH_NODE_USAGE_H

#include "node/sandbox/sandbox.h"

enum { USAGE_PROCESSES_MAX = 4096 };

struct usage {
    int64_t cpu_ns, memory;
};
struct usage_container {
    pid_t pid; /* its first process; 0: it does not run */
    struct usage now;
};

/* shim: the process that holds the pod. Fills `now` of each container; what belongs to none counts for the first that
 * runs. False: nothing could be read. */
bool usage_of_pod(enum cgroup_mode mode, const char *cgroup_name, pid_t shim,
                  struct usage_container *v, size_t n);
/* Of the whole machine since its start. */
bool usage_of_machine(struct usage *ret);

#endif
