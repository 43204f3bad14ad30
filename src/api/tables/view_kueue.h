/*
 * view_kueue: the C views of kueue.x-k8s.io/v1beta2, the storage version: quota, queues, workloads.
 *
 * v1beta1 objects are converted to v1beta2 at the edge, so controllers see these only.
 */
#ifndef BERTH_API_VIEW_KUEUE_H
#define BERTH_API_VIEW_KUEUE_H

#include "api/tables/view_core.h"

struct resource_flavor_spec {
    struct str_map node_labels;
    struct taint_list node_taints;
    struct toleration_list tolerations;
    struct str topology_name;
};
struct resource_flavor {
    struct meta *metadata;
    struct resource_flavor_spec *spec;
};

struct resource_quota {
    struct str name;
    struct quantity nominal_quota;
    struct opt_quantity borrowing_limit, lending_limit; /* unset: no limit, which 0 is not */
};
struct flavor_quotas {
    struct str name;
    struct {
        struct resource_quota *v;
        size_t n;
    } resources;
};
struct resource_group {
    struct str_list covered_resources;
    struct {
        struct flavor_quotas *v;
        size_t n;
    } flavors;
};
struct resource_group_list {
    struct resource_group *v;
    size_t n;
};
struct flavor_fungibility {
    struct str when_can_borrow, when_can_preempt; /* MayStopSearch, TryNextFlavor */
    struct str preference; /* BorrowingOverPreemption, PreemptionOverBorrowing; empty: unset */
};
struct borrow_within_cohort {
    struct str policy; /* Never, LowerPriority */
    struct opt_i32 max_priority_threshold;
};
struct cluster_queue_preemption {
    struct str reclaim_within_cohort, within_cluster_queue;
    struct borrow_within_cohort *borrow_within_cohort;
};
struct admission_check_rule {
    struct str name;
    struct str_list on_flavors; /* empty: every flavor */
};
struct admission_checks_strategy {
    struct {
        struct admission_check_rule *v;
        size_t n;
    } admission_checks;
};
struct fair_sharing {
    struct opt_quantity weight;
};
struct admission_scope {
    struct str admission_mode; /* UsageBasedAdmissionFairSharing, NoAdmissionFairSharing */
};
struct concurrent_admission_constraints {
    struct str last_acceptable_flavor_name;
};
struct concurrent_admission_migration {
    struct str mode; /* TryPreferredFlavors, RetainFirstAdmission */
    struct concurrent_admission_constraints *constraints;
};
struct concurrent_admission_policy {
    struct concurrent_admission_migration *migration;
};
struct cluster_queue_spec {
    struct resource_group_list resource_groups;
    struct str cohort_name;
    struct str queueing_strategy;              /* BestEffortFIFO, StrictFIFO */
    struct label_selector *namespace_selector; /* NULL: no namespace; empty: every namespace */
    struct flavor_fungibility *flavor_fungibility;
    struct cluster_queue_preemption *preemption;
    struct admission_checks_strategy *admission_checks_strategy;
    struct str stop_policy; /* None, Hold, HoldAndDrain */
    struct fair_sharing *fair_sharing;
    struct admission_scope *admission_scope;
    struct concurrent_admission_policy *concurrent_admission_policy;
};
struct resource_usage {
    struct str name;
    struct quantity total, borrowed; /* a LocalQueue has no borrowed */
};
struct flavor_usage {
    struct str name;
    struct {
        struct resource_usage *v;
        size_t n;
    } resources;
};
struct flavor_usage_list {
    struct flavor_usage *v;
    size_t n;
};
struct fair_sharing_status {
    int64_t weighted_share;
};
struct cluster_queue_status {
    struct condition_list conditions;
    struct flavor_usage_list flavors_reservation, flavors_usage;
    int32_t pending_workloads, reserving_workloads, admitted_workloads;
    struct fair_sharing_status *fair_sharing;
};
struct cluster_queue {
    struct meta *metadata;
    struct cluster_queue_spec *spec;
    struct cluster_queue_status *status;
};

struct cohort_spec {
    struct str parent_name;
    struct resource_group_list resource_groups;
    struct fair_sharing *fair_sharing;
};
struct cohort_status {
    struct fair_sharing_status *fair_sharing;
};
struct cohort {
    struct meta *metadata;
    struct cohort_spec *spec;
    struct cohort_status *status;
};

struct local_queue_spec {
    struct str cluster_queue, stop_policy;
    struct fair_sharing *fair_sharing;
};
struct admission_fair_sharing_status {
    struct quantity_map consumed_resources;
    int64_t last_update_ns;
};
struct local_queue_fair_sharing_status {
    int64_t weighted_share;
    struct admission_fair_sharing_status *admission_fair_sharing_status;
};
struct local_queue_status {
    struct condition_list conditions;
    int32_t pending_workloads, reserving_workloads, admitted_workloads;
    struct flavor_usage_list flavors_reservation, flavors_usage;
    struct local_queue_fair_sharing_status *fair_sharing;
};
struct local_queue {
    struct meta *metadata;
    struct local_queue_spec *spec;
    struct local_queue_status *status;
};

