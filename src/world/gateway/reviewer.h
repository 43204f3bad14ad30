/*
 * reviewer: whose a token is, asked of the API server (TokenReview), and in which projects that user may use models
 * (SubjectAccessReview: verb use, group berth.dev, resource models). For tokens of ServiceAccounts and of people.
 *
 * A ServiceAccount's own namespace pays; for others the first project, by name, in which they may. Answers hold for
 * REVIEW_YES_S, refusals for REVIEW_NO_S. key_store bounds how many are asked about.
 */
#ifndef BERTH_WORLD_REVIEWER_H
#define BERTH_WORLD_REVIEWER_H

#include "gateway/key_store.h"
#include "kube/client.h"
#include "mirror/mirror.h"

struct reviewer;

enum { REVIEW_YES_S = 30, REVIEW_NO_S = 10, REVIEW_PROJECTS_MAX = 64 };

struct reviewer_options {
    struct loop *loop;
    struct kube_client *kube;
    const struct mirror *mirror; /* of Namespaces, for the limits of projects */
};
struct reviewer *reviewer_new(const struct reviewer_options *o); /* NULL: no memory */
void reviewer_free(struct reviewer *r);                          /* NULL is a no-op */
/* Where answers go; before the first question. */
void reviewer_to(struct reviewer *r, struct key_store *s);
/* The projects that have models, sorted; copied. Beyond REVIEW_PROJECTS_MAX the rest is not asked about. */
int reviewer_projects(struct reviewer *r, const struct str *v, size_t n);
/* For key_store_options. Any thread. */
bool reviewer_ask(void *ctx, const unsigned char digest[KEY_DIGEST], struct str token);

#endif
