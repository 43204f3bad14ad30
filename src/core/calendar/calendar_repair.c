/*
 * calendar_repair (core): places the movable entries of some cards anew, so that one more fits.
 *
 * All that may move and overlaps a stretch of time leaves its place; then the new one is placed, and they after it,
 * earliest first, largest first, each sooner at its old place than at another: a depth-first search, complete for the
 * cards and entries it is given. It is tried with few of both first, and with a budget of placements.
 *
 * The search is in numbers of its own: what stays on a card is looked at once for each entry, what was placed is in
 * the entries' items. The calendar is changed only when all have a place.
 */
#include "core/calendar/calendar_private.h"

enum {
    ITEMS_MAX = 40,
    SET_MAX = 16,
    CARDS_TRIED = 6,
    RELIEF_MAX = 4,
    FEW_STEPS = 300,
    MANY_STEPS = 1000
};

struct repair_item {
    struct entry *e;
    uint16_t unit;
    uint8_t old, old_placement; /* card of the set; of items[0]: none */
    uint8_t card, placement;    /* where it is now, when it is placed */
    uint16_t looked;            /* cards that were looked at for it, by bit ... */
    int32_t size;
};

struct repair {
    struct calendar *c;
    const struct want *w;
    struct card *cards[SET_MAX];
    struct card *relief[2 * RELIEF_MAX]; /* cards with something free, found once */
    size_t n_relief;
    size_t n_cards;
    uint64_t placed[SET_MAX]; /* items that are on each card now, by bit */
    bool idle[SET_MAX];       /* nothing that stays is on it */
    struct repair_item items[ITEMS_MAX + 1];
    uint64_t stays[ITEMS_MAX + 1][SET_MAX]; /* ... : the placements that what stays there leaves */
    size_t n;
    int64_t from, to; /* the stretch */
    int64_t steps;    /* of this search */
};

static bool is_earlier(const struct repair_item *a, const struct repair_item *b) {
    if (a->e->start != b->e->start) {
        return a->e->start < b->e->start;
    }
    if (a->size != b->size) {
        return a->size > b->size;
    }
    return a->e->born != b->e->born ? a->e->born < b->e->born : a->unit < b->unit;
}

static void item_put(struct repair *r, const struct repair_item *x) {
    size_t i = r->n++;
    while (i > 0 && is_earlier(x, &r->items[i - 1])) {
        r->items[i] = r->items[i - 1];
        i--;
    }
    r->items[i] = *x;
}

/* Is an entry of these times in the stretch, as this card sees it? */
static bool in_stretch(const struct repair *r, const struct card *card, int64_t start,
                       int64_t end) {
    int64_t gap = card->class->reconfig;
    return start < time_more(r->to, gap) && end > time_less(r->from, gap);
}

static bool may_leave(const struct repair *r, const struct span *x) {
    const struct entry *e = x->placement == SPAN_CLOSED ? NULL : cal_entry(r->c, x->entry);
    return e != NULL && cal_movable(r->c, e) && !e->units.v[x->unit].pinned;
}

/* All movable ones that overlap the stretch; false: more than can be searched. */
static bool gather(struct repair *r, int64_t *ret_from, int64_t *ret_to) {
    int64_t from = r->from, to = r->to;
    r->n = 0;
    for (size_t i = 0; i < r->n_cards; i++) {
        const struct card *card = r->cards[i];
        struct spans_at at = {0};
        const struct span *x;
        int64_t gap = card->class->reconfig;
        r->placed[i] = 0;
        r->idle[i] = true;
        while ((x = spans_next(&card->spans, &at, time_less(r->from, gap),
                               time_more(r->to, gap))) != NULL) {
            if (!may_leave(r, x)) {
                r->idle[i] = false;
                continue;
            }
            if (r->n == ITEMS_MAX) {
                return false;
            }
            item_put(r, &(struct repair_item){.e = cal_entry(r->c, x->entry),
                                              .unit = x->unit,
                                              .old = (uint8_t)i,
                                              .old_placement = x->placement,
                                              .size = class_size(card->class, x->placement)});
            from = x->start < from ? x->start : from;
            to = x->end > to ? x->end : to;
        }
    }
    *ret_from = from;
    *ret_to = to;
    return true;
}

/* ---- what is where, in the search ---- */

