/*
 * spdy: the server's side of SPDY/3.1 as Kubernetes' clients still speak it for
 * port-forward (inside a WebSocket, or after an upgrade) and, older ones, for
 * exec: bytes in and frames out, no socket. Not for anything else.
 *
 * Data is handed on in pieces as it arrives. Other frames are gathered, at most
 * SPDY_CONTROL_MAX bytes of them, and their headers are inflated to at most
 * SPDY_HEADERS_MAX. Those clients keep no flow-control windows, neither way;
 * nor does this: WINDOW_UPDATE and SETTINGS are read and dropped, and
 * back-pressure is the connection's.
 */
#ifndef BERTH_NET_SPDY_H
#define BERTH_NET_SPDY_H

#include "base/buf.h"
#include "base/err.h"

enum {
    SPDY_CONTROL_MAX = 16 << 10,
    SPDY_HEADERS_MAX = 16 << 10,
    SPDY_HEADERS = 32, /* of a stream */
    SPDY_HEAD = 8,
};

enum spdy_type {
    SPDY_SYN_STREAM = 1,
    SPDY_SYN_REPLY = 2,
    SPDY_RST_STREAM = 3,
    SPDY_PING = 6,
    SPDY_GOAWAY = 7,
    SPDY_HEADERS_FRAME = 8,
    SPDY_DATA = 0x8000, /* not a number of the wire: data frames have none */
};

/* Why a stream is reset. */
enum { SPDY_PROTOCOL_ERROR = 1, SPDY_REFUSED_STREAM = 3, SPDY_CANCEL = 5, SPDY_INTERNAL_ERROR = 6 };

struct spdy_header {
    struct str name, value;
};

struct spdy_frame {
    enum spdy_type type;
    uint32_t stream; /* of all but PING and GOAWAY; never 0 */
    bool fin;        /* nothing follows on the stream; of data with its last piece */
    uint32_t number; /* of PING its id, of RST_STREAM its status */
    struct str data; /* of DATA, a view of the bytes fed; empty only with fin */
    /* Of SYN_STREAM, SYN_REPLY and HEADERS; until the next call */
    const struct spdy_header *headers;
    size_t n_headers;
};

struct spdy;
struct spdy *spdy_new(void);    /* NULL: no memory */
void spdy_free(struct spdy *s); /* NULL is a no-op */

/* Takes bytes off *in up to the end of the next frame or piece of DATA. 0: *ret
 * is it. ERR_AGAIN: *in is used up. ERR_SYNTAX, ERR_TOO_LARGE, ERR_NOMEM: the
 * connection is over, which sticks. */
int spdy_next(struct spdy *s, struct str *in, struct spdy_frame *ret, struct err *err);
/* Of the frame that spdy_next gave last; empty when there is none of that name
 * (any case). */
struct str spdy_header(const struct spdy_frame *f, const char *name);

/* Each appends a frame. */
int spdy_reply(struct spdy *s, struct buf *b, uint32_t stream,
               struct err *err); /* SYN_REPLY, no headers */
/* SYN_STREAM, as a client's. ERR_TOO_LARGE beyond a KiB of headers. */
int spdy_open(struct spdy *s, struct buf *b, uint32_t stream, const struct spdy_header *h, size_t n,
              struct err *err);
/* The head of n bytes of data that are to follow; n at most 0xffffff. */
void spdy_data_head(struct buf *b, uint32_t stream, bool fin, size_t n);
void spdy_reset(struct buf *b, uint32_t stream, uint32_t status);
void spdy_ping(struct buf *b, uint32_t id);
void spdy_goaway(struct buf *b, uint32_t last_stream);

/* The preset dictionary of headers, for tests that compress some. */
struct str spdy_dictionary(void);

#endif
