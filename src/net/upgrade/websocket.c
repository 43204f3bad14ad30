/*
 * websocket: see websocket.h.
 *
 *     byte 0   FIN, three reserved bits, opcode        byte 1   MASK, length
 * (126: two bytes follow, 127: eight) then     the length, the mask's four
 * bytes, the payload
 */
#include "net/upgrade/websocket.h"

#include "base/hash/sha1.h"
#include "base/limits.h"
#include "wire/text/base64.h"

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, MASK = 0x80, LENGTH = 0x7f, CONTROL = 0x08 };
enum {
    SHORT_MAX = 125,
    LENGTH_2 = 126,
    LENGTH_8 = 127,
    MASK_BYTES = 4,
    KEEP_BYTES = 1024,
    KEY_CHARS = 24
};

void websocket_init(struct websocket *w) {
    *w = (struct websocket){0};
    buf_init(&w->piece, LIMIT_WEBSOCKET_MESSAGE);
}

void websocket_release(struct websocket *w) {
    buf_release(&w->piece);
}

static int broken(struct websocket *w, struct err *err, const char *why) {
    w->code = WEBSOCKET_PROTOCOL;
    return err_set(err, ERR_SYNTAX, "websocket: %s", why);
}

static size_t head_length(const struct websocket *w) {
    size_t n = 2 + MASK_BYTES;

    if (w->head_n >= 2) {
        uint8_t length = w->head[1] & LENGTH;
        n += length == LENGTH_2 ? 2 : length == LENGTH_8 ? 8 : 0;
    }
    return n;
}

static uint64_t number_at(const uint8_t *p, size_t n) {
    uint64_t v = 0;

    for (size_t i = 0; i < n; i++) {
        v = v << 8 | p[i];
    }
    return v;
}

/* What the first two bytes may say. */
static int check_start(struct websocket *w, struct err *err) {
    uint8_t op = w->head[0] & OPCODE;
    bool control = op & CONTROL;

    if (w->head[0] & RESERVED) {
        return broken(w, err, "an extension that was not agreed on");
    }
    if (op > WEBSOCKET_PONG || (op > WEBSOCKET_BINARY && !control)) {
        return broken(w, err, "a reserved opcode");
    }
    if (!(w->head[1] & MASK)) {
        return broken(w, err, "a frame of a client is not masked");
    }
    if (control && (!(w->head[0] & FIN) || (w->head[1] & LENGTH) > SHORT_MAX)) {
        return broken(w, err, "a control frame in parts, or longer than 125 bytes");
    }
    if (!control && (op == 0) != (w->op != 0)) {
        return broken(w, err, op == 0 ? "a continuation of nothing" : "a message within a message");
    }
    return 0;
}

static int check_length(struct websocket *w, struct err *err) {
    uint8_t length = w->head[1] & LENGTH;

    w->left = length;
    if (length == LENGTH_2) {
        w->left = number_at(w->head + 2, 2);
    } else if (length == LENGTH_8) {
        w->left = number_at(w->head + 2, 8);
    }
    if ((length == LENGTH_2 && w->left <= SHORT_MAX) ||
        (length == LENGTH_8 && (w->left <= UINT16_MAX || w->left >> 63))) {
        return broken(w, err, "a length that is not written in the shortest way");
    }
    if (!(w->head[0] & CONTROL) &&
        (w->left > LIMIT_WEBSOCKET_MESSAGE || w->message > LIMIT_WEBSOCKET_MESSAGE - w->left)) {
        w->code = WEBSOCKET_TOO_BIG;
        return err_set(err, ERR_TOO_LARGE, "websocket: a message has more than %d bytes",
                       LIMIT_WEBSOCKET_MESSAGE);
    }
    return 0;
}

/* Reads a frame's head. ERR_AGAIN: there is not all of it. */
static int read_head(struct websocket *w, struct str *in, struct err *err) {
    while (w->head_n < head_length(w)) {
        if (in->n == 0) {
            return ERR_AGAIN;
        }
        w->head[w->head_n++] = (uint8_t)in->p[0];
        *in = str_skip(*in, 1);
        int r = w->head_n == 2 ? check_start(w, err) : 0;
        if (r != 0) {
            return r;
        }
    }
    int r = check_length(w, err);
    if (r != 0) {
        return r;
    }
    if (w->head[0] & CONTROL) {
        w->controls++;
    } else {
        w->message += w->left;
        w->op = w->op ? w->op : w->head[0] & OPCODE;
    }
    w->within = true;
    w->masked = 0;
    return 0;
}

static int unmask(struct websocket *w, struct str from, struct err *err) {
    const uint8_t *mask = w->head + w->head_n - MASK_BYTES;
    char *to = from.n > 0 ? buf_room(&w->piece, from.n) : NULL;

    if (from.n == 0) {
        return 0;
    }
    if (to == NULL) {
        w->code = WEBSOCKET_INTERNAL;
        return err_set(err, ERR_NOMEM, "websocket: no memory");
    }
    for (size_t i = 0; i < from.n; i++) {
        to[i] = (char)((uint8_t)from.p[i] ^ mask[(w->masked + i) % MASK_BYTES]);
    }
    w->piece.n += from.n;
    w->masked += from.n;
    w->left -= from.n;
    return 0;
}

