/*
 * cel_parse: the text of an expression as a tree. See cel.h.
 *
 * Recursive descent over the characters, from the weakest operator to the strongest, bounded in depth and nodes. Macros
 * are recognized here; functions are looked up here, so that what we do not have is known before anything is evaluated.
 */
#include "api/cel/cel_parse_private.h"

#include "base/limits.h"
#include "base/vec.h"
#include "wire/text/regex.h"

static const struct cel_expr *parse_expr(struct cel_parser *x);
static const struct cel_expr *parse_unary(struct cel_parser *x);

void *cel_fail(struct cel_parser *x, int code, const char *fmt, struct str what) {
    if (x->code == 0) {
        x->fault = x->p == x->end ? (size_t)(x->end - x->start) : x->at;
        x->code = err_set(x->err, code, "%s%.*s", fmt, STR_ARG(str_head(what, 80)));
    }
    return NULL;
}

void *cel_bad(struct cel_parser *x, const char *text) {
    return cel_fail(x, ERR_SYNTAX, text, (struct str){0});
}

static void skip(struct cel_parser *x) {
    while (x->p < x->end) {
        if (*x->p == ' ' || *x->p == '\t' || *x->p == '\n' || *x->p == '\r' || *x->p == '\f') {
            x->p++;
        } else if (x->end - x->p >= 2 && x->p[0] == '/' && x->p[1] == '/') {
            while (x->p < x->end && *x->p != '\n') {
                x->p++;
            }
        } else {
            return;
        }
    }
}

static bool peek(struct cel_parser *x, const char *s) {
    size_t n = strlen(s);
    skip(x);
    return (size_t)(x->end - x->p) >= n && memcmp(x->p, s, n) == 0;
}

