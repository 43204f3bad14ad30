/*
 * table_meta: the fields of meta/v1: object metadata, conditions, selectors, options and Status.
 */
#include "api/tables/view_meta.h"

#include "api/tables/table.h"

static const struct field owner_reference_fields[] = {
    M(owner_reference, api_version, STRING, ONE, "apiVersion", 5,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Version of the API in which the object is written."),
    M(owner_reference, kind, STRING, ONE, "kind", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Kind of the object."),
    M(owner_reference, name, STRING, ONE, "name", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Name of the owner."),
    M(owner_reference, uid, STRING, ONE, "uid", 4, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "UID of the owner."),
    M(owner_reference, controller, BOOL, ONE, "controller", 6, .flags = FIELD_F_OPT,
      .doc = "Whether that object is its controller; at most one is."),
    M(owner_reference, block_owner_deletion, BOOL, ONE, "blockOwnerDeletion", 7,
      .flags = FIELD_F_OPT,
      .doc = "Whether a foreground deletion of the owner waits for this object."),
};
static const struct schema schema_owner_reference = ATOMIC_SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", owner_reference_fields,
      sizeof(struct owner_reference), "An object that this one belongs to.");

static const struct field managed_fields_entry_fields[] = {
    F(STRING, ONE, "manager", 1, .doc = "Name of the field manager."),
    F(STRING, ONE, "operation", 2, .doc = "Apply or Update."),
    F(STRING, ONE, "apiVersion", 3, .doc = "Version of the API in which the object is written."),
    F(TIME, ONE, "time", 4, .flags = FIELD_F_OPT, .doc = "Time of the change."),
    F(STRING, ONE, "fieldsType", 6, .doc = "Format of the field list."),
    F(ANY, ONE, "fieldsV1", 7, .flags = FIELD_F_OPT, .doc = "Fields that the manager set."),
    F(STRING, ONE, "subresource", 8, .doc = "Part of the resource, such as status."),
};
static const struct schema schema_managed_fields_entry = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", managed_fields_entry_fields, 0,
      NULL);

static const struct field meta_fields[] = {
    M(meta, name, STRING, ONE, "name", 1,
      .doc = "Name, unique in the namespace for its kind; it cannot change."),
    M(meta, generate_name, STRING, ONE, "generateName", 2,
      .doc = "Start of a name that the server completes."),
    M(meta, namespace, STRING, ONE, "namespace", 3,
      .doc = "Namespace in which the object lives; it cannot change."),
    F(STRING, ONE, "selfLink", 4, .doc = "No longer used."),
    M(meta, uid, STRING, ONE, "uid", 5,
      .doc = "Unique identifier, set by the server and never reused."),
    M(meta, resource_version, STRING, ONE, "resourceVersion", 6,
      .doc = "Version of the stored object; changes with each write."),
    M(meta, generation, INT64, ONE, "generation", 7,
      .doc = "Number of changes of the desired state (spec)."),
    M(meta, creation_ns, TIME, ONE, "creationTimestamp", 8,
      .doc = "CreationTimestamp is a timestamp: when the server created the object."),
    M(meta, deletion_ns, TIME, ONE, "deletionTimestamp", 9, .flags = FIELD_F_OPT,
      .doc = "When deletion was asked for; the object goes once its finalizers are gone."),
    M(meta, deletion_grace_period_seconds, INT64, ONE, "deletionGracePeriodSeconds", 10,
      .flags = FIELD_F_OPT, .doc = "Grace period in seconds."),
    M(meta, labels, STRING, MAP, "labels", 11,
      .doc = "Keys and values by which objects are selected."),
    M(meta, annotations, STRING, MAP, "annotations", 12,
      .doc = "Keys and values for tools; not for selecting."),
    M(meta, owner_references, OBJECT, LIST, "ownerReferences", 13, .of = &schema_owner_reference,
      .flags = FIELD_F_MERGE, .merge_key = "uid", .list_keys = "uid",
      .doc = "Owners; the object is garbage-collected when all of them are gone."),
    M(meta, finalizers, STRING, LIST, "finalizers", 14, .flags = FIELD_F_MERGE | FIELD_F_SET,
      .doc = "Finalizers: the object is removed once none is left."),
    F(OBJECT, LIST, "managedFields", 17, .of = &schema_managed_fields_entry,
      .flags = FIELD_F_ATOMIC, .doc = "Field managers and the fields that each one set."),
};
const struct schema schema_meta = SCHEMA("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
      meta_fields, sizeof(struct meta),
      "Standard object's metadata.");

static const struct field partial_object_fields[] = {
    M(partial_object, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name, labels and the other things that every object has."),
};
const struct schema schema_partial_object = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata", partial_object_fields,
      sizeof(struct partial_object), NULL);

static const struct field object_draft_fields[] = {
    M(object_draft, metadata, OBJECT, ONE, "metadata", 0, .of = &schema_meta),
    M(object_draft, spec, ANY, ONE, "spec", 0),
};
const struct schema schema_object_draft =
    SCHEMA("dev.berth.ObjectDraft", object_draft_fields, sizeof(struct object_draft), NULL);

static const struct field list_meta_fields[] = {
    F(STRING, ONE, "selfLink", 1, .doc = "No longer used."),
    F(STRING, ONE, "resourceVersion", 2,
      .doc = "Version of the stored object; changes with each write."),
    F(STRING, ONE, "continue", 3, .doc = "Token for the next page."),
    F(INT64, ONE, "remainingItemCount", 4, .flags = FIELD_F_OPT,
      .doc = "Number of items after this page."),
};
const struct schema schema_list_meta = SCHEMA("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
      list_meta_fields, 0, NULL);

static const struct field condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Type of the condition."),
    M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Status of the condition: True, False or Unknown."),
    M(condition, observed_generation, INT64, ONE, "observedGeneration", 3,
      .doc = "Generation of the spec from which this status was computed."),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 4,
      .flags = FIELD_F_KEEP_EMPTY, .doc = "Time of the last change of status."),
    M(condition, reason, STRING, ONE, "reason", 5, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Machine-readable reason, one CamelCase word."),
    M(condition, message, STRING, ONE, "message", 6, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Human-readable message."),
};
const struct schema schema_condition = SCHEMA("io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
      condition_fields, sizeof(struct condition),
      "An aspect of an object's state.");

static const struct field label_selector_requirement_fields[] = {
    M(label_requirement, key, STRING, ONE, "key", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .format = "label-key",
      .doc = "Key to look for."),
    M(label_requirement, operator, STRING, ONE, "operator", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "In, NotIn, Exists or DoesNotExist."),
    M(label_requirement, values, STRING, LIST, "values", 3, .flags = FIELD_F_ATOMIC,
      .doc = "Values to compare with."),
};
const struct schema schema_label_selector_requirement = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
      label_selector_requirement_fields, sizeof(struct label_requirement),
      "One condition on a label.");

