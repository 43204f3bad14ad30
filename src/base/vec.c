/* vec: the generic part of typed arrays. See vec.h. */
#include "base/vec.h"

#include "base/err.h"

int vec_grow(void **p, size_t *cap, size_t n, size_t more, size_t size) {
    size_t need, bytes;
    if (__builtin_add_overflow(n, more, &need)) {
        return ERR_NOMEM;
    }
    if (need <= *cap) {
        return 0;
    }
    size_t want = *cap < 4 ? 8 : *cap + *cap / 2;
    want = want < need ? need : want;
    if (__builtin_mul_overflow(want, size, &bytes)) {
        return ERR_NOMEM;
    }
    void *q = mem_realloc(*p, bytes);
    if (q == NULL) {
        return ERR_NOMEM;
    }
    *p = q;
    *cap = want;
    return 0;
}
