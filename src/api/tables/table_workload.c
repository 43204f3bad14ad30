/*
 * table_workload: the fields of kueue.x-k8s.io/v1beta2 Workload and Topology.
 */
#include "api/tables/view_kueue.h"

#include "api/tables/table.h"

static const char *const closed_open_values[] = {"Closed", "Open", NULL};
static const char *const kueue_x_k8s_io_scheduling_k8s_io_values[] = {
    "kueue.x-k8s.io", "scheduling.k8s.io", NULL,
};
static const char *const pending_ready_values[] = {"Pending", "Ready", NULL};
static const char *const pending_ready_rejected_retry_values[] = {
    "Pending", "Ready", "Rejected", "Retry", NULL,
};
static const char *const priority_class_workload_priority_class_values[] = {
    "PriorityClass", "WorkloadPriorityClass", NULL,
};

static const struct field podset_slice_required_topology_constraint_fields[] = {
    M(slice_topology, topology, STRING, ONE, "topology", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 63, .doc = "Node label of the domain."),
    M(slice_topology, size, INT32, ONE, "size", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = INT32_MAX, .doc = "Number of pods in a slice."),
};
static const struct schema schema_podset_slice_required_topology_constraint = SCHEMA(
      "io.x-k8s.kueue.v1beta2.PodsetSliceRequiredTopologyConstraint",
      podset_slice_required_topology_constraint_fields, sizeof(struct slice_topology),
      NULL);

static const struct field pod_set_topology_request_fields[] = {
    M(topology_request, required, STRING, ONE, "required", 0, .flags = FIELD_F_OPT, .max = 63,
      .doc = "Topology level: all pods must be in one domain of it."),
    M(topology_request, preferred, STRING, ONE, "preferred", 0, .flags = FIELD_F_OPT, .max = 63,
      .doc = "Topology level: all pods should be in one domain of it."),
    M(topology_request, unconstrained, BOOL, ONE, "unconstrained", 0, .flags = FIELD_F_OPT,
      .doc = "Whether any placement is acceptable."),
    M(topology_request, pod_index_label, STRING, ONE, "podIndexLabel", 0, .flags = FIELD_F_OPT,
      .max = 317, .doc = "Label with the index of a pod."),
    M(topology_request, sub_group_index_label, STRING, ONE, "subGroupIndexLabel", 0,
      .flags = FIELD_F_OPT, .max = 317, .doc = "Label with the index of a group."),
    M(topology_request, sub_group_count, INT32, ONE, "subGroupCount", 0, .flags = FIELD_F_OPT,
      .max = INT32_MAX, .doc = "How many groups there are."),
    M(topology_request, pod_set_group_name, STRING, ONE, "podSetGroupName", 0,
      .flags = FIELD_F_OPT, .max = 256, .doc = "Pod sets of one name are placed together."),
    M(topology_request, pod_set_slice_required_topology,
      STRING, ONE, "podSetSliceRequiredTopology", 0, .flags = FIELD_F_OPT, .max = 63,
      .doc = "Topology level: each slice of pods must be in one domain of it."),
    M(topology_request, pod_set_slice_size, INT32, ONE, "podSetSliceSize", 0,
      .flags = FIELD_F_OPT, .min = 1, .max = INT32_MAX, .doc = "Number of pods in a slice."),
    M(topology_request, podset_slice_required_topology_constraints,
      OBJECT, LIST, "podsetSliceRequiredTopologyConstraints", 0,
      .of = &schema_podset_slice_required_topology_constraint, .flags = FIELD_F_ATOMIC, .max = 3,
      .doc = "Topology levels of nested slices, widest first."),
};
static const struct schema schema_pod_set_topology_request = SCHEMA(
      "io.x-k8s.kueue.v1beta2.PodSetTopologyRequest", pod_set_topology_request_fields,
      sizeof(struct topology_request), NULL);

