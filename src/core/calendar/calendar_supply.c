/*
 * calendar_supply (core): capacity that shrinks (windows, lost cards): which bookings lose their place, and
 * which find another.
 */
#include <stdlib.h>

#include "core/calendar/calendar_private.h"

enum { VICTIMS_MAX = 64, HEAL_BUDGET = 10 /* times the steps of one repair */ };

/* Who goes first when there is too little: lower rank, then later order. */
static int weaker_first(const void *pa, const void *pb) {
    const struct entry *a = *(struct entry *const *)pa, *b = *(struct entry *const *)pb;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->order != b->order) {
        return a->order > b->order ? -1 : 1;
    }
    return (a->born < b->born) - (a->born > b->born);
}

static bool in_pool(const struct entry *e, const struct pool_of *p, size_t *ret_unit) {
    for (size_t i = 0; i < e->units.n; i++) {
        if (e->units.v[i].pool == p) {
            *ret_unit = i;
            return true;
        }
    }
    return false;
}

/* The unit gives back so many, or all that it has. */
static int give_back(struct calendar *c, struct entry *e, size_t unit, int64_t n) {
    struct pool_of *p = e->units.v[unit].pool;
    int64_t had = e->units.v[unit].count;
    int r = cal_unuse(c, e, unit);
    return r != 0 || had <= n ? r : cal_use(c, e, unit, p, had - n);
}

int cal_shed(struct calendar *c, struct pool_of *p, const struct entry *keep) {
    int64_t from, to;
    int r = 0;
    while (r == 0 && steps_below(&p->slack, INT64_MIN, CALENDAR_FOREVER, 0, &from, &to)) {
        struct entry *weakest = NULL;
        struct spans_at at = {0};
        const struct span *x;
        size_t unit = 0, found;
        while ((x = spans_next(&c->time, &at, from, to)) != NULL) {
            struct entry *e = cal_entry(c, x->entry);
            if (e != keep && !e->closed && in_pool(e, p, &found) &&
                (weakest == NULL || weaker_first(&e, &weakest) < 0)) {
                weakest = e;
                unit = found;
            }
        }
        if (weakest == NULL) {
            return 0; /* windows alone overdraw it */
        }
        r = give_back(c, weakest, unit, -steps_least(&p->slack, from, to, NULL));
    }
    return r;
}

/* ---- healing ---- */

static bool wants(const struct entry *e, const struct flavor *f) {
    for (size_t i = 0; i < e->n_lines; i++) {
        const struct entry_line *l = &e->lines[i];
        for (size_t k = 0; k < l->n_flavors; k++) {
            if (str_eq(l->flavors[k], f->name)) {
                return true;
            }
        }
        if (l->n_flavors == 0) {
            return true;
        }
    }
    return false;
}

static bool may_yield(const struct calendar *c, const struct entry *v, const struct entry *e) {
    if (v == e || v->closed || v->floating || v->fixed || v->start <= c->now || cal_lacks(v) ||
        weaker_first(&v, &e) > 0) {
        return false;
    }
    for (size_t i = 0; i < v->units.n; i++) {
        const struct unit *u = &v->units.v[i]; /* left over from another flavor, it has neither */
        const struct flavor *f = u->card != NULL   ? u->card->flavor
                                 : u->pool != NULL ? u->pool->flavor
                                                   : NULL;
        if (f != NULL && wants(e, f)) {
            return true;
        }
    }
    return false;
}

static int take_all(struct calendar *c, struct entry *e) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < e->units.n; i++) {
        r = e->units.v[i].card != NULL   ? cal_del(c, e, i)
            : e->units.v[i].pool != NULL ? cal_unuse(c, e, i)
                                         : 0;
    }
    return r;
}

/* Takes the places of weaker ones that have not started until e finds room; those that still fit get them back. */
static int displace(struct calendar *c, struct entry *e) {
    struct entry *v[VICTIMS_MAX];
    struct calendar_why why;
    struct spans_at at = {0};
    const struct span *x;
    size_t n = 0, taken = 0, mark = cal_mark(c);
    while (n < VICTIMS_MAX && c->looks != 1 &&
           (x = spans_next(&c->time, &at, e->start, e->end)) != NULL) {
        struct entry *other = cal_entry(c, x->entry);
        cal_looked(c, 1);
        if (may_yield(c, other, e)) {
            v[n++] = other;
        }
    }
    qsort(v, n, sizeof(*v), weaker_first);
    int64_t steps = c->steps;
    int r = ERR_CONFLICT;
    while (r == ERR_CONFLICT && taken < n && c->looks != 1) {
        r = take_all(c, v[taken++]);
        c->steps = 0; /* room was made: nobody else need move */
        r = r != 0 ? r : cal_place_lines(c, e, &why);
    }
    for (; r == 0 && taken > 0; taken--) {
        size_t before = cal_mark(c);
        int back = cal_place_lines(c, v[taken - 1], &why);
        if (back != 0) {
            cal_undo(c, before);
            r = back == ERR_CONFLICT ? 0 : back;
        }
    }
    c->steps = steps;
    if (r != 0) {
        cal_undo(c, mark);
    }
    return r;
}

