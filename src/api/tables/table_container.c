/*
 * table_container: the fields of one container: environment, ports, probes, security, resources.
 */
#include "api/tables/view_core.h"

#include "api/tables/table.h"

static const char *const always_if_not_present_never_values[] = {
    "Always", "IfNotPresent", "Never", NULL,
};
static const char *const always_never_on_failure_values[] = {"Always", "Never", "OnFailure", NULL};
static const char *const bidirectional_host_to_container_none_values[] = {
    "Bidirectional", "HostToContainer", "None", NULL,
};
static const char *const default_unmasked_values[] = {"Default", "Unmasked", NULL};
static const char *const fallback_to_logs_on_error_file_values[] = {
    "FallbackToLogsOnError", "File", NULL,
};
static const char *const http_https_values[] = {"HTTP", "HTTPS", NULL};
static const char *const localhost_runtime_default_unconfined_values[] = {
    "Localhost", "RuntimeDefault", "Unconfined", NULL,
};
static const char *const sctp_tcp_udp_values[] = {"SCTP", "TCP", "UDP", NULL};
static const char *const signal_values[] = {
    "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL",
    "SIGINT", "SIGIO", "SIGIOT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGPWR", "SIGQUIT",
    "SIGRTMAX", "SIGRTMAX-1", "SIGRTMAX-10", "SIGRTMAX-11", "SIGRTMAX-12", "SIGRTMAX-13",
    "SIGRTMAX-14", "SIGRTMAX-2", "SIGRTMAX-3", "SIGRTMAX-4", "SIGRTMAX-5", "SIGRTMAX-6",
    "SIGRTMAX-7", "SIGRTMAX-8", "SIGRTMAX-9", "SIGRTMIN", "SIGRTMIN+1", "SIGRTMIN+10",
    "SIGRTMIN+11", "SIGRTMIN+12", "SIGRTMIN+13", "SIGRTMIN+14", "SIGRTMIN+15", "SIGRTMIN+2",
    "SIGRTMIN+3", "SIGRTMIN+4", "SIGRTMIN+5", "SIGRTMIN+6", "SIGRTMIN+7", "SIGRTMIN+8",
    "SIGRTMIN+9", "SIGSEGV", "SIGSTKFLT", "SIGSTOP", "SIGSYS", "SIGTERM", "SIGTRAP", "SIGTSTP",
    "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGWINCH", "SIGXCPU",
    "SIGXFSZ", NULL,
};

static const struct field local_object_reference_fields[] = {
    M(local_object_reference, name, STRING, ONE, "name", 1,
      .doc = "Name of the object, in the same namespace."),
};
const struct schema schema_local_object_reference = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.LocalObjectReference", local_object_reference_fields,
      sizeof(struct local_object_reference), NULL);

static const struct field object_field_selector_fields[] = {
    M(field_ref, api_version, STRING, ONE, "apiVersion", 1, .def = "\"v1\"",
      .doc = "Version of the API in which the object is written."),
    M(field_ref, field_path, STRING, ONE, "fieldPath", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Part of the object, as a field path."),
};
const struct schema schema_object_field_selector = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.ObjectFieldSelector", object_field_selector_fields,
      sizeof(struct field_ref), NULL);

static const struct field resource_field_selector_fields[] = {
    M(resource_field_ref, container_name, STRING, ONE, "containerName", 1,
      .doc = "Container whose resource it is."),
    M(resource_field_ref, resource, STRING, ONE, "resource", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Kind of resource, in the plural."),
    M(resource_field_ref, divisor, QUANTITY, ONE, "divisor", 3,
      .doc = "Unit in which the amount is given."),
};
const struct schema schema_resource_field_selector = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.ResourceFieldSelector", resource_field_selector_fields,
      sizeof(struct resource_field_ref), NULL);

