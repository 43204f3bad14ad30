/* usage_test: what processes take, of a group and of none. */
#include "node/usage/usage.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/files/testbed.h"

enum { BYTES = 32 << 20 };

/* A child in a session of its own, which has BYTES of memory and has used some processor. */
static pid_t start(bool busy) {
    int ready[2];
    char c;

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when the test fails */
        setsid();
        if (busy) {
            char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            struct timespec t = {0};
            memset(p, 1, BYTES);
            while (t.tv_sec == 0 && t.tv_nsec < 50000000) {
                clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
            }
        }
        (void)!write(ready[1], "x", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void write_text(const char *dir, const char *name, const char *text) {
    struct err err;

    assert_ok(file_store(dir, name, str_of(text), 0644, &err), &err);
}

static void processes_alone(void **state) {
    struct usage_container v[2] = {{.pid = start(true)}, {.pid = start(false)}};

    assert_true(usage_of_pod(CGROUP_NONE, "", getpid(), v, 2));
    assert_true(v[0].now.memory >= BYTES && v[0].now.memory < 4L * BYTES);
    assert_true(v[1].now.memory < BYTES);
    assert_true(v[0].now.cpu_ns >= 40000000 && v[1].now.cpu_ns < v[0].now.cpu_ns);
    end(v[0].pid);
    end(v[1].pid);
    struct usage_container none = {.pid = 0};
    assert_false(usage_of_pod(CGROUP_NONE, "", getpid(), &none, 1));
}

static void a_group_is_shared_out(void **state) {
    char root[PATH_LEN], dir[PATH_LEN], procs[64];
    struct usage_container v[2] = {{.pid = start(true)}, {.pid = start(false)}};
    struct err err;

    test_folder(root);
    setenv("BERTH_CGROUP_ROOT", root, 1);
    assert_ok(path_join(dir, root, "berth/u", &err), &err);
    assert_ok(dir_make(dir, 0755, &err), &err);
    snprintf(procs, sizeof(procs), "%d\n%d\n", (int)v[0].pid, (int)v[1].pid);
    write_text(dir, "cgroup.procs", procs);
    write_text(dir, "cpu.stat", "usage_usec 7000000\nuser_usec 1\n");
    write_text(dir, "memory.current", "100000000\n");
    write_text(dir, "memory.stat", "anon 5\ninactive_file 40000000\n");
    assert_true(usage_of_pod(CGROUP_V2, "berth/u", getpid(), v, 2));
    assert_true(llabs(v[0].now.memory + v[1].now.memory - 60000000) < 10);
    assert_true(llabs(v[0].now.cpu_ns + v[1].now.cpu_ns - 7000000000) < 10);
    assert_true(v[0].now.memory > v[1].now.memory && v[0].now.cpu_ns > v[1].now.cpu_ns);
    unsetenv("BERTH_CGROUP_ROOT");
    end(v[0].pid);
    end(v[1].pid);
    dir_remove(root, NULL);
}

static void the_machine_is_in_use(void **state) {
    struct usage u = {0};

    assert_true(usage_of_machine(&u));
    assert_true(u.cpu_ns > 0 && u.memory > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_alone),
        cmocka_unit_test(a_group_is_shared_out),
        cmocka_unit_test(the_machine_is_in_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
