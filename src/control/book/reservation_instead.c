/*
 * reservation_instead: what a booking could have instead of what it is refused: each of it within all limits of the
 * policy, and free.
 *
 * What the calendar alone refuses, the calendar has alternatives for (calendar_alternatives); those that pass a limit
 * are left out. What a limit refuses is tried smaller in each way that limits count (fewer units, a shorter time, a
 * smaller slice) and at other times. Limits change where bookings that count begin and end, and where those leave the
 * week or the month that is counted: these times are tried, and between two of them the first that is allowed is found
 * by halves.
 *
 * It ends after so many looks, whatever is booked: LOOKS_MAX at bookings, SEARCHES of the calendar in each direction.
 */
#include "control/book/reservation_private.h"

#include <stdlib.h>

#include "control/book/reservation_grid.h"

enum { LOOK_AHEAD_DAYS = 14, LOOKS_MAX = 1000000, EDGES_MAX = 4096, SEARCHES = 4, SMALLER_MAX = 8 };
enum { OFFERS_MAX = 16 };

struct edges {
    int64_t v[EDGES_MAX];
    size_t n;
};

struct instead_search {
    struct reservation_controller *c;
    const struct reservation *r;
    struct calendar_ask ask;
    const struct booking *instead;
    struct str id; /* of that, or empty */
    bool begun;    /* only its end can change */
    struct plan_limits l;
    struct arena *a;
    struct edges *edges;
    int64_t from, to; /* starts that are looked at */
    int64_t grid;
    struct plan_offer v[OFFERS_MAX];
    size_t n;
    int code;
};

static int64_t up(const struct instead_search *s, int64_t t) {
    return reservation_grid_up(t, s->grid, plan_grid_base(s->c, t));
}

static int64_t down(const struct instead_search *s, int64_t t) {
    return reservation_grid_down(t, s->grid, plan_grid_base(s->c, t));
}

/* ---- the two judges ---- */

static bool allowed(struct instead_search *s, int64_t start, int64_t end,
                    const struct calendar_line *lines, size_t n) {
    struct booking_refusal v[BOOKING_REFUSALS_MAX];
    int64_t units = 0, share = 0;
    if (s->code != 0 || s->l.looked > LOOKS_MAX || end <= start) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        units += lines[i].count;
        share += lines[i].count * plan_share(s->c, &lines[i]);
    }
    int r = plan_limits_ask(&s->l, start, end, units, share, v);
    s->code = r < 0 ? r : s->code;
    return r == 0;
}

static bool allowed_at(struct instead_search *s, int64_t start, int64_t end) {
    return allowed(s, start, end, s->ask.lines, s->ask.n_lines);
}

static bool fits(struct instead_search *s, int64_t start, int64_t end,
                 const struct calendar_line *lines) {
    struct calendar_ask ask = s->ask;
    ask.start = start;
    ask.end = end;
    ask.lines = lines;
    int r = calendar_check(s->c->calendar, &ask, s->id, NULL, NULL, NULL);
    s->code = r == ERR_NOMEM ? r : s->code;
    return r == 0;
}

static bool both(struct instead_search *s, int64_t start, int64_t end,
                 const struct calendar_line *lines) {
    return allowed(s, start, end, lines, s->ask.n_lines) && fits(s, start, end, lines);
}

/* ---- what is offered ---- */

static int64_t distance(const struct instead_search *s, const struct plan_offer *o) {
    int64_t d = o->x.start - s->ask.start;
    return o->x.start == 0 ? INT64_MAX : d < 0 ? -d : d;
}

/* Nearest first; of equal ones the first that was found. */
static void put(struct instead_search *s, const char *kind, const struct calendar_alternative *x) {
    struct plan_offer o = {.kind = kind, .x = *x};
    if (s->n == OFFERS_MAX) {
        return;
    }
    size_t i = s->n++;
    for (; i > 0 && distance(s, &s->v[i - 1]) > distance(s, &o); i--) {
        s->v[i] = s->v[i - 1];
    }
    s->v[i] = o;
}

