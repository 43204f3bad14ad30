/*
 * http_peer: an HTTP/1.1 client on the loop, for proxies: connections are kept and reused, and the answer to a request
 * (here: a question) is delivered in parts as it arrives. No redirects, no decoding, no cookies, no copies.
 *
 * A connection carries one question at a time. The body of an answer is passed to `body` in views of the read buffer. A
 * caller that cannot take more calls http_ask_pause, and then gets at most what has been read already. The connection
 * of a question that was cancelled, or whose answer was not understood, is closed, which the server sees at once.
 */
#ifndef BERTH_NET_PEERS_HTTP_PEER_H
#define BERTH_NET_PEERS_HTTP_PEER_H

#include "net/loop.h"
#include "net/peers/http_answer.h"

struct http_peers; /* of one loop */
struct http_peer;  /* a server */
struct http_ask;   /* a question under way */

enum { HTTP_ASK_PARTS = 10 };

/* NULL: no memory. idle_ms: how long an unused connection is kept. */
struct http_peers *http_peers_new(struct loop *l, int64_t idle_ms);
/* All peers must have been freed. NULL is a no-op. */
void http_peers_free(struct http_peers *p);

/* Connections begin with sockets of `make`'s: TCP, of IPv6 or IPv4, in another network namespace. They become this
 * room's; -1: there is none now. For servers that the machine's own network does not reach. */
void http_peers_sockets(struct http_peers *p, int (*make)(void *ctx, bool v6), void *ctx);

/* address: IPv4 or IPv6. idle_max: unused connections that are kept. ERR_INVALID, ERR_NOMEM. */
int http_peer_new(struct http_peers *p, struct str address, uint16_t port, size_t idle_max,
                  struct http_peer **ret, struct err *err);
/* Questions under way go on; their connections are not kept. NULL is a no-op. */
void http_peer_free(struct http_peer *p);
size_t http_peer_connections(const struct http_peer *p); /* used and unused */

enum http_ask_end {
    HTTP_ASK_WHOLE,
    HTTP_ASK_UNCONNECTED, /* refused, unreachable, or not within connect_ms: nothing was sent */
    HTTP_ASK_STALE, /* a kept connection ended before a byte of the answer: the server had closed it, most likely */
    HTTP_ASK_RESET,  /* the connection ended before the head of the answer was whole */
    HTTP_ASK_BROKEN, /* it ended later than that */
    HTTP_ASK_LATE,   /* no head within first_ms */
    HTTP_ASK_SILENT, /* nothing more for idle_ms */
    HTTP_ASK_BAD,    /* what came is not HTTP/1.1 */
};

struct http_ask_options {
    const struct str *parts; /* the request as it goes out; the bytes stay valid until `done` */
    size_t n_parts;          /* at most HTTP_ASK_PARTS */
    bool to_head;            /* the method is HEAD */
    bool fresh;              /* not on a kept connection */
    int64_t connect_ms, first_ms, idle_ms; /* more than 0 each */
    /* Never inside http_ask, http_ask_resume or http_ask_cancel. Each may cancel the question: then nothing follows.
     * */
    void (*head)(void *ctx, const struct http_answer *a);
    void (*body)(void *ctx, struct str bytes);
    void (*done)(void *ctx, enum http_ask_end end, const char *trouble); /* the last call */
    void *ctx;
};

/* NULL: no memory, or no socket. */
struct http_ask *http_ask(struct http_peer *p, const struct http_ask_options *o);
void http_ask_pause(struct http_ask *a);
void http_ask_resume(struct http_ask *a);
/* No further call; the connection is closed. Not after `done`. */
void http_ask_cancel(struct http_ask *a);

#endif
