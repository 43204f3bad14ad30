/* http_conn: one connection of the HTTP server: bytes in, bytes out, and when it ends. See http_int.h. */
#include <linux/sockios.h>
#include <openssl/err.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/http_private.h"
#include "net/tls_private.h"

enum {
    PENDING_STOP = 64 << 10, /* pipelined bytes after which the socket is not read */
    FLUSH_STEP = 256 << 10,  /* plain bytes encrypted at once */
    COMPACT_BYTES = 4 << 20, /* sent bytes kept in front of what waits */
    KEEP_BYTES = 16 << 10,   /* buffers up to this size are kept while the connection is busy */
};

static void start_reading(struct http_conn *c);
static bool hand_on(struct http_conn *c);
static void consume(struct http_conn *c, struct str in);

size_t http_conn_waiting(const struct http_conn *c) {
    return c->plain.n - c->plain_at + c->wire.n + c->wire_next.n;
}

/* The kernel's part counts: it holds megabytes for a peer on a slow line, who takes some of them all the time. */
size_t http_conn_queued(const struct http_conn *c) {
    uv_os_fd_t fd;
    int kernel = 0;
    if (uv_fileno((const uv_handle_t *)&c->tcp, &fd) != 0 || ioctl(fd, SIOCOUTQ, &kernel) != 0) {
        kernel = 0;
    }
    return uv_stream_get_write_queue_size((const uv_stream_t *)&c->tcp) + (size_t)kernel;
}

bool http_conn_greedy(struct http_conn *c) {
    http_account_waiting(&c->request, http_conn_waiting(c));
    return http_account_greedy(&c->request, c->progress);
}

bool http_conn_upgraded(const struct http_conn *c) {
    return c->request.received && c->request.state == REQUEST_STREAM;
}

void http_conn_phase(struct http_conn *c, enum http_phase phase) {
    if (c->phase != phase) {
        c->phase = phase;
        c->since = clock_mono(c->server->clock);
    }
}

void http_conn_dirty(struct http_conn *c) {
    if (!c->dirty) {
        c->dirty = true;
        c->next_dirty = c->server->dirty;
        c->server->dirty = c;
        http_server_flush_soon(c->server);
    }
}

/* ---- OpenSSL's side: a BIO that reads tls_in and writes tls_out ---- */

static int bio_read(BIO *b, char *to, int n) {
    struct http_conn *c = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    if (c->tls_in.n == 0) {
        BIO_set_retry_read(b);
        return -1;
    }
    size_t k = (size_t)n < c->tls_in.n ? (size_t)n : c->tls_in.n;
    memcpy(to, c->tls_in.p, k);
    c->tls_in = str_skip(c->tls_in, k);
    return (int)k;
}

static int bio_write(BIO *b, const char *from, int n) {
    struct http_conn *c = BIO_get_data(b);
    BIO_clear_retry_flags(b);
    buf_add(&c->server->scratch, from, (size_t)n);
    return buf_ok(&c->server->scratch) == 0 ? n : -1;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *ptr) {
    return cmd == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *method;

static void make_method(void) {
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "berth connection");
    if (method) {
        BIO_meth_set_read(method, bio_read);
        BIO_meth_set_write(method, bio_write);
        BIO_meth_set_ctrl(method, bio_ctrl);
    }
}

static bool start_tls(struct http_conn *c) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    BIO *bio = method ? BIO_new(method) : NULL;
    c->ssl = tls_server_ssl(c->server->o.tls);
    if (bio == NULL || c->ssl == NULL) {
        BIO_free(bio);
        return false;
    }
    BIO_set_data(bio, c);
    BIO_set_init(bio, 1);
    SSL_set_bio(c->ssl, bio, bio);
    return true;
}

/* ---- the end of a connection ---- */

static bool drop_dirty(struct http_conn **list, struct http_conn *c) {
    for (; *list; list = &(*list)->next_dirty) {
        if (*list == c) {
            *list = c->next_dirty;
            return true;
        }
    }
    return false;
}

