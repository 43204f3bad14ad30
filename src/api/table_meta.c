/*
 * table_meta: the fields of meta/v1: object metadata, conditions, selectors, options and Status.
 */
#include "api/view_meta.h"

#include "api/table.h"

static const char *const does_not_exist_exists_in_not_in_values[] = {
    "DoesNotExist", "Exists", "In", "NotIn", NULL,
};

static const struct field owner_reference_fields[] = {
    M(owner_reference, api_version, STRING, ONE, "apiVersion", 5,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    M(owner_reference, kind, STRING, ONE, "kind", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    M(owner_reference, name, STRING, ONE, "name", 3,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    M(owner_reference, uid, STRING, ONE, "uid", 4, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    M(owner_reference, controller, BOOL, ONE, "controller", 6, .flags = FIELD_F_OPT),
    M(owner_reference, block_owner_deletion, BOOL, ONE, "blockOwnerDeletion", 7,
      .flags = FIELD_F_OPT),
};
const struct schema schema_owner_reference = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", owner_reference_fields,
      sizeof(struct owner_reference), NULL);

static const struct field managed_fields_entry_fields[] = {
    F(STRING, ONE, "manager", 1),
    F(STRING, ONE, "operation", 2),
    F(STRING, ONE, "apiVersion", 3),
    F(TIME, ONE, "time", 4, .flags = FIELD_F_OPT),
    F(STRING, ONE, "fieldsType", 6),
    F(ANY, ONE, "fieldsV1", 7, .flags = FIELD_F_OPT),
    F(STRING, ONE, "subresource", 8),
};
const struct schema schema_managed_fields_entry = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", managed_fields_entry_fields, 0,
      NULL);

static const struct field meta_fields[] = {
    M(meta, name, STRING, ONE, "name", 1),
    M(meta, generate_name, STRING, ONE, "generateName", 2),
    M(meta, namespace, STRING, ONE, "namespace", 3),
    F(STRING, ONE, "selfLink", 4),
    M(meta, uid, STRING, ONE, "uid", 5),
    M(meta, resource_version, STRING, ONE, "resourceVersion", 6),
    M(meta, generation, INT64, ONE, "generation", 7),
    M(meta, creation_ns, TIME, ONE, "creationTimestamp", 8),
    M(meta, deletion_ns, TIME, ONE, "deletionTimestamp", 9, .flags = FIELD_F_OPT),
    M(meta, deletion_grace_period_seconds, INT64, ONE, "deletionGracePeriodSeconds", 10,
      .flags = FIELD_F_OPT),
    M(meta, labels, STRING, MAP, "labels", 11),
    M(meta, annotations, STRING, MAP, "annotations", 12),
    M(meta, owner_references, OBJECT, LIST, "ownerReferences", 13, .of = &schema_owner_reference,
      .flags = FIELD_F_MERGE, .merge_key = "uid", .list_keys = "uid"),
    M(meta, finalizers, STRING, LIST, "finalizers", 14, .flags = FIELD_F_MERGE | FIELD_F_SET),
    F(OBJECT, LIST, "managedFields", 17, .of = &schema_managed_fields_entry,
      .flags = FIELD_F_ATOMIC),
};
const struct schema schema_meta = SCHEMA("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
      meta_fields, sizeof(struct meta), NULL);

static const struct field list_meta_fields[] = {
    F(STRING, ONE, "selfLink", 1),
    F(STRING, ONE, "resourceVersion", 2),
    F(STRING, ONE, "continue", 3),
    F(INT64, ONE, "remainingItemCount", 4, .flags = FIELD_F_OPT),
};
const struct schema schema_list_meta = SCHEMA("io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta",
      list_meta_fields, 0, NULL);

static const struct field condition_fields[] = {
    M(condition, type, STRING, ONE, "type", 1, .flags = FIELD_F_KEEP_EMPTY),
    M(condition, status, STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY),
    M(condition, observed_generation, INT64, ONE, "observedGeneration", 3),
    M(condition, last_transition_ns, TIME, ONE, "lastTransitionTime", 4,
      .flags = FIELD_F_KEEP_EMPTY),
    M(condition, reason, STRING, ONE, "reason", 5, .flags = FIELD_F_KEEP_EMPTY),
    M(condition, message, STRING, ONE, "message", 6, .flags = FIELD_F_KEEP_EMPTY),
};
const struct schema schema_condition = SCHEMA("io.k8s.apimachinery.pkg.apis.meta.v1.Condition",
      condition_fields, sizeof(struct condition), NULL);

static const struct field label_selector_requirement_fields[] = {
    M(label_requirement, key, STRING, ONE, "key", 1,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .format = "label-key"),
    M(label_requirement, operator, STRING, ONE, "operator", 2,
      .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .values = does_not_exist_exists_in_not_in_values),
    M(label_requirement, values, STRING, LIST, "values", 3, .flags = FIELD_F_ATOMIC),
};
const struct schema schema_label_selector_requirement = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelectorRequirement",
      label_selector_requirement_fields, sizeof(struct label_requirement), NULL);

static const struct field label_selector_fields[] = {
    M(label_selector, match_labels, STRING, MAP, "matchLabels", 1),
    M(label_selector, match_expressions, OBJECT, LIST, "matchExpressions", 2,
      .of = &schema_label_selector_requirement, .flags = FIELD_F_ATOMIC),
};
const struct schema schema_label_selector = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector", label_selector_fields,
      sizeof(struct label_selector), NULL);

