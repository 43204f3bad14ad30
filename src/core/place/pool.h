/*
 * pool (core): nodes, their GPUs, and the seats that pods hold on them.
 *
 * A seat is one pod's place: a node, amounts of its resources, and devices (slices with exact starts, or whole GPUs).
 * It belongs to a workload, to a pod, or to both: a workload's seats are planned together before it is admitted and
 * wait for its pods; a pod takes one and gives it back when it ends. A seat goes when it has neither. Slices never
 * move. A workload that was admitted without a plan has loose seats: of its pods, one by one, and gone when they end.
 * They are in no list of its seats, but a trial lifts them.
 *
 * What a node's inventory shows as held by a pod counts as occupied too, also when no seat explains it: the node has
 * the last word. So nothing is given twice, whether the inventory or the seats are ahead.
 *
 * A plan picks for each pod, slices of the largest size first, the place that keeps most options open: least capability
 * lost, then fewest changes of MIG mode, then the fuller GPU, then node name, GPU index, start. Pods without devices go
 * where there are fewest GPUs, then to the fuller node. Nothing depends on addresses or hashes.
 *
 * Pods of a set whose shape says `together` go where that node label has one value, all or none (pool_domain.c).
 *
 * Pins promise places to a queue: its pods get exactly those, as far as the queue has pins of the resource they ask
 * for; everybody else passes over them while there is another place, and may sit there while there is none, until a
 * trial for the queue lifts him. A pin may begin later (pool_pin.from_ns): then pods that end before it need not avoid
 * its place (place_input.ends_ns).
 *
 * Only managed nodes are planned on. Others are known by their labels, so that pods meant for them are left alone.
 */
#ifndef BERTH_CORE_POOL_H
#define BERTH_CORE_POOL_H

#include "base/clock.h"
#include "core/mig/mig.h"
#include "core/quota/names.h"
#include "core/quota/shape.h"

#define POOL_GPU_RESOURCE "nvidia.com/gpu"

enum { POOL_NODES_MAX = 20000, POOL_SEATS_MAX = 2000000, POOL_POD_DEVICES_MAX = 64 };

/* How long a pod is taken to run of which nobody knows: bookings that begin within that time are avoided. */
#define PLACE_RUN_NS (7 * 24 * 3600 * NS_PER_SEC)

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
    bool counted;     /* it holds its slices on a GPU that the pool knows */
    bool live_lifted; /* inside a trial: what its pod is seen to hold there counts as free */
};

struct seat {
    struct str workload, pod, set,
        node;        /* uids, pod set, node name; in the seat's own memory, pod apart */
    int32_t ordinal; /* n-th pod of its pod set */
    struct pool_amount *amounts;
    size_t n_amounts;
    struct seat_device *devices;
    size_t n_devices;
    struct seat *prev, *next;             /* of the pool */
    struct seat *group_prev, *group_next; /* of the workload, in order of planning */
    struct seat *home_prev, *home_next;   /* of the node */
    bool counted;                         /* its amounts are counted on its node */
    bool loose;                           /* in no plan of its workload: it goes with its pod */
    bool leaving;                         /* its workload gave it back; its pod has not ended yet */
    bool lifted;                          /* inside a trial: it counts as given back */
    struct seat *lift_prev, *lift_next;   /* of those */
};

/* One pod to place. */
struct place_input {
    struct str set;
    struct str queue; /* whose pins are its places; empty: nobody's */
    int32_t ordinal;
    const struct shape *shape;
    const struct flavor_input *const *flavors;
    size_t n_flavors;
    const struct pool_amount *amounts; /* of one pod */
    size_t n_amounts;
    int64_t
        ends_ns; /* the pod has ended by then: it avoids pins that begin before; 0: those that have begun */
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
    PLACE_NO_DOMAIN, /* no nodes with one value of `label` have room for all `need` pods of a set */
    PLACE_TOO_MANY, /* a workload takes `need` places, and may have `most` (LIMIT_WORKLOAD_PLACES) */
    PLACE_TOO_MANY_PLAIN, /* the same of its pods without devices (LIMIT_WORKLOAD_PLAIN) */
    PLACE_SMALL, /* a pod asks for `need` of a device, and its place in its workload has `most` */
};

/* Why a plan failed, as data. */
struct place_why {
    enum place_trouble trouble;
    struct str set; /* of the request */
    uint32_t resource;
    struct str label;     /* PLACE_NO_DOMAIN: of the shape */
    struct str profile;   /* PLACE_NO_SLICE: "2g.35gb", in the pool's memory */
    int64_t need, most;   /* amounts; whole GPUs; for slices: the most free slices on one GPU */
    int32_t nodes, gpus;  /* matching ones that are in service */
    int32_t placed, pods; /* how far the plan came */
};

struct pool *pool_new(struct names *resources); /* NULL: out of memory */
void pool_free(struct pool *p);

/* *ret_changed (may be NULL): what can be placed may have changed (telemetry alone does not count). */
int pool_node_put(struct pool *p, const struct node_input *in, bool *ret_changed);
bool pool_node_del(struct pool *p, struct str name); /* true: it was there */
bool pool_has_managed(const struct pool *p);
size_t pool_seats(const struct pool *p); /* of all, for tests */
/* Rises whenever something was given back or a node has more than before: what did not fit may fit now. */
uint64_t pool_generation(const struct pool *p);

