/*
 * gateway_source: keeps a gateway's keys and models as the API server has them, by watching, and knows which
 * Deployments may be scaled. One loop thread; the gateway's workers have their own.
 *
 * A change is acted on within some milliseconds (ROUTES_MS, KEYS_MS): what comes together is looked at once. Nothing is
 * handed to the gateway before the kinds that every API server has are there whole; those of KServe may be missing.
 */
#ifndef BERTH_WORLD_GATEWAY_SOURCE_H
#define BERTH_WORLD_GATEWAY_SOURCE_H

#include "base/log.h"
#include "gateway/key_store.h"
#include "kube/client.h"
#include "world/gateway/wake.h"

struct gateway_source;

struct gateway_source_options {
    struct loop *loop;
    struct kube_client *kube;
    struct log *log;
    bool sleeps; /* puts idle models to sleep (wake.h) */
    /* Takes the reference. Told after the keys. */
    void (*routes)(void *ctx, struct routes *r);
    struct wake_activity (*activity)(void *ctx, struct str project, struct str service);
    void *ctx;
};

int gateway_source_start(const struct gateway_source_options *o, struct gateway_source **ret,
                         struct err *err);
void gateway_source_free(struct gateway_source *s); /* NULL is a no-op; the gateway must be gone */
struct gateway_keys *gateway_source_keys(struct gateway_source *s);
struct gateway_demand *gateway_source_demand(struct gateway_source *s);

#endif
