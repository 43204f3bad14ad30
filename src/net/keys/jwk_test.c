/* Tests of jwk: signatures that OpenSSL made by other means are taken, and nothing that is a little different. */
#include "net/keys/jwk.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "base/arena.h"
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

static struct str bin(const char *base64url) {
    struct str s = base64url_decode(&a, str_of(base64url));
    assert_non_null(s.p);
    return s;
}

/* RFC 7515, A.2 and A.3. */
#define RSA_N                                                                                      \
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm"  \
    "4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-"                    \
    "bSf63kpaSHSXndS5z5re"                                                                         \
    "xMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxX" \
    "FvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
#define CLAIMS                                                                                     \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVl" \
    "fQ"
#define RSA_SIG                                                                                    \
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_"        \
    "O8W2Fp5j"                                                                                     \
    "ujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_"                                            \
    "nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L"                                                 \
    "07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-"                                                \
    "eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEU"                                             \
    "ipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
#define EC_X "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
#define EC_Y "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
#define EC_SIG                                                                                     \
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

static struct jwk *rsa_key(void) {
    struct jwk_parts p = {.kty = STR("RSA"), .n = bin(RSA_N), .e = bin("AQAB")};
    struct jwk *k = NULL;
    struct err err = {0};
    assert_ok(jwk_new(&p, &k, &err), &err);
    return k;
}

static struct jwk *ec_key(void) {
    struct jwk_parts p = {.kty = STR("EC"), .crv = STR("P-256"), .x = bin(EC_X), .y = bin(EC_Y)};
    struct jwk *k = NULL;
    struct err err = {0};
    assert_ok(jwk_new(&p, &k, &err), &err);
    return k;
}

static void test_vectors(void **state) {
    const struct str rs = STR("eyJhbGciOiJSUzI1NiJ9." CLAIMS);
    const struct str es = STR("eyJhbGciOiJFUzI1NiJ9." CLAIMS);
    struct jwk *rsa = rsa_key(), *ec = ec_key();
    struct err err = {0};
    assert_ok(jwk_verify(rsa, STR("RS256"), rs, bin(RSA_SIG), &err), &err);
    assert_ok(jwk_verify(ec, STR("ES256"), es, bin(EC_SIG), &err), &err);
    /* other data, another algorithm, the other key, a shorter and a longer signature */
    assert_int_equal(jwk_verify(rsa, STR("RS256"), es, bin(RSA_SIG), NULL), ERR_UNAUTHORIZED);
    assert_int_equal(jwk_verify(rsa, STR("RS384"), rs, bin(RSA_SIG), NULL), ERR_UNAUTHORIZED);
    assert_int_equal(jwk_verify(rsa, STR("PS256"), rs, bin(RSA_SIG), NULL), ERR_UNAUTHORIZED);
    assert_int_equal(jwk_verify(rsa, STR("ES256"), es, bin(EC_SIG), NULL), ERR_UNAUTHORIZED);
    assert_int_equal(jwk_verify(ec, STR("RS256"), rs, bin(RSA_SIG), NULL), ERR_UNAUTHORIZED);
    assert_int_equal(jwk_verify(ec, STR("ES256"), es, str_head(bin(EC_SIG), 63), NULL),
                     ERR_UNAUTHORIZED);
    assert_int_equal(jwk_verify(ec, STR("ES384"), es, bin(EC_SIG), NULL), ERR_UNAUTHORIZED);
    assert_int_equal(jwk_verify(ec, STR("ES256"), es, STR(""), NULL), ERR_UNAUTHORIZED);
    jwk_free(rsa);
    jwk_free(ec);
}

static void test_no_secrets(void **state) {
    static const char *const rows[] = {"none",  "None", "HS256", "HS384",
                                       "HS512", "",     "RS1",   "rs256"};
    struct jwk *k = rsa_key();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_false(jwk_alg_known(str_of(rows[i])));
        assert_int_equal(jwk_verify(k, str_of(rows[i]), STR("a.b"), STR(""), NULL),
                         ERR_UNAUTHORIZED);
    }
    jwk_free(k);
}

static struct str number_of(EVP_PKEY *k, const char *name, size_t bytes) {
    BIGNUM *bn = NULL;
    unsigned char *p = arena_alloc(&a, 1024);
    assert_int_equal(EVP_PKEY_get_bn_param(k, name, &bn), 1);
    int n = bytes ? BN_bn2binpad(bn, p, (int)bytes) : BN_bn2bin(bn, p);
    BN_free(bn);
    return str_from((char *)p, (size_t)n);
}

