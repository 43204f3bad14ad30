/*
 * openapi: the index of version 3 and one document a group-version; version 2 as one document, in JSON or protobuf.
 *
 * Documents are made when asked for and dropped: clients keep them by the hash in their URL, or by their entity tag.
 * Both come from sums over what a document is made from, so that thousands of definitions cost an index and no more.
 * A document that is longer than a step is a stream (turns.h).
 */
#include "api/openapi/openapi.h"
#include "base/mem.h"
#include "server/kit/handlers.h"
#include "server/read/turns.h"

enum { STEP_BYTES = 256 << 10 };

#define PROTOBUF "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

/* ---- sums ---- */

struct openapi_sums {
    uint64_t *v; /* by place in groups_all */
    size_t n;
    uint64_t all, generation;
    bool made;
};

void openapi_release(struct server *s) {
    if (s->openapi != NULL) {
        mem_free(s->openapi->v);
        mem_free(s->openapi);
        s->openapi = NULL;
    }
}

/* Sums are added, so that the order in which kinds came does not show. */
static void add_kinds(struct openapi_sums *o) {
    size_t n;
    const struct kind *const *kinds = kinds_all(&n);
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < kinds[i]->n_versions; v++) {
            const struct kind_version *kv = &kinds[i]->versions[v];
            ptrdiff_t at = kv->hidden ? -1 : groups_find(kinds[i]->group, kv->version);
            if (at >= 0) {
                uint64_t sum = openapi_kind_sum(kinds[i], kv);
                o->v[at] += sum;
                o->all += sum;
            }
        }
    }
}

