/*
 * sandbox: see sandbox.h. This file: users, capabilities, limits, seccomp and the order of it all;
 * Landlock, cgroups and mounts have files of their own.
 */
#include "node/sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "node/files/files.h"
#include "node/mounts/mounts.h"

enum { FILTER_MAX = 4096 };

/* What moves a file to another project, whose quota it then uses: a number that libseccomp has no name for yet, and
 * FS_IOC_FSSETXATTR, whose header does not go with sys/mount.h. */
enum { CALL_FILE_SETATTR = 469 };
#define SET_FILE_PROJECT _IOW('X', 32, char[28])

static struct sock_filter filter[FILTER_MAX];
static unsigned short filter_n;

/* Calls that a workload has no business with. io_uring and clone3 say "not there": libraries then
 * take the old way. */
static const struct {
    int call, error;
} denied[] = {
    {SCMP_SYS(ptrace), EPERM},
    {SCMP_SYS(process_vm_readv), EPERM},
    {SCMP_SYS(process_vm_writev), EPERM},
    {SCMP_SYS(kcmp), EPERM},
    {SCMP_SYS(mount), EPERM},
    {SCMP_SYS(umount2), EPERM},
    {SCMP_SYS(pivot_root), EPERM},
    {SCMP_SYS(move_mount), EPERM},
    {SCMP_SYS(open_tree), EPERM},
    {SCMP_SYS(fsopen), EPERM},
    {SCMP_SYS(fsmount), EPERM},
    {SCMP_SYS(fsconfig), EPERM},
    {SCMP_SYS(fspick), EPERM},
    {SCMP_SYS(mount_setattr), EPERM},
    {SCMP_SYS(chroot), EPERM},
    {SCMP_SYS(setns), EPERM},
    {SCMP_SYS(unshare), EPERM},
    {SCMP_SYS(bpf), EPERM},
    {SCMP_SYS(perf_event_open), EPERM},
    {SCMP_SYS(keyctl), EPERM},
    {SCMP_SYS(add_key), EPERM},
    {SCMP_SYS(request_key), EPERM},
    {SCMP_SYS(userfaultfd), EPERM},
    {SCMP_SYS(kexec_load), EPERM},
    {SCMP_SYS(kexec_file_load), EPERM},
    {SCMP_SYS(init_module), EPERM},
    {SCMP_SYS(finit_module), EPERM},
    {SCMP_SYS(delete_module), EPERM},
    {SCMP_SYS(reboot), EPERM},
    {SCMP_SYS(swapon), EPERM},
    {SCMP_SYS(swapoff), EPERM},
    {SCMP_SYS(settimeofday), EPERM},
    {SCMP_SYS(clock_settime), EPERM},
    {SCMP_SYS(clock_adjtime), EPERM},
    {SCMP_SYS(adjtimex), EPERM},
    {SCMP_SYS(sethostname), EPERM},
    {SCMP_SYS(setdomainname), EPERM},
    {SCMP_SYS(acct), EPERM},
    {SCMP_SYS(quotactl), EPERM},
    {SCMP_SYS(quotactl_fd), EPERM},
    {CALL_FILE_SETATTR, ENOSYS},
    {SCMP_SYS(syslog), EPERM},
    {SCMP_SYS(iopl), EPERM},
    {SCMP_SYS(ioperm), EPERM},
    {SCMP_SYS(open_by_handle_at), EPERM},
    {SCMP_SYS(name_to_handle_at), EPERM},
    {SCMP_SYS(lookup_dcookie), EPERM},
    {SCMP_SYS(nfsservctl), EPERM},
    {SCMP_SYS(vhangup), EPERM},
    {SCMP_SYS(io_uring_setup), ENOSYS},
    {SCMP_SYS(io_uring_enter), ENOSYS},
    {SCMP_SYS(io_uring_register), ENOSYS},
    {SCMP_SYS(clone3), ENOSYS},
};

static int add_rules(scmp_filter_ctx f) {
    for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
        int r = seccomp_rule_add(f, SCMP_ACT_ERRNO((unsigned)denied[i].error), denied[i].call, 0);
        if (r && r != -EDOM && r != -EINVAL) { /* a call this architecture does not have */
            return r;
        }
    }
    int r = seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, SET_FILE_PROJECT));
    if (r) {
        return r;
    }
    /* No new user namespaces: they open kernel code that only root should reach. */
    return seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                            SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWUSER, CLONE_NEWUSER));
}

