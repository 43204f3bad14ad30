/*
 * mem: the one door to the heap.
 *
 * Every allocation of Berth goes through here, so that a test can fail the Nth one. Each function may return NULL; the
 * caller handles it (ERR_NOMEM). Sizes of arrays are checked for overflow. Not for arenas' users: see arena.h.
 */
#ifndef BERTH_BASE_MEM_H
#define BERTH_BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

void *mem_alloc(size_t n); /* bytes are not cleared; n == 0 gives a unique pointer */
void *mem_zalloc(size_t n);
void *mem_array(size_t count, size_t size); /* cleared; NULL on overflow */
void *mem_realloc(void *p, size_t n);       /* on failure p is still valid */
void mem_free(void *p);                     /* NULL is a no-op */
void mem_free_secret(void *p, size_t n); /* clears the n bytes first; what tokens and keys lie in */
char *mem_cstr(struct str s);            /* a NUL-terminated copy */

/* Fault injection, for tests: fail the `nth` allocation from now (1 = next) of this thread, once, or from then on when
 * `forever`. nth == 0 turns it off. mem_fault_hit() says whether a failure was delivered since. */
void mem_fault(uint64_t nth, int forever);
int mem_fault_hit(void);

/* Scope cleanup: `_cleanup_free_ char *p = mem_cstr(s);` frees p on every way out; TAKE(p) hands it over. */
static inline void mem_freep(void *pp) {
    mem_free(*(void **)pp);
}
#define _cleanup_(f) __attribute__((cleanup(f)))
#define _cleanup_free_ _cleanup_(mem_freep)
#define TAKE(p)                                                                                    \
    ({                                                                                             \
        __typeof__(p) _taken = (p);                                                                \
        (p) = NULL;                                                                                \
        _taken;                                                                                    \
    })

#endif
