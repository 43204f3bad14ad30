/*
 * keda_decide: between zero and one: activation, deactivation after the cooldown, idle replicas, pauses.
 */
#include "api/meta.h"
#include "base/buf.h"
#include "core/scale/keda.h"

#define SECOND INT64_C(1000000000)
enum { COOLDOWN_S = 300 };

/* As Go's ParseBool has it; what is none of these counts as true. */
static bool is_false(struct str v) {
    static const char *const words[] = {"0", "f", "F", "false", "FALSE", "False"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_is(v, words[i])) {
            return true;
        }
    }
    return false;
}

static const struct str *annotation(const struct meta *m, const char *key) {
    for (size_t i = 0; m != NULL && i < m->annotations.n; i++) {
        if (str_is(m->annotations.v[i].key, key)) {
            return &m->annotations.v[i].value;
        }
    }
    return NULL;
}

static bool order(const struct meta *m, const char *key) {
    const struct str *v = annotation(m, key);
    return v != NULL && !is_false(*v);
}

struct keda_orders keda_orders(const struct meta *m) {
    return (struct keda_orders){
        .paused = annotation(m, "autoscaling.keda.sh/paused-replicas") != NULL ||
                  order(m, "autoscaling.keda.sh/paused"),
        .paused_in = order(m, "autoscaling.keda.sh/paused-scale-in"),
        .paused_out = order(m, "autoscaling.keda.sh/paused-scale-out"),
        .forced = order(m, "autoscaling.keda.sh/force-activation"),
    };
}

bool keda_modified(const struct scaled_object_spec *s) {
    const struct keda_modifiers *m = s->advanced != NULL ? s->advanced->modifiers : NULL;
    return m != NULL && (m->formula.n > 0 || m->target.n > 0 || m->activation_target.n > 0 ||
                         m->metric_type.n > 0);
}

bool keda_is_resource(struct str type) {
    return str_is(type, "cpu") || str_is(type, "memory");
}

