/*
 * kinds_api_service: apiregistration.k8s.io: who serves which group-version. Here all of them are served by the API
 * server itself, so the objects are computed (server/computed/api_services.c) and nobody makes any.
 */
#include "api/kinds/kinds.h"
#include "api/tables/rows.h"

#define REG "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1."

TABLE(static, api_service_reference, REG "ServiceReference", "A Service that is asked.",
      TEXT("name", "Name of the Service."), TEXT("namespace", "Namespace of the Service."),
      F(INT32, ONE, "port", 0, .doc = "Port of the Service."));
TABLE(static, api_service_spec, REG "APIServiceSpec", "Which group-version is served, and by whom.",
      F(BYTES, ONE, "caBundle", 0, .doc = "Certificates that vouch for the Service."),
      TEXT("group", "API group."),
      F(INT32, ONE, "groupPriorityMinimum", 0, .doc = "Order of groups; the highest first."),
      F(BOOL, ONE, "insecureSkipTLSVerify", 0, .doc = "Whether anybody may answer."),
      ONE_OF("service", api_service_reference, 0,
             "Service that is asked; none: the API server itself."),
      TEXT("version", "Version of the API."),
      F(INT32, ONE, "versionPriority", 0, .doc = "Order in the group; the highest first."));
TABLE(static, api_service_condition, REG "APIServiceCondition", "An aspect of the state.",
      F(TIME, ONE, "lastTransitionTime", 0, .doc = "Time of the last change of status."),
      TEXT("message", "Human-readable message."),
      TEXT("reason", "Machine-readable reason, one CamelCase word."),
      TEXT("status", "Status of the condition: True, False or Unknown."),
      TEXT("type", "Type of the condition."));
TABLE(static, api_service_status, REG "APIServiceStatus", "Observed state.",
      F(OBJECT, LIST, "conditions", 0, .of = &schema_api_service_condition, .flags = FIELD_F_MERGE,
        .merge_key = "type", .list_keys = "type", .doc = "Available."));
TABLE(static, api_service, REG "APIService", "Who serves a group-version.", ROWS_OF_OBJECT,
      ONE_OF("spec", api_service_spec, 0, "The group-version, and who serves it."),
      ONE_OF("status", api_service_status, 0, "Observed state."));

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Service", "string", 0, "Service that is asked; Local: the API server itself."),
    COLUMN("Available", "string", 0, "Whether it is served."),
    COLUMN_AGE,
};

static void service_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    cell_str(out, i == 1 ? STR("Local") : condition_status(obj, "Available"));
}

const struct kind kind_api_service = {
    .group = "apiregistration.k8s.io",
    .kind = "APIService",
    .plural = "apiservices",
    .singular = "apiservice",
    .categories = (const char *const[]){"api-extensions", NULL},
    .flags = KIND_COMPUTED,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_api_service},
    .n_versions = 1,
    .columns = columns,
    .n_columns = COUNT(columns),
    .cell = service_cell,
};
