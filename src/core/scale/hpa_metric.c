/*
 * hpa_metric: what each metric of a spec proposes, and what all of them together do: the one that asks for most counts,
 * and while some cannot be read the number does not fall.
 */
#include "core/scale/hpa_private.h"

/* What came of one metric. */
struct hpa_outcome {
    bool ok;
    struct hpa_proposal p;
    const char *reason; /* of the condition and event when it failed */
    struct str why;     /* for them */
    struct str failure; /* why, as the whole look tells it */
};

static struct opt_quantity milli(int64_t v, enum quantity_format format) {
    return (struct opt_quantity){true, quantity_of_milli(v, format)};
}

static struct hpa_value *value_of(struct hpa_look *k, const struct hpa_proposal *p, bool average,
                                  enum quantity_format format) {
    struct hpa_value *v = ARENA_NEW(k->arena, struct hpa_value);
    if (v != NULL) {
        if (!p->undefined) { /* upstream writes whatever the processor makes of a division by 0 */
            *(average ? &v->average_value : &v->value) = milli(p->usage, format);
        }
        v->average_utilization = p->percent;
    }
    k->failed = v == NULL ? ERR_NOMEM : k->failed;
    return v;
}

static struct str metric_text(struct hpa_look *k, const struct hpa_metric_name *m) {
    struct str selector = hpa_selector_text(k->arena, m->selector);
    return arena_f(k->arena, "external metric %.*s(%.*s)", STR_ARG(m->name), STR_ARG(selector));
}

/* ---- resources ---- */

static void resource(struct hpa_look *k, const struct hpa_resource_source *s, bool container,
                     struct hpa_metric *status, struct hpa_outcome *o) {
    bool average = s->target != NULL && s->target->average_value.set;
    const char *what = average ? "usage" : "utilization";
    struct str why = {NULL, 0};
    o->reason = container ? "FailedGetContainerResourceMetric" : "FailedGetResourceMetric";
    if (s->target == NULL || (!average && !s->target->average_utilization.set)) {
        o->why = STR("invalid resource metric source: neither an average utilization target nor an "
                     "average value (usage) target was set");
    } else if (average ? hpa_average_use(k, s, &o->p, &why) : hpa_utilization(k, s, &o->p, &why)) {
        o->ok = true;
        o->p.name = arena_f(k->arena, "%.*s %s", STR_ARG(s->name),
                            average     ? "resource"
                            : container ? "container resource utilization (percentage of request)"
                                        : "resource utilization (percentage of request)");
    } else {
        o->why =
            arena_f(k->arena, "failed to get %.*s %s: %.*s", STR_ARG(s->name), what, STR_ARG(why));
    }
    if (!o->ok) {
        struct str of = container ? s->container : s->name;
        o->failure = arena_f(k->arena, "failed to get %.*s %s metric value: %.*s", STR_ARG(of),
                             container ? "container" : "resource", STR_ARG(o->why));
        return;
    }
    struct hpa_resource_source *now = ARENA_NEW(k->arena, struct hpa_resource_source);
    enum quantity_format format = str_is(s->name, "memory") ? QUANTITY_BINARY : QUANTITY_DECIMAL;
    if (now != NULL) {
        *now = (struct hpa_resource_source){s->name, s->container, NULL,
                                            value_of(k, &o->p, true, format)};
        *(container ? &status->container_resource : &status->resource) = now;
    }
    k->failed = now == NULL ? ERR_NOMEM : k->failed;
}

/* ---- the others ---- */

static void pods(struct hpa_look *k, const struct hpa_plain_source *s, const struct hpa_reading *r,
                 struct hpa_metric *status, struct hpa_outcome *o) {
    struct str why = {NULL, 0};
    struct hpa_plain_source *now = ARENA_NEW(k->arena, struct hpa_plain_source);
    o->reason = "FailedGetPodsMetric";
    o->ok = now != NULL && hpa_pods_metric(k, s, r, &o->p, &why);
    if (!o->ok) {
        o->why = why;
        o->failure = arena_f(k->arena, "failed to get pods metric value: %.*s", STR_ARG(why));
        return;
    }
    o->p.name = arena_f(k->arena, "pods metric %.*s", STR_ARG(s->metric->name));
    *now = (struct hpa_plain_source){.metric = s->metric,
                                     .current = value_of(k, &o->p, true, QUANTITY_DECIMAL)};
    status->pods = now;
}

