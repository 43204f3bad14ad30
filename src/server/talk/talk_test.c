/*
 * talk: sessions with pods over the server's real HTTP, with pods that are made
 * up: what they are told they say back. The client is a script in the same
 * thread: bytes out, bytes in.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/test.h"
#include "net/upgrade/spdy.h"
#include "server/kit/guard.h"
#include "server/server.h"

#define POD "/api/v1/namespaces/default/pods/p"
#define KEY                                                                                        \
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "                                             \
    "dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define WEBSOCKET "Connection: Upgrade\r\nUpgrade: websocket\r\n" KEY

enum { FAKES = 200 };

struct pod_session {
    bool used, closed;
    struct podtalk_open open;
    char words[256]; /* the command */
    const struct pod_session_events *ev;
    void *ctx;
    struct buf got; /* stdin */
    bool ended, paused;
    uint16_t rows, cols;
    size_t waits; /* what write answers */
};

struct bed {
    struct loop *loop;
    struct mirror *mirror;
    struct server *server;
    struct pod_sessions pods;
    struct guard guard;
    struct pod_session fakes[FAKES];
    size_t n_fakes, n_audited;
    bool silent;           /* pods do not answer */
    const char *forbidden; /* the verb */
    int fd;
    struct buf heard;
    struct timer *timer;
};
static struct bed b;

/* ---- the pods ---- */

static int fake_open(struct pod_sessions *s, const struct object *pod, const struct podtalk_open *o,
                     const struct str *args, size_t n, const struct pod_session_events *ev,
                     void *ctx, struct pod_session **ret, struct err *err) {
    if (b.silent || b.n_fakes == FAKES) {
        return err_set(err, ERR_NOT_FOUND, "nothing of the pod listens");
    }
    struct pod_session *p = &b.fakes[b.n_fakes++];
    *p = (struct pod_session){.used = true, .open = *o, .ev = ev, .ctx = ctx};
    buf_init(&p->got, 0);
    for (size_t i = 0, at = 0; i < n && at < sizeof(p->words); i++) {
        at += (size_t)snprintf(p->words + at, sizeof(p->words) - at, "%s%.*s", i ? " " : "",
                               STR_ARG(args[i]));
    }
    *ret = p;
    return 0;
}

static size_t fake_write(struct pod_session *p, struct str bytes) {
    buf_str(&p->got, bytes);
    return p->waits;
}

static void fake_end(struct pod_session *p) {
    p->ended = true;
}

static void fake_resize(struct pod_session *p, uint16_t rows, uint16_t cols) {
    p->rows = rows;
    p->cols = cols;
}

static void fake_resume(struct pod_session *p) {
    p->paused = false;
}

static void fake_close(struct pod_session *p) {
    assert_false(p->closed);
    p->closed = true;
}

static struct pod_session *fake(size_t i) {
    assert_true(i < b.n_fakes);
    return &b.fakes[i];
}

static void says(struct pod_session *p, enum podtalk_stream s, struct str bytes) {
    assert_false(p->closed);
    p->paused = !p->ev->data(p->ctx, s, bytes);
}

static void exits(struct pod_session *p, enum podtalk_end end, int value, const char *text) {
    struct podtalk_exit e = {end, value, str_of(text)};
    p->ev->exit(p->ctx, &e);
    assert_true(p->closed);
}

/* ---- the server ---- */

static int authorize(struct guard *g, const struct api_request *q, struct arena *a,
                     struct str *ret_reason, struct err *err) {
    return b.forbidden && str_is(q->verb_name, b.forbidden) ? err_set(err, ERR_FORBIDDEN, "no") : 0;
}

static void audited(struct guard *g, const struct audit_record *rec) {
    b.n_audited += rec->status == 101;
}

static void flush(void *ctx) {
    mirror_flush(b.mirror);
}

static void staged(void *ctx) {
    assert_int_equal(loop_defer(b.loop, flush, NULL), 0);
}

static void stop(void *ctx) {
    loop_stop(b.loop);
}

static void turn(int64_t ms) {
    loop_clock(b.loop)->timer_start(b.timer, ms * NS_PER_MS);
    loop_run(b.loop);
}

static void make(const char *json) {
    struct err err = {0};
    assert_ok(server_bootstrap(b.server, str_of(json), &err), &err);
    mirror_flush(b.mirror);
}

