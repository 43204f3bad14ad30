/*
 * endpoint (core): the servers of one model, their known load and health, and which of them gets a request.
 *
 * A choice takes these steps; each one narrows the candidates:
 *
 *   1. usable: ready, not draining, healthy, below its limit, and not yet tried by this request.
 *   2. group: a canary and the other endpoints share exactly by weight, with smooth weighted round robin (in each
 *      turn every group gains its weight; the largest is chosen and loses the sum; nginx's
 *      ngx_http_upstream_round_robin). A group without a usable endpoint is left out.
 *   3. zone: the gateway's own zone, while its mean load is at most 1.2 times the mean of all + 1. A retry goes to a
 *      zone in which the first try did not fail, or waits for room there while that zone has a healthy endpoint.
 *   4. affinity, with bounded load: an endpoint is skipped while its load is above ENDPOINT_BOUND / 100 of the mean,
 *      rounded up, and above ENDPOINT_FEW (consistent hashing with bounded loads, Mirrokni, Thorup, Zadimoghaddam
 *      2016). In this order:
 *        - session: the first endpoint by rendezvous hashing (Thaler, Ravishankar 1998), so that only the sessions
 *          of an endpoint that disappears move;
 *        - prefix: the endpoint that has seen the longest part of the prompt, at least ENDPOINT_BLOCKS blocks
 *          (prefix.h);
 *        - adapter: endpoints that have the LoRA adapter loaded.
 *   5. load: the least loaded of all, up to ENDPOINT_SCAN of them, else of two random ones (the power of two
 *      choices, Mitzenmacher 2001); ties are broken at random.
 *
 * Load is the number of requests that this gateway has outstanding there. With ENDPOINT_BY_METRICS it is a score from
 * the servers' metrics: waiting and outstanding requests, each scaled from 0 (least of the candidates) to 1 (most),
 * and the use of the cache, with the weights 2, 1 and 2. Metrics older than ENDPOINT_STALE count as full.
 *
 * Slow start: the load of an endpoint that has just become ready counts 10 higher, and less so as time passes, until
 * ENDPOINT_SLOW is over (Envoy's slow start, aggression 1).
 *
 * The state, the request, the time and the generator's seed determine every decision.
 */
#ifndef BERTH_CORE_ROUTE_ENDPOINT_H
#define BERTH_CORE_ROUTE_ENDPOINT_H

#include "base/prng.h"
#include "core/route/health.h"
#include "core/route/prefix.h"

enum {
    ENDPOINTS_MAX = 1024,
    ENDPOINT_GROUPS_MAX = 8,
    ENDPOINT_ADAPTERS_MAX = 32,
    ENDPOINT_SCAN = 16,
    ENDPOINT_BOUND = 125,
    ENDPOINT_FEW = 4,
    ENDPOINT_BLOCKS = 2,
    ENDPOINT_TRIED_MAX = 8,
};
#define ENDPOINT_STALE INT64_C(200000000)  /* ns */
#define ENDPOINT_SLOW INT64_C(30000000000) /* ns */

struct endpoint_metrics {
    int32_t running, waiting;
    double cache; /* 0 to 1 */
    int64_t at;   /* when; 0: never */
};

struct endpoint {
    uint32_t id; /* never 0; a restarted server gets a new one */
    uint32_t zone, group;
    bool ready, draining;
    int32_t outstanding, limit; /* 0: none */
    int64_t ready_at;
    struct endpoint_metrics metrics;
    struct endpoint_health health;
    uint64_t adapters[ENDPOINT_ADAPTERS_MAX];
    size_t n_adapters;
};

struct endpoint_group {
    int32_t weight; /* 0: gets nothing */
    int64_t credit; /* of smooth weighted round robin */
};

enum endpoint_policy { ENDPOINT_BY_OUTSTANDING, ENDPOINT_BY_METRICS };

/* Zeroed is empty. The owner adds, changes and removes endpoints; a removal changes the places of others. */
struct endpoint_pool {
    struct endpoint v[ENDPOINTS_MAX];
    size_t n;
    struct endpoint_group groups[ENDPOINT_GROUPS_MAX];
    enum endpoint_policy policy;
    uint32_t own_zone; /* 0: zones do not matter */
    struct prng prng;
};

struct endpoint_request {
    uint64_t session, adapter; /* hashes; 0: none */
    const struct prefix_match *prefixes;
    size_t n_prefixes;
    uint32_t tried[ENDPOINT_TRIED_MAX]; /* ids */
    size_t n_tried;
};

enum endpoint_none { /* why no endpoint was chosen */
                     ENDPOINT_CHOSEN,
                     ENDPOINT_NO_READY, /* hold the request: there is no endpoint, or none is ready */
                     ENDPOINT_NO_ROOM, /* all are at their limit: wait, or 429 */
                     ENDPOINT_ALL_BAD, /* all are unhealthy: 503 */
};

/* The place of the chosen endpoint. Only the groups' turn is counted; endpoint_sent counts the request. */
enum endpoint_none endpoint_choose(struct endpoint_pool *e, const struct endpoint_request *r,
                                   int64_t now, size_t *ret_place);
/* What the choice would say, without one. */
enum endpoint_none endpoint_room(struct endpoint_pool *e, const struct endpoint_request *r,
                                 int64_t now);
void endpoint_sent(struct endpoint *x);
enum endpoint_end { ENDPOINT_WELL, ENDPOINT_FAILED, ENDPOINT_UNTOLD };
/* By id, because the endpoint may be gone by now. */
void endpoint_ended(struct endpoint_pool *e, uint32_t id, enum endpoint_end end, int64_t now);

struct endpoint *endpoint_find(struct endpoint_pool *e, uint32_t id);
/* The new endpoint is not ready. NULL: there are ENDPOINTS_MAX already. */
struct endpoint *endpoint_add(struct endpoint_pool *e, uint32_t id);
void endpoint_drop(struct endpoint_pool *e, uint32_t id);
void endpoint_ready(struct endpoint *x, bool ready, int64_t now);
/* All endpoints are overloaded: the mean of max(waiting / 5, cache / 0.8) is 1 or more (the saturation
 * detector of Gateway API Inference Extension). Then requests wait in line (held.h). */
bool endpoint_saturated(const struct endpoint_pool *e, int64_t now);

#endif
