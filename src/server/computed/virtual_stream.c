/*
 * virtual_stream: watches of resources that are computed when asked for. When they are asked again and who is told
 * what is port/virtual_watch.h's; here is how: with whose rights, and over which stream.
 *
 * Nothing is sent before there is a first answer, so that a question that cannot be answered is refused as a get is. A
 * revision that the watch names does not matter: answers have none, and a watch begins with all that there is.
 */
#include "base/limits.h"
#include "port/virtual_watch.h"
#include "server/computed/virtual.h"
#include "server/kit/select.h"

enum { SCRATCH_BYTES = 16 << 20 };

struct stream {
    struct call *call;
    struct virtual_watcher *watcher;
    struct virtual_asker who;
    struct virtual_ask q;
    struct virtual_source *source;
    struct virtual_call *under_way;
    virtual_done *done;
    void *done_ctx;
    bool asking, begun;
    struct arena scratch; /* of the rights that one answer asks for */
};

/* ---- asking ---- */

static void answered(void *ctx, int code, struct str json, const struct err *err) {
    struct stream *x = ctx;
    x->asking = false;
    x->under_way = NULL;
    x->done(x->done_ctx, code, json, err);
}

static int ask(void *ctx, virtual_done *done, void *done_ctx, struct err *err) {
    struct stream *x = ctx;
    struct virtual_call *under_way = NULL;
    arena_reset(&x->scratch);
    x->source = virtual_answerer(x->call);
    if (x->source == NULL) {
        failure_to_err(&x->call->failure, err);
        return x->call->failure.code;
    }
    x->done = done;
    x->done_ctx = done_ctx;
    x->asking = true;
    int r = x->source->ask(x->source, &x->q, answered, x, &under_way, err);
    if (r == 0 && x->asking) {
        x->under_way = under_way;
    }
    return r;
}

static void cancel(void *ctx) {
    struct stream *x = ctx;
    if (x->under_way != NULL) {
        x->source->cancel(x->source, x->under_way);
        x->under_way = NULL;
    }
}

/* ---- the stream ---- */

static void drained(void *user) {
    struct call *c = user;
    if (c->detach != NULL) {
        struct stream *x = c->detach_ctx;
        virtual_watch_drained(x->watcher);
    }
}

static void begin(void *ctx) {
    struct stream *x = ctx;
    x->begun = true;
    call_stream(x->call, "application/json");
    http_stream_on_drain(x->call->http, drained);
}

static int object(void *ctx, struct str json, struct buf *out) {
    struct stream *x = ctx;
    struct arena *a = &x->call->s->scratch;
    struct err err = {0};
    if (!virtual_is_table(x->call)) {
        buf_str(out, json);
        return 0;
    }
    arena_reset(a);
    int r = virtual_table(x->call, a, json, out, &err);
    arena_reset(a);
    return r;
}

static int write_bytes(void *ctx, struct str bytes) {
    struct stream *x = ctx;
    return http_stream_write(x->call->http, bytes);
}

static size_t waiting(void *ctx) {
    struct stream *x = ctx;
    return http_stream_waiting(x->call->http);
}

static void end(void *ctx, int code, const struct err *err) {
    struct stream *x = ctx;
    struct call *c = x->call;
    c->detach = NULL;
    arena_release(&x->scratch);
    if (code != 0) {
        (void)failure_err(&c->failure, c->arena, err);
    }
    if (!x->begun) {
        call_fail(c);
        return;
    }
    if (code != 0) {
        watch_send_error(c, &c->failure);
    }
    call_stream_end(c);
}

static void gone(struct call *c, void *ctx) {
    struct stream *x = ctx;
    virtual_watch_stop(x->watcher);
    arena_release(&x->scratch);
    if (x->begun) {
        c->s->long_running--;
    }
}

/* ---- the question ---- */

static void add(struct buf *b, struct str s) {
    buf_f(b, "%zu:", s.n);
    buf_str(b, s);
}