static void bed_start(void) {
    struct err err = {0};
    b = (struct bed){.fd = -1};
    buf_init(&b.heard, 0);
    b.loop = loop_new(&err);
    b.mirror = mirror_new(&(struct mirror_options){.clock = loop_clock(b.loop), .staged = staged});
    b.pods = (struct pod_sessions){fake_open,   fake_write,  fake_end,
                                   fake_resize, fake_resume, fake_close};
    b.guard = (struct guard){.authorize = authorize, .audit = audited};
    struct server_options o = {.loop = b.loop,
                               .mirror = b.mirror,
                               .guard = &b.guard,
                               .sessions = &b.pods,
                               .host = STR("127.0.0.1")};
    b.server = server_new(&o, &err);
    assert_non_null(b.server);
    assert_ok(server_start(b.server, &err), &err);
    b.timer = loop_clock(b.loop)->timer_new(loop_clock(b.loop), stop, NULL);
    make("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":"
         "\"default\"}}");
    make("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
         "\"namespace\":"
         "\"default\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":"
         "\"main\",\"image\":"
         "\"i\",\"tty\":true,\"stdin\":true},{\"name\":\"other\",\"image\":\"i\"}"
         "]}}");
    make("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"new\","
         "\"namespace\":"
         "\"default\"},\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":"
         "\"i\"}]}}");
}

static void hang_up(void) {
    if (b.fd >= 0) {
        close(b.fd);
        b.fd = -1;
    }
    turn(20);
}

static void bed_end(void) {
    hang_up();
    server_free(b.server);
    mirror_free(b.mirror);
    loop_clock(b.loop)->timer_free(b.timer);
    loop_free(b.loop);
    for (size_t i = 0; i < b.n_fakes; i++) {
        assert_true(b.fakes[i].closed);
        buf_release(&b.fakes[i].got);
    }
    buf_release(&b.heard);
}

/* ---- the client ---- */

static void hear(void) {
    char chunk[4096];
    ssize_t n;
    while ((n = recv(b.fd, chunk, sizeof(chunk), 0)) > 0) {
        buf_add(&b.heard, chunk, (size_t)n);
    }
}

static void say(struct str bytes) {
    assert_int_equal(send(b.fd, bytes.p, bytes.n, MSG_NOSIGNAL), (ssize_t)bytes.n);
}

static bool has(struct str what) {
    return str_contains(buf_view(&b.heard), what);
}

static void wait_str(struct str what) {
    for (int i = 0; i < 2000 && !has(what); i++) {
        turn(2);
        hear();
    }
    if (!has(what)) {
        print_error("heard: %.*s\n", STR_ARG(buf_view(&b.heard)));
        fail();
    }
}
#define wait_for(lit) wait_str(STR(lit))

#define TURN_UNTIL(what)                                                                           \
    do {                                                                                           \
        for (int i_ = 0; i_ < 2000 && !(what); i_++) {                                             \
            turn(2);                                                                               \
        }                                                                                          \
        assert_true(what);                                                                         \
    } while (0)

static void ask(const char *method, const char *target, const char *headers) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(server_port(b.server))};
    char text[4096];
    hang_up();
    buf_reset(&b.heard);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    b.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(b.fd, (struct sockaddr *)&to, sizeof(to)), 0);
    fcntl(b.fd, F_SETFL, O_NONBLOCK);
    int n = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\nHost: h\r\n%s\r\n", method, target,
                     headers);
    say(str_from(text, (size_t)n));
}

/* A masked message, or a part of one. */
static void message(int first, struct str payload) {
    struct buf m;
    buf_init(&m, 0);
    buf_ch(&m, (char)first);
    if (payload.n < 126) {
        buf_ch(&m, (char)(0x80 | payload.n));
    } else {
        buf_ch(&m, (char)(0x80 | 126));
        buf_ch(&m, (char)(payload.n >> 8));
        buf_ch(&m, (char)payload.n);
    }
    buf_add(&m, "\1\2\3\4", 4);
    for (size_t i = 0; i < payload.n; i++) {
        buf_ch(&m, (char)(payload.p[i] ^ (1 + i % 4)));
    }
    say(buf_view(&m));
    buf_release(&m);
}

