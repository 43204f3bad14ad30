/*
 * calendar_verify (core): proves the certificate from entries, cards and windows alone.
 *
 * It looks at what each entry says it holds, not at the cards' spans, masks or sums that made the decisions; those are
 * only compared with it at the end.
 */
#include <stdlib.h>

#include "core/calendar/calendar_private.h"

struct verify_held {
    const struct entry *e;
    const struct card *card;
    const struct unit *u;
};
VEC(helds, struct verify_held);

static int by_card(const void *pa, const void *pb) {
    const struct verify_held *a = pa, *b = pb;
    if (a->card != b->card) {
        int r = str_cmp(a->card->uuid, b->card->uuid);
        return r;
    }
    return (a->e->start > b->e->start) - (a->e->start < b->e->start);
}

static int collect(const struct calendar *c, struct helds *ret) {
    for (size_t i = 0; i < c->entries.n; i++) {
        const struct entry *e = c->entries.v[i];
        for (size_t k = 0; e != NULL && k < e->units.n; k++) {
            const struct unit *u = &e->units.v[k];
            if (u->card != NULL && u->placement != SPAN_CLOSED) {
                int r = helds_push(ret, (struct verify_held){e, u->card, u});
                if (r != 0) {
                    return r;
                }
            }
        }
    }
    if (ret->n > 0) {
        qsort(ret->v, ret->n, sizeof(*ret->v), by_card);
    }
    return 0;
}

static const struct gpu_profile *profile_of(const struct verify_held *h) {
    int16_t p = h->card->class->set.p[h->u->placement].profile;
    return p == NOWHERE ? NULL : &h->card->class->profiles[p];
}

static int32_t first_slice(const struct verify_held *h) {
    return h->card->class->set.p[h->u->placement].start;
}

/* Legal by the profile's own table, of the resource asked for, and in service. */
static int check_one(const struct calendar *c, const struct verify_held *h, struct err *err) {
    const struct gpu_profile *g = profile_of(h);
    const struct card *card = h->card;
    int32_t s = first_slice(h);
    struct str resource = g == NULL ? STR(CALENDAR_GPU) : g->resource;
    if (g != NULL && ((g->starts >> s & 1) == 0 || s + g->size > card->class->set.slices)) {
        return err_set(err, ERR_INTERNAL, "%.*s: %.*s may not start at %d", STR_ARG(h->e->id),
                       STR_ARG(g->name), s);
    }
    if (!str_eq(resource, h->e->lines[h->u->line].resource)) {
        return err_set(err, ERR_INTERNAL, "%.*s: has another resource than it asked for",
                       STR_ARG(h->e->id));
    }
    if ((card->from != 0 || card->to != 0) &&
        (h->e->start < card->from || (card->to != 0 && h->e->end > card->to))) {
        return err_set(err, ERR_INTERNAL, "%.*s: GPU %.*s is not in service", STR_ARG(h->e->id),
                       STR_ARG(card->uuid));
    }
    for (size_t i = 0; i < c->windows.n; i++) {
        const struct window *w = c->windows.v[i];
        for (size_t k = 0; k < w->n_nodes; k++) {
            if (str_eq(w->nodes[k], card->node->name) && w->start < h->e->end &&
                w->end > h->e->start) {
                return err_set(err, ERR_INTERNAL, "%.*s: GPU %.*s is closed by %.*s",
                               STR_ARG(h->e->id), STR_ARG(card->uuid), STR_ARG(w->id));
            }
        }
    }
    return 0;
}

static int check_pair(const struct verify_held *a, const struct verify_held *b, struct err *err) {
    const struct gpu_profile *x = profile_of(a), *y = profile_of(b);
    int64_t gap = a->card->class->reconfig;
    bool together = a->e->start < b->e->end && b->e->start < a->e->end;
    bool close = time_less(a->e->start, gap) < b->e->end && time_less(b->e->start, gap) < a->e->end;
    bool share =
        x == NULL || y == NULL ||
        (first_slice(a) < first_slice(b) + y->size && first_slice(b) < first_slice(a) + x->size);
    bool same = x == y && first_slice(a) == first_slice(b);
    if ((together && share) || (together && x != NULL && y != NULL && x->media && y->media)) {
        return err_set(err, ERR_INTERNAL, "%.*s and %.*s are on GPU %.*s at the same time",
                       STR_ARG(a->e->id), STR_ARG(b->e->id), STR_ARG(a->card->uuid));
    }
    if (close && share && !same) {
        return err_set(err, ERR_INTERNAL, "%.*s and %.*s leave no time to change GPU %.*s",
                       STR_ARG(a->e->id), STR_ARG(b->e->id), STR_ARG(a->card->uuid));
    }
    return 0;
}

