/*
 * codec_protobuf: a protobuf body to JSON, by the tags in the tables.
 *
 * Go writes every non-pointer field, zero or not, and pointers only when set. So a zero is dropped unless the row is a
 * pointer (FIELD_F_OPT: an explicit zero) or has no omitempty (FIELD_F_KEEP_EMPTY). Messages that upstream embeds have
 * a tag on the wire but no level in JSON: their rows carry the tag in proto_in. Unknown tags are skipped, as upstream.
 */
#include "api/protobuf/codec_protobuf.h"
#include "api/walk/walk.h"
#include "base/limits.h"
#include "base/map.h"
#include "wire/protobuf.h"
#include "wire/text/base64.h"
#include "wire/text/time.h"

struct pbread {
    yyjson_mut_doc *d;
    struct arena *a;
    struct err *err;
    int depth;
    size_t values; /* so far: two bytes of a body may be one, which takes far more to handle */
};

static int message(struct pbread *p, const struct schema *s, struct str bytes, uint32_t in,
                   yyjson_mut_val *obj);

static int malformed(struct pbread *p, const struct field *f, const char *why) {
    return err_set(p->err, ERR_SYNTAX, "protobuf: %s: %s", f ? f->json : "object", why);
}

/* One value more. */
static int count_in(struct pbread *p) {
    return ++p->values <= LIMIT_BODY_VALUES
               ? 0
               : err_set(p->err, ERR_TOO_LARGE, "protobuf: the body has more than %d values",
                         LIMIT_BODY_VALUES);
}

static bool utf8_valid(struct str s) {
    const uint8_t *p = (const uint8_t *)s.p, *end = p + s.n;
    while (p < end) {
        uint32_t c = *p, min;
        int more;
        if (c < 0x80) {
            p++;
            continue;
        }
        if ((c & 0xe0) == 0xc0) {
            more = 1, c &= 0x1f, min = 0x80;
        } else if ((c & 0xf0) == 0xe0) {
            more = 2, c &= 0x0f, min = 0x800;
        } else if ((c & 0xf8) == 0xf0) {
            more = 3, c &= 0x07, min = 0x10000;
        } else {
            return false;
        }
        if (end - p <= more) {
            return false;
        }
        for (int i = 1; i <= more; i++) {
            if ((p[i] & 0xc0) != 0x80) {
                return false;
            }
            c = c << 6 | (p[i] & 0x3f);
        }
        if (c < min || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) {
            return false;
        }
        p += more + 1;
    }
    return true;
}

static yyjson_mut_val *text_value(struct pbread *p, struct str s) {
    return yyjson_mut_strncpy(p->d, s.p ? s.p : "", s.n);
}

static yyjson_mut_val *base64_value(struct pbread *p, struct str s) {
    struct buf b;
    buf_init(&b, 0);
    base64_encode(&b, s);
    yyjson_mut_val *v = buf_ok(&b) == 0 ? yyjson_mut_strncpy(p->d, buf_cstr(&b), b.n) : NULL;
    buf_release(&b);
    return v;
}

/* The small messages that are a scalar in JSON: their numbers by tag, and their bytes. */
struct protobuf_parts {
    int64_t number[4];
    struct str bytes[4];
};

static int read_parts(struct pbread *p, const struct field *f, struct str bytes,
                      struct protobuf_parts *ret) {
    struct pb r = pb_of(bytes);
    struct pb_field x;
    *ret = (struct protobuf_parts){0};
    while (pb_next(&r, &x)) {
        if (x.number < 4) {
            ret->number[x.number] = pb_i64(&x);
            ret->bytes[x.number] = x.bytes;
        }
    }
    return r.bad ? malformed(p, f, r.bad) : 0;
}

static int time_value(struct pbread *p, const struct field *f, struct str bytes,
                      yyjson_mut_val **ret) {
    struct protobuf_parts x;
    char text[TIME_TEXT_MAX];
    int64_t ns;
    int r = read_parts(p, f, bytes, &x);
    if (r < 0) {
        return r;
    }
    if (bytes.n == 0 || x.number[1] == -62135596800) { /* the zero time */
        return 0;
    }
    if (__builtin_mul_overflow(x.number[1], INT64_C(1000000000), &ns) ||
        __builtin_add_overflow(ns, x.number[2], &ns)) {
        return malformed(p, f, "time out of range");
    }
    *ret =
        text_value(p, f->type == FIELD_MICROTIME ? time_text_micro(ns, text) : time_text(ns, text));
    return 0;
}

