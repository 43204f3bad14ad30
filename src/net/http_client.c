/*
 * http_client: calls over libcurl's multi interface. See http_client.h.
 *
 * libcurl tells which sockets and which timeout it wants watched; the loop watches and calls back. While libcurl runs
 * (`inside`) its functions may not be called again: what a user's `data` starts or cancels meanwhile is put aside and
 * done right after.
 */
#include "net/http_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "net/curl_lib.h"
#include "net/loop_uv.h"

enum {
    GATHER_MAX = 64 << 20,
    HEAD_MAX = 64 << 10,
    CONNECT_MS = 10000,
    CONNECTIONS_MAX = 512,
    STREAMS_MAX = 250, /* at once on one connection, if the server allows it */
    IDLE_MAX = 128, /* handles kept for later calls: making one costs more than a small request */
    UNACKED_MS = 30000, /* before a peer that does not acknowledge is given up */
    KEEPALIVE_S = 30,
    KEEPALIVE_EACH_S = 10,
    KEEPALIVE_TRIES = 3,
};

struct http_client {
    const struct curl_lib *curl;
    struct loop *loop;
    CURLM *multi;
    struct timer *timer;
    struct http_call *calls;
    bool inside;
    bool tidy;                    /* calls wait to be added or removed */
    struct http_client_options o; /* with views into `text`, but for the identity */
    struct buf text, identity;
    unsigned generation;  /* of the identity */
    CURL *idle[IDLE_MAX]; /* with this generation's policy */
    size_t n_idle;
    bool http2;
};

enum call_state { CALL_NEW, CALL_RUNNING, CALL_CANCELLED };

struct http_call {
    struct http_client *client;
    struct http_call *next, **prev;
    enum call_state state;
    bool added; /* to the multi handle */
    CURL *easy;
    unsigned generation; /* of the handle's policy */
    struct curl_slist *headers, *connect_to;
    void (*head)(void *ctx, const struct http_head *h);
    bool (*data)(void *ctx, struct str bytes);
    void (*done)(void *ctx, const struct http_reply *r);
    void *ctx;
    bool (*may_send)(void *ctx);
    void *may_send_ctx;
    bool ended_by_user, refused, sent;
    bool paused;
    struct buf body, head_lines;
    bool head_told;
    int64_t retry_after_s;
    char trouble[CURL_ERROR_SIZE];
};

struct socket_watch {
    struct http_client *client;
    uv_poll_t poll;
    curl_socket_t fd;
};

/* ---- the life of a call ---- */

/* The handle is kept, with its policy and without anything of this call. */
static void put_back(struct http_call *call) {
    struct http_client *c = call->client;
    const struct curl_lib *curl = c->curl;
    CURL *e = call->easy;
    call->easy = NULL;
    if (c->n_idle == IDLE_MAX || call->generation != c->generation || call->paused) {
        curl->easy_cleanup(e);
        return;
    }
    curl->easy_setopt(e, CURLOPT_HTTPHEADER, NULL);
    curl->easy_setopt(e, CURLOPT_CONNECT_TO, NULL);
    curl->easy_setopt(e, CURLOPT_POSTFIELDS, NULL);
    curl->easy_setopt(e, CURLOPT_ERRORBUFFER, NULL);
    curl->easy_setopt(e, CURLOPT_PRIVATE, NULL);
    c->idle[c->n_idle++] = e;
}

static void drop_idle(struct http_client *c) {
    while (c->n_idle) {
        c->curl->easy_cleanup(c->idle[--c->n_idle]);
    }
}

static void call_free(struct http_call *call) {
    const struct curl_lib *curl = call->client->curl;
    *call->prev = call->next;
    if (call->next) {
        call->next->prev = call->prev;
    }
    if (call->easy) {
        if (call->added) {
            curl->multi_remove_handle(call->client->multi, call->easy);
        }
        put_back(call);
    }
    curl->slist_free_all(call->headers);
    curl->slist_free_all(call->connect_to);
    buf_release(&call->body);
    buf_release(&call->head_lines);
    mem_free(call);
}

