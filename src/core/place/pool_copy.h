/*
 * pool_copy (core): a pool as plain inputs, and a pool filled from them.
 *
 * Pods in their seats are left out: in the copy a seat is freed together with its workload. Use that no seat accounts
 * for stays occupied. Resource numbers are kept: the pool that is filled must number resources as the original does.
 */
#ifndef BERTH_CORE_POOL_COPY_H
#define BERTH_CORE_POOL_COPY_H

#include "base/arena.h"
#include "core/place/pool.h"

/* The places that are promised to a queue. */
struct pool_copy_pins {
    struct str queue;
    struct pool_pin *pins;
    size_t n;
};

struct pool_copy {
    struct node_input *nodes;
    struct seat *seats;
    struct pool_copy_pins *pins; /* of queues */
    size_t n_nodes, n_seats, n_pins;
    bool left_out; /* there are managed nodes, too many to copy */
};

/* Beyond these nothing is copied. */
struct pool_copy_limits {
    size_t nodes, seats;
};

/* Copies the nodes where a pod of some of the flavors may run, and their seats, into the arena: nothing but left_out
 * beyond the limits, and nothing where no node is managed. ERR_NOMEM. */
int pool_copy_take(const struct pool *p, const struct flavor_input *flavors, size_t n,
                   const struct pool_copy_limits *max, struct arena *a, struct pool_copy *ret);
int pool_copy_build(const struct pool_copy *c, struct pool *p); /* an error of the pool's */

#endif
