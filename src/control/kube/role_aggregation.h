/*
 * role_aggregation: keeps the rules of a ClusterRole with an aggregationRule equal to those of the ClusterRoles that
 * its selectors match, in order of their names, without repeats.
 */
#ifndef BERTH_CONTROL_ROLE_AGGREGATION_H
#define BERTH_CONTROL_ROLE_AGGREGATION_H

#include "base/err.h"
#include "control/kit/env.h"

struct role_aggregation_controller;

struct role_aggregation_controller *role_aggregation_controller_new(const struct control_env *env,
                                                                    struct err *err);
void role_aggregation_controller_free(struct role_aggregation_controller *c);

#endif
