/*
 * bootstrap_token (server): bootstrap tokens, "abcdef.0123456789abcdef", as Kubernetes has them.
 *
 * The Secret kube-system/bootstrap-token-ID, of type bootstrap.kubernetes.io/token, has token-id, token-secret,
 * `usage-bootstrap-authentication: "true"`, and may have an expiration (RFC 3339) and auth-extra-groups. Its bearer is
 * system:bootstrap:ID in group system:bootstrappers and those extra groups, which must begin with
 * "system:bootstrappers:". No role is bound to them unless an administrator binds one.
 */
#ifndef BERTH_SERVER_BOOTSTRAP_TOKEN_H
#define BERTH_SERVER_BOOTSTRAP_TOKEN_H

#include "mirror/mirror.h"
#include "server/kit/request.h"

#define BOOTSTRAP_TOKEN_TYPE STR("bootstrap.kubernetes.io/token")

bool bootstrap_token_is(struct str token); /* has the form */
/* ERR_UNAUTHORIZED with a reason for the audit log, ERR_NOMEM. */
int bootstrap_token_user(const struct mirror *m, struct str token, int64_t now_ns, struct arena *a,
                         struct user *ret, struct err *err);

#endif
