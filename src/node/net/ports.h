/*
 * ports: NodePorts. Each is a listener on the machine's loopback; a connection is carried to the Service's own address,
 * where the rules choose among the ready endpoints, as for a pod.
 */
#ifndef BERTH_NODE_NET_PORTS_H
#define BERTH_NODE_NET_PORTS_H

#include "node/net/router.h"

enum { PORTS_MAX = 2768, PORTS_CONNECTIONS_MAX = 1024 };

struct node_ports;

struct node_ports *ports_new(struct router *r);
void ports_free(struct node_ports *p);
/* Listens on what the Services of the model ask for, and on nothing else. A port that cannot be had is tried again at
 * the next call. */
void ports_follow(struct node_ports *p);

#endif
