/*
 * remote: exec and attach over SPDY, for clients that do not speak WebSocket.
 * The client opens a stream each for error, stdin, stdout, stderr and (with a
 * terminal) resize, as the query says; the session begins when all are there.
 */
#include "base/limits.h"
#include "server/talk/talk.h"
#include "server/talk/tunnel.h"

enum remote_stream { ON_ERROR, ON_STDIN, ON_STDOUT, ON_STDERR, ON_RESIZE, STREAMS };

static const char *const types[STREAMS] = {"error", "stdin", "stdout", "stderr", "resize"};

struct remote {
    struct tunnel tunnel;
    const struct talk_protocol *protocol;
    struct pod_sessions *pods;
    struct pod_session *session;
    struct podtalk_open open;
    struct str *args;
    size_t n_args;
    struct str uid;
    uint32_t stream[STREAMS]; /* 0: not there yet */
    bool wanted[STREAMS];
    bool over, paused, stdin_ended;
    size_t stdin_waits;
    struct buf size; /* a terminal's, up to the end of the line */
};

static struct remote *of(struct tunnel *t) {
    return (struct remote *)t;
}

static void release(struct remote *x) {
    x->over = true;
    if (x->session != NULL) {
        x->pods->close(x->session);
        x->session = NULL;
    }
    buf_release(&x->size);
}

/* Says how it ended, ends every stream, and the connection. */
static void finish(struct remote *x, const struct podtalk_exit *e) {
    struct buf b;
    buf_init(&b, 0);
    talk_verdict(&b, x->protocol, x->open.what, e);
    for (int i = ON_STDOUT; i <= ON_STDERR; i++) {
        if (x->stream[i] != 0) {
            tunnel_send(&x->tunnel, x->stream[i], true, (struct str){0});
        }
    }
    if (x->stream[ON_ERROR] != 0) {
        tunnel_send(&x->tunnel, x->stream[ON_ERROR], true, buf_view(&b));
    }
    buf_release(&b);
    release(x);
}

/* ---- from the pod ---- */

static void on_opened(void *ctx) {
}

static bool on_data(void *ctx, enum podtalk_stream s, struct str bytes) {
    struct remote *x = ctx;
    uint32_t stream = x->stream[s == PODTALK_STDERR ? ON_STDERR : ON_STDOUT];
    if (stream != 0) {
        tunnel_send(&x->tunnel, stream, false, bytes);
    }
    x->paused = line_waiting(&x->tunnel.line) > LINE_HIGH;
    return !x->paused;
}

static void on_end(void *ctx, enum podtalk_stream s) {
}

static void on_drained(void *ctx) {
    struct remote *x = ctx;
    x->stdin_waits = 0;
    line_resume(&x->tunnel.line);
}

static void on_over(void *ctx, const struct podtalk_exit *e) {
    struct remote *x = ctx;
    finish(x, e);
    tunnel_end(&x->tunnel);
}

static const struct pod_session_events events = {on_opened, on_data, on_end, on_drained, on_over};

static void begin(struct remote *x) {
    struct call *c = x->tunnel.line.call;
    const struct object *pod = mirror_get(c->s->o.mirror, c->req.kind, c->req.ns, c->req.name);
    struct err err = {0};
    int r = pod != NULL && str_eq(pod->uid, x->uid)
                ? x->pods->open(x->pods, pod, &x->open, x->args, x->n_args, &events, x, &x->session,
                                &err)
                : err_set(&err, ERR_NOT_FOUND, "the pod is gone");
    if (r != 0) {
        struct podtalk_exit e = {PODTALK_FAILED, PODTALK_INTERNAL, str_of(err.text)};
        on_over(x, &e);
    }
}

/* ---- from the client ---- */

