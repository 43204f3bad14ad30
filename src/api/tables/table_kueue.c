/*
 * table_kueue: the fields of kueue.x-k8s.io/v1beta2 quota: flavors, queues, cohorts.
 */
#include "api/tables/view_kueue.h"

#include "api/tables/table.h"

static const char *const admission_mode_values[] = {
    "NoAdmissionFairSharing", "UsageBasedAdmissionFairSharing", NULL,
};
static const char *const any_lower_priority_never_values[] = {
    "Any", "LowerPriority", "Never", NULL,
};
static const char *const best_effort_fifo_strict_fifo_values[] = {
    "BestEffortFIFO", "StrictFIFO", NULL,
};
static const char *const concurrent_admission_migration_mode_values[] = {
    "RetainFirstAdmission", "TryPreferredFlavors", NULL,
};
static const char *const flavor_fungibility_preference_values[] = {
    "BorrowingOverPreemption", "PreemptionOverBorrowing", NULL,
};
static const char *const hold_hold_and_drain_none_values[] = {"Hold", "HoldAndDrain", "None", NULL};
static const char *const lower_priority_never_values[] = {"LowerPriority", "Never", NULL};
static const char *const may_stop_search_try_next_flavor_values[] = {
    "MayStopSearch", "TryNextFlavor", NULL,
};
static const char *const preemption_policy_values[] = {
    "LowerOrNewerEqualPriority", "LowerPriority", "Never", NULL,
};

static const struct field resource_flavor_spec_fields[] = {
    M(resource_flavor_spec, node_labels, STRING, MAP, "nodeLabels", 0, .flags = FIELD_F_ATOMIC,
      .max = 8,
      .doc = "Labels of the flavor's nodes; given to admitted pods as node selector."),
    M(resource_flavor_spec, node_taints, OBJECT, LIST, "nodeTaints", 0, .of = &schema_taint,
      .flags = FIELD_F_ATOMIC, .max = 8,
      .doc = "Taints of those nodes, which a workload must tolerate."),
    M(resource_flavor_spec, tolerations, OBJECT, LIST, "tolerations", 0, .of = &schema_toleration,
      .flags = FIELD_F_ATOMIC, .max = 8, .doc = "Tolerations that admitted pods are given."),
    M(resource_flavor_spec, topology_name, STRING, ONE, "topologyName", 0, .flags = FIELD_F_OPT,
      .max = 253, .format = "dns1123-subdomain",
      .doc = "Topology of its nodes; makes placement aware of racks and hosts."),
};
static const struct schema schema_resource_flavor_spec = SCHEMA(
      "io.x-k8s.kueue.v1beta2.ResourceFlavorSpec", resource_flavor_spec_fields,
      sizeof(struct resource_flavor_spec), NULL);

static const struct field resource_flavor_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(resource_flavor, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(resource_flavor, spec, OBJECT, ONE, "spec", 0, .of = &schema_resource_flavor_spec,
      .doc = "Desired state, set by the user."),
};
const struct schema schema_resource_flavor = SCHEMA("io.x-k8s.kueue.v1beta2.ResourceFlavor",
      resource_flavor_fields, sizeof(struct resource_flavor),
      "A variant of a resource, such as a GPU model or spot machines.");

