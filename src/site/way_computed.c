/*
 * way_computed: kinds that are computed, on a cluster: answered here, with the rights that the user has there.
 *
 *     the right to ask --> ask --> an answer that needed no unknown right --> the browser
 *                           ^            |
 *                           |            v
 *                           +---- reviews of those rights        at most ROUNDS times; what is still unknown is a no
 *
 * Rights are remembered for RIGHT_NS, by session.
 */
#include "api/causes.h"
#include "api/codec.h"
#include "base/mem.h"
#include "site/refuse.h"
#include "site/way_int.h"

enum {
    ROUNDS = 4,
    AT_ONCE = 32, /* reviews of one answer */
    COMPUTING_BYTES = 16 << 20,
    COMPUTINGS_MAX = 256,
    COMPUTINGS_OF_USER = 64,
    PARAMS_MAX = 32,
    PARTS_MAX = 10,
};
#define RIGHT_NS (30 * NS_PER_SEC)

struct right {
    int64_t at; /* mono */
    bool allowed;
    char key[];
};

/* One that has to be found out. */
struct wanted {
    struct computing *k;
    struct way_question *question; /* NULL: not asked yet, or told */
    struct str verb, group, resource, subresource, ns, name, key;
};

struct computing {
    struct virtual_ask q;
    struct way *w;
    struct computing *next, **prev;
    struct http_request *r;
    uint64_t session, user; /* the session's number; the hash of its user's name */
    struct str token, plural;
    struct virtual_source *source;
    struct virtual_call *under_way;
    struct wanted *wanted;
    size_t n_wanted, sent, told;
    unsigned round;
    bool allowed; /* to ask this at all */
    bool asking, over;
    struct buf key;
    int trouble; /* a review could not be had */
    struct err why;
    struct arena a;
};

static void step(struct computing *k);

/* ---- rights ---- */

/* Valid until the next one. Empty: out of memory. */
static struct str key_of(struct computing *k, const char *verb, const char *group,
                         const char *resource, struct str sub, struct str ns, struct str name) {
    buf_reset(&k->key);
    buf_f(&k->key, "%llu\n%s\n%s\n%s\n%.*s\n%.*s\n%.*s", (unsigned long long)k->session, verb,
          group, resource, STR_ARG(sub), STR_ARG(ns), STR_ARG(name));
    return buf_ok(&k->key) ? (struct str){0} : buf_view(&k->key);
}

static void forget_rights(struct way *w) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&w->rights, &i));) {
        mem_free(e->value);
    }
    map_release(&w->rights);
    map_init(&w->rights);
}

static void remember(struct way *w, struct str key, bool allowed) {
    void *old = NULL;
    if (map_count(&w->rights) >= WAY_RIGHTS_MAX) {
        forget_rights(w);
    }
    struct right *x = mem_zalloc(sizeof(*x) + key.n + 1);
    if (!x) {
        return; /* it is asked for again */
    }
    x->at = clock_mono(w->clock);
    x->allowed = allowed;
    memcpy(x->key, key.p, key.n);
    if (map_put(&w->rights, str_from(x->key, key.n), x, &old) != 0) {
        mem_free(x);
        return;
    }
    mem_free(old);
}

enum known { UNKNOWN, NO, YES };

/* What is known; what is not is noted, to be found out. */
static enum known look_up(struct computing *k, const char *verb, const char *group,
                          const char *resource, struct str sub, struct str ns, struct str name) {
    struct str key = key_of(k, verb, group, resource, sub, ns, name);
    const struct right *x = key.n ? map_get(&k->w->rights, key) : NULL;
    if (x && clock_mono(k->w->clock) - x->at < RIGHT_NS) {
        return x->allowed ? YES : NO;
    }
    if (!key.n || k->n_wanted == WAY_RIGHTS_OF_ASK) {
        return NO;
    }
    for (size_t i = 0; i < k->n_wanted; i++) {
        if (str_eq(k->wanted[i].key, key)) {
            return UNKNOWN;
        }
    }
    k->wanted[k->n_wanted++] = (struct wanted){.k = k,
                                               .verb = arena_str(&k->a, str_of(verb)),
                                               .group = arena_str(&k->a, str_of(group)),
                                               .resource = arena_str(&k->a, str_of(resource)),
                                               .subresource = sub,
                                               .ns = arena_str(&k->a, ns),
                                               .name = arena_str(&k->a, name),
                                               .key = arena_str(&k->a, key)};
    if (arena_ok(&k->a) != 0) {
        k->n_wanted--;
        return NO;
    }
    return UNKNOWN;
}

/* The widest right first: who may in the whole cluster is asked about one time, not for each namespace. */
static bool may(const struct virtual_ask *q, const char *verb, const char *group,
                const char *resource, struct str ns, struct str name) {
    struct computing *k = q->may_ctx;
    const struct str none = {0};
    enum known x = look_up(k, verb, group, resource, none, none, none);
    if (x == NO && ns.n) {
        x = look_up(k, verb, group, resource, none, ns, none);
    }
    if (x == NO && name.n) {
        x = look_up(k, verb, group, resource, none, ns, name);
    }
    return x == YES;
}

