/* shim: one pod without a node: order of containers, restarts, long lines, rotation, and that a folder is run once. */
#include "node/files/testbed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "node/sandbox/proctree.h"
#include "node/sandbox/sandbox.h"
#include "wire/json/json.h"
#include "wire/podlog.h"

struct bed {
    char dir[PATH_LEN], root[PATH_LEN]; /* root: where containers may write */
    struct arena arena;
};

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));

    test_folder(b->dir);
    assert_int_equal(path_join(b->root, b->dir, "root", NULL), 0);
    assert_int_equal(dir_make(b->root, 0755, NULL), 0);
    arena_init(&b->arena, 128 << 20);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    dir_remove(b->dir, NULL);
    arena_release(&b->arena);
    free(b);
    return 0;
}

/* Containers as JSON members: name and script. */
static void spec(struct bed *b, const char *policy, const char *containers) {
    struct str text =
        arena_f(&b->arena,
                "{\"uid\":\"u\",\"restartPolicy\":\"%s\",\"grace\":5,\"backoffMs\":10,"
                "\"sandbox\":{\"cgroup\":0,\"cgroupName\":\"x\","
                "\"dataDir\":\"/none\"},\"containers\":[%s]}",
                policy, containers);
    assert_int_equal(file_store(b->dir, "spec.json", text, 0600, NULL), 0);
}

static const char *container(struct bed *b, const char *name, const char *more,
                             const char *script) {
    return arena_f(&b->arena,
                   "{\"name\":\"%s\",%s\"argv\":[\"sh\",\"-c\",\"%s\"],"
                   "\"env\":[\"PATH=/usr/bin:/bin\",\"BERTH_POD_UID=%s\"],\"cwd\":\"%s\"}",
                   name, more, script, b->dir, b->root)
        .p;
}

static pid_t start(struct bed *b) {
    const char *verbs = getenv("BERTH_TEST_VERBS");
    pid_t pid = fork();

    if (pid == 0) {
        execl(verbs, verbs, "shim", b->dir, (char *)NULL);
        _exit(99);
    }
    return pid;
}

static int run(struct bed *b) {
    int status;
    pid_t pid = start(b);

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static yyjson_val *state_json(struct bed *b) {
    struct str text;
    yyjson_doc *doc;

    if (file_load(b->dir, "state.json", &b->arena, &text, NULL) ||
        json_parse(&b->arena, text, &doc, NULL)) {
        return NULL;
    }
    return yyjson_doc_get_root(doc);
}

static yyjson_val *container_state(struct bed *b, size_t i) {
    return yyjson_arr_get(json_get(state_json(b), STR("containers")), i);
}

static struct str all_text(struct bed *b, const char *folder, const char *file) {
    char dir[PATH_LEN];
    struct str rest;
    struct podlog_line l;
    struct buf out;

    assert_int_equal(path_join(dir, b->dir, folder, NULL), 0);
    if (file_load(dir, file, &b->arena, &rest, NULL)) {
        return STR("");
    }
    buf_init(&out, 64 << 20);
    while (podlog_next(&rest, &l) != ERR_AGAIN) {
        buf_str(&out, l.text);
        buf_c(&out, l.full ? "\n" : "");
    }
    struct str s = arena_str(&b->arena, buf_view(&out));
    buf_release(&out);
    return s;
}

static void test_order(void **state) {
    struct bed *b = *state;
    const char *v =
        arena_f(&b->arena, "%s,%s,%s,%s", container(b, "i1", "\"init\":true,", "echo i1 >> order"),
                container(b, "side", "\"init\":true,\"sidecar\":true,",
                          "echo side >> order; exec sleep 900"),
                container(b, "i2", "\"init\":true,", "sleep 0.1; echo i2 >> order"),
                container(b, "main", "", "echo main >> order"))
            .p;
    struct str order;

    spec(b, "Never", v);
    assert_int_equal(run(b), 0);
    assert_int_equal(file_load(b->root, "order", &b->arena, &order, NULL), 0);
    assert_str_eq(order, STR("i1\nside\ni2\nmain\n"));
    assert_str_eq(json_str_at(state_json(b), "phase"), STR("Succeeded"));
    assert_int_equal(json_i64_at(container_state(b, 1), "end.signal", 0), SIGTERM);
    /* With the state there, the folder is not run a second time. */
    assert_int_equal(run(b), 2);
    assert_int_equal(file_load(b->root, "order", &b->arena, &order, NULL), 0);
    assert_str_eq(order, STR("i1\nside\ni2\nmain\n"));
}

/* A pod with walls of its own, in b->dir/root, whose containers write to its work/. */
static void walled(struct bed *b, const char *more, const char *containers) {
    char path[PATH_LEN];
    static const char *const folders[] = {"root/work", "root/tmp", "root/volumes/v"};

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(path_join(path, b->dir, folders[i], NULL), 0);
        assert_int_equal(dir_make(path, 0755, NULL), 0);
    }
    struct str text =
        arena_f(&b->arena,
                "{\"uid\":\"u\",\"restartPolicy\":\"Never\",\"grace\":5,\"hostname\":\"walled\",%s"
                "\"sandbox\":{\"walls\":true,\"cgroup\":0,\"cgroupName\":\"x\",\"dataDir\":\"%s\"},"
                "\"containers\":[%s]}",
                more, b->dir, containers);
    assert_int_equal(file_store(b->dir, "spec.json", text, 0600, NULL), 0);
}