void http_conn_free_now(struct http_conn *c) {
    struct http_server *s = c->server;
    *c->prev = c->next;
    if (c->next) {
        c->next->prev = c->prev;
    }
    if (c->dirty && !drop_dirty(&s->dirty, c)) {
        drop_dirty(&s->flushing, c);
    }
    http2_conn_release(c);
    http_account_end(c);
    http_request_release(&c->request);
    SSL_free(c->ssl);
    buf_release(&c->pending);
    buf_release(&c->plain);
    buf_release(&c->wire);
    buf_release(&c->wire_next);
    buf_release(&c->cn);
    buf_release(&c->org);
    mem_free(c);
    http_server_conn_gone(s);
}

static void on_closed(uv_handle_t *h) {
    struct http_conn *c = h->data;
    struct http_server *s = c->server;
    s->handles--;
    c->tcp.data = NULL; /* closed: the last answer frees it */
    if (s->freed || (!http_request_in_hands(&c->request) && c->streams == NULL)) {
        http_conn_free_now(c);
    }
    http_server_maybe_free(s);
}

void http_conn_abort(struct http_conn *c) {
    if (c->phase == PHASE_CLOSED) {
        return;
    }
    http_conn_phase(c, PHASE_CLOSED);
    http_account_waiting(&c->request, 0);
    http_account_end(c);
    c->server->stats.connections--;
    c->request.gone = true;
    enum http_request_state state = c->request.state;
    bool users = state == REQUEST_OPEN || state == REQUEST_STREAM;
    uv_close((uv_handle_t *)&c->tcp, on_closed);
    if (state == REQUEST_ANSWERED || (users && c->request.closed)) {
        http_request_end(&c->request);
    }
    http2_conn_gone(c);
}

void http_conn_finish(struct http_conn *c) {
    c->close_after = true;
    http_conn_dirty(c);
}

/* ---- bytes out ---- */

static void on_written(uv_write_t *w, int status);

/* Hands bytes to the socket, what it does not take at once in a copy. False when the connection is gone. */
static bool push(struct http_conn *c, struct str bytes) {
    if (c->writing) {
        buf_str(&c->wire_next, bytes);
        return buf_ok(&c->wire_next) == 0;
    }
    uv_buf_t b = uv_buf_init((char *)(uintptr_t)bytes.p, (unsigned)bytes.n);
    int n = bytes.n ? uv_try_write((uv_stream_t *)&c->tcp, &b, 1) : 0;
    if (n == UV_EAGAIN) {
        n = 0;
    }
    if (n < 0) {
        return false;
    }
    bytes = str_skip(bytes, (size_t)n);
    if (bytes.n == 0) {
        return true;
    }
    buf_reset(&c->wire);
    buf_str(&c->wire, bytes);
    if (buf_ok(&c->wire) != 0) {
        return false;
    }
    b = uv_buf_init(c->wire.p, (unsigned)c->wire.n);
    c->progress = clock_mono(c->server->clock);
    c->writing = uv_write(&c->write, (uv_stream_t *)&c->tcp, &b, 1, on_written) == 0;
    c->queued = http_conn_queued(c);
    return c->writing;
}

/* Sends what OpenSSL wrote on its own account. */
static bool push_tls(struct http_conn *c) {
    struct buf *s = &c->server->scratch;
    bool ok = buf_ok(s) == 0 && (s->n == 0 || push(c, buf_view(s)));
    buf_reset(s);
    if (s->cap > 2 * FLUSH_STEP) {
        buf_release(s);
    }
    return ok;
}

/* SSL_get_error wants an empty queue. Looking is cheap, clearing is not, and there is hardly ever something. */
static void forget_errors(void) {
    if (ERR_peek_error() != 0) {
        ERR_clear_error();
    }
}