/* ---- the end ---- */

static void computing_free(struct computing *k) {
    *k->prev = k->next;
    if (k->next) {
        k->next->prev = k->prev;
    }
    for (size_t i = 0; i < k->n_wanted; i++) {
        way_ask_cancel(k->wanted[i].question);
    }
    if (k->under_way) {
        k->source->cancel(k->source, k->under_way);
    }
    arena_release(&k->a);
    buf_release(&k->key);
    mem_free(k);
}

static void closed(void *user) {
    computing_free(user);
}

static void give_up(struct computing *k, int code, const char *text) {
    k->over = true;
    refuse(k->r, code, text && text[0] ? text : err_name(code));
}

/* ---- asking the API server ---- */

static void add_field(struct buf *b, const char *name, struct str value, bool *more) {
    if (value.n) {
        buf_f(b, "%s\"%s\":", *more ? "," : "", name);
        buf_json(b, value);
        *more = true;
    }
}

static void reviewed(void *ctx, int code, yyjson_val *root, const struct err *err) {
    struct wanted *x = ctx;
    struct computing *k = x->k;
    x->question = NULL;
    k->told++;
    if (code == 0) {
        remember(k->w, x->key, json_bool_at(root, "status.allowed", false));
    } else if (!k->trouble) {
        k->trouble = code;
        k->why = *err;
    }
    step(k);
}

static int send_review(struct wanted *x, struct err *err) {
    struct computing *k = x->k;
    struct buf b;
    bool more = false;
    buf_init(&b, 16 << 10);
    buf_c(&b, "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
              "\"spec\":{\"resourceAttributes\":{");
    add_field(&b, "verb", x->verb, &more);
    add_field(&b, "group", x->group, &more);
    add_field(&b, "resource", x->resource, &more);
    add_field(&b, "subresource", x->subresource, &more);
    add_field(&b, "namespace", x->ns, &more);
    add_field(&b, "name", x->name, &more);
    buf_c(&b, "}}}");
    int r = buf_ok(&b)
                ? err_set(err, ERR_NOMEM, "no memory to ask")
                : way_ask(k->w, k->token, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                          buf_view(&b), reviewed, x, &x->question, err);
    buf_release(&b);
    return r;
}

static int send_reviews(struct computing *k, struct err *err) {
    int r = 0;
    while (r == 0 && k->sent < k->n_wanted && k->sent - k->told < AT_ONCE) {
        r = send_review(&k->wanted[k->sent++], err);
    }
    return r;
}

/* ---- asking whoever answers ---- */

static void answered(void *ctx, int code, struct str json, const struct err *err) {
    struct computing *k = ctx;
    k->under_way = NULL;
    k->asking = false;
    if (k->n_wanted > 0 && k->round < ROUNDS) {
        step(k);
    } else if (code != 0) {
        give_up(k, code, err ? err->text : NULL);
    } else {
        k->over = true;
        (void)http_add_header(k->r, "Cache-Control", STR("no-store"));
        http_respond(k->r, str_is(str_of(k->q.verb), "create") ? 201 : 200, "application/json",
                     json);
    }
}

static void ask(struct computing *k) {
    struct err err = {0};
    struct virtual_call *call = NULL;
    k->n_wanted = k->sent = k->told = 0;
    k->round++;
    k->source =
        virtual_find(k->w->o.virtuals, str_of(k->q.kind->group), k->plural, k->q.subresource);
    if (!k->source) {
        give_up(k, ERR_UNAVAILABLE,
                "this is answered by the replica that leads, and this one does not");
        return;
    }
    k->asking = true;
    int r = k->source->ask(k->source, &k->q, answered, k, &call, &err);
    if (r != 0) {
        answered(k, r, (struct str){0}, &err);
    } else if (k->asking) {
        k->under_way = call;
    }
}

/* May the user ask this at all? */
static enum known may_ask(struct computing *k) {
    const struct virtual_ask *q = &k->q;
    return look_up(k, q->verb, q->kind->group, q->kind->plural, q->subresource, q->ns, q->name);
}

