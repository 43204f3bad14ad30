/* reservation_outcome: why a booking is not given what it asks for, and what it could have instead. */
#include "control/book/reservation_private.h"

#include "api/schema/codec_encode.h"
#include "control/book/reservation_grid.h"
#include "wire/text/time.h"
#include "wire/text/zone.h"

enum { CONFLICTS_TOLD = 10 };

/* ---- texts ---- */

/* "14:00" today, else "2026-11-23 14:00", in the booking's zone, which is named unless it is UTC. */
static struct str moment(const struct reservation_controller *c, const struct reservation *r,
                         int64_t at, struct arena *a) {
    const struct zone *z = zone_of_utc();
    char text[ZONE_TEXT_MAX];
    if (c->base.env.zones) {
        (void)zones_get(c->base.env.zones, r->spec->time_zone, &z, NULL);
    }
    struct str t = zone_local_text(zone_local(z, at), text);
    struct str minute = str_head(t, sizeof "2026-11-23T14:00" - 1);
    char *copy = (char *)arena_f(a, "%.*s%s%.*s", STR_ARG(minute), " ", STR_ARG(zone_name(z))).p;
    if (copy) {
        copy[10] = ' ';
    }
    return copy ? str_of(copy) : STR("");
}

static struct str length(int64_t s, struct arena *a) {
    char text[DURATION_TEXT_MAX];
    struct str t = duration_text(s * NS_PER_SEC, text);
    if (str_ends(t, STR("m0s"))) {
        t.n -= 2;
    }
    if (str_ends(t, STR("h0m"))) {
        t.n -= 2;
    }
    return arena_str(a, t);
}

/* Allowed and asked as people write them. */
static struct str amount(const struct booking_refusal *f, int64_t v, const struct reservation *r,
                         const struct reservation_controller *c, struct arena *a) {
    switch (f->limit) {
    case BOOKING_WEEK:
    case BOOKING_MONTH:
        return arena_f(a, "%.*s GPU hours", STR_ARG(booking_hours_text(a, v)));
    case BOOKING_DURATION:
    case BOOKING_SHORTEST:
        return length(v, a);
    case BOOKING_AHEAD:
        return arena_f(a, "%lld days", (long long)((v + PLAN_DAY - 1) / PLAN_DAY));
    case BOOKING_PAST:
        v = v == f->allowed ? reservation_grid_up(v, c->policy.spec->granularity_ns / NS_PER_SEC,
                                                  plan_grid_base(c, v))
                            : v;
        return moment(c, r, v, a);
    case BOOKING_GRID:
        return v == f->allowed ? length(v, a) : moment(c, r, v, a);
    default:
        return arena_f(a, "%lld", (long long)v);
    }
}

static struct str whose(const struct booking_refusal *f, const struct reservation *r,
                        struct arena *a) {
    struct str user = plan_user(r);
    switch (f->scope) {
    case BOOKING_USER:
        return user.n ? user : STR("a user");
    case BOOKING_PROJECT:
        return arena_f(a, "project %.*s", STR_ARG(r->metadata->namespace));
    case BOOKING_TENANT:
        return STR("the tenant");
    default:
        return STR("a booking");
    }
}

static struct str refusal_text(const struct reservation_controller *c, const struct reservation *r,
                               const struct booking_refusal *f, struct arena *a) {
    struct str allowed = amount(f, f->allowed, r, c, a), asked = amount(f, f->asked, r, c, a);
    struct str who = whose(f, r, a);
    switch (f->limit) {
    case BOOKING_CONCURRENT_UNITS:
        return arena_f(a, "%.*s may have %.*s units at one time; with this it would be %.*s",
                       STR_ARG(who), STR_ARG(allowed), STR_ARG(asked));
    case BOOKING_FUTURE:
        return arena_f(a, "%.*s may have %.*s bookings; this would be number %.*s", STR_ARG(who),
                       STR_ARG(allowed), STR_ARG(asked));
    case BOOKING_DURATION:
        return arena_f(a,
                       "%.*s may last %.*s, and this is %.*s (bookings without a gap count as one)",
                       STR_ARG(who), STR_ARG(allowed), STR_ARG(asked));
    case BOOKING_WEEK:
    case BOOKING_MONTH:
        return arena_f(a, "%.*s may book %.*s in any %s days; with this it would be %.*s",
                       STR_ARG(who), STR_ARG(allowed), f->limit == BOOKING_WEEK ? "7" : "30",
                       STR_ARG(asked));
    case BOOKING_SHORTEST:
        return arena_f(a, "a booking lasts at least %.*s, and this is %.*s", STR_ARG(allowed),
                       STR_ARG(asked));
    case BOOKING_AHEAD:
        return arena_f(a, "a booking starts within %.*s, and this is %.*s away", STR_ARG(allowed),
                       STR_ARG(asked));
    case BOOKING_GRID:
        return arena_f(a, "times are on a grid of %.*s, and %.*s is not", STR_ARG(allowed),
                       STR_ARG(asked));
    default:
        return arena_f(a, "%.*s is past; the first start is %.*s", STR_ARG(asked),
                       STR_ARG(allowed));
    }
}

