/* device_filter: what a process in a filtered group may open, on this machine's own cgroups; the rules of v1 as
 * written. */
#include "node/files/testbed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "node/sandbox/device_filter.h"

static int open_errno(const char *path) {
    int fd = open(path, O_RDONLY);
    int e = fd == -1 ? errno : 0;

    if (fd != -1) {
        close(fd);
    }
    return e;
}

/* Bits: 1: the group was entered; 2: /dev/null opens; 4: /dev/kmsg is refused. */
static int inside(const char *group) {
    char path[PATH_LEN + 32];
    int status;

    snprintf(path, sizeof(path), "%s/cgroup.procs", group);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(path, O_WRONLY), r = 0;
        r |= fd != -1 && write(fd, "0", 1) == 1 ? 1 : 0;
        r |= open_errno("/dev/null") == 0 ? 2 : 0;
        r |= open_errno("/dev/kmsg") == EPERM ? 4 : 0;
        _exit(r);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void test_v2(void **state) {
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    static const struct sandbox_device kmsg = {.name = "kmsg", .major = 1, .minor = 11, .tree = -1};
    char dir[PATH_LEN], path[PATH_LEN];
    const char *mount = NULL;

    for (size_t i = 0; i < 2; i++) {
        if (path_join(path, mounts[i], "cgroup.procs", NULL) == 0 && access(path, W_OK) == 0) {
            mount = mounts[i];
        }
    }
    snprintf(dir, sizeof(dir), "%s/berth-test-%d", mount ? mount : "/none", (int)getpid());
    if (geteuid() != 0 || open_errno("/dev/kmsg") || mkdir(dir, 0755) == -1) {
        skip();
    }
    if (device_filter_v2(dir, NULL, 0)) { /* a kernel, or a container, without it */
        rmdir(dir);
        skip();
    }
    int plain = inside(dir);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(plain, 7);
    assert_int_equal(mkdir(dir, 0755), 0);
    int e = device_filter_v2(dir, &kmsg, 1), given = inside(dir);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(e, 0);
    assert_int_equal(given, 3);
}

static void test_v1(void **state) {
    static const char root[] = "/sys/fs/cgroup/devices";
    static struct sandbox_device kmsg = {.name = "kmsg", .major = 1, .minor = 11, .tree = -1};
    struct sandbox s = {
        .cgroup_name = "berth/test-device-filter", .n_devices = 1, .devices = &kmsg};
    char dir[PATH_LEN];

    if (geteuid() != 0 || access("/sys/fs/cgroup/devices/devices.deny", W_OK) == -1 ||
        open_errno("/dev/kmsg")) {
        skip();
    }
    int e = device_filter_v1(root, &s, dir), given = inside(dir);
    device_filter_v1_remove(root, s.cgroup_name);
    assert_int_equal(e, 0);
    assert_int_equal(given, 3);
    s.n_devices = 0;
    assert_int_equal(device_filter_v1(root, &s, dir), 0);
    assert_int_equal(inside(dir), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v2),
        cmocka_unit_test(test_v1),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
