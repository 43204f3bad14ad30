/*
 * oidc: verification of OpenID Connect tokens. One per process, on the loop thread.
 *
 * The discovery document and the keys of each issuer are fetched over HTTPS in the background: at the start, every
 * OIDC_REFRESH_S, and when a token names an unknown key, at most once every OIDC_REFETCH_S whoever sends such tokens.
 * A failed fetch is retried with backoff; the known keys stay valid, so an unreachable issuer locks nobody out.
 *
 * No call blocks. A token whose key may arrive with the current fetch gets ERR_AGAIN; a caller that can wait registers
 * with oidc_wait and verifies it again afterwards.
 */
#ifndef BERTH_SITE_OIDC_H
#define BERTH_SITE_OIDC_H

#include "base/log.h"
#include "net/loop.h"
#include "site/oidc/oidc_claims.h"

enum {
    OIDC_REFRESH_S = 600,
    OIDC_REFETCH_S = 10, /* [k8s] */
    OIDC_RETRY_MAX_S = 60,
    OIDC_WAITERS_MAX = 1000,
};

struct oidc;

/* The config is kept by the caller. ERR_UNSUPPORTED (there is no libcurl), ERR_INVALID (certificates), ERR_NOMEM. */
int oidc_new(struct loop *l, struct log *log, const struct oidc_config *config, struct oidc **ret,
             struct err *err);
void oidc_free(struct oidc *x); /* NULL is a no-op; waiters are not called */

/* Whose token? ERR_NOT_FOUND: none of these issuers'. ERR_UNAUTHORIZED: it is one's and does not count; the text is for
 * the audit log. ERR_AGAIN: not known yet. ERR_NOMEM. */
int oidc_verify(struct oidc *x, struct str token, int64_t now_ns, struct arena *a,
                struct oidc_user *ret, struct err *err);

/* Told once when the fetches under way have ended. The waiter is its owner's; it may be cancelled. False: there are too
 * many, or nothing is under way. */
struct oidc_waiter {
    struct oidc_waiter *next, **prev;
    size_t *count; /* of those that wait */
    void (*ready)(void *ctx);
    void *ctx;
};
bool oidc_wait(struct oidc *x, struct oidc_waiter *w);
void oidc_wait_cancel(struct oidc_waiter *w); /* no-op when it does not wait */

/* What an issuer's discovery document says; empty until it was read. Valid until the loop's next turn. */
struct oidc_endpoints {
    struct str authorization, token, end_session;
};
bool oidc_endpoints(const struct oidc *x, size_t issuer, struct oidc_endpoints *ret);
size_t oidc_n_keys(const struct oidc *x, size_t issuer);
struct http_client *oidc_client(struct oidc *x,
                                size_t issuer); /* that trusts the issuer's authority */

#endif
