/*
 * object: one version of an object, in one allocation: reference count, head, labels, owners, bytes, and behind
 * them the few strings of the head that are escaped in the bytes (see object.h for what the bytes look like).
 *
 * Bytes come from outside in any form: they are parsed, and when they are not canonical they are written anew. The head
 * is then read by a small scanner that relies on what the writer of JSON guarantees (compact, valid, least escapes) but
 * never reads past the end. It runs twice over the metadata: to count, then to fill.
 */
#include "mirror/object.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/limits.h"
#include "base/mem.h"
#include "wire/text/time.h"

enum { PARSE_ARENA_BYTES = 64 << 20, START_BYTES = 2048 };

struct box {
    atomic_uint refs;
    struct object o;
};

static struct box *box_of(const struct object *o) {
    return (struct box *)((char *)(uintptr_t)o - offsetof(struct box, o));
}

struct object *object_ref(const struct object *o) {
    unsigned before = atomic_fetch_add_explicit(&box_of(o)->refs, 1, memory_order_relaxed);
    assert(before > 0 && before < UINT32_MAX / 2);
    return (struct object *)(uintptr_t)o;
}

void object_unref(const struct object *o) {
    if (o && atomic_fetch_sub_explicit(&box_of(o)->refs, 1, memory_order_acq_rel) == 1) {
        mem_free(box_of(o));
    }
}

/* ---- a scanner of compact JSON ---- */

struct object_scan {
    const char *p, *end;
    bool bad; /* sticky: not what a writer of JSON makes */
};

static bool at(const struct object_scan *s, char c) {
    return s->p < s->end && *s->p == c;
}

/* The raw bytes between the quotes. */
static struct str scan_string(struct object_scan *s) {
    if (!at(s, '"')) {
        s->bad = true;
        return (struct str){NULL, 0};
    }
    const char *from = ++s->p;
    while (s->p < s->end && *s->p != '"') {
        s->p += *s->p == '\\' ? 2 : 1;
    }
    if (s->p >= s->end) {
        s->p = s->end;
        s->bad = true;
        return (struct str){NULL, 0};
    }
    return str_from(from, (size_t)(s->p++ - from));
}

/* The bytes of one value of any type. */
static struct str scan_value(struct object_scan *s) {
    const char *from = s->p;
    size_t depth = 0;
    while (s->p < s->end && !s->bad) {
        char c = *s->p;
        if (c == '"') {
            scan_string(s);
            if (depth == 0) {
                break;
            }
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            break;
        }
        s->p++;
        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (--depth == 0) {
                break;
            }
        }
    }
    s->bad = s->bad || depth > 0 || s->p == from;
    return str_from(from, (size_t)(s->p - from));
}

/* Steps to the next element: at the opening bracket or after a value. */
static bool scan_step(struct object_scan *s, char open, char close) {
    if (s->bad || (!at(s, open) && !at(s, ','))) {
        s->bad = s->bad || !at(s, close);
        return false;
    }
    bool first = *s->p == open;
    s->p++;
    return !(first && at(s, close));
}

static bool scan_member(struct object_scan *s, struct str *ret_key, struct str *ret_value) {
    if (!scan_step(s, '{', '}')) {
        return false;
    }
    *ret_key = scan_string(s);
    if (!at(s, ':')) {
        s->bad = true;
        return false;
    }
    s->p++;
    *ret_value = scan_value(s);
    return !s->bad;
}

static bool scan_element(struct object_scan *s, struct str *ret_value) {
    if (!scan_step(s, '[', ']')) {
        return false;
    }
    *ret_value = scan_value(s);
    return !s->bad;
}

static struct object_scan scan_of(struct str value) {
    return (struct object_scan){.p = value.p, .end = value.p + value.n};
}

static bool is_string(struct str value) {
    return value.n >= 2 && value.p[0] == '"';
}

static bool is_object(struct str value) {
    return value.n >= 2 && value.p[0] == '{';
}

static bool is_array(struct str value) {
    return value.n >= 2 && value.p[0] == '[';
}

