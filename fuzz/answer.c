/*
 * Fuzz target: answers of servers. The first byte says in pieces of which size the bytes come, and whether they answer
 * a HEAD: what is understood is the same as in one piece, and no header has a line's end.
 */
#include "fuzz.h"

#include "net/peers/http_answer.h"

enum { INPUT_MAX = 8192 };

static bool on_head(void *ctx, struct http_answer *a) {
    struct str name, value;
    buf_f(ctx, "%d %lld\n", a->status, (long long)a->length);
    for (size_t i = 0; http_answer_at(a, i, &name, &value); i++) {
        assert(memchr(value.p ? value.p : "", '\n', value.n) == NULL);
        assert(memchr(value.p ? value.p : "", '\r', value.n) == NULL && name.n > 0);
        buf_f(ctx, "%.*s: %.*s\n", STR_ARG(name), STR_ARG(value));
    }
    return true;
}

static bool on_body(void *ctx, struct str bytes) {
    buf_str(ctx, bytes);
    return true;
}

/* *ret_used: bytes of the answer. */
static enum http_answer_result read_in(struct str in, size_t step, bool to_head, struct buf *out,
                                       size_t *ret_used) {
    struct http_answer a;
    enum http_answer_result r = HTTP_ANSWER_MORE;
    *ret_used = 0;
    buf_init(out, 0);
    http_answer_init(&a);
    http_answer_next(&a, to_head);
    a.on_head = on_head;
    a.on_body = on_body;
    a.ctx = out;
    while (in.n > 0 && r == HTTP_ANSWER_MORE) {
        size_t used;
        r = http_answer_feed(&a, str_head(in, step), &used);
        assert(used <= in.n && (r == HTTP_ANSWER_BAD) == (a.trouble != NULL));
        *ret_used += used;
        in = str_skip(in, step);
    }
    r = r == HTTP_ANSWER_MORE ? http_answer_eof(&a) : r;
    http_answer_release(&a);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 2 || n > INPUT_MAX) {
        return 0;
    }
    struct str in = fuzz_text(data + 1, n - 1);
    bool to_head = data[0] >= 128;
    struct buf one, many;
    size_t used_one, used_many;
    enum http_answer_result a = read_in(in, in.n, to_head, &one, &used_one);
    enum http_answer_result b = read_in(in, (size_t)data[0] % 61 + 1, to_head, &many, &used_many);
    assert(a == b && a != HTTP_ANSWER_STOPPED);
    assert(a != HTTP_ANSWER_WHOLE ||
           (used_one == used_many && str_eq(buf_view(&one), buf_view(&many))));
    buf_release(&one);
    buf_release(&many);
    return 0;
}
