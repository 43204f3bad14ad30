/* reservation_series_look: the occurrences of a series beside the Reservations that there are. */
#include "control/series/reservation_series_private.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "base/limits.h"
#include "control/book/reservation_grid.h"
#include "wire/text/time.h"

enum { GRID_USUAL = 900 };

static int64_t seconds(int64_t ns) {
    return ns / NS_PER_SEC - (ns % NS_PER_SEC < 0);
}

/* ---- fingerprints ---- */

struct str series_intent(struct arena *a, yyjson_val *spec, int64_t start, int64_t end,
                         unsigned mask) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_f(&b, "%lld %lld", (long long)start, (long long)end);
    for (unsigned i = 0; series_members[i]; i++) {
        yyjson_val *v = mask & 1u << i ? json_get(spec, str_of(series_members[i])) : NULL;
        buf_f(&b, " %u=", i);
        if (v) {
            json_write(&b, v);
        }
    }
    struct str text = {0};
    if (buf_ok(&b) == 0) {
        text = arena_f(a, "%016llx.%x", (unsigned long long)str_hash(buf_view(&b)), mask);
    }
    buf_release(&b);
    return text;
}

/* The fingerprint; without memory for it the look is taken again. */
static struct str intent_of(struct series_look *l, yyjson_val *spec, int64_t start, int64_t end,
                            unsigned mask) {
    struct str s = series_intent(l->a, spec, start, end, mask);
    if (s.p == NULL) {
        round_fail(l->round, ERR_NOMEM);
    }
    return s;
}

bool series_is_current(struct series_look *l, const struct occurrence *o) {
    return str_eq(meta_annotation(o->rsv->metadata, SERIES_INTENT),
                  intent_of(l, l->template, o->start, o->end, l->mask));
}