static bool take(struct cel_parser *x, const char *s) {
    bool yes = peek(x, s);
    if (yes) {
        x->at = (size_t)(x->p - x->start);
        x->p += strlen(s);
    }
    return yes;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

static struct str word(struct cel_parser *x) {
    skip(x);
    const char *start = x->p;
    x->at = (size_t)(x->p - x->start);
    while (x->p < x->end && is_word(*x->p, x->p == start)) {
        x->p++;
    }
    return str_from(start, (size_t)(x->p - start));
}

static bool take_word(struct cel_parser *x, const char *s) {
    const char *back = x->p;
    if (str_is(word(x), s)) {
        return true;
    }
    x->p = back;
    return false;
}

static struct cel_expr *node(struct cel_parser *x, enum cel_op op) {
    if (++x->nodes > LIMIT_CEL_NODES) {
        return cel_fail(x, ERR_TOO_LARGE, "the expression is too large", (struct str){0});
    }
    struct cel_expr *e = ARENA_NEW(x->a, struct cel_expr);
    if (e == NULL) {
        return cel_fail(x, ERR_NOMEM, "out of memory", (struct str){0});
    }
    e->op = op;
    e->pos = x->at;
    return e;
}

const struct cel_expr *cel_constant(struct cel_parser *x, struct cel_value v) {
    struct cel_expr *e = node(x, CEL_CONST);
    if (e != NULL) {
        e->value = v;
    }
    return e;
}

/* Notes how deep the tree is: it is walked by recursion. A long chain (a + a + ...) is as deep as it is long. */
static const struct cel_expr *deepen(struct cel_parser *x, const struct cel_expr *made) {
    struct cel_expr *e = (struct cel_expr *)(uintptr_t)made;
    if (e == NULL || x->code != 0) {
        return NULL;
    }
    int most = e->a != NULL ? e->a->depth : 0;
    most = e->b != NULL && e->b->depth > most ? e->b->depth : most;
    for (size_t i = 0; i < e->n_args; i++) {
        most = e->args[i]->depth > most ? e->args[i]->depth : most;
    }
    e->depth = most + 1;
    return e->depth > LIMIT_CEL_DEPTH * 4
               ? cel_fail(x, ERR_TOO_LARGE, "the expression is too long", (struct str){0})
               : e;
}

/* ---- calls ---- */

VEC(expr_vec, const struct cel_expr *);

/* Up to the closing mark; the list goes to the arena. */
enum arg_form { ARGS_CALL, ARGS_LIST, ARGS_PAIRS, ARGS_FIELDS };

static const struct cel_expr *parse_key(struct cel_parser *x, enum arg_form form) {
    if (form != ARGS_FIELDS) {
        return parse_expr(x);
    }
    struct str name = word(x);
    return name.n > 0 ? cel_constant(x, cel_str(name)) : cel_bad(x, "expected the name of a field");
}

static void keep_args(struct cel_parser *x, struct cel_expr *e, const struct expr_vec *v,
                      uint64_t maybe, bool pairs) {
    size_t n = pairs ? v->n / 2 : v->n;
    bool *flags = maybe != 0 ? ARENA_ARRAY(x->a, bool, n) : NULL;
    e->args = v->n > 0 ? ARENA_ARRAY(x->a, const struct cel_expr *, v->n) : NULL;
    if ((v->n > 0 && e->args == NULL) || (maybe != 0 && flags == NULL)) {
        (void)cel_fail(x, ERR_NOMEM, "out of memory", (struct str){0});
        return;
    }
    if (v->n > 0) {
        memcpy(e->args, v->v, v->n * sizeof(*v->v));
        e->n_args = v->n;
    }
    for (size_t i = 0; flags != NULL && i < n && i < 64; i++) {
        flags[i] = (maybe >> i & 1) != 0;
    }
    e->maybe = flags;
}

static void parse_args(struct cel_parser *x, struct cel_expr *e, const char *close,
                       enum arg_form form) {
    struct expr_vec v = {0};
    bool pairs = form == ARGS_PAIRS || form == ARGS_FIELDS;
    uint64_t maybe = 0;
    while (x->code == 0 && !take(x, close)) {
        size_t i = pairs ? v.n / 2 : v.n;
        if (v.n > 0 && !take(x, ",")) {
            (void)cel_bad(x, "expected a comma");
            break;
        }
        if (v.n > 0 && take(x, close)) {
            break;
        }
        if (form != ARGS_CALL && take(x, "?")) {
            if (i >= 64) {
                (void)cel_bad(x, "an optional element must be among the first 64");
            }
            maybe |= UINT64_C(1) << (i & 63);
        }
        const struct cel_expr *k = parse_key(x, form), *value = NULL;
        if (pairs && x->code == 0) {
            value = take(x, ":") ? parse_expr(x) : cel_bad(x, "expected a colon");
        }
        if (x->code == 0 &&
            (expr_vec_push(&v, k) != 0 || (pairs && expr_vec_push(&v, value) != 0))) {
            (void)cel_fail(x, ERR_NOMEM, "out of memory", (struct str){0});
        }
    }
    keep_args(x, e, &v, maybe, pairs);
    expr_vec_release(&v);
}

static const struct cel_expr *parse_has(struct cel_parser *x) {
    struct cel_expr *e = node(x, CEL_HAS);
    if (e == NULL) {
        return NULL;
    }
    parse_args(x, e, ")", ARGS_CALL);
    if (x->code != 0) {
        return NULL;
    }
    if (e->n_args != 1 || e->args[0]->op != CEL_SELECT) {
        return cel_bad(x, "has() takes one field selection");
    }
    e->a = e->args[0]->a;
    e->name = e->args[0]->name;
    e->pos = e->args[0]->pos;
    return e;
}

static bool is_macro(struct str name, int *ret) {
    static const struct {
        const char *name;
        enum cel_macro macro;
    } macros[] = {{"all", MACRO_ALL},
                  {"exists", MACRO_EXISTS},
                  {"exists_one", MACRO_EXISTS_ONE},
                  {"existsOne", MACRO_EXISTS_ONE},
                  {"filter", MACRO_FILTER},
                  {"map", MACRO_MAP},
                  {"transformList", MACRO_TRANSFORM_LIST},
                  {"transformMap", MACRO_TRANSFORM_MAP},
                  {"transformMapEntry", MACRO_TRANSFORM_ENTRY},
                  {"optMap", MACRO_OPT_MAP},
                  {"optFlatMap", MACRO_OPT_FLAT_MAP}};
    for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++) {
        if (str_is(name, macros[i].name)) {
            *ret = (int)macros[i].macro;
            return true;
        }
    }
    return false;
}

static bool is_plain(const struct cel_expr *e) {
    return e->op == CEL_IDENT;
}

