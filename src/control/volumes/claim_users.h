/*
 * claim_users: which pods name a claim as a volume, kept from the changes of pods, so that nobody looks through all
 * pods for those of one claim. A pod counts as long as its object exists.
 */
#ifndef BERTH_CONTROL_CLAIM_USERS_H
#define BERTH_CONTROL_CLAIM_USERS_H

#include "base/map.h"
#include "mirror/mirror.h"

struct claim_users {
    struct map claims; /* "namespace/claim" to its pods */
};

void claim_users_release(struct claim_users *u);
/* A change of a pod; each(ctx, ns, claim) is called for the claims that it names or named, whose users may be others
 * now. 0 or ERR_NOMEM: then something is missing, and all pods must be told of again after claim_users_release. */
int claim_users_change(struct claim_users *u, const struct change *ch, struct arena *a,
                       void (*each)(void *ctx, struct str ns, struct str claim), void *ctx);
/* Calls each(ctx, uid of a pod) until it answers false. */
void claim_users_each(const struct claim_users *u, struct str ns, struct str claim,
                      bool (*each)(void *ctx, struct str uid), void *ctx);
size_t claim_users_count(const struct claim_users *u, struct str ns, struct str claim);

#endif
