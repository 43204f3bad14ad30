/*
 * http2_conn: a connection of the HTTP server that speaks HTTP/2: the session's requests become the user's, and answers
 * go out by streams. See http_int.h and http2.h.
 *
 * The session calls hooks, which take notes, and ask whether a body may come. All else of users is called from flush:
 * once a turn it hands over at most LIMIT_H2_TURN complete requests, so that one connection does not hold up others,
 * then puts out what windows and the socket take, tells users whose bytes are out, and ends requests whose stream is
 * closed.
 *
 * A stream whose peer takes nothing for write_ms is ended, as is one whose body does not come within body_ms; other
 * streams of the connection go on.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "net/http_private.h"

enum {
    OUTPUT_STEP = 256 << 10, /* plain bytes put out by the session at once */
    FIELDS_MAX = 32,         /* header lines of an answer */
    KEEP_BYTES = 16 << 10,   /* buffers up to this size are kept while the connection is busy */
    LINGER_MS = 1000,        /* for the rest of a request that was answered early */
    COMPACT_BYTES = 1 << 20, /* sent bytes kept in front of what waits in a stream */
};

static struct http_stream *of_wire(struct http2_stream *w) {
    return (struct http_stream *)((char *)w - offsetof(struct http_stream, wire));
}

static struct http_stream *of_request(const struct http_request *r) {
    return (struct http_stream *)((char *)(uintptr_t)r - offsetof(struct http_stream, request));
}

static size_t waiting_of(const struct http_stream *t) {
    return t->wire.out.n - t->wire.out_at;
}

static void touch(struct http_stream *t) {
    struct http_conn *c = t->request.conn;
    if (!t->touched) {
        t->touched = true;
        t->next_touched = c->touched;
        c->touched = t;
    }
}

/* ---- the life of a stream ---- */

