/* Tests of the pure parts of world: addresses, options of `berth up`, kubeconfig, the admin socket. */
#include <pthread.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"
#include "control/control.h"
#include "world/kit/address.h"
#include "world/kit/admin_socket.h"
#include "world/up/up_options.h"

static void test_address(void **state) {
    struct address a;
    struct err err;
    assert_ok(address_parse("--listen", "127.0.0.1:6443", &a, &err), &err);
    assert_string_equal(a.host, "127.0.0.1");
    assert_int_equal(a.port, 6443);
    assert_true(a.loopback);
    assert_ok(address_parse("--listen", "[::1]:0", &a, &err), &err);
    assert_string_equal(a.host, "::1");
    assert_true(a.loopback);
    assert_ok(address_parse("--listen", "0.0.0.0:1", &a, &err), &err);
    assert_false(a.loopback);
    static const char *const bad[] = {"",
                                      ":",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      ":80",
                                      "localhost:80",
                                      "127.0.0.1:65536",
                                      "127.0.0.1:-1",
                                      "1.2.3:4",
                                      "[::1:80"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(address_parse("--listen", bad[i], &a, &err), ERR_BAD_REQUEST);
        assert_non_null(strstr(err.text, "--listen"));
    }
}

/* As on a command line: the table first, then what only `berth up` knows. */
static int parse(struct up_options *o, struct err *err, const char *a, const char *b) {
    static struct cli_args args;
    const struct cli_verb up = {
        .name = "up", .arguments = "", .options = up_option_rows, .n_options = UP_OPTIONS};
    char *argv[] = {(char *)a, (char *)b, NULL};
    int r = cli_parse(&up, a == NULL ? 0 : b == NULL ? 1 : 2, argv, &args, err);
    return r ? r : up_options_read(&args, o, err);
}

static void test_up_options(void **state) {
    struct up_options o;
    struct err err;
    assert_ok(parse(&o, &err, NULL, NULL), &err);
    assert_string_equal(o.gpus, "auto");
    assert_string_equal(o.runtime, "auto");
    assert_true(o.controllers && o.node && !o.manage_mig);
    assert_ok(parse(&o, &err, "--gpus=sim:1xh200", "--manage-mig"), &err);
    assert_string_equal(o.gpus, "sim:1xh200");
    assert_true(o.manage_mig);
    assert_ok(parse(&o, &err, "--controllers", "none"), &err);
    assert_false(o.controllers || o.node);
    assert_true(o.queues_outside);
    assert_ok(parse(&o, &err, "--controllers", "kubernetes"), &err);
    assert_true(o.controllers == CONTROL_KUBERNETES && o.node && o.queues_outside);
    assert_ok(parse(&o, &err, "--controllers", "all,-nodes"), &err);
    assert_true(o.controllers == (CONTROL_ALL & ~(unsigned)CONTROL_NODES) && !o.queues_outside);
    assert_int_equal(parse(&o, &err, "--controllers", "job"), ERR_BAD_REQUEST);
    assert_true(strstr(err.text, "--controllers: there is no controller \"job\"") == err.text);
    assert_int_equal(parse(&o, &err, "--gpus", "sim:9xh200"), ERR_BAD_REQUEST);
    assert_string_equal(err.text, "--gpus: expected auto, none, sim:8xh200, sim:1xh200 or "
                                  "sim:4xa100-80gb, not \"sim:9xh200\"");
    assert_int_equal(parse(&o, &err, "--listen", "0.0.0.0:1"), ERR_BAD_REQUEST);
    assert_non_null(strstr(err.text, "--allow-any"));
    assert_int_equal(parse(&o, &err, "--data", NULL), ERR_BAD_REQUEST);
    assert_string_equal(err.text, "--data: expected DIR");
    assert_int_equal(parse(&o, &err, "--bogus", NULL), ERR_BAD_REQUEST);
    assert_int_equal(parse(&o, &err, "stray", NULL), ERR_BAD_REQUEST);
}

