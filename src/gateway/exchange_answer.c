/*
 * exchange_answer: an answer on its way to the client. See gateway_private.h.
 *
 * Three ways: events (text/event-stream) pass as they come; a short body whose length is known is gathered, so that
 * its usage is read and a server that breaks off in it can still be replaced by an error; any other passes as it
 * comes. When the client does not take more than WAITING_STOP bytes, the server is not read until it has.
 */
#include "base/arena.h"
#include "gateway/gateway_private.h"

enum { GATHER_MAX = 256 << 10, WAITING_STOP = 256 << 10, HEADERS_MAX = 100 };

/* ---- the head ---- */

static bool goes_on(struct str name) {
    static const char *const names[] = {
        "connection",
        "content-length",
        "content-type",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "proxy-connection",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "x-accel-buffering",
        /* What a server may not tell a browser in the gateway's name, for its other pages and its host's. */
        "alt-svc",
        "clear-site-data",
        "set-cookie",
        "strict-transport-security",
    };
    if (str_eq_nocase(str_head(name, 15), STR("access-control-"))) {
        return false; /* which pages may ask is the gateway's to say (origin.h) */
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (str_eq_nocase(name, str_of(names[i]))) {
            return false;
        }
    }
    return true;
}

/* Headers are copied, and sent once it is decided that the client gets this answer. */
static bool keep_headers(struct gateway_exchange *x, const struct http_answer *a) {
    struct arena *arena = http_arena(x->request);
    struct str name, value = {0};
    x->type =
        http_answer_header(a, STR("content-type"), 0, &value) ? arena_str(arena, value).p : NULL;
    x->headers = ARENA_ARRAY(arena, struct exchange_header, HEADERS_MAX);
    x->n_headers = 0;
    for (size_t i = 0;
         x->headers && x->n_headers < HEADERS_MAX && http_answer_at(a, i, &name, &value); i++) {
        if (goes_on(name)) {
            x->headers[x->n_headers++] =
                (struct exchange_header){arena_str(arena, name).p, arena_str(arena, value)};
        }
    }
    return arena_ok(arena) == 0;
}

static void add_headers(struct gateway_exchange *x) {
    for (size_t i = 0; i < x->n_headers; i++) {
        http_add_header(x->request, x->headers[i].name, x->headers[i].value);
    }
}

static bool is_events(const char *type) {
    struct str t = str_of(type), mark = STR("text/event-stream");
    return t.n >= mark.n && str_eq_nocase(str_head(t, mark.n), mark);
}

static void drained(void *user) {
    struct gateway_exchange *x = user;
    if (x->paused && x->ask) {
        x->paused = false;
        http_ask_resume(x->ask);
    }
}

static void begin_stream(struct gateway_exchange *x) {
    add_headers(x);
    if (x->sse) {
        http_add_header(x->request, "X-Accel-Buffering", STR("no"));
    }
    http_stream_on_drain(x->request, drained);
    http_stream_begin(x->request, x->status, x->type);
}

/* An answer that another server may give better. True: it was asked, and this answer is dropped. */
static bool try_other(struct gateway_exchange *x, int status) {
    bool gateway = status == 502 || status == 503 || status == 504;
    if (!gateway && status != 429) {
        return false;
    }
    struct http_ask *ask = x->ask;
    enum endpoint_end end = gateway ? ENDPOINT_FAILED : ENDPOINT_UNTOLD;
    uint32_t from = x->number;
    struct server_pool *p = server_pool_hold(x->pool);
    x->ask = NULL;
    bool again = exchange_again(x, gateway ? RETRY_GATEWAY : RETRY_BUSY);
    if (again) {
        http_ask_cancel(ask);
        endpoint_ended(&p->endpoints, from, end, exchange_now(x));
    } else {
        x->ask = ask;
    }
    server_pool_drop(p);
    return again;
}

void exchange_on_head(void *ctx, const struct http_answer *a) {
    struct gateway_exchange *x = ctx;
    if (try_other(x, a->status)) {
        return;
    }
    x->phase = EXCHANGE_ANSWERING;
    x->status = a->status;
    if (!keep_headers(x, a)) {
        http_ask_cancel(x->ask);
        x->ask = NULL;
        exchange_ended(x, ENDPOINT_UNTOLD);
        refusal_answer(x, &(struct refusal){500, "no_memory", .end = GATEWAY_END_UPSTREAM},
                       "no memory");
        return;
    }
    x->sse = x->type && is_events(x->type);
    x->gathering = !x->sse && (x->commented || (a->length >= 0 && a->length <= GATHER_MAX));
    if (x->sse) {
        usage_stream_init(&x->events, x->asks_usage);
    }
    if (x->gathering) {
        buf_release(&x->gathered); /* half of an answer, of a server that was tried before */
        buf_init(&x->gathered, GATHER_MAX);
        return;
    }
    x->retry.answered = true;
    if (x->commented) {
        http_stream_on_drain(x->request, drained);
    } else {
        begin_stream(x);
    }
}

