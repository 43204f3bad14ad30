/* table_berth: the fields of Berth's own kinds (group berth.dev). */
#include "api/tables/table.h"
#include "api/tables/view_meta.h"

#define API_VERSION                                                                                \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API that this is written for.")
#define KIND F(STRING, ONE, "kind", 0, .doc = "Kind of the object.")

/* ---- WorkloadExplanation ---- */

static const struct field reference_fields[] = {
    F(STRING, ONE, "namespace", 0, .doc = "Its namespace; absent when you may not see it."),
    F(STRING, ONE, "name", 0, .doc = "Its name; absent when you may not see it."),
    F(STRING, ONE, "clusterQueue", 0, .doc = "Its ClusterQueue; absent when you may not see it."),
    F(INT64, ONE, "priority", 0, .doc = "Its priority."),
    F(STRING, ONE, "amount", 0, .doc = "How much of the resource it holds."),
    F(STRING, ONE, "ends", 0, .doc = "When it should end, if its run time is known."),
    F(STRING, ONE, "basis", 0, .doc = "declared, observed or unknown: where its run time is from."),
    F(BOOL, ONE, "overdue", 0, .doc = "It has run longer than it should."),
    F(STRING, ONE, "keeps", 0, .doc = "The rule by which it is not preempted."),
    F(STRING, ONE, "reason", 0, .doc = "Why this happens to it."),
};
static const struct schema schema_explained_workload =
    SCHEMA("dev.berth.v1alpha1.ExplainedWorkload", reference_fields, 0,
           "A workload, as far as you may see it.");

static const struct field borrower_fields[] = {
    F(STRING, ONE, "clusterQueue", 0, .doc = "The queue; absent when you may not see it."),
    F(STRING, ONE, "amount", 0, .doc = "How much it holds above its own quota."),
};
static const struct schema schema_explained_borrower =
    SCHEMA("dev.berth.v1alpha1.ExplainedBorrower", borrower_fields, 0,
           "A queue that holds more than its own quota.");

static const struct field lack_fields[] = {
    F(STRING, ONE, "flavor", 0, .doc = "The ResourceFlavor that was looked at."),
    F(STRING, ONE, "resource", 0, .doc = "The resource that is short."),
    F(STRING, ONE, "needed", 0, .doc = "What the workload asks for."),
    F(STRING, ONE, "available", 0, .doc = "What is free for it."),
    F(STRING, ONE, "missing", 0, .doc = "What it lacks."),
    F(STRING, ONE, "capacity", 0, .doc = "The most its queue could ever have."),
    F(STRING, ONE, "limitedBy", 0, .doc = "Queue or cohort whose limit is met."),
    F(STRING, ONE, "reason", 0, .doc = "Why the flavor will not do, when quota is not the reason."),
    F(OBJECT, LIST, "holders", 0, .of = &schema_explained_workload,
      .doc = "Who holds it, biggest first; not all when there are many."),
    F(INT64, ONE, "holderCount", 0, .doc = "How many hold some of it."),
    F(STRING, ONE, "heldByOthers", 0, .doc = "What those that are not listed hold."),
    F(OBJECT, LIST, "borrowers", 0, .of = &schema_explained_borrower, .doc = "Who borrows it."),
};
static const struct schema schema_explained_lack =
    SCHEMA("dev.berth.v1alpha1.ExplainedLack", lack_fields, 0, "What is short in one flavor.");

static const struct field rule_fields[] = {
    F(STRING, ONE, "rule", 0, .doc = "The rule, in one word."),
    F(STRING, ONE, "message", 0, .doc = "The rule, for people."),
    F(INT64, ONE, "workloads", 0, .doc = "How many holders it keeps."),
    F(TIME, ONE, "until", 0, .doc = "When it first ceases to hold for one of them."),
};
static const struct schema schema_explained_rule =
    SCHEMA("dev.berth.v1alpha1.ExplainedRule", rule_fields, 0, "Why holders are not preempted.");

