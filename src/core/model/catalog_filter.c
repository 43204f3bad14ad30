/* catalog_filter: see catalog_filter.h. Recursive descent with a depth, one tree of nodes. */
#include "core/model/catalog_filter.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "core/model/wildcard.h"

enum filter_op {
    OP_AND,
    OP_OR,
    OP_NOT,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_LIKE,
    OP_ILIKE,
    OP_IN
};

struct filter_value {
    enum catalog_kind kind; /* CATALOG_TEXT, CATALOG_REAL, CATALOG_BOOL */
    struct str text;
    double real;
    const struct filter_value *next; /* of a list */
};

struct catalog_filter_node {
    enum filter_op op;
    const struct catalog_filter_node *a, *b;
    struct str name;
    const struct filter_value *value;
};

struct filter_in {
    struct arena *arena;
    struct str text;
    size_t at;
    int depth, nodes, code;
    struct err *err;
};

static void expect(struct filter_in *f, const char *what) {
    if (f->code == 0) {
        f->code = err_set(f->err, ERR_SYNTAX, "filterQuery, byte %zu: expected %s", f->at, what);
    }
}

static void *make(struct filter_in *f, size_t n) {
    void *p = f->nodes++ < LIMIT_FILTER_NODES ? arena_zalloc(f->arena, n) : NULL;
    if (p == NULL && f->code == 0) {
        f->code = f->nodes > LIMIT_FILTER_NODES
                      ? err_set(f->err, ERR_TOO_LARGE, "filterQuery: more than %d parts",
                                LIMIT_FILTER_NODES)
                      : err_set(f->err, ERR_NOMEM, "no memory for a filterQuery");
    }
    return p;
}

static bool word_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

static void skip(struct filter_in *f) {
    while (f->at < f->text.n &&
           (f->text.p[f->at] == ' ' || f->text.p[f->at] == '\t' || f->text.p[f->at] == '\n')) {
        f->at++;
    }
}

static struct str peek_word(struct filter_in *f) {
    skip(f);
    size_t end = f->at;
    while (end < f->text.n && word_byte(f->text.p[end])) {
        end++;
    }
    return str_from(f->text.p + f->at, end - f->at);
}

static bool take_word(struct filter_in *f, const char *word) {
    struct str w = peek_word(f);
    bool is = str_eq_nocase(w, str_of(word));
    f->at += is ? w.n : 0;
    return is;
}

static bool take(struct filter_in *f, const char *mark) {
    struct str m = str_of(mark);
    skip(f);
    bool is = f->at + m.n <= f->text.n && memcmp(f->text.p + f->at, m.p, m.n) == 0;
    f->at += is ? m.n : 0;
    return is;
}

/* What stands between two marks, the first of which was taken. '' is one quote: the text is copied then. */
static struct str quoted(struct filter_in *f, char mark) {
    struct buf b;
    struct str s = {0};

    buf_init(&b, 4096);
    for (; f->at < f->text.n; f->at++) {
        char c = f->text.p[f->at];
        if (c == mark && f->at + 1 < f->text.n && f->text.p[f->at + 1] == mark) {
            f->at++;
        } else if (c == mark) {
            break;
        }
        buf_ch(&b, c);
    }
    if (f->at == f->text.n || buf_ok(&b) != 0) {
        expect(f, "the closing quote of a string of at most 4096 bytes");
    } else {
        f->at++;
        s = arena_str(f->arena, buf_view(&b));
    }
    buf_release(&b);
    return s;
}

static bool as_number(struct str s, double *ret) {
    char text[64], *end;
    if (s.n == 0 || !str_copy(s, text, sizeof(text)) ||
        !((text[0] >= '0' && text[0] <= '9') || text[0] == '-')) {
        return false;
    }
    double d = strtod(text, &end);
    bool whole = *end == 0 && d == d && d < 1e300 && d > -1e300;
    *ret = whole ? d : *ret;
    return whole;
}

static struct filter_value *literal(struct filter_in *f) {
    struct filter_value *v = make(f, sizeof(*v));

