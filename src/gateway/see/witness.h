/*
 * witness: the gateway's observer: counts, a line in the access log, trace context for the server, and spans.
 *
 * A request's traceparent is passed on with the gateway's span as the parent. A request without one gets a new trace
 * if spans are collected and the sampling selects it. The sampling decision of a client's traceparent is kept.
 */
#ifndef BERTH_GATEWAY_WITNESS_H
#define BERTH_GATEWAY_WITNESS_H

#include "gateway/see/access_log.h"
#include "gateway/see/spans.h"
#include "gateway/see/tally.h"

enum { WITNESS_ALL = 1000000 };

struct witness {
    struct gateway_observer observer; /* first */
    struct request_tally *tally;
    struct access_log *log;   /* NULL: none */
    struct span_queue *queue; /* NULL: no spans */
    uint64_t sampled;         /* of requests without a traceparent so many of WITNESS_ALL */
    struct {
        uint64_t state;
        char pad[56]; /* a worker's own line of cache */
    } spans[256];
};

/* All are borrowed. */
void witness_init(struct witness *w, struct request_tally *tally, struct access_log *log,
                  struct span_queue *queue, uint64_t sampled, uint64_t seed);

#endif
