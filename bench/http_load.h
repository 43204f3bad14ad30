/*
 * http_load: many keep-alive TLS connections on one thread, each sending a request as soon as it has the answer
 * to the last.
 *
 * Only what the benchmarks need of HTTP/1.1: answers with Content-Length or in chunks, no redirects, no pipelining.
 */
#ifndef BERTH_BENCH_HTTP_LOAD_H
#define BERTH_BENCH_HTTP_LOAD_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOAD_REQUEST_MAX = 8192 };

struct load_conn;

struct load {
    SSL_CTX *tls;
    int port; /* on 127.0.0.1 */
    size_t connections;
    size_t requests; /* in all */
    /* Writes request i into out (LOAD_REQUEST_MAX bytes); its length. */
    size_t (*request)(void *ctx, size_t i, char *out);
    void *ctx;
    int status;       /* that every answer must have */
    int64_t *latency; /* of each request, ns; room for `requests` */
    double seconds;   /* result, without the handshakes */
};

/* 0, or -1 with a line on stderr. */
int load_run(struct load *l);

/* A stream that is only read: bytes as they come after the answer's header, chunk framing included. */
struct load_stream;
struct load_stream *load_open(SSL_CTX *tls, int port, const char *request, size_t n);
int load_write(struct load_stream *s, const char *p, size_t n); /* 0, or -1; for small requests */
int load_fd(const struct load_stream *s);
/* What there is now: bytes read, 0 when nothing, -1 at the end. */
int load_read(struct load_stream *s, char *out, size_t cap);
void load_close(struct load_stream *s);

#endif
