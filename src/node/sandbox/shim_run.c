/*
 * shim_run: the life of one pod: what runs when, what happens when it ends, how it is stopped. See
 * shim.h.
 *
 * One loop: poll signals and pipes, then `advance` until nothing changes. state.json is written
 * when something changed and the loop is about to wait, so that a pod that is over in a few
 * milliseconds writes it once.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "node/files/files.h"
#include "node/sandbox/proctree.h"
#include "node/sandbox/shim.h"

enum { BACKOFF_MAX_MS = 300000, SETTLE_MS = 3, RUN_RESETS_BACKOFF_S = 600 };

int64_t shim_wall(void) {
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

int64_t shim_mono(void) {
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static size_t running(const struct shim *s) {
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++) {
        n += s->v[i].state == CONTAINER_RUNNING;
    }
    return n;
}

static bool wants_again(const struct shim *s, const struct shim_container *c) {
    bool failed = c->end.exit_code != 0;

    if (s->stopping) {
        return false;
    }
    if (c->sidecar) {
        return true;
    }
    if (c->init) {
        return failed && s->restart != RESTART_NEVER;
    }
    return s->restart == RESTART_ALWAYS || (s->restart == RESTART_ON_FAILURE && failed);
}

/* First again at once, then 10 s, 20 s, 40 s ... 5 min; a long run starts from the beginning. */
static void settle(struct shim *s, struct shim_container *c) {
    if (!wants_again(s, c)) {
        c->state = CONTAINER_DONE;
        s->failed_init |= c->init && !c->sidecar && c->end.exit_code != 0;
        return;
    }
    int64_t ran_s = (c->end.finished_ns - c->end.started_ns) / NS_PER_SEC, wait = 0;
    if (c->restarts && ran_s < RUN_RESETS_BACKOFF_S) {
        int shift = c->restarts - 1 > 10 ? 10 : c->restarts - 1;
        wait = s->backoff_ms << shift;
        wait = wait > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : wait;
    }
    c->state = CONTAINER_BACKOFF;
    c->retry_mono = shim_mono() + wait * NS_PER_MS;
}

static void start(struct shim *s, struct shim_container *c) {
    if (c->end.set) {
        c->last = c->end;
        c->end = (struct shim_ended){0};
        c->restarts++;
    }
    s->dirty = true;
    shim_exec(s, c);
    if (c->state == CONTAINER_DONE) {
        settle(s, c);
    }
}

static bool due(const struct shim *s, const struct shim_container *c) {
    return c->state == CONTAINER_WAITING ||
           (c->state == CONTAINER_BACKOFF && c->retry_mono <= shim_mono());
}

/* Starts what may start now. */
static void advance(struct shim *s) {
    for (size_t i = 0; i < s->n && !s->stopping && !s->failed_init; i++) {
        struct shim_container *c = &s->v[i];
        if (due(s, c)) {
            start(s, c);
        }
        /* An init container holds up those after it until it is done; a sidecar only until it has
         * started. */
        if (c->init && c->state != CONTAINER_DONE &&
            !(c->sidecar && c->state == CONTAINER_RUNNING)) {
            return;
        }
    }
}

/* Nothing more will happen by itself: sidecars do not count. */
static bool over(const struct shim *s) {
    if (s->failed_init || s->stopping) {
        return true;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (!s->v[i].sidecar && s->v[i].state != CONTAINER_DONE) {
            return false;
        }
    }
    return true;
}

