/*
 * calendar_repair (core): places the movable entries of some cards anew, so that one more fits.
 *
 * All that may move and overlaps a stretch of time leaves its place; then the new one is placed, and they after it,
 * earliest first, largest first, each sooner at its old place than at another: a depth-first search, complete for the
 * cards and entries it is given. It is tried with few of both first, and with a budget of placements.
 */
#include "core/calendar_private.h"

enum {
    ITEMS_MAX = 40,
    SET_MAX = 16,
    CARDS_TRIED = 6,
    RELIEF_MAX = 4,
    FEW_STEPS = 300,
    MANY_STEPS = 1000
};

struct item {
    struct entry *e;
    uint16_t unit;
    struct card *old;
    uint8_t old_placement;
    int32_t size;
};

struct repair {
    struct calendar *c;
    const struct want *w;
    struct card *cards[SET_MAX];
    struct card *relief[2 * RELIEF_MAX]; /* cards with something free, found once */
    size_t n_relief;
    size_t n_cards;
    struct item items[ITEMS_MAX + 1];
    size_t n;
    int64_t from, to; /* the stretch */
    int64_t steps;    /* of this search */
};

static bool is_earlier(const struct item *a, const struct item *b) {
    if (a->e->start != b->e->start) {
        return a->e->start < b->e->start;
    }
    if (a->size != b->size) {
        return a->size > b->size;
    }
    return a->e->born != b->e->born ? a->e->born < b->e->born : a->unit < b->unit;
}

static void item_put(struct repair *r, const struct item *x) {
    size_t i = r->n++;
    while (i > 0 && is_earlier(x, &r->items[i - 1])) {
        r->items[i] = r->items[i - 1];
        i--;
    }
    r->items[i] = *x;
}

/* All movable ones that overlap the stretch; false: more than can be searched. */
static bool gather(struct repair *r, int64_t *ret_from, int64_t *ret_to) {
    int64_t from = r->from, to = r->to;
    r->n = 0;
    for (size_t i = 0; i < r->n_cards; i++) {
        struct card *card = r->cards[i];
        struct spans_at at = {0};
        const struct span *x;
        int64_t gap = card->class->reconfig;
        while ((x = spans_next(&card->spans, &at, time_less(r->from, gap),
                               time_more(r->to, gap))) != NULL) {
            struct entry *e = x->placement == SPAN_CLOSED ? NULL : cal_entry(r->c, x->entry);
            if (e == NULL || !cal_movable(r->c, e) || e->units.v[x->unit].pinned) {
                continue;
            }
            if (r->n == ITEMS_MAX) {
                return false;
            }
            item_put(r, &(struct item){e, x->unit, card, x->placement,
                                       class_size(card->class, x->placement)});
            from = x->start < from ? x->start : from;
            to = x->end > to ? x->end : to;
        }
    }
    *ret_from = from;
    *ret_to = to;
    return true;
}

static bool idle(const struct repair *r, const struct card *card) {
    struct spans_at at = {0};
    int64_t gap = card->class->reconfig;
    return spans_next(&card->spans, &at, time_less(r->from, gap), time_more(r->to, gap)) == NULL;
}

/* An idle card like one that was tried before gives nothing new. */
static bool tried_alike(const struct repair *r, size_t k) {
    if (!idle(r, r->cards[k])) {
        return false;
    }
    for (size_t i = 0; i < k; i++) {
        if (r->cards[i]->class == r->cards[k]->class && idle(r, r->cards[i])) {
            return true;
        }
    }
    return false;
}

/* Where item i may go on a card. */
static uint64_t item_mask(const struct repair *r, size_t i, const struct card *card) {
    const struct item *it = &r->items[i];
    if (i == 0) {
        return card->flavor == r->w->flavor && (r->w->node == NULL || r->w->node == card->node)
                   ? r->w->masks[card->class_no]
                   : 0;
    }
    if (it->old->flavor != card->flavor ||
        (it->e->lines[it->e->units.v[it->unit].line].same_node && it->old->node != card->node)) {
        return 0;
    }
    if (it->old->class == card->class) { /* the same profile */
        const struct card_class *k = card->class;
        for (size_t m = 0; m < k->n_resources; m++) {
            if ((k->resources[m].mask & bit(it->old_placement)) != 0) {
                return k->resources[m].mask;
            }
        }
    }
    const struct class_resource *res =
        class_resource(card->class, it->e->lines[it->e->units.v[it->unit].line].resource);
    return res != NULL ? res->mask : 0;
}

