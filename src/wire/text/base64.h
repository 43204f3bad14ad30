/* base64: RFC 4648, the standard alphabet with padding (Secrets) and the URL one without (tokens, keys). */
#ifndef BERTH_WIRE_BASE64_H
#define BERTH_WIRE_BASE64_H

#include "base/arena.h"
#include "base/buf.h"

void base64_encode(struct buf *b, struct str bytes);    /* standard, padded */
void base64url_encode(struct buf *b, struct str bytes); /* URL-safe, not padded */
/* Into the arena: {NULL, 0} when malformed or out of memory (arena_ok tells). Line breaks are skipped in the standard
 * form only; bits that would be lost must be zero. An empty text gives an empty view that is not NULL. */
struct str base64_decode(struct arena *a, struct str text);
struct str base64url_decode(struct arena *a, struct str text);

#endif
