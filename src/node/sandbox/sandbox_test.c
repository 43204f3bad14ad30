/* sandbox: what a pod's process may not do, tried from inside, one child a case. */
#include "node/files/testbed.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "node/sandbox/sandbox.h"

enum { TEST_UID = 1900000000 };

struct bed {
    char data[PATH_LEN], pod[PATH_LEN], root[PATH_LEN], other[PATH_LEN];
    struct sandbox sandbox;
    rlim_t few_processes; /* a hard limit that the sandbox's root may not raise; 0: none */
};

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    struct err err;

    test_folder(b->data);
    snprintf(b->pod, sizeof(b->pod), "%.500s/pods/u", b->data);
    snprintf(b->root, sizeof(b->root), "%.500s/root", b->pod);
    snprintf(b->other, sizeof(b->other), "%.500s/pods/other", b->data);
    assert_ok(dir_make(b->root, 0755, &err), &err);
    assert_ok(dir_make(b->other, 0755, &err), &err);
    assert_ok(file_store(b->other, "secret", STR("x"), 0644, &err), &err);
    b->sandbox = (struct sandbox){.data_dir = b->data, .pod_dir = b->pod, .cgroup_name = "none"};
    if (geteuid() == 0) {
        b->sandbox.uid = b->sandbox.gid = TEST_UID;
        assert_int_equal(chown(b->root, TEST_UID, TEST_UID), 0);
    }
    assert_ok(sandbox_prepare(&err), &err);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    dir_remove(b->data, NULL);
    free(b);
    return 0;
}

/* The hard limit on processes, and no CAP_SYS_RESOURCE to raise it again: root in many a container. */
static int lose_resource(rlim_t most) {
    struct rlimit few = {most, most};
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct caps[2];

    if (setrlimit(RLIMIT_NPROC, &few) == -1 || syscall(SYS_capget, &head, caps) == -1) {
        return errno;
    }
    caps[0].effective &= ~(1U << CAP_SYS_RESOURCE);
    caps[0].permitted &= ~(1U << CAP_SYS_RESOURCE);
    caps[0].inheritable &= ~(1U << CAP_SYS_RESOURCE);
    return syscall(SYS_capset, &head, caps) == -1 ? errno : 0;
}

/* Runs try(b) inside; it returns an errno, 0 for "it worked". 1000 and more: the sandbox could not be entered. */
static int inside(struct bed *b, int (*try)(const struct bed *b)) {
    int status, pipes[2], e = 0;

    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const char *what;
        e = b->few_processes ? lose_resource(b->few_processes) : 0;
        e = e ? e : cgroup_join(&b->sandbox);
        e = e ? e : sandbox_enter(&b->sandbox, &(struct sandbox_container){.cwd = b->root}, &what);
        e = e ? 1000 + e : try(b);
        (void)!write(pipes[1], &e, sizeof(e));
        _exit(0);
    }
    assert_int_equal(read(pipes[0], &e, sizeof(e)), sizeof(e));
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return e;
}

static int failed(long r) {
    return r == -1 ? errno : 0;
}

