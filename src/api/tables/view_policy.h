/* view_policy: the C views of what keeps a namespace in bounds: PodDisruptionBudget and ResourceQuota. */
#ifndef BERTH_API_VIEW_POLICY_H
#define BERTH_API_VIEW_POLICY_H

#include "api/tables/view_meta.h"

struct time_pair {
    struct str key;
    int64_t value;
};
struct disruption_spec {
    struct str min_available, max_unavailable; /* digits or "50%"; empty: unset */
    struct label_selector *selector;
    struct str unhealthy_pod_eviction_policy; /* IfHealthyBudget (or empty), AlwaysAllow */
};
struct disruption_status {
    int64_t observed_generation;
    struct {
        struct time_pair *v;
        size_t n;
    } disrupted_pods; /* evicted, and not seen to be deleted yet: when */
    int32_t disruptions_allowed, current_healthy, desired_healthy, expected_pods;
    struct condition_list conditions;
};
struct disruption_budget {
    struct meta *metadata;
    struct disruption_spec *spec;
    struct disruption_status *status;
};

struct quota_scope_requirement {
    struct str scope_name, operator; /* In, NotIn, Exists, DoesNotExist */
    struct str_list values;
};
struct quota_scope_selector {
    struct {
        struct quota_scope_requirement *v;
        size_t n;
    } match_expressions;
};
struct namespace_quota_spec {
    struct quantity_map hard;
    struct str_list scopes;
    struct quota_scope_selector *scope_selector;
};
struct namespace_quota_status {
    struct quantity_map hard, used;
};
struct namespace_quota {
    struct meta *metadata;
    struct namespace_quota_spec *spec;
    struct namespace_quota_status *status;
};

extern const struct schema schema_disruption_budget, schema_disruption_status;
extern const struct schema schema_namespace_quota, schema_namespace_quota_status;

#endif
