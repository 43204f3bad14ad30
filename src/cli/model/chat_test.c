/* Tests of `berth chat`: what is sent, what is printed as it comes, and how refusals are told. */
#include "base/test.h"

#include <stdlib.h>

#include "cli/cli.h"
#include "cli/kit/bed.h"

#define CHAT "POST /v1/chat/completions"

static const char streamed[] =
    ": waiting\n\n"
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"content\":\"Good \"}}]}\n\n"
    "data: {\"choices\":[{\"delta\":{\"content\":\"day\\u001b[31m\"}}]}\n\n"
    "data: [DONE]\n\n";

static bool told(const char *text) {
    return str_contains(buf_view(&bed.told), str_of(text));
}

static bool asked(const char *text) {
    return str_contains(buf_view(&bed.seen), str_of(text));
}

/* The bed's address is in the kubeconfig that it wrote. */
static const char *address(void) {
    static char url[128];
    char text[512], *at;
    FILE *f = fopen(getenv("KUBECONFIG"), "re");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = 0;
    at = strstr(text, "http://");
    assert_non_null(at);
    snprintf(url, sizeof(url), "%.*s/v1/", (int)strcspn(at, "'"), at);
    return url;
}

static void one_question(void **state) {
    static const struct route routes[] = {{CHAT, 200, streamed}};
    (void)state;
    bed_start(routes, 1);
    setenv("OPENAI_API_KEY", "sk-berth-x", 1);
    assert_int_equal(RUN("chat", "m", "--url", address(), "--system", "Be \"kind\".",
                         "--max-tokens", "9", "Good", "day?"),
                     CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("Good day [31m\n"));
    assert_true(told("the model starts"));
    assert_true(asked("{\"model\":\"m\",\"stream\":true,\"max_tokens\":9,\"messages\":[{\"role\":"
                      "\"system\",\"content\":\"Be \\\"kind\\\".\"},{\"role\":\"user\","
                      "\"content\":\"Good day?\"}]}"));
    bed_stop();
}

static void an_answer_does_not_steer_the_terminal(void **state) {
    static const struct route routes[] = {
        {CHAT, 200,
         "data: "
         "{\"choices\":[{\"delta\":{\"content\":\"a\\u009b31m\\u001bb\\u00e9\\u00a0\"}}]}\n\n"}};
    (void)state;
    bed_start(routes, 1);
    setenv("OPENAI_BASE_URL", address(), 1);
    assert_int_equal(RUN("chat", "m", "x"), CLI_OK);
    assert_str_eq(buf_view(&bed.out), STR("a\xc2\xa0"
                                          "31m b\xc3\xa9\xc2\xa0\n"));
    bed_stop();
}

static void refusals_are_told_in_the_words_of_the_gateway(void **state) {
    static const struct route routes[] = {
        {CHAT, 429, "{\"error\":{\"message\":\"60 requests a minute\",\"type\":\"x\"}}"}};
    static const struct route broken[] = {{CHAT, 502, "<html>"}};
    (void)state;
    bed_start(routes, 1);
    setenv("OPENAI_BASE_URL", address(), 1);
    assert_int_not_equal(RUN("chat", "m", "x"), CLI_OK);
    assert_true(told("60 requests a minute"));
    bed_stop();
    bed_start(broken, 1);
    setenv("OPENAI_BASE_URL", address(), 1);
    assert_int_equal(RUN("chat", "m", "x"), CLI_FAILED);
    assert_true(told("the gateway answered with status 502"));
    bed_stop();
}

static void a_stream_that_fails_is_an_error(void **state) {
    static const struct route routes[] = {
        {CHAT, 200,
         "data: {\"choices\":[{\"delta\":{\"content\":\"Go\"}}]}\n\n"
         "data: {\"error\":{\"message\":\"the server went away\"}}\n\n"}};
    (void)state;
    bed_start(routes, 1);
    setenv("OPENAI_BASE_URL", address(), 1);
    assert_int_equal(RUN("chat", "m", "x"), CLI_FAILED);
    assert_true(told("the server went away"));
    bed_stop();
}

static void wrong_words(void **state) {
    static const struct route routes[] = {{CHAT, 200, streamed}};
    (void)state;
    bed_start(routes, 1);
    unsetenv("OPENAI_BASE_URL");
    setenv("OPENAI_API_KEY", "sk-berth-x", 1);
    assert_int_equal(RUN("chat", "m", "x"), CLI_USAGE);
    assert_true(told("OPENAI_BASE_URL"));
    assert_int_equal(RUN("chat", "m", "x", "--url", "http://example.org/v1"), CLI_USAGE);
    assert_true(told("a key is sent over https"));
    static const char *const others[] = {
        "http://127.example.org/v1",       "http://localhost:x@example.org/v1",
        "http://127.0.0.1@example.org/v1", "http://localhost.example.org/",
        "http://127.0.0.1:@example.org/",  "http://[::1]:@example.org"};
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        assert_int_equal(RUN("chat", "m", "x", "--url", others[i]), CLI_USAGE);
        assert_true(told("a key is sent over https"));
    }
    assert_int_equal(RUN("chat", "m", "x", "--url", "ftp://127.0.0.1"), CLI_USAGE);
    assert_int_equal(RUN("chat", "m", "x", "--url", address(), "--max-tokens", "1,"), CLI_USAGE);
    setenv("OPENAI_API_KEY", "a\r\nb", 1);
    assert_int_equal(RUN("chat", "m", "x", "--url", address()), CLI_USAGE);
    assert_int_equal(bed.seen.n, 0);
    bed_stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_question),
        cmocka_unit_test(an_answer_does_not_steer_the_terminal),
        cmocka_unit_test(refusals_are_told_in_the_words_of_the_gateway),
        cmocka_unit_test(a_stream_that_fails_is_an_error),
        cmocka_unit_test(wrong_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
