/* codec_encode: see codec_encode.h. */
#include "api/schema/codec_encode.h"

#include "api/tables/view_meta.h"
#include "api/walk/value.h"
#include "api/walk/walk.h"
#include "wire/json/json_merge.h"
#include "wire/text/time.h"

#define LOCK_HEAD "{\"metadata\":{\"resourceVersion\":\""

static void write_value(const struct field *f, const char *v, struct buf *out);
static bool patch_views(const struct schema *s, const char *was, const char *want, bool some,
                        struct buf *out);

static struct value_span span_of(const char *member) {
    return *(const struct value_span *)(const void *)member;
}

static yyjson_val *json_of(const char *member) {
    return *(yyjson_val *const *)(const void *)member;
}

static struct str key_of(const char *item) {
    return *(const struct str *)(const void *)item;
}

/* A member's name; the names of tables need no escapes. */
static void write_name(const struct field *f, bool *some, struct buf *out) {
    if (*some) {
        buf_ch(out, ',');
    }
    *some = true;
    buf_ch(out, '"');
    buf_add(out, f->json, f->json_n ? f->json_n : strlen(f->json));
    buf_add(out, "\":", 2);
}

static void write_key(struct str key, bool *some, struct buf *out) {
    if (*some) {
        buf_ch(out, ',');
    }
    *some = true;
    buf_json(out, key);
    buf_ch(out, ':');
}

/* ---- one view ---- */

static void write_quantity(struct quantity q, struct buf *out) {
    char text[QUANTITY_TEXT_MAX];
    buf_json(out, quantity_text(q, text));
}

static void write_instant(const struct field *f, int64_t ns, struct buf *out) {
    char text[TIME_TEXT_MAX];
    char duration[DURATION_TEXT_MAX];
    buf_json(out, f->type == FIELD_DURATION    ? duration_text(ns, duration)
                  : f->type == FIELD_MICROTIME ? time_text_micro(ns, text)
                                               : time_text(ns, text));
}

static bool is_int32(struct str s) {
    struct str digits = str_starts(s, STR("-")) ? str_from(s.p + 1, s.n - 1) : s;
    int64_t n = 0;
    if (digits.n == 0 || digits.n > 10 || (digits.p[0] == '0' && s.n > 1)) {
        return false;
    }
    for (size_t i = 0; i < digits.n; i++) {
        if (digits.p[i] < '0' || digits.p[i] > '9') {
            return false;
        }
        n = n * 10 + (digits.p[i] - '0');
    }
    return n <= INT32_MAX;
}

static void write_int_or_string(struct str s, struct buf *out) {
    if (is_int32(s)) {
        buf_str(out, s);
    } else {
        buf_json(out, s);
    }
}

/* Whole numbers without a point. */
static void write_double(double v, struct buf *out) {
    yyjson_val number = {0};
    if (v > -1e15 && v < 1e15 && v == (double)(int64_t)v) {
        buf_i64(out, (int64_t)v);
    } else {
        yyjson_set_real(&number, v);
        json_write(out, &number);
    }
}

static void write_json(yyjson_val *v, struct buf *out) {
    if (v) {
        json_write(out, v);
    } else {
        buf_c(out, "null");
    }
}

static void write_view(const struct schema *s, const char *view, struct buf *out) {
    buf_ch(out, '{');
    (void)patch_views(s, NULL, view, false, out);
    buf_ch(out, '}');
}

static void write_object(const struct field *f, const char *v, struct buf *out) {
    if (!value_is_view(f)) {
        write_json(json_of(v), out);
    } else if (f->shape == FIELD_LIST) {
        write_view(f->of, v, out);
    } else if (*(char *const *)(const void *)v) {
        write_view(f->of, *(char *const *)(const void *)v, out);
    } else {
        buf_c(out, "null");
    }
}

