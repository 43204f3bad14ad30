/* reservation_series_write: what a series writes: its Reservations, and its status. */
#include "control/series/reservation_series_private.h"

#include "api/conditions.h"
#include "api/meta.h"
#include "api/schema/codec_encode.h"
#include "base/limits.h"
#include "control/kit/edit.h"
#include "wire/text/time.h"

const char *const series_members[] = {
    "timeZone",  "lines",  "beneficiary", "purpose",  "class",        "exclusive",
    "endPolicy", "noShow", "autoExtend",  "waitlist", "confirmOffer", NULL,
};

/* The document as it stands, in the arena; NULL: out of memory. */
static yyjson_val *fixed(struct arena *a, yyjson_mut_doc *d) {
    struct buf b;
    yyjson_doc *made;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    json_write_mut(&b, d->root);
    int r = buf_ok(&b);
    r = r ? r : json_parse(a, buf_view(&b), &made, NULL);
    buf_release(&b);
    return r ? NULL : yyjson_doc_get_root(made);
}

/* A member as in `from`; it goes when that has none. */
static int take(yyjson_mut_doc *d, yyjson_mut_val *to, yyjson_val *from, const char *name) {
    yyjson_val *v = json_get(from, str_of(name));
    yyjson_mut_val *copy = v ? yyjson_val_mut_copy(d, v) : NULL;
    return v && copy == NULL ? ERR_NOMEM : json_mset(d, to, str_of(name), copy);
}

yyjson_val *series_template(struct arena *a, yyjson_val *spec,
                            const struct reservation_series_spec *s) {
    yyjson_val *template = json_get(spec, STR("template"));
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d ? yyjson_mut_obj(d) : NULL;
    if (root == NULL) {
        return NULL;
    }
    yyjson_mut_doc_set_root(d, root);
    int r = json_mset_str(d, root, "timeZone", s->time_zone.n > 0 ? s->time_zone : STR("UTC"));
    for (unsigned i = 1; r == 0 && series_members[i]; i++) {
        bool waits =
            str_is(str_of(series_members[i]), "waitlist") && str_is(s->conflict_policy, "Waitlist");
        r = waits ? json_mset_bool(d, root, "waitlist", true)
                  : take(d, root, template, series_members[i]);
    }
    return r == 0 ? fixed(a, d) : NULL;
}

/* ---- Reservations ---- */

static int set_times(yyjson_mut_doc *d, yyjson_mut_val *spec, const struct occurrence *o) {
    char text[TIME_TEXT_MAX];
    int r = json_mset_str(d, spec, "start", time_text(o->start * NS_PER_SEC, text));
    return r ? r : json_mset_str(d, spec, "end", time_text(o->end * NS_PER_SEC, text));
}

static int create(struct series_look *l, struct occurrence *o, struct buf *out) {
    struct str user = meta_annotation(l->s->metadata, RESERVATION_USER_ANNOTATION);
    struct str_pair label = {STR(SERIES_LABEL), l->obj->name};
    struct str_pair notes[] = {
        {STR(SERIES_INTENT), series_intent(l->a, l->template, o->start, o->end, l->mask)},
        {STR(RESERVATION_USER_ANNOTATION), user}};
    struct meta meta = {.name = o->name,
                        .namespace = l->obj->ns,
                        .labels = {&label, 1},
                        .annotations = {notes, user.n > 0 ? 2 : 1}};
    struct object_draft draft = {.metadata = &meta};
    yyjson_mut_doc *d = json_mut_copy(l->a, l->template);
    if (d == NULL || notes[0].value.n == 0) {
        return ERR_NOMEM;
    }
    int r = set_times(d, d->root, o);
    r = r ? r : json_mset_str(d, d->root, "seriesName", l->obj->name);
    r = r ? r : json_mset_str(d, d->root, "recurrenceId", o->id);
    draft.spec = r == 0 ? fixed(l->a, d) : NULL;
    if (draft.spec == NULL) {
        return ERR_NOMEM;
    }
    codec_encode_object_as(l->c->reservations, &schema_object_draft, &draft, out);
    return buf_ok(out);
}

void series_create(struct series_look *l, struct occurrence *o) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    int r = create(l, o, &b);
    if (r == 0) {
        round_tag(l->round, (uint64_t)o->local);
        round_create(l->round, l->c->reservations, l->obj->ns, buf_view(&b));
        round_tag(l->round, UINT64_MAX);
    } else {
        round_fail(l->round, r);
    }
    buf_release(&b);
}

/* A copy of the Reservation, with another fingerprint. */
static yyjson_mut_doc *copy_of(struct series_look *l, const struct occurrence *o, struct str intent,
                               yyjson_val **ret_was) {
    yyjson_doc *was;
    yyjson_mut_doc *d = intent.p && object_tree(o->obj, l->a, &was, NULL) == 0
                            ? json_mut_copy(l->a, yyjson_doc_get_root(was))
                            : NULL;
    yyjson_mut_val *notes = d ? json_mensure(d, d->root, "metadata.annotations") : NULL;
    *ret_was = d ? yyjson_doc_get_root(was) : NULL;
    return notes && json_mset_str(d, notes, SERIES_INTENT, intent) == 0 ? d : NULL;
}

