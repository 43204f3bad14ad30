/* kueue_config_fields: the members of Kueue's Configuration, and which of them Berth leaves idle. */
#include "control/admit/kueue_config_private.h"

#include <stddef.h>

#define WITH_API "berth up serves it with its API"

static const struct config_field metadata_fields[] = {
    {.name = "name", .type = CONFIG_TEXT},
    {.name = "namespace", .type = CONFIG_TEXT},
    {.name = "labels", .type = CONFIG_MAP, .item = CONFIG_TEXT},
    {.name = "annotations", .type = CONFIG_MAP, .item = CONFIG_TEXT},
    {0},
};

static const struct config_field webhook_fields[] = {
    {.name = "port", .type = CONFIG_INT, .min = 1, .max = 65535},
    {.name = "host", .type = CONFIG_TEXT},
    {.name = "certDir", .type = CONFIG_TEXT},
    {0},
};

static const struct config_field leader_fields[] = {
    {.name = "leaderElect", .type = CONFIG_BOOL},
    {.name = "leaseDuration", .type = CONFIG_DURATION, .not_negative = true},
    {.name = "renewDeadline", .type = CONFIG_DURATION, .not_negative = true},
    {.name = "retryPeriod", .type = CONFIG_DURATION, .not_negative = true},
    {.name = "resourceLock", .type = CONFIG_TEXT},
    {.name = "resourceName", .type = CONFIG_TEXT},
    {.name = "resourceNamespace", .type = CONFIG_TEXT},
    {0},
};

static const struct config_field local_metrics_fields[] = {
    {.name = "enable", .type = CONFIG_BOOL},
    {.name = "localQueueSelector", .type = CONFIG_SELECTOR},
    {0},
};

static const char *const source_kinds[] = {"ClusterQueue", "LocalQueue", "Cohort", "Workload",
                                           NULL};
static const struct config_field label_fields[] = {
    {.name = "name", .type = CONFIG_TEXT, .needed = true},
    {.name = "sourceLabelKey", .type = CONFIG_TEXT, .format = "label-key"},
    {.name = "sourceAnnotationKey", .type = CONFIG_TEXT, .format = "label-key"},
    {.name = "sourceKind", .type = CONFIG_TEXT, .values = source_kinds},
    {.name = "trackedValues", .type = CONFIG_LIST, .item = CONFIG_TEXT, .max = 16},
    {0},
};

static const struct config_field metrics_fields[] = {
    {.name = "bindAddress", .type = CONFIG_TEXT, .idle = WITH_API ", berth operate at --metrics"},
    {.name = "enableClusterQueueResources", .type = CONFIG_BOOL},
    {.name = "localQueueMetrics", .type = CONFIG_OBJECT, .of = local_metrics_fields},
    {.name = "customLabels",
     .type = CONFIG_LIST,
     .item = CONFIG_OBJECT,
     .of = label_fields,
     .max = 20,
     .idle = "metrics carry no custom labels"},
    {0},
};

static const struct config_field health_fields[] = {
    {.name = "healthProbeBindAddress", .type = CONFIG_TEXT},
    {.name = "readinessEndpointName", .type = CONFIG_TEXT},
    {.name = "livenessEndpointName", .type = CONFIG_TEXT},
    {0},
};

static const struct config_field controller_fields[] = {
    {.name = "groupKindConcurrency", .type = CONFIG_MAP, .item = CONFIG_INT, .max = 1000},
    {.name = "cacheSyncTimeout", .type = CONFIG_DURATION, .not_negative = true},
    {0},
};

static const char *const tls_versions[] = {"VersionTLS12", "VersionTLS13", NULL};
static const struct config_field tls_fields[] = {
    {.name = "minVersion", .type = CONFIG_TEXT, .values = tls_versions},
    {.name = "cipherSuites", .type = CONFIG_LIST, .item = CONFIG_TEXT, .max = 100},
    {.name = "curvePreferences", .type = CONFIG_LIST, .item = CONFIG_INT, .max = 65535},
    {0},
};

static const struct config_field cert_fields[] = {
    {.name = "enable", .type = CONFIG_BOOL},
    {.name = "webhookServiceName", .type = CONFIG_TEXT, .format = "dns1035-label"},
    {.name = "webhookSecretName", .type = CONFIG_TEXT, .format = "dns1123-subdomain"},
    {0},
};

static const struct config_field client_fields[] = {
    {.name = "qps", .type = CONFIG_NUMBER, .min = -1},
    {.name = "burst", .type = CONFIG_INT, .min = 0, .max = INT32_MAX},
    {0},
};

static const char *const timestamps[] = {"Creation", "Eviction", NULL};
static const struct config_field requeuing_fields[] = {
    {.name = "timestamp", .type = CONFIG_TEXT, .values = timestamps},
    {.name = "backoffLimitCount", .type = CONFIG_INT, .max = INT32_MAX},
    {.name = "backoffBaseSeconds", .type = CONFIG_INT, .max = INT32_MAX},
    {.name = "backoffMaxSeconds", .type = CONFIG_INT, .max = INT32_MAX},
    {0},
};

