/* cell: see cell.h. This file: the life of it; cell_inside.c is what process 1 does. */
#include "node/sandbox/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/sandbox/cell_inside.h"
#include "node/sandbox/proctree.h"
#include "node/sandbox/sandbox.h"
#include "node/sandbox/view.h"

enum { MAP_TEXT = 40 * (SANDBOX_GROUPS_MAX + 1) };
enum { SHARED = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS }; /* by a pod's containers */

/* ---- the user namespace ---- */

static int put(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int e = fd == -1 || write(fd, text, strlen(text)) == -1 ? errno : 0;

    if (fd != -1) {
        close(fd);
    }
    return e;
}

/* Whose user namespace we are in, by the number outside of it; 0: the machine's own, as root. */
static uid_t owner;

int cell_user(const char *path) {
    uid_t uid = owner = geteuid();
    gid_t gid = getegid();
    char text[64];
    int e = 0;

    if (uid == 0) {
        return 0;
    }
    if (path) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        e = fd == -1 || setns(fd, CLONE_NEWUSER) == -1 || unshare(CLONE_NEWNS) == -1 ? errno : 0;
        if (fd != -1) {
            close(fd);
        }
        return e;
    }
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1) {
        return errno;
    }
    snprintf(text, sizeof(text), "%u %u 1", (unsigned)uid, (unsigned)uid);
    e = put("/proc/self/uid_map", text);
    e = e ? e : put("/proc/self/setgroups", "deny");
    snprintf(text, sizeof(text), "%u %u 1", (unsigned)gid, (unsigned)gid);
    return e ? e : put("/proc/self/gid_map", text);
}

/* ---- user namespaces of pods ---- */

bool cell_users_possible(void) {
    static int known; /* 0: not tried; 1: no; 2: yes */
    int status = 1;

    if (known == 0 && geteuid() == 0) {
        pid_t pid = fork();
        if (pid == 0) {
            _exit(unshare(CLONE_NEWUSER) == -1);
        }
        if (pid > 0 && waitpid(pid, &status, 0) == pid) {
            known = status == 0 ? 2 : 1;
        }
    }
    return known == 2;
}

/* "1900100000 1900100000 1": the same number on both sides. */
static void add_id(char text[MAP_TEXT], unsigned id) {
    size_t n = strlen(text);
    char line[40];

    snprintf(line, sizeof(line), "%u %u 1\n", id, id);
    if (id && strstr(text, line) == NULL) { /* 0 is in no pod */
        snprintf(text + n, MAP_TEXT - n, "%s", line);
    }
}

static int put_map(pid_t pid, const char *name, const char *text) {
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return put(path, text);
}

/* Says who is in the user namespace of process 1: the pod's user and its groups. */
static int fill_users(pid_t pid, const struct sandbox *s) {
    char users[MAP_TEXT] = "", groups[MAP_TEXT] = "";

    add_id(users, s->uid);
    add_id(groups, s->gid);
    for (size_t i = 0; i < s->n_groups; i++) {
        add_id(groups, s->groups[i]);
    }
    int e = put_map(pid, "uid_map", users);
    return e || groups[0] == 0 ? e : put_map(pid, "gid_map", groups);
}

int cell_enter_users(const struct pod_cell *c) {
    return c->users && setns(c->fd, CLONE_NEWUSER) == -1 ? errno : 0;
}

/* ---- the view ---- */

static bool prepared;

int cell_prepare(struct err *err) {
    const char *what;

    if (prepared && !view_is_old()) {
        return 0;
    }
    (void)cell_users_possible(); /* for all that are forked from here */
    int fd = view_make(owner, &what);
    if (fd == -1) {
        return err_sys(err, errno, "the pods' view of the machine: %s", what);
    }
    if (fd != CELL_VIEW_FD) {
        if (dup3(fd, CELL_VIEW_FD, O_CLOEXEC) == -1) {
            return err_sys(err, errno, "descriptors");
        }
        close(fd);
    }
    prepared = true;
    return 0;
}

/* ---- a pod's ---- */