static bool encrypt(struct http_conn *c, struct str bytes) {
    while (bytes.n > 0) {
        size_t k = 0;
        forget_errors();
        if (SSL_write_ex(c->ssl, bytes.p, bytes.n, &k) != 1) {
            ERR_clear_error();
            return false;
        }
        bytes = str_skip(bytes, k);
    }
    return push_tls(c);
}

bool http_conn_push(struct http_conn *c) {
    while (c->plain.n > c->plain_at && !c->writing) {
        struct str step = str_head(str_skip(buf_view(&c->plain), c->plain_at), FLUSH_STEP);
        if (c->ssl ? !encrypt(c, step) : !push(c, step)) {
            return false;
        }
        c->plain_at += step.n;
    }
    if (c->plain_at == c->plain.n || c->plain_at > COMPACT_BYTES) {
        buf_consume(&c->plain, c->plain_at);
        c->plain_at = 0;
    }
    return true;
}

/* After the answer is out: ends the request and goes on, or ends the connection. */
static void after_flush(struct http_conn *c) {
    struct http_request *r = &c->request;
    if (http_conn_upgraded(c) && !hand_on(c)) {
        return;
    }
    if (http_conn_waiting(c) > 0) {
        return;
    }
    if (c->plain.cap > KEEP_BYTES) {
        buf_release(&c->plain);
    }
    if (!c->writing && c->wire.cap > 0) {
        buf_release(&c->wire);
        buf_release(&c->wire_next);
    }
    if (r->wants_drain && r->state == REQUEST_STREAM) {
        r->wants_drain = false;
        if (r->drained) {
            r->drained(r->user);
        }
        return;
    }
    if (r->state == REQUEST_ANSWERED) {
        http_request_end(r);
        if (c->phase == PHASE_CLOSED) { /* by the user's `closed` */
            return;
        }
        http_conn_phase(c, PHASE_IDLE);
    }
    bool busy = r->state != REQUEST_NONE;
    if (!busy && (c->close_after || c->eof || c->server->stop_at)) {
        http_conn_end(c);
    } else if (!busy && c->pending.n > 0) {
        struct buf b = c->pending;
        buf_init(&c->pending, 0);
        consume(c, buf_view(&b));
        buf_release(&b);
    }
    if (c->phase != PHASE_CLOSED) {
        start_reading(c);
    }
}

void http_conn_flush(struct http_conn *c) {
    if (c->phase == PHASE_CLOSED) {
        return;
    }
    if (c->session) {
        http2_conn_flush(c);
        return;
    }
    bool ok = !c->request.cut && buf_ok(&c->plain) == 0 && http_conn_push(c);
    bool greedy = ok && http_conn_greedy(c);
    c->server->stats.cut_slow += greedy;
    if (!ok || greedy) {
        http_conn_abort(c);
        return;
    }
    after_flush(c);
}

static void on_written(uv_write_t *w, int status) {
    struct http_conn *c = w->data;
    c->writing = false;
    buf_reset(&c->wire);
    if (c->phase == PHASE_CLOSED) {
        return;
    }
    if (status < 0) {
        http_conn_abort(c);
        return;
    }
    c->progress = clock_mono(c->server->clock);
    if (c->wire_next.n > 0) {
        struct buf next = c->wire_next;
        buf_init(&c->wire_next, 0);
        bool ok = push(c, buf_view(&next));
        buf_release(&next);
        if (!ok) {
            http_conn_abort(c);
            return;
        }
    }
    http_conn_flush(c);
}

/* Our end: close_notify, FIN; then the peer has a moment to read the last answer before the socket goes. */
void http_conn_end(struct http_conn *c) {
    bool first = !c->ending;
    c->ending = true;
    http_conn_phase(c, PHASE_LINGER);
    if (first && c->ssl && SSL_is_init_finished(c->ssl)) {
        ERR_clear_error();
        SSL_shutdown(c->ssl);
        ERR_clear_error();
        if (!push_tls(c)) {
            http_conn_abort(c);
            return;
        }
    }
    uv_os_fd_t fd;
    if (c->writing || c->fin_sent) {
        return;
    }
    c->fin_sent = true;
    if (c->eof || uv_fileno((uv_handle_t *)&c->tcp, &fd) != 0) {
        http_conn_abort(c);
    } else {
        shutdown(fd, SHUT_WR);
    }
}

