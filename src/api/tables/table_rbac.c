/*
 * table_rbac: the fields of roles, bindings and of the reviews that answer who may do what.
 */
#include "api/tables/view_rbac.h"

#include "api/tables/table.h"

static const struct field policy_rule_fields[] = {
    M(policy_rule, verbs, STRING, LIST, "verbs", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Allowed verbs."),
    M(policy_rule, api_groups, STRING, LIST, "apiGroups", 2, .flags = FIELD_F_ATOMIC,
      .doc = "API groups of the rule; \"\" is the core group."),
    M(policy_rule, resources, STRING, LIST, "resources", 3, .flags = FIELD_F_ATOMIC,
      .doc = "Resources of the rule; * means all."),
    M(policy_rule, resource_names, STRING, LIST, "resourceNames", 4, .flags = FIELD_F_ATOMIC,
      .doc = "Names to which the rule is limited; none means all."),
    M(policy_rule, non_resource_urls, STRING, LIST, "nonResourceURLs", 5, .flags = FIELD_F_ATOMIC,
      .doc = "Non-resource URL paths of the rule."),
};
const struct schema schema_policy_rule = SCHEMA("io.k8s.api.rbac.v1.PolicyRule",
      policy_rule_fields, sizeof(struct policy_rule), NULL);

static const struct field role_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(role, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(role, rules, OBJECT, LIST, "rules", 2, .of = &schema_policy_rule,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Allowed verbs."),
};
const struct schema schema_role = SCHEMA("io.k8s.api.rbac.v1.Role", role_fields,
      sizeof(struct role), "Permissions in one namespace.");

static const struct field aggregation_rule_fields[] = {
    M(aggregation_rule, cluster_role_selectors, OBJECT, LIST, "clusterRoleSelectors", 1,
      .of = &schema_label_selector, .flags = FIELD_F_ATOMIC,
      .doc = "Labels of the cluster roles whose rules are aggregated."),
};
static const struct schema schema_aggregation_rule = SCHEMA("io.k8s.api.rbac.v1.AggregationRule",
      aggregation_rule_fields, sizeof(struct aggregation_rule), NULL);

static const struct field cluster_role_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(role, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(role, rules, OBJECT, LIST, "rules", 2, .of = &schema_policy_rule,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Allowed verbs."),
    M(role, aggregation_rule, OBJECT, ONE, "aggregationRule", 3, .of = &schema_aggregation_rule,
      .flags = FIELD_F_OPT, .doc = "Aggregates the rules of other cluster roles."),
};
const struct schema schema_cluster_role = SCHEMA("io.k8s.api.rbac.v1.ClusterRole",
      cluster_role_fields, sizeof(struct role),
      "Permissions in all namespaces or in one.");

static const struct field subject_fields[] = {
    M(subject, kind, STRING, ONE, "kind", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "User, Group or ServiceAccount."),
    M(subject, api_group, STRING, ONE, "apiGroup", 2, .doc = "API group of the referenced object."),
    M(subject, name, STRING, ONE, "name", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the user, group or service account."),
    M(subject, namespace, STRING, ONE, "namespace", 4, .doc = "Namespace of the service account."),
};
static const struct schema schema_subject = ATOMIC_SCHEMA(
      "io.k8s.api.rbac.v1.Subject", subject_fields,
      sizeof(struct subject), NULL);

static const struct field role_ref_fields[] = {
    M(role_ref, api_group, STRING, ONE, "apiGroup", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .def = "\"rbac.authorization.k8s.io\"",
      .doc = "API group of the referenced object."),
    M(role_ref, kind, STRING, ONE, "kind", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Kind of the object."),
    M(role_ref, name, STRING, ONE, "name", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .format = "path-name", .doc = "Name of the Role or ClusterRole."),
};
static const struct schema schema_role_ref = ATOMIC_SCHEMA(
      "io.k8s.api.rbac.v1.RoleRef", role_ref_fields,
      sizeof(struct role_ref), NULL);

static const struct field role_binding_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(role_binding, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(role_binding, subjects, OBJECT, LIST, "subjects", 2, .of = &schema_subject,
      .flags = FIELD_F_ATOMIC,
      .doc = "Users, groups and service accounts that are granted the role."),
    M(role_binding, role_ref, OBJECT, ONE, "roleRef", 3, .of = &schema_role_ref,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "The granted role; immutable."),
};
const struct schema schema_role_binding = SCHEMA("io.k8s.api.rbac.v1.RoleBinding",
      role_binding_fields, sizeof(struct role_binding), "Grants a role in one namespace.");

static const struct field cluster_role_binding_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(role_binding, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(role_binding, subjects, OBJECT, LIST, "subjects", 2, .of = &schema_subject,
      .flags = FIELD_F_ATOMIC,
      .doc = "Users, groups and service accounts that are granted the role."),
    M(role_binding, role_ref, OBJECT, ONE, "roleRef", 3, .of = &schema_role_ref,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "The granted role; immutable."),
};
const struct schema schema_cluster_role_binding = SCHEMA(
      "io.k8s.api.rbac.v1.ClusterRoleBinding", cluster_role_binding_fields,
      sizeof(struct role_binding), "Grants a cluster role in all namespaces.");

static const struct field user_info_fields[] = {
    F(STRING, ONE, "username", 1, .doc = "Name of the user."),
    F(STRING, ONE, "uid", 2, .doc = "Identifier of the user, unique over time."),
    F(STRING, LIST, "groups", 3, .flags = FIELD_F_ATOMIC, .doc = "Groups that the user is in."),
    F(ANY, MAP, "extra", 4, .doc = "Extra attributes from the authenticator."),
};
static const struct schema schema_user_info = SCHEMA("io.k8s.api.authentication.v1.UserInfo",
      user_info_fields, 0, NULL);

static const struct field self_subject_review_status_fields[] = {
    F(OBJECT, ONE, "userInfo", 1, .of = &schema_user_info, .doc = "The authenticated user."),
};
static const struct schema schema_self_subject_review_status = SCHEMA(
      "io.k8s.api.authentication.v1.SelfSubjectReviewStatus", self_subject_review_status_fields,
      0, NULL);

static const struct field self_subject_review_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, ONE, "status", 2, .of = &schema_self_subject_review_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_self_subject_review = SCHEMA(
      "io.k8s.api.authentication.v1.SelfSubjectReview", self_subject_review_fields, 0,
      "Returns the user who makes the request.");

static const struct field token_review_spec_fields[] = {
    M(token_review_spec, token, STRING, ONE, "token", 1, .doc = "The token."),
    M(token_review_spec, audiences, STRING, LIST, "audiences", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Audiences of the token."),
};
static const struct schema schema_token_review_spec = SCHEMA(
      "io.k8s.api.authentication.v1.TokenReviewSpec", token_review_spec_fields,
      sizeof(struct token_review_spec), NULL);

static const struct field token_review_status_fields[] = {
    F(BOOL, ONE, "authenticated", 1, .doc = "Whether the token is valid."),
    F(OBJECT, ONE, "user", 2, .of = &schema_user_info, .doc = "User."),
    F(STRING, LIST, "audiences", 4, .flags = FIELD_F_ATOMIC, .doc = "Audiences of the token."),
    F(STRING, ONE, "error", 3, .doc = "Why the token is not valid."),
};
static const struct schema schema_token_review_status = SCHEMA(
      "io.k8s.api.authentication.v1.TokenReviewStatus", token_review_status_fields, 0,
      NULL);

static const struct field token_review_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(token_review, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(token_review, spec, OBJECT, ONE, "spec", 2, .of = &schema_token_review_spec,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_token_review_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_token_review = SCHEMA("io.k8s.api.authentication.v1.TokenReview",
      token_review_fields, sizeof(struct token_review), "Authenticates a token.");

static const struct field bound_object_reference_fields[] = {
    M(bound_object, kind, STRING, ONE, "kind", 1, .doc = "Kind of the object."),
    M(bound_object, api_version, STRING, ONE, "apiVersion", 2,
      .doc = "Version of the API in which the object is written."),
    M(bound_object, name, STRING, ONE, "name", 3, .doc = "Name of the object."),
    M(bound_object, uid, STRING, ONE, "uid", 4, .doc = "UID of the object."),
};
static const struct schema schema_bound_object_reference = SCHEMA(
      "io.k8s.api.authentication.v1.BoundObjectReference", bound_object_reference_fields,
      sizeof(struct bound_object), NULL);

static const struct field token_request_spec_fields[] = {
    M(token_request_spec, audiences, STRING, LIST, "audiences", 1,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Audiences of the token."),
    M(token_request_spec, expiration_seconds, INT64, ONE, "expirationSeconds", 4,
      .flags = FIELD_F_OPT, .def = "3600", .min = 600, .max = 4294967296,
      .doc = "Requested lifetime in seconds."),
    M(token_request_spec, bound_object_ref, OBJECT, ONE, "boundObjectRef", 3,
      .of = &schema_bound_object_reference, .flags = FIELD_F_OPT,
      .doc = "Object to which the token is bound; deleting it invalidates the token."),
};
static const struct schema schema_token_request_spec = SCHEMA(
      "io.k8s.api.authentication.v1.TokenRequestSpec", token_request_spec_fields,
      sizeof(struct token_request_spec), NULL);

static const struct field token_request_status_fields[] = {
    F(STRING, ONE, "token", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "The token."),
    F(TIME, ONE, "expirationTimestamp", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Time at which the token expires."),
};
static const struct schema schema_token_request_status = SCHEMA(
      "io.k8s.api.authentication.v1.TokenRequestStatus", token_request_status_fields, 0,
      NULL);

static const struct field token_request_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(token_request, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(token_request, spec, OBJECT, ONE, "spec", 2, .of = &schema_token_request_spec,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_token_request_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_token_request = SCHEMA("io.k8s.api.authentication.v1.TokenRequest",
      token_request_fields, sizeof(struct token_request),
      "Requests a token for a service account.");

static const struct field field_selector_attributes_fields[] = {
    F(STRING, ONE, "rawSelector", 1, .doc = "The selector as text."),
    F(OBJECT, LIST, "requirements", 2, .of = &schema_field_selector_requirement,
      .flags = FIELD_F_ATOMIC, .doc = "The selector, parsed."),
};
static const struct schema schema_field_selector_attributes = SCHEMA(
      "io.k8s.api.authorization.v1.FieldSelectorAttributes", field_selector_attributes_fields, 0,
      NULL);

static const struct field label_selector_attributes_fields[] = {
    F(STRING, ONE, "rawSelector", 1, .doc = "The selector as text."),
    F(OBJECT, LIST, "requirements", 2, .of = &schema_label_selector_requirement,
      .flags = FIELD_F_ATOMIC, .doc = "The selector, parsed."),
};
static const struct schema schema_label_selector_attributes = SCHEMA(
      "io.k8s.api.authorization.v1.LabelSelectorAttributes", label_selector_attributes_fields, 0,
      NULL);

static const struct field resource_attributes_fields[] = {
    M(resource_attributes, namespace, STRING, ONE, "namespace", 1,
      .doc = "Namespace of the request."),
    M(resource_attributes, verb, STRING, ONE, "verb", 2,
      .doc = "Verb, such as get or create."),
    M(resource_attributes, group, STRING, ONE, "group", 3, .doc = "API group."),
    M(resource_attributes, version, STRING, ONE, "version", 4, .doc = "API version."),
    M(resource_attributes, resource, STRING, ONE, "resource", 5,
      .doc = "Kind of resource, in the plural."),
    M(resource_attributes, subresource, STRING, ONE, "subresource", 6,
      .doc = "Part of the resource, such as status."),
    M(resource_attributes, name, STRING, ONE, "name", 7,
      .doc = "Name of the object; empty: all objects."),
    F(OBJECT, ONE, "fieldSelector", 8, .of = &schema_field_selector_attributes,
      .flags = FIELD_F_OPT, .doc = "Limits the request by fields."),
    F(OBJECT, ONE, "labelSelector", 9, .of = &schema_label_selector_attributes,
      .flags = FIELD_F_OPT, .doc = "Limits the request by labels."),
};
static const struct schema schema_resource_attributes = SCHEMA(
      "io.k8s.api.authorization.v1.ResourceAttributes", resource_attributes_fields,
      sizeof(struct resource_attributes), NULL);

static const struct field non_resource_attributes_fields[] = {
    M(non_resource_attributes, path, STRING, ONE, "path", 1,
      .doc = "Path, relative to the mount point."),
    M(non_resource_attributes, verb, STRING, ONE, "verb", 2,
      .doc = "Verb, such as get or create."),
};
static const struct schema schema_non_resource_attributes = SCHEMA(
      "io.k8s.api.authorization.v1.NonResourceAttributes", non_resource_attributes_fields,
      sizeof(struct non_resource_attributes), NULL);

static const struct field subject_access_review_spec_fields[] = {
    M(access_review_spec, resource_attributes, OBJECT, ONE, "resourceAttributes", 1,
      .of = &schema_resource_attributes, .flags = FIELD_F_OPT, .doc = "A request for a resource."),
    M(access_review_spec, non_resource_attributes, OBJECT, ONE, "nonResourceAttributes", 2,
      .of = &schema_non_resource_attributes, .flags = FIELD_F_OPT,
      .doc = "A request for a non-resource URL path."),
    M(access_review_spec, user, STRING, ONE, "user", 3, .doc = "User."),
    M(access_review_spec, groups, STRING, LIST, "groups", 4, .flags = FIELD_F_ATOMIC,
      .doc = "Groups that the user is in."),
    F(ANY, MAP, "extra", 5, .doc = "Extra attributes from the authenticator."),
    M(access_review_spec, uid, STRING, ONE, "uid", 6,
      .doc = "Identifier of the user, unique over time."),
};
static const struct schema schema_subject_access_review_spec = SCHEMA(
      "io.k8s.api.authorization.v1.SubjectAccessReviewSpec", subject_access_review_spec_fields,
      sizeof(struct access_review_spec), NULL);

static const struct field subject_access_review_status_fields[] = {
    F(BOOL, ONE, "allowed", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether the request is allowed."),
    F(BOOL, ONE, "denied", 4, .doc = "Whether the request is explicitly denied."),
    F(STRING, ONE, "reason", 2, .doc = "Machine-readable reason, one CamelCase word."),
    F(STRING, ONE, "evaluationError", 3, .doc = "Error that occurred during the evaluation."),
};
static const struct schema schema_subject_access_review_status = SCHEMA(
      "io.k8s.api.authorization.v1.SubjectAccessReviewStatus",
      subject_access_review_status_fields, 0, NULL);

static const struct field subject_access_review_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(access_review, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(access_review, spec, OBJECT, ONE, "spec", 2, .of = &schema_subject_access_review_spec,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_subject_access_review_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_subject_access_review = SCHEMA(
      "io.k8s.api.authorization.v1.SubjectAccessReview", subject_access_review_fields,
      sizeof(struct access_review), "Checks whether a user may do an action.");

static const struct field self_subject_access_review_spec_fields[] = {
    M(access_review_spec, resource_attributes, OBJECT, ONE, "resourceAttributes", 1,
      .of = &schema_resource_attributes, .flags = FIELD_F_OPT, .doc = "A request for a resource."),
    M(access_review_spec, non_resource_attributes, OBJECT, ONE, "nonResourceAttributes", 2,
      .of = &schema_non_resource_attributes, .flags = FIELD_F_OPT,
      .doc = "A request for a non-resource URL path."),
};
static const struct schema schema_self_subject_access_review_spec = SCHEMA(
      "io.k8s.api.authorization.v1.SelfSubjectAccessReviewSpec",
      self_subject_access_review_spec_fields, sizeof(struct access_review_spec), NULL);

static const struct field self_subject_access_review_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(access_review, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(access_review, spec, OBJECT, ONE, "spec", 2, .of = &schema_self_subject_access_review_spec,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_subject_access_review_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_self_subject_access_review = SCHEMA(
      "io.k8s.api.authorization.v1.SelfSubjectAccessReview", self_subject_access_review_fields,
      sizeof(struct access_review), "Checks whether you may do an action.");

static const struct field local_subject_access_review_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(access_review, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(access_review, spec, OBJECT, ONE, "spec", 2, .of = &schema_subject_access_review_spec,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_subject_access_review_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_local_subject_access_review = SCHEMA(
      "io.k8s.api.authorization.v1.LocalSubjectAccessReview", local_subject_access_review_fields,
      sizeof(struct access_review),
      "Checks whether a user may do an action in one namespace.");

static const struct field self_subject_rules_review_spec_fields[] = {
    M(rules_review_spec, namespace, STRING, ONE, "namespace", 1,
      .doc = "Namespace for which the rules are listed."),
};
static const struct schema schema_self_subject_rules_review_spec = SCHEMA(
      "io.k8s.api.authorization.v1.SelfSubjectRulesReviewSpec",
      self_subject_rules_review_spec_fields, sizeof(struct rules_review_spec), NULL);

static const struct field resource_rule_fields[] = {
    F(STRING, LIST, "verbs", 1, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Allowed verbs."),
    F(STRING, LIST, "apiGroups", 2, .flags = FIELD_F_ATOMIC,
      .doc = "API groups of the rule; \"\" is the core group."),
    F(STRING, LIST, "resources", 3, .flags = FIELD_F_ATOMIC,
      .doc = "Amounts, resource by resource."),
    F(STRING, LIST, "resourceNames", 4, .flags = FIELD_F_ATOMIC,
      .doc = "Names to which the rule is limited; none means all."),
};
static const struct schema schema_resource_rule = SCHEMA("io.k8s.api.authorization.v1.ResourceRule",
      resource_rule_fields, 0, NULL);

static const struct field non_resource_rule_fields[] = {
    F(STRING, LIST, "verbs", 1, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Allowed verbs."),
    F(STRING, LIST, "nonResourceURLs", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Non-resource URL paths of the rule."),
};
static const struct schema schema_non_resource_rule = SCHEMA(
      "io.k8s.api.authorization.v1.NonResourceRule", non_resource_rule_fields, 0, NULL);

static const struct field subject_rules_review_status_fields[] = {
    F(OBJECT, LIST, "resourceRules", 1, .of = &schema_resource_rule,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Rules on resources."),
    F(OBJECT, LIST, "nonResourceRules", 2, .of = &schema_non_resource_rule,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Rules on paths."),
    F(BOOL, ONE, "incomplete", 3, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether the list of rules may be incomplete."),
    F(STRING, ONE, "evaluationError", 4, .doc = "Error that occurred during the evaluation."),
};
static const struct schema schema_subject_rules_review_status = SCHEMA(
      "io.k8s.api.authorization.v1.SubjectRulesReviewStatus", subject_rules_review_status_fields,
      0, NULL);

static const struct field self_subject_rules_review_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(rules_review, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(rules_review, spec, OBJECT, ONE, "spec", 2, .of = &schema_self_subject_rules_review_spec,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_subject_rules_review_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_self_subject_rules_review = SCHEMA(
      "io.k8s.api.authorization.v1.SelfSubjectRulesReview", self_subject_rules_review_fields,
      sizeof(struct rules_review), "Lists the actions that you may do in a namespace.");
