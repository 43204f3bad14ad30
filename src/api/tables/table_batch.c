/*
 * table_batch: the fields of batch/v1 Job and CronJob.
 */
#include "api/tables/view_batch.h"

#include "api/tables/table.h"

static const char *const count_fail_index_fail_job_ignore_values[] = {
    "Count", "FailIndex", "FailJob", "Ignore", NULL,
};
static const char *const failed_terminating_or_failed_values[] = {
    "Failed", "TerminatingOrFailed", NULL,
};
static const char *const in_not_in_values[] = {"In", "NotIn", NULL};
static const char *const indexed_non_indexed_values[] = {"Indexed", "NonIndexed", NULL};

static const struct field pod_failure_policy_on_exit_codes_requirement_fields[] = {
    M(exit_codes_rule, container_name, STRING, ONE, "containerName", 1, .flags = FIELD_F_OPT,
      .doc = "Container whose exit code is checked; all unless set."),
    M(exit_codes_rule, operator, STRING, ONE, "operator", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .values = in_not_in_values,
      .doc = "Operator that compares the key with the values."),
    M(exit_codes_rule, values, INT32, LIST, "values", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_SET | FIELD_F_KEEP_EMPTY,
      .doc = "Values to compare with."),
};
static const struct schema schema_pod_failure_policy_on_exit_codes_requirement = SCHEMA(
      "io.k8s.api.batch.v1.PodFailurePolicyOnExitCodesRequirement",
      pod_failure_policy_on_exit_codes_requirement_fields, sizeof(struct exit_codes_rule),
      NULL);