/* ---- bytes in ---- */

void http_status_body(struct buf *b, int status, const char *text) {
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{400, "BadRequest"},      {405, "MethodNotAllowed"},
                   {408, "Timeout"},         {413, "RequestEntityTooLarge"},
                   {429, "TooManyRequests"}, {500, "InternalError"}};
    const char *reason = "BadRequest";
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        reason = reasons[i].status == status ? reasons[i].reason : reason;
    }
    buf_c(b, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
             "\"message\":");
    buf_json(b, str_of(text));
    buf_f(b, ",\"reason\":\"%s\",\"code\":%d}\n", reason, status);
}

void http_conn_refuse(struct http_conn *c, int status, const char *text) {
    struct buf body;
    buf_init(&body, 0);
    c->server->o.refusal(&body, status, text);
    c->close_after = true;
    c->server->stats.rejected++;
    http1_way.answer(&c->request, status, "application/json", buf_view(&body), false);
    buf_release(&body);
    c->request.state = REQUEST_ANSWERED;
    http_conn_phase(c, PHASE_BUSY);
    http_conn_dirty(c);
}

static void dispatch(struct http_conn *c) {
    struct http_server *s = c->server;
    c->request.state = REQUEST_OPEN;
    http_conn_phase(c, PHASE_BUSY);
    s->stats.requests_total++;
    s->o.handler(s->o.ctx, &c->request);
}

/* False: the answer is given, or will be, and is the last one. */
static bool admit(struct http_conn *c) {
    bool closes = c->close_after;
    if (c->request.admitted || c->server->o.head == NULL) {
        return true;
    }
    c->close_after = true;
    http_conn_phase(c, PHASE_BUSY);
    if (!http_request_admit(&c->request)) {
        return false;
    }
    c->close_after = closes;
    return true;
}

/* Counts what is still to come of the body; false: that is too much, as was answered. */
static bool count_body(struct http_conn *c) {
    int status = http_account_body(&c->request, http_parse_body_size(&c->request.parse));
    if (status != 0) {
        http_conn_refuse(c, status, http_account_refusal(status));
    }
    return status == 0;
}

static void after_more(struct http_conn *c) {
    struct http_parse *p = &c->request.parse;
    if (p->state == HTTP_IN_BODY) {
        if (!admit(c) || !count_body(c)) {
            return;
        }
        if (p->expects && p->body.n == 0) {
            buf_c(&c->plain, "HTTP/1.1 100 Continue\r\n\r\n");
            http_conn_dirty(c);
        }
        p->expects = false;
        http_conn_phase(c, PHASE_BODY);
    } else if (p->raw > 0) {
        http_conn_phase(c, PHASE_HEAD);
    }
}

/* Gives bytes of another protocol to the user, or keeps them while they may not come. */
static void deliver(struct http_conn *c, struct str in) {
    struct http_request *r = &c->request;
    while (in.n > 0 && !r->held && http_conn_upgraded(c) && c->phase != PHASE_CLOSED) {
        struct str piece = str_head(in, sizeof(c->server->read_buf));
        in = str_skip(in, piece.n);
        r->held = !r->received(r->user, piece);
    }
    if (in.n > 0 && http_conn_upgraded(c) && c->phase != PHASE_CLOSED) {
        buf_str(&c->pending, in);
        if (buf_ok(&c->pending) != 0) {
            http_conn_abort(c);
        }
    }
}