static const struct field typed_local_object_reference_fields[] = {
    M(typed_reference, api_group, STRING, ONE, "apiGroup", 1, .flags = FIELD_F_OPT,
      .doc = "API group of the referenced object."),
    M(typed_reference, kind, STRING, ONE, "kind", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Kind of the object."),
    M(typed_reference, name, STRING, ONE, "name", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the object, in the same namespace."),
};
const struct schema schema_typed_local_object_reference = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.TypedLocalObjectReference", typed_local_object_reference_fields,
      sizeof(struct typed_reference), NULL);

static const struct field typed_object_reference_fields[] = {
    M(typed_reference, api_group, STRING, ONE, "apiGroup", 1, .flags = FIELD_F_OPT,
      .doc = "API group of the referenced object."),
    M(typed_reference, kind, STRING, ONE, "kind", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Kind of the object."),
    M(typed_reference, name, STRING, ONE, "name", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the object."),
    M(typed_reference, namespace, STRING, ONE, "namespace", 4, .flags = FIELD_F_OPT,
      .doc = "Namespace of the object."),
};
const struct schema schema_typed_object_reference = SCHEMA(
      "io.k8s.api.core.v1.TypedObjectReference", typed_object_reference_fields,
      sizeof(struct typed_reference), NULL);

static const struct field container_port_fields[] = {
    M(container_port, name, STRING, ONE, "name", 1, .format = "port-name",
      .doc = "Name of the port."),
    M(container_port, host_port, INT32, ONE, "hostPort", 2, .max = 65535,
      .doc = "Port of the node that leads to it."),
    M(container_port, container_port, INT32, ONE, "containerPort", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY | FIELD_F_NO_ZERO, .min = 1, .max = 65535,
      .doc = "Port on which it listens."),
    M(container_port, protocol, STRING, ONE, "protocol", 4, .def = "\"TCP\"",
      .values = sctp_tcp_udp_values, .doc = "TCP, UDP or SCTP."),
    M(container_port, host_ip, STRING, ONE, "hostIP", 5, .doc = "Address of the node to bind to."),
};
const struct schema schema_container_port = SCHEMA("io.k8s.api.core.v1.ContainerPort",
      container_port_fields, sizeof(struct container_port), NULL);

static const struct field config_map_env_source_fields[] = {
    M(env_from_ref, name, STRING, ONE, "name", 1, .proto_in = 1, .doc = "Name of the ConfigMap."),
    M(env_from_ref, optional, BOOL, ONE, "optional", 2, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_config_map_env_source = SCHEMA(
      "io.k8s.api.core.v1.ConfigMapEnvSource", config_map_env_source_fields,
      sizeof(struct env_from_ref), NULL);

static const struct field secret_env_source_fields[] = {
    M(env_from_ref, name, STRING, ONE, "name", 1, .proto_in = 1, .doc = "Name of the Secret."),
    M(env_from_ref, optional, BOOL, ONE, "optional", 2, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_secret_env_source = SCHEMA("io.k8s.api.core.v1.SecretEnvSource",
      secret_env_source_fields, sizeof(struct env_from_ref), NULL);

static const struct field env_from_source_fields[] = {
    M(env_from, prefix, STRING, ONE, "prefix", 1, .doc = "Text put in front of each name."),
    M(env_from, config_map_ref, OBJECT, ONE, "configMapRef", 2,
      .of = &schema_config_map_env_source, .flags = FIELD_F_OPT, .doc = "ConfigMap to read."),
    M(env_from, secret_ref, OBJECT, ONE, "secretRef", 3, .of = &schema_secret_env_source,
      .flags = FIELD_F_OPT, .doc = "Secret to read."),
};
const struct schema schema_env_from_source = SCHEMA("io.k8s.api.core.v1.EnvFromSource",
      env_from_source_fields, sizeof(struct env_from), NULL);

static const struct field config_map_key_selector_fields[] = {
    M(key_selector, name, STRING, ONE, "name", 1, .proto_in = 1, .doc = "Name of the ConfigMap."),
    M(key_selector, key, STRING, ONE, "key", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Key to look for."),
    M(key_selector, optional, BOOL, ONE, "optional", 3, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_config_map_key_selector = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.ConfigMapKeySelector", config_map_key_selector_fields,
      sizeof(struct key_selector), NULL);

static const struct field secret_key_selector_fields[] = {
    M(key_selector, name, STRING, ONE, "name", 1, .proto_in = 1, .doc = "Name of the Secret."),
    M(key_selector, key, STRING, ONE, "key", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Key to look for."),
    M(key_selector, optional, BOOL, ONE, "optional", 3, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_secret_key_selector =
    ATOMIC_SCHEMA("io.k8s.api.core.v1.SecretKeySelector", secret_key_selector_fields,
           sizeof(struct key_selector), NULL);

static const struct field file_key_selector_fields[] = {
    F(STRING, ONE, "volumeName", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the volume."),
    F(STRING, ONE, "path", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path, relative to the mount point."),
    F(STRING, ONE, "key", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Key to look for."),
    F(BOOL, ONE, "optional", 4, .flags = FIELD_F_OPT,
      .doc = "Whether the object or key may be missing."),
};
static const struct schema schema_file_key_selector = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.FileKeySelector", file_key_selector_fields, 0, NULL);

static const struct field env_var_source_fields[] = {
    M(env_source, field_ref, OBJECT, ONE, "fieldRef", 1, .of = &schema_object_field_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "A field of the pod."),
    M(env_source, resource_field_ref, OBJECT, ONE, "resourceFieldRef", 2,
      .of = &schema_resource_field_selector, .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "A resource of a container."),
    M(env_source, config_map_key_ref, OBJECT, ONE, "configMapKeyRef", 3,
      .of = &schema_config_map_key_selector, .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "A key of a ConfigMap."),
    M(env_source, secret_key_ref, OBJECT, ONE, "secretKeyRef", 4,
      .of = &schema_secret_key_selector, .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "A key of a Secret."),
    M(env_source, file_key_ref, OBJECT, ONE, "fileKeyRef", 5, .of = &schema_file_key_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "A key of a file in a volume."),
};
static const struct schema schema_env_var_source = SCHEMA("io.k8s.api.core.v1.EnvVarSource",
      env_var_source_fields, sizeof(struct env_source), NULL);

static const struct field env_var_fields[] = {
    M(env_var, name, STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .format = "env-name", .doc = "Name of the variable."),
    M(env_var, value, STRING, ONE, "value", 2,
      .doc = "Value of the variable; $(NAME) is replaced by earlier variables."),
    M(env_var, value_from, OBJECT, ONE, "valueFrom", 3, .of = &schema_env_var_source,
      .flags = FIELD_F_OPT, .doc = "Takes the value from elsewhere."),
};
const struct schema schema_env_var = SCHEMA("io.k8s.api.core.v1.EnvVar", env_var_fields,
      sizeof(struct env_var), NULL);

static const struct field container_resource_claim_fields[] = {
    M(resource_claim_ref, name, STRING, ONE, "name", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the claim in spec.resourceClaims."),
    M(resource_claim_ref, request, STRING, ONE, "request", 2),
};
static const struct schema schema_container_resource_claim =
    SCHEMA("io.k8s.api.core.v1.ResourceClaim", container_resource_claim_fields,
           sizeof(struct resource_claim_ref), NULL);

static const struct field resources_fields[] = {
    M(resources, limits, QUANTITY, MAP, "limits", 1, .doc = "Upper limits, by resource."),
    M(resources, requests, QUANTITY, MAP, "requests", 2, .doc = "Reserved amounts, by resource."),
    M(resources, claims, OBJECT, LIST, "claims", 3, .of = &schema_container_resource_claim,
      .list_keys = "name", .doc = "Resource claims that the container uses."),
};
const struct schema schema_resources = SCHEMA("io.k8s.api.core.v1.ResourceRequirements",
      resources_fields, sizeof(struct resources), "Resources of a container.");

static const struct field container_resize_policy_fields[] = {
    F(STRING, ONE, "resourceName", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the resource."),
    F(STRING, ONE, "restartPolicy", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "NotRequired or RestartContainer."),
};
static const struct schema schema_container_resize_policy = SCHEMA(
      "io.k8s.api.core.v1.ContainerResizePolicy", container_resize_policy_fields, 0, NULL);

static const struct field container_restart_rule_on_exit_codes_fields[] = {
    F(STRING, ONE, "operator", 1, .doc = "Operator that compares the key with the values."),
    F(INT32, LIST, "values", 2, .flags = FIELD_F_SET, .doc = "Values to compare with."),
};
static const struct schema schema_container_restart_rule_on_exit_codes = SCHEMA(
      "io.k8s.api.core.v1.ContainerRestartRuleOnExitCodes",
      container_restart_rule_on_exit_codes_fields, 0, NULL);

static const struct field container_restart_rule_fields[] = {
    F(STRING, ONE, "action", 1, .doc = "What to do when the rule matches."),
    F(OBJECT, ONE, "exitCodes", 2, .of = &schema_container_restart_rule_on_exit_codes,
      .flags = FIELD_F_OPT, .doc = "Exit codes that match."),
};
const struct schema schema_container_restart_rule = SCHEMA(
      "io.k8s.api.core.v1.ContainerRestartRule", container_restart_rule_fields, 0, NULL);

static const struct field volume_mount_fields[] = {
    M(volume_mount, name, STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Volume to mount."),
    M(volume_mount, read_only, BOOL, ONE, "readOnly", 2,
      .doc = "Whether the volume is mounted read-only."),
    F(STRING, ONE, "recursiveReadOnly", 7, .flags = FIELD_F_OPT,
      .doc = "Whether nested mounts are read-only as well."),
    M(volume_mount, mount_path, STRING, ONE, "mountPath", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Path in the container at which the volume is mounted."),
    M(volume_mount, sub_path, STRING, ONE, "subPath", 4, .doc = "Path inside the volume to mount."),
    M(volume_mount, mount_propagation, STRING, ONE, "mountPropagation", 5, .flags = FIELD_F_OPT,
      .values = bidirectional_host_to_container_none_values,
      .doc = "Mount propagation: None, HostToContainer or Bidirectional."),
    M(volume_mount, sub_path_expr, STRING, ONE, "subPathExpr", 6,
      .doc = "Path inside the volume to mount, with $(NAME) expanded."),
};
const struct schema schema_volume_mount = SCHEMA("io.k8s.api.core.v1.VolumeMount",
      volume_mount_fields, sizeof(struct volume_mount), NULL);

static const struct field volume_device_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the claim in spec.volumes."),
    F(STRING, ONE, "devicePath", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
};
static const struct schema schema_volume_device = SCHEMA("io.k8s.api.core.v1.VolumeDevice",
      volume_device_fields, 0, NULL);

static const struct field exec_action_fields[] = {
    M(exec_action, command, STRING, LIST, "command", 1, .flags = FIELD_F_ATOMIC,
      .doc = "Command line; no shell is involved."),
};
static const struct schema schema_exec_action = SCHEMA("io.k8s.api.core.v1.ExecAction",
      exec_action_fields, sizeof(struct exec_action), NULL);

static const struct field http_header_fields[] = {
    M(http_header, name, STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the header."),
    M(http_header, value, STRING, ONE, "value", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Value of the header."),
};
static const struct schema schema_http_header = SCHEMA("io.k8s.api.core.v1.HTTPHeader",
      http_header_fields, sizeof(struct http_header), NULL);

static const struct field http_get_action_fields[] = {
    M(http_get_action, path, STRING, ONE, "path", 1, .def = "\"/\"",
      .doc = "Path, relative to the mount point."),
    M(http_get_action, port, INT_OR_STRING, ONE, "port", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Port to connect to."),
    M(http_get_action, host, STRING, ONE, "host", 3, .doc = "Host to connect to."),
    M(http_get_action, scheme, STRING, ONE, "scheme", 4, .def = "\"HTTP\"",
      .values = http_https_values, .doc = "HTTP or HTTPS."),
    M(http_get_action, http_headers, OBJECT, LIST, "httpHeaders", 5, .of = &schema_http_header,
      .flags = FIELD_F_ATOMIC, .doc = "Headers to send."),
};
static const struct schema schema_http_get_action = SCHEMA("io.k8s.api.core.v1.HTTPGetAction",
      http_get_action_fields, sizeof(struct http_get_action), NULL);

static const struct field tcp_socket_action_fields[] = {
    M(tcp_socket_action, port, INT_OR_STRING, ONE, "port", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Port to connect to."),
    M(tcp_socket_action, host, STRING, ONE, "host", 2, .doc = "Host to connect to."),
};
static const struct schema schema_tcp_socket_action = SCHEMA("io.k8s.api.core.v1.TCPSocketAction",
      tcp_socket_action_fields, sizeof(struct tcp_socket_action), NULL);

static const struct field grpc_action_fields[] = {
    F(INT32, ONE, "port", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .min = 1,
      .max = 65535, .doc = "Port to connect to."),
    F(STRING, ONE, "service", 2, .flags = FIELD_F_OPT, .def = "\"\"",
      .doc = "Service to ask for."),
};
static const struct schema schema_grpc_action = SCHEMA("io.k8s.api.core.v1.GRPCAction",
      grpc_action_fields, 0, NULL);

static const struct field probe_fields[] = {
    M(probe, exec, OBJECT, ONE, "exec", 1, .of = &schema_exec_action, .flags = FIELD_F_OPT,
      .proto_in = 1, .doc = "Runs a command in the container."),
    M(probe, http_get, OBJECT, ONE, "httpGet", 2, .of = &schema_http_get_action,
      .flags = FIELD_F_OPT, .proto_in = 1, .doc = "Makes an HTTP request."),
    M(probe, tcp_socket, OBJECT, ONE, "tcpSocket", 3, .of = &schema_tcp_socket_action,
      .flags = FIELD_F_OPT, .proto_in = 1, .doc = "Opens a TCP connection."),
    M(probe, grpc, OBJECT, ONE, "grpc", 4, .of = &schema_grpc_action, .flags = FIELD_F_OPT,
      .proto_in = 1, .doc = "Asks a gRPC health service."),
    M(probe, initial_delay_seconds, INT32, ONE, "initialDelaySeconds", 2, .max = INT32_MAX,
      .doc = "Seconds to wait before the first check."),
    M(probe, timeout_seconds, INT32, ONE, "timeoutSeconds", 3, .def = "1", .min = 1,
      .max = INT32_MAX, .doc = "Seconds after which a check counts as failed."),
    M(probe, period_seconds, INT32, ONE, "periodSeconds", 4, .def = "10", .min = 1,
      .max = INT32_MAX, .doc = "Seconds between checks."),
    M(probe, success_threshold, INT32, ONE, "successThreshold", 5, .def = "1", .min = 1,
      .max = INT32_MAX, .doc = "Consecutive successes after which the check passes."),
    M(probe, failure_threshold, INT32, ONE, "failureThreshold", 6, .def = "3", .min = 1,
      .max = INT32_MAX, .doc = "Consecutive failures after which the check fails."),
    M(probe, termination_grace_period_seconds, INT64, ONE, "terminationGracePeriodSeconds", 7,
      .flags = FIELD_F_OPT, .doc = "Grace period in seconds after this check fails."),
};
const struct schema schema_probe = SCHEMA("io.k8s.api.core.v1.Probe", probe_fields,
      sizeof(struct probe), NULL);

static const struct field sleep_action_fields[] = {
    M(sleep_action, seconds, INT64, ONE, "seconds", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Seconds to wait."),
};
static const struct schema schema_sleep_action = SCHEMA("io.k8s.api.core.v1.SleepAction",
      sleep_action_fields, sizeof(struct sleep_action), NULL);

static const struct field lifecycle_handler_fields[] = {
    M(lifecycle_handler, exec, OBJECT, ONE, "exec", 1, .of = &schema_exec_action,
      .flags = FIELD_F_OPT, .doc = "Runs a command in the container."),
    M(lifecycle_handler, http_get, OBJECT, ONE, "httpGet", 2, .of = &schema_http_get_action,
      .flags = FIELD_F_OPT, .doc = "Makes an HTTP request."),
    M(lifecycle_handler, tcp_socket, OBJECT, ONE, "tcpSocket", 3, .of = &schema_tcp_socket_action,
      .flags = FIELD_F_OPT, .doc = "Opens a TCP connection."),
    M(lifecycle_handler, sleep, OBJECT, ONE, "sleep", 4, .of = &schema_sleep_action,
      .flags = FIELD_F_OPT, .doc = "Waits."),
};
static const struct schema schema_lifecycle_handler = SCHEMA("io.k8s.api.core.v1.LifecycleHandler",
      lifecycle_handler_fields, sizeof(struct lifecycle_handler), NULL);

static const struct field lifecycle_fields[] = {
    M(lifecycle, post_start, OBJECT, ONE, "postStart", 1, .of = &schema_lifecycle_handler,
      .flags = FIELD_F_OPT, .doc = "Runs right after the start."),
    M(lifecycle, pre_stop, OBJECT, ONE, "preStop", 2, .of = &schema_lifecycle_handler,
      .flags = FIELD_F_OPT, .doc = "Runs before the container is asked to end."),
    M(lifecycle, stop_signal, STRING, ONE, "stopSignal", 3, .flags = FIELD_F_OPT,
      .values = signal_values, .doc = "Signal that asks it to end."),
};
const struct schema schema_lifecycle = SCHEMA("io.k8s.api.core.v1.Lifecycle", lifecycle_fields,
      sizeof(struct lifecycle), NULL);

static const struct field capabilities_fields[] = {
    M(capabilities, add, STRING, LIST, "add", 1, .flags = FIELD_F_ATOMIC,
      .doc = "Capabilities to add."),
    M(capabilities, drop, STRING, LIST, "drop", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Capabilities to drop."),
};
static const struct schema schema_capabilities = SCHEMA("io.k8s.api.core.v1.Capabilities",
      capabilities_fields, sizeof(struct capabilities), NULL);

static const struct field se_linux_options_fields[] = {
    F(STRING, ONE, "user", 1, .doc = "User."),
    F(STRING, ONE, "role", 2),
    F(STRING, ONE, "type", 3, .doc = "SELinux type."),
    F(STRING, ONE, "level", 4),
};
const struct schema schema_se_linux_options = SCHEMA("io.k8s.api.core.v1.SELinuxOptions",
      se_linux_options_fields, 0, NULL);

static const struct field windows_security_context_options_fields[] = {
    F(STRING, ONE, "gmsaCredentialSpecName", 1, .flags = FIELD_F_OPT),
    F(STRING, ONE, "gmsaCredentialSpec", 2, .flags = FIELD_F_OPT),
    F(STRING, ONE, "runAsUserName", 3, .flags = FIELD_F_OPT),
    F(BOOL, ONE, "hostProcess", 4, .flags = FIELD_F_OPT),
};
const struct schema schema_windows_security_context_options = SCHEMA(
      "io.k8s.api.core.v1.WindowsSecurityContextOptions", windows_security_context_options_fields,
      0, NULL);

static const struct field seccomp_profile_fields[] = {
    M(seccomp_profile, type, STRING, ONE, "type", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .values = localhost_runtime_default_unconfined_values,
      .doc = "Profile type: RuntimeDefault, Localhost or Unconfined."),
    M(seccomp_profile, localhost_profile, STRING, ONE, "localhostProfile", 2,
      .flags = FIELD_F_OPT, .doc = "Profile file on the node."),
};
const struct schema schema_seccomp_profile = SCHEMA("io.k8s.api.core.v1.SeccompProfile",
      seccomp_profile_fields, sizeof(struct seccomp_profile), NULL);

static const struct field app_armor_profile_fields[] = {
    M(seccomp_profile, type, STRING, ONE, "type", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .values = localhost_runtime_default_unconfined_values,
      .doc = "Profile type: RuntimeDefault, Localhost or Unconfined."),
    M(seccomp_profile, localhost_profile, STRING, ONE, "localhostProfile", 2,
      .flags = FIELD_F_OPT, .doc = "Profile file on the node."),
};
const struct schema schema_app_armor_profile = SCHEMA("io.k8s.api.core.v1.AppArmorProfile",
      app_armor_profile_fields, sizeof(struct seccomp_profile), NULL);

static const struct field security_context_fields[] = {
    M(container_security, capabilities, OBJECT, ONE, "capabilities", 1,
      .of = &schema_capabilities, .flags = FIELD_F_OPT, .doc = "Capabilities to add or drop."),
    M(container_security, privileged, BOOL, ONE, "privileged", 2, .flags = FIELD_F_OPT,
      .doc = "Runs with the rights of the node's root."),
    F(OBJECT, ONE, "seLinuxOptions", 3, .of = &schema_se_linux_options, .flags = FIELD_F_OPT,
      .doc = "SELinux label."),
    F(OBJECT, ONE, "windowsOptions", 10, .of = &schema_windows_security_context_options,
      .flags = FIELD_F_OPT, .doc = "Settings that apply on Windows only."),
    M(container_security, run_as_user, INT64, ONE, "runAsUser", 4, .flags = FIELD_F_OPT,
      .doc = "User id that processes run as."),
    M(container_security, run_as_group, INT64, ONE, "runAsGroup", 8, .flags = FIELD_F_OPT,
      .doc = "Group id that processes run as."),
    M(container_security, run_as_non_root, BOOL, ONE, "runAsNonRoot", 5, .flags = FIELD_F_OPT,
      .doc = "Refuses to start as user id 0."),
    M(container_security, read_only_root_filesystem, BOOL, ONE, "readOnlyRootFilesystem", 6,
      .flags = FIELD_F_OPT, .doc = "Mounts its root read-only."),
    M(container_security, allow_privilege_escalation, BOOL, ONE, "allowPrivilegeEscalation", 7,
      .flags = FIELD_F_OPT, .doc = "Whether a process may gain more rights than its parent."),
    M(container_security, proc_mount, STRING, ONE, "procMount", 9, .flags = FIELD_F_OPT,
      .values = default_unmasked_values, .doc = "How /proc is masked."),
    M(container_security, seccomp_profile, OBJECT, ONE, "seccompProfile", 11,
      .of = &schema_seccomp_profile, .flags = FIELD_F_OPT,
      .doc = "Which system calls are allowed."),
    M(container_security, app_armor_profile, OBJECT, ONE, "appArmorProfile", 12,
      .of = &schema_app_armor_profile, .flags = FIELD_F_OPT,
      .doc = "AppArmor profile that confines it."),
};
const struct schema schema_security_context = SCHEMA("io.k8s.api.core.v1.SecurityContext",
      security_context_fields, sizeof(struct container_security), NULL);

static const struct field container_fields[] = {
    M(container, name, STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .format = "dns1123-label", .doc = "Name of the container, unique in its pod."),
    M(container, image, STRING, ONE, "image", 2, .doc = "Image to run."),
    M(container, command, STRING, LIST, "command", 3, .flags = FIELD_F_ATOMIC,
      .doc = "Command to run instead of the image's entry point."),
    M(container, args, STRING, LIST, "args", 4, .flags = FIELD_F_ATOMIC,
      .doc = "Arguments, instead of the image's."),
    M(container, working_dir, STRING, ONE, "workingDir", 5, .doc = "Directory to start in."),
    M(container, ports, OBJECT, LIST, "ports", 6, .of = &schema_container_port,
      .flags = FIELD_F_MERGE, .merge_key = "containerPort", .list_keys = "containerPort,protocol",
      .doc = "Ports that it listens on; for information."),
    M(container, env_from, OBJECT, LIST, "envFrom", 19, .of = &schema_env_from_source,
      .flags = FIELD_F_ATOMIC,
      .doc = "ConfigMaps and Secrets whose keys become environment variables."),
    M(container, env, OBJECT, LIST, "env", 7, .of = &schema_env_var, .flags = FIELD_F_MERGE,
      .merge_key = "name", .list_keys = "name", .doc = "Environment variables."),
    M(container, resources, OBJECT, ONE, "resources", 8, .of = &schema_resources, .def = "{}",
      .doc = "Resource requests, limits and claims."),
    F(OBJECT, LIST, "resizePolicy", 23, .of = &schema_container_resize_policy,
      .flags = FIELD_F_ATOMIC, .doc = "Whether changing a resource restarts it."),
    M(container, restart_policy, STRING, ONE, "restartPolicy", 24, .flags = FIELD_F_OPT,
      .values = always_never_on_failure_values,
      .doc = "For an init container: Always makes it a sidecar."),
    F(OBJECT, LIST, "restartPolicyRules", 25, .of = &schema_container_restart_rule,
      .flags = FIELD_F_ATOMIC, .doc = "Restart rules for particular exit codes."),
    M(container, volume_mounts, OBJECT, LIST, "volumeMounts", 9, .of = &schema_volume_mount,
      .flags = FIELD_F_MERGE, .merge_key = "mountPath", .list_keys = "mountPath",
      .doc = "Volumes mounted in the container."),
    F(OBJECT, LIST, "volumeDevices", 21, .of = &schema_volume_device, .flags = FIELD_F_MERGE,
      .merge_key = "devicePath", .list_keys = "devicePath",
      .doc = "Block devices mapped into the container."),
    M(container, liveness_probe, OBJECT, ONE, "livenessProbe", 10, .of = &schema_probe,
      .flags = FIELD_F_OPT, .doc = "Liveness check: the container is restarted when it fails."),
    M(container, readiness_probe, OBJECT, ONE, "readinessProbe", 11, .of = &schema_probe,
      .flags = FIELD_F_OPT, .doc = "Readiness check: whether the container can serve traffic."),
    M(container, startup_probe, OBJECT, ONE, "startupProbe", 22, .of = &schema_probe,
      .flags = FIELD_F_OPT, .doc = "Startup check: the other checks begin once it has passed."),
    M(container, lifecycle, OBJECT, ONE, "lifecycle", 12, .of = &schema_lifecycle,
      .flags = FIELD_F_OPT, .doc = "Hooks after the container's start and before its end."),
    M(container, termination_message_path, STRING, ONE, "terminationMessagePath", 13,
      .def = "\"/dev/termination-log\"", .doc = "File from which the termination message is read."),
    M(container, termination_message_policy, STRING, ONE, "terminationMessagePolicy", 20,
      .def = "\"File\"", .values = fallback_to_logs_on_error_file_values,
      .doc = "Source of the termination message: File or FallbackToLogsOnError."),
    M(container, image_pull_policy, STRING, ONE, "imagePullPolicy", 14,
      .values = always_if_not_present_never_values,
      .doc = "Always, IfNotPresent or Never; Always for the tag latest."),
    M(container, security_context, OBJECT, ONE, "securityContext", 15,
      .of = &schema_security_context, .flags = FIELD_F_OPT,
      .doc = "Security settings of this container."),
    M(container, stdin, BOOL, ONE, "stdin", 16, .doc = "Keeps standard input open."),
    M(container, stdin_once, BOOL, ONE, "stdinOnce", 17,
      .doc = "Closes standard input after the first attach."),
    M(container, tty, BOOL, ONE, "tty", 18, .doc = "Gives it a terminal."),
};
const struct schema schema_container = SCHEMA("io.k8s.api.core.v1.Container", container_fields,
      sizeof(struct container), "A container of a pod.");

static const struct field ephemeral_container_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .proto_in = 1,
      .format = "dns1123-label", .doc = "Name of the container, unique in its pod."),
    F(STRING, ONE, "image", 2, .proto_in = 1, .doc = "Image to run."),
    F(STRING, LIST, "command", 3, .flags = FIELD_F_ATOMIC, .proto_in = 1,
      .doc = "Command to run instead of the image's entry point."),
    F(STRING, LIST, "args", 4, .flags = FIELD_F_ATOMIC, .proto_in = 1,
      .doc = "Arguments, instead of the image's."),
    F(STRING, ONE, "workingDir", 5, .proto_in = 1, .doc = "Directory to start in."),
    F(OBJECT, LIST, "ports", 6, .of = &schema_container_port, .flags = FIELD_F_MERGE,
      .proto_in = 1, .merge_key = "containerPort", .list_keys = "containerPort,protocol",
      .doc = "Ports that it listens on; for information."),
    F(OBJECT, LIST, "envFrom", 19, .of = &schema_env_from_source, .flags = FIELD_F_ATOMIC,
      .proto_in = 1, .doc = "ConfigMaps and Secrets whose keys become environment variables."),
    F(OBJECT, LIST, "env", 7, .of = &schema_env_var, .flags = FIELD_F_MERGE, .proto_in = 1,
      .merge_key = "name", .list_keys = "name", .doc = "Environment variables."),
    F(OBJECT, ONE, "resources", 8, .of = &schema_resources, .proto_in = 1, .def = "{}",
      .doc = "Resource requests, limits and claims."),
    F(OBJECT, LIST, "resizePolicy", 23, .of = &schema_container_resize_policy,
      .flags = FIELD_F_ATOMIC, .proto_in = 1, .doc = "Whether changing a resource restarts it."),
    F(STRING, ONE, "restartPolicy", 24, .flags = FIELD_F_OPT, .proto_in = 1,
      .doc = "For an init container: Always makes it a sidecar."),
    F(OBJECT, LIST, "restartPolicyRules", 25, .of = &schema_container_restart_rule,
      .flags = FIELD_F_ATOMIC, .proto_in = 1, .doc = "Restart rules for particular exit codes."),
    F(OBJECT, LIST, "volumeMounts", 9, .of = &schema_volume_mount, .flags = FIELD_F_MERGE,
      .proto_in = 1, .merge_key = "mountPath", .list_keys = "mountPath",
      .doc = "Volumes mounted in the container."),
    F(OBJECT, LIST, "volumeDevices", 21, .of = &schema_volume_device, .flags = FIELD_F_MERGE,
      .proto_in = 1, .merge_key = "devicePath", .list_keys = "devicePath",
      .doc = "Block devices mapped into the container."),
    F(OBJECT, ONE, "livenessProbe", 10, .of = &schema_probe, .flags = FIELD_F_OPT, .proto_in = 1,
      .doc = "Liveness check: the container is restarted when it fails."),
    F(OBJECT, ONE, "readinessProbe", 11, .of = &schema_probe, .flags = FIELD_F_OPT, .proto_in = 1,
      .doc = "Readiness check: whether the container can serve traffic."),
    F(OBJECT, ONE, "startupProbe", 22, .of = &schema_probe, .flags = FIELD_F_OPT, .proto_in = 1,
      .doc = "Startup check: the other checks begin once it has passed."),
    F(OBJECT, ONE, "lifecycle", 12, .of = &schema_lifecycle, .flags = FIELD_F_OPT, .proto_in = 1,
      .doc = "Hooks after the container's start and before its end."),
    F(STRING, ONE, "terminationMessagePath", 13, .proto_in = 1, .def = "\"/dev/termination-log\"",
      .doc = "File from which the termination message is read."),
    F(STRING, ONE, "terminationMessagePolicy", 20, .proto_in = 1, .def = "\"File\"",
      .values = fallback_to_logs_on_error_file_values,
      .doc = "Source of the termination message: File or FallbackToLogsOnError."),
    F(STRING, ONE, "imagePullPolicy", 14, .proto_in = 1,
      .values = always_if_not_present_never_values,
      .doc = "Always, IfNotPresent or Never; Always for the tag latest."),
    F(OBJECT, ONE, "securityContext", 15, .of = &schema_security_context, .flags = FIELD_F_OPT,
      .proto_in = 1, .doc = "Security settings of this container."),
    F(BOOL, ONE, "stdin", 16, .proto_in = 1, .doc = "Keeps standard input open."),
    F(BOOL, ONE, "stdinOnce", 17, .proto_in = 1,
      .doc = "Closes standard input after the first attach."),
    F(BOOL, ONE, "tty", 18, .proto_in = 1, .doc = "Gives it a terminal."),
    F(STRING, ONE, "targetContainerName", 2, .doc = "Container whose processes it sees."),
};
const struct schema schema_ephemeral_container = SCHEMA("io.k8s.api.core.v1.EphemeralContainer",
      ephemeral_container_fields, 0, NULL);

static const struct field container_user_fields[] = {
    F(OBJECT, ONE, "linux", 1, .of = &schema_linux_container_user, .flags = FIELD_F_OPT),
};
const struct schema schema_container_user = SCHEMA("io.k8s.api.core.v1.ContainerUser",
      container_user_fields, 0, NULL);

static const struct field container_extended_resource_request_fields[] = {
    F(STRING, ONE, "containerName", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the container."),
    F(STRING, ONE, "resourceName", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the extended resource."),
    F(STRING, ONE, "requestName", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Request of the claim."),
};
const struct schema schema_container_extended_resource_request = SCHEMA(
      "io.k8s.api.core.v1.ContainerExtendedResourceRequest",
      container_extended_resource_request_fields, 0, NULL);

static const struct field config_map_node_config_source_fields[] = {
    F(STRING, ONE, "namespace", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Namespace of the ConfigMap."),
    F(STRING, ONE, "name", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the ConfigMap."),
    F(STRING, ONE, "uid", 3, .doc = "UID of the ConfigMap."),
    F(STRING, ONE, "resourceVersion", 4,
      .doc = "Version of the stored object; changes with each write."),
    F(STRING, ONE, "kubeletConfigKey", 5, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
};
const struct schema schema_config_map_node_config_source = SCHEMA(
      "io.k8s.api.core.v1.ConfigMapNodeConfigSource", config_map_node_config_source_fields, 0,
      NULL);

static const struct field object_reference_fields[] = {
    M(object_reference, kind, STRING, ONE, "kind", 1, .doc = "Kind of the object."),
    M(object_reference, namespace, STRING, ONE, "namespace", 2, .doc = "Namespace of the object."),
    M(object_reference, name, STRING, ONE, "name", 3, .doc = "Name of the object."),
    M(object_reference, uid, STRING, ONE, "uid", 4, .doc = "UID of the object."),
    M(object_reference, api_version, STRING, ONE, "apiVersion", 5,
      .doc = "Version of the API in which the object is written."),
    M(object_reference, resource_version, STRING, ONE, "resourceVersion", 6,
      .doc = "Version of the stored object; changes with each write."),
    M(object_reference, field_path, STRING, ONE, "fieldPath", 7,
      .doc = "Part of the object, as a field path."),
};
const struct schema schema_object_reference = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.ObjectReference", object_reference_fields,
      sizeof(struct object_reference), NULL);
