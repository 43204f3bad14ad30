/* value: see value.h. */
#include "api/walk/value.h"

#include "api/tables/view_meta.h"

bool value_is_view(const struct field *f) {
    return f->type == FIELD_OBJECT && f->of->size > 0;
}

static size_t value_size(const struct field *f) {
    bool pointer = f->type == FIELD_OBJECT && (f->shape == FIELD_MAP || f->of->size == 0);
    return pointer ? sizeof(void *) : f->member_size;
}

size_t value_stride(const struct field *f) {
    size_t n = value_size(f);
    return f->shape == FIELD_MAP ? sizeof(struct str) + ((n + 7) & ~(size_t)7) : n;
}

bool value_absent(const struct field *f, const char *member) {
    const void *p = member;
    if (f->shape != FIELD_ONE) {
        return ((const struct value_span *)p)->n == 0;
    }
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
    case FIELD_BYTES:
    case FIELD_INT_OR_STRING:
        return ((const struct str *)p)->n == 0;
    case FIELD_BOOL: /* of an opt_bool: `set` */
        return !*(const bool *)p;
    case FIELD_INT32:
        return f->member_opt ? !((const struct opt_i32 *)p)->set : *(const int32_t *)p == 0;
    case FIELD_INT64:
        return f->member_opt ? !((const struct opt_i64 *)p)->set : *(const int64_t *)p == 0;
    case FIELD_DOUBLE:
        return f->member_opt ? !((const struct opt_double *)p)->set : *(const double *)p == 0;
    case FIELD_QUANTITY:
        return f->member_opt ? !((const struct opt_quantity *)p)->set
                             : quantity_is_zero(*(const struct quantity *)p);
    case FIELD_TIME:
    case FIELD_MICROTIME:
    case FIELD_DURATION:
        return *(const int64_t *)p == 0;
    case FIELD_OBJECT:
    case FIELD_ANY:
        return *(void *const *)p == NULL;
    }
    return true;
}

static bool quantity_same(const struct field *f, const void *a, const void *b) {
    if (!f->member_opt) {
        return quantity_cmp(*(const struct quantity *)a, *(const struct quantity *)b) == 0;
    }
    const struct opt_quantity *x = a, *y = b;
    return x->set == y->set && (!x->set || quantity_cmp(x->v, y->v) == 0);
}

static bool int_same(const struct field *f, const void *a, const void *b) {
    if (f->type == FIELD_INT32) {
        const struct opt_i32 *x = a, *y = b;
        return f->member_opt ? x->set == y->set && (!x->set || x->v == y->v)
                             : *(const int32_t *)a == *(const int32_t *)b;
    }
    const struct opt_i64 *x = a, *y = b;
    return f->member_opt ? x->set == y->set && (!x->set || x->v == y->v)
                         : *(const int64_t *)a == *(const int64_t *)b;
}

static bool bool_same(const struct field *f, const void *a, const void *b) {
    const struct opt_bool *x = a, *y = b;
    return f->member_opt ? x->set == y->set && (!x->set || x->v == y->v)
                         : *(const bool *)a == *(const bool *)b;
}

static bool double_same(const struct field *f, const void *a, const void *b) {
    const struct opt_double *x = a, *y = b;
    return f->member_opt ? x->set == y->set && (!x->set || x->v == y->v)
                         : *(const double *)a == *(const double *)b;
}

static bool json_same(yyjson_val *a, yyjson_val *b) {
    return a == b || (a && b && json_equal(a, b));
}

bool value_one_same(const struct field *f, const char *a, const char *b) {
    const void *p = a, *q = b;
    switch ((enum field_type)f->type) {
    case FIELD_STRING:
    case FIELD_BYTES:
    case FIELD_INT_OR_STRING:
        return str_eq(*(const struct str *)p, *(const struct str *)q);
    case FIELD_BOOL:
        return bool_same(f, p, q);
    case FIELD_INT32:
    case FIELD_INT64:
        return int_same(f, p, q);
    case FIELD_DOUBLE:
        return double_same(f, p, q);
    case FIELD_QUANTITY:
        return quantity_same(f, p, q);
    case FIELD_TIME:
    case FIELD_MICROTIME:
    case FIELD_DURATION:
        return *(const int64_t *)p == *(const int64_t *)q;
    case FIELD_OBJECT:
        if (value_is_view(f)) {
            bool inside = f->shape == FIELD_LIST; /* the element is the view, not a pointer to it */
            const char *x = inside ? a : *(char *const *)p, *y = inside ? b : *(char *const *)q;
            return x == y || (x && y && value_views_same(f->of, x, y));
        }
        return json_same(*(yyjson_val *const *)p, *(yyjson_val *const *)q);
    case FIELD_ANY:
        return json_same(*(yyjson_val *const *)p, *(yyjson_val *const *)q);
    }
    return true;
}