static const struct config_field ready_fields[] = {
    {.name = "enable", .type = CONFIG_BOOL, .old = true},
    {.name = "timeout", .type = CONFIG_DURATION, .not_negative = true},
    {.name = "recoveryTimeout", .type = CONFIG_DURATION, .not_negative = true},
    {.name = "blockAdmission", .type = CONFIG_BOOL},
    {.name = "requeuingStrategy", .type = CONFIG_OBJECT, .of = requeuing_fields},
    {0},
};

static const struct config_field pod_options_fields[] = {
    {.name = "namespaceSelector", .type = CONFIG_SELECTOR},
    {.name = "podSelector", .type = CONFIG_SELECTOR},
    {0},
};

static const struct config_field integrations_fields[] = {
    {.name = "frameworks", .type = CONFIG_LIST, .item = CONFIG_TEXT, .max = 100},
    {.name = "externalFrameworks",
     .type = CONFIG_LIST,
     .item = CONFIG_TEXT,
     .max = 100,
     .idle = "no outside controller makes Workloads here"},
    {.name = "podOptions",
     .type = CONFIG_OBJECT,
     .of = pod_options_fields,
     .old = true,
     .idle = "pods are chosen by their queue and managedJobsNamespaceSelector"},
    {.name = "labelKeysToCopy",
     .type = CONFIG_LIST,
     .item = CONFIG_TEXT,
     .format = "label-key",
     .max = 256},
    {0},
};

static const struct config_field dispatcher_fields[] = {
    {.name = "stepSize", .type = CONFIG_INT, .min = 1, .max = INT32_MAX},
    {0},
};
static const struct config_field named_fields[] = {
    {.name = "name", .type = CONFIG_TEXT, .needed = true},
    {0},
};
static const struct config_field profile_fields[] = {
    {.name = "accessProviders", .type = CONFIG_LIST, .item = CONFIG_ANY, .max = 100},
    {.name = "credentialsProviders", .type = CONFIG_LIST, .item = CONFIG_ANY, .max = 100},
    {0},
};
static const struct config_field multikueue_fields[] = {
    {.name = "gcInterval", .type = CONFIG_DURATION, .not_negative = true},
    {.name = "origin", .type = CONFIG_TEXT, .format = "label-value"},
    {.name = "workerLostTimeout", .type = CONFIG_DURATION, .not_negative = true},
    {.name = "dispatcherName", .type = CONFIG_TEXT},
    {.name = "incrementalDispatcherConfig", .type = CONFIG_OBJECT, .of = dispatcher_fields},
    {.name = "externalFrameworks",
     .type = CONFIG_LIST,
     .item = CONFIG_OBJECT,
     .of = named_fields,
     .max = 100},
    {.name = "clusterProfile", .type = CONFIG_OBJECT, .of = profile_fields},
    {0},
};

static const char *const fair_strategies[] = {"LessThanOrEqualToFinalShare", "LessThanInitialShare",
                                              NULL};
static const struct config_field fair_fields[] = {
    {.name = "enable", .type = CONFIG_BOOL, .old = true},
    {.name = "preemptionStrategies",
     .type = CONFIG_LIST,
     .item = CONFIG_TEXT,
     .values = fair_strategies,
     .max = 2},
    {0},
};

static const struct config_field usage_fields[] = {
    {.name = "usageHalfLifeTime", .type = CONFIG_DURATION, .not_negative = true, .needed = true},
    {.name = "usageSamplingInterval", .type = CONFIG_DURATION, .positive = true},
    {.name = "resourceWeights", .type = CONFIG_MAP, .item = CONFIG_NUMBER, .max = 256},
    {0},
};

static const char *const transform_strategies[] = {"Retain", "Replace", NULL};
static const struct config_field transform_fields[] = {
    {.name = "input", .type = CONFIG_TEXT, .format = "label-key", .needed = true},
    {.name = "strategy", .type = CONFIG_TEXT, .values = transform_strategies},
    {.name = "multiplyBy", .type = CONFIG_TEXT, .format = "label-key"},
    {.name = "outputs", .type = CONFIG_MAP, .item = CONFIG_QUANTITY, .max = 64},
    {0},
};

static const struct config_field mapping_fields[] = {
    {.name = "name", .type = CONFIG_TEXT, .format = "label-key", .needed = true},
    {.name = "deviceClassNames",
     .type = CONFIG_LIST,
     .item = CONFIG_TEXT,
     .format = "dns1123-subdomain",
     .min = 1,
     .max = 8,
     .needed = true},
    {.name = "sources",
     .type = CONFIG_LIST,
     .item = CONFIG_ANY,
     .max = 16,
     .idle = "devices are counted whole"},
    {0},
};

