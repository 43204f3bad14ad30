/* Tests of http2: requests and answers, the rules of heads, flow control, and what a peer may not do. */
#include "net/http2.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http2_peer.h"

enum { STREAMS = 512 };

struct bed {
    struct http2 *h;
    struct http2_peer peer;
    struct buf seen;
    struct http2_stream streams[STREAMS];
    struct http_parse parses[STREAMS];
    int n, n_whole, n_closed, n_sent;
    bool deaf;    /* the peer does not hear what comes of frames that the test made by hand */
    bool answers; /* at once, with "fine" */
    int64_t now;
    bool alive;
};
static struct bed b;

static struct http2_stream *on_open(void *ctx) {
    if (b.n == STREAMS) {
        return NULL;
    }
    struct http2_stream *s = &b.streams[b.n];
    struct http_parse *p = &b.parses[b.n++];
    *s = (struct http2_stream){.parse = p};
    buf_init(&s->out, 0);
    http_parse_init(p, 1 << 16);
    return s;
}

static void fine(struct http2_stream *s, const char *status) {
    struct http2_field f = {STR(":status"), str_of(status)};
    buf_c(&s->out, "fine");
    s->out_whole = true;
    b.alive = b.alive && http2_answer(b.h, s, &f, 1, true);
}

static void on_head(void *ctx, struct http2_stream *s) {
    if (s->parse->expects) {
        http2_continue(b.h, s);
    }
}

static void on_body(void *ctx, struct http2_stream *s) {
}

static void on_whole(void *ctx, struct http2_stream *s) {
    struct http_parse *p = s->parse;
    char status[16];
    b.n_whole++;
    if (p->state == HTTP_FAILED) {
        buf_f(&b.seen, "%d %s|", p->status, p->text);
        snprintf(status, sizeof(status), "%d", p->status);
        fine(s, status);
        return;
    }
    struct str host = {0}, cookie = {0}, body = buf_view(&p->body);
    http_parse_header(p, STR("host"), 0, &host);
    http_parse_header(p, STR("cookie"), 0, &cookie);
    buf_f(&b.seen, "%.*s %.*s %.*s %.*s %.*s|", STR_ARG(http_parse_method(p)),
          STR_ARG(http_parse_target(p)), STR_ARG(host), STR_ARG(cookie),
          STR_ARG(str_head(body, 10)));
    if (b.answers) {
        fine(s, "200");
    }
}

static void on_sent(void *ctx, struct http2_stream *s) {
    b.n_sent++;
}

static void on_closed(void *ctx, struct http2_stream *s, bool whole) {
    b.n_closed++;
}

static const struct http2_hooks hooks = {on_open, on_head, on_body, on_whole, on_sent, on_closed};

static void bed_start(void) {
    b = (struct bed){.now = NS_PER_SEC, .answers = true, .alive = true};
    buf_init(&b.seen, 0);
    peer_init(&b.peer);
    b.h = http2_new(&hooks, NULL, b.now);
}

static void bed_stop(void) {
    http2_free(b.h);
    for (int i = 0; i < b.n; i++) {
        http_parse_release(&b.parses[i]);
        buf_release(&b.streams[i].out);
    }
    buf_release(&b.seen);
    peer_release(&b.peer);
}

/* What each has to say goes to the other, `step` bytes at a time, until both are silent. */
static void talk_by(size_t step) {
    struct buf out;
    bool more = b.alive && b.h != NULL;
    while (more) {
        buf_init(&out, 0);
        peer_speak(&b.peer);
        struct str in = buf_view(&b.peer.to);
        more = in.n > 0;
        for (; in.n > 0 && b.alive; in = str_skip(in, step < in.n ? step : in.n)) {
            b.alive = http2_input(b.h, str_head(in, step), b.now);
        }
        buf_reset(&b.peer.to);
        b.alive = b.alive && http2_output(b.h, &out, 1 << 20);
        more = b.alive && (more || out.n > 0);
        if (b.alive && !b.deaf) {
            peer_hear(&b.peer, buf_view(&out));
        }
        buf_release(&out);
    }
}

static void talk(void) {
    talk_by(SIZE_MAX);
}

