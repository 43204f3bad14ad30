/*
 * websocket: the server's side of RFC 6455, bytes in and frames out, no socket.
 * Who upgrades a connection (net/http_server.h) feeds what comes and sends what
 * is written here.
 *
 * Data is handed on in pieces as it arrives, unmasked, never gathered: a
 * message may be as long as LIMIT_WEBSOCKET_MESSAGE and costs one piece's
 * memory. Control frames come whole. No extensions; the text of text messages
 * is not checked to be UTF-8, which is up to who reads it.
 *
 * Refused: frames without a mask, reserved bits and opcodes, control frames
 * that are cut or longer than 125 bytes, lengths that are not written in the
 * shortest way, messages that begin within another, anything after a close. How
 * often the peer sends control frames is counted in `controls`, for the user to
 * bound in time.
 */
#ifndef BERTH_NET_WEBSOCKET_H
#define BERTH_NET_WEBSOCKET_H

#include "base/buf.h"
#include "base/err.h"

enum websocket_op {
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

/* Codes of a close. */
enum {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING = 1001,
    WEBSOCKET_PROTOCOL = 1002,
    WEBSOCKET_UNSUPPORTED = 1003,
    WEBSOCKET_NO_CODE = 1005, /* never on the wire */
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_INTERNAL = 1011,
};

enum { WEBSOCKET_CONTROL_MAX = 125 };

/* A piece of a message, or a control frame. */
struct websocket_piece {
    enum websocket_op op; /* of a message the one it began with */
    bool first, last;     /* of its message; a control frame is both */
    struct str bytes;     /* valid until the next call */
    uint16_t code;        /* of CLOSE; `bytes` is its reason */
};

struct websocket {
    uint8_t head[14];
    size_t head_n;
    uint64_t left;      /* bytes of the frame's payload to come */
    uint64_t message;   /* bytes of the message so far */
    uint8_t op;         /* of the message under way; 0: none */
    bool within, begun; /* a frame's head is read; a piece of the message was handed on */
    bool closed;        /* CLOSE came */
    size_t masked;      /* bytes of the frame that were unmasked */
    struct buf piece;   /* unmasked */
    uint64_t controls;  /* control frames so far; the user may set it to 0 */
    int failed, code;   /* ERR_...; and the code of the close to send */
};

void websocket_init(struct websocket *w);
void websocket_release(struct websocket *w);

/* Takes bytes off *in. 0: *ret is a piece. ERR_AGAIN: *in is used up.
 * ERR_SYNTAX, ERR_TOO_LARGE, ERR_NOMEM: the connection is over, which sticks;
 * w->code is what to close it with. */
int websocket_next(struct websocket *w, struct str *in, struct websocket_piece *ret,
                   struct err *err);

/* Appends the head of a whole, final frame of n bytes, which are to follow. */
void websocket_head(struct buf *b, enum websocket_op op, uint64_t n);
/* Appends a whole frame. */
void websocket_frame(struct buf *b, enum websocket_op op, struct str bytes);
/* Appends a close; the reason is cut to what fits. */
void websocket_close(struct buf *b, uint16_t code, struct str reason);

/* Appends the value of Sec-WebSocket-Accept. ERR_BAD_REQUEST: the key is not 16
 * bytes in base64. */
int websocket_accept(struct str key, struct buf *ret, struct err *err);

#endif
