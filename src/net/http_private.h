/*
 * http_private: what the files of the HTTP server share: http_server.c (listening, limits), http_conn.c (one
 * connection: bytes in, bytes out, its states), http_request.c (the user's functions on a request), http_account.c (who
 * holds how much), and the two ways in which answers go out (struct http_way): http1.c and http2_conn.c.
 *
 * A connection of HTTP/1.1 has one request at a time, which is part of it. One of HTTP/2 (`session` is set) has a list
 * of streams with a request each; the request that is part of it stands only for the connection itself in its user's
 * account. Users cannot tell which they have.
 *
 * Bytes out: answers gather in `plain`; once a turn a dirty connection is flushed: `plain` is encrypted into the
 * server's scratch buffer (or taken as is), offered to the socket at once, and only what the socket did not take is
 * copied to `wire` and waits there. Nothing more is encrypted before `wire` is empty, so a slow reader costs plain
 * bytes only.
 *
 * Memory: every connection stays allocated until its socket is closed, and until its request was answered where the
 * user has no `closed`.
 */
#ifndef BERTH_NET_HTTP_PRIVATE_H
#define BERTH_NET_HTTP_PRIVATE_H

#include <openssl/ssl.h>

#include "base/arena.h"
#include "base/map.h"
#include "net/http2.h"
#include "net/http_parse.h"
#include "net/http_server.h"
#include "net/loop_uv.h"

/* What a connection waits for; the rules are the table in http_server.c. */
enum http_phase {
    PHASE_HANDSHAKE, /* TLS, and the first byte of the first request */
    PHASE_IDLE,      /* the next request */
    PHASE_HEAD,      /* the rest of a head */
    PHASE_BODY,      /* the rest of a body */
    PHASE_BUSY,      /* the user's answer */
    PHASE_LINGER,    /* the peer's end, after ours */
    PHASE_CLOSED,    /* libuv's last callback, or the user's answer to nobody */
};

/* The request in the user's hands. */
enum http_request_state {
    REQUEST_NONE,    /* still being read */
    REQUEST_OPEN,    /* to be answered */
    REQUEST_STREAM,  /* answered in part */
    REQUEST_ANSWERED /* to be finished at the next flush */
};

struct http_conn;
struct http_request;

/* How answers go out. */
struct http_way {
    void (*answer)(struct http_request *r, int status, const char *content_type, struct str body,
                   bool head_only);
    void (*begin)(struct http_request *r, int status, const char *content_type);
    void (*write)(struct http_request *r, struct str bytes);
    void (*end)(struct http_request *r);
    size_t (*waiting)(const struct http_request *r);
    void (*dirty)(struct http_request *r);  /* flush at the end of this turn */
    void (*forget)(struct http_request *r); /* it was answered, to nobody */
};
extern const struct http_way http1_way, http2_way;

struct http_request {
    struct http_conn *conn;
    const struct http_way *way;
    enum http_request_state state;
    bool gone; /* nobody takes the answer any more */
    bool cut;  /* to be ended in the middle, at the next flush */
    /* What counts for whom, see http_account.c */
    struct http_account *account; /* NULL: none yet */
    size_t body;                  /* bytes that the account has counted for its body */
    size_t counted;               /* of the server's `waiting` */
    bool known;                   /* the account is a user's */
    bool admitted;                /* `head` was asked about the request */
    bool chunked;                 /* the stream under way is */
    bool wants_drain;
    struct http_parse parse;
    struct arena arena;
    struct buf added; /* header lines of the answer to come */
    void *user;
    void (*closed)(void *user);
    void (*drained)(void *user);
    bool (*received)(void *user, struct str bytes); /* the connection carries another protocol */
    bool held;                                      /* and nothing of it may come for now */
};

/* Connections of strangers, or of one user, the oldest first. */
struct http_line {
    struct http_conn *first, **end;
};

/* A request of HTTP/2. */
struct http_stream {
    struct http_request request;
    struct http2_stream wire;
    struct http_stream *next, **prev; /* all of the connection */
    struct http_stream *next_ready;   /* complete, and not yet handed to the user */
    struct http_stream *next_touched; /* bytes were sent, or it was closed */
    bool is_ready, touched;
    bool closed, closed_whole; /* the session has forgotten it */
    int64_t since;             /* mono ns: when the request began */
    int64_t progress;          /* mono ns: when bytes were last sent, or first waited */
};

struct http_conn {
    struct http_request request;
    struct http_server *server;
    struct http_conn *next, **prev; /* all of the server */
    struct http_conn *next_dirty;
    struct http2 *session; /* NULL: HTTP/1.1 */
    struct http_stream *streams;
    size_t n_streams;
    struct http_stream *ready, **ready_end, *touched;
    bool chosen;            /* which of the two it is */
    struct http_line *line; /* of its user's account, or of strangers; NULL: in none */
    struct http_conn *line_next, **line_prev;
    bool dirty;
    bool writing; /* `wire` is with libuv */
    bool eof;     /* the peer sent its end */
    bool reading;
    bool close_after; /* no further request on this connection */
    bool ending;      /* our close_notify is on its way */
    bool fin_sent;
    enum http_phase phase;
    int64_t since;    /* mono ns: when the phase began */
    int64_t progress; /* mono ns: when the peer last took bytes */
    size_t queued;    /* that the peer had not taken then */
    uv_tcp_t tcp;
    uv_write_t write;
    SSL *ssl;
    struct str tls_in;          /* bytes from the peer that OpenSSL has not read */
    struct buf pending;         /* bytes after the request under way */
    struct buf plain;           /* answers, to be encrypted */
    size_t plain_at;            /* up to here they are */
    struct buf wire, wire_next; /* with the socket; and what must follow */
    struct buf cn, org;         /* of the client certificate */
    bool subject_read, subject_ok;
    char peer[64];
};

