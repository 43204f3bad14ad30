/*
 * tls: server contexts, hashes, signatures, randomness over OpenSSL. See tls.h. Certificates are made in tls_cert.c.
 */
#include "net/tls.h"

#include <assert.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <pthread.h>

#include "base/mem.h"
#include "net/tls_private.h"

struct tls_server {
    SSL_CTX *ctx;
    char *cert_file, *key_file, *client_ca_file;
};

int tls_err(struct err *err, int code, const char *fmt, ...) {
    char reason[160];
    unsigned long e = ERR_peek_last_error();
    va_list ap;
    va_start(ap, fmt);
    err_setv(err, code, fmt, ap);
    va_end(ap);
    if (e && err) {
        struct err what = *err;
        ERR_error_string_n(e, reason, sizeof(reason));
        err_set(err, code, "%s: %s", what.text, reason);
    }
    ERR_clear_error();
    return code;
}

/* HTTP/2, else HTTP/1.1; a client that asks for neither is refused. */
static int select_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                       const unsigned char *in, unsigned in_n, void *arg) {
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    unsigned char *got = NULL;
    int r = SSL_select_next_proto(&got, out_n, ours, sizeof(ours) - 1, in, in_n);
    *out = got;
    return r == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static int set_policy(SSL_CTX *ctx) {
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_alpn_select_cb(ctx, select_alpn, NULL);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(ctx, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
           SSL_CTX_set1_groups_list(ctx, "X25519:P-256:P-384") == 1;
}

static int set_client_ca(SSL_CTX *ctx, const char *file, struct err *err) {
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(file);
    if (names == NULL || SSL_CTX_load_verify_file(ctx, file) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return tls_err(err, ERR_INVALID, "%s: cannot read client authorities", file);
    }
    SSL_CTX_set_client_CA_list(ctx, names);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_CLIENT_ONCE, NULL);
    return 0;
}

static SSL_CTX *make_ctx(const char *cert, const char *key, const char *client_ca,
                         struct err *err) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    if (ctx == NULL || !set_policy(ctx)) {
        tls_err(err, ERR_NOMEM, "making a TLS context");
    } else if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1) {
        tls_err(err, ERR_INVALID, "%s: cannot read the certificate", cert);
    } else if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1) {
        tls_err(err, ERR_INVALID, "%s: cannot read the key", key);
    } else if (SSL_CTX_check_private_key(ctx) != 1) {
        tls_err(err, ERR_INVALID, "%s is not the key of %s", key, cert);
    } else if (client_ca == NULL || set_client_ca(ctx, client_ca, err) == 0) {
        return ctx;
    }
    SSL_CTX_free(ctx);
    return NULL;
}

