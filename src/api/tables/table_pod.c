/*
 * table_pod: the fields of Pod: scheduling, affinity, security and status.
 */
#include "api/tables/view_core.h"

#include "api/tables/table.h"

static const char *const always_never_on_failure_values[] = {"Always", "Never", "OnFailure", NULL};
static const char *const always_on_root_mismatch_values[] = {"Always", "OnRootMismatch", NULL};
static const char *const best_effort_burstable_guaranteed_values[] = {
    "BestEffort", "Burstable", "Guaranteed", NULL,
};
static const char *const dns_policy_values[] = {
    "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None", NULL,
};
static const char *const do_not_schedule_schedule_anyway_values[] = {
    "DoNotSchedule", "ScheduleAnyway", NULL,
};
static const char *const does_not_exist_exists_gt_in_lt_not_in_values[] = {
    "DoesNotExist", "Exists", "Gt", "In", "Lt", "NotIn", NULL,
};
static const char *const equal_exists_gt_lt_values[] = {"Equal", "Exists", "Gt", "Lt", NULL};
static const char *const failed_pending_running_succeeded_unknown_values[] = {
    "Failed", "Pending", "Running", "Succeeded", "Unknown", NULL,
};
static const char *const honor_ignore_values[] = {"Honor", "Ignore", NULL};
static const char *const merge_strict_values[] = {"Merge", "Strict", NULL};
static const char *const never_preempt_lower_priority_values[] = {
    "Never", "PreemptLowerPriority", NULL,
};
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
static const char *const taint_effect_values[] = {
    "NoExecute", "NoSchedule", "PreferNoSchedule", NULL,
};

