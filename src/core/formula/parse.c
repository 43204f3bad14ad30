/*
 * formula_parse: text to a tree, by precedence.
 */
#include <stdlib.h>

#include "core/formula/private.h"

struct formula_parser {
    struct arena *arena;
    struct str text;
    size_t at;
    int depth;
    struct err *err;
    int rc;
};

static const struct formula_binary {
    const char *text;
    enum formula_op op;
    int rank;
    bool right, word;
} BINARY[] = {
    {"or", FORMULA_OR, 10, false, true},   {"||", FORMULA_OR, 10, false, false},
    {"and", FORMULA_AND, 15, false, true}, {"&&", FORMULA_AND, 15, false, false},
    {"==", FORMULA_EQ, 20, false, false},  {"!=", FORMULA_NE, 20, false, false},
    {"<=", FORMULA_LE, 20, false, false},  {">=", FORMULA_GE, 20, false, false},
    {"<", FORMULA_LT, 20, false, false},   {">", FORMULA_GT, 20, false, false},
    {"in", FORMULA_IN, 20, false, true},   {"..", FORMULA_RANGE, 25, false, false},
    {"+", FORMULA_ADD, 30, false, false},  {"-", FORMULA_SUB, 30, false, false},
    {"**", FORMULA_POW, 100, true, false}, {"*", FORMULA_MUL, 60, false, false},
    {"/", FORMULA_DIV, 60, false, false},  {"%", FORMULA_MOD, 60, false, false},
    {"^", FORMULA_POW, 100, true, false},  {"??", FORMULA_ELSE, 500, false, false},
};
enum { RANK_NOT = 50, RANK_SIGN = 90, RANK_COMPARE = 20 };

static const struct formula_function {
    const char *name;
    enum formula_call call;
    size_t min, max;
} CALLS[] = {
    {"abs", CALL_ABS, 1, 1},       {"ceil", CALL_CEIL, 1, 1},    {"floor", CALL_FLOOR, 1, 1},
    {"round", CALL_ROUND, 1, 1},   {"int", CALL_INT, 1, 1},      {"float", CALL_TO_FLOAT, 1, 1},
    {"string", CALL_STRING, 1, 1}, {"len", CALL_LEN, 1, 1},      {"min", CALL_MIN, 1, 1000},
    {"max", CALL_MAX, 1, 1000},    {"mean", CALL_MEAN, 1, 1000}, {"median", CALL_MEDIAN, 1, 1000},
    {"sum", CALL_SUM, 1, 2},       {"all", CALL_ALL, 2, 2},      {"any", CALL_ANY, 2, 2},
    {"none", CALL_NONE, 2, 2},     {"one", CALL_ONE, 2, 2},      {"count", CALL_COUNT, 1, 2},
    {"filter", CALL_FILTER, 2, 2}, {"map", CALL_MAP, 2, 2},      {"reduce", CALL_REDUCE, 2, 3},
};

static struct formula_node *expression(struct formula_parser *p, int rank);

static struct formula_node *fail(struct formula_parser *p, const char *what) {
    if (p->rc == 0) {
        p->rc = err_set(p->err, ERR_INVALID, "formula: %s at byte %zu", what, p->at + 1);
    }
    return NULL;
}

/* ---- words ---- */