/* ---- the body ---- */

static void pass(void *ctx, struct str bytes) {
    struct gateway_exchange *x = ctx;
    x->seen.bytes_out += bytes.n;
    (void)http_stream_write(x->request,
                            bytes); /* `closed` reports a client that is gone or was cut off */
}

void exchange_on_body(void *ctx, struct str bytes) {
    struct gateway_exchange *x = ctx;
    if (x->seen.first_ns < 0) {
        x->seen.first_ns = exchange_now(x) - x->begun;
    }
    if (x->gathering) {
        buf_str(&x->gathered, bytes);
        return;
    }
    if (x->sse) {
        usage_stream_feed(&x->events, bytes, pass, x);
    } else {
        pass(x, bytes);
    }
    if (x->ask && !x->paused && http_stream_waiting(x->request) > WAITING_STOP) {
        x->paused = true;
        http_ask_pause(x->ask);
    }
}

/* ---- the end ---- */

/* A held stream began with comments, but the answer is no stream: most likely an error. It is sent as the last event.
 * */
static void end_commented(struct gateway_exchange *x) {
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, x->status < 400 ? "data: " : "event: error\ndata: ");
    for (size_t i = 0; i < x->gathered.n; i++) {
        char c = x->gathered.p[i];
        buf_ch(&b, c == '\n' || c == '\r' ? ' ' : c);
    }
    buf_c(&b, "\n\n");
    pass(x, buf_view(&b));
    buf_release(&b);
    http_stream_end(x->request);
}

static void whole(struct gateway_exchange *x) {
    exchange_ended(x, x->status >= 500   ? ENDPOINT_FAILED
                      : x->status >= 400 ? ENDPOINT_UNTOLD
                                         : ENDPOINT_WELL);
    if (x->gathering && buf_ok(&x->gathered) != 0) {
        refusal_answer(x, &(struct refusal){502, "bad_answer", .end = GATEWAY_END_UPSTREAM},
                       "the server's answer is too long");
        return;
    }
    if (x->gathering) {
        usage_read(buf_view(&x->gathered), &x->usage);
        if (x->commented) {
            end_commented(x);
        } else {
            x->seen.bytes_out = x->gathered.n;
            add_headers(x);
            http_respond(x->request, x->status, x->type, buf_view(&x->gathered));
        }
    } else {
        if (x->sse) {
            usage_stream_end(&x->events, pass, x);
        }
        http_stream_end(x->request);
    }
    exchange_over(x, GATEWAY_END_WELL, x->status);
}

static enum retry_cause cause_of(enum http_ask_end end) {
    switch (end) {
    case HTTP_ASK_UNCONNECTED:
        return RETRY_CONNECT;
    case HTTP_ASK_LATE:
        return RETRY_TIMED_OUT;
    default:
        return RETRY_RESET;
    }
}

/* Part of the answer was sent already: the client is told that the rest is missing. */
static void break_off(struct gateway_exchange *x, enum http_ask_end end, const char *trouble) {
    bool silent = end == HTTP_ASK_SILENT;
    enum gateway_end told = silent ? GATEWAY_END_TIMED_OUT : GATEWAY_END_UPSTREAM;
    if (x->sse) {
        usage_stream_end(&x->events, pass, x);
        struct refusal r = {502, silent ? "upstream_silent" : "upstream_broke_off", .end = told};
        refusal_answer(x, &r, "the server broke off: %s", trouble);
    } else {
        x->seen.refused = STR("upstream_broke_off");
        http_stream_cut(x->request);
        exchange_over(x, told, x->status);
    }
}

void exchange_on_done(void *ctx, enum http_ask_end end, const char *trouble) {
    struct gateway_exchange *x = ctx;
    struct server_pool *p = server_pool_hold(x->pool);
    uint32_t from = x->number;
    bool late = end == HTTP_ASK_LATE || end == HTTP_ASK_SILENT;
    x->ask = NULL;
    if (end == HTTP_ASK_WHOLE) {
        whole(x);
    } else if (end == HTTP_ASK_STALE && !x->fresh && !x->retry.effects) {
        /* The server had closed an idle connection: this is no failure, and the same server is asked again. */
        endpoint_ended(&p->endpoints, from, ENDPOINT_UNTOLD, exchange_now(x));
        x->fresh = true;
        exchange_route(x);
    } else {
        endpoint_ended(&p->endpoints, from, ENDPOINT_FAILED, exchange_now(x));
        if (x->retry.answered) {
            break_off(x, end, trouble);
        } else if (!exchange_again(x, cause_of(end))) {
            struct refusal r = {late ? 504 : 502, late ? "upstream_timeout" : "upstream_failed",
                                .end = late ? GATEWAY_END_TIMED_OUT : GATEWAY_END_UPSTREAM};
            refusal_answer(x, &r, "the server of %.*s failed: %s", STR_ARG(x->asked), trouble);
        }
    }
    exchange_pump(p);
    server_pool_drop(p);
}
