/*
 * formula_check: what the parts of an expression are, as far as that can be said before it runs: names that are not
 * there, and numbers where truths should be.
 */
#include "core/formula/private.h"

struct formula_type {
    enum formula_kind kind;
    const struct formula_type *of; /* of a list's elements */
};
static const struct formula_type ANY = {KIND_OF_ANY, NULL};

struct formula_checker {
    struct arena *arena;
    const struct formula *formula;
    struct err *err;
    int rc;
};

static struct formula_type check(struct formula_checker *c, const struct formula_node *x,
                                 const struct formula_scope *scope);

static struct formula_type wrong(struct formula_checker *c, const char *what) {
    if (c->rc == 0) {
        c->rc = err_set(c->err, ERR_INVALID, "formula: %s", what);
    }
    return ANY;
}

static struct formula_type simple(enum formula_kind kind) {
    return (struct formula_type){kind, NULL};
}

static bool is(struct formula_type t, enum formula_kind kind) {
    return t.kind == kind || t.kind == KIND_OF_ANY;
}

static bool numeric(struct formula_type t) {
    return t.kind == KIND_OF_INT || t.kind == KIND_OF_FLOAT || t.kind == KIND_OF_ANY;
}

static struct formula_type list_of(struct formula_checker *c, struct formula_type of) {
    struct formula_type *t = ARENA_NEW(c->arena, struct formula_type);
    if (t == NULL) {
        c->rc = ERR_NOMEM;
        return ANY;
    }
    *t = of;
    return (struct formula_type){KIND_OF_LIST, t};
}

static struct formula_type named(struct formula_checker *c, const struct formula_node *x,
                                 const struct formula_scope *scope) {
    for (; scope != NULL; scope = scope->outer) {
        if (scope->name.n > 0 && str_eq(scope->name, x->text)) {
            return *(const struct formula_type *)scope->bound;
        }
    }
    for (size_t i = 0; i < c->formula->n_names; i++) {
        if (str_eq(c->formula->names[i], x->text)) {
            return simple(KIND_OF_FLOAT);
        }
    }
    return wrong(c, "unknown name");
}

static struct formula_type element(struct formula_checker *c, const struct formula_scope *scope,
                                   bool acc) {
    while (scope != NULL && scope->name.n > 0) {
        scope = scope->outer;
    }
    if (scope == NULL || (acc && scope->acc == NULL)) {
        return wrong(c, "no element here");
    }
    return acc ? ANY : *(const struct formula_type *)scope->bound;
}

static struct formula_type arithmetic(struct formula_checker *c, const struct formula_node *x,
                                      struct formula_type l, struct formula_type r) {
    if (x->op == FORMULA_ADD && l.kind == KIND_OF_TEXT && r.kind == KIND_OF_TEXT) {
        return simple(KIND_OF_TEXT);
    }
    if (!numeric(l) || !numeric(r)) {
        return wrong(c, "invalid operation: mismatched types");
    }
    if (x->op == FORMULA_DIV || x->op == FORMULA_POW) {
        return simple(KIND_OF_FLOAT);
    }
    if (l.kind == KIND_OF_ANY || r.kind == KIND_OF_ANY) {
        return ANY;
    }
    return simple(l.kind == KIND_OF_INT && r.kind == KIND_OF_INT ? KIND_OF_INT : KIND_OF_FLOAT);
}

static struct formula_type binary(struct formula_checker *c, const struct formula_node *x,
                                  const struct formula_scope *scope) {
    struct formula_type l = check(c, x->args[0], scope), r = check(c, x->args[1], scope);
    switch (x->op) {
    case FORMULA_MOD:
        return is(l, KIND_OF_INT) && is(r, KIND_OF_INT) ? simple(KIND_OF_INT)
                                                        : wrong(c, "% is of integers");
    case FORMULA_AND:
    case FORMULA_OR:
        return is(l, KIND_OF_BOOL) && is(r, KIND_OF_BOOL) ? simple(KIND_OF_BOOL)
                                                          : wrong(c, "expected truths");
    case FORMULA_LT:
    case FORMULA_LE:
    case FORMULA_GT:
    case FORMULA_GE:
        return (numeric(l) && numeric(r)) || (is(l, KIND_OF_TEXT) && is(r, KIND_OF_TEXT))
                   ? simple(KIND_OF_BOOL)
                   : wrong(c, "invalid operation: mismatched types");
    case FORMULA_EQ:
    case FORMULA_NE:
        return l.kind == r.kind || (numeric(l) && numeric(r)) || is(l, KIND_OF_NIL) ||
                       is(r, KIND_OF_NIL)
                   ? simple(KIND_OF_BOOL)
                   : wrong(c, "invalid operation: mismatched types");
    case FORMULA_IN:
        return is(r, KIND_OF_LIST) ? simple(KIND_OF_BOOL) : wrong(c, "in needs a list");
    case FORMULA_RANGE:
        return is(l, KIND_OF_INT) && is(r, KIND_OF_INT) ? list_of(c, simple(KIND_OF_INT))
                                                        : wrong(c, ".. is of integers");
    case FORMULA_ELSE:
        return l.kind == KIND_OF_NIL ? r : r.kind == KIND_OF_NIL || l.kind == r.kind ? l : ANY;
    default:
        return arithmetic(c, x, l, r);
    }
}

static struct formula_type chosen(struct formula_checker *c, const struct formula_node *x,
                                  const struct formula_scope *scope) {
    if (!is(check(c, x->args[0], scope), KIND_OF_BOOL)) {
        return wrong(c, "non-bool expression used as condition");
    }
    struct formula_type yes = check(c, x->args[1], scope), no = check(c, x->args[2], scope);
    return yes.kind == KIND_OF_NIL ? no : no.kind == KIND_OF_NIL || yes.kind == no.kind ? yes : ANY;
}

