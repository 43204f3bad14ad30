/*
 * retry (core): whether a request may be sent again, to another endpoint.
 *
 * It may only while no part of an answer has gone to the client, for causes where the endpoint did not do the work (or
 * repeating it does no harm), at most RETRY_TRIES times, and within a budget: retries are limited to a share of the
 * traffic, so that they do not make an outage worse. The budget is Finagle's: each request deposits `share`, a retry
 * takes 1, and a small reserve refills with time, so that a service with little traffic may retry as well.
 */
#ifndef BERTH_CORE_ROUTE_RETRY_H
#define BERTH_CORE_ROUTE_RETRY_H

#include <stdbool.h>
#include <stdint.h>

enum { RETRY_TRIES = 2, RETRY_PPM = 1000000 };

enum retry_cause {
    RETRY_CONNECT,  /* no connection, or it was reset before a byte of the request was read */
    RETRY_RESET,    /* reset before the answer's headers */
    RETRY_GATEWAY,  /* 502, 503, 504 */
    RETRY_BUSY,     /* 429 of one pod */
    RETRY_SERVER,   /* 500 and others: the model failed, and would again */
    RETRY_TIMED_OUT /* no first byte in time: the work may still go on */
};

struct retry_request {
    bool answered;  /* a byte of the answer was forwarded */
    bool effects;   /* it stores something (stored responses, batches) and has no idempotency key */
    bool body_gone; /* the body was not kept */
    int32_t retries; /* so far */
};

struct retry_budget {
    int64_t share;   /* of RETRY_PPM: what a request deposits */
    int64_t most;    /* of RETRY_PPM: the largest balance */
    int64_t reserve; /* retries a second that are free */
    int64_t balance, at;
};

/* share 150000: 15 %. */
void retry_init(struct retry_budget *b, int64_t share_ppm, int64_t reserve_per_s, int64_t now);
void retry_request(struct retry_budget *b, int64_t now); /* counts a first try */
/* Whether the request may be sent again; if so, the budget is charged. */
bool retry_may(struct retry_budget *b, const struct retry_request *r, enum retry_cause cause,
               int64_t now);

#endif
