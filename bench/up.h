/*
 * up: a `berth up` of a benchmark's own, in a temporary folder, and what it costs.
 *
 * One at a time; a failure ends the program with a line on stderr, after stopping the server.
 */
#ifndef BERTH_BENCH_UP_H
#define BERTH_BENCH_UP_H

#include <limits.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <sys/types.h>

struct up {
    const char *berth, *who; /* the program; the benchmark, for messages */
    char dir[PATH_MAX], data[PATH_MAX + 8];
    pid_t pid;
    bool pin; /* all its threads on one CPU */
    double start_ms;
    int port;
    SSL_CTX *tls; /* with the administrator's certificate */
};

extern struct up up;

_Noreturn void up_die(const char *what);
/* The n-th CPU of those that this process had at first; nothing is done where there is no second. */
void up_pin(int n);
/* Makes the folder; before each start. */
void up_folder(void);
/* Starts `berth up --gpus none` with up to two more arguments (NULL: none) and reads its kubeconfig. */
void up_start(const char *more, const char *value);
void up_stop(void); /* and its data are gone */
double up_rss_mib(void);
/* Nanoseconds that the threads of a process were on a CPU. */
double up_cpu_ns(pid_t pid);

#endif
