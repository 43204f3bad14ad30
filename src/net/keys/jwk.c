/* jwk: public keys of JSON Web Keys. See jwk.h. */
#include "net/keys/jwk.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include "base/mem.h"

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 8192, EXPONENT_BYTES = 4, POINT_MAX = 1 + 2 * 66 };

struct jwk {
    EVP_PKEY *key;
    size_t coordinate; /* bytes of one number of an EC signature; 0: RSA */
};

struct curve {
    const char *name, *group;
    size_t bytes;
};
static const struct curve curves[] = {
    {"P-256", "prime256v1", 32}, {"P-384", "secp384r1", 48}, {"P-521", "secp521r1", 66}};

/* What an algorithm needs: hash, padding (0: EC), and for EC the curve by the size of its numbers. */
struct alg {
    const char *name, *hash;
    int padding;
    size_t coordinate;
};
static const struct alg algs[] = {{"RS256", "SHA256", RSA_PKCS1_PADDING, 0},
                                  {"RS384", "SHA384", RSA_PKCS1_PADDING, 0},
                                  {"RS512", "SHA512", RSA_PKCS1_PADDING, 0},
                                  {"PS256", "SHA256", RSA_PKCS1_PSS_PADDING, 0},
                                  {"PS384", "SHA384", RSA_PKCS1_PSS_PADDING, 0},
                                  {"PS512", "SHA512", RSA_PKCS1_PSS_PADDING, 0},
                                  {"ES256", "SHA256", 0, 32},
                                  {"ES384", "SHA384", 0, 48},
                                  {"ES512", "SHA512", 0, 66}};

static const struct alg *alg_of(struct str name) {
    for (size_t i = 0; i < sizeof(algs) / sizeof(algs[0]); i++) {
        if (str_is(name, algs[i].name)) {
            return &algs[i];
        }
    }
    return NULL;
}

bool jwk_alg_known(struct str alg) {
    return alg_of(alg) != NULL;
}

/* ---- keys ---- */

static int from_params(const char *type, OSSL_PARAM_BLD *b, EVP_PKEY **ret) {
    OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(b);
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    EVP_PKEY *key = NULL;
    bool ok = params && ctx && EVP_PKEY_fromdata_init(ctx) == 1 &&
              EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) == 1;
    EVP_PKEY_CTX_free(ctx);
    OSSL_PARAM_free(params);
    *ret = key;
    return ok ? 0 : ERR_INVALID;
}

static int no_key(struct err *err, const char *what) {
    ERR_clear_error();
    return err_set(err, ERR_INVALID, "%s", what);
}

static BIGNUM *number(struct str s) {
    return BN_bin2bn((const unsigned char *)s.p, (int)s.n, NULL);
}

static int new_rsa(const struct jwk_parts *p, EVP_PKEY **ret, struct err *err) {
    if (p->n.n == 0 || p->n.n > RSA_BITS_MAX / 8 + 1 || p->e.n == 0 || p->e.n > EXPONENT_BYTES) {
        return err_set(err, ERR_UNSUPPORTED,
                       "an RSA key of %d to %d bits with a short exponent is expected",
                       RSA_BITS_MIN, RSA_BITS_MAX);
    }
    BIGNUM *n = number(p->n), *e = number(p->e);
    OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
    int r = 0;
    if (n == NULL || e == NULL || b == NULL) {
        r = err_set(err, ERR_NOMEM, "out of memory");
    } else if (BN_num_bits(n) < RSA_BITS_MIN || BN_num_bits(n) > RSA_BITS_MAX || !BN_is_odd(n)) {
        r = err_set(err, ERR_UNSUPPORTED, "an RSA key of %d to %d bits is expected, not %d",
                    RSA_BITS_MIN, RSA_BITS_MAX, BN_num_bits(n));
    } else if (!BN_is_odd(e) || BN_is_one(e)) {
        r = err_set(err, ERR_INVALID, "the RSA key's exponent is wrong");
    } else if (OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, n) != 1 ||
               OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, e) != 1 ||
               from_params("RSA", b, ret) != 0) {
        r = no_key(err, "no RSA key");
    }
    OSSL_PARAM_BLD_free(b);
    BN_free(n);
    BN_free(e);
    return r;
}

static const struct curve *curve_of(struct str name) {
    for (size_t i = 0; i < sizeof(curves) / sizeof(curves[0]); i++) {
        if (str_is(name, curves[i].name)) {
            return &curves[i];
        }
    }
    return NULL;
}

