/* cgroup: on folders that look like cgroup v2 and v1: what is written, and what is told when it does not hold. */
#include "node/files/testbed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/sandbox/sandbox.h"
#include "node/sandbox/spawn.h"

struct bed {
    char root[PATH_LEN];
    struct sandbox sandbox;
    struct arena arena;
    struct buf unmet;
};

static void put(struct bed *b, const char *folder, const char *name, const char *text) {
    char dir[PATH_LEN];
    struct err err;

    snprintf(dir, sizeof(dir), "%.500s/%.300s", b->root, folder);
    assert_ok(dir_make(dir, 0755, &err), &err);
    assert_ok(file_store(dir, name, str_of(text), 0644, &err), &err);
}

static struct str got(struct bed *b, const char *folder, const char *name) {
    char dir[PATH_LEN];
    struct str text;
    struct err err;

    snprintf(dir, sizeof(dir), "%.500s/%.300s", b->root, folder);
    assert_ok(file_load(dir, name, &b->arena, &text, &err), &err);
    return text;
}

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));

    test_folder(b->root);
    arena_init(&b->arena, 1 << 20);
    buf_init(&b->unmet, 1 << 16);
    b->sandbox = (struct sandbox){.cgroup_name = "berth/u",
                                  .memory_bytes = 1048576,
                                  .cpu_milli = 1500,
                                  .pids = 64,
                                  .pids_of_all = 900};
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    unsetenv("BERTH_CGROUP_ROOT");
    unsetenv("BERTH_CGROUP_V1_ROOT");
    buf_release(&b->unmet);
    arena_release(&b->arena);
    dir_remove(b->root, NULL);
    free(b);
    return 0;
}

static const char *make(struct bed *b) {
    struct err err;

    buf_reset(&b->unmet);
    assert_ok(cgroup_make(&b->sandbox, &b->unmet, &err), &err);
    return buf_cstr(&b->unmet);
}

static void v2(struct bed *b) {
    static const char *const files[] = {"memory.max",   "memory.swap.max",  "pids.max", "cpu.max",
                                        "cgroup.procs", "memory.oom.group", NULL};

    setenv("BERTH_CGROUP_ROOT", b->root, 1);
    put(b, "", "cgroup.controllers", "cpu memory pids\n");
    put(b, "berth", "memory.max", "");
    put(b, "berth", "pids.max", "");
    for (size_t i = 0; files[i]; i++) {
        put(b, "berth/u", files[i], "");
    }
    b->sandbox.cgroup = CGROUP_V2;
}

static void test_v2(void **state) {
    struct bed *b = *state;

    v2(b);
    assert_int_equal(cgroup_probe(), CGROUP_V2);
    assert_string_equal(make(b), "");
    assert_int_equal(cgroup_join(&b->sandbox), 0);
    assert_str_eq(got(b, "berth/u", "memory.max"), STR("1048576"));
    assert_str_eq(got(b, "berth/u", "memory.swap.max"), STR("0"));
    assert_str_eq(got(b, "berth/u", "memory.oom.group"), STR("1"));
    assert_str_eq(got(b, "berth/u", "cpu.max"), STR("150000 100000"));
    assert_str_eq(got(b, "berth/u", "cgroup.procs"), STR("0"));
    assert_str_eq(got(b, "berth", "pids.max"), STR("900"));
    /* Without a limit of its own: what leaves the machine alive. */
    b->sandbox.memory_bytes = 0;
    b->sandbox.memory_most = 3000000;
    assert_string_equal(make(b), "");
    assert_str_eq(got(b, "berth/u", "memory.max"), STR("3000000"));
    put(b, "berth/u", "memory.events", "oom 1\noom_kill 3\n");
    assert_int_equal(cgroup_oom_kills(CGROUP_V2, "berth/u"), 3);
}

static void test_v2_that_does_not_hold(void **state) {
    struct bed *b = *state;
    char path[PATH_LEN + 32];

    v2(b);
    snprintf(path, sizeof(path), "%.500s/berth/u/cpu.max", b->root);
    assert_int_equal(unlink(path), 0);
    put(b, "berth/u", "pids.max",
        "max  "); /* longer than what is written: it is not what comes back */
    assert_string_equal(make(b), "pids.max (is 64x, not 64), cpu.max (No such file or directory)");
    b->sandbox.cgroup = CGROUP_NONE;
    assert_string_equal(make(b), "memory (the node has no cgroups), cpu (the node has no cgroups)");
    b->sandbox.memory_bytes = b->sandbox.cpu_milli = 0;
    assert_string_equal(make(b), "");
}