static int list_lacking(const struct calendar *c, struct entries *ret) {
    for (size_t i = 0; i < c->entries.n; i++) {
        struct entry *e = c->entries.v[i];
        if (e != NULL && cal_lacks(e)) {
            int r = entries_push(ret, e);
            if (r != 0) {
                return r;
            }
        }
    }
    if (ret->n > 0) {
        qsort(ret->v, ret->n, sizeof(*ret->v), weaker_first);
    }
    return 0;
}

/* All of it somewhere else, when its places may change. */
static int place_anew(struct calendar *c, struct entry *e) {
    struct calendar_why why;
    size_t mark = cal_mark(c);
    int r = cal_movable(c, e) ? take_all(c, e) : ERR_CONFLICT;
    r = r != 0 ? r : cal_place_lines(c, e, &why);
    if (r != 0) {
        cal_undo(c, mark);
    }
    return r;
}

/* At its places and others, or all of it elsewhere, or in those of weaker ones; else it takes what there is, so that
 * nobody else is offered it first. */
static int heal_one(struct calendar *c, struct entry *e) {
    struct calendar_why why;
    size_t mark = cal_mark(c);
    int r = cal_place_lines(c, e, &why);
    if (r == ERR_CONFLICT) {
        cal_undo(c, mark);
        r = place_anew(c, e);
    }
    r = r == ERR_CONFLICT ? displace(c, e) : r;
    return r == ERR_CONFLICT ? cal_place_some(c, e) : r;
}

/* Had it its turn in this round? */
static bool had_turn(const struct calendar *c, const struct entry *e) {
    return c->heal.begun && weaker_first(&e, &(const struct entry *){&c->heal.last}) >= 0;
}

/* Places all that lacks places, strongest first; in the journal. Only ERR_NOMEM fails. A round that ends early, as it
 * has looked at so much, goes on the next time behind the last one. */
static int heal(struct calendar *c, struct entries *lacking) {
    int64_t budget = c->o.repair_steps < 0 ? 0 : (int64_t)c->o.repair_steps * HEAL_BUDGET;
    bool outer = c->looks == 0, tried = false;
    cover_ready(c);
    int r = list_lacking(c, lacking);
    size_t i = r == 0 ? lacking->n : 0;
    struct entry *e = NULL;
    c->looks = outer ? c->o.search_looks + 1 : c->looks;
    while (r == 0 && i > 0 && (!tried || c->looks != 1)) {
        e = lacking->v[--i];
        if (had_turn(c, e)) {
            continue;
        }
        int64_t before = budget < c->o.repair_steps ? budget : c->o.repair_steps;
        c->steps = before;
        c->gave_up = false;
        r = heal_one(c, e);
        budget -= before > 0 ? before - c->steps : 0;
        tried = true;
    }
    c->looks = outer ? 0 : c->looks;
    if (r == 0 && i > 0) {
        c->heal.due = c->heal.begun = true;
        c->heal.last = (struct entry){.rank = e->rank, .order = e->order, .born = e->born};
    } else if (r == 0) { /* the next round begins with the strongest */
        c->heal = (struct heal_round){.due = c->heal.again};
    }
    return r;
}

/* Who has some of it back; who has lost some is noted in any case. */
static void note_gained(struct calendar *c) {
    for (size_t i = 0; i < c->journal.n; i++) {
        struct entry *e = cal_entry(c, c->journal.v[i].span.entry);
        if (e->broken) {
            cal_note_moved(c, e);
        }
    }
}

size_t calendar_heal(struct calendar *c) {
    c->heal.again = c->heal.begun; /* a round under way has passed some of what may fit now */
    c->heal.due = c->broken > 0;
    return calendar_heal_on(c);
}

bool calendar_heal_due(const struct calendar *c) {
    return c->heal.due;
}