static bool code_allowed(uint16_t code) {
    return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
           (code >= 3000 && code <= 4999);
}

static int take_control(struct websocket *w, struct websocket_piece *ret, struct err *err) {
    struct str body = buf_view(&w->piece);
    struct websocket_piece p = {.op = (enum websocket_op)(w->head[0] & OPCODE),
                                .first = true,
                                .last = true,
                                .bytes = body,
                                .code = WEBSOCKET_NO_CODE};

    if (p.op == WEBSOCKET_CLOSE && body.n > 0) {
        p.code = body.n == 1 ? 0 : (uint16_t)number_at((const uint8_t *)body.p, 2);
        p.bytes = str_skip(body, 2);
        if (!code_allowed(p.code)) {
            return broken(w, err, "a close with an impossible code");
        }
    }
    w->closed = p.op == WEBSOCKET_CLOSE;
    *ret = p;
    return 0;
}

static void take_data(struct websocket *w, bool frame_ends, struct websocket_piece *ret) {
    bool last = frame_ends && (w->head[0] & FIN);

    *ret = (struct websocket_piece){.op = (enum websocket_op)w->op,
                                    .first = !w->begun,
                                    .last = last,
                                    .bytes = buf_view(&w->piece)};
    w->begun = !last;
    if (last) {
        w->op = 0;
        w->message = 0;
    }
}

static int next(struct websocket *w, struct str *in, struct websocket_piece *ret, struct err *err) {
    for (;;) {
        int r = w->within ? 0 : read_head(w, in, err);
        struct str part = str_head(*in, w->left > in->n ? in->n : (size_t)w->left);
        r = r ? r : unmask(w, part, err);
        if (r != 0) {
            return r;
        }
        *in = str_skip(*in, part.n);
        bool control = w->head[0] & CONTROL, ends = w->left == 0;
        if (!ends && (control || part.n == 0)) {
            return ERR_AGAIN;
        }
        w->within = !ends;
        w->head_n = ends ? 0 : w->head_n;
        if (control) {
            return take_control(w, ret, err);
        }
        if (part.n > 0 || (w->head[0] & FIN)) { /* an empty part of a message says nothing */
            take_data(w, ends, ret);
            return 0;
        }
    }
}

int websocket_next(struct websocket *w, struct str *in, struct websocket_piece *ret,
                   struct err *err) {
    if (w->failed != 0) {
        return err_set(err, w->failed, "websocket: it has failed");
    }
    if (w->closed && in->n > 0) {
        *in = str_skip(*in, in->n); /* what follows a close is nobody's */
    }
    bool gathering = w->within && (w->head[0] & CONTROL);
    if (!gathering && w->piece.cap > KEEP_BYTES) {
        buf_release(&w->piece);
        buf_init(&w->piece, LIMIT_WEBSOCKET_MESSAGE);
    } else if (!gathering) {
        buf_reset(&w->piece);
    }
    int r = next(w, in, ret, err);
    w->failed = r == ERR_AGAIN ? 0 : r;
    return r;
}

/* ---- writing ---- */

void websocket_head(struct buf *b, enum websocket_op op, uint64_t n) {
    size_t more = n <= SHORT_MAX ? 0 : n <= UINT16_MAX ? 2 : 8;

    buf_ch(b, (char)(FIN | op));
    buf_ch(b, (char)(more == 0 ? n : more == 2 ? LENGTH_2 : LENGTH_8));
    for (size_t i = more; i-- > 0;) {
        buf_ch(b, (char)(n >> 8 * i & 0xff));
    }
}

void websocket_frame(struct buf *b, enum websocket_op op, struct str bytes) {
    websocket_head(b, op, bytes.n);
    buf_str(b, bytes);
}

void websocket_close(struct buf *b, uint16_t code, struct str reason) {
    reason = str_head(reason, WEBSOCKET_CONTROL_MAX - 2);
    websocket_head(b, WEBSOCKET_CLOSE, 2 + reason.n);
    buf_ch(b, (char)(code >> 8));
    buf_ch(b, (char)(code & 0xff));
    buf_str(b, reason);
}

/* ---- the handshake ---- */

int websocket_accept(struct str key, struct buf *ret, struct err *err) {
    static const struct str digits =
        STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
    static const char magic[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    bool fits = key.n == KEY_CHARS && str_ends(key, STR("=="));
    char text[KEY_CHARS + sizeof(magic)];
    uint8_t sum[SHA1_BYTES];

    for (size_t i = 0; fits && i < KEY_CHARS - 2; i++) {
        fits = str_find(digits, key.p[i]) >= 0;
    }
    if (!fits) {
        return err_set(err, ERR_BAD_REQUEST, "Sec-WebSocket-Key must be 16 bytes in base64");
    }
    memcpy(text, key.p, KEY_CHARS);
    memcpy(text + KEY_CHARS, magic, sizeof(magic));
    sha1(str_of(text), sum);
    base64_encode(ret, str_from((const char *)sum, sizeof(sum)));
    return 0;
}
