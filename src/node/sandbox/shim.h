/*
 * shim: one small process per pod that holds its containers' processes, logs and exit codes. Inside
 * the node room only.
 *
 * `berth shim --serve` is started once by the node: it reads pod folders, one a line, on descriptor
 * 0 and forks a shim for each, which is much cheaper than executing one. It stays until its input
 * has ended and its last shim has gone, so that no shim is ever left for somebody else to reap.
 * `berth shim DIR` runs a single pod. Without root both enter a user namespace first, which every pod's namespaces
 * belong to: one of their own, or with `--userns PATH` the one that PATH is (cell.h).
 *
 * A shim is a session leader and a child subreaper: whatever its containers start and abandon comes
 * back to it. It holds a lock on DIR/lock as long as it lives (so nobody needs to trust a pid to
 * know), runs DIR/spec.json once and never again, and tells what happened in DIR/state.json.
 * SIGTERM stops the pod; its value, when sent with sigqueue, is the grace period in seconds. SIGHUP says that
 * DIR/more.json has ephemeral containers to start; shims of versions before took no notice of it.
 *
 *     containers:  WAITING -> RUNNING -> DONE
 *                     ^          |
 *                     +- BACKOFF-+     restartPolicy says again
 *
 * Probes and hooks run here, close to the container and whether or not Berth runs; what they come to, and the events
 * that people should read, stand in state.json, from where the node tells the API at once.
 */
#ifndef BERTH_NODE_SHIM_H
#define BERTH_NODE_SHIM_H

#include <sys/types.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "node/life/ask.h"
#include "node/life/probe.h"
#include "node/sandbox/sandbox.h"
#include "wire/podlog.h"

enum {
    SHIM_CONTAINERS_MAX = 64,
    SHIM_MESSAGE = 4097,       /* a termination message, and its end */
    SHIM_POD_MESSAGES = 12288, /* of all containers together */
    SHIM_LINE_MAX = 16384,
    SHIM_OUTPUT_MAX = 10240, /* of a command of a probe or hook */
    SHIM_TEXT = 1024,        /* of an event */
    SHIM_EVENTS = 24,        /* that are kept */
};

enum restart_policy { RESTART_NEVER, RESTART_ON_FAILURE, RESTART_ALWAYS };
enum container_state { CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_BACKOFF, CONTAINER_DONE };

/* How far a container that is to end has come. */
enum stop_stage {
    STOP_NOT,
    STOP_QUEUED, /* its hook, if any, comes next */
    STOP_HOOK,   /* preStop runs */
    STOP_TURN,   /* a sidecar: others end before it */
    STOP_ASKED,  /* its signal was sent */
    STOP_KILLED,
};

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

/* One question or hook on its way. */
struct shim_attempt {
    const struct handler *h; /* NULL: none is on its way */
    pid_t pid;               /* of a command; 0: none */
    int fd;                  /* its output; -1 */
    bool asking;             /* over the network */
    struct inquiry ask;
    struct buf out;
    int64_t timeout_s, until_mono; /* monotonic */
    bool done, ok;
    bool errored; /* it could not even be tried */
    char text[SHIM_TEXT];
};

struct shim_check {
    struct prober probe;
    struct handler handler;
    struct shim_attempt attempt;
};

struct shim_container {
    struct str name;
    bool init, sidecar;
    bool ephemeral; /* came later, to look at the others: its end is nobody's concern */
    char **argv, **envp;
    struct sandbox_container inside;
    struct str image_id; /* whose root it has; empty: the machine's */
    enum container_state state;
    pid_t pid;
    int restarts;
    int crashes;                    /* in a row: what the next back-off is counted by */
    int64_t started_ns, retry_mono; /* wall; monotonic */
    int64_t wait_ms;                /* of the back-off */
    struct shim_ended end, last;
    int fd[2];    /* stdout, stderr; -1. With a terminal: our end of it, and -1 */
    int stdin_fd; /* -1: it has none, or has come to its end */
    bool has_stdin, stdin_once, tty;
    struct shim_log log;
    /* life */
    struct shim_check checks[PROBE_KINDS];
    struct handler post_start, pre_stop;
    struct shim_attempt hook;
    bool post_done; /* postStart has run, or there is none */
    bool started, ready;
    int stop_signal;
    enum stop_stage stop;
    int64_t kill_mono;        /* when its grace period ends */
    bool graceful;            /* it was given one */
    const char *message_file; /* what it writes there is its termination message; NULL: none */
    bool message_from_log;    /* or, when that is empty and it failed, the end of its log */
};

struct shim_happening {
    uint64_t seq;
    bool warning;
    const char *reason;   /* static */
    struct str container; /* of the spec */
    int count;
    int64_t first_ns, last_ns;
    char text[SHIM_TEXT];
};

