/*
 * str: a view of bytes, by value: pointer and length.
 *
 * A view owns nothing and need not end in NUL. Whoever made the bytes says how long they live; a function that keeps a
 * view past its return says so. The empty view is {NULL, 0} or any pointer with n == 0; both compare equal.
 */
#ifndef BERTH_BASE_STR_H
#define BERTH_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};

/* A view of a string literal. */
#define STR(lit) ((struct str){("" lit), sizeof(lit) - 1})
/* For printf: printf("%.*s", STR_ARG(s)). Views longer than INT_MAX are cut. */
#define STR_ARG(s) ((s).n > 0x7fffffff ? 0x7fffffff : (int)(s).n), ((s).p ? (s).p : "")

static inline struct str str_from(const char *p, size_t n) {
    return (struct str){p, n};
}

/* A view of a NUL-terminated string; NULL gives the empty view. */
static inline struct str str_of(const char *c) {
    return (struct str){c, c ? strlen(c) : 0};
}

static inline bool str_empty(struct str s) {
    return s.n == 0;
}

static inline bool str_eq(struct str a, struct str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is(struct str a, const char *c) {
    return str_eq(a, str_of(c));
}

/* Bytewise order; a prefix sorts first. */
static inline int str_cmp(struct str a, struct str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

static inline bool str_starts(struct str s, struct str prefix) {
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

static inline bool str_ends(struct str s, struct str suffix) {
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n) == 0);
}

/* The view from byte `from` on; empty when `from` is past the end. */
static inline struct str str_skip(struct str s, size_t from) {
    return from >= s.n ? (struct str){s.p ? s.p + s.n : NULL, 0}
                       : (struct str){s.p + from, s.n - from};
}

static inline struct str str_head(struct str s, size_t n) {
    return (struct str){s.p, n < s.n ? n : s.n};
}

/* Index of the first `c`, or -1. */
ptrdiff_t str_find(struct str s, char c);
ptrdiff_t str_find_last(struct str s, char c);
bool str_contains(struct str s, struct str needle);

/* Cuts at the first `c`: true and both parts (without `c`) when found; else false, *ret_head = s, *ret_tail empty. */
bool str_cut(struct str s, char c, struct str *ret_head, struct str *ret_tail);

/* Takes the part before the next `c` (or all) off *rest; false once *rest is used up. For splitting in a loop.
 * Start with rest = the whole; "a,,b" gives "a", "", "b"; the empty view gives nothing. */
bool str_next(struct str *rest, char c, struct str *ret_part);

/* Without leading and trailing blanks (space, tab, CR, LF). */
struct str str_trim(struct str s);

bool str_eq_nocase(struct str a, struct str b); /* ASCII only */

/* Decimal, whole view, optional '-' (i64 only); false on anything else or overflow, *ret untouched. */
bool str_to_i64(struct str s, int64_t *ret);
bool str_to_u64(struct str s, uint64_t *ret);

/* 64-bit hash with a fixed seed (FNV-1a, folded): the same in every run. Not for hostile keys; see map.h. */
uint64_t str_hash(struct str s);

/* Copies with a NUL into buf of size cap; false (and an empty string) when it does not fit. */
bool str_copy(struct str s, char *buf, size_t cap);

#endif