int keda_put_condition(struct condition_list *l, struct arena *a, const char *type,
                       const char *status, const char *reason, struct str message) {
    struct condition c = {.type = str_of(type),
                          .status = str_of(status),
                          .reason = str_of(reason),
                          .message = message};
    for (size_t i = 0; i < l->n; i++) {
        if (str_is(l->v[i].type, type)) {
            l->v[i] = c;
            return 0;
        }
    }
    struct condition *v = ARENA_ARRAY(a, struct condition, l->n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    if (l->n > 0) {
        memcpy(v, l->v, l->n * sizeof(*v));
    }
    v[l->n] = c;
    *l = (struct condition_list){v, l->n + 1};
    return 0;
}

int keda_put_conditions(struct condition_list *onto, const struct condition_list *more,
                        struct arena *a) {
    struct condition_list all = {ARENA_ARRAY(a, struct condition, onto->n + more->n + 1), onto->n};
    if (all.v == NULL) {
        return ERR_NOMEM;
    }
    if (onto->n > 0) {
        memcpy(all.v, onto->v, onto->n * sizeof(*all.v));
    }
    for (size_t i = 0; i < more->n; i++) {
        size_t at = 0;
        while (at < all.n && !str_eq(all.v[at].type, more->v[i].type)) {
            at++;
        }
        all.v[at] = more->v[i];
        all.n += at == all.n;
    }
    *onto = all;
    return 0;
}

static int put(struct keda_answer *ret, struct arena *a, const char *type, const char *status,
               const char *reason, const char *message) {
    return keda_put_condition(&ret->conditions, a, type, status, reason, str_of(message));
}

static void event(struct keda_answer *ret, bool warning, const char *reason, struct str message) {
    ret->events[ret->n_events++] = (struct keda_event){warning, reason, message};
}

/* ---- activity ---- */

static bool is_active(const struct keda_request *r, struct str metric) {
    for (size_t i = 0; i < r->n_active; i++) {
        if (str_eq(r->active_triggers[i], metric)) {
            return true;
        }
    }
    return false;
}

static void set_activity(struct keda_activity_map *m, struct arena *a, struct str metric,
                         bool active) {
    struct keda_activity *v = ARENA_NEW(a, struct keda_activity);
    size_t at = 0;
    while (at < m->n && !str_eq(m->v[at].key, metric)) {
        at++;
    }
    if (v != NULL) {
        v->is_active = active;
        m->v[at] = (struct keda_activity_pair){metric, v};
        m->n += at == m->n;
    }
}

/* A push tells of one metric and leaves the others as they were. */
static int activity(const struct keda_request *r, struct arena *a, struct keda_activity_map *ret) {
    const struct keda_activity_map *was = &r->status->triggers_activity;
    const struct str_list *names = &r->status->external_metric_names;
    *ret = (struct keda_activity_map){
        ARENA_ARRAY(a, struct keda_activity_pair, was->n + names->n + 1), 0};
    if (ret->v == NULL) {
        return ERR_NOMEM;
    }
    if (r->push_metric.n > 0) {
        for (size_t i = 0; i < was->n; i++) {
            ret->v[ret->n++] = was->v[i];
        }
        set_activity(ret, a, r->push_metric, is_active(r, r->push_metric));
        return arena_ok(a);
    }
    for (size_t i = 0; i < names->n; i++) {
        set_activity(ret, a, names->v[i], is_active(r, names->v[i]));
    }
    return arena_ok(a);
}

/* ---- decisions ---- */

static int32_t min_of(const struct keda_request *r) {
    return r->spec->min_replica_count.set ? r->spec->min_replica_count.v : 0;
}

static int when_active(const struct keda_request *r, struct arena *a, struct keda_orders o,
                       struct keda_answer *ret) {
    int32_t min = min_of(r);
    int rc = put(ret, a, "Active", "True", "ScalerActive",
                 o.forced ? "Scaling is performed because activation is being forced by annotation"
                          : "Scaling is performed because triggers are active");
    if ((r->spec->idle_replica_count.set && r->replicas < min) || r->replicas == 0) {
        if (!o.paused_out) {
            ret->write = KEDA_ACTIVATE;
            ret->replicas = min > 0 ? min : 1;
        }
    } else if (r->error) {
        rc = rc ? rc
                : put(ret, a, "Ready", "Unknown", "PartialTriggerError",
                      "Some triggers defined in ScaledObject are not working correctly");
    } else {
        ret->active_now = true;
    }
    return rc;
}

static int deactivate(const struct keda_request *r, struct arena *a, struct keda_orders o,
                      struct keda_answer *ret) {
    const struct scaled_object_spec *s = r->spec;
    int64_t last = r->status->last_active_ns;
    int64_t cooldown = s->cooldown_period.set ? s->cooldown_period.v : COOLDOWN_S;
    int64_t initial = s->initial_cooldown_period.set ? s->initial_cooldown_period.v : 0;
    int64_t created = r->metadata != NULL ? r->metadata->creation_ns : 0;
    int64_t until = last != 0 ? last + cooldown * SECOND : created + initial * SECOND;
    if (o.paused_in) {
        return 0;
    }
    if (until >= r->now_ns) {
        return put(ret, a, "Active", "False", "ScalerCooldown",
                   "Scaler cooling down because triggers are not active");
    }
    ret->write = KEDA_DEACTIVATE;
    ret->replicas = s->idle_replica_count.set ? s->idle_replica_count.v : min_of(r);
    return 0;
}

static int when_idle(const struct keda_request *r, struct arena *a, struct keda_orders o,
                     struct keda_answer *ret) {
    const struct scaled_object_spec *s = r->spec;
    int32_t min = min_of(r);
    int rc = put(ret, a, "Active", "False", "ScalerNotActive",
                 "Scaling is not performed because triggers are not active");
    if (rc != 0 || (r->error && s->fallback != NULL && s->fallback->replicas != 0)) {
        return rc; /* at zero the HPA would not go to the fallback's replicas */
    }
    if (r->error && s->fallback == NULL) {
        return put(ret, a, "Ready", "False", "TriggerError",
                   "Triggers defined in ScaledObject are not working correctly");
    }
    if ((s->idle_replica_count.set && r->replicas > s->idle_replica_count.v) ||
        (r->replicas > 0 && min == 0)) {
        return deactivate(r, a, o, ret);
    }
    if (!s->idle_replica_count.set && r->replicas < min) {
        ret->write = KEDA_TO_MIN;
        ret->replicas = min;
    }
    return 0;
}

/* The condition of the owned HPA, repeated here. */
static int hpa_health(const struct keda_request *r, struct arena *a, struct keda_answer *ret) {
    const struct condition *c = r->hpa;
    if (c == NULL) {
        return 0;
    }
    if (str_is(c->status, "True")) {
        return put(ret, a, "HPAActive", "True", "HPAActive", "HPA is actively scaling");
    }
    if (str_is(c->reason, "ScalingDisabled")) {
        return keda_put_condition(&ret->conditions, a, "HPAActive", "True", "ScalingDisabled",
                                  c->message);
    }
    struct str reason = c->reason.n > 0 ? arena_str(a, c->reason) : STR("HPAMetricsUnavailable");
    return keda_put_condition(&ret->conditions, a, "HPAActive", "False", reason.p,
                              arena_f(a, "HPA is not actively scaling: %.*s", STR_ARG(c->message)));
}

int keda_decide(const struct keda_request *r, struct arena *a, struct keda_answer *ret) {
    struct keda_orders o = keda_orders(r->metadata);
    *ret = (struct keda_answer){0};
    int rc = put(ret, a, "Ready", "True", "ScaledObjectReady",
                 "ScaledObject is defined correctly and is ready for scaling");
    rc = rc ? rc : activity(r, a, &ret->activity);
    if (rc == 0 && r->replicas_error.n > 0) {
        ret->error = arena_f(a, "Error getting current replicas count for ScaleTarget: %.*s",
                             STR_ARG(r->replicas_error));
        return keda_put_condition(&ret->conditions, a, "Ready", "False",
                                  "ErrorGettingCurrentReplicas", ret->error);
    }
    if (rc == 0 && o.paused) {
        return put(ret, a, "Paused", "True", "ScaledObjectPaused", "ScaledObject is paused");
    }
    if (rc == 0) {
        rc = r->active || o.forced ? when_active(r, a, o, ret) : when_idle(r, a, o, ret);
    }
    return rc || ret->write != KEDA_KEEP ? rc : hpa_health(r, a, ret);
}

static struct str joined(const struct keda_request *r, struct arena *a) {
    struct buf b;
    buf_init(&b, 0);
    for (size_t i = 0; i < r->n_active; i++) {
        buf_f(&b, "%s%.*s", i ? ";" : "", STR_ARG(r->active_triggers[i]));
    }
    struct str text = arena_str(a, buf_view(&b));
    buf_release(&b);
    return text;
}

int keda_written(const struct keda_request *r, struct arena *a, bool ok, int32_t before,
                 struct keda_answer *answer) {
    struct str ns = r->metadata->namespace, name = r->spec->target->name;
    struct str what = arena_f(a, "%.*s %.*s/%.*s from %d to %d", STR_ARG(r->kind_text), STR_ARG(ns),
                              STR_ARG(name), before, answer->replicas);
    if (answer->write == KEDA_ACTIVATE && ok) {
        struct str why = keda_orders(r->metadata).forced
                             ? STR("caused by forced activation annotation")
                             : arena_f(a, "triggered by %.*s", STR_ARG(joined(r, a)));
        event(answer, false, "KEDAScaleTargetActivated",
              arena_f(a, "Scaled %.*s, %.*s", STR_ARG(what), STR_ARG(why)));
        answer->active_now = true;
    } else if (answer->write == KEDA_ACTIVATE) {
        event(answer, true, "KEDAScaleTargetActivationFailed",
              arena_f(a, "Failed to scale %.*s", STR_ARG(what)));
    } else if (answer->write == KEDA_DEACTIVATE && ok) {
        event(answer, false, "KEDAScaleTargetDeactivated",
              arena_f(a, "Deactivated %.*s", STR_ARG(what)));
    } else if (answer->write == KEDA_DEACTIVATE) {
        event(answer, true, "KEDAScaleTargetDeactivationFailed",
              arena_f(a, "Failed to deactivate %.*s", STR_ARG(what)));
    }
    return hpa_health(r, a, answer);
}