static char peek(const struct formula_parser *p, size_t ahead) {
    return p->at + ahead < p->text.n ? p->text.p[p->at + ahead] : '\0';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static void blanks(struct formula_parser *p) {
    while (peek(p, 0) == ' ' || peek(p, 0) == '\t' || peek(p, 0) == '\n' || peek(p, 0) == '\r') {
        p->at++;
    }
}

static bool see(struct formula_parser *p, const char *text) {
    blanks(p);
    return str_starts(str_skip(p->text, p->at), str_of(text));
}

static bool take(struct formula_parser *p, const char *text) {
    bool there = see(p, text);
    p->at += there ? strlen(text) : 0;
    return there;
}

static struct str word(const struct formula_parser *p) {
    size_t n = 0;
    while (is_letter(peek(p, n)) || (n > 0 && is_digit(peek(p, n)))) {
        n++;
    }
    return str_head(str_skip(p->text, p->at), n);
}

static bool take_word(struct formula_parser *p, const char *text) {
    blanks(p);
    struct str w = word(p);
    bool there = str_is(w, text);
    p->at += there ? w.n : 0;
    return there;
}

/* ---- nodes ---- */

static struct formula_node *node(struct formula_parser *p, enum formula_op op, size_t room) {
    struct formula_node *x = ARENA_NEW(p->arena, struct formula_node);
    if (x != NULL) {
        x->op = op;
        x->args = ARENA_ARRAY(p->arena, struct formula_node *, room + 1);
    }
    if (x == NULL || x->args == NULL) {
        p->rc = p->rc ? p->rc : ERR_NOMEM;
        return NULL;
    }
    return x;
}

static struct formula_node *with(struct formula_parser *p, enum formula_op op,
                                 struct formula_node *a, struct formula_node *b,
                                 struct formula_node *c) {
    struct formula_node *x = p->rc == 0 ? node(p, op, 3) : NULL;
    if (x != NULL) {
        x->args[0] = a;
        x->args[1] = b;
        x->args[2] = c;
        x->n = c != NULL ? 3 : b != NULL ? 2 : 1;
    }
    return x;
}

static struct formula_node *number(struct formula_parser *p) {
    char text[64];
    size_t n = 0, from = p->at;
    bool point = false, hex = peek(p, 0) == '0' && (peek(p, 1) == 'x' || peek(p, 1) == 'X');
    bool based = hex || (peek(p, 0) == '0' && memchr("bBoO", peek(p, 1), 4) && peek(p, 1) != '\0');
    for (;;) {
        char c = peek(p, 0);
        bool sign =
            (c == '+' || c == '-') && !based && n > 0 && (text[n - 1] == 'e' || text[n - 1] == 'E');
        bool dot = c == '.' && !based && !point && is_digit(peek(p, 1));
        if (!is_digit(c) && !is_letter(c) && !sign && !dot) {
            break;
        }
        point = point || dot || (!based && (c == 'e' || c == 'E'));
        if (c != '_' && n + 1 < sizeof(text)) {
            text[n++] = c;
        }
        p->at++;
    }
    text[n] = '\0';
    struct formula_node *x = node(p, point ? FORMULA_FLOAT : FORMULA_INT, 0);
    char *end = text;
    if (x != NULL && point) {
        x->f = strtod(text, &end);
    } else if (x != NULL && based && !hex) {
        x->i = strtoll(text + 2, &end, text[1] == 'b' || text[1] == 'B' ? 2 : 8);
    } else if (x != NULL) {
        x->i = strtoll(text, &end, hex ? 16 : 10);
    }
    p->at = *end == '\0' ? p->at : from;
    return x == NULL || *end == '\0' ? x : fail(p, "no number");
}

static struct formula_node *quoted(struct formula_parser *p, char quote) {
    size_t from = ++p->at;
    while (peek(p, 0) != quote && p->at < p->text.n) {
        p->at += peek(p, 0) == '\\' ? 2 : 1;
    }
    if (p->at >= p->text.n) {
        return fail(p, "a text without an end");
    }
    struct formula_node *x = node(p, FORMULA_TEXT, 0);
    if (x != NULL) {
        x->text = str_from(p->text.p + from, p->at - from);
    }
    p->at++;
    return x;
}

/* Arguments up to `close`; the first is given where a value was piped in. */
static struct formula_node *listed(struct formula_parser *p, struct formula_node *x,
                                   struct formula_node *first, const char *close) {
    size_t cap = 0;
    struct formula_node **v = NULL;
    x->n = 0;
    for (bool more = first != NULL || !take(p, close); p->rc == 0 && more;) {
        if (x->n == cap && ARENA_GROW(p->arena, v, cap) != 0) {
            p->rc = ERR_NOMEM;
            break;
        }
        bool braces = first == NULL && take(p, "{");
        v[x->n++] = first != NULL ? first : expression(p, 0);
        if (braces && !take(p, "}")) {
            return fail(p, "expected }");
        }
        if (first != NULL) {
            first = NULL;
            more = !take(p, close);
            continue;
        }
        more = take(p, ",");
        if (!more && p->rc == 0 && !take(p, close)) {
            return fail(p, "expected , or the end of a list");
        }
        more = more && !take(p, close);
    }
    x->args = v;
    return p->rc == 0 ? x : NULL;
}

static struct formula_node *call(struct formula_parser *p, struct str name,
                                 struct formula_node *first) {
    const struct formula_function *row = NULL;
    for (size_t i = 0; i < sizeof(CALLS) / sizeof(CALLS[0]); i++) {
        row = str_is(name, CALLS[i].name) ? &CALLS[i] : row;
    }
    struct formula_node *x = row != NULL ? node(p, FORMULA_CALL, 0) : fail(p, "unknown function");
    if (x != NULL) {
        x->call = row->call;
        x = listed(p, x, first, ")");
    }
    if (x != NULL && (x->n < row->min || x->n > row->max)) {
        return fail(p, x->n < row->min ? "not enough arguments" : "too many arguments");
    }
    return x;
}

static struct formula_node *named(struct formula_parser *p) {
    static const struct {
        const char *word;
        enum formula_op op;
    } words[] = {{"true", FORMULA_TRUE}, {"false", FORMULA_FALSE}, {"nil", FORMULA_NIL}};
    struct str w = word(p);
    p->at += w.n;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_is(w, words[i].word)) {
            return node(p, words[i].op, 0);
        }
    }
    if (take(p, "(")) {
        return call(p, w, NULL);
    }
    struct formula_node *x = node(p, FORMULA_NAME, 0);
    if (x != NULL) {
        x->text = w;
    }
    return x;
}