/* Lines as they were asked for: who named no flavor is offered none. */
static void offer(struct instead_search *s, const char *kind, int64_t start, int64_t end,
                  const struct calendar_line *lines) {
    size_t n = s->ask.n_lines;
    struct calendar_line *v = ARENA_ARRAY(s->a, struct calendar_line, n + 1);
    if (v == NULL) {
        s->code = ERR_NOMEM;
        return;
    }
    memcpy(v, lines, n * sizeof *v);
    for (size_t i = 0; i < n && i < s->r->spec->lines.n; i++) {
        const struct reservation_line *l = &s->r->spec->lines.v[i];
        v[i].resource = arena_str(s->a, v[i].resource);
        v[i].n_flavors = l->flavor.n || l->any_of.n ? v[i].n_flavors : 0;
    }
    put(s, kind,
        &(struct calendar_alternative){.start = start, .end = end, .lines = v, .n_lines = n});
}

/* ---- smaller at the same time ---- */

static void offer_fewer(struct instead_search *s) {
    const struct calendar_ask *ask = &s->ask;
    struct calendar_line lines[CALENDAR_LINES_MAX];
    for (size_t i = 0; i < ask->n_lines && i < 2; i++) {
        int64_t lo = 1, hi = ask->lines[i].count - 1, best = 0;
        memcpy(lines, ask->lines, ask->n_lines * sizeof *lines);
        while (lo <= hi) {
            lines[i].count = lo + (hi - lo) / 2;
            bool yes = both(s, ask->start, ask->end, lines);
            best = yes ? lines[i].count : best;
            lo = yes ? lines[i].count + 1 : lo;
            hi = yes ? hi : lines[i].count - 1;
        }
        if (best > 0) {
            lines[i].count = best;
            offer(s, "Fewer", ask->start, ask->end, lines);
        }
    }
}

/* The most steps of the grid that it may last, from its start on (or, the other way, up to its end); 0: none. */
static int64_t longest(struct instead_search *s, bool from_end) {
    const struct calendar_ask *ask = &s->ask;
    int64_t least = s->l.q.min_duration_s > s->grid ? s->l.q.min_duration_s : s->grid, best = 0;
    int64_t lo = (least + s->grid - 1) / s->grid, hi = (ask->end - ask->start - 1) / s->grid;
    while (lo <= hi) {
        int64_t mid = lo + (hi - lo) / 2, length = mid * s->grid;
        bool yes = from_end ? both(s, ask->end - length, ask->end, ask->lines)
                            : both(s, ask->start, ask->start + length, ask->lines);
        best = yes ? length : best;
        lo = yes ? mid + 1 : lo;
        hi = yes ? hi : mid - 1;
    }
    return best;
}

static void offer_shorter(struct instead_search *s) {
    const struct calendar_ask *ask = &s->ask;
    int64_t head = longest(s, false), tail = s->begun ? 0 : longest(s, true);
    if (s->begun && ask->start + head <= s->instead->end) {
        return; /* that is what it has */
    }
    if (head >= tail && head > 0) {
        offer(s, "Shorter", ask->start, ask->start + head, ask->lines);
    } else if (tail > 0) {
        offer(s, "Shorter", ask->end - tail, ask->end, ask->lines);
    }
}

static void offer_longer(struct instead_search *s) {
    const struct calendar_ask *ask = &s->ask;
    int64_t end = up(s, ask->start + s->l.q.min_duration_s);
    if (ask->end - ask->start < s->l.q.min_duration_s && both(s, ask->start, end, ask->lines)) {
        offer(s, "Longer", ask->start, end, ask->lines);
    }
}

static bool served_by(const struct calendar_line *l, struct str flavor) {
    for (size_t i = 0; i < l->n_flavors; i++) {
        if (str_eq(l->flavors[i], flavor)) {
            return true;
        }
    }
    return l->n_flavors == 0;
}

/* The next smaller resource than `share` of the line's flavors; its share, or 0. */
static int64_t smaller(const struct instead_search *s, const struct calendar_line *l, int64_t share,
                       struct str *ret) {
    struct calendar_type t;
    int64_t best = 0;
    for (size_t pos = 0; calendar_type_next(s->c->calendar, &pos, &t);) {
        int64_t x = t.cards && t.total > 0 ? booking_share(t.size, t.slices) : 0;
        bool plain = !str_contains(t.profile, STR(".me")) && !str_contains(t.profile, STR("+"));
        if (x < share && x > best && plain && served_by(l, t.flavor)) {
            best = x;
            *ret = t.resource;
        }
    }
    return best;
}

