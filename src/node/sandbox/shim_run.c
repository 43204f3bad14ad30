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
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "node/files/files.h"
#include "node/life/reach.h"
#include "node/sandbox/proctree.h"
#include "node/sandbox/shim_talk.h"

enum {
    BACKOFF_MAX_MS = 300000,
    SETTLE_MS = 3,
    SETTLE_MOST_MS = 12,
    RUN_RESETS_BACKOFF_S = 600,
    KILL_CELL_MS = 2000
};
/* Signals and who connects; of each container: logs, probes, a hook; of each session: all its ends. */
enum { POLL_MAX = 2 + (2 + PROBE_KINDS + 1) * SHIM_CONTAINERS_MAX + 4 * TALK_SESSIONS };

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
    if (c->ephemeral) {
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
    c->crashes = ran_s < RUN_RESETS_BACKOFF_S ? c->crashes : 0;
    if (c->crashes) {
        int shift = c->crashes - 1 > 10 ? 10 : c->crashes - 1;
        wait = s->backoff_ms << shift;
        wait = wait > BACKOFF_MAX_MS ? BACKOFF_MAX_MS : wait;
        shim_tell(s, c, true, "BackOff",
                  "Back-off restarting failed container %.*s in pod %.*s_%.*s(%.*s)",
                  STR_ARG(c->name), STR_ARG(s->name), STR_ARG(s->ns), STR_ARG(s->uid));
    }
    c->crashes++;
    c->state = CONTAINER_BACKOFF;
    c->wait_ms = wait;
    c->retry_mono = shim_mono() + wait * NS_PER_MS;
}

/* The pod's namespaces; what is asked of its ports is asked in its network. */
static int open_cell(struct shim *s, struct err *err) {
    int code = cell_open(&s->cell, &s->sandbox, err);
    int e = code == 0 && s->cell.network ? reach_inside(s->cell.init) : 0;

    return e ? err_sys(err, e, "the pod's network") : code;
}

/* Before a container starts: nothing of those before it, and a cell that lives. */
static int ready_cell(struct shim *s, struct err *err) {
    if (s->leftovers && running(s) == 0) {
        cell_kill_rest(&s->cell);
    }
    s->leftovers = false;
    return s->sandbox.walls && s->cell.init == 0 ? open_cell(s, err) : 0;
}

static void start(struct shim *s, struct shim_container *c) {
    struct err err;

    if (c->end.set) {
        c->last = c->end;
        c->end = (struct shim_ended){0};
        c->restarts++;
    }
    s->dirty = true;
    if (ready_cell(s, &err)) {
        shim_not_started(c, &err);
    } else {
        shim_exec(s, c);
    }
    if (c->state == CONTAINER_DONE) {
        settle(s, c);
    } else if (c->restarts) {
        shim_tell(s, c, false, "Started", "Started container %.*s", STR_ARG(c->name));
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
         * started, and that once. */
        if (c->init && !s->initialized && c->state != CONTAINER_DONE &&
            !(c->sidecar && c->started)) {
            return;
        }
    }
    s->initialized |= !s->stopping && !s->failed_init;
}

/* Nothing more will happen by itself: sidecars do not count. */
static bool over(const struct shim *s) {
    if (s->failed_init || s->stopping) {
        return true;
    }
    for (size_t i = 0; i < s->n; i++) {
        if (!s->v[i].sidecar && !s->v[i].ephemeral && s->v[i].state != CONTAINER_DONE) {
            return false;
        }
    }
    return true;
}

/* A subreaper that has no child has no descendant: worth knowing before a walk over /proc. Process 1 of the pod's
 * cell, which is always there, is what orphans come to instead. */
