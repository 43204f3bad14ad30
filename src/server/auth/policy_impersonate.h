/*
 * policy_impersonate (server): acting as somebody else, by the Impersonate-* headers.
 *
 * Impersonate-User, -Group (repeated) and -Uid are honoured, each after the verb `impersonate` on users,
 * serviceaccounts, groups or uids. Impersonate-Extra-* is not seen, and adds nothing.
 */
#ifndef BERTH_SERVER_POLICY_IMPERSONATE_H
#define BERTH_SERVER_POLICY_IMPERSONATE_H

#include "net/http_server.h"
#include "server/auth/rbac.h"

/* *u becomes the other user, or stays when no header asks. ERR_FORBIDDEN with the whole message, ERR_BAD_REQUEST. */
int policy_impersonate(struct rbac *b, struct http_request *r, struct arena *a, struct user *u,
                       struct err *err);

#endif
