/*
 * load_file: a load described in the shape of Kueue's own load generator: cohorts of queues, and for each queue streams
 * of workloads that arrive at a steady pace.
 *
 *     cohorts:
 *     - className: cohort             names, see below
 *       count: 5
 *       queuesSets:
 *       - className: cq
 *         count: 6                    in each of the 5 cohorts
 *         nominalQuota: 20            a quantity, also quoted
 *         borrowingLimit: 100         absent: no limit
 *         reclaimWithinCohort: Any    Never (absent), LowerPriority, Any
 *         withinClusterQueue: LowerPriority    Never (absent), LowerPriority, LowerOrNewerEqualPriority
 *         workloadsSets:
 *         - count: 350                times the list below
 *           creationIntervalMs: 100   before each workload, the first too; sets run side by side
 *           workloads:
 *           - className: small
 *             runtimeMs: 200
 *             priority: 50
 *             request: 1              of one pod
 *             podCount: 1             absent: 1
 *     resourceFlavor: {name: rf}      absent: "rf"
 *     resource: cpu                   what quota and requests count; ours; absent: cpu
 *
 * Known, and not acted on yet: topology, resourceFlavor.nodeLabel and .topologyName; tasConstraint, tasLevel and
 * sliceSize of a workload. load_file.topology says that something of it was there.
 *
 * Names, as Kueue's generator makes them: cohort "cohort-0"; ClusterQueue, its namespace and its LocalQueue all
 * "cq-<queuesSet>-<i>-cohort-0"; workload "small-<workloadsSet>-<round>-<j>".
 *
 * Strict: what is not known is an error, and so is a value out of its range; the text names the path and what was
 * expected. Everything lies in the arena.
 */
#ifndef BERTH_SIM_LOAD_FILE_H
#define BERTH_SIM_LOAD_FILE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/text/quantity.h"

struct load_class {
    struct str name;
    int64_t runtime_ms, priority, pods;
    struct quantity request;
    struct str constraint, level; /* tasConstraint, tasLevel; empty: none */
    int64_t slice;
};

struct load_set {
    int64_t count, interval_ms;
    struct load_class *classes;
    size_t n_classes;
};

struct load_queues {
    struct str name;
    int64_t count;
    struct quantity nominal, borrowing;
    bool limited;               /* borrowing is set */
    struct str reclaim, within; /* preemption policies as ClusterQueues spell them */
    struct load_set *sets;
    size_t n_sets;
};

struct load_cohorts {
    struct str name;
    int64_t count;
    struct load_queues *queues;
    size_t n_queues;
};

struct load_file {
    struct load_cohorts *cohorts;
    size_t n_cohorts;
    struct str flavor, resource;
    bool topology;
    int64_t total_queues, total_workloads;
};

/* YAML or JSON. ERR_SYNTAX, ERR_INVALID, ERR_TOO_LARGE (limits.h), ERR_NOMEM. */
int load_file_read(struct arena *a, struct str text, struct load_file *ret, struct err *err);

/* One queue of a load: queue set `set` of a cohort class, its `index`th queue in the `cohort`th cohort. */
struct load_place {
    const struct load_cohorts *cohorts;
    const struct load_queues *queues;
    int64_t cohort, set, index;
};
/* Calls each(ctx, place) for every queue, in order; stops at, and returns, what is not 0. */
int load_each_queue(const struct load_file *l, int (*each)(void *ctx, const struct load_place *p),
                    void *ctx);
void load_cohort_name(const struct load_place *p, struct buf *out);
void load_queue_name(const struct load_place *p, struct buf *out);

/* A stream: the workloads of one set of one queue, in the order of their arrival. Zeroed but for `set` and
 * `set_index`, it stands before the first. */
struct load_stream {
    const struct load_set *set;
    size_t set_index;
    int64_t round, at; /* of the next workload: small-<set_index>-<round>-<at> */
    int64_t due_ms;    /* of the last one returned */
};
/* The next workload and its arrival (due_ms), with its name appended to `name`; NULL at the end. */
const struct load_class *load_stream_next(struct load_stream *s, struct buf *name);

#endif
