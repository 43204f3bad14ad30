/*
 * tls: certificates and contexts over OpenSSL 3. TLS 1.2 and 1.3, ECDHE with AEAD, no tickets, no renegotiation.
 *
 * The self-made authority is ECDSA P-256: a CA in the data folder, a server certificate for the addresses served, and
 * client certificates (CN = user, O = groups). Key files are written 0600 with O_EXCL; existing ones are used.
 */
#ifndef BERTH_NET_TLS_H
#define BERTH_NET_TLS_H

#include "base/buf.h"
#include "base/err.h"

struct tls_server;

/* PEM files. client_ca may be NULL (no client certificates); certificates are asked for, not required. */
struct tls_server *tls_server_new(const char *cert_file, const char *key_file,
                                  const char *client_ca_file, struct err *err);
int tls_server_reload(struct tls_server *t, struct err *err);
/* From PEM bytes, without client certificates; set_pem replaces them for connections to come, and on failure keeps
 * what was there. */
struct tls_server *tls_server_new_pem(struct str cert, struct str key, struct err *err);
int tls_server_set_pem(struct tls_server *t, struct str cert, struct str key, struct err *err);
void tls_server_free(struct tls_server *t);

struct tls_name {
    struct str cn;
    const struct str *orgs;
    size_t n_orgs;
    const struct str *alt; /* DNS names and IP addresses, for servers */
    size_t n_alt;
    bool server, client;
};
/* Makes dir/ca.crt and dir/ca.key unless they exist and are valid for another 30 days. CN is common_name + " CA". */
int tls_make_ca(const char *dir, const char *common_name, struct err *err);
/* Signs dir/NAME.crt and dir/NAME.key with dir's CA; renewed when missing, near its end or for other names. */
int tls_make_cert(const char *dir, const char *name, const struct tls_name *n, int days,
                  struct err *err);
/* The same in memory, as PEM appended to cert and key, with times in seconds since 1970. The certificate is followed by
 * its authority's. */
int tls_pem_ca(const char *common_name, int64_t from_s, int64_t until_s, struct buf *cert,
               struct buf *key, struct err *err);
int tls_pem_cert(struct str ca_cert, struct str ca_key, const struct tls_name *n, int64_t from_s,
                 int64_t until_s, struct buf *cert, struct buf *key, struct err *err);
/* Of the first certificate in the text. */
int tls_pem_times(struct str cert, int64_t *ret_from_s, int64_t *ret_until_s, struct err *err);
bool tls_pem_fits(struct str cert, struct str key);
bool tls_pem_signed_by(struct str cert, struct str ca);
bool tls_pem_has_name(struct str cert, struct str name); /* a DNS name or an address */
/* ECDSA P-256 over SHA-256 with the key of a PEM file, which is read once, as JWS wants it (64 bytes r||s), and its
 * check; for tokens. */
struct tls_key;
int tls_key_read(const char *file, struct tls_key **ret, struct err *err);
void tls_key_free(struct tls_key *k); /* NULL is a no-op */
int tls_sign_es256(struct tls_key *k, struct str data, unsigned char sig[64], struct err *err);
int tls_verify_es256(struct tls_key *k, struct str data, const unsigned char sig[64],
                     struct err *err);
void tls_sha256(struct str data, unsigned char out[32]);
/* The same in lower-case hexadecimal, and a NUL. */
void tls_sha256_text(struct str data, char out[65]);
void tls_hmac_sha256(struct str key, struct str data, unsigned char out[32]);
int tls_random(void *p, size_t n, struct err *err);

#endif
