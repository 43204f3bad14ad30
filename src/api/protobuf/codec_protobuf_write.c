/*
 * codec_protobuf_write: an object's JSON to protobuf, by the tags in the tables. The other way is codec_protobuf.c,
 * where the rules are.
 *
 * Members that are there are written, in the order in which they are; a Go program reads what is absent as its zero.
 * A member without a tag is an error, never left out: an answer is whole or it is none.
 */
#include "api/protobuf/codec_protobuf.h"
#include "api/walk/walk.h"
#include "base/limits.h"
#include "wire/protobuf.h"
#include "wire/text/base64.h"
#include "wire/text/time.h"

struct pbwrite {
    struct buf *out;
    struct arena *a;
    struct err *err;
    int depth;
};

static int write_message(struct pbwrite *w, const struct schema *s, yyjson_val *obj, uint32_t in);

static int unwritable(struct pbwrite *w, const struct field *f, const char *why) {
    return err_set(w->err, ERR_UNSUPPORTED, "protobuf: %s: %s", f->json, why);
}

static void write_instant(struct pbwrite *w, const struct field *f, int64_t ns) {
    const int64_t second = INT64_C(1000000000);
    int64_t rest = ns % second, whole = ns / second;
    if (rest < 0) {
        rest += second;
        whole--;
    }
    size_t at = pb_begin(w->out, f->proto);
    pb_put_varint(w->out, 1, (uint64_t)whole);
    pb_put_varint(w->out, 2, (uint64_t)rest);
    pb_end(w->out, at);
}

/* The small messages that are a scalar in JSON. */
static int write_small(struct pbwrite *w, const struct field *f, yyjson_val *v) {
    struct str text = json_str(v);
    int64_t ns = 0;
    size_t at;
    int r = 0;
    switch ((enum field_type)f->type) {
    case FIELD_TIME:
    case FIELD_MICROTIME:
        r = f->type == FIELD_TIME ? time_parse(text, &ns, w->err)
                                  : time_parse_micro(text, &ns, w->err);
        if (r == 0) {
            write_instant(w, f, ns);
        }
        return r;
    case FIELD_DURATION:
        r = duration_parse(text, &ns, w->err);
        at = pb_begin(w->out, f->proto);
        pb_put_varint(w->out, 1, (uint64_t)ns);
        break;
    case FIELD_INT_OR_STRING:
        at = pb_begin(w->out, f->proto);
        pb_put_varint(w->out, 1, yyjson_is_str(v));
        pb_put_varint(w->out, 2, (uint64_t)yyjson_get_sint(v));
        pb_put_bytes(w->out, 3, text);
        break;
    default: /* a quantity */
        at = pb_begin(w->out, f->proto);
        if (yyjson_is_str(v)) {
            pb_put_bytes(w->out, 1, text);
        } else {
            size_t inner = pb_begin(w->out, 1);
            json_write(w->out, v);
            pb_end(w->out, inner);
        }
        break;
    }
    pb_end(w->out, at);
    return r;
}

static int write_object(struct pbwrite *w, const struct field *f, yyjson_val *v) {
    if (f->of == NULL || !yyjson_is_obj(v)) {
        return unwritable(w, f, "is not an object that is known");
    }
    size_t at = pb_begin(w->out, f->proto);
    int r = write_message(w, f->of, v, 0);
    pb_end(w->out, at);
    return r;
}

/* One value under the field's own tag. */
static int write_value(struct pbwrite *w, const struct field *f, yyjson_val *v) {
    size_t at;
    switch ((enum field_type)f->type) {
    case FIELD_BOOL:
        pb_put_varint(w->out, f->proto, yyjson_get_bool(v));
        return 0;
    case FIELD_INT32:
    case FIELD_INT64:
        pb_put_varint(w->out, f->proto, (uint64_t)yyjson_get_sint(v));
        return 0;
    case FIELD_DOUBLE:
        pb_put_double(w->out, f->proto, yyjson_get_num(v));
        return 0;
    case FIELD_OBJECT:
        return write_object(w, f, v);
    case FIELD_ANY:
        at = pb_begin(w->out, f->proto);
        size_t inner = pb_begin(w->out, 1);
        json_write(w->out, v);
        pb_end(w->out, inner);
        pb_end(w->out, at);
        return 0;
    case FIELD_BYTES:
        pb_put_bytes(w->out, f->proto, base64_decode(w->a, json_str(v)));
        return arena_ok(w->a);
    case FIELD_STRING:
        if (!yyjson_is_str(v)) {
            return unwritable(w, f, "is not a text");
        }
        pb_put_bytes(w->out, f->proto, json_str(v));
        return 0;
    default:
        return write_small(w, f, v);
    }
}

