/*
 * rtnl: the few requests to the kernel's routing tables (rtnetlink) that the network of pods needs: links, addresses,
 * routes. One socket speaks to the network namespace in which it was made. Requests block, for as long as the kernel
 * takes.
 *
 * IPv4 addresses are in the machine's own byte order everywhere in this folder: 10.42.0.1 is 0x0a2a0001.
 */
#ifndef BERTH_NODE_NET_RTNL_H
#define BERTH_NODE_NET_RTNL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* A socket for the namespace that the calling thread is in; -1 and err. */
int rtnl_open(struct err *err);

int rtnl_up(int fd, int link, struct err *err);
/* One end, named `name`, stands here; the other, "eth0" with index RTNL_PEER, in the namespace ns_fd.
 * The first is up. */
enum { RTNL_LOOPBACK = 1, RTNL_PEER = 2 };
int rtnl_veth(int fd, const char *name, int ns_fd, int *ret_link, struct err *err);
/* With the prefix of one host. */
int rtnl_address(int fd, int link, uint32_t ip, struct err *err);
int rtnl_address_remove(int fd, int link, uint32_t ip, struct err *err);
/* To dst/bits through link; via 0: what is there is reached directly. */
int rtnl_route(int fd, int link, uint32_t dst, int bits, uint32_t via, struct err *err);
/* No such route: 0. */
int rtnl_route_remove(int fd, int link, uint32_t dst, int bits, struct err *err);
/* Calls each with every IPv4 route of the main table that is no default route. */
int rtnl_routes(int fd, void (*each)(void *ctx, uint32_t dst, int bits), void *ctx,
                struct err *err);

#endif
