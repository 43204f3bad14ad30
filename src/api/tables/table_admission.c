/*
 * table_admission: the fields of the webhook configurations and of the admission policies with their bindings. There is
 * no C view: server/write/hooks and server/policies read the JSON.
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
          "CEL expression over object, oldObject, request and authorizer; the webhook or "
          "policy is asked if it is true."),
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
      .doc = "Conditions that must all be true for the webhook or policy to be asked.")
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

/* ---- policies ---- */

static const char *const reasons[] = {"Forbidden", "Invalid", "RequestEntityTooLarge", NULL};
static const char *const actions[] = {"Audit", "Deny", "Warn", NULL};
static const char *const missing[] = {"Deny", "Allow", NULL};
static const char *const patches[] = {"ApplyConfiguration", "JSONPatch", NULL};

static const struct field named_rule_fields[] = {
    F(STRING, LIST, "resourceNames", 1, .flags = FIELD_F_ATOMIC,
      .doc = "Names to which the rule is limited; none means all."),
    F(STRING, LIST, "operations", 1, .proto_in = 2, .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,
      .values = operations, .doc = "Operations, such as CREATE; * means all."),
    F(STRING, LIST, "apiGroups", 1, .proto_in = 2 << 4 | 2,
      .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,
      .doc = "API groups; \"\" is the core group, * means all."),
    F(STRING, LIST, "apiVersions", 2, .proto_in = 2 << 4 | 2,
      .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED, .doc = "Versions; * means all."),
    F(STRING, LIST, "resources", 3, .proto_in = 2 << 4 | 2,
      .flags = FIELD_F_ATOMIC | FIELD_F_REQUIRED,
      .doc = "Resources and, after a slash, subresources; * means all."),
    F(STRING, ONE, "scope", 4, .proto_in = 2 << 4 | 2, .flags = FIELD_F_OPT, .def = "\"*\"",
      .values = scopes, .doc = "Cluster, Namespaced or *."),
};
static const struct schema schema_named_rule =
    ATOMIC_SCHEMA(REG "NamedRuleWithOperations", named_rule_fields, 0, NULL);

static const struct field match_fields[] = {
    F(OBJECT, ONE, "namespaceSelector", 1, .of = &schema_label_selector, .flags = FIELD_F_OPT,
      .def = "{}", .doc = "Only objects in matching namespaces are looked at."),
    F(OBJECT, ONE, "objectSelector", 2, .of = &schema_label_selector, .flags = FIELD_F_OPT,
      .def = "{}",
      .doc = "Only objects that match, as they are or as they were before, are looked at."),
    F(OBJECT, LIST, "resourceRules", 3, .of = &schema_named_rule, .flags = FIELD_F_ATOMIC,
      .doc = "Operations and resources that are looked at; one of these must match."),
    F(OBJECT, LIST, "excludeResourceRules", 4, .of = &schema_named_rule, .flags = FIELD_F_ATOMIC,
      .doc = "Operations and resources that are not looked at, whatever resourceRules says."),
    F(STRING, ONE, "matchPolicy", 7, .flags = FIELD_F_OPT, .def = "\"Equivalent\"",
      .values = matches,
      .doc = "Whether equivalent versions of a resource match, too: Equivalent or Exact."),
};
static const struct schema schema_match_resources =
    ATOMIC_SCHEMA(REG "MatchResources", match_fields, 0, NULL);

static const struct field param_kind_fields[] = {
    F(STRING, ONE, "apiVersion", 1, .doc = "Group and version of the kind."),
    F(STRING, ONE, "kind", 2, .doc = "Kind of the parameters."),
};
static const struct schema schema_param_kind =
    ATOMIC_SCHEMA(REG "ParamKind", param_kind_fields, 0, NULL);

static const struct field param_ref_fields[] = {
    F(STRING, ONE, "name", 1, .doc = "Name of the one parameter object; or else a selector."),
    F(STRING, ONE, "namespace", 2,
      .doc = "Namespace of the parameters; empty: that of the object that is looked at."),
    F(OBJECT, ONE, "selector", 3, .of = &schema_label_selector, .flags = FIELD_F_OPT,
      .doc = "Labels of the parameter objects, each of which is used."),
    F(STRING, ONE, "parameterNotFoundAction", 4, .flags = FIELD_F_OPT | FIELD_F_REQUIRED,
      .values = missing, .doc = "What follows when there is no parameter object: Allow or Deny."),
};
static const struct schema schema_param_ref =
    ATOMIC_SCHEMA(REG "ParamRef", param_ref_fields, 0, NULL);

