/*
 * formula: the expressions of scalingModifiers, KEDA's composite metric: numbers by the names of triggers, in the
 * part of expr-lang that makes sense for numbers.
 *
 *     + - * / % ** ^    < <= > >= == != in    and && or || not !    ?? (nil)    a..b    c ? x : y    let x = y; z
 * x | f()     abs ceil floor round int float string len min max sum mean median
 *     all any none one count filter map reduce, with # for the element (and #acc)
 *
 * Parsed and checked once (names, types), run often. An expression is wrapped as KEDA wraps it: its result is made a
 * float, and nil stays nil where the text has "??". Integers and floats differ (% is of integers, / gives floats).
 * Bounded: FORMULA_BYTES of text, FORMULA_DEPTH of nesting, FORMULA_STEPS of work in one run.
 */
#ifndef BERTH_CORE_FORMULA_H
#define BERTH_CORE_FORMULA_H

#include "base/arena.h"
#include "base/err.h"

enum { FORMULA_BYTES = 16384, FORMULA_DEPTH = 100, FORMULA_STEPS = 1000000 };

struct formula;

/* A variable; nil: there is no value now. */
struct formula_value {
    struct str name;
    double value;
    bool nil;
};

/* In the arena, which also holds the names and the text. ERR_INVALID with what is wrong; ERR_NOMEM. */
int formula_parse(struct arena *a, struct str text, const struct str *names, size_t n,
                  struct formula **ret, struct err *err);
/* The values in any order; one that is missing is nil. *ret_nil: the result is nil. ERR_INVALID: it cannot be computed,
 * or is no float.
 * With ret NULL it is only tried, and may come to anything. */
int formula_run(const struct formula *f, struct arena *a, const struct formula_value *values,
                size_t n, double *ret, bool *ret_nil, struct err *err);

#endif
