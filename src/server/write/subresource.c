/*
 * subresource: what is below an object: binding, eviction, token, log; finalize, status and ephemeralcontainers go
 * through the pipeline as they are. Reviews (objects that are answered, never stored) are here too.
 */
#include "api/schema/codec.h"
#include "server/kit/handlers.h"
#include "server/write/body.h"
#include "server/write/evict.h"
#include "server/write/meta.h"
#include "server/write/remove.h"
#include "wire/json/json.h"

/* The answer of binding and eviction: a Status with code 201. */
static void answer_success(struct write *w) {
    struct call *c = write_answered(w);
    if (c != NULL) {
        struct buf b;
        buf_init(&b, 0);
        status_success(&b, NULL, (struct str){0}, (struct str){0}, 201);
        call_json(c, 201, &b);
        buf_release(&b);
    }
    write_free(w);
}

static int read_body(struct call *c, yyjson_mut_doc **ret) {
    enum body_type type;
    struct err err = {0};
    if (negotiate_body(http_header(c->http, "Content-Type"), &type, &err) != 0) {
        return failure_err(&c->failure, c->arena, &err);
    }
    return body_any(c->arena, http_body(c->http), type, ret, &c->failure);
}

static struct write *begin(struct call *c) {
    struct write *w = write_new(c->s);
    if (w == NULL) {
        (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        call_fail(c);
        return NULL;
    }
    w->req = &c->req;
    w->arena = c->arena;
    w->call = c;
    w->done = answer_success;
    w->unasked = true;
    w->now = server_now(c->s);
    c->detach = write_orphan;
    c->detach_ctx = w;
    return w;
}

static int bind_steps(struct write *w, yyjson_mut_doc *body) {
    int r = write_load(w);
    if (r != 0) {
        return r;
    }
    struct str node = json_mstr_at(yyjson_mut_doc_get_root(body), "target.name");
    struct str bound = json_str_at(w->old_tree, "spec.nodeName");
    struct str kind = json_mstr_at(yyjson_mut_doc_get_root(body), "target.kind");
    if (kind.n > 0 && !str_is(kind, "Node")) {
        return failure_invalid_one(
            &w->failure, w->arena, "", "Binding", w->old->name, CAUSE_NOT_SUPPORTED, "target.kind",
            "Unsupported value: \"%.*s\": supported values: \"Node\"", STR_ARG(str_head(kind, 64)));
    }
    if (node.n == 0) {
        return failure_invalid_one(&w->failure, w->arena, "", "Binding", w->old->name,
                                   CAUSE_REQUIRED, "target.name", "Required value");
    }
    if (bound.n > 0) {
        return failure_conflict(&w->failure, w->arena, w->req->kind, w->old->name,
                                arena_f(w->arena, "pod %.*s is already assigned to node \"%.*s\"",
                                        STR_ARG(w->old->name), STR_ARG(bound)));
    }
    w->doc = json_mut_copy(w->arena, w->old_tree);
    yyjson_mut_val *root = w->doc != NULL ? yyjson_mut_doc_get_root(w->doc) : NULL;
    yyjson_mut_val *spec = root != NULL ? json_mensure(w->doc, root, "spec") : NULL;
    if (spec == NULL || json_mset_str(w->doc, spec, "nodeName", node) != 0) {
        return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    size_t i, n;
    yyjson_mut_val *key, *v;
    yyjson_mut_val *extra = json_mpath(yyjson_mut_doc_get_root(body), "metadata.annotations");
    yyjson_mut_obj_foreach(extra, i, n, key, v) {
        yyjson_mut_val *to = json_mensure(w->doc, root, "metadata.annotations");
        yyjson_mut_val *copy = yyjson_mut_val_mut_copy(w->doc, v);
        if (to == NULL || copy == NULL || json_mset(w->doc, to, json_mstr(key), copy) != 0) {
            return failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
        }
    }
    return 0;
}

static void binding(struct call *c) {
    yyjson_mut_doc *body = NULL;
    int r = read_body(c, &body);
    if (r == 0 && body == NULL) {
        r = failure_set(&c->failure, c->arena, ERR_BAD_REQUEST, "a Binding is required");
    }
    if (r != 0) {
        call_fail(c);
        return;
    }
    struct write *w = begin(c);
    if (w == NULL) {
        return;
    }
    w->whole = true;
    r = bind_steps(w, body);
    if (r == 0 && meta_set_condition(w, "PodScheduled", NULL, NULL) != 0) {
        r = failure_set(&w->failure, w->arena, ERR_NOMEM, "out of memory");
    }
    if (r != 0) {
        write_finish(w);
    } else {
        write_replace(w);
    }
}

static void eviction(struct call *c) {
    yyjson_mut_doc *body = NULL;
    struct delete_options *o = ARENA_NEW(c->arena, struct delete_options);
    int r = o == NULL ? failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory")
                      : read_body(c, &body);
    if (r == 0) {
        yyjson_mut_val *root = body != NULL ? yyjson_mut_doc_get_root(body) : NULL;
        struct str name = json_mstr_at(root, "metadata.name");
        r = name.n > 0 && !str_eq(name, c->req.name)
                ? failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                              "name in URL does not match name in Eviction object")
                : remove_options_of(json_mget(root, STR("deleteOptions")), c->arena, o,
                                    &c->req.opt.dry_run, &c->failure);
    }
    if (r != 0) {
        call_fail(c);
        return;
    }
    struct write *w = begin(c);
    if (w != NULL) {
        w->delete_options = o;
        evict_run(w);
    }
}

static void answer_tree(struct call *c, yyjson_mut_doc *d) {
    struct buf b;
    buf_init(&b, 0);
    json_write_mut(&b, yyjson_mut_doc_get_root(d));
    buf_ch(&b, '\n');
    call_json(c, 201, &b);
    buf_release(&b);
}

static int token_steps(struct call *c, yyjson_mut_doc **ret) {
    struct guard *g = c->s->o.guard;
    const struct api_request *q = &c->req;
    struct err err = {0};
    const struct object *account = mirror_get(c->s->o.mirror, q->kind, request_key_ns(q), q->name);
    if (account == NULL) {
        return failure_not_found(&c->failure, c->arena, q->kind, q->name);
    }
    if (g == NULL || g->token == NULL) {
        return failure_set(&c->failure, c->arena, ERR_UNSUPPORTED, "tokens are not served");
    }
    int r = read_body(c, ret);
    if (r == 0 && *ret == NULL && (*ret = json_mut_new(c->arena)) != NULL) {
        yyjson_mut_doc_set_root(*ret, yyjson_mut_obj(*ret));
    }
    if (r != 0 || *ret == NULL) {
        return r ? r : failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(*ret);
    r = json_mset_str(*ret, root, "apiVersion", STR("authentication.k8s.io/v1"));
    r = r ? r : json_mset_str(*ret, root, "kind", STR("TokenRequest"));
    r = r ? err_set(&err, ERR_NOMEM, "out of memory")
          : g->token(g, q, account, *ret, c->arena, &err);
    return r != 0 ? failure_err(&c->failure, c->arena, &err) : 0;
}

static void token(struct call *c) {
    yyjson_mut_doc *d = NULL;
    if (token_steps(c, &d) != 0) {
        call_fail(c);
    } else {
        answer_tree(c, d);
    }
}

bool subresource_request(struct call *c) {
    static const struct {
        const char *name;
        enum verb verb;
        void (*run)(struct call *c);
    } rows[] = {
        {"binding", VERB_CREATE, binding},
        {"eviction", VERB_CREATE, eviction},
        {"token", VERB_CREATE, token},
        {"log", VERB_GET, podlog_request},
    };
    struct str sub = c->req.subresource;
    if (str_is(sub, "status") || str_is(sub, "finalize") || str_is(sub, "ephemeralcontainers") ||
        str_is(sub, "approval")) {
        return false;
    }
    if (str_is(sub, "scale")) {
        scale_request(c);
        return true;
    }
    if (str_is(sub, "exec") || str_is(sub, "attach") || str_is(sub, "portforward")) {
        talk_request(c);
        return true;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (str_is(sub, rows[i].name)) {
            if (c->req.verb == rows[i].verb) {
                rows[i].run(c);
            } else {
                (void)failure_method(&c->failure);
                call_fail(c);
            }
            return true;
        }
    }
    (void)failure_method(&c->failure);
    call_fail(c);
    return true;
}

/* A virtual kind: decoded, defaulted and validated as others, then answered by the guard. */
static int review_steps(struct write *w) {
    struct guard *g = w->s->o.guard;
    struct err err = {0};
    int r = body_decode(w);
    if (r == 0 && (r = codec_default(w->req->kind, w->doc, &err)) != 0) {
        r = failure_err(&w->failure, w->arena, &err);
    }
    if (r != 0) {
        return r;
    }
    if (g == NULL || g->review == NULL) {
        return failure_set(&w->failure, w->arena, ERR_UNSUPPORTED, "reviews are not served");
    }
    r = g->review(g, w->req, w->doc, w->arena, &err);
    return r != 0 ? failure_err(&w->failure, w->arena, &err) : 0;
}

void review_request(struct call *c) {
    struct err err = {0};
    struct write w = {.s = c->s, .req = &c->req, .arena = c->arena, .call = c};
    w.body = http_body(c->http);
    int r = c->req.verb != VERB_CREATE || c->req.name.n > 0 ? failure_method(&w.failure) : 0;
    if (r == 0 && negotiate_body(http_header(c->http, "Content-Type"), &w.type, &err) != 0) {
        r = failure_err(&w.failure, c->arena, &err);
    }
    r = r ? r : review_steps(&w);
    if (r != 0) {
        c->failure = w.failure;
        call_fail(c);
    } else {
        answer_tree(c, w.doc);
    }
}