static int transport_code(CURLcode c) {
    switch (c) {
    case CURLE_OPERATION_TIMEDOUT:
        return ERR_TIMEOUT;
    case CURLE_OUT_OF_MEMORY:
        return ERR_NOMEM;
    default:
        return ERR_UNAVAILABLE;
    }
}

static void finish(struct http_call *call, CURLcode result) {
    const struct curl_lib *curl = call->client->curl;
    struct http_reply r = {.retry_after_s = call->retry_after_s};
    long status = 0;
    curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    r.status = (int)status;
    r.sent = call->sent;
    r.body = buf_view(&call->body);
    if (call->refused) {
        r.code = err_set(&r.err, ERR_UNAVAILABLE, "not sent: it may not be any more");
    } else if (call->ended_by_user) {
        r.code = err_set(&r.err, ERR_GONE, "ended");
    } else if (buf_ok(&call->body) != 0) {
        r.code = err_set(&r.err, buf_ok(&call->body), "the answer is too large");
    } else if (result != CURLE_OK) {
        const char *why = call->trouble[0] ? call->trouble : curl->easy_strerror(result);
        r.code = err_set(&r.err, transport_code(result), "%s", why);
    }
    if (call->state != CALL_CANCELLED) {
        call->state = CALL_CANCELLED; /* a cancel inside done changes nothing */
        call->done(call->ctx, &r);
    }
    call_free(call);
}

static void add_call(struct http_client *c, struct http_call *call) {
    call->state = CALL_RUNNING;
    call->added = c->curl->multi_add_handle(c->multi, call->easy) == CURLM_OK;
}

/* After libcurl returned: tells who is done, and does what was put aside. */
static void settle(struct http_client *c) {
    CURLMsg *m;
    int left;
    while ((m = c->curl->multi_info_read(c->multi, &left))) {
        if (m->msg == CURLMSG_DONE) {
            struct http_call *call = NULL;
            CURLcode result = m->data.result;
            c->curl->easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&call);
            finish(call, result);
        }
    }
    while (c->tidy) {
        c->tidy = false;
        for (struct http_call *call = c->calls, *next; call; call = next) {
            next = call->next;
            if (call->state == CALL_CANCELLED) {
                call_free(call);
            } else if (call->state == CALL_NEW) {
                add_call(c, call);
                if (!call->added) {
                    finish(call, CURLE_OUT_OF_MEMORY);
                    c->tidy = true; /* the user was called: start over */
                    break;
                }
            }
        }
    }
}

static void act(struct http_client *c, curl_socket_t fd, int events) {
    int running;
    c->inside = true;
    c->curl->multi_socket_action(c->multi, fd, events, &running);
    c->inside = false;
    settle(c);
}

void http_call_pause(struct http_call *call, bool paused) {
    struct http_client *c = call->client;
    bool goes_on = call->paused && !paused;
    call->paused = paused; /* the next bytes are what stops it */
    if (call->state != CALL_RUNNING || !goes_on) {
        return;
    }
    bool outermost = !c->inside; /* going on may give what waits at once */
    c->inside = true;
    c->curl->easy_pause(call->easy, CURLPAUSE_CONT);
    if (outermost) {
        c->inside = false;
        settle(c);
    }
}

void http_call_cancel(struct http_call *call) {
    if (call == NULL || call->state == CALL_CANCELLED) {
        return;
    }
    struct http_client *c = call->client;
    call->state = CALL_CANCELLED;
    if (c->inside) {
        c->tidy = true;
    } else {
        call_free(call);
    }
}

/* ---- what libcurl asks for ---- */

static void free_watch(uv_handle_t *h) {
    mem_free(h->data);
}

