/*
 * oidc_claims: evaluates the claims of a token by the settings of its issuer: whether it is valid now, and whose it is.
 * Pure; the caller has already verified the signature.
 *
 * Beyond Kubernetes' rules, a user or group that begins with "system:", prefix included, is refused, because such names
 * carry rights that no issuer may grant; and lengths are limited.
 */
#ifndef BERTH_SITE_OIDC_CLAIMS_H
#define BERTH_SITE_OIDC_CLAIMS_H

#include "site/oidc/oidc_config.h"
#include "wire/jws.h"

enum {
    OIDC_SKEW_S = 10, /* by which clocks may differ */
    OIDC_NAME_MAX = 1024,
    OIDC_GROUPS_MAX = 512,
};

struct oidc_user {
    struct str name, uid, jti; /* the latter two may be empty */
    struct str *groups;
    size_t n_groups;
    int64_t expires_ns; /* wall time */
};

/* `iss` is the issuer's already. ERR_UNAUTHORIZED: it does not count, and why; ERR_NOMEM. Views of the arena and of the
 * token's claims. */
int oidc_claims_user(const struct oidc_issuer *o, const struct jws *t, int64_t now_ns,
                     struct arena *a, struct oidc_user *ret, struct err *err);

#endif
