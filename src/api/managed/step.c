/* step: see step.h. */
#include "api/managed/step.h"

#include <stdlib.h>

enum {
    NUMBER_MAX = 40,        /* characters of a number that is compared as one */
    OTHER_FORM_STEPS = 100, /* that a text takes which must be read as JSON */
    TOLD_MAX = 256,         /* bytes of a text that people are told */
};

static bool is_number_char(char c) {
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

/* The number around byte `at`, which is outside of strings; false: there is none. */
static bool number_at(struct str s, size_t at, double *ret) {
    char text[NUMBER_MAX + 1];
    size_t from = at, n = 0;
    while (from > 0 && is_number_char(s.p[from - 1])) {
        from--;
    }
    while (from + n < s.n && n < NUMBER_MAX && is_number_char(s.p[from + n])) {
        text[n] = s.p[from + n];
        n++;
    }
    text[n] = '\0';
    *ret = n > 0 ? strtod(text, NULL) : 0;
    return n > 0;
}

/* Texts of JSON: bytewise, but where they differ in a number by that. */
static int json_text_cmp(struct str a, struct str b) {
    bool inside = false, escaped = false;
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        if (a.p[i] != b.p[i]) {
            double x, y;
            bool numbers = !inside && number_at(a, i, &x) && number_at(b, i, &y);
            return numbers && x < y ? -1 : numbers && x > y ? 1 : str_cmp(a, b);
        }
        bool quote = a.p[i] == '"' && !escaped;
        escaped = inside && a.p[i] == '\\' && !escaped;
        inside = quote ? !inside : inside;
    }
    return str_cmp(a, b);
}

int step_cmp(const struct field_step *a, const struct field_step *b) {
    if (a->type != b->type) {
        return a->type < b->type ? -1 : 1;
    }
    if (str_eq(a->text, b->text)) {
        return 0;
    }
    return a->type == STEP_FIELD ? str_cmp(a->text, b->text) : json_text_cmp(a->text, b->text);
}

/* A value in its canonical form. What is no scalar is written as it is. */
static void write_value(struct buf *b, yyjson_mut_val *v) {
    if (yyjson_mut_is_str(v)) {
        buf_json(b, json_mstr(v));
    } else if (yyjson_mut_is_real(v) && yyjson_mut_get_real(v) > -9e15 &&
               yyjson_mut_get_real(v) < 9e15 &&
               yyjson_mut_get_real(v) == (double)(int64_t)yyjson_mut_get_real(v)) {
        buf_i64(b, (int64_t)yyjson_mut_get_real(v));
    } else {
        json_write_mut(b, v);
    }
}

static int key_cmp(const void *a, const void *b) {
    const struct step_key *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

static int take_text(struct arena *a, struct buf *scratch, struct str *ret) {
    int r = buf_ok(scratch);
    *ret = r == 0 ? arena_str(a, buf_view(scratch)) : (struct str){0};
    return r != 0 ? r : ret->p == NULL ? ERR_NOMEM : 0;
}

/* What needs no escape in JSON. */
static bool is_plain(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < ' ' || c > '~' || c == '"' || c == '\\') {
            return false;
        }
    }
    return true;
}

static char *append(char *to, struct str s) {
    if (s.n > 0) {
        memcpy(to, s.p, s.n);
    }
    return to + s.n;
}

/* Most keys are one plain text: `{"name":"web"}`. */
static int one_text(struct arena *a, struct str name, struct str text, struct field_step *ret) {
    size_t n = name.n + text.n + sizeof("{\"\":\"\"}") - 1;
    char *p = arena_alloc(a, n + 1), *at = p;
    if (p == NULL) {
        return ERR_NOMEM;
    }
    at = append(at, STR("{\""));
    at = append(at, name);
    at = append(at, STR("\":\""));
    at = append(at, text);
    at = append(at, STR("\"}"));
    *at = '\0';
    *ret = (struct field_step){STEP_KEY, {p, n}};
    return 0;
}

int step_of_keys(struct arena *a, struct buf *scratch, struct step_key *v, size_t n,
                 struct field_step *ret) {
    if (n == 1 && yyjson_mut_is_str(v->v) && is_plain(v->name) && is_plain(json_mstr(v->v))) {
        return one_text(a, v->name, json_mstr(v->v), ret);
    }
    if (n > 1) {
        qsort(v, n, sizeof(*v), key_cmp);
    }
    buf_reset(scratch);
    buf_ch(scratch, '{');
    for (size_t i = 0; i < n; i++) {
        buf_c(scratch, i > 0 ? "," : "");
        buf_json(scratch, v[i].name);
        buf_ch(scratch, ':');
        write_value(scratch, v[i].v);
    }
    buf_ch(scratch, '}');
    ret->type = STEP_KEY;
    return take_text(a, scratch, &ret->text);
}

int step_of_value(struct arena *a, struct buf *scratch, yyjson_mut_val *v, struct field_step *ret) {
    buf_reset(scratch);
    write_value(scratch, v);
    ret->type = STEP_VALUE;
    return take_text(a, scratch, &ret->text);
}

/* The string, number or word at the front of the text, where it is written in the one form that it has; false:
 * whoever knows must look. */
