/* reservation_series_write: what a series writes: its Reservations, and its status. */
#include "control/series/reservation_series_private.h"

#include "api/conditions.h"
#include "api/meta.h"
#include "api/schema/codec.h"
#include "api/schema/codec_encode.h"
#include "base/limits.h"
#include "wire/text/time.h"

const char *const series_members[] = {
    "timeZone",  "lines",  "beneficiary", "purpose",  "class",        "exclusive",
    "endPolicy", "noShow", "autoExtend",  "waitlist", "confirmOffer", NULL,
};

struct str series_template(struct arena *a, yyjson_val *spec,
                           const struct reservation_series_spec *s) {
    yyjson_val *template = json_get(spec, STR("template"));
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_c(&b, "{\"timeZone\":");
    buf_json(&b, s->time_zone.n > 0 ? s->time_zone : STR("UTC"));
    for (unsigned i = 1; series_members[i]; i++) {
        yyjson_val *v = json_get(template, str_of(series_members[i]));
        if (str_is(str_of(series_members[i]), "waitlist") &&
            str_is(s->conflict_policy, "Waitlist")) {
            buf_c(&b, ",\"waitlist\":true");
        } else if (v) {
            buf_f(&b, ",\"%s\":", series_members[i]);
            json_write(&b, v);
        }
    }
    buf_c(&b, "}");
    struct str text = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}

/* ---- Reservations ---- */

static void put_text(struct buf *b, const char *name, struct str value) {
    buf_f(b, "\"%s\":", name);
    buf_json(b, value);
}

static void put_times(struct buf *b, int64_t start, int64_t end) {
    char from[TIME_TEXT_MAX], to[TIME_TEXT_MAX];
    buf_f(b, "\"start\":\"%.*s\"", STR_ARG(time_text(start * NS_PER_SEC, from)));
    buf_f(b, ",\"end\":\"%.*s\"", STR_ARG(time_text(end * NS_PER_SEC, to)));
}

static void send(struct series_look *l, struct buf *b, const struct occurrence *o) {
    const struct kind *k = l->c->reservations;
    if (buf_ok(b) != 0) {
        round_fail(l->round, ERR_NOMEM);
    } else if (o->obj) {
        round_patch(l->round, k, o->obj->ns, o->name, "", PATCH_MERGE, buf_view(b));
    } else {
        round_tag(l->round, (uint64_t)o->local);
        round_create(l->round, k, l->obj->ns, buf_view(b));
        round_tag(l->round, UINT64_MAX);
    }
    buf_release(b);
}

void series_create(struct series_look *l, struct occurrence *o) {
    struct str user = meta_annotation(l->s->metadata, RESERVATION_USER_ANNOTATION);
    struct str intent = series_intent(l->a, l->template, o->start, o->end, l->mask);
    struct buf b, template;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_init(&template, LIMIT_OBJECT_BYTES);
    buf_c(&b, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{");
    put_text(&b, "name", o->name);
    buf_c(&b, ",");
    put_text(&b, "namespace", l->obj->ns);
    buf_c(&b, ",\"labels\":{");
    put_text(&b, SERIES_LABEL, l->obj->name);
    buf_c(&b, "},\"annotations\":{");
    put_text(&b, SERIES_INTENT, intent);
    if (user.n > 0) {
        buf_c(&b, ",");
        put_text(&b, RESERVATION_USER_ANNOTATION, user);
    }
    buf_c(&b, "}},\"spec\":");
    json_write(&template, l->template);
    buf_str(&b, str_head(buf_view(&template), template.n - 1)); /* open for more */
    buf_c(&b, ",");
    put_times(&b, o->start, o->end);
    buf_c(&b, ",");
    put_text(&b, "seriesName", l->obj->name);
    buf_c(&b, ",");
    put_text(&b, "recurrenceId", o->id);
    buf_c(&b, "}}");
    b.failed = b.failed ? b.failed : buf_ok(&template);
    b.failed = b.failed || intent.n > 0 ? b.failed : ERR_NOMEM;
    buf_release(&template);
    send(l, &b, o);
}

/* Members that the template had and has no more are taken away. */
void series_update(struct series_look *l, struct occurrence *o) {
    struct str intent = series_intent(l->a, l->template, o->start, o->end, l->mask);
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\",\"annotations\":{",
          (unsigned long long)o->obj->rv);
    put_text(&b, SERIES_INTENT, intent);
    buf_c(&b, "}},\"spec\":{");
    put_times(&b, o->start, o->end);
    for (unsigned i = 0; series_members[i]; i++) {
        yyjson_val *v = json_get(l->template, str_of(series_members[i]));
        if (v || json_get(o->spec, str_of(series_members[i]))) {
            buf_f(&b, ",\"%s\":", series_members[i]);
            if (v) {
                json_write(&b, v);
            } else {
                buf_c(&b, "null");
            }
        }
    }
    buf_c(&b, "}}");
    b.failed = b.failed || intent.n > 0 ? b.failed : ERR_NOMEM;
    bool times = o->rsv->spec->start_ns != o->start * NS_PER_SEC ||
                 o->rsv->spec->end_ns != o->end * NS_PER_SEC;
    l->moved += times;
    send(l, &b, o);
}

void series_cancel(struct series_look *l, struct occurrence *o, const char *reason) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_f(&b, "{\"metadata\":{\"resourceVersion\":\"%llu\",\"annotations\":{\"%s\":\"%s\"}},",
          (unsigned long long)o->obj->rv, SERIES_INTENT, SERIES_CANCELLED);
    buf_f(&b, "\"spec\":{\"cancel\":{\"reason\":\"%s\"}}}", reason);
    send(l, &b, o);
}