struct http_server {
    struct http_server_options o;
    struct loop *loop;
    struct clock *clock;
    char *host;
    uv_tcp_t listener;
    bool listening;
    bool plain_http2; /* HTTP/2 without TLS, by prior knowledge: on loopback alone */
    size_t streams;   /* of all connections */
    struct http_conn *conns;
    struct http_line strangers;
    struct map accounts;                /* name -> struct http_account */
    size_t bodies;                      /* bytes counted for all of them */
    struct http_conn *dirty, *flushing; /* to be flushed this turn; being flushed */
    bool flush_planned;
    bool starved; /* a connection waits to be accepted until there is memory */
    struct timer *sweep;
    int64_t sweep_ns;
    int64_t stop_at; /* mono ns; 0: not stopping */
    bool stop_planned;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
    bool freed;
    size_t handles; /* not yet closed by libuv */
    struct http_server_stats stats;
    size_t waiting;     /* bytes for all peers, as of each one's last flush */
    struct buf scratch; /* ciphertext of one flush */
    char date[48];      /* "Date: ...\r\n" of date_at */
    int64_t date_at;
    char read_buf[64 << 10];
    char text_buf[16 << 10]; /* what SSL_read gives */
};

/* http_account.c: what one user, or an address, holds. A connection of HTTP/2 and each of its streams count alike. */
void http_account_begin(struct http_conn *c);    /* it is a stranger */
void http_account_end(struct http_conn *c);      /* it is gone */
void http_account_leave(struct http_request *r); /* a stream is gone */
bool http_account_join(struct http_request *r,
                       struct str user); /* false: that user has too many connections */
/* The user of the connection has too many, this one among them. */
bool http_account_full(const struct http_conn *c);
/* So many bytes of a body are to be expected. 0, or the status of a refusal. */
int http_account_body(struct http_request *r, size_t bytes);
const char *http_account_refusal(int status);                    /* the text of such a refusal */
void http_account_waiting(struct http_request *r, size_t bytes); /* so many wait for it now */
/* Should it be cut? All requests together wait for more than out_total, this one for more than its part, and its
 * peer took nothing since `progress` but long ago; beyond twice out_total it may take what it likes. */
bool http_account_greedy(const struct http_request *r, int64_t progress);
/* Who makes room: the oldest stranger without a request under way, else one that asks again and again before it has
 * heard, else such a connection of whoever has the most of them, and more than a share; or NULL. */
struct http_conn *http_account_oldest(struct http_server *s);
/* http_conn.c */
void http_conn_accept(struct http_server *s);
void http_conn_dirty(struct http_conn *c); /* flush at the end of this turn */
void http_conn_flush(struct http_conn *c);
void http_conn_phase(struct http_conn *c, enum http_phase phase);
void http_conn_refuse(struct http_conn *c, int status, const char *text);
void http_conn_abort(struct http_conn *c);
bool http_conn_upgraded(const struct http_conn *c); /* and not yet ended by the user */
void http_conn_finish(struct http_conn *c);         /* close in order once nothing waits */
size_t http_conn_waiting(const struct http_conn *c);
size_t http_conn_queued(const struct http_conn *c); /* with the socket and the kernel */
bool http_conn_greedy(struct http_conn *c);         /* http_account_greedy; counts it on the way */
void http_conn_free_now(struct http_conn *c);
bool http_conn_push(
    struct http_conn *c); /* moves `plain` to the socket as far as it goes; false: it is gone */
void http_conn_end(struct http_conn *c); /* our end, once nothing waits; then the peer's */
void http_status_body(struct buf *b, int status, const char *text); /* a Status */
/* http2_conn.c */
bool http2_conn_begin(struct http_conn *c); /* false: no memory */
void http2_conn_input(struct http_conn *c, struct str in);
void http2_conn_flush(struct http_conn *c);
void http2_conn_gone(struct http_conn *c);    /* the peer is */
void http2_conn_release(struct http_conn *c); /* and nobody is to touch a request any more */
void http2_conn_sweep(struct http_conn *c, int64_t now);
bool http2_conn_busy(const struct http_conn *c); /* a request is in the user's hands */
/* http_server.c */
void http_server_flush_soon(struct http_server *s);
void http_server_sweep_start(struct http_server *s);
void http_server_conn_gone(struct http_server *s);
void http_server_maybe_free(struct http_server *s);
const char *http_server_date(struct http_server *s);
/* http_request.c */
void http_request_init(struct http_request *r, struct http_conn *c);
void http_request_release(struct http_request *r);
void http_request_end(struct http_request *r); /* calls closed; ready for the next */
bool http_request_in_hands(
    const struct http_request *r); /* the user is to answer it, or to end the answer */
/* Asks once whether the body may come; false: the answer is given, or will be, without it. */
bool http_request_admit(struct http_request *r);
bool http_request_is_head(const struct http_request *r);

#endif
