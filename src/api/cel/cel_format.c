/* cel_format: "%s is %d".format([...]), and quoting. See cel_tree.h. */
#include <math.h>

#include "api/cel/cel_tree.h"
#include "base/limits.h"
#include "wire/text/time.h"

struct formatter {
    struct cel_run *r;
    struct buf b;
    int depth;
    const char *fault; /* NULL: none */
};

static void put(struct formatter *f, struct cel_value v);

/* Keys in their order as texts, as upstream writes them. */
static void put_map(struct formatter *f, struct cel_value v) {
    size_t n = cel_size(v);
    struct cel_value *kv = ARENA_ARRAY(f->r->in->arena, struct cel_value, 2 * n + 1);
    struct cel_cursor c = cel_walk(v);
    if (kv == NULL || !cel_spend(f->r, n * (n / 8 + 1))) {
        f->fault = "too long";
        return;
    }
    for (size_t i = 0; i < n && cel_next(&c, &kv[2 * i], &kv[2 * i + 1]); i++) {
        for (size_t k = i; k > 0; k--) {
            int order;
            if (!cel_compare(kv[2 * k - 2], kv[2 * k], &order) || order <= 0) {
                break;
            }
            struct cel_value key = kv[2 * k], value = kv[2 * k + 1];
            kv[2 * k] = kv[2 * k - 2];
            kv[2 * k + 1] = kv[2 * k - 1];
            kv[2 * k - 2] = key;
            kv[2 * k - 1] = value;
        }
    }
    buf_ch(&f->b, '{');
    for (size_t i = 0; i < n; i++) {
        buf_c(&f->b, i > 0 ? ", " : "");
        put(f, kv[2 * i]);
        buf_c(&f->b, ": ");
        put(f, kv[2 * i + 1]);
    }
    buf_ch(&f->b, '}');
}

static void put_list(struct formatter *f, struct cel_value v) {
    struct cel_cursor c = cel_walk(v);
    struct cel_value k, x;
    buf_ch(&f->b, '[');
    while (f->fault == NULL && cel_next(&c, &k, &x)) {
        buf_c(&f->b, k.i > 0 ? ", " : "");
        put(f, x);
    }
    buf_ch(&f->b, ']');
}

/* %s of anything. */
static void put(struct formatter *f, struct cel_value v) {
    if (f->fault != NULL || ++f->depth > LIMIT_CEL_DEPTH || !cel_spend(f->r, 1)) {
        f->fault = f->fault != NULL ? f->fault : "too long";
        return;
    }
    if (cel_is_list(v)) {
        put_list(f, v);
    } else if (cel_is_map(v)) {
        put_map(f, v);
    } else if (v.type == CEL_V_NULL) {
        buf_c(&f->b, "null");
    } else if (v.type == CEL_V_TYPE) {
        buf_str(&f->b, v.s);
    } else {
        struct cel_value s = cel_string_of(f->r, v);
        f->fault = s.type == CEL_V_STRING && cel_spend(f->r, s.s.n / 16)
                       ? NULL
                       : "string clause can only be used on strings, bools, bytes, ints, doubles, "
                         "maps, lists, types, durations, and timestamps";
        buf_str(&f->b, f->fault == NULL ? s.s : STR(""));
    }
    f->depth--;
}

static void put_decimal(struct formatter *f, struct cel_value v) {
    if (v.type == CEL_V_INT) {
        buf_i64(&f->b, v.i);
    } else if (v.type == CEL_V_UINT) {
        buf_u64(&f->b, v.u);
    } else if (v.type == CEL_V_DOUBLE && (isnan(v.d) || isinf(v.d))) {
        buf_c(&f->b, isnan(v.d) ? "NaN" : v.d < 0 ? "-Infinity" : "Infinity");
    } else {
        f->fault = "decimal clause can only be used on integers";
    }
}

static void put_fixed(struct formatter *f, struct cel_value v, char verb, int digits) {
    double d = v.type == CEL_V_INT ? (double)v.i : v.type == CEL_V_UINT ? (double)v.u : v.d;
    char text[512];
    if (v.type != CEL_V_INT && v.type != CEL_V_UINT && v.type != CEL_V_DOUBLE) {
        f->fault = verb == 'e' ? "scientific clause can only be used on doubles"
                               : "fixed-point clause can only be used on doubles";
    } else if (isnan(d) || isinf(d)) {
        buf_c(&f->b, isnan(d) ? "NaN" : d < 0 ? "-Infinity" : "Infinity");
    } else {
        (void)snprintf(text, sizeof(text), verb == 'e' ? "%.*e" : "%.*f", digits, d);
        buf_c(&f->b, text);
    }
}

/* Digits of a number in a base that is a power of two. */
static void put_base(struct formatter *f, struct cel_value v, unsigned shift, const char *digits) {
    char text[66];
    size_t at = sizeof(text);
    uint64_t u = v.type == CEL_V_BOOL ? v.b : v.type == CEL_V_INT && v.i < 0 ? 0 - v.u : v.u;
    do {
        text[--at] = digits[u & ((1U << shift) - 1)];
        u >>= shift;
    } while (u != 0);
    if (v.type == CEL_V_INT && v.i < 0) {
        text[--at] = '-';
    }
    buf_str(&f->b, str_from(text + at, sizeof(text) - at));
}

