/* http_parse: requests out of bytes. See http_parse.h. */
#include "net/http_parse.h"

#include "base/err.h"
#include "base/limits.h"
#include "net/http_target.h"

enum { EXTRA_MAX = 4096, KEEP_BYTES = 8192 };

static struct http_parse *parse_of(llhttp_t *l) {
    return l->data;
}

/* Refuses the message; what a callback returns to stop llhttp. */
static int refuse(struct http_parse *p, int status, const char *text) {
    p->state = HTTP_FAILED;
    p->status = status;
    p->text = text;
    return HPE_USER;
}

static struct str slice(const struct http_parse *p, size_t from, size_t n) {
    return str_from(p->head.p ? p->head.p + from : NULL, n);
}

/* ---- llhttp's callbacks ---- */

static int add_head(struct http_parse *p, const char *at, size_t n) {
    buf_add(&p->head, at, n);
    switch (buf_ok(&p->head)) {
    case 0:
        return 0;
    case ERR_TOO_LARGE:
        return refuse(p, 431, "the request line and headers are too large");
    default:
        return refuse(p, 500, "no memory");
    }
}

static int on_url(llhttp_t *l, const char *at, size_t n) {
    struct http_parse *p = parse_of(l);
    p->state = HTTP_IN_HEAD;
    p->target_n += n;
    return add_head(p, at, n);
}

static int on_begin(llhttp_t *l) {
    parse_of(l)->state = HTTP_IN_HEAD;
    return 0;
}

static int on_extra(llhttp_t *l, const char *at, size_t n) {
    struct http_parse *p = parse_of(l);
    p->extra += n;
    return p->extra <= EXTRA_MAX ? 0 : refuse(p, 400, "chunk extensions or trailers are too large");
}

/* A new field begins when the last one has its value (value > 0) or there is none. */
static int on_name(llhttp_t *l, const char *at, size_t n) {
    struct http_parse *p = parse_of(l);
    if (p->state == HTTP_IN_BODY && on_extra(l, at, n) != 0) {
        return HPE_USER;
    }
    struct http_field *f = p->fields.n ? &p->fields.v[p->fields.n - 1] : NULL;
    if (f == NULL || f->value != 0) {
        if (p->fields.n >= LIMIT_HTTP_HEADERS) {
            return refuse(p, 431, "too many headers");
        }
        if (http_field_vec_push(&p->fields, (struct http_field){.name = (uint32_t)p->head.n})) {
            return refuse(p, 500, "no memory");
        }
        f = &p->fields.v[p->fields.n - 1];
    }
    f->name_n += (uint32_t)n;
    return add_head(p, at, n);
}

static int on_name_complete(llhttp_t *l) {
    struct http_parse *p = parse_of(l);
    p->fields.v[p->fields.n - 1].value = (uint32_t)p->head.n;
    return 0;
}

static int on_value(llhttp_t *l, const char *at, size_t n) {
    struct http_parse *p = parse_of(l);
    if (p->state == HTTP_IN_BODY && on_extra(l, at, n) != 0) {
        return HPE_USER;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return refuse(p, 400, "a header value has a control character");
        }
    }
    p->fields.v[p->fields.n - 1].value_n += (uint32_t)n;
    return add_head(p, at, n);
}

static int on_value_complete(llhttp_t *l) {
    struct http_parse *p = parse_of(l);
    struct http_field *f = &p->fields.v[p->fields.n - 1];
    while (f->value_n > 0 && (p->head.p[f->value + f->value_n - 1] == ' ' ||
                              p->head.p[f->value + f->value_n - 1] == '\t')) {
        f->value_n--;
    }
    return 0;
}

static int on_head_complete(llhttp_t *l);

static int on_body(llhttp_t *l, const char *at, size_t n) {
    struct http_parse *p = parse_of(l);
    buf_add(&p->body, at, n);
    switch (buf_ok(&p->body)) {
    case 0:
        return 0;
    case ERR_TOO_LARGE:
        return refuse(p, 413, "the request body is too large");
    default:
        return refuse(p, 500, "no memory");
    }
}

static bool forbidden_trailer(struct str name) {
    static const char *const names[] = {"content-length",
                                        "transfer-encoding",
                                        "host",
                                        "authorization",
                                        "connection",
                                        "content-type",
                                        "content-encoding",
                                        "trailer",
                                        "te",
                                        "cookie",
                                        "expect"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (str_eq_nocase(name, str_of(names[i]))) {
            return true;
        }
    }
    return str_starts(name, STR("Impersonate-")) || str_starts(name, STR("X-Remote-"));
}

