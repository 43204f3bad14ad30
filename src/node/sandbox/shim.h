/*
 * shim: one small process per pod that holds its containers' processes, logs and exit codes. Inside
 * the node room only.
 *
 * `berth shim --serve` is started once by the node: it reads pod folders, one a line, on descriptor
 * 0 and forks a shim for each, which is much cheaper than executing one. It stays until its input
 * has ended and its last shim has gone, so that no shim is ever left for somebody else to reap.
 * `berth shim DIR` runs a single pod.
 *
 * A shim is a session leader and a child subreaper: whatever its containers start and abandon comes
 * back to it. It holds a lock on DIR/lock as long as it lives (so nobody needs to trust a pid to
 * know), runs DIR/spec.json once and never again, and tells what happened in DIR/state.json.
 * SIGTERM stops the pod; its value, when sent with sigqueue, is the grace period in seconds.
 *
 *     containers:  WAITING -> RUNNING -> DONE
 *                     ^          |
 *                     +- BACKOFF-+     restartPolicy says again
 */
#ifndef BERTH_NODE_SHIM_H
#define BERTH_NODE_SHIM_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "node/sandbox/sandbox.h"
#include "wire/podlog.h"

enum { SHIM_CONTAINERS_MAX = 64, SHIM_MESSAGE = 256, SHIM_LINE_MAX = 16384 };

enum restart_policy { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS };
enum container_state { CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_BACKOFF, CONTAINER_DONE };

struct shim_log {
    int dir, fd; /* pod's log folder of the container; the open file or -1 */
    int restart; /* which run */
    size_t bytes;
    struct buf part[2]; /* an unfinished line per stream */
    struct buf out;
};

struct shim_ended {
    bool set;
    int exit_code, signal;
    int64_t started_ns, finished_ns;
    const char *reason; /* static */
    char message[SHIM_MESSAGE];
};

struct shim_container {
    struct str name;
    bool init, sidecar;
    char **argv, **envp;
    char **cleanup; /* run when all is over, should it have begun; NULL: nothing */
    const char *cwd;
    struct sandbox_mount *mounts;
    size_t n_mounts;
    enum container_state state;
    pid_t pid;
    int restarts;
    int64_t started_ns, retry_mono; /* wall; monotonic */
    struct shim_ended end, last;
    int fd[2]; /* stdout, stderr; -1 */
    struct shim_log log;
};

struct shim {
    struct arena arena;
    char dir[1024];
    struct str uid;
    enum restart_policy restart;
    int64_t grace_s, backoff_ms;
    struct sandbox sandbox;
    struct shim_container *v;
    size_t n;
    int lock_fd, signal_fd;
    bool stopping, failed_init, killed, dirty;
    int64_t kill_mono; /* when the grace period ends */
    const char *stop_reason;
};

int64_t shim_wall(void);
int64_t shim_mono(void);

/* shim_spec.c */
int shim_spec_read(struct shim *s, struct err *err);
/* shim_state.c: DIR/state.json; phase is "Running", "Succeeded" or "Failed". */
void shim_state_write(struct shim *s, const char *phase);
/* shim_exec.c: forks and executes; on failure the container ended with a reason. */
void shim_exec(struct shim *s, struct shim_container *c);
void shim_cleanup(const struct shim_container *c);
/* shim_log.c */
void shim_log_open(struct shim *s, struct shim_container *c);
void shim_log_close(struct shim_container *c); /* writes unfinished lines */
/* Reads what is there; false once the pipe has ended. */
bool shim_log_pump(struct shim_container *c, int stream);
/* shim_run.c: the life of one pod, in a process of its own. Returns an exit status. */
int shim_run(const char *dir);

#endif