/* ---- the head ---- */

/* What the head needs; while filling, where the next of each goes. */
struct head {
    struct object *o; /* NULL: only count */
    size_t labels, owners;
    size_t extra; /* bytes of strings that are escaped */
    char *extra_p;
};

static unsigned hex4(const char *p) {
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        v = v * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return v;
}

/* Undoes the escapes that a writer of JSON makes: quotes, backslashes and control bytes. */
static struct str unescape(struct str raw, char *to) {
    static const char from[] = "bfnrt", into[] = "\b\f\n\r\t";
    char *q = to;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '\\' && i + 1 < raw.n) {
            c = raw.p[++i];
            const char *known = strchr(from, c);
            if (c == 'u' && i + 4 < raw.n) {
                c = (char)hex4(raw.p + i + 1);
                i += 4;
            } else if (known && c) {
                c = into[known - from];
            }
        }
        *q++ = c;
    }
    return str_from(to, (size_t)(q - to));
}

/* The view of a string of the head: of the bytes themselves where nothing in it is escaped. */
static struct str head_text(struct head *h, struct str raw) {
    if (memchr(raw.p, '\\', raw.n) == NULL) {
        return raw;
    }
    h->extra += raw.n;
    if (h->o == NULL) {
        return raw;
    }
    struct str s = unescape(raw, h->extra_p);
    h->extra_p += raw.n;
    return s;
}

static struct str head_string(struct head *h, struct str value) {
    return is_string(value) ? head_text(h, str_from(value.p + 1, value.n - 2))
                            : (struct str){NULL, 0};
}

static void head_labels(struct head *h, struct str value) {
    struct object_scan s = scan_of(value);
    struct str key, v;
    while (is_object(value) && scan_member(&s, &key, &v)) {
        if (!is_string(v)) {
            continue;
        }
        struct str_pair pair = {.key = head_text(h, key), .value = head_string(h, v)};
        if (h->o) {
            h->o->labels.v[h->o->labels.n++] = pair;
        }
        h->labels++;
    }
}

static struct owner_ref head_owner(struct head *h, struct str value) {
    struct owner_ref r = {0};
    struct object_scan s = scan_of(value);
    struct str key, v;
    while (is_object(value) && scan_member(&s, &key, &v)) {
        if (str_is(key, "apiVersion")) {
            r.api_version = head_string(h, v);
        } else if (str_is(key, "kind")) {
            r.kind = head_string(h, v);
        } else if (str_is(key, "name")) {
            r.name = head_string(h, v);
        } else if (str_is(key, "uid")) {
            r.uid = head_string(h, v);
        } else if (str_is(key, "controller")) {
            r.controller = str_is(v, "true");
        } else if (str_is(key, "blockOwnerDeletion")) {
            r.block = str_is(v, "true");
        }
    }
    return r;
}

static void head_owners(struct head *h, struct str value) {
    struct object_scan s = scan_of(value);
    struct str v;
    while (is_array(value) && scan_element(&s, &v)) {
        struct owner_ref r = head_owner(h, v);
        if (h->o) {
            h->o->owners[h->o->n_owners++] = r;
        }
        h->owners++;
    }
}

static size_t count_elements(struct str value) {
    struct object_scan s = scan_of(value);
    struct str v;
    size_t n = 0;
    while (is_array(value) && scan_element(&s, &v)) {
        n++;
    }
    return n;
}

static int head_time(struct str value, int64_t *ret, struct err *err) {
    if (!is_string(value)) {
        return 0;
    }
    return time_parse(str_from(value.p + 1, value.n - 2), ret, err);
}

