/*
 * http_peer: connections to servers, and questions on them. See http_peer.h.
 *
 * A connection is connecting, asked (it has a question), idle, or closing. Idle ones lie in their peer's list, the last
 * used first; those asked in the list of all, which a timer walks for what takes too long. A connection outlives its
 * peer while it is asked. What is freed is freed in libuv's close callback.
 */
#include "net/peers/http_peer.h"

#include <stdio.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/loop_uv.h"

enum { SWEEP_MS = 200, READ_BYTES = 64 << 10 };

enum peer_conn_state { CONN_CONNECTING, CONN_ASKED, CONN_IDLE, CONN_CLOSING };

/* A connection, and the question that it has: one object, so that a question costs no memory of its own. */
struct http_ask {
    enum peer_conn_state state;
    struct http_peers *peers;
    struct http_peer *peer;                  /* NULL: it was freed */
    struct http_ask *next, **prev;           /* all of the peers */
    struct http_ask *idle_next, **idle_prev; /* of the peer, when idle */
    struct http_ask_options o;
    struct str parts[HTTP_ASK_PARTS];
    struct http_answer answer;
    uv_tcp_t tcp;
    uv_connect_t connect;
    uv_write_t write;
    bool used; /* it has answered before */
    bool reading;
    bool paused;
    bool writing;  /* `write` is with libuv */
    bool in_call;  /* of the user: what it cancels is closed after that */
    int64_t until; /* mono ns: the time limit of what it waits for */
};

struct http_peer {
    struct http_peers *peers;
    struct sockaddr_storage at;
    struct http_ask *idle;
    size_t n_idle, idle_max, n;
};

struct http_peers {
    struct loop *loop;
    struct clock *clock;
    struct timer *sweep;
    bool sweeping, freed;
    int64_t idle_ns;
    struct http_ask *conns;
    struct http_ask *next; /* of the sweep under way */
    size_t handles;
    int (*make)(void *ctx, bool v6); /* NULL: sockets are our own */
    void *make_ctx;
    char read_buf[READ_BYTES];
};

static void maybe_free(struct http_peers *p) {
    if (p->freed && p->handles == 0) {
        mem_free(p);
    }
}

/* ---- the end of a connection ---- */

static void on_closed(uv_handle_t *h) {
    struct http_ask *c = h->data;
    struct http_peers *p = c->peers;
    http_answer_release(&c->answer);
    mem_free(c);
    p->handles--;
    maybe_free(p);
}

static void idle_remove(struct http_ask *c) {
    *c->idle_prev = c->idle_next;
    if (c->idle_next) {
        c->idle_next->idle_prev = c->idle_prev;
    }
    c->peer->n_idle--;
}

static void conn_close(struct http_ask *c) {
    if (c->state == CONN_CLOSING) {
        return;
    }
    if (c->state == CONN_IDLE) {
        idle_remove(c);
    }
    c->state = CONN_CLOSING;
    if (c->peer) {
        c->peer->n--;
    }
    *c->prev = c->next;
    if (c->next) {
        c->next->prev = c->prev;
    }
    c->peers->next = c->peers->next == c ? c->next : c->peers->next;
    uv_close((uv_handle_t *)&c->tcp, on_closed);
}

/* The question ends without an answer, or with half of one. */
static void fail(struct http_ask *c, enum http_ask_end end, const char *trouble) {
    struct http_ask_options o = c->o;
    bool asked = c->state == CONN_CONNECTING || c->state == CONN_ASKED;
    conn_close(c);
    if (asked) {
        o.done(o.ctx, end, trouble);
    }
}

static void lost(struct http_ask *c, const char *trouble) {
    if (c->state == CONN_IDLE) {
        conn_close(c);
    } else if (c->answer.status != 0) {
        fail(c, HTTP_ASK_BROKEN, trouble);
    } else {
        fail(c, c->used && !http_answer_begun(&c->answer) ? HTTP_ASK_STALE : HTTP_ASK_RESET,
             trouble);
    }
}

