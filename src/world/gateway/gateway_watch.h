/*
 * gateway_watch: a gateway that takes its models and keys from an API server: the source, the observer and the client
 * that they share, as one part of `berth gateway`.
 *
 *     gateway_watch_new(loop, log, options, &w, err);      before the gateway
 *     gateway_watch_fill(w, &gateway_options);              keys, demand, observer, sockets
 *     gateway_start(&gateway_options, &g, err);
 *     gateway_watch_to(w, g);                               models come
 *     ... gateway_stop, loop_run until all workers have ended ...
 *     gateway_free(g); gateway_watch_free(w); loop_free(loop);
 */
#ifndef BERTH_WORLD_GATEWAY_WATCH_H
#define BERTH_WORLD_GATEWAY_WATCH_H

#include "gateway/gateway.h"
#include "net/loop.h"

struct gateway_watch;

struct gateway_watch_options {
    const char *kubeconfig, *context; /* as kube_client_new */
    const char
        *pods_of; /* data folder of the `berth up` whose pods are reached; NULL: the network */
    const char *access_log; /* a file; NULL: none */
    const char *otlp;       /* URL of a collector of spans; NULL: none */
    uint64_t sampled;       /* of requests without a traceparent, so many of WITNESS_ALL */
    bool sleeps;            /* idle models are scaled to zero */
    unsigned workers;
};

int gateway_watch_new(struct loop *l, struct log *log, const struct gateway_watch_options *o,
                      struct gateway_watch **ret, struct err *err);
void gateway_watch_fill(struct gateway_watch *w, struct gateway_options *o);
void gateway_watch_to(struct gateway_watch *w, struct gateway *g);
void gateway_watch_free(struct gateway_watch *w); /* NULL is a no-op; after the gateway */

#endif
