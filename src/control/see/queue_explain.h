/*
 * queue_explain: answers for Berth's computed kinds (port/virtual.h): WorkloadExplanation and QueuePreview.
 *
 * A question about something that waits takes an insight (insight.h) of the cohort tree on the loop thread, bounded,
 * and has it worked out elsewhere (base/offload.h; at once where there is none). Insights are kept for a moment and
 * shared by questions about the same tree. What cannot be about the engine (not queued, running, over) is answered from
 * what is written on the Workload. It also watches Workloads finish, for observed run times.
 *
 * The asker sees names only of Workloads in namespaces where he may list them, and names of other ClusterQueues only
 * when he may list those.
 */
#ifndef BERTH_CONTROL_QUEUE_EXPLAIN_H
#define BERTH_CONTROL_QUEUE_EXPLAIN_H

#include "base/err.h"

struct queue_controller;
struct queue_explain;

/* The controller's engine and records are read; NULL: out of memory. It registers itself when env has a registry. */
struct queue_explain *queue_explain_new(struct queue_controller *c);
void queue_explain_free(
    struct queue_explain *x); /* NULL is a no-op; questions under way end with ERR_UNAVAILABLE */

#endif
