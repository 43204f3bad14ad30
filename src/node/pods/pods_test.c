/* pods: from a Pod in the API to processes and back, over restarts of the node, with nothing left
 * behind. */
#include "node/files/testbed.h"

#include <errno.h>
#include <signal.h>

#include "node/node.h"
#include "node/pods/pods.h"
#include "node/pods/pods_private.h"
#include "node/sandbox/proctree.h"

struct bed {
    struct loop *loop;
    struct test_writer writer;
    struct users users;
    struct sandbox_probe probe;
    struct pods_options o;
    struct pods *pods;
    char dir[PATH_LEN], node_dir[PATH_LEN];
    const char *config_map; /* what fetch answers; NULL: not found */
    int fetches;
    const char *pod;  /* a pod that is looked at */
    const char *want; /* what its status must hold */
    struct log_fd log;
};

struct late_fetch {
    void (*done)(void *ctx, int code, struct str json);
    void *ctx;
    const char *json;
};

static void answer_fetch(void *p) {
    struct late_fetch f = *(struct late_fetch *)p;

    free(p);
    f.done(f.ctx, f.json ? 0 : ERR_NOT_FOUND, str_of(f.json));
}

static void fetch(void *ctx, const struct pod_fetch *what,
                  void (*done)(void *ctx, int code, struct str json), void *done_ctx) {
    struct bed *b = ctx;
    struct late_fetch *f = malloc(sizeof(*f));

    b->fetches++;
    *f = (struct late_fetch){done, done_ctx, b->config_map};
    loop_defer(b->loop, answer_fetch, f);
}

static void start_node(struct bed *b) {
    struct err err;

    b->pods = pods_new(&b->o, &err);
    if (b->pods == NULL) {
        print_error("%s\n", err.text);
    }
    assert_non_null(b->pods);
}

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    struct err err;

    test_folder(b->dir);
    log_fd_init(&b->log, LOG_ERROR, 2);
    assert_ok(path_join(b->node_dir, b->dir, "node", &err), &err);
    assert_ok(dir_make(b->node_dir, 0700, &err), &err);
    b->loop = loop_new(&err);
    test_writer_init(&b->writer, b->loop);
    assert_ok(users_init(&b->users, b->node_dir, &err), &err);
    sandbox_probe(&b->probe);
    b->o = (struct pods_options){.loop = b->loop,
                                 .log = &b->log.log,
                                 .writer = &b->writer.writer,
                                 .users = &b->users,
                                 .probe = &b->probe,
                                 .data_dir = b->dir,
                                 .program = getenv("BERTH_TEST_VERBS"),
                                 .node_name = "n1",
                                 .facts = {.pod_ip = STR("127.0.0.1"),
                                           .host_ip = STR("127.0.0.1"),
                                           .node_cpu_milli = 2000,
                                           .node_memory = 1 << 30},
                                 .fetch = fetch,
                                 .ctx = b};
    start_node(b);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;
    int killed;

    pods_free(b->pods);
    assert_ok(node_kill_all(b->dir, 0, &killed, NULL), &(struct err){0});
    loop_free(b->loop);
    users_release(&b->users);
    buf_release(&b->writer.events);
    dir_remove(b->dir, NULL);
    free(b);
    return 0;
}

/* A pod with one container that runs a shell script. */
static struct object *pod(const char *name, const char *script, const char *more_meta,
                          const char *more_spec) {
    char json[4096];

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"default\","
             "\"uid\":\"uid-%s\"%s},\"spec\":{\"restartPolicy\":\"Never\",\"nodeName\":\"n1\"%s,"
             "\"containers\":[{\"name\":\"main\",\"image\":\"busybox\",\"command\":[\"sh\",\"-c\","
             "\"%s\"]}]}}",
             name, name, more_meta, more_spec, script);
    return test_object("Pod", json);
}

static bool status_holds(void *ctx) {
    struct bed *b = ctx;

    return strstr(test_status(&b->writer, b->pod), b->want) != NULL;
}

static void wait_for(struct bed *b, const char *name, const char *want) {
    b->pod = name;
    b->want = want;
    test_until(b->loop, status_holds, b);
}

static void put(struct bed *b, struct object *o) {
    pods_put(b->pods, o);
    object_unref(o);
}

