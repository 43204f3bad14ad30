/*
 * keda_modify: the formula's checks and its value, with what stands in for nil.
 */
#include "core/scale/keda_modify.h"

#include <math.h>

#include "core/scale/go_float.h"

int keda_modify_parse(const struct keda_modifiers *m, const struct str *names, size_t n,
                      struct arena *a, struct formula **ret, struct err *err) {
    struct formula *f = NULL;
    struct formula_value *dummies = ARENA_ARRAY(a, struct formula_value, n + 1);
    double target = 0;
    if (dummies == NULL) {
        return ERR_NOMEM;
    }
    if (m->formula.n == 0) {
        return err_set(err, ERR_INVALID, "error ScalingModifiers.Formula is mandatory");
    }
    if (m->target.n == 0) {
        return err_set(err, ERR_INVALID,
                       "error validating formula in ScalingModifiers: formula is "
                       "given but target is empty");
    }
    for (size_t i = 0; i < n; i++) {
        dummies[i] = (struct formula_value){names[i], -1.0, false};
    }
    int rc = formula_parse(a, m->formula, names, n, &f, err);
    rc = rc ? rc : formula_run(f, a, dummies, n, NULL, NULL, err);
    if (rc != 0) {
        return err_wrap(err, "error validating formula in ScalingModifiers");
    }
    if (!go_float(m->target, &target) || !(target > 0)) {
        return err_set(err, ERR_INVALID,
                       "error converting target for scalingModifiers "
                       "(string->float) to valid target: \"%.*s\"",
                       STR_ARG(m->target));
    }
    if (str_is(m->metric_type, "Utilization")) {
        return err_set(err, ERR_INVALID,
                       "error trigger type is Utilization, but it needs to be "
                       "AverageValue or Value for external metrics");
    }
    *ret = f;
    return 0;
}

int keda_modify(const struct keda_modifiers *m, const struct formula *f,
                const struct keda_fallback *fallback, const struct formula_value *values, size_t n,
                struct arena *a, double *ret, struct err *err) {
    double value = 0, target = 0;
    bool nil = false;
    int rc = formula_run(f, a, values, n, &value, &nil, err);
    if (rc != 0) {
        return rc;
    }
    if (nil && fallback == NULL) {
        return err_set(err, ERR_INVALID,
                       "scalingModifiers formula evaluated to nil but no fallback is configured");
    }
    if (nil && go_float(m->target, &target)) {
        value = (double)fallback->replicas * target;
    }
    if (!(fabs(value) < 9.2e15)) {
        return err_set(err, ERR_INVALID,
                       "the value of the scalingModifiers formula does not fit a "
                       "metric");
    }
    *ret = value;
    return 0;
}