static int any_value(struct pbread *p, const struct field *f, struct str raw,
                     yyjson_mut_val **ret) {
    yyjson_doc *doc;
    struct err e = {0};
    if (raw.n == 0) {
        return 0;
    }
    if (json_parse(p->a, raw, &doc, &e) < 0) {
        return malformed(p, f, "embedded JSON does not parse");
    }
    p->values += yyjson_doc_get_val_count(doc);
    *ret = yyjson_val_mut_copy(p->d, yyjson_doc_get_root(doc));
    return count_in(p);
}

/* See FIELD_F_EITHER. The boolean is always written, so what has it is of the first form. */
static int either_value(struct pbread *p, const struct field *f, struct str bytes,
                        yyjson_mut_val **ret) {
    struct pb r = pb_of(bytes);
    struct pb_field x;
    yyjson_mut_val *list = NULL, *object = NULL, *allows = NULL;
    int code = 0;
    while (code == 0 && (code = count_in(p)) == 0 && pb_next(&r, &x)) {
        if (x.number == 1 && x.wire != PB_BYTES) {
            allows = yyjson_mut_bool(p->d, x.value != 0);
        } else if (x.wire == PB_BYTES && (x.number == 1 || (x.number == 2 && allows))) {
            object = yyjson_mut_obj(p->d);
            code = object ? message(p, f->of, x.bytes, 0, object) : 0;
        } else if (x.wire == PB_BYTES && x.number == 2) {
            yyjson_mut_val *one =
                f->shape == FIELD_MAP ? text_value(p, x.bytes) : yyjson_mut_obj(p->d);
            list = list ? list : yyjson_mut_arr(p->d);
            code = f->shape == FIELD_MAP && !utf8_valid(x.bytes)
                       ? malformed(p, f, "text is not UTF-8")
                   : f->shape == FIELD_MAP || one == NULL ? 0
                                                          : message(p, f->of, x.bytes, 0, one);
            yyjson_mut_arr_append(list, one);
        }
    }
    *ret = object ? object : list ? list : allows;
    return code < 0 ? code : r.bad ? malformed(p, f, r.bad) : arena_ok(p->a);
}

/* One value that is a message or bytes on the wire. *ret stays NULL for what JSON leaves out. */
static int bytes_value(struct pbread *p, const struct field *f, struct str b,
                       yyjson_mut_val **ret) {
    struct protobuf_parts x;
    int r;
    if (f->flags & FIELD_F_EITHER) {
        return either_value(p, f, b, ret);
    }
    switch ((enum field_type)f->type) {
    case FIELD_BYTES:
        *ret = base64_value(p, b);
        return 0;
    case FIELD_TIME:
    case FIELD_MICROTIME:
        return time_value(p, f, b, ret);
    case FIELD_OBJECT:
        *ret = yyjson_mut_obj(p->d);
        return *ret ? message(p, f->of, b, 0, *ret) : 0;
    case FIELD_QUANTITY:
    case FIELD_ANY:
    case FIELD_INT_OR_STRING:
    case FIELD_DURATION:
        r = read_parts(p, f, b, &x);
        if (r < 0) {
            return r;
        }
        if (f->type == FIELD_ANY) {
            return any_value(p, f, x.bytes[1], ret);
        }
        if (f->type == FIELD_DURATION) {
            char text[DURATION_TEXT_MAX];
            *ret = text_value(p, duration_text(x.number[1], text));
            return 0;
        }
        if (f->type == FIELD_INT_OR_STRING && x.number[1] == 0) {
            *ret = yyjson_mut_sint(p->d, x.number[2]);
            return 0;
        }
        b = f->type == FIELD_QUANTITY ? x.bytes[1] : x.bytes[3];
        break;
    default:
        break;
    }
    if (!utf8_valid(b)) {
        return malformed(p, f, "text is not UTF-8");
    }
    *ret = text_value(p, b);
    return 0;
}

static int value(struct pbread *p, const struct field *f, const struct pb_field *x,
                 yyjson_mut_val **ret) {
    bool number = f->type == FIELD_BOOL || f->type == FIELD_INT32 || f->type == FIELD_INT64 ||
                  f->type == FIELD_DOUBLE;
    if (number == (x->wire == PB_BYTES)) {
        return malformed(p, f, "wrong wire type");
    }
    *ret = NULL;
    if (!number) {
        int r = bytes_value(p, f, x->bytes, ret);
        return r < 0 ? r : arena_ok(p->a);
    }
    *ret = f->type == FIELD_BOOL     ? yyjson_mut_bool(p->d, x->value != 0)
           : f->type == FIELD_DOUBLE ? yyjson_mut_real(p->d, pb_double(x))
           : f->type == FIELD_INT32  ? yyjson_mut_sint(p->d, (int32_t)x->value)
                                     : yyjson_mut_sint(p->d, pb_i64(x));
    return 0;
}

