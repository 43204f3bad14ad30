/*
 * policy_protect (server): what belongs to Berth's controllers within objects that others may write.
 *
 * Who may edit pods could otherwise name a node and a slice by hand, and never wait in a queue. So spec.nodeName and
 * annotation berth.dev/devices of a Pod are for those who may bind pods in the whole cluster, annotation
 * berth.dev/placement of a Workload for those who may write the status of Workloads in the whole cluster, and GPUs
 * are asked for by Jobs that name a queue, and by pods that wait behind the gate of admission: that gate, and what ties
 * such a pod to its Workload or Job, is the queue's.
 *
 * What is described is as good as what is there: the same holds for every pod template, at any depth of any kind, since
 * some controller will make pods of it. A write by which a controller does so is judged by policy_protect_template: who
 * wrote the template is not known any more, so nothing passes that takes a right.
 */
#ifndef BERTH_SERVER_POLICY_PROTECT_H
#define BERTH_SERVER_POLICY_PROTECT_H

#include "mirror/object.h"
#include "server/auth/rbac.h"
#include "wire/json/json.h"

/* A right over these is one over the cluster, whatever RoleBinding gives it: the status of what is queued, booked and
 * run says which slices and quota are free, who holds a booking, and whom a calendar feed speaks for. */
bool policy_is_clusterwide(const struct api_request *q);
/* obj is about to be stored for q's user, old is NULL on create. 0, ERR_FORBIDDEN, ERR_NOMEM. */
int policy_protect(struct rbac *b, const struct mirror *m, const struct api_request *q,
                   yyjson_mut_val *obj, const struct object *old, struct arena *a, struct err *err);
/* A controller is about to create obj, or to change a Deployment to it, as a template in m says. 0, ERR_FORBIDDEN,
 * ERR_NOMEM. */
int policy_protect_template(const struct mirror *m, const struct api_request *q,
                            yyjson_mut_val *obj, struct arena *a, struct err *err);

#endif
