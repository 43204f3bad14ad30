/*
 * table_extension: the fields of CustomResourceDefinition. There is no C view: api/schema/crd_kind reads the JSON.
 */
#include "api/tables/table.h"
#include "api/tables/view_meta.h"

#define EXT "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

static const char *const list_types[] = {"atomic", "set", "map", NULL};
static const char *const map_types[] = {"granular", "atomic", NULL};
static const char *const reasons[] = {"FieldValueInvalid", "FieldValueForbidden",
                                      "FieldValueRequired", "FieldValueDuplicate", NULL};

static const struct field rule_fields[] = {
    F(STRING, ONE, "rule", 1, .flags = FIELD_F_REQUIRED, .doc = "A CEL expression that must hold."),
    F(STRING, ONE, "message", 2, .doc = "Message when the rule fails."),
    F(STRING, ONE, "messageExpression", 3, .doc = "CEL expression that computes the message."),
    F(STRING, ONE, "reason", 4, .values = reasons, .doc = "Machine-readable reason."),
    F(STRING, ONE, "fieldPath", 5, .doc = "Path of the field that failed, relative to this one."),
    F(BOOL, ONE, "optionalOldSelf", 6, .flags = FIELD_F_OPT,
      .doc = "Whether the rule is also evaluated when there is no old value."),
};
static const struct schema schema_rule =
    SCHEMA(EXT "ValidationRule", rule_fields, 0, "A rule written in CEL.");

static const struct field docs_fields[] = {
    F(STRING, ONE, "description", 1, .doc = "Description of the documentation."),
    F(STRING, ONE, "url", 2, .doc = "URL of the documentation."),
};
static const struct schema schema_docs =
    SCHEMA(EXT "ExternalDocumentation", docs_fields, 0, "Documentation elsewhere.");

static const struct schema schema_props;
static const struct field props_fields[] = {
    F(STRING, ONE, "$ref", 3, .doc = "Not allowed."),
    F(STRING, ONE, "$schema", 2, .doc = "Not allowed."),
    F(ANY, ONE, "additionalItems", 33, .of = &schema_props, .flags = FIELD_F_EITHER,
      .doc = "Not allowed."),
    F(ANY, ONE, "additionalProperties", 30, .of = &schema_props, .flags = FIELD_F_EITHER,
      .doc = "Schema of members that are not in properties, or true."),
    F(OBJECT, LIST, "allOf", 25, .of = &schema_props, .doc = "Schemas that must all match."),
    F(OBJECT, LIST, "anyOf", 27, .of = &schema_props,
      .doc = "Schemas of which at least one must match."),
    F(ANY, ONE, "default", 8, .doc = "Value of the field when it is absent."),
    F(OBJECT, MAP, "definitions", 34, .of = &schema_props, .doc = "Not allowed."),
    F(ANY, MAP, "dependencies", 32, .of = &schema_props, .flags = FIELD_F_EITHER,
      .doc = "Not allowed."),
    F(STRING, ONE, "description", 4, .doc = "Description of the field."),
    F(ANY, LIST, "enum", 20, .doc = "Allowed values."),
    F(ANY, ONE, "example", 36, .doc = "An example."),
    F(BOOL, ONE, "exclusiveMaximum", 10, .doc = "Whether the maximum itself is excluded."),
    F(BOOL, ONE, "exclusiveMinimum", 12, .doc = "Whether the minimum itself is excluded."),
    F(OBJECT, ONE, "externalDocs", 35, .of = &schema_docs, .flags = FIELD_F_OPT,
      .doc = "Link to further documentation."),
    F(STRING, ONE, "format", 6, .doc = "Format of a string or number."),
    F(STRING, ONE, "id", 1, .doc = "Not used."),
    F(OBJECT, ONE, "items", 24, .of = &schema_props, .flags = FIELD_F_EITHER,
      .doc = "Schema of a list's elements."),
    F(INT64, ONE, "maxItems", 16, .flags = FIELD_F_OPT, .doc = "Most elements."),
    F(INT64, ONE, "maxLength", 13, .flags = FIELD_F_OPT, .doc = "Most characters."),
    F(INT64, ONE, "maxProperties", 21, .flags = FIELD_F_OPT, .doc = "Most members."),
    F(DOUBLE, ONE, "maximum", 9, .flags = FIELD_F_OPT, .doc = "Largest value."),
    F(INT64, ONE, "minItems", 17, .flags = FIELD_F_OPT, .doc = "Fewest elements."),
    F(INT64, ONE, "minLength", 14, .flags = FIELD_F_OPT, .doc = "Fewest characters."),
    F(INT64, ONE, "minProperties", 22, .flags = FIELD_F_OPT, .doc = "Fewest members."),
    F(DOUBLE, ONE, "minimum", 11, .flags = FIELD_F_OPT, .doc = "Smallest value."),
    F(DOUBLE, ONE, "multipleOf", 19, .flags = FIELD_F_OPT,
      .doc = "The value must be a multiple of this number."),
    F(OBJECT, ONE, "not", 28, .of = &schema_props, .flags = FIELD_F_OPT,
      .doc = "Schema that must not match."),
    F(BOOL, ONE, "nullable", 37, .doc = "Whether null is a valid value."),
    F(OBJECT, LIST, "oneOf", 26, .of = &schema_props,
      .doc = "Schemas of which exactly one must match."),
    F(STRING, ONE, "pattern", 15, .doc = "Regular expression of a string."),
    F(OBJECT, MAP, "patternProperties", 31, .of = &schema_props, .doc = "Not allowed."),
    F(OBJECT, MAP, "properties", 29, .of = &schema_props, .doc = "Schemas of members."),
    F(STRING, LIST, "required", 23, .doc = "Required members."),
    F(STRING, ONE, "title", 7, .doc = "Title."),
    F(STRING, ONE, "type", 5, .doc = "object, array, string, integer, number or boolean."),
    F(BOOL, ONE, "uniqueItems", 18, .doc = "Only false is allowed."),
    F(BOOL, ONE, "x-kubernetes-embedded-resource", 39,
      .doc = "Whether the value is a complete API object."),
    F(BOOL, ONE, "x-kubernetes-int-or-string", 40,
      .doc = "Whether the value is an integer or a string."),
    F(STRING, LIST, "x-kubernetes-list-map-keys", 41,
      .doc = "Members that identify a list element."),
    F(STRING, ONE, "x-kubernetes-list-type", 42, .values = list_types,
      .doc = "How the list is merged: atomic, set or map."),
    F(STRING, ONE, "x-kubernetes-map-type", 43, .values = map_types,
      .doc = "How the map is merged: granular or atomic."),
    F(BOOL, ONE, "x-kubernetes-preserve-unknown-fields", 38, .flags = FIELD_F_OPT,
      .doc = "Whether members without a schema are kept."),
    F(OBJECT, LIST, "x-kubernetes-validations", 44, .of = &schema_rule,
      .doc = "Rules that values must satisfy."),
};
static const struct schema schema_props =
    SCHEMA(EXT "JSONSchemaProps", props_fields, 0, "A structural schema.");

