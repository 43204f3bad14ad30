/*
 * selector: label and field selectors. See selector.h.
 *
 * The grammar of label selectors is Kubernetes': tokens are the symbols ( ) , ! = == != < >, the words in and notin,
 * and everything else up to a symbol or blank. Errors have the texts that clients of Kubernetes know.
 */
#include "api/selector.h"

#include "base/limits.h"

/* ---- what a key and a value may look like ---- */

static bool is_alnum(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_name(struct str s, const char *inner, bool lower_only) {
    if (s.n == 0 || !is_alnum(s.p[0]) || !is_alnum(s.p[s.n - 1])) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool upper = s.p[i] >= 'A' && s.p[i] <= 'Z';
        if ((!is_alnum(s.p[i]) && str_find(str_of(inner), s.p[i]) < 0) || (upper && lower_only)) {
            return false;
        }
    }
    return true;
}

static bool is_subdomain(struct str s) {
    struct str part;
    bool ok = s.n > 0 && s.n <= LIMIT_NAME && s.p[s.n - 1] != '.';
    while (ok && str_next(&s, '.', &part)) {
        ok = is_name(part, "-", true);
    }
    return ok;
}

static int check_key(struct str key, struct err *err) {
    struct str prefix, name;
    const char *why = NULL;
    if (!str_cut(key, '/', &prefix, &name)) {
        name = key;
    } else if (!is_subdomain(prefix)) {
        why = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
              "characters, '-' or '.', and must start and end with an alphanumeric character";
    }
    if (why == NULL && name.n > LIMIT_LABEL) {
        why = "name part must be no more than 63 characters";
    } else if (why == NULL && !is_name(name, "-_.", false)) {
        why = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
              "and end with an alphanumeric character";
    }
    return why ? err_set(err, ERR_BAD_REQUEST, "key: Invalid value: \"%.*s\": %s",
                         STR_ARG(str_head(key, 128)), why)
               : 0;
}

static int check_value(struct str key, struct str value, struct err *err) {
    const char *why = NULL;
    if (value.n > LIMIT_LABEL) {
        why = "must be no more than 63 characters";
    } else if (value.n > 0 && !is_name(value, "-_.", false)) {
        why = "a valid label must be an empty string or consist of alphanumeric characters, '-', "
              "'_' or '.', and must start and end with an alphanumeric character";
    }
    return why ? err_set(err, ERR_BAD_REQUEST, "values[%.*s]: Invalid value: \"%.*s\": %s",
                         STR_ARG(str_head(key, 128)), STR_ARG(str_head(value, 128)), why)
               : 0;
}

/* ---- building ---- */

/* Terms and values grow by doubling; the arena keeps the old copies until it ends, which at most doubles the use. */
struct builder {
    struct arena *arena;
    struct selector sel;
    size_t cap;
    struct str *values; /* of the term being read */
    size_t n_values, cap_values;
};

static int no_memory(struct err *err) {
    return err_set(err, ERR_NOMEM, "no memory for a selector");
}

static int add_value(struct builder *b, struct str value, struct err *err) {
    if (b->n_values == b->cap_values && ARENA_GROW(b->arena, b->values, b->cap_values) != 0) {
        return no_memory(err);
    }
    b->values[b->n_values] = arena_str(b->arena, value);
    return b->values[b->n_values++].p ? 0 : no_memory(err);
}

