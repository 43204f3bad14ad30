/*
 * json: JSON text to values and back, over yyjson. See json.h.
 *
 * Documents live in an arena: yyjson's allocator interface is mapped on it, and freeing does nothing. Reading and
 * writing in yyjson do not recurse; the walks here do, which is safe because parsing refuses what is nested too deep.
 */
#include "wire/json/json.h"

#include <assert.h>

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"

enum { SMALL_OBJECT = 32 }; /* members up to which a quadratic walk beats a hash table */

/* ---- memory ---- */

static void *arena_malloc(void *ctx, size_t n) {
    return arena_alloc(ctx, n);
}

static void *arena_realloc(void *ctx, void *p, size_t old, size_t n) {
    if (n <= old) {
        return p;
    }
    void *fresh = arena_alloc(ctx, n);
    if (fresh && p) {
        memcpy(fresh, p, old);
    }
    return fresh;
}

static void arena_nofree(void *ctx, void *p) {
    (void)ctx;
    (void)p;
}

static yyjson_alc alc_of(struct arena *a) {
    return (yyjson_alc){arena_malloc, arena_realloc, arena_nofree, a};
}

static void *heap_malloc(void *ctx, size_t n) {
    return mem_alloc(n);
}

static void *heap_realloc(void *ctx, void *p, size_t old, size_t n) {
    return mem_realloc(p, n);
}

static void heap_release_bytes(void *ctx, void *p) {
    mem_free(p);
}

/* ---- parsing ---- */

/* The values of a document lie in one array in reading order, and a container knows its end: no recursion is needed. */
static bool too_deep(yyjson_doc *doc) {
    yyjson_val *ends[LIMIT_JSON_DEPTH];
    size_t depth = 0, n = yyjson_doc_get_val_count(doc);
    yyjson_val *v = yyjson_doc_get_root(doc);
    for (size_t i = 0; i < n; i++, v++) {
        while (depth > 0 && v >= ends[depth - 1]) {
            depth--;
        }
        if (yyjson_is_ctn(v)) {
            if (depth == LIMIT_JSON_DEPTH) {
                return true;
            }
            ends[depth++] = unsafe_yyjson_get_next(v);
        }
    }
    return false;
}

static bool nests_below(yyjson_mut_val *v, size_t levels) {
    yyjson_mut_val *below;
    size_t i, n;
    bool deep = yyjson_mut_is_ctn(v) && levels == 0;
    if (deep || !yyjson_mut_is_ctn(v)) {
        return deep;
    }
    if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, n, below) {
            deep = deep || nests_below(below, levels - 1);
        }
        return deep;
    }
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(v);
    for (yyjson_mut_val *k; !deep && (k = yyjson_mut_obj_iter_next(&it)) != NULL;) {
        deep = nests_below(yyjson_mut_obj_iter_get_val(k), levels - 1);
    }
    return deep;
}

bool json_mut_too_deep(yyjson_mut_val *v) {
    return nests_below(v, LIMIT_JSON_DEPTH);
}

/* Only asked when memory ran out: brackets nested too deep say why. Strings are skipped. */
static bool text_too_deep(struct str text) {
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > LIMIT_JSON_DEPTH) {
                return true;
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static int depth_error(struct err *err) {
    return err_set(err, ERR_TOO_LARGE, "JSON is nested deeper than %d levels", LIMIT_JSON_DEPTH);
}

static int parse(struct arena *a, struct str text, yyjson_read_flag flags, yyjson_doc **ret,
                 struct err *err) {
    if (text.n == 0) {
        return err_set(err, ERR_SYNTAX, "unexpected end of JSON input");
    }
    yyjson_alc alc = alc_of(a);
    yyjson_read_err fault;
    /* The reader writes to its input only with YYJSON_READ_INSITU, so the cast is harmless. */
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text.p, text.n, flags, &alc, &fault);
    if (doc == NULL && fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return text_too_deep(text) ? depth_error(err)
                                   : err_set(err, ERR_NOMEM, "no memory to read JSON");
    }
    if (doc == NULL) {
        return err_set(err, ERR_SYNTAX, "invalid JSON at byte %zu: %s", fault.pos, fault.msg);
    }
    if (too_deep(doc)) {
        return depth_error(err);
    }
    *ret = doc;
    return 0;
}

int json_parse(struct arena *a, struct str text, yyjson_doc **ret, struct err *err) {
    return parse(a, text, 0, ret, err);
}

int json_parse_here(struct arena *a, char *text, size_t n, yyjson_doc **ret, struct err *err) {
    static_assert(JSON_PADDING >= YYJSON_PADDING_SIZE, "the reader needs more room");
    memset(text + n, 0, YYJSON_PADDING_SIZE);
    return parse(a, str_from(text, n), YYJSON_READ_INSITU, ret, err);
}

