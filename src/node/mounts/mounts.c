/*
 * mounts: see mounts.h.
 *
 * A volume may be wanted where there is something (/etc/hosts): it is mounted over it. Or where there is nothing
 * (/data), and the folders around are read-only: then a new root on a tmpfs gets every entry of the old one bound
 * into it; folders on the way to a volume are made anew, with their entries bound one by one, so that nothing is ever
 * written to the machine's own file system.
 *
 * Two places in one container may lead one into the other (/data and /data/in), so they are mounted in their order.
 */
#include "node/mounts/mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "node/files/beneath.h"
#include "node/files/files.h"

enum { WAYS_MAX = 256 };

/* Folders that are made anew: the proper prefixes of all targets. */
struct ways {
    const struct sandbox_mount *v;
    const int *trees;
    size_t n;
    const char *spare;
    char root[PATH_LEN]; /* of what is put together; "" when that is the root itself */
};

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

/* Binds what `source` is open on: its name may lead elsewhere by now. */
static int bind(int source, const char *to, const struct stat *st) {
    char from[40];
    int e =
        S_ISDIR(st->st_mode) ? (mkdir(to, 0755) == -1 && errno != EEXIST ? errno : 0) : touch(to);

    snprintf(from, sizeof(from), "/proc/self/fd/%d", source);
    return e ? e : mount(from, to, NULL, MS_BIND | MS_REC, NULL) == -1 ? errno : 0;
}

static int copy_link(int link, const char *to) {
    char text[PATH_LEN];
    ssize_t n = readlinkat(link, "", text, sizeof(text) - 1);

    if (n == -1) {
        return 0;
    }
    text[n] = 0;
    return symlink(text, to) == -1 && errno != EEXIST ? errno : 0;
}

static int make_anew(const struct ways *w, const char *path, int fd, bool closed, int depth);

/* One entry of a folder made anew: `at` is open on it, as it was when we looked, whatever its name leads to now. */
static int make_entry(const struct ways *w, const char *from, int at, bool closed, int depth) {
    char to[PATH_LEN];
    struct stat st;

    if (fstat(at, &st) == -1 || path_join(to, w->root, from + 1, NULL)) {
        return 0;
    }
    bool way = S_ISDIR(st.st_mode) && on_the_way(w, from), shut = !(st.st_mode & S_IXOTH);
    if (closed && !way) {
        return 0;
    }
    if (S_ISLNK(st.st_mode)) {
        return copy_link(at, to);
    }
    if (way) {
        mode_t mode = (st.st_mode & 07777) | (shut ? S_IXOTH : 0);
        int below = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return mkdir(to, mode) == -1 ? errno : make_anew(w, from, below, closed || shut, depth + 1);
    }
    if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode)) {
        int e = bind(at, to, &st);
        return e == ENOENT ? 0 : e; /* it went away while we looked */
    }
    return 0;
}

/* Makes `path` of the new root, whose old one is open as `fd` (taken; -1: has nothing): its entries bound, or made
 * anew in turn. By descriptor all the way: a folder on it may be one that tenants write to. */
