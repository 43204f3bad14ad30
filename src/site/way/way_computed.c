/* way_computed: requests for kinds that are computed, on a cluster: answered (way_compute.c), watched (way_watch.c). */
#include "api/schema/codec.h"
#include "api/walk/causes.h"
#include "base/keyed_hash.h"
#include "base/mem.h"
#include "site/refuse.h"
#include "site/way/way_private.h"

enum { ASKED_MAX = 256, ASKED_OF_USER = 64, PARAMS_MAX = 32, PARTS_MAX = 10 };

struct asked {
    struct virtual_ask q; /* names live in the request's arena */
    struct way *w;
    struct asked *next, **prev;
    struct http_request *r;
    uint64_t user;               /* hash of its name */
    struct computing *computing; /* NULL: not yet, or answered */
};

static void closed(void *user) {
    struct asked *k = user;
    *k->prev = k->next;
    if (k->next) {
        k->next->prev = k->prev;
    }
    computing_free(k->computing);
    mem_free(k);
}

static void done(void *ctx, int code, struct str json, const struct err *err) {
    struct asked *k = ctx;
    k->computing = NULL;
    if (code != 0) {
        refuse(k->r, code, err->text);
        return;
    }
    (void)http_add_header(k->r, "Cache-Control", STR("no-store"));
    http_respond(k->r, str_is(str_of(k->q.verb), "create") ? 201 : 200, "application/json", json);
}

/* ---- the question ---- */

static const char *verb_of(const struct kind *k, struct str method, bool named) {
    if (k->flags & KIND_VIRTUAL) {
        return str_is(method, "POST") && !named ? "create" : NULL;
    }
    if (!str_is(method, "GET")) {
        return NULL;
    }
    return named ? "get" : k->subresources ? NULL : "list";
}

static bool unescape(struct arena *a, struct str s, struct str *ret) {
    char *to = arena_alloc(a, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; to && i < s.n; i++) {
        int64_t v = (unsigned char)s.p[i];
        if (s.p[i] == '%') {
            static const char digits[] = "0123456789abcdef";
            const char *high = i + 2 < s.n ? strchr(digits, s.p[i + 1] | 32) : NULL;
            const char *low = i + 2 < s.n ? strchr(digits, s.p[i + 2] | 32) : NULL;
            if (high == NULL || low == NULL || !*high || !*low) {
                return false;
            }
            v = (high - digits) * 16 + (low - digits);
            i += 2;
        }
        to[n++] = s.p[i] == '+' ? ' ' : (char)v;
    }
    *ret = str_from(to, n);
    return to != NULL;
}

static bool read_query(struct asked *k, struct str query) {
    struct arena *a = http_arena(k->r);
    struct virtual_param *params = ARENA_ARRAY(a, struct virtual_param, PARAMS_MAX);
    struct str part, key, value;
    size_t n = 0;
    while (params && str_next(&query, '&', &part)) {
        str_cut(part, '=', &key, &value);
        if (n == PARAMS_MAX || !unescape(a, key, &params[n].key) ||
            !unescape(a, value, &params[n].value)) {
            return false;
        }
        n++;
    }
    k->q.query = params;
    k->q.n_query = n;
    return params != NULL;
}

/* The body of a create, by the kind's tables: pruned, with defaults, valid. */
static int read_body(struct asked *k, const struct kind_version *kv, struct err *err) {
    struct arena *a = http_arena(k->r);
    struct causes causes = {.arena = a};
    yyjson_mut_doc *d;
    struct buf b;
    int r = json_parse_mut(a, http_body(k->r), &d, err);
    yyjson_mut_val *root = r == 0 ? yyjson_mut_doc_get_root(d) : NULL;
    if (r == 0 &&
        (!yyjson_mut_is_obj(root) || !str_is(json_mstr_at(root, "kind"), k->q.kind->kind))) {
        r = err_set(err, ERR_BAD_REQUEST, "expected an object of kind %s", k->q.kind->kind);
    }
    r = r ? r : codec_prune(kv->schema, d, root, NULL, NULL);
    r = r || kv->to_storage == NULL ? r : codec_to_storage(k->q.kind, kv, d, err);
    r = r ? r : codec_default(k->q.kind, d, err);
    r = r ? r : codec_validate(k->q.kind, yyjson_mut_doc_get_root(d), NULL, &causes);
    if (r != 0) {
        return r;
    }
    buf_init(&b, 8 << 20);
    if (causes.n) {
        causes_message(&b, k->q.kind->group, k->q.kind->kind, json_mstr_at(root, "metadata.name"),
                       &causes);
        r = err_set(err, ERR_INVALID, "%.*s", STR_ARG(buf_view(&b)));
    } else {
        json_write_mut(&b, yyjson_mut_doc_get_root(d));
        k->q.body = arena_str(a, buf_view(&b));
        r = buf_ok(&b) || k->q.body.p == NULL ? err_set(err, ERR_NOMEM, "no memory for the object")
                                              : 0;
    }
    buf_release(&b);
    return r;
}

