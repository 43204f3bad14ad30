/*
 * health (core): the health of an endpoint, by the outcome of its requests. Passive: the caller runs the probes and
 * sets `ready`.
 *
 *     state     until                                        then
 *     closed    HEALTH_FAILURES failures in a row            open, if at most half of the pool is open then
 *     open      base * 2^(times - 1), at most HEALTH_LONGEST  half: one request at a time
 *     half      HEALTH_SUCCESSES successes                   closed; after a failure open again, for longer
 *
 * Failures are failed connections, resets, 5xx, and timeouts before the first byte. Errors of the client (4xx) count
 * neither as failure nor as success. `times` decreases by one for each HEALTH_FORGETS that the endpoint was closed, as
 * in Envoy's outlier detection, whose defaults these are (5 failures, 10 s, 300 s). At least half of the pool always
 * stays in use: when everything fails, the endpoints are not the cause.
 */
#ifndef BERTH_CORE_ROUTE_HEALTH_H
#define BERTH_CORE_ROUTE_HEALTH_H

#include <stdbool.h>
#include <stdint.h>

enum { HEALTH_FAILURES = 5, HEALTH_SUCCESSES = 2, HEALTH_TIMES_MAX = 16 };
#define HEALTH_BASE INT64_C(10000000000)
#define HEALTH_LONGEST INT64_C(300000000000)
#define HEALTH_FORGETS INT64_C(30000000000)

enum health_state { HEALTH_CLOSED, HEALTH_OPEN, HEALTH_HALF };

/* Zeroed: closed, without failures. */
struct endpoint_health {
    enum health_state state;
    int32_t failures, successes; /* in a row */
    int32_t times;               /* how often it opened, less those forgotten */
    int64_t since, until;        /* of the state; of open */
    bool trial;                  /* half: the one request is out */
};

/* May a request be sent now? Moves from open to half when its time is over. */
bool health_allows(struct endpoint_health *h, int64_t now);
/* A request is sent: in half it is the trial. */
void health_sent(struct endpoint_health *h);
/* It ended. may_open: what health_may_open says of the pool. True: it opened just now. */
bool health_ended(struct endpoint_health *h, bool failed, bool may_open, int64_t now);
/* It ended without evidence of health: the client went away, or a 4xx. */
void health_untold(struct endpoint_health *h);
/* Whether one more of `n` endpoints may be open when `open` are. */
static inline bool health_may_open(int64_t open, int64_t n) {
    return (open + 1) * 2 <= n;
}

#endif