static const struct field variable_fields[] = {
    F(STRING, ONE, "name", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Name of the variable, read as variables.NAME."),
    F(STRING, ONE, "expression", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "CEL expression, evaluated when the variable is first read."),
};
static const struct schema schema_variable =
    ATOMIC_SCHEMA(REG "Variable", variable_fields, 0, NULL);

static const struct field validation_fields[] = {
    F(STRING, ONE, "expression", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "CEL expression; the request is in order if it is true."),
    F(STRING, ONE, "message", 2, .doc = "Message if it is not true."),
    F(STRING, ONE, "reason", 3, .flags = FIELD_F_OPT, .values = reasons,
      .doc = "Machine-readable reason of a refusal."),
    F(STRING, ONE, "messageExpression", 4,
      .doc = "CEL expression that makes the message; comes before message."),
};
static const struct schema schema_validation =
    ATOMIC_SCHEMA(REG "Validation", validation_fields, 0, NULL);

static const struct field audit_fields[] = {
    F(STRING, ONE, "key", 1, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "Key of the annotation, behind the policy's name and a slash."),
    F(STRING, ONE, "valueExpression", 2, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "CEL expression: the value of the annotation; null or empty: none."),
};
static const struct schema schema_audit_annotation =
    SCHEMA(REG "AuditAnnotation", audit_fields, 0, NULL);

static const struct field warning_fields[] = {
    F(STRING, ONE, "fieldRef", 2, .flags = FIELD_F_REQUIRED, .doc = "Path of the expression."),
    F(STRING, ONE, "warning", 3, .flags = FIELD_F_REQUIRED,
      .doc = "What is wrong with it, and for which kind."),
};
static const struct schema schema_expression_warning =
    SCHEMA(REG "ExpressionWarning", warning_fields, 0, NULL);
static const struct field checking_fields[] = {
    F(OBJECT, LIST, "expressionWarnings", 1, .of = &schema_expression_warning,
      .flags = FIELD_F_ATOMIC, .doc = "Faults that were found in the types of expressions."),
};
static const struct schema schema_type_checking =
    SCHEMA(REG "TypeChecking", checking_fields, 0, NULL);

static const struct field validating_status_fields[] = {
    F(INT64, ONE, "observedGeneration", 1, .doc = "Generation that was looked at."),
    F(OBJECT, ONE, "typeChecking", 2, .of = &schema_type_checking, .flags = FIELD_F_OPT,
      .doc = "Result of type checking; present once it is done."),
    F(OBJECT, LIST, "conditions", 3, .of = &schema_condition, .list_keys = "type",
      .doc = "Conditions of the policy."),
};
static const struct schema schema_validating_status =
    SCHEMA(REG "ValidatingAdmissionPolicyStatus", validating_status_fields, 0, NULL);

/* What both kinds of policies have; the tags differ. */
#define PARAM_KIND(tag_)                                                                           \
    F(OBJECT, ONE, "paramKind", tag_, .of = &schema_param_kind, .flags = FIELD_F_OPT,              \
      .doc = "Kind of the objects that parametrize the policy.")
#define CONSTRAINTS(tag_)                                                                          \
    F(OBJECT, ONE, "matchConstraints", tag_, .of = &schema_match_resources, .flags = FIELD_F_OPT,  \
      .doc = "Requests that the policy looks at.")
#define FAILURE(tag_)                                                                              \
    F(STRING, ONE, "failurePolicy", tag_, .flags = FIELD_F_OPT, .def = "\"Fail\"",                 \
      .values = policies, .doc = "What follows from an error of the policy: Fail or Ignore.")
#define VARIABLES(tag_)                                                                            \
    F(OBJECT, LIST, "variables", tag_, .of = &schema_variable, .flags = FIELD_F_MERGE,             \
      .merge_key = "name", .list_keys = "name",                                                    \
      .doc = "Expressions with names, for use in the others.")

static const struct field validating_spec_fields[] = {
    PARAM_KIND(1),
    CONSTRAINTS(2),
    F(OBJECT, LIST, "validations", 3, .of = &schema_validation, .flags = FIELD_F_ATOMIC,
      .doc = "Expressions that must be true."),
    FAILURE(4),
    F(OBJECT, LIST, "auditAnnotations", 5, .of = &schema_audit_annotation, .flags = FIELD_F_ATOMIC,
      .doc = "What the audit log notes of requests."),
    CONDITIONS(6),
    VARIABLES(7),
};
static const struct schema schema_validating_spec =
    SCHEMA(REG "ValidatingAdmissionPolicySpec", validating_spec_fields, 0, NULL);

static const struct field validating_binding_spec_fields[] = {
    F(STRING, ONE, "policyName", 1, .doc = "Name of the policy."),
    F(OBJECT, ONE, "paramRef", 2, .of = &schema_param_ref, .flags = FIELD_F_OPT,
      .doc = "Parameters of the policy."),
    F(OBJECT, ONE, "matchResources", 3, .of = &schema_match_resources, .flags = FIELD_F_OPT,
      .doc = "Requests, of those that the policy looks at, for which it is bound."),
    F(STRING, LIST, "validationActions", 4, .flags = FIELD_F_SET, .values = actions,
      .doc = "What follows from a validation that is not true: Deny, Warn, Audit."),
};
static const struct schema schema_validating_binding_spec =
    SCHEMA(REG "ValidatingAdmissionPolicyBindingSpec", validating_binding_spec_fields, 0, NULL);

static const struct field expression_fields[] = {
    F(STRING, ONE, "expression", 1, .doc = "CEL expression that makes the change."),
};
static const struct schema schema_apply_configuration =
    SCHEMA(REG "ApplyConfiguration", expression_fields, 0, NULL);
static const struct schema schema_json_patch = SCHEMA(REG "JSONPatch", expression_fields, 0, NULL);

static const struct field mutation_fields[] = {
    F(STRING, ONE, "patchType", 2, .flags = FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY,
      .values = patches, .doc = "ApplyConfiguration or JSONPatch."),
    F(OBJECT, ONE, "applyConfiguration", 3, .of = &schema_apply_configuration,
      .flags = FIELD_F_OPT, .doc = "An Object{...} that is merged as by server-side apply."),
    F(OBJECT, ONE, "jsonPatch", 4, .of = &schema_json_patch, .flags = FIELD_F_OPT,
      .doc = "A list of JSONPatch{...} operations."),
};
static const struct schema schema_mutation = SCHEMA(REG "Mutation", mutation_fields, 0, NULL);

static const struct field mutating_spec_fields[] = {
    PARAM_KIND(1),
    CONSTRAINTS(2),
    VARIABLES(3),
    F(OBJECT, LIST, "mutations", 4, .of = &schema_mutation, .flags = FIELD_F_ATOMIC,
      .doc = "Changes, one after the other."),
    FAILURE(5),
    CONDITIONS(6),
    F(STRING, ONE, "reinvocationPolicy", 7, .values = reinvocations,
      .doc = "Whether the policy is evaluated again after another one changed the object."),
};
static const struct schema schema_mutating_spec =
    SCHEMA(REG "MutatingAdmissionPolicySpec", mutating_spec_fields, 0, NULL);

static const struct field mutating_binding_spec_fields[] = {
    F(STRING, ONE, "policyName", 1, .doc = "Name of the policy."),
    F(OBJECT, ONE, "paramRef", 2, .of = &schema_param_ref, .flags = FIELD_F_OPT,
      .doc = "Parameters of the policy."),
    F(OBJECT, ONE, "matchResources", 3, .of = &schema_match_resources, .flags = FIELD_F_OPT,
      .doc = "Requests, of those that the policy looks at, for which it is bound."),
};
static const struct schema schema_mutating_binding_spec =
    SCHEMA(REG "MutatingAdmissionPolicyBindingSpec", mutating_binding_spec_fields, 0, NULL);

#define WHOLE(spec_)                                                                               \
    F(STRING, ONE, "apiVersion", 0, .doc = "Version of the API in which the object is written."),  \
        F(STRING, ONE, "kind", 0, .doc = "Kind of the object."),                                   \
        F(OBJECT, ONE, "metadata", 1, .of = &schema_meta,                                          \
          .doc = "Standard object metadata."),                                                     \
        F(OBJECT, ONE, "spec", 2, .of = spec_, .flags = FIELD_F_KEEP_EMPTY,                        \
          .doc = "What is wanted.")

static const struct field validating_policy_fields[] = {
    WHOLE(&schema_validating_spec),
    F(OBJECT, ONE, "status", 3, .of = &schema_validating_status, .flags = FIELD_F_KEEP_EMPTY,
      .doc = "What was found out about the policy."),
};
const struct schema schema_validating_policy =
    SCHEMA(REG "ValidatingAdmissionPolicy", validating_policy_fields, 0,
           "Rules, as expressions, by which requests are refused.");

static const struct field validating_binding_fields[] = {WHOLE(&schema_validating_binding_spec)};
const struct schema schema_validating_binding =
    SCHEMA(REG "ValidatingAdmissionPolicyBinding", validating_binding_fields, 0,
           "Where a ValidatingAdmissionPolicy holds, with which parameters.");

static const struct field mutating_policy_fields[] = {WHOLE(&schema_mutating_spec)};
const struct schema schema_mutating_policy =
    SCHEMA(REG "MutatingAdmissionPolicy", mutating_policy_fields, 0,
           "Changes, as expressions, that are made to objects before they are stored.");

static const struct field mutating_binding_fields[] = {WHOLE(&schema_mutating_binding_spec)};
const struct schema schema_mutating_binding =
    SCHEMA(REG "MutatingAdmissionPolicyBinding", mutating_binding_fields, 0,
           "Where a MutatingAdmissionPolicy holds, with which parameters.");
