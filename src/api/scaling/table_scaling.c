/*
 * table_scaling: the fields of HorizontalPodAutoscalers, autoscaling/v2 and v1.
 */
#include "api/tables/table.h"

#include "api/scaling/view_scaling.h"

#define V2(name) "io.k8s.api.autoscaling.v2." name
#define V1(name) "io.k8s.api.autoscaling.v1." name
#define NEEDED FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY

static const struct field scaled_ref_fields[] = {
    M(scaled_ref, kind, STRING, ONE, "kind", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Kind of the object."),
    M(scaled_ref, name, STRING, ONE, "name", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Name of the object."),
    M(scaled_ref, api_version, STRING, ONE, "apiVersion", 3,
      .doc = "Version of the API in which the object is written."),
};
static const struct schema schema_scaled_ref =
    ATOMIC_SCHEMA(V2("CrossVersionObjectReference"), scaled_ref_fields, sizeof(struct scaled_ref),
                  "An object of the same namespace.");

static const struct field hpa_target_fields[] = {
    M(hpa_target, type, STRING, ONE, "type", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Utilization, Value or AverageValue."),
    M(hpa_target, value, QUANTITY, ONE, "value", 2, .flags = FIELD_F_OPT,
      .doc = "Value that the metric should have."),
    M(hpa_target, average_value, QUANTITY, ONE, "averageValue", 3, .flags = FIELD_F_OPT,
      .doc = "Value that the metric should have for each pod."),
    M(hpa_target, average_utilization, INT32, ONE, "averageUtilization", 4, .flags = FIELD_F_OPT,
      .doc = "Percentage of what the pods request that they should use."),
};
static const struct schema schema_hpa_target = SCHEMA(
    V2("MetricTarget"), hpa_target_fields, sizeof(struct hpa_target), "What a metric should be.");

static const struct field hpa_value_fields[] = {
    M(hpa_value, value, QUANTITY, ONE, "value", 1, .flags = FIELD_F_OPT,
      .doc = "Value of the metric."),
    M(hpa_value, average_value, QUANTITY, ONE, "averageValue", 2, .flags = FIELD_F_OPT,
      .doc = "Value of the metric for each pod."),
    M(hpa_value, average_utilization, INT32, ONE, "averageUtilization", 3, .flags = FIELD_F_OPT,
      .doc = "Percentage of what the pods request that they use."),
};
static const struct schema schema_hpa_value = SCHEMA(V2("MetricValueStatus"), hpa_value_fields,
                                                     sizeof(struct hpa_value), "What a metric is.");

static const struct field hpa_metric_name_fields[] = {
    M(hpa_metric_name, name, STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Name of the metric."),
    M(hpa_metric_name, selector, OBJECT, ONE, "selector", 2, .of = &schema_label_selector,
      .flags = FIELD_F_OPT, .doc = "Labels of the metric."),
};
static const struct schema schema_hpa_metric_name = SCHEMA(
    V2("MetricIdentifier"), hpa_metric_name_fields, sizeof(struct hpa_metric_name), "A metric.");

#define DOC_TARGET "What the metric should be."
#define DOC_CURRENT "What the metric is."
#define DOC_METRIC "The metric."
static const struct field hpa_object_source_fields[] = {
    M(hpa_object_source, described_object, OBJECT, ONE, "describedObject", 1,
      .of = &schema_scaled_ref, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Object that the metric is of."),
    M(hpa_object_source, target, OBJECT, ONE, "target", 2, .of = &schema_hpa_target,
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_TARGET),
    M(hpa_object_source, metric, OBJECT, ONE, "metric", 3, .of = &schema_hpa_metric_name,
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_METRIC),
};
static const struct schema schema_hpa_object_source =
    SCHEMA(V2("ObjectMetricSource"), hpa_object_source_fields, sizeof(struct hpa_object_source),
           "A metric of one object.");
static const struct field hpa_object_status_fields[] = {
    M(hpa_object_source, metric, OBJECT, ONE, "metric", 1, .of = &schema_hpa_metric_name,
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_METRIC),
    M(hpa_object_source, current, OBJECT, ONE, "current", 2, .of = &schema_hpa_value,
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_CURRENT),
    M(hpa_object_source, described_object, OBJECT, ONE, "describedObject", 3,
      .of = &schema_scaled_ref, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Object that the metric is of."),
};
static const struct schema schema_hpa_object_status =
    SCHEMA(V2("ObjectMetricStatus"), hpa_object_status_fields, sizeof(struct hpa_object_source),
           "A metric of one object.");

#define PLAIN(name_, last_, schema_, doc_)                                                         \
    M(hpa_plain_source, metric, OBJECT, ONE, "metric", 1, .of = &schema_hpa_metric_name,           \
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_METRIC),                                             \
        M(hpa_plain_source, last_, OBJECT, ONE, name_, 2, .of = &schema_,                          \
          .flags = FIELD_F_KEEP_EMPTY, .doc = doc_)
static const struct field hpa_plain_source_fields[] = {
    PLAIN("target", target, schema_hpa_target, DOC_TARGET)};
static const struct field hpa_plain_status_fields[] = {
    PLAIN("current", current, schema_hpa_value, DOC_CURRENT)};
static const struct schema schema_hpa_pods_source =
    SCHEMA(V2("PodsMetricSource"), hpa_plain_source_fields, sizeof(struct hpa_plain_source),
           "A metric that each pod has.");
static const struct schema schema_hpa_pods_status =
    SCHEMA(V2("PodsMetricStatus"), hpa_plain_status_fields, sizeof(struct hpa_plain_source),
           "A metric that each pod has.");
static const struct schema schema_hpa_external_source =
    SCHEMA(V2("ExternalMetricSource"), hpa_plain_source_fields, sizeof(struct hpa_plain_source),
           "A metric of something outside the cluster.");
static const struct schema schema_hpa_external_status =
    SCHEMA(V2("ExternalMetricStatus"), hpa_plain_status_fields, sizeof(struct hpa_plain_source),
           "A metric of something outside the cluster.");

#define DOC_RESOURCE "Resource: cpu or memory."
static const struct field hpa_resource_source_fields[] = {
    M(hpa_resource_source, name, STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = DOC_RESOURCE),
    M(hpa_resource_source, target, OBJECT, ONE, "target", 2, .of = &schema_hpa_target,
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_TARGET),
};
static const struct schema schema_hpa_resource_source =
    SCHEMA(V2("ResourceMetricSource"), hpa_resource_source_fields,
           sizeof(struct hpa_resource_source), "A resource that the pods use.");
static const struct field hpa_resource_status_fields[] = {
    M(hpa_resource_source, name, STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = DOC_RESOURCE),
    M(hpa_resource_source, current, OBJECT, ONE, "current", 2, .of = &schema_hpa_value,
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_CURRENT),
};
static const struct schema schema_hpa_resource_status =
    SCHEMA(V2("ResourceMetricStatus"), hpa_resource_status_fields,
           sizeof(struct hpa_resource_source), "A resource that the pods use.");
static const struct field hpa_container_source_fields[] = {
    M(hpa_resource_source, name, STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = DOC_RESOURCE),
    M(hpa_resource_source, target, OBJECT, ONE, "target", 2, .of = &schema_hpa_target,
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_TARGET),
    M(hpa_resource_source, container, STRING, ONE, "container", 3, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Container that uses it."),
};
static const struct schema schema_hpa_container_source =
    SCHEMA(V2("ContainerResourceMetricSource"), hpa_container_source_fields,
           sizeof(struct hpa_resource_source), "A resource that one container of the pods uses.");
static const struct field hpa_container_status_fields[] = {
    M(hpa_resource_source, name, STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = DOC_RESOURCE),
    M(hpa_resource_source, current, OBJECT, ONE, "current", 2, .of = &schema_hpa_value,
      .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_CURRENT),
    M(hpa_resource_source, container, STRING, ONE, "container", 3, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Container that uses it."),
};
static const struct schema schema_hpa_container_status =
    SCHEMA(V2("ContainerResourceMetricStatus"), hpa_container_status_fields,
           sizeof(struct hpa_resource_source), "A resource that one container of the pods uses.");

#define DOC_TYPE "ContainerResource, External, Object, Pods or Resource."
#define METRIC(end_)                                                                               \
    M(hpa_metric, type, STRING, ONE, "type", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = DOC_TYPE),     \
        M(hpa_metric, object, OBJECT, ONE, "object", 2, .of = &schema_hpa_object_##end_,           \
          .flags = FIELD_F_OPT, .doc = "Of the type Object: a metric of one object."),             \
        M(hpa_metric, pods, OBJECT, ONE, "pods", 3, .of = &schema_hpa_pods_##end_,                 \
          .flags = FIELD_F_OPT, .doc = "Of the type Pods: a metric that each pod has."),           \
        M(hpa_metric, resource, OBJECT, ONE, "resource", 4, .of = &schema_hpa_resource_##end_,     \
          .flags = FIELD_F_OPT, .doc = "Of the type Resource: cpu or memory."),                    \
        M(hpa_metric, external, OBJECT, ONE, "external", 5, .of = &schema_hpa_external_##end_,     \
          .flags = FIELD_F_OPT, .doc = "Of the type External: a metric of something else."),       \
        M(hpa_metric, container_resource, OBJECT, ONE, "containerResource", 7,                     \
          .of = &schema_hpa_container_##end_, .flags = FIELD_F_OPT,                                \
          .doc = "Of the type ContainerResource: cpu or memory of one container.")
static const struct field hpa_metric_fields[] = {METRIC(source)};
static const struct schema schema_hpa_metric =
    SCHEMA(V2("MetricSpec"), hpa_metric_fields, sizeof(struct hpa_metric), "A metric to scale by.");
static const struct field hpa_metric_status_fields[] = {METRIC(status)};
static const struct schema schema_hpa_metric_status =
    SCHEMA(V2("MetricStatus"), hpa_metric_status_fields, sizeof(struct hpa_metric),
           "What a metric was last.");

static const struct field hpa_policy_fields[] = {
    M(hpa_policy, type, STRING, ONE, "type", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods or Percent."),
    M(hpa_policy, value, INT32, ONE, "value", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods, or percentage, by which the number may change in the period."),
    M(hpa_policy, period_seconds, INT32, ONE, "periodSeconds", 3, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Length of the period in seconds, at most 1800."),
};
static const struct schema schema_hpa_policy =
    SCHEMA(V2("HPAScalingPolicy"), hpa_policy_fields, sizeof(struct hpa_policy),
           "How fast the number may change.");

static const struct field hpa_rules_fields[] = {
    M(hpa_rules, select_policy, STRING, ONE, "selectPolicy", 1, .flags = FIELD_F_OPT,
      .doc = "Max, Min or Disabled: which policy counts."),
    M(hpa_rules, policies, OBJECT, LIST, "policies", 2, .of = &schema_hpa_policy,
      .flags = FIELD_F_ATOMIC, .doc = "How fast the number may change."),
    M(hpa_rules, stabilization_window_seconds, INT32, ONE, "stabilizationWindowSeconds", 3,
      .flags = FIELD_F_OPT, .doc = "Seconds for which past recommendations count, at most 3600."),
    M(hpa_rules, tolerance, QUANTITY, ONE, "tolerance", 4, .flags = FIELD_F_OPT,
      .doc = "Deviation from the target that changes nothing; 0.1 unless set."),
};
static const struct schema schema_hpa_rules = SCHEMA(
    V2("HPAScalingRules"), hpa_rules_fields, sizeof(struct hpa_rules), "Rules for one direction.");

static const struct field hpa_behavior_fields[] = {
    M(hpa_behavior, scale_up, OBJECT, ONE, "scaleUp", 1, .of = &schema_hpa_rules,
      .flags = FIELD_F_OPT, .doc = "Rules for more pods."),
    M(hpa_behavior, scale_down, OBJECT, ONE, "scaleDown", 2, .of = &schema_hpa_rules,
      .flags = FIELD_F_OPT, .doc = "Rules for fewer pods."),
};
const struct schema schema_hpa_behavior =
    SCHEMA(V2("HorizontalPodAutoscalerBehavior"), hpa_behavior_fields, sizeof(struct hpa_behavior),
           "How fast the number of pods may change.");

static const struct field hpa_spec_fields[] = {
    M(hpa_spec, scale_target_ref, OBJECT, ONE, "scaleTargetRef", 1, .of = &schema_scaled_ref,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Object whose pods are counted and scaled."),
    M(hpa_spec, min_replicas, INT32, ONE, "minReplicas", 2, .flags = FIELD_F_OPT,
      .doc = "Fewest pods; 1 unless set."),
    M(hpa_spec, max_replicas, INT32, ONE, "maxReplicas", 3, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Most pods."),
    M(hpa_spec, metrics, OBJECT, LIST, "metrics", 4, .of = &schema_hpa_metric,
      .flags = FIELD_F_ATOMIC,
      .doc = "Metrics; the one that asks for most pods counts. CPU at 80 % unless set."),
    M(hpa_spec, behavior, OBJECT, ONE, "behavior", 5, .of = &schema_hpa_behavior,
      .flags = FIELD_F_OPT, .doc = "How fast the number of pods may change."),
};
const struct schema schema_hpa_spec =
    SCHEMA(V2("HorizontalPodAutoscalerSpec"), hpa_spec_fields, sizeof(struct hpa_spec),
           "What is scaled, by what, and how far.");

static const struct field hpa_condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "ScalingActive, AbleToScale, ScalingLimited or ScaledToZero."),
    M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "True, False or Unknown."),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 3,
      .doc = "Time of the last change of status."),
    M(condition, reason, STRING, ONE, "reason", 4, .doc = "One CamelCase word."),
    M(condition, message, STRING, ONE, "message", 5, .doc = "Human-readable message."),
    M(condition, observed_generation, INT64, ONE, "observedGeneration", 6,
      .doc = "Generation that the condition is of."),
};
static const struct schema schema_hpa_condition =
    SCHEMA(V2("HorizontalPodAutoscalerCondition"), hpa_condition_fields, sizeof(struct condition),
           "A condition of the scaling.");

static const struct field hpa_status_fields[] = {
    M(hpa_status, observed_generation, INT64, ONE, "observedGeneration", 1,
      .doc = "Generation that the status is of."),
    M(hpa_status, last_scale_ns, TIME, ONE, "lastScaleTime", 2, .flags = FIELD_F_OPT,
      .doc = "Time of the last change of the number of pods."),
    M(hpa_status, current_replicas, INT32, ONE, "currentReplicas", 3, .doc = "Pods there are."),
    M(hpa_status, desired_replicas, INT32, ONE, "desiredReplicas", 4, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods there should be."),
    M(hpa_status, current_metrics, OBJECT, LIST, "currentMetrics", 5,
      .of = &schema_hpa_metric_status, .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "What the metrics were last, in the order of the spec."),
    M(hpa_status, conditions, OBJECT, LIST, "conditions", 6, .of = &schema_hpa_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
};
const struct schema schema_hpa_status =
    SCHEMA(V2("HorizontalPodAutoscalerStatus"), hpa_status_fields, sizeof(struct hpa_status),
           "What was found and done.");

static const struct field hpa_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(hpa, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(hpa, spec, OBJECT, ONE, "spec", 2, .of = &schema_hpa_spec, .def = "{}",
      .doc = "Desired state, set by the user."),
    M(hpa, status, OBJECT, ONE, "status", 3, .of = &schema_hpa_status,
      .doc = "Observed state, set by the controller."),
};
const struct schema schema_hpa =
    SCHEMA(V2("HorizontalPodAutoscaler"), hpa_fields, sizeof(struct hpa),
           "Scales the pods of an object by what they use, or by other metrics.");

/* ---- the scale ---- */

static const struct field scale_view_spec_fields[] = {
    M(scale_view_spec, replicas, INT32, ONE, "replicas", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Number of replicas wanted."),
};
static const struct schema schema_scale_view_spec =
    SCHEMA(V1("ScaleSpec"), scale_view_spec_fields, sizeof(struct scale_view_spec), NULL);
static const struct field scale_view_fields[] = {
    M(scale_view, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(scale_view, spec, OBJECT, ONE, "spec", 2, .of = &schema_scale_view_spec,
      .doc = "Desired state."),
};
const struct schema schema_scale_view =
    SCHEMA(V1("Scale"), scale_view_fields, sizeof(struct scale_view), NULL);

/* ---- autoscaling/v1 ---- */

static const struct field v1_ref_fields[] = {
    F(STRING, ONE, "kind", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Kind of the object."),
    F(STRING, ONE, "name", 2, .flags = FIELD_F_KEEP_EMPTY, .doc = "Name of the object."),
    F(STRING, ONE, "apiVersion", 3, .doc = "Version of the API in which the object is written."),
};
static const struct schema schema_v1_ref = ATOMIC_SCHEMA(
    V1("CrossVersionObjectReference"), v1_ref_fields, 0, "An object of the same namespace.");
static const struct field v1_spec_fields[] = {
    F(OBJECT, ONE, "scaleTargetRef", 1, .of = &schema_v1_ref, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Object whose pods are counted and scaled."),
    F(INT32, ONE, "minReplicas", 2, .flags = FIELD_F_OPT, .doc = "Fewest pods; 1 unless set."),
    F(INT32, ONE, "maxReplicas", 3, .flags = FIELD_F_KEEP_EMPTY, .doc = "Most pods."),
    F(INT32, ONE, "targetCPUUtilizationPercentage", 4, .flags = FIELD_F_OPT,
      .doc = "Percentage of the CPU that the pods request which they should use."),
};
static const struct schema schema_v1_spec = SCHEMA(
    V1("HorizontalPodAutoscalerSpec"), v1_spec_fields, 0, "What is scaled, by what, and how far.");
static const struct field v1_status_fields[] = {
    F(INT64, ONE, "observedGeneration", 1, .flags = FIELD_F_OPT,
      .doc = "Generation that the status is of."),
    F(TIME, ONE, "lastScaleTime", 2, .flags = FIELD_F_OPT,
      .doc = "Time of the last change of the number of pods."),
    F(INT32, ONE, "currentReplicas", 3, .flags = FIELD_F_KEEP_EMPTY, .doc = "Pods there are."),
    F(INT32, ONE, "desiredReplicas", 4, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods there should be."),
    F(INT32, ONE, "currentCPUUtilizationPercentage", 5, .flags = FIELD_F_OPT,
      .doc = "Percentage of the CPU that the pods request which they use."),
};
static const struct schema schema_v1_status =
    SCHEMA(V1("HorizontalPodAutoscalerStatus"), v1_status_fields, 0, "What was found and done.");
static const struct field v1_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta, .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 2, .of = &schema_v1_spec, .def = "{}",
      .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_v1_status,
      .doc = "Observed state, set by the controller."),
};
const struct schema schema_hpa_v1 =
    SCHEMA(V1("HorizontalPodAutoscaler"), v1_fields, 0,
           "Scales the pods of an object by the CPU that they use.");
