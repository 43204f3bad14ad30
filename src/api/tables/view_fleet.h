/*
 * view_fleet: the C views of what is computed about all GPUs: Fleet and FleetHistory (berth.dev/v1alpha1).
 */
#ifndef BERTH_API_VIEW_FLEET_H
#define BERTH_API_VIEW_FLEET_H

#include "api/tables/view_meta.h"

struct fleet_count { /* of one resource of a type */
    struct str resource;
    int64_t total, used, reserved, free, waiting, broken;
};
struct fleet_type_view {
    struct str flavor, product;
    struct {
        struct fleet_count *v;
        size_t n;
    } resources;
};
struct fleet_instance_view {
    struct str profile; /* empty: the whole GPU */
    int64_t start, size;
    bool used;
    struct opt_double utilization;
    struct str namespace, pod, workload; /* empty for who may not see it */
};
struct fleet_card_view {
    struct str node;
    int64_t index;
    struct str uuid, model, flavor;
    struct opt_double memory_gib;
    int64_t slices;
    bool mig_enabled;
    struct str health, trouble;
    struct opt_double temperature, power, utilization, memory_used; /* unset: not known */
    struct {
        struct fleet_instance_view *v;
        size_t n;
    } instances;
};
struct fleet_attention_view {
    struct str severity, text, kind, namespace, name;
};
struct fleet_view {
    struct meta *metadata;
    struct {
        struct fleet_type_view *v;
        size_t n;
    } types;
    struct {
        struct fleet_card_view *v;
        size_t n;
    } cards;
    struct {
        struct fleet_attention_view *v;
        size_t n;
    } attention;
    int64_t computed_ns;
};
struct fleet_sample_view {
    int64_t at_ns;
    double total, used, reserved;
    struct opt_double busy_pct;
};
struct fleet_history_view {
    struct meta *metadata;
    struct str flavor, product;
    struct {
        struct fleet_sample_view *v;
        size_t n;
    } samples;
};

extern const struct schema schema_fleet, schema_fleet_history;

#endif
