/* check: causes and comparisons. */
#include "api/schema/check.h"
#include "base/limits.h"
#include "base/map.h"

enum { WALKED_MEMBERS = 64 };

/* Of what a guest made any number of things may be wrong; nobody reads more than so many. */
static bool is_full(const struct causes *c) {
    return c->n >= LIMIT_CAUSES || c->bytes >= LIMIT_CAUSES_BYTES;
}

static void add(struct causes *c, enum cause_type type, struct str field, struct str text) {
    c->bytes += field.n + text.n;
    if (c->n == c->cap && ARENA_GROW(c->arena, c->v, c->cap) != 0) {
        return; /* the arena remembers */
    }
    c->v[c->n++] = (struct cause){type, field, text};
}

void causes_add(struct causes *c, enum cause_type type, struct str field, const char *fmt, ...) {
    if (is_full(c)) {
        return;
    }
    struct buf b;
    va_list ap;
    buf_init(&b, 0);
    va_start(ap, fmt);
    buf_vf(&b, fmt, ap);
    va_end(ap);
    add(c, type, arena_str(c->arena, field), arena_str(c->arena, buf_view(&b)));
    buf_release(&b);
}

/* Adds "<head><tail>" at the path; releases the buf. */
static void finish(struct causes *c, enum cause_type type, const struct path *at, struct buf *b) {
    add(c, type, path_text(at, c->arena), arena_str(c->arena, buf_view(b)));
    buf_release(b);
}

void cause_required(struct causes *c, const struct path *at, const char *detail) {
    if (is_full(c)) {
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "Required value");
    if (detail != NULL) {
        buf_c(&b, ": ");
        buf_c(&b, detail);
    }
    finish(c, CAUSE_REQUIRED, at, &b);
}

#define CAUSE_TAIL(b_)                                                                             \
    do {                                                                                           \
        va_list ap;                                                                                \
        va_start(ap, fmt);                                                                         \
        buf_vf(&(b_), fmt, ap);                                                                    \
        va_end(ap);                                                                                \
    } while (0)

void cause_invalid(struct causes *c, const struct path *at, struct str value, const char *fmt,
                   ...) {
    if (is_full(c)) {
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "Invalid value: ");
    buf_json(&b, value);
    buf_c(&b, ": ");
    CAUSE_TAIL(b);
    finish(c, CAUSE_INVALID, at, &b);
}

void cause_invalid_json(struct causes *c, const struct path *at, yyjson_mut_val *v, const char *fmt,
                        ...) {
    if (is_full(c)) {
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "Invalid value: ");
    if (v != NULL) {
        json_write_mut(&b, v);
    } else {
        buf_c(&b, "null");
    }
    buf_c(&b, ": ");
    CAUSE_TAIL(b);
    finish(c, CAUSE_INVALID, at, &b);
}

void cause_forbidden(struct causes *c, const struct path *at, const char *fmt, ...) {
    if (is_full(c)) {
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "Forbidden: ");
    CAUSE_TAIL(b);
    finish(c, CAUSE_FORBIDDEN, at, &b);
}