static const struct field preconditions_fields[] = {
    M(delete_preconditions, uid, STRING, ONE, "uid", 1, .flags = FIELD_F_OPT),
    M(delete_preconditions, resource_version, STRING, ONE, "resourceVersion", 2,
      .flags = FIELD_F_OPT),
};
const struct schema schema_preconditions = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.Preconditions", preconditions_fields,
      sizeof(struct delete_preconditions), NULL);

static const struct field delete_options_fields[] = {
    F(STRING, ONE, "apiVersion", 0),
    F(STRING, ONE, "kind", 0),
    M(delete_options, grace_period_seconds, INT64, ONE, "gracePeriodSeconds", 1,
      .flags = FIELD_F_OPT),
    M(delete_options, preconditions, OBJECT, ONE, "preconditions", 2, .of = &schema_preconditions,
      .flags = FIELD_F_OPT),
    M(delete_options, orphan_dependents, BOOL, ONE, "orphanDependents", 3, .flags = FIELD_F_OPT),
    M(delete_options, propagation_policy, STRING, ONE, "propagationPolicy", 4,
      .flags = FIELD_F_OPT),
    M(delete_options, dry_run, STRING, LIST, "dryRun", 5, .flags = FIELD_F_ATOMIC),
    F(BOOL, ONE, "ignoreStoreReadErrorWithClusterBreakingPotential", 6, .flags = FIELD_F_OPT),
};
const struct schema schema_delete_options = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions", delete_options_fields,
      sizeof(struct delete_options), NULL);

static const struct field status_cause_fields[] = {
    F(STRING, ONE, "reason", 1),
    F(STRING, ONE, "message", 2),
    F(STRING, ONE, "field", 3),
};
const struct schema schema_status_cause = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.StatusCause", status_cause_fields, 0, NULL);

static const struct field status_details_fields[] = {
    F(STRING, ONE, "name", 1),
    F(STRING, ONE, "group", 2),
    F(STRING, ONE, "kind", 3),
    F(STRING, ONE, "uid", 6),
    F(OBJECT, LIST, "causes", 4, .of = &schema_status_cause, .flags = FIELD_F_ATOMIC),
    F(INT32, ONE, "retryAfterSeconds", 5),
};
const struct schema schema_status_details = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.StatusDetails", status_details_fields, 0, NULL);

static const struct field status_fields[] = {
    F(STRING, ONE, "apiVersion", 0),
    F(STRING, ONE, "kind", 0),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_list_meta),
    F(STRING, ONE, "status", 2),
    F(STRING, ONE, "message", 3),
    F(STRING, ONE, "reason", 4),
    F(OBJECT, ONE, "details", 5, .of = &schema_status_details, .flags = FIELD_F_OPT),
    F(INT32, ONE, "code", 6),
};
const struct schema schema_status = SCHEMA("io.k8s.apimachinery.pkg.apis.meta.v1.Status",
      status_fields, 0, NULL);

static const struct field object_fields[] = {
    M(object_head, api_version, STRING, ONE, "apiVersion", 0),
    M(object_head, kind, STRING, ONE, "kind", 0),
    M(object_head, metadata, OBJECT, ONE, "metadata", 1, .of = &schema_meta),
};
const struct schema schema_object = SCHEMA("io.berth.ObjectHead", object_fields,
      sizeof(struct object_head), NULL);

static const struct field field_selector_requirement_fields[] = {
    F(STRING, ONE, "key", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, ONE, "operator", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY),
    F(STRING, LIST, "values", 3, .flags = FIELD_F_ATOMIC),
};
const struct schema schema_field_selector_requirement = SCHEMA(
      "io.k8s.apimachinery.pkg.apis.meta.v1.FieldSelectorRequirement",
      field_selector_requirement_fields, 0, NULL);
