/*
 * pool_pins (core): places that are promised to a queue. See pool.h.
 *
 * A pin is linked at its GPU while that is known. Nothing is taken by it: it only says where the pods of its queue go,
 * and which places others leave alone while they have a choice.
 */
#include "core/place/pool_private.h"

void pins_free(struct pool *p) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&p->pins, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&p->pins);
}

static struct pool_gpu *gpu_of(const struct pool *p, const struct pool_pin *pin) {
    struct pool_node *n = pool_node(p, pin->node);
    return n != NULL ? pool_gpu(n, pin->gpu) : NULL;
}

/* All of them, or those on one node. */
static void link_all(struct pool *p, struct str node, bool on) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&p->pins, &i)) != NULL;) {
        struct pool_pins *x = e->value;
        for (size_t k = 0; k < x->n; k++) {
            bool here = str_empty(node) || str_eq(x->v[k].pin.node, node);
            struct pool_gpu *g = here ? gpu_of(p, &x->v[k].pin) : NULL;
            if (g != NULL) {
                x->v[k].gpu_next = on ? g->pins : NULL;
                g->pins = on ? &x->v[k] : NULL;
            }
        }
    }
}

void pins_mark(struct pool *p, struct str node) {
    link_all(p, node, true);
}

static struct str put_text(char **at, struct str s) {
    struct str copy = {*at, s.n};
    memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static int pins_new(struct pool *p, struct str queue, const struct pool_pin *pins, size_t n,
                    struct pool_pins **ret) {
    size_t bytes = sizeof(struct pool_pins) + n * sizeof(struct pool_pin_link) + queue.n;
    for (size_t i = 0; i < n; i++) {
        bytes += pins[i].node.n + pins[i].gpu.n;
    }
    struct pool_pins *x = mem_zalloc(bytes);
    int r = x != NULL ? 0 : ERR_NOMEM;
    char *at = x != NULL ? (char *)&x->v[n] : NULL;
    if (r == 0) {
        x->queue = put_text(&at, queue);
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        struct pool_pin_link *l = &x->v[x->n++];
        l->queue = x->queue;
        l->pin = (struct pool_pin){.node = put_text(&at, pins[i].node),
                                   .gpu = put_text(&at, pins[i].gpu),
                                   .start = pins[i].start,
                                   .size = pins[i].size};
        r = names_intern(p->names, pins[i].resource, &l->resource);
    }
    if (r != 0) {
        mem_free(x);
        return r;
    }
    *ret = x;
    return 0;
}

static bool same(const struct pool *p, const struct pool_pins *x, const struct pool_pin *pins,
                 size_t n) {
    bool same = (x != NULL ? x->n : 0) == n;
    for (size_t i = 0; i < n && same; i++) {
        const struct pool_pin *pin = &x->v[i].pin;
        same = str_eq(pin->node, pins[i].node) && str_eq(pin->gpu, pins[i].gpu) &&
               pin->start == pins[i].start && pin->size == pins[i].size &&
               str_eq(names_text(p->names, x->v[i].resource), pins[i].resource);
    }
    return same;
}

int pool_pins_set(struct pool *p, struct str queue, const struct pool_pin *pins, size_t n) {
    struct pool_pins *old = map_get(&p->pins, queue), *x = NULL;
    if (same(p, old, pins, n)) {
        return 0;
    }
    int r = n > 0 ? pins_new(p, queue, pins, n, &x) : 0;
    if (r != 0) {
        return r;
    }
    link_all(p, (struct str){0}, false);
    if (x == NULL) {
        map_del(&p->pins, queue);
    } else {
        r = map_put(&p->pins, x->queue, x, NULL);
    }
    mem_free(r == 0 ? old : x);
    link_all(p, (struct str){0}, true);
    p->generation++; /* what did not fit may fit now */
    return r;
}

/* ---- choosing ---- */

bool pins_of(const struct pool *p, struct str queue, uint32_t resource) {
    const struct pool_pins *x = str_empty(queue) ? NULL : map_get(&p->pins, queue);
    for (size_t i = 0; x != NULL && i < x->n; i++) {
        if (x->v[i].resource == resource) {
            return true;
        }
    }
    return false;
}

uint32_t pins_of_others(const struct pool_gpu *g, struct str queue) {
    uint32_t all = (uint32_t)((UINT64_C(1) << g->board.slices) - 1), mask = 0;
    for (const struct pool_pin_link *x = g->pins; x != NULL; x = x->gpu_next) {
        if (!str_eq(x->queue, queue) && x->pin.start >= 0 && x->pin.start < INVENTORY_SLICES_MAX) {
            uint32_t span = (uint32_t)((UINT64_C(1) << x->pin.size) - 1) << x->pin.start;
            mask |= x->pin.size < 1 || x->pin.size > INVENTORY_SLICES_MAX ? all : span & all;
        }
    }
    return mask;
}

/* A GPU that is not sliced counts as one. */
static int64_t overlap(const struct pool_gpu *g, struct str queue, uint32_t span) {
    bool pinned = false;
    for (const struct pool_pin_link *x = g->pins; x != NULL && g->board.slices == 0;
         x = x->gpu_next) {
        pinned = pinned || !str_eq(x->queue, queue);
    }
    return pinned + __builtin_popcount(pins_of_others(g, queue) & span);
}

bool pins_pick(const struct pool_gpu *g, struct str queue, uint32_t resource, struct pick *ret) {
    struct mig_state s = gpu_state(g);
    for (const struct pool_pin_link *x = g->pins; x != NULL; x = x->gpu_next) {
        if (x->resource != resource || !str_eq(x->queue, queue)) {
            continue;
        }
        if (ret->profile < 0) {
            return true;
        }
        if (x->pin.start >= 0 && x->pin.start < g->board.slices &&
            mig_legal(&g->board, &s, (size_t)ret->profile, x->pin.start)) {
            ret->start = x->pin.start;
            return true;
        }
    }
    return false;
}

int32_t pins_avoid(const struct pool_gpu *g, struct str queue, int32_t profile) {
    struct mig_state s = gpu_state(g);
    int32_t left;
    return mig_best_start(&g->board, &s, (size_t)profile, pins_of_others(g, queue), &left);
}

int64_t pins_cost(const struct pool_gpu *g, struct str queue, const struct pick *k) {
    if (g->pins == NULL) {
        return 0;
    }
    uint32_t span =
        k->profile < 0 ? UINT32_MAX : mig_span(k->start, g->board.profiles[k->profile].size);
    return overlap(g, queue, span);
}
