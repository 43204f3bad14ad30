/*
 * view_core: the C views of the core/v1 kinds: pods and what they are made of, nodes, namespaces, configuration.
 */
#ifndef BERTH_API_VIEW_CORE_H
#define BERTH_API_VIEW_CORE_H

#include "api/tables/view_meta.h"

struct key_selector { /* a key of a ConfigMap or Secret */
    struct str name, key;
    struct opt_bool optional;
};
struct field_ref {
    struct str api_version, field_path;
};
struct resource_field_ref {
    struct str container_name, resource;
    struct quantity divisor;
};
struct env_var {
    struct str name, value;
    struct env_source {
        struct field_ref *field_ref;
        struct resource_field_ref *resource_field_ref;
        struct key_selector *config_map_key_ref, *secret_key_ref;
        yyjson_val *file_key_ref;
    } *value_from;
};
struct env_from {
    struct str prefix;
    struct env_from_ref {
        struct str name;
        struct opt_bool optional;
    } *config_map_ref, *secret_ref;
};

struct container_port {
    struct str name;
    int32_t host_port, container_port;
    struct str protocol, host_ip;
};
struct resource_claim_ref {
    struct str name, request;
};
struct resources {
    struct quantity_map limits, requests;
    struct {
        struct resource_claim_ref *v;
        size_t n;
    } claims;
};
struct volume_mount {
    struct str name;
    bool read_only;
    struct str mount_path, sub_path, mount_propagation, sub_path_expr;
};
struct http_header {
    struct str name, value;
};
struct exec_action {
    struct str_list command;
};
struct http_get_action {
    struct str path, port, host, scheme;
    struct {
        struct http_header *v;
        size_t n;
    } http_headers;
};
struct tcp_socket_action {
    struct str port, host;
};
struct sleep_action {
    int64_t seconds;
};
struct probe {
    struct exec_action *exec;
    struct http_get_action *http_get;
    struct tcp_socket_action *tcp_socket;
    yyjson_val *grpc;
    int32_t initial_delay_seconds, timeout_seconds, period_seconds, success_threshold,
        failure_threshold;
    struct opt_i64 termination_grace_period_seconds;
};
struct lifecycle_handler {
    struct exec_action *exec;
    struct http_get_action *http_get;
    struct tcp_socket_action *tcp_socket;
    struct sleep_action *sleep;
};
struct lifecycle {
    struct lifecycle_handler *post_start, *pre_stop;
    struct str stop_signal;
};
struct capabilities {
    struct str_list add, drop;
};
struct seccomp_profile { /* AppArmor's has the same form */
    struct str type, localhost_profile;
};
struct container_security {
    struct capabilities *capabilities;
    struct opt_bool privileged, run_as_non_root, read_only_root_filesystem,
        allow_privilege_escalation;
    struct opt_i64 run_as_user, run_as_group;
    struct str proc_mount;
    struct seccomp_profile *seccomp_profile, *app_armor_profile;
};
struct container {
    struct str name, image;
    struct str_list command, args;
    struct str working_dir;
    struct {
        struct container_port *v;
        size_t n;
    } ports;
    struct {
        struct env_from *v;
        size_t n;
    } env_from;
    struct {
        struct env_var *v;
        size_t n;
    } env;
    struct resources *resources;
    struct str restart_policy; /* Always: a sidecar, among init containers */
    struct {
        struct volume_mount *v;
        size_t n;
    } volume_mounts;
    struct probe *liveness_probe, *readiness_probe, *startup_probe;
    struct lifecycle *lifecycle;
    struct str termination_message_path, termination_message_policy, image_pull_policy;
    struct container_security *security_context;
    bool stdin, stdin_once, tty;
};
struct container_list {
    struct container *v;
    size_t n;
};