static struct str why_text(const struct reservation_controller *c, const struct reservation *r,
                           const struct plan_want *w, const struct calendar_why *y,
                           struct arena *a) {
    const struct calendar_line *l = y->line < w->ask.n_lines ? &w->ask.lines[y->line] : NULL;
    struct str resource = l ? l->resource : STR("it");
    switch (y->trouble) {
    case CALENDAR_UNKNOWN:
        return arena_f(a, "there is no %.*s to book%s%.*s", STR_ARG(resource),
                       l && l->n_flavors == 1 ? " of flavor " : "",
                       STR_ARG(l && l->n_flavors == 1 ? l->flavors[0] : STR("")));
    case CALENDAR_SMALL:
        return arena_f(a, "there are %lld %.*s in all, and this asks for %lld", (long long)y->most,
                       STR_ARG(resource), (long long)y->need);
    case CALENDAR_APART:
        return arena_f(a, "no node has %lld %.*s together then", (long long)y->need,
                       STR_ARG(resource));
    case CALENDAR_PLACE:
        return arena_f(a, "its place is taken from %.*s on", STR_ARG(moment(c, r, y->from, a)));
    case CALENDAR_SHAPE:
        return arena_f(a, "%.*s: enough is free at every moment, but no place is free all the time",
                       STR_ARG(resource));
    default:
        if (y->to == CALENDAR_FOREVER) {
            return arena_f(a, "%lld of %lld %.*s are free from %.*s on", (long long)y->free,
                           (long long)y->need, STR_ARG(resource),
                           STR_ARG(moment(c, r, y->from, a)));
        }
        return arena_f(a, "%lld of %lld %.*s are free from %.*s to %.*s", (long long)y->free,
                       (long long)y->need, STR_ARG(resource), STR_ARG(moment(c, r, y->from, a)),
                       STR_ARG(moment(c, r, y->to, a)));
    }
}

const char *plan_outcome_reason(const struct plan_outcome *o) {
    if (o->verdict == PLAN_FITS) {
        return o->approver ? (strcmp(o->approver, "admin") == 0 ? "NeedsAdmin" : "NeedsManager")
                           : "Accepted";
    }
    return o->verdict == PLAN_LIMITS            ? "LimitReached"
           : o->why.trouble == CALENDAR_UNKNOWN ? "NoSuchResource"
           : o->why.trouble == CALENDAR_SMALL   ? "TooLarge"
                                                : "NoCapacity";
}

struct str plan_outcome_text(struct reservation_controller *c, const struct reservation *r,
                             const struct plan_want *w, const struct plan_outcome *o,
                             struct arena *a) {
    if (o->verdict == PLAN_FITS) {
        return o->approver
                   ? arena_f(a, "it fits; %s of the %s must approve it",
                             strcmp(o->approver, "admin") == 0 ? "an administrator" : "a manager",
                             strcmp(o->approver, "admin") == 0 ? "cluster" : "project")
                   : STR("it fits");
    }
    return o->verdict == PLAN_LIMITS && o->n_refusals > 0 ? refusal_text(c, r, &o->refusals[0], a)
                                                          : why_text(c, r, w, &o->why, a);
}

/* ---- data ---- */

static void set_refusals(struct reservation_controller *c, const struct reservation *r,
                         const struct plan_want *w, const struct plan_outcome *o, struct arena *a,
                         struct reservation_status *s) {
    size_t n = 0;
    struct reservation_refusal *v =
        ARENA_ARRAY(a, struct reservation_refusal, (size_t)o->n_refusals + 1);
    for (int i = 0; v && i < o->n_refusals; i++) {
        const struct booking_refusal *f = &o->refusals[i];
        bool scoped = f->scope < BOOKING_SCOPES;
        v[n++] = (struct reservation_refusal){.limit = str_of(booking_limit_name(f->limit)),
                                              .scope = scoped ? str_of(booking_scope_name(f->scope))
                                                              : (struct str){0},
                                              .allowed = amount(f, f->allowed, r, c, a),
                                              .asked = amount(f, f->asked, r, c, a),
                                              .text = refusal_text(c, r, f, a)};
    }
    if (v && o->verdict == PLAN_FULL) {
        int64_t allowed = o->why.trouble == CALENDAR_SMALL ? o->why.most : o->why.free;
        v[n++] = (struct reservation_refusal){.limit = STR("capacity"),
                                              .allowed = arena_f(a, "%lld", (long long)allowed),
                                              .asked = arena_f(a, "%lld", (long long)o->why.need),
                                              .text = why_text(c, r, w, &o->why, a)};
    }
    s->refusals.v = v;
    s->refusals.n = n;
}

