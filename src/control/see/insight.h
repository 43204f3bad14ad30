/*
 * insight: what can be said about the cohort trees of some ClusterQueues at one moment: who waits where and why, who
 * holds what they lack, who starts when.
 *
 * Three steps. insight_take copies, on the loop thread: a clone of the engine's trees, references to the Workloads and
 * their owners (immutable, counted atomically), the observed run times, what came of earlier estimates. insight_work
 * computes, in any thread: it shares nothing with the loop. insight_explain writes one workload's answer as one asker
 * may see it, after the work, in any thread, one at a time. insight_free is the loop's again.
 */
#ifndef BERTH_CONTROL_INSIGHT_H
#define BERTH_CONTROL_INSIGHT_H

#include "api/tables/view_explain.h"
#include "control/kit/run_times.h"
#include "core/whatif/clone.h"
#include "core/whatif/explain.h"
#include "core/whatif/forecast.h"
#include "core/whatif/hindsight.h"
#include "mirror/mirror.h"

#define EXPECTED_RUNTIME_ANNOTATION                                                                \
    "berth.dev/expected-runtime" /* on a Workload or its owner: "1h30m" */

/* Beside each of the clone's works. */
struct insight_work {
    const struct object *obj, *owner; /* references; NULL: gone, or none */
    uint32_t ns;                      /* in namespaces */
    /* by who took it */
    bool checked; /* its ClusterQueue asks for admission checks */
    bool booked;  /* its ClusterQueue is a booking's: nobody else raises its quota */
    /* Of one that is being evicted: whose end it waits for, as "pod a/b and 2 more" */
    struct str awaits;
    struct hindsight_told told; /* what was said of one that waits, first */
    /* by insight_work */
    struct str class;            /* of one that waits, in hindsight */
    struct str local, kind, job; /* LocalQueue's name; kind and name of the owner */
    int64_t started;             /* when it was admitted; 0: it was not */
    int64_t ends;                /* when it should end; 0: not known */
    bool overdue;
    size_t position, local_position; /* from 1; 0: it holds quota */
    const char *reason;              /* of the engine, when it was told */
    struct str message;
};

struct insight {
    int64_t now; /* wall time of the copy */
    struct clone clone;
    struct insight_work *works;
    struct forecast_work *runs;  /* on medians; unknown run times never end */
    struct outlook *said;        /* what the forecast says, for insight_note */
    struct outlook *outlooks;    /* the same in hindsight, which is what is told */
    struct forecast_work *least; /* unknown run times end at once; NULL when there are none */
    struct str *namespaces;
    size_t n_namespaces, n_unknown;
    struct map by_uid; /* of works: index + 1 */
    struct run_times *times;
    struct hindsight *hindsight;
    struct arena arena;
    bool computed, cut, noted;
    int code;              /* of the work */
    struct engine *engine; /* as it is, for explanations */
    struct explain_index *index;
};

struct insight_options {
    struct mirror *mirror;
    struct engine *engine;
    const struct run_times *times;
    const struct hindsight *hindsight; /* may be NULL */
    int64_t now;
    const struct str *queues, *cohorts;
    size_t n_queues, n_cohorts;
    const struct clone_limits *limits;
};

int insight_take(const struct insight_options *o, struct insight **ret);
void insight_free(struct insight *in); /* NULL is a no-op */
/* Computes once; a second call does nothing. in->code: 0, ERR_NOMEM, or ERR_GONE when stopped (then again). */
void insight_work(struct insight *in, const atomic_bool *stop);

/* On the loop thread, after work that ended well: what was said of starts is kept in h, to be held against what
 * comes. Once; a second call does nothing. */
void insight_note(struct insight *in, struct hindsight *h);

/* On the loop thread, before the work: more workloads, without a queue and quota. The inputs live as long as it. */
int insight_extend(struct insight *in, const struct object *const *objects,
                   const struct workload_input *inputs, size_t n);
/* Only what stands on the objects; insight_work does it as well. */
int insight_read(struct insight *in);

/* What an asker may see. */
struct insight_viewer {
    bool everything;        /* Workloads of all namespaces */
    bool queues;            /* names of ClusterQueues besides his own */
    const bool *namespaces; /* by number of the insight, unless everything */
};
bool insight_shows(const struct insight *in, const struct insight_viewer *v, size_t i);

/* The place of a workload among works, or -1. */
ptrdiff_t insight_find(const struct insight *in, struct str uid);
/* Appends the WorkloadExplanation of a pending one, as an item of a list behind others; `full`: with everything.
 * ERR_NOT_FOUND when it does not wait, ERR_NOMEM. */
int insight_explain(struct insight *in, size_t i, const struct insight_viewer *v, bool full,
                    struct buf *out);

/* A work as the viewer may see it: names and priority. */
void insight_reference(const struct insight *in, size_t i, const struct insight_viewer *v,
                       struct explained_workload *to);
struct meta explanation_meta(const struct object *o); /* of its explanation */
/* "raise spec.resourceGroups[0].flavors[0].resources[0].nominalQuota (cpu in flavor f) of ClusterQueue q from 0 to 1":
 * what would let the queue of works[i] take back its own. Of a booking's queue: "ask for no more than ...". */
void remedy_text(struct engine *e, const struct insight *in, size_t i, const struct explain_bar *x,
                 struct buf *out);
/* The field alone. */
void remedy_field(const struct explain_bar *x, struct buf *out);
/* How long a Workload says to take (ns), or its owner (NULL: none); 0: neither does. */
int64_t insight_declared(yyjson_val *workload, yyjson_val *owner);
struct run_times_of insight_alike(const struct object *o, struct str local);
/* When the condition became true, or 0. */
int64_t insight_since(yyjson_val *workload, const char *type);

#endif
