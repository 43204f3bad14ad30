/* pool_private (core): declarations shared by the files of the pool. */
#ifndef BERTH_CORE_POOL_PRIVATE_H
#define BERTH_CORE_POOL_PRIVATE_H

#include "core/place/pool.h"

/* A pin, linked at its GPU. */
struct pool_pin_link {
    struct pool_pin_link *gpu_next;
    struct str queue;
    struct pool_pin pin; /* without resource */
    uint32_t resource;
};
/* Those of one queue. */
struct pool_pins {
    struct str queue;
    size_t n;
    struct pool_pin_link v[];
};

struct pool_gpu {
    struct pool_pin_link *pins; /* those that begin first come first */
    struct str uuid;
    int32_t index;
    bool in_service, mig_on, may_switch;
    struct mig_board board;
    struct mig_state held; /* by seats */
    struct mig_state live; /* by pods that the inventory names */
    bool held_whole, live_whole;
    /* Hashes of the uids of the pods that the inventory names, by start. A slice that a trial lifted is negative in
     * `live`. */
    uint64_t live_pod[INVENTORY_SLICES_MAX], live_whole_pod;
    /* Starts of those whose pods have ended: the node is about to take them back */
    uint32_t leaving;
    bool leaving_whole;
    uint32_t shut; /* slices that are claimed */
    bool shut_whole;
};

struct node_room {
    uint32_t resource;
    int64_t total, used, claimed;
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
    bool leaving;    /* some GPU has `leaving` */
    /* of the trial under way */
    uint64_t touched, planned; /* pool_trial.clock, plan_clock */
    struct pool_node *touch_next;
    struct bump memory;
};

struct seat_group {
    struct str workload; /* of the first seat's memory: kept in the group */
    struct seat *first, *last;
};

struct seat_home {
    struct str node; /* in its own memory */
    struct seat *first, *last;
};

VEC(pool_nodes, struct pool_node *);

struct pick {
    struct pool_gpu *gpu;
    int32_t profile; /* index on that GPU; -1: whole */
    int32_t start;
};
VEC(pick_vec, struct pick);

/* How good a place is: smaller is better, in this order. */
struct score {
    int64_t pinned, loss, switches, emptiness; /* pinned: slices promised to others */
};

/* A pod on a node. */
struct fitting {
    struct pick picks[POOL_POD_DEVICES_MAX];
    size_t n;
    struct score score;
};

/* A pod of a trial's plan: the index of its input, and its picks. */
struct spot {
    size_t at, first, n;
    struct pool_node *node;
};
VEC(spot_vec, struct spot);

/* A trial that failed is asked again only when a pod of it fits on a node that changed since; one that found places is
 * good for as long as nothing comes back on the nodes of these. */
struct pool_trial {
    struct str owner;
    struct seat *lifted;
    bool placed;      /* spots are those found last */
    bool failed;      /* the last plan; then touched lists the nodes with something lifted since */
    bool touched_all; /* and something came back */
    size_t broken;    /* seats that came back on nodes of the spots */
    struct pool_node *touched;
    uint64_t clock, plan_clock;
    struct spot_vec spots;
    struct pick_vec picks;
    struct place_why why; /* of the last that failed */
    size_t cost;
};

struct pool {
    struct names *names;
    uint32_t gpu_resource;
    struct pool_nodes nodes; /* sorted by name */
    struct map groups;       /* workload uid -> seat_group */
    struct map loose;        /* the same, of loose seats */
    struct map pods;         /* pod uid -> seat */
    struct map homes;        /* node -> seat_home */
    struct seat *seats, *last;
    struct seat *leaving; /* linked as a group's are */
    struct seat *claims;  /* their workload is the owner */
    struct map pins;      /* queue -> pool_pins */
    size_t n_pins;
    size_t n_seats, n_managed;
    size_t recounted; /* seats looked at for nodes that changed, in all */
    size_t plan_cost; /* nodes looked at by the last plan */
    uint64_t generation;
    struct pool_trial trial;
};

struct pool_node *pool_node(const struct pool *p, struct str name);
/* Its number, or where it would be inserted. */
size_t pool_node_place(const struct pool *p, struct str name, bool *ret_there);
struct node_room *pool_room(const struct pool_node *n, uint32_t resource);
struct pool_gpu *pool_gpu(const struct pool_node *n, struct str uuid);
bool gpu_takes_slices(const struct pool_gpu *g);
bool gpu_takes_whole(const struct pool_gpu *g);       /* and is empty */
struct mig_state gpu_state(const struct pool_gpu *g); /* held and live together */
/* The profile of a resource on a GPU, or -1. */
int32_t gpu_profile_of(const struct pool_gpu *g, uint32_t resource);
bool node_counts_devices(const struct pool *p, const struct pool_node *n, uint32_t resource);
int seat_group_join(struct pool *p, struct seat *s); /* of s->workload */
void seat_group_leave(struct pool *p, struct seat *s);
int pool_seat_new(struct pool *p, const struct seat *as, struct seat **ret);
void pool_seat_drop(struct pool *p, struct seat *s);

