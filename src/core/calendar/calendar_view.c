/* calendar_view (core): views of the calendar: capacity, free units, bookings. */
#include <stdlib.h>

#include "core/calendar/calendar_private.h"

/* The first resource of the flavor by name after `after` (NULL: of all). */
static bool next_resource(const struct flavor *f, const struct str *after, struct str *ret) {
    bool found = false;
    for (size_t k = 0; k < f->n_classes; k++) {
        for (size_t i = 0; f->classes[k]->cards > 0 && i < f->classes[k]->n_resources; i++) {
            struct str name = f->classes[k]->resources[i].name;
            if ((after == NULL || str_cmp(name, *after) > 0) &&
                (!found || str_cmp(name, *ret) < 0)) {
                *ret = name;
                found = true;
            }
        }
    }
    for (size_t i = 0; i < f->pools.n; i++) {
        struct str name = f->pools.v[i]->resource;
        if (f->pools.v[i]->total > 0 && (after == NULL || str_cmp(name, *after) > 0) &&
            (!found || str_cmp(name, *ret) < 0)) {
            *ret = name;
            found = true;
        }
    }
    return found;
}

static void describe(const struct flavor *f, struct str resource, struct calendar_type *ret) {
    *ret = (struct calendar_type){.flavor = f->name, .resource = resource};
    if (!flavor_serves(f, resource)) {
        ret->total = flavor_pool(f, resource)->total;
        return;
    }
    ret->cards = true;
    ret->total = flavor_most(f, resource);
    for (size_t k = 0; k < f->n_classes; k++) {
        const struct card_class *x = f->classes[k];
        const struct class_resource *r = x->cards > 0 ? class_resource(x, resource) : NULL;
        if (r != NULL) {
            ret->slices = x->set.slices;
            ret->size = r->profile == NOWHERE ? x->set.slices : x->profiles[r->profile].size;
            ret->profile = r->profile == NOWHERE ? (struct str){0} : x->profiles[r->profile].name;
            return;
        }
    }
}

bool calendar_type_next(const struct calendar *c, size_t *pos, struct calendar_type *ret) {
    while (*pos >> 16 < c->flavors.n) {
        const struct flavor *f = c->flavors.v[*pos >> 16];
        struct str name = {0}, last;
        bool there = next_resource(f, NULL, &name);
        for (size_t k = *pos & 0xffff; there && k > 0; k--) {
            last = name;
            there = next_resource(f, &last, &name);
        }
        if (there) {
            describe(f, name, ret);
            (*pos)++;
            return true;
        }
        *pos = ((*pos >> 16) + 1) << 16;
    }
    return false;
}

/* ---- slots ---- */

struct view_slots {
    const struct calendar *c;
    struct str resource;
    int64_t from, step;
    size_t n;
    struct calendar_free *v;
    uint64_t *free; /* of one card, each slot */
};

static int64_t slot_start(const struct view_slots *s, size_t i) {
    return s->from + (int64_t)i * s->step;
}

/* The slots that [from, to) overlaps: [*a, *b). */
static void slots_within(const struct view_slots *s, int64_t from, int64_t to, size_t *a,
                         size_t *b) {
    int64_t end = slot_start(s, s->n);
    int64_t lo = from <= s->from ? 0 : (from - s->from) / s->step;
    int64_t hi = to >= end       ? (int64_t)s->n
                 : to <= s->from ? 0
                                 : (to - s->from + s->step - 1) / s->step;
    *a = (size_t)lo;
    *b = from >= end ? *a : (size_t)hi;
}

static void card_slots(struct view_slots *s, const struct card *card,
                       const struct class_resource *r) {
    const struct card_class *k = card->class;
    int64_t end = slot_start(s, s->n);
    struct spans_at at = {0};
    const struct span *x =
        spans_next(&card->spans, &at, time_less(s->from, k->reconfig), time_more(end, k->reconfig));
    for (size_t i = 0; i < s->n; i++) {
        s->v[i].total += r->most;
        s->free[i] = k->set.all;
    }
    for (; x != NULL; x = spans_next(&card->spans, &at, time_less(s->from, k->reconfig),
                                     time_more(end, k->reconfig))) {
        size_t a, b, pa, pb;
        slots_within(s, x->start, x->end, &a, &b);
        for (size_t i = a; i < b; i++) {
            bool closed = x->placement == SPAN_CLOSED;
            s->v[i].total -= closed && s->free[i] != UINT64_MAX ? r->most : 0;
            s->free[i] = closed                     ? UINT64_MAX /* closed: none, counted once */
                         : s->free[i] == UINT64_MAX ? UINT64_MAX
                                                    : s->free[i] & ~k->set.p[x->placement].block;
        }
        if (x->placement == SPAN_CLOSED || k->reconfig == 0) {
            continue;
        }
        slots_within(s, time_less(x->start, k->reconfig), time_more(x->end, k->reconfig), &pa, &pb);
        for (size_t i = pa; i < pb; i++) {
            if ((i < a || i >= b) && s->free[i] != UINT64_MAX) {
                s->free[i] &= ~(k->set.p[x->placement].block & ~bit(x->placement));
            }
        }
    }
    for (size_t i = 0; i < s->n; i++) {
        uint64_t free = s->free[i] == UINT64_MAX ? 0 : s->free[i];
        if (k->counts && free != 0 && free != k->set.all) {
            free = cal_card_free(s->c, card, slot_start(s, i), slot_start(s, i + 1));
        }
        s->v[i].free += free == k->set.all ? r->most : free != 0 ? class_most(k, r, free) : 0;
    }
}

