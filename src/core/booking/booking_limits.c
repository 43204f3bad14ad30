/* booking_limits (core): what a user, a project and the tenant may book, as sums. */
#include <stdlib.h>

#include "base/vec.h"
#include "core/booking/booking.h"

static const char *const LIMITS[BOOKING_LIMITS] = {
    [BOOKING_CONCURRENT_UNITS] = "concurrentUnits",
    [BOOKING_FUTURE] = "futureBookings",
    [BOOKING_DURATION] = "maxDuration",
    [BOOKING_WEEK] = "gpuHoursPerWeek",
    [BOOKING_MONTH] = "gpuHoursPerMonth",
    [BOOKING_SHORTEST] = "minDuration",
    [BOOKING_AHEAD] = "daysAhead",
    [BOOKING_GRID] = "granularity",
    [BOOKING_PAST] = "start",
};

const char *booking_limit_name(enum booking_limit l) {
    return LIMITS[l];
}

const char *booking_scope_name(enum booking_scope s) {
    static const char *const names[] = {"user", "project", "tenant", "policy"};
    return names[s];
}

enum { WEEK_S = 7 * 86400, MONTH_S = 30 * 86400 };

struct edge {
    int64_t at, jump, area; /* area: units times seconds before it */
};
VEC(edges, struct edge);

struct refusals {
    struct booking_refusal *v;
    int n;
};

static void refuse(struct refusals *to, struct booking_refusal x) {
    to->v[to->n++] = x;
}

static int by_time(const void *pa, const void *pb) {
    const struct edge *a = pa, *b = pb;
    return a->at != b->at ? (a->at < b->at ? -1 : 1) : (a->jump > b->jump) - (a->jump < b->jump);
}

static bool near(const struct booking_use *x, int64_t from, int64_t to) {
    return x->start < to && x->end > from;
}

/* The edges of all uses near [from, to) and of the booking itself, with what they add (units, or share). */
static int edges_of(const struct booking_request *r, enum booking_scope scope, int64_t from,
                    int64_t to, bool share, struct edges *ret) {
    ret->n = 0;
    int bad = edges_room(ret, 2 * (r->n_uses[scope] + 1));
    for (size_t i = 0; bad == 0 && i <= r->n_uses[scope]; i++) {
        const struct booking_use *x = i < r->n_uses[scope] ? &r->uses[scope][i] : &r->use;
        int64_t v = share ? x->share : x->units;
        if (near(x, from, to)) {
            ret->v[ret->n++] = (struct edge){x->start, v, 0};
            ret->v[ret->n++] = (struct edge){x->end, -v, 0};
        }
    }
    if (bad != 0) {
        return bad;
    }
    qsort(ret->v, ret->n, sizeof(*ret->v), by_time);
    int64_t value = 0, area = 0;
    for (size_t i = 0; i < ret->n; i++) {
        area += i > 0 ? value * (ret->v[i].at - ret->v[i - 1].at) : 0;
        ret->v[i].area = area;
        value += ret->v[i].jump;
    }
    return 0;
}

/* The most at one time within the booking. */
static int64_t peak(const struct edges *e, const struct booking_use *own, int64_t *ret_from) {
    int64_t value = 0, most = 0;
    for (size_t i = 0; i < e->n; i++) {
        value += e->v[i].jump;
        bool last = i + 1 == e->n || e->v[i + 1].at != e->v[i].at;
        bool within = e->v[i].at < own->end && (i + 1 == e->n || e->v[i + 1].at > own->start);
        if (last && within && value > most) {
            most = value;
            *ret_from = e->v[i].at > own->start ? e->v[i].at : own->start;
        }
    }
    return most;
}

/* Area before t. */
static int64_t area_at(const struct edges *e, int64_t t) {
    size_t lo = 0, hi = e->n;
    int64_t value = 0;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (e->v[mid].at <= t) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo == 0) {
        return 0;
    }
    if (lo < e->n && e->v[lo].at > e->v[lo - 1].at) { /* the slope to the next edge */
        value = (e->v[lo].area - e->v[lo - 1].area) / (e->v[lo].at - e->v[lo - 1].at);
    }
    return e->v[lo - 1].area + value * (t - e->v[lo - 1].at);
}

/* The most area in any stretch of `length` that meets the booking: its edges begin or end it. */
static int64_t most_in(const struct edges *e, const struct booking_use *own, int64_t length,
                       int64_t *ret_from) {
    int64_t most = 0;
    for (size_t i = 0; i < e->n; i++) {
        int64_t starts[2] = {e->v[i].at, e->v[i].at - length};
        for (size_t k = 0; k < 2; k++) {
            int64_t t = starts[k];
            if (t >= own->end || t + length <= own->start) {
                continue;
            }
            int64_t v = area_at(e, t + length) - area_at(e, t);
            if (v > most) {
                most = v;
                *ret_from = t;
            }
        }
    }
    return most;
}

