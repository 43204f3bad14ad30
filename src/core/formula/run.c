/*
 * formula_run: an expression's value.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/formula/private.h"

struct formula_result {
    enum formula_kind kind;
    int64_t i; /* integers and truths */
    double f;
    struct str text;
    struct formula_result *v;
    size_t n;
};

struct formula_runner {
    struct arena *arena;
    const struct formula_value *values;
    size_t n;
    struct err *err;
    int rc;
    size_t steps;
};

static struct formula_result eval(struct formula_runner *r, const struct formula_node *x,
                                  const struct formula_scope *scope);

static const struct formula_result NIL = {.kind = KIND_OF_NIL};

static struct formula_result wrong(struct formula_runner *r, const char *what) {
    if (r->rc == 0) {
        r->rc = err_set(r->err, ERR_INVALID, "formula: %s", what);
    }
    return NIL;
}

static struct formula_result of_int(int64_t i) {
    return (struct formula_result){.kind = KIND_OF_INT, .i = i};
}

static struct formula_result of_float(double f) {
    return (struct formula_result){.kind = KIND_OF_FLOAT, .f = f};
}

static struct formula_result of_bool(bool b) {
    return (struct formula_result){.kind = KIND_OF_BOOL, .i = b};
}

static bool numeric(const struct formula_result *v) {
    return v->kind == KIND_OF_INT || v->kind == KIND_OF_FLOAT;
}

static double number(const struct formula_result *v) {
    return v->kind == KIND_OF_INT ? (double)v->i : v->f;
}

static struct formula_result list(struct formula_runner *r, size_t n) {
    struct formula_result v = {.kind = KIND_OF_LIST, .n = n};
    r->steps += n;
    if (r->steps > FORMULA_STEPS) {
        return wrong(r, "takes too long");
    }
    v.v = ARENA_ARRAY(r->arena, struct formula_result, n + 1);
    r->rc = v.v == NULL ? ERR_NOMEM : r->rc;
    return v.v == NULL ? NIL : v;
}

static bool same(const struct formula_result *a, const struct formula_result *b) {
    if (numeric(a) && numeric(b)) {
        return number(a) == number(b);
    }
    if (a->kind != b->kind) {
        return false;
    }
    if (a->kind == KIND_OF_LIST) {
        bool all = a->n == b->n;
        for (size_t i = 0; all && i < a->n; i++) {
            all = same(&a->v[i], &b->v[i]);
        }
        return all;
    }
    return a->kind == KIND_OF_NIL ||
           (a->kind == KIND_OF_TEXT ? str_eq(a->text, b->text) : a->i == b->i);
}

static struct formula_result named(struct formula_runner *r, const struct formula_node *x,
                                   const struct formula_scope *scope) {
    for (; scope != NULL; scope = scope->outer) {
        if (scope->name.n > 0 && str_eq(scope->name, x->text)) {
            return *(const struct formula_result *)scope->bound;
        }
    }
    for (size_t i = 0; i < r->n; i++) {
        if (str_eq(r->values[i].name, x->text)) {
            return r->values[i].nil ? NIL : of_float(r->values[i].value);
        }
    }
    return NIL;
}

static const struct formula_scope *element(const struct formula_scope *scope) {
    while (scope != NULL && scope->name.n > 0) {
        scope = scope->outer;
    }
    return scope;
}

/* ---- operators ---- */

static struct formula_result arithmetic(struct formula_runner *r, enum formula_op op,
                                        const struct formula_result *a,
                                        const struct formula_result *b) {
    if (!numeric(a) || !numeric(b)) {
        return wrong(r, "an operand is no number");
    }
    if (op == FORMULA_DIV) {
        return of_float(number(a) / number(b));
    }
    if (op == FORMULA_POW) {
        return of_float(pow(number(a), number(b)));
    }
    if (a->kind == KIND_OF_INT && b->kind == KIND_OF_INT) {
        uint64_t x = (uint64_t)a->i, y = (uint64_t)b->i; /* Go's integers wrap */
        return of_int((int64_t)(op == FORMULA_ADD ? x + y : op == FORMULA_SUB ? x - y : x * y));
    }
    double x = number(a), y = number(b);
    return of_float(op == FORMULA_ADD ? x + y : op == FORMULA_SUB ? x - y : x * y);
}