/* With a node and all of our kinds there is a gateway, unless it is not wanted. */
static void test_where_models_answer(void **state) {
    struct up_options o;
    struct err err;
    assert_ok(parse(&o, &err, NULL, NULL), &err);
    assert_true(o.gateway.on && !o.gateway.chosen);
    assert_int_equal(o.gateway.address.port, 8091);
    assert_ok(parse(&o, &err, "--gateway", "none"), &err);
    assert_false(o.gateway.on);
    assert_ok(parse(&o, &err, "--no-node", NULL), &err);
    assert_false(o.gateway.on);
    assert_ok(parse(&o, &err, "--controllers", "kubernetes"), &err);
    assert_false(o.gateway.on);
    assert_ok(parse(&o, &err, "--no-node", "--gateway=127.0.0.1:81"), &err);
    assert_true(o.gateway.on && o.gateway.chosen);
    assert_int_equal(parse(&o, &err, "--gateway", "0.0.0.0:81"), ERR_BAD_REQUEST);
    assert_non_null(strstr(err.text, "--allow-any"));
    assert_ok(parse(&o, &err, "--gateway=0.0.0.0:81", "--allow-any"), &err);
    assert_int_equal(parse(&o, &err, "--gateway", "here"), ERR_BAD_REQUEST);
}

static void test_what_is_kept(void **state) {
    struct up_options o;
    struct err err;
    assert_ok(parse(&o, &err, NULL, NULL), &err);
    assert_true(o.kept.pods == 5000 && o.kept.events == 50000);
    assert_true(o.kept.jobs_ns == 168 * 3600 * NS_PER_SEC);
    assert_ok(parse(&o, &err, "--keep-pods=0", "--keep-jobs=0"), &err);
    assert_true(o.kept.pods == 0 && o.kept.jobs_ns == 0);
    assert_ok(parse(&o, &err, "--keep-jobs=90m", "--keep-events=7"), &err);
    assert_true(o.kept.jobs_ns == 90 * 60 * NS_PER_SEC && o.kept.events == 7);
    assert_int_equal(parse(&o, &err, "--keep-jobs", "soon"), ERR_BAD_REQUEST);
    assert_string_equal(err.text,
                        "--keep-jobs soon: expected a time like 168h or 30m, or 0 for ever");
    assert_int_equal(parse(&o, &err, "--keep-jobs=-1h", NULL), ERR_BAD_REQUEST);
    assert_int_equal(parse(&o, &err, "--keep-pods=many", NULL), ERR_BAD_REQUEST);
    assert_int_equal(parse(&o, &err, "--keep-events=-3", NULL), ERR_BAD_REQUEST);
}

struct socket_case {
    struct loop *loop;
    char path[128];
    char seen[64];
    int code;
    struct err err;
};

static void answer(void *ctx, struct admin_call *call, struct str line) {
    struct socket_case *c = ctx;
    str_copy(line, c->seen, sizeof(c->seen));
    struct err why;
    err_set(&why, ERR_EXISTS, "it exists");
    admin_reply(call, c->code, &why);
}

static void *ask(void *arg) {
    struct socket_case *c = arg;
    c->code = admin_ask(c->path, STR("backup /x"), &c->err);
    loop_post(c->loop, (void (*)(void *))loop_stop, c->loop);
    return NULL;
}

static void test_admin_socket(void **state) {
    struct socket_case c = {0};
    char dir[] = "/tmp/berth-admin.XXXXXX";
    struct admin_socket *s;
    pthread_t thread;
    assert_non_null(mkdtemp(dir));
    snprintf(c.path, sizeof(c.path), "%s/sock", dir);
    for (int round = 0; round < 2; round++) {
        c.loop = loop_new(&c.err);
        c.code = round ? ERR_EXISTS : 0;
        assert_ok(admin_socket_open(c.loop, c.path, answer, &c, &s, &c.err), &c.err);
        assert_int_equal(pthread_create(&thread, NULL, ask, &c), 0);
        loop_run(c.loop);
        pthread_join(thread, NULL);
        assert_string_equal(c.seen, "backup /x");
        assert_int_equal(c.code, round ? ERR_INTERNAL : 0);
        assert_true(!round || strcmp(c.err.text, "it exists") == 0);
        admin_socket_close(s);
        loop_free(c.loop);
    }
    assert_int_equal(admin_ask(c.path, STR("x"), &c.err), ERR_GONE);
    rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_address),
        cmocka_unit_test(test_up_options),
        cmocka_unit_test(test_where_models_answer),
        cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_admin_socket),
    };
    return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
