/*
 * table_keda: the fields of KEDA's ScaledObject. No kind has them yet, and no controller: tests/replay decodes recorded
 * objects with them for core/scale, which works on the views.
 */
#include "api/scaling/view_keda.h"
#include "api/tables/table.h"

#define KEDA(name) "sh.keda.v1alpha1." name
static const char *const behaviors[] = {"static",
                                        "currentReplicas",
                                        "currentReplicasIfHigher",
                                        "currentReplicasIfLower",
                                        "scalingModifiers",
                                        NULL};
static const char *const modifier_types[] = {"AverageValue", "Value", NULL};
static const char *const metric_types[] = {"AverageValue", "Value", "Utilization", NULL};
static const char *const auth_kinds[] = {"TriggerAuthentication", "ClusterTriggerAuthentication",
                                         NULL};

static const struct field target_fields[] = {
    M(keda_target, name, STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the object."),
    M(keda_target, api_version, STRING, ONE, "apiVersion", 0,
      .doc = "Version of its API; apps/v1 unless set."),
    M(keda_target, kind, STRING, ONE, "kind", 0, .doc = "Its kind; Deployment unless set."),
    M(keda_target, env_source_container_name, STRING, ONE, "envSourceContainerName", 0,
      .doc = "Container whose environment metadata may name; the first unless set."),
};
static const struct schema schema_target = SCHEMA(
    KEDA("ScaleTarget"), target_fields, sizeof(struct keda_target), "The object that is scaled.");

static const struct field fallback_fields[] = {
    M(keda_fallback, failure_threshold, INT32, ONE, "failureThreshold", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .min = 0, .max = INT32_MAX,
      .doc = "Failed reads after which a trigger falls back."),
    M(keda_fallback, replicas, INT32, ONE, "replicas", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .min = 0, .max = INT32_MAX,
      .doc = "Replicas to hold while it does."),
    M(keda_fallback, behavior, STRING, ONE, "behavior", 0, .def = "\"static\"", .values = behaviors,
      .doc = "Whether the present number of replicas counts as well."),
};
static const struct schema schema_fallback =
    SCHEMA(KEDA("Fallback"), fallback_fields, sizeof(struct keda_fallback),
           "What holds while triggers cannot be read.");

static const struct field modifiers_fields[] = {
    M(keda_modifiers, formula, STRING, ONE, "formula", 0,
      .doc = "Expression over the names of the triggers."),
    M(keda_modifiers, target, STRING, ONE, "target", 0,
      .doc = "What the formula's value should be, above 0."),
    M(keda_modifiers, activation_target, STRING, ONE, "activationTarget", 0,
      .doc = "Value above which the object is active; 0 unless set."),
    M(keda_modifiers, metric_type, STRING, ONE, "metricType", 0, .values = modifier_types,
      .doc = "AverageValue (the default) or Value."),
};
static const struct schema schema_modifiers =
    SCHEMA(KEDA("ScalingModifiers"), modifiers_fields, sizeof(struct keda_modifiers),
           "One metric that is made of all.");

static const struct field hpa_config_fields[] = {
    M(keda_hpa_config, behavior, OBJECT, ONE, "behavior", 0, .of = &schema_hpa_behavior,
      .doc = "How fast the number of pods may change."),
    M(keda_hpa_config, name, STRING, ONE, "name", 0,
      .doc = "Name of the HorizontalPodAutoscaler; keda-hpa-NAME unless set."),
};
static const struct schema schema_hpa_config =
    SCHEMA(KEDA("HorizontalPodAutoscalerConfig"), hpa_config_fields, sizeof(struct keda_hpa_config),
           "The HorizontalPodAutoscaler that is made.");

static const struct field advanced_fields[] = {
    M(keda_advanced, hpa, OBJECT, ONE, "horizontalPodAutoscalerConfig", 0, .of = &schema_hpa_config,
      .doc = "The HorizontalPodAutoscaler that is made."),
    M(keda_advanced, restore_to_original_replica_count, BOOL, ONE, "restoreToOriginalReplicaCount",
      0, .doc = "Whether the first number of replicas comes back when the object goes."),
    M(keda_advanced, modifiers, OBJECT, ONE, "scalingModifiers", 0, .of = &schema_modifiers,
      .doc = "One metric that is made of all."),
};
static const struct schema schema_advanced =
    SCHEMA(KEDA("AdvancedConfig"), advanced_fields, sizeof(struct keda_advanced), NULL);

static const struct field auth_ref_fields[] = {
    M(keda_auth_ref, name, STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Its name."),
    M(keda_auth_ref, kind, STRING, ONE, "kind", 0, .values = auth_kinds,
      .doc = "TriggerAuthentication (the default) or ClusterTriggerAuthentication."),
};
static const struct schema schema_auth_ref = SCHEMA(KEDA("AuthenticationRef"), auth_ref_fields,
                                                    sizeof(struct keda_auth_ref), "Credentials.");

static const struct field trigger_fields[] = {
    M(keda_trigger, type, STRING, ONE, "type", 0, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Source: prometheus, cron, cpu and so on."),
    M(keda_trigger, name, STRING, ONE, "name", 0, .doc = "Name, for formulas."),
    M(keda_trigger, use_cached_metrics, BOOL, ONE, "useCachedMetrics", 0,
      .doc = "Whether reads of the metric take what was found at the last poll."),
    M(keda_trigger, metadata, STRING, MAP, "metadata", 0,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Settings of the source."),
    M(keda_trigger, authentication_ref, OBJECT, ONE, "authenticationRef", 0, .of = &schema_auth_ref,
      .doc = "Credentials."),
    M(keda_trigger, metric_type, STRING, ONE, "metricType", 0, .values = metric_types,
      .doc = "AverageValue (the default), Value, or Utilization of cpu and memory."),
};
static const struct schema schema_trigger = SCHEMA(
    KEDA("ScaleTriggers"), trigger_fields, sizeof(struct keda_trigger), "A metric to scale by.");

#define COUNT_OF(member_, json_, min_, doc_)                                                       \
    M(scaled_object_spec, member_, INT32, ONE, json_, 0, .flags = FIELD_F_OPT, .min = min_,        \
      .max = INT32_MAX, .doc = doc_)
static const struct field scaled_object_spec_fields[] = {
    M(scaled_object_spec, target, OBJECT, ONE, "scaleTargetRef", 0, .of = &schema_target,
      .flags = FIELD_F_REQUIRED, .doc = "The object that is scaled."),
    COUNT_OF(polling_interval, "pollingInterval", 1, "Seconds between polls; 30 unless set."),
    COUNT_OF(initial_cooldown_period, "initialCooldownPeriod", 0,
             "Seconds after creation before the first step to zero."),
    COUNT_OF(cooldown_period, "cooldownPeriod", 0,
             "Seconds after the last activity before the step to zero; 300 unless set."),
    COUNT_OF(idle_replica_count, "idleReplicaCount", 0, "Replicas while nothing is active."),
    COUNT_OF(min_replica_count, "minReplicaCount", 0, "Fewest replicas; 0 unless set."),
    COUNT_OF(max_replica_count, "maxReplicaCount", 1, "Most replicas; 100 unless set."),
    M(scaled_object_spec, advanced, OBJECT, ONE, "advanced", 0, .of = &schema_advanced,
      .doc = "The HorizontalPodAutoscaler, and metrics that are made of others."),
    M(scaled_object_spec, triggers, OBJECT, LIST, "triggers", 0, .of = &schema_trigger,
      .flags = FIELD_F_REQUIRED, .min = 1, .max = INT32_MAX, .doc = "Metrics to scale by."),
    M(scaled_object_spec, fallback, OBJECT, ONE, "fallback", 0, .of = &schema_fallback,
      .doc = "What holds while triggers cannot be read."),
};
const struct schema schema_scaled_object_spec =
    SCHEMA(KEDA("ScaledObjectSpec"), scaled_object_spec_fields, sizeof(struct scaled_object_spec),
           "What is scaled, by what, and how far.");

static const struct field gvkr_fields[] = {
    M(keda_gvkr, group, STRING, ONE, "group", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "Group."),
    M(keda_gvkr, version, STRING, ONE, "version", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Version."),
    M(keda_gvkr, kind, STRING, ONE, "kind", 0, .flags = FIELD_F_KEEP_EMPTY, .doc = "Kind."),
    M(keda_gvkr, resource, STRING, ONE, "resource", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Resource."),
};
static const struct schema schema_gvkr =
    SCHEMA(KEDA("GroupVersionKindResource"), gvkr_fields, sizeof(struct keda_gvkr), "A resource.");
static const struct field health_fields[] = {
    M(keda_health, number_of_failures, INT32, ONE, "numberOfFailures", 0, .flags = FIELD_F_OPT,
      .doc = "Failed reads since the last that did not fail."),
    M(keda_health, status, STRING, ONE, "status", 0, .doc = "Happy or Failing."),
};
static const struct schema schema_health = SCHEMA(
    KEDA("HealthStatus"), health_fields, sizeof(struct keda_health), "How reads of it went.");
static const struct field activity_fields[] = {
    M(keda_activity, is_active, BOOL, ONE, "isActive", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether it was active at the last poll."),
};
static const struct schema schema_activity =
    SCHEMA(KEDA("TriggerActivityStatus"), activity_fields, sizeof(struct keda_activity), NULL);
static const struct field keda_condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Ready, Active, Fallback, Paused or HPAActive."),
    M(condition, status, STRING, ONE, "status", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "True, False or Unknown."),
    M(condition, reason, STRING, ONE, "reason", 0, .doc = "One CamelCase word."),
    M(condition, message, STRING, ONE, "message", 0, .doc = "Human-readable message."),
};
static const struct schema schema_keda_condition =
    SCHEMA(KEDA("Condition"), keda_condition_fields, sizeof(struct condition), "A condition.");

static const struct field scaled_object_status_fields[] = {
    M(scaled_object_status, scale_target_kind, STRING, ONE, "scaleTargetKind", 0,
      .doc = "Version and kind of the target."),
    M(scaled_object_status, scale_target_gvkr, OBJECT, ONE, "scaleTargetGVKR", 0,
      .of = &schema_gvkr, .doc = "The target's resource."),
    M(scaled_object_status, original_replica_count, INT32, ONE, "originalReplicaCount", 0,
      .flags = FIELD_F_OPT, .doc = "Replicas before the first change."),
    M(scaled_object_status, last_active_ns, TIME, ONE, "lastActiveTime", 0,
      .doc = "When a trigger was active last."),
    M(scaled_object_status, external_metric_names, STRING, LIST, "externalMetricNames", 0,
      .doc = "Metrics that are read from sources."),
    M(scaled_object_status, resource_metric_names, STRING, LIST, "resourceMetricNames", 0,
      .doc = "Resources that count."),
    M(scaled_object_status, composite_scaler_name, STRING, ONE, "compositeScalerName", 0,
      .doc = "Name of the metric of the formula."),
    M(scaled_object_status, conditions, OBJECT, LIST, "conditions", 0, .of = &schema_keda_condition,
      .doc = "Current conditions."),
    M(scaled_object_status, health, OBJECT, MAP, "health", 0, .of = &schema_health,
      .doc = "How reads of each metric went."),
    M(scaled_object_status, triggers_activity, OBJECT, MAP, "triggersActivity", 0,
      .of = &schema_activity, .doc = "Which metrics were active at the last poll."),
    M(scaled_object_status, paused_replica_count, INT32, ONE, "pausedReplicaCount", 0,
      .flags = FIELD_F_OPT, .doc = "Replicas that are held while paused."),
    M(scaled_object_status, hpa_name, STRING, ONE, "hpaName", 0,
      .doc = "The HorizontalPodAutoscaler."),
    M(scaled_object_status, triggers_types, STRING, ONE, "triggersTypes", 0,
      .doc = "Types of the triggers."),
    M(scaled_object_status, authentications_types, STRING, ONE, "authenticationsTypes", 0,
      .doc = "Kinds of credentials in use."),
};
const struct schema schema_scaled_object_status =
    SCHEMA(KEDA("ScaledObjectStatus"), scaled_object_status_fields,
           sizeof(struct scaled_object_status), "What was found and done.");

static const struct field scaled_object_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(scaled_object, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(scaled_object, spec, OBJECT, ONE, "spec", 0, .of = &schema_scaled_object_spec,
      .flags = FIELD_F_REQUIRED, .doc = "Desired state, set by the user."),
    M(scaled_object, status, OBJECT, ONE, "status", 0, .of = &schema_scaled_object_status,
      .doc = "Observed state, set by the controller."),
};
const struct schema schema_scaled_object =
    SCHEMA(KEDA("ScaledObject"), scaled_object_fields, sizeof(struct scaled_object),
           "Scales an object to zero and up by triggers.");
