/* view_keda: the C views of KEDA's ScaledObject: what is scaled by which triggers, and what was found. */
#ifndef BERTH_API_VIEW_KEDA_H
#define BERTH_API_VIEW_KEDA_H

#include "api/scaling/view_scaling.h"

struct keda_target {
    struct str name, api_version, kind, env_source_container_name;
};
struct keda_fallback {
    int32_t failure_threshold, replicas;
    struct str
        behavior; /* static, currentReplicas, currentReplicasIfHigher, ...IfLower, scalingModifiers */
};
struct keda_modifiers {
    struct str formula, target, activation_target, metric_type;
};
struct keda_hpa_config {
    struct hpa_behavior *behavior;
    struct str name;
};
struct keda_advanced {
    struct keda_hpa_config *hpa;
    struct keda_modifiers *modifiers;
    bool restore_to_original_replica_count;
};
struct keda_auth_ref {
    struct str name, kind;
};
struct keda_trigger {
    struct str type, name, metric_type;
    struct str_map metadata;
    bool use_cached_metrics;
    struct keda_auth_ref *authentication_ref;
};
struct keda_trigger_list {
    struct keda_trigger *v;
    size_t n;
};
struct scaled_object_spec {
    struct keda_target *target;
    struct opt_i32 polling_interval, initial_cooldown_period, cooldown_period;
    struct opt_i32 idle_replica_count, min_replica_count, max_replica_count;
    struct keda_advanced *advanced;
    struct keda_trigger_list triggers;
    struct keda_fallback *fallback;
};

struct keda_gvkr {
    struct str group, version, kind, resource;
};
struct keda_health {
    struct opt_i32 number_of_failures;
    struct str status; /* Happy, Failing */
};
struct keda_health_pair {
    struct str key;
    struct keda_health *value;
};
struct keda_activity {
    bool is_active;
};
struct keda_activity_pair {
    struct str key;
    struct keda_activity *value;
};
struct keda_health_map {
    struct keda_health_pair *v;
    size_t n;
};
struct keda_activity_map {
    struct keda_activity_pair *v;
    size_t n;
};
struct scaled_object_status {
    struct str scale_target_kind; /* "apps/v1.Deployment" */
    struct keda_gvkr *scale_target_gvkr;
    struct opt_i32 original_replica_count, paused_replica_count;
    int64_t last_active_ns; /* 0: never */
    struct str_list external_metric_names, resource_metric_names;
    struct str composite_scaler_name, hpa_name, triggers_types, authentications_types;
    struct condition_list conditions;
    struct keda_health_map health;
    struct keda_activity_map triggers_activity;
};
struct scaled_object {
    struct meta *metadata;
    struct scaled_object_spec *spec;
    struct scaled_object_status *status;
};

extern const struct schema schema_scaled_object, schema_scaled_object_spec;
extern const struct schema schema_scaled_object_status;

#endif
