/*
 * keda: a ScaledObject's part of scaling, between zero and one, as KEDA decides it (pkg/scaling/executor): the whole of
 * the step that follows a poll or a push, without what reads triggers.
 *
 * The caller asks keda_decide; writes the scale where the answer says so, and then tells keda_written what was there
 * and whether it worked. Times are nanoseconds since 1970; what an answer points to is in the arena.
 */
#ifndef BERTH_CORE_KEDA_H
#define BERTH_CORE_KEDA_H

#include "api/scaling/view_keda.h"
#include "base/arena.h"

/* What annotations make a ScaledObject do, whatever its triggers say. */
struct keda_orders {
    bool paused, paused_in, paused_out, forced;
};
struct keda_orders keda_orders(const struct meta *m);

/* Is there a formula? */
bool keda_modified(const struct scaled_object_spec *s);
bool keda_is_resource(struct str trigger_type); /* cpu or memory: read by the HPA itself */

struct keda_request {
    const struct meta *metadata;
    const struct scaled_object_spec *spec;
    const struct scaled_object_status *status;
    int64_t now_ns;
    struct str replicas_error; /* not empty: the target could not be read */
    int32_t replicas;
    struct str kind_text;        /* of events: "apps/v1.Deployment" */
    const struct condition *hpa; /* ScalingActive of the owned HPA; NULL: not known */
    bool active, error;          /* of the triggers, all in all */
    const struct str *active_triggers;
    size_t n_active;
    struct str push_metric; /* not empty: a push of this metric, no poll */
};

struct keda_event {
    bool warning;
    const char *reason;
    struct str message;
};
enum { KEDA_EVENTS_MAX = 64 };

enum keda_write { KEDA_KEEP, KEDA_ACTIVATE, KEDA_DEACTIVATE, KEDA_TO_MIN };
struct keda_answer {
    enum keda_write write; /* not KEDA_KEEP: write `replicas`, and tell keda_written */
    int32_t replicas;
    struct condition_list conditions; /* to be set on top of those there are, in this order */
    bool active_now;                  /* lastActiveTime becomes now */
    struct keda_activity_map activity;
    struct keda_event events[2];
    size_t n_events;
    struct str error;
};

/* 0 or ERR_NOMEM. */
int keda_decide(const struct keda_request *r, struct arena *a, struct keda_answer *ret);
/* `before`: replicas that the scale had when it was written; -1: it could not be read. */
int keda_written(const struct keda_request *r, struct arena *a, bool ok, int32_t before,
                 struct keda_answer *answer);

/* The conditions of an answer put on top of others, in place or at the end. 0 or ERR_NOMEM. */
int keda_put_conditions(struct condition_list *onto, const struct condition_list *more,
                        struct arena *a);
int keda_put_condition(struct condition_list *l, struct arena *a, const char *type,
                       const char *status, const char *reason, struct str message);

#endif
