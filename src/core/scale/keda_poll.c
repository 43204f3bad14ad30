/*
 * keda_poll: polls and reads of metrics, with fallbacks.
 */
#include "core/scale/keda_poll.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/scale/go_float.h"

/* One look while it goes on. */
struct keda_poller {
    const struct keda_look *k;
    struct keda_state *state;
    struct arena *a;
    struct keda_metrics metrics; /* of all triggers; fallback ones alone in `fallbacks` */
    struct keda_metrics fallbacks;
    bool fallback, error;
    int rc;
};

struct quantity keda_quantity(double value) {
    char text[400];
    struct quantity q = {0};
    if (!isnan(value) && !isinf(value) && value > 0) {
        snprintf(text, sizeof(text), "%.3f", value);
        (void)quantity_parse(str_of(text), &q, NULL);
    }
    return q;
}

int64_t keda_milli(double value) {
    return quantity_milli(keda_quantity(value));
}

/* ---- health ---- */

static bool tracked(const struct keda_look *k) {
    const struct keda_fallback *f = k->spec->fallback;
    bool modified = keda_modified(k->spec);
    int64_t target = 0;
    return f != NULL && f->failure_threshold >= 0 && f->replicas >= 0 &&
           (!modified || (str_to_i64(k->spec->advanced->modifiers->target, &target) && target > 0));
}

static const struct keda_health *health_of(const struct keda_state *s, struct str metric) {
    for (size_t i = 0; i < s->health.n; i++) {
        if (str_eq(s->health.v[i].key, metric)) {
            return s->health.v[i].value;
        }
    }
    return NULL;
}

/* A new entry in a new map; NULL: no memory. */
static struct keda_health *new_health(struct keda_poller *p, struct str metric) {
    struct keda_health_map *m = &p->state->health;
    struct keda_health_pair *v = ARENA_ARRAY(p->a, struct keda_health_pair, m->n + 1);
    struct keda_health *h = ARENA_NEW(p->a, struct keda_health);
    size_t at = 0;
    if (v == NULL || h == NULL) {
        p->rc = ERR_NOMEM;
        return NULL;
    }
    if (m->n > 0) {
        memcpy(v, m->v, m->n * sizeof(*v));
    }
    while (at < m->n && !str_eq(v[at].key, metric)) {
        at++;
    }
    v[at] = (struct keda_health_pair){metric, h};
    *m = (struct keda_health_map){v, m->n + (at == m->n)};
    return h;
}

/* Sets the count, and the condition that follows from all counts. */
static void set_health(struct keda_poller *p, struct str metric, bool failed) {
    const struct keda_health *was = health_of(p->state, metric);
    int32_t before = was != NULL ? was->number_of_failures.v : 0;
    struct keda_health *h = new_health(p, metric);
    const struct keda_health_map *m = &p->state->health;
    int32_t threshold = p->k->spec->fallback->failure_threshold;
    bool any = false;
    if (h == NULL) {
        return;
    }
    h->number_of_failures = (struct opt_i32){true, failed ? before + (before < INT32_MAX) : 0};
    h->status = failed ? STR("Failing") : STR("Happy");
    for (size_t i = 0; i < m->n; i++) {
        any = any || (str_is(m->v[i].value->status, "Failing") &&
                      m->v[i].value->number_of_failures.v > threshold);
    }
    int rc = keda_put_conditions(&p->state->conditions, &(struct condition_list){NULL, 0}, p->a);
    rc = rc ? rc
         : any
             ? keda_put_condition(&p->state->conditions, p->a, "Fallback", "True", "FallbackExists",
                                  STR("At least one trigger is falling back on this scaled "
                                      "object"))
             : keda_put_condition(&p->state->conditions, p->a, "Fallback", "False",
                                  "NoFallbackFound",
                                  STR("No fallbacks are active on this scaled object"));
    p->rc = p->rc ? p->rc : rc;
    if (p->rc == 0 && p->state->changed != NULL) {
        p->state->changed(p->state->ctx, p->state);
    }
}

