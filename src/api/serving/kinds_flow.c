/*
 * kinds_flow: the rows of FlowSchema and PriorityLevelConfiguration, and what Kubernetes checks of them.
 */
#include "api/kinds/kinds.h"

extern const struct schema schema_flow_schema, schema_priority_level;

enum { PRECEDENCE_MAX = 10000, SHARES_MAX = 1000000, QUEUES_MAX = 10000000 };

static void check_range(yyjson_mut_val *v, const struct path *at, const char *member, int64_t min,
                        int64_t max, struct causes *c) {
    struct path here = path_member(at, member);
    yyjson_mut_val *n = json_mget(v, str_of(member));
    if (yyjson_mut_is_int(n) && yyjson_mut_get_sint(n) < min) {
        cause_invalid_json(c, &here, n, "must be greater than or equal to %lld", (long long)min);
    } else if (yyjson_mut_is_int(n) && yyjson_mut_get_sint(n) > max) {
        cause_invalid_json(c, &here, n, "must not be greater than %lld", (long long)max);
    }
}

/* ---- FlowSchema ---- */

static void check_subject(yyjson_mut_val *s, const struct path *at, struct causes *c) {
    static const char *const rows[][2] = {
        {"User", "user"}, {"Group", "group"}, {"ServiceAccount", "serviceAccount"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct path here = path_member(at, rows[i][1]);
        bool is = str_is(json_mstr_at(s, "kind"), rows[i][0]);
        bool has = json_mget(s, str_of(rows[i][1])) != NULL;
        if (is && !has) {
            cause_required(c, &here, NULL);
        } else if (!is && has) {
            cause_forbidden(c, &here, "belongs to another kind of subject");
        }
    }
}

static void check_rule(yyjson_mut_val *r, const struct path *at, struct causes *c) {
    struct path subjects = path_member(at, "subjects"), rules = path_member(at, "resourceRules");
    yyjson_mut_val *list = json_mget(r, STR("resourceRules"));
    EACH(json_mget(r, STR("subjects")), i, s) {
        struct path here = path_index(&subjects, i);
        check_subject(s, &here, c);
    }
    if (yyjson_mut_arr_size(list) + yyjson_mut_arr_size(json_mget(r, STR("nonResourceRules"))) ==
        0) {
        cause_required(c, at,
                       "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
    EACH(list, i, one) {
        struct path here = path_index(&rules, i), space = path_member(&here, "namespaces");
        if (!yyjson_mut_get_bool(json_mget(one, STR("clusterScope"))) &&
            yyjson_mut_arr_size(json_mget(one, STR("namespaces"))) == 0) {
            cause_required(c, &space,
                           "resource rules that are not cluster scoped must supply at least one "
                           "namespace");
        }
    }
}

static void flow_schema_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    struct path at = path_member(NULL, "spec"), rules = path_member(&at, "rules");
    (void)old;
    check_range(spec, &at, "matchingPrecedence", 1, PRECEDENCE_MAX, c);
    EACH(json_mget(spec, STR("rules")), i, r) {
        struct path here = path_index(&rules, i);
        check_rule(r, &here, c);
    }
}

static void flow_schema_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    yyjson_val *spec = json_get(obj, STR("spec")), *v;
    size_t at, max;
    struct str s = {0};
    switch (i) {
    case 1:
        s = json_str_at(spec, "priorityLevelConfiguration.name");
        break;
    case 2:
        buf_i64(out, json_i64_at(spec, "matchingPrecedence", 0));
        return;
    case 3:
        s = json_str_at(spec, "distinguisherMethod.type");
        s = s.n ? s : STR("<none>");
        break;
    default:
        s = STR("?");
        yyjson_arr_foreach(json_path(obj, "status.conditions"), at, max, v) {
            s = str_is(json_str_at(v, "type"), "Dangling") ? json_str_at(v, "status") : s;
        }
    }
    buf_json(out, s);
}

static const struct column flow_schema_columns[] = {
    COLUMN_NAME,
    COLUMN("PriorityLevel", "string", 0, "Its priority level."),
    COLUMN("MatchingPrecedence", "integer", 0, "The lowest that matches counts."),
    COLUMN("DistinguisherMethod", "string", 0, "What tells flows apart."),
    COLUMN_AGE,
    COLUMN("MissingPL", "string", 0, "Whether its priority level is missing."),
};

/* ---- PriorityLevelConfiguration ---- */

static void level_defaults(yyjson_mut_doc *d, yyjson_mut_val *obj, struct err *err) {
    yyjson_mut_val *limited = json_mpath(obj, "spec.limited.limitResponse");
    if (str_is(json_mstr_at(limited, "type"), "Queue") &&
        json_mget(limited, STR("queuing")) == NULL) {
        yyjson_mut_val *q = json_mensure(d, limited, "queuing");
        if (q == NULL || json_mset_i64(d, q, "queues", 64) != 0 ||
            json_mset_i64(d, q, "handSize", 8) != 0 ||
            json_mset_i64(d, q, "queueLengthLimit", 50) != 0) {
            err_set(err, ERR_NOMEM, "out of memory");
        }
    }
}

static void check_response(yyjson_mut_val *response, const struct path *at, struct causes *c) {
    struct path queuing = path_member(at, "queuing"), hand = path_member(&queuing, "handSize");
    yyjson_mut_val *q = json_mget(response, STR("queuing"));
    if (q && str_is(json_mstr_at(response, "type"), "Reject")) {
        cause_forbidden(c, &queuing, "must be nil if limited.limitResponse.type is not Limited");
        return;
    }
    check_range(q, &queuing, "queues", 1, QUEUES_MAX, c);
    check_range(q, &queuing, "queueLengthLimit", 1, INT32_MAX, c);
    check_range(q, &queuing, "handSize", 1, INT32_MAX, c);
    yyjson_mut_val *size = json_mget(q, STR("handSize"));
    if (yyjson_mut_is_int(size) && yyjson_mut_is_int(json_mget(q, STR("queues"))) &&
        yyjson_mut_get_sint(size) > yyjson_mut_get_sint(json_mget(q, STR("queues")))) {
        cause_invalid_json(c, &hand, size, "should not be greater than queues");
    }
}

static void level_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    yyjson_mut_val *spec = json_mget(obj, STR("spec")), *limited = json_mget(spec, STR("limited"));
    struct path at = path_member(NULL, "spec"), of = path_member(&at, "limited");
    struct path exempt = path_member(&at, "exempt"), response = path_member(&of, "limitResponse");
    struct path type = path_member(&at, "type");
    bool is_limited = str_is(json_mstr_at(spec, "type"), "Limited");
    bool is_exempt = str_is(json_mstr_at(obj, "metadata.name"), "exempt");
    (void)old;
    if (is_limited && limited == NULL) {
        cause_required(c, &of, "must not be empty when type is Limited");
    } else if (!is_limited && limited) {
        cause_forbidden(c, &of, "must be nil if the type is not Limited");
    }
    if (is_limited && json_mget(spec, STR("exempt"))) {
        cause_forbidden(c, &exempt, "must be nil if the type is Limited");
    }
    if (json_mstr_at(spec, "type").n && is_limited == is_exempt) {
        cause_invalid(c, &type, json_mstr_at(spec, "type"),
                      is_exempt ? "the level exempt is of type Exempt"
                                : "no level but exempt is of type Exempt");
    }
    check_range(limited, &of, "nominalConcurrencyShares", 0, SHARES_MAX, c);
    check_range(limited, &of, "lendablePercent", 0, 100, c);
    check_range(limited, &of, "borrowingLimitPercent", 0, INT32_MAX, c);
    check_response(json_mget(limited, STR("limitResponse")), &response, c);
}

