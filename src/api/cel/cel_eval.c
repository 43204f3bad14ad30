/*
 * cel_eval: what an expression is for an object. See cel.h.
 *
 * An error is a value that everything hands on, except that "and" and "or" (and the macros made of them) may not need
 * it. Every step counts against the budget; when it is spent, all that is left is an error.
 */
#include "api/cel/cel_access.h"
#include "api/cel/cel_tree.h"
#include "base/limits.h"

static struct cel_value eval(struct cel_run *r, const struct cel_expr *e,
                             const struct cel_frame *f);

static bool is_error(struct cel_value v) {
    return v.type == CEL_V_ERROR;
}

static struct cel_value no_overload(struct cel_run *r) {
    return cel_error(r, "no such overload");
}

static struct cel_value eval_ident(struct cel_run *r, const struct cel_expr *e,
                                   const struct cel_frame *f) {
    for (; f != NULL; f = f->up) {
        if (str_eq(f->name, e->name)) {
            return f->value;
        }
    }
    return cel_error(r, "undeclared reference to '%.*s'", STR_ARG(e->name));
}

static struct cel_value none(void) {
    return (struct cel_value){.type = CEL_V_OPTIONAL};
}

static struct cel_value some(struct cel_run *r, struct cel_value v) {
    struct cel_value *kept = ARENA_NEW(r->in->arena, struct cel_value);
    if (kept == NULL) {
        return cel_error(r, "out of memory");
    }
    *kept = v;
    return (struct cel_value){.type = CEL_V_OPTIONAL, .some = kept};
}

struct cel_value cel_variable(struct cel_run *r, const struct cel_variables *v, struct str name) {
    for (size_t i = 0; v != NULL && i < v->n; i++) {
        if (!str_eq(v->v[i].name, name)) {
            continue;
        }
        if (v->made[i] != NULL) {
            return *v->made[i];
        }
        struct cel_value *kept = ARENA_NEW(r->in->arena, struct cel_value);
        if (kept == NULL || v->v[i].expr == NULL) {
            return cel_error(r, "composited variable \"%.*s\" fails to evaluate", STR_ARG(name));
        }
        /* Each reads only those before it (cel_sort.h), so this ends. */
        struct cel_value got = eval(r, v->v[i].expr, r->root);
        *kept = !is_error(got)
                    ? got
                    : cel_error(r, "composited variable \"%.*s\" fails to evaluate: %.*s",
                                STR_ARG(name), STR_ARG(got.s));
        v->made[i] = kept;
        return *kept;
    }
    return cel_error(r, "no such key: %.*s", STR_ARG(name));
}

static bool has_variable(const struct cel_variables *v, struct str name) {
    for (size_t i = 0; v != NULL && i < v->n; i++) {
        if (str_eq(v->v[i].name, name)) {
            return true;
        }
    }
    return false;
}

static struct cel_value eval_select(struct cel_run *r, const struct cel_expr *e,
                                    const struct cel_frame *f) {
    struct cel_value v = eval(r, e->a, f), out;
    if (v.type == CEL_V_VARIABLES) {
        return e->op == CEL_HAS ? cel_bool(has_variable(r->in->variables, e->name))
                                : cel_variable(r, r->in->variables, e->name);
    }
    if (v.type == CEL_V_ACCESS) {
        return cel_access_member(r, v, e->name);
    }
    bool chain = e->optional || v.type == CEL_V_OPTIONAL;
    if (v.type == CEL_V_OPTIONAL) {
        if (v.some == NULL) {
            return e->op == CEL_HAS ? cel_bool(false) : v;
        }
        v = *v.some;
    }
    if (is_error(v)) {
        return v;
    }
    if (!cel_is_map(v)) {
        return no_overload(r);
    }
    bool found = cel_member(r, v, e->name, true, &out);
    if (e->op == CEL_HAS) {
        return cel_bool(found);
    }
    if (chain) {
        return found ? some(r, out) : none();
    }
    return found ? out : cel_error(r, "no such key: %.*s", STR_ARG(e->name));
}

