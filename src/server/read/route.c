/* route: from an HTTP request to its handler. The order of the steps is guard.h's. */
#include "api/schema/crd_kind.h"
#include "base/limits.h"
#include "server/flow/flow.h"
#include "server/kit/handlers.h"
#include "server/kit/names.h"

static void detached(void *user) {
    struct call *c = user;
    streams_remove(c);
    oidc_wait_cancel(&c->waiter);
    flow_leave(c);
    if (c->inflight != NULL) {
        (*c->inflight)--;
        c->inflight = NULL;
    }
    if (c->detach != NULL) {
        void (*fn)(struct call *, void *) = c->detach;
        c->detach = NULL;
        fn(c, c->detach_ctx);
    }
}

static bool is_write(enum verb v) {
    return v == VERB_CREATE || v == VERB_UPDATE || v == VERB_PATCH || v == VERB_DELETE ||
           v == VERB_DELETECOLLECTION;
}

static void count_in(struct call *c) {
    c->inflight = is_write(c->req.verb) ? &c->s->inflight_writes : &c->s->inflight_reads;
    (*c->inflight)++;
}

static bool has_subresource(const struct kind *k, struct str sub) {
    if (str_is(sub, "status")) {
        return k->flags & KIND_STATUS;
    }
    for (size_t i = 0; k->subresources != NULL && k->subresources[i] != NULL; i++) {
        if (str_is(sub, k->subresources[i])) {
            return true;
        }
    }
    return false;
}

/* Subresources that the pipeline serves as it does their object: others have their verbs in subresource.c. */
static bool has_verb(const struct api_request *q) {
    enum verb v = q->verb;
    if (str_is(q->subresource, "status") || str_is(q->subresource, "ephemeralcontainers") ||
        str_is(q->subresource, "approval")) {
        return v == VERB_GET || v == VERB_UPDATE || v == VERB_PATCH;
    }
    return !str_is(q->subresource, "finalize") || v == VERB_UPDATE;
}

/* A path below a namespace was authorized there: it may not lead to what no namespace holds. */
static bool is_misplaced(const struct api_request *q) {
    bool is_namespace = q->kind->group[0] == 0 && str_is(q->plural, "namespaces");
    return !(q->kind->flags & KIND_NAMESPACED) && q->ns.n > 0 &&
           !(is_namespace && str_eq(q->ns, q->name));
}

static void warn_deprecated(struct call *c) {
    const struct api_request *q = &c->req;
    if (q->kv->deprecated) {
        struct str own =
            q->kv->deprecation ? str_of(q->kv->deprecation) : crd_kind_deprecation(q->kv);
        call_warn(c, own.n > 0 ? own
                               : arena_f(c->arena, "%.*s/%.*s %s is deprecated; use %s",
                                         STR_ARG(q->group), STR_ARG(q->version), q->kind->kind,
                                         kind_storage(q->kind)->version));
    }
}

static void unknown(struct call *c) {
    (void)failure_unknown_path(&c->failure);
    call_fail(c);
}

/* What answers with no object: any Accept will do. */
static bool is_stream(struct str subresource) {
    return str_is(subresource, "log") || str_is(subresource, "exec") ||
           str_is(subresource, "attach") || str_is(subresource, "portforward");
}

static void dispatch_resource(struct call *c) {
    struct api_request *q = &c->req;
    struct err err = {0};
    if (q->kv == NULL || (q->subresource.n > 0 && !has_subresource(q->kind, q->subresource)) ||
        q->rest.n > 0 || is_misplaced(q)) {
        unknown(c);
        return;
    }
    bool review = (q->kind->flags & KIND_VIRTUAL) && q->kind->n_columns == 0; /* has no metadata */
    unsigned allowed =
        (review ? 0 : ACCEPT_SHAPES) | (render_protobuf_kind(q->kind, q->kv) ? ACCEPT_PROTOBUF : 0);
    if (negotiate_accept(http_header(c->http, "Accept"), allowed, &c->media, &err) != 0) {
        if (!is_stream(q->subresource)) {
            (void)failure_err(&c->failure, c->arena, &err);
            call_fail(c);
            return;
        }
    }
    warn_deprecated(c);
    if (!has_verb(q)) {
        (void)failure_method(&c->failure);
        call_fail(c);
        return;
    }
    if (q->kind->flags & KIND_COMPUTED) {
        virtual_request(c);
        return;
    }
    if (q->subresource.n > 0 && subresource_request(c)) {
        return;
    }
    if (q->kind->flags & KIND_VIRTUAL) {
        review_request(c);
        return;
    }
    switch (q->verb) {
    case VERB_GET:
        read_get(c);
        return;
    case VERB_LIST:
        read_list(c);
        return;
    case VERB_WATCH:
        watch_request(c);
        return;
    case VERB_DELETECOLLECTION:
        write_collection(c);
        return;
    case VERB_CREATE:
        if (q->name.n > 0) {
            break;
        }
        write_request(c);
        return;
    case VERB_UPDATE:
    case VERB_PATCH:
    case VERB_DELETE:
        if (q->name.n == 0) {
            break;
        }
        write_request(c);
        return;
    case VERB_OTHER:
        break;
    }
    (void)failure_method(&c->failure);
    call_fail(c);
}

