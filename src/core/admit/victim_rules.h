/*
 * victim_rules (core): may this workload be preempted for that one, and if not, why not: each rule once.
 *
 * The search for victims (preempt_source.c, preempt.c, fair_search.c) and explanations (whatif/explain.c) ask these
 * functions, so that what is told is what is decided. KEEP_NOT_ENOUGH: by this rule it may. They are inline, as a
 * search asks them of every holder that it reads.
 *
 * What a search has besides: whether the holder has anything of what is short, and the lists by which it finds queues
 * that borrow. What an explanation has besides: a holder that is evicting already is told as such, where the search
 * takes it first; and a gate, which stops the search as a whole.
 */
#ifndef BERTH_CORE_VICTIM_RULES_H
#define BERTH_CORE_VICTIM_RULES_H

#include "core/admit/preempt.h"
#include "core/admit/victim.h"
#include "core/quota/amount.h"

/* By withinClusterQueue for holders of the asker's own queue, by reclaimWithinCohort for those of others. */
static inline enum keep_rule victim_policy_rule(enum preempt_policy policy,
                                                const struct queue_workload *asker,
                                                const struct queue_workload *h) {
    if (h->heir != NULL || (asker->replaces.n > 0 && str_eq(asker->replaces, h->uid))) {
        return KEEP_REPLACED;
    }
    if (policy == PREEMPT_NEVER) {
        return h->queue == asker->queue ? KEEP_WITHIN_NEVER : KEEP_RECLAIM_NEVER;
    }
    if (policy == PREEMPT_ANY || h->priority < asker->priority) {
        return KEEP_NOT_ENOUGH;
    }
    if (policy == PREEMPT_LOWER_OR_NEWER && h->priority == asker->priority) {
        return h->queued_ns > asker->queued_ns ? KEEP_NOT_ENOUGH : KEEP_OLDER;
    }
    return KEEP_PRIORITY;
}

/* No holder of this priority or a higher one may be preempted by this policy: a search in that order is over. */
static inline bool victim_policy_ends(enum preempt_policy policy,
                                      const struct queue_workload *asker, int64_t priority) {
    switch (policy) {
    case PREEMPT_ANY:
        return false;
    case PREEMPT_LOWER:
        return priority >= asker->priority;
    case PREEMPT_LOWER_OR_NEWER:
        return priority > asker->priority;
    case PREEMPT_NEVER:
        break;
    }
    return true;
}

/* May workloads of another queue be victims at all? Only those of one that is active and borrows. */
static inline enum keep_rule victim_queue_rule(const struct queue *asker,
                                               const struct quota_node *theirs, uint32_t pair) {
    const struct quota_cell *c;

    if (asker->reclaim == PREEMPT_NEVER) {
        return KEEP_RECLAIM_NEVER;
    }
    if (!preempt_queue_may(theirs)) {
        return KEEP_INACTIVE;
    }
    c = quota_cell_of(theirs, pair);
    return c != NULL && c->over ? KEEP_NOT_ENOUGH : KEEP_NOMINAL;
}

/* By borrowWithinCohort, where the asker's queue would itself borrow. */
static inline enum keep_rule victim_borrowing_rule(const struct queue_workload *asker,
                                                   const struct queue_workload *h) {
    const struct queue *q = asker->queue;

    if (q->borrow_within == PREEMPT_NEVER) {
        return KEEP_BORROWING;
    }
    if (h->priority >= asker->priority) {
        return KEEP_BORROWING_PRIORITY;
    }
    return q->has_threshold && h->priority > q->threshold ? KEEP_THRESHOLD : KEEP_NOT_ENOUGH;
}

/* *ret_until: when its protection ends; 0: nothing protects it, as nothing does one that is evicting. */
static inline enum keep_rule victim_protection_rule(const struct queue_workload *h, int64_t now,
                                                    int64_t *ret_until) {
    int64_t least = h->minimum_runtime_ns > 0 && h->reserved_ns > 0
                        ? amount_add(h->reserved_ns, h->minimum_runtime_ns)
                        : 0;
    int64_t until = h->evicting ? 0 : amount_max(least, h->protected_until_ns);

    *ret_until = until > now ? until : 0;
    if (*ret_until == 0) {
        return KEEP_NOT_ENOUGH;
    }
    return least > h->protected_until_ns ? KEEP_MINIMUM_RUNTIME : KEEP_PROTECTED;
}

#endif
