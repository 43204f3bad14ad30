/*
 * queue_settings: what Kueue's Configuration file says, as far as controllers act on it.
 *
 * A plain value that whoever reads the file fills in, over queue_settings_defaults(); it is borrowed by the controllers
 * (control_env.settings) and outlives them. NULL there means the defaults. Durations are nanoseconds; a negative
 * retention means "never". Everything pointed to is the filler's.
 */
#ifndef BERTH_CONTROL_QUEUE_SETTINGS_H
#define BERTH_CONTROL_QUEUE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/selector.h"
#include "base/str.h"
#include "wire/text/quantity.h"

/* Feature gates that change what the controllers do; the defaults are Kueue's. */
struct queue_gates {
    bool partial_admission;              /* PartialAdmission, on */
    bool elastic_jobs;                   /* ElasticJobsViaWorkloadSlices, on */
    bool reclaimable_pods;               /* ReclaimablePods, on */
    bool admission_gated_by;             /* AdmissionGatedBy, on */
    bool finish_orphaned_workloads;      /* FinishOrphanedWorkloads, on */
    bool priority_class_defaulting;      /* WorkloadPriorityClassDefaulting, on */
    bool unadmitted_observability;       /* UnadmittedWorkloadsObservability, on */
    bool unadmitted_explicit_status;     /* UnadmittedWorkloadsExplicitStatus, off */
    bool priority_boost;                 /* PriorityBoost, off */
    bool priority_sorting_within_cohort; /* PrioritySortingWithinCohort, on */
    bool prioritize_preemptors;          /* PrioritizePreemptorWorkloads, off */
    bool assign_queue_labels;            /* AssignQueueLabelsForPods, on */
    bool quota_check_strategy;           /* QuotaCheckStrategy, on */
    bool local_queue_metrics;            /* LocalQueueMetrics, on */
    bool cohort_metrics;                 /* MetricsForCohorts, on */
    bool visibility;                     /* VisibilityOnDemand, on */
};

/* waitForPodsReady */
struct queue_ready_settings {
    bool on; /* false only by the gate DisableWaitForPodsReady */
    int64_t timeout_ns;
    int64_t recovery_timeout_ns; /* 0: no limit on recovery */
    bool block_admission;
    bool by_creation;      /* requeuingStrategy.timestamp Creation, not Eviction */
    int32_t backoff_limit; /* backoffLimitCount; -1: none */
    int32_t backoff_base_s, backoff_max_s;
};

struct queue_weight {
    struct str resource;
    double weight;
};

/* admissionFairSharing */
struct queue_usage_settings {
    bool on;
    int64_t half_life_ns, sampling_interval_ns;
    const struct queue_weight *weights;
    size_t n_weights;
};

struct queue_transformation_output {
    struct str resource;
    struct quantity factor;
};

struct queue_transformation {
    struct str input;
    bool replace;           /* strategy Replace, not Retain */
    struct str multiply_by; /* empty: none */
    const struct queue_transformation_output *outputs;
    size_t n_outputs;
};

/* resources.deviceClassMappings: devices of these classes are counted as one resource. */
struct queue_device_mapping {
    struct str resource;
    const struct str *classes;
    size_t n_classes;
};

struct queue_resource_settings {
    const struct str *exclude_prefixes;
    size_t n_exclude_prefixes;
    const struct queue_transformation *transformations;
    size_t n_transformations;
    bool ignore_undeclared;                     /* quotaCheckStrategy IgnoreUndeclared */
    const struct queue_device_mapping *devices; /* none: claims of pods are not counted */
    size_t n_devices;
};

struct queue_metrics_settings {
    bool cluster_queue_resources;                /* metrics.enableClusterQueueResources */
    bool local_queues;                           /* metrics.localQueueMetrics.enable */
    const struct selector *local_queue_selector; /* NULL: all */
};

struct queue_settings {
    bool manage_jobs_without_queue_name;
    const struct selector *managed_namespaces; /* NULL: every one but kube-system and our own */
    struct str own_namespace;             /* where Berth itself runs on a cluster; empty: nowhere */
    const struct str *label_keys_to_copy; /* integrations.labelKeysToCopy */
    size_t n_label_keys_to_copy;
    const struct str *frameworks; /* integrations.frameworks: what is queued; none: all there are */
    size_t n_frameworks;
    struct queue_ready_settings ready;
    bool fair_sharing;        /* fairSharing is given */
    unsigned fair_strategies; /* set of enum fair_strategy (core/admit/engine.h); 0: both */
    struct queue_usage_settings usage;
    struct queue_resource_settings resources;
    struct queue_metrics_settings metrics;
    struct queue_gates gates;
    int64_t keep_finished_ns;    /* objectRetentionPolicies.workloads.afterFinished; -1: for ever */
    int64_t keep_deactivated_ns; /* afterDeactivatedByKueue: deletes the Job; -1: for ever */
    /* Ours: two that would evict each other for ever; see core/admit/engine.h */
    bool break_alternation;
};

/* As Kueue without a file: waitForPodsReady with 30 minutes, nothing else. Never NULL, static. */
const struct queue_settings *queue_settings_defaults(void);

#endif
