/* view_batch: the C views of batch/v1 Job and CronJob, whole. */
#ifndef BERTH_API_VIEW_BATCH_H
#define BERTH_API_VIEW_BATCH_H

#include "api/tables/view_core.h"

struct exit_codes_rule {
    struct str container_name, operator; /* In, NotIn */
    struct {
        int32_t *v;
        size_t n;
    } values;
};
struct pod_condition_rule {
    struct str type, status;
};
struct pod_failure_rule {
    struct str action; /* FailJob, FailIndex, Ignore, Count */
    struct exit_codes_rule *on_exit_codes;
    struct {
        struct pod_condition_rule *v;
        size_t n;
    } on_pod_conditions;
};
struct pod_failure_policy {
    struct {
        struct pod_failure_rule *v;
        size_t n;
    } rules;
};
struct success_rule {
    struct str succeeded_indexes;
    struct opt_i32 succeeded_count;
};
struct success_policy {
    struct {
        struct success_rule *v;
        size_t n;
    } rules;
};
struct job_spec {
    struct opt_i32 parallelism, completions;
    struct opt_i64 active_deadline_seconds;
    struct pod_failure_policy *pod_failure_policy;
    struct success_policy *success_policy;
    struct opt_i32 backoff_limit, backoff_limit_per_index, max_failed_indexes;
    struct label_selector *selector;
    struct opt_bool manual_selector;
    struct pod_template *template;
    struct opt_i32 ttl_seconds_after_finished;
    struct str completion_mode; /* NonIndexed, Indexed */
    struct opt_bool suspend;
    struct str pod_replacement_policy; /* TerminatingOrFailed, Failed */
    struct str managed_by;
};
struct uncounted_pods {
    struct str_list succeeded, failed; /* uids */
};
struct job_status {
    struct condition_list conditions;
    int64_t start_ns, completion_ns;
    int32_t active, succeeded, failed;
    struct opt_i32 terminating, ready;
    struct str completed_indexes, failed_indexes;
    struct uncounted_pods *uncounted_terminated_pods;
};
struct job {
    struct meta *metadata;
    struct job_spec *spec;
    struct job_status *status;
};

struct job_template {
    struct meta *metadata;
    struct job_spec *spec;
};
struct cron_job_spec {
    struct str schedule, time_zone;
    struct opt_i64 starting_deadline_seconds;
    struct str concurrency_policy; /* Allow, Forbid, Replace */
    struct opt_bool suspend;
    struct job_template *job_template;
    struct opt_i32 successful_jobs_history_limit, failed_jobs_history_limit;
};
struct cron_job_status {
    struct {
        struct object_reference *v;
        size_t n;
    } active;
    int64_t last_schedule_ns, last_successful_ns;
};
struct cron_job {
    struct meta *metadata;
    struct cron_job_spec *spec;
    struct cron_job_status *status;
};

extern const struct schema schema_job, schema_job_spec, schema_job_status;
extern const struct schema schema_cron_job, schema_cron_job_status;

#endif