size_t calendar_heal_on(struct calendar *c) {
    struct entries lacking = {0};
    size_t healed = 0;
    if (c->broken == 0) {
        c->heal = (struct heal_round){0};
    }
    if (!c->heal.due) {
        return 0;
    }
    if (heal(c, &lacking) == 0) {
        note_gained(c);
        cal_commit(c, NULL, NULL);
        for (size_t i = 0; i < lacking.n; i++) {
            if (!cal_lacks(lacking.v[i])) {
                cal_note_moved(c, lacking.v[i]);
                healed++;
            }
        }
    } else {
        cal_undo(c, 0);
    }
    entries_release(&lacking);
    return healed;
}

/* ---- windows ---- */

static int window_check_input(const struct calendar *c, const struct calendar_window *w,
                              struct err *err) {
    if (w->start >= w->end || str_empty(w->id)) {
        return err_set(err, ERR_INVALID, "a window has a name, a start, and an end after it");
    }
    if (w->n_nodes > 0) {
        return 0;
    }
    const struct flavor *f = cal_flavor(c, w->flavor);
    if (str_empty(w->flavor) || str_empty(w->resource) || w->delta == 0) {
        return err_set(err, ERR_INVALID, "a window names nodes, or flavor, resource and count");
    }
    if (f != NULL && flavor_serves(f, w->resource) && w->delta > 0) {
        return err_set(err, ERR_UNSUPPORTED, "%.*s of flavor %.*s comes with cards: add those",
                       STR_ARG(w->resource), STR_ARG(w->flavor));
    }
    return 0;
}

static bool names(const struct calendar_window *w, const struct card *card) {
    for (size_t i = 0; i < w->n_nodes; i++) {
        if (str_eq(w->nodes[i], card->node->name)) {
            return true;
        }
    }
    return false;
}

/* Everybody leaves the card for the time of the window's entry, and the card is closed. */
static int close_card(struct calendar *c, struct entry *e, struct card *card) {
    int r = 0;
    struct spans_at at = {0};
    const struct span *x;
    while (r == 0 && (x = spans_next(&card->spans, &at, e->start, e->end)) != NULL) {
        if (x->placement != SPAN_CLOSED) {
            r = cal_del(c, cal_entry(c, x->entry), x->unit);
            at = (struct spans_at){0};
        }
    }
    r = r != 0 ? r : units_push(&e->units, (struct unit){.count = 1});
    return r != 0 ? r : cal_add(c, e, e->units.n - 1, card, SPAN_CLOSED);
}

/* The window's entry with all that it keeps away, in the journal; not in the map of ids. `old` (may be NULL) lets go of
 * all that it keeps away, in the journal as well. */
static int window_enter(struct calendar *c, const struct calendar_window *w, struct entry *old,
                        struct entry **ret) {
    struct calendar_line line = {.resource = w->resource,
                                 .count = w->delta < 0 ? -w->delta : 1,
                                 .flavors = &w->flavor,
                                 .n_flavors = 1};
    struct calendar_ask ask = {.id = w->id,
                               .start = w->start,
                               .end = w->end,
                               .lines = &line,
                               .n_lines = w->n_nodes > 0 || w->delta > 0 ? 0 : 1,
                               .rank = INT32_MAX,
                               .order = INT64_MIN,
                               .floating = true};
    struct entry *e;
    cover_ready(c);
    int r = entry_new(&ask, &e);
    if (r != 0) {
        return r;
    }
    e->closed = true;
    r = entry_add(c, e);
    if (r != 0) {
        entry_free(e);
        return r;
    }
    r = old != NULL ? take_all(c, old) : 0;
    for (size_t i = 0; r == 0 && w->n_nodes > 0 && i < c->cards.n; i++) {
        r = names(w, c->cards.v[i]) ? close_card(c, e, c->cards.v[i]) : 0;
    }
    struct flavor *f = w->n_nodes > 0 ? NULL : cal_flavor(c, w->flavor);
    struct pool_of *p =
        f == NULL || flavor_serves(f, w->resource) ? NULL : flavor_pool(f, w->resource);
    if (r == 0 && w->n_nodes == 0) {
        r = units_push(&e->units, (struct unit){.count = 1}); /* on cards: found by healing */
        r = r != 0 || p == NULL ? r : cal_use(c, e, 0, p, -w->delta);
        r = r != 0 || p == NULL ? r : cal_shed(c, p, e);
    }
    if (r != 0) {
        cal_try_end(c, e);
        return r;
    }
    *ret = e;
    return 0;
}

static size_t window_at(const struct calendar *c, struct str id) {
    size_t i = 0;
    while (i < c->windows.n && !str_eq(c->windows.v[i]->id, id)) {
        i++;
    }
    return i;
}

