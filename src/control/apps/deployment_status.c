/*
 * deployment_status: counts of a Deployment, and its conditions Available, Progressing and ReplicaFailure.
 */
#include "api/conditions.h"
#include "api/schema/codec.h"
#include "api/walk/value.h"
#include "base/clock.h"
#include "control/apps/deployment_sight.h"

#define AVAILABLE "Available"
#define PROGRESSING "Progressing"
#define FAILURE "ReplicaFailure"
#define TIMED_OUT "ProgressDeadlineExceeded"
#define DONE "NewReplicaSetAvailable"

enum { CONDITIONS_MORE = 8 }; /* that one look may add */

void deployment_conditions_init(struct deployment_sight *s) {
    const struct condition_list *was = &s->was->conditions;
    s->conditions.v = ARENA_ARRAY(s->a, struct condition, was->n + CONDITIONS_MORE);
    if (s->conditions.v == NULL) {
        s->failed = true;
        return;
    }
    if (was->n) {
        memcpy(s->conditions.v, was->v, was->n * sizeof *was->v);
    }
    s->conditions.n = was->n;
}

void deployment_condition(struct deployment_sight *s, const char *type, const char *status,
                          const char *reason, struct str message) {
    const struct condition *was = conditions_find(&s->conditions, type);
    int64_t since = was && str_is(was->status, status) ? was->last_transition_ns : s->f->now_ns;
    if (s->failed || message.p == NULL) {
        s->failed = true;
    } else if (was == NULL || !str_is(was->status, status) || !str_is(was->reason, reason)) {
        conditions_remove(&s->conditions, type, NULL);
        s->conditions.v[s->conditions.n++] = (struct condition){.type = str_of(type),
                                                                .status = str_of(status),
                                                                .reason = str_of(reason),
                                                                .message = message,
                                                                .last_transition_ns = since,
                                                                .last_probe_ns = s->f->now_ns};
    }
}

void deployment_tell_paused(struct deployment_sight *s) {
    const struct condition *c = conditions_find(&s->conditions, PROGRESSING);
    bool said = c && str_is(c->reason, "DeploymentPaused");
    if (!deployment_has_deadline(s) || (c && str_is(c->reason, TIMED_OUT))) {
        return;
    }
    if (s->spec->paused && !said) {
        deployment_condition(s, PROGRESSING, "Unknown", "DeploymentPaused",
                             STR("Deployment is paused"));
    } else if (!s->spec->paused && said) {
        deployment_condition(s, PROGRESSING, "Unknown", "DeploymentResumed",
                             STR("Deployment is resumed"));
    }
}

/* ---- counts ---- */

static void count(struct deployment_sight *s, struct deployment_status *n) {
    int64_t wanted = 0;
    for (size_t i = 0; i < s->f->n; i++) {
        const struct replica_set_status *x = s->f->sets[i].set.status;
        wanted += deployment_set_replicas(&s->f->sets[i]);
        if (x) {
            n->replicas += x->replicas;
            n->ready_replicas += x->ready_replicas;
            n->available_replicas += x->available_replicas;
            n->terminating_replicas.v += x->terminating_replicas.v;
        }
    }
    n->terminating_replicas.set = true;
    n->updated_replicas = s->new && s->new->set.status ? s->new->set.status->replicas : 0;
    n->unavailable_replicas =
        wanted > n->available_replicas ? (int32_t)(wanted - n->available_replicas) : 0;
    n->observed_generation = s->f->obj->generation;
    n->collision_count = s->plan->status.collision_count;
}

bool deployment_complete(const struct deployment_sight *s, const struct deployment_status *now) {
    return now->updated_replicas == s->bounds.wanted && now->replicas == s->bounds.wanted &&
           now->available_replicas == s->bounds.wanted &&
           now->observed_generation >= s->f->obj->generation;
}

/* ---- progress ---- */

static bool is_progressing(const struct deployment_status *was,
                           const struct deployment_status *now) {
    return now->updated_replicas > was->updated_replicas ||
           now->replicas - now->updated_replicas < was->replicas - was->updated_replicas ||
           now->ready_replicas > was->ready_replicas ||
           now->available_replicas > was->available_replicas;
}

/* Nanoseconds until the rollout counts as failed; negative: it does. */
static int64_t deadline_left(const struct deployment_sight *s, const struct condition *c) {
    return c->last_probe_ns + s->spec->progress_deadline_seconds.v * NS_PER_SEC - s->f->now_ns;
}

