/*
 * kinds_kueue_config: the members of Kueue's Configuration (config.kueue.x-k8s.io), a file that programs read and that
 * nobody serves. v1beta1 has some members that v1beta2 has no more.
 */
#include "api/kinds/kinds.h"
#include "api/tables/table.h"
#include "api/tables/view_meta.h"

#define TEXT(json_, ...) F(STRING, ONE, json_, 0, __VA_ARGS__)
#define NUMBER(json_, min_, max_) F(INT32, ONE, json_, 0, .min = min_, .max = max_)
#define PART(json_, of_) F(OBJECT, ONE, json_, 0, .of = &of_)
#define PARTS(json_, of_, max_) F(OBJECT, LIST, json_, 0, .of = &of_, .max = max_)
#define SWITCH(json_) F(BOOL, ONE, json_, 0)
#define SPAN(json_, ...) F(DURATION, ONE, json_, 0, __VA_ARGS__)
#define TEXTS(json_, max_, ...) F(STRING, LIST, json_, 0, .max = max_, __VA_ARGS__)
#define OF(name_)                                                                                  \
    static const struct schema name_ = SCHEMA("kueue." #name_, name_##_fields, 0, NULL)

static const struct field file_meta_fields[] = {
    TEXT("name"),
    TEXT("namespace"),
    F(STRING, MAP, "labels", 0),
    F(STRING, MAP, "annotations", 0),
};
OF(file_meta);

static const struct field webhook_fields[] = {
    NUMBER("port", 1, 65535),
    TEXT("host"),
    TEXT("certDir"),
};
OF(webhook);

static const struct field leader_fields[] = {
    SWITCH("leaderElect"), SPAN("leaseDuration"), SPAN("renewDeadline"),     SPAN("retryPeriod"),
    TEXT("resourceLock"),  TEXT("resourceName"),  TEXT("resourceNamespace"),
};
OF(leader);

static const struct field local_metrics_fields[] = {
    SWITCH("enable"),
    PART("localQueueSelector", schema_label_selector),
};
OF(local_metrics);

static const char *const source_kinds[] = {"ClusterQueue", "LocalQueue", "Cohort", "Workload",
                                           NULL};
static const struct field custom_label_fields[] = {
    TEXT("name", .flags = FIELD_F_REQUIRED),
    TEXT("sourceLabelKey", .format = "label-key"),
    TEXT("sourceAnnotationKey", .format = "label-key"),
    TEXT("sourceKind", .values = source_kinds),
    TEXTS("trackedValues", 16),
};
OF(custom_label);

static const struct field metrics_fields[] = {
    TEXT("bindAddress"),
    SWITCH("enableClusterQueueResources"),
    PART("localQueueMetrics", local_metrics),
    PARTS("customLabels", custom_label, 20),
};
OF(metrics);

static const struct field health_fields[] = {
    TEXT("healthProbeBindAddress"),
    TEXT("readinessEndpointName"),
    TEXT("livenessEndpointName"),
};
OF(health);

static const struct field controller_fields[] = {
    F(INT32, MAP, "groupKindConcurrency", 0, .max = 1000),
    SPAN("cacheSyncTimeout"),
};
OF(controller);

static const char *const tls_versions[] = {"VersionTLS12", "VersionTLS13", NULL};
static const struct field tls_fields[] = {
    TEXT("minVersion", .values = tls_versions),
    TEXTS("cipherSuites", 100),
    F(INT32, LIST, "curvePreferences", 0, .max = 65535),
};
OF(tls);

static const struct field certificates_fields[] = {
    SWITCH("enable"),
    TEXT("webhookServiceName", .format = "dns1035-label"),
    TEXT("webhookSecretName", .format = "dns1123-subdomain"),
};
OF(certificates);

static const struct field connection_fields[] = {
    F(DOUBLE, ONE, "qps", 0),
    NUMBER("burst", 0, INT32_MAX),
};
OF(connection);

static const char *const timestamps[] = {"Creation", "Eviction", NULL};
static const struct field requeuing_fields[] = {
    TEXT("timestamp", .values = timestamps),
    NUMBER("backoffLimitCount", 0, INT32_MAX),
    NUMBER("backoffBaseSeconds", 0, INT32_MAX),
    NUMBER("backoffMaxSeconds", 0, INT32_MAX),
};
OF(requeuing);

#define READY                                                                                      \
    SPAN("timeout"), SPAN("recoveryTimeout"), SWITCH("blockAdmission"),                            \
        PART("requeuingStrategy", requeuing)
static const struct field ready_fields[] = {READY};
static const struct field ready_v1beta1_fields[] = {SWITCH("enable"), READY};
OF(ready);
OF(ready_v1beta1);

static const struct field pod_options_fields[] = {
    PART("namespaceSelector", schema_label_selector),
    PART("podSelector", schema_label_selector),
};
OF(pod_options);

#define INTEGRATIONS                                                                               \
    TEXTS("frameworks", 100), TEXTS("externalFrameworks", 100),                                    \
        TEXTS("labelKeysToCopy", 256, .format = "label-key")
static const struct field integrations_fields[] = {INTEGRATIONS};
static const struct field integrations_v1beta1_fields[] = {PART("podOptions", pod_options),
                                                           INTEGRATIONS};
OF(integrations);
OF(integrations_v1beta1);

static const struct field dispatcher_fields[] = {NUMBER("stepSize", 1, INT32_MAX)};
OF(dispatcher);
static const struct field named_fields[] = {TEXT("name", .flags = FIELD_F_REQUIRED)};
OF(named);
static const struct field profile_fields[] = {
    F(ANY, LIST, "accessProviders", 0, .max = 100),
    F(ANY, LIST, "credentialsProviders", 0, .max = 100),
};
OF(profile);
static const struct field multikueue_fields[] = {
    SPAN("gcInterval"),
    TEXT("origin", .format = "label-value"),
    SPAN("workerLostTimeout"),
    TEXT("dispatcherName"),
    PART("incrementalDispatcherConfig", dispatcher),
    PARTS("externalFrameworks", named, 100),
    PART("clusterProfile", profile),
};
OF(multikueue);

static const char *const fair_strategies[] = {"LessThanOrEqualToFinalShare", "LessThanInitialShare",
                                              NULL};
#define FAIR TEXTS("preemptionStrategies", 2, .values = fair_strategies)
static const struct field fair_fields[] = {FAIR};
static const struct field fair_v1beta1_fields[] = {SWITCH("enable"), FAIR};
OF(fair);
OF(fair_v1beta1);

static const struct field usage_fields[] = {
    SPAN("usageHalfLifeTime", .flags = FIELD_F_REQUIRED),
    SPAN("usageSamplingInterval"),
    F(DOUBLE, MAP, "resourceWeights", 0, .max = 256),
};
OF(usage);

static const char *const transform_strategies[] = {"Retain", "Replace", NULL};
static const struct field transform_fields[] = {
    TEXT("input", .flags = FIELD_F_REQUIRED, .format = "label-key"),
    TEXT("strategy", .values = transform_strategies),
    TEXT("multiplyBy", .format = "label-key"),
    F(QUANTITY, MAP, "outputs", 0, .max = 64),
};
OF(transform);

static const struct field mapping_fields[] = {
    TEXT("name", .flags = FIELD_F_REQUIRED, .format = "label-key"),
    TEXTS("deviceClassNames", 8, .flags = FIELD_F_REQUIRED, .format = "dns1123-subdomain"),
    F(ANY, LIST, "sources", 0, .max = 16),
};
OF(mapping);

static const char *const check_strategies[] = {"BlockUndeclared", "IgnoreUndeclared", NULL};
static const struct field resources_fields[] = {
    TEXTS("excludeResourcePrefixes", 256),
    PARTS("transformations", transform, 256),
    TEXT("quotaCheckStrategy", .values = check_strategies),
    PARTS("deviceClassMappings", mapping, 16),
};
OF(resources);

static const struct field kept_workloads_fields[] = {
    SPAN("afterFinished"),
    SPAN("afterDeactivatedByKueue"),
};
OF(kept_workloads);
static const struct field retention_fields[] = {PART("workloads", kept_workloads)};
OF(retention);

static const struct field visibility_server_fields[] = {
    TEXT("bindAddress"),
    NUMBER("bindPort", 1, 65535),
};
OF(visibility_server);

static const struct field visible_queues_fields[] = {NUMBER("maxCount", 0, 4000)};
OF(visible_queues);
static const struct field queue_visibility_fields[] = {
    PART("clusterQueues", visible_queues),
    NUMBER("updateIntervalSeconds", 1, INT32_MAX),
};
OF(queue_visibility);

#define CONFIGURATION(ready_, integrations_, fair_)                                                \
    TEXT("apiVersion", .flags = FIELD_F_REQUIRED), TEXT("kind", .flags = FIELD_F_REQUIRED),        \
        PART("metadata", file_meta), TEXT("namespace", .format = "dns1123-label"),                 \
        SWITCH("manageJobsWithoutQueueName"),                                                      \
        PART("managedJobsNamespaceSelector", schema_label_selector), PART("webhook", webhook),     \
        PART("leaderElection", leader), PART("metrics", metrics), PART("health", health),          \
        TEXT("pprofBindAddress"), PART("controller", controller), PART("tls", tls),                \
        PART("internalCertManagement", certificates), PART("clientConnection", connection),        \
        PART("waitForPodsReady", ready_), PART("integrations", integrations_),                     \
        PART("multiKueue", multikueue), PART("fairSharing", fair_),                                \
        PART("admissionFairSharing", usage), PART("resources", resources),                         \
        F(BOOL, MAP, "featureGates", 0, .max = 1000), PART("objectRetentionPolicies", retention),  \
        PART("visibilityServer", visibility_server)
static const struct field configuration_fields[] = {CONFIGURATION(ready, integrations, fair)};
static const struct field configuration_v1beta1_fields[] = {
    CONFIGURATION(ready_v1beta1, integrations_v1beta1, fair_v1beta1),
    PART("queueVisibility", queue_visibility),
};
OF(configuration);
OF(configuration_v1beta1);

static const struct kind_version versions[] = {
    {.version = "v1beta2", .schema = &configuration},
    {.version = "v1beta1", .schema = &configuration_v1beta1},
};
const struct kind kind_kueue_configuration = {.group = "config.kueue.x-k8s.io",
                                              .kind = "Configuration",
                                              .flags = KIND_VIRTUAL,
                                              .versions = versions,
                                              .n_versions = 2};
