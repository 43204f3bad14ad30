/* calendar_entry (core): entries: accepted, changed, restored, taken away. */
#include "core/calendar/calendar_private.h"

static void put_str(char **p, struct str *to, struct str from) {
    to->p = *p;
    to->n = from.n;
    if (from.n > 0) {
        memcpy(*p, from.p, from.n);
    }
    *p += from.n;
}

static size_t ask_bytes(const struct calendar_ask *ask) {
    size_t n = ask->id.n + ask->n_lines * sizeof(struct entry_line);
    for (size_t i = 0; i < ask->n_lines; i++) {
        const struct calendar_line *l = &ask->lines[i];
        n += l->resource.n + l->n_flavors * sizeof(struct str);
        for (size_t k = 0; k < l->n_flavors; k++) {
            n += l->flavors[k].n;
        }
    }
    return n + 1;
}

int entry_new(const struct calendar_ask *ask, struct entry **ret) {
    struct entry *e = mem_zalloc(sizeof(*e));
    char *p = mem_zalloc(ask_bytes(ask));
    if (e == NULL || p == NULL) {
        mem_free(e);
        mem_free(p);
        return ERR_NOMEM;
    }
    *e = (struct entry){.start = ask->start,
                        .end = ask->end,
                        .lines = (struct entry_line *)(void *)p,
                        .n_lines = ask->n_lines,
                        .rank = ask->rank,
                        .order = ask->order,
                        .floating = ask->floating,
                        .fixed = ask->fixed,
                        .memory = p};
    p += ask->n_lines * sizeof(struct entry_line);
    for (size_t i = 0; i < ask->n_lines; i++) {
        e->lines[i].flavors = (struct str *)(void *)p;
        p += ask->lines[i].n_flavors * sizeof(struct str);
    }
    put_str(&p, &e->id, ask->id);
    for (size_t i = 0; i < ask->n_lines; i++) {
        const struct calendar_line *l = &ask->lines[i];
        e->lines[i].count = l->count;
        e->lines[i].n_flavors = l->n_flavors;
        e->lines[i].same_node = l->same_node;
        put_str(&p, &e->lines[i].resource, l->resource);
        for (size_t k = 0; k < l->n_flavors; k++) {
            put_str(&p, &e->lines[i].flavors[k], l->flavors[k]);
        }
    }
    *ret = e;
    return 0;
}

void entry_free(struct entry *e) {
    if (e != NULL) {
        units_release(&e->units);
        mem_free(e->memory);
        mem_free(e);
    }
}

static struct span time_span(const struct entry *e) {
    return (struct span){.start = e->start, .end = e->end, .entry = e->number};
}

int entry_add(struct calendar *c, struct entry *e) {
    bool anew = c->free_entries.n == 0;
    int r = anew ? entries_room(&c->entries, 1) : 0;
    /* so that a number can always be given back */
    r = r != 0 ? r : numbers_room(&c->free_entries, c->entries.n + 1 - c->free_entries.n);
    if (r != 0) {
        return r;
    }
    e->number = anew ? (uint32_t)c->entries.n : c->free_entries.v[c->free_entries.n - 1];
    struct span x = time_span(e);
    r = spans_insert(&c->time, &c->store, &x);
    if (r != 0) {
        return r;
    }
    if (anew) {
        (void)entries_push(&c->entries, e);
    } else {
        c->free_entries.n--;
        c->entries.v[e->number] = e;
    }
    e->born = c->births++;
    return 0;
}

void entry_drop(struct calendar *c, struct entry *e) {
    struct span x = time_span(e);
    cal_release(c, e);
    (void)spans_remove(&c->time, &c->store, &x);
    c->broken -= e->broken;
    c->entries.v[e->number] = NULL;
    (void)numbers_push(&c->free_entries, e->number);
}

