/* calendar_body: what is in a feed, as iCalendar. See calendar_feed.h. */
#include "control/calendar_feed_private.h"

#include "api/codec.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/calendar_body.h"
#include "control/reservation_series.h"
#include "core/booking.h"
#include "wire/ical.h"

enum { REFRESH_MINUTES = 15, PLACES_SHOWN = 8, TEXT_BYTES = 64 << 10 };

static int64_t seconds(int64_t ns) {
    return ns / NS_PER_SEC;
}

/* ---- which ---- */

static bool is_mine(const struct feed_ask *q, const struct feed_booking *b) {
    struct str user = q->feed->status->user;
    uint64_t h = user.n > 0 ? str_hash(user) : 0;
    return h != 0 && (b->users[0] == h || b->users[1] == h);
}

static bool belongs(const struct feed_ask *q, const struct feed_booking *b) {
    struct str scope = q->feed->spec->scope;
    int64_t until = b->over ? b->over : b->end;
    if (until < q->now - FEED_KEEP || b->start > q->now + FEED_AHEAD) {
        return false;
    }
    if (str_is(scope, "project")) {
        return str_eq(b->obj->ns, q->obj->ns);
    }
    if (str_is(scope, "own")) {
        return is_mine(q, b);
    }
    return !b->over && b->end > q->now;
}

static int by_start(const void *a, const void *b) {
    const struct feed_item *x = a, *y = b;
    if (x->b->start != y->b->start) {
        return x->b->start < y->b->start ? -1 : 1;
    }
    return str_cmp(x->b->obj->uid, y->b->obj->uid);
}

static struct str user_of(const struct reservation *r) {
    for (size_t i = 0; r->metadata && i < r->metadata->annotations.n; i++) {
        if (str_is(r->metadata->annotations.v[i].key, RESERVATION_USER_ANNOTATION)) {
            return r->metadata->annotations.v[i].value;
        }
    }
    return (struct str){0};
}

/* By name: is_mine goes by hashes that somebody could aim at. */
static bool is_really_mine(const struct feed_ask *q, const struct reservation *r) {
    const struct reservation_beneficiary *f = r->spec->beneficiary;
    struct str user = q->feed->status->user;
    return str_eq(user_of(r), user) || (f && !str_is(f->kind, "Group") && str_eq(f->name, user));
}

/* How many units of the resource that the feed is about; any resource counts when it names none. */
static int64_t units(const struct feed_ask *q, const struct reservation *r) {
    struct str want = q->feed->spec->resource;
    int64_t n = 0;
    for (size_t i = 0; i < r->spec->lines.n; i++) {
        const struct reservation_line *l = &r->spec->lines.v[i];
        n += want.n == 0 || str_eq(l->resource, want) ? l->count : 0;
    }
    return n;
}

static int add_item(struct feed_ask *q, struct feed_items *l, const struct feed_booking *b) {
    struct feed_item it = {.b = b, .r = ARENA_NEW(q->a, struct reservation)};
    yyjson_doc *d;
    if (!it.r || object_tree(b->obj, q->a, &d, NULL) != 0) {
        return ERR_NOMEM;
    }
    if (codec_decode(&schema_reservation, yyjson_doc_get_root(d), q->a, it.r, NULL) != 0 ||
        !it.r->spec) {
        return 0;
    }
    struct str scope = q->feed->spec->scope;
    if (str_is(scope, "own") && !is_really_mine(q, it.r)) {
        return 0;
    }
    it.phase = it.r->status ? booking_phase_of(it.r->status->phase) : BOOKING_NEW;
    if (!str_is(scope, "own") && !str_is(scope, "project")) {
        it.anonymous = true;
        if (units(q, it.r) == 0 || it.phase == BOOKING_WAITLISTED || it.phase == BOOKING_NEW) {
            return 0;
        }
    }
    it.anonymous = it.anonymous || !str_eq(b->obj->ns, q->obj->ns);
    q->modified = b->modified > q->modified ? b->modified : q->modified;
    l->v[l->n++] = it;
    return 0;
}

