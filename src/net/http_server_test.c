/*
 * Tests of the HTTP server over real sockets: the vectors, answers, streams, slow peers, stopping, peers that leave.
 *
 * The client is a thread-free script: a socket of our own, watched by the same loop; each test runs the loop until the
 * client has seen the end of the connection (or what it waited for).
 */
#include "net/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/test.h"
#include "net/http_vectors.h"

struct bed {
    struct loop *loop;
    struct http_server *server;
    struct buf seen; /* what the handler saw */
    struct buf got;  /* what the client got */
    struct str rest; /* what it still has to send */
    int fd;
    struct loop_fd *watch;
    bool half_close, ended, reads;
    const char *until; /* stop the loop once `got` has this */
    struct http_request *held;
    int closed, drained, stopped;
    size_t streamed;
    struct timer *timer;
};
static struct bed b;

static void answer(void *ctx, struct http_request *r);

static void bed_start(struct http_server_options o) {
    struct err err;
    b = (struct bed){.fd = -1, .reads = true};
    buf_init(&b.seen, 0);
    buf_init(&b.got, 0);
    b.loop = loop_new(&err);
    assert_non_null(b.loop);
    o.host = STR("127.0.0.1");
    o.handler = o.handler ? o.handler : answer;
    assert_ok(http_server_start(b.loop, &o, &b.server, &err), &err);
    assert_true(http_server_port(b.server) > 0);
}

static void client_close(void) {
    loop_fd_free(b.watch);
    b.watch = NULL;
    if (b.fd >= 0) {
        close(b.fd);
        b.fd = -1;
    }
}

static void bed_stop(void) {
    client_close();
    http_server_free(b.server);
    struct clock *c = loop_clock(b.loop);
    c->timer_free(b.timer);
    buf_release(&b.seen);
    buf_release(&b.got);
    loop_free(b.loop);
}

static void client_event(void *ctx, int events);

static void client_watch(int events) {
    struct err err;
    loop_fd_free(b.watch);
    b.watch = loop_fd(b.loop, b.fd, events, client_event, NULL, &err);
    assert_non_null(b.watch);
}

static void client_send(void) {
    while (b.rest.n > 0) {
        ssize_t n = send(b.fd, b.rest.p, b.rest.n, MSG_NOSIGNAL);
        if (n < 0) {
            if (errno != EAGAIN) {
                b.rest.n = 0; /* the server said enough */
            }
            return;
        }
        b.rest = str_skip(b.rest, (size_t)n);
    }
    if (b.half_close) {
        shutdown(b.fd, SHUT_WR);
    }
}

static void client_event(void *ctx, int events) {
    char chunk[4096];
    if (events & LOOP_WRITABLE) {
        client_send();
        if (b.rest.n == 0) {
            client_watch(b.reads ? LOOP_READABLE : 0);
        }
        return;
    }
    ssize_t n = recv(b.fd, chunk, sizeof(chunk), 0);
    if (n > 0) {
        buf_add(&b.got, chunk, (size_t)n);
    } else if (n == 0 || errno != EAGAIN) {
        b.ended = true;
        loop_stop(b.loop);
    }
    if (b.until && str_contains(buf_view(&b.got), str_of(b.until))) {
        loop_stop(b.loop);
    }
}

static void client_open(struct str bytes) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(http_server_port(b.server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    b.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(b.fd, (struct sockaddr *)&at, sizeof(at)), 0);
    fcntl(b.fd, F_SETFL, O_NONBLOCK);
    b.rest = bytes;
    b.ended = false;
    buf_reset(&b.got);
    client_watch(LOOP_WRITABLE);
}

static void talk(struct str bytes) {
    client_open(bytes);
    loop_run(b.loop);
}

static void answer(void *ctx, struct http_request *r) {
    struct str q = http_query(r);
    buf_f(&b.seen, "%.*s %.*s%s%.*s %.*s|", STR_ARG(http_method(r)), STR_ARG(http_path(r)),
          q.n ? "?" : "", STR_ARG(q), STR_ARG(http_body(r)));
    http_respond(r, 200, "text/plain", STR("fine"));
}

