/*
 * policy (server): who may do what, as the one implementation of struct guard.
 *
 * It joins the pieces: authn (certificates, tokens, impersonation), token (ServiceAccount tokens), rbac, escalate,
 * review and audit. World makes one, gives policy_guard() to the server, creates the bootstrap objects once the
 * server exists, and serves policy_page_jwks and policy_page_issuer.
 *
 *     struct policy_options o = {.mirror = m, .clock = c, .issuer = STR("https://127.0.0.1:6443"),
 *                                .key_file = "DATA/pki/sa.key", .audit_file = "DATA/audit.log"};
 *     struct policy *p = policy_new(&o, &err);
 *     server options: .guard = policy_guard(p)
 *     policy_bootstrap(create, server, &err);        with server_bootstrap behind create
 *     ...
 *     policy_free(p);                                after the server
 */
#ifndef BERTH_SERVER_POLICY_H
#define BERTH_SERVER_POLICY_H

#include "base/clock.h"
#include "mirror/mirror.h"
#include "server/kit/guard.h"
#include "site/session.h"

struct oidc;
struct oidc_waiter;
struct policy;

struct policy_options {
    struct mirror *mirror;
    struct clock *clock;
    struct str issuer;    /* of ServiceAccount tokens: the API's own address */
    const char *key_file; /* ECDSA P-256, PEM: signs ServiceAccount tokens; NULL: there are none */
    const char *audit_file; /* NULL: no audit log */
    size_t audit_bytes;     /* rotated beyond this size; 0: 64 MiB */
    /* Of the dashboard: their cookies are credentials, too; NULL: there are none */
    struct sessions *sessions;
    struct oidc *oidc; /* of issuers whose tokens are credentials as well; NULL: there are none */
    bool audit_reads;  /* also what only read; refusals, Secrets and writes are always there */
};

/* Reads the key, opens the audit log and follows the mirror's roles and bindings. */
struct policy *policy_new(const struct policy_options *o, struct err *err);
void policy_free(struct policy *p); /* NULL is a no-op */
struct guard *policy_guard(struct policy *p);

/* The default roles and bindings: create(ctx, JSON) for each, which makes it or brings it up to date
 * (server_bootstrap). */
int policy_bootstrap(int (*create)(void *ctx, struct str json, struct err *err), void *ctx,
                     struct err *err);

/* A new bearer token for `user` in `groups`, ending at expires_ns (wall time). *ret_secret is the manifest to create
 * (it holds the token's hash, not the token); delete that Secret to revoke. Both live in the arena. */
int policy_new_token(struct arena *a, struct str user, const struct str_list *groups,
                     int64_t expires_ns, struct str *ret_token, struct str *ret_secret,
                     struct err *err);

/* Whose token is it? The user lives in the arena. ERR_UNAUTHORIZED, ERR_NOMEM, ERR_AGAIN: ask again once w was told;
 * where it cannot be, because too many wait, it is ERR_UNAUTHORIZED. */
int policy_identify(struct policy *p, struct str token, struct arena *a, struct oidc_waiter *w,
                    struct user *ret, struct err *err);

/* Handlers of server_page: "/openid/v1/jwks" and "/.well-known/openid-configuration"; ctx is the policy. */
void policy_page_jwks(void *ctx, struct http_request *r);
void policy_page_issuer(void *ctx, struct http_request *r);

#endif