static struct formula_node *element(struct formula_parser *p) {
    p->at++;
    struct str w = word(p);
    p->at += w.n;
    return w.n == 0             ? node(p, FORMULA_THIS, 0)
           : str_is(w, "acc")   ? node(p, FORMULA_ACC, 0)
           : str_is(w, "index") ? node(p, FORMULA_AT, 0)
                                : fail(p, "unknown name after #");
}

static struct formula_node *primary(struct formula_parser *p) {
    struct formula_node *x;
    blanks(p);
    char c = peek(p, 0);
    if (take(p, "(")) {
        x = expression(p, 0);
        return x == NULL || take(p, ")") ? x : fail(p, "expected )");
    }
    if (take(p, "[")) {
        x = node(p, FORMULA_LIST, 0);
        return x != NULL ? listed(p, x, NULL, "]") : NULL;
    }
    if (is_digit(c) || (c == '.' && is_digit(peek(p, 1)))) {
        return number(p);
    }
    if (c == '\'' || c == '"') {
        return quoted(p, c);
    }
    if (c == '#') {
        return element(p);
    }
    return is_letter(c) ? named(p) : fail(p, c == '\0' ? "unexpected end" : "unexpected character");
}

static struct formula_node *unary(struct formula_parser *p) {
    if (take_word(p, "not") || (!see(p, "!=") && take(p, "!"))) {
        return with(p, FORMULA_NOT, expression(p, RANK_NOT), NULL, NULL);
    }
    if (take(p, "-")) {
        return with(p, FORMULA_MINUS, expression(p, RANK_SIGN), NULL, NULL);
    }
    if (take(p, "+")) {
        return with(p, FORMULA_PLUS, expression(p, RANK_SIGN), NULL, NULL);
    }
    return primary(p);
}

static struct formula_node *let(struct formula_parser *p) {
    blanks(p);
    struct str name = word(p);
    p->at += name.n;
    if (name.n == 0 || see(p, "==") || !take(p, "=")) {
        return fail(p, "expected a name and =");
    }
    struct formula_node *value = expression(p, 0);
    if (value == NULL || !take(p, ";")) {
        return fail(p, "expected ;");
    }
    struct formula_node *x = with(p, FORMULA_LET, value, expression(p, 0), NULL);
    if (x != NULL) {
        x->text = name;
    }
    return x;
}

