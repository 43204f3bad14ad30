/*
 * engine (core): the queues. Pending workloads in, admissions and reasons to wait out.
 *
 * Events are the functions below: flavors, cohorts, queues, workloads, nodes come and go. Decisions are made in
 * cycles by
 * engine_run, as Kueue makes them: one head per queue; each head is given flavors against the usage of the
 * moment; heads
 * are ordered (less borrowing, higher priority, earlier, uid); each is then admitted if it still fits. A
 * workload whose
 * flavors name nodes that Berth places pods on is admitted only together with seats for all its pods (pool.h).
 *
 * A head that does not fit goes back (StrictFIFO: it blocks its queue) or is parked (BestEffortFIFO) until
 * something in
 * its cohort tree is given back or changes; parked workloads that are alike are parked together. One that waits
 * for a
 * place is tried again when a place may have become free.
 *
 * Pure and deterministic: no clock, no I/O; the order of events alone decides. Everything given is copied. Steps are
 * bounded: engine_run looks at `budget` heads and then returns, in the middle of a cycle if need be; an event
 * that gives
 * something back or changes quota ends a cycle under way early, its heads return to their queues.
 *
 * Failures: ERR_NOMEM and ERR_TOO_MANY (workloads_max) leave the engine as it was. ERR_NOT_FOUND: the queue is
 * unknown.
 */
#ifndef BERTH_CORE_ENGINE_H
#define BERTH_CORE_ENGINE_H

#include "core/amount.h"
#include "core/pool.h"
#include "core/verdict.h"

struct engine;
struct engine_workload;

struct engine_options {
    size_t workloads_max; /* 0: 2,000,000 */
    size_t tick_bytes;    /* memory of one cycle; 0: 256 MiB */
    bool check_undo;      /* compare the state before a trial with the state after its undo; asserts */
};

struct quota_input {
    int64_t nominal, borrowing, lending; /* limits: AMOUNT_NONE when absent */
};

struct group_flavor_input {
    struct str name;
    const struct quota_input *quotas; /* one per resource of the group */
};

struct group_input {
    const struct str *resources;
    size_t n_resources;
    const struct group_flavor_input *flavors;
    size_t n_flavors;
};

enum fungibility { FUNGIBILITY_STOP, FUNGIBILITY_NEXT };

struct queue_input {
    struct str name, cohort; /* cohort empty: none */
    bool strict;             /* StrictFIFO */
    bool held;               /* stopped, or not valid for reasons outside the engine: admits and lends nothing */
    const struct group_input *groups;
    size_t n_groups;
    enum fungibility when_can_borrow, when_can_preempt;
    bool borrow_costs_more; /* preference PreemptionOverBorrowing */
    bool reclaim_any;       /* reclaimWithinCohort Any: never reserves for a head that waits */
    bool may_preempt_borrowing; /* borrowWithinCohort is not Never */
};

struct set_input {
    struct str name;
    int32_t count;
    const struct shape *shape;
    const struct node_amount *requests; /* of one pod; zero amounts may be left out */
    size_t n_requests;
};

struct workload_input {
    struct str uid, queue;
    int64_t priority, queued_ns; /* order: higher, then earlier, then uid */
    const struct set_input *sets;
    size_t n_sets;
};

/* What an admission gave: for each set and request, which flavor and how much. */
struct held_amount {
    uint32_t set;
    uint32_t flavor, resource;
    int64_t v; /* total of the set */
};

enum action_type { ACTION_ADMIT, ACTION_PEND };

struct engine_action {
    enum action_type type;
    struct str uid;
    struct str queue;
    const struct held_amount *held; /* ADMIT */
    size_t n_held;
    bool seated;                   /* ADMIT: pool_workload_first has its seats */
    const struct verdict *verdict; /* PEND */
};

struct engine *engine_new(const struct engine_options *o);
void engine_free(struct engine *e);
struct pool *engine_pool(struct engine *e);
struct names *engine_flavors(struct engine *e);
struct names *engine_resources(struct engine *e);

int engine_flavor_put(struct engine *e, const struct flavor_input *in);
void engine_flavor_del(struct engine *e, struct str name);
bool engine_flavor_exists(const struct engine *e, struct str name);
int engine_cohort_put(struct engine *e, struct str name, struct str parent,
                      const struct group_input *groups, size_t n);
void engine_cohort_del(struct engine *e, struct str name);
int engine_queue_put(struct engine *e, const struct queue_input *in);
/* Its pending workloads are forgotten: the caller gives them again when the queue is back. */
void engine_queue_del(struct engine *e, struct str name);
bool engine_queue_active(struct engine *e, struct str name);

/* A workload without quota enters its queue, or changes there: a parked one is tried again only
 * when the change matters. */
int engine_workload_put(struct engine *e, const struct workload_input *in);
/* A workload that holds quota according to what is written: adopts it, or sets what it holds.
 * in->queue: as admitted. */
int engine_workload_hold(struct engine *e, const struct workload_input *in,
                         const struct held_amount *held, size_t n);
/* Forgets a workload; what it held is free, its seats go back. No-op when unknown. */
void engine_workload_del(struct engine *e, struct str uid);
bool engine_workload_known(const struct engine *e, struct str uid, bool *ret_holds);
/* What a holding workload was given, in the engine's memory; NULL when it holds nothing. */
const struct held_amount *engine_workload_held(const struct engine *e, struct str uid,
                                               size_t *ret_n, struct str *ret_queue);
/* An admission that could not be written: quota and seats go back, the workload is queued again. */
int engine_workload_undo(struct engine *e, struct str uid);

/* Looks at up to `budget` heads. Actions are valid until the next call. *ret_more: call again. */
int engine_run(struct engine *e, size_t budget, const struct engine_action **ret, size_t *ret_n,
               bool *ret_more);

struct engine_counts {
    size_t pending, parked, holding;
};
bool engine_queue_counts(const struct engine *e, struct str queue, struct engine_counts *ret);
/* Usage of a pair at a queue, and what of it is borrowed. */
int64_t engine_queue_usage(struct engine *e, struct str queue, uint32_t flavor, uint32_t resource,
                           int64_t *ret_borrowed);
/* Invariants, for tests and the simulator: usage equals what is held, nothing beyond capacity. */
bool engine_consistent(struct engine *e);

#endif