static bool is_zero(yyjson_mut_val *v) {
    return (yyjson_mut_is_str(v) && yyjson_mut_get_len(v) == 0) ||
           (yyjson_mut_is_num(v) && yyjson_mut_get_num(v) == 0) || yyjson_mut_is_false(v) ||
           (yyjson_mut_is_obj(v) && yyjson_mut_obj_size(v) == 0);
}

/* The one map whose values are lists, "extra" of a user: each is a message of texts. */
static int texts_value(struct pbread *p, const struct field *f, struct str bytes,
                       yyjson_mut_val **ret) {
    struct pb r = pb_of(bytes);
    struct pb_field x;
    *ret = yyjson_mut_arr(p->d);
    while (pb_next(&r, &x)) {
        if (x.number == 1 && !utf8_valid(x.bytes)) {
            return malformed(p, f, "text is not UTF-8");
        }
        int code = count_in(p);
        if (code < 0) {
            return code;
        }
        if (x.number == 1) {
            yyjson_mut_arr_append(*ret, text_value(p, x.bytes));
        }
    }
    return r.bad ? malformed(p, f, r.bad) : arena_ok(p->a);
}

static int map_entry(struct pbread *p, const struct field *f, struct str bytes,
                     yyjson_mut_val *map) {
    struct pb r = pb_of(bytes);
    struct pb_field x;
    struct str key = {0};
    yyjson_mut_val *v = NULL;
    int code = 0;
    while ((code = count_in(p)) == 0 && pb_next(&r, &x)) {
        if (x.number == 1) {
            key = x.bytes;
        } else if (x.number == 2) {
            bool texts = f->type == FIELD_ANY && !(f->flags & FIELD_F_EITHER);
            code = texts ? texts_value(p, f, x.bytes, &v) : value(p, f, &x, &v);
        }
        if (code < 0) {
            break;
        }
    }
    if (code < 0) {
        return code;
    }
    if (r.bad != NULL || !utf8_valid(key)) {
        return malformed(p, f, r.bad ? r.bad : "text is not UTF-8");
    }
    yyjson_mut_val *k = text_value(p, key);
    return yyjson_mut_obj_add(map, k, v ? v : text_value(p, STR(""))) ? 0 : ERR_NOMEM;
}

static int list_item(struct pbread *p, const struct field *f, const struct pb_field *x,
                     yyjson_mut_val *list) {
    yyjson_mut_val *v = NULL;
    if (x->wire == PB_BYTES && (f->type == FIELD_INT32 || f->type == FIELD_INT64)) { /* packed */
        struct pb r = pb_of(x->bytes);
        uint64_t n;
        while (pb_varint(&r, &n)) {
            int code = count_in(p);
            if (code < 0) {
                return code;
            }
            yyjson_mut_arr_add_sint(p->d, list, f->type == FIELD_INT32 ? (int32_t)n : (int64_t)n);
        }
        return r.bad ? malformed(p, f, r.bad) : 0;
    }
    int r = value(p, f, x, &v);
    if (r == 0 && v != NULL && !yyjson_mut_arr_append(list, v)) {
        return ERR_NOMEM;
    }
    return r;
}

/* The list or map of this field, made when it is the first item. */
static yyjson_mut_val *collection(struct pbread *p, const struct field *f, yyjson_mut_val *obj) {
    struct str name = str_of(f->json);
    yyjson_mut_val *v = json_mget(obj, name);
    if (v == NULL) {
        v = f->shape == FIELD_LIST ? yyjson_mut_arr(p->d) : yyjson_mut_obj(p->d);
        if (v == NULL || json_mset(p->d, obj, name, v) < 0) {
            return NULL;
        }
    }
    return v;
}

static int field(struct pbread *p, const struct field *f, const struct pb_field *x,
                 yyjson_mut_val *obj) {
    if (f->shape != FIELD_ONE) {
        yyjson_mut_val *c = collection(p, f, obj);
        if (c == NULL) {
            return err_set(p->err, ERR_NOMEM, "out of memory");
        }
        if (f->shape == FIELD_LIST) {
            return list_item(p, f, x, c);
        }
        return x->wire == PB_BYTES ? map_entry(p, f, x->bytes, c)
                                   : malformed(p, f, "wrong wire type");
    }
    yyjson_mut_val *v = NULL;
    int r = value(p, f, x, &v);
    if (r < 0 || v == NULL) {
        return r;
    }
    bool keep = (f->flags & (FIELD_F_OPT | FIELD_F_EITHER)) ||
                ((f->flags & FIELD_F_KEEP_EMPTY) && f->type != FIELD_OBJECT);
    if (!keep && is_zero(v)) {
        return 0;
    }
    return json_mset(p->d, obj, str_of(f->json), v);
}

