/*
 * calendar_exchange (core): two equal lanes swap their bookings between two instants at which neither is in use.
 *
 * A lane is a whole card, or one place of a static layout. Let X want [s, e). Take a lane A that is free at s, and let
 * a be when it is next used. When fewer than all lanes are in use at a with X counted, some lane B is free at a; after
 * the swap from a on, A is free until B's next use. So X gets a lane whenever the count fits at each instant and nobody
 * in the way is fixed: what is known of interval graphs, made with as few moves as the farthest next use allows.
 */
#include "core/calendar/calendar_private.h"

struct exchange_lane {
    struct card *card;
    uint32_t pos;      /* of the card */
    uint8_t placement; /* of the static layout; of the whole card: all spans count */
    int64_t next; /* its first use within the time that is wanted; INT64_MIN: it is no beginning */
};
VEC(lanes, struct exchange_lane);

struct exchange_rival {
    const struct exchange_lane *lane;
    int64_t next; /* its next use after an instant at which it is free */
};
VEC(rivals, struct exchange_rival);

struct swap_item {
    struct entry *e;
    uint16_t unit;
    struct exchange_lane to;
};
VEC(swap_items, struct swap_item);

struct exchange {
    struct calendar *c;
    const struct want *w;
    struct lanes lanes;
    struct rivals rivals;
    struct swap_items items;
};

static bool whole_lane(const struct exchange_lane *l) {
    return l->card->class->set.p[l->placement].profile == NOWHERE;
}

static bool in_lane(const struct exchange_lane *l, const struct span *x) {
    return whole_lane(l) || x->placement == l->placement || x->placement == SPAN_CLOSED;
}

/* Is the lane free just at `at`; then *ret_next is when it is used next, before `to`, or `to`. */
static bool free_at(const struct exchange_lane *l, int64_t at, int64_t to, int64_t *ret_next) {
    struct spans_at pos = {0};
    const struct span *x;
    *ret_next = to;
    while ((x = spans_next(&l->card->spans, &pos, at, to)) != NULL) {
        if (in_lane(l, x)) {
            *ret_next = x->start;
            return x->start > at;
        }
    }
    return true;
}

static int lanes_of(struct exchange *x) {
    const struct flavor *f = x->w->flavor;
    for (size_t i = 0; i < f->cards.n; i++) {
        struct card *card = f->cards.v[i];
        const struct card_class *k = card->class;
        for (uint64_t m = x->w->masks[card->class_no]; m != 0; m &= m - 1) {
            uint8_t p = (uint8_t)__builtin_ctzll(m);
            if (k->dynamic && k->set.p[p].profile != NOWHERE) {
                break; /* slices that can go anywhere are no lanes */
            }
            int r = lanes_push(&x->lanes, (struct exchange_lane){card, card->pos, p, INT64_MIN});
            if (r != 0) {
                return r;
            }
        }
    }
    return 0;
}

static bool may_change(const struct exchange *x, const struct span *s, bool same_node) {
    if (s->placement == SPAN_CLOSED || (s->together && !same_node)) {
        return false;
    }
    const struct entry *e = cal_entry(x->c, s->entry);
    return cal_movable(x->c, e) && !e->units.v[s->unit].pinned;
}

/* The first instant after `from` at which neither lane is in use across it; false: something before it may not change
 * lanes. */
static bool common_cut(const struct exchange *x, const struct exchange_lane *a,
                       const struct exchange_lane *b, int64_t from, int64_t *ret) {
    const struct exchange_lane *both[] = {a, b};
    struct spans_at at[2] = {{0}, {0}};
    bool same_node = a->card->node == b->card->node, further = true;
    int64_t t = time_more(from, 1);
    while (further) {
        further = false;
        for (size_t i = 0; i < 2; i++) {
            const struct span *s;
            while ((s = spans_next(&both[i]->card->spans, &at[i], from, t)) != NULL) {
                if (in_lane(both[i], s) && !may_change(x, s, same_node)) {
                    return false;
                }
                further = further || (in_lane(both[i], s) && s->end > t);
                t = in_lane(both[i], s) && s->end > t ? s->end : t;
            }
        }
    }
    *ret = t;
    return true;
}

