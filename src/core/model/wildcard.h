/* wildcard: texts with wildcards, as catalogs and their filters write them. */
#ifndef BERTH_CORE_WILDCARD_H
#define BERTH_CORE_WILDCARD_H

#include "base/str.h"

struct wildcard {
    char many; /* stands for any run of bytes, none as well */
    char one;  /* stands for one byte; '\0': nothing does */
    bool fold; /* letters of ASCII match in either case */
};

/* Whether all of s is what the pattern stands for. It goes back to the last `many` alone, so it takes at most
 * |pattern| * |s| steps. */
bool wildcard_matches(const struct wildcard *w, struct str pattern, struct str s);

#endif
