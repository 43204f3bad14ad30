/* reservation_series: keys are series. See reservation_series.h. */
#include "control/series/reservation_series.h"

#include "api/conditions.h"
#include "api/meta.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/series/reservation_series_private.h"

enum { CREATES_A_LOOK = 64 };
static const char *const gone_reason = "its series was deleted";
static const char *const out_reason = "its series does not have it any more";

/* ---- memory ---- */

struct series_memory *series_memory_of(struct reservation_series_controller *c, struct str ns,
                                       struct str name, bool make) {
    char key[2 * LIMIT_NAME + 2];
    int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    if (n < 0 || (size_t)n >= sizeof(key)) {
        return NULL;
    }
    struct series_memory *m = map_get(&c->memories, str_of(key));
    if (m || !make) {
        return m;
    }
    m = mem_zalloc(sizeof(*m));
    if (m) {
        m->key = mem_cstr(str_of(key));
    }
    if (m == NULL || m->key == NULL || map_put(&c->memories, str_of(m->key), m, NULL) != 0) {
        mem_free(m ? m->key : NULL);
        mem_free(m);
        return NULL;
    }
    m->ns = str_from(m->key, ns.n);
    m->name = str_skip(str_of(m->key), ns.n + 1);
    return m;
}

static void forget_refusals(struct series_memory *m) {
    while (m->refusals) {
        struct series_refusal *r = m->refusals;
        m->refusals = r->next;
        mem_free(r);
    }
}

static void memory_free(struct series_memory *m) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&m->members, &i));) {
        mem_free(e->value);
    }
    map_release(&m->members);
    forget_refusals(m);
    mem_free(m->key);
    mem_free(m);
}

/* Nothing is left of it: neither series nor Reservation. */
static void drop_when_empty(struct reservation_series_controller *c, struct series_memory *m) {
    if (map_count(&m->members) == 0) {
        map_del(&c->memories, str_of(m->key));
        memory_free(m);
    }
}

static void member_seen(struct reservation_series_controller *c, const struct object *o,
                        bool there) {
    struct str series = object_label(o, STR(SERIES_LABEL));
    struct series_memory *m = series.n > 0 ? series_memory_of(c, o->ns, series, there) : NULL;
    char *name = m ? map_get(&m->members, o->name) : NULL;
    if (series.n == 0) {
        return;
    }
    c->lost = c->lost || (there && m == NULL);
    if (there && m && name == NULL) {
        name = mem_cstr(o->name);
        if (name == NULL || map_put(&m->members, str_of(name), name, NULL) != 0) {
            mem_free(name);
            c->lost = true;
        }
    } else if (!there && name) {
        map_del(&m->members, o->name);
        mem_free(name);
    }
    workqueue_add(c->base.queue, o->ns, series);
}

/* ---- one look ---- */

static void skip(struct series_look *l, struct occurrence *o, const char *why, struct str message) {
    o->skip = why;
    o->skip_message = message;
    if (!o->skip_told && str_is(str_of(why), "Conflict")) {
        recorder_event(l->c->base.recorder, l->obj, EVENT_WARNING, "OccurrenceSkipped",
                       "%.*s: %.*s", STR_ARG(o->id), STR_ARG(message));
    }
}

static struct series_refusal *refusal_of(const struct series_memory *m, int64_t local,
                                         int64_t generation) {
    struct series_refusal *r = m ? m->refusals : NULL;
    while (r && (r->local != local || r->generation != generation)) {
        r = r->next;
    }
    return r;
}

/* Why an occurrence cannot be there; empty: it can. */
static struct str refusal(struct series_look *l, const struct series_memory *m,
                          const struct occurrence *o) {
    const struct series_refusal *r = refusal_of(m, o->local, l->obj->generation);
    if (r && r->times > 1 && o->obj == NULL) {
        return str_of(r->message);
    }
    if (o->obj == NULL &&
        mirror_get(l->c->base.env.mirror, l->c->reservations, l->obj->ns, o->name) &&
        !(m && map_get(&m->members, o->name))) {
        return STR("there is a Reservation of its name that does not belong to the series");
    }
    if (str_is(series_phase(o), "Rejected")) {
        struct str text = o->rsv->status->message;
        return text.n > 0 ? text : STR("it does not fit");
    }
    return (struct str){0};
}

