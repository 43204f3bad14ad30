/*
 * watch: change streams. A watcher goes through three states:
 *
 *     INITIAL   the objects of one snapshot, page by page while the peer takes them
 *     CATCHUP   what was committed since, from history
 *     LIVE      each change as it is committed, from the mirror's feed of the kind
 *
 * One feed serves all watchers of a kind. A frame is made once for each representation and shared: neighbours in the
 * list of watchers ask for the same one most of the time, so the last few are kept while a change is delivered. For a
 * peer that takes too little no more is made than LIMIT_WATCH_BACKLOG: it goes back to CATCHUP until it has taken that,
 * and what it misses stays in the history, once for all. When that has gone on it is told 410; when it takes nothing at
 * all net cuts it. It resumes from its last revision.
 */
#include <stdio.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "server/kit/convert.h"
#include "server/kit/handlers.h"
#include "server/kit/names.h"
#include "server/kit/select.h"

enum { FRAMES = 6, LOW_WATER = 16 << 10 };

#define BOOKMARK_NS (60 * NS_PER_SEC)

enum watch_state { WATCH_INITIAL, WATCH_CATCHUP, WATCH_LIVE, WATCH_ENDED };

struct watch {
    struct server *s;
    struct call *call;
    struct kind_feed *feed;
    struct picker pick;
    enum watch_state state;
    bool bookmarks, initial_end;     /* initial_end: a bookmark ends the initial events */
    uint64_t rv;                     /* of the snapshot; then of the last change looked at */
    struct str after_ns, after_name; /* INITIAL: last key sent; owned */
    int64_t deadline, next_bookmark; /* monotonic */
    struct timer *timer;
    struct convert_wait converting; /* it goes on when the next object's conversion is known */
    bool stuck;                     /* in a scan: that object was met */
    size_t ahead;                   /* bytes of objects asked about since */
    struct watch *next, *prev;
};

struct frame {
    const char *type;
    const struct kind_version *kv;
    struct media media;
    int code; /* 0, or it could not be made */
    enum { INCLUDE_METADATA, INCLUDE_NONE, INCLUDE_OBJECT } include;
    struct buf text;
};

struct kind_feed {
    struct kind_feed *next;
    struct server *s;
    const struct kind *kind; /* stored */
    struct feed *feed;
    struct watch *first;
};

struct watch_hub {
    struct kind_feed *feeds;
    size_t n;
    struct frame frames[FRAMES]; /* of the change being delivered */
    size_t n_frames;
};

static void watch_end(struct watch *w);
static void watch_pump(struct watch *w);

size_t watch_count(const struct server *s) {
    return (s->hub != NULL ? s->hub->n : 0) +
           (s->computed != NULL ? virtual_hub_count(s->computed) : 0);
}

