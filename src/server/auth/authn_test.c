/* Tests of authn and token: certificates, bearer tokens that end and are revoked, ServiceAccount tokens and their
 * fate. */
#include <sys/stat.h>
#include <unistd.h>

#include "net/tls.h"
#include "server/auth/authn.h"
#include "server/auth/policy_fixture.h"
#include "wire/json/json.h"
#include "wire/text/base64.h"

#define ISSUER STR("https://127.0.0.1:6443")
#define SEC INT64_C(1000000000)

struct world {
    struct mirror *m;
    struct arena a;
    struct token_key key;
    struct authn x;
    char dir[64];
};

static struct str issuer_audience[] = {{"https://127.0.0.1:6443", 22}};

static int setup(void **state) {
    static struct world w;
    struct err err = {0};
    char file[128];
    struct tls_name n = {.cn = STR("sa"), .server = true};
    w = (struct world){.dir = "/tmp/berth-authn-XXXXXX"};
    assert_non_null(mkdtemp(w.dir));
    assert_ok(tls_make_ca(w.dir, "test", &err), &err);
    assert_ok(tls_make_cert(w.dir, "sa", &n, 10, &err), &err);
    snprintf(file, sizeof(file), "%s/sa.key", w.dir);
    assert_ok(token_key_init(&w.key, file, &err), &err);
    w.m = fixture_mirror();
    arena_init(&w.a, 64 << 20);
    w.x = (struct authn){
        .mirror = w.m, .key = &w.key, .issuer = ISSUER, .audiences = {issuer_audience, 1}};
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    static const char *const files[] = {"ca.crt", "ca.key", "sa.crt", "sa.key"};
    struct world *w = *state;
    mirror_free(w->m);
    arena_release(&w->a);
    token_key_release(&w->key);
    for (size_t i = 0; i < 4; i++) {
        char file[128];
        snprintf(file, sizeof(file), "%s/%s", w->dir, files[i]);
        unlink(file);
    }
    rmdir(w->dir);
    return 0;
}

static void test_certificate(void **state) {
    struct world *w = *state;
    struct user u;
    assert_int_equal(authn_certificate(STR("alice"), STR("devs\n\nops"), &w->a, &u, NULL), 0);
    assert_str_eq(u.name, STR("alice"));
    assert_int_equal(u.groups.n, 3);
    assert_str_eq(u.groups.v[1], STR("ops"));
    assert_str_eq(u.groups.v[2], STR("system:authenticated"));
    assert_int_equal(authn_certificate(STR(""), STR("devs"), &w->a, &u, NULL), ERR_UNAUTHORIZED);
}

static void test_token_in_headers(void **state) {
    struct world *w = *state;
    assert_str_eq(authn_token_in(STR("bearer  abc "), STR(""), &w->a), STR("abc"));
    assert_str_eq(authn_token_in(STR("Basic abc"), STR(""), &w->a), STR(""));
    assert_str_eq(
        authn_token_in(STR(""),
                       STR("v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.YWJj"), &w->a),
        STR("abc"));
    assert_true(authn_token_in(STR(""), STR("base64url.bearer.authorization.k8s.io.!"), &w->a).n >
                0); /* present: 401 */
}

static void test_own_token(void **state) {
    struct world *w = *state;
    struct str token, secret, group = STR("devs");
    struct str_list groups = {&group, 1};
    struct user u;
    struct err err = {0};
    int64_t now = fixture_now;
    assert_ok(authn_new_token(&w->a, STR("alice"), &groups, now + 100 * SEC, &token, &secret, &err),
              &err);
    assert_false(str_contains(secret, token));
    assert_int_equal(authn_bearer(&w->x, token, NULL, now, &w->a, &u, &err),
                     ERR_UNAUTHORIZED); /* not stored yet */
    char *text = mem_cstr(secret);
    fixture_put(w->m, text);
    mem_free(text);
    assert_ok(authn_bearer(&w->x, token, NULL, now, &w->a, &u, &err), &err);
    assert_str_eq(u.name, STR("alice"));
    assert_int_equal(u.groups.n, 2);
    assert_int_equal(authn_bearer(&w->x, token, NULL, now + 100 * SEC, &w->a, &u, &err),
                     ERR_UNAUTHORIZED);
    assert_int_equal(authn_bearer(&w->x, str_head(token, token.n - 1), NULL, now, &w->a, &u, &err),
                     ERR_UNAUTHORIZED);
    assert_int_equal(authn_bearer(&w->x, STR("berth_"), NULL, now, &w->a, &u, &err),
                     ERR_UNAUTHORIZED);
    yyjson_doc *doc;
    assert_ok(json_parse(&w->a, secret, &doc, &err), &err);
    char name[128];
    str_copy(json_str_at(yyjson_doc_get_root(doc), "metadata.name"), name, sizeof(name));
    fixture_delete(w->m, "", "Secret", "kube-system", name);
    assert_int_equal(authn_bearer(&w->x, token, NULL, now, &w->a, &u, &err), ERR_UNAUTHORIZED);
}

