/* shim_talk: a real shim, and callers of its socket: commands, terminals, attaching, ports, and how each ends. */
#include "node/files/testbed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "node/sandbox/shim_talk.h"
#include "wire/podtalk.h"

struct bed {
    char dir[PATH_LEN], root[PATH_LEN];
    struct arena arena;
    pid_t shim;
};

/* What came of a session. */
struct came {
    struct buf out, err;
    bool opened, exited;
    struct podtalk_exit end;
};

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));

    test_folder(b->dir);
    assert_int_equal(path_join(b->root, b->dir, "root", NULL), 0);
    assert_int_equal(dir_make(b->root, 0755, NULL), 0);
    arena_init(&b->arena, 16 << 20);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;
    union sigval now = {0};

    if (b->shim) {
        sigqueue(b->shim, SIGTERM, now);
        waitpid(b->shim, NULL, 0);
    }
    dir_remove(b->dir, NULL);
    arena_release(&b->arena);
    free(b);
    return 0;
}

/* A pod of one container "main", whose members are given. */
static void begin(struct bed *b, const char *more, const char *script) {
    const char *verbs = getenv("BERTH_TEST_VERBS");
    struct str text = arena_f(
        &b->arena,
        "{\"uid\":\"u\",\"restartPolicy\":\"Never\",\"grace\":1,\"sandbox\":{"
        "\"cgroup\":0,\"cgroupName\":\"x\",\"dataDir\":\"/none\"},\"containers\":[{\"name\":"
        "\"main\",%s\"argv\":[\"sh\",\"-c\",\"%s\"],\"env\":[\"PATH=/usr/bin:/bin\","
        "\"FROM=container\"],\"cwd\":\"%s\"}]}",
        more, script, b->root);

    assert_int_equal(file_store(b->dir, "spec.json", text, 0600, NULL), 0);
    b->shim = fork();
    if (b->shim == 0) {
        execl(verbs, verbs, "shim", b->dir, (char *)NULL);
        _exit(99);
    }
    for (int i = 0; i < 2000; i++) {
        struct str state;
        if (file_load(b->dir, "state.json", &b->arena, &state, NULL) == 0 &&
            str_contains(state, STR("\"state\":\"running\""))) {
            return;
        }
        usleep(5000);
    }
    fail_msg("the container never ran");
}

static int call(struct bed *b, const struct podtalk_open *o, const char *const *argv) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct str args[8];
    struct buf out;
    size_t n = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(a.sun_path, sizeof(a.sun_path), "%.80s/talk.sock", b->dir);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    for (; argv && argv[n]; n++) {
        args[n] = str_of(argv[n]);
    }
    buf_init(&out, 0);
    assert_int_equal(podtalk_open(&out, o, args, n, NULL), 0);
    assert_int_equal(write(fd, out.p, out.n), out.n);
    buf_release(&out);
    return fd;
}

static void say(int fd, const char *text, bool end) {
    struct buf out;

    buf_init(&out, 0);
    podtalk_data(&out, PODTALK_STDIN, str_of(text));
    if (end) {
        podtalk_end(&out, PODTALK_STDIN);
    }
    assert_int_equal(write(fd, out.p, out.n), out.n);
    buf_release(&out);
}

/* Reads until EXIT, or until stdout holds `until`. */
static void hear(int fd, const struct podtalk_open *o, struct came *c, const char *until) {
    struct podtalk t;
    struct podtalk_frame f;
    char bytes[4096];

    podtalk_init(&t, false);
    t.begun = c->opened;
    t.streams = o->with & PODTALK_WITH_STDERR ? 6 : 2;
    while (!c->exited && !(until && strstr(buf_cstr(&c->out), until))) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&p, 1, 20000), 1);
        ssize_t n = read(fd, bytes, sizeof(bytes));
        assert_true(n > 0);
        struct str in = str_from(bytes, (size_t)n);
        while (podtalk_next(&t, &in, &f, NULL) == 0) {
            if (f.type == PODTALK_DATA) {
                buf_str(f.stream == PODTALK_STDERR ? &c->err : &c->out, f.data);
            }
            c->opened |= f.type == PODTALK_OPENED;
            c->exited |= f.type == PODTALK_EXIT;
            c->end = f.type == PODTALK_EXIT ? f.exit : c->end;
        }
    }
    podtalk_release(&t);
}

static void forget(struct came *c) {
    buf_release(&c->out);
    buf_release(&c->err);
    *c = (struct came){0};
}

static void run(struct bed *b, unsigned with, const char *script, const char *in, struct came *c) {
    const struct podtalk_open o = {
        .what = PODTALK_EXEC, .with = with, .container = STR("main"), .rows = 33, .cols = 77};
    int fd = call(b, &o, (const char *const[]){"sh", "-c", script, NULL});

    *c = (struct came){0};
    if (in) {
        say(fd, in, true);
    }
    hear(fd, &o, c, NULL);
    close(fd);
}

