/*
 * virtual_items: what a computed answer has, and what of it has changed since when.
 *
 *     struct virtual_items t = {.max = bytes};
 *     virtual_items_set(&t, json, &err);        an object, or a list of them; empty: nothing is there
 *     for each item: one that changed after version `seen` is news to whoever has seen that
 *     virtual_items_forget(&t, seen);           everybody has seen this: what is gone before need not be kept
 *     virtual_items_release(&t);
 *
 * Two answers are the same when their bytes are, but for the members "computed" and "status.computed" (when it was
 * made).
 */
#ifndef BERTH_PORT_VIRTUAL_ITEMS_H
#define BERTH_PORT_VIRTUAL_ITEMS_H

#include "base/err.h"
#include "base/map.h"

struct virtual_item {
    struct str text;               /* JSON, owned */
    uint64_t hash;                 /* of what counts of it */
    uint64_t added, changed, gone; /* versions; gone 0: it is there */
    uint64_t first;                /* that had it: who has not seen that never heard of it */
    uint64_t seen;                 /* the last answer that had it */
    size_t n_key;
    char key[]; /* "NAMESPACE/NAME" */
};

struct virtual_items {
    size_t max; /* bytes of all texts */
    size_t bytes;
    uint64_t version; /* of the last answer that was another; 0: there was none */
    uint64_t answers; /* how many there were */
    struct map map;   /* key -> struct virtual_item, in order of appearance */
};

/* ERR_TOO_LARGE, ERR_NOMEM, ERR_SYNTAX, ...: then it must be released. */
int virtual_items_set(struct virtual_items *t, struct str json, struct err *err);
void virtual_items_forget(struct virtual_items *t, uint64_t seen);
void virtual_items_release(struct virtual_items *t);

#endif
