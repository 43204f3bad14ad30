/* http_request: the user's view of a request and the making of answers. See http_server.h and http_int.h. */
#include "base/limits.h"
#include "net/http_private.h"
#include "net/tls_private.h"

enum { ARENA_MAX = 64 << 20 };

void http_request_init(struct http_request *r, struct http_conn *c) {
    *r = (struct http_request){.conn = c, .way = &http1_way};
    http_parse_init(&r->parse, c->server->o.body_max);
    arena_init(&r->arena, ARENA_MAX);
    buf_init(&r->added, LIMIT_HTTP_HEADER_BYTES);
}

void http_request_release(struct http_request *r) {
    http_parse_release(&r->parse);
    arena_release(&r->arena);
    buf_release(&r->added);
}

void http_request_end(struct http_request *r) {
    void (*closed)(void *) = r->closed;
    void *user = r->user;
    r->closed = r->drained = NULL;
    r->received = NULL;
    r->held = false;
    if (closed) {
        closed(user);
    }
    r->user = NULL;
    r->state = REQUEST_NONE;
    r->admitted = r->cut = false;
    (void)http_account_body(r, 0);
    r->chunked = r->wants_drain = false;
    arena_reset(&r->arena);
    buf_reset(&r->added);
    http_parse_next(&r->parse);
}

/* ---- reading ---- */

struct str http_method(const struct http_request *r) {
    return http_parse_method(&r->parse);
}

struct str http_path(const struct http_request *r) {
    struct str path, query;
    str_cut(http_parse_target(&r->parse), '?', &path, &query);
    return str_empty(path) ? STR("/") : path;
}

struct str http_query(const struct http_request *r) {
    struct str path, query;
    str_cut(http_parse_target(&r->parse), '?', &path, &query);
    return query;
}

struct str http_header(const struct http_request *r, const char *name) {
    struct str v = {0};
    http_parse_header(&r->parse, str_of(name), 0, &v);
    return v;
}

bool http_header_nth(const struct http_request *r, const char *name, size_t i, struct str *ret) {
    return http_parse_header(&r->parse, str_of(name), i, ret);
}

bool http_header_at(const struct http_request *r, size_t i, struct str *ret_name, struct str *ret) {
    return http_parse_header_at(&r->parse, i, ret_name, ret);
}

struct str http_body(const struct http_request *r) {
    return buf_view(&r->parse.body);
}

struct str http_peer(const struct http_request *r) {
    struct http_conn *c = r->conn;
    if (!c->peer[0]) {
        struct sockaddr_storage ss = {0};
        int n = sizeof(ss);
        char ip[46] = "?";
        unsigned port = 0;
        if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&ss, &n) == 0) {
            uv_ip_name((struct sockaddr *)&ss, ip, sizeof(ip));
            port = ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port
                                                  : ((struct sockaddr_in *)&ss)->sin_port);
        }
        bool v6 = ss.ss_family == AF_INET6;
        snprintf(c->peer, sizeof(c->peer), "%s%s%s:%u", v6 ? "[" : "", ip, v6 ? "]" : "", port);
    }
    return str_of(c->peer);
}

bool http_secure(const struct http_request *r) {
    return r->conn->ssl != NULL;
}

bool http_client_cert(const struct http_request *r, struct str *ret_cn, struct str *ret_org) {
    struct http_conn *c = r->conn;
    if (c->ssl == NULL) {
        return false;
    }
    if (!c->subject_read) {
        c->subject_read = true;
        c->subject_ok = tls_peer_subject(c->ssl, &c->cn, &c->org);
    }
    if (c->subject_ok) {
        *ret_cn = buf_view(&c->cn);
        *ret_org = buf_view(&c->org);
    }
    return c->subject_ok;
}

void http_set_account(struct http_request *r, struct str user) {
    if (!http_account_join(r, user)) {
        r->conn->close_after = true;
    }
}

struct arena *http_arena(struct http_request *r) {
    return &r->arena;
}

void http_set_user(struct http_request *r, void *user, void (*closed)(void *user)) {
    r->user = user;
    r->closed = closed;
}

void *http_user(const struct http_request *r) {
    return r->user;
}

/* ---- answering ---- */

static bool line_safe(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '\r' || s.p[i] == '\n' || s.p[i] == 0) {
            return false;
        }
    }
    return true;
}