/* ---- fallback ---- */

/* The replicas to hold. */
static double held(const struct keda_look *k) {
    const struct keda_fallback *f = k->spec->fallback;
    double now = k->replicas, least = f->replicas;
    if (str_is(f->behavior, "currentReplicas")) {
        return now;
    }
    if (str_is(f->behavior, "currentReplicasIfHigher")) {
        return now > least ? now : least;
    }
    return str_is(f->behavior, "currentReplicasIfLower") && now < least ? now : least;
}

/* The metric's value with which the HPA holds them. False: there is none. */
static bool stand_in(const struct keda_look *k, const struct keda_reading *r,
                     struct keda_metric *ret) {
    bool modified = keda_modified(k->spec);
    const struct keda_modifiers *m = modified ? k->spec->advanced->modifiers : NULL;
    struct str type = modified ? m->metric_type : r->metric_type;
    double replicas = held(k), target = (double)r->target * 1e-3;
    if (str_is(type, "Value")) {
        if (k->ready_pods == 0) {
            return false;
        }
        replicas /= (double)k->ready_pods;
    }
    if (modified && !go_float(m->target, &target)) {
        target = 0;
    }
    double milli = target * 1000 * replicas;
    *ret = (struct keda_metric){modified ? STR(KEDA_COMPOSITE) : r->metric,
                                milli < 9.2e18 ? (int64_t)milli : INT64_MAX};
    return true;
}

/* What a read comes to. */
struct keda_outcome {
    struct keda_metrics metrics;
    bool fallback, active;
    struct str error;
};

static void one_metric(struct keda_poller *p, struct keda_outcome *o, struct keda_metric m) {
    o->metrics.v = ARENA_ARRAY(p->a, struct keda_metric, 1);
    if (o->metrics.v == NULL) {
        p->rc = ERR_NOMEM;
        return;
    }
    o->metrics.v[0] = m;
    o->metrics.n = 1;
}

static struct keda_outcome failed(struct keda_poller *p, const struct keda_reading *r,
                                  struct keda_outcome o) {
    const struct keda_look *k = p->k;
    const struct keda_fallback *f = k->spec->fallback;
    struct str error = o.error;
    struct keda_metric m;
    o.metrics = (struct keda_metrics){NULL, 0};
    if (!tracked(k)) {
        return o;
    }
    set_health(p, r->metric, true);
    const struct keda_health *h = health_of(p->state, r->metric);
    if (h == NULL || h->number_of_failures.v <= f->failure_threshold) {
        return o;
    }
    o.error = STR("");
    if (str_is(f->behavior, "scalingModifiers")) {
        one_metric(p, &o, (struct keda_metric){r->metric, -1000}); /* nil, to the formula */
        return o;
    }
    if (!str_is(f->behavior, "static") && !k->replicas_known) {
        o.error = error;
    } else if (!stand_in(k, r, &m)) {
        o.error = STR("error performing fallback");
    } else {
        o.fallback = true;
        one_metric(p, &o, m);
    }
    return o;
}

static struct keda_outcome with_fallback(struct keda_poller *p, const struct keda_reading *r,
                                         struct keda_outcome o) {
    if (o.error.n > 0) {
        return failed(p, r, o);
    }
    if (tracked(p->k)) {
        set_health(p, r->metric, false);
    }
    return o;
}

static struct keda_outcome read_now(struct keda_poller *p, const struct keda_reading *r) {
    struct keda_outcome o = {.error = r->error};
    if (o.error.n == 0) {
        o.active = r->active;
        one_metric(p, &o, (struct keda_metric){r->metric, keda_milli(r->value)});
    }
    return with_fallback(p, r, o);
}