static void patch(struct series_look *l, const struct occurrence *o, int code, yyjson_val *was,
                  yyjson_mut_doc *d) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    code = code ? code : edit_write_tree(o->obj, EDIT_VERSION, was, d->root, &b);
    if (code == 0) {
        round_patch(l->round, l->c->reservations, o->obj->ns, o->name, "", PATCH_MERGE,
                    buf_view(&b));
    } else if (code != ERR_NOT_FOUND) {
        round_fail(l->round, code);
    }
    buf_release(&b);
}

/* Members that the template had and has no more are taken away. */
void series_update(struct series_look *l, struct occurrence *o) {
    struct str intent = series_intent(l->a, l->template, o->start, o->end, l->mask);
    yyjson_val *was;
    yyjson_mut_doc *d = copy_of(l, o, intent, &was);
    yyjson_mut_val *spec = d ? json_mensure(d, d->root, "spec") : NULL;
    int r = spec ? set_times(d, spec, o) : ERR_NOMEM;
    for (unsigned i = 0; r == 0 && series_members[i]; i++) {
        r = take(d, spec, l->template, series_members[i]);
    }
    l->moved += o->rsv->spec->start_ns != o->start * NS_PER_SEC ||
                o->rsv->spec->end_ns != o->end * NS_PER_SEC;
    patch(l, o, r, was, d);
}

void series_cancel(struct series_look *l, struct occurrence *o, const char *reason) {
    yyjson_val *was;
    yyjson_mut_doc *d = copy_of(l, o, STR(SERIES_CANCELLED), &was);
    yyjson_mut_val *cancel = d ? json_mensure(d, d->root, "spec.cancel") : NULL;
    int r = cancel ? json_mset_str(d, cancel, "reason", str_of(reason)) : ERR_NOMEM;
    patch(l, o, r, was, d);
}

void series_remove(struct series_look *l, struct occurrence *o) {
    o->removed = true;
    round_remove(l->round, l->c->reservations, o->obj->ns, o->name,
                 &(struct delete_options){.uid = o->obj->uid, .grace_seconds = -1});
}

/* ---- the status ---- */

static void set_occurrences(const struct series_look *l, struct reservation_series_status *s) {
    s->occurrences.v = ARENA_ARRAY(l->a, struct series_occurrence, l->n + 1);
    s->occurrences.n = 0;
    for (size_t i = 0; s->occurrences.v && i < l->n; i++) {
        const struct occurrence *o = &l->v[i];
        if (o->obj == NULL || o->removed) {
            continue;
        }
        const struct reservation_status *st = o->rsv->status;
        bool granted = st && st->start_ns > 0 && st->end_ns > 0;
        s->occurrences.v[s->occurrences.n++] =
            (struct series_occurrence){.recurrence_id = o->id,
                                       .reservation = o->name,
                                       .start_ns = granted ? st->start_ns : o->rsv->spec->start_ns,
                                       .end_ns = granted ? st->end_ns : o->rsv->spec->end_ns,
                                       .phase = st ? st->phase : (struct str){0}};
    }
}

static void set_skipped(const struct series_look *l, struct reservation_series_status *s) {
    s->skipped.v = ARENA_ARRAY(l->a, struct series_skip, l->n + 1);
    s->skipped.n = 0;
    for (size_t i = 0; s->skipped.v && i < l->n; i++) {
        const struct occurrence *o = &l->v[i];
        if (o->skip && o->wanted) {
            s->skipped.v[s->skipped.n++] =
                (struct series_skip){.recurrence_id = o->id,
                                     .start_ns = o->start * NS_PER_SEC,
                                     .end_ns = o->end * NS_PER_SEC,
                                     .reason = str_of(o->skip),
                                     .message = str_head(o->skip_message, LIMIT_EVENT_MESSAGE)};
        }
    }
}

void series_put_status(struct series_look *l) {
    struct reservation_series want = *l->s;
    struct reservation_series_status s = {0};
    struct condition_list had = {0};
    if (l->s->status) {
        s = *l->s->status;
        had = s.conditions;
    }
    set_occurrences(l, &s);
    set_skipped(l, &s);
    /* By the day: it moves on with every second, and nobody is helped by a write for each. */
    s.horizon_ns = l->horizon > 0 ? l->horizon / SERIES_DAY * SERIES_DAY * NS_PER_SEC : 0;
    s.tzdata = zones_version(l->c->zones);
    s.message = l->message;
    s.observed_generation = l->obj->generation;
    int r = conditions_copy(&had, l->a, &s.conditions);
    r = r ? r
          : conditions_set(&s.conditions, l->a, "Booked", str_is(str_of(l->reason), "Booked"),
                           l->reason, l->message, l->now * NS_PER_SEC, l->obj->generation, NULL);
    r = r ? r : arena_ok(l->a);
    want.status = &s;
    if (r != 0) {
        round_fail(l->round, r);
        return;
    }
    (void)edit_send(l->round, l->obj, "status", EDIT_VERSION, l->s, &want);
}
