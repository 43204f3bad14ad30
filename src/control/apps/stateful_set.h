/*
 * stateful_set: the controller of StatefulSets: pods with names and claims of their own, made, updated and deleted in
 * order (stateful_decide.h). What a template was is kept as a ControllerRevision, by which `rollout undo` goes back.
 */
#ifndef BERTH_CONTROL_STATEFUL_SET_H
#define BERTH_CONTROL_STATEFUL_SET_H

#include "control/kit/controller.h"

extern const struct controller_row stateful_set_controller;

#endif
