/* Tests of jws: the form of tokens, and what is refused before any key is looked at. */
#include "wire/jws.h"

#include "base/test.h"
#include "wire/text/base64.h"

static struct arena a;

static int setup(void **state) {
    arena_init(&a, 1 << 20);
    return 0;
}

static int teardown(void **state) {
    arena_release(&a);
    return 0;
}

/* header and claims as they are, and a signature of three bytes. */
static struct str token(const char *header, const char *claims) {
    struct buf b;
    buf_init(&b, 0);
    base64url_encode(&b, str_of(header));
    buf_ch(&b, '.');
    base64url_encode(&b, str_of(claims));
    buf_c(&b, ".YWJj");
    struct str s = arena_str(&a, buf_view(&b));
    buf_release(&b);
    return s;
}

static int parse(const char *header, const char *claims, struct err *err) {
    struct jws t;
    return jws_parse(&a, token(header, claims), &t, err);
}

static void test_parts(void **state) {
    struct jws t;
    struct err err = {0};
    int64_t when;
    struct str text = token("{\"alg\":\"ES256\",\"kid\":\"k1\",\"typ\":\"JWT\"}",
                            "{\"iss\":\"https://x\",\"exp\":1700000000.9,\"aud\":[\"a\",\"b\"]}");
    assert_ok(jws_parse(&a, text, &t, &err), &err);
    assert_str_eq(t.alg, STR("ES256"));
    assert_str_eq(t.kid, STR("k1"));
    assert_str_eq(t.signature, STR("abc"));
    assert_str_eq(t.signed_part, str_head(text, text.n - 5));
    assert_str_eq(json_str(jws_claim(&t, STR("iss"))), STR("https://x"));
    assert_true(jws_time(&t, "exp", &when));
    assert_int_equal(when, 1700000000);
    assert_false(jws_time(&t, "nbf", &when));
    assert_true(jws_is_for(&t, &STR("b"), 1));
    assert_false(jws_is_for(&t, &STR("c"), 1));
}

static void test_names_with_dots(void **state) {
    struct jws t;
    struct err err = {0};
    assert_ok(jws_parse(&a,
                        token("{\"alg\":\"RS256\"}", "{\"https://x.y/groups\":\"g\",\"aud\":\"\"}"),
                        &t, &err),
              &err);
    assert_str_eq(json_str(jws_claim(&t, STR("https://x.y/groups"))), STR("g"));
    assert_false(jws_is_for(&t, &STR(""), 1)); /* nobody is the empty audience */
}

static void test_refused(void **state) {
    static const struct {
        const char *header, *claims, *why;
    } rows[] = {
        {"{}", "{}", "has no alg"},
        {"{\"alg\":1}", "{}", "has no alg"},
        {"{\"alg\":\"RS256\",\"alg\":\"none\"}", "{}", "the header has a member twice"},
        {"{\"alg\":\"RS256\"}", "{\"sub\":\"a\",\"sub\":\"b\"}", "the claims have a member twice"},
        {"{\"alg\":\"RS256\",\"crit\":[\"b64\"],\"b64\":false}", "{}", "extensions"},
        {"{\"alg\":\"RS256\",\"kid\":{}}", "{}", "kid is not a text"},
        {"[]", "{}", "the header is not a JSON object"},
        {"{\"alg\":\"RS256\"}", "[]", "the claims are not a JSON object"},
        {"{\"alg\":\"RS256\"", "{}", "the header"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = {0};
        assert_int_equal(parse(rows[i].header, rows[i].claims, &err), ERR_SYNTAX);
        if (strstr(err.text, rows[i].why) == NULL) {
            print_error("%s: %s\n", rows[i].why, err.text);
            fail();
        }
    }
}

static void test_forms(void **state) {
    static const char *const rows[] = {"", ".", "a.b", "a.b.c.d", "e30.e30", "e30.e30.a.b"};
    struct jws t;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_not_equal(jws_parse(&a, str_of(rows[i]), &t, NULL), 0);
    }
    assert_int_equal(jws_parse(&a, STR("eyJhbGciOiJub25lIn0=.e30.YWJj"), &t, NULL), ERR_SYNTAX);
    assert_int_equal(jws_parse(&a, STR("eyJhbGciOiJub25lIn0.e30.YW Jj"), &t, NULL), ERR_SYNTAX);
    char *big = arena_zalloc(&a, JWS_BYTES_MAX + 1);
    memset(big, 'a', JWS_BYTES_MAX + 1);
    assert_int_equal(jws_parse(&a, str_from(big, JWS_BYTES_MAX + 1), &t, NULL), ERR_TOO_LARGE);
    assert_int_equal(jws_parse(&a, str_from(big, JWS_BYTES_MAX), &t, NULL), ERR_NOT_FOUND);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_names_with_dots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
