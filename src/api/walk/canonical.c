/* canonical: a walk by the tables. See canonical.h. */
#include "api/walk/canonical.h"

#include <stdlib.h>

#include "wire/text/quantity.h"

static void write_one(const struct canonical *c, const struct field *f, yyjson_val *v,
                      struct arena *a, struct buf *b) {
    struct quantity q;
    if (f->type == FIELD_OBJECT && f->of != NULL) {
        canonical_object(c, f->of, v, a, b);
    } else if (f->type == FIELD_QUANTITY && yyjson_is_str(v) &&
               quantity_parse(json_str(v), &q, NULL) == 0) {
        buf_ch(b, '"');
        quantity_write(b, q);
        buf_ch(b, '"');
    } else {
        json_write(b, v);
    }
}

static int by_key(const void *x, const void *y) {
    return str_cmp(json_str(*(yyjson_val *const *)x), json_str(*(yyjson_val *const *)y));
}

static void write_map(const struct canonical *c, const struct field *f, yyjson_val *v,
                      struct arena *a, struct buf *b) {
    yyjson_val **keys = ARENA_ARRAY(a, yyjson_val *, yyjson_obj_size(v) + 1), *key, *value;
    size_t i, max, n = 0;
    if (keys == NULL) {
        b->failed = b->failed ? b->failed : ERR_NOMEM;
        return;
    }
    yyjson_obj_foreach(v, i, max, key, value) {
        if (c->skip_key == NULL || !str_is(json_str(key), c->skip_key)) {
            keys[n++] = key;
        }
    }
    qsort(keys, n, sizeof *keys, by_key);
    buf_ch(b, '{');
    for (i = 0; i < n; i++) {
        buf_c(b, i ? "," : "");
        buf_json(b, json_str(keys[i]));
        buf_ch(b, ':');
        write_one(c, f, yyjson_obj_iter_get_val(keys[i]), a, b);
    }
    buf_ch(b, '}');
}

static void write_list(const struct canonical *c, const struct field *f, yyjson_val *v,
                       struct arena *a, struct buf *b) {
    size_t i, n;
    yyjson_val *e;
    buf_ch(b, '[');
    yyjson_arr_foreach(v, i, n, e) {
        buf_c(b, i ? "," : "");
        write_one(c, f, e, a, b);
    }
    buf_ch(b, ']');
}

void canonical_member(const struct canonical *c, const struct field *f, yyjson_val *v,
                      struct arena *a, struct buf *out) {
    if (f->shape == FIELD_MAP && yyjson_is_obj(v)) {
        write_map(c, f, v, a, out);
    } else if (f->shape == FIELD_LIST && yyjson_is_arr(v)) {
        write_list(c, f, v, a, out);
    } else {
        write_one(c, f, v, a, out);
    }
}

/* What stands for a member that is unset and written all the same. */
static const char *empty_text(const struct field *f) {
    return f->shape != FIELD_ONE                              ? "null"
           : f->type == FIELD_OBJECT                          ? "{}"
           : f->type == FIELD_BOOL                            ? "false"
           : f->type == FIELD_INT32 || f->type == FIELD_INT64 ? "0"
                                                              : "\"\"";
}

void canonical_object(const struct canonical *c, const struct schema *s, yyjson_val *v,
                      struct arena *a, struct buf *out) {
    bool any = false;
    buf_ch(out, '{');
    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->fields[i];
        yyjson_val *m = json_get(v, str_of(f->json));
        bool unset = c->unset(f, m);
        if (unset && !(c->keep_empty && (f->flags & FIELD_F_KEEP_EMPTY) != 0)) {
            continue;
        }
        buf_f(out, any ? ",\"%s\":" : "\"%s\":", f->json);
        any = true;
        if (unset) {
            buf_c(out, empty_text(f));
        } else {
            canonical_member(c, f, m, a, out);
        }
    }
    buf_ch(out, '}');
}