static bool has_children(const struct shim *s) {
    siginfo_t i;

    return s->cell.init || waitid(P_ALL, 0, &i, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* The kernel ends all processes of a cell with its first one. */
static void kill_cell(struct shim *s) {
    struct pollfd p = {.fd = s->cell.fd, .events = POLLIN};

    cell_kill(&s->cell);
    /* A process that hangs in a driver is not waited for longer than that. */
    if (!running(s) && poll(&p, 1, KILL_CELL_MS) == 1) {
        pid_t init = s->cell.init;
        waitpid(init, NULL, WNOHANG);
        cell_reaped(&s->cell, init);
    }
}

/* Ends every descendant. A fork bomb may outrun one pass; the cgroup's limit makes the race short.
 */
static void kill_all(struct shim *s) {
    if (s->cell.init) {
        kill_cell(s);
        return;
    }
    for (int round = 0; round < 200 && has_children(s); round++) {
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

static void drain(struct shim *s, struct shim_container *c) {
    for (int i = 0; i < 2; i++) {
        for (int rounds = 0; c->fd[i] != -1 && rounds < 4096; rounds++) {
            struct pollfd p = {.fd = c->fd[i], .events = POLLIN};
            if (poll(&p, 1, 0) <= 0 || !shim_log_pump(s, c, i)) {
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
    shim_life_end(c);
    c->pid = 0;
    c->state = CONTAINER_DONE;
    if (running(s) == 0 && s->cell.init) {
        s->leftovers = true;
    } else if (running(s) == 0 && has_children(s)) {
        proc_kill_descendants(getpid(), SIGKILL);
    } else if (running(s)) {
        kill(-session, SIGKILL);
    }
    drain(s, c);
    if (c->stdin_fd != -1) {
        close(c->stdin_fd);
        c->stdin_fd = -1;
    }
    shim_message_read(s, c);
    shim_talk_ended(s, c);
    settle(s, c);
    s->dirty = true;
}

static void reap(struct shim *s) {
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        cell_reaped(&s->cell, pid);
        if (shim_life_reaped(s, pid, status) || shim_talk_reaped(s, pid, status)) {
            continue;
        }
        for (size_t i = 0; i < s->n; i++) {
            if (s->v[i].pid == pid) {
                ended(s, &s->v[i], status);
            }
        }
    }
}

static void stop(struct shim *s, int64_t grace_s) {
    int64_t until = shim_mono() + grace_s * NS_PER_SEC;

    s->kill_mono = !s->stopping || until < s->kill_mono ? until : s->kill_mono;
    shim_stop_pod(s, grace_s);
}

static void on_signals(struct shim *s) {
    struct signalfd_siginfo i;

    while (read(s->signal_fd, &i, sizeof(i)) == (ssize_t)sizeof(i)) {
        if (i.ssi_signo == SIGTERM) {
            stop(s, i.ssi_code == SI_QUEUE && i.ssi_int >= 0 ? i.ssi_int : s->grace_s);
        } else if (i.ssi_signo == SIGHUP) {
            shim_spec_more(s);
        }
    }
    reap(s);
}

/* Milliseconds until something is due; -1: nothing is. */
static int next_ms(const struct shim *s) {
    int64_t now = shim_mono(), next = shim_life_due(s), talk = shim_talk_due(s);

    next = talk < next ? talk : next;
    for (size_t i = 0; i < s->n && !s->stopping; i++) {
        if (s->v[i].state == CONTAINER_BACKOFF) {
            next = s->v[i].retry_mono < next ? s->v[i].retry_mono : next;
        }
    }
    if (s->late_mono && s->late_mono < next) {
        next = s->late_mono;
    }
    if (next == INT64_MAX) {
        return -1;
    }
    int64_t ms = next > now ? (next - now + NS_PER_MS - 1) / NS_PER_MS : 0;
    return ms > 3600000 ? 3600000 : (int)ms;
}

void shim_poll_add(struct shim_poll *p, int fd, short events,
                   void (*ready)(struct shim *s, void *who), void *who) {
    if (p->n < p->cap) {
        p->p[p->n] = (struct pollfd){.fd = fd, .events = events};
        p->who[p->n++] = (struct shim_poller){ready, who};
    }
}

static void pump_out(struct shim *s, void *who) {
    shim_log_pump(s, who, 0);
}

static void pump_err(struct shim *s, void *who) {
    shim_log_pump(s, who, 1);
}

static void on_signal_fd(struct shim *s, void *who) {
    on_signals(s);
}

/* What was changed is told as soon as nothing more happens, but soon in any case. */
static void tell_state(struct shim *s, bool quiet) {
    int64_t now = shim_mono();

    if (s->dirty && s->dirty_mono == 0) {
        s->dirty_mono = now;
    }
    if ((s->dirty && (quiet || now - s->dirty_mono >= SETTLE_MOST_MS * NS_PER_MS)) ||
        (s->late_mono && now >= s->late_mono)) {
        shim_talk_open(
            s); /* who hears that the pod runs may talk to it; a pod that is over by now needs no socket */
        shim_state_write(s, "Running");
    }
}

static void wait_for_something(struct shim *s) {
    static struct pollfd fds[POLL_MAX];
    static struct shim_poller who[POLL_MAX];
    struct shim_poll p = {.p = fds, .who = who, .cap = POLL_MAX};

    shim_poll_add(&p, s->signal_fd, POLLIN, on_signal_fd, NULL);
    for (size_t i = 0; i < s->n; i++) {
        for (int k = 0; k < 2; k++) {
            if (s->v[i].fd[k] != -1 && !shim_talk_full(s, &s->v[i])) {
                shim_poll_add(&p, s->v[i].fd[k], POLLIN, k ? pump_err : pump_out, &s->v[i]);
            }
        }
    }
    shim_life_poll(s, &p);
    shim_talk_poll(s, &p);
    int ms = next_ms(s);
    int r = poll(p.p, (nfds_t)p.n, s->dirty && (ms < 0 || ms > SETTLE_MS) ? SETTLE_MS : ms);
    /* Signals last: what they end closes the descriptors of others in this round. */
    for (size_t i = 1; r > 0 && i < p.n; i++) {
        if (p.p[i].revents) {
            p.who[i].ready(s, p.who[i].who);
        }
    }
    if (r > 0 && p.p[0].revents) {
        on_signals(s);
    }
    tell_state(s, r == 0);
}

static const char *phase_at_end(const struct shim *s) {
    for (size_t i = 0; i < s->n; i++) {
        if (!s->v[i].sidecar && !s->v[i].ephemeral &&
            (!s->v[i].end.set || s->v[i].end.exit_code != 0)) {
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
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_DFL); /* one that is ignored would not be told of */
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
                     (unsigned long long)(s->start = proc_start(getpid())));
    (void)!pwrite(s->lock_fd, who, (size_t)n, 0);
    return true;
}

/* Nothing that runs has time left. */
static bool all_killed(const struct shim *s) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->v[i].state == CONTAINER_RUNNING && s->v[i].stop != STOP_KILLED) {
            return false;
        }
    }
    return true;
}

static void run(struct shim *s) {
    for (;;) {
        advance(s);
        shim_life_step(s);
        shim_talk_step(s);
        if (over(s) && running(s) == 0) {
            break;
        }
        if (over(s) && !s->stopping) { /* only sidecars are left */
            stop(s, s->grace_s);
        }
        if (s->stopping && shim_mono() >= s->kill_mono && all_killed(s)) {
            kill_all(s); /* what left its session goes as well */
        }
        wait_for_something(s);
    }
    kill_all(s);
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static void release(struct shim *s) {
    for (size_t i = 0; i < s->n; i++) {
        buf_release(&s->v[i].log.part[0]);
        buf_release(&s->v[i].log.part[1]);
        buf_release(&s->v[i].log.out);
        shim_life_end(&s->v[i]);
    }
    mem_free(s->v);
    arena_release(&s->arena);
}

/* The pod's cgroup. What does not hold is told in state.json, or stops a pod that insists. */
static int set_limits(struct shim *s, struct err *err) {
    struct buf unmet;

    buf_init(&unmet, 1 << 16);
    int code = cgroup_make(&s->sandbox, &unmet, err);
    if (code == 0 && unmet.n && s->sandbox.strict) {
        code = err_set(err, ERR_UNSUPPORTED, "limits that do not hold: %.*s",
                       STR_ARG(buf_view(&unmet)));
    }
    snprintf(s->unmet, sizeof(s->unmet), "%.*s", STR_ARG(str_head(buf_view(&unmet), 200)));
    buf_release(&unmet);
    return code;
}

int shim_run(const char *dir) {
    struct shim s = {.lock_fd = -1, .cell = {.fd = -1}};
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
        code = set_limits(&s, &err);
    }
    s.sandbox.cell = s.sandbox.walls ? &s.cell : NULL;
    code = code ? code : open_cell(&s, &err);
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
    shim_talk_close(&s);
    cgroup_remove(s.sandbox.cgroup, s.sandbox.cgroup_name);
    shim_state_write(&s, phase_at_end(&s));
    release(&s);
    return 0;
}
