/* Tests of the webhook server: it listens when the Secret has a certificate, takes over a new one, also from files, and
 * speaks only HTTPS to whoever knows its authority. */
#include "site/webhook/webhook.h"

#include "api/webhooks.h"

#include "base/test.h"
#include "net/http_client.h"
#include "site/webhook/webhook_cert.h"
#include "wire/text/base64.h"

struct world {
    struct loop *loop;
    struct mirror *mirror;
    struct webhook_server *server;
    struct cert_keeper *keeper;
    struct arena arena;
    struct cert_set certs;
    uint64_t rv;
    int code, status; /* of the last call */
    char body[512];
};

static const struct str names[] = {{"127.0.0.1", 9}};

static void new_certificate(struct world *w) {
    static const struct cert_set none;
    struct err err = {0};
    bool changed;
    int64_t next;
    assert_ok(w->keeper->renew(w->keeper, &none, clock_wall(loop_clock(w->loop)), &w->arena,
                               &w->certs, &changed, &next, &err),
              &err);
}

static void store_certificate(struct world *w, const char *name) {
    struct object *o;
    struct buf b;
    struct err err = {0};
    buf_init(&b, 0);
    buf_f(&b,
          "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
          "\"berth-system\",\"uid\":\"1\",\"resourceVersion\":\"%llu\"},\"data\":{\"tls.crt\":\"",
          name, (unsigned long long)++w->rv);
    base64_encode(&b, w->certs.cert);
    buf_c(&b, "\",\"tls.key\":\"");
    base64_encode(&b, w->certs.key);
    buf_c(&b, "\"}}");
    const struct kind *k = kind_by_name(STR(""), STR("Secret"));
    assert_ok(object_new(k, buf_view(&b), &o, &err), &err);
    buf_release(&b);
    bool there = mirror_get(w->mirror, k, o->ns, o->name) != NULL;
    assert_ok(mirror_apply(w->mirror, there ? CHANGE_MODIFIED : CHANGE_ADDED, o, &err), &err);
}

static void done(void *ctx, const struct http_reply *r) {
    struct world *w = ctx;
    w->code = r->code;
    w->status = r->status;
    (void)str_copy(str_head(r->body, sizeof(w->body) - 1), w->body, sizeof(w->body));
    loop_stop(w->loop);
}

static int call(struct world *w, const char *method, const char *path, const char *body,
                const char *type) {
    struct http_client *c;
    struct http_call *call;
    struct err err = {0};
    char url[128];
    struct str header = str_of(type);
    struct http_client_options co = {.ca_pem = w->certs.bundle};
    assert_ok(http_client_new(w->loop, &co, &c, &err), &err);
    snprintf(url, sizeof(url), "https://127.0.0.1:%u%s", webhook_server_port(w->server), path);
    struct http_call_options o = {.method = method,
                                  .url = str_of(url),
                                  .headers = &header,
                                  .n_headers = 1,
                                  .body = str_of(body),
                                  .timeout_ms = 20000,
                                  .done = done,
                                  .ctx = w};
    assert_ok(http_client_send(c, &o, &call, &err), &err);
    loop_run(w->loop);
    http_client_free(c);
    return w->status;
}

static void start(struct world *w) {
    struct err err = {0};
    *w = (struct world){.loop = loop_new(&err)};
    assert_non_null(w->loop);
    struct mirror_options mo = {.clock = loop_clock(w->loop)};
    w->mirror = mirror_new(&mo);
    w->keeper = webhook_cert_keeper_new(names, 1);
    arena_init(&w->arena, 1 << 20);
    struct webhook_server_options o = {
        .loop = w->loop, .mirror = w->mirror, .host = STR("127.0.0.1"), .ns = STR("berth-system")};
    w->server = webhook_server_new(&o, &err);
    assert_non_null(w->server);
}

static void end(struct world *w) {
    webhook_server_free(w->server);
    webhook_cert_keeper_free(w->keeper);
    arena_release(&w->arena);
    mirror_free(w->mirror);
    loop_free(w->loop);
}

#define JSON "Content-Type: application/json; charset=utf-8"
#define REVIEW                                                                                     \
    "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{\"uid\":"   \
    "\"u\",\"operation\":\"CREATE\",\"kind\":{\"group\":\"batch\",\"version\":\"v1\",\"kind\":"    \
    "\"Job\"},\"resource\":{\"resource\":\"jobs\"},\"object\":{}}}"

