/*
 * offload: long computations away from the loop thread, by interface.
 *
 * `world` has the real one (a thread and the loop's posts), tests one that works when told to. What a job touches is
 * its own: it shares nothing with the loop between start and done.
 */
#ifndef BERTH_BASE_OFFLOAD_H
#define BERTH_BASE_OFFLOAD_H

#include <stdatomic.h>

#include "base/err.h"

struct offload_job;

struct offload {
    /* Runs work(ctx, stop) on another thread, in order of starting, and then done(ctx) on the loop thread, exactly once
     * and never inside start. work looks at *stop now and then and ends soon when it is set. ERR_TOO_MANY: enough are
     * waiting. *ret is valid until done. */
    int (*start)(struct offload *o, void (*work)(void *ctx, const atomic_bool *stop),
                 void (*done)(void *ctx), void *ctx, struct offload_job **ret, struct err *err);
    /* Sets *stop; work may not run at all; done comes all the same. */
    void (*cancel)(struct offload *o, struct offload_job *j);
};

#endif
