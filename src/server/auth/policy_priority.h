/*
 * policy_priority (server): who may use which priority.
 *
 * A high priority evicts the work of others. Anybody may name a PriorityClass or WorkloadPriorityClass, as in
 * Kubernetes, except for two sorts:
 *
 *     system-node-critical, system-cluster-critical    take verb `use` on that PriorityClass in the whole cluster
 *     a class with annotation berth.dev/restricted: "true"    takes `use` on it, in the namespace or the whole cluster
 *
 * in pods, in jobs and their labels, in templates at any depth, in Workloads. A Workload's own number is at most that
 * of the class that it names, 0 without one; more takes the right to write the status of Workloads in the whole
 * cluster.
 */
#ifndef BERTH_SERVER_POLICY_PRIORITY_H
#define BERTH_SERVER_POLICY_PRIORITY_H

#include "server/auth/rbac.h"
#include "wire/json/json.h"

#define POLICY_RESTRICTED_ANNOTATION "berth.dev/restricted"

/* obj is about to be stored for q's user, old is what is stored or NULL. What was named before may stay. 0,
 * ERR_FORBIDDEN. */
int policy_priority(struct rbac *b, const struct mirror *m, const struct api_request *q,
                    yyjson_mut_val *obj, yyjson_mut_val *old, struct arena *a, struct err *err);

#endif
