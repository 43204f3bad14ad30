/* near: how many letters two names differ by (Levenshtein's distance). See near.h. */
#include "cli/kit/near.h"

#include <limits.h>
#include <string.h>

static unsigned lower(char c) {
    return c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A' + 'a') : (unsigned char)c;
}

static unsigned least(unsigned a, unsigned b, unsigned c) {
    a = b < a ? b : a;
    return c < a ? c : a;
}

/* Both at most NEAR_LENGTH long. */
static unsigned distance(struct str a, struct str b) {
    unsigned row[NEAR_LENGTH + 1];
    for (size_t k = 0; k <= b.n; k++) {
        row[k] = (unsigned)k;
    }
    for (size_t i = 0; i < a.n; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t k = 0; k < b.n; k++) {
            unsigned above = row[k + 1];
            row[k + 1] = least(above + 1, row[k] + 1, diagonal + (lower(a.p[i]) != lower(b.p[k])));
            diagonal = above;
        }
    }
    return row[b.n];
}

/* 0: nothing is nearer; UINT_MAX: not near. */
static unsigned farness(struct str want, struct str name) {
    bool begins = want.n > 0 && name.n > 0 && (str_starts(name, want) || str_starts(want, name));
    if (want.n > NEAR_LENGTH || name.n > NEAR_LENGTH) {
        return begins ? 1 : UINT_MAX;
    }
    unsigned d = distance(want, name);
    return d == 0 ? 0 : begins ? 1 : d <= (want.n + 1) / 3 ? d : UINT_MAX;
}

size_t near_names(struct str want, const struct str *names, size_t n, struct str ret[NEAR_MOST]) {
    unsigned far[NEAR_MOST];
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned d = farness(want, names[i]);
        bool there = d == UINT_MAX;
        size_t at = 0;
        for (size_t k = 0; k < found; k++) {
            there = there || str_eq(ret[k], names[i]);
            at += far[k] <= d;
        }
        if (there || at == NEAR_MOST) {
            continue;
        }
        found += found < NEAR_MOST;
        memmove(&ret[at + 1], &ret[at], (found - at - 1) * sizeof(*ret));
        memmove(&far[at + 1], &far[at], (found - at - 1) * sizeof(*far));
        ret[at] = names[i];
        far[at] = d;
    }
    return found;
}
