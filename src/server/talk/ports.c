/*
 * ports: port-forward over SPDY, as kubectl speaks it. For each connection that
 * a client has taken it opens two streams, "error" and "data", which the header
 * requestID joins; the pair becomes a connection to the port inside the pod.
 * What goes wrong is a text on the error stream; kubectl shows it, and both
 * streams end.
 */
#include "base/limits.h"
#include "server/talk/talk.h"
#include "server/talk/tunnel.h"

enum { ID_MAX = 32 };

struct ports;

struct port_pair {
    struct ports *ports;
    bool used;
    char id[ID_MAX];
    size_t id_n;
    uint16_t port;
    uint32_t error, data; /* streams; 0: not yet */
    struct pod_session *session;
    bool in_ended, out_ended; /* the client's data, the pod's */
    bool paused;
    bool waits; /* more than LINE_HIGH for the pod */
};

struct ports {
    struct tunnel tunnel;
    struct pod_sessions *pods;
    struct str uid;
    struct port_pair pairs[LIMIT_FORWARD_CONNECTIONS];
    size_t n_waits;
    bool over;
};

static struct ports *of(struct tunnel *t) {
    return (struct ports *)t;
}

/* ---- one connection ---- */

static void waits(struct port_pair *p, bool yes) {
    struct ports *x = p->ports;
    bool was = x->n_waits > 0;
    x->n_waits += (size_t)(yes && !p->waits);
    x->n_waits -= (size_t)(!yes && p->waits);
    p->waits = yes;
    if (was && x->n_waits == 0 && !x->over) {
        line_resume(&x->tunnel.line);
    }
}

/* Ends both streams, with a text when something went wrong. */
static void finish(struct port_pair *p, struct str text) {
    struct ports *x = p->ports;
    if (p->data != 0 && !p->out_ended) {
        tunnel_send(&x->tunnel, p->data, true, (struct str){0});
    }
    if (p->error != 0) {
        tunnel_send(&x->tunnel, p->error, true, text);
    }
    if (p->session != NULL) {
        x->pods->close(p->session);
        line_release_session(&x->tunnel.line);
    }
    waits(p, false);
    *p = (struct port_pair){.ports = x};
}

static void fail(struct port_pair *p, struct str why) {
    const struct call *c = p->ports->tunnel.line.call;
    struct buf b;
    buf_init(&b, 4096);
    buf_f(&b, "error forwarding port %u to pod %.*s, uid %.*s: %.*s", p->port, STR_ARG(c->req.name),
          STR_ARG(p->ports->uid), STR_ARG(why));
    finish(p, buf_view(&b));
    buf_release(&b);
}

static void on_opened(void *ctx) {
}

static bool on_data(void *ctx, enum podtalk_stream s, struct str bytes) {
    struct port_pair *p = ctx;
    tunnel_send(&p->ports->tunnel, p->data, false, bytes);
    p->paused = line_waiting(&p->ports->tunnel.line) > LINE_HIGH;
    return !p->paused;
}

static void on_end(void *ctx, enum podtalk_stream s) {
    struct port_pair *p = ctx;
    if (s == PODTALK_STDOUT && !p->out_ended) {
        p->out_ended = true;
        tunnel_send(&p->ports->tunnel, p->data, true, (struct str){0});
    }
}

static void on_drained(void *ctx) {
    waits(ctx, false);
}

static void on_over(void *ctx, const struct podtalk_exit *e) {
    if (e->end == PODTALK_FAILED) {
        fail(ctx, e->text);
    } else {
        finish(ctx, (struct str){0});
    }
}

static const struct pod_session_events events = {on_opened, on_data, on_end, on_drained, on_over};

/* Both streams are there: connects. */
static void connect_pair(struct port_pair *p) {
    struct ports *x = p->ports;
    struct call *c = x->tunnel.line.call;
    const struct object *pod = mirror_get(c->s->o.mirror, c->req.kind, c->req.ns, c->req.name);
    struct podtalk_open o = {.what = PODTALK_CONNECT, .port = p->port};
    struct err err = {0};
    if (pod == NULL || !str_eq(pod->uid, x->uid)) {
        fail(p, STR("the pod is gone"));
        return;
    }
    if (!line_take_session(&x->tunnel.line)) {
        fail(p, STR("too many sessions with pods are open"));
        return;
    }
    if (x->pods->open(x->pods, pod, &o, NULL, 0, &events, p, &p->session, &err) != 0) {
        line_release_session(&x->tunnel.line);
        fail(p, str_of(err.text));
    }
}

/* ---- the client's streams ---- */

static struct port_pair *find(struct ports *x, uint32_t stream) {
    for (size_t i = 0; i < LIMIT_FORWARD_CONNECTIONS; i++) {
        struct port_pair *p = &x->pairs[i];
        if (p->used && (p->data == stream || p->error == stream)) {
            return p;
        }
    }
    return NULL;
}