static const struct field borrowing_fields[] = {
    F(STRING, ONE, "resource", 0, .doc = "What its ClusterQueue would borrow."),
    F(STRING, ONE, "flavor", 0, .doc = "In this ResourceFlavor."),
    F(STRING, ONE, "requested", 0, .doc = "What the workload asks for."),
    F(STRING, ONE, "nominalQuota", 0, .doc = "What its ClusterQueue has of its own."),
    F(STRING, ONE, "used", 0, .doc = "What its ClusterQueue uses."),
    F(STRING, ONE, "missing", 0, .doc = "What the ClusterQueue's own quota lacks."),
    F(STRING, ONE, "remedy", 0,
      .doc = "The field to raise, where nothing else keeps it from taking back its own."),
};
static const struct schema schema_explained_borrowing =
    SCHEMA("dev.berth.v1alpha1.ExplainedBorrowing", borrowing_fields, 0,
           "A resource by which a workload's ClusterQueue counts as borrowing.");

static const struct field position_fields[] = {
    F(INT64, ONE, "clusterQueue", 0, .doc = "From 1, among those that wait in the ClusterQueue."),
    F(INT64, ONE, "localQueue", 0, .doc = "From 1, among those that wait in the LocalQueue."),
    F(INT64, ONE, "ahead", 0, .doc = "How many stand before it in the ClusterQueue."),
    F(OBJECT, LIST, "next", 0, .of = &schema_explained_workload, .doc = "The first of them."),
};
static const struct schema schema_explained_position =
    SCHEMA("dev.berth.v1alpha1.ExplainedPosition", position_fields, 0, "Where it stands in line.");

static const struct field estimate_fields[] = {
    F(TIME, ONE, "start", 0, .doc = "When it starts, where that can be told near enough."),
    F(TIME, ONE, "earliest", 0, .doc = "One of ten starts sooner than this."),
    F(TIME, ONE, "latest", 0, .doc = "One of ten starts later than this."),
    F(TIME, ONE, "notBefore", 0, .doc = "It cannot start sooner than this."),
    F(STRING, ONE, "basis", 0,
      .doc = "declared, observed, declared and observed, none needed, unknown."),
    F(STRING, ONE, "text", 0, .doc = "The estimate for people."),
    F(STRING, ONE, "note", 0, .doc = "What the estimate leaves out."),
};
static const struct schema schema_explained_estimate =
    SCHEMA("dev.berth.v1alpha1.ExplainedEstimate", estimate_fields, 0, "When it may start.");

static const struct field explanation_status_fields[] = {
    F(STRING, ONE, "state", 0, .doc = "Waiting, Held, Reserved, Admitted, Stopping or Finished."),
    F(STRING, ONE, "job", 0, .doc = "The name of its owner."),
    F(STRING, ONE, "localQueue", 0, .doc = "The LocalQueue it was sent to."),
    F(STRING, ONE, "clusterQueue", 0, .doc = "The ClusterQueue behind it."),
    F(INT64, ONE, "priority", 0, .doc = "Its priority."),
    F(STRING, ONE, "reason", 0, .doc = "Why it waits, in one word."),
    F(STRING, ONE, "summary", 0, .doc = "Why it waits, in one line."),
    F(STRING, ONE, "text", 0, .doc = "The whole explanation as text."),
    F(OBJECT, ONE, "position", 0, .of = &schema_explained_position, .doc = "Where it stands."),
    F(OBJECT, LIST, "lacks", 0, .of = &schema_explained_lack, .doc = "What it lacks, by flavor."),
    F(OBJECT, LIST, "preemption", 0, .of = &schema_explained_rule,
      .doc = "Why those that hold what it lacks are not preempted."),
    F(OBJECT, LIST, "borrowing", 0, .of = &schema_explained_borrowing,
      .doc = "Why its ClusterQueue counts as borrowing, where that keeps somebody."),
    F(OBJECT, ONE, "estimate", 0, .of = &schema_explained_estimate, .doc = "When it may start."),
    F(TIME, ONE, "computed", 0, .doc = "When this was computed."),
};
static const struct schema schema_explanation_status =
    SCHEMA("dev.berth.v1alpha1.WorkloadExplanationStatus", explanation_status_fields, 0, NULL);

