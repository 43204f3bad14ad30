/*
 * http_client: HTTP requests on the loop, over libcurl, which is loaded when the first client is made.
 *
 * Peers are always verified, against the given CA or the system's; redirects are not followed; nothing but http and
 * https is spoken; a proxy is used only when given. Answers come on the loop thread, never inside http_client_send.
 * Calls of one client share connections: one for many calls at once where both sides speak HTTP/2, else kept alive and
 * used one after the other. A peer that does not acknowledge what was sent is given up after half a minute, one that
 * says nothing at all after a minute without answers to keep-alive probes.
 */
#ifndef BERTH_NET_HTTP_CLIENT_H
#define BERTH_NET_HTTP_CLIENT_H

#include "base/buf.h"
#include "base/err.h"
#include "net/loop.h"

struct http_client;
struct http_call;

/* All may be empty. PEM bytes win over files; everything is copied. */
struct http_client_options {
    struct str ca_pem, cert_pem, key_pem;
    struct str ca_file, cert_file, key_file;
    /* "http://proxy:3128", "https://...", "socks5://..." (we look names up), "socks5h://..." */
    struct str proxy;
    struct str user_agent;
    /* What the server's certificate must be for, instead of the URL's host; also sent as SNI */
    struct str tls_name;
    struct str tls_origin; /* with tls_name: "https://host:port", to which it applies */
    /* No HTTP/2: a call that is paused stops its peer soon, not after megabytes, and no other call */
    bool one_by_one;
};
/* ERR_UNSUPPORTED when libcurl cannot be loaded. */
int http_client_new(struct loop *l, const struct http_client_options *o, struct http_client **ret,
                    struct err *err);
/* Another client certificate for calls made from now on. Empty: none. ERR_NOMEM. */
int http_client_set_identity(struct http_client *c, struct str cert_pem, struct str key_pem,
                             struct err *err);
void http_client_free(struct http_client *c); /* cancels all calls; not inside data or done */

/* What an answer says before its body; valid during the call. */
struct http_head {
    int status;
    struct str lines; /* header lines as they came */
};
/* The i-th value of a header, any case; false when there are no more. */
bool http_head_nth(const struct http_head *h, const char *name, size_t i, struct str *ret);

struct http_reply {
    int code; /* 0 when an answer came, whatever its status; else the transport's trouble: ERR_UNAVAILABLE,
                        ERR_TIMEOUT, ERR_TOO_LARGE, ERR_NOMEM; ERR_GONE when `data` ended it */
    struct err err;
    int status;            /* 0 when there was none */
    bool sent;             /* a connection stood and the request went out on it, at least in part */
    struct str body;       /* what `data` did not take; valid during the call */
    int64_t retry_after_s; /* -1 when not said */
};

struct http_call_options {
    const char *method;
    struct str url;
    const struct str *headers; /* "Name: value" */
    size_t n_headers;
    struct str body;
    bool lasting;       /* the body stays valid until done; else it is copied */
    int64_t timeout_ms; /* of the whole call; 0: none */
    size_t body_max;    /* of the answer, where it is gathered; 0: 64 MiB */
    /* Told once, before the body; may be NULL. Neither cancels nor starts calls. */
    void (*head)(void *ctx, const struct http_head *h);
    /* Takes the bytes of an answer with status 2xx as they come; NULL: they are gathered. Other answers are always
     * gathered. False ends the call. */
    bool (*data)(void *ctx, struct str bytes);
    /* Asked when a connection stands, right before the request goes out on it; false: ERR_UNAVAILABLE. May be NULL. */
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
    void (*done)(void *ctx,
                 const struct http_reply *r); /* exactly once; the call is freed after it */
    void *ctx;
};
int http_client_send(struct http_client *c, const struct http_call_options *o,
                     struct http_call **ret, struct err *err);
/* Stops and goes on taking the answer from the peer: for `data` that cannot keep up. Also from within it. After going
 * on, data and done may come inside this call. */
void http_call_pause(struct http_call *call, bool paused);
void http_call_cancel(struct http_call *call); /* neither data nor done is called any more */

#endif
