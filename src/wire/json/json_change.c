/* json: changing mutable documents, and comparing. See json.h. */
#include "base/map.h"
#include "wire/json/json.h"

enum { SMALL_OBJECT = 32 };

static struct str name_of(yyjson_mut_val *key) {
    return (struct str){unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
}

/* ---- changing ---- */

/* Length of the valid UTF-8 sequence at the start of p (at most n bytes), or 0. */
static size_t utf8_len(const unsigned char *p, size_t n) {
    static const struct {
        unsigned char first, last, low, high; /* first byte from..to; range of the second */
        size_t len;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (p[0] < 0x80) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (p[0] < forms[i].first || p[0] > forms[i].last) {
            continue;
        }
        bool ok = n >= forms[i].len && p[1] >= forms[i].low && p[1] <= forms[i].high;
        for (size_t k = 2; ok && k < forms[i].len; k++) {
            ok = (p[k] & 0xc0) == 0x80;
        }
        return ok ? forms[i].len : 0;
    }
    return 0;
}

static size_t utf8_valid(struct str s) {
    const unsigned char *p = (const unsigned char *)s.p;
    size_t i = 0;
    for (size_t len; i < s.n && (len = utf8_len(p + i, s.n - i)) > 0;) {
        i += len;
    }
    return i;
}

/* A copy of s as a string value; invalid UTF-8 (a program's output, say) becomes U+FFFD, so that the document can
 * always be written. */
static yyjson_mut_val *string_of(yyjson_mut_doc *d, struct str s) {
    size_t good = utf8_valid(s);
    if (good == s.n) {
        return yyjson_mut_strncpy(d, s.p ? s.p : "", s.n);
    }
    struct buf b;
    buf_init(&b, 0);
    while (s.n) {
        buf_add(&b, s.p, good);
        s = str_skip(s, good);
        if (s.n) {
            buf_c(&b, "\xef\xbf\xbd");
            s = str_skip(s, 1);
        }
        good = utf8_valid(s);
    }
    yyjson_mut_val *v = buf_ok(&b) == 0 ? yyjson_mut_strncpy(d, b.p, b.n) : NULL;
    buf_release(&b);
    return v;
}

/* The key of the member, or NULL. In yyjson an object points to its last key, and members form a ring. */
static yyjson_mut_val *find_key(yyjson_mut_val *obj, struct str key) {
    size_t n = yyjson_mut_obj_size(obj);
    yyjson_mut_val *k = n ? obj->uni.ptr : NULL;
    for (size_t i = 0; i < n; i++) {
        k = k->next->next;
        if (str_eq(name_of(k), key)) {
            return k;
        }
    }
    return NULL;
}

int json_mset(yyjson_mut_doc *d, yyjson_mut_val *obj, struct str key, yyjson_mut_val *v) {
    if (obj == NULL) {
        return ERR_NOMEM;
    }
    if (!yyjson_mut_is_obj(obj)) {
        yyjson_mut_set_obj(obj);
    }
    if (v == NULL) {
        json_mdel(obj, key);
        return 0;
    }
    yyjson_mut_val *at = find_key(obj, key);
    if (at) { /* the node itself goes in, so that the caller's pointer stays good */
        v->next = at->next->next;
        at->next = v;
        return 0;
    }
    yyjson_mut_val *name = string_of(d, key);
    return name && yyjson_mut_obj_add(obj, name, v) ? 0 : ERR_NOMEM;
}

int json_mset_str(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, struct str v) {
    yyjson_mut_val *val = string_of(d, v);
    return val ? json_mset(d, obj, str_of(key), val) : ERR_NOMEM;
}

int json_mset_i64(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, int64_t v) {
    yyjson_mut_val *val = v < 0 ? yyjson_mut_sint(d, v) : yyjson_mut_uint(d, (uint64_t)v);
    return val ? json_mset(d, obj, str_of(key), val) : ERR_NOMEM;
}

int json_mset_bool(yyjson_mut_doc *d, yyjson_mut_val *obj, const char *key, bool v) {
    yyjson_mut_val *val = yyjson_mut_bool(d, v);
    return val ? json_mset(d, obj, str_of(key), val) : ERR_NOMEM;
}

void json_mdel(yyjson_mut_val *obj, struct str key) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(obj);
    for (yyjson_mut_val *k; (k = yyjson_mut_obj_iter_next(&it));) {
        if (str_eq(name_of(k), key)) {
            yyjson_mut_obj_iter_remove(&it);
        }
    }
}

