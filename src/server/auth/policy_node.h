/*
 * policy_node (server): what a node's own credential may not do although its role says so.
 *
 * The role of group system:nodes is one for all nodes; here it is narrowed to the one node that the user's name
 * (system:node:NAME) says: its own Node and Lease, the pods bound to it, the Secrets and ConfigMaps that those
 * pods name, and tokens of their accounts that end with them. A node that is taken over is then no key to the whole.
 */
#ifndef BERTH_SERVER_POLICY_NODE_H
#define BERTH_SERVER_POLICY_NODE_H

#include "mirror/mirror.h"
#include "server/kit/request.h"
#include "wire/json/json.h"

/* For a request that RBAC allows; others than nodes pass. false: *ret_reason says why, in the arena or constant. */
bool policy_node_may(const struct mirror *m, const struct api_request *q, struct arena *a,
                     struct str *ret_reason);
/* Tokens for a node's pods alone. pod: the one that a token is to be bound to, NULL: none. 0 or ERR_FORBIDDEN. */
int policy_node_has(const struct user *u, yyjson_val *pod, struct err *err);
/* What only the body says: the name of a Node or Lease that is created. 0 or ERR_FORBIDDEN. */
int policy_node_writes(const struct api_request *q, yyjson_mut_val *obj, struct err *err);

#endif
