/*
 * Fuzz target: events of a server on their way through, and the tokens that they tell. The first byte says in pieces of
 * which size they come: what goes on and what is told are the same as in one piece.
 */
#include "fuzz.h"

#include "gateway/usage.h"

static void pass(void *ctx, struct str bytes) {
    buf_str(ctx, bytes);
}

static void through(struct str in, size_t step, bool hide, struct usage_stream *s,
                    struct buf *out) {
    usage_stream_init(s, hide);
    for (struct str rest = in; rest.n > 0; rest = str_skip(rest, step)) {
        usage_stream_feed(s, str_head(rest, step), pass, out);
    }
    usage_stream_end(s, pass, out);
    usage_stream_release(s);
}

static bool is_told(int64_t n) {
    return n >= -1 && n <= USAGE_TOKENS_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 2 || n > FUZZ_INPUT_MAX) {
        return 0;
    }
    struct str in = fuzz_text(data + 1, n - 1);
    for (int hide = 0; hide < 2; hide++) {
        struct usage_stream whole, parts;
        struct buf one, many;
        buf_init(&one, 0);
        buf_init(&many, 0);
        through(in, in.n, hide, &whole, &one);
        through(in, (size_t)data[0] % 61 + 1, hide, &parts, &many);
        assert(str_eq(buf_view(&one), buf_view(&many)));
        assert(hide ? one.n <= in.n : str_eq(buf_view(&one), in));
        assert(whole.usage.in == parts.usage.in && whole.usage.out == parts.usage.out);
        assert(whole.usage.cached == parts.usage.cached && whole.events == parts.events);
        assert(is_told(whole.usage.in) && is_told(whole.usage.out) && is_told(whole.usage.cached));
        buf_release(&one);
        buf_release(&many);
    }
    struct token_usage u = USAGE_NONE;
    (void)usage_read(in, &u);
    assert(is_told(u.in) && is_told(u.out) && is_told(u.cached));
    return 0;
}