static const struct field pod_set_fields[] = {
    M(pod_set, name, STRING, ONE, "name", 0, .def = "\"main\"", .max = 63,
      .format = "dns1123-label", .doc = "Name of the pod set."),
    M(pod_set, template, OBJECT, ONE, "template", 0, .of = &schema_pod_template,
      .flags = FIELD_F_REQUIRED, .doc = "Template of the pods."),
    M(pod_set, count, INT32, ONE, "count", 0, .flags = FIELD_F_KEEP_EMPTY, .def = "1",
      .max = INT32_MAX, .doc = "Number of pods."),
    M(pod_set, min_count, INT32, ONE, "minCount", 0, .flags = FIELD_F_OPT, .min = 1,
      .max = INT32_MAX, .doc = "Minimum number of pods for partial admission."),
    M(pod_set, topology_request, OBJECT, ONE, "topologyRequest", 0,
      .of = &schema_pod_set_topology_request, .flags = FIELD_F_OPT,
      .doc = "Requested topology of the pods."),
};
const struct schema schema_pod_set = SCHEMA("io.x-k8s.kueue.v1beta2.PodSet", pod_set_fields,
      sizeof(struct pod_set), NULL);

static const struct field priority_class_ref_fields[] = {
    M(priority_class_ref, group, STRING, ONE, "group", 0, .flags = FIELD_F_REQUIRED,
      .values = kueue_x_k8s_io_scheduling_k8s_io_values, .doc = "API group."),
    M(priority_class_ref, kind, STRING, ONE, "kind", 0,
      .values = priority_class_workload_priority_class_values, .doc = "Kind of the object."),
    M(priority_class_ref, name, STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED, .min = 1,
      .max = 253, .doc = "Name of the priority class."),
};
static const struct schema schema_priority_class_ref = SCHEMA(
      "io.x-k8s.kueue.v1beta2.PriorityClassRef", priority_class_ref_fields,
      sizeof(struct priority_class_ref), NULL);

static const struct field preemption_gate_fields[] = {
    M(preemption_gate, name, STRING, ONE, "name", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .min = 1, .max = 63,
      .doc = "Name of the gate."),
};
static const struct schema schema_preemption_gate = SCHEMA("io.x-k8s.kueue.v1beta2.PreemptionGate",
      preemption_gate_fields, sizeof(struct preemption_gate), NULL);

static const struct field workload_spec_fields[] = {
    M(workload_spec, pod_sets, OBJECT, LIST, "podSets", 0, .of = &schema_pod_set,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .list_keys = "name", .min = 1, .max = 18,
      .doc = "Groups of equal pods."),
    M(workload_spec, queue_name, STRING, ONE, "queueName", 0, .max = 253,
      .format = "dns1123-subdomain", .doc = "LocalQueue it is submitted to."),
    M(workload_spec, priority_class_ref, OBJECT, ONE, "priorityClassRef", 0,
      .of = &schema_priority_class_ref, .flags = FIELD_F_OPT,
      .doc = "Class that gives the priority."),
    M(workload_spec, priority, INT32, ONE, "priority", 0, .flags = FIELD_F_OPT,
      .doc = "Priority; higher goes first."),
    M(workload_spec, active, BOOL, ONE, "active", 0, .flags = FIELD_F_OPT, .def = "true",
      .doc = "false removes the workload from the queue and evicts it."),
    M(workload_spec, maximum_execution_time_seconds, INT32, ONE, "maximumExecutionTimeSeconds", 0,
      .flags = FIELD_F_OPT, .min = 1, .max = INT32_MAX,
      .doc = "Seconds it may run before it is deactivated."),
    M(workload_spec, preemption_gates, OBJECT, LIST, "preemptionGates", 0,
      .of = &schema_preemption_gate, .list_keys = "name", .max = 8,
      .doc = "Gates that keep the workload from preempting others."),
};
static const struct schema schema_workload_spec = SCHEMA("io.x-k8s.kueue.v1beta2.WorkloadSpec",
      workload_spec_fields, sizeof(struct workload_spec), NULL);

