/*
 * cel_value: values of expressions: where they come from, how they compare, what is in them. See cel_tree.h.
 *
 * What lies in the document stays there; a member gets a value when it is asked for, by its schema.
 */
#include <math.h>
#include <stdarg.h>

#include "api/cel/cel_tree.h"
#include "api/walk/crd_node.h"
#include "base/limits.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

struct cel_value cel_error(struct cel_run *r, const char *fmt, ...) {
    struct buf b;
    va_list ap;
    buf_init(&b, 4096);
    va_start(ap, fmt);
    buf_vf(&b, fmt, ap);
    va_end(ap);
    struct cel_value v = {.type = CEL_V_ERROR};
    v.s = arena_str(r->in->arena, buf_view(&b));
    buf_release(&b);
    return v;
}

bool cel_spend(struct cel_run *r, size_t n) {
    r->steps += n;
    r->in->steps += n;
    r->spent |= r->steps > LIMIT_CEL_STEPS || r->in->steps > r->in->limit;
    return !r->spent;
}

size_t cel_left(const struct cel_run *r) {
    size_t own = r->steps < LIMIT_CEL_STEPS ? LIMIT_CEL_STEPS - r->steps : 0;
    size_t all = r->in->steps < r->in->limit ? r->in->limit - r->in->steps : 0;
    return own < all ? own : all;
}

static struct cel_value text_of(struct str s, struct str format) {
    struct cel_value v = cel_str(s);
    int64_t ns;
    if (str_is(format, "duration") && duration_parse(s, &ns, NULL) == 0) {
        v = (struct cel_value){.type = CEL_V_DURATION, .i = ns};
    } else if ((str_is(format, "date-time") || str_is(format, "datetime")) &&
               time_parse(s, &ns, NULL) == 0) {
        v = (struct cel_value){.type = CEL_V_TIMESTAMP, .i = ns};
    }
    return v;
}

struct cel_value cel_of_json(yyjson_val *j, const struct crd_node *n) {
    if (yyjson_is_bool(j)) {
        return cel_bool(yyjson_get_bool(j));
    }
    if (yyjson_is_num(j)) {
        bool real = n != NULL ? n->type == CRD_NUMBER : yyjson_is_real(j);
        bool whole = yyjson_is_real(j) && floor(yyjson_get_real(j)) == yyjson_get_real(j) &&
                     fabs(yyjson_get_real(j)) < 9e15;
        if (real || (yyjson_is_real(j) && !whole)) {
            return (struct cel_value){.type = CEL_V_DOUBLE, .d = yyjson_get_num(j)};
        }
        return cel_int(yyjson_is_real(j) ? (int64_t)yyjson_get_real(j) : yyjson_get_sint(j));
    }
    if (yyjson_is_str(j)) {
        return text_of(json_str(j), n != NULL && n->rules != NULL ? n->rules->format : STR(""));
    }
    if (yyjson_is_ctn(j)) {
        return (struct cel_value){.type = CEL_V_JSON, .node = n, .json = j};
    }
    return (struct cel_value){.type = CEL_V_NULL};
}

bool cel_is_list(struct cel_value v) {
    return v.type == CEL_V_LIST || (v.type == CEL_V_JSON && yyjson_is_arr(v.json));
}

/* Of a MAP or an OBJECT. */
static const struct cel_map *map_of(struct cel_value v) {
    return v.type == CEL_V_OBJECT ? &v.made->map : v.map;
}

static bool is_made(struct cel_value v) {
    return v.type == CEL_V_MAP || v.type == CEL_V_OBJECT;
}

bool cel_is_map(struct cel_value v) {
    return is_made(v) || (v.type == CEL_V_JSON && yyjson_is_obj(v.json));
}

size_t cel_size(struct cel_value v) {
    return v.type == CEL_V_LIST ? v.list->n : is_made(v) ? map_of(v)->n : yyjson_get_len(v.json);
}

struct cel_cursor cel_walk(struct cel_value v) {
    struct cel_cursor c = {.of = v, .n = cel_size(v)};
    if (v.type == CEL_V_JSON && yyjson_is_arr(v.json)) {
        c.arr = yyjson_arr_iter_with(v.json);
    } else if (v.type == CEL_V_JSON) {
        c.obj = yyjson_obj_iter_with(v.json);
    }
    return c;
}

