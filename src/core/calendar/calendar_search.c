/* calendar_search (core): searches for the next time at which a booking fits, and for alternatives. */
#include "core/calendar/calendar_private.h"

enum { SPLIT_PART = 4 /* a split's first part is at least this fraction of the whole */ };

static int64_t grid_up(const struct calendar *c, int64_t t) {
    int64_t past = (t - c->o.grid_base) % c->o.grid_s;
    past += past < 0 ? c->o.grid_s : 0;
    return past == 0 ? t : time_more(t, c->o.grid_s - past);
}

static int64_t grid_down(const struct calendar *c, int64_t t) {
    int64_t past = (t - c->o.grid_base) % c->o.grid_s;
    past += past < 0 ? c->o.grid_s : 0;
    return t - past;
}

/* A trial at other times: 0, ERR_CONFLICT, ERR_NOMEM. */
static int fits(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                int64_t start, int64_t end) {
    struct calendar_ask at = *ask;
    at.start = start;
    at.end = end;
    if (c->looks == 1) {
        return ERR_CONFLICT;
    }
    return calendar_check(c, &at, instead, NULL, NULL, NULL);
}

static int64_t gap_of(const struct calendar *c) {
    int64_t gap = 0;
    for (size_t i = 0; i < c->flavors.n; i++) {
        for (size_t k = 0; k < c->flavors.v[i]->n_classes; k++) {
            int64_t g = c->flavors.v[i]->classes[k]->reconfig;
            gap = g > gap ? g : gap;
        }
    }
    return gap;
}

/* The next start after t at which less may be in the way than in [t, t + d): something has ended by then. */
static int64_t next_start(struct calendar *c, int64_t t, int64_t d, int64_t gap) {
    int64_t next = CALENDAR_FOREVER;
    size_t looked = c->cards.n / 16;
    struct spans_at at = {0};
    const struct span *x;
    while ((x = spans_next(&c->time, &at, time_less(t, gap), time_more(t + d, gap))) != NULL) {
        int64_t ends[2] = {x->end, time_more(x->end, gap)};
        looked++;
        for (size_t i = 0; i < 2; i++) {
            next = ends[i] > t && ends[i] < next ? ends[i] : next;
        }
    }
    for (size_t i = 0; i < c->cards.n; i++) {
        int64_t from = c->cards.v[i]->from;
        next = from > t && from < next ? from : next;
    }
    cal_looked(c, looked);
    return next;
}

static int64_t previous_end(struct calendar *c, int64_t end, int64_t d, int64_t gap) {
    int64_t previous = INT64_MIN;
    size_t looked = c->cards.n / 16;
    struct spans_at at = {0};
    const struct span *x;
    while ((x = spans_next(&c->time, &at, time_less(end - d, gap), time_more(end, gap))) != NULL) {
        int64_t starts[2] = {x->start, time_less(x->start, gap)};
        looked++;
        for (size_t i = 0; i < 2; i++) {
            previous = starts[i] < end && starts[i] > previous ? starts[i] : previous;
        }
    }
    for (size_t i = 0; i < c->cards.n; i++) {
        int64_t to = c->cards.v[i]->to;
        previous = to != 0 && to < end && to > previous ? to : previous;
    }
    cal_looked(c, looked);
    return previous;
}

/* Where one line finds room by count alone: the end of the last stretch within [t, t + d) that has too little in every
 * flavor; t when there is none. */
static int64_t line_clear(const struct calendar *c, const struct calendar_line *l, int64_t t,
                          int64_t d) {
    int64_t soonest = CALENDAR_FOREVER;
    size_t n = l->n_flavors > 0 ? l->n_flavors : c->flavors.n;
    for (size_t i = 0; i < n && soonest > t; i++) {
        struct flavor *f = l->n_flavors > 0 ? cal_flavor(c, l->flavors[i]) : c->flavors.v[i];
        struct pool_of *p = f == NULL ? NULL : flavor_pool(f, l->resource);
        int64_t end = CALENDAR_FOREVER;
        if (f != NULL && flavor_serves(f, l->resource)) {
            end = steps_last_below(&f->slack, t, t + d, 1, &end) ? end : t;
        } else if (p != NULL) {
            end = steps_last_below(&p->slack, t, t + d, l->count, &end) ? end : t;
        }
        soonest = end < soonest ? end : soonest;
    }
    return soonest;
}

