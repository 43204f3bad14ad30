/*
 * reflector: list and watch into a mirror. See reflector.h.
 *
 *     STREAM   one watch that begins with everything there is (sendInitialEvents); its bookmark
 *              k8s.io/initial-events-end makes the mirror complete, and the stream goes on as a watch
 *     LIST     pages, where the server does not know that, or where the way to it is too bad for so much in one answer
 *     WATCH    changes after the list's revision
 *     PAUSE    back-off before one of the above
 *
 * Objects are applied as they come. While a complete set comes in (STREAM before its bookmark, LIST), the names seen
 * are remembered; at its end what the mirror has and the set had not is removed.
 */
#include "kube/reflector.h"

#include "api/selector.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/prng.h"
#include "base/vec.h"
#include "kube/client_private.h"
#include "kube/path.h"
#include "kube/status.h"

enum {
    BACKOFF_MS = 800,
    BACKOFF_MAX_MS = 30000,
    FIRST_MS = 200, /* nothing is decided before the first set is there */
    FIRST_MAX_MS = 5000,
    HEALTHY_MS = 120000, /* after which a failure counts as the first again */
    WATCH_MIN_S =
        300, /* how long the server is asked to keep a watch: this and up to as much again */
    WATCH_GRACE_S = 30, /* before we end one that the server did not */
    SILENCE_S = 180,    /* bookmarks come about every minute */
    SET_SILENCE_S =
        30, /* while a set streams in: a server that knows no sendInitialEvents says nothing at its end */
    SHORT_WATCH_MS = 1000,
    LINE_BYTES_MAX = 2 * LIMIT_OBJECT_BYTES,
    LINE_BYTES_KEPT = 256 << 10, /* of the room for a line, until the next one */
    TREE_MAX = 64 << 20,
    SEEN_MAX = 512 << 20,
    TELL_S = 60,    /* between two words about what is skipped */
    CUT_SETS = 2,   /* streams in a row that ended inside a set, before pages are asked for */
    PAGE_TRIES = 8, /* of one page, before the first is asked for again */
};

enum step { STEP_STREAM, STEP_LIST, STEP_WATCH };

struct reflector {
    struct mirror_source source; /* first: cast back */
    struct kube_client *client;
    struct mirror *mirror;
    const struct kind *kind;
    struct buf ns, fields, labels;
    void (*synced)(void *ctx);
    void *ctx;
    enum step step;
    bool no_stream; /* the server knows no sendInitialEvents */
    bool is_synced;
    bool collecting; /* a complete set is coming in */
    bool restart;    /* the stream told an error: what to do at its end is decided */
    bool got_event;
    bool any_version; /* the last revision is too old or too new: take what is there */
    bool whole_list;  /* its pages expire before they are read */
    bool set_failed;  /* part of the set was lost: it does not count */
    int cut_sets, page_tries;
    uint64_t set_rv; /* of the set's pages */
    kube_trim *trim;
    struct log *log;
    int64_t told_at;      /* mono ns; 0: never */
    bool overlong;        /* in the middle of a line that is longer than any that is kept */
    bool broke;           /* a line was no JSON ... */
    uint64_t broke_after; /* ... when this had been passed */
    int64_t silence_ms;
    struct timer *silence;
    int silent; /* times in a row */
    int64_t heard_at;
    struct arena selector_arena;
    struct selector label_terms, field_terms;
    struct reflector_stats stats;
    struct kube_call *call;
    struct timer *timer;
    struct prng prng;
    int failures;
    int64_t failed_at, began_at; /* mono ns */
    struct buf line;             /* of the watch, in part */
    struct buf next_page;
    struct arena line_arena, seen_arena;
    struct map seen; /* "ns/name", while collecting */
};

static void run_step(struct reflector *r);

static int64_t now(const struct reflector *r) {
    return clock_mono(loop_clock(kube_client_loop(r->client)));
}

/* ---- as the mirror's source ---- */

struct field_look {
    const struct object *o;
    bool unknown; /* a field that only the server can tell */
};