/* Compute slices and the number of a profile, at the instant at which h starts. */
static int check_sums(const struct verify_held *v, size_t n, const struct verify_held *h,
                      struct err *err) {
    const struct gpu_profile *g = profile_of(h);
    int32_t compute = 0, same = 0, all = 0;
    for (size_t i = 0; i < h->card->class->n_profiles; i++) {
        int32_t s = h->card->class->profiles[i].compute_slices;
        all = s > all ? s : all;
    }
    for (size_t i = 0; i < n && g != NULL; i++) {
        const struct gpu_profile *x = profile_of(&v[i]);
        if (x != NULL && v[i].e->start <= h->e->start && v[i].e->end > h->e->start) {
            compute += x->compute_slices;
            same += x == g;
        }
    }
    if (g != NULL && (compute > all || same > g->max_instances)) {
        return err_set(err, ERR_INTERNAL, "%.*s: GPU %.*s has too few compute slices or %.*s",
                       STR_ARG(h->e->id), STR_ARG(h->card->uuid), STR_ARG(g->name));
    }
    return 0;
}

/* v: all that is on one card, by start. */
static int check_card(const struct calendar *c, const struct verify_held *v, size_t n,
                      struct err *err) {
    int r = 0;
    int64_t longest = 0; /* latest end so far: what ended long ago is not compared */
    size_t live = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = check_one(c, &v[i], err);
        if (i == 0 || time_less(v[i].e->start, v[i].card->class->reconfig) >= longest) {
            live = i;
        }
        for (size_t k = live; r == 0 && k < i; k++) {
            r = check_pair(&v[k], &v[i], err);
        }
        r = r != 0 ? r : check_sums(&v[live], n - live, &v[i], err);
        longest = i == 0 || v[i].e->end > longest ? v[i].e->end : longest;
    }
    return r;
}

static bool allowed(const struct entry_line *l, const struct flavor *f) {
    bool found = l->n_flavors == 0;
    for (size_t i = 0; i < l->n_flavors; i++) {
        found = found || str_eq(l->flavors[i], f->name);
    }
    return found;
}

/* Counts, flavors and nodes of an entry's lines. */
static int check_entry(const struct entry *e, struct err *err) {
    for (size_t line = 0; line < e->n_lines; line++) {
        const struct flavor *flavor = NULL;
        const struct node *node = NULL;
        int64_t n = 0;
        for (size_t i = 0; i < e->units.n; i++) {
            const struct unit *u = &e->units.v[i];
            const struct flavor *f = u->card != NULL   ? u->card->flavor
                                     : u->pool != NULL ? u->pool->flavor
                                                       : NULL;
            if (u->line != line || f == NULL) {
                continue;
            }
            n += u->count;
            if (!allowed(&e->lines[line], f) || (flavor != NULL && flavor != f) ||
                (e->lines[line].same_node && u->card != NULL && node != NULL &&
                 node != u->card->node)) {
                return err_set(err, ERR_INTERNAL, "%.*s: line %zu is in the wrong place",
                               STR_ARG(e->id), line);
            }
            flavor = f;
            node = u->card != NULL ? u->card->node : node;
        }
        if (n > e->lines[line].count || (n < e->lines[line].count && !e->broken)) {
            return err_set(err, ERR_INTERNAL, "%.*s: line %zu has %lld of %lld", STR_ARG(e->id),
                           line, (long long)n, (long long)e->lines[line].count);
        }
    }
    return 0;
}

struct verify_edge {
    int64_t at, jump;
};
VEC(edges, struct verify_edge);

static int by_time(const void *pa, const void *pb) {
    const struct verify_edge *a = pa, *b = pb;
    return a->at != b->at ? (a->at < b->at ? -1 : 1) : (a->jump > b->jump) - (a->jump < b->jump);
}

/* At every instant the sum is within what there is, and is the one that decisions are made with. */
static int check_pool(const struct calendar *c, const struct pool_of *p, struct err *err) {
    struct edges v = {0};
    int r = 0;
    int64_t sum = 0, windows = 0;
    for (size_t i = 0; r == 0 && i < c->entries.n; i++) {
        const struct entry *e = c->entries.v[i];
        for (size_t k = 0; e != NULL && r == 0 && k < e->units.n; k++) {
            if (e->units.v[k].pool == p) {
                r = edges_push(&v, (struct verify_edge){e->start, e->units.v[k].count});
                r = r != 0 || e->end == CALENDAR_FOREVER
                        ? r
                        : edges_push(&v, (struct verify_edge){e->end, -e->units.v[k].count});
                windows += e->closed && e->units.v[k].count > 0 ? e->units.v[k].count : 0;
            }
        }
    }
    if (v.n > 0) {
        qsort(v.v, v.n, sizeof(*v.v), by_time);
    }
    for (size_t i = 0; r == 0 && i < v.n; i++) {
        sum += v.v[i].jump;
        bool last = i + 1 == v.n || v.v[i + 1].at != v.v[i].at;
        if (last && sum > p->total && windows == 0) {
            r = err_set(err, ERR_INTERNAL, "%.*s of %.*s: %lld of %lld are drawn",
                        STR_ARG(p->resource), STR_ARG(p->flavor->name), (long long)sum,
                        (long long)p->total);
        }
        if (r == 0 && last &&
            steps_least(&p->slack, v.v[i].at, time_more(v.v[i].at, 1), NULL) != p->total - sum) {
            r = err_set(err, ERR_INTERNAL, "%.*s of %.*s: the sums are wrong", STR_ARG(p->resource),
                        STR_ARG(p->flavor->name));
        }
    }
    edges_release(&v);
    return r;
}

