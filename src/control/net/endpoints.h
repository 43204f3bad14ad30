/*
 * endpoints: keeps the core Endpoints of every Service with a selector, as Kubernetes' endpoints controller writes
 * them: one object of the Service's name and labels, with a subset for each set of ports, and addresses that are ready
 * apart from those that are not. Pods that are ending are in neither, unless the Service publishes what is not ready.
 *
 * What is there is read from the Service's EndpointSlices (endpoint_slice.h), which say more. Kubernetes has deprecated
 * Endpoints, and the API warns of it here as well. Beyond ENDPOINTS_MAX addresses the rest is left out and the object
 * has the annotation endpoints.kubernetes.io/over-capacity, as upstream. Endpoints of a Service without a selector are
 * somebody's own, and go with their Service all the same.
 */
#ifndef BERTH_CONTROL_ENDPOINTS_H
#define BERTH_CONTROL_ENDPOINTS_H

#include "control/kit/controller.h"

enum { ENDPOINTS_MAX = 1000 };

extern const struct controller_row endpoints_controller;

#endif