static struct str mint(struct world *w, struct token_claims c) {
    struct buf b;
    struct err err = {0};
    int64_t now = fixture_now / SEC;
    c.issuer = c.issuer.n ? c.issuer : ISSUER;
    c.ns = STR("team");
    c.account = STR("sa");
    c.subject = STR("system:serviceaccount:team:sa");
    c.account_uid = c.account_uid.n ? c.account_uid : STR("uid-sa");
    c.jti = STR("j1");
    c.issued = c.not_before = now;
    c.expires = c.expires ? c.expires : now + 600;
    c.audiences = c.audiences.n ? c.audiences : w->x.audiences;
    buf_init(&b, 0);
    assert_ok(token_mint(&w->key, &c, &b, &err), &err);
    struct str token = arena_str(&w->a, buf_view(&b));
    buf_release(&b);
    return token;
}

static int bearer(struct world *w, struct str token, struct user *u) {
    return authn_bearer(&w->x, token, NULL, fixture_now, &w->a, u, NULL);
}

static void test_account_token(void **state) {
    struct world *w = *state;
    struct user u;
    struct str token = mint(w, (struct token_claims){0});
    assert_int_equal(bearer(w, token, &u), ERR_UNAUTHORIZED); /* no such account */
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                      "\"sa\",\"namespace\":\"team\"}}");
    assert_int_equal(bearer(w, token, &u), 0);
    assert_str_eq(u.name, STR("system:serviceaccount:team:sa"));
    assert_str_eq(u.uid, STR("uid-sa"));
    assert_str_eq(u.groups.v[0], STR("system:serviceaccounts"));
    assert_str_eq(u.groups.v[1], STR("system:serviceaccounts:team"));
    assert_str_eq(u.groups.v[2], STR("system:authenticated"));
    assert_str_eq(u.extra[0].values.v[0], STR("JTI=j1"));
    /* every single changed character is noticed */
    char *copy = mem_cstr(token);
    for (size_t i = 0; i < token.n; i += 7) {
        copy[i] ^= 1;
        assert_int_equal(bearer(w, str_from(copy, token.n), &u), ERR_UNAUTHORIZED);
        copy[i] ^= 1;
    }
    mem_free(copy);
    struct str other = STR("other");
    assert_int_equal(bearer(w, mint(w, (struct token_claims){.issuer = STR("https://x")}), &u),
                     ERR_UNAUTHORIZED);
    assert_int_equal(bearer(w, mint(w, (struct token_claims){.audiences = {&other, 1}}), &u),
                     ERR_UNAUTHORIZED);
    assert_int_equal(bearer(w, mint(w, (struct token_claims){.account_uid = STR("old")}), &u),
                     ERR_UNAUTHORIZED);
    assert_int_equal(
        bearer(w, mint(w, (struct token_claims){.expires = fixture_now / SEC - 20}), &u),
        ERR_UNAUTHORIZED);
    struct str_list others = {&other, 1};
    assert_int_equal(authn_bearer(&w->x, mint(w, (struct token_claims){.audiences = others}),
                                  &others, fixture_now, &w->a, &u, NULL),
                     0);
    static const char *const junk[] = {"a", "a.b.c", "..", "eyJhbGciOiJub25lIn0.e30.", "berth"};
    for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
        assert_int_equal(bearer(w, str_of(junk[i]), &u), ERR_UNAUTHORIZED);
    }
    w->x.key = NULL;
    assert_int_equal(bearer(w, token, &u), ERR_UNAUTHORIZED);
}