/* Occurrences to come that do not fit, or wait where waiting is limited as well. */
static size_t find_conflicts(struct series_look *l, const struct series_memory *m) {
    bool waits = str_is(l->s->spec->conflict_policy, "Waitlist");
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct occurrence *o = &l->v[i];
        if (!o->wanted || o->start < l->now) {
            continue;
        }
        struct str why = o->skip ? (struct str){0} : refusal(l, m, o);
        if (why.n > 0) {
            skip(l, o, "Conflict", why);
        }
        n += o->skip ? str_is(str_of(o->skip), "Conflict")
                     : waits && str_is(series_phase(o), "Waitlisted");
    }
    return n;
}

static bool too_many(const struct series_look *l, size_t conflicts) {
    const struct reservation_series_spec *s = l->s->spec;
    bool all = str_is(s->conflict_policy, "Skip") || str_is(s->conflict_policy, "Waitlist");
    return all ? s->max_conflicts > 0 && conflicts > (size_t)s->max_conflicts : conflicts > 0;
}

/* None is booked: what was made on the way is taken back. */
static void give_up(struct series_look *l, size_t conflicts) {
    for (size_t i = 0; i < l->n; i++) {
        struct occurrence *o = &l->v[i];
        if (series_may_change(l, o) || str_is(series_phase(o), "Rejected")) {
            series_remove(l, o);
        }
    }
    if (!l->given_up) {
        const struct occurrence none = {0}, *first = &none;
        size_t to_come = 0;
        for (size_t i = l->n; i > 0; i--) {
            const struct occurrence *o = &l->v[i - 1];
            to_come += o->wanted && o->start >= l->now;
            first = o->skip && str_is(str_of(o->skip), "Conflict") ? o : first;
        }
        l->message =
            arena_f(l->a, "none was booked: %zu of %zu do not fit, the first at %.*s: %.*s",
                    conflicts, to_come, STR_ARG(first->id), STR_ARG(first->skip_message));
        recorder_event(l->c->base.recorder, l->obj, EVENT_WARNING, "SeriesConflict", "%.*s",
                       STR_ARG(l->message));
    } else {
        l->message = l->s->status->message;
    }
    l->reason = "Conflict";
}

/* There is one, and it should be. */
static void keep(struct series_look *l, struct occurrence *o) {
    bool by_us = str_is(series_phase(o), "Cancelled");
    struct str intent = meta_annotation(o->rsv->metadata, SERIES_INTENT);
    by_us = by_us && (intent.p == NULL || str_is(intent, SERIES_CANCELLED));
    if (by_us && o->start > l->now) {
        series_remove(l, o); /* taken out once, and back in again: it is made anew */
    } else if (o->skip && str_is(series_phase(o), "Rejected")) {
        if (o->skip_told) {
            series_remove(l, o); /* status says all that it did */
        }
    } else if (series_may_change(l, o) && !series_is_current(l, o) && !series_was_edited(l, o)) {
        series_update(l, o);
    }
}

/* Each occurrence by itself. Returns how many are not decided yet. */
static size_t step_all(struct series_look *l) {
    size_t open = 0, made = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct occurrence *o = &l->v[i];
        if (!o->wanted) {
            if (series_may_change(l, o)) {
                series_cancel(l, o, out_reason);
            }
        } else if (o->obj) {
            open += series_phase(o).n == 0 && o->start > l->now;
            keep(l, o);
        } else if (o->skip == NULL && o->listed && o->start >= l->now) {
            skip(l, o, "Deleted", STR("somebody deleted it"));
        } else if (o->skip == NULL && !o->listed && o->start >= l->now) {
            open++;
            if (made++ < CREATES_A_LOOK) {
                series_create(l, o);
            }
        }
    }
    return open;
}

/* It was booked once, or something of it stands from before its spec became none. */
static bool was_settled(const struct series_look *l) {
    const struct reservation_series_status *s = l->s->status;
    const struct condition *c = s ? conditions_find(&s->conditions, "Booked") : NULL;
    return c &&
           (str_is(c->status, "True") || (str_is(c->reason, "Invalid") && s->occurrences.n > 0));
}

static bool gave_up(const struct series_look *l) {
    const struct reservation_series_status *s = l->s->status;
    const struct condition *c = s ? conditions_find(&s->conditions, "Booked") : NULL;
    return c && str_is(c->reason, "Conflict") && s->observed_generation == l->obj->generation;
}