void series_remove(struct series_look *l, struct occurrence *o) {
    o->removed = true;
    round_remove(l->round, l->c->reservations, o->obj->ns, o->name,
                 &(struct delete_options){.uid = o->obj->uid, .grace_seconds = -1});
}

/* ---- the status ---- */

static void put_span(struct buf *b, const struct occurrence *o, int64_t start, int64_t end) {
    buf_c(b, "{");
    put_text(b, "recurrenceId", o->id);
    buf_c(b, ",");
    put_times(b, start, end);
}

static void put_occurrences(struct buf *b, const struct series_look *l) {
    bool any = false;
    buf_c(b, "\"occurrences\":[");
    for (size_t i = 0; i < l->n; i++) {
        const struct occurrence *o = &l->v[i];
        const struct reservation_status *s = o->obj && !o->removed ? o->rsv->status : NULL;
        if (!o->obj || o->removed) {
            continue;
        }
        bool granted = s && s->start_ns > 0 && s->end_ns > 0;
        const struct reservation_spec *spec = o->rsv->spec;
        buf_c(b, any ? "," : "");
        put_span(b, o, (granted ? s->start_ns : spec->start_ns) / NS_PER_SEC,
                 (granted ? s->end_ns : spec->end_ns) / NS_PER_SEC);
        buf_c(b, ",");
        put_text(b, "reservation", o->name);
        if (s && s->phase.n > 0) {
            buf_c(b, ",");
            put_text(b, "phase", s->phase);
        }
        buf_c(b, "}");
        any = true;
    }
    buf_c(b, "]");
}

static void put_skipped(struct buf *b, const struct series_look *l) {
    bool any = false;
    buf_c(b, ",\"skipped\":[");
    for (size_t i = 0; i < l->n; i++) {
        const struct occurrence *o = &l->v[i];
        if (!o->skip || !o->wanted) {
            continue;
        }
        buf_c(b, any ? "," : "");
        put_span(b, o, o->start, o->end);
        buf_f(b, ",\"reason\":\"%s\",", o->skip);
        put_text(b, "message", str_head(o->skip_message, LIMIT_EVENT_MESSAGE));
        buf_c(b, "}");
        any = true;
    }
    buf_c(b, "]");
}

static int put_conditions(struct buf *b, struct series_look *l) {
    struct condition_list list =
        l->s->status ? l->s->status->conditions : (struct condition_list){0};
    bool changed = false;
    int code = conditions_set(&list, l->a, "Booked", str_is(str_of(l->reason), "Booked"), l->reason,
                              l->message, l->now * NS_PER_SEC, l->obj->generation, &changed);
    buf_c(b, ",\"conditions\":[");
    for (size_t i = 0; i < list.n; i++) {
        buf_c(b, i ? "," : "");
        codec_encode(&schema_condition, &list.v[i], b);
    }
    buf_c(b, "]");
    return code;
}

void series_put_status(struct series_look *l) {
    char text[TIME_TEXT_MAX];
    struct buf b;
    yyjson_doc *d;
    struct str version = zones_version(l->c->zones);
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_c(&b, "{");
    put_occurrences(&b, l);
    put_skipped(&b, l);
    if (l->horizon > 0) {
        /* By the day: it moves on with every second, and nobody is helped by a write for each. */
        int64_t day = l->horizon / SERIES_DAY * SERIES_DAY;
        buf_f(&b, ",\"horizon\":\"%.*s\"", STR_ARG(time_text(day * NS_PER_SEC, text)));
    }
    if (version.n > 0) {
        buf_c(&b, ",");
        put_text(&b, "tzdata", version);
    }
    buf_c(&b, ",");
    put_text(&b, "message", l->message);
    buf_f(&b, ",\"observedGeneration\":%lld", (long long)l->obj->generation);
    b.failed = put_conditions(&b, l) ? ERR_NOMEM : b.failed;
    buf_c(&b, "}");
    if (buf_ok(&b) != 0 || json_parse(l->a, buf_view(&b), &d, NULL) != 0) {
        round_fail(l->round, ERR_NOMEM);
    } else if (!l->status || !json_equal(yyjson_doc_get_root(d), l->status)) {
        struct buf body;
        buf_init(&body, LIMIT_OBJECT_BYTES);
        buf_f(&body, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":%.*s}",
              (unsigned long long)l->obj->rv, STR_ARG(buf_view(&b)));
        if (buf_ok(&body) == 0) {
            round_patch(l->round, l->c->series, l->obj->ns, l->obj->name, "status", PATCH_MERGE,
                        buf_view(&body));
        } else {
            round_fail(l->round, ERR_NOMEM);
        }
        buf_release(&body);
    }
    buf_release(&b);
}
