/* policy_roles (server): the default ClusterRoles and bindings, as manifests. Created at start when absent. */
#ifndef BERTH_SERVER_POLICY_ROLES_H
#define BERTH_SERVER_POLICY_ROLES_H

/* NULL-terminated JSON manifests, roles before the bindings that name them. */
extern const char *const policy_manifests[];

#endif