static const char *walled_container(struct bed *b, const char *name, const char *more,
                                    const char *script) {
    return arena_f(&b->arena,
                   "{\"name\":\"%s\",%s\"argv\":[\"sh\",\"-c\",\"%s\"],"
                   "\"env\":[\"PATH=/usr/bin:/bin:/usr/sbin:/sbin\"],\"cwd\":\"%s/root/work\"}",
                   name, more, script, b->dir)
        .p;
}

static bool no_walls(void) {
    bool user;

    return !cell_possible(&user) || user;
}

/* What a pod has that is its alone: shared memory, System V IPC, names, processes, devices, temporary files. Its
 * containers share them, nobody else sees them, and they go with it. */
static void test_cell(void **state) {
    struct bed *b = *state;
    char shm[64], here[64] = {0};
    struct str text;

    if (no_walls()) {
        skip();
    }
    snprintf(shm, sizeof(shm), "/dev/shm/berth-shim-test-%d", (int)getpid());
    const char *first =
        arena_f(&b->arena, "echo x > %s; echo y > /tmp/t; readlink /proc/self/ns/ipc > space", shm)
            .p;
    const char *second =
        arena_f(&b->arena,
                "test -s %s && hostname > name && ls /proc | grep -c '^[0-9]' > pids && "
                "ls -m -w 999 /dev > devices && ls %s > data && ! touch /etc/x && "
                "cat /data/f /etc/hosts > volumes && ! touch /etc/hosts && touch /data/made && "
                "ls -A /root > home; readlink /proc/self/ns/net >> space; true",
                shm, b->dir)
            .p;
    const char *mounts =
        arena_f(&b->arena,
                "\"mounts\":[{\"source\":\"%s/root/volumes/v\",\"target\":\"/data\"},"
                "{\"source\":\"%s/outside\",\"target\":\"/etc/hosts\",\"readOnly\":true}],",
                b->dir, b->dir)
            .p;
    walled(b, "\"own_network\":true,",
           arena_f(&b->arena, "%s,%s", walled_container(b, "i", "\"init\":true,", first),
                   walled_container(b, "main", mounts, second))
               .p);
    text = arena_f(&b->arena, "%s/root/volumes/v", b->dir);
    assert_int_equal(file_store(text.p, "f", STR("volume\n"), 0644, NULL), 0);
    assert_int_equal(file_store(b->dir, "outside", STR("hosts\n"), 0644, NULL), 0);
    assert_int_equal(run(b), 0);
    assert_int_equal(unlink(shm), -1);
    assert_str_eq(json_str_at(state_json(b), "phase"), STR("Succeeded"));
    const char *work = arena_f(&b->arena, "%s/root/work", b->dir).p;
    const struct {
        const char *file, *is;
    } expected[] = {{"name", "walled\n"},
                    {"data", "root\n"},
                    {"volumes", "volume\nhosts\n"},
                    {"devices", "fd, full, mqueue, null, ptmx, pts, random, shm, stderr, stdin, "
                                "stdout, termination-log, tty, urandom, zero\n"}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(file_load(work, expected[i].file, &b->arena, &text, NULL), 0);
        assert_str_eq(text, str_of(expected[i].is));
    }
    int64_t pids = 0;
    assert_int_equal(file_load(work, "pids", &b->arena, &text, NULL), 0);
    assert_true(str_to_i64(str_trim(text), &pids) && pids >= 2 && pids <= 5);
    assert_int_equal(file_load(work, "space", &b->arena, &text, NULL), 0);
    assert_true(readlink("/proc/self/ns/ipc", here, sizeof(here) - 1) > 0);
    assert_false(str_contains(text, str_of(here)));
    memset(here, 0, sizeof(here));
    assert_true(readlink("/proc/self/ns/net", here, sizeof(here) - 1) > 0);
    assert_false(str_contains(text, str_of(here)));
    text = arena_f(&b->arena, "%s/root/tmp/t", b->dir);
    assert_int_equal(access(text.p, F_OK), 0);
    text = arena_f(&b->arena, "%s/root/volumes/v/made", b->dir);
    assert_int_equal(access(text.p, F_OK), 0);
}