int watch_init(struct server *s, struct err *err) {
    s->hub = mem_zalloc(sizeof(*s->hub));
    if (s->hub == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    for (size_t i = 0; i < FRAMES; i++) {
        buf_init(&s->hub->frames[i].text, 0);
    }
    return 0;
}

void watch_stop_all(struct server *s) {
    virtual_hub_stop(s->computed);
    for (struct kind_feed *f = s->hub->feeds; f != NULL; f = f->next) {
        while (f->first != NULL) {
            watch_end(f->first);
        }
    }
}

void watch_stop_kind(struct server *s, const struct kind *k) {
    struct kind_feed *f = s->hub != NULL ? s->hub->feeds : NULL;
    for (; f != NULL; f = f->next) {
        while (f->kind == k && f->first != NULL) {
            watch_end(f->first);
        }
    }
}

void watch_release(struct server *s) {
    if (s->hub == NULL) {
        return;
    }
    while (s->hub->feeds != NULL) {
        struct kind_feed *f = s->hub->feeds;
        s->hub->feeds = f->next;
        feed_free(f->feed);
        mem_free(f);
    }
    for (size_t i = 0; i < FRAMES; i++) {
        buf_release(&s->hub->frames[i].text);
    }
    mem_free(s->hub);
    s->hub = NULL;
}

/* ---- frames ---- */

static int include_of(const struct watch *w) {
    struct str s = w->call->req.opt.include_object;
    return str_is(s, "None")     ? INCLUDE_NONE
           : str_is(s, "Object") ? INCLUDE_OBJECT
                                 : INCLUDE_METADATA;
}

static bool frame_fits(const struct frame *f, const struct watch *w, const char *type) {
    const struct call *c = w->call;
    return f->type == type && f->kv == c->req.kv && f->media.shape == c->media.shape &&
           f->media.v1beta1 == c->media.v1beta1 && f->media.protobuf == c->media.protobuf &&
           (int)f->include == include_of(w);
}

static void frame_fill(struct frame *f, const struct watch *w, const char *type,
                       const struct object *o) {
    struct render r = call_render(w->call);
    struct err err = {0};
    r.media.yaml = false;
    *f = (struct frame){type, r.kv, r.media, 0, (unsigned)include_of(w), f->text};
    buf_reset(&f->text);
    if (r.media.protobuf) {
        struct buf object;
        buf_init(&object, 0);
        f->code = render_object(&r, o, &object, &err);
        f->code = f->code ? f->code : buf_ok(&object);
        render_event(&r.media, type, buf_view(&object), &f->text);
        buf_release(&object);
    } else { /* as render_event, without a copy of the object */
        buf_f(&f->text, "{\"type\":\"%s\",\"object\":", type);
        f->code = render_object(&r, o, &f->text, &err);
        buf_c(&f->text, "}\n");
    }
    f->code = f->code ? f->code : buf_ok(&f->text);
}

/* The types are compared by address: they come from here only. LEFT is what is selected no more. */
static const char ADDED[] = "ADDED", MODIFIED[] = "MODIFIED", DELETED[] = "DELETED",
                  LEFT[] = "DELETED";

static int watch_send(struct watch *w, const char *type, const struct object *o) {
    struct watch_hub *h = w->s->hub;
    struct frame *f = NULL;
    for (size_t i = 0; i < h->n_frames && f == NULL; i++) {
        f = frame_fits(&h->frames[i], w, type) ? &h->frames[i] : NULL;
    }
    if (f == NULL) {
        size_t at = h->n_frames < FRAMES ? h->n_frames++ : FRAMES - 1;
        f = &h->frames[at];
        frame_fill(f, w, type, o);
    }
    if (f->code == 0) {
        w->converting.rounds = 0;
    }
    return f->code ? f->code : http_stream_write(w->call->http, buf_view(&f->text));
}

static void frames_forget(struct watch_hub *h) {
    h->n_frames = 0;
}

/* What a change is for this watcher, by whether the object was and is selected; NULL: nothing. */
static const char *transition(struct watch *w, const struct change *c) {
    bool is = pick_matches(&w->pick, c->obj);
    if (c->type == CHANGE_ADDED) {
        return is ? ADDED : NULL;
    }
    if (c->type == CHANGE_DELETED) {
        return is ? DELETED : c->old != NULL && pick_matches(&w->pick, c->old) ? LEFT : NULL;
    }
    bool was = c->old != NULL && pick_matches(&w->pick, c->old);
    return is ? (was ? MODIFIED : ADDED) : was ? LEFT : NULL;
}

/* An object that leaves the selection is told as it last was in it, with the revision at which it left: what it has
 * become may be nothing that the watcher shall see. */
static int send_change(struct watch *w, const char *type, const struct change *c) {
    if (type != LEFT) {
        return watch_send(w, type, c->obj);
    }
    struct object last = *c->old;
    last.rv = c->obj->rv;
    return watch_send(w, LEFT, &last);
}

/* An event whose object is the JSON in `object`, which is spent. */
static int send_event(struct call *c, const char *type, struct buf *object) {
    struct buf b;
    struct err err = {0};
    int r = 0;
    buf_init(&b, 0);
    if (c->media.protobuf) {
        arena_reset(&c->s->scratch);
        r = render_protobuf(object, &c->s->scratch, &err);
    }
    render_event(&c->media, type, buf_view(object), &b);
    r = r ? r : buf_ok(object);
    r = r ? r : buf_ok(&b);
    r = r ? r : http_stream_write(c->http, buf_view(&b));
    buf_release(&b);
    return r;
}

static int send_bookmark(struct watch *w, bool initial_end) {
    const struct api_request *q = &w->call->req;
    struct buf b;
    buf_init(&b, 4096);
    buf_f(&b, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\",", q->kind->kind, q->kind->group,
          q->kind->group[0] ? "/" : "", q->kv->version);
    buf_f(&b, "\"metadata\":{\"resourceVersion\":\"%llu\",\"creationTimestamp\":null",
          (unsigned long long)w->rv);
    if (initial_end) {
        buf_c(&b, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    }
    buf_c(&b, "}}");
    int r = send_event(w->call, "BOOKMARK", &b);
    buf_release(&b);
    return r;
}

void watch_send_error(struct call *c, const struct failure *f) {
    struct buf b;
    buf_init(&b, 0);
    failure_json(f, &b);
    if (b.n > 0) {
        b.n--; /* its newline */
    }
    (void)send_event(c, "ERROR", &b);
    buf_release(&b);
}

/* ---- conversion webhooks ---- */

/* The conversion of an object that is to be sent is not known yet: those behind it are asked about in the same review,
 * as far as a page goes, and nothing is sent. False: the page is full. */
static bool ask_about(struct watch *w, const struct object *o) {
    struct render r = call_render(w->call);
    struct err err = {0};
    struct buf b;
    buf_init(&b, 0);
    if (pick_matches(&w->pick, o)) {
        (void)render_object(&r, o, &b, &err);
        w->ahead += o->json.n;
    }
    buf_release(&b);
    return w->ahead < LIMIT_LIST_PAGE_BYTES;
}

/* The webhook failed: whoever watches is told why, and begins anew. */
static void tell_failure(struct watch *w, const struct object *o) {
    struct render r = call_render(w->call);
    struct failure f;
    struct err err = {0};
    struct buf b;
    buf_init(&b, 0);
    if (w->call->req.kv->asks && render_object(&r, o, &b, &err) == ERR_INTERNAL) {
        (void)failure_set(&f, w->call->arena, ERR_INTERNAL, "%s", err.text);
        watch_send_error(w->call, &f);
    }
    buf_release(&b);
}

static void converted(struct convert_wait *c) {
    struct watch *w = (struct watch *)((char *)c - offsetof(struct watch, converting));
    watch_pump(w);
}

/* It goes on when the webhook has answered. False: it has ended. */
static bool await_conversion(struct watch *w) {
    w->stuck = false;
    w->ahead = 0;
    w->converting.ready = converted;
    if (!convert_await(w->s, &w->converting)) {
        watch_end(w);
        return false;
    }
    return true;
}

/* ---- life ---- */

static void watch_free(struct watch *w) {
    convert_forget(&w->converting);
    if (w->feed != NULL) {
        if (w->prev != NULL) {
            w->prev->next = w->next;
        } else {
            w->feed->first = w->next;
        }
        if (w->next != NULL) {
            w->next->prev = w->prev;
        }
        w->s->hub->n--;
    }
    if (w->timer != NULL) {
        w->s->clock->timer_free(w->timer);
    }
    mem_free((void *)(uintptr_t)w->after_ns.p);
    mem_free((void *)(uintptr_t)w->after_name.p);
    mem_free(w);
}

static void watch_gone(struct call *c, void *ctx) {
    c->s->long_running--;
    watch_free(ctx);
}

static void watch_end(struct watch *w) {
    struct call *c = w->call;
    c->detach = NULL;
    watch_free(w);
    call_stream_end(c);
}

static void watch_tick(void *ctx) {
    struct watch *w = ctx;
    int64_t now = clock_mono(w->s->clock);
    bool due = now >= w->deadline;
    if (w->bookmarks && w->state == WATCH_LIVE && (due || now >= w->next_bookmark)) {
        w->rv = mirror_revision(w->s->o.mirror);
        (void)send_bookmark(w, false); /* one less is no harm */
        w->next_bookmark = now + BOOKMARK_NS;
    }
    if (due) {
        watch_end(w);
        return;
    }
    int64_t next = w->deadline;
    if (w->bookmarks && w->next_bookmark < next) {
        next = w->next_bookmark;
    }
    w->s->clock->timer_start(w->timer, next > now ? next - now : 0);
}

/* What the peer has not taken is held once for each watcher; the history is held once for all. */
static bool is_full(const struct watch *w) {
    size_t waiting = http_stream_waiting(w->call->http);
    bool much = http_waiting_for_account(w->call->http) > LIMIT_WATCH_BYTES_USER;
    return waiting > (much ? (size_t)LOW_WATER : (size_t)LIMIT_WATCH_BACKLOG);
}

/* However short each one's backlog is: a user with so many of them that nobody reads loses those that have one. */
static bool is_deaf(const struct watch *w) {
    return http_waiting_for_account(w->call->http) > 2 * (size_t)LIMIT_WATCH_BYTES_USER &&
           http_stream_waiting(w->call->http) > 0;
}

static void on_change(void *ctx, const struct change *c) {
    struct kind_feed *f = ctx;
    frames_forget(f->s->hub);
    for (struct watch *w = f->first, *next; w != NULL; w = next) {
        next = w->next;
        if (is_deaf(w)) {
            watch_end(w);
            continue;
        }
        if (w->state != WATCH_LIVE || c->obj->rv <= w->rv) {
            continue; /* it has seen this, or waits for a revision to come */
        }
        if (is_full(w)) {
            w->state =
                WATCH_CATCHUP; /* it reads on in the history when the peer has taken what waits */
            continue;
        }
        const char *type = transition(w, c);
        int r = w->pick.failed;
        r = r == 0 && type != NULL ? send_change(w, type, c) : r;
        if (r == ERR_AGAIN) {
            w->state = WATCH_CATCHUP;
            (void)await_conversion(w);
            continue;
        }
        w->rv = c->obj->rv;
        if (r != 0) {
            tell_failure(w, c->obj);
            watch_end(w); /* rather than with a hole: it resumes where it was */
        }
    }
    frames_forget(f->s->hub);
}

static struct kind_feed *feed_of(struct server *s, const struct kind *k) {
    struct kind_feed *f = s->hub->feeds;
    while (f != NULL && f->kind != k) {
        f = f->next;
    }
    if (f == NULL && (f = mem_zalloc(sizeof(*f))) != NULL) {
        f->s = s;
        f->kind = k;
        f->feed = mirror_feed(s->o.mirror, k, on_change, f);
        if (f->feed == NULL) {
            mem_free(f);
            return NULL;
        }
        f->next = s->hub->feeds;
        s->hub->feeds = f;
    }
    return f;
}

/* ---- getting live ---- */

static bool keep(struct str *to, struct str from) {
    char *copy = mem_cstr(from);
    mem_free((void *)(uintptr_t)to->p);
    *to = copy != NULL ? str_from(copy, from.n) : (struct str){0};
    return copy != NULL;
}

static bool send_initial(void *ctx, const struct object *o) {
    struct watch *w = ctx;
    frames_forget(w->s->hub);
    if (w->stuck) {
        return ask_about(w, o);
    }
    bool is = pick_matches(&w->pick, o);
    int r = w->pick.failed;
    r = r == 0 && is ? watch_send(w, ADDED, o) : r;
    if (r == ERR_AGAIN) {
        w->stuck = true;
        return true;
    }
    bool full = is_full(w);
    if (r == 0 && (full || w->call->req.kv->asks) &&
        (!keep(&w->after_ns, o->ns) || !keep(&w->after_name, o->name))) {
        r = ERR_NOMEM;
    }
    if (r != 0) {
        tell_failure(w, o);
        w->state = WATCH_ENDED;
    }
    return r == 0 && !full;
}

static bool send_missed(void *ctx, const struct change *c) {
    struct watch *w = ctx;
    if (w->stuck) {
        return ask_about(w, c->obj);
    }
    const char *type = transition(w, c);
    frames_forget(w->s->hub);
    int r = w->pick.failed;
    r = r == 0 && type != NULL ? send_change(w, type, c) : r;
    if (r == ERR_AGAIN) {
        w->stuck = true;
        return true;
    }
    if (r != 0) {
        tell_failure(w, c->obj);
        w->state = WATCH_ENDED;
        return false;
    }
    w->rv = c->obj->rv;
    return !is_full(w);
}

static void watch_expired(struct watch *w, uint64_t oldest) {
    struct call *c = w->call;
    struct failure f;
    (void)failure_set(&f, c->arena, ERR_EXPIRED, "too old resource version: %llu (%llu)",
                      (unsigned long long)w->rv, (unsigned long long)oldest);
    watch_send_error(c, &f);
    watch_end(w);
}

static void drained(void *user) {
    struct call *c = user;
    if (c->detach_ctx != NULL && c->detach != NULL) {
        watch_pump(c->detach_ctx);
    }
}

/* The snapshot; false when the watch cannot go on now, or has ended. */
static bool pump_initial(struct watch *w) {
    struct mirror *m = w->s->o.mirror;
    struct err err = {0};
    int r = mirror_scan_at(m, w->feed->kind, w->pick.ns, w->rv, w->after_ns, w->after_name,
                           send_initial, w, &err);
    if (r == ERR_EXPIRED) {
        watch_expired(w, mirror_revision(m));
        return false;
    }
    if (r != 0 || w->state == WATCH_ENDED) {
        watch_end(w);
        return false;
    }
    if (w->stuck) {
        (void)await_conversion(w);
        return false;
    }
    if (is_full(w)) {
        return false;
    }
    w->state = WATCH_CATCHUP;
    if (w->initial_end && w->bookmarks && send_bookmark(w, true) != 0) {
        watch_end(w);
        return false;
    }
    return true;
}

static void pump_missed(struct watch *w) {
    struct mirror *m = w->s->o.mirror;
    uint64_t oldest = 0;
    struct err err = {0};
    int r = w->rv < mirror_revision(m)
                ? mirror_since(m, w->feed->kind, w->rv, send_missed, w, &oldest, &err)
                : 0;
    if (r == ERR_EXPIRED) {
        watch_expired(w, oldest);
    } else if (r != 0 || w->state == WATCH_ENDED) {
        watch_end(w);
    } else if (w->stuck) {
        (void)await_conversion(w);
    } else if (!is_full(w)) {
        w->state = WATCH_LIVE;
    }
}

/* Goes on until it is live, or the peer is full (then `drained` calls again). It may end w. */
static void watch_pump(struct watch *w) {
    struct watch_hub *h = w->s->hub;
    if (w->state == WATCH_INITIAL && !pump_initial(w)) {
        return;
    }
    if (w->state == WATCH_CATCHUP) {
        pump_missed(w);
    }
    frames_forget(h);
}

/* ---- starting ---- */

static int bad_watch_options(struct call *c, const char *field, const char *text) {
    return failure_invalid_one(&c->failure, c->arena, "meta.k8s.io", "ListOptions", (struct str){0},
                               CAUSE_FORBIDDEN, field, "Forbidden: %s", text);
}

int watch_check_options(struct call *c, uint64_t *ret_rv) {
    const struct request_options *o = &c->req.opt;
    bool initial_set = o->send_initial_events.set;
    *ret_rv = 0;
    if (o->resource_version.n > 0 && !str_to_u64(o->resource_version, ret_rv)) {
        return failure_set(&c->failure, c->arena, ERR_BAD_REQUEST,
                           "invalid resource version: \"%.*s\"",
                           STR_ARG(str_head(o->resource_version, 64)));
    }
    if (initial_set && !str_is(o->resource_version_match, "NotOlderThan")) {
        return bad_watch_options(c, "resourceVersionMatch",
                                 "sendInitialEvents requires setting resourceVersionMatch to "
                                 "NotOlderThan");
    }
    if (!initial_set && o->resource_version_match.n > 0) {
        return bad_watch_options(c, "resourceVersionMatch",
                                 "resourceVersionMatch is forbidden for watch unless "
                                 "sendInitialEvents is provided");
    }
    return 0;
}

int64_t watch_seconds(struct call *c) {
    int64_t seconds = c->req.opt.timeout_seconds;
    uint16_t spread = 0;
    (void)names_random(c->s, &spread, sizeof(spread), NULL);
    return seconds > 0 && seconds <= 86400 ? seconds : 1800 + spread % 1800;
}

/* Where the stream starts; see watch.c's head for the states. */
static int settle_start(struct watch *w, struct call *c) {
    const struct request_options *o = &c->req.opt;
    bool initial_set = o->send_initial_events.set, initial = o->send_initial_events.v;
    uint64_t rv, now = mirror_revision(c->s->o.mirror);
    int r = watch_check_options(c, &rv);
    if (r != 0) {
        return r;
    }
    w->bookmarks = o->allow_bookmarks;
    w->initial_end = initial;
    bool from_start = initial_set ? initial : rv == 0;
    w->state = from_start ? WATCH_INITIAL : WATCH_CATCHUP;
    w->rv = from_start || rv == 0 ? now : rv;
    return 0;
}

static int watch_new(struct call *c, struct watch **ret) {
    struct server *s = c->s;
    struct err err = {0};
    struct watch *w = mem_zalloc(sizeof(*w));
    int r = w == NULL ? failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory") : 0;
    if (r != 0) {
        return r;
    }
    w->s = s;
    w->call = c;
    r = settle_start(w, c);
    if (r == 0 && pick_init(&w->pick, &c->req, c->arena, &s->scratch, &err) != 0) {
        r = failure_err(&c->failure, c->arena, &err);
    }
    struct kind_feed *f = r == 0 ? feed_of(s, kind_stored(c->req.kind)) : NULL;
    w->timer = f != NULL ? s->clock->timer_new(s->clock, watch_tick, w) : NULL;
    if (r == 0 && w->timer == NULL) {
        r = failure_set(&c->failure, c->arena, ERR_NOMEM, "out of memory");
    }
    if (r != 0) {
        watch_free(w);
        return r;
    }
    w->feed = f;
    w->next = f->first;
    if (f->first != NULL) {
        f->first->prev = w;
    }
    f->first = w;
    s->hub->n++;
    *ret = w;
    return 0;
}

void watch_request(struct call *c) {
    struct server *s = c->s;
    struct watch *w;
    if (watch_count(s) >= LIMIT_WATCHES || s->stopping) {
        (void)failure_too_many(&c->failure);
        call_fail(c);
        return;
    }
    if (watch_new(c, &w) != 0) {
        call_fail(c);
        return;
    }
    int64_t now = clock_mono(s->clock);
    w->deadline = now + watch_seconds(c) * NS_PER_SEC;
    w->next_bookmark = now + BOOKMARK_NS;
    c->detach = watch_gone;
    c->detach_ctx = w;
    call_stream(c, render_event_type(&c->media));
    http_stream_on_drain(c->http, drained);
    int64_t first = w->bookmarks && w->next_bookmark < w->deadline ? w->next_bookmark : w->deadline;
    s->clock->timer_start(w->timer, first - now);
    watch_pump(w);
}
