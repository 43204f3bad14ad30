/*
 * spawn: starts a child that is in its cgroup (v2) from its first instruction (clone3, CLONE_INTO_CGROUP, Linux 5.7).
 * Moving a running process into a group takes a kernel lock that blocks all forks and exits and waits for an RCU grace
 * period, some 10 ms; starting it there does not.
 */
#ifndef BERTH_NODE_SPAWN_H
#define BERTH_NODE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

/* The child runs `fn(arg)`, which must not return; it has our memory while we wait until it executes or ends. `group`:
 * the folder of its cgroup, open. The child's pid; -1 with errno, and nothing was begun: ENOSYS also where this is not
 * known for the processor. */
pid_t spawn_borrowing(int group, int (*fn)(void *), void *arg, char *stack, size_t stack_size);
/* As fork: a copy of our memory. */
pid_t spawn_fork(int group);

#endif