static const struct field resource_quota_fields[] = {
    M(resource_quota, name, STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Name of the resource."),
    M(resource_quota, nominal_quota, QUANTITY, ONE, "nominalQuota", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Quota that the queue owns."),
    M(resource_quota, borrowing_limit, QUANTITY, ONE, "borrowingLimit", 0, .flags = FIELD_F_OPT,
      .doc = "Most that the queue can borrow from its cohort; no limit unless set."),
    M(resource_quota, lending_limit, QUANTITY, ONE, "lendingLimit", 0, .flags = FIELD_F_OPT,
      .doc = "Most of the quota that other queues can borrow; all unless set."),
};
static const struct schema schema_resource_quota = SCHEMA("io.x-k8s.kueue.v1beta2.ResourceQuota",
      resource_quota_fields, sizeof(struct resource_quota), NULL);

static const struct field flavor_quotas_fields[] = {
    M(flavor_quotas, name, STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .max = 253, .format = "dns1123-subdomain", .doc = "Name of the ResourceFlavor."),
    M(flavor_quotas, resources, OBJECT, LIST, "resources", 0, .of = &schema_resource_quota,
      .flags = FIELD_F_REQUIRED, .list_keys = "name", .min = 1, .max = 64,
      .doc = "Quotas, in the order of coveredResources."),
};
static const struct schema schema_flavor_quotas = SCHEMA("io.x-k8s.kueue.v1beta2.FlavorQuotas",
      flavor_quotas_fields, sizeof(struct flavor_quotas), NULL);

static const struct field resource_group_fields[] = {
    M(resource_group, covered_resources, STRING, LIST, "coveredResources", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .min = 1, .max = 64,
      .doc = "Resources covered by the group."),
    M(resource_group, flavors, OBJECT, LIST, "flavors", 0, .of = &schema_flavor_quotas,
      .flags = FIELD_F_REQUIRED, .list_keys = "name", .min = 1, .max = 64,
      .doc = "Flavors with their quotas, tried in this order."),
};
const struct schema schema_resource_group = SCHEMA("io.x-k8s.kueue.v1beta2.ResourceGroup",
      resource_group_fields, sizeof(struct resource_group), NULL);

static const struct field flavor_fungibility_fields[] = {
    M(flavor_fungibility, when_can_borrow, STRING, ONE, "whenCanBorrow", 0,
      .def = "\"MayStopSearch\"", .values = may_stop_search_try_next_flavor_values,
      .doc = "MayStopSearch takes this flavor by borrowing; TryNextFlavor goes on."),
    M(flavor_fungibility, when_can_preempt, STRING, ONE, "whenCanPreempt", 0,
      .def = "\"TryNextFlavor\"", .values = may_stop_search_try_next_flavor_values,
      .doc = "MayStopSearch takes this flavor by preempting; TryNextFlavor goes on."),
    M(flavor_fungibility, preference, STRING, ONE, "preference", 0, .flags = FIELD_F_OPT,
      .values = flavor_fungibility_preference_values,
      .doc = "Whether borrowing or preempting is preferred when no flavor fits at once."),
};
const struct schema schema_flavor_fungibility = SCHEMA(
      "io.x-k8s.kueue.v1beta2.FlavorFungibility", flavor_fungibility_fields,
      sizeof(struct flavor_fungibility), NULL);

static const struct field borrow_within_cohort_fields[] = {
    M(borrow_within_cohort, policy, STRING, ONE, "policy", 0, .def = "\"Never\"",
      .values = lower_priority_never_values, .doc = "Never, or LowerPriority."),
    M(borrow_within_cohort, max_priority_threshold, INT32, ONE, "maxPriorityThreshold", 0,
      .flags = FIELD_F_OPT, .doc = "Only workloads of at most this priority are preempted."),
};
static const struct schema schema_borrow_within_cohort = SCHEMA(
      "io.x-k8s.kueue.v1beta2.BorrowWithinCohort", borrow_within_cohort_fields,
      sizeof(struct borrow_within_cohort), NULL);

static const struct field cluster_queue_preemption_fields[] = {
    M(cluster_queue_preemption, reclaim_within_cohort, STRING, ONE, "reclaimWithinCohort", 0,
      .def = "\"Never\"", .values = any_lower_priority_never_values,
      .doc = "Which workloads of the cohort can be preempted to reclaim the queue's own quota."),
    M(cluster_queue_preemption, borrow_within_cohort, OBJECT, ONE, "borrowWithinCohort", 0,
      .of = &schema_borrow_within_cohort, .flags = FIELD_F_OPT, .def = "{}",
      .doc = "Whether a workload that borrows can preempt others."),
    M(cluster_queue_preemption, within_cluster_queue, STRING, ONE, "withinClusterQueue", 0,
      .def = "\"Never\"", .values = preemption_policy_values,
      .doc = "Which workloads of the same ClusterQueue can be preempted."),
};
const struct schema schema_cluster_queue_preemption = SCHEMA(
      "io.x-k8s.kueue.v1beta2.ClusterQueuePreemption", cluster_queue_preemption_fields,
      sizeof(struct cluster_queue_preemption), NULL);

static const struct field admission_check_strategy_rule_fields[] = {
    M(admission_check_rule, name, STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 316, .doc = "Name of the AdmissionCheck."),
    M(admission_check_rule, on_flavors, STRING, LIST, "onFlavors", 0, .flags = FIELD_F_SET,
      .max = 64, .doc = "Flavors to which the check applies; empty means all."),
};
static const struct schema schema_admission_check_strategy_rule = SCHEMA(
      "io.x-k8s.kueue.v1beta2.AdmissionCheckStrategyRule", admission_check_strategy_rule_fields,
      sizeof(struct admission_check_rule), NULL);

static const struct field admission_checks_strategy_fields[] = {
    M(admission_checks_strategy, admission_checks, OBJECT, LIST, "admissionChecks", 0,
      .of = &schema_admission_check_strategy_rule, .flags = FIELD_F_REQUIRED, .list_keys = "name",
      .min = 1, .max = 64, .doc = "AdmissionChecks that must be Ready before admission."),
};
const struct schema schema_admission_checks_strategy = SCHEMA(
      "io.x-k8s.kueue.v1beta2.AdmissionChecksStrategy", admission_checks_strategy_fields,
      sizeof(struct admission_checks_strategy), NULL);

static const struct field fair_sharing_fields[] = {
    M(fair_sharing, weight, QUANTITY, ONE, "weight", 0, .flags = FIELD_F_OPT, .def = "1",
      .doc = "Weight relative to its siblings; 1 unless set."),
};
const struct schema schema_fair_sharing = SCHEMA("io.x-k8s.kueue.v1beta2.FairSharing",
      fair_sharing_fields, sizeof(struct fair_sharing), NULL);

static const struct field admission_scope_fields[] = {
    M(admission_scope, admission_mode, STRING, ONE, "admissionMode", 0, .flags = FIELD_F_REQUIRED,
      .values = admission_mode_values,
      .doc = "UsageBasedAdmissionFairSharing or NoAdmissionFairSharing."),
};
const struct schema schema_admission_scope = SCHEMA("io.x-k8s.kueue.v1beta2.AdmissionScope",
      admission_scope_fields, sizeof(struct admission_scope), NULL);

static const struct field concurrent_admission_constraints_fields[] = {
    M(concurrent_admission_constraints, last_acceptable_flavor_name,
      STRING, ONE, "lastAcceptableFlavorName", 0, .flags = FIELD_F_OPT, .max = 253,
      .format = "dns1123-subdomain", .doc = "Last flavor to which a workload is moved."),
};
static const struct schema schema_concurrent_admission_constraints = SCHEMA(
      "io.x-k8s.kueue.v1beta2.ConcurrentAdmissionConstraints",
      concurrent_admission_constraints_fields, sizeof(struct concurrent_admission_constraints),
      NULL);

static const struct field concurrent_admission_migration_fields[] = {
    M(concurrent_admission_migration, mode, STRING, ONE, "mode", 0, .flags = FIELD_F_REQUIRED,
      .values = concurrent_admission_migration_mode_values, .max = 253,
      .doc = "TryPreferredFlavors or RetainFirstAdmission."),
    M(concurrent_admission_migration, constraints, OBJECT, ONE, "constraints", 0,
      .of = &schema_concurrent_admission_constraints, .flags = FIELD_F_OPT,
      .doc = "Limits on moving workloads to other flavors."),
};
static const struct schema schema_concurrent_admission_migration = SCHEMA(
      "io.x-k8s.kueue.v1beta2.ConcurrentAdmissionMigration",
      concurrent_admission_migration_fields, sizeof(struct concurrent_admission_migration),
      NULL);

static const struct field concurrent_admission_policy_fields[] = {
    M(concurrent_admission_policy, migration, OBJECT, ONE, "migration", 0,
      .of = &schema_concurrent_admission_migration, .flags = FIELD_F_REQUIRED,
      .doc = "Whether an admitted workload moves to a better flavor."),
};
static const struct schema schema_concurrent_admission_policy = SCHEMA(
      "io.x-k8s.kueue.v1beta2.ConcurrentAdmissionPolicy", concurrent_admission_policy_fields,
      sizeof(struct concurrent_admission_policy), NULL);

static const struct field cluster_queue_spec_fields[] = {
    M(cluster_queue_spec, resource_groups, OBJECT, LIST, "resourceGroups", 0,
      .of = &schema_resource_group, .flags = FIELD_F_ATOMIC, .max = 16,
      .doc = "Quota: groups of resources that come from the same flavors."),
    M(cluster_queue_spec, cohort_name, STRING, ONE, "cohortName", 0, .max = 253,
      .format = "dns1123-subdomain", .doc = "Cohort with which it shares unused quota."),
    M(cluster_queue_spec, queueing_strategy, STRING, ONE, "queueingStrategy", 0,
      .def = "\"BestEffortFIFO\"", .values = best_effort_fifo_strict_fifo_values,
      .doc = "BestEffortFIFO lets later workloads pass a blocked one; StrictFIFO does not."),
    M(cluster_queue_spec, namespace_selector, OBJECT, ONE, "namespaceSelector", 0,
      .of = &schema_label_selector, .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "Namespaces whose workloads can use the queue; empty means all, absent none."),
    M(cluster_queue_spec, flavor_fungibility, OBJECT, ONE, "flavorFungibility", 0,
      .of = &schema_flavor_fungibility, .flags = FIELD_F_OPT, .def = "{}",
      .doc = "When to try the next flavor instead of borrowing or preempting."),
    M(cluster_queue_spec, preemption, OBJECT, ONE, "preemption", 0,
      .of = &schema_cluster_queue_preemption, .flags = FIELD_F_OPT, .def = "{}",
      .doc = "Which workloads the queue's workloads can preempt."),
    M(cluster_queue_spec, admission_checks_strategy, OBJECT, ONE, "admissionChecksStrategy", 0,
      .of = &schema_admission_checks_strategy, .flags = FIELD_F_OPT,
      .doc = "AdmissionChecks to pass before admission, by flavor."),
    M(cluster_queue_spec, stop_policy, STRING, ONE, "stopPolicy", 0, .flags = FIELD_F_OPT,
      .def = "\"None\"", .values = hold_hold_and_drain_none_values,
      .doc = "None, Hold (admit nothing new) or HoldAndDrain (and evict what runs)."),
    M(cluster_queue_spec, fair_sharing, OBJECT, ONE, "fairSharing", 0, .of = &schema_fair_sharing,
      .flags = FIELD_F_OPT, .doc = "Fair sharing with sibling queues and cohorts."),
    M(cluster_queue_spec, admission_scope, OBJECT, ONE, "admissionScope", 0,
      .of = &schema_admission_scope, .flags = FIELD_F_OPT,
      .doc = "How usage over time orders its workloads."),
    M(cluster_queue_spec, concurrent_admission_policy,
      OBJECT, ONE, "concurrentAdmissionPolicy", 0, .of = &schema_concurrent_admission_policy,
      .flags = FIELD_F_OPT | FIELD_F_IMMUTABLE, .doc = "How workloads move to better flavors."),
};
static const struct schema schema_cluster_queue_spec = SCHEMA(
      "io.x-k8s.kueue.v1beta2.ClusterQueueSpec", cluster_queue_spec_fields,
      sizeof(struct cluster_queue_spec), NULL);

static const struct field resource_usage_fields[] = {
    M(resource_usage, name, STRING, ONE, "name", 0, .doc = "Name of the resource."),
    M(resource_usage, total, QUANTITY, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Total usage."),
    M(resource_usage, borrowed, QUANTITY, ONE, "borrowed", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Usage borrowed from the cohort."),
};
static const struct schema schema_resource_usage = SCHEMA("io.x-k8s.kueue.v1beta2.ResourceUsage",
      resource_usage_fields, sizeof(struct resource_usage), NULL);

static const struct field flavor_usage_fields[] = {
    M(flavor_usage, name, STRING, ONE, "name", 0, .max = 253, .format = "dns1123-subdomain",
      .doc = "Name of the ResourceFlavor."),
    M(flavor_usage, resources, OBJECT, LIST, "resources", 0, .of = &schema_resource_usage,
      .list_keys = "name", .max = 64, .doc = "Amounts, resource by resource."),
};
const struct schema schema_flavor_usage = SCHEMA("io.x-k8s.kueue.v1beta2.FlavorUsage",
      flavor_usage_fields, sizeof(struct flavor_usage), NULL);

static const struct field fair_sharing_status_fields[] = {
    M(fair_sharing_status, weighted_share, INT64, ONE, "weightedShare", 0,
      .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Usage beyond the own quota, divided by the weight."),
};
static const struct schema schema_fair_sharing_status = SCHEMA(
      "io.x-k8s.kueue.v1beta2.FairSharingStatus", fair_sharing_status_fields,
      sizeof(struct fair_sharing_status), NULL);

static const struct field cluster_queue_status_fields[] = {
    M(cluster_queue_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "Current conditions, one entry per type."),
    M(cluster_queue_status, flavors_reservation, OBJECT, LIST, "flavorsReservation", 0,
      .of = &schema_flavor_usage, .list_keys = "name", .max = 64,
      .doc = "Reserved quota, by flavor."),
    M(cluster_queue_status, flavors_usage, OBJECT, LIST, "flavorsUsage", 0,
      .of = &schema_flavor_usage, .list_keys = "name", .max = 64,
      .doc = "Quota that admitted workloads use, by flavor."),
    M(cluster_queue_status, pending_workloads, INT32, ONE, "pendingWorkloads", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Workloads that wait for admission."),
    M(cluster_queue_status, reserving_workloads, INT32, ONE, "reservingWorkloads", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Workloads with reserved quota."),
    M(cluster_queue_status, admitted_workloads, INT32, ONE, "admittedWorkloads", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Admitted workloads that have not finished."),
    M(cluster_queue_status, fair_sharing, OBJECT, ONE, "fairSharing", 0,
      .of = &schema_fair_sharing_status, .flags = FIELD_F_OPT,
      .doc = "Fair sharing with sibling queues and cohorts."),
};
static const struct schema schema_cluster_queue_status = SCHEMA(
      "io.x-k8s.kueue.v1beta2.ClusterQueueStatus", cluster_queue_status_fields,
      sizeof(struct cluster_queue_status), NULL);

static const struct field cluster_queue_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(cluster_queue, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(cluster_queue, spec, OBJECT, ONE, "spec", 0, .of = &schema_cluster_queue_spec,
      .doc = "Desired state, set by the user."),
    M(cluster_queue, status, OBJECT, ONE, "status", 0, .of = &schema_cluster_queue_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_cluster_queue = SCHEMA("io.x-k8s.kueue.v1beta2.ClusterQueue",
      cluster_queue_fields, sizeof(struct cluster_queue),
      "A pool of quota, and the rules for who gets it.");

static const struct field cohort_spec_fields[] = {
    M(cohort_spec, parent_name, STRING, ONE, "parentName", 0, .max = 253,
      .format = "dns1123-subdomain", .doc = "Name of the parent Cohort."),
    M(cohort_spec, resource_groups, OBJECT, LIST, "resourceGroups", 0,
      .of = &schema_resource_group, .flags = FIELD_F_ATOMIC, .max = 16,
      .doc = "Quota: groups of resources that come from the same flavors."),
    M(cohort_spec, fair_sharing, OBJECT, ONE, "fairSharing", 0, .of = &schema_fair_sharing,
      .flags = FIELD_F_OPT, .doc = "Fair sharing with sibling queues and cohorts."),
};
const struct schema schema_cohort_spec = SCHEMA("io.x-k8s.kueue.v1beta2.CohortSpec",
      cohort_spec_fields, sizeof(struct cohort_spec), NULL);

static const struct field cohort_status_fields[] = {
    M(cohort_status, fair_sharing, OBJECT, ONE, "fairSharing", 0,
      .of = &schema_fair_sharing_status, .flags = FIELD_F_OPT,
      .doc = "Fair sharing with sibling queues and cohorts."),
};
static const struct schema schema_cohort_status = SCHEMA("io.x-k8s.kueue.v1beta2.CohortStatus",
      cohort_status_fields, sizeof(struct cohort_status), NULL);

static const struct field cohort_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(cohort, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(cohort, spec, OBJECT, ONE, "spec", 0, .of = &schema_cohort_spec,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    M(cohort, status, OBJECT, ONE, "status", 0, .of = &schema_cohort_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_cohort = SCHEMA("io.x-k8s.kueue.v1beta2.Cohort", cohort_fields,
      sizeof(struct cohort), "Queues that lend each other what they do not use.");

static const struct field local_queue_spec_fields[] = {
    M(local_queue_spec, cluster_queue, STRING, ONE, "clusterQueue", 0, .flags = FIELD_F_IMMUTABLE,
      .max = 253, .format = "dns1123-subdomain",
      .doc = "ClusterQueue that the queue submits to; immutable."),
    M(local_queue_spec, stop_policy, STRING, ONE, "stopPolicy", 0, .flags = FIELD_F_OPT,
      .def = "\"None\"", .values = hold_hold_and_drain_none_values,
      .doc = "None, Hold (admit nothing new) or HoldAndDrain (and evict what runs)."),
    M(local_queue_spec, fair_sharing, OBJECT, ONE, "fairSharing", 0, .of = &schema_fair_sharing,
      .flags = FIELD_F_OPT, .doc = "Fair sharing with sibling queues and cohorts."),
};
const struct schema schema_local_queue_spec = SCHEMA("io.x-k8s.kueue.v1beta2.LocalQueueSpec",
      local_queue_spec_fields, sizeof(struct local_queue_spec), NULL);

static const struct field local_queue_resource_usage_fields[] = {
    M(resource_usage, name, STRING, ONE, "name", 0, .doc = "Name of the resource."),
    M(resource_usage, total, QUANTITY, ONE, "total", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Total usage."),
};
static const struct schema schema_local_queue_resource_usage = SCHEMA(
      "io.x-k8s.kueue.v1beta2.LocalQueueResourceUsage", local_queue_resource_usage_fields,
      sizeof(struct resource_usage), NULL);

static const struct field local_queue_flavor_usage_fields[] = {
    M(flavor_usage, name, STRING, ONE, "name", 0, .flags = FIELD_F_KEEP_EMPTY, .max = 253,
      .format = "dns1123-subdomain", .doc = "Name of the ResourceFlavor."),
    M(flavor_usage, resources, OBJECT, LIST, "resources", 0,
      .of = &schema_local_queue_resource_usage, .list_keys = "name", .max = 64,
      .doc = "Amounts, resource by resource."),
};
const struct schema schema_local_queue_flavor_usage = SCHEMA(
      "io.x-k8s.kueue.v1beta2.LocalQueueFlavorUsage", local_queue_flavor_usage_fields,
      sizeof(struct flavor_usage), NULL);

static const struct field local_queue_admission_fair_sharing_status_fields[] = {
    M(admission_fair_sharing_status, consumed_resources, QUANTITY, MAP, "consumedResources", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Usage over time, with decay."),
    M(admission_fair_sharing_status, last_update_ns, TIME, ONE, "lastUpdate", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Time of the last computation."),
};
static const struct schema schema_local_queue_admission_fair_sharing_status = SCHEMA(
      "io.x-k8s.kueue.v1beta2.LocalQueueAdmissionFairSharingStatus",
      local_queue_admission_fair_sharing_status_fields,
      sizeof(struct admission_fair_sharing_status), NULL);

static const struct field local_queue_fair_sharing_status_fields[] = {
    M(local_queue_fair_sharing_status, weighted_share, INT64, ONE, "weightedShare", 0,
      .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Usage beyond the own quota, divided by the weight."),
    M(local_queue_fair_sharing_status, admission_fair_sharing_status,
      OBJECT, ONE, "admissionFairSharingStatus", 0,
      .of = &schema_local_queue_admission_fair_sharing_status, .flags = FIELD_F_OPT,
      .doc = "Usage over time that orders admission."),
};
static const struct schema schema_local_queue_fair_sharing_status = SCHEMA(
      "io.x-k8s.kueue.v1beta2.LocalQueueFairSharingStatus",
      local_queue_fair_sharing_status_fields, sizeof(struct local_queue_fair_sharing_status),
      NULL);

static const struct field local_queue_status_fields[] = {
    M(local_queue_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "Current conditions, one entry per type."),
    M(local_queue_status, pending_workloads, INT32, ONE, "pendingWorkloads", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Workloads that wait for admission."),
    M(local_queue_status, reserving_workloads, INT32, ONE, "reservingWorkloads", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Workloads with reserved quota."),
    M(local_queue_status, admitted_workloads, INT32, ONE, "admittedWorkloads", 0,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Admitted workloads that have not finished."),
    M(local_queue_status, flavors_reservation, OBJECT, LIST, "flavorsReservation", 0,
      .of = &schema_local_queue_flavor_usage, .list_keys = "name", .max = 64,
      .doc = "Reserved quota, by flavor."),
    M(local_queue_status, flavors_usage, OBJECT, LIST, "flavorsUsage", 0,
      .of = &schema_local_queue_flavor_usage, .list_keys = "name", .max = 64,
      .doc = "Quota that admitted workloads use, by flavor."),
    M(local_queue_status, fair_sharing, OBJECT, ONE, "fairSharing", 0,
      .of = &schema_local_queue_fair_sharing_status, .flags = FIELD_F_OPT,
      .doc = "Fair sharing with sibling queues and cohorts."),
};
static const struct schema schema_local_queue_status = SCHEMA(
      "io.x-k8s.kueue.v1beta2.LocalQueueStatus", local_queue_status_fields,
      sizeof(struct local_queue_status), NULL);

static const struct field local_queue_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(local_queue, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(local_queue, spec, OBJECT, ONE, "spec", 0, .of = &schema_local_queue_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    M(local_queue, status, OBJECT, ONE, "status", 0, .of = &schema_local_queue_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_local_queue = SCHEMA("io.x-k8s.kueue.v1beta2.LocalQueue",
      local_queue_fields, sizeof(struct local_queue),
      "A queue in a namespace that submits to a ClusterQueue.");

static const struct field workload_priority_class_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(workload_priority_class, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(workload_priority_class, value, INT32, ONE, "value", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "The priority; higher goes first."),
    M(workload_priority_class, description, STRING, ONE, "description", 0, .max = 2048,
      .doc = "Description: when to use the class."),
};
const struct schema schema_workload_priority_class = SCHEMA(
      "io.x-k8s.kueue.v1beta2.WorkloadPriorityClass", workload_priority_class_fields,
      sizeof(struct workload_priority_class), "A named priority for workloads.");

static const struct field admission_check_parameters_reference_fields[] = {
    M(admission_check_parameters, api_group, STRING, ONE, "apiGroup", 0,
      .flags = FIELD_F_REQUIRED, .min = 1, .max = 253,
      .doc = "API group of the referenced object."),
    M(admission_check_parameters, kind, STRING, ONE, "kind", 0, .min = 1, .max = 63,
      .doc = "Kind of the object."),
    M(admission_check_parameters, name, STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED,
      .min = 1, .max = 63, .doc = "Name of the parameters object."),
};
const struct schema schema_admission_check_parameters_reference = SCHEMA(
      "io.x-k8s.kueue.v1beta2.AdmissionCheckParametersReference",
      admission_check_parameters_reference_fields, sizeof(struct admission_check_parameters),
      NULL);

static const struct field admission_check_spec_fields[] = {
    M(admission_check_spec, controller_name, STRING, ONE, "controllerName", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_KEEP_EMPTY, .min = 1, .max = 253,
      .doc = "Name of the controller that decides the check; immutable."),
    M(admission_check_spec, parameters, OBJECT, ONE, "parameters", 0,
      .of = &schema_admission_check_parameters_reference, .flags = FIELD_F_OPT,
      .doc = "Object with settings for the controller."),
};
static const struct schema schema_admission_check_spec = SCHEMA(
      "io.x-k8s.kueue.v1beta2.AdmissionCheckSpec", admission_check_spec_fields,
      sizeof(struct admission_check_spec), NULL);

static const struct field admission_check_status_fields[] = {
    M(admission_check_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "Current conditions, one entry per type."),
};
const struct schema schema_admission_check_status = SCHEMA(
      "io.x-k8s.kueue.v1beta2.AdmissionCheckStatus", admission_check_status_fields,
      sizeof(struct admission_check_status), NULL);

static const struct field admission_check_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(admission_check, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(admission_check, spec, OBJECT, ONE, "spec", 0, .of = &schema_admission_check_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    M(admission_check, status, OBJECT, ONE, "status", 0, .of = &schema_admission_check_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_admission_check = SCHEMA("io.x-k8s.kueue.v1beta2.AdmissionCheck",
      admission_check_fields, sizeof(struct admission_check),
      "A check that must pass before a workload is admitted.");
