/*
 * proctree: the process tree of /proc: descendants of a process, and whether a pid is still the same process.
 */
#ifndef BERTH_NODE_PROCTREE_H
#define BERTH_NODE_PROCTREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Start time of a process in clock ticks since boot: with the pid it names one process for ever. 0:
 * no such process. */
uint64_t proc_start(pid_t pid);
/* Sends sig to every descendant of `ancestor` (not to itself); how many there were. */
int proc_kill_descendants(pid_t ancestor, int sig);
/* Sends sig to every process whose environment, as it was at exec, holds this NAME=value; how many.
 * Needs to be their user or root. For what a killed shim left behind where there is no cgroup. */
int proc_kill_marked(const char *mark, int sig);

#endif