static void exec_v5(const char *query) {
    char target[512];
    snprintf(target, sizeof(target), "%s/exec?%s", POD, query);
    ask("GET", target,
        WEBSOCKET "Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io\r\n");
}

/* ---- what is refused ---- */

static void test_refused(void **state) {
    static const struct {
        const char *method, *target, *headers, *status, *text;
    } bad[] = {
        {"GET", POD "/exec?command=a&stdout=1&container=main", "", "400",
         "Upgrade request required"},
        {"GET", POD "/exec?command=a&stdout=1", WEBSOCKET, "400",
         "a container name must be specified for pod p, choose one of: [main "
         "other]"},
        {"GET", POD "/exec?command=a&stdout=1&container=x", WEBSOCKET, "400",
         "container x is not valid for pod p"},
        {"GET", POD "/exec?stdout=1&container=main", WEBSOCKET, "400",
         "you must specify at least one command"},
        {"GET", POD "/exec?command=a&container=main", WEBSOCKET, "400",
         "you must specify at least 1 of stdin, stdout, stderr"},
        {"GET", POD "/exec?command=a%00b&stdout=1&container=main", WEBSOCKET, "400", ""},
        {"GET", POD "/exec?command=a&stdout=x&container=main", WEBSOCKET, "400",
         "neither true nor false"},
        {"GET", "/api/v1/namespaces/default/pods/none/exec?command=a&stdout=1", WEBSOCKET, "404",
         "pods \\\"none\\\" not found"},
        {"GET", "/api/v1/namespaces/default/pods/new/exec?command=a&stdout=1", WEBSOCKET, "400",
         "pod new does not have a host assigned"},
        {"GET", POD "/exec?command=a&stdout=1&container=main",
         WEBSOCKET "Sec-WebSocket-Protocol: v9.channel.k8s.io\r\n", "400", "v5.channel.k8s.io"},
        {"GET", POD "/exec?command=a&stdout=1&container=main",
         "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
         "13\r\n",
         "400", "Sec-WebSocket-Key"},
        {"GET", POD "/exec?command=a&stdout=1&container=main",
         "Connection: Upgrade\r\nUpgrade: websocket\r\n", "400", "must be 13"},
        {"PUT", POD "/exec?command=a&stdout=1&container=main", WEBSOCKET, "405", ""},
        {"GET", POD "/portforward?ports=0",
         WEBSOCKET "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n", "400", "from 1 to 65535"},
        {"GET", POD "/portforward", WEBSOCKET "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n",
         "400", "is required"},
    };
    bed_start();
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char line[32];
        ask(bad[i].method, bad[i].target, bad[i].headers);
        snprintf(line, sizeof(line), "HTTP/1.1 %s ", bad[i].status);
        wait_str(str_of(line));
        wait_str(str_of(bad[i].text));
    }
    assert_int_equal(b.n_fakes, 0);
    b.silent = true;
    exec_v5("command=a&stdout=1&container=main");
    wait_for("container not found (\\\"main\\\")");
    b.silent = false;
    b.forbidden = "create"; /* who may get may not do this */
    exec_v5("command=a&stdout=1&container=main");
    wait_for("HTTP/1.1 403 ");
    assert_int_equal(b.n_audited, 0);
    bed_end();
}

/* ---- exec ---- */

