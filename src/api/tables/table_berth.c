/* table_berth: the fields of Berth's own kinds (group berth.dev). */
#include "api/tables/table.h"
#include "api/tables/view_explain.h"

#define API_VERSION                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")

/* ---- WorkloadExplanation ---- */

static const struct field reference_fields[] = {
    M(explained_workload, namespace, STRING, ONE, "namespace", 0,
      .doc = "Namespace of the workload; absent when you may not see it."),
    M(explained_workload, name, STRING, ONE, "name", 0,
      .doc = "Name of the booking; absent when you may not see it."),
    M(explained_workload, cluster_queue, STRING, ONE, "clusterQueue", 0,
      .doc = "ClusterQueue of the workload; absent when you may not see it."),
    M(explained_workload, priority, INT64, ONE, "priority", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Priority of the workload."),
    M(explained_workload, amount, STRING, ONE, "amount", 0,
      .doc = "Amount of the resource that the workload holds."),
    M(explained_workload, ends, STRING, ONE, "ends", 0,
      .doc = "Expected end, if the run time is known."),
    M(explained_workload, basis, STRING, ONE, "basis", 0,
      .doc = "Source of the run time: declared, observed or unknown."),
    M(explained_workload, overdue, BOOL, ONE, "overdue", 0,
      .doc = "Whether the workload has run longer than expected."),
    M(explained_workload, keeps, STRING, ONE, "keeps", 0,
      .doc = "Rule that protects the workload from preemption."),
    M(explained_workload, reason, STRING, ONE, "reason", 0,
      .doc = "Why the edit has this effect on the workload."),
};
static const struct schema schema_explained_workload =
    SCHEMA("dev.berth.v1alpha1.ExplainedWorkload", reference_fields,
           sizeof(struct explained_workload),
           "A workload, as far as you may see it.");

static const struct field borrower_fields[] = {
    M(explained_borrower, cluster_queue, STRING, ONE, "clusterQueue", 0,
      .doc = "The queue; absent when you may not see it."),
    M(explained_borrower, amount, STRING, ONE, "amount", 0,
      .doc = "Amount that the queue holds above its own quota."),
};
static const struct schema schema_explained_borrower =
    SCHEMA("dev.berth.v1alpha1.ExplainedBorrower", borrower_fields,
           sizeof(struct explained_borrower),
           "A queue that holds more than its own quota.");

static const struct field lack_fields[] = {
    M(explained_lack, flavor, STRING, ONE, "flavor", 0, .doc = "Name of the ResourceFlavor."),
    M(explained_lack, resource, STRING, ONE, "resource", 0,
      .doc = "Name of the resource that is short."),
    M(explained_lack, needed, STRING, ONE, "needed", 0,
      .doc = "Amount that the workload requests."),
    M(explained_lack, available, STRING, ONE, "available", 0,
      .doc = "Amount that is free for the workload."),
    M(explained_lack, missing, STRING, ONE, "missing", 0,
      .doc = "Missing amount: request minus free."),
    M(explained_lack, capacity, STRING, ONE, "capacity", 0,
      .doc = "Maximum that the queue could ever use."),
    M(explained_lack, limited_by, STRING, ONE, "limitedBy", 0,
      .doc = "Queue or cohort whose limit is reached."),
    M(explained_lack, reason, STRING, ONE, "reason", 0,
      .doc = "Why the flavor cannot be used, when quota is not the reason."),
    M(explained_lack, holders, OBJECT, LIST, "holders", 0, .of = &schema_explained_workload,
      .doc = "Workloads that hold the resource, largest first; the list is cut when there are "
             "many."),
    M(explained_lack, holder_count, INT64, ONE, "holderCount", 0, .flags = FIELD_F_OPT,
      .doc = "Number of workloads that hold the resource."),
    M(explained_lack, held_by_others, STRING, ONE, "heldByOthers", 0,
      .doc = "Amount held by workloads that are not listed."),
    M(explained_lack, borrowers, OBJECT, LIST, "borrowers", 0, .of = &schema_explained_borrower,
      .doc = "Queues that borrow the resource."),
};
static const struct schema schema_explained_lack =
    SCHEMA("dev.berth.v1alpha1.ExplainedLack", lack_fields,
           sizeof(struct explained_lack), "A missing resource in one flavor.");

static const struct field rule_fields[] = {
    M(explained_rule, rule, STRING, ONE, "rule", 0, .doc = "Machine-readable name of the rule."),
    M(explained_rule, message, STRING, ONE, "message", 0,
      .doc = "Human-readable text of the rule."),
    M(explained_rule, workloads, INT64, ONE, "workloads", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Number of workloads that the rule protects."),
    M(explained_rule, until_ns, TIME, ONE, "until", 0,
      .doc = "Earliest time at which the rule stops protecting one of them."),
};
static const struct schema schema_explained_rule =
    SCHEMA("dev.berth.v1alpha1.ExplainedRule", rule_fields,
           sizeof(struct explained_rule), "A rule that protects workloads from preemption.");

static const struct field borrowing_fields[] = {
    M(explained_borrowing, resource, STRING, ONE, "resource", 0,
      .doc = "Resource that the ClusterQueue would borrow."),
    M(explained_borrowing, flavor, STRING, ONE, "flavor", 0,
      .doc = "ResourceFlavor of that resource."),
    M(explained_borrowing, requested, STRING, ONE, "requested", 0,
      .doc = "Amount that the workload requests."),
    M(explained_borrowing, nominal_quota, STRING, ONE, "nominalQuota", 0,
      .doc = "Nominal quota of the ClusterQueue."),
    M(explained_borrowing, used, STRING, ONE, "used", 0, .doc = "Usage of the ClusterQueue."),
    M(explained_borrowing, missing, STRING, ONE, "missing", 0,
      .doc = "Amount missing in the ClusterQueue's nominal quota."),
    M(explained_borrowing, remedy, STRING, ONE, "remedy", 0,
      .doc = "Field to raise, when only this quota prevents reclaiming."),
};
static const struct schema schema_explained_borrowing =
    SCHEMA("dev.berth.v1alpha1.ExplainedBorrowing", borrowing_fields,
           sizeof(struct explained_borrowing),
           "A resource by which a workload's ClusterQueue counts as borrowing.");

static const struct field position_fields[] = {
    M(explained_position, cluster_queue, INT64, ONE, "clusterQueue", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Position in the ClusterQueue, from 1."),
    M(explained_position, local_queue, INT64, ONE, "localQueue", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Position in the LocalQueue, from 1."),
    M(explained_position, ahead, INT64, ONE, "ahead", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Number of workloads ahead in the ClusterQueue."),
    M(explained_position, next, OBJECT, LIST, "next", 0, .of = &schema_explained_workload,
      .doc = "The first of the workloads ahead."),
};
static const struct schema schema_explained_position =
    SCHEMA("dev.berth.v1alpha1.ExplainedPosition", position_fields,
           sizeof(struct explained_position), "Position in the queue.");

static const struct field estimate_fields[] = {
    M(explained_estimate, start_ns, TIME, ONE, "start", 0,
      .doc = "Estimated start, when it can be told with enough precision."),
    M(explained_estimate, earliest_ns, TIME, ONE, "earliest", 0,
      .doc = "10th percentile of the estimated start."),
    M(explained_estimate, latest_ns, TIME, ONE, "latest", 0,
      .doc = "90th percentile of the estimated start."),
    M(explained_estimate, not_before_ns, TIME, ONE, "notBefore", 0,
      .doc = "Earliest possible start."),
    M(explained_estimate, basis, STRING, ONE, "basis", 0,
      .doc = "Source of the run times used: declared, observed, declared and observed, none "
             "needed, unknown."),
    M(explained_estimate, text, STRING, ONE, "text", 0, .doc = "Human-readable estimate."),
    M(explained_estimate, note, STRING, ONE, "note", 0,
      .doc = "What the estimate does not consider."),
};
static const struct schema schema_explained_estimate =
    SCHEMA("dev.berth.v1alpha1.ExplainedEstimate", estimate_fields,
           sizeof(struct explained_estimate), "Estimated start of a workload.");

static const struct field explanation_status_fields[] = {
    M(explanation_status, state, STRING, ONE, "state", 0,
      .doc = "Waiting, Held, Reserved, Admitted, Stopping or Finished."),
    M(explanation_status, job, STRING, ONE, "job", 0, .doc = "The name of its owner."),
    M(explanation_status, local_queue, STRING, ONE, "localQueue", 0,
      .doc = "LocalQueue of the workload."),
    M(explanation_status, cluster_queue, STRING, ONE, "clusterQueue", 0,
      .doc = "ClusterQueue of the LocalQueue."),
    M(explanation_status, priority, INT64, ONE, "priority", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Priority of the workload."),
    M(explanation_status, reason, STRING, ONE, "reason", 0,
      .doc = "Machine-readable reason for waiting."),
    M(explanation_status, summary, STRING, ONE, "summary", 0,
      .doc = "Reason for waiting, in one line."),
    M(explanation_status, text, STRING, ONE, "text", 0, .doc = "The whole explanation as text."),
    M(explanation_status, position, OBJECT, ONE, "position", 0, .of = &schema_explained_position,
      .doc = "Position in the queue."),
    M(explanation_status, lacks, OBJECT, LIST, "lacks", 0, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_explained_lack,
      .doc = "Missing resources, by flavor."),
    M(explanation_status, preemption, OBJECT, LIST, "preemption", 0, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_explained_rule,
      .doc = "Rules that protect the holders of the missing resources from preemption."),
    M(explanation_status, borrowing, OBJECT, LIST, "borrowing", 0,
      .of = &schema_explained_borrowing,
      .doc = "Resources by which the ClusterQueue counts as borrowing, when that prevents a "
             "preemption."),
    M(explanation_status, estimate, OBJECT, ONE, "estimate", 0, .of = &schema_explained_estimate,
      .doc = "Estimated start of a workload."),
    M(explanation_status, computed_ns, TIME, ONE, "computed", 0,
      .doc = "Time of the computation."),
};
static const struct schema schema_explanation_status =
    SCHEMA("dev.berth.v1alpha1.WorkloadExplanationStatus", explanation_status_fields,
           sizeof(struct explanation_status), NULL);

static const struct field explanation_fields[] = {
    API_VERSION,
    KIND,
    M(workload_explanation, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name and namespace of the workload."),
    M(workload_explanation, status, OBJECT, ONE, "status", 0, .of = &schema_explanation_status,
      .doc = "Explanation of why the workload waits."),
};
const struct schema schema_workload_explanation = SCHEMA(
    "dev.berth.v1alpha1.WorkloadExplanation", explanation_fields,
           sizeof(struct workload_explanation),
    "Explains why a workload waits, who holds the missing resources, and when it may start; "
    "computed on read.");

/* ---- QueuePreview ---- */

static const struct field deletion_fields[] = {
    F(STRING, ONE, "kind", 0, .flags = FIELD_F_REQUIRED,
      .doc = "ClusterQueue, Cohort, ResourceFlavor or LocalQueue."),
    F(STRING, ONE, "namespace", 0, .doc = "Namespace, for a LocalQueue."),
    F(STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED, .doc = "Name of the object."),
};
static const struct schema schema_preview_deletion = SCHEMA(
    "dev.berth.v1alpha1.PreviewDeletion", deletion_fields, 0, "An object that would be deleted.");

static const struct field preview_spec_fields[] = {
    F(ANY, LIST, "objects", 0, .max = 100,
      .doc = "ClusterQueues, Cohorts, ResourceFlavors and LocalQueues as they would be applied."),
    F(OBJECT, LIST, "deletions", 0, .of = &schema_preview_deletion, .max = 100,
      .doc = "Objects that would be deleted."),
};
static const struct schema schema_preview_spec =
    SCHEMA("dev.berth.v1alpha1.QueuePreviewSpec", preview_spec_fields, 0, NULL);

static const struct field suggestion_fields[] = {
    M(preview_suggestion, cluster_queue, STRING, ONE, "clusterQueue", 0,
      .doc = "The ClusterQueue whose quota it is."),
    M(preview_suggestion, field, STRING, ONE, "field", 0, .doc = "The field of the ClusterQueue."),
    M(preview_suggestion, nominal_quota, STRING, ONE, "nominalQuota", 0,
      .doc = "Value to which to raise the field."),
    M(preview_suggestion, message, STRING, ONE, "message", 0,
      .doc = "The suggestion, for people."),
};
static const struct schema schema_preview_suggestion =
    SCHEMA("dev.berth.v1alpha1.PreviewSuggestion", suggestion_fields,
           sizeof(struct preview_suggestion),
           "A quota to raise so that waiting workloads can reclaim their queue's own quota.");

static const struct field preview_status_fields[] = {
    M(preview_status, admitted, OBJECT, LIST, "admitted", 0, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_explained_workload,
      .doc = "Workloads that the edit would admit."),
    M(preview_status, evicted, OBJECT, LIST, "evicted", 0, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_explained_workload,
      .doc = "Workloads that the edit would evict, and why."),
    M(preview_status, waiting, OBJECT, LIST, "waiting", 0, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_explained_workload,
      .doc = "Workloads that would wait; first those that would be admitted without the edit."),
    M(preview_status, admitted_count, INT64, ONE, "admittedCount", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Number of workloads that would be admitted."),
    M(preview_status, evicted_count, INT64, ONE, "evictedCount", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Number of workloads that would be evicted."),
    M(preview_status, waiting_count, INT64, ONE, "waitingCount", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Number of workloads that would wait."),
    M(preview_status, suggestions, OBJECT, LIST, "suggestions", 0, .flags = FIELD_F_KEEP_EMPTY,
      .of = &schema_preview_suggestion,
      .doc = "Quota to raise beside the edit."),
    M(preview_status, notes, STRING, LIST, "notes", 0, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "What the preview does not consider."),
    M(preview_status, computed_ns, TIME, ONE, "computed", 0, .doc = "Time of the computation."),
};
static const struct schema schema_preview_status =
    SCHEMA("dev.berth.v1alpha1.QueuePreviewStatus", preview_status_fields,
           sizeof(struct preview_status), NULL);

static const struct field preview_fields[] = {
    API_VERSION,
    KIND,
    M(queue_preview, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Unused."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_preview_spec, .flags = FIELD_F_REQUIRED,
      .doc = "The edit."),
    M(queue_preview, status, OBJECT, ONE, "status", 0, .of = &schema_preview_status,
      .doc = "Effects of the edit."),
};
const struct schema schema_queue_preview =
    SCHEMA("dev.berth.v1alpha1.QueuePreview", preview_fields,
           sizeof(struct queue_preview),
           "Preview of an edit of queues and quotas; nothing is written.");