/* Of a watch alone; the same answer with and without it. */
static bool is_of_watch(struct str key) {
    static const char *const keys[] = {
        "watch",           "timeoutSeconds",       "allowWatchBookmarks",
        "resourceVersion", "resourceVersionMatch", "sendInitialEvents",
        "includeObject"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (str_is(key, keys[i])) {
            return true;
        }
    }
    return false;
}

/* Whose rights, and which question. */
static int write_question(const struct stream *x, struct buf *b) {
    const struct api_request *q = &x->call->req;
    add(b, q->user.name);
    for (size_t i = 0; i < q->user.groups.n; i++) {
        add(b, q->user.groups.v[i]);
    }
    buf_c(b, "\n");
    add(b, str_of(x->q.verb));
    add(b, q->group);
    add(b, q->version);
    add(b, q->plural);
    add(b, x->q.ns);
    add(b, x->q.name);
    for (size_t i = 0; i < q->n_query; i++) {
        if (!is_of_watch(q->query[i].key)) {
            add(b, q->query[i].key);
            add(b, q->query[i].value);
        }
    }
    return buf_ok(b);
}

/* One object by its name is a get, all others are a list. Other selectors would have to be obeyed: they are refused. */
static int read_selectors(struct call *c, struct str *ret_name) {
    struct picker p;
    struct err err = {0};
    if (pick_init(&p, &c->req, c->arena, &c->s->scratch, &err) != 0) {
        return failure_err(&c->failure, c->arena, &err);
    }
    if (p.labels.n > 0 || p.fields.n > p.by_name) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "%s are computed: a watch selects by metadata.name alone",
                           c->req.kind->plural);
    }
    *ret_name = p.by_name ? p.name : (struct str){0};
    return 0;
}

static int start(struct call *c) {
    static const struct virtual_watch_peer peer = {ask,         cancel,  begin, object,
                                                   write_bytes, waiting, end};
    struct stream *x = ARENA_NEW(c->arena, struct stream);
    struct err err = {0};
    struct str name;
    uint64_t rv;
    struct buf b;
    if (x == NULL || !virtual_question(c, "list", &x->who, &x->q)) {
        return failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    int r = watch_check_options(c, &rv);
    r = r ? r : read_selectors(c, &name);
    if (r != 0) {
        return r;
    }
    x->call = c;
    arena_init(&x->scratch, SCRATCH_BYTES);
    x->who = (struct virtual_asker){c, &x->scratch};
    x->q.verb = name.n > 0 ? "get" : "list";
    x->q.name = name;
    buf_init(&b, LIMIT_HTTP_HEADER_BYTES * 4);
    r = write_question(x, &b);
    const struct virtual_watch_options o = {
        .peer = &peer,
        .ctx = x,
        .kind = c->req.kind,
        .version = c->req.version,
        .question = buf_view(&b),
        .user = c->req.user.name,
        .form = !virtual_is_table(c)
                    ? 0
                    : 1 + (unsigned)c->media.v1beta1 +
                          2 * (unsigned)str_is(c->req.opt.include_object, "Object"),
        .bookmarks = c->req.opt.allow_bookmarks,
        .initial_end = c->req.opt.send_initial_events.v,
        .seconds = watch_seconds(c),
    };
    r = r ? failure_set(&c->failure, c->arena, r, "the question cannot be kept")
          : virtual_watch_start(c->s->computed, &o, &x->watcher, &err);
    buf_release(&b);
    if (r != 0) {
        return c->failure.code ? c->failure.code : failure_err(&c->failure, c->arena, &err);
    }
    c->detach = gone;
    c->detach_ctx = x;
    return 0;
}

void virtual_watch_request(struct call *c) {
    if (watch_count(c->s) >= LIMIT_WATCHES || c->s->stopping) {
        (void)failure_too_many(&c->failure);
        call_fail(c);
    } else if (start(c) != 0) {
        call_fail(c);
    }
}
