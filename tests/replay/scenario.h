/*
 * scenario: one recorded scenario, replayed: its objects go through the controllers' translation into an engine, which
 * is then driven step by step; what it decides is compared with what is written.
 *
 * A scenario is one JSON object: resourceFlavors, cohorts, clusterQueues, localQueues, all created before the
 * first step, and steps. A step may put ClusterQueues again (stopped, say), names workloads that finish, gives
 * Workloads that are submitted, and then scheduling cycles run until nothing is active in any queue, or for
 * CYCLES_MAX cycles, or until a cycle decides nothing and leaves the queues as the one before did. (The recorded
 * runs compared the contents of queues in an order that is random when a queue has several, so that some went on;
 * where more is written, this one goes on too.) Written are the cycles that decided something (admitted with
 * flavors and counts, preempted with reasons; in no order), who holds quota after the step and who does not. After
 * each cycle a second goes by and each preempted workload, in name order, gives its quota back and returns to its
 * queue. With admissionsSeen the engine is told of each admission, as the controllers tell it when it is written: who
 * evicted others to come in is then no longer first in its queue.
 */
#ifndef BERTH_TESTS_REPLAY_SCENARIO_H
#define BERTH_TESTS_REPLAY_SCENARIO_H

#include <stdbool.h>

#include "wire/json/json.h"

enum { CYCLES_MAX = 40, DIFFERENCE_BYTES = 1 << 20 };

/* True when every decision is as written; else *difference says where and how. `story` (may be NULL) gets what the
 * engine decided and why others wait, cycle by cycle. `a` is for everything made here. */
bool scenario_replay(yyjson_val *scenario, struct arena *a, struct buf *difference,
                     struct buf *story);

#endif
