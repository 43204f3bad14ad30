/* Tests of the loop: timers in order, deferred and posted functions, signals, descriptors, children. */
#include "net/loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/test.h"

struct run {
    struct loop *loop;
    struct buf log;
    struct timer *timers[4];
    int n;
};

static struct run *setup_run(void) {
    static struct run r;
    struct err err;
    r = (struct run){.loop = loop_new(&err)};
    assert_non_null(r.loop);
    buf_init(&r.log, 0);
    return &r;
}

static void teardown_run(struct run *r) {
    buf_release(&r->log);
    loop_free(r->loop);
}

static struct run *g; /* the run of the test under way */

static void add_a(void *ctx) {
    buf_c(&g->log, "a");
}
static void add_b(void *ctx) {
    buf_c(&g->log, "b");
}
static void add_c_stop(void *ctx) {
    buf_c(&g->log, "c");
    loop_stop(g->loop);
}
static void add_d(void *ctx) {
    buf_c(&g->log, "d");
}

static void test_timers(void **state) {
    g = setup_run();
    struct clock *c = loop_clock(g->loop);
    struct timer *a = c->timer_new(c, add_a, NULL), *b = c->timer_new(c, add_b, NULL);
    struct timer *e = c->timer_new(c, add_c_stop, NULL), *d = c->timer_new(c, add_d, NULL);
    c->timer_start(e, 9 * NS_PER_MS);
    c->timer_start(b, 5 * NS_PER_MS);
    c->timer_start(a, 30 * NS_PER_SEC);
    c->timer_start(a, 1 * NS_PER_MS); /* moved */
    c->timer_start(d, 2 * NS_PER_MS);
    c->timer_stop(d);
    int64_t before = clock_mono(c);
    loop_run(g->loop);
    assert_str_eq(buf_view(&g->log), STR("abc"));
    assert_true(clock_mono(c) - before >= 9 * NS_PER_MS); /* never early */
    c->timer_free(a);
    c->timer_free(b);
    c->timer_free(d);
    c->timer_free(e);
    c->timer_free(NULL);
    teardown_run(g);
}

static void restart_me(void *ctx) {
    struct clock *c = loop_clock(g->loop);
    buf_c(&g->log, "r");
    if (++g->n < 3) {
        c->timer_start(g->timers[0], 0);
    } else {
        loop_stop(g->loop);
    }
}

static void test_timer_restarts_itself(void **state) {
    g = setup_run();
    struct clock *c = loop_clock(g->loop);
    g->timers[0] = c->timer_new(c, restart_me, NULL);
    c->timer_start(g->timers[0], 0);
    assert_int_equal(g->log.n, 0); /* not inside the call */
    loop_run(g->loop);
    assert_str_eq(buf_view(&g->log), STR("rrr"));
    c->timer_free(g->timers[0]);
    teardown_run(g);
}

static void defer_again(void *ctx) {
    buf_c(&g->log, "x");
    loop_defer(g->loop, add_c_stop, NULL);
}

static void test_defer(void **state) {
    g = setup_run();
    assert_int_equal(loop_defer(g->loop, add_a, NULL), 0);
    assert_int_equal(loop_defer(g->loop, defer_again, NULL), 0);
    assert_int_equal(loop_defer(g->loop, add_b, NULL), 0);
    loop_run(g->loop); /* would sleep for ever if a deferred deferral were forgotten */
    assert_str_eq(buf_view(&g->log), STR("axbc"));
    teardown_run(g);
}

enum { POSTS = 10000 };

static void count_post(void *ctx) {
    assert_int_equal((int)(intptr_t)ctx, g->n); /* in order */
    if (++g->n == POSTS) {
        loop_stop(g->loop);
    }
}

static void *poster(void *arg) {
    for (intptr_t i = 0; i < POSTS; i++) {
        loop_post(g->loop, count_post, (void *)i);
    }
    return NULL;
}

static void test_post(void **state) {
    g = setup_run();
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, poster, NULL), 0);
    loop_run(g->loop);
    pthread_join(t, NULL);
    assert_int_equal(g->n, POSTS);
    teardown_run(g);
}

static void count_up(void *ctx) {
    (*(int *)ctx)++;
}

/* A loop that ends before it turned again still runs what was posted: it may hold memory. */
static void test_post_at_the_end(void **state) {
    struct err err;
    struct loop *l = loop_new(&err);
    int n = 0;
    assert_non_null(l);
    assert_int_equal(loop_post(l, count_up, &n), 0);
    loop_free(l);
    assert_int_equal(n, 1);
}

static void got_signal(void *ctx, int signum) {
    g->n = signum;
    loop_stop(g->loop);
}

static void test_signal(void **state) {
    struct err err;
    g = setup_run();
    struct loop_signal *s = loop_signal(g->loop, SIGUSR1, got_signal, NULL, &err);
    assert_non_null(s);
    kill(getpid(), SIGUSR1);
    loop_run(g->loop);
    assert_int_equal(g->n, SIGUSR1);
    loop_signal_free(s);
    loop_signal_free(NULL);
    teardown_run(g);
}

static void readable(void *ctx, int events) {
    int fd = *(int *)ctx;
    char c[8];
    assert_int_equal(events, LOOP_READABLE);
    ssize_t n = read(fd, c, sizeof(c));
    buf_add(&g->log, c, n > 0 ? (size_t)n : 0);
    if (n == 0) {
        loop_stop(g->loop);
    }
}

