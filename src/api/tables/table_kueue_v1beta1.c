/*
 * table_kueue_v1beta1: the fields of kueue.x-k8s.io/v1beta1 that differ from v1beta2.
 *
 * The conversion is in convert_kueue.c; what is the same in both versions is the v1beta2 table.
 */
#include "api/tables/view_core.h"

#include "api/tables/table.h"

static const char *const best_effort_fifo_strict_fifo_values[] = {
    "BestEffortFIFO", "StrictFIFO", NULL,
};
static const char *const hold_hold_and_drain_none_values[] = {"Hold", "HoldAndDrain", "None", NULL};
static const char *const pending_ready_values[] = {"Pending", "Ready", NULL};
static const char *const workload_spec_priority_class_source_values[] = {
    "kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", NULL,
};

static const struct field v1beta1_cluster_queue_spec_fields[] = {
    F(OBJECT, LIST, "resourceGroups", 0, .of = &schema_resource_group, .flags = FIELD_F_ATOMIC,
      .max = 16, .doc = "Quota: groups of resources that come from the same flavors."),
    F(STRING, ONE, "cohort", 0, .max = 253, .format = "dns1123-subdomain",
      .doc = "Cohort with which it shares unused quota."),
    F(STRING, ONE, "queueingStrategy", 0, .def = "\"BestEffortFIFO\"",
      .values = best_effort_fifo_strict_fifo_values,
      .doc = "BestEffortFIFO lets later workloads pass a blocked one; StrictFIFO does not."),
    F(OBJECT, ONE, "namespaceSelector", 0, .of = &schema_label_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "Namespaces whose workloads can use the queue; empty means all, absent none."),
    F(OBJECT, ONE, "flavorFungibility", 0, .of = &schema_flavor_fungibility, .flags = FIELD_F_OPT,
      .def = "{}", .doc = "When to try the next flavor instead of borrowing or preempting."),
    F(OBJECT, ONE, "preemption", 0, .of = &schema_cluster_queue_preemption, .flags = FIELD_F_OPT,
      .def = "{}", .doc = "Which workloads the queue's workloads can preempt."),
    F(STRING, LIST, "admissionChecks", 0,
      .doc = "AdmissionChecks that must be Ready before admission."),
    F(OBJECT, ONE, "admissionChecksStrategy", 0, .of = &schema_admission_checks_strategy,
      .flags = FIELD_F_OPT, .doc = "AdmissionChecks to pass before admission, by flavor."),
    F(STRING, ONE, "stopPolicy", 0, .flags = FIELD_F_OPT, .def = "\"None\"",
      .values = hold_hold_and_drain_none_values,
      .doc = "None, Hold (admit nothing new) or HoldAndDrain (and evict what runs)."),
    F(OBJECT, ONE, "fairSharing", 0, .of = &schema_fair_sharing, .flags = FIELD_F_OPT,
      .doc = "Fair sharing with sibling queues and cohorts."),
    F(OBJECT, ONE, "admissionScope", 0, .of = &schema_admission_scope, .flags = FIELD_F_OPT,
      .doc = "How usage over time orders its workloads."),
};
static const struct schema schema_v1beta1_cluster_queue_spec = SCHEMA(
      "io.x-k8s.kueue.v1beta1.ClusterQueueSpec", v1beta1_cluster_queue_spec_fields, 0,
      NULL);

