/*
 * autoscaler_check: what Kubernetes checks of a HorizontalPodAutoscaler, in its words
 * (pkg/apis/autoscaling/validation).
 */
#include "api/scaling/autoscaler.h"

#include "wire/text/quantity.h"

enum { WINDOW_MAX_S = 3600, PERIOD_MAX_S = 1800 };

static const char *const metric_types[] = {"ContainerResource", "External", "Object", "Pods",
                                           "Resource",          NULL};

static bool is_one_of(struct str v, const char *const *values) {
    while (*values != NULL && !str_is(v, *values)) {
        values++;
    }
    return *values != NULL;
}

/* ---- references ---- */

static void check_segment(yyjson_mut_val *of, const char *member, const struct path *at,
                          const char *missing, struct causes *c) {
    struct path here = path_member(at, member);
    struct str v = json_mstr_at(of, member);
    const char *fault = v.n > 0 ? format_fault("path-name", v) : NULL;
    if (v.n == 0) {
        cause_required(c, &here, missing);
    } else if (fault != NULL) {
        cause_invalid(c, &here, v, "%s", fault);
    }
}

/* group: an apiVersion without a group is refused. */
static void check_ref(yyjson_mut_val *ref, const struct path *at, bool version, bool group,
                      struct causes *c) {
    struct path here = path_member(at, "apiVersion");
    struct str v = json_mstr_at(ref, "apiVersion");
    ptrdiff_t first = str_find(v, '/'), last = str_find_last(v, '/');
    check_segment(ref, "kind", at, NULL, c);
    check_segment(ref, "name", at, NULL, c);
    if (version && first != last) {
        cause_invalid(c, &here, v, "unexpected GroupVersion string: %.*s", STR_ARG(v));
    } else if (version && group && first <= 0) {
        cause_invalid(c, &here, v, "apiVersion must specify API group");
    }
}

/* ---- metrics ---- */

static void check_amount(yyjson_mut_val *target, const char *member, const struct path *at,
                         struct causes *c) {
    struct path here = path_member(at, member);
    struct str text = json_mstr_at(target, member);
    struct quantity q;
    if (text.n > 0 && quantity_parse(text, &q, NULL) == 0 && quantity_sign(q) != 1) {
        cause_invalid(c, &here, text, "must be positive");
    }
}

static void check_target(yyjson_mut_val *target, const struct path *at, struct causes *c) {
    static const char *const types[] = {"AverageValue", "Utilization", "Value", NULL};
    struct path type = path_member(at, "type"), use = path_member(at, "averageUtilization");
    struct str v = json_mstr_at(target, "type");
    yyjson_mut_val *percent = json_mget(target, STR("averageUtilization"));
    if (v.n == 0) {
        cause_required(c, &type, "must specify a metric target type");
    }
    if (!is_one_of(v, types)) {
        cause_invalid(c, &type, v, "must be either Utilization, Value, or AverageValue");
    }
    check_amount(target, "value", at, c);
    check_amount(target, "averageValue", at, c);
    if (yyjson_mut_is_int(percent) && yyjson_mut_get_sint(percent) < 1) {
        cause_invalid_json(c, &use, percent, "must be greater than 0");
    }
}

/* One of two members, and not both. */
static void check_either(yyjson_mut_val *target, const struct path *at, const char *a,
                         const char *b, const char *missing, const char *needed, const char *both,
                         const char *twice, struct causes *c) {
    bool has_a = json_mget(target, str_of(a)) != NULL, has_b = json_mget(target, str_of(b)) != NULL;
    struct path none = path_member(at, missing), here = path_member(at, both ? both : missing);
    if (!has_a && !has_b) {
        cause_required(c, &none, needed);
    } else if (has_a && has_b && both != NULL) {
        cause_forbidden(c, &here, "%s", twice);
    }
}

static void check_named(yyjson_mut_val *src, const struct path *at, struct causes *c) {
    struct path metric = path_member(at, "metric"), target = path_member(at, "target");
    struct path selector = path_member(&metric, "selector");
    check_segment(json_mget(src, STR("metric")), "name", &metric, "must specify a metric name", c);
    check_selector(c, &selector, json_mpath(src, "metric.selector"));
    check_target(json_mget(src, STR("target")), &target, c);
}

static void check_object(yyjson_mut_val *src, const struct path *at, struct causes *c) {
    struct path ref = path_member(at, "describedObject"), target = path_member(at, "target");
    check_ref(json_mget(src, STR("describedObject")), &ref, true, false, c);
    check_named(src, at, c);
    check_either(json_mget(src, STR("target")), &target, "value", "averageValue", "averageValue",
                 "must set either a target value or averageValue", NULL, NULL, c);
}

