/*
 * arena: memory for one request, tick or document, freed at once.
 *
 * Nothing in an arena is freed alone. It has a limit in bytes; the first failure (limit or no memory) sticks and shows
 * in arena_ok(), and each failing call returns NULL. arena_reset keeps the first block for the next round. Under ASan
 * freed bytes are poisoned. Memory is aligned for any object and NOT cleared, except by arena_zalloc and ARENA_NEW.
 *
 * It may have an allowance of steps, too, for the request or turn that it belongs to: whoever loops over what a guest
 * made charges it, and ends the loop when it is spent. A step is about as long as comparing two short texts: 5 ns.
 * Spent, it still gives memory, so that an error can be told; arena_spent() says so until the reset.
 */
#ifndef BERTH_BASE_ARENA_H
#define BERTH_BASE_ARENA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used, max;           /* bytes of blocks held, and their limit */
    int failed;                 /* 0 or ERR_NOMEM, sticky until reset */
    bool full;                  /* it failed at its limit */
    uint64_t steps, steps_max;  /* charged; and allowed, 0: any number */
};

void arena_init(struct arena *a, size_t max_bytes);
void arena_release(struct arena *a);
void arena_release_secret(struct arena *a); /* clears what was in it first */
void arena_reset(struct arena *a);
int arena_ok(const struct arena *a); /* 0 or ERR_NOMEM */

/* The failure was the limit's: there was memory. */
static inline bool arena_full(const struct arena *a) {
    return a->full;
}

/* From now on, and after each reset, this many steps may be charged; 0: any number. */
static inline void arena_allow(struct arena *a, uint64_t steps) {
    a->steps_max = steps;
}

static inline bool arena_spent(const struct arena *a) {
    return a->steps_max != 0 && a->steps > a->steps_max;
}

/* Charges n steps. False: the allowance is spent, and the work ends here. */
static inline bool arena_charge(struct arena *a, uint64_t n) {
    a->steps += n < UINT64_MAX - a->steps ? n : UINT64_MAX - a->steps;
    return !arena_spent(a);
}

void *arena_alloc(struct arena *a, size_t n);
void *arena_zalloc(struct arena *a, size_t n);
void *arena_array(struct arena *a, size_t count, size_t size); /* cleared, overflow-checked */
struct str arena_str(struct arena *a, struct str s); /* a copy; NUL follows; {NULL,0} on failure */
struct str arena_f(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, count) ((type *)arena_array((a), (count), sizeof(type)))

/* A full array of *cap elements becomes one of twice as many, at least 8, with the same contents; the old one stays in
 * the arena. 0, or ERR_NOMEM with nothing changed. Use: if (x->n == x->cap && ARENA_GROW(a, x->v, x->cap) != 0) ... */
int arena_grow(struct arena *a, void **v, size_t *cap, size_t size);
#define ARENA_GROW(a, v, cap) arena_grow((a), (void **)&(v), &(cap), sizeof(*(v)))

#endif