static const struct formula_binary *operator_at(struct formula_parser *p) {
    blanks(p);
    struct str w = word(p);
    for (size_t i = 0; i < sizeof(BINARY) / sizeof(BINARY[0]); i++) {
        const struct formula_binary *b = &BINARY[i];
        if (b->word ? str_is(w, b->text) : see(p, b->text)) {
            return b;
        }
    }
    return NULL;
}

/* a < b < c means a < b and b < c. */
static struct formula_node *compared(struct formula_parser *p, const struct formula_binary *b,
                                     struct formula_node *left) {
    struct formula_node *right = expression(p, b->rank + 1);
    struct formula_node *x = with(p, b->op, left, right, NULL);
    for (;;) {
        const struct formula_binary *next = operator_at(p);
        if (p->rc != 0 || next == NULL || next->op < FORMULA_LT || next->op > FORMULA_GE) {
            return x;
        }
        p->at += strlen(next->text);
        left = right;
        right = expression(p, next->rank + 1);
        x = with(p, FORMULA_AND, x, with(p, next->op, left, right, NULL), NULL);
    }
}

static struct formula_node *choice(struct formula_parser *p, struct formula_node *x) {
    while (p->rc == 0 && !see(p, "??") && !see(p, "?.") && take(p, "?")) {
        struct formula_node *yes = expression(p, 0);
        if (yes == NULL || !take(p, ":")) {
            return fail(p, "expected :");
        }
        x = with(p, FORMULA_CHOOSE, x, yes, expression(p, 0));
    }
    return x;
}

static struct formula_node *operators(struct formula_parser *p, struct formula_node *x, int rank) {
    for (const struct formula_binary *b;
         p->rc == 0 && (b = operator_at(p)) != NULL && b->rank >= rank;) {
        p->at += strlen(b->text);
        if (b->op >= FORMULA_LT && b->op <= FORMULA_GE) {
            x = compared(p, b, x);
        } else {
            x = with(p, b->op, x, expression(p, b->right ? b->rank : b->rank + 1), NULL);
        }
    }
    return x;
}

static struct formula_node *expression(struct formula_parser *p, int rank) {
    if (p->rc != 0 || ++p->depth > FORMULA_DEPTH) {
        return fail(p, "nested too deep");
    }
    if (rank == 0 && take_word(p, "let")) {
        struct formula_node *x = let(p);
        p->depth--;
        return x;
    }
    struct formula_node *x = operators(p, unary(p), rank);
    if (rank == 0) {
        x = choice(p, x);
        while (p->rc == 0 && !see(p, "||") && take(p, "|")) {
            blanks(p);
            struct str name = word(p);
            p->at += name.n;
            x = take(p, "(") ? call(p, name, x) : fail(p, "expected a function after |");
            x = choice(p, operators(p, x, 0));
        }
    }
    p->depth--;
    return p->rc == 0 ? x : NULL;
}

/* As KEDA writes it before it is compiled. */
static struct str wrapped(struct arena *a, struct str text) {
    if (str_contains(text, STR("??"))) {
        return arena_f(a,
                       "let _kedaCompositeResult = (%.*s); _kedaCompositeResult == nil ? nil : "
                       "float(_kedaCompositeResult)",
                       STR_ARG(text));
    }
    return str_starts(text, STR("float(")) ? arena_str(a, text)
                                           : arena_f(a, "float(%.*s)", STR_ARG(text));
}

int formula_parse(struct arena *a, struct str text, const struct str *names, size_t n,
                  struct formula **ret, struct err *err) {
    struct formula_parser p = {.arena = a, .err = err};
    struct formula *f = ARENA_NEW(a, struct formula);
    if (text.n > FORMULA_BYTES) {
        return err_set(err, ERR_INVALID, "formula: must be no more than %d bytes", FORMULA_BYTES);
    }
    p.text = wrapped(a, text);
    if (f == NULL || p.text.p == NULL) {
        return ERR_NOMEM;
    }
    *f = (struct formula){.root = expression(&p, 0), .names = names, .n_names = n};
    blanks(&p);
    if (p.rc == 0 && p.at < p.text.n) {
        fail(&p, "unexpected character");
    }
    int rc = p.rc ? p.rc : formula_check(a, f, err);
    if (rc == 0) {
        *ret = f;
    }
    return rc;
}