/* What was kept for the user of another protocol; then the socket is read again. False: the connection is gone. */
static bool hand_on(struct http_conn *c) {
    if (c->pending.n > 0 && !c->request.held) {
        struct buf b = c->pending;
        buf_init(&c->pending, 0);
        deliver(c, buf_view(&b));
        buf_release(&b);
    }
    if (c->phase != PHASE_CLOSED) {
        start_reading(c);
    }
    return c->phase != PHASE_CLOSED;
}

/*
 * Which version of HTTP a connection has: over TLS the one that was agreed upon; without, HTTP/2 when its first bytes
 * are that version's preface, of which no request of HTTP/1.1 can be the beginning. False: it takes more bytes to
 * know, or there is no memory.
 */
static bool choose(struct http_conn *c, struct str in) {
    const struct str preface = STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    bool two = false;
    if (c->ssl) {
        const unsigned char *name = NULL;
        unsigned n = 0;
        SSL_get0_alpn_selected(c->ssl, &name, &n);
        two = n == 2 && memcmp(name, "h2", n) == 0;
    } else if (c->server->plain_http2) {
        struct str seen = str_head(in, preface.n);
        two = str_starts(preface, seen);
        if (two && in.n < preface.n) {
            return false;
        }
    }
    c->chosen = true;
    if (two && !http2_conn_begin(c)) {
        http_conn_abort(c);
        return false;
    }
    return true;
}

static void consume_chosen(struct http_conn *c, struct str in);

/* Takes plain bytes. */
static void consume(struct http_conn *c, struct str in) {
    if (c->chosen) {
        consume_chosen(c, in);
        return;
    }
    struct buf b = c->pending;
    buf_init(&c->pending, 0);
    if (b.n > 0) {
        buf_str(&b, in);
        in = buf_view(&b);
    }
    if (buf_ok(&b) != 0) {
        http_conn_abort(c);
    } else if (choose(c, in)) {
        consume_chosen(c, in);
    } else if (c->phase != PHASE_CLOSED) {
        buf_str(&c->pending, in);
    }
    buf_release(&b);
}

/* Parses them, or keeps them while a request is being answered. */
static void consume_chosen(struct http_conn *c, struct str in) {
    if (c->session) {
        http2_conn_input(c, in);
        return;
    }
    if (http_conn_upgraded(c) && c->pending.n == 0) {
        deliver(c, in);
        return;
    }
    while (in.n > 0 && c->request.state == REQUEST_NONE && !c->close_after &&
           c->phase != PHASE_CLOSED) {
        struct http_parse *p = &c->request.parse;
        size_t used = 0;
        switch (http_parse_feed(p, in, &used)) {
        case HTTP_MORE:
            after_more(c);
            break;
        case HTTP_MESSAGE:
            dispatch(c);
            break;
        case HTTP_ERROR:
            http_conn_refuse(c, p->status, p->text);
            return;
        }
        in = str_skip(in, used);
    }
    if (in.n > 0 && (!c->close_after || http_conn_upgraded(c)) && c->phase != PHASE_CLOSED) {
        buf_str(&c->pending, in);
        if (buf_ok(&c->pending) != 0) {
            http_conn_abort(c);
        }
    }
}

/* The peer sent its end. */
static void on_eof(struct http_conn *c) {
    c->eof = true;
    struct http_request *r = &c->request;
    bool users = http_request_in_hands(r);
    if (c->session || r->state == REQUEST_STREAM || (users && r->closed) ||
        c->phase == PHASE_LINGER || c->phase == PHASE_HANDSHAKE) {
        http_conn_abort(c);
    } else if (c->phase == PHASE_HEAD || c->phase == PHASE_BODY) {
        http_conn_refuse(c, 400, "the request ended early");
    } else {
        http_conn_dirty(c);
    }
}