static bool idle(const struct repair *r, size_t k) {
    if (!r->idle[k]) {
        return false;
    }
    for (uint64_t m = r->placed[k]; m != 0; m &= m - 1) {
        const struct entry *e = r->items[__builtin_ctzll(m)].e;
        if (in_stretch(r, r->cards[k], e->start, e->end)) {
            return false;
        }
    }
    return true;
}

/* An idle card like one that was tried before gives nothing new. */
static bool tried_alike(const struct repair *r, size_t k) {
    if (!idle(r, k)) {
        return false;
    }
    for (size_t i = 0; i < k; i++) {
        if (r->cards[i]->class == r->cards[k]->class && idle(r, i)) {
            return true;
        }
    }
    return false;
}

/* One card, as it is without the items that left and with those that were placed. */
struct repair_look {
    const struct repair *r;
    size_t k;
};

static const struct span *beside(const void *look, struct class_cursor *c, int64_t from,
                                 int64_t to) {
    const struct repair_look *l = look;
    const struct repair *r = l->r;
    const struct card *card = r->cards[l->k];
    const struct span *x;
    while ((x = spans_next(&card->spans, &c->at, from, to)) != NULL) {
        if (!in_stretch(r, card, x->start, x->end) || !may_leave(r, x)) {
            return x;
        }
    }
    while (c->left != 0) {
        const struct repair_item *it = &r->items[__builtin_ctzll(c->left)];
        c->left &= c->left - 1;
        if (it->e->start < to && it->e->end > from) {
            c->buf =
                (struct span){.start = it->e->start, .end = it->e->end, .placement = it->placement};
            return &c->buf;
        }
    }
    return NULL;
}

/* For all of the item's time. */
static bool counts_allow(const struct repair *r, const struct repair_item *it, size_t k,
                         uint8_t placement) {
    const struct repair_look look = {r, k};
    const struct class_cursor start = {.left = r->placed[k]};
    return class_counts_allow(r->cards[k]->class, placement, it->e->start, it->e->end, beside,
                              &look, &start);
}

/* What one beside it in time leaves free of a card. */
static uint64_t leaves(const struct card_class *class, const struct entry *e, int64_t start,
                       int64_t end, uint8_t placement) {
    bool now = start < e->end && end > e->start;
    if (placement == SPAN_CLOSED) {
        return now ? 0 : UINT64_MAX;
    }
    return ~(class->set.p[placement].block & ~(now ? 0 : bit(placement)));
}

/* What stays leaves this free for the item. */
static uint64_t stays(struct repair *r, size_t i, size_t k) {
    struct repair_item *it = &r->items[i];
    const struct card *card = r->cards[k];
    const struct card_class *class = card->class;
    int64_t from = time_less(it->e->start, class->reconfig);
    int64_t to = time_more(it->e->end, class->reconfig);
    if ((it->looked >> k & 1) == 0) {
        struct spans_at at = {0};
        const struct span *x;
        uint64_t free = class->set.all;
        while (free != 0 && (x = spans_next(&card->spans, &at, from, to)) != NULL) {
            if (!in_stretch(r, card, x->start, x->end) || !may_leave(r, x)) {
                free &= leaves(class, it->e, x->start, x->end, x->placement);
            }
        }
        r->stays[i][k] = free;
        it->looked = (uint16_t)(it->looked | 1u << k);
    }
    return r->stays[i][k];
}

/* Placements of card k that are free for all of the item's time. */
static uint64_t free_for(struct repair *r, size_t i, size_t k) {
    const struct repair_item *it = &r->items[i];
    const struct card_class *class = r->cards[k]->class;
    int64_t from = time_less(it->e->start, class->reconfig);
    int64_t to = time_more(it->e->end, class->reconfig);
    uint64_t free = stays(r, i, k);
    for (uint64_t m = r->placed[k]; m != 0; m &= m - 1) {
        const struct repair_item *o = &r->items[__builtin_ctzll(m)];
        if (o->e->start < to && o->e->end > from) {
            free &= leaves(class, it->e, o->e->start, o->e->end, o->placement);
        }
    }
    for (uint64_t left = class->counts ? free : 0; left != 0; left &= left - 1) {
        uint8_t p = (uint8_t)__builtin_ctzll(left);
        free &= counts_allow(r, it, k, p) ? UINT64_MAX : ~bit(p);
    }
    return free;
}

