/*
 * shim_exec: one process of one container. What the child could not do comes back as an errno and the name of the step.
 *
 * A child that becomes another user borrows the shim's memory until it executes (vfork): to copy the tables of a
 * process that is about to throw them away is a third of what a small container costs. No one else can reach that
 * memory through it: the kernel makes it undumpable with the change of user. One that stays our user is forked, and
 * tells by a pipe that closes at exec.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/sandbox/shim.h"
#include "node/sandbox/spawn.h"
#include "node/sandbox/terminal.h"

extern char **environ;

enum { CHILD_STACK = 1 << 20 };

struct exec_failure {
    int error;
    char what[60];
};

/* Descriptors of a child that is to become something else; -1: nobody's. */
struct child_ends {
    int in, out, err;
    bool terminal; /* in is one */
};

/* In the child: only what it was given stays open, nothing is blocked or ignored. 0 or errno. */
static int become_child(const struct child_ends *e) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC), error = 0;
    sigset_t none;

    setsid();
    if (null == -1 || dup2(e->in == -1 ? null : e->in, 0) == -1 ||
        dup2(e->out == -1 ? null : e->out, 1) == -1 ||
        dup2(e->err == -1 ? null : e->err, 2) == -1) {
        error = errno;
    }
    if (error == 0 && e->terminal && ioctl(0, TIOCSCTTY, 0) == -1) {
        error = errno;
    }
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    syscall(SYS_close_range, 3u, ~0u, 4u /* close on exec */);
    return error;
}

/* What a child is to become. `beside`: the process of the container whose namespaces and mounts are entered, 0: it is
 * the container that begins. */
struct becoming {
    const struct shim *s;
    const struct shim_container *c;
    pid_t beside;
    const struct child_ends *ends;
    char **argv;
    bool grouped; /* it is in its cgroup already */
    struct exec_failure f;
};

/* In the child: puts up the walls and executes; comes back when that failed. */
static void become(struct becoming *b) {
    const struct shim_container *c = b->c;
    const struct sandbox *s = &b->s->sandbox;
    const char *what = "start";

    b->f.error = become_child(b->ends);
    if (b->f.error == 0 && !b->grouped) {
        what = "join the cgroup";
        b->f.error = cgroup_join(s);
    }
    if (b->f.error == 0) {
        b->f.error = b->beside ? sandbox_join(s, b->beside, &c->inside, &what)
                               : sandbox_enter(s, &c->inside, &what);
    }
    if (b->f.error == 0) {
        environ = c->envp;
        what = "execute";
        execvp(b->argv[0], b->argv);
        b->f.error = errno;
    }
    snprintf(b->f.what, sizeof(b->f.what), "%s", what);
}

static int borrowed(void *arg) {
    become(arg);
    _exit(127);
}

/* The child runs in our memory, on a stack of its own, while we wait. */
static pid_t spawn_borrowed(struct becoming *b) {
    static char *stack;
    char **own = environ;

    if (stack == NULL) {
        stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    }
    if (stack == MAP_FAILED) {
        stack = NULL;
        b->f = (struct exec_failure){ENOMEM, "fork"};
        return -1;
    }
    int group = cgroup_open(&b->s->sandbox);
    b->grouped = true;
    pid_t pid = group == -1 ? -1 : spawn_borrowing(group, borrowed, b, stack, CHILD_STACK);
    if (group != -1) {
        close(group);
    }
    if (pid == -1) {
        b->grouped = false;
        pid = clone(borrowed, stack + CHILD_STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, b);
    }
    if (pid == -1) {
        b->f = (struct exec_failure){errno, "fork"};
    }
    environ = own;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* which the child's change of user took away */
    return pid;
}

static pid_t fork_grouped(struct becoming *b) {
    int group = cgroup_open(&b->s->sandbox);

    b->grouped = true;
    pid_t pid = group == -1 ? -1 : spawn_fork(group);
    if (group != -1) {
        close(group);
    }
    if (pid == -1) {
        b->grouped = false;
        pid = fork();
    }
    return pid;
}

static pid_t spawn_forked(struct becoming *b) {
    int report[2] = {-1, -1};
    pid_t pid = -1;

    if (pipe2(report, O_CLOEXEC) == -1 || (pid = fork_grouped(b)) == -1) {
        b->f = (struct exec_failure){errno, "fork"};
    } else if (pid == 0) {
        become(b);
        (void)!write(report[1], &b->f, sizeof(b->f));
        _exit(127);
    }
    if (report[1] != -1) {
        close(report[1]);
    }
    if (b->f.error == 0 && read(report[0], &b->f, sizeof(b->f)) != (ssize_t)sizeof(b->f)) {
        b->f.error = 0;
    }
    if (report[0] != -1) {
        close(report[0]);
    }
    return pid;
}

