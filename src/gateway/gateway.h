/*
 * gateway: the workers that pass requests for models on to servers.
 *
 * A gateway has one thread for each worker, each with its own event loop, listening socket (SO_REUSEPORT),
 * connections to servers and view of their load. Workers share the routes (immutable, counted), the limits of keys,
 * and what the interfaces below share. Everything is decided from memory; the API server is never asked while a
 * request waits.
 *
 * How a request goes is in docs/gateway.md and, in parts, in the headers of this room and of core/route.
 */
#ifndef BERTH_GATEWAY_GATEWAY_H
#define BERTH_GATEWAY_GATEWAY_H

#include "base/clock.h"
#include "base/log.h"
#include "gateway/demand.h"
#include "gateway/keys.h"
#include "gateway/observe.h"
#include "gateway/origin.h"
#include "gateway/routes.h"

struct gateway;
struct tls_server;

enum { GATEWAY_WORKERS_MAX = 256 };
/* Defaults, ms. */
enum {
    GATEWAY_CONNECT_MS = 2000,
    GATEWAY_FIRST_BYTE_MS = 600000, /* a long prompt, a busy server */
    GATEWAY_IDLE_MS = 120000,
    GATEWAY_HOLD_MS = 300000,
    GATEWAY_COMMENT_MS = 10000, /* between two comments to a client of a stream that is held */
    GATEWAY_DRAIN_MS = 600000,
};

struct gateway_options {
    struct str host; /* an address; only loopback unless allow_any */
    uint16_t port;   /* 0: any free one, see gateway_port */
    bool allow_any;
    unsigned workers;                  /* 1 to GATEWAY_WORKERS_MAX */
    struct str zone;                   /* the gateway's own; empty: zones do not matter */
    struct tls_server *tls;            /* NULL: plain HTTP */
    size_t body_max;                   /* of a request; 0: 64 MiB */
    size_t connections_max;            /* of clients, of each worker; 0: 20000 */
    size_t held_max;                   /* requests that wait, of each worker; 0: 10000 */
    struct gateway_keys *keys;         /* NULL: no key is asked for, everyone may use everything */
    struct gateway_observer *observer; /* may be NULL */
    struct gateway_demand *demand;     /* may be NULL */
    /* Sockets to servers in another network (net/peers/http_peer.h), on the workers' threads. NULL: the machine's
     * own. */
    int (*socket)(void *ctx, bool v6);
    void *socket_ctx;
    struct gateway_origins origins; /* of web pages that may ask; the texts outlive the gateway */
    struct log *log;
};

/* Starts the workers; they answer 503 until there are routes. ERR_INVALID, ERR_IO, ERR_NOMEM. */
int gateway_start(const struct gateway_options *o, struct gateway **ret, struct err *err);
uint16_t gateway_port(const struct gateway *g);
/* Takes the reference. Any one thread. Workers change over within a turn of their loops; requests that wait are
 * looked at again; no request under way is touched. */
void gateway_set_routes(struct gateway *g, struct routes *r);
/* Accepts no more connections; requests under way, and held ones, may end for up to grace_ms. Then `stopped`
 * is called, on a worker's thread. Once. */
void gateway_stop(struct gateway *g, int64_t grace_ms, void (*stopped)(void *ctx), void *ctx);
/* Joins the threads, having cut what is left. */
void gateway_free(struct gateway *g);

#endif