static void on_socket(uv_poll_t *h, int status, int events) {
    struct socket_watch *w = h->data;
    int mask = status < 0 ? CURL_CSELECT_ERR : 0;
    mask |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
    mask |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
    act(w->client, w->fd, mask);
}

static int want_socket(CURL *e, curl_socket_t fd, int what, void *ctx, void *socket_ctx) {
    struct http_client *c = ctx;
    struct socket_watch *w = socket_ctx;
    if (what == CURL_POLL_REMOVE) {
        if (w) {
            uv_poll_stop(&w->poll);
            uv_close((uv_handle_t *)&w->poll, free_watch);
            c->curl->multi_assign(c->multi, fd, NULL);
        }
        return 0;
    }
    if (w == NULL) {
        w = mem_zalloc(sizeof(*w));
        if (w == NULL || uv_poll_init(loop_uv(c->loop), &w->poll, fd) != 0) {
            mem_free(w);
            return -1;
        }
        w->client = c;
        w->fd = fd;
        w->poll.data = w;
        c->curl->multi_assign(c->multi, fd, w);
    }
    uv_poll_start(&w->poll,
                  (what & CURL_POLL_IN ? UV_READABLE : 0) |
                      (what & CURL_POLL_OUT ? UV_WRITABLE : 0),
                  on_socket);
    return 0;
}

static void on_timer(void *ctx) {
    act(ctx, CURL_SOCKET_TIMEOUT, 0);
}

static int want_timer(CURLM *m, long ms, void *ctx) {
    struct http_client *c = ctx;
    struct clock *clock = loop_clock(c->loop);
    if (ms < 0) {
        clock->timer_stop(c->timer);
    } else {
        clock->timer_start(c->timer, ms * NS_PER_MS);
    }
    return 0;
}

/* The connection stands; nothing of this request has gone out on it. */
static int on_ready(void *ctx, char *ip, char *local_ip, int port, int local_port) {
    struct http_call *call = ctx;
    if (call->state == CALL_CANCELLED) {
        return CURL_PREREQFUNC_ABORT;
    }
    call->refused = call->may_send && !call->may_send(call->may_send_ctx);
    call->sent = call->sent || !call->refused;
    return call->refused ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static size_t on_body(char *p, size_t size, size_t n, void *ctx) {
    struct http_call *call = ctx;
    struct str bytes = str_from(p, size * n);
    long status = 0;
    call->client->curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (call->state == CALL_CANCELLED) {
        return 0;
    }
    if (call->data && status >= 200 && status < 300) {
        if (call->paused) {
            return CURL_WRITEFUNC_PAUSE; /* given again when it goes on */
        }
        call->ended_by_user = !call->data(call->ctx, bytes);
        return call->ended_by_user || call->state == CALL_CANCELLED ? 0 : bytes.n;
    }
    buf_str(&call->body, bytes);
    return buf_ok(&call->body) == 0 ? bytes.n : 0;
}

/* A line of the head; the empty one ends it. Trailers come here as well. */
static void keep_head(struct http_call *call, struct str line) {
    struct http_head h;
    long status = 0;
    if (call->head == NULL || call->head_told || call->state == CALL_CANCELLED) {
        return;
    }
    if (str_trim(line).n) {
        if (str_starts(line, STR("HTTP/"))) {
            buf_reset(&call->head_lines); /* of an answer with 1xx, or a proxy's */
        } else {
            buf_str(&call->head_lines, line);
        }
        return;
    }
    call->client->curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200) {
        call->head_told = true;
        h = (struct http_head){.status = (int)status, .lines = buf_view(&call->head_lines)};
        call->head(call->ctx, &h);
    }
}

