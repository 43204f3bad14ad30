/*
 * kinds: the rows of the built-in kinds, and what their hooks share. Internal to this room.
 *
 * A kind's row lives in kinds_<area>.c with its hooks; what is long (pods, Kueue's rules) has files of its own.
 */
#ifndef BERTH_API_KINDS_H
#define BERTH_API_KINDS_H

#include "api/schema/cells.h"
#include "api/schema/check.h"
#include "api/tables/table.h"

extern const struct kind kind_namespace, kind_node, kind_pod, kind_event, kind_events_event;
extern const struct kind kind_config_map, kind_secret, kind_service_account, kind_service;
extern const struct kind kind_endpoint_slice, kind_endpoints, kind_limit_range, kind_runtime_class;
extern const struct kind kind_priority_class, kind_lease, kind_job;
extern const struct kind kind_role, kind_cluster_role, kind_role_binding;
extern const struct kind kind_cluster_role_binding;
extern const struct kind kind_self_subject_review, kind_token_review, kind_subject_access_review;
extern const struct kind kind_self_subject_access_review, kind_local_subject_access_review;
extern const struct kind kind_self_subject_rules_review;
extern const struct kind kind_resource_flavor, kind_cluster_queue, kind_cohort, kind_local_queue;
extern const struct kind kind_workload, kind_workload_priority_class, kind_admission_check;
extern const struct kind kind_topology;
extern const struct kind kind_workload_explanation, kind_queue_preview;
extern const struct kind kind_reservation, kind_reservation_policy, kind_capacity_window;
extern const struct kind kind_reservation_series, kind_calendar_feed, kind_reservation_check;
extern const struct kind kind_availability, kind_fleet, kind_fleet_history, kind_hardware_profile;
extern const struct kind kind_mutating_webhooks, kind_validating_webhooks;
extern const struct kind kind_visible_cluster_queue, kind_visible_local_queue;
extern const struct kind kind_custom_resource_definition;

/* prepare for a kind with a status: what a user wrote there on create is dropped. */
void prepare_status(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now);
bool same_except(yyjson_mut_val *a, yyjson_val *b, const char *const *members);

/* pods: the spec alone, for everything that holds a template */
void pod_spec_defaults(yyjson_mut_doc *d, yyjson_mut_val *spec);
void pod_spec_check(yyjson_mut_val *spec, const struct path *at, struct causes *c);
/* metadata and spec of a template */
void pod_template_check(yyjson_mut_val *template, const struct path *at, struct causes *c);
void pod_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out);
void pod_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
/* taints, tolerations, amounts */
void check_tolerations(yyjson_mut_val *list, const struct path *at, struct causes *c);
void check_amounts(yyjson_mut_val *map, const struct path *at, struct causes *c);

/* kueue */
void resource_flavor_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void cluster_queue_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void cohort_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void local_queue_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void workload_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
/* labels and annotations that steer queueing */
void job_notes_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void workload_notes_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void cluster_queue_notes_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void topology_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
/* booking */
void reservation_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void reservation_policy_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void capacity_window_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void reservation_series_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void calendar_feed_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void hardware_profile_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
/* v1beta1 to and from v1beta2, in place */
int cluster_queue_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
int cluster_queue_down(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
int local_queue_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
int local_queue_down(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
int workload_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
int workload_down(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);
int admission_check_up(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err);

#endif
