/*
 * serving: Kueue's integrations of StatefulSet and LeaderWorkerSet. Their pods wait behind gates that admission gave
 * them; here the Workloads are made that pod_group follows, and each pod is told which one is its.
 *
 *     StatefulSet       one Workload of all replicas. Scaled to zero it gives its quota back and is on hold
 *     LeaderWorkerSet   one Workload for each replica: pod sets `leader` and `worker`, or `main`. A replica that goes
 *                       takes its Workload along
 *     Deployment        nothing: each of its pods is queued alone
 *
 * Pods of an old revision are let through without quota while a new one is rolled out: what rolls it out waits for
 * them.
 */
#ifndef BERTH_CONTROL_SERVING_H
#define BERTH_CONTROL_SERVING_H

#include "base/err.h"
#include "control/kit/env.h"

extern const struct controller_row serving_controller;

#endif
