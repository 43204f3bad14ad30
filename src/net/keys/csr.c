/* csr: certificate signing requests. See csr.h. */
#include "net/keys/csr.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

#include "base/str.h"

enum {
    RSA_BITS_MIN = 2048,
    RSA_BITS_MAX = 8192,
    EC_BITS_MIN = 224,
    BACKDATE = 300,
    SERIAL_BITS = 127
};

/* A request may say that it is encrypted. Without this OpenSSL asks for its password where the server was started, and
 * everybody waits. */
static int no_password(char *to, int size, int writes, void *ctx) {
    return -1;
}

/* NULL: not one, or its key or signature is not taken. */
static X509_REQ *request_of(struct str pem) {
    BIO *bio = pem.n <= CSR_BYTES_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    X509_REQ *req = bio ? PEM_read_bio_X509_REQ(bio, NULL, no_password, NULL) : NULL;
    EVP_PKEY *key = req ? X509_REQ_get0_pubkey(req) : NULL;
    int bits = key ? EVP_PKEY_get_bits(key) : 0;
    int type = key ? EVP_PKEY_get_base_id(key) : 0;
    bool good = type == EVP_PKEY_RSA  ? bits >= RSA_BITS_MIN && bits <= RSA_BITS_MAX
                : type == EVP_PKEY_EC ? bits >= EC_BITS_MIN
                                      : type == EVP_PKEY_ED25519;
    BIO_free(bio);
    if (!good || X509_REQ_verify(req, key) != 1) {
        X509_REQ_free(req);
        req = NULL;
    }
    ERR_clear_error();
    return req;
}

/* Appends the values of one attribute, separated by '\n'. */
static bool values_of(const X509_NAME *name, int nid, struct buf *out) {
    for (int i = -1; (i = X509_NAME_get_index_by_NID((X509_NAME *)(uintptr_t)name, nid, i)) >= 0;) {
        unsigned char *text = NULL;
        int n = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, i)));
        bool good = n >= 0;
        for (int k = 0; good && k < n; k++) {
            good = text[k] >= ' ' && text[k] != 0x7f;
        }
        if (good && out->n > 0) {
            buf_ch(out, '\n');
        }
        if (good) {
            buf_add(out, text, (size_t)n);
        }
        OPENSSL_free(text);
        if (!good) {
            return false;
        }
    }
    return buf_ok(out) == 0;
}

int csr_read(struct str pem, struct buf *ret_cn, struct buf *ret_orgs, bool *ret_names,
             struct err *err) {
    X509_REQ *req = request_of(pem);
    if (req == NULL) {
        return err_set(err, ERR_INVALID,
                       "expected a PEM certificate request, signed with its own RSA (2048 to 8192 "
                       "bits), ECDSA or Ed25519 key");
    }
    const X509_NAME *name = X509_REQ_get_subject_name(req);
    STACK_OF(X509_EXTENSION) *exts = X509_REQ_get_extensions(req);
    bool good =
        values_of(name, NID_commonName, ret_cn) && values_of(name, NID_organizationName, ret_orgs);
    *ret_names = exts && X509v3_get_ext_by_NID(exts, NID_subject_alt_name, -1) >= 0;
    sk_X509_EXTENSION_pop_free(exts, X509_EXTENSION_free);
    X509_REQ_free(req);
    ERR_clear_error();
    return good ? 0 : err_set(err, ERR_INVALID, "a subject that is malformed or too long");
}

static void *read_pem(const char *dir, const char *name, bool key) {
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "re");
    void *x = NULL;
    if (f != NULL) {
        x = key ? (void *)PEM_read_PrivateKey(f, NULL, NULL, NULL)
                : (void *)PEM_read_X509(f, NULL, NULL, NULL);
        fclose(f);
    }
    return x;
}

static bool add_ext(X509 *x, X509 *ca, int nid, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, ca, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = e && X509_add_ext(x, e, -1) == 1;
    X509_EXTENSION_free(e);
    return ok;
}

static bool set_serial(X509 *x) {
    BIGNUM *bn = BN_new();
    bool ok = bn && BN_rand(bn, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
              BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(x)) != NULL;
    BN_free(bn);
    return ok;
}

/* It does not outlive the authority. */
static bool set_times(X509 *x, const X509 *ca, int64_t seconds) {
    time_t now = time(NULL), until = now + (time_t)seconds;
    return ASN1_TIME_set(X509_getm_notBefore(x), now - BACKDATE) &&
           (X509_cmp_time(X509_get0_notAfter(ca), &until) > 0
                ? ASN1_TIME_set(X509_getm_notAfter(x), until) != NULL
                : X509_set1_notAfter(x, X509_get0_notAfter(ca)) == 1);
}

static bool make(X509 *x, X509_REQ *req, X509 *ca, EVP_PKEY *ca_key, int64_t seconds) {
    return X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) && set_times(x, ca, seconds) &&
           X509_set_subject_name(x, X509_REQ_get_subject_name(req)) == 1 &&
           X509_set_issuer_name(x, X509_get_subject_name(ca)) == 1 &&
           X509_set_pubkey(x, X509_REQ_get0_pubkey(req)) == 1 &&
           add_ext(x, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           add_ext(x, ca, NID_key_usage, "critical,digitalSignature") &&
           add_ext(x, ca, NID_ext_key_usage, "clientAuth") &&
           add_ext(x, ca, NID_authority_key_identifier, "keyid") &&
           X509_sign(x, ca_key, EVP_sha256()) > 0;
}

int csr_sign(struct str pem, const char *dir, int64_t seconds, struct buf *out, struct err *err) {
    X509_REQ *req = request_of(pem);
    X509 *ca = read_pem(dir, "ca.crt", false), *x = X509_new();
    EVP_PKEY *key = read_pem(dir, "ca.key", true);
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    int r = 0;
    if (req == NULL) {
        r = err_set(err, ERR_INVALID, "not a certificate request");
    } else if (ca == NULL || key == NULL) {
        r = err_set(err, ERR_IO, "%s: the authority cannot be read", dir);
    } else if (x == NULL || bio == NULL || !make(x, req, ca, key, seconds) ||
               PEM_write_bio_X509(bio, x) != 1) {
        r = err_set(err, ERR_INTERNAL, "the certificate cannot be made");
    } else {
        long n = BIO_get_mem_data(bio, &text);
        buf_add(out, text, (size_t)n);
        r = buf_ok(out) ? err_set(err, ERR_NOMEM, "out of memory") : 0;
    }
    BIO_free(bio);
    X509_REQ_free(req);
    X509_free(ca);
    X509_free(x);
    EVP_PKEY_free(key);
    ERR_clear_error();
    return r;
}