struct tls_server *tls_server_new(const char *cert_file, const char *key_file,
                                  const char *client_ca_file, struct err *err) {
    struct tls_server *t = mem_zalloc(sizeof(*t));
    if (t == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    t->cert_file = mem_cstr(str_of(cert_file));
    t->key_file = mem_cstr(str_of(key_file));
    t->client_ca_file = client_ca_file ? mem_cstr(str_of(client_ca_file)) : NULL;
    if (t->cert_file == NULL || t->key_file == NULL ||
        (client_ca_file && t->client_ca_file == NULL)) {
        err_set(err, ERR_NOMEM, "no memory");
        tls_server_free(t);
        return NULL;
    }
    if (tls_server_reload(t, err) != 0) {
        tls_server_free(t);
        return NULL;
    }
    return t;
}

int tls_server_reload(struct tls_server *t, struct err *err) {
    struct err e = {0};
    SSL_CTX *ctx = make_ctx(t->cert_file, t->key_file, t->client_ca_file, &e);
    if (ctx == NULL) {
        return err_set(err, e.code, "%s", e.text);
    }
    SSL_CTX_free(t->ctx); /* connections keep theirs alive */
    t->ctx = ctx;
    return 0;
}

/* The certificate and the chain after it. */
static bool use_chain(SSL_CTX *ctx, struct str pem) {
    BIO *b = pem.n > 0 && pem.n < INT32_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    X509 *x = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;
    bool ok = x && SSL_CTX_use_certificate(ctx, x) == 1;
    X509_free(x);
    while (ok && (x = PEM_read_bio_X509(b, NULL, NULL, NULL)) != NULL) {
        ok = SSL_CTX_add0_chain_cert(ctx, x) == 1;
        if (!ok) {
            X509_free(x);
        }
    }
    if (ok) {
        ERR_clear_error(); /* the end of the text is no error */
    }
    BIO_free(b);
    return ok;
}

static bool use_key(SSL_CTX *ctx, struct str pem) {
    BIO *b = pem.n > 0 && pem.n < INT32_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    EVP_PKEY *k = b ? PEM_read_bio_PrivateKey(b, NULL, NULL, NULL) : NULL;
    bool ok = k && SSL_CTX_use_PrivateKey(ctx, k) == 1;
    EVP_PKEY_free(k);
    BIO_free(b);
    return ok;
}

int tls_server_set_pem(struct tls_server *t, struct str cert, struct str key, struct err *err) {
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    int r = 0;
    if (ctx == NULL || !set_policy(ctx)) {
        r = tls_err(err, ERR_NOMEM, "making a TLS context");
    } else if (!use_chain(ctx, cert)) {
        r = tls_err(err, ERR_INVALID, "cannot read the certificate");
    } else if (!use_key(ctx, key)) {
        r = tls_err(err, ERR_INVALID, "cannot read the key");
    } else if (SSL_CTX_check_private_key(ctx) != 1) {
        r = tls_err(err, ERR_INVALID, "the key is not the certificate's");
    }
    if (r != 0) {
        SSL_CTX_free(ctx);
        return r;
    }
    SSL_CTX_free(t->ctx);
    t->ctx = ctx;
    return 0;
}

struct tls_server *tls_server_new_pem(struct str cert, struct str key, struct err *err) {
    struct tls_server *t = mem_zalloc(sizeof(*t));
    if (t == NULL) {
        err_set(err, ERR_NOMEM, "no memory");
        return NULL;
    }
    if (tls_server_set_pem(t, cert, key, err) != 0) {
        tls_server_free(t);
        return NULL;
    }
    return t;
}

void tls_server_free(struct tls_server *t) {
    if (t) {
        SSL_CTX_free(t->ctx);
        mem_free(t->cert_file);
        mem_free(t->key_file);
        mem_free(t->client_ca_file);
        mem_free(t);
    }
}

SSL *tls_server_ssl(struct tls_server *t) {
    SSL *ssl = SSL_new(t->ctx);
    if (ssl) {
        SSL_set_accept_state(ssl);
    }
    return ssl;
}

/* Appends one attribute value as UTF-8; false when it has control characters. */
static bool add_value(struct buf *out, const X509_NAME_ENTRY *entry) {
    unsigned char *utf8 = NULL;
    int n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
    bool ok = n >= 0;
    for (int i = 0; i < n; i++) {
        ok = ok && utf8[i] >= 0x20 && utf8[i] != 0x7f;
    }
    if (ok) {
        buf_add(out, utf8, (size_t)n);
    }
    OPENSSL_free(utf8);
    return ok;
}

bool tls_peer_subject(SSL *ssl, struct buf *ret_cn, struct buf *ret_org) {
    X509 *x = SSL_get0_peer_certificate(ssl);
    if (x == NULL || SSL_get_verify_result(ssl) != X509_V_OK) {
        return false;
    }
    const X509_NAME *name = X509_get_subject_name(x);
    bool found = false;
    for (int i = 0; i < X509_NAME_entry_count(name); i++) {
        const X509_NAME_ENTRY *e = X509_NAME_get_entry(name, i);
        int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(e));
        if (nid == NID_commonName) {
            buf_reset(ret_cn); /* the last CN counts, as in Go */
            if (!add_value(ret_cn, e)) {
                return false;
            }
            found = true;
        } else if (nid == NID_organizationName) {
            if (ret_org->n) {
                buf_ch(ret_org, '\n');
            }
            if (!add_value(ret_org, e)) {
                return false;
            }
        }
    }
    return found && buf_ok(ret_cn) == 0 && buf_ok(ret_org) == 0;
}

/* ---- signatures ---- */

static EVP_PKEY *read_key(const char *file, struct err *err) {
    FILE *f = fopen(file, "re");
    EVP_PKEY *key = f ? PEM_read_PrivateKey(f, NULL, NULL, NULL) : NULL;
    if (f == NULL) {
        err_set(err, ERR_IO, "%s: cannot open the key", file);
    } else {
        fclose(f);
    }
    if (f && (key == NULL || EVP_PKEY_get_base_id(key) != EVP_PKEY_EC ||
              EVP_PKEY_get_bits(key) != 256)) {
        tls_err(err, ERR_INVALID, "%s is not a P-256 key", file);
        EVP_PKEY_free(key);
        key = NULL;
    }
    return key;
}

