/*
 * table_extension: the fields of CustomResourceDefinition. There is no C view: api/crd_kind reads the JSON.
 */
#include "api/tables/table.h"
#include "api/tables/view_meta.h"

#define EXT "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

static const char *const list_types[] = {"atomic", "set", "map", NULL};
static const char *const map_types[] = {"granular", "atomic", NULL};
static const char *const reasons[] = {"FieldValueInvalid", "FieldValueForbidden",
                                      "FieldValueRequired", "FieldValueDuplicate", NULL};

static const struct field rule_fields[] = {
    F(STRING, ONE, "rule", 0, .flags = FIELD_F_REQUIRED, .doc = "A CEL expression that must hold."),
    F(STRING, ONE, "message", 0, .doc = "What is told when it does not."),
    F(STRING, ONE, "messageExpression", 0, .doc = "A CEL expression that makes the message."),
    F(STRING, ONE, "reason", 0, .values = reasons, .doc = "Machine-readable reason."),
    F(STRING, ONE, "fieldPath", 0, .doc = "The field that is to blame, from here."),
    F(BOOL, ONE, "optionalOldSelf", 0, .flags = FIELD_F_OPT,
      .doc = "The rule is also asked when there is no old value."),
};
static const struct schema schema_rule =
    SCHEMA(EXT "ValidationRule", rule_fields, 0, "A rule written in CEL.");

static const struct field docs_fields[] = {
    F(STRING, ONE, "description", 0, .doc = "What is there."),
    F(STRING, ONE, "url", 0, .doc = "Where it is."),
};
static const struct schema schema_docs =
    SCHEMA(EXT "ExternalDocumentation", docs_fields, 0, "Documentation elsewhere.");

static const struct schema schema_props;
static const struct field props_fields[] = {
    F(STRING, ONE, "$ref", 0, .doc = "Not allowed."),
    F(STRING, ONE, "$schema", 0, .doc = "Not allowed."),
    F(ANY, ONE, "additionalItems", 0, .doc = "Not allowed."),
    F(ANY, ONE, "additionalProperties", 0, .doc = "Schema of members that have no own, or true."),
    F(OBJECT, LIST, "allOf", 0, .of = &schema_props, .doc = "All of these hold."),
    F(OBJECT, LIST, "anyOf", 0, .of = &schema_props, .doc = "At least one of these holds."),
    F(ANY, ONE, "default", 0, .doc = "Value of the field when it is absent."),
    F(OBJECT, MAP, "definitions", 0, .of = &schema_props, .doc = "Not allowed."),
    F(ANY, ONE, "dependencies", 0, .doc = "Not allowed."),
    F(STRING, ONE, "description", 0, .doc = "What the field is for."),
    F(ANY, LIST, "enum", 0, .doc = "Allowed values."),
    F(ANY, ONE, "example", 0, .doc = "An example."),
    F(BOOL, ONE, "exclusiveMaximum", 0, .doc = "The maximum itself is not allowed."),
    F(BOOL, ONE, "exclusiveMinimum", 0, .doc = "The minimum itself is not allowed."),
    F(OBJECT, ONE, "externalDocs", 0, .of = &schema_docs, .doc = "More to read."),
    F(STRING, ONE, "format", 0, .doc = "Format of a string or number."),
    F(STRING, ONE, "id", 0, .doc = "Not used."),
    F(OBJECT, ONE, "items", 0, .of = &schema_props, .doc = "Schema of a list's elements."),
    F(INT64, ONE, "maxItems", 0, .flags = FIELD_F_OPT, .doc = "Most elements."),
    F(INT64, ONE, "maxLength", 0, .flags = FIELD_F_OPT, .doc = "Most characters."),
    F(INT64, ONE, "maxProperties", 0, .flags = FIELD_F_OPT, .doc = "Most members."),
    F(DOUBLE, ONE, "maximum", 0, .flags = FIELD_F_OPT, .doc = "Largest value."),
    F(INT64, ONE, "minItems", 0, .flags = FIELD_F_OPT, .doc = "Fewest elements."),
    F(INT64, ONE, "minLength", 0, .flags = FIELD_F_OPT, .doc = "Fewest characters."),
    F(INT64, ONE, "minProperties", 0, .flags = FIELD_F_OPT, .doc = "Fewest members."),
    F(DOUBLE, ONE, "minimum", 0, .flags = FIELD_F_OPT, .doc = "Smallest value."),
    F(DOUBLE, ONE, "multipleOf", 0, .flags = FIELD_F_OPT, .doc = "The value is a multiple of it."),
    F(OBJECT, ONE, "not", 0, .of = &schema_props, .doc = "This does not hold."),
    F(BOOL, ONE, "nullable", 0, .doc = "null is a value."),
    F(OBJECT, LIST, "oneOf", 0, .of = &schema_props, .doc = "Exactly one of these holds."),
    F(STRING, ONE, "pattern", 0, .doc = "Regular expression of a string."),
    F(OBJECT, MAP, "patternProperties", 0, .of = &schema_props, .doc = "Not allowed."),
    F(OBJECT, MAP, "properties", 0, .of = &schema_props, .doc = "Schemas of members."),
    F(STRING, LIST, "required", 0, .doc = "Members that must be there."),
    F(STRING, ONE, "title", 0, .doc = "Title."),
    F(STRING, ONE, "type", 0, .doc = "object, array, string, integer, number or boolean."),
    F(BOOL, ONE, "uniqueItems", 0, .doc = "Only false is allowed."),
    F(BOOL, ONE, "x-kubernetes-embedded-resource", 0, .doc = "The value is an API object."),
    F(BOOL, ONE, "x-kubernetes-int-or-string", 0, .doc = "An integer or a string."),
    F(STRING, LIST, "x-kubernetes-list-map-keys", 0, .doc = "Members that name an element."),
    F(STRING, ONE, "x-kubernetes-list-type", 0, .values = list_types,
      .doc = "How the list is merged: atomic, set or map."),
    F(STRING, ONE, "x-kubernetes-map-type", 0, .values = map_types,
      .doc = "How the map is merged: granular or atomic."),
    F(BOOL, ONE, "x-kubernetes-preserve-unknown-fields", 0, .flags = FIELD_F_OPT,
      .doc = "Members without a schema are kept."),
    F(OBJECT, LIST, "x-kubernetes-validations", 0, .of = &schema_rule,
      .doc = "Rules that values must satisfy."),
};
static const struct schema schema_props =
    SCHEMA(EXT "JSONSchemaProps", props_fields, 0, "A structural schema.");

