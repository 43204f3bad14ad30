/*
 * flavors (core): ResourceFlavors by number. A flavor gets its number when a queue first names it, even before it
 * exists.
 */
#ifndef BERTH_CORE_FLAVORS_H
#define BERTH_CORE_FLAVORS_H

#include "core/place/pool.h"

struct flavor_entry {
    struct flavor_input spec;
    char *memory; /* of spec; NULL: no such flavor */
    bool named;   /* some queue names it, or did */
};
VEC(flavor_vec, struct flavor_entry);

struct flavor_table {
    struct names names;
    struct flavor_vec all; /* by number */
};

void flavors_init(struct flavor_table *f);
void flavors_release(struct flavor_table *f);
/* The number of a name, with an entry. ERR_NOMEM, ERR_TOO_MANY. */
int flavors_slot(struct flavor_table *f, struct str name, uint32_t *ret);
/* Copies the spec into the entry of number `id`; ERR_NOMEM: no change. */
int flavors_set(struct flavor_table *f, uint32_t id, const struct flavor_input *in);
void flavors_unset(struct flavor_table *f, uint32_t id);
static inline bool flavors_has(const struct flavor_table *f, uint32_t id) {
    return id < f->all.n && f->all.v[id].memory != NULL;
}

#endif
