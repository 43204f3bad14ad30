/*
 * vec: typed growing arrays, by macro over one generic function.
 *
 *     VEC(int_vec, int);            declares struct int_vec {int *v; size_t n, cap;} and
 *     int_vec_push(&x, 7)           0, or ERR_NOMEM with x unchanged
 *     int_vec_room(&x, 100)         room for 100 more
 *     int_vec_remove(&x, i)         keeps order; int_vec_swap_remove(&x, i) does not
 *     int_vec_release(&x)           frees and clears
 *
 * A zeroed struct is an empty vec. Elements are plain values; the vec owns only the array.
 */
#ifndef BERTH_BASE_VEC_H
#define BERTH_BASE_VEC_H

#include <stddef.h>
#include <string.h>

#include "base/mem.h"

/* Grows *p so that it holds n + more elements of `size`; 0, or ERR_NOMEM with nothing changed. */
int vec_grow(void **p, size_t *cap, size_t n, size_t more, size_t size);

#define VEC(name, type)                                                                            \
    struct name {                                                                                  \
        type *v;                                                                                   \
        size_t n, cap;                                                                             \
    };                                                                                             \
    __attribute__((unused)) static inline int name##_room(struct name *x, size_t k) {              \
        return vec_grow((void **)&x->v, &x->cap, x->n, k, sizeof(type));                           \
    }                                                                                              \
    __attribute__((unused)) static inline int name##_push(struct name *x, type e) {                \
        int r = name##_room(x, 1);                                                                 \
        if (r == 0) {                                                                              \
            x->v[x->n++] = e;                                                                      \
        }                                                                                          \
        return r;                                                                                  \
    }                                                                                              \
    __attribute__((unused)) static inline void name##_remove(struct name *x, size_t i) {           \
        memmove(&x->v[i], &x->v[i + 1], (x->n - i - 1) * sizeof(type));                            \
        x->n--;                                                                                    \
    }                                                                                              \
    __attribute__((unused)) static inline void name##_swap_remove(struct name *x, size_t i) {      \
        x->v[i] = x->v[--x->n];                                                                    \
    }                                                                                              \
    __attribute__((unused)) static inline void name##_release(struct name *x) {                    \
        mem_free(x->v);                                                                            \
        *x = (struct name){0};                                                                     \
    }                                                                                              \
    struct name

#endif