static void offer_smaller(struct instead_search *s) {
    const struct calendar_ask *ask = &s->ask;
    struct calendar_line lines[CALENDAR_LINES_MAX];
    for (size_t i = 0; i < ask->n_lines && i < 2; i++) {
        int64_t share = plan_share(s->c, &ask->lines[i]);
        memcpy(lines, ask->lines, ask->n_lines * sizeof *lines);
        for (int k = 0; k < SMALLER_MAX && share > 0; k++) {
            share = smaller(s, &ask->lines[i], share, &lines[i].resource);
            if (share > 0 && both(s, ask->start, ask->end, lines)) {
                offer(s, "Smaller", ask->start, ask->end, lines);
                break;
            }
        }
    }
}

/* ---- other times ---- */

static int by_number(const void *px, const void *py) {
    const int64_t *x = px, *y = py;
    return (*x > *y) - (*x < *y);
}

static void edge(struct instead_search *s, int64_t t, bool later) {
    if (t > s->from && t < s->to && s->edges->n < EDGES_MAX) {
        s->edges->v[s->edges->n++] = later ? up(s, t) : down(s, t);
    }
}

/* Starts at which limits may allow more than just before (or just after, going back). */
static void find_edges(struct instead_search *s, bool later) {
    int64_t d = s->ask.end - s->ask.start;
    s->edges->n = 0;
    for (int k = 0; k < BOOKING_SCOPES; k++) {
        const struct booking_caps *caps = &s->l.q.caps[k];
        int64_t spans[2] = {caps->gpu_ms_week ? 7 * PLAN_DAY : 0,
                            caps->gpu_ms_month ? 30 * PLAN_DAY : 0};
        for (size_t i = 0; i < s->l.q.n_uses[k]; i++) {
            const struct booking_use *u = &s->l.q.uses[k][i];
            int64_t clear = later ? u->end : u->start - d;
            edge(s, clear, later);
            edge(s, later ? clear + s->grid : clear - s->grid, later); /* no longer one with it */
            for (int m = 0; m < 2; m++) {
                if (spans[m]) {
                    edge(s, later ? u->start + spans[m] : u->end - spans[m] - d, later);
                    edge(s, later ? u->end + spans[m] : u->start - spans[m] - d, later);
                }
            }
        }
    }
    edge(s, s->l.q.now + s->l.q.ahead_s, false);
    if (s->edges->n > 1) {
        qsort(s->edges->v, s->edges->n, sizeof *s->edges->v, by_number);
    }
}

/* Between a start that is not allowed and one that is: the one nearest to the first. */
static int64_t halves(struct instead_search *s, int64_t no, int64_t yes) {
    int64_t d = s->ask.end - s->ask.start;
    while (yes - no > s->grid || no - yes > s->grid) {
        int64_t mid = down(s, no + (yes - no) / 2);
        if (mid == no || mid == yes) {
            break;
        }
        if (allowed_at(s, mid, mid + d)) {
            yes = mid;
        } else {
            no = mid;
        }
    }
    return yes;
}

/* The first start from t on (or the last up to t) that limits allow; false: none. */
static bool next_allowed(struct instead_search *s, int64_t *t, bool later) {
    int64_t d = s->ask.end - s->ask.start, no = *t;
    if (allowed_at(s, *t, *t + d)) {
        return true;
    }
    for (size_t k = 0; k < s->edges->n; k++) {
        int64_t x = s->edges->v[later ? k : s->edges->n - 1 - k];
        if (later ? x <= no : x >= no) {
            continue;
        }
        if (allowed_at(s, x, x + d)) {
            *t = halves(s, no, x);
            return true;
        }
        no = x;
    }
    return false;
}

