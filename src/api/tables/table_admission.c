/*
 * table_admission: the fields of the webhook configurations. There is no C view: server/write/hooks reads the JSON.
 */
#include "api/tables/table.h"
#include "api/tables/view_meta.h"

#define REG "io.k8s.api.admissionregistration.v1."

static const char *const policies[] = {"Fail", "Ignore", NULL};
static const char *const matches[] = {"Exact", "Equivalent", NULL};
static const char *const reinvocations[] = {"Never", "IfNeeded", NULL};
static const char *const effects[] = {"None", "NoneOnDryRun", NULL};
static const char *const scopes[] = {"*", "Cluster", "Namespaced", NULL};
static const char *const operations[] = {"*", "CREATE", "UPDATE", "DELETE", "CONNECT", NULL};

static const struct field service_fields[] = {
    F(STRING, ONE, "namespace", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Namespace of the Service."),
    F(STRING, ONE, "name", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the Service."),
    F(STRING, ONE, "path", 3, .flags = FIELD_F_OPT, .doc = "Path of the URL."),
    F(INT32, ONE, "port", 4, .flags = FIELD_F_OPT, .def = "443", .min = 1, .max = 65535,
      .doc = "Port of the Service."),
};
static const struct schema schema_service_reference =
    SCHEMA(REG "ServiceReference", service_fields, 0, NULL);

static const struct field client_fields[] = {
    F(OBJECT, ONE, "service", 1, .of = &schema_service_reference, .flags = FIELD_F_OPT,
      .doc = "Service of the webhook. Set either this or url."),
    F(BYTES, ONE, "caBundle", 2,
      .doc = "PEM bundle of certificate authorities that are trusted for the webhook."),
    F(STRING, ONE, "url", 3, .flags = FIELD_F_OPT, .doc = "URL of the webhook; https only."),
};
static const struct schema schema_client =
    SCHEMA(REG "WebhookClientConfig", client_fields, 0, NULL);

static const struct field rule_fields[] = {
    F(STRING, LIST, "operations", 1, .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,
      .values = operations, .doc = "Operations, such as CREATE; * means all."),
    F(STRING, LIST, "apiGroups", 1, .proto_in = 2, .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,
      .doc = "API groups; \"\" is the core group, * means all."),
    F(STRING, LIST, "apiVersions", 2, .proto_in = 2, .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,
      .doc = "Versions; * means all."),
    F(STRING, LIST, "resources", 3, .proto_in = 2, .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,
      .doc = "Resources and, after a slash, subresources; * means all."),
    F(STRING, ONE, "scope", 4, .proto_in = 2, .flags = FIELD_F_OPT, .def = "\"*\"",
      .values = scopes, .doc = "Cluster, Namespaced or *."),
};
static const struct schema schema_rule = SCHEMA(REG "RuleWithOperations", rule_fields, 0, NULL);

static const struct field condition_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc = "Name of the condition."),
    F(STRING, ONE, "expression", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .doc =
          "CEL expression over object, oldObject, request and authorizer; the webhook is called if "
          "it is true."),
};
static const struct schema schema_match_condition =
    SCHEMA(REG "MatchCondition", condition_fields, 0, NULL);

/* What both have; the tags differ from the tenth on. */
#define HOOK_FIELDS                                                                                \
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,                      \
      .doc = "Fully qualified name of the webhook."),                                              \
        F(OBJECT, ONE, "clientConfig", 2, .of = &schema_client,                                    \
          .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "How to reach the webhook."),     \
        F(OBJECT, LIST, "rules", 3, .of = &schema_rule, .flags = FIELD_F_ATOMIC,                   \
          .doc = "Operations and resources for which the webhook is called."),                     \
        F(STRING, ONE, "failurePolicy", 4, .flags = FIELD_F_OPT, .def = "\"Fail\"",                \
          .values = policies,                                                                      \
          .doc = "Whether a request passes when the webhook fails: Ignore or Fail."),              \
        F(OBJECT, ONE, "namespaceSelector", 5, .of = &schema_label_selector, .flags = FIELD_F_OPT, \
          .def = "{}", .doc = "Only objects in matching namespaces are sent to the webhook."),     \
        F(STRING, ONE, "sideEffects", 6, .flags = FIELD_F_OPT | FIELD_F_REQUIRED,                  \
          .values = effects, .doc = "Whether a call has side effects."),                           \
        F(INT32, ONE, "timeoutSeconds", 7, .flags = FIELD_F_OPT, .def = "10", .min = 1, .max = 30, \
          .doc = "Timeout in seconds."),                                                           \
        F(STRING, LIST, "admissionReviewVersions", 8, .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,  \
          .doc = "Versions of AdmissionReview that the webhook understands."),                     \
        F(STRING, ONE, "matchPolicy", 9, .flags = FIELD_F_OPT, .def = "\"Equivalent\"",            \
          .values = matches,                                                                       \
          .doc = "Whether equivalent versions of a resource match, too: Equivalent or Exact.")
#define CONDITIONS(tag_)                                                                           \
    F(OBJECT, LIST, "matchConditions", tag_, .of = &schema_match_condition,                        \
      .flags = FIELD_F_MERGE, .merge_key = "name", .list_keys = "name", .max = 64,                 \
      .doc = "Conditions that must all be true for the webhook to be called.")
#define OBJECTS(tag_)                                                                              \
    F(OBJECT, ONE, "objectSelector", tag_, .of = &schema_label_selector, .flags = FIELD_F_OPT,     \
      .def = "{}", .doc = "Only matching objects are sent to the webhook.")

static const struct field mutating_fields[] = {
    HOOK_FIELDS,
    F(STRING, ONE, "reinvocationPolicy", 10, .flags = FIELD_F_OPT, .def = "\"Never\"",
      .values = reinvocations,
      .doc = "Whether the webhook is called again after another one changed the object."),
    OBJECTS(11),
    CONDITIONS(12),
};
static const struct schema schema_mutating =
    SCHEMA(REG "MutatingWebhook", mutating_fields, 0, NULL);

static const struct field validating_fields[] = {HOOK_FIELDS, OBJECTS(10), CONDITIONS(11)};
static const struct schema schema_validating =
    SCHEMA(REG "ValidatingWebhook", validating_fields, 0, NULL);

#define CONFIGURATION(of_)                                                                         \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),  \
        F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),                                   \
        F(OBJECT, ONE, "metadata", 1, .of = &schema_meta,                                          \
          .doc = "Standard object metadata."),                                                     \
        F(OBJECT, LIST, "webhooks", 2, .of = of_, .flags = FIELD_F_MERGE, .merge_key = "name",     \
          .list_keys = "name", .doc = "Webhooks, in the order of calling.")

static const struct field mutating_configuration_fields[] = {CONFIGURATION(&schema_mutating)};
const struct schema schema_mutating_configuration =
    SCHEMA(REG "MutatingWebhookConfiguration", mutating_configuration_fields, 0,
           "Webhooks that can change objects before they are stored.");

static const struct field validating_configuration_fields[] = {CONFIGURATION(&schema_validating)};
const struct schema schema_validating_configuration =
    SCHEMA(REG "ValidatingWebhookConfiguration", validating_configuration_fields, 0,
           "Webhooks that can reject objects before they are stored.");
