/*
 * Tests of HTTP/2 on the HTTP server, over real sockets: users' functions on streams, bounds of what peers take and
 * send, and ends. The client is an http2_peer on a socket that the server's loop watches.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/http2_peer.h"
#include "net/http_server.h"

enum { HELD = 128 };

struct client {
    struct http2_peer peer;
    int fd;
    struct loop_fd *watch;
    bool over;
};
struct bed {
    struct loop *loop;
    struct http_server *server;
    struct client clients[4];
    struct timer *tick;
    bool (*until)(void); /* what the loop runs for */
    struct http_request *held[HELD];
    size_t n_held;
    int closed, drained, stopped, heads;
    bool tells, lets; /* requests that are held have `closed`; bodies may come */
    const char *account;
    struct buf seen;
};
static struct bed b;

static void look(void) {
    if (b.until && b.until()) {
        loop_stop(b.loop);
    }
}

static void client_say(struct client *c) {
    peer_speak(&c->peer);
    ssize_t n = c->peer.to.n ? send(c->fd, c->peer.to.p, c->peer.to.n, MSG_NOSIGNAL) : 0;
    if (n > 0) {
        buf_consume(&c->peer.to, (size_t)n);
    }
}

static void client_hear(void *ctx, int events) {
    struct client *c = ctx;
    static char chunk[64 << 10];
    ssize_t n = recv(c->fd, chunk, sizeof(chunk), 0);
    if (n > 0) {
        peer_hear(&c->peer, str_from(chunk, (size_t)n));
        client_say(c);
    } else if (n == 0 || errno != EAGAIN) {
        c->over = true;
        loop_fd_free(c->watch);
        c->watch = NULL;
    }
    look();
}

static struct client *client_open(int i) {
    struct err err;
    struct client *c = &b.clients[i];
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(http_server_port(b.server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    peer_init(&c->peer);
    c->over = false;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&at, sizeof(at)), 0);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    c->watch = loop_fd(b.loop, c->fd, LOOP_READABLE, client_hear, c, &err);
    assert_non_null(c->watch);
    return c;
}

static void client_close(struct client *c) {
    if (c->fd > 0) {
        loop_fd_free(c->watch);
        close(c->fd);
        peer_release(&c->peer);
        *c = (struct client){0};
    }
}

static void on_tick(void *ctx) {
    for (size_t i = 0; i < sizeof(b.clients) / sizeof(*b.clients); i++) {
        if (b.clients[i].fd > 0 && !b.clients[i].over) {
            client_say(&b.clients[i]);
        }
    }
    look();
    loop_clock(b.loop)->timer_start(b.tick, 2 * NS_PER_MS);
}

static void run_until(bool (*until)(void)) {
    b.until = until;
    if (!until()) {
        loop_run(b.loop);
    }
    b.until = NULL;
}

static void on_closed(void *user) {
    b.closed++;
}

static void on_drained(void *user) {
    b.drained++;
}

static void hold(void *ctx, struct http_request *r) {
    buf_f(&b.seen, "%.*s|", STR_ARG(http_path(r)));
    if (str_is(http_path(r), "/now")) {
        http_respond(r, 200, "text/plain", STR("fine"));
        return;
    }
    assert_true(b.n_held < HELD);
    b.held[b.n_held++] = r;
    if (b.account) {
        http_set_account(r, str_of(b.account));
    }
    if (b.tells) {
        http_set_user(r, &b, on_closed);
    }
}

static bool on_head(void *ctx, struct http_request *r) {
    b.heads++;
    if (b.account) {
        http_set_account(r, str_of(b.account));
    }
    if (!b.lets) {
        http_respond(r, 401, NULL, STR("who are you"));
    }
    return b.lets;
}

static void bed_start(struct http_server_options o) {
    struct err err;
    b = (struct bed){0};
    buf_init(&b.seen, 0);
    b.loop = loop_new(&err);
    assert_non_null(b.loop);
    o.host = STR("127.0.0.1");
    o.handler = hold;
    assert_ok(http_server_start(b.loop, &o, &b.server, &err), &err);
    struct clock *c = loop_clock(b.loop);
    b.tick = c->timer_new(c, on_tick, NULL);
    c->timer_start(b.tick, NS_PER_MS);
}

