/* podtalk: frames come back as they went in, however they are cut; what breaks the order or a limit is refused. */
#include "base/test.h"

#include "base/limits.h"
#include "base/mem.h"
#include "wire/podtalk.h"

/* What a direction said, as text: one word a frame; pieces of DATA are put together. */
struct heard {
    struct buf text;
    int r;
};

static void hear(struct heard *h, const struct podtalk_frame *f) {
    static const char *const names[] = {"", "open", "opened", "data", "end", "resize", "exit"};
    struct str arg;
    if (f->type == PODTALK_DATA) {
        buf_f(&h->text, "%d<%.*s>", (int)f->stream, STR_ARG(f->data));
        return;
    }
    buf_f(&h->text, "%s", names[f->type]);
    switch (f->type) {
    case PODTALK_OPEN:
        buf_f(&h->text, " %d %u %ux%u %u %.*s", (int)f->open.what, f->open.with, f->open.rows,
              f->open.cols, f->open.port, STR_ARG(f->open.container));
        for (size_t at = 0; podtalk_arg(&f->open, &at, &arg);) {
            buf_f(&h->text, " [%.*s]", STR_ARG(arg));
        }
        break;
    case PODTALK_END:
        buf_f(&h->text, " %d", (int)f->stream);
        break;
    case PODTALK_RESIZE:
        buf_f(&h->text, " %ux%u", f->rows, f->cols);
        break;
    case PODTALK_EXIT:
        buf_f(&h->text, " %d %d %.*s", (int)f->exit.end, f->exit.value, STR_ARG(f->exit.text));
        break;
    default:
        break;
    }
    buf_ch(&h->text, ';');
}

/* Feeds `bytes` in pieces of `step`. */
static struct heard listen(bool from_caller, struct str bytes, size_t step) {
    struct heard h = {0};
    struct podtalk t;
    podtalk_init(&t, from_caller);
    buf_init(&h.text, 0);
    for (size_t at = 0; at < bytes.n && (h.r == 0 || h.r == ERR_AGAIN); at += step) {
        struct str in = str_head(str_skip(bytes, at), step);
        struct podtalk_frame f;
        while ((h.r = podtalk_next(&t, &in, &f, NULL)) == 0) {
            hear(&h, &f);
        }
        assert_true(h.r != ERR_AGAIN || in.n == 0);
    }
    podtalk_release(&t);
    return h;
}

static void wants(bool from_caller, const struct buf *b, int r, const char *text) {
    struct heard h = listen(from_caller, buf_view(b), b->n);
    assert_str_eq(buf_view(&h.text), str_of(text));
    assert_int_equal(h.r, r);
    buf_release(&h.text);
}

static const struct podtalk_open shell = {.what = PODTALK_EXEC,
                                          .with = PODTALK_WITH_STDIN | PODTALK_WITH_STDOUT |
                                                  PODTALK_TTY,
                                          .rows = 24,
                                          .cols = 300,
                                          .container = {"main", 4}};

static void test_caller(void **state) {
    const struct str args[] = {STR("sh"), STR("-c"), STR(""), STR("echo \xff")};
    struct buf b;
    buf_init(&b, 0);
    assert_int_equal(podtalk_open(&b, &shell, args, 4, NULL), 0);
    podtalk_data(&b, PODTALK_STDIN, STR("one"));
    podtalk_data(&b, PODTALK_STDIN, STR(""));
    podtalk_resize(&b, 25, 80);
    podtalk_end(&b, PODTALK_STDIN);
    podtalk_resize(&b, 1, 65535);
    wants(true, &b, ERR_AGAIN,
          "open 1 11 24x300 0 main [sh] [-c] [] [echo \xff];0<one>resize 25x80;end 0;"
          "resize 1x65535;");
    for (size_t step = 1; step < 12; step++) {
        struct heard h = listen(true, buf_view(&b), step);
        assert_int_equal(h.r, ERR_AGAIN);
        assert_true(str_starts(buf_view(&h.text), STR("open 1 11 24x300 0 main [sh]")));
        assert_true(str_ends(buf_view(&h.text), STR("resize 25x80;end 0;resize 1x65535;")));
        assert_true(step > 1 || str_contains(buf_view(&h.text), STR("0<o>0<n>0<e>")));
        buf_release(&h.text);
    }
    buf_release(&b);
}

static void test_shim(void **state) {
    struct buf b;
    buf_init(&b, 0);
    podtalk_opened(&b);
    podtalk_data(&b, PODTALK_STDOUT, STR("out"));
    podtalk_data(&b, PODTALK_STDERR, STR("err"));
    podtalk_end(&b, PODTALK_STDERR);
    podtalk_exit(&b, PODTALK_CODE, 255, STR("not told"));
    wants(false, &b, ERR_AGAIN, "opened;1<out>2<err>end 2;exit 0 255 ;");
    buf_reset(&b);
    podtalk_exit(&b, PODTALK_FAILED, PODTALK_NO_COMMAND, STR("no such file"));
    wants(false, &b, ERR_AGAIN, "exit 2 3 no such file;");
    buf_reset(&b);
    podtalk_opened(&b);
    podtalk_exit(&b, PODTALK_SIGNAL, 9, STR(""));
    wants(false, &b, ERR_AGAIN, "opened;exit 1 9 ;");
    podtalk_opened(&b);
    wants(false, &b, ERR_SYNTAX, "opened;exit 1 9 ;");
    buf_release(&b);
}

