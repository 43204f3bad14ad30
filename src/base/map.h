/*
 * map: strings to pointers, by hash; iterated in the order of insertion.
 *
 * Keys are views that the user keeps alive while they are in the map (usually they lie in the value). Values are
 * non-NULL and not owned. Iteration order depends on the calls alone, never on the hash, so a deterministic user stays
 * deterministic; the hash is seeded once per process (map_set_seed) against crafted keys.
 */
#ifndef BERTH_BASE_MAP_H
#define BERTH_BASE_MAP_H

#include "base/str.h"

struct map_entry {
    struct str key;
    void *value; /* NULL: a hole left by map_del */
    uint64_t hash;
};

struct map {
    struct map_entry *entries; /* in order of insertion, with holes */
    uint32_t *slots;           /* entry index + 1; 0 free */
    size_t n;                  /* live entries */
    size_t used, cap;          /* entries used, holes included, and room */
    size_t slot_mask;
};

void map_set_seed(uint64_t seed); /* before the first map is filled */

void map_init(struct map *m); /* the same as zeroing */
void map_release(struct map *m);
void map_clear(struct map *m);

void *map_get(const struct map *m, struct str key); /* NULL when absent */
/* Adds or replaces (then the new key view is kept); *ret_old, when not NULL, gets the replaced value or NULL.
 * 0 or ERR_NOMEM with nothing changed. */
int map_put(struct map *m, struct str key, void *value, void **ret_old);
void *map_del(struct map *m, struct str key); /* the removed value or NULL */
size_t map_count(const struct map *m);

/* for (size_t i = 0; (e = map_next(m, &i)); ) ...   Removing the current entry while iterating is allowed. */
const struct map_entry *map_next(const struct map *m, size_t *pos);

#endif
