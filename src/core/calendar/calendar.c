/* calendar (core): what is booked when, and on which card: the whole, its flavors, cards and pools. */
#include "core/calendar/calendar_private.h"

void calendar_set_options(struct calendar *c, const struct calendar_options *o) {
    c->o = o != NULL ? *o : (struct calendar_options){0};
    c->o.grid_s = c->o.grid_s > 0 ? c->o.grid_s : GRID_S;
    c->o.repair_steps = c->o.repair_steps != 0 ? c->o.repair_steps : CALENDAR_REPAIR_STEPS;
    c->o.search_steps = c->o.search_steps > 0 ? c->o.search_steps : CALENDAR_SEARCH_STEPS;
    c->o.search_looks = c->o.search_looks > 0 ? c->o.search_looks : CALENDAR_SEARCH_LOOKS;
    c->most_steps = c->o.repair_steps > 0 ? c->o.repair_steps : 0;
}

struct calendar *calendar_new(const struct calendar_options *o) {
    struct calendar *c = mem_zalloc(sizeof(*c));
    if (c != NULL) {
        calendar_set_options(c, o);
        c->now = INT64_MIN;
    }
    return c;
}

static void card_free(struct card *card) {
    spans_release(&card->spans);
    mem_free(card->memory);
    mem_free(card);
}

static void pool_of_free(struct pool_of *p) {
    steps_release(&p->slack);
    mem_free(p->memory);
    mem_free(p);
}

static void flavor_free(struct flavor *f) {
    for (size_t i = 0; i < f->pools.n; i++) {
        pool_of_free(f->pools.v[i]);
    }
    for (size_t i = 0; i < f->n_classes; i++) {
        class_free(f->classes[i]);
    }
    pools_of_release(&f->pools);
    cards_release(&f->cards);
    steps_release(&f->slack);
    cover_release(&f->cover);
    mem_free(f->memory);
    mem_free(f);
}

void calendar_free(struct calendar *c) {
    size_t pos = 0;
    const struct map_entry *m;
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->entries.n; i++) {
        entry_free(c->entries.v[i]);
    }
    for (size_t i = 0; i < c->windows.n; i++) {
        mem_free(c->windows.v[i]->memory);
        mem_free(c->windows.v[i]);
    }
    for (size_t i = 0; i < c->cards.n; i++) {
        card_free(c->cards.v[i]);
    }
    while ((m = map_next(&c->node_by, &pos)) != NULL) {
        struct node *node = m->value;
        cards_release(&node->cards);
        mem_free(node->memory);
        mem_free(node);
    }
    for (size_t i = 0; i < c->flavors.n; i++) {
        flavor_free(c->flavors.v[i]);
    }
    map_release(&c->flavor_by);
    map_release(&c->node_by);
    map_release(&c->card_by);
    map_release(&c->entry_by);
    flavors_release(&c->flavors);
    cards_release(&c->cards);
    entries_release(&c->entries);
    numbers_release(&c->free_entries);
    windows_release(&c->windows);
    spans_release(&c->time);
    spans_store_release(&c->store);
    ops_release(&c->journal);
    ranges_release(&c->forgotten);
    numbers_release(&c->moved);
    mem_free(c);
}

void calendar_now(struct calendar *c, int64_t now) {
    c->now = now > c->now ? now : c->now;
}

struct flavor *cal_flavor(const struct calendar *c, struct str name) {
    return map_get(&c->flavor_by, name);
}

struct pool_of *flavor_pool(const struct flavor *f, struct str resource) {
    for (size_t i = 0; i < f->pools.n; i++) {
        if (str_eq(f->pools.v[i]->resource, resource)) {
            return f->pools.v[i];
        }
    }
    return NULL;
}

bool flavor_serves(const struct flavor *f, struct str resource) {
    for (size_t i = 0; i < f->n_classes; i++) {
        if (f->classes[i]->cards > 0 && class_resource(f->classes[i], resource) != NULL) {
            return true;
        }
    }
    return false;
}

int64_t flavor_most(const struct flavor *f, struct str resource) {
    int64_t n = 0;
    for (size_t i = 0; i < f->n_classes; i++) {
        const struct class_resource *r = class_resource(f->classes[i], resource);
        n += r != NULL ? (int64_t)f->classes[i]->cards * r->most : 0;
    }
    return n;
}

/* ---- made when first named ---- */

