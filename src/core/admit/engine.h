/*
 * engine (core): the queues. Pending workloads in; admissions, evictions and reasons to wait out.
 *
 * Events are the functions below: flavors, cohorts, queues, workloads, nodes come and go. Decisions are made in cycles,
 * as Kueue makes them, of one cohort tree at a time (a queue without a cohort is a tree): one head per queue; each is
 * given flavors against the usage of the moment, and victims where it needs them (preempt.h); the heads are ordered
 * (less borrowing, higher priority, earlier, uid; or by shares); each is then admitted if it still fits beside those
 * before it, or its victims are named and it waits for them. A workload whose flavors name nodes that Berth places pods
 * on is admitted only together with seats for all its pods (pool.h).
 *
 * Nobody is evicted for a workload that would have no place afterwards: victims are taken until quota and places
 * suffice, and fewer where fewer do. One that has quota and no place may evict as well, once no other flavor has a
 * place for it (or its queue would rather evict than try the next): the policies are those for quota, with every
 * resource of the flavors that place it short. In its own queue withinClusterQueue says who may go; in the cohort
 * reclaimWithinCohort and borrowWithinCohort do, and only who holds what its queue borrows. A place is never a reason
 * to take from a queue what is its own. While victims leave, the places are kept for the head of that queue.
 *
 * A head that does not fit goes back (StrictFIFO: it blocks its queue) or is parked (BestEffortFIFO), with all that are
 * like it, until something in its tree is given back or changes; then the whole tree is tried again, at the next run.
 * One that waits for a place is tried again when a place may have become free. Each that waits is told why: at once
 * when it was looked at, and those parked beside it as far as the budget of the run goes and in the runs after it;
 * again only when the reason becomes another one.
 *
 * Pure and deterministic: no clock, no I/O; the order of events alone decides. Everything given is copied. Steps are
 * bounded: engine_run looks at about `budget` heads and then returns, in the middle of a cycle if need be. What is
 * given back meanwhile does not end the cycle: the heads that are left are held against what is there by then. Edits of
 * flavors, cohorts and queues of its own tree end it; its heads return to their queues. Trees in which nothing happens
 * cost nothing.
 *
 * A tree rests when a cycle changed nothing and no scan over flavors goes on, and wakes with the next event in it.
 * Kueue may alternate for ever on some inputs (A evicts B, B comes back and evicts A); break_alternation ends that:
 * a pair of workloads has one eviction between them until quota is given back by somebody else, or edited.
 *
 * Failures: ERR_NOMEM and ERR_TOO_MANY (workloads_max) leave the engine as it was. ERR_NOT_FOUND: the queue is unknown.
 */
#ifndef BERTH_CORE_ENGINE_H
#define BERTH_CORE_ENGINE_H

#include "core/admit/verdict.h"
#include "core/queue/queue_input.h"

struct engine;

/* What else a run does, in heads: so many cost of its budget what one does. */
enum {
    ENGINE_HOLDERS_A_HEAD = 128, /* holders that a search for victims looks at */
    ENGINE_QUEUES_A_HEAD = 32,   /* queues of the tree that a search is in */
    ENGINE_NODES_A_HEAD = 32,    /* nodes that placing looks at */
    ENGINE_SETTLED_A_HEAD = 16   /* queues and cohorts that are settled after an edit */
};

/* Which shares a victim's side may come to, under fair sharing: the first rule that holds for it. */
enum fair_strategy {
    FAIR_FINAL_SHARE = 1,
    FAIR_INITIAL_SHARE = 2
}; /* LessThanOrEqualToFinalShare, LessThanInitialShare */