static void check_external(yyjson_mut_val *src, const struct path *at, struct causes *c) {
    struct path target = path_member(at, "target");
    check_named(src, at, c);
    check_either(json_mget(src, STR("target")), &target, "value", "averageValue", "averageValue",
                 "must set either a target value for metric or a per-pod target", "value",
                 "may not set both a target value for metric and a per-pod target", c);
}

static void check_pods(yyjson_mut_val *src, const struct path *at, struct causes *c) {
    struct path target = path_member(at, "target");
    check_named(src, at, c);
    check_either(json_mget(src, STR("target")), &target, "averageValue", "averageValue",
                 "averageValue", "must specify a positive target averageValue", NULL, NULL, c);
}

static void check_resource(yyjson_mut_val *src, const struct path *at, struct causes *c) {
    struct path target = path_member(at, "target"), name = path_member(at, "name");
    if (json_mstr_at(src, "name").n == 0) {
        cause_required(c, &name, "must specify a resource name");
    }
    check_target(json_mget(src, STR("target")), &target, c);
    check_either(json_mget(src, STR("target")), &target, "averageUtilization", "averageValue",
                 "averageUtilization", "must set either a target raw value or a target utilization",
                 "averageValue", "may not set both a target raw value and a target utilization", c);
}

static void check_container(yyjson_mut_val *src, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "container");
    struct str v = json_mstr_at(src, "container");
    const char *fault = v.n > 0 ? format_fault("dns1123-label", v) : NULL;
    if (v.n == 0) {
        cause_required(c, &here, "must specify a container");
    } else if (fault != NULL) {
        cause_invalid(c, &here, v, "%s", fault);
    }
    check_resource(src, at, c);
}

static const struct metric_source {
    const char *type, *member;
    void (*check)(yyjson_mut_val *src, const struct path *at, struct causes *c);
} SOURCES[] = {
    {"Object", "object", check_object},
    {"External", "external", check_external},
    {"Pods", "pods", check_pods},
    {"Resource", "resource", check_resource},
    {"ContainerResource", "containerResource", check_container},
};

static void check_metric(yyjson_mut_val *m, const struct path *at, struct causes *c) {
    struct path here = path_member(at, "type");
    struct str type = json_mstr_at(m, "type");
    size_t present = 0;
    if (type.n == 0) {
        cause_required(c, &here, "must specify a metric source type");
    }
    if (!is_one_of(type, metric_types)) {
        cause_unsupported(c, &here, type, metric_types);
    }
    for (size_t i = 0; i < COUNT(SOURCES); i++) {
        struct path of = path_member(at, SOURCES[i].member);
        yyjson_mut_val *src = json_mget(m, str_of(SOURCES[i].member));
        if (src != NULL && present++ == 0) {
            SOURCES[i].check(src, &of, c);
        }
    }
    for (size_t i = 0; i < COUNT(SOURCES); i++) {
        struct path of = path_member(at, SOURCES[i].member);
        bool there = json_mget(m, str_of(SOURCES[i].member)) != NULL;
        bool wanted = str_is(type, SOURCES[i].type);
        if (wanted && !there) {
            cause_required(c, &of, "must populate information for the given metric source");
        } else if (!wanted && there && (present != 1 || is_one_of(type, metric_types))) {
            cause_forbidden(c, &of, "must populate the given metric source only");
        }
    }
}

/* ---- behavior ---- */

static void check_range(yyjson_mut_val *of, const char *member, const struct path *at, int64_t min,
                        const char *low, int64_t max, struct causes *c) {
    struct path here = path_member(at, member);
    yyjson_mut_val *v = json_mget(of, str_of(member));
    int64_t n = yyjson_mut_get_sint(v);
    if (v != NULL && n < min) {
        cause_invalid_json(c, &here, v, "must be greater than %s", low);
    } else if (v != NULL && max > 0 && n > max) {
        cause_invalid_json(c, &here, v, "must be less than or equal to %lld", (long long)max);
    }
}

