/*
 * http_parse: bytes to one HTTP/1.x request at a time, over llhttp, or the fields and bytes of one of HTTP/2
 * (net/http2.h), by the same rules. No sockets; for http_server and the fuzzers.
 *
 * Strict: what two parsers could read in two ways is refused. Beyond llhttp's own rules: one well-formed Host, a
 * Transfer-Encoding of exactly "chunked" and never with HTTP/1.0, no folded or control bytes in values, no underscore
 * twins of framing headers, an origin-form target (or an absolute one that names the same Host) whose path has no
 * empty, "." or ".." segments, no %00 and only valid UTF-8, no trailers that name framing, routing or credentials.
 * Sizes are bounded by LIMIT_HTTP_HEADER_BYTES, LIMIT_HTTP_HEADERS and body_max.
 *
 * After HTTP_MESSAGE or HTTP_ERROR nothing is parsed until http_parse_next; memory is kept from message to message.
 */
#ifndef BERTH_NET_HTTP_PARSE_H
#define BERTH_NET_HTTP_PARSE_H

#include <llhttp.h>

#include "base/buf.h"
#include "base/vec.h"

struct http_field { /* offsets into head */
    uint32_t name, name_n, value, value_n;
};
VEC(http_field_vec, struct http_field);

enum http_parse_state { HTTP_AT_START, HTTP_IN_HEAD, HTTP_IN_BODY, HTTP_COMPLETE, HTTP_FAILED };
enum http_parse_result { HTTP_MORE, HTTP_MESSAGE, HTTP_ERROR };

struct http_parse {
    llhttp_t llhttp;
    enum http_parse_state state;
    struct buf head; /* the target, then names and values */
    struct buf body;
    struct http_field_vec fields;
    size_t n_head; /* fields of the head; later ones are trailers */
    size_t target_n,
        target_from; /* the target's end in head; target_from skips "http://host" of an absolute one */
    size_t raw;      /* bytes seen before the end of the head */
    size_t extra;    /* bytes of chunk extensions and trailers */
    size_t body_max;
    bool keep_alive;  /* valid after HTTP_MESSAGE */
    bool expects;     /* the client waits for 100 Continue; the user clears it */
    bool old;         /* HTTP/1.0 */
    int status;       /* after HTTP_ERROR: 400, 405, 413, 417, 431, 500 or 505 */
    const char *text; /* and why */
};

void http_parse_init(struct http_parse *p, size_t body_max);
void http_parse_release(struct http_parse *p);
void http_parse_next(struct http_parse *p);   /* ready for the next message */
void http_parse_shrink(struct http_parse *p); /* gives kept memory back; between messages only */
/* *ret_used: bytes of `in` that belong to this message; all of them with HTTP_MORE. */
enum http_parse_result http_parse_feed(struct http_parse *p, struct str in, size_t *ret_used);

/*
 * HTTP/2, whose session has checked what RFC 9113 says of fields: each field, pseudo-fields in front; then the end of
 * the head, after which state is HTTP_IN_BODY or HTTP_FAILED; then bytes of the body, fields of trailers, and the end,
 * after which it is HTTP_COMPLETE or HTTP_FAILED. What comes after a failure is ignored.
 */
void http_parse_field(struct http_parse *p, struct str name, struct str value);
void http_parse_head_end(struct http_parse *p);
void http_parse_bytes(struct http_parse *p, struct str bytes);
void http_parse_end(struct http_parse *p);
void http_parse_refuse(struct http_parse *p, int status, const char *text); /* text is not copied */
/* Bytes of the body that have come, and that are known to come. */
size_t http_parse_body_size(const struct http_parse *p);

/* Valid from the end of the head until http_parse_next. */
struct str http_parse_method(const struct http_parse *p);
struct str http_parse_target(const struct http_parse *p); /* from the '/' on, with the query */
bool http_parse_header_at(const struct http_parse *p, size_t i, struct str *ret_name,
                          struct str *ret);
bool http_parse_header(const struct http_parse *p, struct str name, size_t nth, struct str *ret);

#endif
