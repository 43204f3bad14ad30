/*
 * channels: exec and attach over WebSocket. Each message begins with the number
 * of its channel:
 *
 *     0 stdin   1 stdout   2 stderr   3 how it ended   4 the terminal's size
 * 255 (v5) this channel has ended
 *
 * As text (base64) the number is a digit and the rest base64. What is for stdin
 * goes on to the pod as it arrives; the other messages are gathered, within
 * GATHER_MAX. Messages on channels that nobody opened are dropped, as upstream
 * does.
 */
#include "base/limits.h"
#include "server/kit/handlers.h"
#include "server/talk/line.h"
#include "server/talk/talk.h"
#include "wire/text/base64.h"

enum { STDIN, STDOUT, STDERR, ERROR, RESIZE, CLOSE = 255 };
enum { GATHER_MAX = 64 << 10 };

struct channels {
    struct talk_line line;
    const struct talk_protocol *protocol;
    struct pod_sessions *pods;
    struct pod_session *session;
    enum podtalk_what what;
    unsigned with;
    bool stdin_open, over;
    bool paused;         /* the pod's output */
    size_t stdin_waits;  /* bytes that the pod has not taken */
    int channel;         /* of the message under way; -1: its first byte has not come */
    struct buf gathered; /* of a message that is not for stdin */
    bool skip;           /* it is too long: dropped */
};

static struct channels *of(struct talk_line *l) {
    return (struct channels *)l;
}

static void send_on(struct channels *x, int channel, struct str bytes) {
    char first = (char)(x->protocol->base64 ? '0' + channel : channel);
    struct str head = str_from(&first, 1);
    if (!x->protocol->base64) {
        line_write(&x->line, WEBSOCKET_BINARY, head, bytes);
        return;
    }
    struct buf text;
    buf_init(&text, 0);
    base64_encode(&text, bytes);
    line_write(&x->line, WEBSOCKET_TEXT, head, buf_view(&text));
    buf_release(&text);
}

static void verdict(struct channels *x, const struct podtalk_exit *e) {
    struct buf b;
    buf_init(&b, 0);
    talk_verdict(&b, x->protocol, x->what, e);
    if (b.n > 0) {
        send_on(x, ERROR, buf_view(&b));
    }
    buf_release(&b);
}

static void release(struct channels *x) {
    if (!x->over) {
        x->over = true;
        x->pods->close(x->session);
        buf_release(&x->gathered);
    }
}

/* ---- from the pod ---- */

static void on_opened(void *ctx) {
}

static bool on_data(void *ctx, enum podtalk_stream s, struct str bytes) {
    struct channels *x = ctx;
    send_on(x, s == PODTALK_STDERR ? STDERR : STDOUT, bytes);
    x->paused = line_waiting(&x->line) > LINE_HIGH;
    return !x->paused;
}

static void on_end(void *ctx, enum podtalk_stream s) {
}

static void on_drained(void *ctx) {
    struct channels *x = ctx;
    x->stdin_waits = 0;
    line_resume(&x->line);
}

static void on_exit_(void *ctx, const struct podtalk_exit *e) {
    struct channels *x = ctx;
    verdict(x, e);
    release(x);
    line_end(&x->line, WEBSOCKET_NORMAL, (struct str){0});
}

static const struct pod_session_events events = {on_opened, on_data, on_end, on_drained, on_exit_};

/* ---- from the client ---- */

static void to_stdin(struct channels *x, struct str bytes) {
    if (x->stdin_open && bytes.n > 0) {
        x->stdin_waits = x->pods->write(x->session, bytes);
    }
}

static void end_stdin(struct channels *x) {
    if (x->stdin_open) {
        x->stdin_open = false;
        x->pods->end(x->session);
    }
}

static void resize(struct channels *x, struct str text) {
    uint16_t rows, cols;
    if ((x->with & PODTALK_TTY) && talk_size(text, &rows, &cols)) {
        x->pods->resize(x->session, rows, cols);
    }
}

/* A whole message that was gathered. */
static void take(struct channels *x, int channel, struct str bytes) {
    if (channel == STDIN) {
        to_stdin(x, bytes);
    } else if (channel == RESIZE) {
        resize(x, bytes);
    } else if (channel == CLOSE && x->protocol->half_close && bytes.n > 0 && bytes.p[0] == STDIN) {
        end_stdin(x);
    }
}

static void take_base64(struct channels *x, struct str text) {
    struct arena a;
    arena_init(&a, GATHER_MAX * 2);
    struct str bytes = base64_decode(&a, text);
    if (bytes.p != NULL) {
        take(x, x->channel, bytes);
    }
    arena_release(&a);
}

static void gather(struct channels *x, const struct websocket_piece *p, struct str bytes) {
    buf_str(&x->gathered, bytes);
    x->skip |= buf_ok(&x->gathered) != 0;
    if (p->last && !x->skip && x->protocol->base64) {
        take_base64(x, buf_view(&x->gathered));
    } else if (p->last && !x->skip) {
        take(x, x->channel, buf_view(&x->gathered));
    }
    if (p->last) {
        buf_release(&x->gathered);
        buf_init(&x->gathered, GATHER_MAX);
    }
}

static void piece(struct talk_line *l, const struct websocket_piece *p) {
    struct channels *x = of(l);
    struct str bytes = p->bytes;
    if (p->first) {
        x->channel = -1;
        x->skip = false;
    }
    if (x->channel < 0 && bytes.n > 0) {
        x->channel = (uint8_t)bytes.p[0] - (x->protocol->base64 ? '0' : 0);
        bytes = str_skip(bytes, 1);
    }
    if (x->channel == STDIN && !x->protocol->base64) {
        to_stdin(x, bytes);
    } else if (x->channel >= 0) {
        gather(x, p, bytes);
    }
}

static bool full(struct talk_line *l) {
    return of(l)->stdin_waits > LINE_HIGH;
}

static void room(struct talk_line *l) {
    struct channels *x = of(l);
    if (x->paused && !x->over) {
        x->paused = false;
        x->pods->resume(x->session);
    }
}

static void gone(struct talk_line *l) {
    static const struct podtalk_exit cut = {
        PODTALK_FAILED, PODTALK_INTERNAL, {"the session was ended by the server", 35}};
    struct channels *x = of(l);
    if (!l->left) {
        verdict(x, &cut); /* the peer hears it, if it is there */
    }
    release(x);
}

static const struct line_user user = {piece, full, room, gone};

int channels_start(struct call *c, const struct talk_target *t, const struct talk_protocol *p) {
    struct channels *x = ARENA_NEW(c->arena, struct channels);
    struct pod_sessions *pods = c->s->o.sessions;
    struct err err = {0};
    if (x == NULL) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    *x = (struct channels){.protocol = p, .pods = pods, .what = t->open.what, .with = t->open.with};
    x->stdin_open = t->open.with & PODTALK_WITH_STDIN;
    buf_init(&x->gathered, GATHER_MAX);
    int r = line_open(&x->line, c, &user, false);
    if (r != 0) {
        return r;
    }
    r = pods->open(pods, t->pod, &t->open, t->args, t->n_args, &events, x, &x->session, &err);
    if (r != 0) {
        line_drop(&x->line);
        return target_silent(c, t, &err);
    }
    (void)line_take_session(&x->line);
    line_start(&x->line, "websocket");
    return 0;
}
