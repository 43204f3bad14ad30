/*
 * endpoint_slice: keeps the EndpointSlices of every Service with a selector as its pods are: who has an address, who is
 * ready, who is ending. A pod that is no longer ready is told within moments: what is behind a Service is looked at
 * again a few milliseconds after the change, later for a Service of many pods, never later than half a second.
 *
 * Names and labels of the slices are those of Kubernetes' own controller; at most ENDPOINT_SLICE_MAX endpoints each. A
 * named targetPort may be another number in each pod: pods that differ there have slices of their own.
 */
#ifndef BERTH_CONTROL_ENDPOINT_SLICE_H
#define BERTH_CONTROL_ENDPOINT_SLICE_H

#include "control/kit/controller.h"

enum { ENDPOINT_SLICE_MAX = 100, ENDPOINT_GROUPS_MAX = 16 };

extern const struct controller_row endpoint_slice_controller;

#endif