bool http_head_nth(const struct http_head *h, const char *name, size_t i, struct str *ret) {
    struct str rest = h->lines, line, key, value;
    while (str_next(&rest, '\n', &line)) {
        if (str_cut(line, ':', &key, &value) && str_eq_nocase(str_trim(key), str_of(name)) &&
            i-- == 0) {
            *ret = str_trim(value);
            return true;
        }
    }
    return false;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx) {
    struct http_call *call = ctx;
    struct str name, value;
    keep_head(call, str_from(p, size * n));
    str_cut(str_from(p, size * n), ':', &name, &value);
    int64_t seconds;
    if (str_eq_nocase(name, STR("retry-after")) && str_to_i64(str_trim(value), &seconds)) {
        call->retry_after_s = seconds;
    }
    return size * n;
}

/* ---- making ---- */

static void keep(struct http_client *c, struct str *view, struct str from) {
    size_t at = c->text.n;
    buf_str(&c->text, from);
    buf_ch(&c->text, 0);
    *view = str_from((const char *)(uintptr_t)at, from.n); /* an offset until all are in */
}

static int keep_options(struct http_client *c, const struct http_client_options *o) {
    buf_init(&c->text, 1 << 20);
    struct {
        struct str *to;
        struct str from;
    } all[] = {{&c->o.ca_pem, o->ca_pem},       {&c->o.cert_pem, o->cert_pem},
               {&c->o.key_pem, o->key_pem},     {&c->o.ca_file, o->ca_file},
               {&c->o.cert_file, o->cert_file}, {&c->o.key_file, o->key_file},
               {&c->o.proxy, o->proxy},         {&c->o.user_agent, o->user_agent},
               {&c->o.tls_name, o->tls_name},   {&c->o.tls_origin, o->tls_origin}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        keep(c, all[i].to, all[i].from);
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(*all) && buf_ok(&c->text) == 0; i++) {
        all[i].to->p = c->text.p + (uintptr_t)all[i].to->p;
    }
    return buf_ok(&c->text);
}

int http_client_new(struct loop *l, const struct http_client_options *o, struct http_client **ret,
                    struct err *err) {
    const struct curl_lib *curl = curl_lib_get(err);
    if (curl == NULL) {
        return ERR_UNSUPPORTED;
    }
    struct http_client *c = mem_zalloc(sizeof(*c));
    if (c == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    c->curl = curl;
    c->loop = l;
    c->timer = loop_clock(l)->timer_new(loop_clock(l), on_timer, c);
    c->multi = curl->multi_init();
    if (c->timer == NULL || c->multi == NULL || keep_options(c, o) != 0) {
        http_client_free(c);
        return err_set(err, ERR_NOMEM, "no memory");
    }
    curl->multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    curl->multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
    curl->multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, want_timer);
    curl->multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
    curl->multi_setopt(c->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)CONNECTIONS_MAX);
    curl->multi_setopt(c->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)STREAMS_MAX);
    c->http2 = !o->one_by_one && curl->version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTP2;
    *ret = c;
    return 0;
}

void http_client_free(struct http_client *c) {
    if (c == NULL) {
        return;
    }
    while (c->calls) {
        call_free(c->calls);
    }
    drop_idle(c);
    if (c->multi) {
        c->curl->multi_cleanup(c->multi);
    }
    loop_clock(c->loop)->timer_free(c->timer);
    buf_release(&c->text);
    buf_release(&c->identity);
    mem_free(c);
}

int http_client_set_identity(struct http_client *c, struct str cert_pem, struct str key_pem,
                             struct err *err) {
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_str(&b, cert_pem);
    buf_str(&b, key_pem);
    if (buf_ok(&b) != 0) {
        int code = buf_ok(&b);
        buf_release(&b);
        return err_set(err, code, "the client certificate is too large, or no memory");
    }
    buf_release(&c->identity);
    c->identity = b;
    c->o.cert_pem = str_head(buf_view(&c->identity), cert_pem.n);
    c->o.key_pem = str_skip(buf_view(&c->identity), cert_pem.n);
    c->o.cert_file = c->o.key_file = (struct str){0};
    c->generation++;
    drop_idle(c);
    return 0;
}

