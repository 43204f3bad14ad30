/*
 * forward: port-forward over WebSocket channels, as clients other than kubectl
 * speak it: the query names ports, of which the i-th has channel 2i for its
 * bytes and 2i+1 for its errors. Both begin with the port's number in two
 * bytes, little-endian. Each port is one connection, made at once; there is no
 * half-close.
 */
#include "base/limits.h"
#include "server/talk/line.h"
#include "server/talk/talk.h"
#include "wire/text/base64.h"

enum { GATHER_MAX = 64 << 10 };

struct forward;

struct forward_port {
    struct forward *forward;
    uint16_t port;
    struct pod_session *session; /* NULL: over */
    bool paused, waits;
};

struct forward {
    struct talk_line line;
    struct pod_sessions *pods;
    bool base64;
    struct forward_port *ports;
    size_t n, n_open, n_waits;
    int channel;         /* of the message under way; -1: its first byte has not come */
    struct buf gathered; /* of base64 */
};

static struct forward *of(struct talk_line *l) {
    return (struct forward *)l;
}

static void send_on(struct forward *x, size_t channel, struct str bytes) {
    char first = (char)(x->base64 ? '0' + channel : channel);
    struct buf text;
    buf_init(&text, 0);
    if (x->base64) {
        base64_encode(&text, bytes);
        bytes = buf_view(&text);
    }
    line_write(&x->line, x->base64 ? WEBSOCKET_TEXT : WEBSOCKET_BINARY, str_from(&first, 1), bytes);
    buf_release(&text);
}

static size_t channel_of(const struct forward_port *p) {
    return 2 * (size_t)(p - p->forward->ports);
}

static void waits(struct forward_port *p, bool yes) {
    struct forward *x = p->forward;
    bool was = x->n_waits > 0;
    x->n_waits += (size_t)(yes && !p->waits);
    x->n_waits -= (size_t)(!yes && p->waits);
    p->waits = yes;
    if (was && x->n_waits == 0) {
        line_resume(&x->line);
    }
}

static void on_opened(void *ctx) {
}

static bool on_data(void *ctx, enum podtalk_stream s, struct str bytes) {
    struct forward_port *p = ctx;
    send_on(p->forward, channel_of(p), bytes);
    p->paused = line_waiting(&p->forward->line) > LINE_HIGH;
    return !p->paused;
}

/* The protocol has no half-close: what the pod ends is over. */
static void on_end(void *ctx, enum podtalk_stream s) {
    struct forward_port *p = ctx;
    if (s == PODTALK_STDOUT) {
        p->forward->pods->end(p->session);
    }
}

static void on_drained(void *ctx) {
    waits(ctx, false);
}

static void close_port(struct forward_port *p) {
    struct forward *x = p->forward;
    x->pods->close(p->session);
    p->session = NULL;
    x->n_open--;
    line_release_session(&x->line);
}

static void fail(struct forward_port *p, struct str why) {
    const struct call *c = p->forward->line.call;
    struct buf b;
    buf_init(&b, 4096);
    buf_f(&b, "error forwarding port %u to pod %.*s: %.*s", p->port, STR_ARG(c->req.name),
          STR_ARG(why));
    send_on(p->forward, channel_of(p) + 1, buf_view(&b));
    buf_release(&b);
}

static void on_over(void *ctx, const struct podtalk_exit *e) {
    struct forward_port *p = ctx;
    struct forward *x = p->forward;
    if (e->end == PODTALK_FAILED) {
        fail(p, e->text);
    }
    close_port(p);
    waits(p, false);
    if (x->n_open == 0) {
        buf_release(&x->gathered);
        line_end(&x->line, WEBSOCKET_NORMAL, (struct str){0});
    }
}

static const struct pod_session_events events = {on_opened, on_data, on_end, on_drained, on_over};