static const struct field validation_fields[] = {
    F(OBJECT, ONE, "openAPIV3Schema", 1, .of = &schema_props, .flags = FIELD_F_OPT,
      .doc = "Schema of the objects."),
};
static const struct schema schema_validation =
    SCHEMA(EXT "CustomResourceValidation", validation_fields, 0, "How objects are validated.");

static const struct field scale_fields[] = {
    F(STRING, ONE, "labelSelectorPath", 3, .doc = "Path of the pod selector."),
    F(STRING, ONE, "specReplicasPath", 1, .flags = FIELD_F_REQUIRED,
      .doc = "Path of the desired number of replicas."),
    F(STRING, ONE, "statusReplicasPath", 2, .flags = FIELD_F_REQUIRED,
      .doc = "Path of the actual number of replicas."),
};
static const struct schema schema_scale =
    SCHEMA(EXT "CustomResourceSubresourceScale", scale_fields, 0, "The scale subresource.");

static const struct schema schema_sub_status = {.name = EXT "CustomResourceSubresourceStatus",
                                                .doc = "The status subresource."};

static const struct field subresources_fields[] = {
    F(OBJECT, ONE, "scale", 2, .of = &schema_scale, .flags = FIELD_F_OPT,
      .doc = "Enables the scale subresource (kubectl scale)."),
    F(OBJECT, ONE, "status", 1, .of = &schema_sub_status, .flags = FIELD_F_OPT,
      .doc = "Enables the status subresource: the status is written separately."),
};
static const struct schema schema_subresources =
    SCHEMA(EXT "CustomResourceSubresources", subresources_fields, 0, "Subresources.");

static const struct field column_fields[] = {
    F(STRING, ONE, "description", 4, .doc = "Description of the column."),
    F(STRING, ONE, "format", 3, .doc = "Format of the type."),
    F(STRING, ONE, "jsonPath", 6, .flags = FIELD_F_REQUIRED, .doc = "JSON path of the value."),
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED, .doc = "Heading."),
    F(INT32, ONE, "priority", 5,
      .doc = "Columns with a priority above 0 are shown with -o wide only."),
    F(STRING, ONE, "type", 2, .flags = FIELD_F_REQUIRED, .doc = "Type of the value."),
};
static const struct schema schema_column =
    SCHEMA(EXT "CustomResourceColumnDefinition", column_fields, 0, "A column of kubectl get.");