static void level_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    static const char *const paths[] = {NULL,
                                        "spec.type",
                                        "spec.limited.nominalConcurrencyShares",
                                        "spec.limited.limitResponse.queuing.queues",
                                        "spec.limited.limitResponse.queuing.handSize",
                                        "spec.limited.limitResponse.queuing.queueLengthLimit"};
    yyjson_val *v = json_path(obj, paths[i]);
    (void)now;
    if (yyjson_is_int(v)) {
        cell_f(out, "%lld", (long long)yyjson_get_sint(v));
    } else {
        buf_json(out, v ? json_str(v) : STR("<none>"));
    }
}

static const struct column level_columns[] = {
    COLUMN_NAME,
    COLUMN("Type", "string", 0, "Exempt or Limited."),
    COLUMN("NominalConcurrencyShares", "string", 0, "Its share."),
    COLUMN("Queues", "string", 0, "How many queues it has."),
    COLUMN("HandSize", "string", 0, "How many of them a flow may use."),
    COLUMN("QueueLengthLimit", "string", 0, "Length of one."),
    COLUMN_AGE,
};

#define FLOW_KIND(name_, kind_, plural_, singular_, schema_, columns_, ...)                        \
    const struct kind name_ = {                                                                    \
        .group = "flowcontrol.apiserver.k8s.io",                                                   \
        .api_version = "flowcontrol.apiserver.k8s.io/v1",                                          \
        .kind = kind_,                                                                             \
        .plural = plural_,                                                                         \
        .singular = singular_,                                                                     \
        .flags = KIND_STATUS | KIND_GENERATION,                                                    \
        .versions = &(const struct kind_version){.version = "v1", .schema = &schema_},             \
        .n_versions = 1,                                                                           \
        .columns = columns_,                                                                       \
        .n_columns = COUNT(columns_),                                                              \
        .prepare = prepare_status,                                                                 \
        __VA_ARGS__}

FLOW_KIND(kind_flow_schema, "FlowSchema", "flowschemas", "flowschema", schema_flow_schema,
          flow_schema_columns, .check = flow_schema_check, .cell = flow_schema_cell);
FLOW_KIND(kind_priority_level, "PriorityLevelConfiguration", "prioritylevelconfigurations",
          "prioritylevelconfiguration", schema_priority_level, level_columns,
          .set_defaults = level_defaults, .check = level_check, .cell = level_cell);
