/* Tests of oidc_config, oidc_claims and oidc_keys: files and options, what claims say of a user, documents of keys. */
#include "site/oidc/oidc_config.h"

#include "base/mem.h"
#include "base/test.h"
#include "site/oidc/oidc_claims.h"
#include "site/oidc/oidc_keys.h"
#include "wire/text/base64.h"

#define NOW (INT64_C(1800000000) * 1000000000)
#define HEAD                                                                                       \
    "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt:\n"            \
    "- issuer:\n    url: https://id.example.com\n    audiences: [berth]\n"
#define USER "  claimMappings:\n    username: {claim: sub, prefix: 'ex:'}\n"

static int read_text(const char *text, struct oidc_config *c, struct err *err) {
    oidc_config_init(c);
    return oidc_config_read(c, str_of(text), err);
}

static void test_file(void **state) {
    struct oidc_config c;
    struct err err = {0};
    assert_ok(read_text(HEAD
                        "    discoveryURL: https://id.internal/d\n" USER
                        "    groups: {claim: roles, prefix: ''}\n    uid: {claim: oid}\n"
                        "  claimValidationRules:\n  - {claim: hd, requiredValue: example.com}\n",
                        &c, &err),
              &err);
    assert_int_equal(c.n, 1);
    const struct oidc_issuer *o = &c.issuers[0];
    assert_str_eq(o->url, STR("https://id.example.com"));
    assert_str_eq(o->discovery_url, STR("https://id.internal/d"));
    assert_str_eq(o->audiences[0], STR("berth"));
    assert_str_eq(o->username_prefix, STR("ex:"));
    assert_str_eq(o->groups_claim, STR("roles"));
    assert_str_eq(o->uid_claim, STR("oid"));
    assert_str_eq(o->required[0].value, STR("example.com"));
    assert_int_equal(o->n_algs, 0);
    oidc_config_release(&c);
}

static void test_file_refused(void **state) {
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"apiVersion: v1\nkind: AuthenticationConfiguration\n", "apiVersion: \"v1\""},
        {"apiVersion: apiserver.config.k8s.io/v1\nkind: X\n", "kind: \"X\""},
        {"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n", "jwt: "},
        {"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: "
         "{}\n",
         "anonymous: unknown field"},
        {HEAD, "jwt[0].claimMappings.username.claim: required"},
        {HEAD "  claimMappings:\n    username: {claim: sub}\n",
         "jwt[0].claimMappings.username.prefix: required beside claim"},
        {HEAD "  claimMappings:\n    username: {expression: claims.sub}\n",
         "jwt[0].claimMappings.username.expression: expressions are not supported"},
        {HEAD USER "    extra: []\n", "jwt[0].claimMappings.extra: unknown field"},
        {HEAD USER "  userValidationRules: []\n", "jwt[0].userValidationRules"},
        {HEAD USER "  claimValidationRules: [{expression: 'true', message: m}]\n",
         "jwt[0].claimValidationRules: expressions"},
        {HEAD "    discoveryURL: http://x\n" USER, "jwt[0].issuer.discoveryURL: must begin"},
        {HEAD "    discoveryURL: https://id.example.com\n" USER, "must be another than issuer.url"},
        {HEAD "    audienceMatchPolicy: All\n" USER, "expected MatchAny"},
        {HEAD "    egressSelectorType: cluster\n" USER, "egressSelectorType: unknown field"},
        {HEAD USER "- issuer:\n    url: https://id.example.com\n    audiences: [b]\n" USER,
         "jwt[1].issuer.url: stands twice"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct oidc_config c;
        struct err err = {0};
        assert_int_equal(read_text(rows[i].text, &c, &err), ERR_INVALID);
        if (strstr(err.text, rows[i].why) == NULL) {
            print_error("want: %s\ngot:  %s\n", rows[i].why, err.text);
            fail();
        }
        oidc_config_release(&c);
    }
}