static int head_member(struct head *h, struct str key, struct str v, struct err *err) {
    struct object none = {0}, *o = h->o ? h->o : &none;
    if (str_is(key, "name")) {
        o->name = head_string(h, v);
    } else if (str_is(key, "namespace")) {
        o->ns = head_string(h, v);
    } else if (str_is(key, "uid")) {
        o->uid = head_string(h, v);
    } else if (str_is(key, "labels")) {
        head_labels(h, v);
    } else if (str_is(key, "ownerReferences")) {
        head_owners(h, v);
    } else if (str_is(key, "finalizers")) {
        o->n_finalizers = count_elements(v);
    } else if (str_is(key, "generation")) {
        (void)str_to_i64(v, &o->generation);
    } else if (str_is(key, "creationTimestamp")) {
        return head_time(v, &o->created_ns, err);
    } else if (str_is(key, "deletionTimestamp")) {
        return head_time(v, &o->deleting_ns, err);
    }
    return 0;
}

/* Goes over the metadata, whose members begin at rv_at. */
static int head_read(struct head *h, struct str json, size_t rv_at, struct err *err) {
    struct object_scan s = {.p = json.p + rv_at - 1, .end = json.p + json.n};
    struct str key, value;
    while (scan_member(&s, &key, &value)) {
        int code = head_member(h, key, value, err);
        if (code != 0) {
            return err_wrap(err, "metadata.%.*s", STR_ARG(key));
        }
    }
    return s.bad ? err_set(err, ERR_SYNTAX, "the object's bytes are not canonical JSON") : 0;
}

/* ---- making ---- */

/* The version in which an object lies: that of storage; but what only a webhook converts stays in the version that was
 * storage's when it was written, until it is written again. */
static const char *version_in_store(const struct kind *k, struct str api_version) {
    struct str version = str_skip(api_version, (size_t)(str_find_last(api_version, '/') + 1));
    for (size_t i = 0; k->versions[k->storage].asks && i < k->n_versions; i++) {
        if (str_is(version, k->versions[i].version)) {
            return k->versions[i].version;
        }
    }
    return k->versions[k->storage].version;
}

/* The canonical beginning, up to and with `"metadata":{`; of the storage version. Of the table's rows only, whose words
 * need no escape, so that mirror works with any table. */
static void add_start(struct buf *b, const struct kind *k, struct str api_version) {
    buf_c(b, "{\"apiVersion\":\"");
    buf_c(b, k->group);
    buf_c(b, k->group[0] ? "/" : "");
    buf_c(b, version_in_store(k, api_version));
    buf_c(b, "\",\"kind\":\"");
    buf_c(b, k->kind);
    buf_c(b, "\",\"metadata\":{");
}