static void bed_stop(void) {
    for (size_t i = 0; i < sizeof(b.clients) / sizeof(*b.clients); i++) {
        client_close(&b.clients[i]);
    }
    http_server_free(b.server);
    loop_clock(b.loop)->timer_free(b.tick);
    buf_release(&b.seen);
    loop_free(b.loop);
}

static struct http2_peer *first(void) {
    return &b.clients[0].peer;
}
static bool one_ended(void) {
    return first()->n_ended >= 1;
}
static bool two_ended(void) {
    return first()->n_ended >= 2;
}
static bool three_ended(void) {
    return first()->n_ended >= 3;
}
static bool is_going(void) {
    return first()->goaway >= 0;
}
static bool all_ended(void) {
    return first()->n_ended >= LIMIT_H2_STREAMS;
}
static bool one_held(void) {
    return b.n_held >= 1;
}
static bool two_held(void) {
    return b.n_held >= 2;
}
static bool many_held(void) {
    return b.n_held >= LIMIT_H2_STREAMS;
}
static bool one_told(void) {
    return b.closed >= 1;
}
static bool all_told(void) {
    return b.closed >= LIMIT_H2_STREAMS;
}
static bool is_over(void) {
    return b.clients[0].over;
}
static bool is_stopped(void) {
    return b.stopped && b.clients[0].over;
}
static bool has_drained(void) {
    return b.drained >= 1;
}

static void ask(int i, const char *path) {
    peer_ask(&b.clients[i].peer, "GET", str_of(path), NULL, NULL, 0);
}

/* Answers come in any order, each whole; `closed` comes once for each. */
static void test_streams(void **state) {
    bed_start((struct http_server_options){0});
    b.tells = true;
    client_open(0);
    for (int i = 0; i < LIMIT_H2_STREAMS; i++) {
        ask(0, "/a");
    }
    run_until(many_held);
    for (size_t i = b.n_held; i-- > 0;) {
        http_respond(b.held[i], 200, "text/plain", STR("0123456789"));
    }
    assert_int_equal(b.closed, 0); /* never inside */
    run_until(all_told);
    run_until(all_ended);
    for (int i = 0; i < LIMIT_H2_STREAMS; i++) {
        assert_int_equal(first()->status[i], 200);
        assert_int_equal(first()->bytes[i], 10);
    }
    assert_int_equal(b.closed, LIMIT_H2_STREAMS);
    bed_stop();
}

static void test_stream_of_bytes(void **state) {
    bed_start((struct http_server_options){0});
    b.tells = true;
    client_open(0);
    ask(0, "/a");
    run_until(one_held);
    struct http_request *r = b.held[0];
    http_stream_on_drain(r, on_drained);
    http_add_header(r, "X-Mine", STR("1"));
    http_stream_begin(r, 200, "text/plain");
    assert_int_equal(http_stream_write(r, STR("hello ")), 0);
    assert_int_equal(http_stream_waiting(r), 6);
    run_until(has_drained);
    assert_int_equal(http_stream_waiting(r), 0);
    assert_int_equal(http_stream_write(r, STR("world")), 0);
    http_stream_end(r);
    run_until(one_ended);
    assert_int_equal(first()->bytes[0], 11);
    assert_int_equal(first()->error[0], NGHTTP2_NO_ERROR);
    bed_stop();
}

static void test_cut(void **state) {
    bed_start((struct http_server_options){0});
    b.tells = true;
    client_open(0);
    ask(0, "/a");
    ask(0, "/b");
    run_until(two_held);
    http_stream_begin(b.held[0], 200, NULL);
    http_stream_write(b.held[0], STR("half"));
    http_stream_cut(b.held[0]);
    assert_int_equal(http_stream_write(b.held[0], STR("more")), ERR_GONE);
    run_until(one_told);
    run_until(one_ended);
    assert_int_equal(first()->error[0], NGHTTP2_INTERNAL_ERROR);
    http_respond(b.held[1], 200, NULL, STR("the other goes on"));
    run_until(two_ended);
    bed_stop();
}

