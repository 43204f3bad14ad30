/*
 * http_answer: bytes to one answer of HTTP/1.x at a time, over llhttp; its body is passed on as it comes. No
 * sockets; for http_peer and the fuzzer.
 *
 * Strict: what two parsers could read in two ways is refused, as a server that is not understood may be made to
 * answer one client with what is another's. Beyond llhttp's own rules: a Transfer-Encoding is exactly "chunked" and
 * never beside a Content-Length or in HTTP/1.0, no folded or control bytes in values, no underscore twins of framing
 * headers, no 101 (nobody asks for it). Interim answers (1xx) are skipped, at most HTTP_ANSWER_INTERIM_MAX of them.
 * The head is bounded by LIMIT_HTTP_HEADER_BYTES and LIMIT_HTTP_HEADERS. Trailers are dropped.
 */
#ifndef BERTH_NET_PEERS_HTTP_ANSWER_H
#define BERTH_NET_PEERS_HTTP_ANSWER_H

#include <llhttp.h>

#include "base/buf.h"
#include "net/http_parse.h"

enum { HTTP_ANSWER_INTERIM_MAX = 8 };

enum http_answer_result {
    HTTP_ANSWER_MORE,
    HTTP_ANSWER_WHOLE,
    HTTP_ANSWER_BAD,
    HTTP_ANSWER_STOPPED
};

struct http_answer {
    llhttp_t llhttp;
    struct buf head; /* names and values */
    struct http_field_vec fields;
    size_t n_head; /* fields of the head; later ones are trailers */
    size_t raw;    /* bytes seen before the end of the head */
    size_t extra;  /* bytes of chunk extensions and trailers */
    int interim;
    bool to_head; /* it answers a HEAD: no body follows */
    bool whole, stopped;
    int status;          /* of the answer, once its head is complete */
    int64_t length;      /* Content-Length; -1: not said */
    bool keep_alive;     /* valid after HTTP_ANSWER_WHOLE */
    const char *trouble; /* after HTTP_ANSWER_BAD */
    /* Set by the owner. False stops: nothing more is parsed. */
    bool (*on_head)(void *ctx, struct http_answer *a);
    bool (*on_body)(void *ctx, struct str bytes);
    void *ctx;
};

void http_answer_init(struct http_answer *a);
void http_answer_release(struct http_answer *a);
void http_answer_next(struct http_answer *a, bool to_head); /* ready for the next answer */
/* *ret_used: bytes of `in` that belong to this answer; all of them with HTTP_ANSWER_MORE. */
enum http_answer_result http_answer_feed(struct http_answer *a, struct str in, size_t *ret_used);
/* The peer's end: HTTP_ANSWER_WHOLE when it is the end of the body, too. */
enum http_answer_result http_answer_eof(struct http_answer *a);
bool http_answer_begun(const struct http_answer *a); /* a byte of it has come */

/* Valid from on_head until http_answer_next. */
bool http_answer_at(const struct http_answer *a, size_t i, struct str *ret_name, struct str *ret);
bool http_answer_header(const struct http_answer *a, struct str name, size_t nth, struct str *ret);

#endif