yyjson_mut_doc *json_mut_new(struct arena *a) {
    yyjson_alc alc = alc_of(a);
    return yyjson_mut_doc_new(&alc);
}

struct arena *json_arena(yyjson_mut_doc *d) {
    return d->alc.ctx;
}

yyjson_mut_doc *json_mut_copy(struct arena *a, yyjson_val *v) {
    yyjson_mut_doc *d = json_mut_new(a);
    yyjson_mut_val *root = d && v ? yyjson_val_mut_copy(d, v) : NULL;
    if (root == NULL) {
        return NULL;
    }
    yyjson_mut_doc_set_root(d, root);
    return d;
}

int json_parse_mut(struct arena *a, struct str text, yyjson_mut_doc **ret, struct err *err) {
    yyjson_doc *doc;
    int r = json_parse(a, text, &doc, err);
    if (r != 0) {
        return r;
    }
    yyjson_mut_doc *d = json_mut_copy(a, yyjson_doc_get_root(doc));
    if (d == NULL) {
        return err_set(err, ERR_NOMEM, "no memory to read JSON");
    }
    *ret = d;
    return 0;
}

/* ---- writing ---- */

static const yyjson_alc heap_alc = {heap_malloc, heap_realloc, heap_release_bytes, NULL};

static void append(struct buf *b, char *text, size_t n, const yyjson_write_err *fault) {
    if (text) {
        buf_add(b, text, n);
        mem_free(text);
    } else if (!b->failed) {
        b->failed = fault->code == YYJSON_WRITE_ERROR_MEMORY_ALLOCATION ? ERR_NOMEM : ERR_INTERNAL;
    }
}

/* Numbers with a fraction, and what else is rare: by yyjson, through memory of its own. */
static void write_other(struct buf *b, yyjson_val *v) {
    yyjson_write_err fault = {0};
    size_t n = 0;
    char *text = yyjson_val_write_opts(v, YYJSON_WRITE_INF_AND_NAN_AS_NULL, &heap_alc, &n, &fault);
    append(b, text, n, &fault);
}

static void write_other_mut(struct buf *b, yyjson_mut_val *v) {
    yyjson_write_err fault = {0};
    size_t n = 0;
    char *text =
        yyjson_mut_val_write_opts(v, YYJSON_WRITE_INF_AND_NAN_AS_NULL, &heap_alc, &n, &fault);
    append(b, text, n, &fault);
}

static void write_text(struct buf *b, yyjson_type type, yyjson_subtype sub, uint64_t number,
                       struct str s) {
    if (type == YYJSON_TYPE_STR && sub == YYJSON_SUBTYPE_NOESC) { /* as its reader saw */
        char *at = buf_room(b, s.n + 2);
        if (at) {
            at[0] = '"';
            memcpy(at + 1, s.p, s.n);
            at[s.n + 1] = '"';
            b->n += s.n + 2;
        }
    } else if (type == YYJSON_TYPE_STR) {
        buf_json(b, s);
    } else if (type == YYJSON_TYPE_NUM && sub == YYJSON_SUBTYPE_SINT) {
        buf_i64(b, (int64_t)number);
    } else if (type == YYJSON_TYPE_NUM) {
        buf_u64(b, number);
    } else if (type == YYJSON_TYPE_BOOL) {
        buf_c(b, sub == YYJSON_SUBTYPE_TRUE ? "true" : "false");
    } else {
        buf_c(b, "null");
    }
}

static bool is_other(yyjson_type type, yyjson_subtype sub) {
    return type == YYJSON_TYPE_RAW || type == YYJSON_TYPE_NONE ||
           (type == YYJSON_TYPE_NUM && sub == YYJSON_SUBTYPE_REAL);
}

/* Straight into the buffer: yyjson's writer would take memory of its own for each value, and copy. */
void json_write(struct buf *b, yyjson_val *v) {
    yyjson_type type = yyjson_get_type(v);
    yyjson_subtype sub = yyjson_get_subtype(v);
    size_t i, n;
    yyjson_val *key, *x;
    if (type == YYJSON_TYPE_OBJ) {
        buf_ch(b, '{');
        yyjson_obj_foreach(v, i, n, key, x) {
            if (i > 0) {
                buf_ch(b, ',');
            }
            json_write(b, key);
            buf_ch(b, ':');
            json_write(b, x);
        }
        buf_ch(b, '}');
    } else if (type == YYJSON_TYPE_ARR) {
        buf_ch(b, '[');
        yyjson_arr_foreach(v, i, n, x) {
            if (i > 0) {
                buf_ch(b, ',');
            }
            json_write(b, x);
        }
        buf_ch(b, ']');
    } else if (is_other(type, sub)) {
        write_other(b, v);
    } else {
        struct str s = type == YYJSON_TYPE_STR
                           ? (struct str){unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v)}
                           : (struct str){0};
        write_text(b, type, sub, v->uni.u64, s);
    }
}

