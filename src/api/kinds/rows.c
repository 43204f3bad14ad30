/* rows: the table of built-in kinds, in discovery order. A new kind is one more row here. */
#include "api/kinds/kinds.h"

static const struct kind *const builtin[] = {
    &kind_config_map, &kind_endpoints, &kind_event, &kind_limit_range, &kind_namespace,
    &kind_node, &kind_pod, &kind_secret, &kind_service_account, &kind_service,
    &kind_self_subject_review, &kind_token_review,
    &kind_local_subject_access_review, &kind_self_subject_access_review,
    &kind_self_subject_rules_review, &kind_subject_access_review,
    &kind_job,
    &kind_lease,
    &kind_endpoint_slice,
    &kind_mutating_webhooks, &kind_validating_webhooks,
    &kind_events_event,
    &kind_runtime_class,
    &kind_cluster_role_binding, &kind_cluster_role, &kind_role_binding, &kind_role,
    &kind_priority_class,
    &kind_admission_check, &kind_cluster_queue, &kind_cohort, &kind_local_queue,
    &kind_resource_flavor, &kind_topology, &kind_workload, &kind_workload_priority_class,
    &kind_availability, &kind_calendar_feed, &kind_capacity_window, &kind_fleet,
    &kind_fleet_history, &kind_queue_preview, &kind_reservation_check, &kind_reservation_policy,
    &kind_reservation, &kind_reservation_series, &kind_workload_explanation,
    &kind_hardware_profile,
    &kind_visible_cluster_queue, &kind_visible_local_queue,
    &kind_custom_resource_definition,
};

static const struct kind *const bodies[] = {
    &kind_delete_options, &kind_eviction, &kind_token_request, &kind_status,
};

const struct kind_rows kind_rows = {
    .served = builtin, .n_served = COUNT(builtin), .bodies = bodies, .n_bodies = COUNT(bodies)};
