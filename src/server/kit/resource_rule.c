/* resource_rule: see resource_rule.h. */
#include "server/kit/resource_rule.h"

static bool listed(yyjson_val *list, struct str v) {
    yyjson_val *e;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, e) {
        if (str_is(json_str(e), "*") || str_eq(json_str(e), v)) {
            return true;
        }
    }
    return false;
}

/* "pods", "pods/status", "pods/X" for any X, "X/status", "X" and "X/X" with X a star. */
static bool resource_listed(yyjson_val *list, struct str plural, struct str sub) {
    yyjson_val *e;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, e) {
        struct str resource, rest;
        bool slash = str_cut(json_str(e), '/', &resource, &rest);
        bool here = str_is(resource, "*") || str_eq(resource, plural);
        if (here && (slash ? sub.n > 0 && (str_is(rest, "*") || str_eq(rest, sub)) : sub.n == 0)) {
            return true;
        }
        if (slash && here && str_is(resource, "*") && str_is(rest, "*")) {
            return true;
        }
    }
    return false;
}

bool resource_rule_matches(yyjson_val *rule, const struct resource_ask *m, struct str version) {
    struct str scope = json_str_at(rule, "scope");
    bool namespaced = (m->kind->flags & KIND_NAMESPACED) != 0;
    return listed(json_get(rule, STR("operations")), m->operation) &&
           listed(json_get(rule, STR("apiGroups")), str_of(m->kind->group)) &&
           listed(json_get(rule, STR("apiVersions")), version) &&
           resource_listed(json_get(rule, STR("resources")), str_of(m->kind->plural),
                           m->subresource) &&
           (scope.n == 0 || str_is(scope, "*") ||
            str_is(scope, namespaced ? "Namespaced" : "Cluster"));
}

bool resource_rule_names(yyjson_val *rule, struct str name) {
    yyjson_val *names = json_get(rule, STR("resourceNames")), *e;
    size_t i, n;
    yyjson_arr_foreach(names, i, n, e) {
        if (str_eq(json_str(e), name)) {
            return true;
        }
    }
    return yyjson_arr_size(names) == 0;
}
