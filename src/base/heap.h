/*
 * heap: a binary min-heap of pointers with a comparison and a place.
 *
 * Each item may hold its own place (index + 1, 0 = not in a heap) in a size_t member, so that it can be removed or
 * moved from the middle: give its offset at init, or HEAP_NO_PLACE. Equal items come out in no promised order: make the
 * comparison total where determinism matters.
 */
#ifndef BERTH_BASE_HEAP_H
#define BERTH_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#define HEAP_NO_PLACE SIZE_MAX

struct heap {
    void **v;
    size_t n, cap;
    size_t place; /* offset of the size_t member, or HEAP_NO_PLACE */
    int (*cmp)(const void *a, const void *b, void *ctx);
    void *ctx;
};

void heap_init(struct heap *h, int (*cmp)(const void *, const void *, void *), void *ctx,
               size_t place_offset);
void heap_release(struct heap *h);
int heap_push(struct heap *h, void *item); /* 0 or ERR_NOMEM */
void *heap_peek(const struct heap *h);     /* NULL when empty */
void *heap_pop(struct heap *h);
void heap_remove(struct heap *h, void *item); /* needs places; no-op when not in the heap */
void heap_fix(struct heap *h, void *item);    /* after its key changed; needs places */

#endif
