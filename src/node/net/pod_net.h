/*
 * pod_net: how a process of the machine reaches pods. Pods have addresses in a network of their own, which the
 * machine's own routes do not lead to; a socket that was made in the router's namespace reaches them, and Services.
 *
 *     int fd = pod_net_socket(data_dir, POD_NET_TCP, &err);      does not block, close-on-exec
 *     connect(fd, {AF_INET, port, pod address})                  EINPROGRESS, as ever
 *
 * Works for whoever may open the node's folder: the node, its shims, `berth up`. Where pods have no network of their
 * own there is no router: ERR_NOT_FOUND, and pods are reached as the machine's own processes are, on loopback.
 */
#ifndef BERTH_NODE_NET_POD_NET_H
#define BERTH_NODE_NET_POD_NET_H

#include "base/err.h"

enum pod_net_type { POD_NET_TCP, POD_NET_UDP };

/* The router answers at once; waits POD_NET_WAIT_MS at most. -1 and err. */
enum { POD_NET_WAIT_MS = 1000 };
int pod_net_socket(const char *data_dir, enum pod_net_type type, struct err *err);

/* A connection to the router of a data folder: ERR_NOT_FOUND when none runs. For the node and `berth down`. */
int pod_net_dial(const char *data_dir, struct err *err);
/* Ends the router, and with it the network of all pods; waits until it has gone. 0 also when none runs. */
int pod_net_stop(const char *data_dir, struct err *err);

#endif
