/*
 * codec_decode: JSON to C views.
 *
 * One pass over the document's members; what the table does not know, or has no C member for, is skipped. Strings are
 * views of the document; lists and objects are arrays in the arena, sized by counting first.
 */
#include "api/schema/codec.h"

#include "api/tables/view_meta.h"
#include "api/walk/value.h"
#include "api/walk/walk.h"
#include "wire/text/time.h"

struct decode {
    struct arena *a;
    struct err *err;
};

static int decode_object(struct decode *d, const struct schema *s, yyjson_val *v, char *out,
                         const struct path *at);

static int wrong(struct decode *d, const struct path *at, const char *want, yyjson_val *v) {
    struct str where = path_text(at, d->a);
    return err_set(d->err, ERR_SYNTAX, "%.*s: expected %s, not %s", STR_ARG(where), want,
                   yyjson_get_type_desc(v));
}

static int decode_int(struct decode *d, const struct field *f, yyjson_val *v, char *out,
                      const struct path *at) {
    if (!yyjson_is_int(v) || (yyjson_is_uint(v) && yyjson_get_uint(v) > INT64_MAX)) {
        return wrong(d, at, "an integer", v);
    }
    int64_t n = yyjson_get_sint(v);
    if (f->type == FIELD_INT64) {
        if (f->member_opt) {
            *(struct opt_i64 *)(void *)out = (struct opt_i64){true, n};
        } else {
            *(int64_t *)(void *)out = n;
        }
        return 0;
    }
    if (n < INT32_MIN || n > INT32_MAX) {
        return wrong(d, at, "a 32-bit integer", v);
    }
    if (f->member_opt) {
        *(struct opt_i32 *)(void *)out = (struct opt_i32){true, (int32_t)n};
    } else {
        *(int32_t *)(void *)out = (int32_t)n;
    }
    return 0;
}

static int decode_quantity(struct decode *d, const struct field *f, yyjson_val *v, char *out,
                           const struct path *at) {
    struct quantity q;
    struct str text = json_str(v);
    if (yyjson_is_num(v)) { /* rare: defaulting has made strings of them */
        struct buf b;
        buf_init(&b, 0);
        json_write(&b, v);
        text = arena_str(d->a, buf_view(&b));
        buf_release(&b);
    } else if (!yyjson_is_str(v)) {
        return wrong(d, at, "a quantity", v);
    }
    if (quantity_parse(text, &q, d->err) < 0) {
        struct str where = path_text(at, d->a);
        return err_set(d->err, ERR_SYNTAX, "%.*s: not a quantity: %.*s", STR_ARG(where),
                       STR_ARG(text));
    }
    if (f->member_opt) {
        *(struct opt_quantity *)(void *)out = (struct opt_quantity){true, q};
    } else {
        *(struct quantity *)(void *)out = q;
    }
    return 0;
}

static int decode_time(struct decode *d, const struct field *f, yyjson_val *v, char *out,
                       const struct path *at) {
    if (!yyjson_is_str(v)) {
        return wrong(d, at, "a string", v);
    }
    int64_t ns = 0;
    int r = f->type == FIELD_DURATION ? duration_parse(json_str(v), &ns, d->err)
                                      : time_parse(json_str(v), &ns, d->err);
    if (r < 0) {
        struct str where = path_text(at, d->a), text = json_str(v);
        return err_set(d->err, r, "%.*s: not a time: %.*s", STR_ARG(where), STR_ARG(text));
    }
    *(int64_t *)(void *)out = ns;
    return 0;
}

static int decode_number_text(struct decode *d, yyjson_val *v, struct str *ret) {
    *ret = yyjson_is_str(v) ? json_str(v) : arena_f(d->a, "%lld", (long long)yyjson_get_sint(v));
    return arena_ok(d->a);
}