/* What is executed in a container (here: a hook) is inside of its mounts and namespaces, behind the same walls. */
static void test_cell_is_joined(void **state) {
    struct bed *b = *state;
    struct str text;

    if (no_walls()) {
        skip();
    }
    const char *hook =
        "hostname; cat /data/f; ls /proc | grep -c '^[0-9]'; ls /dev | grep -c kmsg; "
        "grep -E 'CapEff|NoNew|Seccomp:' /proc/self/status; touch /etc/x; echo end";
    const char *more =
        arena_f(&b->arena,
                "\"postStart\":{\"exec\":[\"sh\",\"-c\",\"(%s) > hook 2>&1\"]},"
                "\"mounts\":[{\"source\":\"%s/root/volumes/v\",\"target\":\"/data\"}],",
                hook, b->dir)
            .p;
    walled(b, "", walled_container(b, "main", more, "until grep -q end hook; do sleep 0.02; done"));
    text = arena_f(&b->arena, "%s/root/volumes/v", b->dir);
    assert_int_equal(file_store(text.p, "f", STR("volume\n"), 0644, NULL), 0);
    assert_int_equal(run(b), 0);
    assert_str_eq(json_str_at(state_json(b), "phase"), STR("Succeeded"));
    const char *work = arena_f(&b->arena, "%s/root/work", b->dir).p;
    assert_int_equal(file_load(work, "hook", &b->arena, &text, NULL), 0);
    assert_true(str_starts(text, STR("walled\nvolume\n")));
    assert_true(
        str_contains(text, STR("\n0\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n")));
    assert_true(str_contains(text, STR("Read-only file system")));
}