static int on_message_complete(llhttp_t *l) {
    struct http_parse *p = parse_of(l);
    for (size_t i = p->n_head; i < p->fields.n; i++) {
        if (forbidden_trailer(slice(p, p->fields.v[i].name, p->fields.v[i].name_n))) {
            return refuse(p, 400, "a trailer names a header that must be in front");
        }
    }
    p->fields.n = p->n_head;
    p->keep_alive = llhttp_should_keep_alive(l);
    p->state = HTTP_COMPLETE;
    return HPE_PAUSED;
}

/* ---- checks at the end of the head ---- */

static int check_host(struct http_parse *p) {
    struct str host, second;
    if (!http_parse_header(p, STR("host"), 0, &host)) {
        return p->old ? 0 : refuse(p, 400, "no Host header");
    }
    if (http_parse_header(p, STR("host"), 1, &second)) {
        return refuse(p, 400, "more than one Host header");
    }
    return http_host_ok(host) ? 0 : refuse(p, 400, "malformed Host header");
}

static int check_target(struct http_parse *p) {
    struct str t = str_skip(slice(p, 0, p->target_n), p->target_from), host = {0};
    http_parse_header(p, STR("host"), 0, &host);
    size_t from = 0;
    if (p->target_from == 0 && http_target_absolute(t, &from)) {
        struct str authority = slice(p, 0, from);
        authority = str_skip(authority, (size_t)str_find(authority, '/') + 2);
        if (host.n && !str_eq_nocase(authority, host)) {
            return refuse(p, 400, "the target names another host than the Host header");
        }
        p->target_from = from;
        t = str_skip(t, from);
    }
    bool star = str_is(t, "*") && str_is(http_parse_method(p), "OPTIONS");
    const char *trouble = star ? NULL : http_target_trouble(t);
    return trouble ? refuse(p, 400, trouble) : 0;
}

static int check_framing(struct http_parse *p) {
    struct str v;
    if (http_parse_header(p, STR("transfer-encoding"), 0, &v)) {
        if (p->old) {
            return refuse(p, 400, "Transfer-Encoding with HTTP/1.0");
        }
        if (!str_eq_nocase(v, STR("chunked")) ||
            http_parse_header(p, STR("transfer-encoding"), 1, &v)) {
            return refuse(p, 400, "Transfer-Encoding must be chunked");
        }
        if (http_parse_header(p, STR("content-length"), 0, &v)) {
            return refuse(p, 400, "Content-Length with Transfer-Encoding");
        }
    } else if (http_parse_header(p, STR("content-length"), 0, &v)) {
        uint64_t n;
        if (!str_to_u64(v, &n) || (v.n > 1 && v.p[0] == '0')) {
            return refuse(p, 400, "malformed Content-Length");
        }
        if (n > p->body_max) {
            return refuse(p, 413, "the request body is too large");
        }
    }
    if (http_parse_header(p, STR("content_length"), 0, &v) ||
        http_parse_header(p, STR("transfer_encoding"), 0, &v)) {
        return refuse(p, 400, "a header looks like one that frames the body");
    }
    return 0;
}

static int check_expect(struct http_parse *p) {
    struct str v;
    if (!http_parse_header(p, STR("expect"), 0, &v)) {
        return 0;
    }
    if (!str_eq_nocase(v, STR("100-continue"))) {
        return refuse(p, 417, "unknown expectation");
    }
    p->expects = !p->old && (p->llhttp.flags & F_CHUNKED || p->llhttp.content_length > 0);
    return 0;
}

static int on_head_complete(llhttp_t *l) {
    struct http_parse *p = parse_of(l);
    if (l->http_major != 1) {
        return refuse(p, 505, "HTTP/1.1 only");
    }
    p->old = l->http_minor == 0;
    if (l->method == HTTP_CONNECT) {
        return refuse(p, 405, "CONNECT is not served");
    }
    if (check_host(p) || check_target(p) || check_framing(p) || check_expect(p)) {
        return HPE_USER;
    }
    l->upgrade = 0; /* not offered: the request is served as HTTP/1.1 */
    p->n_head = p->fields.n;
    p->state = HTTP_IN_BODY;
    return 0;
}

static const llhttp_settings_t *settings(void) {
    static const llhttp_settings_t s = {
        .on_message_begin = on_begin,
        .on_url = on_url,
        .on_header_field = on_name,
        .on_header_field_complete = on_name_complete,
        .on_header_value = on_value,
        .on_header_value_complete = on_value_complete,
        .on_headers_complete = on_head_complete,
        .on_body = on_body,
        .on_chunk_extension_name = on_extra,
        .on_chunk_extension_value = on_extra,
        .on_message_complete = on_message_complete,
    };
    return &s;
}

