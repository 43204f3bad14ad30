/* http_server: listening, limits in time, stopping. See http_server.h and http_int.h. */
#include "net/http_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "base/mem.h"
#include "net/http_private.h"

enum { BACKLOG = 1024, LINGER_MS = 1000, SWEEP_MAX_MS = 1000, SWEEP_MIN_MS = 5, SHRINK_MS = 1000 };

/* How long a phase may last, and what then: an answer with this status, or the end without a word (0). */
struct phase_rule {
    size_t limit; /* offset of the limit in struct http_server_options; 0: for ever */
    int64_t ms;   /* used when limit is 0 and this is not */
    int status;
    bool slow; /* counts as cut */
};
static const struct phase_rule phase_rules[] = {
    [PHASE_HANDSHAKE] = {offsetof(struct http_server_options, header_ms), 0, 0, true},
    [PHASE_IDLE] = {offsetof(struct http_server_options, idle_ms), 0, 0, false},
    [PHASE_HEAD] = {offsetof(struct http_server_options, header_ms), 0, 408, true},
    [PHASE_BODY] = {offsetof(struct http_server_options, body_ms), 0, 408, true},
    [PHASE_BUSY] = {0, 0, 0, false},
    [PHASE_LINGER] = {0, LINGER_MS, 0, false},
    [PHASE_CLOSED] = {0, 0, 0, false},
};

static int64_t limit_ms(const struct http_server *s, enum http_phase phase) {
    const struct phase_rule *r = &phase_rules[phase];
    return r->limit ? *(const int64_t *)((const char *)&s->o + r->limit) : r->ms;
}

/* ---- the end ---- */

static void call_stopped(void *ctx) {
    struct http_server *s = ctx;
    void (*stopped)(void *) = s->stopped;
    s->stopped = NULL;
    s->handles--;
    if (stopped && !s->freed) {
        stopped(s->stopped_ctx);
    }
    http_server_maybe_free(s);
}

/* Once no socket is left; requests whose peer is gone may still be in the user's hands. */
static void stopped_soon(struct http_server *s) {
    for (const struct http_conn *c = s->conns; c; c = c->next) {
        if (c->tcp.data) {
            return;
        }
    }
    if (s->stopped && !s->stop_planned && loop_defer(s->loop, call_stopped, s) == 0) {
        s->stop_planned = true;
        s->handles++;
    }
}

void http_server_conn_gone(struct http_server *s) {
    if (s->conns == NULL) {
        stopped_soon(s);
    }
}

/* ---- once a turn: flush; now and then: look for what takes too long ---- */

static void flush_dirty(void *ctx) {
    struct http_server *s = ctx;
    s->flush_planned = false;
    s->flushing = s->dirty;
    s->dirty = NULL;
    for (struct http_conn *c; (c = s->flushing);) {
        s->flushing = c->next_dirty;
        c->dirty = false;
        http_conn_flush(c);
    }
    s->handles--;
    http_server_maybe_free(s);
}

void http_server_flush_soon(struct http_server *s) {
    if (!s->flush_planned && loop_defer(s->loop, flush_dirty, s) == 0) {
        s->flush_planned = true;
        s->handles++; /* the planned call holds the server */
    }
}

