/* talk: sessions over a real socket with a shim that is a thread of this test:
 * what it reads it sends back. */
#include "node/streams/talk.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"

struct bed {
    char dir[256];
    struct loop *loop;
    struct pod_sessions *talks;
    struct timer *timer;
    int listener;
    pthread_t shim;
    struct pod_session *p;
    /* what came */
    struct buf out;
    size_t most;
    bool opened, ended, exited, hold;
    struct podtalk_exit end;
    char text[256];
    int drained;
};
static struct bed b;

/* ---- the shim: one session at a time, by the name of its command ---- */

static void answer(int fd, const struct podtalk_frame *f, struct buf *out, char *command) {
    struct str arg;
    size_t at = 0;
    if (f->type == PODTALK_OPEN) {
        if (f->open.what == PODTALK_EXEC && podtalk_arg(&f->open, &at, &arg)) {
            str_copy(arg, command, 64);
        }
        if (str_is(str_of(command), "none")) {
            podtalk_exit(out, PODTALK_FAILED, PODTALK_NO_COMMAND, STR("no such file"));
        } else {
            podtalk_opened(out);
        }
    } else if (f->type == PODTALK_DATA) {
        podtalk_data(out, PODTALK_STDOUT, f->data);
    } else if (f->type == PODTALK_RESIZE) {
        char size[32];
        snprintf(size, sizeof(size), "%ux%u;", f->rows, f->cols);
        podtalk_data(out, PODTALK_STDERR, str_of(size));
    } else if (f->type == PODTALK_END && !str_is(str_of(command), "die")) {
        podtalk_end(out, PODTALK_STDOUT);
        podtalk_exit(out, PODTALK_CODE, 3, STR(""));
    }
}

static void serve(int fd) {
    static char chunk[65536];
    char command[64] = "";
    struct podtalk t;
    ssize_t n;
    podtalk_init(&t, true);
    while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
        struct str in = str_from(chunk, (size_t)n);
        struct podtalk_frame f;
        struct buf out;
        bool die = false;
        buf_init(&out, 0);
        while (podtalk_next(&t, &in, &f, NULL) == 0) {
            answer(fd, &f, &out, command);
            die |= f.type == PODTALK_END && str_is(str_of(command), "die");
        }
        for (size_t at = 0; at < out.n;) {
            ssize_t sent = send(fd, out.p + at, out.n - at, MSG_NOSIGNAL);
            if (sent <= 0) {
                break;
            }
            at += (size_t)sent;
        }
        buf_release(&out);
        if (die || str_is(str_of(command), "none")) {
            break;
        }
    }
    podtalk_release(&t);
    close(fd);
}

static void *shim(void *ctx) {
    int fd;
    while ((fd = accept(b.listener, NULL, NULL)) >= 0) {
        serve(fd);
    }
    return NULL;
}

/* ---- the user ---- */

static void on_opened(void *ctx) {
    b.opened = true;
}

static bool on_data(void *ctx, enum podtalk_stream s, struct str bytes) {
    assert_false(b.exited);
    buf_str(&b.out, bytes);
    b.most = bytes.n > b.most ? bytes.n : b.most;
    return !b.hold;
}

static void on_end(void *ctx, enum podtalk_stream s) {
    assert_int_equal(s, PODTALK_STDOUT);
    b.ended = true;
}

static void on_drained(void *ctx) {
    b.drained++;
}

static void on_over(void *ctx, const struct podtalk_exit *e) {
    assert_false(b.exited);
    b.exited = true;
    b.end = *e;
    str_copy(e->text, b.text, sizeof(b.text));
    b.talks->close(b.p);
    b.p = NULL;
}

static const struct pod_session_events events = {on_opened, on_data, on_end, on_drained, on_over};

static void stop(void *ctx) {
    loop_stop(b.loop);
}

static void turn(void) {
    loop_clock(b.loop)->timer_start(b.timer, 2 * NS_PER_MS);
    loop_run(b.loop);
}

#define TURN_UNTIL(what)                                                                           \
    do {                                                                                           \
        for (int i_ = 0; i_ < 10000 && !(what); i_++) {                                            \
            turn();                                                                                \
        }                                                                                          \
        assert_true(what);                                                                         \
    } while (0)

static int open_session(const char *uid, const char *command, struct err *err) {
    const struct podtalk_open o = {.what = PODTALK_EXEC,
                                   .with = PODTALK_WITH_STDIN | PODTALK_WITH_STDOUT | PODTALK_TTY,
                                   .container = STR("main")};
    const struct object pod = {.uid = str_of(uid)};
    const struct str args[] = {str_of(command)};
    return b.talks->open(b.talks, &pod, &o, args, 1, &events, NULL, &b.p, err);
}