static void opened(struct remote *x, const struct spdy_frame *f) {
    struct str type = spdy_header(f, "streamType");
    bool all = true;
    int at = STREAMS;
    for (int i = 0; i < STREAMS; i++) {
        at = str_is(type, types[i]) ? i : at;
    }
    if (at == STREAMS || !x->wanted[at] || x->stream[at] != 0 || x->session != NULL) {
        tunnel_reset(&x->tunnel, f->stream, SPDY_REFUSED_STREAM);
        return;
    }
    x->stream[at] = f->stream;
    tunnel_reply(&x->tunnel, f->stream);
    for (int i = 0; i < STREAMS; i++) {
        all &= x->stream[i] != 0 || !x->wanted[i];
    }
    if (all) {
        begin(x);
    }
}

static void resize(struct remote *x, struct str bytes) {
    struct str line, tail;
    buf_str(&x->size, bytes);
    if (buf_ok(&x->size) != 0) {
        buf_reset(&x->size); /* too long to be one */
    }
    while (str_cut(buf_view(&x->size), '\n', &line, &tail)) {
        uint16_t rows, cols;
        if (talk_size(line, &rows, &cols)) {
            x->pods->resize(x->session, rows, cols);
        }
        buf_consume(&x->size, line.n + 1);
    }
}

static void to_stdin(struct remote *x, const struct spdy_frame *f) {
    if (!(x->open.with & PODTALK_WITH_STDIN) || x->stdin_ended) {
        return;
    }
    if (f->data.n > 0) {
        x->stdin_waits = x->pods->write(x->session, f->data);
    }
    if (f->fin) {
        x->stdin_ended = true;
        x->pods->end(x->session);
    }
}

static void frame(struct tunnel *t, const struct spdy_frame *f) {
    struct remote *x = of(t);
    if (f->type == SPDY_SYN_STREAM) {
        opened(x, f);
    } else if (f->type == SPDY_DATA && x->session != NULL) {
        if (f->stream == x->stream[ON_STDIN]) {
            to_stdin(x, f);
        } else if (f->stream == x->stream[ON_RESIZE] && f->data.n > 0) {
            resize(x, f->data);
        }
    }
}

static bool full(struct tunnel *t) {
    return of(t)->stdin_waits > LINE_HIGH;
}

static void room(struct tunnel *t) {
    struct remote *x = of(t);
    if (x->paused && !x->over) {
        x->paused = false;
        x->pods->resume(x->session);
    }
}

static void gone(struct tunnel *t) {
    static const struct podtalk_exit cut = {
        PODTALK_FAILED, PODTALK_INTERNAL, {"the session was ended by the server", 35}};
    struct remote *x = of(t);
    if (!t->line.left) {
        finish(x, &cut);
    } else {
        release(x);
    }
}

static const struct tunnel_user user = {frame, full, room, gone};

/* What is needed once the streams are there. */
static bool keep(struct remote *x, struct call *c, const struct talk_target *t) {
    unsigned with = t->open.with, asked = 0;
    bool flag;
    x->pods = c->s->o.sessions;
    x->open = t->open;
    x->open.container = arena_str(c->arena, t->open.container);
    x->args = t->args;
    x->n_args = t->n_args;
    x->uid = arena_str(c->arena, t->pod->uid);
    /* The client opens stdin as it has asked, also where the container takes
   * none. */
    asked = request_bool(request_query(&c->req, "stdin"), &flag) && flag;
    x->wanted[ON_ERROR] = true;
    x->wanted[ON_STDIN] = asked;
    x->wanted[ON_STDOUT] = with & PODTALK_WITH_STDOUT;
    x->wanted[ON_STDERR] = with & PODTALK_WITH_STDERR;
    x->wanted[ON_RESIZE] = request_bool(request_query(&c->req, "tty"), &flag) && flag;
    return x->open.container.p != NULL && x->uid.p != NULL;
}

int remote_start(struct call *c, const struct talk_target *t, const struct talk_protocol *p) {
    struct remote *x = ARENA_NEW(c->arena, struct remote);
    if (x == NULL || !keep(x, c, t)) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    x->protocol = p;
    buf_init(&x->size, TALK_SIZE_TEXT);
    int r = tunnel_open(&x->tunnel, c, &user, true);
    if (r == 0) {
        (void)line_take_session(&x->tunnel.line);
        line_start(&x->tunnel.line, "SPDY/3.1");
    }
    return r;
}