static struct cel_value eval_index(struct cel_run *r, const struct cel_expr *e,
                                   const struct cel_frame *f) {
    struct cel_value a = eval(r, e->a, f), b = is_error(a) ? a : eval(r, e->b, f);
    bool chain = e->optional || a.type == CEL_V_OPTIONAL;
    if (is_error(b)) {
        return b;
    }
    if (a.type == CEL_V_OPTIONAL) {
        if (a.some == NULL) {
            return a;
        }
        a = *a.some;
    }
    if (!chain || (!cel_is_list(a) && !cel_is_map(a))) {
        return cel_index(r, a, b);
    }
    struct cel_value out = cel_index(r, a, b);
    return is_error(out) ? none() : some(r, out);
}

/* ---- operators ---- */

static struct cel_value overflow(struct cel_run *r) {
    return cel_error(r, "integer overflow");
}

static struct cel_value int_math(struct cel_run *r, int which, int64_t a, int64_t b) {
    int64_t out = 0;
    bool bad = false;
    switch (which) {
    case BIN_ADD:
        bad = __builtin_add_overflow(a, b, &out);
        break;
    case BIN_SUB:
        bad = __builtin_sub_overflow(a, b, &out);
        break;
    case BIN_MUL:
        bad = __builtin_mul_overflow(a, b, &out);
        break;
    default:
        if (b == 0) {
            return cel_error(r, which == BIN_DIV ? "division by zero" : "modulus by zero");
        }
        bad = a == INT64_MIN && b == -1;
        out = bad ? 0 : which == BIN_DIV ? a / b : a % b;
        break;
    }
    return bad ? overflow(r) : cel_int(out);
}

static struct cel_value uint_math(struct cel_run *r, int which, uint64_t a, uint64_t b) {
    struct cel_value v = {.type = CEL_V_UINT};
    bool bad = false;
    switch (which) {
    case BIN_ADD:
        bad = __builtin_add_overflow(a, b, &v.u);
        break;
    case BIN_SUB:
        bad = __builtin_sub_overflow(a, b, &v.u);
        break;
    case BIN_MUL:
        bad = __builtin_mul_overflow(a, b, &v.u);
        break;
    default:
        if (b == 0) {
            return cel_error(r, which == BIN_DIV ? "division by zero" : "modulus by zero");
        }
        v.u = which == BIN_DIV ? a / b : a % b;
        break;
    }
    return bad ? overflow(r) : v;
}

static struct cel_value double_math(struct cel_run *r, int which, double a, double b) {
    struct cel_value v = {.type = CEL_V_DOUBLE};
    v.d = which == BIN_ADD ? a + b : which == BIN_SUB ? a - b : which == BIN_MUL ? a * b : a / b;
    return which == BIN_MOD ? no_overload(r) : v;
}

static struct cel_value join(struct cel_run *r, struct cel_value a, struct cel_value b) {
    if (a.type == CEL_V_STRING || a.type == CEL_V_BYTES) {
        char *p = cel_spend(r, (a.s.n + b.s.n) / 16) ? arena_alloc(r->in->arena, a.s.n + b.s.n + 1)
                                                     : NULL;
        if (p == NULL) {
            return cel_error(r, "too long");
        }
        memcpy(p, a.s.p != NULL ? a.s.p : "", a.s.n);
        memcpy(p + a.s.n, b.s.p != NULL ? b.s.p : "", b.s.n);
        a.s = str_from(p, a.s.n + b.s.n);
        return a;
    }
    struct cel_list *l = ARENA_NEW(r->in->arena, struct cel_list);
    struct cel_cursor x = cel_walk(a), y = cel_walk(b);
    struct cel_value k, v;
    int bad = l == NULL;
    while (!bad && (cel_next(&x, &k, &v) || cel_next(&y, &k, &v))) {
        bad = cel_push(r, l, v);
    }
    return bad ? cel_error(r, "too long") : (struct cel_value){.type = CEL_V_LIST, .list = l};
}

