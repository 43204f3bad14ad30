/*
 * deployment_sight: private to deployment_decide: a Deployment and its sets as one look sees them, and its status.
 */
#ifndef BERTH_CONTROL_DEPLOYMENT_SIGHT_H
#define BERTH_CONTROL_DEPLOYMENT_SIGHT_H

#include "control/apps/deployment_decide.h"
#include "control/apps/rollout.h"

struct deployment_sight {
    struct deployment_facts *f;
    struct arena *a;
    struct deployment_plan *plan;
    const struct deployment_spec *spec;
    const struct deployment_status *was;
    struct rollout_bounds bounds;
    struct deployment_set *new;       /* NULL: there is none */
    struct condition_list conditions; /* on their way to the status; has room */
    bool failed;                      /* out of memory */
};

static inline int32_t deployment_set_replicas(const struct deployment_set *s) {
    return s->set.spec->replicas.set ? s->set.spec->replicas.v : 1;
}
static inline bool deployment_has_deadline(const struct deployment_sight *s) {
    return s->spec->progress_deadline_seconds.set &&
           s->spec->progress_deadline_seconds.v != INT32_MAX;
}

/* Before anything else: conditions that may be changed. */
void deployment_conditions_init(struct deployment_sight *s);
/* Sets one unless it has this status and reason already. */
void deployment_condition(struct deployment_sight *s, const char *type, const char *status,
                          const char *reason, struct str message);
/* Whether the rollout pauses or goes on again. */
void deployment_tell_paused(struct deployment_sight *s);
/* Whether all is as wanted. */
bool deployment_complete(const struct deployment_sight *s, const struct deployment_status *now);
/* Counts into the plan's status; `progress`: and says how the rollout goes. */
void deployment_status_fill(struct deployment_sight *s, bool progress);

#endif
