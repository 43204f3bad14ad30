/*
 * virtual: resources that are computed when asked for (port/virtual.h): who answers is in the registry; the answer is
 * sent as the client wants it, tables included. Authorization of the request itself was route.c's; what the answerer
 * asks further (may the asker list workloads in that namespace?) goes through the same guard. Watches are in
 * virtual_stream.c.
 */
#include "server/computed/virtual.h"

#include "api/schema/codec.h"
#include "base/limits.h"
#include "server/computed/api_services.h"
#include "server/write/body.h"
#include "wire/json/json.h"

struct asking {
    struct virtual_ask q;
    struct virtual_asker who;
    struct call *call;
    struct virtual_source *source;
    struct virtual_call *under_way; /* NULL once answered */
    bool answered;
};

bool virtual_may(const struct virtual_ask *q, const char *verb, const char *group,
                 const char *resource, struct str ns, struct str name) {
    const struct virtual_asker *k = q->may_ctx;
    struct guard *g = k->call->s->o.guard;
    struct err err = {0};
    struct str reason = {0};
    struct api_request want = k->call->req;
    want.verb_name = str_of(verb);
    want.group = str_of(group);
    struct str sub, both = str_of(resource);
    if (!str_cut(both, '/', &want.plural, &sub)) {
        want.plural = both;
        sub = (struct str){0};
    }
    want.subresource = sub;
    want.kind = NULL;
    for (size_t i = 0, n = 0; want.kind == NULL; i++) {
        const struct kind *const *kinds = kinds_builtin(&n);
        if (i == n) {
            return false;
        }
        bool same = str_is(want.group, kinds[i]->group) && str_is(want.plural, kinds[i]->plural);
        want.kind = same ? kinds[i] : NULL;
    }
    want.verb = str_is(want.verb_name, "get")    ? VERB_GET
                : str_is(want.verb_name, "list") ? VERB_LIST
                                                 : VERB_UPDATE;
    want.ns = ns;
    want.name = want.authz_name = name;
    return g == NULL || g->authorize == NULL ||
           g->authorize(g, &want, k->arena, &reason, &err) == 0;
}

/* ---- the answer ---- */

static void row(struct call *c, yyjson_val *obj, bool first, struct buf *out) {
    buf_c(out, first ? "{\"cells\":" : ",{\"cells\":");
    codec_cells(c->req.kind, c->req.kv, obj, server_now(c->s), out);
    buf_c(out, ",\"object\":");
    if (str_is(c->req.opt.include_object, "Object")) {
        json_write(out, obj);
    } else {
        buf_f(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%s\",",
              c->media.v1beta1 ? "v1beta1" : "v1");
        buf_c(out, "\"metadata\":");
        json_write(out, json_path(obj, "metadata"));
        buf_ch(out, '}');
    }
    buf_ch(out, '}');
}

bool virtual_is_table(const struct call *c) {
    return c->media.shape == SHAPE_TABLE && c->req.kind->n_columns > 0;
}

int virtual_table(struct call *c, struct arena *a, struct str json, struct buf *out,
                  struct err *err) {
    yyjson_doc *doc;
    struct render r = call_render(c);
    int code = json_parse(a, json, &doc, err);
    if (code != 0) {
        return code;
    }
    yyjson_val *root = yyjson_doc_get_root(doc), *items = json_get(root, STR("items")), *item;
    size_t i, n;
    render_list_head(&r, mirror_revision(c->s->o.mirror), (struct str){0}, 0, out);
    if (items == NULL) {
        row(c, root, true, out);
    }
    yyjson_arr_foreach(items, i, n, item) {
        row(c, item, i == 0, out);
    }
    render_list_tail(&r, out);
    return 0;
}

static void answer(struct call *c, struct str json) {
    struct err err = {0};
    struct buf b;
    int code = 0;
    buf_init(&b, 0);
    if (virtual_is_table(c)) {
        code = virtual_table(c, c->arena, json, &b, &err);
    } else {
        buf_str(&b, json);
        buf_ch(&b, '\n');
    }
    if (code != 0) {
        (void)failure_err(&c->failure, c->arena, &err);
        call_fail(c);
    } else {
        call_json(c, c->req.verb == VERB_CREATE ? 201 : 200, &b);
    }
    buf_release(&b);
}

static void done(void *ctx, int code, struct str json, const struct err *err) {
    struct asking *k = ctx;
    struct call *c = k->call;
    struct err none = {.code = code};
    k->answered = true;
    k->under_way = NULL;
    c->detach = NULL;
    if (code != 0) {
        (void)failure_err(&c->failure, c->arena, err != NULL ? err : &none);
        call_fail(c);
        return;
    }
    answer(c, json);
}

static void gone(struct call *c, void *ctx) {
    struct asking *k = ctx;
    if (k->under_way != NULL) {
        k->source->cancel(k->source, k->under_way);
    }
}

/* ---- the question ---- */