static void input_tls(struct http_conn *c, struct str bytes) {
    c->tls_in = bytes;
    while (c->phase != PHASE_CLOSED) {
        size_t n = 0;
        forget_errors();
        int r = SSL_read_ex(c->ssl, c->server->text_buf, sizeof(c->server->text_buf), &n);
        int why = r == 1 ? SSL_ERROR_NONE : SSL_get_error(c->ssl, r);
        if (!push_tls(c)) {
            http_conn_abort(c);
            return;
        }
        if (r == 1) {
            consume(c, str_from(c->server->text_buf, n));
            if (c->tls_in.n == 0 && c->phase != PHASE_CLOSED && !SSL_has_pending(c->ssl)) {
                break; /* all is read: another call would only make a buffer to find that out */
            }
            continue;
        }
        forget_errors();
        if (!c->chosen && SSL_is_init_finished(c->ssl) && !choose(c, (struct str){0})) {
            return; /* HTTP/2 begins with the server's settings, before the client has said anything */
        }
        if (why == SSL_ERROR_ZERO_RETURN) {
            on_eof(c);
        } else if (why != SSL_ERROR_WANT_READ) {
            http_conn_abort(c);
        }
        break;
    }
    c->tls_in = (struct str){0};
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *ret) {
    struct http_conn *c = h->data;
    *ret = uv_buf_init(c->server->read_buf, sizeof(c->server->read_buf));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *b) {
    struct http_conn *c = stream->data;
    if (n == UV_EOF) {
        c->reading = false;
        on_eof(c);
    } else if (n < 0) {
        http_conn_abort(c);
    } else if (n > 0 && c->phase != PHASE_LINGER) {
        struct str bytes = str_from(b->base, (size_t)n);
        if (c->ssl) {
            input_tls(c, bytes);
        } else {
            consume(c, bytes);
        }
        if (c->phase != PHASE_CLOSED && (c->pending.n >= PENDING_STOP || c->request.held)) {
            uv_read_stop(stream);
            c->reading = false;
        }
    }
}

static void start_reading(struct http_conn *c) {
    if (!c->reading && !c->eof && c->pending.n < PENDING_STOP && !c->request.held) {
        c->reading = uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) == 0;
        if (!c->reading) {
            http_conn_abort(c);
        }
    }
}

/* ---- the beginning ---- */

static void close_unused(uv_handle_t *h) {
    struct http_conn *c = h->data;
    struct http_server *s = c->server;
    mem_free(c);
    s->handles--;
    http_server_maybe_free(s);
}

void http_conn_accept(struct http_server *s) {
    struct http_conn *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        s->starved =
            true; /* libuv keeps the connection, and takes no other, until it is asked again */
        http_server_sweep_start(s);
        return;
    }
    c->server = s;
    if (uv_tcp_init(loop_uv(s->loop), &c->tcp) != 0) {
        mem_free(c);
        return;
    }
    s->handles++;
    c->tcp.data = c->write.data = c;
    bool taken = uv_accept((uv_stream_t *)&s->listener, (uv_stream_t *)&c->tcp) == 0;
    struct http_conn *oldest =
        taken && s->stats.connections >= s->o.connections_max ? http_account_oldest(s) : NULL;
    if (oldest) {
        s->stats.rejected++;
        http_conn_abort(oldest);
    }
    bool full = s->stats.connections >= s->o.connections_max;
    if (!taken || full || s->stop_at) {
        s->stats.rejected += full;
        uv_close((uv_handle_t *)&c->tcp, close_unused);
        return;
    }
    http_request_init(&c->request, c);
    c->next = s->conns;
    c->prev = &s->conns;
    if (c->next) {
        c->next->prev = &c->next;
    }
    s->conns = c;
    http_account_begin(c);
    s->stats.connections++;
    s->stats.connections_total++;
    c->phase = PHASE_HANDSHAKE;
    c->since = clock_mono(s->clock);
    uv_tcp_nodelay(&c->tcp, 1);
    uv_tcp_keepalive(&c->tcp, 1, 60);
    if (s->o.tls && !start_tls(c)) {
        http_conn_abort(c);
        return;
    }
    start_reading(c);
    http_server_sweep_start(s);
}
