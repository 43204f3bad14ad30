/* crd_path: see crd_path.h. A path is read as it is walked; each step goes on with the rest of the text. */
#include "api/schema/crd_path.h"

#include "api/schema/cells.h"
#include "base/limits.h"

enum { STEPS_MAX = 64, VISITS_MAX = 100000 };

enum step_type { STEP_NAME, STEP_INDEX, STEP_SLICE, STEP_ALL, STEP_DEEP, STEP_FILTER };

struct step {
    enum step_type type;
    struct str name;   /* NAME, DEEP; FILTER: the path below @ */
    bool escaped;      /* name has backslashes */
    int64_t index, to; /* SLICE: from index to before `to` */
    char op[3];        /* FILTER: "==", "!=", "<", ...; empty: it exists */
    struct str value;  /* FILTER: as written, without quotes */
    bool quoted;
};

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '/' || c == '$';
}

static struct str take_name(struct str *s, bool *escaped) {
    size_t n = 0;
    while (n < s->n && (is_name(s->p[n]) || (s->p[n] == '\\' && n + 1 < s->n))) {
        *escaped |= s->p[n] == '\\';
        n += s->p[n] == '\\' ? 2 : 1;
    }
    struct str name = str_head(*s, n);
    *s = str_skip(*s, n);
    return name;
}

/* The end of a bracket, quotes and inner brackets respected; 0: it has none. */
static size_t bracket_end(struct str s) {
    char quote = 0;
    int depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (quote != 0) {
            quote = c == quote ? 0 : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '[') {
            depth++;
        } else if (c == ']' && --depth == 0) {
            return i;
        }
    }
    return 0;
}

static struct str unquote(struct str s, bool *quoted) {
    *quoted = s.n >= 2 && (s.p[0] == '\'' || s.p[0] == '"') && s.p[s.n - 1] == s.p[0];
    return *quoted ? str_from(s.p + 1, s.n - 2) : s;
}

/* ?(@.a.b=="x") without "?" and the brackets. */
static bool read_filter(struct str s, struct step *ret) {
    static const char *const ops[] = {"==", "!=", "<=", ">=", "<", ">"};
    s = str_trim(s);
    if (s.n < 3 || s.p[0] != '(' || s.p[s.n - 1] != ')') {
        return false;
    }
    s = str_trim(str_from(s.p + 1, s.n - 2));
    if (s.n == 0 || s.p[0] != '@') {
        return false;
    }
    ret->type = STEP_FILTER;
    char quote = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (quote != 0 || c == '\'' || c == '"') {
            quote = quote == 0 ? c : c == quote ? 0 : quote;
            continue;
        }
        for (size_t k = 0; k < COUNT(ops); k++) {
            if (str_starts(str_skip(s, i), str_of(ops[k]))) {
                (void)snprintf(ret->op, sizeof(ret->op), "%s", ops[k]);
                ret->name = str_trim(str_from(s.p + 1, i - 1));
                ret->value = unquote(str_trim(str_skip(s, i + strlen(ops[k]))), &ret->quoted);
                return true;
            }
        }
    }
    ret->name = str_skip(s, 1);
    return true;
}

/* Takes one step off the text; false: it is none. */
static bool take(struct str *s, struct step *ret) {
    *ret = (struct step){0};
    if (s->p[0] == '.') {
        bool deep = s->n > 1 && s->p[1] == '.';
        *s = str_skip(*s, deep ? 2 : 1);
        if (s->n > 0 && s->p[0] == '*') {
            *s = str_skip(*s, 1);
            ret->type = STEP_ALL;
            return !deep;
        }
        if (s->n > 0 && s->p[0] == '[' && !deep) {
            return take(s, ret);
        }
        ret->type = deep ? STEP_DEEP : STEP_NAME;
        ret->name = take_name(s, &ret->escaped);
        return ret->name.n > 0;
    }
    size_t end = s->p[0] == '[' ? bracket_end(*s) : 0;
    if (end == 0) {
        return false;
    }
    struct str in = str_trim(str_from(s->p + 1, end - 1));
    bool quoted;
    *s = str_skip(*s, end + 1);
    if (in.n > 0 && in.p[0] == '?') {
        return read_filter(str_skip(in, 1), ret);
    }
    if (str_is(in, "*") || str_is(in, ":")) {
        ret->type = STEP_ALL;
        return true;
    }
    struct str from, to;
    if (in.n > 0 && in.p[0] != '\'' && in.p[0] != '"' && str_cut(in, ':', &from, &to)) {
        ret->type = STEP_SLICE;
        ret->index = 0;
        ret->to = INT64_MAX;
        return (from.n == 0 || str_to_i64(from, &ret->index)) &&
               (to.n == 0 || str_to_i64(to, &ret->to));
    }
    ret->name = unquote(in, &quoted);
    ret->type = quoted ? STEP_NAME : STEP_INDEX;
    return quoted || str_to_i64(in, &ret->index);
}