struct seat *pool_loose_first(const struct pool *p, struct str workload);
int pool_seat_make(const struct seat *as, struct seat **ret); /* a copy, in no list */
int32_t gpu_profile_at(const struct pool_gpu *g, int32_t id); /* its index, or -1 */

/* pool_home.c */
int home_join(struct pool *p, struct seat *s); /* ERR_NOMEM */
void home_leave(struct pool *p, struct seat *s);
struct seat *home_first(const struct pool *p, struct str node);
void homes_free(struct pool *p);

/* pool_change.c */
bool pool_node_gained(const struct pool_node *old, const struct pool_node *n);

/* pool_plan.c */
struct turn {
    int64_t weight;
    size_t at;
};
bool plan_eligible(const struct pool_node *n, const struct place_input *in);
bool plan_node_try(const struct pool *p, struct pool_node *n, const struct place_input *in,
                   struct fitting *t);
bool plan_alike(const struct place_input *a, const struct place_input *b); /* but for the ordinal */
bool score_less(const struct score *a, const struct score *b);
/* The best node for a pod, or NULL; the first of those that are equal. The pod before, of the same plan, has its place
 * by now. more: one like this comes next. *cost grows by the nodes looked at. */
struct plan_memo;
struct pool_node *plan_pod(const struct pool *p, const struct place_input *in, bool more,
                           struct plan_memo *m, size_t *cost, struct fitting *t);

/* pool_rank.c */
struct plan_rank {
    struct score score;
    uint32_t node; /* of pool.nodes */
};
VEC(rank_vec, struct plan_rank);
struct plan_memo {                /* all 0: of nobody */
    const struct place_input *in; /* NULL: nothing is known */
    struct rank_vec ranks;        /* a heap */
    const uint32_t *among;        /* only these nodes, by number; NULL: all */
    size_t n_among;
};
void ranks_begin(struct plan_memo *m, const struct place_input *in);
void ranks_add(struct plan_memo *m, size_t node, const struct score *score);
void ranks_end(struct plan_memo *m);
/* The best for one more like m->in, after the first took a pod; NULL: none is left. */
struct pool_node *ranks_next(const struct pool *p, const struct place_input *in,
                             struct plan_memo *m, size_t *cost, struct fitting *ret);
void plan_memo_release(struct plan_memo *m);
void plan_pick(const struct pick *k, bool on);
int plan_order(const struct pool *p, const struct place_input *in, size_t n, struct turn **ret);
void plan_why(const struct pool *p, const struct place_input *in, struct place_why *ret);

/* pool_domain.c: the pods of a plan, in their order, into whatever the caller makes of places. */
struct plan_walk {
    struct pool *p;
    struct str workload; /* whose seats of a set say where the others go; empty: nobody's */
    const struct place_input *in;
    const struct turn *turns;
    size_t n, *cost;
    /* One pod more, beside those that have theirs; and without the last n of them */
    int (*add)(struct plan_walk *w, size_t at, bool more, bool *ret_placed);
    void (*drop)(struct plan_walk *w, size_t n);
    void *ctx;
    size_t done;  /* pods that have a place */
    size_t alike; /* of the set under way */
    bool apart;   /* it has no place for want of a domain with room for all */
    struct plan_memo memo;
};
int plan_walk(struct plan_walk *w, bool *ret_placed);
/* After one that failed: why the pod after the last has no place. */
void plan_walk_why(const struct plan_walk *w, struct place_why *ret);

/* pool_pins.c */
void pins_free(struct pool *p);
void pins_mark(struct pool *p, struct str node); /* the node was made anew */
bool pins_of(const struct pool *p, struct str queue, uint32_t resource); /* are there any? */
uint32_t pins_of_others(const struct pool_gpu *g, const struct place_input *in); /* slices */
/* A place of the queue's own on this GPU: sets ret->start where ret->profile is one. */
bool pins_pick(const struct pool_gpu *g, struct str queue, uint32_t resource, struct pick *ret);
/* The start that least stands in others' pins, then as mig_best_start has it; -1: none. */
int32_t pins_avoid(const struct pool_gpu *g, const struct place_input *in, int32_t profile);
int64_t pins_cost(const struct pool_gpu *g, const struct place_input *in, const struct pick *k);

/* pool_trial.c */
void pool_claims_mark(struct pool *p, struct str node); /* the node was made anew */

#endif
