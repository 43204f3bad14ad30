/*
 * volume_quota: a file system with project quotas, made in a file and mounted for this process alone, holds folders to
 * their sizes. Who is not root, or has a kernel that does not mount it, is told which tests did not run.
 */
#include "node/files/testbed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "node/volumes/volume_files.h"

enum { MIB = 1 << 20, SOMEBODY = 1900000000 };

/* What is mounted is gone when the process is, however it ends. */
static bool mounts_are_own;

/* A file system, how it is made, and what a write beyond the limit of a project says. */
struct file_system {
    const char *name, *make[8];
    int mib, full;
};

static struct file_system ext4 = {
    "ext4", {"mkfs.ext4", "-q", "-O", "quota,project", "-E", "quotatype=prjquota"}, 64, EDQUOT};
static struct file_system xfs = {"XFS", {"mkfs.xfs", "-q"}, 512, ENOSPC};

struct bed {
    const struct file_system *fs;
    char base[PATH_LEN], image[PATH_LEN], mount[PATH_LEN];
    struct log_fd log;
    struct loop *loop;
    int dir;
    struct volume_quota quota;
    int copied;
};

static bool ran(const char *const *argv) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* NULL, or why there is no such file system here. */
static const char *mount_image(struct bed *b) {
    const char *const *word = b->fs->make;
    const char *make[10] = {0};
    const char *const attach[] = {"mount", "-o", "loop,prjquota", b->image, b->mount, NULL};
    int fd = mounts_are_own ? open(b->image, O_CREAT | O_RDWR | O_CLOEXEC, 0600) : -1;
    size_t n = 0;
    if (fd == -1) {
        return "only root with a mount namespace of its own can mount one";
    }
    assert_int_equal(ftruncate(fd, b->fs->mib * MIB), 0);
    close(fd);
    for (; word[n] != NULL; n++) {
        make[n] = word[n];
    }
    make[n] = b->image;
    if (!ran(make)) {
        return "it cannot be made";
    }
    return ran(attach) ? NULL
                       : "the kernel does not mount it (it needs loop devices, CONFIG_QFMT_V2 for "
                         "ext4, CONFIG_XFS_QUOTA for XFS)";
}

static int tear_down(void **state) {
    struct bed *b = *state;
    if (b->dir != -1) {
        close(b->dir);
        umount2(b->mount, MNT_DETACH);
    }
    loop_free(b->loop);
    dir_remove(b->base, NULL);
    free(b);
    return 0;
}

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    struct err err;
    b->fs = *state;
    *state = b;
    test_folder(b->base);
    b->dir = -1;
    b->loop = loop_new(&err);
    log_fd_init(&b->log, LOG_ERROR, 2);
    assert_ok(path_join(b->image, b->base, "image", &err), &err);
    assert_ok(path_join(b->mount, b->base, "mount", &err), &err);
    assert_int_equal(mkdir(b->mount, 0755), 0);
    const char *why = mount_image(b);
    if (why == NULL) {
        b->dir = open(b->mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_int_not_equal(b->dir, -1);
        volume_quota_init(&b->quota, b->dir, &b->log.log);
        return 0;
    }
    print_message("%s with project quotas is not tested: %s\n", b->fs->name, why);
    return 0;
}

static void needs_mount(const struct bed *b) {
    if (b->dir == -1) {
        skip();
    }
    assert_true(b->quota.on);
}

