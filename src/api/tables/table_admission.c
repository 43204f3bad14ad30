/*
 * table_admission: the fields of the webhook configurations. There is no C view: server/hooks reads the JSON.
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
      .doc = "The Service that is asked. Either this or url."),
    F(BYTES, ONE, "caBundle", 2, .doc = "PEM of the authorities that its certificate may be of."),
    F(STRING, ONE, "url", 3, .flags = FIELD_F_OPT, .doc = "Where it is, https:// alone."),
};
static const struct schema schema_client =
    SCHEMA(REG "WebhookClientConfig", client_fields, 0, NULL);

static const struct field rule_fields[] = {
    F(STRING, LIST, "operations", 1, .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,
      .values = operations, .doc = "What is done to the object; * means all."),
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
          "CEL over object, oldObject, request and authorizer; the webhook is asked if it holds."),
};
static const struct schema schema_match_condition =
    SCHEMA(REG "MatchCondition", condition_fields, 0, NULL);

/* What both have; the tags differ from the tenth on. */
#define HOOK_FIELDS                                                                                \
    F(STRING, ONE, "name", 1, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,                      \
      .doc = "Name, with a domain."),                                                              \
        F(OBJECT, ONE, "clientConfig", 2, .of = &schema_client,                                    \
          .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY, .doc = "Who is asked."),                 \
        F(OBJECT, LIST, "rules", 3, .of = &schema_rule, .flags = FIELD_F_ATOMIC,                   \
          .doc = "What it is asked about."),                                                       \
        F(STRING, ONE, "failurePolicy", 4, .flags = FIELD_F_OPT, .def = "\"Fail\"",                \
          .values = policies, .doc = "What happens when it does not answer."),                     \
        F(OBJECT, ONE, "namespaceSelector", 5, .of = &schema_label_selector, .flags = FIELD_F_OPT, \
          .def = "{}", .doc = "It is asked about objects in such namespaces."),                    \
        F(STRING, ONE, "sideEffects", 6, .flags = FIELD_F_OPT | FIELD_F_REQUIRED,                  \
          .values = effects, .doc = "Whether asking it changes something."),                       \
        F(INT32, ONE, "timeoutSeconds", 7, .flags = FIELD_F_OPT, .def = "10", .min = 1, .max = 30, \
          .doc = "How long it may take."),                                                         \
        F(STRING, LIST, "admissionReviewVersions", 8, .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,  \
          .doc = "Versions of AdmissionReview that it understands."),                              \
        F(STRING, ONE, "matchPolicy", 9, .flags = FIELD_F_OPT, .def = "\"Equivalent\"",            \
          .values = matches, .doc = "Whether rules mean other versions of the same, too.")
#define CONDITIONS(tag_)                                                                           \
    F(OBJECT, LIST, "matchConditions", tag_, .of = &schema_match_condition,                        \
      .flags = FIELD_F_MERGE, .merge_key = "name", .list_keys = "name", .max = 64,                 \
      .doc = "All of them must hold for it to be asked.")
#define OBJECTS(tag_)                                                                              \
    F(OBJECT, ONE, "objectSelector", tag_, .of = &schema_label_selector, .flags = FIELD_F_OPT,     \
      .def = "{}", .doc = "It is asked about such objects.")

static const struct field mutating_fields[] = {
    HOOK_FIELDS,
    F(STRING, ONE, "reinvocationPolicy", 10, .flags = FIELD_F_OPT, .def = "\"Never\"",
      .values = reinvocations, .doc = "Whether it is asked again when others changed the object."),
    OBJECTS(11),
    CONDITIONS(12),
};
static const struct schema schema_mutating =
    SCHEMA(REG "MutatingWebhook", mutating_fields, 0, NULL);

static const struct field validating_fields[] = {HOOK_FIELDS, OBJECTS(10), CONDITIONS(11)};
static const struct schema schema_validating =
    SCHEMA(REG "ValidatingWebhook", validating_fields, 0, NULL);

#define CONFIGURATION(of_)                                                                         \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API that this is written for."),        \
        F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),                                   \
        F(OBJECT, ONE, "metadata", 1, .of = &schema_meta,                                          \
          .doc = "Name, labels and the other things that every object has."),                      \
        F(OBJECT, LIST, "webhooks", 2, .of = of_, .flags = FIELD_F_MERGE, .merge_key = "name",     \
          .list_keys = "name", .doc = "The webhooks, in the order of asking.")

static const struct field mutating_configuration_fields[] = {CONFIGURATION(&schema_mutating)};
const struct schema schema_mutating_configuration =
    SCHEMA(REG "MutatingWebhookConfiguration", mutating_configuration_fields, 0,
           "Who may change objects before they are stored.");

static const struct field validating_configuration_fields[] = {CONFIGURATION(&schema_validating)};
const struct schema schema_validating_configuration =
    SCHEMA(REG "ValidatingWebhookConfiguration", validating_configuration_fields, 0,
           "Who may refuse objects before they are stored.");
