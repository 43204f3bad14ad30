/* calendar_body: what is in a feed, as iCalendar. See calendar_feed.h. */
#include "control/series/calendar_feed_private.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/keyed_hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/series/calendar_body.h"
#include "control/series/reservation_series.h"
#include "wire/text/ical.h"

enum { REFRESH_MINUTES = 15, PLACES_SHOWN = 8, TEXT_BYTES = 64 << 10 };

static int64_t seconds(int64_t ns) {
    return ns / NS_PER_SEC;
}

/* ---- which ---- */

struct body_list {
    const struct feed_booking **v;
    size_t n;
};

static bool is_mine(const struct feed_ask *q, const struct feed_booking *b) {
    struct str user = q->user;
    uint64_t h = user.n > 0 ? keyed_hash(user) : 0;
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
    struct str want = q->feed->spec->resource;
    return !b->over && b->end > q->now && b->phase != BOOKING_WAITLISTED &&
           b->phase != BOOKING_NEW &&
           (want.n == 0 || (b->resources & feed_resource_bit(want)) != 0);
}

static int by_start(const void *a, const void *b) {
    const struct feed_booking *x = *(const struct feed_booking *const *)a;
    const struct feed_booking *y = *(const struct feed_booking *const *)b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return str_cmp(x->obj->uid, y->obj->uid);
}