/* The folder's name is longer than a socket's may be. */
static void bed_start(void) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char path[512];
    struct err err;
    b = (struct bed){.dir = "/tmp/berth-talk-XXXXXX"};
    assert_non_null(mkdtemp(b.dir));
    snprintf(path, sizeof(path), "%s/pods", b.dir);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/pods/%0100d", b.dir, 1);
    mkdir(path, 0700);
    b.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char here[4096];
    assert_non_null(getcwd(here, sizeof(here)));
    assert_int_equal(chdir(path), 0);
    snprintf(at.sun_path, sizeof(at.sun_path), "talk.sock");
    assert_int_equal(bind(b.listener, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(listen(b.listener, 8), 0);
    assert_int_equal(pthread_create(&b.shim, NULL, shim, NULL), 0);
    b.loop = loop_new(&err);
    b.talks = talk_new(b.dir, b.loop, &err);
    assert_non_null(b.talks);
    b.timer = loop_clock(b.loop)->timer_new(loop_clock(b.loop), stop, NULL);
    buf_init(&b.out, 0);
}

static void bed_end(void) {
    char path[512];
    shutdown(b.listener, SHUT_RDWR);
    if (b.p) {
        b.talks->close(b.p);
    }
    pthread_join(b.shim, NULL);
    close(b.listener);
    loop_clock(b.loop)->timer_free(b.timer);
    talk_free(b.talks);
    loop_free(b.loop);
    buf_release(&b.out);
    snprintf(path, sizeof(path), "%s/pods/%0100d/talk.sock", b.dir, 1);
    unlink(path);
    snprintf(path, sizeof(path), "%s/pods/%0100d", b.dir, 1);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/pods", b.dir);
    rmdir(path);
    rmdir(b.dir);
}

static const char *uid(void) {
    static char text[128];
    snprintf(text, sizeof(text), "%0100d", 1);
    return text;
}

static void test_session(void **state) {
    struct err err;
    bed_start();
    assert_ok(open_session(uid(), "cat", &err), &err);
    TURN_UNTIL(b.opened);
    b.talks->write(b.p, STR("hello "));
    b.talks->resize(b.p, 24, 80);
    b.talks->write(b.p, STR("there"));
    b.talks->end(b.p);
    TURN_UNTIL(b.exited);
    assert_str_eq(buf_view(&b.out), STR("hello 24x80;there"));
    assert_true(b.ended);
    assert_int_equal(b.end.end, PODTALK_CODE);
    assert_int_equal(b.end.value, 3);
    bed_end();
}

/* While the user holds back, the shim's writes stop, then ours: nothing grows
 * but what we were given. */
static void test_hold(void **state) {
    enum { BLOCK = 64 << 10, BLOCKS = 64 };
    static char block[BLOCK];
    struct err err;
    bed_start();
    b.hold = true;
    assert_ok(open_session(uid(), "cat", &err), &err);
    size_t waiting = 0;
    for (int i = 0; i < BLOCKS; i++) {
        memset(block, 'a' + i % 26, BLOCK);
        waiting = b.talks->write(b.p, str_from(block, BLOCK));
        turn();
    }
    assert_true(waiting > 0);
    assert_true(b.out.n > 0 && b.out.n <= BLOCK);
    b.hold = false;
    b.talks->resume(b.p);
    TURN_UNTIL(b.out.n == (size_t)BLOCK * BLOCKS);
    assert_true(b.drained > 0);
    for (size_t i = 0; i < b.out.n; i += 1000) {
        assert_int_equal(b.out.p[i], 'a' + i / BLOCK % 26);
    }
    b.talks->end(b.p);
    TURN_UNTIL(b.exited);
    bed_end();
}

static void test_failures(void **state) {
    struct err err;
    bed_start();
    assert_int_equal(open_session("no-such-pod", "cat", &err), ERR_NOT_FOUND);
    assert_int_equal(open_session("..", "cat", &err), ERR_INVALID);
    assert_ok(open_session(uid(), "none", &err), &err);
    TURN_UNTIL(b.exited);
    assert_false(b.opened);
    assert_int_equal(b.end.end, PODTALK_FAILED);
    assert_int_equal(b.end.value, PODTALK_NO_COMMAND);
    assert_string_equal(b.text, "no such file");
    b.exited = false;
    assert_ok(open_session(uid(), "die", &err), &err);
    TURN_UNTIL(b.opened);
    b.talks->end(b.p);
    TURN_UNTIL(b.exited);
    assert_int_equal(b.end.end, PODTALK_FAILED);
    assert_int_equal(b.end.value, PODTALK_INTERNAL);
    bed_end();
}

static void test_no_memory(void **state) {
    struct err err;
    bed_start();
    for (uint64_t i = 1;; i++) {
        assert_true(i < 50);
        mem_fault(i, 0);
        int r = open_session(uid(), "cat", &err);
        mem_fault(0, 0);
        if (r == 0) {
            break;
        }
        b.p = NULL;
    }
    bed_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
