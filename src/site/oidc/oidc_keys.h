/*
 * oidc_keys: the public keys of an issuer, from its JWKS document (RFC 7517, 5).
 *
 * Keys that are not for signatures, of an unknown type, or malformed are skipped, because a document may have keys for
 * other purposes. A document without any usable key is an error.
 */
#ifndef BERTH_SITE_OIDC_KEYS_H
#define BERTH_SITE_OIDC_KEYS_H

#include "net/keys/jwk.h"

enum { OIDC_KEYS_MAX = 64, OIDC_KEYS_BYTES = 1 << 20, OIDC_KID_MAX = 256 };

struct oidc_key {
    struct jwk *key;
    char *kid;   /* "" when it has none */
    char alg[8]; /* the only one it is for; "" when any */
};

struct oidc_keys {
    struct oidc_key v[OIDC_KEYS_MAX];
    size_t n;
};

/* ERR_SYNTAX, ERR_INVALID (no usable key), ERR_TOO_LARGE, ERR_NOMEM. *ret needs no release then. */
int oidc_keys_read(struct str text, struct oidc_keys *ret, struct err *err);
void oidc_keys_release(struct oidc_keys *k);

/* Checks a signature with the keys that may have made it: those called kid, or, where the token names none, all.
 * ERR_UNAUTHORIZED: it is wrong. ERR_NOT_FOUND: no key is called so. */
int oidc_keys_verify(const struct oidc_keys *k, struct str kid, struct str alg, struct str data,
                     struct str signature, struct err *err);

#endif
