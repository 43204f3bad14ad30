/*
 * sweep: deletecollection. What is selected is settled at once; then it is deleted, AT_ONCE at a time, each as a delete
 * of its own with an arena of its own, so that what a collection needs does not grow with it. The answer comes when all
 * are done: the objects as they were or, where they are too many for one answer, a Status.
 *
 * When the peer goes away, what has begun goes on and nothing more is begun.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/kit/handlers.h"
#include "server/kit/select.h"
#include "server/write/hooks.h"
#include "server/write/pipeline.h"
#include "server/write/remove.h"

enum { AT_ONCE = 64, ARENA_BYTES = 64 << 20 };

struct sweep_one {
    struct arena arena;
    struct api_request req;
    struct sweep_one *next; /* idle */
};

struct sweep {
    struct call *call; /* NULL: the peer is gone */
    struct server *server;
    struct timer *timer;
    const struct object **objs; /* one reference each, in order */
    size_t n, begun, waiting, bytes;
    bool running; /* inside step() */
    struct sweep_one ones[AT_ONCE], *idle;
    struct delete_options options;
    struct err err; /* of the first delete that failed */
};

static void sweep_free(struct sweep *s) {
    if (s->timer != NULL) {
        s->server->clock->timer_free(s->timer);
    }
    for (size_t i = 0; i < s->n; i++) {
        object_unref(s->objs[i]);
    }
    for (size_t i = 0; i < AT_ONCE; i++) {
        arena_release(&s->ones[i].arena);
    }
    mem_free(s->objs);
    mem_free(s);
}

static void answer_objects(struct sweep *s) {
    struct call *c = s->call;
    struct render r = call_render(c);
    struct buf b;
    buf_init(&b, 0);
    render_list_head(&r, mirror_revision(c->s->o.mirror), (struct str){0}, 0, &b);
    for (size_t i = 0; i < s->n && s->err.code == 0; i++) {
        (void)render_list_item(&r, s->objs[i], i == 0, &b, &s->err);
    }
    render_list_tail(&r, &b);
    if (s->err.code == 0) {
        call_json(c, 200, &b);
    }
    buf_release(&b);
}

static void answer(struct sweep *s) {
    struct call *c = s->call;
    if (c != NULL) {
        c->detach = NULL;
        if (s->err.code == 0 && s->bytes <= LIMIT_LIST_PAGE_BYTES) {
            answer_objects(s);
        } else if (s->err.code == 0) {
            struct buf b;
            buf_init(&b, 0);
            status_success(&b, c->req.kind, (struct str){0}, (struct str){0}, 200);
            call_json(c, 200, &b);
            buf_release(&b);
        }
        if (s->err.code != 0) {
            (void)failure_err(&c->failure, c->arena, &s->err);
            call_fail(c);
        }
    }
    sweep_free(s);
}

static bool is_over(const struct sweep *s) {
    return s->waiting == 0 && !s->running && (s->begun == s->n || s->call == NULL);
}

static void gone(struct call *c, void *ctx) {
    struct sweep *s = ctx;
    s->call = NULL;
    s->running = true;
    hooks_abandon_all(c->s, s);
    s->running = false;
    if (is_over(s)) {
        answer(s);
    }
}

static void deleted(struct write *w) {
    struct sweep *s = w->ctx;
    struct sweep_one *one =
        (struct sweep_one *)(void *)((char *)(uintptr_t)w->req - offsetof(struct sweep_one, req));
    int code = w->failure.code;
    if (code != 0 && code != ERR_NOT_FOUND && s->err.code == 0) {
        failure_to_err(&w->failure, &s->err);
    }
    write_free(w);
    arena_reset(&one->arena);
    one->next = s->idle;
    s->idle = one;
    s->waiting--;
    if (is_over(s)) {
        answer(s);
    } else if (s->call != NULL && s->begun < s->n && !s->running) {
        s->server->clock->timer_start(s->timer, 0);
    }
}

static bool begin(struct sweep *s, const struct object *o) {
    struct sweep_one *one = s->idle;
    struct write *w = write_new(s->server);
    if (w == NULL) {
        (void)err_set(&s->err, ERR_NOMEM, "out of memory");
        return false;
    }
    s->idle = one->next;
    one->req = s->call->req;
    one->req.verb = VERB_DELETE;
    one->req.name = o->name;
    one->req.ns = o->ns;
    w->req = &one->req;
    w->arena = &one->arena;
    w->delete_options = &s->options;
    w->done = deleted;
    w->ctx = s;
    s->waiting++;
    write_run(w);
    return true;
}

static void step(void *ctx) {
    struct sweep *s = ctx;
    s->running = true;
    for (size_t i = 0; i < AT_ONCE && s->begun < s->n && s->idle != NULL; i++) {
        s->begun = begin(s, s->objs[s->begun]) ? s->begun + 1 : s->n;
    }
    s->running = false;
    if (is_over(s)) {
        answer(s);
    } else if (s->idle != NULL && s->begun < s->n) {
        s->server->clock->timer_start(s->timer, 0);
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
        g->s->bytes += o->json.n;
    }
    return g->failed == 0;
}

static struct sweep *sweep_new(struct call *c) {
    struct sweep *s = mem_zalloc(sizeof(*s));
    if (s == NULL) {
        return NULL;
    }
    s->server = c->s;
    s->timer = c->s->clock->timer_new(c->s->clock, step, s);
    for (size_t i = 0; i < AT_ONCE; i++) {
        arena_init(&s->ones[i].arena, ARENA_BYTES);
        s->ones[i].next = s->idle;
        s->idle = &s->ones[i];
    }
    if (s->timer == NULL) {
        sweep_free(s);
        return NULL;
    }
    return s;
}

void write_collection(struct call *c) {
    struct err err = {0};
    enum body_type type;
    struct picker p;
    struct sweep *s = sweep_new(c);
    int r = s == NULL ? failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory") : 0;
    r = r ? r : write_body_type(c, &type);
    r = r ? r
          : remove_options(&c->req, c->arena, http_body(c->http), type, &s->options,
                           &c->req.opt.dry_run, &c->failure);
    if (r == 0 && (r = pick_init(&p, &c->req, c->arena, &c->s->scratch, &err)) != 0) {
        (void)failure_err(&c->failure, c->arena, &err);
    }
    if (r != 0) {
        if (s != NULL) {
            sweep_free(s);
        }
        call_fail(c);
        return;
    }
    s->call = c;
    c->detach = gone;
    c->detach_ctx = s;
    struct gather g = {.s = s, .p = &p};
    mirror_scan(c->s->o.mirror, kind_stored(c->req.kind), request_key_ns(&c->req), gather, &g);
    if (g.failed != 0 || p.failed != 0) { /* nothing is deleted by halves from the start */
        (void)err_set(&s->err, ERR_NOMEM, "out of memory");
        s->begun = s->n;
    }
    step(s);
}