/* A subreaper that has no child has no descendant: worth knowing before a walk over /proc. */
static bool has_children(void) {
    siginfo_t i;

    return waitid(P_ALL, 0, &i, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Ends every descendant. A fork bomb may outrun one pass; the cgroup's limit makes the race short.
 */
static void kill_all(struct shim *s) {
    for (int round = 0; round < 200 && has_children(); round++) {
        bool any = cgroup_kill(s->sandbox.cgroup, s->sandbox.cgroup_name);
        any |= proc_kill_descendants(getpid(), SIGKILL) > 0;
        if (!any && round > 100) {
            return;
        }
        poll(NULL, 0, round < 10 ? 1 : 10);
        while (waitpid(-1, NULL, WNOHANG | WNOWAIT) > 0 && !running(s)) {
            waitpid(-1, NULL, WNOHANG);
        }
        if (running(s)) {
            return; /* their ends are reaped, and told, by the loop; it comes here again */
        }
    }
}

static void drain(struct shim_container *c) {
    for (int i = 0; i < 2; i++) {
        for (int rounds = 0; c->fd[i] != -1 && rounds < 4096; rounds++) {
            struct pollfd p = {.fd = c->fd[i], .events = POLLIN};
            if (poll(&p, 1, 0) <= 0 || !shim_log_pump(c, i)) {
                break;
            }
        }
        if (c->fd[i] != -1) {
            close(c->fd[i]);
            c->fd[i] = -1;
        }
    }
    shim_log_close(c);
}

static void ended(struct shim *s, struct shim_container *c, int status) {
    bool by_signal = WIFSIGNALED(status);
    struct shim_ended *e = &c->end;

    *e = (struct shim_ended){.set = true,
                             .started_ns = c->started_ns,
                             .finished_ns = shim_wall(),
                             .signal = by_signal ? WTERMSIG(status) : 0,
                             .exit_code = by_signal ? 128 + WTERMSIG(status) : WEXITSTATUS(status)};
    e->reason = e->exit_code == 0 ? "Completed" : "Error";
    if (e->signal == SIGKILL && cgroup_oom_kills(s->sandbox.cgroup, s->sandbox.cgroup_name) > 0) {
        e->reason = "OOMKilled";
    }
    pid_t session = c->pid;
    c->pid = 0;
    c->state = CONTAINER_DONE;
    if (running(s) == 0 && has_children()) {
        proc_kill_descendants(getpid(), SIGKILL);
    } else if (running(s)) {
        kill(-session, SIGKILL);
    }
    drain(c);
    settle(s, c);
    s->dirty = true;
}

static void reap(struct shim *s) {
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (size_t i = 0; i < s->n; i++) {
            if (s->v[i].pid == pid) {
                ended(s, &s->v[i], status);
            }
        }
    }
}

static void signal_containers(struct shim *s, int sig) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].state == CONTAINER_RUNNING) {
            kill(-s->v[i].pid, sig);
        }
    }
}

static void stop(struct shim *s, int64_t grace_s) {
    int64_t until = shim_mono() + grace_s * NS_PER_SEC;

    if (!s->stopping) {
        s->stopping = s->dirty = true;
        s->kill_mono = until;
        signal_containers(s, SIGTERM);
    }
    s->kill_mono = until < s->kill_mono ? until : s->kill_mono;
}

static void on_signals(struct shim *s) {
    struct signalfd_siginfo i;

    while (read(s->signal_fd, &i, sizeof(i)) == (ssize_t)sizeof(i)) {
        if (i.ssi_signo == SIGTERM) {
            stop(s, i.ssi_code == SI_QUEUE && i.ssi_int >= 0 ? i.ssi_int : s->grace_s);
        }
    }
    reap(s);
}

