/*
 * http_server: HTTP/1.1 and HTTP/2 over TLS (or a plain socket) on the loop; llhttp parses the one, nghttp2 the
 * other, OpenSSL encrypts. Which of the two a connection has is agreed upon by ALPN; without TLS, on loopback alone,
 * a client that knows may begin with HTTP/2, whose streams are as connections below: each has one request, and its
 * peer goes away when it is reset. http_upgrade is for HTTP/1.1 alone, as http_offers says.
 *
 * The handler gets a whole request (headers and body, within the limits of base/limits.h) and answers it at once or
 * later, on the loop thread: either http_respond once, or http_stream_begin, any number of http_stream_write, and
 * http_stream_end. A request without `closed` (http_set_user) stays valid until it was answered, also when the peer
 * is long gone. One with `closed` ends with that call, which comes exactly once, from the loop and never inside one
 * of the functions below: after the answer was handed over, or as soon as the peer goes away (then nothing may be
 * answered any more). Slow senders and readers are cut at the limits. Requests of one connection are answered in
 * order, one at a time. When connections_max is reached, the stranger (http_set_account) who has been connected
 * longest without a request under way makes room for the next, and where there is none, such a connection of the
 * user who has the most. A request that breaks the rules of http_parse.h never reaches the handler:
 * it is answered with 400, 405, 408, 413, 417, 429, 431 or 505 and a Status, and its connection is closed.
 */
#ifndef BERTH_NET_HTTP_SERVER_H
#define BERTH_NET_HTTP_SERVER_H

#include "base/buf.h"
#include "net/loop.h"
#include "net/tls.h"

struct http_server;
struct http_request;

struct http_server_options {
    struct str host; /* "127.0.0.1"; only loopback unless allow_any */
    uint16_t port;   /* 0: any free one, see http_server_port */
    bool allow_any;
    struct tls_server *tls; /* NULL: plain HTTP */
    size_t body_max;        /* 0: LIMIT_BODY_BYTES */
    /* 0: LIMIT_HTTP_HEADER_MS, _BODY_MS, _IDLE_MS, _WRITE_MS, _OUT_BYTES, _CONNECTIONS. */
    int64_t header_ms, body_ms, idle_ms, write_ms;
    size_t out_max, connections_max;
    size_t out_total; /* of all connections together; 0: LIMIT_HTTP_OUT_TOTAL */
    /* Bytes of bodies that are being sent, of all users together and of one, and connections of one user; 0:
     * LIMIT_HTTP_BODY_TOTAL, _BODY_ACCOUNT, _CONNECTIONS_ACCOUNT. */
    size_t bodies_max, bodies_account_max, connections_account_max;
    /* Several servers, of several threads or processes, listen on one port; the kernel deals connections out. */
    bool share_port;
    /* The body of an answer to a request that is refused before the handler has it, as JSON; NULL: a Status. */
    void (*refusal)(struct buf *body, int status, const char *text);
    /* Called when a head has come and its body has not, before more of that is read or asked for (Expect). True: it
     * may come. False: the request was answered, or will be, and the connection ends with the answer. A body that
     * came in one piece with its head is not asked about. NULL: any may come. */
    bool (*head)(void *ctx, struct http_request *r);
    /* Called with a complete request. */
    void (*handler)(void *ctx, struct http_request *r);
    void *ctx;
};

int http_server_start(struct loop *l, const struct http_server_options *o, struct http_server **ret,
                      struct err *err);
uint16_t http_server_port(const struct http_server *s);
/* Stops accepting, lets answers in flight finish for up to grace_ms, then closes all and calls stopped. */
void http_server_stop(struct http_server *s, int64_t grace_ms, void (*stopped)(void *ctx),
                      void *ctx);
/* Closes what is left, calling `closed` where it is set. No request may be touched any more. */
void http_server_free(struct http_server *s);
/*
 * Who vouches for the connection, as soon as that is known: its bodies count for that user, within
 * LIMIT_HTTP_BODY_ACCOUNT, and while there are more than connections_max it makes room after all strangers. Without
 * a name it is a stranger's: where there is `head`, bodies are short, and all of one address count together.
 */