static int decode_value(struct decode *d, const struct field *f, yyjson_val *v, char *out,
                        const struct path *at) {
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
    case FIELD_BYTES:
        if (!yyjson_is_str(v)) {
            return wrong(d, at, "a string", v);
        }
        *(struct str *)(void *)out = json_str(v);
        return 0;
    case FIELD_BOOL:
        if (!yyjson_is_bool(v)) {
            return wrong(d, at, "true or false", v);
        }
        if (f->member_opt) {
            *(struct opt_bool *)(void *)out = (struct opt_bool){true, yyjson_get_bool(v)};
        } else {
            *(bool *)(void *)out = yyjson_get_bool(v);
        }
        return 0;
    case FIELD_INT32:
    case FIELD_INT64:
        return decode_int(d, f, v, out, at);
    case FIELD_DOUBLE:
        if (!yyjson_is_num(v)) {
            return wrong(d, at, "a number", v);
        }
        if (f->member_opt) {
            *(struct opt_double *)(void *)out = (struct opt_double){true, yyjson_get_num(v)};
        } else {
            *(double *)(void *)out = yyjson_get_num(v);
        }
        return 0;
    case FIELD_QUANTITY:
        return decode_quantity(d, f, v, out, at);
    case FIELD_TIME:
    case FIELD_MICROTIME:
    case FIELD_DURATION:
        return decode_time(d, f, v, out, at);
    case FIELD_INT_OR_STRING:
        if (!yyjson_is_str(v) && !yyjson_is_int(v)) {
            return wrong(d, at, "an integer or a string", v);
        }
        return decode_number_text(d, v, (struct str *)(void *)out);
    case FIELD_OBJECT:
        if (f->of->size == 0) {
            *(yyjson_val **)(void *)out = v;
            return 0;
        }
        if (f->shape == FIELD_LIST) {
            return decode_object(d, f->of, v, out, at);
        }
        char *sub = arena_zalloc(d->a, f->of->size);
        if (sub == NULL) {
            return err_set(d->err, ERR_NOMEM, "out of memory");
        }
        *(void **)(void *)out = sub;
        return decode_object(d, f->of, v, sub, at);
    case FIELD_ANY:
        *(yyjson_val **)(void *)out = v;
        return 0;
    }
    return 0;
}

static int decode_list(struct decode *d, const struct field *f, yyjson_val *v, char *out,
                       const struct path *at) {
    if (!yyjson_is_arr(v)) {
        return wrong(d, at, "a list", v);
    }
    size_t n = yyjson_arr_size(v), size = value_stride(f);
    if (n == 0) {
        return 0;
    }
    char *items = arena_array(d->a, n, size);
    if (items == NULL) {
        return err_set(d->err, ERR_NOMEM, "out of memory");
    }
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *e;
    for (size_t i = 0; (e = yyjson_arr_iter_next(&it)) != NULL; i++) {
        struct path p = path_index(at, i);
        int r = decode_value(d, f, e, items + i * size, &p);
        if (r < 0) {
            return r;
        }
    }
    *(struct value_span *)(void *)out = (struct value_span){items, n};
    return 0;
}

static int decode_map(struct decode *d, const struct field *f, yyjson_val *v, char *out,
                      const struct path *at) {
    if (!yyjson_is_obj(v)) {
        return wrong(d, at, "an object", v);
    }
    size_t n = yyjson_obj_size(v), size = value_stride(f);
    if (n == 0) {
        return 0;
    }
    char *items = arena_array(d->a, n, size);
    if (items == NULL) {
        return err_set(d->err, ERR_NOMEM, "out of memory");
    }
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *k;
    for (size_t i = 0; (k = yyjson_obj_iter_next(&it)) != NULL; i++) {
        char *item = items + i * size;
        *(struct str *)(void *)item = json_str(k);
        struct path p = path_key(at, json_str(k));
        yyjson_val *e = yyjson_obj_iter_get_val(k);
        if (yyjson_is_null(e)) {
            continue;
        }
        int r = decode_value(d, f, e, item + sizeof(struct str), &p);
        if (r < 0) {
            return r;
        }
    }
    *(struct value_span *)(void *)out = (struct value_span){items, n};
    return 0;
}

static int decode_object(struct decode *d, const struct schema *s, yyjson_val *v, char *out,
                         const struct path *at) {
    if (!yyjson_is_obj(v)) {
        return wrong(d, at, "an object", v);
    }
    size_t hint = 0;
    yyjson_obj_iter it = yyjson_obj_iter_with(v);
    yyjson_val *k;
    while ((k = yyjson_obj_iter_next(&it)) != NULL) {
        const struct field *f = schema_find(s, json_str(k), &hint);
        yyjson_val *e = yyjson_obj_iter_get_val(k);
        if (f == NULL || f->member < 0 || yyjson_is_null(e)) {
            continue;
        }
        struct path p = path_field(at, f);
        char *to = out + f->member;
        int r = f->shape == FIELD_LIST  ? decode_list(d, f, e, to, &p)
                : f->shape == FIELD_MAP ? decode_map(d, f, e, to, &p)
                                        : decode_value(d, f, e, to, &p);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int codec_decode(const struct schema *s, yyjson_val *v, struct arena *a, void *out,
                 struct err *err) {
    struct decode d = {.a = a, .err = err};
    memset(out, 0, s->size);
    return decode_object(&d, s, v, out, NULL);
}
