/*
 * calendar_body_series: a series in a feed: one event with a rule, from the first occurrence that is as the rule says
 * to the last, EXDATE for those that are not there, RECURRENCE-ID for those that are different. What is not seen any
 * more (a month ago), or not yet (beyond the horizon), is in no rule: the calendar has what is booked, and no more.
 */
#include "control/series/calendar_body.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/series/reservation_series.h"
#include "wire/text/rrule.h"

struct group {
    struct feed_ask *q;
    const struct object *obj;
    struct reservation_series *s;
    const struct zone *zone;
    struct rrule rule;
    int64_t start_local, length;
    struct feed_item **v; /* its members that are not done, in order of start */
    size_t n;
    struct zones_put *zones;
};

/* A zone is written once, for all series that use it. */
struct zones_put {
    const struct zone **v;
    size_t n;
};

static int64_t seconds(int64_t ns) {
    return ns / NS_PER_SEC;
}

static bool local_of(const struct feed_item *it, int64_t *ret) {
    return zone_parse_local(it->r->spec->recurrence_id, ret, NULL) == 0;
}

/* Just as the rule would say it. */
static bool is_plain(const struct group *g, const struct feed_item *it) {
    const struct reservation_spec *s = it->r->spec, *t = g->s->spec->template;
    enum zone_fit fit;
    int64_t local;
    if (!local_of(it, &local) || feed_status(it) != ICAL_CONFIRMED) {
        return false;
    }
    int64_t start = zone_utc(g->zone, local, &fit);
    return fit != ZONE_GAP && it->b->start == start && it->b->end == start + g->length &&
           str_eq(s->purpose, t->purpose) && s->lines.n == t->lines.n;
}

static struct feed_item *member(const struct group *g, int64_t local) {
    for (size_t i = 0; i < g->n; i++) {
        int64_t at;
        if (local_of(g->v[i], &at) && at == local) {
            return g->v[i];
        }
    }
    return NULL;
}

static void put_override(struct group *g, struct ical *c, struct feed_item *it, int64_t local,
                         struct str uid) {
    struct ical_event e = feed_event(g->q, it);
    e.uid = uid;
    e.zone = g->zone;
    e.has_recurrence_id = true;
    e.recurrence_id = local;
    ical_event(c, &e);
    it->done = true;
}

static struct ical_event master_of(struct group *g, const struct feed_item *first, int64_t until,
                                   struct str uid) {
    struct arena *a = g->q->a;
    const struct reservation_spec *t = g->s->spec->template;
    struct rrule rule = g->rule;
    struct buf b;
    struct ical_event e = feed_event(g->q, first);
    rule.count = 0;
    rule.has_until = RRULE_UNTIL_UTC;
    rule.until = until;
    buf_init(&b, LIMIT_RRULE_BYTES * 2);
    rrule_write(&rule, &b);
    e.uid = uid;
    e.zone = g->zone;
    e.rrule = arena_str(a, buf_view(&b));
    e.sequence = (int32_t)g->obj->generation;
    e.created = seconds(g->obj->created_ns);
    e.summary = feed_summary(a, t->purpose, &t->lines);
    e.description =
        arena_f(a, "Project: %.*s\nSeries: %.*s", STR_ARG(g->obj->ns), STR_ARG(g->obj->name));
    for (size_t i = 0; i < g->n; i++) {
        int64_t m = g->v[i]->b->modified;
        e.modified = m > e.modified ? m : e.modified;
    }
    e.stamp = e.modified;
    buf_release(&b);
    return e;
}

/* What the rule yields from the first plain member to the last member; false: nothing to say by a rule. */
static bool span(const struct group *g, int64_t *ret_first, int64_t *ret_last,
                 struct feed_item **ret_plain) {
    struct feed_item *plain = NULL;
    int64_t local, last = INT64_MIN;
    for (size_t i = 0; i < g->n; i++) {
        if (plain == NULL && is_plain(g, g->v[i]) && local_of(g->v[i], ret_first)) {
            plain = g->v[i];
        }
        if (local_of(g->v[i], &local) && local > last) {
            last = local;
        }
    }
    struct rrule_iter it;
    rrule_begin(&it, &g->rule, g->zone, g->start_local);
    *ret_last = last;
    *ret_plain = plain;
    return plain && rrule_next_from(&it, *ret_first, &local) && local == *ret_first;
}

