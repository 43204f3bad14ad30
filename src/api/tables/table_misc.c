/*
 * table_misc: the fields of Lease, PriorityClass, RuntimeClass, LimitRange, Event and Eviction.
 */
#include "api/tables/view_misc.h"

#include "api/tables/table.h"

static const char *const never_preempt_lower_priority_values[] = {
    "Never", "PreemptLowerPriority", NULL,
};

static const struct field limit_range_item_fields[] = {
    M(limit_range_item, type, STRING, ONE, "type", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Container, Pod or PersistentVolumeClaim."),
    M(limit_range_item, max, QUANTITY, MAP, "max", 2, .doc = "Maximum that can be requested."),
    M(limit_range_item, min, QUANTITY, MAP, "min", 3, .doc = "Minimum that must be requested."),
    M(limit_range_item, default_, QUANTITY, MAP, "default", 4,
      .doc = "Limit for containers that have none."),
    M(limit_range_item, default_request, QUANTITY, MAP, "defaultRequest", 5,
      .doc = "Request for containers that have none."),
    M(limit_range_item, max_limit_request_ratio, QUANTITY, MAP, "maxLimitRequestRatio", 6,
      .doc = "Maximum ratio of limit to request."),
};
static const struct schema schema_limit_range_item = SCHEMA("io.k8s.api.core.v1.LimitRangeItem",
      limit_range_item_fields, sizeof(struct limit_range_item), NULL);

static const struct field limit_range_spec_fields[] = {
    M(limit_range_spec, limits, OBJECT, LIST, "limits", 1, .of = &schema_limit_range_item,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "One entry for each type of object."),
};
static const struct schema schema_limit_range_spec = SCHEMA("io.k8s.api.core.v1.LimitRangeSpec",
      limit_range_spec_fields, sizeof(struct limit_range_spec), NULL);

static const struct field limit_range_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(limit_range, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(limit_range, spec, OBJECT, ONE, "spec", 2, .of = &schema_limit_range_spec,
      .doc = "Desired state, set by the user."),
};
const struct schema schema_limit_range = SCHEMA("io.k8s.api.core.v1.LimitRange",
      limit_range_fields, sizeof(struct limit_range),
      "Limits and defaults for resource requests in a namespace.");

static const struct field event_source_fields[] = {
    M(event_source, component, STRING, ONE, "component", 1,
      .doc = "Component that reported the event."),
    M(event_source, host, STRING, ONE, "host", 2, .doc = "Host to connect to."),
};
static const struct schema schema_event_source = SCHEMA("io.k8s.api.core.v1.EventSource",
      event_source_fields, sizeof(struct event_source), NULL);

static const struct field event_series_fields[] = {
    M(event_series, count, INT32, ONE, "count", 1, .doc = "Number of occurrences."),
    M(event_series, last_observed_ns, MICROTIME, ONE, "lastObservedTime", 2,
      .doc = "Time of the last occurrence."),
};
static const struct schema schema_event_series = SCHEMA("io.k8s.api.core.v1.EventSeries",
      event_series_fields, sizeof(struct event_series), NULL);

static const struct field event_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(event, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Standard object metadata."),
    M(event, involved_object, OBJECT, ONE, "involvedObject", 2, .of = &schema_object_reference,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY, .doc = "Object it happened to."),
    M(event, reason, STRING, ONE, "reason", 3,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(event, message, STRING, ONE, "message", 4,
      .doc = "Human-readable message."),
    M(event, source, OBJECT, ONE, "source", 5, .of = &schema_event_source,
      .doc = "Reporting component (deprecated form)."),
    M(event, first_ns, TIME, ONE, "firstTimestamp", 6, .doc = "Time of the first occurrence."),
    M(event, last_ns, TIME, ONE, "lastTimestamp", 7, .doc = "Time of the last occurrence."),
    M(event, count, INT32, ONE, "count", 8, .doc = "Number of occurrences."),
    M(event, type, STRING, ONE, "type", 9, .doc = "Normal or Warning."),
    M(event, event_ns, MICROTIME, ONE, "eventTime", 10, .doc = "Time of the event."),
    M(event, series, OBJECT, ONE, "series", 11, .of = &schema_event_series, .flags = FIELD_F_OPT,
      .doc = "Number of occurrences."),
    M(event, action, STRING, ONE, "action", 12, .doc = "Action that was taken or failed."),
    M(event, related, OBJECT, ONE, "related", 13, .of = &schema_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Related object."),
    M(event, reporting_component, STRING, ONE, "reportingComponent", 14,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Name of the reporting controller."),
    M(event, reporting_instance, STRING, ONE, "reportingInstance", 15,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Instance of the reporting controller."),
};
const struct schema schema_event = SCHEMA("io.k8s.api.core.v1.Event", event_fields,
      sizeof(struct event), "Something that happened to an object.");

static const struct field lease_spec_fields[] = {
    M(lease_spec, holder_identity, STRING, ONE, "holderIdentity", 1, .flags = FIELD_F_OPT,
      .doc = "Identity of the holder."),
    M(lease_spec, lease_duration_seconds, INT32, ONE, "leaseDurationSeconds", 2,
      .flags = FIELD_F_OPT, .min = 1, .max = INT32_MAX,
      .doc = "Seconds after the last renewal when the lease expires."),
    M(lease_spec, acquire_ns, MICROTIME, ONE, "acquireTime", 3, .flags = FIELD_F_OPT,
      .doc = "Time at which the holder acquired the lease."),
    M(lease_spec, renew_ns, MICROTIME, ONE, "renewTime", 4, .flags = FIELD_F_OPT,
      .doc = "Time of the last renewal."),
    M(lease_spec, lease_transitions, INT32, ONE, "leaseTransitions", 5, .flags = FIELD_F_OPT,
      .max = INT32_MAX, .doc = "Number of transitions between holders."),
    M(lease_spec, strategy, STRING, ONE, "strategy", 6, .flags = FIELD_F_OPT,
      .doc = "Strategy by which the holder is chosen."),
    M(lease_spec, preferred_holder, STRING, ONE, "preferredHolder", 7, .flags = FIELD_F_OPT,
      .doc = "Preferred next holder."),
};
static const struct schema schema_lease_spec = SCHEMA("io.k8s.api.coordination.v1.LeaseSpec",
      lease_spec_fields, sizeof(struct lease_spec), NULL);

static const struct field lease_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(lease, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(lease, spec, OBJECT, ONE, "spec", 2, .of = &schema_lease_spec,
      .doc = "Desired state, set by the user."),
};
const struct schema schema_lease = SCHEMA("io.k8s.api.coordination.v1.Lease", lease_fields,
      sizeof(struct lease), "A lock with an expiry, used for leader election.");

static const struct field priority_class_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(priority_class, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(priority_class, value, INT32, ONE, "value", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "The priority; higher goes first. It cannot change."),
    M(priority_class, global_default, BOOL, ONE, "globalDefault", 3,
      .doc = "Whether pods without a class get it."),
    M(priority_class, description, STRING, ONE, "description", 4,
      .doc = "Description: when to use the class."),
    M(priority_class, preemption_policy, STRING, ONE, "preemptionPolicy", 5,
      .flags = FIELD_F_OPT | FIELD_F_IMMUTABLE, .def = "\"PreemptLowerPriority\"",
      .values = never_preempt_lower_priority_values,
      .doc = "Preemption policy: PreemptLowerPriority or Never."),
};
const struct schema schema_priority_class = SCHEMA("io.k8s.api.scheduling.v1.PriorityClass",
      priority_class_fields, sizeof(struct priority_class),
      "A named priority for pods.");

static const struct field overhead_fields[] = {
    M(runtime_overhead, pod_fixed, QUANTITY, MAP, "podFixed", 1, .doc = "Amounts for each pod."),
};
static const struct schema schema_overhead = SCHEMA("io.k8s.api.node.v1.Overhead", overhead_fields,
      sizeof(struct runtime_overhead), NULL);

static const struct field scheduling_fields[] = {
    M(runtime_scheduling, node_selector, STRING, MAP, "nodeSelector", 1, .flags = FIELD_F_ATOMIC,
      .doc = "Node selector: labels that a node must have."),
    M(runtime_scheduling, tolerations, OBJECT, LIST, "tolerations", 2, .of = &schema_toleration,
      .flags = FIELD_F_ATOMIC, .doc = "Tolerations."),
};
static const struct schema schema_scheduling = SCHEMA(
    "io.k8s.api.node.v1.Scheduling", scheduling_fields, sizeof(struct runtime_scheduling), NULL);

static const struct field runtime_class_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(runtime_class, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(runtime_class, handler, STRING, ONE, "handler", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_IMMUTABLE | FIELD_F_KEEP_EMPTY,
      .format = "dns1123-label", .doc = "Name of the runtime on the node."),
    M(runtime_class, overhead, OBJECT, ONE, "overhead", 3, .of = &schema_overhead,
      .flags = FIELD_F_OPT, .doc = "Overhead of a pod beyond its containers."),
    M(runtime_class, scheduling, OBJECT, ONE, "scheduling", 4, .of = &schema_scheduling,
      .flags = FIELD_F_OPT, .doc = "Nodes that support the runtime."),
};
const struct schema schema_runtime_class = SCHEMA("io.k8s.api.node.v1.RuntimeClass",
      runtime_class_fields, sizeof(struct runtime_class), "A container runtime configuration.");

static const struct field events_event_series_fields[] = {
    F(INT32, ONE, "count", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Number of occurrences."),
    F(MICROTIME, ONE, "lastObservedTime", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Time of the last occurrence."),
};
static const struct schema schema_events_event_series = SCHEMA("io.k8s.api.events.v1.EventSeries",
      events_event_series_fields, 0, NULL);

static const struct field events_event_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Standard object metadata."),
    F(MICROTIME, ONE, "eventTime", 2, .flags = FIELD_F_KEEP_EMPTY, .doc = "Time of the event."),
    F(OBJECT, ONE, "series", 3, .of = &schema_events_event_series, .flags = FIELD_F_OPT,
      .doc = "Number of occurrences."),
    F(STRING, ONE, "reportingController", 4, .doc = "Name of the reporting controller."),
    F(STRING, ONE, "reportingInstance", 5, .doc = "Instance of the reporting controller."),
    F(STRING, ONE, "action", 6, .doc = "Action that was taken or failed."),
    F(STRING, ONE, "reason", 7, .doc = "Machine-readable reason, one CamelCase word."),
    F(OBJECT, ONE, "regarding", 8, .of = &schema_object_reference, .flags = FIELD_F_ATOMIC,
      .doc = "Object it happened to."),
    F(OBJECT, ONE, "related", 9, .of = &schema_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Related object."),
    F(STRING, ONE, "note", 10, .doc = "Human-readable message."),
    F(STRING, ONE, "type", 11, .doc = "Normal or Warning."),
    F(OBJECT, ONE, "deprecatedSource", 12, .of = &schema_event_source,
      .doc = "Reporting component (deprecated form)."),
    F(TIME, ONE, "deprecatedFirstTimestamp", 13, .doc = "Time of the first occurrence."),
    F(TIME, ONE, "deprecatedLastTimestamp", 14, .doc = "Time of the last occurrence."),
    F(INT32, ONE, "deprecatedCount", 15, .doc = "Number of occurrences."),
};
const struct schema schema_events_event = SCHEMA("io.k8s.api.events.v1.Event",
      events_event_fields, 0, "Something that happened to an object.");

static const struct field eviction_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(eviction, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(eviction, delete_options, OBJECT, ONE, "deleteOptions", 2, .of = &schema_delete_options,
      .flags = FIELD_F_OPT, .doc = "Options for the deletion of the pod."),
};
const struct schema schema_eviction = SCHEMA("io.k8s.api.policy.v1.Eviction", eviction_fields,
      sizeof(struct eviction), "Evicts a pod, if its disruption budget allows.");
