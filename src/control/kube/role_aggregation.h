/*
 * role_aggregation: keeps the rules of a ClusterRole with an aggregationRule equal to those of the ClusterRoles that
 * its selectors match, in order of their names, without repeats.
 */
#ifndef BERTH_CONTROL_ROLE_AGGREGATION_H
#define BERTH_CONTROL_ROLE_AGGREGATION_H

extern const struct controller_row role_aggregation_controller;

#endif