/* ---- vectors ---- */

static void test_vectors(void **state) {
    bed_start((struct http_server_options){0});
    int failures = 0;
    for (size_t i = 0; i < HTTP_VECTORS; i++) {
        const struct http_vector *v = &http_vectors[i];
        char line[32];
        buf_reset(&b.seen);
        b.half_close = true;
        talk(v->bytes);
        client_close();
        snprintf(line, sizeof(line), "HTTP/1.1 %d ", v->status);
        struct str got = buf_view(&b.got);
        bool refused = v->status == 0 || (str_contains(got, str_of(line)) &&
                                          str_contains(got, STR("\"status\":\"Failure\"")) &&
                                          str_contains(got, STR("\r\nConnection: close\r\n")));
        bool clean = v->status != 0 || !str_contains(got, STR("Failure"));
        if (!b.ended || !refused || !clean || !str_is(buf_view(&b.seen), v->seen)) {
            print_error("%s: saw %.*s\n%.*s\n", v->name, STR_ARG(buf_view(&b.seen)), STR_ARG(got));
            failures++;
        }
    }
    assert_int_equal(failures, 0);
    bed_stop();
}

/* ---- answers ---- */

static void test_answer_bytes(void **state) {
    bed_start((struct http_server_options){0});
    talk(STR("GET /x?y=1 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    struct str got = buf_view(&b.got), head, date;
    assert_true(str_starts(got, STR("HTTP/1.1 200 OK\r\nDate: ")));
    str_cut(str_skip(got, 17), '\n', &date, &head);
    assert_int_equal(date.n, 36);
    assert_str_eq(head, STR("Content-Type: text/plain\r\nConnection: close\r\nContent-Length: 4\r\n"
                            "\r\nfine"));
    assert_str_eq(buf_view(&b.seen), STR("GET /x?y=1 |"));
    bed_stop();
}

static void test_head_and_expect(void **state) {
    bed_start((struct http_server_options){0});
    talk(STR("HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    assert_true(str_ends(buf_view(&b.got), STR("Content-Length: 4\r\n\r\n")));
    client_close();
    b.until = "100 Continue\r\n\r\n";
    talk(STR("POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
             "Connection: close\r\n\r\n"));
    assert_str_eq(buf_view(&b.got), STR("HTTP/1.1 100 Continue\r\n\r\n"));
    b.until = NULL;
    b.rest = STR("ok");
    client_send();
    loop_run(b.loop);
    assert_true(str_ends(buf_view(&b.got), STR("\r\n\r\nfine")));
    assert_str_eq(buf_view(&b.seen), STR("HEAD /x |POST /x ok|"));
    bed_stop();
}

static void add_headers(void *ctx, struct http_request *r) {
    struct str v;
    assert_int_equal(http_add_header(r, "X-A", STR("b\r\nX-Evil: 1")), ERR_INVALID);
    assert_int_equal(http_add_header(r, "X\nA", STR("b")), ERR_INVALID);
    assert_int_equal(http_add_header(r, "X-A", str_from("b\0c", 3)), ERR_INVALID);
    assert_int_equal(http_add_header(r, "X-A", STR("b")), 0);
    assert_true(http_header_nth(r, "accept", 1, &v));
    assert_str_eq(v, STR("d"));
    assert_str_eq(http_header(r, "ACCEPT"), STR("c"));
    assert_true(str_starts(http_peer(r), STR("127.0.0.1:")));
    assert_false(http_client_cert(r, &v, &v));
    assert_non_null(arena_alloc(http_arena(r), 100));
    http_respond(r, 404, NULL, STR(""));
}

static void test_headers(void **state) {
    bed_start((struct http_server_options){.handler = add_headers});
    talk(STR("GET / HTTP/1.1\r\nHost: h\r\nAccept: c\r\nAccept: d\r\nConnection: close\r\n\r\n"));
    assert_true(str_starts(buf_view(&b.got), STR("HTTP/1.1 404 Not Found\r\n")));
    assert_true(str_contains(buf_view(&b.got), STR("\r\nX-A: b\r\n")));
    assert_false(str_contains(buf_view(&b.got), STR("Evil")));
    bed_stop();
}

/* ---- one at a time, and later ---- */

static void hold(void *ctx, struct http_request *r) {
    assert_null(b.held); /* requests of one connection come one at a time */
    buf_f(&b.seen, "%.*s|", STR_ARG(http_path(r)));
    b.held = r;
    if (str_is(http_path(r), "/last")) {
        loop_stop(b.loop);
    } else {
        http_respond(r, 200, NULL, http_path(r));
        b.held = NULL;
    }
}

static void count_closed(void *user) {
    b.closed++;
    b.held = NULL;
    loop_stop(b.loop);
}

enum { PIPELINED = 1000, WELL_UNDER_WAY = 10 };
static int asked, asked_before;

static void count_asked(void *ctx, struct http_request *r) {
    asked++;
    if (str_is(http_path(r), "/other")) {
        asked_before = asked;
    } else if (asked == WELL_UNDER_WAY) {
        loop_stop(b.loop);
    }
    http_respond(r, 200, NULL, STR("x"));
}

/* One connection asks a thousand times in one go, another once while the first is being answered: how many were
 * answered by then. */
static int asked_by_then(size_t connections_max) {
    static const char one[] = GET_ "\r\n";
    static const char last[] = "GET /other HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
    bed_start(
        (struct http_server_options){.handler = count_asked, .connections_max = connections_max});
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(http_server_port(b.server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    asked = asked_before = 0;
    int busy = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(busy, (struct sockaddr *)&at, sizeof(at)), 0);
    for (int i = 0; i < PIPELINED; i++) {
        assert_int_equal(send(busy, one, sizeof(one) - 1, MSG_NOSIGNAL), sizeof(one) - 1);
    }
    loop_run(b.loop);
    talk(str_from(last, sizeof(last) - 1));
    close(busy);
    bed_stop();
    return asked_before;
}

/* A connection that never stops asking has one request or two a turn; others have theirs. */
static void test_pipeline_is_fair(void **state) {
    assert_in_range(asked_by_then(0), WELL_UNDER_WAY, WELL_UNDER_WAY + 20);
}

/* Nor does it hold a place for ever that somebody else asks for. */
static void test_pipeline_makes_room(void **state) {
    assert_in_range(asked_by_then(1), WELL_UNDER_WAY, WELL_UNDER_WAY + 20);
}

static void test_answer_later(void **state) {
    bed_start((struct http_server_options){.handler = hold});
    talk(STR(GET_ "\r\n"
                  "GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    assert_str_eq(buf_view(&b.seen), STR("/a|/last|"));
    http_set_user(b.held, &b, count_closed);
    assert_ptr_equal(http_user(b.held), &b);
    http_respond(b.held, 200, NULL, STR("late"));
    assert_int_equal(b.closed, 0); /* never inside */
    loop_run(b.loop);
    assert_int_equal(b.closed, 1);
    if (!b.ended) {
        loop_run(b.loop);
    }
    assert_true(str_ends(buf_view(&b.got), STR("late")));
    bed_stop();
}

static void test_peer_leaves(void **state) {
    bed_start((struct http_server_options){.handler = hold});
    talk(STR("GET /last HTTP/1.1\r\nHost: h\r\n\r\n"));
    http_set_user(b.held, &b, count_closed);
    client_close();
    loop_run(b.loop);
    assert_int_equal(b.closed, 1);
    bed_stop();
}

static void stop_loop(void *ctx) {
    loop_stop(b.loop);
}

static void run_for(int64_t ms) {
    struct clock *c = loop_clock(b.loop);
    b.timer = b.timer ? b.timer : c->timer_new(c, stop_loop, NULL);
    c->timer_start(b.timer, ms * NS_PER_MS);
    loop_run(b.loop);
    c->timer_stop(b.timer);
}

static void test_answer_to_nobody(void **state) {
    bed_start((struct http_server_options){.handler = hold});
    talk(STR("GET /last HTTP/1.1\r\nHost: h\r\n\r\n"));
    struct linger now = {1, 0};
    setsockopt(b.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)); /* RST */
    client_close();
    run_for(20);
    assert_int_equal(http_server_stats(b.server).connections, 0);
    assert_str_eq(http_path(b.held), STR("/last")); /* still ours until answered */
    http_respond(b.held, 200, NULL, STR("x"));
    bed_stop();
}

/* ---- streams ---- */

static void stream_more(void *user) {
    b.drained++;
    if (b.drained < 3) {
        assert_int_equal(http_stream_write(b.held, STR("more")), 0);
    } else {
        http_stream_end(b.held);
    }
}

static void stream(void *ctx, struct http_request *r) {
    b.held = r;
    http_set_user(r, &b, NULL);
    http_stream_begin(r, 200, "application/json");
    http_stream_on_drain(r, stream_more);
    assert_int_equal(http_stream_write(r, STR("")), 0);
    assert_int_equal(http_stream_write(r, STR("0123456789")), 0);
    assert_true(http_stream_waiting(r) > 0);
}

static void test_stream(void **state) {
    bed_start((struct http_server_options){.handler = stream});
    talk(STR("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    assert_true(
        str_ends(buf_view(&b.got), STR("Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n"
                                       "4\r\nmore\r\n4\r\nmore\r\n0\r\n\r\n")));
    client_close();
    b.drained = 0;
    talk(STR("GET / HTTP/1.0\r\n\r\n"));
    assert_true(str_ends(buf_view(&b.got), STR("Connection: close\r\n\r\n0123456789moremore")));
    bed_stop();
}

static void flood(void *ctx, struct http_request *r) {
    static char block[64 << 10];
    b.held = r;
    http_set_user(r, &b, count_closed);
    http_stream_begin(r, 200, NULL);
    int code = 0;
    while (code == 0 && b.streamed < (100 << 20)) {
        code = http_stream_write(r, str_from(block, sizeof(block)));
        b.streamed += code == 0 ? sizeof(block) : 0;
    }
    assert_int_equal(code, ERR_TOO_LARGE);
    assert_int_equal(http_stream_write(r, STR("x")), ERR_GONE);
}

static void test_stalled_reader_over_limit(void **state) {
    bed_start((struct http_server_options){.handler = flood, .out_max = 1 << 20});
    b.reads = false;
    talk(STR(GET_ "\r\n"));
    assert_int_equal(b.closed, 1);
    assert_true(b.streamed <= 1 << 20);
    assert_int_equal(http_server_stats(b.server).cut_slow, 1);
    assert_int_equal(http_server_stats(b.server).connections, 0);
    bed_stop();
}

static void big_answer(void *ctx, struct http_request *r) {
    size_t n = 20 << 20;
    char *p = mem_zalloc(n);
    http_set_user(r, &b, count_closed);
    http_respond(r, 200, NULL, str_from(p, n));
    mem_free(p);
}

static void test_stalled_reader_in_time(void **state) {
    bed_start((struct http_server_options){.handler = big_answer, .write_ms = 40});
    b.reads = false;
    talk(STR(GET_ "\r\n"));
    assert_int_equal(b.closed, 1);
    assert_int_equal(http_server_stats(b.server).cut_slow, 1);
    bed_stop();
}

static void test_big_answer_arrives(void **state) {
    bed_start((struct http_server_options){.handler = big_answer});
    talk(STR("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
    while (!b.ended) {
        loop_run(b.loop);
    }
    assert_true(b.got.n > 20 << 20 && b.got.n < (20 << 20) + 1000);
    assert_int_equal(b.closed, 1);
    bed_stop();
}

/* ---- slow and many ---- */

static void expect_cut(struct http_server_options o, struct str bytes, const char *status) {
    bed_start(o);
    talk(bytes);
    assert_true(b.ended);
    assert_true(status ? str_starts(buf_view(&b.got), str_of(status)) : b.got.n == 0);
    assert_int_equal(http_server_stats(b.server).cut_slow, o.idle_ms ? 0 : 1);
    bed_stop();
}

static void test_slow_senders(void **state) {
    expect_cut((struct http_server_options){.header_ms = 30}, STR(""), NULL);
    expect_cut((struct http_server_options){.header_ms = 30}, STR("GET / HT"), "HTTP/1.1 408 ");
    expect_cut((struct http_server_options){.body_ms = 30}, STR(POST_ "Content-Length: 9\r\n\r\nx"),
               "HTTP/1.1 408 ");
    expect_cut((struct http_server_options){.idle_ms = 30}, STR(GET_ "\r\n"), "HTTP/1.1 200 ");
}

static const char *account; /* whom `answer` takes the request for; NULL: a stranger */

static void vouch(void *ctx, struct http_request *r) {
    if (account) {
        http_set_account(r, str_of(account));
    }
    answer(ctx, r);
}

/* Strangers make room, the oldest first; who is known does not. */
static void test_too_many_connections(void **state) {
    bed_start((struct http_server_options){.connections_max = 1, .handler = vouch});
    account = NULL;
    b.until = "fine";
    talk(STR(GET_ "\r\n"));
    int first = b.fd;
    loop_fd_free(b.watch);
    b.watch = NULL;
    char byte;
    account = "alice";
    talk(STR(GET_ "\r\n"));
    assert_true(str_contains(buf_view(&b.got), STR("fine")));
    assert_true(recv(first, &byte, 1, 0) <= 0); /* it was ended */
    assert_int_equal(http_server_stats(b.server).rejected, 1);
    assert_int_equal(http_server_stats(b.server).connections, 1);
    close(first);
    first = b.fd;
    loop_fd_free(b.watch);
    b.watch = NULL;
    talk(STR(GET_ "\r\n"));
    assert_true(b.ended && b.got.n == 0);
    assert_int_equal(http_server_stats(b.server).rejected, 2);
    assert_int_equal(http_server_stats(b.server).connections, 1);
    close(first);
    bed_stop();
}

/* Without strangers whoever has the most makes room, the oldest first; the last one of a user stays. */
static void test_largest_makes_room(void **state) {
    static const char *const who[] = {"bob", "alice", "alice", "alice"};
    enum { ALL = sizeof(who) / sizeof(who[0]) };
    int fds[ALL + 2];
    char byte;
    bed_start((struct http_server_options){.connections_max = ALL, .handler = vouch});
    b.until = "fine";
    for (int i = 0; i < ALL + 2; i++) {
        account = i < ALL ? who[i] : "carol";
        talk(STR(GET_ "\r\n"));
        assert_true(str_contains(buf_view(&b.got), STR("fine")));
        fds[i] = b.fd;
        loop_fd_free(b.watch);
        b.watch = NULL;
        assert_int_equal(http_server_stats(b.server).rejected, i < ALL ? 0 : i - ALL + 1);
    }
    assert_true(recv(fds[0], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
    assert_true(recv(fds[1], &byte, 1, 0) <= 0);
    assert_true(http_server_stats(b.server).connections == ALL);
    for (int i = 0; i < ALL + 2; i++) {
        close(fds[i]);
    }
    account = NULL;
    bed_stop();
}

/* ---- bodies that are not read ---- */

static bool ask_head(void *ctx, struct http_request *r) {
    if (account) {
        http_set_account(r, str_of(account));
        return true;
    }
    buf_c(&b.seen, "head|");
    http_respond(r, 401, "text/plain", STR("who are you?"));
    return false;
}

static bool any_head(void *ctx, struct http_request *r) {
    return true;
}

static void test_bodies_after_heads(void **state) {
    bed_start((struct http_server_options){.head = ask_head});
    account = NULL;
    talk(STR("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\nabc"));
    assert_true(b.ended && str_starts(buf_view(&b.got), STR("HTTP/1.1 401 ")));
    assert_true(str_contains(buf_view(&b.got), STR("\r\nConnection: close\r\n")));
    client_close();
    talk(STR("POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"));
    assert_true(b.ended && str_starts(buf_view(&b.got), STR("HTTP/1.1 401 ")));
    client_close();
    assert_str_eq(buf_view(&b.seen), STR("head|head|"));
    account = "alice";
    b.until = "100 Continue\r\n\r\n";
    talk(STR("POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
             "Connection: close\r\n\r\n"));
    b.until = NULL;
    b.rest = STR("ok");
    client_send();
    loop_run(b.loop);
    assert_true(str_ends(buf_view(&b.got), STR("\r\n\r\nfine")));
    account = NULL;
    bed_stop();
}

/* Where no heads are asked about, an address is bounded by the total alone: an API server's reviews are long. */
static void test_bodies_without_heads(void **state) {
    enum { HALVES = 3 };
    int fds[HALVES];
    bed_start((struct http_server_options){.body_max = 16 << 20});
    b.until = "100 Continue";
    for (int i = 0; i < HALVES; i++) {
        talk(STR("POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                 "Content-Length: 15000000\r\n\r\n"));
        assert_true(str_contains(buf_view(&b.got), STR("100 Continue")));
        fds[i] = b.fd;
        loop_fd_free(b.watch);
        b.watch = NULL;
    }
    for (int i = 0; i < HALVES; i++) {
        close(fds[i]);
    }
    b.fd = -1;
    bed_stop();
}

/* What strangers may be sending at once. */
static void test_bodies_are_bounded(void **state) {
    enum { HALVES = LIMIT_HTTP_BODY_STRANGERS / LIMIT_HTTP_BODY_STRANGER };
    char half[256];
    int fds[HALVES];
    snprintf(half, sizeof(half), "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\na",
             LIMIT_HTTP_BODY_STRANGER);
    bed_start((struct http_server_options){.head = any_head, .handler = vouch});
    account = NULL;
    talk(STR("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 65537\r\n\r\na"));
    assert_true(str_starts(buf_view(&b.got), STR("HTTP/1.1 413 ")));
    client_close();
    b.until = "100 Continue";
    for (int i = 0; i < HALVES; i++) {
        char expect[300];
        snprintf(expect, sizeof(expect),
                 "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                 "Content-Length: %d\r\n\r\n",
                 LIMIT_HTTP_BODY_STRANGER);
        talk(str_of(expect));
        assert_true(str_contains(buf_view(&b.got), STR("100 Continue")));
        fds[i] = b.fd;
        loop_fd_free(b.watch);
        b.watch = NULL;
    }
    b.until = NULL;
    talk(str_of(half));
    assert_true(str_starts(buf_view(&b.got), STR("HTTP/1.1 429 ")));
    client_close();
    close(fds[0]); /* room again */
    b.until = "100 Continue";
    for (int i = 0; i < 2; i++) {
        talk(STR("POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
                 "Content-Length: 9\r\n\r\n"));
        client_close();
    }
    assert_true(str_contains(buf_view(&b.got), STR("100 Continue")));
    for (int i = 1; i < HALVES; i++) {
        close(fds[i]);
    }
    bed_stop();
}

/* ---- stopping ---- */

static void on_stopped(void *ctx) {
    b.stopped++;
    loop_stop(b.loop);
}

static void test_stop_lets_finish(void **state) {
    bed_start((struct http_server_options){.handler = hold});
    talk(STR("GET /last HTTP/1.1\r\nHost: h\r\n\r\n"));
    http_server_stop(b.server, 10000, on_stopped, NULL);
    assert_int_equal(b.stopped, 0);
    http_respond(b.held, 200, NULL, STR("bye"));
    while (!b.stopped || !b.ended) {
        loop_run(b.loop);
        client_close();
        b.ended = true;
    }
    assert_true(str_ends(buf_view(&b.got), STR("bye")));
    bed_stop();
}

/* Who asks without end is answered once more, and told that it was the last. */
static void test_stop_ends_pipelines(void **state) {
    bed_start((struct http_server_options){.handler = hold});
    talk(STR("GET /last HTTP/1.1\r\nHost: h\r\n\r\n" GET_ "\r\n" GET_ "\r\n"));
    http_server_stop(b.server, 10000, on_stopped, NULL);
    http_respond(b.held, 200, NULL, STR("bye"));
    b.held = NULL;
    while (!b.stopped || !b.ended) {
        loop_run(b.loop);
        client_close();
        b.ended = true;
    }
    assert_str_eq(buf_view(&b.seen), STR("/last|"));
    assert_true(str_contains(buf_view(&b.got), STR("Connection: close\r\n")));
    bed_stop();
}

static void test_stop_cuts_after_grace(void **state) {
    bed_start((struct http_server_options){.handler = hold});
    talk(STR("GET /last HTTP/1.1\r\nHost: h\r\n\r\n"));
    http_set_user(b.held, &b, count_closed);
    http_server_stop(b.server, 20, on_stopped, NULL);
    while (!b.stopped) {
        loop_run(b.loop);
    }
    assert_int_equal(b.closed, 1);
    bed_stop();
}

static void test_only_loopback(void **state) {
    struct err err;
    struct http_server *s = NULL;
    struct loop *l = loop_new(&err);
    struct http_server_options o = {.host = STR("0.0.0.0"), .handler = answer};
    assert_int_equal(http_server_start(l, &o, &s, &err), ERR_FORBIDDEN);
    o.host = STR("localhost");
    assert_int_equal(http_server_start(l, &o, &s, &err), ERR_INVALID);
    assert_null(s);
    o.host = STR("0.0.0.0");
    o.allow_any = true;
    assert_ok(http_server_start(l, &o, &s, &err), &err);
    http_server_free(s);
    loop_free(l);
}

/* The Nth allocation fails, for every N: the client gets its answer, a refusal or the end, and nothing leaks. */
static void test_short_of_memory(void **state) {
    struct str bytes = STR("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
                           "Connection: close\r\n\r\nx");
    int hit = 1, answered = 0;
    for (uint64_t n = 1; hit; n++) {
        bed_start((struct http_server_options){.header_ms = 40, .body_ms = 40, .idle_ms = 40});
        client_open(bytes);
        client_send();
        client_watch(LOOP_READABLE);
        assert_non_null(buf_room(&b.got, 4096));
        assert_non_null(buf_room(&b.seen, 4096));
        mem_fault(n, 0);
        loop_run(b.loop);
        hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(b.ended);
        answered += str_starts(buf_view(&b.got), STR("HTTP/1.1 200 "));
        bed_stop();
    }
    assert_true(answered > 0);
}

static void test_freed_with_requests(void **state) {
    bed_start((struct http_server_options){.handler = hold});
    talk(STR("GET /last HTTP/1.1\r\nHost: h\r\n\r\n"));
    bed_stop(); /* ASan looks for what is left */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_answer_bytes),
        cmocka_unit_test(test_head_and_expect),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_pipeline_is_fair),
        cmocka_unit_test(test_pipeline_makes_room),
        cmocka_unit_test(test_answer_later),
        cmocka_unit_test(test_peer_leaves),
        cmocka_unit_test(test_answer_to_nobody),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_stalled_reader_over_limit),
        cmocka_unit_test(test_stalled_reader_in_time),
        cmocka_unit_test(test_big_answer_arrives),
        cmocka_unit_test(test_slow_senders),
        cmocka_unit_test(test_too_many_connections),
        cmocka_unit_test(test_largest_makes_room),
        cmocka_unit_test(test_bodies_after_heads),
        cmocka_unit_test(test_bodies_are_bounded),
        cmocka_unit_test(test_bodies_without_heads),
        cmocka_unit_test(test_stop_lets_finish),
        cmocka_unit_test(test_stop_ends_pipelines),
        cmocka_unit_test(test_stop_cuts_after_grace),
        cmocka_unit_test(test_only_loopback),
        cmocka_unit_test(test_short_of_memory),
        cmocka_unit_test(test_freed_with_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