static struct curl_blob blob_of(struct str s, unsigned flags) {
    return (struct curl_blob){(void *)(uintptr_t)s.p, s.n, flags};
}

/* libcurl turns probes on and sets their times; this is for bytes that nobody acknowledges. */
static int on_socket_made(void *ctx, curl_socket_t fd, curlsocktype purpose) {
    unsigned ms = UNACKED_MS;
    int tries = KEEPALIVE_TRIES;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
    return CURL_SOCKOPT_OK;
}

/* Identity, verification and what may be spoken. */
static bool set_policy(struct http_call *call) {
    const struct curl_lib *curl = call->client->curl;
    const struct http_client_options *o = &call->client->o;
    CURL *e = call->easy;
    struct curl_blob ca = blob_of(o->ca_pem, CURL_BLOB_NOCOPY),
                     cert = blob_of(o->cert_pem, CURL_BLOB_COPY),
                     key = blob_of(o->key_pem, CURL_BLOB_COPY);
    bool ok = true;
#define SET(option, value) (ok = curl->easy_setopt(e, (option), (value)) == CURLE_OK && ok)
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_SSL_VERIFYPEER, 1L);
    SET(CURLOPT_SSL_VERIFYHOST, 2L);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_PROXY, o->proxy.n ? o->proxy.p : "");
    SET(CURLOPT_PIPEWAIT, 1L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
    SET(CURLOPT_TCP_KEEPINTVL, (long)KEEPALIVE_EACH_S);
    SET(CURLOPT_SOCKOPTFUNCTION, on_socket_made);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    if (ca.len) {
        SET(CURLOPT_CAINFO_BLOB, &ca);
        SET(CURLOPT_CAPATH, NULL);
    } else if (o->ca_file.n) {
        SET(CURLOPT_CAINFO, o->ca_file.p);
        SET(CURLOPT_CAPATH, NULL);
    }
    if (cert.len) {
        SET(CURLOPT_SSLCERT_BLOB, &cert);
    } else if (o->cert_file.n) {
        SET(CURLOPT_SSLCERT, o->cert_file.p);
    }
    if (key.len) {
        SET(CURLOPT_SSLKEY_BLOB, &key);
    } else if (o->key_file.n) {
        SET(CURLOPT_SSLKEY, o->key_file.p);
    }
    if (o->user_agent.n) {
        SET(CURLOPT_USERAGENT, o->user_agent.p);
    }
    return ok;
}

static bool add_header(struct http_call *call, struct str line) {
    _cleanup_free_ char *text = mem_cstr(line);
    struct curl_slist *l = text ? call->client->curl->slist_append(call->headers, text) : NULL;
    call->headers = l ? l : call->headers;
    return l != NULL;
}

/* Where the certificate is for another name: libcurl takes the name to verify from the URL, so the URL gets that name,
 * and a rule leads the connection to where it was to go. */
static struct str renamed_url(struct http_call *call, struct str url, struct buf *b) {
    const struct curl_lib *curl = call->client->curl;
    const struct http_client_options *o = &call->client->o;
    if (o->tls_name.n == 0 || !str_starts(url, o->tls_origin)) {
        return url;
    }
    struct str host = str_skip(o->tls_origin, strlen("https://"));
    bool has_port = str_find_last(host, ':') > str_find_last(host, ']');
    bool v6 = str_find(o->tls_name, ':') >= 0;
    struct str port = has_port ? str_skip(host, (size_t)str_find_last(host, ':') + 1) : STR("443");
    struct str bare = has_port ? str_head(host, (size_t)str_find_last(host, ':')) : host;
    const char *open = v6 ? "[" : "", *close = v6 ? "]" : "";
    char rule[1024], header[600];
    snprintf(rule, sizeof(rule), "%s%.*s%s:%.*s:%.*s:%.*s", open, STR_ARG(o->tls_name), close,
             STR_ARG(port), STR_ARG(bare), STR_ARG(port));
    snprintf(header, sizeof(header), "Host: %.*s", STR_ARG(host));
    call->connect_to = curl->slist_append(NULL, rule);
    bool ok = call->connect_to && add_header(call, str_of(header));
    buf_f(b, "https://%s%.*s%s:%.*s", open, STR_ARG(o->tls_name), close, STR_ARG(port));
    buf_str(b, str_skip(url, o->tls_origin.n));
    return ok ? buf_view(b) : (struct str){0};
}

