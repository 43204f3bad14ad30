/*
 * quantity: Kubernetes' resource amounts. See quantity.h.
 *
 * Text is read in one pass: sign, digits, optional point and digits, suffix. The amount is computed in billionths in
 * 128 bits, which hold the whole range (94 bits) and every intermediate product; digits finer than a billionth only
 * leave a mark that rounds away from zero.
 */
#include "wire/text/quantity.h"

#include <stdio.h>

typedef __int128 i128;
typedef unsigned __int128 u128;

#define NANO INT64_C(1000000000)
#define MAX_NANO ((u128)INT64_MAX * (u128)NANO)

static const struct suffix {
    const char *text;
    uint8_t format;
    int8_t exponent; /* of ten, or of two */
} suffixes[] = {
    {"", QUANTITY_DECIMAL, 0},   {"n", QUANTITY_DECIMAL, -9}, {"u", QUANTITY_DECIMAL, -6},
    {"m", QUANTITY_DECIMAL, -3}, {"k", QUANTITY_DECIMAL, 3},  {"M", QUANTITY_DECIMAL, 6},
    {"G", QUANTITY_DECIMAL, 9},  {"T", QUANTITY_DECIMAL, 12}, {"P", QUANTITY_DECIMAL, 15},
    {"E", QUANTITY_DECIMAL, 18}, {"Ki", QUANTITY_BINARY, 10}, {"Mi", QUANTITY_BINARY, 20},
    {"Gi", QUANTITY_BINARY, 30}, {"Ti", QUANTITY_BINARY, 40}, {"Pi", QUANTITY_BINARY, 50},
    {"Ei", QUANTITY_BINARY, 60},
};

static const char *suffix_text(uint8_t format, int exponent) {
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (suffixes[i].format == format && suffixes[i].exponent == exponent) {
            return suffixes[i].text;
        }
    }
    return "";
}

static i128 nanos(struct quantity q) {
    return (i128)q.whole * NANO + q.nano;
}

static struct quantity from_nanos(i128 v, uint8_t format) {
    i128 whole = v / NANO - (v % NANO < 0);
    return (struct quantity){(int64_t)whole, (int32_t)(v - whole * NANO), format};
}

/* ---- reading ---- */

struct parts {
    bool negative;
    struct str whole, frac; /* digits */
    struct str suffix;
};

static struct str take_digits(struct str *s) {
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9') {
        n++;
    }
    struct str got = str_head(*s, n);
    *s = str_skip(*s, n);
    return got;
}

/* Like Kubernetes, this lets a point stand without digits on either side. */
static bool split(struct str s, struct parts *ret) {
    if (s.n == 0) {
        return false;
    }
    struct parts p = {.negative = s.p[0] == '-'};
    if (s.p[0] == '-' || s.p[0] == '+') {
        s = str_skip(s, 1);
    }
    p.whole = take_digits(&s);
    if (s.n && s.p[0] == '.') {
        s = str_skip(s, 1);
        p.frac = take_digits(&s);
    }
    p.suffix = s;
    while (s.n && str_find(STR("eEinumkKMGTP"), s.p[0]) >= 0) {
        s = str_skip(s, 1);
    }
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) {
        s = str_skip(s, 1);
    }
    take_digits(&s);
    *ret = p;
    return s.n == 0;
}

static bool interpret(struct str suffix, uint8_t *ret_format, int *ret_exponent) {
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (str_is(suffix, suffixes[i].text)) {
            *ret_format = suffixes[i].format;
            *ret_exponent = suffixes[i].exponent;
            return true;
        }
    }
    if (suffix.n < 2 || (suffix.p[0] != 'e' && suffix.p[0] != 'E')) {
        return false;
    }
    struct str digits = str_skip(suffix, suffix.p[1] == '+' ? 2 : 1);
    int64_t e;
    if (!str_to_i64(digits, &e)) {
        return false;
    }
    /* Beyond these a value is 0, the smallest or the largest amount anyhow. */
    *ret_exponent = e > 1000000 ? 1000000 : e < -1000000 ? -1000000 : (int)e;
    *ret_format = QUANTITY_EXPONENT;
    return true;
}

static u128 capped_mul_add(u128 v, u128 by, u128 plus) {
    u128 r;
    if (__builtin_mul_overflow(v, by, &r) || __builtin_add_overflow(r, plus, &r)) {
        return MAX_NANO;
    }
    return r > MAX_NANO ? MAX_NANO : r;
}

/* whole.frac times 10^exponent in billionths. Digit i stands for 10^(whole.n - 1 - i + exponent + 9) of them. */
static u128 decimal_nanos(const struct parts *p, int exponent) {
    ptrdiff_t weight = (ptrdiff_t)p->whole.n + exponent + 9;
    u128 v = 0;
    bool rest = false;
    for (size_t i = 0; i < p->whole.n + p->frac.n; i++) {
        char c = i < p->whole.n ? p->whole.p[i] : p->frac.p[i - p->whole.n];
        if (--weight < 0) {
            rest = rest || c != '0';
        } else {
            v = capped_mul_add(v, 10, (u128)(c - '0'));
        }
    }
    for (; weight > 0 && v > 0 && v < MAX_NANO; weight--) {
        v = capped_mul_add(v, 10, 0);
    }
    return capped_mul_add(v, 1, rest);
}

