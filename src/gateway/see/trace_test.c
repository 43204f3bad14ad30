/* Tests of trace: what is a traceparent, and what is not. */
#include "base/test.h"

#include "gateway/see/trace.h"

#define GOOD "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static void what_comes_goes_on(void **state) {
    struct trace_context t;
    char text[TRACE_TEXT + 1];
    assert_true(trace_parse(STR(GOOD), &t));
    assert_true(t.sampled);
    assert_true(t.parent == UINT64_C(0xb7ad6b7169203331));
    trace_text(&t, t.parent, text);
    assert_string_equal(text, GOOD);
    t.sampled = false;
    trace_text(&t, 1, text);
    assert_string_equal(text, "00-0af7651916cd43dd8448eb211c80319c-0000000000000001-00");
    assert_true(
        trace_parse(STR("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more"), &t));
    assert_false(t.sampled);
}

static void what_is_none(void **state) {
    static const char *const bad[] = {
        "",
        "00",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
        "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
        "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
    };
    struct trace_context t;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(trace_parse(str_of(bad[i]), &t));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_goes_on),
        cmocka_unit_test(what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
