/*
 * cel_parse: the text of an expression as a tree. See cel.h.
 *
 * Recursive descent over the characters, from the weakest operator to the strongest, bounded in depth and nodes. Macros
 * are recognized here; functions are looked up here, so that what we do not have is known before anything is evaluated.
 */
#include "api/cel/cel_int.h"

#include <errno.h>

#include "base/limits.h"
#include "base/vec.h"
#include "wire/text/regex.h"

struct parser {
    struct arena *a;
    const char *p, *end;
    size_t nodes;
    int depth;
    int code;
    struct err *err;
};

static const struct cel_expr *parse_expr(struct parser *x);
static const struct cel_expr *parse_unary(struct parser *x);

static void *fail(struct parser *x, int code, const char *fmt, struct str what) {
    if (x->code == 0) {
        x->code = err_set(x->err, code, "%s%.*s", fmt, STR_ARG(str_head(what, 80)));
    }
    return NULL;
}

static void *bad(struct parser *x, const char *text) {
    return fail(x, ERR_SYNTAX, text, (struct str){0});
}

static void skip(struct parser *x) {
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

static bool peek(struct parser *x, const char *s) {
    size_t n = strlen(s);
    skip(x);
    return (size_t)(x->end - x->p) >= n && memcmp(x->p, s, n) == 0;
}

static bool take(struct parser *x, const char *s) {
    bool yes = peek(x, s);
    x->p += yes ? strlen(s) : 0;
    return yes;
}

static bool is_word(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

static struct str word(struct parser *x) {
    skip(x);
    const char *start = x->p;
    while (x->p < x->end && is_word(*x->p, x->p == start)) {
        x->p++;
    }
    return str_from(start, (size_t)(x->p - start));
}

static bool take_word(struct parser *x, const char *s) {
    const char *back = x->p;
    if (str_is(word(x), s)) {
        return true;
    }
    x->p = back;
    return false;
}

static struct cel_expr *node(struct parser *x, enum cel_op op) {
    if (++x->nodes > LIMIT_CEL_NODES) {
        return fail(x, ERR_TOO_LARGE, "the expression is too large", (struct str){0});
    }
    struct cel_expr *e = ARENA_NEW(x->a, struct cel_expr);
    if (e == NULL) {
        return fail(x, ERR_NOMEM, "out of memory", (struct str){0});
    }
    e->op = op;
    return e;
}

static const struct cel_expr *constant(struct parser *x, struct cel_value v) {
    struct cel_expr *e = node(x, CEL_CONST);
    if (e != NULL) {
        e->value = v;
    }
    return e;
}

/* Notes how deep the tree is: it is walked by recursion. A long chain (a + a + ...) is as deep as it is long. */
static const struct cel_expr *deepen(struct parser *x, const struct cel_expr *made) {
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
               ? fail(x, ERR_TOO_LARGE, "the expression is too long", (struct str){0})
               : e;
}

/* ---- literals ---- */

static void put_char(struct buf *b, uint32_t c) {
    if (c < 0x80) {
        buf_ch(b, (char)c);
    } else if (c < 0x800) {
        buf_ch(b, (char)(0xC0 | c >> 6));
        buf_ch(b, (char)(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
        buf_ch(b, (char)(0xE0 | c >> 12));
        buf_ch(b, (char)(0x80 | (c >> 6 & 0x3F)));
        buf_ch(b, (char)(0x80 | (c & 0x3F)));
    } else {
        buf_ch(b, (char)(0xF0 | (c >> 18 & 7)));
        buf_ch(b, (char)(0x80 | (c >> 12 & 0x3F)));
        buf_ch(b, (char)(0x80 | (c >> 6 & 0x3F)));
        buf_ch(b, (char)(0x80 | (c & 0x3F)));
    }
}

static int digit(char c, int base) {
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return d < base ? d : -1;
}

static void escape_number(struct parser *x, struct buf *b, int base, int digits) {
    uint32_t v = 0;
    for (int i = 0; i < digits; i++) {
        int d = x->p < x->end ? digit(*x->p, base) : -1;
        if (d < 0) {
            (void)bad(x, "invalid escape in a string");
            return;
        }
        v = v * (uint32_t)base + (uint32_t)d;
        x->p++;
    }
    if (v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) {
        (void)bad(x, "invalid character in a string");
        return;
    }
    put_char(b, v);
}

/* Behind the backslash. */
static void escape(struct parser *x, struct buf *b) {
    static const char names[] = "abfnrtv\\'\"`?", values[] = "\a\b\f\n\r\t\v\\'\"`?";
    char c = x->p < x->end ? *x->p : '\0';
    const char *known = c != '\0' ? strchr(names, c) : NULL;
    if (known != NULL) {
        buf_ch(b, values[known - names]);
        x->p++;
    } else if (c == 'x' || c == 'X') {
        x->p++;
        escape_number(x, b, 16, 2);
    } else if (c == 'u' || c == 'U') {
        x->p++;
        escape_number(x, b, 16, c == 'u' ? 4 : 8);
    } else if (c >= '0' && c <= '3') {
        escape_number(x, b, 8, 3);
    } else {
        (void)bad(x, "invalid escape in a string");
    }
}

static const struct cel_expr *parse_string(struct parser *x, bool raw) {
    char quote = *x->p;
    char three[4] = {quote, quote, quote, '\0'};
    bool triple = (size_t)(x->end - x->p) >= 3 && memcmp(x->p, three, 3) == 0;
    const char *close = triple ? three : &three[2];
    struct buf b;
    buf_init(&b, LIMIT_CEL_BYTES * 4);
    x->p += strlen(close);
    while (x->code == 0) {
        if (x->p == x->end || (*x->p == '\n' && !triple)) {
            (void)bad(x, "a string does not end");
        } else if ((size_t)(x->end - x->p) >= strlen(close) &&
                   memcmp(x->p, close, strlen(close)) == 0) {
            x->p += strlen(close);
            break;
        } else if (*x->p == '\\' && !raw) {
            x->p++;
            escape(x, &b);
        } else {
            buf_ch(&b, *x->p++);
        }
    }
    struct str s = arena_str(x->a, buf_view(&b));
    buf_release(&b);
    return x->code == 0 ? constant(x, cel_str(s)) : NULL;
}

static const struct cel_expr *parse_number(struct parser *x) {
    char text[64];
    const char *start = x->p;
    bool hex = x->end - x->p > 2 && x->p[0] == '0' && (x->p[1] == 'x' || x->p[1] == 'X');
    bool real = false;
    x->p += hex ? 2 : 0;
    while (x->p < x->end) {
        char c = *x->p;
        bool more = x->p + 1 < x->end;
        bool dot = !hex && c == '.' && !real && more && digit(x->p[1], 10) >= 0;
        bool exponent = !hex && (c == 'e' || c == 'E') && more;
        if (digit(c, hex ? 16 : 10) >= 0) {
            x->p++;
        } else if (dot) {
            real = true;
            x->p++;
        } else if (exponent) {
            real = true;
            x->p += x->p[1] == '+' || x->p[1] == '-' ? 2 : 1;
        } else {
            break;
        }
    }
    struct str s = str_from(start, (size_t)(x->p - start));
    bool is_unsigned = x->p < x->end && (*x->p == 'u' || *x->p == 'U');
    x->p += is_unsigned;
    char *end = NULL;
    if (!str_copy(s, text, sizeof(text))) {
        return bad(x, "a number is too long");
    }
    struct cel_value v = {.type = real ? CEL_V_DOUBLE : is_unsigned ? CEL_V_UINT : CEL_V_INT};
    errno = 0;
    if (real) {
        v.d = strtod(text, &end);
    } else {
        v.u = strtoull(text, &end, hex ? 16 : 10);
        /* 9223372036854775808 stands only behind a minus: parse_unary makes it the smallest. */
        if (errno != 0 || (!is_unsigned && v.u > (uint64_t)INT64_MAX + 1)) {
            return bad(x, "a number is out of range");
        }
    }
    return end == NULL || *end != '\0' ? bad(x, "malformed number") : constant(x, v);
}

/* ---- calls ---- */

VEC(expr_vec, const struct cel_expr *);

/* Up to the closing mark; the list goes to the arena. `pairs`: key: value. */
static void parse_args(struct parser *x, struct cel_expr *e, const char *close, bool pairs) {
    struct expr_vec v = {0};
    while (x->code == 0 && !take(x, close)) {
        if (v.n > 0 && !take(x, ",")) {
            (void)bad(x, "expected a comma");
            break;
        }
        if (v.n > 0 && take(x, close)) {
            break;
        }
        if (peek(x, "?")) {
            (void)fail(x, ERR_UNSUPPORTED, "optional elements", (struct str){0});
            break;
        }
        const struct cel_expr *k = parse_expr(x), *value = NULL;
        if (pairs && x->code == 0) {
            value = take(x, ":") ? parse_expr(x) : bad(x, "expected a colon");
        }
        if (x->code == 0 &&
            (expr_vec_push(&v, k) != 0 || (pairs && expr_vec_push(&v, value) != 0))) {
            (void)fail(x, ERR_NOMEM, "out of memory", (struct str){0});
        }
    }
    e->args = v.n > 0 ? ARENA_ARRAY(x->a, const struct cel_expr *, v.n) : NULL;
    if (v.n > 0 && e->args == NULL) {
        (void)fail(x, ERR_NOMEM, "out of memory", (struct str){0});
    } else if (v.n > 0) {
        memcpy(e->args, v.v, v.n * sizeof(*v.v));
        e->n_args = v.n;
    }
    expr_vec_release(&v);
}

static const struct cel_expr *parse_has(struct parser *x) {
    struct cel_expr *e = node(x, CEL_HAS);
    if (e == NULL) {
        return NULL;
    }
    parse_args(x, e, ")", false);
    if (x->code != 0) {
        return NULL;
    }
    if (e->n_args != 1 || e->args[0]->op != CEL_SELECT) {
        return bad(x, "has() takes one field selection");
    }
    e->a = e->args[0]->a;
    e->name = e->args[0]->name;
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
                  {"map", MACRO_MAP}};
    for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++) {
        if (str_is(name, macros[i].name)) {
            *ret = (int)macros[i].macro;
            return true;
        }
    }
    return false;
}

static const struct cel_expr *finish_macro(struct parser *x, struct cel_expr *e) {
    bool transforms = e->which == MACRO_MAP;
    size_t most = e->which == MACRO_FILTER ? 2 : 3;
    if (e->n_args < 2 || e->n_args > most || e->args[0]->op != CEL_IDENT) {
        return bad(x, "a macro takes a variable and an expression");
    }
    e->op = CEL_MACRO;
    e->name = e->args[0]->name;
    if (e->n_args == 3 && !transforms) {
        if (e->args[1]->op != CEL_IDENT) {
            return bad(x, "a macro takes a variable and an expression");
        }
        e->var2 = e->args[1]->name;
        e->args++;
        e->n_args--;
    }
    e->args++;
    e->n_args--;
    return e;
}

static const struct cel_expr *parse_call(struct parser *x, const struct cel_expr *target,
                                         struct str name) {
    struct cel_expr *e = node(x, target != NULL ? CEL_METHOD : CEL_CALL);
    if (e == NULL) {
        return NULL;
    }
    e->a = target;
    e->name = name;
    parse_args(x, e, ")", false);
    if (x->code != 0) {
        return NULL;
    }
    if (target != NULL && is_macro(name, &e->which)) {
        return finish_macro(x, e);
    }
    e->function = cel_function(name, target != NULL);
    if (e->function == NULL) {
        return fail(x, ERR_UNSUPPORTED, "function ", name);
    }
    if (e->n_args < e->function->min || e->n_args > e->function->max) {
        return fail(x, ERR_SYNTAX, "wrong number of arguments of ", name);
    }
    bool pattern = str_is(name, "matches") || str_is(name, "find") || str_is(name, "findAll");
    const struct cel_expr *last =
        e->n_args == 0 ? NULL : e->args[str_is(name, "matches") ? e->n_args - 1 : 0];
    if (pattern && last != NULL && last->op == CEL_CONST && last->value.type == CEL_V_STRING) {
        struct regex *re;
        int r = regex_new(x->a, last->value.s, &re, x->err);
        if (r != 0) {
            x->code = r;
            return NULL;
        }
        e->regex = re;
    }
    return e;
}

/* ---- from the strongest to the weakest ---- */

static const struct cel_expr *parse_collection(struct parser *x, enum cel_op op,
                                               const char *close) {
    struct cel_expr *e = node(x, op);
    if (e != NULL) {
        parse_args(x, e, close, op == CEL_MAKE_MAP);
    }
    return x->code == 0 ? e : NULL;
}

static const struct cel_expr *parse_name(struct parser *x) {
    static const char *const types[] = {"int",   "uint", "double", "bool",     "string",
                                        "bytes", "list", "map",    "null_type"};
    struct str s = word(x);
    bool string_next = x->p < x->end && (*x->p == '"' || *x->p == '\'');
    if (string_next && (str_is(s, "r") || str_is(s, "R"))) {
        return parse_string(x, true);
    }
    if (string_next) {
        return fail(x, ERR_UNSUPPORTED, "bytes", (struct str){0});
    }
    if (str_is(s, "true") || str_is(s, "false")) {
        return constant(x, cel_bool(str_is(s, "true")));
    }
    if (str_is(s, "null")) {
        return constant(x, (struct cel_value){.type = CEL_V_NULL});
    }
    if (str_is(s, "has") && take(x, "(")) {
        return parse_has(x);
    }
    if (take(x, "(")) {
        return parse_call(x, NULL, s);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (str_is(s, types[i])) {
            return constant(x, (struct cel_value){.type = CEL_V_TYPE, .s = s});
        }
    }
    struct cel_expr *e = node(x, CEL_IDENT);
    if (e != NULL) {
        e->name = s;
    }
    return e;
}

static const struct cel_expr *parse_primary(struct parser *x) {
    skip(x);
    if (x->p == x->end) {
        return bad(x, "the expression ends too early");
    }
    char c = *x->p;
    if (c == '"' || c == '\'') {
        return parse_string(x, false);
    }
    if (digit(c, 10) >= 0 || (c == '.' && x->p + 1 < x->end && digit(x->p[1], 10) >= 0)) {
        return parse_number(x);
    }
    if (take(x, "(")) {
        const struct cel_expr *e = parse_expr(x);
        return x->code == 0 && !take(x, ")") ? bad(x, "missing )") : e;
    }
    if (take(x, "[")) {
        return parse_collection(x, CEL_MAKE_LIST, "]");
    }
    if (take(x, "{")) {
        return parse_collection(x, CEL_MAKE_MAP, "}");
    }
    return is_word(c, true) ? parse_name(x) : bad(x, "unexpected character");
}

static const struct cel_expr *parse_dot(struct parser *x, const struct cel_expr *target) {
    if (peek(x, "?")) {
        return fail(x, ERR_UNSUPPORTED, "optional selection", (struct str){0});
    }
    struct str name = word(x);
    if (name.n == 0 && take(x, "`")) {
        const char *start = x->p;
        while (x->p < x->end && *x->p != '`') {
            x->p++;
        }
        name = str_from(start, (size_t)(x->p - start));
        if (!take(x, "`")) {
            return bad(x, "a quoted name does not end");
        }
    }
    if (name.n == 0) {
        return bad(x, "expected a name behind a dot");
    }
    if (take(x, "(")) {
        return parse_call(x, target, name);
    }
    struct cel_expr *e = node(x, CEL_SELECT);
    if (e != NULL) {
        e->a = target;
        e->name = name;
    }
    return e;
}

static const struct cel_expr *parse_member(struct parser *x) {
    const struct cel_expr *left = parse_primary(x);
    while (x->code == 0) {
        if (take(x, ".")) {
            left = deepen(x, parse_dot(x, left));
        } else if (take(x, "[")) {
            if (peek(x, "?")) {
                return fail(x, ERR_UNSUPPORTED, "optional selection", (struct str){0});
            }
            struct cel_expr *e = node(x, CEL_INDEX);
            const struct cel_expr *at = parse_expr(x);
            if (e == NULL || x->code != 0) {
                return NULL;
            }
            e->a = left;
            e->b = at;
            left = take(x, "]") ? deepen(x, e) : bad(x, "missing ]");
        } else if (peek(x, "{")) {
            return fail(x, ERR_UNSUPPORTED, "messages", (struct str){0});
        } else {
            return left;
        }
    }
    return NULL;
}

static const struct cel_expr *parse_unary(struct parser *x) {
    if (++x->depth > LIMIT_CEL_DEPTH) {
        return fail(x, ERR_TOO_LARGE, "the expression nests too deeply", (struct str){0});
    }
    const struct cel_expr *e;
    bool not = peek(x, "!") && !peek(x, "!="), minus = peek(x, "-");
    if (not || minus) {
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

static const struct cel_expr *binary(struct parser *x, enum cel_op op, int which,
                                     const struct cel_expr *a, const struct cel_expr *b) {
    struct cel_expr *e = x->code == 0 ? node(x, op) : NULL;
    if (e != NULL) {
        e->which = which;
        e->a = a;
        e->b = b;
        return deepen(x, e);
    }
    return NULL;
}

static const struct cel_expr *parse_product(struct parser *x) {
    const struct cel_expr *left = parse_unary(x);
    while (x->code == 0) {
        int which = take(x, "*") ? BIN_MUL : take(x, "/") ? BIN_DIV : take(x, "%") ? BIN_MOD : -1;
        if (which < 0) {
            break;
        }
        left = binary(x, CEL_BINARY, which, left, parse_unary(x));
    }
    return left;
}

static const struct cel_expr *parse_sum(struct parser *x) {
    const struct cel_expr *left = parse_product(x);
    while (x->code == 0) {
        int which = take(x, "+") ? BIN_ADD : take(x, "-") ? BIN_SUB : -1;
        if (which < 0) {
            break;
        }
        left = binary(x, CEL_BINARY, which, left, parse_product(x));
    }
    return left;
}

static const struct cel_expr *parse_relation(struct parser *x) {
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
        left = binary(x, CEL_BINARY, which, left, parse_sum(x));
    }
    return left;
}

static const struct cel_expr *parse_and(struct parser *x) {
    const struct cel_expr *left = parse_relation(x);
    while (x->code == 0 && take(x, "&&")) {
        left = binary(x, CEL_AND, 0, left, parse_relation(x));
    }
    return left;
}

static const struct cel_expr *parse_or(struct parser *x) {
    const struct cel_expr *left = parse_and(x);
    while (x->code == 0 && take(x, "||")) {
        left = binary(x, CEL_OR, 0, left, parse_and(x));
    }
    return left;
}

static const struct cel_expr *parse_expr(struct parser *x) {
    if (++x->depth > LIMIT_CEL_DEPTH) {
        return fail(x, ERR_TOO_LARGE, "the expression nests too deeply", (struct str){0});
    }
    const struct cel_expr *first = parse_or(x);
    if (x->code == 0 && take(x, "?")) {
        struct cel_expr *e = node(x, CEL_COND);
        const struct cel_expr **args = ARENA_ARRAY(x->a, const struct cel_expr *, 3);
        if (e == NULL || args == NULL) {
            return fail(x, ERR_NOMEM, "out of memory", (struct str){0});
        }
        args[0] = first;
        args[1] = parse_or(x);
        if (x->code == 0 && !take(x, ":")) {
            return bad(x, "missing : of a condition");
        }
        args[2] = x->code == 0 ? parse_expr(x) : NULL;
        e->args = args;
        e->n_args = 3;
        first = e;
    }
    x->depth--;
    return x->code == 0 ? deepen(x, first) : NULL;
}

int cel_parse(struct arena *a, struct str text, const struct cel_expr **ret, struct err *err) {
    struct err own = {0};
    text = text.p != NULL ? text : STR("");
    struct parser x = {.a = a, .p = text.p, .end = text.p + text.n, .err = err ? err : &own};
    if (text.n > LIMIT_CEL_BYTES) {
        return err_set(err, ERR_TOO_LARGE, "an expression may have at most %d bytes",
                       LIMIT_CEL_BYTES);
    }
    const struct cel_expr *e = parse_expr(&x);
    skip(&x);
    if (x.code == 0 && x.p < x.end) {
        (void)bad(&x, "unexpected text behind the expression");
    }
    if (x.code == 0) {
        *ret = e;
    }
    return x.code;
}

bool cel_uses(const struct cel_expr *e, const char *name) {
    if (e == NULL) {
        return false;
    }
    if (e->op == CEL_IDENT) {
        return str_is(e->name, name);
    }
    bool uses = cel_uses(e->a, name) || cel_uses(e->b, name);
    for (size_t i = 0; i < e->n_args && !uses; i++) {
        uses = cel_uses(e->args[i], name);
    }
    return uses;
}

static struct str undeclared(const struct cel_expr *e, const struct cel_frame *f) {
    struct str found = {0};
    if (e == NULL) {
        return found;
    }
    if (e->op == CEL_IDENT) {
        while (f != NULL && !str_eq(f->name, e->name)) {
            f = f->up;
        }
        return f == NULL ? e->name : found;
    }
    found = undeclared(e->a, f);
    found = found.n > 0 ? found : undeclared(e->b, f);
    struct cel_frame one = {f, e->name, {0}}, two = {&one, e->var2, {0}};
    const struct cel_frame *inner = e->op == CEL_MACRO ? &two : f;
    for (size_t i = 0; i < e->n_args && found.n == 0; i++) {
        found = undeclared(e->args[i], inner);
    }
    return found;
}

struct str cel_undeclared(const struct cel_expr *e) {
    struct cel_frame self = {NULL, STR("self"), {0}}, old = {&self, STR("oldSelf"), {0}};
    return undeclared(e, &old);
}