static struct str field_of(void *ctx, struct str path) {
    struct field_look *l = ctx;
    if (str_is(path, "metadata.name")) {
        return l->o->name;
    }
    if (str_is(path, "metadata.namespace")) {
        return l->o->ns;
    }
    l->unknown = true;
    return (struct str){0};
}

static bool covers(const struct mirror_source *s, const struct object *o) {
    const struct reflector *r = (const struct reflector *)(const void *)s;
    struct field_look look = {.o = o};
    if (r->ns.n && !str_eq(buf_view(&r->ns), o->ns)) {
        return false;
    }
    for (size_t i = 0; i < r->field_terms.n; i++) {
        (void)field_of(&look, r->field_terms.terms[i].key);
    }
    if (look.unknown) { /* what is here leaves by the watch */
        return mirror_get(r->mirror, r->kind, o->ns, o->name) != NULL;
    }
    return selector_matches(&r->label_terms, &o->labels) &&
           field_selector_matches(&r->field_terms, field_of, &look);
}

static void pass(struct reflector *r, uint64_t rv) {
    r->source.passed = rv > r->source.passed ? rv : r->source.passed;
}

/* ---- what comes in ---- */

static void note_seen(struct reflector *r, struct str ns, struct str name) {
    struct str key = arena_f(&r->seen_arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name));
    r->set_failed = r->set_failed || key.p == NULL || map_put(&r->seen, key, r, NULL) != 0;
}

/* Once a minute: what is skipped may come again with every change of it. name may be empty. */
static void skip(struct reflector *r, struct str ns, struct str name, const char *why) {
    int64_t t = now(r);
    r->stats.skipped++;
    if (r->log && (r->told_at == 0 || t - r->told_at > TELL_S * NS_PER_SEC)) {
        r->told_at = t;
        log_warn(r->log, "%s%s%.*s%s%.*s: not kept: %s (%llu so far)", r->kind->plural,
                 name.n ? " " : "", STR_ARG(ns), ns.n ? "/" : "", STR_ARG(name), why,
                 (unsigned long long)r->stats.skipped);
    }
}

/* It is there, though we cannot keep it: what we have of it is not gone. */
static void skip_object(struct reflector *r, yyjson_mut_val *v, const struct err *err) {
    struct str name = json_mstr_at(v, "metadata.name"), ns = json_mstr_at(v, "metadata.namespace");
    if (r->collecting && name.n) {
        note_seen(r, ns, name);
    }
    skip(r, ns, name, err->text);
}

/* Takes one object in. 0, or ERR_NOMEM; one that cannot be kept is skipped, for it would come again and again. */
static int take(struct reflector *r, enum change_type type, yyjson_mut_val *v) {
    struct object *o = NULL;
    struct err err = {0};
    if (r->trim && yyjson_mut_is_obj(v)) {
        r->trim(r->kind, v);
    }
    int code = object_new_mut(r->kind, v, &o, &err);
    r->stats.events++;
    if (code == 0 && o->rv == 0) {
        object_unref(o);
        code = err_set(&err, ERR_SYNTAX, "it has no resourceVersion");
    }
    if (code != 0 && code != ERR_NOMEM) {
        skip_object(r, v, &err);
    }
    if (code != 0) {
        return code == ERR_NOMEM ? code : 0;
    }
    uint64_t rv = o->rv;
    if (r->collecting && type != CHANGE_DELETED) {
        note_seen(r, o->ns, o->name);
    }
    code = mirror_apply(r->mirror, type, o, NULL);
    if (code == 0 && !r->collecting) { /* a set comes in any order of revisions */
        pass(r, rv);
    }
    return code;
}

static void collect_begin(struct reflector *r) {
    r->collecting = true;
    r->set_failed = false;
    r->set_rv = 0;
    map_clear(&r->seen);
    arena_reset(&r->seen_arena);
}

VEC(object_vec, const struct object *);
struct leaving {
    struct reflector *r;
    struct object_vec v;
    uint64_t rv;
    bool newer; /* those newer than rv, instead of those up to it that the set had not */
};