    if (v == NULL) {
        return NULL;
    }
    if (take(f, "'")) {
        v->kind = CATALOG_TEXT;
        v->text = quoted(f, '\'');
        return v;
    }
    if (take(f, "\"")) {
        v->kind = CATALOG_TEXT;
        v->text = quoted(f, '"');
        return v;
    }
    struct str w = peek_word(f);
    bool yes = str_eq_nocase(w, STR("true")), no = str_eq_nocase(w, STR("false"));
    if (yes || no || as_number(w, &v->real)) {
        v->kind = yes || no ? CATALOG_BOOL : CATALOG_REAL;
        v->real = yes || no ? yes : v->real;
        f->at += w.n;
    } else {
        expect(f, "a text in quotes, a number, true or false");
    }
    return v;
}

static const struct catalog_filter_node *node(struct filter_in *f, enum filter_op op,
                                              const struct catalog_filter_node *a,
                                              const struct catalog_filter_node *b) {
    struct catalog_filter_node *x = make(f, sizeof(*x));
    if (x != NULL) {
        *x = (struct catalog_filter_node){.op = op, .a = a, .b = b};
    }
    return x;
}

static const struct filter_value *value_list(struct filter_in *f) {
    struct filter_value *first = NULL, *last = NULL;

    if (!take(f, "(")) {
        expect(f, "( and a list");
    }
    do {
        struct filter_value *v = literal(f);
        if (v == NULL) {
            return NULL;
        }
        first = first == NULL ? v : first;
        if (last != NULL) {
            last->next = v;
        }
        last = v;
    } while (f->code == 0 && take(f, ","));
    if (!take(f, ")")) {
        expect(f, ") or , in a list");
    }
    return first;
}

static const struct catalog_filter_node *comparison(struct filter_in *f) {
    static const struct {
        const char *mark;
        enum filter_op op;
    } marks[] = {{"!=", OP_NE}, {"<>", OP_NE}, {"<=", OP_LE}, {">=", OP_GE},
                 {"=", OP_EQ},  {"<", OP_LT},  {">", OP_GT}};
    struct catalog_filter_node x = {0}, *kept;
    size_t i = 0;

    if (take(f, "`")) {
        x.name = quoted(f, '`');
    } else {
        x.name = peek_word(f);
        f->at += x.name.n;
    }
    if (x.name.n == 0) {
        expect(f, "the name of a field");
    }
    while (i < sizeof(marks) / sizeof(*marks) && !take(f, marks[i].mark)) {
        i++;
    }
    bool not = i == sizeof(marks) / sizeof(*marks) && take_word(f, "NOT");
    if (i < sizeof(marks) / sizeof(*marks)) {
        x.op = marks[i].op;
        x.value = literal(f);
    } else if (take_word(f, "IN")) {
        x.op = OP_IN;
        x.value = value_list(f);
    } else if (take_word(f, "LIKE")) {
        x.op = OP_LIKE;
        x.value = literal(f);
    } else if (take_word(f, "ILIKE")) {
        x.op = OP_ILIKE;
        x.value = literal(f);
    } else {
        expect(f, "= != < <= > >= LIKE ILIKE or IN");
    }
    kept = f->code == 0 ? make(f, sizeof(*kept)) : NULL;
    if (kept == NULL) {
        return NULL;
    }
    *kept = x;
    return not ? node(f, OP_NOT, kept, NULL) : kept;
}

static const struct catalog_filter_node *either(struct filter_in *f);

static const struct catalog_filter_node *single(struct filter_in *f) {
    const struct catalog_filter_node *x;

    if (++f->depth > LIMIT_FILTER_DEPTH && f->code == 0) {
        f->code = err_set(f->err, ERR_TOO_LARGE, "filterQuery: nested more than %d deep",
                          LIMIT_FILTER_DEPTH);
    }
    if (f->code != 0) {
        x = NULL;
    } else if (take_word(f, "NOT")) {
        x = single(f);
        x = x != NULL ? node(f, OP_NOT, x, NULL) : NULL;
    } else if (take(f, "(")) {
        x = either(f);
        if (!take(f, ")")) {
            expect(f, ")");
        }
    } else {
        x = comparison(f);
    }
    f->depth--;
    return x;
}