static void test_requests(void **state) {
    for (size_t step = 1; step < 100; step += 24) {
        bed_start();
        struct str body = STR("hello");
        nghttp2_nv crumbs[] = {peer_nv("cookie", STR("a=1")), peer_nv("cookie", STR("b=2"))};
        int32_t one = peer_ask(&b.peer, "GET", STR("/a?x=1"), NULL, crumbs, 2);
        int32_t two = peer_ask(&b.peer, "POST", STR("/b"), &body, NULL, 0);
        talk_by(step);
        assert_str_eq(buf_view(&b.seen), STR("GET /a?x=1 h a=1; b=2 |POST /b h  hello|"));
        assert_int_equal(b.peer.status[peer_at(one)], 200);
        assert_int_equal(b.peer.status[peer_at(two)], 200);
        assert_int_equal(b.peer.bytes[peer_at(two)], 4);
        assert_int_equal(b.n_closed, 2);
        assert_false(http2_over(b.h) || http2_abused(b.h));
        bed_stop();
    }
}

static const char *refused(const char *method, struct str path, struct str *body, const char *name,
                           struct str value) {
    static char seen[200];
    bed_start();
    nghttp2_nv more = peer_nv(name, value);
    int32_t id = peer_ask(&b.peer, method, path, body, &more, 1);
    talk();
    assert_int_equal(b.n_whole <= 1, true);
    snprintf(seen, sizeof(seen), "%d %.*s", b.peer.status[peer_at(id)], STR_ARG(buf_view(&b.seen)));
    bed_stop();
    return seen;
}

static void test_heads_are_judged(void **state) {
    static char big[LIMIT_HTTP_HEADER_BYTES];
    memset(big, 'x', sizeof(big));
    struct str body = STR("hello"), never = {0};
    assert_string_equal(refused("BREW", STR("/"), NULL, "x", STR("y")), "400 400 unknown method|");
    assert_string_equal(refused("GET", STR("/a/../b"), NULL, "x", STR("y")),
                        "400 400 the request path has a . or .. segment|");
    assert_string_equal(refused("GET", STR("/"), NULL, "host", STR("other")),
                        "400 400 more than one Host header|");
    assert_string_equal(refused("GET", STR("/"), NULL, "host", STR("h")), "200 GET / h  |");
    assert_string_equal(refused("GET", STR("/"), NULL, "x", str_from(big, sizeof(big))),
                        "431 431 the request line and headers are too large|");
    assert_string_equal(refused("GET", STR("/"), NULL, "bad\x01name", STR("y")),
                        "400 400 a header has a name or value that HTTP does not know|");
    assert_string_equal(refused("POST", STR("/"), &never, "content-length", STR("99999999999")),
                        "413 413 the request body is too large|");
    body = STR("hello");
    assert_string_equal(refused("POST", STR("/"), &body, "expect", STR("cake")),
                        "417 417 unknown expectation|");
    body = STR("hello");
    assert_string_equal(refused("POST", STR("/"), &body, "expect", STR("100-continue")),
                        "200 POST / h  hello|");
}

static void test_long_bodies(void **state) {
    static char big[70000];
    bed_start();
    memset(big, 'x', sizeof(big));
    struct str fits = str_from(big, 1 << 16), over = str_from(big, sizeof(big));
    int32_t one = peer_ask(&b.peer, "POST", STR("/"), &fits, NULL, 0);
    int32_t two = peer_ask(&b.peer, "POST", STR("/"), &over, NULL, 0);
    talk();
    assert_int_equal(b.peer.status[peer_at(one)], 200);
    assert_int_equal(b.peer.status[peer_at(two)], 413);
    bed_stop();
}

/* An answer larger than the window waits for it, and others pass. */
static void test_windows(void **state) {
    bed_start();
    b.answers = false;
    b.peer.slow = true;
    int32_t one = peer_ask(&b.peer, "GET", STR("/"), NULL, NULL, 0);
    talk();
    struct http2_stream *s = &b.streams[0];
    struct http2_field f = {STR(":status"), STR("200")};
    http2_answer(b.h, s, &f, 1, true);
    talk();
    assert_int_equal(b.peer.bytes[peer_at(one)], 0);
    for (int i = 0; i < 100000; i++) {
        buf_ch(&s->out, 'x');
    }
    http2_resume(b.h, s);
    talk();
    assert_int_equal(b.peer.bytes[peer_at(one)], 65535);
    assert_int_equal(s->out.n - s->out_at, 100000 - 65535);
    assert_int_equal(b.n_closed, 0);
    s->out_whole = true;
    nghttp2_session_consume(b.peer.session, one, 65535);
    talk();
    assert_int_equal(b.peer.bytes[peer_at(one)], 100000);
    assert_int_equal(b.n_closed, 1);
    bed_stop();
}