static const struct field topology_assignment_slice_level_individual_values_fields[] = {
    M(topology_individual, prefix, STRING, ONE, "prefix", 0, .flags = FIELD_F_OPT, .max = 63,
      .doc = "Prefix."),
    M(topology_individual, suffix, STRING, ONE, "suffix", 0, .flags = FIELD_F_OPT, .max = 63,
      .doc = "Suffix."),
    M(topology_individual, roots, STRING, LIST, "roots", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .min = 1, .max = 100000,
      .doc = "The varying parts, one per domain."),
};
static const struct schema schema_topology_assignment_slice_level_individual_values = SCHEMA(
      "io.x-k8s.kueue.v1beta2.TopologyAssignmentSliceLevelIndividualValues",
      topology_assignment_slice_level_individual_values_fields,
      sizeof(struct topology_individual), NULL);

static const struct field topology_assignment_slice_level_values_fields[] = {
    M(topology_level_values, universal, STRING, ONE, "universal", 0, .flags = FIELD_F_OPT,
      .max = 63, .doc = "One value for all domains."),
    M(topology_level_values, individual, OBJECT, ONE, "individual", 0,
      .of = &schema_topology_assignment_slice_level_individual_values, .flags = FIELD_F_OPT,
      .doc = "One value for each domain."),
};
static const struct schema schema_topology_assignment_slice_level_values = SCHEMA(
      "io.x-k8s.kueue.v1beta2.TopologyAssignmentSliceLevelValues",
      topology_assignment_slice_level_values_fields, sizeof(struct topology_level_values),
      NULL);

static const struct field topology_assignment_slice_pod_counts_fields[] = {
    M(topology_pod_counts, universal, INT32, ONE, "universal", 0, .flags = FIELD_F_OPT, .min = 1,
      .max = INT32_MAX, .doc = "One value for all domains."),
    M(topology_pod_counts, individual, INT32, LIST, "individual", 0, .flags = FIELD_F_ATOMIC,
      .min = 1, .max = 100000, .doc = "One value for each domain."),
};
static const struct schema schema_topology_assignment_slice_pod_counts = SCHEMA(
      "io.x-k8s.kueue.v1beta2.TopologyAssignmentSlicePodCounts",
      topology_assignment_slice_pod_counts_fields, sizeof(struct topology_pod_counts),
      NULL);

static const struct field topology_assignment_slice_fields[] = {
    M(topology_slice, domain_count, INT32, ONE, "domainCount", 0, .flags = FIELD_F_REQUIRED,
      .min = 1, .max = INT32_MAX, .doc = "Number of domains in the slice."),
    M(topology_slice, values_per_level, OBJECT, LIST, "valuesPerLevel", 0,
      .of = &schema_topology_assignment_slice_level_values,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .min = 1, .max = 16,
      .doc = "Values of the domains, level by level."),
    M(topology_slice, pod_counts, OBJECT, ONE, "podCounts", 0,
      .of = &schema_topology_assignment_slice_pod_counts, .flags = FIELD_F_REQUIRED,
      .doc = "Pods in each domain."),
};
const struct schema schema_topology_assignment_slice = SCHEMA(
      "io.x-k8s.kueue.v1beta2.TopologyAssignmentSlice", topology_assignment_slice_fields,
      sizeof(struct topology_slice), NULL);

static const struct field topology_assignment_fields[] = {
    M(topology_assignment, levels, STRING, LIST, "levels", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .min = 1, .max = 16,
      .doc = "Node labels from the widest domain to the narrowest."),
    M(topology_assignment, slices, OBJECT, LIST, "slices", 0,
      .of = &schema_topology_assignment_slice, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC,
      .max = 1000, .doc = "Domains in a compact form."),
};
const struct schema schema_topology_assignment = SCHEMA(
      "io.x-k8s.kueue.v1beta2.TopologyAssignment", topology_assignment_fields,
      sizeof(struct topology_assignment), NULL);

