/*
 * reflector: list and watch into a mirror. See reflector.h.
 *
 *     STREAM   one watch that begins with everything there is (sendInitialEvents); its bookmark
 *              k8s.io/initial-events-end makes the mirror complete, and the stream goes on as a watch
 *     LIST     pages, where the server does not know that
 *     WATCH    changes after the list's revision
 *     PAUSE    back-off before one of the above
 *
 * Objects are applied as they come. While a complete set comes in (STREAM before its bookmark, LIST), the names seen
 * are remembered; at its end what the mirror has and the set had not is removed.
 */
#include "kube/reflector.h"

#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/prng.h"
#include "base/vec.h"
#include "kube/client_int.h"
#include "kube/path.h"
#include "kube/status.h"

enum {
    BACKOFF_MS = 800,
    BACKOFF_MAX_MS = 30000,
    HEALTHY_MS = 120000,  /* after which a failure counts as the first again */
    WATCH_MIN_S = 300,    /* how long the server is asked to keep a watch: this and up to as much again */
    WATCH_GRACE_S = 30,   /* before we end one that the server did not */
    SHORT_WATCH_MS = 1000,
    LINE_BYTES_MAX = 2 * LIMIT_OBJECT_BYTES,
    TREE_MAX = 64 << 20,
    SEEN_MAX = 512 << 20,
};

enum step { STEP_STREAM, STEP_LIST, STEP_WATCH };

struct reflector {
    struct kube_client *client;
    struct mirror *mirror;
    const struct kind *kind;
    struct buf ns, fields, labels;
    void (*synced)(void *ctx);
    void *ctx;
    enum step step;
    bool no_stream;   /* the server knows no sendInitialEvents */
    bool is_synced;
    bool collecting;  /* a complete set is coming in */
    bool restart;     /* the stream told an error: what to do at its end is decided */
    bool got_event;
    bool any_version; /* the last revision is too old or too new: take what is there */
    uint64_t rv;
    struct kube_call *call;
    struct timer *timer;
    struct prng prng;
    int failures;
    int64_t failed_at, began_at; /* mono ns */
    struct buf line;     /* of the watch, in part */
    struct buf next_page;
    struct arena line_arena, seen_arena;
    struct map seen; /* "ns/name", while collecting */
};

static void run_step(struct reflector *r);

/* ---- what comes in ---- */