/* Windows of counts change what there is. */
static void window_slots(struct view_slots *s, const struct flavor *f) {
    for (size_t w = 0; w < s->c->windows.n; w++) {
        const struct window *x = s->c->windows.v[w];
        if (x->n_nodes > 0 || !str_eq(x->flavor, f->name) || !str_eq(x->resource, s->resource)) {
            continue;
        }
        for (size_t i = 0; i < s->n; i++) {
            int64_t a = slot_start(s, i), b = slot_start(s, i + 1);
            bool counts = x->delta > 0 ? x->start <= a && x->end >= b : x->start < b && x->end > a;
            s->v[i].total += counts ? x->delta : 0;
            s->v[i].total = s->v[i].total < 0 ? 0 : s->v[i].total;
        }
    }
}

int calendar_slots(const struct calendar *c, struct str flavor, struct str resource, int64_t from,
                   int64_t step, size_t n, struct calendar_free *ret) {
    struct view_slots s = {c, resource, from, step, n, ret, NULL};
    const struct flavor *f = cal_flavor(c, flavor);
    struct pool_of *p = f == NULL ? NULL : flavor_pool(f, resource);
    bool cards = f != NULL && flavor_serves(f, resource);
    if ((!cards && p == NULL) || step <= 0) {
        return ERR_NOT_FOUND;
    }
    s.free = mem_array(n + 1, sizeof(*s.free));
    if (s.free == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t least =
            cards ? 0 : steps_least(&p->slack, slot_start(&s, i), slot_start(&s, i + 1), NULL);
        ret[i] =
            (struct calendar_free){.free = least > 0 ? least : 0, .total = cards ? 0 : p->total};
    }
    for (size_t i = 0; cards && i < f->cards.n; i++) {
        const struct class_resource *r = class_resource(f->cards.v[i]->class, resource);
        if (r != NULL) {
            card_slots(&s, f->cards.v[i], r);
        }
    }
    window_slots(&s, f);
    mem_free(s.free);
    return 0;
}

/* ---- who is busy ---- */

struct busy_key {
    struct calendar_busy busy;
    uint64_t born;
};

static int busy_cmp(const void *pa, const void *pb) {
    const struct busy_key *a = pa, *b = pb;
    if (a->busy.start != b->busy.start) {
        return a->busy.start < b->busy.start ? -1 : 1;
    }
    return (a->born > b->born) - (a->born < b->born);
}

static int64_t units_in(const struct entry *e, struct str flavor, struct str resource) {
    int64_t n = 0;
    for (size_t i = 0; i < e->units.n; i++) {
        const struct unit *u = &e->units.v[i];
        const struct flavor *f = u->card != NULL   ? u->card->flavor
                                 : u->pool != NULL ? u->pool->flavor
                                                   : NULL;
        if (f != NULL && (str_empty(flavor) || str_eq(f->name, flavor)) &&
            (str_empty(resource) || str_eq(e->lines[u->line].resource, resource))) {
            n += u->count;
        }
    }
    return n;
}

VEC(busy_keys, struct busy_key);

int calendar_busy_list(const struct calendar *c, struct str flavor, struct str resource,
                       int64_t from, int64_t to, struct arena *a, struct calendar_busy **ret,
                       size_t *ret_n) {
    struct busy_keys keys = {0};
    struct spans_at at = {0};
    const struct span *x;
    int r = 0;
    while (r == 0 && (x = spans_next(&c->time, &at, from, to)) != NULL) {
        const struct entry *e = cal_entry(c, x->entry);
        int64_t n = e->closed ? 0 : units_in(e, flavor, resource);
        if (n > 0) {
            r = busy_keys_push(&keys, (struct busy_key){{e->id, e->start, e->end, n}, e->born});
        }
    }
    struct calendar_busy *v = r == 0 ? ARENA_ARRAY(a, struct calendar_busy, keys.n + 1) : NULL;
    if (v == NULL) {
        busy_keys_release(&keys);
        return ERR_NOMEM;
    }
    if (keys.n > 0) {
        qsort(keys.v, keys.n, sizeof(*keys.v), busy_cmp);
    }
    for (size_t i = 0; i < keys.n; i++) {
        v[i] = keys.v[i].busy;
    }
    *ret = v;
    *ret_n = keys.n;
    busy_keys_release(&keys);
    return 0;
}
