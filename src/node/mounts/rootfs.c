/* rootfs: see rootfs.h. */
#include "node/mounts/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "node/files/beneath.h"
#include "node/files/files.h"
#include "node/mounts/id_space.h"
#include "node/mounts/mounts.h"

#define PLACE MOUNTS_SPARE "/root"

/* ---- while the machine is in sight ---- */

/* Files of the image's user are the pod user's. Not every file system can: then they stay root's. */
static void map_owners(const struct sandbox_root *r, uid_t uid, gid_t gid, int lower) {
    struct mount_attr a = {.attr_set = MOUNT_ATTR_IDMAP};
    int users = id_space_new((struct id_pair){r->uid, uid}, (struct id_pair){r->gid, gid}, true);

    if (users != -1) {
        a.userns_fd = (uint64_t)users;
        syscall(SYS_mount_setattr, lower, "", (unsigned)AT_EMPTY_PATH, &a, sizeof(a));
        close(users);
    }
}

static int protect(int tree, uint64_t more) {
    struct mount_attr a = {.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | more};

    return syscall(SYS_mount_setattr, tree, "", (unsigned)AT_EMPTY_PATH, &a, sizeof(a)) == -1
               ? errno
               : 0;
}

int rootfs_open(const struct sandbox_root *r, uid_t uid, gid_t gid, struct rootfs_sources *ret,
                const char **ret_what) {
    bool mapped = uid != 0;

    uid = mapped ? uid : geteuid();
    gid = mapped ? gid : getegid();

    *ret = (struct rootfs_sources){-1, -1, -1};
    *ret_what = "open the image";
    ret->lower = mounts_tree(r->lower);
    if (ret->lower == -1) {
        return errno;
    }
    if (mapped) {
        map_owners(r, uid, gid, ret->lower);
    }
    int e = protect(ret->lower, MOUNT_ATTR_RDONLY);
    if (e) {
        return e;
    }
    *ret_what = "open the container's layer";
    ret->layer = mounts_tree(r->layer);
    if (ret->layer == -1 || (e = protect(ret->layer, 0))) {
        return e ? e : errno;
    }
    *ret_what = "make the container's user namespace";
    ret->users = id_space_new((struct id_pair){r->uid, uid}, (struct id_pair){r->gid, gid}, false);
    return ret->users == -1 ? errno : 0;
}

int rootfs_users_of(pid_t container, int *ret) {
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)container);
    *ret = open(path, O_RDONLY | O_CLOEXEC);
    return *ret == -1 ? errno : 0;
}

int rootfs_try(const char *dir) {
    static const char *const names[] = {"lower", "upper", "work", "root"};
    char path[4][PATH_LEN], options[4 * PATH_LEN];
    int fd;

    for (int i = 0; i < 4; i++) {
        if (path_join(path[i], dir, names[i], NULL) || dir_make(path[i], 0700, NULL)) {
            return EIO;
        }
    }
    snprintf(options, sizeof(options), "lowerdir=%s,upperdir=%s,workdir=%s%s", path[0], path[1],
             path[2], geteuid() == 0 ? "" : ",userxattr");
    if (mount("overlay", path[3], "overlay", MS_NOSUID | MS_NODEV, options) == -1) {
        return errno;
    }
    if (path_join(path[0], path[3], "written", NULL) ||
        (fd = open(path[0], O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) == -1) {
        return errno ? errno : EIO;
    }
    close(fd);
    return 0;
}

int rootfs_renew(const struct sandbox_root *r) {
    char upper[PATH_LEN], work[PATH_LEN];
    struct stat st;

    if (path_join(upper, r->layer, "upper", NULL) || path_join(work, r->layer, "work", NULL)) {
        return ENAMETOOLONG;
    }
    if (stat(upper, &st) == -1) {
        return errno;
    }
    if (dir_remove(upper, NULL) || dir_remove(work, NULL) || dir_make(upper, 0755, NULL) ||
        dir_make(work, 0700, NULL)) {
        return EIO;
    }
    return geteuid() == 0 && chown(upper, st.st_uid, st.st_gid) == -1 ? errno : 0;
}

/* ---- in the pod's namespaces ---- */

static int attach(int tree, const char *path) {
    if (mkdir(path, 0755) == -1 && errno != EEXIST) {
        return errno;
    }
    return syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == -1 ? errno
                                                                                            : 0;
}

static int join_layers(const struct rootfs_sources *c) {
    static const char options[] = "lowerdir=" MOUNTS_SPARE "/lower,upperdir=" MOUNTS_SPARE
                                  "/layer/upper,workdir=" MOUNTS_SPARE "/layer/work";
    static const char by_user[] = "lowerdir=" MOUNTS_SPARE "/lower,upperdir=" MOUNTS_SPARE
                                  "/layer/upper,workdir=" MOUNTS_SPARE "/layer/work,userxattr";
    int e;

    if (mount("tmpfs", MOUNTS_SPARE, "tmpfs", MS_NOSUID | MS_NODEV,
              "mode=0755,size=64k,nr_inodes=16") == -1) {
        return errno;
    }
    if ((e = attach(c->lower, MOUNTS_SPARE "/lower")) ||
        (e = attach(c->layer, MOUNTS_SPARE "/layer"))) {
        return e;
    }
    return mkdir(PLACE, 0755) == -1 || mount("overlay", PLACE, "overlay", MS_NOSUID | MS_NODEV,
                                             geteuid() == 0 ? options : by_user) == -1
               ? errno
               : 0;
}

/* Where `target` leads below `root`, as the container will see it: what is there of the way, links included, and what
 * is not there added as it is. */
static int lead(int root, const char *target, char out[PATH_LEN]) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    char head[PATH_LEN], link[64], real[PATH_LEN];
    size_t n = strlen(target);
    int fd;

    if (n >= PATH_LEN) {
        return ENAMETOOLONG;
    }
    memcpy(head, target, n + 1);
    while ((fd = (int)syscall(SYS_openat2, root, *head ? head : "/", &how, sizeof(how))) == -1) {
        char *cut = strrchr(head, '/');
        if (errno != ENOENT || cut == NULL) {
            return errno;
        }
        *cut = 0;
    }
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t k = readlink(link, real, sizeof(real) - 1);
    close(fd);
    if (k < (ssize_t)strlen(PLACE)) {
        return k == -1 ? errno : EXDEV;
    }
    real[k] = 0;
    int m = snprintf(out, PATH_LEN, "%s%s", real + strlen(PLACE), target + strlen(head));
    return m < 0 || m >= PATH_LEN ? ENAMETOOLONG : 0;
}

