/*
 * pool (core): the nodes, their GPUs, and who sits where.
 *
 * A seat is one pod's place: a node, amounts of its resources, and devices (slices with exact starts, or whole
 * GPUs). It
 * belongs to a workload, to a pod, or to both: a workload's seats are planned together before it is admitted
 * and wait
 * for its pods; a pod takes one and gives it back when it ends. A seat goes when it has neither. Slices never move.
 *
 * What a node's inventory shows as held by a pod counts as occupied too, also when no seat explains it: the
 * node has the
 * last word. So nothing is given twice, whether the inventory or the seats are ahead.
 *
 * A plan picks for each pod, slices of the largest size first, the place that keeps most options open: least
 * capability
 * lost, then fewest changes of MIG mode, then the fuller GPU, then node name, GPU index, start. Pods without
 * devices go
 * where there are fewest GPUs, then to the fuller node. Nothing depends on addresses or hashes.
 *
 * Only managed nodes are planned on. Others are known by their labels, so that pods meant for them are left alone.
 */
#ifndef BERTH_CORE_POOL_H
#define BERTH_CORE_POOL_H

#include "core/mig.h"
#include "core/names.h"
#include "core/shape.h"

#define POOL_GPU_RESOURCE "nvidia.com/gpu"

enum { POOL_NODES_MAX = 20000, POOL_SEATS_MAX = 2000000, POOL_POD_DEVICES_MAX = 64 };

struct pool;
struct pool_node;

struct pool_amount {
    uint32_t resource;
    int64_t v;
};

struct node_amount {
    struct str resource;
    int64_t v;
};

struct node_input {
    struct str name;
    bool managed; /* Berth places pods here */
    bool ready;   /* Ready, and schedulable */
    struct str_map labels;
    struct taint_list taints;
    const struct node_amount *amounts; /* allocatable */
    size_t n_amounts;
    const struct inventory *inventory; /* NULL: none, then all resources are plain numbers */
};

struct seat_device {
    struct str gpu; /* uuid */
    int32_t gpu_index;
    int32_t profile_id, start, size; /* profile_id -1: the whole GPU */
    struct str profile;
    uint32_t resource;
    bool counted; /* it holds its slices on a GPU that the pool knows */
};

struct seat {
    struct str workload, pod, set, node; /* uids, pod set, node name; in the seat's own memory, pod apart */
    int32_t ordinal; /* n-th pod of its pod set */
    struct pool_amount *amounts;
    size_t n_amounts;
    struct seat_device *devices;
    size_t n_devices;
    struct seat *prev, *next;           /* of the pool */
    struct seat *group_prev, *group_next; /* of the workload, in order of planning */
    bool counted;                       /* its amounts are counted on its node */
};

/* One pod to place. */
struct place_input {
    struct str set;
    int32_t ordinal;
    const struct shape *shape;
    const struct flavor_input *const *flavors;
    size_t n_flavors;
    const struct pool_amount *amounts; /* of one pod */
    size_t n_amounts;
};

enum place_trouble {
    PLACE_OK,
    PLACE_NO_NODE,     /* no node matches selector, affinity, tolerations */
    PLACE_NOT_READY,   /* some match, none is ready */
    PLACE_NO_AMOUNT,   /* no node has `need` of a plain resource; the most is `most` */
    PLACE_NO_SLICE,    /* no GPU has room for the profile */
    PLACE_NO_GPU,      /* no node has `need` whole GPUs */
    PLACE_TAKEN,       /* all seats of its workload have pods that have not ended */
    PLACE_NO_TOGETHER, /* each part fits somewhere, not all on one node */
};

/* Why a plan failed, as data. */
struct place_why {
    enum place_trouble trouble;
    struct str set;  /* of the request */
    uint32_t resource;
    struct str profile; /* PLACE_NO_SLICE: "2g.35gb", in the pool's memory */
    int64_t need, most; /* amounts; whole GPUs; for slices: the most free slices on one GPU */
    int32_t nodes, gpus; /* matching ones that are in service */
    int32_t placed, pods; /* how far the plan came */
};

struct pool *pool_new(struct names *resources); /* NULL: out of memory */
void pool_free(struct pool *p);

/* *ret_changed (may be NULL): what can be placed may have changed (telemetry alone does not count). */
int pool_node_put(struct pool *p, const struct node_input *in, bool *ret_changed);
bool pool_node_del(struct pool *p, struct str name); /* true: it was there */
bool pool_has_managed(const struct pool *p);
size_t pool_seats(const struct pool *p);
/* Rises whenever something was given back or a node changed: what did not fit may fit now. */
uint64_t pool_generation(const struct pool *p);

/* Whether pods like this are Berth's to place: there are managed nodes, and no unmanaged one matches. */
bool pool_is_ours(const struct pool *p, const struct place_input *in);
/* Seats for all pods, or none. *ret_placed false: *why says it. 0, ERR_NOMEM, ERR_TOO_MANY. */
int pool_plan(struct pool *p, struct str workload, struct str pod, const struct place_input *in,
              size_t n, bool *ret_placed, struct place_why *why);
/* A seat as it was written down: restored after a restart, or a pod bound by somebody else. */
int pool_seat_restore(struct pool *p, const struct seat *as, struct seat **ret);

struct seat *pool_workload_first(const struct pool *p, struct str workload); /* then ->group_next */
struct seat *pool_pod_seat(const struct pool *p, struct str pod);
/* A free seat of the workload for a pod of the set, on a node and GPUs in service, bound to the pod; NULL when none.
 * want_node (may be empty) and devices choose an exact one. */
struct seat *pool_take(struct pool *p, struct str workload, struct str set, struct str pod,
                       struct str want_node);
bool pool_seat_usable(const struct pool *p, const struct seat *s);
/* Plans a new seat for this pod instead of a free one that cannot be used any more; without such a
 * one the workload has
 * no more than its pods already hold, and this one waits (PLACE_TAKEN). */
int pool_replace(struct pool *p, struct str workload, struct str pod, const struct place_input *in,
                 bool *ret_placed, struct place_why *why);
/* Would there be seats for all? As pool_plan, and nothing is taken. */
int pool_could(struct pool *p, const struct place_input *in, size_t n, bool *ret_placed,
               struct place_why *why);
/* For such a question: what a workload's seats take, and what the inventory shows in their slices, is set aside
 * (away), and put back. Each that was set aside is put back before anything else is asked of the pool. */
void pool_lift(struct pool *p, struct str workload, bool away);
void pool_pod_gone(struct pool *p, struct str pod);
void pool_workload_gone(struct pool *p, struct str workload);
/* Takes back the newest seats of a workload, as a trial's undo does. */
void pool_undo(struct pool *p, struct str workload);
/* Everything that is held, folded into one number: equal before a plan and after its undo. */
uint64_t pool_digest(const struct pool *p);
/* Checks that no slice, GPU or amount is held twice or beyond what there is; false when broken. For tests. */
bool pool_consistent(const struct pool *p);

/* For boards: the most slices of `resource` over all managed nodes, and whole GPUs (quota defaults). */
int64_t pool_most(const struct pool *p, uint32_t resource);

#endif