/* r and s, 32 bytes each, out of the DER form. */
static bool der_to_raw(const unsigned char *der, size_t n, unsigned char sig[64]) {
    ECDSA_SIG *s = d2i_ECDSA_SIG(NULL, &der, (long)n);
    bool ok = s && BN_bn2binpad(ECDSA_SIG_get0_r(s), sig, 32) == 32 &&
              BN_bn2binpad(ECDSA_SIG_get0_s(s), sig + 32, 32) == 32;
    ECDSA_SIG_free(s);
    return ok;
}

struct tls_key {
    EVP_PKEY *key;
};

int tls_key_read(const char *file, struct tls_key **ret, struct err *err) {
    struct tls_key *k = mem_zalloc(sizeof(*k));
    if (k == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    k->key = read_key(file, err);
    if (k->key == NULL) {
        mem_free(k);
        return err ? err->code : ERR_INVALID;
    }
    *ret = k;
    return 0;
}

void tls_key_free(struct tls_key *k) {
    if (k) {
        EVP_PKEY_free(k->key);
        mem_free(k);
    }
}

int tls_sign_es256(struct tls_key *k, struct str data, unsigned char sig[64], struct err *err) {
    unsigned char der[128], raw[64];
    size_t n = sizeof(der);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    bool ok = md && EVP_DigestSignInit(md, NULL, EVP_sha256(), NULL, k->key) == 1 &&
              EVP_DigestSign(md, der, &n, (const unsigned char *)data.p, data.n) == 1 &&
              der_to_raw(der, n, raw);
    EVP_MD_CTX_free(md);
    if (!ok) {
        return tls_err(err, ERR_INTERNAL, "signing");
    }
    memcpy(sig, raw, sizeof(raw));
    return 0;
}

/* The DER form of r and s; NULL when out of memory. Free with OPENSSL_free. */
static unsigned char *raw_to_der(const unsigned char sig[64], int *ret_n) {
    ECDSA_SIG *s = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(sig, 32, NULL), *t = BN_bin2bn(sig + 32, 32, NULL);
    unsigned char *der = NULL;
    if (s && r && t && ECDSA_SIG_set0(s, r, t) == 1) {
        *ret_n = i2d_ECDSA_SIG(s, &der);
    } else {
        BN_free(r);
        BN_free(t);
    }
    ECDSA_SIG_free(s);
    return der;
}

int tls_verify_es256(struct tls_key *k, struct str data, const unsigned char sig[64],
                     struct err *err) {
    int n = 0;
    unsigned char *der = raw_to_der(sig, &n);
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    bool ok = der && md && EVP_DigestVerifyInit(md, NULL, EVP_sha256(), NULL, k->key) == 1 &&
              EVP_DigestVerify(md, der, (size_t)n, (const unsigned char *)data.p, data.n) == 1;
    EVP_MD_CTX_free(md);
    OPENSSL_free(der);
    ERR_clear_error();
    return ok ? 0 : err_set(err, ERR_UNAUTHORIZED, "the signature does not match");
}

static EVP_MD
    *sha256; /* looked up once: SHA256() does so each time, which costs more than a short text */
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;

static void sha256_fetch(void) {
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

void tls_sha256(struct str data, unsigned char out[32]) {
    (void)pthread_once(&sha256_once, sha256_fetch);
    if (sha256 == NULL || EVP_Digest(data.p, data.n, out, NULL, sha256, NULL) != 1) {
        SHA256((const unsigned char *)data.p, data.n, out);
    }
}

void tls_sha256_text(struct str data, char out[65]) {
    static const char digits[] = "0123456789abcdef";
    unsigned char h[32];
    tls_sha256(data, h);
    for (size_t i = 0; i < sizeof(h); i++) {
        out[2 * i] = digits[h[i] >> 4];
        out[2 * i + 1] = digits[h[i] & 15];
    }
    out[64] = 0;
}

void tls_hmac_sha256(struct str key, struct str data, unsigned char out[32]) {
    unsigned int n = 32;
    const unsigned char *p =
        HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)data.p, data.n, out, &n);
    assert(p != NULL && n == 32);
}

int tls_random(void *p, size_t n, struct err *err) {
    if (n > INT32_MAX || RAND_bytes(p, (int)n) != 1) {
        return tls_err(err, ERR_INTERNAL, "no random bytes");
    }
    return 0;
}
