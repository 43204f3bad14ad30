/* heap: a binary min-heap with places. See heap.h. */
#include "base/heap.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"

void heap_init(struct heap *h, int (*cmp)(const void *, const void *, void *), void *ctx,
               size_t place_offset) {
    *h = (struct heap){.place = place_offset, .cmp = cmp, .ctx = ctx};
}

void heap_release(struct heap *h) {
    mem_free(h->v);
    h->v = NULL;
    h->n = h->cap = 0;
}

static size_t *place_of(const struct heap *h, void *item) {
    return (size_t *)((char *)item + h->place);
}

static void put(struct heap *h, size_t i, void *item) {
    h->v[i] = item;
    if (h->place != HEAP_NO_PLACE) {
        *place_of(h, item) = i + 1;
    }
}

static void sift_up(struct heap *h, size_t i) {
    void *item = h->v[i];
    while (i > 0 && h->cmp(item, h->v[(i - 1) / 2], h->ctx) < 0) {
        put(h, i, h->v[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(h, i, item);
}

static void sift_down(struct heap *h, size_t i) {
    void *item = h->v[i];
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= h->n) {
            break;
        }
        if (c + 1 < h->n && h->cmp(h->v[c + 1], h->v[c], h->ctx) < 0) {
            c++;
        }
        if (h->cmp(h->v[c], item, h->ctx) >= 0) {
            break;
        }
        put(h, i, h->v[c]);
        i = c;
    }
    put(h, i, item);
}

int heap_push(struct heap *h, void *item) {
    int r = vec_grow((void **)&h->v, &h->cap, h->n, 1, sizeof(void *));
    if (r == 0) {
        h->v[h->n++] = item;
        sift_up(h, h->n - 1);
    }
    return r;
}

void *heap_peek(const struct heap *h) {
    return h->n ? h->v[0] : NULL;
}

static void remove_at(struct heap *h, size_t i) {
    void *gone = h->v[i];
    void *last = h->v[--h->n];
    if (h->place != HEAP_NO_PLACE) {
        *place_of(h, gone) = 0;
    }
    if (gone != last) {
        put(h, i, last);
        sift_down(h, i);
        if (h->v[i] == last) {
            sift_up(h, i);
        }
    }
}

void *heap_pop(struct heap *h) {
    void *top = heap_peek(h);
    if (top) {
        remove_at(h, 0);
    }
    return top;
}

void heap_remove(struct heap *h, void *item) {
    assert(h->place != HEAP_NO_PLACE);
    size_t at = *place_of(h, item);
    if (at) {
        remove_at(h, at - 1);
    }
}

void heap_fix(struct heap *h, void *item) {
    assert(h->place != HEAP_NO_PLACE);
    size_t at = *place_of(h, item);
    if (at) {
        sift_down(h, at - 1);
        if (h->v[at - 1] == item) {
            sift_up(h, at - 1);
        }
    }
}