void json_write_mut(struct buf *b, yyjson_mut_val *v) {
    yyjson_type type = yyjson_mut_get_type(v);
    yyjson_subtype sub = yyjson_mut_get_subtype(v);
    size_t i, n;
    yyjson_mut_val *key, *x;
    if (type == YYJSON_TYPE_OBJ) {
        buf_ch(b, '{');
        yyjson_mut_obj_foreach(v, i, n, key, x) {
            if (i > 0) {
                buf_ch(b, ',');
            }
            json_write_mut(b, key);
            buf_ch(b, ':');
            json_write_mut(b, x);
        }
        buf_ch(b, '}');
    } else if (type == YYJSON_TYPE_ARR) {
        buf_ch(b, '[');
        yyjson_mut_arr_foreach(v, i, n, x) {
            if (i > 0) {
                buf_ch(b, ',');
            }
            json_write_mut(b, x);
        }
        buf_ch(b, ']');
    } else if (is_other(type, sub)) {
        write_other_mut(b, v);
    } else {
        struct str s = type == YYJSON_TYPE_STR
                           ? (struct str){unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v)}
                           : (struct str){0};
        write_text(b, type, sub, v->uni.u64, s);
    }
}

/* ---- members that stand twice ---- */

struct dup_walk {
    struct arena *arena;
    void (*found)(void *ctx, struct str path);
    void *ctx;
};

static struct str view(yyjson_val *v) {
    return (struct str){unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v)};
}

static struct str mview(yyjson_mut_val *v) {
    return (struct str){unsafe_yyjson_get_str(v), unsafe_yyjson_get_len(v)};
}

static struct str member_path(struct arena *a, struct str path, struct str name) {
    return path.n ? arena_f(a, "%.*s.%.*s", STR_ARG(path), STR_ARG(name)) : arena_str(a, name);
}

static void report(struct dup_walk *w, struct str path, struct str name) {
    struct str at = member_path(w->arena, path, name);
    if (at.p) {
        w->found(w->ctx, at);
    }
}

/* Reports each member of obj whose name was seen before, each name once. */
static int dup_object(struct dup_walk *w, yyjson_val *obj, struct str path) {
    struct map seen = {0};
    size_t i, max;
    yyjson_val *key, *val;
    int r = 0;
    static char once, twice;
    yyjson_obj_foreach(obj, i, max, key, val) {
        void *had = map_get(&seen, view(key));
        if (had == &once) {
            report(w, path, view(key));
        }
        if (had != &twice) {
            r = map_put(&seen, view(key), had ? &twice : &once, NULL);
        }
        if (r != 0) {
            break;
        }
    }
    map_release(&seen);
    return r;
}

static bool small_and_unique(yyjson_val *obj) {
    struct str names[SMALL_OBJECT];
    if (yyjson_obj_size(obj) > SMALL_OBJECT) {
        return false;
    }
    size_t i, max;
    yyjson_val *key, *val;
    yyjson_obj_foreach(obj, i, max, key, val) {
        names[i] = view(key);
        for (size_t k = 0; k < i; k++) {
            if (str_eq(names[k], names[i])) {
                return false;
            }
        }
    }
    return true;
}

/* True: no name stands twice anywhere. False: perhaps one does. Paths cost more than names, and are seldom wanted. */
static bool all_unique(yyjson_val *v) {
    size_t i, max;
    yyjson_val *key, *val;
    bool unique = true;
    if (yyjson_is_obj(v)) {
        unique = small_and_unique(v);
        yyjson_obj_foreach(v, i, max, key, val) {
            unique = unique && (!yyjson_is_ctn(val) || all_unique(val));
        }
    } else {
        yyjson_arr_foreach(v, i, max, val) {
            unique = unique && (!yyjson_is_ctn(val) || all_unique(val));
        }
    }
    return unique;
}

static int dup_walk(struct dup_walk *w, yyjson_val *v, struct str path) {
    size_t i, max;
    yyjson_val *key, *val;
    int r = 0;
    if (yyjson_is_obj(v)) {
        r = small_and_unique(v) ? 0 : dup_object(w, v, path);
        yyjson_obj_foreach(v, i, max, key, val) {
            if (r == 0 && yyjson_is_ctn(val) && !all_unique(val)) { /* a path is costly */
                r = dup_walk(w, val, member_path(w->arena, path, view(key)));
            }
        }
    } else if (yyjson_is_arr(v)) {
        yyjson_arr_foreach(v, i, max, val) {
            if (r == 0 && yyjson_is_ctn(val) && !all_unique(val)) {
                r = dup_walk(w, val, arena_f(w->arena, "%.*s[%zu]", STR_ARG(path), i));
            }
        }
    }
    return r ? r : arena_ok(w->arena);
}