static bool find_leaving(void *ctx, const struct object *o) {
    struct leaving *l = ctx;
    char key[2 * LIMIT_NAME + 2];
    bool leaves = o->rv > l->rv;
    if (!l->newer) {
        int n = snprintf(key, sizeof(key), "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
        size_t len = (size_t)n < sizeof(key) ? (size_t)n : sizeof(key) - 1;
        leaves = !leaves && map_get(&l->r->seen, str_from(key, len)) == NULL;
    }
    if (leaves && object_vec_push(&l->v, object_ref(o)) != 0) {
        object_unref(o);
        l->r->set_failed = true;
    }
    return true;
}

static void remove_leaving(struct reflector *r, struct leaving *l) {
    mirror_scan(r->mirror, r->kind, buf_view(&r->ns), find_leaving, l);
    for (size_t i = 0; i < l->v.n; i++) {
        if (mirror_apply(r->mirror, CHANGE_DELETED, (struct object *)(uintptr_t)l->v.v[i], NULL)) {
            r->set_failed = true;
        }
    }
    object_vec_release(&l->v);
}

/* The server's present is older than what we have seen of it: that past is not its past. True when it was so. */
static bool rewound(struct reflector *r, uint64_t set_rv) {
    if (!r->any_version || set_rv == 0 || set_rv >= r->source.passed) {
        return false;
    }
    struct leaving l = {.r = r, .rv = set_rv, .newer = true};
    r->source.passed = 0;
    remove_leaving(r, &l);
    mirror_forget_gone(r->mirror, r->kind);
    return true;
}

/* The set is complete: what it had not is gone, unless it is newer. False when part of it was lost. */
static bool collect_end(struct reflector *r, uint64_t set_rv) {
    struct leaving l = {.r = r, .rv = set_rv};
    if (!r->set_failed) {
        remove_leaving(r, &l);
    }
    if (r->set_failed) {
        return false;
    }
    r->collecting = false;
    r->any_version = r->whole_list = false;
    r->failures = r->cut_sets = r->page_tries = 0;
    r->stats.sets++;
    pass(r, set_rv);
    map_release(&r->seen);
    arena_release(&r->seen_arena);
    if (!r->is_synced) {
        r->is_synced = true;
        if (r->synced) {
            r->synced(r->ctx);
        }
    }
    return true;
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

/* False ends the stream. */
static bool on_bookmark(struct reflector *r, yyjson_mut_val *object) {
    yyjson_mut_val *meta = json_mget(object, STR("metadata"));
    uint64_t rv;
    if (!str_to_u64(json_mstr_at(meta, "resourceVersion"), &rv) || rv == 0) {
        return true;
    }
    if (!r->collecting) {
        pass(r, rv);
        return true;
    }
    yyjson_mut_val *notes = json_mget(meta, STR("annotations"));
    if (!str_is(json_mstr(json_mget(notes, STR("k8s.io/initial-events-end"))), "true")) {
        return true;
    }
    if (rewound(r, rv)) { /* of the set, what was older than ours was ignored: once more */
        r->restart = true;
        return false;
    }
    r->restart = !collect_end(r, rv);
    r->step = r->restart ? r->step : STEP_WATCH;
    return !r->restart;
}

/* A line that cannot be read; false ends the stream. */
static bool on_bad_line(struct reflector *r, const struct err *err) {
    bool again = r->broke && r->broke_after == r->source.passed;
    if (err->code == ERR_NOMEM || (err->code == ERR_SYNTAX && !again)) {
        r->broke = err->code == ERR_SYNTAX;
        r->broke_after = r->source.passed;
        return false;
    }
    skip(r, (struct str){0}, (struct str){0}, err->text);
    return true;
}

/* One line of the stream; false ends it. */
static bool on_line(struct reflector *r, struct str line) {
    static const struct {
        const char *name;
        enum change_type type;
    } types[] = {
        {"ADDED", CHANGE_ADDED}, {"MODIFIED", CHANGE_MODIFIED}, {"DELETED", CHANGE_DELETED}};
    yyjson_mut_doc *doc = NULL;
    struct err err = {0};
    arena_reset(&r->line_arena);
    if (json_parse_mut(&r->line_arena, line, &doc, &err) != 0) {
        return on_bad_line(r, &err);
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
        return on_bookmark(r, object);
    }
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        if (str_is(type, types[i].name)) {
            return take(r, types[i].type, object) == 0;
        }
    }
    return true;
}

/* Keeps the part of a line whose end has not come. False: no memory. */
static bool keep_part(struct reflector *r, struct str part) {
    if (r->overlong || r->line.n + part.n > LINE_BYTES_MAX) {
        r->overlong = true;
        buf_release(&r->line);
        buf_init(&r->line, LINE_BYTES_MAX);
        return true;
    }
    buf_str(&r->line, part);
    return buf_ok(&r->line) == 0;
}

/* The end of a line came. False ends the stream. */
static bool line_complete(struct reflector *r, struct str rest) {
    bool ok = true;
    if (r->line.n == 0 && !r->overlong) {
        return rest.n == 0 || on_line(r, rest);
    }
    ok = keep_part(r, rest);
    if (ok && r->overlong) {
        struct err err = {.code = ERR_TOO_LARGE, .text = "larger than what is kept"};
        ok = on_bad_line(r, &err);
    } else if (ok) {
        ok = on_line(r, buf_view(&r->line));
    }
    r->overlong = false;
    if (r->line.n > LINE_BYTES_KEPT) {
        buf_release(&r->line);
        buf_init(&r->line, LINE_BYTES_MAX);
    }
    buf_reset(&r->line);
    return ok;
}

static bool on_stream(void *ctx, struct str bytes) {
    struct reflector *r = ctx;
    struct str line;
    ptrdiff_t end;
    r->heard_at = now(r);
    r->silent = 0;
    while ((end = str_find(bytes, '\n')) >= 0) {
        line = str_head(bytes, (size_t)end);
        bytes = str_skip(bytes, (size_t)end + 1);
        if (!line_complete(r, line)) {
            return false;
        }
    }
    return bytes.n == 0 || keep_part(r, bytes);
}

/* ---- what happens next ---- */

int64_t reflector_pause_ms(int failures, bool synced) {
    int64_t ms = synced ? BACKOFF_MS : FIRST_MS, most = synced ? BACKOFF_MAX_MS : FIRST_MAX_MS;
    for (int i = 0; i < failures && ms < most; i++) {
        ms *= 2;
    }
    return ms < most ? ms : most;
}

static void pause_then(struct reflector *r, enum step step) {
    struct clock *c = loop_clock(kube_client_loop(r->client));
    int64_t t = now(r);
    if (t - r->failed_at > HEALTHY_MS * NS_PER_MS) {
        r->failures = 0;
    }
    r->failed_at = t;
    r->stats.failures++;
    loop_clock(kube_client_loop(r->client))->timer_stop(r->silence);
    int64_t ms = reflector_pause_ms(r->failures, r->is_synced);
    r->stats.pause_ms = ms;
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

/* The set is to be asked for again, from whatever revision the server has; with a pause when that was so already. */
static void ask_any(struct reflector *r, enum step step) {
    bool again = r->any_version;
    r->any_version = true;
    r->step = step;
    if (again) {
        pause_then(r, step);
    } else {
        run_step(r);
    }
}

static enum step first_step(const struct reflector *r) {
    return r->no_stream ? STEP_LIST : STEP_STREAM;
}

static bool knows_no_stream(const struct kube_reply *reply) {
    return reply->status == 400 || reply->status == 422;
}

static void stream_ended(void *ctx, const struct kube_reply *reply) {
    struct reflector *r = ctx;
    enum step was = r->step;
    bool starting = was == STEP_STREAM && r->collecting;
    bool brief = now(r) - r->began_at < SHORT_WATCH_MS * NS_PER_MS && !r->got_event;
    r->call = NULL;
    if (!starting && !brief && reply->status == 200) {
        r->failures = 0; /* it worked: what cuts it now is a first failure, not one more */
    }
    if (r->restart) {
        pause_then(r, r->step);
    } else if (reply->code == ERR_EXPIRED || kube_status_too_new(reply->body)) {
        ask_any(r, first_step(r));
    } else if (starting && knows_no_stream(reply)) {
        r->no_stream = true;
        r->step = STEP_LIST;
        run_step(r);
    } else if (starting && reply->status >= 400 && !is_temporary(reply->code)) {
        pause_then(r, STEP_LIST);
    } else if (starting && r->got_event && ++r->cut_sets >= CUT_SETS) {
        pause_then(r, STEP_LIST);
    } else if (starting || (reply->code != 0 && reply->code != ERR_TIMEOUT) || brief) {
        pause_then(r, was);
    } else {
        run_step(r); /* the server's time was up */
    }
}

static int64_t silence_of(const struct reflector *r, bool starting) {
    return r->silence_ms ? r->silence_ms * NS_PER_MS
                         : (starting ? SET_SILENCE_S : SILENCE_S) * NS_PER_SEC;
}

/* Nothing came for long. A connection may have died without a word, or the server waits for a revision that it has not
 * got yet. */
static void on_silence(void *ctx) {
    struct reflector *r = ctx;
    struct clock *c = loop_clock(kube_client_loop(r->client));
    bool starting = r->step == STEP_STREAM && r->collecting;
    int64_t limit = silence_of(r, starting);
    int64_t since = now(r) - r->heard_at;
    if (since < limit) {
        c->timer_start(r->silence, limit - since);
        return;
    }
    kube_cancel(r->call);
    r->call = NULL;
    if (starting) {
        r->step = STEP_LIST;
    } else if (++r->silent > 1) {
        r->silent = 0;
        r->step = first_step(r);
    }
    run_step(r);
}

static void list_failed(struct reflector *r, const struct kube_reply *reply) {
    bool paging = r->next_page.n > 0;
    if (paging && is_temporary(reply->code) && ++r->page_tries < PAGE_TRIES) {
        pause_then(r, STEP_LIST); /* what came before it need not come again */
        return;
    }
    r->page_tries = 0;
    buf_reset(&r->next_page);
    if (reply->code == ERR_EXPIRED && paging && !r->whole_list) {
        r->whole_list = true; /* pages that go on from another state would hide deletions */
        run_step(r);
    } else if (reply->code == ERR_EXPIRED || kube_status_too_new(reply->body)) {
        ask_any(r, STEP_LIST);
    } else {
        r->whole_list =
            r->whole_list && reply->code != ERR_TOO_LARGE; /* then pages, soon enough this time */
        pause_then(r, STEP_LIST);
    }
}

static int take_items(struct reflector *r, yyjson_mut_val *root) {
    yyjson_mut_val *items = json_mget(root, STR("items")), *item;
    size_t i, n;
    uint64_t rv;
    if (!str_ends(json_mstr(json_mget(root, STR("kind"))), STR("List")) ||
        !str_to_u64(json_mstr_at(root, "metadata.resourceVersion"), &rv) || rv == 0) {
        return ERR_SYNTAX;
    }
    if (r->set_rv == 0) {
        r->set_rv = rv;
        (void)rewound(r, rv);
    }
    buf_reset(&r->next_page);
    buf_str(&r->next_page, json_mstr_at(root, "metadata.continue"));
    int code = buf_ok(&r->next_page);
    if (items && !yyjson_mut_is_arr(items) && !yyjson_mut_is_null(items)) {
        code = ERR_SYNTAX;
    }
    yyjson_mut_arr_foreach(items, i, n, item) {
        code = code ? code : take(r, CHANGE_MODIFIED, item);
    }
    return code;
}

static int take_page(struct reflector *r, struct str body) {
    struct arena a;
    yyjson_mut_doc *doc = NULL;
    arena_init(&a, (size_t)1 << 30);
    int code = json_parse_mut(&a, body, &doc, NULL);
    code = code ? code : take_items(r, yyjson_mut_doc_get_root(doc));
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
    int code = take_page(r, reply->body);
    if (code == 0 && r->next_page.n > 0) {
        r->failures = r->page_tries = 0;
        run_step(r);
        return;
    }
    buf_reset(&r->next_page);
    if (code != 0 || !collect_end(r, r->set_rv)) {
        pause_then(r, STEP_LIST);
        return;
    }
    r->step = STEP_WATCH;
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
    if (r->source.passed && !(r->step == STEP_STREAM && r->any_version)) {
        add_number(path, "resourceVersion", r->source.passed);
    }
    return seconds;
}

static void add_list(struct reflector *r, struct buf *path) {
    if (!r->whole_list) {
        add_number(path, "limit", LIMIT_LIST_DEFAULT);
    }
    if (r->next_page.n) {
        kube_query(path, "continue", buf_view(&r->next_page));
    } else if (!r->any_version && r->source.passed) {
        add_number(path, "resourceVersion", r->source.passed);
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
    r->began_at = r->heard_at = now(r);
    r->stats.watches += r->step != STEP_LIST;
    struct clock *clock = loop_clock(kube_client_loop(r->client));
    if (r->step == STEP_LIST) {
        clock->timer_stop(r->silence);
    } else {
        clock->timer_start(r->silence, silence_of(r, true));
    }
    buf_reset(&r->line);
    r->overlong = false;
    q.path = buf_view(&path);
    if (buf_ok(&path) != 0 || kube_send(r->client, &q, &r->call, NULL) != 0) {
        buf_reset(&r->next_page);
        pause_then(r, r->step);
    }
    buf_release(&path);
}

static int take_options(struct reflector *r, const struct reflector_options *o, struct err *err) {
    buf_init(&r->ns, LIMIT_NAME);
    buf_init(&r->fields, LIMIT_SELECTOR_BYTES);
    buf_init(&r->labels, LIMIT_SELECTOR_BYTES);
    buf_init(&r->line, LINE_BYTES_MAX);
    buf_init(&r->next_page, LIMIT_SELECTOR_BYTES);
    arena_init(&r->line_arena, TREE_MAX);
    arena_init(&r->seen_arena, SEEN_MAX);
    arena_init(&r->selector_arena, 4 * LIMIT_SELECTOR_BYTES);
    buf_str(&r->ns, o->ns);
    buf_str(&r->fields, o->field_selector);
    buf_str(&r->labels, o->label_selector);
    if (buf_ok(&r->ns) || buf_ok(&r->fields) || buf_ok(&r->labels)) {
        return err_set(err, ERR_INVALID, "cannot mirror %s: a selector is too long",
                       o->kind->plural);
    }
    int code = selector_parse(&r->selector_arena, o->label_selector, &r->label_terms, err);
    return code ? code
                : field_selector_parse(&r->selector_arena, o->field_selector, &r->field_terms, err);
}

struct reflector *reflector_start(struct kube_client *c, struct mirror *m,
                                  const struct reflector_options *o, struct err *err) {
    struct reflector *r = mem_zalloc(sizeof(*r));
    struct clock *clock = loop_clock(kube_client_loop(c));
    if (r == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    r->source = (struct mirror_source){.kind = o->kind, .covers = covers};
    r->client = c;
    r->mirror = m;
    r->kind = o->kind;
    r->trim = o->trim;
    r->synced = o->synced;
    r->ctx = o->ctx;
    r->log = o->log;
    r->silence_ms = o->silence_ms;
    int code = take_options(r, o, err);
    prng_seed(&r->prng, (uint64_t)clock_wall(clock) ^ (uint64_t)(uintptr_t)r);
    r->timer = clock->timer_new(clock, resume, r);
    r->silence = clock->timer_new(clock, on_silence, r);
    if (code == 0 && (r->timer == NULL || r->silence == NULL)) {
        code = err_set(err, ERR_NOMEM, "no memory");
    }
    if (code != 0) {
        reflector_free(r);
        return NULL;
    }
    r->failed_at = now(r);
    mirror_follow(m, &r->source);
    run_step(r);
    return r;
}

void reflector_stats(const struct reflector *r, struct reflector_stats *ret) {
    *ret = r->stats;
    ret->revision = r->source.passed;
}

bool reflector_synced(const struct reflector *r) {
    return r->is_synced;
}

void reflector_free(struct reflector *r) {
    if (r == NULL) {
        return;
    }
    mirror_unfollow(r->mirror, &r->source);
    kube_cancel(r->call);
    loop_clock(kube_client_loop(r->client))->timer_free(r->timer);
    loop_clock(kube_client_loop(r->client))->timer_free(r->silence);
    arena_release(&r->selector_arena);
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
