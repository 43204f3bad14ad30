/* table_berth: the fields of Berth's own kinds (group berth.dev). */
#include "api/tables/table.h"
#include "api/tables/view_meta.h"

#define API_VERSION                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")

/* ---- WorkloadExplanation ---- */

static const struct field reference_fields[] = {
    F(STRING, ONE, "namespace", 0,
      .doc = "Namespace of the workload; absent when you may not see it."),
    F(STRING, ONE, "name", 0, .doc = "Name of the booking; absent when you may not see it."),
    F(STRING, ONE, "clusterQueue", 0,
      .doc = "ClusterQueue of the workload; absent when you may not see it."),
    F(INT64, ONE, "priority", 0, .doc = "Priority of the workload."),
    F(STRING, ONE, "amount", 0, .doc = "Amount of the resource that the workload holds."),
    F(STRING, ONE, "ends", 0, .doc = "Expected end, if the run time is known."),
    F(STRING, ONE, "basis", 0, .doc = "Source of the run time: declared, observed or unknown."),
    F(BOOL, ONE, "overdue", 0, .doc = "Whether the workload has run longer than expected."),
    F(STRING, ONE, "keeps", 0, .doc = "Rule that protects the workload from preemption."),
    F(STRING, ONE, "reason", 0, .doc = "Why the edit has this effect on the workload."),
};
static const struct schema schema_explained_workload =
    SCHEMA("dev.berth.v1alpha1.ExplainedWorkload", reference_fields, 0,
           "A workload, as far as you may see it.");

static const struct field borrower_fields[] = {
    F(STRING, ONE, "clusterQueue", 0, .doc = "The queue; absent when you may not see it."),
    F(STRING, ONE, "amount", 0, .doc = "Amount that the queue holds above its own quota."),
};
static const struct schema schema_explained_borrower =
    SCHEMA("dev.berth.v1alpha1.ExplainedBorrower", borrower_fields, 0,
           "A queue that holds more than its own quota.");

static const struct field lack_fields[] = {
    F(STRING, ONE, "flavor", 0, .doc = "Name of the ResourceFlavor."),
    F(STRING, ONE, "resource", 0, .doc = "Name of the resource that is short."),
    F(STRING, ONE, "needed", 0, .doc = "Amount that the workload requests."),
    F(STRING, ONE, "available", 0, .doc = "Amount that is free for the workload."),
    F(STRING, ONE, "missing", 0, .doc = "Missing amount: request minus free."),
    F(STRING, ONE, "capacity", 0, .doc = "Maximum that the queue could ever use."),
    F(STRING, ONE, "limitedBy", 0, .doc = "Queue or cohort whose limit is reached."),
    F(STRING, ONE, "reason", 0,
      .doc = "Why the flavor cannot be used, when quota is not the reason."),
    F(OBJECT, LIST, "holders", 0, .of = &schema_explained_workload,
      .doc = "Workloads that hold the resource, largest first; the list is cut when there are "
             "many."),
    F(INT64, ONE, "holderCount", 0, .doc = "Number of workloads that hold the resource."),
    F(STRING, ONE, "heldByOthers", 0, .doc = "Amount held by workloads that are not listed."),
    F(OBJECT, LIST, "borrowers", 0, .of = &schema_explained_borrower,
      .doc = "Queues that borrow the resource."),
};
static const struct schema schema_explained_lack =
    SCHEMA("dev.berth.v1alpha1.ExplainedLack", lack_fields, 0, "A missing resource in one flavor.");

static const struct field rule_fields[] = {
    F(STRING, ONE, "rule", 0, .doc = "Machine-readable name of the rule."),
    F(STRING, ONE, "message", 0, .doc = "Human-readable text of the rule."),
    F(INT64, ONE, "workloads", 0, .doc = "Number of workloads that the rule protects."),
    F(TIME, ONE, "until", 0,
      .doc = "Earliest time at which the rule stops protecting one of them."),
};
static const struct schema schema_explained_rule =
    SCHEMA("dev.berth.v1alpha1.ExplainedRule", rule_fields, 0, "A rule that protects workloads "
                                                               "from preemption.");

static const struct field borrowing_fields[] = {
    F(STRING, ONE, "resource", 0, .doc = "Resource that the ClusterQueue would borrow."),
    F(STRING, ONE, "flavor", 0, .doc = "ResourceFlavor of that resource."),
    F(STRING, ONE, "requested", 0, .doc = "Amount that the workload requests."),
    F(STRING, ONE, "nominalQuota", 0, .doc = "Nominal quota of the ClusterQueue."),
    F(STRING, ONE, "used", 0, .doc = "Usage of the ClusterQueue."),
    F(STRING, ONE, "missing", 0, .doc = "Amount missing in the ClusterQueue's nominal quota."),
    F(STRING, ONE, "remedy", 0,
      .doc = "Field to raise, when only this quota prevents reclaiming."),
};
static const struct schema schema_explained_borrowing =
    SCHEMA("dev.berth.v1alpha1.ExplainedBorrowing", borrowing_fields, 0,
           "A resource by which a workload's ClusterQueue counts as borrowing.");

static const struct field position_fields[] = {
    F(INT64, ONE, "clusterQueue", 0, .doc = "Position in the ClusterQueue, from 1."),
    F(INT64, ONE, "localQueue", 0, .doc = "Position in the LocalQueue, from 1."),
    F(INT64, ONE, "ahead", 0, .doc = "Number of workloads ahead in the ClusterQueue."),
    F(OBJECT, LIST, "next", 0, .of = &schema_explained_workload,
      .doc = "The first of the workloads ahead."),
};
static const struct schema schema_explained_position =
    SCHEMA("dev.berth.v1alpha1.ExplainedPosition", position_fields, 0, "Position in the queue.");