int ask_check(const struct calendar_ask *ask) {
    if (str_empty(ask->id) || ask->start >= ask->end || ask->n_lines == 0) {
        return ERR_INVALID;
    }
    if (ask->n_lines > CALENDAR_LINES_MAX) {
        return ERR_TOO_MANY;
    }
    for (size_t i = 0; i < ask->n_lines; i++) {
        const struct calendar_line *l = &ask->lines[i];
        if (l->count <= 0 || str_empty(l->resource)) {
            return ERR_INVALID;
        }
        if (l->n_flavors > CALENDAR_FLAVORS_MAX) {
            return ERR_TOO_MANY;
        }
    }
    return 0;
}

/* ---- keeping places ---- */

static bool line_allows(const struct entry_line *l, const struct flavor *f) {
    for (size_t i = 0; i < l->n_flavors; i++) {
        if (str_eq(l->flavors[i], f->name)) {
            return true;
        }
    }
    return l->n_flavors == 0;
}

static int keep_unit(struct calendar *c, struct entry *e, uint16_t line, const struct unit *was,
                     bool must) {
    size_t at = e->units.n;
    int r = units_push(&e->units, (struct unit){.line = line, .count = 1, .pinned = must});
    if (r != 0) {
        return r;
    }
    if (was->card != NULL && cal_fits_at(c, was->card, was->placement, e->start, e->end)) {
        return cal_add(c, e, at, was->card, was->placement);
    }
    if (was->pool != NULL &&
        steps_least(&was->pool->slack, e->start, e->end, NULL) >= e->lines[line].count) {
        return cal_use(c, e, at, was->pool, e->lines[line].count);
    }
    e->units.n--;
    return ERR_CONFLICT;
}

static bool same_node_as_kept(const struct entry *e, uint16_t line, const struct unit *was) {
    for (size_t i = 0; e->lines[line].same_node && i < e->units.n; i++) {
        const struct unit *u = &e->units.v[i];
        if (u->line == line && u->card != NULL && was->card != NULL &&
            u->card->node != was->card->node) {
            return false;
        }
    }
    return true;
}

/* Places of old (copies, taken out of the calendar) that the new entry goes on using. */
static int keep_places(struct calendar *c, struct entry *e, const struct entry *old,
                       const struct units *had, bool must, struct calendar_why *why) {
    for (uint16_t line = 0; line < e->n_lines && line < old->n_lines; line++) {
        const struct entry_line *l = &e->lines[line];
        int64_t kept = 0;
        bool like = str_eq(l->resource, old->lines[line].resource);
        for (size_t i = 0; like && kept < l->count && i < had->n; i++) {
            const struct unit *was = &had->v[i];
            if (was->line != line || (was->card == NULL && was->pool == NULL)) {
                continue;
            }
            const struct flavor *f = was->card != NULL ? was->card->flavor : was->pool->flavor;
            int r = line_allows(l, f) && same_node_as_kept(e, line, was)
                        ? keep_unit(c, e, line, was, must)
                        : ERR_CONFLICT;
            if (r == ERR_CONFLICT && must) {
                *why = (struct calendar_why){.trouble = CALENDAR_PLACE,
                                             .line = line,
                                             .need = l->count,
                                             .free = kept,
                                             .from = e->start,
                                             .to = e->end};
            }
            if (r != 0 && (must || r != ERR_CONFLICT)) {
                return r;
            }
            kept += r != 0 ? 0 : was->pool != NULL ? l->count : 1;
        }
    }
    return 0;
}

static int take_out(struct calendar *c, struct entry *old) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < old->units.n; i++) {
        r = old->units.v[i].card != NULL   ? cal_del(c, old, i)
            : old->units.v[i].pool != NULL ? cal_unuse(c, old, i)
                                           : 0;
    }
    return r;
}

