/*
 * cel_eval: what an expression is for an object. See cel.h.
 *
 * An error is a value that everything hands on, except that "and" and "or" (and the macros made of them) may not need
 * it. Every step counts against the budget; when it is spent, all that is left is an error.
 */
#include "api/cel/cel_int.h"
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

static struct cel_value eval_select(struct cel_run *r, const struct cel_expr *e,
                                    const struct cel_frame *f) {
    struct cel_value v = eval(r, e->a, f), out;
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
    return found ? out : cel_error(r, "no such key: %.*s", STR_ARG(e->name));
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
    if (a.type == CEL_V_STRING) {
        return cel_spend(r, (a.s.n + b.s.n) / 16)
                   ? cel_str(arena_f(r->in->arena, "%.*s%.*s", STR_ARG(a.s), STR_ARG(b.s)))
                   : cel_error(r, "too long");
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
    if (which == BIN_ADD && ((a.type == CEL_V_STRING && b.type == CEL_V_STRING) ||
                             (cel_is_list(a) && cel_is_list(b)))) {
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
    for (size_t i = 0; b.type == CEL_V_MAP && i < b.map->n; i++) {
        if (cel_equal(r, a, b.map->keys[i])) {
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

static struct cel_value make_list(struct cel_run *r, const struct cel_expr *e,
                                  const struct cel_frame *f) {
    struct cel_list *l = ARENA_NEW(r->in->arena, struct cel_list);
    for (size_t i = 0; i < e->n_args; i++) {
        struct cel_value v = eval(r, e->args[i], f);
        if (is_error(v)) {
            return v;
        }
        if (l == NULL || cel_push(r, l, v) != 0) {
            return cel_error(r, "too long");
        }
    }
    return l == NULL ? cel_error(r, "out of memory")
                     : (struct cel_value){.type = CEL_V_LIST, .list = l};
}

static struct cel_value make_map(struct cel_run *r, const struct cel_expr *e,
                                 const struct cel_frame *f) {
    size_t n = e->n_args / 2;
    struct cel_map *m = ARENA_NEW(r->in->arena, struct cel_map);
    struct cel_value *v = ARENA_ARRAY(r->in->arena, struct cel_value, n * 2 + 1);
    if (m == NULL || v == NULL || !cel_spend(r, n)) {
        return cel_error(r, "too long");
    }
    *m = (struct cel_map){v, v + n, n};
    for (size_t i = 0; i < n; i++) {
        m->keys[i] = eval(r, e->args[2 * i], f);
        m->values[i] = is_error(m->keys[i]) ? m->keys[i] : eval(r, e->args[2 * i + 1], f);
        if (is_error(m->values[i])) {
            return m->values[i];
        }
    }
    return (struct cel_value){.type = CEL_V_MAP, .map = m};
}

/* The state of a macro between elements. */
struct cel_gather {
    struct cel_list *list;
    struct cel_value error; /* the first that nothing outweighed */
    size_t held;
    bool decided, broken;
};

static void gather_one(struct cel_run *r, const struct cel_expr *e, const struct cel_frame *f,
                       struct cel_value item, struct cel_gather *g) {
    bool both = e->which == MACRO_MAP && e->n_args == 2;
    struct cel_value v = eval(r, e->args[0], f);
    if (e->which == MACRO_MAP && !both) {
        g->error = is_error(v) ? v : g->error;
        g->broken = is_error(v) || cel_push(r, g->list, v) != 0;
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
    if (v.b && both) {
        item = eval(r, e->args[1], f);
        g->error = is_error(item) ? item : g->error;
        g->broken = is_error(item);
    }
    if (v.b && (both || e->which == MACRO_FILTER) && !g->broken) {
        g->broken = cel_push(r, g->list, item) != 0;
    }
}

static struct cel_value eval_macro(struct cel_run *r, const struct cel_expr *e,
                                   const struct cel_frame *f) {
    struct cel_value of = eval(r, e->a, f), key, value;
    struct cel_gather g = {.list = ARENA_NEW(r->in->arena, struct cel_list)};
    g.error.type = CEL_V_NULL;
    if (is_error(of)) {
        return of;
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
        gather_one(r, e, pair ? &second : &first, item, &g);
    }
    if (g.decided) {
        return cel_bool(e->which == MACRO_EXISTS);
    }
    if (is_error(g.error)) {
        return g.error;
    }
    switch (e->which) {
    case MACRO_ALL:
        return cel_bool(true);
    case MACRO_EXISTS:
        return cel_bool(false);
    case MACRO_EXISTS_ONE:
        return cel_bool(g.held == 1);
    default:
        return g.broken ? cel_error(r, "too long")
                        : (struct cel_value){.type = CEL_V_LIST, .list = g.list};
    }
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
    return e->function->run(r, e, v, n);
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
    case CEL_INDEX: {
        struct cel_value a = eval(r, e->a, f), b = is_error(a) ? a : eval(r, e->b, f);
        return is_error(b) ? b : cel_index(r, a, b);
    }
    case CEL_CALL:
    case CEL_METHOD:
        return eval_call(r, e, f);
    case CEL_MAKE_LIST:
        return make_list(r, e, f);
    case CEL_MAKE_MAP:
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

static struct cel_value run(const struct cel_expr *e, struct cel_input *in, bool *ret_spent) {
    struct cel_run r = {.in = in};
    struct cel_value was = {.type = CEL_V_OPTIONAL}, stored = {0};
    if (in->old != NULL) {
        stored = cel_of_json(in->old, in->node);
        was = stored;
    }
    if (in->optional_old) {
        was = (struct cel_value){.type = CEL_V_OPTIONAL, .some = in->old ? &stored : NULL};
    }
    if (in->request != NULL) {
        struct cel_frame request = {NULL, STR("request"), cel_of_json(in->request, NULL)};
        struct cel_frame object = {&request, STR("object"), cel_of_json(in->self, in->node)};
        struct cel_frame before = {&object, STR("oldObject"), cel_of_json(in->old, in->node)};
        struct cel_value told = eval(&r, e, &before);
        *ret_spent = r.spent;
        return told;
    }
    struct cel_frame self = {NULL, STR("self"), cel_of_json(in->self, in->node)};
    struct cel_frame old = {&self, STR("oldSelf"), was};
    struct cel_value v = eval(&r, e, in->old != NULL || in->optional_old ? &old : &self);
    *ret_spent = r.spent;
    return v;
}

enum cel_outcome cel_check(const struct cel_expr *e, struct cel_input *in, struct str *ret_text) {
    bool spent;
    struct cel_value v = run(e, in, &spent);
    if (spent) {
        return CEL_TOO_LONG;
    }
    if (v.type == CEL_V_BOOL) {
        return v.b ? CEL_TRUE : CEL_FALSE;
    }
    *ret_text = v.type == CEL_V_ERROR ? v.s : STR("the rule is no truth value:");
    return CEL_ERROR;
}

bool cel_message(const struct cel_expr *e, struct cel_input *in, struct str *ret) {
    bool spent;
    struct cel_value v = run(e, in, &spent);
    if (spent || v.type != CEL_V_STRING || str_trim(v.s).n == 0 || v.s.n > 5120 ||
        str_find(v.s, '\n') >= 0) {
        return false;
    }
    *ret = str_trim(v.s);
    return true;
}