static void step(struct computing *k) {
    struct err err = {0};
    if (k->over) {
        return;
    }
    if (k->trouble) {
        give_up(k, k->trouble, k->why.text);
    } else if (k->told < k->n_wanted) {
        int r = send_reviews(k, &err);
        if (r != 0) {
            give_up(k, r, err.text);
        }
    } else if (k->allowed || may_ask(k) == YES) {
        k->allowed = true;
        ask(k);
    } else {
        struct str text =
            arena_f(&k->a, "%s.%s is forbidden: you cannot %s it %s%.*s", k->q.kind->plural,
                    k->q.kind->group, k->q.verb,
                    k->q.ns.n ? "in the namespace " : "at the cluster scope", STR_ARG(k->q.ns));
        give_up(k, ERR_FORBIDDEN, text.p);
    }
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
            if (!high || !low || !*high || !*low) {
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

static bool read_query(struct computing *k, struct str query) {
    struct virtual_param *params = ARENA_ARRAY(&k->a, struct virtual_param, PARAMS_MAX);
    struct str part, key, value;
    size_t n = 0;
    while (params && str_next(&query, '&', &part)) {
        str_cut(part, '=', &key, &value);
        if (n == PARAMS_MAX || !unescape(&k->a, key, &params[n].key) ||
            !unescape(&k->a, value, &params[n].value)) {
            return false;
        }
        n++;
    }
    k->q.query = params;
    k->q.n_query = n;
    return params != NULL;
}

/* The body of a create, by the kind's tables: pruned, with defaults, valid. */
static int read_body(struct computing *k, const struct kind_version *kv, struct err *err) {
    struct causes causes = {.arena = &k->a};
    yyjson_mut_doc *d;
    struct buf b;
    int r = json_parse_mut(&k->a, http_body(k->r), &d, err);
    yyjson_mut_val *root = r == 0 ? yyjson_mut_doc_get_root(d) : NULL;
    if (r == 0 &&
        (!yyjson_mut_is_obj(root) || !str_is(json_mstr_at(root, "kind"), k->q.kind->kind))) {
        r = err_set(err, ERR_BAD_REQUEST, "expected an object of kind %s", k->q.kind->kind);
    }
    r = r ? r : codec_prune(kv->schema, d, root, NULL, NULL);
    r = r || !kv->to_storage ? r : codec_to_storage(k->q.kind, kv, d, err);
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
        k->q.body = arena_str(&k->a, buf_view(&b));
        r = buf_ok(&b) || !k->q.body.p ? err_set(err, ERR_NOMEM, "no memory for the object") : 0;
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
    if (!k || !(k->flags & KIND_COMPUTED) || n > at + 3 ||
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

static struct computing *computing_new(struct way *w, struct http_request *r,
                                       const struct session *one) {
    struct computing *k = mem_zalloc(sizeof(*k));
    if (!k) {
        return NULL;
    }
    arena_init(&k->a, COMPUTING_BYTES);
    buf_init(&k->key, 8192);
    k->w = w;
    k->r = r;
    k->session = one->number;
    k->user = str_hash(one->who.user);
    k->token = arena_str(&k->a, one->who.token);
    k->wanted = ARENA_ARRAY(&k->a, struct wanted, WAY_RIGHTS_OF_ASK);
    k->q.may = may;
    k->q.may_ctx = k;
    k->next = w->computings;
    k->prev = &w->computings;
    if (k->next) {
        k->next->prev = &k->next;
    }
    w->computings = k;
    if (arena_ok(&k->a) != 0) {
        computing_free(k);
        return NULL;
    }
    return k;
}

static int prepare(struct computing *k, const struct kind_version *kv, struct err *err) {
    k->q.verb = verb_of(k->q.kind, http_method(k->r), k->q.name.n > 0);
    k->plural = str_of(k->q.kind->plural);
    if (!k->q.verb || str_is(virtual_param(&k->q, "watch"), "true") ||
        str_is(virtual_param(&k->q, "watch"), "1")) {
        return err_set(err, ERR_METHOD, "the server does not allow this method on %s",
                       k->q.kind->plural);
    }
    return str_is(str_of(k->q.verb), "create") ? read_body(k, kv, err) : 0;
}

bool way_computed(struct way *w, struct http_request *r, const struct session *one) {
    const struct kind_version *kv = NULL;
    struct virtual_ask q = {0};
    struct err err = {0};
    size_t n = 0, own = 0;
    const struct kind *kind = read_path(http_arena(r), http_path(r), &q, &kv);
    if (!kind ||
        (!str_is(str_of(kind->group), "berth.dev") &&
         !virtual_find(w->o.virtuals, str_of(kind->group), str_of(kind->plural), q.subresource))) {
        return false; /* Kueue's own may answer there */
    }
    for (const struct computing *x = w->computings; x; x = x->next) {
        n++;
        own += x->user == str_hash(one->who.user);
    }
    bool room = n < COMPUTINGS_MAX && own < COMPUTINGS_OF_USER;
    struct computing *k = room ? computing_new(w, r, one) : NULL;
    if (!k) {
        refuse(r, room ? ERR_NOMEM : ERR_TOO_MANY, "too much is being computed");
        return true;
    }
    q.may = k->q.may;
    q.may_ctx = k;
    k->q = q; /* names live in the request's arena */
    http_set_user(r, k, closed);
    int code = read_query(k, http_query(r))
                   ? prepare(k, kv, &err)
                   : err_set(&err, ERR_BAD_REQUEST, "the query is malformed");
    if (code != 0) {
        give_up(k, code, err.text);
        return true;
    }
    (void)may_ask(k);
    step(k);
    return true;
}

void way_computed_release(struct way *w) {
    while (w->computings) {
        computing_free(w->computings);
    }
    forget_rights(w);
    map_release(&w->rights);
}