static void write_value(const struct field *f, const char *v, struct buf *out) {
    const void *p = v;
    bool opt = f->member_opt;
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
    case FIELD_BYTES:
        buf_json(out, *(const struct str *)p);
        return;
    case FIELD_BOOL:
        buf_c(out, (opt ? ((const struct opt_bool *)p)->v : *(const bool *)p) ? "true" : "false");
        return;
    case FIELD_INT32:
        buf_i64(out, opt ? ((const struct opt_i32 *)p)->v : *(const int32_t *)p);
        return;
    case FIELD_INT64:
        buf_i64(out, opt ? ((const struct opt_i64 *)p)->v : *(const int64_t *)p);
        return;
    case FIELD_DOUBLE:
        write_double(opt ? ((const struct opt_double *)p)->v : *(const double *)p, out);
        return;
    case FIELD_QUANTITY:
        write_quantity(opt ? ((const struct opt_quantity *)p)->v : *(const struct quantity *)p,
                       out);
        return;
    case FIELD_TIME:
    case FIELD_MICROTIME:
    case FIELD_DURATION:
        write_instant(f, *(const int64_t *)p, out);
        return;
    case FIELD_INT_OR_STRING:
        write_int_or_string(*(const struct str *)p, out);
        return;
    case FIELD_OBJECT:
        write_object(f, v, out);
        return;
    case FIELD_ANY:
        write_json(json_of(v), out);
        return;
    }
}

static void write_list(const struct field *f, struct value_span l, struct buf *out) {
    size_t stride = value_stride(f);
    buf_ch(out, '[');
    for (size_t i = 0; i < l.n; i++) {
        if (i > 0) {
            buf_ch(out, ',');
        }
        write_value(f, l.v + i * stride, out);
    }
    buf_ch(out, ']');
}

static void write_map(const struct field *f, struct value_span m, struct buf *out) {
    size_t stride = value_stride(f);
    bool some = false;
    buf_ch(out, '{');
    for (size_t i = 0; i < m.n; i++) {
        const char *item = m.v + i * stride;
        write_key(key_of(item), &some, out);
        write_value(f, value_of_item(item), out);
    }
    buf_ch(out, '}');
}

static void write_member(const struct field *f, const char *v, struct buf *out) {
    if (f->shape == FIELD_LIST) {
        write_list(f, span_of(v), out);
    } else if (f->shape == FIELD_MAP) {
        write_map(f, span_of(v), out);
    } else {
        write_value(f, v, out);
    }
}

/* Whether a member is written at all: it is set, or its kind's objects have it in any case. */
static bool is_written(const struct field *f, const char *v) {
    if (!value_absent(f, v)) {
        return true;
    }
    bool pointer = f->shape == FIELD_ONE && (f->type == FIELD_OBJECT || f->type == FIELD_ANY);
    bool instant = f->type == FIELD_TIME || f->type == FIELD_MICROTIME;
    bool opt = f->shape == FIELD_ONE && (f->flags & FIELD_F_OPT);
    return (f->flags & (FIELD_F_REQUIRED | FIELD_F_KEEP_EMPTY)) && !pointer && !instant && !opt;
}

/* ---- from one to another ---- */

static void patch_json(yyjson_val *was, yyjson_val *want, struct buf *out);

static void patch_json_members(yyjson_val *was, yyjson_val *want, struct buf *out) {
    yyjson_obj_iter now = yyjson_obj_iter_with(want), old = yyjson_obj_iter_with(was);
    yyjson_obj_iter all = now;
    yyjson_val *k;
    bool some = false;
    while ((k = yyjson_obj_iter_next(&all)) != NULL) {
        yyjson_val *v = yyjson_obj_iter_get_val(k);
        yyjson_val *before = yyjson_obj_iter_getn(&old, yyjson_get_str(k), yyjson_get_len(k));
        if (before == NULL || !json_equal(before, v)) {
            write_key(json_str(k), &some, out);
            patch_json(before, v, out);
        }
    }
    all = yyjson_obj_iter_with(was);
    while ((k = yyjson_obj_iter_next(&all)) != NULL) {
        if (yyjson_obj_iter_getn(&now, yyjson_get_str(k), yyjson_get_len(k)) == NULL) {
            write_key(json_str(k), &some, out);
            buf_c(out, "null");
        }
    }
}

/* Objects are merged, whatever else is replaced. */
static void patch_json(yyjson_val *was, yyjson_val *want, struct buf *out) {
    if (yyjson_is_obj(was) && yyjson_is_obj(want)) {
        buf_ch(out, '{');
        patch_json_members(was, want, out);
        buf_ch(out, '}');
    } else {
        write_json(want, out);
    }
}

