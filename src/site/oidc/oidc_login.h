/*
 * oidc_login: browser sign-in at an issuer: the authorization code flow with PKCE (RFC 7636, S256), state and nonce.
 *
 *     begin    returns a cookie, and the URL at the issuer to which the browser is redirected
 *     end      takes what the browser brought back and exchanges the code for an ID token, over our own connection
 *
 * Between the two only a key of this process is kept: state, nonce and verifier are HMAC-SHA-256 codes of the cookie,
 * which holds the time and 256 random bits. So any number of people may begin, and only the browser that began can end.
 * This part checks the nonce of the token; oidc_verify decides whose token it is and whether it is valid.
 */
#ifndef BERTH_SITE_OIDC_LOGIN_H
#define BERTH_SITE_OIDC_LOGIN_H

#include "base/buf.h"
#include "site/oidc/oidc.h"

enum {
    OIDC_LOGIN_COOKIE_BYTES = 16 + 43, /* hexadecimal seconds, and 256 bits */
    OIDC_LOGIN_S = 600,
    OIDC_LOGINS_MAX = 64, /* exchanges under way */
};

struct oidc_login;
struct oidc_exchange;

struct oidc_login_options {
    struct loop *loop;
    struct oidc *oidc;
    size_t issuer;
    struct str issuer_url, client_id;
    struct str secret; /* of a confidential client (client_secret_basic); empty: a public one */
    struct str scopes; /* "openid profile" */
    struct str
        redirect; /* the whole address that is registered; empty: where the browser is, and PATH */
};
#define OIDC_LOGIN_PATH "/dashboard/session/callback"

/* Views are kept. ERR_NOMEM, ERR_IO. */
int oidc_login_new(const struct oidc_login_options *o, struct oidc_login **ret, struct err *err);
void oidc_login_free(struct oidc_login *x); /* NULL is a no-op; exchanges end without a word */

/* base: "http://127.0.0.1:8090", where the browser is. ERR_UNAVAILABLE: the issuer has not been heard of yet. */
int oidc_login_begin(struct oidc_login *x, struct str base, int64_t now_ns,
                     char ret_cookie[OIDC_LOGIN_COOKIE_BYTES + 1], struct buf *ret_location,
                     struct err *err);

/* What came back; all empty where it was not there. done(ctx, code, token, err) comes once, never inside this call; the
 * token is a view. ERR_UNAUTHORIZED: it is not the browser that began, or that was too long ago. ERR_TOO_MANY. */
int oidc_login_end(struct oidc_login *x, struct str base, struct str cookie, struct str state,
                   struct str iss, struct str code, int64_t now_ns,
                   void (*done)(void *ctx, int code, struct str token, const struct err *err),
                   void *ctx, struct oidc_exchange **ret, struct err *err);
void oidc_login_cancel(struct oidc_exchange *e);

#endif
