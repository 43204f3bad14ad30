/*
 * policy_scale (server): whose scale an autoscaler may set.
 *
 * A controller sets the scale of a HorizontalPodAutoscaler's target, with rights of its own. So who writes the spec of
 * one must have the right to do that: `update` or `patch`, on the target or on its subresource `scale`. Kubernetes asks
 * for no such right. The default roles `edit` and `admin` have it for all built-in kinds.
 */
#ifndef BERTH_SERVER_POLICY_SCALE_H
#define BERTH_SERVER_POLICY_SCALE_H

#include "mirror/object.h"
#include "server/auth/rbac.h"
#include "wire/json/json.h"

/* obj is about to be stored for q's user, old is NULL on create. A spec that stays as it is needs no right; a target of
 * a kind that is not served takes one over all kinds of its group. 0, ERR_FORBIDDEN, ERR_NOMEM. */
int policy_scale(struct rbac *b, const struct api_request *q, yyjson_mut_val *obj,
                 const struct object *old, struct arena *a, struct err *err);

#endif