static void keep(struct http_ask *c) {
    struct http_peer *p = c->peer;
    if (p == NULL || p->n_idle >= p->idle_max || c->writing) {
        conn_close(c);
        return;
    }
    c->state = CONN_IDLE;
    c->used = true;
    c->until = clock_mono(c->peers->clock) + c->peers->idle_ns;
    c->idle_next = p->idle;
    c->idle_prev = &p->idle;
    if (p->idle) {
        p->idle->idle_prev = &c->idle_next;
    }
    p->idle = c;
    p->n_idle++;
}

/* ---- bytes in ---- */

static bool on_head(void *ctx, struct http_answer *a) {
    struct http_ask *c = ctx;
    c->o.head(c->o.ctx, a);
    return c->state == CONN_ASKED;
}

static bool on_body(void *ctx, struct str bytes) {
    struct http_ask *c = ctx;
    c->o.body(c->o.ctx, bytes);
    return c->state == CONN_ASKED;
}

/* The answer is whole. `left`: bytes that follow it, which nobody asked for. */
static void answered(struct http_ask *c, size_t left) {
    struct http_ask_options o = c->o;
    if (c->answer.keep_alive && left == 0 && !c->paused) {
        keep(c);
    } else {
        conn_close(c);
    }
    o.done(o.ctx, HTTP_ASK_WHOLE, NULL);
}

static void take(struct http_ask *c, struct str in) {
    size_t used = 0;
    switch (http_answer_feed(&c->answer, in, &used)) {
    case HTTP_ANSWER_MORE:
        if (c->answer.status != 0) { /* else the limit of the head still holds */
            c->until = clock_mono(c->peers->clock) + c->o.idle_ms * NS_PER_MS;
        }
        break;
    case HTTP_ANSWER_WHOLE:
        answered(c, in.n - used);
        break;
    case HTTP_ANSWER_BAD:
        fail(c, HTTP_ASK_BAD, c->answer.trouble);
        break;
    case HTTP_ANSWER_STOPPED:
        break; /* it was cancelled */
    }
}

static void on_alloc(uv_handle_t *h, size_t hint, uv_buf_t *ret) {
    struct http_ask *c = h->data;
    *ret = uv_buf_init(c->peers->read_buf, READ_BYTES);
}

static void on_read(uv_stream_t *s, ssize_t n, const uv_buf_t *b) {
    struct http_ask *c = s->data;
    if (c->state == CONN_CLOSING || n == 0) {
        return;
    }
    if (n < 0 && c->state == CONN_ASKED && n == UV_EOF &&
        http_answer_eof(&c->answer) == HTTP_ANSWER_WHOLE) {
        answered(c, 0);
    } else if (n < 0) {
        lost(c, n == UV_EOF ? "it closed the connection" : uv_strerror((int)n));
    } else if (c->state == CONN_ASKED) {
        take(c, str_from(b->base, (size_t)n));
    } else {
        conn_close(c); /* bytes that nobody asked for */
    }
}

/* ---- bytes out ---- */

static void on_written(uv_write_t *w, int status) {
    struct http_ask *c = w->data;
    c->writing = false;
    if (status < 0 && c->state == CONN_ASKED && c->answer.status == 0) {
        lost(c, uv_strerror(status));
    }
}