static const struct field selectable_fields[] = {
    F(STRING, ONE, "jsonPath", 1, .flags = FIELD_F_REQUIRED, .doc = "A field to select by."),
};
static const struct schema schema_selectable =
    SCHEMA(EXT "SelectableField", selectable_fields, 0, "A field for field selectors.");

static const struct field version_fields[] = {
    F(OBJECT, LIST, "additionalPrinterColumns", 6, .of = &schema_column, .flags = FIELD_F_ATOMIC,
      .doc = "Columns of kubectl get."),
    F(BOOL, ONE, "deprecated", 7,
      .doc = "Whether clients of this version get a deprecation warning."),
    F(STRING, ONE, "deprecationWarning", 8, .flags = FIELD_F_OPT,
      .doc = "Text of the deprecation warning."),
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED, .doc = "v1, v1beta1, ..."),
    F(OBJECT, ONE, "schema", 4, .of = &schema_validation, .flags = FIELD_F_OPT,
      .doc = "Schema of the objects."),
    F(OBJECT, LIST, "selectableFields", 9, .of = &schema_selectable, .flags = FIELD_F_ATOMIC,
      .doc = "Fields that field selectors may name."),
    F(BOOL, ONE, "served", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Whether the version is served."),
    F(BOOL, ONE, "storage", 3, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Whether objects are stored in this version; true for exactly one."),
    F(OBJECT, ONE, "subresources", 5, .of = &schema_subresources, .flags = FIELD_F_OPT,
      .doc = "status and scale."),
};
static const struct schema schema_version =
    SCHEMA(EXT "CustomResourceDefinitionVersion", version_fields, 0, "A version of the kind.");

static const struct field names_fields[] = {
    F(STRING, LIST, "categories", 6, .flags = FIELD_F_ATOMIC, .doc = "Groups such as \"all\"."),
    F(STRING, ONE, "kind", 4, .flags = FIELD_F_REQUIRED, .doc = "Kind of the objects."),
    F(STRING, ONE, "listKind", 5, .doc = "Kind of their list."),
    F(STRING, ONE, "plural", 1, .flags = FIELD_F_REQUIRED,
      .doc = "Plural name, used in URL paths."),
    F(STRING, LIST, "shortNames", 3, .flags = FIELD_F_ATOMIC, .doc = "Short names."),
    F(STRING, ONE, "singular", 2, .doc = "Singular name."),
};
static const struct schema schema_names =
    SCHEMA(EXT "CustomResourceDefinitionNames", names_fields, 0, "Names of the kind.");

static const struct field accepted_fields[] = {
    F(STRING, LIST, "categories", 6, .flags = FIELD_F_ATOMIC, .doc = "Groups such as \"all\"."),
    F(STRING, ONE, "kind", 4, .doc = "Kind of the objects; empty until the names are accepted."),
    F(STRING, ONE, "listKind", 5, .doc = "Kind of their list."),
    F(STRING, ONE, "plural", 1, .doc = "Plural name, used in URL paths."),
    F(STRING, LIST, "shortNames", 3, .flags = FIELD_F_ATOMIC, .doc = "Short names."),
    F(STRING, ONE, "singular", 2, .doc = "Singular name."),
};
static const struct schema schema_accepted =
    SCHEMA(EXT "AcceptedNames", accepted_fields, 0, "Names that were accepted.");

static const struct field service_fields[] = {
    F(STRING, ONE, "name", 2, .flags = FIELD_F_REQUIRED, .doc = "Name of the service."),
    F(STRING, ONE, "namespace", 1, .flags = FIELD_F_REQUIRED, .doc = "Namespace of the Service."),
    F(STRING, ONE, "path", 3, .flags = FIELD_F_OPT, .doc = "Path of requests."),
    F(INT32, ONE, "port", 4, .flags = FIELD_F_OPT, .doc = "Port."),
};
static const struct schema schema_service_ref =
    SCHEMA(EXT "ServiceReference", service_fields, 0, "A service.");

static const struct field client_fields[] = {
    F(BYTES, ONE, "caBundle", 2, .doc = "Certificate authority of the webhook, PEM."),
    F(OBJECT, ONE, "service", 1, .of = &schema_service_ref, .flags = FIELD_F_OPT,
      .doc = "The webhook as a service."),
    F(STRING, ONE, "url", 3, .flags = FIELD_F_OPT, .doc = "The webhook as a URL."),
};
static const struct schema schema_client =
    SCHEMA(EXT "WebhookClientConfig", client_fields, 0, "How to reach the webhook.");

static const struct field webhook_fields[] = {
    F(OBJECT, ONE, "clientConfig", 2, .of = &schema_client, .flags = FIELD_F_OPT,
      .doc = "How to reach the webhook."),
    F(STRING, LIST, "conversionReviewVersions", 3, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC,
      .doc = "Versions of ConversionReview that it reads."),
};
static const struct schema schema_webhook =
    SCHEMA(EXT "WebhookConversion", webhook_fields, 0, "Conversion by a webhook.");

static const char *const strategies[] = {"None", "Webhook", NULL};
static const struct field conversion_fields[] = {
    F(STRING, ONE, "strategy", 1, .flags = FIELD_F_REQUIRED, .values = strategies,
      .doc = "None or Webhook."),
    F(OBJECT, ONE, "webhook", 2, .of = &schema_webhook, .flags = FIELD_F_OPT,
      .doc = "The webhook to call."),
};
static const struct schema schema_conversion =
    SCHEMA(EXT "CustomResourceConversion", conversion_fields, 0, "Between versions.");

static const char *const scopes[] = {"Cluster", "Namespaced", NULL};
static const struct field spec_fields[] = {
    F(OBJECT, ONE, "conversion", 9, .of = &schema_conversion, .flags = FIELD_F_OPT,
      .doc = "Between versions."),
    F(STRING, ONE, "group", 1, .flags = FIELD_F_REQUIRED, .doc = "Group of the API."),
    F(OBJECT, ONE, "names", 3, .of = &schema_names, .flags = FIELD_F_REQUIRED,
      .doc = "Names of the kind."),
    F(BOOL, ONE, "preserveUnknownFields", 10, .doc = "Only false is allowed."),
    F(STRING, ONE, "scope", 4, .flags = FIELD_F_REQUIRED, .values = scopes,
      .doc = "Cluster or Namespaced."),
    F(OBJECT, LIST, "versions", 7, .of = &schema_version,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .doc = "The versions of the kind."),
};
static const struct schema schema_spec =
    SCHEMA(EXT "CustomResourceDefinitionSpec", spec_fields, 0, "Desired state, set by the user.");

static const struct field condition_fields[] = {
    F(TIME, ONE, "lastTransitionTime", 3, .doc = "Time of the last change of status."),
    F(STRING, ONE, "message", 5, .doc = "Human-readable message."),
    F(INT64, ONE, "observedGeneration", 6,
      .doc = "Generation of the spec from which the condition was computed."),
    F(STRING, ONE, "reason", 4, .doc = "Machine-readable reason."),
    F(STRING, ONE, "status", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Status of the condition: True, False or Unknown."),
    F(STRING, ONE, "type", 1, .flags = FIELD_F_KEEP_EMPTY, .doc = "Type of the condition."),
};
static const struct schema schema_crd_condition =
    SCHEMA(EXT "CustomResourceDefinitionCondition", condition_fields, 0, "A condition.");

static const struct field status_fields[] = {
    F(OBJECT, ONE, "acceptedNames", 2, .of = &schema_accepted, .doc = "Names that are served."),
    F(OBJECT, LIST, "conditions", 1, .of = &schema_crd_condition, .list_keys = "type",
      .doc = "NamesAccepted, Established, Terminating, ..."),
    F(INT64, ONE, "observedGeneration", 4, .doc = "Generation that was last processed."),
    F(STRING, LIST, "storedVersions", 3, .flags = FIELD_F_ATOMIC,
      .doc = "Versions in which objects have been stored."),
};
static const struct schema schema_crd_status =
    SCHEMA(EXT "CustomResourceDefinitionStatus", status_fields, 0, "Observed state, set by "
                                                                   "controllers.");

static const struct field crd_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 1, .of = &schema_meta,
      .doc = "Standard object metadata."),
    F(OBJECT, ONE, "spec", 2, .of = &schema_spec, .flags = FIELD_F_REQUIRED,
      .doc = "Desired state, set by the user."),
    F(OBJECT, ONE, "status", 3, .of = &schema_crd_status,
      .doc = "Observed state, set by controllers."),
};
const struct schema schema_crd = SCHEMA(EXT "CustomResourceDefinition", crd_fields, 0,
                                        "A kind that is added to the API at run time.");

static const struct field opaque_fields[] = {
    F(STRING, ONE, "apiVersion", 0,
      .doc = "APIVersion defines the version of the API in which the object is written."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta, .doc = "Standard object's metadata."),
};
const struct schema schema_custom = SCHEMA("custom", opaque_fields, 0, NULL);
