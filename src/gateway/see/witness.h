/*
 * witness: the gateway's observer: counts, a line in the access log, and trace context for the server.
 *
 * A traceparent that came is passed on with a span of the gateway between; where none came, none is made up.
 */
#ifndef BERTH_GATEWAY_WITNESS_H
#define BERTH_GATEWAY_WITNESS_H

#include "gateway/see/access_log.h"
#include "gateway/see/tally.h"

struct witness {
    struct gateway_observer observer; /* first */
    struct request_tally *tally;
    struct access_log *log; /* NULL: none */
    struct {
        uint64_t state;
        char pad[56]; /* a worker's own line of cache */
    } spans[256];
};

/* tally and log are borrowed. */
void witness_init(struct witness *w, struct request_tally *tally, struct access_log *log,
                  uint64_t seed);

#endif
