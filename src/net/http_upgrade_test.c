/*
 * http_upgrade: a connection that goes on in another protocol: what comes with
 * the request and after it reaches the user, who may hold it back; what the
 * user writes goes out as it is; each end is told of.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test.h"
#include "net/http_server.h"

struct bed {
    struct loop *loop;
    struct http_server *server;
    struct http_request *r;
    struct buf heard;  /* by the user */
    struct buf got;    /* by the client */
    size_t most;       /* bytes of one call */
    size_t hold_after; /* bytes after which the user holds; 0: never */
    bool within;       /* one of http_server's functions */
    int closed, drained, fd;
    struct timer *timer;
};
static struct bed b;

static bool received(void *user, struct str bytes) {
    assert_false(b.within);
    buf_str(&b.heard, bytes);
    b.most = bytes.n > b.most ? bytes.n : b.most;
    if (str_ends(bytes, STR("bye"))) {
        assert_int_equal(http_stream_write(b.r, STR("so long")), 0);
        http_stream_end(b.r);
    }
    return b.hold_after == 0 || b.heard.n < b.hold_after;
}

static void closed(void *user) {
    b.closed++;
    b.r = NULL;
    loop_stop(b.loop);
}

static void handler(void *ctx, struct http_request *r) {
    if (!http_offers(r, "websocket")) {
        http_respond(r, 400, "text/plain", STR("no"));
        return;
    }
    b.r = r;
    b.within = true;
    http_set_user(r, &b, closed);
    assert_int_equal(http_add_header(r, "X-Own", STR("1")), 0);
    http_upgrade(r, "websocket", received);
    assert_int_equal(http_stream_write(r, STR("hello")), 0);
    b.within = false;
}

static void stop(void *ctx) {
    loop_stop(b.loop);
}

/* Runs the loop for so long, or until it is stopped. */
static void turn(int64_t ms) {
    struct clock *c = loop_clock(b.loop);
    c->timer_start(b.timer, ms * NS_PER_MS);
    loop_run(b.loop);
    c->timer_stop(b.timer);
}

