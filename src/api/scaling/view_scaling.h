/* view_scaling: the C views of autoscaling/v2: what a HorizontalPodAutoscaler wants and what it saw last. */
#ifndef BERTH_API_VIEW_SCALING_H
#define BERTH_API_VIEW_SCALING_H

#include "api/tables/view_meta.h"

/* An object of the same namespace (CrossVersionObjectReference). */
struct scaled_ref {
    struct str api_version, kind, name;
};

struct hpa_target {
    struct str type; /* Utilization, Value, AverageValue */
    struct opt_quantity value, average_value;
    struct opt_i32 average_utilization;
};
/* What a metric is now. */
struct hpa_value {
    struct opt_quantity value, average_value;
    struct opt_i32 average_utilization;
};
struct hpa_metric_name {
    struct str name;
    struct label_selector *selector; /* of the metric's own labels; NULL: any */
};

/* A source of a metric: what is wanted of it (target) in a spec, what it is (current) in a status. */
struct hpa_object_source {
    struct scaled_ref *described_object;
    struct hpa_metric_name *metric;
    struct hpa_target *target;
    struct hpa_value *current;
};
struct hpa_plain_source { /* Pods, External */
    struct hpa_metric_name *metric;
    struct hpa_target *target;
    struct hpa_value *current;
};
struct hpa_resource_source { /* Resource; ContainerResource with a container */
    struct str name, container;
    struct hpa_target *target;
    struct hpa_value *current;
};
struct hpa_metric {
    struct str
        type; /* ContainerResource, External, Object, Pods, Resource; empty in a status: it failed */
    struct hpa_object_source *object;
    struct hpa_plain_source *pods, *external;
    struct hpa_resource_source *resource, *container_resource;
};
struct hpa_metric_list {
    struct hpa_metric *v;
    size_t n;
};

struct hpa_policy {
    struct str type; /* Pods, Percent */
    int32_t value, period_seconds;
};
struct hpa_rules {
    struct opt_i32 stabilization_window_seconds;
    struct str select_policy; /* Max (or empty), Min, Disabled */
    struct {
        struct hpa_policy *v;
        size_t n;
    } policies;
    struct opt_quantity tolerance;
};
struct hpa_behavior {
    struct hpa_rules *scale_up, *scale_down;
};

struct hpa_spec {
    struct scaled_ref *scale_target_ref;
    struct opt_i32 min_replicas;
    int32_t max_replicas;
    struct hpa_metric_list metrics;
    struct hpa_behavior *behavior;
};
struct hpa_status {
    int64_t observed_generation;
    int64_t last_scale_ns;
    int32_t current_replicas, desired_replicas;
    struct hpa_metric_list current_metrics;
    struct condition_list conditions;
};
struct hpa {
    struct meta *metadata;
    struct hpa_spec *spec;
    struct hpa_status *status;
};

/* Of a Scale, what is asked for. */
struct scale_view_spec {
    int32_t replicas;
};
struct scale_view {
    struct meta *metadata;
    struct scale_view_spec *spec;
};

extern const struct schema schema_scale_view;
extern const struct schema schema_hpa, schema_hpa_spec, schema_hpa_status, schema_hpa_behavior;
/* autoscaling/v1: the same object with one target, of the CPU; the rest stands in annotations. */
extern const struct schema schema_hpa_v1;

#endif
