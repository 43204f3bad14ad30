/*
 * scan (core): how far a workload has come in trying its flavors, from one cycle to the next.
 *
 * A round tries every flavor once. After a cycle without an admission, the next cycle continues after the flavor tried
 * last, as long as nothing was freed in between (scan_holds).
 */
#ifndef BERTH_CORE_SCAN_H
#define BERTH_CORE_SCAN_H

#include "core/admit/cycle.h"

static inline bool scan_missed(const struct queue_workload *w) {
    return w->round == ROUND_MISSED || w->round == ROUND_SEEKS_MISSED;
}
static inline bool scan_seeks(const struct queue_workload *w) {
    return w->round == ROUND_SEEKS || w->round == ROUND_SEEKS_MISSED;
}
static inline void scan_round_set(struct queue_workload *w, bool seeks, bool missed) {
    w->round =
        seeks ? (missed ? ROUND_SEEKS_MISSED : ROUND_SEEKS) : (missed ? ROUND_MISSED : ROUND_PLAIN);
}
/* What the scan came to becomes w's memory of it. */
void scan_keep(struct cycle *c, struct queue_workload *w, const struct assignment *a);
void scan_clear(struct queue_workload *w);
bool scan_left(const struct queue_workload *w); /* are there flavors left to try? */
/* Does the next scan go on where the last one stopped? */
bool scan_holds(const struct cycle *c, const struct queue_workload *w);

#endif
