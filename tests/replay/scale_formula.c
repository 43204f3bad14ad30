/*
 * scale_formula: formulas of scalingModifiers: is one valid, and what is its value.
 */
#include <math.h>
#include <stdlib.h>

#include "core/scale/keda_modify.h"
#include "scale_case.h"
#include "wire/text/quantity.h"

static bool fails(yyjson_val *list, struct str name) {
    for (size_t i = 0; i < yyjson_arr_size(list); i++) {
        if (str_eq(json_str(yyjson_arr_get(list, i)), name)) {
            return true;
        }
    }
    return false;
}

static bool value_agrees(yyjson_val *c, int rc, double got, const struct err *err,
                         struct buf *difference) {
    struct quantity want;
    if (json_bool_at(c, "undefined", false)) {
        return true;
    }
    if (json_bool_at(c, "error", false) || rc != 0) {
        return (rc != 0) == json_bool_at(c, "error", false) ||
               scale_differs(difference, "%s (%g)", rc ? err->text : "no error", got);
    }
    if (quantity_parse(json_str_at(c, "composite"), &want, NULL) != 0) {
        return scale_differs(difference, "no composite, but %g", got);
    }
    double off = trunc(got * 1000) - (double)quantity_milli(want);
    return fabs(off) <= 1 || scale_differs(difference, "composite %g", got);
}

bool scale_formula(yyjson_val *c, struct arena *a, struct buf *difference) {
    yyjson_val *triggers = json_get(c, STR("triggers")), *key, *value;
    yyjson_val *failing = json_get(c, STR("failingTriggers"));
    yyjson_val *replicas = json_get(c, STR("fallbackReplicas"));
    size_t n = yyjson_obj_size(triggers), i, max;
    struct str *names = ARENA_ARRAY(a, struct str, n + 1);
    struct formula_value *values = ARENA_ARRAY(a, struct formula_value, n + 1);
    struct keda_fallback fallback = {.replicas = (int32_t)yyjson_get_sint(replicas),
                                     .behavior = STR("scalingModifiers")};
    struct keda_modifiers m = {.formula = json_str_at(c, "formula"),
                               .target = json_str_at(c, "target")};
    struct formula *f = NULL;
    struct err err = {0};
    yyjson_obj_foreach(triggers, i, max, key, value) {
        names[i] = json_str(key);
        values[i] = (struct formula_value){names[i], yyjson_get_num(value),
                                           replicas != NULL && fails(failing, names[i])};
    }
    int rc = keda_modify_parse(&m, names, n, a, &f, &err);
    if ((rc == 0) != json_bool_at(c, "valid", false)) {
        return scale_differs(difference, "%s", rc ? err.text : "valid");
    }
    double got = 0;
    rc = rc ? 0 : keda_modify(&m, f, replicas ? &fallback : NULL, values, n, a, &got, &err);
    return f == NULL || value_agrees(c, rc, got, &err, difference);
}