/* Not where the sanitizer watches: frames that never return would stay marked on the child's stack. Nor into an image,
 * whose root takes memory. */
static bool may_borrow(const struct becoming *b) {
#if defined(__SANITIZE_ADDRESS__)
    return false;
#else
    return b->s->sandbox.uid != 0 && b->c->inside.root == NULL;
#endif
}

/* Waits until the child has become argv, or has said why not; then it is reaped as a stranger. */
static pid_t spawn(struct becoming *b, struct exec_failure *f) {
    pid_t pid = may_borrow(b) ? spawn_borrowed(b) : spawn_forked(b);

    *f = b->f;
    return f->error ? 0 : pid;
}

int shim_inside(struct shim *s, struct shim_container *c, const struct shim_inside *how,
                pid_t *ret_pid, char what[64]) {
    const struct child_ends ends = {how->in, how->out, how->err, how->terminal};
    struct exec_failure f;

    struct becoming b = {.s = s, .c = c, .beside = c->pid, .ends = &ends, .argv = how->argv};

    *ret_pid = spawn(&b, &f);
    snprintf(what, 64, "%s", f.what);
    return f.error;
}

static void not_started(struct shim_container *c, const struct exec_failure *f) {
    bool missing = !strcmp(f->what, "execute") && (f->error == ENOENT || f->error == EACCES);

    c->state = CONTAINER_DONE;
    c->pid = 0;
    c->end = (struct shim_ended){.set = true,
                                 .exit_code = missing ? 127 : 128,
                                 .started_ns = shim_wall(),
                                 .finished_ns = shim_wall(),
                                 .reason = "StartError"};
    snprintf(c->end.message, sizeof(c->end.message), "cannot %s \"%.1000s\": %s", f->what,
             c->argv[0], strerror(f->error));
}

static void close_pair(const int pair[2]) {
    for (int i = 0; i < 2; i++) {
        if (pair[i] != -1) {
            close(pair[i]);
        }
    }
}

void shim_not_started(struct shim_container *c, const struct err *why) {
    c->state = CONTAINER_DONE;
    c->end = (struct shim_ended){.set = true,
                                 .exit_code = 128,
                                 .started_ns = shim_wall(),
                                 .finished_ns = shim_wall(),
                                 .reason = "StartError"};
    snprintf(c->end.message, sizeof(c->end.message), "%.*s", SHIM_MESSAGE - 1, why->text);
}

static void keep(int *into, int fd) {
    *into = fd;
    if (fd != -1) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
}

/* Ours are [0], the container's [1]; with a terminal all are its ends. 0 or errno. */
static int make_ends(const struct shim *s, const struct shim_container *c, int in[2], int out[2],
                     int err[2]) {
    int pair[2];

    if (c->tty) {
        int e = terminal_open(s->cell.init, &out[0], &in[1], s->sandbox.uid, s->sandbox.gid);
        in[0] = e == 0 && c->has_stdin ? fcntl(out[0], F_DUPFD_CLOEXEC, 0) : -1;
        return e;
    }
    if (pipe2(out, O_CLOEXEC) == -1 || pipe2(err, O_CLOEXEC) == -1) {
        return errno;
    }
    if (c->has_stdin) {
        if (pipe2(pair, O_CLOEXEC) == -1) {
            return errno;
        }
        in[0] = pair[1];
        in[1] = pair[0];
    }
    return 0;
}

void shim_exec(struct shim *s, struct shim_container *c) {
    struct exec_failure f = {0};
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};

    shim_log_open(s, c);
    shim_message_open(s, c);
    c->started_ns = shim_wall();
    int e = c->restarts && c->inside.root ? rootfs_renew(c->inside.root) : 0;
    if (e) {
        f = (struct exec_failure){e, "empty its layer"};
    } else if ((e = make_ends(s, c, in, out, err))) {
        f = (struct exec_failure){e, "open its ends"};
    } else {
        const struct child_ends ends = {in[1], c->tty ? in[1] : out[1], c->tty ? in[1] : err[1],
                                        c->tty};
        struct becoming b = {.s = s, .c = c, .ends = &ends, .argv = c->argv};
        c->pid = spawn(&b, &f);
        c->started_ns = f.error ? c->started_ns : shim_wall();
    }
    if (f.error) {
        not_started(c, &f);
        close_pair(in);
        close_pair(out);
        close_pair(err);
        shim_log_close(c);
        return;
    }
    close_pair((const int[]){in[1], out[1]});
    close_pair((const int[]){err[1], -1});
    keep(&c->stdin_fd, in[0]);
    keep(&c->fd[0], out[0]);
    keep(&c->fd[1], err[0]);
    c->state = CONTAINER_RUNNING;
    shim_life_begin(s, c);
}