static struct str sign(EVP_PKEY *k, const char *hash, bool pss, struct str data) {
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    EVP_PKEY_CTX *key = NULL;
    size_t n = 1024;
    unsigned char *sig = arena_alloc(&a, n);
    assert_int_equal(EVP_DigestSignInit_ex(c, &key, hash, NULL, NULL, k, NULL), 1);
    if (pss) {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(key, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(key, RSA_PSS_SALTLEN_DIGEST), 1);
    }
    assert_int_equal(EVP_DigestSign(c, sig, &n, (const unsigned char *)data.p, data.n), 1);
    EVP_MD_CTX_free(c);
    return str_from((char *)sig, n);
}

static struct str raw(struct str der, size_t bytes) {
    const unsigned char *p = (const unsigned char *)der.p;
    ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &p, (long)der.n);
    unsigned char *out = arena_alloc(&a, 2 * bytes);
    assert_non_null(s);
    BN_bn2binpad(ECDSA_SIG_get0_r(s), out, (int)bytes);
    BN_bn2binpad(ECDSA_SIG_get0_s(s), out + bytes, (int)bytes);
    ECDSA_SIG_free(s);
    return str_from((char *)out, 2 * bytes);
}

static void test_all_algorithms(void **state) {
    static const struct {
        const char *alg, *hash, *crv, *group;
        size_t bytes;
    } rows[] = {
        {"RS384", "SHA384", NULL, NULL, 0},        {"RS512", "SHA512", NULL, NULL, 0},
        {"PS256", "SHA256", NULL, NULL, 0},        {"PS384", "SHA384", NULL, NULL, 0},
        {"PS512", "SHA512", NULL, NULL, 0},        {"ES256", "SHA256", "P-256", "P-256", 32},
        {"ES384", "SHA384", "P-384", "P-384", 48}, {"ES512", "SHA512", "P-521", "P-521", 66}};
    EVP_PKEY *rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        EVP_PKEY *k = rows[i].crv ? EVP_PKEY_Q_keygen(NULL, NULL, "EC", rows[i].group) : rsa;
        struct jwk_parts p = {.kty = STR("RSA")};
        struct jwk *key = NULL;
        struct err err = {0};
        struct str sig = sign(k, rows[i].hash, rows[i].alg[0] == 'P', STR("data"));
        if (rows[i].crv) {
            p = (struct jwk_parts){.kty = STR("EC"),
                                   .crv = str_of(rows[i].crv),
                                   .x = number_of(k, OSSL_PKEY_PARAM_EC_PUB_X, rows[i].bytes),
                                   .y = number_of(k, OSSL_PKEY_PARAM_EC_PUB_Y, rows[i].bytes)};
            sig = raw(sig, rows[i].bytes);
        } else {
            p.n = number_of(k, OSSL_PKEY_PARAM_RSA_N, 0);
            p.e = number_of(k, OSSL_PKEY_PARAM_RSA_E, 0);
        }
        assert_ok(jwk_new(&p, &key, &err), &err);
        assert_ok(jwk_verify(key, str_of(rows[i].alg), STR("data"), sig, &err), &err);
        assert_int_equal(jwk_verify(key, str_of(rows[i].alg), STR("Data"), sig, NULL),
                         ERR_UNAUTHORIZED);
        jwk_free(key);
        if (rows[i].crv) {
            EVP_PKEY_free(k);
        }
    }
    EVP_PKEY_free(rsa);
}

static void test_bad_keys(void **state) {
    struct jwk *k = NULL;
    struct str n = bin(RSA_N), x = bin(EC_X), y = bin(EC_Y);
    char even[256];
    memcpy(even, n.p, 256);
    even[255] &= (char)0xfe;
    const struct jwk_parts rows[] = {
        {.kty = STR("oct")},
        {.kty = STR("RSA")},
        {.kty = STR("RSA"), .n = str_head(n, 128), .e = STR("\3")},
        {.kty = STR("RSA"), .n = str_from(even, 256), .e = STR("\3")},
        {.kty = STR("RSA"), .n = n, .e = STR("\1")},
        {.kty = STR("RSA"), .n = n, .e = STR("\1\1\1\1\1")},
        {.kty = STR("EC"), .crv = STR("P-256"), .x = x, .y = x}, /* not on the curve */
        {.kty = STR("EC"), .crv = STR("P-256"), .x = str_head(x, 31), .y = y},
        {.kty = STR("EC"), .crv = STR("P-384"), .x = x, .y = y},
        {.kty = STR("EC"), .crv = STR("secp256k1"), .x = x, .y = y},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_not_equal(jwk_new(&rows[i], &k, NULL), 0);
        assert_null(k);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_vectors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_secrets, setup, teardown),
        cmocka_unit_test_setup_teardown(test_all_algorithms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_keys, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