/* Hands the request to the socket; what it does not take at once stays where it is. 0 or libuv's code. */
static int send_parts(struct http_ask *c) {
    uv_buf_t b[HTTP_ASK_PARTS];
    unsigned n = 0;
    for (size_t i = 0; i < c->o.n_parts; i++) {
        if (c->parts[i].n > 0) {
            b[n++] = uv_buf_init((char *)(uintptr_t)c->parts[i].p, (unsigned)c->parts[i].n);
        }
    }
    int sent = uv_try_write((uv_stream_t *)&c->tcp, b, n);
    size_t left = sent > 0 ? (size_t)sent : 0;
    if (sent < 0 && sent != UV_EAGAIN) {
        return sent;
    }
    unsigned first = 0;
    for (; first < n && left >= b[first].len; first++) {
        left -= b[first].len;
    }
    if (first == n) {
        return 0;
    }
    b[first].base += left;
    b[first].len -= left;
    int r = uv_write(&c->write, (uv_stream_t *)&c->tcp, b + first, n - first, on_written);
    c->writing = r == 0;
    return r;
}

static int start_reading(struct http_ask *c) {
    int r = c->reading ? 0 : uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
    c->reading = r == 0;
    return r;
}

static int put_question(struct http_ask *c) {
    c->state = CONN_ASKED;
    c->until = clock_mono(c->peers->clock) + c->o.first_ms * NS_PER_MS;
    http_answer_next(&c->answer, c->o.to_head);
    int r = send_parts(c);
    return r ? r : start_reading(c);
}

static void on_connect(uv_connect_t *q, int status) {
    struct http_ask *c = q->data;
    if (c->state == CONN_CLOSING) {
        return;
    }
    if (status < 0) {
        fail(c, HTTP_ASK_UNCONNECTED, uv_strerror(status));
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    uv_tcp_keepalive(&c->tcp, 1, 30);
    int r = put_question(c);
    if (r < 0) {
        lost(c, uv_strerror(r));
    }
}

/* ---- what takes too long ---- */

static void too_late(struct http_ask *c) {
    switch (c->state) {
    case CONN_CONNECTING:
        fail(c, HTTP_ASK_UNCONNECTED, "it did not accept the connection in time");
        break;
    case CONN_ASKED:
        if (c->answer.status == 0) {
            fail(c, HTTP_ASK_LATE, "it did not answer in time");
        } else {
            fail(c, HTTP_ASK_SILENT, "it stopped in the middle of its answer");
        }
        break;
    case CONN_IDLE:
        conn_close(c);
        break;
    case CONN_CLOSING:
        break;
    }
}

/* A question that fails may have others cancelled, so the walk's next one is kept where conn_close can move it on. */
static void sweep(void *ctx) {
    struct http_peers *p = ctx;
    int64_t now = clock_mono(p->clock);
    p->next = p->conns;
    for (struct http_ask *c; (c = p->next) != NULL;) {
        p->next = c->next;
        if (!c->paused && now >= c->until) {
            too_late(c);
        }
    }
    p->sweeping = p->conns != NULL;
    if (p->sweeping) {
        p->clock->timer_start(p->sweep, SWEEP_MS * NS_PER_MS);
    }
}

/* ---- the user's side ---- */

struct http_peers *http_peers_new(struct loop *l, int64_t idle_ms) {
    struct http_peers *p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return NULL;
    }
    p->loop = l;
    p->clock = loop_clock(l);
    p->idle_ns = idle_ms * NS_PER_MS;
    p->sweep = p->clock->timer_new(p->clock, sweep, p);
    if (p->sweep == NULL) {
        mem_free(p);
        return NULL;
    }
    return p;
}

void http_peers_free(struct http_peers *p) {
    if (p == NULL) {
        return;
    }
    while (p->conns) {
        conn_close(p->conns);
    }
    p->clock->timer_free(p->sweep);
    p->freed = true;
    maybe_free(p);
}

void http_peers_sockets(struct http_peers *p, int (*make)(void *ctx, bool v6), void *ctx) {
    p->make = make;
    p->make_ctx = ctx;
}

