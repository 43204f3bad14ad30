/*
 * workload_life: deactivation, time limits and retention of Workloads.
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

extern const struct controller_row workload_life_controller;

#endif
