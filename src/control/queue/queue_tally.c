/*
 * queue_tally: shares in, shares out. Whatever can fail (memory for cells and for the copy of what is held) is done
 * before the first number changes.
 */
#include "control/queue/queue_tally.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/admit/engine.h"

void tally_release(struct tally *t) {
    mem_free(t->v);
    *t = (struct tally){0};
}

/* The place of a pair: where it is, or where it would go. */
static size_t place(const struct tally *t, uint32_t flavor, uint32_t resource) {
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct tally_cell *c = &t->v[mid];
        bool before = c->flavor != flavor ? c->flavor < flavor : c->resource < resource;
        low = before ? mid + 1 : low;
        high = before ? high : mid;
    }
    return low;
}

static struct tally_cell *find(const struct tally *t, uint32_t flavor, uint32_t resource) {
    size_t i = place(t, flavor, resource);
    bool there = i < t->n && t->v[i].flavor == flavor && t->v[i].resource == resource;
    return there ? &t->v[i] : NULL;
}

static int cells_ready(struct tally *t, const struct tally_amount *v, size_t n) {
    for (size_t i = 0; t != NULL && i < n; i++) {
        size_t at = place(t, v[i].flavor, v[i].resource);
        if (find(t, v[i].flavor, v[i].resource) != NULL) {
            continue;
        }
        if (t->n == t->cap) {
            size_t cap = t->cap > 0 ? 2 * t->cap : 4;
            struct tally_cell *grown = mem_realloc(t->v, cap * sizeof(*grown));
            if (grown == NULL) {
                return ERR_NOMEM;
            }
            t->v = grown;
            t->cap = cap;
        }
        memmove(&t->v[at + 1], &t->v[at], (t->n - at) * sizeof(*t->v));
        t->v[at] = (struct tally_cell){.flavor = v[i].flavor, .resource = v[i].resource};
        t->n++;
    }
    return 0;
}

static void add(const struct tally_share *s, struct tally *t, int sign) {
    if (t == NULL) {
        return;
    }
    t->pending += s->state == TALLY_PENDING ? sign : 0;
    t->told += s->state == TALLY_PENDING && s->told ? sign : 0;
    t->reserving += s->state == TALLY_RESERVING || s->state == TALLY_ADMITTED ? sign : 0;
    t->admitted += s->state == TALLY_ADMITTED ? sign : 0;
    for (uint32_t i = 0; i < s->n_held; i++) {
        struct tally_cell *c = find(t, s->held[i].flavor, s->held[i].resource);
        c->reserved += sign * (__int128)s->held[i].v;
        c->admitted += s->state == TALLY_ADMITTED ? sign * (__int128)s->held[i].v : 0;
    }
}

static bool same(const struct tally_share *s, const struct held_amount *held, size_t n) {
    bool alike = s->n_held == n;
    for (size_t i = 0; alike && i < n; i++) {
        alike = s->held[i].flavor == held[i].flavor && s->held[i].resource == held[i].resource &&
                s->held[i].v == held[i].v;
    }
    return alike;
}

static void put(struct tally_share *s, const struct tally_share *next) {
    add(s, s->local, -1);
    add(s, s->cluster, -1);
    add(next, next->local, 1);
    add(next, next->cluster, 1);
    *s = *next;
}

int tally_count(struct tally_share *s, struct tally *local, struct tally *cluster,
                enum tally_state state, const struct held_amount *held, size_t n, bool *ret_news) {
    n = state != TALLY_NONE ? n : 0;
    bool alike = same(s, held, n);
    *ret_news = s->state != state || s->local != local || s->cluster != cluster || !alike;
    if (!*ret_news) {
        return 0;
    }
    struct tally_share next = {.state = state, .local = local, .cluster = cluster, .told = s->told};
    next.told = next.told && state == TALLY_PENDING;
    if (n > 0) {
        next.held = mem_alloc(n * sizeof(*next.held));
        if (next.held == NULL) {
            return ERR_NOMEM;
        }
        for (size_t i = 0; i < n; i++) {
            next.held[i] = (struct tally_amount){held[i].flavor, held[i].resource, held[i].v};
        }
        next.n_held = (uint32_t)n;
        if (cells_ready(local, next.held, n) != 0 || cells_ready(cluster, next.held, n) != 0) {
            mem_free(next.held);
            return ERR_NOMEM;
        }
    }
    struct tally_amount *old = s->held;
    put(s, &next);
    mem_free(old);
    return 0;
}

void tally_told(struct tally_share *s, bool told) {
    if (s->told != told) {
        struct tally_share next = *s;
        next.told = told;
        put(s, &next);
    }
}

int tally_merge(struct tally *t, const struct tally *from) {
    t->pending += from->pending;
    t->told += from->told;
    t->reserving += from->reserving;
    t->admitted += from->admitted;
    for (size_t i = 0; i < from->n; i++) {
        struct tally_amount x = {from->v[i].flavor, from->v[i].resource, 0};
        if (cells_ready(t, &x, 1) != 0) {
            return ERR_NOMEM;
        }
        struct tally_cell *c = find(t, x.flavor, x.resource);
        c->reserved += from->v[i].reserved;
        c->admitted += from->v[i].admitted;
    }
    return 0;
}

static int64_t amount(__int128 v) {
    return amount_clamp(v);
}

int64_t tally_reserved(const struct tally *t, uint32_t flavor, uint32_t resource) {
    const struct tally_cell *c = find(t, flavor, resource);
    return c != NULL ? amount(c->reserved) : 0;
}

int64_t tally_admitted(const struct tally *t, uint32_t flavor, uint32_t resource) {
    const struct tally_cell *c = find(t, flavor, resource);
    return c != NULL ? amount(c->admitted) : 0;
}
