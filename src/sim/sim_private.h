/* sim_private: declarations shared by the files of the simulated world. */
#ifndef BERTH_SIM_SIM_PRIVATE_H
#define BERTH_SIM_SIM_PRIVATE_H

#include "base/heap.h"
#include "base/prng.h"
#include "base/virtual_clock.h"
#include "control/control.h"
#include "mirror/memory/memory_writer.h"
#include "sim/sim.h"

enum run_step { RUN_IDLE, RUN_START, RUN_READY, RUN_FINISH, RUN_STOP };

/* A Workload that nobody owns, or a Job, once it ran. */
struct run {
    struct str uid, ns, name;
    const struct kind *kind;
    enum run_step next; /* at due_ns */
    int64_t due_ns, began_ns;
    int64_t left_ns; /* of its run time, in so many waves */
    int64_t waves;
    bool open; /* a Job that is not over */
    uint64_t order;
    size_t place;
};

enum source_type { SOURCE_ACTION, SOURCE_STREAM, SOURCE_TRACE };

/* Something that brings objects: heads of a heap. */
struct sim_source {
    enum source_type type;
    int64_t due_ns;
    uint64_t order;
    size_t place;
    /* action */
    enum sim_act act;
    const struct manifest *manifest;
    /* stream */
    const struct load_file *load;
    struct load_stream stream;
    const struct load_class *class;
    struct str queue; /* and namespace */
    struct buf name;  /* of the next workload */
    /* trace */
    const struct trace *trace;
    size_t at;
};
VEC(sources, struct sim_source *);

struct sim {
    struct sim_options o;
    struct virtual_clock clock;
    struct mirror *mirror;
    struct memory_store store;
    struct memory_writer writer;
    struct zones *zones;
    struct control_env env;
    struct control *control;
    struct ledger ledger;
    bool has_ledger;
    struct story *story;
    struct arena arena, scratch;
    /* What is being applied: feeds, which are told of each write, use scratch */
    struct arena input;
    struct prng prng;
    struct timer *arrivals_timer, *runs_timer;
    struct sources all;
    struct heap arrivals, runs;
    struct map by_uid; /* run */
    struct feed *jobs, *workloads;
    size_t open_jobs;
    const struct kind *kind_job, *kind_workload, *kind_event, *kind_namespace;
    uint64_t order;
    struct err err; /* what stopped the run */
};

/* sim_arrivals.c */
void arrivals_due(void *ctx);
void arrivals_arm(struct sim *s);
void arrivals_release(struct sim *s);

/* sim_runs.c */
void runs_due(void *ctx);
void runs_release(struct sim *s);
int64_t runs_declared(struct sim *s, const struct object *o);
void runs_started(void *ctx, struct ledger_work *w, const struct object *o);
int64_t runs_stopped(void *ctx, struct ledger_work *w, const struct object *o, int64_t ran_ns);
void runs_job_changed(void *ctx, const struct change *ch);
void runs_workload_changed(void *ctx, const struct change *ch);

/* sim.c: stops the run */
void sim_fail(struct sim *s, const struct err *err, const char *what, struct str name);

#endif