static int make_anew(const struct ways *w, const char *path, int fd, bool closed, int depth) {
    char from[PATH_LEN];
    struct dirent *d;
    int e = 0;
    DIR *dir = fd != -1 ? fdopendir(fd) : NULL;

    while (dir && e == 0 && depth < 32 && (d = readdir(dir))) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") ||
            path_join(from, path, d->d_name, NULL) || is_target(w, from) ||
            !strcmp(from, w->spare)) {
            continue;
        }
        int at = openat(dirfd(dir), d->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (at != -1) {
            e = make_entry(w, from, at, closed, depth);
            close(at);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return e;
}

/* ---- a volume in its place ---- */

/* Makes folder or file `path` below the new root, whose links are followed by nobody; its descriptor. */
static int make_place(const char *root, const char *path, bool folder) {
    char parent[PATH_LEN], all[PATH_LEN];
    int dir = beneath_root(root, O_PATH | O_DIRECTORY);

    if (dir == -1) {
        return -1;
    }
    path += strspn(path, "/");
    const char *name = strrchr(path, '/');
    size_t n = name ? (size_t)(name - path) : 0;
    if (path_join(all, root, path, NULL)) {
        close(dir);
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(parent, path, n);
    parent[n] = 0;
    int above = beneath_make(dir, parent, 0755, 0, 0), fd = -1;
    name = name ? name + 1 : path;
    if (above != -1 && folder) {
        fd = beneath_make(above, name, 0755, 0, 0);
    } else if (above != -1) {
        fd = openat(above, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        if (fd != -1) {
            close(fd);
        }
        fd = fd == -1 && errno != EEXIST ? -1 : beneath_open(above, name, O_PATH);
    }
    int e = errno;
    close(dir);
    if (above != -1) {
        close(above);
    }
    errno = e;
    return fd;
}

int mounts_tree(const char *path) {
    int fd = beneath_root(path, O_PATH), tree = -1, e = errno;

    if (fd != -1) {
        tree = (int)syscall(
            SYS_open_tree, fd, "",
            (unsigned)(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE));
        e = errno;
        close(fd);
    }
    errno = e;
    return tree;
}

/* A volume is no way to devices or set-user-id programs. */
static int protect(int tree, bool read_only) {
    struct mount_attr a = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                                       (read_only ? MOUNT_ATTR_RDONLY : 0)};

    return syscall(SYS_mount_setattr, tree, "", (unsigned)(AT_EMPTY_PATH | AT_RECURSIVE), &a,
                   sizeof(a)) == -1
               ? errno
               : 0;
}

int mounts_place(const char *root, const struct sandbox_mount *m, int tree) {
    struct stat st;

    tree = tree != -1 ? tree : mounts_tree(m->source);
    int place = tree == -1 || fstat(tree, &st) == -1
                    ? -1
                    : make_place(root, m->target, S_ISDIR(st.st_mode));
    int e = place == -1 ? errno : protect(tree, m->read_only);

    if (e == 0 && syscall(SYS_move_mount, tree, "", place, "",
                          MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == -1) {
        e = errno;
    }
    if (tree != -1) {
        close(tree);
    }
    if (place != -1) {
        close(place);
    }
    return e;
}

static bool is_there(const struct ways *w, size_t i) {
    int source = w->trees[i] != -1 ? dup(w->trees[i]) : beneath_root(w->v[i].source, O_PATH),
        place = beneath_root(w->v[i].target, O_PATH);
    struct stat a, b;
    bool there = source != -1 && place != -1 && fstat(source, &a) == 0 && fstat(place, &b) == 0 &&
                 S_ISDIR(a.st_mode) == S_ISDIR(b.st_mode);

    if (source != -1) {
        close(source);
    }
    if (place != -1) {
        close(place);
    }
    return there;
}

/* Is there something of the right sort in every place already? Then no root is made. */
static bool all_there(const struct ways *w) {
    for (size_t i = 0; i < w->n; i++) {
        if (!is_there(w, i)) {
            return false;
        }
    }
    return true;
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
    while (realpath(*head ? head : "/", real) == NULL) {
        char *cut = strrchr(head, '/');
        if (errno != ENOENT || cut == NULL) {
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
    if (e) {
        mem_free(TAKE(real));
    }
    *ret = real;
    return e;
}

int mounts_open(const struct sandbox_mount *v, size_t n, const char *pod_dir, int **ret_trees) {
    int *trees = mem_zalloc(n * sizeof(*trees));
    size_t own = strlen(pod_dir);

    if (trees == NULL) {
        return ENOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        bool below = !strncmp(v[i].source, pod_dir, own) &&
                     !strncmp(v[i].source + own, "/root/", strlen("/root/"));
        trees[i] = below ? -1 : mounts_tree(v[i].source);
        if (trees[i] == -1 && !below) {
            int e = errno;
            mem_free(trees);
            return e;
        }
    }
    *ret_trees = trees;
    return 0;
}

/* A root of our own at w->root, entered. */
static int new_root(struct ways *w) {
    if (!str_copy(str_of(w->spare), w->root, sizeof(w->root))) {
        return ENAMETOOLONG;
    }
    if (mount("tmpfs", w->root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=16m") == -1) {
        return errno;
    }
    int e = make_anew(w, "", open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), false, 0);
    for (size_t i = 0; i < w->n && e == 0; i++) {
        e = mounts_place(w->root, &w->v[i], w->trees[i]);
    }
    if (e) {
        return e;
    }
    return chdir(w->root) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
                   umount2(".", MNT_DETACH) == -1 || chdir("/") == -1 ||
                   mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
                         NULL) == -1
               ? errno
               : 0;
}

static int mount_all(struct ways *w) {
    int e = 0;

    if (unshare(CLONE_NEWNS) == -1 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == -1) {
        return errno;
    }
    if (!all_there(w)) {
        return new_root(w);
    }
    for (size_t i = 0; i < w->n && e == 0; i++) {
        e = mounts_place(w->root, &w->v[i], w->trees[i]);
    }
    return e;
}

int mounts_enter(const struct sandbox_mount *v, const int *trees, size_t n, const char *spare) {
    struct sandbox_mount *real;
    int e = resolve(v, n, &real);
    struct ways w = {.v = real, .trees = trees, .n = n, .spare = spare};

    e = e ? e : mount_all(&w);
    mem_free(real);
    return e;
}