static void test_peer_leaves(void **state) {
    bed_start((struct http_server_options){0});
    client_open(0);
    ask(0, "/a");
    run_until(one_held);
    b.tells = true;
    ask(0, "/b");
    run_until(two_held);
    client_close(&b.clients[0]);
    b.clients[0] = (struct client){0};
    run_until(one_told); /* the one that wants to be told */
    assert_int_equal(b.closed, 1);
    http_respond(b.held[0], 200, NULL, STR("to nobody"));
    bed_stop();
}

static void test_freed_with_requests(void **state) {
    bed_start((struct http_server_options){0});
    client_open(0);
    ask(0, "/a");
    run_until(one_held);
    bed_stop();
}

/* Whoever takes a body only in part is cut in time, his stream alone. */
static void test_stalled_stream(void **state) {
    bed_start((struct http_server_options){.write_ms = 200});
    b.tells = true;
    client_open(0)->peer.slow = true;
    ask(0, "/a");
    run_until(one_held);
    char *big = mem_zalloc(1 << 20);
    http_respond(b.held[0], 200, NULL, str_from(big, 1 << 20));
    run_until(one_told);
    run_until(one_ended);
    assert_int_equal(first()->error[0], NGHTTP2_INTERNAL_ERROR);
    ask(0, "/now");
    run_until(two_ended);
    assert_int_equal(first()->status[1], 200);
    assert_int_equal(http_server_stats(b.server).cut_slow, 1);
    mem_free(big);
    bed_stop();
}

static void test_too_much_waits(void **state) {
    bed_start((struct http_server_options){.out_max = 100000});
    b.tells = true;
    client_open(0)->peer.slow = true;
    ask(0, "/a");
    run_until(one_held);
    char *big = mem_zalloc(100001);
    http_stream_begin(b.held[0], 200, NULL);
    assert_int_equal(http_stream_write(b.held[0], str_from(big, 100000)), 0);
    assert_int_equal(http_stream_write(b.held[0], STR("x")), ERR_TOO_LARGE);
    run_until(one_told);
    mem_free(big);
    bed_stop();
}

/* All answers together wait for more than is allowed: those that stand still go. */
static void test_all_wait_for_too_much(void **state) {
    bed_start((struct http_server_options){.out_total = 1 << 20});
    b.tells = true;
    client_open(0)->peer.slow = true;
    ask(0, "/a");
    ask(0, "/b");
    run_until(two_held);
    char *big = mem_zalloc(3 << 20);
    http_respond(b.held[0], 200, NULL, str_from(big, 3 << 20));
    run_until(one_told);
    run_until(one_ended);
    assert_int_equal(b.closed, 1);
    mem_free(big);
    bed_stop();
}

static void test_slow_bodies(void **state) {
    struct str never = {0};
    bed_start((struct http_server_options){.body_ms = 200});
    client_open(0);
    peer_ask(first(), "POST", STR("/a"), &never, NULL, 0);
    run_until(one_ended);
    assert_int_equal(first()->status[0], 408);
    assert_str_eq(buf_view(&b.seen), STR(""));
    bed_stop();
}

static void test_slow_heads(void **state) {
    bed_start((struct http_server_options){.header_ms = 200});
    struct client *c = client_open(0);
    client_say(c);
    peer_raw(&c->peer, NGHTTP2_HEADERS, 0, 1, STR("\x82"));
    run_until(is_over);
    bed_stop();
}

static void test_silence(void **state) {
    bed_start((struct http_server_options){.idle_ms = 200});
    client_open(0);
    ask(0, "/now");
    run_until(is_over);
    assert_int_equal(first()->status[0], 200);
    assert_int_equal(first()->goaway, NGHTTP2_NO_ERROR);
    bed_stop();
}