static bool sane(const struct calendar_ask *ask, int64_t from, int64_t to) {
    return ask_check(ask) == 0 && ask->end != CALENDAR_FOREVER && from > INT64_MIN / 4 &&
           to < INT64_MAX / 4;
}

static int earliest(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                    int64_t from, int64_t to, int64_t *ret_start) {
    int64_t d = ask->end - ask->start, gap = gap_of(c), t = grid_up(c, from);
    bool alone = str_empty(instead); /* what is left out of account cannot be taken off the sums */
    for (int32_t tries = 0; tries < c->o.search_steps && c->looks != 1 && t + d <= to; tries++) {
        int64_t clear = t;
        for (size_t i = 0; alone && i < ask->n_lines; i++) {
            int64_t x = line_clear(c, &ask->lines[i], t, d);
            clear = x > clear ? x : clear;
        }
        if (clear > t) {
            if (clear > to) {
                return ERR_CONFLICT;
            }
            t = grid_up(c, clear);
            continue;
        }
        int r = fits(c, ask, instead, t, t + d);
        if (r != ERR_CONFLICT) {
            *ret_start = r == 0 ? t : *ret_start;
            return r;
        }
        int64_t next = next_start(c, t, d, gap);
        if (next > to) {
            return ERR_CONFLICT;
        }
        t = grid_up(c, next);
    }
    return ERR_CONFLICT;
}

static int latest(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                  int64_t from, int64_t to, int64_t *ret_start) {
    int64_t d = ask->end - ask->start, gap = gap_of(c), t = grid_down(c, to - d);
    for (int32_t tries = 0; tries < c->o.search_steps && c->looks != 1 && t >= from; tries++) {
        int r = fits(c, ask, instead, t, t + d);
        if (r != ERR_CONFLICT) {
            *ret_start = r == 0 ? t : *ret_start;
            return r;
        }
        int64_t end = previous_end(c, t + d, d, gap);
        if (end < from) {
            return ERR_CONFLICT;
        }
        t = grid_down(c, end - d);
    }
    return ERR_CONFLICT;
}

/* Searches run with little repair for each start; one within another has what is left of its looks. */
struct haste {
    int64_t most_steps;
    bool outer;
};

static struct haste hurry(struct calendar *c) {
    struct haste h = {c->most_steps, c->looks == 0};
    c->most_steps = h.most_steps < SEARCH_REPAIR ? h.most_steps : SEARCH_REPAIR;
    c->looks = h.outer ? c->o.search_looks + 1 : c->looks;
    return h;
}

static void calm(struct calendar *c, struct haste h) {
    c->most_steps = h.most_steps;
    c->looks = h.outer ? 0 : c->looks;
}

int calendar_earliest(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                      int64_t from, int64_t to, int64_t *ret_start) {
    if (!sane(ask, from, to)) {
        return ERR_INVALID;
    }
    struct haste h = hurry(c);
    int r = earliest(c, ask, instead, from, to, ret_start);
    calm(c, h);
    return r;
}

int calendar_latest(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                    int64_t from, int64_t to, int64_t *ret_start) {
    if (!sane(ask, from, to)) {
        return ERR_INVALID;
    }
    struct haste h = hurry(c);
    int r = latest(c, ask, instead, from, to, ret_start);
    calm(c, h);
    return r;
}

