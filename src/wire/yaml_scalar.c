/* yaml_scalar: what a YAML scalar means. See yaml_scalar.h. */
#include "wire/yaml_scalar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct word {
    const char *text;
    enum yaml_scalar_type type;
    bool yes;
} words[] = {
    {"", YAML_SCALAR_NULL, false},      {"~", YAML_SCALAR_NULL, false},
    {"null", YAML_SCALAR_NULL, false},  {"Null", YAML_SCALAR_NULL, false},
    {"NULL", YAML_SCALAR_NULL, false},  {"y", YAML_SCALAR_BOOL, true},
    {"Y", YAML_SCALAR_BOOL, true},      {"yes", YAML_SCALAR_BOOL, true},
    {"Yes", YAML_SCALAR_BOOL, true},    {"YES", YAML_SCALAR_BOOL, true},
    {"true", YAML_SCALAR_BOOL, true},   {"True", YAML_SCALAR_BOOL, true},
    {"TRUE", YAML_SCALAR_BOOL, true},   {"on", YAML_SCALAR_BOOL, true},
    {"On", YAML_SCALAR_BOOL, true},     {"ON", YAML_SCALAR_BOOL, true},
    {"n", YAML_SCALAR_BOOL, false},     {"N", YAML_SCALAR_BOOL, false},
    {"no", YAML_SCALAR_BOOL, false},    {"No", YAML_SCALAR_BOOL, false},
    {"NO", YAML_SCALAR_BOOL, false},    {"false", YAML_SCALAR_BOOL, false},
    {"False", YAML_SCALAR_BOOL, false}, {"FALSE", YAML_SCALAR_BOOL, false},
    {"off", YAML_SCALAR_BOOL, false},   {"Off", YAML_SCALAR_BOOL, false},
    {"OFF", YAML_SCALAR_BOOL, false},   {"<<", YAML_SCALAR_MERGE, false},
};

static const char *const not_finite[] = {".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
                                         "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF"};

enum { NUMBER_MAX = 128 }; /* bytes; what is longer is a string */

static int digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
}

/* Go's ParseInt with base 0, then ParseUint: sign, then 0x 0o 0b or a leading 0 for octal. */
static bool to_int(struct str s, struct yaml_scalar *ret) {
    bool negative = s.n && s.p[0] == '-', sign = negative || (s.n && s.p[0] == '+');
    int base = 10;
    uint64_t v = 0;
    s = str_skip(s, sign);
    if (s.n > 1 && s.p[0] == '0') {
        char c = (char)(s.p[1] | 0x20);
        base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
        s = str_skip(s, c == 'x' || c == 'o' || c == 'b' ? 2 : 1);
    }
    if (s.n == 0) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        int d = digit(s.p[i]);
        if (d >= base || __builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)d, &v)) {
            return false;
        }
    }
    if ((negative && v > (uint64_t)1 << 63) || (sign && !negative && v > INT64_MAX)) {
        return false;
    }
    ret->type = YAML_SCALAR_INT;
    ret->negative = negative && v > 0;
    ret->u = negative ? 0 - v : v;
    return true;
}

static size_t run_of_digits(struct str s, size_t from) {
    size_t n = from;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9') {
        n++;
    }
    return n - from;
}

/* [-+]? ( .digits | digits [ . digits? ] ) [ (e|E) [-+]? digits ] */
static bool looks_like_float(struct str s) {
    size_t i = s.n && (s.p[0] == '-' || s.p[0] == '+'), before, after = 0;
    before = run_of_digits(s, i);
    i += before;
    if (i < s.n && s.p[i] == '.') {
        after = run_of_digits(s, ++i);
        i += after;
    }
    if (before + after == 0) {
        return false;
    }
    if (i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        i++;
        i += i < s.n && (s.p[i] == '-' || s.p[i] == '+');
        size_t n = run_of_digits(s, i);
        i = n ? i + n : s.n + 1;
    }
    return i == s.n;
}

static bool to_float(struct str s, struct yaml_scalar *ret) {
    char text[NUMBER_MAX + 1];
    if (!looks_like_float(s) || !str_copy(s, text, sizeof(text))) {
        return false;
    }
    double f = strtod(
        text, NULL); /* digits, one point, an exponent: no locale's business but the point's */
    if (!isfinite(f)) {
        return false;
    }
    ret->type = YAML_SCALAR_FLOAT;
    ret->f = f;
    return true;
}

