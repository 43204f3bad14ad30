/*
 * api_way: how pods reach the API server, which listens on the machine's loopback where they have no way. A listener on
 * the API's address among those of Services, port 443; each connection is carried to the server's own address by the
 * keeper's hand. Bytes are carried as they are: TLS is between the pod and the server, which asks every one of them who
 * it is.
 *
 * The server sees who comes: a connection of a pod has a source in 127.0.0.0/8 that is the pod's own, so that what the
 * server bounds for each address (wrong tokens, bodies of strangers) is bounded for each pod, and not for the machine.
 */
#ifndef BERTH_NODE_NET_API_WAY_H
#define BERTH_NODE_NET_API_WAY_H

#include "node/net/router.h"

enum { API_WAY_PORT = 443, API_WAY_CONNECTIONS_MAX = 2048, API_WAY_OF_ONE = 32 };

struct api_way;

struct api_way *api_way_new(struct router *r); /* listens on nothing yet */
void api_way_free(struct api_way *w);
/* Where the API server listens; "": nowhere that pods could reach it, and connections are refused. */
int api_way_open(struct api_way *w, struct str to, struct err *err);

/* Of n connections, newest first, which is to end for a pod that has `mine`: the oldest of a pod that has the most,
 * of[i] for connection i. n: nobody has as many as two more. */
size_t api_way_gives_up(const size_t *of, size_t n, size_t mine);

/* The address in 127.0.0.0/8 that stands for a pod of the range; 0 for one that is none. */
uint32_t api_way_source(const struct router_options *o, uint32_t pod);

#endif