static void object(struct hpa_look *k, const struct hpa_object_source *s,
                   const struct hpa_reading *r, struct hpa_metric *status, struct hpa_outcome *o) {
    const struct hpa_target *t = s->target;
    bool value = str_is(t->type, "Value") && t->value.set;
    bool average = str_is(t->type, "AverageValue") && t->average_value.set;
    struct str error =
        r->error.n == 0 && r->n == 0 ? STR("the server returned no metrics") : r->error;
    o->reason = "FailedGetObjectMetric";
    if (!value && !average) {
        o->why = STR("invalid object metric source: neither a value target nor an average value "
                     "target was set");
    } else if (error.n > 0) {
        /* the order of these is upstream's */
        o->why =
            arena_f(k->arena,
                    "unable to get metric %.*s: %.*s on %.*s %.*s/unable to fetch metrics from "
                    "custom metrics API: %.*s",
                    STR_ARG(s->metric->name), STR_ARG(s->described_object->kind),
                    STR_ARG(k->in->namespace), STR_ARG(s->described_object->name), STR_ARG(error));
    } else if (value) {
        o->ok = hpa_per_target(k, r->values[0], quantity_milli(t->value.v), &o->p, &o->why);
        o->p.name = arena_f(k->arena, "%.*s metric %.*s", STR_ARG(s->described_object->kind),
                            STR_ARG(s->metric->name));
    } else {
        hpa_per_pod(k, r->values[0], quantity_milli(t->average_value.v), &o->p);
        o->ok = true;
        o->p.name = metric_text(k, s->metric);
    }
    struct hpa_object_source *now = ARENA_NEW(k->arena, struct hpa_object_source);
    if (now == NULL) {
        k->failed = ERR_NOMEM;
    } else if (o->ok) {
        *now = (struct hpa_object_source){.described_object = s->described_object,
                                          .metric = s->metric,
                                          .current = value_of(k, &o->p, !value, QUANTITY_DECIMAL)};
        status->object = now;
    } else {
        bool named = error.n > 0 && average;
        o->failure =
            arena_f(k->arena, "failed to get object metric value: %s%.*s%s%.*s",
                    named ? "failed to get " : "", STR_ARG(named ? s->metric->name : STR("")),
                    named ? " object metric: " : "", STR_ARG(o->why));
    }
}

static int64_t sum_of(const struct hpa_reading *r) {
    int64_t sum = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (__builtin_add_overflow(sum, r->values[i], &sum)) {
            return INT64_MAX;
        }
    }
    return sum;
}

static void external(struct hpa_look *k, const struct hpa_plain_source *s,
                     const struct hpa_reading *r, struct hpa_metric *status,
                     struct hpa_outcome *o) {
    const struct hpa_target *t = s->target;
    struct str name = s->metric->name, ns = k->in->namespace;
    bool average = t->average_value.set;
    o->reason = "FailedGetExternalMetric";
    if (!average && !t->value.set) {
        o->why = STR("invalid external metric source: neither a value target nor an average value "
                     "target was set");
    } else if (r->error.n > 0 || r->n == 0) {
        struct str selector = hpa_selector_text(k->arena, s->metric->selector);
        o->why = arena_f(k->arena, "unable to get external metric %.*s/%.*s/%.*s: %s%.*s",
                         STR_ARG(ns), STR_ARG(name), STR_ARG(selector),
                         r->error.n > 0 ? "unable to fetch metrics from external metrics API: "
                                        : "no metrics returned from external metrics API",
                         STR_ARG(r->error));
    } else if (average) {
        hpa_per_pod(k, sum_of(r), quantity_milli(t->average_value.v), &o->p);
        o->ok = true;
    } else {
        o->ok = hpa_per_target(k, sum_of(r), quantity_milli(t->value.v), &o->p, &o->why);
    }
    struct hpa_plain_source *now = ARENA_NEW(k->arena, struct hpa_plain_source);
    if (now == NULL) {
        k->failed = ERR_NOMEM;
    } else if (o->ok) {
        o->p.name = metric_text(k, s->metric);
        *now = (struct hpa_plain_source){.metric = s->metric,
                                         .current = value_of(k, &o->p, average, QUANTITY_DECIMAL)};
        status->external = now;
    } else if (average) {
        o->failure = arena_f(k->arena,
                             "failed to get %.*s external metric value: failed to get %.*s "
                             "external metric: %.*s",
                             STR_ARG(name), STR_ARG(name), STR_ARG(o->why));
    } else {
        o->failure = arena_f(k->arena, "failed to get %.*s external metric value: %s%.*s%s%.*s",
                             STR_ARG(name), t->value.set ? "failed to get external metric " : "",
                             STR_ARG(t->value.set ? name : STR("")), t->value.set ? ": " : "",
                             STR_ARG(o->why));
    }
}

