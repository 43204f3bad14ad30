/* serve_template: see serve_template.h. */
#include "core/serve/serve_template.h"

static int refuse(struct str expression, struct err *err) {
    struct str shown = str_head(expression, expression.n < 80 ? expression.n : 80);
    return err_set(err, ERR_INVALID,
                   "{{%.*s}}: expected .Name, .Namespace, .Labels.KEY, .Annotations.KEY, or index "
                   "of one of those",
                   STR_ARG(shown));
}

static ptrdiff_t find_pair(struct str s, char c) {
    for (size_t i = 0; i + 1 < s.n; i++) {
        if (s.p[i] == c && s.p[i + 1] == c) {
            return (ptrdiff_t)i;
        }
    }
    return -1;
}

static struct str rest_of(struct str s, size_t n) {
    return str_from(s.p + n, s.n - n);
}

static struct str value_of(const struct str_map *map, struct str key) {
    for (size_t i = 0; map != NULL && i < map->n; i++) {
        if (str_eq(map->v[i].key, key)) {
            return map->v[i].value;
        }
    }
    return (struct str){0};
}

/* "Labels" or "Annotations" at the front of *s, which goes behind it; false: neither. */
static bool take_map(struct str *s, const struct serve_meta *m, const struct str_map **ret) {
    static const struct str labels = {".Labels", 7}, annotations = {".Annotations", 12};

    if (str_starts(*s, labels)) {
        *ret = m->labels;
        *s = rest_of(*s, labels.n);
        return true;
    }
    if (str_starts(*s, annotations)) {
        *ret = m->annotations;
        *s = rest_of(*s, annotations.n);
        return true;
    }
    return false;
}

static bool word(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
                    (i > 0 && c >= '0' && c <= '9');
        if (!fine) {
            return false;
        }
    }
    return s.n > 0;
}

static int evaluate(struct str expression, const struct serve_meta *m, struct str *ret,
                    struct err *err) {
    struct str s = str_trim(expression);
    const struct str_map *map;

    if (str_is(s, ".Name")) {
        *ret = m->name;
        return 0;
    }
    if (str_is(s, ".Namespace")) {
        *ret = m->namespace;
        return 0;
    }
    bool index = str_starts(s, STR("index "));
    s = index ? str_trim(rest_of(s, 6)) : s;
    if (!take_map(&s, m, &map)) {
        return refuse(expression, err);
    }
    if (!index && s.n > 1 && s.p[0] == '.' && word(rest_of(s, 1))) {
        *ret = value_of(map, rest_of(s, 1));
        return 0;
    }
    struct str key = str_trim(s);
    bool quoted =
        key.n >= 2 && (key.p[0] == '"' || key.p[0] == '`') && key.p[key.n - 1] == key.p[0];
    if (!index || !quoted || memchr(key.p + 1, key.p[0], key.n - 2) != NULL ||
        memchr(key.p, '\\', key.n) != NULL) {
        return refuse(expression, err);
    }
    *ret = value_of(map, str_from(key.p + 1, key.n - 2));
    return 0;
}

static bool blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int serve_template(struct str text, const struct serve_meta *m, struct buf *out, struct err *err) {
    ptrdiff_t open;

    while ((open = find_pair(text, '{')) >= 0) {
        struct str before = str_head(text, (size_t)open), inside = rest_of(text, (size_t)open + 2),
                   value;
        ptrdiff_t close = find_pair(inside, '}');
        if (close < 0) {
            return refuse(inside, err);
        }
        text = rest_of(inside, (size_t)close + 2);
        inside = str_head(inside, (size_t)close);
        bool left = inside.n >= 2 && inside.p[0] == '-' && blank(inside.p[1]);
        bool right =
            inside.n >= 2 && inside.p[inside.n - 1] == '-' && blank(inside.p[inside.n - 2]);
        while (left && before.n > 0 && blank(before.p[before.n - 1])) {
            before.n--;
        }
        while (right && text.n > 0 && blank(text.p[0])) {
            text = rest_of(text, 1);
        }
        struct str bare = left ? rest_of(inside, 1) : inside;
        bare.n -= right;
        int code = evaluate(bare, m, &value, err);
        if (code != 0) {
            return code;
        }
        buf_str(out, before);
        buf_str(out, value);
    }
    buf_str(out, text);
    return 0;
}