static struct str say(struct deployment_sight *s, const char *how) {
    return s->new ? arena_f(s->a, "ReplicaSet \"%.*s\" %s", STR_ARG(s->new->obj->name), how)
                  : arena_f(s->a, "Deployment \"%.*s\" %s", STR_ARG(s->f->obj->name), how);
}

/* As of now, whatever was said: what progresses has new time. */
static void tell_progressing(struct deployment_sight *s) {
    const struct condition *c = conditions_find(&s->conditions, PROGRESSING);
    int64_t since = c && str_is(c->status, "True") ? c->last_transition_ns : s->f->now_ns;
    conditions_remove(&s->conditions, PROGRESSING, NULL);
    deployment_condition(s, PROGRESSING, "True", "ReplicaSetUpdated", say(s, "is progressing."));
    if (!s->failed) {
        s->conditions.v[s->conditions.n - 1].last_transition_ns = since;
    }
}

static void tell_progress(struct deployment_sight *s, const struct deployment_status *now) {
    const struct condition *c = conditions_find(&s->conditions, PROGRESSING);
    if (!deployment_has_deadline(s)) {
        conditions_remove(&s->conditions, PROGRESSING, NULL);
        return;
    }
    if (now->replicas == now->updated_replicas && c && str_is(c->reason, DONE)) {
        return; /* it was done before: what its pods do now is not a rollout's matter */
    }
    if (deployment_complete(s, now)) {
        deployment_condition(s, PROGRESSING, "True", DONE, say(s, "has successfully progressed."));
    } else if (is_progressing(s->was, now)) {
        tell_progressing(s);
    } else if (c && !str_is(c->reason, DONE) &&
               (str_is(c->reason, TIMED_OUT) || deadline_left(s, c) < 0)) {
        deployment_condition(s, PROGRESSING, "False", TIMED_OUT,
                             say(s, "has timed out progressing."));
    }
}

static void look_at_deadline(struct deployment_sight *s, const struct deployment_status *now) {
    const struct condition *c = conditions_find(&s->conditions, PROGRESSING);
    if (deployment_has_deadline(s) && c && !deployment_complete(s, now) &&
        !str_is(c->reason, TIMED_OUT) && !str_is(c->reason, DONE)) {
        int64_t left = deadline_left(s, c);
        s->plan->again_ns = (left > 0 ? left : 0) + NS_PER_SEC;
    }
}

/* ---- failures ---- */

static const struct condition *failure_of(const struct deployment_set *x) {
    return x && x->set.status ? conditions_find(&x->set.status->conditions, FAILURE) : NULL;
}

static void tell_failure(struct deployment_sight *s) {
    const struct condition *c = failure_of(s->new);
    for (size_t i = 0; c == NULL && i < s->f->n; i++) {
        c = failure_of(&s->f->sets[i]);
    }
    if (c == NULL) {
        conditions_remove(&s->conditions, FAILURE, NULL);
        return;
    }
    struct str reason = arena_str(s->a, c->reason), status = arena_str(s->a, c->status);
    reason = arena_f(s->a, "%.*s", STR_ARG(reason)); /* ends in 0 */
    status = arena_f(s->a, "%.*s", STR_ARG(status));
    if (reason.p == NULL || status.p == NULL) {
        s->failed = true;
    } else {
        deployment_condition(s, FAILURE, status.p, reason.p, c->message);
    }
}

void deployment_status_fill(struct deployment_sight *s, bool progress) {
    struct deployment_status now = {0};
    count(s, &now);
    if (now.available_replicas >= s->bounds.wanted - s->bounds.unavailable) {
        deployment_condition(s, AVAILABLE, "True", "MinimumReplicasAvailable",
                             STR("Deployment has minimum availability."));
    } else {
        deployment_condition(s, AVAILABLE, "False", "MinimumReplicasUnavailable",
                             STR("Deployment does not have minimum availability."));
    }
    if (progress) {
        tell_progress(s, &now);
        tell_failure(s);
        look_at_deadline(s, &now);
    }
    now.conditions = s->conditions;
    s->plan->status = now;
    s->plan->write_status = s->f->deployment->status == NULL ||
                            !value_views_same(&schema_deployment_status, s->was, &now);
}