static int collect(struct exchange *x, const struct exchange_lane *from,
                   const struct exchange_lane *to, int64_t a, int64_t t) {
    struct spans_at pos = {0};
    const struct span *s;
    while ((s = spans_next(&from->card->spans, &pos, a, t)) != NULL) {
        if (!in_lane(from, s)) {
            continue;
        }
        struct exchange_lane l = *to;
        l.placement = whole_lane(to) ? s->placement : to->placement;
        int r =
            swap_items_push(&x->items, (struct swap_item){cal_entry(x->c, s->entry), s->unit, l});
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* 1: swapped; 0: not possible, nothing changed. */
static int swap(struct exchange *x, const struct exchange_lane *a, const struct exchange_lane *b,
                int64_t from) {
    int64_t t;
    size_t mark = cal_mark(x->c);
    if ((whole_lane(a) && a->card->class != b->card->class) || !common_cut(x, a, b, from, &t)) {
        return 0;
    }
    x->items.n = 0;
    x->c->still = a->card->class == b->card->class;
    int r = collect(x, a, b, from, t);
    r = r != 0 ? r : collect(x, b, a, from, t);
    for (size_t i = 0; r == 0 && i < x->items.n; i++) {
        r = cal_del(x->c, x->items.v[i].e, x->items.v[i].unit);
    }
    for (size_t i = 0; r == 0 && i < x->items.n; i++) {
        struct swap_item *it = &x->items.v[i];
        r = !cal_fits_at(x->c, it->to.card, it->to.placement, it->e->start, it->e->end)
                ? 1 /* time to change the layout lacks */
                : cal_add(x->c, it->e, it->unit, it->to.card, it->to.placement);
    }
    x->c->still = false;
    if (r != 0) {
        cal_undo(x->c, mark);
        return r == 1 ? 0 : r;
    }
    return 1;
}

/* Lanes that are certainly in use at `at`, by their card's place in the flavor's list. */
static const uint64_t *busy_at(const struct exchange *x, int64_t at) {
    return cover_skip(x->w->flavor, x->w->resource, at, at + 1);
}

static bool is_busy(const uint64_t *busy, const struct exchange_lane *l) {
    return busy != NULL && (busy[l->pos / 64] >> l->pos % 64 & 1) != 0;
}

/* The other lanes that are free at `at`, up to the first that is free for all of the rest: none is better. */
static int find_rivals(struct exchange *x, const struct exchange_lane *a, int64_t at) {
    int64_t to = x->w->e->end, next = at;
    const uint64_t *busy = busy_at(x, at);
    int r = 0;
    x->rivals.n = 0;
    for (size_t i = 0; r == 0 && next < to && i < x->lanes.n; i++) {
        const struct exchange_lane *l = &x->lanes.v[i];
        if (l != a && !is_busy(busy, l) && free_at(l, at, to, &next)) {
            r = rivals_push(&x->rivals, (struct exchange_rival){l, next});
        } else {
            next = at;
        }
    }
    return r;
}

/* Makes the lane free from `at` on for longer: 1, or 0. */
static int clear_further(struct exchange *x, const struct exchange_lane *a, int64_t at) {
    int r = find_rivals(x, a, at);
    for (size_t tries = 0; r == 0 && tries < 8 && x->rivals.n > 0; tries++) {
        size_t best = 0;
        for (size_t i = 1; i < x->rivals.n; i++) {
            best = x->rivals.v[i].next > x->rivals.v[best].next ? i : best;
        }
        r = swap(x, a, x->rivals.v[best].lane, at);
        rivals_remove(&x->rivals, best);
    }
    return r;
}

/* Clears lane a for all of [s, e) and puts the unit there: 1, 0 with nothing changed. */
static int try_lane(struct exchange *x, size_t a) {
    struct entry *e = x->w->e;
    struct exchange_lane *l = &x->lanes.v[a];
    size_t mark = cal_mark(x->c);
    int64_t next;
    int r = 1;
    while (r > 0 && free_at(l, e->start, e->end, &next) && next < e->end) {
        r = --x->c->steps < 0 ? 0 : clear_further(x, l, next);
    }
    if (r > 0 && cal_fits_at(x->c, l->card, l->placement, e->start, e->end)) {
        r = cal_add(x->c, e, x->w->unit, l->card, l->placement);
        return r != 0 ? r : 1;
    }
    cal_undo(x->c, mark);
    return r < 0 ? r : 0;
}

/* Which lanes are free when the unit's time begins, and for how long. */
static void look_ahead(struct exchange *x) {
    const struct want *w = x->w;
    const uint64_t *busy = busy_at(x, w->e->start);
    for (size_t i = 0; i < x->lanes.n; i++) {
        struct exchange_lane *l = &x->lanes.v[i];
        int64_t next;
        if (!is_busy(busy, l) && (w->node == NULL || l->card->node == w->node) &&
            free_at(l, w->e->start, w->e->end, &next)) {
            l->next = next;
        }
    }
}

int cal_place_exchange(struct calendar *c, const struct want *w) {
    struct exchange x = {.c = c, .w = w};
    int r = c->o.repair_steps < 0 ? 0 : lanes_of(&x);
    look_ahead(&x);
    for (size_t tries = 0; r == 0 && x.lanes.n > 1 && tries < 4; tries++) {
        size_t best = 0; /* free for longest first */
        for (size_t i = 1; i < x.lanes.n; i++) {
            best = x.lanes.v[i].next > x.lanes.v[best].next ? i : best;
        }
        if (x.lanes.v[best].next == INT64_MIN) {
            break;
        }
        r = try_lane(&x, best);
        if (r == 0) { /* not this one: all is as it was */
            lanes_swap_remove(&x.lanes, best);
        }
    }
    lanes_release(&x.lanes);
    rivals_release(&x.rivals);
    swap_items_release(&x.items);
    return r;
}
