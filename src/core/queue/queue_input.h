/*
 * queue_input (core): the inputs that describe cohorts, queues and workloads, and the quota that a workload is given.
 *
 * The receiver copies all of it. Inputs use names, not numbers: each engine assigns its own numbers.
 */
#ifndef BERTH_CORE_QUEUE_INPUT_H
#define BERTH_CORE_QUEUE_INPUT_H

#include "core/place/pool.h"
#include "core/quota/amount.h"

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

struct resource_weight {
    struct str resource;
    double weight;
};

enum preempt_policy { PREEMPT_NEVER, PREEMPT_LOWER, PREEMPT_LOWER_OR_NEWER, PREEMPT_ANY };

enum fungibility { FUNGIBILITY_STOP, FUNGIBILITY_NEXT };

struct cohort_input {
    struct str name, parent; /* parent empty: a root */
    const struct group_input *groups;
    size_t n_groups;
    double weight; /* fairSharing.weight */
};

struct queue_input {
    struct str name, cohort; /* cohort empty: none */
    bool strict;             /* StrictFIFO */
    /* Stopped, or not valid for reasons outside the engine: it admits nothing, and nothing is taken from it. Its quota
     * is lent, and what it holds counts, as before. */
    bool held;
    const struct group_input *groups;
    size_t n_groups;
    enum fungibility when_can_borrow, when_can_preempt;
    bool borrow_costs_more;                    /* preference PreemptionOverBorrowing */
    enum preempt_policy within_queue, reclaim; /* withinClusterQueue, reclaimWithinCohort */
    enum preempt_policy borrow_within;         /* borrowWithinCohort: NEVER or LOWER */
    bool has_threshold;                        /* maxPriorityThreshold */
    int64_t threshold;
    double weight; /* fairSharing.weight */
    /* AdmissionScope UsageBasedAdmissionFairSharing: LocalQueues that used less go first */
    bool local_usage;
};

struct set_input {
    struct str name;
    int32_t count;
    int32_t min_count; /* partial admission may go down to it; 0: count or nothing */
    const struct shape *shape;
    const struct node_amount *requests; /* of one pod; zero amounts may be left out */
    size_t n_requests;
};

struct workload_input {
    struct str uid, queue;
    int64_t priority, queued_ns; /* order: higher, then earlier, then uid */
    const struct set_input *sets;
    size_t n_sets;
    struct str local;   /* "namespace/name" of its LocalQueue; empty: none */
    int32_t run_max_s;  /* its pods end no later than this after its admission; 0: not known */
    bool gated;         /* a preemption gate is closed: it waits rather than preempt */
    bool failed_checks; /* an admission check says Retry or Rejected: not to be admitted now */
    /* Of one that holds quota: */
    int64_t reserved_ns; /* when QuotaReserved became true; 0: not known */
    bool evicting;       /* Evicted is true: on its way out, its quota not yet given back */
    bool not_ready;      /* its pods are not all ready: blocks admissions under block_until_ready */
    int64_t protected_until_ns; /* no victim before then; 0: none */
    int64_t minimum_runtime_ns; /* no victim before it held quota for that long */
    /* Uid of the holder that it is a larger or smaller version of; empty: none */
    struct str replaces;
};

/* What an admission gave: for each set and request, which flavor and how much. */
struct held_amount {
    uint32_t set;
    uint32_t flavor, resource;
    int64_t v; /* total of the set */
};

#endif
