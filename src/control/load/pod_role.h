/*
 * pod_role: which pods of a group are alike. Pods with one shape have one role and share a pod set of the Workload.
 *
 * A shape is what admission looks at: requests and ports of containers, node selector, affinity, tolerations, runtime
 * class, priority, topology spread, overhead, resource claims. Its hash is Kueue's: the first eight hex digits of the
 * SHA-256 of the shape as JSON, members in the order of Kubernetes' own types.
 */
#ifndef BERTH_CONTROL_POD_ROLE_H
#define BERTH_CONTROL_POD_ROLE_H

#include "wire/json/json.h"

/* The shape of a pod's spec as JSON. */
void pod_role_shape(yyjson_val *spec, struct arena *a, struct buf *out);
/* The hash, in the arena; empty when out of memory. */
struct str pod_role_hash(yyjson_val *spec, struct arena *a);

/* Where two specs differ in shape: calls differs(ctx, field) with paths below the spec ("containers[0].ports"). */
void pod_role_compare(yyjson_val *now, yyjson_val *was, struct arena *a,
                      void (*differs)(void *ctx, struct str field), void *ctx);

#endif