/* Durations and timestamps. */
static struct cel_value time_math(struct cel_run *r, int which, struct cel_value a,
                                  struct cel_value b) {
    bool spans = a.type == CEL_V_DURATION && b.type == CEL_V_DURATION;
    bool points = a.type == CEL_V_TIMESTAMP && b.type == CEL_V_TIMESTAMP;
    bool mixed = !spans && !points && (a.type == CEL_V_TIMESTAMP || b.type == CEL_V_TIMESTAMP) &&
                 (a.type == CEL_V_DURATION || b.type == CEL_V_DURATION);
    if ((which != BIN_ADD && which != BIN_SUB) || (points && which == BIN_ADD) ||
        (mixed && which == BIN_SUB && a.type == CEL_V_DURATION) || !(spans || points || mixed)) {
        return no_overload(r);
    }
    struct cel_value v = int_math(r, which, a.i, b.i);
    if (!is_error(v)) {
        v.type = mixed ? CEL_V_TIMESTAMP : CEL_V_DURATION;
    }
    return v;
}

static struct cel_value arithmetic(struct cel_run *r, int which, struct cel_value a,
                                   struct cel_value b) {
    if (which == BIN_ADD &&
        ((a.type == CEL_V_STRING && b.type == CEL_V_STRING) ||
         (a.type == CEL_V_BYTES && b.type == CEL_V_BYTES) || (cel_is_list(a) && cel_is_list(b)))) {
        return join(r, a, b);
    }
    if (a.type == CEL_V_DURATION || a.type == CEL_V_TIMESTAMP) {
        return time_math(r, which, a, b);
    }
    if (a.type != b.type) {
        return no_overload(r);
    }
    switch (a.type) {
    case CEL_V_INT:
        return int_math(r, which, a.i, b.i);
    case CEL_V_UINT:
        return uint_math(r, which, a.u, b.u);
    case CEL_V_DOUBLE:
        return double_math(r, which, a.d, b.d);
    default:
        return no_overload(r);
    }
}

static struct cel_value is_in(struct cel_run *r, struct cel_value a, struct cel_value b) {
    struct cel_value k, v;
    if (cel_is_list(b)) {
        struct cel_cursor c = cel_walk(b);
        while (cel_next(&c, &k, &v)) {
            if (cel_equal(r, a, v)) {
                return cel_bool(true);
            }
        }
        return cel_bool(false);
    }
    if (!cel_is_map(b)) {
        return no_overload(r);
    }
    if (a.type == CEL_V_STRING) {
        return cel_bool(cel_member(r, b, a.s, false, &v));
    }
    struct cel_cursor c = cel_walk(b);
    while (b.type == CEL_V_MAP && cel_next(&c, &k, &v)) {
        if (cel_equal(r, a, k)) {
            return cel_bool(true);
        }
    }
    return cel_bool(false);
}

static struct cel_value eval_binary(struct cel_run *r, const struct cel_expr *e,
                                    const struct cel_frame *f) {
    struct cel_value a = eval(r, e->a, f), b = is_error(a) ? a : eval(r, e->b, f);
    int c;
    if (is_error(b)) {
        return b;
    }
    switch (e->which) {
    case BIN_EQ:
        return cel_bool(cel_equal(r, a, b));
    case BIN_NE:
        return cel_bool(!cel_equal(r, a, b));
    case BIN_IN:
        return is_in(r, a, b);
    case BIN_LT:
    case BIN_LE:
    case BIN_GT:
    case BIN_GE:
        if (!cel_order(r, a, b, &c)) {
            return no_overload(r);
        }
        return cel_bool(e->which == BIN_LT   ? c < 0
                        : e->which == BIN_LE ? c <= 0
                        : e->which == BIN_GT ? c > 0
                                             : c >= 0);
    default:
        return arithmetic(r, e->which, a, b);
    }
}