static int flavor_get(struct calendar *c, struct str name, struct flavor **ret) {
    struct flavor *f = cal_flavor(c, name);
    if (f != NULL) {
        *ret = f;
        return 0;
    }
    f = mem_zalloc(sizeof(*f));
    char *copy = mem_cstr(name);
    if (f == NULL || copy == NULL || flavors_room(&c->flavors, 1) != 0) {
        mem_free(f);
        mem_free(copy);
        return ERR_NOMEM;
    }
    f->memory = copy;
    f->cover.stale = true;
    f->name = str_from(copy, name.n);
    if (map_put(&c->flavor_by, f->name, f, NULL) != 0) {
        flavor_free(f);
        return ERR_NOMEM;
    }
    size_t i = c->flavors.n++;
    for (; i > 0 && str_cmp(c->flavors.v[i - 1]->name, name) > 0; i--) {
        c->flavors.v[i] = c->flavors.v[i - 1];
    }
    c->flavors.v[i] = f;
    *ret = f;
    return 0;
}

static int node_get(struct calendar *c, struct str name, struct node **ret) {
    struct node *node = map_get(&c->node_by, name);
    if (node == NULL) {
        node = mem_zalloc(sizeof(*node));
        char *copy = mem_cstr(name);
        if (node == NULL || copy == NULL) {
            mem_free(node);
            mem_free(copy);
            return ERR_NOMEM;
        }
        node->memory = copy;
        node->name = str_from(copy, name.n);
        if (map_put(&c->node_by, node->name, node, NULL) != 0) {
            mem_free(copy);
            mem_free(node);
            return ERR_NOMEM;
        }
    }
    *ret = node;
    return 0;
}

static int pool_get(struct flavor *f, struct str resource, struct pool_of **ret) {
    struct pool_of *p = flavor_pool(f, resource);
    if (p == NULL) {
        p = mem_zalloc(sizeof(*p));
        char *copy = mem_cstr(resource);
        if (p == NULL || copy == NULL || pools_of_push(&f->pools, p) != 0) {
            mem_free(p);
            mem_free(copy);
            return ERR_NOMEM;
        }
        p->memory = copy;
        p->resource = str_from(copy, resource.n);
        p->flavor = f;
    }
    *ret = p;
    return 0;
}

/* ---- cards ---- */

static int card_cmp(const struct card *a, const struct card *b) {
    int r = str_cmp(a->node->name, b->node->name);
    r = r != 0 ? r : (a->index > b->index) - (a->index < b->index);
    return r != 0 ? r : str_cmp(a->uuid, b->uuid);
}

/* There is room. */
static void card_into(struct cards *list, struct card *card) {
    size_t i = list->n++;
    for (; i > 0 && card_cmp(list->v[i - 1], card) > 0; i--) {
        list->v[i] = list->v[i - 1];
    }
    list->v[i] = card;
}

static void card_out(struct cards *list, const struct card *card) {
    for (size_t i = 0; i < list->n; i++) {
        if (list->v[i] == card) {
            cards_remove(list, i);
            return;
        }
    }
}

static bool closes(const struct window *w, const struct card *card) {
    for (size_t i = 0; i < w->n_nodes; i++) {
        if (str_eq(w->nodes[i], card->node->name)) {
            return true;
        }
    }
    return false;
}

/* Out of service before and after its time, and in the windows of its node. */
static int card_close(struct calendar *c, struct card *card) {
    int r = 0;
    if (card->to != 0 || card->from != 0) {
        r = card->from > INT64_MIN ? cal_close(c, card, INT64_MIN, card->from, 0) : 0;
        r = r == 0 && card->to != 0 && card->to < CALENDAR_FOREVER
                ? cal_close(c, card, card->to, CALENDAR_FOREVER, 1)
                : r;
    }
    for (size_t i = 0; r == 0 && i < c->windows.n; i++) {
        struct entry *e = c->windows.v[i]->entry;
        if (e == NULL || !closes(c->windows.v[i], card)) {
            continue;
        }
        size_t unit = 0;
        while (unit < e->units.n && e->units.v[unit].card != NULL) {
            unit++;
        }
        r = unit < e->units.n ? 0 : units_push(&e->units, (struct unit){.count = 1});
        r = r != 0 ? r : cal_add(c, e, unit, card, SPAN_CLOSED);
    }
    return r;
}