static struct str key_at(const struct field *f, struct value_span map, size_t i) {
    return *(const struct str *)(const void *)(map.v + i * value_stride(f));
}

const char *value_in_map(const struct field *f, struct value_span map, struct str key, size_t *at) {
    for (size_t k = 0; k < map.n; k++) {
        size_t i = *at + k < map.n ? *at + k : *at + k - map.n;
        if (str_eq(key_at(f, map, i), key)) {
            *at = i + 1 < map.n ? i + 1 : 0;
            return value_of_item(map.v + i * value_stride(f));
        }
    }
    return NULL;
}

static bool spans_same(const struct field *f, struct value_span a, struct value_span b) {
    size_t stride = value_stride(f), at = 0;
    if (a.n != b.n) {
        return false;
    }
    if (a.v == b.v) {
        return true;
    }
    for (size_t i = 0; i < a.n; i++) {
        const char *x = a.v + i * stride, *y = b.v + i * stride;
        if (f->shape == FIELD_MAP) {
            x = value_of_item(x);
            y = value_in_map(f, b, key_at(f, a, i), &at);
        }
        if (y == NULL || !value_one_same(f, x, y)) {
            return false;
        }
    }
    return true;
}

bool value_same(const struct field *f, const char *a, const char *b) {
    if (f->shape == FIELD_ONE) {
        return value_one_same(f, a, b);
    }
    return spans_same(f, *(const struct value_span *)(const void *)a,
                      *(const struct value_span *)(const void *)b);
}

bool value_views_same(const struct schema *s, const void *a, const void *b) {
    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->fields[i];
        if (f->member >= 0 &&
            !value_same(f, (const char *)a + f->member, (const char *)b + f->member)) {
            return false;
        }
    }
    return true;
}

/* ---- one view over another ---- */

/* Bytes of a member in its view. */
static size_t member_bytes(const struct field *f) {
    return f->shape != FIELD_ONE                             ? sizeof(struct value_span)
           : f->type == FIELD_OBJECT || f->type == FIELD_ANY ? sizeof(void *)
                                                             : f->member_size;
}

static bool is_empty_text(const struct field *f, const char *v) {
    return f->type == FIELD_STRING && ((const struct str *)(const void *)v)->n == 0;
}

static bool lay_map(const struct field *f, struct value_span was, struct value_span want,
                    struct arena *a, struct value_span *ret) {
    size_t stride = value_stride(f), at = 0;
    char *v = arena_array(a, was.n + want.n + 1, stride);
    *ret = (struct value_span){v, 0};
    for (size_t i = 0; v && i < was.n; i++) {
        const char *item = was.v + i * stride;
        const char *over = value_in_map(f, want, key_at(f, was, i), &at);
        memcpy(v + ret->n++ * stride, over ? over - sizeof(struct str) : item, stride);
    }
    at = 0;
    for (size_t i = 0; v && i < want.n; i++) {
        const char *item = want.v + i * stride;
        if (value_in_map(f, was, key_at(f, want, i), &at) == NULL &&
            !is_empty_text(f, value_of_item(item))) {
            memcpy(v + ret->n++ * stride, item, stride);
        }
    }
    return v != NULL;
}

static bool lay_member(const struct field *f, const char *was, const char *want, struct arena *a,
                       char *to) {
    const struct value_span *x = (const void *)was, *y = (const void *)want;
    void *const *old = (const void *)was, *const *new = (const void *)want;
    if (value_absent(f, want)) {
        return true;
    }
    if (f->shape == FIELD_MAP) {
        return lay_map(f, *x, *y, a, (struct value_span *)(void *)to);
    }
    if (f->shape == FIELD_ONE && f->type == FIELD_OBJECT && value_is_view(f) && *old &&
        !(f->flags & FIELD_F_ATOMIC)) {
        void *made = value_lay(f->of, *old, *new, a);
        memcpy(to, &made, sizeof made);
        return made != NULL;
    }
    memcpy(to, want, member_bytes(f));
    return true;
}

void *value_lay(const struct schema *s, const void *was, const void *want, struct arena *a) {
    char *to = arena_alloc(a, s->size);
    bool ok = to != NULL;
    if (ok) {
        memcpy(to, was, s->size);
    }
    for (size_t i = 0; ok && i < s->n; i++) {
        const struct field *f = &s->fields[i];
        if (f->member >= 0) {
            ok = lay_member(f, (const char *)was + f->member, (const char *)want + f->member, a,
                            to + f->member);
        }
    }
    return ok ? to : NULL;
}