static int new_ec(const struct jwk_parts *p, EVP_PKEY **ret, size_t *ret_bytes, struct err *err) {
    const struct curve *c = curve_of(p->crv);
    unsigned char point[POINT_MAX];
    if (c == NULL) {
        return err_set(err, ERR_UNSUPPORTED, "crv \"%.*s\": expected P-256, P-384 or P-521",
                       STR_ARG(str_head(p->crv, 32)));
    }
    if (p->x.n != c->bytes || p->y.n != c->bytes) { /* RFC 7518, 6.2.1.2: always the full size */
        return err_set(err, ERR_INVALID, "x and y of a %s key have %zu bytes", c->name, c->bytes);
    }
    point[0] = 4; /* SEC 1, 2.3.3: both coordinates follow */
    memcpy(point + 1, p->x.p, c->bytes);
    memcpy(point + 1 + c->bytes, p->y.p, c->bytes);
    OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
    int r = b ? 0 : err_set(err, ERR_NOMEM, "out of memory");
    if (r == 0 &&
        (OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, c->group, 0) != 1 ||
         OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point, 1 + 2 * c->bytes) !=
             1 ||
         from_params("EC", b, ret) != 0)) {
        r = no_key(err, "no point of the curve");
    }
    OSSL_PARAM_BLD_free(b);
    *ret_bytes = c->bytes;
    return r;
}

int jwk_new(const struct jwk_parts *p, struct jwk **ret, struct err *err) {
    struct jwk *k = mem_zalloc(sizeof(*k));
    int r;
    if (k == NULL) {
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    if (str_is(p->kty, "RSA")) {
        r = new_rsa(p, &k->key, err);
    } else if (str_is(p->kty, "EC")) {
        r = new_ec(p, &k->key, &k->coordinate, err);
    } else {
        r = err_set(err, ERR_UNSUPPORTED, "kty \"%.*s\": expected RSA or EC",
                    STR_ARG(str_head(p->kty, 32)));
    }
    if (r != 0) {
        jwk_free(k);
        return r;
    }
    *ret = k;
    return 0;
}

void jwk_free(struct jwk *k) {
    if (k) {
        EVP_PKEY_free(k->key);
        mem_free(k);
    }
}

/* ---- signatures ---- */

/* r || s as DER, which OpenSSL wants; to be freed by OPENSSL_free. Negative: out of memory. */
static int to_der(struct str signature, unsigned char **ret) {
    const unsigned char *p = (const unsigned char *)signature.p;
    int half = (int)(signature.n / 2), n = -1;
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(p, half, NULL), *s = BN_bin2bn(p + half, half, NULL);
    if (sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
        n = i2d_ECDSA_SIG(sig, ret);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(sig);
    return n;
}

static bool begin(EVP_MD_CTX *ctx, const struct jwk *k, const struct alg *alg) {
    EVP_PKEY_CTX *key = NULL;
    if (EVP_DigestVerifyInit_ex(ctx, &key, alg->hash, NULL, NULL, k->key, NULL) != 1) {
        return false;
    }
    if (alg->padding == 0) {
        return true;
    }
    /* RFC 7518, 3.5: the salt is as long as the hash */
    return EVP_PKEY_CTX_set_rsa_padding(key, alg->padding) == 1 &&
           (alg->padding != RSA_PKCS1_PSS_PADDING ||
            EVP_PKEY_CTX_set_rsa_pss_saltlen(key, RSA_PSS_SALTLEN_DIGEST) == 1);
}

int jwk_verify(const struct jwk *k, struct str alg, struct str data, struct str signature,
               struct err *err) {
    const struct alg *how = alg_of(alg);
    unsigned char *der = NULL;
    if (how == NULL || how->coordinate != k->coordinate) {
        return err_set(err, ERR_UNAUTHORIZED, "the algorithm \"%.*s\" is not one of this key",
                       STR_ARG(str_head(alg, 32)));
    }
    if (k->coordinate && signature.n != 2 * k->coordinate) {
        return err_set(err, ERR_UNAUTHORIZED, "the signature has the wrong length");
    }
    int n = k->coordinate ? to_der(signature, &der) : 0;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    if (ctx == NULL || n < 0) {
        EVP_MD_CTX_free(ctx);
        return err_set(err, ERR_NOMEM, "out of memory");
    }
    const unsigned char *sig = der ? der : (const unsigned char *)signature.p;
    bool ok = begin(ctx, k, how) && EVP_DigestVerify(ctx, sig, der ? (size_t)n : signature.n,
                                                     (const unsigned char *)data.p, data.n) == 1;
    ERR_clear_error();
    OPENSSL_free(der);
    EVP_MD_CTX_free(ctx);
    return ok ? 0 : err_set(err, ERR_UNAUTHORIZED, "the signature is wrong");
}