yyjson_mut_val *json_mensure(yyjson_mut_doc *d, yyjson_mut_val *root, const char *dotted) {
    struct str rest = str_of(dotted), part;
    yyjson_mut_val *at = root;
    while (at && str_next(&rest, '.', &part)) {
        yyjson_mut_val *next = json_mget(at, part);
        if (!yyjson_mut_is_obj(next)) {
            next = yyjson_mut_obj(d);
            if (next == NULL || json_mset(d, at, part, next) != 0) {
                return NULL;
            }
        }
        at = next;
    }
    return at;
}

/* ---- comparing ---- */

static bool is_whole(double d, int64_t *ret) {
    if (!(d >= -9223372036854775808.0 && d < 9223372036854775808.0) || d != (double)(int64_t)d) {
        return false;
    }
    *ret = (int64_t)d;
    return true;
}

/* Numbers by value. Both trees keep type, subtype and bits alike in tag and uni, so one function serves both. */
static bool numbers_equal(uint64_t tag_a, yyjson_val_uni a, uint64_t tag_b, yyjson_val_uni b) {
    uint8_t sa = (uint8_t)tag_a & YYJSON_SUBTYPE_MASK, sb = (uint8_t)tag_b & YYJSON_SUBTYPE_MASK;
    bool real_a = sa == YYJSON_SUBTYPE_REAL, real_b = sb == YYJSON_SUBTYPE_REAL;
    int64_t whole;
    if (real_a && real_b) {
        return a.f64 == b.f64;
    }
    if (real_a) {
        return numbers_equal(tag_b, b, tag_a, a);
    }
    if (real_b) {
        bool beyond = sa == YYJSON_SUBTYPE_UINT && a.u64 > INT64_MAX;
        return beyond ? b.f64 == (double)a.u64 && b.f64 < 18446744073709551616.0 &&
                            (uint64_t)b.f64 == a.u64
                      : is_whole(b.f64, &whole) && whole == a.i64;
    }
    bool negative_a = sa == YYJSON_SUBTYPE_SINT && a.i64 < 0;
    bool negative_b = sb == YYJSON_SUBTYPE_SINT && b.i64 < 0;
    return negative_a == negative_b && a.u64 == b.u64;
}

/* True when types agree and, for scalars, values do. */
static bool scalars_equal(uint64_t tag_a, yyjson_val_uni a, uint64_t tag_b, yyjson_val_uni b) {
    uint8_t type = (uint8_t)tag_a & YYJSON_TYPE_MASK;
    if (type != ((uint8_t)tag_b & YYJSON_TYPE_MASK)) {
        return false;
    }
    switch (type) {
    case YYJSON_TYPE_NUM:
        return numbers_equal(tag_a, a, tag_b, b);
    case YYJSON_TYPE_BOOL:
        return (tag_a & YYJSON_SUBTYPE_MASK) == (tag_b & YYJSON_SUBTYPE_MASK);
    case YYJSON_TYPE_STR:
        return str_eq((struct str){a.str, tag_a >> YYJSON_TAG_BIT},
                      (struct str){b.str, tag_b >> YYJSON_TAG_BIT});
    default:
        return true;
    }
}

/* A value of either tree: both begin with tag and uni, and differ in how siblings are found. */
struct change_node {
    const yyjson_val *at; /* or a yyjson_mut_val */
    bool mut;
};

static struct change_node next_of(struct change_node n) {
    if (n.mut) {
        return (struct change_node){(const yyjson_val *)((const yyjson_mut_val *)n.at)->next, true};
    }
    return (struct change_node){unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)n.at), false};
}

