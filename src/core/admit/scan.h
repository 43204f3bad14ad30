/*
 * scan (core): how far a workload has come in trying its flavors, one cycle after another.
 *
 * A round goes over all flavors once. Where a cycle ends without an admission, the next one goes on after the flavor
 * tried last, as long as nothing was freed meanwhile (scan_holds).
 */
#ifndef BERTH_CORE_SCAN_H
#define BERTH_CORE_SCAN_H

#include "core/admit/cycle.h"

/* What the scan came to becomes w's memory of it. */
void scan_keep(struct cycle *c, struct queue_workload *w, const struct assignment *a);
void scan_clear(struct queue_workload *w);
bool scan_left(const struct queue_workload *w); /* are there flavors left to try? */
/* Does the next scan go on where the last one stopped? */
bool scan_holds(const struct cycle *c, const struct queue_workload *w);

#endif
