/* view_rbac: the C views of rbac.authorization.k8s.io/v1 and of the reviews. */
#ifndef BERTH_API_VIEW_RBAC_H
#define BERTH_API_VIEW_RBAC_H

#include "api/tables/view_meta.h"

struct policy_rule {
    struct str_list verbs, api_groups, resources, resource_names, non_resource_urls;
};
struct aggregation_rule {
    struct {
        struct label_selector *v;
        size_t n;
    } cluster_role_selectors;
};
struct role { /* Role and ClusterRole */
    struct meta *metadata;
    struct {
        struct policy_rule *v;
        size_t n;
    } rules;
    struct aggregation_rule *aggregation_rule; /* ClusterRole only */
};
struct subject {
    struct str kind, api_group, name, namespace;
};
struct role_ref {
    struct str api_group, kind, name;
};
struct role_binding { /* RoleBinding and ClusterRoleBinding */
    struct meta *metadata;
    struct {
        struct subject *v;
        size_t n;
    } subjects;
    struct role_ref *role_ref;
};

struct resource_attributes {
    struct str namespace, verb, group, version, resource, subresource, name;
};
struct non_resource_attributes {
    struct str path, verb;
};
struct access_review_spec { /* of the self, local and plain subject access reviews */
    struct resource_attributes *resource_attributes;
    struct non_resource_attributes *non_resource_attributes;
    struct str user, uid;
    struct str_list groups;
};
struct access_review {
    struct meta *metadata;
    struct access_review_spec *spec;
};
struct rules_review_spec {
    struct str namespace;
};
struct rules_review {
    struct meta *metadata;
    struct rules_review_spec *spec;
};
struct token_review_spec {
    struct str token;
    struct str_list audiences;
};
struct token_review {
    struct meta *metadata;
    struct token_review_spec *spec;
};
struct bound_object {
    struct str kind, api_version, name, uid;
};
struct token_request_spec {
    struct str_list audiences;
    struct opt_i64 expiration_seconds;
    struct bound_object *bound_object_ref;
};
struct token_request {
    struct meta *metadata;
    struct token_request_spec *spec;
};

extern const struct schema schema_role, schema_cluster_role, schema_policy_rule;
extern const struct schema schema_role_binding, schema_cluster_role_binding;
extern const struct schema schema_subject_access_review, schema_self_subject_access_review;
extern const struct schema schema_local_subject_access_review, schema_self_subject_rules_review;
extern const struct schema schema_token_review, schema_token_request, schema_self_subject_review;

#endif