static void test_v1(void **state) {
    struct bed *b = *state;

    setenv("BERTH_CGROUP_ROOT", "/nowhere", 1);
    setenv("BERTH_CGROUP_V1_ROOT", b->root, 1);
    b->sandbox.cgroup = CGROUP_V1;
    put(b, "pids/berth/u", "pids.max", "");
    put(b, "pids/berth", "pids.max", "");
    put(b, "memory/berth/u", "memory.limit_in_bytes", "");
    put(b, "memory/berth/u", "memory.memsw.limit_in_bytes", "");
    put(b, "cpu/berth/u", "cpu.cfs_quota_us", "");
    assert_int_equal(cgroup_probe(), CGROUP_V1);
    assert_string_equal(make(b), "");
    assert_str_eq(got(b, "pids/berth/u", "pids.max"), STR("64"));
    assert_str_eq(got(b, "pids/berth", "pids.max"), STR("900"));
    assert_str_eq(got(b, "memory/berth/u", "memory.limit_in_bytes"), STR("1048576"));
    assert_str_eq(got(b, "memory/berth/u", "memory.memsw.limit_in_bytes"), STR("1048576"));
    assert_str_eq(got(b, "cpu/berth/u", "cpu.cfs_quota_us"), STR("150000"));
    /* By the file that takes no lock over all threads of the machine. */
    put(b, "pids/berth/u", "tasks", "");
    put(b, "memory/berth/u", "tasks", "");
    put(b, "cpu/berth/u", "tasks", "");
    assert_int_equal(cgroup_join(&b->sandbox), 0);
    assert_str_eq(got(b, "pids/berth/u", "tasks"), STR("0"));
    assert_str_eq(got(b, "memory/berth/u", "tasks"), STR("0"));
    assert_str_eq(got(b, "cpu/berth/u", "tasks"), STR("0"));
    put(b, "cpu/berth/u", "cpu.cfs_quota_us", "refused");
    assert_string_equal(make(b), "cpu.cfs_quota_us (is 150000d, not 150000)");
}

/* ---- children that are born in a group ---- */

static const char *born_in;

static bool is_in(const char *group) {
    char text[4096] = "", want[PATH_LEN];
    int fd = open("/proc/self/cgroup", O_RDONLY);
    ssize_t n = read(fd, text, sizeof(text) - 1);

    close(fd);
    snprintf(want, sizeof(want), "0::/%s", strrchr(group, '/') + 1);
    return n > 0 && strstr(text, want) != NULL;
}

static int borrowing(void *arg) {
    _exit(is_in(born_in) ? 7 : 8);
}

static int status_of(pid_t pid) {
    int status = 0;

    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

static void test_born_in_a_group(void **state) {
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    static char stack[1 << 18] __attribute__((aligned(16)));
    char dir[PATH_LEN] = "/none/x", path[PATH_LEN];

    for (size_t i = 0; i < 2; i++) {
        if (path_join(path, mounts[i], "cgroup.procs", NULL) == 0 && access(path, W_OK) == 0) {
            snprintf(dir, sizeof(dir), "%s/berth-test-%d", mounts[i], (int)getpid());
        }
    }
    if (mkdir(dir, 0755) == -1) { /* no cgroup v2, or not ours */
        skip();
    }
    born_in = dir;
    int group = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = spawn_fork(group);
    if (pid == 0) {
        _exit(is_in(dir) ? 7 : 8);
    }
    int forked = status_of(pid);
    pid = spawn_borrowing(group, borrowing, NULL, stack, sizeof(stack));
    int borrowed = pid == -1 && errno == ENOSYS ? 7 : status_of(pid);
    assert_int_equal(spawn_fork(STDERR_FILENO), -1); /* no group: nothing is begun */
    close(group);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(forked, 7);
    assert_int_equal(borrowed, 7);
    assert_false(is_in(dir));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_v2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_v2_that_does_not_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_v1, set_up, tear_down),
        cmocka_unit_test(test_born_in_a_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