static const struct field pod_set_assignment_fields[] = {
    M(pod_set_assignment, name, STRING, ONE, "name", 0, .flags = FIELD_F_KEEP_EMPTY,
      .def = "\"main\"", .max = 63, .format = "dns1123-label", .doc = "Name of the pod set."),
    M(pod_set_assignment, flavors, STRING, MAP, "flavors", 0, .doc = "Flavor for each resource."),
    M(pod_set_assignment, resource_usage, QUANTITY, MAP, "resourceUsage", 0,
      .doc = "Total resource usage of the pods."),
    M(pod_set_assignment, count, INT32, ONE, "count", 0, .flags = FIELD_F_OPT, .max = INT32_MAX,
      .doc = "Number of pods."),
    M(pod_set_assignment, topology_assignment, OBJECT, ONE, "topologyAssignment", 0,
      .of = &schema_topology_assignment, .flags = FIELD_F_OPT,
      .doc = "Topology domains assigned to the pods."),
    M(pod_set_assignment, delayed_topology_request, STRING, ONE, "delayedTopologyRequest", 0,
      .flags = FIELD_F_OPT, .values = pending_ready_values, .max = 7,
      .doc = "Pending while topology assignment is delayed."),
};
static const struct schema schema_pod_set_assignment = SCHEMA(
      "io.x-k8s.kueue.v1beta2.PodSetAssignment", pod_set_assignment_fields,
      sizeof(struct pod_set_assignment), NULL);

static const struct field admission_fields[] = {
    M(workload_admission, cluster_queue, STRING, ONE, "clusterQueue", 0,
      .flags = FIELD_F_KEEP_EMPTY, .max = 253, .format = "dns1123-subdomain",
      .doc = "ClusterQueue that admitted the Workload."),
    M(workload_admission, pod_set_assignments, OBJECT, LIST, "podSetAssignments", 0,
      .of = &schema_pod_set_assignment, .flags = FIELD_F_KEEP_EMPTY, .list_keys = "name",
      .max = 18, .doc = "Flavors of each pod set."),
};
const struct schema schema_admission = SCHEMA("io.x-k8s.kueue.v1beta2.Admission",
      admission_fields, sizeof(struct workload_admission), NULL);

static const struct field requeue_state_fields[] = {
    M(requeue_state, count, INT32, ONE, "count", 0, .flags = FIELD_F_OPT, .max = INT32_MAX,
      .doc = "Number of pods."),
    M(requeue_state, requeue_at_ns, TIME, ONE, "requeueAt", 0, .flags = FIELD_F_OPT,
      .doc = "Earliest time of the next requeue."),
};
const struct schema schema_requeue_state = SCHEMA("io.x-k8s.kueue.v1beta2.RequeueState",
      requeue_state_fields, sizeof(struct requeue_state), NULL);

static const struct field reclaimable_pod_fields[] = {
    M(reclaimable_pod, name, STRING, ONE, "name", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .max = 63, .format = "dns1123-label",
      .doc = "Name of the pod set."),
    M(reclaimable_pod, count, INT32, ONE, "count", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .max = INT32_MAX, .doc = "Number of pods."),
};
const struct schema schema_reclaimable_pod = SCHEMA("io.x-k8s.kueue.v1beta2.ReclaimablePod",
      reclaimable_pod_fields, sizeof(struct reclaimable_pod), NULL);

static const struct field pod_set_update_fields[] = {
    M(pod_set_update, name, STRING, ONE, "name", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .max = 63, .format = "dns1123-label",
      .doc = "Name of the pod set."),
    M(pod_set_update, labels, STRING, MAP, "labels", 0, .doc = "Labels to add."),
    M(pod_set_update, annotations, STRING, MAP, "annotations", 0, .doc = "Annotations to add."),
    M(pod_set_update, node_selector, STRING, MAP, "nodeSelector", 0,
      .doc = "Node selector: labels that a node must have."),
    M(pod_set_update, tolerations, OBJECT, LIST, "tolerations", 0, .of = &schema_toleration,
      .flags = FIELD_F_ATOMIC, .max = 8, .doc = "Tolerations."),
};
static const struct schema schema_pod_set_update = SCHEMA("io.x-k8s.kueue.v1beta2.PodSetUpdate",
      pod_set_update_fields, sizeof(struct pod_set_update), NULL);

