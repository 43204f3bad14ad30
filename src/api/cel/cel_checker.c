/*
 * cel_checker: an expression and the names it may use to the type of each of its nodes. See cel_sort.h.
 *
 * Overloads are matched as cel-go does: those that may fit count; when several do, and what they give differs, nothing
 * is known of the result. A type variable (A, B) takes the first type that it meets. Faults are gathered, each once:
 * what an erroneous part gives fits everywhere.
 */
#include "api/cel/cel_sort.h"
#include "api/cel/cel_tree.h"
#include "base/limits.h"

enum { FAULTS = 16 }; /* that are told */

struct cel_names {
    const struct cel_names *up;
    struct str name;
    const struct cel_sort *sort;
};

struct checker {
    struct arena *a;
    const struct cel_scope *scope;
    struct str text;
    struct buf b;
    size_t faults;
};

struct bound {
    const struct cel_sort *v[2];
};

static const struct cel_sort *check(struct checker *x, const struct cel_expr *e,
                                    const struct cel_names *names);

static const struct cel_sort *error_sort(void) {
    return cel_sort_of('e');
}

static bool is_open(const struct cel_sort *s) {
    return s->letter == '*' || s->letter == 'e';
}

/* ---- telling ---- */

static size_t characters(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    }
    return n;
}

