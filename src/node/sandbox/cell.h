/*
 * cell: the namespaces of a pod, and the process 1 that holds them.
 *
 * A cell is made once in a pod's shim, before its containers. Its process 1 is forked from the shim and executes
 * nothing: it copies the view (view.h) into a mount namespace, has IPC, UTS and PID namespaces of its own, and a
 * network namespace where it is told to (`sandbox.netns`: joins that one; `sandbox.own_network`: an empty one with
 * loopback up; neither: the machine's). Then it gives up its capabilities and reaps what is orphaned in the pod.
 * Whatever the shim forks from then on is inside the PID namespace, as processes 2 and up, so that signals mean there
 * what they mean anywhere; it sees the machine's files until cell_enter. The shim itself stays outside and knows the
 * machine's process numbers.
 *
 * Inside: /proc has the pod's processes only; /dev is devices.h's with the pod's terminals and its shared memory,
 * bounded; /tmp is the pod's root/tmp; of the data folder there is nothing but the pod's root/, at its own path;
 * everything else is read-only.
 *
 * As root each cell has a user namespace, too, where the kernel lets us make one: process 1 moves into it when all else
 * is made, and containers follow when they become the pod's user. Only the pod's user and groups are in it, by the
 * numbers that they have outside, so that files, volumes and quotas mean the same in there; whatever kernel code asks
 * for a right over the machine refuses whoever is in it, also one who has gained every capability there. The other
 * namespaces and all mounts stay the machine's: in there nobody has a right over them. Containers in images have
 * another one instead (mounts/rootfs.h).
 *
 * Without root `berth shim --serve` enters one user namespace at its start (`cell_user`), in which Berth's user is
 * mapped to itself alone, and makes all of this in there. Network namespaces that a pod is to join must belong to the
 * same user namespace: with --userns PATH the server joins that one instead of making its own. Where neither root nor
 * user namespaces are, there are no cells; sandbox_probe says so.
 *
 * When the shim dies the kernel ends process 1, and with it every process of the pod.
 */
#ifndef BERTH_NODE_CELL_H
#define BERTH_NODE_CELL_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct sandbox;

struct pod_cell {
    pid_t init;   /* 0: none, or it has ended */
    int fd;       /* a pidfd of it; -1 */
    bool network; /* one of its own */
    bool users;   /* process 1 is in a user namespace of the pod's own */
};

/* Enters the user namespace that `path` names, NULL: a new one. Nothing to do for root. 0 or errno. */
int cell_user(const char *path);
/* Makes the view, or makes it anew when the machine's root has changed; once per server, shims inherit it on
 * descriptor CELL_VIEW_FD. */
enum { CELL_VIEW_FD = 3 };
int cell_prepare(struct err *err);

/* Nothing when s->walls is false. A cell whose process 1 has ended may be opened again. */
int cell_open(struct pod_cell *c, const struct sandbox *s, struct err *err);
/* In a forked child of the shim: all its namespaces. 0 or errno. */
int cell_enter(const struct pod_cell *c);
/* Its user namespace, when it has one; gives every capability in there. 0 or errno. */
int cell_enter_users(const struct pod_cell *c);
/* The same as cell_enter of a container that runs: its own mounts, too. */
int cell_join(const struct pod_cell *c, pid_t container);
/* A child that was reaped: true when it was process 1, which then is no more. */
bool cell_reaped(struct pod_cell *c, pid_t pid);
/* SIGKILL to everything in it, process 1 included. */
void cell_kill(struct pod_cell *c);
/* SIGKILL to what containers that have ended left behind. Only while no container runs. */
void cell_kill_rest(const struct pod_cell *c);

/* Can this process make cells (tried in a child)? `ret_user`: a user namespace is needed for it. */
bool cell_possible(bool *ret_user);
/* Root: can pods have user namespaces of their own? Tried in a child, once. */
bool cell_users_possible(void);

#endif