static bool set_request(struct http_call *call, const struct http_call_options *o) {
    const struct curl_lib *curl = call->client->curl;
    CURL *e = call->easy;
    struct buf renamed;
    buf_init(&renamed, 1 << 20);
    _cleanup_free_ char *url = mem_cstr(renamed_url(call, o->url, &renamed));
    bool ok = url && *url && buf_ok(&renamed) == 0 && add_header(call, STR("Expect:"));
    buf_release(&renamed);
    for (size_t i = 0; i < o->n_headers; i++) {
        ok = ok && add_header(call, o->headers[i]);
    }
    /* Over plain http nothing tells which it is before the first answer, and all calls would wait for that. */
    bool two = call->client->http2 && str_starts(o->url, STR("https:"));
    SET(CURLOPT_HTTP_VERSION, (long)(two ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    SET(CURLOPT_URL, url);
    SET(CURLOPT_HTTPHEADER, call->headers);
    SET(CURLOPT_CONNECT_TO, call->connect_to);
    SET(CURLOPT_HTTPGET, 1L); /* undoes what the handle's last call had */
    if (strcmp(o->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
    } else if (o->body.n || (strcmp(o->method, "GET") != 0 && strcmp(o->method, "DELETE") != 0)) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)o->body.n);
        SET(o->lasting ? CURLOPT_POSTFIELDS : CURLOPT_COPYPOSTFIELDS, o->body.n ? o->body.p : "");
    }
    SET(CURLOPT_CUSTOMREQUEST, o->method);
    SET(CURLOPT_TIMEOUT_MS, (long)o->timeout_ms);
    SET(CURLOPT_PRIVATE, call);
    SET(CURLOPT_ERRORBUFFER, call->trouble);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, call);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, call);
    SET(CURLOPT_PREREQFUNCTION, on_ready);
    SET(CURLOPT_PREREQDATA, call);
#undef SET
    return ok;
}

int http_client_send(struct http_client *c, const struct http_call_options *o,
                     struct http_call **ret, struct err *err) {
    struct http_call *call = mem_zalloc(sizeof(*call));
    if (call == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    *call = (struct http_call){.client = c,
                               .head = o->head,
                               .data = o->data,
                               .done = o->done,
                               .ctx = o->ctx,
                               .may_send = o->may_send,
                               .may_send_ctx = o->may_send_ctx,
                               .retry_after_s = -1,
                               .next = c->calls,
                               .prev = &c->calls};
    if (call->next) {
        call->next->prev = &call->next;
    }
    c->calls = call;
    buf_init(&call->body, o->body_max ? o->body_max : GATHER_MAX);
    buf_init(&call->head_lines, HEAD_MAX);
    call->generation = c->generation;
    bool known = c->n_idle > 0;
    call->easy = known ? c->idle[--c->n_idle] : c->curl->easy_init();
    if (call->easy == NULL || (!known && !set_policy(call)) || !set_request(call, o)) {
        call_free(call);
        return err_set(err, ERR_NOMEM, "cannot make the request");
    }
    if (c->inside) {
        c->tidy = true;
    } else {
        add_call(c, call);
        if (!call->added) {
            call_free(call);
            return err_set(err, ERR_INTERNAL, "cannot start the request");
        }
    }
    if (ret) {
        *ret = call;
    }
    return 0;
}
