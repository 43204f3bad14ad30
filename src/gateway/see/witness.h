/*
 * witness: the gateway's observer: counts, a line in the access log, trace context for the server, and spans.
 *
 * A traceparent that came is passed on with a span of the gateway between. Where none came, one is made up if spans
 * are collected and the sampling says so. A client that is sampled is: its decision is kept.
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
