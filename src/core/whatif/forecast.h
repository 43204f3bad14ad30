/*
 * forecast (core): runs an engine forward in virtual time, with expected run times, to estimate starts.
 *
 * The engine (a clone: it is used up) decides as it always does; each workload that holds quota gives it back when its
 * run time is over; a victim goes at once, waits again and then runs from its beginning. A run time that is not known
 * is taken as endless, or as over at once (`unknown_ends`), which gives a bound: nothing starts sooner than that.
 */
#ifndef BERTH_CORE_FORECAST_H
#define BERTH_CORE_FORECAST_H

#include <stdatomic.h>

#include "core/admit/engine.h"

enum { FORECAST_HEADS = 2000000 };
#define FORECAST_UNKNOWN INT64_MAX
#define FORECAST_NEVER INT64_MAX

enum forecast_basis { /* of a run time; a start's basis is the set of those that ended before it */
                      BASIS_UNKNOWN = 1 << 0,
                      BASIS_DECLARED = 1 << 1,
                      BASIS_OBSERVED = 1 << 2
};

struct forecast_work {
    struct str uid;
    bool holds;        /* when the run begins */
    int64_t runtime;   /* ns, of a whole run; FORECAST_UNKNOWN */
    int64_t remaining; /* ns, of a holder; FORECAST_UNKNOWN */
    enum forecast_basis basis;
    /* for outlook.h: how long alike ones ran, the shortest first, in units of `unit` ns; not owned. None: nothing is
     * drawn */
    const int64_t *seen;
    size_t n_seen;
    int64_t unit;
    int64_t elapsed; /* ns, that a holder has run */
    /* what the run came to */
    /* When it (first) got quota; FORECAST_NEVER: not within the run. Holders: not set unless evicted */
    int64_t start;
    unsigned after; /* set of forecast_basis: of the run times that ended before its start */
    /* It was a holder, or had started, and was preempted (the first time: by, reason) */
    bool evicted;
    enum preempt_reason reason;
    struct str by; /* uid */
    /* while it runs */
    size_t place;
    int64_t ends;
};

struct forecast_options {
    int64_t now;
    int64_t horizon;   /* ns from now; 0: 400 days */
    size_t heads_max;  /* looked at in all; 0: FORECAST_HEADS */
    size_t *heads;     /* gets how many were looked at; may be NULL */
    bool unknown_ends; /* unknown run times are over at once */
    /* Nothing ends: what the engine decides as things are, until it has nothing more to say */
    bool settle_only;
    const atomic_bool *stop; /* may be NULL */
    /* Told of each PEND in the order of the run, and when; the action is valid during the call. May be NULL. */
    void (*waits)(void *ctx, const struct engine_action *a, int64_t now);
    void *ctx;
};

/* ERR_NOMEM; ERR_GONE: stopped; *ret_cut: heads_max was reached, later starts are not known. */
int forecast_run(struct engine *e, struct forecast_work *works, size_t n,
                 const struct forecast_options *o, bool *ret_cut);

#endif