struct typed_reference { /* TypedLocalObjectReference, and with a namespace TypedObjectReference */
    struct str api_group, kind, name, namespace;
};
struct key_to_path {
    struct str key, path;
    struct opt_i32 mode;
};
struct key_to_path_list {
    struct key_to_path *v;
    size_t n;
};
struct config_map_volume { /* in a projection too */
    struct str name;
    struct key_to_path_list items;
    struct opt_i32 default_mode;
    struct opt_bool optional;
};
struct secret_volume {
    struct str secret_name; /* `name` in a projection */
    struct key_to_path_list items;
    struct opt_i32 default_mode;
    struct opt_bool optional;
};
struct empty_dir_volume {
    struct str medium;
    struct opt_quantity size_limit;
};
struct host_path_volume {
    struct str path, type;
};
struct downward_file {
    struct str path;
    struct field_ref *field_ref;
    struct resource_field_ref *resource_field_ref;
    struct opt_i32 mode;
};
struct downward_volume { /* in a projection too */
    struct {
        struct downward_file *v;
        size_t n;
    } items;
    struct opt_i32 default_mode;
};
struct token_projection {
    struct str audience, path;
    struct opt_i64 expiration_seconds;
};
struct volume_projection {
    struct secret_volume *secret;
    struct downward_volume *downward_api;
    struct config_map_volume *config_map;
    struct token_projection *service_account_token;
};
struct projected_volume {
    struct {
        struct volume_projection *v;
        size_t n;
    } sources;
    struct opt_i32 default_mode;
};
struct claim_volume {
    struct str claim_name;
    bool read_only;
};
struct volume {
    struct str name;
    struct host_path_volume *host_path;
    struct empty_dir_volume *empty_dir;
    struct secret_volume *secret;
    struct config_map_volume *config_map;
    struct downward_volume *downward_api;
    struct projected_volume *projected;
    struct claim_volume *persistent_volume_claim;
    yyjson_val *nfs, *csi, *ephemeral, *image;
};

struct toleration {
    struct str key, operator, value, effect;
    struct opt_i64 toleration_seconds;
};
struct toleration_list {
    struct toleration *v;
    size_t n;
};
struct node_requirement {
    struct str key, operator;
    struct str_list values;
};
struct node_term {
    struct {
        struct node_requirement *v;
        size_t n;
    } match_expressions;
};
struct node_selector_view {
    struct {
        struct node_term *v;
        size_t n;
    } node_selector_terms;
};
struct taint {
    struct str key, value, effect;
    int64_t time_added_ns;
};
struct taint_list {
    struct taint *v;
    size_t n;
};
struct sysctl {
    struct str name, value;
};
struct pod_security {
    struct opt_i64 run_as_user, run_as_group, fs_group;
    struct opt_bool run_as_non_root;
    struct {
        int64_t *v;
        size_t n;
    } supplemental_groups;
    struct {
        struct sysctl *v;
        size_t n;
    } sysctls;
    struct str fs_group_change_policy;
    struct seccomp_profile *seccomp_profile, *app_armor_profile;
};
struct scheduling_gate {
    struct str name;
};
struct host_alias {
    struct str ip;
    struct str_list hostnames;
};
struct topology_spread {
    int32_t max_skew;
    struct str topology_key, when_unsatisfiable;
    struct label_selector *label_selector;
    struct opt_i32 min_domains;
    struct str node_affinity_policy, node_taints_policy;
    struct str_list match_label_keys;
};
struct pod_resource_claim {
    struct str name, resource_claim_name, resource_claim_template_name;
};
struct pod_spec {
    struct {
        struct volume *v;
        size_t n;
    } volumes;
    struct container_list init_containers, containers;
    struct str restart_policy;
    struct opt_i64 termination_grace_period_seconds, active_deadline_seconds;
    struct str dns_policy;
    struct str_map node_selector;
    struct str service_account_name;
    struct opt_bool automount_service_account_token;
    struct str node_name;
    bool host_network, host_pid, host_ipc;
    struct opt_bool share_process_namespace;
    struct pod_security *security_context;
    struct {
        struct local_object_reference *v;
        size_t n;
    } image_pull_secrets;
    struct str hostname, subdomain;
    yyjson_val *affinity; /* core/v1 Affinity, as it was written */
    struct str scheduler_name;
    struct toleration_list tolerations;
    struct {
        struct host_alias *v;
        size_t n;
    } host_aliases;
    struct str priority_class_name;
    struct opt_i32 priority;
    struct str runtime_class_name;
    struct opt_bool enable_service_links;
    struct str preemption_policy;
    struct quantity_map overhead;
    struct {
        struct topology_spread *v;
        size_t n;
    } topology_spread_constraints;
    struct opt_bool set_hostname_as_fqdn, host_users;
    struct {
        struct scheduling_gate *v;
        size_t n;
    } scheduling_gates;
    struct {
        struct pod_resource_claim *v;
        size_t n;
    } resource_claims;
    struct resources *resources; /* of the pod as a whole */
};

