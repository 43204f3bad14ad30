/*
 * clone (core): some cohort trees of an engine as plain inputs, and an engine made from them.
 *
 * clone_take runs where the engine is and only copies: what it costs is proportional to what it copies, and that is
 * limited. clone_build makes an engine of it by the engine's public functions, anywhere, also in another thread:
 * nothing is shared, names have the same numbers, and the new engine decides as the old one would. In between the
 * inputs may be edited: that is what a preview does.
 *
 * Why not an engine that is made by replaying the inputs which this one accepted: it would have to keep them all, as
 * much again as it holds, and put them all to answer about a part. Of one cohort with 102,000 workloads, 6,000 within
 * the limits, putting all takes 61 ms of one core, and taking and building the part 2 ms each (release build, 100
 * queues, one pod set each). And what is over has left its inputs: holders, what was given, seats.
 *
 * Beyond the limits: those that hold quota become one workload a queue, which holds the sum and never ends; of those
 * that wait the last ones are left out. Pods in their seats are left out: in the clone a seat goes when its workload
 * does. What nobody's seat explains stays occupied. Scan progress (which flavor was tried last) is left out as well:
 * each pending workload starts with its first one. What LocalQueues used is copied as one number and does not fade.
 */
#ifndef BERTH_CORE_CLONE_H
#define BERTH_CORE_CLONE_H

#include "core/admit/engine.h"
#include "core/place/pool_copy.h"

struct clone_work {
    struct workload_input in;
    const struct held_amount *held;
    size_t n_held;
    bool holds;
};

/* A LocalQueue and what it used, as the order in its ClusterQueue sees it; INFINITY: its weight is zero. */
struct clone_local {
    struct str name;
    double usage;
};

struct clone_limits {
    size_t holding, pending; /* workloads; 0: 4,000 each */
    size_t nodes, seats;     /* beyond these places are left out altogether; 0: 4,000 and 40,000 */
};

struct clone {
    struct arena arena; /* everything below */
    struct engine_options options;
    struct str *flavor_names, *resource_names; /* by number */
    size_t n_flavor_names, n_resource_names;
    struct flavor_input *flavors; /* those that are there */
    struct cohort_input *cohorts;
    struct queue_input *queues;
    /* Those that hold first, then the pending ones of each queue in its order */
    struct clone_work *works;
    struct pool_copy places;
    struct clone_local *locals; /* where usage may order */
    size_t n_flavors, n_cohorts, n_queues, n_works, n_holding, n_locals;
    size_t holding_left_out, pending_left_out;
};

/* Copies the trees of the named queues and cohorts (unknown ones are no error) into *c, which clone_release frees, also
 * after a failure. ERR_NOMEM. The engine is settled, and stays as it is; so does a cycle under way. */
int clone_take(struct engine *e, const struct str *queues, size_t n_queues,
               const struct str *cohorts, size_t n_cohorts, const struct clone_limits *limits,
               struct clone *c);
void clone_release(struct clone *c);
/* The name of the root above a queue ("queue:x" for one that stands alone), or empty: what clones are cached by. */
struct str clone_root(struct engine *e, struct str queue, struct arena *a);

/* The queues whose spec names the flavor, in the arena. ERR_NOMEM. */
int clone_flavor_users(struct engine *e, struct str flavor, struct arena *a, struct str **ret,
                       size_t *ret_n);

/* ERR_NOMEM, or an error of the engine's. */
int clone_build(const struct clone *c, struct engine **ret);

/* Edits; what is given must live as long as the clone (its arena is at hand). A put replaces the one of that name. */
int clone_flavor_put(struct clone *c, const struct flavor_input *in);
int clone_cohort_put(struct clone *c, const struct cohort_input *in);
int clone_queue_put(struct clone *c, const struct queue_input *in);
void clone_flavor_del(struct clone *c, struct str name);
void clone_cohort_del(struct clone *c, struct str name);
struct queue_input *clone_queue(struct clone *c, struct str name); /* NULL when it is not there */

#endif
