/*
 * writer (kube): mirror/writer.h as requests to an API server. See writer.h; writer_queue.c has the order.
 *
 * What a turn of the loop asks for is queued, and sent at the turn's end, the most urgent first.
 */
#include "kube/writer.h"

#include "api/schema/codec_encode.h"
#include "base/limits.h"
#include "base/mem.h"
#include "kube/client_private.h"
#include "kube/path.h"
#include "kube/writer_private.h"
#include "wire/json/json_peek.h"

enum {
    PATH_MAX_BYTES = 4096,
    TREE_MAX = 32 << 20,
    IN_FLIGHT = 32,
    DOUBT_MS = 250, /* between tries to learn what became of a write */
    DOUBT_TRIES = 240,
};

struct kube_writer {
    struct writer writer; /* first: a writer is cast back */
    struct kube_client *client;
    struct kube_writer_options o;
    struct write_queue queue;
    struct pending_list failed; /* not sent; told at the end of the turn */
    struct limiter limiter;
    struct timer *timer; /* until the limiter lets the next one go */
    struct timer *doubt; /* until those in doubt are tried again */
    struct kube_writer_stats stats;
    struct arena arena; /* for one answer */
    bool pump_due, dead;
};

static void pump_soon(struct kube_writer *w);

static struct kube_writer *writer_of(struct writer *w) {
    return (struct kube_writer *)(void *)w;
}

/* ---- answers ---- */

void kube_trim_managed(const struct kind *k, yyjson_mut_val *obj) {
    const struct str applied = STR("kubectl.kubernetes.io/last-applied-configuration");
    yyjson_mut_val *meta = json_mget(obj, STR("metadata"));
    yyjson_mut_val *notes = json_mget(meta, STR("annotations"));
    json_mdel(meta, STR("managedFields"));
    if (notes) {
        json_mdel(notes, applied);
        if (yyjson_mut_obj_size(notes) == 0) {
            json_mdel(meta, STR("annotations"));
        }
    }
}

struct answer {
    struct object *obj; /* NULL for a Status and for what cannot be read */
    struct str uid;     /* of what was deleted, by a Status' details */
    bool gone;          /* the object is not there any more */
    bool lost;          /* no memory: it must be read again */
};

/* A deletion is answered with the object when it only began: then something still holds it. */
static bool is_gone(const struct object *o, yyjson_mut_val *root, bool deletion) {
    if (o->deleting_ns == 0) {
        return deletion;
    }
    yyjson_mut_val *grace = json_mpath(root, "metadata.deletionGracePeriodSeconds");
    return o->n_finalizers == 0 && !(yyjson_mut_is_int(grace) && yyjson_mut_get_sint(grace) > 0);
}

