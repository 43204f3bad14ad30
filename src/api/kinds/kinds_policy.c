/* kinds_policy: the row of PodDisruptionBudget. */
#include "api/tables/view_policy.h"

#include "api/kinds/kinds.h"

/* A whole number from 0, or a percentage up to 100%. */
static void check_amount(yyjson_mut_val *spec, const char *member, const struct path *at,
                         struct causes *c) {
    struct path here = path_member(at, member);
    yyjson_mut_val *v = json_mget(spec, str_of(member));
    struct str text = json_mstr(v), digits = str_head(text, text.n ? text.n - 1 : 0);
    uint64_t percent = 0;
    if (yyjson_mut_is_int(v) && yyjson_mut_get_sint(v) < 0) {
        cause_invalid_json(c, &here, v, "must be greater than or equal to 0");
    } else if (yyjson_mut_is_int(v) && yyjson_mut_get_sint(v) > INT32_MAX) {
        cause_invalid_json(c, &here, v, "must be less than or equal to %d", INT32_MAX);
    }
    if (!yyjson_mut_is_str(v)) {
        return;
    }
    if (!str_ends(text, STR("%")) || !str_to_u64(digits, &percent)) {
        cause_invalid(c, &here, text,
                      "a valid percent string must be a numeric string followed by an ending '%%' "
                      "(e.g. '1%%',  or '93%%', regex used for validation is '[0-9]+%%')");
    } else if (percent > 100) {
        cause_invalid(c, &here, text, "must not be greater than 100%%");
    }
}

static void budget_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), selector = path_member(&at, "selector");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    (void)old;
    if (json_mget(spec, STR("minAvailable")) && json_mget(spec, STR("maxUnavailable"))) {
        cause_invalid_json(c, &at, spec, "minAvailable and maxUnavailable cannot be both set");
    }
    check_amount(spec, "minAvailable", &at, c);
    check_amount(spec, "maxUnavailable", &at, c);
    check_selector(c, &selector, json_mget(spec, STR("selector")));
}

static void amount_cell(yyjson_val *v, struct buf *out) {
    if (yyjson_is_int(v)) {
        cell_f(out, "%lld", (long long)yyjson_get_sint(v));
    } else {
        buf_json(out, v ? json_str(v) : STR("N/A"));
    }
}

static void budget_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    if (i == 3) {
        buf_i64(out, json_i64_at(obj, "status.disruptionsAllowed", 0));
    } else {
        amount_cell(json_path(obj, i == 1 ? "spec.minAvailable" : "spec.maxUnavailable"), out);
    }
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Min Available", "string", 0, "Pods that stay available."),
    COLUMN("Max Unavailable", "string", 0, "Pods that may be unavailable."),
    COLUMN("Allowed Disruptions", "integer", 0, "Pods that may be evicted now."),
    COLUMN_AGE,
};
const struct kind kind_disruption_budget = {
    .group = "policy",
    .kind = "PodDisruptionBudget",
    .plural = "poddisruptionbudgets",
    .singular = "poddisruptionbudget",
    .short_names = (const char *const[]){"pdb", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION | KIND_STATUS_NOTES,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_disruption_budget},
    .n_versions = 1,
    .columns = columns,
    .n_columns = COUNT(columns),
    .prepare = prepare_status,
    .check = budget_check,
    .cell = budget_cell,
};
