/*
 * reach: how a pod is reached. Everything that connects to a port of a pod from beside it (probes, hooks, port
 * connections) does so here, so that what a pod's network is has one place.
 */
#ifndef BERTH_NODE_REACH_H
#define BERTH_NODE_REACH_H

#include <stdbool.h>
#include <stdint.h>

/* From now on sockets are made in the network namespace of this process; 0: in our own. 0 or errno. */
int reach_inside(int pid);
/* Whether the host is an address: a name has to be looked up, which blocks. */
bool reach_is_address(const char *host);
/* A TCP socket, non-blocking and closed at exec, whose connection to an address has begun; -1 with errno. */
int reach_connect(const char *host, uint16_t port);
/* Once the socket is writable: 0, or the errno of the connection. */
int reach_error(int fd);

#endif