/* Children are of our own PID namespace again: one whose process 1 has ended takes no more. Takes root; without, a
 * cell is not opened again. */
static void leave_pids(void) {
    int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);

    if (own != -1) {
        (void)!setns(own, CLONE_NEWPID);
        close(own);
    }
}

int cell_open(struct pod_cell *c, const struct sandbox *s, struct err *err) {
    struct cell_report f = {.what = "begin process numbers"};
    struct cell_sources sources;
    int report[2];

    *c = (struct pod_cell){.fd = -1,
                           .network = s->netns || s->own_network,
                           .users = s->walls && s->uid && cell_users_possible()};
    if (!s->walls) {
        return 0;
    }
    if (pipe2(report, O_CLOEXEC) == -1) {
        return err_sys(err, errno, "pipe");
    }
    f.error = cell_sources_open(&sources, s, &f);
    if (f.error == 0 && unshare(CLONE_NEWPID) == -1) { /* of which the next child is the first */
        f.error = errno;
    }
    pid_t pid = f.error ? -1 : fork();
    if (pid == 0) {
        cell_inside(s, &sources, c->users, report[1]);
    }
    close(report[1]);
    if (pid == -1 && f.error == 0) {
        f.error = errno;
    } else if (pid > 0 && read(report[0], &f, sizeof(f)) != (ssize_t)sizeof(f)) {
        f = (struct cell_report){.error = EIO, .what = "begin"};
    }
    close(report[0]);
    cell_sources_close(&sources);
    if (f.error == 0 && c->users && (f.error = fill_users(pid, s))) {
        snprintf(f.what, sizeof(f.what), "say who is in its user namespace");
    }
    if (f.error == 0) {
        c->init = pid;
        c->fd = (int)syscall(SYS_pidfd_open, pid, 0);
        f.error = c->fd == -1 ? errno : 0;
    }
    if (f.error && pid > 0) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        c->init = 0;
        leave_pids();
    }
    return f.error ? err_sys(err, f.error, "the pod's namespaces: cannot %s", f.what) : 0;
}

int cell_enter(const struct pod_cell *c) {
    /* The machine's network is not ours to enter without root, nor needs to be. */
    return setns(c->fd, SHARED | (c->network ? CLONE_NEWNET : 0)) == -1 ? errno : 0;
}

/* We are in the PID namespace already, where the container has another number: the machine's /proc, which we still
 * see, knows it by this one. A container differs from its cell by its mounts alone. */
int cell_join(const struct pod_cell *c, pid_t container) {
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)container);
    int fd = open(path, O_RDONLY | O_CLOEXEC), e = fd == -1 ? errno : cell_enter(c);
    if (e == 0 && setns(fd, CLONE_NEWNS) == -1) {
        e = errno;
    }
    if (fd != -1) {
        close(fd);
    }
    return e;
}

bool cell_reaped(struct pod_cell *c, pid_t pid) {
    if (c->init == 0 || c->init != pid) {
        return false;
    }
    close(c->fd);
    *c = (struct pod_cell){.fd = -1};
    leave_pids();
    return true;
}

void cell_kill(struct pod_cell *c) {
    if (c->init) {
        kill(c->init, SIGKILL); /* not reaped yet: the number is its own */
    }
}

void cell_kill_rest(const struct pod_cell *c) {
    if (c->init) {
        proc_kill_descendants(c->init, SIGKILL);
    }
}

/* ---- what this machine lets us do ---- */

static bool try_all(void) {
    struct err err;
    struct sandbox s = {.walls = true, .own_network = true, .hostname = "probe"};
    struct pod_cell c;

    if (cell_user(NULL) || unshare(CLONE_NEWNS) == -1 || cell_prepare(&err) ||
        cell_open(&c, &s, &err)) {
        return false;
    }
    cell_kill(&c);
    return true;
}

bool cell_possible(bool *ret_user) {
    pid_t pid = fork();
    int status = 1;

    *ret_user = geteuid() != 0;
    if (pid == 0) {
        _exit(!try_all());
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}
