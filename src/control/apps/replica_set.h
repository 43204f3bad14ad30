/*
 * replica_set: the controller of ReplicaSets: as many pods of a template as are wanted (replica_set_decide.h).
 */
#ifndef BERTH_CONTROL_REPLICA_SET_H
#define BERTH_CONTROL_REPLICA_SET_H

#include "control/kit/controller.h"

extern const struct controller_row replica_set_controller;

#endif