/* ---- the user's side ---- */

void http_parse_init(struct http_parse *p, size_t body_max) {
    *p = (struct http_parse){.body_max = body_max};
    buf_init(&p->head, LIMIT_HTTP_HEADER_BYTES);
    buf_init(&p->body, body_max);
    http_parse_next(p);
}

void http_parse_release(struct http_parse *p) {
    buf_release(&p->head);
    buf_release(&p->body);
    http_field_vec_release(&p->fields);
}

void http_parse_shrink(struct http_parse *p) {
    http_parse_release(p);
}

void http_parse_next(struct http_parse *p) {
    llhttp_init(&p->llhttp, HTTP_REQUEST, settings());
    p->llhttp.data = p;
    p->state = HTTP_AT_START;
    buf_reset(&p->head);
    buf_reset(&p->body);
    if (p->body.cap > KEEP_BYTES) {
        buf_release(&p->body);
    }
    p->fields.n = 0;
    p->target_n = p->target_from = p->n_head = p->raw = p->extra = 0;
    p->keep_alive = p->expects = p->old = false;
    p->status = 0;
    p->text = NULL;
}

static enum http_parse_result failed(struct http_parse *p, enum llhttp_errno e) {
    if (p->state != HTTP_FAILED) {
        bool known =
            p->llhttp.http_major == 1 && p->llhttp.http_minor == 1; /* the line's end is bad */
        bool version = (e == HPE_INVALID_VERSION && !known) || e == HPE_PAUSED_H2_UPGRADE;
        refuse(p, version ? 505 : 400, version ? "HTTP/1.1 only" : "malformed request");
    }
    return HTTP_ERROR;
}

enum http_parse_result http_parse_feed(struct http_parse *p, struct str in, size_t *ret_used) {
    *ret_used = 0;
    if (p->state == HTTP_COMPLETE) {
        return HTTP_MESSAGE;
    }
    if (p->state == HTTP_FAILED) {
        return HTTP_ERROR;
    }
    enum llhttp_errno e = llhttp_execute(&p->llhttp, in.p, in.n);
    if (p->state == HTTP_COMPLETE && e == HPE_PAUSED) {
        *ret_used = (size_t)(llhttp_get_error_pos(&p->llhttp) - in.p);
        return HTTP_MESSAGE;
    }
    if (e != HPE_OK) {
        return failed(p, e);
    }
    if (p->state < HTTP_IN_BODY) {
        p->raw += in.n; /* also blanks and empty lines, which no callback sees */
        if (p->raw > LIMIT_HTTP_HEADER_BYTES) {
            refuse(p, 431, "the request line and headers are too large");
            return HTTP_ERROR;
        }
    }
    *ret_used = in.n;
    return HTTP_MORE;
}

/* ---- HTTP/2 ---- */

void http_parse_refuse(struct http_parse *p, int status, const char *text) {
    if (p->state != HTTP_FAILED) {
        refuse(p, status, text);
    }
}

static void set_method(struct http_parse *p, struct str name) {
    for (int m = 0; m <= HTTP_SOURCE; m++) {
        if (str_is(name, llhttp_method_name((llhttp_method_t)m))) {
            p->llhttp.method = (uint8_t)m;
            return;
        }
    }
    http_parse_refuse(p, 400, "unknown method");
}

static void add_field(struct http_parse *p, struct str name, struct str value) {
    struct http_field f = {.name = (uint32_t)p->head.n, .name_n = (uint32_t)name.n};
    if (p->fields.n >= LIMIT_HTTP_HEADERS) {
        http_parse_refuse(p, 431, "too many headers");
        return;
    }
    if (add_head(p, name.p, name.n) != 0) {
        return;
    }
    f.value = (uint32_t)p->head.n;
    f.value_n = (uint32_t)value.n;
    if (add_head(p, value.p, value.n) == 0 && http_field_vec_push(&p->fields, f) != 0) {
        http_parse_refuse(p, 500, "no memory");
    }
}

static void pseudo_field(struct http_parse *p, struct str name, struct str value) {
    if (str_is(name, ":method")) {
        set_method(p, value);
    } else if (str_is(name, ":authority")) {
        add_field(p, STR("host"), value);
    } else if (str_is(name, ":path")) {
        p->target_from = p->head.n;
        p->target_n = p->head.n + value.n;
        add_head(p, value.p, value.n);
    }
}