static void take(struct forward *x, struct str bytes) {
    size_t at = (size_t)x->channel / 2;
    struct forward_port *p = x->channel % 2 == 0 && at < x->n ? &x->ports[at] : NULL;
    if (p != NULL && p->session != NULL && bytes.n > 0 &&
        x->pods->write(p->session, bytes) > LINE_HIGH) {
        waits(p, true);
    }
}

static void gather(struct forward *x, const struct websocket_piece *m, struct str bytes) {
    struct arena a;
    buf_str(&x->gathered, bytes);
    if (!m->last) {
        return;
    }
    arena_init(&a, GATHER_MAX * 2);
    if (buf_ok(&x->gathered) == 0) {
        take(x, base64_decode(&a, buf_view(&x->gathered)));
    }
    arena_release(&a);
    buf_release(&x->gathered);
    buf_init(&x->gathered, GATHER_MAX);
}

static void piece(struct talk_line *l, const struct websocket_piece *m) {
    struct forward *x = of(l);
    struct str bytes = m->bytes;
    x->channel = m->first ? -1 : x->channel;
    if (x->channel < 0 && bytes.n > 0) {
        x->channel = (uint8_t)bytes.p[0] - (x->base64 ? '0' : 0);
        bytes = str_skip(bytes, 1);
    }
    if (x->channel >= 0 && x->base64) {
        gather(x, m, bytes);
    } else if (x->channel >= 0) {
        take(x, bytes);
    }
}

static bool full(struct talk_line *l) {
    return of(l)->n_waits > 0;
}

static void room(struct talk_line *l) {
    struct forward *x = of(l);
    for (size_t i = 0; i < x->n; i++) {
        if (x->ports[i].paused && x->ports[i].session != NULL) {
            x->ports[i].paused = false;
            x->pods->resume(x->ports[i].session);
        }
    }
}

static void gone(struct talk_line *l) {
    struct forward *x = of(l);
    for (size_t i = 0; i < x->n; i++) {
        if (x->ports[i].session != NULL) {
            close_port(&x->ports[i]);
        }
    }
    buf_release(&x->gathered);
}

static const struct line_user user = {piece, full, room, gone};

/* All connections at once; when one cannot be made none is. */
static int open_all(struct forward *x, struct call *c, const struct talk_target *t) {
    for (size_t i = 0; i < x->n; i++) {
        struct forward_port *p = &x->ports[i];
        struct podtalk_open o = {.what = PODTALK_CONNECT, .port = t->ports[i]};
        struct err err = {0};
        *p = (struct forward_port){.forward = x, .port = t->ports[i]};
        if (!line_take_session(&x->line)) {
            return failure_set(&c->failure, c->arena, ERR_TOO_MANY,
                               "too many sessions with pods are open");
        }
        if (x->pods->open(x->pods, t->pod, &o, NULL, 0, &events, p, &p->session, &err) != 0) {
            return target_silent(c, t, &err);
        }
        x->n_open++;
    }
    return 0;
}

int forward_start(struct call *c, const struct talk_target *t, const struct talk_protocol *p) {
    struct forward *x = ARENA_NEW(c->arena, struct forward);
    if (t->n_ports == 0) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "query parameter \"ports\" is required");
    }
    if (x == NULL || (x->ports = ARENA_ARRAY(c->arena, struct forward_port, t->n_ports)) == NULL) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    x->pods = c->s->o.sessions;
    x->base64 = p->base64;
    x->n = t->n_ports;
    int r = line_open(&x->line, c, &user, false);
    if (r != 0) {
        return r;
    }
    buf_init(&x->gathered, GATHER_MAX);
    r = open_all(x, c, t);
    if (r != 0) {
        gone(&x->line);
        line_drop(&x->line);
        return r;
    }
    line_start(&x->line, "websocket");
    for (size_t i = 0; i < 2 * x->n; i++) {
        uint16_t port = t->ports[i / 2];
        char number[2] = {(char)(port & 0xff), (char)(port >> 8)};
        send_on(x, i, str_from(number, 2));
    }
    return 0;
}
