/*
 * escalate (server): refuses roles and bindings that grant more than their author holds. Checks writes of roles and
 * bindings, as Kubernetes does.
 *
 * A role may be written when each of its rules, taken apart into (verb, group, resource, name) or (verb, path), is
 * covered by one rule the writer holds in that scope; or when he may `escalate` it. A binding may be written when all
 * rules of the role it refers to are covered; or when he may `bind` it. An aggregationRule needs everything.
 * system:masters may.
 */
#ifndef BERTH_SERVER_ESCALATE_H
#define BERTH_SERVER_ESCALATE_H

#include "server/auth/rbac.h"
#include "wire/json/json.h"

/* obj is about to be stored under namespace ns; `old` is NULL on create. Kinds that are not RBAC's pass.
 * ERR_FORBIDDEN with Kubernetes' text, ERR_NOT_FOUND (a binding to a missing role), ERR_NOMEM. */
int escalate_check(struct rbac *b, const struct user *u, const struct kind *k, struct str ns,
                   yyjson_mut_val *obj, const struct object *old, struct arena *a, struct err *err);

#endif