void http_parse_field(struct http_parse *p, struct str name, struct str value) {
    struct str host;
    if (p->state == HTTP_FAILED) {
        return;
    }
    if (p->state == HTTP_IN_BODY) { /* a trailer: judged, and not kept */
        p->extra += name.n + value.n;
        if (p->extra > EXTRA_MAX) {
            http_parse_refuse(p, 400, "trailers are too large");
        } else if (forbidden_trailer(name)) {
            http_parse_refuse(p, 400, "a trailer names a header that must be in front");
        }
        return;
    }
    p->state = HTTP_IN_HEAD;
    if (str_starts(name, STR(":"))) {
        pseudo_field(p, name, value);
    } else if (!str_is(name, "host") || !http_parse_header(p, STR("host"), 0, &host) ||
               !str_eq(host, value)) {
        add_field(p, name, value);
    }
}

/* A browser sends each cookie in a field of its own, to compress them better: users read one. */
static void join_cookies(struct http_parse *p) {
    struct str first, v;
    struct buf all;
    if (!http_parse_header(p, STR("cookie"), 1, &v)) {
        return;
    }
    buf_init(&all, LIMIT_HTTP_HEADER_BYTES);
    for (size_t i = 0; http_parse_header(p, STR("cookie"), i, &first); i++) {
        buf_c(&all, i > 0 ? "; " : "");
        buf_str(&all, first);
    }
    size_t kept = 0;
    for (size_t i = 0; i < p->fields.n; i++) {
        struct http_field f = p->fields.v[i];
        if (!str_is(slice(p, f.name, f.name_n), "cookie")) {
            p->fields.v[kept++] = f;
        }
    }
    p->fields.n = kept;
    if (buf_ok(&all) != 0) {
        http_parse_refuse(p, 431, "the request line and headers are too large");
    } else {
        add_field(p, STR("cookie"), buf_view(&all));
    }
    buf_release(&all);
}

void http_parse_head_end(struct http_parse *p) {
    struct str v;
    uint64_t n;
    if (p->state != HTTP_FAILED && p->llhttp.method == HTTP_CONNECT) {
        refuse(p, 405, "CONNECT is not served");
    }
    if (p->state == HTTP_FAILED) {
        return;
    }
    join_cookies(p);
    if (http_parse_header(p, STR("content-length"), 0, &v) && str_to_u64(v, &n)) {
        p->llhttp.content_length = n;
    }
    if (p->state == HTTP_FAILED || check_host(p) || check_target(p) || check_framing(p) ||
        check_expect(p)) {
        return;
    }
    p->n_head = p->fields.n;
    p->keep_alive = true;
    p->state = HTTP_IN_BODY;
}

void http_parse_bytes(struct http_parse *p, struct str bytes) {
    if (p->state == HTTP_IN_BODY) {
        uint64_t *left = &p->llhttp.content_length;
        *left -= bytes.n < *left ? bytes.n : *left;
        on_body(&p->llhttp, bytes.p, bytes.n);
    }
}

void http_parse_end(struct http_parse *p) {
    if (p->state == HTTP_IN_BODY) {
        p->state = HTTP_COMPLETE;
    }
}

size_t http_parse_body_size(const struct http_parse *p) {
    bool chunked = p->llhttp.flags & F_CHUNKED;
    return p->body.n + (chunked ? 0 : (size_t)p->llhttp.content_length);
}

struct str http_parse_method(const struct http_parse *p) {
    return str_of(llhttp_method_name((llhttp_method_t)p->llhttp.method));
}

struct str http_parse_target(const struct http_parse *p) {
    struct str t = str_skip(slice(p, 0, p->target_n), p->target_from);
    return str_empty(t) ? STR("/") : t;
}

bool http_parse_header_at(const struct http_parse *p, size_t i, struct str *ret_name,
                          struct str *ret) {
    if (i >= p->fields.n) {
        return false;
    }
    const struct http_field *f = &p->fields.v[i];
    *ret_name = slice(p, f->name, f->name_n);
    *ret = slice(p, f->value, f->value_n);
    return true;
}

bool http_parse_header(const struct http_parse *p, struct str name, size_t nth, struct str *ret) {
    for (size_t i = 0; i < p->fields.n; i++) {
        const struct http_field *f = &p->fields.v[i];
        if (f->name_n == name.n && str_eq_nocase(slice(p, f->name, f->name_n), name) &&
            nth-- == 0) {
            *ret = slice(p, f->value, f->value_n);
            return true;
        }
    }
    return false;
}
