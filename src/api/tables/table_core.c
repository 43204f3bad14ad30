/*
 * table_core: the fields of the other core/v1 kinds: Node, Namespace, ConfigMap, Secret, Service.
 */
#include "api/tables/view_core.h"

#include "api/tables/table.h"

static const char *const active_terminating_values[] = {"Active", "Terminating", NULL};
static const char *const client_ip_none_values[] = {"ClientIP", "None", NULL};
static const char *const cluster_local_values[] = {"Cluster", "Local", NULL};
static const char *const i_pv4_i_pv6_values[] = {"IPv4", "IPv6", NULL};
static const char *const ip_family_policy_values[] = {
    "PreferDualStack", "RequireDualStack", "SingleStack", NULL,
};
static const char *const pending_running_terminated_values[] = {
    "Pending", "Running", "Terminated", NULL,
};
static const char *const sctp_tcp_udp_values[] = {"SCTP", "TCP", "UDP", NULL};
static const char *const service_type_values[] = {
    "ClusterIP", "ExternalName", "LoadBalancer", "NodePort", NULL,
};

static const struct field node_config_source_fields[] = {
    F(OBJECT, ONE, "configMap", 2, .of = &schema_config_map_node_config_source,
      .flags = FIELD_F_OPT),
};
static const struct schema schema_node_config_source = SCHEMA("io.k8s.api.core.v1.NodeConfigSource",
      node_config_source_fields, 0, NULL);

static const struct field node_spec_fields[] = {
    M(node_spec, pod_cidr, STRING, ONE, "podCIDR", 1, .doc = "Address range of the node's pods."),
    F(STRING, LIST, "podCIDRs", 7, .flags = FIELD_F_MERGE | FIELD_F_SET,
      .doc = "Address range of the node's pods."),
    M(node_spec, provider_id, STRING, ONE, "providerID", 3,
      .doc = "Cloud provider's identifier of the machine."),
    M(node_spec, unschedulable, BOOL, ONE, "unschedulable", 4,
      .doc = "Whether the node is closed for new pods."),
    M(node_spec, taints, OBJECT, LIST, "taints", 5, .of = &schema_taint, .flags = FIELD_F_ATOMIC,
      .doc = "Taints: only pods that tolerate them are placed here."),
    F(OBJECT, ONE, "configSource", 6, .of = &schema_node_config_source, .flags = FIELD_F_OPT,
      .doc = "No longer used."),
    F(STRING, ONE, "externalID", 2, .doc = "No longer used."),
};
static const struct schema schema_node_spec =
    SCHEMA("io.k8s.api.core.v1.NodeSpec", node_spec_fields, sizeof(struct node_spec), NULL);

static const struct field node_condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Type of the condition."),
    M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Status of the condition: True, False or Unknown."),
    M(condition, last_probe_ns, TIME, ONE, "lastHeartbeatTime", 3,
      .doc = "Time of the last report of the node."),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 4,
      .doc = "Time of the last change of status."),
    M(condition, reason, STRING, ONE, "reason", 5,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(condition, message, STRING, ONE, "message", 6,
      .doc = "Human-readable message."),
};
static const struct schema schema_node_condition = SCHEMA("io.k8s.api.core.v1.NodeCondition",
      node_condition_fields, sizeof(struct condition), NULL);

