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
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
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

static int bind(const char *from, const char *to, const struct stat *st) {
    int e =
        S_ISDIR(st->st_mode) ? (mkdir(to, 0755) == -1 && errno != EEXIST ? errno : 0) : touch(to);

    if (e) {
        return e;
    }
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL) == -1 ? errno : 0;
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
            e = bind(from, to, &st);
            e = e == ENOENT ? 0 : e; /* it went away while we looked */
        }
    }
    if (dir) {
        closedir(dir);
    }
    return e;
}

/* ---- a volume in its place ---- */

/* Opens an absolute path that has no link in it: a volume is a pod's own, and so may be the names below it, but where
 * they lead is not its to say. -1 and errno (ENOTDIR, ELOOP for a link). */
static int open_plain(const char *path) {
    int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct str rest = str_of(path), part;
    char name[256];
    struct stat st;

    while (fd != -1 && str_next(&rest, '/', &part)) {
        if (part.n == 0) {
            continue;
        }
        int next = str_copy(part, name, sizeof(name))
                       ? openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC)
                       : (errno = ENAMETOOLONG, -1);
        int e = errno;
        close(fd);
        fd = next;
        errno = e;
    }
    if (fd != -1 && fstat(fd, &st) == 0 && S_ISLNK(st.st_mode)) {
        close(fd);
        errno = ELOOP;
        return -1;
    }
    return fd;
}

/* Makes folder or file `path` below the new root, whose links are followed by nobody; its descriptor. */
static int make_place(const char *root, const char *path, bool folder) {
    char all[PATH_LEN], part[PATH_LEN];
    int fd = -1;

    if (path_join(all, root, path + 1, NULL)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    size_t n = strlen(all);
    for (size_t i = strlen(root) + 1; i <= n; i++) {
        if (all[i] != '/' && all[i] != 0) {
            continue;
        }
        memcpy(part, all, i);
        part[i] = 0;
        if ((fd = open_plain(part)) == -1 && errno == ENOENT) {
            int e = all[i] || folder ? (mkdir(part, 0755) == -1 ? errno : 0) : touch(part);
            fd = e ? -1 : open_plain(part);
            errno = e ? e : errno;
        }
        if (fd == -1 || i == n) {
            return fd;
        }
        close(fd);
    }
    return fd;
}

static int bind_volume(const struct ways *w, const struct sandbox_mount *m) {
    char from[40], to[40];
    struct stat st;
    int source = open_plain(m->source);
    int place = source == -1 || fstat(source, &st) == -1
                    ? -1
                    : make_place(w->root, m->target, S_ISDIR(st.st_mode));
    int e = place == -1 ? errno : 0;

    snprintf(from, sizeof(from), "/proc/self/fd/%d", source);
    snprintf(to, sizeof(to), "/proc/self/fd/%d", place);
    if (e == 0 && mount(from, to, NULL, MS_BIND | MS_REC, NULL) == -1) {
        e = errno;
    }
    if (e == 0 && m->read_only) { /* the old descriptor is of what lies below the mount */
        close(place);
        place = make_place(w->root, m->target, S_ISDIR(st.st_mode));
        snprintf(to, sizeof(to), "/proc/self/fd/%d", place);
        e = place == -1 || mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == -1
                ? errno
                : 0;
    }
    if (source != -1) {
        close(source);
    }
    if (place != -1) {
        close(place);
    }
    return e;
}

/* Where the machine's links lead for `target` (/var/run/x is /run/x): the folders of that way are made anew, so that
 * no link in the new root leads a mkdir back to the machine's own file system. */
static int real_target(const char *target, char out[PATH_LEN]) {
    char head[PATH_LEN], real[PATH_MAX];
    size_t n = strlen(target);

    if (n >= PATH_LEN) {
        return ENAMETOOLONG;
    }
    memcpy(head, target, n + 1);
    while (!realpath(*head ? head : "/", real)) {
        char *cut = strrchr(head, '/');
        if (errno != ENOENT || !cut) {
            return errno;
        }
        *cut = 0;
    }
    size_t used = strlen(head);
    int k = snprintf(out, PATH_LEN, "%s%s", strcmp(real, "/") == 0 ? "" : real, target + used);
    return k < 0 || k >= PATH_LEN ? ENAMETOOLONG : 0;
}

static int resolve(const struct sandbox_mount *v, size_t n, struct sandbox_mount **ret) {
    struct sandbox_mount *real = mem_zalloc(n * (sizeof(*real) + PATH_LEN));
    char *text = real ? (char *)(real + n) : NULL;
    int e = real ? 0 : ENOMEM;

    for (size_t i = 0; i < n && e == 0; i++, text += PATH_LEN) {
        e = real_target(v[i].target, text);
        real[i] = (struct sandbox_mount){v[i].source, text, v[i].read_only};
    }
    *ret = real; /* never freed: the process executes something else, or ends */
    return e;
}

int mounts_enter(const struct sandbox_mount *v, size_t n, const char *pod_dir) {
    struct sandbox_mount *real;
    int e = resolve(v, n, &real);
    struct ways w = {.v = real, .n = n};

    if (e) {
        return e;
    }
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
        e = bind_volume(&w, &real[i]);
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