static void decide(struct series_look *l) {
    struct series_memory *m = series_memory_of(l->c, l->obj->ns, l->obj->name, false);
    l->settled = was_settled(l);
    l->given_up = gave_up(l);
    size_t conflicts = find_conflicts(l, m);
    if (l->given_up || (!l->settled && too_many(l, conflicts))) {
        give_up(l, conflicts);
        return;
    }
    size_t open = step_all(l), standing = 0, left_out = 0;
    for (size_t i = 0; i < l->n; i++) {
        standing += l->v[i].obj && l->v[i].wanted && !l->v[i].removed;
        left_out += l->v[i].skip != NULL;
    }
    l->reason = open > 0 && !l->settled ? "Waiting" : "Booked";
    l->message = arena_f(l->a, "%zu booked, %zu left out", standing, left_out);
}

/* Rules of time zones change: bookings that move are told. */
static void tell_moved(struct series_look *l) {
    struct str now = zones_version(l->c->zones);
    struct str before = l->s->status ? l->s->status->tzdata : (struct str){0};
    if (l->moved > 0 && before.n > 0 && !str_eq(now, before)) {
        recorder_event(l->c->base.recorder, l->obj, EVENT_WARNING, "TimeZoneDataChanged",
                       "%zu occurrences moved: %.*s is not what it was in tzdata %.*s (now %.*s)",
                       l->moved, STR_ARG(zone_name(l->zone)), STR_ARG(before), STR_ARG(now));
    }
}

/* When there is something new to book: at the latest in a day. */
static void set_timer(struct series_look *l) {
    int64_t wait = SERIES_DAY, ahead = l->horizon - l->now;
    if (l->next != INT64_MAX && l->next - ahead - l->now < wait) {
        wait = l->next - ahead - l->now;
    }
    wait = wait < 1 ? 1 : wait;
    workqueue_look(l->c->base.queue, l->c->base.key, wait * NS_PER_SEC);
}

/* Keeps what a refused create was told; the key is looked at again when this round is over. */
static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct reservation_series_controller *c = ctx;
    if (res->code == 0 || tag == UINT64_MAX) {
        return res->code == ERR_NOT_FOUND ? 0 : res->code;
    }
    if (res->code != ERR_CONFLICT && res->code != ERR_INVALID && res->code != ERR_FORBIDDEN &&
        res->code != ERR_BAD_REQUEST) {
        return res->code;
    }
    struct str ns = round_ns(r), name = round_name(r), text = str_of(res->err.text);
    const struct object *o = mirror_get(c->base.env.mirror, c->series, ns, name);
    struct series_memory *m = o ? series_memory_of(c, ns, name, true) : NULL;
    struct series_refusal *f = m ? refusal_of(m, (int64_t)tag, o->generation) : NULL;
    if (m && f == NULL) {
        f = mem_zalloc(sizeof(*f) + text.n + 1);
        if (f == NULL) {
            return ERR_NOMEM;
        }
        *f = (struct series_refusal){m->refusals, (int64_t)tag, o->generation, 0};
        memcpy(f->message, text.p, text.n);
        m->refusals = f;
    }
    if (o && m == NULL) {
        return ERR_NOMEM;
    }
    if (f) {
        f->times++;
    }
    workqueue_add(c->base.queue, ns, name);
    return 0;
}

/* What status tells by now need not be remembered. */
static void forget_told(struct series_look *l) {
    struct series_memory *m = series_memory_of(l->c, l->obj->ns, l->obj->name, false);
    bool all = true;
    for (size_t i = 0; i < l->n; i++) {
        all = all && (l->v[i].skip == NULL || l->v[i].skip_told);
    }
    if (m && all) {
        forget_refusals(m);
    }
}

static enum work act(struct series_look *l, int code, const struct err *err) {
    l->round = controller_begin(&l->c->base);
    if (l->round == NULL) {
        return WORK_RETRY;
    }
    round_on_done(l->round, answered, l->c);
    round_tag(l->round, UINT64_MAX);
    if (code != 0) {
        l->reason = "Invalid";
        l->message = arena_str(l->a, str_of(err->text));
        series_put_status(l);
        return round_end(l->round);
    }
    decide(l);
    forget_told(l);
    tell_moved(l);
    series_put_status(l);
    set_timer(l);
    return round_end(l->round);
}

