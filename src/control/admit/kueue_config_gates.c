/* kueue_config_gates: Kueue's feature gates: which there are, what they need, which of them change something here. */
#include "control/admit/kueue_config_private.h"

#include <stddef.h>

enum { NO_FIELD = -1 };

struct gate {
    const char *name;
    bool on, locked;
    const char *needs, *needs_too;
    int field; /* offset in struct queue_gates; NO_FIELD: no effect here */
};

#define ON(name_)                                                                                  \
    { name_, true, false, NULL, NULL, NO_FIELD }
#define OFF(name_)                                                                                 \
    { name_, false, false, NULL, NULL, NO_FIELD }
#define ON_FOR(name_, needs_)                                                                      \
    { name_, true, false, needs_, NULL, NO_FIELD }
#define OFF_FOR(name_, needs_)                                                                     \
    { name_, false, false, needs_, NULL, NO_FIELD }
#define ACTED(name_, on_, field_)                                                                  \
    { name_, on_, false, NULL, NULL, (int)offsetof(struct queue_gates, field_) }

#define TAS "TopologyAwareScheduling"
#define DRA "KueueDRAIntegration"
#define REPLACE "TASFailedNodeReplacement"

static const struct gate gates[] = {
    ACTED("PartialAdmission", true, partial_admission),
    ACTED("ReclaimablePods", true, reclaimable_pods),
    ACTED("AdmissionGatedBy", true, admission_gated_by),
    ACTED("FinishOrphanedWorkloads", true, finish_orphaned_workloads),
    ACTED("WorkloadPriorityClassDefaulting", true, priority_class_defaulting),
    ACTED("UnadmittedWorkloadsObservability", true, unadmitted_observability),
    {"UnadmittedWorkloadsExplicitStatus", false, false, "UnadmittedWorkloadsObservability", NULL,
     (int)offsetof(struct queue_gates, unadmitted_explicit_status)},
    ACTED("PriorityBoost", false, priority_boost),
    ACTED("PrioritySortingWithinCohort", true, priority_sorting_within_cohort),
    ACTED("PrioritizePreemptorWorkloads", false, prioritize_preemptors),
    ACTED("AssignQueueLabelsForPods", true, assign_queue_labels),
    ACTED("QuotaCheckStrategy", true, quota_check_strategy),
    ACTED("LocalQueueMetrics", true, local_queue_metrics),
    ACTED("MetricsForCohorts", true, cohort_metrics),
    ACTED("VisibilityOnDemand", true, visibility),
    {"DisableWaitForPodsReady", false, false, NULL, NULL, NO_FIELD}, /* see config_gates */
    ON("FlavorFungibility"),
    ON("FairSharingPreemptWithinNominal"),
    ON("FairSharingPrioritizeNonBorrowing"),
    ON("MultiKueue"),
    ON(TAS),
    ON_FOR("TASProfileMixed", TAS),
    ON("AdmissionFairSharing"), /* see kueue_config_fill */
    ON_FOR(REPLACE, TAS),
    ACTED("ElasticJobsViaWorkloadSlices", true, elastic_jobs),
    {"TASFailedNodeReplacementFailFast", true, false, TAS, REPLACE, NO_FIELD},
    {"TASReplaceNodeOnPodTermination", true, false, TAS, REPLACE, NO_FIELD},
    ON("SkipReassignmentForPodOwnedWorkloads"),
    ON_FOR("TASAssignmentsEncodingByHostnamePrefix", TAS),
    ON(DRA),
    ON_FOR("KueueDRAIntegrationExtendedResource", DRA),
    ON("KueueDRARejectWorkloadsWhenDRADisabled"),
    ON_FOR("KueueDRAIntegrationPartitionableDevices", DRA),
    ON("MultiKueueAdaptersForCustomJobs"),
    ON("MultiKueueKubeConfigPathValidation"),
    ON("RemoveFinalizersWithStrictPatch"),
    ON_FOR("TASReplaceNodeOnNodeTaints", TAS),
    ON_FOR("TASMultiLayerTopology", TAS),
    ON("SchedulingEquivalenceHashing"),
    ON("MultiKueueIncrementalDispatcherConfig"),
    ON("MultiKueueIncrementalDispatcherRespectConfigOrder"),
    ON("MetricForWorkloadCreationLatency"),
    ON("WorkloadIdentifierAnnotations"),
    ON("CleanupProvisioningRequestsOnEviction"),
    ON_FOR("TASHandleOverlappingFlavors", TAS),
    ON_FOR("TASRecomputeAssignmentWithinSchedulingCycle", TAS),
    ON("DeferRayServiceFinalizationForRedisCleanup"),
    ON_FOR("TASCacheNodeMatchResults", TAS),
    ON_FOR("TASCachingRemainingResources", TAS),
    ON_FOR("TASCacheTopologyTree", TAS),
    ON("VectorizedResourceRequests"),
    ON("WorkloadValidateResourcesAreNonNegative"),
    ON_FOR("TASValidateWorkloadSliceSize", TAS),
    ON("WorkloadValidationForPodSetMetadata"),
    ON("LWSImmutableGroupSize"),
    ON_FOR("FlavorFungibilityPreserveScanProgress", "FlavorFungibility"),
    ON("SkipAncestorCheckForDeletedWorkloads"),
    ON("MultiKueueRemoteSpecSync"),
    ON("RecomputeAssignmentUponPreemptionTargetsOverlap"),
    ON("PodIntegrationValidateGroupOwner"),
    ON("ValidateRayAndSparkJobUpdates"),
    {"ManagedJobsNamespaceSelectorAlwaysRespected", true, true, NULL, NULL, NO_FIELD},
    {"TLSOptions", true, true, NULL, NULL, NO_FIELD},
    {"ElasticJobsViaWorkloadSlicesWithTAS", false, false, "ElasticJobsViaWorkloadSlices", TAS,
     NO_FIELD},
    OFF_FOR("TASBalancedPlacement", TAS),
    OFF_FOR("KueueDRAIntegrationConsumableCapacity", DRA),
    OFF("WorkloadRequestUseMergePatch"),
    OFF("MultiKueueClusterProfile"),
    OFF("FailureRecoveryPolicy"),
    OFF("CustomMetricLabels"),
    OFF("SparkApplicationIntegration"),
    OFF("MultiKueueOrchestratedPreemption"),
    OFF("ShortWorkloadNames"),
    OFF("FastQuotaReleaseInPodIntegration"),
    OFF("RejectUpdatesToCQWithInvalidOnFlavors"),
    OFF("ConcurrentAdmission"),
    OFF_FOR("TASRespectNodeAffinityPreferred", TAS),
    OFF("MultiKueueManagerQuotaAutomation"),
    OFF("SchedulerLibraryIntegration"),
    {"TASReplaceNodeDueToNotReadyOverFixedTime", false, false, TAS, REPLACE, NO_FIELD},
};
enum { GATES = sizeof(gates) / sizeof(gates[0]) };

