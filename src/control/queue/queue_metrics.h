/*
 * queue_metrics: Kueue's metrics, by its names, labels and buckets, in the registry of the process.
 *
 * Counters and histograms are fed from transitions: each committed version of a Workload is compared with what was seen
 * of it before, so nothing is counted twice and a restart counts nothing anew. Gauges are set when somebody asks, from
 * the tallies: a queue of which nothing changed costs a look at a flag. All series of an object go with it.
 *
 * docs/metrics.md lists which of Kueue's metrics are there, which are not and why.
 */
#ifndef BERTH_CONTROL_QUEUE_METRICS_H
#define BERTH_CONTROL_QUEUE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct prom_series;
struct queue_metrics;
struct queue_controller;
struct queue_work;
struct object;
struct workload;
struct engine_action;

struct series_list {
    struct prom_series **v;
    size_t n, cap;
};

/* How many workloads wait for one reason (numbers of words). */
struct metric_cause {
    uint32_t reason, cause;
    int64_t n;
};

enum { METRIC_COMMON = 9 };

/* A queue's or cohort's part; zeroed at first. */
struct metric_owner {
    struct series_list gauges, counters;
    struct prom_series *common[METRIC_COMMON]; /* of counters, found before: queue_metrics_life.c */
    struct metric_cause *causes;
    size_t n_causes, cap_causes;
    int64_t finished;
    bool clean;                      /* its gauges are as they should be */
    const struct prom_series *place; /* of gauges: where it stands in its tree; NULL: not told */
    uint64_t skips_run;              /* in which run ... */
    int64_t skips;                   /* so many were skipped */
};

/* What was seen of a Workload. */
struct work_seen {
    bool known, reserved, admitted, evicted, preempted, started, finished;
    bool waits; /* counted under reason and cause */
    uint32_t reason, cause, evicted_reason;
    int64_t admitted_ns, evicted_ns,
        ready_ns; /* first admission; last eviction; since when ready, or 0 */
    struct cluster_state *cluster;
    struct local_state *local;
};

/* Makes c->metrics; without a registry there is none, and everything below does nothing. ERR_NOMEM. */
int queue_metrics_init(struct queue_controller *c);
void queue_metrics_release(struct queue_controller *c);

/* A committed version of a Workload, as the work on it found it. */
void queue_metrics_seen(struct queue_controller *c, const struct object *o,
                        const struct workload *w, struct queue_work *q);
void queue_metrics_gone(struct queue_controller *c, struct queue_work *q);
/* A run of the engine that began at `started` (monotonic) and decided this. */
void queue_metrics_run(struct queue_controller *c, const struct engine_action *a, size_t n,
                       int64_t started);
/* The spec of a queue changed, or it is gone: its gauges are made anew, or all of its series go. */
void queue_metrics_cluster(struct queue_controller *c, struct cluster_state *s);
void queue_metrics_local(struct queue_controller *c, struct local_state *l, const struct object *o,
                         bool changed);
void metric_owner_release(struct metric_owner *o); /* its memory; the series stay */

#endif
