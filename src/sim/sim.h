/*
 * sim: the third world. The controllers of `berth up`, in virtual time, over objects in memory.
 *
 * Manifests are applied, merged into what is there, and deleted at their times; workloads of loads and traces arrive at
 * theirs. An admitted Workload that nobody owns runs for as long as it declares and is then Finished; an unsuspended
 * Job has all its pods at once (there are no pods), runs, and completes. What is evicted starts anew, unless progress
 * is kept. Everything else is done by the controllers.
 *
 * Declared run time: annotation berth.dev/runtime ("90s") of the Workload or Job; else label
 * kueue.x-k8s.io/performance-scheduler-running-ms; else options.runtime_ns. A Job with more completions than
 * parallelism runs as often as it must.
 *
 * The same inputs and seed give the same run. After each step the ledger's rules hold, and the engine is consistent at
 * intervals, or the run fails.
 */
#ifndef BERTH_SIM_SIM_H
#define BERTH_SIM_SIM_H

#include "base/log.h"
#include "sim/ledger.h"
#include "sim/load_file.h"
#include "sim/manifests.h"
#include "sim/story.h"
#include "sim/trace.h"

#define SIM_RUNTIME_ANNOTATION "berth.dev/runtime"
#define SIM_RUNTIME_LABEL "kueue.x-k8s.io/performance-scheduler-running-ms"

struct sim_options {
    uint64_t seed;      /* 0: what arrives at one moment comes in the order given; else shuffled */
    int64_t until_ns;   /* stop there; 0: when all is over, or nothing moves any more */
    int64_t startup_ns; /* from an admission until its pods work */
    int64_t runtime_ns; /* of what declares none */
    int64_t latency_ns; /* of each write of a controller */
    bool checkpoint;    /* what is evicted goes on where it was */
    bool jobs;          /* there will be Jobs: their controllers run too */
    bool story;         /* keep what happened to each Workload */
    /* Of control/load/queue_settings.h; NULL: the defaults */
    const struct queue_settings *settings;
    struct log *log;
};

enum sim_end {
    SIM_DONE,  /* everything is over */
    SIM_UNTIL, /* the time was up */
    SIM_STUCK, /* some wait, and nothing moves any more */
};

enum sim_act { SIM_APPLY, SIM_PATCH, SIM_DELETE };

struct sim;

struct sim *sim_new(const struct sim_options *o, struct err *err);
void sim_free(struct sim *s); /* NULL is a no-op */

/* To be done at a time, in the order of the calls. What is passed is borrowed until sim_free. */
int sim_at(struct sim *s, int64_t at_ns, enum sim_act act, const struct manifest *m,
           struct err *err);
/* The queues of a load, and its workloads as they arrive. */
int sim_load(struct sim *s, const struct load_file *l, struct err *err);
/* The jobs of a trace. gpus > 0: its queues are made too, in one cohort that shares so many GPUs evenly. */
int sim_trace(struct sim *s, const struct trace *t, int64_t gpus, struct err *err);

/* Once. ERR_INTERNAL: a rule was broken; ERR_INVALID: something could not be applied. */
int sim_run(struct sim *s, enum sim_end *ret, struct err *err);

struct ledger *sim_ledger(struct sim *s);
struct story *sim_story(struct sim *s); /* NULL when none was asked for */
const struct mirror *sim_mirror(const struct sim *s);
int64_t sim_now(const struct sim *s);
uint64_t sim_writes(const struct sim *s); /* of the controllers */

#endif