int http_add_header(struct http_request *r, const char *name, struct str value) {
    if (!line_safe(str_of(name)) || !line_safe(value)) {
        return ERR_INVALID;
    }
    buf_c(&r->added, name);
    buf_c(&r->added, ": ");
    buf_str(&r->added, value);
    buf_c(&r->added, "\r\n");
    return buf_ok(&r->added);
}

bool http_request_is_head(const struct http_request *r) {
    return r->parse.llhttp.method == HTTP_HEAD;
}

/* The answer is complete: sends it, or, when the peer is gone, drops what was kept for the user alone. */
static void answered(struct http_request *r) {
    r->state = REQUEST_ANSWERED;
    if (r->gone) {
        r->way->forget(r);
    } else {
        r->way->dirty(r);
    }
}

void http_respond(struct http_request *r, int status, const char *content_type, struct str body) {
    if (r->state != REQUEST_OPEN) {
        return;
    }
    if (!r->gone) {
        r->way->answer(r, status, content_type, body, http_request_is_head(r));
    }
    answered(r);
}

void http_stream_begin(struct http_request *r, int status, const char *content_type) {
    if (r->state != REQUEST_OPEN) {
        return;
    }
    r->state = REQUEST_STREAM;
    if (!r->gone) {
        r->way->begin(r, status, content_type);
        r->way->dirty(r);
    }
}

int http_stream_write(struct http_request *r, struct str bytes) {
    struct http_server *s = r->conn->server;
    if (r->state != REQUEST_STREAM || r->gone || r->cut) {
        return ERR_GONE;
    }
    if (bytes.n == 0 || http_request_is_head(r)) {
        return 0;
    }
    size_t waiting = r->way->waiting(r);
    if (bytes.n > s->o.out_max || waiting > s->o.out_max - bytes.n) {
        s->stats.cut_slow++;
        r->cut = true;
        r->way->dirty(r);
        return ERR_TOO_LARGE;
    }
    r->way->write(r, bytes);
    r->wants_drain = true;
    r->way->dirty(r);
    return 0;
}

size_t http_stream_waiting(const struct http_request *r) {
    return r->way->waiting(r);
}

void http_stream_on_drain(struct http_request *r, void (*drained)(void *user)) {
    r->drained = drained;
}

void http_stream_cut(struct http_request *r) {
    if (r->state == REQUEST_STREAM && !r->gone) {
        r->cut = true;
        r->way->dirty(r);
    }
}

void http_stream_end(struct http_request *r) {
    if (r->state != REQUEST_STREAM) {
        return;
    }
    if (!r->gone) {
        r->way->end(r);
    }
    answered(r);
}

bool http_request_in_hands(const struct http_request *r) {
    return r->state == REQUEST_OPEN || r->state == REQUEST_STREAM;
}

bool http_request_admit(struct http_request *r) {
    struct http_server *s = r->conn->server;
    if (r->admitted || s->o.head == NULL) {
        return true;
    }
    r->admitted = true;
    r->state = REQUEST_OPEN;
    if (!s->o.head(s->o.ctx, r)) {
        return false;
    }
    r->state = REQUEST_NONE;
    return true;
}

/* ---- another protocol ---- */

static bool names_token(const struct http_request *r, const char *header, struct str token) {
    struct str value, item;
    for (size_t i = 0; http_header_nth(r, header, i, &value); i++) {
        while (str_next(&value, ',', &item)) {
            if (str_eq_nocase(str_trim(item), token)) {
                return true;
            }
        }
    }
    return false;
}

bool http_offers(const struct http_request *r, const char *protocol) {
    return !r->parse.old && !r->conn->session && names_token(r, "Connection", STR("upgrade")) &&
           names_token(r, "Upgrade", str_of(protocol));
}

void http_upgrade(struct http_request *r, const char *protocol,
                  bool (*received)(void *user, struct str bytes)) {
    struct http_conn *c = r->conn;
    if (r->state != REQUEST_OPEN || c->session) {
        return; /* HTTP/2 has no upgrade: http_offers said so */
    }
    r->state = REQUEST_STREAM;
    r->received = received;
    c->close_after = true;
    if (r->gone) {
        return;
    }
    struct buf *out = &c->plain;
    buf_c(out, "HTTP/1.1 101 Switching Protocols\r\n");
    buf_c(out, http_server_date(c->server));
    buf_str(out, buf_view(&r->added));
    buf_f(out, "Connection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol);
    http_conn_dirty(c);
}

void http_upgrade_resume(struct http_request *r) {
    if (r->held) {
        r->held = false;
        http_conn_dirty(r->conn);
    }
}