static int descend(struct repair *r, size_t i);

/* Puts item i there and goes on: 1 done, 0 not this way, <0. */
static int put(struct repair *r, size_t i, struct card *card, uint8_t placement) {
    size_t mark = cal_mark(r->c);
    if (--r->steps < 0 || --r->c->steps < 0) {
        r->c->gave_up = true;
        return 0;
    }
    int x = cal_add(r->c, r->items[i].e, r->items[i].unit, card, placement);
    x = x != 0 ? x : descend(r, i + 1);
    if (x <= 0) {
        cal_undo(r->c, mark);
    }
    return x;
}

static int descend(struct repair *r, size_t i) {
    if (i == r->n) {
        return 1;
    }
    const struct item *it = &r->items[i];
    int x = 0;
    bool home =
        it->old != NULL && cal_fits_at(r->c, it->old, it->old_placement, it->e->start, it->e->end);
    if (home) {
        x = put(r, i, it->old, it->old_placement);
    }
    for (size_t k = 0; x == 0 && r->steps > 0 && k < r->n_cards; k++) {
        struct card *card = r->cards[k];
        uint64_t mask = item_mask(r, i, card);
        if (mask == 0 || tried_alike(r, k)) {
            continue;
        }
        uint64_t free = cal_card_free(r->c, card, it->e->start, it->e->end), can = free & mask;
        if (home && card == it->old) {
            can &= ~bit(it->old_placement);
        }
        while (x == 0 && can != 0 && r->steps > 0) {
            size_t best = (size_t)__builtin_ctzll(can);
            int32_t least = INT32_MAX;
            for (uint64_t m = can; m != 0; m &= m - 1) {
                size_t p = (size_t)__builtin_ctzll(m);
                int32_t loss = class_weight(card->class, free & card->class->p[p].block);
                if (loss < least) {
                    least = loss;
                    best = p;
                }
            }
            can &= ~bit(best);
            x = put(r, i, card, (uint8_t)best);
        }
    }
    return x;
}

/* Searches the cards of the set; `hops`: how often the stretch grows to what overlaps it. 1, 0, <0. */
static int search(struct repair *r, int hops, int64_t steps) {
    int64_t from, to;
    size_t mark = cal_mark(r->c);
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
    int x = 0;
    for (size_t i = 0; x == 0 && i < r->n; i++) {
        x = cal_del(r->c, r->items[i].e, r->items[i].unit);
    }
    memmove(&r->items[1], &r->items[0], r->n * sizeof(*r->items));
    r->items[0] = (struct item){.e = r->w->e, .unit = (uint16_t)r->w->unit};
    r->n++;
    r->steps = steps < r->c->steps ? steps : r->c->steps;
    x = x != 0 ? x : descend(r, 0);
    if (x <= 0) {
        cal_undo(r->c, mark);
    }
    return x;
}

/* The card has a place that only movable ones sit on. */
static bool may_help(const struct repair *r, const struct card *card) {
    const struct card_class *k = card->class;
    uint64_t free = k->all & r->w->masks[card->class_no];
    struct spans_at at = {0};
    const struct span *x;
    bool moves = false;
    while (free != 0 && (x = spans_next(&card->spans, &at, r->w->e->start, r->w->e->end)) != NULL) {
        struct entry *e = x->placement == SPAN_CLOSED ? NULL : cal_entry(r->c, x->entry);
        if (e == NULL) {
            return false;
        }
        if (!cal_movable(r->c, e) || e->units.v[x->unit].pinned) {
            free &= ~k->p[x->placement].block;
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
    const uint64_t *skip = cover_skip(r->c, r->w->flavor, (struct str){0}, from, to);
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
    struct repair r = {.c = c, .w = w};
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
