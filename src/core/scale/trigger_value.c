/*
 * trigger_value: numbers as JSON has them, truths as Go's ParseBool, durations with a unit or in milliseconds, lists
 * with commas, maps of k=v, and queries.
 */
#include "core/scale/trigger_value.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "wire/text/time.h"

enum { NS_PER_MILLI = 1000000 };

static bool digits(struct str *s) {
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9') {
        n++;
    }
    *s = str_skip(*s, n);
    return n > 0;
}

/* RFC 8259's grammar of numbers; *whole: neither a fraction nor an exponent. */
static bool json_number(struct str s, bool *whole) {
    if (str_starts(s, STR("-"))) {
        s = str_skip(s, 1);
    }
    struct str from = s;
    if (!digits(&s) || (from.p[0] == '0' && from.n - s.n > 1)) {
        return false;
    }
    *whole = s.n == 0;
    if (s.n > 0 && s.p[0] == '.') {
        s = str_skip(s, 1);
        if (!digits(&s)) {
            return false;
        }
    }
    if (s.n > 0 && (s.p[0] == 'e' || s.p[0] == 'E')) {
        s = str_skip(s, 1);
        s = s.n > 0 && (s.p[0] == '+' || s.p[0] == '-') ? str_skip(s, 1) : s;
        if (!digits(&s)) {
            return false;
        }
    }
    return s.n == 0;
}

static bool number(struct str text, struct trigger_value *v) {
    char copy[512];
    bool whole;
    if (str_is(text, "null")) {
        return true;
    }
    if (!json_number(text, &whole) || !str_copy(text, copy, sizeof(copy))) {
        return false;
    }
    v->number = strtod(copy, NULL);
    return isfinite(v->number);
}

static bool integer(struct str text, struct trigger_value *v) {
    bool whole = false;
    return str_is(text, "null") ||
           (json_number(text, &whole) && whole && str_to_i64(text, &v->integer));
}

static bool truth(struct str text, bool *ret) {
    static const char *const yes[] = {"1", "t", "T", "TRUE", "true", "True"};
    static const char *const no[] = {"0", "f", "F", "FALSE", "false", "False"};
    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
        if (str_is(text, yes[i]) || str_is(text, no[i])) {
            *ret = str_is(text, yes[i]);
            return true;
        }
    }
    return false;
}

static bool duration(struct str text, struct trigger_value *v) {
    int64_t ns;
    struct str bare = str_starts(text, STR("+")) ? str_skip(text, 1) : text;
    if (duration_parse(text, &ns, NULL) == 0) {
        v->integer = ns / NS_PER_MILLI;
        return ns >= 0;
    }
    return str_to_i64(bare, &v->integer) && v->integer >= 0;
}

static size_t parts(struct str text, char by) {
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == by;
    }
    return n;
}

/* As Go's strings.Split: an empty part at the end counts. */
static bool next_part(struct str *rest, bool *more, char by, struct str *part) {
    struct str tail;
    if (!*more) {
        return false;
    }
    *more = str_cut(*rest, by, part, &tail);
    if (!*more) {
        *part = *rest;
    }
    *rest = tail;
    return true;
}

static bool list(struct str text, struct trigger_value *v, struct arena *a) {
    struct str part;
    bool more = true;
    v->list.v = ARENA_ARRAY(a, struct str, parts(text, ','));
    while (v->list.v != NULL && next_part(&text, &more, ',', &part)) {
        v->list.v[v->list.n++] = str_trim(part);
    }
    return true;
}

static bool map(struct str text, struct trigger_value *v, struct arena *a) {
    struct str part, key, value;
    bool more = true;
    v->map.v = ARENA_ARRAY(a, struct str_pair, parts(text, ','));
    while (v->map.v != NULL && next_part(&text, &more, ',', &part)) {
        if (!str_cut(part, '=', &key, &value) || str_find(value, '=') >= 0) {
            return false;
        }
        key = str_trim(key);
        size_t at = 0;
        while (at < v->map.n && !str_eq(v->map.v[at].key, key)) {
            at++;
        }
        v->map.v[at] = (struct str_pair){key, str_trim(value)};
        v->map.n += at == v->map.n;
    }
    return true;
}

static int hex(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool unescape(struct str s, struct arena *a, struct str *ret) {
    char *p = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; p != NULL && i < s.n; i++) {
        if (s.p[i] == '%') {
            if (i + 2 >= s.n || hex(s.p[i + 1]) < 0 || hex(s.p[i + 2]) < 0) {
                return false;
            }
            p[n++] = (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2]));
            i += 2;
        } else {
            p[n++] = s.p[i] == '+' ? ' ' : s.p[i];
        }
    }
    *ret = str_from(p, p != NULL ? n : 0);
    return true;
}

static bool query(struct str text, struct trigger_value *v, struct arena *a) {
    struct str part, key, value;
    bool more = true;
    v->map.v = ARENA_ARRAY(a, struct str_pair, parts(text, '&'));
    while (v->map.v != NULL && next_part(&text, &more, '&', &part)) {
        if (part.n == 0) {
            continue;
        }
        if (str_find(part, ';') >= 0) {
            return false;
        }
        if (!str_cut(part, '=', &key, &value)) {
            key = part;
            value = STR("");
        }
        struct str_pair *pair = &v->map.v[v->map.n];
        if (!unescape(key, a, &pair->key) || !unescape(value, a, &pair->value)) {
            return false;
        }
        v->map.n++;
    }
    return true;
}

bool trigger_value_parse(struct str text, struct trigger_value *v, struct arena *a) {
    switch (v->type) {
    case TRIGGER_TEXT:
        v->text = text;
        return true;
    case TRIGGER_FLOAT:
        return number(text, v);
    case TRIGGER_INT:
        return integer(text, v);
    case TRIGGER_BOOL:
        return truth(text, &v->truth);
    case TRIGGER_DURATION:
        return duration(text, v);
    case TRIGGER_MAP:
        return map(text, v, a);
    case TRIGGER_LIST:
        return list(text, v, a);
    case TRIGGER_QUERY:
        return query(text, v, a);
    }
    return false;
}