static struct hpa_outcome one(struct hpa_look *k, size_t i, struct hpa_metric *status) {
    const struct hpa_metric *m = &k->in->spec->metrics.v[i];
    const struct hpa_reading *r = &k->in->readings[i];
    struct hpa_outcome o = {0};
    if (str_is(m->type, "Object") && m->object != NULL) {
        object(k, m->object, r, status, &o);
    } else if (str_is(m->type, "Pods") && m->pods != NULL) {
        pods(k, m->pods, r, status, &o);
    } else if (str_is(m->type, "Resource") && m->resource != NULL) {
        resource(k, m->resource, false, status, &o);
    } else if (str_is(m->type, "ContainerResource") && m->container_resource != NULL) {
        resource(k, m->container_resource, true, status, &o);
    } else if (str_is(m->type, "External") && m->external != NULL) {
        external(k, m->external, r, status, &o);
    } else {
        o.reason = "InvalidMetricSourceType";
        o.why = arena_f(k->arena, "unknown metric source type \"%.*s\"", STR_ARG(m->type));
        o.failure = o.why;
    }
    if (o.ok) {
        status->type = m->type;
    } else {
        *status = (struct hpa_metric){0};
        hpa_event(k, true, o.reason, o.why);
    }
    return o;
}

bool hpa_metrics(struct hpa_look *k, int32_t *ret_replicas, struct str *ret_metric,
                 struct hpa_metric_list *ret_statuses, struct str *failure) {
    size_t n = k->in->spec->metrics.n, invalid = 0;
    struct hpa_metric_list statuses = {ARENA_ARRAY(k->arena, struct hpa_metric, n + 1), n};
    struct hpa_outcome first = {0};
    int32_t replicas = 0;
    struct str metric = {NULL, 0};
    if (statuses.v == NULL) {
        k->failed = ERR_NOMEM;
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        struct hpa_outcome o = one(k, i, &statuses.v[i]);
        if (!o.ok) {
            first = invalid++ == 0 ? o : first;
        } else if (replicas == 0 || o.p.replicas > replicas) {
            replicas = o.p.replicas;
            metric = o.p.name;
        }
    }
    *ret_statuses = statuses;
    if (invalid > 0) {
        *failure =
            arena_f(k->arena, "invalid metrics (%zu invalid out of %zu), first error is: %.*s",
                    invalid, n, STR_ARG(first.failure));
    }
    if (invalid >= n || (invalid > 0 && replicas < k->in->spec_replicas)) {
        hpa_condition(k, "ScalingActive", false, first.reason != NULL ? first.reason : "",
                      arena_f(k->arena, "the HPA was unable to compute the replica count: %.*s",
                              STR_ARG(first.why)));
        return false;
    }
    hpa_condition(k, "ScalingActive", true, "ValidMetricFound",
                  arena_f(k->arena,
                          "the HPA was able to successfully calculate a replica count from %.*s",
                          STR_ARG(metric)));
    *ret_replicas = replicas;
    *ret_metric = metric;
    return true;
}
