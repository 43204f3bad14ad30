/*
 * tls_cert: our own authority: making, signing and renewing certificates. See tls.h.
 *
 * Files appear whole, and keys are 0600 from the first byte (base/file_store.h).
 * The key comes first, so that a certificate never stands without its key; a pair that does not fit is made anew.
 */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <time.h>

#include "base/file_store.h"
#include "base/mem.h"
#include "net/tls_private.h"

enum { CA_DAYS = 3650, RENEW_DAYS = 30, DAY = 86400, BACKDATE = 300, ALT_MAX = 4096 };

struct cert_pair {
    X509 *cert;
    EVP_PKEY *key;
};

static void pair_release(struct cert_pair *p) {
    X509_free(p->cert);
    EVP_PKEY_free(p->key);
    *p = (struct cert_pair){0};
}

/* ---- files ---- */

static int write_bio(const char *path, BIO *bio, mode_t mode, struct err *err) {
    char *p = NULL;
    long n = BIO_get_mem_data(bio, &p);

    return file_store_path(path, str_from(p, (size_t)n), mode, err);
}

static int write_pair(const char *cert_path, const char *key_path, const struct cert_pair *p,
                      X509 *issuer, struct err *err) {
    BIO *key = BIO_new(BIO_s_secmem()), *cert = BIO_new(BIO_s_mem());
    int r;
    if (key == NULL || cert == NULL ||
        PEM_write_bio_PKCS8PrivateKey(key, p->key, NULL, NULL, 0, NULL, NULL) != 1 ||
        PEM_write_bio_X509(cert, p->cert) != 1 ||
        (issuer && PEM_write_bio_X509(cert, issuer) != 1)) {
        r = tls_err(err, ERR_NOMEM, "%s: encoding", cert_path);
    } else {
        r = write_bio(key_path, key, 0600, err);
        r = r ? r : write_bio(cert_path, cert, 0644, err);
    }
    BIO_free(key);
    BIO_free(cert);
    return r;
}

/* False when either is missing or they do not fit together. */
static bool read_pair(const char *cert_path, const char *key_path, struct cert_pair *ret) {
    struct cert_pair p = {0};
    FILE *f = fopen(cert_path, "re");
    if (f) {
        p.cert = PEM_read_X509(f, NULL, NULL, NULL);
        fclose(f);
    }
    f = fopen(key_path, "re");
    if (f) {
        p.key = PEM_read_PrivateKey(f, NULL, NULL, NULL);
        fclose(f);
    }
    if (p.cert == NULL || p.key == NULL || X509_check_private_key(p.cert, p.key) != 1) {
        pair_release(&p);
        return false;
    }
    *ret = p;
    return true;
}

static char *path_of(const char *dir, const char *name, const char *suffix) {
    struct buf b;
    buf_init(&b, 4096);
    buf_f(&b, "%s/%s%s", dir, name, suffix);
    char *p = buf_ok(&b) == 0 ? mem_cstr(buf_view(&b)) : NULL;
    buf_release(&b);
    return p;
}

/* ---- certificates ---- */

static bool add_name(X509_NAME *name, const char *attribute, struct str v) {
    return X509_NAME_add_entry_by_txt(name, attribute, MBSTRING_UTF8, (const unsigned char *)v.p,
                                      (int)v.n, -1, 0) == 1;
}

static bool add_ext(X509 *x, X509 *issuer, int nid, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = e && X509_add_ext(x, e, -1) == 1;
    X509_EXTENSION_free(e);
    return ok;
}

static bool set_serial(X509 *x) {
    unsigned char bytes[16];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
        return false;
    }
    bytes[0] &= 0x7f;
    bytes[0] |= 0x40;
    BIGNUM *bn = BN_bin2bn(bytes, sizeof(bytes), NULL);
    bool ok = bn && BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(x)) != NULL;
    BN_free(bn);
    return ok;
}

/* A new key with an unsigned certificate for it; seconds since 1970. */
static bool begin_pair_at(struct cert_pair *p, int64_t from, int64_t until) {
    time_t a = (time_t)from, b = (time_t)until;
    p->key = EVP_EC_gen("P-256");
    p->cert = X509_new();
    return p->key && p->cert && X509_set_version(p->cert, X509_VERSION_3) == 1 &&
           set_serial(p->cert) && ASN1_TIME_set(X509_getm_notBefore(p->cert), a) &&
           ASN1_TIME_set(X509_getm_notAfter(p->cert), b) && X509_set_pubkey(p->cert, p->key) == 1;
}