static void serves(void **state) {
    struct world w;
    struct err err = {0};
    start(&w);
    assert_int_equal(webhook_server_port(w.server), 0);
    assert_int_equal(webhook_server_check(w.server, &err), ERR_UNAVAILABLE);
    new_certificate(&w);
    store_certificate(&w, "another");
    assert_int_equal(webhook_server_port(w.server), 0);
    store_certificate(&w, WEBHOOK_SECRET);
    assert_int_not_equal(webhook_server_port(w.server), 0);
    assert_ok(webhook_server_check(w.server, &err), &err);
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, JSON), 200);
    assert_true(str_contains(str_of(w.body), STR("\"uid\":\"u\",\"allowed\":true")));
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", "{", JSON), 400);
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, "Content-Type: text/x"),
                     415);
    assert_int_equal(call(&w, "GET", "/convert", "", JSON), 405);
    assert_int_equal(call(&w, "POST", "/metrics", REVIEW, JSON), 404);
    end(&w);
}

static void takes_over_a_new_certificate(void **state) {
    struct world w;
    start(&w);
    new_certificate(&w);
    store_certificate(&w, WEBHOOK_SECRET);
    uint16_t port = webhook_server_port(w.server);
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, JSON), 200);
    new_certificate(&w); /* of another authority: known to the client, not yet to the server */
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, JSON), 0);
    store_certificate(&w, WEBHOOK_SECRET);
    assert_int_equal(webhook_server_port(w.server), port);
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, JSON), 200);
    w.certs.cert = STR("x"); /* what cannot be served is left alone */
    store_certificate(&w, WEBHOOK_SECRET);
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, JSON), 200);
    end(&w);
}

/* ---- from files ---- */

static void write_file(const char *path, struct str text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(text.p, 1, text.n, f), text.n);
    assert_int_equal(fclose(f), 0);
}

static void stop_soon(void *ctx) {
    loop_stop(ctx);
}

/* Whether the server comes to be trusted by who knows the newest authority alone. */
static bool comes_to_serve(struct world *w) {
    struct clock *clock = loop_clock(w->loop);
    struct timer *t = clock->timer_new(clock, stop_soon, w->loop);
    assert_non_null(t);
    int status = 0;
    for (int i = 0; i < 2000 && status != 200; i++) {
        clock->timer_start(t, 5 * NS_PER_MS);
        loop_run(w->loop); /* meanwhile it looks */
        status = call(w, "POST", "/validate-batch-v1-job", REVIEW, JSON);
    }
    clock->timer_free(t);
    return status == 200;
}

static void takes_over_new_files(void **state) {
    struct world w;
    struct err err = {0};
    char dir[] = "/tmp/berth-webhook-XXXXXX", cert[64], key[64];
    assert_non_null(mkdtemp(dir));
    (void)snprintf(cert, sizeof(cert), "%s/tls.crt", dir);
    (void)snprintf(key, sizeof(key), "%s/tls.key", dir);
    start(&w);
    webhook_server_free(w.server);
    struct webhook_server_options o = {.loop = w.loop,
                                       .mirror = w.mirror,
                                       .host = STR("127.0.0.1"),
                                       .cert_file = cert,
                                       .key_file = key,
                                       .files_every_ns = 2 * NS_PER_MS};
    assert_null(webhook_server_new(&o, &err)); /* files that are named must be there at first */
    new_certificate(&w);
    write_file(cert, w.certs.cert);
    write_file(key, w.certs.key);
    w.server = webhook_server_new(&o, &err);
    assert_non_null(w.server);
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, JSON), 200);
    struct str before = w.certs.bundle;
    new_certificate(&w);
    assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, JSON), 0);
    write_file(cert, w.certs.cert); /* half of a pair: what was served goes on */
    struct str after = w.certs.bundle;
    w.certs.bundle = before;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(call(&w, "POST", "/validate-batch-v1-job", REVIEW, JSON), 200);
    }
    w.certs.bundle = after;
    write_file(key, w.certs.key);
    assert_true(comes_to_serve(&w));
    assert_int_equal(remove(cert), 0); /* gone for a moment */
    assert_int_equal(remove(key), 0);
    assert_true(comes_to_serve(&w));
    new_certificate(&w);
    write_file(key, w.certs.key);
    write_file(cert, w.certs.cert);
    assert_true(comes_to_serve(&w));
    end(&w);
    (void)remove(cert);
    (void)remove(key);
    (void)remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(serves),
                                       cmocka_unit_test(takes_over_a_new_certificate),
                                       cmocka_unit_test(takes_over_new_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