static const struct cel_expr *finish_macro(struct cel_parser *x, struct cel_expr *e) {
    bool map = e->which == MACRO_MAP,
         two_only = e->which >= MACRO_TRANSFORM_LIST && e->which <= MACRO_TRANSFORM_ENTRY;
    bool one_only = e->which >= MACRO_OPT_MAP || e->which == MACRO_FILTER;
    size_t least = two_only ? 3 : 2, most = two_only ? 4 : one_only ? 2 : 3;
    bool pair = two_only || (e->n_args == 3 && !map);
    if (e->n_args < least || e->n_args > most || !is_plain(e->args[0]) ||
        (pair && !is_plain(e->args[1]))) {
        return cel_bad(x, "a macro takes a variable and an expression");
    }
    e->op = CEL_MACRO;
    e->name = e->args[0]->name;
    if (pair) {
        e->var2 = e->args[1]->name;
        if (str_eq(e->var2, e->name)) {
            return cel_bad(x, "the variables of a macro must have two names");
        }
    }
    e->args += pair ? 2 : 1;
    e->n_args -= pair ? 2 : 1;
    return e;
}

/* A regular expression that is written out is compiled once. */
static void compile_pattern(struct cel_parser *x, struct cel_expr *e) {
    bool matches = str_is(e->name, "matches");
    bool pattern = matches || str_is(e->name, "find") || str_is(e->name, "findAll");
    const struct cel_expr *last = e->n_args == 0 ? NULL : e->args[matches ? e->n_args - 1 : 0];
    if (pattern && last != NULL && last->op == CEL_CONST && last->value.type == CEL_V_STRING) {
        struct regex *re;
        int r = regex_new(x->a, last->value.s, &re, x->err);
        x->code = r != 0 ? r : x->code;
        x->fault = last->pos;
        e->regex = r == 0 ? re : NULL;
    }
}

/* "sets.contains": a function with a dot in its name, unless a variable is called so. */
static const struct cel_function *dotted(struct cel_parser *x, const struct cel_expr *target,
                                         struct str name, struct str *ret) {
    static const char *const spaces[] = {"sets",     "ip",        "format",
                                         "optional", "jsonpatch", "strings"};
    for (size_t i = 0; target->op == CEL_IDENT && i < sizeof(spaces) / sizeof(spaces[0]); i++) {
        if (str_is(target->name, spaces[i])) {
            struct str whole = arena_f(x->a, "%s.%.*s", spaces[i], STR_ARG(name));
            const struct cel_function *f = cel_function(whole, false);
            *ret = f != NULL ? whole : name;
            return f;
        }
    }
    return NULL;
}

static const struct cel_expr *parse_call(struct cel_parser *x, const struct cel_expr *target,
                                         struct str name) {
    const struct cel_function *space = target != NULL ? dotted(x, target, name, &name) : NULL;
    target = space != NULL ? NULL : target;
    struct cel_expr *e = node(x, target != NULL ? CEL_METHOD : CEL_CALL);
    if (e == NULL) {
        return NULL;
    }
    e->a = target;
    e->name = name;
    parse_args(x, e, ")", ARGS_CALL);
    if (x->code != 0) {
        return NULL;
    }
    size_t at = x->at;
    x->at = e->pos;
    if (target != NULL && is_macro(name, &e->which)) {
        return finish_macro(x, e);
    }
    e->function = cel_function(name, target != NULL);
    if (e->function != NULL) {
        compile_pattern(x, e);
    } else if (x->lenient) {
        e->function = NULL; /* told by who checks */
    } else {
        return cel_fail(x, ERR_UNSUPPORTED, "function ", name);
    }
    const struct cel_function *f = e->function;
    size_t n = e->n_args + (target != NULL);
    while (f != NULL && !cel_function_takes(f, NULL, n)) {
        f = cel_function_next(f);
    }
    if (f == NULL && !x->lenient) {
        return cel_fail(x, ERR_SYNTAX, "wrong number of arguments of ", name);
    }
    x->at = x->code != 0 ? x->at : at;
    return x->code == 0 ? e : NULL;
}

/* ---- from the strongest to the weakest ---- */

