/* Tests of http_parse: the vectors whole and byte by byte, sizes, and values as they come out. */
#include "net/http_parse.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/test.h"
#include "net/http_vectors.h"

/* Feeds all of `in` in steps; notes what was understood in *seen, returns the status of the refusal or 0. */
static int feed(struct str in, size_t step, struct buf *seen) {
    struct http_parse p;
    http_parse_init(&p, LIMIT_BODY_BYTES);
    int status = 0;
    bool open = true;
    while (in.n > 0 && open) {
        size_t used = 0;
        enum http_parse_result r = http_parse_feed(&p, str_head(in, step), &used);
        assert_true(used <= step);
        in = str_skip(in, used);
        if (r == HTTP_ERROR) {
            status = p.status;
            open = false;
        } else if (r == HTTP_MESSAGE) {
            buf_f(seen, "%.*s %.*s %.*s|", STR_ARG(http_parse_method(&p)),
                  STR_ARG(http_parse_target(&p)), STR_ARG(buf_view(&p.body)));
            open = p.keep_alive;
            http_parse_next(&p);
        }
    }
    if (status == 0 && open && p.state != HTTP_AT_START) {
        status = 400; /* ended early, as the server says */
    }
    http_parse_release(&p);
    return status;
}

static void test_vectors(void **state) {
    static const size_t steps[] = {SIZE_MAX, 1, 2, 3, 7};
    int failures = 0;
    for (size_t i = 0; i < HTTP_VECTORS; i++) {
        const struct http_vector *v = &http_vectors[i];
        for (size_t j = 0; j < sizeof(steps) / sizeof(*steps); j++) {
            struct buf seen;
            buf_init(&seen, 0);
            int status = feed(v->bytes, steps[j], &seen);
            if (status != v->status || !str_is(buf_view(&seen), v->seen)) {
                print_error("%s (step %zd): %d %.*s\n", v->name, (ssize_t)steps[j], status,
                            STR_ARG(buf_view(&seen)));
                failures++;
            }
            buf_release(&seen);
        }
    }
    assert_int_equal(failures, 0);
    assert_true(HTTP_VECTORS >= 80);
}

static int feed_repeated(const char *head, const char *piece, size_t times, const char *tail) {
    struct buf b, seen;
    buf_init(&b, 0);
    buf_init(&seen, 0);
    buf_c(&b, head);
    for (size_t i = 0; i < times; i++) {
        buf_c(&b, piece);
    }
    buf_c(&b, tail);
    int whole = feed(buf_view(&b), SIZE_MAX, &seen), parts = feed(buf_view(&b), 1000, &seen);
    assert_int_equal(whole, parts);
    buf_release(&b);
    buf_release(&seen);
    return whole;
}

static void test_sizes(void **state) {
    assert_int_equal(feed_repeated(GET_, "X: y\r\n", LIMIT_HTTP_HEADERS - 1, "\r\n"), 0);
    assert_int_equal(feed_repeated(GET_, "X: y\r\n", LIMIT_HTTP_HEADERS, "\r\n"), 431);
    assert_int_equal(feed_repeated(GET_ "X: ", "y", 1 << 20, "\r\n\r\n"), 431);
    assert_int_equal(feed_repeated(GET_, "y", 64 << 10, ": x\r\n\r\n"), 431);
    assert_int_equal(feed_repeated("GET /", "y", 16 << 10, " HTTP/1.1\r\nHost: h\r\n\r\n"), 0);
    assert_int_equal(feed_repeated("GET /", "y", 64 << 10, " HTTP/1.1\r\nHost: h\r\n\r\n"), 431);
    assert_int_equal(feed_repeated(CHUNKED_ "1;a=", "x", 8 << 10, "\r\ny\r\n0\r\n\r\n"), 400);
    assert_int_equal(feed_repeated(CHUNKED_ "0\r\n", "X: y\r\n", 8 << 10, "\r\n"), 431);
    assert_int_equal(feed_repeated(CHUNKED_, "800\r\n", 1, ""), 400);
}

static void test_body_limit(void **state) {
    struct http_parse p;
    size_t used;
    http_parse_init(&p, 4);
    assert_int_equal(http_parse_feed(&p, STR(CHUNKED_ "4\r\nabcd\r\n1\r\n"), &used), HTTP_MORE);
    assert_int_equal(http_parse_feed(&p, STR("e\r\n0\r\n\r\n"), &used), HTTP_ERROR);
    assert_int_equal(p.status, 413);
    http_parse_release(&p);
}

static void test_values(void **state) {
    struct http_parse p;
    struct str v;
    size_t used;
    http_parse_init(&p, 100);
    assert_int_equal(
        http_parse_feed(&p, STR(GET_ "A: \t x y \t\r\nb:1\r\na:\xff\x80\r\n\r\n"), &used),
        HTTP_MESSAGE);
    assert_true(http_parse_header(&p, STR("a"), 0, &v));
    assert_str_eq(v, STR("x y"));
    assert_true(http_parse_header(&p, STR("A"), 1, &v));
    assert_str_eq(v, STR("\xff\x80")); /* not blanks */
    assert_false(http_parse_header(&p, STR("a"), 2, &v));
    assert_true(p.keep_alive);
    http_parse_release(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_body_limit),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