static void test_exec(void **state) {
    bed_start();
    exec_v5("command=sh&command=-c&command=a+b&container=main&stdin=true&stdout="
            "true&tty=true");
    wait_for("Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n");
    wait_for("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
    struct pod_session *p = fake(0);
    assert_string_equal(p->words, "sh -c a b");
    assert_int_equal(p->open.with, PODTALK_WITH_STDIN | PODTALK_WITH_STDOUT | PODTALK_TTY);
    assert_int_equal(b.n_audited, 1);
    message(0x82, STR("\0"));
    message(0x02, STR("\0one"));
    message(0x80, STR(" two"));
    message(0x82, STR("\4{\"Width\":80,\"Height\":24}\n"));
    message(0x82, STR("\4{\"Width\":\"x\"}"));
    message(0x82, STR("\x09nobody"));
    message(0x89, STR("ping"));
    wait_for("\x8a\x04ping");
    assert_str_eq(buf_view(&p->got), STR("one two"));
    assert_int_equal(p->cols, 80);
    assert_int_equal(p->rows, 24);
    assert_false(p->ended);
    message(0x82, STR("\xff\0"));
    TURN_UNTIL(p->ended);
    says(p, PODTALK_STDOUT, STR("out"));
    says(p, PODTALK_STDERR, STR("err"));
    wait_str(str_from("\x82\4\1out\x82\4\2err", 12));
    exits(p, PODTALK_CODE, 7, "");
    wait_for("\"reason\":\"NonZeroExitCode\",\"details\":{\"causes\":[{"
             "\"reason\":\"ExitCode\","
             "\"message\":\"7\"}]}}\x88\x02\x03\xe8");
    bed_end();
}

static void test_verdicts(void **state) {
    static const struct {
        enum podtalk_end end;
        int value;
        const char *text, *says;
    } rows[] = {
        {PODTALK_CODE, 0, "", "\x82#\3{\"metadata\":{},\"status\":\"Success\"}"},
        {PODTALK_SIGNAL, 9, "", "\"message\":\"137\"}]}}"},
        {PODTALK_FAILED, PODTALK_NO_COMMAND, "no such file",
         "Internal error occurred: error executing command in container: no such "
         "file\",\"reason\":"
         "\"InternalError\",\"code\":500}"},
    };
    bed_start();
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        exec_v5("command=a&container=main&stdout=true");
        wait_for("HTTP/1.1 101 ");
        wait_for("\r\n\r\n");
        exits(fake(i), rows[i].end, rows[i].value, rows[i].text);
        wait_str(str_of(rows[i].says));
        wait_for("\x88\x02\x03\xe8");
    }
    bed_end();
}

static void test_base64_and_attach(void **state) {
    bed_start();
    ask("GET", POD "/attach?container=main&stdin=1&stdout=1",
        WEBSOCKET "Sec-WebSocket-Protocol: v4.base64.channel.k8s.io\r\n");
    wait_for("HTTP/1.1 101 ");
    struct pod_session *p = fake(0);
    assert_int_equal(p->open.what, PODTALK_ATTACH);
    /* The container has a terminal, whatever the client says. */
    assert_int_equal(p->open.with, PODTALK_WITH_STDIN | PODTALK_WITH_STDOUT | PODTALK_TTY);
    message(0x01, STR("0aGVs"));
    message(0x80, STR("bG8="));
    TURN_UNTIL(p->got.n > 0);
    assert_str_eq(buf_view(&p->got), STR("hello"));
    says(p, PODTALK_STDOUT, STR("hi"));
    wait_for("\x81\x05"
             "1aGk=");
    message(0x88, STR("\x03\xe8"));
    TURN_UNTIL(p->closed);
    wait_for("\x88\x02\x03\xe8");
    assert_false(has(STR("ended by the server")));
    bed_end();
}

/* A client that breaks the protocol, or floods, ends its session and hears why.
 */
static void test_broken(void **state) {
    bed_start();
    exec_v5("command=a&container=main&stdout=true");
    wait_for("HTTP/1.1 101 ");
    say(STR("\x82\1x"));
    wait_for("\x03\xeawebsocket: a frame of a client is not masked");
    TURN_UNTIL(fake(0)->closed);
    exec_v5("command=a&container=main&stdout=true");
    wait_for("HTTP/1.1 101 ");
    for (int i = 0; i < LIMIT_WEBSOCKET_CONTROLS + 2; i++) {
        message(0x8a, STR(""));
    }
    wait_for("\x03\xf0too many control frames");
    TURN_UNTIL(fake(1)->closed);
    bed_end();
}

/* Who does not read is not written to: the pod is held; and the other way
 * round. */
static void test_back_pressure(void **state) {
    static char block[32 << 10];
    bed_start();
    exec_v5("command=a&container=main&stdin=true&stdout=true");
    wait_for("HTTP/1.1 101 ");
    struct pod_session *p = fake(0);
    size_t said = 0;
    while (!p->paused) {
        says(p, PODTALK_STDOUT, str_from(block, sizeof(block)));
        said += sizeof(block);
        turn(1);
        assert_true(said < 64 << 20);
    }
    for (int i = 0; i < 2000 && p->paused; i++) {
        hear();
        turn(2);
    }
    assert_false(p->paused);
    p->waits = 1 << 20; /* the pod does not take its stdin */
    message(0x82, STR("\0first"));
    TURN_UNTIL(p->got.n == 5);
    message(0x82, STR("\0second"));
    turn(50);
    assert_int_equal(p->got.n, 5);
    p->waits = 0;
    p->ev->drained(p->ctx);
    TURN_UNTIL(p->got.n == 11);
    bed_end();
}

