/*
 * turns (core): two workloads that evict each other do it once: engine_options.break_alternation.
 *
 * Some inputs make Kueue evict for ever: A goes for B, B comes back and A goes for it, or three do so in a ring. With
 * this option a pair of workloads has one eviction between them in an era of their tree; a second one, in whichever
 * direction, is refused. An era ends when something comes from outside: a workload that was not on its way out gives
 * quota back, or quotas and queues change. So between two events from outside there are at most as many evictions as
 * pairs of workloads, and the engine comes to rest.
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