static struct formula_result ordered(struct formula_runner *r, enum formula_op op,
                                     const struct formula_result *a,
                                     const struct formula_result *b) {
    bool texts = a->kind == KIND_OF_TEXT && b->kind == KIND_OF_TEXT;
    if (!texts && (!numeric(a) || !numeric(b))) {
        return wrong(r, "an operand is no number");
    }
    double x = texts ? (double)str_cmp(a->text, b->text) : number(a), y = texts ? 0 : number(b);
    return of_bool(op == FORMULA_LT   ? x < y
                   : op == FORMULA_LE ? x <= y
                   : op == FORMULA_GT ? x > y
                                      : x >= y);
}

static struct formula_result range(struct formula_runner *r, const struct formula_result *a,
                                   const struct formula_result *b) {
    if (a->kind != KIND_OF_INT || b->kind != KIND_OF_INT) {
        return wrong(r, ".. is of integers");
    }
    if (b->i >= a->i && (uint64_t)b->i - (uint64_t)a->i >= FORMULA_STEPS) {
        return wrong(r, "takes too long");
    }
    struct formula_result v = list(r, b->i < a->i ? 0 : (size_t)(b->i - a->i) + 1);
    for (size_t i = 0; i < v.n; i++) {
        v.v[i] = of_int(a->i + (int64_t)i);
    }
    return v;
}

static struct formula_result member(struct formula_runner *r, const struct formula_result *a,
                                    const struct formula_result *in) {
    if (in->kind != KIND_OF_LIST) {
        return wrong(r, "in needs a list");
    }
    for (size_t i = 0; i < in->n; i++) {
        if (same(a, &in->v[i])) {
            return of_bool(true);
        }
    }
    return of_bool(false);
}

static bool truth(struct formula_runner *r, const struct formula_result *v) {
    if (v->kind != KIND_OF_BOOL) {
        wrong(r, "expected a truth");
    }
    return v->kind == KIND_OF_BOOL && v->i != 0;
}

static struct formula_result binary(struct formula_runner *r, const struct formula_node *x,
                                    const struct formula_scope *scope) {
    struct formula_result a = eval(r, x->args[0], scope), b;
    if (x->op == FORMULA_ELSE && r->rc == 0) {
        return a.kind == KIND_OF_NIL ? eval(r, x->args[1], scope) : a;
    }
    if ((x->op == FORMULA_AND || x->op == FORMULA_OR) && r->rc == 0) {
        bool first = truth(r, &a);
        if (r->rc != 0 || first == (x->op == FORMULA_OR)) {
            return of_bool(first);
        }
        b = eval(r, x->args[1], scope);
        return of_bool(truth(r, &b));
    }
    b = eval(r, x->args[1], scope);
    if (r->rc != 0) {
        return NIL;
    }
    switch (x->op) {
    case FORMULA_MOD:
        return a.kind != KIND_OF_INT || b.kind != KIND_OF_INT ? wrong(r, "% is of integers")
               : b.i == 0                                     ? wrong(r, "integer divide by zero")
               : b.i == -1                                    ? of_int(0)
                                                              : of_int(a.i % b.i);
    case FORMULA_EQ:
        return of_bool(same(&a, &b));
    case FORMULA_NE:
        return of_bool(!same(&a, &b));
    case FORMULA_IN:
        return member(r, &a, &b);
    case FORMULA_RANGE:
        return range(r, &a, &b);
    case FORMULA_LT:
    case FORMULA_LE:
    case FORMULA_GT:
    case FORMULA_GE:
        return ordered(r, x->op, &a, &b);
    default:
        return arithmetic(r, x->op, &a, &b);
    }
}