static int read_path(struct str path, struct step v[STEPS_MAX], size_t *ret_n) {
    path = str_trim(path);
    if (path.n > 1 && path.p[0] == '{' && path.p[path.n - 1] == '}') {
        path = str_from(path.p + 1, path.n - 2);
    }
    if (path.n > 0 && path.p[0] == '$') {
        path = str_skip(path, 1);
    }
    size_t n = 0;
    while (path.n > 0 && !str_is(path, ".")) {
        if (n == STEPS_MAX || (path.p[0] != '.' && path.p[0] != '[') || !take(&path, &v[n])) {
            return ERR_SYNTAX;
        }
        n++;
    }
    *ret_n = n;
    return 0;
}

int crd_path_check(struct str path, struct err *err) {
    struct step steps[STEPS_MAX];
    size_t n;
    if (path.n == 0 || (path.p[0] != '.' && path.p[0] != '[' && path.p[0] != '{')) {
        return err_set(err, ERR_SYNTAX, "must be a simple json path starting with .");
    }
    return read_path(path, steps, &n) != 0 ? err_set(err, ERR_SYNTAX, "unrecognized path \"%.*s\"",
                                                     STR_ARG(str_head(path, 200)))
                                           : 0;
}

struct crd_walk {
    const struct step *steps;
    size_t n, visits;
    bool (*each)(void *ctx, yyjson_val *v);
    void *ctx;
    bool stopped;
};

static void go(struct crd_walk *w, size_t i, yyjson_val *v);

static yyjson_val *named(const struct step *s, yyjson_val *v) {
    char plain[256];
    if (!s->escaped) {
        return json_get(v, s->name);
    }
    size_t n = 0;
    for (size_t i = 0; i < s->name.n && n < sizeof(plain); i++) {
        i += s->name.p[i] == '\\' && i + 1 < s->name.n;
        plain[n++] = s->name.p[i];
    }
    return json_get(v, str_from(plain, n));
}

static int compare(const struct step *s, yyjson_val *v, bool *ret_known) {
    double number;
    char text[64], *end;
    *ret_known = true;
    if (yyjson_is_num(v) && str_copy(s->value, text, sizeof(text)) && text[0] != '\0') {
        number = strtod(text, &end);
        double d = yyjson_get_num(v);
        *ret_known = *end == '\0';
        return d < number ? -1 : d > number;
    }
    if (yyjson_is_bool(v)) {
        return str_cmp(yyjson_get_bool(v) ? STR("true") : STR("false"), s->value);
    }
    *ret_known = yyjson_is_str(v);
    return str_cmp(json_str(v), s->value);
}

static bool found(void *ctx, yyjson_val *v) {
    *(yyjson_val **)ctx = v;
    return false;
}

static bool holds(const struct step *s, yyjson_val *v) {
    yyjson_val *x = NULL;
    bool known;
    crd_path_each(s->name.n > 0 ? s->name : STR("."), v, found, &x);
    if (x == NULL || s->op[0] == '\0') {
        return x != NULL;
    }
    int c = compare(s, x, &known);
    if (!known) {
        return str_is(str_of(s->op), "!=");
    }
    return s->op[0] == '='   ? c == 0
           : s->op[0] == '!' ? c != 0
           : s->op[0] == '<' ? (s->op[1] ? c <= 0 : c < 0)
                             : (s->op[1] ? c >= 0 : c > 0);
}

/* Each element or member's value. */
static void go_each(struct crd_walk *w, size_t i, yyjson_val *v, const struct step *filter) {
    yyjson_val *e;
    if (yyjson_is_arr(v)) {
        yyjson_arr_iter it = yyjson_arr_iter_with(v);
        while (!w->stopped && (e = yyjson_arr_iter_next(&it)) != NULL) {
            if (filter == NULL || holds(filter, e)) {
                go(w, i, e);
            }
        }
    } else if (yyjson_is_obj(v) && filter == NULL) {
        yyjson_obj_iter it = yyjson_obj_iter_with(v);
        while (!w->stopped && (e = yyjson_obj_iter_next(&it)) != NULL) {
            go(w, i, yyjson_obj_iter_get_val(e));
        }
    }
}