static void test_urls(void **state) {
    static const struct {
        const char *url;
        bool good;
    } rows[] = {
        {"https://a", true},
        {"https://a:8443/x/", true},
        {"http://a", false},
        {"https://", false},
        {"https://:1", false},
        {"https://u@a", false},
        {"https://a?x", false},
        {"https://a/#f", false},
        {"https://a/ b", false},
        {"https://a/\r\nX: y", false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(oidc_url_fault(str_of(rows[i].url)) == NULL, rows[i].good);
    }
    assert_true(oidc_url_is_endpoint(STR("https://a/b?c=d")));
    assert_false(oidc_url_is_endpoint(STR("http://a/b")));
    assert_false(oidc_url_is_endpoint(STR("https://a/\n")));
}

static void test_flags(void **state) {
    const struct str bad = STR("nothing");
    const struct oidc_flags rows[] = {
        {.issuer_url = STR("http://x"), .client_id = STR("c")},
        {.issuer_url = STR("https://x")},
        {.issuer_url = STR("https://x"), .client_id = STR("c"), .signing_algs = STR("HS256")},
        {.issuer_url = STR("https://x"), .client_id = STR("c"), .signing_algs = STR("none")},
        {.issuer_url = STR("https://x"), .client_id = STR("c"), .required = &bad, .n_required = 1},
    };
    struct oidc_config c;
    struct err err = {0};
    oidc_config_init(&c);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(oidc_config_add(&c, &rows[i], &err), ERR_INVALID);
        assert_non_null(strstr(err.text, "--oidc-"));
        assert_int_equal(c.n, 0);
    }
    struct oidc_flags f = {.issuer_url = STR("https://x"), .client_id = STR("c")};
    assert_ok(oidc_config_add(&c, &f, &err), &err);
    assert_str_eq(c.issuers[0].username_claim, STR("sub"));
    assert_str_eq(c.issuers[0].username_prefix, STR("https://x#"));
    assert_int_equal(c.issuers[0].n_algs, 1);
    assert_str_eq(c.issuers[0].algs[0], STR("RS256"));
    f.username_claim = STR("email");
    assert_ok(oidc_config_add(&c, &f, &err), &err);
    assert_str_eq(c.issuers[1].username_prefix, STR(""));
    f.username_claim = STR("name");
    f.username_prefix = STR("-");
    assert_ok(oidc_config_add(&c, &f, &err), &err);
    assert_str_eq(c.issuers[2].username_prefix, STR(""));
    oidc_config_release(&c);
}

/* ---- claims ---- */

static const struct oidc_issuer issuer = {
    .audiences = {{"berth", 5}, {"other", 5}},
    .n_audiences = 2,
    .username_claim = {"sub", 3},
    .username_prefix = {"ex:", 3},
    .groups_claim = {"groups", 6},
    .required = {{{"hd", 2}, {"x", 1}}},
    .n_required = 1,
};

static int user_of(const struct oidc_issuer *o, const char *claims, struct oidc_user *u,
                   struct arena *a, struct err *err) {
    yyjson_doc *doc;
    assert_ok(json_parse(a, str_of(claims), &doc, err), err);
    struct jws t = {.claims = yyjson_doc_get_root(doc)};
    return oidc_claims_user(o, &t, NOW, a, u, err);
}

#define BASE "{\"aud\":\"berth\",\"sub\":\"ann\",\"hd\":\"x\",\"exp\":1800000060"

static void test_claims(void **state) {
    struct arena a;
    struct oidc_user u;
    struct err err = {0};
    arena_init(&a, 1 << 20);
    assert_ok(user_of(&issuer, BASE ",\"groups\":[\"dev\",\"ops\"],\"jti\":\"j1\"}", &u, &a, &err),
              &err);
    assert_str_eq(u.name, STR("ex:ann"));
    assert_int_equal(u.n_groups, 2);
    assert_str_eq(u.groups[1], STR("ops"));
    assert_str_eq(u.jti, STR("j1"));
    assert_true(u.expires_ns == (INT64_C(1800000060) + OIDC_SKEW_S) * 1000000000);
    assert_ok(user_of(&issuer, BASE ",\"groups\":\"dev\"}", &u, &a, &err), &err);
    assert_int_equal(u.n_groups, 1);
    assert_ok(user_of(&issuer, BASE "}", &u, &a, &err), &err);
    assert_int_equal(u.n_groups, 0);
    arena_release(&a);
}