static const struct field validation_fields[] = {
    F(OBJECT, ONE, "openAPIV3Schema", 0, .of = &schema_props, .doc = "Schema of the objects."),
};
static const struct schema schema_validation =
    SCHEMA(EXT "CustomResourceValidation", validation_fields, 0, "How objects are validated.");

static const struct field scale_fields[] = {
    F(STRING, ONE, "labelSelectorPath", 0, .doc = "Where the selector of the pods is."),
    F(STRING, ONE, "specReplicasPath", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Where the wanted number of replicas is."),
    F(STRING, ONE, "statusReplicasPath", 0, .flags = FIELD_F_REQUIRED,
      .doc = "Where the actual number of replicas is."),
};
static const struct schema schema_scale =
    SCHEMA(EXT "CustomResourceSubresourceScale", scale_fields, 0, "The scale subresource.");

static const struct schema schema_sub_status = {.name = EXT "CustomResourceSubresourceStatus",
                                                .doc = "The status subresource."};

static const struct field subresources_fields[] = {
    F(OBJECT, ONE, "scale", 0, .of = &schema_scale, .doc = "kubectl scale works."),
    F(OBJECT, ONE, "status", 0, .of = &schema_sub_status, .doc = "The status is written apart."),
};
static const struct schema schema_subresources =
    SCHEMA(EXT "CustomResourceSubresources", subresources_fields, 0, "Subresources.");

static const struct field column_fields[] = {
    F(STRING, ONE, "description", 0, .doc = "What is shown."),
    F(STRING, ONE, "format", 0, .doc = "Format of the type."),
    F(STRING, ONE, "jsonPath", 0, .flags = FIELD_F_REQUIRED, .doc = "Where the value is."),
    F(STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED, .doc = "Heading."),
    F(INT32, ONE, "priority", 0, .doc = "Above 0: with -o wide only."),
    F(STRING, ONE, "type", 0, .flags = FIELD_F_REQUIRED, .doc = "Type of the value."),
};
static const struct schema schema_column =
    SCHEMA(EXT "CustomResourceColumnDefinition", column_fields, 0, "A column of kubectl get.");

static const struct field selectable_fields[] = {
    F(STRING, ONE, "jsonPath", 0, .flags = FIELD_F_REQUIRED, .doc = "A field to select by."),
};
static const struct schema schema_selectable =
    SCHEMA(EXT "SelectableField", selectable_fields, 0, "A field for field selectors.");

static const struct field version_fields[] = {
    F(OBJECT, LIST, "additionalPrinterColumns", 0, .of = &schema_column, .flags = FIELD_F_ATOMIC,
      .doc = "Columns of kubectl get."),
    F(BOOL, ONE, "deprecated", 0, .doc = "Clients that use it are warned."),
    F(STRING, ONE, "deprecationWarning", 0, .flags = FIELD_F_OPT, .doc = "How they are warned."),
    F(STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED, .doc = "v1, v1beta1, ..."),
    F(OBJECT, ONE, "schema", 0, .of = &schema_validation, .doc = "How objects look."),
    F(OBJECT, LIST, "selectableFields", 0, .of = &schema_selectable, .flags = FIELD_F_ATOMIC,
      .doc = "Fields that field selectors may name."),
    F(BOOL, ONE, "served", 0, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Whether it is served."),
    F(BOOL, ONE, "storage", 0, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Whether objects are stored in it: one is."),
    F(OBJECT, ONE, "subresources", 0, .of = &schema_subresources, .doc = "status and scale."),
};
static const struct schema schema_version =
    SCHEMA(EXT "CustomResourceDefinitionVersion", version_fields, 0, "One version of the kind.");

static const struct field names_fields[] = {
    F(STRING, LIST, "categories", 0, .flags = FIELD_F_ATOMIC, .doc = "Groups such as \"all\"."),
    F(STRING, ONE, "kind", 0, .flags = FIELD_F_REQUIRED, .doc = "Kind of the objects."),
    F(STRING, ONE, "listKind", 0, .doc = "Kind of their list."),
    F(STRING, ONE, "plural", 0, .flags = FIELD_F_REQUIRED, .doc = "Name in paths."),
    F(STRING, LIST, "shortNames", 0, .flags = FIELD_F_ATOMIC, .doc = "Short names."),
    F(STRING, ONE, "singular", 0, .doc = "Name of one."),
};
static const struct schema schema_names =
    SCHEMA(EXT "CustomResourceDefinitionNames", names_fields, 0, "What it is called.");

static const struct field accepted_fields[] = {
    F(STRING, LIST, "categories", 0, .flags = FIELD_F_ATOMIC, .doc = "Groups such as \"all\"."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the objects; empty: not accepted yet."),
    F(STRING, ONE, "listKind", 0, .doc = "Kind of their list."),
    F(STRING, ONE, "plural", 0, .doc = "Name in paths."),
    F(STRING, LIST, "shortNames", 0, .flags = FIELD_F_ATOMIC, .doc = "Short names."),
    F(STRING, ONE, "singular", 0, .doc = "Name of one."),
};
static const struct schema schema_accepted =
    SCHEMA(EXT "AcceptedNames", accepted_fields, 0, "What it is called by now.");

static const struct field service_fields[] = {
    F(STRING, ONE, "name", 0, .flags = FIELD_F_REQUIRED, .doc = "Name of the service."),
    F(STRING, ONE, "namespace", 0, .flags = FIELD_F_REQUIRED, .doc = "Its namespace."),
    F(STRING, ONE, "path", 0, .flags = FIELD_F_OPT, .doc = "Path of requests."),
    F(INT32, ONE, "port", 0, .flags = FIELD_F_OPT, .doc = "Port."),
};
static const struct schema schema_service_ref =
    SCHEMA(EXT "ServiceReference", service_fields, 0, "A service.");

static const struct field client_fields[] = {
    F(BYTES, ONE, "caBundle", 0, .doc = "Certificate authority of the webhook, PEM."),
    F(OBJECT, ONE, "service", 0, .of = &schema_service_ref, .doc = "The webhook as a service."),
    F(STRING, ONE, "url", 0, .flags = FIELD_F_OPT, .doc = "The webhook as a URL."),
};
static const struct schema schema_client =
    SCHEMA(EXT "WebhookClientConfig", client_fields, 0, "How a webhook is reached.");

static const struct field webhook_fields[] = {
    F(OBJECT, ONE, "clientConfig", 0, .of = &schema_client, .doc = "How it is reached."),
    F(STRING, LIST, "conversionReviewVersions", 0, .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC,
      .doc = "Versions of ConversionReview that it reads."),
};
static const struct schema schema_webhook =
    SCHEMA(EXT "WebhookConversion", webhook_fields, 0, "Conversion by a webhook.");

static const char *const strategies[] = {"None", "Webhook", NULL};
static const struct field conversion_fields[] = {
    F(STRING, ONE, "strategy", 0, .flags = FIELD_F_REQUIRED, .values = strategies,
      .doc = "None or Webhook."),
    F(OBJECT, ONE, "webhook", 0, .of = &schema_webhook, .doc = "The webhook to call."),
};
static const struct schema schema_conversion =
    SCHEMA(EXT "CustomResourceConversion", conversion_fields, 0, "Between versions.");

static const char *const scopes[] = {"Cluster", "Namespaced", NULL};
static const struct field spec_fields[] = {
    F(OBJECT, ONE, "conversion", 0, .of = &schema_conversion, .doc = "Between versions."),
    F(STRING, ONE, "group", 0, .flags = FIELD_F_REQUIRED, .doc = "Group of the API."),
    F(OBJECT, ONE, "names", 0, .of = &schema_names, .flags = FIELD_F_REQUIRED,
      .doc = "What it is called."),
    F(BOOL, ONE, "preserveUnknownFields", 0, .doc = "Only false is allowed."),
    F(STRING, ONE, "scope", 0, .flags = FIELD_F_REQUIRED, .values = scopes,
      .doc = "Cluster or Namespaced."),
    F(OBJECT, LIST, "versions", 0, .of = &schema_version,
      .flags = FIELD_F_REQUIRED | FIELD_F_ATOMIC, .doc = "The versions of the kind."),
};
static const struct schema schema_spec =
    SCHEMA(EXT "CustomResourceDefinitionSpec", spec_fields, 0, "What is wanted.");

static const struct field condition_fields[] = {
    F(TIME, ONE, "lastTransitionTime", 0, .doc = "When the status last changed."),
    F(STRING, ONE, "message", 0, .doc = "For people."),
    F(INT64, ONE, "observedGeneration", 0, .doc = "The generation it is about."),
    F(STRING, ONE, "reason", 0, .doc = "For programs."),
    F(STRING, ONE, "status", 0, .flags = FIELD_F_REQUIRED, .doc = "True, False or Unknown."),
    F(STRING, ONE, "type", 0, .flags = FIELD_F_REQUIRED, .doc = "What it is about."),
};
static const struct schema schema_crd_condition =
    SCHEMA(EXT "CustomResourceDefinitionCondition", condition_fields, 0, "A condition.");

static const struct field status_fields[] = {
    F(OBJECT, ONE, "acceptedNames", 0, .of = &schema_accepted, .doc = "Names that are served."),
    F(OBJECT, LIST, "conditions", 0, .of = &schema_crd_condition, .list_keys = "type",
      .doc = "NamesAccepted, Established, Terminating, ..."),
    F(INT64, ONE, "observedGeneration", 0, .doc = "The generation that was looked at."),
    F(STRING, LIST, "storedVersions", 0, .flags = FIELD_F_ATOMIC,
      .doc = "Versions that objects were ever stored in."),
};
static const struct schema schema_crd_status =
    SCHEMA(EXT "CustomResourceDefinitionStatus", status_fields, 0, "What is.");

static const struct field crd_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API that this is written for."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name, labels and the other things that every object has."),
    F(OBJECT, ONE, "spec", 0, .of = &schema_spec, .flags = FIELD_F_REQUIRED,
      .doc = "What is wanted."),
    F(OBJECT, ONE, "status", 0, .of = &schema_crd_status, .doc = "What is."),
};
const struct schema schema_crd = SCHEMA(EXT "CustomResourceDefinition", crd_fields, 0,
                                        "A kind that the API learns while it runs.");

static const struct field opaque_fields[] = {
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API that this is written for."),
    F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),
    F(OBJECT, ONE, "metadata", 0, .of = &schema_meta,
      .doc = "Name, labels and the other things that every object has."),
};
const struct schema schema_custom = SCHEMA("custom", opaque_fields, 0, NULL);