/* A connection that its user holds is not read, so its peer's end comes in no other way. */
static bool left_while_held(const struct http_conn *c) {
    uv_os_fd_t fd;
    if (!http_conn_upgraded(c) || !c->request.held ||
        uv_fileno((const uv_handle_t *)&c->tcp, &fd) != 0) {
        return false;
    }
    struct pollfd p = {.fd = fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static void sweep_conn(struct http_server *s, struct http_conn *c, int64_t now) {
    const struct phase_rule *rule = &phase_rules[c->phase];
    int64_t age_ms = (now - c->since) / NS_PER_MS, limit = limit_ms(s, c->phase);
    int64_t write_ms = http_conn_upgraded(c) ? LIMIT_HTTP_UPGRADED_MS : s->o.write_ms;
    if (c->writing) {
        size_t queued = http_conn_queued(c);
        if (queued != c->queued) {
            c->queued = queued;
            c->progress = now;
        } else if ((now - c->progress) / NS_PER_MS >= write_ms || http_conn_greedy(c)) {
            s->stats.cut_slow++;
            http_conn_abort(c);
            return;
        }
    }
    if (c->session) {
        http2_conn_sweep(c, now);
    }
    if (c->phase == PHASE_CLOSED) {
        return;
    }
    if (left_while_held(c)) {
        http_conn_abort(c);
    } else if (limit > 0 && age_ms >= limit) {
        s->stats.cut_slow += rule->slow;
        if (rule->status) {
            http_conn_refuse(c, rule->status, "the request took too long to arrive");
        } else if (c->phase == PHASE_IDLE) {
            http_conn_finish(c);
        } else {
            http_conn_abort(c);
        }
    } else if (c->phase == PHASE_IDLE && age_ms >= SHRINK_MS) {
        arena_release(&c->request.arena);
        http_parse_shrink(&c->request.parse);
        buf_release(&c->plain);
    }
}

static void sweep(void *ctx) {
    struct http_server *s = ctx;
    int64_t now = clock_mono(s->clock);
    for (struct http_conn *c = s->conns, *next; c; c = next) {
        next = c->next;
        if (c->phase == PHASE_CLOSED) {
            continue;
        }
        if (s->stop_at && now >= s->stop_at) {
            http_conn_abort(c);
        } else {
            sweep_conn(s, c, now);
        }
    }
    if (s->dirty) {
        http_server_flush_soon(s);
    }
    if (s->starved && s->listening) {
        s->starved = false;
        http_conn_accept(s);
    }
    if (s->stop_at && now >= s->stop_at) {
        stopped_soon(s);
    }
    if ((s->conns || s->starved) && !s->freed) {
        s->clock->timer_start(s->sweep, s->sweep_ns);
    }
}

void http_server_sweep_start(struct http_server *s) {
    if (s->starved || s->conns->next == NULL) { /* with more it runs already */
        s->clock->timer_start(s->sweep, s->sweep_ns);
    }
}

const char *http_server_date(struct http_server *s) {
    int64_t second = clock_wall(s->clock) / NS_PER_SEC;
    if (second != s->date_at) {
        time_t t = (time_t)second;
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(s->date, sizeof(s->date), "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &tm);
        s->date_at = second;
    }
    return s->date;
}

/* ---- listening ---- */

static void on_connection(uv_stream_t *listener, int status) {
    if (status == 0) {
        http_conn_accept(listener->data);
    }
}

static bool is_loopback(const struct sockaddr_storage *ss) {
    if (ss->ss_family == AF_INET) {
        return ntohl(((const struct sockaddr_in *)ss)->sin_addr.s_addr) >> 24 == 127;
    }
    return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)ss)->sin6_addr);
}

static int parse_address(const struct http_server_options *o, const char *host,
                         struct sockaddr_storage *ret, struct err *err) {
    if (uv_ip4_addr(host, o->port, (struct sockaddr_in *)ret) != 0 &&
        uv_ip6_addr(host, o->port, (struct sockaddr_in6 *)ret) != 0) {
        return err_set(err, ERR_INVALID, "%s is not an IP address", host);
    }
    if (!o->allow_any && !is_loopback(ret)) {
        return err_set(err, ERR_FORBIDDEN, "%s is not a loopback address", host);
    }
    return 0;
}

static void on_listener_closed(uv_handle_t *h) {
    struct http_server *s = h->data;
    s->handles--;
    http_server_maybe_free(s);
}

/* The socket is made now, and not by libuv when it is bound, so that the option is set before that. */
static int share_port(struct http_server *s) {
    uv_os_fd_t fd;
    int on = 1, r = uv_fileno((const uv_handle_t *)&s->listener, &fd);
    if (r == 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0) {
        r = uv_translate_sys_error(errno);
    }
    return r;
}

static int listen_on(struct http_server *s, const struct sockaddr_storage *at, struct err *err) {
    int r = uv_tcp_init_ex(loop_uv(s->loop), &s->listener, at->ss_family);
    if (r != 0) {
        return loop_uv_err(err, r, "making a socket");
    }
    s->handles++;
    s->listening = true;
    s->listener.data = s;
    r = s->o.share_port ? share_port(s) : 0;
    r = r ? r : uv_tcp_bind(&s->listener, (const struct sockaddr *)at, 0);
    r = r ? r : uv_listen((uv_stream_t *)&s->listener, BACKLOG, on_connection);
    if (r != 0) {
        err_set(err, ERR_IO, "listening on %s port %u: %s", s->host, s->o.port, uv_strerror(r));
        return ERR_IO;
    }
    return 0;
}

