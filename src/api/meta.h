/*
 * meta: labels, annotations and finalizers of decoded metadata, looked up and changed.
 *
 * What is changed is copied into the arena first, so metadata that were copied by value (`struct meta want = *was`) may
 * share everything else with what they came from. Maps are bounded where objects are written (LIMIT_OBJECT_BYTES).
 */
#ifndef BERTH_API_META_H
#define BERTH_API_META_H

#include "api/tables/view_meta.h"
#include "base/arena.h"

/* The value under a key, empty when there is none; m may be NULL. */
struct str meta_value(const struct str_map *m, struct str key);
struct str meta_annotation(const struct meta *m, const char *key); /* m may be NULL */
struct str meta_label(const struct meta *m, const char *key);
bool meta_has_finalizer(const struct meta *m, const char *finalizer);

/* Sets a key of m->annotations or m->labels, or removes it (value.p NULL). 0 or ERR_NOMEM. */
int meta_set(struct str_map *m, struct arena *a, const char *key, struct str value);
/* An owner reference at the end of the list. 0 or ERR_NOMEM. */
int meta_add_owner(struct meta *m, struct arena *a, const struct owner_reference *owner);
/* Nothing happens when it is there already, or not there. 0 or ERR_NOMEM. */
int meta_add_finalizer(struct meta *m, struct arena *a, const char *finalizer);
int meta_remove_finalizer(struct meta *m, struct arena *a, const char *finalizer);

#endif
