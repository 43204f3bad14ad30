/*
 * policy_impersonate (server): acting as somebody else, by the Impersonate-* headers.
 *
 * Impersonate-User, -Group (repeated), -Uid and -Extra-KEY (repeated) are honoured, each after the verb `impersonate`
 * on users, serviceaccounts, groups, uids or userextras/KEY, with the value as the name.
 */
#ifndef BERTH_SERVER_POLICY_IMPERSONATE_H
#define BERTH_SERVER_POLICY_IMPERSONATE_H

#include "net/http_server.h"
#include "server/auth/rbac.h"

/* *u becomes the other user, or stays when no header asks. ERR_FORBIDDEN with the whole message, ERR_BAD_REQUEST. */
int policy_impersonate(struct rbac *b, struct http_request *r, struct arena *a, struct user *u,
                       struct err *err);

#endif
