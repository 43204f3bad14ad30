/*
 * authn (server): authentication: the user behind a certificate or token. Certificates, bearer tokens, bootstrap
 * tokens, ServiceAccount tokens, those of OpenID Connect issuers, and nobody.
 *
 * A bearer token is "berth_" and 256 random bits. Stored is a Secret of type berth.dev/token in kube-system, named by
 * the token's SHA-256, that holds the hash, the user, the groups and the end: reading it gives no token, deleting it
 * revokes. A ServiceAccount token counts only while the account (and the pod it is bound to) exists with the same
 * uid. Everybody who is known is also in group system:authenticated.
 */
#ifndef BERTH_SERVER_AUTHN_H
#define BERTH_SERVER_AUTHN_H

#include "mirror/mirror.h"
#include "server/auth/token.h"
#include "server/kit/request.h"

#define AUTHN_TOKEN_NAMESPACE STR("kube-system")
#define AUTHN_TOKEN_TYPE STR("berth.dev/token")

struct oidc;

struct authn {
    const struct mirror *mirror;
    const struct token_key *key; /* NULL: no ServiceAccount tokens */
    struct oidc *oidc;           /* NULL: no issuers of others */
    struct str issuer;
    struct str_list audiences; /* of the API itself */
};

/* Subject of a verified certificate: CN, and the O values separated by '\n'. ERR_UNAUTHORIZED without a CN. */
int authn_certificate(struct str cn, struct str orgs, struct arena *a, struct user *ret,
                      struct err *err);
/* A token of any kind. audiences NULL: the API's; tokens of others than ServiceAccounts are for the API alone.
 * ERR_UNAUTHORIZED (the text is for the audit log), ERR_NOMEM, ERR_AGAIN (site/oidc/oidc.h). */
int authn_bearer(const struct authn *x, struct str token, const struct str_list *audiences,
                 int64_t now_ns, struct arena *a, struct user *ret, struct err *err);
int authn_anonymous(struct arena *a, struct user *ret);
/* The token in an Authorization header ("Bearer x"), or in Sec-WebSocket-Protocol; empty when there is none. */
struct str authn_token_in(struct str authorization, struct str protocols, struct arena *a);

/* Whether both lists have one text in common. */
bool authn_share_one(const struct str_list *x, const struct str_list *y);

/* Groups g[0..n) and system:authenticated, in the arena; 0 or ERR_NOMEM. */
int authn_groups(struct arena *a, const struct str *g, size_t n, struct str_list *ret);

/* A new bearer token and the manifest of its Secret; see policy_new_token. */
int authn_new_token(struct arena *a, struct str user, const struct str_list *groups,
                    int64_t expires_ns, struct str *ret_token, struct str *ret_secret,
                    struct err *err);

#endif