static int fit(struct calendar *c, const struct calendar_ask *ask, struct str instead, int64_t from,
               int64_t to, int64_t min_s, int64_t *ret_start, int64_t *ret_end) {
    struct calendar_ask x = *ask;
    int64_t g = c->o.grid_s, start, d = ask->end - ask->start;
    int r = calendar_earliest(c, &x, instead, from, to, &start);
    if (r == 0) {
        *ret_start = start;
        *ret_end = start + d;
    }
    if (r != ERR_CONFLICT || min_s <= 0 || min_s >= d) {
        return r;
    }
    int64_t lo = (min_s + g - 1) / g, hi = (d - 1) / g, best = 0, at = 0;
    while (lo <= hi) { /* shorter is never harder */
        int64_t mid = lo + (hi - lo) / 2;
        x.end = x.start + mid * g;
        r = calendar_earliest(c, &x, instead, from, to, &start);
        if (r == 0) {
            best = mid * g;
            at = start;
            lo = mid + 1;
        } else if (r == ERR_CONFLICT) {
            hi = mid - 1;
        } else {
            return r;
        }
    }
    if (best == 0) {
        return ERR_CONFLICT;
    }
    *ret_start = at;
    *ret_end = at + best;
    return 0;
}

int calendar_fit(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                 int64_t from, int64_t to, int64_t min_s, int64_t *ret_start, int64_t *ret_end) {
    struct haste h = hurry(c);
    int r = fit(c, ask, instead, from, to, min_s, ret_start, ret_end);
    calm(c, h);
    return r;
}

/* ---- what would fit instead ---- */

struct offers {
    struct calendar *c;
    const struct calendar_ask *ask;
    struct str instead;
    struct arena *a;
    struct calendar_alternative v[CALENDAR_ALTERNATIVES_MAX * 3];
    int64_t cost[CALENDAR_ALTERNATIVES_MAX * 3];
    size_t n;
    bool failed; /* no memory */
};

static int64_t distance(const struct offers *o, const struct calendar_alternative *x) {
    int64_t d = x->start - o->ask->start;
    return d < 0 ? -d : d;
}

/* The lines as they would be served, each with its one flavor; and their cost in memory slices and seconds. */
static bool served_lines(struct offers *o, const struct entry *e, const struct calendar_ask *ask,
                         struct calendar_line **ret, int64_t *ret_cost) {
    struct calendar_line *v = ARENA_ARRAY(o->a, struct calendar_line, ask->n_lines + 1);
    struct str *flavors = ARENA_ARRAY(o->a, struct str, ask->n_lines + 1);
    int64_t cost = 0;
    if (v == NULL || flavors == NULL) {
        o->failed = true;
        return false;
    }
    for (size_t i = 0; i < ask->n_lines; i++) {
        v[i] = ask->lines[i];
        v[i].resource = arena_str(o->a, ask->lines[i].resource);
        v[i].flavors = &flavors[i];
        v[i].n_flavors = 1;
    }
    for (size_t i = 0; i < e->units.n; i++) {
        const struct unit *u = &e->units.v[i];
        if (u->card != NULL) {
            flavors[u->line] = u->card->flavor->name;
            cost += class_size(u->card->class, u->placement);
        } else if (u->pool != NULL) {
            flavors[u->line] = u->pool->flavor->name;
            cost += u->count;
        }
    }
    for (size_t i = 0; i < ask->n_lines; i++) {
        flavors[i] = arena_str(o->a, flavors[i]);
    }
    *ret = v;
    *ret_cost = cost;
    return true;
}

