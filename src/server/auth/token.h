/*
 * token (server): ServiceAccount tokens, JWTs signed with ES256 by the server's own key.
 *
 * Minting and verifying are pure but for the key file, which net's functions read. Whether the account and the bound
 * object still exist is authn's question. The public half is published as a JWKS with the discovery document of
 * OpenID Connect.
 */
#ifndef BERTH_SERVER_TOKEN_H
#define BERTH_SERVER_TOKEN_H

#include "api/tables/field.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
    TOKEN_KID_BYTES = 43,         /* base64url of a SHA-256 */
    TOKEN_SECONDS_MIN = 600,      /* [k8s] */
    TOKEN_SECONDS_DEFAULT = 3600, /* [k8s] */
    TOKEN_SECONDS_MAX = 365 * 86400,
};

struct tls_key;
struct token_seen; /* tokens whose signature was found good */

struct token_key {
    struct tls_key *key;
    unsigned char x[32], y[32];
    char kid[TOKEN_KID_BYTES + 1];
    struct token_seen *seen; /* checking a signature takes time: a client's next request need not */
};

/* Reads the public point out of the private key's PEM file. */
int token_key_init(struct token_key *k, const char *file, struct err *err);
void token_key_release(struct token_key *k);

struct token_claims {
    struct str issuer, subject, jti;
    struct str_list audiences;
    int64_t issued, expires, not_before; /* seconds since 1970 */
    struct str ns, account, account_uid;
    /* The bound object, or empty: a Pod (then the node is where it runs, if it does), a Secret, or a Node */
    struct str pod, pod_uid, secret, secret_uid, node, node_uid;
};

int token_mint(const struct token_key *k, const struct token_claims *c, struct buf *out,
               struct err *err);
/* Signature, form, issuer, one of the audiences, times. ERR_UNAUTHORIZED with a reason that does not go to clients;
 * ERR_NOT_FOUND: not a token of this issuer at all (not a JWT, another issuer). */
int token_verify(const struct token_key *k, struct str text, struct str issuer,
                 const struct str_list *audiences, int64_t now_ns, struct arena *a,
                 struct token_claims *ret, struct err *err);

void token_write_jwks(const struct token_key *k, struct buf *out);
void token_write_discovery(struct str issuer, struct buf *out);

#endif