int json_duplicates(yyjson_val *v, struct arena *a, void (*found)(void *ctx, struct str path),
                    void *ctx) {
    struct dup_walk w = {.arena = a, .found = found, .ctx = ctx};
    return all_unique(v) ? 0 : dup_walk(&w, v, STR(""));
}

/* Whether a member after `key` (which is number `at` of `n`) has the same name. */
static bool comes_again(yyjson_mut_val *key, size_t at, size_t n) {
    yyjson_mut_val *other = key;
    for (size_t i = at; i < n; i++) {
        other = other->next->next;
        if (str_eq(mview(other), mview(key))) {
            return true;
        }
    }
    return false;
}

/* Fills `last` with name -> the last key of that name; false when there is no memory. */
static bool index_last(struct map *last, yyjson_mut_val *obj) {
    size_t i, max;
    yyjson_mut_val *key, *val;
    yyjson_mut_obj_foreach(obj, i, max, key, val) {
        if (map_put(last, mview(key), key, NULL) != 0) {
            return false;
        }
    }
    return true;
}

static void dedup_object(yyjson_mut_val *obj) {
    size_t n = yyjson_mut_obj_size(obj);
    struct map last = {0};
    /* Without memory for the table it takes longer, that is all. */
    bool indexed = n > SMALL_OBJECT && index_last(&last, obj);
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(obj);
    for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));) {
        bool again = indexed ? map_get(&last, mview(key)) != key : comes_again(key, it.idx, it.max);
        if (again) {
            yyjson_mut_obj_iter_remove(&it);
        }
    }
    map_release(&last);
}

void json_dedup(yyjson_mut_val *v) {
    size_t i, max;
    yyjson_mut_val *key, *val;
    if (yyjson_mut_is_obj(v)) {
        dedup_object(v);
        yyjson_mut_obj_foreach(v, i, max, key, val) {
            json_dedup(val);
        }
    } else if (yyjson_mut_is_arr(v)) {
        yyjson_mut_arr_foreach(v, i, max, val) {
            json_dedup(val);
        }
    }
}

/* ---- reading ---- */

yyjson_val *json_get(yyjson_val *obj, struct str key) {
    return yyjson_obj_getn(obj, key.p ? key.p : "", key.n);
}

yyjson_val *json_path(yyjson_val *v, const char *dotted) {
    struct str rest = str_of(dotted), part;
    while (v && str_next(&rest, '.', &part)) {
        v = json_get(v, part);
    }
    return v;
}

struct str json_str(yyjson_val *v) {
    return yyjson_is_str(v) ? view(v) : (struct str){NULL, 0};
}

struct str json_str_at(yyjson_val *v, const char *dotted) {
    return json_str(json_path(v, dotted));
}

int64_t json_i64_at(yyjson_val *v, const char *dotted, int64_t otherwise) {
    yyjson_val *n = json_path(v, dotted);
    if (yyjson_is_uint(n)) {
        return yyjson_get_uint(n) <= INT64_MAX ? (int64_t)yyjson_get_uint(n) : otherwise;
    }
    return yyjson_is_sint(n) ? yyjson_get_sint(n) : otherwise;
}

bool json_bool_at(yyjson_val *v, const char *dotted, bool otherwise) {
    yyjson_val *b = json_path(v, dotted);
    return yyjson_is_bool(b) ? yyjson_get_bool(b) : otherwise;
}

yyjson_mut_val *json_mget(yyjson_mut_val *obj, struct str key) {
    return yyjson_mut_obj_getn(obj, key.p ? key.p : "", key.n);
}

yyjson_mut_val *json_mpath(yyjson_mut_val *v, const char *dotted) {
    struct str rest = str_of(dotted), part;
    while (v && str_next(&rest, '.', &part)) {
        v = json_mget(v, part);
    }
    return v;
}

struct str json_mstr(yyjson_mut_val *v) {
    return yyjson_mut_is_str(v) ? mview(v) : (struct str){NULL, 0};
}

struct str json_mstr_at(yyjson_mut_val *v, const char *dotted) {
    return json_mstr(json_mpath(v, dotted));
}

yyjson_mut_val *json_mfind(yyjson_mut_val *list, const char *member, struct str text) {
    size_t i, n;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(list, i, n, v) {
        yyjson_mut_val *s = member != NULL ? json_mpath(v, member) : v;
        if (yyjson_mut_is_str(s) && str_eq(json_mstr(s), text)) {
            return v;
        }
    }
    return NULL;
}
