/*
 * codec_default: what a manifest leaves out, and one spelling for what it may spell in several ways.
 *
 * First the tables' defaults, from the top down (a default applies when its parent is present); on the way quantities
 * and times become canonical ("1000m" -> "1"). Then the kind's own hook. Doing it twice changes nothing.
 */
#include "api/schema/codec.h"
#include "api/schema/crd_schema.h"
#include "api/walk/walk.h"
#include "wire/text/quantity.h"
#include "wire/text/time.h"

static int default_object(const struct schema *s, yyjson_mut_doc *d, yyjson_mut_val *obj);

/* The few forms of a default: true, false, {}, [], a number, a "string". */
static yyjson_mut_val *default_value(yyjson_mut_doc *d, const char *text) {
    size_t n = strlen(text);
    int64_t number;
    switch (text[0]) {
    case 't':
        return yyjson_mut_true(d);
    case 'f':
        return yyjson_mut_false(d);
    case '{':
        return yyjson_mut_obj(d);
    case '[':
        return yyjson_mut_arr(d);
    case '"':
        return yyjson_mut_strncpy(d, text + 1, n - 2);
    default:
        return str_to_i64(str_from(text, n), &number) ? yyjson_mut_sint(d, number) : NULL;
    }
}

/* Sets v to this text unless it is that already. */
static int respell(yyjson_mut_doc *d, yyjson_mut_val *v, struct str text) {
    if (yyjson_mut_is_str(v) && str_eq(json_mstr(v), text)) {
        return 0;
    }
    yyjson_mut_val *copy = yyjson_mut_strncpy(d, text.p, text.n);
    if (copy == NULL) {
        return ERR_NOMEM;
    }
    yyjson_mut_set_strn(v, yyjson_mut_get_str(copy), text.n);
    return 0;
}

/* Bad text stays as it is: validation says so, with the path. */
static int canonical_quantity(yyjson_mut_doc *d, yyjson_mut_val *v) {
    struct quantity q;
    char text[QUANTITY_TEXT_MAX];
    struct str in = json_mstr(v);
    struct buf b;
    buf_init(&b, 0);
    if (yyjson_mut_is_num(v)) {
        json_write_mut(&b, v);
        in = buf_view(&b);
    }
    int r = buf_ok(&b);
    if (r == 0 && quantity_parse(in, &q, NULL) == 0) {
        r = respell(d, v, quantity_text(q, text));
    }
    buf_release(&b);
    return r;
}

static int canonical_time(const struct field *f, yyjson_mut_doc *d, yyjson_mut_val *v) {
    struct str in = json_mstr(v);
    char text[TIME_TEXT_MAX];
    int64_t ns;
    size_t plain = sizeof("2006-01-02T15:04:05Z") - 1;
    if (f->type == FIELD_TIME && !(in.n == plain && in.p[plain - 1] == 'Z') &&
        time_parse(in, &ns, NULL) == 0) {
        return respell(d, v, time_text(ns, text));
    }
    if (f->type == FIELD_MICROTIME && time_parse_micro(in, &ns, NULL) == 0) {
        return respell(d, v, time_text_micro(ns, text));
    }
    return 0;
}

static int default_one(const struct field *f, yyjson_mut_doc *d, yyjson_mut_val *v) {
    switch ((enum field_type)f->type) {
    case FIELD_OBJECT:
        return default_object(f->of, d, v);
    case FIELD_QUANTITY:
        return canonical_quantity(d, v);
    case FIELD_TIME:
    case FIELD_MICROTIME:
        return canonical_time(f, d, v);
    default:
        return 0;
    }
}

