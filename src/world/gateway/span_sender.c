/* span_sender: see span_sender.h. */
#include "world/gateway/span_sender.h"

#include <stdio.h>

#include "base/mem.h"
#include "net/http_client.h"

enum { TICK_MS = 1000, SEND_MS = 10000, TELL_S = 60, URL_MAX = 1024, ANSWER_MAX = 64 << 10 };

struct span_sender {
    struct clock *clock;
    struct log *log;
    struct span_queue *queue;
    struct http_client *client;
    struct timer *tick;
    struct buf body; /* of the request under way */
    bool busy;
    int64_t told_ns; /* when a failure was logged last; 0: never */
    char url[URL_MAX];
};

static void send_batch(struct span_sender *s);

static void again(struct span_sender *s) {
    s->clock->timer_start(s->tick, TICK_MS * NS_PER_MS);
}

static void on_done(void *ctx, const struct http_reply *r) {
    struct span_sender *s = ctx;
    int64_t now = clock_mono(s->clock);
    s->busy = false;
    if ((r->code != 0 || r->status / 100 != 2) &&
        (s->told_ns == 0 || now - s->told_ns > TELL_S * NS_PER_SEC)) {
        s->told_ns = now;
        if (r->code != 0) {
            log_warn(s->log, "spans are not taken by %s: %s", s->url, r->err.text);
        } else {
            log_warn(s->log, "spans are not taken by %s: status %d", s->url, r->status);
        }
    }
    again(s);
}

static void send_batch(struct span_sender *s) {
    static const struct str headers[] = {{"Content-Type: application/json", 30}};
    struct http_call *call;
    struct err err;
    buf_reset(&s->body);
    if (spans_take(s->queue, &s->body) == 0 || buf_ok(&s->body) != 0) {
        again(s);
        return;
    }
    const struct http_call_options o = {.method = "POST",
                                        .url = str_of(s->url),
                                        .headers = headers,
                                        .n_headers = 1,
                                        .body = buf_view(&s->body),
                                        .lasting = true,
                                        .timeout_ms = SEND_MS,
                                        .body_max = ANSWER_MAX,
                                        .done = on_done,
                                        .ctx = s};
    s->busy = http_client_send(s->client, &o, &call, &err) == 0;
    if (!s->busy) {
        again(s);
    }
}

static void on_tick(void *ctx) {
    send_batch(ctx);
}

int span_sender_new(struct loop *l, struct log *log, const char *url, struct span_queue *queue,
                    struct span_sender **ret, struct err *err) {
    struct str base = str_of(url);
    while (base.n > 0 && base.p[base.n - 1] == '/') {
        base.n--;
    }
    if ((!str_starts(base, STR("http://")) && !str_starts(base, STR("https://"))) ||
        base.n + sizeof "/v1/traces" > URL_MAX) {
        return err_set(err, ERR_INVALID, "\"%s\": expected a URL like http://collector:4318", url);
    }
    struct span_sender *s = mem_zalloc(sizeof *s);
    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "no memory to send spans");
    }
    s->clock = loop_clock(l);
    s->log = log;
    s->queue = queue;
    buf_init(&s->body, 0);
    (void)snprintf(s->url, sizeof s->url, "%.*s/v1/traces", STR_ARG(base));
    s->tick = s->clock->timer_new(s->clock, on_tick, s);
    const struct http_client_options o = {.user_agent = STR("berth-gateway/" BERTH_VERSION)};
    int r = s->tick ? http_client_new(l, &o, &s->client, err)
                    : err_set(err, ERR_NOMEM, "no memory to send spans");
    if (r != 0) {
        span_sender_free(s);
        return r;
    }
    again(s);
    *ret = s;
    return 0;
}

void span_sender_free(struct span_sender *s) {
    if (s == NULL) {
        return;
    }
    http_client_free(s->client);
    s->clock->timer_free(s->tick);
    buf_release(&s->body);
    mem_free(s);
}
