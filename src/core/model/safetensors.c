/* safetensors: see safetensors.h. Sizes are computed with checked arithmetic: a header is anybody's. */
#include "core/model/safetensors.h"

#include <stdlib.h>

#include "base/limits.h"
#include "wire/json/json.h"

enum { DIMENSIONS_MAX = 32 };

int safetensors_bits(struct str dtype) {
    static const struct {
        const char *name;
        int bits;
    } known[] = {
        {"BOOL", 8},        {"U8", 8},          {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
        {"F8_E8M0", 8},     {"U16", 16},        {"I16", 16}, {"F16", 16},    {"BF16", 16},
        {"U32", 32},        {"I32", 32},        {"F32", 32}, {"U64", 64},    {"I64", 64},
        {"F64", 64},        {"C64", 64},        {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
        {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (str_is(dtype, known[i].name)) {
            return known[i].bits;
        }
    }
    return 0;
}

int safetensors_length(struct str prefix, int64_t file_bytes, int64_t *ret_header,
                       struct err *err) {
    uint64_t n = 0;

    if (prefix.n < SAFETENSORS_PREFIX) {
        return err_set(err, ERR_SYNTAX, "not a safetensors file: %zu bytes, expected at least %d",
                       prefix.n, SAFETENSORS_PREFIX);
    }
    for (int i = SAFETENSORS_PREFIX; i-- > 0;) {
        n = n << 8 | (unsigned char)prefix.p[i];
    }
    if (file_bytes < SAFETENSORS_PREFIX || n > (uint64_t)(file_bytes - SAFETENSORS_PREFIX)) {
        return err_set(
            err, ERR_SYNTAX,
            "not a safetensors file, or cut short: its header would have %llu bytes, the file has "
            "%lld",
            (unsigned long long)n, (long long)file_bytes);
    }
    if (n > LIMIT_MODEL_HEADER_BYTES) {
        return err_set(err, ERR_TOO_LARGE, "the header has %llu bytes; at most %d are read",
                       (unsigned long long)n, LIMIT_MODEL_HEADER_BYTES);
    }
    *ret_header = (int64_t)n;
    return 0;
}

/* ---- one tensor ---- */

static int fault(struct err *err, struct str name, const char *what) {
    struct str shown = str_head(name, name.n < 128 ? name.n : 128);
    return err_set(err, ERR_INVALID, "tensor \"%.*s\": %s", STR_ARG(shown), what);
}

static bool whole_number(yyjson_val *v, int64_t *ret) {
    if (!yyjson_is_uint(v) || yyjson_get_uint(v) > INT64_MAX) {
        return false;
    }
    *ret = (int64_t)yyjson_get_uint(v);
    return true;
}

/* The product of the dimensions; false: one is no number, there are too many, or it overflows. */
static bool count_elements(yyjson_val *shape, int64_t *ret) {
    int64_t n = 1, one;
    size_t i, max;
    yyjson_val *v;

    if (!yyjson_is_arr(shape) || yyjson_arr_size(shape) > DIMENSIONS_MAX) {
        return false;
    }
    yyjson_arr_foreach(shape, i, max, v) {
        if (!whole_number(v, &one) || __builtin_mul_overflow(n, one, &n)) {
            return false;
        }
    }
    *ret = n;
    return true;
}

static int read_tensor(struct str name, yyjson_val *v, struct safetensors_tensor *t,
                       struct err *err) {
    yyjson_val *at = json_get(v, STR("data_offsets"));
    int64_t to, bits;

    *t = (struct safetensors_tensor){.name = name, .dtype = json_str(json_get(v, STR("dtype")))};
    int width = safetensors_bits(t->dtype);
    if (!yyjson_is_obj(v) || width == 0) {
        return fault(err, name, "dtype is missing or none that the format has");
    }
    if (!count_elements(json_get(v, STR("shape")), &t->elements)) {
        return fault(err, name,
                     "shape: expected a list of whole numbers whose product fits 63 bits");
    }
    if (yyjson_arr_size(at) != 2 || !whole_number(yyjson_arr_get(at, 0), &t->from) ||
        !whole_number(yyjson_arr_get(at, 1), &to) || to < t->from) {
        return fault(err, name, "data_offsets: expected [from, to] with from <= to");
    }
    t->bytes = to - t->from;
    if (__builtin_mul_overflow(t->elements, (int64_t)width, &bits) || bits % 8 != 0 ||
        bits / 8 != t->bytes) {
        return fault(err, name, "data_offsets do not hold what shape and dtype need");
    }
    return 0;
}

/* ---- all of them ---- */

static int by_offset(const void *x, const void *y) {
    const struct safetensors_tensor *a = x, *b = y;
    int c = (a->from > b->from) - (a->from < b->from);
    c = c != 0 ? c : (a->bytes > b->bytes) - (a->bytes < b->bytes);
    return c != 0 ? c : str_cmp(a->name, b->name);
}

static int by_name(const void *x, const void *y) {
    const struct safetensors_tensor *const *a = x, *const *b = y;
    return str_cmp((*a)->name, (*b)->name);
}

static int check_names(struct arena *a, const struct safetensors *s, struct err *err) {
    const struct safetensors_tensor **v =
        ARENA_ARRAY(a, const struct safetensors_tensor *, s->n + 1);

    if (v == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for %zu tensors", s->n);
    }
    for (size_t i = 0; i < s->n; i++) {
        v[i] = &s->v[i];
    }
    qsort(v, s->n, sizeof(struct safetensors_tensor *), by_name);
    for (size_t i = 1; i < s->n; i++) {
        if (str_eq(v[i - 1]->name, v[i]->name)) {
            return fault(err, v[i]->name, "stands twice");
        }
    }
    return 0;
}

/* Sums up, and checks that the tensors follow one another without a gap. */
static int check_bytes(struct safetensors *s, int64_t data_bytes, struct err *err) {
    for (size_t i = 0; i < s->n; i++) {
        const struct safetensors_tensor *t = &s->v[i];
        if (t->from != s->bytes) {
            return fault(err, t->name,
                         t->from < s->bytes ? "its bytes are another's as well"
                                            : "bytes that are no tensor's lie before it");
        }
        if (__builtin_add_overflow(s->bytes, t->bytes, &s->bytes) ||
            __builtin_add_overflow(s->elements, t->elements, &s->elements)) {
            return fault(err, t->name, "sizes overflow");
        }
    }
    if (data_bytes >= 0 && s->bytes != data_bytes) {
        return err_set(err, ERR_INVALID, "tensors have %lld bytes, the file %lld: it is %s",
                       (long long)s->bytes, (long long)data_bytes,
                       s->bytes > data_bytes ? "cut short" : "longer than its header says");
    }
    return 0;
}

int safetensors_read(struct arena *a, struct str header, int64_t data_bytes,
                     struct safetensors *ret, struct err *err) {
    struct safetensors s = {0};
    yyjson_doc *doc = NULL;
    yyjson_val *key, *v;
    size_t i, max;

    if (header.n == 0 || header.p[0] != '{') {
        return err_set(err, ERR_SYNTAX, "a safetensors header begins with '{'");
    }
    int code = json_parse(a, header, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    size_t most = yyjson_obj_size(root);
    if (most > LIMIT_MODEL_TENSORS) {
        return err_set(err, ERR_TOO_LARGE, "%zu tensors; at most %d", most, LIMIT_MODEL_TENSORS);
    }
    s.v = ARENA_ARRAY(a, struct safetensors_tensor, most + 1);
    if (s.v == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for %zu tensors", most);
    }
    yyjson_obj_foreach(root, i, max, key, v) {
        struct str name = json_str(key);
        if (str_is(name, "__metadata__")) {
            continue;
        }
        code = read_tensor(name, v, &s.v[s.n++], err);
        if (code != 0) {
            return code;
        }
    }
    qsort(s.v, s.n, sizeof(*s.v), by_offset);
    code = check_bytes(&s, data_bytes, err);
    code = code != 0 ? code : check_names(a, &s, err);
    if (code == 0) {
        *ret = s;
    }
    return code;
}

/* ---- the index of a model in parts ---- */

static int texts(const void *x, const void *y) {
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

int safetensors_index_read(struct arena *a, struct str json, struct safetensors_index *ret,
                           struct err *err) {
    struct safetensors_index x = {0};
    yyjson_doc *doc = NULL;
    yyjson_val *key, *v;
    size_t i, max, kept = 0;

    int code = json_parse(a, json, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc), *map = json_get(root, STR("weight_map"));
    size_t most = yyjson_obj_size(map);
    if (!yyjson_is_obj(map) || most > LIMIT_MODEL_TENSORS) {
        return err_set(err, ERR_INVALID,
                       "weight_map: expected an object from tensors to files, of at most %d",
                       LIMIT_MODEL_TENSORS);
    }
    x.files = ARENA_ARRAY(a, struct str, most + 1);
    if (x.files == NULL) {
        return err_set(err, ERR_NOMEM, "no memory for %zu names", most);
    }
    yyjson_obj_foreach(map, i, max, key, v) {
        x.files[x.n] = json_str(v);
        if (x.files[x.n++].n == 0) {
            return err_set(err, ERR_INVALID, "weight_map: expected names of files");
        }
    }
    qsort(x.files, x.n, sizeof(*x.files), texts);
    for (size_t k = 0; k < x.n; k++) {
        if (kept == 0 || !str_eq(x.files[kept - 1], x.files[k])) {
            x.files[kept++] = x.files[k];
        }
    }
    x.n = kept;
    x.total_bytes = json_i64_at(root, "metadata.total_size", 0);
    x.total_bytes = x.total_bytes < 0 ? 0 : x.total_bytes;
    *ret = x;
    return 0;
}
