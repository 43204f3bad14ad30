/*
 * pset: pointers found by hash; several may share one.
 *
 * The user supplies the hash and compares what is found. Open addressing with linear probing; a removal closes the gap,
 * so there are no tombstones. Items are non-NULL and not owned.
 *
 *     for (size_t i = pset_first(&s, hash); (item = pset_next(&s, hash, &i)); ) ...
 */
#ifndef BERTH_MIRROR_PSET_H
#define BERTH_MIRROR_PSET_H

#include <stddef.h>
#include <stdint.h>

struct pset_slot {
    void *item; /* NULL: free */
    uint64_t hash;
};

struct pset {
    struct pset_slot *slots;
    size_t n, mask; /* mask + 1 slots, or none */
};

/* A zeroed pset is empty. */
void pset_release(struct pset *s);
int pset_add(struct pset *s, uint64_t hash, void *item);  /* 0 or ERR_NOMEM */
void pset_del(struct pset *s, uint64_t hash, void *item); /* which must be there */
/* Puts another item with the same hash in the place of one that must be there; never fails. */
void pset_swap(struct pset *s, uint64_t hash, const void *item, void *by);

size_t pset_first(const struct pset *s, uint64_t hash);
void *pset_next(const struct pset *s, uint64_t hash,
                size_t *pos); /* the next item with this hash, or NULL */

/* Hashes for keys: of a pointer, and of bytes on top of another hash. Seeded once per process. */
uint64_t pset_hash_ptr(const void *p);
uint64_t pset_hash(uint64_t h, const void *p, size_t n);

#endif
