/*
 * cel_cost: the most that an expression can cost, from the sizes that its types allow. See cel_sort.h.
 *
 * The units and rules are those of cel-go's checker and of Kubernetes' library, since what is refused for its cost
 * there is to be refused here: a name or member costs 1, a call 1 or what it walks over (texts by the tenth character),
 * a macro its range times its body. What comes from the document has the size that its schema allows; a number from
 * there has none, as upstream.
 */
#include "api/cel/cel_sort.h"
#include "api/cel/cel_tree.h"

#define FOREVER UINT64_MAX

/* Of one expression: what it costs, and how large what it gives may be. */
struct estimate {
    uint64_t cost, size;
    uint64_t least; /* of the size */
    const struct cel_sort
        *from; /* it stands in the document, and is of this type; NULL: it does not */
};

struct cost_name {
    const struct cost_name *up;
    struct str name;
    struct estimate e;
};

static struct estimate estimate(const struct cel_expr *e, const struct cost_name *names);

static uint64_t plus(uint64_t a, uint64_t b) {
    uint64_t v;
    return __builtin_add_overflow(a, b, &v) ? FOREVER : v;
}

static uint64_t times(uint64_t a, uint64_t b) {
    uint64_t v;
    return __builtin_mul_overflow(a, b, &v) ? FOREVER : v;
}

/* A share of a size, rounded up. */
static uint64_t part(uint64_t size, uint64_t of) {
    return size == FOREVER ? FOREVER : size / of + (size % of != 0);
}

static bool is_scalar(const struct cel_sort *s) {
    return s == NULL || strchr("biudDTn", s->letter) != NULL;
}

/* The size of a value of this type that no document has. */
static uint64_t made_size(const struct cel_sort *s) {
    return is_scalar(s) ? 1 : FOREVER;
}

/* The size of a value that stands in the document. */
static uint64_t stored_size(const struct cel_sort *s) {
    bool sized = strchr("sy[{*DT", s->letter) != NULL;
    return sized ? s->most : 0;
}

static struct estimate stored(uint64_t cost, const struct cel_sort *s) {
    return (struct estimate){.cost = cost, .size = stored_size(s), .from = s};
}