void cause_type(struct causes *c, const struct path *at, const char *fmt, ...) {
    if (is_full(c)) {
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    CAUSE_TAIL(b);
    finish(c, CAUSE_TYPE, at, &b);
}

const char *check_type_name(yyjson_mut_val *v) {
    return yyjson_mut_is_obj(v)    ? "object"
           : yyjson_mut_is_arr(v)  ? "array"
           : yyjson_mut_is_str(v)  ? "string"
           : yyjson_mut_is_bool(v) ? "boolean"
           : yyjson_mut_is_int(v)  ? "integer"
           : yyjson_mut_is_num(v)  ? "number"
                                   : "null";
}

void cause_wrong_type(struct causes *c, const struct path *at, struct str want, const char *is) {
    struct str where = path_text(at, c->arena);
    cause_type(c, at, "Invalid value: \"%s\": %.*s in body must be of type %.*s: \"%s\"", is,
               STR_ARG(where), STR_ARG(want), is);
}

void cause_too_long(struct causes *c, const struct path *at, int64_t max) {
    causes_add(c, CAUSE_TOO_LONG, path_text(at, c->arena),
               "Too long: may not be more than %lld bytes", (long long)max);
}

void cause_too_many(struct causes *c, const struct path *at, int64_t n, int64_t max) {
    causes_add(c, CAUSE_TOO_MANY, path_text(at, c->arena),
               "Too many: %lld: must have at most %lld items", (long long)n, (long long)max);
}

void cause_too_few(struct causes *c, const struct path *at, yyjson_mut_val *v, int64_t n,
                   int64_t min, const char *what) {
    struct str where = path_text(at, c->arena);
    if (v != NULL) {
        cause_invalid_json(c, at, v, "%.*s in body should have at least %lld %s", STR_ARG(where),
                           (long long)min, what);
    } else {
        causes_add(c, CAUSE_INVALID, where,
                   "Invalid value: %lld: %.*s in body should have at least %lld %s", (long long)n,
                   STR_ARG(where), (long long)min, what);
    }
}

void cause_bound(struct causes *c, const struct path *at, yyjson_mut_val *v, const char *than,
                 struct str bound) {
    struct str where = path_text(at, c->arena);
    cause_invalid_json(c, at, v, "%.*s in body should be %s %.*s", STR_ARG(where), than,
                       STR_ARG(bound));
}

void cause_duplicate(struct causes *c, const struct path *at, struct str value) {
    if (is_full(c)) {
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "Duplicate value: ");
    buf_json(&b, value);
    finish(c, CAUSE_DUPLICATE, at, &b);
}

void cause_unsupported(struct causes *c, const struct path *at, struct str value,
                       const char *const *values) {
    if (is_full(c)) {
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    buf_c(&b, "Unsupported value: ");
    buf_json(&b, value);
    buf_c(&b, ": supported values: ");
    for (size_t i = 0; values[i] != NULL; i++) {
        buf_c(&b, i ? ", " : "");
        buf_json(&b, str_of(values[i]));
    }
    finish(c, CAUSE_NOT_SUPPORTED, at, &b);
}

bool check_size(yyjson_mut_val *list, const struct path *at, struct causes *c) {
    size_t n = yyjson_mut_get_len(list);
    if (yyjson_mut_is_ctn(list) && n > LIMIT_NAMED_ITEMS) {
        causes_add(c, CAUSE_TOO_MANY, path_text(at, c->arena),
                   "Too many: %zu: must have at most %d items", n, LIMIT_NAMED_ITEMS);
        return false;
    }
    return true;
}

static bool same_list(yyjson_mut_val *a, yyjson_val *b) {
    if (!yyjson_is_arr(b) || yyjson_mut_arr_size(a) != yyjson_arr_size(b)) {
        return false;
    }
    yyjson_mut_arr_iter x = yyjson_mut_arr_iter_with(a);
    yyjson_arr_iter y = yyjson_arr_iter_with(b);
    yyjson_mut_val *e;
    while ((e = yyjson_mut_arr_iter_next(&x)) != NULL) {
        if (!same_value(e, yyjson_arr_iter_next(&y))) {
            return false;
        }
    }
    return true;
}

/* By a table: in a hostile order walking takes the size squared. Without memory for it they count as different. */
static bool same_members(yyjson_mut_val *a, yyjson_val *b) {
    struct map members = {0};
    yyjson_obj_iter y = yyjson_obj_iter_with(b);
    yyjson_mut_obj_iter x = yyjson_mut_obj_iter_with(a);
    bool same = true;
    for (yyjson_val *k; same && (k = yyjson_obj_iter_next(&y)) != NULL;) {
        same = map_put(&members, json_str(k), k, NULL) == 0;
    }
    for (yyjson_mut_val *k; same && (k = yyjson_mut_obj_iter_next(&x)) != NULL;) {
        yyjson_val *other = map_get(&members, json_mstr(k));
        same = other != NULL &&
               same_value(yyjson_mut_obj_iter_get_val(k), yyjson_obj_iter_get_val(other));
    }
    map_release(&members);
    return same;
}

static bool same_object(yyjson_mut_val *a, yyjson_val *b) {
    if (!yyjson_is_obj(b) || yyjson_mut_obj_size(a) != yyjson_obj_size(b)) {
        return false;
    }
    if (yyjson_obj_size(b) > WALKED_MEMBERS) {
        return same_members(a, b);
    }
    yyjson_mut_obj_iter x = yyjson_mut_obj_iter_with(a);
    yyjson_obj_iter y = yyjson_obj_iter_with(b); /* searches on from the last hit */
    yyjson_mut_val *k;
    while ((k = yyjson_mut_obj_iter_next(&x)) != NULL) {
        struct str key = json_mstr(k);
        yyjson_val *v = yyjson_obj_iter_getn(&y, key.p, key.n);
        if (v == NULL || !same_value(yyjson_mut_obj_iter_get_val(k), v)) {
            return false;
        }
    }
    return true;
}

bool same_value(yyjson_mut_val *a, yyjson_val *b) {
    if (a == NULL || b == NULL) {
        return a == NULL && b == NULL;
    }
    if (yyjson_mut_is_obj(a)) {
        return same_object(a, b);
    }
    if (yyjson_mut_is_arr(a)) {
        return same_list(a, b);
    }
    if (yyjson_mut_is_str(a)) {
        return yyjson_is_str(b) && str_eq(json_mstr(a), json_str(b));
    }
    if (yyjson_mut_is_int(a) && yyjson_is_int(b)) {
        return yyjson_mut_get_sint(a) == yyjson_get_sint(b);
    }
    if (yyjson_mut_is_num(a)) {
        return yyjson_is_num(b) && yyjson_mut_get_num(a) == yyjson_get_num(b);
    }
    return yyjson_mut_get_type(a) == yyjson_get_type(b) &&
           yyjson_mut_get_bool(a) == yyjson_get_bool(b);
}

void check_immutable(struct causes *c, const struct path *at, yyjson_mut_val *now,
                     yyjson_val *old) {
    if (!same_value(now, old)) {
        cause_invalid_json(c, at, now, "field is immutable");
    }
}
