/*
 * gpu_inventory: what GPUs a cluster has, by type: how many there are, are in use, are idle, are out of service, and
 * how many are waited for.
 *
 * A type is a product, as GPU Feature Discovery labels nodes (nvidia.com/gpu.product), and a resource (nvidia.com/gpu,
 * nvidia.com/mig-1g.18gb, nvidia.com/gpu.shared). It follows Nodes, Pods and pending Workloads; sums are made when they
 * are asked for.
 *
 *     total       what nodes have (status.capacity)
 *     unhealthy   not allocatable there, or on a node that is not Ready and not in use
 *     cordoned    allocatable and free on a node that takes no pods
 *     allocated   asked for by pods that are bound there and have not ended
 *     idle        the rest
 *     waiting     asked for by Workloads without quota, where a flavor of their queue leads to the product; one that
 *                 may go to several products counts at each
 *
 * Metrics: berth_gpu_inventory{product,resource,state}, berth_gpu_nodes{product,resource}, and
 * berth_gpu_queue_depth{product,resource}. Nothing is written; every replica may have one.
 */
#ifndef BERTH_CONTROL_GPU_INVENTORY_H
#define BERTH_CONTROL_GPU_INVENTORY_H

#include "base/err.h"
#include "mirror/mirror.h"
#include "wire/prometheus.h"

struct gpu_inventory;

struct gpu_sum {
    struct str product, resource; /* product empty: the node does not say */
    int64_t nodes, total, unhealthy, cordoned, allocated, idle, waiting;
    struct {
        int64_t total, unhealthy, cordoned, allocated, idle;
    } bare; /* of those, on nodes without annotation berth.dev/gpus (api/inventory.h) */
};

/* prom may be NULL. */
struct gpu_inventory *gpu_inventory_new(struct mirror *m, struct prom *prom, struct err *err);
void gpu_inventory_free(struct gpu_inventory *g); /* NULL is a no-op */
/* Calls each type once; views are valid during the call. */
void gpu_inventory_each(struct gpu_inventory *g, void (*each)(void *ctx, const struct gpu_sum *s),
                        void *ctx);

#endif