/* Is it too much by itself, at whatever time? */
static bool never_allowed(struct instead_search *s) {
    struct booking_refusal v[BOOKING_REFUSALS_MAX];
    struct booking_request alone = s->l.q;
    for (int k = 0; k < BOOKING_SCOPES; k++) {
        alone.n_uses[k] = 0;
        alone.open[k] = 0;
    }
    alone.use = (struct booking_use){.start = s->ask.start, .end = s->ask.end, .same_owner = true};
    for (size_t i = 0; i < s->ask.n_lines; i++) {
        alone.use.units += s->ask.lines[i].count;
        alone.use.share += s->ask.lines[i].count * plan_share(s->c, &s->ask.lines[i]);
    }
    int n = booking_limits_check(&alone, v);
    for (int i = 0; i < n; i++) {
        if (v[i].limit != BOOKING_AHEAD && v[i].limit != BOOKING_PAST &&
            v[i].limit != BOOKING_GRID) {
            return true;
        }
    }
    return n < 0;
}

static void offer_time(struct instead_search *s, bool later) {
    const struct calendar_ask *ask = &s->ask;
    int64_t d = ask->end - ask->start, t = later ? up(s, ask->start + 1) : down(s, ask->start - 1);
    t = later && t < s->from ? up(s, s->from) : t;
    t = !later && t > s->to ? down(s, s->to) : t;
    if (never_allowed(s)) {
        return;
    }
    find_edges(s, later);
    for (int i = 0; i < SEARCHES && t >= s->from && t <= s->to; i++) {
        int64_t free = t;
        if (!next_allowed(s, &t, later)) {
            return;
        }
        int r = later ? calendar_earliest(s->c->calendar, ask, s->id, t, s->to + d, &free)
                      : calendar_latest(s->c->calendar, ask, s->id, s->from, t + d, &free);
        if (r != 0) {
            s->code = r == ERR_NOMEM ? r : s->code;
            return;
        }
        if (free == t || allowed_at(s, free, free + d)) {
            offer(s, later ? "Later" : "Earlier", free, free + d, ask->lines);
            return;
        }
        t = free;
    }
}

/* ---- the whole ---- */

/* Both parts together. */
static bool split_allowed(struct instead_search *s, const struct calendar_alternative *x) {
    bool yes = allowed(s, x->start, x->end, x->lines, x->n_lines);
    for (int k = 0; k < BOOKING_SCOPES && yes; k++) {
        if (s->l.uses[k].v) { /* has room for one more */
            s->l.uses[k].v[s->l.q.n_uses[k]++] = s->l.q.use;
            s->l.q.open[k]++;
        }
    }
    bool second = yes && allowed(s, x->start2, x->end2, x->lines, x->n_lines);
    for (int k = 0; k < BOOKING_SCOPES && yes; k++) {
        if (s->l.uses[k].v) {
            s->l.q.n_uses[k]--;
            s->l.q.open[k]--;
        }
    }
    return second;
}

static void of_calendar(struct instead_search *s, const struct calendar_why *why) {
    static const char *const names[] = {
        [CALENDAR_EARLIER] = "Earlier",
        [CALENDAR_LATER] = "Later",
        [CALENDAR_OTHER_FLAVOR] = "OtherFlavor",
        [CALENDAR_LARGER] = "Larger",
        [CALENDAR_FEWER] = "Fewer",
        [CALENDAR_SPLIT] = "Split",
    };
    struct calendar_alternative *v = NULL;
    bool again[] = {[CALENDAR_EARLIER] = false, [CALENDAR_LATER] = false};
    size_t n = 0;
    int r = calendar_alternatives(s->c->calendar, &s->ask, s->id, s->from, s->to, s->a, &v, &n);
    s->code = r == ERR_NOMEM ? r : s->code;
    for (size_t i = 0; i < n; i++) {
        bool yes = v[i].kind == CALENDAR_SPLIT
                       ? split_allowed(s, &v[i])
                       : allowed(s, v[i].start, v[i].end, v[i].lines, v[i].n_lines);
        if (yes) {
            put(s, names[v[i].kind], &v[i]);
        } else if (v[i].kind == CALENDAR_EARLIER || v[i].kind == CALENDAR_LATER) {
            again[v[i].kind] = true;
        }
    }
    if (again[CALENDAR_EARLIER]) {
        offer_time(s, false);
    }
    if (again[CALENDAR_LATER]) {
        offer_time(s, true);
    }
    if (s->n == 0 && why->trouble != CALENDAR_UNKNOWN && why->trouble != CALENDAR_SMALL) {
        offer_shorter(s);
    }
}