static const struct field label_selector_fields[] = {
    M(label_selector, match_labels, STRING, MAP, "matchLabels", 1,
      .doc = "Labels that must all be there with these values."),
    M(label_selector, match_expressions, OBJECT, LIST, "matchExpressions", 2,
      .of = &schema_label_selector_requirement, .flags = FIELD_F_ATOMIC,
      .doc = "Conditions on labels that must all hold."),
};
const struct schema schema_label_selector = ATOMIC_SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", label_selector_fields,
      sizeof(struct label_selector),
      "Chooses objects by their labels; an empty one chooses all.");

static const struct field preconditions_fields[] = {
    M(delete_preconditions, uid, STRING, ONE, "uid", 1, .flags = FIELD_F_OPT,
      .doc = "UID that the object must have."),
    M(delete_preconditions, resource_version, STRING, ONE, "resourceVersion", 2,
      .flags = FIELD_F_OPT, .doc = "Version of the stored object; changes with each write."),
};
static const struct schema schema_preconditions = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions", preconditions_fields,
      sizeof(struct delete_preconditions), NULL);

static const struct field delete_options_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    M(delete_options_view, grace_period_seconds, INT64, ONE, "gracePeriodSeconds", 1,
      .flags = FIELD_F_OPT, .doc = "Grace period in seconds; 0 deletes at once."),
    M(delete_options_view, preconditions, OBJECT, ONE, "preconditions", 2,
      .of = &schema_preconditions, .flags = FIELD_F_OPT, .doc = "Preconditions for the deletion."),
    M(delete_options_view, orphan_dependents, BOOL, ONE, "orphanDependents", 3,
      .flags = FIELD_F_OPT, .doc = "Deprecated form of propagationPolicy."),
    M(delete_options_view, propagation_policy, STRING, ONE, "propagationPolicy", 4,
      .flags = FIELD_F_OPT,
      .doc = "Policy for dependents: Orphan, Background or Foreground."),
    M(delete_options_view, dry_run, STRING, LIST, "dryRun", 5, .flags = FIELD_F_ATOMIC,
      .doc = "All: checks everything and stores nothing."),
    F(BOOL, ONE, "ignoreStoreReadErrorWithClusterBreakingPotential", 6, .flags = FIELD_F_OPT),
};
const struct schema schema_delete_options = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", delete_options_fields,
      sizeof(struct delete_options_view), NULL);

static const struct field status_cause_fields[] = {
    F(STRING, ONE, "reason", 1, .doc = "Machine-readable reason, one CamelCase word."),
    F(STRING, ONE, "message", 2, .doc = "Human-readable message."),
    F(STRING, ONE, "field", 3, .doc = "Path of the field that caused the error."),
};
static const struct schema schema_status_cause = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause", status_cause_fields, 0, NULL);

static const struct field status_details_fields[] = {
    F(STRING, ONE, "name", 1, .doc = "Name of the object."),
    F(STRING, ONE, "group", 2, .doc = "API group."),
    F(STRING, ONE, "kind", 3, .doc = "Kind of the object."),
    F(STRING, ONE, "uid", 6, .doc = "UID of the object."),
    F(OBJECT, LIST, "causes", 4, .of = &schema_status_cause, .flags = FIELD_F_ATOMIC,
      .doc = "Details, field by field."),
    F(INT32, ONE, "retryAfterSeconds", 5, .doc = "Seconds to wait before trying again."),
};
static const struct schema schema_status_details = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails", status_details_fields, 0, NULL);

static const struct field status_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_list_meta,
      .doc = "Standard object metadata."),
    F(STRING, ONE, "status", 2, .doc = "Success or Failure."),
    F(STRING, ONE, "message", 3, .doc = "Human-readable message."),
    F(STRING, ONE, "reason", 4, .doc = "Machine-readable reason, one CamelCase word."),
    F(OBJECT, ONE, "details", 5, .of = &schema_status_details, .flags = FIELD_F_OPT,
      .doc = "Facts about the failure."),
    F(INT32, ONE, "code", 6, .doc = "HTTP status code."),
};
const struct schema schema_status = SCHEMA("io.k8s.apimachinery.pkg.apis.meta.v1.Status",
      status_fields, 0, NULL);

static const struct field field_selector_requirement_fields[] = {
    F(STRING, ONE, "key", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Key to look for."),
    F(STRING, ONE, "operator", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Operator that compares the key with the values."),
    F(STRING, LIST, "values", 3, .flags = FIELD_F_ATOMIC, .doc = "Values to compare with."),
};
const struct schema schema_field_selector_requirement = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
      field_selector_requirement_fields, 0, NULL);
