/*
 * deployment: the controller of Deployments: a ReplicaSet for each template, and pods moved from the old ones to the
 * new one (deployment_decide.h).
 */
#ifndef BERTH_CONTROL_DEPLOYMENT_H
#define BERTH_CONTROL_DEPLOYMENT_H

#include "control/kit/controller.h"

extern const struct controller_row deployment_controller;

#endif
