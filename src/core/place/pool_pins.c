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

static void link_on(struct pool_gpu *g, struct pool_pin_link *x) {
    struct pool_pin_link **at = &g->pins;
    while (*at != NULL && (*at)->pin.from_ns <= x->pin.from_ns) {
        at = &(*at)->gpu_next;
    }
    x->gpu_next = *at;
    *at = x;
}

static void link_off(struct pool_gpu *g, struct pool_pin_link *x) {
    struct pool_pin_link **at = &g->pins;
    while (*at != NULL && *at != x) {
        at = &(*at)->gpu_next;
    }
    *at = *at != NULL ? x->gpu_next : NULL;
}

/* x NULL: nothing. */
static void link_pins(const struct pool *p, struct pool_pins *x, bool on) {
    for (size_t k = 0; x != NULL && k < x->n; k++) {
        struct pool_gpu *g = gpu_of(p, &x->v[k].pin);
        if (g != NULL && on) {
            link_on(g, &x->v[k]);
        } else if (g != NULL) {
            link_off(g, &x->v[k]);
        }
    }
}

void pins_mark(struct pool *p, struct str node) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&p->pins, &i)) != NULL;) {
        struct pool_pins *x = e->value;
        for (size_t k = 0; k < x->n; k++) {
            struct pool_gpu *g = str_eq(x->v[k].pin.node, node) ? gpu_of(p, &x->v[k].pin) : NULL;
            if (g != NULL) {
                link_on(g, &x->v[k]);
            }
        }
    }
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
                                   .size = pins[i].size,
                                   .from_ns = pins[i].from_ns};
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
               pin->from_ns == pins[i].from_ns &&
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
    link_pins(p, old, false);
    if (x == NULL) {
        map_del(&p->pins, queue);
    } else {
        r = map_put(&p->pins, x->queue, x, NULL);
    }
    if (r == 0) {
        p->n_pins += n - (old != NULL ? old->n : 0);
    }
    mem_free(r == 0 ? old : x);
    link_pins(p, r == 0 ? x : old, true);
    p->generation++; /* what did not fit may fit now */
    return r;
}

size_t pool_pins(const struct pool *p) {
    return p->n_pins;
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

/* Does the pod have to avoid this pin? Those after it at its GPU begin no earlier. */
static bool counts(const struct pool_pin_link *x, const struct place_input *in) {
    return x->pin.from_ns == 0 || x->pin.from_ns < in->ends_ns;
}

uint32_t pins_of_others(const struct pool_gpu *g, const struct place_input *in) {
    uint32_t all = (uint32_t)((UINT64_C(1) << g->board.slices) - 1), mask = 0;
    for (const struct pool_pin_link *x = g->pins; x != NULL && counts(x, in); x = x->gpu_next) {
        if (!str_eq(x->queue, in->queue) && x->pin.start >= 0 &&
            x->pin.start < INVENTORY_SLICES_MAX) {
            uint32_t span = (uint32_t)((UINT64_C(1) << x->pin.size) - 1) << x->pin.start;
            mask |= x->pin.size < 1 || x->pin.size > INVENTORY_SLICES_MAX ? all : span & all;
        }
    }
    return mask;
}

/* A GPU that is not sliced counts as one. */
static int64_t overlap(const struct pool_gpu *g, const struct place_input *in, uint32_t span) {
    bool pinned = false;
    for (const struct pool_pin_link *x = g->pins;
         x != NULL && g->board.slices == 0 && counts(x, in); x = x->gpu_next) {
        pinned = pinned || !str_eq(x->queue, in->queue);
    }
    return pinned + __builtin_popcount(pins_of_others(g, in) & span);
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

int32_t pins_avoid(const struct pool_gpu *g, const struct place_input *in, int32_t profile) {
    struct mig_state s = gpu_state(g);
    int32_t left;
    return mig_best_start(&g->board, &s, (size_t)profile, pins_of_others(g, in), &left);
}

int64_t pins_cost(const struct pool_gpu *g, const struct place_input *in, const struct pick *k) {
    if (g->pins == NULL) {
        return 0;
    }
    uint32_t span =
        k->profile < 0 ? UINT32_MAX : mig_span(k->start, g->board.profiles[k->profile].size);
    return overlap(g, in, span);
}
