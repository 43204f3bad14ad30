/*
 * ask: one question over the network, without blocking: an HTTP request, a connection, a gRPC health check.
 *
 * The owner polls ask.fd for ask_events() and calls ask_step() until it says that the answer is there; then ok and text
 * say what came of it, the text as kubectl's users know it. What is read is bounded. ask_end() may be called at any
 * time, also of a zeroed struct.
 */
#ifndef BERTH_NODE_ASK_H
#define BERTH_NODE_ASK_H

#include "base/buf.h"
#include "node/life/handler.h"

enum { ASK_TEXT = 512, ASK_READ_MAX = 65536, ASK_REDIRECTS = 10 };

struct inquiry {
    const struct handler *h;
    int fd; /* -1: none */
    bool connected, ok;
    int redirects;
    size_t sent;
    struct buf out, in;
    struct buf grpc; /* the message, so far */
    char text[ASK_TEXT];
};

/* h is HTTP, TCP or GRPC, at an address, without TLS. True: it is over already (see ok). */
bool ask_begin(struct inquiry *a, const struct handler *h);
short ask_events(const struct inquiry *a);
bool ask_step(struct inquiry *a);
/* Time is up: ok is false, and text says what was waited for. */
void ask_late(struct inquiry *a, int64_t timeout_s);
void ask_end(struct inquiry *a);

/* What an HTTP answer comes to. False: more of it has to come. At its end (`whole`) it comes to something. */
bool ask_http_judge(struct str answer, bool whole, bool *ret_ok, char text[ASK_TEXT]);
/* The request of an HTTP handler, appended. */
void ask_http_request(const struct handler *h, const char *path, struct buf *out);

/* ask_grpc.c */
void ask_grpc_request(const struct handler *h, struct buf *out);
/* Takes whole frames off `in`, answers to `out`, gathers the message. True: it is over (ok and text). */
bool ask_grpc_frames(struct inquiry *a);

/* ask_child.c: the same, blocking, for a process of its own: names are looked up, TLS is spoken (the certificate is
 * not looked at, as in Kubernetes). Writes an HTTP answer, or what went wrong, to descriptor `out`. 0: connected, and
 * the answer, if any, was written. */
int ask_child(const struct handler *h, int out);

#endif
