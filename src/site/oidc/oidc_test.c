/* oidc: an issuer that takes a connection and says nothing. */
#include "site/oidc/oidc.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/test.h"
#include "site/oidc/oidc_config.h"
#include "wire/text/base64.h"

static void no_line(struct log *l, enum log_level level, struct str line) {
}
static struct log quiet = {.write = no_line};

static int silent_listener(char url[64]) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    snprintf(url, 64, "https://127.0.0.1:%d", ntohs(at.sin_port));
    return fd;
}

static void write_token(struct buf *b, const char *url) {
    char claims[128];
    snprintf(claims, sizeof(claims), "{\"iss\":\"%s\",\"aud\":\"a\"}", url);
    base64url_encode(b, STR("{\"alg\":\"RS256\",\"kid\":\"x\"}"));
    buf_ch(b, '.');
    base64url_encode(b, str_of(claims));
    buf_c(b, ".AAAA");
}

struct asking {
    struct loop *loop;
    struct oidc *oidc;
    struct str token;
    struct oidc_waiter waiter;
    int code;
    bool waits_on;
};

static void look(void *ctx) {
    struct asking *x = ctx;
    struct oidc_user user;
    struct err err = {0};
    struct arena a;
    arena_init(&a, 1 << 20);
    x->code = oidc_verify(x->oidc, x->token, 0, &a, &user, &err);
    arena_release(&a);
}

static void told(void *ctx) {
    struct asking *x = ctx;
    look(x);
    x->waits_on = oidc_wait(x->oidc, &x->waiter);
    loop_stop(x->loop);
}

/* Whoever waited for the fetch that failed is refused then. That takes as long as a fetch may, ten seconds. */
static void test_silence(void **state) {
    struct oidc_config config;
    struct asking x = {.waiter = {.ready = told, .ctx = &x}};
    struct err err = {0};
    struct buf token;
    char url[64];
    int fd = silent_listener(url);
    struct oidc_flags flags = {.issuer_url = str_of(url), .client_id = STR("a")};
    oidc_config_init(&config);
    assert_ok(oidc_config_add(&config, &flags, &err), &err);
    buf_init(&token, 0);
    write_token(&token, url);
    x.token = buf_view(&token);
    x.loop = loop_new(&err);
    assert_non_null(x.loop);
    int r = oidc_new(x.loop, &quiet, &config, &x.oidc, &err);
    if (r == ERR_UNSUPPORTED) { /* there is no libcurl */
        skip();
    }
    assert_ok(r, &err);
    look(&x);
    assert_int_equal(x.code, ERR_AGAIN);
    assert_true(oidc_wait(x.oidc, &x.waiter));
    loop_run(x.loop);
    assert_int_equal(x.code, ERR_UNAUTHORIZED);
    assert_false(x.waits_on);
    oidc_free(x.oidc);
    loop_free(x.loop);
    oidc_config_release(&config);
    buf_release(&token);
    close(fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_silence)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