/* Where item i may go on card k. */
static uint64_t item_mask(const struct repair *r, size_t i, size_t k) {
    const struct repair_item *it = &r->items[i];
    const struct card *card = r->cards[k];
    if (i == 0) {
        return card->flavor == r->w->flavor && (r->w->node == NULL || r->w->node == card->node)
                   ? r->w->masks[card->class_no]
                   : 0;
    }
    const struct card *old = r->cards[it->old];
    const struct entry_line *line = &it->e->lines[it->e->units.v[it->unit].line];
    if (old->flavor != card->flavor || (line->same_node && old->node != card->node)) {
        return 0;
    }
    if (old->class == card->class) { /* the same profile */
        const struct card_class *class = card->class;
        for (size_t m = 0; m < class->n_resources; m++) {
            if ((class->resources[m].mask & bit(it->old_placement)) != 0) {
                return class->resources[m].mask;
            }
        }
    }
    const struct class_resource *res = class_resource(card->class, line->resource);
    return res != NULL ? res->mask : 0;
}

/* ---- the search ---- */

static bool descend(struct repair *r, size_t i);

/* Puts item i there and goes on: all have a place, or not this way. */
static bool put(struct repair *r, size_t i, size_t k, uint8_t placement) {
    if (--r->steps < 0 || --r->c->steps < 0) {
        r->c->gave_up = true;
        return false;
    }
    r->items[i].card = (uint8_t)k;
    r->items[i].placement = placement;
    r->placed[k] |= bit(i);
    if (descend(r, i + 1)) {
        return true;
    }
    r->placed[k] &= ~bit(i);
    return false;
}

static bool descend(struct repair *r, size_t i) {
    if (i == r->n) {
        return true;
    }
    const struct repair_item *it = &r->items[i];
    bool home = i > 0 && (free_for(r, i, it->old) & bit(it->old_placement)) != 0;
    bool done = home && put(r, i, it->old, it->old_placement);
    for (size_t k = 0; !done && r->steps > 0 && k < r->n_cards; k++) {
        uint64_t mask = item_mask(r, i, k);
        if (mask == 0 || tried_alike(r, k)) {
            continue;
        }
        uint64_t free = free_for(r, i, k), can = free & mask;
        if (home && k == it->old) {
            can &= ~bit(it->old_placement);
        }
        while (!done && can != 0 && r->steps > 0) {
            int32_t loss;
            uint8_t best = mig_set_least_loss(&r->cards[k]->class->set, free, can, &loss);
            can &= ~bit(best);
            done = put(r, i, k, best);
        }
    }
    return done;
}

/* What was found, into the calendar: 1, or ERR_NOMEM and nothing has changed. */
static int carry_out(struct repair *r) {
    size_t mark = cal_mark(r->c);
    int x = 0;
    for (size_t i = 1; x == 0 && i < r->n; i++) {
        x = cal_del(r->c, r->items[i].e, r->items[i].unit);
    }
    for (size_t i = 0; x == 0 && i < r->n; i++) {
        const struct repair_item *it = &r->items[i];
        x = cal_add(r->c, it->e, it->unit, r->cards[it->card], it->placement);
    }
    if (x != 0) {
        cal_undo(r->c, mark);
        return x;
    }
    return 1;
}

/* Searches the cards of the set; `hops`: how often the stretch grows to what overlaps it. 1, 0, <0. */
static int search(struct repair *r, int hops, int64_t steps) {
    int64_t from, to;
    r->from = r->w->e->start;
    r->to = r->w->e->end;
    for (int h = 0;; h++) {
        if (!gather(r, &from, &to)) {
            return 0;
        }
        if (h + 1 >= hops || (from == r->from && to == r->to)) {
            break;
        }
        r->from = from;
        r->to = to;
    }
    if (r->n == 0) {
        return 0;
    }
    memmove(&r->items[1], &r->items[0], r->n * sizeof(*r->items));
    r->items[0] = (struct repair_item){.e = r->w->e, .unit = (uint16_t)r->w->unit};
    r->n++;
    r->steps = steps < r->c->steps ? steps : r->c->steps;
    return descend(r, 0) ? carry_out(r) : 0;
}

