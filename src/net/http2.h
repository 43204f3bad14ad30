/*
 * http2: the server's side of one HTTP/2 connection, over nghttp2: bytes in, requests out; answers in, bytes out.
 * It has no sockets and no clock; http_server (http2_conn.c) and the fuzzer use it.
 *
 * The owner of a session embeds a struct http2_stream in each of its requests and is notified through `hooks`.
 * These are called only from http2_input and http2_output, and may call the functions below except those two and
 * http2_free. A stream belongs to the owner; the session forgets it with `closed`.
 *
 * A peer that violates the protocol or the limits below gets GOAWAY, and the session is over once that has been
 * sent. Limits (base/limits.h): LIMIT_H2_STREAMS concurrent streams; header blocks within the limits of
 * http_parse.h, in at most LIMIT_H2_CONTINUATIONS further frames; LIMIT_H2_TABLE bytes for HPACK in each direction;
 * rates of frames that ask for nothing, and of streams that end before their answer. Priorities of RFC 7540 are
 * ignored: streams take turns.
 */
#ifndef BERTH_NET_HTTP2_H
#define BERTH_NET_HTTP2_H

#include "base/buf.h"
#include "net/http_parse.h"

struct http2;

struct http2_stream {
    struct http_parse *parse; /* set by the owner in `open`; the request gathers in it */
    int32_t id;
    struct buf out; /* what is to be sent of the body; the owner appends, then calls http2_resume */
    size_t out_at;  /* sent up to here */
    bool out_whole; /* set by the owner: nothing follows in `out` */
    bool unread;    /* set by the owner: the rest of the request is not wanted */
    /* the session's own */
    bool in_whole, told, answered, deferred, resetting, gone;
};

struct http2_hooks {
    /* A request begins: its stream, with `parse` set and all else zero but `out`, or NULL to refuse it. */
    struct http2_stream *(*open)(void *ctx);
    /* The head is complete, the body is not: parse->state is HTTP_IN_BODY. */
    void (*head)(void *ctx, struct http2_stream *s);
    void (*body)(void *ctx, struct http2_stream *s); /* more of the body has arrived */
    /* It is complete (HTTP_COMPLETE), or refused by the rules of http_parse.h (HTTP_FAILED). Once. */
    void (*whole)(void *ctx, struct http2_stream *s);
    void (*sent)(void *ctx, struct http2_stream *s); /* bytes of `out` were */
    /* The last call. whole: the answer went out to its end. */
    void (*closed)(void *ctx, struct http2_stream *s, bool whole);
};

/* NULL: no memory. `now`, here and below: monotonic ns. */
struct http2 *http2_new(const struct http2_hooks *hooks, void *ctx, int64_t now);
/* `closed` is not called for remaining streams. NULL is a no-op. */
void http2_free(struct http2 *h);

/* Takes bytes from the peer. False: out of memory; close the connection. */
bool http2_input(struct http2 *h, struct str in, int64_t now);
/* Appends frames to `out`, until it holds about `most` bytes or there is nothing to send now. False: no memory. */
bool http2_output(struct http2 *h, struct buf *out, size_t most);
/* The session is over and all output has been taken. */
bool http2_over(const struct http2 *h);
bool http2_heard(const struct http2 *h); /* the peer has sent a frame */
int64_t http2_head_since(
    const struct http2 *h); /* when the head began that is not yet whole; 0: none is under way */
bool http2_abused(const struct http2 *h); /* the peer exceeded a limit or violated the protocol */

struct http2_field {
    struct str name, value; /* the name in lower case */
};
/* The head of an answer: once a stream. `body`: what is, or will be, in `out` follows. False: no memory. */
bool http2_answer(struct http2 *h, struct http2_stream *s, const struct http2_field *fields,
                  size_t n, bool body);
void http2_continue(struct http2 *h, struct http2_stream *s); /* 100 Continue */
void http2_resume(struct http2 *h,
                  struct http2_stream *s); /* there is more in `out`, or out_whole was set */
/* Ends a stream that is not whole; `closed` follows at the next output. */
void http2_reset(struct http2 *h, struct http2_stream *s);
/* The answer is out, and the request is not in yet: the owner waits a moment, since some clients do not look at an
 * answer when they may send no more, and then tells the peer to stop. */
bool http2_half_open(const struct http2_stream *s);
void http2_finish(struct http2 *h, struct http2_stream *s);
/* Accepts no new streams; the current ones continue. */
void http2_go_away(struct http2 *h);

#endif