static void resolve_number(struct str text, struct yaml_scalar *ret) {
    char plain[NUMBER_MAX];
    size_t n = 0;
    if (text.n > NUMBER_MAX) {
        return;
    }
    if (text.p[0] == '.') {
        to_float(text, ret);
        return;
    }
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] != '_') {
            plain[n++] = text.p[i];
        }
    }
    if (!to_int(str_from(plain, n), ret)) {
        to_float(str_from(plain, n), ret);
    }
}

/* The meaning of a scalar without a tag that says otherwise. */
static const char *resolve_plain(struct str text, struct yaml_scalar *ret) {
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_is(text, words[i].text)) {
            ret->type = words[i].type;
            ret->yes = words[i].yes;
            return NULL;
        }
    }
    for (size_t i = 0; i < sizeof(not_finite) / sizeof(not_finite[0]); i++) {
        if (str_is(text, not_finite[i])) {
            return "JSON has no NaN and no infinity";
        }
    }
    char c = text.p[0];
    if ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.') {
        resolve_number(text, ret);
    }
    return NULL;
}

const char *yaml_resolve(struct str text, bool plain, struct str tag, struct yaml_scalar *ret) {
    static const struct {
        const char *tag;
        enum yaml_scalar_type type;
    } tags[] = {
        {"tag:yaml.org,2002:null", YAML_SCALAR_NULL},
        {"tag:yaml.org,2002:bool", YAML_SCALAR_BOOL},
        {"tag:yaml.org,2002:int", YAML_SCALAR_INT},
        {"tag:yaml.org,2002:float", YAML_SCALAR_FLOAT},
    };
    struct yaml_scalar s = {.type = YAML_SCALAR_STRING, .text = text};
    const char *bad = NULL;
    if (str_is(tag, "tag:yaml.org,2002:binary")) {
        return "!!binary is not supported: write base64 as a string";
    }
    size_t want = 0, n = sizeof(tags) / sizeof(tags[0]);
    while (want < n && !str_is(tag, tags[want].tag)) {
        want++;
    }
    if (want < n || (plain && tag.n == 0)) {
        bad = resolve_plain(text, &s);
    }
    if (bad == NULL && want < n && s.type != tags[want].type) {
        bool widen = tags[want].type == YAML_SCALAR_FLOAT && s.type == YAML_SCALAR_INT;
        bad = widen ? NULL : "the value does not fit its tag";
        s.f = s.negative ? (double)(int64_t)s.u : (double)s.u;
        s.type = widen ? YAML_SCALAR_FLOAT : s.type;
    }
    if (bad == NULL) {
        *ret = s;
    }
    return bad;
}

struct str yaml_key_text(const struct yaml_scalar *s, char out[static 32]) {
    switch (s->type) {
    case YAML_SCALAR_BOOL:
        return s->yes ? STR("true") : STR("false");
    case YAML_SCALAR_INT:
        snprintf(out, 32, s->negative ? "%lld" : "%llu", (long long)s->u);
        return str_of(out);
    case YAML_SCALAR_FLOAT:
        snprintf(out, 32, "%.9g", s->f);
        for (int digits = 1; digits < 9;
             digits++) { /* the shortest that is the same single-precision number */
            char shorter[32];
            snprintf(shorter, sizeof(shorter), "%.*g", digits, s->f);
            if ((float)strtod(shorter, NULL) == (float)s->f) {
                memcpy(out, shorter, sizeof(shorter));
                break;
            }
        }
        return str_of(out);
    default:
        return s->text;
    }
}

yyjson_mut_val *yaml_scalar_value(yyjson_mut_doc *d, const struct yaml_scalar *s) {
    switch (s->type) {
    case YAML_SCALAR_NULL:
        return yyjson_mut_null(d);
    case YAML_SCALAR_BOOL:
        return yyjson_mut_bool(d, s->yes);
    case YAML_SCALAR_INT:
        return s->negative ? yyjson_mut_sint(d, (int64_t)s->u) : yyjson_mut_uint(d, s->u);
    case YAML_SCALAR_FLOAT:
        return yyjson_mut_real(d, s->f);
    default:
        return yyjson_mut_strncpy(d, s->text.p ? s->text.p : "", s->text.n);
    }
}
