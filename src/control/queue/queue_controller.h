/*
 * queue_controller: Kueue's part. Workloads wait in queues, get quota and places, and are told why they wait; pods take
 * the places.
 *
 * It feeds the engine (engine.h) from ResourceFlavors, ClusterQueues, Cohorts, LocalQueues, Workloads, Namespaces
 * and Nodes, and writes: Workload status (admission, conditions), the placement annotation before the admission, status
 * of ClusterQueues and LocalQueues, finalizers, events; and for pods that have no node yet: node, devices, and the
 * PodScheduled condition (queue_pods.c). Nothing is kept that the objects do not say: a restart rebuilds quota use from
 * admissions, and seats from placements and bound pods.
 *
 * defaults_controller: a fresh data folder gets a ResourceFlavor per GPU type, Cohort `pool` with the quota of the
 * whole machine, and ClusterQueue and LocalQueue `default`, which borrow from it, once its first node is known;
 * ConfigMap kube-system/berth-defaults marks that it was done, so that what a user deletes stays deleted. GPUs that
 * come later are added while nobody edited that ClusterQueue; see defaults.c. A data folder from before there was a
 * pool keeps the ClusterQueue `default` that it has, with quota of its own.
 */
#ifndef BERTH_CONTROL_QUEUE_CONTROLLER_H
#define BERTH_CONTROL_QUEUE_CONTROLLER_H

#include "control/kit/controller.h"

#define POOL_COHORT "pool"
/* Annotation of a ClusterQueue: the GPU places of its pods (queue_pins.c). */
#define QUEUE_PLACEMENTS "berth.dev/placements"
/* Label of ControllerRevisions that are parts of a Workload's plan (kit/long_note.h). */
#define PLAN_LABEL "berth.dev/placement-plan"

struct queue_controller; /* what controller_new makes of the row */
struct engine;
struct engine *
queue_controller_engine(struct queue_controller *c); /* for questions, not for events */

extern const struct controller_row queue_controller, defaults_controller;

#endif