static enum work orphans(struct reservation_series_controller *c, struct series_look *l,
                         struct str ns, struct str name) {
    struct series_memory *m = series_memory_of(c, ns, name, false);
    if (m == NULL) {
        return WORK_OK;
    }
    if (series_look_orphans(l, m) != 0) {
        return WORK_RETRY;
    }
    l->round = controller_begin(&c->base);
    if (l->round == NULL) {
        return WORK_RETRY;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (series_may_change(l, &l->v[i])) {
            series_cancel(l, &l->v[i], gone_reason);
        }
    }
    drop_when_empty(c, m);
    return round_end(l->round);
}

static void reservation_changed(void *self, const struct change *ch) {
    member_seen(self, ch->obj, ch->type != CHANGE_DELETED);
}

static bool add_reservation(void *ctx, const struct object *o) {
    member_seen(ctx, o, true);
    return true;
}

/* Members that there was no memory for are looked for again: without them an occurrence would look as if somebody had
 * deleted it. */
static bool knows_members(struct reservation_series_controller *c) {
    if (c->lost) {
        c->lost = false;
        mirror_scan(c->base.env.mirror, c->reservations, STR(""), add_reservation, c);
    }
    return !c->lost;
}

static enum work step(void *self, struct work_key key) {
    struct reservation_series_controller *c = self;
    struct err err = {0};
    if (!knows_members(c)) {
        return WORK_RETRY;
    }
    struct series_look l = {
        .c = c,
        .a = &c->base.arena,
        .obj = mirror_get(c->base.env.mirror, c->series, key.ns, key.name),
        .now = clock_wall(c->base.env.clock) / NS_PER_SEC,
    };
    if (l.obj == NULL) {
        return orphans(c, &l, key.ns, key.name);
    }
    if (l.obj->deleting_ns) {
        return WORK_OK;
    }
    int code = series_look_read(&l, &err);
    if (code == ERR_NOMEM || arena_ok(l.a) != 0 || l.s == NULL) {
        return WORK_RETRY;
    }
    if (l.s->spec == NULL) {
        return WORK_OK;
    }
    return act(&l, code, &err);
}

/* ---- feeds ---- */

static bool add_series(void *ctx, const struct object *o) {
    struct reservation_series_controller *c = ctx;
    workqueue_add(c->base.queue, o->ns, o->name);
    return true;
}

static void series_changed(void *self, const struct change *ch) {
    add_series(self, ch->obj);
}

static void policy_changed(void *self, const struct change *ch) {
    struct reservation_series_controller *c = self;
    mirror_scan(c->base.env.mirror, c->series, STR(""), add_series, c);
}

/* ---- life ---- */

enum { RESERVATIONS, SERIES, POLICIES }; /* of the row's kinds */

static int init(void *self, struct err *err) {
    struct reservation_series_controller *c = self;
    struct zones *zones = c->base.env.zones;
    c->reservations = c->base.kinds[RESERVATIONS];
    c->series = c->base.kinds[SERIES];
    c->policies = c->base.kinds[POLICIES];
    c->own_zones = zones ? NULL : zones_new(NULL);
    c->zones = zones ? zones : c->own_zones;
    return c->zones ? 0 : ERR_NOMEM;
}

static void release(void *self) {
    struct reservation_series_controller *c = self;
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->memories, &i));) {
        memory_free(e->value);
    }
    map_release(&c->memories);
    zones_free(c->own_zones);
}

const struct controller_row reservation_series_controller = {
    .name = "reservations",
    .set = CONTROL_RESERVATIONS,
    .who = "berth-reservation-series",
    CONTROLLER_KINDS([RESERVATIONS] = {"berth.dev", "Reservation", reservation_changed,
                                       .first = true, .optional = true,
                                       .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [SERIES] = {"berth.dev", "ReservationSeries", series_changed, .first = true,
                                 .optional = true, .may = MAY_STATUS},
                     [POLICIES] = {"berth.dev", "ReservationPolicy", policy_changed,
                                   .optional = true}),
    .step = step,
    .size = sizeof(struct reservation_series_controller),
    .init = init,
    .release = release,
};