static int place_instead(struct calendar *c, struct entry *e, struct entry *old, bool keep,
                         struct calendar_why *why) {
    struct units had = {0};
    bool must = !cal_movable(c, old);
    int r = units_room(&had, old->units.n + 1);
    if (r == 0 && old->units.n > 0) {
        memcpy(had.v, old->units.v, old->units.n * sizeof(*had.v));
    }
    had.n = r == 0 ? old->units.n : 0;
    r = r != 0 ? r : take_out(c, old);
    size_t mark = cal_mark(c);
    r = r != 0 || !keep ? r : keep_places(c, e, old, &had, must, why);
    r = r != 0 ? r : cal_place_lines(c, e, why);
    if (r == ERR_CONFLICT && keep && !must) { /* not at the old places: anywhere */
        cal_undo(c, mark);
        e->units.n = 0;
        r = cal_place_lines(c, e, why);
    }
    units_release(&had);
    return r;
}

int cal_try(struct calendar *c, const struct calendar_ask *ask, struct entry *old,
            struct entry **ret, struct calendar_why *why) {
    struct calendar_why nowhere;
    struct entry *e;
    why = why != NULL ? why : &nowhere;
    *why = (struct calendar_why){.trouble = CALENDAR_FITS};
    int r = ask_check(ask);
    bool full = old == NULL && c->entries.n - c->free_entries.n >= CALENDAR_ENTRIES_MAX;
    r = r != 0 ? r : full ? ERR_TOO_MANY : 0;
    r = r != 0 ? r : entry_new(ask, &e);
    if (r != 0) {
        return r;
    }
    cover_ready(c);
    r = entry_add(c, e);
    if (r != 0) {
        entry_free(e);
        return r;
    }
    c->steps = c->most_steps;
    c->gave_up = false;
    e->fresh = true;
    bool keep = old != NULL && str_eq(old->id, ask->id);
    r = old != NULL ? place_instead(c, e, old, keep, why) : cal_place_lines(c, e, why);
    e->fresh = false;
    for (size_t i = 0; i < e->units.n; i++) {
        e->units.v[i].pinned = false;
    }
    if (r != 0) {
        cal_try_end(c, e);
        return r;
    }
    *ret = e;
    return 0;
}

void cal_try_end(struct calendar *c, struct entry *tried) {
    cal_undo(c, 0);
    entry_drop(c, tried);
    entry_free(tried);
}

/* ---- what others call ---- */

int calendar_insert(struct calendar *c, const struct calendar_ask *ask, struct calendar_why *why) {
    struct entry *e;
    if (map_get(&c->entry_by, ask->id) != NULL) {
        return ERR_EXISTS;
    }
    int r = cal_try(c, ask, NULL, &e, why);
    if (r != 0) {
        return r;
    }
    r = map_put(&c->entry_by, e->id, e, NULL);
    if (r != 0) {
        cal_try_end(c, e);
        return r;
    }
    cal_commit(c, e, NULL);
    return 0;
}

static int plan_into(const struct entry *e, struct arena *a, struct calendar_plan *ret) {
    struct calendar_place *v = ARENA_ARRAY(a, struct calendar_place, e->units.n + 1);
    bool lacks = cal_lacks(e);
    size_t n = 0;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t k = 0; k < e->units.n; k++) {
        const struct unit *u = &e->units.v[k];
        if (u->card == NULL && u->pool == NULL && !lacks) {
            continue; /* left over from another flavor */
        }
        size_t i = n++;
        v[i] = (struct calendar_place){.line = u->line, .count = u->count, .lost = true};
        if (u->pool != NULL) {
            v[i].lost = false;
            v[i].flavor = u->pool->flavor->name;
        } else if (u->card != NULL) {
            const struct mig_place *p = &u->card->class->set.p[u->placement];
            v[i].lost = false;
            v[i].flavor = u->card->flavor->name;
            v[i].node = u->card->node->name;
            v[i].gpu = u->card->uuid;
            v[i].gpu_index = u->card->index;
            v[i].profile =
                p->profile == NOWHERE ? (struct str){0} : u->card->class->profiles[p->profile].name;
            v[i].start = p->start;
            v[i].size = p->size;
        }
    }
    *ret = (struct calendar_plan){v, n};
    return 0;
}