static int collect(struct feed_ask *q, struct feed_items *l) {
    const struct map_entry *e;
    size_t n = 0;
    for (size_t i = 0; (e = map_next(&q->c->bookings, &i));) {
        n += belongs(q, e->value);
    }
    n = n < LIMIT_ICAL_EVENTS ? n : LIMIT_ICAL_EVENTS;
    l->v = ARENA_ARRAY(q->a, struct feed_item, n + 1);
    int code = l->v ? 0 : ERR_NOMEM;
    for (size_t i = 0; code == 0 && l->n < n && (e = map_next(&q->c->bookings, &i));) {
        code = belongs(q, e->value) ? add_item(q, l, e->value) : 0;
    }
    if (code == 0 && l->n > 0) {
        qsort(l->v, l->n, sizeof(*l->v), by_start);
    }
    return code;
}

/* ---- texts ---- */

/* "2 x 2g.35gb, 1 x GPU" */
static void put_lines(struct buf *b, const struct reservation_line_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        struct str name = l->v[i].resource;
        ptrdiff_t slash = str_find(name, '/');
        name = slash >= 0 ? str_skip(name, (size_t)slash + 1) : name;
        name = str_starts(name, STR("mig-")) ? str_skip(name, 4) : name;
        buf_f(b, "%s%d \xc3\x97 %.*s", i > 0 ? ", " : "", l->v[i].count,
              STR_ARG(str_is(name, "gpu") ? STR("GPU") : name));
    }
}

struct str feed_summary(struct arena *a, struct str purpose,
                        const struct reservation_line_list *l) {
    struct buf b;
    buf_init(&b, TEXT_BYTES);
    buf_str(&b, purpose);
    buf_c(&b, purpose.n > 0 ? " (" : "GPU booking: ");
    put_lines(&b, l);
    buf_c(&b, purpose.n > 0 ? ")" : "");
    struct str s = arena_str(a, buf_view(&b));
    buf_release(&b);
    return s;
}

static void put_places(struct buf *b, const struct reservation_place_list *l) {
    for (size_t i = 0; i < l->n && i < PLACES_SHOWN; i++) {
        const struct reservation_place *p = &l->v[i];
        if (p->node.n > 0) {
            buf_f(b, "%s%.*s, GPU %d", i > 0 ? "; " : "Place: ", STR_ARG(p->node), p->gpu_index);
            buf_f(b, p->profile.n > 0 ? " (%.*s)" : "%.*s", STR_ARG(p->profile));
        }
    }
    buf_c(b, l->n > PLACES_SHOWN ? "; ...\n" : l->n > 0 && l->v[0].node.n > 0 ? "\n" : "");
}

static struct str description(struct arena *a, const struct feed_item *it) {
    const struct reservation *r = it->r;
    const struct reservation_beneficiary *f = r->spec->beneficiary;
    struct str phase = it->b->gone ? STR("deleted") : r->status ? r->status->phase : STR("");
    struct buf b;
    buf_init(&b, TEXT_BYTES);
    put_lines(&b, &r->spec->lines);
    buf_f(&b, "\nProject: %.*s\nBooking: %.*s\n", STR_ARG(it->b->obj->ns),
          STR_ARG(it->b->obj->name));
    buf_f(&b, "State: %.*s\n", STR_ARG(phase.n > 0 ? phase : STR("not decided yet")));
    if (r->status && r->status->message.n > 0) {
        buf_f(&b, "%.*s\n", STR_ARG(r->status->message));
    }
    if (user_of(r).n > 0) {
        buf_f(&b, "Booked by: %.*s\n", STR_ARG(user_of(r)));
    }
    if (f && f->name.n > 0) {
        buf_f(&b, "For: %.*s\n", STR_ARG(f->name));
    }
    if (r->status) {
        put_places(&b, &r->status->plan);
    }
    struct str s = str_trim(arena_str(a, buf_view(&b)));
    buf_release(&b);
    return s;
}

/* ---- events ---- */

enum ical_status feed_status(const struct feed_item *it) {
    if (it->b->over) {
        return ICAL_CANCELLED;
    }
    return it->phase == BOOKING_NEW || it->phase == BOOKING_PENDING_APPROVAL ||
                   it->phase == BOOKING_WAITLISTED || it->phase == BOOKING_OFFERED
               ? ICAL_TENTATIVE
               : ICAL_CONFIRMED;
}

