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

#include "api/schema/kind.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/* Resources that are devices: nvidia.com/gpu, nvidia.com/mig-1g.18gb, ... */
#define POD_DEVICE_PREFIX "nvidia.com/"
/* Annotations that the scheduler alone writes: a pod's GPUs and slices, a Workload's places. */
#define POD_PLACEMENT_ANNOTATION "berth.dev/placement"

/* Does a pod with this spec ask for a device, anywhere: in the limits or requests of a container of whatever kind, of
 * the pod as a whole, in its overhead, by a resource claim? An amount of 0 asks for nothing. */
bool pod_asks_device(yyjson_mut_val *spec);
/* The same of every pod that is described below v, at any depth. */
bool pod_asks_device_below(yyjson_mut_val *v);

/* Bytes of the lines of one object. A Workload's annotations are 512 KiB at most when they are written as JSON. */
enum { POD_FIELDS_BYTES = 1 << 20 };

/* What stands at or below v, at any depth, although the scheduler alone says it: the two annotations and, in what looks
 * like a pod's spec, nodeName. The object's own status is left out. Appends a line for each to out, which is empty:
 * "spec.template.spec.nodeName: a"; equal lines are equal fields. The walk is charged to a, if any. 0, or
 * ERR_TOO_LARGE: more than POD_FIELDS_BYTES or than a's allowance, or ERR_NOMEM; then out is incomplete. */
int pod_scheduler_fields(yyjson_mut_val *v, struct arena *a, struct buf *out, struct err *err);
/* Is there one? Also when a's allowance is spent before that is known. */
bool pod_has_scheduler_fields(yyjson_mut_val *v, struct arena *a);

/* The first name of a priority class at or below v (a member priorityClassName or priorityClass, or in `labels`
 * kueue.x-k8s.io/priority-class) that each(ctx, name, queue) answers with false; empty: none, or a's allowance is
 * spent. `queue`: it names a WorkloadPriorityClass. */
struct str pod_priority_class(yyjson_mut_val *v, struct arena *a,
                              bool (*each)(void *ctx, struct str name, bool queue), void *ctx);

/* Can objects of this kind describe pods? Those of other projects can. */
bool pod_kind_describes(const struct kind *k);

#endif