static const struct field estimate_fields[] = {
    F(TIME, ONE, "start", 0, .doc = "Estimated start, when it can be told with enough precision."),
    F(TIME, ONE, "earliest", 0, .doc = "10th percentile of the estimated start."),
    F(TIME, ONE, "latest", 0, .doc = "90th percentile of the estimated start."),
    F(TIME, ONE, "notBefore", 0, .doc = "Earliest possible start."),
    F(STRING, ONE, "basis", 0,
      .doc = "Source of the run times used: declared, observed, declared and observed, none "
             "needed, unknown."),
    F(STRING, ONE, "text", 0, .doc = "Human-readable estimate."),
    F(STRING, ONE, "note", 0, .doc = "What the estimate does not consider."),
};
static const struct schema schema_explained_estimate =
    SCHEMA("dev.berth.v1alpha1.ExplainedEstimate", estimate_fields, 0, "Estimated start of a "
                                                                       "workload.");

static const struct field explanation_status_fields[] = {
    F(STRING, ONE, "state", 0, .doc = "Waiting, Held, Reserved, Admitted, Stopping or Finished."),
    F(STRING, ONE, "job", 0, .doc = "The name of its owner."),
    F(STRING, ONE, "localQueue", 0, .doc = "LocalQueue of the workload."),
    F(STRING, ONE, "clusterQueue", 0, .doc = "ClusterQueue of the LocalQueue."),
    F(INT64, ONE, "priority", 0, .doc = "Priority of the workload."),
    F(STRING, ONE, "reason", 0, .doc = "Machine-readable reason for waiting."),
    F(STRING, ONE, "summary", 0, .doc = "Reason for waiting, in one line."),
    F(STRING, ONE, "text", 0, .doc = "The whole explanation as text."),
    F(OBJECT, ONE, "position", 0, .of = &schema_explained_position,
      .doc = "Position in the queue."),
    F(OBJECT, LIST, "lacks", 0, .of = &schema_explained_lack,
      .doc = "Missing resources, by flavor."),
    F(OBJECT, LIST, "preemption", 0, .of = &schema_explained_rule,
      .doc = "Rules that protect the holders of the missing resources from preemption."),
    F(OBJECT, LIST, "borrowing", 0, .of = &schema_explained_borrowing,
      .doc = "Resources by which the ClusterQueue counts as borrowing, when that prevents a "
             "preemption."),
    F(OBJECT, ONE, "estimate", 0, .of = &schema_explained_estimate,
      .doc = "Estimated start of a workload."),
    F(TIME, ONE, "computed", 0, .doc = "Time of the computation."),
};
static const struct schema schema_explanation_status =
    SCHEMA("dev.berth.v1alpha1.WorkloadExplanationStatus", explanation_status_fields, 0, NULL);

static const struct field explanation_fields[] = {
    API_VERSION,
    KIND,
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Name and namespace of the workload."),
    F(OBJECT, ONE, "status", 0, .of = &schema_explanation_status,
      .doc = "Explanation of why the workload waits."),
};
const struct schema schema_workload_explanation = SCHEMA(
    "dev.berth.v1alpha1.WorkloadExplanation", explanation_fields, 0,
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
    F(STRING, ONE, "clusterQueue", 0, .doc = "The ClusterQueue whose quota it is."),
    F(STRING, ONE, "field", 0, .doc = "The field of the ClusterQueue."),
    F(STRING, ONE, "nominalQuota", 0, .doc = "Value to which to raise the field."),
    F(STRING, ONE, "message", 0, .doc = "The suggestion, for people."),
};
static const struct schema schema_preview_suggestion =
    SCHEMA("dev.berth.v1alpha1.PreviewSuggestion", suggestion_fields, 0,
           "A quota to raise so that waiting workloads can reclaim their queue's own quota.");

static const struct field preview_status_fields[] = {
    F(OBJECT, LIST, "admitted", 0, .of = &schema_explained_workload,
      .doc = "Workloads that the edit would admit."),
    F(OBJECT, LIST, "evicted", 0, .of = &schema_explained_workload,
      .doc = "Workloads that the edit would evict, and why."),
    F(OBJECT, LIST, "waiting", 0, .of = &schema_explained_workload,
      .doc = "Workloads that would wait; first those that would be admitted without the edit."),
    F(INT64, ONE, "admittedCount", 0, .doc = "Number of workloads that would be admitted."),
    F(INT64, ONE, "evictedCount", 0, .doc = "Number of workloads that would be evicted."),
    F(INT64, ONE, "waitingCount", 0, .doc = "Number of workloads that would wait."),
    F(OBJECT, LIST, "suggestions", 0, .of = &schema_preview_suggestion,
      .doc = "Quota to raise beside the edit."),
    F(STRING, LIST, "notes", 0, .doc = "What the preview does not consider."),
    F(TIME, ONE, "computed", 0, .doc = "Time of the computation."),
};
static const struct schema schema_preview_status =
    SCHEMA("dev.berth.v1alpha1.QueuePreviewStatus", preview_status_fields, 0, NULL);

static const struct field preview_fields[] = {
    API_VERSION,
    KIND,
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Unused."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_preview_spec, .flags = FIELD_F_REQUIRED,
      .doc = "The edit."),
    F(OBJECT, ONE, "status", 0, .of = &schema_preview_status, .doc = "Effects of the edit."),
};
const struct schema schema_queue_preview =
    SCHEMA("dev.berth.v1alpha1.QueuePreview", preview_fields, 0,
           "Preview of an edit of queues and quotas; nothing is written.");