/* The cards' spans are the entries' units, and nothing else. */
static int check_spans(const struct calendar *c, size_t held, struct err *err) {
    size_t n = 0;
    for (size_t i = 0; i < c->cards.n; i++) {
        const struct card *card = c->cards.v[i];
        struct spans_at at = {0};
        const struct span *x;
        while ((x = spans_next(&card->spans, &at, INT64_MIN, CALENDAR_FOREVER)) != NULL) {
            if (x->placement == SPAN_CLOSED) {
                continue;
            }
            const struct entry *e = cal_entry(c, x->entry);
            n++;
            if (e == NULL || x->unit >= e->units.n || e->units.v[x->unit].card != card ||
                e->units.v[x->unit].placement != x->placement || e->start != x->start ||
                e->end != x->end) {
                return err_set(err, ERR_INTERNAL, "GPU %.*s: a place is nobody's",
                               STR_ARG(card->uuid));
            }
        }
    }
    return n == held ? 0 : err_set(err, ERR_INTERNAL, "%zu places of %zu are on cards", n, held);
}

int calendar_verify(const struct calendar *c, struct err *err) {
    struct helds v = {0};
    int r = collect(c, &v);
    r = r != 0 ? err_set(err, r, "out of memory") : check_spans(c, v.n, err);
    for (size_t i = 0, k; r == 0 && i < v.n; i = k) {
        for (k = i + 1; k < v.n && v.v[k].card == v.v[i].card; k++) {
        }
        r = check_card(c, &v.v[i], k - i, err);
    }
    for (size_t i = 0; r == 0 && i < c->entries.n; i++) {
        const struct entry *e = c->entries.v[i];
        r = e != NULL && !e->closed ? check_entry(e, err) : 0;
    }
    for (size_t i = 0; r == 0 && i < c->flavors.n; i++) {
        for (size_t k = 0; r == 0 && k < c->flavors.v[i]->pools.n; k++) {
            r = check_pool(c, c->flavors.v[i]->pools.v[k], err);
        }
    }
    helds_release(&v);
    return r;
}

static uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v + UINT64_C(0x9e3779b97f4a7c15) + (h << 6) + (h >> 2);
    h *= UINT64_C(0xff51afd7ed558ccd);
    return h ^ h >> 33;
}

static uint64_t steps_digest(const struct steps *s) {
    uint64_t h = (uint64_t)s->base;
    for (size_t k = 0; k < s->n_chunks; k++) {
        for (size_t i = 0; i < s->chunks[k]->n; i++) {
            h = mix(mix(h, (uint64_t)s->chunks[k]->at[i]), (uint64_t)s->chunks[k]->jump[i]);
        }
    }
    return h;
}

uint64_t calendar_digest(const struct calendar *c) {
    uint64_t h = c->entries.n - c->free_entries.n + (c->time.n << 32);
    for (size_t i = 0; i < c->entries.n; i++) {
        const struct entry *e = c->entries.v[i];
        uint64_t x =
            e != NULL ? mix(mix(str_hash(e->id), (uint64_t)e->start), (uint64_t)e->end) : 0;
        for (size_t k = 0; e != NULL && k < e->units.n; k++) {
            const struct unit *u = &e->units.v[k];
            if (e->closed && u->card == NULL && u->pool == NULL) {
                continue; /* a window's, for the next card */
            }
            x = mix(x, u->card != NULL   ? mix(str_hash(u->card->uuid), u->placement)
                       : u->pool != NULL ? str_hash(u->pool->resource)
                                         : 1);
        }
        h += x; /* numbers of entries do not count */
    }
    for (size_t i = 0; i < c->cards.n; i++) {
        h += mix(c->cards.v[i]->spans.n, str_hash(c->cards.v[i]->uuid));
    }
    for (size_t i = 0; i < c->flavors.n; i++) {
        h += steps_digest(&c->flavors.v[i]->slack);
        for (size_t k = 0; k < c->flavors.v[i]->pools.n; k++) {
            h += steps_digest(&c->flavors.v[i]->pools.v[k]->slack);
        }
    }
    return h;
}