static void bed_start(void) {
    struct http_server_options o = {.host = STR("127.0.0.1"), .handler = handler};
    struct err err;
    b = (struct bed){0};
    buf_init(&b.heard, 0);
    buf_init(&b.got, 0);
    b.loop = loop_new(&err);
    o.write_ms = 20;
    assert_ok(http_server_start(b.loop, &o, &b.server, &err), &err);
    struct clock *c = loop_clock(b.loop);
    b.timer = c->timer_new(c, stop, NULL);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(http_server_port(b.server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    b.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(b.fd, (struct sockaddr *)&at, sizeof(at)), 0);
    fcntl(b.fd, F_SETFL, O_NONBLOCK);
}

static void bed_end(void) {
    close(b.fd);
    http_server_free(b.server);
    loop_clock(b.loop)->timer_free(b.timer);
    buf_release(&b.heard);
    buf_release(&b.got);
    loop_free(b.loop);
}

static void say(struct str bytes) {
    assert_int_equal(send(b.fd, bytes.p, bytes.n, MSG_NOSIGNAL), (ssize_t)bytes.n);
}

/* Reads what there is; false: the server has ended the connection. */
static bool hear(void) {
    char chunk[4096];
    ssize_t n;
    while ((n = recv(b.fd, chunk, sizeof(chunk), 0)) > 0) {
        buf_add(&b.got, chunk, (size_t)n);
    }
    return n == -1 && errno == EAGAIN;
}

static void wait_for(const char *text) {
    for (int i = 0; i < 1000 && !str_contains(buf_view(&b.got), str_of(text)); i++) {
        turn(5);
        hear();
    }
    assert_true(str_contains(buf_view(&b.got), str_of(text)));
}

#define REQUEST                                                                                    \
    "GET /x HTTP/1.1\r\nHost: h\r\nConnection: keep-alive, Upgrade\r\nUpgrade: "                   \
    "websocket\r\n\r\n"

static void test_both_ways(void **state) {
    bed_start();
    say(STR(REQUEST "first"));
    wait_for("hello");
    assert_true(str_starts(buf_view(&b.got), STR("HTTP/1.1 101 Switching Protocols\r\nDate: ")));
    assert_true(str_ends(buf_view(&b.got), STR("X-Own: 1\r\nConnection: Upgrade\r\nUpgrade: "
                                               "websocket\r\n\r\nhello")));
    for (int i = 0; i < 1000 && b.heard.n < 5; i++) {
        turn(5);
    }
    say(STR(" GET / HTTP/1.1\r\n\r\nbye"));
    wait_for("so long");
    for (int i = 0; i < 1000 && hear(); i++) {
        turn(5);
    }
    assert_str_eq(buf_view(&b.heard), STR("first GET / HTTP/1.1\r\n\r\nbye"));
    assert_int_equal(b.closed, 1);
    bed_end();
}

/* Held back, the peer is not read: its socket fills. Then all of it comes, in
 * order. */
static void test_hold(void **state) {
    static char block[8192];
    size_t sent = 0, quiet = 0;
    bed_start();
    b.hold_after = 1;
    say(STR(REQUEST));
    wait_for("hello");
    while (quiet < 20) {
        ssize_t n = send(b.fd, block, sizeof(block), MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        quiet = n > 0 ? 0 : quiet + 1;
        assert_true(sent < 64 << 20);
        if (n <= 0) {
            turn(2);
        }
    }
    assert_true(b.heard.n > 0 && b.heard.n <= 64 << 10);
    b.hold_after = 0;
    http_upgrade_resume(b.r);
    for (int i = 0; i < 4000 && b.heard.n < sent; i++) {
        turn(5);
    }
    assert_int_equal(b.heard.n, sent);
    assert_true(b.most <= 64 << 10);
    bed_end();
}

/* A peer that does not read is not cut by the limit of answers. */
static void test_slow_reader(void **state) {
    static char block[64 << 10];
    bed_start();
    say(STR(REQUEST));
    wait_for("hello");
    for (int i = 0; i < 200 && http_stream_waiting(b.r) < sizeof(block); i++) {
        assert_int_equal(http_stream_write(b.r, str_from(block, sizeof(block))), 0);
        turn(1);
    }
    assert_true(http_stream_waiting(b.r) > 0);
    turn(200);
    assert_int_equal(b.closed, 0);
    assert_int_equal(http_server_stats(b.server).cut_slow, 0);
    bed_end();
}

static void test_peer_leaves(void **state) {
    bed_start();
    say(STR(REQUEST));
    wait_for("hello");
    shutdown(b.fd, SHUT_WR);
    for (int i = 0; i < 1000 && !b.closed; i++) {
        turn(5);
    }
    assert_int_equal(b.closed, 1);
    bed_end();
}

/* Also while it is held back, with bytes that were not read; an end behind more than the socket takes comes later. */
static void test_peer_leaves_while_held(void **state) {
    static char block[1024];
    bed_start();
    b.hold_after = 1;
    say(STR(REQUEST "first"));
    wait_for("hello");
    for (int i = 0; i < 1000 && b.heard.n == 0; i++) {
        turn(5);
    }
    (void)send(b.fd, block, sizeof(block), MSG_NOSIGNAL);
    turn(20);
    assert_int_equal(b.closed, 0);
    shutdown(b.fd, SHUT_RDWR);
    for (int i = 0; i < 1000 && !b.closed; i++) {
        turn(5);
    }
    assert_int_equal(b.closed, 1);
    bed_end();
}

static void test_not_offered(void **state) {
    static const char *const requests[] = {
        "GET /x HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\r\n",
        "GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: "
        "h2c\r\n\r\n",
        "GET /x HTTP/1.0\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: "
        "websocket\r\n\r\n"};
    for (size_t i = 0; i < 3; i++) {
        bed_start();
        say(str_of(requests[i]));
        wait_for("HTTP/1.1 400 ");
        bed_end();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_ways),
        cmocka_unit_test(test_hold),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_peer_leaves),
        cmocka_unit_test(test_peer_leaves_while_held),
        cmocka_unit_test(test_not_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
