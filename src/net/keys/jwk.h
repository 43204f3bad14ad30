/*
 * jwk: public keys as JSON Web Keys (RFC 7517, 7518), and verification of signatures with them, by OpenSSL 3.
 *
 * RSA of 2048 to 8192 bits with an exponent of at most 32 bits, and the curves P-256, P-384 and P-521. The algorithm of
 * a signature must be one of RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 and match the key. "none"
 * and HMAC are not implemented, so no public key can be mistaken for a secret.
 */
#ifndef BERTH_NET_JWK_H
#define BERTH_NET_JWK_H

#include "base/err.h"
#include "base/str.h"

struct jwk;

/* The members of a key, decoded from base64url to bytes where they are numbers. */
struct jwk_parts {
    struct str kty, crv; /* "RSA"; "EC" with "P-256", ... */
    struct str n, e;     /* RSA */
    struct str x, y;     /* EC */
};

/* ERR_UNSUPPORTED: the type, curve or size is not supported. ERR_INVALID: not a valid key. ERR_NOMEM. */
int jwk_new(const struct jwk_parts *p, struct jwk **ret, struct err *err);
void jwk_free(struct jwk *k); /* NULL is a no-op */

bool jwk_alg_known(struct str alg); /* one of the nine */

/* 0, or ERR_UNAUTHORIZED: another key, another algorithm, other data. ERR_NOMEM. */
int jwk_verify(const struct jwk *k, struct str alg, struct str data, struct str signature,
               struct err *err);

#endif
