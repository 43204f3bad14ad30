/* policy_roles (server): the default ClusterRoles and bindings, as manifests. Created at start when absent;
 * the rules of roles are brought up to date then (server_bootstrap). */
#ifndef BERTH_SERVER_POLICY_ROLES_H
#define BERTH_SERVER_POLICY_ROLES_H

#include "base/err.h"
#include "base/str.h"

/* Calls each(ctx, JSON) for every default, roles before the bindings that name them, until one fails. */
int policy_each_default(int (*each)(void *ctx, struct str json, struct err *err), void *ctx,
                        struct err *err);

#endif