static void test_connection(void **state) {
    const struct podtalk_open o = {.what = PODTALK_CONNECT, .port = 8080};
    struct buf b;
    buf_init(&b, 0);
    assert_int_equal(podtalk_open(&b, &o, NULL, 0, NULL), 0);
    podtalk_data(&b, PODTALK_STDIN, STR("GET"));
    podtalk_end(&b, PODTALK_STDIN);
    wants(true, &b, ERR_AGAIN, "open 3 0 0x0 8080 ;0<GET>end 0;");
    podtalk_data(&b, PODTALK_STDIN, STR("more"));
    wants(true, &b, ERR_SYNTAX, "open 3 0 0x0 8080 ;0<GET>end 0;");
    buf_release(&b);
}

/* Long data goes out in frames within the limit, and comes in whole. */
static void test_long(void **state) {
    enum { LONG = 3 * PODTALK_BYTES_MAX };
    char *bytes = mem_alloc(LONG);
    struct podtalk t;
    struct podtalk_frame f;
    size_t got = 0, frames = 0;
    struct buf b;
    memset(bytes, 'x', LONG);
    buf_init(&b, 0);
    podtalk_opened(&b);
    podtalk_data(&b, PODTALK_STDOUT, str_from(bytes, LONG));
    struct str in = buf_view(&b);
    podtalk_init(&t, false);
    while (podtalk_next(&t, &in, &f, NULL) == 0) {
        assert_true(f.data.n < PODTALK_BYTES_MAX);
        got += f.data.n;
        frames++;
    }
    assert_int_equal(got, LONG);
    assert_int_equal(frames, 1 + 4);
    assert_int_equal(t.part.cap, 0);
    podtalk_release(&t);
    buf_release(&b);
    mem_free(bytes);
}

static void test_end(void **state) {
    struct podtalk t;
    struct podtalk_frame f;
    struct buf b;
    buf_init(&b, 0);
    podtalk_init(&t, false);
    podtalk_exit(&b, PODTALK_CODE, 0, STR(""));
    struct str in = str_head(buf_view(&b), b.n - 1);
    assert_int_equal(podtalk_next(&t, &in, &f, NULL), ERR_AGAIN);
    assert_int_equal(podtalk_closed(&t, NULL), ERR_GONE);
    in = str_skip(buf_view(&b), b.n - 1);
    assert_int_equal(podtalk_next(&t, &in, &f, NULL), 0);
    assert_int_equal(podtalk_closed(&t, NULL), 0);
    podtalk_release(&t);
    buf_release(&b);
}

/* What nobody may send. */
static void test_refused(void **state) {
    static const struct {
        bool from_caller;
        struct str bytes;
        const char *why;
    } bad[] = {
        {true, {"\x00\0\0\0", 4}, "cannot come"},
        {true, {"\x07\0\0\0", 4}, "cannot come"},
        {true, {"\x01\1\0\1", 4}, "too long"},
        {true, {"\x01\xff\xff\xff", 4}, "too long"},
        {true, {"\x03\0\0\2\0x", 6}, "cannot come"},
        {true, {"\x02\0\0\0", 4}, "cannot come"},
        {true, {"\x01\0\0\x08\3\0\0\0\0\0\0\1", 12}, "cut short"},
        {true, {"\x01\0\0\x09\3\0\0\0\0\0\0\0\0", 13}, "takes a port"},
        {true, {"\x01\0\0\x09\3\1\0\0\0\0\0\1\0", 13}, "do not go together"},
        {true, {"\x01\0\0\x09\4\0\0\0\0\0\0\1\0", 13}, "unknown kind"},
        {true, {"\x01\0\0\x09\3\0\0\0\0\0\0\1\1", 13}, "cut short"},
        {true, {"\x01\0\0\x0a\2\0\0\0\0\0\0\0\1c", 14}, NULL},
        {true, {"\x01\0\0\x0a\1\0\0\0\0\0\0\0\1c", 14}, "no command"},
        {true, {"\x01\0\0\x0a\2\x0c\0\0\0\0\0\0\1c", 14}, "do not go together"},
        {true, {"\x01\0\0\x0a\2\x10\0\0\0\0\0\0\1c", 14}, "do not go together"},
        {true, {"\x01\0\0\x0a\2\0\0\0\0\0\0\0\1\0", 14}, "impossible name"},
        {true, {"\x01\0\0\x0c\1\0\0\0\0\0\0\0\1cab", 16}, "does not end"},
        {true, {"\x01\0\0\x0c\2\0\0\0\0\0\0\0\1ca\0", 16}, "no command"},
        {false, {"\x01\0\0\0", 4}, "cannot come"},
        {false, {"\x02\0\0\1x", 5}, "something in it"},
        {false, {"\x02\0\0\0\3\0\0\2\0x", 10}, "not open"},
        {false, {"\x02\0\0\0\3\0\0\2\3x", 10}, "not open"},
        {false, {"\x02\0\0\0\3\0\0\1\1x", 10}, "empty"},
        {false, {"\x02\0\0\0\4\0\0\1\0", 9}, "not open"},
        {false, {"\x02\0\0\0\4\0\0\0", 8}, "not open"},
        {false, {"\x02\0\0\0\5\0\0\4\0\1\0\1", 12}, "cannot come"},
        {false, {"\x06\0\0\1\0", 5}, "cut short"},
        {false, {"\x06\0\0\2\3\1", 6}, "cannot be"},
        {false, {"\x06\0\0\2\1\0", 6}, "cannot be"},
        {false, {"\x06\0\0\2\1\x41", 6}, "cannot be"},
        {false, {"\x06\0\0\2\2\x07", 6}, "cannot be"},
        {false, {"\x06\0\0\3\0\0x", 7}, "cannot be"},
        {false, {"\x06\0\x04\3", 4}, NULL},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct podtalk t;
        struct podtalk_frame f;
        struct err err = {0};
        struct str in = bad[i].bytes;
        int r;
        podtalk_init(&t, bad[i].from_caller);
        while ((r = podtalk_next(&t, &in, &f, &err)) == 0) {
        }
        print_message("%zu: %s\n", i, err.text);
        assert_int_equal(r, bad[i].why ? ERR_SYNTAX : ERR_AGAIN);
        assert_true(!bad[i].why || str_contains(str_of(err.text), str_of(bad[i].why)));
        assert_int_equal(podtalk_next(&t, &in, &f, NULL), r); /* sticks */
        podtalk_release(&t);
    }
}