void route_again(struct call *c) {
    dispatch_resource(c);
}

static const struct server_page *page_of(struct server *s, struct str path) {
    for (size_t i = 0; i < s->o.n_pages; i++) {
        struct str prefix = str_of(s->o.pages[i].prefix);
        if (str_starts(path, prefix) &&
            (path.n == prefix.n || path.p[prefix.n] == '/' || prefix.n == 1)) {
            return &s->o.pages[i];
        }
    }
    return NULL;
}

static void dispatch_path(struct call *c) {
    struct str path = c->req.path;
    while (path.n > 1 && path.p[path.n - 1] == '/') {
        path.n--;
    }
    if (discovery_request(c, path) || openapi_request(c, path) || health_request(c, path)) {
        return;
    }
    const struct server_page *page = page_of(c->s, path);
    if (page != NULL) {
        detached(c);
        page->handler(page->ctx, c->http);
        return;
    }
    call_bytes(c, 404, "text/plain; charset=utf-8", STR("404 page not found\n"));
}

/* Whoever is known vouches for the connection. */
static void vouch(struct call *c) {
    struct str name = user_account(&c->req.user);
    if (!str_is(name, "system:anonymous")) {
        http_set_account(c->http, name);
    }
}

/* The same order for a body that is still to come: who may not send it is told before it is read. Pages and what is
 * before them look at their requests by themselves; those bodies are a stranger's, and short. */
bool route_head(void *ctx, struct http_request *r) {
    struct server *s = ctx;
    struct arena *a = http_arena(r);
    struct call *c = ARENA_NEW(a, struct call);
    struct err err = {0};
    if (c == NULL) {
        http_respond(r, 500, "text/plain", STR("out of memory\n"));
        return false;
    }
    *c = (struct call){.s = s, .http = r, .arena = a, .started_ns = server_now(s)};
    int code = request_parse(a, http_method(r), http_path(r), http_query(r), &c->req, &err);
    if (code == 0 && !c->req.resource) {
        return true;
    }
    c->audit_id = str_head(http_header(r, "Audit-Id"), 64);
    int entered = guard_enter(s->o.guard, r, &c->req, a, &c->decision, &c->failure);
    if (code == 0 && entered == 0) {
        vouch(c);
        return true;
    }
    if (code == 0 && entered == ERR_AGAIN) { /* it may send what a stranger may, meanwhile */
        return true;
    }
    http_set_user(r, c, detached);
    if (c->failure.code == 0) {
        (void)failure_err(&c->failure, a, &err);
    }
    call_fail(c);
    return false;
}

static void dispatch(struct call *c) {
    count_in(c);
    if (c->req.resource) {
        dispatch_resource(c);
    } else {
        dispatch_path(c);
    }
}

/* Who asks, may they, and then the handler; once more when it had to wait for who asks. */
static void judge(void *ctx) {
    struct call *c = ctx;
    struct server *s = c->s;
    struct arena *a = c->arena;
    struct err err = {0};
    c->failure = (struct failure){0};
    int code = request_parse(a, http_method(c->http), http_path(c->http), http_query(c->http),
                             &c->req, &err);
    const struct server_page *page = c->req.resource ? NULL : page_of(s, c->req.path);
    if (page != NULL && page->open) {
        http_set_user(c->http, NULL, NULL);
        page->handler(page->ctx, c->http);
        return;
    }
    int entered = guard_enter(s->o.guard, c->http, &c->req, a, &c->decision, &c->failure);
    if (entered == ERR_AGAIN) {
        c->waiter.ready = judge;
        c->waiter.ctx = c;
        if (s->o.guard->wait(s->o.guard, &c->waiter)) {
            return;
        }
    }
    if (entered == 0) {
        vouch(c);
    }
    if (entered != 0) {
        call_fail(c);
    } else if (code != 0) {
        (void)failure_err(&c->failure, a, &err);
        call_fail(c);
    } else if (arena_ok(a) != 0) { /* a part of the request was not copied */
        (void)failure_set(&c->failure, a, ERR_NOMEM, "out of memory");
        call_fail(c);
    } else {
        flow_admit(c, dispatch);
    }
}

void route_request(void *ctx, struct http_request *r) {
    struct server *s = ctx;
    if (s->o.front != NULL && s->o.front(s->o.front_ctx, r)) {
        return;
    }
    struct arena *a = http_arena(r);
    arena_allow(a, LIMIT_REQUEST_STEPS);
    struct call *c = ARENA_NEW(a, struct call);
    if (c == NULL) {
        http_respond(r, 500, "text/plain", STR("out of memory\n"));
        return;
    }
    *c = (struct call){.s = s, .http = r, .arena = a, .started_ns = server_now(s)};
    char id[UID_TEXT_MAX];
    c->audit_id = str_head(http_header(r, "Audit-Id"), 64);
    if (c->audit_id.n == 0 && names_uid(s, id, NULL) == 0) {
        c->audit_id = arena_str(a, str_of(id));
    }
    http_set_user(r, c, detached);
    judge(c);
}