static void go_slice(struct crd_walk *w, size_t i, yyjson_val *v, const struct step *s) {
    int64_t n = (int64_t)yyjson_arr_size(v), from = s->index, to = s->to;
    from = from < 0 ? from + n : from;
    to = to < 0 ? to + n : to > n ? n : to;
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *e;
    for (int64_t k = 0; k < to && !w->stopped && (e = yyjson_arr_iter_next(&it)) != NULL; k++) {
        if (k >= from) {
            go(w, i, e);
        }
    }
}

static void go_deep(struct crd_walk *w, size_t i, yyjson_val *v) {
    yyjson_val *x = yyjson_is_obj(v) ? named(&w->steps[i], v) : NULL;
    if (x != NULL) {
        go(w, i + 1, x);
    }
    go_each(w, i, v, NULL);
}

static void go(struct crd_walk *w, size_t i, yyjson_val *v) {
    if (v == NULL || w->stopped || ++w->visits > VISITS_MAX) {
        w->stopped = true;
        return;
    }
    if (i == w->n) {
        w->stopped = !w->each(w->ctx, v);
        return;
    }
    const struct step *s = &w->steps[i];
    yyjson_val *next = NULL;
    switch (s->type) {
    case STEP_NAME:
        next = named(s, v);
        break;
    case STEP_INDEX: {
        int64_t n = (int64_t)yyjson_arr_size(v), at = s->index < 0 ? s->index + n : s->index;
        next = at >= 0 && at < n ? yyjson_arr_get(v, (size_t)at) : NULL;
        break;
    }
    case STEP_SLICE:
        go_slice(w, i + 1, v, s);
        return;
    case STEP_ALL:
    case STEP_FILTER:
        go_each(w, i + 1, v, s->type == STEP_FILTER ? s : NULL);
        return;
    case STEP_DEEP:
        go_deep(w, i, v);
        return;
    }
    if (next != NULL) {
        go(w, i + 1, next);
    }
}

void crd_path_each(struct str path, yyjson_val *root, bool (*each)(void *ctx, yyjson_val *v),
                   void *ctx) {
    struct step steps[STEPS_MAX];
    struct crd_walk w = {.steps = steps, .each = each, .ctx = ctx};
    if (root != NULL && read_path(path, steps, &w.n) == 0) {
        go(&w, 0, root);
    }
}

/* ---- cells ---- */

struct cell {
    yyjson_val *first;
    struct buf text; /* all of them, as a string column shows them */
};

static bool gather(void *ctx, yyjson_val *v) {
    struct cell *c = ctx;
    buf_c(&c->text, c->first != NULL ? " " : "");
    c->first = c->first != NULL ? c->first : v;
    if (yyjson_is_str(v)) {
        buf_str(&c->text, json_str(v));
    } else {
        json_write(&c->text, v);
    }
    return c->text.n < LIMIT_CONDITION_MESSAGE;
}

void crd_cell(const struct column *col, yyjson_val *obj, int64_t now, struct buf *out) {
    struct cell c = {0};
    struct str type = str_of(col->type);
    buf_init(&c.text, 0);
    crd_path_each(str_of(col->json_path), obj, gather, &c);
    bool number = yyjson_is_num(c.first), boolean = yyjson_is_bool(c.first);
    if (c.first == NULL || yyjson_is_null(c.first)) {
        buf_c(out, "null");
    } else if (str_is(type, "string")) {
        buf_json(out, buf_view(&c.text));
    } else if (str_is(type, "date") && yyjson_is_str(c.first)) {
        cell_age(out, json_str(c.first), now);
    } else if (str_is(type, "integer") && number) {
        buf_i64(out, yyjson_is_real(c.first) ? (int64_t)yyjson_get_real(c.first)
                                             : yyjson_get_sint(c.first));
    } else if ((str_is(type, "number") && number) || (str_is(type, "boolean") && boolean)) {
        json_write(out, c.first);
    } else {
        buf_c(out, "null");
    }
    buf_release(&c.text);
}
