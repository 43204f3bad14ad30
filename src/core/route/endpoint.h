/*
 * endpoint (core): the servers of one model, what is known of each, and which of them gets a request.
 *
 * One choice goes through these steps, each of which only narrows:
 *
 *   1. usable      ready, not draining, health allows it, below its limit, not tried by this request yet.
 *   2. group a canary and the rest share by weight, exactly: smooth weighted round robin (each turn everyone gains
 *     its
 *                  weight, the largest is chosen and loses the sum; nginx's ngx_http_upstream_round_robin). A group
 *                  without a usable endpoint is left out.
 *   3. zone the own one, while its mean load is at most 1.2 times the mean of all + 1; a second try goes to a zone
 *                  where the first did not fail, or waits for room there, while one of it is healthy.
 *   4. affinity within a bound: an endpoint is skipped while it has more than ENDPOINT_BOUND / 100 of the mean,
 *     rounded
 *                  up, and more than ENDPOINT_FEW (consistent hashing with bounded loads, Mirrokni, Thorup,
 *                    Zadimoghaddam 2016):
 *                    session the first by rendezvous hashing (Thaler, Ravishankar 1998): when one endpoint goes, only
 *                      its
 *                             sessions move;
 *                    prefix who has seen the longest part of the prompt, of at least ENDPOINT_BLOCKS blocks
 *                      (prefix.h);
 *                    adapter  those that have the LoRA adapter loaded.
 *   5. load the best of all where there are up to ENDPOINT_SCAN, else of two at random (the power of two choices,
 *                  Mitzenmacher 2001), ties at random.
 *
 * Load is what this gateway has outstanding there, or, with ENDPOINT_BY_METRICS, a score of what the servers tell:
 * waiting requests and outstanding ones, each from 0 (the least of the candidates) to 1 (the most), and the use of
 * the cache; weights 2, 1 and 2. Metrics older than ENDPOINT_STALE count as full.
 *
 * Slow start: what became ready a short while ago counts its load as more, by 10 at first and less as time goes on,
 * until ENDPOINT_SLOW is over (Envoy's slow start, aggression 1).
 *
 * Everything is decided by the state, the request, the time and the generator's seed.
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
    uint32_t id; /* of this incarnation, never 0: another one after a restart */
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

/* Zeroed is empty. Its owner adds, changes and takes out endpoints; places move when one is taken out. */
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

enum endpoint_none { /* why nobody gets it */
                     ENDPOINT_CHOSEN,
                     ENDPOINT_NO_READY, /* hold it: there is none, or none is ready */
                     ENDPOINT_NO_ROOM,  /* all are at their limit: wait, or 429 */
                     ENDPOINT_ALL_BAD,  /* health keeps all of them out: 503 */
};

/* The place of the chosen one. Nothing is counted yet but the groups' turn. */
enum endpoint_none endpoint_choose(struct endpoint_pool *e, const struct endpoint_request *r,
                                   int64_t now, size_t *ret_place);
void endpoint_sent(struct endpoint *x);
enum endpoint_end { ENDPOINT_WELL, ENDPOINT_FAILED, ENDPOINT_UNTOLD };
/* By id: it may be gone meanwhile. */
void endpoint_ended(struct endpoint_pool *e, uint32_t id, enum endpoint_end end, int64_t now);

struct endpoint *endpoint_find(struct endpoint_pool *e, uint32_t id);
/* NULL: there are ENDPOINTS_MAX. Not ready. */
struct endpoint *endpoint_add(struct endpoint_pool *e, uint32_t id);
void endpoint_drop(struct endpoint_pool *e, uint32_t id);
void endpoint_ready(struct endpoint *x, bool ready, int64_t now);
/* All of them beyond what they can do well: the mean of max(waiting / 5, cache / 0.8) is 1 or more (the saturation
 * detector of Gateway API Inference Extension). Then requests wait in line (held.h). */
bool endpoint_saturated(const struct endpoint_pool *e, int64_t now);

#endif
