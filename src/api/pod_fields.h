/*
 * pod_fields: which parts of a pod are the scheduler's, and where a pod can ask for a device.
 *
 * A pod is written in many places: as a Pod, as the template of a Job or a Workload, somewhere inside of a custom
 * resource. Whoever may write such an object may not choose a node or a GPU with it, nor ask for a GPU past the queue.
 * Everything that has to know (the guard of the API, admission, the scheduler) asks here, so that a place that was
 * forgotten is forgotten nowhere else.
 */
#ifndef BERTH_API_POD_FIELDS_H
#define BERTH_API_POD_FIELDS_H

#include "api/kind.h"
#include "base/buf.h"

/* Resources that are devices: nvidia.com/gpu, nvidia.com/mig-1g.18gb, ... */
#define POD_DEVICE_PREFIX "nvidia.com/"
/* Annotations that the scheduler alone writes: a pod's GPUs and slices, a Workload's places. */
#define POD_PLACEMENT_ANNOTATION "berth.dev/placement"

/* Does a pod with this spec ask for a device, anywhere: in the limits or requests of a container of whatever kind, of
 * the pod as a whole, in its overhead, by a resource claim? An amount of 0 asks for nothing. */
bool pod_asks_device(yyjson_mut_val *spec);
/* The same of every pod that is described below v, at any depth. */
bool pod_asks_device_below(yyjson_mut_val *v);

/* What stands at or below v, at any depth, although the scheduler alone says it: the two annotations and, in what looks
 * like a pod's spec, nodeName. The object's own status is left out. Appends a line for each,
 * "spec.template.spec.nodeName: a", and returns how many there are; equal lines are equal fields. */
size_t pod_scheduler_fields(yyjson_mut_val *v, struct buf *out);

/* The first name of a priority class at or below v (a member priorityClassName or priorityClass, label
 * kueue.x-k8s.io/priority-class) that each(ctx, name, queue) answers with false; empty: none. `queue`: it names a
 * WorkloadPriorityClass. */
struct str pod_priority_class(yyjson_mut_val *v,
                              bool (*each)(void *ctx, struct str name, bool queue), void *ctx);

/* Can objects of this kind describe pods? Those of other projects can. */
bool pod_kind_describes(const struct kind *k);

#endif
