/* way: sending on. See way.h. */
#include "site/way/way_private.h"

#include <stdio.h>

#include "base/keyed_hash.h"
#include "base/mem.h"
#include "site/refuse.h"

enum {
    HIGH_WATER = 1 << 20, /* bytes waiting for a browser: from here on the API server is not read */
    ANSWER_BYTES = 8 << 20, /* of an answer that says no */
    CALL_MS = 60000,
    URL_MAX = 32 << 10,
    TYPE_MAX = 128,
};
#define SWEEP_NS (10 * NS_PER_SEC)

struct pass {
    struct way *w;
    struct pass *next, **prev;
    struct http_request *r;
    struct http_call *call; /* NULL: it is over */
    uint64_t session, user; /* the session's number; the hash of its user's name */
    int status;
    char type[TYPE_MAX];
    bool begun, paused;
};

static void closed(void *user) {
    struct pass *p = user;
    *p->prev = p->next;
    if (p->next) {
        p->next->prev = p->prev;
    }
    p->w->n_passes--;
    http_call_cancel(p->call);
    mem_free(p);
}

/* ---- the answer ---- */

static void copy_header(struct http_request *r, const struct http_head *h, const char *name) {
    struct str value;
    for (size_t i = 0; i < 8 && http_head_nth(h, name, i, &value); i++) {
        (void)http_add_header(r, name, value);
    }
}

static void head(void *ctx, const struct http_head *h) {
    struct pass *p = ctx;
    struct str type = {0}, value;
    p->status = h->status;
    http_head_nth(h, "Content-Type", 0, &type);
    if (!way_type_is_safe(type) || !str_copy(type, p->type, sizeof(p->type))) {
        (void)str_copy(STR("application/octet-stream"), p->type, sizeof(p->type));
    }
    copy_header(p->r, h, "Warning");
    copy_header(p->r, h, "Retry-After");
    copy_header(p->r, h, "Audit-Id");
    bool told = http_head_nth(h, "Cache-Control", 0, &value);
    (void)http_add_header(p->r, "Cache-Control", told ? value : STR("no-store"));
}

static bool data(void *ctx, struct str bytes) {
    struct pass *p = ctx;
    if (!p->begun) {
        p->begun = true;
        http_stream_begin(p->r, p->status, p->type);
    }
    if (http_stream_write(p->r, bytes) != 0) {
        return false; /* the connection is being cut; closed follows */
    }
    if (http_stream_waiting(p->r) > HIGH_WATER && !p->paused) {
        p->paused = true;
        http_call_pause(p->call, true);
    }
    return true;
}

static void drained(void *user) {
    struct pass *p = user;
    if (p->paused && p->call) {
        p->paused = false;
        http_call_pause(p->call, false); /* p may be over now */
    }
}

static void done(void *ctx, const struct http_reply *x) {
    struct pass *p = ctx;
    struct http_request *r = p->r;
    char text[600];
    p->call = NULL;
    if (p->begun) {
        http_stream_end(r);
    } else if (x->code != 0) {
        snprintf(text, sizeof(text), "the API server of the cluster cannot be reached: %s",
                 x->err.text);
        refuse(r, x->code == ERR_TIMEOUT ? ERR_TIMEOUT : ERR_UNAVAILABLE, text);
    } else {
        if (x->status == 401) { /* the token counts no more, and so does what stands for it */
            sessions_close(p->w->o.sessions, sessions_numbered(p->w->o.sessions, p->session));
        }
        http_respond(r, x->status, x->body.n ? p->type : NULL, x->body);
    }
}

/* ---- sessions that end ---- */

static void cut(struct pass *p) {
    struct http_call *call = TAKE(p->call);
    http_call_cancel(call);
    if (p->begun) {
        http_stream_end(p->r);
    } else {
        refuse(p->r, ERR_UNAUTHORIZED, "the session has ended");
    }
}

void way_recheck(struct way *w) {
    way_watch_recheck(w);
    for (struct pass *p = w->passes, *next; p; p = next) {
        next = p->next;
        if (p->call && sessions_numbered(w->o.sessions, p->session) == NULL) {
            cut(p);
        }
    }
}

static void sweep(void *ctx) {
    struct way *w = ctx;
    way_recheck(w);
    w->sweeps = false;
    if (w->passes || w->watchers) {
        way_sweep(w);
    }
}

void way_sweep(struct way *w) {
    if (!w->sweeps) {
        w->sweeps = true;
        w->clock->timer_start(w->timer, SWEEP_NS);
    }
}

/* ---- the request ---- */

static bool method_ok(struct str m) {
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (str_is(m, methods[i])) {
            return true;
        }
    }
    return false;
}

/* A watch, or a log that is followed: it may last. */
static bool lasts(struct str query) {
    struct str part, key, value;
    while (str_next(&query, '&', &part)) {
        str_cut(part, '=', &key, &value);
        if ((str_is(key, "watch") || str_is(key, "follow")) && !str_is(value, "0") &&
            !str_is(value, "false")) {
            return true;
        }
    }
    return false;
}

static size_t under_way(const struct way *w, uint64_t user) {
    size_t n = 0;
    for (const struct pass *p = w->passes; p; p = p->next) {
        n += p->user == user;
    }
    return n;
}