struct priority_class_ref {
    struct str group, kind, name;
};
struct slice_topology {
    struct str topology;
    int32_t size;
};
struct topology_request {
    struct str required, preferred;
    struct opt_bool unconstrained;
    struct str pod_index_label, sub_group_index_label;
    struct opt_i32 sub_group_count;
    struct str pod_set_group_name, pod_set_slice_required_topology;
    struct opt_i32 pod_set_slice_size;
    struct {
        struct slice_topology *v;
        size_t n;
    } podset_slice_required_topology_constraints;
};
struct pod_set {
    struct str name;
    struct pod_template *template;
    int32_t count;
    struct opt_i32 min_count;
    struct topology_request *topology_request;
};
struct preemption_gate {
    struct str name;
};
struct workload_spec {
    struct {
        struct pod_set *v;
        size_t n;
    } pod_sets;
    struct str queue_name;
    struct priority_class_ref *priority_class_ref;
    struct opt_i32 priority;
    struct opt_bool active;
    struct opt_i32 maximum_execution_time_seconds;
    struct {
        struct preemption_gate *v;
        size_t n;
    } preemption_gates;
};

struct topology_individual {
    struct str prefix, suffix;
    struct str_list roots;
};
struct topology_level_values {
    struct str universal;
    struct topology_individual *individual;
};
struct topology_pod_counts {
    struct opt_i32 universal;
    struct {
        int32_t *v;
        size_t n;
    } individual;
};
struct topology_slice {
    int32_t domain_count;
    struct {
        struct topology_level_values *v;
        size_t n;
    } values_per_level;
    struct topology_pod_counts *pod_counts;
};
struct topology_assignment {
    struct str_list levels;
    struct {
        struct topology_slice *v;
        size_t n;
    } slices;
};
struct pod_set_assignment {
    struct str name;
    struct str_map flavors; /* resource to flavor */
    struct quantity_map resource_usage;
    struct opt_i32 count;
    struct topology_assignment *topology_assignment;
    struct str delayed_topology_request; /* Pending, Ready */
};
struct workload_admission {
    struct str cluster_queue;
    struct {
        struct pod_set_assignment *v;
        size_t n;
    } pod_set_assignments;
};
struct requeue_state {
    struct opt_i32 count;
    int64_t requeue_at_ns;
};
struct reclaimable_pod {
    struct str name;
    int32_t count;
};
struct pod_set_update {
    struct str name;
    struct str_map labels, annotations, node_selector;
    struct toleration_list tolerations;
};
struct admission_check_state {
    struct str name, state; /* Pending, Ready, Retry, Rejected */
    int64_t last_transition_ns;
    struct str message;
    struct opt_i32 requeue_after_seconds, retry_count;
    struct {
        struct pod_set_update *v;
        size_t n;
    } pod_set_updates;
};
struct pod_set_request {
    struct str name;
    struct quantity_map resources;
};
struct scheduling_eviction {
    struct str reason, underlying_cause;
    int32_t count;
};
struct scheduling_stats {
    struct {
        struct scheduling_eviction *v;
        size_t n;
    } evictions;
};
struct unhealthy_node {
    struct str name;
};
struct preemption_gate_state {
    struct str name, position; /* Closed, Open */
    int64_t last_transition_ns;
};
struct workload_status {
    struct condition_list conditions;
    struct workload_admission *admission;
    struct requeue_state *requeue_state;
    struct {
        struct reclaimable_pod *v;
        size_t n;
    } reclaimable_pods;
    struct {
        struct admission_check_state *v;
        size_t n;
    } admission_checks;
    struct {
        struct pod_set_request *v;
        size_t n;
    } resource_requests;
    struct opt_i32 accumulated_past_execution_time_seconds;
    struct scheduling_stats *scheduling_stats;
    struct str_list nominated_cluster_names;
    struct str cluster_name;
    struct {
        struct unhealthy_node *v;
        size_t n;
    } unhealthy_nodes;
    struct {
        struct preemption_gate_state *v;
        size_t n;
    } preemption_gates;
};
struct workload {
    struct meta *metadata;
    struct workload_spec *spec;
    struct workload_status *status;
};

/* A Workload that is made or made anew: nothing of its pods' specs is looked into, and nothing of them is lost. */
struct pod_template_draft {
    struct meta *metadata;
    yyjson_val *spec;
};
struct pod_set_draft {
    struct str name;
    int32_t count;
    struct opt_i32 min_count;
    struct topology_request *topology_request;
    struct pod_template_draft *template;
};
struct pod_set_draft_list {
    struct pod_set_draft *v;
    size_t n;
};
struct workload_draft_spec {
    struct pod_set_draft_list pod_sets;
    struct str queue_name;
    struct opt_i32 priority;
    struct priority_class_ref *priority_class_ref;
    struct opt_i32 maximum_execution_time_seconds;
    struct opt_bool active;
};
struct workload_draft {
    struct meta *metadata;
    struct workload_draft_spec *spec;
};

struct workload_priority_class {
    struct meta *metadata;
    int32_t value;
    struct str description;
};

struct admission_check_parameters {
    struct str api_group, kind, name;
};
struct admission_check_spec {
    struct str controller_name;
    struct admission_check_parameters *parameters;
};
struct admission_check_status {
    struct condition_list conditions;
};
struct admission_check {
    struct meta *metadata;
    struct admission_check_spec *spec;
    struct admission_check_status *status;
};
struct topology_level {
    struct str node_label;
};
struct topology_spec {
    struct {
        struct topology_level *v;
        size_t n;
    } levels;
};
struct topology {
    struct meta *metadata;
    struct topology_spec *spec;
};

struct pending_workload { /* of visibility.kueue.x-k8s.io */
    struct meta *metadata;
    int32_t priority;
    struct str local_queue_name;
    int32_t position_in_cluster_queue, position_in_local_queue;
};

extern const struct schema schema_pending_workload, schema_workload_draft;
extern const struct schema schema_resource_flavor, schema_cluster_queue, schema_cohort;
extern const struct schema schema_local_queue, schema_workload, schema_workload_priority_class;
extern const struct schema schema_admission_check, schema_topology;
extern const struct schema schema_admission, schema_workload_status; /* those parts alone */

#endif
