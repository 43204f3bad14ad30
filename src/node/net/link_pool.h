/*
 * link_pool: the network namespaces of pods, each with a link to the router. Some are made ahead, since the kernel
 * needs milliseconds; and one that its pod has never used serves the next pod of the same Kubernetes namespace.
 *
 * Never used means: its pod has ended with all of its processes (who gives the link back knows), no socket but ours is
 * left in it, whoever holds it, and none of its interfaces has sent or received a byte. Of another namespace a pod gets
 * a fresh one all the same: who belonged to it could hold a file below its /proc/net, which shows who uses it next.
 */
#ifndef BERTH_NODE_NET_LINK_POOL_H
#define BERTH_NODE_NET_LINK_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { LINK_POOL_AHEAD = 8, LINK_POOL_SPARE_MAX = 64, LINK_OWNER = 64 };

struct pod_link {
    struct pod_link *next;
    int ns_fd, index; /* its namespace; the router's end of it, in the router's */
    int netlink; /* ours inside, kept: the kernel would count one that was closed for a while */
    uint32_t ip; /* that the pod's end has; 0: none yet */
    char owner[LINK_OWNER]; /* the Kubernetes namespace of its pods; "": it is fresh */
};

struct link_pool {
    int ns_fd, netlink; /* of the router; not ours */
    uint32_t gateway;
    struct pod_link *spare;
    size_t n_spare, n_fresh;
};

/* A namespace whose end of the link has this address, to which the router has a route. */
int link_pool_take(struct link_pool *l, struct str owner, uint32_t ip, struct pod_link **ret,
                   struct err *err);
/* The pod is over and its address another's to have. `ended`: so are all of its processes, for certain. */
void link_pool_give(struct link_pool *l, struct pod_link *k, bool ended);
/* Makes one ahead, if fewer than LINK_POOL_AHEAD are fresh; false: there are enough, or none can be made. */
bool link_pool_fill(struct link_pool *l);
void link_pool_release(struct link_pool *l);

#endif