void autoscaler_check_rules(yyjson_mut_val *rules, const struct path *at, struct causes *c) {
    static const char *const selects[] = {"Disabled", "Max", "Min", NULL};
    static const char *const types[] = {"Percent", "Pods", NULL};
    struct path list = path_member(at, "policies"), select = path_member(at, "selectPolicy");
    struct path tolerance = path_member(at, "tolerance");
    yyjson_mut_val *policies = json_mget(rules, STR("policies"));
    struct str v = json_mstr_at(rules, "selectPolicy"), t = json_mstr_at(rules, "tolerance");
    struct quantity q;
    if (!yyjson_mut_is_obj(rules)) {
        return;
    }
    check_range(rules, "stabilizationWindowSeconds", at, 0, "or equal to zero", WINDOW_MAX_S, c);
    if (json_mget(rules, STR("selectPolicy")) != NULL && !is_one_of(v, selects)) {
        cause_unsupported(c, &select, v, selects);
    }
    if (yyjson_mut_arr_size(policies) == 0) {
        cause_required(c, &list, "must specify at least one Policy");
    }
    EACH(policies, i, p) {
        struct path here = path_index(&list, i), type = path_member(&here, "type");
        if (!is_one_of(json_mstr_at(p, "type"), types)) {
            cause_unsupported(c, &type, json_mstr_at(p, "type"), types);
        }
        check_range(p, "value", &here, 1, "zero", 0, c);
        check_range(p, "periodSeconds", &here, 1, "zero", PERIOD_MAX_S, c);
    }
    if (t.n > 0 && quantity_parse(t, &q, NULL) == 0 && quantity_sign(q) < 0) {
        cause_invalid(c, &tolerance, t, "must be greater than or equal to 0");
    }
}

/* ---- the whole ---- */

static void check_bounds(yyjson_mut_val *spec, yyjson_val *old, const struct path *at,
                         struct causes *c) {
    struct path least = path_member(at, "minReplicas"), most = path_member(at, "maxReplicas");
    yyjson_mut_val *min = json_mget(spec, STR("minReplicas"));
    yyjson_mut_val *max = json_mget(spec, STR("maxReplicas"));
    int64_t bound = json_i64_at(old, "spec.minReplicas", 1) == 0 ? 0 : 1;
    int64_t lo = yyjson_mut_get_sint(min), hi = yyjson_mut_get_sint(max);
    if (min != NULL && lo < bound) {
        cause_invalid_json(c, &least, min, "must be greater than or equal to %lld",
                           (long long)bound);
    }
    if (hi == 0) {
        cause_required(c, &most, "must be set and greater than 0");
    } else if (hi < 0) {
        cause_invalid_json(c, &most, max, "must be greater than or equal to 1");
    }
    if (min != NULL && max != NULL && hi < lo) {
        cause_invalid_json(c, &most, max, "must be greater than or equal to `minReplicas`");
    }
}

void autoscaler_check(yyjson_mut_val *obj, yyjson_val *old, struct causes *c) {
    struct path at = path_member(NULL, "spec"), target = path_member(&at, "scaleTargetRef");
    struct path metrics = path_member(&at, "metrics"), behavior = path_member(&at, "behavior");
    struct path up = path_member(&behavior, "scaleUp"), down = path_member(&behavior, "scaleDown");
    yyjson_mut_val *spec = json_mget(obj, STR("spec"));
    yyjson_mut_val *ref = json_mget(spec, STR("scaleTargetRef"));
    yyjson_mut_val *list = json_mget(spec, STR("metrics"));
    struct str kind = json_mstr_at(ref, "kind"), version = json_mstr_at(ref, "apiVersion");
    bool same = old != NULL &&
                str_eq(version, json_str_at(old, "spec.scaleTargetRef.apiVersion")) &&
                str_eq(kind, json_str_at(old, "spec.scaleTargetRef.kind"));
    bool outside = false;
    if (c->status_alone) {
        return;
    }
    check_bounds(spec, old, &at, c);
    check_ref(ref, &target, !same, !str_is(kind, "ReplicationController"), c);
    if (!check_size(list, &metrics, c)) {
        return;
    }
    EACH(list, i, m) {
        struct path here = path_index(&metrics, i);
        struct str type = json_mstr_at(m, "type");
        check_metric(m, &here, c);
        outside = outside || str_is(type, "Object") || str_is(type, "External");
    }
    yyjson_mut_val *min = json_mget(spec, STR("minReplicas"));
    if (min != NULL && yyjson_mut_get_sint(min) == 0 && !outside) {
        cause_forbidden(c, &metrics,
                        "must specify at least one Object or External metric to "
                        "support scaling to zero replicas");
    }
    autoscaler_check_rules(json_mpath(spec, "behavior.scaleUp"), &up, c);
    autoscaler_check_rules(json_mpath(spec, "behavior.scaleDown"), &down, c);
}