static const struct field v1beta1_cluster_queue_pending_workload_fields[] = {
    F(STRING, ONE, "name", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "Name of the Workload."),
    F(STRING, ONE, "namespace", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Namespace of the Workload."),
};
static const struct schema schema_v1beta1_cluster_queue_pending_workload = SCHEMA(
      "io.x-k8s.kueue.v1beta1.ClusterQueuePendingWorkload",
      v1beta1_cluster_queue_pending_workload_fields, 0, NULL);

static const struct field v1beta1_cluster_queue_pending_workloads_status_fields[] = {
    F(OBJECT, LIST, "clusterQueuePendingWorkload", 0,
      .of = &schema_v1beta1_cluster_queue_pending_workload,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY),
    F(TIME, ONE, "lastChangeTime", 0, .flags = FIELD_F_KEEP_EMPTY),
};
static const struct schema schema_v1beta1_cluster_queue_pending_workloads_status = SCHEMA(
      "io.x-k8s.kueue.v1beta1.ClusterQueuePendingWorkloadsStatus",
      v1beta1_cluster_queue_pending_workloads_status_fields, 0, NULL);

static const struct field v1beta1_admission_fair_sharing_status_fields[] = {
    F(QUANTITY, MAP, "consumedResources", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Usage over time, with decay."),
    F(TIME, ONE, "lastUpdate", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Time of the last computation."),
};
static const struct schema schema_v1beta1_admission_fair_sharing_status = SCHEMA(
      "io.x-k8s.kueue.v1beta1.AdmissionFairSharingStatus",
      v1beta1_admission_fair_sharing_status_fields, 0, NULL);

static const struct field v1beta1_fair_sharing_status_fields[] = {
    F(INT64, ONE, "weightedShare", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Usage beyond the own quota, divided by the weight."),
    F(OBJECT, ONE, "admissionFairSharingStatus", 0,
      .of = &schema_v1beta1_admission_fair_sharing_status, .flags = FIELD_F_OPT,
      .doc = "Usage over time that orders admission."),
};
static const struct schema schema_v1beta1_fair_sharing_status = SCHEMA(
      "io.x-k8s.kueue.v1beta1.FairSharingStatus", v1beta1_fair_sharing_status_fields, 0,
      NULL);

static const struct field v1beta1_cluster_queue_status_fields[] = {
    F(OBJECT, LIST, "conditions", 0, .of = &schema_condition, .flags = FIELD_F_MERGE,
      .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
    F(OBJECT, LIST, "flavorsReservation", 0, .of = &schema_flavor_usage,
      .flags = FIELD_F_KEEP_EMPTY, .list_keys = "name", .max = 64,
      .doc = "Reserved quota, by flavor."),
    F(OBJECT, LIST, "flavorsUsage", 0, .of = &schema_flavor_usage, .flags = FIELD_F_KEEP_EMPTY,
      .list_keys = "name", .max = 64, .doc = "Quota that admitted workloads use, by flavor."),
    F(INT32, ONE, "pendingWorkloads", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Workloads that wait for admission."),
    F(INT32, ONE, "reservingWorkloads", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Workloads with reserved quota."),
    F(INT32, ONE, "admittedWorkloads", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Admitted workloads that have not finished."),
    F(OBJECT, ONE, "pendingWorkloadsStatus", 0,
      .of = &schema_v1beta1_cluster_queue_pending_workloads_status, .flags = FIELD_F_OPT),
    F(OBJECT, ONE, "fairSharing", 0, .of = &schema_v1beta1_fair_sharing_status,
      .flags = FIELD_F_OPT, .doc = "Fair sharing with sibling queues and cohorts."),
};
static const struct schema schema_v1beta1_cluster_queue_status = SCHEMA(
      "io.x-k8s.kueue.v1beta1.ClusterQueueStatus", v1beta1_cluster_queue_status_fields, 0,
      NULL);

static const struct field v1beta1_cluster_queue_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_v1beta1_cluster_queue_spec,
      .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 0, .of = &schema_v1beta1_cluster_queue_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_v1beta1_cluster_queue = SCHEMA("io.x-k8s.kueue.v1beta1.ClusterQueue",
      v1beta1_cluster_queue_fields, 0, "A pool of quota, and the rules for who gets it.");

static const struct field v1beta1_cohort_status_fields[] = {
    F(OBJECT, ONE, "fairSharing", 0, .of = &schema_v1beta1_fair_sharing_status,
      .flags = FIELD_F_OPT, .doc = "Fair sharing with sibling queues and cohorts."),
};
static const struct schema schema_v1beta1_cohort_status =
    SCHEMA("io.x-k8s.kueue.v1beta1.CohortStatus", v1beta1_cohort_status_fields, 0, NULL);

static const struct field v1beta1_cohort_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_cohort_spec, .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 0, .of = &schema_v1beta1_cohort_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_v1beta1_cohort = SCHEMA("io.x-k8s.kueue.v1beta1.Cohort",
      v1beta1_cohort_fields, 0, "Queues that lend each other what they do not use.");

static const struct field v1beta1_local_queue_flavor_status_fields[] = {
    F(STRING, ONE, "name", 0, .flags = FIELD_F_KEEP_EMPTY, .max = 253,
      .format = "dns1123-subdomain", .doc = "Name of the ResourceFlavor."),
    F(STRING, LIST, "resources", 0, .flags = FIELD_F_SET, .max = 64,
      .doc = "Amounts, resource by resource."),
    F(STRING, MAP, "nodeLabels", 0, .flags = FIELD_F_ATOMIC, .max = 8),
    F(OBJECT, LIST, "nodeTaints", 0, .of = &schema_taint, .flags = FIELD_F_ATOMIC, .max = 8),
    F(OBJECT, ONE, "topology", 0, .of = &schema_topology_info, .flags = FIELD_F_OPT),
};
static const struct schema schema_v1beta1_local_queue_flavor_status = SCHEMA(
      "io.x-k8s.kueue.v1beta1.LocalQueueFlavorStatus", v1beta1_local_queue_flavor_status_fields,
      0, NULL);

static const struct field v1beta1_local_queue_status_fields[] = {
    F(OBJECT, LIST, "conditions", 0, .of = &schema_condition, .flags = FIELD_F_MERGE,
      .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
    F(INT32, ONE, "pendingWorkloads", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Workloads that wait for admission."),
    F(INT32, ONE, "reservingWorkloads", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Workloads with reserved quota."),
    F(INT32, ONE, "admittedWorkloads", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Admitted workloads that have not finished."),
    F(OBJECT, LIST, "flavorsReservation", 0, .of = &schema_local_queue_flavor_usage,
      .flags = FIELD_F_KEEP_EMPTY, .list_keys = "name", .max = 64,
      .doc = "Reserved quota, by flavor."),
    F(OBJECT, LIST, "flavorUsage", 0, .of = &schema_local_queue_flavor_usage,
      .flags = FIELD_F_KEEP_EMPTY, .list_keys = "name", .max = 64,
      .doc = "Quota that admitted workloads use, by flavor."),
    F(OBJECT, LIST, "flavors", 0, .of = &schema_v1beta1_local_queue_flavor_status,
      .list_keys = "name", .max = 64, .doc = "Flavors, in the order in which they are tried."),
    F(OBJECT, ONE, "fairSharing", 0, .of = &schema_v1beta1_fair_sharing_status,
      .flags = FIELD_F_OPT, .doc = "Fair sharing with sibling queues and cohorts."),
};
static const struct schema schema_v1beta1_local_queue_status = SCHEMA(
      "io.x-k8s.kueue.v1beta1.LocalQueueStatus", v1beta1_local_queue_status_fields, 0,
      NULL);

static const struct field v1beta1_local_queue_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_local_queue_spec, .flags = FIELD_F_REQUIRED,
      .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 0, .of = &schema_v1beta1_local_queue_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_v1beta1_local_queue = SCHEMA("io.x-k8s.kueue.v1beta1.LocalQueue",
      v1beta1_local_queue_fields, 0, "A queue in a namespace that submits to a ClusterQueue.");

static const struct field v1beta1_pod_set_topology_request_fields[] = {
    F(STRING, ONE, "required", 0, .flags = FIELD_F_OPT,
      .doc = "Topology level: all pods must be in one domain of it."),
    F(STRING, ONE, "preferred", 0, .flags = FIELD_F_OPT,
      .doc = "Topology level: all pods should be in one domain of it."),
    F(BOOL, ONE, "unconstrained", 0, .flags = FIELD_F_OPT,
      .doc = "Whether any placement is acceptable."),
    F(STRING, ONE, "podIndexLabel", 0, .flags = FIELD_F_OPT,
      .doc = "Label with the index of a pod."),
    F(STRING, ONE, "subGroupIndexLabel", 0, .flags = FIELD_F_OPT,
      .doc = "Label with the index of a group."),
    F(INT32, ONE, "subGroupCount", 0, .flags = FIELD_F_OPT, .doc = "How many groups there are."),
    F(STRING, ONE, "podSetGroupName", 0, .flags = FIELD_F_OPT,
      .doc = "Pod sets of one name are placed together."),
    F(STRING, ONE, "podSetSliceRequiredTopology", 0, .flags = FIELD_F_OPT,
      .doc = "Topology level: each slice of pods must be in one domain of it."),
    F(INT32, ONE, "podSetSliceSize", 0, .flags = FIELD_F_OPT, .min = 1, .max = INT32_MAX,
      .doc = "Number of pods in a slice."),
};
static const struct schema schema_v1beta1_pod_set_topology_request = SCHEMA(
      "io.x-k8s.kueue.v1beta1.PodSetTopologyRequest", v1beta1_pod_set_topology_request_fields, 0,
      NULL);

static const struct field v1beta1_pod_set_fields[] = {
    F(STRING, ONE, "name", 0, .def = "\"main\"", .max = 63, .format = "dns1123-label",
      .doc = "Name of the pod set."),
    F(OBJECT, ONE, "template", 0, .of = &schema_pod_template, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Template of the pods."),
    F(INT32, ONE, "count", 0, .flags = FIELD_F_KEEP_EMPTY, .def = "1", .max = INT32_MAX,
      .doc = "Number of pods."),
    F(INT32, ONE, "minCount", 0, .flags = FIELD_F_OPT, .min = 1, .max = INT32_MAX,
      .doc = "Minimum number of pods for partial admission."),
    F(OBJECT, ONE, "topologyRequest", 0, .of = &schema_v1beta1_pod_set_topology_request,
      .flags = FIELD_F_OPT, .doc = "Requested topology of the pods."),
};
const struct schema schema_v1beta1_pod_set = SCHEMA("io.x-k8s.kueue.v1beta1.PodSet",
      v1beta1_pod_set_fields, 0, NULL);

static const struct field v1beta1_workload_spec_fields[] = {
    F(OBJECT, LIST, "podSets", 0, .of = &schema_v1beta1_pod_set,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .list_keys = "name", .min = 1, .max = 18,
      .doc = "Groups of equal pods."),
    F(STRING, ONE, "queueName", 0, .max = 253, .format = "dns1123-subdomain",
      .doc = "LocalQueue it is submitted to."),
    F(STRING, ONE, "priorityClassName", 0, .max = 253, .doc = "Class that gives the priority."),
    F(INT32, ONE, "priority", 0, .flags = FIELD_F_OPT, .doc = "Priority; higher goes first."),
    F(STRING, ONE, "priorityClassSource", 0, .def = "\"\"",
      .values = workload_spec_priority_class_source_values, .doc = "Kind of that class."),
    F(BOOL, ONE, "active", 0, .flags = FIELD_F_OPT, .def = "true",
      .doc = "false removes the workload from the queue and evicts it."),
    F(INT32, ONE, "maximumExecutionTimeSeconds", 0, .flags = FIELD_F_OPT, .min = 1,
      .max = INT32_MAX, .doc = "Seconds it may run before it is deactivated."),
};
static const struct schema schema_v1beta1_workload_spec =
    SCHEMA("io.x-k8s.kueue.v1beta1.WorkloadSpec", v1beta1_workload_spec_fields, 0, NULL);

static const struct field v1beta1_topology_domain_assignment_fields[] = {
    F(STRING, LIST, "values", 0, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .min = 1, .max = 16, .doc = "Values to compare with."),
    F(INT32, ONE, "count", 0, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .min = 1,
      .max = INT32_MAX, .doc = "Number of pods."),
};
static const struct schema schema_v1beta1_topology_domain_assignment = SCHEMA(
      "io.x-k8s.kueue.v1beta1.TopologyDomainAssignment",
      v1beta1_topology_domain_assignment_fields, 0, NULL);

static const struct field v1beta1_topology_assignment_fields[] = {
    F(STRING, LIST, "levels", 0, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .min = 1, .max = 16, .doc = "Node labels from the widest domain to the narrowest."),
    F(OBJECT, LIST, "domains", 0, .of = &schema_v1beta1_topology_domain_assignment,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Domains and their pods."),
};
static const struct schema schema_v1beta1_topology_assignment = SCHEMA(
      "io.x-k8s.kueue.v1beta1.TopologyAssignment", v1beta1_topology_assignment_fields, 0,
      NULL);

static const struct field v1beta1_pod_set_assignment_fields[] = {
    F(STRING, ONE, "name", 0, .flags = FIELD_F_KEEP_EMPTY, .def = "\"main\"", .max = 63,
      .format = "dns1123-label", .doc = "Name of the pod set."),
    F(STRING, MAP, "flavors", 0, .doc = "Flavor for each resource."),
    F(QUANTITY, MAP, "resourceUsage", 0, .doc = "Total resource usage of the pods."),
    F(INT32, ONE, "count", 0, .flags = FIELD_F_OPT, .max = INT32_MAX, .doc = "Number of pods."),
    F(OBJECT, ONE, "topologyAssignment", 0, .of = &schema_v1beta1_topology_assignment,
      .flags = FIELD_F_OPT, .doc = "Topology domains assigned to the pods."),
    F(STRING, ONE, "delayedTopologyRequest", 0, .flags = FIELD_F_OPT,
      .values = pending_ready_values, .doc = "Pending while topology assignment is delayed."),
};
static const struct schema schema_v1beta1_pod_set_assignment = SCHEMA(
      "io.x-k8s.kueue.v1beta1.PodSetAssignment", v1beta1_pod_set_assignment_fields, 0,
      NULL);

static const struct field v1beta1_admission_fields[] = {
    F(STRING, ONE, "clusterQueue", 0, .flags = FIELD_F_KEEP_EMPTY, .max = 253,
      .format = "dns1123-subdomain", .doc = "ClusterQueue that admitted the Workload."),
    F(OBJECT, LIST, "podSetAssignments", 0, .of = &schema_v1beta1_pod_set_assignment,
      .flags = FIELD_F_KEEP_EMPTY, .list_keys = "name", .max = 18,
      .doc = "Flavors of each pod set."),
};
const struct schema schema_v1beta1_admission = SCHEMA("io.x-k8s.kueue.v1beta1.Admission",
      v1beta1_admission_fields, 0, NULL);

static const struct field v1beta1_workload_status_fields[] = {
    F(OBJECT, LIST, "conditions", 0, .of = &schema_condition, .flags = FIELD_F_MERGE,
      .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
    F(OBJECT, ONE, "admission", 0, .of = &schema_v1beta1_admission, .flags = FIELD_F_OPT,
      .doc = "ClusterQueue and flavors assigned on admission; absent while pending."),
    F(OBJECT, ONE, "requeueState", 0, .of = &schema_requeue_state, .flags = FIELD_F_OPT,
      .doc = "Requeue state: count and time of the next requeue after an eviction."),
    F(OBJECT, LIST, "reclaimablePods", 0, .of = &schema_reclaimable_pod, .list_keys = "name",
      .max = 18, .doc = "Pods that have finished and free their quota."),
    F(OBJECT, LIST, "admissionChecks", 0, .of = &schema_admission_check_state,
      .flags = FIELD_F_MERGE, .merge_key = "name", .list_keys = "name", .max = 8,
      .doc = "AdmissionChecks that must be Ready before admission."),
    F(OBJECT, LIST, "resourceRequests", 0, .of = &schema_pod_set_request, .list_keys = "name",
      .max = 18, .doc = "Resources requested while the workload is pending."),
    F(INT32, ONE, "accumulatedPastExexcutionTimeSeconds", 0, .flags = FIELD_F_OPT),
    F(OBJECT, ONE, "schedulingStats", 0, .of = &schema_scheduling_stats, .flags = FIELD_F_OPT,
      .doc = "Number of evictions, by cause."),
    F(STRING, LIST, "nominatedClusterNames", 0, .flags = FIELD_F_ATOMIC, .max = 20,
      .doc = "Clusters nominated to run the workload."),
    F(STRING, ONE, "clusterName", 0, .flags = FIELD_F_OPT,
      .doc = "Cluster that runs the workload."),
    F(OBJECT, LIST, "unhealthyNodes", 0, .of = &schema_unhealthy_node,
      .doc = "Failed nodes that the workload used."),
};
static const struct schema schema_v1beta1_workload_status = SCHEMA(
      "io.x-k8s.kueue.v1beta1.WorkloadStatus", v1beta1_workload_status_fields, 0, NULL);

static const struct field v1beta1_workload_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_v1beta1_workload_spec, .flags = FIELD_F_REQUIRED,
      .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 0, .of = &schema_v1beta1_workload_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_v1beta1_workload = SCHEMA("io.x-k8s.kueue.v1beta1.Workload",
      v1beta1_workload_fields, 0, "Pods that are admitted together or not at all.");

static const struct field v1beta1_admission_check_spec_fields[] = {
    F(STRING, ONE, "controllerName", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_KEEP_EMPTY, .min = 1, .max = 253,
      .doc = "Name of the controller that decides the check; immutable."),
    F(INT64, ONE, "retryDelayMinutes", 0, .flags = FIELD_F_OPT, .def = "15",
      .doc = "No longer used."),
    F(OBJECT, ONE, "parameters", 0, .of = &schema_admission_check_parameters_reference,
      .flags = FIELD_F_OPT, .doc = "Object with settings for the controller."),
};
static const struct schema schema_v1beta1_admission_check_spec = SCHEMA(
      "io.x-k8s.kueue.v1beta1.AdmissionCheckSpec", v1beta1_admission_check_spec_fields, 0,
      NULL);

static const struct field v1beta1_admission_check_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_v1beta1_admission_check_spec,
      .flags = FIELD_F_REQUIRED, .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 0, .of = &schema_admission_check_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_v1beta1_admission_check = SCHEMA(
      "io.x-k8s.kueue.v1beta1.AdmissionCheck", v1beta1_admission_check_fields, 0,
      "A check that must pass before a workload is admitted.");