static void read_log(struct bed *b, const char *name, struct arena *a, struct str *ret) {
    char dir[PATH_LEN];
    struct err err;

    snprintf(dir, sizeof(dir), "%.500s/pods/uid-%s/log/main", b->dir, name);
    assert_ok(file_load(dir, "0.log", a, ret, &err), &err);
}

static void test_succeeds(void **state) {
    struct bed *b = *state;
    struct arena a;
    struct str log;

    put(b, pod("ok", "echo hello $HOSTNAME", "", ""));
    wait_for(b, "ok", "\"phase\":\"Succeeded\"");
    assert_non_null(strstr(test_status(&b->writer, "ok"), "\"reason\":\"Completed\""));
    assert_non_null(strstr(test_status(&b->writer, "ok"), "\"exitCode\":0"));
    assert_non_null(strstr(buf_cstr(&b->writer.events), "the image is not used"));
    arena_init(&a, 1 << 20);
    read_log(b, "ok", &a, &log);
    assert_true(str_contains(log, STR(" stdout F hello ok\n")));
    arena_release(&a);
}

static bool is_reported(void *ctx) {
    const struct bed *b = ctx;
    const struct pod *p = map_get(&b->pods->by_uid, STR("uid-ok"));

    return p && p->reported;
}

/* Of a pod that is over and told only what deletes it is kept; its log is in its folder. */
static void test_what_is_over_is_small(void **state) {
    struct bed *b = *state;

    put(b, pod("ok", "true", "", ""));
    wait_for(b, "ok", "\"phase\":\"Succeeded\"");
    test_until(b->loop, is_reported, b);
    const struct pod *p = map_get(&b->pods->by_uid, STR("uid-ok"));
    assert_true(p->shim_state == NULL && p->told == NULL && p->quota == NULL && p->n_sources == 0);
    assert_true(p->arena.used == 0);
}

/* Many at once: few are being started, the others wait and come after them. */
static void test_turns(void **state) {
    struct bed *b = *state;
    char name[16];

    b->pods->turns = 2;
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "p%d", i);
        put(b, pod(name, "true", "", ""));
        assert_true(b->pods->n_turns <= 2);
    }
    assert_int_equal(b->pods->n_turns, 2);
    assert_string_equal(b->pods->waiting->name, "p2");
    const struct object *gone = b->pods->waiting->obj;
    pods_gone(b->pods, gone); /* who waits may be deleted */
    for (int i = 0; i < 8; i++) {
        if (i != 2) {
            snprintf(name, sizeof(name), "p%d", i);
            wait_for(b, name, "\"phase\":\"Succeeded\"");
        }
    }
    assert_true(b->pods->n_turns == 0 && b->pods->waiting == NULL);
}

static bool nothing_is_asked(void *ctx) {
    struct pod *p = map_get(&((struct bed *)ctx)->pods->by_uid, STR("uid-rests"));

    return p && p->state == POD_RUNNING && p->fetching == 0;
}

/* A token whose time is over and that cannot be had anew is asked for once a round, not at each tick. */
static void test_live_volumes_rest(void **state) {
    struct bed *b = *state;
    struct clock *clock = b->pods->clock;

    b->config_map = "{\"spec\":{\"expirationSeconds\":0},\"status\":{\"token\":\"t\"}}";
    put(b,
        pod("rests", "sleep 600", "",
            ",\"serviceAccountName\":\"a\",\"volumes\":[{\"name\":\"t\",\"projected\":{\"sources\":"
            "[{\"serviceAccountToken\":{\"path\":\"token\"}}]}}]"));
    wait_for(b, "rests", "\"phase\":\"Running\"");
    test_until(b->loop, nothing_is_asked, b);
    b->config_map = NULL;
    pods_live_tick(b->pods, clock_mono(clock) + 20 * NS_PER_SEC); /* whatever its own ticks did */
    test_until(b->loop, nothing_is_asked, b);
    int before = b->fetches;
    assert_true(before > 0);
    for (int i = 0; i < 5; i++) {
        pods_live_tick(b->pods, clock_mono(clock));
        assert_true(nothing_is_asked(b));
    }
    assert_int_equal(b->fetches, before);
    pods_live_tick(b->pods, clock_mono(clock) + 11 * NS_PER_SEC);
    assert_int_equal(b->fetches, before + 1);
    test_until(b->loop, nothing_is_asked, b);
}