/* A right that is taken away takes the session with it. */
static void test_right_ends(void **state) {
    bed_start();
    exec_v5("command=a&container=main&stdout=true");
    wait_for("HTTP/1.1 101 ");
    wait_for("\r\n\r\n");
    b.forbidden = "create";
    server_recheck(b.server);
    wait_for("the session was ended by the server");
    wait_for("\x03\xe8the session has ended");
    assert_true(fake(0)->closed);
    bed_end();
}

/* A webhook that must be asked about sessions is not passed by: there is none then. */
static void test_webhook(void **state) {
    static const char hook[] =
        "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"
        "\"ValidatingWebhookConfiguration\",\"metadata\":{\"name\":\"%s\"},\"webhooks\":[{"
        "\"name\":\"%s.example.com\",\"admissionReviewVersions\":[\"v1\"],\"sideEffects\":\"None\","
        "\"failurePolicy\":\"%s\",\"clientConfig\":{\"url\":\"https://127.0.0.1:1/\"},\"rules\":[{"
        "\"operations\":[\"CONNECT\"],\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"resources\":["
        "\"%s\"]}]}]}";
    char text[1024];
    bed_start();
    snprintf(text, sizeof(text), hook, "a", "a", "Fail", "pods/attach");
    make(text);
    snprintf(text, sizeof(text), hook, "b", "b", "Ignore", "pods/exec");
    make(text);
    turn(10);
    exec_v5("command=a&container=main&stdout=true");
    wait_for("HTTP/1.1 101 ");
    ask("GET", POD "/attach?container=main&stdout=1", WEBSOCKET);
    wait_for("HTTP/1.1 403 ");
    wait_for("webhook \\\"a.example.com\\\" is to be asked about CONNECT of pods/attach");
    bed_end();
}

/* Any allocation fails once: the session is refused, or ends, or goes on; the next one works. */
static void test_no_memory(void **state) {
    bool hit = true;
    bed_start();
    /* The first allocation is the connection's own, and accepting is tried again a second later. */
    for (uint64_t nth = 2; hit && b.n_fakes < FAKES - 1; nth++) {
        size_t before = b.n_fakes;
        exec_v5("command=a&container=main&stdin=1&stdout=1");
        message(0x82, STR("\0in"));
        mem_fault(nth, 0);
        for (int i = 0; i < 20 && b.n_fakes == before && !mem_fault_hit(); i++) {
            turn(2);
        }
        turn(4);
        if (b.n_fakes > before && !fake(before)->closed) {
            says(fake(before), PODTALK_STDOUT, STR("out"));
            exits(fake(before), PODTALK_CODE, 0, "");
            turn(4);
        }
        hit = mem_fault_hit();
        mem_fault(0, 0);
        if (!hit) {
            wait_for("Success");
        }
    }
    assert_false(hit);
    bed_end();
}

/* ---- ports ---- */

static void test_plain_ports(void **state) {
    bed_start();
    ask("GET", POD "/portforward?ports=80,8080",
        WEBSOCKET "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\n");
    wait_str(str_from("\x82\3\0\x50\0\x82\3\1\x50\0\x82\3\2\x90\x1f\x82\3\3\x90\x1f", 20));
    assert_int_equal(fake(1)->open.port, 8080);
    message(0x82, STR("\2GET"));
    TURN_UNTIL(fake(1)->got.n == 3);
    says(fake(1), PODTALK_STDOUT, STR("200"));
    wait_str(str_from("\x82\4\2"
                      "200",
                      6));
    exits(fake(0), PODTALK_FAILED, PODTALK_NO_LISTENER, "connection refused");
    wait_for("\1error forwarding port 80 to pod p: connection refused");
    fake(1)->ev->end(fake(1)->ctx, PODTALK_STDOUT);
    assert_true(fake(1)->ended);
    exits(fake(1), PODTALK_CODE, 0, "");
    wait_for("\x88\x02\x03\xe8");
    bed_end();
}