static void test_too_many_streams(void **state) {
    bed_start();
    b.answers = false;
    talk(); /* settings are known */
    for (int i = 0; i < LIMIT_H2_STREAMS + 5; i++) {
        peer_ask(&b.peer, "GET", STR("/"), NULL, NULL, 0);
    }
    talk(); /* an honest client keeps to it */
    assert_int_equal(b.n, LIMIT_H2_STREAMS);
    bed_stop();
}

static void test_continuations(void **state) {
    bed_start();
    talk();
    peer_raw(&b.peer, NGHTTP2_HEADERS, 0, 1, STR("\x82"));
    for (int i = 0; i < LIMIT_H2_CONTINUATIONS + 2; i++) {
        peer_raw(&b.peer, NGHTTP2_CONTINUATION, 0, 1, STR("\x86"));
    }
    talk();
    assert_true(http2_over(b.h));
    assert_int_equal(b.n_whole, 0);
    assert_true(b.peer.goaway > 0);
    bed_stop();
}

/* A head that unpacks to a hundred times its size is not kept, and the stream ends. */
static void test_unpacked_head(void **state) {
    struct buf block;
    bed_start();
    talk();
    buf_init(&block, 0);
    buf_c(&block,
          "\x82\x86\x84\x41\x01h\x40\x01x\x7f\x81\x1e"); /* x: 4000 bytes, kept in the table */
    for (int i = 0; i < 4000; i++) {
        buf_ch(&block, 'v');
    }
    for (int i = 0; i < 3000; i++) {
        buf_ch(&block, '\xbe'); /* and again */
    }
    peer_raw(&b.peer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM, 1,
             buf_view(&block));
    talk();
    assert_int_equal(b.n_whole, 0);
    assert_int_equal(b.n_closed, 1);
    assert_true(b.parses[0].head.cap <= 2 * LIMIT_HTTP_HEADER_BYTES);
    buf_release(&block);
    bed_stop();
}

/* So many frames of a kind, at once; true: the session stands it. */
static bool stands(int type, int flags, int32_t id, struct str payload, int n) {
    bed_start();
    b.answers = false;
    peer_ask(&b.peer, "GET", STR("/"), NULL, NULL, 0);
    talk();
    for (int i = 0; i < n; i++) {
        peer_raw(&b.peer, type, flags, id, payload);
    }
    talk();
    bool over = http2_over(b.h);
    assert_int_equal(over, http2_abused(b.h));
    assert_int_equal(b.peer.goaway, over ? NGHTTP2_ENHANCE_YOUR_CALM : -1);
    bed_stop();
    return !over;
}

static void test_floods(void **state) {
    const int few = LIMIT_H2_CONTROLS / 2, many = LIMIT_H2_CONTROLS + 10;
    const struct str ping = str_from("\0\0\0\0\0\0\0\1", 8), weight = str_from("\0\0\0\0\7", 5);
    const struct str window = str_from("\0\0\0\1", 4), table = str_from("\0\1\0\0\0\0", 6);
    assert_true(stands(NGHTTP2_PING, 0, 0, ping, few));
    assert_false(stands(NGHTTP2_PING, 0, 0, ping, many));
    assert_true(stands(NGHTTP2_SETTINGS, 0, 0, table, few));
    assert_false(stands(NGHTTP2_SETTINGS, 0, 0, table, many));
    assert_true(stands(NGHTTP2_PRIORITY, 0, 7, weight, few));
    assert_false(stands(NGHTTP2_PRIORITY, 0, 7, weight, many));
    assert_true(stands(99, 0, 0, STR("?"), few));
    assert_false(stands(99, 0, 0, STR("?"), many));
    assert_true(stands(NGHTTP2_WINDOW_UPDATE, 0, 0, window, LIMIT_H2_CREDITS - 10));
    assert_false(stands(NGHTTP2_WINDOW_UPDATE, 0, 0, window, LIMIT_H2_CREDITS + 10));
}