static const struct field node_address_fields[] = {
    M(node_address, type, STRING, ONE, "type", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Type of the address."),
    M(node_address, address, STRING, ONE, "address", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "The address."),
};
static const struct schema schema_node_address = SCHEMA("io.k8s.api.core.v1.NodeAddress",
      node_address_fields, sizeof(struct node_address), NULL);

static const struct field daemon_endpoint_fields[] = {
    F(INT32, ONE, "Port", 1, .flags = FIELD_F_KEEP_EMPTY),
};
static const struct schema schema_daemon_endpoint = SCHEMA("io.k8s.api.core.v1.DaemonEndpoint",
      daemon_endpoint_fields, 0, NULL);

static const struct field node_daemon_endpoints_fields[] = {
    F(OBJECT, ONE, "kubeletEndpoint", 1, .of = &schema_daemon_endpoint),
};
static const struct schema schema_node_daemon_endpoints = SCHEMA(
      "io.k8s.api.core.v1.NodeDaemonEndpoints", node_daemon_endpoints_fields, 0, NULL);

static const struct field node_swap_status_fields[] = {
    F(INT64, ONE, "capacity", 1, .flags = FIELD_F_OPT, .doc = "Total capacity, by resource."),
};
static const struct schema schema_node_swap_status = SCHEMA("io.k8s.api.core.v1.NodeSwapStatus",
      node_swap_status_fields, 0, NULL);

static const struct field node_system_info_fields[] = {
    M(node_system_info, machine_id, STRING, ONE, "machineID", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Identifier of the machine."),
    M(node_system_info, system_uuid, STRING, ONE, "systemUUID", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Identifier of the hardware."),
    M(node_system_info, boot_id, STRING, ONE, "bootID", 3, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Identifier of the boot."),
    M(node_system_info, kernel_version, STRING, ONE, "kernelVersion", 4,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Version of the kernel."),
    M(node_system_info, os_image, STRING, ONE, "osImage", 5, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Operating system."),
    M(node_system_info, container_runtime_version, STRING, ONE, "containerRuntimeVersion", 6,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Container runtime and its version."),
    M(node_system_info, kubelet_version, STRING, ONE, "kubeletVersion", 7,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Version of the node agent."),
    M(node_system_info, kube_proxy_version, STRING, ONE, "kubeProxyVersion", 8,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "No longer used."),
    M(node_system_info, operating_system, STRING, ONE, "operatingSystem", 9,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Operating system."),
    M(node_system_info, architecture, STRING, ONE, "architecture", 10,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Processor architecture."),
    F(OBJECT, ONE, "swap", 11, .of = &schema_node_swap_status, .flags = FIELD_F_OPT),
};
static const struct schema schema_node_system_info = SCHEMA("io.k8s.api.core.v1.NodeSystemInfo",
      node_system_info_fields, sizeof(struct node_system_info), NULL);

static const struct field container_image_fields[] = {
    F(STRING, LIST, "names", 1, .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Names of the image."),
    F(INT64, ONE, "sizeBytes", 2, .doc = "Size of the image."),
};
static const struct schema schema_container_image = SCHEMA("io.k8s.api.core.v1.ContainerImage",
      container_image_fields, 0, NULL);

static const struct field attached_volume_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Name of the volume."),
    F(STRING, ONE, "devicePath", 2, .flags = FIELD_F_KEEP_EMPTY),
};
static const struct schema schema_attached_volume = SCHEMA("io.k8s.api.core.v1.AttachedVolume",
      attached_volume_fields, 0, NULL);

static const struct field node_config_status_fields[] = {
    F(OBJECT, ONE, "assigned", 1, .of = &schema_node_config_source, .flags = FIELD_F_OPT),
    F(OBJECT, ONE, "active", 2, .of = &schema_node_config_source, .flags = FIELD_F_OPT),
    F(OBJECT, ONE, "lastKnownGood", 3, .of = &schema_node_config_source, .flags = FIELD_F_OPT),
    F(STRING, ONE, "error", 4, .doc = "Why it failed."),
};
static const struct schema schema_node_config_status = SCHEMA("io.k8s.api.core.v1.NodeConfigStatus",
      node_config_status_fields, 0, NULL);

static const struct field node_runtime_handler_features_fields[] = {
    F(BOOL, ONE, "recursiveReadOnlyMounts", 1, .flags = FIELD_F_OPT),
    F(BOOL, ONE, "userNamespaces", 2, .flags = FIELD_F_OPT),
};
static const struct schema schema_node_runtime_handler_features = SCHEMA(
      "io.k8s.api.core.v1.NodeRuntimeHandlerFeatures", node_runtime_handler_features_fields, 0,
      NULL);

static const struct field node_runtime_handler_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Name of the runtime handler."),
    F(OBJECT, ONE, "features", 2, .of = &schema_node_runtime_handler_features,
      .flags = FIELD_F_OPT),
};
const struct schema schema_node_runtime_handler = SCHEMA(
      "io.k8s.api.core.v1.NodeRuntimeHandler", node_runtime_handler_fields, 0, NULL);

static const struct field node_features_fields[] = {
    F(BOOL, ONE, "supplementalGroupsPolicy", 1, .flags = FIELD_F_OPT),
};
static const struct schema schema_node_features = SCHEMA("io.k8s.api.core.v1.NodeFeatures",
      node_features_fields, 0, NULL);

static const struct field node_status_fields[] = {
    M(node_status, capacity, QUANTITY, MAP, "capacity", 1,
      .doc = "Total capacity, by resource."),
    M(node_status, allocatable, QUANTITY, MAP, "allocatable", 2,
      .doc = "Part of the capacity that pods can use."),
    M(node_status, phase, STRING, ONE, "phase", 3, .values = pending_running_terminated_values,
      .doc = "Phase."),
    M(node_status, conditions, OBJECT, LIST, "conditions", 4, .of = &schema_node_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
    M(node_status, addresses, OBJECT, LIST, "addresses", 5, .of = &schema_node_address,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",
      .doc = "Addresses of the node."),
    F(OBJECT, ONE, "daemonEndpoints", 6, .of = &schema_node_daemon_endpoints),
    M(node_status, node_info, OBJECT, ONE, "nodeInfo", 7, .of = &schema_node_system_info,
      .doc = "Versions and identifiers of the machine and its software."),
    F(OBJECT, LIST, "images", 8, .of = &schema_container_image, .flags = FIELD_F_ATOMIC),
    F(STRING, LIST, "volumesInUse", 9, .flags = FIELD_F_ATOMIC),
    F(OBJECT, LIST, "volumesAttached", 10, .of = &schema_attached_volume, .flags = FIELD_F_ATOMIC),
    F(OBJECT, ONE, "config", 11, .of = &schema_node_config_status, .flags = FIELD_F_OPT),
    F(OBJECT, LIST, "runtimeHandlers", 12, .of = &schema_node_runtime_handler,
      .flags = FIELD_F_ATOMIC, .doc = "Runtimes that the node has."),
    F(OBJECT, ONE, "features", 13, .of = &schema_node_features, .flags = FIELD_F_OPT),
    F(STRING, LIST, "declaredFeatures", 14, .flags = FIELD_F_ATOMIC),
};
static const struct schema schema_node_status = SCHEMA("io.k8s.api.core.v1.NodeStatus",
      node_status_fields, sizeof(struct node_status), NULL);

static const struct field node_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(node, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(node, spec, OBJECT, ONE, "spec", 2, .of = &schema_node_spec,
      .doc = "Desired state, set by the user."),
    M(node, status, OBJECT, ONE, "status", 3, .of = &schema_node_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_node = SCHEMA("io.k8s.api.core.v1.Node", node_fields,
      sizeof(struct node), "A machine that runs pods.");

static const struct field namespace_spec_fields[] = {
    M(namespace_spec, finalizers, STRING, LIST, "finalizers", 1, .flags = FIELD_F_ATOMIC,
      .doc = "Finalizers: the namespace is deleted once none is left."),
};
static const struct schema schema_namespace_spec = SCHEMA("io.k8s.api.core.v1.NamespaceSpec",
      namespace_spec_fields, sizeof(struct namespace_spec), NULL);

static const struct field namespace_condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Type of the condition."),
    M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Status of the condition: True, False or Unknown."),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 4,
      .doc = "Time of the last change of status."),
    M(condition, reason, STRING, ONE, "reason", 5,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(condition, message, STRING, ONE, "message", 6,
      .doc = "Human-readable message."),
};
static const struct schema schema_namespace_condition =
    SCHEMA("io.k8s.api.core.v1.NamespaceCondition", namespace_condition_fields,
           sizeof(struct condition), NULL);

static const struct field namespace_status_fields[] = {
    M(namespace_status, phase, STRING, ONE, "phase", 1, .values = active_terminating_values,
      .doc = "Active or Terminating."),
    M(namespace_status, conditions, OBJECT, LIST, "conditions", 2,
      .of = &schema_namespace_condition, .flags = FIELD_F_MERGE, .merge_key = "type",
      .list_keys = "type", .doc = "Current conditions, one entry per type."),
};
static const struct schema schema_namespace_status = SCHEMA("io.k8s.api.core.v1.NamespaceStatus",
      namespace_status_fields, sizeof(struct namespace_status), NULL);

static const struct field namespace_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(namespace_object, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(namespace_object, spec, OBJECT, ONE, "spec", 2, .of = &schema_namespace_spec,
      .doc = "Desired state, set by the user."),
    M(namespace_object, status, OBJECT, ONE, "status", 3, .of = &schema_namespace_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_namespace = SCHEMA("io.k8s.api.core.v1.Namespace", namespace_fields,
      sizeof(struct namespace_object), "A scope for object names; most kinds are namespaced.");

static const struct field config_map_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(config_map, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(config_map, immutable, BOOL, ONE, "immutable", 4, .flags = FIELD_F_OPT,
      .doc = "Once true, the data cannot change."),
    M(config_map, data, STRING, MAP, "data", 2, .doc = "Text values by key."),
    M(config_map, binary_data, BYTES, MAP, "binaryData", 3,
      .doc = "Binary values by key, in base64."),
};
const struct schema schema_config_map = SCHEMA("io.k8s.api.core.v1.ConfigMap", config_map_fields,
      sizeof(struct config_map), "Settings for programs, as keys and values.");

static const struct field secret_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(secret, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(secret, immutable, BOOL, ONE, "immutable", 5, .flags = FIELD_F_OPT,
      .doc = "Once true, the data cannot change."),
    M(secret, data, BYTES, MAP, "data", 2, .doc = "Binary values by key, in base64."),
    F(STRING, MAP, "stringData", 4, .flags = FIELD_F_WRITE_ONLY,
      .doc = "Text values by key; the server encodes them into data."),
    M(secret, type, STRING, ONE, "type", 3, .flags = FIELD_F_IMMUTABLE, .def = "\"Opaque\"",
      .doc = "Type of the secret; Opaque unless set."),
};
const struct schema schema_secret = SCHEMA("io.k8s.api.core.v1.Secret", secret_fields,
      sizeof(struct secret), "Confidential values by key.");

static const struct field service_account_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(service_account, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(service_account, secrets, OBJECT, LIST, "secrets", 2, .of = &schema_object_reference,
      .flags = FIELD_F_MERGE, .merge_key = "name", .list_keys = "name",
      .doc = "Secrets that its pods may use."),
    M(service_account, image_pull_secrets, OBJECT, LIST, "imagePullSecrets", 3,
      .of = &schema_local_object_reference, .flags = FIELD_F_ATOMIC,
      .doc = "Secrets with the credentials to pull images."),
    M(service_account, automount_service_account_token,
      BOOL, ONE, "automountServiceAccountToken", 4, .flags = FIELD_F_OPT,
      .doc = "Whether pods get a token mounted."),
};
const struct schema schema_service_account = SCHEMA("io.k8s.api.core.v1.ServiceAccount",
      service_account_fields, sizeof(struct service_account),
      "An identity for programs that call the API.");

static const struct field service_port_fields[] = {
    M(service_port, name, STRING, ONE, "name", 1,
      .doc = "Name of the port, unique in the Service."),
    M(service_port, protocol, STRING, ONE, "protocol", 2, .def = "\"TCP\"",
      .values = sctp_tcp_udp_values, .doc = "TCP, UDP or SCTP."),
    M(service_port, app_protocol, STRING, ONE, "appProtocol", 6, .flags = FIELD_F_OPT,
      .doc = "Application protocol of the port."),
    M(service_port, port, INT32, ONE, "port", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .min = 1, .max = 65535, .doc = "Port to connect to."),
    M(service_port, target_port, INT_OR_STRING, ONE, "targetPort", 4,
      .doc = "Port of the pod, by number or name."),
    M(service_port, node_port, INT32, ONE, "nodePort", 5, .max = 65535,
      .doc = "Port on every node."),
};
static const struct schema schema_service_port = SCHEMA("io.k8s.api.core.v1.ServicePort",
      service_port_fields, sizeof(struct service_port), NULL);

static const struct field client_ip_config_fields[] = {
    F(INT32, ONE, "timeoutSeconds", 1, .flags = FIELD_F_OPT,
      .doc = "Seconds for which a client stays with the same pod."),
};
static const struct schema schema_client_ip_config = SCHEMA("io.k8s.api.core.v1.ClientIPConfig",
      client_ip_config_fields, 0, NULL);

static const struct field session_affinity_config_fields[] = {
    F(OBJECT, ONE, "clientIP", 1, .of = &schema_client_ip_config, .flags = FIELD_F_OPT),
};
static const struct schema schema_session_affinity_config = SCHEMA(
      "io.k8s.api.core.v1.SessionAffinityConfig", session_affinity_config_fields, 0, NULL);

static const struct field service_spec_fields[] = {
    M(service_spec, ports, OBJECT, LIST, "ports", 1, .of = &schema_service_port,
      .flags = FIELD_F_MERGE, .merge_key = "port", .list_keys = "port,protocol",
      .doc = "Ports it listens on."),
    M(service_spec, selector, STRING, MAP, "selector", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Labels of the pods that serve the service."),
    M(service_spec, cluster_ip, STRING, ONE, "clusterIP", 3,
      .doc = "Address inside the cluster; None for none."),
    M(service_spec, cluster_ips, STRING, LIST, "clusterIPs", 18, .flags = FIELD_F_ATOMIC,
      .doc = "Addresses inside the cluster."),
    M(service_spec, type, STRING, ONE, "type", 4, .def = "\"ClusterIP\"",
      .values = service_type_values, .doc = "ClusterIP, NodePort, LoadBalancer or ExternalName."),
    F(STRING, LIST, "externalIPs", 5, .flags = FIELD_F_ATOMIC,
      .doc = "Further addresses that lead here."),
    M(service_spec, session_affinity, STRING, ONE, "sessionAffinity", 7, .def = "\"None\"",
      .values = client_ip_none_values, .doc = "None or ClientIP."),
    F(STRING, ONE, "loadBalancerIP", 8, .doc = "No longer used."),
    F(STRING, LIST, "loadBalancerSourceRanges", 9, .flags = FIELD_F_ATOMIC,
      .doc = "Addresses that may connect through the load balancer."),
    M(service_spec, external_name, STRING, ONE, "externalName", 10,
      .doc = "DNS name that the service is an alias of."),
    F(STRING, ONE, "externalTrafficPolicy", 11, .values = cluster_local_values,
      .doc = "Cluster or Local."),
    F(INT32, ONE, "healthCheckNodePort", 12, .doc = "Port of the health check."),
    M(service_spec, publish_not_ready_addresses, BOOL, ONE, "publishNotReadyAddresses", 13,
      .doc = "Includes pods that are not ready."),
    F(OBJECT, ONE, "sessionAffinityConfig", 14, .of = &schema_session_affinity_config,
      .flags = FIELD_F_OPT, .doc = "Settings of the session affinity."),
    F(STRING, LIST, "ipFamilies", 19, .flags = FIELD_F_ATOMIC, .values = i_pv4_i_pv6_values,
      .doc = "IPv4, IPv6 or both."),
    F(STRING, ONE, "ipFamilyPolicy", 17, .flags = FIELD_F_OPT, .values = ip_family_policy_values,
      .doc = "SingleStack, PreferDualStack or RequireDualStack."),
    F(BOOL, ONE, "allocateLoadBalancerNodePorts", 20, .flags = FIELD_F_OPT,
      .doc = "Whether a load balancer gets node ports."),
    F(STRING, ONE, "loadBalancerClass", 21, .flags = FIELD_F_OPT,
      .doc = "Class of the load balancer."),
    F(STRING, ONE, "internalTrafficPolicy", 22, .flags = FIELD_F_OPT, .def = "\"Cluster\"",
      .values = cluster_local_values, .doc = "Cluster or Local."),
    F(STRING, ONE, "trafficDistribution", 23, .flags = FIELD_F_OPT,
      .doc = "Which endpoints are preferred for routing."),
};
static const struct schema schema_service_spec = SCHEMA("io.k8s.api.core.v1.ServiceSpec",
      service_spec_fields, sizeof(struct service_spec), NULL);

static const struct field port_status_fields[] = {
    F(INT32, ONE, "port", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Port to connect to."),
    F(STRING, ONE, "protocol", 2, .flags = FIELD_F_KEEP_EMPTY, .values = sctp_tcp_udp_values,
      .doc = "TCP, UDP or SCTP."),
    F(STRING, ONE, "error", 3, .flags = FIELD_F_OPT, .doc = "Why it failed."),
};
static const struct schema schema_port_status = SCHEMA("io.k8s.api.core.v1.PortStatus",
      port_status_fields, 0, NULL);

static const struct field load_balancer_ingress_fields[] = {
    F(STRING, ONE, "ip", 1, .doc = "Address."),
    F(STRING, ONE, "hostname", 2, .doc = "Host name."),
    F(STRING, ONE, "ipMode", 3, .flags = FIELD_F_OPT),
    F(OBJECT, LIST, "ports", 4, .of = &schema_port_status, .flags = FIELD_F_ATOMIC,
      .doc = "Ports."),
};
static const struct schema schema_load_balancer_ingress = SCHEMA(
      "io.k8s.api.core.v1.LoadBalancerIngress", load_balancer_ingress_fields, 0, NULL);

static const struct field load_balancer_status_fields[] = {
    F(OBJECT, LIST, "ingress", 1, .of = &schema_load_balancer_ingress, .flags = FIELD_F_ATOMIC),
};
static const struct schema schema_load_balancer_status = SCHEMA(
      "io.k8s.api.core.v1.LoadBalancerStatus", load_balancer_status_fields, 0, NULL);

static const struct field service_status_fields[] = {
    F(OBJECT, ONE, "loadBalancer", 1, .of = &schema_load_balancer_status,
      .doc = "State of the load balancer."),
    F(OBJECT, LIST, "conditions", 2, .of = &schema_condition, .flags = FIELD_F_MERGE,
      .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
};
static const struct schema schema_service_status = SCHEMA("io.k8s.api.core.v1.ServiceStatus",
      service_status_fields, 0, NULL);

static const struct field service_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(service, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(service, spec, OBJECT, ONE, "spec", 2, .of = &schema_service_spec,
      .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_service_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_service = SCHEMA("io.k8s.api.core.v1.Service", service_fields,
      sizeof(struct service), "One stable address for a set of pods.");

static const struct field endpoint_address_fields[] = {
    M(endpoint_address, ip, STRING, ONE, "ip", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Address."),
    M(endpoint_address, hostname, STRING, ONE, "hostname", 3, .doc = "Host name."),
    M(endpoint_address, node_name, STRING, ONE, "nodeName", 4, .flags = FIELD_F_OPT,
      .doc = "Node that hosts the endpoint."),
    M(endpoint_address, target_ref, OBJECT, ONE, "targetRef", 2, .of = &schema_object_reference,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Object that owns the address."),
};
static const struct schema schema_endpoint_address = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.EndpointAddress", endpoint_address_fields,
      sizeof(struct endpoint_address), NULL);

static const struct field endpoint_port_fields[] = {
    M(endpoint_port, name, STRING, ONE, "name", 1, .doc = "Name of the port."),
    M(endpoint_port, port, INT32, ONE, "port", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .min = 1, .max = 65535, .doc = "Port to connect to."),
    M(endpoint_port, protocol, STRING, ONE, "protocol", 3, .def = "\"TCP\"",
      .values = sctp_tcp_udp_values, .doc = "TCP, UDP or SCTP."),
    M(endpoint_port, app_protocol, STRING, ONE, "appProtocol", 4, .flags = FIELD_F_OPT,
      .doc = "Application protocol of the port."),
};
static const struct schema schema_endpoint_port = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.EndpointPort", endpoint_port_fields, sizeof(struct endpoint_port), NULL);

static const struct field endpoint_subset_fields[] = {
    M(endpoint_subset, addresses, OBJECT, LIST, "addresses", 1, .of = &schema_endpoint_address,
      .flags = FIELD_F_ATOMIC, .doc = "Addresses that are ready."),
    M(endpoint_subset, not_ready_addresses, OBJECT, LIST, "notReadyAddresses", 2,
      .of = &schema_endpoint_address, .flags = FIELD_F_ATOMIC,
      .doc = "Addresses that are not ready yet."),
    M(endpoint_subset, ports, OBJECT, LIST, "ports", 3, .of = &schema_endpoint_port,
      .flags = FIELD_F_ATOMIC, .doc = "Ports."),
};
static const struct schema schema_endpoint_subset = SCHEMA("io.k8s.api.core.v1.EndpointSubset",
      endpoint_subset_fields, sizeof(struct endpoint_subset), NULL);

static const struct field endpoints_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(endpoints, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(endpoints, subsets, OBJECT, LIST, "subsets", 2, .of = &schema_endpoint_subset,
      .flags = FIELD_F_ATOMIC, .doc = "Groups of addresses that share their ports."),
};
const struct schema schema_endpoints = SCHEMA("io.k8s.api.core.v1.Endpoints", endpoints_fields,
      sizeof(struct endpoints), "Addresses of the pods behind a service.");