static const char *verb_of(const struct kind *k, enum verb v) {
    if (k->flags & KIND_VIRTUAL) {
        return v == VERB_CREATE ? "create" : NULL;
    }
    return v == VERB_GET ? "get" : v == VERB_LIST && k->subresources == NULL ? "list" : NULL;
}

/* The body of a create, checked by the kind's table: JSON in the arena. */
static int read_object(struct call *c, struct str *ret) {
    struct write w = {.s = c->s, .req = &c->req, .arena = c->arena, .call = c};
    struct causes causes = {.arena = c->arena};
    struct err err = {0};
    w.body = http_body(c->http);
    int r = negotiate_body(http_header(c->http, "Content-Type"), &w.type, &err);
    if (r != 0) {
        return failure_err(&c->failure, c->arena, &err);
    }
    r = body_decode(&w);
    if (r != 0) {
        c->failure = w.failure;
        return r;
    }
    r = codec_default(c->req.kind, w.doc, &err);
    r = r ? r : codec_validate(c->req.kind, yyjson_mut_doc_get_root(w.doc), NULL, &causes);
    if (r != 0) {
        return failure_err(&c->failure, c->arena, &err);
    }
    if (causes.n > 0) {
        return failure_invalid(&c->failure, c->arena, c->req.kind->group, c->req.kind->kind,
                               c->req.name, &causes);
    }
    struct buf b;
    buf_init(&b, LIMIT_BODY_BYTES * 2);
    json_write_mut(&b, yyjson_mut_doc_get_root(w.doc));
    *ret = arena_str(c->arena, buf_view(&b));
    r = buf_ok(&b);
    buf_release(&b);
    return r || ret->p == NULL ? failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory") : 0;
}

bool virtual_question(struct call *c, const char *verb, const struct virtual_asker *who,
                      struct virtual_ask *ret) {
    const struct api_request *q = &c->req;
    struct virtual_param *params = ARENA_ARRAY(c->arena, struct virtual_param, q->n_query + 1);
    for (size_t i = 0; params != NULL && i < q->n_query; i++) {
        params[i] = (struct virtual_param){q->query[i].key, q->query[i].value};
    }
    *ret = (struct virtual_ask){.verb = verb,
                                .kind = q->kind,
                                .version = q->version,
                                .subresource = q->subresource,
                                .ns = request_key_ns(q),
                                .name = q->name,
                                .query = params,
                                .n_query = q->n_query,
                                .user = q->user.name,
                                .groups = q->user.groups.v,
                                .n_groups = q->user.groups.n,
                                .may = virtual_may,
                                .may_ctx = (void *)(uintptr_t)who};
    return params != NULL;
}

struct virtual_source *virtual_answerer(struct call *c) {
    const struct api_request *q = &c->req;
    struct virtual_source *s = virtual_find(c->s->o.virtuals, q->group, q->plural, q->subresource);
    s = s != NULL ? s : api_services_find(q->kind);
    if (s == NULL) {
        (void)failure_set(&c->failure, c->arena, ERR_UNAVAILABLE,
                          "nobody answers for %s here: the controllers do not run",
                          q->kind->plural);
    }
    return s;
}

static int ask(struct call *c, const char *verb) {
    const struct api_request *q = &c->req;
    struct asking *k = ARENA_NEW(c->arena, struct asking);
    struct err err = {0};
    if (k == NULL || !virtual_question(c, verb, &k->who, &k->q)) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    k->call = c;
    k->who = (struct virtual_asker){c, c->arena};
    k->source = virtual_answerer(c);
    if (k->source == NULL) {
        return c->failure.code;
    }
    int r = str_is(str_of(verb), "create") ? read_object(c, &k->q.body) : 0;
    if (r != 0) {
        return r;
    }
    c->detach = gone;
    c->detach_ctx = k;
    struct virtual_call *under_way = NULL;
    r = k->source->ask(k->source, &k->q, done, k, &under_way, &err);
    if (r != 0) {
        c->detach = NULL;
        return r == ERR_NOT_FOUND && err.text[0] == 0
                   ? failure_not_found(&c->failure, c->arena, q->kind, q->name)
                   : failure_err(&c->failure, c->arena, &err);
    }
    if (!k->answered) {
        k->under_way = under_way;
    }
    return 0;
}

void virtual_request(struct call *c) {
    if (c->req.verb == VERB_WATCH && c->req.name.n == 0 && c->req.kind->subresources == NULL &&
        !(c->req.kind->flags & KIND_VIRTUAL)) {
        virtual_watch_request(c);
        return;
    }
    const char *verb = verb_of(c->req.kind, c->req.verb);
    /* what only has subresources is no resource by itself */
    bool bare = c->req.kind->subresources != NULL && c->req.subresource.n == 0;
    int r = bare           ? failure_unknown_path(&c->failure)
            : verb == NULL ? failure_method(&c->failure)
                           : ask(c, verb);
    if (r != 0) {
        call_fail(c);
    }
}
