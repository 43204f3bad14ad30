/* logread: order over rotated parts, tail, since, limit, follow over a rotation, pause and resume.
 */
#include "node/files/testbed.h"

#include <fcntl.h>

#include "node/streams/logread.h"
#include "wire/podlog.h"

struct bed {
    struct loop *loop;
    struct log_source *source;
    char dir[PATH_LEN], logs[PATH_LEN], pod[PATH_LEN];
    struct object *obj;
    struct buf got;
    struct log_reader *reader;
    bool ended, pause;
    int pauses;
};

static int set_up(void **state) {
    struct bed *b = calloc(1, sizeof(*b));
    struct err err;

    test_folder(b->dir);
    snprintf(b->pod, sizeof(b->pod), "%.500s/pods/u", b->dir);
    snprintf(b->logs, sizeof(b->logs), "%.500s/log/main", b->pod);
    assert_ok(dir_make(b->logs, 0700, &err), &err);
    b->loop = loop_new(&err);
    b->source = logread_new(b->dir, loop_clock(b->loop), &err);
    b->obj =
        test_object("Pod", "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
                           "\"namespace\":\"d\",\"uid\":\"u\"},\"spec\":{}}");
    buf_init(&b->got, 1 << 20);
    *state = b;
    return 0;
}

static int tear_down(void **state) {
    struct bed *b = *state;

    if (b->reader) {
        b->source->close(b->reader);
    }
    logread_free(b->source);
    loop_free(b->loop);
    object_unref(b->obj);
    buf_release(&b->got);
    dir_remove(b->dir, NULL);
    free(b);
    return 0;
}

static void add_lines(struct bed *b, const char *file, int from, int to) {
    char path[PATH_LEN];
    struct buf out;

    buf_init(&out, 1 << 20);
    for (int i = from; i < to; i++) {
        char text[32];
        snprintf(text, sizeof(text), "line %d", i);
        podlog_write(&out, (int64_t)i * NS_PER_SEC, i % 2, true, str_of(text));
    }
    assert_int_equal(path_join(path, b->logs, file, NULL), 0);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(write(fd, out.p, out.n) == (ssize_t)out.n);
    close(fd);
    buf_release(&out);
}

static void set_state(struct bed *b, const char *json) {
    assert_int_equal(file_store(b->pod, "state.json", str_of(json), 0600, NULL), 0);
}

static bool on_data(void *ctx, struct str bytes) {
    struct bed *b = ctx;

    buf_str(&b->got, bytes);
    b->pauses += b->pause;
    return !b->pause;
}

static void on_end(void *ctx, const struct err *err) {
    struct bed *b = ctx;

    assert_null(err);
    b->ended = true;
}

static bool has_ended(void *ctx) {
    struct bed *b = ctx;

    if (b->pauses) {
        b->pauses = 0;
        b->source->resume(b->reader);
    }
    return b->ended;
}

static void read_log(struct bed *b, struct log_options o) {
    struct err err;

    o.container = STR("main");
    if (b->reader) {
        b->source->close(b->reader);
        b->reader = NULL;
    }
    b->ended = false;
    buf_reset(&b->got);
    assert_ok(b->source->open(b->source, b->obj, &o, on_data, on_end, b, &b->reader, &err), &err);
    assert_int_equal(b->got.n, 0);
    test_until(b->loop, has_ended, b);
}

static void test_parts_and_options(void **state) {
    struct bed *b = *state;

    add_lines(b, "0.log.2", 0, 2);
    add_lines(b, "0.log.1", 2, 4);
    add_lines(b, "0.log", 4, 6);
    read_log(b, (struct log_options){.tail_lines = -1, .limit_bytes = -1});
    assert_str_eq(buf_view(&b->got), STR("line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n"));
    read_log(b, (struct log_options){.tail_lines = 3, .limit_bytes = -1});
    assert_str_eq(buf_view(&b->got), STR("line 3\nline 4\nline 5\n"));
    read_log(b, (struct log_options){.tail_lines = 0, .limit_bytes = -1});
    assert_int_equal(b->got.n, 0);
    read_log(b, (struct log_options){.tail_lines = -1, .limit_bytes = 10});
    assert_str_eq(buf_view(&b->got), STR("line 0\nlin"));
    read_log(b, (struct log_options){.tail_lines = -1,
                                     .limit_bytes = -1,
                                     .since_ns = 5 * NS_PER_SEC,
                                     .timestamps = true});
    assert_str_eq(buf_view(&b->got), STR("1970-01-01T00:00:05Z line 5\n"));
    read_log(b, (struct log_options){.tail_lines = -1, .limit_bytes = -1, .stderr_only = true});
    assert_str_eq(buf_view(&b->got), STR("line 1\nline 3\nline 5\n"));
    b->pause = true;
    read_log(b, (struct log_options){.tail_lines = -1, .limit_bytes = -1});
    assert_true(str_ends(buf_view(&b->got), STR("line 4\nline 5\n")));
}

static bool has_three(void *ctx) {
    return str_contains(buf_view(&((struct bed *)ctx)->got), STR("line 3\n"));
}

static void test_follow_over_rotation(void **state) {
    struct bed *b = *state;
    char from[PATH_LEN], to[PATH_LEN];
    struct err err;
    const struct log_options o = {
        .container = STR("main"), .follow = true, .tail_lines = -1, .limit_bytes = -1};

    set_state(b,
              "{\"phase\":\"Running\",\"containers\":[{\"name\":\"main\",\"state\":\"running\"}]}");
    add_lines(b, "0.log", 0, 2);
    assert_ok(b->source->open(b->source, b->obj, &o, on_data, on_end, b, &b->reader, &err), &err);
    add_lines(b, "0.log", 2, 4);
    test_until(b->loop, has_three, b);
    assert_false(b->ended);
    assert_int_equal(path_join(from, b->logs, "0.log", NULL), 0);
    assert_int_equal(path_join(to, b->logs, "0.log.1", NULL), 0);
    add_lines(b, "0.log", 4, 5); /* the last of the old file */
    assert_int_equal(rename(from, to), 0);
    add_lines(b, "0.log", 5, 6);
    set_state(b,
              "{\"phase\":\"Succeeded\",\"containers\":[{\"name\":\"main\",\"state\":\"done\"}]}");
    test_until(b->loop, has_ended, b);
    assert_str_eq(buf_view(&b->got), STR("line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n"));
}

static void test_previous_and_none(void **state) {
    struct bed *b = *state;
    struct log_options o = {
        .container = STR("main"), .tail_lines = -1, .limit_bytes = -1, .previous = true};

    add_lines(b, "1.log", 7, 8);
    assert_int_equal(b->source->open(b->source, b->obj, &o, on_data, on_end, b, &b->reader, NULL),
                     ERR_NOT_FOUND);
    add_lines(b, "0.log", 1, 2);
    read_log(b, o);
    assert_str_eq(buf_view(&b->got), STR("line 1\n"));
    o.container = STR("../../other/log/main");
    assert_int_equal(b->source->open(b->source, b->obj, &o, on_data, on_end, b, &b->reader, NULL),
                     ERR_BAD_REQUEST);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts_and_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_follow_over_rotation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_previous_and_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
