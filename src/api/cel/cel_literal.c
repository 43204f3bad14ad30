/* cel_literal: strings, bytes and numbers in the text of an expression. See cel_parse_int.h. */
#include <errno.h>

#include "api/cel/cel_parse_private.h"
#include "base/limits.h"

static void put_char(struct buf *b, uint32_t c) {
    if (c < 0x80) {
        buf_ch(b, (char)c);
    } else if (c < 0x800) {
        buf_ch(b, (char)(0xC0 | c >> 6));
        buf_ch(b, (char)(0x80 | (c & 0x3F)));
    } else if (c < 0x10000) {
        buf_ch(b, (char)(0xE0 | c >> 12));
        buf_ch(b, (char)(0x80 | (c >> 6 & 0x3F)));
        buf_ch(b, (char)(0x80 | (c & 0x3F)));
    } else {
        buf_ch(b, (char)(0xF0 | (c >> 18 & 7)));
        buf_ch(b, (char)(0x80 | (c >> 12 & 0x3F)));
        buf_ch(b, (char)(0x80 | (c >> 6 & 0x3F)));
        buf_ch(b, (char)(0x80 | (c & 0x3F)));
    }
}

static int digit(char c, int base) {
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 99;
    return d < base ? d : -1;
}

static void escape_number(struct cel_parser *x, struct buf *b, int base, int digits) {
    uint32_t v = 0;
    for (int i = 0; i < digits; i++) {
        int d = x->p < x->end ? digit(*x->p, base) : -1;
        if (d < 0) {
            (void)cel_bad(x, "invalid escape in a string");
            return;
        }
        v = v * (uint32_t)base + (uint32_t)d;
        x->p++;
    }
    if (v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) {
        (void)cel_bad(x, "invalid character in a string");
        return;
    }
    put_char(b, v);
}

/* Behind the backslash. */
static void escape(struct cel_parser *x, struct buf *b) {
    static const char names[] = "abfnrtv\\'\"`?", values[] = "\a\b\f\n\r\t\v\\'\"`?";
    char c = x->p < x->end ? *x->p : '\0';
    const char *known = c != '\0' ? strchr(names, c) : NULL;
    if (known != NULL) {
        buf_ch(b, values[known - names]);
        x->p++;
    } else if (c == 'x' || c == 'X') {
        x->p++;
        escape_number(x, b, 16, 2);
    } else if (c == 'u' || c == 'U') {
        x->p++;
        escape_number(x, b, 16, c == 'u' ? 4 : 8);
    } else if (c >= '0' && c <= '3') {
        escape_number(x, b, 8, 3);
    } else {
        (void)cel_bad(x, "invalid escape in a string");
    }
}

const struct cel_expr *cel_parse_string(struct cel_parser *x, bool raw, bool bytes) {
    char quote = *x->p;
    char three[4] = {quote, quote, quote, '\0'};
    bool triple = (size_t)(x->end - x->p) >= 3 && memcmp(x->p, three, 3) == 0;
    const char *close = triple ? three : &three[2];
    struct buf b;
    buf_init(&b, LIMIT_CEL_BYTES * 4);
    x->p += strlen(close);
    while (x->code == 0) {
        if (x->p == x->end || (*x->p == '\n' && !triple)) {
            (void)cel_bad(x, "a string does not end");
        } else if ((size_t)(x->end - x->p) >= strlen(close) &&
                   memcmp(x->p, close, strlen(close)) == 0) {
            x->p += strlen(close);
            break;
        } else if (*x->p == '\\' && !raw) {
            x->p++;
            escape(x, &b);
        } else {
            buf_ch(&b, *x->p++);
        }
    }
    struct str s = arena_str(x->a, buf_view(&b));
    buf_release(&b);
    return x->code == 0 ? cel_constant(x, bytes ? (struct cel_value){.type = CEL_V_BYTES, .s = s}
                                                : cel_str(s))
                        : NULL;
}

const struct cel_expr *cel_parse_number(struct cel_parser *x) {
    char text[64];
    const char *start = x->p;
    bool hex = x->end - x->p > 2 && x->p[0] == '0' && (x->p[1] == 'x' || x->p[1] == 'X');
    bool real = false;
    x->p += hex ? 2 : 0;
    while (x->p < x->end) {
        char c = *x->p;
        bool more = x->p + 1 < x->end;
        bool dot = !hex && c == '.' && !real && more && digit(x->p[1], 10) >= 0;
        bool exponent = !hex && (c == 'e' || c == 'E') && more;
        if (digit(c, hex ? 16 : 10) >= 0) {
            x->p++;
        } else if (dot) {
            real = true;
            x->p++;
        } else if (exponent) {
            real = true;
            x->p += x->p[1] == '+' || x->p[1] == '-' ? 2 : 1;
        } else {
            break;
        }
    }
    struct str s = str_from(start, (size_t)(x->p - start));
    bool is_unsigned = x->p < x->end && (*x->p == 'u' || *x->p == 'U');
    x->p += is_unsigned;
    char *end = NULL;
    if (!str_copy(s, text, sizeof(text))) {
        return cel_bad(x, "a number is too long");
    }
    struct cel_value v = {.type = real ? CEL_V_DOUBLE : is_unsigned ? CEL_V_UINT : CEL_V_INT};
    errno = 0;
    if (real) {
        v.d = strtod(text, &end);
    } else {
        v.u = strtoull(text, &end, hex ? 16 : 10);
        /* 9223372036854775808 stands only behind a minus: parse_unary makes it the smallest. */
        if (errno != 0 || (!is_unsigned && v.u > (uint64_t)INT64_MAX + 1)) {
            return cel_bad(x, "a number is out of range");
        }
    }
    return end == NULL || *end != '\0' ? cel_bad(x, "malformed number") : cel_constant(x, v);
}