static void open_stream(struct spdy *z, struct buf *out, uint32_t id, const char *type) {
    const struct spdy_header h[] = {
        {STR("streamtype"), str_of(type)}, {STR("port"), STR("80")}, {STR("requestid"), STR("0")}};
    assert_int_equal(spdy_open(z, out, id, h, 3, NULL), 0);
}

/* kubectl's way: SPDY in a WebSocket, cut anywhere. */
static void test_tunnel(void **state) {
    struct buf out;
    struct spdy *z = spdy_new();
    bed_start();
    buf_init(&out, 0);
    ask("GET", POD "/portforward",
        WEBSOCKET "Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n");
    wait_for("HTTP/1.1 101 ");
    open_stream(z, &out, 1, "error");
    spdy_data_head(&out, 1, true, 0);
    open_stream(z, &out, 3, "data");
    spdy_data_head(&out, 3, false, 3);
    buf_c(&out, "GET");
    for (size_t at = 0; at < out.n; at += 7) {
        message(0x82, str_head(str_skip(buf_view(&out), at), 7));
    }
    TURN_UNTIL(b.n_fakes == 1 && fake(0)->got.n == 3);
    assert_int_equal(fake(0)->open.port, 80);
    says(fake(0), PODTALK_STDOUT, STR("200"));
    wait_str(str_from("\x82\x0b\0\0\0\3\0\0\0\3"
                      "200",
                      13));
    buf_reset(&out);
    spdy_data_head(&out, 3, true, 0);
    spdy_ping(&out, 5);
    message(0x82, buf_view(&out));
    TURN_UNTIL(fake(0)->ended);
    wait_str(str_from("\x82\x0c\x80\3\0\6\0\0\0\4\0\0\0\5", 14));
    fake(0)->ev->end(fake(0)->ctx, PODTALK_STDOUT);
    exits(fake(0), PODTALK_CODE, 0, "");
    wait_str(str_from("\x82\x08\0\0\0\3\1\0\0\0\x82\x08\0\0\0\1\1\0\0\0", 20));
    spdy_free(z);
    buf_release(&out);
    bed_end();
}

/* An older kubectl's exec: an upgrade to SPDY, five streams. */
static void test_remote(void **state) {
    static const char *const types[] = {"error", "stdin", "stdout", "resize"};
    struct buf out;
    struct spdy *z = spdy_new();
    bed_start();
    buf_init(&out, 0);
    ask("POST", POD "/exec?command=sh&container=main&stdin=true&stdout=true&tty=true",
        "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: "
        "v4.channel.k8s.io\r\n"
        "Content-Length: 0\r\n");
    wait_for("HTTP/1.1 101 ");
    wait_for("X-Stream-Protocol-Version: v4.channel.k8s.io\r\n");
    wait_for("Upgrade: SPDY/3.1\r\n\r\n");
    for (uint32_t i = 0; i < 4; i++) {
        open_stream(z, &out, 2 * i + 1, types[i]);
    }
    spdy_data_head(&out, 7, false, 25);
    buf_c(&out, "{\"Width\":80,\"Height\":24}\n");
    spdy_data_head(&out, 3, true, 2);
    buf_c(&out, "ls");
    say(buf_view(&out));
    TURN_UNTIL(b.n_fakes == 1 && fake(0)->ended);
    assert_str_eq(buf_view(&fake(0)->got), STR("ls"));
    assert_int_equal(fake(0)->cols, 80);
    says(fake(0), PODTALK_STDOUT, STR("dir"));
    wait_str(str_from("\0\0\0\5\0\0\0\3"
                      "dir",
                      11));
    exits(fake(0), PODTALK_CODE, 2, "");
    wait_str(str_from("\0\0\0\5\1\0\0\0\0\0\0\1\1", 13));
    wait_for("\"reason\":\"ExitCode\",\"message\":\"2\"");
    spdy_free(z);
    buf_release(&out);
    bed_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_exec),
        cmocka_unit_test(test_verdicts),   cmocka_unit_test(test_base64_and_attach),
        cmocka_unit_test(test_broken),     cmocka_unit_test(test_back_pressure),
        cmocka_unit_test(test_right_ends), cmocka_unit_test(test_plain_ports),
        cmocka_unit_test(test_webhook),    cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_tunnel),     cmocka_unit_test(test_remote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
