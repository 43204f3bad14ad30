/* wildcard: see wildcard.h. */
#include "core/model/wildcard.h"

static char folded(const struct wildcard *w, char c) {
    return w->fold && c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

bool wildcard_matches(const struct wildcard *w, struct str pattern, struct str s) {
    size_t p = 0, i = 0, last = SIZE_MAX, from = 0;
    while (i < s.n) {
        char c = p < pattern.n ? pattern.p[p] : '\0';
        if (p < pattern.n && c == w->many) {
            last = p++;
            from = i;
        } else if (p < pattern.n &&
                   ((w->one && c == w->one) || folded(w, c) == folded(w, s.p[i]))) {
            p++;
            i++;
        } else if (last != SIZE_MAX) {
            p = last + 1;
            i = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.n && pattern.p[p] == w->many) {
        p++;
    }
    return p == pattern.n;
}