/* Either side may decide alone, whatever the other is. */
static struct cel_value eval_logic(struct cel_run *r, const struct cel_expr *e,
                                   const struct cel_frame *f) {
    bool decides = e->op == CEL_OR;
    struct cel_value a = eval(r, e->a, f);
    if (a.type == CEL_V_BOOL && a.b == decides) {
        return a;
    }
    struct cel_value b = eval(r, e->b, f);
    if (b.type == CEL_V_BOOL && b.b == decides) {
        return b;
    }
    if (is_error(a) || is_error(b)) {
        return is_error(a) ? a : b;
    }
    return a.type == CEL_V_BOOL && b.type == CEL_V_BOOL ? cel_bool(!decides) : no_overload(r);
}

static struct cel_value eval_unary(struct cel_run *r, const struct cel_expr *e,
                                   const struct cel_frame *f) {
    struct cel_value v = eval(r, e->a, f);
    if (is_error(v)) {
        return v;
    }
    if (e->op == CEL_NOT) {
        return v.type == CEL_V_BOOL ? cel_bool(!v.b) : no_overload(r);
    }
    if (v.type == CEL_V_DOUBLE) {
        v.d = -v.d;
        return v;
    }
    if (v.type != CEL_V_INT) {
        return no_overload(r);
    }
    return v.i == INT64_MIN ? overflow(r) : cel_int(-v.i);
}

static struct cel_value eval_cond(struct cel_run *r, const struct cel_expr *e,
                                  const struct cel_frame *f) {
    struct cel_value c = eval(r, e->args[0], f);
    if (is_error(c)) {
        return c;
    }
    return c.type == CEL_V_BOOL ? eval(r, e->args[c.b ? 1 : 2], f) : no_overload(r);
}

/* ---- collections and macros ---- */

/* An element written with "?": *ret_none when it is left out, else v is what is in it. */
static struct cel_value maybe(struct cel_run *r, const struct cel_expr *e, size_t i,
                              struct cel_value v, bool *ret_none) {
    *ret_none = false;
    if (e->maybe == NULL || !e->maybe[i] || is_error(v)) {
        return v;
    }
    if (v.type != CEL_V_OPTIONAL) {
        return no_overload(r);
    }
    *ret_none = v.some == NULL;
    return v.some != NULL ? *v.some : v;
}

static struct cel_value make_list(struct cel_run *r, const struct cel_expr *e,
                                  const struct cel_frame *f) {
    struct cel_list *l = ARENA_NEW(r->in->arena, struct cel_list);
    for (size_t i = 0; i < e->n_args; i++) {
        bool left_out;
        struct cel_value v = maybe(r, e, i, eval(r, e->args[i], f), &left_out);
        if (is_error(v)) {
            return v;
        }
        if (!left_out && (l == NULL || cel_push(r, l, v) != 0)) {
            return cel_error(r, "too long");
        }
    }
    return l == NULL ? cel_error(r, "out of memory")
                     : (struct cel_value){.type = CEL_V_LIST, .list = l};
}

static struct cel_value make_map(struct cel_run *r, const struct cel_expr *e,
                                 const struct cel_frame *f) {
    size_t n = e->n_args / 2;
    struct cel_made *made = ARENA_NEW(r->in->arena, struct cel_made);
    struct cel_value *v = ARENA_ARRAY(r->in->arena, struct cel_value, n * 2 + 1);
    if (made == NULL || v == NULL || !cel_spend(r, n)) {
        return cel_error(r, "too long");
    }
    struct cel_map *m = &made->map;
    *m = (struct cel_map){.keys = v, .values = v + n};
    for (size_t i = 0; i < n; i++) {
        bool left_out;
        struct cel_value key = eval(r, e->args[2 * i], f);
        struct cel_value value = is_error(key) ? key : eval(r, e->args[2 * i + 1], f);
        value = maybe(r, e, i, value, &left_out);
        if (is_error(value)) {
            return value;
        }
        for (size_t k = 0; k < m->n && e->op == CEL_MAKE_MAP && !left_out; k++) {
            if (cel_equal(r, m->keys[k], key)) {
                return cel_error(r, "Failed with repeated key");
            }
        }
        if (!left_out) {
            m->keys[m->n] = key;
            m->values[m->n++] = value;
        }
    }
    if (e->op == CEL_MAKE_OBJECT) {
        made->name = e->name;
        return (struct cel_value){.type = CEL_V_OBJECT, .made = made};
    }
    return (struct cel_value){.type = CEL_V_MAP, .map = m};
}