int http_peer_new(struct http_peers *p, struct str address, uint16_t port, size_t idle_max,
                  struct http_peer **ret, struct err *err) {
    char text[64];
    struct http_peer *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    x->peers = p;
    x->idle_max = idle_max;
    if (!str_copy(address, text, sizeof(text)) ||
        (uv_ip4_addr(text, port, (struct sockaddr_in *)&x->at) != 0 &&
         uv_ip6_addr(text, port, (struct sockaddr_in6 *)&x->at) != 0)) {
        mem_free(x);
        return err_set(err, ERR_INVALID, "%.*s is not an IP address", STR_ARG(address));
    }
    *ret = x;
    return 0;
}

void http_peer_free(struct http_peer *p) {
    if (p == NULL) {
        return;
    }
    while (p->idle) {
        conn_close(p->idle);
    }
    for (struct http_ask *c = p->n ? p->peers->conns : NULL; c; c = c->next) {
        c->peer = c->peer == p ? NULL : c->peer;
    }
    mem_free(p);
}

size_t http_peer_connections(const struct http_peer *p) {
    return p->n;
}

static void begin(struct http_ask *c, const struct http_ask_options *o) {
    c->o = *o;
    c->o.parts = NULL;
    c->paused = false;
    for (size_t i = 0; i < o->n_parts; i++) {
        c->parts[i] = o->parts[i];
    }
}

static bool take_socket(struct http_ask *c, const struct http_peer *p) {
    struct http_peers *ps = p->peers;
    if (ps->make == NULL) {
        return true;
    }
    int fd = ps->make(ps->make_ctx, p->at.ss_family == AF_INET6);
    if (fd != -1 && uv_tcp_open(&c->tcp, fd) != 0) {
        close(fd);
        fd = -1;
    }
    return fd != -1;
}

static struct http_ask *connect_new(struct http_peer *p, const struct http_ask_options *o) {
    struct http_peers *ps = p->peers;
    struct http_ask *c = mem_zalloc(sizeof(*c));
    if (c == NULL || uv_tcp_init(loop_uv(ps->loop), &c->tcp) != 0) {
        mem_free(c);
        return NULL;
    }
    ps->handles++;
    http_answer_init(&c->answer);
    c->answer.on_head = on_head;
    c->answer.on_body = on_body;
    c->answer.ctx = c->tcp.data = c->connect.data = c->write.data = c;
    c->peers = ps;
    c->peer = p;
    p->n++;
    c->next = ps->conns;
    c->prev = &ps->conns;
    if (c->next) {
        c->next->prev = &c->next;
    }
    ps->conns = c;
    begin(c, o);
    c->until = clock_mono(ps->clock) + o->connect_ms * NS_PER_MS;
    if (!take_socket(c, p) ||
        uv_tcp_connect(&c->connect, &c->tcp, (const struct sockaddr *)&p->at, on_connect) != 0) {
        conn_close(c);
        return NULL;
    }
    return c;
}

struct http_ask *http_ask(struct http_peer *p, const struct http_ask_options *o) {
    struct http_ask *c;
    while (!o->fresh && (c = p->idle)) {
        idle_remove(c);
        begin(c, o);
        if (put_question(c) == 0) {
            return c;
        }
        conn_close(c); /* it was closed meanwhile: the next one */
    }
    c = connect_new(p, o);
    if (c && !p->peers->sweeping) {
        p->peers->sweeping = true;
        p->peers->clock->timer_start(p->peers->sweep, SWEEP_MS * NS_PER_MS);
    }
    return c;
}

void http_ask_pause(struct http_ask *a) {
    if (!a->paused) {
        a->paused = true;
        if (a->reading) {
            uv_read_stop((uv_stream_t *)&a->tcp);
            a->reading = false;
        }
    }
}

void http_ask_resume(struct http_ask *a) {
    if (a->paused) {
        a->paused = false;
        a->until = clock_mono(a->peers->clock) + a->o.idle_ms * NS_PER_MS;
        if (a->state == CONN_ASKED) {
            (void)start_reading(a); /* a failure shows as silence */
        }
    }
}

void http_ask_cancel(struct http_ask *a) {
    conn_close(a);
}
