/*
 * client (kube): requests by a kubeconfig, over net's HTTP client. See client.h.
 *
 * A request that the server puts off (429 or 503, to reads any 5xx, with Retry-After) is sent again after the time it
 * named, a few times; one that it refuses for who we are (401) once, when another credential may be had.
 */
#include "kube/client.h"

#include "base/mem.h"
#include "kube/auth.h"
#include "kube/client_private.h"
#include "kube/config.h"
#include "kube/file.h"
#include "kube/status.h"
#include "net/http_client.h"

enum { TIMEOUT_MS = 60000, TRIES = 10, RETRY_MAX_S = 30, LINES_OWN = 2, AUTHORITY_MAX = 1 << 20 };

struct kube_client {
    struct loop *loop;
    struct kube_config config;
    struct auth *auth;
    struct http_client *http;
    struct kube_call *calls;
};

struct kube_call {
    struct kube_client *client;
    struct kube_call *next, **prev;
    struct http_call *http; /* under way, or NULL while waiting */
    struct timer *timer;    /* made when first needed */
    int tries;
    bool refused;        /* once already, for who we are */
    uint64_t generation; /* of the credential that was sent */
    struct auth_waiter wait;
    struct arena arena;
    struct kube_request r; /* with views into the arena */
};

struct loop *kube_client_loop(const struct kube_client *c) {
    return c->loop;
}

static void on_identity(void *ctx, struct str cert_pem, struct str key_pem) {
    struct kube_client *c = ctx;
    (void)http_client_set_identity(c->http, cert_pem, key_pem, NULL);
}

/* "https://host:port" of the server, without its path. */
static struct str origin_of(struct str server) {
    struct str scheme = STR("https://");
    ptrdiff_t slash = str_starts(server, scheme) ? str_find(str_skip(server, scheme.n), '/') : -1;
    return slash < 0 ? server : str_head(server, scheme.n + (size_t)slash);
}

struct kube_client *kube_client_new(struct loop *l, const char *kubeconfig, const char *context,
                                    const char *user_agent, struct err *err) {
    struct kube_client *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    c->loop = l;
    if (kube_config_load(&c->config, kubeconfig, context, err) != 0) {
        mem_free(c);
        return NULL;
    }
    const struct kube_config *k = &c->config;
    struct http_client_options o = {
        .ca_pem = k->ca_pem,
        .ca_file = k->ca_file,
        .cert_pem = k->cert_pem,
        .cert_file = k->cert_file,
        .key_pem = k->key_pem,
        .key_file = k->key_file,
        .proxy = k->proxy,
        .user_agent = str_of(user_agent),
        .tls_name = k->tls_name,
        .tls_origin = origin_of(k->server),
    };
    c->auth = auth_new(l, k, on_identity, c, err);
    if (c->auth == NULL) {
        kube_client_free(c);
        return NULL;
    }
    if (http_client_new(l, &o, &c->http, err) != 0) {
        kube_client_free(c);
        return NULL;
    }
    return c;
}

static void call_free(struct kube_call *call) {
    *call->prev = call->next;
    if (call->next) {
        call->next->prev = call->prev;
    }
    auth_wait_cancel(&call->wait);
    loop_clock(call->client->loop)->timer_free(call->timer);
    arena_release(&call->arena);
    mem_free(call);
}

void kube_cancel(struct kube_call *call) {
    if (call) {
        http_call_cancel(call->http);
        call_free(call);
    }
}

void kube_client_free(struct kube_client *c) {
    if (c == NULL) {
        return;
    }
    while (c->calls) {
        kube_cancel(c->calls);
    }
    http_client_free(c->http);
    auth_free(c->auth);
    kube_config_release(&c->config);
    mem_free(c);
}

struct str kube_namespace(const struct kube_client *c) {
    return c->config.ns;
}

struct str kube_server(const struct kube_client *c) {
    return c->config.server;
}