static int default_field(const struct field *f, yyjson_mut_doc *d, yyjson_mut_val *v) {
    if (f->type != FIELD_OBJECT && f->type != FIELD_QUANTITY && f->type != FIELD_TIME &&
        f->type != FIELD_MICROTIME) {
        return 0;
    }
    int r = 0;
    if (f->shape == FIELD_LIST) {
        yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(v);
        yyjson_mut_val *e;
        while (r == 0 && (e = yyjson_mut_arr_iter_next(&it)) != NULL) {
            r = default_one(f, d, e);
        }
    } else if (f->shape == FIELD_MAP) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
        yyjson_mut_val *k;
        while (r == 0 && (k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            r = default_one(f, d, yyjson_mut_obj_iter_get_val(k));
        }
    } else {
        r = default_one(f, d, v);
    }
    return r;
}

static bool is_unset(const struct field *f, yyjson_mut_val *v) {
    if (v == NULL) {
        return true;
    }
    if (f->flags & FIELD_F_OPT) {
        return false;
    }
    return (yyjson_mut_is_str(v) && yyjson_mut_get_len(v) == 0) ||
           (yyjson_mut_is_num(v) && yyjson_mut_get_num(v) == 0 && f->min > 0 &&
            !(f->flags & FIELD_F_KEEP_EMPTY)); /* there a 0 was meant, and validation says no */
}

static int default_object(const struct schema *s, yyjson_mut_doc *d, yyjson_mut_val *obj) {
    if (!yyjson_mut_is_obj(obj)) {
        return 0;
    }
    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->fields[i];
        if (f->def != NULL && is_unset(f, json_mget(obj, path_field(NULL, f).name))) {
            yyjson_mut_val *v = default_value(d, f->def);
            if (v == NULL || json_mset(d, obj, path_field(NULL, f).name, v) < 0) {
                return ERR_NOMEM;
            }
        }
    }
    size_t hint = 0;
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(obj);
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&it)) != NULL) {
        const struct field *f = schema_find(s, json_mstr(k), &hint);
        int r = f ? default_field(f, d, yyjson_mut_obj_iter_get_val(k)) : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int default_by_hook(const struct kind *k, yyjson_mut_doc *d, struct err *err) {
    struct err e = {0};
    if (k->set_defaults != NULL) {
        k->set_defaults(d, yyjson_mut_doc_get_root(d), &e);
    }
    return e.code != 0 ? err_set(err, e.code, "%s", e.text) : 0;
}

/* The root's apiVersion, kind and metadata are not the schema's matter. */
static int default_custom(const struct schema *s, yyjson_mut_doc *d, const char *part) {
    const struct crd_node *n = s->custom->root;
    yyjson_mut_val *v = yyjson_mut_doc_get_root(d);
    if (part != NULL) {
        v = json_mget(v, str_of(part));
        n = crd_member(n, str_of(part));
    }
    if (n == NULL || v == NULL) {
        return 0;
    }
    crd_drop_nulls(n, v);
    return crd_default(n, d, v);
}

int codec_default_in(const struct kind *k, const struct kind_version *kv, yyjson_mut_doc *d,
                     struct err *err) {
    yyjson_mut_val *obj = yyjson_mut_doc_get_root(d);
    int r = default_object(kv->schema, d, obj);
    if (r == 0 && kv->schema->custom != NULL) {
        r = default_custom(kv->schema, d, NULL);
    }
    return r < 0 ? err_set(err, ERR_NOMEM, "out of memory") : default_by_hook(k, d, err);
}

int codec_default(const struct kind *k, yyjson_mut_doc *d, struct err *err) {
    return codec_default_in(k, kind_storage(k), d, err);
}

int codec_default_status_in(const struct kind *k, const struct kind_version *kv, yyjson_mut_doc *d,
                            struct err *err) {
    size_t hint = 0;
    yyjson_mut_val *status = json_mget(yyjson_mut_doc_get_root(d), STR("status"));
    const struct field *f = status != NULL ? schema_find(kv->schema, STR("status"), &hint) : NULL;
    int r = f != NULL ? default_field(f, d, status) : 0;
    if (r == 0 && kv->schema->custom != NULL) {
        r = default_custom(kv->schema, d, "status");
    }
    return r < 0 ? err_set(err, ERR_NOMEM, "out of memory") : default_by_hook(k, d, err);
}
