/*
 * fuzz/frames: any bytes as what a client sends after the preface of HTTP/2, in pieces whose length the first byte
 * says.
 *
 * The owner answers each request at once and keeps what it was promised: streams are told of in order, each is whole at
 * most once and closed at most once, and none is told of after that; heads and bodies keep to their limits.
 */
#include "base/limits.h"
#include "base/mem.h"
#include "fuzz.h"
#include "net/http2.h"

enum { BODY_MAX = 1 << 12, STREAMS = 4096 };

struct one {
    struct http2_stream wire;
    struct http_parse parse;
    bool whole, closed;
    struct one *next;
};
struct owner {
    struct http2 *session;
    struct one *first;
    size_t n, open;
};

static struct one *of(struct http2_stream *s) {
    return (struct one *)((char *)s - offsetof(struct one, wire));
}

static struct http2_stream *on_open(void *ctx) {
    struct owner *o = ctx;
    struct one *x = o->n < STREAMS ? mem_zalloc(sizeof(*x)) : NULL;
    if (x == NULL) {
        return NULL;
    }
    o->n++;
    o->open++;
    assert(o->open <= LIMIT_H2_STREAMS + 1);
    http_parse_init(&x->parse, BODY_MAX);
    buf_init(&x->wire.out, 0);
    x->wire.parse = &x->parse;
    x->next = o->first;
    o->first = x;
    return &x->wire;
}

static void on_head(void *ctx, struct http2_stream *s) {
    struct owner *o = ctx;
    assert(!of(s)->closed && s->parse->state == HTTP_IN_BODY);
    if (s->parse->expects) {
        http2_continue(o->session, s);
    }
}

static void on_body(void *ctx, struct http2_stream *s) {
    assert(!of(s)->closed && s->parse->body.n <= BODY_MAX);
}

static void on_whole(void *ctx, struct http2_stream *s) {
    struct owner *o = ctx;
    const struct http2_field f = {STR(":status"), STR("200")};
    struct str host;
    assert(!of(s)->closed && !of(s)->whole);
    of(s)->whole = true;
    assert(s->parse->state == HTTP_FAILED || s->parse->state == HTTP_COMPLETE);
    if (s->parse->state == HTTP_COMPLETE) {
        assert(http_parse_header(s->parse, STR("host"), 0, &host));
        assert(http_parse_target(s->parse).n > 0 && s->parse->head.n <= LIMIT_HTTP_HEADER_BYTES);
        assert(s->parse->fields.n <= LIMIT_HTTP_HEADERS);
    }
    buf_c(&s->out, "fine");
    s->out_whole = true;
    assert(http2_answer(o->session, s, &f, 1, true));
}

static void on_sent(void *ctx, struct http2_stream *s) {
    assert(!of(s)->closed);
}

static void on_closed(void *ctx, struct http2_stream *s, bool whole) {
    struct owner *o = ctx;
    assert(!of(s)->closed && (!whole || of(s)->whole));
    of(s)->closed = true;
    o->open--;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct http2_hooks hooks = {on_open,  on_head, on_body,
                                             on_whole, on_sent, on_closed};
    struct owner o = {0};
    struct buf out;
    if (size == 0 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    struct str in = str_skip(fuzz_text(data, size), 1);
    o.session = http2_new(&hooks, &o, 1);
    buf_init(&out, 0);
    bool ok = o.session && http2_input(o.session, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 1);
    for (int64_t now = 1; ok && in.n > 0 && !http2_over(o.session); now += 1000000) {
        struct str piece = str_head(in, 1 + (size_t)data[0]);
        in = str_skip(in, piece.n);
        ok = http2_input(o.session, piece, now) && http2_output(o.session, &out, 1 << 16);
        buf_reset(&out);
    }
    http2_free(o.session);
    while (o.first) {
        struct one *x = o.first;
        o.first = x->next;
        http_parse_release(&x->parse);
        buf_release(&x->wire.out);
        mem_free(x);
    }
    buf_release(&out);
    return 0;
}
