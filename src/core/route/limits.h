/*
 * limits (core): the limits of a request's key, project and model, on requests, on tokens and on concurrent streams.
 *
 * All or nothing: a request that one limit refuses is charged to none. Tokens are charged by an estimate of the prompt
 * and the answer, and settled when the request is over. A refusal says which limit it was and when to try again. The
 * x-ratelimit-* headers describe the limit that is nearest to exhaustion.
 */
#ifndef BERTH_CORE_ROUTE_LIMITS_H
#define BERTH_CORE_ROUTE_LIMITS_H

#include "core/route/bucket.h"

enum limits_kind { LIMITS_REQUESTS, LIMITS_TOKENS, LIMITS_STREAMS, LIMITS_NONE };
enum { LIMITS_SETS_MAX = 8 };

/* Of one key, project or model. */
struct limits_set {
    struct bucket requests, tokens;
    int64_t streams_max, streams; /* 0: any number */
};

struct limits_answer {
    enum limits_kind refused; /* LIMITS_NONE: it passed */
    size_t set;               /* which of the sets refused */
    int64_t wait;             /* ns until it may pass; 0 for streams: unknown */
};

/* Limits a minute; 0: none. */
void limits_init(struct limits_set *s, int64_t requests, int64_t tokens, int64_t streams,
                 int64_t now);
/* Charges all of the sets, or none. */
struct limits_answer limits_take(struct limits_set *const *sets, size_t n, int64_t tokens,
                                 int64_t now);
/* The request is over: it used `tokens`; `charged` had been charged. */
void limits_give(struct limits_set *const *sets, size_t n, int64_t charged, int64_t tokens,
                 int64_t now);

#endif
