/*
 * rbac (server): decisions by Role, ClusterRole and their bindings, with Kubernetes' matching rules.
 *
 * The rules are compiled into memory of their own when first needed after a change of any role or binding (the
 * mirror's feed says so), and then a decision only compares: cluster-wide bindings, then those of the request's
 * namespace, first allowing rule wins. Group system:masters may do everything. A ClusterRole with an aggregationRule
 * has the rules of the ClusterRoles that its selectors match, resolved here, whether or not somebody wrote them into
 * it.
 */
#ifndef BERTH_SERVER_RBAC_H
#define BERTH_SERVER_RBAC_H

#include "api/tables/view_rbac.h"
#include "mirror/mirror.h"
#include "server/kit/request.h"

struct rbac;

struct rbac_attributes {
    const struct user *user;
    struct str verb;
    bool resource_request;
    struct str group, resource, subresource, name, ns; /* name and ns may be empty */
    struct str path;                                   /* of a request that is no resource */
};

int rbac_new(struct mirror *m, struct rbac **ret, struct err *err);
void rbac_free(struct rbac *b); /* NULL is a no-op */

/* Whether it is allowed. *ret_reason: why ('RBAC: allowed by RoleBinding "rb/ns" of Role "r" to User "u"'), or what
 * went wrong on the way (a missing role); may be empty. */
bool rbac_allows(struct rbac *b, const struct rbac_attributes *q, struct arena *a,
                 struct str *ret_reason);

/* Each rule that the user holds in ns (empty: cluster-wide ones only), once a role; each returns false to stop. */
void rbac_rules_of(struct rbac *b, const struct user *u, struct str ns,
                   bool (*each)(void *ctx, const struct policy_rule *r), void *ctx);
/* Each rule of a role: `kind` "Role" (with its ns) or "ClusterRole", aggregation resolved. false when it is missing. */
bool rbac_role_rules(struct rbac *b, struct str kind, struct str ns, struct str name,
                     bool (*each)(void *ctx, const struct policy_rule *r), void *ctx);

/* Does one rule allow one request? */
bool rbac_rule_allows(const struct policy_rule *r, const struct rbac_attributes *q);

bool user_in_group(const struct user *u, struct str group);

/* Of how many namespaces something is kept: those that have Roles or RoleBindings. */
size_t rbac_namespaces(const struct rbac *b);

/* Whether a Role or RoleBinding of so many bytes fits in beside the others of its namespace: ERR_FORBIDDEN when not.
 * One that becomes no larger always does, so that a full namespace can be tidied up. */
int rbac_check_room(struct rbac *b, const struct kind *k, struct str ns, struct str name,
                    size_t bytes, struct err *err);

#endif
