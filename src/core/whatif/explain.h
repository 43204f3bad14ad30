/*
 * explain (core): why a pending workload waits, as data: what it lacks in which flavor, who holds it, and which rule
 * keeps each holder from being preempted for it.
 *
 * It reads a settled engine, usually a clone, and changes nothing. Which rule keeps a holder is not decided here: the
 * search for victims and this ask the same functions (core/admit/victim_rules.h). Texts are made at the edge.
 */
#ifndef BERTH_CORE_EXPLAIN_H
#define BERTH_CORE_EXPLAIN_H

#include "core/admit/engine.h"
#include "core/admit/victim.h"

enum lack_kind {
    LACK_NOTHING,   /* quota is there in this flavor */
    LACK_QUOTA,     /* it is in use */
    LACK_CAPACITY,  /* more than the queue could ever have */
    LACK_RESOURCE,  /* no resource group of the queue covers the resource */
    LACK_NO_FLAVOR, /* the flavor does not exist */
    LACK_TAINT,     /* the flavor has a taint that the pods do not tolerate */
    LACK_AFFINITY   /* the pods' selector or affinity excludes the flavor */
};

struct explain_holder {
    struct str uid, queue; /* in the engine's memory */
    int64_t priority, amount;
    enum keep_rule keeps;
    int64_t until_ns; /* of KEEP_PROTECTED and KEEP_MINIMUM_RUNTIME */
};

struct explain_borrower {
    struct str queue;
    int64_t amount; /* above its own quota */
};

struct explain_lack {
    enum lack_kind kind;
    uint32_t flavor, resource;
    int64_t need, available, missing, capacity;
    bool least;          /* need is that of the fewest pods that it may start with */
    struct str limit_at; /* LACK_QUOTA: the node whose limit is met */
    bool limit_is_queue; /* the asker's own borrowing limit, or it has no cohort */
    struct str taint_key, taint_value, taint_effect;
    struct explain_holder *holders; /* biggest first, then by uid */
    size_t n_holders, n_holders_all;
    int64_t held_all;                   /* by all of them */
    struct explain_borrower *borrowers; /* biggest first */
    size_t n_borrowers, n_borrowers_all;
};

struct explain_rule {
    enum keep_rule rule;
    size_t workloads; /* holders of what is short that it keeps; each counted once */
    int64_t until_ns; /* the first protection to end; 0: none */
};

/* A resource in which the asker's queue would use more than its own quota: it counts as borrowing then,
 * whatever it lacks, and reclaims only what borrowWithinCohort lets it. */
struct explain_bar {
    uint32_t flavor, resource;
    size_t group, flavor_at, resource_at; /* where its quota stands in the queue's spec */
    int64_t need, nominal, used, missing; /* missing: of nominal, so that it would not borrow */
    /* It has enough quota of its own of what it lacks: with these raised it would reclaim from somebody. */
    bool remedy;
};

struct explanation {
    struct explain_lack *lacks; /* each flavor that was short, in the queue's order */
    size_t n_lacks;
    /* Every resource has a flavor with enough quota: it waits for its turn, or for a place */
    bool fits;
    bool strict; /* its queue is StrictFIFO */
    bool active; /* its queue admits */
    struct explain_rule rules[KEEP_RULES];
    size_t n_rules;
    struct explain_bar *bars; /* those by which some holder is kept; each pair once */
    size_t n_bars;
};

struct explain_options {
    int64_t now;
    size_t holders_max, borrowers_max; /* listed for each lack */
};

/* Who holds what, gathered once for many explanations of one engine that does not change meanwhile. */
struct explain_index;
int explain_index_new(struct engine *e, struct explain_index **ret);
void explain_index_free(struct explain_index *x); /* NULL is a no-op */

/* In the arena. ERR_NOT_FOUND: not a pending workload of this engine. ERR_NOMEM. */
int explain_workload(struct explain_index *x, struct str uid, const struct explain_options *o,
                     struct arena *a, struct explanation *ret);

#endif