struct engine_options {
    size_t workloads_max; /* 0: LIMIT_WORKLOADS */
    size_t tick_bytes;    /* memory of one cycle; 0: 256 MiB */
    bool check_undo;   /* compare the state before a trial with the state after its undo; asserts */
    bool fair_sharing; /* dominant resource shares order the heads and choose the victims */
    unsigned fair_strategies;   /* set of enum fair_strategy; 0: both */
    bool prioritize_preemptors; /* gate PrioritizePreemptorWorkloads, off in Kueue */
    bool no_priority_in_cohort; /* gate PrioritySortingWithinCohort is off */
    bool break_alternation; /* two that would evict each other for ever: the second is refused */
    bool block_until_ready; /* blockAdmission: nobody is admitted until all that hold are ready */
    bool ignore_undeclared; /* quotaCheckStrategy IgnoreUndeclared */
    bool local_usage;       /* admission fair sharing is configured: see engine_local_put */
    int64_t usage_half_life_ns, usage_interval_ns;
    /* Of admission fair sharing; absent ones weigh 1 */
    const struct resource_weight *resource_weights;
    size_t n_resource_weights;
};

/* Why a victim goes, in Kueue's words: InClusterQueue, InCohortReclamation, InCohortReclaimWhileBorrowing,
 * InCohortFairSharing. */
enum preempt_reason {
    PREEMPT_IN_QUEUE,
    PREEMPT_RECLAIM,
    PREEMPT_RECLAIM_BORROWING,
    PREEMPT_FAIR_SHARING
};

/* ACTION_PREEMPT: the workload is to be evicted; it holds its quota, marked as evicting, until it is put back, held
 * anew or deleted. Its preemptor waits (ACTION_PEND) and tries again when the quota is free. A victim that is evicting
 * already is counted, not named again. */
enum action_type { ACTION_ADMIT, ACTION_PEND, ACTION_PREEMPT };

struct engine_action {
    enum action_type type;
    struct str uid;
    struct str queue;
    const struct held_amount *held; /* ADMIT */
    size_t n_held;
    /* ADMIT: pods of each set; fewer than asked for under partial admission */
    const int32_t *counts;
    bool seated;                   /* ADMIT: pool_workload_first has its seats */
    const struct verdict *verdict; /* PEND */
    bool alike; /* PEND: one like it was looked at and refused; itself it was not */
    /* ADMIT, PEND: the flavors looked at (verdict.h); may be NULL */
    const struct considered *considered;
    struct str by, by_queue;    /* PREEMPT: the preemptor's uid and ClusterQueue */
    enum preempt_reason reason; /* PREEMPT */
};

struct engine *engine_new(const struct engine_options *o);
void engine_free(struct engine *e);
struct pool *engine_pool(struct engine *e);
struct names *engine_flavors(struct engine *e);
struct names *engine_resources(struct engine *e);

int engine_flavor_put(struct engine *e, const struct flavor_input *in);
void engine_flavor_del(struct engine *e, struct str name);
bool engine_flavor_exists(const struct engine *e, struct str name);
int engine_cohort_put(struct engine *e, const struct cohort_input *in);
void engine_cohort_del(struct engine *e, struct str name);
int engine_queue_put(struct engine *e, const struct queue_input *in);
/* Its pending workloads are forgotten: the caller gives them again when the queue is back. */
void engine_queue_del(struct engine *e, struct str name);
bool engine_queue_active(struct engine *e, struct str name);
/* A queue, or cohort, of a tree where something was edited since this was asked last: it may be active now, or no more,
 * and its share another one. Each is given once. False: there is none, or no memory to tell. */
bool engine_fresh(struct engine *e, bool *ret_queue, struct str *ret_name);
/* Queues and cohorts settled after edits so far: an edit costs all of its tree once, at the next run or question. */
uint64_t engine_settled(const struct engine *e);

/* A workload without quota enters its queue, or changes there: a parked one is tried again only when the change
 * matters. One that held quota gives it back (evicted, and stopped by now) and queues again. */
int engine_workload_put(struct engine *e, const struct workload_input *in);
/* A workload that holds quota according to what is written: adopts it, or sets what it holds.
 * in->queue: as admitted. */
int engine_workload_hold(struct engine *e, const struct workload_input *in,
                         const struct held_amount *held, size_t n);
/* One that holds quota is admitted: its checks are all ready. What LocalQueues used counts from here. */
void engine_workload_admitted(struct engine *e, struct str uid);
/* Forgets a workload; what it held is free, its seats go back. No-op when unknown. */
void engine_workload_del(struct engine *e, struct str uid);
bool engine_workload_known(const struct engine *e, struct str uid, bool *ret_holds);
/* What a holding workload was given, in the engine's memory; NULL when it holds nothing. */
const struct held_amount *engine_workload_held(const struct engine *e, struct str uid,
                                               size_t *ret_n, struct str *ret_queue);