/* Without stdin nothing may come for it, without a terminal it has no size. */
static void test_not_opened(void **state) {
    struct podtalk_open o = shell;
    const struct str args[] = {STR("id")};
    struct buf b;
    buf_init(&b, 0);
    o.with = PODTALK_WITH_STDOUT;
    assert_int_equal(podtalk_open(&b, &o, args, 1, NULL), 0);
    size_t opened = b.n;
    podtalk_data(&b, PODTALK_STDIN, STR("x"));
    wants(true, &b, ERR_SYNTAX, "open 1 2 24x300 0 main [id];");
    b.n = opened;
    podtalk_resize(&b, 1, 1);
    wants(true, &b, ERR_SYNTAX, "open 1 2 24x300 0 main [id];");
    buf_release(&b);
}

static void test_limits(void **state) {
    static struct str args[LIMIT_EXEC_ARGS + 1];
    static char big[LIMIT_EXEC_ARGS_BYTES];
    struct buf b;
    struct podtalk t;
    struct podtalk_frame f;
    buf_init(&b, 0);
    for (size_t i = 0; i <= LIMIT_EXEC_ARGS; i++) {
        args[i] = STR("a");
    }
    assert_int_equal(podtalk_open(&b, &shell, args, LIMIT_EXEC_ARGS + 1, NULL), ERR_INVALID);
    assert_int_equal(podtalk_open(&b, &shell, args, 0, NULL), ERR_INVALID);
    args[1] = str_from("a\0b", 3);
    assert_int_equal(podtalk_open(&b, &shell, args, 2, NULL), ERR_INVALID);
    memset(big, 'a', sizeof(big));
    args[0] = str_from(big, sizeof(big));
    assert_int_equal(podtalk_open(&b, &shell, args, 1, NULL), ERR_INVALID);
    args[1] = args[0];
    args[2] = args[0];
    assert_int_equal(podtalk_open(&b, &shell, args, 3, NULL), ERR_TOO_LARGE);
    assert_int_equal(b.n, 0);
    args[0].n--;
    assert_int_equal(podtalk_open(&b, &shell, args, 1, NULL), 0);
    struct str in = buf_view(&b);
    podtalk_init(&t, true);
    assert_int_equal(podtalk_next(&t, &in, &f, NULL), 0);
    assert_int_equal(f.open.argc, 1);
    assert_int_equal(podtalk_next(&t, &in, &f, NULL), ERR_AGAIN);
    assert_int_equal(t.part.cap, 0); /* given back */
    podtalk_release(&t);
    buf_release(&b);
}

static void test_no_memory(void **state) {
    const struct str args[] = {STR("id")};
    struct podtalk t;
    struct podtalk_frame f;
    struct buf b;
    buf_init(&b, 0);
    assert_int_equal(podtalk_open(&b, &shell, args, 1, NULL), 0);
    struct str in = buf_view(&b);
    podtalk_init(&t, true);
    mem_fault(1, 0);
    assert_int_equal(podtalk_next(&t, &in, &f, NULL), ERR_NOMEM);
    mem_fault(0, 0);
    assert_int_equal(podtalk_next(&t, &in, &f, NULL), ERR_NOMEM);
    podtalk_release(&t);
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caller),     cmocka_unit_test(test_shim),
        cmocka_unit_test(test_connection), cmocka_unit_test(test_long),
        cmocka_unit_test(test_end),        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_not_opened), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
