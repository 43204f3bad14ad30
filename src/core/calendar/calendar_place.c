/* calendar_place (core): where the units of an entry go. */
#include "core/calendar/calendar_private.h"

enum {
    CANDIDATES = 8,     /* cards with room that are compared */
    NODES_COMPARED = 4, /* nodes with room */
    NODES_MOVED = 4,    /* nodes on which others are moved for a line that needs one node ... */
    FEW_CARDS = 16,     /* ... but all of them in a flavor of so few cards */
};

static bool overlaps(const struct span *x, int64_t from, int64_t to) {
    return x->start < to && x->end > from;
}

static const struct span *beside(const void *look, struct class_cursor *c, int64_t from,
                                 int64_t to) {
    return spans_next(&((const struct card *)look)->spans, &c->at, from, to);
}

uint64_t cal_card_free(const struct calendar *c, const struct card *card, int64_t from,
                       int64_t to) {
    const struct card_class *k = card->class;
    uint64_t free = k->set.all;
    const struct class_cursor start = {{0}};
    struct spans_at at = {0};
    const struct span *x;
    (void)c;
    while ((x = spans_next(&card->spans, &at, time_less(from, k->reconfig),
                           time_more(to, k->reconfig))) != NULL &&
           free != 0) {
        bool now = overlaps(x, from, to);
        if (x->placement == SPAN_CLOSED) {
            free = now ? 0 : free;
        } else { /* beside it in time only the same placement may be, without a change of layout */
            free &= ~(k->set.p[x->placement].block & ~(now ? 0 : bit(x->placement)));
        }
    }
    for (uint64_t left = k->counts ? free : 0; left != 0; left &= left - 1) {
        size_t i = (size_t)__builtin_ctzll(left);
        if (!class_counts_allow(k, (uint8_t)i, from, to, beside, card, &start)) {
            free &= ~bit(i);
        }
    }
    return free;
}

bool cal_fits_at(const struct calendar *c, const struct card *card, uint8_t placement, int64_t from,
                 int64_t to) {
    return (cal_card_free(c, card, from, to) & bit(placement)) != 0;
}

void want_init(struct want *w, struct entry *e, struct flavor *f, struct str resource) {
    *w = (struct want){.e = e, .flavor = f, .resource = resource};
    for (size_t i = 0; i < f->n_classes; i++) {
        const struct class_resource *r = class_resource(f->classes[i], resource);
        w->masks[i] = r != NULL ? r->mask : 0;
    }
}

static bool skipped(const uint64_t *skip, size_t i) {
    return skip != NULL && (skip[i / 64] >> i % 64 & 1) != 0;
}

int cal_place_direct(struct calendar *c, const struct want *w, int32_t *ret_loss) {
    const struct cards *cards = w->node != NULL ? &w->node->cards : &w->flavor->cards;
    const uint64_t *skip = cover_skip(w->flavor, w->resource, w->e->start, w->e->end);
    struct card *best = NULL;
    uint8_t place = 0;
    int32_t least = INT32_MAX, fuller = INT32_MAX;
    size_t looked = 1;
    for (size_t i = 0, found = 0; i < cards->n && found < CANDIDATES; i++) {
        if (w->node == NULL && skipped(skip, i)) { /* the list's order */
            continue;
        }
        looked++;
        struct card *card = cards->v[i];
        uint64_t mask =
            card->flavor == w->flavor && !skipped(skip, card->pos) ? w->masks[card->class_no] : 0;
        uint64_t free = mask != 0 ? cal_card_free(c, card, w->e->start, w->e->end) : 0;
        if ((free & mask) == 0) {
            continue;
        }
        int32_t loss, weight = mig_set_weight(&card->class->set, free);
        uint8_t p = mig_set_least_loss(&card->class->set, free, free & mask, &loss);
        found++;
        if (loss < least || (loss == least && weight < fuller)) {
            best = card;
            place = p;
            least = loss;
            fuller = weight;
        }
    }
    cal_looked(c, looked);
    if (best == NULL) {
        return 0;
    }
    *ret_loss = least;
    int r = cal_add(c, w->e, w->unit, best, place);
    return r != 0 ? r : 1;
}

/* ---- lines ---- */

static bool unplaced(const struct unit *u) {
    return u->card == NULL && u->pool == NULL;
}

/* A unit of the line that has no place, made when there is none. */
static int unit_for(struct entry *e, uint16_t line, size_t *ret) {
    for (size_t i = 0; i < e->units.n; i++) {
        if (e->units.v[i].line == line && unplaced(&e->units.v[i])) {
            *ret = i;
            return 0;
        }
    }
    *ret = e->units.n;
    return units_push(&e->units, (struct unit){.line = line, .count = 1});
}