/* The pair of that id; or a free one, which becomes it; or NULL. */
static struct port_pair *pair_of(struct ports *x, struct str id, uint16_t port) {
    struct port_pair *spare = NULL;
    for (size_t i = 0; i < LIMIT_FORWARD_CONNECTIONS; i++) {
        struct port_pair *p = &x->pairs[i];
        if (p->used && str_eq(str_from(p->id, p->id_n), id)) {
            return p->port == port ? p : NULL;
        }
        spare = spare == NULL && !p->used ? p : spare;
    }
    if (spare != NULL) {
        *spare = (struct port_pair){.ports = x, .used = true, .id_n = id.n, .port = port};
        memcpy(spare->id, id.p, id.n);
    }
    return spare;
}

static void opened(struct ports *x, const struct spdy_frame *f) {
    struct str type = spdy_header(f, "streamType"), id = spdy_header(f, "requestID");
    bool data = str_is(type, "data"), error = str_is(type, "error");
    int64_t port;
    if (!str_to_i64(spdy_header(f, "port"), &port) || port < 1 || port > UINT16_MAX || id.n == 0 ||
        id.n > ID_MAX || (!data && !error)) {
        tunnel_reset(&x->tunnel, f->stream, SPDY_PROTOCOL_ERROR);
        return;
    }
    struct port_pair *p = pair_of(x, id, (uint16_t)port);
    uint32_t *slot = p == NULL ? NULL : data ? &p->data : &p->error;
    if (slot == NULL || *slot != 0) {
        tunnel_reset(&x->tunnel, f->stream, SPDY_REFUSED_STREAM);
        return;
    }
    *slot = f->stream;
    tunnel_reply(&x->tunnel, f->stream);
    p->in_ended |= data && f->fin;
    if (p->data != 0 && p->error != 0) {
        connect_pair(p);
        if (p->session != NULL && p->in_ended) {
            x->pods->end(p->session);
        }
    }
}

static void data(struct ports *x, const struct spdy_frame *f) {
    struct port_pair *p = find(x, f->stream);
    if (p == NULL || p->data != f->stream || p->in_ended) {
        return; /* of a connection that is over, or the end of an error stream */
    }
    p->in_ended = f->fin;
    if (p->session == NULL) { /* before its pair: no client does that */
        tunnel_reset(&x->tunnel, f->stream, SPDY_PROTOCOL_ERROR);
        p->data = 0;
        finish(p, (struct str){0});
        return;
    }
    if (f->data.n > 0 && x->pods->write(p->session, f->data) > LINE_HIGH) {
        waits(p, true);
    }
    if (f->fin) {
        x->pods->end(p->session);
    }
}

static void frame(struct tunnel *t, const struct spdy_frame *f) {
    struct ports *x = of(t);
    if (f->type == SPDY_SYN_STREAM) {
        opened(x, f);
    } else if (f->type == SPDY_DATA) {
        data(x, f);
    } else {
        struct port_pair *p = find(x, f->stream);
        if (p != NULL) {
            p->out_ended |= p->data == f->stream;
            p->error = p->error == f->stream ? 0 : p->error;
            finish(p, (struct str){0});
        }
    }
}

static bool full(struct tunnel *t) {
    return of(t)->n_waits > 0;
}

static void room(struct tunnel *t) {
    struct ports *x = of(t);
    for (size_t i = 0; i < LIMIT_FORWARD_CONNECTIONS; i++) {
        struct port_pair *p = &x->pairs[i];
        if (p->used && p->paused) {
            p->paused = false;
            x->pods->resume(p->session);
        }
    }
}

static void gone(struct tunnel *t) {
    struct ports *x = of(t);
    x->over = true;
    for (size_t i = 0; i < LIMIT_FORWARD_CONNECTIONS; i++) {
        if (x->pairs[i].session != NULL) {
            x->pods->close(x->pairs[i].session);
            x->pairs[i].session = NULL;
        }
    }
}

static const struct tunnel_user user = {frame, full, room, gone};

int ports_start(struct call *c, const struct talk_target *t, bool raw) {
    struct ports *x = ARENA_NEW(c->arena, struct ports);
    if (x == NULL) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    x->pods = c->s->o.sessions;
    x->uid = arena_str(c->arena, t->pod->uid);
    if (x->uid.p == NULL) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < LIMIT_FORWARD_CONNECTIONS; i++) {
        x->pairs[i].ports = x;
    }
    int r = tunnel_open(&x->tunnel, c, &user, raw);
    if (r == 0) {
        line_start(&x->tunnel.line, raw ? "SPDY/3.1" : "websocket");
    }
    return r;
}