/* Takes whatever the card has from it: units that lost their place are broken. */
static void card_clear(struct calendar *c, struct card *card) {
    struct spans_at at = {0};
    const struct span *x;
    while ((x = spans_next(&card->spans, &at, INT64_MIN, CALENDAR_FOREVER)) != NULL) {
        struct span was = *x;
        if ((was.entry & CLOSED_BIT) != 0) {
            cal_reopen(c, card, was.start, was.end, was.entry & ~CLOSED_BIT);
        } else {
            cal_lose(c, cal_entry(c, was.entry), was.unit);
        }
        at = (struct spans_at){0};
    }
}

static int32_t card_slices(const struct card *card) {
    return card->class->set.slices > 0 ? card->class->set.slices : 1;
}

static void card_gone(struct calendar *c, struct card *card) {
    card_clear(c, card);
    card->class->cards--;
    card->flavor->slack.base -= card_slices(card);
    card->flavor->cover.stale = true;
    card_out(&card->flavor->cards, card);
    card_out(&card->node->cards, card);
    card_out(&c->cards, card);
    if (map_get(&c->card_by, card->uuid) == card) {
        (void)map_del(&c->card_by, card->uuid);
    }
    card_free(card);
}

/* Who sat where on a card that comes back changed. */
struct seated {
    struct entry *e;
    uint16_t unit;
    int16_t size;
    int8_t start;
    bool whole;
    struct str profile; /* in the old class, which lives until the flavor has a use for its place */
};
VEC(seats, struct seated);

