/* kinds_quota: the row of ResourceQuota. */
#include "api/tables/view_policy.h"

#include "api/allowance.h"
#include "api/kinds/kinds.h"

static void check_hard(yyjson_mut_val *hard, const struct path *at, struct causes *c) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(hard);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        struct path here = path_key(at, json_mstr(k));
        struct str text = json_mstr(yyjson_mut_obj_iter_get_val(k));
        const char *fault = allowance_name_fault(json_mstr(k));
        struct quantity q;
        if (fault != NULL) {
            cause_invalid(c, &here, json_mstr(k), "%s", fault);
        }
        if (quantity_parse(text, &q, NULL) != 0) {
            continue;
        }
        if (quantity_sign(q) < 0) {
            cause_invalid(c, &here, text, "must be greater than or equal to 0");
        }
        if (q.nano != 0 && allowance_is_whole(json_mstr(k))) {
            cause_invalid(c, &here, text, "must be an integer");
        }
    }
}

static bool has_scope(yyjson_mut_val *scopes, const char *name) {
    return json_mfind(scopes, NULL, str_of(name)) != NULL;
}

static void check_scopes(yyjson_mut_val *spec, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "scopes");
    yyjson_mut_val *scopes = json_mget(spec, STR("scopes"));
    EACH(scopes, i, s) {
        (void)i;
        if (!allowance_scope_known(json_mstr(s))) {
            cause_invalid_json(c, &here, scopes, "unsupported scope");
            continue;
        }
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(json_mget(spec, STR("hard")));
        yyjson_mut_val *k;
        while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            if (allowance_name_fault(json_mstr(k)) == NULL && str_find(json_mstr(k), '/') < 0 &&
                !allowance_scope_fits(json_mstr(s), json_mstr(k))) {
                cause_invalid_json(c, &here, scopes, "unsupported scope applied to resource");
            }
        }
    }
    if ((has_scope(scopes, "BestEffort") && has_scope(scopes, "NotBestEffort")) ||
        (has_scope(scopes, "Terminating") && has_scope(scopes, "NotTerminating"))) {
        cause_invalid_json(c, &here, scopes, "conflicting scopes");
    }
}

static void check_requirement(yyjson_mut_val *q, const struct path *at, struct causes *c) {
    struct path name_at = path_member(at, "scopeName"), op_at = path_member(at, "operator");
    struct path values_at = path_member(at, "values");
    struct str scope = json_mstr_at(q, "scopeName"), op = json_mstr_at(q, "operator");
    yyjson_mut_val *values = json_mget(q, STR("values"));
    bool compares = str_is(op, "In") || str_is(op, "NotIn");
    size_t n = yyjson_mut_arr_size(values);
    if (!allowance_scope_known(scope)) {
        cause_invalid(c, &name_at, scope, "unsupported scope");
    } else if (!str_is(scope, "PriorityClass") && !str_is(op, "Exists")) {
        cause_invalid(c, &op_at, op,
                      "must be 'Exist' when scope is any of ResourceQuotaScopeTerminating, "
                      "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                      "ResourceQuotaScopeNotBestEffort or "
                      "ResourceQuotaScopeCrossNamespacePodAffinity");
    }
    if (compares && n == 0) {
        cause_required(c, &values_at,
                       "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                       "selector");
    } else if (!compares && n > 0) {
        cause_invalid_json(c, &values_at, values,
                           "must be no value when `operator` is 'Exist' or 'DoesNotExist' for "
                           "scope selector");
    }
}

static void quota_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), hard_at = path_member(&at, "hard");
    struct path scopes_at = path_member(&at, "scopes");
    struct path selector_at = path_member(&at, "scopeSelector");
    struct path list_at = path_member(&selector_at, "matchExpressions");
    yyjson_mut_val *spec = json_mget(obj, STR("spec")), *hard = json_mget(spec, STR("hard"));
    yyjson_mut_val *scopes = json_mget(spec, STR("scopes"));
    yyjson_mut_val *list = json_mpath(spec, "scopeSelector.matchExpressions");
    if (!check_size(hard, &hard_at, c) || !check_size(scopes, &scopes_at, c) ||
        !check_size(list, &list_at, c)) {
        return;
    }
    check_hard(hard, &hard_at, c);
    check_scopes(spec, &at, c);
    EACH(list, i, q) {
        struct path here = path_index(&list_at, i);
        check_requirement(q, &here, c);
    }
    if (old != NULL) {
        check_immutable(c, &scopes_at, scopes, json_path(old, "spec.scopes"));
    }
}

/* "pods: 1/10, requests.cpu: 500m/2": what containers may use at most, or all else. In the order of names. */
static void amounts_cell(yyjson_val *obj, bool limits, struct buf *out) {
    yyjson_val *hard = json_path(obj, "status.hard"), *used = json_path(obj, "status.used"), *k;
    struct str last = {0};
    struct buf b;
    buf_init(&b, 0);
    for (size_t left = yyjson_obj_size(hard); left > 0; left--) {
        struct str next = {0};
        yyjson_obj_iter it = yyjson_obj_iter_with(hard);
        while ((k = yyjson_obj_iter_next(&it)) !=
               NULL) { /* few names: each next one is looked for */
            struct str name = json_str(k);
            if ((last.n == 0 || str_cmp(name, last) > 0) &&
                (next.n == 0 || str_cmp(name, next) < 0)) {
                next = name;
            }
        }
        last = next;
        if (str_starts(next, STR("limits.")) == limits) {
            struct str u = json_str(json_get(used, next)), h = json_str(json_get(hard, next));
            buf_f(&b, "%s%.*s: %.*s/%.*s", b.n ? ", " : "", STR_ARG(next),
                  STR_ARG(u.n ? u : STR("0")), STR_ARG(h));
        }
    }
    buf_json(out, buf_view(&b));
    buf_release(&b);
}

static void quota_cell(yyjson_val *obj, size_t i, int64_t now, struct buf *out) {
    (void)now;
    amounts_cell(obj, i == 2, out);
}

static const struct column columns[] = {
    COLUMN_NAME,
    COLUMN("Request", "string", 0, "What is there, of what there may be at most."),
    COLUMN("Limit", "string", 0, "The same of the limits of containers."),
    COLUMN_AGE,
};
const struct kind kind_resource_quota = {
    .group = "",
    .kind = "ResourceQuota",
    .plural = "resourcequotas",
    .singular = "resourcequota",
    .short_names = (const char *const[]){"quota", NULL},
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_STATUS_NOTES | KIND_CREATE_ON_UPDATE |
             KIND_RETURNS_DELETED,
    .versions = &(const struct kind_version){.version = "v1", .schema = &schema_namespace_quota},
    .n_versions = 1,
    .columns = columns,
    .n_columns = COUNT(columns),
    .prepare = prepare_status,
    .check = quota_check,
    .cell = quota_cell,
};
