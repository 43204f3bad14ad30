/*
 * buf: a growing run of bytes with a limit.
 *
 * Appends never fail one by one: the first failure (no memory, or more than `max`) sticks, later appends do nothing,
 * and the user asks once with buf_ok(). The bytes are not NUL-terminated unless buf_cstr() is called. A buf is
 * embedded; buf_release frees. Take the bytes over with buf_take (free with mem_free).
 */
#ifndef BERTH_BASE_BUF_H
#define BERTH_BASE_BUF_H

#include <stdarg.h>

#include "base/str.h"

struct buf {
    char *p;
    size_t n, cap;
    size_t max; /* bytes; 0 means SIZE_MAX / 2 */
    int failed; /* 0, ERR_NOMEM or ERR_TOO_LARGE; sticky until buf_reset */
};

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b);
void buf_release_secret(
    struct buf *b); /* clears it first; what it outgrew is not reached: make room (buf_room) */
void buf_reset(struct buf *b);   /* empty again, memory kept, failure cleared */
int buf_ok(const struct buf *b); /* 0 or the sticky code */

void buf_add(struct buf *b, const void *p, size_t n);
void buf_str(struct buf *b, struct str s);
void buf_c(struct buf *b, const char *cstr);
void buf_ch(struct buf *b, char c);
void buf_u64(struct buf *b, uint64_t v);
void buf_i64(struct buf *b, int64_t v);
void buf_f(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* A JSON string, quotes included, escaped; invalid UTF-8 becomes U+FFFD. */
void buf_json(struct buf *b, struct str s);
/* Makes room for n more bytes and returns where they go (then set b->n), or NULL. */
char *buf_room(struct buf *b, size_t n);
/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);

struct str buf_view(const struct buf *b);
const char *buf_cstr(struct buf *b); /* NUL-terminated; "" after a failure */
char *buf_take(struct buf *b, size_t *ret_n);

#endif
