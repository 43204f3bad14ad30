/* queue_metrics_private: what the files of the metrics share. */
#ifndef BERTH_CONTROL_QUEUE_METRICS_PRIVATE_H
#define BERTH_CONTROL_QUEUE_METRICS_PRIVATE_H

#include "control/queue/queue_private.h"

#include "core/admit/engine_list.h"
#include "core/quota/names.h"
#include "wire/prometheus.h"

/* Rows of the table in queue_metrics.c, in its order. */
enum metric {
    M_ATTEMPTS,
    M_ATTEMPT_SECONDS,
    M_SKIPS,
    M_RECOMPUTATIONS,
    M_BUILD,
    M_CREATION,
    M_PENDING,
    M_HASHES,
    M_RESERVED,
    M_ADMITTED,
    M_FINISHED,
    M_RESERVED_WAIT,
    M_ADMITTED_WAIT,
    M_CHECKS_WAIT,
    M_READY_WAIT,
    M_ADMITTED_READY,
    M_EXECUTION,
    M_EVICTED,
    M_EVICTED_ONCE,
    M_SLICES_REPLACED,
    M_READY_EVICTED,
    M_EVICTION_LATENCY,
    M_PREEMPTED,
    M_RESERVING_NOW,
    M_ADMITTED_NOW,
    M_FINISHED_NOW,
    M_UNADMITTED,
    M_STATUS,
    M_INFO,
    M_RESOURCE_PENDING,
    M_RESOURCE_RESERVATION,
    M_RESOURCE_USAGE,
    M_NOMINAL,
    M_BORROWING,
    M_LENDING,
    M_SHARE,
    M_COHORT_SHARE,
    M_COHORT_INFO,
    M_COHORT_QUOTA,
    M_COHORT_RESERVATIONS,
    M_COHORT_ADMITTED,
    M_COHORT_ADMITTED_NOW,
    M_LOCAL_PENDING,
    M_LOCAL_FINISHED_NOW,
    M_LOCAL_RESERVING_NOW,
    M_LOCAL_ADMITTED_NOW,
    M_LOCAL_RESERVED,
    M_LOCAL_ADMITTED,
    M_LOCAL_FINISHED,
    M_LOCAL_RESERVED_WAIT,
    M_LOCAL_ADMITTED_WAIT,
    M_LOCAL_CHECKS_WAIT,
    M_LOCAL_READY_WAIT,
    M_LOCAL_ADMITTED_READY,
    M_LOCAL_EXECUTION,
    M_LOCAL_EVICTED,
    M_LOCAL_STATUS,
    M_LOCAL_RESERVATION,
    M_LOCAL_USAGE,
    M_LOCAL_FAIR_USAGE,
    M_LOCAL_UNADMITTED,
    METRICS
};

struct cohort_metrics {
    struct metric_owner own;
    struct tally tally;
    bool seen; /* in this round */
    char name[];
};

struct queue_metrics {
    struct prom *prom;
    struct str role; /* of this replica */
    struct prom_family *families[METRICS];
    struct names words; /* reasons and causes */
    struct map cohorts; /* name -> cohort_metrics */
    uint64_t round;     /* of summing up cohorts */
    uint64_t run;       /* of the engine, the latest that had something to decide */
};

/* The series with these label values, without the last label, which is the same everywhere; NULL is a no-op to count
 * in. It goes with its owner; NULL: with the process. */
struct prom_series *metric_n(struct queue_metrics *m, enum metric id, struct metric_owner *own,
                             const struct str *values, size_t n);
#define METRIC(m, id, own, ...)                                                                    \
    metric_n((m), (id), (own), (const struct str[]){__VA_ARGS__},                                  \
             sizeof((const struct str[]){__VA_ARGS__}) / sizeof(struct str))

/* A word's number; beyond some hundreds of words they are all "Other". */
uint32_t metric_word(struct queue_metrics *m, struct str text);
/* Adds to what waits for this reason. */
void metric_cause_add(struct metric_owner *o, uint32_t reason, uint32_t cause, int64_t n);
void metric_series_drop(struct series_list *l);
/* May be NULL: out of memory. */
struct cohort_metrics *metric_cohort(struct queue_metrics *m, struct str name);
bool metric_local_on(const struct queue_controller *c, const struct local_state *l);

/* queue_metrics_gauges.c: a stepper (wire/prometheus.h); ctx is the queue controller */
bool metrics_collect(void *ctx, uint64_t *at);

#endif
