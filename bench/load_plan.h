/*
 * load_plan: a load file in the shape of Kueue's generator (cohorts, queuesSets, workloadsSets), expanded into every
 * queue and every workload with the time at which it is to be created.
 */
#ifndef BERTH_BENCH_LOAD_PLAN_H
#define BERTH_BENCH_LOAD_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_NAME = 96 };

struct plan_class {
    char name[PLAN_NAME], request[32];
    int64_t runtime_ns, priority, pods;
    int64_t milli; /* of all pods, in thousandths of a CPU */
    size_t n;      /* workloads */
};

struct plan_queue {
    char name[PLAN_NAME]; /* also of its namespace and its LocalQueue */
    size_t cohort;
    char nominal[32], borrowing[32], reclaim[32], within[32];
    int64_t nominal_milli, borrowing_milli; /* borrowing: -1 for no limit */
    int64_t used_milli;                     /* for the runner */
};

struct plan_cohort {
    char name[PLAN_NAME];
    int64_t nominal_milli, used_milli;
};

struct plan_item {
    uint32_t queue, class, order;
    int64_t due_ns; /* after the start */
    char name[PLAN_NAME];
};

struct plan {
    struct plan_cohort *cohorts;
    struct plan_queue *queues;
    struct plan_class *classes;
    struct plan_item *items; /* in order of due_ns */
    size_t n_cohorts, n_queues, n_classes, n_items;
    bool topology; /* the file asks for one, which the runner leaves out */
};

/* 0, or -1 with a line on stderr. */
int plan_read(const char *path, struct plan *ret);

#endif