/* The state of a macro between elements. */
struct cel_gather {
    struct cel_list *list;
    struct cel_map map;
    struct cel_value error; /* the first that nothing outweighed */
    size_t held;
    bool decided, broken;
};

static void put_entry(struct cel_run *r, struct cel_gather *g, struct cel_value key,
                      struct cel_value value) {
    struct cel_map *m = &g->map;
    size_t cap = m->cap;
    struct cel_value at;
    bool taken = key.type == CEL_V_STRING &&
                 cel_member(r, (struct cel_value){.type = CEL_V_MAP, .map = m}, key.s, false, &at);
    if (taken) {
        g->error = cel_error(r, "insert failed: key '%.*s' already exists", STR_ARG(key.s));
    }
    g->broken = taken || !cel_spend(r, 1) ||
                (m->n == m->cap && (ARENA_GROW(r->in->arena, m->keys, cap) != 0 ||
                                    ARENA_GROW(r->in->arena, m->values, m->cap) != 0));
    if (!g->broken) {
        m->keys[m->n] = key;
        m->values[m->n++] = value;
    }
}

/* What a transformation makes of an element goes to the list or map. */
static void put_made(struct cel_run *r, const struct cel_expr *e, struct cel_value key,
                     struct cel_value made, struct cel_gather *g) {
    struct cel_value k, v;
    if (is_error(made)) {
        g->error = made;
        g->broken = true;
    } else if (e->which == MACRO_TRANSFORM_MAP) {
        put_entry(r, g, key, made);
    } else if (e->which == MACRO_TRANSFORM_ENTRY) {
        struct cel_cursor c = cel_walk(made);
        g->error = cel_is_map(made) ? g->error : no_overload(r);
        g->broken = !cel_is_map(made);
        while (!g->broken && cel_next(&c, &k, &v)) {
            put_entry(r, g, k, v);
        }
    } else {
        g->broken = cel_push(r, g->list, made) != 0;
    }
}

static void gather_one(struct cel_run *r, const struct cel_expr *e, const struct cel_frame *f,
                       struct cel_value key, struct cel_value item, struct cel_gather *g) {
    bool transforms = e->which == MACRO_MAP ||
                      (e->which >= MACRO_TRANSFORM_LIST && e->which <= MACRO_TRANSFORM_ENTRY);
    struct cel_value v = eval(r, e->args[0], f);
    if (transforms && e->n_args == 1) {
        put_made(r, e, key, v, g);
        return;
    }
    if (v.type != CEL_V_BOOL) {
        v = is_error(v) ? v : no_overload(r);
        g->error = is_error(g->error) ? g->error : v;
        g->broken = e->which != MACRO_ALL && e->which != MACRO_EXISTS;
        return;
    }
    g->held += v.b;
    g->decided = (e->which == MACRO_ALL && !v.b) || (e->which == MACRO_EXISTS && v.b);
    if (v.b && transforms) {
        put_made(r, e, key, eval(r, e->args[1], f), g);
    } else if (v.b && e->which == MACRO_FILTER) {
        g->broken = cel_push(r, g->list, item) != 0;
    }
}

static struct cel_value gathered(struct cel_run *r, const struct cel_expr *e,
                                 struct cel_gather *g) {
    if (g->decided) {
        return cel_bool(e->which == MACRO_EXISTS);
    }
    if (is_error(g->error)) {
        return g->error;
    }
    switch (e->which) {
    case MACRO_ALL:
        return cel_bool(true);
    case MACRO_EXISTS:
        return cel_bool(false);
    case MACRO_EXISTS_ONE:
        return cel_bool(g->held == 1);
    default:
        break;
    }
    if (g->broken) {
        return cel_error(r, "too long");
    }
    if (e->which == MACRO_TRANSFORM_MAP || e->which == MACRO_TRANSFORM_ENTRY) {
        struct cel_map *m = ARENA_NEW(r->in->arena, struct cel_map);
        if (m == NULL) {
            return cel_error(r, "out of memory");
        }
        *m = g->map;
        return (struct cel_value){.type = CEL_V_MAP, .map = m};
    }
    return (struct cel_value){.type = CEL_V_LIST, .list = g->list};
}