static void put_hex(struct formatter *f, struct cel_value v, bool upper) {
    const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
    if (v.type == CEL_V_INT || v.type == CEL_V_UINT) {
        put_base(f, v, 4, digits);
    } else if (v.type == CEL_V_STRING || v.type == CEL_V_BYTES) {
        for (size_t i = 0; i < v.s.n && cel_spend(f->r, i % 16 == 0); i++) {
            buf_ch(&f->b, digits[(unsigned char)v.s.p[i] >> 4]);
            buf_ch(&f->b, digits[(unsigned char)v.s.p[i] & 15]);
        }
    } else {
        f->fault = "only integers, byte buffers, and strings can be formatted as hex";
    }
}

static void put_verb(struct formatter *f, char verb, int digits, struct cel_value v) {
    bool whole = v.type == CEL_V_INT || v.type == CEL_V_UINT;
    switch (verb) {
    case 's':
        put(f, v);
        return;
    case 'd':
        put_decimal(f, v);
        return;
    case 'f':
    case 'e':
        put_fixed(f, v, verb, digits);
        return;
    case 'b':
        if (whole || v.type == CEL_V_BOOL) {
            put_base(f, v, 1, "01");
            return;
        }
        f->fault = "only integers and bools can be formatted as binary";
        return;
    case 'o':
        if (whole) {
            put_base(f, v, 3, "01234567");
            return;
        }
        f->fault = "octal clause can only be used on integers";
        return;
    case 'x':
    case 'X':
        put_hex(f, v, verb == 'X');
        return;
    default:
        f->fault = "unrecognized formatting clause";
    }
}

/* ".3" behind a percent sign; 6 without one. */
static int precision(struct str s, size_t *i) {
    int digits = 0;
    if (*i >= s.n || s.p[*i] != '.') {
        return 6;
    }
    for (++*i; *i < s.n && s.p[*i] >= '0' && s.p[*i] <= '9'; ++*i) {
        digits = digits < 1000 ? digits * 10 + (s.p[*i] - '0') : digits;
    }
    return digits;
}

CEL_CALL(call_format) {
    (void)e;
    (void)n;
    struct formatter f = {.r = r};
    struct cel_cursor c = cel_walk(v[1]);
    struct cel_value k, x;
    struct str s = v[0].s;
    buf_init(&f.b, LIMIT_OBJECT_BYTES);
    for (size_t i = 0; i < s.n && f.fault == NULL && cel_spend(r, i % 16 == 0); i++) {
        if (s.p[i] != '%') {
            buf_ch(&f.b, s.p[i]);
            continue;
        }
        i++;
        int digits = precision(s, &i);
        if (i >= s.n) {
            f.fault = "unexpected end of string";
        } else if (s.p[i] == '%') {
            buf_ch(&f.b, '%');
        } else if (digits > 300) {
            f.fault = "the precision is too large";
        } else if (!cel_next(&c, &k, &x)) {
            f.fault = "index out of range";
        } else {
            put_verb(&f, s.p[i], digits, x);
        }
    }
    bool good = f.fault == NULL && buf_ok(&f.b) == 0 && cel_spend(r, 0);
    struct str out = good ? arena_str(r->in->arena, buf_view(&f.b)) : (struct str){0};
    buf_release(&f.b);
    return out.p != NULL ? cel_str(out)
                         : cel_error(r, "error during formatting: %s",
                                     f.fault != NULL ? f.fault : "too long");
}

CEL_CALL(call_quote) {
    (void)e;
    (void)n;
    static const char plain[] = "\a\b\f\n\r\t\v\\\"", names[] = "abfnrtv\\\"";
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_ch(&b, '"');
    for (size_t i = 0; i < v[0].s.n && cel_spend(r, i % 16 == 0); i++) {
        const char *at = v[0].s.p[i] != '\0' ? strchr(plain, v[0].s.p[i]) : NULL;
        if (at != NULL) {
            buf_ch(&b, '\\');
        }
        buf_ch(&b, at != NULL ? names[at - plain] : v[0].s.p[i]);
    }
    buf_ch(&b, '"');
    struct str out = buf_ok(&b) == 0 ? arena_str(r->in->arena, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return out.p != NULL ? cel_str(out) : cel_error(r, "too long");
}

/* A member's name as part of a JSON pointer. */
CEL_CALL(call_escape_key) {
    (void)e;
    (void)n;
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    for (size_t i = 0; i < v[0].s.n && cel_spend(r, i % 16 == 0); i++) {
        char ch = v[0].s.p[i];
        buf_str(&b, ch == '~' ? STR("~0") : ch == '/' ? STR("~1") : str_from(&ch, 1));
    }
    struct str out = buf_ok(&b) == 0 ? arena_str(r->in->arena, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return out.p != NULL ? cel_str(out) : cel_error(r, "too long");
}

static const struct cel_function functions[] = {
    {"format", true, "s[*]>s", call_format},
    {"strings.quote", false, "s>s", call_quote},
    {"jsonpatch.escapeKey", false, "s>s", call_escape_key},
};
CEL_FUNCTIONS(cel_format_functions, functions);
