/*
 * names (core): strings to small numbers, and back. For flavor and resource names, so that the engine compares
 * integers.
 *
 * A name is copied once and never forgotten; there is a limit, and a lower one for guests. Numbers are given in the
 * order of the calls.
 */
#ifndef BERTH_CORE_NAMES_H
#define BERTH_CORE_NAMES_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"

enum { NAMES_MAX = 60000, NAMES_GUESTS_MAX = NAMES_MAX / 2, NAME_ABSENT = 0xffff };

struct name_entry {
    struct str text; /* in its own memory */
    uint32_t id;
};
VEC(name_vec, struct name_entry *);

struct names {
    struct map by_text;
    struct name_vec v;
};

void names_init(struct names *n);
void names_release(struct names *n);
/* The number of text, a new one when it is unknown. ERR_NOMEM, ERR_TOO_MANY. */
int names_intern(struct names *n, struct str text, uint32_t *ret);
/* For names that anybody may make up in a pod: they leave room for those of queues, flavors and nodes. */
int names_intern_guest(struct names *n, struct str text, uint32_t *ret);
uint32_t names_find(const struct names *n, struct str text); /* NAME_ABSENT when unknown */
struct str names_text(const struct names *n, uint32_t id);   /* empty when unknown */

#endif