/* ---- a holder that grows or shrinks ----
 *
 * Growth is a second workload whose input says `replaces`: the same pod sets with other counts. While the holder that
 * it names is in the same queue, is not being evicted and has no successor yet, the second needs only the difference,
 * of the same flavors, and places for the pods that are new; the holder is no victim for its sake. ACTION_ADMIT then
 * gives the difference: its counts and `held` are of the new pods alone. From there on the two are one: whatever
 * becomes of the holder, what it had goes to its successor, unless that is undone. Otherwise `replaces` means nothing
 * and the workload asks for all its pods.
 *
 * engine_workload_resize ends it, once the admission was written: `in` holds `held`, all of it, and the seats of the
 * holder that it replaces, which is forgotten. Without `replaces` it is the holder itself that changes; it may hold
 * less. Free seats beyond the counts of its pod sets go back either way (engine_workload_trim does that alone, for
 * after a pod has ended). Errors as engine_workload_hold; then the holder stays. */
int engine_workload_resize(struct engine *e, const struct workload_input *in,
                           const struct held_amount *held, size_t n);
void engine_workload_trim(struct engine *e, struct str uid);
/* Of one that was given the difference: the uid of the holder whose successor it is; empty: it has none. */
struct str engine_workload_prior(const struct engine *e, struct str uid);

/* An admission that could not be written: quota and seats go back, the workload is queued again. */
int engine_workload_undo(struct engine *e, struct str uid);

/* The eviction of a victim could not be written: it is no longer marked, and its preemptor tries again. */
void engine_workload_keep(struct engine *e, struct str uid);

/* Looks at about `budget` heads. now_ns: when what is admitted now was admitted; protection is judged by it. Actions
 * are valid until the next call. *ret_more: call again. *ret_wake_ns (may be NULL): call again then at the latest,
 * because a protection ends; INT64_MAX: no need. */
int engine_run(struct engine *e, int64_t now_ns, size_t budget, const struct engine_action **ret,
               size_t *ret_n, bool *ret_more, int64_t *ret_wake_ns);
/* One whole cycle of every cohort tree that has a head, as Kueue counts cycles; also one that decides nothing, and of
 * trees that rest. For replays and the simulator. */
int engine_cycle(struct engine *e, int64_t now_ns, const struct engine_action **ret, size_t *ret_n);
/* How many workloads are active, or about to be tried again, and which: a hash that does not depend on order. It looks
 * at all that wait. */
size_t engine_active(const struct engine *e, uint64_t *ret_hash);

/* ---- admission fair sharing: what LocalQueues used, halved with time ---- */
int engine_local_put(struct engine *e, struct str local, double weight);
void engine_local_del(struct engine *e, struct str local);
/* What was published before a restart: whole units, cpu in cores. */
int engine_local_usage_set(struct engine *e, struct str local, const struct resource_weight *used,
                           size_t n, int64_t at_ns);
/* Folds the usage of each LocalQueue, a sampling interval after the last time; *ret_next_ns: when again. */
void engine_local_sample(struct engine *e, int64_t now_ns, int64_t *ret_next_ns);
/* The weighted usage that orders; negative: unknown. */
double engine_local_usage(const struct engine *e, struct str local);

struct engine_counts {
    size_t pending, parked, holding, evicting;
};
bool engine_queue_counts(const struct engine *e, struct str queue, struct engine_counts *ret);
/* Dominant resource share of a queue or cohort as its status shows it: rounded up, INT64_MAX for a borrower of weight
 * zero. */
int64_t engine_share(struct engine *e, bool queue, struct str name);
/* As metrics tell it: not rounded, NaN for a borrower of weight zero. */
double engine_share_exact(struct engine *e, bool queue, struct str name);
/* The cohorts above a queue, root first: "/root/.../queue". */
void engine_path(struct engine *e, struct str queue, struct buf *out);
/* Invariants, for tests and the simulator: usage equals what is held, nothing beyond capacity. */
bool engine_consistent(struct engine *e);

#endif
