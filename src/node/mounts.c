/*
 * mounts: the volumes of a container in their places, in a mount namespace of its own.
 *
 * A volume may be wanted where the machine has nothing (/data) or has something of its own
 * (/etc/config). A new root on a tmpfs gets every entry of the old one bound into it; folders on
 * the way to a volume are made anew, with their entries bound one by one, so that nothing is ever
 * written to the machine's own file system.
 *
 * The data folder may lie where a project's user may not go (/root/...). Then the pod's own root/
 * is a volume at its own place; closed folders on the way, and those below, hold nothing else then.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "node/files.h"
#include "node/sandbox.h"

enum { WAYS_MAX = 256 };

/* Folders that are made anew: the proper prefixes of all targets. */
struct ways {
    const struct sandbox_mount *v;
    size_t n;
    char root[PATH_LEN];
};

bool mounts_possible(void) {
    pid_t pid = fork();
    int status = 1;

    if (pid == 0) {
        _exit(unshare(CLONE_NEWNS) == -1 ||
              mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

/* Is `path` (absolute, "" for the root) a proper prefix of a target? */
static bool on_the_way(const struct ways *w, const char *path) {
    size_t n = strlen(path);

    for (size_t i = 0; i < w->n; i++) {
        if (!strncmp(w->v[i].target, path, n) && w->v[i].target[n] == '/') {
            return true;
        }
    }
    return false;
}

static bool is_target(const struct ways *w, const char *path) {
    for (size_t i = 0; i < w->n; i++) {
        if (!strcmp(w->v[i].target, path)) {
            return true;
        }
    }
    return false;
}

static int touch(const char *path) {
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (fd == -1) {
        return errno;
    }
    close(fd);
    return 0;
}

static int bind(const char *from, const char *to, const struct stat *st, bool read_only) {
    int e =
        S_ISDIR(st->st_mode) ? (mkdir(to, 0755) == -1 && errno != EEXIST ? errno : 0) : touch(to);

    if (e) {
        return e;
    }
    if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) == -1) {
        return errno;
    }
    if (read_only && mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == -1) {
        return errno;
    }
    return 0;
}

static int copy_link(const char *from, const char *to) {
    char text[PATH_LEN];
    ssize_t n = readlink(from, text, sizeof(text) - 1);

    if (n == -1) {
        return 0;
    }
    text[n] = 0;
    return symlink(text, to) == -1 && errno != EEXIST ? errno : 0;
}

/* Makes `path` of the new root: its entries bound, or made anew in turn. */
static int make_anew(const struct ways *w, const char *path, bool closed, int depth) {
    char from[PATH_LEN], to[PATH_LEN];
    struct dirent *d;
    struct stat st;
    int e = 0;
    DIR *dir = opendir(*path ? path : "/");

    while (dir && e == 0 && depth < 32 && (d = readdir(dir))) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
            path_join(from, path, d->d_name, NULL) || path_join(to, w->root, from + 1, NULL) ||
            is_target(w, from) || lstat(from, &st) == -1) {
            continue;
        }
        bool way = S_ISDIR(st.st_mode) && on_the_way(w, from), shut = !(st.st_mode & S_IXOTH);
        if (closed && !way) {
            continue;
        }
        if (S_ISLNK(st.st_mode)) {
            e = copy_link(from, to);
        } else if (way) {
            mode_t mode = (st.st_mode & 07777) | (shut ? S_IXOTH : 0);
            e = mkdir(to, mode) == -1 ? errno : make_anew(w, from, closed || shut, depth + 1);
        } else if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) ||
                   S_ISSOCK(st.st_mode)) {
            e = bind(from, to, &st, false);
            e = e == ENOENT ? 0 : e; /* it went away while we looked */
        }
    }
    if (dir) {
        closedir(dir);
    }
    return e;
}

static int bind_volume(const struct ways *w, const struct sandbox_mount *m) {
    char to[PATH_LEN], part[PATH_LEN];
    struct stat st;

    if (stat(m->source, &st) == -1) {
        return errno;
    }
    if (path_join(to, w->root, m->target + 1, NULL)) {
        return ENAMETOOLONG;
    }
    size_t n = strlen(to);
    for (size_t i = strlen(w->root) + 1; i < n; i++) {
        if (to[i] == '/') {
            memcpy(part, to, i);
            part[i] = 0;
            if (mkdir(part, 0755) == -1 && errno != EEXIST) {
                return errno;
            }
        }
    }
    return bind(m->source, to, &st, m->read_only);
}

int mounts_enter(const struct sandbox_mount *v, size_t n, const char *pod_dir) {
    struct ways w = {.v = v, .n = n};
    int e = 0;

    if (unshare(CLONE_NEWNS) == -1 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == -1) {
        return errno;
    }
    if (path_join(w.root, pod_dir, "newroot", NULL)) {
        return ENAMETOOLONG;
    }
    if ((mkdir(w.root, 0755) == -1 && errno != EEXIST) ||
        mount("tmpfs", w.root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") == -1) {
        return errno;
    }
    e = make_anew(&w, "", false, 0);
    for (size_t i = 0; i < n && e == 0; i++) {
        e = bind_volume(&w, &v[i]);
    }
    if (e) {
        return e;
    }
    if (chdir(w.root) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
        umount2(".", MNT_DETACH) == -1 || chdir("/") == -1) {
        return errno;
    }
    return 0;
}