/* One object of canonical bytes with this start (a prefix of them). */
static int make(const struct kind *k, struct str json, size_t start, uint64_t rv,
                struct object **ret, struct err *err) {
    if (json.n > LIMIT_OBJECT_BYTES) {
        return err_set(err, ERR_TOO_LARGE, "the object has %zu bytes; at most %d are stored",
                       json.n, LIMIT_OBJECT_BYTES);
    }
    struct head h = {0};
    int code = head_read(&h, json, start, err);
    if (code != 0) {
        return code;
    }
    size_t labels = h.labels * sizeof(struct str_pair);
    size_t owners = h.owners * sizeof(struct owner_ref);
    struct box *b = mem_alloc(sizeof(*b) + labels + owners + json.n + h.extra);
    if (b == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    char *p = (char *)(b + 1);
    char *text = p + labels + owners;
    memcpy(text, json.p, json.n);
    atomic_init(&b->refs, 1);
    b->o = (struct object){
        .kind = k,
        .rv = rv,
        .labels = {.v = labels ? (struct str_pair *)(void *)p : NULL},
        .owners = owners ? (struct owner_ref *)(void *)(p + labels) : NULL,
        .json = {text, json.n},
        .rv_at = start,
        .body_at = start - strlen("\"metadata\":{"),
    };
    h = (struct head){.o = &b->o, .extra_p = text + json.n};
    code = head_read(&h, b->o.json, start, err);
    if (code == 0 && b->o.name.n == 0) {
        code = err_set(err, ERR_SYNTAX, "the object has no metadata.name");
    }
    if (code != 0) {
        mem_free(b);
        return code;
    }
    *ret = &b->o;
    return 0;
}

static bool key_is(yyjson_mut_val *key, const char *name) {
    return str_is(json_mstr(key), name);
}

static void add_member(struct buf *b, yyjson_mut_val *key, yyjson_mut_val *value, bool *first) {
    if (!*first) {
        buf_ch(b, ',');
    }
    *first = false;
    buf_json(b, json_mstr(key));
    buf_ch(b, ':');
    json_write_mut(b, value);
}

/* metadata's members without resourceVersion (whose number goes to *rv), then the rest of the object. */
static void add_rest(struct buf *b, yyjson_mut_val *root, yyjson_mut_val *meta, uint64_t *rv) {
    size_t i, n;
    yyjson_mut_val *key, *value;
    bool first = true;
    yyjson_mut_obj_foreach(meta, i, n, key, value) {
        if (key_is(key, "resourceVersion")) {
            (void)str_to_u64(json_mstr(value), rv);
        } else {
            add_member(b, key, value, &first);
        }
    }
    buf_ch(b, '}');
    first = false;
    yyjson_mut_obj_foreach(root, i, n, key, value) {
        if (!key_is(key, "apiVersion") && !key_is(key, "kind") && !key_is(key, "metadata")) {
            add_member(b, key, value, &first);
        }
    }
    buf_ch(b, '}');
}

int object_new_mut(const struct kind *k, yyjson_mut_val *root, struct object **ret,
                   struct err *err) {
    yyjson_mut_val *meta = json_mget(root, STR("metadata"));
    struct str kind = json_mstr(json_mget(root, STR("kind")));
    if (!yyjson_mut_is_obj(meta)) {
        return err_set(err, ERR_SYNTAX, "the object has no metadata");
    }
    if (kind.n && !str_is(kind, k->kind)) {
        return err_set(err, ERR_SYNTAX, "kind is %.*s where %s is expected", STR_ARG(kind),
                       k->kind);
    }
    /* Who manages its fields is told some levels below where they are. */
    if (json_mut_too_deep(root)) {
        return err_set(
            err, ERR_TOO_LARGE,
            "the object is nested deeper than %d levels, metadata.managedFields included",
            LIMIT_JSON_DEPTH);
    }
    struct buf b;
    buf_init(&b, 2 * LIMIT_OBJECT_BYTES);
    (void)buf_room(&b, START_BYTES);
    add_start(&b, k, json_mstr(json_mget(root, STR("apiVersion"))));
    size_t start = b.n;
    uint64_t rv = 0;
    add_rest(&b, root, meta, &rv);
    int code = buf_ok(&b);
    code = code ? err_set(err, code, "the object does not fit into memory or its limit")
                : make(k, buf_view(&b), start, rv, ret, err);
    buf_release(&b);
    return code;
}

/* The end of a string of valid JSON, past its quote, when it has only escapes that are needed; NULL otherwise. */
static const char *plain_string(const char *p, const char *end) {
    for (;;) {
        const char *quote = memchr(p, '"', (size_t)(end - p));
        const char *escape = quote ? memchr(p, '\\', (size_t)(quote - p)) : NULL;
        if (escape == NULL) {
            return quote ? quote + 1 : NULL;
        }
        if (escape[1] == 'u' || escape[1] == '/') {
            return NULL;
        }
        p = escape + 2;
    }
}

/* Whether valid JSON is just what our writer would make of it, as far as the scanner depends on it: no blanks, and no
 * escape but those that are needed. */
static bool is_compact(struct str json) {
    const char *p = json.p, *end = json.p + json.n;
    while (p && p < end) {
        char c = *p++;
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
            return false;
        }
        if (c == '"') {
            p = plain_string(p, end);
        }
    }
    return p != NULL;
}

static int check_and_make(const struct kind *k, struct str json, struct arena *a,
                          struct object **ret, struct err *err) {
    yyjson_doc *doc;
    int code = json_parse(a, json, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root)) {
        return err_set(err, ERR_SYNTAX, "the object is not a JSON object");
    }
    struct buf b;
    buf_init(&b, 0);
    add_start(&b, k, json_str_at(root, "apiVersion"));
    bool same = buf_ok(&b) == 0 && str_starts(json, buf_view(&b)) && is_compact(json) &&
                json_path(root, "metadata.resourceVersion") == NULL;
    size_t start = b.n;
    buf_release(&b);
    if (same) {
        return make(k, json, start, 0, ret, err);
    }
    yyjson_mut_doc *copy = json_mut_copy(a, root);
    if (copy == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    return object_new_mut(k, yyjson_mut_doc_get_root(copy), ret, err);
}