/* Entries were only appended: looking each up would take a hostile map's length squared. */
static int check_keys(struct pbread *p, const struct schema *s, uint32_t in, yyjson_mut_val *obj) {
    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->fields[i];
        if (f->shape != FIELD_MAP || f->proto_in != in) {
            continue;
        }
        struct map seen;
        void *old = NULL;
        int r = 0;
        map_init(&seen);
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(json_mget(obj, str_of(f->json)));
        yyjson_mut_val *k;
        while (r == 0 && old == NULL && (k = yyjson_mut_obj_iter_next(&it)) != NULL) {
            r = map_put(&seen, json_mstr(k), k, &old);
        }
        map_release(&seen);
        if (r < 0 || old != NULL) {
            return r < 0 ? r : malformed(p, f, "a key stands twice");
        }
    }
    return 0;
}

static int message(struct pbread *p, const struct schema *s, struct str bytes, uint32_t in,
                   yyjson_mut_val *obj) {
    struct pb r = pb_of(bytes);
    struct pb_field x;
    int code = 0;
    if (++p->depth > LIMIT_JSON_DEPTH) {
        return err_set(p->err, ERR_TOO_LARGE, "protobuf: nested too deeply");
    }
    while (code == 0 && (code = count_in(p)) == 0 && pb_next(&r, &x)) {
        const struct field *f = schema_find_proto(s, x.number, in);
        if (f != NULL) {
            code = field(p, f, &x, obj);
        } else if (in < 16 && x.number < 16 && x.wire == PB_BYTES &&
                   schema_embeds_proto(s, in << 4 | x.number)) {
            code = message(p, s, x.bytes, in << 4 | x.number, obj);
        }
    }
    p->depth--;
    if (code == 0 && r.bad != NULL) {
        return malformed(p, NULL, r.bad);
    }
    return code < 0 ? code : check_keys(p, s, in, obj);
}

/* A table has the tags of all its fields or of none; read without them a body would be an empty object. */
bool codec_has_protobuf(const struct schema *s) {
    for (size_t i = 0; i < s->n; i++) {
        if (s->fields[i].proto == 0 && strcmp(s->fields[i].json, "apiVersion") != 0 &&
            strcmp(s->fields[i].json, "kind") != 0) {
            return false;
        }
    }
    return s->custom == NULL;
}

int codec_from_protobuf(struct str body, struct arena *a, yyjson_mut_doc **ret,
                        const struct kind **ret_kind, const struct kind_version **ret_version,
                        struct err *err) {
    struct pb_envelope env;
    int r = pb_envelope(body, &env, err);
    if (r < 0) {
        return r;
    }
    const struct kind *k = kind_by_api_version(env.api_version, env.kind);
    struct str group, version;
    if (!str_cut(env.api_version, '/', &group, &version)) {
        version = env.api_version;
    }
    const struct kind_version *kv = k ? kind_version(k, version) : NULL;
    if (kv == NULL && k == &kind_delete_options) {
        kv = &k->versions[0]; /* encoded in the group of whatever is deleted */
    }
    if (kv == NULL) {
        return err_set(err, ERR_BAD_REQUEST, "no kind \"%.*s\" is registered for version \"%.*s\"",
                       STR_ARG(env.kind), STR_ARG(env.api_version));
    }
    if (!codec_has_protobuf(kv->schema)) {
        return err_set(err, ERR_MEDIA_TYPE,
                       "%.*s %.*s has no protobuf form - accepted media types include: "
                       "application/json, application/yaml",
                       STR_ARG(env.api_version), STR_ARG(env.kind));
    }
    struct pbread p = {.d = json_mut_new(a), .a = a, .err = err};
    yyjson_mut_val *obj = p.d ? yyjson_mut_obj(p.d) : NULL;
    if (obj == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    yyjson_mut_doc_set_root(p.d, obj);
    json_mset_str(p.d, obj, "kind", env.kind);
    json_mset_str(p.d, obj, "apiVersion", env.api_version);
    r = message(&p, kv->schema, env.raw, 0, obj);
    if (r < 0) {
        return r;
    }
    if (arena_ok(a) < 0) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    *ret = p.d;
    *ret_kind = k;
    *ret_version = kv;
    return 0;
}