static void note_seen(struct reflector *r, const struct object *o) {
    struct str key = arena_f(&r->seen_arena, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    if (key.p) {
        map_put(&r->seen, key, r, NULL);
    }
}

/* Takes one object in. 0, or what went wrong with it. */
static int take(struct reflector *r, enum change_type type, yyjson_mut_val *v) {
    struct object *o = NULL;
    int code = object_new_mut(r->kind, v, &o, NULL);
    if (code != 0) {
        return code;
    }
    r->rv = o->rv > r->rv ? o->rv : r->rv;
    if (r->collecting && type != CHANGE_DELETED) {
        note_seen(r, o);
    }
    const struct object *have = mirror_get(r->mirror, r->kind, o->ns, o->name);
    if (have && have->rv == o->rv && type != CHANGE_DELETED && str_eq(have->uid, o->uid)) {
        object_unref(o); /* known already */
        return 0;
    }
    return mirror_apply(r->mirror, type, o, NULL);
}

static void collect_begin(struct reflector *r) {
    r->collecting = true;
    map_clear(&r->seen);
    arena_reset(&r->seen_arena);
}

VEC(object_vec, const struct object *);
struct vanished {
    struct reflector *r;
    struct object_vec v;
};

static bool find_vanished(void *ctx, const struct object *o) {
    struct vanished *v = ctx;
    char key[2 * LIMIT_NAME + 2];
    int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    if (!map_get(&v->r->seen, str_from(key, (size_t)n < sizeof(key) ? (size_t)n : sizeof(key)))) {
        if (object_vec_push(&v->v, object_ref(o)) != 0) {
            object_unref(o);
        }
    }
    return true;
}

/* The set is complete: what it had not is gone. */
static void collect_end(struct reflector *r) {
    struct vanished v = {.r = r};
    r->collecting = false;
    if (arena_ok(&r->seen_arena) == 0) {
        mirror_scan(r->mirror, r->kind, buf_view(&r->ns), find_vanished, &v);
    }
    for (size_t i = 0; i < v.v.n; i++) {
        mirror_apply(r->mirror, CHANGE_DELETED, (struct object *)(uintptr_t)v.v.v[i], NULL);
    }
    object_vec_release(&v.v);
    map_release(&r->seen);
    arena_release(&r->seen_arena);
    r->any_version = false;
    r->failures = 0;
    if (!r->is_synced) {
        r->is_synced = true;
        if (r->synced) {
            r->synced(r->ctx);
        }
    }
}

/* ---- the watch stream ---- */

static void on_error_event(struct reflector *r, yyjson_mut_val *status) {
    struct buf b;
    buf_init(&b, LIMIT_BODY_BYTES);
    json_write_mut(&b, status);
    int64_t http = yyjson_mut_get_sint(json_mget(status, STR("code")));
    int code = kube_status(http >= 300 ? (int)http : 500, buf_view(&b), NULL);
    r->restart = true;
    if (code == ERR_EXPIRED || kube_status_too_new(buf_view(&b))) {
        r->any_version = true;
        r->step = r->no_stream ? STEP_LIST : STEP_STREAM;
    }
    buf_release(&b);
}

static void on_bookmark(struct reflector *r, yyjson_mut_val *object) {
    yyjson_mut_val *meta = json_mget(object, STR("metadata"));
    uint64_t rv;
    if (str_to_u64(json_mstr_at(meta, "resourceVersion"), &rv) && rv > r->rv) {
        r->rv = rv;
    }
    yyjson_mut_val *notes = json_mget(meta, STR("annotations"));
    if (r->collecting &&
        str_is(json_mstr(json_mget(notes, STR("k8s.io/initial-events-end"))), "true")) {
        r->step = STEP_WATCH;
        collect_end(r);
    }
}

/* One line of the stream; false ends it. */
static bool on_line(struct reflector *r, struct str line) {
    static const struct {
        const char *name;
        enum change_type type;
    } types[] = {
        {"ADDED", CHANGE_ADDED}, {"MODIFIED", CHANGE_MODIFIED}, {"DELETED", CHANGE_DELETED}};
    yyjson_mut_doc *doc = NULL;
    arena_reset(&r->line_arena);
    if (json_parse_mut(&r->line_arena, line, &doc, NULL) != 0) {
        return false;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *object = json_mget(root, STR("object"));
    struct str type = json_mstr(json_mget(root, STR("type")));
    if (str_is(type, "ERROR")) {
        on_error_event(r, object);
        return false;
    }
    r->got_event = true;
    if (str_is(type, "BOOKMARK")) {
        on_bookmark(r, object);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (str_is(type, types[i].name)) {
            return take(r, types[i].type, object) == 0;
        }
    }
    return true;
}

static bool on_stream(void *ctx, struct str bytes) {
    struct reflector *r = ctx;
    struct str line;
    ptrdiff_t end;
    while ((end = str_find(bytes, '\n')) >= 0) {
        line = str_head(bytes, (size_t)end);
        bytes = str_skip(bytes, (size_t)end + 1);
        bool ok;
        if (r->line.n > 0) {
            buf_str(&r->line, line);
            ok = buf_ok(&r->line) == 0 && on_line(r, buf_view(&r->line));
            buf_reset(&r->line);
        } else {
            ok = line.n == 0 || on_line(r, line);
        }
        if (!ok) {
            return false;
        }
    }
    buf_str(&r->line, bytes);
    return buf_ok(&r->line) == 0;
}

/* ---- what happens next ---- */

static int64_t now(const struct reflector *r) {
    return clock_mono(loop_clock(kube_client_loop(r->client)));
}

static void pause_then(struct reflector *r, enum step step) {
    struct clock *c = loop_clock(kube_client_loop(r->client));
    int64_t t = now(r);
    if (t - r->failed_at > HEALTHY_MS * NS_PER_MS) {
        r->failures = 0;
    }
    r->failed_at = t;
    int64_t ms = BACKOFF_MS;
    for (int i = 0; i < r->failures && ms < BACKOFF_MAX_MS; i++) {
        ms *= 2;
    }
    ms = ms < BACKOFF_MAX_MS ? ms : BACKOFF_MAX_MS;
    r->failures += r->failures < 16;
    r->step = step;
    c->timer_start(r->timer,
                   ms * NS_PER_MS + (int64_t)(prng_unit(&r->prng) * (double)ms) * NS_PER_MS);
}

static void resume(void *ctx) {
    run_step(ctx);
}

static bool is_temporary(int code) {
    return code == ERR_UNAVAILABLE || code == ERR_TIMEOUT || code == ERR_TOO_MANY ||
           code == ERR_INTERNAL || code == ERR_NOMEM;
}

static void stream_ended(void *ctx, const struct kube_reply *reply) {
    struct reflector *r = ctx;
    enum step was = r->step;
    bool starting = was == STEP_STREAM && r->collecting;
    bool brief = now(r) - r->began_at < SHORT_WATCH_MS * NS_PER_MS && !r->got_event;
    r->call = NULL;
    if (r->restart) {
        pause_then(r, r->step);
    } else if (reply->code == ERR_EXPIRED || kube_status_too_new(reply->body)) {
        bool again = r->any_version;
        r->any_version = true;
        r->step = r->no_stream ? STEP_LIST : STEP_STREAM;
        if (again) {
            pause_then(r, r->step);
        } else {
            run_step(r);
        }
    } else if (starting && reply->status >= 400 && !is_temporary(reply->code)) {
        r->no_stream = true;
        r->step = STEP_LIST;
        run_step(r);
    } else if (starting || (reply->code != 0 && reply->code != ERR_TIMEOUT) || brief) {
        pause_then(r, was);
    } else {
        run_step(r); /* the server's time was up */
    }
}

static void list_failed(struct reflector *r, const struct kube_reply *reply) {
    if ((reply->code == ERR_EXPIRED || kube_status_too_new(reply->body)) && !r->any_version) {
        r->any_version = true;
        buf_reset(&r->next_page);
        run_step(r);
        return;
    }
    buf_reset(&r->next_page);
    pause_then(r, STEP_LIST);
}

static int take_page(struct reflector *r, struct str body) {
    struct arena a;
    yyjson_mut_doc *doc = NULL;
    size_t i, n;
    yyjson_mut_val *item;
    arena_init(&a, (size_t)1 << 30);
    int code = json_parse_mut(&a, body, &doc, NULL);
    yyjson_mut_val *root = code == 0 ? yyjson_mut_doc_get_root(doc) : NULL;
    yyjson_mut_val *items = json_mget(root, STR("items"));
    if (code == 0) {
        buf_reset(&r->next_page);
        buf_str(&r->next_page, json_mstr_at(root, "metadata.continue"));
        uint64_t rv;
        if (str_to_u64(json_mstr_at(root, "metadata.resourceVersion"), &rv)) {
            r->rv = rv > r->rv ? rv : r->rv;
        }
    }
    yyjson_mut_arr_foreach(items, i, n, item) {
        code = code ? code : take(r, CHANGE_MODIFIED, item);
    }
    arena_release(&a);
    return code;
}

static void list_answered(void *ctx, const struct kube_reply *reply) {
    struct reflector *r = ctx;
    r->call = NULL;
    if (reply->code != 0) {
        list_failed(r, reply);
        return;
    }
    if (take_page(r, reply->body) != 0) {
        buf_reset(&r->next_page);
        pause_then(r, STEP_LIST);
        return;
    }
    if (r->next_page.n == 0) {
        r->step = STEP_WATCH;
        collect_end(r);
    }
    run_step(r);
}

/* ---- asking ---- */

static void add_common(struct reflector *r, struct buf *path) {
    kube_kind_path(path, r->kind, buf_view(&r->ns), (struct str){0}, (struct str){0});
    if (r->fields.n) {
        kube_query(path, "fieldSelector", buf_view(&r->fields));
    }
    if (r->labels.n) {
        kube_query(path, "labelSelector", buf_view(&r->labels));
    }
}

static void add_number(struct buf *path, const char *key, uint64_t v) {
    char text[24];
    int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
    kube_query(path, key, str_from(text, (size_t)n));
}

static int64_t add_watch(struct reflector *r, struct buf *path) {
    int64_t seconds = WATCH_MIN_S + (int64_t)prng_below(&r->prng, WATCH_MIN_S);
    kube_query(path, "watch", STR("true"));
    kube_query(path, "allowWatchBookmarks", STR("true"));
    add_number(path, "timeoutSeconds", (uint64_t)seconds);
    if (r->step == STEP_STREAM) {
        kube_query(path, "sendInitialEvents", STR("true"));
        kube_query(path, "resourceVersionMatch", STR("NotOlderThan"));
    }
    if (r->rv && !(r->step == STEP_STREAM && r->any_version)) {
        add_number(path, "resourceVersion", r->rv);
    }
    return seconds;
}

static void add_list(struct reflector *r, struct buf *path) {
    add_number(path, "limit", LIMIT_LIST_DEFAULT);
    if (r->next_page.n) {
        kube_query(path, "continue", buf_view(&r->next_page));
    } else if (!r->any_version && r->rv) {
        add_number(path, "resourceVersion", r->rv);
        kube_query(path, "resourceVersionMatch", STR("NotOlderThan"));
    }
}

static void run_step(struct reflector *r) {
    struct buf path;
    buf_init(&path, 1 << 20);
    add_common(r, &path);
    struct kube_request q = {.method = "GET", .ctx = r};
    if (r->step == STEP_LIST) {
        add_list(r, &path);
        q.done = list_answered;
    } else {
        q.timeout_ms = (add_watch(r, &path) + WATCH_GRACE_S) * 1000;
        q.data = on_stream;
        q.done = stream_ended;
    }
    if (r->step != STEP_WATCH && r->next_page.n == 0) {
        collect_begin(r);
    }
    r->restart = r->got_event = false;
    r->began_at = now(r);
    buf_reset(&r->line);
    q.path = buf_view(&path);
    if (buf_ok(&path) != 0 || kube_send(r->client, &q, &r->call, NULL) != 0) {
        buf_reset(&r->next_page);
        pause_then(r, r->step);
    }
    buf_release(&path);
}

struct reflector *reflector_start(struct kube_client *c, struct mirror *m,
                                  const struct reflector_options *o, struct err *err) {
    struct reflector *r = mem_zalloc(sizeof(*r));
    struct clock *clock = loop_clock(kube_client_loop(c));
    if (!r) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    r->client = c;
    r->mirror = m;
    r->kind = o->kind;
    r->synced = o->synced;
    r->ctx = o->ctx;
    buf_init(&r->ns, LIMIT_NAME);
    buf_init(&r->fields, LIMIT_SELECTOR_BYTES);
    buf_init(&r->labels, LIMIT_SELECTOR_BYTES);
    buf_init(&r->line, LINE_BYTES_MAX);
    buf_init(&r->next_page, LIMIT_SELECTOR_BYTES);
    arena_init(&r->line_arena, TREE_MAX);
    arena_init(&r->seen_arena, SEEN_MAX);
    buf_str(&r->ns, o->ns);
    buf_str(&r->fields, o->field_selector);
    buf_str(&r->labels, o->label_selector);
    prng_seed(&r->prng, (uint64_t)clock_wall(clock) ^ (uint64_t)(uintptr_t)r);
    r->timer = clock->timer_new(clock, resume, r);
    if (!r->timer || buf_ok(&r->ns) || buf_ok(&r->fields) || buf_ok(&r->labels)) {
        err_set(err, ERR_INVALID, "cannot mirror %s", o->kind->plural);
        reflector_free(r);
        return NULL;
    }
    r->failed_at = now(r);
    run_step(r);
    return r;
}

bool reflector_synced(const struct reflector *r) {
    return r->is_synced;
}

void reflector_free(struct reflector *r) {
    if (!r) {
        return;
    }
    kube_cancel(r->call);
    loop_clock(kube_client_loop(r->client))->timer_free(r->timer);
    buf_release(&r->ns);
    buf_release(&r->fields);
    buf_release(&r->labels);
    buf_release(&r->line);
    buf_release(&r->next_page);
    arena_release(&r->line_arena);
    arena_release(&r->seen_arena);
    map_release(&r->seen);
    mem_free(r);
}