static const struct cel_expr *parse_collection(struct cel_parser *x, enum cel_op op,
                                               const char *close) {
    struct cel_expr *e = node(x, op);
    if (e != NULL) {
        parse_args(x, e, close, op == CEL_MAKE_MAP ? ARGS_PAIRS : ARGS_LIST);
    }
    return x->code == 0 ? e : NULL;
}

/* Words that may not name a variable. */
static bool is_reserved(struct str s) {
    static const char *const words[] = {
        "as",  "break", "const",   "continue",  "else",   "for", "function", "if",    "import",
        "let", "loop",  "package", "namespace", "return", "var", "void",     "while", "in"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_is(s, words[i])) {
            return true;
        }
    }
    return false;
}

static const struct cel_expr *parse_name(struct cel_parser *x) {
    static const char *const types[] = {"int",   "uint", "double", "bool",     "string",
                                        "bytes", "list", "map",    "null_type"};
    struct str s = word(x);
    size_t at = x->at;
    bool string_next = x->p < x->end && (*x->p == '"' || *x->p == '\'');
    if (string_next) {
        bool raw = false, bytes = false, known = s.n <= 2;
        for (size_t i = 0; i < s.n; i++) {
            bool r = s.p[i] == 'r' || s.p[i] == 'R', b = s.p[i] == 'b' || s.p[i] == 'B';
            known = known && ((r && !raw) || (b && !bytes));
            raw = raw || r;
            bytes = bytes || b;
        }
        return known ? cel_parse_string(x, raw, bytes)
                     : cel_bad(x, "unexpected text before a string");
    }
    if (str_is(s, "true") || str_is(s, "false")) {
        return cel_constant(x, cel_bool(str_is(s, "true")));
    }
    if (str_is(s, "null")) {
        return cel_constant(x, (struct cel_value){.type = CEL_V_NULL});
    }
    if (str_is(s, "has") && take(x, "(")) {
        return parse_has(x);
    }
    if (take(x, "(")) {
        return parse_call(x, NULL, s);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (str_is(s, types[i])) {
            return cel_constant(x, (struct cel_value){.type = CEL_V_TYPE, .s = s});
        }
    }
    if (is_reserved(s)) {
        x->at = at;
        return cel_fail(x, ERR_SYNTAX, "reserved identifier: ", s);
    }
    x->at = at;
    struct cel_expr *e = node(x, CEL_IDENT);
    if (e != NULL) {
        e->name = s;
    }
    return e;
}

static const struct cel_expr *parse_primary(struct cel_parser *x) {
    skip(x);
    if (x->p == x->end) {
        return cel_bad(x, "the expression ends too early");
    }
    char c = *x->p;
    x->at = (size_t)(x->p - x->start);
    if (c == '"' || c == '\'') {
        return cel_parse_string(x, false, false);
    }
    if (is_digit(c) || (c == '.' && x->p + 1 < x->end && is_digit(x->p[1]))) {
        return cel_parse_number(x);
    }
    if (take(x, "(")) {
        const struct cel_expr *e = parse_expr(x);
        return x->code == 0 && !take(x, ")") ? cel_bad(x, "missing )") : e;
    }
    if (take(x, "[")) {
        return parse_collection(x, CEL_MAKE_LIST, "]");
    }
    if (take(x, "{")) {
        return parse_collection(x, CEL_MAKE_MAP, "}");
    }
    return is_word(c, true) ? parse_name(x) : cel_bad(x, "unexpected character");
}

static const struct cel_expr *parse_dot(struct cel_parser *x, const struct cel_expr *target) {
    size_t at = x->at;
    bool optional = take(x, "?");
    struct str name = word(x);
    if (name.n == 0 && take(x, "`")) {
        const char *start = x->p;
        while (x->p < x->end && *x->p != '`') {
            x->p++;
        }
        name = str_from(start, (size_t)(x->p - start));
        if (!take(x, "`")) {
            return cel_bad(x, "a quoted name does not end");
        }
    }
    if (name.n == 0) {
        return cel_bad(x, "expected a name behind a dot");
    }
    if (!optional && take(x, "(")) {
        return parse_call(x, target, name);
    }
    x->at = at;
    struct cel_expr *e = node(x, CEL_SELECT);
    if (e != NULL) {
        e->a = target;
        e->name = name;
        e->optional = optional;
    }
    return e;
}

