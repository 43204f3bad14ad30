/* Tests of usage: events on their way through, in any pieces. */
#include "gateway/usage.h"

#include "base/test.h"

#define ONE "data: {\"choices\":[{\"delta\":{\"content\":\"\\\"usage\\\": {}\"}}]}\n\n"
#define NUL "data: {\"choices\":[{}],\"usage\":null}\n\n"
#define USED                                                                                       \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":7,"                \
    "\"prompt_tokens_details\":{\"cached_tokens\":2}}}\n\n"
#define DONE "data: [DONE]\n\n"
#define WORD ": comment\n\n"

static void pass(void *ctx, struct str bytes) {
    buf_str(ctx, bytes);
}

static void through(struct str in, size_t step, bool hide, struct usage_stream *s,
                    struct buf *out) {
    usage_stream_init(s, hide);
    buf_reset(out);
    for (struct str rest = in; rest.n > 0; rest = str_skip(rest, step)) {
        usage_stream_feed(s, str_head(rest, step), pass, out);
    }
    usage_stream_end(s, pass, out);
}

static void test_pieces(void **state) {
    const struct str in = STR(WORD ONE NUL USED DONE), hidden = STR(WORD ONE NUL DONE);
    struct usage_stream s;
    struct buf out;
    buf_init(&out, 0);
    for (size_t step = 1; step <= in.n; step++) {
        for (int hide = 0; hide < 2; hide++) {
            through(in, step, hide, &s, &out);
            assert_str_eq(buf_view(&out), hide ? hidden : in);
            assert_int_equal(s.usage.in, 5);
            assert_int_equal(s.usage.out, 7);
            assert_int_equal(s.usage.cached, 2);
            assert_int_equal(s.events, 4);
            usage_stream_release(&s);
        }
    }
    buf_release(&out);
}

/* A server says what it likes: sums of it are made. */
static void test_beyond_belief(void **state) {
    struct token_usage u = USAGE_NONE;
    assert_true(usage_read(STR("{\"usage\":{\"prompt_tokens\":9223372036854775807,"
                               "\"completion_tokens\":16777217,\"prompt_tokens_details\":"
                               "{\"cached_tokens\":-1}}}"),
                           &u));
    assert_int_equal(u.in, -1);
    assert_int_equal(u.out, -1);
    assert_int_equal(u.cached, -1);
    usage_read(STR("{\"usage\":{\"prompt_tokens\":16777216}}"), &u);
    assert_int_equal(u.in, USAGE_TOKENS_MAX);
}

static void test_line_ends(void **state) {
    const struct str in =
        STR("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\r\n\r\ndata: x\r\n\r\n");
    struct usage_stream s;
    struct buf out;
    buf_init(&out, 0);
    for (size_t step = 1; step <= in.n; step++) {
        through(in, step, true, &s, &out);
        assert_str_eq(buf_view(&out), STR("data: x\r\n\r\n"));
        assert_int_equal(s.events, 2);
        usage_stream_release(&s);
    }
    buf_release(&out);
}

/* Nothing of what passes is kept when nothing is to be hidden; of what may be, at most the event that has not ended.
 * */
static void test_at_once(void **state) {
    struct usage_stream s;
    struct buf out;
    buf_init(&out, 0);
    usage_stream_init(&s, false);
    usage_stream_feed(&s, STR("data: half"), pass, &out);
    assert_str_eq(buf_view(&out), STR("data: half"));
    usage_stream_release(&s);
    buf_reset(&out);
    usage_stream_init(&s, true);
    usage_stream_feed(&s, STR(ONE "data: half"), pass, &out);
    assert_str_eq(buf_view(&out), STR(ONE));
    usage_stream_end(&s, pass, &out);
    assert_str_eq(buf_view(&out), STR(ONE "data: half"));
    usage_stream_release(&s);
    buf_release(&out);
}

static void test_long_event(void **state) {
    struct usage_stream s;
    struct buf in, out;
    buf_init(&in, 0);
    buf_init(&out, 0);
    buf_c(&in, "data: \"");
    for (int i = 0; i < 3 * USAGE_EVENT_MAX; i++) {
        buf_ch(&in, 'x');
    }
    buf_c(&in, "\"\n\n" USED);
    size_t n = in.n - sizeof(USED) + 1;
    through(buf_view(&in), 4096, true, &s, &out);
    assert_str_eq(buf_view(&out), str_head(buf_view(&in), n));
    assert_int_equal(s.usage.in, 5);
    usage_stream_release(&s);
    buf_release(&in);
    buf_release(&out);
}

static void test_shapes(void **state) {
    struct token_usage u = USAGE_NONE;
    assert_true(usage_read(STR("{\"usage\":{\"input_tokens\":3,\"output_tokens\":4}}"), &u));
    assert_int_equal(u.in, 3);
    assert_int_equal(u.out, 4);
    assert_true(
        usage_read(STR("{\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9,"
                       "\"cache_read_input_tokens\":8}}}"),
                   &u));
    assert_int_equal(u.in, 9);
    assert_int_equal(u.out, 4);
    assert_int_equal(u.cached, 8);
    assert_true(usage_read(STR("{\"response\":{\"usage\":{\"output_tokens\":6}}}"), &u));
    assert_int_equal(u.out, 6);
    assert_false(usage_read(STR("{\"metadata\":{\"usage\":{\"input_tokens\":0}}}"), &u));
    assert_false(usage_read(STR("{\"usage\":{\"input_tokens\":"), &u));
    u = USAGE_NONE;
    usage_read(STR("{\"usage\":{\"input_tokens\":-1,\"output_tokens\":1e3}}"), &u);
    assert_int_equal(u.in, -1);
    assert_int_equal(u.out, -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),     cmocka_unit_test(test_beyond_belief),
        cmocka_unit_test(test_line_ends),  cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_long_event), cmocka_unit_test(test_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