/* whole.frac times 2^exponent in billionths. The fraction is summed from its last digit: dividing by ten at each step
 * loses only what is below one billionth, and whether anything was lost. */
static u128 binary_nanos(const struct parts *p, int exponent) {
    u128 unit = (u128)NANO << exponent, whole = 0, frac = 0;
    bool rest = false;
    for (size_t i = 0; i < p->whole.n; i++) {
        whole = capped_mul_add(whole, 10, (u128)(p->whole.p[i] - '0'));
    }
    for (size_t i = p->frac.n; i > 0; i--) {
        u128 t = (u128)(p->frac.p[i - 1] - '0') * unit + frac;
        rest = rest || t % 10 != 0;
        frac = t / 10;
    }
    return capped_mul_add(whole, unit, frac + rest);
}

int quantity_parse(struct str text, struct quantity *ret, struct err *err) {
    struct parts p;
    uint8_t format;
    int exponent;
    if (!split(text, &p)) {
        return err_set(err, ERR_SYNTAX,
                       "quantities must match the regular expression "
                       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    }
    if (!interpret(p.suffix, &format, &exponent)) {
        return err_set(err, ERR_SYNTAX, "unable to parse quantity's suffix");
    }
    bool binary = format == QUANTITY_BINARY;
    u128 v = binary ? binary_nanos(&p, exponent) : decimal_nanos(&p, exponent);
    if (binary && v > 0 && v < (u128)NANO) {
        format = QUANTITY_DECIMAL;
    }
    *ret = from_nanos(p.negative ? -(i128)v : (i128)v, format);
    return 0;
}

/* ---- writing ---- */

static int print_u128(char *out, size_t cap, u128 v) {
    const uint64_t part = UINT64_C(1000000000000000000);
    unsigned long long low = (unsigned long long)(v % part), high = (unsigned long long)(v / part);
    return high ? snprintf(out, cap, "%llu%018llu", high, low) : snprintf(out, cap, "%llu", low);
}

struct str quantity_text(struct quantity q, char out[static QUANTITY_TEXT_MAX]) {
    const size_t cap = QUANTITY_TEXT_MAX;
    i128 v = nanos(q);
    u128 m = v < 0 ? (u128)-v : (u128)v;
    bool binary = q.format == QUANTITY_BINARY && q.nano == 0 && m >= (u128)NANO * 1024;
    int exponent = binary ? 0 : -9;
    if (m == 0) {
        return str_from(out, (size_t)snprintf(out, cap, "0"));
    }
    if (binary) {
        for (m /= NANO; m % 1024 == 0 && exponent < 60; exponent += 10) {
            m /= 1024;
        }
    } else {
        for (; m % 1000 == 0 && exponent < 18; exponent += 3) {
            m /= 1000;
        }
    }
    int n = snprintf(out, cap, "%s", v < 0 ? "-" : "");
    n += print_u128(out + n, cap - (size_t)n, m);
    if (q.format == QUANTITY_EXPONENT) {
        n += exponent ? snprintf(out + n, cap - (size_t)n, "e%d", exponent) : 0;
    } else {
        uint8_t format = binary ? QUANTITY_BINARY : QUANTITY_DECIMAL;
        n += snprintf(out + n, cap - (size_t)n, "%s",
                      binary && exponent == 0 ? "" : suffix_text(format, exponent));
    }
    return str_from(out, (size_t)n);
}

void quantity_write(struct buf *b, struct quantity q) {
    char out[QUANTITY_TEXT_MAX];
    buf_str(b, quantity_text(q, out));
}

/* ---- arithmetic ---- */

struct quantity quantity_of(int64_t units, enum quantity_format format) {
    return (struct quantity){units == INT64_MIN ? -INT64_MAX : units, 0, (uint8_t)format};
}

struct quantity quantity_of_milli(int64_t milli, enum quantity_format format) {
    return from_nanos((i128)milli * 1000000, (uint8_t)format);
}

int quantity_sign(struct quantity q) {
    return q.whole < 0 ? -1 : !quantity_is_zero(q);
}

int quantity_cmp(struct quantity a, struct quantity b) {
    if (a.whole != b.whole) {
        return a.whole < b.whole ? -1 : 1;
    }
    return (a.nano > b.nano) - (a.nano < b.nano);
}

static int store(struct quantity *q, i128 v, uint8_t format) {
    if (v > (i128)MAX_NANO || v < -(i128)MAX_NANO) {
        return ERR_RANGE;
    }
    *q = from_nanos(v, format);
    return 0;
}

int quantity_add(struct quantity *q, struct quantity y) {
    return store(q, nanos(*q) + nanos(y), quantity_is_zero(*q) ? y.format : q->format);
}

int quantity_sub(struct quantity *q, struct quantity y) {
    return store(q, nanos(*q) - nanos(y), quantity_is_zero(*q) ? y.format : q->format);
}

/* v / by, away from zero, saturated. */
static int64_t ceil_div(i128 v, int64_t by) {
    i128 r = v / by;
    r += v % by > 0;
    r -= v % by < 0;
    return r > INT64_MAX ? INT64_MAX : r < INT64_MIN ? INT64_MIN : (int64_t)r;
}

int64_t quantity_value(struct quantity q) {
    return ceil_div(nanos(q), NANO);
}

int64_t quantity_milli(struct quantity q) {
    return ceil_div(nanos(q), NANO / 1000);
}
