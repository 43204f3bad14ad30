/*
 * disruption: the controller of PodDisruptionBudgets: keeps their status, which says how many pods may be evicted
 * (disruption_decide.h). Evictions are judged by it where they are asked for (server/write/evict.h).
 *
 * What a pod's controller wants is the spec.replicas of its Deployment, ReplicaSet, StatefulSet or
 * ReplicationController, or what the scale subresource of a custom kind says. Others, Jobs among them, have no scale: a
 * budget with maxUnavailable or a percentage that selects their pods allows nothing, and says why, as in Kubernetes.
 */
#ifndef BERTH_CONTROL_DISRUPTION_H
#define BERTH_CONTROL_DISRUPTION_H

#include "control/kit/controller.h"

extern const struct controller_row disruption_controller;

#endif