static struct http_stream *stream_new(struct http_conn *c) {
    struct http_server *s = c->server;
    struct http_stream *t = mem_zalloc(sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    http_request_init(&t->request, c);
    t->request.way = &http2_way;
    t->wire.parse = &t->request.parse;
    buf_init(&t->wire.out, 0);
    t->since = t->progress = clock_mono(s->clock);
    t->next = c->streams;
    t->prev = &c->streams;
    if (t->next) {
        t->next->prev = &t->next;
    }
    c->streams = t;
    c->n_streams++;
    s->streams++;
    http_conn_phase(c, PHASE_BUSY);
    return t;
}

static void drop_ready(struct http_conn *c, struct http_stream *t) {
    for (struct http_stream **p = &c->ready; *p; p = &(*p)->next_ready) {
        if (*p == t) {
            *p = t->next_ready;
            c->ready_end = *p ? c->ready_end : p;
            return;
        }
    }
}

static void stream_free(struct http_stream *t) {
    struct http_conn *c = t->request.conn;
    if (t->is_ready) {
        drop_ready(c, t);
    }
    *t->prev = t->next;
    if (t->next) {
        t->next->prev = t->prev;
    }
    http_account_waiting(&t->request, 0);
    http_account_leave(&t->request);
    http_request_release(&t->request);
    buf_release(&t->wire.out);
    mem_free(t);
}

/* Nobody takes its answer any more. It stays for a user who does not want to be told. */
static void stream_gone(struct http_stream *t) {
    struct http_request *r = &t->request;
    struct http_conn *c = r->conn;
    if (!r->gone) {
        r->gone = t->wire.gone = true;
        c->n_streams--;
        c->server->streams--;
        http_account_waiting(r, 0);
        http_account_leave(r);
    }
    if (http_request_in_hands(r) && !r->closed) {
        return;
    }
    if (r->state != REQUEST_NONE) {
        http_request_end(r);
    }
    stream_free(t);
}

/* ---- what the session tells ---- */

static struct http2_stream *on_open(void *ctx) {
    struct http_conn *c = ctx;
    struct http_server *s = c->server;
    if (s->streams >= s->o.connections_max) { /* as for a connection: others make room */
        struct http_conn *oldest = http_account_oldest(s);
        if (oldest && oldest != c) {
            http_conn_abort(oldest);
        }
    }
    bool full = s->streams >= s->o.connections_max || http_account_full(c);
    struct http_stream *t = full ? NULL : stream_new(c);
    s->stats.rejected += t == NULL;
    return t ? &t->wire : NULL;
}

static void refuse(struct http_stream *t, int status, const char *text) {
    struct http_request *r = &t->request;
    struct buf body;
    buf_init(&body, 0);
    r->conn->server->o.refusal(&body, status, text);
    r->conn->server->stats.rejected++;
    http2_way.answer(r, status, "application/json", buf_view(&body), false);
    buf_release(&body);
    r->state = REQUEST_ANSWERED;
    t->wire.unread = true;
}

static bool count_body(struct http_stream *t) {
    int status = http_account_body(&t->request, http_parse_body_size(&t->request.parse));
    if (status != 0) {
        refuse(t, status, http_account_refusal(status));
    }
    return status == 0;
}

static void on_head(void *ctx, struct http2_stream *w) {
    struct http_conn *c = ctx;
    struct http_stream *t = of_wire(w);
    if (!http_request_admit(&t->request)) {
        w->unread = true;
    } else if (count_body(t) && t->request.parse.expects) {
        http2_continue(c->session, w);
    }
}

static void on_body(void *ctx, struct http2_stream *w) {
    struct http_stream *t = of_wire(w);
    if (t->request.state == REQUEST_NONE) {
        (void)count_body(t);
    }
}

static void on_whole(void *ctx, struct http2_stream *w) {
    struct http_conn *c = ctx;
    struct http_stream *t = of_wire(w);
    if (t->request.state != REQUEST_NONE) {
        return; /* answered before its body was there */
    }
    if (w->parse->state == HTTP_FAILED) {
        refuse(t, w->parse->status, w->parse->text);
        return;
    }
    t->is_ready = true;
    t->next_ready = NULL;
    *(c->ready ? c->ready_end : &c->ready) = t;
    c->ready_end = &t->next_ready;
}

static void on_sent(void *ctx, struct http2_stream *w) {
    struct http_stream *t = of_wire(w);
    t->progress = clock_mono(t->request.conn->server->clock);
    touch(t);
}

static void on_closed(void *ctx, struct http2_stream *w, bool whole) {
    struct http_stream *t = of_wire(w);
    t->closed = true;
    t->closed_whole = whole;
    touch(t);
}

bool http2_conn_begin(struct http_conn *c) {
    static const struct http2_hooks hooks = {.open = on_open,
                                             .head = on_head,
                                             .body = on_body,
                                             .whole = on_whole,
                                             .sent = on_sent,
                                             .closed = on_closed};
    c->session = http2_new(&hooks, c, clock_mono(c->server->clock));
    if (c->session) {
        http_conn_dirty(c);
    }
    return c->session != NULL;
}

void http2_conn_input(struct http_conn *c, struct str in) {
    if (!http2_input(c->session, in, clock_mono(c->server->clock))) {
        http_conn_abort(c);
        return;
    }
    if (c->phase == PHASE_HANDSHAKE && http2_heard(c->session)) {
        http_conn_phase(c, PHASE_IDLE);
    }
    http_conn_dirty(c);
}

/* ---- once a turn ---- */

static void hand_over(struct http_conn *c) {
    struct http_server *s = c->server;
    for (int n = 0; c->ready && n < LIMIT_H2_TURN && c->phase != PHASE_CLOSED; n++) {
        struct http_stream *t = c->ready;
        c->ready = t->next_ready;
        t->is_ready = false;
        if (!t->closed) {
            t->request.state = REQUEST_OPEN;
            s->stats.requests_total++;
            s->o.handler(s->o.ctx, &t->request);
        }
    }
    if (c->ready) {
        http_conn_dirty(c);
    }
}

/* What the windows and the socket take. */
static bool put_out(struct http_conn *c) {
    size_t had = 1;
    while (!c->writing && had > 0) {
        if (!http2_output(c->session, &c->plain, OUTPUT_STEP)) {
            return false;
        }
        had = c->plain.n - c->plain_at;
        if (buf_ok(&c->plain) != 0 || !http_conn_push(c)) {
            return false;
        }
    }
    return true;
}

/* Bytes of it were sent, or written by its user: counts them, and tells the user when none are left. */
static void settle(struct http_stream *t) {
    struct http_request *r = &t->request;
    struct http_server *s = r->conn->server;
    struct buf *out = &t->wire.out;
    if (t->wire.out_at > COMPACT_BYTES) {
        buf_consume(out, t->wire.out_at);
        t->wire.out_at = 0;
    }
    http_account_waiting(r, waiting_of(t));
    bool greedy = waiting_of(t) > 0 && http_account_greedy(r, t->progress);
    s->stats.cut_slow += greedy;
    if (greedy || r->cut) {
        http2_reset(r->conn->session, &t->wire);
        http_conn_dirty(r->conn);
    } else if (waiting_of(t) == 0) {
        if (out->cap > KEEP_BYTES) {
            buf_release(out);
        }
        if (r->wants_drain && r->state == REQUEST_STREAM) {
            r->wants_drain = false;
            if (r->drained) {
                r->drained(r->user);
            }
        }
    }
}

static void settle_touched(struct http_conn *c) {
    while (c->touched && c->phase != PHASE_CLOSED) {
        struct http_stream *t = c->touched;
        c->touched = t->next_touched;
        t->touched = false;
        if (t->closed) {
            stream_gone(t);
        } else {
            settle(t);
        }
    }
}

/* Does what users asked for of streams. */
static void cut_touched(struct http_conn *c) {
    for (struct http_stream *t = c->touched; t; t = t->next_touched) {
        if (t->request.cut) {
            http2_reset(c->session, &t->wire);
        }
    }
}

static void after_flush(struct http_conn *c) {
    if (c->plain.n == 0 && c->plain.cap > KEEP_BYTES) {
        buf_release(&c->plain);
    }
    if (!c->writing && c->wire.cap > 0) {
        buf_release(&c->wire);
        buf_release(&c->wire_next);
    }
    if (c->n_streams == 0 && c->phase == PHASE_BUSY) {
        http_conn_phase(c, PHASE_IDLE);
    }
    bool over = http2_over(c->session) || (c->n_streams == 0 && c->close_after);
    if (over && http_conn_waiting(c) == 0) {
        c->server->stats.rejected += http2_abused(c->session);
        http_conn_end(c);
    }
}

void http2_conn_flush(struct http_conn *c) {
    if (c->phase == PHASE_LINGER) {
        http_conn_end(c);
        return;
    }
    hand_over(c);
    if (c->phase == PHASE_CLOSED) {
        return;
    }
    if (c->close_after || c->server->stop_at) {
        http2_go_away(c->session);
    }
    cut_touched(c);
    bool ok = put_out(c), greedy = ok && http_conn_greedy(c);
    c->server->stats.cut_slow += greedy;
    if (!ok || greedy) {
        http_conn_abort(c);
        return;
    }
    settle_touched(c);
    if (c->phase != PHASE_CLOSED) {
        after_flush(c);
    }
}

bool http2_conn_busy(const struct http_conn *c) {
    for (const struct http_stream *t = c->streams; t; t = t->next) {
        if (!t->request.gone && http_request_in_hands(&t->request)) {
            return true;
        }
    }
    return false;
}

static void sweep_stream(struct http_stream *t, int64_t now) {
    struct http_request *r = &t->request;
    struct http_server *s = r->conn->server;
    bool reading = r->state == REQUEST_NONE && !t->is_ready;
    if (http2_half_open(&t->wire) && (now - t->progress) / NS_PER_MS >= LINGER_MS) {
        http2_finish(r->conn->session, &t->wire);
        http_conn_dirty(r->conn);
    } else if (reading && (now - t->since) / NS_PER_MS >= s->o.body_ms) {
        s->stats.cut_slow++;
        refuse(t, 408, "the request took too long to arrive");
        http_conn_dirty(r->conn);
    } else if (waiting_of(t) > 0 && ((now - t->progress) / NS_PER_MS >= s->o.write_ms ||
                                     http_account_greedy(r, t->progress))) {
        s->stats.cut_slow++;
        http2_reset(r->conn->session, &t->wire);
        http_conn_dirty(r->conn);
    }
}

void http2_conn_sweep(struct http_conn *c, int64_t now) {
    int64_t head = http2_head_since(c->session);
    if (head && (now - head) / NS_PER_MS >= c->server->o.header_ms) {
        c->server->stats.cut_slow++;
        http_conn_abort(c);
        return;
    }
    for (struct http_stream *t = c->streams; t; t = t->next) {
        if (!t->closed && !t->request.gone) {
            sweep_stream(t, now);
        }
    }
}

/* ---- the end of the connection ---- */

void http2_conn_gone(struct http_conn *c) {
    c->touched = NULL;
    for (struct http_stream *t = c->streams; t;) {
        bool gone = t->request.gone;
        if (!gone) {
            stream_gone(t);
        }
        t = gone ? t->next : c->streams; /* what a user is told may end others */
    }
    http2_free(c->session);
    c->session = NULL;
}

void http2_conn_release(struct http_conn *c) {
    while (c->streams) {
        stream_free(c->streams);
    }
    http2_free(c->session);
    c->session = NULL;
}

/* ---- answers ---- */

static void lower(struct str s) {
    char *p = (char *)(uintptr_t)s.p;
    for (size_t i = 0; i < s.n; i++) {
        p[i] = (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + ('a' - 'A') : p[i]);
    }
}

/* "Name: value\r\n" of header lines as fields; names become lower case where they are. */
static size_t add_lines(struct str lines, struct http2_field *to, size_t n) {
    struct str line;
    while (n < FIELDS_MAX && str_next(&lines, '\n', &line)) {
        ptrdiff_t colon = str_find(line, ':');
        if (colon > 0) {
            to[n].name = str_head(line, (size_t)colon);
            to[n].value = str_trim(str_skip(line, (size_t)colon + 1));
            lower(to[n++].name);
        }
    }
    return n;
}

/* length: of the body, where it is known; else -1. */
static void send_head(struct http_request *r, int status, const char *content_type, int64_t length,
                      bool body) {
    struct http_conn *c = r->conn;
    struct http2_field f[FIELDS_MAX];
    char code[16], number[24], date[48];
    snprintf(code, sizeof(code), "%d", status);
    snprintf(date, sizeof(date), "%s", http_server_date(c->server));
    f[0] = (struct http2_field){STR(":status"), str_of(code)};
    size_t n = add_lines(str_of(date), f, 1);
    if (content_type) {
        f[n++] = (struct http2_field){STR("content-type"), str_of(content_type)};
    }
    if (length >= 0) {
        snprintf(number, sizeof(number), "%" PRId64, length);
        f[n++] = (struct http2_field){STR("content-length"), str_of(number)};
    }
    n = add_lines(buf_view(&r->added), f, n);
    if (!http2_answer(c->session, &of_request(r)->wire, f, n, body)) {
        r->cut = true;
    }
}

static void answer(struct http_request *r, int status, const char *content_type, struct str body,
                   bool head_only) {
    struct http_stream *t = of_request(r);
    bool none = status == 204 || status == 304;
    bool some = !none && !head_only && body.n > 0;
    t->wire.out_whole = true;
    t->progress = clock_mono(r->conn->server->clock);
    if (some) {
        buf_str(&t->wire.out, body);
        r->cut = r->cut || buf_ok(&t->wire.out) != 0;
    }
    send_head(r, status, content_type, none ? -1 : (int64_t)body.n, some);
    touch(t);
}

static void begin(struct http_request *r, int status, const char *content_type) {
    send_head(r, status, content_type, -1, !http_request_is_head(r));
}

static void write_bytes(struct http_request *r, struct str bytes) {
    struct http_stream *t = of_request(r);
    if (waiting_of(t) == 0) {
        t->progress = clock_mono(r->conn->server->clock);
    }
    buf_str(&t->wire.out, bytes);
    r->cut = r->cut || buf_ok(&t->wire.out) != 0;
    http2_resume(r->conn->session, &t->wire);
}

static void end(struct http_request *r) {
    struct http_stream *t = of_request(r);
    t->wire.out_whole = true;
    http2_resume(r->conn->session, &t->wire);
}

static size_t waiting(const struct http_request *r) {
    return waiting_of(of_request(r));
}

static void dirty(struct http_request *r) {
    touch(of_request(r));
    http_conn_dirty(r->conn);
}

static void forget(struct http_request *r) {
    struct http_conn *c = r->conn;
    stream_free(of_request(r));
    if (c->phase == PHASE_CLOSED && c->tcp.data == NULL && c->streams == NULL) {
        http_conn_free_now(c);
    }
}

const struct http_way http2_way = {
    .answer = answer,
    .begin = begin,
    .write = write_bytes,
    .end = end,
    .waiting = waiting,
    .dirty = dirty,
    .forget = forget,
};