int object_new(const struct kind *k, struct str json, struct object **ret, struct err *err) {
    struct arena a;
    arena_init(&a, PARSE_ARENA_BYTES);
    int code = check_and_make(k, json, &a, ret, err);
    arena_release(&a);
    return code;
}

/* ---- reading ---- */

enum { RV_ROOM = 48 }; /* `"resourceVersion":"N",` */

static void emit_from(const struct object *o, size_t from, struct buf *out) {
    (void)buf_room(out, o->json.n - from + RV_ROOM);
    buf_add(out, o->json.p + from, o->rv_at - from);
    buf_c(out, "\"resourceVersion\":\"");
    buf_u64(out, o->rv);
    buf_c(out, "\",");
    buf_add(out, o->json.p + o->rv_at, o->json.n - o->rv_at);
}

void object_emit(const struct object *o, struct buf *out) {
    emit_from(o, 0, out);
}

void object_emit_item(const struct object *o, struct buf *out) {
    buf_ch(out, '{');
    emit_from(o, o->body_at, out);
}

/* The member as emit_from writes it; its end. */
static char *rv_text(uint64_t rv, char out[static RV_ROOM]) {
    static const char name[] = "\"resourceVersion\":\"";
    char digits[20], *p = out + sizeof(name) - 1;
    size_t n = 0;
    memcpy(out, name, sizeof(name) - 1);
    do {
        digits[n++] = (char)('0' + rv % 10);
        rv /= 10;
    } while (rv > 0);
    while (n > 0) {
        *p++ = digits[--n];
    }
    *p++ = '"';
    *p++ = ',';
    return p;
}

/* Read where it is put together: a copy less, and no memory but the arena's. */
int object_tree(const struct object *o, struct arena *a, yyjson_doc **ret, struct err *err) {
    char rv[RV_ROOM], *rv_end = rv_text(o->rv, rv);
    size_t n = (size_t)(rv_end - rv);
    size_t rest = o->json.n - o->rv_at;
    char *text = arena_alloc(a, o->json.n + n + JSON_PADDING);
    if (text == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    memcpy(text, o->json.p, o->rv_at);
    memcpy(text + o->rv_at, rv, n);
    memcpy(text + o->rv_at + n, o->json.p + o->rv_at, rest);
    return json_parse_here(a, text, o->json.n + n, ret, err);
}

struct str object_label(const struct object *o, struct str key) {
    for (size_t i = 0; i < o->labels.n; i++) {
        if (str_eq(o->labels.v[i].key, key)) {
            return o->labels.v[i].value;
        }
    }
    return (struct str){NULL, 0};
}

const struct owner_ref *object_controller(const struct object *o) {
    for (size_t i = 0; i < o->n_owners; i++) {
        if (o->owners[i].controller) {
            return &o->owners[i];
        }
    }
    return NULL;
}

bool object_left(const struct object *old, const struct object *now) {
    const struct owner_ref *was = old ? object_controller(old) : NULL;
    const struct owner_ref *is = was ? object_controller(now) : NULL;
    return was && (is == NULL || !str_eq(is->uid, was->uid));
}

bool object_named_by(const struct object *owner, struct str ns, const struct owner_ref *ref) {
    struct str group, version;
    if (!str_cut(ref->api_version, '/', &group, &version)) {
        group = STR("");
    }
    return str_eq(owner->uid, ref->uid) && str_eq(owner->name, ref->name) &&
           (str_empty(owner->ns) || str_eq(owner->ns, ns)) && str_is(group, owner->kind->group) &&
           str_is(ref->kind, owner->kind->kind);
}