static struct pass *pass_new(struct way *w, struct http_request *r, const struct session *one) {
    struct pass *p = mem_zalloc(sizeof(*p));
    if (p == NULL) {
        return NULL;
    }
    *p = (struct pass){.w = w,
                       .r = r,
                       .session = one->number,
                       .user = keyed_hash(one->who.user),
                       .next = w->passes,
                       .prev = &w->passes};
    if (p->next) {
        p->next->prev = &p->next;
    }
    way_sweep(w);
    w->passes = p;
    w->n_passes++;
    http_set_user(r, p, closed);
    http_stream_on_drain(r, drained);
    return p;
}

static int send_on(struct pass *p, struct str token, struct err *err) {
    struct http_request *r = p->r;
    struct arena *a = http_arena(r);
    struct str query = http_query(r), type = http_header(r, "Content-Type");
    struct str accept = http_header(r, "Accept"), headers[4], method = http_method(r);
    struct str url = arena_f(a, "%s%.*s%s%.*s", p->w->server, STR_ARG(http_path(r)),
                             query.n ? "?" : "", STR_ARG(query));
    size_t n = 0;
    headers[n++] = way_bearer(a, token);
    headers[n++] = arena_f(a, "Accept: %.*s", STR_ARG(accept.n ? accept : STR("application/json")));
    if (type.n) {
        headers[n++] = arena_f(a, "Content-Type: %.*s", STR_ARG(type));
    }
    struct http_call_options o = {
        .method = arena_str(a, method).p,
        .url = url,
        .headers = headers,
        .n_headers = n,
        .body = http_body(r),
        .lasting = true, /* as long as the request, and closed cancels */
        .timeout_ms = lasts(query) ? 0 : CALL_MS,
        .body_max = ANSWER_BYTES,
        .head = head,
        .data = data,
        .done = done,
        .ctx = p,
    };
    if (headers[0].n == 0) {
        return err_set(err, ERR_UNAUTHORIZED, "the session has no token");
    }
    if (arena_ok(a) != 0 || url.n > URL_MAX) {
        return err_set(err, ERR_BAD_REQUEST, "the request is too long");
    }
    return http_client_send(p->w->streams, &o, &p->call, err);
}

/* Whose request it is, who vouches for its connection; NULL: it was refused. */
static const struct session *asker(struct way *w, struct http_request *r) {
    const struct session *one = NULL;
    struct err err = {0};
    int code = way_path_check(http_path(r), &err);
    if (code != 0) {
        refuse(r, code, err.text);
        return NULL;
    }
    code = sessions_of(w->o.sessions, r, &one, &err);
    if (code != 0) { /* nobody is anonymous here */
        bool forbidden = code == ERR_FORBIDDEN;
        refuse(r, forbidden ? code : ERR_UNAUTHORIZED, forbidden ? err.text : "not signed in");
        return NULL;
    }
    http_set_account(r, one->who.user);
    return one;
}

bool way_head(struct way *w, struct http_request *r) {
    if (way_path_check(http_path(r), NULL) == ERR_NOT_FOUND) {
        return true; /* the dashboard's own: a stranger's, and short */
    }
    return asker(w, r) != NULL;
}

void way_handle(struct way *w, struct http_request *r) {
    struct err err = {0};
    const struct session *one = asker(w, r);
    if (one == NULL) {
        return;
    }
    if (way_computed(w, r, one)) {
        return;
    }
    if (!method_ok(http_method(r)) || http_header(r, "Upgrade").n) {
        refuse(r, ERR_METHOD, "the server does not allow this method on the requested resource");
        return;
    }
    if (w->n_passes >= WAY_PASSES_MAX ||
        under_way(w, keyed_hash(one->who.user)) >= WAY_PASSES_OF_USER) {
        (void)http_add_header(r, "Retry-After", STR("1"));
        refuse(r, ERR_TOO_MANY, "too many requests of this user are under way");
        return;
    }
    struct pass *p = pass_new(w, r, one);
    if (p == NULL) {
        refuse(r, ERR_NOMEM, "no memory to ask");
    } else if (send_on(p, one->who.token, &err) != 0) {
        refuse(r, err.code, err.text);
    }
}

/* ---- the whole ---- */

struct way *way_new(const struct way_options *o, struct err *err) {
    struct way *w = mem_zalloc(sizeof(*w));
    if (w == NULL) {
        err_set(err, ERR_NOMEM, "no memory for the dashboard");
        return NULL;
    }
    w->o = *o;
    w->clock = loop_clock(o->loop);
    w->server = mem_cstr(o->server);
    w->timer = w->clock->timer_new(w->clock, sweep, w);
    map_init(&w->rights);
    w->hub = o->virtuals ? virtual_hub_new(w->clock, o->mirror) : NULL;
    if (w->server == NULL || w->timer == NULL || (o->virtuals && w->hub == NULL)) {
        err_set(err, ERR_NOMEM, "no memory for the dashboard");
    } else if (http_client_new(o->loop, &o->client, &w->http, err) == 0) {
        struct http_client_options streams = o->client;
        streams.one_by_one = true;
        if (http_client_new(o->loop, &streams, &w->streams, err) == 0) {
            return w;
        }
    }
    way_free(w);
    return NULL;
}

void way_free(struct way *w) {
    if (w == NULL) {
        return;
    }
    virtual_hub_free(w->hub);
    computing_release(w);
    way_ask_release(w);
    http_client_free(w->http);
    http_client_free(w->streams);
    w->clock->timer_free(w->timer);
    mem_free(w->server);
    mem_free(w);
}
