/*
 * ledger: what happened in a simulated world, kept apart from what the controllers and the engine keep.
 *
 * It hears every committed change of ClusterQueues, Cohorts and Workloads and accounts for them: who waited how long,
 * who ran, what was used and lost, how evenly. It believes only what is written, and so it also is the judge. Broken
 * rules fail the run:
 *
 *     quota is reserved     within the queue's nominal quota and borrowing limit, and within what its cohort tree has
 *     quota is held         once: another admission only after the first was given back
 *     a Workload finished   and stays so
 *
 * (Quota may be edited to less than what is used; so only a new reservation is judged, and not within GRACE_NS of an
 * edit, when admissions that are under way are not called back.)
 *
 * Times are nanoseconds of virtual time since the start; amounts are cpu in milli-units, everything else in units.
 */
#ifndef BERTH_SIM_LEDGER_H
#define BERTH_SIM_LEDGER_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "mirror/mirror.h"

enum { LEDGER_REASONS = 24, LEDGER_PAIRS = 64 };

VEC(ns_vec, int64_t);

/* Counts and times of a queue's, a class's, or all Workloads. */
struct ledger_group {
    struct str name;
    int64_t submitted, started, finished, deleted;
    int64_t evictions[LEDGER_REASONS]; /* by ledger.reasons */
    struct ns_vec waits;               /* from submission to the first start */
    struct ns_vec runs;                /* from the last start to the end, of those that finished */
    double lost_s;                     /* ran, and was evicted: what counts for nothing */
};

/* Use of one flavor and resource, by a queue or by all. */
struct ledger_use {
    int64_t usage, peak;
    int64_t nominal, borrowing; /* borrowing: AMOUNT_NONE for no limit; of a queue */
    double area, room;          /* usage and nominal, times seconds */
    int64_t since;              /* up to when area and room are summed */
};

struct ledger_tree { /* queues that can lend to one another */
    struct str name; /* of the root cohort; of the queue when it has none */
    int64_t nominal[LEDGER_PAIRS], most[LEDGER_PAIRS]; /* most: over all time */
    int64_t used[LEDGER_PAIRS];                        /* by all its queues */
    double work[LEDGER_PAIRS];                         /* ledger_floor's */
    bool cohort; /* it has a cohort: more than one queue may be in it */
    /* Jain's index over the shares of the queues that have something to run */
    int64_t n;
    double sum, squares, area, time_s;
    int64_t since;
};

struct ledger_queue {
    struct ledger_group group;
    struct ledger_tree *tree;
    bool exists, stopped;
    double weight, share; /* dominant share of the tree's quota, over the weight */
    double share_area;
    int64_t share_since, open; /* open: Workloads that are not finished */
    struct ledger_use use[LEDGER_PAIRS];
};

enum ledger_state { LEDGER_WAITS, LEDGER_HOLDS, LEDGER_RUNS, LEDGER_OVER };

struct ledger_amount {
    unsigned pair;
    int64_t v;
};

struct ledger_work {
    struct str uid, ns, name;
    enum ledger_state state;
    bool evicted;
    struct ledger_queue *queue; /* of its admission, else of its LocalQueue; may be NULL */
    struct ledger_group *class;
    int64_t created, started, first_started; /* started: -1 when it does not run */
    int64_t evictions;
    uint64_t admission;            /* a hash of it */
    int64_t reclaimed;             /* pods of it that hold nothing any more */
    struct ledger_amount *amounts; /* what it holds, and what it last held */
    size_t n_amounts;
    int64_t runtime; /* declared, as the world says */
    int64_t lost_ns; /* it ran, for nothing */
};
VEC(ledger_works, struct ledger_work *);

struct ledger_options {
    const struct mirror *mirror;
    struct clock *clock;
    /* Told of each start and each end of a run (evicted, finished, deleted). */
    void (*started)(void *ctx, struct ledger_work *w, const struct object *o);
    /* Returns how much of the run is lost, when it was not the last. */
    int64_t (*stopped)(void *ctx, struct ledger_work *w, const struct object *o, int64_t ran_ns);
    /* Declared run time of a new Workload, for the floor. */
    int64_t (*runtime)(void *ctx, const struct object *o);
    void *ctx;
};

struct ledger {
    struct ledger_options o;
    int64_t zero; /* clock at the start */
    struct arena arena, scratch;
    const struct kind *workloads, *queues_kind, *cohorts, *locals;
    struct feed *feeds[3];
    struct map queues, classes, trees, works; /* works by uid */
    struct ledger_works in_order;
    struct ledger_group all;
    struct str reasons[LEDGER_REASONS];
    size_t n_reasons;
    struct str flavors[LEDGER_PAIRS], resources[LEDGER_PAIRS];
    struct ledger_use use[LEDGER_PAIRS]; /* all queues; nominal with that of cohorts */
    size_t n_pairs;
    bool edited; /* quota changed: trees and capacities are computed anew before they are used */
    int64_t edited_ns, open, changed_ns, last_end;
    uint64_t edits;                    /* of quota, after the first Workload came */
    void **by_name, **classes_by_name; /* report's */
    /* The first rule that was broken; or out of memory, or of pairs: no sum is right then */
    struct err err;
};

/* Subscribes; changes before are not seen. ERR_NOMEM; a failed ledger is released all the same. */
int ledger_init(struct ledger *l, const struct ledger_options *o, struct err *err);
void ledger_release(struct ledger *l);
int64_t ledger_now(const struct ledger *l);
/* Sums everything up to now. */
void ledger_close(struct ledger *l);

/* The arithmetic least: when the work of some tree could be done at the earliest, had it all of its quota at all times.
 * No schedule ends before. lost: what evictions threw away is work, too; then no schedule with these evictions does.
 * What was never started does not count. At the end; of no meaning when quota was edited on the way. */
int64_t ledger_floor(struct ledger *l, int64_t startup_ns, bool lost);

#endif
