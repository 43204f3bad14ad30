/* cell_inside: see cell_inside.h. */
#include "node/sandbox/cell_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/files/files.h"
#include "node/sandbox/cell.h"

enum { SHM_PART = 4 /* of the machine's memory, for a pod without a limit */ };

/* ---- while the machine is in sight ---- */

static int open_tree_at(const char *dir, const char *name) {
    char path[PATH_LEN];

    return path_join(path, dir, name, NULL)
               ? -1
               : (int)syscall(SYS_open_tree, AT_FDCWD, path,
                              (unsigned)(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

int cell_sources_open(struct cell_sources *c, const struct sandbox *s, struct cell_report *f) {
    *c = (struct cell_sources){-1, -1, -1};
    if (s->pod_dir) {
        snprintf(f->what, sizeof(f->what), "open the pod's folder");
        c->root = open_tree_at(s->pod_dir, "root");
        c->tmp = open_tree_at(s->pod_dir, "root/tmp");
        if (c->root == -1 || c->tmp == -1) {
            return errno;
        }
    }
    devices_open(s->devices, s->n_devices);
    if (s->netns) {
        snprintf(f->what, sizeof(f->what), "open its network");
        c->netns = open(s->netns, O_RDONLY | O_CLOEXEC);
        return c->netns == -1 ? errno : 0;
    }
    return 0;
}

void cell_sources_close(struct cell_sources *c) {
    const int v[] = {c->root, c->tmp, c->netns};

    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        if (v[i] != -1) {
            close(v[i]);
        }
    }
}

/* ---- the view ---- */

static int attach(int tree, const char *path) {
    return syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) == -1 ? errno
                                                                                            : 0;
}

static int mount_memory(const char *path, int64_t bytes, unsigned mode, uid_t uid, gid_t gid) {
    char options[128];

    snprintf(options, sizeof(options), "mode=0%o,uid=%u,gid=%u,size=%lld", mode, (unsigned)uid,
             (unsigned)gid, (long long)bytes);
    return mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, options) == -1 ? errno : 0;
}

static int64_t shm_bytes(const struct sandbox *s) {
    return s->shm_bytes      ? s->shm_bytes
           : s->memory_bytes ? s->memory_bytes
                             : (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / SHM_PART;
}

static int own_devices(const struct sandbox *s) {
    int e = s->n_devices ? devices_make("/dev", s->devices, s->n_devices) : 0;

    e = e ? e : mount_memory("/dev/shm", shm_bytes(s), 01777, geteuid(), getegid());
    if (e == 0 && mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                        "newinstance,ptmxmode=0666,mode=0620") == -1) {
        e = errno;
    }
    return e;
}

/* Where a tmpfs is put so that the way to `path` can be made below it: over the first folder on the way that is not
 * in the view's power to add to, or that pods' users may not pass; else over `hide` itself. */
static int find_cover(const char *path, const char *hide, uid_t user, char out[PATH_LEN]) {
    size_t n = strlen(hide);
    struct stat st;

    if (n >= PATH_LEN) {
        return ENAMETOOLONG;
    }
    memcpy(out, hide, n + 1);
    for (size_t i = 1, last = 0; i <= n; i++) {
        if (hide[i] != '/' && hide[i] != 0) {
            continue;
        }
        out[i] = 0;
        if (stat(out, &st) == -1 && mkdir(out, 0755) == -1) {
            out[last ? last : 1] =
                0; /* the one before; "/" cannot be covered, and is refused by mount */
            return 0;
        }
        if (user && stat(out, &st) == 0 && !(st.st_mode & S_IXOTH) && st.st_uid != user) {
            return 0;
        }
        out[i] = hide[i];
        last = i;
    }
    return 0;
}

static int own_folder(const struct sandbox *s, const struct cell_sources *c) {
    char cover[PATH_LEN], root[PATH_LEN];
    int e = path_join(root, s->pod_dir, "root", NULL) ? ENAMETOOLONG : attach(c->tmp, "/tmp");

    e = e ? e : find_cover(root, s->data_dir, s->uid, cover);
    if (e) {
        return e;
    }
    if (mount("tmpfs", cover, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k,nr_inodes=64") ==
            -1 ||
        dir_make(root, 0755, NULL)) {
        return errno ? errno : EIO;
    }
    e = attach(c->root, root);
    for (size_t i = 0; i < s->n_memory && e == 0; i++) {
        e = mount_memory(s->memory[i].path, s->memory[i].bytes ? s->memory[i].bytes : shm_bytes(s),
                         0777, s->uid ? s->uid : geteuid(), s->gid ? s->gid : getegid());
    }
    if (e == 0 && mount(NULL, cover, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV,
                        NULL) == -1) {
        e = errno;
    }
    return e;
}

static int loopback(void) {
    struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int e = fd == -1 || ioctl(fd, SIOCSIFFLAGS, &r) == -1 ? errno : 0;

    if (fd != -1) {
        close(fd);
    }
    return e;
}

static int put_together(const struct sandbox *s, const struct cell_sources *c, const char **what) {
    int e, own = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS |
                 (s->own_network && s->netns == NULL ? CLONE_NEWNET : 0);

    *what = "join its network";
    if (c->netns != -1 && setns(c->netns, CLONE_NEWNET) == -1) {
        return errno;
    }
    *what = "copy the view of the machine";
    if (setns(CELL_VIEW_FD, CLONE_NEWNS) == -1 || unshare(own) == -1) {
        return errno;
    }
    *what = "name it";
    if (s->hostname && sethostname(s->hostname, strlen(s->hostname)) == -1) {
        return errno;
    }
    *what = "bring its loopback up";
    if ((own & CLONE_NEWNET) && (e = loopback())) {
        return e;
    }
    *what = "mount its /proc";
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == -1) {
        return errno;
    }
    *what = "make its /dev";
    if ((e = own_devices(s))) {
        return e;
    }
    *what = "mount its own folder";
    return s->pod_dir ? own_folder(s, c) : 0;
}

/* ---- process 1 ---- */

/* Capabilities that it could gain by executing something stay: it executes nothing, and could gain none without new
 * privileges. */
static void give_up_rights(void) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_capset, &head, none);
}

_Noreturn void cell_inside(const struct sandbox *s, const struct cell_sources *c, bool users,
                           int report) {
    struct cell_report f = {0};
    const char *what = "begin";
    sigset_t all;

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, "berth-init", 0, 0, 0);
    setsid();
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    umask(0);
    f.error = put_together(s, c, &what);
    if (f.error == 0 && users && unshare(CLONE_NEWUSER) == -1) {
        what = "make its user namespace";
        f.error = errno;
    }
    snprintf(f.what, sizeof(f.what), "%s", what);
    give_up_rights();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* again: other credentials may forget it */
    (void)!write(report, &f, sizeof(f));
    if (f.error) {
        _exit(1);
    }
    syscall(SYS_close_range, 0u, ~0u, 0u);
    sigemptyset(&all);
    sigaddset(&all, SIGCHLD);
    for (;;) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        sigwaitinfo(&all, NULL);
    }
}
