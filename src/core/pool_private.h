/* pool_private (core): what pool.c and pool_plan.c share. */
#ifndef BERTH_CORE_POOL_PRIVATE_H
#define BERTH_CORE_POOL_PRIVATE_H

#include "core/pool.h"

struct pool_gpu {
    struct str uuid;
    int32_t index;
    bool in_service, mig_on, may_switch;
    struct mig_board board;
    struct mig_state held;  /* by seats */
    struct mig_state live;  /* by pods that the inventory names */
    bool held_whole, live_whole;
    bool live_aside; /* live_whole, but for a question (pool_lift) */
};

struct node_room {
    uint32_t resource;
    int64_t total, used;
};

struct pool_node {
    struct str name;
    bool managed, ready;
    struct str_map labels;
    struct taint_list taints;
    struct node_room *rooms; /* sorted by resource */
    size_t n_rooms;
    struct pool_gpu *gpus; /* in order of index */
    size_t n_gpus;
    uint64_t digest; /* of the input, telemetry left out */
    struct bump memory;
};

struct seat_group {
    struct str workload; /* of the first seat's memory: kept in the group */
    struct seat *first, *last;
};

VEC(pool_nodes, struct pool_node *);

struct pool {
    struct names *names;
    uint32_t gpu_resource;
    struct pool_nodes nodes; /* sorted by name */
    struct map groups;       /* workload uid -> seat_group */
    struct map pods;         /* pod uid -> seat */
    struct seat *seats, *last;
    size_t n_seats, n_managed;
    uint64_t generation;
};

struct pool_node *pool_node(const struct pool *p, struct str name);
struct node_room *pool_room(const struct pool_node *n, uint32_t resource);
struct pool_gpu *pool_gpu(const struct pool_node *n, struct str uuid);
bool gpu_takes_slices(const struct pool_gpu *g);
bool gpu_takes_whole(const struct pool_gpu *g); /* and is empty */
struct mig_state gpu_state(const struct pool_gpu *g); /* held and live together */
/* The profile of a resource on a GPU, or -1. */
int32_t gpu_profile_of(const struct pool_gpu *g, uint32_t resource);
bool node_counts_devices(const struct pool *p, const struct pool_node *n, uint32_t resource);
int pool_seat_new(struct pool *p, const struct seat *as, struct seat **ret);
void pool_seat_drop(struct pool *p, struct seat *s);

#endif
