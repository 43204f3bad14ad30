/*
 * go_float: what strtod takes, less what Go does not.
 */
#include "core/scale/go_float.h"

#include <math.h>
#include <stdlib.h>

static bool is_digit(char c, bool hex) {
    return (c >= '0' && c <= '9') || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

static bool is_word(struct str s, double *ret) {
    bool minus = str_starts(s, STR("-"));
    struct str rest = minus || str_starts(s, STR("+")) ? str_skip(s, 1) : s;
    if (str_eq_nocase(rest, STR("inf")) || str_eq_nocase(rest, STR("infinity"))) {
        *ret = minus ? -INFINITY : INFINITY;
        return true;
    }
    if (str_eq_nocase(s, STR("nan"))) {
        *ret = NAN;
        return true;
    }
    return false;
}

bool go_float(struct str text, double *ret) {
    char copy[512], *end;
    size_t n = 0, at = text.n > 0 && (text.p[0] == '-' || text.p[0] == '+');
    bool hex =
        text.n > at + 1 && text.p[at] == '0' && (text.p[at + 1] == 'x' || text.p[at + 1] == 'X');
    bool exponent = false;
    if (is_word(text, ret)) {
        return true;
    }
    if (text.n == at || text.n >= sizeof(copy)) {
        return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool between = i > 0 && i + 1 < text.n && is_digit(text.p[i + 1], hex) &&
                       (is_digit(text.p[i - 1], hex) || (hex && i == at + 2));
        if (c == '_' && !between) {
            return false;
        }
        exponent = exponent || c == 'p' || c == 'P';
        if (c != '_' && !is_digit(c, hex) && memchr("+-.eExXpP", c, 9) == NULL) {
            return false;
        }
        copy[n] = c;
        n += c != '_';
    }
    copy[n] = '\0';
    *ret = strtod(copy, &end);
    return end != copy && *end == '\0' && isfinite(*ret) && (!hex || exponent);
}