/* Milliseconds until something is due; -1: nothing is. */
static int next_ms(const struct shim *s) {
    int64_t now = shim_mono(), next = INT64_MAX;

    for (size_t i = 0; i < s->n && !s->stopping; i++) {
        if (s->v[i].state == CONTAINER_BACKOFF) {
            next = s->v[i].retry_mono < next ? s->v[i].retry_mono : next;
        }
    }
    if (s->stopping && running(s)) {
        next = s->killed ? now + 20 * NS_PER_MS : s->kill_mono;
    }
    if (next == INT64_MAX) {
        return -1;
    }
    int64_t ms = (next - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms;
}

static void wait_for_something(struct shim *s) {
    struct pollfd p[1 + 2 * SHIM_CONTAINERS_MAX];
    struct shim_container *who[1 + 2 * SHIM_CONTAINERS_MAX];
    nfds_t n = 0;

    p[n++] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
    for (size_t i = 0; i < s->n; i++) {
        for (int k = 0; k < 2; k++) {
            if (s->v[i].fd[k] != -1) {
                who[n] = &s->v[i];
                p[n++] = (struct pollfd){.fd = s->v[i].fd[k], .events = POLLIN};
            }
        }
    }
    int ms = next_ms(s), r = poll(p, n, s->dirty && (ms < 0 || ms > SETTLE_MS) ? SETTLE_MS : ms);
    if (r == 0 && s->dirty) {
        shim_state_write(s, "Running");
    }
    for (nfds_t i = 1; r > 0 && i < n; i++) {
        if (p[i].revents && who[i]->fd[0] == p[i].fd) {
            shim_log_pump(who[i], 0);
        } else if (p[i].revents && who[i]->fd[1] == p[i].fd) {
            shim_log_pump(who[i], 1);
        }
    }
    if (r > 0 && p[0].revents) {
        on_signals(s);
    }
}

static const char *phase_at_end(const struct shim *s) {
    for (size_t i = 0; i < s->n; i++) {
        if (!s->v[i].sidecar && (!s->v[i].end.set || s->v[i].end.exit_code != 0)) {
            return "Failed";
        }
    }
    return "Succeeded";
}

static int open_signals(struct shim *s) {
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return s->signal_fd;
}

/* One shim a folder, ever: with the lock held, a folder that has a state was run before. */
static bool claim(struct shim *s) {
    char path[PATH_LEN];

    if (path_join(path, s->dir, "lock", NULL)) {
        return false;
    }
    s->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (s->lock_fd == -1 || flock(s->lock_fd, LOCK_EX | LOCK_NB) == -1) {
        return false;
    }
    if (path_join(path, s->dir, "state.json", NULL) || access(path, F_OK) == 0) {
        return false;
    }
    /* Before there are containers: should these fill the disk at once, state.json is never written, and who is to be
     * stopped is read here. */
    char who[64];
    int n = snprintf(who, sizeof(who), "{\"pid\":%d,\"start\":%llu}\n", (int)getpid(),
                     (unsigned long long)proc_start(getpid()));
    (void)!pwrite(s->lock_fd, who, (size_t)n, 0);
    return true;
}

static void run(struct shim *s) {
    for (;;) {
        advance(s);
        if (over(s) && running(s) == 0) {
            break;
        }
        if (over(s) && !s->stopping) { /* only sidecars are left */
            stop(s, s->grace_s);
        }
        if (s->failed_init && !s->stopping) {
            stop(s, 0);
        }
        if (s->stopping && shim_mono() >= s->kill_mono) {
            s->killed = true;
            kill_all(s);
        }
        wait_for_something(s);
    }
    kill_all(s);
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
    for (size_t i = 0; i < s->n; i++) {
        shim_cleanup(&s->v[i]);
    }
}

static void release(struct shim *s) {
    for (size_t i = 0; i < s->n; i++) {
        buf_release(&s->v[i].log.part[0]);
        buf_release(&s->v[i].log.part[1]);
        buf_release(&s->v[i].log.out);
    }
    arena_release(&s->arena);
}

int shim_run(const char *dir) {
    struct shim s = {.lock_fd = -1};
    struct err err = {0};

    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    prctl(PR_SET_NAME, "berth-shim", 0, 0, 0);
    arena_init(&s.arena, 64 << 20);
    if (!str_copy(str_of(dir), s.dir, sizeof(s.dir)) || !claim(&s)) {
        release(&s);
        return 2;
    }
    int code = shim_spec_read(&s, &err);
    if (code == 0) {
        code = cgroup_make(&s.sandbox, &err);
    }
    int e = code == 0 ? own_ipc_enter(&s.sandbox) : 0;
    if (e) {
        code = err_sys(&err, e, "shared memory of the pod's own");
    }
    if (code == 0 && open_signals(&s) == -1) {
        code = err_sys(&err, errno, "signalfd");
    }
    if (code) {
        for (size_t i = 0; i < s.n; i++) {
            s.v[i].end = (struct shim_ended){.set = true, .exit_code = 128, .reason = "StartError"};
            snprintf(s.v[i].end.message, SHIM_MESSAGE, "%.*s", SHIM_MESSAGE - 1, err.text);
            s.v[i].state = CONTAINER_DONE;
        }
        shim_state_write(&s, "Failed");
        release(&s);
        return 1;
    }
    run(&s);
    cgroup_remove(s.sandbox.cgroup, s.sandbox.cgroup_name);
    shim_state_write(&s, phase_at_end(&s));
    release(&s);
    return 0;
}