/* "extra" of a user: a map whose values are lists of texts. */
static void write_texts(struct pbwrite *w, yyjson_val *list) {
    size_t at = pb_begin(w->out, 2);
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *v;
    while ((v = yyjson_arr_iter_next(&it)) != NULL) {
        pb_put_bytes(w->out, 1, json_str(v));
    }
    pb_end(w->out, at);
}

/* See FIELD_F_EITHER: which of the two it is shows in the value. */
static int write_either(struct pbwrite *w, const struct field *f, yyjson_val *v) {
    bool bools = f->type == FIELD_ANY && f->shape == FIELD_ONE;
    struct field one = {.json = f->json, .type = FIELD_OBJECT, .of = f->of, .proto = bools ? 2 : 1};
    struct field rest = {.json = f->json, .type = FIELD_STRING, .of = f->of, .proto = 2};
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *item;
    size_t at = pb_begin(w->out, f->proto);
    int r = 0;
    if (bools) {
        pb_put_varint(w->out, 1, !yyjson_is_false(v));
    }
    if (yyjson_is_arr(v) && !bools) {
        rest.type = f->shape == FIELD_MAP ? FIELD_STRING : FIELD_OBJECT;
        while (r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL) {
            r = write_value(w, &rest, item);
        }
    } else if (!yyjson_is_bool(v) || !bools) {
        r = write_object(w, &one, v);
    }
    pb_end(w->out, at);
    return r;
}

static int write_map(struct pbwrite *w, const struct field *f, yyjson_val *map) {
    struct field value = *f;
    yyjson_obj_iter it = yyjson_obj_iter_with(map);
    yyjson_val *k;
    int r = 0;
    value.proto = 2;
    while (r == 0 && (k = yyjson_obj_iter_next(&it)) != NULL) {
        yyjson_val *v = yyjson_obj_iter_get_val(k);
        size_t at = pb_begin(w->out, f->proto);
        pb_put_bytes(w->out, 1, json_str(k));
        if (f->flags & FIELD_F_EITHER) {
            r = write_either(w, &value, v);
        } else if (f->type == FIELD_ANY) {
            write_texts(w, v);
        } else {
            r = write_value(w, &value, v);
        }
        pb_end(w->out, at);
    }
    return r;
}

static int write_field(struct pbwrite *w, const struct field *f, yyjson_val *v) {
    int r = 0;
    if (f->shape == FIELD_MAP) {
        return write_map(w, f, v);
    }
    if (f->flags & FIELD_F_EITHER) {
        return write_either(w, f, v);
    }
    if (f->shape == FIELD_ONE) {
        return write_value(w, f, v);
    }
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *item;
    while (r == 0 && (item = yyjson_arr_iter_next(&it)) != NULL) {
        r = write_value(w, f, item);
    }
    return r;
}

/* What upstream embeds in the message `in`: each of these messages once, with all its fields. */
static int write_embedded(struct pbwrite *w, const struct schema *s, yyjson_val *obj, uint32_t in) {
    int r = 0;
    for (uint32_t tag = 1; in < 16 && tag < 16 && r == 0; tag++) {
        if (schema_embeds_proto(s, in << 4 | tag)) {
            size_t at = pb_begin(w->out, tag);
            r = write_message(w, s, obj, in << 4 | tag);
            pb_end(w->out, at);
        }
    }
    return r;
}

/* It is in the envelope; inside other objects, as the claims of a StatefulSet, upstream does not write it either. */
static bool is_type_meta(const struct field *f) {
    return strcmp(f->json, "apiVersion") == 0 || strcmp(f->json, "kind") == 0;
}

static int write_message(struct pbwrite *w, const struct schema *s, yyjson_val *obj, uint32_t in) {
    yyjson_obj_iter it = yyjson_obj_iter_with(obj);
    yyjson_val *k;
    size_t hint = 0;
    int r = 0;
    if (++w->depth > 2 * LIMIT_JSON_DEPTH) {
        return err_set(w->err, ERR_TOO_LARGE, "protobuf: nested too deeply");
    }
    while (r == 0 && (k = yyjson_obj_iter_next(&it)) != NULL) {
        yyjson_val *v = yyjson_obj_iter_get_val(k);
        const struct field *f = schema_find(s, json_str(k), &hint);
        if (f == NULL) {
            r = err_set(w->err, ERR_UNSUPPORTED, "protobuf: %.*s is not known",
                        STR_ARG(json_str(k)));
        } else if (f->proto_in == in && !yyjson_is_null(v)) {
            r = f->proto          ? write_field(w, f, v)
                : is_type_meta(f) ? 0
                                  : unwritable(w, f, "has no number");
        }
    }
    if (r == 0) {
        r = write_embedded(w, s, obj, in);
    }
    w->depth--;
    return r;
}

int codec_to_protobuf(const struct schema *s, yyjson_val *obj, struct arena *a, struct buf *out,
                      struct err *err) {
    struct pbwrite w = {.out = out, .a = a, .err = err};
    return write_message(&w, s, obj, 0);
}