static const struct field admission_check_state_fields[] = {
    M(admission_check_state, name, STRING, ONE, "name", 0, .min = 1, .max = 316,
      .doc = "Name of the AdmissionCheck."),
    M(admission_check_state, state, STRING, ONE, "state", 0,
      .values = pending_ready_rejected_retry_values, .doc = "Pending, Ready, Retry or Rejected."),
    M(admission_check_state, last_transition_ns, TIME, ONE, "lastTransitionTime", 0,
      .doc = "Time of the last change of status."),
    M(admission_check_state, message, STRING, ONE, "message", 6, .flags = FIELD_F_KEEP_EMPTY,
      .max = 32768, .doc = "Human-readable message."),
    M(admission_check_state, requeue_after_seconds, INT32, ONE, "requeueAfterSeconds", 0,
      .flags = FIELD_F_OPT, .max = INT32_MAX, .doc = "Seconds to wait before the next try."),
    M(admission_check_state, retry_count, INT32, ONE, "retryCount", 0, .flags = FIELD_F_OPT,
      .max = INT32_MAX, .doc = "Number of retries."),
    M(admission_check_state, pod_set_updates, OBJECT, LIST, "podSetUpdates", 0,
      .of = &schema_pod_set_update, .flags = FIELD_F_ATOMIC, .max = 18,
      .doc = "Changes to the pod sets that the check requires."),
};
const struct schema schema_admission_check_state = SCHEMA(
      "io.x-k8s.kueue.v1beta2.AdmissionCheckState", admission_check_state_fields,
      sizeof(struct admission_check_state), NULL);

static const struct field pod_set_request_fields[] = {
    M(pod_set_request, name, STRING, ONE, "name", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .max = 63, .format = "dns1123-label",
      .doc = "Name of the pod set."),
    M(pod_set_request, resources, QUANTITY, MAP, "resources", 0,
      .doc = "Amounts, resource by resource."),
};
const struct schema schema_pod_set_request = SCHEMA("io.x-k8s.kueue.v1beta2.PodSetRequest",
      pod_set_request_fields, sizeof(struct pod_set_request), NULL);