int kube_authority(const struct kube_client *c, struct arena *a, struct str *ret, struct err *err) {
    char path[4096];

    *ret = c->config.ca_pem;
    if (ret->n || str_empty(c->config.ca_file)) {
        return 0;
    }
    return str_copy(c->config.ca_file, path, sizeof(path))
               ? kube_file_read(a, path, AUTHORITY_MAX, ret, err)
               : err_set(err, ERR_TOO_LARGE, "the path of the authority is too long");
}

/* ---- one call ---- */

static int send_now(struct kube_call *call, struct err *err);

static void answer(struct kube_call *call, const struct kube_reply *reply) {
    kube_done *done = call->r.done;
    void *ctx = call->r.ctx;
    call->http = NULL;
    struct arena keep = call->arena; /* done may look at what it was asked */
    arena_init(&call->arena, 0);
    call_free(call);
    done(ctx, reply);
    arena_release(&keep);
}

static void try_again(void *ctx) {
    struct kube_call *call = ctx;
    struct kube_reply reply = {0};
    reply.code = send_now(call, &reply.err);
    if (reply.code != 0) {
        answer(call, &reply);
    }
}

static bool put_off(struct kube_call *call, const struct http_reply *r) {
    bool reading =
        strcmp(call->r.method, "GET") == 0; /* other errors do not say that nothing was done */
    bool later = r->status == 429 || r->status == 503 || (reading && r->status >= 500);
    if (!later || r->retry_after_s < 0 || ++call->tries >= TRIES) {
        return false;
    }
    struct clock *clock = loop_clock(call->client->loop);
    call->timer = call->timer ? call->timer : clock->timer_new(clock, try_again, call);
    if (call->timer == NULL) {
        return false;
    }
    int64_t s = r->retry_after_s < RETRY_MAX_S ? r->retry_after_s : RETRY_MAX_S;
    call->http = NULL;
    clock->timer_start(call->timer, s * NS_PER_SEC);
    return true;
}

static void on_done(void *ctx, const struct http_reply *r) {
    struct kube_call *call = ctx;
    if (r->code == 0 && put_off(call, r)) {
        return;
    }
    if (r->status == 401 && !call->refused && auth_refused(call->client->auth, call->generation)) {
        call->refused = true;
        call->http = NULL;
        try_again(call);
        return;
    }
    struct kube_reply reply = {.code = r->code,
                               .err = r->err,
                               .status = r->status,
                               .sent = r->code != 0 && r->sent,
                               .body = r->body};
    if (r->code == 0) {
        reply.code = kube_status(r->status, r->body, &reply.err);
    } else if (r->code != ERR_GONE) {
        struct str where = call->r.path, query;
        str_cut(call->r.path, '?', &where, &query);
        err_wrap(&reply.err, "%s %.*s%.*s", call->r.method, STR_ARG(call->client->config.server),
                 STR_ARG(where));
    }
    answer(call, &reply);
}

static bool on_data(void *ctx, struct str bytes) {
    struct kube_call *call = ctx;
    return call->r.data(call->r.ctx, bytes);
}

static void on_auth_ready(void *ctx, int code, const struct err *err) {
    struct kube_call *call = ctx;
    struct kube_reply reply = {.code = code};
    if (code == 0) {
        try_again(call);
        return;
    }
    reply.err = *err;
    answer(call, &reply);
}