int calendar_check(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                   struct arena *a, struct calendar_plan *ret, struct calendar_why *why) {
    struct entry *old = str_empty(instead) ? NULL : map_get(&c->entry_by, instead), *e;
    int r = cal_try(c, ask, old, &e, why);
    if (r != 0) {
        return r;
    }
    r = ret != NULL ? plan_into(e, a, ret) : 0;
    cal_try_end(c, e);
    return r;
}

int calendar_change(struct calendar *c, const struct calendar_ask *ask, struct calendar_why *why) {
    struct entry *old = map_get(&c->entry_by, ask->id), *e;
    if (old == NULL) {
        return ERR_NOT_FOUND;
    }
    if (!cal_movable(c, old) && old->start <= c->now && ask->start != old->start) {
        return ERR_INVALID;
    }
    int r = cal_try(c, ask, old, &e, why);
    if (r != 0) {
        return r;
    }
    e->born = old->born;
    (void)map_put(&c->entry_by, e->id, e, NULL); /* replaces: cannot fail */
    cal_commit(c, e, old);
    entry_drop(c, old);
    entry_free(old);
    return 0;
}

/* The card and placement that are meant; false when they are not there. */
static bool place_find(const struct calendar *c, const struct calendar_place *p,
                       struct card **ret_card, uint8_t *ret) {
    struct card *card = map_get(&c->card_by, p->gpu);
    for (size_t i = 0; card != NULL && i < card->class->set.n; i++) {
        const struct mig_place *x = &card->class->set.p[i];
        struct str name =
            x->profile == NOWHERE ? (struct str){0} : card->class->profiles[x->profile].name;
        if (str_eq(name, p->profile) && (x->profile == NOWHERE || x->start == p->start)) {
            *ret_card = card;
            *ret = (uint8_t)i;
            return true;
        }
    }
    return false;
}

/* A place that is not to be had any more is a unit that has none. */
static int restore_one(struct calendar *c, struct entry *e, const struct calendar_place *p) {
    struct card *card;
    uint8_t placement;
    size_t at = e->units.n;
    bool number = str_empty(p->gpu);
    if (p->line >= e->n_lines || p->count < 0) {
        return ERR_CONFLICT;
    }
    int r = units_push(&e->units,
                       (struct unit){.line = (uint16_t)p->line, .count = number ? p->count : 1});
    if (r != 0) {
        return r;
    }
    if (number) {
        struct flavor *f = cal_flavor(c, p->flavor);
        struct pool_of *pool = f != NULL ? flavor_pool(f, e->lines[p->line].resource) : NULL;
        return pool == NULL || steps_least(&pool->slack, e->start, e->end, NULL) < p->count
                   ? 0
                   : cal_use(c, e, at, pool, p->count);
    }
    if (!place_find(c, p, &card, &placement) ||
        !cal_fits_at(c, card, placement, e->start, e->end)) {
        return 0;
    }
    const struct class_resource *r2 = class_resource(card->class, e->lines[p->line].resource);
    return r2 == NULL || (r2->mask & bit(placement)) == 0 ? 0 : cal_add(c, e, at, card, placement);
}

/* Something is left of it, and no line has more than it asks for. */
static bool restored_some(const struct entry *e) {
    int64_t all = 0;
    for (size_t line = 0; line < e->n_lines; line++) {
        int64_t n = cal_placed(e, line);
        if (n > e->lines[line].count) {
            return false;
        }
        all += n;
    }
    return all > 0;
}

int calendar_restore(struct calendar *c, const struct calendar_ask *ask,
                     const struct calendar_place *places, size_t n) {
    struct entry *e;
    int r = ask_check(ask);
    if (r != 0 || map_get(&c->entry_by, ask->id) != NULL) {
        return r != 0 ? r : ERR_EXISTS;
    }
    r = entry_new(ask, &e);
    if (r != 0) {
        return r;
    }
    r = entry_add(c, e);
    if (r != 0) {
        entry_free(e);
        return r;
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = restore_one(c, e, &places[i]);
    }
    r = r != 0 ? r : !restored_some(e) ? ERR_CONFLICT : 0;
    r = r != 0 ? r : map_put(&c->entry_by, e->id, e, NULL);
    if (r != 0) {
        cal_try_end(c, e);
        return r;
    }
    cal_commit(c, e, NULL);
    return 0;
}