/* Offers `ask` when it fits: true. */
static bool offer(struct offers *o, enum calendar_alternative_kind kind,
                  const struct calendar_ask *ask, int64_t start2, int64_t end2) {
    struct entry *old = str_empty(o->instead) ? NULL : map_get(&o->c->entry_by, o->instead), *e;
    struct calendar_alternative x = {.kind = kind,
                                     .start = ask->start,
                                     .end = ask->end,
                                     .start2 = start2,
                                     .end2 = end2,
                                     .n_lines = ask->n_lines};
    int64_t cost;
    if (o->n == sizeof(o->v) / sizeof(*o->v) || o->c->looks == 1) {
        return false;
    }
    int r = cal_try(o->c, ask, old, &e, NULL);
    if (r != 0) {
        o->failed = o->failed || r == ERR_NOMEM;
        return false;
    }
    bool ok = served_lines(o, e, ask, &x.lines, &cost);
    cal_try_end(o->c, e);
    if (!ok) {
        return false;
    }
    size_t i = o->n++;
    for (; i > 0; i--) {
        int64_t a = distance(o, &o->v[i - 1]), b = distance(o, &x);
        if (a < b || (a == b && o->cost[i - 1] <= cost)) {
            break;
        }
        o->v[i] = o->v[i - 1];
        o->cost[i] = o->cost[i - 1];
    }
    o->v[i] = x;
    o->cost[i] = cost;
    return true;
}

static void offer_times(struct offers *o, int64_t from, int64_t to) {
    struct calendar_ask x = *o->ask;
    int64_t d = x.end - x.start, t = 0;
    if (calendar_earliest(o->c, o->ask, o->instead, x.start > from ? x.start + 1 : from, to + d,
                          &t) == 0 &&
        t < to) {
        x.start = t;
        x.end = t + d;
        (void)offer(o, CALENDAR_LATER, &x, 0, 0);
    }
    if (o->ask->start > from &&
        calendar_latest(o->c, o->ask, o->instead, from, o->ask->end - 1, &t) == 0) {
        x.start = t;
        x.end = t + d;
        (void)offer(o, CALENDAR_EARLIER, &x, 0, 0);
    }
}

static bool listed(const struct calendar_line *l, struct str flavor) {
    for (size_t i = 0; i < l->n_flavors; i++) {
        if (str_eq(l->flavors[i], flavor)) {
            return true;
        }
    }
    return l->n_flavors == 0;
}

static void offer_flavors(struct offers *o, size_t line) {
    struct calendar_line lines[CALENDAR_LINES_MAX];
    struct calendar_ask x = *o->ask;
    memcpy(lines, o->ask->lines, x.n_lines * sizeof(*lines));
    x.lines = lines;
    for (size_t i = 0, found = 0; i < o->c->flavors.n && found < 2; i++) {
        struct str name = o->c->flavors.v[i]->name;
        if (!listed(&o->ask->lines[line], name)) {
            lines[line].flavors = &name;
            lines[line].n_flavors = 1;
            found += offer(o, CALENDAR_OTHER_FLAVOR, &x, 0, 0);
        }
    }
}

/* The size of a resource in the flavors of a line; 0: not of cards. */
static int32_t resource_size(const struct offers *o, const struct calendar_line *l,
                             struct str resource) {
    int32_t size = 0;
    for (size_t i = 0; i < o->c->flavors.n; i++) {
        const struct flavor *f = o->c->flavors.v[i];
        for (size_t k = 0; listed(l, f->name) && k < f->n_classes; k++) {
            const struct class_resource *r = class_resource(f->classes[k], resource);
            if (r != NULL && f->classes[k]->cards > 0) {
                int32_t s = class_size(f->classes[k], (uint8_t)__builtin_ctzll(r->mask));
                s += r->profile == NOWHERE; /* the whole card after a slice that fills it */
                size = size == 0 || s < size ? s : size;
            }
        }
    }
    return size;
}

/* The next larger resource than `size` (of equal size: the next name); its size, or 0. */
static int32_t larger(const struct offers *o, const struct calendar_line *l, int32_t size,
                      struct str *ret) {
    int32_t best = 0;
    for (size_t i = 0; i < o->c->flavors.n; i++) {
        const struct flavor *f = o->c->flavors.v[i];
        for (size_t k = 0; listed(l, f->name) && k < f->n_classes; k++) {
            for (size_t m = 0; f->classes[k]->cards > 0 && m < f->classes[k]->n_resources; m++) {
                const struct class_resource *r = &f->classes[k]->resources[m];
                bool media = r->profile != NOWHERE && f->classes[k]->profiles[r->profile].media;
                int32_t s = media ? 0 : resource_size(o, l, r->name);
                if (s > size && (best == 0 || s < best)) {
                    best = s;
                    *ret = r->name;
                }
            }
        }
    }
    return best;
}

