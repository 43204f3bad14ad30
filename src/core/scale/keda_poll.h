/*
 * keda_poll: what a ScaledObject's triggers say all in all, at a poll of its own and when its HPA reads a metric: who
 * is active, who failed, what stands in for those that fail for long, and the composite metric.
 *
 * The caller reads the triggers, and keeps the state: failed reads of each metric, and what the last poll found of
 * those whose metrics are cached. KEDA keeps two copies of the object, of which the one for reads may be old, counts
 * and conditions included; here there is one. Metrics are in thousandths.
 */
#ifndef BERTH_CORE_KEDA_POLL_H
#define BERTH_CORE_KEDA_POLL_H

#include "core/scale/keda.h"
#include "core/scale/keda_modify.h"

/* One trigger's metric, and what its source answered. */
struct keda_reading {
    struct str metric;       /* "s0-prometheus"; empty: none, as of cpu */
    struct str trigger_name; /* for formulas */
    struct str metric_type;  /* AverageValue, Value */
    int64_t target;          /* thousandths */
    bool cached;             /* useCachedMetrics */
    struct str error;        /* not empty: the read failed */
    double value;
    bool active;
};

struct keda_metric {
    struct str name;
    int64_t milli;
};
struct keda_metrics {
    struct keda_metric *v;
    size_t n;
};

/* Of a metric that is cached: what the last poll found. */
struct keda_record {
    bool there, active;
    struct str error;
    struct keda_metrics metrics;
};

struct keda_look {
    const struct meta *metadata;
    const struct scaled_object_spec *spec;
    const struct formula *formula;       /* of scalingModifiers, NULL: none or not valid */
    const struct keda_reading *readings; /* one for each trigger */
    size_t n;
    int32_t replicas; /* that the target has now */
    bool replicas_known;
    int32_t ready_pods;
    struct keda_record *records; /* one for each trigger; written by keda_poll */
};

/* What is changed is copied first: a state that was copied by value stays as it was. */
struct keda_state {
    struct condition_list conditions; /* Fallback is set */
    struct keda_health_map health;
    void (*changed)(void *ctx,
                    struct keda_state *s); /* after each read that counted; NULL: nobody asks */
    void *ctx;
};

struct keda_found {
    bool active, error, fallback;
    struct str *active_triggers;
    size_t n_active;
    struct keda_event *events;
    size_t n_events;
};

/* A poll. `state` is the status before it, and changed. 0 or ERR_NOMEM. */
int keda_poll(const struct keda_look *k, struct keda_state *state, struct arena *a,
              struct keda_found *ret);
/* The HPA reads a metric. ERR_UNAVAILABLE: it gets an error. `external`: names of all metrics of sources. */
int keda_read(const struct keda_look *k, struct keda_state *state, struct str metric,
              const struct str_list *external, struct arena *a, struct keda_metrics *ret,
              struct err *err);

/* As a metric has it: three decimals, and 0 for what is negative or no number. In thousandths: saturated. */
struct quantity keda_quantity(double value);
int64_t keda_milli(double value);

#endif