bool cel_next(struct cel_cursor *c, struct cel_value *ret_key, struct cel_value *ret_value) {
    if (c->i >= c->n) {
        return false;
    }
    size_t i = c->i++;
    *ret_key = cel_int((int64_t)i);
    if (c->of.type == CEL_V_LIST) {
        *ret_value = c->of.list->v[i];
    } else if (is_made(c->of)) {
        *ret_key = map_of(c->of)->keys[i];
        *ret_value = map_of(c->of)->values[i];
    } else if (yyjson_is_arr(c->of.json)) {
        const struct crd_node *n = c->of.node != NULL ? c->of.node->items : NULL;
        *ret_value = cel_of_json(yyjson_arr_iter_next(&c->arr), n);
    } else {
        yyjson_val *k = yyjson_obj_iter_next(&c->obj);
        const struct crd_node *n = c->of.node != NULL ? crd_member(c->of.node, json_str(k)) : NULL;
        *ret_key = cel_str(json_str(k));
        *ret_value = cel_of_json(yyjson_obj_iter_get_val(k), n);
    }
    return true;
}

/* "my__dash__name" is "my-name": names that CEL cannot write, and its own words in underscores. */
struct str cel_plain_name(struct str s, char *buf, size_t cap) {
    static const struct {
        const char *code;
        char c;
    } codes[] = {{"__underscores__", '_'}, {"__dot__", '.'}, {"__dash__", '-'}, {"__slash__", '/'}};
    size_t n = 0;
    if (s.n >= cap || s.n < 5 || memcmp(s.p, "__", 2) == 0) {
        if (s.n > 4 && s.n < cap && str_starts(s, STR("__")) && str_ends(s, STR("__"))) {
            struct str inner = str_from(s.p + 2, s.n - 4);
            bool word = true;
            for (size_t i = 0; i < inner.n; i++) {
                word &= inner.p[i] >= 'a' && inner.p[i] <= 'z';
            }
            static const char *const own[] = {"underscores", "dot", "dash", "slash"};
            for (size_t i = 0; i < 4; i++) {
                word &= !str_is(inner, own[i]);
            }
            if (word) {
                return inner;
            }
        }
        if (s.n >= cap) {
            return s;
        }
    }
    for (size_t i = 0; i < s.n;) {
        size_t k = 0;
        while (k < sizeof(codes) / sizeof(codes[0]) &&
               !str_starts(str_skip(s, i), str_of(codes[k].code))) {
            k++;
        }
        if (k == sizeof(codes) / sizeof(codes[0])) {
            buf[n++] = s.p[i++];
            continue;
        }
        buf[n++] = codes[k].c;
        if (codes[k].c == '_') {
            buf[n++] = '_';
        }
        i += strlen(codes[k].code);
    }
    return str_from(buf, n);
}

/* Members are found by walking, eight for a step. */
bool cel_member(struct cel_run *r, struct cel_value v, struct str name, bool escaped,
                struct cel_value *ret) {
    char buf[512];
    if (!cel_spend(r, cel_size(v) / 8)) {
        return false;
    }
    if (is_made(v)) {
        const struct cel_map *m = map_of(v);
        for (size_t i = 0; i < m->n; i++) {
            if (m->keys[i].type == CEL_V_STRING && str_eq(m->keys[i].s, name)) {
                *ret = m->values[i];
                return true;
            }
        }
        return false;
    }
    bool named = escaped && v.node != NULL && v.node->n_props > 0;
    name = named ? cel_plain_name(name, buf, sizeof(buf)) : name;
    yyjson_val *j = json_get(v.json, name);
    const struct crd_node *n = v.node != NULL ? crd_member(v.node, name) : NULL;
    bool absent = j == NULL || (yyjson_is_null(j) && named);
    if (!absent) {
        *ret = cel_of_json(j, n);
    }
    return !absent;
}