static bool take_plain(struct str *s, struct str *ret) {
    size_t n = 0;
    if (s->n > 0 && s->p[0] == '"') {
        for (n = 1; n < s->n && s->p[n] != '"'; n++) {
            if (s->p[n] == '\\' || (unsigned char)s->p[n] < ' ' || (unsigned char)s->p[n] > '~') {
                return false;
            }
        }
        n++;
    } else {
        while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9') {
            n++;
        }
        if (n == 0 || n > 18 || (n > 1 && s->p[0] == '0')) {
            return false;
        }
    }
    *ret = str_head(*s, n);
    *s = str_skip(*s, n);
    return n <= s->n + ret->n;
}

static bool take_char(struct str *s, char c) {
    bool is = s->n > 0 && s->p[0] == c;
    *s = is ? str_skip(*s, 1) : *s;
    return is;
}

/* Nearly every key is: it was written here. */
static bool is_canonical(struct str text) {
    struct str name, value, before = {0};
    if (!take_char(&text, '{')) {
        return false;
    }
    do {
        if (!take_plain(&text, &name) || name.p[0] != '"' || !take_char(&text, ':') ||
            !take_plain(&text, &value) || str_cmp(before, name) >= 0) {
            return false;
        }
        before = name;
    } while (take_char(&text, ','));
    return take_char(&text, '}') && text.n == 0;
}

static int parse_key(struct arena *a, struct buf *scratch, struct str text,
                     struct field_step *ret) {
    yyjson_mut_doc *d;
    if (is_canonical(text)) {
        *ret = (struct field_step){STEP_KEY, text};
        return 0;
    }
    (void)arena_charge(a, OTHER_FORM_STEPS + text.n);
    int r = json_parse_mut(a, text, &d, NULL);
    if (r != 0) {
        return r == ERR_NOMEM ? r : ERR_INVALID;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d), *key, *v;
    size_t i, n, used = 0;
    struct step_key *parts = ARENA_ARRAY(a, struct step_key, yyjson_mut_obj_size(root) + 1);
    if (parts == NULL || !yyjson_mut_is_obj(root)) {
        return parts == NULL ? ERR_NOMEM : ERR_INVALID;
    }
    yyjson_mut_obj_foreach(root, i, n, key, v) {
        parts[used++] = (struct step_key){json_mstr(key), v};
    }
    return used == 0 ? ERR_INVALID : step_of_keys(a, scratch, parts, used, ret);
}

static int parse_value(struct arena *a, struct buf *scratch, struct str text,
                       struct field_step *ret) {
    yyjson_mut_doc *d;
    (void)arena_charge(a, OTHER_FORM_STEPS + text.n);
    int r = json_parse_mut(a, text, &d, NULL);
    if (r != 0) {
        return r == ERR_NOMEM ? r : ERR_INVALID;
    }
    return step_of_value(a, scratch, yyjson_mut_doc_get_root(d), ret);
}

int step_parse(struct arena *a, struct buf *scratch, struct str name, struct field_step *ret) {
    uint64_t place;
    if (name.n < 2 || name.p[1] != ':') {
        return ERR_INVALID;
    }
    struct str text = str_skip(name, 2);
    switch (name.p[0]) {
    case 'f':
        *ret = (struct field_step){STEP_FIELD, text};
        return 0;
    case 'k':
        return parse_key(a, scratch, text, ret);
    case 'v':
        return parse_value(a, scratch, text, ret);
    case 'i':
        *ret = (struct field_step){STEP_INDEX, text};
        return str_to_u64(text, &place) ? 0 : ERR_INVALID;
    default:
        return ERR_NOT_FOUND;
    }
}

struct str step_name(struct arena *a, const struct field_step *s) {
    static const char letters[] = "fkvi";
    char *p = arena_alloc(a, s->text.n + 3);
    if (p == NULL) {
        return (struct str){0};
    }
    p[0] = letters[s->type];
    p[1] = ':';
    if (s->text.n > 0) {
        memcpy(p + 2, s->text.p, s->text.n);
    }
    p[s->text.n + 2] = '\0';
    return str_from(p, s->text.n + 2);
}

static void write_key(struct str text, struct arena *a, struct buf *out) {
    yyjson_mut_doc *d;
    size_t i, n;
    yyjson_mut_val *key, *v;
    if (json_parse_mut(a, text, &d, NULL) != 0) {
        buf_str(out, text);
        return;
    }
    yyjson_mut_obj_foreach(yyjson_mut_doc_get_root(d), i, n, key, v) {
        buf_c(out, i > 0 ? "," : "");
        buf_str(out, json_mstr(key));
        buf_ch(out, '=');
        write_value(out, v);
    }
}

/* Its beginning, which ends between two characters. */
static void write_cut(struct str text, struct buf *out) {
    size_t n = text.n < TOLD_MAX ? text.n : TOLD_MAX;
    while (n > 0 && n < text.n && ((unsigned char)text.p[n] & 0xc0) == 0x80) {
        n--;
    }
    buf_str(out, str_head(text, n));
    buf_c(out, n < text.n ? "..." : "");
}

void step_write(const struct field_step *s, struct arena *a, struct buf *out) {
    buf_c(out, s->type == STEP_FIELD ? "." : s->type == STEP_VALUE ? "[=" : "[");
    if (s->type == STEP_KEY && s->text.n <= TOLD_MAX) {
        write_key(s->text, a, out);
    } else {
        write_cut(s->text, out);
    }
    buf_c(out, s->type == STEP_FIELD ? "" : "]");
}
