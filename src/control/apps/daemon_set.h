/*
 * daemon_set: the controller of DaemonSets: one pod of the template on every node that it fits (daemon_set_decide.h).
 *
 * A pod is made for its node by a required node affinity, as Kubernetes does, and placed by the scheduler. It tolerates
 * what a node that has troubles is tainted with. Which template a pod is of says label controller-revision-hash. A
 * queue that the template's labels name queues each pod.
 */
#ifndef BERTH_CONTROL_DAEMON_SET_H
#define BERTH_CONTROL_DAEMON_SET_H

#include "control/kit/controller.h"

extern const struct controller_row daemon_set_controller;

#endif
