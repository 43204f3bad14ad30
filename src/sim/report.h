/*
 * report: what a run came to, as numbers and as JSON. Times are in seconds.
 */
#ifndef BERTH_SIM_REPORT_H
#define BERTH_SIM_REPORT_H

#include "sim/sim.h"

struct report_times {
    size_t n;
    double mean, p50, p95, p99, max;
};

struct report_group {
    struct str name;
    int64_t submitted, started, finished, deleted, left; /* left: neither finished nor deleted */
    int64_t evicted;
    double lost_s;
    struct report_times wait, run;
};

struct report_use {
    struct str flavor, resource;
    double nominal, mean, peak; /* in units: cpus; nominal: its mean over time */
    double share;               /* mean over nominal; 0 when there is none */
};

struct report_run {
    enum sim_end end;
    double time_s, makespan_s; /* virtual time that went by; the last end of a Workload */
    double floor_s; /* the arithmetic least; 0: not known: quota was edited, or some never ended */
    double floor_lost_s; /* with what evictions threw away */
    double fairness; /* Jain's index, 1: even; -1: no two queues ever wanted something at once */
    size_t queues;
};

/* The percentile of sorted values, nearest rank; v is sorted by this. */
void report_times(struct ns_vec *v, struct report_times *ret);
void report_group(struct ledger_group *g, struct report_group *ret);
void report_use(const struct ledger *l, const struct ledger_use *u, size_t pair,
                struct report_use *ret);
void report_run(struct sim *s, enum sim_end end, const struct sim_options *o,
                struct report_run *ret);
/* Queues in the order of their names: the i-th; NULL when there are no more. */
struct ledger_queue *report_queue(struct ledger *l, size_t i);
struct ledger_group *report_class(struct ledger *l, size_t i);
/* A queue's mean share of its tree's quota, over its weight; in percent. */
double report_share(const struct ledger *l, const struct ledger_queue *q);
/* Workloads that are not over, in the order in which they came; start with *at = 0. False: no more. Views are valid
 * until the arena is reset. */
struct report_left {
    struct str ns, name, state; /* state: Waits, Holds, Runs */
    struct str reason, message; /* of QuotaReserved, for one that waits */
};
bool report_left(struct sim *s, size_t *at, struct arena *a, struct report_left *ret);
const char *report_end_text(enum sim_end end);

/* Everything, as one JSON object and a newline. */
void report_json(struct sim *s, enum sim_end end, const struct sim_options *o, struct buf *out);

#endif