int64_t cal_placed(const struct entry *e, size_t line) {
    int64_t n = 0;
    for (size_t i = 0; i < e->units.n; i++) {
        const struct unit *u = &e->units.v[i];
        n += u->line == line && !unplaced(u) ? u->count : 0;
    }
    return n;
}

static struct unit *placed_unit(const struct entry *e, size_t line) {
    for (size_t i = 0; i < e->units.n; i++) {
        if (e->units.v[i].line == line && !unplaced(&e->units.v[i])) {
            return &e->units.v[i];
        }
    }
    return NULL;
}

static int place_one(struct calendar *c, struct want *w, uint16_t line, bool move, int64_t *loss) {
    int32_t one = 0;
    int r = unit_for(w->e, line, &w->unit);
    r = r != 0 ? r : cal_place_direct(c, w, &one);
    r = r != 0 || !move ? r : cal_place_exchange(c, w);
    r = r != 0 || !move ? r : cal_place_repair(c, w);
    *loss += r > 0 ? one : 0;
    return r;
}

/* Places units until `count` have a place: 1, or 0 with how many have; the journal keeps them. */
static int place_count(struct calendar *c, struct want *w, uint16_t line, int64_t count, bool move,
                       int64_t *ret_placed, int64_t *ret_loss) {
    int r = 1;
    int64_t n = cal_placed(w->e, line), loss = 0;
    for (; r > 0 && n<count; n += r> 0) {
        r = place_one(c, w, line, move, &loss);
    }
    *ret_placed = n;
    *ret_loss = loss;
    return r;
}

/* How many more units cards of the node could take now, nobody moved: an upper bound that is quick. */
static int64_t node_room(const struct calendar *c, const struct want *w, const struct node *node,
                         const uint64_t *skip) {
    int64_t n = 0;
    for (size_t i = 0; i < node->cards.n; i++) {
        const struct card *card = node->cards.v[i];
        const struct class_resource *r = card->flavor == w->flavor && !skipped(skip, card->pos)
                                             ? class_resource(card->class, w->resource)
                                             : NULL;
        n += r == NULL ? 0
                       : class_most(card->class, r, cal_card_free(c, card, w->e->start, w->e->end));
    }
    return n;
}

static const struct node *next_node(const struct flavor *f, size_t *i) {
    while (*i < f->cards.n) {
        const struct node *node = f->cards.v[(*i)++]->node;
        if (*i == f->cards.n || f->cards.v[*i]->node != node) {
            return node;
        }
    }
    return NULL;
}

struct roomy {
    const struct node *node;
    int64_t room;
};

/* The first few nodes with room for so many, the tightest first. */
static size_t roomy_nodes(const struct calendar *c, const struct want *w, int64_t need,
                          struct roomy v[NODES_COMPARED]) {
    const uint64_t *skip = cover_skip(w->flavor, w->resource, w->e->start, w->e->end);
    const struct node *node;
    size_t n = 0;
    for (size_t i = 0; n < NODES_COMPARED && (node = next_node(w->flavor, &i)) != NULL;) {
        int64_t room = node_room(c, w, node, skip);
        if (room < need) {
            continue;
        }
        size_t k = n++;
        for (; k > 0 && v[k - 1].room > room; k--) {
            v[k] = v[k - 1];
        }
        v[k] = (struct roomy){node, room};
    }
    return n;
}

/* All units of the line on this node: 1; 0 and nothing is changed. */
static int place_on_node(struct calendar *c, struct want *w, uint16_t line, int64_t count,
                         const struct node *node, bool move, int64_t *ret_placed) {
    size_t mark = cal_mark(c);
    int64_t placed, loss;
    w->node = node;
    int r = place_count(c, w, line, count, move, &placed, &loss);
    *ret_placed = placed > *ret_placed ? placed : *ret_placed;
    if (r == 0) {
        cal_undo(c, mark);
    }
    return r;
}

/* What fits on the node when it begins: with less, one would have to move who runs into it from before. */
static int64_t room_at_start(struct calendar *c, const struct want *w, const struct node *node) {
    int64_t n = 0, at = w->e->start;
    const uint64_t *skip = cover_skip(w->flavor, w->resource, at, at + 1);
    for (size_t i = 0; i < node->cards.n; i++) {
        const struct card *card = node->cards.v[i];
        const struct class_resource *r = card->flavor == w->flavor && !skipped(skip, card->pos)
                                             ? class_resource(card->class, w->resource)
                                             : NULL;
        n += r != NULL ? class_most(card->class, r, cal_card_free(c, card, at, at + 1)) : 0;
    }
    return n;
}

