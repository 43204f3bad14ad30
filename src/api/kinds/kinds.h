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

/* The built-in kinds in discovery order: kind_<name> each. A new kind is one more word here. */
/* clang-format off */
#define BUILTIN_KINDS(KIND)                                                                        \
    KIND(config_map) KIND(endpoints) KIND(event) KIND(limit_range) KIND(namespace) KIND(node)      \
    KIND(persistent_volume_claim) KIND(persistent_volume)                                          \
    KIND(pod) KIND(pod_template) KIND(replication_controller) KIND(resource_quota) KIND(secret)    \
    KIND(service_account) KIND(service)                                                            \
    KIND(self_subject_review) KIND(token_review)                                                   \
    KIND(local_subject_access_review) KIND(self_subject_access_review)                             \
    KIND(self_subject_rules_review) KIND(subject_access_review)                                    \
    KIND(pod_autoscaler)                                                                           \
    KIND(job) KIND(cron_job)                                                                       \
    KIND(controller_revision) KIND(daemon_set) KIND(deployment) KIND(replica_set)                  \
    KIND(stateful_set)                                                                             \
    KIND(lease)                                                                                    \
    KIND(endpoint_slice)                                                                           \
    KIND(mutating_policy) KIND(mutating_binding) KIND(mutating_webhooks)                           \
    KIND(validating_policy) KIND(validating_binding)                                               \
    KIND(validating_webhooks)                                                                      \
    KIND(csr) KIND(flow_schema) KIND(priority_level)                                               \
    KIND(ingress_class) KIND(ingress) KIND(network_policy)                                         \
    KIND(events_event)                                                                             \
    KIND(runtime_class)                                                                            \
    KIND(disruption_budget)                                                                        \
    KIND(cluster_role_binding) KIND(cluster_role) KIND(role_binding) KIND(role)                    \
    KIND(priority_class)                                                                           \
    KIND(storage_class)                                                                            \
    KIND(volume_snapshot_class) KIND(volume_snapshot_content) KIND(volume_snapshot)                \
    KIND(inference_pool) KIND(inference_objective)                                                 \
    KIND(cluster_serving_runtime) KIND(inference_service) KIND(llm_service) KIND(serving_runtime)  \
    KIND(cluster_trigger_authentication) KIND(trigger_authentication)                              \
    KIND(admission_check) KIND(cluster_queue) KIND(cohort) KIND(local_queue)                       \
    KIND(resource_flavor) KIND(topology) KIND(workload) KIND(workload_priority_class)              \
    KIND(availability) KIND(calendar_feed) KIND(capacity_window) KIND(catalog_model) KIND(fleet)   \
    KIND(fleet_history) KIND(model_key)                                                            \
    KIND(queue_preview) KIND(reservation_check) KIND(reservation_policy)                           \
    KIND(reservation) KIND(reservation_series) KIND(workload_explanation)                          \
    KIND(hardware_profile)                                                                         \
    KIND(node_metrics) KIND(pod_metrics)                                                           \
    KIND(visible_cluster_queue) KIND(visible_local_queue)                                          \
    KIND(custom_resource_definition)                                                               \
    KIND(api_service)
/* clang-format on */
#define KIND_EXTERN(name_) extern const struct kind kind_##name_;
BUILTIN_KINDS(KIND_EXTERN)
#undef KIND_EXTERN

/* prepare for a kind with a status: what a user wrote there on create is dropped. */
void prepare_status(yyjson_mut_doc *d, yyjson_mut_val *obj, yyjson_val *old, int64_t now);
bool same_except(yyjson_mut_val *a, yyjson_val *b, const char *const *members);

/* pods: the spec alone, for everything that holds a template */
void pod_spec_defaults(yyjson_mut_doc *d, yyjson_mut_val *spec);
void pod_sources_check(yyjson_mut_val *spec, const struct path *at, struct causes *c);
void pod_affinity_check(yyjson_mut_val *spec, const struct path *at, struct causes *c);
void pod_spec_check(yyjson_mut_val *spec, const struct path *at, struct causes *c);
/* metadata and spec of a template */
void pod_template_check(yyjson_mut_val *template, const struct path *at, struct causes *c);
/* What no pod gets here: of each field, when, and why. Paths are from the pod's spec, or from a container. */
struct pod_refusal {
    const char *path; /* "securityContext.sysctls", "env[].valueFrom.fileKeyRef" */
    enum { REFUSED_SET, REFUSED_TRUE, REFUSED_UNLESS } when;
    const char *const *allowed; /* UNLESS one of these */
    const char *why;
};
const struct pod_refusal *pod_refusals(bool container, size_t *ret_n);
/* Causes for them: of a pod, or of the template of one, that is created. */
void pod_refuse(yyjson_mut_val *spec, const struct path *at, struct causes *c);
/* Of one container. */
void pod_refuse_container(yyjson_mut_val *container, const struct path *at, struct causes *c);
/* Of a pod whose ephemeral containers are written. */
void pod_ephemeral_check(yyjson_mut_val *spec, yyjson_val *was, const struct path *at,
                         struct causes *c);
void pod_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out);
void pod_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
/* the template of pods that are to stay, in a spec; kind: whose, in texts */
void lasting_template_check(yyjson_mut_val *spec, const char *kind, struct causes *c);
/* a Job's spec, its selector apart: for everything that makes Jobs */
void job_spec_check(yyjson_mut_val *spec, const struct path *at, struct causes *c);
/* taints, tolerations, amounts */
void check_tolerations(yyjson_mut_val *list, const struct path *at, struct causes *c);
void check_amounts(yyjson_mut_val *map, const struct path *at, struct causes *c);

/* volumes */
void claim_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void volume_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
void storage_class_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c);
/* the spec alone, for everything that holds a template of a claim */
void claim_spec_check(yyjson_mut_val *spec, const struct path *at, struct causes *c);

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