/* The patch of one value that is there before and after, and differs. */
static void patch_value(const struct field *f, const char *was, const char *want, struct buf *out) {
    if (f->type == FIELD_ANY || (f->type == FIELD_OBJECT && !value_is_view(f))) {
        patch_json(json_of(was), json_of(want), out);
    } else if (f->type == FIELD_OBJECT) {
        buf_ch(out, '{');
        (void)patch_views(f->of, *(char *const *)(const void *)was,
                          *(char *const *)(const void *)want, false, out);
        buf_ch(out, '}');
    } else {
        write_value(f, want, out);
    }
}

static void patch_map(const struct field *f, struct value_span was, struct value_span want,
                      struct buf *out) {
    size_t stride = value_stride(f), at = 0;
    bool some = false;
    buf_ch(out, '{');
    for (size_t i = 0; i < want.n; i++) {
        const char *item = want.v + i * stride, *v = value_of_item(item);
        const char *before = value_in_map(f, was, key_of(item), &at);
        if (before == NULL) {
            write_key(key_of(item), &some, out);
            write_value(f, v, out);
        } else if (!value_one_same(f, before, v)) {
            write_key(key_of(item), &some, out);
            patch_value(f, before, v, out);
        }
    }
    at = 0;
    for (size_t i = 0; i < was.n; i++) {
        struct str key = key_of(was.v + i * stride);
        if (value_in_map(f, want, key, &at) == NULL) {
            write_key(key, &some, out);
            buf_c(out, "null");
        }
    }
    buf_ch(out, '}');
}

static void patch_member(const struct field *f, const char *was, const char *want, bool *some,
                         struct buf *out) {
    bool wanted = is_written(f, want);
    write_name(f, some, out);
    if (!wanted) {
        buf_c(out, "null");
    } else if (value_absent(f, was) || f->shape == FIELD_LIST) {
        write_member(f, want, out);
    } else if (f->shape == FIELD_MAP) {
        patch_map(f, span_of(was), span_of(want), out);
    } else {
        patch_value(f, was, want, out);
    }
}

/* One row: whether anything was written for it. */
static bool patch_row(const struct field *f, const char *was, const char *want, bool *some,
                      struct buf *out) {
    if (f->member < 0 || (f->flags & FIELD_F_WRITE_ONLY)) {
        return false;
    }
    want += f->member;
    if (was == NULL) {
        if (is_written(f, want)) {
            write_name(f, some, out);
            write_member(f, want, out);
            return true;
        }
        return false;
    }
    was += f->member;
    if (value_same(f, was, want)) {
        return false;
    }
    patch_member(f, was, want, some, out);
    return true;
}

/* The members that differ; all of `want` that are written when `was` is NULL. Whether there are any. */
static bool patch_views(const struct schema *s, const char *was, const char *want, bool some,
                        struct buf *out) {
    bool any = false;
    for (size_t i = 0; i < s->n; i++) {
        any |= patch_row(&s->fields[i], was, want, &some, out);
    }
    return any;
}

void codec_encode(const struct schema *s, const void *view, struct buf *out) {
    write_view(s, view, out);
}

void codec_encode_object(const struct kind *k, const void *view, struct buf *out) {
    codec_encode_object_as(k, kind_storage(k)->schema, view, out);
}

void codec_encode_object_as(const struct kind *k, const struct schema *s, const void *view,
                            struct buf *out) {
    buf_c(out, "{\"apiVersion\":");
    buf_json(out, str_of(kind_api_version(k)));
    buf_c(out, ",\"kind\":");
    buf_json(out, str_of(k->kind));
    (void)patch_views(s, NULL, view, true, out);
    buf_ch(out, '}');
}

void codec_encode_list(const struct schema *s, const void *views, size_t n, struct buf *out) {
    buf_ch(out, '[');
    for (size_t i = 0; i < n; i++) {
        codec_list_item(s, (const char *)views + i * s->size, out);
    }
    buf_ch(out, ']');
}

