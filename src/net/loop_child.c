/*
 * loop_child: child processes by posix_spawn, reaped on SIGCHLD. See loop.h.
 *
 * The child starts with default signal handling, nothing blocked, and exactly the descriptors it was given: they are
 * first duplicated out of the way, so that any numbers may map to any, and everything above is closed in the child.
 * A child whose struct was freed is still reaped, so that no zombie stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/loop_uv.h"

enum { FD_ASIDE = 64, FDS_MAX = 8 };

struct loop_child {
    struct loop_child *next, **prev;
    int pid; /* 0 once reaped */
    bool owned;
    void (*exited)(void *ctx, int pid, int64_t status, int signal);
    void *ctx;
};

static void unlink_child(struct loop_child *c) {
    *c->prev = c->next;
    if (c->next) {
        c->next->prev = c->prev;
    }
    c->next = NULL;
    c->prev = NULL;
}

/* One exited child, unlinked, or NULL. */
static struct loop_child *reap_one(struct loop_children *cs, int *ret_status) {
    for (struct loop_child *c = cs->first; c; c = c->next) {
        int r = waitpid(c->pid, ret_status, WNOHANG);
        if (r == 0) {
            continue;
        }
        if (r < 0) {
            *ret_status = 255 << 8; /* taken by somebody else: it is gone, how is unknown */
        }
        unlink_child(c);
        return c;
    }
    return NULL;
}

static void on_sigchld(uv_signal_t *h, int signum) {
    struct loop_children *cs = h->data;
    int status = 0;
    for (struct loop_child *c; (c = reap_one(cs, &status));) {
        int pid = c->pid;
        c->pid = 0;
        void (*exited)(void *, int, int64_t, int) = c->exited;
        void *ctx = c->ctx;
        if (!c->owned) {
            mem_free(c);
        }
        if (exited) {
            exited(ctx, pid, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                   WIFSIGNALED(status) ? WTERMSIG(status) : 0);
        }
    }
}

static int watch(struct loop *l, struct err *err) {
    struct loop_children *cs = loop_children(l);
    if (cs->watching) {
        return 0;
    }
    int r = uv_signal_init(loop_uv(l), &cs->sigchld);
    if (r == 0) {
        cs->watching = true;
        cs->sigchld.data = cs;
        r = uv_signal_start(&cs->sigchld, on_sigchld, SIGCHLD);
    }
    return r == 0 ? 0 : loop_uv_err(err, r, "watching child processes");
}

void loop_children_release(struct loop_children *cs) {
    for (struct loop_child *c = cs->first, *next; c; c = next) {
        next = c->next;
        unlink_child(c);
        if (!c->owned) {
            mem_free(c);
        }
    }
    if (cs->watching && !uv_is_closing((uv_handle_t *)&cs->sigchld)) {
        uv_close((uv_handle_t *)&cs->sigchld, NULL);
    }
}

/* Copies of o->fds at numbers that no target has; -1 stays. */
static int put_aside(const struct child_options *o, int aside[FDS_MAX]) {
    for (size_t i = 0; i < o->n_fds; i++) {
        aside[i] = o->fds[i] < 0 ? -1 : fcntl(o->fds[i], F_DUPFD_CLOEXEC, FD_ASIDE);
        if (o->fds[i] >= 0 && aside[i] < 0) {
            return errno;
        }
    }
    return 0;
}

static int add_actions(posix_spawn_file_actions_t *fa, const struct child_options *o,
                       const int aside[FDS_MAX]) {
    int r = 0;
    size_t n = o->n_fds < 3 ? 3 : o->n_fds;
    for (size_t i = 0; i < n && r == 0; i++) {
        int fd = (int)i, from = i < o->n_fds ? aside[i] : -1;
        if (from >= 0) {
            r = posix_spawn_file_actions_adddup2(fa, from, fd);
        } else if (i < 3) {
            r = posix_spawn_file_actions_addopen(fa, fd, "/dev/null", i ? O_WRONLY : O_RDONLY, 0);
        } else {
            r = posix_spawn_file_actions_addclose(fa, fd);
        }
    }
    if (r == 0) {
        r = posix_spawn_file_actions_addclosefrom_np(fa, (int)n);
    }
    if (r == 0 && o->cwd) {
        r = posix_spawn_file_actions_addchdir_np(fa, o->cwd);
    }
    return r;
}

static int set_attributes(posix_spawnattr_t *at, const struct child_options *o) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(at, &all);
    posix_spawnattr_setsigmask(at, &none);
    int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    return posix_spawnattr_setflags(at, (short)(flags | (o->detached ? POSIX_SPAWN_SETSID : 0)));
}

/* 0 and the pid, or an errno. */
static int start(const struct child_options *o, int *ret_pid) {
    int aside[FDS_MAX] = {-1, -1, -1, -1, -1, -1, -1, -1};
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t at;
    int r = posix_spawn_file_actions_init(&fa);
    if (r != 0) {
        return r;
    }
    r = posix_spawnattr_init(&at);
    if (r != 0) {
        posix_spawn_file_actions_destroy(&fa);
        return r;
    }
    r = put_aside(o, aside);
    r = r ? r : add_actions(&fa, o, aside);
    r = r ? r : set_attributes(&at, o);
    if (r == 0) {
        char *const *argv = (char *const *)(uintptr_t)o->argv;
        char *const *envp = o->envp ? (char *const *)(uintptr_t)o->envp : environ;
        pid_t pid = 0;
        r = posix_spawn(&pid, o->file, &fa, &at, argv, envp);
        *ret_pid = pid;
    }
    for (size_t i = 0; i < FDS_MAX; i++) {
        if (aside[i] >= 0) {
            close(aside[i]);
        }
    }
    posix_spawnattr_destroy(&at);
    posix_spawn_file_actions_destroy(&fa);
    return r;
}

int loop_spawn(struct loop *l, const struct child_options *o,
               void (*exited)(void *ctx, int pid, int64_t status, int signal), void *ctx,
               struct loop_child **ret, struct err *err) {
    if (o->n_fds > FDS_MAX) {
        return err_set(err, ERR_INVALID, "a child process gets at most %d descriptors", FDS_MAX);
    }
    int r = watch(l, err);
    if (r != 0) {
        return r;
    }
    struct loop_child *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    int e = start(o, &c->pid);
    if (e != 0) {
        mem_free(c);
        return err_sys(err, e, "starting %s", o->file);
    }
    struct loop_children *cs = loop_children(l);
    c->exited = exited;
    c->ctx = ctx;
    c->owned = ret != NULL;
    c->next = cs->first;
    c->prev = &cs->first;
    if (c->next) {
        c->next->prev = &c->next;
    }
    cs->first = c;
    if (ret) {
        *ret = c;
    }
    return 0;
}

int loop_child_pid(const struct loop_child *c) {
    return c->pid;
}

int loop_child_kill(struct loop_child *c, int signum) {
    if (c->pid <= 0) {
        return ERR_GONE;
    }
    return kill(c->pid, signum) == 0 ? 0 : ERR_IO;
}

void loop_child_free(struct loop_child *c) {
    if (c == NULL) {
        return;
    }
    if (c->prev) { /* still running: it is reaped later, and then freed */
        c->exited = NULL;
        c->owned = false;
        return;
    }
    mem_free(c);
}