static void of_limits(struct instead_search *s) {
    offer_fewer(s);
    offer_shorter(s);
    offer_longer(s);
    offer_smaller(s);
    offer_time(s, true);
    offer_time(s, false);
}

/* So many bookings are allowed: nothing helps but the end of some. When enough of them have ended; 0: nobody knows. */
static void offer_wait(struct instead_search *s, const struct booking_refusal *f) {
    const struct plan_uses *uses = &s->l.uses[f->scope];
    size_t most = (size_t)(f->asked - f->allowed);
    s->edges->n = 0;
    for (size_t i = 0; i < uses->n && s->edges->n < EDGES_MAX; i++) {
        if (uses->v[i].end > s->l.q.now) {
            s->edges->v[s->edges->n++] = uses->v[i].end;
        }
    }
    if (most > 0 && s->edges->n >= most) {
        qsort(s->edges->v, s->edges->n, sizeof *s->edges->v, by_number);
        put(s, "AskLater", &(struct calendar_alternative){.end = s->edges->v[most - 1]});
    }
}

static void find(struct instead_search *s, const struct plan_outcome *o) {
    if (s->begun) {
        offer_shorter(s);
        return;
    }
    if (o->verdict == PLAN_FULL) {
        of_calendar(s, &o->why);
        return;
    }
    for (int i = 0; i < o->n_refusals; i++) {
        if (o->refusals[i].limit == BOOKING_FUTURE) {
            offer_wait(s, &o->refusals[i]);
            return;
        }
    }
    of_limits(s);
}

/* How far ahead other times are looked for: past the week or month that is counted. */
static int64_t horizon(const struct reservation_controller *c) {
    const struct reservation_scopes *l = c->policy.spec->limits;
    const struct reservation_limits *v[] = {l ? l->user : NULL, l ? l->project : NULL,
                                            l ? l->tenant : NULL};
    int64_t days = LOOK_AHEAD_DAYS;
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        int64_t more = v[i] == NULL                    ? 0
                       : v[i]->gpu_hours_per_month.set ? 31
                       : v[i]->gpu_hours_per_week.set  ? 7
                                                       : 0;
        days = LOOK_AHEAD_DAYS + more > days ? LOOK_AHEAD_DAYS + more : days;
    }
    return days * PLAN_DAY;
}

/* What is asked for, as it could be: a whole number of steps, and of what has begun the start that it has. */
static void ask_like(struct instead_search *s, const struct plan_want *w) {
    s->ask = w->ask;
    if (s->begun) {
        s->ask.start = s->instead->start;
        s->ask.fixed = true;
    }
    int64_t over = (s->ask.end - s->ask.start) % s->grid;
    s->ask.end += over > 0 && !s->begun ? s->grid - over : 0;
}

int plan_instead(struct reservation_controller *c, const struct reservation *r,
                 const struct plan_want *w, const struct plan_outcome *o, struct booking *instead,
                 struct arena *a, struct plan_offer **ret, size_t *ret_n) {
    struct instead_search *s = ARENA_NEW(a, struct instead_search);
    int64_t now = plan_now(c);
    if (s == NULL || (s->edges = ARENA_NEW(a, struct edges)) == NULL) {
        return ERR_NOMEM;
    }
    if (w->ask.n_lines > CALENDAR_LINES_MAX || w->ask.end <= w->ask.start) {
        return 0;
    }
    s->c = c;
    s->r = r;
    s->instead = instead;
    s->id = instead ? instead->uid : (struct str){0};
    s->begun = instead && booking_begun(instead->phase);
    s->a = a;
    s->grid = c->policy.spec->granularity_ns / NS_PER_SEC;
    ask_like(s, w);
    s->from = reservation_grid_down(now, s->grid, plan_grid_base(c, now));
    s->to = s->ask.start + horizon(c);
    int code = plan_limits_begin(c, r, r->metadata->namespace, instead, s->from,
                                 s->to + s->ask.end - s->ask.start, &s->l);
    if (code != 0) {
        return code;
    }
    s->l.q.now = now;
    find(s, o);
    plan_limits_end(&s->l);
    *ret = s->v;
    *ret_n = s->n < RESERVATION_ALTERNATIVES ? s->n : RESERVATION_ALTERNATIVES;
    return s->code;
}