static void test_exit_code_and_no_command(void **state) {
    struct bed *b = *state;

    put(b, pod("bad", "exit 7", "", ""));
    wait_for(b, "bad", "\"phase\":\"Failed\"");
    assert_non_null(strstr(test_status(&b->writer, "bad"), "\"exitCode\":7"));
    put(b, test_object("Pod",
                       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"image\","
                       "\"namespace\":\"default\",\"uid\":\"uid-image\"},\"spec\":{\"containers\":["
                       "{\"name\":\"main\",\"image\":\"nginx\"}]}}"));
    wait_for(b, "image", "\"phase\":\"Failed\"");
    assert_non_null(strstr(test_status(&b->writer, "image"), "has no command"));
    put(b, test_object("Pod",
                       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"stays\","
                       "\"namespace\":\"default\",\"uid\":\"uid-stays\"},\"spec\":{"
                       "\"restartPolicy\":\"Always\",\"containers\":[{\"name\":\"main\","
                       "\"image\":\"nginx\"}]}}"));
    wait_for(b, "stays", "CreateContainerError"); /* and is tried again */
    assert_null(strstr(test_status(&b->writer, "stays"), "Failed"));
    put(b, pod("none", "x\"]},{\"name\":\"y\",\"command\":[\"/nowhere/at/all", "", ""));
    wait_for(b, "none", "StartError");
}

static bool was_removed(void *ctx) {
    return ((struct bed *)ctx)->writer.removed > 0;
}

/* Running is said when the shell runs, which is before its trap stands. */
static bool is_up(void *ctx) {
    struct arena a;
    struct str log = {0};
    char dir[PATH_LEN];
    struct bed *b = ctx;
    arena_init(&a, 1 << 20);
    snprintf(dir, sizeof(dir), "%.500s/pods/uid-d/log/main", b->dir);
    bool up = file_load(dir, "0.log", &a, &log, NULL) == 0 && str_contains(log, STR(" F up\n"));
    arena_release(&a);
    return up;
}

static void test_delete_with_grace(void **state) {
    struct bed *b = *state;
    const char *script = "trap 'echo asked; exit 5' TERM; echo up; while :; do sleep 0.05; done";

    put(b, pod("d", script, "", ""));
    wait_for(b, "d", "\"running\"");
    test_until(b->loop, is_up, b);
    put(b, pod("d", script,
               ",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"deletionGracePeriodSeconds\":20",
               ""));
    test_until(b->loop, was_removed, b);
    assert_non_null(strstr(test_status(&b->writer, "d"), "\"exitCode\":5"));
    struct object *o = pod("d", script, "", "");
    pods_gone(b->pods, o);
    object_unref(o);
    assert_int_equal(pods_count(b->pods).over, 0);
}

static bool nothing_known(void *ctx) {
    struct pods_count c = pods_count(((struct bed *)ctx)->pods);

    return c.running + c.waiting + c.over == 0;
}

static void test_grace_runs_out(void **state) {
    struct bed *b = *state;

    /* Ignores the request, and has a descendant that left its session. */
    put(b, pod("deaf", "trap '' TERM; setsid sh -c 'trap \\\"\\\" TERM; sleep 986' & sleep 987", "",
               ""));
    wait_for(b, "deaf", "\"running\"");
    struct object *o = pod("deaf", "", "", "");
    pods_gone(b->pods, o); /* deleted by force: no grace */
    object_unref(o);
    test_until(b->loop, nothing_known, b);
    assert_int_equal(proc_kill_marked("BERTH_POD_UID=uid-deaf", 0), 0);
}

static void test_restart_of_the_node(void **state) {
    struct bed *b = *state;
    struct object *o =
        pod("long", "echo $$; while [ ! -e $HOME/go ]; do sleep 0.02; done; exit 4", "", "");
    char path[PATH_LEN];

    pods_put(b->pods, o);
    wait_for(b, "long", "\"running\"");
    pods_free(b->pods);
    start_node(b);
    assert_true(pods_alive(b->pods, STR("uid-long")));
    pods_put(b->pods, o);
    pods_synced(b->pods);
    snprintf(path, sizeof(path), "%.500s/pods/uid-long/root/work/go", b->dir);
    FILE *f = fopen(path, "w");
    fclose(f);
    wait_for(b, "long", "\"exitCode\":4");
    assert_non_null(strstr(test_status(&b->writer, "long"), "\"restartCount\":0"));
    object_unref(o);
}

