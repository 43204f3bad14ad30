/* echo: a bare TLS server in a child process that answers every request with 1 KB: what TLS itself costs. */
#ifndef BERTH_BENCH_ECHO_H
#define BERTH_BENCH_ECHO_H

#include <sys/types.h>

/* Starts it; its port, and the child in *ret_pid, to be killed. -1 on failure. */
int echo_start(pid_t *ret_pid);

#endif