/* The first element or key of a container that is not empty; a mutable one points to its last. */
static struct change_node first_of(struct change_node n) {
    if (!n.mut) {
        return (struct change_node){n.at + 1, false};
    }
    struct change_node last = {n.at->uni.ptr, true};
    bool obj = unsafe_yyjson_get_type((yyjson_val *)(uintptr_t)n.at) == YYJSON_TYPE_OBJ;
    return obj ? next_of(next_of(last)) : next_of(last);
}

static size_t len_of(struct change_node n) {
    return n.at->tag >> YYJSON_TAG_BIT;
}

static struct str text_of(struct change_node n) {
    return (struct str){n.at->uni.str, len_of(n)};
}

static struct change_node find(struct change_node obj, struct str name) {
    struct change_node key = first_of(obj);
    for (size_t i = 0; i < len_of(obj); i++, key = next_of(next_of(key))) {
        if (str_eq(text_of(key), name)) {
            return key;
        }
    }
    return (struct change_node){NULL, false};
}

static bool fill_table(struct map *table, struct change_node obj) {
    struct change_node key = first_of(obj);
    for (size_t i = 0; i < len_of(obj); i++, key = next_of(next_of(key))) {
        if (map_put(table, text_of(key), (void *)(uintptr_t)key.at, NULL) != 0) {
            map_release(table);
            return false;
        }
    }
    return true;
}

static bool nodes_equal(struct change_node a, struct change_node b);

/* Members are tried where the order of `a` expects them, which is linear when both have the same order. When that fails
 * often, a table finds them, so that a crafted order costs no more. */
static bool objects_equal(struct change_node a, struct change_node b) {
    size_t n = len_of(a), misses = 0;
    struct change_node ka = first_of(a), kb = first_of(b);
    struct map table = {0};
    bool tabled = false, equal = true;
    for (size_t i = 0; i < n && equal; i++) {
        if (!str_eq(text_of(ka), text_of(kb))) {
            if (++misses == SMALL_OBJECT) {
                tabled = fill_table(&table, b);
            }
            kb = tabled ? (struct change_node){map_get(&table, text_of(ka)), b.mut}
                        : find(b, text_of(ka));
        }
        equal = kb.at && nodes_equal(next_of(ka), next_of(kb));
        if (equal && i + 1 < n) {
            struct change_node after = next_of(next_of(kb));
            /* Past the last member an immutable object ends; the ring of a mutable one goes on. */
            bool end = !b.mut && after.at == next_of(b).at;
            kb = end ? first_of(b) : after;
            ka = next_of(next_of(ka));
        }
    }
    map_release(&table);
    return equal;
}

static bool arrays_equal(struct change_node a, struct change_node b) {
    struct change_node ea = first_of(a), eb = first_of(b);
    for (size_t i = 0, n = len_of(a); i < n; i++, ea = next_of(ea), eb = next_of(eb)) {
        if (!nodes_equal(ea, eb)) {
            return false;
        }
    }
    return true;
}

static bool nodes_equal(struct change_node a, struct change_node b) {
    if (!scalars_equal(a.at->tag, a.at->uni, b.at->tag, b.at->uni)) {
        return false;
    }
    uint8_t type = (uint8_t)a.at->tag & YYJSON_TYPE_MASK;
    if (type != YYJSON_TYPE_OBJ && type != YYJSON_TYPE_ARR) {
        return true;
    }
    if (len_of(a) != len_of(b)) {
        return false;
    }
    return len_of(a) == 0 || (type == YYJSON_TYPE_OBJ ? objects_equal(a, b) : arrays_equal(a, b));
}

bool json_equal(yyjson_val *a, yyjson_val *b) {
    return a && b ? nodes_equal((struct change_node){a, false}, (struct change_node){b, false})
                  : a == b;
}

bool json_mequal(yyjson_mut_val *a, yyjson_mut_val *b) {
    return a && b ? nodes_equal((struct change_node){(const yyjson_val *)a, true},
                                (struct change_node){(const yyjson_val *)b, true})
                  : a == b;
}