static void append(struct keda_poller *p, struct keda_metrics *to,
                   const struct keda_metrics *more) {
    struct keda_metric *v = ARENA_ARRAY(p->a, struct keda_metric, to->n + more->n + 1);
    if (v == NULL) {
        p->rc = ERR_NOMEM;
        return;
    }
    if (to->n > 0) {
        memcpy(v, to->v, to->n * sizeof(*v));
    }
    if (more->n > 0) {
        memcpy(v + to->n, more->v, more->n * sizeof(*v));
    }
    *to = (struct keda_metrics){v, to->n + more->n};
}

static void collect(struct keda_poller *p, const struct keda_outcome *o) {
    append(p, &p->metrics, &o->metrics);
    if (o->fallback) {
        p->fallback = true;
        append(p, &p->fallbacks, &o->metrics);
    }
    p->error = p->error || o->error.n > 0;
}

/* ---- the composite ---- */

static const struct keda_reading *reading_of(const struct keda_look *k, struct str metric) {
    for (size_t i = 0; i < k->n; i++) {
        if (str_eq(k->readings[i].metric, metric)) {
            return &k->readings[i];
        }
    }
    return NULL;
}

static bool is_nil(struct keda_poller *p, struct str metric) {
    const struct keda_fallback *f = p->k->spec->fallback;
    const struct keda_health_map *m = &p->state->health;
    if (f == NULL || !str_is(f->behavior, "scalingModifiers")) {
        return false;
    }
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].key, metric)) {
            return m->v[i].value->number_of_failures.v > f->failure_threshold;
        }
    }
    return false;
}

