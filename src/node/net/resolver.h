/*
 * resolver: the name server of the pods, on port 53 of the gateway's address, by UDP and TCP. Names of the cluster come
 * from the model; others are asked of the machine's name servers where there is a way out, and do not exist otherwise,
 * nor for a pod whose policies close the way out.
 */
#ifndef BERTH_NODE_NET_RESOLVER_H
#define BERTH_NODE_NET_RESOLVER_H

#include "node/net/router.h"

/* Questions under way to others; connections by TCP. */
enum { RESOLVER_ASKED_MAX = 256, RESOLVER_TCP_MAX = 64, RESOLVER_WAIT_S = 5 };

struct resolver;

int resolver_start(struct router *r, struct resolver **ret, struct err *err);
void resolver_free(struct resolver *s);

#endif