void codec_list_begin_at(const char *kind, struct str group, struct str version, uint64_t rv,
                         size_t remaining, struct buf *out) {
    buf_c(out, "{\"kind\":");
    buf_json(out, str_of(kind));
    buf_c(out, ",\"apiVersion\":\"");
    buf_str(out, group);
    buf_ch(out, '/');
    buf_str(out, version);
    buf_c(out, "\",\"metadata\":{");
    if (rv) {
        buf_f(out, "\"resourceVersion\":\"%llu\"", (unsigned long long)rv);
    }
    if (remaining) {
        buf_f(out, "%s\"remainingItemCount\":%zu", rv ? "," : "", remaining);
    }
    buf_c(out, "},\"items\":[");
}

void codec_list_begin(const char *kind, struct str group, struct str version, struct buf *out) {
    codec_list_begin_at(kind, group, version, 0, 0, out);
}

static void between(struct buf *out) {
    if (out->n > 0 && out->p[out->n - 1] != '[') {
        buf_ch(out, ',');
    }
}

void codec_list_item(const struct schema *s, const void *view, struct buf *out) {
    between(out);
    write_view(s, view, out);
}

void codec_list_object(const struct kind *k, const void *view, struct buf *out) {
    between(out);
    codec_encode_object(k, view, out);
}

void codec_list_end(struct buf *out) {
    buf_c(out, "]}");
}

/* ---- locks ---- */

static void write_lock(const struct codec_lock *lock, struct buf *out) {
    if (lock->rv) {
        buf_c(out, LOCK_HEAD);
        buf_u64(out, lock->rv);
        buf_ch(out, '"');
    } else {
        buf_c(out, "{\"metadata\":{");
    }
    if (!str_empty(lock->uid)) {
        buf_c(out, lock->rv ? ",\"uid\":" : "\"uid\":");
        buf_json(out, lock->uid);
    }
}

/* The metadata of a view, which may be NULL as its pointer may. */
static const struct meta *meta_of(const struct field *metadata, const char *view) {
    return view ? *(struct meta *const *)(const void *)(view + metadata->member) : NULL;
}

static bool patch_locked(const struct schema *s, const char *was, const char *want,
                         const struct codec_lock *lock, struct buf *out) {
    static const struct meta none;
    size_t hint = 0;
    const struct field *metadata = schema_find(s, STR("metadata"), &hint);
    const struct meta *old = meta_of(metadata, was), *new = meta_of(metadata, want);
    bool any = false, some = true;
    write_lock(lock, out);
    if (new) {
        any = patch_views(&schema_meta, (const char *)(old ? old : &none), (const char *)new, true,
                          out);
    }
    buf_ch(out, '}');
    for (size_t i = 0; i < s->n; i++) {
        any |= &s->fields[i] != metadata && patch_row(&s->fields[i], was, want, &some, out);
    }
    return any;
}

bool codec_patch(const struct schema *s, const void *was, const void *want,
                 const struct codec_lock *lock, struct buf *out) {
    size_t from = out->n;
    bool any;
    if (lock && (lock->rv || !str_empty(lock->uid))) {
        any = patch_locked(s, was, want, lock, out);
    } else {
        buf_ch(out, '{');
        any = patch_views(s, was, want, false, out);
    }
    if (any) {
        buf_ch(out, '}');
    } else {
        out->n = from;
    }
    return any;
}

bool codec_patch_tree(yyjson_val *was, yyjson_mut_val *want, bool spec,
                      const struct codec_lock *lock, struct buf *out) {
    size_t from = out->n;
    bool any = false, some = lock->rv || !str_empty(lock->uid);
    write_lock(lock, out);
    if (!spec) {
        any = json_merge_members(json_get(was, STR("metadata")), json_mget(want, STR("metadata")),
                                 NULL, &some, out);
    }
    buf_ch(out, '}');
    some = true;
    if (spec && !json_same(json_get(was, STR("spec")), json_mget(want, STR("spec")))) {
        bool first = false;
        buf_c(out, ",\"spec\":{");
        any = json_merge_members(json_get(was, STR("spec")), json_mget(want, STR("spec")), NULL,
                                 &first, out);
        buf_ch(out, '}');
    } else if (!spec) {
        any |= json_merge_members(was, want, "metadata", &some, out);
    }
    buf_ch(out, '}');
    out->n = any ? out->n : from;
    return any;
}

bool codec_patch_is_locked(struct str patch) {
    return str_starts(patch, STR(LOCK_HEAD));
}
