/*
 * wake: scales the Deployment behind a model from zero when a request waits for it, and to zero when none came for as
 * long as its owner said. Only Deployments whose owner agreed (model_routes.h).
 *
 * It writes nothing but the Deployment's scale, 1 or 0; more replicas are somebody else's (an autoscaler's) to decide.
 * Several gateways may wake a model. Only one may put it to sleep, since each sees its own requests alone: `sleeps`.
 */
#ifndef BERTH_WORLD_WAKE_H
#define BERTH_WORLD_WAKE_H

#include "base/log.h"
#include "gateway/demand.h"
#include "kube/client.h"
#include "world/gateway/model_routes.h"

struct wake;

struct wake_activity {
    int64_t under_way; /* requests, held ones included */
    int64_t last_s;    /* when the last one ended, since 1970; 0: never */
};

struct wake_options {
    struct loop *loop;
    struct kube_client *kube;
    struct log *log;
    bool sleeps;
    struct wake_activity (*activity)(void *ctx, struct str project, struct str service);
    void *ctx;
};

struct wake *wake_new(const struct wake_options *o); /* NULL: no memory */
void wake_free(struct wake *w);                      /* NULL is a no-op */
struct gateway_demand *wake_demand(struct wake *w);
/* The Deployments that there are now; copied. What waits is kept. 0 or ERR_NOMEM. */
int wake_set(struct wake *w, const struct model_wake *v, size_t n);

#endif