struct cel_value cel_index(struct cel_run *r, struct cel_value v, struct cel_value at) {
    struct cel_value out = {0};
    if (cel_is_list(v)) {
        int64_t i = at.type == CEL_V_DOUBLE ? (int64_t)at.d : at.i;
        bool number = at.type == CEL_V_INT || at.type == CEL_V_UINT ||
                      (at.type == CEL_V_DOUBLE && floor(at.d) == at.d);
        if (!number) {
            return cel_error(r, "no such overload");
        }
        if (i < 0 || (uint64_t)i >= cel_size(v)) {
            return cel_error(r, "index out of bounds: %lld", (long long)i);
        }
        (void)cel_spend(r, 1 + (v.type == CEL_V_LIST ? 0 : cel_size(v) / 8));
        return v.type == CEL_V_LIST
                   ? v.list->v[i]
                   : cel_of_json(yyjson_arr_get(v.json, (size_t)i), v.node ? v.node->items : NULL);
    }
    if (!cel_is_map(v)) {
        return cel_error(r, "no such overload");
    }
    if (at.type == CEL_V_STRING) {
        return cel_member(r, v, at.s, false, &out)
                   ? out
                   : cel_error(r, "no such key: %.*s", STR_ARG(str_head(at.s, 256)));
    }
    const struct cel_map *m = is_made(v) ? map_of(v) : NULL;
    for (size_t i = 0; m != NULL && i < m->n; i++) {
        if (cel_equal(r, m->keys[i], at)) {
            return m->values[i];
        }
    }
    at = cel_string_of(r, at);
    return cel_error(r, "no such key: %.*s", STR_ARG(str_head(at.s, 256)));
}

static bool is_number(struct cel_value v) {
    return v.type == CEL_V_INT || v.type == CEL_V_UINT || v.type == CEL_V_DOUBLE;
}

static double as_double(struct cel_value v) {
    return v.type == CEL_V_DOUBLE ? v.d : v.type == CEL_V_UINT ? (double)v.u : (double)v.i;
}