/* "apis/GROUP/VERSION/[namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]]", or NULL: it is no computed kind's. */
static const struct kind *read_path(struct arena *a, struct str path, struct virtual_ask *q,
                                    const struct kind_version **ret_kv) {
    struct str v[PARTS_MAX] = {0}, part, rest = str_skip(path, 1);
    size_t n = 0, at = 3;
    while (n < PARTS_MAX && str_next(&rest, '/', &part)) {
        if (part.n && !unescape(a, part, &v[n++])) {
            return NULL;
        }
    }
    if (n < 4 || n == PARTS_MAX || !str_is(v[0], "apis")) {
        return NULL;
    }
    if (str_is(v[at], "namespaces") && n > 5) {
        q->ns = v[at + 1];
        at += 2;
    }
    const struct kind *k = kind_by_resource(v[1], v[2], v[at]);
    if (k == NULL || !(k->flags & KIND_COMPUTED) || n > at + 3 ||
        (at > 3 && !(k->flags & KIND_NAMESPACED))) {
        return NULL;
    }
    q->version = v[2];
    q->name = v[at + 1];
    q->subresource = v[at + 2];
    q->kind = k;
    *ret_kv = kind_version(k, v[2]);
    return k;
}

static struct asked *asked_new(struct way *w, struct http_request *r, const struct session *one) {
    struct asked *k = mem_zalloc(sizeof(*k));
    if (k) {
        *k = (struct asked){
            .w = w, .r = r, .user = keyed_hash(one->who.user), .next = w->asked, .prev = &w->asked};
        if (k->next) {
            k->next->prev = &k->next;
        }
        w->asked = k;
        http_set_user(r, k, closed);
    }
    return k;
}

static bool has_room(const struct way *w, uint64_t user) {
    size_t n = 0, own = 0;
    for (const struct asked *x = w->asked; x; x = x->next) {
        n++;
        own += x->user == user;
    }
    return n < ASKED_MAX && own < ASKED_OF_USER;
}

static int prepare(struct asked *k, const struct kind_version *kv, struct err *err) {
    if (!read_query(k, http_query(k->r))) {
        return err_set(err, ERR_BAD_REQUEST, "the query is malformed");
    }
    k->q.verb = verb_of(k->q.kind, http_method(k->r), k->q.name.n > 0);
    if (k->q.verb == NULL) {
        return err_set(err, ERR_METHOD, "the server does not allow this method on %s",
                       k->q.kind->plural);
    }
    return str_is(str_of(k->q.verb), "create") ? read_body(k, kv, err) : 0;
}

static bool is_watch(const struct virtual_ask *q) {
    struct str v = virtual_param(q, "watch");
    return str_is(str_of(q->verb), "list") && (str_is(v, "true") || str_is(v, "1"));
}

static void answer(struct asked *k, const struct kind_version *kv, const struct session *one) {
    struct err err = {0};
    int code = prepare(k, kv, &err);
    if (code == 0 && is_watch(&k->q)) {
        struct way *w = k->w;
        struct http_request *r = k->r;
        struct virtual_ask q = k->q;
        closed(k); /* it lasts, and is counted otherwise */
        http_set_user(r, NULL, NULL);
        way_watch(w, r, one, &q);
        return;
    }
    if (code == 0) {
        struct computing_options o = {&k->q, k->q.verb, one, done, k};
        k->computing = computing_new(k->w, &o);
        code = k->computing ? 0 : err_set(&err, ERR_NOMEM, "no memory to ask");
    }
    if (code != 0) {
        refuse(k->r, code, err.text);
    } else {
        computing_start(k->computing);
    }
}

bool way_computed(struct way *w, struct http_request *r, const struct session *one) {
    const struct kind_version *kv = NULL;
    struct virtual_ask q = {0};
    const struct kind *kind = read_path(http_arena(r), http_path(r), &q, &kv);
    if (kind == NULL || (!str_is(str_of(kind->group), "berth.dev") &&
                         virtual_find(w->o.virtuals, str_of(kind->group), str_of(kind->plural),
                                      q.subresource) == NULL)) {
        return false; /* Kueue's own may answer there */
    }
    bool room = has_room(w, keyed_hash(one->who.user));
    struct asked *k = room ? asked_new(w, r, one) : NULL;
    if (k == NULL) {
        refuse(r, room ? ERR_NOMEM : ERR_TOO_MANY, "too much is being computed");
        return true;
    }
    k->q = q;
    answer(k, kv, one);
    return true;
}