static const char *const check_strategies[] = {"BlockUndeclared", "IgnoreUndeclared", NULL};
static const struct config_field resources_fields[] = {
    {.name = "excludeResourcePrefixes", .type = CONFIG_LIST, .item = CONFIG_TEXT, .max = 256},
    {.name = "transformations",
     .type = CONFIG_LIST,
     .item = CONFIG_OBJECT,
     .of = transform_fields,
     .max = 256},
    {.name = "quotaCheckStrategy", .type = CONFIG_TEXT, .values = check_strategies},
    {.name = "deviceClassMappings",
     .type = CONFIG_LIST,
     .item = CONFIG_OBJECT,
     .of = mapping_fields,
     .max = 16},
    {0},
};

static const struct config_field retention_workload_fields[] = {
    {.name = "afterFinished", .type = CONFIG_DURATION, .not_negative = true},
    {.name = "afterDeactivatedByKueue", .type = CONFIG_DURATION, .not_negative = true},
    {0},
};
static const struct config_field retention_fields[] = {
    {.name = "workloads", .type = CONFIG_OBJECT, .of = retention_workload_fields},
    {0},
};

static const struct config_field visibility_server_fields[] = {
    {.name = "bindAddress", .type = CONFIG_TEXT},
    {.name = "bindPort", .type = CONFIG_INT, .min = 1, .max = 65535},
    {0},
};

static const struct config_field visibility_queues_fields[] = {
    {.name = "maxCount", .type = CONFIG_INT, .max = 4000},
    {0},
};
static const struct config_field queue_visibility_fields[] = {
    {.name = "clusterQueues", .type = CONFIG_OBJECT, .of = visibility_queues_fields},
    {.name = "updateIntervalSeconds", .type = CONFIG_INT, .min = 1, .max = INT32_MAX},
    {0},
};

const struct config_field kueue_config_fields[] = {
    {.name = "apiVersion", .type = CONFIG_TEXT, .needed = true},
    {.name = "kind", .type = CONFIG_TEXT, .needed = true},
    {.name = "metadata", .type = CONFIG_OBJECT, .of = metadata_fields},
    {.name = "namespace", .type = CONFIG_TEXT, .format = "dns1123-label"},
    {.name = "manageJobsWithoutQueueName", .type = CONFIG_BOOL},
    {.name = "managedJobsNamespaceSelector", .type = CONFIG_SELECTOR},
    {.name = "webhook",
     .type = CONFIG_OBJECT,
     .of = webhook_fields,
     .idle = "admission is part of berth up; berth operate has --webhook"},
    {.name = "leaderElection",
     .type = CONFIG_OBJECT,
     .of = leader_fields,
     .idle = "berth up is one process; berth operate has --lease-name and others"},
    {.name = "metrics", .type = CONFIG_OBJECT, .of = metrics_fields},
    {.name = "health",
     .type = CONFIG_OBJECT,
     .of = health_fields,
     .idle = WITH_API ", berth operate at --health"},
    {.name = "pprofBindAddress", .type = CONFIG_TEXT, .idle = "there is no profile of this kind"},
    {.name = "controller",
     .type = CONFIG_OBJECT,
     .of = controller_fields,
     .idle = "controllers run on one thread and read no remote cache"},
    {.name = "tls", .type = CONFIG_OBJECT, .of = tls_fields, .idle = "it cannot be chosen"},
    {.name = "internalCertManagement",
     .type = CONFIG_OBJECT,
     .of = cert_fields,
     .idle = "berth operate certifies its webhooks, or takes --webhook-cert"},
    {.name = "clientConnection",
     .type = CONFIG_OBJECT,
     .of = client_fields,
     .idle = "berth up needs no limit; berth operate has --qps and --burst"},
    {.name = "waitForPodsReady", .type = CONFIG_OBJECT, .of = ready_fields},
    {.name = "integrations", .type = CONFIG_OBJECT, .of = integrations_fields},
    {.name = "queueVisibility",
     .type = CONFIG_OBJECT,
     .of = queue_visibility_fields,
     .old = true,
     .idle = "positions are computed when they are read (visibility.kueue.x-k8s.io)"},
    {.name = "multiKueue",
     .type = CONFIG_OBJECT,
     .of = multikueue_fields,
     .idle = "MultiKueue is not there"},
    {.name = "fairSharing", .type = CONFIG_OBJECT, .of = fair_fields},
    {.name = "admissionFairSharing", .type = CONFIG_OBJECT, .of = usage_fields},
    {.name = "resources", .type = CONFIG_OBJECT, .of = resources_fields},
    {.name = "featureGates", .type = CONFIG_MAP, .item = CONFIG_BOOL, .max = 1000},
    {.name = "objectRetentionPolicies", .type = CONFIG_OBJECT, .of = retention_fields},
    {.name = "visibilityServer",
     .type = CONFIG_OBJECT,
     .of = visibility_server_fields,
     .idle = WITH_API},
    {0},
};