static void set_limits(struct http_server_options *o) {
    o->body_max = o->body_max ? o->body_max : LIMIT_BODY_BYTES;
    o->header_ms = o->header_ms ? o->header_ms : LIMIT_HTTP_HEADER_MS;
    o->body_ms = o->body_ms ? o->body_ms : LIMIT_HTTP_BODY_MS;
    o->idle_ms = o->idle_ms ? o->idle_ms : LIMIT_HTTP_IDLE_MS;
    o->write_ms = o->write_ms ? o->write_ms : LIMIT_HTTP_WRITE_MS;
    o->out_max = o->out_max ? o->out_max : LIMIT_HTTP_OUT_BYTES;
    o->out_total = o->out_total ? o->out_total : LIMIT_HTTP_OUT_TOTAL;
    o->connections_max = o->connections_max ? o->connections_max : LIMIT_HTTP_CONNECTIONS;
    o->bodies_max = o->bodies_max ? o->bodies_max : LIMIT_HTTP_BODY_TOTAL;
    o->bodies_account_max = o->bodies_account_max ? o->bodies_account_max : LIMIT_HTTP_BODY_ACCOUNT;
    o->connections_account_max =
        o->connections_account_max ? o->connections_account_max : LIMIT_HTTP_CONNECTIONS_ACCOUNT;
    o->refusal = o->refusal ? o->refusal : http_status_body;
}

/* A quarter of the shortest limit, so that none is overrun by more than that. */
static int64_t sweep_period(const struct http_server_options *o) {
    const int64_t limits[] = {o->header_ms, o->body_ms, o->idle_ms, o->write_ms};
    int64_t ms = SWEEP_MAX_MS;
    for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
        ms = limits[i] / 4 < ms ? limits[i] / 4 : ms;
    }
    return (ms < SWEEP_MIN_MS ? SWEEP_MIN_MS : ms) * NS_PER_MS;
}

int http_server_start(struct loop *l, const struct http_server_options *o, struct http_server **ret,
                      struct err *err) {
    struct sockaddr_storage at = {0};
    struct http_server *s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    s->o = *o;
    s->loop = l;
    s->clock = loop_clock(l);
    s->host = mem_cstr(o->host);
    s->sweep = s->clock->timer_new(s->clock, sweep, s);
    s->date_at = -1;
    set_limits(&s->o);
    s->sweep_ns = sweep_period(&s->o);
    int r = s->host && s->sweep ? 0 : err_set(err, ERR_NOMEM, "no memory");
    r = r ? r : parse_address(o, s->host, &at, err);
    s->plain_http2 = r == 0 && o->tls == NULL && is_loopback(&at);
    r = r ? r : listen_on(s, &at, err);
    if (r != 0) {
        http_server_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

uint16_t http_server_port(const struct http_server *s) {
    struct sockaddr_storage ss = {0};
    int n = sizeof(ss);
    if (uv_tcp_getsockname(&s->listener, (struct sockaddr *)&ss, &n) != 0) {
        return 0;
    }
    return ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                          : ((struct sockaddr_in *)&ss)->sin_port);
}

struct http_server_stats http_server_stats(const struct http_server *s) {
    return s->stats;
}

/* ---- stopping ---- */

static void close_listener(struct http_server *s) {
    if (s->listening) {
        s->listening = false;
        uv_close((uv_handle_t *)&s->listener, on_listener_closed);
    }
}

void http_server_stop(struct http_server *s, int64_t grace_ms, void (*stopped)(void *ctx),
                      void *ctx) {
    close_listener(s);
    s->stopped = stopped;
    s->stopped_ctx = ctx;
    s->stop_at = clock_mono(s->clock) + grace_ms * NS_PER_MS;
    for (struct http_conn *c = s->conns; c; c = c->next) {
        if (c->phase == PHASE_IDLE || c->phase == PHASE_HANDSHAKE ||
            (c->session && c->phase == PHASE_BUSY)) {
            http_conn_finish(c);
        }
    }
    s->sweep_ns = s->sweep_ns < 50 * NS_PER_MS ? s->sweep_ns : 50 * NS_PER_MS;
    s->clock->timer_start(s->sweep, 0);
    http_server_conn_gone(s);
}

void http_server_maybe_free(struct http_server *s) {
    if (s->freed && s->handles == 0 && s->conns == NULL) {
        buf_release(&s->scratch);
        map_release(&s->accounts);
        mem_free(s->host);
        mem_free(s);
    }
}

void http_server_free(struct http_server *s) {
    if (s == NULL) {
        return;
    }
    close_listener(s);
    for (struct http_conn *c = s->conns, *next; c; c = next) {
        next = c->next;
        if (c->phase != PHASE_CLOSED) {
            http_conn_abort(c);
        } else if (c->tcp.data == NULL) {
            http_conn_free_now(c);
        }
    }
    s->clock->timer_free(s->sweep);
    s->sweep = NULL;
    s->freed = true;
    http_server_maybe_free(s);
}
