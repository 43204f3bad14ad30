/* view: see view.h. */
#include "node/sandbox/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/files/files.h"
#include "node/mounts/mounts.h"
#include "node/sandbox/devices.h"

struct view_failure {
    int error;
    char what[60];
};

/* Not the machine's: made empty, and filled by each pod. */
static const char *const own[] = {"proc", "dev", "tmp", "run", MOUNTS_SPARE + 1, "lost+found"};

static struct timespec root_changed;

static bool is_own(const char *name) {
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (!strcmp(name, own[i])) {
            return true;
        }
    }
    return false;
}

static int bind_read_only(int source, const char *to) {
    struct mount_attr a = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    char from[40];

    snprintf(from, sizeof(from), "/proc/self/fd/%d", source);
    if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) == -1) {
        return errno;
    }
    return syscall(SYS_mount_setattr, AT_FDCWD, to, (unsigned)AT_RECURSIVE, &a, sizeof(a)) == -1
               ? errno
               : 0;
}

/* One entry of the machine's root, open as `at`. */
static int add_entry(const char *root, const char *name, int at) {
    char to[PATH_LEN], text[PATH_LEN];
    struct stat st;

    if (fstat(at, &st) == -1 || path_join(to, root, name, NULL)) {
        return 0;
    }
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(at, "", text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = 0;
        return n > 0 && symlink(text, to) == -1 ? errno : 0;
    }
    if (!S_ISDIR(st.st_mode)) {
        return 0;
    }
    return mkdir(to, 0755) == -1 ? errno : bind_read_only(at, to);
}

static int add_entries(const char *root) {
    struct dirent *d;
    DIR *dir = opendir("/");
    int e = dir ? 0 : errno;

    while (e == 0 && (d = readdir(dir))) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..") || is_own(d->d_name)) {
            continue;
        }
        int at = openat(dirfd(dir), d->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (at != -1) {
            e = add_entry(root, d->d_name, at);
            close(at);
        }
    }
    if (dir) {
        closedir(dir);
    }
    return e;
}

/* Where pods have what their service account may use, if they have one: a place that need not be made for each. */
static int add_account(const char *root) {
    char path[PATH_LEN];

    return path_join(path, root, "run/secrets/kubernetes.io/serviceaccount", NULL) ||
                   dir_make(path, 0755, NULL)
               ? EIO
               : 0;
}

static int add_own(const char *root) {
    char path[PATH_LEN];

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (path_join(path, root, own[i], NULL) ||
            (mkdir(path, strcmp(own[i], MOUNTS_SPARE + 1) == 0 ? 0700 : 0755) == -1 &&
             errno != EEXIST)) {
            return errno;
        }
    }
    return add_account(root);
}

/* What /etc/resolv.conf leads to, where that is in /run: names would not resolve otherwise. */
static int add_resolver(const char *root) {
    char real[PATH_MAX], path[PATH_LEN];

    if (realpath("/etc/resolv.conf", real) == NULL || strncmp(real, "/run/", 5) != 0 ||
        path_join(path, root, real + 1, NULL)) {
        return 0;
    }
    char *name = strrchr(path, '/');
    *name = 0;
    if (dir_make(path, 0755, NULL)) {
        return EIO;
    }
    *name = '/';
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644),
        source = open(real, O_PATH | O_CLOEXEC);
    int e = fd == -1 || source == -1 ? errno : bind_read_only(source, path);
    close(fd);
    close(source);
    return e;
}

/* An empty, read-only folder over `path`; where there is none, nothing is to be hidden. */
static int hide(const char *root, const char *path) {
    char at[PATH_LEN];
    struct stat st;

    if (path == NULL || path[0] != '/' || path[1] == 0 || path_join(at, root, path + 1, NULL) ||
        stat(at, &st) == -1 || !S_ISDIR(st.st_mode)) {
        return 0;
    }
    return mount("tmpfs", at, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
                 "mode=0755,size=4k,nr_inodes=2") == -1
               ? errno
               : 0;
}