bool calendar_remove(struct calendar *c, struct str id) {
    struct entry *e = map_get(&c->entry_by, id);
    if (e == NULL || e->closed) {
        return false;
    }
    (void)map_del(&c->entry_by, id);
    entry_drop(c, e);
    entry_free(e);
    return true;
}

static struct entry *entry_of(const struct calendar *c, struct str id) {
    struct entry *e = map_get(&c->entry_by, id);
    return e == NULL || e->closed ? NULL : e;
}

int calendar_pin(struct calendar *c, struct str id, bool fixed) {
    struct entry *e = entry_of(c, id);
    if (e == NULL) {
        return ERR_NOT_FOUND;
    }
    e->fixed = fixed;
    return 0;
}

int calendar_plan_of(const struct calendar *c, struct str id, struct arena *a,
                     struct calendar_plan *ret) {
    const struct entry *e = entry_of(c, id);
    return e == NULL ? ERR_NOT_FOUND : plan_into(e, a, ret);
}

size_t calendar_entries(const struct calendar *c) {
    size_t n = c->entries.n - c->free_entries.n;
    for (size_t i = 0; i < c->windows.n; i++) {
        n -= c->windows.v[i]->entry != NULL;
    }
    return n;
}

/* The first instant from `at` on, before `to`, at which the unit's place is taken by somebody else. */
static int64_t taken_from(const struct unit *u, const struct entry *e, int64_t at, int64_t to) {
    const struct card_class *k = u->card->class;
    struct spans_at pos = {0};
    const struct span *x;
    int64_t first = to;
    while ((x = spans_next(&u->card->spans, &pos, at, time_more(to, k->reconfig))) != NULL) {
        bool closed = x->placement == SPAN_CLOSED;
        if ((!closed && x->entry == e->number) ||
            (!closed && (k->set.p[u->placement].block & bit(x->placement)) == 0)) {
            continue;
        }
        int64_t gap = closed || x->placement == u->placement ? 0 : k->reconfig;
        first = time_less(x->start, gap) < first ? time_less(x->start, gap) : first;
    }
    return first;
}

int64_t calendar_extend_most(struct calendar *c, struct str id, int64_t want) {
    const struct entry *e = entry_of(c, id);
    if (e == NULL || want <= e->end) {
        return e == NULL ? 0 : e->end;
    }
    int64_t until = want, from;
    for (size_t i = 0; i < e->units.n; i++) {
        const struct unit *u = &e->units.v[i];
        if (u->card != NULL) {
            int64_t t = taken_from(u, e, e->end, want);
            until = t < until ? t : until;
        } else if (u->pool != NULL &&
                   steps_below(&u->pool->slack, e->end, want, u->count, &from, &(int64_t){0})) {
            until = from < until ? from : until;
        }
    }
    if (until < want) {
        int64_t past = (until - c->o.grid_base) % c->o.grid_s;
        until -= past < 0 ? past + c->o.grid_s : past;
    }
    return until > e->end ? until : e->end;
}

bool calendar_moved_next(struct calendar *c, struct str *ret_id) {
    while (c->moved_from < c->moved.n) {
        struct entry *e = cal_entry(c, c->moved.v[c->moved_from++]);
        if (e != NULL && e->moved) {
            e->moved = false;
            *ret_id = e->id;
            return true;
        }
    }
    c->moved.n = c->moved_from = 0;
    return false;
}

bool calendar_broken_next(const struct calendar *c, size_t *pos, struct str *ret_id) {
    for (; c->broken > 0 && *pos < c->entries.n; (*pos)++) {
        const struct entry *e = c->entries.v[*pos];
        if (e != NULL && e->broken && !e->closed) {
            *ret_id = e->id;
            (*pos)++;
            return true;
        }
    }
    return false;
}
