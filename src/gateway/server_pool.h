/*
 * server_pool: the servers of one model as one worker sees them: connections, load, health, budget of retries, and
 * the requests that wait for one of them. It joins core/route's pure parts to routes and to net/peers.
 *
 * A pool is freed when its model has left the routes and no request holds it any more. servers[i] belongs to
 * endpoints.v[i].
 */
#ifndef BERTH_GATEWAY_SERVER_POOL_H
#define BERTH_GATEWAY_SERVER_POOL_H

#include "core/route/endpoint.h"
#include "core/route/held.h"
#include "core/route/retry.h"
#include "gateway/routes.h"
#include "net/peers/http_peer.h"

struct gateway_worker;

struct pool_server {
    uint32_t id; /* in the routes */
    uint32_t
        number; /* in `endpoints`: never used again, as a server may leave the routes and come back */
    struct http_peer *peer;
    const struct routes_endpoint *route; /* in the pool's routes */
    size_t backend;
    bool seen; /* in the table that is being taken over */
};

struct server_pool {
    struct gateway_worker *worker;
    const struct routes_model *model; /* in the worker's routes; NULL: it is gone */
    struct str key;                   /* "project/name", behind the pool */
    size_t holders;
    struct pool_server *servers;
    size_t cap;
    uint32_t last_number;
    struct retry_budget retries;
    struct held_queue held;
    bool held_made;
    bool pumping;
    struct prefix_index prefixes;
    bool prefixes_made;
    struct endpoint_pool endpoints; /* large, and mostly untouched */
};

/* NULL: no memory. */
struct server_pool *server_pool_new(struct gateway_worker *w, struct str key, uint64_t seed,
                                    int64_t now);
struct server_pool *server_pool_hold(struct server_pool *p);
void server_pool_drop(struct server_pool *p); /* of a holder; the last one frees it */
/* The model as the worker's new routes have it; NULL: they have it no more. The old routes must still be there. */
void server_pool_take(struct server_pool *p, struct http_peers *peers, const struct routes_model *m,
                      struct str own_zone, int64_t now);
uint64_t server_pool_hash(
    struct str s); /* of sessions and zones: the same in all workers and gateways; never 0 */

#endif
