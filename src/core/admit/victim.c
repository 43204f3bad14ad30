/* victim (core): the rules in words. See victim.h. */
#include "core/admit/victim.h"

static const struct {
    const char *name, *text;
} rules[KEEP_RULES] = {
    [KEEP_EVICTING] = {"Evicting", "is being evicted already"},
    [KEEP_REPLACED] = {"Replaced", "is being replaced, or would be by this workload"},
    [KEEP_WITHIN_NEVER] = {"WithinClusterQueueNever",
                           "is in the same ClusterQueue, whose withinClusterQueue is Never"},
    [KEEP_PRIORITY] = {"Priority", "has an equal or higher priority"},
    [KEEP_OLDER] = {"LowerOrNewerEqualPriority", "has the same priority and is not newer"},
    [KEEP_RECLAIM_NEVER] = {"ReclaimWithinCohortNever",
                            "is in another ClusterQueue, and reclaimWithinCohort is Never"},
    [KEEP_INACTIVE] = {"ClusterQueueInactive", "is in another ClusterQueue, which is not active"},
    [KEEP_NOMINAL] = {"WithinNominalQuota",
                      "is in a ClusterQueue that uses no more than its own quota"},
    [KEEP_BORROWING] = {"BorrowWithinCohortNever",
                        "is in another ClusterQueue, this one would borrow, and "
                        "borrowWithinCohort is Never"},
    [KEEP_BORROWING_PRIORITY] = {"BorrowWithinCohortPriority",
                                 "has an equal or higher priority, and this ClusterQueue would "
                                 "borrow"},
    [KEEP_THRESHOLD] = {"BorrowWithinCohortThreshold",
                        "has a priority above borrowWithinCohort's maxPriorityThreshold"},
    [KEEP_PROTECTED] = {"Protected", "is protected by berth.dev/protected-until"},
    [KEEP_MINIMUM_RUNTIME] = {"MinimumRuntime",
                              "has not yet run for its berth.dev/minimum-runtime"},
    [KEEP_GATED] = {"PreemptionGated", "may go, but a preemption gate is closed"},
    [KEEP_SHARE] = {"FairSharing", "is in a ClusterQueue whose share is not the larger one"},
    [KEEP_NOT_ENOUGH] = {"NotEnough", "may be preempted, but that would not be enough by itself"},
};

const char *keep_rule_name(enum keep_rule r) {
    return rules[r].name;
}

bool keep_rule_borrows(enum keep_rule r) {
    return r == KEEP_BORROWING || r == KEEP_BORROWING_PRIORITY || r == KEEP_THRESHOLD;
}

const char *keep_rule_text(enum keep_rule r) {
    return rules[r].text;
}