/* By name: is_mine goes by hashes, which may be alike. */
static bool is_really_mine(const struct feed_ask *q, const struct reservation *r) {
    const struct reservation_beneficiary *f = r->spec->beneficiary;
    struct str user = q->user;
    return str_eq(meta_annotation(r->metadata, RESERVATION_USER_ANNOTATION), user) ||
           (f && !str_is(f->kind, "Group") && str_eq(f->name, user));
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

/* Decodes one booking into q->a. 1: it is in the feed; 0: it is not; ERR_NOMEM. */
static int read_item(struct feed_ask *q, const struct feed_booking *b, struct feed_item *ret) {
    struct str scope = q->feed->spec->scope;
    bool own = str_is(scope, "own"), named = own || str_is(scope, "project");
    struct reservation *r = ARENA_NEW(q->a, struct reservation);
    yyjson_doc *d;
    if (r == NULL || object_tree(b->obj, q->a, &d, NULL) != 0) {
        return ERR_NOMEM;
    }
    if (codec_decode(&schema_reservation, yyjson_doc_get_root(d), q->a, r, NULL) != 0 ||
        r->spec == NULL || (own && !is_really_mine(q, r)) || (!named && units(q, r) == 0)) {
        return 0;
    }
    *ret = (struct feed_item){.b = b, .r = r, .phase = b->phase};
    ret->anonymous = !named || !str_eq(b->obj->ns, q->obj->ns);
    return 1;
}

/* In order of start; of too many the later ones are left out. */
static int collect(struct feed_ask *q, struct body_list *l) {
    const struct map_entry *e;
    size_t n = 0;
    for (size_t i = 0; (e = map_next(&q->c->bookings, &i));) {
        n += belongs(q, e->value);
    }
    l->v = ARENA_ARRAY(q->a, const struct feed_booking *, n + 1);
    for (size_t i = 0; l->v && l->n < n && (e = map_next(&q->c->bookings, &i));) {
        l->v[l->n] = e->value;
        l->n += belongs(q, e->value);
    }
    if (l->n > 0) {
        qsort(l->v, l->n, sizeof(*l->v), by_start);
    }
    l->n = l->n < LIMIT_ICAL_EVENTS ? l->n : LIMIT_ICAL_EVENTS;
    for (size_t i = 0; i < l->n; i++) {
        int64_t at = l->v[i]->modified;
        q->modified = at > q->modified ? at : q->modified;
    }
    return l->v ? 0 : ERR_NOMEM;
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

/* A title is one line: some calendar programs leave out an event whose title has a line break. */
static void put_one_line(struct buf *b, struct str s) {
    while (s.n > 0) {
        size_t n = 0;
        while (n < s.n && s.p[n] != '\r' && s.p[n] != '\n') {
            n++;
        }
        buf_str(b, str_head(s, n));
        s = str_skip(s, n);
        if (s.n > 0) {
            buf_c(b, " ");
            s = str_skip(s, str_starts(s, STR("\r\n")) ? 2 : 1);
        }
    }
}

struct str feed_summary(struct arena *a, struct str purpose,
                        const struct reservation_line_list *l) {
    struct buf b;
    buf_init(&b, TEXT_BYTES);
    put_one_line(&b, purpose);
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
            buf_f(b, "%s%.*s, GPU %d", i > 0 ? "; " : "Place: ", STR_ARG(p->node), p->gpu_index.v);
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
    if (meta_annotation(r->metadata, RESERVATION_USER_ANNOTATION).n > 0) {
        buf_f(&b, "Booked by: %.*s\n",
              STR_ARG(meta_annotation(r->metadata, RESERVATION_USER_ANNOTATION)));
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
    e.contact = meta_annotation(it->r->metadata, RESERVATION_USER_ANNOTATION);
    if (category) {
        *category = s->class_name;
        e.categories = category;
        e.n_categories = s->class_name.n > 0;
    }
    return e;
}

/* Those that may belong to a series are needed together. */
static int collect_recurring(struct feed_ask *q, const struct body_list *l,
                             struct feed_items *ret) {
    int code = 0;
    ret->v = ARENA_ARRAY(q->a, struct feed_item, l->n + 1);
    for (size_t i = 0; ret->v && code >= 0 && i < l->n; i++) {
        const struct object *o = l->v[i]->obj;
        if (str_eq(o->ns, q->obj->ns) && object_label(o, STR(SERIES_LABEL)).n > 0 &&
            !str_is(q->feed->spec->scope, "resource")) {
            code = read_item(q, l->v[i], &ret->v[ret->n]);
            ret->n += code > 0;
        }
    }
    return ret->v == NULL || code < 0 ? ERR_NOMEM : 0;
}

static int put_events(struct feed_ask *q, struct ical *c, const struct body_list *l) {
    struct arena *all = q->a;
    struct feed_items recurring = {0};
    size_t k = 0;
    int code = collect_recurring(q, l, &recurring);
    if (code != 0) {
        return code;
    }
    feed_put_series(q, c, &recurring);
    for (size_t i = 0; code >= 0 && i < l->n; i++) {
        struct feed_item it = {0};
        arena_reset(&q->c->item);
        q->a = &q->c->item;
        if (k < recurring.n && recurring.v[k].b == l->v[i]) {
            it = recurring.v[k++];
            code = !it.done;
        } else {
            code = read_item(q, l->v[i], &it);
        }
        if (code > 0) {
            struct ical_event e = feed_event(q, &it);
            ical_event(c, &e);
            code = arena_ok(q->a) ? ERR_NOMEM : 0;
        }
        q->a = all;
    }
    return code < 0 ? code : 0;
}

static int put_freebusy(struct feed_ask *q, struct ical *c, const struct body_list *l) {
    struct arena *all = q->a;
    struct ical_busy *busy = ARENA_ARRAY(q->a, struct ical_busy, l->n + 1);
    int64_t from = q->now / FEED_DAY * FEED_DAY;
    size_t n = 0;
    int code = busy ? 0 : ERR_NOMEM;
    for (size_t i = 0; code >= 0 && i < l->n; i++) {
        struct feed_item it = {.b = l->v[i], .phase = l->v[i]->phase};
        code = 1;
        if (q->feed->spec->resource.n > 0) { /* a bit is not a proof */
            arena_reset(&q->c->item);
            q->a = &q->c->item;
            code = read_item(q, l->v[i], &it);
            q->a = all;
        }
        if (code > 0) {
            busy[n++] =
                (struct ical_busy){it.b->start, it.b->end, feed_status(&it) == ICAL_TENTATIVE};
        }
    }
    if (code >= 0) {
        ical_freebusy(c, arena_f(q->a, "%.*s@berth", STR_ARG(q->obj->uid)), q->modified, from,
                      from + FEED_AHEAD, busy, n);
    }
    return code < 0 ? code : 0;
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
    return arena_f(q->a, "GPU bookings of %.*s", STR_ARG(q->user));
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
    struct body_list list = {0};
    struct ical c;
    q->modified = seconds(q->obj->created_ns);
    int code = read_pool(q);
    code = code ? code : collect(q, &list);
    if (code != 0) {
        return code;
    }
    buf_reset(q->out);
    ical_begin(&c, q->out,
               &(struct ical_calendar){.name = calendar_name(q),
                                       .color = STR("teal"),
                                       .refresh_minutes = REFRESH_MINUTES});
    code = str_is(q->feed->spec->scope, "freebusy") ? put_freebusy(q, &c, &list)
                                                    : put_events(q, &c, &list);
    int whole = ical_end(&c);
    code = code ? code : arena_ok(q->a) ? ERR_NOMEM : whole;
    return code == ERR_TOO_LARGE ? 0 : code;
}
