/*
 * json_at: a walk that goes into what a path names, and skips the rest.
 */
#include "core/scale/json_at.h"

#include "base/err.h"
#include "core/scale/go_float.h"
#include "wire/json/json.h"

/* One part of a path, up to a dot or a pipe. */
struct path_part {
    struct str name; /* without escapes, where it is not wild */
    struct str rest; /* behind the dot, or behind the pipe */
    bool more, piped, wild;
};

static const struct json_at NONE = {.type = JSON_AT_NONE};

/* ---- values ---- */

static bool blank(char c) {
    return (unsigned char)c <= ' ';
}

/* Behind the closing quote; s begins behind the opening one. False: there is none. */
static bool skip_text(struct str s, size_t *ret) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\\') {
            i++;
        } else if (s.p[i] == '"') {
            *ret = i + 1;
            return true;
        }
    }
    return false;
}

/* Of a list or object, up to where it closes, or the end. */
static size_t skip_nested(struct str s) {
    size_t depth = 0, n;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '"') {
            if (!skip_text(str_skip(s, i + 1), &n)) {
                return s.n;
            }
            i += n;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return s.n;
}

static size_t skip_word(struct str s, bool literal) {
    size_t n = 1;
    while (n < s.n &&
           (literal ? s.p[n] >= 'a' && s.p[n] <= 'z'
                    : !blank(s.p[n]) && s.p[n] != ',' && s.p[n] != ']' && s.p[n] != '}')) {
        n++;
    }
    return n;
}

static struct str unescape(struct arena *a, struct str raw) {
    yyjson_doc *d;
    if (str_find(raw, '\\') < 0) {
        return str_from(raw.p + 1, raw.n - 2);
    }
    return json_parse(a, raw, &d, NULL) == 0 ? json_str(yyjson_doc_get_root(d))
                                             : str_from(raw.p + 1, raw.n - 2);
}

/* The value at the front, which may be none; *ret_n: bytes of it. False: here begins no value. */
static bool value_at(struct arena *a, struct str s, struct json_at *ret, size_t *ret_n) {
    char c = s.n > 0 ? s.p[0] : '\0';
    size_t n = 0;
    struct json_at v = NONE;
    if (c == '"') {
        if (!skip_text(str_skip(s, 1), &n)) {
            *ret_n = s.n; /* without an end: no value, and nothing follows */
            *ret = NONE;
            return true;
        }
        n++;
        v.type = JSON_AT_TEXT;
        v.text = unescape(a, str_head(s, n));
    } else if (c == '{' || c == '[') {
        v.type = JSON_AT_JSON;
        n = skip_nested(s);
    } else if (c == 't' || c == 'f' || (c == 'n' && !(s.n > 1 && s.p[1] != 'u'))) {
        v.type = c == 't' ? JSON_AT_TRUE : c == 'f' ? JSON_AT_FALSE : JSON_AT_NULL;
        n = skip_word(s, true);
    } else if ((c >= '0' && c <= '9') || (c != '\0' && memchr("+-niIN", c, 6) != NULL)) {
        v.type = JSON_AT_NUMBER;
        n = skip_word(s, false);
        if (!go_float(str_head(s, n), &v.number)) {
            v.number = 0;
        }
    } else {
        return false;
    }
    v.raw = str_head(s, n);
    *ret = v;
    *ret_n = n;
    return true;
}

/* ---- paths ---- */

/* Parentheses of a query belong to its part. */
static size_t part_end(struct str path) {
    size_t depth = 0, n;
    for (size_t i = 0; i < path.n; i++) {
        char c = path.p[i];
        if (c == '\\') {
            i++;
        } else if (c == '"' && depth > 0 && skip_text(str_skip(path, i + 1), &n)) {
            i += n;
        } else if (c == '(' && (depth > 0 || (i > 0 && path.p[i - 1] == '#'))) {
            depth++;
        } else if (c == ')' && depth > 0) {
            depth--;
        } else if ((c == '.' || c == '|') && depth == 0) {
            return i;
        }
    }
    return path.n;
}

static struct path_part next_part(struct arena *a, struct str path) {
    size_t end = part_end(path), n = 0;
    struct path_part p = {.name = str_head(path, end), .rest = str_skip(path, end + 1)};
    char *plain = arena_alloc(a, end + 1);
    p.more = end < path.n && path.p[end] == '.';
    p.piped = end < path.n && path.p[end] == '|';
    for (size_t i = 0; plain != NULL && i < end; i++) {
        char c = path.p[i];
        p.wild = p.wild || c == '*' || c == '?';
        if (c == '\\' && i + 1 < end) {
            c = path.p[++i];
        }
        plain[n++] = c;
    }
    if (!p.wild && plain != NULL) {
        p.name = str_from(plain, n);
    }
    return p;
}

static bool wild_match(struct str s, struct str pattern) {
    size_t i = 0, j = 0, star = SIZE_MAX, mark = 0;
    while (i < s.n) {
        if (j < pattern.n && pattern.p[j] == '*') {
            star = j++;
            mark = i;
        } else if (j < pattern.n && (pattern.p[j] == '?' || pattern.p[j] == s.p[i])) {
            i++;
            j++;
        } else if (star != SIZE_MAX) {
            j = star + 1;
            i = ++mark;
        } else {
            return false;
        }
    }
    while (j < pattern.n && pattern.p[j] == '*') {
        j++;
    }
    return j == pattern.n;
}

/* ---- queries ---- */

static struct json_at get(struct arena *a, struct str json, struct str path, int depth);

