/* ask: what comes of HTTP, TCP and gRPC answers, against a server in a process of its own that says one thing. */
#include "base/test.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node/life/ask.h"

static const char *const rest = "Host: x\r\n";

/* Listens on a port of 127.0.0.1; each connection gets the same bytes after it has said something. */
static pid_t serve(const char *bytes, size_t n, uint16_t *ret_port) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(l, 8), 0);
    assert_int_equal(getsockname(l, (struct sockaddr *)&a, &len), 0);
    *ret_port = ntohs(a.sin_port);
    pid_t pid = fork();
    for (int i = 0; pid == 0 && i < 100; i++) {
        char in[4096];
        int c = accept(l, NULL, NULL);
        if (bytes && recv(c, in, sizeof(in), 0) > 0) {
            (void)!send(c, bytes, n, MSG_NOSIGNAL);
            close(c);
        } else if (bytes) {
            close(c);
        } /* NULL: says nothing, for ever */
    }
    if (pid == 0) {
        _exit(0);
    }
    close(l);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void finish(struct inquiry *a, const struct handler *h) {
    bool over = ask_begin(a, h);

    for (int i = 0; !over && i < 1000; i++) {
        struct pollfd p = {.fd = a->fd, .events = ask_events(a)};
        poll(&p, 1, 100);
        over = ask_step(a);
    }
    assert_true(over);
}

static void look(enum handler_kind kind, const char *bytes, size_t n, bool ok, const char *text) {
    struct handler h = {
        .kind = kind, .host = "127.0.0.1", .path = "/ok", .headers = str_of(rest), .service = "s"};
    struct inquiry a;
    pid_t pid = serve(bytes, n, &h.port);

    finish(&a, &h);
    end(pid);
    if (a.ok != ok || strstr(a.text, text) == NULL) {
        fail_msg("ok %d, %s; wanted %s", a.ok, a.text, text);
    }
    ask_end(&a);
}

#define LOOK(kind, bytes, ok, text) look(kind, bytes, sizeof(bytes) - 1, ok, text)

static void test_http(void **state) {
    LOOK(HANDLER_HTTP, "HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", true, "");
    LOOK(HANDLER_HTTP, "HTTP/1.0 204 No\r\n\r\n", true, "");
    LOOK(HANDLER_HTTP, "HTTP/1.1 503 No\r\n\r\n", false, "HTTP probe failed with statuscode: 503");
    LOOK(HANDLER_HTTP, "HTTP/1.1 302 x\r\nLocation: http://elsewhere/\r\n\r\n", true, "");
    LOOK(HANDLER_HTTP, "HTTP/1.1 302 x\r\nLocation: /loop\r\n\r\n", true, ""); /* ten times */
    LOOK(HANDLER_HTTP, "SSH-2.0-x\r\n\r\n", false, "malformed HTTP response");
    LOOK(HANDLER_HTTP, "HTTP/1.1 20", false, "malformed HTTP response");
}

static void test_connections(void **state) {
    struct handler h = {.kind = HANDLER_TCP, .host = "127.0.0.1", .path = "/"};
    struct inquiry a;
    pid_t pid = serve(NULL, 0, &h.port);

    finish(&a, &h);
    assert_true(a.ok);
    ask_end(&a);
    h.kind = HANDLER_HTTP;
    assert_false(ask_begin(&a, &h));
    for (int i = 0; i < 50; i++) {
        assert_false(ask_step(&a));
        poll(NULL, 0, 1);
    }
    ask_late(&a, 1);
    assert_false(a.ok);
    assert_non_null(strstr(a.text, "Client.Timeout exceeded"));
    ask_end(&a);
    end(pid);
    finish(&a, &h);
    assert_false(a.ok);
    assert_non_null(strstr(a.text, "connect: connection refused"));
    ask_end(&a);
}

#define SETTINGS "\0\0\0\4\0\0\0\0\0"
#define PING "\0\0\10\6\0\0\0\0\00012345678"
#define DATA(status) "\0\0\7\0\0\0\0\0\1\0\0\0\0\2\10" status

static void test_grpc(void **state) {
    LOOK(HANDLER_GRPC, SETTINGS PING DATA("\1"), true, "");
    LOOK(HANDLER_GRPC, SETTINGS DATA("\2"), false,
         "service unhealthy (responded with \"NOT_SERVING\")");
    LOOK(HANDLER_GRPC, SETTINGS "\0\0\5\0\0\0\0\0\1\0\0\0\0\0", false, "\"UNKNOWN\"");
    LOOK(HANDLER_GRPC, SETTINGS "\0\0\1\1\5\0\0\0\1\x88", false, "does not implement");
    LOOK(HANDLER_GRPC, SETTINGS "\0\0\0\7\0\0\0\0\0", false, "closed the stream");
    LOOK(HANDLER_GRPC, "HTTP/1.1 400 Bad\r\n\r\n", false, "this is not HTTP/2");
    LOOK(HANDLER_GRPC, SETTINGS, false, "health rpc probe failed");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http),
        cmocka_unit_test(test_connections),
        cmocka_unit_test(test_grpc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
