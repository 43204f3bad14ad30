/*
 * outlook (core): estimated starts as ranges: a forecast (forecast.h) run several times, each time with other run
 * times of those that were observed.
 *
 * One run on medians gives one time for each workload and never how sure it is. Here each run draws, for each work, one
 * of the run times that its history allows: spread evenly over the history, the tails included, and what is left of a
 * holder by those that ran longer than it has. A start that hardly differs from run to run is a time; any other is a
 * range. Draws come from the work's uid alone, so that the same question has the same answer. Declared run times are
 * drawn where it is known which shares of theirs others took. Where nothing was observed one run says it all.
 *
 * How to use: outlook_run, then hindsight_adjust (hindsight.h), then outlook_says.
 */
#ifndef BERTH_CORE_OUTLOOK_H
#define BERTH_CORE_OUTLOOK_H

#include "base/arena.h"
#include "core/whatif/clone.h"
#include "core/whatif/forecast.h"

enum { OUTLOOK_RUNS = 15 };

/* When one starts: one in ten runs has it before `early`, one in ten after `late`. FORECAST_NEVER: not within a run. */
struct outlook {
    int64_t early, mid, late;
};

enum outlook_kind {
    OUTLOOK_NEVER,  /* it has no start */
    OUTLOOK_TIME,   /* `mid`, near enough */
    OUTLOOK_RANGE,  /* from `early` to `late` */
    OUTLOOK_UNKNOWN /* too wide to be of use: not before `early` */
};

/* Fills ret[0..n-1] from the works of the clone, which forecast_run has run once (start is set; it stands where
 * nothing was observed). Memory is the arena's: some 200 bytes a work. o->heads_max is for all runs together (0: half
 * of FORECAST_HEADS): five of the fifteen will do. *ret_cut: not so many came to their end, no start is known.
 * o->waits and o->heads are not used. ERR_NOMEM; ERR_GONE: stopped. */
int outlook_run(const struct clone *c, const struct forecast_work *works, size_t n,
                const struct forecast_options *o, struct arena *a, struct outlook *ret,
                bool *ret_cut);

/* A run time that a history (the shortest first, n > 0) allows of one that has run for `elapsed` (-1: of a whole
 * run): a share of u, 0 < u < 1, of those that ran longer than that are shorter. Beyond all that is known the tail is
 * as heavy as the upper half of the history, and heavier where that is short. */
int64_t outlook_draw(const int64_t *seen, size_t n, int64_t elapsed, double u);

enum outlook_kind outlook_says(const struct outlook *o, int64_t now);

#endif
