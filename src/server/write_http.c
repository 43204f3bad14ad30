/*
 * write_http: the HTTP side of the write pipeline: the body's type, the options, and the answer
 * when it is committed.
 *
 * A peer that goes away does not take its write back: the write is orphaned, and its end answers
 * nobody.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "server/body.h"
#include "server/handlers.h"
#include "server/hooks.h"
#include "server/pipeline.h"
#include "server/remove.h"
#include "server/select.h"

void write_orphan(struct call *c, void *ctx) {
    struct write *w = ctx;
    w->call = NULL;
    w->orphaned = true;
    hooks_abandon(w); /* nothing of it is staged yet */
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

static int body_type_of(struct call *c, enum body_type *ret) {
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
    int r = body_type_of(c, &type);
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
    write_run(w);
}

/* ---- deletecollection: one write an object, one answer when all are done ---- */

struct sweep {
    struct call *call;
    struct api_request *reqs;   /* in the arena */
    const struct object **objs; /* one reference each, in order */
    size_t n, waiting;
    struct delete_options options;
    struct err err; /* of the first delete that failed */
};

static void sweep_free(struct sweep *s) {
    for (size_t i = 0; i < s->n; i++) {
        object_unref(s->objs[i]);
    }
    mem_free(s->objs);
    mem_free(s);
}

static void sweep_detach(struct call *c, void *ctx) {
    struct sweep *s = ctx;
    s->call = NULL;
    hooks_abandon_all(c->s, s);
}

static void sweep_answer(struct sweep *s) {
    struct call *c = s->call;
    if (c != NULL) {
        struct render r = call_render(c);
        struct buf b;
        int code = s->err.code;
        c->detach = NULL;
        buf_init(&b, 0);
        render_list_head(&r, mirror_revision(c->s->o.mirror), (struct str){0}, 0, &b);
        for (size_t i = 0; i < s->n && code == 0; i++) {
            code = render_list_item(&r, s->objs[i], i == 0, &b, &s->err);
        }
        render_list_tail(&r, &b);
        if (code != 0) {
            (void)failure_err(&c->failure, c->arena, &s->err);
            call_fail(c);
        } else {
            call_json(c, 200, &b);
        }
        buf_release(&b);
    }
    sweep_free(s);
}

static void swept(struct write *w) {
    struct sweep *s = w->ctx;
    int code = w->failure.code;
    if (code != 0 && code != ERR_NOT_FOUND && s->err.code == 0) {
        failure_to_err(&w->failure, &s->err);
    }
    write_free(w);
    if (--s->waiting == 0) {
        sweep_answer(s);
    }
}

struct gather {
    struct sweep *s;
    struct picker *p;
    size_t cap;
    int failed;
};

static bool gather(void *ctx, const struct object *o) {
    struct gather *g = ctx;
    if (!pick_matches(g->p, o)) {
        return g->p->failed == 0;
    }
    g->failed = vec_grow((void **)&g->s->objs, &g->cap, g->s->n, 1, sizeof(*g->s->objs));
    if (g->failed == 0) {
        g->s->objs[g->s->n++] = object_ref(o);
    }
    return g->failed == 0;
}

static void sweep_run(struct sweep *s) {
    struct call *c = s->call;
    struct server *srv = c->s;
    struct arena *a = c->arena;
    s->waiting = 1;
    for (size_t i = 0; i < s->n; i++) {
        struct write *w = write_new(srv);
        struct api_request *q = ARENA_NEW(a, struct api_request);
        if (w == NULL || q == NULL) {
            write_free(w);
            (void)err_set(&s->err, ERR_NOMEM, "out of memory");
            break;
        }
        *q = c->req;
        q->verb = VERB_DELETE;
        q->name = s->objs[i]->name;
        q->ns = s->objs[i]->ns;
        w->req = q;
        w->arena = a;
        w->orphaned = true;
        w->delete_options = &s->options;
        w->done = swept;
        w->ctx = s;
        s->waiting++;
        write_run(w);
    }
    if (--s->waiting == 0) {
        sweep_answer(s);
    }
}

void write_collection(struct call *c) {
    struct err err = {0};
    enum body_type type;
    struct picker p;
    struct sweep *s = mem_zalloc(sizeof(*s));
    int r = s == NULL ? failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory") : 0;
    r = r ? r : body_type_of(c, &type);
    r = r ? r
          : remove_options(&c->req, c->arena, http_body(c->http), type, &s->options,
                           &c->req.opt.dry_run, &c->failure);
    if (r == 0 && (r = pick_init(&p, &c->req, c->arena, &c->s->scratch, &err)) != 0) {
        (void)failure_err(&c->failure, c->arena, &err);
    }
    if (r != 0) {
        mem_free(s);
        call_fail(c);
        return;
    }
    s->call = c;
    c->detach = sweep_detach;
    c->detach_ctx = s;
    struct gather g = {.s = s, .p = &p};
    mirror_scan(c->s->o.mirror, kind_stored(c->req.kind), request_key_ns(&c->req), gather, &g);
    if (g.failed != 0 || p.failed != 0) { /* nothing is deleted by halves from the start */
        (void)err_set(&s->err, ERR_NOMEM, "out of memory");
        sweep_answer(s);
        return;
    }
    sweep_run(s);
}
