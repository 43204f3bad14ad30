/*
 * workload_life: what happens to a Workload beside its admission.
 *
 *     spec.active  condition                      what is done
 *     false        not Evicted                    evict: Deactivated, or DeactivatedDueTo<reason of DeactivationTarget>
 *     true         DeactivationTarget             spec.active becomes false
 *     true         Requeued False, Deactivated*   Requeued True, Reactivated
 *     true         Admitted for too long          DeactivationTarget, MaximumExecutionTimeExceeded
 *     any          Finished for long enough       deleted, when the Configuration says how long
 */
#ifndef BERTH_CONTROL_WORKLOAD_LIFE_H
#define BERTH_CONTROL_WORKLOAD_LIFE_H

#include "base/err.h"
#include "control/kit/env.h"

struct workload_life_controller;

struct workload_life_controller *workload_life_controller_new(const struct control_env *env,
                                                              struct err *err);
void workload_life_controller_free(struct workload_life_controller *c);

#endif
