/*
 * keda_modify: scalingModifiers: one metric that a formula makes of the triggers' values.
 */
#ifndef BERTH_CORE_KEDA_MODIFY_H
#define BERTH_CORE_KEDA_MODIFY_H

#include "api/scaling/view_keda.h"
#include "core/formula/formula.h"

#define KEDA_COMPOSITE "composite-metric"

/* As KEDA's webhook checks it: the formula is there and runs with -1 for each trigger, and the target is a number above
 * 0. `names`: those of triggers that are read from sources. ERR_INVALID, ERR_NOMEM. */
int keda_modify_parse(const struct keda_modifiers *m, const struct str *names, size_t n,
                      struct arena *a, struct formula **ret, struct err *err);
/* The metric's value. Where the formula's is nil, the fallback's replicas count, times the target. ERR_INVALID: there
 * is none, also where the value is no number that a metric can have. */
int keda_modify(const struct keda_modifiers *m, const struct formula *f,
                const struct keda_fallback *fallback, const struct formula_value *values, size_t n,
                struct arena *a, double *ret, struct err *err);

#endif