int sandbox_prepare(struct err *err) {
    scmp_filter_ctx f = filter_n ? NULL : seccomp_init(SCMP_ACT_ALLOW);

    if (filter_n) {
        return 0;
    }
    /* A tree: the kernel runs the filter once for each system call there is whenever it is put on. */
    int r = f ? seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2) : -ENOMEM;
    r = r ? r : add_rules(f);
    int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (r == 0 && fd != -1) {
        r = seccomp_export_bpf(f, fd);
    }
    ssize_t n = r == 0 && fd != -1 ? pread(fd, filter, sizeof(filter), 0) : -1;
    if (fd != -1) {
        close(fd);
    }
    if (f) {
        seccomp_release(f);
    }
    if (n <= 0 || n == (ssize_t)sizeof(filter)) {
        return err_set(err, ERR_UNSUPPORTED, "the seccomp filter cannot be made");
    }
    filter_n = (unsigned short)((size_t)n / sizeof(filter[0]));
    return 0;
}

void sandbox_probe(struct sandbox_probe *p) {
    *p = (struct sandbox_probe){
        .landlock_abi = landlock_abi(), .root = geteuid() == 0, .cgroup = cgroup_probe()};
    p->seccomp = prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0 && sandbox_prepare(NULL) == 0;
    p->mounts = cell_possible(&p->user);
    p->users = p->mounts && p->root && cell_users_possible();
}

void sandbox_describe(const struct sandbox_probe *p, struct buf *out) {
    static const char *const cgroups[] = {
        "no cgroups: memory, cpu and process limits are not enforced", "cgroup v1", "cgroup v2"};

    if (p->mounts) {
        buf_c(out, p->user ? "namespaces (by a user namespace)" : "namespaces");
    } else {
        buf_c(out, "no namespaces: volumes only below $BERTH_ROOT");
    }
    if (p->landlock_abi) {
        buf_f(out, ", Landlock %d", p->landlock_abi);
    } else {
        buf_c(out, ", no Landlock");
    }
    buf_c(out, p->seccomp ? ", seccomp" : ", no seccomp");
    buf_c(out, p->users  ? ", a user id and a user namespace per pod"
               : p->root ? ", a user id per pod (the kernel allows no user namespace)"
                         : ", no user id per pod (not root)");
    buf_f(out, ", %s", cgroups[p->cgroup]);
}

int sandbox_images(const struct sandbox_probe *p, const char *dir, struct err *err) {
    int status = 0;

    if (!p->mounts) {
        return err_set(err, ERR_UNSUPPORTED, "this machine has no namespaces for pods");
    }
    int code = dir_make(dir, 0700, err);
    pid_t pid = code ? -1 : fork();
    if (pid == 0) {
        int e = cell_user(NULL);
        e = e || unshare(CLONE_NEWNS) == 0 ? e : errno;
        e = e || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 ? e : errno;
        _exit(e ? e : rootfs_try(dir));
    }
    if (code == 0 && (pid == -1 || waitpid(pid, &status, 0) != pid)) {
        code = err_sys(err, errno, "%s", dir);
    } else if (code == 0 && status) {
        code = err_set(err, ERR_UNSUPPORTED,
                       "overlayfs cannot keep what containers write in %s (%s): choose a folder on "
                       "ext4, xfs, btrfs",
                       dir, strerror(WIFEXITED(status) ? WEXITSTATUS(status) : EIO));
    }
    dir_remove(dir, NULL);
    return code;
}

static void lack(struct buf *out, bool is, const char *what) {
    if (is) {
        buf_f(out, "%s%s", out->n ? "; " : "", what);
    }
}

void sandbox_lacks(const struct sandbox_probe *p, struct buf *out) {
    lack(out, !p->mounts,
         "namespaces (neither root with CAP_SYS_ADMIN nor user namespaces): pods see the machine's "
         "processes, "
         "devices and shared memory");
    lack(out, !p->mounts && !p->root,
         "user ids per pod (not root): pods may signal and trace each other's processes");
    lack(out, !p->landlock_abi, "Landlock: files are protected by mounts and modes alone");
    lack(out, !p->seccomp, "seccomp: pods may make every system call");
    lack(out, p->cgroup == CGROUP_NONE, "cgroups: memory, cpu and process limits do not hold");
}

static int limits(const struct sandbox *s) {
    struct rlimit none = {0, 0}, files, own;

    if (setrlimit(RLIMIT_CORE, &none) == -1) {
        return errno;
    }
    /* Without a user of the project's own this would count Berth and whoever else runs as its user. */
    if (s->uid && s->user_pids) {
        /* A hard limit that is lower already stays: a root without CAP_SYS_RESOURCE may not raise it. */
        rlim_t most = (rlim_t)s->user_pids;
        if (getrlimit(RLIMIT_NPROC, &own) == 0 && own.rlim_max < most) {
            most = own.rlim_max;
        }
        own = (struct rlimit){most, most};
        if (setrlimit(RLIMIT_NPROC, &own) == -1) {
            return errno;
        }
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max < 65536 ? files.rlim_max : 65536;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    return 0;
}

int sandbox_drop_bounds(void) {
    for (int cap = 0; cap < 64; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == -1) {
            return errno == EINVAL ? 0 : errno; /* the kernel has no more of them */
        }
    }
    return 0;
}