/* optMap, optFlatMap */
static struct cel_value eval_optional_macro(struct cel_run *r, const struct cel_expr *e,
                                            struct cel_value of, const struct cel_frame *f) {
    if (of.type != CEL_V_OPTIONAL) {
        return no_overload(r);
    }
    if (of.some == NULL) {
        return of;
    }
    struct cel_frame inner = {f, e->name, *of.some};
    struct cel_value v = eval(r, e->args[0], &inner);
    return is_error(v) || e->which == MACRO_OPT_FLAT_MAP ? v : some(r, v);
}

static struct cel_value eval_macro(struct cel_run *r, const struct cel_expr *e,
                                   const struct cel_frame *f) {
    struct cel_value of = eval(r, e->a, f), key, value;
    struct cel_gather g = {.list = ARENA_NEW(r->in->arena, struct cel_list)};
    g.error.type = CEL_V_NULL;
    if (is_error(of)) {
        return of;
    }
    if (e->which >= MACRO_OPT_MAP) {
        return eval_optional_macro(r, e, of, f);
    }
    if ((!cel_is_list(of) && !cel_is_map(of)) || g.list == NULL) {
        return no_overload(r);
    }
    struct cel_cursor c = cel_walk(of);
    while (!g.decided && !g.broken && cel_next(&c, &key, &value)) {
        bool pair = e->var2.n > 0;
        struct cel_value item = cel_is_map(of) ? key : value;
        struct cel_frame first = {f, e->name, pair ? key : item};
        struct cel_frame second = {&first, e->var2, value};
        if (!cel_spend(r, 1)) {
            return cel_error(r, "too long");
        }
        gather_one(r, e, pair ? &second : &first, key, item, &g);
    }
    return gathered(r, e, &g);
}

static struct cel_value eval_call(struct cel_run *r, const struct cel_expr *e,
                                  const struct cel_frame *f) {
    enum { MOST = 5 };
    struct cel_value v[MOST];
    size_t n = 0;
    if (e->a != NULL) {
        v[n++] = eval(r, e->a, f);
    }
    for (size_t i = 0; i < e->n_args && n < MOST; i++) {
        v[n++] = eval(r, e->args[i], f);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_error(v[i])) {
            return v[i];
        }
    }
    const struct cel_function *fn = e->function;
    while (fn != NULL && !cel_function_takes(fn, v, n)) {
        fn = cel_function_next(fn);
    }
    return fn != NULL ? fn->run(r, e, v, n) : no_overload(r);
}

static struct cel_value eval(struct cel_run *r, const struct cel_expr *e,
                             const struct cel_frame *f) {
    if (!cel_spend(r, 1)) {
        return cel_error(r, "too long");
    }
    switch (e->op) {
    case CEL_CONST:
        return e->value;
    case CEL_IDENT:
        return eval_ident(r, e, f);
    case CEL_SELECT:
    case CEL_HAS:
        return eval_select(r, e, f);
    case CEL_INDEX:
        return eval_index(r, e, f);
    case CEL_CALL:
    case CEL_METHOD:
        return eval_call(r, e, f);
    case CEL_MAKE_LIST:
        return make_list(r, e, f);
    case CEL_MAKE_MAP:
    case CEL_MAKE_OBJECT:
        return make_map(r, e, f);
    case CEL_NOT:
    case CEL_MINUS:
        return eval_unary(r, e, f);
    case CEL_BINARY:
        return eval_binary(r, e, f);
    case CEL_AND:
    case CEL_OR:
        return eval_logic(r, e, f);
    case CEL_COND:
        return eval_cond(r, e, f);
    case CEL_MACRO:
        return eval_macro(r, e, f);
    }
    return no_overload(r);
}

struct cel_value cel_eval(struct cel_run *r, const struct cel_expr *e) {
    return eval(r, e, r->root);
}