static int folder(struct bed *b, const char *name) {
    assert_int_equal(mkdirat(b->dir, name, 0700), 0);
    int fd = openat(b->dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_not_equal(fd, -1);
    assert_int_equal(fchown(fd, SOMEBODY, SOMEBODY), 0);
    return fd;
}

static int add(int dir, const char *name, size_t bytes) {
    static const char block[64 << 10];
    int fd = openat(dir, name, O_CREAT | O_WRONLY | O_APPEND, 0600), e = fd == -1 ? errno : 0;
    while (e == 0 && bytes > 0) {
        ssize_t n = write(fd, block, bytes < sizeof(block) ? bytes : sizeof(block));
        e = n == -1 ? errno : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    e = e == 0 && fsync(fd) == -1 ? errno : e;
    close(fd);
    return e;
}

/* Adds to a file as somebody whom limits bind. An errno. */
static int write_as_pod(int dir, const char *name, size_t bytes) {
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        bool other = setresgid(SOMEBODY, SOMEBODY, SOMEBODY) == 0 &&
                     setresuid(SOMEBODY, SOMEBODY, SOMEBODY) == 0;
        _exit(other ? add(dir, name, bytes) : 255);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static uint32_t project(int dir) {
    struct fsxattr x;
    assert_int_equal(ioctl(dir, FS_IOC_FSGETXATTR, &x), 0);
    return x.fsx_projid;
}

static struct if_dqblk limits(struct bed *b, uint32_t id) {
    struct if_dqblk d = {0};
    assert_int_equal(syscall(SYS_quotactl_fd, b->dir, QCMD(Q_GETQUOTA, PRJQUOTA), id, &d), 0);
    return d;
}

static void a_write_beyond_the_size_fails(void **state) {
    struct bed *b = *state;
    needs_mount(b);
    int one = folder(b, "one"), two = folder(b, "two");
    assert_true(volume_quota_hold(&b->quota, one, MIB));
    assert_true(volume_quota_hold(&b->quota, two, MIB));
    assert_int_equal(write_as_pod(one, "file", MIB / 2), 0);
    assert_int_equal(write_as_pod(one, "file", MIB), b->fs->full);
    assert_true(limits(b, project(one)).dqb_curspace <= MIB);
    assert_int_equal(write_as_pod(two, "file", MIB / 2), 0);
    assert_true(volume_quota_hold(&b->quota, one, 4 * MIB));
    assert_int_equal(write_as_pod(one, "file", MIB), 0);
    assert_int_equal(write_as_pod(two, "file", MIB), b->fs->full);
    close(one);
    close(two);
}

static void files_are_bounded(void **state) {
    struct bed *b = *state;
    char name[16];
    needs_mount(b);
    int v = folder(b, "v"), n = 0, e = 0;
    assert_true(volume_quota_hold(&b->quota, v, MIB));
    assert_int_equal(limits(b, project(v)).dqb_ihardlimit, 1000);
    assert_true(volume_quota_hold(&b->quota, v, 4 * MIB));
    assert_int_equal(limits(b, project(v)).dqb_ihardlimit, 1024);
    while (e == 0 && n++ < 1024) {
        snprintf(name, sizeof(name), "%d", n);
        e = write_as_pod(v, name, 0);
    }
    assert_int_equal(e, b->fs->full);
    assert_int_equal(n, 1024); /* the folder is one itself */
    close(v);
}

static void a_project_is_one_folders(void **state) {
    struct bed *b = *state;
    struct if_dqblk theirs = {.dqb_bhardlimit = 100, .dqb_valid = QIF_LIMITS};
    needs_mount(b);
    int one = folder(b, "one"), two = folder(b, "two"), old = folder(b, "old");
    assert_int_equal(syscall(SYS_quotactl_fd, b->dir, QCMD(Q_SETQUOTA, PRJQUOTA),
                             VOLUME_PROJECT_FIRST + 1, &theirs),
                     0);
    assert_true(volume_quota_mark(&b->quota, one));
    assert_true(volume_quota_mark(&b->quota, one));
    assert_true(volume_quota_hold(&b->quota, two, MIB));
    assert_int_equal(project(one), VOLUME_PROJECT_FIRST);
    assert_int_equal(project(two), VOLUME_PROJECT_FIRST + 2);
    assert_int_equal(add(old, "file", 1), 0); /* would not belong to it */
    assert_false(volume_quota_hold(&b->quota, old, MIB));
    assert_int_equal(project(old), 0);
    close(one);
    close(two);
    close(old);
}

static void a_cleared_project_has_no_limit(void **state) {
    struct bed *b = *state;
    needs_mount(b);
    int v = folder(b, "v");
    assert_true(volume_quota_hold(&b->quota, v, MIB));
    assert_int_equal(limits(b, project(v)).dqb_bhardlimit, MIB / 1024);
    volume_quota_clear(&b->quota, v);
    assert_int_equal(limits(b, project(v)).dqb_bhardlimit, 0);
    assert_int_equal(limits(b, project(v)).dqb_ihardlimit, 0);
    assert_int_equal(write_as_pod(v, "file", 2 * MIB), 0);
    close(v);
}

static void on_copy(void *ctx, bool ok) {
    ((struct bed *)ctx)->copied = ok ? 1 : -1;
}

static bool is_copied(void *ctx) {
    return ((struct bed *)ctx)->copied != 0;
}

static void a_restored_volume_is_held_with_what_it_has(void **state) {
    struct bed *b = *state;
    struct volume_files f;
    struct err err;
    needs_mount(b);
    assert_ok(volume_files_init(&f, b->loop, &b->log.log, b->mount, &err), &err);
    assert_int_equal(mkdirat(f.dir, ".snapshots/s", 0700), 0);
    int s = openat(f.dir, ".snapshots/s", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(add(s, "file", MIB / 2), 0);
    assert_ok(
        volume_files_copy(&f, VOLUME_SNAPSHOT, STR("s"), VOLUME_FOLDER, STR("v"), on_copy, b, &err),
        &err);
    test_until(b->loop, is_copied, b);
    assert_int_equal(b->copied, 1);
    assert_true(volume_files_hold(&f, STR("v"), MIB));
    int v = openat(f.dir, "v", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fchown(v, SOMEBODY, SOMEBODY), 0);
    assert_true(limits(b, project(v)).dqb_curspace >= MIB / 2);
    assert_int_equal(write_as_pod(v, "more", MIB), b->fs->full);
    assert_ok(volume_files_retire(&f, VOLUME_FOLDER, STR("v"), &err), &err);
    assert_int_equal(limits(b, project(v)).dqb_bhardlimit, 0);
    close(v);
    close(s);
    volume_files_release(&f);
}

/* Where there are no project quotas. */
static void nothing_is_held_elsewhere(void **state) {
    struct log_fd log;
    struct volume_quota q;
    log_fd_init(&log, LOG_ERROR, 2);
    int dir = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    volume_quota_init(&q, dir, &log.log);
    assert_false(q.on);
    assert_false(volume_quota_mark(&q, dir));
    assert_false(volume_quota_hold(&q, dir, MIB));
    volume_quota_clear(&q, dir);
    close(dir);
}

#define MOUNTED(test, fs) cmocka_unit_test_prestate_setup_teardown(test, set_up, tear_down, &(fs))
#define ON(fs)                                                                                     \
    MOUNTED(a_write_beyond_the_size_fails, fs), MOUNTED(files_are_bounded, fs),                    \
        MOUNTED(a_project_is_one_folders, fs), MOUNTED(a_cleared_project_has_no_limit, fs),        \
        MOUNTED(a_restored_volume_is_held_with_what_it_has, fs)

int main(void) {
    const struct CMUnitTest tests[] = {ON(ext4), ON(xfs),
                                       cmocka_unit_test(nothing_is_held_elsewhere)};
    mounts_are_own = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
                     mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
