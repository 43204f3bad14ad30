/*
 * replica_set: the controllers of ReplicaSets and of ReplicationControllers: as many pods of a template as are wanted
 * (replica_set_decide.h).
 */
#ifndef BERTH_CONTROL_REPLICA_SET_H
#define BERTH_CONTROL_REPLICA_SET_H

#include "control/kit/controller.h"

extern const struct controller_row replica_set_controller, replication_controller;

#endif
