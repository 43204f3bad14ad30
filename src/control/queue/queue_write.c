/*
 * queue_write: conditions as a patch: the whole list, because a merge patch knows no parts of lists. One that says
 * something new says also which generation of its object it is about.
 */
#include "control/queue/queue_private.h"
#include "wire/text/time.h"

static bool same(yyjson_mut_val *c, const struct condition_change *x) {
    return str_is(json_mstr_at(c, "status"), x->status) &&
           str_is(json_mstr_at(c, "reason"), x->reason) &&
           str_eq(json_mstr_at(c, "message"), x->message);
}

/* Long messages are cut, as Kueue cuts them. */
static struct str message_cut(struct arena *a, struct str text) {
    return text.n <= LIMIT_CONDITION_MESSAGE
               ? text
               : arena_f(a, "%.*s ...", STR_ARG(str_head(text, LIMIT_CONDITION_MESSAGE - 4)));
}

static int apply(yyjson_mut_doc *d, yyjson_mut_val *list, const struct condition_change *x,
                 struct str now, int64_t generation) {
    yyjson_mut_val *c = json_mfind(list, "type", str_of(x->type));
    bool turned = c == NULL || !str_is(json_mstr_at(c, "status"), x->status);
    if (c == NULL) {
        c = yyjson_mut_obj(d);
        if (c == NULL || !yyjson_mut_arr_append(list, c)) {
            return ERR_NOMEM;
        }
    }
    int r = json_mset_str(d, c, "type", str_of(x->type));
    r = r == 0 ? json_mset_str(d, c, "status", str_of(x->status)) : r;
    if (turned && r == 0) {
        r = json_mset_str(d, c, "lastTransitionTime", now);
    }
    r = r == 0 && generation > 0 ? json_mset_i64(d, c, "observedGeneration", generation) : r;
    r = r == 0 ? json_mset_str(d, c, "reason", str_of(x->reason)) : r;
    return r == 0 ? json_mset_str(d, c, "message", x->message) : r;
}

/* The conditions that are written; an empty list where there are none, which a look at the bytes tells. NULL: no
 * memory. */
static yyjson_mut_val *written(const struct object *o, struct arena *a, yyjson_mut_doc *d) {
    yyjson_doc *doc;
    if (!str_contains(o->json, STR("\"conditions\":["))) {
        return yyjson_mut_arr(d);
    }
    if (object_tree(o, a, &doc, NULL) != 0) {
        return NULL;
    }
    yyjson_val *old = json_path(yyjson_doc_get_root(doc), "status.conditions");
    return yyjson_is_arr(old) ? yyjson_val_mut_copy(d, old) : yyjson_mut_arr(d);
}

bool conditions_json(const struct object *o, struct arena *a,
                     const struct condition_change *changes, size_t n, int64_t now_ns,
                     const char *time_field, struct buf *out) {
    char text[TIME_TEXT_MAX];
    struct str now = time_text(now_ns, text);
    bool changed = false;
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *list = d != NULL ? written(o, a, d) : NULL;
    for (size_t i = 0; list != NULL && i < n; i++) {
        struct condition_change x = changes[i];
        yyjson_mut_val *c = json_mfind(list, "type", str_of(x.type));
        x.message = message_cut(a, x.message);
        if (c != NULL && same(c, &x)) {
            continue;
        }
        changed = true;
        if (apply(d, list, &x, now, o->generation) != 0) {
            return false;
        }
    }
    if (list == NULL || !changed) {
        return false;
    }
    buf_c(out, time_field);
    buf_c(out, "\"conditions\":");
    json_write_mut(out, list);
    return true;
}