static const struct cel_expr *parse_index(struct cel_parser *x, const struct cel_expr *left) {
    struct cel_expr *e = node(x, CEL_INDEX);
    bool optional = take(x, "?");
    const struct cel_expr *at = parse_expr(x);
    if (e == NULL || x->code != 0) {
        return NULL;
    }
    e->a = left;
    e->b = at;
    e->optional = optional;
    return take(x, "]") ? deepen(x, e) : cel_bad(x, "missing ]");
}

/* "Object.spec" of a chain of names. false: it is none. */
static bool dotted_name(const struct cel_expr *e, struct buf *b) {
    if (e->op == CEL_IDENT) {
        buf_str(b, e->name);
        return true;
    }
    if (e->op != CEL_SELECT || e->optional || !dotted_name(e->a, b)) {
        return false;
    }
    buf_ch(b, '.');
    buf_str(b, e->name);
    return true;
}

static const struct cel_expr *parse_object(struct cel_parser *x, const struct cel_expr *type) {
    struct buf b;
    buf_init(&b, LIMIT_CEL_BYTES);
    bool named = dotted_name(type, &b);
    struct cel_expr *e = named ? node(x, CEL_MAKE_OBJECT) : cel_bad(x, "unexpected {");
    if (e != NULL) {
        e->name = arena_str(x->a, buf_view(&b));
        parse_args(x, e, "}", ARGS_FIELDS);
    }
    buf_release(&b);
    return x->code == 0 ? deepen(x, e) : NULL;
}

static const struct cel_expr *parse_member(struct cel_parser *x) {
    const struct cel_expr *left = parse_primary(x);
    while (x->code == 0) {
        if (take(x, ".")) {
            left = deepen(x, parse_dot(x, left));
        } else if (take(x, "[")) {
            left = parse_index(x, left);
        } else if (take(x, "{")) {
            left = parse_object(x, left);
        } else {
            return left;
        }
    }
    return NULL;
}

static const struct cel_expr *parse_unary(struct cel_parser *x) {
    if (++x->depth > LIMIT_CEL_DEPTH) {
        return cel_fail(x, ERR_TOO_LARGE, "the expression nests too deeply", (struct str){0});
    }
    const struct cel_expr *e;
    bool not = peek(x, "!") && !peek(x, "!="), minus = peek(x, "-");
    if (not || minus) {
        x->at = (size_t)(x->p - x->start);
        x->p++;
        struct cel_expr *n = node(x, not ? CEL_NOT : CEL_MINUS);
        const struct cel_expr *a = parse_unary(x);
        if (n != NULL) {
            n->a = a;
        }
        bool smallest = minus && a != NULL && a->op == CEL_CONST && a->value.type == CEL_V_INT &&
                        a->value.i == INT64_MIN;
        e = smallest ? a : n;
    } else {
        e = parse_member(x);
    }
    x->depth--;
    return x->code == 0 ? deepen(x, e) : NULL;
}

static const struct cel_expr *binary(struct cel_parser *x, enum cel_op op, int which, size_t pos,
                                     const struct cel_expr *a, const struct cel_expr *b) {
    struct cel_expr *e = x->code == 0 ? node(x, op) : NULL;
    if (e != NULL) {
        e->pos = pos;
        e->which = which;
        e->a = a;
        e->b = b;
        return deepen(x, e);
    }
    return NULL;
}

static const struct cel_expr *parse_product(struct cel_parser *x) {
    const struct cel_expr *left = parse_unary(x);
    while (x->code == 0) {
        int which = take(x, "*") ? BIN_MUL : take(x, "/") ? BIN_DIV : take(x, "%") ? BIN_MOD : -1;
        if (which < 0) {
            break;
        }
        size_t pos = x->at;
        left = binary(x, CEL_BINARY, which, pos, left, parse_unary(x));
    }
    return left;
}

static const struct cel_expr *parse_sum(struct cel_parser *x) {
    const struct cel_expr *left = parse_product(x);
    while (x->code == 0) {
        int which = take(x, "+") ? BIN_ADD : take(x, "-") ? BIN_SUB : -1;
        if (which < 0) {
            break;
        }
        size_t pos = x->at;
        left = binary(x, CEL_BINARY, which, pos, left, parse_product(x));
    }
    return left;
}