static const struct catalog_filter_node *all_of(struct filter_in *f) {
    const struct catalog_filter_node *x = single(f);
    while (f->code == 0 && take_word(f, "AND")) {
        const struct catalog_filter_node *y = single(f);
        x = f->code == 0 ? node(f, OP_AND, x, y) : NULL;
    }
    return x;
}

static const struct catalog_filter_node *either(struct filter_in *f) {
    const struct catalog_filter_node *x = all_of(f);
    while (f->code == 0 && take_word(f, "OR")) {
        const struct catalog_filter_node *y = all_of(f);
        x = f->code == 0 ? node(f, OP_OR, x, y) : NULL;
    }
    return x;
}

int catalog_filter_compile(struct arena *a, struct str query, struct catalog_filter *ret,
                           struct err *err) {
    struct filter_in f = {.arena = a, .text = query, .err = err};

    if (str_trim(query).n == 0) {
        *ret = (struct catalog_filter){0};
        return 0;
    }
    const struct catalog_filter_node *root = either(&f);
    skip(&f);
    if (f.at != f.text.n) {
        expect(&f, "AND, OR or the end");
    }
    if (f.code == 0) {
        ret->root = root;
    }
    return f.code;
}

/* ---- passing ---- */

static bool by_order(enum filter_op op, int c) {
    return op == OP_EQ   ? c == 0
           : op == OP_LT ? c < 0
           : op == OP_LE ? c <= 0
           : op == OP_GT ? c > 0
                         : c >= 0;
}

static bool holds(enum filter_op op, struct str text, const double *number,
                  const struct filter_value *v) {
    if (op == OP_LIKE || op == OP_ILIKE) {
        struct wildcard w = {.many = '%', .one = '_', .fold = op == OP_ILIKE};
        return v->kind == CATALOG_TEXT && number == NULL && wildcard_matches(&w, v->text, text);
    }
    double n = number != NULL ? *number : 0, want = v->real;
    bool numbers = (number != NULL || as_number(text, &n)) &&
                   (v->kind != CATALOG_TEXT || as_number(v->text, &want));
    if (v->kind == CATALOG_TEXT && number == NULL) {
        int c = str_cmp(text, v->text);
        return by_order(op, c);
    }
    return numbers && by_order(op, (n > want) - (n < want));
}

static bool one_holds(const struct catalog_property *p, enum filter_op op,
                      const struct filter_value *v) {
    double n = p->kind == CATALOG_REAL ? p->real : (double)p->whole;

    if (p->kind == CATALOG_LIST) {
        for (size_t i = 0; i < p->list.n; i++) {
            if (holds(op, p->list.v[i], NULL, v)) {
                return true;
            }
        }
        return false;
    }
    if (p->kind == CATALOG_NONE || (p->kind == CATALOG_BOOL) != (v->kind == CATALOG_BOOL)) {
        return false;
    }
    return p->kind == CATALOG_TEXT ? holds(op, p->text, NULL, v)
                                   : holds(op, (struct str){0}, &n, v);
}

static bool passes(const struct catalog_filter_node *x, const struct catalog_model *m) {
    switch (x->op) {
    case OP_AND:
        return passes(x->a, m) && passes(x->b, m);
    case OP_OR:
        return passes(x->a, m) || passes(x->b, m);
    case OP_NOT:
        return !passes(x->a, m);
    default:
        break;
    }
    struct catalog_property p = catalog_property(m, x->name);
    if (x->op == OP_NE) {
        return !one_holds(&p, OP_EQ, x->value);
    }
    for (const struct filter_value *v = x->value; v != NULL; v = v->next) {
        if (one_holds(&p, x->op == OP_IN ? OP_EQ : x->op, v)) {
            return true;
        }
    }
    return false;
}

bool catalog_filter_passes(const struct catalog_filter *f, const struct catalog_model *m) {
    return f->root == NULL || passes(f->root, m);
}