static struct answer read_answer(struct kube_writer *w, const struct pending *p, struct str body) {
    struct answer a = {0};
    bool deletion = strcmp(p->method, "DELETE") == 0 && !p->asking;
    yyjson_mut_doc *doc = NULL;
    arena_reset(&w->arena);
    int code = json_parse_mut(&w->arena, body, &doc, NULL);
    if (code != 0) {
        a.lost = code == ERR_NOMEM;
        return a;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    if (!str_is(json_mstr(json_mget(root, STR("kind"))), p->kind->kind)) {
        a.gone = deletion;
        a.uid = p->uid.n ? p->uid : json_mstr_at(root, "details.uid");
        return a;
    }
    if (w->o.trim) {
        w->o.trim(p->kind, root);
    }
    code = object_new_mut(p->kind, root, &a.obj, NULL);
    if (code == 0) {
        a.gone = is_gone(a.obj, root, deletion);
    }
    a.lost = code == ERR_NOMEM;
    return a;
}

/* Before anybody is told, so that they read what they wrote. */
static void tell_mirror(const struct kube_writer *w, const struct pending *p, struct answer *a) {
    int code = 0;
    if (w->o.mirror == NULL) {
        return;
    }
    if (a->gone) {
        code = mirror_answer_gone(w->o.mirror, p->kind, p->ns, p->name,
                                  a->obj ? a->obj->uid : a->uid, NULL);
    } else if (a->obj) {
        code = mirror_answer(w->o.mirror, object_ref(a->obj), NULL);
    }
    a->lost = a->lost || code != 0;
}

/* Tells everybody who waits for this write, the oldest first, and frees it. Any of them may free the writer. */
static void tell(struct pending *p, const struct write_result *result) {
    struct listener *first = NULL;
    for (struct listener *l = p->others, *next; l; l = next) { /* they lie newest first */
        next = l->next;
        l->next = first;
        first = l;
    }
    p->others = first;
    for (struct listener *l = first; l; l = l->next) {
        if (l->done) {
            l->done(l->ctx, result);
        }
    }
    if (p->done) {
        p->done(p->ctx, result);
    }
    pending_free(p);
}

static void wait_in_doubt(struct pending *p) {
    struct kube_writer *w = p->owner;
    p->call = NULL;
    p->doubt = true;
    p->tries++;
    loop_clock(kube_client_loop(w->client))->timer_start(w->doubt, DOUBT_MS * NS_PER_MS);
}

/* A creation says in its body what it is called; empty: the server was to choose. */
static struct str name_of(const struct pending *p) {
    return p->name.n ? p->name : json_peek(p->body, STR("metadata"), STR("name"));
}

/* The name that the server chose, from its answer. It takes the place of the body, which had its part of it already,
 * with more around it, and is not sent again. */
static void take_name(struct pending *p, struct str answer) {
    struct str name = json_peek(answer, STR("metadata"), STR("name"));
    if (name_of(p).n == 0 && name.n > 0 && name.n <= p->body.n) {
        memcpy((char *)p->body.p, name.p, name.n);
        p->name = str_head(p->body, name.n);
    }
}

/* The end of a write: the answer, if there is one, goes to the mirror, and everybody is told. */
static void land(struct pending *p, const struct kube_reply *r, int code) {
    struct kube_writer *w = p->owner;
    struct write_result result = {.code = code, .err = r->err};
    struct answer a = {0};
    if (r->code == 0 && (w->o.mirror || p->done || p->others)) {
        a = read_answer(w, p, r->body);
        tell_mirror(w, p, &a);
    }
    if (a.lost && strcmp(p->method, "POST") == 0) {
        take_name(p, r->body);
    }
    if (a.lost && p->tries < DOUBT_TRIES && name_of(p).n > 0) {
        object_unref(a.obj);
        p->happened = p->happened || code == 0;
        p->asking = true;
        wait_in_doubt(p);
        return;
    }
    if (code != 0) {
        result.err.code = code;
    }
    if (code == ERR_TIMEOUT) {
        err_wrap(&result.err, "it may have happened");
    }
    result.obj = code == 0 ? a.obj : NULL;
    w->stats.failed += code != 0;
    queue_landed(&w->queue, p);
    if (r->code == 0 && !p->doubt) {
        int64_t now = clock_mono(loop_clock(kube_client_loop(w->client)));
        pace_answer(&w->queue.pace, now - p->sent_ns, now);
    }
    pump_soon(w);
    tell(p, &result);
    object_unref(a.obj);
}

/* ---- doubt ----
 *
 * A write that was sent and not answered may have happened, and may yet happen. Whoever decided it must not decide
 * anything else on the belief that it did not: an admission forgotten is quota given twice. A conditional write is
 * therefore sent again until there is an answer, which settles both: it happens now, or it conflicts, since the version
 * is another by then; in that case the object is read, so that the mirror knows it before anybody is told.
 *
 * Any conflict may be such a one: libcurl by itself sends a request again when a connection that was used before ends
 * without an answer, and what we are told is the answer to the second.
 *
 * An answer for which there was no memory is such a case too: what was written is read again, since nobody is told
 * before the mirror shows it. */

static void send_again(struct pending *p);

static bool is_doubtful(const struct pending *p, const struct kube_reply *r) {
    bool unanswered = r->code != 0 && (r->status == 0 || r->status >= 500);
    return p->conditional && p->tries < DOUBT_TRIES &&
           (p->doubt ? unanswered : unanswered && (r->sent || r->status >= 500));
}

static void on_read(void *ctx, const struct kube_reply *r) {
    struct pending *p = ctx;
    bool unanswered =
        r->code != 0 && (r->status == 0 || r->status >= 500 || r->code == ERR_TOO_MANY);
    if (unanswered && p->tries < DOUBT_TRIES) {
        wait_in_doubt(p);
        return;
    }
    land(p, r, p->happened ? 0 : ERR_CONFLICT);
}

static void on_reply(void *ctx, const struct kube_reply *r) {
    struct pending *p = ctx;
    if (is_doubtful(p, r)) {
        wait_in_doubt(p);
    } else if (p->conditional && r->code == ERR_CONFLICT) {
        p->asking = p->doubt = true;
        send_again(p);
    } else {
        bool maybe = r->code != 0 && (p->doubt ? r->status == 0 || r->status >= 500 : r->sent);
        land(p, r, maybe ? ERR_TIMEOUT : r->code);
    }
}

/* ---- sending ---- */

static void fail_later(struct kube_writer *w, struct pending *p, int code, const struct err *err) {
    p->early = mem_alloc(sizeof(*p->early)); /* without memory, that is told instead */
    if (p->early) {
        *p->early = *err;
        p->early->code = code;
    }
    w->stats.failed++;
    list_push(&w->failed, p);
    pump_soon(w);
}

/* What tells it apart from other writes is in the pending one already. 0, ERR_TOO_LARGE or ERR_NOMEM. */
static int make_path(struct pending *p) {
    struct buf b;
    buf_init(&b, PATH_MAX_BYTES);
    kube_kind_path(&b, p->kind, p->ns, p->name, p->subresource);
    if (p->who) {
        kube_query(&b, "fieldManager", str_of(p->who));
    }
    if (p->forced) {
        kube_query(&b, "force", STR("true"));
    }
    int code = buf_ok(&b);
    p->path = code ? NULL : mem_cstr(buf_view(&b));
    buf_release(&b);
    return code ? code : p->path ? 0 : ERR_NOMEM;
}

static int request(struct kube_writer *w, struct pending *p, struct err *err) {
    struct kube_request r = {.method = p->method,
                             .path = str_of(p->path),
                             .body = p->body,
                             .content_type = p->content_type,
                             .lasting = true,
                             .may_send = w->o.fence,
                             .may_send_ctx = w->o.fence_ctx,
                             .done = on_reply,
                             .ctx = p};
    return kube_send(w->client, &r, &p->call, err);
}

/* The whole object, as the server has it now. */
static int request_read(struct kube_writer *w, struct pending *p) {
    struct buf path;
    buf_init(&path, PATH_MAX_BYTES);
    kube_kind_path(&path, p->kind, p->ns, name_of(p), STR(""));
    struct kube_request r = {.method = "GET", .path = buf_view(&path), .done = on_read, .ctx = p};
    int code = buf_ok(&path);
    code = code ? code : kube_send(w->client, &r, &p->call, NULL);
    buf_release(&path);
    return code;
}

static void send_one(struct kube_writer *w, struct pending *p) {
    int code = make_path(p);
    struct err err = {0};
    queue_fly(&w->queue, p, clock_mono(loop_clock(kube_client_loop(w->client))));
    if (code != 0) {
        err_set(&err, code, code == ERR_NOMEM ? "no memory" : "the name is too long");
    } else {
        w->stats.sent++;
        code = request(w, p, &err);
    }
    if (code != 0) {
        queue_landed(&w->queue, p);
        fail_later(w, p, code, &err);
    }
}

static void send_again(struct pending *p) {
    struct kube_writer *w = p->owner;
    p->call = NULL;
    struct err err = {0};
    if ((p->asking ? request_read(w, p) : request(w, p, &err)) != 0) {
        wait_in_doubt(p);
    }
}

static void try_again(void *ctx) {
    struct kube_writer *w = ctx;
    for (struct pending *p = w->queue.flying.first, *next; p; p = next) {
        next = p->next;
        if (p->doubt && p->call == NULL) {
            send_again(p);
        }
    }
}

static void send_ready(struct kube_writer *w) {
    struct clock *clock = loop_clock(kube_client_loop(w->client));
    struct pending *p;
    while ((p = queue_peek(&w->queue, clock_mono(clock)))) {
        int64_t wait = limiter_take(&w->limiter, clock_mono(clock));
        if (wait > 0) {
            clock->timer_start(w->timer, wait);
            return;
        }
        send_one(w, p);
    }
}

/* pump_due stays set inside, so that whoever frees the writer meanwhile leaves it to us. */
static void pump(void *ctx) {
    struct kube_writer *w = ctx;
    w->pump_due = true;
    for (size_t n = w->dead ? 0 : w->failed.n; n > 0 && !w->dead; n--) {
        struct pending *p = w->failed.first;
        struct write_result result = {.code = ERR_NOMEM};
        if (p->early) {
            result.err = *p->early;
            result.code = result.err.code;
        } else {
            err_set(&result.err, ERR_NOMEM, "no memory");
        }
        list_remove(&w->failed, p);
        tell(p, &result);
    }
    if (w->dead) {
        mem_free(w);
        return;
    }
    send_ready(w);
    w->pump_due = false;
    if (w->failed.n) { /* of those that were told, some tried again */
        pump_soon(w);
    }
}

static void on_timer(void *ctx) {
    struct kube_writer *w = ctx;
    if (!w->pump_due) {
        pump(w);
    }
}

static void pump_soon(struct kube_writer *w) {
    if (w->pump_due) {
        return;
    }
    w->pump_due = loop_defer(kube_client_loop(w->client), pump, w) == 0;
    if (!w->pump_due) {
        loop_clock(kube_client_loop(w->client))->timer_start(w->timer, 0);
    }
}

/* ---- taking writes in ---- */

static struct str put_text(char **at, struct str s) {
    struct str copy = str_from(*at, s.n);
    if (s.n) {
        memcpy(*at, s.p, s.n);
    }
    (*at)[s.n] = 0;
    *at += s.n + 1;
    return copy;
}

/* A copy of all that it needs; NULL: no memory. */
static struct pending *pending_new(struct kube_writer *w, const struct pending *from) {
    bool in_line = from->name.n > 0; /* its names are the line's */
    size_t n = from->subresource.n + from->body.n + from->ns.n + from->uid.n + 4;
    struct pending *p = mem_alloc(sizeof(*p) + n);
    if (p == NULL) {
        return NULL;
    }
    *p = *from;
    char *at = p->text;
    p->owner = w;
    p->subresource = put_text(&at, from->subresource);
    p->body = put_text(&at, from->body);
    p->uid = put_text(&at, from->uid);
    p->ns = in_line ? from->ns : put_text(&at, from->ns);
    return p;
}

static void submit(struct writer *writer, const struct pending *from) {
    struct kube_writer *w = writer_of(writer);
    struct pending *p = pending_new(w, from);
    struct write_result early = {0};
    if (p == NULL) { /* nothing left to remember it with: told at once */
        early.code = err_set(&early.err, ERR_NOMEM, "no memory");
        if (from->done) {
            from->done(from->ctx, &early);
        }
        return;
    }
    struct pending *old = queue_find_status(&w->queue, p);
    if (old && queue_replace(&w->queue, old, p) == 0) {
        w->stats.coalesced++;
        return;
    }
    int code = queue_add(&w->queue, p, &early.err);
    if (code != 0) {
        fail_later(w, p, code, &early.err);
        return;
    }
    pump_soon(w);
}

static void create(struct writer *w, const char *who, const struct kind *k, struct str ns,
                   struct str json, write_done *done, void *ctx) {
    struct pending p = {.kind = k,
                        .method = "POST",
                        .content_type = "application/json",
                        .urgency = urgency_of(k, ""),
                        .who = who,
                        .body = json,
                        .ns = ns,
                        .done = done,
                        .ctx = ctx};
    submit(w, &p);
}

static void patch(struct writer *w, const char *who, const struct kind *k, struct str ns,
                  struct str name, const char *subresource, enum patch_type type, struct str body,
                  write_done *done, void *ctx) {
    static const char *const content_types[] = {
        [PATCH_MERGE] = "application/merge-patch+json",
        [PATCH_JSON] = "application/json-patch+json",
        [PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [PATCH_APPLY] = "application/apply-patch+yaml",
    };
    struct pending p = {.kind = k,
                        .method = "PATCH",
                        .content_type = content_types[type],
                        .urgency = urgency_of(k, subresource),
                        .mergeable = type == PATCH_MERGE,
                        .conditional = codec_patch_is_locked(body),
                        .forced = type == PATCH_APPLY,
                        .who = who,
                        .subresource = str_of(subresource),
                        .body = body,
                        .ns = ns,
                        .name = name,
                        .done = done,
                        .ctx = ctx};
    submit(w, &p);
}

static void add_delete_options(struct buf *b, const struct delete_options *o) {
    buf_c(b, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\"");
    if (o->grace_seconds >= 0) {
        buf_f(b, ",\"gracePeriodSeconds\":%lld", (long long)o->grace_seconds);
    }
    if (o->propagation.n) {
        buf_c(b, ",\"propagationPolicy\":");
        buf_json(b, o->propagation);
    }
    if (o->uid.n || o->rv) {
        buf_c(b, ",\"preconditions\":{");
        if (o->uid.n) {
            buf_c(b, "\"uid\":");
            buf_json(b, o->uid);
        }
        if (o->rv) {
            buf_f(b, "%s\"resourceVersion\":\"%llu\"", o->uid.n ? "," : "",
                  (unsigned long long)o->rv);
        }
        buf_ch(b, '}');
    }
    buf_ch(b, '}');
}

static void remove_object(struct writer *w, const char *who, const struct kind *k, struct str ns,
                          struct str name, const struct delete_options *o, write_done *done,
                          void *ctx) {
    static const struct delete_options plain = {.grace_seconds = -1};
    struct buf body;
    buf_init(&body, 0);
    add_delete_options(&body, o ? o : &plain);
    struct pending p = {.kind = k,
                        .method = "DELETE",
                        .content_type = "application/json",
                        .urgency = urgency_of(k, ""),
                        .body = buf_view(&body),
                        .ns = ns,
                        .name = name,
                        .uid = o ? o->uid : (struct str){0},
                        .done = done,
                        .ctx = ctx};
    submit(w, &p);
    buf_release(&body);
}

static bool room(struct writer *writer) {
    return queue_room(&writer_of(writer)->queue);
}

/* ---- life ---- */

struct writer *kube_writer_new(struct kube_client *c, const struct kube_writer_options *o,
                               struct err *err) {
    static const struct kube_writer_options plain;
    struct kube_writer *w = mem_zalloc(sizeof(*w));
    struct clock *clock = loop_clock(kube_client_loop(c));
    struct timer *timer = w ? clock->timer_new(clock, on_timer, w) : NULL;
    struct timer *doubt = timer ? clock->timer_new(clock, try_again, w) : NULL;
    if (doubt == NULL) {
        if (timer) {
            clock->timer_free(timer);
        }
        mem_free(w);
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    o = o ? o : &plain;
    w->writer =
        (struct writer){.create = create, .patch = patch, .remove = remove_object, .room = room};
    w->client = c;
    w->o = *o;
    w->timer = timer;
    w->doubt = doubt;
    w->queue.places = o->in_flight ? o->in_flight : IN_FLIGHT;
    w->queue.max = o->waiting ? o->waiting : LIMIT_WRITES_WAITING;
    arena_init(&w->arena, TREE_MAX);
    pace_init(&w->queue.pace, w->queue.places, clock_mono(clock));
    limiter_init(&w->limiter, o->qps, o->burst, clock_mono(clock));
    return &w->writer;
}

void kube_writer_free(struct writer *writer) {
    if (writer == NULL) {
        return;
    }
    struct kube_writer *w = writer_of(writer);
    for (struct pending *p; (p = w->queue.flying.first);) {
        if (p->call) {
            kube_cancel(p->call);
        }
        queue_landed(&w->queue, p);
        pending_free(p);
    }
    for (struct pending *p; (p = w->failed.first);) {
        list_remove(&w->failed, p);
        pending_free(p);
    }
    queue_release(&w->queue);
    loop_clock(kube_client_loop(w->client))->timer_free(w->timer);
    loop_clock(kube_client_loop(w->client))->timer_free(w->doubt);
    arena_release(&w->arena);
    w->dead = true;
    if (!w->pump_due) {
        mem_free(w);
    }
}

void kube_writer_stats(const struct writer *writer, struct kube_writer_stats *ret) {
    const struct kube_writer *w = (const struct kube_writer *)(const void *)writer;
    *ret = w->stats;
    ret->waiting = w->queue.waiting;
    ret->in_flight = w->queue.flying.n;
}