static const struct gate *gate_of(struct str name) {
    for (size_t i = 0; i < GATES; i++) {
        if (str_is(name, gates[i].name)) {
            return &gates[i];
        }
    }
    return NULL;
}

static bool is_on(yyjson_val *set, const struct gate *g) {
    yyjson_val *v = json_get(set, str_of(g->name));
    return yyjson_is_bool(v) ? yyjson_get_bool(v) : g->on;
}

static int one(struct config_reader *r, yyjson_val *set, const struct gate *g) {
    bool on = is_on(set, g);
    char path[128];
    (void)snprintf(path, sizeof(path), "featureGates[%s]", g->name);
    if (g->locked && on != g->on) {
        return config_fault(r, path, "is locked to %s", g->on ? "true" : "false");
    }
    const char *const needs[] = {g->needs, g->needs_too};
    for (size_t i = 0; on && i < 2 && needs[i] != NULL; i++) {
        if (!is_on(set, gate_of(str_of(needs[i])))) {
            return config_fault(r, path, "needs %s, which is off", needs[i]);
        }
    }
    if (g->field != NO_FIELD) {
        *(bool *)((char *)&r->c->settings.gates + g->field) = on;
    } else if (str_is(str_of(g->name), "DisableWaitForPodsReady")) {
        r->c->settings.ready.on = !on;
    } else if (on != g->on && !str_is(str_of(g->name), "AdmissionFairSharing")) {
        config_warn(r, "%s: %s has no effect", path, on ? "true" : "false");
    }
    return 0;
}

int config_gates(struct config_reader *r, yyjson_val *root) {
    yyjson_val *set = json_path(root, "featureGates");
    if (!yyjson_is_obj(set)) {
        return 0;
    }
    CONFIG_MEMBERS(set, k) {
        const struct gate *g = gate_of(json_str(k));
        if (g == NULL) {
            char path[128];
            (void)snprintf(path, sizeof(path), "featureGates[%.*s]",
                           STR_ARG(str_head(json_str(k), 80)));
            return config_fault(r, path, "unknown feature gate");
        }
        int code = one(r, set, g);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}