static bool begin_pair(struct cert_pair *p, int days) {
    int64_t now = (int64_t)time(NULL);
    return begin_pair_at(p, now - BACKDATE, now + (int64_t)days * DAY);
}

/* Makes p's certificate, begun, that of an authority. */
static bool sign_ca(struct cert_pair *p, const char *common_name) {
    char name[64]; /* never the name of a certificate it signs: that one would look self-signed */
    snprintf(name, sizeof(name), "%.48s CA", common_name);
    return add_name(X509_get_subject_name(p->cert), "CN", str_of(name)) &&
           X509_set_issuer_name(p->cert, X509_get_subject_name(p->cert)) == 1 &&
           add_ext(p->cert, p->cert, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_ext(p->cert, p->cert, NID_key_usage, "critical,keyCertSign,cRLSign") &&
           add_ext(p->cert, p->cert, NID_subject_key_identifier, "hash") &&
           X509_sign(p->cert, p->key, EVP_sha256()) != 0;
}

static bool lasts(const X509 *x, int days) {
    int d = 0, s = 0;
    return X509_cmp_current_time(X509_get0_notBefore(x)) < 0 &&
           ASN1_TIME_diff(&d, &s, NULL, X509_get0_notAfter(x)) == 1 && d >= days;
}

int tls_make_ca(const char *dir, const char *common_name, struct err *err) {
    _cleanup_free_ char *cert = path_of(dir, "ca", ".crt");
    _cleanup_free_ char *key = path_of(dir, "ca", ".key");
    if (cert == NULL || key == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    struct cert_pair p = {0};
    if (read_pair(cert, key, &p)) {
        bool good = lasts(p.cert, RENEW_DAYS);
        pair_release(&p);
        if (good) {
            return 0;
        }
    }
    int r = 0;
    if (!begin_pair(&p, CA_DAYS) || !sign_ca(&p, common_name)) {
        r = tls_err(err, ERR_INTERNAL, "making an authority in %s", dir);
    }
    r = r ? r : write_pair(cert, key, &p, NULL, err);
    pair_release(&p);
    return r;
}

/* subjectAltName in OpenSSL's notation: "IP:127.0.0.1,DNS:localhost". False for characters that have no place there. */
static bool alt_text(const struct tls_name *n, struct buf *out) {
    for (size_t i = 0; i < n->n_alt; i++) {
        struct str a = n->alt[i];
        bool ip = true;
        for (size_t j = 0; j < a.n; j++) {
            unsigned char c = (unsigned char)a.p[j];
            bool digit = c >= '0' && c <= '9';
            if (!digit && c != '.' && c != ':' && c != '-' && c != '*' && c != '_' &&
                !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z')) {
                return false;
            }
            ip = ip && (digit || c == '.');
        }
        ip = ip || str_find(a, ':') >= 0;
        buf_f(out, "%s%s:%.*s", out->n ? "," : "", ip ? "IP" : "DNS", STR_ARG(a));
    }
    return buf_ok(out) == 0;
}

static bool fill(X509 *x, X509 *ca, const struct tls_name *n, const char *alt) {
    X509_NAME *name = X509_get_subject_name(x);
    for (size_t i = 0; i < n->n_orgs; i++) {
        if (!add_name(name, "O", n->orgs[i])) {
            return false;
        }
    }
    const char *usage = n->server && n->client ? "serverAuth,clientAuth"
                        : n->server            ? "serverAuth"
                                               : "clientAuth";
    return add_name(name, "CN", n->cn) && X509_set_issuer_name(x, X509_get_subject_name(ca)) == 1 &&
           add_ext(x, ca, NID_basic_constraints, "critical,CA:FALSE") &&
           add_ext(x, ca, NID_key_usage, "critical,digitalSignature") &&
           add_ext(x, ca, NID_ext_key_usage, usage) &&
           add_ext(x, ca, NID_authority_key_identifier, "keyid:always") &&
           (!*alt || add_ext(x, ca, NID_subject_alt_name, alt));
}

static bool same_ext(X509 *have, X509 *want, int nid) {
    int i = X509_get_ext_by_NID(have, nid, -1), j = X509_get_ext_by_NID(want, nid, -1);
    if (i < 0 || j < 0) {
        return i < 0 && j < 0;
    }
    return ASN1_STRING_cmp(X509_EXTENSION_get_data(X509_get_ext(have, i)),
                           X509_EXTENSION_get_data(X509_get_ext(want, j))) == 0;
}

/* Whether a certificate says the same as a fresh one would. */
static bool same_names(X509 *have, X509 *want) {
    return X509_NAME_cmp(X509_get_subject_name(have), X509_get_subject_name(want)) == 0 &&
           same_ext(have, want, NID_subject_alt_name) && same_ext(have, want, NID_ext_key_usage);
}

static bool still_good(const char *cert, const char *key, X509 *want, const struct cert_pair *ca,
                       int days) {
    struct cert_pair old = {0};
    if (!read_pair(cert, key, &old)) {
        return false;
    }
    int margin = days / 3 < RENEW_DAYS ? days / 3 : RENEW_DAYS;
    bool good = lasts(old.cert, margin) && same_names(old.cert, want) &&
                X509_verify(old.cert, ca->key) == 1;
    pair_release(&old);
    return good;
}

static int make_signed(const char *cert, const char *key, const struct cert_pair *ca,
                       const struct tls_name *n, const char *alt, int days, struct err *err) {
    struct cert_pair p = {0};
    int r = 0;
    if (!begin_pair(&p, days) || !fill(p.cert, ca->cert, n, alt)) {
        r = tls_err(err, ERR_INVALID, "%s: making the certificate", cert);
    } else if (!still_good(cert, key, p.cert, ca, days)) {
        r = X509_sign(p.cert, ca->key, EVP_sha256()) > 0
                ? write_pair(cert, key, &p, ca->cert, err)
                : tls_err(err, ERR_INTERNAL, "%s: signing the certificate", cert);
    }
    pair_release(&p);
    return r;
}

int tls_make_cert(const char *dir, const char *name, const struct tls_name *n, int days,
                  struct err *err) {
    _cleanup_free_ char *ca_cert = path_of(dir, "ca", ".crt");
    _cleanup_free_ char *ca_key = path_of(dir, "ca", ".key");
    _cleanup_free_ char *cert = path_of(dir, name, ".crt");
    _cleanup_free_ char *key = path_of(dir, name, ".key");
    if (ca_cert == NULL || ca_key == NULL || cert == NULL || key == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    struct cert_pair ca = {0};
    if (!read_pair(ca_cert, ca_key, &ca)) {
        return tls_err(err, ERR_NOT_FOUND, "no usable authority in %s", dir);
    }
    struct buf alt;
    buf_init(&alt, ALT_MAX);
    int r = alt_text(n, &alt) ? make_signed(cert, key, &ca, n, buf_cstr(&alt), days, err)
                              : err_set(err, ERR_INVALID, "%s: malformed server name", name);
    buf_release(&alt);
    pair_release(&ca);
    return r;
}

/* ---- in memory ---- */

static int encode_pair(const struct cert_pair *p, X509 *issuer, struct buf *cert, struct buf *key,
                       struct err *err) {
    BIO *k = BIO_new(BIO_s_secmem()), *c = BIO_new(BIO_s_mem());
    int r = 0;
    if (k == NULL || c == NULL ||
        PEM_write_bio_PKCS8PrivateKey(k, p->key, NULL, NULL, 0, NULL, NULL) != 1 ||
        PEM_write_bio_X509(c, p->cert) != 1 || (issuer && PEM_write_bio_X509(c, issuer) != 1)) {
        r = tls_err(err, ERR_NOMEM, "encoding a certificate");
    } else {
        char *bytes = NULL;
        long n = BIO_get_mem_data(c, &bytes);
        buf_add(cert, bytes, (size_t)n);
        n = BIO_get_mem_data(k, &bytes);
        buf_add(key, bytes, (size_t)n);
        r = buf_ok(cert) || buf_ok(key) ? err_set(err, ERR_NOMEM, "no memory") : 0;
    }
    BIO_free(k);
    BIO_free(c);
    return r;
}

static X509 *cert_of(struct str pem) {
    BIO *b = pem.n > 0 && pem.n < INT32_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    X509 *x = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;
    BIO_free(b);
    ERR_clear_error();
    return x;
}

static EVP_PKEY *key_of(struct str pem) {
    BIO *b = pem.n > 0 && pem.n < INT32_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    EVP_PKEY *k = b ? PEM_read_bio_PrivateKey(b, NULL, NULL, NULL) : NULL;
    BIO_free(b);
    ERR_clear_error();
    return k;
}

static struct cert_pair pair_of(struct str cert, struct str key) {
    return (struct cert_pair){cert_of(cert), key_of(key)};
}

int tls_pem_ca(const char *common_name, int64_t from_s, int64_t until_s, struct buf *cert,
               struct buf *key, struct err *err) {
    struct cert_pair p = {0};
    int r = begin_pair_at(&p, from_s, until_s) && sign_ca(&p, common_name)
                ? encode_pair(&p, NULL, cert, key, err)
                : tls_err(err, ERR_INTERNAL, "making an authority");
    pair_release(&p);
    return r;
}

int tls_pem_cert(struct str ca_cert, struct str ca_key, const struct tls_name *n, int64_t from_s,
                 int64_t until_s, struct buf *cert, struct buf *key, struct err *err) {
    struct cert_pair ca = pair_of(ca_cert, ca_key), p = {0};
    struct buf alt;
    int r = 0;
    buf_init(&alt, ALT_MAX);
    if (ca.cert == NULL || ca.key == NULL || X509_check_private_key(ca.cert, ca.key) != 1) {
        r = tls_err(err, ERR_INVALID, "not an authority and its key");
    } else if (!alt_text(n, &alt)) {
        r = err_set(err, ERR_INVALID, "malformed server name");
    } else if (!begin_pair_at(&p, from_s, until_s) || !fill(p.cert, ca.cert, n, buf_cstr(&alt)) ||
               X509_sign(p.cert, ca.key, EVP_sha256()) <= 0) {
        r = tls_err(err, ERR_INTERNAL, "signing a certificate");
    }
    r = r ? r : encode_pair(&p, ca.cert, cert, key, err);
    buf_release(&alt);
    pair_release(&ca);
    pair_release(&p);
    return r;
}

/* Seconds since 1970 of a certificate's time. */
static bool seconds_of(const ASN1_TIME *t, int64_t *ret) {
    int d = 0, s = 0;
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    bool ok = epoch && ASN1_TIME_diff(&d, &s, epoch, t) == 1;
    ASN1_TIME_free(epoch);
    *ret = ok ? (int64_t)d * DAY + s : 0;
    return ok;
}

int tls_pem_times(struct str cert, int64_t *ret_from_s, int64_t *ret_until_s, struct err *err) {
    X509 *x = cert_of(cert);
    int64_t from = 0, until = 0;
    bool ok =
        x && seconds_of(X509_get0_notBefore(x), &from) && seconds_of(X509_get0_notAfter(x), &until);
    X509_free(x);
    if (!ok) {
        return tls_err(err, ERR_INVALID, "not a certificate");
    }
    *ret_from_s = from;
    *ret_until_s = until;
    return 0;
}

bool tls_pem_fits(struct str cert, struct str key) {
    struct cert_pair p = pair_of(cert, key);
    bool ok = p.cert && p.key && X509_check_private_key(p.cert, p.key) == 1;
    pair_release(&p);
    ERR_clear_error();
    return ok;
}

bool tls_pem_signed_by(struct str cert, struct str ca) {
    X509 *x = cert_of(cert), *c = cert_of(ca);
    EVP_PKEY *key = c ? X509_get0_pubkey(c) : NULL;
    bool ok = x && key && X509_verify(x, key) == 1;
    X509_free(x);
    X509_free(c);
    ERR_clear_error();
    return ok;
}

bool tls_pem_has_name(struct str cert, struct str name) {
    X509 *x = cert_of(cert);
    char text[256];
    bool ok = x && str_copy(name, text, sizeof(text)) &&
              (X509_check_host(x, text, name.n, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) == 1 ||
               X509_check_ip_asc(x, text, 0) == 1);
    X509_free(x);
    ERR_clear_error();
    return ok;
}
