/*
 * way_watch: watches of kinds that are computed, on a cluster. When they are asked again and who is told what is
 * port/virtual_watch.h's; here each answer is made with the rights that the user has on the cluster, which are asked
 * for again as they grow old. So a watch ends when the token counts no more, or the right is taken away.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "site/refuse.h"
#include "site/way/way_private.h"

enum { SECONDS_LEAST = 1800, SECONDS_MOST = 86400, QUESTION_MAX = 128 << 10 };

struct way_watcher {
    struct way *w;
    struct way_watcher *next, **prev;
    struct http_request *r;
    struct virtual_watcher *watcher; /* NULL: it has ended */
    struct virtual_ask q;
    uint64_t session; /* its number */
    struct computing *computing;
    virtual_done *done;
    void *done_ctx;
    bool begun;
};

/* ---- asking ---- */

static void computed(void *ctx, int code, struct str json, const struct err *err) {
    struct way_watcher *x = ctx;
    x->computing = NULL;
    x->done(x->done_ctx, code, json, err);
}

static int ask(void *ctx, virtual_done *done, void *done_ctx, struct err *err) {
    struct way_watcher *x = ctx;
    const struct session *one = sessions_numbered(x->w->o.sessions, x->session);
    if (one == NULL) {
        return err_set(err, ERR_UNAUTHORIZED, "the session has ended");
    }
    struct computing_options o = {&x->q, "watch", one, computed, x};
    x->done = done;
    x->done_ctx = done_ctx;
    x->computing = computing_new(x->w, &o);
    if (x->computing == NULL) {
        return err_set(err, ERR_NOMEM, "no memory to ask");
    }
    computing_start(x->computing);
    return 0;
}

static void cancel(void *ctx) {
    struct way_watcher *x = ctx;
    computing_free(TAKE(x->computing));
}

/* ---- the stream ---- */

static void drained(void *user) {
    struct way_watcher *x = user;
    if (x->watcher) {
        virtual_watch_drained(x->watcher);
    }
}

static void begin(void *ctx) {
    struct way_watcher *x = ctx;
    x->begun = true;
    (void)http_add_header(x->r, "Cache-Control", STR("no-store"));
    http_stream_begin(x->r, 200, "application/json");
    http_stream_on_drain(x->r, drained);
}

static int object(void *ctx, struct str json, struct buf *out) {
    (void)ctx; /* pages read nothing else */
    buf_str(out, json);
    return 0;
}

static int write_bytes(void *ctx, struct str bytes) {
    struct way_watcher *x = ctx;
    return http_stream_write(x->r, bytes);
}

static size_t waiting(void *ctx) {
    struct way_watcher *x = ctx;
    return http_stream_waiting(x->r);
}

static void end(void *ctx, int code, const struct err *err) {
    struct way_watcher *x = ctx;
    struct buf b;
    x->watcher = NULL;
    if (!x->begun) {
        refuse(x->r, code, err->text[0] ? err->text : err_name(code));
        return;
    }
    buf_init(&b, 64 << 10);
    if (code != 0) {
        buf_c(&b, "{\"type\":\"ERROR\",\"object\":");
        refuse_status(code, err->text[0] ? err->text : err_name(code), &b);
        buf_c(&b, "}\n");
    }
    if (b.n > 0 && buf_ok(&b) == 0) {
        (void)http_stream_write(x->r, buf_view(&b));
    }
    buf_release(&b);
    http_stream_end(x->r);
}

static void closed(void *user) {
    struct way_watcher *x = user;
    if (x->watcher) {
        virtual_watch_stop(x->watcher);
    }
    *x->prev = x->next;
    if (x->next) {
        x->next->prev = x->prev;
    }
    mem_free(x);
}

void way_watch_recheck(struct way *w) {
    const struct err ended = {.code = ERR_UNAUTHORIZED, .text = "the session has ended"};
    for (struct way_watcher *x = w->watchers; x; x = x->next) {
        if (x->watcher && sessions_numbered(w->o.sessions, x->session) == NULL) {
            virtual_watch_stop(x->watcher);
            end(x, ERR_UNAUTHORIZED, &ended);
        }
    }
}

/* ---- the question ---- */

static bool is_true(struct str v) {
    return str_is(v, "true") || str_is(v, "1");
}

