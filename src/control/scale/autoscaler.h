/*
 * autoscaler: HorizontalPodAutoscalers. Every 15 seconds, and at once when its spec changes, each is looked at
 * (core/scale/hpa.h): its target's scale, the pods, what they use. The number goes to the target's scale subresource,
 * what was found to the status, what happened to Events.
 *
 * Resources come from metrics.k8s.io as it is served here. There is no custom and no external metrics API: metrics of
 * the types Pods, Object and External fail, and the status says so. Past recommendations are in memory alone, as
 * upstream's.
 *
 * Kinds: reads HorizontalPodAutoscalers, Pods and every kind that has a scale; patches their scale, and the status.
 */
#ifndef BERTH_CONTROL_AUTOSCALER_H
#define BERTH_CONTROL_AUTOSCALER_H

#include "control/kit/controller.h"

extern const struct controller_row autoscaler_controller;

#endif