static int send_lines(struct kube_call *call, struct arena *a, struct str *lines, struct err *err) {
    struct kube_client *c = call->client;
    const struct kube_request *q = &call->r;
    size_t n = 0;
    int r = auth_lines(c->auth, a, lines, &n, &call->generation, err);
    if (r == ERR_AGAIN) {
        call->wait = (struct auth_waiter){.ready = on_auth_ready, .ctx = call};
        auth_wait(c->auth, &call->wait);
        return 0;
    }
    lines[n++] = arena_f(a, "Accept: %s", q->accept ? q->accept : "application/json");
    if (q->body.n) {
        lines[n++] =
            arena_f(a, "Content-Type: %s", q->content_type ? q->content_type : "application/json");
    }
    struct http_call_options o = {
        .method = q->method,
        .url = arena_f(a, "%.*s%.*s", STR_ARG(c->config.server), STR_ARG(q->path)),
        .headers = lines,
        .n_headers = n,
        .body = q->body,
        .lasting = true, /* it is the call's own, or the user's who keeps it */
        .may_send = q->may_send,
        .may_send_ctx = q->may_send_ctx,
        .timeout_ms = q->timeout_ms < 0 ? 0
                      : q->timeout_ms   ? q->timeout_ms
                                        : TIMEOUT_MS,
        .data = q->data ? on_data : NULL,
        .done = on_done,
        .ctx = call,
    };
    if (r == 0 && arena_ok(a) != 0) {
        r = err_set(err, ERR_NOMEM, "no memory");
    }
    return r ? r : http_client_send(c->http, &o, &call->http, err);
}

static int send_now(struct kube_call *call, struct err *err) {
    struct arena a;
    arena_init(&a, 1 << 20);
    struct str *lines = ARENA_ARRAY(&a, struct str, LINES_OWN + auth_lines_max(call->client->auth));
    int r = lines ? send_lines(call, &a, lines, err) : err_set(err, ERR_NOMEM, "no memory");
    arena_release(&a);
    return r;
}

static const char *copy(struct arena *a, const char *s) {
    return s ? arena_str(a, str_of(s)).p : NULL;
}

int kube_send(struct kube_client *c, const struct kube_request *r, struct kube_call **ret,
              struct err *err) {
    struct kube_call *call = mem_zalloc(sizeof(*call));
    if (call == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    call->client = c;
    call->next = c->calls;
    call->prev = &c->calls;
    if (call->next) {
        call->next->prev = &call->next;
    }
    c->calls = call;
    arena_init(&call->arena, 8 << 20);
    call->r = *r;
    call->r.method = copy(&call->arena, r->method);
    call->r.content_type = copy(&call->arena, r->content_type);
    call->r.accept = copy(&call->arena, r->accept);
    if (!r->lasting) {
        call->r.path = arena_str(&call->arena, r->path);
        call->r.body = arena_str(&call->arena, r->body);
    }
    int code = arena_ok(&call->arena) ? err_set(err, ERR_NOMEM, "no memory") : send_now(call, err);
    if (code != 0) {
        call_free(call);
        return code;
    }
    if (ret) {
        *ret = call;
    }
    return 0;
}

/* ---- waiting ---- */

struct wait {
    struct loop *loop;
    struct buf *body;
    struct err *err;
    int code;
    bool done;
};

static void on_waited(void *ctx, const struct kube_reply *r) {
    struct wait *w = ctx;
    w->done = true;
    w->code = r->code;
    if (r->code != 0) {
        err_set(w->err, r->code, "%s", r->err.text);
    } else if (w->body) {
        buf_str(w->body, r->body);
    }
    loop_stop(w->loop);
}

int kube_wait(struct kube_client *c, const char *method, struct str path, struct str body,
              const char *content_type, struct buf *ret_body, struct err *err) {
    struct wait w = {.loop = c->loop, .body = ret_body, .err = err};
    struct kube_call *call = NULL;
    struct kube_request r = {.method = method,
                             .path = path,
                             .body = body,
                             .content_type = content_type,
                             .done = on_waited,
                             .ctx = &w};
    int code = kube_send(c, &r, &call, err);
    if (code != 0) {
        return code;
    }
    loop_run(c->loop);
    if (!w.done) { /* somebody else stopped the loop, a signal for one */
        kube_cancel(call);
        return err_set(err, ERR_GONE, "interrupted");
    }
    if (w.code == 0 && ret_body && buf_ok(ret_body) != 0) {
        return err_set(err, buf_ok(ret_body), "the answer is too large");
    }
    return w.code;
}