static int try_ptrace(const struct bed *b) {
    return failed(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}
static int try_mount(const struct bed *b) {
    return failed(mount("none", b->root, "tmpfs", 0, NULL));
}
static int try_namespace(const struct bed *b) {
    return failed(unshare(CLONE_NEWUSER));
}
static int try_bpf(const struct bed *b) {
    return failed(syscall(SYS_bpf, 0, NULL, 0));
}
static int try_keyctl(const struct bed *b) {
    return failed(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}
static int try_io_uring(const struct bed *b) {
    return failed(syscall(SYS_io_uring_setup, 1, NULL));
}
static int try_userfaultfd(const struct bed *b) {
    return failed(syscall(SYS_userfaultfd, 0));
}
static int try_module(const struct bed *b) {
    return failed(syscall(SYS_init_module, NULL, 0, ""));
}
static int try_project(const struct bed *b) {
    char attributes[28] = {0};
    int fd = open("mine", O_CREAT | O_RDWR, 0600);
    return failed(ioctl(fd, (1UL << 40) | _IOW('X', 32, char[28]), attributes));
}
static int try_project_by_call(const struct bed *b) {
    return failed(syscall(469, AT_FDCWD, "mine", NULL, 0, 0)); /* file_setattr */
}
static int try_setuid(const struct bed *b) {
    return failed(setresuid(0, 0, 0));
}
static int try_groups(const struct bed *b) {
    gid_t v[64];
    return getgroups(64, v) == 0 ? 0 : EEXIST;
}
static int try_signal_parent(const struct bed *b) {
    return failed(kill(getppid(), 0));
}
static int try_own_file(const struct bed *b) {
    return failed(open("mine", O_CREAT | O_RDWR, 0600));
}
static int try_system_write(const struct bed *b) {
    return failed(open("/tmp/berth-sandbox-test", O_CREAT | O_RDWR, 0600));
}
static int try_system_read(const struct bed *b) {
    return failed(open("/etc/hostname", O_RDONLY)) ? failed(open("/etc/passwd", O_RDONLY)) : 0;
}
static int try_other_pod(const struct bed *b) {
    char path[PATH_LEN + 16];
    snprintf(path, sizeof(path), "%s/secret", b->other);
    return failed(open(path, O_RDONLY));
}
static int try_thread_like_clone(const struct bed *b) {
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    return failed(waitpid(pid, NULL, 0));
}

static void test_calls(void **state) {
    struct bed *b = *state;

    assert_int_equal(inside(b, try_ptrace), EPERM);
    assert_int_equal(inside(b, try_mount), EPERM);
    assert_int_equal(inside(b, try_namespace), EPERM);
    assert_int_equal(inside(b, try_bpf), EPERM);
    assert_int_equal(inside(b, try_keyctl), EPERM);
    assert_int_equal(inside(b, try_io_uring), ENOSYS);
    assert_int_equal(inside(b, try_userfaultfd), EPERM);
    assert_int_equal(inside(b, try_module), EPERM);
    assert_int_equal(inside(b, try_project), EPERM);
    assert_int_equal(inside(b, try_project_by_call), ENOSYS);
    assert_int_equal(inside(b, try_thread_like_clone), 0);
}

/* Starts processes until it may not; each waits for our end of a pipe to close. */
static int try_many_processes(const struct bed *b) {
    int ends[2], e = 0;
    char none;

    if (pipe(ends) == -1) {
        return errno;
    }
    for (int n = 0; n < 200 && e == 0; n++) {
        pid_t pid = fork();
        if (pid == 0) {
            close(ends[1]);
            (void)!read(ends[0], &none, 1);
            _exit(0);
        }
        e = pid == -1 ? errno : 0;
    }
    close(ends[1]);
    while (wait(NULL) > 0) {
    }
    return e;
}

static void test_user_pids(void **state) {
    struct bed *b = *state;

    if (geteuid() != 0) {
        skip();
    }
    b->sandbox.user_pids = 50;
    assert_int_equal(inside(b, try_many_processes), EAGAIN);
}

static int try_processes_limit(const struct bed *b) {
    struct rlimit own;

    return getrlimit(RLIMIT_NPROC, &own) == -1 ? errno : (int)own.rlim_cur;
}

static void test_user_pids_below_a_hard_limit(void **state) {
    struct bed *b = *state;

    if (geteuid() != 0) {
        skip();
    }
    b->sandbox.user_pids = 500;
    assert_int_equal(inside(b, try_processes_limit), 500);
    b->few_processes = 300;
    assert_int_equal(inside(b, try_processes_limit), 300);
    b->sandbox.user_pids = 200;
    assert_int_equal(inside(b, try_processes_limit), 200);
}

static void test_user(void **state) {
    struct bed *b = *state;

    if (geteuid() != 0) {
        skip();
    }
    assert_int_equal(inside(b, try_setuid), EPERM);
    assert_int_equal(inside(b, try_groups), 0);
    assert_int_equal(inside(b, try_signal_parent), EPERM);
}

static void test_files(void **state) {
    struct bed *b = *state;

    assert_int_equal(inside(b, try_own_file), 0);
    assert_int_equal(inside(b, try_system_read), 0);
    if (landlock_abi() == 0) {
        skip();
    }
    assert_int_equal(inside(b, try_system_write), EACCES);
    assert_int_equal(inside(b, try_other_pod), EACCES);
}

/* A folder on the way to a mount point that a tenant may write to: while it is made anew, its entry `shared/way/x` is
 * now a folder of the tenant's, now a link to another's secret. */
struct swapper {
    char way[PATH_LEN];
    pid_t pid;
};

static void start_swapping(struct bed *b, struct swapper *s) {
    char real[PATH_LEN + 16], link[PATH_LEN + 16];
    struct err err;

    snprintf(s->way, sizeof(s->way), "%.500s/shared/way", b->data);
    snprintf(real, sizeof(real), "%s/x", s->way);
    snprintf(link, sizeof(link), "%s/y", s->way);
    assert_ok(dir_make(real, 0755, &err), &err);
    assert_int_equal(symlink(b->other, link), 0);
    s->pid = fork();
    for (;;) {
        if (s->pid) {
            return;
        }
        syscall(SYS_renameat2, AT_FDCWD, real, AT_FDCWD, link, 2u /* exchange */);
    }
}

/* Is the entry, in the new root, a folder (no link) that has the other's secret? */
static bool holds_secret(const char *way, const char *name) {
    char entry[PATH_LEN + 16], secret[PATH_LEN + 32];
    struct stat st;

    snprintf(entry, sizeof(entry), "%s/%s", way, name);
    snprintf(secret, sizeof(secret), "%s/secret", entry);
    return lstat(entry, &st) == 0 && S_ISDIR(st.st_mode) && access(secret, F_OK) == 0;
}

/* One start of a pod: 0, nothing was seen; 1, the other's secret was; 2, it did not start, which is fine as well. */
static int start_and_look(const struct bed *b, const char *way) {
    char target[PATH_LEN + 16], spare[PATH_LEN];
    int status;

    snprintf(target, sizeof(target), "%s/v", way);
    snprintf(spare, sizeof(spare), "%.500s/newroot", b->pod);
    const struct sandbox_mount m = {.source = b->root, .target = target};
    pid_t pid = fork();
    if (pid == 0) {
        const int tree = -1;
        _exit(mkdir(spare, 0755) == -1 && errno != EEXIST ? 3
              : mounts_enter(&m, &tree, 1, spare)
                  ? 2
                  : holds_secret(way, "x") || holds_secret(way, "y"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void test_swapped_entries(void **state) {
    struct bed *b = *state;
    struct swapper s;
    int count[3] = {0};

    bool user;

    if (!cell_possible(&user) || user) {
        skip();
    }
    start_swapping(b, &s);
    for (int i = 0; i < 120; i++) {
        int result = start_and_look(b, s.way);
        assert_in_range(result, 0, 2);
        count[result]++;
    }
    kill(s.pid, SIGKILL);
    waitpid(s.pid, NULL, 0);
    assert_int_equal(count[1], 0);
    assert_true(count[0] > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_calls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_user, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_user_pids, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_user_pids_below_a_hard_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_swapped_entries, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
