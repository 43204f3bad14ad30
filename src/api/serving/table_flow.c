/*
 * table_flow: the fields of FlowSchema and PriorityLevelConfiguration. No view: server/flow reads their trees.
 */
#include "api/tables/rows.h"

#define ROW(type_, many_, json_, number_, flags_, doc_)                                            \
    F(type_, many_, json_, number_, .flags = flags_, .doc = doc_)
#define ROW_OF(many_, json_, number_, name_, flags_, doc_)                                         \
    F(OBJECT, many_, json_, number_, .of = &schema_##name_, .flags = flags_, .doc = doc_)

static const char *const level_types[] = {"Exempt", "Limited", NULL};
static const char *const response_types[] = {"Queue", "Reject", NULL};
static const char *const subject_kinds[] = {"Group", "ServiceAccount", "User", NULL};
static const char *const distinguisher_types[] = {"ByNamespace", "ByUser", NULL};

TABLE(static, flow_subject_user, "io.k8s.api.flowcontrol.v1.UserSubject", NULL,
      ROW(STRING, ONE, "name", 1, REQUIRED, "Name of the user, or \"*\" for all."));

TABLE(static, flow_subject_group, "io.k8s.api.flowcontrol.v1.GroupSubject", NULL,
      ROW(STRING, ONE, "name", 1, REQUIRED, "Name of the group, or \"*\" for all."));

TABLE(static, flow_subject_account, "io.k8s.api.flowcontrol.v1.ServiceAccountSubject", NULL,
      ROW(STRING, ONE, "namespace", 1, REQUIRED, "Namespace of the service account."),
      ROW(STRING, ONE, "name", 2, REQUIRED, "Name of the service account, or \"*\" for all."));

TABLE(static, flow_subject, "io.k8s.api.flowcontrol.v1.Subject", NULL,
      F(STRING, ONE, "kind", 1, .flags = REQUIRED, .values = subject_kinds,
        .doc = "User, Group or ServiceAccount."),
      ROW_OF(ONE, "user", 2, flow_subject_user, 0, "The user, of kind User."),
      ROW_OF(ONE, "group", 3, flow_subject_group, 0, "The group, of kind Group."),
      ROW_OF(ONE, "serviceAccount", 4, flow_subject_account, 0,
             "The account, of kind ServiceAccount."));

TABLE(static, flow_resource_rule, "io.k8s.api.flowcontrol.v1.ResourcePolicyRule", NULL,
      ROW(STRING, LIST, "verbs", 1, FIELD_F_ATOMIC | REQUIRED, "Verbs, or \"*\" for all."),
      ROW(STRING, LIST, "apiGroups", 2, FIELD_F_ATOMIC | REQUIRED, "API groups, or \"*\" for all."),
      ROW(STRING, LIST, "resources", 3, FIELD_F_ATOMIC | REQUIRED,
          "Resources, also \"pods/status\", or \"*\" for all."),
      ROW(BOOL, ONE, "clusterScope", 4, 0, "Whether requests without a namespace match."),
      ROW(STRING, LIST, "namespaces", 5, FIELD_F_ATOMIC,
          "Namespaces whose requests match, or \"*\" for all."));

TABLE(static, flow_path_rule, "io.k8s.api.flowcontrol.v1.NonResourcePolicyRule", NULL,
      ROW(STRING, LIST, "verbs", 1, FIELD_F_ATOMIC | REQUIRED, "Verbs, or \"*\" for all."),
      ROW(STRING, LIST, "nonResourceURLs", 6, FIELD_F_ATOMIC | REQUIRED,
          "Paths; a \"*\" at the end matches all that begins so."));

TABLE(static, flow_rule, "io.k8s.api.flowcontrol.v1.PolicyRulesWithSubjects", NULL,
      ROW_OF(LIST, "subjects", 1, flow_subject, FIELD_F_ATOMIC | REQUIRED, "Whose requests match."),
      ROW_OF(LIST, "resourceRules", 2, flow_resource_rule, FIELD_F_ATOMIC,
             "Requests for resources that match."),
      ROW_OF(LIST, "nonResourceRules", 3, flow_path_rule, FIELD_F_ATOMIC,
             "Requests for paths that match."));

TABLE(static, flow_level_reference, "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationReference",
      NULL, ROW(STRING, ONE, "name", 1, REQUIRED, "Name of the priority level."));

TABLE(static, flow_distinguisher, "io.k8s.api.flowcontrol.v1.FlowDistinguisherMethod", NULL,
      F(STRING, ONE, "type", 1, .flags = REQUIRED, .values = distinguisher_types,
        .doc = "What tells flows apart: ByUser or ByNamespace."));

TABLE(static, flow_schema_spec, "io.k8s.api.flowcontrol.v1.FlowSchemaSpec", NULL,
      ROW_OF(ONE, "priorityLevelConfiguration", 1, flow_level_reference, REQUIRED,
             "The priority level of requests that match."),
      F(INT32, ONE, "matchingPrecedence", 2, .def = "1000",
        .doc = "Of schemas that match a request the one with the lowest counts."),
      ROW_OF(ONE, "distinguisherMethod", 3, flow_distinguisher, FIELD_F_OPT,
             "What tells the flows of this schema apart; none: it is one flow."),
      ROW_OF(LIST, "rules", 4, flow_rule, FIELD_F_ATOMIC,
             "A request matches when one of them does."));

TABLE(static, flow_condition, "io.k8s.api.flowcontrol.v1.FlowSchemaCondition", NULL,
      ROW(STRING, ONE, "type", 1, 0, "Type of the condition."),
      ROW(STRING, ONE, "status", 2, 0, "True, False or Unknown."),
      ROW(TIME, ONE, "lastTransitionTime", 3, 0, "When the status changed last."),
      ROW(STRING, ONE, "reason", 4, 0, "Reason in one word."),
      ROW(STRING, ONE, "message", 5, 0, "The same for people."));

TABLE(, flow_schema_status, "io.k8s.api.flowcontrol.v1.FlowSchemaStatus", NULL,
      F(OBJECT, LIST, "conditions", 1, .of = &schema_flow_condition, .flags = FIELD_F_MERGE,
        .merge_key = "type", .list_keys = "type",
        .doc = "Current conditions, one entry per type."));

TABLE(, flow_schema, "io.k8s.api.flowcontrol.v1.FlowSchema",
      "Assigns requests to a priority level, and tells flows of them apart.",
      ROW(STRING, ONE, "apiVersion", 0, 0, "Version of the API in which the object is written."),
      ROW(STRING, ONE, "kind", 0, 0, "Kind of the object."),
      ROW_OF(ONE, "metadata", 1, meta, 0, "Standard object metadata."),
      ROW_OF(ONE, "spec", 2, flow_schema_spec, 0, "Desired state, set by the user."),
      ROW_OF(ONE, "status", 3, flow_schema_status, 0, "Observed state, set by controllers."));

TABLE(static, flow_queuing, "io.k8s.api.flowcontrol.v1.QueuingConfiguration", NULL,
      F(INT32, ONE, "queues", 1, .def = "64",
        .doc = "With queueLengthLimit: how many requests of the level may wait."),
      F(INT32, ONE, "handSize", 2, .def = "8",
        .doc = "With queueLengthLimit: how many requests of one flow may wait."),
      F(INT32, ONE, "queueLengthLimit", 3, .def = "50", .doc = "Length of one queue."));

TABLE(static, flow_response, "io.k8s.api.flowcontrol.v1.LimitResponse", NULL,
      F(STRING, ONE, "type", 1, .flags = REQUIRED, .values = response_types,
        .doc = "What happens to requests beyond the limit: Queue or Reject."),
      ROW_OF(ONE, "queuing", 2, flow_queuing, FIELD_F_OPT, "Of type Queue: how many wait."));

TABLE(static, flow_limited, "io.k8s.api.flowcontrol.v1.LimitedPriorityLevelConfiguration", NULL,
      F(INT32, ONE, "nominalConcurrencyShares", 1, .flags = FIELD_F_OPT, .def = "30",
        .doc = "Share of the server in relation to the other levels."),
      ROW_OF(ONE, "limitResponse", 2, flow_response, 0,
             "What happens to requests beyond the limit."),
      F(INT32, ONE, "lendablePercent", 3, .flags = FIELD_F_OPT, .def = "0",
        .doc = "Part of the seats that others may use while they are free."),
      F(INT32, ONE, "borrowingLimitPercent", 4, .flags = FIELD_F_OPT,
        .doc = "How many seats of others it may use, in percent of its own; none: any number."));

TABLE(static, flow_exempt, "io.k8s.api.flowcontrol.v1.ExemptPriorityLevelConfiguration", NULL,
      F(INT32, ONE, "nominalConcurrencyShares", 1, .flags = FIELD_F_OPT, .def = "0",
        .doc = "Share of the server that is set aside for it."),
      F(INT32, ONE, "lendablePercent", 2, .flags = FIELD_F_OPT, .def = "0",
        .doc = "Part of it that others may use."));

TABLE(static, priority_level_spec, "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationSpec", NULL,
      F(STRING, ONE, "type", 1, .flags = REQUIRED, .values = level_types,
        .doc = "Exempt: never queued or refused. Limited: by the level's share."),
      ROW_OF(ONE, "limited", 2, flow_limited, FIELD_F_OPT, "Of type Limited."),
      ROW_OF(ONE, "exempt", 3, flow_exempt, FIELD_F_OPT, "Of type Exempt."));

TABLE(static, priority_level_condition,
      "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationCondition", NULL,
      ROW(STRING, ONE, "type", 1, 0, "Type of the condition."),
      ROW(STRING, ONE, "status", 2, 0, "True, False or Unknown."),
      ROW(TIME, ONE, "lastTransitionTime", 3, 0, "When the status changed last."),
      ROW(STRING, ONE, "reason", 4, 0, "Reason in one word."),
      ROW(STRING, ONE, "message", 5, 0, "The same for people."));

TABLE(, priority_level_status, "io.k8s.api.flowcontrol.v1.PriorityLevelConfigurationStatus", NULL,
      F(OBJECT, LIST, "conditions", 1, .of = &schema_priority_level_condition,
        .flags = FIELD_F_MERGE, .merge_key = "type", .list_keys = "type",
        .doc = "Current conditions, one entry per type."));

TABLE(, priority_level, "io.k8s.api.flowcontrol.v1.PriorityLevelConfiguration",
      "A share of the server, for the requests that FlowSchemas assign to it.",
      ROW(STRING, ONE, "apiVersion", 0, 0, "Version of the API in which the object is written."),
      ROW(STRING, ONE, "kind", 0, 0, "Kind of the object."),
      ROW_OF(ONE, "metadata", 1, meta, 0, "Standard object metadata."),
      ROW_OF(ONE, "spec", 2, priority_level_spec, 0, "Desired state, set by the user."),
      ROW_OF(ONE, "status", 3, priority_level_status, 0, "Observed state, set by controllers."));