/* Nothing of a pod outlives it, nor the shim that was killed. */
static void test_cell_ends_with_its_shim(void **state) {
    struct bed *b = *state;
    char mark[PATH_LEN + 32];

    if (no_walls()) {
        skip();
    }
    walled(b, "",
           arena_f(&b->arena,
                   "{\"name\":\"main\",\"argv\":[\"sh\",\"-c\",\"(setsid sleep 903 &); touch up; "
                   "sleep 904\"],\"env\":[\"PATH=/usr/bin:/bin\",\"BERTH_POD_UID=%s\"],"
                   "\"cwd\":\"%s/root/work\"}",
                   b->dir, b->dir)
               .p);
    const char *up = arena_f(&b->arena, "%s/root/work/up", b->dir).p;
    pid_t pid = start(b);
    while (access(up, F_OK) == -1) {
        usleep(2000);
    }
    snprintf(mark, sizeof(mark), "BERTH_POD_UID=%s", b->dir);
    assert_true(proc_kill_marked(mark, 0) > 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (int i = 0; i < 2000 && proc_kill_marked(mark, 0); i++) {
        usleep(2000);
    }
    assert_int_equal(proc_kill_marked(mark, 0), 0);
}

static void test_failed_init(void **state) {
    struct bed *b = *state;

    spec(b, "Never",
         arena_f(&b->arena, "%s,%s", container(b, "i", "\"init\":true,", "exit 3"),
                 container(b, "main", "", "touch ran"))
             .p);
    assert_int_equal(run(b), 0);
    assert_str_eq(json_str_at(state_json(b), "phase"), STR("Failed"));
    assert_str_eq(json_str_at(container_state(b, 1), "state"), STR("waiting"));
}

static void test_restarts(void **state) {
    struct bed *b = *state;

    spec(b, "OnFailure", container(b, "main", "", "echo x >> n; echo run; [ $(wc -l < n) -ge 4 ]"));
    assert_int_equal(run(b), 0);
    yyjson_val *c = container_state(b, 0);
    assert_str_eq(json_str_at(state_json(b), "phase"), STR("Succeeded"));
    assert_int_equal(json_i64_at(c, "restarts", 0), 3);
    assert_int_equal(json_i64_at(c, "last.exitCode", 0), 1);
    assert_str_eq(all_text(b, "log/main", "3.log"), STR("run\n"));
    assert_str_eq(all_text(b, "log/main", "2.log"), STR("run\n")); /* the one before */
    assert_str_eq(all_text(b, "log/main", "1.log"), STR(""));
}

static void test_lines(void **state) {
    struct bed *b = *state;

    spec(b, "Never",
         container(b, "main", "",
                   "head -c 40000 /dev/zero | tr '\\\\0' x; echo; printf tail; echo e >&2"));
    assert_int_equal(run(b), 0);
    struct str s = all_text(b, "log/main", "0.log");
    assert_int_equal(s.n, 40000 + 1 + 5 + 2);
    assert_true(str_contains(s, STR("tail\n")));
}

static void test_rotation(void **state) {
    struct bed *b = *state;
    char path[PATH_LEN], name[64];
    struct stat st;

    /* Six times the size of one file: the oldest is gone. */
    spec(b, "Never", container(b, "main", "", "seq -f %0100.0f 1 700000"));
    assert_int_equal(run(b), 0);
    off_t total = 0;
    for (int i = 0; i < LIMIT_LOG_FILES + 1; i++) {
        snprintf(name, sizeof(name), i ? "log/main/0.log.%d" : "log/main/0.log", i);
        assert_int_equal(path_join(path, b->dir, name, NULL), 0);
        int there = stat(path, &st);
        assert_int_equal(there, i < LIMIT_LOG_FILES ? 0 : -1);
        total += there == 0 ? st.st_size : 0;
    }
    assert_true(total < (off_t)LIMIT_LOG_FILES * (LIMIT_LOG_FILE_BYTES + 65536));
    assert_true(str_ends(all_text(b, "log/main", "0.log"), STR("0700000\n")));
}

static void test_stop_by_signal(void **state) {
    struct bed *b = *state;
    union sigval grace = {.sival_int = 0};
    char mark[PATH_LEN + 32], up[PATH_LEN];
    int status;

    spec(b, "Always",
         container(b, "main", "", "trap '' TERM; (setsid sleep 901 &); touch up; sleep 902"));
    pid_t pid = start(b);
    snprintf(up, sizeof(up), "%.500s/up", b->root);
    while (state_json(b) == NULL || access(up, F_OK) == -1) {
        usleep(2000);
    }
    assert_int_equal(sigqueue(pid, SIGTERM, grace), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(json_i64_at(container_state(b, 0), "end.exitCode", 0), 137);
    snprintf(mark, sizeof(mark), "BERTH_POD_UID=%s", b->dir);
    assert_int_equal(proc_kill_marked(mark, 0), 0); /* not even the one that left its session */
}

/* Waits for a member of the container's state to be this text or number. */
static void until(struct bed *b, const char *member, const char *want) {
    for (int i = 0;; i++) {
        yyjson_val *v = json_path(state_json(b) ? container_state(b, 0) : NULL, member);
        struct buf t;
        buf_init(&t, 1024);
        if (v) {
            json_write(&t, v);
        }
        bool same = str_is(buf_view(&t), want);
        buf_release(&t);
        if (same) {
            return;
        }
        if (i > 4000) {
            fail_msg("%s never became %s", member, want);
        }
        usleep(5000);
    }
}

static void stop(pid_t pid, int grace_s) {
    union sigval grace = {.sival_int = grace_s};
    int status;

    assert_int_equal(sigqueue(pid, SIGTERM, grace), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static bool told(struct bed *b, const char *reason, const char *text) {
    yyjson_arr_iter it;
    yyjson_val *e;

    yyjson_arr_iter_init(json_get(state_json(b), STR("events")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        if (str_is(json_str_at(e, "reason"), reason) &&
            str_contains(json_str_at(e, "message"), str_of(text))) {
            return true;
        }
    }
    return false;
}

#define CHECK(command, more)                                                                       \
    "{\"exec\":[\"sh\",\"-c\",\"" command "\"],\"delay\":0,\"period\":1,\"timeout\":5," more       \
    "\"success\":1,\"failure\":1}"

/* One that comes later, by more.json and SIGHUP; the pod's end does not wait for it, nor fail with it. */
static void test_ephemeral(void **state) {
    struct bed *b = *state;
    const char *end = arena_f(&b->arena, "%s/end", b->dir).p;
    int status;

    spec(b, "Never",
         container(b, "main", "",
                   arena_f(&b->arena, "while [ ! -e %s ]; do sleep 0.02; done", end).p));
    pid_t pid = start(b);
    until(b, "state", "\"running\"");
    struct str more = arena_f(&b->arena, "{\"containers\":[%s,%s]}",
                              container(b, "look", "", "echo looked; exit 3"),
                              container(b, "stay", "", "exec sleep 1000"));
    assert_int_equal(file_store(b->dir, "more.json", more, 0600, NULL), 0);
    kill(pid, SIGHUP);
    kill(pid, SIGHUP); /* what is known is not started again */
    for (int i = 0; i < 4000 && (str_empty(json_str_at(container_state(b, 1), "end.reason")) ||
                                 !str_is(json_str_at(container_state(b, 2), "state"), "running"));
         i++) {
        usleep(5000);
    }
    assert_int_equal(json_i64_at(container_state(b, 1), "end.exitCode", 0), 3);
    assert_str_eq(all_text(b, "log/look", "0.log"), STR("looked\n"));
    assert_null(container_state(b, 3));
    close(open(end, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_str_eq(json_str_at(state_json(b), "phase"), STR("Succeeded"));
}

/* A container that logs all the time is told of as soon as one that is silent. */
static void test_readiness(void **state) {
    struct bed *b = *state;

    spec(b, "Always",
         container(b, "main", "\"readiness\":" CHECK("echo not yet; test -e ok", "") ",",
                   "while :; do echo x; sleep 0.001; done"));
    pid_t pid = start(b);
    until(b, "ready", "false");
    until(b, "started", "true");
    while (!told(b, "Unhealthy", "Readiness probe failed: not yet\n")) {
        usleep(5000);
    }
    assert_int_equal(file_store(b->root, "ok", STR(""), 0644, NULL), 0);
    until(b, "ready", "true");
    stop(pid, 1);
}

/* Startup holds liveness back; liveness ends the container, which begins anew. */
static void test_liveness(void **state) {
    struct bed *b = *state;

    spec(b, "Always",
         container(b, "main",
                   "\"startup\":" CHECK(
                       "test -e up || { touch up; false; }",
                       "\"grace\":0,") ",\"liveness\":" CHECK("echo asked >> live; test -e fine",
                                                              "\"grace\":0,") ",",
                   "echo run >> runs; exec sleep 903"));
    pid_t pid = start(b);
    until(b, "restarts", "2");
    assert_true(told(b, "Killing", "Container main failed startup probe, will be restarted"));
    assert_int_equal(file_store(b->root, "fine", STR(""), 0644, NULL), 0);
    assert_true(told(b, "Killing", "Container main failed liveness probe, will be restarted"));
    until(b, "ready", "true");
    assert_int_equal(json_i64_at(container_state(b, 0), "last.exitCode", 0), 137);
    stop(pid, 0);
}

/* preStop is over before the signal comes, and has its part of the grace period. */
static void test_hooks(void **state) {
    struct bed *b = *state;
    struct str order;

    spec(b, "Always",
         container(b, "main",
                   "\"postStart\":{\"exec\":[\"sh\",\"-c\",\"echo post >> order\"]},"
                   "\"preStop\":{\"exec\":[\"sh\",\"-c\",\"sleep 0.2; echo pre >> order\"]},",
                   "trap 'echo term >> order; exit 0' TERM; while :; do sleep 0.02; done"));
    pid_t pid = start(b);
    until(b, "started", "true");
    usleep(200000);
    stop(pid, 30);
    assert_int_equal(file_load(b->root, "order", &b->arena, &order, NULL), 0);
    assert_str_eq(order, STR("post\npre\nterm\n"));
    assert_true(told(b, "Killing", "Stopping container main"));
}

static void test_hooks_fail(void **state) {
    struct bed *b = *state;

    spec(b, "Never",
         container(b, "main", "\"postStart\":{\"exec\":[\"sh\",\"-c\",\"echo why; exit 1\"]},",
                   "exec sleep 904"));
    assert_int_equal(run(b), 0);
    assert_str_eq(json_str_at(state_json(b), "phase"), STR("Failed"));
    assert_true(told(b, "FailedPostStartHook", "why"));
}

/* Sidecars end after all others, the last one first. */
static void test_sidecars_end_last(void **state) {
    struct bed *b = *state;
#define SIDE(name)                                                                                 \
    container(b, name,                                                                             \
              "\"init\":true,\"sidecar\":true,\"startup\":{\"exec\":[\"test\",\"-e\",\"" name      \
              "\"],\"period\":1,\"timeout\":5,\"failure\":100},",                                  \
              "trap 'echo " name " >> order; exit 0' TERM; touch " name                            \
              "; while :; do sleep 0.02; done")
    struct str order;

    spec(b, "Never",
         arena_f(&b->arena, "%s,%s,%s", SIDE("s1"), SIDE("s2"),
                 container(b, "main", "", "sleep 0.1; echo main >> order"))
             .p);
    assert_int_equal(run(b), 0);
    assert_int_equal(file_load(b->root, "order", &b->arena, &order, NULL), 0);
    assert_str_eq(order, STR("main\ns2\ns1\n"));
}

static void test_messages(void **state) {
    struct bed *b = *state;
    const char *file = arena_f(&b->arena, "\"messageFile\":\"%s/m\",", b->root).p;
    const char *none =
        arena_f(&b->arena, "\"messageFile\":\"%s/n\",\"messageFromLog\":true,", b->root).p;

    spec(b, "Never",
         arena_f(&b->arena, "%s,%s,%s,%s",
                 container(b, "file", file, "head -c 9000 /dev/zero | tr '\\\\0' y > m"),
                 container(b, "log", none, "seq 1 200; exit 1"),
                 container(b, "well", none, "echo x"), container(b, "both", none, "echo x"))
             .p);
    assert_int_equal(run(b), 0);
    assert_int_equal(json_str_at(container_state(b, 0), "end.message").n, 12288 / 4);
    struct str tail = json_str_at(container_state(b, 1), "end.message");
    assert_true(str_starts(tail, STR("121\n")));
    assert_true(str_ends(tail, STR("200\n")));
    assert_str_eq(json_str_at(container_state(b, 2), "end.message"), STR(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cell, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cell_is_joined, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cell_ends_with_its_shim, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_init, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_restarts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rotation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop_by_signal, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ephemeral, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_readiness, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_liveness, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hooks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hooks_fail, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sidecars_end_last, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_messages, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