/* "ERROR: <input>:1:5: ...", with the line and a mark below the place. */
static void place(struct checker *x, size_t pos, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void place(struct checker *x, size_t pos, const char *fmt, ...) {
    size_t line = 1, start = 0, end = pos < x->text.n ? pos : x->text.n;
    va_list ap;
    if (x->faults++ >= FAULTS) {
        return;
    }
    for (size_t i = 0; i < end; i++) {
        if (x->text.p[i] == '\n') {
            line++;
            start = i + 1;
        }
    }
    size_t column = characters(str_from(x->text.p + start, end - start));
    while (end < x->text.n && x->text.p[end] != '\n') {
        end++;
    }
    buf_f(&x->b, "%sERROR: <input>:%zu:%zu: ", x->faults > 1 ? "\n" : "", line, column + 1);
    va_start(ap, fmt);
    buf_vf(&x->b, fmt, ap);
    va_end(ap);
    buf_f(&x->b, "\n | %.*s\n | ", (int)(end - start), x->text.p + start);
    for (size_t i = 0; i < column; i++) {
        buf_ch(&x->b, '.');
    }
    buf_ch(&x->b, '^');
}

static struct str name_of(struct checker *x, const struct cel_sort *s) {
    struct buf b;
    buf_init(&b, LIMIT_CEL_BYTES);
    cel_sort_write(s, &b);
    struct str text = arena_str(x->a, buf_view(&b));
    buf_release(&b);
    return text;
}

/* ---- overloads ---- */

static const struct cel_sort *sig_sort(struct arena *a, const char **p) {
    char c = *(*p)++;
    if (c != '[' && c != '{' && c != '?') {
        return cel_sort_of(c);
    }
    const struct cel_sort *first = sig_sort(a, p);
    struct cel_sort *s = ARENA_NEW(a, struct cel_sort);
    const struct cel_sort *second = c == '{' ? sig_sort(a, p) : NULL;
    *p += c != '?'; /* what closes it */
    if (s == NULL) {
        return &cel_dyn;
    }
    *s = (struct cel_sort){.letter = c, .a = first, .b = second, .most = CEL_SIZE_UNKNOWN};
    return s;
}

/* What null may stand for. */
static bool takes_null(char letter) {
    return strchr("oDTQUPCFVZHGRW?", letter) != NULL;
}

static bool assign(const struct cel_sort *want, const struct cel_sort *got, struct bound *b) {
    if (want->letter == 'A' || want->letter == 'B') {
        const struct cel_sort **at = &b->v[want->letter - 'A'];
        if (*at == NULL || is_open(*at)) {
            *at = *at == NULL ? got : *at;
            return true;
        }
        if (assign(*at, got, b)) {
            return true;
        }
        if (assign(got, *at, b)) {
            *at = got;
            return true;
        }
        return false;
    }
    if (is_open(want) || is_open(got)) {
        return true;
    }
    if (got->letter == 'n' && takes_null(want->letter)) {
        return true;
    }
    if (want->letter != got->letter) {
        return false;
    }
    switch (want->letter) {
    case '[':
    case '?':
        return assign(want->a, got->a, b);
    case '{':
        return assign(want->a, got->a, b) && assign(want->b, got->b, b);
    case 'o':
        return want->shape->of == got->shape->of && str_eq(want->shape->name, got->shape->name);
    default:
        return true;
    }
}

static const struct cel_sort *filled(struct arena *a, const struct cel_sort *s,
                                     const struct bound *b) {
    if (s->letter == 'A' || s->letter == 'B') {
        const struct cel_sort *v = b->v[s->letter - 'A'];
        return v != NULL ? v : &cel_dyn;
    }
    if (s->a == NULL) {
        return s;
    }
    struct cel_sort *out = ARENA_NEW(a, struct cel_sort);
    if (out == NULL) {
        return &cel_dyn;
    }
    *out = *s;
    out->a = filled(a, s->a, b);
    out->b = s->b != NULL ? filled(a, s->b, b) : NULL;
    return out;
}

static bool same(const struct cel_sort *a, const struct cel_sort *b) {
    return a->letter == b->letter && (a->a == NULL || same(a->a, b->a)) &&
           (a->b == NULL || same(a->b, b->b)) &&
           (a->letter != 'o' || str_eq(a->shape->name, b->shape->name));
}

/* *ret: what the overloads of sigs that fit give; NULL at first. */
static void fit(struct checker *x, const char *sigs, const struct cel_sort *const *v, size_t n,
                const struct cel_sort **ret) {
    const char *p = sigs;
    while (p != NULL && *p != '\0') {
        struct bound b = {{NULL, NULL}};
        size_t i = 0;
        bool fits = true;
        while (*p != '>') {
            const struct cel_sort *want = sig_sort(x->a, &p);
            fits = fits && i < n && assign(want, v[i], &b);
            i++;
        }
        p++;
        const struct cel_sort *result = sig_sort(x->a, &p);
        if (fits && i == n) {
            result = filled(x->a, result, &b);
            *ret = *ret == NULL || same(*ret, result) ? result : &cel_dyn;
        }
        p = *p == ' ' ? p + 1 : p;
    }
}

static const struct cel_sort *no_fit(struct checker *x, const struct cel_expr *e, const char *name,
                                     bool method, const struct cel_sort *const *v, size_t n) {
    struct buf b;
    buf_init(&b, LIMIT_CEL_BYTES);
    if (method) {
        cel_sort_write(v[0], &b);
        buf_ch(&b, '.');
    }
    buf_ch(&b, '(');
    for (size_t i = method; i < n; i++) {
        buf_c(&b, i > (size_t)method ? ", " : "");
        cel_sort_write(v[i], &b);
    }
    buf_ch(&b, ')');
    place(x, e->pos, "found no matching overload for '%s' applied to '%s'", name, buf_cstr(&b));
    buf_release(&b);
    return error_sort();
}

static const struct cel_sort *overload(struct checker *x, const struct cel_expr *e,
                                       const char *name, const char *sigs,
                                       const struct cel_sort *const *v, size_t n) {
    const struct cel_sort *out = NULL;
    fit(x, sigs, v, n, &out);
    return out != NULL ? out : no_fit(x, e, name, false, v, n);
}

static const struct cel_sort *check_call(struct checker *x, const struct cel_expr *e,
                                         const struct cel_names *names) {
    enum { MOST = 8 };
    const struct cel_sort *v[MOST], *out = NULL;
    size_t n = 0;
    bool method = e->op == CEL_METHOD;
    if (method) {
        v[n++] = check(x, e->a, names);
    }
    for (size_t i = 0; i < e->n_args; i++) {
        const struct cel_sort *s = check(x, e->args[i], names);
        if (n < MOST) {
            v[n++] = s;
        }
    }
    if (e->function == NULL) {
        place(x, e->pos, "undeclared reference to '%.*s' (in container '')", STR_ARG(e->name));
        return error_sort();
    }
    for (const struct cel_function *f = e->function; f != NULL; f = cel_function_next(f)) {
        fit(x, f->sigs, v, e->n_args + method, &out);
    }
    return out != NULL ? out : no_fit(x, e, e->function->name, method, v, n);
}

#define NUMBERS_MIXED "id>b di>b iu>b ui>b ud>b du>b"
#define ORDERED "bb>b ii>b uu>b dd>b ss>b yy>b TT>b DD>b " NUMBERS_MIXED

static const struct cel_sort *check_binary(struct checker *x, const struct cel_expr *e,
                                           const struct cel_names *names) {
    static const struct {
        const char *name, *sigs;
    } ops[] = {
        [BIN_EQ] = {"_==_", "AA>b"},
        [BIN_NE] = {"_!=_", "AA>b"},
        [BIN_LT] = {"_<_", ORDERED},
        [BIN_LE] = {"_<=_", ORDERED},
        [BIN_GT] = {"_>_", ORDERED},
        [BIN_GE] = {"_>=_", ORDERED},
        [BIN_IN] = {"@in", "A[A]>b A{AB}>b"},
        [BIN_ADD] = {"_+_", "ii>i uu>u dd>d ss>s yy>y [A][A]>[A] DD>D DT>T TD>T"},
        [BIN_SUB] = {"_-_", "ii>i uu>u dd>d DD>D TD>T TT>D"},
        [BIN_MUL] = {"_*_", "ii>i uu>u dd>d"},
        [BIN_DIV] = {"_/_", "ii>i uu>u dd>d"},
        [BIN_MOD] = {"_%_", "ii>i uu>u"},
    };
    const struct cel_sort *v[2] = {check(x, e->a, names), check(x, e->b, names)};
    if (e->op == CEL_AND || e->op == CEL_OR) {
        return overload(x, e, e->op == CEL_AND ? "_&&_" : "_||_", "bb>b", v, 2);
    }
    return overload(x, e, ops[e->which].name, ops[e->which].sigs, v, 2);
}

/* ---- members ---- */

static const struct cel_sort *maybe_optional(struct checker *x, bool optional,
                                             const struct cel_sort *s) {
    return optional && s->letter != '?' && s->letter != 'e' ? cel_sort_optional(x->a, s) : s;
}

static const struct cel_sort *check_variable(struct checker *x, const struct cel_expr *e) {
    for (size_t i = 0; i < x->scope->n_variables; i++) {
        if (str_eq(x->scope->variables[i].name, e->name)) {
            return x->scope->variables[i].sort;
        }
    }
    place(x, e->pos, "undefined field '%.*s'", STR_ARG(e->name));
    return error_sort();
}

static bool is_free(const struct cel_expr *e, const char *name, const struct cel_names *names) {
    while (names != NULL && !str_is(names->name, name)) {
        names = names->up;
    }
    return e->op == CEL_IDENT && str_is(e->name, name) && names == NULL;
}

static const struct cel_sort *check_select(struct checker *x, const struct cel_expr *e,
                                           const struct cel_names *names) {
    char buf[512];
    const struct cel_sort *out = NULL;
    if (x->scope->variables != NULL && is_free(e->a, "variables", names)) {
        return check_variable(x, e);
    }
    const struct cel_sort *of = check(x, e->a, names);
    bool chain = e->optional || of->letter == '?';
    of = of->letter == '?' ? of->a : of;
    if (is_open(of)) {
        return maybe_optional(x, chain && of->letter != 'e', of);
    }
    if (of->letter == '{') {
        return maybe_optional(x, chain, of->b);
    }
    if (of->letter == 'Z' && str_is(e->name, "requestResource")) {
        return cel_sort_of('R');
    }
    if (of->letter != 'o') {
        place(x, e->pos, "type '%.*s' does not support field selection", STR_ARG(name_of(x, of)));
        return error_sort();
    }
    struct str name = cel_plain_name(e->name, buf, sizeof(buf));
    if (!of->shape->member(of->shape, name, x->a, &out)) {
        place(x, e->pos, "undefined field '%.*s'", STR_ARG(e->name));
        return error_sort();
    }
    return maybe_optional(x, chain, out);
}

static const struct cel_sort *check_index(struct checker *x, const struct cel_expr *e,
                                          const struct cel_names *names) {
    const struct cel_sort *v[2] = {check(x, e->a, names), check(x, e->b, names)};
    bool chain = e->optional || v[0]->letter == '?';
    return e->optional
               ? overload(x, e, "_[?_]", "[A]i>?A {AB}A>?B ?[A]i>?A ?{AB}A>?B", v, 2)
               : overload(x, e, "_[_]",
                          chain ? "?[A]i>?A ?{AB}A>?B" : "[A]i>A [A]u>A [A]d>A {AB}A>B", v, 2);
}

/* ---- literals ---- */

/* The type that elements have together. */
static const struct cel_sort *joined(struct checker *x, const struct cel_expr *e,
                                     const struct cel_sort *so_far, const struct cel_sort *s) {
    struct bound b = {{NULL, NULL}};
    if (so_far == NULL || assign(so_far, s, &b)) {
        return so_far == NULL || !is_open(so_far) ? (so_far == NULL ? s : so_far) : s;
    }
    if (assign(s, so_far, &b)) {
        return s;
    }
    place(x, e->pos, "expected type '%.*s' but found '%.*s'", STR_ARG(name_of(x, so_far)),
          STR_ARG(name_of(x, s)));
    return so_far;
}

/* An element written with "?" is an optional value. */
static const struct cel_sort *element(struct checker *x, const struct cel_expr *e, size_t i,
                                      const struct cel_sort *s, const struct cel_expr *at) {
    if (e->maybe == NULL || !e->maybe[i] || is_open(s)) {
        return s;
    }
    if (s->letter == '?') {
        return s->a;
    }
    place(x, at->pos, "expected type 'optional_type(%.*s)' but found '%.*s'",
          STR_ARG(name_of(x, s)), STR_ARG(name_of(x, s)));
    return error_sort();
}

static const struct cel_sort *check_list(struct checker *x, const struct cel_expr *e,
                                         const struct cel_names *names) {
    const struct cel_sort *of = NULL;
    for (size_t i = 0; i < e->n_args; i++) {
        const struct cel_sort *s = element(x, e, i, check(x, e->args[i], names), e->args[i]);
        of = joined(x, e->args[i], of, s);
    }
    return cel_sort_list(x->a, of != NULL ? of : &cel_dyn);
}

static const struct cel_sort *check_map(struct checker *x, const struct cel_expr *e,
                                        const struct cel_names *names) {
    const struct cel_sort *keys = NULL, *values = NULL;
    for (size_t i = 0; i + 1 < e->n_args; i += 2) {
        keys = joined(x, e->args[i], keys, check(x, e->args[i], names));
        values = joined(x, e->args[i + 1], values,
                        element(x, e, i / 2, check(x, e->args[i + 1], names), e->args[i + 1]));
    }
    struct cel_sort *s = ARENA_NEW(x->a, struct cel_sort);
    if (s == NULL) {
        return &cel_dyn;
    }
    *s = (struct cel_sort){.letter = '{',
                           .a = keys != NULL ? keys : &cel_dyn,
                           .b = values != NULL ? values : &cel_dyn,
                           .most = CEL_SIZE_UNKNOWN};
    return s;
}

static const struct cel_sort *check_object(struct checker *x, const struct cel_expr *e,
                                           const struct cel_names *names) {
    bool patch = str_is(e->name, "JSONPatch");
    bool object = str_is(e->name, "Object") || str_starts(e->name, STR("Object."));
    const struct cel_sort *s = NULL, *want = NULL;
    if (x->scope->makes && (patch || object)) {
        s = patch ? cel_sort_of_patch(x->a) : cel_sort_of_made(x->a, e->name);
    } else {
        place(x, e->pos, "undeclared reference to '%.*s' (in container '')", STR_ARG(e->name));
    }
    for (size_t i = 0; i + 1 < e->n_args; i += 2) {
        struct bound b = {{NULL, NULL}};
        struct str name = e->args[i]->value.s;
        const struct cel_sort *got =
            element(x, e, i / 2, check(x, e->args[i + 1], names), e->args[i + 1]);
        if (s == NULL || s->letter != 'o') {
            continue;
        }
        if (!s->shape->member(s->shape, name, x->a, &want)) {
            place(x, e->args[i]->pos, "undefined field '%.*s'", STR_ARG(name));
        } else if (!assign(want, got, &b)) {
            place(x, e->args[i]->pos,
                  "expected type of field '%.*s' is '%.*s' but provided type is '%.*s'",
                  STR_ARG(name), STR_ARG(name_of(x, want)), STR_ARG(name_of(x, got)));
        }
    }
    return s != NULL ? s : error_sort();
}

/* ---- macros ---- */

static void want_bool(struct checker *x, const struct cel_expr *e, const struct cel_sort *s) {
    if (s->letter != 'b' && !is_open(s)) {
        const struct cel_sort *v[2] = {&cel_bool_sort, s};
        const char *name = e->which == MACRO_ALL      ? "_&&_"
                           : e->which == MACRO_EXISTS ? "_||_"
                                                      : "_?_:_";
        (void)no_fit(x, e, name, false, v, 2);
    }
}

static const struct cel_sort *macro_result(struct checker *x, const struct cel_expr *e,
                                           const struct cel_sort *item, const struct cel_sort *key,
                                           const struct cel_sort *last) {
    struct cel_sort *s;
    switch (e->which) {
    case MACRO_FILTER:
        return cel_sort_list(x->a, item);
    case MACRO_MAP:
    case MACRO_TRANSFORM_LIST:
        return cel_sort_list(x->a, last);
    case MACRO_TRANSFORM_MAP:
        s = ARENA_NEW(x->a, struct cel_sort);
        if (s == NULL) {
            return &cel_dyn;
        }
        *s = (struct cel_sort){.letter = '{', .a = key, .b = last, .most = CEL_SIZE_UNKNOWN};
        return s;
    case MACRO_TRANSFORM_ENTRY:
        if (last->letter != '{' && !is_open(last)) {
            place(x, e->pos, "expected a map of one entry but found '%.*s'",
                  STR_ARG(name_of(x, last)));
        }
        return last;
    default:
        return &cel_bool_sort;
    }
}

static const struct cel_sort *check_optional_macro(struct checker *x, const struct cel_expr *e,
                                                   const struct cel_sort *of,
                                                   const struct cel_names *names) {
    if (of->letter != '?' && !is_open(of)) {
        const struct cel_sort *v[1] = {of};
        return no_fit(x, e, "hasValue", true, v, 1);
    }
    struct cel_names inner = {names, e->name, of->letter == '?' ? of->a : of};
    const struct cel_sort *s = check(x, e->args[0], &inner);
    return e->which == MACRO_OPT_MAP ? cel_sort_optional(x->a, s) : s;
}

static const struct cel_sort *check_macro(struct checker *x, const struct cel_expr *e,
                                          const struct cel_names *names) {
    const struct cel_sort *of = check(x, e->a, names), *last = &cel_dyn;
    if (e->which >= MACRO_OPT_MAP) {
        return check_optional_macro(x, e, of, names);
    }
    bool list = of->letter == '[', map = of->letter == '{';
    if (!list && !map && !is_open(of)) {
        place(x, e->a->pos,
              "expression of type '%.*s' cannot be range of a comprehension (must be list, map, or "
              "dynamic)",
              STR_ARG(name_of(x, of)));
        of = error_sort();
    }
    bool pair = e->var2.n > 0;
    const struct cel_sort *key = list ? &cel_int_sort : map ? of->a : of;
    const struct cel_sort *value = list ? of->a : map ? of->b : of;
    const struct cel_sort *item = map ? key : value;
    struct cel_names first = {names, e->name, pair ? key : item}, second = {&first, e->var2, value};
    bool predicate = e->which == MACRO_ALL || e->which == MACRO_EXISTS ||
                     e->which == MACRO_EXISTS_ONE || e->which == MACRO_FILTER;
    for (size_t i = 0; i < e->n_args; i++) {
        last = check(x, e->args[i], pair ? &second : &first);
        if (predicate || i + 1 < e->n_args) {
            want_bool(x, e, last);
        }
    }
    return macro_result(x, e, item, key, last);
}

/* ---- all of them ---- */

static const struct cel_sort *check_ident(struct checker *x, const struct cel_expr *e,
                                          const struct cel_names *names) {
    for (; names != NULL; names = names->up) {
        if (str_eq(names->name, e->name)) {
            return names->sort;
        }
    }
    for (size_t i = 0; i < x->scope->n; i++) {
        if (str_eq(x->scope->v[i].name, e->name)) {
            return x->scope->v[i].sort;
        }
    }
    if (x->scope->variables != NULL && str_is(e->name, "variables")) {
        return cel_sort_map(x->a, &cel_dyn);
    }
    place(x, e->pos, "undeclared reference to '%.*s' (in container '')", STR_ARG(e->name));
    return error_sort();
}

static const struct cel_sort *check_const(struct checker *x, const struct cel_expr *e) {
    static const char letters[] = {
        [CEL_V_NULL] = 'n',   [CEL_V_BOOL] = 'b',   [CEL_V_INT] = 'i',  [CEL_V_UINT] = 'u',
        [CEL_V_DOUBLE] = 'd', [CEL_V_STRING] = 's', [CEL_V_TYPE] = 't', [CEL_V_BYTES] = 'y',
    };
    struct cel_sort *s = ARENA_NEW(x->a, struct cel_sort);
    if (s == NULL) {
        return &cel_dyn;
    }
    *s = *cel_sort_of(e->value.type < sizeof(letters) ? letters[e->value.type] : '*');
    if (s->letter == 's' || s->letter == 'y') {
        s->most = s->letter == 's' ? characters(e->value.s) : e->value.s.n;
        s->least = (int32_t)s->most;
        s->limited = true;
    }
    return s;
}

static const struct cel_sort *check_minor(struct checker *x, const struct cel_expr *e,
                                          const struct cel_names *names) {
    const struct cel_sort *v[3];
    switch (e->op) {
    case CEL_NOT:
        v[0] = check(x, e->a, names);
        return overload(x, e, "!_", "b>b", v, 1);
    case CEL_MINUS:
        v[0] = check(x, e->a, names);
        return overload(x, e, "-_", "i>i d>d", v, 1);
    case CEL_COND:
        for (size_t i = 0; i < 3; i++) {
            v[i] = check(x, e->args[i], names);
        }
        return overload(x, e, "_?_:_", "bAA>A", v, 3);
    case CEL_HAS:
        (void)check_select(x, e, names);
        return &cel_bool_sort;
    default:
        return &cel_dyn;
    }
}

static const struct cel_sort *check(struct checker *x, const struct cel_expr *e,
                                    const struct cel_names *names) {
    const struct cel_sort *s;
    switch (e->op) {
    case CEL_CONST:
        s = check_const(x, e);
        break;
    case CEL_IDENT:
        s = check_ident(x, e, names);
        break;
    case CEL_SELECT:
        s = check_select(x, e, names);
        break;
    case CEL_INDEX:
        s = check_index(x, e, names);
        break;
    case CEL_CALL:
    case CEL_METHOD:
        s = check_call(x, e, names);
        break;
    case CEL_MAKE_LIST:
        s = check_list(x, e, names);
        break;
    case CEL_MAKE_MAP:
        s = check_map(x, e, names);
        break;
    case CEL_MAKE_OBJECT:
        s = check_object(x, e, names);
        break;
    case CEL_BINARY:
    case CEL_AND:
    case CEL_OR:
        s = check_binary(x, e, names);
        break;
    case CEL_MACRO:
        s = check_macro(x, e, names);
        break;
    default:
        s = check_minor(x, e, names);
        break;
    }
    ((struct cel_expr *)(uintptr_t)e)->sort = s;
    return s;
}

int cel_compile(struct arena *a, struct str text, const struct cel_scope *scope,
                const struct cel_expr **ret, const struct cel_sort **ret_sort,
                struct str *ret_text) {
    struct err err = {0};
    struct checker x = {.a = a, .scope = scope, .text = text};
    const struct cel_expr *e = NULL;
    const struct cel_sort *s = NULL;
    size_t at = 0;
    int code = cel_parse_at(a, text, &e, &at, &err);
    if (code == ERR_NOMEM) {
        return code;
    }
    buf_init(&x.b, LIMIT_CEL_BYTES * 8);
    if (code != 0) {
        place(&x, at, "%s%s", code == ERR_SYNTAX ? "Syntax error: " : "", err.text);
    } else {
        s = check(&x, e, NULL);
    }
    *ret_text = arena_str(a, buf_view(&x.b));
    buf_release(&x.b);
    if (arena_ok(a) != 0) {
        return ERR_NOMEM;
    }
    if (x.faults > 0) {
        return ERR_SYNTAX;
    }
    *ret = e;
    *ret_sort = s;
    return 0;
}