static bool compare(const struct json_at *v, struct str op, struct str want) {
    bool quoted = want.n >= 2 && want.p[0] == '"' && want.p[want.n - 1] == '"';
    double d = 0, difference = 0;
    if (v->type == JSON_AT_TEXT) {
        struct str text = quoted ? str_from(want.p + 1, want.n - 2) : want;
        difference = str_cmp(v->text, text);
    } else if (v->type == JSON_AT_NUMBER) {
        if (quoted || !go_float(want, &d)) {
            return false;
        }
        difference = v->number > d ? 1 : v->number < d ? -1 : 0;
    } else if (v->type == JSON_AT_TRUE || v->type == JSON_AT_FALSE) {
        bool same = str_is(want, v->type == JSON_AT_TRUE ? "true" : "false");
        return str_is(op, "!=") ? !same : (str_is(op, "==") || str_is(op, "=")) && same;
    } else {
        return false;
    }
    return str_is(op, "==") || str_is(op, "=") ? difference == 0
           : str_is(op, "!=")                  ? difference != 0
           : str_is(op, "<")                   ? difference < 0
           : str_is(op, "<=")                  ? difference <= 0
           : str_is(op, ">")                   ? difference > 0
                                               : str_is(op, ">=") && difference >= 0;
}

/* "#(n==\"x\")" of an element. */
static bool holds(struct arena *a, const struct json_at *e, struct str query, int depth) {
    struct str inside = str_from(query.p + 2, query.n - 3);
    size_t at = 0, n = 0;
    while (at < inside.n && memchr("=!<>", inside.p[at], 4) == NULL) {
        at++;
    }
    while (at + n < inside.n && memchr("=!<>", inside.p[at + n], 4) != NULL) {
        n++;
    }
    struct str path = str_trim(str_head(inside, at)), op = str_from(inside.p + at, n);
    struct str want = str_trim(str_skip(inside, at + n));
    struct json_at v = path.n == 0               ? *e
                       : e->type == JSON_AT_JSON ? get(a, e->raw, path, depth + 1)
                                                 : NONE;
    return n == 0 ? v.type != JSON_AT_NONE : compare(&v, op, want);
}

/* ---- the walk ---- */

/* What is found at the end of a part: itself, or what the rest names in it. */
static struct json_at follow(struct arena *a, struct json_at v, const struct path_part *p,
                             int depth) {
    if (!p->more && !p->piped) {
        return v;
    }
    if (p->piped || v.type == JSON_AT_JSON) {
        return get(a, v.raw, p->rest, depth + 1);
    }
    return NONE;
}

static struct json_at in_object(struct arena *a, struct str s, const struct path_part *p,
                                int depth) {
    size_t n;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '}') {
            return NONE;
        }
        if (s.p[i] != '"') {
            continue;
        }
        if (!skip_text(str_skip(s, i + 1), &n)) {
            return NONE;
        }
        struct str key = unescape(a, str_from(s.p + i, n + 1));
        struct json_at v = NONE;
        for (i += n + 1; i < s.n && !value_at(a, str_skip(s, i), &v, &n); i++) {
        }
        if (i < s.n && (p->wild ? wild_match(key, p->name) : str_eq(key, p->name))) {
            struct json_at found = follow(a, v, p, depth);
            if (found.type != JSON_AT_NONE || !p->more) {
                return found;
            }
        }
        i += i < s.n ? n - 1 : 0;
    }
    return NONE;
}

static struct json_at counted(struct arena *a, size_t n) {
    return (struct json_at){
        .type = JSON_AT_NUMBER, .raw = arena_f(a, "%zu", n), .number = (double)n};
}

static struct json_at in_array(struct arena *a, struct str s, const struct path_part *p,
                               int depth) {
    bool query = str_starts(p->name, STR("#(")) && str_ends(p->name, STR(")"));
    bool count = str_is(p->name, "#");
    uint64_t index = UINT64_MAX, at = 0;
    struct json_at v;
    size_t n;
    (void)str_to_u64(p->name, &index);
    for (size_t i = 0; i < s.n && s.p[i] != ']'; i++) {
        if (!value_at(a, str_skip(s, i), &v, &n)) {
            continue;
        }
        if (query ? holds(a, &v, p->name, depth) : !count && at == index) {
            return follow(a, v, p, depth);
        }
        at++;
        i += n - 1;
    }
    if (!count || p->piped) {
        return NONE;
    }
    return p->more ? (struct json_at){.type = JSON_AT_JSON, .raw = STR("[]")} : counted(a, at);
}

/* The first value of a text, whatever follows. */
static struct json_at whole(struct arena *a, struct str json) {
    struct json_at v = NONE;
    size_t n;
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        if (c == '{' || c == '[') {
            return (struct json_at){.type = JSON_AT_JSON, .raw = str_skip(json, i)};
        }
        if (!blank(c)) {
            return value_at(a, str_skip(json, i), &v, &n) ? v : NONE;
        }
    }
    return NONE;
}

static struct json_at get(struct arena *a, struct str json, struct str path, int depth) {
    if (depth > JSON_AT_DEPTH || path.n == 0) {
        return NONE;
    }
    bool lines = str_starts(path, STR(".."));
    struct path_part p = next_part(a, lines ? str_skip(path, 2) : path);
    if (!lines && path.p[0] == '@') {
        struct json_at v = whole(a, json);
        return str_is(p.name, "@this") ? follow(a, v, &p, depth) : NONE;
    }
    if (lines) {
        return in_array(a, json, &p, depth);
    }
    for (size_t i = 0; i < json.n; i++) {
        if (json.p[i] == '{') {
            return in_object(a, str_skip(json, i + 1), &p, depth);
        }
        if (json.p[i] == '[') {
            return in_array(a, str_skip(json, i + 1), &p, depth);
        }
    }
    return NONE;
}

struct json_at json_at(struct arena *a, struct str json, struct str path) {
    return get(a, json, path, 0);
}
