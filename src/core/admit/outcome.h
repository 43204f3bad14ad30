/* outcome (core): the result of a cycle for one of its heads. */
#ifndef BERTH_CORE_OUTCOME_H
#define BERTH_CORE_OUTCOME_H

enum outcome {
    OUTCOME_NONE, /* not processed yet */
    OUTCOME_ADMITTED,
    OUTCOME_NO_FIT,        /* parks its class */
    OUTCOME_NO_CANDIDATES, /* the same: it needs victims and has none */
    OUTCOME_NO_PLACE,      /* quota, but no place */
    OUTCOME_GATED,         /* parks it alone */
    OUTCOME_FAILED_CHECKS,
    OUTCOME_REFUSED,
    OUTCOME_PREEMPTING, /* back at once; it stays first */
    OUTCOME_DEFERRED,
    OUTCOME_AGAIN, /* back at once */
    OUTCOMES
};

#endif
