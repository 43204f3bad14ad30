/* queue_settings: the defaults. See queue_settings.h. */
#include "control/load/queue_settings.h"

#include "base/clock.h"

static const int64_t MINUTE_NS = 60 * NS_PER_SEC;

const struct queue_settings *queue_settings_defaults(void) {
    static const struct queue_settings settings = {
        .ready = {.on = true,
                  .timeout_ns = 30 * MINUTE_NS,
                  .recovery_timeout_ns = 30 * MINUTE_NS,
                  .backoff_limit = -1,
                  .backoff_base_s = 60,
                  .backoff_max_s = 3600},
        .usage = {.sampling_interval_ns = 5 * MINUTE_NS},
        .metrics = {.local_queues = true},
        .gates = {.partial_admission = true,
                  .elastic_jobs = true,
                  .reclaimable_pods = true,
                  .admission_gated_by = true,
                  .finish_orphaned_workloads = true,
                  .priority_class_defaulting = true,
                  .unadmitted_observability = true,
                  .priority_sorting_within_cohort = true,
                  .assign_queue_labels = true,
                  .quota_check_strategy = true,
                  .local_queue_metrics = true,
                  .cohort_metrics = true,
                  .visibility = true},
        .keep_finished_ns = -1,
        .keep_deactivated_ns = -1,
    };
    return &settings;
}
