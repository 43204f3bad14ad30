/*
 * net_watch: keeps the router told of what the API says: Services with their EndpointSlices, and NetworkPolicies with
 * the pods and namespaces that they speak of.
 *
 * What changed is told a few milliseconds later, together with what else changed meanwhile: a Service is one record,
 * whatever happened to it; policies are worked out whole, at most every POLICY_MS.
 */
#ifndef BERTH_NODE_NET_NET_WATCH_H
#define BERTH_NODE_NET_NET_WATCH_H

#include "base/log.h"
#include "kube/client.h"
#include "mirror/mirror.h"
#include "net/loop.h"
#include "node/net/network.h"

struct net_watch;

struct net_watch_options {
    struct loop *loop;
    struct log *log;
    struct kube_client *kube;
    struct network *network;
    const struct mirror *pods; /* of this node */
};

int net_watch_start(const struct net_watch_options *o, struct net_watch **ret, struct err *err);
void net_watch_free(struct net_watch *w);

/* A pod changed, or got its address: whom its policies let through may be others. */
void net_watch_pods_changed(struct net_watch *w);
/* The same at once: before a pod starts, its walls stand. */
void net_watch_policies_now(struct net_watch *w);

/* Services of a namespace that have an address, for the environment of pods, in the order of names: name, address and
 * ports as JSON (spec). each returns false to stop. */
void net_watch_services(const struct net_watch *w, struct str ns,
                        bool (*each)(void *ctx, struct str name, yyjson_val *spec), void *ctx);

#endif
