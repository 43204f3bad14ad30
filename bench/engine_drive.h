/*
 * engine_drive: what the loads of bench-engine share: an engine, the workloads given to it, and a clock held to its
 * calls. Time is that of the processor (CLOCK_THREAD_CPUTIME_ID): the engine does nothing but compute, and this machine
 * is never quiet. A decision is an admission, a preemption, or a head that was looked at and refused; workloads that
 * are parked unseen beside a refused one that is like them do not count. engine_run gets the controllers' budget.
 */
#ifndef BERTH_BENCH_ENGINE_DRIVE_H
#define BERTH_BENCH_ENGINE_DRIVE_H

#include "core/admit/engine.h"

enum { ENGINE_BUDGET = 512 }; /* RUN_BUDGET of the controllers */

struct samples {
    int64_t *v;
    size_t n, max;
};

/* What a load came to; plain, so that it passes through a pipe. */
struct figures {
    size_t size;
    uint64_t admissions, preemptions, refusals;
    double seconds;                        /* of the calls that count */
    double floor;                          /* seconds of the same with a plain heap; 0: none */
    int64_t each_50, each_99, each_max;    /* time of an engine_run over the decisions it made */
    int64_t event_50, event_99, event_max; /* from an event to the first decision that it causes */
    int64_t longest;                       /* one engine_run */
    double bytes;                          /* resident memory per workload */
    double resident;                       /* all of it, of the process */
};

/* What a workload asks for; requests of one pod. */
struct ask {
    int32_t count;
    size_t n;
    struct node_amount amounts[3];
};

struct item {
    uint32_t queue, ask;
    int32_t priority;
    uint32_t holds; /* place in drive.holders + 1, or 0 */
    int64_t queued_ns;
    int64_t due; /* steady: when it came, until it is decided about */
};

/* Finishes of a tree of queues that no admission has answered yet. */
enum { OPEN_MAX = 32 };
struct open_events {
    int64_t due[OPEN_MAX];
    size_t n;
};

struct drive {
    struct engine *e;
    struct item *items;
    size_t n_items, max_items;
    uint32_t *holders; /* items that hold quota */
    size_t n_holders;
    struct ask *asks;
    uint32_t *victims; /* of the last call; they return before the next */
    size_t n_victims;
    struct samples each, event;
    int64_t now_ns, event_at; /* event_at: 0, or when the open event came */
    bool any;      /* the open event ends with any decision, not only an admission or preemption */
    int64_t spent; /* in calls that count */
    struct open_events *open; /* steady: by tree; else NULL */
    size_t n_trees;
    uint32_t tree;   /* queues in a tree */
    uint32_t locals; /* LocalQueues of each queue that usage orders; 0: one, and it does not */
    int64_t idle;    /* steady: time in which nothing was to do; with `spent` it makes the clock */
    struct figures f;
};

int64_t drive_now(void);

/* max: workloads that will be given, of which each may be decided about several times. Exits when out of memory. */
void drive_init(struct drive *d, const struct engine_options *o, struct ask *asks, size_t max);
void drive_queue(struct drive *d, const struct queue_input *in, uint32_t number);
void drive_cohort(struct drive *d, const struct cohort_input *in);
void drive_flavor(struct drive *d, const char *name);
/* Workloads take turns in the LocalQueues of their queue from now on. */
void drive_locals(struct drive *d, size_t queues, uint32_t locals);

/* Gives the next workload: its number. */
uint32_t drive_put(struct drive *d, uint32_t queue, uint32_t ask, int32_t priority);
/* It ends. */
void drive_finish(struct drive *d, uint32_t item);
/* The event that the latencies are counted from comes now. any: a refusal answers it too. */
void drive_event(struct drive *d, bool any);
/* One engine_run; true when it wants another. */
bool drive_run(struct drive *d);
/* engine_run until it is done, or `most` decisions are made. */
void drive_quiet(struct drive *d, uint64_t most);
/* Events of a steady stream, at their time on a clock that runs while the engine does: a finish is answered by the next
 * admission in its tree, a submission by what is said of it. */
void drive_steady(struct drive *d, size_t trees, uint32_t queues_in_tree);
void drive_steady_wait(struct drive *d, int64_t due); /* runs the engine until then, or idles */
void drive_steady_finish(struct drive *d, uint32_t item, int64_t due);
void drive_steady_put(struct drive *d, uint32_t queue, uint32_t ask, int32_t priority, int64_t due);
uint64_t drive_decisions(const struct drive *d);
/* What was decided so far was preparation. */
void drive_reset(struct drive *d);
/* Resident memory of this process, bytes. */
double drive_resident(void);
/* Sums up. The process ends after it: nothing is freed. */
void drive_end(struct drive *d, size_t size);

/* "queue-00012", in static memory that holds eight of them. */
struct str drive_name(const char *kind, uint32_t number);

#endif
