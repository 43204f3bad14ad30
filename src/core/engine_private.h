/* engine_private (core): what the engine's files share. */
#ifndef BERTH_CORE_ENGINE_PRIVATE_H
#define BERTH_CORE_ENGINE_PRIVATE_H

#include "base/heap.h"
#include "base/tree.h"
#include "core/engine.h"
#include "core/quota.h"

struct preempt_scratch;
struct usage_ledger;

struct engine_flavor {
    struct flavor_input spec;
    char *memory; /* NULL: no such flavor */
};
VEC(flavor_vec, struct engine_flavor);

struct engine_group {
    uint32_t *resources, *flavors;
    size_t n_resources, n_flavors;
};

/* Workloads of one queue that any decision would treat alike. */
struct engine_class {
    uint64_t hash;                   /* the key's bytes */
    struct engine_workload *members; /* those in the heap */
    size_t n;                        /* of all states but holding */
    bool parked;                     /* its last head did not fit, and nothing changed since */
};

enum workload_state {
    WORKLOAD_IDLE,
    WORKLOAD_HEAP,
    WORKLOAD_PARKED,
    WORKLOAD_FLIGHT,
    WORKLOAD_HOLDING
};

struct engine_set {
    struct str name;
    int32_t count, min_count;
    struct shape shape;
    struct pool_amount *requests;
    size_t n_requests;
    int32_t *tried; /* per request: the flavor tried last, or -1 */
};

struct engine_workload {
    struct str uid;
    struct engine_queue *queue;
    int64_t priority, queued_ns;
    enum workload_state state;
    uint64_t hash;
    struct engine_class *class;
    struct engine_set *sets;
    size_t n_sets;
    struct held_amount *held; /* own memory; holding only */
    size_t n_held;
    size_t place;                        /* in the heap */
    struct engine_workload *prev, *next; /* parked list of the queue */
    struct engine_workload *class_prev, *class_next;
    /* holding: what a search for victims asks */
    int64_t reserved_ns, protected_until_ns, minimum_runtime_ns;
    bool evicting, not_ready;
    bool gated, failed_checks;
    struct str local;
    size_t fresh;      /* place in engine.fresh + 1, or 0 */
    bool wants_place;  /* parked for want of a place */
    bool missed_place; /* in this round over its flavors, one had quota but no place */
    bool skipped;      /* and then another head was quicker: only once is that a reason to go on */
    bool has_tried;    /* sets[].tried is meaningful */
    uint64_t tried_generation;
};
VEC(workload_vec, struct engine_workload *);

struct engine_queue {
    struct str name;
    struct quota_node *node;
    bool strict, held, borrow_costs_more, has_threshold, local_usage;
    enum preempt_policy within_queue, reclaim, borrow_within;
    int64_t threshold;
    enum fungibility when_can_borrow, when_can_preempt;
    struct engine_group *groups;
    size_t n_groups;
    char *memory; /* of groups */
    struct heap heap;
    struct engine_workload *parked, *parked_last, *flight;
    struct tree holders; /* in victim order (preempt.h) */
    size_t n_parked, n_holding, n_place;
    uint64_t generation; /* of what can be allocated: quota changed, or something left */
    bool blocked;        /* the head cannot go, until something changes */
    bool listed;         /* in engine.ready */
    struct map classes;
};
VEC(queue_vec, struct engine_queue *);

enum assign_mode { MODE_NO_FIT, MODE_NO_CANDIDATES, MODE_PREEMPT, MODE_RECLAIM, MODE_FIT };

struct assignment {
    enum assign_mode mode;
    uint32_t borrow;
    struct held_amount *held;
    struct quota_cell **cells; /* of held */
    size_t n_held;
    struct verdict *verdict; /* details of what did not fit */
};

enum outcome { OUTCOME_NONE, OUTCOME_ADMITTED, OUTCOME_NO_FIT, OUTCOME_AGAIN };

struct entry {
    struct engine_workload *w; /* NULL: it went while the cycle was under way */
    struct assignment a;
    enum outcome outcome;
};
VEC(entry_vec, struct entry);
VEC(action_vec, struct engine_action);

struct reservation {
    struct quota_cell *cell;
    int64_t v;
};
VEC(reservation_vec, struct reservation);

enum cycle_phase { CYCLE_NONE, CYCLE_NOMINATE, CYCLE_PROCESS };

struct engine {
    struct engine_options o;
    struct names flavor_names, resource_names;
    struct flavor_vec flavors; /* by number */
    struct quota_forest forest;
    struct pool *pool;
    struct map queues, workloads;
    struct queue_vec ready; /* queues whose heap is not empty, and perhaps some that are */
    struct arena tick;
    struct entry_vec entries;
    struct action_vec actions;
    struct reservation_vec reserved;
    struct workload_vec fresh; /* parked beside their likes, not told why yet; with holes */
    enum cycle_phase phase;
    size_t at; /* next entry of the phase */
    uint64_t cycle;
    int64_t now_ns;           /* as engine_run was told */
    size_t progress;          /* decisions of this cycle that changed something */
    unsigned idle;            /* cycles without any, in a row */
    uint64_t pool_seen;       /* generation when parked ones were last retried */
    struct quota_nodes retry; /* roots whose parked workloads are to be tried again */
    uint64_t retry_settled;   /* of the forest, when `retry` was begun */
    bool retry_everyone;      /* all trees: roots changed, or there was no memory to note them */
    struct preempt_scratch *scratch; /* of searches for victims; NULL until there was one */
    struct usage_ledger *usage; /* of LocalQueues (usage.h); NULL until one is put */
};

/* engine_queue.c: the buckets of a queue */
int queue_push(struct engine *e, struct engine_workload *w); /* to the heap */
void queue_park(struct engine *e, struct engine_workload *w);
void queue_forget(struct engine *e, struct engine_workload *w); /* out of every bucket */
/* Parks those in the heap that are like w; each gets w's verdict. */
int queue_park_alike(struct engine *e, struct engine_workload *w, const struct verdict *v,
                     bool place);
void engine_retry_tree(struct engine *e, struct engine_queue *q); /* soon: at the next run */
bool engine_retry_due(const struct engine *e);
int engine_retry_all(struct engine *e); /* what was asked for; ERR_NOMEM */
int class_join(struct engine_queue *q, struct engine_workload *w);
void class_leave(struct engine_queue *q, struct engine_workload *w);
int queue_list(struct engine *e, struct engine_queue *q);
/* By its own spec: not stopped, and its flavors are there. It is active when no cycle of cohorts is in the way. */
bool queue_is_able(const struct engine *e, const struct engine_queue *q);
bool queue_is_active(const struct engine *e, const struct engine_queue *q);
int workload_order(const void *a, const void *b, void *ctx);

/* engine_cycle.c */
void cycle_abort(struct engine *e);
int action_add(struct engine *e, const struct engine_action *a);

/* assign.c: 0, or ERR_NOMEM (the tick's limit). Writes w's scan progress. */
int assign_flavors(struct engine *e, struct engine_workload *w, struct assignment *ret);

#endif
