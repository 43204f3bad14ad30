/*
 * Tests of tls and http_client together: our authority's certificates, a server with them, libcurl as the peer.
 */
#include "net/tls.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"
#include "net/http_client.h"
#include "net/http_server.h"

static char dir[64];
static char *path(const char *name) { /* a few at a time */
    static char text[8][128];
    static int i;
    char *p = text[i++ % 8];
    snprintf(p, sizeof(text[0]), "%s/%s", dir, name);
    return p;
}

static void read_file(const char *name, struct buf *out) {
    FILE *f = fopen(path(name), "re");
    assert_non_null(f);
    buf_init(out, 1 << 16);
    out->n = fread(buf_room(out, 1 << 15), 1, 1 << 15, f);
    fclose(f);
}

static int setup_dir(void **state) {
    snprintf(dir, sizeof(dir), "/tmp/tls-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int teardown_dir(void **state) {
    static const char *const names[] = {
        "ca.crt", "ca.key",       "server.crt",   "server.key",   "me.crt",
        "me.key", "other/ca.crt", "other/ca.key", "other/me.crt", "other/me.key"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        unlink(path(names[i]));
    }
    rmdir(path("other"));
    return rmdir(dir);
}

static const struct str alt[] = {{"127.0.0.1", 9}, {"localhost", 9}};
static const struct str orgs[] = {{"system:masters", 14}, {"team a", 6}};

static void make_all(void) {
    struct err err;
    struct tls_name server = {.cn = STR("berth"), .alt = alt, .n_alt = 2, .server = true};
    struct tls_name me = {.cn = STR("admin"), .orgs = orgs, .n_orgs = 2, .client = true};
    assert_ok(tls_make_ca(dir, "berth", &err), &err);
    assert_ok(tls_make_cert(dir, "server", &server, 365, &err), &err);
    assert_ok(tls_make_cert(dir, "me", &me, 365, &err), &err);
}

static void test_files(void **state) {
    struct stat st;
    struct err err;
    struct buf before, after;
    make_all();
    assert_int_equal(stat(path("ca.key"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(stat(path("me.key"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);

    read_file("server.crt", &before);
    make_all(); /* nothing changed: the same files */
    read_file("server.crt", &after);
    assert_str_eq(buf_view(&after), buf_view(&before));
    buf_release(&after);

    struct str more[] = {alt[0], alt[1], STR("10.0.0.1")};
    struct tls_name server = {.cn = STR("berth"), .alt = more, .n_alt = 3, .server = true};
    assert_ok(tls_make_cert(dir, "server", &server, 365, &err), &err); /* other names: another */
    read_file("server.crt", &after);
    assert_false(str_eq(buf_view(&after), buf_view(&before)));
    buf_release(&after);
    buf_release(&before);

    unlink(path("server.key")); /* half a pair is no pair */
    make_all();
    assert_int_equal(stat(path("server.key"), &st), 0);
    more[2] = STR("x,email:y");
    assert_int_equal(tls_make_cert(dir, "server", &server, 365, &err), ERR_INVALID);
    assert_int_equal(tls_make_cert("/nonexistent", "x", &server, 365, &err), ERR_NOT_FOUND);
    assert_int_equal(tls_make_ca("/nonexistent", "x", &err), ERR_IO);
}

static void test_signatures(void **state) {
    unsigned char sig[64], hash[32];
    struct err err;
    make_all();
    struct tls_key *ca, *me;
    assert_ok(tls_key_read(path("ca.key"), &ca, &err), &err);
    assert_ok(tls_key_read(path("me.key"), &me, &err), &err);
    assert_ok(tls_sign_es256(ca, STR("data"), sig, &err), &err);
    assert_ok(tls_verify_es256(ca, STR("data"), sig, &err), &err);
    assert_int_equal(tls_verify_es256(ca, STR("dat4"), sig, &err), ERR_UNAUTHORIZED);
    assert_int_equal(tls_verify_es256(me, STR("data"), sig, &err), ERR_UNAUTHORIZED);
    sig[63] ^= 1;
    assert_int_equal(tls_verify_es256(ca, STR("data"), sig, &err), ERR_UNAUTHORIZED);
    tls_key_free(ca);
    tls_key_free(me);
    assert_int_equal(tls_key_read(path("ca.crt"), &ca, &err), ERR_INVALID);
    assert_int_equal(tls_key_read(path("none"), &ca, NULL), ERR_INVALID);
    tls_sha256(STR("abc"), hash);
    assert_int_equal(hash[0], 0xba);
    assert_int_equal(hash[31], 0xad);
    assert_ok(tls_random(hash, sizeof(hash), &err), &err);
}

/* ---- a server and a client ---- */

struct bed {
    struct loop *loop;
    struct tls_server *tls;
    struct http_server *server;
    struct http_client *client;
    struct buf url, cn, org, got;
    struct err err;
    int code, status, done, pieces;
    int64_t retry_after;
    bool certified, want_stream, end_early;
};
static struct bed b;

enum { BIG = 9 << 20 };

static unsigned char big_byte(size_t i) {
    return (unsigned char)(i * 31 + (i >> 12));
}

static void answer_big(struct http_request *r) {
    struct buf big;
    buf_init(&big, 0);
    unsigned char *p = (unsigned char *)buf_room(&big, BIG);
    for (size_t i = 0; i < BIG; i++) {
        p[i] = big_byte(i);
    }
    big.n = BIG;
    http_respond(r, 200, NULL, buf_view(&big));
    buf_release(&big);
}

static void answer(void *ctx, struct http_request *r) {
    struct str cn = {0}, org = {0};
    b.certified = http_client_cert(r, &cn, &org);
    buf_reset(&b.cn);
    buf_reset(&b.org);
    buf_str(&b.cn, cn);
    buf_str(&b.org, org);
    if (str_is(http_path(r), "/big")) {
        answer_big(r);
    } else if (str_is(http_path(r), "/busy")) {
        assert_int_equal(http_add_header(r, "Retry-After", STR("7")), 0);
        http_respond(r, 429, "text/plain", STR("later"));
    } else if (b.want_stream) {
        http_stream_begin(r, 200, "text/plain");
        http_stream_write(r, STR("one "));
        http_stream_write(r, STR("two"));
        http_stream_end(r);
    } else if (str_is(http_path(r), "/moved")) {
        assert_int_equal(http_add_header(r, "Location", STR("/x")), 0);
        http_respond(r, 302, NULL, STR(""));
    } else {
        http_respond(r, 200, "text/plain", http_body(r).n ? http_body(r) : http_method(r));
    }
}

static void start(void) {
    struct err err;
    b = (struct bed){0};
    b.loop = loop_new(&err);
    b.tls = tls_server_new(path("server.crt"), path("server.key"), path("ca.crt"), &err);
    assert_non_null(b.tls);
    struct http_server_options o = {.host = STR("127.0.0.1"), .tls = b.tls, .handler = answer};
    assert_ok(http_server_start(b.loop, &o, &b.server, &err), &err);
    buf_init(&b.url, 0);
}

static void stop(void) {
    http_client_free(b.client);
    http_server_free(b.server);
    loop_free(b.loop);
    tls_server_free(b.tls);
    buf_release(&b.url);
    buf_release(&b.cn);
    buf_release(&b.org);
    buf_release(&b.got);
}

static void on_done(void *ctx, const struct http_reply *r) {
    b.code = r->code;
    b.err = r->err;
    b.status = r->status;
    b.retry_after = r->retry_after_s;
    buf_str(&b.got, r->body);
    b.done++;
    loop_stop(b.loop);
}

static bool on_data(void *ctx, struct str bytes) {
    b.pieces++;
    buf_str(&b.got, bytes);
    return !b.end_early;
}

static void request(const char *method, const char *where, struct str body) {
    struct err err;
    struct str header = STR("Content-Type: text/plain");
    buf_reset(&b.url);
    buf_reset(&b.got);
    buf_f(&b.url, "https://127.0.0.1:%u%s", http_server_port(b.server), where);
    struct http_call_options o = {.method = method,
                                  .url = buf_view(&b.url),
                                  .headers = &header,
                                  .n_headers = 1,
                                  .body = body,
                                  .timeout_ms = 20000,
                                  .data = b.want_stream ? on_data : NULL,
                                  .done = on_done};
    assert_ok(http_client_send(b.client, &o, NULL, &err), &err);
    loop_run(b.loop);
}

static void connect_with(struct http_client_options o) {
    struct err err;
    http_client_free(b.client);
    b.client = NULL;
    assert_ok(http_client_new(b.loop, &o, &b.client, &err), &err);
}

static void test_round_trips(void **state) {
    make_all();
    start();
    struct buf ca;
    read_file("ca.crt", &ca);
    connect_with((struct http_client_options){.ca_pem = buf_view(&ca), .user_agent = STR("t")});
    buf_release(&ca);
    request("GET", "/x", STR(""));
    assert_ok(b.code, &b.err);
    assert_int_equal(b.status, 200);
    assert_str_eq(buf_view(&b.got), STR("GET"));
    assert_false(b.certified);
    request("PATCH", "/x", STR("body"));
    assert_str_eq(buf_view(&b.got), STR("body"));
    request("POST", "/x", STR(""));
    assert_str_eq(buf_view(&b.got), STR("POST"));
    request("DELETE", "/x", STR(""));
    assert_str_eq(buf_view(&b.got), STR("DELETE"));
    request("GET", "/busy", STR(""));
    assert_int_equal(b.status, 429);
    assert_int_equal(b.retry_after, 7);
    request("GET", "/moved", STR(""));
    assert_int_equal(b.status, 302);                                    /* not followed */
    assert_int_equal(http_server_stats(b.server).connections_total, 1); /* one connection for all */
    b.want_stream = true;
    request("GET", "/x", STR(""));
    assert_str_eq(buf_view(&b.got), STR("one two"));
    b.end_early = true;
    request("GET", "/x", STR(""));
    assert_int_equal(b.code, ERR_GONE);
    stop();
}

static void test_big_answer(void **state) {
    struct err err;
    make_all();
    start();
    connect_with((struct http_client_options){.ca_file = str_of(path("ca.crt"))});
    for (int round = 0; round < 2; round++) { /* over the same connection */
        request("GET", "/big", STR(""));
        assert_ok(b.code, &b.err);
        assert_int_equal(b.got.n, BIG);
        for (size_t i = 0; i < BIG; i++) {
            if ((unsigned char)b.got.p[i] != big_byte(i)) {
                fail_msg("byte %zu is wrong", i);
            }
        }
    }
    assert_ok(tls_server_reload(b.tls, &err), &err); /* the connection lives on */
    request("GET", "/x", STR(""));
    assert_int_equal(b.status, 200);
    unlink(path("server.key"));
    assert_int_equal(tls_server_reload(b.tls, &err), ERR_INVALID); /* and the old pair stays */
    connect_with((struct http_client_options){.ca_file = str_of(path("ca.crt"))});
    request("GET", "/x", STR(""));
    assert_int_equal(b.status, 200);
    stop();
}

static void test_client_certificates(void **state) {
    struct err err;
    make_all();
    start();
    connect_with((struct http_client_options){.ca_file = str_of(path("ca.crt")),
                                              .cert_file = str_of(path("me.crt")),
                                              .key_file = str_of(path("me.key"))});
    request("GET", "/x", STR(""));
    assert_int_equal(b.status, 200);
    assert_true(b.certified);
    assert_str_eq(buf_view(&b.cn), STR("admin"));
    assert_str_eq(buf_view(&b.org), STR("system:masters\nteam a"));

    /* One of another authority ends the handshake. */
    struct tls_name me = {.cn = STR("admin"), .client = true};
    assert_int_equal(mkdir(path("other"), 0700), 0);
    assert_ok(tls_make_ca(path("other"), "berth", &err), &err);
    assert_ok(tls_make_cert(path("other"), "me", &me, 365, &err), &err);
    connect_with((struct http_client_options){.ca_file = str_of(path("ca.crt")),
                                              .cert_file = str_of(path("other/me.crt")),
                                              .key_file = str_of(path("other/me.key"))});
    request("GET", "/x", STR(""));
    assert_int_equal(b.code, ERR_UNAVAILABLE);

    /* A server certificate is no client certificate. */
    connect_with((struct http_client_options){.ca_file = str_of(path("ca.crt")),
                                              .cert_file = str_of(path("server.crt")),
                                              .key_file = str_of(path("server.key"))});
    request("GET", "/x", STR(""));
    assert_int_equal(b.code, ERR_UNAVAILABLE);

    /* And the client does not believe a server of another authority. */
    connect_with((struct http_client_options){.ca_file = str_of(path("other/ca.crt"))});
    request("GET", "/x", STR(""));
    assert_int_equal(b.code, ERR_UNAVAILABLE);
    assert_int_equal(b.status, 0);
    stop();
}

static void refused(void *ctx, const struct http_reply *r) {
    fail();
}

static void test_cancel_and_timeout(void **state) {
    struct err err;
    make_all();
    start();
    connect_with((struct http_client_options){.ca_file = str_of(path("ca.crt"))});
    buf_f(&b.url, "https://127.0.0.1:%u/x", http_server_port(b.server));
    struct http_call_options o = {.method = "GET", .url = buf_view(&b.url), .done = refused};
    struct http_call *call = NULL;
    assert_ok(http_client_send(b.client, &o, &call, &err), &err);
    http_call_cancel(call);
    assert_ok(http_client_send(b.client, &o, &call, &err), &err); /* freed with the client */
    connect_with((struct http_client_options){.ca_file = str_of(path("ca.crt"))});
    o.done = on_done;
    o.timeout_ms = 1;
    http_server_stop(b.server, 0, NULL, NULL);
    o.url = STR("https://127.0.0.1:9/x"); /* nobody listens, or nobody answers in time */
    assert_ok(http_client_send(b.client, &o, &call, &err), &err);
    loop_run(b.loop);
    assert_true(b.code == ERR_TIMEOUT || b.code == ERR_UNAVAILABLE);
    o.url = STR("file:///etc/passwd");
    assert_ok(http_client_send(b.client, &o, &call, &err), &err);
    loop_run(b.loop);
    assert_int_equal(b.code, ERR_UNAVAILABLE);
    assert_int_equal(b.done, 2);
    stop();
}

/* ---- what the server refuses to speak: openssl's own tool is the peer ---- */

static int shake(const char *options) {
    char cmd[512];
    snprintf(cmd, sizeof(cmd),
             "openssl s_client -connect 127.0.0.1:%u -CAfile %s -verify_return_error "
             "%s </dev/null >%s/out 2>&1",
             http_server_port(b.server), path("ca.crt"), options, dir);
    return system(cmd);
}

static void *run_loop(void *arg) {
    loop_run(b.loop);
    return NULL;
}

static void stop_loop(void *ctx) {
    loop_stop(b.loop);
}

static void test_handshakes(void **state) {
    pthread_t t;
    make_all();
    start();
    assert_int_equal(pthread_create(&t, NULL, run_loop, NULL), 0);
    assert_int_equal(shake("-tls1_3 -alpn http/1.1"), 0);
    assert_int_equal(shake("-tls1_2 -alpn h2,http/1.1"), 0);
    assert_int_equal(shake("-alpn h2"), 0);
    assert_int_equal(shake("-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305"), 0);
    assert_int_not_equal(shake("-alpn h3"), 0);
    assert_int_not_equal(shake("-tls1_1 -cipher ALL:@SECLEVEL=0"), 0);
    assert_int_not_equal(shake("-tls1_2 -cipher ECDHE-ECDSA-AES128-SHA256"), 0); /* CBC */
    assert_int_equal(shake("-tls1_3 -sess_out /dev/null"), 0);
    struct buf out;
    read_file("out", &out);
    assert_false(str_contains(buf_view(&out), STR("New Session Ticket")));
    buf_release(&out);
    unlink(path("out"));
    loop_post(b.loop, stop_loop, NULL);
    pthread_join(t, NULL);
    stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup_dir, teardown_dir)
        TEST(test_files),       TEST(test_signatures),
        TEST(test_round_trips), TEST(test_client_certificates),
        TEST(test_big_answer),  TEST(test_cancel_and_timeout),
        TEST(test_handshakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