static void test_exec(void **state) {
    const unsigned all = PODTALK_WITH_STDIN | PODTALK_WITH_STDOUT | PODTALK_WITH_STDERR;
    struct bed *b = *state;
    struct came c;

    begin(b, "", "exec sleep 900");
    run(b, all, "cat; echo $FROM; echo oops >&2; exit 7", "hello\n", &c);
    assert_true(c.opened);
    assert_string_equal(buf_cstr(&c.out), "hello\ncontainer\n");
    assert_string_equal(buf_cstr(&c.err), "oops\n");
    assert_int_equal(c.end.end, PODTALK_CODE);
    assert_int_equal(c.end.value, 7);
    forget(&c);
    run(b, PODTALK_WITH_STDOUT, "kill -9 $$", NULL, &c);
    assert_int_equal(c.end.end, PODTALK_SIGNAL);
    assert_int_equal(c.end.value, 9);
    forget(&c);
    /* More than any buffer on the way, and whole. */
    run(b, PODTALK_WITH_STDOUT, "seq 1 300000 | sha256sum; head -c 3000000 /dev/zero", NULL, &c);
    assert_int_equal(c.out.n, 68 + 3000000);
    forget(&c);
    run(b, PODTALK_WITH_STDIN | PODTALK_WITH_STDOUT | PODTALK_TTY, "test -t 0 && stty size", NULL,
        &c);
    assert_string_equal(buf_cstr(&c.out), "33 77\r\n");
    assert_int_equal(c.end.value, 0);
    forget(&c);
}

static void test_refused(void **state) {
    struct bed *b = *state;
    struct podtalk_open o = {
        .what = PODTALK_EXEC, .with = PODTALK_WITH_STDOUT, .container = STR("other")};
    struct came c = {0};

    begin(b, "", "exec sleep 900");
    int fd = call(b, &o, (const char *const[]){"true", NULL});
    hear(fd, &o, &c, NULL);
    close(fd);
    assert_false(c.opened);
    assert_int_equal(c.end.value, PODTALK_NO_CONTAINER);
    o.container = STR("main");
    c = (struct came){0};
    fd = call(b, &o, (const char *const[]){"/nowhere/at/all", NULL});
    hear(fd, &o, &c, NULL);
    close(fd);
    assert_int_equal(c.end.value, PODTALK_NO_COMMAND);
    o = (struct podtalk_open){.what = PODTALK_ATTACH,
                              .with = PODTALK_WITH_STDOUT | PODTALK_TTY,
                              .container = STR("main")};
    c = (struct came){0};
    fd = call(b, &o, NULL);
    hear(fd, &o, &c, NULL);
    close(fd);
    assert_int_equal(c.end.value, PODTALK_UNSUPPORTED);
}

/* A caller that goes takes its command with it. */
static void test_hang_up(void **state) {
    struct bed *b = *state;
    const struct podtalk_open o = {
        .what = PODTALK_EXEC, .with = PODTALK_WITH_STDOUT, .container = STR("main")};
    struct came c = {0};
    struct str text;

    begin(b, "", "exec sleep 900");
    int fd = call(
        b, &o,
        (const char *const[]){"sh", "-c", "trap '' HUP; echo $$ > pid; echo up; sleep 800", NULL});
    hear(fd, &o, &c, "up");
    close(fd);
    forget(&c);
    assert_int_equal(file_load(b->root, "pid", &b->arena, &text, NULL), 0);
    int64_t pid = 0;
    assert_true(str_to_i64(str_trim(text), &pid));
    while (kill((pid_t)pid, 0) == 0) {
        usleep(10000);
    }
    assert_int_equal(errno, ESRCH);
}

static void test_attach(void **state) {
    struct bed *b = *state;
    const struct podtalk_open o = {.what = PODTALK_ATTACH,
                                   .with = PODTALK_WITH_STDIN | PODTALK_WITH_STDOUT,
                                   .container = STR("main")};
    struct came c = {0};

    begin(b, "\"stdin\":true,\"stdinOnce\":true,", "while read x; do echo got $x; done; exit 5");
    int fd = call(b, &o, NULL);
    say(fd, "one\n", false);
    hear(fd, &o, &c, "got one\n");
    say(fd, "two\n", true); /* stdinOnce: the container's input ends, and so does the container */
    hear(fd, &o, &c, NULL);
    close(fd);
    assert_non_null(strstr(buf_cstr(&c.out), "got two\n"));
    assert_int_equal(c.end.end, PODTALK_CODE);
    assert_int_equal(c.end.value, 5);
    forget(&c);
    waitpid(b->shim, NULL, 0);
    b->shim = 0;
}

static void test_port(void **state) {
    struct bed *b = *state;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    struct podtalk_open o = {.what = PODTALK_CONNECT};
    struct came c = {0};
    char in[64] = "";
    int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(getsockname(l, (struct sockaddr *)&a, &len), 0);
    o.port = ntohs(a.sin_port);
    begin(b, "", "exec sleep 900");
    int fd = call(b, &o, NULL);
    hear(fd, &o, &c, NULL);
    close(fd);
    assert_int_equal(c.end.value, PODTALK_NO_LISTENER);
    c = (struct came){0};
    assert_int_equal(listen(l, 1), 0);
    fd = call(b, &o, NULL);
    say(fd, "ping", true); /* at once: before the port has answered */
    int peer = accept(l, NULL, NULL);
    assert_int_equal(recv(peer, in, 4, MSG_WAITALL), 4);
    assert_string_equal(in, "ping");
    assert_int_equal(recv(peer, in, 1, 0), 0); /* its end came as well */
    assert_int_equal(send(peer, "pong", 4, 0), 4);
    close(peer);
    hear(fd, &o, &c, NULL);
    close(fd);
    close(l);
    assert_string_equal(buf_cstr(&c.out), "pong");
    assert_int_equal(c.end.value, 0);
    forget(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_exec, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_hang_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_attach, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_port, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