static void offer_larger(struct offers *o, size_t line) {
    struct calendar_line lines[CALENDAR_LINES_MAX];
    struct calendar_ask x = *o->ask;
    memcpy(lines, o->ask->lines, x.n_lines * sizeof(*lines));
    x.lines = lines;
    int32_t size = resource_size(o, &lines[line], lines[line].resource);
    while (size > 0 && (size = larger(o, &o->ask->lines[line], size, &lines[line].resource)) > 0) {
        if (offer(o, CALENDAR_LARGER, &x, 0, 0)) {
            return;
        }
    }
}

static void offer_fewer(struct offers *o, size_t line) {
    struct calendar_line lines[CALENDAR_LINES_MAX];
    struct calendar_ask x = *o->ask;
    int64_t lo = 1, hi = o->ask->lines[line].count - 1, best = 0;
    memcpy(lines, o->ask->lines, x.n_lines * sizeof(*lines));
    x.lines = lines;
    while (lo <= hi) {
        lines[line].count = lo + (hi - lo) / 2;
        int r = calendar_check(o->c, &x, o->instead, NULL, NULL, NULL);
        if (r == 0) {
            best = lines[line].count;
            lo = best + 1;
        } else {
            hi = lines[line].count - 1;
        }
    }
    if (best > 0) {
        lines[line].count = best;
        (void)offer(o, CALENDAR_FEWER, &x, 0, 0);
    }
}

/* The longest part from the wished start on, and the rest as soon as it fits. */
static void offer_split(struct offers *o, int64_t to) {
    struct calendar_ask x = *o->ask;
    int64_t g = o->c->o.grid_s, d = x.end - x.start, start2;
    int64_t lo = (d / SPLIT_PART + g - 1) / g, hi = (d - 1) / g, best = 0;
    lo = lo < 1 ? 1 : lo;
    while (lo <= hi) {
        int64_t mid = lo + (hi - lo) / 2;
        int r = fits(o->c, o->ask, o->instead, x.start, x.start + mid * g);
        best = r == 0 ? mid * g : best;
        lo = r == 0 ? mid + 1 : lo;
        hi = r == 0 ? hi : mid - 1;
    }
    if (best == 0) {
        return;
    }
    struct calendar_ask rest = x;
    rest.end = rest.start + (d - best);
    if (calendar_earliest(o->c, &rest, o->instead, x.start + best, to + d, &start2) == 0) {
        x.end = x.start + best;
        (void)offer(o, CALENDAR_SPLIT, &x, start2, start2 + d - best);
    }
}

int calendar_alternatives(struct calendar *c, const struct calendar_ask *ask, struct str instead,
                          int64_t from, int64_t to, struct arena *a,
                          struct calendar_alternative **ret, size_t *ret_n) {
    struct offers o = {.c = c, .ask = ask, .instead = instead, .a = a};
    struct calendar_why why;
    if (!sane(ask, from, to)) {
        return ERR_INVALID;
    }
    struct haste h = hurry(c);
    int r = calendar_check(c, ask, instead, NULL, NULL, &why);
    size_t line = r == ERR_CONFLICT ? why.line : 0;
    offer_times(&o, from, to);
    offer_flavors(&o, line);
    offer_larger(&o, line);
    offer_fewer(&o, line);
    offer_split(&o, to);
    calm(c, h);
    struct calendar_alternative *v = ARENA_ARRAY(a, struct calendar_alternative, o.n + 1);
    if (v == NULL || o.failed) {
        return ERR_NOMEM;
    }
    memcpy(v, o.v, o.n * sizeof(*v));
    *ret = v;
    *ret_n = o.n < CALENDAR_ALTERNATIVES_MAX ? o.n : CALENDAR_ALTERNATIVES_MAX;
    return 0;
}
