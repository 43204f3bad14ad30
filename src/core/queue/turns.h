/*
 * turns (core): limits how often two workloads may evict each other: engine_options.break_alternation.
 *
 * With some inputs Kueue evicts for ever: A is evicted for B, then B for A, or three do so in a ring. With this option
 * there is at most one eviction between two workloads in an era of their tree; a second one, in either direction, is
 * refused. An era ends with an event from outside: a workload that was not being evicted releases quota, or quotas or
 * queues change. So between two such events there are at most as many evictions as pairs of workloads, and the engine
 * comes to rest.
 */
#ifndef BERTH_CORE_TURNS_H
#define BERTH_CORE_TURNS_H

#include "base/map.h"

struct cohort_tree;
struct queue_workload;

struct turns {
    struct map pairs;
    size_t room; /* so many, until those of past eras are looked for */
};

void turns_clear(struct turns *t, const struct cohort_tree *tree); /* of that tree; NULL: all */
bool turns_refuse(const struct turns *t, const struct queue_workload *a,
                  const struct queue_workload *b);
int turns_take(struct turns *t, const struct queue_workload *a, const struct queue_workload *b);

#endif
