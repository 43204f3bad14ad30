/*
 * loop: one event loop (libuv), its clock and timers, signals, child processes, and messages from other threads.
 *
 * Only loop_post may be called from another thread. libuv's types stay inside net: this header has none.
 */
#ifndef BERTH_NET_LOOP_H
#define BERTH_NET_LOOP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/err.h"

struct loop;

struct loop *loop_new(struct err *err);
/* After loop_run returned, when no other thread posts any more: runs what was posted, closes what is left. */
void loop_free(struct loop *l);
int loop_run(struct loop *l); /* until loop_stop */
void loop_stop(struct loop *l);
struct clock *loop_clock(struct loop *l); /* the real clock, with timers on this loop */

/* Runs fn(ctx) on the loop thread, soon, in order of posting. Thread-safe. 0 or ERR_NOMEM. */
int loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx);
/* Runs fn(ctx) once after the callbacks of this turn (and before the loop sleeps). Loop thread only. */
int loop_defer(struct loop *l, void (*fn)(void *ctx), void *ctx);

struct loop_signal;
struct loop_signal *loop_signal(struct loop *l, int signum, void (*fn)(void *ctx, int signum),
                                void *ctx, struct err *err);
void loop_signal_free(struct loop_signal *s);

/* Watches a file descriptor that the caller owns. */
enum { LOOP_READABLE = 1, LOOP_WRITABLE = 2 };
struct loop_fd;
struct loop_fd *loop_fd(struct loop *l, int fd, int events, void (*fn)(void *ctx, int events),
                        void *ctx, struct err *err);
void loop_fd_free(struct loop_fd *f);

/* A child process: executed (never only forked), all descriptors but those given are closed. */
struct loop_child;
struct child_options {
    const char *file;        /* absolute path */
    const char *const *argv; /* NULL-terminated */
    const char *const *envp; /* NULL-terminated, or NULL to inherit */
    const char *cwd;         /* or NULL */
    int fds[8]; /* fds[i] becomes descriptor i in the child; -1: /dev/null (0..2) or absent */
    size_t n_fds;
    bool detached; /* a session of its own, outlives us */
};
/* exited(ctx, pid, status, signal) comes once on the loop thread. */
int loop_spawn(struct loop *l, const struct child_options *o,
               void (*exited)(void *ctx, int pid, int64_t status, int signal), void *ctx,
               struct loop_child **ret, struct err *err);
int loop_child_pid(const struct loop_child *c);
int loop_child_kill(struct loop_child *c, int signum);
void loop_child_free(struct loop_child *c); /* forgets it; does not kill */

#endif
