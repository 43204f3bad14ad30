/* endpoint: see endpoint.h; the pool. endpoint_choose.c chooses. */
#include "core/route/endpoint.h"

#include <assert.h>

struct endpoint *endpoint_find(struct endpoint_pool *e, uint32_t id) {
    for (size_t i = 0; i < e->n; i++) {
        if (e->v[i].id == id) {
            return &e->v[i];
        }
    }
    return NULL;
}

struct endpoint *endpoint_add(struct endpoint_pool *e, uint32_t id) {
    assert(id != 0 && endpoint_find(e, id) == NULL);
    if (e->n == ENDPOINTS_MAX) {
        return NULL;
    }
    e->v[e->n] = (struct endpoint){.id = id};
    return &e->v[e->n++];
}

void endpoint_drop(struct endpoint_pool *e, uint32_t id) {
    struct endpoint *x = endpoint_find(e, id);
    if (x != NULL) {
        *x = e->v[--e->n];
    }
}

void endpoint_ready(struct endpoint *x, bool ready, int64_t now) {
    x->ready_at = ready && !x->ready ? now : x->ready_at;
    x->ready = ready;
}

void endpoint_sent(struct endpoint *x) {
    x->outstanding++;
    health_sent(&x->health);
}

static int64_t open_ones(const struct endpoint_pool *e) {
    int64_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        n += e->v[i].health.state == HEALTH_OPEN;
    }
    return n;
}

void endpoint_ended(struct endpoint_pool *e, uint32_t id, enum endpoint_end end, int64_t now) {
    struct endpoint *x = endpoint_find(e, id);

    if (x == NULL) {
        return;
    }
    assert(x->outstanding > 0);
    x->outstanding--;
    if (end == ENDPOINT_UNTOLD) {
        health_untold(&x->health);
    } else {
        bool may = end == ENDPOINT_FAILED && health_may_open(open_ones(e), (int64_t)e->n);
        health_ended(&x->health, end == ENDPOINT_FAILED, may, now);
    }
}

bool endpoint_saturated(const struct endpoint_pool *e, int64_t now) {
    double sum = 0;
    int64_t n = 0;

    for (size_t i = 0; i < e->n; i++) {
        const struct endpoint *x = &e->v[i];
        if (!x->ready || x->draining) {
            continue;
        }
        bool known = x->metrics.at != 0 && now - x->metrics.at <= ENDPOINT_STALE;
        double queue = x->metrics.waiting / 5.0, cache = x->metrics.cache / 0.8;
        sum += !known ? 1 : queue > cache ? queue : cache;
        n++;
    }
    return n > 0 && sum >= (double)n;
}
