/*
 * write_http: the HTTP side of the write pipeline: the body's type, the options, and the answer
 * when it is committed.
 *
 * A peer that goes away does not take its write back: the write is orphaned, and its end answers
 * nobody.
 */
#include "server/kit/handlers.h"
#include "server/write/body.h"
#include "server/write/hooks.h"
#include "server/write/pipeline.h"
#include "server/write/remove.h"
#include "server/write/yaml_body.h"

void write_orphan(struct call *c, void *ctx) {
    struct write *w = ctx;
    w->call = NULL;
    w->orphaned = true;
    write_abandon(w); /* nothing of it is staged yet */
}

struct call *write_answered(struct write *w) {
    struct call *c = w->call;
    if (c == NULL) {
        return NULL;
    }
    c->detach = NULL;
    if (w->failure.code != 0) {
        c->failure = w->failure;
        call_fail(c);
        return NULL;
    }
    return c;
}

static void answer_removed(struct call *c, const struct write *w) {
    const struct kind *k = c->req.kind;
    if (k->flags & KIND_RETURNS_DELETED) {
        call_object(c, 200, w->obj);
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    status_success(&b, k, w->obj->name, w->obj->uid, 200);
    call_json(c, 200, &b);
    buf_release(&b);
}

static void answer(struct write *w) {
    struct call *c = write_answered(w);
    if (c != NULL && w->removed && c->req.verb == VERB_DELETE) {
        answer_removed(c, w);
    } else if (c != NULL) {
        call_object(c, w->http, w->obj);
    }
    write_free(w);
}

int write_body_type(struct call *c, enum body_type *ret) {
    struct err err = {0};
    struct str type = http_header(c->http, "Content-Type");
    int r = c->req.verb == VERB_PATCH
                ? negotiate_patch(type, c->req.kind->flags & KIND_CUSTOM, ret, &err)
                : negotiate_body(type, ret, &err);
    return r != 0 ? failure_err(&c->failure, c->arena, &err) : 0;
}

void write_request(struct call *c) {
    enum body_type type;
    struct delete_options *o = NULL;
    int r = write_body_type(c, &type);
    if (r == 0 && c->req.verb == VERB_PATCH && c->req.opt.force.set && type != BODY_APPLY_PATCH) {
        r = failure_invalid_one(&c->failure, c->arena, "meta.k8s.io", "PatchOptions",
                                (struct str){0}, CAUSE_FORBIDDEN, "force",
                                "Forbidden: may not be specified for non-apply patch");
    }
    if (r == 0 && c->req.verb == VERB_DELETE) {
        o = ARENA_NEW(c->arena, struct delete_options);
        r = o == NULL ? failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory")
                      : remove_options(&c->req, c->arena, http_body(c->http), type, o,
                                       &c->req.opt.dry_run, &c->failure);
    }
    struct write *w = r == 0 ? write_new(c->s) : NULL;
    if (w == NULL) {
        if (r == 0) {
            (void)failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
        }
        call_fail(c);
        return;
    }
    w->req = &c->req;
    w->arena = c->arena;
    w->body = http_body(c->http);
    w->type = type;
    w->call = c;
    w->delete_options = o;
    w->done = answer;
    c->detach = write_orphan;
    c->detach_ctx = w;
    if (!yaml_body_is_long(w)) {
        write_run(w);
    } else if (yaml_body_run(w) != 0) {
        write_finish(w);
    }
}