static void test_claims_refused(void **state) {
    static const struct {
        const char *claims, *why;
    } rows[] = {
        {"{\"aud\":\"x\"}", "another audience"},
        {"{}", "another audience"},
        {"{\"aud\":\"berth\"}", "when it expires"},
        {"{\"aud\":\"berth\",\"exp\":\"1800000060\"}", "when it expires"},
        {"{\"aud\":\"berth\",\"exp\":1799999990}", "has expired"},
        {BASE ",\"nbf\":1800000011}", "not valid yet"},
        {BASE ",\"nbf\":\"x\"}", "not valid yet"},
        {"{\"aud\":\"berth\",\"sub\":\"ann\",\"exp\":1800000060}", "\"hd\" is required"},
        {"{\"aud\":\"berth\",\"sub\":\"ann\",\"hd\":\"y\",\"exp\":1800000060}", "required value"},
        {"{\"aud\":\"berth\",\"sub\":\"ann\",\"hd\":[\"x\"],\"exp\":1800000060}", "required value"},
        {"{\"aud\":\"berth\",\"hd\":\"x\",\"exp\":1800000060}", "\"sub\" is not there"},
        {"{\"aud\":\"berth\",\"sub\":7,\"hd\":\"x\",\"exp\":1800000060}", "\"sub\" is not there"},
        {"{\"aud\":\"berth\",\"sub\":\"\",\"hd\":\"x\",\"exp\":1800000060}", "empty"},
        {"{\"aud\":\"berth\",\"sub\":\"a\\nb\",\"hd\":\"x\",\"exp\":1800000060}", "control"},
        {BASE ",\"groups\":[\"system:masters\"]}", "begins with system:"},
        {BASE ",\"groups\":\"system:masters\"}", "begins with system:"},
        {BASE ",\"groups\":[1]}", "neither a text"},
        {BASE ",\"groups\":{}}", "neither a text"},
    };
    struct arena a;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct oidc_user u;
        struct err err = {0};
        assert_int_equal(user_of(&issuer, rows[i].claims, &u, &a, &err), ERR_UNAUTHORIZED);
        if (strstr(err.text, rows[i].why) == NULL) {
            print_error("want: %s\ngot:  %s\n", rows[i].why, err.text);
            fail();
        }
    }
    arena_release(&a);
}

static void test_mail(void **state) {
    const struct oidc_issuer o = {
        .audiences = {{"berth", 5}}, .n_audiences = 1, .username_claim = {"email", 5}};
    struct arena a;
    struct oidc_user u;
    struct err err = {0};
    arena_init(&a, 1 << 20);
#define MAIL "{\"aud\":\"berth\",\"exp\":1800000060,\"email\":\"a@b\""
    assert_ok(user_of(&o, MAIL "}", &u, &a, &err), &err);
    assert_ok(user_of(&o, MAIL ",\"email_verified\":true}", &u, &a, &err), &err);
    assert_int_equal(user_of(&o, MAIL ",\"email_verified\":false}", &u, &a, &err),
                     ERR_UNAUTHORIZED);
    assert_int_equal(user_of(&o, MAIL ",\"email_verified\":\"true\"}", &u, &a, &err),
                     ERR_UNAUTHORIZED);
    arena_release(&a);
}

/* ---- keys ---- */

#define EC                                                                                         \
    "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","      \
    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\""

static void test_keys(void **state) {
    struct oidc_keys k;
    struct err err = {0};
    /* of these only the first two are for us */
    assert_ok(
        oidc_keys_read(STR("{\"keys\":[{\"kid\":\"a\"," EC "},{\"kid\":\"b\",\"alg\":\"ES256\","
                           "\"use\":\"sig\"," EC "},{\"use\":\"enc\"," EC "},{\"alg\":\"HS256\"," EC
                           "},{\"kty\":\"oct\",\"k\":\"YWJj\"},{\"kty\":\"RSA\",\"n\":\"!\"},7]}"),
                       &k, &err),
        &err);
    assert_int_equal(k.n, 2);
    assert_int_equal(oidc_keys_verify(&k, STR("c"), STR("ES256"), STR("d"), STR("s"), NULL),
                     ERR_NOT_FOUND);
    assert_int_equal(oidc_keys_verify(&k, STR("b"), STR("RS256"), STR("d"), STR("s"), NULL),
                     ERR_UNAUTHORIZED);
    assert_int_equal(oidc_keys_verify(&k, STR(""), STR("ES256"), STR("d"), STR("s"), NULL),
                     ERR_UNAUTHORIZED);
    oidc_keys_release(&k);
    static const char *const bad[] = {
        "", "{}", "[]", "{\"keys\":{}}", "{\"keys\":[]}", "{\"keys\":[{\"kty\":\"oct\"}]}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_not_equal(oidc_keys_read(str_of(bad[i]), &k, NULL), 0);
    }
}

static void test_alloc_faults(void **state) {
    struct oidc_keys k;
    for (uint64_t nth = 1;; nth++) {
        mem_fault(nth, 0);
        int r = oidc_keys_read(STR("{\"keys\":[{\"kid\":\"a\"," EC "}]}"), &k, NULL);
        bool hit = mem_fault_hit();
        mem_fault(0, 0);
        if (r == 0) {
            oidc_keys_release(&k);
        }
        if (!hit) {
            assert_int_equal(r, 0);
            return;
        }
        assert_int_not_equal(r, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),         cmocka_unit_test(test_file_refused),
        cmocka_unit_test(test_urls),         cmocka_unit_test(test_flags),
        cmocka_unit_test(test_claims),       cmocka_unit_test(test_claims_refused),
        cmocka_unit_test(test_mail),         cmocka_unit_test(test_keys),
        cmocka_unit_test(test_alloc_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