/* Of a watch alone; the same answer with and without it. */
static bool is_of_watch(struct str key) {
    static const char *const keys[] = {
        "watch",           "timeoutSeconds",       "allowWatchBookmarks",
        "resourceVersion", "resourceVersionMatch", "sendInitialEvents"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (str_is(key, keys[i])) {
            return true;
        }
    }
    return false;
}

static void add(struct buf *b, struct str s) {
    buf_f(b, "%zu:", s.n);
    buf_str(b, s);
}

/* A session has its rights, remembered by its number. */
static void write_question(const struct way_watcher *x, struct buf *b) {
    const struct virtual_ask *q = &x->q;
    buf_f(b, "%llu\n", (unsigned long long)x->session);
    add(b, str_of(q->verb));
    add(b, str_of(q->kind->group));
    add(b, q->version);
    add(b, str_of(q->kind->plural));
    add(b, q->ns);
    add(b, q->name);
    for (size_t i = 0; i < q->n_query; i++) {
        if (!is_of_watch(q->query[i].key)) {
            add(b, q->query[i].key);
            add(b, q->query[i].value);
        }
    }
}

/* One object by its name is a get; nothing else can be selected by. */
static int read_selectors(struct virtual_ask *q, struct err *err) {
    struct str fields = virtual_param(q, "fieldSelector"), key, name;
    if (virtual_param(q, "labelSelector").n > 0 ||
        (fields.n > 0 && (!str_cut(fields, '=', &key, &name) || !str_is(key, "metadata.name") ||
                          str_find(name, ',') >= 0))) {
        return err_set(err, ERR_BAD_REQUEST,
                       "%s are computed: a watch selects by metadata.name alone", q->kind->plural);
    }
    if (fields.n > 0) {
        q->name = str_starts(name, STR("=")) ? str_skip(name, 1) : name;
        q->verb = "get";
    }
    return 0;
}

static int64_t seconds_of(const struct way_watcher *x) {
    int64_t seconds = 0;
    if (str_to_i64(virtual_param(&x->q, "timeoutSeconds"), &seconds) && seconds > 0 &&
        seconds <= SECONDS_MOST) {
        return seconds;
    }
    return SECONDS_LEAST + (int64_t)(x->session * 61 % SECONDS_LEAST); /* not all at once */
}

static int start(struct way_watcher *x, const struct session *one, struct err *err) {
    static const struct virtual_watch_peer peer = {ask,         cancel,  begin, object,
                                                   write_bytes, waiting, end};
    struct str match = virtual_param(&x->q, "resourceVersionMatch");
    bool initial = is_true(virtual_param(&x->q, "sendInitialEvents"));
    struct buf b;
    int r = read_selectors(&x->q, err);
    if (r == 0 && initial && !str_is(match, "NotOlderThan")) {
        r = err_set(err, ERR_INVALID,
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if (r != 0) {
        return r;
    }
    buf_init(&b, QUESTION_MAX);
    write_question(x, &b);
    const struct virtual_watch_options o = {
        .peer = &peer,
        .ctx = x,
        .kind = x->q.kind,
        .version = x->q.version,
        .question = buf_view(&b),
        .user = one->who.user,
        .bookmarks = is_true(virtual_param(&x->q, "allowWatchBookmarks")),
        .initial_end = initial,
        .seconds = seconds_of(x),
    };
    r = buf_ok(&b) ? err_set(err, buf_ok(&b), "the question cannot be kept")
                   : virtual_watch_start(x->w->hub, &o, &x->watcher, err);
    buf_release(&b);
    return r;
}

void way_watch(struct way *w, struct http_request *r, const struct session *one,
               const struct virtual_ask *q) {
    struct err err = {0};
    struct way_watcher *x = mem_zalloc(sizeof(*x));
    if (x == NULL) {
        refuse(r, ERR_NOMEM, "no memory to watch");
        return;
    }
    *x = (struct way_watcher){
        .w = w, .r = r, .q = *q, .session = one->number, .next = w->watchers, .prev = &w->watchers};
    if (x->next) {
        x->next->prev = &x->next;
    }
    w->watchers = x;
    http_set_user(r, x, closed);
    if (start(x, one, &err) != 0) {
        refuse(r, err.code, err.text);
        return;
    }
    way_sweep(w);
}
