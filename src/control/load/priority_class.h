/*
 * priority_class: a WorkloadPriorityClass that gets another value gives it to every Workload that names the class, also
 * to those that run.
 */
#ifndef BERTH_CONTROL_PRIORITY_CLASS_H
#define BERTH_CONTROL_PRIORITY_CLASS_H

#include "base/err.h"
#include "control/kit/env.h"

struct priority_class_controller;

struct priority_class_controller *priority_class_controller_new(const struct control_env *env,
                                                                struct err *err);
void priority_class_controller_free(struct priority_class_controller *c);

#endif
