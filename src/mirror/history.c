/*
 * history: the last changes of a kind, to resume watches and to show a past state page by page. See mirror.h.
 *
 * A ring that grows by doubling up to its limit in events; it also drops what is older than
 * LIMIT_HISTORY_SECONDS and what exceeds LIMIT_HISTORY_BYTES. It never fails: without memory it drops instead,
 * and `start` tells what is gone.
 */
#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"
#include "mirror/mirror_private.h"

static void drop_oldest(struct history *h) {
    struct past_change *c = &h->ring[h->first];
    h->start = c->obj->rv;
    h->bytes -= c->obj->json.n;
    object_unref(c->obj);
    object_unref(c->old);
    h->first = (h->first + 1) % h->cap;
    h->n--;
}

static void grow(struct history *h, size_t max) {
    size_t cap = h->cap ? h->cap * 2 : 16;
    cap = cap < max ? cap : max;
    struct past_change *ring = mem_array(cap, sizeof(*ring));
    if (ring == NULL) {
        return;
    }
    for (size_t i = 0; i < h->n; i++) {
        ring[i] = h->ring[(h->first + i) % h->cap];
    }
    mem_free(h->ring);
    h->ring = ring;
    h->cap = cap;
    h->first = 0;
}

void history_add(struct history *h, const struct change *c, size_t max, int64_t now) {
    int64_t too_old = now - (int64_t)LIMIT_HISTORY_SECONDS * NS_PER_SEC;
    while (h->n && (h->ring[h->first].at_ns < too_old || h->bytes > LIMIT_HISTORY_BYTES)) {
        drop_oldest(h);
    }
    if (h->n == h->cap && h->cap < max) {
        grow(h, max);
    }
    if (h->n && h->n == h->cap) {
        drop_oldest(h);
    }
    if (h->cap == 0) {
        h->start = c->obj->rv;
        return;
    }
    h->ring[(h->first + h->n) % h->cap] = (struct past_change){
        .type = c->type,
        .obj = object_ref(c->obj),
        .old = c->old ? object_ref(c->old) : NULL,
        .at_ns = now,
    };
    h->n++;
    h->bytes += c->obj->json.n;
}

void history_release(struct history *h) {
    while (h->n) {
        drop_oldest(h);
    }
    mem_free(h->ring);
    *h = (struct history){0};
}

const struct past_change *history_at(const struct history *h, size_t i) {
    assert(i < h->n);
    return &h->ring[(h->first + i) % h->cap];
}

size_t history_after(const struct history *h, uint64_t rv) {
    size_t lo = 0, hi = h->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (history_at(h, mid)->obj->rv <= rv) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

uint64_t history_start(const struct mirror *m, const struct mirror_table *t) {
    return t && t->history.start > m->base ? t->history.start : m->base;
}

int mirror_since(const struct mirror *m, const struct kind *k, uint64_t rv,
                 bool (*each)(void *ctx, const struct change *c), void *ctx, uint64_t *ret_oldest,
                 struct err *err) {
    const struct mirror_table *t = table_find(m, k);
    uint64_t start = history_start(m, t);
    if (rv < start) {
        if (ret_oldest) {
            *ret_oldest = start;
        }
        return err_set(err, ERR_EXPIRED, "too old resource version: %llu (%llu)",
                       (unsigned long long)rv, (unsigned long long)start);
    }
    for (size_t i = t ? history_after(&t->history, rv) : 0; t && i < t->history.n; i++) {
        const struct past_change *p = history_at(&t->history, i);
        struct change c = {.type = p->type, .obj = p->obj, .old = p->old};
        if (!each(ctx, &c)) {
            break;
        }
    }
    return 0;
}