static void test_bound_token(void **state) {
    struct world *w = *state;
    struct user u;
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                      "\"sa\",\"namespace\":\"team\"}}");
    struct str token = mint(w, (struct token_claims){.pod = STR("p"), .pod_uid = STR("uid-p")});
    assert_int_equal(bearer(w, token, &u), ERR_UNAUTHORIZED);
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
                      "\"namespace\":\"team\"},\"spec\":{\"containers\":[]}}");
    assert_int_equal(bearer(w, token, &u), 0);
    assert_int_equal(u.n_extra, 3);
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\","
                      "\"namespace\":\"team\",\"uid\":\"new\"},"
                      "\"spec\":{\"containers\":[]}}");
    assert_int_equal(bearer(w, token, &u), ERR_UNAUTHORIZED);
}

static void test_other_bonds(void **state) {
    struct world *w = *state;
    struct user u;
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":"
                      "\"sa\",\"namespace\":\"team\"}}");
    struct str secret =
        mint(w, (struct token_claims){.secret = STR("s"), .secret_uid = STR("uid-s")});
    struct str node = mint(w, (struct token_claims){.node = STR("n"), .node_uid = STR("uid-n")});
    assert_int_equal(bearer(w, secret, &u), ERR_UNAUTHORIZED);
    assert_int_equal(bearer(w, node, &u), ERR_UNAUTHORIZED);
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\","
                      "\"namespace\":\"team\"}}");
    fixture_put(w->m, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}");
    assert_int_equal(bearer(w, secret, &u), 0);
    assert_int_equal(u.n_extra, 1);
    assert_int_equal(bearer(w, node, &u), 0);
    assert_int_equal(u.n_extra, 3);
    assert_str_eq(u.extra[1].key, STR("authentication.kubernetes.io/node-name"));
    fixture_delete(w->m, "", "Secret", "team", "s");
    fixture_delete(w->m, "", "Node", "", "n");
    assert_int_equal(bearer(w, secret, &u), ERR_UNAUTHORIZED);
    assert_int_equal(bearer(w, node, &u), ERR_UNAUTHORIZED);
}

static void test_published(void **state) {
    struct world *w = *state;
    struct buf b;
    yyjson_doc *doc;
    buf_init(&b, 0);
    token_write_jwks(&w->key, &b);
    assert_int_equal(json_parse(&w->a, buf_view(&b), &doc, NULL), 0);
    yyjson_val *key = yyjson_arr_get_first(json_path(yyjson_doc_get_root(doc), "keys"));
    assert_str_eq(json_str_at(key, "crv"), STR("P-256"));
    assert_int_equal(base64url_decode(&w->a, json_str_at(key, "x")).n, 32);
    assert_str_eq(json_str_at(key, "kid"), str_of(w->key.kid));
    assert_int_equal(json_str_at(key, "kid").n, TOKEN_KID_BYTES);
    buf_reset(&b);
    token_write_discovery(STR("https://x/"), &b);
    assert_int_equal(json_parse(&w->a, buf_view(&b), &doc, NULL), 0);
    assert_str_eq(json_str_at(yyjson_doc_get_root(doc), "jwks_uri"),
                  STR("https://x/openid/v1/jwks"));
    buf_release(&b);
}

static void test_bad_key_file(void **state) {
    struct world *w = *state;
    struct token_key k;
    char file[128];
    snprintf(file, sizeof(file), "%s/ca.crt", w->dir);
    assert_int_equal(token_key_init(&k, file, NULL), ERR_INVALID);
    assert_int_equal(token_key_init(&k, "/nonexistent", NULL), ERR_IO);
}