static int note_seats(struct calendar *c, const struct card *card, struct seats *ret) {
    struct spans_at at = {0};
    const struct span *x;
    while ((x = spans_next(&card->spans, &at, INT64_MIN, CALENDAR_FOREVER)) != NULL) {
        if (x->placement == SPAN_CLOSED) {
            continue;
        }
        const struct mig_place *p = &card->class->set.p[x->placement];
        struct seated s = {.e = cal_entry(c, x->entry),
                           .unit = x->unit,
                           .start = p->start,
                           .whole = p->profile == NOWHERE};
        s.profile = s.whole ? (struct str){0} : card->class->profiles[p->profile].name;
        int r = seats_push(ret, s);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static void sit_again(struct calendar *c, struct card *card, const struct seats *seats) {
    for (size_t i = 0; i < seats->n; i++) {
        const struct seated *s = &seats->v[i];
        for (size_t k = 0; k < card->class->set.n; k++) {
            const struct mig_place *p = &card->class->set.p[k];
            bool same = s->whole ? p->profile == NOWHERE
                                 : p->profile != NOWHERE && p->start == s->start &&
                                       str_eq(card->class->profiles[p->profile].name, s->profile);
            if (same && cal_fits_at(c, card, (uint8_t)k, s->e->start, s->e->end)) {
                (void)cal_add(c, s->e, s->unit, card,
                              (uint8_t)k); /* no memory: it is placed anew */
                break;
            }
        }
    }
}

static bool card_unchanged(const struct card *card, const struct calendar_card *in,
                           uint16_t class_no) {
    return card->class_no == class_no && str_eq(card->flavor->name, in->flavor) &&
           str_eq(card->node->name, in->node) && card->index == in->index &&
           card->from == in->from && card->to == in->to;
}

static int card_new(struct calendar *c, const struct calendar_card *in, struct flavor *f,
                    uint16_t class_no, struct card **ret) {
    struct node *node;
    struct card *card = mem_zalloc(sizeof(*card));
    char *copy = mem_cstr(in->uuid);
    if (card == NULL || copy == NULL || node_get(c, in->node, &node) != 0 ||
        cards_room(&node->cards, 1) != 0 || cards_room(&f->cards, 1) != 0 ||
        cards_room(&c->cards, 1) != 0) {
        mem_free(card);
        mem_free(copy);
        return ERR_NOMEM;
    }
    *card = (struct card){.flavor = f,
                          .node = node,
                          .uuid = str_from(copy, in->uuid.n),
                          .class = f->classes[class_no],
                          .class_no = class_no,
                          .index = in->index,
                          .from = in->from,
                          .to = in->to,
                          .memory = copy};
    if (map_put(&c->card_by, card->uuid, card, NULL) != 0) {
        card_free(card);
        return ERR_NOMEM;
    }
    card_into(&node->cards, card);
    card_into(&f->cards, card);
    f->cover.stale = true;
    (void)cards_push(&c->cards, card);
    card->class->cards++;
    f->slack.base += card_slices(card);
    *ret = card;
    return 0;
}

/* A new card, or another in the place of `old` (may be NULL), which is there still, with all that it has. */
static int card_enter(struct calendar *c, const struct calendar_card *in, struct flavor *f,
                      uint16_t class_no, struct card *old, struct card **ret) {
    struct card *card;
    int r = card_new(c, in, f, class_no, &card);
    if (r != 0) {
        return r;
    }
    r = card_close(c, card);
    if (r != 0) {
        cal_undo(c, 0);
        if (old != NULL) {
            (void)map_put(&c->card_by, old->uuid, old, NULL); /* replaces: cannot fail */
        }
        card_gone(c, card);
        return r;
    }
    *ret = card;
    return 0;
}

static int card_check(const struct calendar *c, const struct calendar_card *in, bool known,
                      struct err *err) {
    if (str_empty(in->uuid) || str_empty(in->flavor) || in->slices < 0 ||
        in->slices > INVENTORY_SLICES_MAX || in->n_profiles > INVENTORY_PROFILES_MAX ||
        in->reconfig_s < 0) {
        return err_set(err, ERR_INVALID, "GPU %.*s: uuid, flavor or slices", STR_ARG(in->uuid));
    }
    if (!known && c->cards.n >= CALENDAR_CARDS_MAX) {
        return err_set(err, ERR_TOO_MANY, "more than %d GPUs", CALENDAR_CARDS_MAX);
    }
    return 0;
}

int calendar_card_put(struct calendar *c, const struct calendar_card *in, struct err *err) {
    struct card *old = map_get(&c->card_by, in->uuid), *card;
    struct flavor *f;
    struct seats seats = {0};
    uint16_t class_no;
    int r = card_check(c, in, old != NULL, err);
    r = r != 0 ? r : flavor_get(c, in->flavor, &f);
    r = r != 0 ? r : class_find(f, in, &class_no, err);
    if (r != 0 || (old != NULL && card_unchanged(old, in, class_no))) {
        return r;
    }
    r = old != NULL ? note_seats(c, old, &seats) : 0;
    r = r != 0 ? r : numbers_room(&c->moved, seats.n);
    r = r != 0 ? r : card_enter(c, in, f, class_no, old, &card);
    if (r != 0) {
        seats_release(&seats);
        return err_set(err, r, "GPU %.*s: out of memory", STR_ARG(in->uuid));
    }
    if (old != NULL) {
        bool same_flavor = old->flavor == f;
        card_gone(c, old);
        if (same_flavor) {
            sit_again(c, card, &seats);
        }
    }
    seats_release(&seats);
    cal_commit(c, NULL, NULL);
    (void)calendar_heal(c);
    return 0;
}

int calendar_card_del(struct calendar *c, struct str uuid) {
    struct card *card = map_get(&c->card_by, uuid);
    if (card == NULL) {
        return ERR_NOT_FOUND;
    }
    card_gone(c, card);
    (void)calendar_heal(c);
    return 0;
}

bool calendar_card_next(const struct calendar *c, size_t *pos, struct calendar_card *ret) {
    if (*pos >= c->cards.n) {
        return false;
    }
    const struct card *card = c->cards.v[(*pos)++];
    *ret = (struct calendar_card){.node = card->node->name,
                                  .uuid = card->uuid,
                                  .flavor = card->flavor->name,
                                  .index = card->index,
                                  .slices = card->class->set.slices,
                                  .dynamic = card->class->dynamic,
                                  .reconfig_s = (int32_t)card->class->reconfig,
                                  .from = card->from,
                                  .to = card->to};
    return true;
}

/* ---- pools ---- */

int calendar_pool_put(struct calendar *c, struct str flavor, struct str resource, int64_t total,
                      struct err *err) {
    struct flavor *f;
    struct pool_of *p;
    if (str_empty(flavor) || str_empty(resource) || total < 0) {
        return err_set(err, ERR_INVALID, "a pool has a flavor, a resource and a total");
    }
    if (flavor_get(c, flavor, &f) != 0 || pool_get(f, resource, &p) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    int64_t change = total - p->total;
    p->total = total;
    p->slack.base += change;
    if (change < 0) {
        int r = cal_shed(c, p, NULL);
        if (r != 0) {
            cal_undo(c, 0);
            p->total -= change;
            p->slack.base -= change;
            return err_set(err, r, "out of memory");
        }
        cal_commit(c, NULL, NULL);
    }
    if (change != 0) {
        (void)calendar_heal(c);
    }
    return 0;
}