/* `users`: a user namespace to become it in (rootfs.h); -1: the cell's, if it has one. Entering one gives every
 * capability in it, so they are dropped behind it. */
static int become(const struct sandbox *s, const struct sandbox_root *root, int users) {
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}, {0}};
    uid_t uid = root ? root->uid : s->uid;
    gid_t gid = root ? root->gid : s->gid;
    bool some =
        geteuid() == 0 || s->cell; /* in a user namespace whoever made it has capabilities */

    if (s->uid && syscall(SYS_setgroups, s->n_groups, s->groups) == -1) {
        return errno;
    }
    if (users != -1 && setns(users, CLONE_NEWUSER) == -1) {
        return errno;
    }
    int e = users == -1 && s->cell ? cell_enter_users(s->cell) : 0;
    if (e) {
        return e;
    }
    e = some && prctl(PR_CAPBSET_READ, 0, 0, 0, 0) == 1 ? sandbox_drop_bounds() : 0;
    if (e) {
        return e;
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if ((s->uid || root) && (setresgid(gid, gid, gid) == -1 || setresuid(uid, uid, uid) == -1)) {
        return errno;
    }
    return syscall(SYS_capset, &head, none) == -1 ? errno : 0;
}

static int enter_seccomp(void) {
    struct sock_fprog program = {.len = filter_n, .filter = filter};

    if (filter_n == 0) {
        return 0;
    }
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == -1 ? errno : 0;
}

/* Namespaces and mounts: a container's own, or (`beside`) those of one that runs. */
static int enter_spaces(const struct sandbox *s, pid_t beside, const struct sandbox_container *c,
                        int *ret_users, const char **ret_what) {
    struct rootfs_sources sources = {-1, -1, -1};
    int *trees = NULL, e;

    if (s->cell == NULL || s->cell->fd == -1) {
        *ret_what = c->root ? "enter an image without namespaces" : "mount the volumes";
        return c->n_mounts || c->root ? ENOTSUP : 0;
    }
    if (beside) {
        *ret_what = "enter the container";
        e = c->root ? rootfs_users_of(beside, ret_users) : 0;
        return e ? e : cell_join(s->cell, beside);
    }
    *ret_what = "open the volumes";
    if (c->n_mounts && (e = mounts_open(c->mounts, c->n_mounts, s->pod_dir, &trees))) {
        return e;
    }
    if (c->root && (e = rootfs_open(c->root, s->uid, s->gid, &sources, ret_what))) {
        return e;
    }
    *ret_what = "enter the pod's namespaces";
    e = cell_enter(s->cell);
    *ret_users = sources.users;
    if (e == 0 && c->root) {
        e = rootfs_enter(c->root, &sources, c->mounts, trees, c->n_mounts, c->cwd, ret_what);
    } else if (e == 0 && c->n_mounts) {
        *ret_what = "mount the volumes";
        e = mounts_enter(c->mounts, trees, c->n_mounts, MOUNTS_SPARE);
    }
    mem_free(trees);
    return e;
}

static int enter(const struct sandbox *s, pid_t beside, const struct sandbox_container *c,
                 const char **ret_what) {
    int e, users = -1;

    if ((e = enter_spaces(s, beside, c, &users, ret_what))) {
        return e;
    }
    *ret_what = "set limits";
    if ((e = limits(s))) {
        return e;
    }
    umask(s->gid && s->gid != (gid_t)s->uid
              ? 002
              : 022); /* see users.h: a project's files are its group's */
    *ret_what = "become the pod's user";
    if ((e = become(s, c->root, users))) {
        return e;
    }
    /* Dies with its shim: a killed shim leaves no workload that nobody watches. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    *ret_what = "enter the working folder";
    if (c->cwd && chdir(c->cwd) == -1) {
        return errno;
    }
    *ret_what = "give up new privileges";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1) {
        return errno;
    }
    *ret_what = "enter Landlock";
    if ((e = landlock_enter(s, c))) {
        return e;
    }
    *ret_what = "enter seccomp";
    return enter_seccomp();
}

int sandbox_enter(const struct sandbox *s, const struct sandbox_container *c,
                  const char **ret_what) {
    return enter(s, 0, c, ret_what);
}

int sandbox_join(const struct sandbox *s, pid_t beside, const struct sandbox_container *c,
                 const char **ret_what) {
    return enter(s, beside, c, ret_what);
}