static void window_drop(struct calendar *c, size_t i) {
    struct window *w = c->windows.v[i];
    entry_drop(c, w->entry);
    entry_free(w->entry);
    windows_remove(&c->windows, i);
    mem_free(w->memory);
    mem_free(w);
}

int calendar_window_del(struct calendar *c, struct str id) {
    size_t i = window_at(c, id);
    if (i == c->windows.n) {
        return ERR_NOT_FOUND;
    }
    window_drop(c, i);
    (void)calendar_heal(c);
    return 0;
}

static int window_copy(const struct calendar_window *in, struct window **ret) {
    size_t bytes = in->id.n + in->flavor.n + in->resource.n + in->n_nodes * sizeof(struct str) + 1;
    for (size_t i = 0; i < in->n_nodes; i++) {
        bytes += in->nodes[i].n;
    }
    struct window *w = mem_zalloc(sizeof(*w));
    char *p = mem_zalloc(bytes);
    if (w == NULL || p == NULL) {
        mem_free(w);
        mem_free(p);
        return ERR_NOMEM;
    }
    *w = (struct window){.start = in->start,
                         .end = in->end,
                         .nodes = (struct str *)(void *)p,
                         .n_nodes = in->n_nodes,
                         .delta = in->delta,
                         .memory = p};
    p += in->n_nodes * sizeof(struct str);
    struct {
        struct str *to;
        struct str from;
    } parts[] = {{&w->id, in->id}, {&w->flavor, in->flavor}, {&w->resource, in->resource}};
    for (size_t i = 0; i < 3 + in->n_nodes; i++) {
        struct str from = i < 3 ? parts[i].from : in->nodes[i - 3];
        struct str *to = i < 3 ? parts[i].to : &w->nodes[i - 3];
        *to = str_from(p, from.n);
        if (from.n > 0) {
            memcpy(p, from.p, from.n);
        }
        p += from.n;
    }
    *ret = w;
    return 0;
}

static bool window_same(const struct window *a, const struct calendar_window *b) {
    bool same = a->start == b->start && a->end == b->end && a->n_nodes == b->n_nodes &&
                a->delta == b->delta && str_eq(a->flavor, b->flavor) &&
                str_eq(a->resource, b->resource);
    for (size_t i = 0; same && i < a->n_nodes; i++) {
        same = str_eq(a->nodes[i], b->nodes[i]);
    }
    return same;
}

int calendar_window_put(struct calendar *c, const struct calendar_window *in, struct err *err) {
    size_t i = window_at(c, in->id);
    struct window *w = NULL;
    int r = window_check_input(c, in, err);
    if (r != 0 || (i < c->windows.n && window_same(c->windows.v[i], in))) {
        return r;
    }
    if (windows_room(&c->windows, 1) != 0 || window_copy(in, &w) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    struct entry *old = i < c->windows.n ? c->windows.v[i]->entry : NULL;
    r = window_enter(c, in, old, &w->entry);
    if (r != 0) {
        mem_free(w->memory);
        mem_free(w);
        return err_set(err, r, "out of memory");
    }
    cal_commit(c, w->entry, old);
    if (old != NULL) {
        window_drop(c, i);
    }
    if (!w->entry->broken &&
        cal_lacks(w->entry)) { /* units of cards: nothing of them is in the journal yet */
        w->entry->broken = true;
        c->broken++;
    }
    (void)windows_push(&c->windows, w);
    (void)calendar_heal(c);
    return 0;
}

int calendar_window_check(struct calendar *c, const struct calendar_window *in, struct arena *a,
                          struct str **ret_ids, size_t *ret_n, struct err *err) {
    struct entries lacking = {0};
    struct entry *e = NULL;
    size_t n = 0;
    int r = window_check_input(c, in, err);
    r = r != 0 ? r : window_enter(c, in, NULL, &e);
    if (r != 0) {
        return r;
    }
    struct heal_round round = c->heal;
    r = heal(c, &lacking);
    c->heal = round;
    lacking.n = 0;
    r = r != 0 ? r : list_lacking(c, &lacking);
    struct str *ids = ARENA_ARRAY(a, struct str, lacking.n + 1);
    r = ids == NULL ? ERR_NOMEM : r;
    for (size_t i = 0; r == 0 && i < lacking.n; i++) {
        if (!lacking.v[i]->broken && !lacking.v[i]->closed) {
            ids[n++] = lacking.v[i]->id;
        }
    }
    entries_release(&lacking);
    cal_try_end(c, e);
    if (r != 0) {
        return err_set(err, r, "out of memory");
    }
    *ret_ids = ids;
    *ret_n = n;
    return 0;
}