static void put_bootstrap(struct world *w, const char *more, const char *type) {
    char text[1024];
    /* abcdef, 0123456789abcdef */
    snprintf(
        text, sizeof(text),
        "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"namespace\":\"kube-system\","
        "\"name\":\"bootstrap-token-abcdef\"},\"type\":\"%s\",\"data\":{\"token-id\":\"YWJjZGVm\","
        "\"token-secret\":\"MDEyMzQ1Njc4OWFiY2RlZg==\"%s}}",
        type, more);
    fixture_put(w->m, text);
}

static int bootstrap(struct world *w, const char *token, struct user *u, struct err *err) {
    return authn_bearer(&w->x, str_of(token), NULL, fixture_now, &w->a, u, err);
}

#define USABLE ",\"usage-bootstrap-authentication\":\"dHJ1ZQ==\""

static void test_bootstrap_token(void **state) {
    struct world *w = *state;
    struct user u;
    struct err err = {0};
    const char *const good = "abcdef.0123456789abcdef", *type = "bootstrap.kubernetes.io/token";
    assert_int_equal(bootstrap(w, good, &u, &err), ERR_UNAUTHORIZED);
    put_bootstrap(w, "", type); /* its usage is not said */
    assert_int_equal(bootstrap(w, good, &u, &err), ERR_UNAUTHORIZED);
    put_bootstrap(w, USABLE, "Opaque");
    assert_int_equal(bootstrap(w, good, &u, &err), ERR_UNAUTHORIZED);
    put_bootstrap(w, USABLE, type);
    assert_ok(bootstrap(w, good, &u, &err), &err);
    assert_str_eq(u.name, STR("system:bootstrap:abcdef"));
    assert_str_eq(u.groups.v[0], STR("system:bootstrappers"));
    assert_int_equal(u.groups.n, 2);
    assert_true(u.expires_ns == 0);
    assert_int_equal(bootstrap(w, "abcdef.0123456789abcdeg", &u, &err), ERR_UNAUTHORIZED);
    assert_int_equal(bootstrap(w, "abcdef.0123456789abcde", &u, &err), ERR_UNAUTHORIZED);
    /* extra groups: system:bootstrappers:a,system:bootstrappers:b; then system:masters */
    put_bootstrap(w,
                  USABLE
                  ",\"auth-extra-groups\":\"c3lzdGVtOmJvb3RzdHJhcHBlcnM6YSxzeXN0ZW06Ym9vdHN0c"
                  "mFwcGVyczpi\"",
                  type);
    assert_ok(bootstrap(w, good, &u, &err), &err);
    assert_str_eq(u.groups.v[2], STR("system:bootstrappers:b"));
    put_bootstrap(w, USABLE ",\"auth-extra-groups\":\"c3lzdGVtOm1hc3RlcnM=\"", type);
    assert_int_equal(bootstrap(w, good, &u, &err), ERR_UNAUTHORIZED);
    /* 2027-01-15T08:00:01Z is a second from now, ...:00Z is over */
    put_bootstrap(w, USABLE ",\"expiration\":\"MjAyNy0wMS0xNVQwODowMDowMVo=\"", type);
    assert_ok(bootstrap(w, good, &u, &err), &err);
    assert_true(u.expires_ns == fixture_now + SEC);
    put_bootstrap(w, USABLE ",\"expiration\":\"MjAyNy0wMS0xNVQwODowMDowMFo=\"", type);
    assert_int_equal(bootstrap(w, good, &u, &err), ERR_UNAUTHORIZED);
    put_bootstrap(w, USABLE ",\"expiration\":\"bmV2ZXI=\"", type);
    assert_int_equal(bootstrap(w, good, &u, &err), ERR_UNAUTHORIZED);
    /* it is for the API, and no other audience's */
    put_bootstrap(w, USABLE, type);
    struct str other = STR("https://elsewhere");
    struct str_list audiences = {&other, 1};
    assert_int_equal(authn_bearer(&w->x, str_of(good), &audiences, fixture_now, &w->a, &u, &err),
                     ERR_UNAUTHORIZED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_certificate, setup, teardown),
        cmocka_unit_test_setup_teardown(test_token_in_headers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_own_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_account_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bound_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_bonds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bootstrap_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_published, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_key_file, setup, teardown),
    };
    return cmocka_run_group_tests_name("authn", tests, NULL, NULL);
}
