/*
 * fuzz/http: the request parser on any bytes.
 *
 * The same bytes are parsed whole and in pieces, whose sizes come from the first byte: both must understand the same.
 * Each message that was understood is written down again in the plainest form and parsed once more: it must come out
 * as it was.
 */
#include <assert.h>

#include "base/limits.h"
#include "net/http_parse.h"

enum { BODY_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* One message in a form that has one reading only. */
static void write_down(const struct http_parse *p, struct buf *out) {
    struct str name, value;
    buf_f(out, "%.*s %.*s HTTP/1.1\r\n", STR_ARG(http_parse_method(p)),
          STR_ARG(http_parse_target(p)));
    for (size_t i = 0; i < p->fields.n; i++) {
        const struct http_field *f = &p->fields.v[i];
        name = str_from(p->head.p + f->name, f->name_n);
        value = str_from(p->head.p + f->value, f->value_n);
        if (!str_eq_nocase(name, STR("transfer-encoding")) &&
            !str_eq_nocase(name, STR("content-length"))) {
            buf_f(out, "%.*s: %.*s\r\n", STR_ARG(name), STR_ARG(value));
        }
    }
    if (!http_parse_header(p, STR("host"), 0, &value)) {
        buf_c(out, "Host: h\r\n");
    }
    buf_f(out, "Content-Length: %zu\r\n\r\n", p->body.n);
    buf_str(out, buf_view(&p->body));
}

static void check_again(const struct http_parse *p, struct str text) {
    struct http_parse again;
    struct buf second;
    size_t used;
    http_parse_init(&again, BODY_MAX);
    enum http_parse_result r = http_parse_feed(&again, text, &used);
    /* An added Host or Content-Length may pass a limit that the message just kept. */
    if (r == HTTP_MESSAGE) {
        buf_init(&second, 0);
        write_down(&again, &second);
        assert(used == text.n && str_eq(buf_view(&second), text));
        buf_release(&second);
    } else {
        assert(r == HTTP_ERROR && again.status == 431);
    }
    http_parse_release(&again);
}

/* Appends what is understood; returns the status of the refusal, 0 when there is none. */
static int parse(struct str in, size_t step, struct buf *out) {
    struct http_parse p;
    int status = 0;
    http_parse_init(&p, BODY_MAX);
    while (in.n > 0 && status == 0) {
        size_t used = 0;
        switch (http_parse_feed(&p, str_head(in, step), &used)) {
        case HTTP_MESSAGE: {
            size_t from = out->n;
            write_down(&p, out);
            check_again(&p, str_skip(buf_view(out), from));
            http_parse_next(&p);
            break;
        }
        case HTTP_ERROR:
            status = p.status;
            break;
        case HTTP_MORE:
            break;
        }
        assert(used <= step);
        in = str_skip(in, used);
    }
    http_parse_release(&p);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > LIMIT_HTTP_HEADER_BYTES) {
        return 0;
    }
    struct str in = str_from((const char *)data + 1, size - 1);
    struct buf whole, parts;
    buf_init(&whole, 0);
    buf_init(&parts, 0);
    int a = parse(in, SIZE_MAX, &whole), b = parse(in, 1 + data[0] % 64, &parts);
    assert((a == 0) == (b == 0));
    assert(str_eq(buf_view(&whole), buf_view(&parts)));
    buf_release(&whole);
    buf_release(&parts);
    return 0;
}
