/*
 * table_policy: the fields of PodDisruptionBudget and ResourceQuota.
 */
#include "api/tables/view_policy.h"

#include "api/tables/table.h"

static const char *const always_allow_if_healthy_values[] = {"AlwaysAllow", "IfHealthyBudget",
                                                             NULL};
static const char *const scope_operators[] = {"DoesNotExist", "Exists", "In", "NotIn", NULL};

static const struct field disruption_spec_fields[] = {
    M(disruption_spec, min_available, INT_OR_STRING, ONE, "minAvailable", 1,
      .flags = FIELD_F_OPT, .doc = "Pods that stay available: a number, or a percentage."),
    M(disruption_spec, selector, OBJECT, ONE, "selector", 2, .of = &schema_label_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "Pods of the budget; {} selects all pods of the namespace, nothing selects none."),
    M(disruption_spec, max_unavailable, INT_OR_STRING, ONE, "maxUnavailable", 3,
      .flags = FIELD_F_OPT, .doc = "Pods that may be unavailable: a number, or a percentage."),
    M(disruption_spec, unhealthy_pod_eviction_policy, STRING, ONE, "unhealthyPodEvictionPolicy", 4,
      .flags = FIELD_F_OPT, .values = always_allow_if_healthy_values,
      .doc = "Whether pods that are not ready may always be evicted (AlwaysAllow), or only while "
             "enough others are (IfHealthyBudget)."),
};
static const struct schema schema_disruption_spec =
    SCHEMA("io.k8s.api.policy.v1.PodDisruptionBudgetSpec", disruption_spec_fields,
           sizeof(struct disruption_spec), "Which pods must stay available, and how many.");

static const struct field disruption_status_fields[] = {
    M(disruption_status, observed_generation, INT64, ONE, "observedGeneration", 1,
      .doc = "Generation of the budget that the status is of."),
    M(disruption_status, disrupted_pods, TIME, MAP, "disruptedPods", 2,
      .doc = "Pods whose eviction was allowed and that are not deleted yet: when."),
    M(disruption_status, disruptions_allowed, INT32, ONE, "disruptionsAllowed", 3,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Pods that may be evicted now."),
    M(disruption_status, current_healthy, INT32, ONE, "currentHealthy", 4,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Pods that are ready."),
    M(disruption_status, desired_healthy, INT32, ONE, "desiredHealthy", 5,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Pods that have to be ready."),
    M(disruption_status, expected_pods, INT32, ONE, "expectedPods", 6,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Pods that the budget counts."),
    M(disruption_status, conditions, OBJECT, LIST, "conditions", 7, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
};
const struct schema schema_disruption_status =
    SCHEMA("io.k8s.api.policy.v1.PodDisruptionBudgetStatus", disruption_status_fields,
           sizeof(struct disruption_status), NULL);

static const struct field disruption_budget_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(disruption_budget, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(disruption_budget, spec, OBJECT, ONE, "spec", 2, .of = &schema_disruption_spec,
      .def = "{}", .doc = "Desired state, set by the user."),
    M(disruption_budget, status, OBJECT, ONE, "status", 3, .of = &schema_disruption_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_disruption_budget =
    SCHEMA("io.k8s.api.policy.v1.PodDisruptionBudget", disruption_budget_fields,
           sizeof(struct disruption_budget), "Limits how many pods may be evicted at a time.");

static const struct field quota_scope_requirement_fields[] = {
    M(quota_scope_requirement, scope_name, STRING, ONE, "scopeName", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Scope."),
    M(quota_scope_requirement, operator, STRING, ONE, "operator", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .values = scope_operators,
      .doc = "In, NotIn, Exists or DoesNotExist."),
    M(quota_scope_requirement, values, STRING, LIST, "values", 3, .flags = FIELD_F_ATOMIC,
      .doc = "Values to compare with, of In and NotIn."),
};
static const struct schema schema_quota_scope_requirement =
    SCHEMA("io.k8s.api.core.v1.ScopedResourceSelectorRequirement", quota_scope_requirement_fields,
           sizeof(struct quota_scope_requirement), NULL);

static const struct field quota_scope_selector_fields[] = {
    M(quota_scope_selector, match_expressions, OBJECT, LIST, "matchExpressions", 1,
      .of = &schema_quota_scope_requirement, .flags = FIELD_F_ATOMIC,
      .doc = "Requirements, all of which must hold."),
};
static const struct schema schema_quota_scope_selector =
    ATOMIC_SCHEMA("io.k8s.api.core.v1.ScopeSelector", quota_scope_selector_fields,
           sizeof(struct quota_scope_selector), NULL);

static const struct field namespace_quota_spec_fields[] = {
    M(namespace_quota_spec, hard, QUANTITY, MAP, "hard", 1,
      .doc = "Limits: pods, requests.cpu, limits.memory, count/jobs.batch and the like."),
    M(namespace_quota_spec, scopes, STRING, LIST, "scopes", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Scopes that an object must fit, all of them, to be counted."),
    M(namespace_quota_spec, scope_selector, OBJECT, ONE, "scopeSelector", 3,
      .of = &schema_quota_scope_selector, .flags = FIELD_F_OPT,
      .doc = "The same with operators."),
};
static const struct schema schema_namespace_quota_spec =
    SCHEMA("io.k8s.api.core.v1.ResourceQuotaSpec", namespace_quota_spec_fields,
           sizeof(struct namespace_quota_spec), "What a namespace may have at most.");

static const struct field namespace_quota_status_fields[] = {
    M(namespace_quota_status, hard, QUANTITY, MAP, "hard", 1, .doc = "Limits in force."),
    M(namespace_quota_status, used, QUANTITY, MAP, "used", 2, .doc = "What there is now."),
};
const struct schema schema_namespace_quota_status =
    SCHEMA("io.k8s.api.core.v1.ResourceQuotaStatus", namespace_quota_status_fields,
           sizeof(struct namespace_quota_status), NULL);

static const struct field namespace_quota_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(namespace_quota, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(namespace_quota, spec, OBJECT, ONE, "spec", 2, .of = &schema_namespace_quota_spec,
      .def = "{}", .doc = "Desired state, set by the user."),
    M(namespace_quota, status, OBJECT, ONE, "status", 3, .of = &schema_namespace_quota_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_namespace_quota =
    SCHEMA("io.k8s.api.core.v1.ResourceQuota", namespace_quota_fields,
           sizeof(struct namespace_quota), "Limits what a namespace has in all.");