static struct formula_type listed(struct formula_checker *c, const struct formula_node *x,
                                  const struct formula_scope *scope) {
    struct formula_type all = ANY;
    for (size_t i = 0; i < x->n; i++) {
        struct formula_type t = check(c, x->args[i], scope);
        all = i == 0 || t.kind == all.kind ? t : ANY;
    }
    return list_of(c, all);
}

static struct formula_type looped(struct formula_checker *c, const struct formula_node *x,
                                  const struct formula_scope *scope) {
    struct formula_type list = check(c, x->args[0], scope);
    struct formula_type of = list.kind == KIND_OF_LIST && list.of != NULL ? *list.of : ANY,
                        out = of;
    struct formula_scope here = {
        .outer = scope, .bound = &of, .acc = x->call == CALL_REDUCE ? &of : NULL};
    if (!is(list, KIND_OF_LIST)) {
        return wrong(c, "expected a list");
    }
    if (x->n > 1) {
        out = check(c, x->args[1], &here);
    }
    if (x->n > 2) {
        check(c, x->args[2], scope);
    }
    if (x->call == CALL_SUM) {
        return out;
    }
    if (x->call == CALL_REDUCE) {
        return ANY;
    }
    if (x->call == CALL_MAP) {
        return list_of(c, out);
    }
    if (!is(out, KIND_OF_BOOL)) {
        return wrong(c, "predicate should return boolean");
    }
    return x->call == CALL_COUNT    ? simple(KIND_OF_INT)
           : x->call == CALL_FILTER ? list_of(c, of)
                                    : simple(KIND_OF_BOOL);
}

static struct formula_type called(struct formula_checker *c, const struct formula_node *x,
                                  const struct formula_scope *scope) {
    struct formula_type first = ANY;
    bool numbers = true, lists = false;
    if (formula_loops(x->call)) {
        return looped(c, x, scope);
    }
    for (size_t i = 0; i < x->n; i++) {
        struct formula_type t = check(c, x->args[i], scope);
        first = i == 0 ? t : first;
        numbers = numbers && (numeric(t) || lists || t.kind == KIND_OF_LIST);
        lists = lists || t.kind == KIND_OF_LIST || t.kind == KIND_OF_ANY;
    }
    switch (x->call) {
    case CALL_MIN:
    case CALL_MAX:
    case CALL_MEAN:
    case CALL_MEDIAN:
        return !numbers ? wrong(c, "invalid argument: expected numbers") : lists ? ANY : first;
    case CALL_LEN:
        return is(first, KIND_OF_LIST) || is(first, KIND_OF_TEXT) ? simple(KIND_OF_INT)
                                                                  : wrong(c, "len needs a list");
    case CALL_STRING:
        return simple(KIND_OF_TEXT);
    case CALL_INT:
    case CALL_TO_FLOAT:
        return numeric(first) || first.kind == KIND_OF_TEXT
                   ? simple(x->call == CALL_INT ? KIND_OF_INT : KIND_OF_FLOAT)
                   : wrong(c, "invalid argument: expected a number");
    default:
        return !numeric(first)       ? wrong(c, "invalid argument: expected a number")
               : x->call == CALL_ABS ? first
                                     : simple(KIND_OF_FLOAT);
    }
}

static struct formula_type let(struct formula_checker *c, const struct formula_node *x,
                               const struct formula_scope *scope) {
    struct formula_type value = check(c, x->args[0], scope);
    struct formula_scope here = {.outer = scope, .name = x->text, .bound = &value};
    for (size_t i = 0; i < c->formula->n_names; i++) {
        if (str_eq(c->formula->names[i], x->text)) {
            return wrong(c, "cannot redeclare a trigger");
        }
    }
    return check(c, x->args[1], &here);
}

static struct formula_type check(struct formula_checker *c, const struct formula_node *x,
                                 const struct formula_scope *scope) {
    struct formula_type t;
    if (c->rc != 0) {
        return ANY;
    }
    switch (x->op) {
    case FORMULA_INT:
    case FORMULA_AT:
        return simple(KIND_OF_INT);
    case FORMULA_FLOAT:
        return simple(KIND_OF_FLOAT);
    case FORMULA_TRUE:
    case FORMULA_FALSE:
        return simple(KIND_OF_BOOL);
    case FORMULA_NIL:
        return simple(KIND_OF_NIL);
    case FORMULA_TEXT:
        return simple(KIND_OF_TEXT);
    case FORMULA_NAME:
        return named(c, x, scope);
    case FORMULA_THIS:
    case FORMULA_ACC:
        return element(c, scope, x->op == FORMULA_ACC);
    case FORMULA_LIST:
        return listed(c, x, scope);
    case FORMULA_CALL:
        return called(c, x, scope);
    case FORMULA_NOT:
        return is(check(c, x->args[0], scope), KIND_OF_BOOL) ? simple(KIND_OF_BOOL)
                                                             : wrong(c, "expected a truth");
    case FORMULA_MINUS:
    case FORMULA_PLUS:
        t = check(c, x->args[0], scope);
        return numeric(t) ? t : wrong(c, "expected a number");
    case FORMULA_CHOOSE:
        return chosen(c, x, scope);
    case FORMULA_LET:
        return let(c, x, scope);
    default:
        return binary(c, x, scope);
    }
}

int formula_check(struct arena *a, const struct formula *f, struct err *err) {
    struct formula_checker c = {.arena = a, .formula = f, .err = err};
    check(&c, f->root, NULL);
    return c.rc;
}