/* ---- functions ---- */

/* Every number of the values, lists within lists too. */
struct formula_numbers {
    struct formula_result *v;
    size_t n, cap;
};

static void gather(struct formula_runner *r, const struct formula_result *v,
                   struct formula_numbers *to) {
    if (v->kind == KIND_OF_LIST) {
        for (size_t i = 0; r->rc == 0 && i < v->n; i++) {
            gather(r, &v->v[i], to);
        }
        return;
    }
    if (!numeric(v)) {
        wrong(r, "an argument is no number");
    } else if (to->n == to->cap && ARENA_GROW(r->arena, to->v, to->cap) != 0) {
        r->rc = ERR_NOMEM;
    } else {
        to->v[to->n++] = *v;
    }
}

static int by_number(const void *x, const void *y) {
    double a = number(x), b = number(y);
    return (a > b) - (a < b);
}

static struct formula_result aggregate(struct formula_runner *r, enum formula_call call,
                                       struct formula_numbers *of) {
    double sum = 0;
    if (call == CALL_MIN || call == CALL_MAX) {
        struct formula_result best = of->n > 0 ? of->v[0] : NIL;
        for (size_t i = 1; i < of->n; i++) {
            bool less = number(&of->v[i]) < number(&best);
            bool more = number(&of->v[i]) > number(&best);
            best = (call == CALL_MIN ? less : more) ? of->v[i] : best;
        }
        return best;
    }
    if (of->n == 0) {
        return of_float(0);
    }
    if (call == CALL_MEDIAN) {
        qsort(of->v, of->n, sizeof(*of->v), by_number);
        size_t mid = of->n / 2;
        return of_float(of->n % 2 ? number(&of->v[mid])
                                  : (number(&of->v[mid - 1]) + number(&of->v[mid])) / 2);
    }
    for (size_t i = 0; i < of->n; i++) {
        sum += number(&of->v[i]);
    }
    (void)r;
    return of_float(sum / (double)of->n);
}

static struct formula_result converted(struct formula_runner *r, enum formula_call call,
                                       struct formula_result v) {
    char text[64];
    if (v.kind == KIND_OF_TEXT) {
        char *end = text;
        bool fits = str_copy(str_trim(v.text), text, sizeof(text));
        double f = fits ? strtod(text, &end) : 0;
        if (!fits || end == text || *end != '\0') {
            return wrong(r, "a text is no number");
        }
        v = of_float(f);
    }
    if (!numeric(&v)) {
        return wrong(r, "an argument is no number");
    }
    double f = number(&v);
    switch (call) {
    case CALL_INT:
        if (v.kind == KIND_OF_FLOAT && !(fabs(f) < 9.2e18)) {
            return wrong(r, "a number does not fit an integer");
        }
        return v.kind == KIND_OF_INT ? v : of_int((int64_t)f);
    case CALL_TO_FLOAT:
        return of_float(f);
    case CALL_ABS:
        return v.kind == KIND_OF_INT ? of_int(v.i < 0 ? (int64_t)(0 - (uint64_t)v.i) : v.i)
                                     : of_float(fabs(f));
    case CALL_CEIL:
        return of_float(ceil(f));
    case CALL_FLOOR:
        return of_float(floor(f));
    default:
        return of_float(round(f));
    }
}

static struct formula_result to_text(struct formula_runner *r, const struct formula_result *v) {
    struct str t = v->kind == KIND_OF_TEXT    ? v->text
                   : v->kind == KIND_OF_INT   ? arena_f(r->arena, "%lld", (long long)v->i)
                   : v->kind == KIND_OF_FLOAT ? arena_f(r->arena, "%.17g", v->f)
                   : v->kind == KIND_OF_BOOL  ? (v->i ? STR("true") : STR("false"))
                                              : STR("nil");
    return (struct formula_result){.kind = KIND_OF_TEXT, .text = t};
}

