/*
 * regex: regular expressions in the syntax that Go and RE2 read, matched in linear time.
 *
 * Schemas of other people and their rules hold patterns, so a pattern must not be able to run away: it is compiled to a
 * small program whose threads go over the text together, once; there is no backtracking. Text is UTF-8; a byte that is
 * none counts as one unknown character.
 *
 * Understood: literals, ., classes with ranges, \d \w \s and their opposites, [[:alpha:]], ^ $ \A \z \b \B, groups
 * (captured or not, named), | * + ? {n,m} and their lazy forms, the flags i m s U, \Q..\E, \x{..}, octal escapes.
 * Categories of Unicode (\pL, \p{Lu}, \P{N}). Letters fold in ASCII only. Not understood: scripts (\p{Greek}), \C.
 */
#ifndef BERTH_WIRE_REGEX_H
#define BERTH_WIRE_REGEX_H

#include "base/arena.h"
#include "base/err.h"

struct regex;

/* Everything of it is in the arena, which is charged. ERR_SYNTAX: no regular expression; ERR_UNSUPPORTED: one that we
 * do not understand; ERR_TOO_LARGE: beyond LIMIT_REGEX_*; ERR_NOMEM. */
int regex_new(struct arena *a, struct str pattern, struct regex **ret, struct err *err);

/* Whether any part of the text matches: 1, 0, ERR_NOMEM, or ERR_TOO_LARGE when it takes more than *steps, from which
 * what it took is taken off; with none left, at once. */
int regex_matches(const struct regex *re, struct str text, size_t *steps);
/* The same, and where: the leftmost match at or behind `from`, as a backtracking matcher would choose it. */
int regex_find(const struct regex *re, struct str text, size_t from, size_t *steps,
               size_t *ret_start, size_t *ret_end);

#endif
