/* tunnel: see tunnel.h. */
#include "server/talk/tunnel.h"

enum { DATA_MAX = 0xffffff };

static struct tunnel *of(struct talk_line *l) {
    return (struct tunnel *)l;
}

static void release(struct tunnel *t) {
    spdy_free(t->spdy);
    t->spdy = NULL;
}

/* ---- out ---- */

static void send_frame(struct tunnel *t, const struct buf *b, struct str rest) {
    if (buf_ok(b) == 0) {
        line_write(&t->line, WEBSOCKET_BINARY, buf_view(b), rest);
    } else {
        http_stream_cut(t->line.call->http); /* a frame is missing */
    }
}

void tunnel_reply(struct tunnel *t, uint32_t stream) {
    struct buf b;
    buf_init(&b, 0);
    if (t->spdy != NULL && spdy_reply(t->spdy, &b, stream, NULL) == 0) {
        send_frame(t, &b, (struct str){0});
    }
    buf_release(&b);
}

void tunnel_send(struct tunnel *t, uint32_t stream, bool fin, struct str bytes) {
    struct buf b;
    buf_init(&b, 0);
    do {
        struct str part = str_head(bytes, DATA_MAX);
        bytes = str_skip(bytes, part.n);
        buf_reset(&b);
        spdy_data_head(&b, stream, fin && bytes.n == 0, part.n);
        send_frame(t, &b, part);
    } while (bytes.n > 0);
    buf_release(&b);
}

void tunnel_reset(struct tunnel *t, uint32_t stream, uint32_t status) {
    struct buf b;
    buf_init(&b, 0);
    spdy_reset(&b, stream, status);
    send_frame(t, &b, (struct str){0});
    buf_release(&b);
}

static void pong(struct tunnel *t, uint32_t id) {
    struct buf b;
    buf_init(&b, 0);
    spdy_ping(&b, id);
    send_frame(t, &b, (struct str){0});
    buf_release(&b);
}

void tunnel_end(struct tunnel *t) {
    release(t);
    line_end(&t->line, WEBSOCKET_NORMAL, (struct str){0});
}

/* ---- in ---- */

static void fail(struct tunnel *t, bool left) {
    if (t->line.ended) {
        return;
    }
    t->line.left = left;
    t->user->gone(t);
    release(t);
    line_end(&t->line, left ? WEBSOCKET_NORMAL : WEBSOCKET_PROTOCOL, (struct str){0});
}

static void take(struct tunnel *t, const struct spdy_frame *f) {
    switch (f->type) {
    case SPDY_SYN_STREAM:
        if (f->stream <= t->last || f->stream % 2 == 0) {
            tunnel_reset(t, f->stream, SPDY_PROTOCOL_ERROR);
            return;
        }
        t->last = f->stream;
        t->user->frame(t, f);
        return;
    case SPDY_DATA:
    case SPDY_RST_STREAM:
        t->user->frame(t, f);
        return;
    case SPDY_PING:
        if (f->number % 2 == 1) { /* the client's own */
            pong(t, f->number);
        }
        return;
    case SPDY_GOAWAY:
        fail(t, true);
        return;
    case SPDY_SYN_REPLY:
    case SPDY_HEADERS_FRAME:
        return; /* we open no streams, and no stream of theirs has more to say of
               itself */
    }
}

static void piece(struct talk_line *l, const struct websocket_piece *p) {
    struct tunnel *t = of(l);
    struct str in = p->bytes;
    struct spdy_frame f;
    int r = 0;
    while (!l->ended && t->spdy != NULL && (r = spdy_next(t->spdy, &in, &f, NULL)) == 0) {
        take(t, &f);
    }
    if (!l->ended && r != 0 && r != ERR_AGAIN) {
        fail(t, false);
    }
}

static bool full(struct talk_line *l) {
    return of(l)->user->full(of(l));
}

static void room(struct talk_line *l) {
    of(l)->user->room(of(l));
}

static void gone(struct talk_line *l) {
    of(l)->user->gone(of(l));
    release(of(l));
}

static const struct line_user user = {piece, full, room, gone};

int tunnel_open(struct tunnel *t, struct call *c, const struct tunnel_user *u, bool raw) {
    int r = line_open(&t->line, c, &user, raw);
    if (r != 0) {
        return r;
    }
    t->user = u;
    t->last = 0;
    t->spdy = spdy_new();
    if (t->spdy == NULL) {
        line_drop(&t->line);
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    return 0;
}

void tunnel_drop(struct tunnel *t) {
    release(t);
    line_drop(&t->line);
}
