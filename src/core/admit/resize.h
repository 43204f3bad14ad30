/*
 * resize (core): a holder of quota that grows or shrinks. engine.h describes the feature.
 *
 *     prior      the predecessor, which holds quota
 *     heir       the workload that replaces it, prior->heir; it was given the difference
 *
 * A prior has one heir at a time. The heir holds the difference and the prior keeps what it had, so that code which
 * counts holders counts each pod once. The prior ends in one of two ways: the heir's admission is written and seen
 * (engine_workload_resize), or the prior releases its quota. In both cases the quota passes to the heir at once and is
 * never free in between. An heir that is undone releases only the difference.
 */
#ifndef BERTH_CORE_RESIZE_H
#define BERTH_CORE_RESIZE_H

#include "base/arena.h"
#include "core/queue/queue.h"

struct engine;

/* The holder that w may take over from now; NULL: none. */
struct queue_workload *resize_prior(const struct engine *e, const struct queue_workload *w);
/* How many pods of each set are new; NULL: out of memory. */
const int32_t *resize_counts(struct arena *tick, const struct queue_workload *w,
                             const struct queue_workload *prior);
/* Are these still the new pods? */
bool resize_same(const struct engine *e, const struct queue_workload *w, const int32_t *counts);
/* The flavor that the holder has for it; -1: it has none. */
int64_t resize_flavor(const struct queue_workload *prior, uint32_t set, uint32_t resource);
/* The first ordinal that no seat of the holder has. */
int32_t resize_ordinal(const struct pool *p, const struct queue_workload *w, struct str set);
void resize_promise(struct engine *e, struct queue_workload *w);
/* w is about to give back what it holds: its heir takes that, and whose heir it was has none. */
void resize_release(struct engine *e, struct queue_workload *w);
/* What w was promised is its own now. */
void resize_take(struct engine *e, struct queue_workload *w);

#endif