struct state_waiting {
    struct str reason, message;
};
struct state_running {
    int64_t started_ns;
};
struct state_terminated {
    int32_t exit_code, signal;
    struct str reason, message;
    int64_t started_ns, finished_ns;
    struct str container_id;
};
struct container_state {
    struct state_waiting *waiting;
    struct state_running *running;
    struct state_terminated *terminated;
};
struct container_status {
    struct str name;
    struct container_state *state, *last_state;
    bool ready;
    int32_t restart_count;
    struct str image, image_id, container_id;
    struct opt_bool started;
};
struct container_status_list {
    struct container_status *v;
    size_t n;
};
struct pod_ip {
    struct str ip;
};
struct pod_status {
    int64_t observed_generation;
    struct str phase;
    struct condition_list conditions;
    struct str message, reason, nominated_node_name, host_ip, pod_ip;
    struct {
        struct pod_ip *v;
        size_t n;
    } host_ips, pod_ips;
    int64_t start_ns;
    struct container_status_list init_container_statuses, container_statuses,
        ephemeral_container_statuses;
    struct str qos_class, resize;
};
struct pod {
    struct meta *metadata;
    struct pod_spec *spec;
    struct pod_status *status;
};
struct pod_template {
    struct meta *metadata;
    struct pod_spec *spec;
};

struct node_address {
    struct str type, address;
};
struct node_system_info {
    struct str machine_id, system_uuid, boot_id, kernel_version, os_image,
        container_runtime_version, kubelet_version, kube_proxy_version, operating_system,
        architecture;
};
struct node_status {
    struct quantity_map capacity, allocatable;
    struct str phase;
    struct condition_list conditions; /* last_probe_ns: lastHeartbeatTime */
    struct {
        struct node_address *v;
        size_t n;
    } addresses;
    struct node_system_info *node_info;
};
struct node_spec {
    struct str pod_cidr, provider_id;
    bool unschedulable;
    struct taint_list taints;
};
struct node {
    struct meta *metadata;
    struct node_spec *spec;
    struct node_status *status;
};

struct namespace_spec {
    struct str_list finalizers;
};
struct namespace_status {
    struct str phase; /* Active, Terminating */
    struct condition_list conditions;
};
struct namespace_object {
    struct meta *metadata;
    struct namespace_spec *spec;
    struct namespace_status *status;
};

struct config_map {
    struct meta *metadata;
    struct str_map data, binary_data; /* binary_data: base64 */
    struct opt_bool immutable;
};
struct secret {
    struct meta *metadata;
    struct str_map data; /* base64 */
    struct str type;
    struct opt_bool immutable;
};
struct service_account {
    struct meta *metadata;
    struct {
        struct object_reference *v;
        size_t n;
    } secrets;
    struct {
        struct local_object_reference *v;
        size_t n;
    } image_pull_secrets;
    struct opt_bool automount_service_account_token;
};

struct limit_range_item {
    struct str type; /* Pod, Container, PersistentVolumeClaim */
    struct quantity_map max, min, default_, default_request, max_limit_request_ratio;
};
struct limit_range_spec {
    struct {
        struct limit_range_item *v;
        size_t n;
    } limits;
};
struct limit_range {
    struct meta *metadata;
    struct limit_range_spec *spec;
};

struct service_port {
    struct str name, protocol, app_protocol;
    int32_t port;
    struct str target_port;
    int32_t node_port;
};
struct service_spec {
    struct {
        struct service_port *v;
        size_t n;
    } ports;
    struct str_map selector;
    struct str cluster_ip;
    struct str_list cluster_ips;
    struct str type, session_affinity, external_name;
    bool publish_not_ready_addresses;
};
struct service {
    struct meta *metadata;
    struct service_spec *spec;
};
struct endpoint_address {
    struct str ip, hostname, node_name;
    struct object_reference *target_ref;
};
struct endpoint_port {
    struct str name;
    int32_t port;
    struct str protocol, app_protocol;
};
struct endpoint_subset {
    struct {
        struct endpoint_address *v;
        size_t n;
    } addresses, not_ready_addresses;
    struct {
        struct endpoint_port *v;
        size_t n;
    } ports;
};
struct endpoints {
    struct meta *metadata;
    struct {
        struct endpoint_subset *v;
        size_t n;
    } subsets;
};

extern const struct schema schema_pod, schema_pod_spec, schema_pod_status, schema_pod_template;
extern const struct schema schema_container, schema_resources, schema_toleration, schema_taint;
extern const struct schema schema_node, schema_namespace, schema_config_map, schema_secret;
extern const struct schema schema_service_account, schema_limit_range, schema_service;
extern const struct schema schema_endpoints;

#endif