static void test_fd(void **state) {
    struct err err;
    int p[2];
    g = setup_run();
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    struct loop_fd *f = loop_fd(g->loop, p[0], LOOP_READABLE, readable, &p[0], &err);
    assert_non_null(f);
    assert_int_equal(write(p[1], "hi", 2), 2);
    close(p[1]);
    loop_run(g->loop);
    assert_str_eq(buf_view(&g->log), STR("hi"));
    loop_fd_free(f);
    close(p[0]);
    teardown_run(g);
}

static void restart_many(void *ctx) {
    struct clock *c = loop_clock(g->loop);
    if (++g->n < 1000) {
        c->timer_start(g->timers[0], 0);
    } else {
        loop_stop(g->loop);
    }
}

/* Work that goes on by a timer of no delay lets sockets and deferred functions in after each step. */
static void test_timer_lets_others_in(void **state) {
    struct err err;
    int p[2];
    g = setup_run();
    struct clock *c = loop_clock(g->loop);
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    struct loop_fd *f = loop_fd(g->loop, p[0], LOOP_READABLE, readable, &p[0], &err);
    assert_non_null(f);
    close(p[1]); /* its end can be read at once, and stops the loop */
    assert_int_equal(loop_defer(g->loop, add_d, NULL), 0);
    g->timers[0] = c->timer_new(c, restart_many, NULL);
    c->timer_start(g->timers[0], 0);
    loop_run(g->loop);
    assert_str_eq(buf_view(&g->log), STR("d"));
    assert_in_range(g->n, 1, 10);
    loop_fd_free(f);
    close(p[0]);
    loop_run(g->loop); /* and it goes on: nothing else wakes the loop */
    assert_int_equal(g->n, 1000);
    c->timer_free(g->timers[0]);
    teardown_run(g);
}

struct ended {
    int pid, signal;
    int64_t status;
};

static void child_ended(void *ctx, int pid, int64_t status, int signal) {
    *(struct ended *)ctx = (struct ended){pid, signal, status};
    loop_stop(g->loop);
}

/* Runs /bin/sh -c script with out as descriptor 1 and `extra` as 5. */
static struct ended run_sh(const char *script, int out, int extra, bool detached) {
    struct err err;
    struct ended e = {0};
    struct loop_child *c = NULL;
    const char *argv[] = {"sh", "-c", script, NULL}, *envp[] = {"A=b", NULL};
    struct child_options o = {.file = "/bin/sh",
                              .argv = argv,
                              .envp = envp,
                              .cwd = "/tmp",
                              .fds = {-1, out, -1, -1, -1, extra},
                              .n_fds = 6,
                              .detached = detached};
    assert_ok(loop_spawn(g->loop, &o, child_ended, &e, &c, &err), &err);
    assert_true(loop_child_pid(c) > 0);
    loop_run(g->loop);
    assert_int_equal(loop_child_kill(c, SIGTERM), ERR_GONE);
    loop_child_free(c);
    return e;
}

static void test_child(void **state) {
    int p[2], stray = open("/dev/null", O_RDONLY); /* not CLOEXEC on purpose */
    char text[256];
    g = setup_run();
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    struct ended e =
        run_sh("pwd; echo $A; echo five >&5; cd /proc/self/fd; echo *; exit 3", p[1], p[1], false);
    assert_int_equal(e.status, 3);
    assert_int_equal(e.signal, 0);
    ssize_t n = read(p[0], text, sizeof(text));
    assert_true(n > 0);
    assert_str_eq(str_from(text, (size_t)n), STR("/tmp\nb\nfive\n0 1 2 3 5\n"));
    e = run_sh("kill -9 $$", p[1], -1, false);
    assert_int_equal(e.signal, SIGKILL);
    e = run_sh("cut -d' ' -f6 /proc/$$/stat", p[1], -1, true); /* its session is itself */
    n = read(p[0], text, sizeof(text));
    int64_t sid = 0;
    assert_true(n > 1 && str_to_i64(str_from(text, (size_t)n - 1), &sid));
    assert_int_equal(sid, e.pid);
    close(p[0]);
    close(p[1]);
    close(stray);
    teardown_run(g);
}

static void test_child_errors(void **state) {
    struct err err;
    const char *argv[] = {"x", NULL};
    g = setup_run();
    struct child_options o = {.file = "/nonexistent/x", .argv = argv};
    assert_int_equal(loop_spawn(g->loop, &o, NULL, NULL, NULL, &err), ERR_IO);
    o.n_fds = 9;
    assert_int_equal(loop_spawn(g->loop, &o, NULL, NULL, NULL, &err), ERR_INVALID);
    teardown_run(g);
}

static void test_child_forgotten(void **state) {
    struct err err;
    struct loop_child *c;
    const char *argv[] = {"true", NULL};
    g = setup_run();
    struct child_options o = {.file = "/bin/true", .argv = argv};
    assert_ok(loop_spawn(g->loop, &o, NULL, NULL, &c, &err), &err);
    int pid = loop_child_pid(c);
    loop_child_free(c);
    struct ended e = run_sh("sleep 0.05", -1, -1, false);
    assert_int_equal(e.status, 0);
    assert_int_equal(kill(pid, 0), -1); /* reaped, no zombie */
    teardown_run(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers),
        cmocka_unit_test(test_timer_restarts_itself),
        cmocka_unit_test(test_defer),
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_post_at_the_end),
        cmocka_unit_test(test_signal),
        cmocka_unit_test(test_fd),
        cmocka_unit_test(test_timer_lets_others_in),
        cmocka_unit_test(test_child),
        cmocka_unit_test(test_child_errors),
        cmocka_unit_test(test_child_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
