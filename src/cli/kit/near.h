/*
 * near: suggests the known names nearest to a mistyped one. Pure.
 *
 * A name is near when it is the same but for case, begins with what was written or the other way round, or when at most
 * a third of the letters differ, are missing or are too many. Names longer than NEAR_LENGTH are near by their beginning
 * alone.
 */
#ifndef BERTH_CLI_NEAR_H
#define BERTH_CLI_NEAR_H

#include "base/str.h"

enum { NEAR_MOST = 3, NEAR_LENGTH = 64 };

/* The nearest of `names`, each once: nearest first, else in their order. How many. */
size_t near_names(struct str want, const struct str *names, size_t n, struct str ret[NEAR_MOST]);

#endif