static int make_sums(struct server *s, struct err *err) {
    size_t n;
    (void)groups_all(&n);
    if (s->openapi == NULL && (s->openapi = mem_zalloc(sizeof(*s->openapi))) == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    struct openapi_sums *o = s->openapi;
    if (o->made && o->generation == kinds_generation()) {
        return 0;
    }
    uint64_t *v = mem_array(n, sizeof(*v));
    if (v == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    mem_free(o->v);
    o->v = v;
    o->n = n;
    o->all = openapi_tables_sum();
    for (size_t i = 0; i < n; i++) {
        o->v[i] = openapi_tables_sum();
    }
    add_kinds(o);
    o->generation = kinds_generation();
    o->made = true;
    return 0;
}

static struct str sum_text(struct call *c, uint64_t sum) {
    return arena_f(c->arena, "%016llX", (unsigned long long)sum);
}

/* ---- a document ---- */

struct document {
    struct call *c;
    struct openapi o;
    struct buf step;
    uint64_t generation; /* of the kinds, which may not change on the way */
    struct answer_turn turn;
};

static void release(struct document *d) {
    turn_forget(&d->turn);
    (void)openapi_end(&d->o);
    buf_release(&d->step);
}

static void gone(struct call *c, void *ctx) {
    (void)c;
    release(ctx);
}

static void drained(void *user) {
    struct call *c = user;
    struct document *d = c->detach_ctx;
    if (c->detach != NULL) {
        turn_ready(&d->turn);
    }
}

/* True when there is more. */
static bool fill(struct document *d) {
    bool more = true;
    while (more && d->step.n < STEP_BYTES) {
        more = openapi_next(&d->o, &d->step);
    }
    return more;
}

static void next_step(struct answer_turn *t) {
    struct document *d = (struct document *)((char *)t - offsetof(struct document, turn));
    struct call *c = d->c;
    bool same = d->generation == kinds_generation();
    bool more = same && fill(d);
    int r = !same ? ERR_CONFLICT : d->o.code ? d->o.code : buf_ok(&d->step);
    r = r ? r : http_stream_write(c->http, buf_view(&d->step));
    bool empty = d->step.n == 0;
    buf_release(&d->step);
    if (r != 0) { /* no client takes it for an end */
        http_stream_cut(c->http);
    } else if (more && empty) {
        turn_ready(t);
    } else if (!more) {
        c->detach = NULL;
        release(d);
        call_long_end(c);
    }
}

static void stream(struct document *d, const char *type) {
    struct call *c = d->c;
    c->detach = gone;
    c->detach_ctx = d;
    call_long(c, type);
    http_stream_on_drain(c->http, drained);
    if (http_stream_write(c->http, buf_view(&d->step)) != 0) {
        http_stream_cut(c->http);
    }
    buf_release(&d->step);
}

static void send(struct call *c, enum openapi_form form, const struct group_version *gv,
                 struct str etag, const char *type) {
    struct document *d = ARENA_NEW(c->arena, struct document);
    struct err err = {0};
    if (d == NULL) {
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        call_fail(c);
        return;
    }
    (void)http_add_header(c->http, "ETag", etag);
    (void)http_add_header(c->http, "Vary", STR("Accept"));
    *d = (struct document){
        .c = c, .generation = kinds_generation(), .turn = {.call = c, .go = next_step}};
    openapi_begin(&d->o, form, gv ? str_of(gv->group) : (struct str){0},
                  gv ? str_of(gv->version) : (struct str){0});
    buf_init(&d->step, 0);
    bool more = fill(d);
    int r = d->o.code ? d->o.code : buf_ok(&d->step);
    if (r == 0 && more) {
        stream(d, type);
        return;
    }
    if (r != 0) {
        (void)err_set(&err, r, "out of memory");
        (void)failure_err(&c->failure, c->arena, &err);
        call_fail(c);
    } else {
        call_bytes(c, 200, type, buf_view(&d->step));
    }
    release(d);
}

/* 304 when the client has it. */
static bool has_it(struct call *c, struct str etag, const char *type) {
    if (!negotiate_etag(http_header(c->http, "If-None-Match"), etag)) {
        return false;
    }
    (void)http_add_header(c->http, "ETag", etag);
    call_bytes(c, 304, type, (struct str){0});
    return true;
}

/* ---- version 3 ---- */

/* "/api/v1", "/apis/batch/v1": the place of the group-version, or -1. */
static ptrdiff_t find_path(struct call *c, struct str path) {
    struct str group = {0}, version = {0};
    if (str_starts(path, STR("/api/"))) {
        version = str_skip(path, 5);
    } else if (!str_starts(path, STR("/apis/")) ||
               !str_cut(str_skip(path, 6), '/', &group, &version)) {
        return -1;
    }
    struct str g = arena_f(c->arena, "%.*s", STR_ARG(group));
    struct str v = arena_f(c->arena, "%.*s", STR_ARG(version));
    bool core = str_starts(path, STR("/api/"));
    return g.p == NULL || v.p == NULL || (core ? false : g.n == 0) ? -1 : groups_find(g.p, v.p);
}

static void index_answer(struct call *c) {
    size_t n;
    const struct group_version *v = groups_all(&n);
    struct str etag = arena_f(c->arena, "\"%.*s\"", STR_ARG(sum_text(c, c->s->openapi->all)));
    struct buf b;
    if (has_it(c, etag, "application/json")) {
        return;
    }
    buf_init(&b, 0);
    buf_c(&b, "{\"paths\":{");
    for (size_t i = 0; i < n; i++) {
        buf_f(&b, "%s\"%s%s%s/%s\":", i ? "," : "", v[i].group[0] ? "apis" : "api",
              v[i].group[0] ? "/" : "", v[i].group, v[i].version);
        buf_f(&b, "{\"serverRelativeURL\":\"/openapi/v3/%s%s%s/%s?hash=%016llX\"}",
              v[i].group[0] ? "apis" : "api", v[i].group[0] ? "/" : "", v[i].group, v[i].version,
              (unsigned long long)c->s->openapi->v[i]);
    }
    buf_c(&b, "}}\n");
    (void)http_add_header(c->http, "ETag", etag);
    call_json(c, 200, &b);
    buf_release(&b);
}

/* With the right hash in its URL a document may be kept for ever; with a wrong one it is at another URL. */
static void document_answer(struct call *c, size_t i, const struct group_version *gv,
                            struct str path) {
    struct str want = sum_text(c, c->s->openapi->v[i]);
    struct str etag = arena_f(c->arena, "\"%.*s\"", STR_ARG(want));
    struct str hash = request_query(&c->req, "hash");
    if (hash.n > 0 && !str_eq(hash, want)) {
        struct str to = arena_f(c->arena, "%.*s?hash=%.*s", STR_ARG(path), STR_ARG(want));
        (void)http_add_header(c->http, "Location", to);
        call_bytes(c, 301, "text/plain", (struct str){0});
        return;
    }
    if (hash.n > 0) {
        (void)http_add_header(c->http, "Cache-Control", STR("public, immutable"));
    }
    if (!has_it(c, etag, "application/json")) {
        send(c, OPENAPI_V3, gv, etag, "application/json");
    }
}

/* ---- version 2 ---- */

/* The first type of the Accept header that there is: protobuf for kubectl and Helm, JSON for all others. */
static int choose_form(struct call *c, enum openapi_form *ret) {
    struct str accept = http_header(c->http, "Accept"), part, type, rest;
    *ret = OPENAPI_V2;
    if (str_trim(accept).n == 0) {
        return 0;
    }
    while (str_next(&accept, ',', &part)) {
        (void)str_cut(part, ';', &type, &rest);
        type = str_trim(type);
        if (str_is(type, PROTOBUF) ||
            str_is(type, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")) {
            *ret = OPENAPI_V2_PROTOBUF;
            return 0;
        }
        if (str_eq_nocase(type, STR("application/json")) || str_is(type, "*/*") ||
            str_is(type, "application/*")) {
            return 0;
        }
    }
    return failure_set(&c->failure, c->arena, ERR_NOT_ACCEPTABLE,
                       "only the following media types are accepted: application/json, "
                       "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
}

static void v2_answer(struct call *c) {
    enum openapi_form form;
    if (choose_form(c, &form) != 0) {
        call_fail(c);
        return;
    }
    bool protobuf = form == OPENAPI_V2_PROTOBUF;
    const char *type = protobuf ? PROTOBUF : "application/json";
    struct str etag = arena_f(c->arena, "\"%.*s%s\"", STR_ARG(sum_text(c, c->s->openapi->all)),
                              protobuf ? "P" : "");
    if (!has_it(c, etag, type)) {
        send(c, form, NULL, etag, type);
    }
}

bool openapi_request(struct call *c, struct str path) {
    struct err err = {0};
    bool v2 = str_is(path, "/openapi/v2");
    struct str rest = str_skip(path, 11);
    if (!v2 && (!str_starts(path, STR("/openapi/v3")) || (rest.n > 0 && rest.p[0] != '/'))) {
        return false;
    }
    if (!str_is(c->req.method, "GET") && !str_is(c->req.method, "HEAD")) {
        (void)failure_method(&c->failure);
        call_fail(c);
        return true;
    }
    if (make_sums(c->s, &err) != 0) {
        (void)failure_err(&c->failure, c->arena, &err);
        call_fail(c);
        return true;
    }
    if (v2) {
        v2_answer(c);
        return true;
    }
    if (rest.n == 0) {
        index_answer(c);
        return true;
    }
    size_t n;
    const struct group_version *v = groups_all(&n);
    ptrdiff_t at = find_path(c, rest);
    if (at >= 0) {
        document_answer(c, (size_t)at, &v[at], path);
    }
    return at >= 0;
}
