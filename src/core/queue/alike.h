/*
 * alike (core): whether every decision treats two workloads the same.
 *
 * Users choose all fields that are compared, so a digest only finds candidates and a full comparison decides. If two
 * different workloads were taken for one, they would share their fate, or an edit would be missed and the old amounts
 * would be charged.
 */
#ifndef BERTH_CORE_ALIKE_H
#define BERTH_CORE_ALIKE_H

#include "core/queue/workload.h"

/* Who may be alike, of what is in sets and priority. Resources count by their numbers: equal within one engine. */
uint64_t workload_hash(const struct queue_workload *w);
/* Does the record say what the input does, in all that decisions look at but the queue? */
bool workload_says(const struct names *resources, const struct queue_workload *w,
                   const struct workload_input *in);
bool workload_alike(const struct queue_workload *a, const struct queue_workload *b);
/* In their pod sets, but for how many pods those have. */
bool workload_resized(const struct queue_workload *a, const struct queue_workload *b);

#endif