static struct estimate made(uint64_t cost, const struct cel_sort *s) {
    return (struct estimate){.cost = cost, .size = made_size(s)};
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* ---- members ---- */

static struct estimate of_ident(const struct cel_expr *e, const struct cost_name *names) {
    for (; names != NULL; names = names->up) {
        if (str_eq(names->name, e->name)) {
            struct estimate x = names->e;
            x.cost = 1;
            return x;
        }
    }
    return stored(1, e->sort);
}

static struct estimate of_select(const struct cel_expr *e, const struct cost_name *names) {
    struct estimate a = estimate(e->a, names);
    char buf[512];
    if (e->op == CEL_HAS) {
        return made(a.cost > 0 ? a.cost - 1 : 0, e->sort);
    }
    bool map = e->a->sort->letter == '{', object = e->a->sort->letter == 'o';
    uint64_t cost = plus(a.cost, map || object || e->optional ? 1 : 0);
    (void)cel_plain_name(e->name, buf, sizeof(buf));
    return a.from != NULL && object && !e->optional ? stored(cost, e->sort) : made(cost, e->sort);
}

static struct estimate of_index(const struct cel_expr *e, const struct cost_name *names) {
    struct estimate a = estimate(e->a, names), b = estimate(e->b, names);
    uint64_t cost = plus(plus(a.cost, b.cost), 1);
    return a.from != NULL && !e->optional ? stored(cost, e->sort) : made(cost, e->sort);
}

/* ---- operators ---- */

static bool is_text(const struct cel_sort *s) {
    return s->letter == 's' || s->letter == 'y';
}

static bool is_open(const struct cel_sort *s) {
    return s->letter == '*';
}

static struct estimate of_binary(const struct cel_expr *e, const struct cost_name *names) {
    struct estimate a = estimate(e->a, names), b = estimate(e->b, names);
    const struct cel_sort *s = e->a->sort, *t = e->b->sort;
    uint64_t args = plus(a.cost, b.cost);
    bool texts = (is_text(s) && (is_text(t) || is_open(t))) || (is_text(t) && is_open(s)) ||
                 (is_open(s) && is_open(t));
    if (e->op == CEL_AND || e->op == CEL_OR) {
        return made(args, e->sort);
    }
    switch (e->which) {
    case BIN_EQ:
    case BIN_NE:
        return made(plus(args, part(smaller(a.size, b.size), 10)), e->sort);
    case BIN_LT:
    case BIN_LE:
    case BIN_GT:
    case BIN_GE:
        return made(plus(args, texts ? part(smaller(a.size, b.size), 10) : 1), e->sort);
    case BIN_IN:
        return made(plus(args, t->letter == '[' ? b.size : 1), e->sort);
    case BIN_ADD: {
        struct estimate x = made(plus(args, 1), e->sort);
        if (texts || s->letter == '[' || t->letter == '[') {
            x.size = plus(a.size, b.size);
            x.cost = texts ? plus(args, part(x.size, 10)) : x.cost;
        }
        return x;
    }
    default:
        return made(plus(args, 1), e->sort);
    }
}

static struct estimate of_cond(const struct cel_expr *e, const struct cost_name *names) {
    struct estimate c = estimate(e->args[0], names), a = estimate(e->args[1], names);
    struct estimate b = estimate(e->args[2], names);
    return (struct estimate){.cost = plus(c.cost, larger(a.cost, b.cost)),
                             .size = larger(a.size, b.size)};
}

/* ---- calls ---- */

static bool one_of(struct str name, const char *const *names) {
    while (*names != NULL && !str_is(name, *names)) {
        names++;
    }
    return *names != NULL;
}

/* The size of what replace gives. */
static uint64_t replaced(uint64_t size, struct estimate what, struct estimate with) {
    uint64_t least = what.least;
    return least == 0           ? plus(times(plus(size, 1), with.size), size)
           : with.size <= least ? size
                                : times(part(size, least), with.size);
}

/* Of a method of a text or list; false: it costs 1. */
static bool of_method(const struct cel_expr *e, struct estimate t, const struct estimate *v,
                      struct estimate *ret) {
    static const char *const copies[] = {"lowerAscii", "upperAscii", "substring", "trim", NULL};
    static const char *const walks[] = {"isSorted", "sum",         "max", "min",
                                        "indexOf",  "lastIndexOf", NULL};
    struct estimate x = made(0, e->sort);
    bool list = e->a->sort->letter == '[';
    const struct cel_sort *item = list ? e->a->sort->a : NULL;
    uint64_t item_size = item == NULL ? 0 : t.from != NULL ? stored_size(item) : made_size(item);
    if (str_is(e->name, "startsWith") || str_is(e->name, "endsWith")) {
        x.cost = part(v[0].size, 10);
    } else if (str_is(e->name, "contains")) {
        x.cost = times(part(t.size, 10), part(v[0].size, 10));
    } else if (str_is(e->name, "matches")) {
        x.cost = times(part(plus(t.size, 1), 10), part(v[0].size, 4));
    } else if (str_is(e->name, "find") || str_is(e->name, "findAll")) {
        x.cost = times(part(plus(t.size, 1), 10), part(v[0].size, 4));
        x.size = t.size;
    } else if (str_is(e->name, "replace")) {
        x.cost = part(t.size, 5);
        x.size = replaced(t.size, v[0], v[1]);
    } else if (str_is(e->name, "split")) {
        x.cost = part(t.size, 5);
        x.size = t.size;
    } else if (str_is(e->name, "join")) {
        x.size = times(t.size, item_size);
        x.size = e->n_args > 0 && t.size > 0 ? plus(x.size, times(v[0].size, t.size - 1)) : x.size;
        x.cost = part(x.size, 10);
    } else if (str_is(e->name, "format")) {
        x.cost = part(t.size, 10);
    } else if (str_is(e->name, "check")) {
        x.cost = 350000;
    } else if (one_of(e->name, copies)) {
        x.cost = part(t.size, 10);
        x.size = t.size;
    } else if (one_of(e->name, walks)) {
        uint64_t each = item != NULL && is_text(item) ? plus(1, part(item_size, 10)) : 1;
        x.cost = list ? times(t.size, each) : part(t.size, 10);
    } else {
        return false;
    }
    *ret = x;
    return true;
}

static struct estimate of_call(const struct cel_expr *e, const struct cost_name *names) {
    enum { MOST = 4 };
    struct estimate v[MOST] = {{0}}, t = {0}, x = made(1, e->sort);
    uint64_t args = 0;
    for (size_t i = 0; i < e->n_args; i++) {
        struct estimate one = estimate(e->args[i], names);
        args = plus(args, one.cost);
        if (i < MOST) {
            v[i] = one;
        }
    }
    if (e->op == CEL_METHOD) {
        t = estimate(e->a, names);
        args = plus(args, t.cost);
        if (!of_method(e, t, v, &x)) {
            x = made(1, e->sort);
        }
    } else if (str_is(e->name, "matches") && e->n_args == 2) {
        x.cost = times(part(plus(v[0].size, 1), 10), part(v[1].size, 4));
    } else if (str_is(e->name, "url")) {
        x.cost = part(v[0].size, 10);
    } else if (str_is(e->name, "dyn")) {
        x.size = v[0].size;
        x.from = v[0].from;
    } else if (str_starts(e->name, STR("sets."))) {
        x.cost = times(v[0].size, v[1].size); /* upstream: the same product, and 1 */
        x.cost = plus(x.cost, 1);
    }
    x.cost = plus(x.cost, args);
    return x;
}

static struct estimate of_collection(const struct cel_expr *e, const struct cost_name *names) {
    uint64_t cost = e->op == CEL_MAKE_LIST ? 10 : e->op == CEL_MAKE_MAP ? 30 : 40;
    for (size_t i = 0; i < e->n_args; i++) {
        cost = plus(cost, estimate(e->args[i], names).cost);
    }
    return (struct estimate){.cost = cost,
                             .size = e->op == CEL_MAKE_LIST ? e->n_args : e->n_args / 2,
                             .least = e->n_args};
}

/* ---- macros ---- */

/* What one element costs, without the body: the variable that gathers, and what is done with it. */
static uint64_t step_cost(const struct cel_expr *e, uint64_t first, uint64_t second) {
    switch (e->which) {
    case MACRO_ALL:
        return plus(first, 3);
    case MACRO_EXISTS:
        return plus(first, 4);
    case MACRO_EXISTS_ONE:
        return plus(first, 2);
    case MACRO_FILTER:
        return plus(first, 13);
    case MACRO_TRANSFORM_MAP:
    case MACRO_TRANSFORM_ENTRY:
        return plus(plus(first, second), 3);
    default:
        return plus(plus(first, second), 12);
    }
}

static struct estimate of_macro(const struct cel_expr *e, const struct cost_name *names) {
    struct estimate of = estimate(e->a, names);
    const struct cel_sort *s = e->a->sort;
    bool list = s->letter == '[', map = s->letter == '{';
    struct estimate key = made(1, &cel_int_sort), value = {.cost = 1, .size = FOREVER};
    if (map) {
        key = of.from != NULL ? (struct estimate){.cost = 1, .from = s->a} : made(1, s->a);
    }
    if (list || map) {
        const struct cel_sort *item = list ? s->a : s->b;
        value = of.from != NULL ? stored(1, item) : made(1, item);
    }
    bool pair = e->var2.n > 0;
    struct cost_name first = {names, e->name, pair ? key : map ? key : value};
    struct cost_name second = {&first, e->var2, value};
    const struct cost_name *inner = pair ? &second : &first;
    struct estimate a = estimate(e->args[0], inner);
    struct estimate b = e->n_args > 1 ? estimate(e->args[1], inner) : (struct estimate){0};
    if (e->which >= MACRO_OPT_MAP) {
        return made(plus(plus(times(of.cost, 2), a.cost), 15), e->sort);
    }
    bool lists =
        e->which == MACRO_FILTER || e->which == MACRO_MAP || e->which == MACRO_TRANSFORM_LIST;
    bool maps = e->which == MACRO_TRANSFORM_MAP || e->which == MACRO_TRANSFORM_ENTRY;
    uint64_t around = lists ? 11 : maps ? 31 : e->which == MACRO_EXISTS_ONE ? 2 : 1;
    uint64_t cost = plus(plus(of.cost, around), times(of.size, step_cost(e, a.cost, b.cost)));
    return (struct estimate){.cost = cost, .size = lists || maps ? of.size : 1};
}

static struct estimate estimate(const struct cel_expr *e, const struct cost_name *names) {
    switch (e->op) {
    case CEL_CONST: {
        bool text = is_text(e->sort);
        return (struct estimate){.size = text ? e->sort->most : 1,
                                 .least = text ? (uint64_t)e->sort->least : 1};
    }
    case CEL_IDENT:
        return of_ident(e, names);
    case CEL_SELECT:
    case CEL_HAS:
        return of_select(e, names);
    case CEL_INDEX:
        return of_index(e, names);
    case CEL_CALL:
    case CEL_METHOD:
        return of_call(e, names);
    case CEL_MAKE_LIST:
    case CEL_MAKE_MAP:
    case CEL_MAKE_OBJECT:
        return of_collection(e, names);
    case CEL_NOT:
    case CEL_MINUS:
        return made(plus(estimate(e->a, names).cost, 1), e->sort);
    case CEL_COND:
        return of_cond(e, names);
    case CEL_MACRO:
        return of_macro(e, names);
    default:
        return of_binary(e, names);
    }
}

uint64_t cel_cost(const struct cel_expr *e) {
    return estimate(e, NULL).cost;
}
