/*
 * table: how the field tables are written, and the schemas that one table file takes from another.
 *
 * For the table_*.c files of this room and the files that walk schemas by name; users include the view headers.
 */
#ifndef BERTH_API_TABLE_H
#define BERTH_API_TABLE_H

#include "api/tables/field.h"
#include "api/tables/member.h"

/* The number of elements of an array, for rows. */
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A row without, and one with a C member: type, shape, JSON name, protobuf tag, then any designated initialisers. */
#define F(type_, shape_, json_, tag_, ...)                                            \
    {                                                                                 \
        .json = json_, .json_n = sizeof(json_) - 1, .type = FIELD_##type_,            \
        .shape = FIELD_##shape_, .proto = tag_, .member = -1, __VA_ARGS__             \
    }
#define M(view_, member_, type_, shape_, json_, tag_, ...)                            \
    {                                                                                 \
        .json = json_, .json_n = sizeof(json_) - 1, .type = FIELD_##type_,            \
        .shape = FIELD_##shape_, .proto = tag_,                                       \
        MEMBER(view_, member_, type_, shape_), __VA_ARGS__                            \
    }
#define SCHEMA(name_, fields_, size_, doc_)                                           \
    {                                                                                 \
        .name = name_, .fields = fields_, .n = sizeof(fields_) / sizeof(fields_[0]),  \
        .size = size_, .doc = doc_                                                    \
    }
/* The same of objects that server-side apply takes as one value (upstream: structType atomic). */
#define ATOMIC_SCHEMA(name_, fields_, size_, doc_)                                    \
    {                                                                                 \
        .name = name_, .fields = fields_, .n = sizeof(fields_) / sizeof(fields_[0]),  \
        .size = size_, .doc = doc_, .atomic = true                                    \
    }

extern const struct schema schema_admission_check_parameters_reference;
extern const struct schema schema_admission_check_state, schema_admission_check_status;
extern const struct schema schema_admission_checks_strategy, schema_admission_scope;
extern const struct schema schema_app_armor_profile, schema_cluster_queue_preemption;
extern const struct schema schema_cohort_spec, schema_config_map_node_config_source;
extern const struct schema schema_container_extended_resource_request;
extern const struct schema schema_container_restart_rule, schema_container_state;
extern const struct schema schema_container_user, schema_env_var, schema_ephemeral_container;
extern const struct schema schema_events_event, schema_fair_sharing;
extern const struct schema schema_field_selector_requirement, schema_flavor_fungibility;
extern const struct schema schema_flavor_usage, schema_label_selector_requirement;
extern const struct schema schema_lifecycle, schema_linux_container_user;
extern const struct schema schema_local_object_reference, schema_local_queue_flavor_usage;
extern const struct schema schema_local_queue_spec, schema_node_runtime_handler;
extern const struct schema schema_node_selector, schema_object_field_selector;
extern const struct schema schema_object_reference, schema_pod_affinity, schema_pod_dns_config;
extern const struct schema schema_pod_failure_policy, schema_pod_set, schema_pod_set_request;
extern const struct schema schema_reclaimable_pod, schema_requeue_state;
extern const struct schema schema_resource_field_selector, schema_resource_group;
extern const struct schema schema_scheduling_stats, schema_se_linux_options;
extern const struct schema schema_seccomp_profile, schema_success_policy;
extern const struct schema schema_topology_assignment, schema_topology_assignment_slice;
extern const struct schema schema_topology_info, schema_typed_local_object_reference;
extern const struct schema schema_affinity, schema_container_port, schema_env_from_source;
extern const struct schema schema_host_alias, schema_pod_security_context, schema_probe;
extern const struct schema schema_security_context, schema_topology_spread_constraint;
extern const struct schema schema_volume_mount;
extern const struct schema schema_typed_object_reference, schema_unhealthy_node;
extern const struct schema schema_v1beta1_admission, schema_v1beta1_admission_check;
extern const struct schema schema_v1beta1_cluster_queue, schema_v1beta1_cohort;
extern const struct schema schema_v1beta1_local_queue, schema_v1beta1_pod_set;
extern const struct schema schema_v1beta1_workload, schema_volume;
extern const struct schema schema_windows_security_context_options, schema_workload_explanation;
extern const struct schema schema_queue_preview, schema_crd, schema_endpoint_slice;
extern const struct schema schema_claim_spec, schema_host_path_volume_source;
/* apiVersion, kind, metadata: the tables' part of every custom kind; metadata is the last row. */
extern const struct schema schema_custom;

#endif
