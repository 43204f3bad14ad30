/*
 * review (server): the kinds that answer who may do what and who somebody is: nothing is stored, `status` is filled.
 *
 * SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview, SelfSubjectReview; a
 * TokenReview needs to authenticate, which the caller does and hands in.
 */
#ifndef BERTH_SERVER_REVIEW_H
#define BERTH_SERVER_REVIEW_H

#include "server/auth/rbac.h"
#include "wire/json/json.h"

/* Would this request be allowed? *ret_reason: why, or why not; may stay empty. */
typedef bool review_allows(void *ctx, const struct api_request *q, struct arena *a,
                           struct str *ret_reason);

/* `u` asks; ns is the request's namespace. The answer is what allows(ctx, ...) says of the request itself, whoever it
 * is about. ERR_INVALID (text names the field), ERR_BAD_REQUEST, ERR_NOMEM. */
int review_access(review_allows *allows, void *ctx, const struct user *u, const struct kind *k,
                  struct str ns, yyjson_mut_doc *d, struct arena *a, struct err *err);
/* All rules that RBAC gives. What narrows a node's credential further is no rule: there it says that it is
 * incomplete. */
int review_rules(struct rbac *b, const struct user *u, yyjson_mut_doc *d, struct err *err);
int review_self(const struct user *u, yyjson_mut_doc *d, struct err *err);
/* who NULL: the token is not valid. */
int review_token(const struct user *who, const struct str_list *audiences, yyjson_mut_doc *d,
                 struct err *err);

#endif
