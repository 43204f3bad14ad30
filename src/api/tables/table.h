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

extern const struct schema schema_admission_check_parameters_reference;
extern const struct schema schema_admission_check_spec, schema_admission_check_state;
extern const struct schema schema_admission_check_status, schema_admission_check_strategy_rule;
extern const struct schema schema_admission_checks_strategy, schema_admission_scope;
extern const struct schema schema_affinity, schema_aggregation_rule, schema_app_armor_profile;
extern const struct schema schema_attached_volume, schema_aws_elastic_block_store_volume_source;
extern const struct schema schema_azure_disk_volume_source, schema_azure_file_volume_source;
extern const struct schema schema_borrow_within_cohort, schema_bound_object_reference;
extern const struct schema schema_capabilities, schema_ceph_fs_volume_source;
extern const struct schema schema_cinder_volume_source, schema_client_ip_config;
extern const struct schema schema_cluster_queue_preemption, schema_cluster_queue_spec;
extern const struct schema schema_cluster_queue_status, schema_cluster_trust_bundle_projection;
extern const struct schema schema_cohort_spec, schema_cohort_status;
extern const struct schema schema_concurrent_admission_constraints;
extern const struct schema schema_concurrent_admission_migration;
extern const struct schema schema_concurrent_admission_policy, schema_config_map_env_source;
extern const struct schema schema_config_map_key_selector, schema_config_map_node_config_source;
extern const struct schema schema_config_map_projection, schema_config_map_volume_source;
extern const struct schema schema_container_extended_resource_request, schema_container_image;
extern const struct schema schema_container_port, schema_container_resize_policy;
extern const struct schema schema_container_resource_claim, schema_container_restart_rule;
extern const struct schema schema_container_restart_rule_on_exit_codes, schema_container_state;
extern const struct schema schema_container_state_running, schema_container_state_terminated;
extern const struct schema schema_container_state_waiting, schema_container_status;
extern const struct schema schema_container_user, schema_csi_volume_source, schema_daemon_endpoint;
extern const struct schema schema_downward_api_projection, schema_downward_api_volume_file;
extern const struct schema schema_downward_api_volume_source, schema_empty_dir_volume_source;
extern const struct schema schema_endpoint_address, schema_endpoint_port, schema_endpoint_subset;
extern const struct schema schema_env_from_source, schema_env_var, schema_env_var_source;
extern const struct schema schema_ephemeral_container, schema_ephemeral_volume_source;
extern const struct schema schema_event_series, schema_event_source, schema_events_event;
extern const struct schema schema_events_event_series, schema_exec_action, schema_fair_sharing;
extern const struct schema schema_fair_sharing_status, schema_fc_volume_source;
extern const struct schema schema_field_selector_attributes, schema_field_selector_requirement;
extern const struct schema schema_file_key_selector, schema_flavor_fungibility;
extern const struct schema schema_flavor_quotas, schema_flavor_usage, schema_flex_volume_source;
extern const struct schema schema_flocker_volume_source, schema_gce_persistent_disk_volume_source;
extern const struct schema schema_git_repo_volume_source, schema_glusterfs_volume_source;
extern const struct schema schema_grpc_action, schema_host_alias, schema_host_ip;
extern const struct schema schema_host_path_volume_source, schema_http_get_action;
extern const struct schema schema_http_header, schema_image_volume_source;
extern const struct schema schema_iscsi_volume_source, schema_job_condition, schema_key_to_path;
extern const struct schema schema_label_selector_attributes, schema_label_selector_requirement;
extern const struct schema schema_lease_spec, schema_lifecycle, schema_lifecycle_handler;
extern const struct schema schema_limit_range_item, schema_limit_range_spec;
extern const struct schema schema_linux_container_user, schema_load_balancer_ingress;
extern const struct schema schema_load_balancer_status, schema_local_object_reference;
extern const struct schema schema_local_queue_admission_fair_sharing_status;
extern const struct schema schema_local_queue_fair_sharing_status, schema_local_queue_flavor_usage;
extern const struct schema schema_local_queue_resource_usage, schema_local_queue_spec;
extern const struct schema schema_local_queue_status, schema_managed_fields_entry;
extern const struct schema schema_namespace_condition, schema_namespace_spec;
extern const struct schema schema_namespace_status, schema_nfs_volume_source, schema_node_address;
extern const struct schema schema_node_affinity, schema_node_condition, schema_node_config_source;
extern const struct schema schema_node_config_status, schema_node_daemon_endpoints;
extern const struct schema schema_node_features, schema_node_runtime_handler;
extern const struct schema schema_node_runtime_handler_features, schema_node_selector;
extern const struct schema schema_node_selector_requirement, schema_node_selector_term;
extern const struct schema schema_node_spec, schema_node_status, schema_node_swap_status;
extern const struct schema schema_node_system_info, schema_non_resource_attributes;
extern const struct schema schema_non_resource_rule, schema_object_field_selector;
extern const struct schema schema_object_reference, schema_overhead, schema_owner_reference;
extern const struct schema schema_persistent_volume_claim_spec;
extern const struct schema schema_persistent_volume_claim_template;
extern const struct schema schema_persistent_volume_claim_volume_source;
extern const struct schema schema_photon_persistent_disk_volume_source, schema_pod_affinity;
extern const struct schema schema_pod_affinity_term, schema_pod_anti_affinity;
extern const struct schema schema_pod_certificate_projection, schema_pod_condition;
extern const struct schema schema_pod_dns_config, schema_pod_dns_config_option;
extern const struct schema schema_pod_extended_resource_claim_status, schema_pod_failure_policy;
extern const struct schema schema_pod_failure_policy_on_exit_codes_requirement;
extern const struct schema schema_pod_failure_policy_on_pod_conditions_pattern;
extern const struct schema schema_pod_failure_policy_rule, schema_pod_ip, schema_pod_os;
extern const struct schema schema_pod_readiness_gate, schema_pod_resource_claim;
extern const struct schema schema_pod_resource_claim_status, schema_pod_resource_status;
extern const struct schema schema_pod_scheduling_gate, schema_pod_security_context, schema_pod_set;
extern const struct schema schema_pod_set_assignment, schema_pod_set_request;
extern const struct schema schema_pod_set_topology_request, schema_pod_set_update;
extern const struct schema schema_podset_slice_required_topology_constraint, schema_policy_rule;
extern const struct schema schema_port_status, schema_portworx_volume_source, schema_preconditions;
extern const struct schema schema_preemption_gate, schema_preemption_gate_state;
extern const struct schema schema_preferred_scheduling_term, schema_priority_class_ref;
extern const struct schema schema_probe, schema_projected_volume_source;
extern const struct schema schema_quobyte_volume_source, schema_rbd_volume_source;
extern const struct schema schema_reclaimable_pod, schema_requeue_state;
extern const struct schema schema_resource_attributes, schema_resource_field_selector;
extern const struct schema schema_resource_flavor_spec, schema_resource_group;
extern const struct schema schema_resource_health, schema_resource_quota, schema_resource_rule;
extern const struct schema schema_resource_usage, schema_role_ref, schema_scale_io_volume_source;
extern const struct schema schema_scheduling, schema_scheduling_stats, schema_se_linux_options;
extern const struct schema schema_seccomp_profile, schema_secret_env_source;
extern const struct schema schema_secret_key_selector, schema_secret_projection;
extern const struct schema schema_secret_volume_source, schema_security_context;
extern const struct schema schema_self_subject_access_review_spec;
extern const struct schema schema_self_subject_review_status;
extern const struct schema schema_self_subject_rules_review_spec;
extern const struct schema schema_service_account_token_projection, schema_service_port;
extern const struct schema schema_service_spec, schema_service_status;
extern const struct schema schema_session_affinity_config, schema_sleep_action;
extern const struct schema schema_status_cause, schema_status_details;
extern const struct schema schema_storageos_volume_source, schema_subject;
extern const struct schema schema_subject_access_review_spec, schema_subject_access_review_status;
extern const struct schema schema_subject_rules_review_status, schema_success_policy;
extern const struct schema schema_success_policy_rule, schema_sysctl, schema_tcp_socket_action;
extern const struct schema schema_token_request_spec, schema_token_request_status;
extern const struct schema schema_token_review_spec, schema_token_review_status;
extern const struct schema schema_topology_assignment, schema_topology_assignment_slice;
extern const struct schema schema_topology_assignment_slice_level_individual_values;
extern const struct schema schema_topology_assignment_slice_level_values;
extern const struct schema schema_topology_assignment_slice_pod_counts, schema_topology_info;
extern const struct schema schema_topology_level, schema_topology_spec;
extern const struct schema schema_topology_spread_constraint, schema_typed_local_object_reference;
extern const struct schema schema_typed_object_reference, schema_uncounted_terminated_pods;
extern const struct schema schema_unhealthy_node, schema_user_info, schema_v1beta1_admission;
extern const struct schema schema_v1beta1_admission_check, schema_v1beta1_admission_check_spec;
extern const struct schema schema_v1beta1_admission_fair_sharing_status;
extern const struct schema schema_v1beta1_cluster_queue;
extern const struct schema schema_v1beta1_cluster_queue_pending_workload;
extern const struct schema schema_v1beta1_cluster_queue_pending_workloads_status;
extern const struct schema schema_v1beta1_cluster_queue_spec, schema_v1beta1_cluster_queue_status;
extern const struct schema schema_v1beta1_cohort, schema_v1beta1_cohort_status;
extern const struct schema schema_v1beta1_fair_sharing_status, schema_v1beta1_local_queue;
extern const struct schema schema_v1beta1_local_queue_flavor_status;
extern const struct schema schema_v1beta1_local_queue_status, schema_v1beta1_pod_set;
extern const struct schema schema_v1beta1_pod_set_assignment;
extern const struct schema schema_v1beta1_pod_set_topology_request;
extern const struct schema schema_v1beta1_topology_assignment;
extern const struct schema schema_v1beta1_topology_domain_assignment, schema_v1beta1_workload;
extern const struct schema schema_v1beta1_workload_spec, schema_v1beta1_workload_status;
extern const struct schema schema_volume, schema_volume_device, schema_volume_mount;
extern const struct schema schema_volume_mount_status, schema_volume_projection;
extern const struct schema schema_volume_resource_requirements;
extern const struct schema schema_vsphere_virtual_disk_volume_source;
extern const struct schema schema_weighted_pod_affinity_term;
extern const struct schema schema_windows_security_context_options, schema_workload_reference;
extern const struct schema schema_workload_scheduling_stats_eviction, schema_workload_spec;
extern const struct schema schema_workload_status;
extern const struct schema schema_workload_explanation, schema_queue_preview;
extern const struct schema schema_crd, schema_endpoint_slice;
/* apiVersion, kind, metadata: the tables' part of every custom kind; metadata is the last row. */
extern const struct schema schema_custom;

#endif