/* All units of the line on one node, the tightest that has room; others move only when there is none. */
static int place_together(struct calendar *c, struct want *w, uint16_t line, int64_t count,
                          int64_t *ret_placed) {
    const struct unit *held = placed_unit(w->e, line);
    struct roomy v[NODES_COMPARED];
    if (held != NULL) {
        return place_on_node(c, w, line, count, held->card->node, true, ret_placed);
    }
    cal_looked(c, w->flavor->cards.n);
    size_t n = roomy_nodes(c, w, count, v);
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = place_on_node(c, w, line, count, v[i].node, false, ret_placed);
    }
    const struct node *node;
    bool few = w->flavor->cards.n <= FEW_CARDS;
    for (size_t i = 0, tried = 0; r == 0 && (few || tried < NODES_MOVED) && c->steps > 0 &&
                                  (node = next_node(w->flavor, &i)) != NULL;) {
        if (few || room_at_start(c, w, node) >= count) {
            tried++;
            r = place_on_node(c, w, line, count, node, true, ret_placed);
        }
    }
    return r;
}

static void blame(struct calendar_why *why, enum calendar_trouble t, uint16_t line, int64_t need,
                  int64_t most, int64_t free) {
    if (t > why->trouble || (t == why->trouble && free > why->free)) {
        *why = (struct calendar_why){.trouble = t,
                                     .line = line,
                                     .need = need,
                                     .most = most > why->most ? most : why->most,
                                     .free = free,
                                     .gave_up = why->gave_up};
    }
}

static int place_in_pool(struct calendar *c, struct entry *e, uint16_t line, struct pool_of *pool,
                         struct calendar_why *why) {
    int64_t count = e->lines[line].count - cal_placed(e, line), from, to;
    int64_t least = steps_least(&pool->slack, e->start, e->end, NULL);
    if (least < count) {
        int64_t most = pool->total;
        blame(why, most < count ? CALENDAR_SMALL : CALENDAR_BUSY, line, e->lines[line].count, most,
              least > 0 ? least : 0);
        if (why->trouble == CALENDAR_BUSY &&
            steps_below(&pool->slack, e->start, e->end, count, &from, &to)) {
            why->from = from;
            why->to = to;
        }
        return 0;
    }
    size_t unit;
    int r = unit_for(e, line, &unit);
    r = r != 0 ? r : cal_use(c, e, unit, pool, count);
    return r != 0 ? r : 1;
}

/* The least that one unit takes, in memory slices. */
static int32_t size_in(const struct want *w) {
    int32_t size = INT32_MAX;
    for (size_t i = 0; i < w->flavor->n_classes; i++) {
        const struct card_class *k = w->flavor->classes[i];
        if (w->masks[i] != 0 && k->cards > 0) {
            int32_t s = class_size(k, (uint8_t)__builtin_ctzll(w->masks[i]));
            size = s < size ? s : size;
        }
    }
    return size;
}

static int place_on_cards(struct calendar *c, struct entry *e, uint16_t line, struct flavor *f,
                          struct calendar_why *why) {
    const struct entry_line *l = &e->lines[line];
    struct want w;
    int64_t placed = cal_placed(e, line), most = flavor_most(f, l->resource), from, to, loss;
    want_init(&w, e, f, l->resource);
    if (most < l->count || l->count > CALENDAR_UNITS_MAX) {
        blame(why, CALENDAR_SMALL, line, l->count, most, 0);
        return 0;
    }
    int64_t size = size_in(&w), need = (l->count - placed) * size;
    if (steps_below(&f->slack, e->start, e->end, need, &from, &to)) {
        int64_t least = steps_least(&f->slack, e->start, e->end, NULL);
        blame(why, CALENDAR_BUSY, line, l->count, most, placed + (least > 0 ? least / size : 0));
        if (why->trouble == CALENDAR_BUSY) {
            why->from = from;
            why->to = to;
        }
        return 0;
    }
    int r = l->same_node && l->count > 1 ? place_together(c, &w, line, l->count, &placed)
                                         : place_count(c, &w, line, l->count, true, &placed, &loss);
    if (r == 0) {
        blame(why, l->same_node && l->count > 1 ? CALENDAR_APART : CALENDAR_SHAPE, line, l->count,
              most, placed);
        why->from = e->start;
        why->to = e->end;
        why->gave_up = c->gave_up;
    }
    return r;
}

