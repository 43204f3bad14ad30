/* http_answer: answers out of bytes. See http_answer.h. */
#include "net/peers/http_answer.h"

#include "base/err.h"
#include "base/limits.h"

enum { EXTRA_MAX = 4096, KEEP_BYTES = 1024 };

static int refuse(struct http_answer *a, const char *trouble) {
    a->trouble = a->trouble ? a->trouble : trouble;
    return HPE_USER;
}

static int add_head(struct http_answer *a, const char *at, size_t n) {
    buf_add(&a->head, at, n);
    return buf_ok(&a->head) == 0 ? 0 : refuse(a, "the head is too large");
}

static int on_extra(llhttp_t *l, const char *at, size_t n) {
    struct http_answer *a = l->data;
    a->extra += n;
    return a->extra <= EXTRA_MAX ? 0 : refuse(a, "chunk extensions or trailers are too large");
}

/* A new field begins when the last one has its value (value > 0) or there is none. */
static int on_name(llhttp_t *l, const char *at, size_t n) {
    struct http_answer *a = l->data;
    if (a->status && on_extra(l, at, n) != 0) {
        return HPE_USER;
    }
    struct http_field *f = a->fields.n ? &a->fields.v[a->fields.n - 1] : NULL;
    if (f == NULL || f->value != 0) {
        if (a->fields.n >= LIMIT_HTTP_HEADERS ||
            http_field_vec_push(&a->fields, (struct http_field){.name = (uint32_t)a->head.n})) {
            return refuse(a, "too many headers");
        }
        f = &a->fields.v[a->fields.n - 1];
    }
    f->name_n += (uint32_t)n;
    return add_head(a, at, n);
}

static int on_name_complete(llhttp_t *l) {
    struct http_answer *a = l->data;
    a->fields.v[a->fields.n - 1].value = (uint32_t)a->head.n;
    return 0;
}

static int on_value(llhttp_t *l, const char *at, size_t n) {
    struct http_answer *a = l->data;
    if (a->status && on_extra(l, at, n) != 0) {
        return HPE_USER;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)at[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return refuse(a, "a header value has a control character");
        }
    }
    a->fields.v[a->fields.n - 1].value_n += (uint32_t)n;
    return add_head(a, at, n);
}

static int on_value_complete(llhttp_t *l) {
    struct http_answer *a = l->data;
    struct http_field *f = &a->fields.v[a->fields.n - 1];
    while (f->value_n > 0 && (a->head.p[f->value + f->value_n - 1] == ' ' ||
                              a->head.p[f->value + f->value_n - 1] == '\t')) {
        f->value_n--;
    }
    return 0;
}

static const char *framing_trouble(struct http_answer *a) {
    struct str v;
    if (http_answer_header(a, STR("transfer-encoding"), 0, &v)) {
        if (a->llhttp.http_minor == 0) {
            return "Transfer-Encoding with HTTP/1.0";
        }
        if (!str_eq_nocase(v, STR("chunked")) ||
            http_answer_header(a, STR("transfer-encoding"), 1, &v)) {
            return "Transfer-Encoding is not chunked";
        }
        if (http_answer_header(a, STR("content-length"), 0, &v)) {
            return "Content-Length with Transfer-Encoding";
        }
    } else if (http_answer_header(a, STR("content-length"), 0, &v)) {
        int64_t n;
        if (!str_to_i64(v, &n) || n < 0 || (v.n > 1 && v.p[0] == '0')) {
            return "malformed Content-Length";
        }
        a->length = n;
    }
    if (http_answer_header(a, STR("content_length"), 0, &v) ||
        http_answer_header(a, STR("transfer_encoding"), 0, &v)) {
        return "a header looks like one that frames the body";
    }
    return NULL;
}

/* 1: no body follows, as llhttp has it. */
static int on_head_complete(llhttp_t *l) {
    struct http_answer *a = l->data;
    a->n_head = a->fields.n;
    if (l->http_major != 1) {
        return refuse(a, "it is not HTTP/1.1");
    }
    const char *trouble = framing_trouble(a);
    if (trouble) {
        return refuse(a, trouble);
    }
    int status = (int)l->status_code;
    if (status < 200) {
        if (status == 101 || status < 100 || ++a->interim > HTTP_ANSWER_INTERIM_MAX) {
            return refuse(a, "an interim answer that nobody asked for");
        }
        return 0;
    }
    a->status = status;
    l->upgrade = 0;
    if (a->on_head && !a->on_head(a->ctx, a)) {
        a->stopped = true;
        return HPE_USER;
    }
    return a->to_head ? 1 : 0;
}