static const struct field sysctl_fields[] = {
    M(sysctl, name, STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the kernel parameter."),
    M(sysctl, value, STRING, ONE, "value", 2, .flags = FIELD_F_KEEP_EMPTY, .doc = "Value."),
};
static const struct schema schema_sysctl = SCHEMA("io.k8s.api.core.v1.Sysctl", sysctl_fields,
      sizeof(struct sysctl), NULL);

static const struct field pod_security_context_fields[] = {
    F(OBJECT, ONE, "seLinuxOptions", 1, .of = &schema_se_linux_options, .flags = FIELD_F_OPT,
      .doc = "SELinux label."),
    F(OBJECT, ONE, "windowsOptions", 8, .of = &schema_windows_security_context_options,
      .flags = FIELD_F_OPT, .doc = "Settings that apply on Windows only."),
    M(pod_security, run_as_user, INT64, ONE, "runAsUser", 2, .flags = FIELD_F_OPT,
      .doc = "User id that processes run as."),
    M(pod_security, run_as_group, INT64, ONE, "runAsGroup", 6, .flags = FIELD_F_OPT,
      .doc = "Group id that processes run as."),
    M(pod_security, run_as_non_root, BOOL, ONE, "runAsNonRoot", 3, .flags = FIELD_F_OPT,
      .doc = "Refuses to start as user id 0."),
    M(pod_security, supplemental_groups, INT64, LIST, "supplementalGroups", 4,
      .flags = FIELD_F_ATOMIC, .doc = "Further groups of the processes."),
    F(STRING, ONE, "supplementalGroupsPolicy", 12, .flags = FIELD_F_OPT,
      .values = merge_strict_values, .doc = "Merge or Strict."),
    M(pod_security, fs_group, INT64, ONE, "fsGroup", 5, .flags = FIELD_F_OPT,
      .doc = "Group that owns the files of volumes."),
    M(pod_security, sysctls, OBJECT, LIST, "sysctls", 7, .of = &schema_sysctl,
      .flags = FIELD_F_ATOMIC, .doc = "Kernel settings of the pod."),
    M(pod_security, fs_group_change_policy, STRING, ONE, "fsGroupChangePolicy", 9,
      .flags = FIELD_F_OPT, .values = always_on_root_mismatch_values,
      .doc = "When the owner of volumes is changed: Always or OnRootMismatch."),
    M(pod_security, seccomp_profile, OBJECT, ONE, "seccompProfile", 10,
      .of = &schema_seccomp_profile, .flags = FIELD_F_OPT,
      .doc = "Which system calls are allowed."),
    M(pod_security, app_armor_profile, OBJECT, ONE, "appArmorProfile", 11,
      .of = &schema_app_armor_profile, .flags = FIELD_F_OPT,
      .doc = "AppArmor profile that confines it."),
    F(STRING, ONE, "seLinuxChangePolicy", 13, .flags = FIELD_F_OPT,
      .doc = "How volumes get their SELinux label."),
};
const struct schema schema_pod_security_context = SCHEMA(
      "io.k8s.api.core.v1.PodSecurityContext", pod_security_context_fields,
      sizeof(struct pod_security), NULL);

static const struct field node_selector_requirement_fields[] = {
    M(node_requirement, key, STRING, ONE, "key", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Key to look for."),
    M(node_requirement, operator, STRING, ONE, "operator", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .values = does_not_exist_exists_gt_in_lt_not_in_values,
      .doc = "Operator that compares the key with the values."),
    M(node_requirement, values, STRING, LIST, "values", 3, .flags = FIELD_F_ATOMIC,
      .doc = "Values to compare with."),
};
static const struct schema schema_node_selector_requirement = SCHEMA(
      "io.k8s.api.core.v1.NodeSelectorRequirement", node_selector_requirement_fields,
      sizeof(struct node_requirement), NULL);

static const struct field node_selector_term_fields[] = {
    M(node_term, match_expressions, OBJECT, LIST, "matchExpressions", 1,
      .of = &schema_node_selector_requirement, .flags = FIELD_F_ATOMIC,
      .doc = "Conditions on labels that must all hold."),
    F(OBJECT, LIST, "matchFields", 2, .of = &schema_node_selector_requirement,
      .flags = FIELD_F_ATOMIC, .doc = "Conditions on fields of the node that must all hold."),
};
static const struct schema schema_node_selector_term = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.NodeSelectorTerm", node_selector_term_fields,
      sizeof(struct node_term), NULL);

static const struct field node_selector_fields[] = {
    M(node_selector_view, node_selector_terms, OBJECT, LIST, "nodeSelectorTerms", 1,
      .of = &schema_node_selector_term,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Alternatives, of which one must hold."),
};
const struct schema schema_node_selector = ATOMIC_SCHEMA(
      "io.k8s.api.core.v1.NodeSelector", node_selector_fields,
      sizeof(struct node_selector_view), NULL);

static const struct field preferred_scheduling_term_fields[] = {
    F(INT32, ONE, "weight", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .min = 1,
      .max = 100, .doc = "Weight of the preference."),
    F(OBJECT, ONE, "preference", 2, .of = &schema_node_selector_term,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Preferred properties of the node."),
};
static const struct schema schema_preferred_scheduling_term = SCHEMA(
      "io.k8s.api.core.v1.PreferredSchedulingTerm", preferred_scheduling_term_fields, 0,
      NULL);

static const struct field node_affinity_fields[] = {
    F(OBJECT, ONE, "requiredDuringSchedulingIgnoredDuringExecution", 1,
      .of = &schema_node_selector, .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "Rules that must be met when the pod is placed."),
    F(OBJECT, LIST, "preferredDuringSchedulingIgnoredDuringExecution", 2,
      .of = &schema_preferred_scheduling_term, .flags = FIELD_F_ATOMIC,
      .doc = "Preferences that should be met when the pod is placed."),
};
static const struct schema schema_node_affinity = SCHEMA("io.k8s.api.core.v1.NodeAffinity",
      node_affinity_fields, 0, NULL);

static const struct field pod_affinity_term_fields[] = {
    F(OBJECT, ONE, "labelSelector", 1, .of = &schema_label_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Labels of the pods that the term selects."),
    F(STRING, LIST, "namespaces", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Namespaces of the other pods."),
    F(STRING, ONE, "topologyKey", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Node label whose values are the domains."),
    F(OBJECT, ONE, "namespaceSelector", 4, .of = &schema_label_selector,
      .flags = FIELD_F_OPT | FIELD_F_ATOMIC, .doc = "Labels of the namespaces of the other pods."),
    F(STRING, LIST, "matchLabelKeys", 5, .flags = FIELD_F_ATOMIC,
      .doc = "Pod labels whose values join the selector."),
    F(STRING, LIST, "mismatchLabelKeys", 6, .flags = FIELD_F_ATOMIC,
      .doc = "Pod labels whose values are excluded."),
};
static const struct schema schema_pod_affinity_term = SCHEMA("io.k8s.api.core.v1.PodAffinityTerm",
      pod_affinity_term_fields, 0, NULL);

static const struct field weighted_pod_affinity_term_fields[] = {
    F(INT32, ONE, "weight", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .min = 1,
      .max = 100, .doc = "Weight of the preference."),
    F(OBJECT, ONE, "podAffinityTerm", 2, .of = &schema_pod_affinity_term,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Selected pods and the topology key for nearness."),
};
static const struct schema schema_weighted_pod_affinity_term = SCHEMA(
      "io.k8s.api.core.v1.WeightedPodAffinityTerm", weighted_pod_affinity_term_fields, 0,
      NULL);

static const struct field pod_affinity_fields[] = {
    F(OBJECT, LIST, "requiredDuringSchedulingIgnoredDuringExecution", 1,
      .of = &schema_pod_affinity_term, .flags = FIELD_F_ATOMIC,
      .doc = "Rules that must be met when the pod is placed."),
    F(OBJECT, LIST, "preferredDuringSchedulingIgnoredDuringExecution", 2,
      .of = &schema_weighted_pod_affinity_term, .flags = FIELD_F_ATOMIC,
      .doc = "Preferences that should be met when the pod is placed."),
};
const struct schema schema_pod_affinity = SCHEMA("io.k8s.api.core.v1.PodAffinity",
      pod_affinity_fields, 0, NULL);

static const struct field pod_anti_affinity_fields[] = {
    F(OBJECT, LIST, "requiredDuringSchedulingIgnoredDuringExecution", 1,
      .of = &schema_pod_affinity_term, .flags = FIELD_F_ATOMIC,
      .doc = "Rules that must be met when the pod is placed."),
    F(OBJECT, LIST, "preferredDuringSchedulingIgnoredDuringExecution", 2,
      .of = &schema_weighted_pod_affinity_term, .flags = FIELD_F_ATOMIC,
      .doc = "Preferences that should be met when the pod is placed."),
};
static const struct schema schema_pod_anti_affinity = SCHEMA("io.k8s.api.core.v1.PodAntiAffinity",
      pod_anti_affinity_fields, 0, NULL);

static const struct field affinity_fields[] = {
    F(OBJECT, ONE, "nodeAffinity", 1, .of = &schema_node_affinity, .flags = FIELD_F_OPT,
      .doc = "Rules on nodes."),
    F(OBJECT, ONE, "podAffinity", 2, .of = &schema_pod_affinity, .flags = FIELD_F_OPT,
      .doc = "Rules on being near to other pods."),
    F(OBJECT, ONE, "podAntiAffinity", 3, .of = &schema_pod_anti_affinity, .flags = FIELD_F_OPT,
      .doc = "Rules on being far from other pods."),
};
const struct schema schema_affinity =
    SCHEMA("io.k8s.api.core.v1.Affinity", affinity_fields, 0, NULL);

static const struct field toleration_fields[] = {
    M(toleration, key, STRING, ONE, "key", 1, .format = "label-key",
      .doc = "Taint key; empty with Exists means every taint."),
    M(toleration, operator, STRING, ONE, "operator", 2, .values = equal_exists_gt_lt_values,
      .doc = "Equal or Exists; Equal unless set."),
    M(toleration, value, STRING, ONE, "value", 3, .doc = "Taint value for Equal."),
    M(toleration, effect, STRING, ONE, "effect", 4, .values = taint_effect_values,
      .doc = "Taint effect; empty means every effect."),
    M(toleration, toleration_seconds, INT64, ONE, "tolerationSeconds", 5, .flags = FIELD_F_OPT,
      .doc = "For NoExecute: seconds it may stay; always unless set."),
};
const struct schema schema_toleration = SCHEMA("io.k8s.api.core.v1.Toleration", toleration_fields,
      sizeof(struct toleration), NULL);

static const struct field host_alias_fields[] = {
    M(host_alias, ip, STRING, ONE, "ip", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Address."),
    M(host_alias, hostnames, STRING, LIST, "hostnames", 2, .flags = FIELD_F_ATOMIC,
      .doc = "Names for the address."),
};
const struct schema schema_host_alias =
    SCHEMA("io.k8s.api.core.v1.HostAlias", host_alias_fields, sizeof(struct host_alias), NULL);

static const struct field pod_dns_config_option_fields[] = {
    F(STRING, ONE, "name", 1, .doc = "Name of the resolver option."),
    F(STRING, ONE, "value", 2, .flags = FIELD_F_OPT, .doc = "Value."),
};
static const struct schema schema_pod_dns_config_option = SCHEMA(
      "io.k8s.api.core.v1.PodDNSConfigOption", pod_dns_config_option_fields, 0, NULL);

static const struct field pod_dns_config_fields[] = {
    F(STRING, LIST, "nameservers", 1, .flags = FIELD_F_ATOMIC, .doc = "Servers to ask."),
    F(STRING, LIST, "searches", 2, .flags = FIELD_F_ATOMIC, .doc = "Domains to search."),
    F(OBJECT, LIST, "options", 3, .of = &schema_pod_dns_config_option, .flags = FIELD_F_ATOMIC,
      .doc = "Options for the driver."),
};
const struct schema schema_pod_dns_config = SCHEMA("io.k8s.api.core.v1.PodDNSConfig",
      pod_dns_config_fields, 0, NULL);

static const struct field pod_readiness_gate_fields[] = {
    F(STRING, ONE, "conditionType", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Type of the condition."),
};
static const struct schema schema_pod_readiness_gate = SCHEMA("io.k8s.api.core.v1.PodReadinessGate",
      pod_readiness_gate_fields, 0, NULL);

static const struct field topology_spread_constraint_fields[] = {
    M(topology_spread, max_skew, INT32, ONE, "maxSkew", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .min = 1, .max = INT32_MAX,
      .doc = "Maximum difference in pod count between domains."),
    M(topology_spread, topology_key, STRING, ONE, "topologyKey", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Node label whose values are the domains."),
    M(topology_spread, when_unsatisfiable, STRING, ONE, "whenUnsatisfiable", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .values = do_not_schedule_schedule_anyway_values, .doc = "DoNotSchedule or ScheduleAnyway."),
    M(topology_spread, label_selector, OBJECT, ONE, "labelSelector", 4,
      .of = &schema_label_selector, .flags = FIELD_F_OPT | FIELD_F_ATOMIC,
      .doc = "Labels of the pods that are counted."),
    M(topology_spread, min_domains, INT32, ONE, "minDomains", 5, .flags = FIELD_F_OPT,
      .doc = "Minimum number of domains."),
    M(topology_spread, node_affinity_policy, STRING, ONE, "nodeAffinityPolicy", 6,
      .flags = FIELD_F_OPT, .values = honor_ignore_values),
    M(topology_spread, node_taints_policy, STRING, ONE, "nodeTaintsPolicy", 7,
      .flags = FIELD_F_OPT, .values = honor_ignore_values),
    M(topology_spread, match_label_keys, STRING, LIST, "matchLabelKeys", 8,
      .flags = FIELD_F_ATOMIC, .doc = "Pod labels whose values join the selector."),
};
const struct schema schema_topology_spread_constraint = SCHEMA(
      "io.k8s.api.core.v1.TopologySpreadConstraint", topology_spread_constraint_fields,
      sizeof(struct topology_spread), NULL);

static const struct field pod_os_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the operating system: linux or windows."),
};
static const struct schema schema_pod_os = SCHEMA("io.k8s.api.core.v1.PodOS", pod_os_fields, 0,
      NULL);

static const struct field pod_scheduling_gate_fields[] = {
    M(scheduling_gate, name, STRING, ONE, "name", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Name of the gate."),
};
static const struct schema schema_pod_scheduling_gate =
    SCHEMA("io.k8s.api.core.v1.PodSchedulingGate", pod_scheduling_gate_fields,
           sizeof(struct scheduling_gate), NULL);

static const struct field pod_resource_claim_fields[] = {
    M(pod_resource_claim, name, STRING, ONE, "name", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the claim, unique in the pod."),
    M(pod_resource_claim, resource_claim_name, STRING, ONE, "resourceClaimName", 3,
      .flags = FIELD_F_OPT, .doc = "Claim to use, in the same namespace."),
    M(pod_resource_claim, resource_claim_template_name,
      STRING, ONE, "resourceClaimTemplateName", 4, .flags = FIELD_F_OPT,
      .doc = "Template from which a claim is made for the pod."),
};
static const struct schema schema_pod_resource_claim = SCHEMA("io.k8s.api.core.v1.PodResourceClaim",
      pod_resource_claim_fields, sizeof(struct pod_resource_claim), NULL);

static const struct field workload_reference_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the Workload."),
    F(STRING, ONE, "podGroup", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "podGroupReplicaKey", 3),
};
static const struct schema schema_workload_reference =
    SCHEMA("io.k8s.api.core.v1.WorkloadReference", workload_reference_fields, 0, NULL);

static const struct field pod_spec_fields[] = {
    M(pod_spec, volumes, OBJECT, LIST, "volumes", 1, .of = &schema_volume,
      .flags = FIELD_F_MERGE | FIELD_F_RETAIN_KEYS, .merge_key = "name", .list_keys = "name",
      .doc = "Storage that the containers may mount."),
    M(pod_spec, init_containers, OBJECT, LIST, "initContainers", 20, .of = &schema_container,
      .flags = FIELD_F_MERGE, .merge_key = "name", .list_keys = "name",
      .doc = "Containers that run one after the other before the others start."),
    M(pod_spec, containers, OBJECT, LIST, "containers", 2, .of = &schema_container,
      .flags = FIELD_F_REQUIRED | FIELD_F_MERGE | FIELD_F_KEEP_EMPTY, .merge_key = "name",
      .list_keys = "name", .doc = "Containers of the pod; at least one."),
    F(OBJECT, LIST, "ephemeralContainers", 34, .of = &schema_ephemeral_container,
      .flags = FIELD_F_MERGE, .merge_key = "name", .list_keys = "name",
      .doc = "Containers added to a running pod for debugging."),
    M(pod_spec, restart_policy, STRING, ONE, "restartPolicy", 3, .def = "\"Always\"",
      .values = always_never_on_failure_values,
      .doc = "Always, OnFailure or Never; Always unless set."),
    M(pod_spec, termination_grace_period_seconds, INT64, ONE, "terminationGracePeriodSeconds", 4,
      .flags = FIELD_F_OPT, .def = "30",
      .doc = "Grace period in seconds between SIGTERM and SIGKILL; 30 unless set."),
    M(pod_spec, active_deadline_seconds, INT64, ONE, "activeDeadlineSeconds", 5,
      .flags = FIELD_F_OPT, .min = 1, .max = INT32_MAX,
      .doc = "Seconds after its start at which the pod fails."),
    M(pod_spec, dns_policy, STRING, ONE, "dnsPolicy", 6, .def = "\"ClusterFirst\"",
      .values = dns_policy_values, .doc = "Where names are looked up; ClusterFirst unless set."),
    M(pod_spec, node_selector, STRING, MAP, "nodeSelector", 7, .flags = FIELD_F_ATOMIC,
      .doc = "Node selector: labels that a node must have."),
    M(pod_spec, service_account_name, STRING, ONE, "serviceAccountName", 8,
      .format = "dns1123-subdomain", .doc = "ServiceAccount that the pod acts as."),
    F(STRING, ONE, "serviceAccount", 9, .doc = "Older name of serviceAccountName."),
    M(pod_spec, automount_service_account_token, BOOL, ONE, "automountServiceAccountToken", 21,
      .flags = FIELD_F_OPT, .doc = "Whether a token of the account is mounted."),
    M(pod_spec, node_name, STRING, ONE, "nodeName", 10, .format = "dns1123-subdomain",
      .doc = "Node that the pod is bound to; naming it skips scheduling."),
    M(pod_spec, host_network, BOOL, ONE, "hostNetwork", 11,
      .doc = "Uses the network of the node."),
    M(pod_spec, host_pid, BOOL, ONE, "hostPID", 12, .doc = "Sees the processes of the node."),
    M(pod_spec, host_ipc, BOOL, ONE, "hostIPC", 13,
      .doc = "Shares inter-process communication with the node."),
    M(pod_spec, share_process_namespace, BOOL, ONE, "shareProcessNamespace", 27,
      .flags = FIELD_F_OPT, .doc = "Containers see each other's processes."),
    M(pod_spec, security_context, OBJECT, ONE, "securityContext", 14,
      .of = &schema_pod_security_context, .flags = FIELD_F_OPT, .def = "{}",
      .doc = "Security settings for all containers."),
    M(pod_spec, image_pull_secrets, OBJECT, LIST, "imagePullSecrets", 15,
      .of = &schema_local_object_reference, .flags = FIELD_F_MERGE, .merge_key = "name",
      .list_keys = "name", .doc = "Secrets with the credentials to pull images."),
    M(pod_spec, hostname, STRING, ONE, "hostname", 16, .format = "dns1123-label",
      .doc = "Host name."),
    M(pod_spec, subdomain, STRING, ONE, "subdomain", 17, .format = "dns1123-label",
      .doc = "Subdomain of the pod's full name."),
    M(pod_spec, affinity, OBJECT, ONE, "affinity", 18, .of = &schema_affinity,
      .flags = FIELD_F_OPT,
      .doc = "Affinity to nodes and to other pods."),
    M(pod_spec, scheduler_name, STRING, ONE, "schedulerName", 19, .def = "\"default-scheduler\"",
      .doc = "Scheduler that places the pod."),
    M(pod_spec, tolerations, OBJECT, LIST, "tolerations", 22, .of = &schema_toleration,
      .flags = FIELD_F_ATOMIC, .doc = "Tolerations."),
    M(pod_spec, host_aliases, OBJECT, LIST, "hostAliases", 23, .of = &schema_host_alias,
      .flags = FIELD_F_MERGE, .merge_key = "ip", .list_keys = "ip",
      .doc = "Lines added to /etc/hosts."),
    M(pod_spec, priority_class_name, STRING, ONE, "priorityClassName", 24,
      .format = "dns1123-subdomain", .doc = "PriorityClass that gives the priority."),
    M(pod_spec, priority, INT32, ONE, "priority", 25, .flags = FIELD_F_OPT,
      .doc = "Priority; filled in from the class."),
    F(OBJECT, ONE, "dnsConfig", 26, .of = &schema_pod_dns_config, .flags = FIELD_F_OPT,
      .doc = "DNS settings beside the policy."),
    F(OBJECT, LIST, "readinessGates", 28, .of = &schema_pod_readiness_gate,
      .flags = FIELD_F_ATOMIC,
      .doc = "Additional conditions that must be true for the pod to be ready."),
    M(pod_spec, runtime_class_name, STRING, ONE, "runtimeClassName", 29, .flags = FIELD_F_OPT,
      .format = "dns1123-subdomain", .doc = "RuntimeClass that runs the pod."),
    M(pod_spec, enable_service_links, BOOL, ONE, "enableServiceLinks", 30, .flags = FIELD_F_OPT,
      .doc = "Whether services are published in environment variables."),
    M(pod_spec, preemption_policy, STRING, ONE, "preemptionPolicy", 31, .flags = FIELD_F_OPT,
      .values = never_preempt_lower_priority_values,
      .doc = "Whether it may preempt others: PreemptLowerPriority or Never."),
    M(pod_spec, overhead, QUANTITY, MAP, "overhead", 32,
      .doc = "Overhead of the pod itself, from the RuntimeClass."),
    M(pod_spec, topology_spread_constraints, OBJECT, LIST, "topologySpreadConstraints", 33,
      .of = &schema_topology_spread_constraint, .flags = FIELD_F_MERGE,
      .merge_key = "topologyKey", .list_keys = "topologyKey,whenUnsatisfiable",
      .doc = "How similar pods are spread over topology domains."),
    M(pod_spec, set_hostname_as_fqdn, BOOL, ONE, "setHostnameAsFQDN", 35, .flags = FIELD_F_OPT,
      .doc = "Uses the full name as the host name."),
    F(OBJECT, ONE, "os", 36, .of = &schema_pod_os, .flags = FIELD_F_OPT,
      .doc = "Operating system that the containers need."),
    M(pod_spec, host_users, BOOL, ONE, "hostUsers", 37, .flags = FIELD_F_OPT,
      .doc = "Shares user ids with the node; false gives it its own."),
    M(pod_spec, scheduling_gates, OBJECT, LIST, "schedulingGates", 38,
      .of = &schema_pod_scheduling_gate, .flags = FIELD_F_MERGE, .merge_key = "name",
      .list_keys = "name", .doc = "Scheduling gates: the pod is not placed until all are removed."),
    M(pod_spec, resource_claims, OBJECT, LIST, "resourceClaims", 39,
      .of = &schema_pod_resource_claim, .flags = FIELD_F_MERGE | FIELD_F_RETAIN_KEYS,
      .merge_key = "name", .list_keys = "name",
      .doc = "Claims for devices that its containers may use."),
    M(pod_spec, resources, OBJECT, ONE, "resources", 40, .of = &schema_resources,
      .flags = FIELD_F_OPT, .doc = "Requests and limits for the pod as a whole."),
    F(STRING, ONE, "hostnameOverride", 41, .flags = FIELD_F_OPT,
      .doc = "Host name to use instead of the pod's name."),
    F(OBJECT, ONE, "workloadRef", 42, .of = &schema_workload_reference, .flags = FIELD_F_OPT,
      .doc = "Workload object that the pod belongs to."),
};
const struct schema schema_pod_spec = SCHEMA("io.k8s.api.core.v1.PodSpec", pod_spec_fields,
      sizeof(struct pod_spec), "What a pod runs, and where it may run.");

static const struct field pod_condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Type of the condition."),
    M(condition, observed_generation, INT64, ONE, "observedGeneration", 7,
      .doc = "Generation of the spec from which this status was computed."),
    M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Status of the condition: True, False or Unknown."),
    M(condition, last_probe_ns, TIME, ONE, "lastProbeTime", 3,
      .doc = "Time of the last probe."),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 4,
      .doc = "Time of the last change of status."),
    M(condition, reason, STRING, ONE, "reason", 5,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(condition, message, STRING, ONE, "message", 6,
      .doc = "Human-readable message."),
};
static const struct schema schema_pod_condition = SCHEMA("io.k8s.api.core.v1.PodCondition",
      pod_condition_fields, sizeof(struct condition), NULL);

static const struct field host_ip_fields[] = {
    M(pod_ip, ip, STRING, ONE, "ip", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Address."),
};
static const struct schema schema_host_ip = SCHEMA("io.k8s.api.core.v1.HostIP", host_ip_fields,
      sizeof(struct pod_ip), NULL);

static const struct field pod_ip_fields[] = {
    M(pod_ip, ip, STRING, ONE, "ip", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Address."),
};
static const struct schema schema_pod_ip = SCHEMA("io.k8s.api.core.v1.PodIP", pod_ip_fields,
      sizeof(struct pod_ip), NULL);

static const struct field container_state_waiting_fields[] = {
    M(state_waiting, reason, STRING, ONE, "reason", 1,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(state_waiting, message, STRING, ONE, "message", 2,
      .doc = "Human-readable message."),
};
static const struct schema schema_container_state_waiting = SCHEMA(
      "io.k8s.api.core.v1.ContainerStateWaiting", container_state_waiting_fields,
      sizeof(struct state_waiting), NULL);

static const struct field container_state_running_fields[] = {
    M(state_running, started_ns, TIME, ONE, "startedAt", 1, .doc = "Start time."),
};
static const struct schema schema_container_state_running = SCHEMA(
      "io.k8s.api.core.v1.ContainerStateRunning", container_state_running_fields,
      sizeof(struct state_running), NULL);

static const struct field container_state_terminated_fields[] = {
    M(state_terminated, exit_code, INT32, ONE, "exitCode", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Exit status."),
    M(state_terminated, signal, INT32, ONE, "signal", 2, .doc = "Signal that ended it."),
    M(state_terminated, reason, STRING, ONE, "reason", 3,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(state_terminated, message, STRING, ONE, "message", 4,
      .doc = "Human-readable message."),
    M(state_terminated, started_ns, TIME, ONE, "startedAt", 5, .doc = "Start time."),
    M(state_terminated, finished_ns, TIME, ONE, "finishedAt", 6, .doc = "End time."),
    M(state_terminated, container_id, STRING, ONE, "containerID", 7,
      .doc = "Identifier assigned by the container runtime."),
};
static const struct schema schema_container_state_terminated = SCHEMA(
      "io.k8s.api.core.v1.ContainerStateTerminated", container_state_terminated_fields,
      sizeof(struct state_terminated), NULL);

static const struct field container_state_fields[] = {
    M(container_state, waiting, OBJECT, ONE, "waiting", 1, .of = &schema_container_state_waiting,
      .flags = FIELD_F_OPT, .doc = "Set while the container waits, with the reason."),
    M(container_state, running, OBJECT, ONE, "running", 2, .of = &schema_container_state_running,
      .flags = FIELD_F_OPT, .doc = "Set while the container runs."),
    M(container_state, terminated, OBJECT, ONE, "terminated", 3,
      .of = &schema_container_state_terminated, .flags = FIELD_F_OPT,
      .doc = "Set once the container has terminated."),
};
const struct schema schema_container_state = SCHEMA("io.k8s.api.core.v1.ContainerState",
      container_state_fields, sizeof(struct container_state), NULL);

static const struct field volume_mount_status_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Name of the volume."),
    F(STRING, ONE, "mountPath", 2, .flags = FIELD_F_KEEP_EMPTY),
    F(BOOL, ONE, "readOnly", 3, .doc = "Whether the volume is mounted read-only."),
    F(STRING, ONE, "recursiveReadOnly", 4, .flags = FIELD_F_OPT),
};
static const struct schema schema_volume_mount_status =
    SCHEMA("io.k8s.api.core.v1.VolumeMountStatus", volume_mount_status_fields, 0, NULL);

static const struct field linux_container_user_fields[] = {
    F(INT64, ONE, "uid", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Numeric user id."),
    F(INT64, ONE, "gid", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(INT64, LIST, "supplementalGroups", 3, .flags = FIELD_F_ATOMIC),
};
const struct schema schema_linux_container_user = SCHEMA(
      "io.k8s.api.core.v1.LinuxContainerUser", linux_container_user_fields, 0, NULL);

static const struct field resource_health_fields[] = {
    F(STRING, ONE, "resourceID", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "health", 2),
};
static const struct schema schema_resource_health = SCHEMA("io.k8s.api.core.v1.ResourceHealth",
      resource_health_fields, 0, NULL);

static const struct field pod_resource_status_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Name of the resource."),
    F(OBJECT, LIST, "resources", 2, .of = &schema_resource_health, .list_keys = "resourceID",
      .doc = "Amounts, resource by resource."),
};
static const struct schema schema_pod_resource_status = SCHEMA("io.k8s.api.core.v1.ResourceStatus",
      pod_resource_status_fields, 0, NULL);

static const struct field container_status_fields[] = {
    M(container_status, name, STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Name of the container."),
    M(container_status, state, OBJECT, ONE, "state", 2, .of = &schema_container_state,
      .doc = "Current state."),
    M(container_status, last_state, OBJECT, ONE, "lastState", 3, .of = &schema_container_state,
      .doc = "Previous termination state."),
    M(container_status, ready, BOOL, ONE, "ready", 4, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Whether the container is ready."),
    M(container_status, restart_count, INT32, ONE, "restartCount", 5, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Number of restarts."),
    M(container_status, image, STRING, ONE, "image", 6, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Image that the container runs."),
    M(container_status, image_id, STRING, ONE, "imageID", 7, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Identifier of the image."),
    M(container_status, container_id, STRING, ONE, "containerID", 8,
      .doc = "Identifier assigned by the container runtime."),
    M(container_status, started, BOOL, ONE, "started", 9, .flags = FIELD_F_OPT,
      .doc = "Whether it has started and passed its startup check."),
    F(QUANTITY, MAP, "allocatedResources", 10),
    F(OBJECT, ONE, "resources", 11, .of = &schema_resources, .flags = FIELD_F_OPT,
      .doc = "Amounts, resource by resource."),
    F(OBJECT, LIST, "volumeMounts", 12, .of = &schema_volume_mount_status, .flags = FIELD_F_MERGE,
      .merge_key = "mountPath", .list_keys = "mountPath"),
    F(OBJECT, ONE, "user", 13, .of = &schema_container_user, .flags = FIELD_F_OPT, .doc = "User."),
    F(OBJECT, LIST, "allocatedResourcesStatus", 14, .of = &schema_pod_resource_status,
      .flags = FIELD_F_MERGE, .merge_key = "name", .list_keys = "name"),
    F(STRING, ONE, "stopSignal", 15, .flags = FIELD_F_OPT, .values = signal_values),
};
static const struct schema schema_container_status = SCHEMA("io.k8s.api.core.v1.ContainerStatus",
      container_status_fields, sizeof(struct container_status), NULL);

static const struct field pod_resource_claim_status_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Name of the claim in spec.resourceClaims."),
    F(STRING, ONE, "resourceClaimName", 2, .flags = FIELD_F_OPT,
      .doc = "Claim to use, in the same namespace."),
};
static const struct schema schema_pod_resource_claim_status = SCHEMA(
      "io.k8s.api.core.v1.PodResourceClaimStatus", pod_resource_claim_status_fields, 0,
      NULL);

static const struct field pod_extended_resource_claim_status_fields[] = {
    F(OBJECT, LIST, "requestMappings", 1, .of = &schema_container_extended_resource_request,
      .flags = FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "resourceClaimName", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Claim to use, in the same namespace."),
};
static const struct schema schema_pod_extended_resource_claim_status = SCHEMA(
      "io.k8s.api.core.v1.PodExtendedResourceClaimStatus",
      pod_extended_resource_claim_status_fields, 0, NULL);

static const struct field pod_status_fields[] = {
    M(pod_status, observed_generation, INT64, ONE, "observedGeneration", 17,
      .doc = "Generation of the spec from which this status was computed."),
    M(pod_status, phase, STRING, ONE, "phase", 1,
      .values = failed_pending_running_succeeded_unknown_values,
      .doc = "Pending, Running, Succeeded, Failed or Unknown."),
    M(pod_status, conditions, OBJECT, LIST, "conditions", 2, .of = &schema_pod_condition,
      .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",
      .doc = "Current conditions, one entry per type."),
    M(pod_status, message, STRING, ONE, "message", 3,
      .doc = "Human-readable message."),
    M(pod_status, reason, STRING, ONE, "reason", 4,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(pod_status, nominated_node_name, STRING, ONE, "nominatedNodeName", 11,
      .doc = "Node on which lower-priority pods are being preempted for this pod."),
    M(pod_status, host_ip, STRING, ONE, "hostIP", 5, .doc = "Address of its node."),
    M(pod_status, host_ips, OBJECT, LIST, "hostIPs", 16, .of = &schema_host_ip,
      .flags = FIELD_F_MERGE | FIELD_F_ATOMIC, .merge_key = "ip", .doc = "Addresses of its node."),
    M(pod_status, pod_ip, STRING, ONE, "podIP", 6, .doc = "Address of the pod."),
    M(pod_status, pod_ips, OBJECT, LIST, "podIPs", 12, .of = &schema_pod_ip,
      .flags = FIELD_F_MERGE, .merge_key = "ip", .list_keys = "ip",
      .doc = "Addresses of the pod, one for each IP family."),
    M(pod_status, start_ns, TIME, ONE, "startTime", 7, .flags = FIELD_F_OPT,
      .doc = "Time at which the node accepted the pod."),
    M(pod_status, init_container_statuses, OBJECT, LIST, "initContainerStatuses", 10,
      .of = &schema_container_status, .flags = FIELD_F_ATOMIC,
      .doc = "State of each init container."),
    M(pod_status, container_statuses, OBJECT, LIST, "containerStatuses", 8,
      .of = &schema_container_status, .flags = FIELD_F_ATOMIC, .doc = "State of each container."),
    M(pod_status, qos_class, STRING, ONE, "qosClass", 9,
      .values = best_effort_burstable_guaranteed_values,
      .doc = "Guaranteed, Burstable or BestEffort, from its requests and limits."),
    M(pod_status, ephemeral_container_statuses, OBJECT, LIST, "ephemeralContainerStatuses", 13,
      .of = &schema_container_status, .flags = FIELD_F_ATOMIC,
      .doc = "State of each ephemeral container."),
    M(pod_status, resize, STRING, ONE, "resize", 14),
    F(OBJECT, LIST, "resourceClaimStatuses", 15, .of = &schema_pod_resource_claim_status,
      .flags = FIELD_F_MERGE | FIELD_F_RETAIN_KEYS, .merge_key = "name", .list_keys = "name"),
    F(OBJECT, ONE, "extendedResourceClaimStatus", 18,
      .of = &schema_pod_extended_resource_claim_status, .flags = FIELD_F_OPT),
    F(QUANTITY, MAP, "allocatedResources", 19),
    F(OBJECT, ONE, "resources", 20, .of = &schema_resources, .flags = FIELD_F_OPT,
      .doc = "Amounts, resource by resource."),
};
const struct schema schema_pod_status = SCHEMA("io.k8s.api.core.v1.PodStatus", pod_status_fields,
      sizeof(struct pod_status), "Observed state of the pod, set by the node.");

static const struct field pod_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(pod, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(pod, spec, OBJECT, ONE, "spec", 2, .of = &schema_pod_spec, .def = "{}",
      .doc = "Desired state, set by the user."),
    M(pod, status, OBJECT, ONE, "status", 3, .of = &schema_pod_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_pod = SCHEMA("io.k8s.api.core.v1.Pod", pod_fields, sizeof(struct pod),
      "Containers that run together on one node.");

static const struct field taint_fields[] = {
    M(taint, key, STRING, ONE, "key", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .format = "label-key", .doc = "Key to look for."),
    M(taint, value, STRING, ONE, "value", 2, .format = "label-value", .doc = "Value."),
    M(taint, effect, STRING, ONE, "effect", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .values = taint_effect_values,
      .doc = "What the taint does: NoSchedule, PreferNoSchedule or NoExecute."),
    M(taint, time_added_ns, TIME, ONE, "timeAdded", 4, .flags = FIELD_F_OPT,
      .doc = "When the taint was added."),
};
const struct schema schema_taint = SCHEMA("io.k8s.api.core.v1.Taint", taint_fields,
      sizeof(struct taint), NULL);

static const struct field pod_template_fields[] = {
    M(pod_template, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(pod_template, spec, OBJECT, ONE, "spec", 2, .of = &schema_pod_spec, .def = "{}",
      .doc = "Spec of the pods."),
};
const struct schema schema_pod_template = SCHEMA("io.k8s.api.core.v1.PodTemplateSpec",
      pod_template_fields, sizeof(struct pod_template),
      "Template of the pods to create.");