static const struct field workload_scheduling_stats_eviction_fields[] = {
    M(scheduling_eviction, reason, STRING, ONE, "reason", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .max = 316,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(scheduling_eviction, underlying_cause, STRING, ONE, "underlyingCause", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .max = 316,
      .doc = "The cause behind the reason."),
    M(scheduling_eviction, count, INT32, ONE, "count", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .max = INT32_MAX, .doc = "Number of pods."),
};
static const struct schema schema_workload_scheduling_stats_eviction = SCHEMA(
      "io.x-k8s.kueue.v1beta2.WorkloadSchedulingStatsEviction",
      workload_scheduling_stats_eviction_fields, sizeof(struct scheduling_eviction), NULL);

static const struct field scheduling_stats_fields[] = {
    M(scheduling_stats, evictions, OBJECT, LIST, "evictions", 0,
      .of = &schema_workload_scheduling_stats_eviction, .list_keys = "reason,underlyingCause",
      .max = 256, .doc = "Number of evictions by reason and cause."),
};
const struct schema schema_scheduling_stats = SCHEMA("io.x-k8s.kueue.v1beta2.SchedulingStats",
      scheduling_stats_fields, sizeof(struct scheduling_stats), NULL);

static const struct field unhealthy_node_fields[] = {
    M(unhealthy_node, name, STRING, ONE, "name", 0, .flags = FIELD_F_KEEP_EMPTY, .max = 63,
      .doc = "Name of the node."),
};
const struct schema schema_unhealthy_node = SCHEMA("io.x-k8s.kueue.v1beta2.UnhealthyNode",
      unhealthy_node_fields, sizeof(struct unhealthy_node), NULL);

static const struct field preemption_gate_state_fields[] = {
    M(preemption_gate_state, name, STRING, ONE, "name", 0, .flags = FIELD_F_KEEP_EMPTY, .min = 1,
      .max = 63, .doc = "Name of the gate."),
    M(preemption_gate_state, position, STRING, ONE, "position", 0, .values = closed_open_values,
      .doc = "Open or Closed."),
    M(preemption_gate_state, last_transition_ns, TIME, ONE, "lastTransitionTime", 0,
      .doc = "Time of the last change of status."),
};
static const struct schema schema_preemption_gate_state = SCHEMA(
      "io.x-k8s.kueue.v1beta2.PreemptionGateState", preemption_gate_state_fields,
      sizeof(struct preemption_gate_state), NULL);

static const struct field workload_status_fields[] = {
    M(workload_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type", .max = 16,
      .doc = "Current conditions, one entry per type."),
    M(workload_status, admission, OBJECT, ONE, "admission", 0, .of = &schema_admission,
      .flags = FIELD_F_OPT,
      .doc = "ClusterQueue and flavors assigned on admission; absent while pending."),
    M(workload_status, requeue_state, OBJECT, ONE, "requeueState", 0, .of = &schema_requeue_state,
      .flags = FIELD_F_OPT,
      .doc = "Requeue state: count and time of the next requeue after an eviction."),
    M(workload_status, reclaimable_pods, OBJECT, LIST, "reclaimablePods", 0,
      .of = &schema_reclaimable_pod, .list_keys = "name", .max = 18,
      .doc = "Pods that have finished and free their quota."),
    M(workload_status, admission_checks, OBJECT, LIST, "admissionChecks", 0,
      .of = &schema_admission_check_state, .flags = FIELD_F_MERGE, .merge_key = "name",
      .list_keys = "name", .max = 8, .doc = "AdmissionChecks that must be Ready before admission."),
    M(workload_status, resource_requests, OBJECT, LIST, "resourceRequests", 0,
      .of = &schema_pod_set_request, .list_keys = "name", .max = 18,
      .doc = "Resources requested while the workload is pending."),
    M(workload_status, accumulated_past_execution_time_seconds,
      INT32, ONE, "accumulatedPastExecutionTimeSeconds", 0, .flags = FIELD_F_OPT,
      .doc = "Seconds of accumulated run time before the last eviction."),
    M(workload_status, scheduling_stats, OBJECT, ONE, "schedulingStats", 0,
      .of = &schema_scheduling_stats, .flags = FIELD_F_OPT,
      .doc = "Number of evictions, by cause."),
    M(workload_status, nominated_cluster_names, STRING, LIST, "nominatedClusterNames", 0,
      .flags = FIELD_F_ATOMIC, .max = 20, .doc = "Clusters nominated to run the workload."),
    M(workload_status, cluster_name, STRING, ONE, "clusterName", 0, .flags = FIELD_F_OPT,
      .max = 256, .doc = "Cluster that runs the workload."),
    M(workload_status, unhealthy_nodes, OBJECT, LIST, "unhealthyNodes", 0,
      .of = &schema_unhealthy_node, .list_keys = "name", .max = 8,
      .doc = "Failed nodes that the workload used."),
    M(workload_status, preemption_gates, OBJECT, LIST, "preemptionGates", 0,
      .of = &schema_preemption_gate_state, .list_keys = "name", .max = 8,
      .doc = "Gates that keep the workload from preempting others."),
};
const struct schema schema_workload_status = SCHEMA("io.x-k8s.kueue.v1beta2.WorkloadStatus",
      workload_status_fields, sizeof(struct workload_status), NULL);

static const struct field workload_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(workload, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(workload, spec, OBJECT, ONE, "spec", 0, .of = &schema_workload_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
    M(workload, status, OBJECT, ONE, "status", 0, .of = &schema_workload_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_workload = SCHEMA("io.x-k8s.kueue.v1beta2.Workload", workload_fields,
      sizeof(struct workload), "Pods that are admitted together or not at all.");

/* ---- drafts (view_kueue.h) ---- */

static const struct field pod_template_draft_fields[] = {
    M(pod_template_draft, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta),
    M(pod_template_draft, spec, ANY, ONE, "spec", 0),
};
static const struct schema schema_pod_template_draft =
    SCHEMA("dev.berth.PodTemplateDraft", pod_template_draft_fields,
           sizeof(struct pod_template_draft), NULL);
static const struct field pod_set_draft_fields[] = {
    M(pod_set_draft, name, STRING, ONE, "name", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(pod_set_draft, count, INT32, ONE, "count", 0, .flags = FIELD_F_KEEP_EMPTY),
    M(pod_set_draft, min_count, INT32, ONE, "minCount", 0, .flags = FIELD_F_OPT),
    M(pod_set_draft, topology_request, OBJECT, ONE, "topologyRequest", 0,
      .of = &schema_pod_set_topology_request),
    M(pod_set_draft, template, OBJECT, ONE, "template", 0, .of = &schema_pod_template_draft),
};
static const struct schema schema_pod_set_draft =
    SCHEMA("dev.berth.PodSetDraft", pod_set_draft_fields, sizeof(struct pod_set_draft), NULL);
static const struct field workload_draft_spec_fields[] = {
    M(workload_draft_spec, pod_sets, OBJECT, LIST, "podSets", 0, .of = &schema_pod_set_draft),
    M(workload_draft_spec, queue_name, STRING, ONE, "queueName", 0),
    M(workload_draft_spec, priority, INT32, ONE, "priority", 0, .flags = FIELD_F_OPT),
    M(workload_draft_spec, priority_class_ref, OBJECT, ONE, "priorityClassRef", 0,
      .of = &schema_priority_class_ref),
    M(workload_draft_spec, maximum_execution_time_seconds, INT32, ONE,
      "maximumExecutionTimeSeconds", 0, .flags = FIELD_F_OPT),
    M(workload_draft_spec, active, BOOL, ONE, "active", 0, .flags = FIELD_F_OPT),
};
static const struct schema schema_workload_draft_spec =
    SCHEMA("dev.berth.WorkloadDraftSpec", workload_draft_spec_fields,
           sizeof(struct workload_draft_spec), NULL);
static const struct field workload_draft_fields[] = {
    M(workload_draft, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta),
    M(workload_draft, spec, OBJECT, ONE, "spec", 0, .of = &schema_workload_draft_spec),
};
const struct schema schema_workload_draft = SCHEMA("dev.berth.WorkloadDraft", workload_draft_fields,
                                                   sizeof(struct workload_draft), NULL);

static const struct field topology_level_fields[] = {
    M(topology_level, node_label, STRING, ONE, "nodeLabel", 0, .flags = FIELD_F_REQUIRED,
      .min = 1, .max = 316, .doc = "Node label of this level."),
};
static const struct schema schema_topology_level = SCHEMA("io.x-k8s.kueue.v1beta2.TopologyLevel",
      topology_level_fields, sizeof(struct topology_level), NULL);

static const struct field topology_spec_fields[] = {
    M(topology_spec, levels, OBJECT, LIST, "levels", 0, .of = &schema_topology_level,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .min = 1, .max = 16,
      .doc = "Node labels from the widest domain to the narrowest."),
};
static const struct schema schema_topology_spec = SCHEMA("io.x-k8s.kueue.v1beta2.TopologySpec",
      topology_spec_fields, sizeof(struct topology_spec), NULL);

static const struct field topology_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(topology, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(topology, spec, OBJECT, ONE, "spec", 0, .of = &schema_topology_spec,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Desired state, set by the user."),
};
const struct schema schema_topology = SCHEMA("io.x-k8s.kueue.v1beta2.Topology", topology_fields,
      sizeof(struct topology), "The levels of node topology, such as block, rack and host.");

static const struct field topology_info_fields[] = {
    F(STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .max = 253,
      .format = "dns1123-subdomain", .doc = "Name of the Topology."),
    F(STRING, LIST, "levels", 0, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .min = 1, .max = 16,
      .doc = "Node labels from the widest domain to the narrowest."),
};
const struct schema schema_topology_info = SCHEMA("io.x-k8s.kueue.v1beta2.TopologyInfo",
      topology_info_fields, 0, NULL);