static int on_body(llhttp_t *l, const char *at, size_t n) {
    struct http_answer *a = l->data;
    if (a->status == 0) {
        return refuse(a, "an interim answer has a body");
    }
    if (a->on_body && !a->on_body(a->ctx, str_from(at, n))) {
        a->stopped = true;
        return HPE_USER;
    }
    return 0;
}

static void forget_head(struct http_answer *a) {
    buf_reset(&a->head);
    a->fields.n = a->n_head = a->raw = 0;
    a->length = -1;
}

static int on_message_complete(llhttp_t *l) {
    struct http_answer *a = l->data;
    if (a->status == 0) { /* interim: the answer itself follows */
        forget_head(a);
        return 0;
    }
    a->keep_alive = llhttp_should_keep_alive(l);
    a->whole = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
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

void http_answer_init(struct http_answer *a) {
    *a = (struct http_answer){0};
    buf_init(&a->head, LIMIT_HTTP_HEADER_BYTES);
    http_answer_next(a, false);
}

void http_answer_release(struct http_answer *a) {
    buf_release(&a->head);
    http_field_vec_release(&a->fields);
}

void http_answer_next(struct http_answer *a, bool to_head) {
    llhttp_init(&a->llhttp, HTTP_RESPONSE, &settings);
    a->llhttp.data = a;
    forget_head(a);
    if (a->head.cap > KEEP_BYTES) {
        buf_release(&a->head);
    }
    a->extra = 0;
    a->interim = a->status = 0;
    a->to_head = to_head;
    a->whole = a->stopped = a->keep_alive = false;
    a->trouble = NULL;
}

enum http_answer_result http_answer_feed(struct http_answer *a, struct str in, size_t *ret_used) {
    *ret_used = 0;
    if (a->whole) {
        return HTTP_ANSWER_WHOLE;
    }
    if (a->trouble || a->stopped) {
        return a->stopped ? HTTP_ANSWER_STOPPED : HTTP_ANSWER_BAD;
    }
    enum llhttp_errno e = llhttp_execute(&a->llhttp, in.p, in.n);
    if (a->whole && e == HPE_PAUSED) {
        *ret_used = (size_t)(llhttp_get_error_pos(&a->llhttp) - in.p);
        return HTTP_ANSWER_WHOLE;
    }
    if (a->stopped) {
        return HTTP_ANSWER_STOPPED;
    }
    if (e != HPE_OK) {
        refuse(a, "malformed answer");
        return HTTP_ANSWER_BAD;
    }
    if (a->status == 0) {
        a->raw += in.n; /* also blanks, which no callback sees */
        if (a->raw > LIMIT_HTTP_HEADER_BYTES) {
            refuse(a, "the head is too large");
            return HTTP_ANSWER_BAD;
        }
    }
    *ret_used = in.n;
    return HTTP_ANSWER_MORE;
}

enum http_answer_result http_answer_eof(struct http_answer *a) {
    if (!a->whole && !a->trouble && !a->stopped && a->status &&
        llhttp_message_needs_eof(&a->llhttp)) {
        (void)llhttp_finish(&a->llhttp);
        a->whole = true;
        a->keep_alive = false;
    }
    return a->whole ? HTTP_ANSWER_WHOLE : a->stopped ? HTTP_ANSWER_STOPPED : HTTP_ANSWER_BAD;
}

bool http_answer_begun(const struct http_answer *a) {
    return a->raw > 0 || a->status != 0 || a->interim > 0;
}

static struct str slice(const struct http_answer *a, size_t from, size_t n) {
    return str_from(a->head.p ? a->head.p + from : NULL, n);
}

bool http_answer_at(const struct http_answer *a, size_t i, struct str *ret_name, struct str *ret) {
    size_t n = a->n_head ? a->n_head : a->fields.n;
    if (i >= n) {
        return false;
    }
    const struct http_field *f = &a->fields.v[i];
    *ret_name = slice(a, f->name, f->name_n);
    *ret = slice(a, f->value, f->value_n);
    return true;
}

bool http_answer_header(const struct http_answer *a, struct str name, size_t nth, struct str *ret) {
    struct str n, v;
    for (size_t i = 0; http_answer_at(a, i, &n, &v); i++) {
        if (n.n == name.n && str_eq_nocase(n, name) && nth-- == 0) {
            *ret = v;
            return true;
        }
    }
    return false;
}