bool series_was_edited(struct series_look *l, const struct occurrence *o) {
    struct str was = meta_annotation(o->rsv->metadata, SERIES_INTENT), hash, mask_text;
    unsigned mask = 0;
    if (!str_cut(was, '.', &hash, &mask_text) || mask_text.n > 4) {
        return true;
    }
    for (size_t i = 0; i < mask_text.n; i++) {
        char c = mask_text.p[i];
        mask = mask * 16 + (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    const struct reservation_spec *s = o->rsv->spec;
    return !str_eq(was, intent_of(l, o->spec, seconds(s->start_ns), seconds(s->end_ns), mask));
}

/* ---- what there is ---- */

struct str series_phase(const struct occurrence *o) {
    return o->rsv && o->rsv->status ? o->rsv->status->phase : (struct str){0};
}

bool series_may_change(const struct series_look *l, const struct occurrence *o) {
    static const char *const early[] = {"", "PendingApproval", "Waitlisted", "Offered",
                                        "Confirmed"};
    if (o->obj == NULL || o->obj->deleting_ns || o->rsv->spec->cancel ||
        seconds(o->rsv->spec->start_ns) <= l->now) {
        return false;
    }
    for (size_t i = 0; i < sizeof(early) / sizeof(early[0]); i++) {
        if (str_is(series_phase(o), early[i])) {
            return true;
        }
    }
    return false;
}

static struct occurrence *push(struct series_look *l) {
    if (l->n == l->cap && ARENA_GROW(l->a, l->v, l->cap) != 0) {
        return NULL;
    }
    struct occurrence *o = &l->v[l->n++];
    *o = (struct occurrence){0};
    return o;
}

/* Occurrences are few hundred, and sorted but for what is pushed last. */
static struct occurrence *find(struct series_look *l, size_t n_sorted, int64_t local) {
    size_t low = 0, high = n_sorted;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (l->v[mid].local < local) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < n_sorted && l->v[low].local == local ? &l->v[low] : NULL;
}

/* One member beside its occurrence, or by itself. */
static int add_member(struct series_look *l, size_t n_sorted, struct str ns, struct str name) {
    const struct object *obj = mirror_get(l->c->base.env.mirror, l->c->reservations, ns, name);
    struct reservation *r = ARENA_NEW(l->a, struct reservation);
    yyjson_doc *d;
    int64_t local;
    if (obj == NULL) {
        return 0;
    }
    if (r == NULL || object_tree(obj, l->a, &d, NULL) != 0) {
        return ERR_NOMEM;
    }
    yyjson_val *root = yyjson_doc_get_root(d);
    int code = codec_decode(&schema_reservation, root, l->a, r, NULL);
    if (code == ERR_NOMEM || arena_ok(l->a) != 0) {
        return ERR_NOMEM;
    }
    if (code != 0 || r->spec == NULL ||
        zone_parse_local(r->spec->recurrence_id, &local, NULL) != 0) {
        return 0; /* not one of ours, whatever its label says */
    }
    struct occurrence *o = find(l, n_sorted, local);
    if (o == NULL) {
        o = push(l);
        if (o == NULL) {
            return ERR_NOMEM;
        }
        *o = (struct occurrence){.local = local, .id = r->spec->recurrence_id};
        o->start = seconds(r->spec->start_ns);
        o->end = seconds(r->spec->end_ns);
    } else if (o->obj) {
        return 0; /* a second one for the same occurrence is somebody's own */
    }
    o->name = obj->name;
    o->obj = obj;
    o->rsv = r;
    o->spec = json_get(root, STR("spec"));
    return 0;
}

static int by_local(const void *a, const void *b) {
    const struct occurrence *x = a, *y = b;
    return (x->local > y->local) - (x->local < y->local);
}

static int add_members(struct series_look *l, const struct series_memory *m) {
    const struct map_entry *e;
    size_t n_sorted = l->n;
    int code = 0;
    for (size_t i = 0; m && code == 0 && (e = map_next(&m->members, &i));) {
        code = add_member(l, n_sorted, m->ns, e->key);
    }
    if (code == 0 && l->n > 0) {
        qsort(l->v, l->n, sizeof(*l->v), by_local);
    }
    return code;
}

/* ---- what should be ---- */

struct dates {
    struct rrule_date *v;
    size_t n;
};

static int read_dates(struct series_look *l, struct dates *ret, struct err *err) {
    const struct str_list *list = &l->s->spec->exdates;
    ret->v = ARENA_ARRAY(l->a, struct rrule_date, list->n + 1);
    for (size_t i = 0; ret->v && i < list->n; i++) {
        int code = rrule_date_parse(list->v[i], &ret->v[ret->n], err);
        if (code != 0) {
            err_wrap(err, "spec.exdates");
            return code;
        }
        ret->n++;
    }
    return ret->v ? 0 : ERR_NOMEM;
}

static bool left_out(const struct series_look *l, const struct dates *d, int64_t local) {
    for (size_t i = 0; i < d->n; i++) {
        if (rrule_date_is(&d->v[i], l->zone, local)) {
            return true;
        }
    }
    return false;
}

static int add_wanted(struct series_look *l, int64_t local, int64_t start) {
    char text[ZONE_TEXT_MAX];
    struct occurrence *o = push(l);
    if (o == NULL) {
        return ERR_NOMEM;
    }
    struct time_parts t = time_split(local * NS_PER_SEC);
    /* Admission would put them on the grid as well: then they would look as if somebody had moved them. */
    int64_t base = reservation_grid_base(l->c->zones, l->grid_zone, l->grid, start);
    int64_t end = start + l->length;
    *o = (struct occurrence){.local = local};
    o->start = reservation_grid_down(start, l->grid, base);
    base = reservation_grid_base(l->c->zones, l->grid_zone, l->grid, end);
    o->end = reservation_grid_up(end, l->grid, base);
    o->wanted = true;
    o->id = arena_str(l->a, zone_local_text(local, text));
    o->name = arena_f(l->a, "%.*s-%04d%02d%02d-%02d%02d", STR_ARG(l->obj->name), t.year, t.month,
                      t.day, t.hour, t.minute);
    return o->id.p && o->name.p ? 0 : ERR_NOMEM;
}

/* From a month ago to the horizon. */
static int lay_out(struct series_look *l, const struct dates *exdates) {
    struct rrule_iter it;
    int64_t local, from = zone_local(l->zone, l->now) - SERIES_KEEP, last = INT64_MIN;
    rrule_begin(&it, &l->rule, l->zone, l->start_local);
    bool more = rrule_next_from(&it, from, &local);
    l->next = INT64_MAX;
    for (; more && l->n < LIMIT_SERIES_OCCURRENCES; more = rrule_next(&it, &local)) {
        int64_t start = zone_utc(l->zone, local, NULL);
        if (start > l->horizon) {
            l->next = start;
            break;
        }
        /* A day that the zone skips is the next one by another name: one booking. */
        if (start <= last || left_out(l, exdates, local)) {
            continue;
        }
        last = start;
        int code = add_wanted(l, local, start);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static int read_spec(struct series_look *l, struct err *err) {
    const struct reservation_series_spec *s = l->s->spec;
    int code = zones_get(l->c->zones, s->time_zone, &l->zone, err);
    if (code != 0) {
        err_wrap(err, "spec.timeZone");
        return code;
    }
    code = rrule_parse(s->rrule, &l->rule, err);
    if (code != 0) {
        err_wrap(err, "spec.rrule");
        return code;
    }
    code = zone_parse_local(s->start, &l->start_local, err);
    if (code != 0) {
        err_wrap(err, "spec.start");
        return code;
    }
    l->length = s->duration_ns / NS_PER_SEC;
    return l->length > 0 ? 0 : err_set(err, ERR_INVALID, "spec.duration must be longer than 0s");
}

static int read_policy(struct series_look *l) {
    const struct object *policy =
        mirror_get(l->c->base.env.mirror, l->c->policies, STR(""), STR(RESERVATION_POLICY_NAME));
    yyjson_doc *d = NULL;
    if (policy && object_tree(policy, l->a, &d, NULL) != 0) {
        return ERR_NOMEM;
    }
    yyjson_val *spec = d ? json_get(yyjson_doc_get_root(d), STR("spec")) : NULL;
    int64_t grid;
    l->horizon = l->now + json_i64_at(spec, "daysAhead", 90) * SERIES_DAY;
    l->grid =
        duration_parse(json_str_at(spec, "granularity"), &grid, NULL) == 0 ? seconds(grid) : 0;
    l->grid = l->grid > 0 ? l->grid : GRID_USUAL;
    l->grid_zone = json_str_at(spec, "timeZone");
    return 0;
}

/* What status said is taken up. What did not fit is tried again when the series was edited; what somebody deleted is
 * not. */
static void read_status(struct series_look *l) {
    const struct reservation_series_status *s = l->s->status;
    bool same = s && s->observed_generation == l->obj->generation;
    int64_t local;
    for (size_t i = 0; s && i < s->skipped.n; i++) {
        const struct series_skip *k = &s->skipped.v[i];
        bool deleted = str_is(k->reason, "Deleted");
        struct occurrence *o =
            zone_parse_local(k->recurrence_id, &local, NULL) == 0 ? find(l, l->n, local) : NULL;
        if (o && (deleted || same)) {
            o->skip = deleted ? "Deleted" : "Conflict";
            o->skip_message = k->message;
            o->skip_told = true;
        }
    }
    for (size_t i = 0; s && i < s->occurrences.n; i++) {
        struct occurrence *o =
            zone_parse_local(s->occurrences.v[i].recurrence_id, &local, NULL) == 0
                ? find(l, l->n, local)
                : NULL;
        if (o) {
            o->listed = true;
        }
    }
}

int series_look_read(struct series_look *l, struct err *err) {
    yyjson_doc *d;
    struct dates exdates = {0};
    l->s = ARENA_NEW(l->a, struct reservation_series);
    if (l->s == NULL || object_tree(l->obj, l->a, &d, NULL) != 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    yyjson_val *root = yyjson_doc_get_root(d), *spec = json_get(root, STR("spec"));
    int code = codec_decode(&schema_reservation_series, root, l->a, l->s, err);
    if (code != 0 || l->s->spec == NULL) {
        return code == ERR_NOMEM ? code : err_set(err, ERR_INVALID, "the series cannot be read");
    }
    code = read_spec(l, err);
    code = code ? code : read_dates(l, &exdates, err);
    l->template = code == 0 ? series_template(l->a, spec, l->s->spec) : NULL;
    if (l->template == NULL) {
        return code ? code : ERR_NOMEM;
    }
    for (unsigned i = 0; series_members[i]; i++) {
        l->mask |= json_get(l->template, str_of(series_members[i])) ? 1u << i : 0;
    }
    struct series_memory *m = series_memory_of(l->c, l->obj->ns, l->obj->name, false);
    code = read_policy(l);
    code = code ? code : lay_out(l, &exdates);
    code = code ? code : add_members(l, m);
    if (code == 0) {
        read_status(l);
    }
    return code;
}

int series_look_orphans(struct series_look *l, struct series_memory *m) {
    return add_members(l, m);
}