/* The card has a place that only movable ones sit on. */
static bool may_help(const struct repair *r, const struct card *card) {
    const struct card_class *k = card->class;
    uint64_t free = k->set.all & r->w->masks[card->class_no];
    struct spans_at at = {0};
    const struct span *x;
    bool moves = false;
    while (free != 0 && (x = spans_next(&card->spans, &at, r->w->e->start, r->w->e->end)) != NULL) {
        struct entry *e = x->placement == SPAN_CLOSED ? NULL : cal_entry(r->c, x->entry);
        if (e == NULL) {
            return false;
        }
        if (!cal_movable(r->c, e) || e->units.v[x->unit].pinned) {
            free &= ~k->set.p[x->placement].block;
        } else {
            moves = true;
        }
    }
    return free != 0 && moves;
}

static bool in_set(const struct repair *r, const struct card *card) {
    for (size_t i = 0; i < r->n_cards; i++) {
        if (r->cards[i] == card) {
            return true;
        }
    }
    return false;
}

static void find_relief(struct repair *r) {
    const struct cards *all = &r->w->flavor->cards;
    int64_t from = r->w->e->start, to = r->w->e->end;
    const uint64_t *skip = cover_skip(r->w->flavor, (struct str){0}, from, to);
    for (size_t i = 0; i < all->n && r->n_relief < 2 * RELIEF_MAX; i++) {
        if ((skip == NULL || (skip[i / 64] >> i % 64 & 1) == 0) &&
            cal_card_free(r->c, all->v[i], from, to) != 0) {
            r->relief[r->n_relief++] = all->v[i];
        }
    }
}

/* Cards with something free, for those that must move away. */
static void add_relief(struct repair *r) {
    for (size_t i = 0, n = 0; i < r->n_relief && n < RELIEF_MAX && r->n_cards < SET_MAX; i++) {
        if (!in_set(r, r->relief[i])) {
            r->cards[r->n_cards++] = r->relief[i];
            n++;
        }
    }
}

/* Each card alone, then each with relief. */
static int search_cards(struct repair *r, const struct cards *cards, bool relief) {
    int x = 0;
    for (size_t i = 0, tried = 0; x == 0 && i < cards->n && tried < CARDS_TRIED && r->c->steps > 0;
         i++) {
        if (cards->v[i]->flavor != r->w->flavor || !may_help(r, cards->v[i])) {
            continue;
        }
        r->cards[0] = cards->v[i];
        r->n_cards = 1;
        tried++;
        if (relief) {
            add_relief(r);
        }
        x = search(r, relief ? 1 : 2, FEW_STEPS);
    }
    return x;
}

/* All cards when they are few, or those of the one node and relief: the whole of what hangs together in time. */
static int search_all(struct repair *r, const struct cards *cards) {
    int x = 0;
    r->n_cards = 0;
    for (size_t i = 0; i < cards->n && r->n_cards < SET_MAX; i++) {
        if (cards->v[i]->flavor == r->w->flavor) {
            r->cards[r->n_cards++] = cards->v[i];
        }
    }
    add_relief(r);
    for (int hops = 1; x == 0 && hops <= 8 && r->c->steps > 0; hops *= 2) {
        x = search(r, hops, hops == 1 ? r->c->steps / 4 : INT64_MAX);
    }
    return x;
}

/* All units of the resource are alike: what an exchange did not find is not worth a search among many. */
static bool only_lanes(const struct want *w) {
    for (size_t i = 0; i < w->flavor->n_classes; i++) {
        if (w->masks[i] != 0 && w->flavor->classes[i]->dynamic) {
            return false;
        }
    }
    return true;
}

int cal_place_repair(struct calendar *c, const struct want *w) {
    struct repair r;
    r.c = c;
    r.w = w;
    r.n_relief = 0;
    const struct cards *cards = w->node != NULL ? &w->node->cards : &w->flavor->cards;
    if (c->steps <= 0 || (cards->n > SET_MAX && only_lanes(w))) {
        return 0;
    }
    if (w->flavor->cards.n > SET_MAX && c->steps > MANY_STEPS) {
        c->steps = MANY_STEPS; /* no search of so many is complete: rather soon than late */
    }
    find_relief(&r);
    int x = search_cards(&r, cards, false);
    x = x != 0 ? x : search_cards(&r, cards, true);
    return x != 0 || (cards->n > SET_MAX && w->node == NULL) ? x : search_all(&r, cards);
}