struct shim {
    struct arena arena;
    char dir[1024];
    struct str uid, ns, name;
    enum restart_policy restart;
    int64_t grace_s, backoff_ms;
    struct sandbox sandbox;
    struct pod_cell cell;
    struct shim_container *v; /* in memory that never moves */
    size_t n, cap;
    int lock_fd, signal_fd;
    /* Of this process, as the kernel counts: tells it from another with its number */
    uint64_t start;
    bool stopping, failed_init, initialized;
    int64_t kill_mono; /* of the whole pod, when it is stopping */
    /* state.json is not what is true: since when, and by when it shall be (monotonic; 0: it is) */
    bool dirty;
    int64_t dirty_mono, late_mono;
    struct shim_happening events[SHIM_EVENTS];
    uint64_t seq;
    char unmet[SHIM_MESSAGE]; /* limits that the kernel did not take; "" */
    bool leftovers;           /* containers have ended that may have left processes */
    struct shim_talk *talk;   /* its sessions; NULL: it takes none */
};

/* What poll() waits for, and who is told. */
struct shim_poll {
    struct pollfd *p;
    struct shim_poller {
        void (*ready)(struct shim *s, void *who);
        void *who;
    } * who;
    size_t n, cap;
};
void shim_poll_add(struct shim_poll *p, int fd, short events,
                   void (*ready)(struct shim *s, void *who), void *who);

int64_t shim_wall(void);
int64_t shim_mono(void);

/* shim_spec.c */
int shim_spec_read(struct shim *s, struct err *err);
/* Adds the containers of DIR/more.json, as far as there are such that are not known. */
void shim_spec_more(struct shim *s);
/* shim_state.c: DIR/state.json; phase is "Running", "Succeeded" or "Failed". */
void shim_state_write(struct shim *s, const char *phase);
/* An event for the API; the same again is counted. c may be NULL. */
void shim_tell(struct shim *s, const struct shim_container *c, bool warning, const char *reason,
               const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* shim_exec.c: forks and executes; on failure the container ended with a reason. */
void shim_exec(struct shim *s, struct shim_container *c);
/* Another process inside of the container, in a session of its own, with its walls and variables. Descriptors are the
 * caller's and stay open; -1 is nobody's. `terminal`: `in` is one, and becomes the session's. 0 or errno, with what
 * could not be done. */
struct shim_inside {
    char **argv;
    int in, out, err;
    bool terminal;
};
int shim_inside(struct shim *s, struct shim_container *c, const struct shim_inside *how,
                pid_t *ret_pid, char what[64]);

/* shim_attempt.c: one question or hook. */
void shim_attempt_begin(struct shim *s, struct shim_container *c, struct shim_attempt *a,
                        const struct handler *h, int64_t timeout_ns);
void shim_attempt_poll(struct shim_attempt *a, struct shim_poll *p);
void shim_attempt_step(struct shim_attempt *a, int64_t now); /* time may be up */
bool shim_attempt_reaped(struct shim_attempt *a, pid_t pid, int status);
int64_t shim_attempt_due(const struct shim_attempt *a); /* INT64_MAX: nothing is */
void shim_attempt_end(struct shim_attempt *a);          /* also of one that is not on its way */

/* shim_life.c: probes, hooks, and how a container ends. */
void shim_life_begin(struct shim *s, struct shim_container *c); /* its process has begun */
void shim_life_end(struct shim_container *c);                   /* its process is gone */
void shim_life_step(struct shim *s);
void shim_life_poll(struct shim *s, struct shim_poll *p);
bool shim_life_reaped(struct shim *s, pid_t pid, int status);
int64_t shim_life_due(const struct shim *s); /* monotonic; INT64_MAX */
/* Ends one container, or the pod, after its hooks, within so many seconds. */
void shim_stop_container(struct shim *s, struct shim_container *c, int64_t grace_s);
void shim_stop_pod(struct shim *s, int64_t grace_s);

/* shim_message.c: the file is made before a container's start; what it wrote is read at its end. */
void shim_message_open(struct shim *s, struct shim_container *c);
void shim_message_read(struct shim *s, struct shim_container *c);

void shim_not_started(struct shim_container *c, const struct err *why);
/* shim_log.c */
void shim_log_open(struct shim *s, struct shim_container *c);
void shim_log_close(struct shim_container *c); /* writes unfinished lines */
/* Reads what is there; false once the pipe has ended. */
bool shim_log_pump(struct shim *s, struct shim_container *c, int stream);
/* shim_run.c: the life of one pod, in a process of its own. Returns an exit status. */
int shim_run(const char *dir);

#endif