struct ical_event feed_event(struct feed_ask *q, const struct feed_item *it) {
    const struct reservation_spec *s = it->r->spec;
    struct str *category = ARENA_ARRAY(q->a, struct str, 1);
    struct ical_event e = {
        .uid = arena_f(q->a, "%.*s@berth", STR_ARG(it->b->obj->uid)),
        .stamp = it->b->modified,
        .modified = it->b->modified,
        .start = it->b->start,
        .end = it->b->end > it->b->start ? it->b->end : it->b->start,
        .sequence = it->r->status ? (int32_t)it->r->status->sequence : 0,
        .status = feed_status(it),
        .transparent = it->phase == BOOKING_WAITLISTED,
        .location = q->pool,
    };
    if (it->anonymous) {
        bool own = str_is(q->feed->spec->scope, "own");
        e.uid =
            arena_f(q->a, "%016llx-%016llx@berth", (unsigned long long)str_hash(it->b->obj->uid),
                    (unsigned long long)str_hash(q->obj->uid));
        e.summary = own ? STR("GPU booking in another project")
                        : arena_f(q->a, "%lld \xc3\x97 %.*s booked", (long long)units(q, it->r),
                                  STR_ARG(q->feed->spec->resource));
        return e;
    }
    e.created = seconds(it->b->obj->created_ns);
    e.summary = feed_summary(q->a, s->purpose, &s->lines);
    e.description = description(q->a, it);
    e.contact = user_of(it->r);
    if (category) {
        *category = s->class_name;
        e.categories = category;
        e.n_categories = s->class_name.n > 0;
    }
    return e;
}

static void put_events(struct feed_ask *q, struct ical *c, struct feed_items *l) {
    feed_put_series(q, c, l);
    for (size_t i = 0; i < l->n; i++) {
        if (!l->v[i].done) {
            struct ical_event e = feed_event(q, &l->v[i]);
            ical_event(c, &e);
        }
    }
}

static void put_freebusy(struct feed_ask *q, struct ical *c, const struct feed_items *l) {
    struct ical_busy *busy = ARENA_ARRAY(q->a, struct ical_busy, l->n + 1);
    int64_t from = q->now / FEED_DAY * FEED_DAY;
    for (size_t i = 0; busy && i < l->n; i++) {
        busy[i] = (struct ical_busy){l->v[i].b->start, l->v[i].b->end,
                                     feed_status(&l->v[i]) == ICAL_TENTATIVE};
    }
    if (busy) {
        ical_freebusy(c, arena_f(q->a, "%.*s@berth", STR_ARG(q->obj->uid)), q->modified, from,
                      from + FEED_AHEAD, busy, l->n);
    }
}

static struct str calendar_name(struct feed_ask *q) {
    const struct calendar_feed_spec *s = q->feed->spec;
    if (str_is(s->scope, "project")) {
        return arena_f(q->a, "GPU bookings of %.*s", STR_ARG(q->obj->ns));
    }
    if (str_is(s->scope, "resource")) {
        return arena_f(q->a, "Bookings of %.*s", STR_ARG(s->resource));
    }
    if (str_is(s->scope, "freebusy")) {
        return s->resource.n > 0 ? arena_f(q->a, "When %.*s is booked", STR_ARG(s->resource))
                                 : STR("When GPUs are booked");
    }
    return arena_f(q->a, "GPU bookings of %.*s", STR_ARG(q->feed->status->user));
}

static int read_pool(struct feed_ask *q) {
    const struct object *o =
        mirror_get(q->c->base.env.mirror, q->c->policies, STR(""), STR(RESERVATION_POLICY_NAME));
    yyjson_doc *d = NULL;
    if (o && object_tree(o, q->a, &d, NULL) != 0) {
        return ERR_NOMEM;
    }
    q->pool = d ? json_str_at(yyjson_doc_get_root(d), "spec.pool.cohort") : (struct str){0};
    return 0;
}

int calendar_body_write(struct feed_ask *q) {
    struct feed_items items = {0};
    struct ical c;
    q->modified = seconds(q->obj->created_ns);
    int code = read_pool(q);
    code = code ? code : collect(q, &items);
    if (code != 0) {
        return code;
    }
    buf_reset(&q->c->text);
    ical_begin(&c, &q->c->text,
               &(struct ical_calendar){.name = calendar_name(q),
                                       .color = STR("teal"),
                                       .refresh_minutes = REFRESH_MINUTES});
    if (str_is(q->feed->spec->scope, "freebusy")) {
        put_freebusy(q, &c, &items);
    } else {
        put_events(q, &c, &items);
    }
    code = ical_end(&c);
    return arena_ok(q->a) ? ERR_NOMEM : code == ERR_TOO_LARGE ? 0 : code;
}
