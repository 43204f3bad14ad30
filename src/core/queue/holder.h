/*
 * holder (core): workloads that hold quota, in the order in which they may be evicted.
 */
#ifndef BERTH_CORE_HOLDER_H
#define BERTH_CORE_HOLDER_H

#include "core/queue/queue.h"

/* Victim order of one queue (queue.holders): evicting, lower priority, later reservation, uid. */
int holder_order(const void *a, const void *b);
/* Out of the order of victims, and in again after a key changed; without memory it is no victim for now. */
void holder_unlist(struct queue_workload *w);
int holder_list(struct queue_workload *w);
void holder_evicting(struct queue_workload *w, bool evicting);
/* What it holds into the quota tree, sign 1, or out of it, -1. ERR_NOMEM inside a trial alone (quota_mark): undo it. */
int holder_move(struct quota_forest *f, const struct queue_workload *w, int sign);

#endif
