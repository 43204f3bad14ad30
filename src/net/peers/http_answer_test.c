/* Tests of http_answer: what is taken, what is refused, whole and byte by byte. */
#include "net/peers/http_answer.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/test.h"

#define OK_ "HTTP/1.1 200 OK\r\n"
#define CHUNKED_ OK_ "Transfer-Encoding: chunked\r\n\r\n"

struct answer_vector {
    const char *what, *in;
    size_t n;
    const char *want; /* "STATUS body"; NULL: refused */
    bool eof;         /* the peer's end follows */
};
#define GOOD(what, in, want)                                                                       \
    { what, in, sizeof(in) - 1, want, false }
#define ENDS(what, in, want)                                                                       \
    { what, in, sizeof(in) - 1, want, true }
#define BAD(what, in)                                                                              \
    { what, in, sizeof(in) - 1, NULL, true }

static const struct answer_vector vectors[] = {
    GOOD("length", OK_ "Content-Length: 2\r\n\r\nhi", "200 hi"),
    GOOD("no body", OK_ "Content-Length: 0\r\n\r\n", "200 "),
    GOOD("chunked", CHUNKED_ "1\r\nh\r\n1;x=y\r\ni\r\n0\r\nX-Sum: 1\r\n\r\n", "200 hi"),
    GOOD("204", "HTTP/1.1 204 No Content\r\n\r\n", "204 "),
    GOOD("interim first", "HTTP/1.1 100 Continue\r\n\r\n" OK_ "Content-Length: 1\r\n\r\nx",
         "200 x"),
    GOOD("no reason", "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx", "200 x"),
    ENDS("until the end", OK_ "\r\nall of it", "200 all of it"),
    ENDS("HTTP/1.0 until the end", "HTTP/1.0 200 OK\r\n\r\nold", "200 old"),
    BAD("cut in the body", OK_ "Content-Length: 5\r\n\r\nhi"),
    BAD("cut in a chunk", CHUNKED_ "5\r\nhi"),
    BAD("cut before the last chunk", CHUNKED_ "2\r\nhi\r\n"),
    BAD("cut in the head", OK_ "Content-Le"),
    BAD("both framings", OK_ "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("both, the other way",
        OK_ "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n"),
    BAD("two lengths", OK_ "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi"),
    BAD("two lengths that differ", OK_ "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!"),
    BAD("a list of lengths", OK_ "Content-Length: 2, 2\r\n\r\nhi"),
    BAD("length with sign", OK_ "Content-Length: +2\r\n\r\nhi"),
    BAD("negative length", OK_ "Content-Length: -2\r\n\r\nhi"),
    BAD("length in hex", OK_ "Content-Length: 0x2\r\n\r\nhi"),
    BAD("length with a zero", OK_ "Content-Length: 02\r\n\r\nhi"),
    BAD("length too large", OK_ "Content-Length: 99999999999999999999\r\n\r\nhi"),
    BAD("another coding", OK_ "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    BAD("chunked twice",
        OK_ "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("identity", OK_ "Transfer-Encoding: identity\r\n\r\nhi"),
    BAD("xchunked", OK_ "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
    BAD("chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    BAD("twin of framing", OK_ "Content_Length: 2\r\nContent-Length: 2\r\n\r\nhi"),
    BAD("chunk size with sign", CHUNKED_ "+1\r\nx\r\n0\r\n\r\n"),
    BAD("chunk size with 0x", CHUNKED_ "0x1\r\nx\r\n0\r\n\r\n"),
    BAD("chunk size empty", CHUNKED_ "\r\nx\r\n0\r\n\r\n"),
    BAD("chunk size overflow", CHUNKED_ "11111111111111111\r\nx\r\n0\r\n\r\n"),
    BAD("chunk too long", CHUNKED_ "1\r\nxy\r\n0\r\n\r\n"),
    BAD("bare LF in a chunk's head", CHUNKED_ "1\nx\n0\n\n"),
    BAD("bare LF", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx"),
    BAD("folded value", OK_ "X: a\r\n b\r\nContent-Length: 1\r\n\r\nx"),
    BAD("NUL in a value", OK_ "X: a\0b\r\nContent-Length: 1\r\n\r\nx"),
    BAD("blank before the colon", OK_ "Content-Length : 1\r\n\r\nx"),
    BAD("HTTP/2", "HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\nx"),
    BAD("HTTP/0.9", "hello"),
    BAD("status of two digits", "HTTP/1.1 20 OK\r\nContent-Length: 1\r\n\r\nx"),
    BAD("switching protocols", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    BAD("a request", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
};

struct seen {
    struct buf text;
};

static bool on_head(void *ctx, struct http_answer *a) {
    struct seen *s = ctx;
    buf_i64(&s->text, a->status);
    buf_ch(&s->text, ' ');
    return true;
}

static bool on_body(void *ctx, struct str bytes) {
    buf_str(&((struct seen *)ctx)->text, bytes);
    return true;
}

/* Feeds in steps; the bytes lie in memory of their own, so that reading beyond them shows. */
static enum http_answer_result run(struct http_answer *a, const struct answer_vector *v,
                                   size_t step, size_t *ret_left) {
    enum http_answer_result r = HTTP_ANSWER_MORE;
    struct str in = str_from(v->in, v->n);
    while (in.n > 0 && r == HTTP_ANSWER_MORE) {
        struct str part = str_head(in, step);
        char *copy = mem_alloc(part.n);
        size_t used = 0;
        assert_non_null(copy);
        memcpy(copy, part.p, part.n);
        r = http_answer_feed(a, str_from(copy, part.n), &used);
        mem_free(copy);
        in = str_skip(in, r == HTTP_ANSWER_BAD ? in.n : used);
    }
    *ret_left = in.n;
    return r == HTTP_ANSWER_MORE && v->eof ? http_answer_eof(a) : r;
}

static void test_vectors(void **state) {
    static const size_t steps[] = {1, 7, 1 << 20};
    for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
        for (size_t k = 0; k < 3; k++) {
            const struct answer_vector *v = &vectors[i];
            struct seen seen = {0};
            struct http_answer a;
            size_t left;
            buf_init(&seen.text, 0);
            http_answer_init(&a);
            a.on_head = on_head;
            a.on_body = on_body;
            a.ctx = &seen;
            enum http_answer_result r = run(&a, v, steps[k], &left);
            if ((r == HTTP_ANSWER_WHOLE) != (v->want != NULL)) {
                fail_msg("%s (step %zu): %d, %s", v->what, steps[k], (int)r,
                         a.trouble ? a.trouble : "");
            }
            if (v->want) {
                assert_str_eq(buf_view(&seen.text), str_of(v->want));
                assert_int_equal(left, 0);
            }
            http_answer_release(&a);
            buf_release(&seen.text);
        }
    }
}

static void test_reuse_and_head(void **state) {
    struct http_answer a;
    size_t used;
    struct str v;
    http_answer_init(&a);
    http_answer_next(&a, true);
    struct str in = STR(OK_ "Content-Length: 10\r\nX: y\r\n\r\nHTTP/1.1");
    assert_int_equal(http_answer_feed(&a, in, &used), HTTP_ANSWER_WHOLE);
    assert_int_equal(used, in.n - 8); /* no body: what follows is another's */
    assert_true(a.keep_alive);
    assert_int_equal(a.length, 10);
    assert_true(http_answer_header(&a, STR("x"), 0, &v));
    assert_str_eq(v, STR("y"));
    http_answer_next(&a, false);
    assert_false(http_answer_begun(&a));
    in = STR(OK_ "Connection: close\r\nContent-Length: 1\r\n\r\nx");
    assert_int_equal(http_answer_feed(&a, in, &used), HTTP_ANSWER_WHOLE);
    assert_false(a.keep_alive);
    http_answer_release(&a);
}

static void test_limits(void **state) {
    struct http_answer a;
    struct buf in;
    size_t used;
    buf_init(&in, 0);
    buf_c(&in, OK_);
    for (int i = 0; i < LIMIT_HTTP_HEADERS + 1; i++) {
        buf_f(&in, "X-%d: y\r\n", i);
    }
    http_answer_init(&a);
    assert_int_equal(http_answer_feed(&a, buf_view(&in), &used), HTTP_ANSWER_BAD);
    http_answer_next(&a, false);
    buf_reset(&in);
    buf_c(&in, OK_ "X: ");
    for (int i = 0; i < LIMIT_HTTP_HEADER_BYTES; i++) {
        buf_ch(&in, 'a');
    }
    assert_int_equal(http_answer_feed(&a, buf_view(&in), &used), HTTP_ANSWER_BAD);
    http_answer_next(&a, false);
    for (int i = 0; i <= HTTP_ANSWER_INTERIM_MAX; i++) {
        struct str one = STR("HTTP/1.1 103 Early Hints\r\n\r\n");
        enum http_answer_result r = http_answer_feed(&a, one, &used);
        assert_int_equal(r, i < HTTP_ANSWER_INTERIM_MAX ? HTTP_ANSWER_MORE : HTTP_ANSWER_BAD);
    }
    http_answer_release(&a);
    buf_release(&in);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_reuse_and_head),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