/* Whether pods like this are Berth's to place: there are managed nodes, and no unmanaged one matches. */
bool pool_is_ours(const struct pool *p, const struct place_input *in);
/* What such a pod takes: one for itself, and one for each whole GPU or slice that it asks for. 1: it is plain. */
int64_t pool_places(const struct pool *p, const struct place_input *in);
/* Seats for all pods, or none. *ret_placed false: *why says it. 0, ERR_NOMEM, ERR_TOO_MANY. */
int pool_plan(struct pool *p, struct str workload, struct str pod, const struct place_input *in,
              size_t n, bool *ret_placed, struct place_why *why);
size_t pool_plan_cost(const struct pool *p); /* how many pods and nodes the last plan looked at */
/* A loose seat for one pod. */
int pool_plan_loose(struct pool *p, struct str workload, struct str pod,
                    const struct place_input *in, bool *ret_placed, struct place_why *why);
/* A place that is promised. */
struct pool_pin {
    struct str node, gpu, resource; /* gpu: uuid */
    int32_t start, size;            /* of a whole GPU: 0, all */
    int64_t from_ns;                /* it begins then; 0: it has begun */
};
/* The pins of a queue from now on; n 0: none. Costs their number, and of each GPU the pins that begin no later.
 * ERR_NOMEM: those that it had. */
int pool_pins_set(struct pool *p, struct str queue, const struct pool_pin *pins, size_t n);
size_t pool_pins(const struct pool *p); /* of all queues */

/* A seat as it was written down: restored after a restart, or a pod bound by somebody else. */
int pool_seat_restore(struct pool *p, const struct seat *as, struct seat **ret);

struct seat *pool_workload_first(const struct pool *p, struct str workload); /* then ->group_next */
struct seat *pool_pod_seat(const struct pool *p, struct str pod);
/* A free seat of the workload for a pod of the set, on a node and GPUs in service, bound to the pod; NULL when none.
 * want_node (may be empty) and devices choose an exact one. */
struct seat *pool_take(struct pool *p, struct str workload, struct str set, struct str pod,
                       struct str want_node);
bool pool_seat_usable(const struct pool *p, const struct seat *s);
/* What the loose seats of a workload take of a resource; it looks at each of them. */
int64_t pool_loose_taken(const struct pool *p, struct str workload, uint32_t resource);
/* Plans a new seat for this pod instead of a free one that cannot be used any more, for as much as that one had,
 * whatever `in` asks for; without such a one the workload has no more than its pods already hold, and this one waits
 * (PLACE_TAKEN). */
int pool_replace(struct pool *p, struct str workload, struct str pod, const struct place_input *in,
                 bool *ret_placed, struct place_why *why);
void pool_pod_gone(struct pool *p, struct str pod);
void pool_workload_gone(struct pool *p, struct str workload);
/* The seats of a workload become another's, with their pods. ERR_NOMEM: one is nobody's now, and those after
 * it are as before. */
int pool_workload_move(struct pool *p, struct str from, struct str to);
/* Gives back free seats of a pod set, the newest first, as far as it has more than `most`. */
void pool_workload_trim(struct pool *p, struct str workload, struct str set, int64_t most);
/* Takes back the newest seats of a workload, as a trial's undo does. */
void pool_undo(struct pool *p, struct str workload);

/* ---- trials: would these pods have places if those workloads went? ----
 *
 * A trial lifts seats, and what the inventory shows as held by their pods; what is on its way out anyway (seats of
 * workloads that gave them back, slices of pods that have ended) is lifted from the start. pool_trial_end puts all
 * back. Nothing else is called meanwhile.
 *
 * A claim keeps places for one owner while those who hold them leave: plans of everybody else pass over them, those
 * of a trial that names the owner do not.
 */
void pool_trial_begin(struct pool *p, struct str owner);
void pool_trial_lift(struct pool *p, struct str workload);
void pool_trial_unlift(struct pool *p, struct str workload);
/* Seats for all pods as things stand in the trial; none is taken. The pods are the same in all calls of a trial. */
int pool_trial_place(struct pool *p, const struct place_input *in, size_t n, bool *ret_placed,
                     struct place_why *why);
/* The places found last become the owner's claim, instead of its former one. */
int pool_trial_claim(struct pool *p, const struct place_input *in);
size_t pool_trial_cost(const struct pool *p); /* how many nodes were looked at */
void pool_trial_end(struct pool *p);
/* Between these two the owner's claims do not count. */
void pool_claims_open(struct pool *p, struct str owner);
void pool_claims_shut(struct pool *p, struct str owner);
void pool_claims_drop(struct pool *p, struct str owner); /* empty: those of all */

/* Everything that is held, folded into one number: equal before a plan and after its undo. */
uint64_t pool_digest(const struct pool *p);
/* Checks that no slice, GPU or amount is held twice or beyond what there is; false when broken. For tests. */
bool pool_consistent(const struct pool *p);

/* For boards: the most slices of `resource` over all managed nodes, and whole GPUs (quota defaults). */
int64_t pool_most(const struct pool *p, uint32_t resource);

#endif