/* Length of the booking with all of its owner's that touch it. */
static int64_t stacked(const struct booking_request *r, enum booking_scope scope, int64_t *ret_from,
                       int64_t *ret_to) {
    int64_t from = r->use.start, to = r->use.end;
    for (bool grew = true; grew;) {
        grew = false;
        for (size_t i = 0; i < r->n_uses[scope]; i++) {
            const struct booking_use *x = &r->uses[scope][i];
            if (x->same_owner && x->start <= to && x->end >= from &&
                (x->start < from || x->end > to)) {
                from = x->start < from ? x->start : from;
                to = x->end > to ? x->end : to;
                grew = true;
            }
        }
    }
    *ret_from = from;
    *ret_to = to;
    return to - from;
}

static void check_duration(const struct booking_request *r, enum booking_scope scope,
                           enum booking_scope as, int64_t allowed, struct refusals *to) {
    int64_t from, until;
    int64_t length = allowed > 0 ? stacked(r, scope, &from, &until) : 0;
    if (allowed > 0 && length > allowed) {
        refuse(to, (struct booking_refusal){BOOKING_DURATION, as, allowed, length, from, until});
    }
}

static int check_area(const struct booking_request *r, enum booking_scope scope,
                      enum booking_limit limit, int64_t allowed, int64_t length, struct edges *e,
                      struct refusals *to) {
    int64_t from = r->use.start;
    if (allowed <= 0) {
        return 0;
    }
    int bad = edges_of(r, scope, r->use.start - length, r->use.end + length, true, e);
    if (bad != 0) {
        return bad;
    }
    int64_t ms = most_in(e, &r->use, length, &from) / 1000;
    if (ms > allowed) {
        refuse(to, (struct booking_refusal){limit, scope, allowed, ms, from, from + length});
    }
    return 0;
}

static int check_scope(const struct booking_request *r, enum booking_scope scope, struct edges *e,
                       struct refusals *to) {
    const struct booking_caps *caps = &r->caps[scope];
    int64_t from = r->use.start, future = r->open[scope] + 1;
    if (caps->concurrent_units > 0) {
        int bad = edges_of(r, scope, r->use.start, r->use.end, false, e);
        if (bad != 0) {
            return bad;
        }
        int64_t most = peak(e, &r->use, &from);
        if (most > caps->concurrent_units) {
            refuse(to, (struct booking_refusal){BOOKING_CONCURRENT_UNITS, scope,
                                                caps->concurrent_units, most, from, r->use.end});
        }
    }
    if (caps->future > 0 && future > caps->future) {
        refuse(to, (struct booking_refusal){BOOKING_FUTURE, scope, caps->future, future, 0, 0});
    }
    check_duration(r, scope, scope, caps->max_duration_s, to);
    int bad = check_area(r, scope, BOOKING_WEEK, caps->gpu_ms_week, WEEK_S, e, to);
    return bad != 0 ? bad : check_area(r, scope, BOOKING_MONTH, caps->gpu_ms_month, MONTH_S, e, to);
}

static bool off_grid(const struct booking_request *r, int64_t t) {
    return r->grid_s > 0 && (t - r->grid_base) % r->grid_s != 0;
}

static void check_policy(const struct booking_request *r, struct refusals *to) {
    const struct booking_use *u = &r->use;
    bool moved = r->old_start == 0 || r->old_start != u->start;
    int64_t length = u->end - u->start;
    if ((moved && off_grid(r, u->start)) || off_grid(r, u->end)) {
        int64_t bad = moved && off_grid(r, u->start) ? u->start : u->end;
        refuse(to, (struct booking_refusal){BOOKING_GRID, BOOKING_SCOPES, r->grid_s, bad, 0, 0});
    }
    if (moved && u->start < r->now - r->past_s) {
        refuse(to, (struct booking_refusal){BOOKING_PAST, BOOKING_SCOPES, r->now - r->past_s,
                                            u->start, 0, 0});
    }
    if (r->min_duration_s > 0 && length < r->min_duration_s) {
        refuse(to, (struct booking_refusal){BOOKING_SHORTEST, BOOKING_SCOPES, r->min_duration_s,
                                            length, 0, 0});
    }
    if (r->ahead_s > 0 && moved && u->start - r->now > r->ahead_s) {
        refuse(to, (struct booking_refusal){BOOKING_AHEAD, BOOKING_SCOPES, r->ahead_s,
                                            u->start - r->now, 0, 0});
    }
    check_duration(r, BOOKING_USER, BOOKING_SCOPES, r->max_duration_s, to);
}

int booking_limits_check(const struct booking_request *r, struct booking_refusal *ret) {
    struct refusals to = {ret, 0};
    struct edges e = {0};
    int bad = 0;
    for (enum booking_scope s = 0; bad == 0 && s < BOOKING_SCOPES; s++) {
        bad = check_scope(r, s, &e, &to);
    }
    check_policy(r, &to);
    edges_release(&e);
    return bad != 0 ? bad : to.n;
}