static int by_bytes(const void *a, const void *b) {
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static int check_values(const struct selector_term *t, struct err *err) {
    bool set = t->op == SELECTOR_IN || t->op == SELECTOR_NOT_IN;
    bool none = t->op == SELECTOR_EXISTS || t->op == SELECTOR_NOT_EXISTS;
    if (set && t->n == 0) {
        return err_set(err, ERR_BAD_REQUEST,
                       "values: Invalid value: []: for 'in', 'notin' "
                       "operators, values set can't be empty");
    }
    if (none && t->n > 0) {
        return err_set(err, ERR_BAD_REQUEST,
                       "values: Invalid value: values set must be empty for "
                       "exists and does not exist");
    }
    for (size_t i = 0; i < t->n; i++) {
        int r = check_value(t->key, t->values[i], err);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* Takes over the values collected so far. */
static int add_term(struct builder *b, struct str key, enum selector_op op, struct err *err) {
    struct selector *s = &b->sel;
    struct selector_term t = {
        .key = arena_str(b->arena, key), .op = op, .values = b->values, .n = b->n_values};
    b->values = NULL;
    b->n_values = b->cap_values = 0;
    if (t.key.p == NULL) {
        return no_memory(err);
    }
    if (s->n == LIMIT_SELECTOR_TERMS) {
        return err_set(err, ERR_TOO_LARGE, "a selector has more than %d terms",
                       LIMIT_SELECTOR_TERMS);
    }
    if (s->n == b->cap && ARENA_GROW(b->arena, s->terms, b->cap) != 0) {
        return no_memory(err);
    }
    if (t.n > 1) {
        qsort(t.values, t.n, sizeof(*t.values), by_bytes);
    }
    s->terms[s->n++] = t;
    return 0;
}

/* Checks the newest term, which label selectors need and field selectors do not. */
static int check_term(struct builder *b, struct err *err) {
    struct selector_term *t = &b->sel.terms[b->sel.n - 1];
    int r = check_key(t->key, err);
    r = r ? r : check_values(t, err);
    if (r == 0 && (t->op == SELECTOR_GT || t->op == SELECTOR_LT) &&
        (t->n != 1 || !str_to_i64(t->values[0], &t->number))) {
        return err_set(err, ERR_BAD_REQUEST,
                       "values[0]: Invalid value: \"%.*s\": for 'Gt', 'Lt' "
                       "operators, the value must be an integer",
                       STR_ARG(t->n ? t->values[0] : STR("")));
    }
    return r;
}

/* ---- the text form ---- */

enum token {
    T_END,
    T_WORD,
    T_IN,
    T_NOT_IN,
    T_COMMA,
    T_OPEN,
    T_CLOSE,
    T_NOT,
    T_EQ,
    T_EQ_EQ,
    T_NE,
    T_GT,
    T_LT
};

struct selector_parser {
    struct builder b;
    struct str rest;
    enum token token; /* the next one, not yet taken */
    struct str text;
    struct err *err;
};

static bool is_symbol(char c) {
    return str_find(STR("=!(),><"), c) >= 0;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static void advance(struct selector_parser *p) {
    static const struct {
        const char *text;
        enum token token;
    } symbols[] = {{"==", T_EQ_EQ}, {"!=", T_NE},   {"=", T_EQ}, {"!", T_NOT}, {"(", T_OPEN},
                   {")", T_CLOSE},  {",", T_COMMA}, {">", T_GT}, {"<", T_LT}};
    while (p->rest.n && is_blank(p->rest.p[0])) {
        p->rest = str_skip(p->rest, 1);
    }
    size_t n = 0;
    p->token = p->rest.n ? T_WORD : T_END;
    for (size_t i = 0; n == 0 && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        if (str_starts(p->rest, str_of(symbols[i].text))) {
            n = strlen(symbols[i].text);
            p->token = symbols[i].token;
        }
    }
    if (p->token == T_WORD) {
        while (n < p->rest.n && !is_symbol(p->rest.p[n]) && !is_blank(p->rest.p[n])) {
            n++;
        }
    }
    p->text = str_head(p->rest, n);
    p->rest = str_skip(p->rest, n);
    if (p->token == T_WORD && str_is(p->text, "in")) {
        p->token = T_IN;
    } else if (p->token == T_WORD && str_is(p->text, "notin")) {
        p->token = T_NOT_IN;
    }
}

static int unexpected(struct selector_parser *p, const char *expected) {
    return err_set(p->err, ERR_BAD_REQUEST, "found '%.*s', expected: %s",
                   STR_ARG(str_head(p->text, 128)), expected);
}

/* Where a value stands, "in" and "notin" are words. */
static bool is_value(const struct selector_parser *p) {
    return p->token == T_WORD || p->token == T_IN || p->token == T_NOT_IN;
}

static int parse_value_list(struct selector_parser *p) {
    if (p->token != T_OPEN) {
        return unexpected(p, "'('");
    }
    advance(p);
    if (p->token == T_CLOSE) {
        advance(p);
        return 0;
    }
    for (;;) {
        struct str value = STR("");
        if (is_value(p)) {
            value = p->text;
            advance(p);
        }
        int r = add_value(&p->b, value, p->err);
        if (r != 0) {
            return r;
        }
        if (p->token == T_CLOSE) {
            advance(p);
            return 0;
        }
        if (p->token != T_COMMA) {
            return unexpected(p, "',' or ')'");
        }
        advance(p);
    }
}

static int parse_one_value(struct selector_parser *p) {
    struct str value = STR("");
    if (is_value(p)) {
        value = p->text;
        advance(p);
    } else if (p->token != T_END && p->token != T_COMMA) {
        return unexpected(p, "identifier");
    }
    return add_value(&p->b, value, p->err);
}

static int parse_requirement(struct selector_parser *p) {
    bool negated = p->token == T_NOT;
    if (negated) {
        advance(p);
    }
    if (p->token != T_WORD) {
        return unexpected(p, "identifier");
    }
    struct str key = p->text;
    enum selector_op op = negated ? SELECTOR_NOT_EXISTS : SELECTOR_EXISTS;
    int r = 0;
    advance(p);
    if (!negated && p->token != T_END && p->token != T_COMMA) {
        static const struct {
            enum token token;
            enum selector_op op;
        } ops[] = {{T_EQ, SELECTOR_EQ}, {T_EQ_EQ, SELECTOR_EQ},      {T_NE, SELECTOR_NE},
                   {T_IN, SELECTOR_IN}, {T_NOT_IN, SELECTOR_NOT_IN}, {T_GT, SELECTOR_GT},
                   {T_LT, SELECTOR_LT}};
        size_t i = 0, n = sizeof(ops) / sizeof(ops[0]);
        while (i < n && ops[i].token != p->token) {
            i++;
        }
        if (i == n) {
            return unexpected(p, "in, notin, =, ==, !=, gt, lt");
        }
        op = ops[i].op;
        advance(p);
        r = op == SELECTOR_IN || op == SELECTOR_NOT_IN ? parse_value_list(p) : parse_one_value(p);
    }
    r = r ? r : add_term(&p->b, key, op, p->err);
    return r ? r : check_term(&p->b, p->err);
}

static int too_long(struct err *err) {
    return err_set(err, ERR_TOO_LARGE, "a selector is longer than %d bytes", LIMIT_SELECTOR_BYTES);
}

int selector_parse(struct arena *a, struct str text, struct selector *ret, struct err *err) {
    struct selector_parser p = {.b = {.arena = a}, .rest = text, .err = err};
    if (text.n > LIMIT_SELECTOR_BYTES) {
        return too_long(err);
    }
    advance(&p);
    while (p.token != T_END) {
        int r = parse_requirement(&p);
        if (r != 0) {
            if (r == ERR_BAD_REQUEST) {
                err_wrap(err, "unable to parse requirement");
            }
            return r;
        }
        if (p.token == T_END) {
            break;
        }
        if (p.token != T_COMMA) {
            return unexpected(&p, "',' or 'end of string'");
        }
        advance(&p);
        if (p.token != T_WORD && p.token != T_NOT) {
            return unexpected(&p, "identifier after ','");
        }
    }
    *ret = p.b.sel;
    return 0;
}

/* ---- the object form ---- */

static int from_expression(struct builder *b, yyjson_val *e, struct err *err) {
    static const struct {
        const char *name;
        enum selector_op op;
    } ops[] = {{"In", SELECTOR_IN},
               {"NotIn", SELECTOR_NOT_IN},
               {"Exists", SELECTOR_EXISTS},
               {"DoesNotExist", SELECTOR_NOT_EXISTS}};
    struct str name = json_str_at(e, "operator");
    size_t i, max, op = 0, n_ops = sizeof(ops) / sizeof(ops[0]);
    yyjson_val *v;
    while (op < n_ops && !str_is(name, ops[op].name)) {
        op++;
    }
    if (op == n_ops) {
        return err_set(err, ERR_INVALID, "\"%.*s\" is not a valid label selector operator",
                       STR_ARG(str_head(name, 128)));
    }
    int r = 0;
    yyjson_arr_foreach(json_get(e, STR("values")), i, max, v) {
        r = r ? r : add_value(b, json_str(v), err);
    }
    r = r ? r : add_term(b, json_str_at(e, "key"), ops[op].op, err);
    return r ? r : check_term(b, err);
}

static int add_label(struct builder *b, struct str key, struct str value, struct err *err) {
    int r = add_value(b, value, err);
    r = r ? r : add_term(b, key, SELECTOR_EQ, err);
    return r ? r : check_term(b, err);
}

/* In an object a bad part makes the object invalid, not the request. */
static int as_invalid(int r, struct err *err) {
    if (r == ERR_BAD_REQUEST && err) {
        err->code = ERR_INVALID;
    }
    return r == ERR_BAD_REQUEST ? ERR_INVALID : r;
}

int selector_from_json(struct arena *a, yyjson_val *v, struct selector *ret, struct err *err) {
    struct builder b = {.arena = a};
    size_t i, max;
    yyjson_val *key, *val;
    int r = 0;
    if (v == NULL || yyjson_is_null(v)) {
        *ret = (struct selector){.nothing = true};
        return 0;
    }
    yyjson_val *match_labels = json_get(v, STR("matchLabels"));
    if (yyjson_is_obj(match_labels)) { /* the loop would step from NULL */
        yyjson_obj_foreach(match_labels, i, max, key, val) {
            r = r ? r : add_label(&b, json_str(key), json_str(val), err);
        }
    }
    yyjson_arr_foreach(json_get(v, STR("matchExpressions")), i, max, val) {
        r = r ? r : from_expression(&b, val, err);
    }
    if (r == 0) {
        *ret = b.sel;
    }
    return as_invalid(r, err);
}

int selector_from_map(struct arena *a, const struct str_map *labels, struct selector *ret,
                      struct err *err) {
    struct builder b = {.arena = a};
    int r = 0;
    for (size_t i = 0; i < labels->n && r == 0; i++) {
        r = add_label(&b, labels->v[i].key, labels->v[i].value, err);
    }
    if (r == 0) {
        *ret = b.sel;
    }
    return as_invalid(r, err);
}

/* ---- matching ---- */

static bool has_value(const struct selector_term *t, struct str value) {
    size_t from = 0, to = t->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = str_cmp(t->values[mid], value);
        if (c == 0) {
            return true;
        }
        if (c < 0) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    return false;
}

/* value NULL: the label is absent. */
static bool term_matches(const struct selector_term *t, const struct str *value) {
    int64_t number;
    switch (t->op) {
    case SELECTOR_EQ:
    case SELECTOR_IN:
        return value && has_value(t, *value);
    case SELECTOR_NE:
    case SELECTOR_NOT_IN:
        return value == NULL || !has_value(t, *value);
    case SELECTOR_EXISTS:
        return value != NULL;
    case SELECTOR_NOT_EXISTS:
        return value == NULL;
    case SELECTOR_GT:
        return value && str_to_i64(*value, &number) && number > t->number;
    case SELECTOR_LT:
        return value && str_to_i64(*value, &number) && number < t->number;
    }
    return false;
}

bool selector_matches(const struct selector *s, const struct str_map *labels) {
    bool ok = !s->nothing;
    for (size_t i = 0; ok && i < s->n; i++) {
        const struct str *value = NULL;
        for (size_t k = 0; labels && value == NULL && k < labels->n; k++) {
            value = str_eq(labels->v[k].key, s->terms[i].key) ? &labels->v[k].value : NULL;
        }
        ok = term_matches(&s->terms[i], value);
    }
    return ok;
}

/* ---- as text ---- */

static void write_term(const struct selector_term *t, struct buf *out) {
    static const char *const infix[] = {
        [SELECTOR_EQ] = "=", [SELECTOR_NE] = "!=", [SELECTOR_GT] = ">", [SELECTOR_LT] = "<"};
    buf_c(out, t->op == SELECTOR_NOT_EXISTS ? "!" : "");
    buf_str(out, t->key);
    switch (t->op) {
    case SELECTOR_EQ:
    case SELECTOR_NE:
        buf_c(out, infix[t->op]);
        buf_str(out, t->values[0]);
        break;
    case SELECTOR_GT:
    case SELECTOR_LT:
        buf_c(out, infix[t->op]);
        buf_i64(out, t->number);
        break;
    case SELECTOR_IN:
    case SELECTOR_NOT_IN:
        buf_c(out, t->op == SELECTOR_IN ? " in (" : " notin (");
        for (size_t i = 0; i < t->n; i++) {
            buf_c(out, i ? "," : "");
            buf_str(out, t->values[i]);
        }
        buf_ch(out, ')');
        break;
    default:
        break;
    }
}

void selector_write(const struct selector *s, struct buf *out) {
    for (size_t i = 0; !s->nothing && i < s->n; i++) {
        buf_c(out, i ? "," : "");
        write_term(&s->terms[i], out);
    }
}

/* ---- field selectors ---- */

/* Index of the first unescaped `c` in s, or s.n. */
static size_t find_plain(struct str s, char c) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\') {
            i++;
        } else if (s.p[i] == c) {
            return i;
        }
    }
    return s.n;
}

/* "\\", "\," and "\=" stand for their second byte; a bare comma or equals sign may not stand in a value. */
static int unescape(struct arena *a, struct str raw, struct str *ret, struct err *err) {
    char *out = arena_alloc(a, raw.n + 1);
    size_t n = 0;
    if (out == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        bool escape = c == '\\';
        if (escape) {
            c = i + 1 < raw.n ? raw.p[++i] : 0;
        }
        bool special = c == '\\' || c == ',' || c == '=';
        if (escape != special) {
            return err_set(err, ERR_BAD_REQUEST,
                           escape ? "invalid field selector: invalid escape sequence in '%.*s'"
                                  : "invalid field selector: unescaped character in '%.*s'",
                           STR_ARG(str_head(raw, 128)));
        }
        out[n++] = c;
    }
    *ret = str_from(out, n);
    return 0;
}

static int parse_field_term(struct builder *b, struct str whole, struct str term, struct err *err) {
    size_t eq = find_plain(term, '=');
    if (eq == term.n) {
        return err_set(err, ERR_BAD_REQUEST, "invalid selector: '%.*s'; can't understand '%.*s'",
                       STR_ARG(str_head(whole, 128)), STR_ARG(str_head(term, 128)));
    }
    bool not = eq > 0 && term.p[eq - 1] == '!';
    struct str path = str_head(term, eq - not ), raw = str_skip(term, eq + 1), value;
    if (!not &&raw.n && raw.p[0] == '=') {
        raw = str_skip(raw, 1);
    }
    int r = unescape(b->arena, raw, &value, err);
    r = r ? r : add_value(b, value, err);
    return r ? r : add_term(b, path, not ? SELECTOR_NE : SELECTOR_EQ, err);
}

int field_selector_parse(struct arena *a, struct str text, struct selector *ret, struct err *err) {
    struct builder b = {.arena = a};
    struct str rest = text;
    if (text.n > LIMIT_SELECTOR_BYTES) {
        return too_long(err);
    }
    while (rest.n) {
        size_t n = find_plain(rest, ',');
        struct str term = str_head(rest, n);
        rest = str_skip(rest, n + 1);
        int r = term.n ? parse_field_term(&b, text, term, err) : 0;
        if (r != 0) {
            return r;
        }
    }
    *ret = b.sel;
    return 0;
}

int field_selector_check(const struct selector *s, const char *const *allowed, struct err *err) {
    for (size_t i = 0; i < s->n; i++) {
        struct str path = s->terms[i].key;
        bool ok = str_is(path, "metadata.name") || str_is(path, "metadata.namespace");
        for (size_t k = 0; !ok && allowed && allowed[k]; k++) {
            ok = str_is(path, allowed[k]);
        }
        if (!ok) {
            return err_set(err, ERR_BAD_REQUEST, "field label not supported: %.*s",
                           STR_ARG(str_head(path, 128)));
        }
    }
    return 0;
}

bool field_selector_matches(const struct selector *s, struct str (*get)(void *ctx, struct str path),
                            void *ctx) {
    for (size_t i = 0; i < s->n; i++) {
        struct str value = get(ctx, s->terms[i].key);
        if (!term_matches(&s->terms[i], &value)) {
            return false;
        }
    }
    return true;
}

bool field_selector_requires(const struct selector *s, struct str path, struct str *ret) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->terms[i].op == SELECTOR_EQ && str_eq(s->terms[i].key, path)) {
            *ret = s->terms[i].values[0];
            return true;
        }
    }
    return false;
}
