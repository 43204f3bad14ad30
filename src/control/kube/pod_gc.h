/*
 * pod_gc: finished pods beyond env.kept.pods go, the oldest first, whoever owns them; their logs go with them. What
 * kube-controller-manager does beyond --terminated-pod-gc-threshold.
 */
#ifndef BERTH_CONTROL_POD_GC_H
#define BERTH_CONTROL_POD_GC_H

struct controller_row;
extern const struct controller_row pod_gc_controller;

#endif