static int order_of(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

static bool compare_numbers(struct cel_value a, struct cel_value b, int *ret) {
    if (a.type == CEL_V_DOUBLE || b.type == CEL_V_DOUBLE) {
        double x = as_double(a), y = as_double(b);
        *ret = x < y ? -1 : x > y;
        return x == x && y == y;
    }
    if (a.type == b.type) {
        *ret = a.type == CEL_V_INT ? order_of(a.i, b.i) : a.u < b.u ? -1 : a.u > b.u;
        return true;
    }
    bool flip = a.type == CEL_V_UINT;
    int64_t i = flip ? b.i : a.i;
    uint64_t u = flip ? a.u : b.u;
    int c = i < 0 || (uint64_t)i < u ? -1 : (uint64_t)i > u;
    *ret = flip ? -c : c;
    return true;
}

bool cel_compare(struct cel_value a, struct cel_value b, int *ret) {
    if (is_number(a) && is_number(b)) {
        return compare_numbers(a, b, ret);
    }
    if (a.type != b.type) {
        return false;
    }
    switch (a.type) {
    case CEL_V_BOOL:
        *ret = (int)a.b - (int)b.b;
        return true;
    case CEL_V_STRING:
    case CEL_V_BYTES:
        *ret = str_cmp(a.s, b.s);
        return true;
    case CEL_V_DURATION:
    case CEL_V_TIMESTAMP:
        *ret = order_of(a.i, b.i);
        return true;
    default:
        return false;
    }
}

bool cel_order(struct cel_run *r, struct cel_value a, struct cel_value b, int *ret) {
    bool texts = a.type == CEL_V_STRING && b.type == CEL_V_STRING;
    return cel_spend(r, texts ? a.s.n / 64 : 0) && cel_compare(a, b, ret);
}

static bool equal_lists(struct cel_run *r, struct cel_value a, struct cel_value b) {
    struct cel_cursor x = cel_walk(a), y = cel_walk(b);
    struct cel_value k, l, v, w;
    bool same = x.n == y.n;
    while (same && cel_next(&x, &k, &v) && cel_next(&y, &l, &w)) {
        same = cel_equal(r, v, w);
    }
    return same;
}

static bool equal_maps(struct cel_run *r, struct cel_value a, struct cel_value b) {
    struct cel_cursor x = cel_walk(a);
    struct cel_value k, v, w;
    bool same = x.n == cel_size(b);
    while (same && cel_next(&x, &k, &v)) {
        same = k.type == CEL_V_STRING && cel_member(r, b, k.s, false, &w) && cel_equal(r, v, w);
    }
    return same;
}

bool cel_equal(struct cel_run *r, struct cel_value a, struct cel_value b) {
    int c;
    if (!cel_spend(r, 1)) {
        return false;
    }
    if (cel_is_list(a) && cel_is_list(b)) {
        return equal_lists(r, a, b);
    }
    if (cel_is_map(a) && cel_is_map(b)) {
        return equal_maps(r, a, b);
    }
    if (a.type == CEL_V_STRING && b.type == CEL_V_STRING) {
        return cel_spend(r, a.s.n / 64) && str_eq(a.s, b.s);
    }
    if (a.type == CEL_V_QUANTITY && b.type == CEL_V_QUANTITY) {
        return quantity_cmp(a.q, b.q) == 0;
    }
    if (a.type == CEL_V_OPTIONAL && b.type == CEL_V_OPTIONAL) {
        return a.some == NULL || b.some == NULL ? a.some == b.some : cel_equal(r, *a.some, *b.some);
    }
    if (a.type == b.type && (a.type == CEL_V_TYPE || a.type == CEL_V_FORMAT)) {
        return str_eq(a.s, b.s);
    }
    if (a.type == b.type && (a.type == CEL_V_IP || a.type == CEL_V_CIDR)) {
        return cel_net_equal(a.net, b.net);
    }
    if (a.type == b.type && a.type == CEL_V_URL) {
        return cel_url_equal(a.url, b.url);
    }
    if (a.type == b.type && a.type == CEL_V_SEMVER) {
        return cel_semver_equal(a.semver, b.semver);
    }
    return (a.type == CEL_V_NULL && b.type == CEL_V_NULL) || (cel_compare(a, b, &c) && c == 0);
}

int cel_push(struct cel_run *r, struct cel_list *l, struct cel_value v) {
    if (!cel_spend(r, 1)) {
        return ERR_TOO_LARGE;
    }
    if (l->n == l->cap && ARENA_GROW(r->in->arena, l->v, l->cap) != 0) {
        return ERR_NOMEM;
    }
    l->v[l->n++] = v;
    return 0;
}

const char *cel_type_name(struct cel_value v) {
    static const char *const names[] = {
        [CEL_V_ERROR] = "error",
        [CEL_V_NULL] = "null_type",
        [CEL_V_BOOL] = "bool",
        [CEL_V_INT] = "int",
        [CEL_V_UINT] = "uint",
        [CEL_V_DOUBLE] = "double",
        [CEL_V_STRING] = "string",
        [CEL_V_DURATION] = "google.protobuf.Duration",
        [CEL_V_TIMESTAMP] = "google.protobuf.Timestamp",
        [CEL_V_QUANTITY] = "Quantity",
        [CEL_V_JSON] = "map",
        [CEL_V_LIST] = "list",
        [CEL_V_MAP] = "map",
        [CEL_V_OPTIONAL] = "optional_type",
        [CEL_V_TYPE] = "type",
        [CEL_V_BYTES] = "bytes",
        [CEL_V_VARIABLES] = "map",
        [CEL_V_URL] = "kubernetes.URL",
        [CEL_V_IP] = "net.IP",
        [CEL_V_CIDR] = "net.CIDR",
        [CEL_V_FORMAT] = "kubernetes.NamedFormat",
        [CEL_V_SEMVER] = "kubernetes.Semver",
        [CEL_V_ACCESS] = "kubernetes.authorization",
        [CEL_V_OBJECT] = "object",
    };
    return cel_is_list(v) ? "list" : names[v.type];
}

struct cel_value cel_string_of(struct cel_run *r, struct cel_value v) {
    struct arena *a = r->in->arena;
    char text[64];
    switch (v.type) {
    case CEL_V_STRING:
        return v;
    case CEL_V_BOOL:
        return cel_str(v.b ? STR("true") : STR("false"));
    case CEL_V_INT:
        return cel_str(arena_f(a, "%lld", (long long)v.i));
    case CEL_V_UINT:
        return cel_str(arena_f(a, "%llu", (unsigned long long)v.u));
    case CEL_V_DOUBLE:
        for (int digits = 1; digits <= 17; digits++) {
            (void)snprintf(text, sizeof(text), "%.*g", digits, v.d);
            if (strtod(text, NULL) == v.d) {
                break;
            }
        }
        return cel_str(arena_str(a, str_of(text)));
    case CEL_V_BYTES:
        return cel_str(v.s);
    case CEL_V_IP:
    case CEL_V_CIDR:
        return cel_str(cel_net_text(a, v.net));
    case CEL_V_DURATION:
        return cel_str(arena_f(a, "%.*gs", 17, (double)v.i / 1e9));
    case CEL_V_TIMESTAMP: {
        char time[TIME_TEXT_MAX];
        return cel_str(arena_str(a, time_text(v.i, time)));
    }
    case CEL_V_QUANTITY: {
        char q[QUANTITY_TEXT_MAX];
        return cel_str(arena_str(a, quantity_text(v.q, q)));
    }
    default:
        return cel_error(r, "no such overload");
    }
}