void http_set_account(struct http_request *r, struct str user);
/* Bytes that all connections of its account have not taken, as of the last flush of each. */
size_t http_waiting_for_account(const struct http_request *r);
struct http_server_stats {
    uint64_t connections, connections_total, requests_total, cut_slow, rejected;
};
struct http_server_stats http_server_stats(const struct http_server *s);

/* ---- the request; all views are valid as long as the request ---- */
struct str http_method(const struct http_request *r);
struct str http_path(
    const struct http_request *r); /* raw, before '?': decoding is up to the user, per segment */
struct str http_query(const struct http_request *r); /* raw, after '?' */
struct str http_header(const struct http_request *r,
                       const char *name); /* first, any case; empty when absent */
/* The i-th value of a repeated header; false when there are no more. */
bool http_header_nth(const struct http_request *r, const char *name, size_t i, struct str *ret);
/* The i-th of all headers, as it was written; false when there are no more. */
bool http_header_at(const struct http_request *r, size_t i, struct str *ret_name, struct str *ret);
struct str http_body(const struct http_request *r);
struct str http_peer(const struct http_request *r); /* "127.0.0.1:50000" */
bool http_secure(const struct http_request *r);     /* it came over TLS */
/* Subject of a verified client certificate: false when none. *ret_org: the O values, separated by '\n'. */
bool http_client_cert(const struct http_request *r, struct str *ret_cn, struct str *ret_org);
/* An arena of the connection for this request: freed when the request is. LIMIT: 64 MiB. */
struct arena *http_arena(struct http_request *r);
/* For the user: one pointer kept with the request, and a call when the peer goes away or the request ends. */
void http_set_user(struct http_request *r, void *user, void (*closed)(void *user));
void *http_user(const struct http_request *r);

/* ---- the answer ---- */
/* Adds a header to the answer to come; name and value are copied; CR, LF and NUL in them are refused
 * (ERR_INVALID). */
int http_add_header(struct http_request *r, const char *name, struct str value);
/* The whole answer. Bytes are copied (or written at once). HEAD gets the headers alone. */
void http_respond(struct http_request *r, int status, const char *content_type, struct str body);
/* A chunked answer; headers go out at once. */
void http_stream_begin(struct http_request *r, int status, const char *content_type);
/* Copies; 0, or ERR_TOO_LARGE when more than LIMIT_HTTP_OUT_BYTES wait (the connection is being cut), ERR_GONE. */
int http_stream_write(struct http_request *r, struct str bytes);
size_t http_stream_waiting(const struct http_request *r); /* bytes not yet taken by the peer */
/* drained(user) is called when nothing waits any more after http_stream_waiting was > 0. */
void http_stream_on_drain(struct http_request *r, void (*drained)(void *user));
void http_stream_end(struct http_request *r);
/* Ends the connection in the middle of the stream, soon: the peer sees that it is not whole. `closed` comes then. */
void http_stream_cut(struct http_request *r);

/* ---- another protocol on the connection ---- */
/* Does the request offer to go on in it ("websocket"), by Connection and Upgrade of HTTP/1.1? */
bool http_offers(const struct http_request *r, const char *protocol);
/*
 * Answers 101 with the headers added so far. From then on the connection carries bytes of that protocol:
 * http_stream_write sends them as they are, http_stream_end ends the connection once they are out, and
 * received(user, bytes) gets what the peer sends, at most 64 KiB at once, never inside one of these functions. When
 * it returns false it has taken these, and no more come before http_upgrade_resume; should the peer end meanwhile,
 * what it had sent before is lost. A peer that takes nothing is cut after LIMIT_HTTP_UPGRADED_MS only: the user
 * bounds what waits for it (http_stream_waiting). The user must have set `closed`.
 */
void http_upgrade(struct http_request *r, const char *protocol,
                  bool (*received)(void *user, struct str bytes));
void http_upgrade_resume(struct http_request *r);

#endif