/* What the second argument says of one element; the element itself where there is none. */
static struct formula_result of_element(struct formula_runner *r, const struct formula_node *x,
                                        const struct formula_scope *scope,
                                        const struct formula_result *e,
                                        const struct formula_result *acc, size_t at) {
    struct formula_scope here = {.outer = scope, .bound = e, .acc = acc, .at = (int64_t)at};
    return x->n > 1 ? eval(r, x->args[1], &here) : *e;
}

static struct formula_result reduce(struct formula_runner *r, const struct formula_node *x,
                                    const struct formula_scope *scope,
                                    const struct formula_result *of) {
    size_t from = x->n > 2 ? 0 : 1;
    if (from == 1 && of->n == 0) {
        return wrong(r, "reduce of an empty list");
    }
    struct formula_result acc = x->n > 2 ? eval(r, x->args[2], scope) : of->v[0];
    for (size_t i = from; r->rc == 0 && i < of->n; i++) {
        acc = of_element(r, x, scope, &of->v[i], &acc, i);
    }
    return acc;
}

static struct formula_result looped(struct formula_runner *r, const struct formula_node *x,
                                    const struct formula_scope *scope) {
    struct formula_result of = eval(r, x->args[0], scope), sum = of_int(0);
    size_t n = 0;
    if (r->rc != 0 || of.kind != KIND_OF_LIST) {
        return wrong(r, "expected a list");
    }
    if (x->call == CALL_REDUCE) {
        return reduce(r, x, scope, &of);
    }
    struct formula_result out = list(r, of.n);
    for (size_t i = 0; r->rc == 0 && i < of.n; i++) {
        struct formula_result v = of_element(r, x, scope, &of.v[i], NULL, i);
        if (r->rc != 0) {
            break;
        }
        if (x->call == CALL_SUM) {
            sum = arithmetic(r, FORMULA_ADD, &sum, &v);
        } else if (x->call == CALL_MAP) {
            out.v[n++] = v;
        } else {
            bool fits = truth(r, &v);
            n += fits;
            out.v[fits ? n - 1 : n] = fits ? of.v[i] : NIL;
            if ((x->call == CALL_ALL && !fits) ||
                ((x->call == CALL_ANY || x->call == CALL_NONE) && fits)) {
                break; /* the rest is not looked at */
            }
        }
    }
    out.n = n;
    switch (x->call) {
    case CALL_SUM:
        return sum;
    case CALL_COUNT:
        return of_int((int64_t)n);
    case CALL_ALL:
        return of_bool(n == of.n);
    case CALL_ANY:
        return of_bool(n > 0);
    case CALL_NONE:
        return of_bool(n == 0);
    case CALL_ONE:
        return of_bool(n == 1);
    default:
        return out;
    }
}

static struct formula_result called(struct formula_runner *r, const struct formula_node *x,
                                    const struct formula_scope *scope) {
    struct formula_numbers all = {0};
    if (formula_loops(x->call)) {
        return looped(r, x, scope);
    }
    if (x->call >= CALL_MIN) {
        for (size_t i = 0; r->rc == 0 && i < x->n; i++) {
            struct formula_result v = eval(r, x->args[i], scope);
            if (r->rc == 0) {
                gather(r, &v, &all);
            }
        }
        return r->rc == 0 ? aggregate(r, x->call, &all) : NIL;
    }
    struct formula_result v = eval(r, x->args[0], scope);
    if (r->rc != 0) {
        return NIL;
    }
    if (x->call == CALL_LEN) {
        return v.kind == KIND_OF_LIST   ? of_int((int64_t)v.n)
               : v.kind == KIND_OF_TEXT ? of_int((int64_t)v.text.n)
                                        : wrong(r, "len needs a list");
    }
    return x->call == CALL_STRING ? to_text(r, &v) : converted(r, x->call, v);
}