static const struct field explanation_fields[] = {
    API_VERSION,
    KIND,
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Name and namespace of the workload."),
    F(OBJECT, ONE, "status", 0, .of = &schema_explanation_status, .doc = "Why it waits."),
};
const struct schema schema_workload_explanation = SCHEMA(
    "dev.berth.v1alpha1.WorkloadExplanation", explanation_fields, 0,
    "Why a workload waits, who holds what it lacks, and when it may start; computed when read.");

/* ---- QueuePreview ---- */

static const struct field deletion_fields[] = {
    F(STRING, ONE, "kind", 0, .flags = FIELD_F_REQUIRED,
      .doc = "ClusterQueue, Cohort, ResourceFlavor or LocalQueue."),
    F(STRING, ONE, "namespace", 0, .doc = "Of a LocalQueue."),
    F(STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED, .doc = "Its name."),
};
static const struct schema schema_preview_deletion = SCHEMA(
    "dev.berth.v1alpha1.PreviewDeletion", deletion_fields, 0, "An object that would be deleted.");

static const struct field preview_spec_fields[] = {
    F(ANY, LIST, "objects", 0, .max = 100,
      .doc = "ClusterQueues, Cohorts, ResourceFlavors and LocalQueues as they would be applied."),
    F(OBJECT, LIST, "deletions", 0, .of = &schema_preview_deletion, .max = 100,
      .doc = "What would be deleted."),
};
static const struct schema schema_preview_spec =
    SCHEMA("dev.berth.v1alpha1.QueuePreviewSpec", preview_spec_fields, 0, NULL);

static const struct field suggestion_fields[] = {
    F(STRING, ONE, "clusterQueue", 0, .doc = "The ClusterQueue whose quota it is."),
    F(STRING, ONE, "field", 0, .doc = "The field of the ClusterQueue."),
    F(STRING, ONE, "nominalQuota", 0, .doc = "What to raise it to."),
    F(STRING, ONE, "message", 0, .doc = "The suggestion, for people."),
};
static const struct schema schema_preview_suggestion =
    SCHEMA("dev.berth.v1alpha1.PreviewSuggestion", suggestion_fields, 0,
           "A quota without which what would wait cannot take back what is its queue's own.");

static const struct field preview_status_fields[] = {
    F(OBJECT, LIST, "admitted", 0, .of = &schema_explained_workload,
      .doc = "What would be admitted, and is not admitted as things are."),
    F(OBJECT, LIST, "evicted", 0, .of = &schema_explained_workload,
      .doc = "What would lose its quota, and why."),
    F(OBJECT, LIST, "waiting", 0, .of = &schema_explained_workload,
      .doc = "What would wait: first what would otherwise be admitted, then the others."),
    F(INT64, ONE, "admittedCount", 0, .doc = "How many would be admitted."),
    F(INT64, ONE, "evictedCount", 0, .doc = "How many would be evicted."),
    F(INT64, ONE, "waitingCount", 0, .doc = "How many would wait."),
    F(OBJECT, LIST, "suggestions", 0, .of = &schema_preview_suggestion,
      .doc = "Quota to raise beside the edit."),
    F(STRING, LIST, "notes", 0, .doc = "What the preview leaves out."),
    F(TIME, ONE, "computed", 0, .doc = "When this was computed."),
};
static const struct schema schema_preview_status =
    SCHEMA("dev.berth.v1alpha1.QueuePreviewStatus", preview_status_fields, 0, NULL);

static const struct field preview_fields[] = {
    API_VERSION,
    KIND,
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Unused."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_preview_spec, .flags = FIELD_F_REQUIRED,
      .doc = "The edit."),
    F(OBJECT, ONE, "status", 0, .of = &schema_preview_status, .doc = "What it would do."),
};
const struct schema schema_queue_preview =
    SCHEMA("dev.berth.v1alpha1.QueuePreview", preview_fields, 0,
           "Says what an edit of queues and quotas would do; nothing is written.");
