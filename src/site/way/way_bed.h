/*
 * way_bed: for tests of the dashboard and the way: a listener in front of them, a client that shows what it got, and a
 * clock that moves nothing. One loop; each ask runs it until the answer is there.
 */
#ifndef BERTH_SITE_WAY_BED_H
#define BERTH_SITE_WAY_BED_H

#include "base/mem.h"
#include "base/test.h"
#include "net/http_client.h"
#include "site/dashboard.h"

struct bed {
    struct loop *loop;
    struct sessions *sessions;
    struct dashboard *dashboard;
    struct http_server *http;
    struct http_client *client;
    void (*api)(struct bed *b, struct http_request *r);
    bool (*admit)(struct bed *b,
                  struct http_request *r); /* set before bed_start; NULL: any body may come */
    void *more;
    int status;
    char head[16 << 10];
    struct buf body;
    struct str headers[16];
    size_t n_headers;
    char cookie[300], value[200];
};

static void bed_head(void *ctx, const struct http_head *h) {
    struct bed *b = ctx;
    (void)str_copy(h->lines, b->head, sizeof(b->head));
}

static void bed_done(void *ctx, const struct http_reply *r) {
    struct bed *b = ctx;
    b->status = r->status;
    buf_reset(&b->body);
    buf_str(&b->body, r->body);
    loop_stop(b->loop);
}

/* A header of the last answer; empty when it has none. */
__attribute__((unused)) static struct str bed_header(struct bed *b, const char *name) {
    struct http_head h = {.lines = str_of(b->head)};
    struct str v = {0};
    http_head_nth(&h, name, 0, &v);
    return v;
}

static void bed_url(struct bed *b, const char *path, char url[2048]) {
    snprintf(url, 2048, "http://127.0.0.1:%u%s", http_server_port(b->http), path);
}

/* With the headers of b->headers, and b->cookie when there is one. */
static void bed_ask(struct bed *b, const char *method, const char *path, const char *body,
                    int status) {
    char url[2048];
    struct str headers[20];
    size_t n = 0;
    bed_url(b, path, url);
    for (size_t i = 0; i < b->n_headers; i++) {
        headers[n++] = b->headers[i];
    }
    if (b->cookie[0]) {
        headers[n++] = str_of(b->cookie);
    }
    struct http_call_options o = {.method = method,
                                  .url = str_of(url),
                                  .headers = headers,
                                  .n_headers = n,
                                  .body = str_of(body),
                                  .head = bed_head,
                                  .done = bed_done,
                                  .ctx = b};
    b->head[0] = 0;
    assert_int_equal(http_client_send(b->client, &o, NULL, NULL), 0);
    loop_run(b->loop);
    if (b->status != status) {
        print_error("%s %s: %.*s\n", method, path, STR_ARG(buf_view(&b->body)));
    }
    assert_int_equal(b->status, status);
}

__attribute__((unused)) static void bed_with(struct bed *b, const char *h1, const char *h2,
                                             const char *h3) {
    const char *all[] = {h1, h2, h3};
    b->n_headers = 0;
    for (size_t i = 0; i < 3; i++) {
        if (all[i]) {
            b->headers[b->n_headers++] = str_of(all[i]);
        }
    }
}

/* Keeps the cookie of the last answer, as a browser would. */
__attribute__((unused)) static void bed_keep_cookie(struct bed *b) {
    struct str pair, rest;
    str_cut(bed_header(b, "Set-Cookie"), ';', &pair, &rest);
    snprintf(b->cookie, sizeof(b->cookie), "Cookie: %.*s", STR_ARG(pair));
}

static void bed_handle(void *ctx, struct http_request *r) {
    struct bed *b = ctx;
    if (dashboard_host(b->dashboard, r) && !dashboard_answer(b->dashboard, r)) {
        dashboard_api_headers(r);
        b->api(b, r);
    }
}

static bool bed_admit(void *ctx, struct http_request *r) {
    struct bed *b = ctx;
    return dashboard_host(b->dashboard, r) && b->admit(b, r);
}

static void bed_start(struct bed *b, struct dashboard_options *o) {
    struct err err = {0};
    buf_init(&b->body, 0);
    b->loop = loop_new(&err);
    b->sessions = sessions_new(loop_clock(b->loop), STR("test"));
    o->clock = loop_clock(b->loop);
    o->sessions = b->sessions;
    o->world = "test";
    o->ctx = b;
    b->dashboard = dashboard_new(o, &err);
    struct http_server_options h = {.host = STR("127.0.0.1"),
                                    .handler = bed_handle,
                                    .ctx = b,
                                    .out_max = 64 << 20,
                                    .head = b->admit ? bed_admit : NULL};
    assert_ok(http_server_start(b->loop, &h, &b->http, &err), &err);
    struct http_client_options c = {.user_agent = STR("test")};
    assert_ok(http_client_new(b->loop, &c, &b->client, &err), &err);
}

static void bed_end(struct bed *b) {
    http_client_free(b->client);
    http_server_free(b->http);
    dashboard_free(b->dashboard);
    sessions_free(b->sessions);
    loop_free(b->loop);
    buf_release(&b->body);
}

#endif