static const struct cel_expr *parse_relation(struct cel_parser *x) {
    static const struct {
        const char *text;
        enum cel_binary which;
    } ops[] = {{"==", BIN_EQ}, {"!=", BIN_NE}, {"<=", BIN_LE},
               {">=", BIN_GE}, {"<", BIN_LT},  {">", BIN_GT}};
    const struct cel_expr *left = parse_sum(x);
    while (x->code == 0) {
        int which = -1;
        for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]) && which < 0; i++) {
            which = take(x, ops[i].text) ? (int)ops[i].which : -1;
        }
        if (which < 0 && take_word(x, "in")) {
            which = BIN_IN;
        }
        if (which < 0) {
            break;
        }
        size_t pos = x->at;
        left = binary(x, CEL_BINARY, which, pos, left, parse_sum(x));
    }
    return left;
}

static const struct cel_expr *parse_and(struct cel_parser *x) {
    const struct cel_expr *left = parse_relation(x);
    while (x->code == 0 && take(x, "&&")) {
        size_t pos = x->at;
        left = binary(x, CEL_AND, 0, pos, left, parse_relation(x));
    }
    return left;
}

static const struct cel_expr *parse_or(struct cel_parser *x) {
    const struct cel_expr *left = parse_and(x);
    while (x->code == 0 && take(x, "||")) {
        size_t pos = x->at;
        left = binary(x, CEL_OR, 0, pos, left, parse_and(x));
    }
    return left;
}

static const struct cel_expr *parse_expr(struct cel_parser *x) {
    if (++x->depth > LIMIT_CEL_DEPTH) {
        return cel_fail(x, ERR_TOO_LARGE, "the expression nests too deeply", (struct str){0});
    }
    const struct cel_expr *first = parse_or(x);
    if (x->code == 0 && take(x, "?")) {
        struct cel_expr *e = node(x, CEL_COND);
        const struct cel_expr **args = ARENA_ARRAY(x->a, const struct cel_expr *, 3);
        if (e == NULL || args == NULL) {
            return cel_fail(x, ERR_NOMEM, "out of memory", (struct str){0});
        }
        args[0] = first;
        args[1] = parse_or(x);
        if (x->code == 0 && !take(x, ":")) {
            return cel_bad(x, "missing : of a condition");
        }
        args[2] = x->code == 0 ? parse_expr(x) : NULL;
        e->args = args;
        e->n_args = 3;
        first = e;
    }
    x->depth--;
    return x->code == 0 ? deepen(x, first) : NULL;
}

static int parse_text(struct arena *a, struct str text, bool lenient, const struct cel_expr **ret,
                      size_t *ret_at, struct err *err) {
    struct err own = {0};
    text = text.p != NULL ? text : STR("");
    struct cel_parser x = {.a = a,
                           .p = text.p,
                           .start = text.p,
                           .end = text.p + text.n,
                           .lenient = lenient,
                           .err = err ? err : &own};
    *ret_at = 0;
    if (text.n > LIMIT_CEL_BYTES) {
        return err_set(err, ERR_TOO_LARGE, "an expression may have at most %d bytes",
                       LIMIT_CEL_BYTES);
    }
    const struct cel_expr *e = parse_expr(&x);
    skip(&x);
    if (x.code == 0 && x.p < x.end) {
        x.at = (size_t)(x.p - x.start);
        (void)cel_bad(&x, "unexpected text behind the expression");
    }
    if (x.code == 0) {
        *ret = e;
    }
    *ret_at = x.fault;
    return x.code;
}

int cel_parse(struct arena *a, struct str text, const struct cel_expr **ret, struct err *err) {
    size_t at;
    return parse_text(a, text, false, ret, &at, err);
}

int cel_parse_at(struct arena *a, struct str text, const struct cel_expr **ret, size_t *ret_at,
                 struct err *err) {
    return parse_text(a, text, true, ret, ret_at, err);
}

bool cel_is_name(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (!is_word(s.p[i], i == 0)) {
            return false;
        }
    }
    return s.n > 0 && !is_reserved(s) && !str_is(s, "true") && !str_is(s, "false") &&
           !str_is(s, "null");
}