/* Bodies: who is not let in sends none, whoever is has as many bytes on their way as over HTTP/1.1. */
static void test_bodies(void **state) {
    struct str body = STR("hello"), never = {0};
    nghttp2_nv three = peer_nv("content-length", STR("3145728"));
    bed_start((struct http_server_options){.head = on_head});
    client_open(0);
    peer_ask(first(), "POST", STR("/a"), &body, NULL, 0);
    run_until(one_ended);
    assert_int_equal(first()->status[0], 401);
    assert_str_eq(buf_view(&b.seen), STR(""));
    b.lets = true;
    peer_ask(first(), "POST", STR("/a"), &never, &three, 1);
    run_until(two_ended);
    assert_int_equal(first()->status[1], 413); /* a stranger's is short */
    b.account = "ana";
    const int fit = LIMIT_HTTP_BODY_ACCOUNT / (3 << 20);
    for (int i = 0; i <= fit; i++) {
        peer_ask(first(), "POST", STR("/a"), &never, &three, 1);
    }
    run_until(three_ended);
    assert_int_equal(first()->status[2 + fit], 429);
    assert_int_equal(b.n_held, 0);
    bed_stop();
}

/* Streams count where connections do: beyond connections_max those of strangers make room. */
static void test_streams_make_room(void **state) {
    struct str never = {0};
    bed_start((struct http_server_options){.connections_max = 20});
    b.tells = true;
    client_open(0);
    for (int i = 0; i < 20; i++) {
        peer_ask(first(), "POST", STR("/slow"), &never, NULL, 0);
    }
    for (int i = 0; i < 20; i++) {
        on_tick(NULL);
    }
    client_open(1);
    ask(1, "/a");
    run_until(one_held); /* a request that waits for nobody is served */
    run_until(is_over);
    assert_int_equal(http_server_stats(b.server).connections, 1);
    bed_stop();
}

static void on_stopped(void *ctx) {
    b.stopped++;
    look();
}

/* GOAWAY, and what is under way goes on. */
static void test_stop(void **state) {
    bed_start((struct http_server_options){0});
    client_open(0);
    ask(0, "/a");
    run_until(one_held);
    http_server_stop(b.server, 60000, on_stopped, NULL);
    run_until(is_going);
    assert_int_equal(first()->goaway, NGHTTP2_NO_ERROR);
    assert_int_equal(b.stopped, 0);
    http_respond(b.held[0], 200, NULL, STR("bye"));
    run_until(is_stopped);
    assert_int_equal(first()->status[0], 200);
    assert_int_equal(first()->bytes[0], 3);
    bed_stop();
}

/* A connection with many requests does not hold up another's. */
static void test_turns(void **state) {
    bed_start((struct http_server_options){0});
    client_open(0);
    client_open(1);
    for (int i = 0; i < LIMIT_H2_STREAMS; i++) {
        ask(0, "/a");
    }
    client_say(&b.clients[0]);
    client_say(&b.clients[1]);
    ask(1, "/other");
    client_say(&b.clients[1]);
    run_until(many_held);
    ptrdiff_t at = str_find(buf_view(&b.seen), 'o');
    assert_in_range(at, 0, 3 * 5 * LIMIT_H2_TURN);
    bed_stop();
}

/* A user's connection that breaks a limit of the protocol ends, and its requests with it. */
static void test_abuse(void **state) {
    bed_start((struct http_server_options){0});
    b.tells = true;
    struct client *c = client_open(0);
    ask(0, "/a");
    run_until(one_held);
    for (int i = 0; i <= LIMIT_H2_CONTROLS; i++) {
        peer_raw(&c->peer, NGHTTP2_PING, 0, 0, str_from("\0\0\0\0\0\0\0\1", 8));
    }
    run_until(is_over);
    assert_int_equal(first()->goaway, NGHTTP2_ENHANCE_YOUR_CALM);
    run_until(one_told);
    bed_stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_stream_of_bytes),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_peer_leaves),
        cmocka_unit_test(test_freed_with_requests),
        cmocka_unit_test(test_stalled_stream),
        cmocka_unit_test(test_too_much_waits),
        cmocka_unit_test(test_all_wait_for_too_much),
        cmocka_unit_test(test_slow_bodies),
        cmocka_unit_test(test_slow_heads),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_bodies),
        cmocka_unit_test(test_streams_make_room),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_abuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