static int place_in(struct calendar *c, struct entry *e, uint16_t line, struct flavor *f,
                    struct calendar_why *why) {
    size_t mark = cal_mark(c), units = e->units.n;
    struct pool_of *pool = flavor_pool(f, e->lines[line].resource);
    int r = flavor_serves(f, e->lines[line].resource) ? place_on_cards(c, e, line, f, why)
            : pool != NULL                            ? place_in_pool(c, e, line, pool, why)
                                                      : 0;
    if (r == 0) {
        cal_undo(c, mark);
        e->units.n = units;
    }
    return r;
}

static int place_line(struct calendar *c, struct entry *e, uint16_t line,
                      struct calendar_why *why) {
    const struct entry_line *l = &e->lines[line];
    const struct unit *held = placed_unit(e, line);
    if (held != NULL) { /* a line is served by one flavor */
        return place_in(c, e, line, held->card != NULL ? held->card->flavor : held->pool->flavor,
                        why);
    }
    int r = 0;
    for (size_t i = 0; r == 0 && i < (l->n_flavors > 0 ? l->n_flavors : c->flavors.n); i++) {
        struct flavor *f = l->n_flavors > 0 ? cal_flavor(c, l->flavors[i]) : c->flavors.v[i];
        r = f != NULL ? place_in(c, e, line, f, why) : 0;
    }
    return r;
}

int cal_place_lines(struct calendar *c, struct entry *e, struct calendar_why *why) {
    for (uint16_t line = 0; line < e->n_lines; line++) {
        if (cal_placed(e, line) >= e->lines[line].count) {
            continue;
        }
        struct calendar_why w = {
            .trouble = CALENDAR_UNKNOWN, .line = line, .need = e->lines[line].count};
        int r = place_line(c, e, line, &w);
        if (r <= 0) {
            *why = w;
            return r == 0 ? ERR_CONFLICT : r;
        }
    }
    *why = (struct calendar_why){.trouble = CALENDAR_FITS};
    return 0;
}

/* ---- some of it ---- */

/* What serves the line, or the one flavor that can; NULL: there is a choice, which is not made for a part. */
static struct flavor *flavor_for_some(const struct calendar *c, const struct entry *e,
                                      uint16_t line) {
    const struct entry_line *l = &e->lines[line];
    const struct unit *held = placed_unit(e, line);
    struct flavor *only = NULL;
    if (held != NULL) {
        return held->card != NULL ? held->card->flavor : held->pool->flavor;
    }
    for (size_t i = 0; i < (l->n_flavors > 0 ? l->n_flavors : c->flavors.n); i++) {
        struct flavor *f = l->n_flavors > 0 ? cal_flavor(c, l->flavors[i]) : c->flavors.v[i];
        if (f != NULL && (flavor_serves(f, l->resource) || flavor_pool(f, l->resource) != NULL)) {
            if (only != NULL) {
                return NULL;
            }
            only = f;
        }
    }
    return only;
}

static int some_in_pool(struct calendar *c, struct entry *e, uint16_t line, struct pool_of *pool) {
    int64_t lacks = e->lines[line].count - cal_placed(e, line);
    int64_t least = steps_least(&pool->slack, e->start, e->end, NULL);
    int64_t count = least < lacks ? least : lacks;
    size_t unit;
    if (count <= 0) {
        return 0;
    }
    int r = unit_for(e, line, &unit);
    return r != 0 ? r : cal_use(c, e, unit, pool, count);
}

static int some_on_cards(struct calendar *c, struct entry *e, uint16_t line, struct flavor *f) {
    const struct entry_line *l = &e->lines[line];
    const struct unit *held = placed_unit(e, line);
    struct want w;
    int64_t placed, loss;
    want_init(&w, e, f, l->resource);
    if (l->same_node && l->count > 1) {
        if (held == NULL || held->card == NULL) {
            return 0; /* which node is for when there is room for all */
        }
        w.node = held->card->node;
    }
    int r = l->count <= CALENDAR_UNITS_MAX
                ? place_count(c, &w, line, l->count, false, &placed, &loss)
                : 0;
    return r < 0 ? r : 0;
}

int cal_place_some(struct calendar *c, struct entry *e) {
    int r = 0;
    for (uint16_t line = 0; r == 0 && line < e->n_lines; line++) {
        struct flavor *f =
            cal_placed(e, line) < e->lines[line].count ? flavor_for_some(c, e, line) : NULL;
        struct pool_of *pool = f != NULL ? flavor_pool(f, e->lines[line].resource) : NULL;
        if (f != NULL && flavor_serves(f, e->lines[line].resource)) {
            r = some_on_cards(c, e, line, f);
        } else if (pool != NULL) {
            r = some_in_pool(c, e, line, pool);
        }
    }
    return r;
}
