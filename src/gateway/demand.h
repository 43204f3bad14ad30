/*
 * demand: an interface of the gateway that reports requests waiting for a model without a ready endpoint, so that its
 * implementation can start the model.
 *
 * Called on the workers' threads; it may not block. Every request that begins or ends to wait is reported at once, so
 * that activation needs no polling; `held` is 1 for the first one. Counts are of one worker: the number of waiting
 * requests is the sum over the workers.
 */
#ifndef BERTH_GATEWAY_DEMAND_H
#define BERTH_GATEWAY_DEMAND_H

#include <stdint.h>

#include "gateway/keys.h"

enum gateway_demand_what {
    GATEWAY_HELD,      /* a request began to wait */
    GATEWAY_RELEASED,  /* it goes to an endpoint */
    GATEWAY_ABANDONED, /* its client went away */
    GATEWAY_LATE,      /* its time is over: 503 */
    GATEWAY_SHED,      /* it made room for one of higher priority: 429 */
    GATEWAY_DENIED, /* the model cannot start now (ROUTES_QUEUED, ROUTES_STOPPED): answered early */
};

struct gateway_demand_event {
    enum gateway_demand_what what;
    const struct routes_model *model; /* valid during the call */
    const struct gateway_key *key;
    int64_t waited_ns; /* 0 with GATEWAY_HELD */
    size_t held;       /* that wait for this model at this worker, after this event */
};

struct gateway_demand {
    void (*tell)(struct gateway_demand *d, unsigned worker, const struct gateway_demand_event *e);
};

#endif