/* One metric in the place of all; none where the formula has no value. */
static void modify(struct keda_poller *p) {
    const struct keda_look *k = p->k;
    size_t n = p->metrics.n;
    struct formula_value *values = ARENA_ARRAY(p->a, struct formula_value, n + 1);
    struct keda_outcome o = {0};
    double value = 0;
    if (!keda_modified(k->spec) || values == NULL) {
        p->rc = values == NULL ? ERR_NOMEM : p->rc;
        return;
    }
    if (p->fallback) {
        if (p->fallbacks.n > 0) {
            one_metric(p, &o, (struct keda_metric){STR(KEDA_COMPOSITE), p->fallbacks.v[0].milli});
            p->metrics = o.metrics;
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct keda_reading *r = reading_of(k, p->metrics.v[i].name);
        values[i] = (struct formula_value){r != NULL ? r->trigger_name : STR(""),
                                           (double)p->metrics.v[i].milli * 1e-3,
                                           is_nil(p, p->metrics.v[i].name)};
    }
    p->metrics = (struct keda_metrics){NULL, 0};
    if (k->formula != NULL && keda_modify(k->spec->advanced->modifiers, k->formula,
                                          k->spec->fallback, values, n, p->a, &value, NULL) == 0) {
        one_metric(p, &o, (struct keda_metric){STR(KEDA_COMPOSITE), (int64_t)(value * 1000)});
        p->metrics = o.metrics;
    }
}

/* ---- a poll ---- */

static void found_event(struct keda_found *f, bool warning, const char *reason, struct str text) {
    if (f->n_events < KEDA_EVENTS_MAX) {
        f->events[f->n_events++] = (struct keda_event){warning, reason, text};
    }
}

static void found_active(struct keda_found *f, const struct keda_metrics *m) {
    f->active = true;
    for (size_t i = 0; i < m->n; i++) {
        f->active_triggers[f->n_active++] = m->v[i].name;
    }
}

static void poll_trigger(struct keda_poller *p, size_t i, struct keda_found *f) {
    const struct keda_reading *r = &p->k->readings[i];
    struct keda_outcome o = read_now(p, r);
    bool active = o.fallback || o.active;
    collect(p, &o);
    if (r->cached) {
        p->k->records[i] = (struct keda_record){true, active, o.error, o.metrics};
    }
    if (o.error.n > 0) {
        found_event(f, true,
                    keda_modified(p->k->spec) ? "KEDAMetricSourceFailed" : "KEDAScalerFailed",
                    o.error);
    } else if (active) {
        found_active(f, &o.metrics);
    }
}

/* With a formula only its value counts. */
static void by_formula(struct keda_poller *p, struct keda_found *f) {
    double activation = 0;
    struct str text = p->k->spec->advanced->modifiers->activation_target;
    f->active = false;
    f->n_active = 0;
    if (p->error || (text.n > 0 && !go_float(text, &activation))) {
        return;
    }
    for (size_t i = 0; i < p->metrics.n && !f->active; i++) {
        if ((double)p->metrics.v[i].milli * 1e-3 > activation) {
            struct keda_metrics one = {&p->metrics.v[i], 1};
            found_active(f, &one);
        }
    }
}

static bool falls_back(const struct keda_state *s) {
    for (size_t i = 0; i < s->conditions.n; i++) {
        if (str_is(s->conditions.v[i].type, "Fallback")) {
            return str_is(s->conditions.v[i].status, "True");
        }
    }
    return false;
}

int keda_poll(const struct keda_look *k, struct keda_state *state, struct arena *a,
              struct keda_found *ret) {
    struct keda_poller p = {.k = k, .state = state, .a = a};
    struct keda_found f = {.active_triggers = ARENA_ARRAY(a, struct str, k->n + 1),
                           .events = ARENA_ARRAY(a, struct keda_event, KEDA_EVENTS_MAX)};
    bool before = falls_back(state), only_resources = true;
    if (f.active_triggers == NULL || f.events == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < k->n; i++) {
        only_resources = only_resources && k->readings[i].metric.n == 0;
        if (k->readings[i].metric.n > 0) {
            poll_trigger(&p, i, &f);
        }
    }
    modify(&p);
    if (keda_modified(k->spec)) {
        by_formula(&p, &f);
    }
    f.active = f.active || (only_resources && !p.error);
    f.error = p.error;
    f.fallback = p.fallback;
    if (p.fallback && !before) {
        found_event(&f, false, "ScaledObjectFallbackActivated",
                    STR("ScaledObject fallback is active"));
    } else if (!p.fallback && before) {
        found_event(&f, false, "ScaledObjectFallbackDeactivated",
                    STR("ScaledObject fallback is no longer active"));
    }
    *ret = f;
    return p.rc ? p.rc : arena_ok(a);
}

/* ---- a read ---- */

static bool asked_for(const struct keda_look *k, struct str metric, const struct str_list *external,
                      struct str name) {
    const struct keda_advanced *adv = k->spec->advanced;
    if (adv == NULL || adv->modifiers == NULL || adv->modifiers->target.n == 0) {
        return str_eq_nocase(name, metric);
    }
    for (size_t i = 0; i < external->n; i++) {
        if (str_eq_nocase(name, external->v[i])) {
            return true;
        }
    }
    return false;
}

int keda_read(const struct keda_look *k, struct keda_state *state, struct str metric,
              const struct str_list *external, struct arena *a, struct keda_metrics *ret,
              struct err *err) {
    struct keda_poller p = {.k = k, .state = state, .a = a};
    for (size_t i = 0; i < k->n; i++) {
        const struct keda_reading *r = &k->readings[i];
        const struct keda_record *kept = &k->records[i];
        if (r->metric.n == 0 || !asked_for(k, metric, external, r->metric)) {
            continue;
        }
        struct keda_outcome o;
        if (r->cached && kept->there) {
            o = with_fallback(&p, r,
                              (struct keda_outcome){.metrics = kept->metrics,
                                                    .active = kept->active,
                                                    .error = kept->error});
        } else {
            o = read_now(&p, r);
        }
        collect(&p, &o);
    }
    if (p.rc == 0 && p.error && !p.fallback) {
        return err_set(err, ERR_UNAVAILABLE, "metric:%.*s encountered error", STR_ARG(metric));
    }
    if (p.rc == 0 && p.metrics.n == 0) {
        return err_set(err, ERR_UNAVAILABLE, "no matching metrics found for %.*s", STR_ARG(metric));
    }
    modify(&p);
    *ret = p.metrics;
    return p.rc;
}
