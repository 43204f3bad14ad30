/* names (server): what the server makes up: uids (UUIDv4) and the random end of generateName. */
#ifndef BERTH_SERVER_NAMES_H
#define BERTH_SERVER_NAMES_H

#include "base/err.h"
#include "base/str.h"

struct server;

enum { UID_TEXT_MAX = 37, NAME_SUFFIX = 5, NAME_BASE_MAX = 58 };

/* Random bytes from a pool that is filled from the system's generator. ERR_IO. */
int names_random(struct server *s, void *p, size_t n, struct err *err);
/* "0f8c3a2e-....", NUL-terminated. */
int names_uid(struct server *s, char out[static UID_TEXT_MAX], struct err *err);
/* base (cut to NAME_BASE_MAX) and five letters without vowels and look-alikes, into out. */
int names_generate(struct server *s, struct str base,
                   char out[static NAME_BASE_MAX + NAME_SUFFIX + 1], struct err *err);

#endif