/* Requests that are taken back at once (CVE-2023-44487): so many, and then the connection ends. */
static int resets(int n, int64_t apart) {
    const struct str get = STR("\x82\x86\x84\x41\x01h"), cancel = str_from("\0\0\0\10", 4);
    bed_start();
    b.answers = false;
    talk();
    for (int i = 0; i < n && !http2_over(b.h); i++) {
        peer_raw(&b.peer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_END_STREAM,
                 2 * i + 1, get);
        peer_raw(&b.peer, NGHTTP2_RST_STREAM, 0, 2 * i + 1, cancel);
        b.now += apart;
        talk();
    }
    int whole = b.n_whole;
    assert_int_equal(http2_over(b.h), http2_abused(b.h));
    bed_stop();
    return whole;
}

static void test_rapid_resets(void **state) {
    assert_int_equal(resets(LIMIT_H2_RESETS / 2, 0), LIMIT_H2_RESETS / 2);
    assert_in_range(resets(2 * LIMIT_H2_RESETS, 0), LIMIT_H2_RESETS, LIMIT_H2_RESETS + 2);
    assert_int_equal(resets(2 * LIMIT_H2_RESETS, NS_PER_SEC / LIMIT_H2_RESETS_PER_S),
                     2 * LIMIT_H2_RESETS);
}

/* Streams that the server has to end for what the client does to them count as well. */
static void test_resets_that_are_provoked(void **state) {
    const struct str post = STR("\x83\x86\x84\x41\x01h"), much = str_from("\x7f\xff\xff\xff", 4);
    bed_start();
    b.answers = false;
    talk();
    b.deaf = true;
    int n = 0;
    for (; n < 2 * LIMIT_H2_RESETS && !http2_over(b.h); n++) {
        peer_raw(&b.peer, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 2 * n + 1, post);
        peer_raw(&b.peer, NGHTTP2_WINDOW_UPDATE, 0, 2 * n + 1, much); /* more than there can be */
        talk();
    }
    assert_in_range(n, LIMIT_H2_RESETS, LIMIT_H2_RESETS + 2);
    assert_true(http2_abused(b.h));
    bed_stop();
}

static void test_go_away(void **state) {
    bed_start();
    b.answers = false;
    int32_t one = peer_ask(&b.peer, "GET", STR("/1"), NULL, NULL, 0);
    talk();
    http2_go_away(b.h);
    talk();
    assert_int_equal(b.peer.goaway, NGHTTP2_NO_ERROR);
    assert_false(http2_over(b.h));
    fine(&b.streams[0], "200");
    talk();
    assert_int_equal(b.peer.status[peer_at(one)], 200);
    assert_int_equal(b.peer.bytes[peer_at(one)], 4);
    assert_true(http2_over(b.h));
    bed_stop();
}

static void test_other_protocols(void **state) {
    bed_start();
    buf_c(&b.peer.to, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_true(http2_input(b.h, buf_view(&b.peer.to), b.now));
    assert_true(http2_abused(b.h));
    bed_stop();
}

/* The Nth allocation fails, for every N: the session goes on or says that it does not, and nothing leaks. */
static void test_short_of_memory(void **state) {
    for (uint64_t n = 1;; n++) {
        bed_start();
        struct str body = STR("hello");
        peer_ask(&b.peer, "POST", STR("/a"), &body, NULL, 0);
        peer_speak(&b.peer);
        struct http2 *first = b.h;
        http2_free(first);
        mem_fault(n, 0);
        b.h = http2_new(&hooks, NULL, b.now);
        if (b.h) {
            struct buf out;
            buf_init(&out, 0);
            b.alive =
                http2_input(b.h, buf_view(&b.peer.to), b.now) && http2_output(b.h, &out, 1 << 20);
            buf_release(&out);
        }
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        bed_stop();
        if (!hit) {
            break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests),         cmocka_unit_test(test_heads_are_judged),
        cmocka_unit_test(test_long_bodies),      cmocka_unit_test(test_windows),
        cmocka_unit_test(test_too_many_streams), cmocka_unit_test(test_continuations),
        cmocka_unit_test(test_unpacked_head),    cmocka_unit_test(test_floods),
        cmocka_unit_test(test_rapid_resets),     cmocka_unit_test(test_resets_that_are_provoked),
        cmocka_unit_test(test_go_away),          cmocka_unit_test(test_other_protocols),
        cmocka_unit_test(test_short_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