/* A link that leads nowhere is in the way of a mount: it is replaced, in the container's own layer. */
static void clear_place(const char *path) {
    char all[PATH_LEN], name[PATH_LEN];
    struct stat st;
    const char *last = strrchr(path, '/');

    if (last == NULL || path_join(all, PLACE, path + 1, NULL) || strlen(last + 1) >= sizeof(name)) {
        return;
    }
    memcpy(name, last + 1, strlen(last + 1) + 1);
    all[strlen(all) - strlen(name) - 1] = 0;
    int dir = beneath_root(all, O_PATH | O_DIRECTORY);
    if (dir != -1 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode)) {
        unlinkat(dir, name, 0);
    }
    if (dir != -1) {
        close(dir);
    }
}

static int place(int root, const struct sandbox_mount *m, int tree) {
    char where[PATH_LEN];
    int e = lead(root, m->target, where);
    struct sandbox_mount there = {m->source, where, m->read_only};

    if (e) {
        return e;
    }
    clear_place(where);
    return mounts_place(PLACE, &there, tree);
}

/* The pod's own /proc and /dev as they are, with what is mounted below. */
static int place_system(int root) {
    static const struct sandbox_mount v[] = {
        {"/proc", "/proc", false}, {"/sys", "/sys", true}, {"/dev", "/dev", false}};
    char where[PATH_LEN];
    int e = 0;

    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]) && e == 0; i++) {
        int tree = mounts_tree(v[i].source);
        if (tree == -1) {
            return errno;
        }
        e = lead(root, v[i].target, where);
        e = e ? e : strcmp(where, v[i].target) != 0 ? ELOOP : 0;
        int at = e ? -1 : beneath_make(root, v[i].target, 0755, 0, 0);
        if (e == 0 &&
            (at == -1 || syscall(SYS_move_mount, tree, "", at, "",
                                 MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == -1)) {
            e = errno;
        }
        close(tree);
        if (at != -1) {
            close(at);
        }
    }
    return e;
}

static int make_folder(int root, const char *path) {
    char where[PATH_LEN];
    int e = lead(root, path, where);
    int fd = e ? -1 : beneath_make(root, where, 0755, 0, 0);

    e = e ? e : fd == -1 ? errno : 0;
    if (fd != -1) {
        close(fd);
    }
    return e;
}

static int enter(bool read_only) {
    unsigned long flags = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | (read_only ? MS_RDONLY : 0);

    return chdir(PLACE) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
                   umount2(".", MNT_DETACH) == -1 || chdir("/") == -1 ||
                   mount(NULL, "/", NULL, flags, NULL) == -1
               ? errno
               : 0;
}

int rootfs_enter(const struct sandbox_root *r, const struct rootfs_sources *c,
                 const struct sandbox_mount *v, const int *trees, size_t n, const char *cwd,
                 const char **ret_what) {
    int e;

    *ret_what = "copy the pod's mounts";
    if (unshare(CLONE_NEWNS) == -1 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == -1) {
        return errno;
    }
    *ret_what = "join the image and the container's layer (overlayfs)";
    if ((e = join_layers(c))) {
        return e;
    }
    int root = open(PLACE, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root == -1) {
        return errno;
    }
    *ret_what = "mount /proc, /sys and /dev in the image";
    e = place_system(root);
    for (size_t i = 0; i < n && e == 0; i++) {
        *ret_what = "mount the volumes";
        e = place(root, &v[i], trees[i]);
    }
    if (e == 0 && cwd) {
        *ret_what = "make the working folder";
        e = make_folder(root, cwd);
    }
    close(root);
    if (e) {
        return e;
    }
    *ret_what = "enter the image";
    return enter(r->read_only);
}
