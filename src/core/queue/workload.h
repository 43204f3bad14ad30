/*
 * workload (core): one workload of a queue: what it asks for, in which bucket it stands, what it holds.
 *
 * A record is one block: its texts, pod sets and shapes are copied behind it. It is made anew when its spec changes.
 * Who may be alike is told by alike.h, where it stands by queue.h, in which order it may be evicted by holder.h.
 */
#ifndef BERTH_CORE_WORKLOAD_H
#define BERTH_CORE_WORKLOAD_H

#include "core/queue/queue_input.h"

struct queue;
struct queue_class;

enum workload_state {
    WORKLOAD_IDLE,    /* in no bucket: for a moment */
    WORKLOAD_HEAP,    /* a member of its class, which is active or parked */
    WORKLOAD_PARKED,  /* alone */
    WORKLOAD_FLIGHT,  /* a head of the cycle under way */
    WORKLOAD_HOLDING, /* has quota */
};

/* What the ledger of LocalQueues knows of a holder (usage.h). */
enum usage_phase {
    USAGE_HELD,    /* adopted: nothing is due */
    USAGE_ENTERED, /* given quota now: an entry penalty is due */
    USAGE_ADMITTED /* what it holds counts as used */
};

/* The scan over the flavors of a workload, which goes on from cycle to cycle (admit/scan.h). */
enum scan_progress {
    SCAN_NEW,    /* the next one begins with the first flavor */
    SCAN_TRIED,  /* workload_set.tried is meaningful */
    SCAN_OUTRUN, /* and a flavor was lost to others of the same cycle */
};

/* A round goes over all flavors once. */
enum scan_round {
    ROUND_PLAIN,
    ROUND_MISSED,      /* a flavor of it had quota, and no place */
    ROUND_SEEKS,       /* victims may go for a place alone */
    ROUND_SEEKS_MISSED /* both */
};

struct workload_scan {
    uint64_t generation, cycle; /* of the queue, of its tree: when the last flavor was tried */
    uint64_t retries;           /* cohort_tree.retries when the round began */
};

struct workload_set {
    struct str name;
    int32_t count, min_count;
    struct shape shape;
    struct pool_amount *requests;
    size_t n_requests;
    int32_t *tried; /* per request: the flavor tried last, or -1; all sets' in a row */
};

struct queue_workload {
    struct str uid;
    struct queue *queue;
    int64_t priority, queued_ns;
    uint32_t told;     /* queue_class.told when it was told */
    int32_t run_max_s; /* as in workload_input */
    uint64_t hash;
    struct queue_class *class; /* NULL while it holds quota */
    struct workload_set *sets;
    struct held_amount *held; /* own memory; holding only */
    uint32_t n_sets, n_held;
    size_t place;                       /* in the heap of its class */
    struct queue_workload *prev, *next; /* in the heap: of its class; parked alone: of the queue */
    struct queue_workload *join_prev, *join_next; /* in whatever state but holding: of the class */
    struct str local, replaces;
    struct queue_workload *heir; /* was given the difference, and takes over (admit/resize.h) */
    /* Bytes and bits: there are a million of these records */
    bool gated : 1, failed_checks : 1;
    bool listed : 1;          /* in queue.holders */
    bool evicting, not_ready; /* holding: what a search for victims asks */
    enum workload_state state : 8;
    enum usage_phase usage : 8;
    enum scan_progress progress : 8;
    enum scan_round round : 8;
    struct workload_scan scan;
    int64_t reserved_ns, protected_until_ns, minimum_runtime_ns; /* holding */
    uint64_t lifted; /* its seats are lifted in a trial (admit/seat.h); 0: not */
    uint64_t chosen; /* a victim of the cycle with this mark (admit/cycle.h) */
};
VEC(workload_vec, struct queue_workload *);

/* A record of the queue, in no bucket. Resources are numbered by `resources`. ERR_NOMEM, ERR_TOO_MANY. */
int workload_new(struct names *resources, const struct workload_input *in, struct queue *q,
                 struct queue_workload **ret);
void workload_free(struct queue_workload *w);
/* What may change without the workload becoming another one. */
void workload_flags(struct queue_workload *w, const struct workload_input *in);
/* The order of a queue: higher priority, then earlier, then uid. */
int workload_order(const void *a, const void *b, void *ctx);

#endif