static void test_killed_shim_is_noticed(void **state) {
    struct bed *b = *state;

    put(b, pod("shot", "setsid sleep 985 & sleep 984", "", ""));
    wait_for(b, "shot", "\"running\"");
    struct pod *p = map_get(&b->pods->by_uid, STR("uid-shot"));
    assert_int_equal(kill((pid_t)p->shim_pid, SIGKILL), 0);
    wait_for(b, "shot", "ContainerStatusUnknown");
    assert_int_equal(proc_kill_marked("BERTH_POD_UID=uid-shot", 0), 0);
}

static void test_config_map(void **state) {
    struct bed *b = *state;
    struct arena a;
    struct str log;

    b->config_map = "{\"data\":{\"color\":\"blue\"}}";
    put(b,
        test_object(
            "Pod",
            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"cm\",\"namespace\":"
            "\"default\",\"uid\":\"uid-cm\"},\"spec\":{\"restartPolicy\":\"Never\",\"volumes\":[{"
            "\"name\":\"v\",\"configMap\":{\"name\":\"c\"}}],\"containers\":[{\"name\":\"main\","
            "\"command\":[\"sh\",\"-c\",\"echo $COLOR $(COLOR); cat /etc/berth-test/color\"],"
            "\"volumeMounts\":[{\"name\":\"v\",\"mountPath\":\"/etc/berth-test\"}],"
            "\"env\":[{\"name\":\"COLOR\",\"valueFrom\":{\"configMapKeyRef\":{\"name\":\"c\","
            "\"key\":\"color\"}}}]}]}}"));
    wait_for(b, "cm", "\"terminated\"");
    assert_int_equal(b->fetches, 1);
    arena_init(&a, 1 << 20);
    read_log(b, "cm", &a, &log);
    assert_true(str_contains(log, STR("stdout F blue blue\n")));
    if (b->probe.mounts) {
        assert_non_null(strstr(test_status(&b->writer, "cm"), "\"phase\":\"Succeeded\""));
        assert_true(str_contains(log, STR("F blue\n")));
    }
    arena_release(&a);
}

/* The data folder lies where the project's user may not go: as below /root. */
static void test_hidden_folder(void **state) {
    struct bed *b = *state;
    struct arena a;
    struct str log;

    if (!b->probe.root || !b->probe.mounts) {
        skip();
    }
    assert_int_equal(chmod(b->dir, 0700), 0);
    assert_int_equal(file_store(b->dir, "secret", STR("x"), 0644, NULL), 0);
    b->probe.hidden = true;
    put(b,
        pod("h", "cd $HOME && pwd && echo x > f && cat f; cd / && ls -d usr; ls $HOME/../../../..",
            "", ""));
    wait_for(b, "h", "\"terminated\"");
    arena_init(&a, 1 << 20);
    read_log(b, "h", &a, &log);
    assert_true(str_contains(log, STR("stdout F x\n")));
    assert_true(str_contains(log, STR("stdout F usr\n")));
    assert_true(str_contains(
        log, STR("stdout F pods\n"))); /* of the data folder there is the way to its own */
    assert_false(str_contains(log, STR("secret")));
    arena_release(&a);
    b->probe.hidden = false;
}

static void test_kill_all(void **state) {
    struct bed *b = *state;
    int killed = 0;
    struct err err;

    put(b, pod("k1", "trap '' TERM; sleep 983", "", ""));
    put(b, pod("k2", "(setsid sleep 982 &); sleep 981", "", ""));
    wait_for(b, "k1", "\"running\"");
    wait_for(b, "k2", "\"running\"");
    assert_ok(node_kill_all(b->dir, 100, &killed, &err), &err);
    assert_int_equal(killed, 2);
    assert_int_equal(proc_kill_marked("BERTH_POD_UID=uid-k1", 0), 0);
    assert_int_equal(proc_kill_marked("BERTH_POD_UID=uid-k2", 0), 0);
    assert_ok(node_kill_all(b->dir, 100, &killed, &err), &err);
    assert_int_equal(killed, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_succeeds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_over_is_small, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_live_volumes_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_exit_code_and_no_command, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_delete_with_grace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grace_runs_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_restart_of_the_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_killed_shim_is_noticed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_config_map, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hidden_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_kill_all, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