static int hide_home(const char *root, uid_t owner) {
    const struct passwd *p = getpwuid(owner);
    const char *home = getenv("HOME");
    int e = p ? hide(root, p->pw_dir) : 0;

    return e ? e : home && (p == NULL || strcmp(home, p->pw_dir) != 0) ? hide(root, home) : 0;
}

/* The host's proc stays below a pod's own: without root the kernel mounts another one only where one is seen whole. */
static int add_proc(const char *root) {
    char path[PATH_LEN];

    if (path_join(path, root, "proc", NULL)) {
        return ENAMETOOLONG;
    }
    return mount("/proc", path, NULL, MS_BIND | MS_REC, NULL) == -1 ? errno : 0;
}

static int build(const char *root, uid_t owner, const char **what) {
    char path[PATH_LEN];
    int e;

    *what = "mount a root";
    if (mount("tmpfs", root, "tmpfs", MS_NOSUID, "mode=0755,size=1m,nr_inodes=4k") == -1) {
        return errno;
    }
    *what = "bind the machine's folders";
    if ((e = add_own(root)) || (e = add_entries(root)) || (e = add_resolver(root))) {
        return e;
    }
    *what = "hide folders";
    if (path_join(path, root, "sys/fs/cgroup", NULL) == 0) {
        umount2(
            path,
            MNT_DETACH); /* refused in a user namespace; a pod copies fewer mounts without them */
    }
    if ((e = hide(root, "/sys/fs/cgroup")) || (owner && (e = hide_home(root, owner)))) {
        return e;
    }
    *what = "bind /proc";
    if (owner && (e = add_proc(root))) {
        return e;
    }
    *what = "make /dev";
    if (path_join(path, root, "dev", NULL)) {
        return ENAMETOOLONG;
    }
    if ((e = devices_make(path, NULL, 0))) {
        return e;
    }
    *what = "enter the root";
    if (chdir(root) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
        umount2(".", MNT_DETACH) == -1 || chdir("/") == -1 ||
        mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, NULL) == -1) {
        return errno;
    }
    return 0;
}

/* Builds in a process of its own, whose namespace outlives it by our descriptor; it waits for `go` to be closed. */
static _Noreturn void run_builder(uid_t owner, int report, int go) {
    static const char *const places[] = {"/tmp", "/mnt", "/run"};
    const char *what = "leave the machine's mounts", *root = NULL;
    struct view_failure f = {0};
    char c;

    umask(022);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && root == NULL; i++) {
        root = access(places[i], F_OK) == 0 ? places[i] : NULL;
    }
    f.error = root == NULL || unshare(CLONE_NEWNS) == -1 ||
                      mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == -1
                  ? errno
                  : build(root, owner, &what);
    snprintf(f.what, sizeof(f.what), "%s", what);
    (void)!write(report, &f, sizeof(f));
    (void)!read(go, &c, 1);
    _exit(0);
}

int view_make(uid_t owner, const char **ret_what) {
    static struct view_failure f;
    int report[2], go[2] = {-1, -1}, fd = -1;
    char path[64];
    struct stat st;

    *ret_what = "start";
    if (stat("/", &st) == 0) {
        root_changed = st.st_mtim;
    }
    if (pipe2(report, O_CLOEXEC) == -1) {
        return -1;
    }
    pid_t pid = pipe2(go, O_CLOEXEC) == -1 ? -1 : fork();
    if (pid == 0) {
        close(go[1]);
        run_builder(owner, report[1], go[0]);
    }
    close(report[1]);
    f = (struct view_failure){.error = errno, .what = "fork"};
    if (pid > 0 && read(report[0], &f, sizeof(f)) != (ssize_t)sizeof(f)) {
        f = (struct view_failure){.error = EIO, .what = "build"};
    }
    if (pid > 0 && f.error == 0) {
        snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        f.error = fd == -1 ? errno : 0;
    }
    close(report[0]);
    close(go[0]);
    close(go[1]);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    *ret_what = f.what;
    errno = f.error;
    return fd;
}

bool view_is_old(void) {
    struct stat st;

    return stat("/", &st) == 0 &&
           (st.st_mtim.tv_sec != root_changed.tv_sec || st.st_mtim.tv_nsec != root_changed.tv_nsec);
}
