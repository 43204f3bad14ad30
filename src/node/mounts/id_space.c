/* id_space: see id_space.h. */
#include "node/mounts/id_space.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"

enum { IDS = 65536, PATH = 64 };

/* The number of a process in the /proc that is mounted here, which may be that of other process numbers than ours. */
static int number_of(int pidfd) {
    char path[PATH], text[1024];
    struct str rest, line;
    int64_t pid;

    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text));
    if (fd != -1) {
        close(fd);
    }
    rest = str_from(text, n > 0 ? (size_t)n : 0);
    while (str_next(&rest, '\n', &line)) {
        if (str_starts(line, STR("Pid:")) && str_to_i64(str_trim(str_skip(line, 4)), &pid)) {
            return (int)pid;
        }
    }
    return -1;
}

static int put(int pid, const char *name, const char *text) {
    char path[PATH];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int e = fd == -1 || write(fd, text, strlen(text)) == -1 ? errno : 0;
    if (fd != -1) {
        close(fd);
    }
    return e;
}

static int put_map(int pid, const char *name, struct id_pair p, bool others) {
    char text[160];
    int n = snprintf(text, sizeof(text), "%u %u 1\n", p.inside, p.outside);

    if (others && p.inside > 0) {
        unsigned below = p.inside < IDS ? p.inside : IDS;
        n += snprintf(text + n, sizeof(text) - (size_t)n, "0 0 %u\n", below);
    }
    if (others && p.inside + 1 < IDS) {
        snprintf(text + n, sizeof(text) - (size_t)n, "%u %u %u\n", p.inside + 1, p.inside + 1,
                 IDS - p.inside - 1);
    }
    return put(pid, name, text);
}

static _Noreturn void hold(int ready, int go) {
    int e = unshare(CLONE_NEWUSER) == -1 ? errno : 0;
    char c;

    (void)!write(ready, &e, sizeof(e));
    (void)!read(go, &c, 1);
    _exit(0);
}

static int make(pid_t child, int ready, struct id_pair user, struct id_pair group, bool others,
                int *ret) {
    char path[PATH];
    int e = EIO, pidfd = (int)syscall(SYS_pidfd_open, child, 0);

    if (pidfd == -1) {
        return errno;
    }
    int pid = number_of(pidfd);
    close(pidfd);
    if (pid <= 0 || read(ready, &e, sizeof(e)) != (ssize_t)sizeof(e) || e) {
        return e;
    }
    e = put_map(pid, "uid_map", user, others);
    if (e == 0 &&
        geteuid() != 0) { /* without root a group may be mapped only where none can be dropped */
        e = put(pid, "setgroups", "deny");
    }
    e = e ? e : put_map(pid, "gid_map", group, others);
    if (e) {
        return e;
    }
    snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
    *ret = open(path, O_RDONLY | O_CLOEXEC);
    return *ret == -1 ? errno : 0;
}

int id_space_new(struct id_pair user, struct id_pair group, bool others) {
    int ready[2], go[2], fd = -1;

    if (pipe2(ready, O_CLOEXEC) == -1) {
        return -1;
    }
    if (pipe2(go, O_CLOEXEC) == -1) {
        close(ready[0]);
        close(ready[1]);
        return -1;
    }
    pid_t pid = fork();
    int e = pid == -1 ? errno : 0;
    if (pid == 0) {
        close(go[1]);
        hold(ready[1], go[0]);
    }
    close(ready[1]);
    close(go[0]);
    e = e ? e : make(pid, ready[0], user, group, others, &fd);
    close(ready[0]);
    close(go[1]);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    errno = e;
    return e ? -1 : fd;
}