static struct str alternative_text(struct reservation_controller *c, const struct reservation *r,
                                   const struct plan_offer *o, struct arena *a) {
    const struct calendar_alternative *x = &o->x;
    if (x->start == 0) {
        return arena_f(a, "ask again from %.*s on: enough of those bookings are over then",
                       STR_ARG(moment(c, r, x->end, a)));
    }
    struct str lines = plan_lines_text(a, x->lines, x->n_lines);
    struct str from = moment(c, r, x->start, a), to = moment(c, r, x->end, a);
    if (x->end2 > 0) {
        return arena_f(a, "%.*s from %.*s to %.*s, and from %.*s to %.*s", STR_ARG(lines),
                       STR_ARG(from), STR_ARG(to), STR_ARG(moment(c, r, x->start2, a)),
                       STR_ARG(moment(c, r, x->end2, a)));
    }
    return arena_f(
        a, "%.*s%s%.*s from %.*s to %.*s", STR_ARG(lines),
        x->n_lines && x->lines[0].n_flavors == 1 ? " of " : "",
        STR_ARG(x->n_lines && x->lines[0].n_flavors == 1 ? x->lines[0].flavors[0] : STR("")),
        STR_ARG(from), STR_ARG(to));
}

static void set_alternatives(struct reservation_controller *c, const struct reservation *r,
                             const struct plan_want *w, const struct plan_outcome *o,
                             struct booking *instead, struct arena *a,
                             struct reservation_status *s) {
    struct plan_offer *x = NULL;
    size_t n = 0;
    (void)plan_instead(c, r, w, o, instead, a, &x, &n);
    struct reservation_alternative *v = ARENA_ARRAY(a, struct reservation_alternative, n + 1);
    for (size_t i = 0; v && i < n; i++) {
        v[i].kind = str_of(x[i].kind);
        v[i].text = alternative_text(c, r, &x[i], a);
        if (x[i].x.start) {
            v[i].start_ns = plan_ns(x[i].x.start);
            v[i].end_ns = plan_ns(x[i].x.end);
            v[i].lines = plan_lines(a, x[i].x.lines, x[i].x.n_lines);
        }
    }
    if (v && n < RESERVATION_ALTERNATIVES && o->why.trouble != CALENDAR_UNKNOWN &&
        !(instead && booking_begun(instead->phase))) {
        v[n++] = (struct reservation_alternative){
            .kind = STR("Queue"),
            .text = STR("send the work to the project's queue without a booking: it runs as soon "
                        "as something is free")};
    }
    s->alternatives.v = v;
    s->alternatives.n = v ? n : 0;
}

static void set_conflicts(struct reservation_controller *c, const struct reservation *r,
                          const struct plan_want *w, struct str instead, struct arena *a,
                          struct reservation_status *s) {
    struct reservation_conflict *to = ARENA_ARRAY(a, struct reservation_conflict, CONFLICTS_TOLD);
    size_t told = 0;
    for (size_t i = 0; to && i < w->ask.n_lines; i++) {
        struct calendar_busy *v = NULL;
        size_t n = 0;
        const struct calendar_line *l = &w->ask.lines[i];
        (void)calendar_busy_list(c->calendar, (struct str){0}, l->resource, w->ask.start,
                                 w->ask.end, a, &v, &n);
        for (size_t k = 0; k < n && told < CONFLICTS_TOLD; k++) {
            bool standing = v[k].end == CALENDAR_FOREVER;
            if (str_eq(v[k].id, instead)) {
                continue;
            }
            to[told++] = (struct reservation_conflict){
                .start_ns = plan_ns(v[k].start),
                .end_ns = plan_ns(v[k].end),
                .resource = l->resource,
                .count = v[k].count,
                .text = standing ? arena_f(a, "%lld kept for queues", (long long)v[k].count)
                                 : arena_f(a, "%lld taken until %.*s", (long long)v[k].count,
                                           STR_ARG(moment(c, r, v[k].end, a)))};
        }
    }
    s->conflicts.v = to;
    s->conflicts.n = told;
}

void plan_outcome_status(struct reservation_controller *c, const struct reservation *r,
                         const struct plan_want *w, const struct plan_outcome *o,
                         struct booking *instead, struct arena *a, struct reservation_status *ret) {
    set_refusals(c, r, w, o, a, ret);
    set_alternatives(c, r, w, o, instead, a, ret);
    if (o->verdict == PLAN_FULL) {
        set_conflicts(c, r, w, instead ? instead->uid : (struct str){0}, a, ret);
    }
}

void plan_outcome_keep(struct reservation_controller *c, struct booking *b,
                       const struct reservation *r, const struct plan_want *w,
                       const struct plan_outcome *o, struct booking *instead) {
    struct reservation_status s = {0};
    struct buf text;
    plan_outcome_status(c, r, w, o, instead, &c->scratch, &s);
    buf_init(&text, 0);
    codec_encode(&schema_reservation_status, &s, &text);
    booking_extra(b, buf_view(&text));
    buf_release(&text);
}
