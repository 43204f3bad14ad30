/* devices: see devices.h. */
#include "node/sandbox/devices.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "node/files/files.h"

static const struct {
    const char *name;
    unsigned major, minor;
} common[] = {{"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
              {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};

static const struct {
    const char *name, *to;
} links[] = {{"fd", "/proc/self/fd"},
             {"stdin", "/proc/self/fd/0"},
             {"stdout", "/proc/self/fd/1"},
             {"stderr", "/proc/self/fd/2"},
             {"ptmx", "pts/ptmx"}};

static const char *const folders[] = {"pts", "shm", "mqueue"};
/* An empty file, for the volume that nearly every container has there. */
static const char message[] = "termination-log";

/* A bound node at `path`, of the machine's node of that name or of an open tree. */
static int bind_node(const char *path, const char *name, int tree) {
    char from[PATH_LEN];
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    if (fd == -1) {
        return errno;
    }
    close(fd);
    if (tree != -1) {
        return syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == -1
                   ? errno
                   : 0;
    }
    if (path_join(from, "/dev", name, NULL)) {
        return ENAMETOOLONG;
    }
    return mount(from, path, NULL, MS_BIND, NULL) == -1 ? errno : 0;
}

static int make_node(const char *dir, const char *name, unsigned major, unsigned minor, int tree) {
    char path[PATH_LEN];

    if (path_join(path, dir, name, NULL)) {
        return ENAMETOOLONG;
    }
    if (mknod(path, S_IFCHR | 0666, makedev(major, minor)) == 0) {
        return chmod(path, 0666) == -1 ? errno : 0;
    }
    return errno == EPERM ? bind_node(path, name, tree) : errno;
}

static int make_given(const char *dir, const struct sandbox_device *d) {
    char path[PATH_LEN];
    const char *slash = strchr(d->name, '/');

    if (slash) {
        if (snprintf(path, sizeof(path), "%s/%.*s", dir, (int)(slash - d->name), d->name) >=
            (int)sizeof(path)) {
            return ENAMETOOLONG;
        }
        if (mkdir(path, 0755) == -1 && errno != EEXIST) {
            return errno;
        }
    }
    return make_node(dir, d->name, d->major, d->minor, d->tree);
}

int devices_make(const char *dir, const struct sandbox_device *v, size_t n) {
    char path[PATH_LEN];
    int e = 0;

    if (mount("tmpfs", dir, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755,size=256k,nr_inodes=1k") ==
        -1) {
        return errno;
    }
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]) && e == 0; i++) {
        e = make_node(dir, common[i].name, common[i].major, common[i].minor, -1);
    }
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]) && e == 0; i++) {
        e = path_join(path, dir, links[i].name, NULL) || symlink(links[i].to, path) == -1 ? errno
                                                                                          : 0;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && e == 0; i++) {
        e = path_join(path, dir, folders[i], NULL) || mkdir(path, 0755) == -1 ? errno : 0;
    }
    if (e == 0) {
        e = path_join(path, dir, message, NULL) || mknod(path, S_IFREG | 0444, 0) == -1 ? errno : 0;
    }
    for (size_t i = 0; i < n && e == 0; i++) {
        e = make_given(dir, &v[i]);
    }
    if (e == 0 && mount(NULL, dir, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC,
                        NULL) == -1) {
        e = errno;
    }
    return e;
}

void devices_open(struct sandbox_device *v, size_t n) {
    char path[PATH_LEN];

    for (size_t i = 0; i < n; i++) {
        v[i].tree = path_join(path, "/dev", v[i].name, NULL)
                        ? -1
                        : (int)syscall(SYS_open_tree, AT_FDCWD, path,
                                       (unsigned)(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
    }
}
