/*
 * bootstrap: what a Kubernetes API has from the start and clients expect: the four namespaces, berth-system, and the
 * two system PriorityClasses. Created when absent, also when somebody deletes one; never changed.
 */
#ifndef BERTH_CONTROL_BOOTSTRAP_H
#define BERTH_CONTROL_BOOTSTRAP_H

#include "base/err.h"
#include "control/kit/env.h"

struct bootstrap_controller;

struct bootstrap_controller *bootstrap_controller_new(const struct control_env *env,
                                                      struct err *err);
void bootstrap_controller_free(struct bootstrap_controller *c);
bool bootstrap_done(const struct bootstrap_controller *c); /* everything is there */

#endif