static struct formula_result listed(struct formula_runner *r, const struct formula_node *x,
                                    const struct formula_scope *scope) {
    struct formula_result v = list(r, x->n);
    for (size_t i = 0; r->rc == 0 && i < x->n; i++) {
        v.v[i] = eval(r, x->args[i], scope);
    }
    return v;
}

static struct formula_result signed_value(struct formula_runner *r, const struct formula_node *x,
                                          const struct formula_scope *scope) {
    struct formula_result v = eval(r, x->args[0], scope);
    if (r->rc != 0 || !numeric(&v)) {
        return wrong(r, "an operand is no number");
    }
    return x->op == FORMULA_PLUS   ? v
           : v.kind == KIND_OF_INT ? of_int((int64_t)(0 - (uint64_t)v.i))
                                   : of_float(-v.f);
}

static struct formula_result structured(struct formula_runner *r, const struct formula_node *x,
                                        const struct formula_scope *scope) {
    struct formula_result v = eval(r, x->args[0], scope);
    if (r->rc != 0) {
        return NIL;
    }
    if (x->op == FORMULA_NOT) {
        return of_bool(!truth(r, &v));
    }
    if (x->op == FORMULA_CHOOSE) {
        bool yes = truth(r, &v);
        return eval(r, x->args[yes ? 1 : 2], scope);
    }
    struct formula_scope here = {.outer = scope, .name = x->text, .bound = &v};
    return eval(r, x->args[1], &here);
}

static struct formula_result eval(struct formula_runner *r, const struct formula_node *x,
                                  const struct formula_scope *scope) {
    const struct formula_scope *at;
    if (r->rc != 0 || ++r->steps > FORMULA_STEPS) {
        return wrong(r, "takes too long");
    }
    switch (x->op) {
    case FORMULA_INT:
        return of_int(x->i);
    case FORMULA_FLOAT:
        return of_float(x->f);
    case FORMULA_TRUE:
    case FORMULA_FALSE:
        return of_bool(x->op == FORMULA_TRUE);
    case FORMULA_NIL:
        return NIL;
    case FORMULA_TEXT:
        return (struct formula_result){.kind = KIND_OF_TEXT, .text = x->text};
    case FORMULA_NAME:
        return named(r, x, scope);
    case FORMULA_THIS:
        return *(const struct formula_result *)element(scope)->bound;
    case FORMULA_ACC:
        at = element(scope);
        return at->acc != NULL ? *(const struct formula_result *)at->acc : NIL;
    case FORMULA_AT:
        at = element(scope);
        return at != NULL ? of_int(at->at) : wrong(r, "no element here");
    case FORMULA_LIST:
        return listed(r, x, scope);
    case FORMULA_CALL:
        return called(r, x, scope);
    case FORMULA_MINUS:
    case FORMULA_PLUS:
        return signed_value(r, x, scope);
    case FORMULA_NOT:
    case FORMULA_CHOOSE:
    case FORMULA_LET:
        return structured(r, x, scope);
    default:
        return binary(r, x, scope);
    }
}

int formula_run(const struct formula *f, struct arena *a, const struct formula_value *values,
                size_t n, double *ret, bool *ret_nil, struct err *err) {
    struct formula_runner r = {.arena = a, .values = values, .n = n, .err = err};
    struct formula_result v = eval(&r, f->root, NULL);
    bool none = v.kind == KIND_OF_NIL;
    if (r.rc == 0 && v.kind != KIND_OF_FLOAT && (!none || ret == NULL)) {
        return ret == NULL ? 0 : err_set(err, ERR_INVALID, "formula: the result is no float");
    }
    if (r.rc == 0 && ret != NULL) {
        *ret_nil = none;
        *ret = v.f;
    }
    return r.rc;
}
