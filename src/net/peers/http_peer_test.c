/* Tests of http_peer against our own server on the same loop. */
#include "net/peers/http_peer.h"

#include <sys/socket.h>

#include "base/test.h"
#include "net/http_server.h"

struct world {
    struct loop *loop;
    struct http_server *server;
    struct http_peers *peers;
    struct http_peer *peer;
    struct http_ask *ask;
    struct buf got;
    char request[256];
    int answers, left; /* questions that ended; until the loop stops */
    enum http_ask_end end;
    int status, closed; /* requests that the server saw the end of */
    bool cancel_at_head;
    struct http_request *open;
};

static void request_closed(void *user) {
    ((struct world *)user)->closed++;
    ((struct world *)user)->open = NULL;
}

static void handler(void *ctx, struct http_request *r) {
    struct world *w = ctx;
    http_set_user(r, w, request_closed);
    if (str_is(http_path(r), "/hang")) {
        w->open = r;
        return;
    }
    if (str_is(http_path(r), "/drip")) {
        w->open = r;
        http_stream_begin(r, 200, "text/plain");
        http_stream_write(r, STR("one "));
        return;
    }
    if (str_is(http_path(r), "/last")) {
        http_add_header(r, "Connection", STR("close"));
    }
    http_respond(r, 200, "text/plain", http_body(r).n ? http_body(r) : STR("hello"));
}

static void ended(struct world *w) {
    if (--w->left == 0) {
        loop_stop(w->loop);
    }
}

static void on_head(void *ctx, const struct http_answer *a) {
    struct world *w = ctx;
    w->status = a->status;
    if (w->cancel_at_head) {
        http_ask_cancel(w->ask);
        ended(w);
    }
}

static void on_bytes(void *ctx, struct str bytes) {
    struct world *w = ctx;
    buf_str(&w->got, bytes);
    if (w->open) { /* the drip goes on, and ends */
        http_stream_write(w->open, STR("two"));
        http_stream_end(w->open);
        w->open = NULL;
    }
}

static void on_done(void *ctx, enum http_ask_end end, const char *trouble) {
    struct world *w = ctx;
    w->end = end;
    w->answers++;
    ended(w);
}

static void ask(struct world *w, const char *path, struct str body, int64_t first_ms) {
    char *head = w->request;
    snprintf(head, sizeof(w->request), "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n",
             path, body.n);
    const struct str parts[] = {str_of(head), body};
    struct http_ask_options o = {.parts = parts,
                                 .n_parts = 2,
                                 .connect_ms = 5000,
                                 .first_ms = first_ms,
                                 .idle_ms = first_ms,
                                 .head = on_head,
                                 .body = on_bytes,
                                 .done = on_done,
                                 .ctx = w};
    buf_reset(&w->got);
    w->left = 1;
    w->ask = http_ask(w->peer, &o);
    assert_non_null(w->ask);
    loop_run(w->loop);
}

static int setup(void **state) {
    static struct world w;
    struct err err = {0};
    w = (struct world){.loop = loop_new(&err)};
    struct http_server_options o = {
        .host = STR("127.0.0.1"), .handler = handler, .ctx = &w, .share_port = true};
    assert_ok(http_server_start(w.loop, &o, &w.server, &err), &err);
    w.peers = http_peers_new(w.loop, 60000);
    assert_ok(
        http_peer_new(w.peers, STR("127.0.0.1"), http_server_port(w.server), 4, &w.peer, &err),
        &err);
    buf_init(&w.got, 0);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    http_peer_free(w->peer);
    http_peers_free(w->peers);
    http_server_free(w->server);
    loop_free(w->loop);
    buf_release(&w->got);
    return 0;
}

static void test_kept(void **state) {
    struct world *w = *state;
    for (int i = 0; i < 3; i++) {
        ask(w, "/a", STR("question"), 60000);
        assert_int_equal(w->end, HTTP_ASK_WHOLE);
        assert_str_eq(buf_view(&w->got), STR("question"));
        assert_int_equal(http_peer_connections(w->peer), 1);
    }
    ask(w, "/drip", STR(""), 60000);
    assert_str_eq(buf_view(&w->got), STR("one two"));
}

static void test_long_body(void **state) {
    static char body[2 << 20];
    struct world *w = *state;
    memset(body, 'x', sizeof(body));
    ask(w, "/a", str_from(body, sizeof(body)), 60000);
    assert_int_equal(w->end, HTTP_ASK_WHOLE);
    assert_int_equal(w->got.n, sizeof(body));
}

static void test_cancelled(void **state) {
    struct world *w = *state;
    w->cancel_at_head = true;
    ask(w, "/drip", STR(""), 60000);
    assert_int_equal(w->answers, 0);
    assert_int_equal(http_peer_connections(w->peer), 0);
    w->cancel_at_head = false;
    ask(w, "/a", STR("x"), 60000); /* and the server hears of it */
    assert_int_equal(w->end, HTTP_ASK_WHOLE);
    assert_int_equal(w->closed, 2);
}

static void test_late(void **state) {
    struct world *w = *state;
    ask(w, "/hang", STR(""), 50);
    assert_int_equal(w->end, HTTP_ASK_LATE);
}

static void test_refused(void **state) {
    struct world *w = *state;
    struct err err = {0};
    http_server_free(w->server);
    w->server = NULL;
    ask(w, "/a", STR(""), 60000);
    assert_int_equal(w->end, HTTP_ASK_UNCONNECTED);
    struct http_peer *p = NULL;
    assert_int_equal(http_peer_new(w->peers, STR("host"), 1, 1, &p, &err), ERR_INVALID);
}

static int make_socket(void *ctx, bool v6) {
    int *left = ctx;
    assert_false(v6);
    return *left > 0 ? ((*left)--, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) : -1;
}

static void test_sockets_of_others(void **state) {
    struct world *w = *state;
    int left = 1;
    const struct str part = STR("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
    const struct http_ask_options o = {.parts = &part,
                                       .n_parts = 1,
                                       .connect_ms = 5000,
                                       .first_ms = 60000,
                                       .idle_ms = 60000,
                                       .fresh = true,
                                       .head = on_head,
                                       .body = on_bytes,
                                       .done = on_done,
                                       .ctx = w};
    http_peers_sockets(w->peers, make_socket, &left);
    ask(w, "/a", STR("question"), 60000);
    assert_int_equal(w->end, HTTP_ASK_WHOLE);
    assert_int_equal(left, 0);
    assert_null(http_ask(w->peer, &o)); /* there is none to have */
    ask(w, "/a", STR("again"), 60000);  /* the connection that stands goes on */
    assert_int_equal(w->end, HTTP_ASK_WHOLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_body, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sockets_of_others, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
