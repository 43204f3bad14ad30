/*
 * victim (core): why a workload that holds quota is not preempted for another: the rules by name.
 *
 * victim_rules.h decides them, once, for searches and explanations alike; here are the names that every edge says.
 */
#ifndef BERTH_CORE_VICTIM_H
#define BERTH_CORE_VICTIM_H

#include <stdbool.h>

enum keep_rule {
    KEEP_EVICTING,      /* it is on its way out already */
    KEEP_REPLACED,      /* it is being replaced, or would be by the asker */
    KEEP_WITHIN_NEVER,  /* same queue: withinClusterQueue is Never */
    KEEP_PRIORITY,      /* its priority is not lower, which the policy asks for */
    KEEP_OLDER,         /* LowerOrNewerEqualPriority: same priority, not newer */
    KEEP_RECLAIM_NEVER, /* another queue: reclaimWithinCohort is Never */
    KEEP_INACTIVE, /* another queue, which is stopped or lacks a flavor: nothing is taken from it */
    KEEP_NOMINAL,  /* another queue, which uses no more than its own quota */
    KEEP_BORROWING, /* the asker's queue would itself borrow; borrowWithinCohort is Never */
    KEEP_BORROWING_PRIORITY, /* the same, and the holder's priority is not lower */
    KEEP_THRESHOLD,          /* the same, and the holder's priority is above maxPriorityThreshold */
    KEEP_PROTECTED,          /* berth.dev/protected-until is still to come */
    KEEP_MINIMUM_RUNTIME,    /* it has not yet run for its berth.dev/minimum-runtime */
    KEEP_GATED,              /* a preemption gate of the asker is closed */
    KEEP_SHARE,              /* fair sharing: its queue's share is not the larger one */
    KEEP_NOT_ENOUGH, /* no rule: it may go, but that would not be enough, or is being tried */
    KEEP_RULES
};

const char *keep_rule_name(enum keep_rule r); /* "WithinClusterQueueNever" */
bool keep_rule_borrows(enum keep_rule r); /* it would not keep, did the asker's queue not borrow */
const char *
keep_rule_text(enum keep_rule r); /* "its queue does not preempt its own workloads ..." */

#endif