static const struct field pod_failure_policy_on_pod_conditions_pattern_fields[] = {
    M(pod_condition_rule, type, STRING, ONE, "type", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Type of the condition."),
    M(pod_condition_rule, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,
      .def = "\"True\"", .doc = "Status of the condition: True, False or Unknown."),
};
static const struct schema schema_pod_failure_policy_on_pod_conditions_pattern = SCHEMA(
      "io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern",
      pod_failure_policy_on_pod_conditions_pattern_fields, sizeof(struct pod_condition_rule),
      NULL);

static const struct field pod_failure_policy_rule_fields[] = {
    M(pod_failure_rule, action, STRING, ONE, "action", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .values = count_fail_index_fail_job_ignore_values,
      .doc = "FailJob, FailIndex, Ignore or Count."),
    M(pod_failure_rule, on_exit_codes, OBJECT, ONE, "onExitCodes", 2,
      .of = &schema_pod_failure_policy_on_exit_codes_requirement, .flags = FIELD_F_OPT,
      .doc = "Matches exit codes."),
    M(pod_failure_rule, on_pod_conditions, OBJECT, LIST, "onPodConditions", 3,
      .of = &schema_pod_failure_policy_on_pod_conditions_pattern, .flags = FIELD_F_ATOMIC,
      .doc = "Matches conditions of the pod."),
};
static const struct schema schema_pod_failure_policy_rule = SCHEMA(
      "io.k8s.api.batch.v1.PodFailurePolicyRule", pod_failure_policy_rule_fields,
      sizeof(struct pod_failure_rule), NULL);

static const struct field pod_failure_policy_fields[] = {
    M(pod_failure_policy, rules, OBJECT, LIST, "rules", 1, .of = &schema_pod_failure_policy_rule,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Rules; the first that matches decides."),
};
const struct schema schema_pod_failure_policy = SCHEMA("io.k8s.api.batch.v1.PodFailurePolicy",
      pod_failure_policy_fields, sizeof(struct pod_failure_policy), NULL);

static const struct field success_policy_rule_fields[] = {
    M(success_rule, succeeded_indexes, STRING, ONE, "succeededIndexes", 1, .flags = FIELD_F_OPT,
      .doc = "Indexes that must succeed."),
    M(success_rule, succeeded_count, INT32, ONE, "succeededCount", 2, .flags = FIELD_F_OPT,
      .doc = "Number of indexes that must succeed."),
};
static const struct schema schema_success_policy_rule =
    SCHEMA("io.k8s.api.batch.v1.SuccessPolicyRule", success_policy_rule_fields,
           sizeof(struct success_rule), NULL);

static const struct field success_policy_fields[] = {
    M(success_policy, rules, OBJECT, LIST, "rules", 1, .of = &schema_success_policy_rule,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC | FIELD_F_KEEP_EMPTY,
      .doc = "Alternatives, of which one must hold."),
};
const struct schema schema_success_policy = SCHEMA("io.k8s.api.batch.v1.SuccessPolicy",
      success_policy_fields, sizeof(struct success_policy), NULL);

/* A Job's spec, and the same in the template of a CronJob, where it may change and is left as it was written: what is
 * settled once a Job is made, and what a row's default becomes. */
#define JOB_SPEC_ROWS(SETTLED_, DEF_)                                                             \
    M(job_spec, parallelism, INT32, ONE, "parallelism", 1, .flags = FIELD_F_OPT, .max = INT32_MAX, \
      .doc = "Maximum number of pods that run at the same time."),                                \
    M(job_spec, completions, INT32, ONE, "completions", 2, .flags = FIELD_F_OPT, .max = INT32_MAX, \
      .doc = "Number of pods that must succeed; unset: one success is enough."),                  \
    M(job_spec, active_deadline_seconds, INT64, ONE, "activeDeadlineSeconds", 3,                  \
      .flags = FIELD_F_OPT, .max = INT64_MAX,                                                     \
      .doc = "Seconds after its start at which the job fails."),                                  \
    M(job_spec, pod_failure_policy, OBJECT, ONE, "podFailurePolicy", 11,                          \
      .of = &schema_pod_failure_policy, .flags = FIELD_F_OPT | SETTLED_,                          \
      .doc = "What to do about failed pods, by exit code or condition."),                         \
    M(job_spec, success_policy, OBJECT, ONE, "successPolicy", 16, .of = &schema_success_policy,   \
      .flags = FIELD_F_OPT | SETTLED_,                                                            \
      .doc = "Conditions under which the job succeeds before all pods have."),                    \
    M(job_spec, backoff_limit, INT32, ONE, "backoffLimit", 7, .flags = FIELD_F_OPT,               \
      .max = INT32_MAX, .doc = "Failures after which the job fails; 6 unless set."),              \
    M(job_spec, backoff_limit_per_index, INT32, ONE, "backoffLimitPerIndex", 12,                  \
      .flags = FIELD_F_OPT | SETTLED_, .max = INT32_MAX,                                          \
      .doc = "Failures after which an index fails."),                                             \
    M(job_spec, max_failed_indexes, INT32, ONE, "maxFailedIndexes", 13, .flags = FIELD_F_OPT,     \
      .max = INT32_MAX, .doc = "Failed indexes after which the job fails."),                      \
    M(job_spec, selector, OBJECT, ONE, "selector", 4, .of = &schema_label_selector,               \
      .flags = FIELD_F_OPT | SETTLED_ | FIELD_F_ATOMIC,                                           \
      .doc = "Labels of its pods; made by the server."),                                          \
    M(job_spec, manual_selector, BOOL, ONE, "manualSelector", 5, .flags = FIELD_F_OPT,            \
      .def = DEF_("false"), .doc = "Whether the selector is set by the user, not by the server."), \
    M(job_spec, template, OBJECT, ONE, "template", 6, .of = &schema_pod_template,                 \
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Template of the pods."),            \
    M(job_spec, ttl_seconds_after_finished, INT32, ONE, "ttlSecondsAfterFinished", 8,             \
      .flags = FIELD_F_OPT, .max = INT32_MAX,                                                     \
      .doc = "Seconds after its end at which the job is deleted."),                               \
    M(job_spec, completion_mode, STRING, ONE, "completionMode", 9,                                \
      .flags = FIELD_F_OPT | SETTLED_, .def = DEF_("\"NonIndexed\""),                             \
      .values = indexed_non_indexed_values,                                                       \
      .doc = "NonIndexed, or Indexed: each pod has a number."),                                   \
    M(job_spec, suspend, BOOL, ONE, "suspend", 10, .flags = FIELD_F_OPT, .def = DEF_("false"),    \
      .doc = "Whether the job is suspended; setting it terminates the pods."),                    \
    M(job_spec, pod_replacement_policy, STRING, ONE, "podReplacementPolicy", 14,                  \
      .flags = FIELD_F_OPT, .values = failed_terminating_or_failed_values,                        \
      .doc = "When pods are replaced: TerminatingOrFailed or Failed."),                           \
    M(job_spec, managed_by, STRING, ONE, "managedBy", 15,                                         \
      .flags = FIELD_F_OPT | SETTLED_,                                                            \
      .doc = "Controller that runs the job, if not the built-in one.")
#define JOB_DEFAULT(text_) text_
#define JOB_NO_DEFAULT(text_) NULL

static const struct field job_spec_fields[] = {JOB_SPEC_ROWS(FIELD_F_IMMUTABLE, JOB_DEFAULT)};
static const struct field job_template_spec_fields[] = {JOB_SPEC_ROWS(0, JOB_NO_DEFAULT)};
const struct schema schema_job_spec = SCHEMA("io.k8s.api.batch.v1.JobSpec", job_spec_fields,
      sizeof(struct job_spec), "What a job runs, and when it is complete.");
static const struct schema schema_job_template_spec = SCHEMA("io.k8s.api.batch.v1.JobSpec",
      job_template_spec_fields, sizeof(struct job_spec),
      "What a job runs, and when it is complete.");

static const struct field job_condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Type of the condition."),
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
static const struct schema schema_job_condition = SCHEMA("io.k8s.api.batch.v1.JobCondition",
      job_condition_fields, sizeof(struct condition), NULL);

static const struct field uncounted_terminated_pods_fields[] = {
    M(uncounted_pods, succeeded, STRING, LIST, "succeeded", 1, .flags = FIELD_F_SET),
    M(uncounted_pods, failed, STRING, LIST, "failed", 2, .flags = FIELD_F_SET),
};
static const struct schema schema_uncounted_terminated_pods = SCHEMA(
      "io.k8s.api.batch.v1.UncountedTerminatedPods", uncounted_terminated_pods_fields,
      sizeof(struct uncounted_pods), NULL);

static const struct field job_status_fields[] = {
    M(job_status, conditions, OBJECT, LIST, "conditions", 1, .of = &schema_job_condition,
      .flags = FIELD_F_MERGE | FIELD_F_ATOMIC, .merge_key = "type",
      .doc = "Current conditions, one entry per type."),
    M(job_status, start_ns, TIME, ONE, "startTime", 2, .flags = FIELD_F_OPT,
      .doc = "Start time."),
    M(job_status, completion_ns, TIME, ONE, "completionTime", 3, .flags = FIELD_F_OPT,
      .doc = "Completion time."),
    /* Upstream leaves out what is 0; Berth always counted it, and people's queries may look for it. */
    M(job_status, active, INT32, ONE, "active", 4, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods that are pending or running."),
    M(job_status, succeeded, INT32, ONE, "succeeded", 5, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods that succeeded."),
    M(job_status, failed, INT32, ONE, "failed", 6, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Pods that failed."),
    M(job_status, terminating, INT32, ONE, "terminating", 11, .flags = FIELD_F_OPT,
      .doc = "Pods that are terminating."),
    M(job_status, completed_indexes, STRING, ONE, "completedIndexes", 7,
      .doc = "Indexes that succeeded, such as 1,3-5."),
    M(job_status, failed_indexes, STRING, ONE, "failedIndexes", 10, .flags = FIELD_F_OPT,
      .doc = "Indexes that failed."),
    M(job_status, uncounted_terminated_pods, OBJECT, ONE, "uncountedTerminatedPods", 8,
      .of = &schema_uncounted_terminated_pods, .flags = FIELD_F_OPT,
      .doc = "Finished pods that are not counted yet."),
    M(job_status, ready, INT32, ONE, "ready", 9, .flags = FIELD_F_OPT,
      .doc = "Pods that are ready."),
};
const struct schema schema_job_status = SCHEMA("io.k8s.api.batch.v1.JobStatus", job_status_fields,
      sizeof(struct job_status), NULL);

static const struct field job_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(job, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(job, spec, OBJECT, ONE, "spec", 2, .of = &schema_job_spec, .def = "{}",
      .doc = "Desired state, set by the user."),
    M(job, status, OBJECT, ONE, "status", 3, .of = &schema_job_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_job = SCHEMA("io.k8s.api.batch.v1.Job", job_fields, sizeof(struct job),
      "Runs pods until enough of them succeed.");

static const char *const allow_forbid_replace_values[] = {"Allow", "Forbid", "Replace", NULL};

static const struct field job_template_fields[] = {
    M(job_template, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Labels and annotations of the jobs."),
    M(job_template, spec, OBJECT, ONE, "spec", 2, .of = &schema_job_template_spec,
      .doc = "Desired state of the jobs."),
};
static const struct schema schema_job_template = SCHEMA("io.k8s.api.batch.v1.JobTemplateSpec",
      job_template_fields, sizeof(struct job_template), "The jobs that a schedule makes.");

static const struct field cron_job_spec_fields[] = {
    M(cron_job_spec, schedule, STRING, ONE, "schedule", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "When jobs start, as five fields of cron, or @hourly, @every 10m and the like."),
    M(cron_job_spec, time_zone, STRING, ONE, "timeZone", 8, .flags = FIELD_F_OPT,
      .doc = "Time zone of the schedule, such as Europe/Warsaw; UTC unless set."),
    M(cron_job_spec, starting_deadline_seconds, INT64, ONE, "startingDeadlineSeconds", 2,
      .flags = FIELD_F_OPT, .max = INT64_MAX,
      .doc = "Seconds after its time within which a job may still start."),
    M(cron_job_spec, concurrency_policy, STRING, ONE, "concurrencyPolicy", 3, .def = "\"Allow\"",
      .values = allow_forbid_replace_values,
      .doc = "What happens when the job before still runs: Allow, Forbid or Replace."),
    M(cron_job_spec, suspend, BOOL, ONE, "suspend", 4, .flags = FIELD_F_OPT, .def = "false",
      .doc = "Whether no more jobs start; those that run go on."),
    M(cron_job_spec, job_template, OBJECT, ONE, "jobTemplate", 5, .of = &schema_job_template,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "The jobs."),
    M(cron_job_spec, successful_jobs_history_limit, INT32, ONE, "successfulJobsHistoryLimit", 6,
      .flags = FIELD_F_OPT, .def = "3", .max = INT32_MAX,
      .doc = "Jobs that succeeded of which so many are kept."),
    M(cron_job_spec, failed_jobs_history_limit, INT32, ONE, "failedJobsHistoryLimit", 7,
      .flags = FIELD_F_OPT, .def = "1", .max = INT32_MAX,
      .doc = "Jobs that failed of which so many are kept."),
};
static const struct schema schema_cron_job_spec = SCHEMA("io.k8s.api.batch.v1.CronJobSpec",
      cron_job_spec_fields, sizeof(struct cron_job_spec), "Which jobs start, and when.");

static const struct field cron_job_status_fields[] = {
    M(cron_job_status, active, OBJECT, LIST, "active", 1, .of = &schema_object_reference,
      .flags = FIELD_F_ATOMIC, .doc = "Its jobs that are running."),
    M(cron_job_status, last_schedule_ns, TIME, ONE, "lastScheduleTime", 4, .flags = FIELD_F_OPT,
      .doc = "The time for which a job was last started."),
    M(cron_job_status, last_successful_ns, TIME, ONE, "lastSuccessfulTime", 5,
      .flags = FIELD_F_OPT, .doc = "When a job last succeeded."),
};
const struct schema schema_cron_job_status = SCHEMA("io.k8s.api.batch.v1.CronJobStatus",
      cron_job_status_fields, sizeof(struct cron_job_status), NULL);

static const struct field cron_job_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(cron_job, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    M(cron_job, spec, OBJECT, ONE, "spec", 2, .of = &schema_cron_job_spec, .def = "{}",
      .doc = "Desired state, set by the user."),
    M(cron_job, status, OBJECT, ONE, "status", 3, .of = &schema_cron_job_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_cron_job = SCHEMA("io.k8s.api.batch.v1.CronJob", cron_job_fields,
      sizeof(struct cron_job), "Starts jobs at the times of a schedule.");