static void put_zone(struct group *g, struct ical *c) {
    for (size_t i = 0; i < g->zones->n; i++) {
        if (g->zones->v[i] == g->zone) {
            return;
        }
    }
    g->zones->v[g->zones->n++] = g->zone;
    ical_zone(c, g->zone, g->q->now - FEED_KEEP, g->q->now + FEED_AHEAD);
}

static void put_group(struct group *g, struct ical *c) {
    int64_t first, last, local, until = 0;
    struct feed_item *plain;
    struct rrule_iter it;
    size_t n_out = 0, n = 0;
    int64_t *out = ARENA_ARRAY(g->q->a, int64_t, LIMIT_SERIES_OCCURRENCES);
    int64_t *odd = ARENA_ARRAY(g->q->a, int64_t, LIMIT_SERIES_OCCURRENCES);
    size_t n_odd = 0;
    if (out == NULL || odd == NULL || !span(g, &first, &last, &plain)) {
        return;
    }
    rrule_begin(&it, &g->rule, g->zone, g->start_local);
    for (bool more = rrule_next_from(&it, first, &local);
         more && local <= last && n < LIMIT_SERIES_OCCURRENCES; more = rrule_next(&it, &local)) {
        struct feed_item *m = member(g, local);
        n++;
        until = zone_utc(g->zone, local, NULL);
        if (m == NULL) {
            out[n_out++] = local;
        } else if (is_plain(g, m)) {
            m->done = true;
        } else {
            odd[n_odd++] = local;
        }
    }
    struct str uid = arena_f(g->q->a, "%.*s@berth", STR_ARG(g->obj->uid));
    put_zone(g, c);
    struct ical_event e = master_of(g, plain, until, uid);
    e.exdates = out;
    e.n_exdates = n_out;
    ical_event(c, &e);
    for (size_t i = 0; i < n_odd; i++) {
        put_override(g, c, member(g, odd[i]), odd[i], uid);
    }
}

static bool read_group(struct group *g, struct str ns, struct str name) {
    struct calendar_feed_controller *c = g->q->c;
    yyjson_doc *d;
    g->obj = mirror_get(c->base.env.mirror, c->series, ns, name);
    g->s = g->obj ? ARENA_NEW(g->q->a, struct reservation_series) : NULL;
    if (g->s == NULL || object_tree(g->obj, g->q->a, &d, NULL) != 0 ||
        codec_decode(&schema_reservation_series, yyjson_doc_get_root(d), g->q->a, g->s, NULL) !=
            0 ||
        g->s->spec == NULL || g->s->spec->template == NULL) {
        return false;
    }
    const struct reservation_series_spec *s = g->s->spec;
    g->length = seconds(s->duration_ns);
    return zones_get(c->zones, s->time_zone, &g->zone, NULL) == 0 &&
           rrule_parse(s->rrule, &g->rule, NULL) == 0 &&
           zone_parse_local(s->start, &g->start_local, NULL) == 0;
}

static bool in_series(const struct feed_item *it, struct str ns, struct str name) {
    return !it->done && !it->anonymous && !it->b->gone && str_eq(it->b->obj->ns, ns) &&
           str_eq(it->r->spec->series_name, name) &&
           str_eq(object_label(it->b->obj, STR(SERIES_LABEL)), name);
}

void feed_put_series(struct feed_ask *q, struct ical *c, struct feed_items *l) {
    bool *seen = ARENA_ARRAY(q->a, bool, l->n + 1);
    struct zones_put zones = {ARENA_ARRAY(q->a, const struct zone *, l->n + 1), 0};
    for (size_t i = 0; seen && zones.v && i < l->n; i++) {
        struct str ns = l->v[i].b->obj->ns, name = l->v[i].r->spec->series_name;
        struct group g = {.q = q, .zones = &zones};
        if (seen[i] || name.n == 0 || !in_series(&l->v[i], ns, name) || !read_group(&g, ns, name)) {
            continue;
        }
        g.v = ARENA_ARRAY(q->a, struct feed_item *, l->n);
        for (size_t k = i; g.v && k < l->n; k++) {
            if (in_series(&l->v[k], ns, name)) {
                g.v[g.n++] = &l->v[k];
                seen[k] = true;
            }
        }
        if (g.n > 0) {
            put_group(&g, c);
        }
    }
}
